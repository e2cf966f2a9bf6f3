//! Splits, merges and changes of throughput: how a table's layout changes under load.
//!
//! One change at a time, under one lock that no point operation ever takes:
//!
//! ```text
//!   1  retire the parent's index       whoever comes to add or remove a collection waits for step 3
//!   2  cut it, measure both halves     items stay where they are
//!   3  show the next map               operations find their way again by its epoch
//! ```
//!
//! When and where a service splits for heat is not decided here (`upkeep`); this file carries out what was decided.

use super::table::Map;
use super::upkeep::{Peaks, TableEvent};
use super::{RetiredPartition, Table};
use crate::budget::{Budget, Capacity, PartitionBudget, PartitionId};
use crate::clock::Instant;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::key::Placement;
use crate::partition::{PartitionWatch, PhysicalPartition};
use crate::profile::{Growth, PARTITIONS_MAX, Profile, Throughput};
use crate::ring::{PartitionMap, RingPoint, TokenRange};
use crate::rng::Seed;
use crate::store::{IndexEntry, cut};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

/// Retired partitions whose story is kept.
const HISTORY_MAX: usize = 10_000;

/// What changes a layout, behind the table's topology lock.
#[derive(Debug)]
pub(super) struct Topology {
    pub(super) profile: Profile,
    pool: Option<Arc<Budget>>,
    next_id: u32,
    pub(super) history: Vec<RetiredPartition>,
    pub(super) events: Vec<TableEvent>,
    pub(super) peaks: Option<Peaks>,
    /// Consumed reads and writes of partitions that are no more.
    pub(super) gone_milli: [u64; 2],
}

impl Topology {
    pub(super) fn create(profile: Profile, now: Instant) -> Result<(Self, Map)> {
        let count = profile.partitions();
        let pool = profile.pool(now);
        let map = PartitionMap::new(profile.placement().even_bounds(count), |i, range| {
            let id = PartitionId(i as u32);
            let budget = profile.partition_budget(id, count, pool.as_ref(), now);
            let watch = watch(&profile, id, now);
            let (parents, entries) = (Vec::new(), BTreeSet::new());
            Arc::new(PhysicalPartition::new(id, parents, range.clone(), budget, entries, 0, watch))
        })?;
        let peaks = Peaks::of(&profile, now);
        let (history, events, gone_milli) = (Vec::new(), Vec::new(), [0; 2]);
        Ok((Self { profile, pool, next_id: count, history, events, peaks, gone_milli }, map))
    }

    fn new_id(&mut self) -> PartitionId {
        let id = PartitionId(self.next_id);
        self.next_id += 1;
        id
    }

    /// The budget of a partition among `count`, with the balances of `from` at `now`.
    fn budget(&self, id: PartitionId, count: usize, from: &PartitionBudget, now: Instant) -> PartitionBudget {
        let fresh = self.profile.partition_budget(id, count as u32, self.pool.as_ref(), now);
        fresh.carried_over_from(from, now)
    }

    fn retire(&mut self, partition: &PhysicalPartition, now: Instant) {
        self.gone_milli[0] += partition.consumed_milli(Capacity::Read);
        self.gone_milli[1] += partition.consumed_milli(Capacity::Write);
        if self.history.len() < HISTORY_MAX {
            self.history.push(RetiredPartition::of(partition, now));
        }
    }
}

/// The watch over a new partition, where splits for heat are on. Its delay follows from the layout and its number.
fn watch(profile: &Profile, id: PartitionId, now: Instant) -> Option<PartitionWatch> {
    let layout = match profile.placement() {
        Placement::Seeded { layout } => u64::from(layout),
        Placement::Cosmos { .. } => 0,
    };
    let seed = Seed(layout).stream("heat").child(u64::from(id.0));
    profile.heat_splits().map(|rule| PartitionWatch::new(rule, seed, now))
}

impl<D: Document> Table<D> {
    /// Divides a partition in two at `at`, or near the middle of what it stores. Returns the two new partitions.
    ///
    /// # Errors
    /// When there is no such partition, when `at` does not lie inside it, when the service never splits inside a
    /// logical partition, or when there is nothing to divide.
    pub fn split(
        &self,
        partition: PartitionId,
        at: Option<RingPoint>,
        now: Instant,
    ) -> Result<(PartitionId, PartitionId)> {
        let mut topology = self.topology.lock();
        self.split_locked(&mut topology, partition, at, now)
    }

    pub(super) fn split_locked(
        &self,
        topology: &mut Topology,
        partition: PartitionId,
        at: Option<RingPoint>,
        now: Instant,
    ) -> Result<(PartitionId, PartitionId)> {
        let map = self.map.load_full();
        let index = index_of(&map, partition)?;
        if map.len() as u32 >= PARTITIONS_MAX {
            return Err(Error::invalid(format!("a table has at most {PARTITIONS_MAX} physical partitions")));
        }
        if at.as_ref().is_some_and(|at| at.sort.is_some()) && !self.rules.splits_inside() {
            return Err(Error::invalid(format!(
                "{} keeps a logical partition whole: split between two of them",
                self.rules.service()
            )));
        }
        let parent = &map.partitions()[index];
        let entries = parent.index().retire().unwrap_or_default();
        let at = match at.map_or_else(|| self.middle(parent, &entries), Ok) {
            Ok(at) if is_inside(&at, parent.range()) => at,
            Ok(at) => {
                parent.index().restore(entries);
                return Err(Error::invalid(format!("{at} does not lie inside the range {}", parent.range())));
            }
            Err(error) => {
                parent.index().restore(entries);
                return Err(error);
            }
        };
        let (low_id, high_id) = (topology.new_id(), topology.new_id());
        let (low, high) = cut(entries, &at);
        let mut parents = parent.parents().to_vec();
        parents.push(partition);
        let count = map.len() + 1;
        let child = |id, range: Result<TokenRange>, entries: BTreeSet<IndexEntry>| {
            let range = range?;
            let bytes = entries.iter().map(|entry| self.bytes_within(entry, &range)).sum();
            let budget = topology.budget(id, count, parent.budget(), now);
            let watch = watch(&topology.profile, id, now);
            let parents = parents.clone();
            Ok(Arc::new(PhysicalPartition::new(id, parents, range, budget, entries, bytes, watch)))
        };
        let next = child(low_id, TokenRange::new(parent.range().from().clone(), Some(at.clone())), low)
            .and_then(|low| {
                low.inherit_absent(parent);
                let high = child(high_id, TokenRange::new(at.clone(), parent.range().to().cloned()), high)?;
                map.split(index, at, low, high)
            });
        let next = match next {
            Ok(next) => next,
            Err(_) => unreachable!("the point was checked to lie inside the range"),
        };
        topology.retire(parent, now);
        self.show(topology, next, now);
        Ok((low_id, high_id))
    }

    /// Unites a partition with its neighbour after it.
    ///
    /// # Errors
    /// When there is no such partition, or it is the last.
    pub fn merge(&self, partition: PartitionId, now: Instant) -> Result<PartitionId> {
        let mut topology = self.topology.lock();
        let map = self.map.load_full();
        let index = index_of(&map, partition)?;
        let Some(neighbour) = map.partitions().get(index + 1) else {
            return Err(Error::invalid(format!(
                "partition {partition} is the last: it has no neighbour to merge with"
            )));
        };
        let first = &map.partitions()[index];
        let range = TokenRange::new(first.range().from().clone(), neighbour.range().to().cloned())?;
        let mut entries = first.index().retire().unwrap_or_default();
        entries.append(&mut neighbour.index().retire().unwrap_or_default());
        let id = topology.new_id();
        // Two halves of one split share their ancestors: each is named once. Numbers ascend, so the oldest comes first.
        let ancestors: BTreeSet<PartitionId> =
            [first, neighbour].iter().flat_map(|p| p.parents().iter().copied().chain([p.id()])).collect();
        let parents = ancestors.into_iter().collect();
        let bytes = entries.iter().map(|entry| self.bytes_within(entry, &range)).sum();
        // The merged partition begins with the smaller balances of the two: a merge must not create throughput.
        let budget =
            topology.budget(id, map.len() - 1, first.budget(), now).lowered_to(neighbour.budget(), now);
        let watch = watch(&topology.profile, id, now);
        let merged = Arc::new(PhysicalPartition::new(id, parents, range, budget, entries, bytes, watch));
        [first, neighbour].iter().for_each(|parent| merged.inherit_absent(parent));
        let next = map.merge(index, merged)?;
        topology.retire(first, now);
        topology.retire(neighbour, now);
        self.show(&topology, next, now);
        Ok(id)
    }

    /// Gives the table other throughput. When it demands more partitions, they split at once, in the middle of what
    /// they store. Partitions are never taken away.
    ///
    /// # Errors
    /// When the throughput does not fit the service or needs more partitions than a table may have.
    pub fn set_throughput(&self, throughput: Throughput, now: Instant) -> Result<()> {
        let mut topology = self.topology.lock();
        self.set_throughput_locked(&mut topology, throughput, now)
    }

    pub(super) fn set_throughput_locked(
        &self,
        topology: &mut Topology,
        throughput: Throughput,
        now: Instant,
    ) -> Result<()> {
        let profile = topology.profile.clone().with_throughput(throughput)?;
        let needed = profile.partitions_for(&throughput);
        if needed > PARTITIONS_MAX {
            return Err(Error::invalid(format!(
                "this throughput needs {needed} physical partitions, and a table has at most {PARTITIONS_MAX}"
            )));
        }
        topology.pool = match (&topology.pool, profile.pool(now)) {
            (Some(old), Some(new)) => Some(Arc::new(old.carried_over(&new, now))),
            (_, new) => new,
        };
        topology.profile = profile;
        while (self.map.load().len() as u32) < needed {
            let map = self.map.load_full();
            let missing = needed as usize - map.len();
            let round: Vec<_> = match topology.profile.growth() {
                Growth::DoubleAll if map.len() * 2 <= PARTITIONS_MAX as usize => {
                    map.partitions().iter().map(|p| p.id()).collect()
                }
                Growth::DoubleAll | Growth::AsNeeded => self.widest(&map).into_iter().take(missing).collect(),
            };
            let before = map.len();
            for id in round {
                let range = map.partitions()[index_of(&map, id)?].range().clone();
                // A range between two neighbouring tokens cannot be divided; another one can.
                if let Some(at) = self.token_middle(&range) {
                    self.split_locked(topology, id, Some(at), now)?;
                }
            }
            if self.map.load().len() == before {
                return Err(Error::invalid("no partition of this table can be divided any further"));
            }
        }
        let map = self.map.load_full();
        self.show(topology, (*map).clone(), now);
        Ok(())
    }

    /// Splits a partition that has outgrown its limit. One that cannot be divided stays as it is: both services let
    /// a single large key be.
    pub(super) fn split_for_size(&self, partition: PartitionId, now: Instant) {
        let mut topology = self.topology.lock();
        let map = self.map.load_full();
        // Another writer may have split it already.
        let still_too_large = index_of(&map, partition)
            .is_ok_and(|index| map.partitions()[index].bytes() > self.rules.partition_max().0);
        if still_too_large {
            let _ = self.split_locked(&mut topology, partition, None, now);
        }
    }

    /// Shows a new map in which every partition has the budget that the current throughput gives it.
    fn show(&self, topology: &Topology, map: Map, now: Instant) {
        let count = map.len();
        self.map.store(Arc::new(map.replaced(|_, partition| {
            let budget = topology.budget(partition.id(), count, partition.budget(), now);
            Arc::new(partition.with_budget(budget))
        })));
    }

    /// Partitions by width of their range, widest first; in ring order among equals.
    fn widest(&self, map: &Map) -> Vec<PartitionId> {
        let width = |p: &PhysicalPartition| {
            self.rules.placement().width(&p.range().from().token, p.range().to().map(|to| &to.token))
        };
        let mut widths: Vec<_> = map.partitions().iter().map(|p| (width(p), p.id())).collect();
        widths.sort_by(|a, b| b.0.total_cmp(&a.0));
        widths.into_iter().map(|(_, id)| id).collect()
    }

    /// The bound that halves the hashes of a range.
    fn token_middle(&self, range: &TokenRange) -> Option<RingPoint> {
        let at = self.rules.placement().middle(&range.from().token, range.to().map(|to| &to.token))?;
        Some(RingPoint::before(at)).filter(|at| is_inside(at, range))
    }

    /// A point that leaves about half of the stored bytes on each side, between logical partitions if possible.
    fn middle(&self, partition: &PhysicalPartition, entries: &BTreeSet<IndexEntry>) -> Result<RingPoint> {
        let range = partition.range();
        let sizes: Vec<u64> = entries.iter().map(|entry| self.bytes_within(entry, range)).collect();
        let total: u64 = sizes.iter().sum();
        let nothing =
            || Error::invalid(format!("partition {} stores nothing that could be divided", partition.id()));
        if total == 0 {
            return self.token_middle(range).ok_or_else(nothing);
        }
        // The bound before the entry whose token begins nearest to the middle, with something stored on either side.
        let mut best: Option<(u64, RingPoint)> = None;
        let mut below = 0;
        let mut largest: Option<(u64, &IndexEntry)> = None;
        let mut last = None;
        for (entry, size) in entries.iter().zip(&sizes) {
            let distance = (total / 2).abs_diff(below);
            // No bound separates two keys that share a token.
            let divides = last.replace(&entry.0) != Some(&entry.0) && (1..total).contains(&below);
            if divides && best.as_ref().is_none_or(|(least, _)| distance < *least) {
                best = Some((distance, RingPoint::before(entry.0.clone())));
            }
            if largest.is_none_or(|(most, _)| *size > most) {
                largest = Some((*size, entry));
            }
            below += size;
        }
        // One collection with most of the bytes: divide it, where the service does.
        let inside = largest
            .filter(|(size, _)| self.rules.splits_inside() && *size > total / 2)
            .and_then(|(size, entry)| self.middle_of_collection(entry, range, size));
        inside.or(best.map(|(_, bound)| bound)).ok_or_else(nothing)
    }

    /// The bound inside a collection that halves its bytes within `range`.
    fn middle_of_collection(&self, entry: &IndexEntry, range: &TokenRange, size: u64) -> Option<RingPoint> {
        let collection = self.directory.get_bytes(&entry.1)?;
        let mut below = 0;
        for (sort, item) in collection.range(Bound::Unbounded, Bound::Unbounded) {
            if range.contains(&entry.0, sort) {
                let bound = RingPoint::inside(entry.0.clone(), sort.clone());
                if below * 2 >= size && is_inside(&bound, range) {
                    return Some(bound);
                }
                below += item.size().0;
            }
        }
        None
    }

    /// Bytes of a collection that lie within a range.
    fn bytes_within(&self, (token, key): &IndexEntry, range: &TokenRange) -> u64 {
        let Some(collection) = self.directory.get_bytes(key) else { return 0 };
        let whole = range.from().token != *token && range.to().is_none_or(|to| to.token != *token);
        if whole {
            return collection.bytes().0;
        }
        let items = collection.range(Bound::Unbounded, Bound::Unbounded);
        items.filter(|(sort, _)| range.contains(token, sort)).map(|(_, item)| item.size().0).sum()
    }
}

fn index_of(map: &Map, partition: PartitionId) -> Result<usize> {
    map.partitions().iter().position(|p| p.id() == partition).ok_or_else(|| {
        Error::invalid(format!("there is no partition {partition} now: it may have been split or merged"))
    })
}

fn is_inside(at: &RingPoint, range: &TokenRange) -> bool {
    at > range.from() && range.to().is_none_or(|to| at < to)
}
