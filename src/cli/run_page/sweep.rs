//! A sweep's charts: what was served, and what was throttled, over the values of a parameter.
//!
//! Values stand at equal distances in the order they were given in: a parameter may be a word, and 1, 10 and 100 would lie
//! on each other otherwise.

use super::scale::{Scale, Tick, short, short_share};
use crate::cli::page::SHORT_CHARS;
use crate::cli::page::text::{percent, shown};
use crate::cli::prose::figure;
use crate::cli::run::Told;
use hotplate::lab::percent as share;
use hotplate::lab::run::LoadReport;
use serde::Serialize;

/// Loads that are drawn at the most: as many as there are colours.
const LOADS_MAX: usize = 6;
/// Values that are written below a chart at the most.
const LABELS_MAX: usize = 16;

/// A chart over the values.
#[derive(Debug, Serialize)]
pub(super) struct SweepChart {
    title: &'static str,
    caption: String,
    label: String,
    y: Vec<Tick>,
    x: Vec<Tick>,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    points: Vec<Point>,
    segments: Vec<[String; 4]>,
}

#[derive(Debug, Serialize)]
struct Point {
    x: String,
    y: String,
    title: String,
}

type FigureOf = fn(&LoadReport) -> f64;

/// The charts of a sweep.
pub(super) fn charts(told: &[Told], parameter: &str, values: &[&str]) -> Vec<SweepChart> {
    let served: FigureOf = |load| load.served_per_s;
    let throttled: FigureOf = |load| load.throttled_share;
    [("Served a second", served, false), ("Throttled share of attempts", throttled, true)]
        .map(|(title, of, is_share)| chart(told, parameter, values, title, of, is_share))
        .into()
}

fn chart(
    told: &[Told],
    parameter: &str,
    values: &[&str],
    title: &'static str,
    of: FigureOf,
    is_share: bool,
) -> SweepChart {
    let text = if is_share { short_share } else { short };
    let exact: fn(f64) -> String = if is_share { share } else { figure };
    let mut names: Vec<&str> = Vec::new();
    for load in told.iter().flat_map(|told| &told.report.loads) {
        if !names.contains(&load.name.as_str()) {
            names.push(&load.name);
        }
    }
    let all = names.len();
    names.truncate(LOADS_MAX);
    let find = |told: &Told, name: &str| told.report.loads.iter().find(|load| load.name == name).map(of);
    let most = told
        .iter()
        .flat_map(|told| names.iter().filter_map(move |name| find(told, name)))
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let scale = if is_share && most > 0.0 { Scale::of_values(most.min(1.0)) } else { Scale::of_values(most) };
    let at = |i: usize| percent(i as f64 + 0.5, values.len() as f64);
    let lines = names
        .iter()
        .map(|name| {
            let points: Vec<Point> = told
                .iter()
                .enumerate()
                .filter_map(|(i, told)| {
                    let value = find(told, name)?;
                    let with = values.get(i).copied().unwrap_or_default();
                    let title = format!(
                        "{}, {} = {}: {}",
                        shown(name, SHORT_CHARS),
                        shown(parameter, SHORT_CHARS),
                        shown(with, SHORT_CHARS),
                        exact(value)
                    );
                    Some(Point { x: at(i), y: scale.down(value), title })
                })
                .collect();
            let segment =
                |pair: &[Point]| [pair[0].x.clone(), pair[0].y.clone(), pair[1].x.clone(), pair[1].y.clone()];
            let segments = points.windows(2).map(segment).collect();
            Line { name: shown(name, SHORT_CHARS), points, segments }
        })
        .collect();
    let every = values.len().div_ceil(LABELS_MAX).max(1);
    let x = values
        .iter()
        .enumerate()
        .filter(|(i, _)| i % every == 0)
        .map(|(i, value)| Tick { at: at(i), text: shown(value, SHORT_CHARS) })
        .collect();
    let mut caption = format!("over {}, values at equal distances", shown(parameter, SHORT_CHARS));
    if all > LOADS_MAX {
        caption.push_str(&format!("; the first {LOADS_MAX} of {all} loads"));
    }
    let label = format!("{title} {caption}.");
    SweepChart { title, caption, label, y: scale.value_ticks(text), x, lines }
}
