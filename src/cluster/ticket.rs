//! Writes that an upper layer decides: admission first, then a look at the item, then what is to become of it.
//!
//! A table with indexes writes to several tables at once, and none of them may be written to when one has no room. So each
//! write is admitted by itself and settled later:
//!
//! ```text
//!   layout ──admit──► ticket ──item──► decide … other tickets … ──write──► charged and counted
//!                        └─ dropped: nothing was consumed
//! ```
//!
//! A ticket does not keep other writers away from its item: whoever holds tickets must do so. It does not know why several
//! belong together.

use super::table::{Map, Table};
use crate::budget::{Capacity, PartitionId, Throttled};
use crate::charge::RequestCharge;
use crate::clock::Instant;
use crate::document::Document;
use crate::error::Result;
use crate::key::ItemKey;
use crate::partition::Admitted;
use crate::ring::Token;
use std::sync::Arc;

/// A table's partitions as they were at one moment. Tickets borrow it; it does not follow later splits, which move no item.
#[derive(Debug)]
pub struct Layout<'t, D: Document> {
    table: &'t Table<D>,
    map: Arc<Map>,
}

/// An admitted request for one item.
#[must_use = "a ticket that is dropped does nothing"]
#[derive(Debug)]
pub struct Ticket<'l, D: Document> {
    table: &'l Table<D>,
    key: ItemKey,
    token: Token,
    admitted: Admitted<'l>,
}

impl<D: Document> Table<D> {
    /// The partitions as they are now, once the table has done what the service would have done by itself.
    pub fn layout(&self, now: Instant) -> Layout<'_, D> {
        self.keep_up(now);
        Layout { table: self, map: self.map.load_full() }
    }
}

impl<'t, D: Document> Layout<'t, D> {
    /// Whose layout it is.
    pub fn table(&self) -> &'t Table<D> {
        self.table
    }

    /// Admits a request for an item. `expected` is what it would cost at the least: a refusal is counted as that.
    ///
    /// # Errors
    /// [`Throttled`] when the item's partition or the table has no units left.
    pub fn admit(
        &self,
        key: ItemKey,
        capacity: Capacity,
        expected: RequestCharge,
        now: Instant,
    ) -> Result<Ticket<'_, D>, Throttled> {
        let token = self.table.token(&key.partition);
        let partition = self.map.route(&token, &key.sort);
        let admitted =
            partition.admit(capacity, now, || expected).inspect_err(|_| self.table.count_throttle(&key))?;
        Ok(Ticket { table: self.table, key, token, admitted })
    }
}

impl<D: Document> Layout<'_, D> {
    /// A ticket for an item that was admitted a moment ago. It asks nobody: what is in flight may take a balance below zero.
    pub fn readmit(&self, key: ItemKey, capacity: Capacity) -> Ticket<'_, D> {
        let token = self.table.token(&key.partition);
        let admitted = self.map.route(&token, &key.sort).readmit(capacity);
        Ticket { table: self.table, key, token, admitted }
    }
}

impl<D: Document> Ticket<'_, D> {
    /// The item's key.
    pub fn key(&self) -> &ItemKey {
        &self.key
    }

    /// The physical partition that admitted it.
    pub fn partition(&self) -> PartitionId {
        self.admitted.partition().id()
    }

    /// The item as it is now.
    pub fn item(&self) -> Option<D> {
        let collection = self.table.directory.get(&self.key.partition)?;
        collection.get(&self.key.sort, self.admitted.permit()).cloned()
    }

    /// Bytes of the logical partition that the item belongs to.
    pub fn collection_bytes(&self) -> u64 {
        self.table.directory.get(&self.key.partition).map_or(0, |collection| collection.bytes().0)
    }

    /// Stores an item, or removes it, and pays. Answers what was there before.
    ///
    /// # Errors
    /// When the item is larger than the service allows; nothing is written or paid then.
    pub fn write(self, item: Option<D>, charge: RequestCharge, now: Instant) -> Result<Option<D>> {
        let after = item.as_ref().map(Document::size).unwrap_or_default();
        if item.is_some() {
            self.table.rules.check_item(after)?;
        }
        let partition = self.admitted.partition();
        let (before, vacant) = {
            let mut collection = match self.table.directory.get_mut(&self.key.partition) {
                Some(collection) => collection,
                None => self.table.create(&self.key.partition, &self.token),
            };
            let before = collection.replace(&self.key.sort, item, self.admitted.permit());
            let size = before.as_ref().map(Document::size).unwrap_or_default();
            partition.resize(size.0, after.0);
            partition.sample(&self.token, &self.key.sort, now);
            collection.heat.add_units(self.admitted.settle(&charge, now));
            (before, collection.is_vacant())
        };
        if vacant {
            self.table.forget_if_vacant(&self.key.partition);
        }
        if partition.bytes() > self.table.rules.partition_max().0 {
            self.table.split_for_size(partition.id(), now);
        }
        Ok(before)
    }

    /// Leaves the item as it is and pays: a read, or a write whose condition did not hold.
    pub fn leave(self, charge: RequestCharge, now: Instant) {
        let partition = self.admitted.partition();
        partition.sample(&self.token, &self.key.sort, now);
        let paid = self.admitted.settle(&charge, now);
        match self.table.directory.get(&self.key.partition) {
            Some(collection) => collection.heat.add_units(paid),
            None => partition.absent().lock().units.record(&self.key.partition, paid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::units::WriteUnits;
    use serde_json::{Value, json};

    fn wcu(units: u64) -> RequestCharge {
        RequestCharge::write(WriteUnits::from_units(units))
    }

    fn table(name: &str, write: u64) -> Table<Value> {
        Table::new(name, Profile::dynamodb_provisioned(10, write).unwrap(), Instant::START).unwrap()
    }

    #[test]
    fn a_write_to_two_tables_happens_in_both_or_in_none() {
        let (base, index) = (table("base", 1_000), table("index", 1));
        let now = Instant::START;
        let key = |n: u64| ItemKey::new("k", n);
        let both = |n: u64| -> Result<(), Throttled> {
            let (base, index) = (base.layout(now), index.layout(now));
            let first = base.admit(key(n), Capacity::Write, wcu(1), now)?;
            let second = index.admit(key(n), Capacity::Write, wcu(1), now)?;
            assert_eq!(first.item(), None);
            first.write(Some(json!(n)), wcu(1), now).unwrap();
            second.write(Some(json!(n)), wcu(200), now).unwrap();
            Ok(())
        };
        both(1).unwrap();
        both(2).unwrap();
        let refused = both(3).unwrap_err();
        assert_eq!(refused.capacity, Capacity::Write);
        let found =
            |table: &Table<Value>, n| table.get(&key(n), Default::default(), now).unwrap().item.is_some();
        assert!(found(&base, 2) && found(&index, 2) && !found(&base, 3) && !found(&index, 3));
        let consumed: u64 = base.report().partitions.iter().map(|p| p.writes.totals().consumed_milli).sum();
        assert_eq!(consumed, 2_000, "what was refused has cost the base nothing");
        assert_eq!(base.items_of(&"k".into()), 2);
    }

    #[test]
    fn a_ticket_shows_replaces_and_removes() {
        let table = table("t", 1_000);
        let now = Instant::START;
        let key = ItemKey::new("k", 1_u64);
        table.put(&key, json!("old"), now).unwrap();
        let layout = table.layout(now);
        let ticket = layout.admit(key.clone(), Capacity::Write, wcu(1), now).unwrap();
        assert_eq!((ticket.item(), ticket.partition()), (Some(json!("old")), table.partition_of(&key)));
        ticket.leave(wcu(3), now);
        let ticket = layout.admit(key.clone(), Capacity::Write, wcu(1), now).unwrap();
        assert!(ticket.collection_bytes() > 0);
        assert_eq!(ticket.write(Some(json!("new")), wcu(1), now).unwrap(), Some(json!("old")));
        let ticket = layout.admit(key.clone(), Capacity::Write, wcu(1), now).unwrap();
        assert_eq!(ticket.write(None, wcu(1), now).unwrap(), Some(json!("new")));
        assert_eq!(table.items_of(&"k".into()), 0);
        assert_eq!(table.top_keys(1)[0].weight, 6_000);
    }
}
