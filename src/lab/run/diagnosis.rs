//! The evidence of a run, table by table, and what it says.

use super::engine::{Engine, Load};
use super::figure::share;
use super::key_stream::KeyStream;
use super::outcome::{TOP_CANDIDATES, spread};
use super::report::{LoadReport, PartitionReport, TableReport, Verdict, VerdictName};
use super::{Items, KeySpec};
use crate::budget::Capacity;
use crate::lab::diagnosis::{Evidence, HottestKey, Range, Recovery};
use crate::lab::{percent, whole};
use crate::physics::Cause;
use crate::profile::Service;
use crate::units::MILLI;
use std::collections::BTreeMap;

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
    // DynamoDB's reads and writes have limits of their own, and evidence is about those that were refused.
    let one_limit = table.profile().service() == Service::Cosmos || table.setup().switches.combined_limit;
    let capacities = match (causes.is_empty() || one_limit, writes) {
        (true, _) => 0..2,
        (false, true) => 1..2,
        (false, false) => 0..1,
    };
    let asked = engine.asked_of(at);
    let by_id: BTreeMap<u32, &crate::sim::Partition> = asked.iter().map(|(of, _)| (of.id, *of)).collect();
    let range = |partition: &PartitionReport| {
        range(partition, by_id.get(&partition.id).copied(), capacities.clone(), report.bin_seconds)
    };
    Evidence {
        name: report.name.clone(),
        is_index: report.is_index,
        service: table.profile().service(),
        on_demand: table.is_on_demand(),
        throughput: report.throughput.clone(),
        table_limit: table.table_limit(),
        partition_limit: table.partition_limit(table.hottest()),
        attempts: asked.iter().map(|(partition, _)| attempts(partition)).sum(),
        causes,
        ranges: report.partitions.iter().map(range).collect(),
        bin_seconds: report.bin_seconds,
        now_s: engine.now.nanos() as f64 / 1e9,
        hottest_key: hottest_key(engine, at, capacities.clone(), writes),
        heat_splits: table.setup().switches.heat_splits,
        recovery: recovery(engine, report, at, table.splits()),
    }
}

fn range(
    partition: &PartitionReport,
    of: Option<&crate::sim::Partition>,
    capacities: std::ops::Range<usize>,
    bin_seconds: u64,
) -> Range {
    let (mut offered, mut attempted) = (partition.offered_units, partition.attempted.clone());
    if let Some(of) = of.filter(|_| capacities.len() < 2) {
        offered = of.offered_milli[capacities.clone()].iter().sum::<u64>() as f64 / MILLI as f64;
        let columns = attempted.len();
        attempted = spread(&of.series[capacities], bin_seconds, columns, |tally| tally.attempted_milli());
    }
    Range {
        id: partition.id,
        from: partition.from.clone(),
        width: partition.width,
        from_s: partition.from_s,
        until_s: partition.until_s,
        offered,
        attempted,
    }
}

/// The key that loads of these capacities asked for most, and why a split cannot divide it.
fn hottest_key(
    engine: &Engine<'_>,
    at: usize,
    capacities: std::ops::Range<usize>,
    writes: bool,
) -> Option<HottestKey> {
    let mut keys: BTreeMap<String, (f64, u64)> = BTreeMap::new();
    let mut streams = Vec::new();
    for load in engine.loads.iter().filter(|load| load.draws_on(&capacities)) {
        if let Some((spec, stream, units)) = stream_of(engine, load, at, &capacities) {
            let top = stream.top(TOP_CANDIDATES);
            for &(key, offers, _) in &top {
                let sum = keys.entry(stream.label(key)).or_default();
                sum.0 += offers as f64 * units;
                sum.1 += offers;
            }
            streams.push((spec, stream, top));
        }
    }
    let total: u64 = streams.iter().map(|(_, stream, _)| stream.offers()).sum();
    // The first of equals, in the order of their names.
    let hotter = |a: &(String, (f64, u64)), b: &(String, (f64, u64))| {
        a.1.0.total_cmp(&b.1.0).then_with(|| b.0.cmp(&a.0))
    };
    let (label, (units, offers)) = keys.into_iter().max_by(hotter)?;
    // Loads may ask for other items of the key: the one that is refused most tells.
    let refused = |stream: &KeyStream, top: &[(u64, u64, u64)]| {
        let of = top.iter().find(|(key, ..)| stream.label(*key) == label);
        of.map(|&(key, offers, throttles)| (throttles, offers, key))
    };
    let (_, key, spec) = streams
        .iter()
        .filter_map(|(spec, stream, top)| {
            refused(stream, top).map(|(throttles, offers, key)| ((throttles, offers), key, *spec))
        })
        .max_by_key(|(heat, ..)| *heat)?;
    let whole = why_whole(engine, at, spec, key, writes);
    Some(HottestKey { share: share(offers, total), units, whole, label })
}

/// The keys that a load asks a table or index for, and the units of a request.
fn stream_of<'e>(
    engine: &'e Engine<'_>,
    load: &'e Load<'_>,
    at: usize,
    capacities: &std::ops::Range<usize>,
) -> Option<(&'e KeySpec, &'e KeyStream, f64)> {
    let base = engine.place_of[load.spec.table];
    if base == at {
        return Some((&load.spec.keys, &load.keys, load.units_each(capacities)));
    }
    let index = at.checked_sub(base + 1)?;
    let spec = engine.scenario.tables[load.spec.table].indexes.get(index)?;
    let entry = load.entries.iter().find(|(table, ..)| *table == at);
    entry.map(|(_, keys, milli)| (&spec.keys, keys, *milli as f64 / MILLI as f64))
}

/// Why a split cannot divide a key, where that is so.
fn why_whole(engine: &Engine<'_>, at: usize, spec: &KeySpec, key: u64, writes: bool) -> Option<String> {
    let table = &engine.tables[at];
    let why = if table.profile().service() == Service::Cosmos {
        "a logical partition stays on one physical partition"
    } else if table.setup().switches.local_index {
        "a local index keeps the items of a key on one partition"
    } else {
        match spec {
            KeySpec::Drawn(keys) => match keys.items {
                Items::One | Items::Random(0 | 1) => "it is one item",
                Items::Increasing if writes => "its sort key only grows",
                Items::Increasing | Items::Random(_) => return None,
            },
            KeySpec::Rows(rows) => {
                let key = u32::try_from(key).ok().filter(|key| (*key as usize) < rows.keys().len())?;
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
fn recovery(engine: &Engine<'_>, report: &TableReport, at: usize, splits: u64) -> Option<Recovery> {
    if splits == 0 {
        return None;
    }
    let born = report.partitions.iter().map(|partition| partition.from_s).filter(|born| *born > 0.0);
    let (first_s, last_s) = born.fold((f64::MAX, 0.0_f64), |(first, last), at| (first.min(at), last.max(at)));
    let between = |from: f64, to: f64| {
        let (mut throttled, mut attempts) = (0, 0);
        let here = |load: &&Load<'_>| engine.place_of[load.spec.table] == engine.base_of[at];
        for load in engine.loads.iter().filter(here) {
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
    let retries = load.recorder.throttled_retries;
    let passed = report.attempts.saturating_sub(report.throttled);
    // A policy whose quota is empty hardly retries: then it is the load itself that is throttled.
    if retries * 2 <= report.throttled || report.throttled <= passed || report.operations == 0 {
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
