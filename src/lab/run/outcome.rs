//! From what was recorded to the report.

use super::diagnosis::diagnose;
use super::engine::{Engine, Load, Observer};
use super::figure::share;
use super::report::*;
use super::{Comparison, KeySpec, Scenario};
use crate::budget::Capacity;
use crate::client::RetryPolicy;
use crate::error::Result;
use crate::heat::Series;
use crate::lab::diagnosis::max_over_mean;
use crate::physics::{Adaptive, EventualReads};
use crate::profile::Service;
use crate::units::MILLI;
use std::collections::BTreeMap;

/// Columns of a course in the report.
const COURSE_BINS: u64 = 240;

/// Keys that are named.
const TOP_KEYS: usize = 10;

/// Candidates of each load, of which the keys that are named are found.
pub(super) const TOP_CANDIDATES: usize = 1_000;

/// Runs a scenario.
///
/// # Errors
/// When the scenario contradicts itself or is too large, and what the observer answers. What the *service* would refuse while
/// it runs (a mode switched too often, a throughput below the least) is told in the history of its table instead.
pub fn run(scenario: &Scenario, observer: &mut impl Observer) -> Result<RunReport> {
    let mut engine = Engine::new(scenario)?;
    // Figures that do not exist are found before an hour is simulated.
    let figures = scenario.thresholds.iter().map(|threshold| &threshold.figure);
    for figure in figures.chain(scenario.published.iter().map(|published| &published.figure)) {
        engine.figure(figure)?;
    }
    engine.run(observer)?;
    report(&engine)
}

fn report(engine: &Engine<'_>) -> Result<RunReport> {
    let scenario = engine.scenario;
    let thresholds = scenario
        .thresholds
        .iter()
        .map(|threshold| {
            let value = engine.figure(&threshold.figure)?;
            let (sign, passed) = match threshold.comparison {
                Comparison::Below => ("<", value < threshold.bound),
                Comparison::AtMost => ("<=", value <= threshold.bound),
                Comparison::AtLeast => (">=", value >= threshold.bound),
                Comparison::Above => (">", value > threshold.bound),
            };
            let threshold = format!("{} {sign} {}", threshold.figure, threshold.bound);
            Ok(ThresholdReport { threshold, value, passed })
        })
        .collect::<Result<_>>()?;
    let published = scenario
        .published
        .iter()
        .map(|published| {
            let ours = engine.figure(&published.figure)?;
            Ok(PublishedReport {
                figure: published.figure.to_string(),
                published: published.value,
                accepted: published.accepted,
                ours,
                reproduced: published.accepted.0 <= ours && ours <= published.accepted.1,
                source: published.source.clone(),
            })
        })
        .collect::<Result<_>>()?;
    let loads: Vec<LoadReport> = engine.loads.iter().map(|load| load_report(engine, load)).collect();
    let tables: Vec<TableReport> =
        (0..engine.tables.len()).map(|table| table_report(engine, table)).collect();
    let verdicts = diagnose(engine, &loads, &tables);
    Ok(RunReport {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        about: scenario.about.clone(),
        seed: scenario.seed.0,
        seconds: engine.now.nanos() as f64 / 1e9,
        loads,
        tables,
        verdicts,
        published,
        thresholds,
        basis: basis(engine),
    })
}

/// The name of a retry policy, as scenario files write it.
pub(super) fn retry_name(policy: RetryPolicy) -> &'static str {
    match policy {
        RetryPolicy::None => "none",
        RetryPolicy::AwsLegacy => "aws-legacy",
        RetryPolicy::AwsStandard => "aws-standard",
        RetryPolicy::AwsStandard2026 => "aws-standard-2026",
        RetryPolicy::Cosmos => "cosmos",
    }
}

fn load_report(engine: &Engine<'_>, load: &Load<'_>) -> LoadReport {
    let recorder = &load.recorder;
    let total = recorder.total(None);
    let seconds = recorder.first.map_or(0.0, |first| recorder.last.since(first).as_secs_f64());
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let milliseconds = |quantile: f64| match recorder.response_us.is_empty() {
        true => 0.0,
        false => recorder.response_us.value_at_quantile(quantile) as f64 / 1e3,
    };
    let mut reasons: Vec<ReasonCount> = recorder
        .refusals()
        .map(|(table, cause, capacity, count)| ReasonCount {
            reason: cause.reason(engine.base_of[table] != table, capacity),
            resource: engine.tables[table].name().to_owned(),
            limit: cause.to_string(),
            count,
        })
        .collect();
    reasons.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    let base = engine.place_of[load.spec.table];
    let dynamodb = engine.tables[base].profile().service() == Service::DynamoDb;
    let events = |count| if dynamodb { count } else { 0 };
    LoadReport {
        name: load.spec.name.clone(),
        table: engine.tables[base].name().to_owned(),
        retry: retry_name(load.spec.retry).into(),
        operations: total.offered,
        attempts: total.attempts,
        served: total.served,
        throttled: total.throttled,
        gave_up: total.gave_up,
        offered_per_s: offered_per_s(load, total.offered),
        served_per_s: per_second(total.served as f64),
        units_per_s: per_second(total.units_milli as f64 / MILLI as f64),
        throttled_share: share(total.throttled, total.attempts),
        gave_up_share: share(total.gave_up, total.offered),
        p50_ms: milliseconds(0.5),
        p99_ms: milliseconds(0.99),
        p999_ms: milliseconds(0.999),
        reasons,
        read_throttle_events: events(recorder.events[0]),
        write_throttle_events: events(recorder.events[1]),
        throttled_requests: events(recorder.throttled_requests),
        skew: skew(load),
        course: course(load),
    }
}

/// Operations begun a second, from the first to the end of the second of the last: what was asked for, not what came of it.
fn offered_per_s(load: &Load<'_>, offered: u64) -> f64 {
    let recorder = &load.recorder;
    let mut begun = recorder.bins().filter(|(_, bin)| bin.offered > 0).map(|(start, _)| start);
    let Some(first) = begun.next() else { return 0.0 };
    let last = begun.last().unwrap_or(first);
    offered as f64 / (last - first + recorder.width()) as f64
}

fn skew(load: &Load<'_>) -> Option<SkewReport> {
    let KeySpec::Drawn(keys) = &load.spec.keys else { return None };
    let loads = load.keys.logical_loads()?;
    let total: u64 = loads.iter().sum();
    let hundredth = keys.count.div_ceil(100);
    let came = |top: u64| {
        let top = usize::try_from(top).unwrap_or(usize::MAX);
        share(loads.iter().take(top).sum(), total)
    };
    let asked = |top| keys.distribution.expected_share(keys.count, top);
    Some(SkewReport {
        top_1_asked: asked(1),
        top_1: came(1),
        top_10_asked: asked(10),
        top_10: came(10),
        top_percent_asked: asked(hundredth),
        top_percent: came(hundredth),
    })
}

fn course(load: &Load<'_>) -> Course {
    let recorder = &load.recorder;
    let end = recorder.bins().last().map_or(0, |(start, _)| start) + recorder.width();
    let bin_seconds = (end.div_ceil(COURSE_BINS)).next_multiple_of(recorder.width()).max(1);
    let n = end.div_ceil(bin_seconds) as usize;
    let mut course = Course { bin_seconds, ..Course::default() };
    for series in [&mut course.offered, &mut course.served, &mut course.throttled, &mut course.units] {
        series.resize(n, 0.0);
    }
    for (start, bin) in recorder.bins() {
        let i = (start / bin_seconds) as usize;
        course.offered[i] += bin.offered as f64;
        course.served[i] += bin.served as f64;
        course.throttled[i] += bin.throttled as f64;
        course.units[i] += bin.units_milli as f64 / MILLI as f64;
    }
    for i in 0..n {
        // The last bin may be cut short.
        let width = (end - i as u64 * bin_seconds).min(bin_seconds) as f64;
        course.offered[i] /= width;
        course.served[i] /= width;
        course.throttled[i] /= width;
        course.units[i] /= width;
    }
    course
}

fn table_report(engine: &Engine<'_>, at: usize) -> TableReport {
    let table = &engine.tables[at];
    let asked = engine.asked_of(at);
    let total: u64 = asked.iter().map(|(_, asked)| *asked).sum();
    let end = engine.now.second() + 1;
    let bin_seconds = end.div_ceil(COURSE_BINS).next_power_of_two();
    let columns = end.div_ceil(bin_seconds) as usize;
    let mut partitions: Vec<_> = asked;
    partitions.sort_by_key(|(partition, _)| (partition.from, partition.born, partition.id));
    let seconds = |at: crate::clock::Instant| at.nanos() as f64 / 1e9;
    let place = |place: crate::physics::Place| match place.sort {
        0 => format!("{:032x}", place.token),
        sort => format!("{:032x}+{sort:016x}", place.token),
    };
    let partitions: Vec<PartitionReport> = partitions
        .into_iter()
        .map(|(partition, asked)| {
            let both = |of: fn(&crate::heat::Tally) -> u64| -> u64 {
                [Capacity::Read, Capacity::Write].iter().map(|c| of(&partition.tally(*c))).sum()
            };
            let series = |of: fn(&crate::heat::Tally) -> u64| -> Vec<f64> {
                spread(&partition.series, bin_seconds, columns, of)
            };
            PartitionReport {
                id: partition.id,
                from: place(partition.from),
                to: partition.to.map(place).unwrap_or_default(),
                width: table.width(partition),
                from_s: seconds(partition.born),
                until_s: partition.until.map(seconds),
                offered_units: asked as f64 / MILLI as f64,
                consumed_units: both(|tally| tally.consumed_milli) as f64 / MILLI as f64,
                throttles: both(|tally| tally.throttles),
                share: share(asked, total),
                serves: serves(table, partition),
                declined: partition.declined.map(|declined| declined.to_string()).unwrap_or_default(),
                attempted: series(|tally| tally.attempted_milli()),
                throttled: series(|tally| tally.throttled_milli),
            }
        })
        .collect();
    // Where each stands at the end, by the time that it was there.
    let now_s = seconds(engine.now);
    let at_end: Vec<f64> = partitions
        .iter()
        .filter(|partition| partition.until_s.is_none())
        .map(|partition| partition.offered_units / (now_s - partition.from_s).max(1.0))
        .collect();
    let mut history: Vec<HistoryReport> = table
        .history()
        .iter()
        .map(|entry| HistoryReport { at_s: seconds(entry.at), what: entry.what.clone() })
        .collect();
    let notes = engine.notes.iter().filter(|(table, ..)| *table == at);
    history.extend(notes.map(|(_, at, what)| HistoryReport { at_s: seconds(*at), what: what.clone() }));
    history.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let (top_keys, distinct_keys) = top_keys(engine, at);
    TableReport {
        name: table.name().to_owned(),
        is_index: engine.base_of[at] != at,
        profile: table.profile().name().to_owned(),
        throughput: table.throughput(),
        partitions_at_start: table.partitions_at_start(),
        partitions_at_end: table.partitions().len() as u32,
        max_over_mean: max_over_mean(&at_end),
        partitions,
        top_keys,
        distinct_keys,
        history,
        billed: table.billed().iter().map(|units| *units as f64).collect(),
        bin_seconds,
    }
}

/// Units a second of both capacities, in columns of equal width.
pub(in crate::lab) fn spread(
    series: &[Series],
    bin: u64,
    columns: usize,
    of: fn(&crate::heat::Tally) -> u64,
) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for series in series {
        for narrow in series.bins() {
            let milli = of(&narrow.tally) as f64;
            // Both widths are powers of two: one lies within the other.
            let first = (narrow.start_second / bin) as usize;
            let over = (narrow.width_seconds / bin).max(1) as usize;
            for sum in sums.iter_mut().skip(first).take(over) {
                *sum += milli / over as f64;
            }
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= MILLI as f64 * bin as f64);
    sums
}

/// The units a second at which a partition meets one of its limits while reads and writes keep their proportion.
fn serves(table: &crate::sim::SimTable, partition: &crate::sim::Partition) -> Vec<ServesReport> {
    let serves = |at: crate::clock::Instant, units_per_s| ServesReport {
        from_s: at.nanos() as f64 / 1e9,
        units_per_s,
    };
    let [read, write] = table.limit_of(partition);
    if table.profile().service() == Service::Cosmos && !partition.rates.is_empty() {
        return partition.rates.iter().map(|&(at, milli)| serves(at, milli as f64 / MILLI as f64)).collect();
    }
    let limit = match partition.offered_milli {
        [0, _] => write,
        [_, 0] => read,
        offered => {
            let [reads, writes] = offered.map(|milli| milli as f64);
            (reads + writes) / (reads / read).max(writes / write)
        }
    };
    vec![serves(partition.born, limit)]
}

fn top_keys(engine: &Engine<'_>, at: usize) -> (Vec<KeyReport>, Option<u64>) {
    let mut by_label: BTreeMap<String, (u64, u64, u128)> = BTreeMap::new();
    let (mut total, mut distinct, mut streams) = (0, Some(0), 0);
    for load in &engine.loads {
        let base = engine.place_of[load.spec.table] == at;
        let entries = load.entries.iter().filter(|(table, ..)| *table == at).map(|(_, keys, _)| keys);
        for keys in base.then_some(&load.keys).into_iter().chain(entries) {
            streams += 1;
            total += keys.offers();
            distinct = distinct.zip(keys.distinct()).map(|(sum, of)| sum + of);
            for (key, offers, throttles) in keys.top(TOP_CANDIDATES) {
                let sum = by_label.entry(keys.label(key)).or_insert_with(|| (0, 0, keys.token_of(key)));
                sum.0 += offers;
                sum.1 += throttles;
            }
        }
    }
    // Loads may share keys: then only the names tell how many there are.
    let distinct = match streams {
        0 | 1 => distinct,
        _ if by_label.len() < TOP_CANDIDATES => Some(by_label.len() as u64),
        _ => None,
    };
    let mut top: Vec<(String, (u64, u64, u128))> = by_label.into_iter().collect();
    top.sort_by_key(|(_, (offers, ..))| std::cmp::Reverse(*offers));
    let table = &engine.tables[at];
    let keys = top
        .into_iter()
        .take(TOP_KEYS)
        .map(|(key, (offers, throttles, token))| {
            let partition = table.route(crate::physics::Place { token, sort: 0 });
            let partition = table.partitions()[partition].id;
            KeyReport { key, share: share(offers, total), partition, throttles }
        })
        .collect();
    (keys, distinct)
}

/// What the figures rest on.
fn basis(engine: &Engine<'_>) -> Vec<String> {
    let mut basis =
        vec!["Response times count from the intended start; service times are assumed.".to_owned()];
    let mut add = |line: &str| {
        if !basis.iter().any(|known| known == line) {
            basis.push(line.to_owned());
        }
    };
    for table in &engine.tables {
        let switches = table.setup().switches;
        match table.profile().service() {
            Service::DynamoDb => {
                add(
                    "DynamoDB: limits of partitions, burst of 300 s and their order are documented; a ceiling that \
                     holds half a second's worth is fitted to a published load; the hash is a stand-in.",
                );
                if let Some(rule) = switches.heat_splits {
                    add(&format!(
                        "DynamoDB splits for heat after {} to {} minutes above {} % of a partition's limit: assumed, \
                         within what was measured by others.",
                        rule.seconds_min / 60,
                        rule.seconds_max / 60,
                        rule.hot_percent
                    ));
                }
                if switches.adaptive != Adaptive::Instant {
                    add("Adaptive capacity is switched to an earlier time.");
                }
                if switches.eventual_reads == EventualReads::ThreeReplicas {
                    add(
                        "Eventual reads are served by three replicas: measured by AWS, not documented as a limit.",
                    );
                }
            }
            Service::Cosmos => {
                add(
                    "Cosmos DB: even shares in one-second windows and splits past 10,000 RU/s are documented; keys lie \
                     where Azure puts them; charges follow published points.",
                );
                if switches.leak_per_mille > 0 {
                    add("Windows let more through than their share, as one published measurement suggests.");
                }
            }
        }
    }
    basis
}
