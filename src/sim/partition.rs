//! One physical partition of a simulated table: its range, the state of its budgets, its heat.

use crate::budget::Capacity;
use crate::clock::Instant;
use crate::heat::{Series, Tally};
use crate::physics::{BankedWindow, Declined, HeatWatch, Place};
use std::num::NonZeroUsize;

/// Bins of a partition's course at the most.
const BINS: NonZeroUsize = NonZeroUsize::new(240).expect("240 is not zero");

/// A partition. What its limits are, its table knows.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its number, never used again.
    pub id: u32,
    /// Where its range begins.
    pub from: Place,
    /// Where its range ends, exclusive; `None` at the end of the ring.
    pub to: Option<Place>,
    /// When it came into being.
    pub born: Instant,
    /// When it split or was merged.
    pub until: Option<Instant>,
    /// Why it does not split although it is hot.
    pub declined: Option<Declined>,
    /// Bytes stored, as far as they are known.
    pub bytes: u64,
    /// Reads and writes over time.
    pub series: [Series; 2],
    /// Reads and writes in all, the second that is not over left out.
    pub totals: [Tally; 2],
    /// What it was asked for, reads and writes, retries left out, in thousandths of a unit: the load as it was meant.
    pub offered_milli: [u64; 2],
    /// Reads and writes in this second.
    pub(super) second: [Tally; 2],
    /// DynamoDB: states of the ceilings of reads and writes.
    pub(super) ceilings: [u64; 2],
    /// DynamoDB: states of the two replicas that are not the leader.
    pub(super) replicas: [u64; 2],
    /// Which replica is asked next.
    pub(super) turn: u8,
    /// DynamoDB before adaptive capacity: states of its shares.
    pub(super) shares: [u64; 2],
    /// Since which second its share has refused requests, for adaptive capacity that comes late.
    pub(super) refused_since: Option<u64>,
    /// Whether adaptive capacity has come.
    pub(super) lifted: bool,
    /// Cosmos DB: its window.
    pub(super) window: BankedWindow,
    /// Cosmos DB: the rate of its window, in thousandths of a unit, and since when; in order.
    pub rates: Vec<(Instant, u64)>,
    /// Cosmos DB: asked for by requests of high priority in this second and in the one before.
    pub(super) high_milli: [u64; 2],
    /// Cosmos DB: used by each throughput bucket in this second.
    pub(super) buckets: Vec<(u32, u64)>,
    /// Cosmos DB: the most used in a second of this hour.
    pub(super) hour_most_milli: u64,
    pub(super) watch: Option<HeatWatch>,
}

/// Changes of a partition's rate that are kept.
const RATES_MAX: usize = 1_000;

/// The place of a capacity in arrays of two.
pub(super) fn index(capacity: Capacity) -> usize {
    match capacity {
        Capacity::Read => 0,
        Capacity::Write => 1,
    }
}

impl Partition {
    pub(super) fn new(id: u32, from: Place, to: Option<Place>, now: Instant) -> Self {
        Self {
            id,
            from,
            to,
            born: now,
            until: None,
            declined: None,
            bytes: 0,
            series: [Series::new(BINS), Series::new(BINS)],
            totals: [Tally::default(); 2],
            offered_milli: [0; 2],
            second: [Tally::default(); 2],
            ceilings: [0; 2],
            replicas: [0; 2],
            turn: 0,
            shares: [0; 2],
            refused_since: None,
            lifted: false,
            window: BankedWindow::new(0, None, 0, now),
            rates: Vec::new(),
            high_milli: [0; 2],
            buckets: Vec::new(),
            hour_most_milli: 0,
            watch: None,
        }
    }

    /// A partition with the upper or lower part of this one's range: budgets as they are, heat and number its own.
    pub(super) fn child(&self, id: u32, from: Place, to: Option<Place>, now: Instant) -> Self {
        Self {
            ceilings: self.ceilings,
            replicas: self.replicas,
            shares: self.shares,
            window: self.window.clone(),
            high_milli: self.high_milli,
            buckets: self.buckets.clone(),
            bytes: self.bytes / 2,
            ..Self::new(id, from, to, now)
        }
    }

    /// Cosmos DB: another rate from now on.
    pub(super) fn set_rate(&mut self, now: Instant, milli: u64) {
        self.window.set_rate(now, milli);
        let room = self.rates.len() < RATES_MAX;
        match self.rates.last_mut() {
            Some((_, known)) if *known == milli => {}
            // Without room, the last tells of all that came later.
            Some(last) if last.0 == now || !room => last.1 = milli,
            _ => self.rates.push((now, milli)),
        }
    }

    /// Reads and writes in all.
    pub fn tally(&self, capacity: Capacity) -> Tally {
        let i = index(capacity);
        let mut tally = self.totals[i];
        tally += self.second[i];
        tally
    }

    /// Ends a second, and those without requests before `next`: what happened in it becomes part of its course. Answers the
    /// second's reads and writes.
    pub(super) fn close(&mut self, second: u64, next: u64) -> [Tally; 2] {
        let closed = std::mem::take(&mut self.second);
        for ((series, total), tally) in self.series.iter_mut().zip(&mut self.totals).zip(closed) {
            if !tally.is_empty() {
                series.record(Instant::from_secs(second), tally);
                *total += tally;
            }
        }
        // "The second before" is that only when no second without requests lies between.
        let before = if next == second + 1 { self.high_milli[0] } else { 0 };
        self.high_milli = [0, before];
        self.buckets.iter_mut().for_each(|(_, used)| *used = 0);
        closed
    }
}
