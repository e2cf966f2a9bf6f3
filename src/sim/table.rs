//! A simulated table: routes, admits, counts, and once a second does what the service would do.
//!
//! - Ranges cover the ring without gaps or overlaps, in order, at all times.
//! - A refused request consumes nothing; an admitted one is counted once, in the partition that served it.
//! - The same setup and the same requests give the same answers.

use super::cosmos::CosmosLimits;
use super::dynamodb::DynamoDbLimits;
use super::partition::{Partition, index};
use super::{Access, History, Second, Setup};
use crate::budget::Capacity;
use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::heat::Tally;
use crate::physics::{BankedWindow, Cause, Declined, DecreaseQuota, HeatWatch, Place};
use crate::profile::{
    COSMOS_AUTOSCALE_MIN_RU, COSMOS_MIN_RU, COSMOS_PARTITION_RU, CosmosMode, PARTITIONS_MAX, Profile,
    Service, Throughput,
};
use crate::ring::Token;
use crate::rng::{Seed, below};
use crate::units::{KB, MILLI};
use std::collections::VecDeque;
use std::time::Duration;

/// Throughput modes may be switched so often in a rolling day ("Considerations when switching capacity modes").
const MODE_SWITCHES_MAX: usize = 4;
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Cosmos DB: throughput may never be lower than the highest ever ÷ 100, nor than a unit for each GB ("Service quotas"); with
/// autoscale the maximum no lower than the highest ÷ 10, nor than ten for each GB.
const MANUAL_SHARE_OF_HIGHEST: u64 = 100;
const AUTOSCALE_SHARE_OF_HIGHEST: u64 = 10;
const GB: u64 = KB * KB * KB;

/// Redistribution leaves a partition at least this ("Redistribute throughput across partitions").
const REDISTRIBUTION_FLOOR: u64 = 100;

/// Merging needs partitions with less than this, in RU/s and in bytes ("Merge partitions").
const MERGE_RU: u64 = 3_000;
const MERGE_BYTES: u64 = 20 * GB;

/// What has happened is told this often at the most; a run of days with a split a minute must not fill the memory.
const HISTORY_MAX: usize = 10_000;

/// A table of the lab.
#[derive(Clone, Debug)]
pub struct SimTable {
    setup: Setup,
    limits: Limits,
    /// Where each partition begins; the first begins at the start of the ring.
    bounds: Vec<Place>,
    partitions: Vec<Partition>,
    retired: Vec<Partition>,
    history: Vec<History>,
    next_id: u32,
    second: u64,
    /// The last seconds, if anyone wants them.
    seconds: Option<Vec<Second>>,
    splits: u64,
    at_start: u32,
    /// Places of splits for size that are under way, Cosmos DB.
    growing: VecDeque<(Instant, u32)>,
    decreases: DecreaseQuota,
    mode_switches: VecDeque<Instant>,
    /// DynamoDB: the highest throughput provisioned so far.
    highest: [u64; 2],
    draws: u64,
}

#[derive(Clone, Debug)]
enum Limits {
    DynamoDb(Box<DynamoDbLimits>),
    Cosmos(Box<CosmosLimits>),
}

impl SimTable {
    /// A table that begins at `now`.
    ///
    /// # Errors
    /// When the widths are not one positive number for each partition.
    pub fn new(setup: Setup, now: Instant) -> Result<Self> {
        let profile = &setup.profile;
        let limits = match profile.service() {
            Service::DynamoDb => Limits::DynamoDb(Box::new(DynamoDbLimits::new(&setup, now))),
            Service::Cosmos => Limits::Cosmos(Box::new(CosmosLimits::new(&setup, now))),
        };
        let count = match &limits {
            // A table that served a peak has the partitions for it: every one split, as often as it took (*assumed*).
            Limits::DynamoDb(limits) if limits.is_on_demand() => {
                let needed = limits.needs(Capacity::Read).max(limits.needs(Capacity::Write));
                let mut count = profile.partitions();
                while count < needed && count <= PARTITIONS_MAX / 2 {
                    count *= 2;
                }
                count
            }
            _ => profile.partitions(),
        };
        let bounds = bounds(profile, count, &setup.widths)?;
        let highest = profile.throughput().units();
        let mut table = Self {
            limits,
            partitions: Vec::with_capacity(bounds.len()),
            bounds,
            retired: Vec::new(),
            history: Vec::new(),
            next_id: 0,
            second: now.second(),
            seconds: None,
            splits: 0,
            at_start: 0,
            growing: VecDeque::new(),
            decreases: DecreaseQuota::new(now),
            mode_switches: VecDeque::new(),
            highest,
            draws: 0,
            setup,
        };
        for i in 0..table.bounds.len() {
            let id = table.take_id();
            let to = table.bounds.get(i + 1).copied();
            let mut partition = Partition::new(id, table.bounds[i], to, now);
            partition.bytes = (table.setup.stored.0 as f64 * table.width_of(partition.from, to)) as u64;
            match &table.limits {
                Limits::DynamoDb(limits) => limits.begin(&mut partition, &table.setup.profile, now),
                Limits::Cosmos(_) => {
                    let switches = &table.setup.switches;
                    partition.window = BankedWindow::new(0, switches.burst, switches.leak_per_mille, now);
                }
            }
            table.watch(&mut partition, now);
            table.partitions.push(partition);
        }
        table.at_start = table.partitions.len() as u32;
        table.share_out(now);
        Ok(table)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// Whose rules apply, prices, placement.
    pub fn profile(&self) -> &Profile {
        &self.setup.profile
    }

    /// What was set up.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Partitions, in the order of their ranges.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// Partitions that have split or were merged, in the order in which they did.
    pub fn retired(&self) -> &[Partition] {
        &self.retired
    }

    /// What happened to the table so far.
    pub fn history(&self) -> &[History] {
        &self.history
    }

    /// Partitions that it began with.
    pub fn partitions_at_start(&self) -> u32 {
        self.at_start
    }

    /// Splits so far.
    pub fn splits(&self) -> u64 {
        self.splits
    }

    /// Whether it is a DynamoDB table in on-demand mode.
    pub fn is_on_demand(&self) -> bool {
        matches!(&self.limits, Limits::DynamoDb(limits) if limits.is_on_demand())
    }

    /// Throughput now, in words.
    pub fn throughput(&self) -> String {
        match &self.limits {
            Limits::DynamoDb(limits) => {
                let [read, write] = limits.rates();
                let at_once = if limits.is_on_demand() { " at once" } else { "" };
                format!("{read} RCU, {write} WCU{at_once}")
            }
            Limits::Cosmos(limits) => format!("{} RU/s", limits.total_milli() / MILLI),
        }
    }

    /// Cosmos DB with autoscale: what each hour begun is billed, in RU/s. Empty otherwise.
    pub fn billed(&self) -> Vec<u64> {
        match &self.limits {
            Limits::Cosmos(limits) if limits.mode() == CosmosMode::Autoscale => {
                limits.billed.iter().copied().chain([limits.bill(&self.partitions)]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What one partition serves at the most, or what the partition at `index` has, in units a second: of reads and writes.
    pub fn partition_limit(&self, index: usize) -> [f64; 2] {
        self.limit_of(&self.partitions[index])
    }

    /// The same of a partition that may be no more: what it had last.
    pub fn limit_of(&self, partition: &Partition) -> [f64; 2] {
        match &self.limits {
            Limits::DynamoDb(limits) => limits.ceilings_milli().map(|milli| milli as f64 / MILLI as f64),
            Limits::Cosmos(_) => [partition.window.rate_milli() as f64 / MILLI as f64; 2],
        }
    }

    /// What the table serves at the most, in units a second: of reads and writes.
    pub fn table_limit(&self) -> [f64; 2] {
        match &self.limits {
            Limits::DynamoDb(limits) => limits.rates().map(|units| units as f64),
            Limits::Cosmos(limits) => [limits.total_milli() as f64 / MILLI as f64; 2],
        }
    }

    /// The share of all hashes that a partition's range holds; a part of one hash counts as nothing.
    pub fn width(&self, partition: &Partition) -> f64 {
        self.width_of(partition.from, partition.to)
    }

    fn width_of(&self, from: Place, to: Option<Place>) -> f64 {
        let to = to.map(|to| Token::from_u128(to.token));
        self.setup.profile.placement().width(&Token::from_u128(from.token), to.as_ref())
    }

    /// Keeps what each partition does in each second, for [`take_seconds`](Self::take_seconds).
    pub fn keep_seconds(&mut self) {
        self.seconds.get_or_insert_default();
    }

    /// The seconds that are over since the last call, in order.
    pub fn take_seconds(&mut self) -> Vec<Second> {
        self.seconds.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The partition that holds `place`, by its position in [`partitions`](Self::partitions).
    #[inline]
    pub fn route(&self, place: Place) -> usize {
        // The first bound is the start of the ring: there is always one at or before the place.
        self.bounds.partition_point(|bound| *bound <= place).saturating_sub(1)
    }

    /// Ends the seconds before that of `now`: splits, peaks, scaling. Call it before asking for anything at `now`.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if now.second() > self.second {
            self.roll(now);
        }
    }

    /// Counts a request that is made for the first time, whatever becomes of it.
    #[inline]
    pub fn offer(&mut self, partition: usize, access: &Access) {
        self.partitions[partition].offered_milli[index(access.capacity)] += access.milli;
    }

    /// Why a request would be refused now; `None`: it would be admitted. Consumes nothing.
    #[inline]
    pub fn refuses(&mut self, partition: usize, access: &Access, now: Instant) -> Option<Cause> {
        match &self.limits {
            Limits::DynamoDb(limits) => limits.refuses(&self.partitions[partition], access, now),
            Limits::Cosmos(limits) => limits.refuses(&mut self.partitions[partition], access, now),
        }
    }

    /// Carries an admitted request out: it is charged and counted.
    #[inline]
    pub fn settle(&mut self, partition: usize, access: &Access, now: Instant) {
        let Self { limits, partitions, .. } = self;
        let partition = &mut partitions[partition];
        match limits {
            Limits::DynamoDb(limits) => limits.settle(partition, access, now),
            Limits::Cosmos(limits) => limits.settle(partition, access, now),
        }
        let i = index(access.capacity);
        partition.second[i] += Tally::of_served(access.milli);
        if let Some(watch) = &mut partition.watch {
            watch.served(i, access.milli, &access.place);
        }
    }

    /// Counts a refused request.
    #[inline]
    pub fn refused(&mut self, partition: usize, access: &Access, cause: Cause) {
        let second = self.second;
        let partition = &mut self.partitions[partition];
        partition.second[index(access.capacity)] += Tally::of_throttled(access.milli);
        match &self.limits {
            Limits::DynamoDb(limits) => limits.refused(partition, cause, second),
            Limits::Cosmos(limits) => limits.refused(partition, access),
        }
    }

    /// Counts a request that had room, of a transaction that failed elsewhere.
    #[inline]
    pub fn called_off(&mut self, partition: usize, access: &Access) {
        self.partitions[partition].second[index(access.capacity)] += Tally::of_throttled(access.milli);
    }

    /// Counts bytes that a new item takes.
    #[inline]
    pub fn store(&mut self, partition: usize, bytes: u64) {
        self.partitions[partition].bytes += bytes;
    }

    /// How long after `now` a refused request would be admitted if nobody else came; what Cosmos DB tells its clients.
    pub fn retry_after(&self, partition: usize, access: &Access, now: Instant) -> Duration {
        match &self.limits {
            Limits::DynamoDb(limits) => limits.retry_at(&self.partitions[partition], access, now).since(now),
            Limits::Cosmos(_) => CosmosLimits::retry_after(now),
        }
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Once a second

    #[cold]
    fn roll(&mut self, now: Instant) {
        let second = self.second;
        let mut consumed = Vec::with_capacity(self.partitions.len());
        for partition in &mut self.partitions {
            let [reads, writes] = partition.close(second, now.second());
            consumed.push(reads.consumed_milli + writes.consumed_milli);
            if let Some(seconds) = &mut self.seconds
                && !(reads.is_empty() && writes.is_empty())
            {
                seconds.push(Second { second, partition: partition.id, reads, writes });
            }
        }
        self.second = now.second();
        match &mut self.limits {
            Limits::DynamoDb(limits) => {
                if limits.roll(&mut self.partitions, second, now) {
                    let provisioned = limits.provisioned();
                    let throughput = self.throughput();
                    self.tell(now, format!("throughput is now {throughput}"));
                    match provisioned {
                        Some(units) => {
                            self.highest = [0, 1].map(|i| self.highest[i].max(units[i]));
                            self.grow_provisioned(units, now);
                        }
                        None => self.grow(now),
                    }
                    self.share_out(now);
                }
            }
            Limits::Cosmos(limits) => {
                limits.roll(&mut self.partitions, &consumed, now);
                if let Some((_, target)) = limits.pending.take_if(|(due, _)| *due <= now) {
                    self.finish_scaling(target, now);
                }
            }
        }
        self.split_for_heat(now);
        self.split_for_size(now);
    }

    fn split_for_heat(&mut self, now: Instant) {
        let Limits::DynamoDb(limits) = &self.limits else { return };
        let (ceilings, weight) = (limits.ceilings_milli(), limits.write_weight());
        let before = self.splits;
        // A partition that splits leaves two in its place, which are not due.
        let mut i = 0;
        while i < self.partitions.len() {
            let whole = self.setup.switches.local_index;
            let point = self.partitions[i].watch.as_mut().and_then(|watch| {
                watch.is_due(ceilings, weight, now).then(|| {
                    watch.postpone();
                    watch.split_point(whole)
                })
            });
            match point {
                Some(Ok(at)) if self.bounds.len() < PARTITIONS_MAX as usize && self.holds_inside(i, at) => {
                    let id = self.partitions[i].id;
                    self.split(i, at, now);
                    let [low, high] = [self.partitions[i].id, self.partitions[i + 1].id];
                    self.tell(now, format!("partition {id} split for heat into {low} and {high}"));
                    i += 1;
                }
                Some(Err(declined)) => self.decline(i, declined, now),
                Some(Ok(_)) | None => {}
            }
            i += 1;
        }
        self.dilute(before, now);
    }

    /// Where partitions have even shares, a split leaves each with less: throughput is divided, not made.
    fn dilute(&mut self, splits_before: u64, now: Instant) {
        if self.splits > splits_before {
            self.share_out(now);
        }
    }

    fn holds_inside(&self, i: usize, at: Place) -> bool {
        at > self.bounds[i] && self.bounds.get(i + 1).is_none_or(|to| at < *to)
    }

    fn decline(&mut self, i: usize, declined: Declined, now: Instant) {
        let partition = &mut self.partitions[i];
        if partition.declined != Some(declined) {
            partition.declined = Some(declined);
            let id = partition.id;
            self.tell(now, format!("partition {id} is hot and does not split: {declined}"));
        }
    }

    fn split_for_size(&mut self, now: Instant) {
        let most = self.setup.profile.partition_max().0;
        match self.setup.profile.service() {
            Service::DynamoDb => {
                let before = self.splits;
                let mut i = 0;
                while i < self.partitions.len() && self.bounds.len() < PARTITIONS_MAX as usize {
                    // One that cannot be divided stays as it is, and those after it have their turn. A half that is still
                    // full is looked at again.
                    if self.partitions[i].bytes >= most && self.split_middle(i, now) {
                        let id = self.partitions[i].id;
                        self.tell(now, format!("a partition was full and split: {id} is its lower half"));
                    } else {
                        i += 1;
                    }
                }
                self.dilute(before, now);
            }
            Service::Cosmos => {
                for i in 0..self.partitions.len() {
                    let id = self.partitions[i].id;
                    if self.partitions[i].bytes >= most && !self.growing.iter().any(|(_, other)| *other == id)
                    {
                        let due = now.after(self.split_time());
                        self.growing.push_back((due, id));
                        self.tell(now, format!("partition {id} is full: its split has begun"));
                    }
                }
                while let Some(at) = self.growing.iter().position(|(due, _)| *due <= now) {
                    let Some((_, id)) = self.growing.remove(at) else { break };
                    let Some(i) = self.partitions.iter().position(|partition| partition.id == id) else {
                        continue;
                    };
                    let had = self.partitions[i].window.rate_milli();
                    if self.split_middle(i, now) {
                        self.tell(now, format!("partition {id} was full and has split"));
                        if self.setup.switches.size_split_divides_share {
                            for half in [i, i + 1] {
                                self.partitions[half].set_rate(now, had / 2);
                            }
                        } else {
                            self.share_out(now);
                        }
                    }
                }
            }
        }
    }

    /// DynamoDB: every partition splits until there are enough for the throughput.
    fn grow(&mut self, now: Instant) {
        let Limits::DynamoDb(limits) = &self.limits else { return };
        let needed =
            limits.needs(Capacity::Read).max(limits.needs(Capacity::Write)).min(PARTITIONS_MAX) as usize;
        let before = self.partitions.len();
        while self.partitions.len() < needed && self.partitions.len() * 2 <= PARTITIONS_MAX as usize {
            if !self.split_all(now) {
                break;
            }
        }
        if self.partitions.len() > before {
            let after = self.partitions.len();
            self.tell(now, format!("{before} partitions became {after} for more throughput"));
        }
    }

    fn split_all(&mut self, now: Instant) -> bool {
        let mut any = false;
        for i in (0..self.partitions.len()).rev() {
            any |= self.split_middle(i, now);
        }
        any
    }

    /// Cosmos DB: the splits that more throughput asked for are done.
    fn finish_scaling(&mut self, target: u64, now: Instant) {
        let needed = target.div_ceil(COSMOS_PARTITION_RU).min(u64::from(PARTITIONS_MAX)) as usize;
        let before = self.partitions.len();
        while self.partitions.len() < needed {
            // The widest first, the lowest of equals.
            let widest = (0..self.partitions.len())
                .max_by(|&a, &b| {
                    let width = |i: usize| self.width(&self.partitions[i]);
                    width(a).total_cmp(&width(b)).then(b.cmp(&a))
                })
                .unwrap_or(0);
            if !self.split_middle(widest, now) {
                break;
            }
        }
        if let Limits::Cosmos(limits) = &mut self.limits {
            limits.set_total(target);
        }
        self.share_out(now);
        let after = self.partitions.len();
        self.tell(now, format!("{before} partitions became {after}, and throughput is {target} RU/s"));
    }

    // -----------------------------------------------------------------------------------------------------------------
    // What may happen to a table

    /// Other throughput: provisioned, manual, or the autoscale maximum.
    ///
    /// # Errors
    /// When the service would refuse it: too many decreases, lower than the minimum, of the wrong kind, or a table on demand.
    pub fn set_throughput(&mut self, throughput: Throughput, now: Instant) -> Result<()> {
        self.advance(now);
        self.setup.profile.clone().with_throughput(throughput)?;
        match &mut self.limits {
            Limits::DynamoDb(limits) => {
                if limits.is_on_demand() {
                    return Err(Error::invalid(format!(
                        "table {} is on demand and has no provisioned throughput to change; switch its mode instead",
                        self.setup.name
                    )));
                }
                let next = throughput.units();
                let lower = limits.rates().iter().zip(next).any(|(now, next)| next < *now);
                if lower && !self.decreases.take(now) {
                    return Err(Error::invalid(format!(
                        "table {} has been lowered too often: four times are there at the start of a day, and one more \
                         each hour",
                        self.setup.name
                    )));
                }
                limits.provision(&throughput, now);
                self.highest = [0, 1].map(|i| self.highest[i].max(next[i]));
                self.tell(now, format!("throughput set to {} RCU, {} WCU", next[0], next[1]));
                self.grow_provisioned(next, now);
                self.share_out(now);
            }
            Limits::Cosmos(limits) => {
                let [_, units] = throughput.units();
                let gb = self.partitions.iter().map(|partition| partition.bytes).sum::<u64>().div_ceil(GB);
                let least = match limits.mode() {
                    CosmosMode::Manual => COSMOS_MIN_RU.max(gb).max(limits.highest / MANUAL_SHARE_OF_HIGHEST),
                    CosmosMode::Autoscale => {
                        COSMOS_AUTOSCALE_MIN_RU.max(10 * gb).max(limits.highest / AUTOSCALE_SHARE_OF_HIGHEST)
                    }
                    CosmosMode::Serverless => {
                        return Err(Error::invalid("a serverless container has no throughput to change"));
                    }
                };
                if units < least {
                    return Err(Error::invalid(format!(
                        "container {} cannot go below {least} RU/s: it stores {gb} GB and once had {} RU/s",
                        self.setup.name, limits.highest
                    )));
                }
                let at_once = (self.partitions.len() as u64 * COSMOS_PARTITION_RU).min(units);
                limits.set_total(at_once);
                limits.pending = None;
                self.share_out(now);
                if units > at_once {
                    let takes = self.split_time();
                    let due = now.after(takes);
                    if let Limits::Cosmos(limits) = &mut self.limits {
                        limits.pending = Some((due, units));
                    }
                    self.tell(
                        now,
                        format!(
                            "{units} RU/s asked for: {at_once} at once, the rest after splits that take {} min",
                            takes.as_secs() / 60
                        ),
                    );
                } else {
                    self.tell(now, format!("throughput set to {units} RU/s"));
                }
            }
        }
        Ok(())
    }

    fn grow_provisioned(&mut self, units: [u64; 2], now: Instant) {
        let [read, write] = units.map(super::dynamodb::rate);
        let throughput = Throughput::ReadWrite { read, write };
        let needed = self.setup.profile.partitions_for(&throughput).min(PARTITIONS_MAX) as usize;
        let before = self.partitions.len();
        while self.partitions.len() < needed
            && self.partitions.len() * 2 <= PARTITIONS_MAX as usize
            && self.split_all(now)
        {}
        if self.partitions.len() > before {
            let after = self.partitions.len();
            self.tell(now, format!("{before} partitions became {after} for more throughput"));
        }
    }

    /// DynamoDB: to on-demand mode, or with a throughput to provisioned mode.
    ///
    /// # Errors
    /// For Cosmos DB, and when the mode was switched too often in a day.
    pub fn switch_mode(&mut self, provisioned: Option<Throughput>, now: Instant) -> Result<()> {
        self.advance(now);
        let Limits::DynamoDb(limits) = &mut self.limits else {
            return Err(Error::invalid(format!(
                "container {} is of Cosmos DB, where throughput has no on-demand mode",
                self.setup.name
            )));
        };
        if let Some(throughput) = &provisioned {
            self.setup.profile.clone().with_throughput(*throughput)?;
        }
        if provisioned.is_none() == limits.is_on_demand() {
            return Err(Error::invalid(format!("table {} is in that mode already", self.setup.name)));
        }
        while self.mode_switches.front().is_some_and(|at| at.after(DAY) <= now) {
            self.mode_switches.pop_front();
        }
        if self.mode_switches.len() >= MODE_SWITCHES_MAX {
            return Err(Error::invalid(format!(
                "table {} has switched its mode {MODE_SWITCHES_MAX} times within 24 hours, which is as often as it may",
                self.setup.name
            )));
        }
        self.mode_switches.push_back(now);
        match provisioned {
            Some(throughput) => {
                limits.provision(&throughput, now);
                let units = limits.rates();
                self.highest = [0, 1].map(|i| self.highest[i].max(units[i]));
                self.tell(now, "switched to provisioned mode".into());
                self.grow_provisioned(units, now);
            }
            None => {
                limits.go_on_demand(self.highest, now);
                let throughput = self.throughput();
                self.tell(now, format!("switched to on-demand mode: {throughput}"));
                self.grow(now);
            }
        }
        self.share_out(now);
        Ok(())
    }

    /// DynamoDB on demand: warm throughput of reads and writes, in units a second.
    ///
    /// # Errors
    /// For Cosmos DB.
    pub fn warm(&mut self, units: [u64; 2], now: Instant) -> Result<()> {
        self.advance(now);
        let Limits::DynamoDb(limits) = &mut self.limits else {
            return Err(Error::invalid("warm throughput is of DynamoDB"));
        };
        limits.warm(units, now);
        self.tell(now, format!("warm throughput raised to {} reads and {} writes", units[0], units[1]));
        self.grow(now);
        self.share_out(now);
        Ok(())
    }

    /// Splits the partition that was asked for most so far, in its middle.
    ///
    /// # Errors
    /// When its range is too thin.
    pub fn split_hottest(&mut self, now: Instant) -> Result<()> {
        self.advance(now);
        let hottest = self.hottest();
        let id = self.partitions[hottest].id;
        if self.partitions.len() >= PARTITIONS_MAX as usize || !self.split_middle(hottest, now) {
            return Err(Error::invalid(format!(
                "partition {id} of {} cannot split further",
                self.setup.name
            )));
        }
        self.tell(now, format!("partition {id} split, as asked"));
        self.share_out(now);
        Ok(())
    }

    /// Splits the partition that holds the middle of a key's items there: as when the key's own traffic split it.
    ///
    /// # Errors
    /// When it is split there already, and where a key stays whole (Cosmos DB, a local index).
    pub fn split_key(&mut self, token: u128, now: Instant) -> Result<()> {
        self.advance(now);
        if !self.setup.profile.splits_inside() || self.setup.switches.local_index {
            return Err(Error::invalid(format!("{} keeps a key on one partition", self.setup.name)));
        }
        let from = Place { token, sort: 0 };
        let high = Place { token, sort: u64::MAX };
        let i = self.route(Place { token, sort: u64::MAX / 2 });
        let low_end = self.bounds[i].max(from).sort;
        let high_end = self.bounds.get(i + 1).map_or(high, |to| (*to).min(high)).sort;
        let at = Place { token, sort: low_end.midpoint(high_end) };
        if self.partitions.len() >= PARTITIONS_MAX as usize || !self.holds_inside(i, at) {
            return Err(Error::invalid(format!("the key cannot be split further in {}", self.setup.name)));
        }
        let id = self.partitions[i].id;
        self.split(i, at, now);
        self.tell(now, format!("partition {id} split inside a key, as asked"));
        self.share_out(now);
        Ok(())
    }

    /// Splits every partition in its middle.
    ///
    /// # Errors
    /// When there would be too many.
    pub fn split_every(&mut self, now: Instant) -> Result<()> {
        self.advance(now);
        let before = self.partitions.len();
        if before * 2 > PARTITIONS_MAX as usize || !self.split_all(now) {
            return Err(Error::invalid(format!(
                "{before} partitions of {} cannot all split: there may be {PARTITIONS_MAX}",
                self.setup.name
            )));
        }
        let after = self.partitions.len();
        self.tell(now, format!("{before} partitions became {after}, as asked"));
        self.share_out(now);
        Ok(())
    }

    /// Cosmos DB: merges pairs of neighbours that have less than 3,000 RU/s and less than 20 GB each and, merged, no more
    /// throughput than one partition serves. Takes hours in the service; here it is done at once.
    ///
    /// # Errors
    /// For DynamoDB, which never merges.
    pub fn merge(&mut self, now: Instant) -> Result<()> {
        self.advance(now);
        let Limits::Cosmos(limits) = &self.limits else {
            return Err(Error::invalid("DynamoDB never merges partitions"));
        };
        let total = limits.total_milli();
        let before = self.partitions.len();
        let mut i = 0;
        while i + 1 < self.partitions.len() {
            let fits = |partition: &Partition| {
                partition.window.rate_milli() < MERGE_RU * MILLI && partition.bytes < MERGE_BYTES
            };
            let enough = total / (self.partitions.len() as u64 - 1) <= COSMOS_PARTITION_RU * MILLI;
            let (low, high) = (&self.partitions[i], &self.partitions[i + 1]);
            if fits(low) && fits(high) && enough {
                self.merge_pair(i, now);
            }
            i += 1;
        }
        let after = self.partitions.len();
        self.tell(now, format!("{before} partitions merged into {after}"));
        self.share_out(now);
        Ok(())
    }

    fn merge_pair(&mut self, i: usize, now: Instant) {
        let id = self.take_id();
        let (low, high) = (&self.partitions[i], &self.partitions[i + 1]);
        let mut merged = low.child(id, low.from, high.to, now);
        merged.bytes = low.bytes + high.bytes;
        self.watch(&mut merged, now);
        let retired = self.partitions.splice(i..=i + 1, [merged]).map(|partition| retire(partition, now));
        self.retired.extend(retired.collect::<Vec<_>>());
        self.bounds.remove(i + 1);
    }

    /// Cosmos DB: gives the hottest partition so many RU/s, taken evenly from the others. Beyond 10,000 it gets 10,000, then
    /// splits, and both halves get half of it; the others keep theirs ("Redistribute throughput across partitions", up to
    /// 20,000: of 10,000 RU/s on two partitions, 20,000 for one make 25,000).
    ///
    /// # Errors
    /// For DynamoDB, and beyond 20,000.
    pub fn redistribute(&mut self, units: u64, now: Instant) -> Result<()> {
        self.advance(now);
        let hottest = self.hottest();
        let Limits::Cosmos(limits) = &mut self.limits else {
            return Err(Error::invalid("redistribution of throughput is of Cosmos DB"));
        };
        if units > 2 * COSMOS_PARTITION_RU || units == 0 {
            return Err(Error::invalid(format!(
                "a partition can be given 1 to {} RU/s, not {units}",
                2 * COSMOS_PARTITION_RU
            )));
        }
        let id = self.partitions[hottest].id;
        let floor = if units > COSMOS_PARTITION_RU { u64::MAX } else { REDISTRIBUTION_FLOOR };
        limits.redistribute(&mut self.partitions, hottest, units, floor, now);
        self.tell(now, format!("partition {id} was given {} RU/s", units.min(COSMOS_PARTITION_RU)));
        if units > COSMOS_PARTITION_RU && self.split_middle(hottest, now) {
            if let Limits::Cosmos(limits) = &mut self.limits {
                for half in [hottest, hottest + 1] {
                    limits.redistribute(&mut self.partitions, half, units / 2, u64::MAX, now);
                }
            }
            self.tell(now, format!("partition {id} split, and each half has {} RU/s", units / 2));
        }
        Ok(())
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Ranges

    fn take_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn tell(&mut self, at: Instant, what: String) {
        if self.history.len() < HISTORY_MAX {
            self.history.push(History { at, what });
        }
    }

    fn split_time(&mut self) -> Duration {
        let (from, to) = self.setup.split_takes;
        let span = to.saturating_sub(from).as_nanos() as u64;
        self.draws += 1;
        from + Duration::from_nanos(below(
            self.setup.seed.stream("split").at(self.draws),
            span.saturating_add(1),
        ))
    }

    fn watch(&self, partition: &mut Partition, now: Instant) {
        if self.setup.profile.service() == Service::DynamoDb {
            let seed: Seed = DynamoDbLimits::watch_seed(self.setup.seed, partition.id);
            partition.watch = self.setup.switches.heat_splits.map(|rule| HeatWatch::new(rule, seed, now));
        }
    }

    fn share_out(&mut self, now: Instant) {
        match &mut self.limits {
            Limits::DynamoDb(limits) => limits.share_out(&mut self.partitions, now),
            Limits::Cosmos(limits) => limits.share_out(&mut self.partitions, now),
        }
    }

    /// The partition that was asked for most.
    pub fn hottest(&self) -> usize {
        let asked = |partition: &Partition| {
            [Capacity::Read, Capacity::Write]
                .map(|c| partition.tally(c).attempted_milli())
                .iter()
                .sum::<u64>()
        };
        (0..self.partitions.len())
            .max_by_key(|&i| (asked(&self.partitions[i]), std::cmp::Reverse(i)))
            .unwrap_or_default()
    }

    /// Splits in the middle of the hashes, or in the middle of a key that is all of the range. Whether it did.
    fn split_middle(&mut self, i: usize, now: Instant) -> bool {
        let (from, to) = (self.bounds[i], self.bounds.get(i + 1).copied());
        let placement = self.setup.profile.placement();
        let end = to.map(|to| Token::from_u128(to.token));
        let at = match placement.middle(&Token::from_u128(from.token), end.as_ref()) {
            Some(token) => Place { token: token.leading_u128(), sort: 0 },
            None if !self.setup.profile.splits_inside() || self.setup.switches.local_index => return false,
            // Both ends are within one key, or it is the last key of the range.
            None => {
                let high = to.filter(|to| to.token == from.token).map_or(u64::MAX, |to| to.sort);
                Place { token: from.token, sort: from.sort.midpoint(high) }
            }
        };
        let possible = self.holds_inside(i, at);
        if possible {
            self.split(i, at, now);
        }
        possible
    }

    fn split(&mut self, i: usize, at: Place, now: Instant) {
        debug_assert!(self.holds_inside(i, at), "a split is inside its range");
        let (low, high) = (self.take_id(), self.take_id());
        let parent = &self.partitions[i];
        let mut low = parent.child(low, parent.from, Some(at), now);
        let mut high = parent.child(high, at, parent.to, now);
        self.watch(&mut low, now);
        self.watch(&mut high, now);
        let retired = self.partitions.splice(i..=i, [low, high]).map(|partition| retire(partition, now));
        self.retired.extend(retired.collect::<Vec<_>>());
        self.bounds.insert(i + 1, at);
        self.splits += 1;
    }
}

/// A partition that is no more.
fn retire(mut partition: Partition, now: Instant) -> Partition {
    partition.close(now.second(), now.second() + 1);
    partition.until = Some(now);
    partition.watch = None;
    partition
}

/// Where the partitions of a new table begin.
fn bounds(profile: &Profile, count: u32, widths: &[f64]) -> Result<Vec<Place>> {
    let place = |token: &Token| Place { token: token.leading_u128(), sort: 0 };
    let even = profile.placement().even_bounds(count);
    if widths.is_empty() {
        return Ok(std::iter::once(Place::default()).chain(even.iter().map(place)).collect());
    }
    let total: f64 = widths.iter().sum();
    if widths.len() != count as usize || widths.iter().any(|width| !width.is_finite() || *width <= 0.0) {
        return Err(Error::invalid(format!(
            "{count} partitions need {count} positive widths, and there are {}",
            widths.len()
        )));
    }
    // A fine even division tells where a share of the space ends, whatever the space is.
    const FINE: u32 = 10_000;
    let fine = profile.placement().even_bounds(FINE);
    let mut from = 0.0;
    let mut bounds = vec![Place::default()];
    for width in &widths[..widths.len() - 1] {
        from += width / total;
        let nearest = ((from * f64::from(FINE)).round() as usize).clamp(1, FINE as usize - 1);
        bounds.push(place(&fine[nearest - 1]));
    }
    if bounds.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Error::invalid("a width must be at least a thousandth of all"));
    }
    Ok(bounds)
}
