//! The heat of one partition, counted while requests of many threads pass through it.
//!
//! A request costs one relaxed addition to a counter of the current second: its charge and the request itself are two
//! parts of one word. The first request of a later second moves the counters, under a lock, into a [`Series`]; one that
//! comes with an earlier time, or with a charge too large for the word, goes there directly.
//!
//! What races may and may not do:
//! - Nothing is lost or counted twice: an addition lands before or after the swap that empties its counter.
//! - A request that overlaps the change of the second may be counted in the next one. Its charge and its count are
//!   never separated. On one thread, as in virtual time, every figure is exact.

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
    served: Packed,
    throttled: Packed,
}

/// Milli-units in the lower bits of one word, and how many requests they belong to in the upper ones.
#[derive(Debug, Default)]
struct Packed(AtomicU64);

/// Bits of a [`Packed`] word that hold milli-units.
const UNITS_BITS: u32 = 40;
const UNITS_MASK: u64 = (1 << UNITS_BITS) - 1;

/// The largest charge that is added to a [`Packed`] word: four million units. Anything larger goes to the series.
const UNITS_MAX: u64 = (1 << 32) - 1;

/// A word with any of these bits set is emptied: each part is half full. What other threads add until that is done
/// has room: 2⁷ of the largest charges, 2²³ requests.
const HALF_FULL: u64 = 1 << 63 | 1 << (UNITS_BITS - 1);

impl Packed {
    /// Adds one request; true when the word wants to be emptied.
    #[inline]
    fn add(&self, units_milli: u64) -> bool {
        self.0.fetch_add(1 << UNITS_BITS | units_milli, Relaxed) & HALF_FULL != 0
    }

    /// Milli-units and requests of a word.
    fn unpack(word: u64) -> (u64, u64) {
        (word & UNITS_MASK, word >> UNITS_BITS)
    }
}

impl Current {
    /// The counters as `read` gets them: loaded, or swapped for zero.
    fn tally(&self, read: impl Fn(&AtomicU64) -> u64) -> Tally {
        let (consumed_milli, served) = Packed::unpack(read(&self.served.0));
        let (throttled_milli, throttles) = Packed::unpack(read(&self.throttled.0));
        Tally { consumed_milli, throttled_milli, served, throttles }
    }
}

impl PartitionHeat {
    /// A cold partition whose series holds at most `max_bins` bins.
    pub fn new(max_bins: NonZeroUsize) -> Self {
        Self { current: CachePadded::default(), past: Mutex::new(Series::new(max_bins)) }
    }

    /// Counts a served request by its charge.
    #[inline]
    pub fn record_served(&self, now: Instant, units_milli: u64) {
        if !self.enter(now, units_milli) {
            self.past.lock().record(now, Tally::of_served(units_milli));
        } else if self.current.served.add(units_milli) {
            self.empty();
        }
    }

    /// Counts a throttled request by the charge it would have cost.
    #[inline]
    pub fn record_throttled(&self, now: Instant, units_milli: u64) {
        if !self.enter(now, units_milli) {
            self.past.lock().record(now, Tally::of_throttled(units_milli));
        } else if self.current.throttled.add(units_milli) {
            self.empty();
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

    /// Milli-units consumed up to now, the current second included.
    pub fn consumed_milli(&self) -> u64 {
        let past = self.past.lock();
        past.totals().consumed_milli + self.current.tally(|counter| counter.load(Relaxed)).consumed_milli
    }

    /// Makes the second of `now` the current one if it is later; false if it is over, or the charge is too large for
    /// a counter.
    #[inline]
    fn enter(&self, now: Instant, units_milli: u64) -> bool {
        let fits = units_milli <= UNITS_MAX;
        match now.second().cmp(&self.current.second.load(Relaxed)) {
            Equal => fits,
            Less => false,
            Greater => {
                self.roll(now.second());
                fits
            }
        }
    }

    #[cold]
    fn roll(&self, second: u64) {
        let mut past = self.past.lock();
        // Another thread may have been here first.
        if self.current.second.load(Relaxed) < second {
            self.move_into(&mut past);
            self.current.second.store(second, Relaxed);
        }
    }

    /// Makes room in the counters before one of them overflows; the second goes on.
    #[cold]
    fn empty(&self) {
        self.move_into(&mut self.past.lock());
    }

    fn move_into(&self, past: &mut Series) {
        let second = self.current.second.load(Relaxed);
        past.record(Instant::from_secs(second), self.current.tally(|counter| counter.swap(0, Relaxed)));
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

    #[test]
    fn a_second_without_end_overflows_no_counter() {
        let heat = PartitionHeat::default();
        let requests = 3 << (64 - UNITS_BITS - 1);
        for _ in 0..requests {
            heat.record_served(Instant::START, 0);
        }
        let charges = [UNITS_MAX; 300].into_iter().chain([UNITS_MAX + 1, UNITS_MASK, 1 << 60]);
        let units = charges.inspect(|&units| heat.record_throttled(Instant::START, units)).sum();
        let totals = heat.snapshot().totals();
        assert_eq!(
            totals,
            Tally { consumed_milli: 0, served: requests, throttled_milli: units, throttles: 303 }
        );
        assert_eq!(heat.snapshot().bins().len(), 1);
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
