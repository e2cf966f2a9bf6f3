//! What a table looks like from outside: partitions, heat, hot keys, skew.

use super::{RetiredPartition, Table, TableEvent};
use crate::budget::{Capacity, Limit, PartitionId};
use crate::document::Document;
use crate::heat::{Series, Skew, TopKeys};
use crate::key::PartitionKey;
use crate::physics::Declined;
use crate::ring::TokenRange;
use crate::units::Bytes;
use std::collections::BTreeMap;

/// The ground truth about a table, which the services do not show.
#[derive(Clone, Debug)]
pub struct TableReport {
    /// Every partition in ring order.
    pub partitions: Vec<PartitionReport>,
    /// Partitions that gave way to others, oldest first.
    pub retired: Vec<RetiredPartition>,
    /// What the table did by itself, oldest first.
    pub events: Vec<TableEvent>,
    /// Skew of the attempted read units (or request units of reads).
    pub read_skew: Skew,
    /// Skew of the attempted write units (or request units of writes).
    pub write_skew: Skew,
}

/// One physical partition.
#[derive(Clone, Debug)]
pub struct PartitionReport {
    /// Its number.
    pub id: PartitionId,
    /// The partitions it came from, oldest first.
    pub parents: Vec<PartitionId>,
    /// Its slice of the ring.
    pub range: TokenRange,
    /// Logical partitions in it.
    pub logical_partitions: usize,
    /// Bytes stored.
    pub bytes: Bytes,
    /// Reads by second.
    pub reads: Series,
    /// Writes by second.
    pub writes: Series,
    /// Refusals by limit, in the order of [`Limit::ALL`].
    pub refusals: [u64; Limit::ALL.len()],
    /// Why it did not split for heat when it was hot.
    pub declined: Option<Declined>,
    /// The same before it is decided: why a split would not help, by the traffic so far.
    pub would_decline: Option<Declined>,
}

/// How much one key was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReport {
    /// The key.
    pub key: PartitionKey,
    /// Milli-units consumed, or throttled attempts: what was asked for.
    pub weight: u64,
    /// By how much the weight may be too high. Zero while counting is exact.
    pub error: u64,
}

impl<D: Document> Table<D> {
    /// Looks at every partition.
    pub fn report(&self) -> TableReport {
        let topology = self.topology.lock();
        let map = self.map.load_full();
        let whole = topology.profile.has_local_index();
        let partitions: Vec<PartitionReport> = map
            .partitions()
            .iter()
            .map(|partition| PartitionReport {
                id: partition.id(),
                parents: partition.parents().to_vec(),
                range: partition.range().clone(),
                // No split is under way: the topology is locked.
                logical_partitions: partition.index().len().unwrap_or(0),
                bytes: Bytes(partition.bytes()),
                reads: partition.heat(Capacity::Read),
                writes: partition.heat(Capacity::Write),
                refusals: partition.refusals(),
                declined: partition.declined(),
                would_decline: partition.foresee(whole),
            })
            .collect();
        let skew = |series: fn(&PartitionReport) -> &Series| {
            Skew::of(&partitions.iter().map(|p| series(p).totals().attempted_milli()).collect::<Vec<_>>())
        };
        TableReport {
            read_skew: skew(|p| &p.reads),
            write_skew: skew(|p| &p.writes),
            retired: topology.history.clone(),
            events: topology.events.clone(),
            partitions,
        }
    }

    /// How many items there are, and their bytes. It visits every logical partition.
    pub fn contents(&self) -> (usize, Bytes) {
        let (mut items, mut bytes) = (0, Bytes::ZERO);
        self.directory.for_each(|_, collection| {
            items += collection.len();
            bytes += collection.bytes();
        });
        (items, bytes)
    }

    /// The keys that consumed most, by milli-units, heaviest first.
    pub fn top_keys(&self, n: usize) -> Vec<KeyReport> {
        self.top(n, |heat| heat.units_milli(), |absent| &absent.units)
    }

    /// The keys that were throttled most, by attempts, heaviest first.
    pub fn top_throttled_keys(&self, n: usize) -> Vec<KeyReport> {
        self.top(n, |heat| heat.throttles(), |absent| &absent.throttles)
    }

    fn top(
        &self,
        n: usize,
        of: impl Fn(&crate::store::KeyHeat) -> u64,
        absent: impl Fn(&crate::partition::AbsentKeys) -> &TopKeys<PartitionKey>,
    ) -> Vec<KeyReport> {
        let mut keys: BTreeMap<PartitionKey, (u64, u64)> = BTreeMap::new();
        for partition in self.map.load().partitions() {
            for top in absent(&partition.absent().lock()).top(usize::MAX) {
                let entry = keys.entry(top.key).or_default();
                entry.0 += top.weight;
                entry.1 += top.error;
            }
        }
        self.directory.for_each(|key, collection| {
            let weight = of(&collection.heat);
            if weight > 0 {
                keys.entry(PartitionKey::from_key_bytes(key.clone())).or_default().0 += weight;
            }
        });
        let mut keys: Vec<_> =
            keys.into_iter().map(|(key, (weight, error))| KeyReport { key, weight, error }).collect();
        keys.retain(|key| key.weight > 0);
        keys.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.key.cmp(&b.key)));
        keys.truncate(n);
        keys
    }
}
