//! The heat map of a table: time from left to right, the ring from top to bottom.
//!
//! ```text
//!        ┌──────────────┬───────────┐
//!   p0   │              │    p2     │   p2      a partition's cells are drawn while it lives, so a
//!        │              ├───────────┤           split is a row that divides at its time
//!        │              │    p3     │   p3
//!        ├──────────────┴───────────┤
//!   p1   │                          │   p1
//!        └──────────────────────────┘
//! ```
//!
//! The colour of a cell is what was asked for, in parts of what the partition serves. Other limits than its own refuse
//! too, so where something was refused the measure is what was served just then; elsewhere it is the partition's limit, and
//! burst that went over it reads as all of it. What was refused is hatched, so that it shows without colours too.
//!
//! A drawing has a bound: neighbouring ranges share a row past [`ROWS_MAX`], columns are joined, equal neighbours are one
//! rectangle. What is joined shows its hottest part, and the caption says so.

use super::mark::Mark;
use super::scale::{Scale, Tick};
use crate::cli::page::text::{percent, ratio, shown};
use crate::cli::page::{LABEL_PX, MAP_PX, MARK_MIN, ROW_PX, ROWS_MAX, first_max, position, step};
use crate::cli::prose::figure;
use hotplate::lab::percent as share;
use hotplate::lab::run::{PartitionReport, TableReport};
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::Range;

/// Columns of a heat map, at least and at the most.
const COLUMNS: Range<usize> = 24..240;
/// A row is at least so high, in pixels: with few rows, and with many. Part of one key is a range without width.
const ROW_PX_MIN: [u32; 2] = [LABEL_PX, 4];
/// So many rows are few.
const FEW_ROWS: usize = 24;
/// A partition that lived for less than this share of the run is not named beside it.
const BRIEF: f64 = 0.01;
/// A part of this many seconds that a partition lived in a bin is not told from the whole bin: rates would be noise.
const LIVED_MIN: f64 = 1.0;
/// The refused part of a cell is drawn in so many steps, so that equal neighbours can be one.
const MARK_STEPS: f64 = 10.0;

/// A heat map.
#[derive(Debug, Serialize)]
pub(super) struct HeatMap {
    label: String,
    caption: String,
    height: u32,
    cells: Vec<Cell>,
    /// The refused parts of cells, as a path in a unit square.
    throttled: String,
    borders: Vec<Border>,
    x: Vec<Tick>,
    marks: Vec<Mark>,
    left: Vec<Label>,
    right: Vec<Label>,
}

#[derive(Debug, Serialize)]
struct Cell {
    x: String,
    width: String,
    y: u32,
    height: u32,
    step: usize,
    title: String,
}

/// Where a partition ends: below it, and before it when it came by a split.
#[derive(Debug, Serialize)]
struct Border {
    x1: String,
    x2: String,
    y1: u32,
    y2: u32,
}

/// A partition's name beside its row.
#[derive(Debug, Serialize)]
struct Label {
    y: u32,
    text: String,
    hot: bool,
}

/// A row, or the part of one in which a partition lives.
struct Lane {
    y: u32,
    height: u32,
    members: Vec<usize>,
}

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Heat {
    asked: f64,
    refused: f64,
    member: usize,
    /// In parts of what the partition serves.
    limits: f64,
}

impl HeatMap {
    /// The map of a table in about `cells_max` cells; `None` where it has no partitions or was not asked for anything.
    pub(super) fn of(table: &TableReport, seconds: f64, marks: &[Mark], cells_max: usize) -> Option<Self> {
        let time = Scale::of_time(seconds);
        let asked = table.partitions.iter().flat_map(|of| &of.attempted).any(|&asked| asked > 0.0);
        if !asked {
            return None;
        }
        let ring = Ring::of(&table.partitions);
        let lanes = ring.lanes(&table.partitions);
        let bins = table.partitions.iter().map(|of| of.attempted.len()).max().unwrap_or(0);
        let columns = (cells_max / lanes.len().max(1)).clamp(COLUMNS.start, COLUMNS.end).min(bins);
        let mut map = Self {
            label: String::new(),
            caption: String::new(),
            height: ring.height,
            cells: Vec::new(),
            throttled: String::new(),
            borders: Vec::new(),
            x: time.time_ticks(),
            marks: marks.to_vec(),
            left: Vec::new(),
            right: Vec::new(),
        };
        let mut hottest: Option<(Heat, f64)> = None;
        for lane in &lanes {
            map.lane(table, lane, time, columns, &mut hottest);
        }
        if ring.merged == 1 {
            map.outline(table, &ring, time);
        }
        map.caption = caption(table, &ring, bins.div_ceil(columns.max(1)));
        let told = hottest.map_or_else(String::new, |(heat, at)| {
            let of = &table.partitions[heat.member];
            let (asked, refused) = (figure(heat.asked), figure(heat.refused));
            format!(
                " Hottest: partition {} at {} s, {asked} units/s asked for, {refused} refused.",
                of.id,
                figure(at)
            )
        });
        map.label = format!(
            "Heat map of {}: {} partitions over {} s.{told}",
            shown(&table.name, 64),
            table.partitions.len(),
            figure(time.end())
        );
        Some(map)
    }

    /// The cells of a lane, equal neighbours as one.
    fn lane(
        &mut self,
        table: &TableReport,
        lane: &Lane,
        time: Scale,
        columns: usize,
        hottest: &mut Option<(Heat, f64)>,
    ) {
        let bin = table.bin_seconds as f64;
        let bins = lane.members.iter().map(|&i| table.partitions[i].attempted.len()).max().unwrap_or(0);
        let look = |heat: &Heat| (step(heat.limits), mark(heat));
        let mut run: Option<(Heat, f64, f64)> = None;
        for column in 0..columns {
            let block = column * bins / columns..(column + 1) * bins / columns;
            let (from, to) = (block.start as f64 * bin, (block.end as f64 * bin).min(time.end()));
            let spots = block.flat_map(|at| lane.members.iter().filter_map(move |&i| spot(table, i, at)));
            let found = first_max(spots, |heat| heat.limits);
            // A lane of one partition ends where it does.
            let (from, to) = match lane.members[..] {
                [only] => {
                    let of = &table.partitions[only];
                    (from.max(of.from_s), to.min(of.until_s.unwrap_or(f64::INFINITY)))
                }
                _ => (from, to),
            };
            let found = found.filter(|_| from < to);
            if let Some(heat) = found
                && hottest.is_none_or(|(most, _)| heat.limits > most.limits)
            {
                *hottest = Some((heat, from));
            }
            match (&mut run, found) {
                (Some((most, _, end)), Some(heat)) if look(most) == look(&heat) && *end >= from => {
                    *end = to;
                    if heat.limits > most.limits {
                        *most = heat;
                    }
                }
                (_, found) => {
                    let done = std::mem::replace(&mut run, found.map(|heat| (heat, from, to)));
                    self.cell(table, lane, time, done);
                }
            }
        }
        self.cell(table, lane, time, run);
    }

    fn cell(&mut self, table: &TableReport, lane: &Lane, time: Scale, run: Option<(Heat, f64, f64)>) {
        let Some((heat, from, to)) = run else { return };
        let refused = match heat.refused {
            0.0 => String::new(),
            refused => format!(", {} of it refused", figure(refused)),
        };
        self.cells.push(Cell {
            x: time.percent(from),
            width: percent(to - from, time.end()),
            y: lane.y,
            height: lane.height,
            step: step(heat.limits),
            title: format!(
                "partition {}, {} to {} s: up to {} units/s asked for{refused}",
                table.partitions[heat.member].id,
                figure(from),
                figure(to),
                figure(heat.asked)
            ),
        });
        if heat.refused > 0.0 {
            let unit = f64::from(self.height.max(1));
            let (left, width) = (time.along(from), time.along(to) - time.along(from));
            let tall = mark(&heat) * f64::from(lane.height) / unit;
            let bottom = f64::from(lane.y + lane.height) / unit;
            // Writing to a string cannot fail.
            let _ = write!(self.throttled, "M{left:.4} {bottom:.4}h{width:.4}v-{tall:.4}h-{width:.4}z");
        }
    }

    /// Borders of partitions, and their names beside the map.
    fn outline(&mut self, table: &TableReport, ring: &Ring, time: Scale) {
        for of in &table.partitions {
            let (top, bottom) = ring.extent(of);
            let (x1, x2) = (time.percent(of.from_s), time.percent(of.until_s.unwrap_or(time.end())));
            if bottom < ring.height {
                self.borders.push(Border { x1: x1.clone(), x2, y1: bottom, y2: bottom });
            }
            if of.from_s > 0.0 {
                self.borders.push(Border { x1: x1.clone(), x2: x1, y1: top, y2: bottom });
            }
            let hot = of.throttles > 0;
            let y = top + (bottom - top) / 2;
            // What was divided at once, as by an event at the start, would be named over what it became.
            if of.from_s <= 0.0 && of.until_s.is_none_or(|until| time.along(until) > BRIEF) {
                self.left.push(Label { y, text: of.id.to_string(), hot });
            }
            if of.until_s.is_none() {
                self.right.push(Label { y, text: format!("{} · {}", of.id, share(of.share)), hot });
            }
        }
        for labels in [&mut self.left, &mut self.right] {
            labels.sort_by_key(|label| label.y);
            let mut last: Option<u32> = None;
            labels.retain(|label| {
                let there = last.is_none_or(|last| label.y >= last + LABEL_PX);
                if there {
                    last = Some(label.y);
                }
                there
            });
        }
    }
}

/// The refused part of a cell, in steps.
fn mark(heat: &Heat) -> f64 {
    match heat.refused {
        0.0 => 0.0,
        refused => ((ratio(refused, heat.asked) * MARK_STEPS).ceil() / MARK_STEPS).clamp(MARK_MIN, 1.0),
    }
}

/// What a partition was asked for in a bin, if anything.
fn spot(table: &TableReport, member: usize, bin: usize) -> Option<Heat> {
    let of = &table.partitions[member];
    let at = |course: &[f64]| course.get(bin).copied().filter(|value| value.is_finite()).unwrap_or(0.0);
    let width = table.bin_seconds as f64;
    let begin = bin as f64 * width;
    // A bin holds the sum over its width, of which the partition may have lived a part only.
    let lived = (begin + width).min(of.until_s.unwrap_or(f64::INFINITY)) - begin.max(of.from_s);
    let scale = width / lived.max(LIVED_MIN).min(width);
    let (asked, refused) = (at(&of.attempted) * scale, at(&of.throttled) * scale);
    if !asked.is_finite() || asked <= 0.0 {
        return None;
    }
    let refused = refused.max(0.0).min(asked);
    let limits = if refused > 0.0 {
        // All refused is hotter than anything.
        let served = asked - refused;
        if served > 0.0 { ratio(asked, served) } else { f64::MAX }
    } else {
        ratio(asked, serves(of, begin)).min(1.0)
    };
    Some(Heat { asked, refused, member, limits })
}

/// What a partition served at the most at a time.
fn serves(of: &PartitionReport, at_s: f64) -> f64 {
    let then = of.serves.iter().rev().find(|serves| serves.from_s <= at_s).or(of.serves.first());
    then.map_or(0.0, |serves| serves.units_per_s)
}

fn caption(table: &TableReport, ring: &Ring, joined: usize) -> String {
    let bin = table.bin_seconds;
    let mut caption = String::from(
        "colour: units asked for ÷ what the partition serves (where it refused some: what it served just then); ",
    );
    let _ = match joined {
        0 | 1 => write!(caption, "cells of {bin}\u{a0}s"),
        _ => write!(caption, "cells show the hottest {bin}\u{a0}s of up to {}", joined as u64 * bin),
    };
    if ring.merged > 1 {
        let _ = write!(
            caption,
            "; {} ranges are too many for rows of their own: a row shows the hottest of up to {}",
            ring.bounds.len(),
            ring.merged
        );
    }
    if ring.raised {
        let _ = write!(caption, "; rows are as high as ranges are wide, and at least {}\u{a0}px", ring.least);
    }
    caption
}

/// The ring in the finest ranges that there ever were.
struct Ring<'t> {
    /// Where each range begins.
    bounds: Vec<&'t str>,
    /// Ranges in a row.
    merged: usize,
    /// Where each row begins and, last, where the map ends.
    rows: Vec<u32>,
    height: u32,
    /// The least height of a row, and whether some have it without being as wide.
    least: u32,
    raised: bool,
}

impl<'t> Ring<'t> {
    fn of(partitions: &'t [PartitionReport]) -> Self {
        let mut bounds: Vec<&str> =
            partitions.iter().flat_map(|of| [of.from.as_str(), of.to.as_str()]).collect();
        // The end of the ring is no beginning; bounds are hexadecimal, so that their order is that of the ring.
        bounds.retain(|bound| !bound.is_empty());
        bounds.sort_unstable();
        bounds.dedup();
        let widths = widths(&bounds, partitions);
        let merged = bounds.len().div_ceil(ROWS_MAX).max(1);
        let n = bounds.len().div_ceil(merged);
        let room = (n * ROW_PX).clamp(MAP_PX.start, MAP_PX.end) as f64;
        let least = ROW_PX_MIN[usize::from(n > FEW_ROWS)];
        let (mut rows, mut raised) = (vec![0], false);
        let mut height = 0;
        for row in widths.chunks(merged) {
            let wanted = (room * row.iter().sum::<f64>()).round() as u32;
            raised |= wanted < least;
            height += wanted.max(least);
            rows.push(height);
        }
        Self { bounds, merged, rows, height, least, raised }
    }

    /// The first range of a partition and the one after its last.
    fn ranges(&self, of: &PartitionReport) -> Range<usize> {
        let find = |bound: &str| self.bounds.partition_point(|known| *known < bound);
        let to = if of.to.is_empty() { self.bounds.len() } else { find(&of.to) };
        find(&of.from)..to
    }

    /// Where a partition lies, in pixels; only where each range has its row.
    fn extent(&self, of: &PartitionReport) -> (u32, u32) {
        let ranges = self.ranges(of);
        let at = |range: usize| self.rows.get(range).copied().unwrap_or(self.height);
        let top = at(ranges.start);
        (top, at(ranges.end).max(top))
    }

    /// One lane for each partition; one for each row where rows are shared.
    fn lanes(&self, partitions: &[PartitionReport]) -> Vec<Lane> {
        if self.merged == 1 {
            let lane = |(i, of): (usize, &PartitionReport)| {
                let (top, bottom) = self.extent(of);
                Lane { y: top, height: bottom.saturating_sub(top), members: vec![i] }
            };
            return partitions.iter().enumerate().map(lane).collect();
        }
        let mut lanes: Vec<Lane> = self
            .rows
            .windows(2)
            .map(|pair| Lane { y: pair[0], height: pair[1] - pair[0], members: Vec::new() })
            .collect();
        for (i, of) in partitions.iter().enumerate() {
            let ranges = self.ranges(of);
            let rows = ranges.start / self.merged..ranges.end.div_ceil(self.merged).min(lanes.len());
            for lane in lanes.get_mut(rows).unwrap_or_default() {
                lane.members.push(i);
            }
        }
        lanes
    }
}

/// The share of the ring that each range holds; all the same when the bounds do not tell.
fn widths(bounds: &[&str], partitions: &[PartitionReport]) -> Vec<f64> {
    let even = vec![1.0 / bounds.len().max(1) as f64; bounds.len()];
    let Some(places) = bounds.iter().map(|bound| position(bound)).collect::<Option<Vec<f64>>>() else {
        return even;
    };
    // Hashes of Cosmos DB do not use the whole of their bytes' range: a partition's width tells how much of it.
    let whole = partitions.iter().filter(|of| of.width > 0.0 && !of.to.is_empty()).find_map(|of| {
        let whole = (position(&of.to)? - position(&of.from)?) / of.width;
        (whole.is_finite() && whole > 0.0).then_some(whole)
    });
    let ends = places.iter().skip(1).copied().chain([whole.unwrap_or(1.0)]);
    let widths: Vec<f64> =
        places.iter().zip(ends).map(|(from, to)| ratio(to - from, whole.unwrap_or(1.0)).max(0.0)).collect();
    if widths.iter().sum::<f64>() > 0.0 { widths } else { even }
}

#[cfg(test)]
#[path = "heat_tests.rs"]
mod tests;
