//! A table with its indexes, and single writes to it.
//!
//! ```text
//!   lock the item ─► admit at the base ─► read, decide ─► which entries change ─► admit at each index ─► write all, pay all
//! ```
//!
//! - Writes of one item take turns; a transaction that holds an item makes others conflict instead of waiting.
//! - When the base or any index has no room, nothing is written and nothing is paid ("gsi-throttling": back-pressure).
//! - Entries of local indexes live with the table's partitions: their writes are charged to the table.
//!
//! What single writes and transactions have in common is in `write`.

use super::super::attributes::Attributes;
use super::super::error::ServiceError;
use super::super::item::Item;
use super::change::{self, Change, Witness};
use super::definition::{Billing, TableDefinition};
use super::settings::Settings;
use super::write::{self, Layouts};
use crate::budget::{Capacity, Rate, Throttled};
use crate::charge::RequestCharge;
use crate::clock::Instant;
use crate::cluster::Table;
use crate::error::Result;
use crate::key::{ItemKey, PartitionKey, Placement};
use crate::profile::{Profile, Throughput};
use crate::rng::Seed;
use crate::units::Bytes;
use ahash::AHasher;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Locks over which the items of a table are spread.
const STRIPES: usize = 64;

/// Units a second of a local index's own, which are never short: its table pays for it and is asked for admission.
const LOCAL_UNITS: u64 = Rate::MAX_UNITS_PER_SEC;

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
    witness: RwLock<Option<Arc<dyn Witness>>>,
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
        self.global.iter().fold(self.at_table(), |sum, charge| sum + *charge)
    }

    /// What the table's own partitions pay: local indexes are charged to the table.
    pub(super) fn at_table(&self) -> RequestCharge {
        self.local.iter().fold(self.table, |sum, charge| sum + *charge)
    }

    /// The sum of several operations on one table, index by index.
    pub(in crate::dynamodb) fn add(&mut self, other: &Self) {
        self.table += other.table;
        let own = self.local.iter_mut().chain(&mut self.global);
        own.zip(other.local.iter().chain(&other.global)).for_each(|(own, other)| *own += *other);
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
            witness: RwLock::new(None),
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

    /// Has every change told to this witness from now on.
    pub fn set_witness(&self, witness: Option<Arc<dyn Witness>>) {
        *self.witness.write() = witness;
    }

    /// Who is told of every change.
    pub(super) fn witness(&self) -> Option<Arc<dyn Witness>> {
        self.witness.read().clone()
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

    /// The entries of all indexes, local and global.
    pub(super) fn indexes(&self) -> (&[Table<Item>], &[Table<Item>]) {
        (&self.local, &self.global)
    }

    /// Bytes of an item collection: the items of a partition key and their entries in local indexes.
    pub fn collection_bytes(&self, partition: &PartitionKey) -> Bytes {
        std::iter::once(&self.base).chain(&self.local).map(|table| table.bytes_of(partition)).sum()
    }

    /// That an item fits every index.
    ///
    /// # Errors
    /// When an attribute that an index has as its key is of another type, empty or too long.
    pub fn check_indexed(&self, item: &Attributes) -> Result<(), ServiceError> {
        let definition = self.definition();
        let global = definition.global.iter().map(|global| &global.index);
        for index in definition.local.iter().chain(global) {
            index.schema.of_indexed(&index.name, item)?;
        }
        Ok(())
    }

    /// Takes an item for a transaction; `false` when another one has it. Waits for a single write of the item.
    pub(super) fn mark(&self, key: &ItemKey) -> bool {
        let _turn = self.stripes[self.stripe(key)].lock();
        self.busy.lock().insert(key.clone())
    }

    /// Gives an item back.
    pub(super) fn unmark(&self, key: &ItemKey) {
        self.busy.lock().remove(key);
    }

    /// Whether a transaction has the item.
    pub(super) fn is_marked(&self, key: &ItemKey) -> bool {
        self.busy.lock().contains(key)
    }

    /// The lock by which writes of an item take turns, and its place among the table's.
    pub(super) fn turn(&self, key: &ItemKey) -> (usize, &Mutex<()>) {
        let stripe = self.stripe(key);
        (stripe, &self.stripes[stripe])
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
        if self.is_marked(key) {
            return Err(Refused::Conflict);
        }
        let layouts = Layouts::of(self, now);
        let base = layouts.admit(key, Capacity::Write, write::Rate::Single, now)?;
        let old = base.item();
        let decision = decide(old.as_ref())?;
        let plan = match self.plan(key, old, decision, write::Rate::Single) {
            Ok(plan) => plan,
            Err(refused) => {
                if let Refused::ConditionFailed { charges, .. } = &refused {
                    base.leave(charges.table, now);
                }
                return Err(refused);
            }
        };
        plan.admit(self, &layouts, write::Rate::Single, now)?;
        let written = plan.carry_out(base, &layouts, now)?;
        let (old, new) = (written.old.as_ref(), written.new.as_ref());
        change::tell(&[Change { table: self, key, old, new }], now);
        Ok(written)
    }
}
