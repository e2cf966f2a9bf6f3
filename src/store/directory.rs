//! From logical key to collection: a sharded hash map, one per table.
//!
//! The hash here only spreads keys over locks; it never places data (that is `key::Placement`, which is stable).

use super::Collection;
use crate::document::Document;
use crate::key::{KeyBytes, PartitionKey};
use crate::ring::Token;
use ahash::AHasher;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use dashmap::mapref::one::{Ref, RefMut};
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicU64, Ordering};

type Shards<D> = DashMap<KeyBytes, Box<Collection<D>>, BuildHasherDefault<AHasher>>;

/// Locks of one directory. More would let more cores write at once and make a fresh table dearer to create: 256 shards
/// took 145 µs, and a test suite creates thousands of tables.
const SHARDS: usize = 16;

/// Versions that one collection may use up before the next one begins.
const VERSIONS_PER_COLLECTION: u64 = 1 << 32;

/// Counters of dropped collections. Keys that share one may cause each other a needless conflict, never a torn read.
const DROP_COUNTERS: usize = 32;

/// A collection that is locked for writing.
pub(crate) type Occupied<'a, D> = RefMut<'a, KeyBytes, Box<Collection<D>>>;

#[derive(Debug)]
pub(crate) struct Directory<D> {
    collections: Shards<D>,
    /// Collections ever created, so that a version never repeats.
    created: AtomicU64,
    /// Collections ever dropped, by a hash of their keys: how a transactional read notices that a key it found absent was
    /// not absent all the time.
    dropped: [AtomicU64; DROP_COUNTERS],
}

impl<D: Document> Directory<D> {
    pub(crate) fn new() -> Self {
        Self {
            collections: DashMap::with_capacity_and_hasher_and_shard_amount(
                0,
                BuildHasherDefault::default(),
                SHARDS,
            ),
            created: AtomicU64::new(1),
            dropped: [const { AtomicU64::new(0) }; DROP_COUNTERS],
        }
    }

    /// The collection of `key`, locked for reading.
    pub(crate) fn get(&self, key: &PartitionKey) -> Option<Ref<'_, KeyBytes, Box<Collection<D>>>> {
        self.collections.get(key.as_bytes())
    }

    pub(crate) fn get_bytes(&self, key: &KeyBytes) -> Option<Ref<'_, KeyBytes, Box<Collection<D>>>> {
        self.collections.get(key.as_slice())
    }

    /// The collection of `key`, locked for writing.
    pub(crate) fn get_mut(&self, key: &PartitionKey) -> Option<Occupied<'_, D>> {
        self.collections.get_mut(key.as_bytes())
    }

    /// The collection of `key`, locked for writing; created when `announce` agrees.
    ///
    /// `announce` runs under the lock, before anybody can see the collection: it enters the key into the index of
    /// the partition, or refuses because that partition has just been retired.
    pub(crate) fn get_or_create<E>(
        &self,
        key: &PartitionKey,
        token: &Token,
        announce: impl FnOnce() -> Result<(), E>,
    ) -> Result<Occupied<'_, D>, E> {
        match self.collections.entry(key.key_bytes().clone()) {
            Entry::Occupied(entry) => Ok(entry.into_ref()),
            Entry::Vacant(entry) => {
                announce()?;
                let version =
                    self.created.fetch_add(1, Ordering::Relaxed).wrapping_mul(VERSIONS_PER_COLLECTION);
                Ok(entry.insert(Box::new(Collection::new(token.clone(), version))))
            }
        }
    }

    /// Drops the collection of `key` if `forget`, which runs under the lock, agrees.
    pub(crate) fn remove_if(&self, key: &PartitionKey, forget: impl FnOnce(&Collection<D>) -> bool) {
        self.collections.remove_if(key.as_bytes(), |_, collection| {
            let forgotten = forget(collection);
            if forgotten {
                // Before anybody can find the key absent: the lock is held.
                self.dropped(key).fetch_add(1, Ordering::Relaxed);
            }
            forgotten
        });
    }

    /// Grows whenever a collection of this key is dropped. Read it before finding the key absent, and again after.
    pub(crate) fn drops(&self, key: &PartitionKey) -> u64 {
        self.dropped(key).load(Ordering::Acquire)
    }

    fn dropped(&self, key: &PartitionKey) -> &AtomicU64 {
        &self.dropped[self.collections.hash_usize(&key.as_bytes()) % DROP_COUNTERS]
    }

    /// Visits every collection, in no order: callers must not let the order out.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&KeyBytes, &Collection<D>)) {
        for entry in &self.collections {
            visit(entry.key(), entry.value());
        }
    }
}
