//! The report page: one HTML file that holds everything, for a mail, a pull request or a phone.
//!
//! A [`Report`] becomes a view (texts and lengths only) and the view becomes markup in `page.html`, so that
//! figures are formatted here and tags are written there. The page loads nothing and runs nothing: its
//! colours follow the reader's light or dark setting, its drawings are inline SVG, its hints `<title>`s. The
//! same report gives the same bytes. The template engine escapes every text, since keys come from the data.
//!
//! A drawing has a bound, because a file may hold ten thousand windows and a table as many partitions. Past
//! it, a cell shows the hottest of its neighbours: by the mean, a partition at five times its limit one day
//! in four would look as if it were hardly over it. The caption says so.
//!
//! This file does not know how a figure came about, and decides only what is drawn in a warning colour.

use hotplate::error::{Error, Result};
use hotplate::lab::report::{
    Ceiling, Design, IndexFigures, KeyLoad, Load, Pair, PartitionLoad, ReadCost, Report, Spread,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::fmt::Write;
use std::ops::Range;
use text::*;

pub(super) mod text;

const TEMPLATE: &str = include_str!("page.html");
/// The style of all pages.
const STYLE: &str = include_str!("page.css");

/// Columns of a heat map at the most: on a phone each is still two pixels wide.
const COLUMNS_MAX: usize = 120;
/// Rows of a heat map at the most; more partitions than that share rows.
pub(super) const ROWS_MAX: usize = 64;
/// Cells of a heat map at the most, which keeps a card under half a megabyte.
const CELLS_MAX: usize = 4_096;
/// Height that a partition gets when there is room, in pixels.
pub(super) const ROW_PX: usize = 26;
/// Height of a heat map, in pixels: at least and at most, before narrow ranges get their least height.
pub(super) const MAP_PX: Range<usize> = 78..520;
/// Height of the narrowest range: it can still be seen and pointed at.
const ROW_PX_MIN: u32 = 4;
/// Distance between two row labels.
pub(super) const LABEL_PX: u32 = 14;
/// Ranges that differ in width by more than this are drawn alike: to scale, one would be all there is.
const WIDTH_RATIO_MAX: f64 = 256.0;
/// Labels below a heat map.
const TICKS_MAX: usize = 5;
/// Where one colour ends and the next begins, in partition limits: cool ones up to the limit, then hot ones.
pub(super) const STEPS: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0];
/// The mark of a throttled cell covers at least this share of it.
pub(super) const MARK_MIN: f64 = 0.15;
/// A bar chart reaches this many limits at the most for a peak; a peak beyond stands at its edge.
const PEAK_LIMITS_MAX: f64 = 3.0;
/// Space to the right of the limit line when no bar needs it.
const LIMIT_MARGIN: f64 = 1.15;
/// Throttled share up to which a design is not drawn as hot: what the search for the highest rate lets pass.
const THROTTLED_OK: f64 = 0.001;
/// Keys listed in a card.
const KEYS_MAX: usize = 20;
/// Characters of a key in a list, of one in a narrow cell or a column's name, and of a template.
pub(super) const KEY_CHARS: usize = 96;
pub(super) const SHORT_CHARS: usize = 28;
const TEMPLATE_CHARS: usize = 400;

/// The page of `report`: a whole HTML document.
///
/// # Errors
/// None that a report can cause; a fault in the template itself is told.
pub(crate) fn render(report: &Report) -> Result<String> {
    fill(TEMPLATE, Page::of(report))
}

/// A page of texts and lengths in its template. The template engine escapes every text.
///
/// # Errors
/// None that a view can cause; a fault in the template itself is told.
pub(super) fn fill(template: &str, view: impl Serialize) -> Result<String> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    let fault = |error| Error::invalid(format!("the report page cannot be rendered: {error:#}"));
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(fault)?);
    env.add_global("style", Value::from_safe_string(STYLE.into()));
    // The name's ending turns escaping on.
    env.render_named_str("page.html", template, Serde(view)).map_err(fault)
}

#[derive(Serialize)]
struct Page<'a> {
    file: &'a str,
    version: &'a str,
    schema: u32,
    facts: Vec<Fact>,
    heads: Vec<Head>,
    designs: Vec<Card<'a>>,
    legend: Vec<String>,
    pairs: Vec<Contest<'a>>,
    warnings: &'a [String],
    basis: &'a [String],
}

/// A named figure; `note` may be empty.
#[derive(Serialize)]
struct Fact {
    name: &'static str,
    value: String,
    note: String,
}

/// The head of a column of the comparison, and what it means.
#[derive(Serialize)]
struct Head {
    name: &'static str,
    hint: &'static str,
}

/// A figure of the comparison with its bar.
#[derive(Serialize)]
struct Figure {
    value: String,
    note: String,
    hot: bool,
    /// Length of the bar in percent.
    bar: String,
    /// Where the range begins and how long it is, in percent.
    range: Option<(String, String)>,
}

#[derive(Serialize)]
struct Card<'a> {
    key: String,
    hot: bool,
    state: String,
    verdict: &'a str,
    figures: Vec<Figure>,
    groups: Vec<(String, Vec<Fact>)>,
    drawing: Drawing,
    keys: Vec<KeyRow>,
    keys_hot: bool,
    spread: Vec<[String; 3]>,
    reads: Vec<[String; 6]>,
    skipped: Option<String>,
    skipped_examples: Vec<String>,
}

/// The heat map and the bar chart, which share their rows.
#[derive(Serialize)]
struct Drawing {
    height: u32,
    rows: Vec<Band>,
    /// Characters of the longest row label.
    label_chars: usize,
    map: Map,
    /// Where the limit is, in percent, and its text.
    limit: (String, String),
    load_label: String,
    peaks: bool,
}

/// The heat map.
#[derive(Serialize)]
struct Map {
    /// None without load.
    columns: usize,
    cells: Vec<Cell>,
    /// What is marked as throttled, as a path in a unit square.
    throttled: String,
    ticks: Vec<String>,
    caption: String,
    label: String,
}

/// A row: one partition, or a few neighbours of which the hottest is shown.
#[derive(Serialize)]
struct Band {
    name: String,
    labelled: bool,
    y: u32,
    height: u32,
    middle: u32,
    served: String,
    throttled: String,
    peak: Option<String>,
    share: String,
    hot: bool,
    title: String,
    #[serde(skip)]
    members: Range<usize>,
}

#[derive(Serialize)]
struct Cell {
    x: usize,
    y: u32,
    height: u32,
    step: usize,
    title: String,
}

#[derive(Serialize)]
struct KeyRow {
    key: String,
    share: String,
    bar: String,
    partition: u32,
    throttled: String,
}

#[derive(Serialize)]
struct Contest<'a> {
    a: String,
    b: String,
    a_share: String,
    b_share: String,
    a_bar: String,
    b_bar: String,
    verdict: &'a str,
}

impl<'a> Page<'a> {
    fn of(report: &'a Report) -> Self {
        let scales = Scales::of(report);
        Self {
            file: &report.file,
            version: &report.version,
            schema: report.schema,
            facts: facts(report),
            heads: scales.heads(),
            designs: report.designs.iter().map(|design| Card::of(report, design, &scales)).collect(),
            legend: STEPS.iter().map(|&step| legend(step)).collect(),
            pairs: report.pairs.iter().map(Contest::of).collect(),
            warnings: &report.warnings,
            basis: &report.basis,
        }
    }
}

/// What was loaded, onto what, and how.
fn facts(report: &Report) -> Vec<Fact> {
    let partitions = fact(
        "Partitions",
        count(report.partition_count),
        format!("{} {}/s each", rate(report.partition_limit_per_s), report.unit),
    );
    let load = match report.load {
        Load::Open { rate_per_s } => fact("Load", format!("{} writes/s", count(rate_per_s)), "open loop"),
        Load::Closed { workers } => fact("Load", format!("{} workers", count(workers)), "closed loop"),
    };
    let item = format!("{} {} a write", decimal(report.units_per_write, 2), report.unit);
    let mut facts = vec![
        fact("Profile", report.profile.clone(), ""),
        fact("Throughput", report.throughput.clone(), ""),
        partitions,
        load,
        fact("Item", format!("{} B", count(report.item_bytes)), item),
        fact("Layouts", count(report.layouts), ""),
        fact("Seed", report.seed.to_string(), ""),
    ];
    if let Some(windowing) = &report.windowing {
        let replayed = match windowing.replayed {
            all if all == windowing.count => "all".into(),
            some => count(some as u64),
        };
        let replayed = format!("by {}, {replayed} replayed", shown(&windowing.by, SHORT_CHARS));
        facts.push(fact("Windows", count(windowing.count as u64), replayed));
    }
    facts
}

/// What a full bar stands for in each column of the comparison. Columns that no design fills are left out.
struct Scales {
    served: f64,
    max_rate: Option<f64>,
    ceiling: f64,
    worst: bool,
    partitions: f64,
}

impl Scales {
    fn of(report: &Report) -> Self {
        let most = |figure: &dyn Fn(&Design) -> f64| report.designs.iter().map(figure).fold(0.0, f64::max);
        let max_rate = |d: &Design| d.max_rate_per_s.unwrap_or(0.0).max(d.max_rate_p95.unwrap_or(0.0));
        Self {
            served: most(&|d| d.offered_per_s.max(d.served_p95).max(d.served_per_s)),
            max_rate: report.designs.iter().any(|d| d.max_rate_per_s.is_some()).then(|| most(&max_rate)),
            ceiling: most(&|d| d.ceiling.settled),
            worst: report.designs.iter().any(|d| d.windows.is_some()),
            partitions: f64::from(report.partition_count),
        }
    }

    fn heads(&self) -> Vec<Head> {
        let head = |name, hint| Head { name, hint };
        let mut heads = vec![
            head(
                "Served/s",
                "Writes served a second, and the range over the layouts; the full bar is what was offered",
            ),
            head("Throttled", "Throttled attempts ÷ attempts"),
        ];
        if self.max_rate.is_some() {
            heads.push(head("Max rate/s", "The highest rate with at most 0.1 % of first attempts throttled"));
        }
        heads.extend([
            head("Hottest partition", "Its share of the offered units"),
            head("Hottest key", "Its share of the offered units"),
            head("Max/mean", "Offered units of the hottest partition ÷ the mean"),
            head(
                "Ceiling/s",
                "What the design can hold once the service has split for heat: the table, or the limit ÷ the share of the \
                 hottest key that no split divides. Below it what it can hold now; Cosmos DB does not split for heat",
            ),
        ]);
        if self.worst {
            heads.push(head("Worst window/s", "Writes served a second in the worst window"));
        }
        heads
    }

    fn figures(&self, design: &Design) -> Vec<Figure> {
        let d = design;
        let plain = |value, note, part, whole| Figure {
            value,
            note,
            hot: false,
            bar: percent(part, whole),
            range: None,
        };
        let ranged = |value: f64, low: f64, high: f64, whole| Figure {
            value: rate(value),
            note: range(low, high),
            hot: false,
            bar: percent(value, whole),
            range: (low < high).then(|| (percent(low, whole), percent(high - low, whole))),
        };
        let mut figures = vec![
            ranged(d.served_per_s, d.served_p5, d.served_p95, self.served),
            Figure {
                hot: is_hot(d),
                ..plain(share(d.throttled_share), String::new(), d.throttled_share, 1.0)
            },
        ];
        if let Some(whole) = self.max_rate {
            figures.push(match d.max_rate_per_s {
                Some(value) => {
                    ranged(value, d.max_rate_p5.unwrap_or(value), d.max_rate_p95.unwrap_or(value), whole)
                }
                None => plain(NONE.into(), String::new(), 0.0, whole),
            });
        }
        let partition = format!("partition {}", d.hottest_partition);
        // Without load there is no hottest key, and its empty name is not the name of one.
        let key = if d.hottest_key_share > 0.0 { shown(&d.hottest_key, SHORT_CHARS) } else { String::new() };
        figures.extend([
            plain(share(d.hottest_partition_share), partition, d.hottest_partition_share, 1.0),
            plain(share(d.hottest_key_share), key, d.hottest_key_share, 1.0),
            plain(times(d.max_over_mean), String::new(), d.max_over_mean, self.partitions),
            plain(rate(d.ceiling.settled), settling(&d.ceiling), d.ceiling.settled, self.ceiling),
        ]);
        if self.worst {
            figures.push(match &d.windows {
                Some(w) => plain(rate(w.worst), shown(&w.worst_name, SHORT_CHARS), w.worst, self.served),
                None => plain(NONE.into(), String::new(), 0.0, self.served),
            });
        }
        figures
    }
}

impl<'a> Card<'a> {
    fn of(report: &'a Report, design: &'a Design, scales: &Scales) -> Self {
        let hot = is_hot(design);
        Self {
            key: shown(&design.key, TEMPLATE_CHARS),
            hot,
            state: if design.writes == 0 {
                "nothing written".into()
            } else if hot {
                format!("{} throttled", share(design.throttled_share))
            } else {
                "within its limits".into()
            },
            verdict: &design.verdict,
            figures: scales.figures(design),
            groups: groups(design),
            drawing: Drawing::of(report, design),
            keys: design.top_keys.iter().take(KEYS_MAX).map(KeyRow::of).collect(),
            keys_hot: design.top_keys.iter().any(|key| key.throttled > 0),
            spread: design.spread.iter().map(|spread| spread_row(spread, report.layouts)).collect(),
            reads: design.reads.iter().map(read_row).collect(),
            skipped: (design.skipped_rows > 0).then(|| count(design.skipped_rows)),
            skipped_examples: design.skipped_examples.iter().map(|text| shown(text, KEY_CHARS)).collect(),
        }
    }
}

fn is_hot(design: &Design) -> bool {
    design.throttled_share > THROTTLED_OK
}

/// The small figures of a card, by the question they answer.
fn groups(d: &Design) -> Vec<(String, Vec<Fact>)> {
    let ranged = |name, value, low, high| fact(name, rate(value), range(low, high));
    let mut throughput = vec![
        fact("offered/s", rate(d.offered_per_s), ""),
        ranged("served/s", d.served_per_s, d.served_p5, d.served_p95),
        fact("throttled", share(d.throttled_share), ""),
        fact("gave up", share(d.gave_up_share), ""),
    ];
    if let Some(value) = d.max_rate_per_s {
        let (low, high) = (d.max_rate_p5.unwrap_or(value), d.max_rate_p95.unwrap_or(value));
        throughput.push(ranged("max rate/s", value, low, high));
    }
    throughput.push(fact("ceiling/s now", rate(d.ceiling.cold), ""));
    throughput.push(fact("ceiling/s settled", rate(d.ceiling.settled), minutes(&d.ceiling)));
    let skew = vec![
        fact(
            "hottest partition",
            share(d.hottest_partition_share),
            format!("partition {}", d.hottest_partition),
        ),
        fact("hottest key", share(d.hottest_key_share), ""),
        fact("… that no split divides", share(d.hottest_unsplittable_share), ""),
        fact("max/mean", times(d.max_over_mean), ""),
        fact("Gini", decimal(d.gini, 2), ""),
        fact(
            "effective partitions",
            decimal(d.effective_partitions, 1),
            format!("of {}", count(d.partitions.len() as u64)),
        ),
    ];
    let run = vec![
        fact("p50", milliseconds(d.p50_ms), ""),
        fact("p99", milliseconds(d.p99_ms), ""),
        fact("p99.9", milliseconds(d.p999_ms), ""),
        fact("writes", count(d.writes), ""),
        fact("distinct keys", count(d.distinct_keys), ""),
        fact("finish, seconds", rate(d.seconds.ceil()), ""),
    ];
    let mut groups = vec![
        ("Throughput", throughput),
        // The drawing is of all windows, these are of one.
        (if d.windows.is_some() { "Skew in the median window" } else { "Skew of the offered units" }, skew),
        ("Response time and size", run),
    ];
    if let Some(w) = &d.windows {
        let mut windows = vec![
            fact("median served/s", rate(w.median), ""),
            fact("worst served/s", rate(w.worst), ""),
            fact("worst window", shown(&w.worst_name, SHORT_CHARS), ""),
            fact("its hottest key", shown(&w.worst_key, SHORT_CHARS), ""),
            fact("that key's share", share(w.worst_key_share), ""),
        ];
        windows.extend(w.worst_max_rate_per_s.map(|value| fact("worst max rate/s", rate(value), "")));
        groups.push(("Windows", windows));
    }
    if let Some(mix) = &d.mix {
        let reads = vec![
            fact("writes/s", rate(mix.writes_per_s), ""),
            fact("reads/s", rate(mix.reads_per_s), ""),
            fact("writes throttled", share(mix.writes_throttled_share), ""),
            fact("reads throttled", share(mix.reads_throttled_share), ""),
            fact(
                "read units/s",
                rate(mix.read_units_per_s),
                format!("of {} paid for", rate(mix.table_units_per_s)),
            ),
            fact(
                "hottest partition of reads",
                share(mix.hottest_partition_share),
                format!("partition {}", mix.hottest_partition),
            ),
        ];
        groups.push(("Reads under the load", reads));
    }
    let mut groups: Vec<(String, Vec<Fact>)> =
        groups.into_iter().map(|(name, facts)| (name.to_owned(), facts)).collect();
    groups.extend(d.indexes.iter().map(index_group));
    groups
}

/// What a design holds until it has settled, and how long that takes; empty when nothing changes.
fn settling(ceiling: &Ceiling) -> String {
    match ceiling.split_rounds {
        0 => String::new(),
        _ => format!("from {} {}", rate(ceiling.cold), minutes(ceiling)),
    }
}

fn minutes(ceiling: &Ceiling) -> String {
    match ceiling.split_rounds {
        0 => String::new(),
        _ => format!("in about {} min", decimal(ceiling.settle_minutes, 0)),
    }
}

fn index_group(index: &IndexFigures) -> (String, Vec<Fact>) {
    let refused: u64 = index.throttles.iter().map(|throttles| throttles.attempts).sum();
    let facts = vec![
        fact("key", shown(&index.key, SHORT_CHARS), ""),
        fact("writes with an entry", share(index.entries_share), ""),
        fact(
            "hottest partition",
            share(index.hottest_partition_share),
            format!("partition {} of {}", index.hottest_partition, count(index.partition_count)),
        ),
        fact("hottest key", share(index.hottest_key_share), shown(&index.hottest_key, SHORT_CHARS)),
        fact("writes it refused", count(refused), ""),
        fact("holds/s now", index.holds_per_s.map_or_else(|| NONE.into(), rate), ""),
        fact("ceiling/s after splits", index.ceiling_per_s.map_or_else(|| NONE.into(), rate), ""),
    ];
    (format!("Index {}", shown(&index.name, SHORT_CHARS)), facts)
}

impl KeyRow {
    fn of(load: &KeyLoad) -> Self {
        Self {
            key: shown(&load.key, KEY_CHARS),
            share: share(load.share),
            bar: percent(load.share, 1.0),
            partition: load.partition,
            throttled: count(load.throttled),
        }
    }
}

impl<'a> Contest<'a> {
    fn of(pair: &'a Pair) -> Self {
        Self {
            a: shown(&pair.a, TEMPLATE_CHARS),
            b: shown(&pair.b, TEMPLATE_CHARS),
            a_share: share(pair.a_wins_share),
            b_share: share(pair.b_wins_share),
            a_bar: percent(pair.a_wins_share, 1.0),
            b_bar: percent(pair.b_wins_share, 1.0),
            verdict: &pair.verdict,
        }
    }
}

fn spread_row(spread: &Spread, layouts: u32) -> [String; 3] {
    let layouts = format!("{} of {}", count(spread.layouts), count(layouts));
    let served = range(spread.served_min, spread.served_max);
    let served = if served.is_empty() { rate(spread.served_min) } else { served };
    [count(spread.partitions), layouts, served]
}

fn read_row(read: &ReadCost) -> [String; 6] {
    [
        shown(&read.filter, 80),
        read.plan.clone(),
        count(read.items),
        count(read.requests),
        count(read.partitions),
        decimal(read.units, 1),
    ]
}

/// What a partition was offered on average and at its peak, in units a second.
#[derive(Clone, Copy, Default)]
struct Offered {
    mean: f64,
    throttled: f64,
    peak: f64,
}

impl Drawing {
    fn of(report: &Report, design: &Design) -> Self {
        let (partitions, limit) = (&design.partitions, report.partition_limit_per_s);
        let offered: Vec<_> = (0..partitions.len()).map(|index| over_the_run(design, index)).collect();
        let mut rows = bands(partitions);
        let height = rows.last().map_or(0, |row| row.y + row.height);

        let fullest = offered.iter().map(|o| o.mean).fold(limit * LIMIT_MARGIN, f64::max);
        let peak = offered.iter().map(|o| o.peak).fold(0.0, f64::max);
        let scale = fullest.max(peak.min(limit * PEAK_LIMITS_MAX));
        let total = offered.iter().map(|o| o.mean).sum::<f64>();
        // A peak is worth a mark where load moves about; on an even load it would only blur a bar's end.
        let peaks = offered.iter().any(|o| o.peak > o.mean * LIMIT_MARGIN);
        for row in &mut rows {
            let Some(index) = first_max(row.members.clone(), |&index| offered[index].mean) else { continue };
            let (o, p) = (offered[index], &partitions[index]);
            let part = ratio(o.mean, total);
            row.served = percent(o.mean - o.throttled, scale);
            row.throttled = percent(o.throttled, scale);
            row.peak = peaks.then(|| percent(o.peak, scale));
            row.hot = o.throttled > o.mean * THROTTLED_OK;
            row.share = share(part);
            row.title = format!(
                "partition {}, {}..{}: {} units/s offered, {} throttled, peak {}",
                p.id,
                shown(&p.from, SHORT_CHARS),
                shown(&p.to, SHORT_CHARS),
                rate(o.mean),
                rate(o.throttled),
                rate(o.peak),
            );
        }

        Self {
            height,
            label_chars: rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(1),
            map: Map::of(design, limit, &rows, height),
            limit: (percent(limit, scale), rate(limit)),
            load_label: format!(
                "Load of {} partitions, each with a limit of {} units a second. Partition {} has most: {}.",
                partitions.len(),
                rate(limit),
                design.hottest_partition,
                share(design.hottest_partition_share),
            ),
            rows,
            peaks,
        }
    }
}

impl Map {
    fn of(design: &Design, limit: f64, rows: &[Band], height: u32) -> Self {
        let (partitions, heat) = (&design.partitions, &design.heat);
        let recorded = heat.columns.len();
        let columns = recorded.min((CELLS_MAX / rows.len().max(1)).clamp(1, COLUMNS_MAX));
        let (mut cells, mut throttled) = (Vec::new(), String::new());
        let mut hottest = (0.0, String::from("no load"));
        for row in rows {
            for x in 0..columns {
                let block = x * recorded / columns..(x + 1) * recorded / columns;
                let spots = block.flat_map(|column| row.members.clone().map(move |index| (column, index)));
                let Some((column, index)) = first_max(spots, |&(c, i)| at(&heat.attempted, c, i)) else {
                    continue;
                };
                let offered = at(&heat.attempted, column, index);
                if offered <= 0.0 {
                    continue;
                }
                let refused = at(&heat.throttled, column, index).min(offered);
                let name = shown(&heat.columns[column], SHORT_CHARS);
                let place = format!("{name}, partition {}", partitions[index].id);
                if offered > hottest.0 {
                    hottest = (offered, format!("{} of the limit at {place}", share(ratio(offered, limit))));
                }
                let title =
                    format!("{place}: {} units/s offered, {} throttled", rate(offered), rate(refused));
                cells.push(Cell {
                    x,
                    y: row.y,
                    height: row.height,
                    step: step(ratio(offered, limit)),
                    title,
                });
                if refused > 0.0 {
                    let part = ratio(refused, offered).max(MARK_MIN) * f64::from(row.height);
                    let (width, tall) = (1.0 / columns as f64, part / f64::from(height));
                    let (left, bottom) =
                        (x as f64 * width, f64::from(row.y + row.height) / f64::from(height));
                    // Writing to a string cannot fail.
                    let _ = write!(throttled, "M{left:.4} {bottom:.4}h{width:.4}v-{tall:.4}h-{width:.4}z");
                }
            }
        }
        let across = recorded.div_ceil(columns.max(1));
        let merged = rows.iter().map(|row| row.members.len()).max().unwrap_or(1);
        let mut caption = format!("column: {}", shown(&heat.unit, SHORT_CHARS));
        if across > 1 {
            let _ = write!(caption, ", the hottest of up to {across}");
        }
        if merged > 1 {
            let _ = write!(caption, "; row: the hottest of up to {merged} partitions");
        }
        let label = format!(
            "Heat map of {} columns by {} rows of partitions. Hottest cell: {}.",
            columns,
            rows.len(),
            hottest.1,
        );
        Self { columns, cells, throttled, ticks: ticks(&heat.columns), caption, label }
    }
}

/// Rows from top to bottom in ring order, as high as their ranges are wide.
fn bands(partitions: &[PartitionLoad]) -> Vec<Band> {
    let widths = widths(partitions);
    let merged = partitions.len().div_ceil(ROWS_MAX).max(1);
    let count = partitions.len().div_ceil(merged);
    let room = (count * ROW_PX).clamp(MAP_PX.start, MAP_PX.end) as f64;
    let whole = widths.iter().sum::<f64>();
    let (mut y, mut last_label) = (0, None);
    (0..partitions.len())
        .step_by(merged)
        .map(|first| {
            let members = first..(first + merged).min(partitions.len());
            let width = widths[members.clone()].iter().sum::<f64>();
            let height = ((room * width / whole).round() as u32).max(ROW_PX_MIN);
            let middle = y + height / 2;
            let labelled = last_label.is_none_or(|last| middle >= last + LABEL_PX);
            if labelled {
                last_label = Some(middle);
            }
            let (a, b) = (partitions[first].id, partitions[members.end - 1].id);
            let band = Band {
                name: if a == b { a.to_string() } else { format!("{a}–{b}") },
                labelled,
                y,
                height,
                middle,
                members,
                served: String::new(),
                throttled: String::new(),
                peak: None,
                share: String::new(),
                hot: false,
                title: String::new(),
            };
            y += height;
            band
        })
        .collect()
}

/// Widths of the ranges, in any unit; all the same when the bounds do not tell.
fn widths(partitions: &[PartitionLoad]) -> Vec<f64> {
    /// Cosmos DB clears the two highest bits of a V2 hash, so its ring ends at a quarter of the bytes' range
    /// although the last bound reads `FF`.
    const HASH_V2_END: f64 = 0.25;
    let even = vec![1.0; partitions.len()];
    let Some(mut bounds) = partitions.iter().map(|p| position(&p.from)).collect::<Option<Vec<_>>>() else {
        return even;
    };
    let Some(&last) = bounds.last() else { return even };
    bounds.push(if 0.0 < last && last < HASH_V2_END { HASH_V2_END } else { 1.0 });
    let widths: Vec<_> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let widest = widths.iter().copied().fold(0.0, f64::max);
    // Two partitions of one logical partition have the same token, hence no width: they get the least height.
    let odd = |&width: &f64| width < 0.0 || (width > 0.0 && width * WIDTH_RATIO_MAX < widest);
    if widths.iter().any(odd) { even } else { widths }
}

/// Where a bound lies, from 0 to 1: its leading hex digits as a fraction.
pub(super) fn position(bound: &str) -> Option<f64> {
    /// As many hex digits as a double holds exactly.
    const DIGITS: usize = 13;
    let digits: Vec<_> = bound.chars().map_while(|c| c.to_digit(16)).take(DIGITS).collect();
    let fraction = digits.iter().rev().fold(0.0, |sum, &digit| (sum + f64::from(digit)) / 16.0);
    (!digits.is_empty() || bound.is_empty()).then_some(fraction)
}

/// The partition over the whole run. Windows are replayed apart, each at the full rate: their mean is taken.
fn over_the_run(design: &Design, index: usize) -> Offered {
    let (heat, columns) = (&design.heat, design.heat.columns.len());
    let mean = |table: &[Vec<f64>]| ratio((0..columns).map(|c| at(table, c, index)).sum(), columns as f64);
    let p = &design.partitions[index];
    let (offered, refused) = match design.windows {
        Some(_) => (mean(&heat.attempted), mean(&heat.throttled)),
        None => (ratio(p.attempted, design.seconds), ratio(p.throttled, design.seconds)),
    };
    let peak = (0..columns).map(|c| at(&heat.attempted, c, index)).fold(offered, f64::max);
    Offered { mean: offered, throttled: refused.min(offered), peak }
}

/// A figure of a heat map; nothing where it has none.
fn at(table: &[Vec<f64>], column: usize, partition: usize) -> f64 {
    let value = table.get(column).and_then(|column| column.get(partition)).copied().unwrap_or(0.0);
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// The first of several that has the most.
pub(super) fn first_max<T>(mut items: impl Iterator<Item = T>, load: impl Fn(&T) -> f64) -> Option<T> {
    let first = items.next()?;
    Some(items.fold(first, |best, item| if load(&item) > load(&best) { item } else { best }))
}

/// The colour of a load, in limits. The tolerance keeps a partition at its limit on the cool side.
pub(super) fn step(limits: f64) -> usize {
    const TOLERANCE: f64 = 1.0 + 1e-6;
    STEPS.iter().position(|&step| limits <= step * TOLERANCE).unwrap_or(STEPS.len())
}

pub(super) fn legend(step: f64) -> String {
    if step == 1.0 {
        "limit".into()
    } else if step < 1.0 {
        share(step)
    } else {
        times(step)
    }
}

/// Names of a few columns from the first to the last, evenly apart.
fn ticks(columns: &[String]) -> Vec<String> {
    let count = columns.len().min(TICKS_MAX);
    (0..count)
        .map(|tick| shown(&columns[tick * (columns.len() - 1) / (count - 1).max(1)], SHORT_CHARS))
        .collect()
}

fn fact(name: &'static str, value: String, note: impl Into<String>) -> Fact {
    Fact { name, value, note: note.into() }
}

#[cfg(test)]
mod tests;
