//! All-or-nothing writes over several items, wherever they live.
//!
//! ```text
//!   admit every item        one throttle refuses the whole transaction
//!   mark every item         an item that another transaction has marked is a conflict, which is an answer
//!   decide every item       one condition that fails cancels the whole transaction
//!   apply and unmark        nobody else can write a marked item, so nothing can fail from here on
//! ```
//!
//! A single write that meets a mark is refused as a conflict. Single reads see each item before or after; a
//! transactional read sees all of its items at one moment, or reports a conflict.
//!
//! DynamoDB takes items of any logical partitions; Cosmos DB's transactional batch takes one logical partition only
//! ("Transactional batch operations": "the same logical partition key").

use super::table::{Checked, Refuse};
use super::{Read, Refusal, Table, Written};
use crate::budget::Capacity;
use crate::charge::{Consistency, Footprint, RequestCharge};
use crate::clock::Instant;
use crate::document::Document;
use crate::error::{Error, ErrorKind};
use crate::key::{ItemKey, PartitionKey};
use crate::partition::Admitted;
use crate::profile::Service;
use crate::store::Change;
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Items a transaction may name, in both services ("Quotas": 100 actions; "Service quotas": 100 operations).
pub(super) const ITEMS_MAX: usize = 100;

type Decide<'a, D> = Box<dyn FnOnce(Option<&D>) -> Change<D> + 'a>;

/// Writes to be carried out together.
pub struct Transaction<'a, D> {
    actions: Vec<Action<'a, D>>,
}

struct Action<'a, D> {
    key: ItemKey,
    /// The size that a put would store: a cancelled transaction is charged for it.
    attempted: Option<Bytes>,
    decide: Decide<'a, D>,
}

impl<D> Default for Transaction<'_, D> {
    fn default() -> Self {
        Self { actions: Vec::new() }
    }
}

impl<D> fmt::Debug for Transaction<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.actions.iter().map(|action| &action.key)).finish()
    }
}

impl<'a, D: Document> Transaction<'a, D> {
    /// No writes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And store this item.
    pub fn put(self, key: ItemKey, item: D) -> Self {
        let attempted = Some(item.size());
        self.with(key, attempted, |_| Change::Put(item))
    }

    /// And remove this item.
    pub fn delete(self, key: ItemKey) -> Self {
        self.update(key, |_| Change::Delete)
    }

    /// And cancel everything unless `condition` holds for this item.
    pub fn check(self, key: ItemKey, condition: impl FnOnce(Option<&D>) -> bool + 'a) -> Self {
        self.update(key, |old| if condition(old) { Change::Keep } else { Change::Refuse })
    }

    /// And do with this item what `change` says.
    pub fn update(self, key: ItemKey, change: impl FnOnce(Option<&D>) -> Change<D> + 'a) -> Self {
        self.with(key, None, change)
    }

    fn with(
        mut self,
        key: ItemKey,
        attempted: Option<Bytes>,
        decide: impl FnOnce(Option<&D>) -> Change<D> + 'a,
    ) -> Self {
        self.actions.push(Action { key, attempted, decide: Box::new(decide) });
        self
    }
}

/// Why a transaction was cancelled. Nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionRefusal {
    /// Which action was in the way, counted from zero; `None` when the transaction itself is wrong.
    pub action: Option<usize>,
    /// What was in the way.
    pub refusal: Refusal,
    /// What the cancelled transaction cost: a failed condition or a conflict is charged, a throttle is not.
    pub charge: RequestCharge,
}

impl fmt::Display for TransactionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Some(action) => write!(f, "transaction cancelled by its action {action}: {}", self.refusal),
            None => write!(f, "transaction refused: {}", self.refusal),
        }
    }
}

impl std::error::Error for TransactionRefusal {}

impl TransactionRefusal {
    fn free(action: Option<usize>, refusal: impl Into<Refusal>) -> Self {
        Self { action, refusal: refusal.into(), charge: RequestCharge::ZERO }
    }
}

impl<D: Document> Table<D> {
    /// Carries all writes out, or none. Answers in the order of the actions.
    ///
    /// # Errors
    /// [`TransactionRefusal`] names the first action that was in the way.
    pub fn transact(
        &self,
        transaction: Transaction<'_, D>,
        now: Instant,
    ) -> Result<Vec<Written<D>>, TransactionRefusal> {
        self.keep_up(now);
        let (mut keys, mut attempted, mut decides) = (Vec::new(), Vec::new(), Vec::new());
        for action in transaction.actions {
            keys.push(action.key);
            attempted.push(action.attempted);
            decides.push(action.decide);
        }
        self.check_transaction(&keys).map_err(|error| TransactionRefusal::free(None, error))?;
        let map = self.map.load_full();
        let tokens: Vec<_> = keys.iter().map(|key| self.token(&key.partition)).collect();
        let admitted = keys
            .iter()
            .zip(&tokens)
            .enumerate()
            .map(|(i, (key, token))| {
                let expected =
                    || self.rules.tariff().transactional(&Footprint::Write { before: None, after: None });
                map.route(token, &key.sort)
                    .admit(Capacity::Write, now, expected)
                    .inspect_err(|_| self.count_throttle(key))
                    .map_err(|throttled| TransactionRefusal::free(Some(i), throttled))
            })
            .collect::<Result<Vec<_>, _>>()?;

        let mut marks = Marks { table: self, keys: Vec::with_capacity(keys.len()) };
        for (i, (key, token)) in keys.iter().zip(&tokens).enumerate() {
            if !marks.mark(key, token) {
                return Err(self.cancel(i, Refuse::Conflict, &keys, &attempted, admitted, now));
            }
        }
        let mut plan = Vec::with_capacity(keys.len());
        // Bytes that the actions decided so far add to each logical partition: its limit holds for all of them together.
        let mut growth: BTreeMap<&PartitionKey, i64> = BTreeMap::new();
        for (i, decide) in decides.into_iter().enumerate() {
            let (key, permit) = (&keys[i], admitted[i].permit());
            // Marked, so the collection exists and nobody else writes the item.
            let Some(collection) = self.directory.get(&key.partition) else {
                unreachable!("a marked collection is not vacant")
            };
            let existing = collection.get(&key.sort, permit);
            let size = existing.map(Document::size);
            let change = decide(existing);
            let grown = growth.entry(&key.partition).or_default();
            let stored = Bytes(collection.bytes().0.saturating_add_signed(*grown));
            match self.check(stored, size, change) {
                Ok(Ok(Checked { change, after })) => {
                    *grown += after.unwrap_or_default().0 as i64 - size.unwrap_or_default().0 as i64;
                    plan.push((change, size, after));
                }
                Ok(Err(refuse)) => {
                    drop(collection);
                    return Err(self.cancel(i, refuse, &keys, &attempted, admitted, now));
                }
                Err(error) => return Err(TransactionRefusal::free(Some(i), error)),
            }
        }
        let mut answers = Vec::with_capacity(keys.len());
        let mut outgrown = BTreeSet::new();
        let places = keys.iter().zip(&tokens);
        for (((key, token), admitted), (change, before_size, after_size)) in places.zip(admitted).zip(plan) {
            let Some(mut collection) = self.directory.get_mut(&key.partition) else {
                unreachable!("a marked collection is not vacant")
            };
            let partition = admitted.partition();
            let before = match change {
                Change::Put(item) => collection.replace(&key.sort, Some(item), admitted.permit()),
                Change::Delete => collection.replace(&key.sort, None, admitted.permit()),
                Change::Keep | Change::Refuse => collection.get(&key.sort, admitted.permit()).cloned(),
            };
            partition.resize(before_size.unwrap_or_default().0, after_size.unwrap_or_default().0);
            let footprint = Footprint::Write { before: before_size, after: after_size };
            let charge = self.rules.tariff().transactional(&footprint);
            collection.heat.add_units(admitted.settle(&charge, now));
            partition.sample(token, &key.sort, now);
            answers.push(Written { before, charge, partition: partition.id() });
            if partition.bytes() > self.rules.partition_max().0 {
                outgrown.insert(partition.id());
            }
        }
        drop(marks);
        outgrown.into_iter().for_each(|partition| self.split_for_size(partition, now));
        Ok(answers)
    }

    /// Reads all items at one moment.
    ///
    /// # Errors
    /// As [`transact`](Self::transact); [`Refusal::Conflict`] when a write came between.
    pub fn read_transaction(
        &self,
        keys: &[ItemKey],
        now: Instant,
    ) -> Result<Vec<Read<D>>, TransactionRefusal> {
        self.keep_up(now);
        self.check_transaction(keys).map_err(|error| TransactionRefusal::free(None, error))?;
        let map = self.map.load_full();
        let tokens: Vec<_> = keys.iter().map(|key| self.token(&key.partition)).collect();
        let minimum = Footprint::PointRead { size: None, consistency: Consistency::Strong };
        let mut admitted = Vec::with_capacity(keys.len());
        for (i, (key, token)) in keys.iter().zip(&tokens).enumerate() {
            let partition = map.route(token, &key.sort);
            let expected = || self.rules.tariff().transactional(&minimum);
            admitted.push(
                partition
                    .admit(Capacity::Read, now, expected)
                    .inspect_err(|_| self.count_throttle(key))
                    .map_err(|throttled| TransactionRefusal::free(Some(i), throttled))?,
            );
        }
        // Optimistic: read everything, then see that nothing changed meanwhile. A version never repeats, and a key that
        // came and went between two looks has been dropped once more.
        let mut seen = Vec::with_capacity(keys.len());
        for (key, admitted) in keys.iter().zip(&admitted) {
            let drops = self.directory.drops(&key.partition);
            let collection = self.directory.get(&key.partition);
            let item = collection.as_ref().and_then(|c| c.get(&key.sort, admitted.permit()).cloned());
            seen.push((item, collection.map(|c| (c.version(), c.is_marked(&key.sort))), drops));
        }
        let torn = keys.iter().zip(&seen).position(|(key, (_, before, drops))| {
            let after = self.directory.get(&key.partition).map(|c| (c.version(), c.is_marked(&key.sort)));
            let reappeared = after.is_none() && self.directory.drops(&key.partition) != *drops;
            *before != after || after.is_some_and(|(_, marked)| marked) || reappeared
        });
        let mut total = RequestCharge::ZERO;
        let mut answers = Vec::with_capacity(keys.len());
        for (((key, token), admitted), (item, ..)) in keys.iter().zip(&tokens).zip(admitted).zip(seen) {
            let size = item.as_ref().map(Document::size);
            let footprint = Footprint::PointRead { size, consistency: Consistency::Strong };
            let charge = self.rules.tariff().transactional(&footprint);
            let partition = admitted.partition();
            let paid = admitted.settle(&charge, now);
            partition.sample(token, &key.sort, now);
            match self.directory.get(&key.partition) {
                Some(collection) => collection.heat.add_units(paid),
                None => partition.absent().lock().units.record(&key.partition, paid),
            }
            total += charge;
            answers.push(Read { item, charge, partition: partition.id() });
        }
        match torn {
            None => Ok(answers),
            Some(action) => Err(TransactionRefusal {
                action: Some(action),
                refusal: Refuse::Conflict.with_charge(total),
                charge: total,
            }),
        }
    }

    fn check_transaction(&self, keys: &[ItemKey]) -> Result<(), Error> {
        if keys.is_empty() {
            return Err(Error::invalid("a transaction needs at least one item"));
        }
        if keys.len() > ITEMS_MAX {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("a transaction takes at most {ITEMS_MAX} items, and this has {}", keys.len()),
            ));
        }
        let mut seen = BTreeSet::new();
        for key in keys {
            if !seen.insert(key) {
                return Err(Error::invalid(format!(
                    "a transaction may name an item once only: {key:?} comes twice"
                )));
            }
        }
        let one_partition = keys.iter().all(|key| key.partition == keys[0].partition);
        if self.rules.service() == Service::Cosmos && !one_partition {
            return Err(Error::invalid(
                "a Cosmos DB transaction stays within one logical partition: send one for each partition key",
            ));
        }
        Ok(())
    }

    /// Charges every item of a transaction that a condition or conflict cancelled: both services do ("consumed even
    /// when cancelled").
    fn cancel(
        &self,
        action: usize,
        refuse: Refuse,
        keys: &[ItemKey],
        attempted: &[Option<Bytes>],
        admitted: Vec<Admitted<'_>>,
        now: Instant,
    ) -> TransactionRefusal {
        let mut total = RequestCharge::ZERO;
        for ((key, &attempted), admitted) in keys.iter().zip(attempted).zip(admitted) {
            let collection = self.directory.get(&key.partition);
            let existing =
                collection.as_ref().and_then(|c| c.get(&key.sort, admitted.permit()).map(Document::size));
            let footprint = Footprint::FailedWrite { existing, attempted };
            let charge = self.rules.tariff().transactional(&footprint);
            let partition = admitted.partition();
            let paid = admitted.settle(&charge, now);
            match collection {
                Some(collection) => collection.heat.add_units(paid),
                None => partition.absent().lock().units.record(&key.partition, paid),
            }
            total += charge;
        }
        TransactionRefusal { action: Some(action), refusal: refuse.with_charge(total), charge: total }
    }

    pub(super) fn count_throttle(&self, key: &ItemKey) {
        match self.directory.get(&key.partition) {
            Some(collection) => collection.heat.add_throttle(),
            None => {
                let map = self.map.load();
                let partition = map.route(&self.token(&key.partition), &key.sort);
                partition.absent().lock().throttles.record(&key.partition, 1);
            }
        }
    }
}

/// The marks a transaction has set. Dropping them lifts them, on whatever way out, and drops collections that were
/// made only to be marked.
struct Marks<'t, D: Document> {
    table: &'t Table<D>,
    keys: Vec<ItemKey>,
}

impl<D: Document> Marks<'_, D> {
    fn mark(&mut self, key: &ItemKey, token: &crate::ring::Token) -> bool {
        let marked = match self.table.directory.get_mut(&key.partition) {
            Some(mut collection) => collection.mark(&key.sort),
            None => self.table.create(&key.partition, token).mark(&key.sort),
        };
        if marked {
            self.keys.push(key.clone());
        }
        marked
    }
}

impl<D: Document> Drop for Marks<'_, D> {
    fn drop(&mut self) {
        for key in &self.keys {
            let vacant = self.table.directory.get_mut(&key.partition).is_some_and(|mut collection| {
                collection.unmark(&key.sort);
                collection.is_vacant()
            });
            if vacant {
                self.table.forget_if_vacant(&key.partition);
            }
        }
    }
}
