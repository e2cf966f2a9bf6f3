//! What a write does to a table and its indexes: worked out first, admitted, then carried out. Single writes and
//! transactions go this way alike and differ in their price.
//!
//! ```text
//!   decision ─► plan (entries that change, what it all costs) ─► admit at each global index ─► carry out
//!                 └─ refused: nothing was written
//! ```
//!
//! Whoever makes a plan keeps other writers of the item away until it is carried out or dropped. This file does not know
//! how.

use super::super::error::ServiceError;
use super::super::item::{ITEM_BYTES_MAX, Item};
use super::super::key::KeySchema;
use super::definition::IndexDefinition;
use super::table::{Charges, Decision, DynamoTable, Refused, Written};
use crate::budget::{Capacity, Throttled};
use crate::charge::{Footprint, RequestCharge, dynamodb};
use crate::clock::Instant;
use crate::cluster::{Layout, Ticket};
use crate::document::Document;
use crate::key::ItemKey;
use crate::units::{ReadUnits, WriteUnits};

/// "Item collections": with a local index, the items of a partition key and their entries are 10 GB at the most.
const COLLECTION_BYTES_MAX: u64 = 10 << 30;

/// What a request pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// The plain price.
    Single,
    /// Twice that ("Amazon DynamoDB Transactions: How it works"). Entries of indexes too: *assumed*, the guide speaks of
    /// items.
    Transaction,
}

impl Rate {
    pub(super) fn charge(self, footprint: &Footprint) -> RequestCharge {
        match self {
            Self::Single => dynamodb::charge(footprint),
            Self::Transaction => dynamodb::transactional(footprint),
        }
    }

    /// What anything costs at the least: a refusal is counted as that.
    pub(super) fn least(self, capacity: Capacity) -> RequestCharge {
        let units = match self {
            Self::Single => 1,
            Self::Transaction => 2,
        };
        match capacity {
            Capacity::Read => RequestCharge::read(ReadUnits::from_units(units)),
            Capacity::Write => RequestCharge::write(WriteUnits::from_units(units)),
        }
    }
}

/// An entry that changes in an index.
#[derive(Debug)]
struct EntryChange {
    /// Which index, by its place in the definition.
    index: usize,
    key: ItemKey,
    item: Option<Item>,
    charge: RequestCharge,
}

/// All that one write does.
#[derive(Debug)]
pub(super) struct Plan {
    old: Option<Item>,
    new: Option<Item>,
    charges: Charges,
    local: Vec<EntryChange>,
    global: Vec<EntryChange>,
}

/// The layouts that one request goes by.
pub(super) struct Layouts<'t> {
    base: Layout<'t, Item>,
    local: Vec<Layout<'t, Item>>,
    global: Vec<Layout<'t, Item>>,
}

impl<'t> Layouts<'t> {
    pub(super) fn of(table: &'t DynamoTable, now: Instant) -> Self {
        let (local, global) = table.indexes();
        Self {
            base: table.base().layout(now),
            local: local.iter().map(|index| index.layout(now)).collect(),
            global: global.iter().map(|index| index.layout(now)).collect(),
        }
    }

    /// Admits a request for an item of the table itself.
    pub(super) fn admit(
        &self,
        key: &ItemKey,
        capacity: Capacity,
        rate: Rate,
        now: Instant,
    ) -> Result<Ticket<'_, Item>, Refused> {
        let admitted = self.base.admit(key.clone(), capacity, rate.least(capacity), now);
        admitted.map_err(|throttled| Refused::Throttled { index: None, throttled })
    }
}

impl DynamoTable {
    /// What a decision about the item at `key` does. A condition that failed is refused with what it costs, which the
    /// caller pays.
    pub(super) fn plan(
        &self,
        key: &ItemKey,
        old: Option<Item>,
        decision: Decision,
        rate: Rate,
    ) -> Result<Plan, Refused> {
        let mut charges = Charges::none(self);
        let before = old.as_ref().map(Document::size);
        let new = match decision {
            Decision::Put(item) => Some(item),
            Decision::Delete => None,
            Decision::Keep => old.clone(),
            Decision::Refuse { attempted } => {
                charges.table = rate.charge(&Footprint::FailedWrite { existing: before, attempted });
                return Err(Refused::ConditionFailed { item: old, charges });
            }
        };
        let after = new.as_ref().map(Document::size);
        if after.is_some_and(|size| size.0 > ITEM_BYTES_MAX) {
            // Whoever makes items refuses larger ones in better words; from here on nothing may fail.
            return Err(ServiceError::validation("Item size has exceeded the maximum allowed size").into());
        }
        charges.table = rate.charge(&Footprint::Write { before, after });
        let definition = self.definition();
        let (mut local, mut global) = (Vec::new(), Vec::new());
        let global_indexes = definition.global.iter().map(|global| &global.index);
        for (at, index) in definition.local.iter().enumerate() {
            let changes = changes(at, index, &definition.schema, key, (old.as_ref(), new.as_ref()), rate)?;
            charges.local[at] = changes.iter().map(|change| change.charge).sum();
            local.extend(changes);
        }
        for (at, index) in global_indexes.enumerate() {
            let changes = changes(at, index, &definition.schema, key, (old.as_ref(), new.as_ref()), rate)?;
            charges.global[at] = changes.iter().map(|change| change.charge).sum();
            global.extend(changes);
        }
        let grows = after > before;
        if !definition.local.is_empty()
            && grows
            && self.collection_bytes(&key.partition).0 >= COLLECTION_BYTES_MAX
        {
            return Err(Refused::CollectionFull);
        }
        Ok(Plan { old, new, charges, local, global })
    }
}

impl Plan {
    /// The item before and after.
    pub(super) fn items(&self) -> (Option<&Item>, Option<&Item>) {
        (self.old.as_ref(), self.new.as_ref())
    }

    /// Asks every global index for room.
    pub(super) fn admit(
        &self,
        table: &DynamoTable,
        layouts: &Layouts<'_>,
        rate: Rate,
        now: Instant,
    ) -> Result<(), Refused> {
        let least = rate.least(Capacity::Write);
        for change in &self.global {
            let admitted =
                layouts.global[change.index].admit(change.key.clone(), Capacity::Write, least, now);
            admitted.map(drop).map_err(|throttled: Throttled| Refused::Throttled {
                index: Some(table.definition().global[change.index].index.name.clone()),
                throttled,
            })?;
        }
        Ok(())
    }

    /// Writes and pays it all. `base` is the ticket of the item itself.
    pub(super) fn carry_out(
        self,
        base: Ticket<'_, Item>,
        layouts: &Layouts<'_>,
        now: Instant,
    ) -> Result<Written, Refused> {
        // Whoever was admitted may go below zero by what is in flight, which this is.
        for change in self.local {
            let ticket = layouts.local[change.index].readmit(change.key, Capacity::Write);
            write(ticket, change.item, RequestCharge::ZERO, now)?;
        }
        for change in self.global {
            let ticket = layouts.global[change.index].readmit(change.key, Capacity::Write);
            write(ticket, change.item, change.charge, now)?;
        }
        write(base, self.new.clone(), self.charges.at_table(), now)?;
        Ok(Written { old: self.old, new: self.new, charges: self.charges })
    }
}

/// Fails only for an item that is too large, which a plan has ruled out; an entry is never larger than its item.
fn write(
    ticket: Ticket<'_, Item>,
    item: Option<Item>,
    charge: RequestCharge,
    now: Instant,
) -> Result<(), Refused> {
    match ticket.write(item, charge, now) {
        Ok(_) => Ok(()),
        Err(error) => Err(ServiceError::validation(error.to_string()).into()),
    }
}

/// What a write changes in an index: at most an entry that goes and one that comes ("Global secondary indexes": a changed key
/// is a delete and a put; attributes that are not projected change nothing).
fn changes(
    at: usize,
    index: &IndexDefinition,
    table: &KeySchema,
    key: &ItemKey,
    (old, new): (Option<&Item>, Option<&Item>),
    rate: Rate,
) -> Result<Vec<EntryChange>, ServiceError> {
    // What is stored fitted the index when it was written.
    let before = old.map(|old| index.entry(table, key, old)).transpose()?.flatten();
    let after = new.map(|new| index.entry(table, key, new)).transpose()?.flatten();
    let change = |key, old: Option<&Item>, item: Option<Item>| {
        let footprint =
            Footprint::Write { before: old.map(Document::size), after: item.as_ref().map(Document::size) };
        EntryChange { index: at, key, charge: rate.charge(&footprint), item }
    };
    Ok(match (before, after) {
        (None, None) => Vec::new(),
        (Some((before, old)), Some((after, new))) if before == after => match old == new {
            true => Vec::new(),
            false => vec![change(after, Some(&old), Some(new))],
        },
        (before, after) => {
            let gone = before.map(|(key, old)| change(key, Some(&old), None));
            let come = after.map(|(key, new)| change(key, None, Some(new)));
            gone.into_iter().chain(come).collect()
        }
    })
}
