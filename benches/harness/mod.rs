//! What the benches share: interleaved rounds and the table they print.
//!
//! A machine's speed drifts and other programs take their turns, so ours and the peer alternate in many short rounds
//! and each is judged by its best one: what it takes when nobody interferes. Nothing here fails a build: a bench prints,
//! a person judges.

#![allow(dead_code, reason = "each bench uses its part of the harness")]

use hotplate::Instant;
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

/// Rounds of a measurement: many, since on a busy machine most are disturbed.
pub(crate) const ROUNDS: usize = 75;

/// Virtual time between two requests. At 5,000 requests a second, no limit of ten partitions is ever reached.
pub(crate) const STEP: Duration = Duration::from_micros(200);

/// Seconds that `work` takes.
pub(crate) fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let began = std::time::Instant::now();
    black_box(work());
    began.elapsed().as_secs_f64()
}

/// The median of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Measures subjects in turn, so many times, and answers the best figure of each. A subject is told the round.
pub(crate) fn best<const N: usize>(rounds: usize, subjects: [&mut dyn FnMut(usize) -> f64; N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for round in 0..rounds {
        for i in 0..N {
            // Who comes first changes, so that nobody always runs in the other's warm caches.
            let i = (i + round) % N;
            best[i] = best[i].min(subjects[i](round));
        }
    }
    best
}

/// Virtual time that moves with each look, on one thread.
#[derive(Default)]
pub(crate) struct Time(Cell<u64>);

impl Time {
    pub(crate) fn now(&self) -> Instant {
        self.0.set(self.0.get() + STEP.as_nanos() as u64);
        Instant::from_nanos(self.0.get())
    }

    pub(crate) fn advance_to(&self, now: Instant) {
        self.0.set(self.0.get().max(now.nanos()));
    }
}

/// Whether a target asks for much or for little.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Said for orientation.
    None,
}

/// The rows of a report, printed as they come.
pub(crate) struct Report;

impl Report {
    pub(crate) fn begin(title: &str) -> Self {
        println!("\n{title}");
        println!("{:<58} {:>12} {:>12} {:>8}  {:<9} met?", "what", "ours", "peer", "ratio", "target");
        Self
    }

    /// Prints one row. `figure` is what the target is about.
    pub(crate) fn row(&self, what: &str, ours: &str, peer: &str, figure: f64, target: Target) {
        let (wanted, met) = match target {
            Target::AtLeast(least) => (format!("≥ {least}"), if figure >= least { "yes" } else { "NO" }),
            Target::AtMost(most) => (format!("≤ {most}"), if figure <= most { "yes" } else { "NO" }),
            Target::None => ("-".to_owned(), "-"),
        };
        println!("{what:<58} {ours:>12} {peer:>12} {figure:>8.2}  {wanted:<9} {met}");
    }
}

/// `seconds` for each of `count` operations, in nanoseconds.
pub(crate) fn nanos_each(seconds: f64, count: usize) -> String {
    format!("{:.1} ns", seconds * 1e9 / count as f64)
}

/// A small generator for shuffles: SplitMix64.
pub(crate) fn shuffle<T>(items: &mut [T]) {
    let mut rng = hotplate::rng::Seed(7).rng();
    rng.shuffle(items);
}
