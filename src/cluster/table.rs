//! A table and its point operations.

use super::topology::Topology;
use super::{Read, Refusal, Written};
use crate::budget::{Capacity, PartitionId, Throttled};
use crate::charge::{Consistency, Footprint, RequestCharge};
use crate::clock::Instant;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::key::{ItemKey, PartitionKey, SortKey};
use crate::partition::{Admitted, PhysicalPartition};
use crate::profile::{Profile, Throughput};
use crate::ring::{Owner, PartitionMap, Token};
use crate::store::{Change, Collection, Directory, IndexEntry, Occupied, RangeIndex, Retired};
use crate::units::Bytes;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The current layout of a table.
pub(super) type Map = PartitionMap<Arc<PhysicalPartition>>;

/// A table (DynamoDB) or container (Cosmos DB) whose items live in physical partitions with budgets.
///
/// - Each item belongs to exactly one physical partition, whatever splits and merges happen meanwhile.
/// - No item is read or written without a permit of its partition's budget, and each permit that led to an answer is
///   settled with the charge in that answer.
/// - Operations on different logical keys share no lock, except by chance of the directory's shards.
///
/// ```
/// use hotplate::{Clock, Consistency, ItemKey, Profile, Table};
///
/// let clock = Clock::manual();
/// let profile = Profile::dynamodb_provisioned(5, 5)?;
/// let table: Table<serde_json::Value> = Table::new("orders", profile, clock.now())?;
///
/// let key = ItemKey::new("2018-08-09", "order-1");
/// let written = table.put(&key, serde_json::json!({"total": 12}), clock.now())?;
/// assert_eq!(written.charge.to_string(), "1 WCU");
///
/// let read = table.get(&key, Consistency::Strong, clock.now())?;
/// assert_eq!(read.item.unwrap()["total"], 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table<D: Document> {
    name: String,
    pub(super) map: ArcSwap<Map>,
    pub(super) directory: Directory<D>,
    /// The profile at creation. What the point path reads of it (prices, sizes, placement) never changes; throughput
    /// does, and the current one is in the topology.
    pub(super) rules: Profile,
    pub(super) topology: Mutex<Topology>,
    /// The second up to which the table has done what the service does by itself.
    pub(super) kept_up: AtomicU64,
}

impl<D: Document> Table<D> {
    /// A new table with its partitions at creation.
    ///
    /// # Errors
    /// When the name is empty.
    pub fn new(name: impl Into<String>, profile: Profile, now: Instant) -> Result<Self> {
        let name = name.into();
        if name.is_empty() {
            return Err(Error::invalid("a table needs a name"));
        }
        let (topology, map) = Topology::create(profile.clone(), now)?;
        Ok(Self {
            name,
            map: ArcSwap::from_pointee(map),
            directory: Directory::new(),
            rules: profile,
            topology: Mutex::new(topology),
            kept_up: AtomicU64::new(now.second()),
        })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rules the table was created with; its throughput may have changed since.
    pub fn profile(&self) -> &Profile {
        &self.rules
    }

    /// The table's throughput now.
    pub fn throughput(&self) -> Throughput {
        *self.topology.lock().profile.throughput()
    }

    /// How many items a logical partition has.
    pub fn items_of(&self, key: &PartitionKey) -> usize {
        self.directory.get(key).map_or(0, |collection| collection.len())
    }

    /// Bytes of a logical partition's items.
    pub fn bytes_of(&self, key: &PartitionKey) -> Bytes {
        self.directory.get(key).map_or(Bytes::ZERO, |collection| collection.bytes())
    }

    /// How many physical partitions there are now.
    pub fn partition_count(&self) -> usize {
        self.map.load().len()
    }

    /// The token of a key: its place on the ring.
    pub fn token(&self, key: &PartitionKey) -> Token {
        self.rules.placement().token(key)
    }

    /// The physical partition that holds an item, whether the item exists or not.
    pub fn partition_of(&self, key: &ItemKey) -> PartitionId {
        self.map.load().route(&self.token(&key.partition), &key.sort).id()
    }

    /// Reads one item.
    ///
    /// # Errors
    /// [`Refusal::Throttled`] when the partition or the table has no read throughput left.
    pub fn get(&self, key: &ItemKey, consistency: Consistency, now: Instant) -> Result<Read<D>, Refusal> {
        self.keep_up(now);
        let Some(collection) = self.directory.get(&key.partition) else {
            return self.get_absent(key, consistency, now);
        };
        let map = self.map.load();
        let partition = route(&map, &collection, &key.sort);
        let expected = || self.charge(&Footprint::PointRead { size: None, consistency });
        let admitted =
            partition.admit(Capacity::Read, now, expected).inspect_err(|_| collection.heat.add_throttle())?;
        let item = collection.get(&key.sort, admitted.permit()).cloned();
        let size = item.as_ref().map(Document::size);
        let charge = self.charge(&Footprint::PointRead { size, consistency });
        collection.heat.add_units(admitted.settle(&charge, now));
        partition.sample(collection.token(), &key.sort, now);
        Ok(Read { item, charge, partition: partition.id() })
    }

    /// Reads an item of a logical partition that has none.
    #[cold]
    fn get_absent(&self, key: &ItemKey, consistency: Consistency, now: Instant) -> Result<Read<D>, Refusal> {
        let map = self.map.load();
        let token = self.token(&key.partition);
        let partition = map.route(&token, &key.sort);
        let charge = self.charge(&Footprint::PointRead { size: None, consistency });
        let admitted = admit_absent(partition, &key.partition, Capacity::Read, now, charge)?;
        let paid = admitted.settle(&charge, now);
        partition.sample(&token, &key.sort, now);
        partition.absent().lock().units.record(&key.partition, paid);
        Ok(Read { item: None, charge, partition: partition.id() })
    }

    /// Stores an item, whether or not there was one.
    ///
    /// # Errors
    /// [`Refusal`]: throttled, too large, in a transaction, or the logical partition is full.
    pub fn put(&self, key: &ItemKey, item: D, now: Instant) -> Result<Written<D>, Refusal> {
        self.put_if(key, item, now, |_| true)
    }

    /// Stores an item if `condition` holds for what is there.
    ///
    /// # Errors
    /// [`Refusal::ConditionFailed`], or as [`put`](Self::put). A condition that fails is charged, as both services
    /// do.
    pub fn put_if(
        &self,
        key: &ItemKey,
        item: D,
        now: Instant,
        condition: impl FnOnce(Option<&D>) -> bool,
    ) -> Result<Written<D>, Refusal> {
        let size = item.size();
        self.rules.check_item(size)?;
        self.write(
            key,
            Some(size),
            now,
            |old| if condition(old) { Change::Put(item) } else { Change::Refuse },
        )
    }

    /// Reads an item and writes what `change` makes of it, in one step that nobody can come between.
    ///
    /// # Errors
    /// [`Refusal::ConditionFailed`] when `change` refuses, or as [`put`](Self::put).
    pub fn update(
        &self,
        key: &ItemKey,
        now: Instant,
        change: impl FnOnce(Option<&D>) -> Change<D>,
    ) -> Result<Written<D>, Refusal> {
        self.write(key, None, now, change)
    }

    /// Removes an item, whether or not there is one.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn delete(&self, key: &ItemKey, now: Instant) -> Result<Written<D>, Refusal> {
        self.write(key, None, now, |_| Change::Delete)
    }

    /// The one path of every single write. `attempted` is the size a put would store, where it is known beforehand.
    fn write(
        &self,
        key: &ItemKey,
        attempted: Option<Bytes>,
        now: Instant,
        decide: impl FnOnce(Option<&D>) -> Change<D>,
    ) -> Result<Written<D>, Refusal> {
        self.keep_up(now);
        let expected = || self.charge(&Footprint::Write { before: None, after: attempted });
        let existing = self.directory.get_mut(&key.partition);
        // Read after the collection is locked, so the map is no older than what the lock protects.
        let map = self.map.load();
        let (partition, outcome, vacant) = match existing {
            Some(mut collection) => {
                let partition = route(&map, &collection, &key.sort);
                let admitted = partition
                    .admit(Capacity::Write, now, expected)
                    .inspect_err(|_| collection.heat.add_throttle())?;
                let outcome = self.apply(&key.sort, &mut collection, admitted, attempted, now, decide);
                (partition, outcome, collection.is_vacant())
            }
            None => {
                let token = self.token(&key.partition);
                let partition: &PhysicalPartition = map.route(&token, &key.sort);
                let admitted = admit_absent(partition, &key.partition, Capacity::Write, now, expected())?;
                let mut collection = self.create(&key.partition, &token);
                let outcome = self.apply(&key.sort, &mut collection, admitted, attempted, now, decide);
                (partition, outcome, collection.is_vacant())
            }
        };
        if vacant {
            self.forget_if_vacant(&key.partition);
        }
        if outcome.is_ok() && partition.bytes() > self.rules.partition_max().0 {
            self.split_for_size(partition.id(), now);
        }
        outcome
    }

    /// Carries an admitted write out on the locked collection.
    fn apply(
        &self,
        sort: &SortKey,
        collection: &mut Collection<D>,
        admitted: Admitted<'_>,
        attempted: Option<Bytes>,
        now: Instant,
        decide: impl FnOnce(Option<&D>) -> Change<D>,
    ) -> Result<Written<D>, Refusal> {
        let partition = admitted.partition();
        let existing = collection.get(sort, admitted.permit()).map(Document::size);
        let verdict = if collection.is_marked(sort) {
            Err(Refuse::Conflict)
        } else {
            let change = decide(collection.get(sort, admitted.permit()));
            self.check(collection.bytes(), existing, change)?
        };
        let (charge, outcome) = match verdict {
            Ok(Checked { change, after }) => {
                let charge = self.charge(&Footprint::Write { before: existing, after });
                let before = match change {
                    Change::Put(item) => collection.replace(sort, Some(item), admitted.permit()),
                    Change::Delete => collection.replace(sort, None, admitted.permit()),
                    Change::Keep | Change::Refuse => collection.get(sort, admitted.permit()).cloned(),
                };
                partition.resize(existing.unwrap_or_default().0, after.unwrap_or_default().0);
                (charge, Ok(Written { before, charge, partition: partition.id() }))
            }
            Err(refuse) => {
                let charge = self.charge(&Footprint::FailedWrite { existing, attempted });
                (charge, Err(refuse.with_charge(charge)))
            }
        };
        collection.heat.add_units_alone(admitted.settle(&charge, now));
        partition.sample(collection.token(), sort, now);
        outcome
    }

    /// Whether a change may be made to a collection of `stored` bytes: the size of the item afterwards, or why not.
    pub(super) fn check(
        &self,
        stored: Bytes,
        existing: Option<Bytes>,
        change: Change<D>,
    ) -> Result<Result<Checked<D>, Refuse>> {
        let after = match &change {
            Change::Put(item) => {
                let size = item.size();
                self.rules.check_item(size)?;
                let others = stored.0.saturating_sub(existing.unwrap_or_default().0);
                if self.rules.logical_max().is_some_and(|most| others + size.0 > most.0) {
                    return Ok(Err(Refuse::LogicalPartitionFull));
                }
                Some(size)
            }
            Change::Delete => None,
            Change::Keep => existing,
            Change::Refuse => return Ok(Err(Refuse::ConditionFailed)),
        };
        Ok(Ok(Checked { change, after }))
    }

    pub(super) fn charge(&self, footprint: &Footprint) -> RequestCharge {
        self.rules.tariff().charge(footprint)
    }

    /// The collection of `key`, locked, created if need be and entered into the index of each partition that holds
    /// any of it.
    pub(super) fn create(&self, key: &PartitionKey, token: &Token) -> Occupied<'_, D> {
        loop {
            let map = self.map.load();
            let announce =
                || holders(&map, token).iter().try_for_each(|p| p.index().insert(entry(token, key)));
            match self.directory.get_or_create(key, token, announce) {
                Ok(collection) => return collection,
                // A split or merge is between retiring the old partitions and showing the new map: let it finish. An
                // entry that some of the partitions already took is found by a scan as a collection without items.
                Err(Retired) => std::thread::yield_now(),
            }
        }
    }

    /// Drops a collection that holds nothing, and remembers how hot its key was.
    pub(super) fn forget_if_vacant(&self, key: &PartitionKey) {
        let mut retired = true;
        while retired {
            retired = false;
            let map = self.map.load_full();
            self.directory.remove_if(key, |collection| {
                if !collection.is_vacant() {
                    return false;
                }
                let token = collection.token();
                let entry = entry(token, key);
                let partitions = holders(&map, token);
                retired = RangeIndex::remove_from_all(partitions.iter().map(|p| p.index()), &entry).is_err();
                if retired {
                    return false;
                }
                if let Some(partition) = partitions.first() {
                    let mut absent = partition.absent().lock();
                    absent.units.record(key, collection.heat.units_milli());
                    absent.throttles.record(key, collection.heat.throttles());
                }
                true
            });
            if retired {
                std::thread::yield_now();
            }
        }
    }
}

/// A change that may be made, and the size of the item afterwards.
pub(super) struct Checked<D> {
    pub(super) change: Change<D>,
    pub(super) after: Option<Bytes>,
}

/// Why a change may not be made, before it is known what finding out cost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refuse {
    ConditionFailed,
    Conflict,
    LogicalPartitionFull,
}

impl Refuse {
    pub(super) fn with_charge(self, charge: RequestCharge) -> Refusal {
        match self {
            Self::ConditionFailed => Refusal::ConditionFailed { charge },
            Self::Conflict => Refusal::Conflict { charge },
            Self::LogicalPartitionFull => Refusal::LogicalPartitionFull { charge },
        }
    }
}

/// Admits a request for a key that has no collection to count its heat in.
fn admit_absent<'p>(
    partition: &'p PhysicalPartition,
    key: &PartitionKey,
    capacity: Capacity,
    now: Instant,
    expected: RequestCharge,
) -> Result<Admitted<'p>, Throttled> {
    partition
        .admit(capacity, now, || expected)
        .inspect_err(|_| partition.absent().lock().throttles.record(key, 1))
}

fn entry(token: &Token, key: &PartitionKey) -> IndexEntry {
    (token.clone(), key.key_bytes().clone())
}

/// The partitions that hold any of the logical partition at `token`: one, unless a split went through it.
pub(super) fn holders<'m>(map: &'m Map, token: &Token) -> &'m [Arc<PhysicalPartition>] {
    let first = map.index_of_token(token);
    let more =
        (first + 1..map.len()).take_while(|&i| map.partitions()[i].range().from().token == *token).count();
    &map.partitions()[first..=first + more]
}

/// The partition that holds an item of this collection.
///
/// The collection remembers where it was last found, with the epoch of the map: a split makes the memory stale, and
/// the next operation finds the way again. Without it each operation would search the map by token.
pub(super) fn route<'m, D: Document>(
    map: &'m Map,
    collection: &Collection<D>,
    sort: &SortKey,
) -> &'m PhysicalPartition {
    let epoch = (map.epoch() + 1) & ROUTE_EPOCH_MASK;
    let remembered = collection.route().load(Ordering::Relaxed);
    if remembered >> ROUTE_INDEX_BITS == epoch
        && let Some(partition) = map.partitions().get((remembered & ROUTE_INDEX_MASK) as usize)
    {
        return partition;
    }
    match map.owner(collection.token()) {
        Owner::Whole(index) => {
            collection.route().store(epoch << ROUTE_INDEX_BITS | index as u64, Ordering::Relaxed);
            &map.partitions()[index]
        }
        Owner::Cut => map.route(collection.token(), sort),
    }
}

/// A remembered route: the index in the lower bits, the epoch plus one above, so that zero remembers nothing.
const ROUTE_INDEX_BITS: u32 = 24;
const ROUTE_INDEX_MASK: u64 = (1 << ROUTE_INDEX_BITS) - 1;
const ROUTE_EPOCH_MASK: u64 = (1 << (64 - ROUTE_INDEX_BITS)) - 1;
