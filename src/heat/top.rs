//! The heaviest keys: by units, by throttles, by bytes, or by whatever the caller weighs them with.
//!
//! A stand-in can afford what the services cannot: up to a cap every key is counted exactly. Past it the table turns
//! into a Space-Saving sketch ([`super::space_saving`]) of fixed size, and every figure comes with its error: *a number
//! of the sketch is never shown without it*. (DynamoDB's own tool, CloudWatch Contributor Insights, lists up to 25 keys, by units or by throttles.)
//!
//! Keys of equal weight are listed in key order, so the order of a hash map never reaches a report. This file does not
//! know what a key is or where it lives.

use super::space_saving::SpaceSaving;
use ahash::AHasher;
use serde::Serialize;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::num::NonZeroUsize;

/// Distinct keys that are counted exactly unless told otherwise: ours, no service limit. An exact map of a million
/// keys costs a cache miss per request; two million are about as far as that stays pleasant.
pub const DEFAULT_EXACT_KEYS: usize = 2_000_000;

/// Counters of the sketch unless told otherwise: ours, no service limit. Finds every key with more than a thousandth
/// of the weight.
pub const DEFAULT_COUNTERS: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// Fast and with fixed seeds; its order is never shown all the same.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<AHasher>>;

/// A key and its weight. The true weight is at most `weight` and at least `weight - error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopKey<K> {
    /// The key.
    pub key: K,
    /// Its weight, never too low.
    pub weight: u64,
    /// By how much the weight may be too high; 0 when counted exactly.
    pub error: u64,
}

/// Counts weight by key.
///
/// - [`total`](Self::total) is exact, always.
/// - A reported weight is never below the true one, nor above it by more than its own error.
/// - No error, and no weight of a key that is not held, exceeds [`error_bound`](Self::error_bound), which in turn is
///   at most total ÷ counters.
#[derive(Clone, Debug)]
pub struct TopKeys<K> {
    exact_keys: usize,
    counters: NonZeroUsize,
    total: u64,
    state: State<K>,
}

#[derive(Clone, Debug)]
enum State<K> {
    Exact(Map<K, u64>),
    Sketch(SpaceSaving<K>),
}

impl<K: Ord + Hash + Clone> Default for TopKeys<K> {
    fn default() -> Self {
        Self::new(DEFAULT_EXACT_KEYS, DEFAULT_COUNTERS)
    }
}

impl<K: Ord + Hash + Clone> TopKeys<K> {
    /// Counts up to `exact_keys` distinct keys exactly, and more with a sketch of `counters` counters. A map no larger
    /// than the sketch would only waste exactness, so `exact_keys` is at least `counters`.
    pub fn new(exact_keys: usize, counters: NonZeroUsize) -> Self {
        let state = State::Exact(Map::default());
        Self { exact_keys: exact_keys.max(counters.get()), counters, total: 0, state }
    }

    /// Adds `weight` to `key`. No weight leaves no trace.
    pub fn record<Q>(&mut self, key: &Q, weight: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if weight == 0 {
            return;
        }
        self.total = self.total.saturating_add(weight);
        match &mut self.state {
            State::Exact(weights) => match weights.get_mut(key) {
                Some(known) => *known = known.saturating_add(weight),
                None => {
                    weights.insert(key.to_owned(), weight);
                    self.limit();
                }
            },
            State::Sketch(sketch) => sketch.record(key, weight),
        }
    }

    /// The `n` heaviest keys, heaviest first; equal weights in key order.
    pub fn top(&self, n: usize) -> Vec<TopKey<K>> {
        let (top, _) = heaviest(self.held().collect(), n);
        top.into_iter().map(TopKey::cloned).collect()
    }

    /// Whether every key is counted exactly.
    pub fn is_exact(&self) -> bool {
        matches!(self.state, State::Exact(_))
    }

    /// The largest error of any reported weight, and the largest weight that a key not held may have: 0 when exact.
    pub fn error_bound(&self) -> u64 {
        match &self.state {
            State::Exact(_) => 0,
            State::Sketch(sketch) => sketch.floor(),
        }
    }

    /// The weight of all keys together.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many different keys there were, while that is known exactly.
    pub fn distinct(&self) -> Option<usize> {
        match &self.state {
            State::Exact(weights) => Some(weights.len()),
            State::Sketch(_) => None,
        }
    }

    /// Adds everything that `other` counted; errors add up. Two sketches leave one with the smaller number of counters.
    pub fn merge(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        if let (State::Exact(weights), State::Exact(others)) = (&mut self.state, &other.state) {
            // Both hash alike: keys that arrive in hash order would pile up in a table that is still small.
            weights.reserve(others.len());
            for (key, &weight) in others {
                match weights.get_mut(key) {
                    Some(known) => *known = known.saturating_add(weight),
                    None => _ = weights.insert(key.clone(), weight),
                }
            }
            // Only after the last key: what the sketch keeps must not depend on the order of the hash map.
            self.limit();
            return;
        }
        // A key that one side does not hold may have had up to that side's floor there. All sums are then at least the
        // sum of the floors, and the heaviest of them sum up to no more than the total (Agarwal et al., "Mergeable
        // summaries", 2012; Cafaro et al., "A parallel space saving algorithm for frequent items", 2016).
        let both = self
            .held()
            .map(|mine| mine.plus(|key| other.get(key)))
            .chain(
                other
                    .held()
                    .filter(|theirs| !self.holds(theirs.key))
                    .map(|theirs| theirs.plus(|key| self.get(key))),
            )
            .collect();
        let floor = self.error_bound().saturating_add(other.error_bound());
        if !other.is_exact() {
            self.counters = self.counters.min(other.counters);
        }
        self.state = State::Sketch(SpaceSaving::keep(both, self.counters, floor));
    }

    /// Turns an exact map that has outgrown its cap into a sketch.
    fn limit(&mut self) {
        if let State::Exact(weights) = &mut self.state
            && weights.len() > self.exact_keys
        {
            let all =
                std::mem::take(weights).into_iter().map(|(key, weight)| TopKey { key, weight, error: 0 });
            self.state = State::Sketch(SpaceSaving::keep(all.collect(), self.counters, 0));
        }
    }

    /// All keys held, in no order: for sorting only.
    fn held(&self) -> impl Iterator<Item = TopKey<&K>> {
        let (exact, sketch) = match &self.state {
            State::Exact(weights) => (Some(weights), None),
            State::Sketch(sketch) => (None, Some(sketch)),
        };
        let exact = exact.into_iter().flatten().map(|(key, &weight)| TopKey { key, weight, error: 0 });
        exact.chain(sketch.into_iter().flat_map(SpaceSaving::held))
    }

    fn holds(&self, key: &K) -> bool {
        match &self.state {
            State::Exact(weights) => weights.contains_key(key),
            State::Sketch(sketch) => sketch.get(key).is_some(),
        }
    }

    /// The highest weight that `key` may have, and its error.
    fn get(&self, key: &K) -> (u64, u64) {
        match &self.state {
            State::Exact(weights) => (weights.get(key).copied().unwrap_or(0), 0),
            State::Sketch(sketch) => sketch.get(key).unwrap_or((sketch.floor(), sketch.floor())),
        }
    }
}

impl<K: Clone> TopKey<&K> {
    fn cloned(self) -> TopKey<K> {
        TopKey { key: self.key.clone(), weight: self.weight, error: self.error }
    }

    /// With the weight and error that `elsewhere` has for the same key.
    fn plus(self, elsewhere: impl Fn(&K) -> (u64, u64)) -> TopKey<K> {
        let (weight, error) = elsewhere(self.key);
        let mut sum = self.cloned();
        sum.weight = sum.weight.saturating_add(weight);
        sum.error = sum.error.saturating_add(error);
        sum
    }
}

/// The order of reports: heaviest first, then by key. Total over distinct keys.
fn heavier<K: Ord>(a: &TopKey<K>, b: &TopKey<K>) -> Ordering {
    b.weight.cmp(&a.weight).then_with(|| a.key.cmp(&b.key))
}

/// The `n` heaviest of `keys` in the order of reports, and the largest weight among the others.
pub(super) fn heaviest<K: Ord>(mut keys: Vec<TopKey<K>>, n: usize) -> (Vec<TopKey<K>>, u64) {
    let mut left_out = 0;
    if n < keys.len() {
        left_out = keys.select_nth_unstable_by(n, heavier).1.weight;
        keys.truncate(n);
    }
    keys.sort_unstable_by(heavier);
    (keys, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn counters(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn of(exact_keys: usize, m: usize, load: &[(u8, u64)]) -> TopKeys<u8> {
        let mut keys = TopKeys::new(exact_keys, counters(m));
        for (key, weight) in load {
            keys.record(key, *weight);
        }
        keys
    }

    /// The reference: every key's true weight.
    fn truth(load: &[(u8, u64)]) -> BTreeMap<u8, u64> {
        let mut weights = BTreeMap::new();
        for &(key, weight) in load.iter().filter(|(_, weight)| *weight > 0) {
            *weights.entry(key).or_insert(0) += weight;
        }
        weights
    }

    fn check(keys: &TopKeys<u8>, load: &[(u8, u64)], m: usize) -> Result<(), TestCaseError> {
        let truth = truth(load);
        let (total, bound) = (truth.values().sum::<u64>(), keys.error_bound());
        prop_assert_eq!(keys.total(), total);
        prop_assert!(bound * m as u64 <= total, "bound {bound} exceeds {total}/{m}");
        let top = keys.top(usize::MAX);
        prop_assert!(keys.is_exact() || top.len() == m);
        for TopKey { key, weight, error } in &top {
            let truth = truth.get(key).copied().unwrap_or(0);
            prop_assert!(
                *weight >= truth && truth >= weight - error,
                "{key}: {truth} is not {weight}-{error}"
            );
            prop_assert!(*error <= bound);
        }
        for (key, &weight) in &truth {
            let held = top.iter().any(|t| t.key == *key);
            prop_assert!(held || weight <= bound, "{key} with {weight} is missing at bound {bound}");
        }
        prop_assert!(top.is_sorted_by(|a, b| heavier(a, b).is_lt()));
        for n in 0..top.len() {
            prop_assert_eq!(keys.top(n), &top[..n]);
        }
        Ok(())
    }

    #[test]
    fn lists_the_heaviest_first_and_equals_in_key_order() {
        let mut keys = TopKeys::<String>::default();
        for (key, weight) in [("b", 5), ("c", 9), ("a", 2), ("a", 3), ("d", 0)] {
            keys.record(key, weight);
        }
        let top = keys.top(3);
        let expected = r#"[{"key":"c","weight":9,"error":0},{"key":"a","weight":5,"error":0},"#.to_owned()
            + r#"{"key":"b","weight":5,"error":0}]"#;
        assert_eq!(serde_json::to_string(&top).unwrap(), expected);
        assert_eq!((keys.total(), keys.distinct(), keys.error_bound()), (19, Some(3), 0));
    }

    #[test]
    fn turns_into_a_sketch_past_the_cap() {
        let mut keys = of(3, 2, &[(1, 50), (2, 40), (3, 7)]);
        assert!(keys.is_exact());
        keys.record(&4, 1);
        assert_eq!((keys.is_exact(), keys.distinct()), (false, None));
        // 3 and 4 were dropped, so whatever is not held weighs 7 at most.
        assert_eq!(keys.error_bound(), 7);
        let exact = |key, weight| TopKey { key, weight, error: 0 };
        assert_eq!(keys.top(9), [exact(1, 50), exact(2, 40)]);
        keys.record(&5, 2);
        assert_eq!(keys.top(9), [exact(1, 50), TopKey { key: 5, weight: 42, error: 40 }]);
        assert_eq!((keys.total(), keys.error_bound()), (100, 40));
    }

    #[test]
    fn finds_a_hot_key_in_a_flood_of_cold_ones() {
        let mut rng = Seed(3).rng();
        let mut keys = TopKeys::<u64>::new(5_000, DEFAULT_COUNTERS);
        for _ in 0..100_000 {
            // One request in fifty goes to key 7, the rest to a million others.
            let key = if rng.below(50) == 0 { 7 } else { 1_000 + rng.below(1_000_000) };
            keys.record(&key, 500);
        }
        assert!(!keys.is_exact());
        let hottest = &keys.top(1)[0];
        assert_eq!(hottest.key, 7);
        assert!(hottest.error <= keys.error_bound() && keys.error_bound() <= keys.total() / 1_024);
        assert!((900_000..1_100_000).contains(&hottest.weight), "{hottest:?}");
    }

    #[test]
    fn extreme_weights_saturate() {
        let mut keys = of(1, 1, &[(1, u64::MAX), (1, u64::MAX), (2, u64::MAX), (3, 1)]);
        keys.merge(&keys.clone());
        assert_eq!((keys.total(), keys.top(1)[0].weight), (u64::MAX, u64::MAX));
    }

    fn load() -> impl Strategy<Value = Vec<(u8, u64)>> {
        // Low keys are likelier, as in real life.
        vec((prop_oneof![0..6_u8, 0..60_u8], 0..100_u64), 0..200)
    }

    proptest! {
        #[test]
        fn exact_up_to_the_cap(load in load()) {
            let truth = truth(&load);
            let keys = of(truth.len(), 1, &load);
            prop_assert!(keys.is_exact());
            prop_assert_eq!(keys.distinct(), Some(truth.len()));
            check(&keys, &load, 1)?;
        }

        #[test]
        fn never_too_low_never_past_its_error_and_no_heavy_key_missing(
            load in load(), cap in 1..30_usize, m in 1..12_usize,
        ) {
            let keys = of(cap, m, &load);
            prop_assert_eq!(keys.is_exact(), truth(&load).len() <= cap.max(m));
            check(&keys, &load, m)?;
        }

        #[test]
        fn merging_keeps_the_guarantee(
            loads in vec((load(), 1..30_usize, 1..12_usize), 1..4), more in load(), cap in 1..30_usize, m in 1..12_usize,
        ) {
            let mut keys = TopKeys::new(cap, counters(m));
            let (mut all, mut fewest) = (Vec::new(), m);
            for (load, cap, m) in loads {
                let other = of(cap, m, &load);
                if !other.is_exact() {
                    fewest = fewest.min(m);
                }
                keys.merge(&other);
                all.extend(load);
                check(&keys, &all, fewest)?;
            }
            for (key, weight) in &more {
                keys.record(key, *weight);
            }
            all.extend(more);
            check(&keys, &all, fewest)?;
        }

        #[test]
        fn same_input_same_output(left in load(), right in load(), cap in 1..30_usize, m in 1..12_usize) {
            let run = || {
                let mut keys = of(cap, m, &left);
                keys.merge(&of(cap, m, &right));
                keys.top(usize::MAX)
            };
            prop_assert_eq!(run(), run());
        }
    }
}
