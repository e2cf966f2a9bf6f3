//! The verdict on a table in process: the same names as for a run, from what the table itself has counted.
//!
//! What was asked for includes retries here, because a table does not know which requests are retries.

use super::diagnosis::{Evidence, HottestKey, Range, Recovery, Verdict};
use crate::budget::{Capacity, Limit, PartitionId};
use crate::clock::Instant;
use crate::cluster::{PartitionReport, RetiredPartition, Table, TableReport};
use crate::document::Document;
use crate::heat::{Series, Tally};
use crate::physics::Cause;
use crate::profile::{Service, Throughput};
use crate::units::MILLI;

/// Columns of the courses that moving spots are looked for in.
const COLUMNS: u64 = 240;

/// What the evidence says about a table so far; `None` when nothing was asked of it.
///
/// ```
/// use hotplate::lab::{VerdictName, diagnose};
/// use hotplate::{Clock, ItemKey, Profile, Table};
/// use std::time::Duration;
///
/// let clock = Clock::manual();
/// let profile = Profile::dynamodb_provisioned(10_000, 10_000)?.with_partitions(10)?;
/// let table: Table<serde_json::Value> = Table::new("orders", profile, clock.now())?;
/// for order in 0..10_000_u64 {
///     let _ = table.put(&ItemKey::new("2018-08-09", 0_u64), serde_json::json!(order), clock.now());
///     clock.advance(Duration::from_micros(200));
/// }
/// let verdict = diagnose(&table, clock.now()).expect("there was load");
/// assert_eq!(verdict.name, VerdictName::HotKey);
/// assert!(verdict.text.contains("a split will not help, because it is one item"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diagnose<D: Document>(table: &Table<D>, now: Instant) -> Option<Verdict> {
    let report = table.report();
    let throughput = table.throughput();
    evidence(table, &report, &throughput, now).verdict()
}

fn evidence<D: Document>(
    table: &Table<D>,
    report: &TableReport,
    throughput: &Throughput,
    now: Instant,
) -> Evidence {
    let profile = table.profile();
    let service = profile.service();
    let pair = |throughput: &Throughput| {
        [throughput.read_rate(), throughput.write_rate()].map(|rate| rate.milli() as f64 / MILLI as f64)
    };
    let table_limit = pair(throughput);
    let partition_limit = match service {
        Service::DynamoDb => pair(profile.partition_throughput()),
        Service::Cosmos => table_limit.map(|limit| {
            let most = profile.partition_throughput().write_rate().milli() as f64 / MILLI as f64;
            (limit / report.partitions.len() as f64).min(most)
        }),
    };
    let bin_seconds = (now.second() + 1).div_ceil(COLUMNS).next_power_of_two();
    let columns = (now.second() + 1).div_ceil(bin_seconds) as usize;
    let live =
        report.partitions.iter().map(|partition| range(table, report, partition, bin_seconds, columns));
    let gone = report.retired.iter().map(|retired| range_of_retired(table, report, retired, columns));
    let mut ranges: Vec<Range> = live.chain(gone).collect();
    ranges.sort_by(|a, b| a.from.cmp(&b.from).then(a.from_s.total_cmp(&b.from_s)).then(a.id.cmp(&b.id)));
    let all = |of: fn(&PartitionReport) -> &Series| {
        report.partitions.iter().map(|partition| of(partition).totals()).sum::<Tally>()
    };
    let (reads, writes) = (all(|partition| &partition.reads), all(|partition| &partition.writes));
    let gone: Tally = report.retired.iter().map(|retired| retired.totals).sum();
    let total = [reads, writes, gone].into_iter().sum::<Tally>();
    // Limits are not counted by capacity: what was throttled more tells.
    let capacity = if reads.throttles > writes.throttles { Capacity::Read } else { Capacity::Write };
    let causes = Limit::ALL.iter().enumerate().map(|(i, limit)| {
        let cause = match (limit, service) {
            (Limit::KeyRange, _) => Cause::KeyRange,
            (Limit::Table, _) if profile.is_on_demand() => Cause::OnDemandPeak,
            (Limit::Table, _) => Cause::Provisioned,
            (Limit::PartitionShare, Service::DynamoDb) => Cause::EvenShare,
            (Limit::PartitionShare, Service::Cosmos) => Cause::PartitionShare,
        };
        let now = report.partitions.iter().map(|partition| partition.refusals[i]);
        let gone = report.retired.iter().map(|retired| retired.refusals[i]);
        (cause, capacity, now.chain(gone).sum())
    });
    let offered = ranges.iter().map(|range: &Range| range.offered).sum();
    Evidence {
        name: table.name().to_owned(),
        is_index: false,
        service,
        on_demand: profile.is_on_demand(),
        throughput: throughput.to_string(),
        table_limit,
        partition_limit,
        attempts: total.attempts(),
        causes: causes.filter(|(.., count)| *count > 0).collect(),
        ranges,
        bin_seconds,
        now_s: seconds(now),
        hottest_key: hottest_key(table, report, total, offered),
        heat_splits: profile.heat_splits(),
        recovery: recovery(report, now),
    }
}

fn seconds(at: Instant) -> f64 {
    at.nanos() as f64 / 1e9
}

fn range<D: Document>(
    table: &Table<D>,
    report: &TableReport,
    partition: &PartitionReport,
    bin_seconds: u64,
    columns: usize,
) -> Range {
    let from = &partition.range.from().token;
    let to = partition.range.to().map(|to| &to.token);
    let attempted = super::run::spread(
        &[partition.reads.clone(), partition.writes.clone()],
        bin_seconds,
        columns,
        |tally| tally.attempted_milli(),
    );
    Range {
        id: partition.id.0,
        from: partition.range.from().to_string(),
        width: table.profile().placement().width(from, to),
        from_s: born_s(report, &partition.parents),
        until_s: None,
        offered: (partition.reads.totals().attempted_milli() + partition.writes.totals().attempted_milli())
            as f64
            / MILLI as f64,
        attempted,
    }
}

/// When a partition began: when the last of those that it came from ended.
fn born_s(report: &TableReport, parents: &[PartitionId]) -> f64 {
    let of = report.retired.iter().filter(|retired| parents.last() == Some(&retired.id));
    of.map(|retired| seconds(retired.retired_at)).fold(0.0, f64::max)
}

/// A partition that is no more. Its course is not kept.
fn range_of_retired<D: Document>(
    table: &Table<D>,
    report: &TableReport,
    retired: &RetiredPartition,
    columns: usize,
) -> Range {
    let from = &retired.range.from().token;
    let to = retired.range.to().map(|to| &to.token);
    Range {
        id: retired.id.0,
        from: retired.range.from().to_string(),
        width: table.profile().placement().width(from, to),
        from_s: born_s(report, &retired.parents),
        until_s: Some(seconds(retired.retired_at)),
        offered: retired.totals.attempted_milli() as f64 / MILLI as f64,
        attempted: vec![0.0; columns],
    }
}

/// The key that was throttled most, or else consumed most, with its share of the requests (of the units, where nothing was
/// throttled).
fn hottest_key<D: Document>(
    table: &Table<D>,
    report: &TableReport,
    all: Tally,
    offered: f64,
) -> Option<HottestKey> {
    let consumed = table.top_keys(usize::MAX);
    let total: u64 = consumed.iter().map(|key| key.weight).sum();
    let throttled = table.top_throttled_keys(1).into_iter().next();
    let key = throttled
        .as_ref()
        .map_or_else(|| consumed.first().map(|key| key.key.clone()), |key| Some(key.key.clone()))?;
    let own = consumed.iter().find(|known| known.key == key).map_or(0, |known| known.weight);
    // Requests of the key that were served, by its part of the units.
    let served = own as f64 / total.max(1) as f64 * all.served as f64;
    let share = (served + throttled.map_or(0, |key| key.weight) as f64) / all.attempts().max(1) as f64;
    let partition = table
        .partition_of(&crate::key::ItemKey { partition: key.clone(), sort: crate::key::SortKey::none() });
    let declined = report
        .partitions
        .iter()
        .find(|report| report.id == partition)
        .and_then(|report| report.would_decline);
    let profile = table.profile();
    let whole = if profile.service() == Service::Cosmos {
        Some("a logical partition stays on one physical partition".to_owned())
    } else if profile.has_local_index() {
        Some("a local index keeps the items of a key on one partition".to_owned())
    } else if table.items_of(&key) <= 1 {
        Some("it is one item".to_owned())
    } else {
        declined.map(|declined| declined.to_string())
    };
    Some(HottestKey { label: key.to_string(), share, units: share * offered, whole })
}

/// Throttles before the first split and since the last, as far as partitions that are no more are remembered.
fn recovery(report: &TableReport, now: Instant) -> Option<Recovery> {
    let first = report.retired.iter().map(|retired| retired.retired_at).min()?;
    let last = report.retired.iter().map(|retired| retired.retired_at).max()?;
    let share = |tally: Tally| tally.throttles as f64 / tally.attempts().max(1) as f64;
    let before = report.retired.iter().map(|retired| retired.totals).sum();
    let after = report
        .partitions
        .iter()
        .flat_map(|partition| [&partition.reads, &partition.writes])
        .flat_map(|series| series.bins().filter(|bin| bin.start_second > last.second()))
        .map(|bin| bin.tally)
        .sum();
    (last < now).then(|| Recovery {
        splits: report.retired.len() as u64,
        first_s: seconds(first),
        last_s: seconds(last),
        before: share(before),
        after: share(after),
    })
}
