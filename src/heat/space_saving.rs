//! Space-Saving: the heaviest keys of a stream in a fixed number of counters (Metwally, Agrawal and El Abbadi,
//! "Efficient computation of frequent and top-k elements in data streams", 2005), with weights.
//!
//! A key without a counter takes over the lightest one, weight included: it may have been there before, with up to
//! that weight, and the part that is not surely its own is its error. Counters form a binary min-heap with known
//! positions, and weights only grow, so an update is one lookup and one sift towards the leaves: O(log counters),
//! and next to nothing for the heavy keys, which live there.
//!
//! It starts from keys counted elsewhere (an exact map, two sketches) and never prints; see [`super::TopKeys`].

use super::top::{Map, TopKey, heaviest};
use std::borrow::Borrow;
use std::hash::Hash;
use std::num::NonZeroUsize;

/// Invariants, with `floor` the largest weight that a key without a counter may have:
/// - every weight is at least `floor`, and every error at most;
/// - `heap[counters[i].at] == i`, and a parent in the heap is no heavier than its children;
/// - `slots` maps the key of each counter, and no other, to its index;
/// - there is at least one counter.
#[derive(Clone, Debug)]
pub(super) struct SpaceSaving<K> {
    counters: Vec<Counter<K>>,
    heap: Vec<usize>,
    slots: Map<K, usize>,
    floor: u64,
}

#[derive(Clone, Debug)]
struct Counter<K> {
    held: TopKey<K>,
    /// Its position in the heap.
    at: usize,
}

impl<K: Ord + Hash + Clone> SpaceSaving<K> {
    /// A sketch of the heaviest `counters` of `keys`, of which there are at least so many, each weighing at least
    /// `floor`, which is the most that a key not among them may weigh.
    pub(super) fn keep(keys: Vec<TopKey<K>>, counters: NonZeroUsize, floor: u64) -> Self {
        debug_assert!(
            keys.len() >= counters.get() && keys.iter().all(|k| k.weight >= floor && k.error <= floor)
        );
        let (kept, left_out) = heaviest(keys, counters.get());
        // Lightest first: a sorted list is a heap.
        let counters: Vec<_> =
            kept.into_iter().rev().enumerate().map(|(at, held)| Counter { held, at }).collect();
        Self {
            heap: (0..counters.len()).collect(),
            slots: counters.iter().map(|c| (c.held.key.clone(), c.at)).collect(),
            floor: floor.max(left_out),
            counters,
        }
    }

    /// The largest weight that a key without a counter may have.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// The keys that have a counter, in no order of interest.
    pub(super) fn held(&self) -> impl Iterator<Item = TopKey<&K>> {
        self.counters.iter().map(|Counter { held, .. }| TopKey {
            key: &held.key,
            weight: held.weight,
            error: held.error,
        })
    }

    /// Weight and error of a key that has a counter.
    pub(super) fn get(&self, key: &K) -> Option<(u64, u64)> {
        self.slots.get(key).map(|&slot| (self.counters[slot].held.weight, self.counters[slot].held.error))
    }

    /// Adds `weight` to `key`.
    pub(super) fn record<Q>(&mut self, key: &Q, weight: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let slot = match self.slots.get(key) {
            Some(&slot) => slot,
            None => self.take_over(key.to_owned()),
        };
        let counter = &mut self.counters[slot];
        counter.held.weight = counter.held.weight.saturating_add(weight);
        let at = counter.at;
        self.sift(at);
    }

    /// Gives the lightest counter to `key` and returns its slot.
    fn take_over(&mut self, key: K) -> usize {
        let slot = self.heap[0];
        let held = &mut self.counters[slot].held;
        self.floor = held.weight;
        held.error = held.weight;
        let evicted = std::mem::replace(&mut held.key, key.clone());
        self.slots.remove(&evicted);
        self.slots.insert(key, slot);
        slot
    }

    /// Moves the counter at `at` towards the leaves until none below it is lighter.
    fn sift(&mut self, mut at: usize) {
        let slot = self.heap[at];
        let weight = self.counters[slot].held.weight;
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let lightest = children.min_by_key(|&child| self.counters[self.heap[child]].held.weight);
            match lightest {
                Some(child) if self.counters[self.heap[child]].held.weight < weight => {
                    self.put(at, self.heap[child]);
                    at = child;
                }
                _ => break,
            }
        }
        self.put(at, slot);
    }

    fn put(&mut self, at: usize, slot: usize) {
        self.heap[at] = slot;
        self.counters[slot].at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn check(sketch: &SpaceSaving<u8>) -> Result<(), TestCaseError> {
        let weight = |at: usize| sketch.counters[sketch.heap[at]].held.weight;
        prop_assert_eq!(sketch.slots.len(), sketch.counters.len());
        prop_assert_eq!(sketch.heap.len(), sketch.counters.len());
        for (slot, counter) in sketch.counters.iter().enumerate() {
            prop_assert_eq!(sketch.heap[counter.at], slot);
            prop_assert_eq!(sketch.slots.get(&counter.held.key), Some(&slot));
            prop_assert!(counter.held.weight >= sketch.floor && counter.held.error <= sketch.floor);
        }
        for at in 1..sketch.heap.len() {
            prop_assert!(weight((at - 1) / 2) <= weight(at));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn invariants_hold_after_every_update(
            start in vec(1..50_u64, 1..20), m in 1..20_usize, load in vec((0..40_u8, 1..30_u64), 0..150),
        ) {
            let m = NonZeroUsize::new(m.min(start.len())).unwrap();
            let keys = (0..).zip(start).map(|(key, weight)| TopKey { key, weight, error: 0 }).collect();
            let mut sketch = SpaceSaving::keep(keys, m, 0);
            check(&sketch)?;
            for (key, weight) in load {
                sketch.record(&key, weight);
                check(&sketch)?;
                prop_assert!(sketch.get(&key).is_some());
            }
        }
    }
}
