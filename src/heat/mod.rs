//! Heat: what gets hot. Answers "which key, which partition, when, and how unevenly" from what was attempted.
//!
//! ```text
//!   one request ─┬─► PartitionHeat   of its partition: this second's counters ─► Series (time × units)
//!                └─► TopKeys         of its table: by units, by throttles      ─► the hot keys
//!   all partitions' attempted units ─► Skew                                    ─► how uneven, in four numbers
//! ```
//!
//! Everything is over *attempted* units (consumed + throttled): consumed units are clipped at the partition's ceiling,
//! so a partition that is asked for ten times its limit would look like one that is merely full.
//!
//! Units are bare milli-units, because heat does not care which kind they are: a DynamoDB partition has separate read
//! and write limits, so it keeps one meter for each; a Cosmos DB partition keeps one. Nor does heat know any limit,
//! budget or split: it counts, and others conclude.
//!
//! Seconds, because that is what a limit is per; the services' metrics are per minute (a DynamoDB minute's sum ÷ 60
//! hides any peak within it; a Cosmos DB minute's `NormalizedRUConsumption` is one maximum), so a short spike that
//! throttles is invisible or unexplained there.

mod meter;
mod series;
mod skew;
mod space_saving;
mod top;

pub use meter::PartitionHeat;
pub use series::{Bin, DEFAULT_BINS, Series, Tally};
pub use skew::Skew;
pub use top::{DEFAULT_COUNTERS, DEFAULT_EXACT_KEYS, TopKey, TopKeys};
