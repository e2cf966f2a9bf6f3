//! When a DynamoDB partition splits for heat, and where.
//!
//! What is documented ("Burst and adaptive capacity", "Partitions and data distribution", Elhemali and others, USENIX ATC
//! 2022): a partition whose consumption stays near its limit is split, after minutes, at a point chosen from the traffic
//! and not in the middle of its range; there is no split for a single hot item, for a sort key that only grows or only
//! shrinks, nor inside an item collection when there is a local index.
//!
//! What is *assumed*: near means nine tenths of the limit; minutes are eight to twelve, drawn anew for each partition (one
//! measurement saw eight, another more than ten); the traffic is known by a sample.

use crate::clock::Instant;
use crate::rng::Seed;
use std::fmt;

/// The rule by which partitions split for heat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeatSplit {
    /// A second is hot when a partition consumed this share of its limit in it, in hundredths.
    pub hot_percent: u64,
    /// It splits after at least so many hot seconds, ...
    pub seconds_min: u64,
    /// ... and at most so many; the number is drawn for each partition.
    pub seconds_max: u64,
}

impl Default for HeatSplit {
    fn default() -> Self {
        Self { hot_percent: 90, seconds_min: 8 * 60, seconds_max: 12 * 60 }
    }
}

/// A place of an item: in the order of the ring, and within it in the order of a logical partition.
pub trait Located: Ord + Clone {
    /// Whether both are of one logical partition.
    fn same_key(&self, other: &Self) -> bool;

    /// Where the logical partition begins: a cut there leaves it whole.
    fn key_begin(&self) -> Self;
}

impl Located for Place {
    fn same_key(&self, other: &Self) -> bool {
        self.token == other.token
    }

    fn key_begin(&self) -> Self {
        Self { token: self.token, sort: 0 }
    }
}

/// Where a request goes: the token of its logical partition, and where in it the item lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The first 128 bits of the token.
    pub token: u128,
    /// The order of the item within its logical partition.
    pub sort: u64,
}

/// Why a hot partition does not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// One item takes it all.
    OneItem,
    /// One logical partition takes it all, and a local index keeps it whole.
    OneCollection,
    /// The sort key only grows, or only shrinks: the heat would go to one half again.
    Monotonic,
    /// What a split could part off is too little to help.
    TooLittle,
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneItem => "one item takes all of the load",
            Self::OneCollection => {
                "one logical partition takes all of the load and a local index keeps it whole"
            }
            Self::Monotonic => "the sort key only moves one way",
            Self::TooLittle => "nearly all of the load would stay together",
        })
    }
}

/// Requests of which a partition keeps the places.
const SAMPLES: usize = 512;

/// One request in so many is kept, on average: so the sample reaches back a while.
const SAMPLE_ONE_IN: u64 = 16;

/// Steps in one direction, of a hundred, that make a sort key monotonic. A few go astray when clients work in parallel.
const MONOTONIC_PERCENT: usize = 95;

/// The newest part of the samples: one in so many, ...
const NEWEST_ONE_IN: usize = 4;

/// ... and fewer than this say nothing: a few random places are soon all on one side.
const NEWEST_MIN: usize = 16;

/// So many of the newest samples, of a hundred, on one side of the median of all make a sort key monotonic too: retries
/// bring old items again, so single steps of a growing key go astray by the dozen while its heat moves on.
const MOVED_PERCENT: usize = 80;

/// Samples, of a hundred, that a split must part off at the least.
const PARTED_PERCENT: usize = 2;

/// Watches one partition.
#[derive(Clone, Debug)]
pub struct HeatWatch<P = Place> {
    rule: HeatSplit,
    seconds_needed: u64,
    second: u64,
    consumed_milli: [u64; 2],
    hot_seconds: u64,
    /// The last samples, a ring.
    samples: Vec<P>,
    next: usize,
    draws: u64,
    seed: Seed,
}

impl<P: Located> HeatWatch<P> {
    /// A watch over a partition that begins at `now`; `seed` is the partition's own.
    pub fn new(rule: HeatSplit, seed: Seed, now: Instant) -> Self {
        let span = rule.seconds_max.saturating_sub(rule.seconds_min).saturating_add(1);
        Self {
            rule,
            seconds_needed: rule.seconds_min.saturating_add(crate::rng::below(seed.at(0), span)),
            second: now.second(),
            consumed_milli: [0; 2],
            hot_seconds: 0,
            samples: Vec::new(),
            next: 0,
            draws: 0,
            seed: seed.stream("samples"),
        }
    }

    /// Counts what was consumed: of reads (0) or of writes (1).
    #[inline]
    pub fn consume(&mut self, capacity: usize, milli: u64) {
        self.consumed_milli[capacity] += milli;
    }

    /// Counts a request that was served: a read (0) or a write (1).
    #[inline]
    pub fn served(&mut self, capacity: usize, milli: u64, place: &P) {
        self.consume(capacity, milli);
        self.draws += 1;
        // A random choice keeps no rhythm of the load.
        if crate::rng::below(self.seed.at(self.draws), SAMPLE_ONE_IN) == 0 || self.samples.is_empty() {
            self.sample(place.clone());
        }
    }

    /// Keeps the place of a request. Samples in the order of arrival tell whether a sort key grows.
    pub fn sample(&mut self, place: P) {
        if self.samples.len() < SAMPLES {
            self.samples.push(place);
        } else {
            self.samples[self.next] = place;
        }
        self.next = (self.next + 1) % SAMPLES;
    }

    /// Ends the seconds before that of `now`. `limits_milli` are what the partition can serve in a second, of reads and of
    /// writes; with `write_weight`, writes weigh so much on the limit of reads, which is then the only one. Whether a split
    /// is due.
    pub fn is_due(&mut self, limits_milli: [u64; 2], write_weight: Option<u64>, now: Instant) -> bool {
        let second = now.second();
        if second > self.second {
            // Half of the reads and half of the writes fill a limit that both share, and neither alone is near it.
            let consumed = match write_weight {
                Some(weight) => {
                    let writes = self.consumed_milli[1].saturating_mul(weight);
                    [self.consumed_milli[0].saturating_add(writes), 0]
                }
                None => self.consumed_milli,
            };
            let hot = |capacity: usize| {
                consumed[capacity].saturating_mul(100)
                    >= limits_milli[capacity].saturating_mul(self.rule.hot_percent).max(1)
            };
            // Seconds without any request are cool ones.
            let idle = second - self.second - 1;
            self.hot_seconds = match hot(0) || hot(1) {
                true => self.hot_seconds + 1,
                false => self.hot_seconds.saturating_sub(1),
            }
            .saturating_sub(idle);
            (self.second, self.consumed_milli) = (second, [0; 2]);
        }
        self.hot_seconds >= self.seconds_needed
    }

    /// Whether it was hot lately.
    pub fn is_warm(&self) -> bool {
        self.hot_seconds > 0
    }

    /// Places that are known.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Looks again only after as long a time.
    pub fn postpone(&mut self) {
        self.hot_seconds = 0;
    }

    /// Samples of the logical partition of `key`, in the order of arrival.
    fn of_key<'s>(&'s self, key: &'s P) -> impl Iterator<Item = &'s P> {
        let n = self.samples.len();
        let oldest = if n == SAMPLES { self.next } else { 0 };
        let (new, old) = self.samples.split_at(oldest);
        old.iter().chain(new).filter(move |place| place.same_key(key))
    }

    /// Whether the sort key of a logical partition moves one way, so that a cut inside it leaves its heat together.
    fn is_monotonic(&self, key: &P) -> bool {
        let places: Vec<&P> = self.of_key(key).collect();
        let n = places.len();
        let up = places.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let down = places.windows(2).filter(|pair| pair[1] < pair[0]).count();
        if up.max(down) * 100 >= MONOTONIC_PERCENT * (n - 1) {
            return true;
        }
        let newest = &places[n - n / NEWEST_ONE_IN..];
        if newest.len() < NEWEST_MIN {
            return false;
        }
        let mut sorted = places.clone();
        sorted.sort_unstable();
        let median = sorted[n / 2];
        let above = newest.iter().filter(|place| **place > median).count();
        let below = newest.iter().filter(|place| **place < median).count();
        above.max(below) * 100 >= MOVED_PERCENT * newest.len()
    }

    /// Why a split would not help, as far as the traffic so far tells: `None` also when there was too little.
    pub fn foresee(&self, collections_stay_whole: bool) -> Option<Declined> {
        let enough = self.samples.len() >= NEWEST_ONE_IN * NEWEST_MIN;
        enough.then(|| self.split_point(collections_stay_whole).err()).flatten()
    }

    /// Where to split: the first place of the upper half.
    ///
    /// # Errors
    /// [`Declined`] when no split would help.
    pub fn split_point(&self, collections_stay_whole: bool) -> Result<P, Declined> {
        let n = self.samples.len();
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return Err(Declined::TooLittle);
        };
        if first == last {
            return Err(Declined::OneItem);
        }
        let one_key = first.same_key(last);
        if collections_stay_whole && one_key {
            return Err(Declined::OneCollection);
        }
        let cut = |collections_stay_whole: bool| {
            let begins = |i: usize| match collections_stay_whole {
                true => !sorted[i].same_key(&sorted[i - 1]),
                false => sorted[i] != sorted[i - 1],
            };
            // The two places nearest to the median where something new begins.
            let below = (1..=n / 2).rev().find(|&i| begins(i));
            let above = (n / 2 + 1..n).find(|&i| begins(i));
            let parted = |i: usize| i.min(n - i);
            let best = below.into_iter().chain(above).max_by_key(|&i| (parted(i), std::cmp::Reverse(i)));
            best.filter(|&at| parted(at) * 100 >= n * PARTED_PERCENT)
        };
        let inside = |at: usize| sorted[at].same_key(&sorted[at - 1]);
        let at = match cut(collections_stay_whole).ok_or(Declined::TooLittle)? {
            // The heat of a sort key that moves one way would go to one half again; its neighbours can be parted from it.
            at if inside(at) && self.is_monotonic(&sorted[at]) => cut(true).ok_or(Declined::Monotonic)?,
            at => at,
        };
        // A cut inside a collection is before the item, any other before the whole collection.
        Ok(if inside(at) { sorted[at].clone() } else { sorted[at].key_begin() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: [u64; 2] = [3_000_000, 1_000_000];

    fn watch() -> HeatWatch {
        HeatWatch::new(HeatSplit::default(), Seed(1), Instant::START)
    }

    /// A hundred requests a second of ten units each for so many seconds; answers the second at which a split is due.
    fn run(watch: &mut HeatWatch, seconds: u64, place: impl Fn(u64) -> Place) -> Option<u64> {
        for second in 0..seconds {
            if watch.is_due(LIMITS, None, Instant::from_secs(second)) {
                return Some(second);
            }
            for i in 0..100 {
                watch.served(1, 10_000, &place(second * 100 + i));
            }
        }
        None
    }

    fn scattered(i: u64) -> u64 {
        Seed(9).at(i)
    }

    #[test]
    fn a_hot_partition_splits_after_eight_to_twelve_minutes_at_the_median_of_its_traffic() {
        let mut watch = watch();
        // Three quarters of the load in the lowest tenth of the range.
        let place = |i: u64| {
            let low = !i.is_multiple_of(4);
            let token = u128::from(scattered(i)) % 1_000 + if low { 0 } else { 9_000 };
            Place { token, sort: 0 }
        };
        let due = run(&mut watch, 1_000, place).unwrap();
        assert!((480..=722).contains(&due), "{due}");
        let at = watch.split_point(false).unwrap();
        // The median of the load: two thirds into the low tenth.
        assert!((550..=780).contains(&at.token), "{at:?}");
    }

    #[test]
    fn a_cool_or_idle_partition_does_not_split() {
        let mut watch = watch();
        for second in 0..2_000 {
            assert!(!watch.is_due(LIMITS, None, Instant::from_secs(second)));
            // Hot every other second only.
            watch.served(1, if second % 2 == 0 { 1_000_000 } else { 100_000 }, &Place::default());
        }
    }

    #[test]
    fn what_a_split_cannot_help_is_declined() {
        let one = Place { token: 7, sort: 3 };
        type Case<'a> = (&'a dyn Fn(u64) -> Place, bool, Declined);
        let cases: [Case<'_>; 4] = [
            (&|_| one, false, Declined::OneItem),
            (&|i| Place { token: 7, sort: scattered(i) }, true, Declined::OneCollection),
            (&|i| Place { token: 7, sort: i }, false, Declined::Monotonic),
            (&|i| Place { token: 7, sort: 1_000_000 - i }, false, Declined::Monotonic),
        ];
        for (place, whole, expected) in cases {
            let mut watch = watch();
            run(&mut watch, 1_000, place).unwrap();
            assert_eq!(watch.split_point(whole), Err(expected));
        }
    }

    /// Clients that retry bring every fifth item again, up to a thousand requests later.
    #[test]
    fn a_sort_key_that_grows_under_retries_is_still_monotonic() {
        let mut watch = watch();
        let late = |i: u64| if i.is_multiple_of(5) { scattered(i) % 1_000 } else { 0 };
        run(&mut watch, 1_000, |i| Place { token: 7, sort: i.saturating_sub(late(i)) }).unwrap();
        assert_eq!(watch.split_point(false), Err(Declined::Monotonic));
    }

    /// Otherwise the neighbour is taken along from split to split and there is no end of them.
    #[test]
    fn neighbours_are_parted_from_a_sort_key_that_grows() {
        let mut watch = watch();
        let place = |i: u64| Place { token: if i.is_multiple_of(8) { 9 } else { 7 }, sort: i };
        run(&mut watch, 1_000, place).unwrap();
        assert_eq!(watch.split_point(false), Ok(Place { token: 9, sort: 0 }));
    }

    #[test]
    fn random_sort_keys_are_divided_inside_the_collection() {
        let mut watch = watch();
        run(&mut watch, 1_000, |i| Place { token: 7, sort: scattered(i) }).unwrap();
        let at = watch.split_point(false).unwrap();
        assert_eq!(at.token, 7);
        let share = at.sort as f64 / u64::MAX as f64;
        assert!((0.4..0.6).contains(&share), "{share}");
    }

    #[test]
    fn one_hot_item_among_others_is_isolated() {
        let mut watch = watch();
        let hot = Place { token: 500, sort: 9 };
        run(&mut watch, 1_000, |i| match i % 10 {
            0..7 => hot,
            _ => Place { token: u128::from(scattered(i)) % 1_000, sort: 5 },
        });
        let at = watch.split_point(false).unwrap();
        // Just before or just after it.
        assert!(at.token == 500 || (501..520).contains(&at.token), "{at:?}");
    }
}
