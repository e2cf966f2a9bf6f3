//! The page of a run: its figures, events and verdicts as one HTML file that loads nothing.
//!
//! The simplest page that is correct: tables of the same figures as the text. Every text is escaped, since keys come from data.

use super::prose::figure;
use hotplate::lab::percent;
use hotplate::lab::run::RunReport;
use std::fmt::Write as _;

/// The page of some runs.
pub(crate) fn render(reports: &[RunReport]) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>hotplate run</title>\n<style>:root { color-scheme: light dark } body { \
         font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem } table { \
         border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left }</style>\n",
    );
    for report in reports {
        one(&mut out, report);
    }
    out.push_str("</html>\n");
    out
}

fn one(out: &mut String, report: &RunReport) {
    let _ = writeln!(out, "<h1>{}</h1>\n<p>{}</p>", escape(&report.scenario), escape(&report.about));
    let _ = writeln!(out, "<p>Seed {}, {} s of virtual time.</p>", report.seed, figure(report.seconds));
    for verdict in &report.verdicts {
        let _ =
            writeln!(out, "<p><strong>{}</strong>: {}</p>", escape(&verdict.table), escape(&verdict.text));
    }
    let loads = report.loads.iter().map(|load| {
        vec![
            load.name.clone(),
            load.table.clone(),
            figure(load.offered_per_s),
            figure(load.served_per_s),
            percent(load.throttled_share),
            percent(load.gave_up_share),
            figure(load.units_per_s),
        ]
    });
    table(out, &["load", "table", "offered/s", "served/s", "throttled", "gave up", "units/s"], loads);
    let tables = report.tables.iter().map(|table| {
        vec![
            table.name.clone(),
            table.profile.clone(),
            table.throughput.clone(),
            format!("{} → {}", table.partitions_at_start, table.partitions_at_end),
            figure(table.max_over_mean),
        ]
    });
    table(out, &["table", "profile", "throughput", "partitions", "max/mean"], tables);
    let events = report.tables.iter().flat_map(|table| {
        table
            .history
            .iter()
            .map(|event| vec![table.name.clone(), format!("{} s", figure(event.at_s)), event.what.clone()])
    });
    table(out, &["table", "at", "what happened"], events);
    let thresholds = report.thresholds.iter().map(|threshold| {
        let word = if threshold.passed { "holds" } else { "failed" };
        vec![word.to_owned(), threshold.threshold.clone(), figure(threshold.value)]
    });
    table(out, &["", "threshold", "value"], thresholds);
    let published = report.published.iter().map(|of| {
        let word = if of.reproduced { "reproduced" } else { "not reproduced" };
        vec![of.figure.clone(), figure(of.published), figure(of.ours), word.to_owned(), of.source.clone()]
    });
    table(out, &["figure", "published", "here", "", "source"], published);
    for line in &report.basis {
        let _ = writeln!(out, "<p>{}</p>", escape(line));
    }
}

/// A table, if it has rows.
fn table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let heads: String = heads.iter().map(|head| format!("<th>{}</th>", escape(head))).collect();
    let _ = writeln!(out, "<table>\n<tr>{heads}</tr>");
    for row in rows {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let _ = writeln!(out, "<tr>{cells}</tr>");
    }
    out.push_str("</table>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
