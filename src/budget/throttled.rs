//! A refusal for lack of throughput: an outcome, not an error.
//!
//! It says which partition refused, which limit was reached and when to come back. "Not yet" is the only thing it
//! can mean; a request that can never succeed is an error of its own (`ErrorKind::TooLarge`).

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The number of a physical partition. Never used again after a split or merge, as in both services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PartitionId(pub u32);

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Which kind of capacity an operation draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Capacity {
    /// Reads. DynamoDB counts them apart from writes ("independently": developer guide, "Burst and adaptive
    /// capacity"); Cosmos DB has one budget for both.
    Read,
    /// Writes.
    Write,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// What one physical partition can serve, whatever the table pays for
    /// (DynamoDB: `KeyRangeThroughputExceeded`).
    KeyRange,
    /// What the whole table may use (DynamoDB: `ProvisionedThroughputExceeded`).
    Table,
    /// This partition's even share of the table's throughput (Cosmos DB: 429/3200).
    PartitionShare,
}

impl Limit {
    /// All of them, in a fixed order: an index into counters.
    pub const ALL: [Self; 3] = [Self::KeyRange, Self::Table, Self::PartitionShare];
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyRange => "the limit of one partition",
            Self::Table => "the table's throughput",
            Self::PartitionShare => "the partition's share of the throughput",
        })
    }
}

/// Not now: come back after `retry_after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Throttled {
    /// The physical partition that the request was routed to.
    pub partition: PartitionId,
    /// The limit that was reached.
    pub limit: Limit,
    /// The kind of capacity that ran out.
    pub capacity: Capacity,
    /// When a request would be admitted again if nobody else came first.
    pub retry_after: Duration,
}

impl fmt::Display for Throttled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capacity = match self.capacity {
            Capacity::Read => "read",
            Capacity::Write => "write",
        };
        write!(
            f,
            "throttled: {capacity} on partition {} reached {}; retry after {:.3} ms",
            self.partition,
            self.limit,
            self.retry_after.as_secs_f64() * 1e3
        )
    }
}

impl std::error::Error for Throttled {}
