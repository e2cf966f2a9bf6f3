//! What happened to a load: counts, refusals by limit, response times, and its course by second.

use crate::budget::Capacity;
use crate::clock::Instant;
use crate::lab::replay::new_histogram;
use crate::physics::Cause;
use hdrhistogram::Histogram;

/// Seconds that are kept one by one; a longer run has them in twos, in fours, and so on.
const BINS_MAX: usize = 1 << 16;

/// What happened in a second, or in a few.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    /// Operations begun.
    pub(super) offered: u64,
    /// Operations that succeeded.
    pub(super) served: u64,
    /// Operations that were given up.
    pub(super) gave_up: u64,
    /// Attempts.
    pub(super) attempts: u64,
    /// Attempts that were throttled.
    pub(super) throttled: u64,
    /// Units consumed, in thousandths.
    pub(super) units_milli: u64,
}

impl Bin {
    /// `part` of `whole` of it, rounded down.
    fn part(self, part: u64, whole: u64) -> Self {
        let of = |count: u64| (u128::from(count) * u128::from(part) / u128::from(whole)) as u64;
        Self {
            offered: of(self.offered),
            served: of(self.served),
            gave_up: of(self.gave_up),
            attempts: of(self.attempts),
            throttled: of(self.throttled),
            units_milli: of(self.units_milli),
        }
    }

    fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.served += other.served;
        self.gave_up += other.gave_up;
        self.attempts += other.attempts;
        self.throttled += other.throttled;
        self.units_milli += other.units_milli;
    }
}

/// A load's record.
#[derive(Debug)]
pub(super) struct Recorder {
    bins: Vec<Bin>,
    /// Bins are 2^`shift` seconds wide.
    shift: u32,
    /// Refusals by table, limit and capacity.
    refusals: Vec<[[u64; 2]; Cause::ALL.len()]>,
    pub(super) response_us: Histogram<u64>,
    pub(super) first: Option<Instant>,
    pub(super) last: Instant,
    /// DynamoDB: throttle events of reads and of writes.
    pub(super) events: [u64; 2],
    /// Requests of which every part was throttled.
    pub(super) throttled_requests: u64,
    /// Throttled attempts that were not the first.
    pub(super) throttled_retries: u64,
}

impl Recorder {
    pub(super) fn new(tables: usize) -> Self {
        Self {
            bins: Vec::new(),
            shift: 0,
            refusals: vec![[[0; 2]; Cause::ALL.len()]; tables],
            response_us: new_histogram(),
            first: None,
            last: Instant::START,
            events: [0; 2],
            throttled_requests: 0,
            throttled_retries: 0,
        }
    }

    #[inline]
    fn bin(&mut self, at: Instant) -> &mut Bin {
        let mut index = (at.second() >> self.shift) as usize;
        if index >= self.bins.len() {
            while index >= BINS_MAX {
                self.shift += 1;
                index >>= 1;
                let halves = self.bins.chunks(2).map(|pair| {
                    let mut sum = pair[0];
                    pair[1..].iter().for_each(|other| sum.add(*other));
                    sum
                });
                self.bins = halves.collect();
            }
            if index >= self.bins.len() {
                self.bins.resize(index + 1, Bin::default());
            }
        }
        &mut self.bins[index]
    }

    /// An operation was to begin at `at`.
    #[inline]
    pub(super) fn begin(&mut self, at: Instant) {
        if self.first.is_none() {
            self.first = Some(at);
        }
        self.bin(at).offered += 1;
    }

    /// An attempt passed.
    #[inline]
    pub(super) fn passed(&mut self, at: Instant, milli: u64) {
        let bin = self.bin(at);
        bin.attempts += 1;
        bin.units_milli += milli;
    }

    /// An attempt was throttled by a table.
    #[inline]
    pub(super) fn throttled(&mut self, at: Instant, table: usize, cause: Cause, capacity: Capacity) {
        let bin = self.bin(at);
        bin.attempts += 1;
        bin.throttled += 1;
        let which = usize::from(capacity == Capacity::Write);
        self.refusals[table][cause as usize][which] += 1;
        self.events[which] += 1;
    }

    /// An operation succeeded.
    #[inline]
    pub(super) fn served(&mut self, intended: Instant, answered: Instant) {
        self.bin(answered).served += 1;
        self.last = self.last.max(answered);
        let micros = answered.since(intended).as_micros();
        self.response_us.saturating_record(u64::try_from(micros).unwrap_or(u64::MAX));
    }

    /// An operation was given up.
    pub(super) fn gave_up(&mut self, answered: Instant) {
        self.bin(answered).gave_up += 1;
        self.last = self.last.max(answered);
    }

    /// What happened in these seconds; without any, in all. Of a bin that is wider, as much as lies within them.
    pub(super) fn total(&self, seconds: Option<(u64, u64)>) -> Bin {
        let mut total = Bin::default();
        let width = self.width();
        for (start, bin) in self.bins() {
            let within = match seconds {
                None => width,
                Some((from, to)) => to.min(start + width).saturating_sub(from.max(start)),
            };
            match within {
                0 => {}
                within if within == width => total.add(bin),
                within => total.add(bin.part(within, width)),
            }
        }
        total
    }

    /// Each bin with the second at which it begins.
    pub(super) fn bins(&self) -> impl Iterator<Item = (u64, Bin)> + '_ {
        self.bins.iter().enumerate().map(|(i, bin)| ((i as u64) << self.shift, *bin))
    }

    /// The width of a bin, in seconds.
    pub(super) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// Refusals: table, limit, capacity, count.
    pub(super) fn refusals(&self) -> impl Iterator<Item = (usize, Cause, Capacity, u64)> + '_ {
        self.refusals.iter().enumerate().flat_map(|(table, causes)| {
            Cause::ALL.into_iter().zip(causes).flat_map(move |(cause, counts)| {
                [(Capacity::Read, counts[0]), (Capacity::Write, counts[1])]
                    .into_iter()
                    .filter(|(_, count)| *count > 0)
                    .map(move |(capacity, count)| (table, cause, capacity, count))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_its_sums_in_wider_bins() {
        let mut recorder = Recorder::new(1);
        for second in 0..200_000 {
            recorder.begin(Instant::from_secs(second));
        }
        assert_eq!(recorder.width(), 4);
        assert_eq!(recorder.total(None).offered, 200_000);
        assert_eq!(recorder.total(Some((1_000, 2_000))).offered, 1_000);
        // A window that begins and ends within wider bins is as long as it says.
        assert_eq!(recorder.total(Some((1_001, 1_002))).offered, 1);
        assert_eq!(recorder.total(Some((1_002, 1_006))).offered, 4);
        assert_eq!(recorder.total(Some((0, u64::MAX))).offered, 200_000);
    }
}
