//! A comparison: several key designs, many layouts, one report.
//!
//! ```text
//!   for each design × layout (in parallel)     measure: served, highest rate, windows
//!   for each design                            choose the layout with the median result, look closely at it
//!   for each pair of designs                   count the layouts in which one beats the other
//! ```
//!
//! A hash that is not public makes one layout a matter of luck: few keys collide or do not. So a DynamoDB design is
//! measured under many seeded layouts, and every design under the same ones. Cosmos DB's placement is exact: one.

use super::ceiling::ceiling;
use super::gate::IndexAttempts;
use super::index_load::{INDEXES_MAX, Index, IndexLoad, IndexMix};
use super::limits::UnitLimits;
use super::mixed::{MixOutcome, ReadRequest, replay_mixed};
use super::reads::LoadedTable;
use super::report::{
    Design, HeatMap, HottestResource, IndexFigures, KeyLoad, Load, MixFigures, Pair, PartitionLoad, ReadCost,
    Report, SCHEMA, Spread, Windowing, Windows as WindowFigures,
};
use super::verdict::{self, Facts};
use super::{
    Attempts, KeyedRows, Mix, Outcome, READS_MAX, ReadSpec, Retries, SortRule, WriteLimits, hold, max_rate,
    replay_closed, replay_open, replay_retrying,
};
use crate::client::KeyDesign;
use crate::error::{Error, Result};
use crate::heat::{Series, Skew, Tally};
use crate::key::{Placement, Template};
use crate::profile::{Metering, PARTITIONS_MAX, Profile, Service};
use crate::ring::{PartitionMap, RingPoint};
use crate::rng::Seed;
use crate::units::{Bytes, MILLI};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Layouts at the most: 5–95 % ranges gain nothing from more.
const LAYOUTS_MAX: u32 = 1_000;

/// Windows whose heat is drawn at the most; more are sampled evenly.
const HEAT_WINDOWS_MAX: usize = 400;

/// A window with fewer rows than this fraction of the mean is left out: three rows are no mix of keys.
const WINDOW_ROWS_MIN: f64 = 0.1;

/// Windows with fewer rows than this on average say little: a bound of ours.
const WINDOW_ROWS_FEW: f64 = 20.0;

/// Top keys listed.
const TOP_KEYS: usize = 10;

/// Rates that differ by less are not told apart: the search for the highest rate is no finer.
const PAIR_MARGIN: f64 = 0.01;

/// A design beats another when it does in this share of the layouts; less is a tie.
const PAIR_WINS: f64 = 0.95;

/// How load is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadShape {
    /// So many writes a second, each begun when it is due.
    Open {
        /// Writes a second.
        rate: u64,
        /// How often a refused write comes back.
        retries: Retries,
    },
    /// So many workers, each begins a write when its last is answered.
    Closed {
        /// Workers.
        workers: u32,
        /// How often a refused write comes back.
        retries: Retries,
    },
}

/// The windows that rows were grouped into.
#[derive(Clone, Debug)]
pub struct Windows {
    /// What they were grouped by, for people.
    pub by: String,
    /// Their names, by number.
    pub names: Vec<String>,
}

/// Everything about a comparison but the rows.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The file's name.
    pub file: String,
    /// The table.
    pub profile: Profile,
    /// What the table pays for, in words.
    pub throughput: String,
    /// Size of each item, keys included.
    pub item: Bytes,
    /// How load is offered.
    pub load: LoadShape,
    /// Whether all burst credit is there at the start of a replay of the whole file. Windows and searches look at the steady
    /// state, in which none is.
    pub burst_full: bool,
    /// How long an answer takes.
    pub service_time: Duration,
    /// The windows, if rows were grouped.
    pub windows: Option<Windows>,
    /// What orders the items of a key.
    pub sort: SortRule,
    /// Name of the sort column.
    pub sort_name: String,
    /// How many layouts.
    pub layouts: u32,
    /// Secondary indexes that every write writes to as well.
    pub indexes: Vec<Index>,
    /// Reads to be costed.
    pub reads: Vec<ReadSpec>,
    /// Whether to run them under the load too, and how many of them.
    pub mix: Option<Mix>,
    /// Whether to search for the highest rate.
    pub find_max: bool,
    /// The seed of all layouts.
    pub seed: Seed,
    /// What the loader has to say.
    pub warnings: Vec<String>,
}

/// Told how many of how many steps are done; called from several threads.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// An experiment with its designs.
#[derive(Debug)]
pub struct Comparison {
    experiment: Experiment,
    designs: Vec<(Template, KeyedRows)>,
    limits: WriteLimits,
    indexes: Vec<IndexLoad>,
}

/// Where the keys of a design and of the indexes lie under one layout.
struct Placed {
    keys: Vec<u16>,
    indexes: Vec<Vec<u16>>,
}

/// Which writes of a design: all of them, or those of one window.
#[derive(Clone, Copy, Debug)]
enum Which {
    All,
    Window(usize),
}

/// What one design came to under one layout.
#[derive(Clone, Debug)]
struct Measured {
    served: f64,
    max_rate: Option<f64>,
    /// Partitions that hold any key.
    occupied: u32,
    windows: Option<MeasuredWindows>,
}

#[derive(Clone, Debug)]
struct MeasuredWindows {
    median: usize,
    worst: usize,
    worst_served: f64,
    worst_max: Option<f64>,
}

/// A design's rows, grouped once for all layouts.
pub(super) struct Grouped<'a> {
    template: &'a Template,
    pub(super) rows: &'a KeyedRows,
    counts: Vec<u64>,
    windows: Vec<Vec<u32>>,
    /// By index and window, the numbers of the writes' keys in the index.
    entries: Vec<Vec<Vec<u32>>>,
    /// Windows with enough rows to be a mix.
    usable: Vec<usize>,
}

impl Grouped<'_> {
    fn writes(&self, which: Which) -> &[u32] {
        match which {
            Which::All => self.rows.rows(),
            Which::Window(window) => &self.windows[window],
        }
    }

    /// The numbers of these writes' keys in an index.
    fn entries_of(&self, index: usize, which: Which) -> &[u32] {
        match which {
            Which::All => self.rows.entries(index),
            Which::Window(window) => &self.entries[index][window],
        }
    }
}

impl Comparison {
    /// A comparison of these designs.
    ///
    /// # Errors
    /// When there are no designs, too many layouts, several layouts of an exact placement, or a load that cannot be.
    pub fn new(experiment: Experiment, designs: Vec<(Template, KeyedRows)>) -> Result<Self> {
        if designs.is_empty() {
            return Err(Error::invalid("a comparison needs at least one key design"));
        }
        if experiment.layouts == 0 || experiment.layouts > LAYOUTS_MAX {
            return Err(Error::invalid(format!("layouts: 1 to {LAYOUTS_MAX}, not {}", experiment.layouts)));
        }
        if experiment.profile.service() == Service::Cosmos && experiment.layouts != 1 {
            return Err(Error::invalid(
                "layouts: Cosmos DB places keys by a known hash, so there is one layout only",
            ));
        }
        experiment.profile.check_item(experiment.item)?;
        if experiment.item == Bytes::ZERO {
            return Err(Error::invalid("item size: an item has at least one byte, its key"));
        }
        match experiment.load {
            LoadShape::Open { rate: 0, .. } => {
                return Err(Error::invalid("rate: at least one write a second"));
            }
            LoadShape::Open { rate, .. } if rate > RATE_MAX => {
                return Err(Error::invalid(format!("rate: at most {RATE_MAX} writes a second, not {rate}")));
            }
            LoadShape::Closed { workers, .. } if workers == 0 || workers > WORKERS_MAX => {
                return Err(Error::invalid(format!("workers: 1 to {WORKERS_MAX}, not {workers}")));
            }
            LoadShape::Open { retries: Retries { most: 1.., .. }, .. } | LoadShape::Closed { .. }
                if experiment.windows.is_some() =>
            {
                return Err(Error::invalid(
                    "a window is held at a rate until it is steady: give a rate, not workers or retries",
                ));
            }
            _ => {}
        }
        if experiment.windows.as_ref().is_some_and(|windows| windows.names.is_empty()) {
            return Err(Error::invalid("no row falls into any window"));
        }
        if experiment.reads.len() > READS_MAX {
            return Err(Error::invalid(format!(
                "reads: at most {READS_MAX}, not {}",
                experiment.reads.len()
            )));
        }
        if experiment.mix.is_some() {
            if experiment.reads.is_empty() {
                return Err(Error::invalid("mix: there are no reads to run under the load"));
            }
            if !matches!(experiment.load, LoadShape::Open { retries: Retries { most: 0, .. }, .. }) {
                return Err(Error::invalid("mix: reads run beside a rate of writes, not workers or retries"));
            }
        }
        if experiment.indexes.len() > INDEXES_MAX {
            let given = experiment.indexes.len();
            return Err(Error::invalid(format!("indexes: at most {INDEXES_MAX}, not {given}")));
        }
        if experiment.mix.is_some() && !experiment.indexes.is_empty() {
            return Err(Error::invalid("mix: reads run beside writes to a table without indexes"));
        }
        let indexes = experiment.indexes.iter().enumerate();
        let indexes = indexes
            .map(|(number, index)| IndexLoad::new(index.clone(), number, experiment.seed))
            .collect::<Result<Vec<_>>>()?;
        for (_, rows) in &designs {
            if (0..indexes.len()).any(|index| rows.entries(index).len() != rows.rows().len()) {
                return Err(Error::invalid("indexes: each row of a design says whether it has an entry"));
            }
        }
        let limits = WriteLimits::new(&experiment.profile, experiment.item);
        if experiment.burst_full {
            let (limits, indexes) =
                (limits.saved_up(), indexes.into_iter().map(IndexLoad::saved_up).collect());
            return Ok(Self { experiment, designs, limits, indexes });
        }
        Ok(Self { experiment, designs, limits, indexes })
    }

    /// Runs it.
    ///
    /// # Errors
    /// When a read cannot be carried out.
    pub fn run(&self, progress: Progress<'_>) -> Result<Report> {
        let grouped: Vec<Grouped<'_>> = self.designs.iter().map(|(t, rows)| self.group(t, rows)).collect();
        let layouts = self.experiment.layouts as usize;
        let total = grouped.len() * (layouts + 1);
        let done = AtomicUsize::new(0);
        let tick = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);

        let measured = in_parallel(grouped.len() * layouts, |task| {
            let result = self.measure(&grouped[task / layouts], task % layouts);
            tick();
            result
        });
        let measured: Vec<&[Measured]> = measured.chunks(layouts).collect();
        let designs = in_parallel(grouped.len(), |d| {
            let design = self.describe(&grouped[d], measured[d]);
            tick();
            design
        });
        let designs = designs.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(self.report(&grouped, &measured, designs))
    }

    pub(super) fn group<'a>(&self, template: &'a Template, rows: &'a KeyedRows) -> Grouped<'a> {
        let windows = match &self.experiment.windows {
            Some(windows) => rows.by_window(windows.names.len()),
            None => Vec::new(),
        };
        let least = rows.rows().len() as f64 / windows.len().max(1) as f64 * WINDOW_ROWS_MIN;
        let usable = (0..windows.len())
            .filter(|&w| !windows[w].is_empty() && windows[w].len() as f64 >= least)
            .collect();
        let entries =
            (0..self.indexes.len()).map(|index| rows.entries_by_window(index, windows.len())).collect();
        Grouped { template, rows, counts: rows.counts(rows.rows()), windows, entries, usable }
    }

    /// Where keys lie under a layout.
    fn place(&self, rows: &KeyedRows, layout: usize) -> Placed {
        let placement = self.placement(layout);
        let map = self.map(layout);
        Placed {
            keys: rows.keys().iter().map(|key| map.index_of_token(&placement.token(key)) as u16).collect(),
            indexes: self.indexes.iter().map(|index| index.place(layout)).collect(),
        }
    }

    /// The entries that these writes make in each index.
    fn entries<'a>(
        &'a self,
        design: &'a Grouped<'_>,
        which: Which,
        placed: &'a Placed,
    ) -> Vec<IndexAttempts<'a>> {
        let indexes = self.indexes.iter().zip(&placed.indexes).enumerate();
        indexes
            .map(|(i, (index, partition_of))| index.attempts(design.entries_of(i, which), partition_of))
            .collect()
    }

    /// How these writes fall on each index.
    fn index_mixes(&self, design: &Grouped<'_>, which: Which, placed: &Placed) -> Vec<IndexMix> {
        let indexes = self.indexes.iter().zip(&placed.indexes).enumerate();
        indexes.map(|(i, (index, of))| index.mix(design.entries_of(i, which), of)).collect()
    }

    /// Writes a second that pass in the long run when `rate` are offered: with indexes, as many as the one lets through
    /// that lets the fewest through, which is the most that it can be.
    fn steady_writes(&self, design: &Grouped<'_>, which: Which, placed: &Placed, rate: f64) -> f64 {
        let table = self.limits.steady_writes(&self.shares(design.writes(which), &placed.keys), rate);
        let mixes = self.index_mixes(design, which, placed);
        let indexes = self.indexes.iter().zip(&mixes).map(|(index, mix)| index.steady_writes(mix, rate));
        indexes.fold(table, f64::min)
    }

    fn placement(&self, layout: usize) -> Placement {
        match self.experiment.profile.placement() {
            Placement::Seeded { .. } => {
                Placement::Seeded { layout: self.experiment.seed.stream("layout").at(layout as u64) as u32 }
            }
            exact @ Placement::Cosmos { .. } => exact,
        }
    }

    fn map(&self, layout: usize) -> PartitionMap<()> {
        let bounds = self.placement(layout).even_bounds(self.experiment.profile.partitions());
        match PartitionMap::new(bounds, |_, _| ()) {
            Ok(map) => map,
            Err(_) => unreachable!("even bounds increase"),
        }
    }

    /// The highest rate of a design under a layout, in writes a second: of the median window where there are windows.
    pub(super) fn capacity(&self, design: &Grouped<'_>, layout: usize) -> f64 {
        let placed = self.place(design.rows, layout);
        match self.experiment.load {
            LoadShape::Open { rate, .. } if !design.windows.is_empty() => {
                let order = self.rank_windows(design, &placed, rate);
                self.highest_rate(design, Which::Window(order[(order.len() - 1) / 2]), &placed)
            }
            _ => self.highest_rate(design, Which::All, &placed),
        }
    }

    fn highest_rate(&self, design: &Grouped<'_>, which: Which, placed: &Placed) -> f64 {
        let rows = design.writes(which);
        let entries = self.entries(design, which, placed);
        let attempts = Attempts { rows, partition_of: &placed.keys, indexes: &entries };
        let shares = self.shares(rows, &placed.keys);
        let hottest = shares.iter().copied().fold(0.0, f64::max);
        let mixes = self.index_mixes(design, which, placed);
        let guess = self
            .indexes
            .iter()
            .zip(&mixes)
            .map(|(index, mix)| index.steady_max(mix))
            .fold(self.limits.steady_max(hottest), f64::min);
        max_rate(&self.limits, attempts, guess) as f64
    }

    /// A window held at the rate until it is steady.
    fn hold(
        &self,
        design: &Grouped<'_>,
        window: usize,
        placed: &Placed,
        rate: u64,
        detailed: bool,
    ) -> Outcome {
        let entries = self.entries(design, Which::Window(window), placed);
        let attempts =
            Attempts { rows: &design.windows[window], partition_of: &placed.keys, indexes: &entries };
        hold(&self.limits, attempts, rate, self.experiment.service_time, detailed)
    }

    fn measure(&self, design: &Grouped<'_>, layout: usize) -> Measured {
        let placed = self.place(design.rows, layout);
        let mut held = vec![false; self.limits.partitions()];
        placed.keys.iter().for_each(|&p| held[usize::from(p)] = true);
        let occupied = held.iter().filter(|&&held| held).count() as u32;
        // Windows go with an open loop only: `new` saw to that.
        let rate = match self.experiment.load {
            LoadShape::Open { rate, .. } if !design.windows.is_empty() => rate,
            _ => {
                let served = self.replay(design, &placed, false).served_per_s();
                let max_rate =
                    self.experiment.find_max.then(|| self.highest_rate(design, Which::All, &placed));
                return Measured { served, max_rate, occupied, windows: None };
            }
        };
        let order = self.rank_windows(design, &placed, rate);
        let (median, worst) = (order[(order.len() - 1) / 2], order[0]);
        let held = |window: usize| self.hold(design, window, &placed, rate, false).served_per_s();
        let find = |window: usize| {
            let find = self.experiment.find_max;
            find.then(|| self.highest_rate(design, Which::Window(window), &placed))
        };
        Measured {
            served: held(median),
            max_rate: find(median),
            occupied,
            windows: Some(MeasuredWindows {
                median,
                worst,
                worst_served: held(worst),
                worst_max: find(worst),
            }),
        }
    }

    /// Usable windows, the worst first: by what they serve in the steady state, then by how hot their hottest
    /// partition is. Ranking needs only the shares; the windows that are reported are then replayed.
    fn rank_windows(&self, design: &Grouped<'_>, placed: &Placed, rate: u64) -> Vec<usize> {
        let mut ranked: Vec<(u64, u64, usize)> = design
            .usable
            .iter()
            .map(|&window| {
                let shares = self.shares(&design.windows[window], &placed.keys);
                let hottest = shares.iter().copied().fold(0.0, f64::max);
                let served = self.steady_writes(design, Which::Window(window), placed, rate as f64);
                ((served * 1e3) as u64, ((1.0 - hottest) * 1e9) as u64, window)
            })
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, _, window)| window).collect()
    }

    fn shares(&self, rows: &[u32], partition_of: &[u16]) -> Vec<f64> {
        let mut counts = vec![0_u64; self.limits.partitions()];
        for &key in rows {
            counts[usize::from(partition_of[key as usize])] += 1;
        }
        counts.into_iter().map(|count| count as f64 / rows.len().max(1) as f64).collect()
    }

    fn replay(&self, design: &Grouped<'_>, placed: &Placed, detailed: bool) -> Outcome {
        let entries = self.entries(design, Which::All, placed);
        let rows = design.rows.rows();
        let attempts = Attempts { rows, partition_of: &placed.keys, indexes: &entries };
        let time = self.experiment.service_time;
        match self.experiment.load {
            LoadShape::Open { rate, retries: Retries { most: 0, .. } } => {
                replay_open(&self.limits, attempts, rate, time, detailed)
            }
            LoadShape::Open { rate, retries } => {
                replay_retrying(&self.limits, attempts, rate, time, retries, detailed)
            }
            LoadShape::Closed { workers, retries } => {
                replay_closed(&self.limits, attempts, workers, time, retries, detailed)
            }
        }
    }

    /// Looks closely at the layout with the median result.
    fn describe(&self, design: &Grouped<'_>, measured: &[Measured]) -> Result<Design> {
        let chosen = median_layout(measured);
        let result = &measured[chosen];
        let placed = self.place(design.rows, chosen);
        let partition_of = placed.keys.as_slice();
        let map = self.map(chosen);
        let rate = match self.experiment.load {
            LoadShape::Open { rate, .. } => Some(rate),
            LoadShape::Closed { .. } => None,
        };
        let (which, counts, outcome) = match (&result.windows, rate) {
            (Some(windows), Some(rate)) => {
                let outcome = self.hold(design, windows.median, &placed, rate, true);
                let counts = design.rows.counts(&design.windows[windows.median]);
                (Which::Window(windows.median), counts, outcome)
            }
            _ => (Which::All, design.counts.clone(), self.replay(design, &placed, true)),
        };
        let rows = design.writes(which);
        let indexes = self.index_figures(design, which, &placed, &outcome);
        let hottest_share = self.shares(rows, partition_of).into_iter().fold(0.0, f64::max);
        let hottest_resource = hottest_resource(self.limits.steady_max(hottest_share), &indexes);
        let total = rows.len().max(1) as f64;
        let attempted: Vec<u64> = outcome.partitions.iter().map(|tally| tally.attempted_milli()).collect();
        let skew = Skew::of(&attempted);
        let hottest_key = hottest(&counts);
        let hottest_key_share = counts[hottest_key] as f64 / total;
        let unsplittable = unsplittable_share(design.rows, &counts, rows.len());
        let ceilings = indexes.iter().filter_map(|index| index.ceiling_per_s);
        let ceiling_per_s = ceilings.fold(self.ceiling(unsplittable), f64::min);
        let offered =
            rate.map_or_else(|| outcome.writes as f64 / seconds(outcome.duration), |rate| rate as f64);
        let served_sorted = sorted(measured.iter().map(|m| m.served));
        let max_sorted = sorted(measured.iter().filter_map(|m| m.max_rate));
        let windows = result.windows.as_ref().map(|w| self.window_figures(design, w));
        let heat = match (&result.windows, rate) {
            (Some(_), Some(rate)) => self.window_heat(design, &placed, rate),
            _ => time_heat(outcome.detail.as_ref().map_or(&[], |detail| &detail.series)),
        };
        let duration = match (&result.windows, rate) {
            (Some(_), Some(rate)) => self.time_for_all_windows(design, &placed, rate),
            _ => seconds(outcome.duration),
        };
        let throttled_keys =
            outcome.detail.as_ref().map(|detail| detail.throttled_keys.as_slice()).unwrap_or_default();
        let (reads, requests): (Vec<_>, Vec<_>) =
            self.reads(design, chosen, &self.experiment.reads)?.into_iter().unzip();
        let mix = self.mixed(rows, partition_of, &requests);
        let mut figures = Design {
            key: design.template.to_string(),
            offered_per_s: offered,
            writes: design.rows.rows().len() as u64,
            distinct_keys: design.rows.keys().len() as u64,
            served_per_s: outcome.served_per_s(),
            served_p5: quantile(&served_sorted, 0.05),
            served_p95: quantile(&served_sorted, 0.95),
            throttled_share: outcome.throttled_share(),
            gave_up_share: 1.0 - outcome.served as f64 / outcome.writes.max(1) as f64,
            seconds: duration,
            p50_ms: outcome.response_ms(0.5),
            p99_ms: outcome.response_ms(0.99),
            p999_ms: outcome.response_ms(0.999),
            hottest_partition: skew.hottest_index.unwrap_or(0) as u32,
            hottest_partition_share: skew.hottest_share,
            hottest_key: design.rows.keys()[hottest_key].to_string(),
            hottest_key_share,
            hottest_unsplittable_share: unsplittable,
            max_over_mean: skew.max_over_mean,
            gini: skew.gini,
            effective_partitions: skew.effective_partitions,
            partitions: outcome
                .partitions
                .iter()
                .enumerate()
                .map(|(i, tally)| partition_load(i, tally, &map))
                .collect(),
            top_keys: top_keys(design.rows, &counts, partition_of, throttled_keys, total),
            spread: self.spread(design, measured),
            windows,
            max_rate_per_s: result.max_rate,
            max_rate_p5: self.experiment.find_max.then(|| quantile(&max_sorted, 0.05)),
            max_rate_p95: self.experiment.find_max.then(|| quantile(&max_sorted, 0.95)),
            ceiling_per_s,
            ceiling: ceiling(
                self.experiment.profile.service(),
                hottest_resource.holds_per_s,
                ceiling_per_s,
                self.experiment.seed,
            ),
            skipped_rows: design.rows.skipped(),
            skipped_examples: design.rows.skipped_examples().to_vec(),
            reads,
            hottest_resource,
            indexes,
            mix,
            heat,
            verdict: String::new(),
        };
        let steady_refused = match self.experiment.load {
            LoadShape::Open { rate, retries: Retries { most: 0, .. } } => {
                Some(1.0 - self.steady_writes(design, which, &placed, rate as f64) / rate as f64)
            }
            _ => None,
        };
        let worst_key =
            result.windows.as_ref().map(|w| hottest(&design.rows.counts(&design.windows[w.worst])));
        let facts = Facts { steady_refused, worst_key, ..self.facts(design) };
        figures.verdict = verdict::sentence(&facts, &figures);
        Ok(figures)
    }

    /// Carries the reads out on a table with the design's rows, laid out as in the chosen layout.
    pub(super) fn reads(
        &self,
        design: &Grouped<'_>,
        layout: usize,
        specs: &[ReadSpec],
    ) -> Result<Vec<(ReadCost, Vec<ReadRequest>)>> {
        if specs.is_empty() {
            return Ok(Vec::new());
        }
        let rows = design.rows;
        let profile = self.experiment.profile.clone().with_placement(self.placement(layout));
        let table = LoadedTable::load(
            &profile,
            self.experiment.item,
            rows.keys(),
            rows.rows(),
            rows.sorts(),
            rows.answers(),
        )?;
        let keyed = KeyDesign::new(
            design.template.clone(),
            self.experiment.sort_name.as_str(),
            self.experiment.profile.service(),
        );
        specs.iter().enumerate().map(|(number, spec)| table.read(&keyed, number, spec)).collect()
    }

    /// The reads in turn beside these rows, under the chosen layout.
    fn mixed(&self, rows: &[u32], partition_of: &[u16], requests: &[Vec<ReadRequest>]) -> Option<MixFigures> {
        let (mix, LoadShape::Open { rate, .. }) = (self.experiment.mix?, self.experiment.load) else {
            return None;
        };
        let own = UnitLimits::of_reads(&self.experiment.profile);
        let attempts = Attempts { rows, partition_of, indexes: &[] };
        let outcome = replay_mixed(&self.limits, own.as_ref(), attempts, rate, mix, requests);
        let skew = Skew::of(&outcome.read_milli);
        Some(MixFigures {
            writes_per_s: rate as f64,
            reads_per_s: mix.reads_per_s(rate as f64),
            writes_throttled_share: MixOutcome::share(outcome.writes_throttled, outcome.writes),
            reads_throttled_share: MixOutcome::share(outcome.reads_throttled, outcome.reads),
            requests_throttled_share: MixOutcome::share(outcome.requests_throttled, outcome.requests),
            read_units_per_s: outcome.read_units_per_s(),
            table_units_per_s: self.experiment.profile.throughput().read_rate().units(),
            hottest_partition: skew.hottest_index.unwrap_or(0) as u32,
            hottest_partition_share: skew.hottest_share,
        })
    }

    fn facts<'a>(&'a self, design: &Grouped<'a>) -> Facts<'a> {
        let profile = &self.experiment.profile;
        Facts {
            template: design.template,
            rows: design.rows,
            service: profile.service(),
            partitions: profile.partitions(),
            partition_writes: self.limits.partition_writes(),
            partition_writes_max: self.partition_writes_max(),
            table_writes: self.limits.table_writes(),
            throughput: &self.experiment.throughput,
            layouts: self.experiment.layouts,
            sort: self.experiment.sort,
            sort_name: &self.experiment.sort_name,
            window_by: self.experiment.windows.as_ref().map(|windows| windows.by.as_str()),
            steady_refused: None,
            worst_key: None,
        }
    }

    /// Writes a second that a partition serves at the most, whatever its share of the table is now.
    fn partition_writes_max(&self) -> f64 {
        let rate = self.experiment.profile.partition_throughput().write_rate();
        rate.milli() as f64 / self.limits.charge_milli() as f64
    }

    /// What splits can lead to at best.
    fn ceiling(&self, unsplittable_share: f64) -> f64 {
        let one = if unsplittable_share > 0.0 {
            self.partition_writes_max() / unsplittable_share
        } else {
            f64::INFINITY
        };
        one.min(self.limits.table_writes())
    }

    fn window_figures(&self, design: &Grouped<'_>, windows: &MeasuredWindows) -> WindowFigures {
        let rows = &design.windows[windows.worst];
        let counts = design.rows.counts(rows);
        let key = hottest(&counts);
        let name = |window: usize| match &self.experiment.windows {
            Some(set) => set.names[window].clone(),
            None => String::new(),
        };
        WindowFigures {
            median: 0.0,
            median_name: name(windows.median),
            worst: windows.worst_served,
            worst_name: name(windows.worst),
            worst_key: design.rows.keys()[key].to_string(),
            worst_key_share: counts[key] as f64 / rows.len().max(1) as f64,
            worst_max_rate_per_s: windows.worst_max,
        }
    }

    fn index_figures(
        &self,
        design: &Grouped<'_>,
        which: Which,
        placed: &Placed,
        outcome: &Outcome,
    ) -> Vec<IndexFigures> {
        let indexes = self.indexes.iter().zip(&placed.indexes).enumerate();
        indexes
            .map(|(i, (index, of))| {
                index.figures(
                    design.entries_of(i, which),
                    of,
                    outcome.index_refusals.get(i).copied().unwrap_or_default(),
                )
            })
            .collect()
    }

    /// The time that the served rates need for every row, window after window.
    fn time_for_all_windows(&self, design: &Grouped<'_>, placed: &Placed, rate: u64) -> f64 {
        let windows = (0..design.windows.len()).filter(|&window| !design.windows[window].is_empty());
        windows
            .map(|window| {
                let served = self.steady_writes(design, Which::Window(window), placed, rate as f64);
                design.windows[window].len() as f64 / served.max(f64::MIN_POSITIVE)
            })
            .sum()
    }

    /// Each window held at the rate, as a column.
    fn window_heat(&self, design: &Grouped<'_>, placed: &Placed, rate: u64) -> HeatMap {
        let Some(windows) = &self.experiment.windows else { return time_heat(&[]) };
        let mut order = design.usable.clone();
        order.sort_by(|&a, &b| windows.names[a].cmp(&windows.names[b]));
        let step = order.len().div_ceil(HEAT_WINDOWS_MAX).max(1);
        let mut heat =
            HeatMap { unit: windows.by.clone(), columns: vec![], attempted: vec![], throttled: vec![] };
        for window in order.into_iter().step_by(step) {
            let outcome = self.hold(design, window, placed, rate, false);
            let seconds = seconds(outcome.duration);
            let column = |units: fn(&Tally) -> u64| {
                outcome.partitions.iter().map(|t| units(t) as f64 / MILLI as f64 / seconds).collect()
            };
            heat.columns.push(windows.names[window].clone());
            heat.attempted.push(column(|tally| tally.attempted_milli()));
            heat.throttled.push(column(|tally| tally.throttled_milli));
        }
        heat
    }

    /// How often few keys met on one partition, which is the luck of the layout.
    fn spread(&self, design: &Grouped<'_>, measured: &[Measured]) -> Vec<Spread> {
        if design.rows.keys().len() > self.limits.partitions() || measured.len() < 2 {
            return Vec::new();
        }
        let mut spread: Vec<Spread> = Vec::new();
        for result in measured {
            let known = spread.iter_mut().find(|s| s.partitions == result.occupied);
            match known {
                Some(s) => {
                    s.layouts += 1;
                    s.served_min = s.served_min.min(result.served);
                    s.served_max = s.served_max.max(result.served);
                }
                None => spread.push(Spread {
                    partitions: result.occupied,
                    layouts: 1,
                    served_min: result.served,
                    served_max: result.served,
                }),
            }
        }
        spread.sort_by_key(|s| std::cmp::Reverse(s.partitions));
        spread
    }

    /// What there is to know about the windows before trusting a figure.
    pub(super) fn window_warnings(&self, grouped: &[Grouped<'_>]) -> Vec<String> {
        let mut warnings = Vec::new();
        let Some(windows) = &self.experiment.windows else { return warnings };
        let rows = grouped.iter().map(|design| design.rows.rows().len()).max().unwrap_or(0);
        let mean = rows as f64 / windows.names.len().max(1) as f64;
        if mean < WINDOW_ROWS_FEW {
            warnings.push(format!(
                "windows of {mean:.1} rows on average: so few rows are no mix of keys; use a coarser window"
            ));
        }
        let left_out = windows.names.len() - grouped.first().map_or(0, |first| first.usable.len());
        if left_out > 0 {
            warnings.push(format!(
                "{left_out} of {} windows have fewer rows than a tenth of the mean and were left out: so few rows \
                 are no mix of keys",
                windows.names.len()
            ));
        }
        warnings
    }

    /// Everything but the rows.
    pub(super) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The designs, as they were given.
    pub(super) fn designs(&self) -> &[(Template, KeyedRows)] {
        &self.designs
    }

    pub(super) fn limits(&self) -> &WriteLimits {
        &self.limits
    }

    fn report(&self, grouped: &[Grouped<'_>], measured: &[&[Measured]], mut designs: Vec<Design>) -> Report {
        let experiment = &self.experiment;
        for design in &mut designs {
            if let Some(windows) = &mut design.windows {
                windows.median = design.served_per_s;
            }
        }
        let windowing = experiment.windows.as_ref().map(|windows| Windowing {
            by: windows.by.clone(),
            count: windows.names.len(),
            replayed: 2.min(windows.names.len()),
        });
        let mut warnings = experiment.warnings.clone();
        let longest = designs.iter().map(|design| design.seconds).fold(0.0, f64::max);
        let saves = experiment.profile.metering() == Metering::Bucket;
        if saves && experiment.windows.is_none() && longest < verdict::SHORT_SECONDS {
            warnings.push(format!(
                "short run: the rows are written in {longest:.2} s, and the half second's worth that a partition has saved \
                 up carries much of it; more rows, a lower rate, or windows show the steady state"
            ));
        }
        warnings.extend(self.window_warnings(grouped));
        Report {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            seed: experiment.seed.0,
            file: experiment.file.clone(),
            profile: experiment.profile.name().into(),
            throughput: experiment.throughput.clone(),
            unit: match experiment.profile.service() {
                Service::DynamoDb => "WCU".into(),
                Service::Cosmos => "RU".into(),
            },
            partition_count: experiment.profile.partitions(),
            partition_limit_per_s: self.limits.partition_rate().units(),
            units_per_write: self.limits.charge_milli() as f64 / MILLI as f64,
            item_bytes: experiment.item.0,
            load: match experiment.load {
                LoadShape::Open { rate, .. } => Load::Open { rate_per_s: rate },
                LoadShape::Closed { workers, .. } => Load::Closed { workers },
            },
            layouts: experiment.layouts,
            windowing,
            pairs: pairs(&designs, measured),
            designs,
            warnings,
            basis: {
                let steady =
                    matches!(experiment.load, LoadShape::Open { retries: Retries { most: 0, .. }, .. });
                let indexed = !experiment.indexes.is_empty();
                verdict::basis(
                    &experiment.profile,
                    experiment.layouts,
                    experiment.service_time,
                    steady,
                    indexed,
                    experiment.burst_full,
                )
            },
        }
    }
}

/// The highest rate that can be offered, in writes a second.
const RATE_MAX: u64 = 10_000_000;

/// Workers at the most.
const WORKERS_MAX: u32 = 1_000_000;

// A partition's number must fit the 16 bits in which a key's partition is kept.
const _: () = assert!(PARTITIONS_MAX <= u16::MAX as u32);

/// Runs `tasks` on all cores; results come back in the order of the tasks.
pub(super) fn in_parallel<T: Send>(tasks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(tasks));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tasks).max(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    if task >= tasks {
                        break;
                    }
                    let result = work(task);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((task, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|&(task, _)| task);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The layout with the median result: by what was served, so that a search changes no other figure; among equals by the
/// highest rate, then the lower number.
fn median_layout(measured: &[Measured]) -> usize {
    let mut order: Vec<usize> = (0..measured.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&measured[a], &measured[b]);
        a.served.total_cmp(&b.served).then(score(a).total_cmp(&score(b)))
    });
    order[(order.len() - 1) / 2]
}

fn score(measured: &Measured) -> f64 {
    measured.max_rate.unwrap_or(measured.served)
}

/// Whose limit comes first as the rate grows; the table's where an index's is no lower.
fn hottest_resource(table: f64, indexes: &[IndexFigures]) -> HottestResource {
    let mut hottest = HottestResource { kind: "table".into(), name: String::new(), holds_per_s: table };
    for index in indexes {
        if let Some(holds) = index.holds_per_s.filter(|holds| *holds < hottest.holds_per_s) {
            hottest = HottestResource { kind: "index".into(), name: index.name.clone(), holds_per_s: holds };
        }
    }
    hottest
}

fn pairs(designs: &[Design], measured: &[&[Measured]]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for a in 0..designs.len() {
        for b in a + 1..designs.len() {
            let layouts = measured[a].len() as f64;
            let wins = |x: usize, y: usize| {
                let better = |(x, y): (&Measured, &Measured)| score(x) > score(y) * (1.0 + PAIR_MARGIN);
                measured[x].iter().zip(measured[y]).filter(|&pair| better(pair)).count() as f64 / layouts
            };
            let (a_wins, b_wins) = (wins(a, b), wins(b, a));
            let (key_a, key_b) = (&designs[a].key, &designs[b].key);
            let verdict = if a_wins >= PAIR_WINS {
                format!("{key_a} wins")
            } else if b_wins >= PAIR_WINS {
                format!("{key_b} wins")
            } else {
                "tie".into()
            };
            pairs.push(Pair {
                a: key_a.clone(),
                b: key_b.clone(),
                a_wins_share: a_wins,
                b_wins_share: b_wins,
                verdict,
            });
        }
    }
    pairs
}

fn partition_load(index: usize, tally: &Tally, map: &PartitionMap<()>) -> PartitionLoad {
    let range = map.range(index);
    let units = |milli: u64| milli as f64 / MILLI as f64;
    PartitionLoad {
        id: index as u32,
        // As Cosmos DB writes it: the ring begins at the empty text and ends at FF.
        from: if *range.from() == RingPoint::START { String::new() } else { range.from().to_string() },
        to: range.to().map_or_else(|| "FF".into(), ToString::to_string),
        attempted: units(tally.attempted_milli()),
        served: units(tally.consumed_milli),
        throttled: units(tally.throttled_milli),
    }
}

fn top_keys(
    rows: &KeyedRows,
    counts: &[u64],
    partition_of: &[u16],
    throttled: &[u64],
    total: f64,
) -> Vec<KeyLoad> {
    let mut order: Vec<usize> = (0..counts.len()).filter(|&key| counts[key] > 0).collect();
    order.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then_with(|| rows.keys()[a].cmp(&rows.keys()[b])));
    order.truncate(TOP_KEYS);
    order
        .into_iter()
        .map(|key| KeyLoad {
            key: rows.keys()[key].to_string(),
            share: counts[key] as f64 / total,
            partition: u32::from(partition_of[key]),
            throttled: throttled.get(key).copied().unwrap_or(0),
        })
        .collect()
}

/// The share of the hottest thing that no split divides: a whole key, or one item of a key that can be divided.
fn unsplittable_share(rows: &KeyedRows, counts: &[u64], total: usize) -> f64 {
    let key = (0..counts.len()).filter(|&key| rows.is_unsplittable(key as u32)).map(|key| counts[key]).max();
    let key_share = key.unwrap_or(0) as f64 / total.max(1) as f64;
    let divisible = (0..counts.len()).any(|key| !rows.is_unsplittable(key as u32));
    let item_share = rows.hottest_item() as f64 / rows.rows().len().max(1) as f64;
    if divisible { key_share.max(item_share) } else { key_share }
}

/// The number of the key with most writes, the first of equals.
fn hottest(counts: &[u64]) -> usize {
    (0..counts.len()).max_by_key(|&key| (counts[key], std::cmp::Reverse(key))).unwrap_or(0)
}

/// Partitions by second, all with the same columns.
fn time_heat(series: &[Series]) -> HeatMap {
    let width = series.iter().flat_map(Series::bins).map(|bin| bin.width_seconds).max().unwrap_or(1);
    let last = series.iter().flat_map(Series::bins).map(|bin| bin.start_second / width).max();
    let columns = last.map_or(0, |last| last as usize + 1);
    let mut heat = HeatMap {
        unit: format!("{width} s"),
        columns: (0..columns as u64).map(|column| format!("{} s", column * width)).collect(),
        attempted: vec![vec![0.0; series.len()]; columns],
        throttled: vec![vec![0.0; series.len()]; columns],
    };
    for (partition, series) in series.iter().enumerate() {
        for bin in series.bins() {
            let column = (bin.start_second / width) as usize;
            let per_second = |milli: u64| milli as f64 / MILLI as f64 / width as f64;
            heat.attempted[column][partition] += per_second(bin.tally.attempted_milli());
            heat.throttled[column][partition] += per_second(bin.tally.throttled_milli);
        }
    }
    heat
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(1e-9)
}

pub(super) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The nearest-rank quantile of sorted values.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}
