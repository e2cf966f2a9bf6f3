//! Cosmos DB's limits: an even share for each partition, in one-second windows.
//!
//! ```text
//!   bucket        a share of the partition's throughput that a group of clients may use     429/3212
//!   share         container ÷ partitions, or what redistribution gave; burst where it is on 429/3200
//!   priority      low only what high leaves over                                            429/3200
//! ```
//!
//! Sources: "Partitioning and horizontal scaling", "Burst capacity", "Priority-based execution" (low is throttled first;
//! how is unpublished: *assumed* that what high asked for in the last second is kept for it), "Throughput buckets".

use super::partition::Partition;
use super::{Access, Setup};
use crate::clock::Instant;
use crate::physics::Cause;
use crate::profile::{COSMOS_PARTITION_RU, CosmosMode, serverless_units};
use crate::units::MILLI;
use std::time::Duration;

/// Autoscale never bills less than this share of its maximum, in hundredths ("Provision autoscale throughput").
const AUTOSCALE_FLOOR_PERCENT: u64 = 10;

#[derive(Clone, Debug)]
pub(super) struct CosmosLimits {
    mode: CosmosMode,
    /// Request units a second of the container, in thousandths; with autoscale the maximum.
    total_milli: u64,
    /// Throughput that waits for splits, and when they are done.
    pub(super) pending: Option<(Instant, u64)>,
    /// The highest ever, in units.
    pub(super) highest: u64,
    /// Whether shares were redistributed.
    custom: bool,
    whole_autoscale: bool,
    pub(super) billed: Vec<u64>,
    hour: u64,
}

impl CosmosLimits {
    pub(super) fn new(setup: &Setup, now: Instant) -> Self {
        let total_milli = setup.profile.throughput().write_rate().milli();
        Self {
            mode: setup.profile.cosmos_mode(),
            total_milli,
            pending: None,
            highest: total_milli / MILLI,
            custom: false,
            whole_autoscale: setup.switches.whole_autoscale,
            billed: Vec::new(),
            hour: now.second() / 3_600,
        }
    }

    /// Units a second of the container, in thousandths.
    pub(super) fn total_milli(&self) -> u64 {
        self.total_milli
    }

    pub(super) fn mode(&self) -> CosmosMode {
        self.mode
    }

    /// An even share for each partition, at most what one serves.
    pub(super) fn share_out(&mut self, partitions: &mut [Partition], now: Instant) {
        let n = partitions.len() as u64;
        if self.mode == CosmosMode::Serverless {
            self.total_milli = serverless_units(n) * MILLI;
        }
        self.custom = false;
        let share = (self.total_milli / n.max(1)).min(COSMOS_PARTITION_RU * MILLI);
        partitions.iter_mut().for_each(|partition| partition.set_rate(now, share));
    }

    pub(super) fn set_total(&mut self, units: u64) {
        self.total_milli = units.saturating_mul(MILLI);
        self.highest = self.highest.max(units);
    }

    /// Sets one partition's throughput, at most 10,000. What it has more is taken evenly from the others as long as they have
    /// more than `floor` units, and the total grows where they cannot give ("Redistribute throughput across partitions").
    pub(super) fn redistribute(
        &mut self,
        partitions: &mut [Partition],
        which: usize,
        units: u64,
        floor: u64,
        now: Instant,
    ) {
        let wanted = units.min(COSMOS_PARTITION_RU) * MILLI;
        let had = partitions[which].window.rate_milli();
        partitions[which].set_rate(now, wanted);
        let floor = floor.saturating_mul(MILLI);
        let mut missing = wanted.saturating_sub(had);
        // Whoever has least to give is asked first: what it cannot give is asked of those that are left.
        let mut others: Vec<usize> = (0..partitions.len()).filter(|&i| i != which).collect();
        others.sort_by_key(|&i| (partitions[i].window.rate_milli(), i));
        for (asked, &i) in others.iter().enumerate() {
            let rate = partitions[i].window.rate_milli();
            let gives = missing.div_ceil((others.len() - asked) as u64).min(rate.saturating_sub(floor));
            partitions[i].set_rate(now, rate - gives);
            missing -= gives;
        }
        self.total_milli = partitions.iter().map(|partition| partition.window.rate_milli()).sum();
        self.custom = true;
    }

    #[inline]
    pub(super) fn refuses(&self, partition: &mut Partition, access: &Access, now: Instant) -> Option<Cause> {
        if let Some(percent) = access.bucket_percent {
            let most = partition.window.rate_milli() * u64::from(percent) / 100;
            let used =
                partition.buckets.iter().find(|(bucket, _)| *bucket == percent).map_or(0, |(_, used)| *used);
            if used >= most {
                return Some(Cause::Bucket);
            }
            // "Burst capacity", questions: requests in a bucket have no burst.
            if partition.window.used_milli(now) >= partition.window.rate_milli() {
                return Some(Cause::PartitionShare);
            }
        }
        let [high_now, high_before] = partition.high_milli;
        // Where nobody of high priority asks, a request of low priority is like any other.
        if access.low_priority && high_now + high_before > 0 {
            let kept = high_before.saturating_sub(high_now);
            if partition.window.used_milli(now).saturating_add(kept) >= partition.window.rate_milli() {
                return Some(Cause::LowPriority);
            }
        }
        (!partition.window.admits(now)).then_some(Cause::PartitionShare)
    }

    #[inline]
    pub(super) fn settle(&self, partition: &mut Partition, access: &Access, now: Instant) {
        partition.window.settle(now, access.milli);
        if !access.low_priority {
            partition.high_milli[0] += access.milli;
        }
        if let Some(percent) = access.bucket_percent {
            match partition.buckets.iter_mut().find(|(bucket, _)| *bucket == percent) {
                Some((_, used)) => *used += access.milli,
                None => partition.buckets.push((percent, access.milli)),
            }
        }
    }

    /// A request was refused: what those of high priority ask for is kept for them, also while they do not get it.
    pub(super) fn refused(&self, partition: &mut Partition, access: &Access) {
        if !access.low_priority {
            partition.high_milli[0] += access.milli;
        }
    }

    /// Follows what autoscale bills: the highest of each hour, of the container or of each partition by itself.
    pub(super) fn roll(&mut self, partitions: &mut [Partition], consumed_milli: &[u64], now: Instant) {
        if self.mode != CosmosMode::Autoscale {
            return;
        }
        for (partition, consumed) in partitions.iter_mut().zip(consumed_milli) {
            partition.hour_most_milli =
                partition.hour_most_milli.max((*consumed).min(partition.window.rate_milli()));
        }
        let hour = now.second() / 3_600;
        while self.hour < hour {
            let bill = self.bill(partitions);
            self.billed.push(bill);
            partitions.iter_mut().for_each(|partition| partition.hour_most_milli = 0);
            self.hour += 1;
        }
    }

    /// What this hour costs so far, in units a second.
    pub(super) fn bill(&self, partitions: &[Partition]) -> u64 {
        let floor = |rate: u64| rate * AUTOSCALE_FLOOR_PERCENT / 100;
        let milli = if self.whole_autoscale {
            // The container scales with its hottest partition.
            let most = partitions.iter().map(|p| p.hour_most_milli.max(floor(p.window.rate_milli()))).max();
            most.unwrap_or(0) * partitions.len() as u64
        } else {
            partitions.iter().map(|p| p.hour_most_milli.max(floor(p.window.rate_milli()))).sum()
        };
        milli.div_ceil(MILLI)
    }

    /// What a refusal says: the next window ("x-ms-retry-after-ms").
    pub(super) fn retry_after(now: Instant) -> Duration {
        Instant::from_secs(now.second() + 1).since(now)
    }
}
