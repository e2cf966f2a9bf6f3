//! What evidence says about a table: one name and a sentence or two, with the numbers that they rest on.
//!
//! ```text
//!   hardly any throttles ──► healthy
//!   by the limit that refused most:
//!     a cap that somebody set ──────────────────────► cap-reached
//!     a partition or the throughput, of an index ───► index-back-pressure
//!     a partition that is never the same one ───────► moving-hot-spot
//!     on demand, and about evenly busy ─────────────► ramp-too-steep
//!     the table's own throughput ───────────────────► table-too-small
//!     a partition, ranges wider where it is hot ────► uneven-ranges      (Cosmos DB)
//!     a partition, by one key that stays whole ─────► hot-key
//!     partitions, all about as busy ────────────────► table-too-small
//!     a partition, by what can be divided ──────────► hot-range
//! ```
//!
//! It does not know where the evidence comes from: a run of the lab, or a table in process. Thresholds between the names are
//! ours.

use crate::budget::Capacity;
use crate::lab::{percent, whole};
use crate::physics::{Cause, HeatSplit};
use crate::profile::{COSMOS_PARTITION_RU, Service};
use serde::Serialize;

/// Fewer throttled attempts than this are nothing to speak of: what a search for the highest rate allows.
const HEALTHY_SHARE: f64 = 0.001;

/// A limit that made this share of the refusals is the one.
const DOMINANT_SHARE: f64 = 0.5;

/// Limits of one partition.
const PARTITION_LIMITS: &[Cause] =
    &[Cause::KeyRange, Cause::EvenShare, Cause::PartitionShare, Cause::LowPriority];

/// Partitions whose busiest has no more than this times the mean are about equally busy.
const EVEN_MAX_OVER_MEAN: f64 = 1.25;

/// At any time the busiest partition must have this many times its share over the whole run for the spot to move.
const MOVING_FACTOR: f64 = 1.6;

/// Ranges that differ by this factor are uneven.
const UNEVEN_FACTOR: f64 = 1.5;

/// A key that is asked for at this share of what a partition serves is too hot for it.
const TOO_HOT_SHARE: f64 = 0.95;

/// A load whose busiest time has more than this times the mean is told by that time: requests are refused at the peak, and
/// the mean over a day hides it.
const PEAK_OVER_MEAN: f64 = 1.25;

/// What the evidence says about one table.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Which.
    pub name: VerdictName,
    /// The table or index.
    pub table: String,
    /// A sentence or two with the numbers that it rests on.
    pub text: String,
}

/// The verdicts that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictName {
    /// One key or item has more than a partition serves, and no split can divide it.
    HotKey,
    /// A partition has more than it serves, and a split helps or has helped.
    HotRange,
    /// At any time one partition takes nearly all, and it is not always the same: a key derived from time.
    MovingHotSpot,
    /// The load is even enough and the table's own throughput is too low.
    TableTooSmall,
    /// An index refuses writes of its table.
    IndexBackPressure,
    /// On demand, the load grew to more than twice its previous peak too fast.
    RampTooSteep,
    /// Retries are a large part of what was throttled.
    RetryStorm,
    /// Ranges differ in width while their throughput is equal, as after a partial split.
    UnevenRanges,
    /// What the client may use is used up: maximum on-demand throughput, a throughput bucket, the account's quota.
    CapReached,
    /// Nothing to speak of was throttled.
    Healthy,
}

/// What is known of a table.
#[derive(Debug)]
pub(super) struct Evidence {
    /// Its name; an index is `table/index`.
    pub(super) name: String,
    pub(super) is_index: bool,
    pub(super) service: Service,
    pub(super) on_demand: bool,
    /// Throughput now, in words, and in units of reads and of writes a second.
    pub(super) throughput: String,
    pub(super) table_limit: [f64; 2],
    /// What the hottest partition serves, of reads and of writes a second.
    pub(super) partition_limit: [f64; 2],
    pub(super) attempts: u64,
    /// Refusals by limit and capacity.
    pub(super) causes: Vec<(Cause, Capacity, u64)>,
    /// Every partition that there was, in the order of ranges, parents before children.
    pub(super) ranges: Vec<Range>,
    pub(super) bin_seconds: u64,
    pub(super) now_s: f64,
    pub(super) hottest_key: Option<HottestKey>,
    pub(super) heat_splits: Option<HeatSplit>,
    /// What became of throttles through splits, where there were any.
    pub(super) recovery: Option<Recovery>,
}

/// A partition's range.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) id: u32,
    /// Where it begins, in an order that is that of the ring.
    pub(super) from: String,
    /// Its share of the hashes.
    pub(super) width: f64,
    /// When it came into being and ended, in seconds.
    pub(super) from_s: f64,
    pub(super) until_s: Option<f64>,
    /// Units that it was asked for.
    pub(super) offered: f64,
    /// Units asked for a second, over time.
    pub(super) attempted: Vec<f64>,
}

impl Range {
    /// Units a second that it was asked for while it was there.
    fn rate(&self, now_s: f64) -> f64 {
        self.offered / (self.until_s.unwrap_or(now_s) - self.from_s).max(1.0)
    }
}

/// The hottest key of a table.
#[derive(Debug)]
pub(super) struct HottestKey {
    pub(super) label: String,
    /// Its share of the requests.
    pub(super) share: f64,
    /// Units that it was asked for, of the capacity that was refused most.
    pub(super) units: f64,
    /// Why a split cannot divide it, where that is so.
    pub(super) whole: Option<String>,
}

/// Splits, and shares of the attempts that were throttled before the first and after the last.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) splits: u64,
    pub(super) first_s: f64,
    pub(super) last_s: f64,
    pub(super) before: f64,
    pub(super) after: f64,
}

impl Evidence {
    /// `None` when nothing was asked of the table.
    pub(super) fn verdict(mut self) -> Option<Verdict> {
        if self.attempts == 0 {
            return None;
        }
        self.causes.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
        let throttled = self.throttles() as f64 / self.attempts as f64;
        let (name, text) = if throttled < HEALTHY_SHARE { self.healthy() } else { self.trouble(throttled) };
        Some(Verdict { name, table: self.name, text })
    }

    fn throttles(&self) -> u64 {
        self.causes.iter().map(|(.., count)| count).sum()
    }

    fn share_of(&self, wanted: &[Cause]) -> f64 {
        let of = self.causes.iter().filter(|(cause, ..)| wanted.contains(cause));
        of.map(|(.., count)| count).sum::<u64>() as f64 / self.throttles().max(1) as f64
    }

    /// What most refusals were about.
    fn capacity(&self) -> Capacity {
        self.causes.first().map_or(Capacity::Write, |(_, capacity, _)| *capacity)
    }

    /// Seconds in which this table was asked for anything.
    fn seconds(&self) -> f64 {
        let bins = self.ranges.iter().map(|range| range.attempted.len()).max().unwrap_or(0);
        let busy = (0..bins).filter(|&i| self.ranges.iter().any(|range| range.attempted[i] > 0.0)).count();
        (busy as f64 * self.bin_seconds as f64).clamp(1.0, self.now_s + 1.0)
    }

    fn offered(&self) -> f64 {
        self.ranges.iter().map(|range| range.offered).sum()
    }

    fn limit(&self) -> f64 {
        self.partition_limit[usize::from(self.capacity() == Capacity::Write)]
    }

    fn unit(&self) -> &'static str {
        match (self.service, self.capacity()) {
            (Service::Cosmos, _) => "RU/s",
            (Service::DynamoDb, Capacity::Read) => "RCU",
            (Service::DynamoDb, Capacity::Write) => "WCU",
        }
    }

    /// Partitions at the end.
    fn now(&self) -> Vec<&Range> {
        self.ranges.iter().filter(|range| range.until_s.is_none()).collect()
    }

    /// The partition that was asked for most while it was there.
    fn hottest_share(&self) -> f64 {
        let hottest = self.ranges.iter().max_by(|a, b| a.rate(self.now_s).total_cmp(&b.rate(self.now_s)));
        hottest.map_or(0.0, |range| range.offered) / self.offered().max(1e-9)
    }

    fn max_over_mean(&self) -> f64 {
        max_over_mean(&self.now().iter().map(|range| range.rate(self.now_s)).collect::<Vec<_>>())
    }

    fn mean_rate(&self) -> f64 {
        self.offered() / self.seconds()
    }

    /// Units a second that were asked for in the busiest column, and how many partitions there were in it; `None` where the
    /// load is about even over time.
    fn peak(&self) -> Option<(f64, usize)> {
        let columns = self.ranges.iter().map(|range| range.attempted.len()).max().unwrap_or(0);
        let rate = |i: usize| -> f64 { self.ranges.iter().filter_map(|range| range.attempted.get(i)).sum() };
        let at = (0..columns).max_by(|&a, &b| rate(a).total_cmp(&rate(b)))?;
        let begins_s = (at as u64 * self.bin_seconds) as f64;
        let there =
            |range: &&Range| range.from_s <= begins_s && range.until_s.is_none_or(|until| until > begins_s);
        (rate(at) > self.mean_rate() * PEAK_OVER_MEAN)
            .then(|| (rate(at), self.ranges.iter().filter(there).count()))
    }

    /// Units a second that were asked for: at the peak, where there is one.
    fn rate(&self) -> f64 {
        self.peak().map_or_else(|| self.mean_rate(), |(rate, _)| rate)
    }

    /// The same in words.
    fn rate_told(&self) -> String {
        let unit = self.unit();
        match self.peak() {
            Some((rate, _)) => {
                let mean = whole(self.mean_rate());
                format!("At the peak about {} {unit} were asked for, {mean} on average,", whole(rate))
            }
            None => format!("About {} {unit} were asked for", whole(self.mean_rate())),
        }
    }

    /// Units a second of the hottest key, at the peak.
    fn key_rate(&self, key: &HottestKey) -> f64 {
        key.units / self.offered().max(f64::MIN_POSITIVE) * self.rate()
    }

    /// `2,730 WCU where a partition serves 1,000`.
    fn key_told(&self, key: &HottestKey) -> String {
        format!(
            "{} {}{} where a partition serves {}",
            whole(self.key_rate(key)),
            self.unit(),
            if self.peak().is_some() { " at the peak" } else { "" },
            whole(self.limit())
        )
    }

    fn is_too_hot(&self, key: &HottestKey) -> bool {
        self.key_rate(key) >= self.limit() * TOO_HOT_SHARE
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
        let share = self.hottest_share();
        let key = self.hottest_key.as_ref().map_or(String::new(), |key| {
            format!("; the hottest key, {}, has {}", key.label, percent(key.share))
        });
        (
            VerdictName::Healthy,
            format!(
                "{} of {} requests throttled; the hottest of {} partitions has {} of the load{key}.",
                percent(self.throttles() as f64 / self.attempts as f64),
                whole(self.attempts as f64),
                self.now().len(),
                percent(share),
            ),
        )
    }

    fn trouble(&self, throttled: f64) -> (VerdictName, String) {
        let headline = self.headline(throttled);
        if self.share_of(&[Cause::MaxOnDemand, Cause::Account, Cause::Bucket]) >= DOMINANT_SHARE {
            let text = format!(
                "{headline}: partitions have room, and what may be used is used up. Raise the cap, not the keys."
            );
            return (VerdictName::CapReached, text);
        }
        if self.is_index {
            return self.index(&headline);
        }
        if let Some(text) = self.moving(&headline) {
            return (VerdictName::MovingHotSpot, text);
        }
        // One hot key on few partitions is busy as evenly as they are, and no ramp helps it.
        let by_partition = self.share_of(PARTITION_LIMITS) >= DOMINANT_SHARE;
        if let Some(text) = self.hot_key(&headline).filter(|_| by_partition) {
            return (VerdictName::HotKey, text);
        }
        if let Some(verdict) = self.ramp(&headline) {
            return verdict;
        }
        if self.share_of(&[Cause::Provisioned]) >= DOMINANT_SHARE {
            return self.too_small(&headline);
        }
        if let Some(text) = self.uneven(&headline) {
            // Beyond what the container has in all, even ranges would not help.
            return match self.offered() / self.seconds() > self.table_limit[1] {
                true => self.too_small(&headline),
                false => (VerdictName::UnevenRanges, text),
            };
        }
        if let Some(text) = self.hot_key(&headline) {
            return (VerdictName::HotKey, text);
        }
        if self.max_over_mean() <= EVEN_MAX_OVER_MEAN {
            return self.too_small(&headline);
        }
        self.hot_range(&headline)
    }

    /// The hottest key, where it alone is more than a partition serves and no split can divide it.
    fn too_hot(&self) -> Option<(&HottestKey, &str)> {
        let key = self.hottest_key.as_ref()?;
        let why = key.whole.as_deref()?;
        self.is_too_hot(key).then_some((key, why))
    }

    fn hot_key(&self, headline: &str) -> Option<String> {
        let (key, why) = self.too_hot()?;
        // A key below what one partition can ever have needs no other key.
        let more = match self.service {
            Service::Cosmos if self.key_rate(key) < COSMOS_PARTITION_RU as f64 => format!(
                " A partition can have up to {} RU/s: redistribute throughput to it, or raise the total.",
                whole(COSMOS_PARTITION_RU as f64)
            ),
            _ => String::new(),
        };
        Some(format!(
            "{headline}. Key {} has {} of the requests, {}: a hot key, and a split will not help, because {why}.{more} {}",
            key.label,
            percent(key.share),
            self.key_told(key),
            suffix_advice(self.key_rate(key), self.limit()),
        ))
    }

    fn too_small(&self, headline: &str) -> (VerdictName, String) {
        // More throughput alone would only show the next limit.
        let keys = match self.too_hot().filter(|_| self.service == Service::DynamoDb) {
            Some((key, why)) => format!(
                "and then a partition's limit is next: key {} alone is asked for {}, and no split divides it, because {why}.",
                key.label,
                self.key_told(key),
            ),
            None if self.max_over_mean() <= EVEN_MAX_OVER_MEAN => {
                "and better keys would change little.".to_owned()
            }
            None => "and better keys would not make it larger.".to_owned(),
        };
        let busiest = match self.now().len() {
            1 => "one partition".to_owned(),
            n => format!("{n} partitions, and the busiest has {:.2} times the mean", self.max_over_mean()),
        };
        let text = format!(
            "{headline}. {} of {} over {busiest}: the table is too small for the load, {keys}",
            self.rate_told(),
            self.throughput,
        );
        (VerdictName::TableTooSmall, text)
    }

    /// An index: which of its limits, since each asks for another remedy.
    fn index(&self, headline: &str) -> (VerdictName, String) {
        let base = self.name.split('/').next().unwrap_or_default();
        let more = match self.on_demand {
            true => "ramp the load up, or raise the index's warm throughput before",
            false => "give the index more",
        };
        let (rate, partitions) = self.peak().unwrap_or((self.mean_rate(), self.now().len()));
        let detail = match &self.hottest_key {
            Some(key) if self.is_too_hot(key) => format!(
                "Key {} of the index has {} of its entries, {}. {} Or leave items out of the index.",
                key.label,
                percent(key.share),
                self.key_told(key),
                suffix_advice(self.key_rate(key), self.limit()),
            ),
            _ if self.share_of(&[Cause::Provisioned]) >= DOMINANT_SHARE => {
                format!("{} of the {} of the index: {more}.", self.rate_told(), self.throughput)
            }
            key => {
                let key = key.as_ref().map_or(String::new(), |key| {
                    format!(
                        "No single key of the index is too hot (the hottest, {}, has {} of its entries, {}). ",
                        key.label,
                        percent(key.share),
                        self.key_told(key)
                    )
                });
                if rate > partitions as f64 * self.limit() {
                    let of = if partitions == 1 {
                        "one partition".into()
                    } else {
                        format!("{partitions} partitions")
                    };
                    format!(
                        "{key}{}, retries included, of an index of {of}: {more}.",
                        self.rate_told().trim_end_matches(',')
                    )
                } else {
                    format!(
                        "{key}The busiest of its {} partitions was asked for {} of the units. {}",
                        self.ranges.len(),
                        percent(self.hottest_share()),
                        self.future()
                    )
                }
            }
        };
        let text = format!(
            "{headline}: the index refuses, and so writes of table {base} are refused that the table itself has room for. \
             {detail}"
        );
        (VerdictName::IndexBackPressure, text)
    }

    fn ramp(&self, headline: &str) -> Option<(VerdictName, String)> {
        let even = self.max_over_mean() <= EVEN_MAX_OVER_MEAN;
        // A key range and the peak are reached together when a load is even.
        let by_peak = self.share_of(&[Cause::OnDemandPeak]);
        if !self.on_demand || !(even || by_peak >= DOMINANT_SHARE) {
            return None;
        }
        let text = format!(
            "{headline}. On demand, a table serves twice its previous peak at once, and that counts once it is half an hour \
             old; it now serves {}. The load grew faster: ramp it up over half an hour for each doubling, or raise warm \
             throughput before.",
            self.throughput
        );
        Some((VerdictName::RampTooSteep, text))
    }

    /// One partition has it all at any time, and not always the same.
    fn moving(&self, headline: &str) -> Option<String> {
        if self.share_of(PARTITION_LIMITS) < DOMINANT_SHARE {
            return None;
        }
        // Ranges as they were at the start: a split moves no heat.
        let first: Vec<&Range> = self.ranges.iter().filter(|range| range.from_s == self.begin_s()).collect();
        if first.len() < 2 {
            return None;
        }
        let columns = first[0].attempted.len();
        let mut by_range = vec![vec![0.0; columns]; first.len()];
        for partition in &self.ranges {
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
        if self.service != Service::Cosmos {
            return None;
        }
        let now = self.now();
        let widest = now.iter().max_by(|a, b| a.width.total_cmp(&b.width))?;
        let narrowest = now.iter().min_by(|a, b| a.width.total_cmp(&b.width))?;
        let total: f64 = now.iter().map(|partition| partition.rate(self.now_s)).sum();
        // Even keys: a range gets as much as it is wide.
        let even = now.iter().all(|partition| {
            let share = partition.rate(self.now_s) / total.max(1.0);
            share <= partition.width * EVEN_MAX_OVER_MEAN
        });
        (widest.width >= UNEVEN_FACTOR * narrowest.width && even).then(|| {
            let has = self.table_limit[1];
            format!(
                "{headline}. Ranges are uneven: partition {} holds {} of the keys and partition {} holds {}, and each has {} \
                 RU/s. Even keys use up only {} of {} RU/s before the widest range refuses. Split the wide ranges too, or buy \
                 so much that every one splits.",
                widest.id,
                percent(widest.width),
                narrowest.id,
                percent(narrowest.width),
                whole(has / now.len() as f64),
                whole(has / now.len() as f64 / widest.width),
                whole(has),
            )
        })
    }

    fn hot_range(&self, headline: &str) -> (VerdictName, String) {
        let key = self.hottest_key.as_ref().map_or(String::new(), |key| {
            format!(
                " Its hottest key, {}, has {} of the requests, {}",
                key.label,
                percent(key.share),
                if self.is_too_hot(key) { "and can be divided." } else { "and is not too hot by itself." }
            )
        });
        let text = format!(
            "{headline}. A hot range: the busiest of {} partitions was asked for {} of the units.{key} {}",
            self.ranges.len(),
            percent(self.hottest_share()),
            self.future()
        );
        (VerdictName::HotRange, text)
    }

    /// What splits will do, or have done.
    fn future(&self) -> String {
        match (self.service, &self.recovery, self.heat_splits) {
            (Service::Cosmos, ..) => {
                "Cosmos DB does not split for heat: redistribute throughput to it, or raise the total \
                                      until every range splits."
                    .to_owned()
            }
            (Service::DynamoDb, Some(recovery), _) => format!(
                "A split will help: {} came, the first after {:.0} and the last after {:.0} minutes; {} of the attempts were \
                 throttled before, {} afterwards.",
                recovery.splits,
                recovery.first_s / 60.0,
                recovery.last_s / 60.0,
                percent(recovery.before),
                percent(recovery.after),
            ),
            (Service::DynamoDb, None, Some(rule)) => format!(
                "A split will help: it comes after {} to {} minutes of such load.",
                rule.seconds_min / 60,
                rule.seconds_max / 60
            ),
            (Service::DynamoDb, None, None) => "A split would help, and splits for heat are off.".to_owned(),
        }
    }

    /// When the first partitions came into being.
    fn begin_s(&self) -> f64 {
        self.ranges.iter().map(|range| range.from_s).fold(f64::MAX, f64::min)
    }
}

/// Largest ÷ mean; 1 of nothing.
pub(super) fn max_over_mean(rates: &[f64]) -> f64 {
    let total: f64 = rates.iter().sum();
    let most = rates.iter().copied().fold(0.0, f64::max);
    if total > 0.0 { most * rates.len() as f64 / total } else { 1.0 }
}

fn suffix_advice(rate: f64, limit: f64) -> String {
    let shards = (rate / limit.max(1.0)).ceil().max(2.0);
    format!(
        "Divide it into {} parts at the least, several times as many to even out where they fall: by suffixes, or by that many \
         times those that it has.",
        whole(shards)
    )
}
