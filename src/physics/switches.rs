//! Where sources conflict or time changed a service: named switches, each setting with its date or source.

use super::{CosmosBurst, HeatSplit};

/// How a DynamoDB partition gets at throughput that others do not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adaptive {
    /// At once, from one pool ("Burst and adaptive capacity"; instant since 2019, *recalled*). The default.
    #[default]
    Instant,
    /// Late: each partition has its even share until it has been throttled for a while, 5 to 30 minutes, and then draws on
    /// the pool (2017 to 2019, *recalled*).
    Delayed,
    /// Not at all: an even share for each partition, as before adaptive capacity (Elhemali and others, "Amazon DynamoDB",
    /// USENIX ATC 2022, section on the first years).
    None,
}

/// How many eventually consistent reads a DynamoDB partition serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventualReads {
    /// 3,000 read units a second, an eventual read of 4 KB taking half a unit ("Designing partition keys"). The default.
    #[default]
    Documented,
    /// Each of three replicas serves 3,000 reads a second and any will do, which is 4,500 units: what AWS measured (AWS
    /// Database Blog, "Scaling DynamoDB", part 2: 9,000 queries a second on one partition key).
    ThreeReplicas,
}

/// The switches of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Switches {
    /// DynamoDB: adaptive capacity.
    pub adaptive: Adaptive,
    /// DynamoDB: eventually consistent reads of one partition.
    pub eventual_reads: EventualReads,
    /// DynamoDB: splits for heat; `None` turns them off.
    pub heat_splits: Option<HeatSplit>,
    /// DynamoDB: the table has a local secondary index, which keeps an item collection on one partition ("Burst and
    /// adaptive capacity").
    pub local_index: bool,
    /// DynamoDB: reads and writes of a partition share one limit, 3,000 reads or 1,000 writes "or a linear combination of
    /// both" (AWS re:Post, still so in 2026), instead of one each ("Burst and adaptive capacity": "independently"; the
    /// default).
    pub combined_limit: bool,
    /// Cosmos DB: a partition that splits for size leaves each half with half of *its* throughput (a user's report,
    /// MicrosoftDocs/azure-docs#116672) instead of an even share for all ("Partitioning"; the default).
    pub size_split_divides_share: bool,
    /// Cosmos DB with autoscale: the whole container scales with its hottest partition, as before partitions scaled
    /// by themselves ("Provision autoscale throughput": accounts made after September 2024 have that; an older page says
    /// November 2023). Changes what is billed, not what is throttled.
    pub whole_autoscale: bool,
    /// Cosmos DB: burst capacity; `None`, the default, is how an account begins.
    pub burst: Option<CosmosBurst>,
    /// Cosmos DB: thousandths by which a partition serves more than its share before it refuses. Zero by default; 140 fits
    /// the one published measurement (Mijailović, "When more is less", 2020).
    pub leak_per_mille: u64,
}
