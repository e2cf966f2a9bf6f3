//! The two limits every request to a physical partition must pass, and the permit that proves it did.
//!
//! - The *ceiling* is what one partition can serve (DynamoDB: 1,000 write and 3,000 read units a second).
//! - The *allowance* is the partition's access to the table's throughput: the table's pool, shared by all partitions
//!   (DynamoDB with instant adaptive capacity), or an even share of its own (Cosmos DB).
//!
//! When both are exhausted the ceiling is named, because more table throughput would not help.

use super::{Capacity, Fill, Gauge, Limit, Meter, PartitionId, Throttled};
use crate::clock::Instant;
use std::sync::Arc;

/// The gauges of one limit: reads and writes apart, or one for both.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "gauges are padded to a cache line on purpose; a box would cost a miss"
)]
pub enum Budget {
    /// DynamoDB counts reads and writes apart.
    ReadWrite {
        /// Read units.
        read: Gauge,
        /// Write units.
        write: Gauge,
    },
    /// Cosmos DB has one budget of request units.
    Request(Gauge),
}

impl Budget {
    /// A budget that counts reads and writes apart.
    pub fn read_write(read: Meter, write: Meter, now: Instant, fill: Fill) -> Self {
        Self::ReadWrite { read: Gauge::new(read, now, fill), write: Gauge::new(write, now, fill) }
    }

    /// A budget for reads and writes together.
    pub fn request(meter: Meter, now: Instant, fill: Fill) -> Self {
        Self::Request(Gauge::new(meter, now, fill))
    }

    /// The gauge that an operation of this capacity draws on.
    #[inline]
    pub fn gauge(&self, capacity: Capacity) -> &Gauge {
        match (self, capacity) {
            (Self::ReadWrite { read, .. }, Capacity::Read) => read,
            (Self::ReadWrite { write, .. }, Capacity::Write) => write,
            (Self::Request(gauge), _) => gauge,
        }
    }

    /// The budget with the meters of `next` and the balances of this one.
    pub fn carried_over(&self, next: &Self, now: Instant) -> Self {
        let carry = |capacity| self.gauge(capacity).carried_over(*next.gauge(capacity).meter(), now);
        match next {
            Self::ReadWrite { .. } => {
                Self::ReadWrite { read: carry(Capacity::Read), write: carry(Capacity::Write) }
            }
            Self::Request(_) => Self::Request(carry(Capacity::Write)),
        }
    }
}

/// Where a partition's throughput comes from.
#[derive(Clone, Debug)]
pub enum Allowance {
    /// The table's pool, drawn on by all of its partitions.
    Pooled(Arc<Budget>),
    /// The partition's own share.
    Share(Arc<Budget>),
}

impl Allowance {
    /// The budget behind it.
    #[inline]
    pub fn budget(&self) -> &Budget {
        match self {
            Self::Pooled(budget) | Self::Share(budget) => budget,
        }
    }

    fn limit(&self) -> Limit {
        match self {
            Self::Pooled(_) => Limit::Table,
            Self::Share(_) => Limit::PartitionShare,
        }
    }
}

/// Everything that limits one physical partition.
#[derive(Debug)]
pub struct PartitionBudget {
    partition: PartitionId,
    /// `None` where the allowance can never exceed what a partition serves (Cosmos DB's even shares).
    ceiling: Option<Budget>,
    allowance: Allowance,
}

impl PartitionBudget {
    /// The budget of `partition`.
    pub fn new(partition: PartitionId, ceiling: Option<Budget>, allowance: Allowance) -> Self {
        Self { partition, ceiling, allowance }
    }

    /// The partition's ceiling, if it is a limit apart from the allowance.
    pub fn ceiling(&self) -> Option<&Budget> {
        self.ceiling.as_ref()
    }

    /// The partition's access to the table's throughput.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// This budget with the balances that `from` has at `now`, as far as they are the partition's own: a shared pool
    /// is carried over by its owner.
    pub(crate) fn carried_over_from(self, from: &Self, now: Instant) -> Self {
        let carry = |old: &Budget, new: &Budget| old.carried_over(new, now);
        let ceiling = match (&from.ceiling, self.ceiling) {
            (Some(old), Some(new)) => Some(carry(old, &new)),
            (_, new) => new,
        };
        let allowance = match (&from.allowance, self.allowance) {
            (Allowance::Share(old), Allowance::Share(new)) => Allowance::Share(Arc::new(carry(old, &new))),
            (_, new) => new,
        };
        Self { partition: self.partition, ceiling, allowance }
    }

    /// This budget with no more of its own on hand than `other` has: for a merge, which must not create throughput.
    pub(crate) fn lowered_to(self, other: &Self, now: Instant) -> Self {
        let lower = |own: &Budget, other: &Budget| {
            for capacity in [Capacity::Read, Capacity::Write] {
                let (own, other) = (own.gauge(capacity), other.gauge(capacity));
                let excess = own.balance_milli(now).saturating_sub(other.balance_milli(now));
                own.settle(now, u64::try_from(excess).unwrap_or(0));
            }
        };
        if let (Some(own), Some(other)) = (&self.ceiling, &other.ceiling) {
            lower(own, other);
        }
        if let (Allowance::Share(own), Allowance::Share(other)) = (&self.allowance, &other.allowance) {
            lower(own, other);
        }
        self
    }

    /// The permit of a request that was admitted a moment ago.
    pub(crate) fn readmit(&self, capacity: Capacity) -> Permit<'_> {
        let ceiling = self.ceiling.as_ref().map(|budget| budget.gauge(capacity));
        Permit { ceiling, allowance: self.allowance.budget().gauge(capacity), capacity }
    }

    /// Admits a request, or says which limit stands in the way and for how long.
    ///
    /// # Errors
    /// [`Throttled`] when a limit has no units left.
    #[inline]
    pub fn admit(&self, capacity: Capacity, now: Instant) -> Result<Permit<'_>, Throttled> {
        let ceiling = self.ceiling.as_ref().map(|budget| budget.gauge(capacity));
        let allowance = self.allowance.budget().gauge(capacity);
        // One wait is enough, also when both limits are exhausted: the later time counts.
        let refuse = |limit| Throttled {
            partition: self.partition,
            limit,
            capacity,
            retry_after: ceiling
                .map_or(now, |gauge| gauge.admits_at(now))
                .max(allowance.admits_at(now))
                .since(now),
        };
        if ceiling.is_some_and(|gauge| !gauge.admits(now)) {
            return Err(refuse(Limit::KeyRange));
        }
        if !allowance.admits(now) {
            return Err(refuse(self.allowance.limit()));
        }
        Ok(Permit { ceiling, allowance, capacity })
    }
}

/// Proof that a request was admitted. It is settled once, with what the request turned out to cost; a permit that is
/// dropped costs nothing.
#[must_use = "a permit that is not settled charges nobody"]
#[derive(Debug)]
pub struct Permit<'a> {
    ceiling: Option<&'a Gauge>,
    allowance: &'a Gauge,
    capacity: Capacity,
}

impl Permit<'_> {
    /// The kind of capacity that was asked for.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Pays `charge_milli` milli-units to every limit that was passed.
    #[inline]
    pub fn settle(self, now: Instant, charge_milli: u64) {
        if let Some(gauge) = self.ceiling {
            gauge.settle(now, charge_milli);
        }
        self.allowance.settle(now, charge_milli);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rate;
    use super::*;
    use crate::units::MILLI;

    fn rate(units: u64) -> Rate {
        Rate::per_second(units).unwrap()
    }

    fn dynamodb(table: u64) -> PartitionBudget {
        let now = Instant::START;
        let ceiling =
            Budget::read_write(Meter::ceiling(rate(3_000)), Meter::ceiling(rate(1_000)), now, Fill::Full);
        let pool = Meter::allowance(rate(table), 300);
        let pool = Arc::new(Budget::read_write(pool, pool, now, Fill::Base));
        PartitionBudget::new(PartitionId(3), Some(ceiling), Allowance::Pooled(pool))
    }

    #[test]
    fn the_limit_that_bit_is_named_with_the_time_to_come_back() {
        let now = Instant::START;
        let budget = dynamodb(10_000);
        let permit = budget.admit(Capacity::Write, now).unwrap();
        permit.settle(now, 500 * MILLI);
        let throttled = budget.admit(Capacity::Write, now).unwrap_err();
        assert_eq!((throttled.partition, throttled.limit), (PartitionId(3), Limit::KeyRange));
        assert!(budget.admit(Capacity::Write, now.after(throttled.retry_after)).is_ok());
        assert!(budget.admit(Capacity::Read, now).is_ok(), "reads are counted apart");

        let budget = dynamodb(10);
        budget.admit(Capacity::Write, now).unwrap().settle(now, 400 * MILLI);
        assert_eq!(budget.admit(Capacity::Write, now).unwrap_err().limit, Limit::Table);
    }

    #[test]
    fn a_dropped_permit_charges_nobody() {
        let budget = dynamodb(10);
        let before = budget.allowance().budget().gauge(Capacity::Write).balance_milli(Instant::START);
        drop(budget.admit(Capacity::Write, Instant::START).unwrap());
        assert_eq!(budget.allowance().budget().gauge(Capacity::Write).balance_milli(Instant::START), before);
    }
}
