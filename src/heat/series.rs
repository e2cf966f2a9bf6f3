//! A series: how much was attempted, served and refused, second by second, in bounded memory.
//!
//! A partition limit is a limit per second, so the second is the finest bin. When the recorded time outgrows the bins,
//! their width doubles and neighbours merge: ten minutes in seconds, an hour in bins of eight seconds, a day in bins of
//! 256. Bins lie at whole multiples of their width since the clock began, so the bins of any two series nest:
//!
//! ```text
//!   width 1   │ 5 │ 6 │ 7 │ 8 │ 9 │
//!   width 2 │ 4 · 5 │ 6 · 7 │ 8 · 9 │
//!   width 4 │ 4 · 5 · 6 · 7 │ 8 · 9 · · · │
//! ```
//!
//! A series therefore depends only on what was recorded, not on the order: a clock that steps back, or a split parent
//! merged with its children, costs no exactness. It does not know what a unit is, nor any limit.

use crate::clock::Instant;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::iter::{Sum, repeat_n};
use std::num::NonZeroUsize;
use std::ops::{Add, AddAssign};

/// Bins of a series unless told otherwise: ten minutes of single seconds, twice the five minutes for which DynamoDB
/// keeps unused capacity ("up to 5 minutes (300 seconds)", developer guide, "Burst and adaptive capacity"), so a burst
/// and what follows it stay visible. At most 19 KB.
pub const DEFAULT_BINS: NonZeroUsize = NonZeroUsize::new(600).unwrap();

/// What happened to some requests: one sample, one bin, or a total. Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Milli-units of requests that were served.
    pub consumed_milli: u64,
    /// Milli-units of requests that were throttled.
    pub throttled_milli: u64,
    /// Requests that were served.
    pub served: u64,
    /// Requests that were throttled.
    pub throttles: u64,
}

impl Tally {
    /// One served request that was charged `units_milli`.
    pub const fn of_served(units_milli: u64) -> Self {
        Self { consumed_milli: units_milli, throttled_milli: 0, served: 1, throttles: 0 }
    }

    /// One throttled request that would have been charged `units_milli`.
    pub const fn of_throttled(units_milli: u64) -> Self {
        Self { consumed_milli: 0, throttled_milli: units_milli, served: 0, throttles: 1 }
    }

    /// Milli-units asked for: consumed and throttled.
    pub const fn attempted_milli(self) -> u64 {
        self.consumed_milli.saturating_add(self.throttled_milli)
    }

    /// Requests made: served and throttled.
    pub const fn attempts(self) -> u64 {
        self.served.saturating_add(self.throttles)
    }

    /// Whether nothing happened.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Add for Tally {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            consumed_milli: self.consumed_milli.saturating_add(other.consumed_milli),
            throttled_milli: self.throttled_milli.saturating_add(other.throttled_milli),
            served: self.served.saturating_add(other.served),
            throttles: self.throttles.saturating_add(other.throttles),
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

/// Reports get the attempted figures too, so that no reader has to know that they are sums.
impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Tally", 6)?;
        fields.serialize_field("attempted_milli", &self.attempted_milli())?;
        fields.serialize_field("consumed_milli", &self.consumed_milli)?;
        fields.serialize_field("throttled_milli", &self.throttled_milli)?;
        fields.serialize_field("attempts", &self.attempts())?;
        fields.serialize_field("served", &self.served)?;
        fields.serialize_field("throttles", &self.throttles)?;
        fields.end()
    }
}

/// One stretch of time of a [`Series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Bin {
    /// The first second of the bin, since the clock began.
    pub start_second: u64,
    /// How many seconds it spans: a power of two, the same for all bins of a series.
    pub width_seconds: u64,
    /// What happened in it, in all (divide by the width for a rate).
    #[serde(flatten)]
    pub tally: Tally,
}

/// Tallies over time. Prints (serde) as the list of its bins.
///
/// - There are never more than `max_bins` bins, and the width is the smallest that achieves it.
/// - The first and the last bin are not empty, unless the series is.
/// - The sum of the bins is the sum of what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    max_bins: NonZeroUsize,
    /// Bins are 2^`shift` seconds wide; bin number n begins at second n × 2^`shift`.
    shift: u32,
    /// The number of the first bin.
    first: u64,
    bins: Vec<Tally>,
}

impl Default for Series {
    fn default() -> Self {
        Self::new(DEFAULT_BINS)
    }
}

impl Series {
    /// An empty series that will hold at most `max_bins` bins; allocates nothing yet.
    pub const fn new(max_bins: NonZeroUsize) -> Self {
        Self { max_bins, shift: 0, first: 0, bins: Vec::new() }
    }

    /// Counts `tally` in the second of `now`, which may lie anywhere before or after what is already there.
    pub fn record(&mut self, now: Instant, tally: Tally) {
        self.add(now.second(), tally);
    }

    /// Adds everything that `other` holds; keeps this series' own `max_bins`.
    pub fn merge(&mut self, other: &Self) {
        // Only now is every bin of `other` inside a single bin of ours.
        self.widen(other.shift);
        for bin in other.bins() {
            self.add(bin.start_second, bin.tally);
        }
    }

    /// The bins from the first to the last second recorded, without holes.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = Bin> + '_ {
        self.bins.iter().enumerate().map(|(i, &tally)| Bin {
            start_second: (self.first + i as u64) << self.shift,
            width_seconds: 1 << self.shift,
            tally,
        })
    }

    /// The sum of all bins.
    pub fn totals(&self) -> Tally {
        self.bins.iter().copied().sum()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    fn add(&mut self, second: u64, tally: Tally) {
        // An empty tally must not stretch the series.
        if !tally.is_empty() {
            let index = self.cover(second);
            self.bins[index] += tally;
        }
    }

    /// Makes the bins reach `second` and returns the index of its bin.
    fn cover(&mut self, second: u64) -> usize {
        let bin = second >> self.shift;
        if self.bins.is_empty() {
            self.first = bin;
        }
        let low = bin.min(self.first);
        let high = bin.max(self.first + (self.bins.len() as u64).saturating_sub(1));
        // At most 35 doublings: the clock ends before second 2^35.
        let mut by = 0;
        while (high >> by) - (low >> by) >= self.max_bins.get() as u64 {
            by += 1;
        }
        self.widen(self.shift + by);

        let bin = second >> self.shift;
        if bin < self.first {
            let missing = (self.first - bin) as usize;
            self.bins.splice(0..0, repeat_n(Tally::default(), missing));
            self.first = bin;
        }
        let index = (bin - self.first) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Tally::default());
        }
        index
    }

    /// Widens the bins to 2^`shift` seconds, unless they are that wide already.
    fn widen(&mut self, shift: u32) {
        if shift <= self.shift {
            return;
        }
        let by = shift - self.shift;
        let (old_first, first) = (self.first, self.first >> by);
        let mut len = 0;
        for i in 0..self.bins.len() {
            // Never past `i`, so a bin is moved before its place is filled.
            let into = (((old_first + i as u64) >> by) - first) as usize;
            let tally = std::mem::take(&mut self.bins[i]);
            self.bins[into] += tally;
            len = into + 1;
        }
        self.bins.truncate(len);
        (self.shift, self.first) = (shift, first);
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.bins())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn series(max_bins: usize) -> Series {
        Series::new(NonZeroUsize::new(max_bins).unwrap())
    }

    fn of(max_bins: usize, samples: &[(u64, Tally)]) -> Series {
        let mut series = series(max_bins);
        for &(second, tally) in samples {
            series.record(Instant::from_secs(second), tally);
        }
        series
    }

    /// (start, width, attempts) of each bin.
    fn shape(series: &Series) -> Vec<(u64, u64, u64)> {
        series.bins().map(|b| (b.start_second, b.width_seconds, b.tally.attempts())).collect()
    }

    #[test]
    fn a_second_holds_what_was_attempted_served_and_throttled() {
        let mut series = Series::default();
        series.record(Instant::from_millis(7_000), Tally::of_served(500));
        series.record(Instant::from_millis(7_999), Tally::of_throttled(2_000));
        series.record(Instant::from_millis(9_000), Tally::of_served(1_000));
        assert_eq!(shape(&series), [(7, 1, 2), (8, 1, 0), (9, 1, 1)]);
        let first = series.bins().next().unwrap().tally;
        assert_eq!(
            (first.attempted_milli(), first.consumed_milli, first.throttled_milli),
            (2_500, 500, 2_000)
        );
        assert_eq!((first.attempts(), first.served, first.throttles), (2, 1, 1));
    }

    #[test]
    fn bins_double_when_time_outgrows_them() {
        let one = Tally::of_served(1);
        let samples: Vec<_> = (5..10).map(|second| (second, one)).collect();
        assert_eq!(shape(&of(5, &samples)), [(5, 1, 1), (6, 1, 1), (7, 1, 1), (8, 1, 1), (9, 1, 1)]);
        assert_eq!(shape(&of(4, &samples)), [(4, 2, 1), (6, 2, 2), (8, 2, 2)]);
        assert_eq!(shape(&of(2, &samples)), [(4, 4, 3), (8, 4, 2)]);
        assert_eq!(shape(&of(1, &samples)), [(0, 16, 5)]);
    }

    #[test]
    fn an_hour_and_a_day_fit_the_default() {
        for (seconds, width) in [(600, 1), (3_600, 8), (86_400, 256)] {
            let samples: Vec<_> = (0..seconds).map(|second| (second, Tally::of_served(1))).collect();
            let series = of(DEFAULT_BINS.get(), &samples);
            assert_eq!(series.bins().next().unwrap().width_seconds, width);
            assert!(series.bins().len() <= DEFAULT_BINS.get());
            assert_eq!(series.totals().served, seconds);
        }
    }

    #[test]
    fn the_end_of_time_and_a_clock_that_steps_back_lose_nothing() {
        let mut series = series(3);
        for nanos in [5, u64::MAX, 0, u64::MAX / 2] {
            series.record(Instant::from_nanos(nanos), Tally::of_throttled(7));
        }
        assert_eq!(series.totals(), Tally { throttled_milli: 28, throttles: 4, ..Tally::default() });
        assert!(series.bins().len() <= 3);

        let mut back = self::series(10);
        back.record(Instant::from_secs(100), Tally::of_served(1));
        back.record(Instant::from_secs(98), Tally::of_served(1));
        assert_eq!(shape(&back), [(98, 1, 1), (99, 1, 0), (100, 1, 1)]);
    }

    #[test]
    fn prints_as_a_list_of_bins() {
        let series = of(4, &[(3, Tally::of_served(500)), (3, Tally::of_throttled(1_000))]);
        assert_eq!(
            serde_json::to_string(&series).unwrap(),
            r#"[{"start_second":3,"width_seconds":1,"attempted_milli":1500,"consumed_milli":500,"#.to_owned()
                + r#""throttled_milli":1000,"attempts":2,"served":1,"throttles":1}]"#
        );
    }

    #[test]
    fn sums_saturate() {
        let mut series = series(1);
        series.record(Instant::START, Tally::of_served(u64::MAX));
        series.record(Instant::START, Tally::of_throttled(u64::MAX));
        series.record(Instant::START, Tally::of_served(1));
        assert_eq!(series.totals().consumed_milli, u64::MAX);
        assert_eq!(series.totals().attempted_milli(), u64::MAX);
    }

    fn samples() -> impl Strategy<Value = Vec<(u64, Tally)>> {
        // Mostly near, now and then far away.
        let second = prop_oneof![9 => 0..200_u64, 1 => 0..=u64::MAX / crate::clock::NANOS_PER_SEC];
        let tally = (0..5_000_u64, any::<bool>())
            .prop_map(|(units, ok)| if ok { Tally::of_served(units) } else { Tally::of_throttled(units) });
        vec((second, tally), 0..80)
    }

    proptest! {
        #[test]
        fn every_bin_is_the_sum_of_its_samples(samples in samples(), max_bins in 1..40_usize) {
            let series = of(max_bins, &samples);
            prop_assert!(series.bins().len() <= max_bins);
            prop_assert_eq!(series.totals(), samples.iter().map(|s| s.1).sum());
            for bin in series.bins() {
                let span = bin.start_second..bin.start_second + bin.width_seconds;
                let expected = samples.iter().filter(|s| span.contains(&s.0)).map(|s| s.1).sum();
                prop_assert_eq!(bin.tally, expected);
            }
        }

        #[test]
        fn the_width_is_the_smallest_that_fits(samples in samples(), max_bins in 1..40_usize) {
            let series = of(max_bins, &samples);
            let seconds = samples.iter().map(|s| s.0);
            if let (Some(low), Some(high), Some(bin)) = (seconds.clone().min(), seconds.max(), series.bins().next())
                && bin.width_seconds > 1
            {
                let half = bin.width_seconds / 2;
                prop_assert!(high / half - low / half >= max_bins as u64);
            }
        }

        #[test]
        fn merging_is_the_same_as_recording_in_any_order(
            left in samples(), right in samples(), max_bins in 1..40_usize,
        ) {
            let mut all = [left.clone(), right.clone()].concat();
            let mut merged = of(max_bins, &left);
            merged.merge(&of(max_bins, &right));
            prop_assert_eq!(&merged, &of(max_bins, &all));
            all.reverse();
            prop_assert_eq!(&merged, &of(max_bins, &all));
        }

        #[test]
        fn merging_unlike_resolutions_keeps_totals(left in samples(), right in samples(), bins in 1..9_usize) {
            let mut merged = of(bins, &left);
            merged.merge(&of(10 - bins, &right));
            prop_assert!(merged.bins().len() <= bins);
            prop_assert_eq!(merged.totals(), left.iter().chain(&right).map(|s| s.1).sum());
        }
    }
}
