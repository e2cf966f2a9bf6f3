//! The page of a sweep: one HTML file with one drawing, capacity against the number of suffixes and beside it what
//! reading back costs.
//!
//! As in `page`, a report becomes a view of texts and coordinates, and the view becomes markup in `sweep_page.html`. The
//! page loads nothing and runs nothing, its colours follow the reader's light or dark setting, and designs differ in the
//! shape of their marks as well, for a print without colours. The same report gives the same bytes.
//!
//! This file does not know how a figure came about.

use super::page::text::{count, decimal, range, rate, share, shown};
use hotplate::error::{Error, Result};
use hotplate::lab::sweep_report::{PointFigures, SweepReport, SweptFigures};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::fmt::Write as _;

const TEMPLATE: &str = include_str!("sweep_page.html");

/// The drawing, in its own units.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
/// Where the axes stand.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 896.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 366.0;
/// Space between the first and last value and the axes.
const INSET: f64 = 18.0;
/// Room above the highest point.
const HEADROOM: f64 = 1.08;
/// Steps of an axis at the most.
const STEPS_MAX: f64 = 6.0;
/// Values nearer than this on the axis go without a label.
const LABEL_GAP: f64 = 30.0;
/// A knee's label is written inwards when the knee is this near to an edge.
const EDGE: f64 = 40.0;
/// Colours there are; further designs use them again.
const COLOURS: usize = 8;
/// Half the size of a mark.
const MARK: f64 = 4.5;
/// Characters of a template and of a filter.
const TEMPLATE_CHARS: usize = 400;
const FILTER_CHARS: usize = 96;

/// The page of `report`: a whole HTML document.
///
/// # Errors
/// None that a report can cause; a fault in the template itself is told.
pub(crate) fn render(report: &SweepReport) -> Result<String> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    let fault = |error| Error::invalid(format!("the page of the sweep cannot be rendered: {error:#}"));
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(fault)?);
    // The name's ending turns escaping on.
    env.render_named_str("sweep_page.html", TEMPLATE, Serde(Page::of(report))).map_err(fault)
}

#[derive(Serialize)]
struct Page<'a> {
    file: &'a str,
    version: &'a str,
    schema: u32,
    seed: String,
    name: &'a str,
    read_unit: &'a str,
    rule: &'a str,
    ranged: bool,
    facts: Vec<[String; 3]>,
    plot: Plot,
    designs: Vec<Card<'a>>,
    warnings: &'a [String],
    basis: &'a [String],
}

#[derive(Serialize)]
struct Card<'a> {
    template: String,
    colour: usize,
    logical_key: String,
    item: String,
    verdict: &'a str,
    rows: Vec<TableRow>,
}

#[derive(Serialize)]
struct TableRow {
    knee: bool,
    /// Each with a note, which may be empty.
    cells: Vec<[String; 2]>,
}

#[derive(Serialize)]
struct Plot {
    width: f64,
    height: f64,
    x0: f64,
    x1: f64,
    y1: f64,
    label: String,
    left: Vec<(String, String)>,
    right: Vec<(String, String)>,
    bottom: Vec<(String, String)>,
    curves: Vec<Curve>,
}

#[derive(Serialize)]
struct Curve {
    template: String,
    colour: usize,
    /// The height of a design without the placeholder.
    base: Option<String>,
    band: String,
    rates: String,
    reads: String,
    dots: Vec<Dot>,
    /// Where the knee is, its label, and how that is anchored.
    knee: Option<(String, String, String, &'static str)>,
    /// The design's mark in the legend.
    mark: String,
}

#[derive(Serialize)]
struct Dot {
    path: String,
    hollow: bool,
    title: String,
}

impl<'a> Page<'a> {
    fn of(report: &'a SweepReport) -> Self {
        let sweep = &report.sweep;
        Self {
            file: &report.file,
            version: &report.version,
            schema: report.schema,
            seed: report.seed.to_string(),
            name: &sweep.name,
            read_unit: &report.read_unit,
            rule: &sweep.rule,
            ranged: report.layouts > 1,
            facts: facts(report),
            plot: Plot::of(report),
            designs: sweep.designs.iter().enumerate().map(|(i, design)| Card::of(i, design)).collect(),
            warnings: &report.warnings,
            basis: &report.basis,
        }
    }
}

fn facts(report: &SweepReport) -> Vec<[String; 3]> {
    let fact = |name: &str, value: String, note: String| [name.to_owned(), value, note];
    let windows = match &report.windowing {
        Some(windowing) => fact(
            "Windows",
            count(windowing.count as u64),
            format!("by {}, the median one counts", shown(&windowing.by, FILTER_CHARS)),
        ),
        None => fact("Windows", "none".into(), "the file repeated in its order".into()),
    };
    vec![
        fact("Profile", report.profile.clone(), String::new()),
        fact("Throughput", report.throughput.clone(), String::new()),
        fact(
            "Partitions",
            count(report.partition_count),
            format!("{} {}/s each", rate(report.partition_limit_per_s), report.unit),
        ),
        fact("Item", format!("{} B", count(report.item_bytes)), String::new()),
        fact("Layouts", count(report.layouts), String::new()),
        windows,
    ]
}

impl<'a> Card<'a> {
    fn of(index: usize, design: &'a SweptFigures) -> Self {
        Self {
            template: shown(&design.template, TEMPLATE_CHARS),
            colour: index % COLOURS,
            logical_key: shown(&design.logical_key, FILTER_CHARS),
            item: shown(&design.item, FILTER_CHARS),
            verdict: &design.verdict,
            rows: design.points.iter().map(|point| row(design, point)).collect(),
        }
    }
}

fn row(design: &SweptFigures, point: &PointFigures) -> TableRow {
    let none = || "–".to_owned();
    let cell = |value: String| [value, String::new()];
    let (key, item, suffixes) = (&point.read_key, &point.read_item, point.suffixes.as_ref());
    TableRow {
        knee: is_knee(design, point),
        cells: vec![
            cell(point.n.map_or_else(none, count)),
            [rate(point.max_rate.median), range(point.max_rate.p5, point.max_rate.p95)],
            cell(if design.baseline { none() } else { format!("{}×", decimal(point.gain, 2)) }),
            cell(count(key.requests)),
            cell(count(key.partitions)),
            cell(decimal(key.units, 1)),
            cell(count(item.requests)),
            cell(decimal(item.units, 1)),
            suffixes.map_or_else(|| cell(none()), |s| [share(s.top_share), format!("suffix {}", s.top)]),
            cell(suffixes.map_or_else(none, |s| format!("{} of {}", count(s.used), count(s.width)))),
        ],
    }
}

fn is_knee(design: &SweptFigures, point: &PointFigures) -> bool {
    design.knee.as_ref().is_some_and(|knee| Some(knee.n) == point.n)
}

/// What the axes span.
struct Scales {
    first: f64,
    last: f64,
    rates: f64,
    units: f64,
}

impl Scales {
    fn x(&self, n: u64) -> f64 {
        let span = self.last.ln() - self.first.ln();
        let part = if span > 0.0 { ((n as f64).ln() - self.first.ln()) / span } else { 0.5 };
        LEFT + INSET + part * (RIGHT - LEFT - 2.0 * INSET)
    }

    fn y(value: f64, whole: f64) -> f64 {
        let part = if whole > 0.0 { (value / whole).clamp(0.0, 1.0) } else { 0.0 };
        BOTTOM - part * (BOTTOM - TOP)
    }
}

impl Plot {
    fn of(report: &SweepReport) -> Self {
        let sweep = &report.sweep;
        let highest = |of: &dyn Fn(&PointFigures) -> f64, baselines: bool| {
            let designs = sweep.designs.iter().filter(|design| baselines || !design.baseline);
            designs.flat_map(|design| &design.points).map(of).fold(0.0, f64::max)
        };
        let scales = Scales {
            first: sweep.values.first().copied().unwrap_or(1).max(1) as f64,
            last: sweep.values.last().copied().unwrap_or(1).max(1) as f64,
            rates: highest(&|point| point.max_rate.p95, true).max(1.0) * HEADROOM,
            // A baseline is drawn as a capacity only: its read may be a scan, which would flatten all others.
            units: highest(&|point| point.read_key.units, false).max(1.0) * HEADROOM,
        };
        let mut bottom: Vec<(String, String)> = Vec::new();
        let mut labelled = f64::NEG_INFINITY;
        for &n in &sweep.values {
            let x = scales.x(n);
            let label = if x - labelled >= LABEL_GAP {
                labelled = x;
                count(n)
            } else {
                String::new()
            };
            bottom.push((pixel(x), label));
        }
        let designs = sweep.designs.iter().enumerate();
        Self {
            width: WIDTH,
            height: HEIGHT,
            x0: LEFT,
            x1: RIGHT,
            y1: BOTTOM,
            label: label(report),
            left: steps(scales.rates),
            right: steps(scales.units),
            bottom,
            curves: designs.map(|(i, design)| Curve::of(report, i, design, &scales)).collect(),
        }
    }
}

/// What the drawing says, for those who hear it.
fn label(report: &SweepReport) -> String {
    let mut text = format!("Capacity and read units by {}.", report.sweep.name);
    for design in report.sweep.designs.iter().filter(|design| !design.baseline) {
        let (Some(first), Some(last)) = (design.points.first(), design.points.last()) else { continue };
        let _ = write!(
            text,
            " {}: from {} to {} writes/s",
            shown(&design.template, FILTER_CHARS),
            rate(first.max_rate.median),
            rate(last.max_rate.median)
        );
        match &design.knee {
            Some(knee) => {
                let _ = write!(text, ", knee at {}.", knee.n);
            }
            None => text.push_str(", no knee."),
        }
    }
    text
}

impl Curve {
    fn of(report: &SweepReport, index: usize, design: &SweptFigures, scales: &Scales) -> Self {
        let rate_y = |value: f64| Scales::y(value, scales.rates);
        let unit_y = |point: &PointFigures| Scales::y(point.read_key.units, scales.units);
        let swept: Vec<(u64, &PointFigures)> =
            design.points.iter().filter_map(|point| Some((point.n?, point))).collect();
        let line = |y: &dyn Fn(&PointFigures) -> f64| {
            let points =
                swept.iter().map(|&(n, point)| format!("{},{}", pixel(scales.x(n)), pixel(y(point))));
            points.collect::<Vec<_>>().join(" ")
        };
        let mut band = line(&|point| rate_y(point.max_rate.p5));
        for &(n, point) in swept.iter().rev() {
            let _ = write!(band, " {},{}", pixel(scales.x(n)), pixel(rate_y(point.max_rate.p95)));
        }
        let name = &report.sweep.name;
        let mut dots = Vec::new();
        for &(n, point) in &swept {
            let (rates, key) = (point.max_rate, &point.read_key);
            dots.push(Dot {
                path: mark(index, scales.x(n), unit_y(point), MARK * 0.7),
                hollow: true,
                title: format!(
                    "{name} = {n}: {} requests, {} {}",
                    count(key.requests),
                    decimal(key.units, 1),
                    report.read_unit
                ),
            });
            let layouts = match range(rates.p5, rates.p95) {
                same if same.is_empty() => String::new(),
                range => format!(" ({range})"),
            };
            dots.push(Dot {
                path: mark(index, scales.x(n), rate_y(rates.median), MARK),
                hollow: false,
                title: format!(
                    "{name} = {n}: {} writes/s{layouts}, {}×",
                    rate(rates.median),
                    decimal(point.gain, 2)
                ),
            });
        }
        let knee = design.knee.as_ref().map(|knee| {
            let x = scales.x(knee.n);
            let anchor = match x {
                x if x > RIGHT - EDGE => "end",
                x if x < LEFT + EDGE => "start",
                _ => "middle",
            };
            (pixel(x), pixel(rate_y(knee.max_rate)), format!("{name} = {}", count(knee.n)), anchor)
        });
        let base = design.points.first().filter(|_| design.baseline);
        Self {
            template: shown(&design.template, TEMPLATE_CHARS),
            colour: index % COLOURS,
            base: base.map(|point| pixel(rate_y(point.max_rate.median))),
            band,
            rates: line(&|point| rate_y(point.max_rate.median)),
            reads: line(&unit_y),
            dots,
            knee,
            mark: mark(index, 17.0, 8.0, MARK),
        }
    }
}

/// A mark around a point: round, square, a triangle or a diamond, by the number of the design.
fn mark(index: usize, x: f64, y: f64, half: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", pixel(x + dx * half), pixel(y + dy * half));
    match index % 4 {
        0 => {
            let r = pixel(half);
            format!("M{} a{r} {r} 0 1 0 {1} 0 a{r} {r} 0 1 0 -{1} 0z", at(-1.0, 0.0), pixel(2.0 * half))
        }
        1 => {
            format!("M{} L{} L{} L{}z", at(-0.9, -0.9), at(0.9, -0.9), at(0.9, 0.9), at(-0.9, 0.9))
        }
        2 => format!("M{} L{} L{}z", at(0.0, -1.2), at(1.1, 0.9), at(-1.1, 0.9)),
        _ => format!("M{} L{} L{} L{}z", at(0.0, -1.3), at(1.3, 0.0), at(0.0, 1.3), at(-1.3, 0.0)),
    }
}

/// Heights of an axis from zero to `whole`, each with its number: one, two or five times a power of ten apart.
fn steps(whole: f64) -> Vec<(String, String)> {
    let rough = whole / STEPS_MAX;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough);
    let Some(step) = step.filter(|step| step.is_finite() && *step > 0.0) else { return Vec::new() };
    let steps = (0..=STEPS_MAX as u32).map(|i| f64::from(i) * step);
    let places = if step < 1.0 { 1 } else { 0 };
    steps
        .take_while(|value| *value <= whole)
        .map(|value| (pixel(Scales::y(value, whole)), decimal(value, places)))
        .collect()
}

/// A coordinate, to a tenth.
fn pixel(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_steps() {
        let numbers = |whole| steps(whole).into_iter().map(|(_, number)| number).collect::<Vec<_>>();
        assert_eq!(numbers(8_300.0), ["0", "2,000", "4,000", "6,000", "8,000"]);
        assert_eq!(numbers(1.08), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }

    #[test]
    fn a_single_value_stands_in_the_middle() {
        let scales = Scales { first: 5.0, last: 5.0, rates: 1.0, units: 1.0 };
        assert_eq!(scales.x(5), (LEFT + RIGHT) / 2.0);
    }
}
