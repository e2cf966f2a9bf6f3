//! What the evidence of a run says: one name and one sentence for each table, with the numbers that it rests on.
//!
//! ```text
//!   hardly any throttles ──► healthy
//!   by the limit that refused most:
//!     a cap that somebody set ──────────────────────► cap-reached
//!     twice the previous peak ──────────────────────► ramp-too-steep
//!     the table's own throughput ───────────────────► table-too-small
//!     a partition, of an index ─────────────────────► index-back-pressure
//!     a partition that is never the same one ───────► moving-hot-spot
//!     a partition, ranges wider where it is hot ────► uneven-ranges      (Cosmos DB)
//!     a partition, by one key that stays whole ─────► hot-key
//!     partitions, all about as busy ────────────────► table-too-small
//!     a partition, by what can be divided ──────────► hot-range
//!   a client whose retries are most of what was refused ─► retry-storm, besides
//! ```
//!
//! Thresholds between the names are ours.

use super::engine::{Engine, Load};
use super::report::{LoadReport, PartitionReport, TableReport, Verdict, VerdictName};
use super::{Items, KeySpec};
use crate::budget::Capacity;
use crate::client::RetryPolicy;
use crate::lab::{percent, whole};
use crate::physics::Cause;
use crate::profile::Service;

/// Fewer throttled attempts than this are nothing to speak of: what a search for the highest rate allows.
const HEALTHY_SHARE: f64 = 0.001;

/// A limit that made this share of the refusals is the one.
const DOMINANT_SHARE: f64 = 0.5;

/// Partitions whose busiest has no more than this times the mean are about equally busy.
const EVEN_MAX_OVER_MEAN: f64 = 1.25;

/// At any time the busiest partition must have this many times its share over the whole run for the spot to move.
const MOVING_FACTOR: f64 = 1.6;

/// Ranges that differ by this factor are uneven.
const UNEVEN_FACTOR: f64 = 1.5;

/// A key that is asked for at this share of what a partition serves is too hot for it.
const TOO_HOT_SHARE: f64 = 0.95;

pub(super) fn diagnose(engine: &Engine<'_>, loads: &[LoadReport], tables: &[TableReport]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> =
        (0..tables.len()).filter_map(|at| Evidence::of(engine, &tables[at], at).verdict()).collect();
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

/// The hottest key of a table.
struct HottestKey {
    label: String,
    /// Its share of the requests.
    share: f64,
    /// Units a second asked for.
    rate: f64,
    /// Why it stays whole, where it does.
    whole: Option<&'static str>,
}

struct Evidence<'e> {
    engine: &'e Engine<'e>,
    report: &'e TableReport,
    at: usize,
    attempts: u64,
    throttles: u64,
    /// Refusals by limit and capacity.
    causes: Vec<(Cause, Capacity, u64)>,
}

impl<'e> Evidence<'e> {
    fn of(engine: &'e Engine<'e>, report: &'e TableReport, at: usize) -> Self {
        let mut causes: Vec<(Cause, Capacity, u64)> = Vec::new();
        for load in &engine.loads {
            for (table, cause, capacity, count) in load.recorder.refusals() {
                if table != at {
                    continue;
                }
                match causes.iter_mut().find(|(known, of, _)| (*known, *of) == (cause, capacity)) {
                    Some((.., sum)) => *sum += count,
                    None => causes.push((cause, capacity, count)),
                }
            }
        }
        causes.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
        let attempts = engine
            .asked_of(at)
            .iter()
            .map(|(partition, _)| {
                partition.tally(Capacity::Read).attempts() + partition.tally(Capacity::Write).attempts()
            })
            .sum();
        Self { engine, report, at, attempts, throttles: causes.iter().map(|(.., count)| count).sum(), causes }
    }

    fn share_of(&self, wanted: &[Cause]) -> f64 {
        let count: u64 =
            self.causes.iter().filter(|(cause, ..)| wanted.contains(cause)).map(|(.., count)| count).sum();
        count as f64 / self.throttles.max(1) as f64
    }

    fn verdict(&self) -> Option<Verdict> {
        if self.attempts == 0 {
            return None;
        }
        let throttled = self.throttles as f64 / self.attempts as f64;
        let (name, text) = if throttled < HEALTHY_SHARE { self.healthy() } else { self.trouble(throttled) };
        Some(Verdict { name, table: self.report.name.clone(), text })
    }

    fn capacity(&self) -> Capacity {
        self.causes.first().map_or(Capacity::Write, |(_, capacity, _)| *capacity)
    }

    /// Seconds in which this table was asked for anything.
    fn seconds(&self) -> f64 {
        let bins =
            self.report.partitions.iter().map(|partition| partition.attempted.len()).max().unwrap_or(0);
        let busy = (0..bins)
            .filter(|&i| self.report.partitions.iter().any(|partition| partition.attempted[i] > 0.0))
            .count();
        (busy as f64 * self.report.bin_seconds as f64).clamp(1.0, self.engine.now.nanos() as f64 / 1e9 + 1.0)
    }

    fn limit(&self) -> f64 {
        let table = &self.engine.tables[self.at];
        let of_capacity = usize::from(self.capacity() == Capacity::Write);
        table.partition_limit(table.hottest())[of_capacity]
    }

    fn unit(&self) -> &'static str {
        match (self.engine.tables[self.at].profile().service(), self.capacity()) {
            (Service::Cosmos, _) => "RU/s",
            (Service::DynamoDb, Capacity::Read) => "RCU",
            (Service::DynamoDb, Capacity::Write) => "WCU",
        }
    }

    /// The partition that was asked for most, of all that there ever were.
    fn hottest(&self) -> Option<&PartitionReport> {
        let now = self.engine.now.nanos() as f64 / 1e9;
        self.report.partitions.iter().max_by(|a, b| asked_per_s(a, now).total_cmp(&asked_per_s(b, now)))
    }

    fn hottest_key(&self) -> Option<HottestKey> {
        let top = self.report.top_keys.first()?;
        let units: f64 = self.report.partitions.iter().map(|partition| partition.offered_units).sum();
        let streams = self.engine.loads.iter().filter_map(|load| self.keys_of(load));
        let whole = streams.filter_map(|spec| self.why_whole(spec)).next();
        Some(HottestKey {
            label: top.key.clone(),
            share: top.share,
            rate: top.share * units / self.seconds(),
            whole,
        })
    }

    fn keys_of(&self, load: &'e Load<'_>) -> Option<&'e KeySpec> {
        let base = self.engine.place_of[load.spec.table];
        if base == self.at {
            return Some(&load.spec.keys);
        }
        let index = self.at.checked_sub(base + 1)?;
        self.engine.scenario.tables[load.spec.table].indexes.get(index).map(|index| &index.keys)
    }

    /// Why a split cannot divide a key, where that is so.
    fn why_whole(&self, spec: &KeySpec) -> Option<&'static str> {
        let table = &self.engine.tables[self.at];
        if table.profile().service() == Service::Cosmos {
            return Some("a logical partition stays on one physical partition");
        }
        if table.setup().switches.local_index {
            return Some("a local index keeps the items of a key on one partition");
        }
        match spec {
            KeySpec::Drawn(keys) => match keys.items {
                Items::One => Some("it is one item"),
                Items::Increasing if self.capacity() == Capacity::Write => Some("its sort key only grows"),
                Items::Increasing | Items::Random(_) => None,
            },
            KeySpec::Rows(rows) => {
                let top =
                    self.engine.loads.iter().find_map(|load| load.keys.top(1).first().map(|top| top.0))?;
                let key = u32::try_from(top).ok().filter(|key| (*key as usize) < rows.keys().len())?;
                rows.is_unsplittable(key).then_some("its sort key only grows, or it is one item")
            }
        }
    }

    fn headline(&self, throttled: f64) -> String {
        let limit = self.causes.first().map(|(cause, ..)| cause.to_string()).unwrap_or_default();
        format!(
            "{} of {} requests throttled, most of them by {limit}",
            percent(throttled),
            whole(self.attempts as f64)
        )
    }

    fn healthy(&self) -> (VerdictName, String) {
        let share = self.hottest().map_or(0.0, |hottest| hottest.share);
        let key = self.report.top_keys.first().map_or(String::new(), |key| {
            format!("; the hottest key, {}, has {}", key.key, percent(key.share))
        });
        (
            VerdictName::Healthy,
            format!(
                "{} of {} requests throttled; the hottest of {} partitions has {} of the load{key}.",
                percent(self.throttles as f64 / self.attempts.max(1) as f64),
                whole(self.attempts as f64),
                self.report.partitions_at_end,
                percent(share),
            ),
        )
    }

    fn trouble(&self, throttled: f64) -> (VerdictName, String) {
        let headline = self.headline(throttled);
        if self.share_of(&[Cause::MaxOnDemand, Cause::Account, Cause::Bucket, Cause::LowPriority])
            >= DOMINANT_SHARE
        {
            let text = format!(
                "{headline}: partitions have room, and what may be used is used up. Raise the cap, not the keys."
            );
            return (VerdictName::CapReached, text);
        }
        if self.report.is_index {
            return self.index(&headline);
        }
        if let Some(text) = self.moving(&headline) {
            return (VerdictName::MovingHotSpot, text);
        }
        if let Some(verdict) = self.ramp(&headline) {
            return verdict;
        }
        if self.share_of(&[Cause::Provisioned]) >= DOMINANT_SHARE {
            return self.too_small(&headline);
        }
        if let Some(text) = self.uneven(&headline) {
            return (VerdictName::UnevenRanges, text);
        }
        if let Some(key) = self.hottest_key()
            && let Some(why) = key.whole
            && key.rate >= self.limit() * TOO_HOT_SHARE
        {
            let text = format!(
                "{headline}. Key {} has {} of the requests, {} {} where a partition serves {}: a hot key, and a split will not \
                 help, because {why}. {}",
                key.label,
                percent(key.share),
                whole(key.rate),
                self.unit(),
                whole(self.limit()),
                suffix_advice(key.rate, self.limit()),
            );
            return (VerdictName::HotKey, text);
        }
        if self.report.max_over_mean <= EVEN_MAX_OVER_MEAN {
            return self.too_small(&headline);
        }
        self.hot_range(&headline)
    }

    fn too_small(&self, headline: &str) -> (VerdictName, String) {
        let units: f64 = self.report.partitions.iter().map(|partition| partition.offered_units).sum();
        let text = format!(
            "{headline}. About {} {} were asked for of {} over {} partitions, and the busiest has {:.2} times the mean: the \
             table is too small for the load, and better keys would change little.",
            whole(units / self.seconds()),
            self.unit(),
            self.report.throughput,
            self.report.partitions_at_end,
            self.report.max_over_mean,
        );
        (VerdictName::TableTooSmall, text)
    }

    fn index(&self, headline: &str) -> (VerdictName, String) {
        let key = self.hottest_key();
        let base = self.report.name.split('/').next().unwrap_or_default();
        let detail = key.map_or(String::new(), |key| {
            format!(
                " Key {} of the index has {} of its entries, {} {} where a partition serves {}.",
                key.label,
                percent(key.share),
                whole(key.rate),
                self.unit(),
                whole(self.limit())
            )
        });
        let text = format!(
            "{headline}: the index refuses, and so writes of table {base} are refused that the table itself has room for.\
             {detail} Spread the index's key, or leave items out of it."
        );
        (VerdictName::IndexBackPressure, text)
    }

    fn ramp(&self, headline: &str) -> Option<(VerdictName, String)> {
        let table = &self.engine.tables[self.at];
        let even = self.report.max_over_mean <= EVEN_MAX_OVER_MEAN;
        // A key range and the peak are reached together when a load is even.
        let by_peak = self.share_of(&[Cause::OnDemandPeak]);
        if !table.is_on_demand() || !(even || by_peak >= DOMINANT_SHARE) {
            return None;
        }
        let text = format!(
            "{headline}. On demand, a table serves twice its previous peak at once, and that counts once it is half an hour \
             old; it now serves {}. The load grew faster: ramp it up over half an hour for each doubling, or raise warm \
             throughput before.",
            self.report.throughput
        );
        Some((VerdictName::RampTooSteep, text))
    }

    /// One partition has it all at any time, and not always the same.
    fn moving(&self, headline: &str) -> Option<String> {
        if self.share_of(&[Cause::KeyRange, Cause::EvenShare, Cause::PartitionShare]) < DOMINANT_SHARE {
            return None;
        }
        // Ranges as they were at the start: a split moves no heat.
        let first: Vec<&PartitionReport> =
            self.report.partitions.iter().filter(|partition| partition.from_s == 0.0).collect();
        if first.len() < 2 {
            return None;
        }
        let columns = first[0].attempted.len();
        let mut by_range = vec![vec![0.0; columns]; first.len()];
        for partition in &self.report.partitions {
            let range = first.iter().rposition(|range| range.from <= partition.from)?;
            for (sum, asked) in by_range[range].iter_mut().zip(&partition.attempted) {
                *sum += asked;
            }
        }
        let totals: Vec<f64> = by_range.iter().map(|range| range.iter().sum()).collect();
        let all: f64 = totals.iter().sum();
        let over_all = totals.iter().copied().fold(0.0, f64::max) / all;
        let (mut momentary, mut tops) = (0.0, vec![false; first.len()]);
        for column in 0..columns {
            let of = |range: usize| by_range.get(range).map_or(0.0, |range: &Vec<f64>| range[column]);
            if let Some(top) = (0..first.len()).max_by(|&a, &b| of(a).total_cmp(&of(b)))
                && of(top) > 0.0
            {
                momentary += of(top);
                tops[top] = true;
            }
        }
        let momentary = momentary / all;
        let visited = tops.iter().filter(|top| **top).count();
        (momentary >= MOVING_FACTOR * over_all && visited >= 2 && momentary >= DOMINANT_SHARE).then(|| {
            format!(
                "{headline}. At any moment the busiest partition has {} of the load, over the whole run no range more than {}: \
                 a moving hot spot, which visited {visited} of {} ranges. Keys that follow time or the order of a file do \
                 that; averages hide it, and splits come too late for it. Interleave the keys, or add a suffix.",
                percent(momentary),
                percent(over_all),
                first.len()
            )
        })
    }

    /// Cosmos DB: wider ranges with the same throughput.
    fn uneven(&self, headline: &str) -> Option<String> {
        if self.engine.tables[self.at].profile().service() != Service::Cosmos {
            return None;
        }
        let now: Vec<&PartitionReport> =
            self.report.partitions.iter().filter(|partition| partition.until_s.is_none()).collect();
        let widest = now.iter().max_by(|a, b| a.width.total_cmp(&b.width))?;
        let narrowest = now.iter().min_by(|a, b| a.width.total_cmp(&b.width))?;
        let end = self.engine.now.nanos() as f64 / 1e9;
        let total: f64 = now.iter().map(|partition| asked_per_s(partition, end)).sum();
        // Even keys: a range gets as much as it is wide.
        let even = now.iter().all(|partition| {
            let share = asked_per_s(partition, end) / total.max(1.0);
            share <= partition.width * EVEN_MAX_OVER_MEAN
        });
        (widest.width >= UNEVEN_FACTOR * narrowest.width && even).then(|| {
            let table = &self.engine.tables[self.at];
            let has = table.table_limit()[1];
            format!(
                "{headline}. Ranges are uneven: partition {} holds {} of the keys and partition {} holds {}, and each has {} \
                 RU/s. Of {} RU/s only {} can be used by even keys. Split the wide ranges too, or buy so much that every one \
                 splits.",
                widest.id,
                percent(widest.width),
                narrowest.id,
                percent(narrowest.width),
                whole(has / now.len() as f64),
                whole(has),
                whole(has / now.len() as f64 / widest.width),
            )
        })
    }

    fn hot_range(&self, headline: &str) -> (VerdictName, String) {
        let table = &self.engine.tables[self.at];
        let hottest = self.hottest();
        let share = hottest.map_or(0.0, |hottest| hottest.share);
        let key = self.report.top_keys.first().map_or(String::new(), |key| {
            format!(
                " Its hottest key, {}, has {} of the requests, and can be divided or is cool enough.",
                key.key,
                percent(key.share)
            )
        });
        let future = match (table.profile().service(), table.splits()) {
            (Service::Cosmos, _) => {
                "Cosmos DB does not split for heat: redistribute throughput to it, or raise the total \
                                     until every range splits."
                    .to_owned()
            }
            (Service::DynamoDb, 0) => match table.setup().switches.heat_splits {
                Some(rule) => format!(
                    "A split will help: it comes after {} to {} minutes of such load.",
                    rule.seconds_min / 60,
                    rule.seconds_max / 60
                ),
                None => "A split would help, and splits for heat are off.".to_owned(),
            },
            (Service::DynamoDb, splits) => self.recovery(splits),
        };
        let text = format!(
            "{headline}. A hot range: the busiest of {} partitions was asked for {} of the units.{key} {future}",
            self.report.partitions.len(),
            percent(share)
        );
        (VerdictName::HotRange, text)
    }

    /// How much was throttled before the first split and after the last.
    fn recovery(&self, splits: u64) -> String {
        let born = self.report.partitions.iter().map(|partition| partition.from_s).filter(|born| *born > 0.0);
        let (first, last) = born.fold((f64::MAX, 0.0_f64), |(first, last), at| (first.min(at), last.max(at)));
        let between = |from: f64, to: f64| {
            let (mut throttled, mut attempts) = (0, 0);
            for load in &self.engine.loads {
                let bin = load.recorder.total(Some((from as u64, to as u64)));
                throttled += bin.throttled;
                attempts += bin.attempts;
            }
            super::figure::share(throttled, attempts)
        };
        format!(
            "A split will help: {splits} came, the first after {:.0} and the last after {:.0} minutes; {} of the attempts were \
             throttled before, {} afterwards.",
            first / 60.0,
            last / 60.0,
            percent(between(0.0, first)),
            percent(between(last + 1.0, f64::MAX)),
        )
    }
}

/// Units a second that a partition was asked for while it was there.
pub(super) fn asked_per_s(partition: &PartitionReport, now_s: f64) -> f64 {
    partition.offered_units / (partition.until_s.unwrap_or(now_s) - partition.from_s).max(1.0)
}

fn suffix_advice(rate: f64, limit: f64) -> String {
    let shards = (rate / limit.max(1.0)).ceil().max(2.0);
    format!(
        "Divide the key: {} suffixes at the least, several times as many to even out where they fall.",
        whole(shards)
    )
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
