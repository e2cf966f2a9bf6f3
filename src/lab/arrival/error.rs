//! Why a schedule cannot be. Every message names the phase, counted from 1, and says what is accepted.

use super::shape::{PERIOD_MIN, WAVES_MAX};
use super::{LENGTH_MAX, OPERATIONS_MAX, RATE_MAX};
use crate::error::Error;
use std::fmt;
use std::time::Duration;

/// A schedule that cannot be: correct the input. `phase` counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrivalError {
    /// No phases.
    NoPhases,
    /// A phase without length.
    ZeroLength {
        /// Which one.
        phase: usize,
    },
    /// The phases up to this one last longer than [`LENGTH_MAX`].
    TooLong {
        /// With which one.
        phase: usize,
    },
    /// A rate above [`RATE_MAX`].
    Rate {
        /// Of which one.
        phase: usize,
        /// Operations a second.
        given: u64,
    },
    /// The phases up to this one have more than [`OPERATIONS_MAX`] operations.
    TooMany {
        /// With which one.
        phase: usize,
    },
    /// Nothing ever begins.
    ZeroRate {
        /// The last of the phases, all of which are at rest.
        phase: usize,
    },
    /// A list of steps without a step.
    NoSteps {
        /// Of which one.
        phase: usize,
    },
    /// A step that is not later than the one before it, or not within the phase.
    Step {
        /// Of which one.
        phase: usize,
        /// Which step, counted from 1.
        step: usize,
        /// When it was to be.
        at: Duration,
        /// Length of the phase.
        lasts: Duration,
    },
    /// A spike without length, or one that is not within the phase.
    Spike {
        /// Of which one.
        phase: usize,
        /// Length of the phase.
        lasts: Duration,
    },
    /// A period below a millisecond or above [`LENGTH_MAX`], or one that the phase is more than 10,000 times as long as.
    Period {
        /// Of which one.
        phase: usize,
    },
}

impl fmt::Display for ArrivalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = LENGTH_MAX.as_secs() / 86_400;
        match self {
            Self::NoPhases => write!(f, "phases: at least 1, not 0"),
            Self::ZeroLength { phase } => write!(f, "phase {phase}: a length of at least 1 ns, not 0"),
            Self::TooLong { phase } => {
                write!(f, "phase {phase}: up to {days} days with the phases before it, not more")
            }
            Self::Rate { phase, given } => {
                write!(f, "phase {phase}: 0 to {RATE_MAX} operations a second, not {given}")
            }
            Self::TooMany { phase } => {
                write!(
                    f,
                    "phase {phase}: up to {OPERATIONS_MAX} operations with the phases before it, not more"
                )
            }
            Self::ZeroRate { phase: 1 } => {
                write!(f, "phase 1: a rate above 0 at some time, as there is no other phase")
            }
            Self::ZeroRate { phase } => {
                write!(f, "phases 1 to {phase}: a rate above 0 at some time in one of them")
            }
            Self::NoSteps { phase } => write!(f, "phase {phase}: at least 1 step, not 0"),
            Self::Step { phase, step, at, lasts } => write!(
                f,
                "phase {phase}: each step later than the one before it and before the end at {lasts:?}; step {step} is \
                 at {at:?}"
            ),
            Self::Spike { phase, lasts } => {
                write!(
                    f,
                    "phase {phase}: a spike of at least 1 ns that ends with the phase, at {lasts:?}, or before"
                )
            }
            Self::Period { phase } => write!(
                f,
                "phase {phase}: a period of {PERIOD_MIN:?} to {days} days, that fits the phase up to {WAVES_MAX} times"
            ),
        }
    }
}

impl std::error::Error for ArrivalError {}

impl From<ArrivalError> for Error {
    fn from(error: ArrivalError) -> Self {
        Self::invalid(error.to_string())
    }
}
