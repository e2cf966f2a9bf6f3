//! From a key spec to one key after the other: which logical key, which item of it, which suffix, and so which place.
//!
//! A key's text is `<name>-<number>`, or its own name, and `.<suffix>` after it; its token is that of the text, so a key lies
//! where `where` and the library put it. Tokens are kept beside the counts of their key: one cache line for both.

use super::{DrawnKeys, Items, KeySpec, Suffix, SuffixRule};
use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::key::{PartitionKey, Placement};
use crate::lab::{KeyedRows, Sampler};
use crate::physics::Place;
use crate::rng::{Rng, Seed, below};
use std::sync::Arc;

/// Keys, suffixes included, whose tokens and counts are kept exactly: 32 bytes each.
const DENSE_MAX: u64 = 4_000_000;

/// Beyond that, tokens that are remembered, ...
const MEMO: usize = 1 << 14;

/// ... and the heaviest keys that are counted.
const SKETCH_COUNTERS: usize = 4_096;

/// A drawn key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    /// The number of the logical key.
    pub(super) key: u64,
    /// The number of its item.
    pub(super) item: u64,
    /// The suffix, from 0.
    pub(super) suffix: u32,
}

/// One physical key: a logical key with a suffix.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The first 128 bits of the token, in halves so that the entry is 32 bytes. Zero: not yet looked up.
    token: [u64; 2],
    offers: u64,
    throttles: u64,
}

/// Draws keys, and remembers where they are and how often they came.
#[derive(Debug)]
pub(super) struct KeyStream {
    source: Source,
    placement: Placement,
    rng: Rng,
    hash: Seed,
    suffix: Option<Suffix>,
    suffixes: u64,
    known: Vec<Known>,
    memo: Vec<(u64, u128)>,
    sketch: Option<Box<[crate::heat::TopKeys<u64>; 2]>>,
    /// Operations so far that wrote a new item.
    written: u64,
    distinct: u64,
}

#[derive(Debug)]
enum Source {
    Drawn { keys: DrawnKeys, sampler: Box<Sampler>, current: u64, left: u64 },
    Rows { rows: Arc<KeyedRows>, next: usize },
}

impl KeyStream {
    /// A stream from its beginning. `room` is how many keys may still be counted one by one, by all streams of a run.
    pub(super) fn new(spec: &KeySpec, placement: Placement, seed: Seed, room: &mut u64) -> Result<Self> {
        let (source, suffix, count) = match spec {
            KeySpec::Drawn(keys) => {
                let sampler = keys
                    .distribution
                    .sampler(keys.count, seed.stream("keys"))
                    .map_err(|error| Error::invalid(format!("keys {}: {error}", keys.name)))?;
                let source =
                    Source::Drawn { keys: keys.clone(), sampler: Box::new(sampler), current: 0, left: 0 };
                (source, keys.suffix, keys.count)
            }
            KeySpec::Rows(rows) => {
                if rows.rows().is_empty() {
                    return Err(Error::invalid("the file of keys has no rows"));
                }
                (Source::Rows { rows: Arc::clone(rows), next: 0 }, None, rows.keys().len() as u64)
            }
        };
        let suffixes = u64::from(suffix.map_or(1, |suffix| suffix.count));
        if suffixes == 0 {
            return Err(Error::invalid("a suffix needs at least one value"));
        }
        let all = count.saturating_mul(suffixes);
        let dense = all <= DENSE_MAX.min(*room);
        if dense {
            *room -= all;
        }
        Ok(Self {
            source,
            placement,
            rng: seed.stream("items").rng(),
            hash: seed.stream("suffix"),
            suffix,
            suffixes,
            known: if dense { vec![Known::default(); all as usize] } else { Vec::new() },
            memo: if dense { Vec::new() } else { vec![(u64::MAX, 0); MEMO] },
            sketch: (!dense).then(|| {
                let counters =
                    std::num::NonZeroUsize::new(SKETCH_COUNTERS).unwrap_or(std::num::NonZeroUsize::MIN);
                let counter = || crate::heat::TopKeys::new(0, counters);
                Box::new([counter(), counter()])
            }),
            written: 0,
            distinct: 0,
        })
    }

    /// The key of the next operation; one that `writes` may make a new item.
    #[inline]
    pub(super) fn draw(&mut self, now: Instant, creates: bool) -> Draw {
        let (key, item) = match &mut self.source {
            Source::Drawn { keys, sampler, current, left } => {
                if *left == 0 {
                    *current = sampler.next(now, self.written.min(keys.count).saturating_sub(1));
                    *left = keys.run.max(1);
                }
                *left -= 1;
                let item = match keys.items {
                    Items::One => 0,
                    Items::Increasing if creates => self.written,
                    Items::Increasing => self.rng.below(self.written.max(1)),
                    Items::Random(items) => self.rng.below(items.max(1)),
                };
                (*current, item)
            }
            Source::Rows { rows, next } => {
                let row = *next;
                *next = if row + 1 == rows.rows().len() { 0 } else { row + 1 };
                (u64::from(rows.rows()[row]), row as u64)
            }
        };
        self.written += u64::from(creates);
        let suffix = match self.suffix {
            None => 0,
            Some(Suffix { rule: SuffixRule::Random, .. }) => self.rng.below(self.suffixes) as u32,
            Some(Suffix { rule: SuffixRule::Hash, .. }) => {
                below(self.item_hash(key, item), self.suffixes) as u32
            }
            Some(Suffix { rule: SuffixRule::Product, .. }) => self.product(key, item),
        };
        Draw { key, item, suffix }
    }

    fn item_hash(&self, key: u64, item: u64) -> u64 {
        self.hash.child(key).at(item)
    }

    /// The documented formula over a ten-digit id of the item ("Using write sharding": product of the code points, modulo
    /// the count, plus 1; here from 0).
    fn product(&self, key: u64, item: u64) -> u32 {
        let mut id = below(self.item_hash(key, item), 10_000_000_000);
        let mut product = 1;
        for _ in 0..10 {
            product = product * (u64::from(b'0') + id % 10) % self.suffixes;
            id /= 10;
        }
        product as u32
    }

    /// The number of a physical key.
    #[inline]
    pub(super) fn physical(&self, draw: Draw) -> u64 {
        draw.key.saturating_mul(self.suffixes).saturating_add(u64::from(draw.suffix))
    }

    /// Suffixes of each logical key; 1 without any.
    pub(super) fn suffixes(&self) -> u32 {
        self.suffixes as u32
    }

    /// Whether reading one item asks for every suffix.
    pub(super) fn reads_fan_out(&self) -> bool {
        self.suffix.is_some_and(|suffix| suffix.rule == SuffixRule::Random) && self.suffixes > 1
    }

    /// Where an item lies.
    #[inline]
    pub(super) fn place(&mut self, draw: Draw) -> Place {
        let physical = self.physical(draw);
        let sort = match &self.source {
            Source::Drawn { keys, .. } => match keys.items {
                Items::One => 0,
                Items::Increasing => draw.item,
                Items::Random(items) => (u64::MAX / items.max(1)).saturating_mul(draw.item),
            },
            Source::Rows { rows, .. } => match rows.sorts() {
                None => draw.item,
                // The first eight bytes keep the order.
                Some(sorts) => {
                    let mut bytes = [0; 8];
                    for (to, from) in bytes.iter_mut().zip(sorts[draw.item as usize].as_bytes()) {
                        *to = *from;
                    }
                    u64::from_be_bytes(bytes)
                }
            },
        };
        Place { token: self.token(physical), sort }
    }

    fn token(&mut self, physical: u64) -> u128 {
        if let Some(known) = self.known.get_mut(physical as usize) {
            let [high, low] = known.token;
            if (high, low) != (0, 0) {
                return u128::from(high) << 64 | u128::from(low);
            }
        } else {
            let slot = physical as usize % MEMO;
            if self.memo.get(slot).is_some_and(|(known, _)| *known == physical) {
                return self.memo[slot].1;
            }
        }
        let token = self.token_of(physical);
        match self.known.get_mut(physical as usize) {
            Some(known) => {
                known.token = [(token >> 64) as u64, token as u64];
            }
            None => {
                let slot = physical as usize % MEMO;
                self.memo[slot] = (physical, token);
            }
        }
        token
    }

    /// The token of a physical key, computed.
    pub(super) fn token_of(&self, physical: u64) -> u128 {
        self.placement.token(&self.partition_key(physical)).leading_u128()
    }

    fn partition_key(&self, physical: u64) -> PartitionKey {
        match &self.source {
            Source::Rows { rows, .. } => rows.keys()[physical as usize].clone(),
            Source::Drawn { .. } => PartitionKey::text(&self.label(physical)),
        }
    }

    /// A physical key in words.
    pub(super) fn label(&self, physical: u64) -> String {
        let keys = match &self.source {
            Source::Rows { rows, .. } => return rows.keys()[physical as usize].to_string(),
            Source::Drawn { keys, .. } => keys,
        };
        let (key, suffix) = (physical / self.suffixes, physical % self.suffixes);
        let mut label = match keys.names.get(key as usize) {
            Some(name) => name.clone(),
            None if keys.count == 1 => keys.name.clone(),
            None => format!("{}-{key}", keys.name),
        };
        if self.suffix.is_some() {
            label.push_str(&format!(".{}", suffix + 1));
        }
        label
    }

    /// Counts a request that is made for the first time.
    #[inline]
    pub(super) fn offer(&mut self, physical: u64) {
        if let Some(known) = self.known.get_mut(physical as usize) {
            self.distinct += u64::from(known.offers == 0);
            known.offers += 1;
        } else if let Some(sketch) = &mut self.sketch {
            sketch[0].record(&physical, 1);
        }
    }

    /// Counts a refusal.
    pub(super) fn throttle(&mut self, physical: u64) {
        if let Some(known) = self.known.get_mut(physical as usize) {
            known.throttles += 1;
        } else if let Some(sketch) = &mut self.sketch {
            sketch[1].record(&physical, 1);
        }
    }

    /// The heaviest physical keys: number, requests without retries, throttles.
    pub(super) fn top(&self, n: usize) -> Vec<(u64, u64, u64)> {
        match &self.sketch {
            Some(sketch) => {
                let throttles = sketch[1].top(SKETCH_COUNTERS);
                let of = |key: u64| throttles.iter().find(|top| top.key == key).map_or(0, |top| top.weight);
                sketch[0].top(n).into_iter().map(|top| (top.key, top.weight, of(top.key))).collect()
            }
            None => {
                let mut top: Vec<_> = (0_u64..)
                    .zip(&self.known)
                    .filter(|(_, known)| known.offers > 0)
                    .map(|(key, known)| (key, known.offers, known.throttles))
                    .collect();
                let order = |a: &(u64, u64, u64), b: &(u64, u64, u64)| b.1.cmp(&a.1).then(a.0.cmp(&b.0));
                if top.len() > n && n > 0 {
                    top.select_nth_unstable_by(n - 1, order);
                    top.truncate(n);
                }
                top.sort_unstable_by(order);
                top.truncate(n);
                top
            }
        }
    }

    /// Requests by logical key, retries left out, heaviest first, where they are counted exactly.
    pub(super) fn logical_loads(&self) -> Option<Vec<u64>> {
        if self.sketch.is_some() {
            return None;
        }
        let mut loads: Vec<u64> = self
            .known
            .chunks(self.suffixes as usize)
            .map(|suffixes| suffixes.iter().map(|known| known.offers).sum())
            .collect();
        loads.sort_unstable_by(|a, b| b.cmp(a));
        Some(loads)
    }

    /// Requests in all, retries left out.
    pub(super) fn offers(&self) -> u64 {
        match &self.sketch {
            Some(sketch) => sketch[0].total(),
            None => self.known.iter().map(|known| known.offers).sum(),
        }
    }

    /// Physical keys that came, where they are counted exactly.
    pub(super) fn distinct(&self) -> Option<u64> {
        self.sketch.is_none().then_some(self.distinct)
    }
}
