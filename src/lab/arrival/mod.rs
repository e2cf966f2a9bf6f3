//! When operations begin, in an open loop: whatever becomes of those before.
//!
//! ```text
//!   Phase (shape, length, spacing) ─┐
//!   Phase                           ├─► Schedule ──next()──► Instant, Instant, Instant …
//!   Phase                          ─┘        └──total()──► how many
//! ```
//!
//! - *Even*: the `i`-th operation of a phase begins in the nanosecond in which the integral of the rate reaches `i`. At a
//!   constant rate that is `⌊i × 10⁹ ÷ rate⌋`, as in a replay. No rounding adds up: not over operations, not over phases,
//!   each of which begins exactly where the lengths before it end.
//! - *Poisson*: the integral between two operations is exponentially distributed, as when many clients act without
//!   knowing of each other. The count of every second varies with its mean.
//!
//! Where the rate is zero nothing begins, and what is due begins when the rate rises again. Nothing is kept but the place
//! in the schedule. What an operation is, and how long it takes, is not known here.

mod error;
mod piece;
mod shape;

use crate::clock::{Instant, NANOS_PER_SEC};
use crate::rng::{Rng, Seed};
pub use error::ArrivalError;
use piece::Piece;
pub use shape::RateShape;
use shape::nanos;
use std::time::Duration;

/// Operations of a schedule at the most.
pub const OPERATIONS_MAX: u64 = 10_000_000_000;

/// Operations a second at the most: a second of them is a schedule's most.
pub const RATE_MAX: u64 = OPERATIONS_MAX;

/// The phases of a schedule last so long at the most.
pub const LENGTH_MAX: Duration = Duration::from_secs(366 * 86_400);

/// How operations lie in what the rate gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// As evenly as can be.
    Even,
    /// At random and independently of each other.
    Poisson,
}

/// A stretch of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Operations a second.
    pub shape: RateShape,
    /// Its length: above zero, and with the others at most [`LENGTH_MAX`].
    pub lasts: Duration,
    /// How operations lie in it.
    pub spacing: Spacing,
}

/// The starts of operations, in order. An iterator: [`next`](Iterator::next) is the next start.
///
/// - Starts never fall.
/// - Each lies in its phase: at its begin or after, before its end.
/// - A schedule asked twice gives the same, and a phase the same whatever is drawn in those before it.
#[derive(Clone, Debug)]
pub struct Schedule {
    phases: Vec<Phase>,
    seed: Seed,
    total: u64,
    /// The phase under way; `None` after the last.
    current: Option<Course>,
}

/// A phase under way.
#[derive(Clone, Debug)]
struct Course {
    phase: usize,
    begin: Instant,
    /// Work of one operation, as `piece` counts it.
    operation: u128,
    /// Work at which the next operation begins.
    due: u128,
    /// For gaps; `None` when spacing is even.
    rng: Option<Rng>,
    piece: Piece,
    next_piece: u64,
    /// Work of the pieces before.
    done: u128,
}

/// Work of an operation at rates in so many parts of an operation a second.
fn work_of_operation(parts: u64) -> u128 {
    2 * u128::from(NANOS_PER_SEC) * u128::from(parts)
}

impl Schedule {
    /// The schedule of these phases, one after another from [`Instant::START`] on.
    ///
    /// # Errors
    /// When there are no phases, a phase is not as its description says, nothing ever begins, or there would be more than
    /// [`OPERATIONS_MAX`] operations.
    pub fn new(phases: &[Phase], seed: Seed) -> Result<Self, ArrivalError> {
        if phases.is_empty() {
            return Err(ArrivalError::NoPhases);
        }
        let (mut total, mut length, mut at_rest) = (0_u64, Duration::ZERO, true);
        for (phase, at) in phases.iter().zip(1..) {
            if phase.lasts.is_zero() {
                return Err(ArrivalError::ZeroLength { phase: at });
            }
            // Both are far below what a `Duration` holds once the first has been looked at.
            if phase.lasts > LENGTH_MAX || length + phase.lasts > LENGTH_MAX {
                return Err(ArrivalError::TooLong { phase: at });
            }
            length += phase.lasts;
            phase.shape.check(at, phase.lasts)?;
            let (work, by) = phase.shape.work(nanos(phase.lasts));
            let operation = work_of_operation(phase.shape.parts()) * by;
            let count = match phase.spacing {
                Spacing::Even => work.div_ceil(operation),
                Spacing::Poisson => (work + operation / 2) / operation,
            };
            total = u64::try_from(count).ok().and_then(|count| total.checked_add(count)).unwrap_or(u64::MAX);
            if total > OPERATIONS_MAX {
                return Err(ArrivalError::TooMany { phase: at });
            }
            at_rest &= work == 0;
        }
        if at_rest {
            return Err(ArrivalError::ZeroRate { phase: phases.len() });
        }
        let seed = seed.stream("arrival");
        let current = Course::new(phases, 0, Instant::START, seed);
        Ok(Self { phases: phases.to_vec(), seed, total, current })
    }

    /// Operations of the whole schedule: exact where spacing is even; with Poisson's, the mean over all seeds, to the
    /// nearest whole number for each phase.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Where the last phase ends.
    pub fn end(&self) -> Instant {
        self.phases.iter().fold(Instant::START, |end, phase| end.after(phase.lasts))
    }
}

impl Iterator for Schedule {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        loop {
            let course = self.current.as_mut()?;
            let phase = &self.phases[course.phase];
            if let Some(start) = course.next(phase) {
                return Some(start);
            }
            let (next, begin) = (course.phase + 1, course.begin.after(phase.lasts));
            self.current = Course::new(&self.phases, next, begin, self.seed);
        }
    }
}

impl Course {
    /// The begin of a phase; `None` after the last.
    fn new(phases: &[Phase], at: usize, begin: Instant, seed: Seed) -> Option<Self> {
        let phase = phases.get(at)?;
        let (piece, next_piece) = phase.shape.piece(nanos(phase.lasts), 0)?;
        let mut course = Self {
            phase: at,
            begin,
            operation: work_of_operation(phase.shape.parts()),
            due: 0,
            rng: match phase.spacing {
                Spacing::Even => None,
                Spacing::Poisson => Some(seed.child(at as u64).rng()),
            },
            piece,
            next_piece,
            done: 0,
        };
        // The first is due at once when evenly spaced, and after a gap when not: a process that remembers nothing.
        if course.rng.is_some() {
            course.due = course.gap();
        }
        Some(course)
    }

    /// Work between two operations.
    #[inline]
    fn gap(&mut self) -> u128 {
        match &mut self.rng {
            None => self.operation,
            // One less a number below 1 is above 0, so that there is a logarithm.
            Some(rng) => (-libm::log(1.0 - rng.unit()) * self.operation as f64) as u128,
        }
    }

    /// The next start in this phase; `None` when there is no more.
    #[inline]
    fn next(&mut self, phase: &Phase) -> Option<Instant> {
        while self.due - self.done >= self.piece.work() {
            let (piece, next) = phase.shape.piece(nanos(phase.lasts), self.next_piece)?;
            self.done += self.piece.work();
            (self.piece, self.next_piece) = (piece, next);
        }
        let within = self.piece.nanos_at(self.due - self.done);
        if within >= self.piece.used {
            return None;
        }
        self.due += self.gap();
        Some(self.begin.after(Duration::from_nanos(self.piece.begin + within)))
    }
}

#[cfg(test)]
mod tests;
