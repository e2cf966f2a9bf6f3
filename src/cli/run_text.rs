//! The report of a run as text: what was asked, figures, what happened, what it means, and how to get it again.

use super::prose::{counted, figure, is_share, millis, moment, wrapped};
use super::run::Told;
use super::table::{Align, Table, clean, cut};
use hotplate::lab::run::{LoadReport, RunReport, SkewReport, TableReport, ThresholdReport};
use hotplate::lab::{percent, whole};
use std::fmt::Write as _;

/// Longest key shown in a cell.
const KEY_CELL: usize = 24;
/// Longest name shown in a cell.
const NAME_CELL: usize = 32;
/// Things that happened to a table, listed at the most: the first and the last of them.
const HISTORY_MAX: usize = 12;
/// Reasons listed for each load at the most.
const REASONS_MAX: usize = 5;

/// The whole report of one run.
pub(crate) fn text(told: &Told) -> String {
    let report = &told.report;
    let mut out = String::new();
    heading(&mut out, told);
    let _ = write!(out, "\n{}", loads(report));
    let _ = write!(out, "\n{}", tables(report));
    section(&mut out, courses(report));
    section(&mut out, reasons(report));
    section(&mut out, history(report));
    section(&mut out, skews(report));
    published(&mut out, report);
    thresholds(&mut out, report);
    section(&mut out, verdicts(report));
    section(&mut out, told.notes.iter().map(|note| format!("note: {}", clean(note))).collect());
    section(&mut out, report.basis.iter().map(|line| clean(line)).collect());
    let _ = writeln!(out, "{}", clean(&told.replay));
    out
}

/// The report of a sweep: the figures side by side, then what each run means.
pub(crate) fn sweep_text(told: &[Told], parameter: &str, figures: &str) -> String {
    let mut out = String::new();
    let Some(first) = told.first() else { return out };
    about(&mut out, &first.report);
    let seed = first.report.seed;
    let _ = writeln!(out, "{} over {}, seed {seed}", counted(told.len() as u64, "run"), clean(parameter));
    let _ = write!(out, "\n{figures}");
    for told in told {
        let value = told.parameters.get(parameter).map(String::as_str).unwrap_or_default();
        let lines =
            verdicts(&told.report).into_iter().map(|line| format!("{parameter} = {}: {line}", clean(value)));
        section(&mut out, lines.collect());
        for threshold in told.report.thresholds.iter().filter(|threshold| !threshold.passed) {
            let line = format!("FAILED {} (it is {})", clean(&threshold.threshold), came_to(threshold));
            let _ = writeln!(out, "{}", wrapped(&line));
        }
    }
    section(&mut out, first.report.basis.iter().map(|line| clean(line)).collect());
    for told in told {
        let _ = writeln!(out, "{}", clean(&told.replay));
    }
    out
}

/// Lines below an empty one, if there are any.
fn section(out: &mut String, lines: Vec<String>) {
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        let _ = writeln!(out, "{}", wrapped(&line));
    }
}

fn about(out: &mut String, report: &RunReport) {
    let about = clean(&report.about.split_whitespace().collect::<Vec<_>>().join(" "));
    let name = clean(&report.scenario);
    let line = if about.is_empty() { name } else { format!("{name}: {about}") };
    let _ = writeln!(out, "{}", wrapped(&line));
}

fn heading(out: &mut String, told: &Told) {
    let report = &told.report;
    about(out, report);
    let operations: u64 = report.loads.iter().map(|load| load.operations).sum();
    let attempts: u64 = report.loads.iter().map(|load| load.attempts).sum();
    let mut line = format!(
        "seed {}, {} of virtual time, {} in {}",
        report.seed,
        moment(report.seconds),
        counted(operations, "operation"),
        counted(attempts, "request"),
    );
    for (i, (name, value)) in told.parameters.iter().enumerate() {
        let before = if i == 0 { "; " } else { ", " };
        let _ = write!(line, "{before}{} = {}", clean(name), clean(value));
    }
    let _ = writeln!(out, "{}", wrapped(&line));
}

/// Attempts for each operation.
fn attempts_per_operation(load: &LoadReport) -> f64 {
    if load.operations == 0 { 0.0 } else { load.attempts as f64 / load.operations as f64 }
}

fn loads(report: &RunReport) -> Table {
    let mut table = Table::new(&[
        ("load", Align::Left),
        ("table", Align::Left),
        ("retry", Align::Left),
        ("offered/s", Align::Right),
        ("served/s", Align::Right),
        ("throttled", Align::Right),
        ("gave up", Align::Right),
        ("requests/op", Align::Right),
        ("ms p50/p99/p99.9", Align::Right),
        ("units/s", Align::Right),
    ]);
    for load in &report.loads {
        table.row(vec![
            cut(&load.name, NAME_CELL),
            cut(&load.table, NAME_CELL),
            load.retry.clone(),
            figure(load.offered_per_s),
            figure(load.served_per_s),
            percent(load.throttled_share),
            percent(load.gave_up_share),
            figure(attempts_per_operation(load)),
            match load.served {
                0 => "–".into(),
                _ => format!("{}/{}/{}", millis(load.p50_ms), millis(load.p99_ms), millis(load.p999_ms)),
            },
            figure(load.units_per_s),
        ]);
    }
    table
}

fn tables(report: &RunReport) -> Table {
    let mut table = Table::new(&[
        ("table", Align::Left),
        ("profile", Align::Left),
        ("throughput", Align::Left),
        ("partitions", Align::Right),
        ("hottest partition", Align::Right),
        ("hottest key", Align::Right),
        ("max/mean", Align::Right),
    ]);
    for of in &report.tables {
        let partitions = match (of.partitions_at_start, of.partitions_at_end) {
            (start, end) if start == end => start.to_string(),
            (start, end) => format!("{start} → {end}"),
        };
        let hottest = of.partitions.iter().reduce(|a, b| if b.share > a.share { b } else { a });
        table.row(vec![
            cut(&of.name, NAME_CELL),
            of.profile.clone(),
            of.throughput.clone(),
            partitions,
            hottest
                .map_or_else(|| "–".into(), |hottest| format!("{} p{}", percent(hottest.share), hottest.id)),
            of.top_keys.first().map_or_else(
                || "–".into(),
                |key| format!("{} {}", percent(key.share), cut(&key.key, KEY_CELL)),
            ),
            figure(of.max_over_mean),
        ]);
    }
    table
}

fn reasons(report: &RunReport) -> Vec<String> {
    let mut lines = Vec::new();
    for load in report.loads.iter().filter(|load| !load.reasons.is_empty()) {
        let listed: Vec<String> = load
            .reasons
            .iter()
            .take(REASONS_MAX)
            .map(|reason| {
                format!(
                    "{} by {} of {} ({})",
                    whole(reason.count as f64),
                    clean(&reason.reason),
                    clean(&reason.resource),
                    clean(&reason.limit)
                )
            })
            .collect();
        let more = load.reasons.len().saturating_sub(REASONS_MAX);
        let more =
            if more > 0 { format!("; and {}", counted(more as u64, "more reason")) } else { String::new() };
        let events = load.read_throttle_events + load.write_throttle_events;
        let in_cloud_watch = match events {
            0 => String::new(),
            _ => format!(
                ". In CloudWatch: {} ReadThrottleEvents, {} WriteThrottleEvents, {} ThrottledRequests",
                whole(load.read_throttle_events as f64),
                whole(load.write_throttle_events as f64),
                whole(load.throttled_requests as f64)
            ),
        };
        lines.push(format!("{} throttled: {}{more}{in_cloud_watch}", clean(&load.name), listed.join("; ")));
    }
    lines
}

fn history(report: &RunReport) -> Vec<String> {
    report.tables.iter().flat_map(history_of).collect()
}

fn history_of(table: &TableReport) -> Vec<String> {
    let line = |at: usize| {
        let event = &table.history[at];
        format!("{} at {}: {}", clean(&table.name), moment(event.at_s), clean(&event.what))
    };
    let n = table.history.len();
    if n <= HISTORY_MAX {
        return (0..n).map(line).collect();
    }
    let half = HISTORY_MAX / 2;
    let left = format!("  … and {} between", counted((n - 2 * half) as u64, "more event"));
    (0..half).map(line).chain([left]).chain((n - half..n).map(line)).collect()
}

/// How skewed the keys came, beside what the distribution says; of a load on one key there is nothing to tell.
fn skews(report: &RunReport) -> Vec<String> {
    let one = |what: &str, described: Option<f64>, came: f64| {
        let came = percent(came);
        match described.map(percent) {
            Some(described) if described != came => format!("{what} {came} (described as {described})"),
            _ => format!("{what} {came}"),
        }
    };
    let line = |load: &LoadReport, skew: &SkewReport| {
        format!(
            "keys of {}, part of its operations: {}, {}, {}",
            clean(&load.name),
            one("the hottest key", skew.top_1_asked, skew.top_1),
            one("the ten hottest", skew.top_10_asked, skew.top_10),
            one("the hottest hundredth of all keys", skew.top_percent_asked, skew.top_percent)
        )
    };
    let several = |load: &&LoadReport| load.skew.as_ref().is_some_and(|skew| skew.top_1 < 1.0);
    report.loads.iter().filter(several).filter_map(|load| Some(line(load, load.skew.as_ref()?))).collect()
}

/// Characters of a course at the most.
const COURSE_WIDTH: usize = 60;

/// A course is drawn when its lowest part is under this share of its highest.
const COURSE_EVEN: f64 = 0.8;

/// What loads came to over time, where that changed.
fn courses(report: &RunReport) -> Vec<String> {
    let width = report.loads.iter().map(|load| load.name.chars().count()).max().unwrap_or(0).min(NAME_CELL);
    let line = |load: &LoadReport| {
        let (bars, most, seconds) = course(&load.course.served, load.course.bin_seconds)?;
        let name = clean(&cut(&load.name, NAME_CELL));
        Some(format!(
            "{name:width$} {bars} served/s up to {}, {} s each",
            figure(most),
            whole(seconds as f64)
        ))
    };
    let lines: Vec<String> = report.loads.iter().filter_map(line).collect();
    lines
}

/// Bars of eight heights for the means of a course, the highest mean and the seconds that a bar stands for; `None` where it
/// is even.
fn course(served: &[f64], bin_seconds: u64) -> Option<(String, f64, u64)> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let per_bar = served.len().div_ceil(COURSE_WIDTH).max(1);
    let means: Vec<f64> =
        served.chunks(per_bar).map(|bins| bins.iter().sum::<f64>() / bins.len() as f64).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    // The last bar is part of a bin only.
    let least = means.iter().rev().skip(1).copied().fold(most, f64::min);
    if most <= 0.0 || least >= most * COURSE_EVEN {
        return None;
    }
    let bar = |mean: f64| match mean {
        0.0 => ' ',
        // Nothing and hardly anything look different.
        mean => BARS[((mean / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    Some((means.into_iter().map(bar).collect(), most, per_bar as u64 * bin_seconds))
}

fn published(out: &mut String, report: &RunReport) {
    if report.published.is_empty() {
        return;
    }
    let mut table = Table::new(&[
        ("figure", Align::Left),
        ("published", Align::Right),
        ("accepted", Align::Right),
        ("here", Align::Right),
        ("", Align::Left),
    ]);
    for of in &report.published {
        let told = |value: f64| if is_share(&of.figure) { percent(value) } else { figure(value) };
        table.row(vec![
            of.figure.clone(),
            told(of.published),
            format!("{}–{}", told(of.accepted.0), told(of.accepted.1)),
            told(of.ours),
            if of.reproduced { "reproduced" } else { "NOT reproduced" }.into(),
        ]);
    }
    let _ = write!(out, "\n{table}");
    let mut told: Vec<&str> = Vec::new();
    for of in &report.published {
        if !told.contains(&of.source.as_str()) {
            told.push(&of.source);
            let _ = writeln!(out, "{}", wrapped(&format!("published: {}", clean(&of.source))));
        }
    }
}

/// What a threshold came to; the bound of a share is a number in the file's own words.
fn came_to(threshold: &ThresholdReport) -> String {
    let value = figure(threshold.value);
    match is_share(&threshold.threshold) {
        true => format!("{value}, {}", percent(threshold.value)),
        false => value,
    }
}

fn thresholds(out: &mut String, report: &RunReport) {
    if report.thresholds.is_empty() {
        return;
    }
    out.push('\n');
    for threshold in &report.thresholds {
        let word = if threshold.passed { "holds" } else { "FAILED" };
        let line = format!("{word}  {} (it is {})", clean(&threshold.threshold), came_to(threshold));
        let _ = writeln!(out, "{}", wrapped(&line));
    }
}

fn verdicts(report: &RunReport) -> Vec<String> {
    let line = |verdict: &hotplate::lab::run::Verdict| {
        format!("{}: {}", clean(&verdict.table), clean(&verdict.text))
    };
    report.verdicts.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_drawn_where_it_changes() {
        assert_eq!(course(&[100.0, 99.0, 101.0, 40.0], 1), None);
        assert_eq!(course(&[], 1), None);
        assert_eq!(course(&[0.0, 0.0], 1), None);
        let (bars, most, seconds) = course(&[0.0, 1.0, 50.0, 100.0], 5).unwrap();
        assert_eq!((bars.as_str(), most, seconds), (" ▁▄█", 100.0, 5));
        let (bars, _, seconds) = course(&(0..240).map(f64::from).collect::<Vec<_>>(), 2).unwrap();
        assert_eq!((bars.chars().count(), seconds), (60, 8));
    }
}
