//! The heat of one partition, counted while requests of many threads pass through it.
//!
//! A request costs two relaxed additions to the counters of the current second. The first request of a later second
//! moves them, under a lock, into a [`Series`]; one that comes with an earlier time goes there directly.
//!
//! What races may and may not do:
//! - Nothing is lost or counted twice: an addition lands before or after the swap that empties its counter.
//! - A request that overlaps the change of the second may be counted in the next one, or its units in one and its
//!   count in the other. On one thread, as in virtual time, every figure is exact.

use super::series::{Series, Tally};
use crate::clock::Instant;
use crossbeam::utils::CachePadded;
use parking_lot::Mutex;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Per-second units and requests of one partition; shared by reference between threads.
///
/// A quarter of a kilobyte when new; the series behind it grows as time is recorded.
#[derive(Debug, Default)]
pub struct PartitionHeat {
    /// On a cache line of its own: neighbours in a partition map must not slow each other down.
    current: CachePadded<Current>,
    past: Mutex<Series>,
}

/// The second being counted. `second` changes, and counters are emptied, only under the lock of `past`.
#[derive(Debug, Default)]
struct Current {
    second: AtomicU64,
    consumed_milli: AtomicU64,
    throttled_milli: AtomicU64,
    served: AtomicU64,
    throttles: AtomicU64,
}

impl Current {
    /// The counters as `read` gets them: loaded, or swapped for zero.
    fn tally(&self, read: impl Fn(&AtomicU64) -> u64) -> Tally {
        Tally {
            consumed_milli: read(&self.consumed_milli),
            throttled_milli: read(&self.throttled_milli),
            served: read(&self.served),
            throttles: read(&self.throttles),
        }
    }
}

impl PartitionHeat {
    /// A cold partition whose series holds at most `max_bins` bins.
    pub fn new(max_bins: NonZeroUsize) -> Self {
        Self { current: CachePadded::default(), past: Mutex::new(Series::new(max_bins)) }
    }

    /// Counts a served request by its charge.
    pub fn record_served(&self, now: Instant, units_milli: u64) {
        if self.enter(now) {
            self.current.consumed_milli.fetch_add(units_milli, Relaxed);
            self.current.served.fetch_add(1, Relaxed);
        } else {
            self.past.lock().record(now, Tally::of_served(units_milli));
        }
    }

    /// Counts a throttled request by the charge it would have cost.
    pub fn record_throttled(&self, now: Instant, units_milli: u64) {
        if self.enter(now) {
            self.current.throttled_milli.fetch_add(units_milli, Relaxed);
            self.current.throttles.fetch_add(1, Relaxed);
        } else {
            self.past.lock().record(now, Tally::of_throttled(units_milli));
        }
    }

    /// Everything recorded up to now, the current second included.
    pub fn snapshot(&self) -> Series {
        let past = self.past.lock();
        let mut series = past.clone();
        // Under the lock no counter can move from `current` into `past` and be seen twice, or not at all.
        let second = self.current.second.load(Relaxed);
        series.record(Instant::from_secs(second), self.current.tally(|counter| counter.load(Relaxed)));
        series
    }

    /// Makes the second of `now` the current one if it is later; false if it is over.
    fn enter(&self, now: Instant) -> bool {
        match now.second().cmp(&self.current.second.load(Relaxed)) {
            Equal => true,
            Less => false,
            Greater => {
                self.roll(now.second());
                true
            }
        }
    }

    #[cold]
    fn roll(&self, second: u64) {
        let mut past = self.past.lock();
        let ended = self.current.second.load(Relaxed);
        // Another thread may have been here first.
        if ended < second {
            past.record(Instant::from_secs(ended), self.current.tally(|counter| counter.swap(0, Relaxed)));
            self.current.second.store(second, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::sync::Barrier;

    #[test]
    fn a_new_meter_is_small_and_holds_nothing() {
        assert!(size_of::<PartitionHeat>() <= 384);
        assert!(PartitionHeat::default().snapshot().is_empty());
    }

    #[test]
    fn a_late_start_does_not_stretch_back_to_zero() {
        let heat = PartitionHeat::default();
        heat.record_served(Instant::from_secs(1_000), 500);
        heat.record_throttled(Instant::from_secs(1_001), 500);
        let starts: Vec<_> = heat.snapshot().bins().map(|bin| bin.start_second).collect();
        assert_eq!(starts, [1_000, 1_001]);
    }

    #[test]
    fn threads_lose_and_invent_nothing() {
        const THREADS: usize = 4;
        const REQUESTS: u64 = 1_000_000;
        /// A second lasts only this many requests, so that threads meet at the change of many seconds.
        const REQUESTS_PER_SECOND: u64 = 5;
        let heat = PartitionHeat::default();
        let (requests, together) = (AtomicU64::new(0), Barrier::new(THREADS + 1));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    together.wait();
                    loop {
                        let i = requests.fetch_add(1, Relaxed);
                        let now = Instant::from_secs(i / REQUESTS_PER_SECOND);
                        match i {
                            REQUESTS.. => break,
                            _ if i % 3 == 0 => heat.record_throttled(now, i),
                            _ => heat.record_served(now, i),
                        }
                    }
                });
            }
            together.wait();
            let mut before = Tally::default();
            while requests.load(Relaxed) < REQUESTS {
                let seen = heat.snapshot().totals();
                assert!(seen.served >= before.served && seen.throttles >= before.throttles);
                assert!(seen.attempted_milli() >= before.attempted_milli());
                before = seen;
            }
        });
        let of = |i| if i % 3 == 0 { Tally::of_throttled(i) } else { Tally::of_served(i) };
        assert_eq!(heat.snapshot().totals(), (0..REQUESTS).map(of).sum());
    }

    proptest! {
        /// On one thread the meter is its series, whatever the clock does.
        #[test]
        fn alone_it_is_exact(samples in vec((0..40_u64, 0..9_000_u64, any::<bool>()), 0..60), bins in 1..50_usize) {
            let max_bins = NonZeroUsize::new(bins).unwrap();
            let (heat, mut series) = (PartitionHeat::new(max_bins), Series::new(max_bins));
            for (second, units, served) in samples {
                let now = Instant::from_secs(second);
                if served {
                    heat.record_served(now, units);
                    series.record(now, Tally::of_served(units));
                } else {
                    heat.record_throttled(now, units);
                    series.record(now, Tally::of_throttled(units));
                }
                prop_assert_eq!(heat.snapshot(), series.clone());
            }
        }
    }
}
