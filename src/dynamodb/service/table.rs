//! A table with its indexes, and the one path of every write.
//!
//! ```text
//!   lock the item ─► admit at the base ─► read, decide ─► which entries change ─► admit at each index ─► write all, pay all
//! ```
//!
//! - Writes of one item take turns; a transaction that holds an item makes others conflict instead of waiting.
//! - When the base or any index has no room, nothing is written and nothing is paid ("gsi-throttling": back-pressure).
//! - Entries of local indexes live with the table's partitions: their writes are charged to the table.

use super::super::error::ServiceError;
use super::super::item::Item;
use super::super::key::KeySchema;
use super::definition::{Billing, IndexDefinition, TableDefinition};
use super::settings::Settings;
use crate::budget::{Capacity, Rate, Throttled};
use crate::charge::{Footprint, RequestCharge, dynamodb};
use crate::clock::Instant;
use crate::cluster::{Layout, Table, Ticket};
use crate::document::Document;
use crate::error::Result;
use crate::key::{ItemKey, Placement};
use crate::profile::{Profile, Throughput};
use crate::rng::Seed;
use crate::units::{Bytes, WriteUnits};
use ahash::AHasher;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Locks over which the items of a table are spread.
const STRIPES: usize = 64;

/// Units a second of a local index's own, which are never short: its table pays for it and is asked for admission.
const LOCAL_UNITS: u64 = Rate::MAX_UNITS_PER_SEC;

/// "Item collections": with a local index, the items of a partition key and their entries are 10 GB at the most.
const COLLECTION_BYTES_MAX: u64 = 10 << 30;

/// A table.
#[derive(Debug)]
pub struct DynamoTable {
    /// Key and indexes stay as they were at creation; how they are paid for may change.
    definition: RwLock<Arc<TableDefinition>>,
    settings: RwLock<Settings>,
    layout: u32,
    base: Table<Item>,
    local: Vec<Table<Item>>,
    global: Vec<Table<Item>>,
    stripes: Vec<Mutex<()>>,
    /// Items that transactions hold.
    busy: Mutex<BTreeSet<ItemKey>>,
}

/// What is to become of an item.
#[derive(Debug)]
pub enum Decision {
    /// It is stored.
    Put(Item),
    /// It is removed, if it is there.
    Delete,
    /// It stays: a check that holds.
    Keep,
    /// A condition did not hold; the size is that of the item that was to be stored.
    Refuse {
        /// What would have been stored.
        attempted: Option<Bytes>,
    },
}

/// What a write came to.
#[derive(Debug)]
pub struct Written {
    /// The item before.
    pub old: Option<Item>,
    /// The item after.
    pub new: Option<Item>,
    /// What it cost.
    pub charges: Charges,
}

/// What an operation cost, by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// At the table, local indexes left out.
    pub table: RequestCharge,
    /// At each local index, in the order of the definition.
    pub local: Vec<RequestCharge>,
    /// At each global index, in the order of the definition.
    pub global: Vec<RequestCharge>,
}

impl Charges {
    pub(in crate::dynamodb) fn none(table: &DynamoTable) -> Self {
        Self {
            table: RequestCharge::ZERO,
            local: vec![RequestCharge::ZERO; table.local.len()],
            global: vec![RequestCharge::ZERO; table.global.len()],
        }
    }

    /// All of it.
    pub fn total(&self) -> RequestCharge {
        self.local.iter().chain(&self.global).fold(self.table, |sum, charge| sum + *charge)
    }
}

/// Why a write was not carried out.
#[derive(Debug)]
pub enum Refused {
    /// The request is wrong for this item.
    Service(ServiceError),
    /// A condition did not hold. It is charged.
    ConditionFailed {
        /// The item as it is.
        item: Option<Item>,
        /// What it cost.
        charges: Charges,
    },
    /// A resource has no room now: the table, or the global index of this name.
    Throttled {
        /// The index; `None`: the table.
        index: Option<String>,
        /// Where, why, and when to come back.
        throttled: Throttled,
    },
    /// A transaction holds the item.
    Conflict,
    /// The item collection is full ("Item collections": 10 GB where there is a local index).
    CollectionFull,
}

impl From<ServiceError> for Refused {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

/// An entry that changes in an index.
struct EntryChange {
    key: ItemKey,
    item: Option<Item>,
    charge: RequestCharge,
}

impl DynamoTable {
    /// A new table. `layout` lays its keys out on the ring.
    ///
    /// # Errors
    /// When its throughput is zero or absurd.
    pub fn new(definition: TableDefinition, layout: u32, now: Instant) -> Result<Self> {
        let mut profile = definition.billing.profile(layout)?;
        if !definition.local.is_empty() {
            profile = profile.with_local_index();
        }
        let plenty = Rate::per_second(LOCAL_UNITS)?;
        let plenty = Throughput::ReadWrite { read: plenty, write: plenty };
        let elsewhere = Profile::dynamodb_provisioned(1, 1)?
            .with_throughput(plenty)?
            .with_partition_throughput(plenty)?
            .with_heat_splits(None)
            .with_placement(Placement::Seeded { layout });
        let local =
            definition.local.iter().map(|index| Table::new(index.name.as_str(), elsewhere.clone(), now));
        let global = definition.global.iter().map(|global| {
            let profile = global.billing.profile(layout)?;
            Table::new(global.index.name.as_str(), profile, now)
        });
        Ok(Self {
            base: Table::new(definition.name.as_str(), profile, now)?,
            local: local.collect::<Result<_>>()?,
            global: global.collect::<Result<_>>()?,
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            busy: Mutex::new(BTreeSet::new()),
            settings: RwLock::new(Settings::at(now)),
            layout,
            definition: RwLock::new(Arc::new(definition)),
        })
    }

    /// What it is now.
    pub fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition.read())
    }

    /// What tells it from a table of the same name at another time: a UUID.
    pub fn id(&self) -> String {
        let seed =
            Seed(u64::from(self.layout)).stream("table-id").child(self.settings.read().created.nanos());
        let (a, b) = (seed.at(0), seed.at(1));
        let (first, second, third) = (a >> 32, (a >> 16) & 0xffff, a & 0x0fff);
        // Version 4, variant 1.
        format!(
            "{first:08x}-{second:04x}-4{third:03x}-{:04x}-{:012x}",
            (b >> 48) & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        )
    }

    /// What is set on it beside its definition, as it is now.
    pub fn settings(&self) -> Settings {
        self.settings.read().clone()
    }

    /// Changes what is set on it.
    pub fn set<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        change(&mut self.settings.write())
    }

    /// Has the table and its global indexes paid for in another way: the table first, then the indexes in the order of
    /// the definition. Burst credit is carried over; whether it accrues is as at creation.
    ///
    /// # Errors
    /// When a throughput is zero or absurd. What comes before it in the order has changed then.
    pub fn set_billing(&self, table: Billing, global: &[Billing], now: Instant) -> Result<()> {
        let mut definition = self.definition.write();
        let mut next = (**definition).clone();
        let resources = std::iter::once((&self.base, &mut next.billing, table)).chain(
            self.global
                .iter()
                .zip(next.global.iter_mut().map(|global| &mut global.billing))
                .zip(global)
                .map(|((index, billing), wanted)| (index, billing, *wanted)),
        );
        for (resource, billing, wanted) in resources {
            if *billing != wanted {
                resource.set_throughput(*wanted.profile(self.layout)?.throughput(), now)?;
                *billing = wanted;
            }
        }
        *definition = Arc::new(next);
        Ok(())
    }

    /// Its items.
    pub fn base(&self) -> &Table<Item> {
        &self.base
    }

    /// The entries of a local index, by its place in the definition.
    pub fn local(&self, index: usize) -> Option<&Table<Item>> {
        self.local.get(index)
    }

    /// The entries of a global index, by its place in the definition.
    pub fn global(&self, index: usize) -> Option<&Table<Item>> {
        self.global.get(index)
    }

    fn stripe(&self, key: &ItemKey) -> usize {
        let mut hasher = AHasher::default();
        key.hash(&mut hasher);
        hasher.finish() as usize % STRIPES
    }

    /// Writes an item. `decide` sees the item as it is, and nobody else changes it meanwhile.
    ///
    /// # Errors
    /// [`Refused`] says why nothing was written.
    pub fn write(
        &self,
        key: &ItemKey,
        decide: impl FnOnce(Option<&Item>) -> Result<Decision, ServiceError>,
        now: Instant,
    ) -> Result<Written, Refused> {
        let _turn: MutexGuard<'_, ()> = self.stripes[self.stripe(key)].lock();
        if self.busy.lock().contains(key) {
            return Err(Refused::Conflict);
        }
        let definition = self.definition();
        let layouts = Layouts::of(self, now);
        let least = RequestCharge::write(WriteUnits::from_units(1));
        let admit = |layout: &Layout<'_, Item>, key| layout.admit(key, Capacity::Write, least, now).map(drop);
        // The ticket of the base stays; those of indexes are asked for once it is known which there are.
        let base = layouts
            .base
            .admit(key.clone(), Capacity::Write, least, now)
            .map_err(|throttled| Refused::Throttled { index: None, throttled })?;
        let old = base.item();
        let decision = decide(old.as_ref())?;
        let new = match decision {
            Decision::Put(item) => Some(item),
            Decision::Delete => None,
            Decision::Keep => old.clone(),
            Decision::Refuse { attempted } => {
                let existing = old.as_ref().map(Document::size);
                let mut charges = Charges::none(self);
                charges.table = dynamodb::charge(&Footprint::FailedWrite { existing, attempted });
                base.leave(charges.table, now);
                return Err(Refused::ConditionFailed { item: old, charges });
            }
        };
        let mut charges = Charges::none(self);
        let before = old.as_ref().map(Document::size);
        let after = new.as_ref().map(Document::size);
        charges.table = dynamodb::charge(&Footprint::Write { before, after });
        let (mut local, mut global) = (Vec::new(), Vec::new());
        for (i, index) in definition.local.iter().enumerate() {
            for change in changes(index, &definition.schema, key, old.as_ref(), new.as_ref())? {
                charges.local[i] += change.charge;
                local.push((i, change));
            }
        }
        for (i, index) in definition.global.iter().enumerate() {
            for change in changes(&index.index, &definition.schema, key, old.as_ref(), new.as_ref())? {
                charges.global[i] += change.charge;
                global.push((i, change));
            }
        }
        if !self.local.is_empty() && after > before && base.collection_bytes() >= COLLECTION_BYTES_MAX {
            return Err(Refused::CollectionFull);
        }
        for (i, change) in &global {
            admit(&layouts.global[*i], change.key.clone()).map_err(|throttled| Refused::Throttled {
                index: Some(definition.global[*i].index.name.clone()),
                throttled,
            })?;
        }
        for (layouts, writes, at) in [(&layouts.local, local, true), (&layouts.global, global, false)] {
            for (i, change) in writes {
                // Whoever was admitted may go below zero by what is in flight, which this is.
                let charge = if at { RequestCharge::ZERO } else { change.charge };
                let ticket = layouts[i].readmit(change.key, Capacity::Write);
                write(ticket, change.item, charge, now)?;
            }
        }
        let paid = charges.local.iter().fold(charges.table, |sum, charge| sum + *charge);
        write(base, new.clone(), paid, now)?;
        Ok(Written { old, new, charges })
    }
}

/// The layouts that one write goes by.
struct Layouts<'t> {
    base: Layout<'t, Item>,
    local: Vec<Layout<'t, Item>>,
    global: Vec<Layout<'t, Item>>,
}

impl<'t> Layouts<'t> {
    fn of(table: &'t DynamoTable, now: Instant) -> Self {
        Self {
            base: table.base.layout(now),
            local: table.local.iter().map(|index| index.layout(now)).collect(),
            global: table.global.iter().map(|index| index.layout(now)).collect(),
        }
    }
}

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
    index: &IndexDefinition,
    table: &KeySchema,
    key: &ItemKey,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<Vec<EntryChange>, ServiceError> {
    // What is stored fitted the index when it was written.
    let before = old.map(|old| index.entry(table, key, old)).transpose()?.flatten();
    let after = new.map(|new| index.entry(table, key, new)).transpose()?.flatten();
    let units = |before: Option<&Item>, after: Option<&Item>| {
        let footprint =
            Footprint::Write { before: before.map(Document::size), after: after.map(Document::size) };
        dynamodb::charge(&footprint)
    };
    Ok(match (before, after) {
        (None, None) => Vec::new(),
        (Some((before, old)), Some((after, new))) if before == after => match old == new {
            true => Vec::new(),
            false => vec![EntryChange { charge: units(Some(&old), Some(&new)), key: after, item: Some(new) }],
        },
        (before, after) => {
            let gone =
                before.map(|(key, old)| EntryChange { charge: units(Some(&old), None), key, item: None });
            let come =
                after.map(|(key, new)| EntryChange { charge: units(None, Some(&new)), key, item: Some(new) });
            gone.into_iter().chain(come).collect()
        }
    })
}
