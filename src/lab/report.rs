//! What a comparison found: the one object behind the table, the JSON and the page.
//!
//! Shares are fractions of one. Rates are writes a second, times are milliseconds unless the name says otherwise.
//! Figures of a design are those of the layout with the median of writes served, so that they belong together.
//!
//! This file computes nothing.

use serde::Serialize;

/// Version of the JSON's shape. It grows when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// A whole comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
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
    /// The name of a unit: `WCU` or `RU`.
    pub unit: String,
    /// Physical partitions at the beginning.
    pub partition_count: u32,
    /// What one partition can write, in units a second.
    pub partition_limit_per_s: f64,
    /// Units that one write of this size costs.
    pub units_per_write: f64,
    /// Bytes of each item, keys included.
    pub item_bytes: u64,
    /// How load was offered.
    pub load: Load,
    /// Layouts that each design was measured under.
    pub layouts: u32,
    /// How windows were formed, if they were.
    pub windowing: Option<Windowing>,
    /// The designs, in the order given.
    pub designs: Vec<Design>,
    /// Each pair of designs over the layouts.
    pub pairs: Vec<Pair>,
    /// Things the reader must know before trusting a figure.
    pub warnings: Vec<String>,
    /// Which figures rest on documented, measured or assumed behaviour.
    pub basis: Vec<String>,
}

/// How load was offered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Load {
    /// Each write begins when it is due, whatever became of the ones before.
    Open {
        /// Writes a second.
        rate_per_s: u64,
    },
    /// So many workers, each beginning a write when its last one is answered.
    Closed {
        /// Workers.
        workers: u32,
    },
}

/// How rows were grouped into windows.
#[derive(Clone, Debug, Serialize)]
pub struct Windowing {
    /// The column, and the period if it was divided by time.
    pub by: String,
    /// Windows in the file.
    pub count: usize,
    /// Windows that were replayed under each layout (the median and the worst); all were ranked by their key shares.
    pub replayed: usize,
}

/// One key design.
#[derive(Clone, Debug, Serialize)]
pub struct Design {
    /// The template.
    pub key: String,
    /// Writes offered each second.
    pub offered_per_s: f64,
    /// Rows of the file that were written.
    pub writes: u64,
    /// Distinct partition-key values.
    pub distinct_keys: u64,
    /// Successes ÷ time from the first intended start to the last completion.
    pub served_per_s: f64,
    /// The same in the 5 % worst layouts, ...
    pub served_p5: f64,
    /// ... and in the 5 % best.
    pub served_p95: f64,
    /// Throttled attempts ÷ attempts.
    pub throttled_share: f64,
    /// Writes lost ÷ writes.
    pub gave_up_share: f64,
    /// From the first intended start to the last completion, in seconds; with windows, the time that the served rates
    /// need for every row, window after window.
    pub seconds: f64,
    /// Response time of successes, from the intended start.
    pub p50_ms: f64,
    /// Response time of successes, from the intended start.
    pub p99_ms: f64,
    /// Response time of successes, from the intended start.
    pub p999_ms: f64,
    /// The partition that was offered most.
    pub hottest_partition: u32,
    /// Its share of the offered units.
    pub hottest_partition_share: f64,
    /// The key that was offered most.
    pub hottest_key: String,
    /// Its share of the offered units.
    pub hottest_key_share: f64,
    /// The share of the hottest key that no split can divide.
    pub hottest_unsplittable_share: f64,
    /// Offered units of the hottest partition ÷ the mean.
    pub max_over_mean: f64,
    /// Gini coefficient of the offered units over partitions.
    pub gini: f64,
    /// 1 ÷ Σ share²: partitions that would carry the same load evenly.
    pub effective_partitions: f64,
    /// Every partition in ring order.
    pub partitions: Vec<PartitionLoad>,
    /// The keys that were offered most.
    pub top_keys: Vec<KeyLoad>,
    /// In how many layouts the keys fell on how many partitions, for designs with fewer keys than partitions.
    pub spread: Vec<Spread>,
    /// The windows, when there are any.
    pub windows: Option<Windows>,
    /// The highest rate with at most 0.1 % of first attempts throttled.
    pub max_rate_per_s: Option<f64>,
    /// The same in the 5 % worst layouts, ...
    pub max_rate_p5: Option<f64>,
    /// ... and in the 5 % best.
    pub max_rate_p95: Option<f64>,
    /// min(table, partition limit ÷ share of the hottest unsplittable key): what splits can lead to at best, whatever they
    /// are made for; on Cosmos DB with every partition at the most it can serve. With indexes, the least of all.
    pub ceiling_per_s: f64,
    /// What the design can hold now, and once the service has split for heat.
    pub ceiling: Ceiling,
    /// Rows that had no key under this design.
    pub skipped_rows: u64,
    /// Why, for the first few of them.
    pub skipped_examples: Vec<String>,
    /// What the reads that were asked for cost under this design.
    pub reads: Vec<ReadCost>,
    /// The secondary indexes, in the order given.
    pub indexes: Vec<IndexFigures>,
    /// Whose limit comes first as the rate grows: `table`, or the name of an index.
    pub hottest_resource: HottestResource,
    /// Those reads under the load, if that was asked for.
    pub mix: Option<MixFigures>,
    /// The heat map: offered and throttled units by time or window, and partition.
    pub heat: HeatMap,
    /// What it all means.
    pub verdict: String,
}

/// What one partition was offered.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionLoad {
    /// Its number.
    pub id: u32,
    /// Where its range begins, in hex; empty at the start of the ring.
    pub from: String,
    /// Where its range ends, exclusive; `FF` at the end of the ring.
    pub to: String,
    /// Units offered, refused ones included.
    pub attempted: f64,
    /// Units served.
    pub served: f64,
    /// Units refused.
    pub throttled: f64,
}

/// What one key was offered.
#[derive(Clone, Debug, Serialize)]
pub struct KeyLoad {
    /// The key's value.
    pub key: String,
    /// Its share of the offered units.
    pub share: f64,
    /// The partition that holds it.
    pub partition: u32,
    /// Attempts on it that were throttled.
    pub throttled: u64,
}

/// What a design can hold at best, in writes a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// As it is laid out now: min(table, partition limit ÷ share of the hottest partition).
    pub cold: f64,
    /// After every split for heat that can help; on Cosmos DB, which makes none, the same.
    pub settled: f64,
    /// Minutes of steady load until then: a seeded 8 to 12 for each round.
    pub settle_minutes: f64,
    /// Rounds of splits, each halving what the hottest partition has.
    pub split_rounds: u32,
}

/// Whose limit comes first as the rate grows.
#[derive(Clone, Debug, Serialize)]
pub struct HottestResource {
    /// `table` or `index`.
    pub kind: String,
    /// The index's name; empty for the table.
    pub name: String,
    /// The rate that it lets through in the long run.
    pub holds_per_s: f64,
}

/// A secondary index under a design's load. Shares are of the entries that were offered.
#[derive(Clone, Debug, Serialize)]
pub struct IndexFigures {
    /// Its name.
    pub name: String,
    /// The template of its key.
    pub key: String,
    /// Its physical partitions.
    pub partition_count: u32,
    /// What one of them can write, in units a second.
    pub partition_limit_per_s: f64,
    /// What the index pays for, in units a second.
    pub throughput_per_s: f64,
    /// Units that one entry costs.
    pub units_per_entry: f64,
    /// Bytes of each entry, keys included.
    pub entry_bytes: u64,
    /// Writes with an entry ÷ writes.
    pub entries_share: f64,
    /// Distinct keys.
    pub distinct_keys: u64,
    /// The partition that was offered most.
    pub hottest_partition: u32,
    /// Its share.
    pub hottest_partition_share: f64,
    /// The key that was offered most.
    pub hottest_key: String,
    /// Its share.
    pub hottest_key_share: f64,
    /// The partition that holds it.
    pub hottest_key_partition: u32,
    /// The rate of all writes that the index lets through in the long run; `None` when it limits nothing.
    pub holds_per_s: Option<f64>,
    /// The same after every split that can help.
    pub ceiling_per_s: Option<f64>,
    /// Writes that this index refused, by reason. The table is asked first, then the indexes in order.
    pub throttles: Vec<Throttles>,
}

/// Attempts that were refused for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct Throttles {
    /// The service's name of the reason.
    pub reason: String,
    /// How many.
    pub attempts: u64,
}

/// What one read costs under a design, counted on the loaded data.
#[derive(Clone, Debug, Serialize)]
pub struct ReadCost {
    /// What was asked for.
    pub filter: String,
    /// `get`, `query`, `fan-out` or `scan`.
    pub plan: String,
    /// Why it takes more than one query, if it does.
    pub why: String,
    /// Requests, pages counted.
    pub requests: u64,
    /// Physical partitions that were asked.
    pub partitions: u32,
    /// Read units or request units.
    pub units: f64,
    /// Items that came back.
    pub items: u64,
}

/// Reads in turn beside the writes, nothing tried again, held for a minute at least.
#[derive(Clone, Debug, Serialize)]
pub struct MixFigures {
    /// Writes offered each second.
    pub writes_per_s: f64,
    /// Reads offered each second.
    pub reads_per_s: f64,
    /// Writes throttled ÷ writes.
    pub writes_throttled_share: f64,
    /// Reads of which any request was throttled ÷ reads.
    pub reads_throttled_share: f64,
    /// Requests of reads throttled ÷ requests of reads.
    pub requests_throttled_share: f64,
    /// Read units or request units that the reads ask for each second, ...
    pub read_units_per_s: f64,
    /// ... and what the table pays for.
    pub table_units_per_s: f64,
    /// The partition that reads asked most of.
    pub hottest_partition: u32,
    /// Its share of the units that reads asked for.
    pub hottest_partition_share: f64,
}

/// How often a design's few keys shared partitions.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Partitions that held any of the keys, ...
    pub partitions: u32,
    /// ... in this many layouts, ...
    pub layouts: u32,
    /// ... where the least served in one of them was this many a second ...
    pub served_min: f64,
    /// ... and the most this.
    pub served_max: f64,
}

/// What the windows showed, in writes served a second.
#[derive(Clone, Debug, Serialize)]
pub struct Windows {
    /// In the median window, whose figures are the design's.
    pub median: f64,
    /// Which window that was.
    pub median_name: String,
    /// In the worst window.
    pub worst: f64,
    /// Which window that was.
    pub worst_name: String,
    /// Its hottest key.
    pub worst_key: String,
    /// That key's share of the window.
    pub worst_key_share: f64,
    /// Highest rate of the worst window, when asked for.
    pub worst_max_rate_per_s: Option<f64>,
}

/// Units by column of time and row of partition.
#[derive(Clone, Debug, Serialize)]
pub struct HeatMap {
    /// What a column is: `1 s`, or the window column.
    pub unit: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// `attempted[column][partition]`, in units a second; partitions in ring order, as in [`Design::partitions`].
    pub attempted: Vec<Vec<f64>>,
    /// `throttled[column][partition]`, in units a second; partitions in ring order.
    pub throttled: Vec<Vec<f64>>,
}

/// Two designs, compared layout by layout.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The first design.
    pub a: String,
    /// The second design.
    pub b: String,
    /// Share of layouts in which the first did better by more than 1 %.
    pub a_wins_share: f64,
    /// Share of layouts in which the second did.
    pub b_wins_share: f64,
    /// What that means: under 95 % is a tie.
    pub verdict: String,
}
