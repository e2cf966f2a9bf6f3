//! A profile's limits as the replay loops use them: meters, and one plain word of state for each.

use crate::budget::{Fill, Limit, Meter, Rate};
use crate::charge::{Footprint, RequestCharge};
use crate::clock::Instant;
use crate::profile::{Metering, Profile, Sharing, Throughput};
use crate::units::Bytes;

/// The two limits of one capacity, for all partitions. The same meters as `budget` uses, without its atomics.
#[derive(Clone, Debug)]
pub(super) struct UnitLimits {
    ceiling: Option<Meter>,
    allowance: Meter,
    sharing: Sharing,
    partitions: usize,
    fill: Fill,
}

impl UnitLimits {
    fn new(profile: &Profile, table: Rate, share: Rate, partition: Rate, fill: Fill) -> Self {
        let rate = match profile.sharing() {
            Sharing::Pooled => table,
            Sharing::Even => share,
        };
        Self {
            ceiling: (profile.metering() == Metering::Bucket).then(|| Meter::ceiling(partition)),
            allowance: profile.allowance_meter(rate),
            sharing: profile.sharing(),
            partitions: profile.partitions() as usize,
            fill,
        }
    }

    /// What reads must pass where they have limits of their own, with nothing saved up; `None` where they draw on those of
    /// writes.
    pub(super) fn of_reads(profile: &Profile) -> Option<Self> {
        match profile.throughput() {
            Throughput::Request(_) => None,
            Throughput::ReadWrite { read, .. } => Some(Self::new(
                profile,
                *read,
                profile.share(profile.partitions()).read_rate(),
                profile.partition_throughput().read_rate(),
                Fill::Empty,
            )),
        }
    }

    pub(super) fn begin(&self) -> States {
        let begin = |meter: &Meter| meter.begin(Instant::START, self.fill);
        let gauges = match self.sharing {
            Sharing::Pooled => 1,
            Sharing::Even => self.partitions,
        };
        States {
            // A ceiling is full at the start unless everything is to be drained.
            ceilings: self
                .ceiling
                .as_ref()
                .map(|meter| vec![begin(meter); self.partitions])
                .unwrap_or_default(),
            allowances: vec![begin(&self.allowance); gauges],
        }
    }

    /// Which limit has no room for a request now, if one has none: the partition's before that of all.
    #[inline]
    fn refuses(&self, states: &States, partition: usize, now: Instant) -> Option<Limit> {
        let pool = if self.sharing == Sharing::Pooled { 0 } else { partition };
        if let Some(meter) = &self.ceiling
            && !meter.at(now).admits(states.ceilings[partition])
        {
            return Some(Limit::KeyRange);
        }
        let (all, part) = (Limit::Table, Limit::PartitionShare);
        let full = !self.allowance.at(now).admits(states.allowances[pool]);
        full.then_some(if self.sharing == Sharing::Pooled { all } else { part })
    }

    /// Offers a request of so many milli-units to a partition: whether it passes.
    #[inline]
    pub(super) fn offer(&self, states: &mut States, partition: usize, now: Instant, milli: u64) -> bool {
        let pool = if self.sharing == Sharing::Pooled { 0 } else { partition };
        let allowance = self.allowance.at(now);
        if let Some(meter) = &self.ceiling {
            let ceiling = meter.at(now);
            let state = states.ceilings[partition];
            if !ceiling.admits(state) || !allowance.admits(states.allowances[pool]) {
                return false;
            }
            states.ceilings[partition] = ceiling.settle(state, milli);
        } else if !allowance.admits(states.allowances[pool]) {
            return false;
        }
        states.allowances[pool] = allowance.settle(states.allowances[pool], milli);
        true
    }
}

/// What every write must pass, and what it costs.
#[derive(Clone, Debug)]
pub struct WriteLimits {
    units: UnitLimits,
    charge_milli: u64,
    table: Rate,
    partition: Rate,
}

impl WriteLimits {
    /// The limits of a table with its partitions at creation, for new items of this size. Burst credit starts empty.
    pub fn new(profile: &Profile, item: Bytes) -> Self {
        let count = profile.partitions();
        let footprint = Footprint::Write { before: None, after: Some(item) };
        let share = profile.share(count).write_rate();
        let ceiling = profile.partition_throughput().write_rate();
        let table = profile.throughput().write_rate();
        Self {
            units: UnitLimits::new(profile, table, share, ceiling, Fill::Base),
            charge_milli: milli(&profile.tariff().charge(&footprint)),
            table,
            partition: profile.partition_write_limit(count),
        }
    }

    /// The same limits with all burst credit saved up at the start.
    #[must_use]
    pub fn saved_up(&self) -> Self {
        Self { units: UnitLimits { fill: Fill::Full, ..self.units.clone() }, ..self.clone() }
    }

    /// The same limits with nothing saved up at the start: the steady state from the first write on.
    #[must_use]
    pub fn drained(&self) -> Self {
        Self { units: UnitLimits { fill: Fill::Empty, ..self.units.clone() }, ..self.clone() }
    }

    /// The limits without the price of a write.
    pub(super) fn units(&self) -> &UnitLimits {
        &self.units
    }

    /// Partitions.
    pub fn partitions(&self) -> usize {
        self.units.partitions
    }

    /// What one write costs, in milli-units.
    pub fn charge_milli(&self) -> u64 {
        self.charge_milli
    }

    /// Writes a second that the table pays for.
    pub fn table_writes(&self) -> f64 {
        self.table.milli() as f64 / self.charge_milli as f64
    }

    /// Writes a second that one partition serves.
    pub fn partition_writes(&self) -> f64 {
        self.partition.milli() as f64 / self.charge_milli as f64
    }

    /// The limit of one partition.
    pub fn partition_rate(&self) -> Rate {
        self.partition
    }

    /// Writes a second that pass in the long run when `rate` are offered with these shares of the partitions.
    ///
    /// Exact for an endless repetition of one mix while the table is not the limit; where it is, the table's rate.
    pub fn steady_writes(&self, shares: &[f64], rate: f64) -> f64 {
        let limit = self.partition_writes();
        let passed: f64 = shares.iter().map(|share| (share * rate).min(limit)).sum();
        passed.min(self.table_writes())
    }

    /// The highest rate that these shares let through in the long run.
    pub fn steady_max(&self, hottest_share: f64) -> f64 {
        let partition =
            if hottest_share > 0.0 { self.partition_writes() / hottest_share } else { f64::INFINITY };
        partition.min(self.table_writes())
    }

    pub(super) fn begin(&self) -> States {
        self.units.begin()
    }

    /// Offers one write to a partition: whether it passes.
    #[inline]
    pub(super) fn offer(&self, states: &mut States, partition: usize, now: Instant) -> bool {
        self.units.offer(states, partition, now, self.charge_milli)
    }

    /// Which limit has no room for a write now, if one has none.
    #[inline]
    pub(super) fn refuses(&self, states: &States, partition: usize, now: Instant) -> Option<Limit> {
        self.units.refuses(states, partition, now)
    }

    /// When a write that was refused would pass if nobody else came.
    pub(super) fn retry_at(&self, states: &States, partition: usize, now: Instant) -> Instant {
        let limits = &self.units;
        let pool = if limits.sharing == Sharing::Pooled { 0 } else { partition };
        let allowance = limits.allowance.admits_at(states.allowances[pool], now);
        match &limits.ceiling {
            Some(meter) => meter.admits_at(states.ceilings[partition], now).max(allowance),
            None => allowance,
        }
    }
}

/// One word for each meter.
#[derive(Clone, Debug)]
pub(super) struct States {
    ceilings: Vec<u64>,
    allowances: Vec<u64>,
}

/// A write's charge: one of the two is zero.
fn milli(charge: &RequestCharge) -> u64 {
    (charge.write.milli() + charge.request.milli()).max(1)
}
