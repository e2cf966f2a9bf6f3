//! How a simulated table begins.

use crate::physics::{AutoScaling, Switches};
use crate::profile::Profile;
use crate::rng::Seed;
use crate::units::Bytes;
use std::time::Duration;

/// A table, and what became of it before it is watched.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name.
    pub name: String,
    /// Service, throughput, partitions, layout.
    pub profile: Profile,
    /// Settings where sources conflict or the service changed.
    pub switches: Switches,
    /// DynamoDB in on-demand mode.
    pub on_demand: Option<OnDemand>,
    /// DynamoDB in provisioned mode: throughput that follows the load, of reads and of writes alike.
    pub auto_scaling: Option<AutoScaling>,
    /// Cuts the ring in these parts of a whole instead of evenly; empty: evenly.
    pub widths: Vec<f64>,
    /// Cosmos DB: how long splits take that more throughput asks for; drawn from this span.
    pub split_takes: (Duration, Duration),
    /// Bytes stored at the start, spread as widely as the ranges.
    pub stored: Bytes,
    /// From which delays and samples follow.
    pub seed: Seed,
}

impl Setup {
    /// Published: "4-6 hours" for more partitions ("Best practices for scaling provisioned throughput").
    pub const SPLIT_TAKES: (Duration, Duration) =
        (Duration::from_secs(4 * 3_600), Duration::from_secs(6 * 3_600));

    /// A new table with today's defaults.
    pub fn new(name: impl Into<String>, profile: Profile, seed: Seed) -> Self {
        Self {
            name: name.into(),
            profile,
            switches: Switches::default(),
            on_demand: None,
            auto_scaling: None,
            widths: Vec::new(),
            split_takes: Self::SPLIT_TAKES,
            stored: Bytes::ZERO,
            seed,
        }
    }
}

/// An on-demand table's past and settings. Pairs are reads and writes, in units a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDemand {
    /// The highest traffic so far; zero for a new table.
    pub previous_peak: [u64; 2],
    /// Warm throughput; the service gives a new table 12,000 reads and 4,000 writes.
    pub warm: [u64; 2],
    /// Maximum on-demand throughput, where it is set.
    pub max: [Option<u64>; 2],
    /// The account's quota for one table: 40,000 each unless raised ("Quotas").
    pub quota: [u64; 2],
}

impl Default for OnDemand {
    fn default() -> Self {
        use crate::profile::{DYNAMODB_ON_DEMAND_READ, DYNAMODB_ON_DEMAND_WRITE};
        Self {
            previous_peak: [0, 0],
            warm: [DYNAMODB_ON_DEMAND_READ, DYNAMODB_ON_DEMAND_WRITE],
            max: [None, None],
            quota: [40_000, 40_000],
        }
    }
}
