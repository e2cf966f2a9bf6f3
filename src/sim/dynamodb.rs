//! DynamoDB's limits: three layers, of reads and of writes.
//!
//! ```text
//!   partition ceiling   3,000 reads, 1,000 writes; half a second's worth        KeyRange
//!   even share          only before adaptive capacity                           EvenShare
//!   table               provisioned with 300 s of burst, or twice the peak      Provisioned, OnDemandPeak
//!   cap                 maximum on-demand throughput, the account's quota       MaxOnDemand, Account
//! ```
//!
//! They are asked in this order, and the first without room gives the reason ("Key range if the partition is empty, else
//! table": *assumed*). Burst never lifts a partition past its ceiling, because the ceiling is asked first.

use super::partition::{Partition, index};
use super::{Access, OnDemand, Setup};
use crate::budget::{Capacity, Fill, Meter, Rate};
use crate::clock::Instant;
use crate::physics::{Adaptive, AutoScaler, AutoScaling, Cause, EventualReads, OnDemandPeak};
use crate::profile::{DYNAMODB_BURST_SECONDS, Profile, Throughput};
use crate::rng::{Seed, below};
use crate::units::MILLI;

/// Adaptive capacity that came late took 5 to 30 minutes (*recalled*).
const LIFT_SECONDS: (u64, u64) = (5 * 60, 30 * 60);

/// What a partition's budgets are reckoned in when nothing is provisioned any more, and other floors.
const RATE_MIN: u64 = 1;

#[derive(Clone, Debug)]
pub(super) struct DynamoDbLimits {
    ceilings: [Meter; 2],
    three_replicas: bool,
    /// Writes weigh so much on the one limit of reads and writes; `None`: each has its own.
    write_weight: Option<u64>,
    adaptive: Adaptive,
    pools: [Pool; 2],
    /// The share of one partition, of reads and of writes.
    shares: [Meter; 2],
    on_demand: Option<OnDemand>,
    /// What a table that was on demand before is on demand again: its quota and maximum, and what it served at once.
    before: Option<OnDemand>,
    scaling: Option<AutoScaling>,
    lift_seconds: u64,
}

/// What all partitions draw on, of one capacity.
#[derive(Clone, Debug)]
struct Pool {
    /// Units a second.
    rate: u64,
    meter: Meter,
    state: u64,
    /// Why it refuses.
    cause: Cause,
    peak: Option<OnDemandPeak>,
    caps: Vec<(Meter, u64, Cause)>,
    scaler: Option<AutoScaler>,
    /// Consumed in this second.
    second_milli: u64,
}

/// A rate that can be metered, as near to so many units a second as there is one.
pub(super) fn rate(units: u64) -> Rate {
    match Rate::per_second(units.clamp(RATE_MIN, Rate::MAX_UNITS_PER_SEC)) {
        Ok(rate) => rate,
        Err(_) => unreachable!("the rate was brought within what can be metered"),
    }
}

impl Pool {
    fn provisioned(units: u64, scaler: Option<AutoScaler>, now: Instant, fill: Fill) -> Self {
        let meter = Meter::allowance(rate(units), DYNAMODB_BURST_SECONDS);
        Self {
            rate: units,
            meter,
            state: meter.begin(now, fill),
            cause: Cause::Provisioned,
            peak: None,
            caps: Vec::new(),
            scaler,
            second_milli: 0,
        }
    }

    fn on_demand(which: usize, settings: &OnDemand, now: Instant) -> Self {
        let mut peak = OnDemandPeak::new(settings.warm[which], settings.previous_peak[which], now);
        let units = peak.rate_milli(now) / MILLI;
        let meter = Meter::ceiling(rate(units));
        let cap = |units: u64, cause, burst: u32| {
            let meter = match burst {
                0 => Meter::ceiling(rate(units)),
                seconds => Meter::allowance(rate(units), seconds),
            };
            (meter, meter.begin(now, Fill::Base), cause)
        };
        // "Maximum throughput for on-demand tables": best effort, burst may exceed it.
        let max = settings.max[which].map(|units| cap(units, Cause::MaxOnDemand, DYNAMODB_BURST_SECONDS));
        let quota = cap(settings.quota[which], Cause::Account, 0);
        Self {
            rate: units,
            meter,
            state: meter.begin(now, Fill::Full),
            cause: Cause::OnDemandPeak,
            peak: Some(peak),
            caps: max.into_iter().chain([quota]).collect(),
            scaler: None,
            second_milli: 0,
        }
    }

    #[inline]
    fn refuses(&self, now: Instant) -> Option<Cause> {
        if !self.meter.admits(self.state, now) {
            return Some(self.cause);
        }
        self.caps.iter().find(|(meter, state, _)| !meter.admits(*state, now)).map(|&(.., cause)| cause)
    }

    #[inline]
    fn settle(&mut self, now: Instant, milli: u64) {
        self.state = self.meter.settle(self.state, now, milli);
        for (meter, state, _) in &mut self.caps {
            *state = meter.settle(*state, now, milli);
        }
        self.second_milli += milli;
    }

    fn set_rate(&mut self, units: u64, now: Instant) {
        let meter = match self.peak {
            Some(_) => Meter::ceiling(rate(units)),
            None => Meter::allowance(rate(units), DYNAMODB_BURST_SECONDS),
        };
        self.state = self.meter.carry_over(self.state, &meter, now);
        (self.rate, self.meter) = (units, meter);
    }

    /// Ends the seconds before that of `now`. Whether the rate has changed.
    fn roll(&mut self, second: u64, now: Instant) -> bool {
        let consumed = std::mem::take(&mut self.second_milli);
        if let Some(peak) = &mut self.peak {
            peak.consume(Instant::from_secs(second), consumed);
            let units = peak.rate_milli(now) / MILLI;
            if units != self.rate {
                self.set_rate(units, now);
                return true;
            }
        }
        if let Some(scaler) = &mut self.scaler {
            scaler.consume(consumed);
            if let Some(units) = scaler.advance(now, self.rate) {
                self.set_rate(units, now);
                return true;
            }
        }
        false
    }
}

impl DynamoDbLimits {
    pub(super) fn new(setup: &Setup, now: Instant) -> Self {
        let profile = &setup.profile;
        let pools = match &setup.on_demand {
            Some(settings) => [0, 1].map(|which| Pool::on_demand(which, settings, now)),
            None => profile.throughput().units().map(|units| {
                let scaler = setup.auto_scaling.map(|settings| AutoScaler::new(settings, now));
                Pool::provisioned(units, scaler, now, profile.fill())
            }),
        };
        let (from, to) = LIFT_SECONDS;
        let one = profile.partition_throughput();
        let mut limits = Self {
            ceilings: [Meter::ceiling(one.read_rate()), Meter::ceiling(one.write_rate())],
            three_replicas: setup.switches.eventual_reads == EventualReads::ThreeReplicas,
            write_weight: setup
                .switches
                .combined_limit
                .then(|| one.read_rate().milli() / one.write_rate().milli().max(1)),
            adaptive: setup.switches.adaptive,
            pools,
            shares: [Meter::ceiling(rate(RATE_MIN)); 2],
            on_demand: setup.on_demand,
            before: None,
            scaling: setup.auto_scaling,
            lift_seconds: from + below(setup.seed.stream("adaptive").at(0), to - from + 1),
        };
        limits.shares = limits.share_meters(profile.partitions());
        limits
    }

    fn share_meters(&self, partitions: u32) -> [Meter; 2] {
        [0, 1].map(|i| {
            let share = rate(self.pools[i].rate).share(partitions).min(self.ceilings[i].rate());
            Meter::allowance(share, DYNAMODB_BURST_SECONDS)
        })
    }

    /// The states of a partition at the start.
    pub(super) fn begin(&self, partition: &mut Partition, profile: &Profile, now: Instant) {
        partition.ceilings = self.ceilings.map(|meter| meter.begin(now, Fill::Full));
        partition.replicas = [self.ceilings[0].begin(now, Fill::Full); 2];
        partition.shares = self.shares.map(|meter| meter.begin(now, profile.fill()));
    }

    /// Partitions changed in number, or throughput did: shares follow.
    pub(super) fn share_out(&mut self, partitions: &mut [Partition], now: Instant) {
        let next = self.share_meters(partitions.len() as u32);
        for partition in partitions {
            for (state, (share, next)) in partition.shares.iter_mut().zip(self.shares.iter().zip(&next)) {
                *state = share.carry_over(*state, next, now);
            }
        }
        self.shares = next;
    }

    #[inline]
    pub(super) fn refuses(&self, partition: &Partition, access: &Access, now: Instant) -> Option<Cause> {
        let i = index(access.capacity);
        let (ceiling, _) = self.ceiling(access);
        let room = if access.eventual && self.three_replicas {
            self.replica(partition, now).is_some()
        } else {
            self.ceilings[ceiling].admits(partition.ceilings[ceiling], now)
        };
        if !room {
            return Some(Cause::KeyRange);
        }
        let by_share = match self.adaptive {
            Adaptive::Instant => false,
            Adaptive::Delayed => !partition.lifted,
            Adaptive::None => true,
        };
        if by_share {
            let admits = self.shares[i].admits(partition.shares[i], now);
            return (!admits).then_some(Cause::EvenShare);
        }
        self.pools[i].refuses(now)
    }

    /// Which of the two ceilings a request draws on, and how much.
    #[inline]
    fn ceiling(&self, access: &Access) -> (usize, u64) {
        match (self.write_weight, access.capacity) {
            (Some(weight), Capacity::Write) => (0, access.milli.saturating_mul(weight)),
            (Some(_), Capacity::Read) => (0, access.milli),
            (None, capacity) => (index(capacity), access.milli),
        }
    }

    /// The replica that answers an eventual read: 0 is the leader. Whichever has room, in turn.
    fn replica(&self, partition: &Partition, now: Instant) -> Option<usize> {
        let reading = self.ceilings[0].at(now);
        (0..3).map(|i| (usize::from(partition.turn) + i) % 3).find(|&replica| match replica {
            0 => reading.admits(partition.ceilings[0]),
            other => reading.admits(partition.replicas[other - 1]),
        })
    }

    #[inline]
    pub(super) fn settle(&mut self, partition: &mut Partition, access: &Access, now: Instant) {
        let i = index(access.capacity);
        if access.eventual && self.three_replicas {
            // A replica does the whole read, of which the client pays half.
            let milli = access.milli.saturating_mul(2);
            let replica = self.replica(partition, now).unwrap_or_default();
            let state = match replica {
                0 => &mut partition.ceilings[0],
                other => &mut partition.replicas[other - 1],
            };
            *state = self.ceilings[0].settle(*state, now, milli);
            partition.turn = (replica as u8 + 1) % 3;
        } else {
            let (ceiling, milli) = self.ceiling(access);
            partition.ceilings[ceiling] =
                self.ceilings[ceiling].settle(partition.ceilings[ceiling], now, milli);
        }
        if self.adaptive != Adaptive::Instant {
            partition.shares[i] = self.shares[i].settle(partition.shares[i], now, access.milli);
        }
        self.pools[i].settle(now, access.milli);
    }

    /// A partition's share refused a request.
    pub(super) fn refused(&self, partition: &mut Partition, cause: Cause, second: u64) {
        if cause == Cause::EvenShare && partition.refused_since.is_none() {
            partition.refused_since = Some(second);
        }
    }

    /// Ends the seconds before that of `now`. Whether throughput has changed.
    pub(super) fn roll(&mut self, partitions: &mut [Partition], second: u64, now: Instant) -> bool {
        if self.adaptive == Adaptive::Delayed {
            for partition in partitions {
                partition.lifted = partition
                    .refused_since
                    .is_some_and(|since| now.second() >= since.saturating_add(self.lift_seconds));
            }
        }
        let changed = self.pools.each_mut().map(|pool| pool.roll(second, now));
        changed[0] || changed[1]
    }

    /// What a partition serves of reads and of writes, in thousandths a second.
    pub(super) fn ceilings_milli(&self) -> [u64; 2] {
        self.ceilings.map(|meter| meter.rate().milli())
    }

    /// Provisioned units a second of reads and of writes; `None` on demand.
    pub(super) fn provisioned(&self) -> Option<[u64; 2]> {
        (!self.is_on_demand()).then(|| self.rates())
    }

    /// What a write weighs on the one limit of reads and writes; `None`: each has its own.
    pub(super) fn write_weight(&self) -> Option<u64> {
        self.write_weight
    }

    /// Units a second of the table, of reads and of writes.
    pub(super) fn rates(&self) -> [u64; 2] {
        [self.pools[0].rate, self.pools[1].rate]
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// Other provisioned throughput.
    pub(super) fn provision(&mut self, throughput: &Throughput, now: Instant) {
        let units = throughput.units();
        if let Some(settings) = self.on_demand.take() {
            // A peak and warm throughput are never forgotten.
            self.before = Some(OnDemand { warm: self.rates(), ..settings });
            self.pools = units.map(|units| {
                let scaler = self.scaling.map(|settings| AutoScaler::new(settings, now));
                Pool::provisioned(units, scaler, now, Fill::Base)
            });
        } else {
            for (pool, units) in self.pools.iter_mut().zip(units) {
                pool.set_rate(units, now);
            }
        }
    }

    /// To on-demand mode. `highest` is the highest throughput that was ever provisioned ("Considerations when switching
    /// capacity modes": at least that, and at least what a new table serves).
    pub(super) fn go_on_demand(&mut self, highest: [u64; 2], now: Instant) {
        let mut settings = self.before.unwrap_or_default();
        for (warm, highest) in settings.warm.iter_mut().zip(highest) {
            *warm = (*warm).max(highest);
        }
        self.pools = [0, 1].map(|which| Pool::on_demand(which, &settings, now));
        self.on_demand = Some(settings);
    }

    /// Warm throughput; never lowered.
    pub(super) fn warm(&mut self, units: [u64; 2], now: Instant) {
        for (pool, units) in self.pools.iter_mut().zip(units) {
            if let Some(peak) = &mut pool.peak {
                peak.warm(units);
                let rate = peak.rate_milli(now) / MILLI;
                pool.set_rate(rate, now);
            }
        }
    }

    pub(super) fn retry_at(&self, partition: &Partition, access: &Access, now: Instant) -> Instant {
        let i = index(access.capacity);
        let pool = &self.pools[i];
        let (ceiling, _) = self.ceiling(access);
        self.ceilings[ceiling]
            .admits_at(partition.ceilings[ceiling], now)
            .max(pool.meter.admits_at(pool.state, now))
    }

    /// A seed's own: see [`Setup::seed`].
    pub(super) fn watch_seed(seed: Seed, partition: u32) -> Seed {
        seed.stream("heat").child(u64::from(partition))
    }

    /// Whether reads and writes together need more partitions than `partitions`, each serving its ceiling.
    pub(super) fn needs(&self, capacity: Capacity) -> u32 {
        let i = index(capacity);
        let needed = (self.pools[i].rate * MILLI).div_ceil(self.ceilings[i].rate().milli().max(1));
        u32::try_from(needed).unwrap_or(u32::MAX)
    }
}
