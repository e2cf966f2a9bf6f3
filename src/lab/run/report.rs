//! What a run came to, as data: what `--json` prints and what tables and pages are made from.
//!
//! Field names and meanings are a promise; [`SCHEMA`] counts their changes. Rates are over the time that the load itself
//! took. Units are DynamoDB's read or write units, or Cosmos DB's request units.

pub use crate::lab::{Verdict, VerdictName};
use serde::Serialize;

/// The version of this report's shape.
pub const SCHEMA: u32 = 1;

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of this crate.
    pub version: String,
    /// The scenario's name.
    pub scenario: String,
    /// What it shows.
    pub about: String,
    /// The seed.
    pub seed: u64,
    /// Seconds of virtual time that the run took.
    pub seconds: f64,
    /// Each load.
    pub loads: Vec<LoadReport>,
    /// Each table, followed by its indexes.
    pub tables: Vec<TableReport>,
    /// What the evidence says, the most pressing first; there is at least one.
    pub verdicts: Vec<Verdict>,
    /// Published figures beside ours.
    pub published: Vec<PublishedReport>,
    /// What had to hold.
    pub thresholds: Vec<ThresholdReport>,
    /// What the figures rest on: documented, measured by others, assumed.
    pub basis: Vec<String>,
}

impl RunReport {
    /// Whether all thresholds hold.
    pub fn passed(&self) -> bool {
        self.thresholds.iter().all(|threshold| threshold.passed)
    }
}

/// One load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Its retry policy.
    pub retry: String,
    /// Operations begun.
    pub operations: u64,
    /// Requests sent, first ones and retries: a fan-out sends many, and a member of a batch counts as one.
    pub attempts: u64,
    /// Operations that succeeded.
    pub served: u64,
    /// Attempts that were throttled.
    pub throttled: u64,
    /// Operations lost after the last try.
    pub gave_up: u64,
    /// Operations begun a second.
    pub offered_per_s: f64,
    /// Operations that succeeded a second, from the first intended start to the last completion.
    pub served_per_s: f64,
    /// Units consumed a second, indexes left out.
    pub units_per_s: f64,
    /// Throttled attempts ÷ attempts.
    pub throttled_share: f64,
    /// Operations lost ÷ operations.
    pub gave_up_share: f64,
    /// Median response time of successes from the intended start, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the same.
    pub p99_ms: f64,
    /// 99.9th percentile of the same.
    pub p999_ms: f64,
    /// Refusals by reason, most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// DynamoDB: read throttle events as CloudWatch counts them.
    pub read_throttle_events: u64,
    /// DynamoDB: write throttle events; a write that an index refuses counts there and here.
    pub write_throttle_events: u64,
    /// DynamoDB: requests of which every part was throttled.
    pub throttled_requests: u64,
    /// How uneven its keys were meant to be and were; `None` for rows of a file.
    pub skew: Option<SkewReport>,
    /// Its course in time.
    pub course: Course,
}

/// Refusals for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// As the service names it: `TableWriteKeyRangeThroughputExceeded`, `429/3200`.
    pub reason: String,
    /// The table or index that lacked room.
    pub resource: String,
    /// The limit in words: where a service uses one name for two limits, they differ here.
    pub limit: String,
    /// How many.
    pub count: u64,
}

/// Shares of the load of the most loaded keys: asked for, and as it came. `None`: not defined for the distribution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SkewReport {
    /// Of the hottest key, asked for.
    pub top_1_asked: Option<f64>,
    /// Of the hottest key, as it came.
    pub top_1: f64,
    /// Of the ten hottest, asked for.
    pub top_10_asked: Option<f64>,
    /// Of the ten hottest, as it came.
    pub top_10: f64,
    /// Of the hottest hundredth of the keys, asked for.
    pub top_percent_asked: Option<f64>,
    /// Of the hottest hundredth of the keys, as it came.
    pub top_percent: f64,
}

/// Figures over time, in bins of equal width; the first begins at zero.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Course {
    /// The width of a bin, in seconds.
    pub bin_seconds: u64,
    /// Operations begun a second.
    pub offered: Vec<f64>,
    /// Operations that succeeded a second, by the time of success.
    pub served: Vec<f64>,
    /// Attempts that were throttled a second.
    pub throttled: Vec<f64>,
    /// Units consumed a second.
    pub units: Vec<f64>,
}

/// A table or an index.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    /// Its name; an index is `table/index`.
    pub name: String,
    /// Whether it is an index.
    pub is_index: bool,
    /// Service and mode.
    pub profile: String,
    /// Throughput at the end, in words.
    pub throughput: String,
    /// Partitions at the start.
    pub partitions_at_start: u32,
    /// Partitions at the end.
    pub partitions_at_end: u32,
    /// Every partition that there was, in the order of ranges, parents before children.
    pub partitions: Vec<PartitionReport>,
    /// The ten keys that were asked for most, retries left out.
    pub top_keys: Vec<KeyReport>,
    /// Distinct keys that were asked for; `None` when there were too many to count.
    pub distinct_keys: Option<u64>,
    /// Largest ÷ mean rate of the units offered, over the partitions at the end.
    pub max_over_mean: f64,
    /// What happened to it, in order.
    pub history: Vec<HistoryReport>,
    /// Cosmos DB with autoscale: throughput billed for each hour begun, in RU/s.
    pub billed: Vec<f64>,
    /// The width of a bin of the partitions' courses, in seconds.
    pub bin_seconds: u64,
}

/// A physical partition.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionReport {
    /// Its number.
    pub id: u32,
    /// Where its range begins: 32 hexadecimal digits, followed by the place within a key where it was cut inside one.
    pub from: String,
    /// Where its range ends, exclusive; empty at the end of the ring.
    pub to: String,
    /// The share of the ring that it holds.
    pub width: f64,
    /// When it came into being, in seconds.
    pub from_s: f64,
    /// When it split or was merged; `None` when it is there at the end.
    pub until_s: Option<f64>,
    /// Units asked for, retries left out: the load as it was meant.
    pub offered_units: f64,
    /// Units consumed.
    pub consumed_units: f64,
    /// Requests that were throttled.
    pub throttles: u64,
    /// Its share of all units offered to this table.
    pub share: f64,
    /// What it serves at the most, and since when; in order, and there is at least one.
    pub serves: Vec<ServesReport>,
    /// Why it does not split although it is hot; empty otherwise.
    pub declined: String,
    /// Units asked for a second, retries included, over time.
    pub attempted: Vec<f64>,
    /// Units refused a second, over time.
    pub throttled: Vec<f64>,
}

/// What a partition serves from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ServesReport {
    /// Since when, in seconds.
    pub from_s: f64,
    /// Units a second, in its own mix of reads and writes, at which one of its limits is reached.
    pub units_per_s: f64,
}

/// A key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyReport {
    /// The key, its suffix included.
    pub key: String,
    /// Its share of all requests of this table, retries left out.
    pub share: f64,
    /// The partition that holds its first item at the end.
    pub partition: u32,
    /// Requests that were throttled.
    pub throttles: u64,
}

/// Something that happened to a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryReport {
    /// When, in seconds.
    pub at_s: f64,
    /// What, in a sentence.
    pub what: String,
}

/// A published figure beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct PublishedReport {
    /// The figure, as scenario files name it.
    pub figure: String,
    /// What was published.
    pub published: f64,
    /// The least and the most that count as reproduced.
    pub accepted: (f64, f64),
    /// What this run came to.
    pub ours: f64,
    /// Whether that is accepted.
    pub reproduced: bool,
    /// Where it was published.
    pub source: String,
}

/// Whether a threshold holds.
#[derive(Clone, Debug, Serialize)]
pub struct ThresholdReport {
    /// The figure, comparison and bound, as scenario files write them.
    pub threshold: String,
    /// The figure's value.
    pub value: f64,
    /// Whether it holds.
    pub passed: bool,
}
