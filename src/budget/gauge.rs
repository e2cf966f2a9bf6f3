//! A meter with its state: one limit that many threads draw on.

use super::{Fill, Meter};
use crate::clock::Instant;
use crossbeam::utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};

/// One limit and how much of it is spent. Lock-free.
#[derive(Debug)]
pub struct Gauge {
    meter: Meter,
    /// Padded: neighbouring partitions are drawn on by different threads.
    state: CachePadded<AtomicU64>,
}

impl Gauge {
    /// A gauge that begins at `now`.
    pub fn new(meter: Meter, now: Instant, fill: Fill) -> Self {
        Self::with_state(meter, meter.begin(now, fill))
    }

    fn with_state(meter: Meter, state: u64) -> Self {
        Self { meter, state: CachePadded::new(AtomicU64::new(state)) }
    }

    /// The gauge under another meter, with the balance this one has at `now`.
    pub fn carried_over(&self, next: Meter, now: Instant) -> Self {
        Self::with_state(next, self.meter.carry_over(self.load(), &next, now))
    }

    /// What it measures with.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Whether a request may pass.
    #[inline]
    pub fn admits(&self, now: Instant) -> bool {
        self.meter.admits(self.load(), now)
    }

    /// Takes `charge_milli` off the balance.
    #[inline]
    pub fn settle(&self, now: Instant, charge_milli: u64) {
        // The closure never returns `None`, so the update cannot fail.
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            Some(self.meter.settle(state, now, charge_milli))
        });
    }

    /// When the next request would be admitted.
    pub fn admits_at(&self, now: Instant) -> Instant {
        self.meter.admits_at(self.load(), now)
    }

    /// The balance in milli-units.
    pub fn balance_milli(&self, now: Instant) -> i64 {
        self.meter.balance_milli(self.load(), now)
    }

    fn load(&self) -> u64 {
        self.state.load(Ordering::Acquire)
    }
}
