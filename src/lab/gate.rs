//! What a write must pass: its partition and table, and those of every index that it writes an entry to.
//!
//! ```text
//!   write ──► base partition ─ table ──► index 1: partition ─ index ──► index 2 … ──► all are charged
//!                  └─ no room: refused      └─ no room: refused, nothing is charged
//! ```
//!
//! DynamoDB developer guide, "Troubleshooting throttling: global secondary indexes" (gsi-throttling): a write to a table is
//! throttled when an index lacks room for its entry, though the table has some. The table is asked first, then the indexes
//! in the order given, of each the partition before its throughput; the first that lacks room gives the reason. That order
//! is *assumed*, and so is that a refused write consumes nothing anywhere.
//!
//! This file does not know when writes come, nor what becomes of refused ones.

use super::limits::States;
use super::{Attempts, WriteLimits};
use crate::budget::Limit;
use crate::clock::Instant;

/// In place of an index key: the write has no entry there.
pub(super) const NO_ENTRY: u32 = u32::MAX;

/// The same for a partition. Partitions are fewer: `compare` asserts it.
const NO_PARTITION: u16 = u16::MAX;

/// The entries that the same writes make in one index, under one layout.
#[derive(Clone, Copy, Debug)]
pub struct IndexAttempts<'a> {
    /// The index's own limits; its charge is that of an entry.
    pub(super) limits: &'a WriteLimits,
    /// The index key of each write, or [`NO_ENTRY`].
    pub(super) rows: &'a [u32],
    /// The partition of each index key.
    pub(super) partition_of: &'a [u16],
}

/// Who had no room for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The table: the write's partition or the throughput of all.
    Table,
    /// An index, by its number, and which of its limits.
    Index(usize, Limit),
}

/// One index: its limits, the partition of each write's entry, and the words of state.
struct IndexGate {
    limits: WriteLimits,
    routes: Vec<u16>,
    states: States,
}

/// The limits of a table and its indexes, with where each write goes.
pub(super) struct Gate {
    limits: WriteLimits,
    routes: Vec<u16>,
    states: States,
    indexes: Vec<IndexGate>,
}

impl Gate {
    /// The gate that these attempts pass; with nothing saved up anywhere when `drained`.
    pub(super) fn new(limits: &WriteLimits, attempts: &Attempts<'_>, drained: bool) -> Self {
        let begun = |limits: &WriteLimits| if drained { limits.drained() } else { limits.clone() };
        let limits = begun(limits);
        let route = |rows: &[u32], partition_of: &[u16]| -> Vec<u16> {
            rows.iter().map(|&key| partition_of.get(key as usize).copied().unwrap_or(NO_PARTITION)).collect()
        };
        Self {
            routes: route(attempts.rows, attempts.partition_of),
            states: limits.begin(),
            indexes: attempts
                .indexes
                .iter()
                .map(|index| {
                    let limits = begun(index.limits);
                    let states = limits.begin();
                    IndexGate { limits, routes: route(index.rows, index.partition_of), states }
                })
                .collect(),
            limits,
        }
    }

    /// As it was at the start.
    pub(super) fn reset(&mut self) {
        self.states = self.limits.begin();
        for index in &mut self.indexes {
            index.states = index.limits.begin();
        }
    }

    /// Writes there are.
    pub(super) fn writes(&self) -> usize {
        self.routes.len()
    }

    /// The base partition of a write.
    #[inline]
    pub(super) fn partition(&self, write: usize) -> usize {
        usize::from(self.routes[write])
    }

    /// Offers a write: who refuses it, if anyone does.
    #[inline]
    pub(super) fn offer(&mut self, write: usize, now: Instant) -> Option<Refused> {
        let partition = self.partition(write);
        if self.indexes.is_empty() {
            let passed = self.limits.offer(&mut self.states, partition, now);
            return (!passed).then_some(Refused::Table);
        }
        self.offer_to_all(write, partition, now)
    }

    fn offer_to_all(&mut self, write: usize, partition: usize, now: Instant) -> Option<Refused> {
        if self.limits.refuses(&self.states, partition, now).is_some() {
            return Some(Refused::Table);
        }
        for (number, index) in self.indexes.iter().enumerate() {
            let route = index.routes[write];
            if route != NO_PARTITION
                && let Some(limit) = index.limits.refuses(&index.states, usize::from(route), now)
            {
                return Some(Refused::Index(number, limit));
            }
        }
        // All have room: each of these passes.
        self.limits.offer(&mut self.states, partition, now);
        for index in &mut self.indexes {
            let route = index.routes[write];
            if route != NO_PARTITION {
                index.limits.offer(&mut index.states, usize::from(route), now);
            }
        }
        None
    }

    /// When a write that was refused would pass if nobody else came.
    pub(super) fn retry_at(&self, write: usize, now: Instant) -> Instant {
        let base = self.limits.retry_at(&self.states, self.partition(write), now);
        let entries = self.indexes.iter().filter(|index| index.routes[write] != NO_PARTITION);
        entries
            .map(|index| index.limits.retry_at(&index.states, usize::from(index.routes[write]), now))
            .fold(base, Ord::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::units::Bytes;

    fn limits(partitions: u32, wcu: u64) -> WriteLimits {
        let profile = Profile::dynamodb_provisioned(1, wcu).unwrap().with_partitions(partitions).unwrap();
        WriteLimits::new(&profile, Bytes::from_kb(1))
    }

    /// Two base keys, one index key; the second base key's writes have no entry.
    #[test]
    fn a_full_index_refuses_and_nothing_is_charged() {
        let (base, index) = (limits(2, 10_000), limits(1, 100));
        let entries = [0, NO_ENTRY];
        let indexes = [IndexAttempts { limits: &index, rows: &entries, partition_of: &[0] }];
        let attempts = Attempts { rows: &[0, 1], partition_of: &[0, 1], indexes: &indexes };
        let mut gate = Gate::new(&base, &attempts, true);
        let now = Instant::from_millis(20);
        // Two entries were saved up in that time, and a balance may go below zero by one write.
        let refused = (0..10).find_map(|_| gate.offer(0, now));
        assert_eq!(refused, Some(Refused::Index(0, Limit::Table)));
        assert!(gate.retry_at(0, now) > now);
        let untouched = gate.states.clone();
        assert_eq!(gate.offer(0, now), Some(Refused::Index(0, Limit::Table)));
        assert_eq!(format!("{untouched:?}"), format!("{:?}", gate.states));
        // No entry, no index.
        assert_eq!((gate.offer(1, now), gate.writes()), (None, 2));
        gate.reset();
        assert_eq!(gate.offer(0, now), None);
    }

    #[test]
    fn the_table_gives_the_reason_first_and_a_partition_before_its_index() {
        let full = limits(1, 100);
        let indexes = [IndexAttempts { limits: &full, rows: &[0], partition_of: &[0] }];
        let attempts = Attempts { rows: &[0], partition_of: &[0], indexes: &indexes };
        let mut gate = Gate::new(&full, &attempts, true);
        let now = Instant::from_millis(20);
        assert_eq!((0..10).find_map(|_| gate.offer(0, now)), Some(Refused::Table));
        // One partition of the index is full before its throughput is.
        let (base, index) = (limits(1, 100_000), limits(2, 100_000));
        let indexes = [IndexAttempts { limits: &index, rows: &[0, 0], partition_of: &[1] }];
        let attempts = Attempts { rows: &[0, 1], partition_of: &[0, 0], indexes: &indexes };
        assert!(base.partition_writes() == index.partition_writes());
        let mut gate = Gate::new(&base, &attempts, false);
        assert_eq!((0..3_000).find_map(|_| gate.offer(0, now)), Some(Refused::Table), "first of equals");
        let base = limits(2, 100_000);
        let attempts = Attempts { rows: &[0, 1], partition_of: &[0, 1], indexes: &indexes };
        let mut gate = Gate::new(&base, &attempts, false);
        let both = (0..3_000).find_map(|i| gate.offer(i % 2, now));
        assert_eq!(both, Some(Refused::Index(0, Limit::KeyRange)));
    }
}
