//! What a partition remembers of its traffic, so that a split for heat can be decided: how much, and a sample of where.
//!
//! A request takes the lock of the sample once in 64 times, chosen by its time: nothing is counted for it on the way.
//! It does not decide anything; `physics` does, and `cluster` carries it out.

use crate::clock::Instant;
use crate::key::SortKey;
use crate::physics::{Declined, HeatSplit, HeatWatch, Located};
use crate::ring::{RingPoint, Token};
use crate::rng::Seed;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples without which nothing is decided about a hot partition.
const SAMPLES_MIN: usize = 64;

/// A place of an item in the engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ItemPlace {
    token: Token,
    sort: SortKey,
}

impl Located for ItemPlace {
    fn same_key(&self, other: &Self) -> bool {
        self.token == other.token
    }

    fn key_begin(&self) -> Self {
        Self { token: self.token.clone(), sort: SortKey::none() }
    }
}

/// The watch over one partition.
#[derive(Debug)]
pub(crate) struct PartitionWatch {
    watched: Mutex<Watched>,
    /// Whether every request is a sample: the partition is hot, and hardly any of its places is known.
    eager: AtomicBool,
}

#[derive(Debug)]
struct Watched {
    heat: HeatWatch<ItemPlace>,
    /// Consumed reads and writes when it was looked at last, and the second of that.
    seen_milli: [u64; 2],
    seen: u64,
    declined: Option<Declined>,
}

/// What a look at a partition comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing is to be done.
    Cool,
    /// It is to split there.
    Split(RingPoint),
    /// It is hot and a split would not help.
    Declined(Declined),
}

impl PartitionWatch {
    pub(crate) fn new(rule: HeatSplit, seed: Seed, now: Instant) -> Self {
        Self {
            watched: Mutex::new(Watched {
                heat: HeatWatch::new(rule, seed, now),
                seen_milli: [0; 2],
                seen: now.second(),
                declined: None,
            }),
            eager: AtomicBool::new(false),
        }
    }

    /// Whether the request of this instant is one of those whose place is kept.
    #[inline]
    pub(crate) fn samples(&self, now: Instant) -> bool {
        // The top bits of a product with an odd constant: no pattern of a load is in step with them. But a clock that only
        // knows seconds may name none of those instants for a long time.
        now.nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58 == 0 || self.eager.load(Ordering::Relaxed)
    }

    pub(crate) fn sample(&self, token: &Token, sort: &SortKey) {
        self.watched.lock().heat.sample(ItemPlace { token: token.clone(), sort: sort.clone() });
    }

    /// Ends the seconds before that of `now`, given what was consumed of reads and writes since the partition began.
    pub(crate) fn look(
        &self,
        consumed_milli: [u64; 2],
        limits_milli: [u64; 2],
        whole: bool,
        now: Instant,
    ) -> Look {
        let mut watched = self.watched.lock();
        let elapsed = now.second().saturating_sub(watched.seen).max(1);
        for (capacity, consumed) in consumed_milli.into_iter().enumerate() {
            let since = consumed.saturating_sub(watched.seen_milli[capacity]);
            watched.heat.consume(capacity, since / elapsed);
        }
        watched.seen_milli = consumed_milli;
        watched.seen = now.second();
        let due = watched.heat.is_due(limits_milli, None, now);
        let few = watched.heat.is_warm() && watched.heat.samples() < SAMPLES_MIN;
        self.eager.store(few, Ordering::Relaxed);
        if !due || few {
            return Look::Cool;
        }
        watched.heat.postpone();
        match watched.heat.split_point(whole) {
            Ok(place) if place.sort == SortKey::none() => Look::Split(RingPoint::before(place.token)),
            Ok(place) => Look::Split(RingPoint::inside(place.token, place.sort)),
            Err(declined) => {
                watched.declined = Some(declined);
                Look::Declined(declined)
            }
        }
    }

    /// Why it will not split either, by the traffic so far: whoever looks after half a minute need not wait for ten.
    pub(crate) fn foresee(&self, whole: bool) -> Option<Declined> {
        let watched = self.watched.lock();
        watched.declined.or_else(|| watched.heat.foresee(whole))
    }

    /// Why it did not split when it was hot.
    pub(crate) fn declined(&self) -> Option<Declined> {
        self.watched.lock().declined
    }
}
