//! Promise: what both vendors and engineers have published about throughput comes out of the simulated tables.
//!
//! One test a bar, by the numbers of the list in `docs/fidelity.md`. Each names its source, its tolerance, its switches and
//! its seed. Everything runs in virtual time.

mod budgets;
mod cosmos;
mod keys;
mod loads;
mod metering;
mod splits;

use hotplate::Seed;
use hotplate::lab::run::{Clients, DrawnKeys, LoadReport, LoadSpec, RunReport, Scenario, TableSpec, run};
use hotplate::lab::{Distribution, Phase, RateShape, Spacing};
use std::time::Duration;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

fn uniform(name: &str, count: u64) -> DrawnKeys {
    DrawnKeys::new(name, count, Distribution::Uniform)
}

fn open(shape: RateShape, lasts: Duration) -> Clients {
    Clients::Open(vec![Phase { shape, lasts, spacing: Spacing::Even }])
}

/// One table under one load.
fn one(table: TableSpec, load: LoadSpec, seed: u64) -> Scenario {
    Scenario::new("reproduction", Seed(seed)).table(table).load(load)
}

fn ran(scenario: &Scenario) -> RunReport {
    run(scenario, &mut ()).unwrap()
}

/// The mean of a course over some seconds.
fn mean(load: &LoadReport, series: &[f64], from: u64, to: u64) -> f64 {
    let bin = load.course.bin_seconds;
    let bins: Vec<f64> = (0..)
        .zip(series)
        .filter(|(i, _)| from <= i * bin && (i + 1) * bin <= to)
        .map(|(_, value)| *value)
        .collect();
    assert!(!bins.is_empty(), "no bins from {from} to {to}");
    bins.iter().sum::<f64>() / bins.len() as f64
}

#[track_caller]
fn near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= expected * share, "{value} is not {expected} within {share}");
}
