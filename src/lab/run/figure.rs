//! One figure of a run: for thresholds, published figures and sweeps.

use super::engine::Engine;
use super::recorder::Bin;
use super::{Figure, FigureName};
use crate::error::{Error, Result};
use crate::units::MILLI;
use std::fmt;

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(load) = &self.load {
            write!(f, " of {load}")?;
        }
        if let Some((from, to)) = self.during {
            write!(f, " during {}s..{}s", from.as_secs(), to.as_secs())?;
        }
        Ok(())
    }
}

/// `part ÷ whole`, zero of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Engine<'_> {
    /// The value of a figure when the run is over.
    pub(super) fn figure(&self, figure: &Figure) -> Result<f64> {
        let loads: Vec<_> = match &figure.load {
            None => self.loads.iter().collect(),
            Some(name) => {
                let load = self.loads.iter().find(|load| load.spec.name == *name).ok_or_else(|| {
                    let names: Vec<&str> = self.loads.iter().map(|load| load.spec.name.as_str()).collect();
                    Error::invalid(format!("no load is called {name}; there are: {}", names.join(", ")))
                })?;
                vec![load]
            }
        };
        let window = figure.during.map(|(from, to)| (from.as_secs(), to.as_secs()));
        let mut bin = Bin::default();
        for load in &loads {
            let of = load.recorder.total(window);
            bin.offered += of.offered;
            bin.served += of.served;
            bin.gave_up += of.gave_up;
            bin.attempts += of.attempts;
            bin.throttled += of.throttled;
            bin.units_milli += of.units_milli;
        }
        let first = loads.iter().filter_map(|load| load.recorder.first).min();
        let last = loads.iter().map(|load| load.recorder.last).max().unwrap_or(self.now);
        let lasted = first.map_or(0.0, |first| last.since(first).as_secs_f64());
        let seconds = match figure.during {
            Some((from, to)) => to.saturating_sub(from).as_secs_f64(),
            None => lasted,
        };
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let quantile = |quantile: f64| {
            let mut all = crate::lab::replay::new_histogram();
            for load in &loads {
                // Histograms of one shape add up.
                let _ = all.add(&load.recorder.response_us);
            }
            if all.is_empty() { 0.0 } else { all.value_at_quantile(quantile) as f64 / 1e3 }
        };
        Ok(match figure.name {
            FigureName::ServedPerS => per_second(bin.served as f64),
            FigureName::UnitsPerS => per_second(bin.units_milli as f64 / MILLI as f64),
            FigureName::ThrottledShare => share(bin.throttled, bin.attempts),
            FigureName::GaveUpShare => share(bin.gave_up, bin.offered),
            FigureName::AttemptsPerOperation => share(bin.attempts, bin.offered),
            FigureName::P50Ms => quantile(0.5),
            FigureName::P99Ms => quantile(0.99),
            FigureName::P999Ms => quantile(0.999),
            FigureName::Seconds => lasted,
            FigureName::HottestPartitionShare => {
                let shares = (0..self.tables.len()).map(|table| self.hottest_partition_share(table));
                shares.fold(0.0, f64::max)
            }
            FigureName::HottestKeyShare => {
                let shares = loads.iter().map(|load| {
                    let top = load.keys.top(1).first().map_or(0, |&(_, offers, _)| offers);
                    share(top, load.keys.offers())
                });
                shares.fold(0.0, f64::max)
            }
            FigureName::Partitions => self.tables[0].partitions().len() as f64,
            FigureName::Splits => self.tables.iter().map(|table| table.splits()).sum::<u64>() as f64,
        })
    }

    fn hottest_partition_share(&self, table: usize) -> f64 {
        let asked = self.asked_of(table);
        let most = asked.iter().map(|(_, asked)| *asked).max().unwrap_or(0);
        share(most, asked.iter().map(|(_, asked)| *asked).sum())
    }

    /// What each partition of a table was asked for, in thousandths of a unit, retries left out; those that are no more
    /// first.
    pub(super) fn asked_of(&self, table: usize) -> Vec<(&crate::sim::Partition, u64)> {
        let table = &self.tables[table];
        table
            .retired()
            .iter()
            .chain(table.partitions())
            .map(|partition| (partition, partition.offered_milli.iter().sum()))
            .collect()
    }
}
