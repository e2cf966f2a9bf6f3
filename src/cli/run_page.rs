//! The page of a run, a sweep or a comparison: one HTML file that loads nothing and runs nothing.
//!
//! ```text
//!   RunReport ──► views (texts and lengths) ──► run_page.html ──► the file
//!                   chart, heat, grid, sweep      tags, escaping
//! ```
//!
//! What happened comes first: verdicts, what was served of what was offered and by which limit, published figures beside
//! ours. Courses, heat maps and tables follow. Every text is escaped by the template engine, since names come from files.
//! The page has a bound, because a sweep may be of many runs of many tables: cells, rows and charts are shared out among the
//! runs, and what is left out is said. The same report gives the same bytes.

mod chart;
mod grid;
mod heat;
mod mark;
mod scale;
mod sweep;

use super::page::text::{count, percent as length, ratio, shown};
use super::page::{KEY_CHARS, STEPS, fill, legend};
use super::prose::{counted, figure, is_share, millis, moment};
use super::run::Told;
use super::side_by_side::Beside;
use chart::Chart;
use grid::{Grid, SENTENCE_CHARS};
use heat::HeatMap;
use hotplate::error::Result;
use hotplate::lab::percent;
use hotplate::lab::run::{LoadReport, PublishedReport, RunReport, TableReport, VerdictName};
use mark::marks;
use scale::Scale;
use serde::Serialize;
use sweep::SweepChart;

const TEMPLATE: &str = include_str!("run_page.html");

/// Cells of all heat maps together: some two megabytes.
const CELLS_MAX: usize = 12_000;
/// Rows of a table of partitions or events, in all runs together.
const ROWS_MAX: usize = 4_000;
/// The same of one table, at least and at the most.
const ROWS_OF_ONE: (usize, usize) = (12, 200);
/// Loads and tables of all runs that are shown in full, and of one run at least.
const SHOWN_MAX: usize = 96;
const SHOWN_OF_ONE: (usize, usize) = (2, 24);
/// Throttled share that is not drawn as hot.
const THROTTLED_OK: f64 = 0.001;
/// Published figures, thresholds and verdicts of a run at the most.
const LINES_MAX: usize = 100;

/// The page of some runs: of one, or of a sweep over the values of a parameter. `beside` sets figures side by side.
///
/// # Errors
/// None that a report can cause; a fault in the template itself is told.
pub(crate) fn render(
    told: &[Told],
    swept: Option<(&str, &[&str])>,
    beside: Option<&Beside>,
) -> Result<String> {
    fill(TEMPLATE, Page::of(told, swept, beside))
}

#[derive(Serialize)]
struct Page {
    version: String,
    schema: u32,
    scenario: String,
    about: String,
    facts: String,
    swept: Option<String>,
    charts: Vec<SweepChart>,
    beside: Option<Grid>,
    legend: Vec<String>,
    runs: Vec<Run>,
}

/// One run.
#[derive(Serialize)]
struct Run {
    /// In a sweep: the parameter and its value, and the run in a line.
    head: String,
    line: String,
    why: String,
    hot: bool,
    verdicts: Vec<VerdictView>,
    glance: Vec<Glance>,
    published: Vec<PublishedView>,
    sources: Vec<String>,
    failed: Option<String>,
    charts: Vec<Chart>,
    tables: Vec<TableView>,
    grids: Vec<Grid>,
    left_out: Vec<String>,
    notes: Vec<String>,
    basis: Vec<String>,
    replay: String,
    digest: String,
}

#[derive(Serialize)]
struct VerdictView {
    hot: bool,
    table: String,
    text: String,
}

/// A load in a line: served against offered, and the limit that bit.
#[derive(Serialize)]
struct Glance {
    name: String,
    table: String,
    offered: String,
    served: String,
    bar: String,
    throttled: String,
    throttled_bar: String,
    hot: bool,
    gave_up: String,
    p99: String,
    limit: String,
    limit_note: String,
}

/// A published figure beside ours. Places are percent of an axis around the accepted band.
#[derive(Serialize)]
struct PublishedView {
    figure: String,
    published: String,
    accepted: String,
    ours: String,
    reproduced: bool,
    source: usize,
    band: (String, String),
    published_at: String,
    ours_at: String,
}

#[derive(Serialize)]
struct TableView {
    /// Whether it is a table or an index.
    kind: &'static str,
    name: String,
    facts: String,
    map: Option<HeatMap>,
    grids: Vec<Grid>,
}

impl Page {
    fn of(told: &[Told], swept: Option<(&str, &[&str])>, beside: Option<&Beside>) -> Self {
        let first = told.first();
        let report = first.map(|told| &told.report);
        let title = match swept {
            Some((parameter, _)) => format!("Figures over {}", shown(parameter, KEY_CHARS)),
            None => "Beside figures that were kept".to_owned(),
        };
        let about = report.map(|report| report.about.split_whitespace().collect::<Vec<_>>().join(" "));
        let about = about.filter(|about| !about.is_empty());
        let bounds = Bounds::of(told);
        let runs = told
            .iter()
            .enumerate()
            .map(|(i, told)| {
                let value = swept.map(|(name, values)| (name, values.get(i).copied().unwrap_or_default()));
                Run::of(told, value, &bounds)
            })
            .collect();
        Self {
            version: report.map(|report| report.version.clone()).unwrap_or_default(),
            schema: hotplate::lab::run::SCHEMA,
            scenario: report.map(|report| shown(&report.scenario, KEY_CHARS)).unwrap_or_default(),
            about: about.map(|about| shown(&about, SENTENCE_CHARS)).unwrap_or_default(),
            facts: first.map(|first| facts(first, swept)).unwrap_or_default(),
            swept: swept.map(|(parameter, _)| shown(parameter, KEY_CHARS)),
            charts: swept.map_or_else(Vec::new, |(name, values)| sweep::charts(told, name, values)),
            beside: beside.map(|beside| grid::beside(title, beside)),
            legend: STEPS.iter().map(|&step| legend(step)).collect(),
            runs,
        }
    }
}

/// Seed, size and parameters in a line.
fn facts(told: &Told, swept: Option<(&str, &[&str])>) -> String {
    let report = &told.report;
    let mut parts = vec![format!("seed {}", report.seed)];
    match swept {
        Some((parameter, values)) => {
            parts.push(format!(
                "{} over {}",
                counted(values.len() as u64, "run"),
                shown(parameter, KEY_CHARS)
            ));
        }
        None => {
            let operations: u64 = report.loads.iter().map(|load| load.operations).sum();
            let attempts: u64 = report.loads.iter().map(|load| load.attempts).sum();
            parts.push(format!("{} of virtual time", moment(report.seconds)));
            parts.push(format!("{} in {}", counted(operations, "operation"), counted(attempts, "request")));
        }
    }
    for (name, value) in told.parameters.iter().take(LINES_MAX) {
        if swept.is_none_or(|(swept, _)| swept != name) {
            parts.push(format!("{} = {}", shown(name, KEY_CHARS), shown(value, KEY_CHARS)));
        }
    }
    parts.join(" · ")
}

/// How much of a run is shown when there are several.
struct Bounds {
    cells: usize,
    rows: usize,
    shown: usize,
}

impl Bounds {
    fn of(told: &[Told]) -> Self {
        let runs = told.len().max(1);
        let shown = (SHOWN_MAX / runs).clamp(SHOWN_OF_ONE.0, SHOWN_OF_ONE.1);
        let tables: usize = told.iter().map(|told| told.report.tables.len().min(shown)).sum();
        let rows = (ROWS_MAX / tables.max(1)).clamp(ROWS_OF_ONE.0, ROWS_OF_ONE.1);
        Self { cells: CELLS_MAX / tables.max(1), rows, shown }
    }
}

impl Run {
    fn of(told: &Told, value: Option<(&str, &str)>, bounds: &Bounds) -> Self {
        let report = &told.report;
        let time = Scale::of_time(report.seconds);
        let (loads, left_loads) = report.loads.split_at(report.loads.len().min(bounds.shown));
        let (tables, left_tables) = report.tables.split_at(report.tables.len().min(bounds.shown));
        let charts = loads
            .iter()
            .flat_map(|load| {
                // The events of the table itself; those of its indexes stand at their heat maps.
                let table = report.tables.iter().find(|table| table.name == load.table);
                let marks = table.map_or_else(Vec::new, |table| marks(&table.history, time));
                chart::of_load(report, load, &marks)
            })
            .collect();
        let mut left_out = Vec::new();
        for (left, noun) in [(left_loads.len(), "more load"), (left_tables.len(), "more table")] {
            if left > 0 {
                let left = counted(left as u64, noun);
                left_out.push(format!("{left} left out here: --json has all of them."));
            }
        }
        let mut sources: Vec<&str> = Vec::new();
        let published = report.published.iter().take(LINES_MAX);
        let published = published.map(|of| PublishedView::of(of, &mut sources)).collect();
        let failed = report.thresholds.iter().filter(|of| !of.passed).count();
        let grids = [
            grid::thresholds(report),
            grid::loads(loads),
            grid::refusals(loads, bounds.rows),
            grid::cloud_watch(loads),
            grid::skew(loads),
        ];
        Self {
            head: value.map_or_else(String::new, |(name, value)| {
                format!("{} = {}", shown(name, KEY_CHARS), shown(value, KEY_CHARS))
            }),
            line: line(report),
            why: report.verdicts.first().map_or_else(String::new, |verdict| {
                format!("{}: {}", shown(&verdict.table, KEY_CHARS), shown(&verdict.text, SENTENCE_CHARS))
            }),
            hot: is_sick(report),
            verdicts: report.verdicts.iter().take(LINES_MAX).map(VerdictView::of).collect(),
            glance: loads.iter().map(Glance::of).collect(),
            published,
            sources: sources.into_iter().map(|source| shown(source, SENTENCE_CHARS)).collect(),
            failed: (failed > 0).then(|| format!("{failed} of {} fail", report.thresholds.len())),
            charts,
            tables: tables.iter().map(|table| TableView::of(table, report.seconds, bounds)).collect(),
            grids: grids.into_iter().filter_map(Grid::some).collect(),
            left_out,
            notes: lines(&told.notes),
            basis: lines(&report.basis),
            replay: shown(&told.replay, SENTENCE_CHARS),
            digest: told.digest.clone(),
        }
    }
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().take(LINES_MAX).map(|text| shown(text, SENTENCE_CHARS)).collect()
}

fn is_sick(report: &RunReport) -> bool {
    report.verdicts.iter().any(|verdict| verdict.name != VerdictName::Healthy) || !report.passed()
}

/// A run in a line.
fn line(report: &RunReport) -> String {
    let of = |load: &LoadReport| {
        format!(
            "{} {} of {}/s, {} throttled",
            shown(&load.name, KEY_CHARS),
            figure(load.served_per_s),
            figure(load.offered_per_s),
            percent(load.throttled_share)
        )
    };
    /// More loads make no line.
    const LOADS: usize = 3;
    let mut line = report.loads.iter().take(LOADS).map(of).collect::<Vec<_>>().join("; ");
    let reproduced = report.published.iter().filter(|of| of.reproduced).count();
    if !report.published.is_empty() {
        line.push_str(&format!("; {reproduced} of {} published figures reproduced", report.published.len()));
    }
    let failed = report.thresholds.iter().filter(|of| !of.passed).count();
    if failed > 0 {
        line.push_str(&format!("; {failed} of {} thresholds fail", report.thresholds.len()));
    }
    line
}

impl VerdictView {
    fn of(verdict: &hotplate::lab::run::Verdict) -> Self {
        Self {
            hot: verdict.name != VerdictName::Healthy,
            table: shown(&verdict.table, KEY_CHARS),
            text: shown(&verdict.text, SENTENCE_CHARS),
        }
    }
}

impl Glance {
    fn of(load: &LoadReport) -> Self {
        let refused: u64 = load.reasons.iter().map(|reason| reason.count).sum();
        let (limit, limit_note) = match load.reasons.first() {
            None => ("none".to_owned(), String::new()),
            Some(top) => (
                shown(&top.limit, KEY_CHARS),
                format!(
                    "{} of {}: {} of {}",
                    shown(&top.reason, KEY_CHARS),
                    shown(&top.resource, KEY_CHARS),
                    percent(ratio(top.count as f64, refused as f64)),
                    counted(refused, "refusal")
                ),
            ),
        };
        Self {
            name: shown(&load.name, KEY_CHARS),
            table: shown(&load.table, KEY_CHARS),
            offered: figure(load.offered_per_s),
            served: figure(load.served_per_s),
            bar: length(load.served_per_s, load.offered_per_s),
            throttled: percent(load.throttled_share),
            throttled_bar: length(load.throttled_share, 1.0),
            hot: load.throttled_share > THROTTLED_OK,
            gave_up: percent(load.gave_up_share),
            p99: if load.served == 0 { "–".into() } else { millis(load.p99_ms) },
            limit,
            limit_note,
        }
    }
}

impl PublishedView {
    fn of<'r>(of: &'r PublishedReport, sources: &mut Vec<&'r str>) -> Self {
        let source = sources.iter().position(|known| *known == of.source).unwrap_or_else(|| {
            sources.push(&of.source);
            sources.len() - 1
        });
        let (least, most) = of.accepted;
        // The axis holds the band, both figures, and some room.
        let low = least.min(of.published).min(of.ours);
        let high = most.max(of.published).max(of.ours);
        let room = (high - low).max(f64::MIN_POSITIVE) * 0.15;
        let (low, whole) = (low - room, high - low + 2.0 * room);
        let at = |value: f64| length(value - low, whole);
        // A share reads as one.
        let told = |value: f64| if is_share(&of.figure) { percent(value) } else { figure(value) };
        Self {
            figure: shown(&of.figure, KEY_CHARS),
            published: told(of.published),
            accepted: format!("{}–{}", told(least), told(most)),
            ours: told(of.ours),
            reproduced: of.reproduced,
            source: source + 1,
            band: (at(least), length(most - least, whole)),
            published_at: at(of.published),
            ours_at: at(of.ours),
        }
    }
}

impl TableView {
    fn of(table: &TableReport, seconds: f64, bounds: &Bounds) -> Self {
        let marks = marks(&table.history, Scale::of_time(seconds));
        let (start, end) = (table.partitions_at_start, table.partitions_at_end);
        let partitions = match start == end {
            true => counted(u64::from(end), "partition"),
            false => format!("{} → {} partitions", count(start), count(end)),
        };
        let grids = [
            grid::partitions(table, bounds.rows),
            grid::keys(table),
            grid::history(table, bounds.rows),
            grid::billed(table, bounds.rows),
        ];
        Self {
            kind: if table.is_index { "Index" } else { "Table" },
            name: shown(&table.name, KEY_CHARS),
            facts: format!(
                "{} · {} · {partitions} · busiest ÷ mean {}",
                table.profile,
                table.throughput,
                figure(table.max_over_mean)
            ),
            map: HeatMap::of(table, seconds, &marks, bounds.cells),
            grids: grids.into_iter().filter_map(Grid::some).collect(),
        }
    }
}
