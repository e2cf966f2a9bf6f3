//! All items of one logical partition, in sort-key order.

use crate::budget::Permit;
use crate::document::Document;
use crate::key::SortKey;
use crate::ring::Token;
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a write does to an item, decided by a caller who has seen it.
#[derive(Clone, Debug)]
pub enum Change<D> {
    /// Store this.
    Put(D),
    /// Remove the item; no item is no error.
    Delete,
    /// Leave it as it is: a condition that holds.
    Keep,
    /// Leave it as it is: a condition that does not hold.
    Refuse,
}

/// How much one key was used: kept beside its items, so that counting costs no second look-up.
#[derive(Debug, Default)]
pub(crate) struct KeyHeat {
    units_milli: AtomicU64,
    throttles: AtomicU32,
}

impl KeyHeat {
    pub(crate) fn add_units(&self, milli: u64) {
        self.units_milli.fetch_add(milli, Ordering::Relaxed);
    }

    /// Without an atomic step, for a writer who holds the collection alone.
    pub(crate) fn add_units_alone(&mut self, milli: u64) {
        let units = self.units_milli.get_mut();
        *units = units.wrapping_add(milli);
    }

    pub(crate) fn add_throttle(&self) {
        self.throttles.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn units_milli(&self) -> u64 {
        self.units_milli.load(Ordering::Relaxed)
    }

    pub(crate) fn throttles(&self) -> u64 {
        u64::from(self.throttles.load(Ordering::Relaxed))
    }
}

/// A logical partition.
///
/// - `items` is `One` while there is one item: most logical partitions of a well-spread key hold one, and a tree node
///   would cost eleven slots for it.
/// - `version` changes with every change of the items and never repeats in a table, so an unchanged version means
///   unchanged items.
#[derive(Debug)]
pub(crate) struct Collection<D> {
    token: Token,
    /// Epoch and index of the partition last seen to hold this collection; zero when unknown.
    route: AtomicU64,
    pub(crate) heat: KeyHeat,
    version: u64,
    bytes: u64,
    items: Items<D>,
    /// Items a transaction is about to write. `None` almost always.
    #[expect(clippy::box_collection, reason = "eight bytes instead of 24 in every collection")]
    pending: Option<Box<BTreeSet<SortKey>>>,
}

#[derive(Debug)]
enum Items<D> {
    None,
    One(SortKey, D),
    Many(BTreeMap<SortKey, D>),
}

impl<D: Document> Collection<D> {
    pub(crate) fn new(token: Token, version: u64) -> Self {
        Self {
            token,
            route: AtomicU64::new(0),
            heat: KeyHeat::default(),
            version,
            bytes: 0,
            items: Items::None,
            pending: None,
        }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    pub(crate) fn route(&self) -> &AtomicU64 {
        &self.route
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    pub(crate) fn len(&self) -> usize {
        match &self.items {
            Items::None => 0,
            Items::One(..) => 1,
            Items::Many(items) => items.len(),
        }
    }

    /// Whether nothing would be lost if the collection were dropped.
    pub(crate) fn is_vacant(&self) -> bool {
        self.len() == 0 && self.pending.is_none()
    }

    /// The item `sort`.
    pub(crate) fn get(&self, sort: &SortKey, _proof: &Permit<'_>) -> Option<&D> {
        self.peek(sort)
    }

    /// The item `sort`, for measuring: hands nothing to a client.
    pub(crate) fn peek(&self, sort: &SortKey) -> Option<&D> {
        match &self.items {
            Items::None => None,
            Items::One(only, item) => (only == sort).then_some(item),
            Items::Many(items) => items.get(sort),
        }
    }

    /// Stores or removes the item `sort` and returns what was there.
    pub(crate) fn replace(&mut self, sort: &SortKey, item: Option<D>, _proof: &Permit<'_>) -> Option<D> {
        let added = item.as_ref().map_or(0, |item| item.size().0);
        let before = match item {
            Some(item) => self.insert(sort, item),
            None => self.remove(sort),
        };
        self.version += 1;
        self.bytes =
            self.bytes.saturating_add(added).saturating_sub(before.as_ref().map_or(0, |d| d.size().0));
        before
    }

    fn insert(&mut self, sort: &SortKey, item: D) -> Option<D> {
        match &mut self.items {
            Items::None => {
                self.items = Items::One(sort.clone(), item);
                None
            }
            Items::One(only, old) if only == sort => Some(std::mem::replace(old, item)),
            Items::One(..) => {
                let mut many = BTreeMap::from([(sort.clone(), item)]);
                if let Items::One(only, old) = std::mem::replace(&mut self.items, Items::None) {
                    many.insert(only, old);
                }
                self.items = Items::Many(many);
                None
            }
            Items::Many(items) => items.insert(sort.clone(), item),
        }
    }

    fn remove(&mut self, sort: &SortKey) -> Option<D> {
        match &mut self.items {
            Items::One(only, _) if only == sort => match std::mem::replace(&mut self.items, Items::None) {
                Items::One(_, old) => Some(old),
                Items::None | Items::Many(_) => None,
            },
            Items::Many(items) => {
                let old = items.remove(sort);
                if items.is_empty() {
                    self.items = Items::None;
                }
                old
            }
            Items::None | Items::One(..) => None,
        }
    }

    /// The items between two bounds, in ascending order; empty when the bounds are turned around.
    pub(crate) fn range(&self, from: Bound<&SortKey>, to: Bound<&SortKey>) -> Entries<'_, D> {
        match &self.items {
            Items::Many(items) if !is_reversed(from, to) => {
                Entries::Many(items.range((from.cloned(), to.cloned())))
            }
            Items::One(only, item) if is_within(only, from, to) => Entries::One(Some((only, item))),
            _ => Entries::One(None),
        }
    }

    /// Marks an item as about to be written by a transaction; false when another transaction holds it.
    pub(crate) fn mark(&mut self, sort: &SortKey) -> bool {
        self.pending.get_or_insert_default().insert(sort.clone())
    }

    pub(crate) fn unmark(&mut self, sort: &SortKey) {
        if let Some(pending) = &mut self.pending {
            pending.remove(sort);
            if pending.is_empty() {
                self.pending = None;
            }
        }
    }

    pub(crate) fn is_marked(&self, sort: &SortKey) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.contains(sort))
    }
}

fn is_within(key: &SortKey, from: Bound<&SortKey>, to: Bound<&SortKey>) -> bool {
    std::ops::RangeBounds::contains(&(from, to), key)
}

/// `BTreeMap::range` panics on bounds that are turned around; a query over them is merely empty.
fn is_reversed(from: Bound<&SortKey>, to: Bound<&SortKey>) -> bool {
    match (from, to) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}

/// Items in order, from either end.
pub(crate) enum Entries<'a, D> {
    One(Option<(&'a SortKey, &'a D)>),
    Many(std::collections::btree_map::Range<'a, SortKey, D>),
}

impl<'a, D> Iterator for Entries<'a, D> {
    type Item = (&'a SortKey, &'a D);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(item) => item.take(),
            Self::Many(range) => range.next(),
        }
    }
}

impl<D> DoubleEndedIterator for Entries<'_, D> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(item) => item.take(),
            Self::Many(range) => range.next_back(),
        }
    }
}
