//! A sweep over the number of suffixes: what each buys in write capacity, and what it costs to read back.
//!
//! ```text
//!   for each design × value × layout (in parallel)   the highest rate
//!   for each design × value                          median and 5–95 %; reads, under the layout with the median
//!   for each design                                  the knee: where more suffixes stop paying
//! ```
//!
//! The guides say to spread a hot key over suffixes and leave their number open. More suffixes let more partitions share
//! a key until the table is full or chance has no better draw left; each of them is one more request when the key is
//! read back. So there is a value beyond which only the bill grows, and it depends on the data and the formula.
//!
//! This file does not know where rows come from, nor how a placeholder is written.

use super::compare::{in_parallel, quantile, sorted};
use super::report::{ReadCost, SCHEMA, Windowing};
use super::sweep_report::{
    Knee, PointFigures, RateRange, ReadFigures, SuffixFigures, SweepFigures, SweepReport, SweptFigures,
};
use super::verdict::{self, percent, whole};
use super::{Comparison, Experiment, KeyedRows, LoadShape, Progress, ReadSpec, Retries};
use crate::error::{Error, Result};
use crate::key::{FieldPath, KeyValue, Part, SuffixRange, Template};
use crate::profile::Service;
use crate::rng::Seed;
use crate::units::MILLI;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Designs × values at the most: each is kept in memory and searched under every layout.
pub const SWEEP_POINTS_MAX: usize = 512;

/// The knee is the smallest value that reaches this share of the best median capacity over the sweep. *Assumed*: what a
/// tenth more capacity is worth is the reader's to say; the table shows every value.
pub const KNEE_SHARE: f64 = 0.9;

/// A capacity that is higher by more than this counts as higher. *Assumed*, to match [`KNEE_SHARE`].
const GAIN: f64 = 1.1;

/// The table is the limit from this share of what it pays for.
const FULL_SHARE: f64 = 0.95;

/// A suffix formula is skewed when its hottest suffix has this many times its even share.
const SKEWED_SUFFIX: f64 = 3.0;

/// One design of a sweep.
#[derive(Debug)]
pub struct SweptDesign {
    /// The template as it was given, with its placeholder.
    pub text: String,
    /// One point for each value, ascending; a single one without a value for a template without a placeholder.
    pub points: Vec<SweptPoint>,
    /// Reads all items of one logical key. Rows that answer it have bit 0.
    pub read_key: ReadSpec,
    /// Reads one item. Rows that answer it have bit 1.
    pub read_item: ReadSpec,
}

/// One design at one value.
#[derive(Debug)]
pub struct SweptPoint {
    /// The value.
    pub n: Option<u64>,
    /// The template with the value in place.
    pub template: Template,
    /// The rows under it.
    pub rows: KeyedRows,
    /// How the calculated suffix spreads the rows.
    pub suffixes: Option<SuffixUse>,
}

/// How a calculated suffix spreads the rows of a file.
#[derive(Clone, Debug)]
pub struct SuffixUse {
    /// As the template writes it: `product(tailnum, 1..200)`.
    pub formula: String,
    /// What it is calculated from.
    pub field: FieldPath,
    /// The suffixes.
    pub range: SuffixRange,
    /// Suffixes that any row gets.
    pub used: u64,
    /// The suffix that most rows get, the smallest of equals.
    pub top: u64,
    /// Their share.
    pub top_share: f64,
    /// Share of the rows that have the most frequent value of the field: no formula spreads these.
    pub top_value_share: f64,
}

impl SuffixUse {
    /// Counts the suffixes that `part` gives to rows whose field has these values, each with the number of its rows.
    /// `None` when the part is no calculated suffix, or there are no rows.
    pub fn of<'a>(
        template: &Template,
        part: &Part,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> Option<Self> {
        let (name, field, range) = match part {
            Part::Hash { field, range } => ("hash", *field, *range),
            Part::Product { field, range } => ("product", *field, *range),
            Part::Literal(_) | Part::Field(_) | Part::Random(_) => return None,
        };
        let ends = range.first()..=range.last();
        let alone = match part {
            Part::Hash { .. } => Template::builder().hash("value", ends),
            _ => Template::builder().product("value", ends),
        };
        let alone = alone.build().ok()?;
        let mut rows_of: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut total, mut top_value) = (0, 0);
        for (value, rows) in values {
            let suffix = alone.key(&serde_json::json!({ "value": value }), Seed(0), 0).ok()?;
            let KeyValue::String(suffix) = suffix else { return None };
            *rows_of.entry(suffix.parse().ok()?).or_default() += rows;
            total += rows;
            top_value = top_value.max(rows);
        }
        let (&top, &top_rows) =
            rows_of.iter().max_by_key(|&(&suffix, &rows)| (rows, std::cmp::Reverse(suffix)))?;
        let field = template.fields().get(field)?.clone();
        Some(Self {
            formula: format!("{name}({field}, {range})"),
            field,
            range,
            used: rows_of.len() as u64,
            top,
            top_share: top_rows as f64 / total.max(1) as f64,
            top_value_share: top_value as f64 / total.max(1) as f64,
        })
    }

    fn is_skewed(&self) -> bool {
        self.top_share * self.range.width() as f64 > SKEWED_SUFFIX
    }
}

/// What a sweep keeps of a design beside its points' rows.
#[derive(Debug)]
struct Line {
    text: String,
    /// The points' places among all.
    first: usize,
    values: Vec<Option<u64>>,
    suffixes: Vec<Option<SuffixUse>>,
    reads: [ReadSpec; 2],
}

/// A sweep with its designs.
#[derive(Debug)]
pub struct Sweep {
    name: String,
    values: Vec<u64>,
    lines: Vec<Line>,
    comparison: Comparison,
}

impl Sweep {
    /// A sweep of the placeholder `name` over `values`, ascending.
    ///
    /// # Errors
    /// When the experiment cannot be, load is not offered at a rate, or there are too many points.
    pub fn new(
        name: String,
        values: Vec<u64>,
        experiment: Experiment,
        designs: Vec<SweptDesign>,
    ) -> Result<Self> {
        if !matches!(experiment.load, LoadShape::Open { retries: Retries { most: 0, .. }, .. }) {
            return Err(Error::invalid(
                "a sweep searches for the highest rate: it takes no workers or retries",
            ));
        }
        let points: usize = designs.iter().map(|design| design.points.len()).sum();
        if points > SWEEP_POINTS_MAX {
            return Err(Error::invalid(format!(
                "a sweep has at most {SWEEP_POINTS_MAX} designs × values, not {points}"
            )));
        }
        let mut lines = Vec::new();
        let mut all = Vec::new();
        for design in designs {
            let mut line = Line {
                text: design.text,
                first: all.len(),
                values: Vec::new(),
                suffixes: Vec::new(),
                reads: [design.read_key, design.read_item],
            };
            if design.points.is_empty() {
                return Err(Error::invalid(format!("{}: a design of a sweep has a point", line.text)));
            }
            for point in design.points {
                line.values.push(point.n);
                line.suffixes.push(point.suffixes);
                all.push((point.template, point.rows));
            }
            lines.push(line);
        }
        Ok(Self { name, values, lines, comparison: Comparison::new(experiment, all)? })
    }

    /// Runs it.
    ///
    /// # Errors
    /// When a read cannot be carried out.
    pub fn run(&self, progress: Progress<'_>) -> Result<SweepReport> {
        let comparison = &self.comparison;
        let designs = comparison.designs();
        let grouped: Vec<_> = designs.iter().map(|(t, rows)| comparison.group(t, rows)).collect();
        let layouts = comparison.experiment().layouts as usize;
        let total = grouped.len() * (layouts + 1);
        let done = AtomicUsize::new(0);
        let tick = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        let rates = in_parallel(grouped.len() * layouts, |task| {
            let rate = comparison.capacity(&grouped[task / layouts], task % layouts);
            tick();
            rate
        });
        let rates: Vec<&[f64]> = rates.chunks(layouts).collect();
        let specs: Vec<&[ReadSpec; 2]> =
            self.lines.iter().flat_map(|line| line.values.iter().map(|_| &line.reads)).collect();
        let reads = in_parallel(grouped.len(), |point| {
            let costs = comparison.reads(&grouped[point], median_layout(rates[point]), specs[point]);
            tick();
            costs
        });
        let mut costs: Vec<[ReadFigures; 2]> = Vec::new();
        for (point, read) in reads.into_iter().enumerate() {
            let read = read.map_err(|error| error.within(designs[point].0.to_string()))?;
            let mut figures = read.into_iter().map(|(cost, _)| read_figures(cost));
            match (figures.next(), figures.next()) {
                (Some(key), Some(item)) => costs.push([key, item]),
                _ => unreachable!("two reads were asked for"),
            }
        }
        let mut lines: Vec<SweptFigures> =
            self.lines.iter().map(|line| self.line(line, &rates, &costs)).collect();
        self.outdone(&mut lines);
        Ok(self.report(comparison.window_warnings(&grouped), lines))
    }

    fn line(&self, line: &Line, rates: &[&[f64]], costs: &[[ReadFigures; 2]]) -> SweptFigures {
        let mut points: Vec<PointFigures> = Vec::new();
        for (i, (&n, suffixes)) in line.values.iter().zip(&line.suffixes).enumerate() {
            let rates = sorted(rates[line.first + i].iter().copied());
            let max_rate = RateRange {
                median: quantile(&rates, 0.5),
                p5: quantile(&rates, 0.05),
                p95: quantile(&rates, 0.95),
            };
            let first = points.first().map_or(max_rate.median, |first| first.max_rate.median);
            let [read_key, read_item] = costs[line.first + i].clone();
            points.push(PointFigures {
                n,
                max_rate,
                gain: if first > 0.0 { max_rate.median / first } else { 1.0 },
                read_key,
                read_item,
                suffixes: suffixes.as_ref().map(|suffixes| SuffixFigures {
                    width: suffixes.range.width(),
                    used: suffixes.used,
                    top: suffixes.top,
                    top_share: suffixes.top_share,
                }),
            });
        }
        let swept: Vec<(u64, f64)> =
            points.iter().filter_map(|point| Some((point.n?, point.max_rate.median))).collect();
        let outcome = Bend::of(&swept);
        SweptFigures {
            template: line.text.clone(),
            baseline: swept.is_empty(),
            logical_key: line.reads[0].text.clone(),
            item: line.reads[1].text.clone(),
            verdict: self.verdict(line, &points, &outcome),
            knee: match outcome {
                Bend::Knee(knee) => Some(knee),
                _ => None,
            },
            points,
        }
    }

    /// Says of each design which other holds more with as many suffixes, at the largest value.
    fn outdone(&self, lines: &mut [SweptFigures]) {
        let last = |line: &SweptFigures| {
            let point = line.points.last()?;
            Some((point.n?, point.max_rate.median, line.template.clone()))
        };
        let all: Vec<(u64, f64, String)> = lines.iter().filter_map(last).collect();
        // The first of equals.
        let Some((n, best, by)) =
            all.iter().reduce(|best, other| if other.1 > best.1 { other } else { best })
        else {
            return;
        };
        for line in lines.iter_mut().filter(|line| !line.baseline) {
            let own = line.points.last().map_or(0.0, |point| point.max_rate.median);
            if *best > own * GAIN {
                let _ = write!(
                    line.verdict,
                    " At {} = {n} it holds {}/s, where {by} holds {}/s.",
                    self.name,
                    whole(own),
                    whole(*best)
                );
            }
        }
    }

    fn verdict(&self, line: &Line, points: &[PointFigures], outcome: &Bend) -> String {
        let name = &self.name;
        let mut text = String::new();
        let at = |n: u64| points.iter().find(|point| point.n == Some(n)).unwrap_or(&points[0]);
        let rate = |n: u64| whole(at(n).max_rate.median);
        match outcome {
            Bend::None => {
                let _ = write!(
                    text,
                    "Holds {}/s; it has no {name}, so it was run once. {}.",
                    whole(points[0].max_rate.median),
                    self.read_clause(&points[0])
                );
            }
            Bend::Single(n) => {
                let _ = write!(
                    text,
                    "Holds {}/s at {name} = {n}, the only value: one value has no knee. {}.",
                    rate(*n),
                    self.read_clause(at(*n))
                );
            }
            Bend::Flat { first, best } => {
                let _ = write!(
                    text,
                    "No knee: the suffix does not help. No value holds over 10% more than {name} = {first} ({}/s); the best \
                     is {}/s at {name} = {best}.",
                    rate(*first),
                    rate(*best)
                );
            }
            Bend::Rising { last, before } => {
                let _ = write!(
                    text,
                    "No knee yet: from {name} = {before} to {last} capacity still grows by over 10%, from {} to {}/s, so the \
                     sweep ends before the knee{}. {} at {name} = {last}.",
                    rate(*before),
                    rate(*last),
                    match at(*last).max_rate.median {
                        full if full >= self.comparison.limits().table_writes() * FULL_SHARE => {
                            ", and the table is full there: give values between the two"
                        }
                        _ if self.heaps_up(line, points).is_some() => "",
                        _ => "; go on with larger values",
                    },
                    self.read_clause(at(*last))
                );
            }
            Bend::Knee(knee) => {
                let last = points.last().and_then(|point| point.n).unwrap_or(knee.n);
                let _ = write!(
                    text,
                    "Knee at {name} = {}: {}/s, {:.1} times what {name} = {} holds and {} of the best ({}/s at {name} = {}). {} \
                     there",
                    knee.n,
                    whole(knee.max_rate),
                    at(knee.n).gain,
                    points[0].n.unwrap_or(knee.n),
                    percent(knee.share_of_best),
                    rate(knee.best_n),
                    knee.best_n,
                    self.read_clause(at(knee.n))
                );
                if last > knee.n {
                    let (key, dear) = (&at(last).read_key, at(last));
                    let _ = write!(
                        text,
                        "; at {name} = {last}, {} and {} {}, for {}/s",
                        requests(key.requests),
                        units(key.units),
                        self.read_unit(),
                        whole(dear.max_rate.median)
                    );
                }
                text.push('.');
            }
        }
        let best = points.iter().map(|point| point.max_rate.median).fold(0.0, f64::max);
        let table = self.comparison.limits().table_writes();
        if best >= table * FULL_SHARE {
            let _ = write!(
                text,
                " The table's {} is the limit then: more throughput moves the knee.",
                self.comparison.experiment().throughput
            );
        }
        self.suffix_clause(&mut text, line, points);
        text
    }

    /// The suffixes at the largest value, where they are to blame: were one logical key all the load, the hottest suffix
    /// alone would be more than a partition serves.
    fn heaps_up<'a>(&self, line: &'a Line, points: &[PointFigures]) -> Option<&'a SuffixUse> {
        let suffixes = line.suffixes.last()?.as_ref()?;
        let limits = self.comparison.limits();
        let too_hot = suffixes.top_share * limits.table_writes() > limits.partition_writes();
        let short = points.last()?.max_rate.median < limits.table_writes() * FULL_SHARE;
        (too_hot && short && suffixes.is_skewed()).then_some(suffixes)
    }

    /// Why a formula does not spread what it is given, told at the largest value.
    fn suffix_clause(&self, text: &mut String, line: &Line, points: &[PointFigures]) {
        let Some(suffixes) = self.heaps_up(line, points) else { return };
        let width = suffixes.range.width();
        let _ = write!(
            text,
            " More suffixes cannot spread what {} heaps up: {} of all rows get suffix {}",
            suffixes.formula,
            percent(suffixes.top_share),
            suffixes.top,
        );
        let unused = width - suffixes.used;
        if unused > 0 {
            let _ = write!(
                text,
                " and {} of the {} suffixes no row at all",
                whole(unused as f64),
                whole(width as f64)
            );
        }
        let _ = write!(text, " (an even share is {})", percent(1.0 / width as f64));
        // Where one value is the cause, no formula of that field helps; else another formula does.
        let by_value = suffixes.top_value_share >= suffixes.top_share / 2.0;
        let formula = suffixes.formula.split('(').next().unwrap_or_default();
        if by_value {
            let _ = write!(
                text,
                "; {} of them have one and the same {}, which no formula divides: calculate the suffix from something with \
                 more values",
                percent(suffixes.top_value_share / suffixes.top_share),
                suffixes.field
            );
        } else if formula == "product" {
            let _ = write!(
                text,
                "; products of code points are soon divisible by {width}, and the remainder is then always the same: use \
                 hash({}, …) or a prime number of suffixes",
                suffixes.field
            );
        }
        text.push('.');
    }

    fn read_clause(&self, point: &PointFigures) -> String {
        let (key, item) = (&point.read_key, &point.read_item);
        format!(
            "Reading all of one logical key back ({}) takes {} to {} and {} {}, one item {} and {} {}",
            counted(key.items, "item"),
            requests(key.requests),
            counted(u64::from(key.partitions), "partition"),
            units(key.units),
            self.read_unit(),
            requests(item.requests),
            units(item.units),
            self.read_unit()
        )
    }

    fn read_unit(&self) -> &'static str {
        match self.comparison.experiment().profile.service() {
            Service::DynamoDb => "RCU",
            Service::Cosmos => "RU",
        }
    }

    fn report(&self, window_warnings: Vec<String>, designs: Vec<SweptFigures>) -> SweepReport {
        let (experiment, limits) = (self.comparison.experiment(), self.comparison.limits());
        let profile = &experiment.profile;
        let rule = format!(
            "the knee is the smallest {0} that reaches {1} of the best median capacity over the sweep; there is none when no \
             {0} gains over 10%, or when capacity still grows by over 10% at the last step",
            self.name,
            format_args!("{:.0}%", KNEE_SHARE * 100.0)
        );
        let mut basis =
            verdict::basis(profile, experiment.layouts, experiment.service_time, true, false, false);
        // Its last line defines the figures of a comparison.
        basis.pop();
        basis.push(format!(
            "max rate: the highest that throttles at most 0.1% of first attempts over 300 s, {}; gain: its median ÷ that of \
             the first {}; reads: eventually consistent, of the most frequent logical key unless --read names one, counted on \
             the loaded data",
            match experiment.windows {
                Some(_) => "in the median window",
                None => "the file repeated in its order",
            },
            self.name
        ));
        let mut warnings = experiment.warnings.clone();
        warnings.extend(window_warnings);
        SweepReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            seed: experiment.seed.0,
            file: experiment.file.clone(),
            profile: profile.name().into(),
            throughput: experiment.throughput.clone(),
            table_writes_per_s: limits.table_writes(),
            unit: match profile.service() {
                Service::DynamoDb => "WCU".into(),
                Service::Cosmos => "RU".into(),
            },
            read_unit: self.read_unit().into(),
            partition_count: profile.partitions(),
            partition_limit_per_s: limits.partition_rate().milli() as f64 / MILLI as f64,
            item_bytes: experiment.item.0,
            layouts: experiment.layouts,
            windowing: experiment.windows.as_ref().map(|windows| Windowing {
                by: windows.by.clone(),
                count: windows.names.len(),
                replayed: 1.min(windows.names.len()),
            }),
            sweep: SweepFigures { name: self.name.clone(), values: self.values.clone(), rule, designs },
            warnings,
            basis,
        }
    }
}

/// The shape of capacity over the values.
#[derive(Clone, Debug)]
enum Bend {
    /// Nothing was swept.
    None,
    /// One value only.
    Single(u64),
    /// No value holds over 10 % more than the first.
    Flat { first: u64, best: u64 },
    /// It still grows by over 10 % at the last step.
    Rising { before: u64, last: u64 },
    /// There is a knee.
    Knee(Knee),
}

impl Bend {
    /// Of values, ascending, each with its median capacity.
    fn of(points: &[(u64, f64)]) -> Self {
        let (first, before, last) = match *points {
            [] => return Self::None,
            [(only, _)] => return Self::Single(only),
            [first, .., last] => (first, points[points.len() - 2], last),
        };
        // The first of equals, so that a knee is never beyond the best.
        let best =
            points.iter().copied().fold(first, |best, point| if point.1 > best.1 { point } else { best });
        if best.1 <= first.1 * GAIN {
            return Self::Flat { first: first.0, best: best.0 };
        }
        if last.1 > before.1 * GAIN {
            return Self::Rising { before: before.0, last: last.0 };
        }
        let (n, max_rate) =
            points.iter().copied().find(|point| point.1 >= best.1 * KNEE_SHARE).unwrap_or(best);
        Self::Knee(Knee { n, max_rate, share_of_best: max_rate / best.1, best_n: best.0 })
    }
}

/// The layout with the median rate, the first of equals.
fn median_layout(rates: &[f64]) -> usize {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[a].total_cmp(&rates[b]));
    order[(order.len() - 1) / 2]
}

fn read_figures(cost: ReadCost) -> ReadFigures {
    ReadFigures {
        plan: cost.plan,
        requests: cost.requests,
        partitions: cost.partitions,
        units: cost.units,
        items: cost.items,
    }
}

fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", whole(n as f64), if n == 1 { "" } else { "s" })
}

fn requests(n: u64) -> String {
    counted(n, "request")
}

/// Units with a half where there is one.
fn units(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 { whole(value) } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knee(rates: &[f64]) -> Bend {
        let points: Vec<(u64, f64)> = rates.iter().zip(1..).map(|(&rate, n)| (n, rate)).collect();
        Bend::of(&points)
    }

    #[test]
    fn the_knee_is_the_smallest_value_near_the_best() {
        match knee(&[1_000.0, 5_000.0, 9_100.0, 9_900.0, 10_000.0]) {
            Bend::Knee(knee) => assert_eq!((knee.n, knee.best_n, knee.share_of_best), (3, 5, 0.91)),
            other => panic!("{other:?}"),
        }
        // Chance may make a later value worse.
        match knee(&[1_000.0, 8_000.0, 7_000.0]) {
            Bend::Knee(knee) => assert_eq!((knee.n, knee.best_n), (2, 2)),
            other => panic!("{other:?}"),
        }
        assert!(matches!(knee(&[1_000.0, 1_090.0, 1_100.0]), Bend::Flat { first: 1, best: 3 }));
        assert!(matches!(knee(&[1_000.0, 2_000.0, 4_000.0]), Bend::Rising { before: 2, last: 3 }));
        assert!(matches!(knee(&[1_000.0]), Bend::Single(1)));
        assert!(matches!(knee(&[0.0, 0.0]), Bend::Flat { .. }));
        assert!(matches!(knee(&[]), Bend::None));
    }

    #[test]
    fn suffixes_are_counted_by_the_rows_that_get_them() {
        let template = Template::parse("{a}.{product(b, 1..10)}").unwrap();
        let part = template.parts().last().unwrap();
        // Code points: A is 65, B is 66, 2 is 50: 65 mod 10 = 5, 66 mod 10 = 6, 65 × 50 mod 10 = 0.
        let used = SuffixUse::of(&template, part, [("A", 3), ("B", 2), ("A2", 5)]).unwrap();
        assert_eq!((used.used, used.top, used.formula.as_str()), (3, 1, "product(b, 1..10)"));
        assert_eq!((used.top_share, used.top_value_share), (0.5, 0.5));
        assert!(SuffixUse::of(&template, &template.parts()[0], [("A", 1)]).is_none());
        assert!(SuffixUse::of(&template, part, []).is_none());
    }
}
