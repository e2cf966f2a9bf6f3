//! The reference object: what a table must hold, and what it must have charged.
//!
//! A map and a ledger. It knows neither partitions nor budgets, which is what makes it worth comparing with.

use crate::charge::RequestCharge;
use crate::document::Document;
use crate::key::{ItemKey, PartitionKey};
use std::collections::BTreeMap;

/// What was charged and refused, as the answers said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    charged: RequestCharge,
    of_scans: RequestCharge,
    throttled: u64,
}

impl Ledger {
    /// Counts an answer's charge.
    pub fn charge(&mut self, charge: RequestCharge) {
        self.charged += charge;
    }

    /// Counts the charge of a page of a scan, which belongs to no key.
    pub fn charge_scan(&mut self, charge: RequestCharge) {
        self.charged += charge;
        self.of_scans += charge;
    }

    /// Counts a throttled request for a key.
    pub fn throttle(&mut self) {
        self.throttled += 1;
    }

    /// All that was charged.
    pub fn charged(&self) -> RequestCharge {
        self.charged
    }

    /// What was charged for requests that name a key.
    pub fn charged_to_keys_milli(&self) -> u64 {
        milli(self.charged) - milli(self.of_scans)
    }

    /// Throttled requests that named a key.
    pub fn throttled(&self) -> u64 {
        self.throttled
    }
}

/// Milli-units of a charge, of whichever kind.
pub(super) fn milli(charge: RequestCharge) -> u64 {
    charge.read.milli() + charge.write.milli() + charge.request.milli()
}

/// Items by key, and a ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model<D> {
    items: BTreeMap<ItemKey, D>,
    /// What the answers said.
    pub ledger: Ledger,
}

impl<D: Document> Model<D> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { items: BTreeMap::new(), ledger: Ledger::default() }
    }

    /// The item under a key.
    pub fn get(&self, key: &ItemKey) -> Option<&D> {
        self.items.get(key)
    }

    /// Sets what is under a key and gives back what was.
    pub fn set(&mut self, key: &ItemKey, item: Option<D>) -> Option<D> {
        match item {
            Some(item) => self.items.insert(key.clone(), item),
            None => self.items.remove(key),
        }
    }

    /// All items in the order of their keys.
    pub fn items(&self) -> impl Iterator<Item = (&ItemKey, &D)> {
        self.items.iter()
    }

    /// The items of one logical partition in sort order.
    pub fn of_partition<'m>(
        &'m self,
        partition: &'m PartitionKey,
    ) -> impl Iterator<Item = (&'m ItemKey, &'m D)> {
        let from = ItemKey { partition: partition.clone(), sort: crate::key::SortKey::none() };
        self.items.range(from..).take_while(move |(key, _)| key.partition == *partition)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
