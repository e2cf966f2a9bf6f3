//! Charts over time: what a load offered, what was served and what was throttled, with what was published beside it.
//!
//! A drawing is stretched to the width there is; its lines keep their width and its texts stand beside it, so that it can be
//! read on a phone. All charts and heat maps of a run share one axis of time.

use super::mark::Mark;
use super::scale::{Scale, Tick, short};
use crate::cli::page::text::{percent, ratio, shown};
use crate::cli::prose::figure;
use hotplate::lab::run::{LoadReport, PublishedReport, RunReport};
use serde::Serialize;
use std::fmt::Write as _;

/// The height of a chart, in pixels.
const HEIGHT: u32 = 190;
/// What a drawing is wide and high inside, before it is stretched.
const INSIDE: (f64, f64) = (1_000.0, 200.0);
/// Labels at the right edge are at least so far from each other, in percent of the height.
const LABEL_STEP: f64 = 19.0;
/// When throttled attempts rise so many times above all else, as retries do, they get a chart of their own: the rest would
/// lie flat on its axis.
const TOWERING: f64 = 3.0;
/// Units that differ from operations by more than this get a chart of their own.
const UNITS_DIFFER: f64 = 0.01;

/// A chart.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    title: String,
    caption: String,
    label: String,
    height: u32,
    series: Vec<Series>,
    y: Vec<Tick>,
    x: Vec<Tick>,
    marks: Vec<Mark>,
    published: Vec<Published>,
}

/// A line of a chart.
#[derive(Debug, Serialize)]
struct Series {
    class: &'static str,
    name: &'static str,
    path: String,
    /// The surface below the line; empty for a line alone.
    area: String,
    mean: String,
}

/// A published figure: a line with the band that counts as reproduced.
#[derive(Debug, Serialize)]
struct Published {
    left: String,
    right: String,
    width: String,
    top: String,
    height: String,
    line: String,
    label_at: String,
    value: String,
    title: String,
}

/// The charts of a load: of its operations, and of its units where those are others.
pub(super) fn of_load(report: &RunReport, load: &LoadReport, marks: &[Mark]) -> Vec<Chart> {
    let time = Scale::of_time(report.seconds);
    let published = |name: &str| -> Vec<&PublishedReport> {
        report.published.iter().filter(|of| is_of(&of.figure, name, report, load)).collect()
    };
    let name = shown(&load.name, 64);
    let course = &load.course;
    let begin = |title: String, caption: &str| Chart {
        title,
        caption: format!("{caption}, means of {}\u{a0}s", course.bin_seconds),
        label: String::new(),
        height: HEIGHT,
        series: Vec::new(),
        y: Vec::new(),
        x: time.time_ticks(),
        marks: marks.to_vec(),
        published: Vec::new(),
    };
    let width = course.bin_seconds as f64;
    let mut charts = Vec::new();

    let of_served = published("served_per_s");
    let most = |course: &[f64]| course.iter().copied().fold(0.0, finite_max);
    let rest = of_served.iter().map(|of| of.accepted.1);
    let rest = rest.fold(most(&course.offered).max(most(&course.served)), finite_max);
    let apart = most(&course.throttled) > TOWERING * rest;
    let throttled = ("throttled", "throttled", &course.throttled, per_second(load, load.throttled), false);
    let mut lines = vec![("served", "served", &course.served, load.served_per_s, true), throttled];
    let caption = if apart {
        lines.pop();
        "operations a second; what was throttled is far more and drawn below"
    } else {
        "operations a second; throttled: attempts a second"
    };
    lines.push(("offered", "offered", &course.offered, load.offered_per_s, false));
    charts.push(begin(format!("Load {name}"), caption).filled(time, width, &lines, &of_served));
    if apart {
        let chart = begin(format!("Throttled, {name}"), "attempts a second");
        charts.push(chart.filled(time, width, &[throttled], &[]));
    }

    let of_units = published("units_per_s");
    let differ = (ratio(load.units_per_s, load.served_per_s) - 1.0).abs() > UNITS_DIFFER;
    if load.units_per_s > 0.0 && (differ || !of_units.is_empty()) {
        let units = begin(format!("Units of {name}"), "units consumed a second, indexes left out");
        let lines = [("served", "consumed", &course.units, load.units_per_s, true)];
        charts.push(units.filled(time, width, &lines, &of_units));
    }
    charts
}

/// Something a second over the time that a load took.
fn per_second(load: &LoadReport, count: u64) -> f64 {
    let seconds = ratio(load.served as f64, load.served_per_s);
    match seconds {
        0.0 => {
            let bins = &load.course.throttled;
            ratio(bins.iter().sum(), bins.len() as f64)
        }
        _ => ratio(count as f64, seconds),
    }
}

/// Whether a published figure is of this name and of this load alone.
fn is_of(told: &str, name: &str, report: &RunReport, load: &LoadReport) -> bool {
    let of = told.split(" during ").next().unwrap_or_default();
    match of.strip_prefix(name) {
        Some("") => report.loads.len() == 1,
        Some(rest) => rest.strip_prefix(" of ") == Some(load.name.as_str()),
        None => false,
    }
}

/// The seconds that a figure is about, as reports write them: `… during 60s..300s`.
fn window(told: &str) -> Option<(f64, f64)> {
    let (from, to) = told.rsplit_once(" during ")?.1.split_once("..")?;
    let seconds = |text: &str| text.strip_suffix('s')?.parse::<f64>().ok();
    Some((seconds(from)?, seconds(to)?))
}

type Line<'a> = (&'static str, &'static str, &'a Vec<f64>, f64, bool);

impl Chart {
    fn filled(mut self, time: Scale, width: f64, lines: &[Line<'_>], published: &[&PublishedReport]) -> Self {
        let most = lines.iter().flat_map(|line| line.2.iter().copied()).fold(0.0, finite_max);
        let most = published.iter().flat_map(|of| [of.published, of.accepted.1]).fold(most, finite_max);
        let values = Scale::of_values(most);
        self.y = values.value_ticks(short);
        self.label = format!("{}, {}.", self.title, self.caption);
        for &(class, name, course, mean, filled) in lines {
            let path = steps(course, width, time, values);
            let area = if filled { surface(course, width, time, values) } else { String::new() };
            let _ = write!(self.label, " {name}: {} on average.", figure(mean));
            self.series.push(Series { class, name, path, area, mean: figure(mean) });
        }
        self.published = published.iter().map(|of| Published::of(of, time, values)).collect();
        space_out(&mut self.published);
        self
    }
}

fn finite_max(most: f64, value: f64) -> f64 {
    if value.is_finite() { most.max(value) } else { most }
}

/// A line in steps, because a bin is a mean over its width.
fn steps(course: &[f64], width: f64, time: Scale, values: Scale) -> String {
    let mut path = String::new();
    let mut last = None;
    for (i, &value) in course.iter().enumerate() {
        let (from, to) = (i as f64 * width, ((i + 1) as f64 * width).min(time.end()));
        if from >= time.end() {
            break;
        }
        let y = (1.0 - values.along(value)) * INSIDE.1;
        let y = format!("{y:.1}");
        // Writing to a string cannot fail.
        if last.is_none() {
            let _ = write!(path, "M{:.1} {y}", time.along(from) * INSIDE.0);
        } else if last.as_ref() != Some(&y) {
            let _ = write!(path, "V{y}");
        }
        let _ = write!(path, "H{:.1}", time.along(to) * INSIDE.0);
        last = Some(y);
    }
    path
}

/// What lies below the line of `steps`.
fn surface(course: &[f64], width: f64, time: Scale, values: Scale) -> String {
    let end = time.along(course.len() as f64 * width) * INSIDE.0;
    let line = steps(course, width, time, values);
    if line.is_empty() { line } else { format!("{line}L{end:.1} {0} 0 {0}z", INSIDE.1) }
}

impl Published {
    fn of(of: &PublishedReport, time: Scale, values: Scale) -> Self {
        let (from, to) = window(&of.figure).unwrap_or((0.0, time.end()));
        let (least, most) = of.accepted;
        let (top, bottom) = (values.along(most), values.along(least));
        Self {
            left: time.percent(from),
            right: time.percent(to),
            width: percent(time.along(to) - time.along(from), 1.0),
            top: values.down(most),
            height: percent(top - bottom, 1.0),
            line: values.down(of.published),
            label_at: values.down(of.published),
            value: figure(of.published),
            title: format!(
                "{}: published {}, accepted {} to {}, here {}",
                shown(&of.figure, 96),
                figure(of.published),
                figure(least),
                figure(most),
                figure(of.ours)
            ),
        }
    }
}

/// Moves labels apart that would lie over each other.
fn space_out(published: &mut [Published]) {
    let at = |of: &Published| of.label_at.parse::<f64>().unwrap_or(0.0);
    published.sort_by(|a, b| at(a).total_cmp(&at(b)));
    let mut free = 0.0;
    for of in published.iter_mut() {
        let here = at(of).max(free);
        of.label_at = format!("{here:.2}");
        free = here + LABEL_STEP;
    }
    // What went over the lower edge comes back up, as far as there is room.
    let mut free = 100.0 - LABEL_STEP / 2.0;
    for of in published.iter_mut().rev() {
        let here = at(of).min(free).max(0.0);
        of.label_at = format!("{here:.2}");
        free = here - LABEL_STEP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_in_steps_and_ends_with_the_run() {
        let (time, values) = (Scale::of_time(30.0), Scale::of_values(10.0));
        let path = steps(&[10.0, 10.0, 0.0, 5.0], 10.0, time, values);
        assert_eq!(path, "M0.0 0.0H333.3H666.7V200.0H1000.0");
        assert_eq!(steps(&[], 10.0, time, values), "");
        let under = surface(&[10.0, 5.0], 10.0, time, values);
        assert!(under.ends_with("L666.7 200 0 200z"), "{under}");
    }

    #[test]
    fn a_window_is_read_from_the_figure() {
        assert_eq!(window("served_per_s of a during b during 60s..300s"), Some((60.0, 300.0)));
        for told in ["served_per_s", "served_per_s during", "x during 1..2", "x during as..bs"] {
            assert_eq!(window(told), None, "{told}");
        }
    }

    #[test]
    fn labels_do_not_lie_over_each_other() {
        let label = |at: &str| Published {
            left: String::new(),
            right: String::new(),
            width: String::new(),
            top: String::new(),
            height: String::new(),
            line: String::new(),
            label_at: at.into(),
            value: String::new(),
            title: String::new(),
        };
        let mut labels = [label("98.0"), label("40.0"), label("41.0"), label("97.0")];
        space_out(&mut labels);
        let at: Vec<f64> = labels.iter().map(|of| of.label_at.parse().unwrap()).collect();
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] > LABEL_STEP - 0.1), "{at:?}");
        assert!(at.iter().all(|at| (0.0..=100.0).contains(at)), "{at:?}");
    }
}
