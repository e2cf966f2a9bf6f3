//! Money-like quantities: read units, write units, request units and bytes.
//!
//! Every unit is an integer count of thousandths (milli-units), because a budget that is summed in floats depends on
//! the order of its additions, and a report must not. Half a read unit is `500`, a 5.5 RU write is `5_500`.
//!
//! This file does not know what an operation costs (`charge`) nor how much of it a partition may spend (`budget`).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Milli-units in one unit.
pub const MILLI: u64 = 1_000;

/// One kilobyte as both services count it: 1,024 bytes
/// (DynamoDB developer guide, "Service, account, and table quotas": "1 KB is 1,024 bytes").
pub const KB: u64 = 1_024;

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $suffix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// No units at all.
            pub const ZERO: Self = Self(0);

            /// A whole number of units; saturates far beyond any service limit.
            pub const fn from_units(units: u64) -> Self {
                Self(units.saturating_mul(MILLI))
            }

            /// A number of thousandths of a unit.
            pub const fn from_milli(milli: u64) -> Self {
                Self(milli)
            }

            /// The count of thousandths.
            pub const fn milli(self) -> u64 {
                self.0
            }

            /// The value as a float, for display and ratios only.
            pub fn as_f64(self) -> f64 {
                self.0 as f64 / MILLI as f64
            }

            /// The sum, or `None` on overflow.
            pub fn checked_add(self, other: Self) -> Option<Self> {
                self.0.checked_add(other.0).map(Self)
            }

            /// `factor` times as much, saturating.
            pub const fn times(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, |a, b| a + b)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_milli(f, self.0)?;
                f.write_str($suffix)
            }
        }
    };
}

unit!(
    /// DynamoDB read capacity: one unit is a strongly consistent read of up to 4 KB.
    ReadUnits,
    " RCU"
);
unit!(
    /// DynamoDB write capacity: one unit is a write of up to 1 KB.
    WriteUnits,
    " WCU"
);
unit!(
    /// Cosmos DB request units: one unit is a point read of a 1 KB item.
    RequestUnits,
    " RU"
);

/// Writes a milli-quantity without trailing zeros: `5500` as `5.5`.
fn write_milli(f: &mut fmt::Formatter<'_>, milli: u64) -> fmt::Result {
    let (whole, thousandths) = (milli / MILLI, milli % MILLI);
    if thousandths == 0 {
        write!(f, "{whole}")
    } else {
        let digits = format!("{thousandths:03}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// A size of `kb` × 1,024 bytes.
    pub const fn from_kb(kb: u64) -> Self {
        Self(kb.saturating_mul(KB))
    }

    /// How many blocks of `block` bytes the size needs: rounded up, at least one.
    ///
    /// Both services bill at least one block for an operation on something small or absent.
    pub const fn blocks(self, block: u64) -> u64 {
        let n = self.0.div_ceil(block);
        if n == 0 { 1 } else { n }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, |a, b| a + b)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= KB * KB && n % (KB * KB) == 0 => write!(f, "{} MB", n / (KB * KB)),
            n if n >= KB && n % KB == 0 => write!(f, "{} KB", n / KB),
            n => write!(f, "{n} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_without_trailing_zeros() {
        assert_eq!(ReadUnits::from_milli(500).to_string(), "0.5 RCU");
        assert_eq!(RequestUnits::from_milli(5_500).to_string(), "5.5 RU");
        assert_eq!(WriteUnits::from_units(3).to_string(), "3 WCU");
        assert_eq!(Bytes(400 * KB).to_string(), "400 KB");
        assert_eq!(Bytes(1_500).to_string(), "1500 B");
    }

    #[test]
    fn blocks_round_up_and_never_reach_zero() {
        assert_eq!(Bytes(0).blocks(KB), 1);
        assert_eq!(Bytes(KB).blocks(KB), 1);
        assert_eq!(Bytes(KB + 1).blocks(KB), 2);
    }
}
