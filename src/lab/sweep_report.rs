//! What a sweep over the number of suffixes found: the one object behind its table, JSON and page.
//!
//! Rates are writes a second. A gain is a ratio of medians: 1 is no gain. Read costs are those of the layout with the
//! median highest rate.
//!
//! This file computes nothing.

use super::report::Windowing;
use serde::Serialize;

/// A whole sweep.
#[derive(Clone, Debug, Serialize)]
pub struct SweepReport {
    /// [`SCHEMA`](super::report::SCHEMA).
    pub schema: u32,
    /// Version of hotplate.
    pub version: String,
    /// The seed that reproduces it.
    pub seed: u64,
    /// The file that was loaded, by name.
    pub file: String,
    /// The profile's name.
    pub profile: String,
    /// What the table pays for, in words: `10,000 WCU`.
    pub throughput: String,
    /// What the table pays for, in writes a second.
    pub table_writes_per_s: f64,
    /// The name of a write unit: `WCU` or `RU`.
    pub unit: String,
    /// The name of a read unit: `RCU` or `RU`.
    pub read_unit: String,
    /// Physical partitions.
    pub partition_count: u32,
    /// What one partition can write, in units a second.
    pub partition_limit_per_s: f64,
    /// Bytes of each item, keys included.
    pub item_bytes: u64,
    /// Layouts that each point was measured under.
    pub layouts: u32,
    /// How windows were formed, if they were: capacity is that of the median one.
    pub windowing: Option<Windowing>,
    /// The sweep itself.
    pub sweep: SweepFigures,
    /// Things the reader must know before trusting a figure.
    pub warnings: Vec<String>,
    /// Which figures rest on documented, measured or assumed behaviour.
    pub basis: Vec<String>,
}

/// Every design at every value.
#[derive(Clone, Debug, Serialize)]
pub struct SweepFigures {
    /// The placeholder.
    pub name: String,
    /// Its values, ascending.
    pub values: Vec<u64>,
    /// How the knee is found, in words.
    pub rule: String,
    /// The designs, in the order given.
    pub designs: Vec<SweptFigures>,
}

/// One design at every value.
#[derive(Clone, Debug, Serialize)]
pub struct SweptFigures {
    /// The template, with the placeholder.
    pub template: String,
    /// Whether it has no placeholder: it was run once.
    pub baseline: bool,
    /// The logical key that is read back, as a filter.
    pub logical_key: String,
    /// The item that is read back, as a filter.
    pub item: String,
    /// A point for each value, ascending; one for a baseline.
    pub points: Vec<PointFigures>,
    /// The knee, where there is one.
    pub knee: Option<Knee>,
    /// What it all means.
    pub verdict: String,
}

/// One design at one value.
#[derive(Clone, Debug, Serialize)]
pub struct PointFigures {
    /// The value; `None` for a baseline.
    pub n: Option<u64>,
    /// The highest rate with at most 0.1 % of first attempts throttled, over the layouts.
    pub max_rate: RateRange,
    /// Its median ÷ that of the first value.
    pub gain: f64,
    /// What reading all items of the logical key costs.
    pub read_key: ReadFigures,
    /// What reading the one item costs.
    pub read_item: ReadFigures,
    /// How a calculated suffix spreads the rows; `None` for a random one and for a baseline.
    pub suffixes: Option<SuffixFigures>,
}

/// A rate over the layouts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RateRange {
    /// Of the layout in the middle.
    pub median: f64,
    /// In the 5 % worst layouts.
    pub p5: f64,
    /// In the 5 % best layouts.
    pub p95: f64,
}

/// What a read costs.
#[derive(Clone, Debug, Serialize)]
pub struct ReadFigures {
    /// `get`, `query`, `fan-out` or `scan`.
    pub plan: String,
    /// Requests, pages counted.
    pub requests: u64,
    /// Physical partitions that were asked.
    pub partitions: u32,
    /// Read units or request units.
    pub units: f64,
    /// Items that came back.
    pub items: u64,
}

/// How a calculated suffix spreads the rows of the file.
#[derive(Clone, Debug, Serialize)]
pub struct SuffixFigures {
    /// Suffixes that the range has.
    pub width: u64,
    /// Suffixes that any row gets.
    pub used: u64,
    /// The suffix that most rows get.
    pub top: u64,
    /// Their share.
    pub top_share: f64,
}

/// Where more suffixes stop paying.
#[derive(Clone, Debug, Serialize)]
pub struct Knee {
    /// The value.
    pub n: u64,
    /// The median highest rate there.
    pub max_rate: f64,
    /// Its share of the best median over the sweep.
    pub share_of_best: f64,
    /// The value with the best median.
    pub best_n: u64,
}
