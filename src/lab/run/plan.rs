//! What an operation asks of a table: which requests it consists of, what each costs, and whether they stand or fall together.

use super::key_stream::{Draw, KeyStream};
use super::{LoadSpec, Operation};
use crate::budget::Capacity;
use crate::charge::{Consistency, Footprint, PageKind, RequestCharge, Tariff};
use crate::clock::Instant;
use crate::profile::{Profile, Service};
use crate::sim::Access;
use crate::units::Bytes;

/// How the requests of an operation hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// One request.
    One,
    /// Each is admitted by itself; those that were refused are sent again.
    Each,
    /// All or none.
    All,
}

/// An operation, priced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    operation: Operation,
    pub(super) bond: Bond,
    pub(super) capacity: Capacity,
    milli: u64,
    /// What a read costs that finds nothing.
    miss_milli: u64,
    eventual: bool,
    pub(super) creates: bool,
    low_priority: bool,
    bucket_percent: Option<u32>,
    /// Bytes that a creation adds.
    pub(super) bytes: u64,
}

/// One request of an operation.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) access: Access,
    /// The partition of its place, found anew whenever it is sent: it holds for that instant.
    pub(super) partition: usize,
    /// The number of its physical key.
    pub(super) key: u64,
    /// What it writes to the indexes of its table.
    pub(super) entries: Vec<Entry>,
}

/// An index entry that a write makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Which of the load's indexes.
    pub(super) index: usize,
    pub(super) access: Access,
    /// As of a request.
    pub(super) partition: usize,
    /// The number of the physical key.
    pub(super) key: u64,
}

pub(super) fn milli(charge: RequestCharge) -> u64 {
    (charge.read.milli() + charge.write.milli() + charge.request.milli()).max(1)
}

impl Plan {
    pub(super) fn new(operation: Operation, load: &LoadSpec, profile: &Profile) -> Self {
        let tariff: &Tariff = profile.tariff();
        let item = Some(load.item);
        let write = |before, after| Footprint::Write { before, after };
        let read = |size, consistency| Footprint::PointRead { size, consistency };
        let page = |items: u32, consistency| Footprint::Page {
            evaluated: Bytes(load.item.0.saturating_mul(u64::from(items))),
            items: u64::from(items),
            partitions: 1,
            consistency,
            kind: PageKind::Query,
        };
        let (bond, capacity, footprint, consistency) = match operation {
            Operation::Create => (Bond::One, Capacity::Write, write(None, item), Consistency::Strong),
            Operation::Update => (Bond::One, Capacity::Write, write(item, item), Consistency::Strong),
            Operation::Delete => (Bond::One, Capacity::Write, write(item, None), Consistency::Strong),
            Operation::Get(consistency) => (Bond::One, Capacity::Read, read(item, consistency), consistency),
            Operation::Query { items, consistency } => {
                (Bond::One, Capacity::Read, page(items, consistency), consistency)
            }
            Operation::ReadAll { items, consistency } => {
                (Bond::Each, Capacity::Read, page(items, consistency), consistency)
            }
            Operation::BatchWrite(_) => (Bond::Each, Capacity::Write, write(None, item), Consistency::Strong),
            Operation::BatchGet(_, consistency) => {
                (Bond::Each, Capacity::Read, read(item, consistency), consistency)
            }
            Operation::TransactWrite(_) => {
                (Bond::All, Capacity::Write, write(None, item), Consistency::Strong)
            }
            Operation::TransactGet(_) => {
                (Bond::All, Capacity::Read, read(item, Consistency::Strong), Consistency::Strong)
            }
        };
        let charge = match bond {
            Bond::All => tariff.transactional(&footprint),
            Bond::One | Bond::Each => tariff.charge(&footprint),
        };
        let creates =
            matches!(operation, Operation::Create | Operation::BatchWrite(_) | Operation::TransactWrite(_));
        Self {
            operation,
            bond,
            capacity,
            milli: milli(charge),
            miss_milli: milli(tariff.charge(&read(None, consistency))),
            eventual: profile.service() == Service::DynamoDb
                && capacity == Capacity::Read
                && consistency != Consistency::Strong,
            creates,
            low_priority: load.low_priority,
            bucket_percent: load.bucket_percent,
            bytes: if creates { load.item.0 } else { 0 },
        }
    }

    /// What one of its requests costs, in thousandths of a unit.
    pub(super) fn request_milli(&self) -> u64 {
        self.milli
    }

    /// Requests for keys that it is made of at the most, suffixes left out.
    pub(super) fn requests(&self) -> u32 {
        match self.operation {
            Operation::BatchWrite(n)
            | Operation::BatchGet(n, _)
            | Operation::TransactWrite(n)
            | Operation::TransactGet(n) => n.max(1),
            _ => 1,
        }
    }

    /// Whether it is one request under these keys.
    pub(super) fn is_single(&self, keys: &KeyStream) -> bool {
        self.bond == Bond::One && !(matches!(self.operation, Operation::Get(_)) && keys.reads_fan_out())
    }

    /// Whether its members are requests of their own, sent at the same time, rather than parts of one.
    pub(super) fn is_fan_out(&self) -> bool {
        matches!(self.operation, Operation::Get(_) | Operation::ReadAll { .. })
    }

    /// The one request of an operation that is one.
    #[inline]
    pub(super) fn single(&self, keys: &mut KeyStream, now: Instant) -> Member {
        let draw = keys.draw(now, self.creates);
        self.member(keys, draw, self.milli)
    }

    /// The requests of an operation, and how they hang together.
    pub(super) fn members(&self, keys: &mut KeyStream, now: Instant) -> (Bond, Vec<Member>) {
        let (n, bond) = match self.operation {
            Operation::Get(_) if keys.reads_fan_out() => {
                let draw = keys.draw(now, false);
                return (Bond::Each, self.fan_out(keys, draw, self.miss_milli));
            }
            Operation::ReadAll { .. } => {
                let draw = keys.draw(now, false);
                return (Bond::Each, self.fan_out(keys, draw, self.milli));
            }
            Operation::BatchWrite(n) | Operation::BatchGet(n, _) => (n, Bond::Each),
            Operation::TransactWrite(n) | Operation::TransactGet(n) => (n, Bond::All),
            _ => (1, Bond::One),
        };
        (bond, (0..n.max(1)).map(|_| self.single(keys, now)).collect())
    }

    fn fan_out(&self, keys: &mut KeyStream, draw: Draw, others_milli: u64) -> Vec<Member> {
        (0..keys.suffixes())
            .map(|suffix| {
                let milli = if suffix == draw.suffix { self.milli } else { others_milli };
                self.member(keys, Draw { suffix, ..draw }, milli)
            })
            .collect()
    }

    #[inline]
    fn member(&self, keys: &mut KeyStream, draw: Draw, milli: u64) -> Member {
        let access = Access {
            place: keys.place(draw),
            capacity: self.capacity,
            milli,
            eventual: self.eventual,
            low_priority: self.low_priority,
            bucket_percent: self.bucket_percent,
        };
        Member { access, partition: 0, key: keys.physical(draw), entries: Vec::new() }
    }
}
