//! The collections of one physical partition in ring order.
//!
//! An index is *retired* when its partition gives way in a split or merge. Whoever finds it retired holds an old
//! map and must look at the next one: the entry it wants to add or remove belongs to a successor.

use crate::key::KeyBytes;
use crate::ring::{RingPoint, Token};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ops::Bound;

/// A collection's place: tokens may collide, keys may not.
pub(crate) type IndexEntry = (Token, KeyBytes);

/// The index, or nothing once retired.
#[derive(Debug)]
pub(crate) struct RangeIndex(Mutex<Option<BTreeSet<IndexEntry>>>);

/// The partition has given way to others: read the current map and try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retired;

impl RangeIndex {
    pub(crate) fn new(entries: BTreeSet<IndexEntry>) -> Self {
        Self(Mutex::new(Some(entries)))
    }

    pub(crate) fn insert(&self, entry: IndexEntry) -> Result<(), Retired> {
        self.0.lock().as_mut().ok_or(Retired)?.insert(entry);
        Ok(())
    }

    /// Removes an entry from several indexes, or from none when one of them is retired: a collection that lives on must
    /// not be missing anywhere. Callers name the indexes in ring order, so that no two wait for each other.
    pub(crate) fn remove_from_all<'i>(
        indexes: impl Iterator<Item = &'i Self>,
        entry: &IndexEntry,
    ) -> Result<(), Retired> {
        let mut guards: Vec<_> = indexes.map(|index| index.0.lock()).collect();
        let all: Option<Vec<_>> = guards.iter_mut().map(|guard| guard.as_mut()).collect();
        for entries in all.ok_or(Retired)? {
            entries.remove(entry);
        }
        Ok(())
    }

    /// Up to `limit` entries from `from` on. A chunk, so that a scan never holds the lock while it reads items.
    pub(crate) fn chunk(&self, from: Bound<&IndexEntry>, limit: usize) -> Result<Vec<IndexEntry>, Retired> {
        let guard = self.0.lock();
        let entries = guard.as_ref().ok_or(Retired)?;
        Ok(entries.range::<IndexEntry, _>((from, Bound::Unbounded)).take(limit).cloned().collect())
    }

    pub(crate) fn len(&self) -> Result<usize, Retired> {
        self.0.lock().as_ref().map(BTreeSet::len).ok_or(Retired)
    }

    /// Takes the entries out for good, for a successor.
    pub(crate) fn retire(&self) -> Option<BTreeSet<IndexEntry>> {
        self.0.lock().take()
    }

    /// Undoes [`retire`](Self::retire) when the change did not come about.
    pub(crate) fn restore(&self, entries: BTreeSet<IndexEntry>) {
        *self.0.lock() = Some(entries);
    }
}

/// The first entry a collection at `token` can have.
pub(crate) fn first_entry(token: Token) -> IndexEntry {
    (token, KeyBytes::new(&[]))
}

/// Cuts `entries` at a point of the ring. Collections that the point goes through appear on both sides.
pub(crate) fn cut(
    mut low: BTreeSet<IndexEntry>,
    at: &RingPoint,
) -> (BTreeSet<IndexEntry>, BTreeSet<IndexEntry>) {
    let high = low.split_off(&first_entry(at.token.clone()));
    if at.sort.is_some() {
        low.extend(high.iter().take_while(|(token, _)| *token == at.token).cloned());
    }
    (low, high)
}
