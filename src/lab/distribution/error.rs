//! Why a distribution cannot be drawn from. Every message says what is accepted.

use super::{EXPONENT_MAX, KEYS_MAX};
use crate::error::Error;
use std::fmt;

/// A distribution that cannot be drawn from: correct the input.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DistributionError {
    /// No keys, or more than [`KEYS_MAX`].
    Keys(u64),
    /// An exponent that is not above 0, or above [`EXPONENT_MAX`].
    Exponent(f64),
    /// A share that is outside of what is accepted, or no number.
    Share {
        /// Which one.
        name: &'static str,
        /// What is accepted.
        accepted: &'static str,
        /// What was given.
        given: f64,
    },
    /// Hot keys that would be colder than the others.
    Contradiction {
        /// Share of the keys.
        keys: f64,
        /// Share of the load.
        load: f64,
    },
    /// A list without weights.
    NoWeights,
    /// A list in which every weight is zero.
    ZeroWeights,
    /// Weights whose sum does not fit 64 bits.
    WeightsOverflow,
    /// More weights than keys.
    MoreWeightsThanKeys {
        /// Weights in the list.
        weights: u64,
        /// Keys there are.
        keys: u64,
    },
    /// A time bucket without length.
    ZeroBucket,
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(keys) => write!(f, "keys: 1 to {KEYS_MAX}, not {keys}"),
            Self::Exponent(exponent) => {
                write!(f, "exponent: above 0 and up to {EXPONENT_MAX}, not {exponent}")
            }
            Self::Share { name, accepted, given } => write!(f, "{name}: {accepted}, not {given}"),
            Self::Contradiction { keys, load } => {
                write!(
                    f,
                    "{load} of the load on {keys} of the keys: the share of the load has to be at least the share of the \
                     keys, and 1 when that is 1"
                )
            }
            Self::NoWeights => write!(f, "weights: at least one, not an empty list"),
            Self::ZeroWeights => write!(f, "weights: at least one above zero, not zeros alone"),
            Self::WeightsOverflow => write!(f, "weights: a sum up to {}, not more", u64::MAX),
            Self::MoreWeightsThanKeys { weights, keys } => {
                write!(f, "weights: up to one a key, which is {keys}, not {weights}")
            }
            Self::ZeroBucket => write!(f, "seconds of a time bucket: at least 1, not 0"),
        }
    }
}

impl std::error::Error for DistributionError {}

impl From<DistributionError> for Error {
    fn from(error: DistributionError) -> Self {
        Self::invalid(error.to_string())
    }
}
