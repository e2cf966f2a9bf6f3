//! Why a request is throttled, in the words of both services.
//!
//! DynamoDB has sixteen reasons: table or index, read or write, and one of four limits (API reference, `ThrottlingReason`;
//! developer guide, "Diagnosing throttling"). Cosmos DB has the status 429 and a substatus. What happened is told apart
//! more finely here than either service tells it.

use crate::budget::Capacity;
use std::fmt;

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// DynamoDB: what one partition serves.
    KeyRange,
    /// DynamoDB before adaptive capacity: the partition's even share of the table's throughput.
    EvenShare,
    /// DynamoDB: the table's provisioned throughput.
    Provisioned,
    /// DynamoDB on demand: twice the previous peak. The service reports it as a key range's limit (*assumed*: among its four
    /// kinds of reasons no other fits).
    OnDemandPeak,
    /// DynamoDB on demand: the maximum that was set.
    MaxOnDemand,
    /// DynamoDB: the account's quota for a table.
    Account,
    /// Cosmos DB: the partition's share of the container's throughput.
    PartitionShare,
    /// Cosmos DB: the same, for a request of low priority while those of high priority need the rest.
    LowPriority,
    /// Cosmos DB: the request's throughput bucket.
    Bucket,
}

impl Cause {
    /// All of them, in a fixed order: an index into counters.
    pub const ALL: [Self; 9] = [
        Self::KeyRange,
        Self::EvenShare,
        Self::Provisioned,
        Self::OnDemandPeak,
        Self::MaxOnDemand,
        Self::Account,
        Self::PartitionShare,
        Self::LowPriority,
        Self::Bucket,
    ];

    /// As the service names it: one of DynamoDB's sixteen reasons, or Cosmos DB's status and substatus.
    pub fn reason(self, of_index: bool, capacity: Capacity) -> String {
        let limit = match self {
            Self::KeyRange | Self::EvenShare | Self::OnDemandPeak => "KeyRangeThroughputExceeded",
            Self::Provisioned => "ProvisionedThroughputExceeded",
            Self::MaxOnDemand => "MaxOnDemandThroughputExceeded",
            Self::Account => "AccountLimitExceeded",
            // "Diagnose and troubleshoot request rate too large": 3200; "Throughput buckets": 3212.
            Self::PartitionShare | Self::LowPriority => return "429/3200".into(),
            Self::Bucket => return "429/3212".into(),
        };
        let resource = if of_index { "Index" } else { "Table" };
        let capacity = match capacity {
            Capacity::Read => "Read",
            Capacity::Write => "Write",
        };
        format!("{resource}{capacity}{limit}")
    }

    /// The exception that DynamoDB answers with; the guide shows both names for key ranges, which is *read* here as:
    /// provisioned or on demand. `None` for Cosmos DB, which answers with a status.
    pub fn exception(self, on_demand: bool) -> Option<&'static str> {
        match self {
            Self::KeyRange | Self::EvenShare if !on_demand => Some("ProvisionedThroughputExceededException"),
            Self::Provisioned => Some("ProvisionedThroughputExceededException"),
            Self::KeyRange | Self::EvenShare | Self::OnDemandPeak | Self::MaxOnDemand => {
                Some("ThrottlingException")
            }
            Self::Account => Some("RequestLimitExceeded"),
            Self::PartitionShare | Self::LowPriority | Self::Bucket => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyRange => "the limit of one partition",
            Self::EvenShare => "the partition's even share of the table's throughput",
            Self::Provisioned => "the provisioned throughput",
            Self::OnDemandPeak => "twice the previous peak",
            Self::MaxOnDemand => "the maximum on-demand throughput",
            Self::Account => "the account's quota for a table",
            Self::PartitionShare => "the partition's share of the throughput",
            Self::LowPriority => "what requests of high priority leave over",
            Self::Bucket => "the throughput bucket",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// API reference, `ThrottlingReason`.
    #[test]
    fn dynamodb_has_sixteen_reasons() {
        let mut reasons = BTreeSet::new();
        for cause in Cause::ALL {
            for of_index in [false, true] {
                for capacity in [Capacity::Read, Capacity::Write] {
                    reasons.insert(cause.reason(of_index, capacity));
                }
            }
        }
        let of_dynamodb = reasons.iter().filter(|reason| !reason.starts_with("429/")).count();
        assert_eq!(of_dynamodb, 16, "{reasons:?}");
        assert!(reasons.contains("IndexWriteKeyRangeThroughputExceeded"));
        assert!(reasons.contains("TableReadMaxOnDemandThroughputExceeded"));
        assert_eq!(Cause::Bucket.reason(false, Capacity::Write), "429/3212");
    }

    #[test]
    fn the_exception_follows_the_mode() {
        assert_eq!(Cause::KeyRange.exception(false), Some("ProvisionedThroughputExceededException"));
        assert_eq!(Cause::KeyRange.exception(true), Some("ThrottlingException"));
        assert_eq!(Cause::PartitionShare.exception(false), None);
    }
}
