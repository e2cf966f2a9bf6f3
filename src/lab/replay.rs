//! Replays: writes in order, in virtual time, against the limits of a layout.
//!
//! - *Open loop without retries* needs neither a heap nor a store: write `i` begins at `i ÷ rate`, passes or does not,
//!   and nothing that happens to it changes a later one. This is the inner loop of every search.
//! - With retries or a closed loop, an event heap orders attempts by time, and by the order they were asked for.
//!
//! A refusal is answered after the service time, like a success (*assumed*). In the event heap an answer takes between
//! half and one and a half service times, by the seed (*assumed*): if it always took exactly one, a few workers would
//! fall into step with the refill of a bucket and the others would starve, which no network lets happen.

use super::WriteLimits;
use crate::clock::{Instant, NANOS_PER_SEC};
use crate::heat::{Series, Tally};
use crate::rng::{Seed, below};
use hdrhistogram::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Columns of a heat map at the most.
const SERIES_BINS: NonZeroUsize = NonZeroUsize::new(120).expect("120 is not zero");

/// Response times are recorded to three digits, ...
const HISTOGRAM_DIGITS: u8 = 3;

/// ... from a microsecond to a day; longer ones count as a day.
const RESPONSE_MAX_US: u64 = 24 * 3_600 * 1_000_000;

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Writes that were to be made.
    pub writes: u64,
    /// Attempts, first ones and retries.
    pub attempts: u64,
    /// Writes that succeeded.
    pub served: u64,
    /// Attempts that were throttled.
    pub throttled: u64,
    /// From the first intended start to the last completion.
    pub duration: Duration,
    /// Attempts by partition.
    pub partitions: Vec<Tally>,
    /// Response times of successes from the intended start, in microseconds.
    pub response_us: Histogram<u64>,
    /// Throttled attempts by key number, and heat by partition, where they were asked for.
    pub detail: Option<Detail>,
}

/// What only the chosen layout needs.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Throttled attempts of each key.
    pub throttled_keys: Vec<u64>,
    /// Each partition by second.
    pub series: Vec<Series>,
}

impl Outcome {
    /// Successes a second.
    pub fn served_per_s(&self) -> f64 {
        let seconds = self.duration.as_secs_f64();
        if seconds > 0.0 { self.served as f64 / seconds } else { 0.0 }
    }

    /// Throttled attempts ÷ attempts.
    pub fn throttled_share(&self) -> f64 {
        if self.attempts > 0 { self.throttled as f64 / self.attempts as f64 } else { 0.0 }
    }

    /// A quantile of the response time in milliseconds; zero when nothing succeeded.
    pub fn response_ms(&self, quantile: f64) -> f64 {
        if self.response_us.is_empty() {
            0.0
        } else {
            self.response_us.value_at_quantile(quantile) as f64 / 1e3
        }
    }
}

/// Whose key goes to which partition, under one layout.
#[derive(Clone, Copy, Debug)]
pub struct Attempts<'a> {
    /// The key number of each write.
    pub rows: &'a [u32],
    /// The partition of each key.
    pub partition_of: &'a [u16],
}

impl Attempts<'_> {
    #[inline]
    fn partition(&self, row: usize) -> usize {
        usize::from(self.partition_of[self.rows[row] as usize])
    }
}

/// How often a refused write is tried again, waiting each time as long as the refusal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Retries after the first attempt, at the most.
    pub most: u32,
    /// From which the length of each answer follows.
    pub seed: Seed,
}

struct Recorder {
    outcome: Outcome,
    charge_milli: u64,
    end: Instant,
}

impl Recorder {
    fn new(limits: &WriteLimits, attempts: &Attempts<'_>, detailed: bool) -> Self {
        Self {
            outcome: Outcome {
                writes: attempts.rows.len() as u64,
                attempts: 0,
                served: 0,
                throttled: 0,
                duration: Duration::ZERO,
                partitions: vec![Tally::default(); limits.partitions()],
                response_us: new_histogram(),
                detail: detailed.then(|| Detail {
                    throttled_keys: vec![0; attempts.partition_of.len()],
                    series: (0..limits.partitions()).map(|_| Series::new(SERIES_BINS)).collect(),
                }),
            },
            charge_milli: limits.charge_milli(),
            end: Instant::START,
        }
    }

    #[inline]
    fn record(&mut self, key: u32, partition: usize, at: Instant, passed: bool, answered: Instant) {
        self.outcome.attempts += 1;
        let tally = if passed {
            self.outcome.served += 1;
            Tally::of_served(self.charge_milli)
        } else {
            self.outcome.throttled += 1;
            Tally::of_throttled(self.charge_milli)
        };
        self.outcome.partitions[partition] += tally;
        self.end = self.end.max(answered);
        if let Some(detail) = &mut self.outcome.detail {
            detail.series[partition].record(at, tally);
            detail.throttled_keys[key as usize] += u64::from(!passed);
        }
    }

    fn respond(&mut self, intended: Instant, answered: Instant) {
        let micros = answered.since(intended).as_micros();
        self.outcome.response_us.saturating_record(u64::try_from(micros).unwrap_or(u64::MAX));
    }

    /// Every success took the service time and nothing else.
    fn respond_alike(&mut self, service_time: Duration) {
        let micros = u64::try_from(service_time.as_micros()).unwrap_or(u64::MAX);
        if self.outcome.served > 0 {
            self.outcome.response_us.saturating_record_n(micros, self.outcome.served);
        }
    }

    fn finish(mut self) -> Outcome {
        self.outcome.duration = self.end.since(Instant::START);
        self.outcome
    }
}

pub(super) fn new_histogram() -> Histogram<u64> {
    match Histogram::new_with_max(RESPONSE_MAX_US, HISTOGRAM_DIGITS) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("a day and three digits are within what a histogram can have"),
    }
}

/// The intended starts of writes at a constant rate: `⌊i × 10⁹ ÷ rate⌋` nanoseconds for `i` = 0, 1, 2 …
///
/// Computed by carrying the remainder along: exact, and without a division for each write.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    rate: u64,
    nanos: u64,
    carried: u64,
}

impl Pace {
    pub(super) fn new(rate: u64) -> Self {
        Self { rate: rate.max(1), nanos: 0, carried: 0 }
    }

    /// The start of the next write.
    #[inline]
    pub(super) fn next_start(&mut self) -> Instant {
        let start = Instant::from_nanos(self.nanos);
        self.nanos = self.nanos.saturating_add(NANOS_PER_SEC / self.rate);
        self.carried += NANOS_PER_SEC % self.rate;
        if self.carried >= self.rate {
            self.carried -= self.rate;
            self.nanos = self.nanos.saturating_add(1);
        }
        start
    }
}

/// Each write once, in order, `rate` a second, none tried again.
pub fn replay_open(
    limits: &WriteLimits,
    attempts: Attempts<'_>,
    rate: u64,
    service_time: Duration,
    detailed: bool,
) -> Outcome {
    let mut states = limits.begin();
    let mut recorder = Recorder::new(limits, &attempts, detailed);
    let mut pace = Pace::new(rate);
    for &key in attempts.rows {
        let now = pace.next_start();
        let partition = usize::from(attempts.partition_of[key as usize]);
        let passed = limits.offer(&mut states, partition, now);
        recorder.record(key, partition, now, passed, now.after(service_time));
    }
    recorder.respond_alike(service_time);
    recorder.finish()
}

/// An attempt to come. Ordered by time, then by the order in which attempts were asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Instant,
    sequence: u64,
    row: usize,
    intended: Instant,
    tries: u32,
}

/// Each write in order, `rate` a second; refused ones come back as the refusal says, up to `retries` times.
pub fn replay_retrying(
    limits: &WriteLimits,
    attempts: Attempts<'_>,
    rate: u64,
    service_time: Duration,
    retries: Retries,
    detailed: bool,
) -> Outcome {
    let mut run = Run::new(limits, attempts, service_time, retries, detailed);
    let mut pace = Pace::new(rate);
    for row in 0..attempts.rows.len() {
        let intended = pace.next_start();
        while run.heap.peek().is_some_and(|Reverse(event)| event.at <= intended) {
            run.step();
        }
        run.schedule(row, intended, intended, 0);
    }
    while run.step().is_some() {}
    run.recorder.finish()
}

/// Each write in order by so many workers: a worker begins a write when its last one was answered for good.
pub fn replay_closed(
    limits: &WriteLimits,
    attempts: Attempts<'_>,
    workers: u32,
    service_time: Duration,
    retries: Retries,
    detailed: bool,
) -> Outcome {
    let mut run = Run::new(limits, attempts, service_time, retries, detailed);
    let mut next = 0;
    while next < attempts.rows.len().min(workers as usize) {
        run.schedule(next, Instant::START, Instant::START, 0);
        next += 1;
    }
    while let Some(step) = run.step() {
        if let Some(free) = step
            && next < attempts.rows.len()
        {
            run.schedule(next, free, free, 0);
            next += 1;
        }
    }
    run.recorder.finish()
}

struct Run<'a> {
    limits: &'a WriteLimits,
    attempts: Attempts<'a>,
    service_time: Duration,
    retries: Retries,
    states: super::limits::States,
    recorder: Recorder,
    heap: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    jitter: Seed,
}

impl<'a> Run<'a> {
    fn new(
        limits: &'a WriteLimits,
        attempts: Attempts<'a>,
        service_time: Duration,
        retries: Retries,
        detailed: bool,
    ) -> Self {
        Self {
            limits,
            attempts,
            service_time,
            retries,
            states: limits.begin(),
            recorder: Recorder::new(limits, &attempts, detailed),
            heap: BinaryHeap::new(),
            sequence: 0,
            jitter: retries.seed.stream("service time"),
        }
    }

    fn schedule(&mut self, row: usize, at: Instant, intended: Instant, tries: u32) {
        self.heap.push(Reverse(Event { at, sequence: self.sequence, row, intended, tries }));
        self.sequence += 1;
    }

    /// Carries the next attempt out. `None`: there is none. `Some(Some(t))`: its write is over at `t`.
    fn step(&mut self) -> Option<Option<Instant>> {
        let Reverse(event) = self.heap.pop()?;
        let partition = self.attempts.partition(event.row);
        let passed = self.limits.offer(&mut self.states, partition, event.at);
        let spread = below(self.jitter.at(event.sequence), self.service_time.as_nanos() as u64);
        let answered = event.at.after(self.service_time / 2 + Duration::from_nanos(spread));
        self.recorder.record(self.attempts.rows[event.row], partition, event.at, passed, answered);
        if passed {
            self.recorder.respond(event.intended, answered);
        } else if event.tries < self.retries.most {
            let back = self.limits.retry_at(&self.states, partition, event.at).max(answered);
            self.schedule(event.row, back, event.intended, event.tries + 1);
            return Some(None);
        }
        Some(Some(answered))
    }
}

/// The longest a window is held: the same as a search for the highest rate.
const HOLD_SECONDS_MAX: u64 = 300;

/// Two stretches of a hold are alike when what they served differs by at most this share: then it is steady.
const HOLD_STEADY_SHARE: f64 = 0.002;

/// Holds one mix of keys at a rate, over and over, until what is served no longer changes; answers the last stretch.
///
/// A stretch is at least a second and at least one pass over the rows, so that it sees the whole mix.
pub fn hold(
    limits: &WriteLimits,
    attempts: Attempts<'_>,
    rate: u64,
    service_time: Duration,
    detailed: bool,
) -> Outcome {
    let limits = limits.drained();
    let rows = attempts.rows.len() as u64;
    let most = rate.saturating_mul(HOLD_SECONDS_MAX);
    let stretch = rate.max(rows).min(most);
    let mut states = limits.begin();
    let mut pace = Pace::new(rate);
    let mut mix = attempts.rows.iter().cycle();
    let mut offered = 0;
    let mut before = None;
    loop {
        let mut recorder = Recorder::new(&limits, &attempts, detailed);
        let begin = pace.clone().next_start();
        for &key in mix.by_ref().take(stretch as usize) {
            let now = pace.next_start();
            let partition = usize::from(attempts.partition_of[key as usize]);
            let passed = limits.offer(&mut states, partition, now);
            recorder.record(key, partition, now, passed, now);
        }
        offered += stretch;
        let served = recorder.outcome.served;
        let steady = before
            .is_some_and(|before: u64| before.abs_diff(served) as f64 <= HOLD_STEADY_SHARE * stretch as f64);
        if steady || offered >= most || rows == 0 {
            recorder.respond_alike(service_time);
            let mut outcome = recorder.outcome;
            outcome.writes = stretch;
            outcome.duration = pace.next_start().since(begin);
            return outcome;
        }
        before = Some(served);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::units::Bytes;

    const SERVICE: Duration = Duration::from_millis(5);

    fn limits(partitions: u32) -> WriteLimits {
        let profile = Profile::dynamodb_provisioned(1, 10_000).unwrap().with_partitions(partitions).unwrap();
        WriteLimits::new(&profile, Bytes::from_kb(1))
    }

    fn patient(most: u32) -> Retries {
        Retries { most, seed: Seed(0) }
    }

    #[test]
    fn one_partition_serves_its_ceiling() {
        let rows = vec![0; 60_000];
        let attempts = Attempts { rows: &rows, partition_of: &[3] };
        let outcome = replay_open(&limits(10), attempts, 5_000, SERVICE, true);
        // 12 seconds at 1,000 a second and half a second's credit.
        assert!((12_450..=12_550).contains(&outcome.served), "{}", outcome.served);
        assert_eq!(outcome.served + outcome.throttled, 60_000);
        assert_eq!(outcome.detail.unwrap().throttled_keys, [outcome.throttled]);
        let held = hold(&limits(10), attempts, 5_000, SERVICE, false);
        assert!((held.served_per_s() - 1_000.0).abs() < 2.0, "{}", held.served_per_s());
    }

    #[test]
    fn a_patient_loader_writes_everything_at_the_ceiling() {
        let rows = vec![0; 10_000];
        let attempts = Attempts { rows: &rows, partition_of: &[0] };
        let outcome = replay_closed(&limits(10), attempts, 50, SERVICE, patient(1_000), false);
        assert_eq!(outcome.served, 10_000);
        assert!((outcome.served_per_s() - 1_050.0).abs() < 20.0, "{}", outcome.served_per_s());
        assert!(outcome.response_ms(0.5) > 30.0, "50 workers at 1,000 a second wait about 50 ms");
    }

    #[test]
    fn retries_of_an_open_loop_keep_the_intended_start() {
        let rows = vec![0; 3_000];
        let attempts = Attempts { rows: &rows, partition_of: &[0] };
        let none = replay_open(&limits(1), attempts, 2_000, SERVICE, false);
        let same = replay_retrying(&limits(1), attempts, 2_000, SERVICE, patient(0), false);
        assert_eq!((none.served, none.throttled), (same.served, same.throttled));
        let outcome = replay_retrying(&limits(1), attempts, 2_000, SERVICE, patient(10_000), false);
        assert_eq!(outcome.served, 3_000);
        // Offered in 1.5 s, served in 2.5 s: the last waited a second from when it was due.
        assert!(outcome.response_ms(1.0) > 900.0, "{}", outcome.response_ms(1.0));
    }

    #[test]
    fn starts_are_exact_to_the_nanosecond() {
        for rate in [1, 3, 7, 9_000, 999_999, 10_000_000] {
            let mut pace = Pace::new(rate);
            for i in 0..5_000_u64 {
                assert_eq!(pace.next_start().nanos(), i * NANOS_PER_SEC / rate, "{i} at {rate}");
            }
        }
    }
}
