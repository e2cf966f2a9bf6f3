//! Tables of a page: figures as texts under heads, bounded, with what was left out told.

use crate::cli::page::text::{count, share, shown};
use crate::cli::page::{KEY_CHARS, SHORT_CHARS};
use crate::cli::prose::{figure, is_share, millis, moment};
use crate::cli::side_by_side::Beside;
use hotplate::lab::percent;
use hotplate::lab::run::{LoadReport, PartitionReport, RunReport, TableReport};
use serde::Serialize;

/// Characters of a sentence that others wrote.
pub(super) const SENTENCE_CHARS: usize = 2_000;

/// A table.
#[derive(Debug, Serialize)]
pub(super) struct Grid {
    pub(super) title: String,
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Row>,
    /// What is not shown; empty when all is.
    pub(super) left_out: String,
}

/// A column's head; `kind` is a class of the style.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    name: String,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Row {
    hot: bool,
    cells: Vec<String>,
}

/// A text, a number, or a name as it is written in data.
const TEXT: &str = "";
const NUM: &str = "num";
const CODE: &str = "code";

impl Grid {
    fn new(title: impl Into<String>, heads: &[(&str, &'static str)]) -> Self {
        let heads = heads.iter().map(|&(name, kind)| Head { name: name.into(), kind }).collect();
        Self { title: title.into(), heads, rows: Vec::new(), left_out: String::new() }
    }

    fn row(&mut self, hot: bool, cells: Vec<String>) {
        self.rows.push(Row { hot, cells });
    }

    /// Keeps the first and the last rows, `most` in all.
    fn bounded(mut self, most: usize, noun: &str) -> Self {
        let n = self.rows.len();
        if n > most {
            let (head, tail) = (most.div_ceil(2), most / 2);
            self.rows.drain(head..n - tail);
            self.left_out = format!("{} of {} {noun} are shown.", count(most as u64), count(n as u64));
        }
        self
    }

    /// Nothing where there are no rows.
    pub(super) fn some(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

/// Partitions in the order of the ring: when there are too many, those that were asked for most.
pub(super) fn partitions(table: &TableReport, most: usize) -> Grid {
    let heads = [
        ("Partition", NUM),
        ("Range", CODE),
        ("Of the ring", NUM),
        ("Lived", NUM),
        ("Serves/s", NUM),
        ("Share asked", NUM),
        ("Consumed", NUM),
        ("Throttles", NUM),
        ("Why it does not split", TEXT),
    ];
    let mut grid = Grid::new(format!("Partitions of {}", shown(&table.name, KEY_CHARS)), &heads);
    let mut listed: Vec<&PartitionReport> = table.partitions.iter().collect();
    if listed.len() > most {
        listed.sort_by(|a, b| b.share.total_cmp(&a.share));
        listed.truncate(most);
        grid.left_out = format!(
            "The {} of {} partitions that were asked for most are shown.",
            count(most as u64),
            count(table.partitions.len() as u64)
        );
    }
    for of in listed {
        let until = of.until_s.map_or_else(|| "end".into(), |until| format!("{} s", figure(until)));
        grid.row(
            of.throttles > 0,
            vec![
                of.id.to_string(),
                format!("{}..{}", bound(&of.from), bound(&of.to)),
                percent(of.width),
                format!("{}–{until}", figure(of.from_s)),
                serves(of),
                percent(of.share),
                figure(of.consumed_units),
                count(of.throttles),
                if of.declined.is_empty() { String::new() } else { shown(&of.declined, SENTENCE_CHARS) },
            ],
        );
    }
    grid
}

/// What a partition serves, and what it served before.
fn serves(of: &PartitionReport) -> String {
    let told = |serves: &hotplate::lab::run::ServesReport| figure(serves.units_per_s);
    match &of.serves[..] {
        [] => "–".into(),
        [only] => told(only),
        [first, last] => format!("{} → {}", told(first), told(last)),
        [first, .., last] => format!("{} … {}", told(first), told(last)),
    }
}

/// The beginning of a bound, which tells ranges apart; inside of a key, also where.
fn bound(text: &str) -> String {
    const DIGITS: usize = 8;
    let (token, sort) = text.split_once('+').unwrap_or((text, ""));
    let cut = |text: &str| text.chars().take(DIGITS).collect::<String>();
    match (token, sort) {
        ("", _) => String::new(),
        (token, "") => cut(token),
        (token, sort) => format!("{}+{}", cut(token), cut(sort)),
    }
}

/// The keys that were asked for most.
pub(super) fn keys(table: &TableReport) -> Grid {
    let distinct = table.distinct_keys.map_or_else(String::new, |n| format!(", of {}", count(n)));
    let heads = [("Key", CODE), ("Share", NUM), ("Partition", NUM), ("Throttles", NUM)];
    let mut grid = Grid::new(format!("Top keys of {}{distinct}", shown(&table.name, KEY_CHARS)), &heads);
    for key in &table.top_keys {
        let cells = vec![
            shown(&key.key, KEY_CHARS),
            share(key.share),
            key.partition.to_string(),
            count(key.throttles),
        ];
        grid.row(false, cells);
    }
    grid
}

/// What happened to a table, numbered as the marks are.
pub(super) fn history(table: &TableReport, most: usize) -> Grid {
    let heads = [("", NUM), ("At", NUM), ("What happened", TEXT)];
    let mut grid = Grid::new(format!("History of {}", shown(&table.name, KEY_CHARS)), &heads);
    for (i, event) in table.history.iter().enumerate() {
        let cells = vec![(i + 1).to_string(), moment(event.at_s), shown(&event.what, SENTENCE_CHARS)];
        grid.row(false, cells);
    }
    grid.bounded(most, "events")
}

/// What each load asked and got.
pub(super) fn loads(loads: &[LoadReport]) -> Grid {
    let heads = [
        ("Load", CODE),
        ("Table", CODE),
        ("Retry", TEXT),
        ("Operations", NUM),
        ("Requests", NUM),
        ("Per operation", NUM),
        ("Units/s", NUM),
        ("p50 ms", NUM),
        ("p99 ms", NUM),
        ("p99.9 ms", NUM),
    ];
    let mut grid = Grid::new("Requests and response times from the intended start", &heads);
    for load in loads {
        let per = if load.operations == 0 { 0.0 } else { load.attempts as f64 / load.operations as f64 };
        let ms = |ms: f64| if load.served == 0 { "–".into() } else { millis(ms) };
        grid.row(
            false,
            vec![
                shown(&load.name, KEY_CHARS),
                shown(&load.table, KEY_CHARS),
                load.retry.clone(),
                count(load.operations),
                count(load.attempts),
                figure(per),
                figure(load.units_per_s),
                ms(load.p50_ms),
                ms(load.p99_ms),
                ms(load.p999_ms),
            ],
        );
    }
    grid
}

/// Refusals by the limit that refused.
pub(super) fn refusals(loads: &[LoadReport], most: usize) -> Grid {
    let heads =
        [("Load", CODE), ("Refused", NUM), ("Reason", CODE), ("Of", CODE), ("Limit", TEXT), ("Share", NUM)];
    let mut grid = Grid::new("Refusals by reason", &heads);
    for load in loads {
        let all: u64 = load.reasons.iter().map(|reason| reason.count).sum();
        for reason in &load.reasons {
            grid.row(
                false,
                vec![
                    shown(&load.name, KEY_CHARS),
                    count(reason.count),
                    shown(&reason.reason, KEY_CHARS),
                    shown(&reason.resource, KEY_CHARS),
                    shown(&reason.limit, SENTENCE_CHARS),
                    percent(reason.count as f64 / all.max(1) as f64),
                ],
            );
        }
    }
    grid.bounded(most, "reasons")
}

/// Throttle events as CloudWatch counts them.
pub(super) fn cloud_watch(loads: &[LoadReport]) -> Grid {
    let heads = [
        ("Load", CODE),
        ("ReadThrottleEvents", NUM),
        ("WriteThrottleEvents", NUM),
        ("ThrottledRequests", NUM),
    ];
    let mut grid = Grid::new("As CloudWatch counts it", &heads);
    for load in loads.iter().filter(|load| load.read_throttle_events + load.write_throttle_events > 0) {
        let events = [load.read_throttle_events, load.write_throttle_events, load.throttled_requests];
        grid.row(false, [shown(&load.name, KEY_CHARS)].into_iter().chain(events.map(count)).collect());
    }
    grid
}

/// Skew that was asked for, beside what came.
pub(super) fn skew(loads: &[LoadReport]) -> Grid {
    let heads = [("Load", CODE), ("Share of", TEXT), ("Asked for", NUM), ("As it came", NUM)];
    let mut grid = Grid::new("Skew of the keys", &heads);
    for load in loads {
        let Some(skew) = load.skew else { continue };
        for (what, asked, came) in [
            ("the hottest key", skew.top_1_asked, skew.top_1),
            ("the ten hottest", skew.top_10_asked, skew.top_10),
            ("the hottest hundredth", skew.top_percent_asked, skew.top_percent),
        ] {
            let asked = asked.map_or_else(|| "–".into(), percent);
            grid.row(false, vec![shown(&load.name, KEY_CHARS), what.into(), asked, percent(came)]);
        }
    }
    grid
}

/// What had to hold.
pub(super) fn thresholds(report: &RunReport) -> Grid {
    let mut grid = Grid::new("Thresholds", &[("", TEXT), ("What had to hold", CODE), ("It is", NUM)]);
    for of in &report.thresholds {
        let word = if of.passed { "✓ holds" } else { "✗ FAILED" };
        let value = if is_share(&of.threshold) { percent(of.value) } else { figure(of.value) };
        grid.row(!of.passed, vec![word.into(), shown(&of.threshold, SENTENCE_CHARS), value]);
    }
    grid
}

/// Cosmos DB with autoscale: what is billed.
pub(super) fn billed(table: &TableReport, most: usize) -> Grid {
    let title = format!("Billed for {}", shown(&table.name, KEY_CHARS));
    let mut grid = Grid::new(title, &[("Hour", NUM), ("RU/s", NUM)]);
    for (hour, units) in table.billed.iter().enumerate() {
        grid.row(false, vec![(hour + 1).to_string(), figure(*units)]);
    }
    grid.bounded(most, "hours")
}

/// Runs side by side.
pub(super) fn beside(title: String, beside: &Beside) -> Grid {
    let mut grid = Grid::new(title, &[]);
    grid.heads = beside
        .heads
        .iter()
        .enumerate()
        .map(|(i, head)| Head {
            name: if head.is_empty() { "Figure".into() } else { shown(head, SHORT_CHARS) },
            kind: if i == 0 { TEXT } else { NUM },
        })
        .collect();
    for row in &beside.rows {
        grid.row(false, row.iter().map(|cell| shown(cell, KEY_CHARS)).collect());
    }
    grid.left_out = beside.notes.iter().map(|note| shown(note, SENTENCE_CHARS)).collect::<Vec<_>>().join(" ");
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_told_as_far_as_it_matters() {
        for (text, told) in [
            ("", ""),
            ("80000000000000000000000000000000", "80000000"),
            ("5a2f00000000000000000000000000ff+8000000000000000", "5a2f0000+80000000"),
        ] {
            assert_eq!(bound(text), told);
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        let mut grid = Grid::new("t", &[("n", NUM)]);
        (0..100).for_each(|i| grid.row(false, vec![i.to_string()]));
        let grid = grid.bounded(5, "events");
        let cells: Vec<&str> = grid.rows.iter().map(|row| row.cells[0].as_str()).collect();
        assert_eq!(cells, ["0", "1", "2", "98", "99"]);
        assert_eq!(grid.left_out, "5 of 100 events are shown.");
    }
}
