//! A physical partition: a range of the ring, a budget, an index of what is stored there, and heat.
//!
//! It admits requests and settles what they cost; it does not know how a request was routed to it, nor the rules by
//! which partitions split (`cluster`). Its range and budget never change: a split, a merge or a change of throughput
//! makes new partitions, which take the index and the heat along where the range stays.

mod watch;

pub(crate) use watch::{Look, PartitionWatch};

use crate::budget::{Capacity, Limit, PartitionBudget, PartitionId, Permit, Throttled};
use crate::charge::RequestCharge;
use crate::clock::Instant;
use crate::heat::{PartitionHeat, Series, Tally, TopKeys};
use crate::key::{PartitionKey, SortKey};
use crate::physics::Declined;
use crate::ring::{Token, TokenRange};
use crate::store::{IndexEntry, RangeIndex};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys without items are counted exactly up to this many, and by sketch beyond. Keys with items are always exact.
const ABSENT_KEYS_EXACT: usize = 10_000;

/// Counters of the sketch that takes over.
const ABSENT_KEYS_COUNTERS: NonZeroUsize = NonZeroUsize::new(1_024).expect("1,024 is not zero");

/// One physical partition.
#[derive(Debug)]
pub(crate) struct PhysicalPartition {
    id: PartitionId,
    parents: Vec<PartitionId>,
    range: TokenRange,
    budget: PartitionBudget,
    /// What outlives a change of budget.
    body: Arc<Body>,
}

#[derive(Debug)]
struct Body {
    index: RangeIndex,
    reads: PartitionHeat,
    writes: PartitionHeat,
    absent: Mutex<AbsentKeys>,
    /// Bytes stored, a running figure: exact while one thread writes, recounted at every split.
    bytes: AtomicU64,
    /// Where splits for heat are on.
    watch: Option<PartitionWatch>,
    /// Refusals by limit.
    refusals: [AtomicU64; Limit::ALL.len()],
}

/// Heat of keys that have no collection: reads of what is not there, and writes of what was deleted since.
#[derive(Debug)]
pub(crate) struct AbsentKeys {
    pub(crate) units: TopKeys<PartitionKey>,
    pub(crate) throttles: TopKeys<PartitionKey>,
}

impl PhysicalPartition {
    pub(crate) fn new(
        id: PartitionId,
        parents: Vec<PartitionId>,
        range: TokenRange,
        budget: PartitionBudget,
        entries: BTreeSet<IndexEntry>,
        bytes: u64,
        watch: Option<PartitionWatch>,
    ) -> Self {
        let top = || TopKeys::new(ABSENT_KEYS_EXACT, ABSENT_KEYS_COUNTERS);
        let body = Body {
            index: RangeIndex::new(entries),
            reads: PartitionHeat::default(),
            writes: PartitionHeat::default(),
            absent: Mutex::new(AbsentKeys { units: top(), throttles: top() }),
            bytes: AtomicU64::new(bytes),
            watch,
            refusals: Default::default(),
        };
        Self { id, parents, range, budget, body: Arc::new(body) }
    }

    /// The same partition with another budget.
    pub(crate) fn with_budget(&self, budget: PartitionBudget) -> Self {
        Self {
            id: self.id,
            parents: self.parents.clone(),
            range: self.range.clone(),
            budget,
            body: Arc::clone(&self.body),
        }
    }

    pub(crate) fn id(&self) -> PartitionId {
        self.id
    }

    /// The partitions this one came from, oldest first.
    pub(crate) fn parents(&self) -> &[PartitionId] {
        &self.parents
    }

    pub(crate) fn range(&self) -> &TokenRange {
        &self.range
    }

    pub(crate) fn budget(&self) -> &PartitionBudget {
        &self.budget
    }

    pub(crate) fn index(&self) -> &RangeIndex {
        &self.body.index
    }

    pub(crate) fn absent(&self) -> &Mutex<AbsentKeys> {
        &self.body.absent
    }

    /// Takes over what a parent has counted of keys without items. A table's report adds all partitions up, so it does
    /// not matter which child does.
    pub(crate) fn inherit_absent(&self, parent: &Self) {
        let parent = parent.absent().lock();
        let mut own = self.absent().lock();
        own.units.merge(&parent.units);
        own.throttles.merge(&parent.throttles);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.body.bytes.load(Ordering::Relaxed)
    }

    /// Accounts for an item of `before` bytes becoming one of `after`.
    pub(crate) fn resize(&self, before: u64, after: u64) {
        if after > before {
            self.body.bytes.fetch_add(after - before, Ordering::Relaxed);
        } else if after < before {
            // Saturating: writes that race with a split may be credited to the parent and debited to the child.
            let _ = self.body.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
                Some(bytes.saturating_sub(before - after))
            });
        }
    }

    /// Reads or writes by second.
    pub(crate) fn heat(&self, capacity: Capacity) -> Series {
        self.meter(capacity).snapshot()
    }

    /// Milli-units consumed since the partition began.
    pub(crate) fn consumed_milli(&self, capacity: Capacity) -> u64 {
        self.meter(capacity).consumed_milli()
    }

    /// Keeps the place of a served request now and then, where splits for heat are on.
    #[inline]
    pub(crate) fn sample(&self, token: &Token, sort: &SortKey, now: Instant) {
        if let Some(watch) = &self.body.watch
            && watch.samples(now)
        {
            watch.sample(token, sort);
        }
    }

    /// Whether it is to split for heat, given what a partition serves of reads and writes.
    pub(crate) fn look(&self, limits_milli: [u64; 2], whole: bool, now: Instant) -> Look {
        let consumed = [self.consumed_milli(Capacity::Read), self.consumed_milli(Capacity::Write)];
        self.body.watch.as_ref().map_or(Look::Cool, |watch| watch.look(consumed, limits_milli, whole, now))
    }

    /// Why it did not split when it was hot.
    pub(crate) fn declined(&self) -> Option<Declined> {
        self.body.watch.as_ref().and_then(PartitionWatch::declined)
    }

    /// Why it would not split, by the traffic so far.
    pub(crate) fn foresee(&self, whole: bool) -> Option<Declined> {
        self.body.watch.as_ref().and_then(|watch| watch.foresee(whole))
    }

    /// Refusals by limit, in the order of [`Limit::ALL`].
    pub(crate) fn refusals(&self) -> [u64; Limit::ALL.len()] {
        self.body.refusals.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    fn meter(&self, capacity: Capacity) -> &PartitionHeat {
        match capacity {
            Capacity::Read => &self.body.reads,
            Capacity::Write => &self.body.writes,
        }
    }

    /// A request that was admitted a moment ago and goes on.
    pub(crate) fn readmit(&self, capacity: Capacity) -> Admitted<'_> {
        Admitted { partition: self, permit: self.budget.readmit(capacity) }
    }

    /// Admits a request that will cost about `expected`, which is what a refusal is counted as.
    ///
    /// # Errors
    /// [`Throttled`] when a limit has no units left.
    pub(crate) fn admit(
        &self,
        capacity: Capacity,
        now: Instant,
        expected: impl FnOnce() -> RequestCharge,
    ) -> Result<Admitted<'_>, Throttled> {
        match self.budget.admit(capacity, now) {
            Ok(permit) => Ok(Admitted { partition: self, permit }),
            Err(throttled) => {
                self.meter(capacity).record_throttled(now, milli(&expected(), capacity));
                self.body.refusals[throttled.limit as usize].fetch_add(1, Ordering::Relaxed);
                Err(throttled)
            }
        }
    }
}

/// Proof that a partition let a request in. Reading or writing items takes its permit; settling it ends the request.
#[must_use = "an admitted request that is not settled charges nobody"]
#[derive(Debug)]
pub(crate) struct Admitted<'p> {
    partition: &'p PhysicalPartition,
    permit: Permit<'p>,
}

impl<'p> Admitted<'p> {
    pub(crate) fn partition(&self) -> &'p PhysicalPartition {
        self.partition
    }

    pub(crate) fn permit(&self) -> &Permit<'p> {
        &self.permit
    }

    /// Ends the request: every limit pays `charge`, and the heat shows it. Returns the milli-units paid.
    pub(crate) fn settle(self, charge: &RequestCharge, now: Instant) -> u64 {
        let capacity = self.permit.capacity();
        let milli = milli(charge, capacity);
        self.permit.settle(now, milli);
        self.partition.meter(capacity).record_served(now, milli);
        milli
    }
}

/// What a charge takes from a budget of this capacity.
fn milli(charge: &RequestCharge, capacity: Capacity) -> u64 {
    let own = match capacity {
        Capacity::Read => charge.read.milli(),
        Capacity::Write => charge.write.milli(),
    };
    own.saturating_add(charge.request.milli())
}

/// What a partition has been through, kept when it gives way to others.
#[derive(Clone, Debug)]
pub struct RetiredPartition {
    /// Its number.
    pub id: PartitionId,
    /// The partitions it came from, oldest first.
    pub parents: Vec<PartitionId>,
    /// The range it held.
    pub range: TokenRange,
    /// Refusals by limit, in the order of [`Limit::ALL`].
    pub refusals: [u64; Limit::ALL.len()],
    /// When it gave way.
    pub retired_at: Instant,
    /// Reads and writes while it lasted.
    pub totals: Tally,
}

impl RetiredPartition {
    pub(crate) fn of(partition: &PhysicalPartition, retired_at: Instant) -> Self {
        let mut totals = partition.heat(Capacity::Read).totals();
        totals += partition.heat(Capacity::Write).totals();
        Self {
            id: partition.id,
            parents: partition.parents.clone(),
            range: partition.range.clone(),
            refusals: partition.refusals(),
            retired_at,
            totals,
        }
    }
}
