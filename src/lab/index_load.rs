//! A global secondary index under the load: its keys, where they lie, how hot they are, and what it lets through.
//!
//! Every write of a row that has a key in the index also writes one entry of it. An index is a table of its own: it has
//! partitions, a ring and throughput ("Using global secondary indexes", "Provisioned throughput considerations"), and where
//! it has no room the write is refused, however cool the table is. A row without a value for the index key makes no entry
//! ("Take advantage of sparse indexes").
//!
//! What is left out: an item that overwrites another costs an entry as if it were new, where the service would charge none
//! or two (*assumed*: rows are new items). The entries of one index key are taken to come in the order of the rows, so that
//! no split divides them.
//!
//! This file does not know how a write is refused: that is `gate`.

use super::gate::{IndexAttempts, NO_ENTRY};
use super::replay::IndexRefusals;
use super::report::{IndexFigures, Throttles};
use super::{KeyedRows, WriteLimits};
use crate::error::{Error, Result};
use crate::heat::Skew;
use crate::key::{Placement, Template};
use crate::profile::{Profile, Service};
use crate::ring::PartitionMap;
use crate::rng::Seed;
use crate::units::{Bytes, MILLI};

/// Indexes of one table at the most: the default quota ("Quotas in Amazon DynamoDB", "Secondary indexes per table").
pub const INDEXES_MAX: usize = 20;

/// A global secondary index.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// How its key is made from a row.
    pub template: Template,
    /// Its partitions and its throughput.
    pub profile: Profile,
    /// Size of an entry, keys included.
    pub entry: Bytes,
    /// Its keys, to which a design's rows refer by number: [`note_entries`](super::KeyedRowsBuilder::note_entries).
    pub keys: KeyedRows,
}

/// An index with its limits.
#[derive(Clone, Debug)]
pub(super) struct IndexLoad {
    pub(super) index: Index,
    pub(super) limits: WriteLimits,
    /// Sets its layouts apart from the table's and those of other indexes.
    layouts: Seed,
}

/// How the writes of one mix fall on an index.
pub(super) struct IndexMix {
    /// Writes to each partition ÷ all writes, those without an entry included.
    shares: Vec<f64>,
    /// Writes with an entry, ...
    entries: u64,
    /// ... and all.
    writes: u64,
}

impl IndexLoad {
    pub(super) fn new(index: Index, number: usize, seed: Seed) -> Result<Self> {
        let within = |error: Error| error.within(format!("index {}", index.name));
        if index.profile.service() != Service::DynamoDb {
            return Err(within(Error::invalid(
                "Cosmos DB has no secondary indexes with throughput of their own",
            )));
        }
        index.profile.check_item(index.entry).map_err(within)?;
        if index.entry == Bytes::ZERO {
            return Err(within(Error::invalid("an entry has at least one byte, its key")));
        }
        let limits = WriteLimits::new(&index.profile, index.entry);
        Ok(Self { limits, layouts: seed.stream("index layout").child(number as u64), index })
    }

    /// With all burst credit at the start.
    pub(super) fn saved_up(self) -> Self {
        Self { limits: self.limits.saved_up(), ..self }
    }

    /// The partition of each key under a layout.
    pub(super) fn place(&self, layout: usize) -> Vec<u16> {
        let placement = Placement::Seeded { layout: self.layouts.at(layout as u64) as u32 };
        let bounds = placement.even_bounds(self.index.profile.partitions());
        let map = match PartitionMap::new(bounds, |_, _| ()) {
            Ok(map) => map,
            Err(_) => unreachable!("even bounds increase"),
        };
        self.index.keys.keys().iter().map(|key| map.index_of_token(&placement.token(key)) as u16).collect()
    }

    /// The entries of these writes, ready to be offered.
    pub(super) fn attempts<'a>(&'a self, rows: &'a [u32], partition_of: &'a [u16]) -> IndexAttempts<'a> {
        IndexAttempts { limits: &self.limits, rows, partition_of }
    }

    pub(super) fn mix(&self, rows: &[u32], partition_of: &[u16]) -> IndexMix {
        let mut of_partition = vec![0_u64; self.limits.partitions()];
        for &key in rows.iter().filter(|&&key| key != NO_ENTRY) {
            of_partition[usize::from(partition_of[key as usize])] += 1;
        }
        let entries = of_partition.iter().sum();
        let writes = rows.len() as u64;
        let shares = of_partition.iter().map(|&count| count as f64 / writes.max(1) as f64).collect();
        IndexMix { shares, entries, writes }
    }

    /// Writes a second, all of them, that this index lets through in the long run when `rate` are offered.
    pub(super) fn steady_writes(&self, mix: &IndexMix, rate: f64) -> f64 {
        let without = 1.0 - mix.entries as f64 / mix.writes.max(1) as f64;
        self.limits.steady_writes(&mix.shares, rate) + without * rate
    }

    /// The highest rate of all writes that this index lets through in the long run.
    pub(super) fn steady_max(&self, mix: &IndexMix) -> f64 {
        let hottest = mix.shares.iter().copied().fold(0.0, f64::max);
        let of_partition = over(self.limits.partition_writes(), hottest);
        of_partition.min(over(self.limits.table_writes(), mix.entries as f64 / mix.writes.max(1) as f64))
    }

    /// The same after every split that can help: a key is never divided.
    fn ceiling(&self, mix: &IndexMix, hottest: u64) -> f64 {
        let hottest = hottest as f64 / mix.writes.max(1) as f64;
        let of_key = over(self.limits.partition_writes(), hottest);
        of_key.min(over(self.limits.table_writes(), mix.entries as f64 / mix.writes.max(1) as f64))
    }

    pub(super) fn figures(
        &self,
        rows: &[u32],
        partition_of: &[u16],
        refusals: IndexRefusals,
    ) -> IndexFigures {
        let mix = &self.mix(rows, partition_of);
        let mut counts = vec![0_u64; self.index.keys.keys().len()];
        rows.iter().filter(|&&key| key != NO_ENTRY).for_each(|&key| counts[key as usize] += 1);
        let share = |part: u64| part as f64 / mix.entries.max(1) as f64;
        let milli: Vec<u64> =
            mix.shares.iter().map(|share| (share * mix.writes as f64).round() as u64 * MILLI).collect();
        let skew = Skew::of(&milli);
        let hottest = (0..counts.len()).max_by_key(|&key| (counts[key], std::cmp::Reverse(key)));
        let hottest = hottest.unwrap_or(0);
        IndexFigures {
            name: self.index.name.clone(),
            key: self.index.template.to_string(),
            partition_count: self.index.profile.partitions(),
            partition_limit_per_s: self.limits.partition_rate().units(),
            throughput_per_s: self.index.profile.throughput().write_rate().units(),
            units_per_entry: self.limits.charge_milli() as f64 / MILLI as f64,
            entry_bytes: self.index.entry.0,
            entries_share: mix.entries as f64 / mix.writes.max(1) as f64,
            distinct_keys: counts.iter().filter(|&&count| count > 0).count() as u64,
            hottest_partition: skew.hottest_index.unwrap_or(0) as u32,
            hottest_partition_share: skew.hottest_share,
            hottest_key: self.index.keys.keys().get(hottest).map(ToString::to_string).unwrap_or_default(),
            hottest_key_share: counts.get(hottest).map_or(0.0, |&count| share(count)),
            hottest_key_partition: partition_of.get(hottest).map_or(0, |&partition| u32::from(partition)),
            holds_per_s: finite(self.steady_max(mix)),
            ceiling_per_s: finite(self.ceiling(mix, counts.get(hottest).copied().unwrap_or(0))),
            throttles: vec![
                Throttles { reason: KEY_RANGE.into(), attempts: refusals.key_range },
                Throttles { reason: THROUGHPUT.into(), attempts: refusals.throughput },
            ],
        }
    }
}

/// The services' names of the two reasons (API reference, `ThrottlingReason`).
pub(super) const KEY_RANGE: &str = "IndexWriteKeyRangeThroughputExceeded";
pub(super) const THROUGHPUT: &str = "IndexWriteProvisionedThroughputExceeded";

fn over(limit: f64, share: f64) -> f64 {
    if share > 0.0 { limit / share } else { f64::INFINITY }
}

/// JSON has no infinity: an index without entries in this mix limits nothing.
fn finite(rate: f64) -> Option<f64> {
    rate.is_finite().then_some(rate)
}
