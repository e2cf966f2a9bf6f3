//! The client in blocking form: the operations of this module, run on a backend and a clock.

use super::driver::{Ran, Runner, run};
use super::scan_rows::ScanRows;
use super::write::MoveOutcome;
use super::{
    Aggregate, Backend, Bill, Comparison, FanOut, FanOutQuery, Filter, Fold, KeyDesign, Move, Plan, Record,
    Request, Response, RetryPolicy, Store, Sweep, Value,
};
use crate::charge::Consistency;
use crate::clock::Clock;
use crate::cluster::{Continuation, Refusal, Scan, ScanPart};
use crate::error::Error;
use crate::key::{EffectivePartitionKey, FieldRef, ItemKey, PartitionKey, Properties, Property};
use crate::ring::{RingPoint, Token, TokenRange};
use crate::rng::Seed;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a client goes about its calls.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When throttled calls are sent again.
    pub retry: RetryPolicy,
    /// Requests under way at once.
    pub width: usize,
    /// Freshness of reads.
    pub consistency: Consistency,
    /// How long an answer takes on a virtual clock.
    pub latency: Duration,
    /// Of retry jitter.
    pub seed: Seed,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::None,
            width: super::call::WIDTH_DEFAULT,
            consistency: Consistency::Eventual,
            latency: Duration::ZERO,
            seed: Seed(0),
        }
    }
}

/// One item that was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<D> {
    /// The item and its key, if there is one.
    pub item: Option<(ItemKey, D)>,
    /// How it was looked for.
    pub plan: Plan,
    /// What that cost.
    pub bill: Bill,
}

/// A client of one table with one key design.
///
/// # Write sharding, read back merged
///
/// The day's writes are spread over 200 suffixes; reading the day is a query for each, merged in order.
///
/// ```
/// use hotplate::client::{Client, FanOutQuery, KeyDesign};
/// use hotplate::profile::Service;
/// use hotplate::{Clock, Profile, Table, Template};
/// use serde_json::{Value, json};
///
/// let clock = Clock::manual();
/// let table: Table<Value> = Table::new("log", Profile::dynamodb_on_demand(), clock.now())?;
/// let design = KeyDesign::new(Template::parse("{date}.{random(1..200)}")?, "at", Service::DynamoDb);
/// let client = Client::new(&table, design, clock);
///
/// for at in 0..500 {
///     client.put(json!({"date": "2014-07-09", "at": at}))?;
/// }
/// let page = FanOutQuery { limit: Some(25), ..FanOutQuery::default() };
/// let mut rows = client.read(&json!({"date": "2014-07-09"}), &page)?;
/// let times: Vec<i64> = rows.by_ref().map(|(_, item)| item["at"].as_i64().unwrap()).collect();
/// assert_eq!(times, (0..25).collect::<Vec<_>>());
/// assert!(rows.bill().requests >= 200, "one query for each suffix at least");
/// assert!(rows.continuation().is_some(), "and there is more");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # A calculated suffix, read back in one request
///
/// ```
/// # use hotplate::client::{Client, KeyDesign};
/// # use hotplate::profile::Service;
/// # use hotplate::{Clock, Profile, Table, Template};
/// # use serde_json::{Value, json};
/// # let clock = Clock::manual();
/// # let table: Table<Value> = Table::new("cars", Profile::cosmos_manual(4_000)?, clock.now())?;
/// let template = Template::parse("{date}.{hash(Vehicle-Identification-Number, 1..400)}")?;
/// let design = KeyDesign::new(template, "id", Service::Cosmos);
/// let client = Client::new(&table, design, clock);
/// let car = json!({"id": "r1", "date": "2018-08-09", "Vehicle-Identification-Number": "WBA1234567890"});
/// client.put(car.clone())?;
///
/// let found = client.get(&car)?;
/// assert_eq!(found.bill.requests, 1);
/// let (key, item) = found.item.unwrap();
/// assert_eq!(item["partitionKey"], key.partition.to_string(), "the key is a property of the item");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # A random suffix, and what it costs
///
/// ```
/// # use hotplate::client::{Client, KeyDesign};
/// # use hotplate::profile::Service;
/// # use hotplate::{Clock, Profile, Table, Template};
/// # use serde_json::{Value, json};
/// # let clock = Clock::manual();
/// # let table: Table<Value> = Table::new("log", Profile::dynamodb_on_demand(), clock.now())?;
/// let template = Template::parse("{date}.{random(1..200)}")?;
/// let client = Client::new(&table, KeyDesign::new(template, "order", Service::DynamoDb), clock);
/// client.put(json!({"date": "2014-07-09", "order": "A-7"}))?;
///
/// let found = client.get(&json!({"date": "2014-07-09", "order": "A-7"}))?;
/// assert!(found.item.is_some());
/// assert_eq!(found.bill.requests, 200, "nobody knows under which suffix it was stored");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Client<'b, B> {
    backend: &'b B,
    design: KeyDesign,
    clock: Clock,
    options: Options,
    draws: AtomicU64,
}

impl<'b, B: Backend> Client<'b, B>
where
    B::Item: Record,
{
    /// A client of `backend` that never retries and waits for nothing.
    pub fn new(backend: &'b B, design: KeyDesign, clock: Clock) -> Self {
        Self { backend, design, clock, options: Options::default(), draws: AtomicU64::new(0) }
    }

    /// With other options.
    #[must_use]
    pub fn with(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The key design.
    pub fn design(&self) -> &KeyDesign {
        &self.design
    }

    fn draw(&self) -> u64 {
        self.draws.fetch_add(1, Ordering::Relaxed)
    }

    /// Stores an item under its computed key, with the key stored in it.
    ///
    /// # Errors
    /// When the item has no key, or the write is refused for good.
    pub fn put(&self, item: B::Item) -> Result<(ItemKey, Bill), Refusal> {
        let (key, item) = self.design.key(item, self.draw())?;
        let store = Store::new(key.clone(), Some(item), self.options.retry, self.options.seed);
        let (written, bill) = run(store, self.backend, &self.clock, self.options.latency, |row| match row {});
        written.map(|_| (key, bill))
    }

    /// Removes the item under `key`, whether or not there is one.
    ///
    /// # Errors
    /// When the write is refused for good.
    pub fn remove(&self, key: &ItemKey) -> Result<Bill, Refusal> {
        let store = Store::new(key.clone(), None, self.options.retry, self.options.seed);
        let (written, bill) = run(store, self.backend, &self.clock, self.options.latency, |row| match row {});
        written.map(|_| bill)
    }

    /// Stores many items in batches. Answers how each ended, in the order given, and what all cost.
    ///
    /// # Errors
    /// When an item has no key, or two have the same.
    pub fn put_all(&self, items: Vec<B::Item>) -> Result<(Vec<Result<(), Refusal>>, Bill), Refusal> {
        let writes = items
            .into_iter()
            .map(|item| self.design.key(item, self.draw()).map(|(key, item)| (key, Some(item))))
            .collect::<Result<Vec<_>, _>>()?;
        let mut ends: Vec<Result<(), Refusal>> = vec![Ok(()); writes.len()];
        let options = &self.options;
        let sweep = Sweep::new(writes, self.design.service(), options.width, options.retry, options.seed)?;
        let bill = run(sweep, self.backend, &self.clock, options.latency, |(i, end)| ends[i] = end);
        Ok((ends, bill))
    }

    /// Stores `new` in place of `old`, which is under `old_key`. If a property changed that the key is made of, the item
    /// moves.
    ///
    /// # Errors
    /// When `new` has no key.
    pub fn replace(
        &self,
        old: &B::Item,
        old_key: &ItemKey,
        new: B::Item,
    ) -> Result<(ItemKey, MoveOutcome, Bill), Refusal> {
        let (key, new) = self.design.key_after(old, old_key, new, self.draw())?;
        let options = &self.options;
        let moving =
            Move::new(old_key.clone(), key.clone(), new, self.design.service(), options.retry, options.seed);
        let (outcome, bill) = run(moving, self.backend, &self.clock, options.latency, |row| match row {});
        Ok((key, outcome, bill))
    }

    /// How something would be read of which this is known.
    ///
    /// # Errors
    /// When a known property cannot be part of a key.
    pub fn plan(&self, known: &(impl Properties + ?Sized)) -> Result<Plan, Refusal> {
        Ok(self.design.plan(known)?)
    }

    /// Reads one item of which the properties in `known` are known: those of its key and its sort key.
    ///
    /// # Errors
    /// When what is known does not name one item, or a read is refused for good.
    pub fn get(&self, known: &(impl Properties + ?Sized)) -> Result<Found<B::Item>, Refusal> {
        let plan = self.plan(known)?;
        let keys = match &plan {
            Plan::Get(key) => vec![key.clone()],
            Plan::GetEach(keys, _) => keys.clone(),
            other => {
                return Err(
                    Error::invalid(format!("this does not name one item; it would be a {other}")).into()
                );
            }
        };
        let gets = Gets::new(&keys, &self.options);
        let ((item, refusal), bill) =
            run(gets, self.backend, &self.clock, self.options.latency, |row| match row {});
        match (item, refusal) {
            (None, Some(refusal)) => Err(refusal),
            (item, _) => Ok(Found { item, plan, bill }),
        }
    }

    /// Reads all items of which the properties in `known` are known, in sort order.
    ///
    /// # Errors
    /// When only a scan could find them (see [`scan`](Self::scan)), or the continuation belongs to another read.
    pub fn read(
        &self,
        known: &(impl Properties + ?Sized),
        query: &FanOutQuery,
    ) -> Result<Rows<'b, FanOut<B::Item>, B>, Refusal> {
        let keys = self.keys(known)?;
        let options = &self.options;
        let query = FanOutQuery { consistency: options.consistency.max(query.consistency), ..query.clone() };
        let fan_out = FanOut::new(&keys, &query, options.width, options.retry, options.seed)?;
        Ok(Rows::new(fan_out, self.backend, &self.clock, options.latency))
    }

    /// Aggregates all items of which the properties in `known` are known.
    ///
    /// # Errors
    /// As [`read`](Self::read), or when a request is refused for good.
    pub fn aggregate(
        &self,
        known: &(impl Properties + ?Sized),
        aggregate: Aggregate,
        filter: Filter,
    ) -> Result<(Value, Bill), Refusal> {
        let keys = self.keys(known)?;
        let options = &self.options;
        let fold = Fold::over_keys(aggregate, &keys, filter, options.width, options.retry, options.seed);
        let (value, bill) = run(fold, self.backend, &self.clock, options.latency, |row| match row {});
        value.map(|value| (value, bill))
    }

    /// Reads all items whose hierarchical key begins with what is known, in token order. Only the physical partitions that
    /// hold the prefix are asked ("Hierarchical partition keys": queries by a prefix are "efficiently routed").
    ///
    /// # Errors
    /// When what is known is no prefix of a key: then it is more or less than one.
    pub fn read_prefix(
        &self,
        known: &(impl Properties + ?Sized),
        filter: Filter,
    ) -> Result<Rows<'b, ScanRows<B::Item>, B>, Refusal> {
        let options = &self.options;
        let (parts, filter) = self.prefix(known, filter)?;
        let scan = ScanRows::new(parts, filter, options.width, options.retry, options.seed);
        Ok(Rows::new(scan, self.backend, &self.clock, options.latency))
    }

    /// Aggregates all items whose hierarchical key begins with what is known.
    ///
    /// # Errors
    /// As [`read_prefix`](Self::read_prefix), or when a request is refused for good.
    pub fn aggregate_prefix(
        &self,
        known: &(impl Properties + ?Sized),
        aggregate: Aggregate,
        filter: Filter,
    ) -> Result<(Value, Bill), Refusal> {
        let options = &self.options;
        let (parts, filter) = self.prefix(known, filter)?;
        let fold = Fold::over_parts(aggregate, parts, filter, options.width, options.retry, options.seed);
        let (value, bill) = run(fold, self.backend, &self.clock, options.latency, |row| match row {});
        value.map(|value| (value, bill))
    }

    /// The ranges of a prefix, and the filter that keeps out keys that only hash alike.
    fn prefix(
        &self,
        known: &(impl Properties + ?Sized),
        filter: Filter,
    ) -> Result<(Vec<Scan>, Filter), Refusal> {
        let plan = self.plan(known)?;
        let Plan::Prefix(prefixes, _) = &plan else {
            return Err(Error::invalid(format!("this names no prefix of a hierarchical key: {plan}")).into());
        };
        let mut parts = Vec::with_capacity(prefixes.len());
        for prefix in prefixes {
            let (from, to) = EffectivePartitionKey::prefix_range(&prefix.values())?;
            let bound = |epk: &EffectivePartitionKey| RingPoint::before(Token::from_bytes(epk.as_bytes()));
            let range = TokenRange::new(bound(&from), Some(bound(&to)))?;
            parts.push(Scan::of(ScanPart::Range(range)).consistency(self.options.consistency));
        }
        // Not the key but what it is made of: 126 bits of hash leave nothing to chance, a filter leaves it to nobody.
        let mut filter = filter;
        for path in self.design.fields() {
            let property = known.property(FieldRef { index: 0, path });
            filter = match property {
                Property::Text(text) => filter.and(path.clone(), Comparison::Equal, text),
                Property::Number(text) => filter.and(path.clone(), Comparison::Equal, text),
                Property::Bool(b) => filter.and(path.clone(), Comparison::Equal, b),
                Property::Absent | Property::Null | Property::Composite => filter,
            };
        }
        Ok((parts, filter))
    }

    /// Reads everything that passes a filter, in token order: one part for each physical partition, side by side.
    pub fn scan(&self, filter: Filter) -> Rows<'b, ScanRows<B::Item>, B> {
        let options = &self.options;
        let scan = ScanRows::new(self.parts(), filter, options.width, options.retry, options.seed);
        Rows::new(scan, self.backend, &self.clock, options.latency)
    }

    /// Aggregates everything that passes a filter.
    ///
    /// # Errors
    /// When a request is refused for good.
    pub fn aggregate_all(&self, aggregate: Aggregate, filter: Filter) -> Result<(Value, Bill), Refusal> {
        let options = &self.options;
        let fold =
            Fold::over_parts(aggregate, self.parts(), filter, options.width, options.retry, options.seed);
        let (value, bill) = run(fold, self.backend, &self.clock, options.latency, |row| match row {});
        value.map(|value| (value, bill))
    }

    fn parts(&self) -> Vec<Scan> {
        let of = self.backend.parts().max(1);
        (0..of)
            .map(|index| Scan::of(ScanPart::Segment { index, of }).consistency(self.options.consistency))
            .collect()
    }

    fn keys(&self, known: &(impl Properties + ?Sized)) -> Result<Vec<PartitionKey>, Refusal> {
        match self.plan(known)? {
            Plan::Get(key) => Ok(vec![key.partition]),
            Plan::Query(key) => Ok(vec![key]),
            Plan::GetEach(keys, _) => Ok(keys.into_iter().map(|key| key.partition).collect()),
            Plan::FanOut(keys, _) => Ok(keys),
            Plan::Prefix(_, why) => Err(Error::invalid(format!(
                "only a prefix of the key is fixed, because {why}: use read_prefix"
            ))
            .into()),
            Plan::Scan(why) => {
                Err(Error::invalid(format!("only a scan finds this, because {why}: use scan")).into())
            }
        }
    }
}

/// Rows of a read, one at a time: nothing is asked for before it is needed.
pub struct Rows<'b, O: super::Operation, B> {
    runner: Runner<'b, O, B>,
    output: Option<O::Output>,
}

impl<'b, O, B> Rows<'b, O, B>
where
    O: super::Operation,
    B: Backend<Item = O::Item>,
{
    fn new(operation: O, backend: &'b B, clock: &Clock, latency: Duration) -> Self {
        Self { runner: Runner::new(operation, backend, clock.clone(), latency), output: None }
    }

    /// How the read ended, once it has.
    pub fn output(&self) -> Option<&O::Output> {
        self.output.as_ref()
    }
}

impl<O, B> Iterator for Rows<'_, O, B>
where
    O: super::Operation,
    B: Backend<Item = O::Item>,
{
    type Item = O::Row;

    fn next(&mut self) -> Option<O::Row> {
        if self.output.is_some() {
            return None;
        }
        match self.runner.step() {
            Ran::Row(row) => Some(row),
            Ran::Done(output) => {
                self.output = Some(output);
                None
            }
        }
    }
}

impl<D: Record, B: Backend<Item = D>> Rows<'_, FanOut<D>, B> {
    /// What the read cost; all zero until it has ended.
    pub fn bill(&self) -> Bill {
        self.output.as_ref().map(|(_, bill)| bill.clone()).unwrap_or_default()
    }

    /// Where the next page begins, once this one has ended; `None` when there is nothing more.
    pub fn continuation(&self) -> Option<&Continuation> {
        self.output.as_ref().and_then(|(end, _)| end.as_ref().ok()).and_then(Option::as_ref)
    }

    /// Why the read stopped early, if it did.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.output.as_ref().and_then(|(end, _)| end.as_ref().err())
    }
}

impl<D: Record, B: Backend<Item = D>> Rows<'_, ScanRows<D>, B> {
    /// What the scan cost; all zero until it has ended.
    pub fn bill(&self) -> Bill {
        self.output.as_ref().map(|(_, bill)| bill.clone()).unwrap_or_default()
    }

    /// Why the scan stopped early, if it did.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.output.as_ref().and_then(|(end, _)| end.as_ref().err())
    }
}

/// Reads one item that may be under several keys: all are asked, since none is likelier than another.
#[derive(Debug)]
struct Gets<D> {
    calls: super::call::Calls<D>,
    asked: std::collections::BTreeMap<super::CallId, ItemKey>,
    found: Option<(ItemKey, D)>,
    refused: Option<Refusal>,
}

impl<D: Record> Gets<D> {
    fn new(keys: &[ItemKey], options: &Options) -> Self {
        let mut calls = super::call::Calls::new(options.retry, options.seed, options.width);
        let asked = keys
            .iter()
            .map(|key| {
                let request = Request::Get { key: key.clone(), consistency: options.consistency };
                (calls.submit(request), key.clone())
            })
            .collect();
        Self { calls, asked, found: None, refused: None }
    }
}

impl<D: Record> super::Operation for Gets<D> {
    type Item = D;
    type Row = std::convert::Infallible;
    type Output = ((Option<(ItemKey, D)>, Option<Refusal>), Bill);

    fn next(&mut self, now: crate::clock::Instant) -> super::Next<D, Self::Row, Self::Output> {
        use super::call::CallsNext;
        match self.calls.next(now) {
            CallsNext::Send(call, request) => super::Next::Send(call, request),
            CallsNext::WaitUntil(at) => super::Next::WaitUntil(at),
            CallsNext::Pending => super::Next::Pending,
            CallsNext::Idle => {
                super::Next::Done(((self.found.take(), self.refused.take()), self.calls.bill()))
            }
        }
    }

    fn deliver(&mut self, call: super::CallId, reply: super::Reply<D>, now: crate::clock::Instant) {
        let Some(reply) = self.calls.deliver(call, reply, now) else { return };
        let Some(key) = self.asked.remove(&call) else { return };
        match reply {
            Ok(Response::Read(read)) => self.found = self.found.take().or(read.item.map(|item| (key, item))),
            Ok(_) => {
                let error = Error::invalid("the backend answered a get with something else than an item");
                self.refused.get_or_insert(Refusal::Invalid(error));
            }
            Err(refusal) => {
                self.refused.get_or_insert(refusal);
            }
        }
    }
}
