//! A described workload: tables, loads, events and thresholds, as plain checked data.
//!
//! ```text
//!   Scenario
//!   ├─ TableSpec   profile, switches, history, indexes
//!   ├─ LoadSpec    operations × keys × clients × retry policy, on one table
//!   ├─ Event       at a time, to a table
//!   └─ Threshold   a figure and a bound
//! ```
//!
//! This is what a run is made of, whoever wrote it: a scenario file, a test, a harness. It knows no file format.

use crate::charge::Consistency;
use crate::client::RetryPolicy;
use crate::lab::{Distribution, KeyedRows, Phase, RateShape, Spacing};
use crate::physics::{AutoScaling, HeatSplit, Switches};
use crate::profile::{Profile, Service, Throughput};
use crate::rng::Seed;
pub use crate::sim::OnDemand;
use crate::sim::Setup;
use crate::units::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A workload and what it meets.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub about: String,
    /// Published figures that it reproduces, beside which a report puts its own.
    pub published: Vec<Published>,
    /// Every random choice follows from it.
    pub seed: Seed,
    /// The tables; there is at least one.
    pub tables: Vec<TableSpec>,
    /// The loads; there is at least one.
    pub loads: Vec<LoadSpec>,
    /// What happens to tables, in any order.
    pub events: Vec<Event>,
    /// What must hold at the end.
    pub thresholds: Vec<Threshold>,
    /// When the run ends at the latest; without it, when all loads are done.
    pub ends: Option<Duration>,
}

impl Scenario {
    /// An empty scenario: give it tables and loads.
    pub fn new(name: impl Into<String>, seed: Seed) -> Self {
        Self {
            name: name.into(),
            about: String::new(),
            published: Vec::new(),
            seed,
            tables: Vec::new(),
            loads: Vec::new(),
            events: Vec::new(),
            thresholds: Vec::new(),
            ends: None,
        }
    }

    /// With one more table.
    #[must_use]
    pub fn table(mut self, table: TableSpec) -> Self {
        self.tables.push(table);
        self
    }

    /// With one more load.
    #[must_use]
    pub fn load(mut self, load: LoadSpec) -> Self {
        self.loads.push(load);
        self
    }

    /// With one more event, `at` so long after the start, to the table at this place.
    #[must_use]
    pub fn event(mut self, at: Duration, table: usize, change: Change) -> Self {
        self.events.push(Event { at, table, change });
        self
    }

    /// Ending after so long at the latest.
    #[must_use]
    pub fn ends(self, ends: Duration) -> Self {
        Self { ends: Some(ends), ..self }
    }
}

/// A figure that somebody published.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Ours, to set beside it.
    pub figure: Figure,
    /// Theirs.
    pub value: f64,
    /// The least and the most that count as reproduced.
    pub accepted: (f64, f64),
    /// Where it was published.
    pub source: String,
}

/// A table, and what became of it before the run.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// Service, throughput, partitions at the start, layout.
    pub profile: Profile,
    /// Settings where sources conflict or the service changed.
    pub switches: Switches,
    /// DynamoDB in on-demand mode.
    pub on_demand: Option<OnDemand>,
    /// DynamoDB in provisioned mode: throughput that follows the load.
    pub auto_scaling: Option<AutoScaling>,
    /// Cosmos DB: cuts the partitions at the start in these widths instead of evenly, as after a partial split. Parts of a
    /// whole, one for each partition.
    pub widths: Vec<f64>,
    /// Cosmos DB: how long a split takes that more throughput asks for; drawn from this span.
    pub split_takes: (Duration, Duration),
    /// DynamoDB: global secondary indexes.
    pub indexes: Vec<IndexSpec>,
    /// Bytes stored at the start, spread as the partitions are.
    pub stored: Bytes,
}

impl TableSpec {
    /// A table as a service makes it today, with splits for heat on DynamoDB; its burst credit is as the profile says.
    pub fn new(name: impl Into<String>, profile: Profile) -> Self {
        let heat_splits = (profile.service() == Service::DynamoDb).then(HeatSplit::default);
        let on_demand = (profile.name() == Profile::dynamodb_on_demand().name()).then(OnDemand::default);
        Self {
            name: name.into(),
            profile,
            switches: Switches { heat_splits, ..Switches::default() },
            on_demand,
            auto_scaling: None,
            widths: Vec::new(),
            split_takes: Setup::SPLIT_TAKES,
            indexes: Vec::new(),
            stored: Bytes::ZERO,
        }
    }
}

/// A global secondary index.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// Its name.
    pub name: String,
    /// Throughput and partitions, as of a table.
    pub profile: Profile,
    /// On-demand settings where its table is on demand.
    pub on_demand: Option<OnDemand>,
    /// Which entry a write makes.
    pub keys: KeySpec,
    /// The size of an entry.
    pub entry: Bytes,
}

/// Which keys operations are about.
#[derive(Clone, Debug)]
pub enum KeySpec {
    /// Drawn from a distribution.
    Drawn(DrawnKeys),
    /// The rows of a file under a key design, in order; after the last comes the first. With them the share of rows that
    /// have no entry is zero.
    Rows(Arc<KeyedRows>),
}

/// Keys `<name>-0`, `<name>-1`, … by a distribution.
#[derive(Clone, Debug)]
pub struct DrawnKeys {
    /// What the keys are called.
    pub name: String,
    /// How many there are.
    pub count: u64,
    /// How often each comes.
    pub distribution: Distribution,
    /// Names of the keys where each has one of its own; shorter than `count`, the others are numbered.
    pub names: Vec<String>,
    /// Which item of a key.
    pub items: Items,
    /// So many operations in a row are about one key, as in a sorted file; 1 for none.
    pub run: u64,
    /// A suffix that divides each key.
    pub suffix: Option<Suffix>,
}

impl DrawnKeys {
    /// So many keys by a distribution, each with a million items.
    pub fn new(name: impl Into<String>, count: u64, distribution: Distribution) -> Self {
        Self {
            name: name.into(),
            count,
            distribution,
            names: Vec::new(),
            items: Items::Random(1_000_000),
            run: 1,
            suffix: None,
        }
    }

    /// With items found in another way.
    #[must_use]
    pub fn items(self, items: Items) -> Self {
        Self { items, ..self }
    }

    /// With a suffix.
    #[must_use]
    pub fn suffix(self, rule: SuffixRule, count: u32) -> Self {
        Self { suffix: Some(Suffix { rule, count }), ..self }
    }
}

/// Which item of a logical key an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// Each key is one item.
    One,
    /// A sort key that only grows, like a time: each write is a new item after all others.
    Increasing,
    /// One of so many items, all alike.
    Random(u64),
}

/// A suffix from 1 to `count`: logical keys become so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suffix {
    /// How it is found.
    pub rule: SuffixRule,
    /// How many there are.
    pub count: u32,
}

/// How the suffix of an item is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuffixRule {
    /// At random for each write: reading one item back asks for all suffixes.
    Random,
    /// By a good hash of the item: reading one item back is one request.
    Hash,
    /// The documented formula, product of the code points modulo the count plus 1, of ten-digit item ids.
    Product,
}

/// One stream of operations on a table.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    /// Its name.
    pub name: String,
    /// The table, by its place in the scenario.
    pub table: usize,
    /// What it does, each with its weight; there is at least one.
    pub mix: Vec<(u32, Operation)>,
    /// Whose keys.
    pub keys: KeySpec,
    /// The size of an item, its keys included.
    pub item: Bytes,
    /// Who sends it, and when.
    pub clients: Clients,
    /// What they do about throttles.
    pub retry: RetryPolicy,
    /// When it begins.
    pub begins: Duration,
    /// How long the service takes to answer a read and a write.
    pub service_time: [Duration; 2],
    /// Cosmos DB: whether its requests are of low priority.
    pub low_priority: bool,
    /// Cosmos DB: the throughput bucket of its requests: at most this share of each partition's throughput, in hundredths.
    pub bucket_percent: Option<u32>,
}

impl LoadSpec {
    /// Creations of 1 KB items on the first table, without retries. Answers take 3 ms for a read and 5 ms for a write
    /// (*assumed*).
    pub fn new(name: impl Into<String>, keys: DrawnKeys, clients: Clients) -> Self {
        Self {
            name: name.into(),
            table: 0,
            mix: vec![(1, Operation::Create)],
            keys: KeySpec::Drawn(keys),
            item: Bytes::from_kb(1),
            clients,
            retry: RetryPolicy::None,
            begins: Duration::ZERO,
            service_time: Self::SERVICE_TIME,
            low_priority: false,
            bucket_percent: None,
        }
    }

    /// What an answer takes, of reads and of writes (*assumed*).
    pub const SERVICE_TIME: [Duration; 2] = [Duration::from_millis(3), Duration::from_millis(5)];

    /// With one operation.
    #[must_use]
    pub fn operation(self, operation: Operation) -> Self {
        Self { mix: vec![(1, operation)], ..self }
    }

    /// With a retry policy.
    #[must_use]
    pub fn retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// Beginning so long after the start.
    #[must_use]
    pub fn begins(self, begins: Duration) -> Self {
        Self { begins, ..self }
    }
}

impl Clients {
    /// A constant rate, evenly spaced.
    pub fn constant(rate: u64, lasts: Duration) -> Self {
        Self::Open(vec![Phase { shape: RateShape::Constant(rate), lasts, spacing: Spacing::Even }])
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes an item that was not there.
    Create,
    /// Overwrites an item with one of the same size.
    Update,
    /// Deletes an item.
    Delete,
    /// Reads one item. Under a random suffix: asks for it under every suffix.
    Get(Consistency),
    /// A page of so many items of one key; under a suffix, of one suffix.
    Query {
        /// Items on the page.
        items: u32,
        /// How fresh.
        consistency: Consistency,
    },
    /// The first page of so many items under every suffix of a key, in parallel, merged.
    ReadAll {
        /// Items on each page.
        items: u32,
        /// How fresh.
        consistency: Consistency,
    },
    /// So many creations in one request, each admitted by itself (DynamoDB: BatchWriteItem, at most 25).
    BatchWrite(u32),
    /// So many reads in one request, each admitted by itself (DynamoDB: BatchGetItem, at most 100).
    BatchGet(u32, Consistency),
    /// So many creations in one request, all or none, at twice the units (DynamoDB: TransactWriteItems, at most 100).
    TransactWrite(u32),
    /// So many reads in one request, all or none, at twice the units (DynamoDB: TransactGetItems, at most 100).
    TransactGet(u32),
}

/// Who sends operations, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Clients {
    /// Operations begin at their times, whatever became of earlier ones.
    Open(Vec<Phase>),
    /// So many workers, each beginning an operation when its last one is over.
    Closed {
        /// Workers.
        workers: u32,
        /// Operations in all, where that ends it.
        operations: Option<u64>,
        /// Time after which none begins, where that ends it.
        lasts: Option<Duration>,
        /// What a worker waits between two operations.
        think: Duration,
    },
    /// The vendor's loader: so many loops that each send batches one after the other; what comes back unprocessed goes in
    /// with the next batch.
    Loader {
        /// Loops.
        loops: u32,
        /// Items in a batch.
        batch: u32,
        /// Items in all.
        items: u64,
    },
}

/// Something that happens to a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Duration,
    /// The table, by its place in the scenario.
    pub table: usize,
    /// What.
    pub change: Change,
}

/// What can happen to a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Other throughput: provisioned, manual or the autoscale maximum.
    Throughput(Throughput),
    /// DynamoDB: to on-demand mode.
    OnDemand,
    /// DynamoDB: to provisioned mode with this throughput.
    Provisioned(Throughput),
    /// DynamoDB: warm throughput, reads and writes.
    Warm([u64; 2]),
    /// The partition that had most load so far splits in its middle.
    SplitHottest,
    /// DynamoDB: the partition that holds this key splits in the middle of its items, as when its own traffic split it
    /// earlier.
    SplitKey(String),
    /// Every partition splits in its middle.
    SplitAll,
    /// Cosmos DB: neighbours are merged while their throughput fits one partition, at once.
    Merge,
    /// Cosmos DB: the hottest partition gets this much, taken evenly from the others ("Redistribute throughput").
    Redistribute(u64),
}

/// What must hold at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The figure.
    pub figure: Figure,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub bound: f64,
}

/// How a figure is compared with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

/// A figure of a run, in one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Which.
    pub name: FigureName,
    /// Of which load, by name; of all when there is none.
    pub load: Option<String>,
    /// Over which part of the run; all of it when there is none.
    pub during: Option<(Duration, Duration)>,
}

impl Figure {
    /// A figure of all loads over the whole run.
    pub fn new(name: FigureName) -> Self {
        Self { name, load: None, during: None }
    }

    /// Of one load.
    #[must_use]
    pub fn of(self, load: impl Into<String>) -> Self {
        Self { load: Some(load.into()), ..self }
    }

    /// Over the seconds from one time to another.
    #[must_use]
    pub fn during(self, from: Duration, to: Duration) -> Self {
        Self { during: Some((from, to)), ..self }
    }
}

/// Figures that a run answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureName {
    /// Operations a second that succeeded.
    ServedPerS,
    /// Units a second that were consumed, by loads, indexes left out.
    UnitsPerS,
    /// Throttled attempts ÷ attempts.
    ThrottledShare,
    /// Operations lost after the last try ÷ operations.
    GaveUpShare,
    /// Attempts ÷ operations.
    AttemptsPerOperation,
    /// Median response time of successes, from the intended start, in milliseconds. Of the whole run.
    P50Ms,
    /// 99th percentile of the same.
    P99Ms,
    /// 99.9th percentile of the same.
    P999Ms,
    /// Seconds from the first intended start to the last completion.
    Seconds,
    /// The hottest partition's share of the units offered, retries left out; the highest of all tables. Of the whole run.
    HottestPartitionShare,
    /// The hottest key's share of the requests, retries left out. Of the whole run.
    HottestKeyShare,
    /// Partitions at the end, of the first table.
    Partitions,
    /// Splits that happened, of all tables.
    Splits,
}

impl FigureName {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::ServedPerS,
        Self::UnitsPerS,
        Self::ThrottledShare,
        Self::GaveUpShare,
        Self::AttemptsPerOperation,
        Self::P50Ms,
        Self::P99Ms,
        Self::P999Ms,
        Self::Seconds,
        Self::HottestPartitionShare,
        Self::HottestKeyShare,
        Self::Partitions,
        Self::Splits,
    ];

    /// As it is written in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ServedPerS => "served_per_s",
            Self::UnitsPerS => "units_per_s",
            Self::ThrottledShare => "throttled_share",
            Self::GaveUpShare => "gave_up_share",
            Self::AttemptsPerOperation => "attempts_per_operation",
            Self::P50Ms => "p50_ms",
            Self::P99Ms => "p99_ms",
            Self::P999Ms => "p999_ms",
            Self::Seconds => "seconds",
            Self::HottestPartitionShare => "hottest_partition_share",
            Self::HottestKeyShare => "hottest_key_share",
            Self::Partitions => "partitions",
            Self::Splits => "splits",
        }
    }
}
