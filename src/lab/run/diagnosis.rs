//! The evidence of a run, table by table, and what it says.

use super::engine::{Engine, Load};
use super::figure::share;
use super::report::{LoadReport, PartitionReport, TableReport, Verdict, VerdictName};
use super::{Items, KeySpec};
use crate::budget::Capacity;
use crate::client::RetryPolicy;
use crate::lab::diagnosis::{Evidence, HottestKey, Range, Recovery};
use crate::lab::{percent, whole};
use crate::physics::Cause;
use crate::profile::Service;

pub(super) fn diagnose(engine: &Engine<'_>, loads: &[LoadReport], tables: &[TableReport]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> =
        (0..tables.len()).filter_map(|at| evidence(engine, &tables[at], at).verdict()).collect();
    verdicts.extend(engine.loads.iter().zip(loads).filter_map(|(load, report)| storm(load, report)));
    // Trouble first; among it, the order of the tables.
    verdicts.sort_by_key(|verdict| verdict.name == VerdictName::Healthy);
    let sick: Vec<String> = verdicts
        .iter()
        .filter(|verdict| verdict.name != VerdictName::Healthy)
        .map(|verdict| verdict.table.clone())
        .collect();
    // A table with a sick index is not called healthy in the same breath.
    verdicts.retain(|verdict| {
        verdict.name != VerdictName::Healthy
            || !sick.iter().any(|table| table.split('/').next() == verdict.table.split('/').next())
    });
    verdicts
}

fn evidence(engine: &Engine<'_>, report: &TableReport, at: usize) -> Evidence {
    let table = &engine.tables[at];
    let mut causes: Vec<(Cause, Capacity, u64)> = Vec::new();
    for load in &engine.loads {
        for (_, cause, capacity, count) in load.recorder.refusals().filter(|(table, ..)| *table == at) {
            match causes.iter_mut().find(|(known, of, _)| (*known, *of) == (cause, capacity)) {
                Some((.., sum)) => *sum += count,
                None => causes.push((cause, capacity, count)),
            }
        }
    }
    let writes =
        causes.iter().max_by_key(|(.., count)| *count).is_none_or(|(_, of, _)| *of == Capacity::Write);
    let attempts = |partition: &crate::sim::Partition| {
        partition.tally(Capacity::Read).attempts() + partition.tally(Capacity::Write).attempts()
    };
    let key = report.top_keys.first();
    let specs = engine.loads.iter().filter_map(|load| keys_of(engine, load, at));
    let whole = specs.filter_map(|spec| why_whole(engine, at, spec, writes)).next();
    Evidence {
        name: report.name.clone(),
        is_index: report.is_index,
        service: table.profile().service(),
        on_demand: table.is_on_demand(),
        throughput: report.throughput.clone(),
        table_limit: table.table_limit(),
        partition_limit: table.partition_limit(table.hottest()),
        attempts: engine.asked_of(at).iter().map(|(partition, _)| attempts(partition)).sum(),
        causes,
        ranges: report.partitions.iter().map(range).collect(),
        bin_seconds: report.bin_seconds,
        now_s: engine.now.nanos() as f64 / 1e9,
        hottest_key: key.map(|key| HottestKey { label: key.key.clone(), share: key.share, whole }),
        heat_splits: table.setup().switches.heat_splits,
        recovery: recovery(engine, report, table.splits()),
    }
}

fn range(partition: &PartitionReport) -> Range {
    Range {
        id: partition.id,
        from: partition.from.clone(),
        width: partition.width,
        from_s: partition.from_s,
        until_s: partition.until_s,
        offered: partition.offered_units,
        attempted: partition.attempted.clone(),
    }
}

/// The keys that a load asks a table or index for.
fn keys_of<'e>(engine: &'e Engine<'_>, load: &'e Load<'_>, at: usize) -> Option<&'e KeySpec> {
    let base = engine.place_of[load.spec.table];
    if base == at {
        return Some(&load.spec.keys);
    }
    let index = at.checked_sub(base + 1)?;
    engine.scenario.tables[load.spec.table].indexes.get(index).map(|index| &index.keys)
}

/// Why a split cannot divide a key, where that is so.
fn why_whole(engine: &Engine<'_>, at: usize, spec: &KeySpec, writes: bool) -> Option<String> {
    let table = &engine.tables[at];
    let why = if table.profile().service() == Service::Cosmos {
        "a logical partition stays on one physical partition"
    } else if table.setup().switches.local_index {
        "a local index keeps the items of a key on one partition"
    } else {
        match spec {
            KeySpec::Drawn(keys) => match keys.items {
                Items::One => "it is one item",
                Items::Increasing if writes => "its sort key only grows",
                Items::Increasing | Items::Random(_) => return None,
            },
            KeySpec::Rows(rows) => {
                let top = engine.loads.iter().find_map(|load| load.keys.top(1).first().map(|top| top.0))?;
                let key = u32::try_from(top).ok().filter(|key| (*key as usize) < rows.keys().len())?;
                if !rows.is_unsplittable(key) {
                    return None;
                }
                "its sort key only grows, or it is one item"
            }
        }
    };
    Some(why.into())
}

/// How much was throttled before the first split and after the last.
fn recovery(engine: &Engine<'_>, report: &TableReport, splits: u64) -> Option<Recovery> {
    if splits == 0 {
        return None;
    }
    let born = report.partitions.iter().map(|partition| partition.from_s).filter(|born| *born > 0.0);
    let (first_s, last_s) = born.fold((f64::MAX, 0.0_f64), |(first, last), at| (first.min(at), last.max(at)));
    let between = |from: f64, to: f64| {
        let (mut throttled, mut attempts) = (0, 0);
        for load in &engine.loads {
            let bin = load.recorder.total(Some((from as u64, to as u64)));
            throttled += bin.throttled;
            attempts += bin.attempts;
        }
        share(throttled, attempts)
    };
    (first_s < f64::MAX).then(|| Recovery {
        splits,
        first_s,
        last_s,
        before: between(0.0, first_s),
        after: between(last_s + 1.0, f64::MAX),
    })
}

/// A client whose retries are most of what was refused.
fn storm(load: &Load<'_>, report: &LoadReport) -> Option<Verdict> {
    let retries = load.spec.retry != RetryPolicy::None;
    let passed = report.attempts.saturating_sub(report.throttled);
    if !retries || report.throttled <= passed || report.operations == 0 {
        return None;
    }
    let text = format!(
        "Load {} sent {:.1} requests for each operation, {} of them were throttled, {} of the operations were given up and \
         p99 is {} ms: with policy {} retries are most of what the table refuses.",
        report.name,
        report.attempts as f64 / report.operations as f64,
        percent(report.throttled_share),
        percent(report.gave_up_share),
        whole(report.p99_ms),
        report.retry,
    );
    Some(Verdict { name: VerdictName::RetryStorm, table: report.table.clone(), text })
}
