//! Counts, sums, extremes, averages and distinct values over a fan-out, merged and not collected.
//!
//! Each page is folded into the accumulators as it comes and then forgotten; only `distinct` keeps values, and those are
//! bounded.

use super::call::{Calls, CallsNext};
use super::{Bill, CallId, Filter, Next, Operation, Reply, Request, Response, RetryPolicy};
use crate::clock::Instant;
use crate::cluster::{Query, Refusal, Scan};
use crate::error::{Error, ErrorKind};
use crate::key::{FieldPath, FieldRef, PartitionKey, Property};
use crate::rng::Seed;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// Distinct values at the most.
const DISTINCT_MAX: usize = 1_000_000;

/// What to make of the items.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// How many there are.
    Count,
    /// The sum of a property's numbers.
    Sum(FieldPath),
    /// The mean of a property's numbers.
    Average(FieldPath),
    /// The smallest of a property's values.
    Min(FieldPath),
    /// The largest of a property's values.
    Max(FieldPath),
    /// The different values of a property, in order.
    Distinct(FieldPath),
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a count.
    Count(u64),
    /// Of a sum or average; `None` over no numbers.
    Number(Option<f64>),
    /// Of a minimum or maximum; `None` over no values.
    Text(Option<String>),
    /// Of distinct.
    Values(Vec<String>),
}

/// Accumulates one aggregate.
#[derive(Clone, Debug)]
struct Accumulator {
    aggregate: Aggregate,
    count: u64,
    sum: f64,
    extreme: Option<Sortable>,
    distinct: BTreeSet<Sortable>,
}

/// A value as it sorts: numbers by value and before text.
#[derive(Clone, Debug, PartialEq)]
enum Sortable {
    Number(f64, String),
    Text(String),
}

impl Eq for Sortable {}

impl PartialOrd for Sortable {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sortable {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Number(a, _), Self::Number(b, _)) => a.total_cmp(b),
            (Self::Number(..), Self::Text(_)) => std::cmp::Ordering::Less,
            (Self::Text(_), Self::Number(..)) => std::cmp::Ordering::Greater,
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
        }
    }
}

impl Sortable {
    fn of(property: Property<'_>) -> Option<Self> {
        match property {
            Property::Number(text) => Some(Self::Number(text.parse().ok()?, text.into_owned())),
            Property::Text(text) => Some(Self::Text(text.into_owned())),
            Property::Bool(b) => Some(Self::Text(b.to_string())),
            Property::Absent | Property::Null | Property::Composite => None,
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::Number(_, text) | Self::Text(text) => text,
        }
    }
}

impl Accumulator {
    fn new(aggregate: Aggregate) -> Self {
        Self { aggregate, count: 0, sum: 0.0, extreme: None, distinct: BTreeSet::new() }
    }

    fn add(&mut self, item: &impl super::Record) -> Result<(), Error> {
        let value = |path: &FieldPath| Sortable::of(item.property(FieldRef { index: 0, path }));
        match &self.aggregate {
            Aggregate::Count => self.count += 1,
            Aggregate::Sum(path) | Aggregate::Average(path) => {
                if let Some(Sortable::Number(n, _)) = value(path) {
                    self.count += 1;
                    self.sum += n;
                }
            }
            Aggregate::Min(path) => {
                let least = [self.extreme.take(), value(path)].into_iter().flatten().min();
                self.extreme = least;
            }
            Aggregate::Max(path) => self.extreme = self.extreme.take().max(value(path)),
            Aggregate::Distinct(path) => {
                self.distinct.extend(value(path));
                if self.distinct.len() > DISTINCT_MAX {
                    return Err(Error::new(
                        ErrorKind::TooLarge,
                        format!("{path} has more than {DISTINCT_MAX} different values: narrow the query"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Value {
        match self.aggregate {
            Aggregate::Count => Value::Count(self.count),
            Aggregate::Sum(_) => Value::Number((self.count > 0).then_some(self.sum)),
            Aggregate::Average(_) => Value::Number((self.count > 0).then(|| self.sum / self.count as f64)),
            Aggregate::Min(_) | Aggregate::Max(_) => Value::Text(self.extreme.map(Sortable::into_text)),
            Aggregate::Distinct(_) => {
                Value::Values(self.distinct.into_iter().map(Sortable::into_text).collect())
            }
        }
    }
}

/// An aggregate over logical partitions, or over the whole table.
#[derive(Debug)]
pub struct Fold<D> {
    calls: Calls<D>,
    asked: BTreeMap<CallId, Source>,
    filter: Filter,
    accumulator: Accumulator,
    failed: Option<Refusal>,
}

#[derive(Clone, Debug)]
enum Source {
    Query(Query),
    Scan(Scan),
}

impl<D: super::Record> Fold<D> {
    /// Over these logical partitions.
    pub fn over_keys(
        aggregate: Aggregate,
        keys: &[PartitionKey],
        filter: Filter,
        width: usize,
        retry: RetryPolicy,
        seed: Seed,
    ) -> Self {
        let sources = keys.iter().map(|key| Source::Query(Query::of(key.clone()))).collect();
        Self::new(aggregate, sources, filter, width, retry, seed)
    }

    /// Over these parts of the table.
    pub fn over_parts(
        aggregate: Aggregate,
        parts: Vec<Scan>,
        filter: Filter,
        width: usize,
        retry: RetryPolicy,
        seed: Seed,
    ) -> Self {
        let sources = parts.into_iter().map(Source::Scan).collect();
        Self::new(aggregate, sources, filter, width, retry, seed)
    }

    fn new(
        aggregate: Aggregate,
        sources: Vec<Source>,
        filter: Filter,
        width: usize,
        retry: RetryPolicy,
        seed: Seed,
    ) -> Self {
        let mut fold = Self {
            calls: Calls::new(retry, seed, width),
            asked: BTreeMap::new(),
            filter,
            accumulator: Accumulator::new(aggregate),
            failed: None,
        };
        sources.into_iter().for_each(|source| fold.ask(source));
        fold
    }

    fn ask(&mut self, source: Source) {
        let request = match &source {
            Source::Query(query) => Request::Query(query.clone(), self.filter.clone()),
            Source::Scan(scan) => Request::Scan(scan.clone(), self.filter.clone()),
        };
        let call = self.calls.submit(request);
        self.asked.insert(call, source);
    }
}

impl<D: super::Record> Operation for Fold<D> {
    type Item = D;
    type Row = Infallible;
    type Output = (Result<Value, Refusal>, Bill);

    fn next(&mut self, now: Instant) -> Next<D, Infallible, Self::Output> {
        if let Some(refusal) = self.failed.take() {
            return Next::Done((Err(refusal), self.calls.bill()));
        }
        match self.calls.next(now) {
            CallsNext::Send(call, request) => Next::Send(call, request),
            CallsNext::WaitUntil(at) => Next::WaitUntil(at),
            CallsNext::Pending => Next::Pending,
            CallsNext::Idle => Next::Done((Ok(self.accumulator.clone().finish()), self.calls.bill())),
        }
    }

    fn deliver(&mut self, call: CallId, reply: Reply<D>, now: Instant) {
        let Some(reply) = self.calls.deliver(call, reply, now) else { return };
        let Some(source) = self.asked.remove(&call) else { return };
        let failed = match reply {
            Ok(Response::Page(page)) => {
                let failed = page.items.iter().find_map(|(_, item)| self.accumulator.add(item).err());
                if let Some(continuation) = page.continuation {
                    self.ask(match source {
                        Source::Query(query) => Source::Query(query.after(continuation)),
                        Source::Scan(scan) => Source::Scan(scan.after(continuation)),
                    });
                }
                failed.map(Refusal::Invalid)
            }
            Ok(_) => {
                Some(Refusal::Invalid(Error::invalid("the backend answered a query with something else")))
            }
            Err(refusal) => Some(refusal),
        };
        if let Some(refusal) = failed {
            self.failed.get_or_insert(refusal);
        }
    }
}
