//! What the service does by itself, once a second: splits for heat, and on-demand throughput that follows its peak.
//!
//! Whichever request first comes in a new second does it, before its own work; with the clock in hand there is no thread in
//! the background and nothing to wait for. A request that finds somebody at it goes on.

use super::Table;
use super::topology::Topology;
use crate::budget::{Capacity, Rate};
use crate::clock::Instant;
use crate::document::Document;
use crate::partition::Look;
use crate::physics::OnDemandPeak;
use crate::profile::{Profile, Throughput};
use crate::units::MILLI;
use std::sync::atomic::Ordering;

/// Things that happened whose story is kept.
const EVENTS_MAX: usize = 10_000;

/// Something that a table did by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEvent {
    /// When.
    pub at: Instant,
    /// What, in a sentence without a full stop.
    pub what: String,
}

/// What an on-demand table follows.
#[derive(Debug)]
pub(super) struct Peaks {
    peaks: [OnDemandPeak; 2],
    /// Consumed when it was looked at last, by partitions of then and before.
    seen_milli: [u64; 2],
    second: u64,
}

impl Peaks {
    pub(super) fn of(profile: &Profile, now: Instant) -> Option<Self> {
        let floor = |rate: Rate| OnDemandPeak::new(rate.milli() / MILLI, 0, now);
        profile.is_on_demand().then(|| Self {
            peaks: [floor(profile.throughput().read_rate()), floor(profile.throughput().write_rate())],
            seen_milli: [0; 2],
            second: now.second(),
        })
    }
}

impl Topology {
    pub(super) fn tell(&mut self, at: Instant, what: String) {
        if self.events.len() < EVENTS_MAX {
            self.events.push(TableEvent { at, what });
        }
    }
}

impl<D: Document> Table<D> {
    /// Does what the service would have done by itself until `now`. Requests call it; a harness that lets time pass without
    /// any may too.
    #[inline]
    pub fn keep_up(&self, now: Instant) {
        if now.second() > self.kept_up.load(Ordering::Relaxed) {
            self.upkeep(now);
        }
    }

    #[cold]
    fn upkeep(&self, now: Instant) {
        let Some(mut topology) = self.topology.try_lock() else { return };
        let second = now.second();
        if second <= self.kept_up.fetch_max(second, Ordering::Relaxed) {
            return;
        }
        self.follow_peak(&mut topology, now);
        let Some(limits) = topology.profile.heat_splits().map(|_| topology.profile.partition_throughput())
        else {
            return;
        };
        let limits = [limits.read_rate().milli(), limits.write_rate().milli()];
        let whole = topology.profile.has_local_index();
        for partition in self.map.load_full().partitions() {
            let id = partition.id();
            match partition.look(limits, whole, now) {
                Look::Cool => {}
                Look::Split(at) => {
                    // One that cannot be divided there stays as it is, and is looked at again when it was hot as long.
                    if let Ok((low, high)) = self.split_locked(&mut topology, id, Some(at), now) {
                        topology.tell(now, format!("partition {id} split for heat into {low} and {high}"));
                    }
                }
                Look::Declined(declined) => {
                    topology.tell(now, format!("partition {id} is hot and does not split: {declined}"));
                }
            }
        }
    }

    /// On demand: twice the previous peak, with the partitions for it.
    fn follow_peak(&self, topology: &mut Topology, now: Instant) {
        if topology.peaks.is_none() {
            return;
        }
        let mut consumed = topology.gone_milli;
        for partition in self.map.load().partitions() {
            consumed[0] += partition.consumed_milli(Capacity::Read);
            consumed[1] += partition.consumed_milli(Capacity::Write);
        }
        let Some(peaks) = &mut topology.peaks else { return };
        let before = Instant::from_secs(peaks.second);
        let rates = [0, 1].map(|i| {
            let since = consumed[i].saturating_sub(peaks.seen_milli[i]);
            // What was consumed since the last look belongs to the minute of that look.
            peaks.peaks[i].consume(before, since);
            peaks.peaks[i].rate_milli(now)
        });
        peaks.seen_milli = consumed;
        peaks.second = now.second();
        let has = topology.profile.throughput();
        if [has.read_rate().milli(), has.write_rate().milli()] == rates {
            return;
        }
        let rate = |milli| Rate::milli_per_second(milli).ok();
        if let (Some(read), Some(write)) = (rate(rates[0]), rate(rates[1]))
            && self.set_throughput_locked(topology, Throughput::ReadWrite { read, write }, now).is_ok()
        {
            let units = rates.map(|milli| milli / MILLI);
            topology.tell(
                now,
                format!("on demand, it now serves {} reads and {} writes at once", units[0], units[1]),
            );
        }
    }
}
