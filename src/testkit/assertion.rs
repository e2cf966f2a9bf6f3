//! Assertions for anyone's tests: fail with the partition, the key and the figures.

use crate::budget::PartitionId;
use crate::client::{Bill, Found, Plan};
use crate::clock::Instant;
use crate::cluster::{KeyReport, PartitionReport, RetiredPartition, Table};
use crate::document::Document;
use crate::heat::{Series, Tally};
use crate::key::{ItemKey, SortKey};
use crate::profile::Service;
use std::collections::BTreeMap;

/// Names that a message lists before it says "and so on".
const NAMED_MAX: usize = 3;

/// No partition was asked for more than `max_share` (0 to 1) of all units, of reads or of writes (of both together on
/// Cosmos DB, where they draw on one budget). Asked for, not served: what was throttled counts.
///
/// Looks at the partitions that there are: what one was asked for that has split or been merged since is left out.
///
/// # Panics
/// When one was: names the partition, its range, its share and its hottest key. When `max_share` is no share.
#[track_caller]
pub fn assert_no_hot_partition<D: Document>(table: &Table<D>, max_share: f64) {
    assert!((0.0..=1.0).contains(&max_share), "a share is from 0 to 1, and this is {max_share}");
    let report = table.report();
    let read = |p: &PartitionReport| p.reads.totals().attempted_milli();
    let write = |p: &PartitionReport| p.writes.totals().attempted_milli();
    type Units<'u> = &'u dyn Fn(&PartitionReport) -> u64;
    let both = |p: &PartitionReport| read(p).saturating_add(write(p));
    let kinds: &[(&str, Units<'_>)] = match table.profile().service() {
        Service::DynamoDb => &[("read units", &read), ("write units", &write)],
        Service::Cosmos => &[("request units", &both)],
    };
    for (kind, units) in kinds {
        let total: u64 = report.partitions.iter().map(units).sum();
        let Some(hottest) = report.partitions.iter().max_by_key(|p| units(p)) else { continue };
        let share = units(hottest) as f64 / total.max(1) as f64;
        if share > max_share {
            panic!(
                "partition {} of {} is hot: {:.1} % of {:.0} {kind} asked for, and {:.1} % are allowed; range {}; {}",
                hottest.id,
                report.partitions.len(),
                share * 100.0,
                total as f64 / 1e3,
                max_share * 100.0,
                hottest.range,
                hottest_key(table, hottest.id, table.top_keys(usize::MAX), |weight, all| {
                    format!("{:.1} % of all units", weight as f64 * 100.0 / all.max(1) as f64)
                })
            );
        }
    }
}

/// Nothing was throttled in any second in which the whole table was asked for less than `rate` units, of reads or of
/// writes (of both together on Cosmos DB). After ten minutes the seconds are merged in twos, after twenty in fours, and so
/// on. What partitions refused that have split or been merged since is left out; all that they were ever asked for counts
/// in each second before, so that the table is never said to have been asked for less than it was.
///
/// # Panics
/// When something was: names the second, the partition, its share and the key that was throttled most. When `rate` is no
/// rate.
#[track_caller]
pub fn assert_no_throttle_below<D: Document>(table: &Table<D>, rate: f64) {
    assert!(rate >= 0.0, "a rate is zero or more, and this is {rate}");
    let report = table.report();
    let of = |kind: &'static str, series: &dyn Fn(&PartitionReport) -> Series| {
        let all: Vec<(PartitionId, Series)> = report.partitions.iter().map(|p| (p.id, series(p))).collect();
        check_throttles(table, kind, &all, &report.retired, rate);
    };
    match table.profile().service() {
        Service::DynamoDb => {
            of("read units", &|p| p.reads.clone());
            of("write units", &|p| p.writes.clone());
        }
        Service::Cosmos => of("request units", &|p| {
            let mut both = p.reads.clone();
            both.merge(&p.writes);
            both
        }),
    }
}

#[track_caller]
fn check_throttles<D: Document>(
    table: &Table<D>,
    kind: &str,
    series: &[(PartitionId, Series)],
    retired: &[RetiredPartition],
    rate: f64,
) {
    let mut total = Series::default();
    series.iter().for_each(|(_, series)| total.merge(series));
    let bins: BTreeMap<u64, (u64, Tally)> =
        total.bins().map(|bin| (bin.start_second, (bin.width_seconds, bin.tally))).collect();
    for (partition, series) in series {
        for bin in series.bins().filter(|bin| bin.tally.throttles > 0) {
            // Bins nest: the table's are as wide or wider.
            let Some((&second, &(width, tally))) = bins.range(..=bin.start_second).next_back() else {
                continue;
            };
            // Of partitions that are no more only the sum is known, and any of it may belong here.
            let gone = retired.iter().filter(|partition| partition.retired_at >= Instant::from_secs(second));
            let gone: u64 = gone.map(|partition| partition.totals.attempted_milli()).sum();
            let asked = tally.attempted_milli().saturating_add(gone) as f64 / 1e3 / width as f64;
            if asked < rate {
                panic!(
                    "throttled below {rate} {kind} a second: at second {second} the table was asked for {asked:.0}, \
                     {:.1} % of them of partition {partition}, which refused {} of {} requests; {}",
                    bin.tally.attempted_milli() as f64 / 10.0 / width as f64 / asked.max(1e-3),
                    bin.tally.throttles,
                    bin.tally.attempts(),
                    hottest_key(table, *partition, table.top_throttled_keys(usize::MAX), |weight, _| {
                        format!("{weight} throttled requests in all")
                    })
                );
            }
        }
    }
}

/// Names the first of `keys` (heaviest first) that lives in a partition.
fn hottest_key<D: Document>(
    table: &Table<D>,
    partition: PartitionId,
    keys: Vec<KeyReport>,
    tell: impl Fn(u64, u64) -> String,
) -> String {
    let all: u64 = keys.iter().map(|key| key.weight).sum();
    let lives_there = |key: &KeyReport| {
        let first = ItemKey { partition: key.key.clone(), sort: SortKey::none() };
        table.partition_of(&first) == partition
    };
    match keys.iter().find(|key| lives_there(key)) {
        Some(key) => format!("hottest key {:?} with {}", key.key.to_string(), tell(key.weight, all)),
        None => "no key that begins there stands out".into(),
    }
}

/// A read, as far as its fan-out goes.
pub trait FannedOut {
    /// Requests that it took, or would take.
    fn requests(&self) -> u64;

    /// Where they went, in words.
    fn describe(&self) -> String;
}

impl FannedOut for Bill {
    fn requests(&self) -> u64 {
        self.requests
    }

    fn describe(&self) -> String {
        let partitions: Vec<String> = self.partitions.iter().map(ToString::to_string).collect();
        format!("they were served by {}", list("partition", &partitions))
    }
}

impl FannedOut for Plan {
    fn requests(&self) -> u64 {
        match self {
            Self::Get(_) | Self::Query(_) => 1,
            Self::GetEach(keys, _) => keys.len() as u64,
            Self::FanOut(keys, _) => keys.len() as u64,
            // One to each physical partition of the prefix: at the least one for each prefix.
            Self::Prefix(keys, _) => keys.len() as u64,
            // As many as there is data: no number is small enough.
            Self::Scan(_) => u64::MAX,
        }
    }

    fn describe(&self) -> String {
        let keys: Vec<String> = match self {
            Self::Get(key) => vec![key.partition.to_string()],
            Self::Query(key) => vec![key.to_string()],
            Self::GetEach(keys, _) => keys.iter().map(|key| key.partition.to_string()).collect(),
            Self::FanOut(keys, _) | Self::Prefix(keys, _) => keys.iter().map(ToString::to_string).collect(),
            Self::Scan(_) => return self.to_string(),
        };
        format!("{self}; {}", list("key", &keys))
    }
}

impl<D> FannedOut for Found<D> {
    fn requests(&self) -> u64 {
        self.bill.requests
    }

    fn describe(&self) -> String {
        format!("{}; {}", self.plan.describe(), self.bill.describe())
    }
}

fn list(what: &str, names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len() {
        0 => format!("no {what}"),
        1 => format!("{what} {shown}"),
        n if n > NAMED_MAX => format!("{what}s {shown} and {} more", n - NAMED_MAX),
        _ => format!("{what}s {shown}"),
    }
}

/// A read took at most so many requests. Takes a plan before it is carried out, or what it cost.
///
/// # Panics
/// When it took more: names the keys it asked for or the partitions that served it.
#[track_caller]
pub fn assert_max_fanout(read: &impl FannedOut, most: u64) {
    if read.requests() > most {
        let requests = match read.requests() {
            u64::MAX => "as many requests as there is data".to_owned(),
            n => format!("{n} requests"),
        };
        panic!("a read takes {requests}, and {most} are allowed: {}", read.describe());
    }
}
