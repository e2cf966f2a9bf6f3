//! Reads under the load: the reads of an experiment in turn, in proportion to the writes.
//!
//! A read is known by what it asked of each partition when it was carried out alone. Under the load it asks for the same
//! again, all of it at its start, as a parallel fan-out would: and is throttled when any of its requests is. Nothing is
//! tried again.

use super::limits::UnitLimits;
use super::replay::Pace;
use super::{Attempts, WriteLimits};
use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::units::MILLI;
use std::time::Duration;

/// A mix is held for at least this long, so that it says something of a second.
const HOLD_SECONDS: u64 = 60;

/// Parts of a mix at the most, so that reads a second stay countable.
pub const MIX_PARTS_MAX: u32 = 1_000_000;

/// So many reads for so many writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    writes: u32,
    reads: u32,
}

impl Mix {
    /// `reads` for every `writes`.
    ///
    /// # Errors
    /// When either is zero or above [`MIX_PARTS_MAX`].
    pub fn new(writes: u32, reads: u32) -> Result<Self> {
        for (name, parts) in [("write", writes), ("read", reads)] {
            if parts == 0 || parts > MIX_PARTS_MAX {
                return Err(Error::invalid(format!("{name}: 1 to {MIX_PARTS_MAX}, not {parts}")));
            }
        }
        Ok(Self { writes, reads })
    }

    /// Reads a second beside so many writes a second.
    pub fn reads_per_s(self, writes_per_s: f64) -> f64 {
        writes_per_s * f64::from(self.reads) / f64::from(self.writes)
    }
}

/// What one request of a read asks of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadRequest {
    pub(super) partition: u32,
    pub(super) milli: u64,
}

/// What came of a mix.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MixOutcome {
    pub(super) writes: u64,
    pub(super) writes_throttled: u64,
    pub(super) reads: u64,
    pub(super) reads_throttled: u64,
    pub(super) requests: u64,
    pub(super) requests_throttled: u64,
    /// Read units asked of each partition.
    pub(super) read_milli: Vec<u64>,
    pub(super) duration: Duration,
}

impl MixOutcome {
    pub(super) fn share(part: u64, whole: u64) -> f64 {
        part as f64 / whole.max(1) as f64
    }

    /// Read units asked for each second.
    pub(super) fn read_units_per_s(&self) -> f64 {
        let milli: u64 = self.read_milli.iter().sum();
        milli as f64 / MILLI as f64 / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Writes `rate` a second, over and over, for a minute or once through, and `reads` in turn beside them. Nothing is saved
/// up at the start. `own` are the limits of reads where they have their own.
pub(super) fn replay_mixed(
    limits: &WriteLimits,
    own: Option<&UnitLimits>,
    attempts: Attempts<'_>,
    rate: u64,
    mix: Mix,
    reads: &[Vec<ReadRequest>],
) -> MixOutcome {
    let limits = limits.drained();
    let mut outcome = MixOutcome { read_milli: vec![0; limits.partitions()], ..MixOutcome::default() };
    let mut write_states = limits.begin();
    let mut read_states = own.map(UnitLimits::begin);
    let mut pace = Pace::new(rate);
    let writes = (attempts.rows.len() as u64).max(rate.saturating_mul(HOLD_SECONDS));
    let mut owed = 0_u64;
    let mut turn = 0;
    for &key in attempts.rows.iter().cycle().take(writes as usize) {
        let now = pace.next_start();
        let partition = usize::from(attempts.partition_of[key as usize]);
        outcome.writes += 1;
        outcome.writes_throttled += u64::from(!limits.offer(&mut write_states, partition, now));
        // So many reads for so many writes, spread evenly.
        owed += u64::from(mix.reads);
        while owed >= u64::from(mix.writes) && !reads.is_empty() {
            owed -= u64::from(mix.writes);
            let mut passed = true;
            for request in &reads[turn % reads.len()] {
                let partition = request.partition as usize;
                outcome.requests += 1;
                outcome.read_milli[partition] += request.milli;
                let admitted = match (own, &mut read_states) {
                    (Some(own), Some(states)) => own.offer(states, partition, now, request.milli),
                    _ => limits.units().offer(&mut write_states, partition, now, request.milli),
                };
                outcome.requests_throttled += u64::from(!admitted);
                passed &= admitted;
            }
            turn += 1;
            outcome.reads += 1;
            outcome.reads_throttled += u64::from(!passed);
        }
    }
    outcome.duration = pace.next_start().since(Instant::START);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::units::Bytes;

    fn request(partition: u32, units: u64) -> ReadRequest {
        ReadRequest { partition, milli: units * MILLI }
    }

    /// DynamoDB counts reads apart from writes: a read that is too much throttles reads and no write.
    #[test]
    fn dynamodb_reads_have_limits_of_their_own() {
        let profile = Profile::dynamodb_provisioned(12_000, 10_000).unwrap().with_partitions(4).unwrap();
        let limits = WriteLimits::new(&profile, Bytes::from_kb(1));
        let own = UnitLimits::of_reads(&profile).unwrap();
        let rows: Vec<u32> = (0..4_000).map(|i| i % 4).collect();
        let attempts = Attempts { rows: &rows, partition_of: &[0, 1, 2, 3], indexes: &[] };
        // 1,000 writes/s and 500 reads/s of 12 units on one partition: 6,000 units/s where 3,000 pass.
        let mix = Mix::new(2, 1).unwrap();
        let outcome = replay_mixed(&limits, Some(&own), attempts, 1_000, mix, &[vec![request(2, 12)]]);
        assert_eq!((outcome.writes, outcome.reads), (60_000, 30_000));
        // The very first finds a bucket without anything in it.
        assert!(outcome.writes_throttled <= 1, "{outcome:?}");
        let share = MixOutcome::share(outcome.reads_throttled, outcome.reads);
        assert!((share - 0.5).abs() < 0.01, "{share}");
        assert!((outcome.read_units_per_s() - 6_000.0).abs() < 1.0);
    }

    /// Cosmos DB has one budget for both: reads take from what writes have.
    #[test]
    fn cosmos_reads_take_from_the_same_budget() {
        let profile = Profile::cosmos_manual(10_000).unwrap().with_partitions(2).unwrap();
        let limits = WriteLimits::new(&profile, Bytes::from_kb(1));
        assert!(UnitLimits::of_reads(&profile).is_none());
        let rows: Vec<u32> = (0..1_000).map(|i| i % 2).collect();
        let attempts = Attempts { rows: &rows, partition_of: &[0, 1], indexes: &[] };
        let alone = limits.table_writes();
        let rate = (alone * 0.9) as u64;
        let mix = Mix::new(1, 1).unwrap();
        let outcome =
            replay_mixed(&limits, None, attempts, rate, mix, &[vec![request(0, 3)], vec![request(1, 3)]]);
        assert!(outcome.writes_throttled > outcome.writes / 10, "{outcome:?}");
        assert!(outcome.reads_throttled > 0, "{outcome:?}");
    }

    #[test]
    fn a_mix_of_nothing_is_none() {
        assert!(Mix::new(0, 1).unwrap_err().to_string().contains("write: 1 to"));
        assert!(Mix::new(1, MIX_PARTS_MAX + 1).is_err());
    }
}
