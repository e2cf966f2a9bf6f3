//! A table whose requests go wrong as told: the backend for tests of client code.
//!
//! Faults strike what comes through [`Backend`]; whoever talks to the table itself is spared, so that a test can look at
//! the truth.

use super::{Effect, Fault, RequestKind};
use crate::budget::{Capacity, Limit, PartitionId, Throttled};
use crate::charge::{Consistency, RequestCharge};
use crate::client::{Backend, Record, Reply, Request, Response};
use crate::clock::Instant;
use crate::cluster::{Refusal, Table};
use crate::key::{ItemKey, PartitionKey, SortKey};
use crate::profile::Service;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// A split by a fault is refused beyond this many partitions, so that a run stays quick.
const PARTITIONS_MAX: usize = 64;

/// A table with faults.
///
/// ```
/// use hotplate::client::{Client, KeyDesign};
/// use hotplate::profile::Service;
/// use hotplate::testkit::{Effect, Fault, Faulty};
/// use hotplate::{Clock, Profile, Table, Template};
/// use serde_json::{Value, json};
///
/// let clock = Clock::manual();
/// let table: Table<Value> = Table::new("orders", Profile::dynamodb_on_demand(), clock.now())?;
/// let faulty = Faulty::new(table, vec![Fault::new(Effect::Throttle { retry_after_ms: 50 })]);
///
/// let design = KeyDesign::new(Template::parse("{customer}")?, "order", Service::DynamoDb);
/// let client = Client::new(&faulty, design, clock);
/// let order = json!({"customer": "c1", "order": "o1"});
/// assert!(client.put(order.clone()).unwrap_err().throttled().is_some(), "the first request is struck");
/// assert!(client.put(order).is_ok(), "the next is not");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Faulty<D: Record> {
    table: Table<D>,
    state: Mutex<State<D>>,
}

#[derive(Debug)]
struct State<D> {
    armed: Vec<Armed>,
    /// Every item as it was before its last write; kept only while stale reads are armed.
    before: BTreeMap<ItemKey, Option<D>>,
    struck: u64,
}

#[derive(Clone, Debug)]
struct Armed {
    fault: Fault,
    skip: u32,
    left: u32,
}

/// Whom a request concerns.
struct Target<'a> {
    kind: RequestKind,
    keys: Vec<&'a PartitionKey>,
    partitions: Vec<PartitionId>,
}

impl Armed {
    fn matches(&self, target: &Target<'_>, now: Instant) -> bool {
        let fault = &self.fault;
        let millis = now.nanos() / 1_000_000;
        self.left > 0
            && fault.request.is_none_or(|kind| kind == target.kind)
            && fault.partition.is_none_or(|p| target.partitions.contains(&PartitionId(p)))
            && fault.key.as_ref().is_none_or(|key| target.keys.iter().any(|k| k.to_string() == *key))
            && fault.from_ms.is_none_or(|from| millis >= from)
            && fault.until_ms.is_none_or(|until| millis < until)
    }

    /// Counts a request that matches; whether it is struck.
    fn strike(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.left -= 1;
        true
    }
}

impl<D: Record> Faulty<D> {
    /// This table, with these faults armed.
    pub fn new(table: Table<D>, faults: Vec<Fault>) -> Self {
        let armed =
            faults.into_iter().map(|fault| Armed { skip: fault.skip, left: fault.times, fault }).collect();
        Self { table, state: Mutex::new(State { armed, before: BTreeMap::new(), struck: 0 }) }
    }

    /// The table itself, which nothing strikes.
    pub fn table(&self) -> &Table<D> {
        &self.table
    }

    /// Disarms every fault.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.armed.clear();
        state.before.clear();
    }

    /// How many requests were struck.
    pub fn struck(&self) -> u64 {
        self.state.lock().struck
    }

    /// Whether a read may still be answered with something older.
    pub fn may_be_stale(&self) -> bool {
        // One that is limited to writes makes no read older.
        let reads = |fault: &Fault| fault.request.is_none_or(|kind| fault.effect.strikes().contains(&kind));
        let stale =
            |armed: &Armed| armed.fault.effect == Effect::StaleRead && armed.left > 0 && reads(&armed.fault);
        self.state.lock().armed.iter().any(stale)
    }

    fn target<'r>(&self, request: &'r Request<D>) -> Target<'r> {
        let of = |kind, keys: Vec<&'r ItemKey>| Target {
            kind,
            partitions: keys.iter().map(|key| self.table.partition_of(key)).collect(),
            keys: keys.into_iter().map(|key| &key.partition).collect(),
        };
        match request {
            Request::Get { key, .. } => of(RequestKind::Get, vec![key]),
            Request::Put { key, .. } => of(RequestKind::Put, vec![key]),
            Request::Delete { key } => of(RequestKind::Delete, vec![key]),
            Request::Batch(writes) => of(RequestKind::Batch, writes.iter().map(|(key, _)| key).collect()),
            Request::Move { from, to, .. } => of(RequestKind::Move, vec![from, to]),
            Request::Query(query, _) => {
                let first = ItemKey { partition: query.get_partition().clone(), sort: SortKey::none() };
                Target {
                    kind: RequestKind::Query,
                    keys: vec![query.get_partition()],
                    partitions: vec![self.table.partition_of(&first)],
                }
            }
            Request::Scan(..) => Target { kind: RequestKind::Scan, keys: vec![], partitions: vec![] },
        }
    }

    /// The first armed fault of those effects that `wanted` names, if it strikes this target.
    fn struck_by(&self, wanted: fn(Effect) -> bool, target: &Target<'_>, now: Instant) -> Option<Effect> {
        let mut state = self.state.lock();
        let armed = state.armed.iter_mut().filter(|armed| wanted(armed.fault.effect));
        let mut hit = None;
        for armed in armed {
            if armed.matches(target, now) && armed.strike() {
                hit = Some(armed.fault.effect);
                break;
            }
        }
        state.struck += u64::from(hit.is_some());
        hit
    }

    /// Why a request for `target` is refused, if a fault says so.
    fn refuse(&self, target: &Target<'_>, now: Instant) -> Option<Refusal> {
        let writes = matches!(
            target.kind,
            RequestKind::Put | RequestKind::Delete | RequestKind::Batch | RequestKind::Move
        );
        let refuses: fn(Effect) -> bool = match writes {
            true => |effect| matches!(effect, Effect::Throttle { .. } | Effect::Conflict),
            false => |effect| matches!(effect, Effect::Throttle { .. }),
        };
        match self.struck_by(refuses, target, now)? {
            Effect::Throttle { retry_after_ms } => Some(Refusal::Throttled(Throttled {
                partition: target.partitions.first().copied().unwrap_or(PartitionId(0)),
                limit: match self.service() {
                    Service::DynamoDb => Limit::KeyRange,
                    Service::Cosmos => Limit::PartitionShare,
                },
                capacity: if writes { Capacity::Write } else { Capacity::Read },
                retry_after: Duration::from_millis(u64::from(retry_after_ms).max(1)),
            })),
            _ => Some(Refusal::Conflict { charge: RequestCharge::ZERO }),
        }
    }

    fn split(&self, target: &Target<'_>, now: Instant) {
        let strikes = self.struck_by(|effect| effect == Effect::Split, target, now);
        if let (Some(_), Some(&partition)) = (strikes, target.partitions.first())
            && self.table.partition_count() < PARTITIONS_MAX
        {
            // A partition that cannot be divided stays whole, as in the service.
            let _ = self.table.split(partition, None, now);
        }
    }

    /// The request for a page of one item, if a fault makes the page end there: both services may end a page anywhere.
    fn shorten(&self, request: &Request<D>, target: &Target<'_>, now: Instant) -> Option<Request<D>> {
        let shorter = match request {
            Request::Query(query, filter) => Request::Query(query.clone().limit(1), filter.clone()),
            Request::Scan(scan, filter) => Request::Scan(scan.clone().limit(1), filter.clone()),
            _ => return None,
        };
        self.struck_by(|effect| effect == Effect::ShortPage, target, now).map(|_| shorter)
    }

    /// A batch answers for each member: those that a fault strikes are refused, the others are carried out.
    fn batch(&self, writes: &[(ItemKey, Option<D>)], now: Instant) -> Reply<D> {
        let refusals: Vec<Option<Refusal>> = writes
            .iter()
            .map(|(key, _)| {
                let target = Target {
                    kind: RequestKind::Batch,
                    keys: vec![&key.partition],
                    partitions: vec![self.table.partition_of(key)],
                };
                self.refuse(&target, now)
            })
            .collect();
        let kept: Vec<_> = writes
            .iter()
            .zip(&refusals)
            .filter(|(_, refusal)| refusal.is_none())
            .map(|(write, _)| write.clone())
            .collect();
        let mut kept = match kept.is_empty() {
            true => Vec::new(),
            false => match self.table.execute(&Request::Batch(kept), now)? {
                Response::Batch(results) => results,
                other => return Ok(other),
            },
        }
        .into_iter();
        let answer = |refusal: Option<Refusal>| match refusal {
            Some(refusal) => Some(Err(refusal)),
            None => kept.next(),
        };
        Ok(Response::Batch(refusals.into_iter().filter_map(answer).collect()))
    }

    fn remember(&self, request: &Request<D>, reply: &Reply<D>) {
        let mut state = self.state.lock();
        if !state.armed.iter().any(|armed| armed.fault.effect == Effect::StaleRead) {
            return;
        }
        match (request, reply) {
            (Request::Put { key, .. } | Request::Delete { key }, Ok(Response::Written(written))) => {
                state.before.insert(key.clone(), written.before.clone());
            }
            (Request::Move { from, to, .. }, Ok(Response::Moved(written))) => {
                for (key, written) in [from, to].into_iter().zip(written) {
                    state.before.insert(key.clone(), written.before.clone());
                }
            }
            (Request::Batch(writes), Ok(Response::Batch(results))) => {
                for ((key, _), result) in writes.iter().zip(results) {
                    if let Ok(written) = result {
                        state.before.insert(key.clone(), written.before.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Makes an answer older than it is. An item that was removed since does not come back into pages: they show what
    /// is there, as it was.
    fn age(&self, reply: &mut Reply<D>, request: &Request<D>) {
        let state = self.state.lock();
        match (reply, request) {
            (Ok(Response::Read(read)), Request::Get { key, .. }) => {
                if let Some(before) = state.before.get(key) {
                    read.item.clone_from(before);
                }
            }
            (Ok(Response::Page(page)), _) => {
                page.items = std::mem::take(&mut page.items)
                    .into_iter()
                    .filter_map(|(key, item)| match state.before.get(&key) {
                        Some(before) => before.clone().map(|before| (key, before)),
                        None => Some((key, item)),
                    })
                    .collect();
            }
            _ => {}
        }
    }
}

impl<D: Record> Backend for Faulty<D> {
    type Item = D;

    fn execute(&self, request: &Request<D>, now: Instant) -> Reply<D> {
        let target = self.target(request);
        self.split(&target, now);
        let shortened = self.shorten(request, &target, now);
        let request = shortened.as_ref().unwrap_or(request);
        let mut reply = match request {
            Request::Batch(writes) => self.batch(writes, now),
            _ => match self.refuse(&target, now) {
                Some(refusal) => Err(refusal),
                None => self.table.execute(request, now),
            },
        };
        let fresh = match request {
            Request::Get { consistency, .. } => *consistency == Consistency::Strong,
            Request::Query(query, _) => query.get_consistency() == Consistency::Strong,
            Request::Scan(scan, _) => scan.get_consistency() == Consistency::Strong,
            _ => true,
        };
        if !fresh && self.struck_by(|effect| effect == Effect::StaleRead, &target, now).is_some() {
            self.age(&mut reply, request);
        }
        self.remember(request, &reply);
        reply
    }

    fn service(&self) -> Service {
        self.table.service()
    }

    fn parts(&self) -> u32 {
        self.table.parts()
    }

    fn delay(&self, request: &Request<D>, now: Instant) -> Duration {
        match self.struck_by(|effect| matches!(effect, Effect::Latency { .. }), &self.target(request), now) {
            Some(Effect::Latency { ms }) => Duration::from_millis(u64::from(ms)),
            _ => Duration::ZERO,
        }
    }
}
