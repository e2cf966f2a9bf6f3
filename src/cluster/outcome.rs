//! What an operation answers.

use super::Continuation;
use crate::budget::{PartitionId, Throttled};
use crate::charge::RequestCharge;
use crate::error::Error;
use crate::key::ItemKey;
use std::fmt;

/// A point read that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<D> {
    /// The item, if there is one.
    pub item: Option<D>,
    /// What it cost.
    pub charge: RequestCharge,
    /// The physical partition that served it.
    pub partition: PartitionId,
}

/// A write that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<D> {
    /// The item as it was before.
    pub before: Option<D>,
    /// What it cost.
    pub charge: RequestCharge,
    /// The physical partition that served it.
    pub partition: PartitionId,
}

/// One page of a query or scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<D> {
    /// The items, in the order asked for.
    pub items: Vec<(ItemKey, D)>,
    /// Where the next page begins; `None` when there is nothing more.
    pub continuation: Option<Continuation>,
    /// What the page cost.
    pub charge: RequestCharge,
    /// The physical partitions that served it, in the order they were asked.
    pub partitions: Vec<PartitionId>,
}

/// Why an operation was not carried out. Nothing was changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// No throughput now: come back when it says.
    Throttled(Throttled),
    /// The condition did not hold: look again, then decide.
    ConditionFailed {
        /// What looking cost.
        charge: RequestCharge,
    },
    /// A transaction holds the item: try again at once.
    Conflict {
        /// What finding out cost.
        charge: RequestCharge,
    },
    /// The logical partition may hold no more (Cosmos DB: 403, substatus 1014): delete something or use another key.
    LogicalPartitionFull {
        /// What finding out cost.
        charge: RequestCharge,
    },
    /// The call itself is wrong: correct it.
    Invalid(Error),
}

impl Refusal {
    /// What the refusal cost: a throttled or invalid request costs nothing.
    pub fn charge(&self) -> RequestCharge {
        match self {
            Self::ConditionFailed { charge }
            | Self::Conflict { charge }
            | Self::LogicalPartitionFull { charge } => *charge,
            Self::Throttled(_) | Self::Invalid(_) => RequestCharge::ZERO,
        }
    }

    /// The throttle, if that is what it was.
    pub fn throttled(&self) -> Option<&Throttled> {
        match self {
            Self::Throttled(throttled) => Some(throttled),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throttled(throttled) => throttled.fmt(f),
            Self::ConditionFailed { .. } => f.write_str("the condition does not hold"),
            Self::Conflict { .. } => f.write_str("a transaction on the same item is under way"),
            Self::LogicalPartitionFull { .. } => {
                f.write_str("the logical partition has reached its size limit")
            }
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Throttled> for Refusal {
    fn from(throttled: Throttled) -> Self {
        Self::Throttled(throttled)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}
