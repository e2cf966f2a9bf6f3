//! What a design can hold at best, twice: cold, as it is laid out now, and settled, after the service has split for heat.
//!
//! ```text
//!   cold     min(table, partition limit ÷ share of the hottest partition)      now
//!   settled  min(table, partition limit ÷ share of the hottest key that no split can divide)
//!            after ⌈log₂(settled ÷ cold)⌉ rounds: each halves what the hottest partition has
//! ```
//!
//! DynamoDB splits a partition whose traffic stays near its limit, where the traffic has its median ("Burst and adaptive
//! capacity"; AWS Database Blog, "Scaling DynamoDB", part 3). How long that takes is not documented: AWS's own charts show a
//! step after about 8 minutes (part 2) and after more than 10 (part 1), so a round takes 8 to 12 by the seed. Cosmos DB
//! splits for size and for throughput that is bought, never for heat: there settled is cold.
//!
//! This file does not know which keys can be divided.

use super::report::Ceiling;
use crate::profile::Service;
use crate::rng::{Seed, below};

/// A split for heat takes this long, in seconds: at least ...
const SPLIT_SECONDS_MIN: u64 = 8 * 60;

/// ... and at the most.
const SPLIT_SECONDS_MAX: u64 = 12 * 60;

/// A settled ceiling that is higher by less than this is none: shares are counted, not exact.
const HIGHER: f64 = 1.005;

/// Rounds at the most: by then one partition has become a million.
const ROUNDS_MAX: u32 = 20;

/// The ceiling of a design: `cold` and `settled` in writes a second.
pub(super) fn ceiling(service: Service, cold: f64, settled: f64, seed: Seed) -> Ceiling {
    let settled = match service {
        Service::DynamoDb => settled.max(cold),
        Service::Cosmos => cold,
    };
    let rounds = if cold > 0.0 && settled > cold * HIGHER {
        // At least one, and no more than the bound.
        (settled / cold).log2().ceil().clamp(1.0, f64::from(ROUNDS_MAX)) as u32
    } else {
        0
    };
    let lasts = seed.stream("split for heat");
    let seconds: u64 = (0..u64::from(rounds))
        .map(|round| SPLIT_SECONDS_MIN + below(lasts.at(round), SPLIT_SECONDS_MAX - SPLIT_SECONDS_MIN + 1))
        .sum();
    Ceiling { cold, settled, settle_minutes: (seconds as f64 / 6.0).round() / 10.0, split_rounds: rounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_halves_the_hottest_partition_and_takes_eight_to_twelve_minutes() {
        let of = |cold, settled| ceiling(Service::DynamoDb, cold, settled, Seed(1));
        for (cold, settled, rounds) in [
            (1_000.0, 1_000.0, 0),
            (1_000.0, 1_004.0, 0),
            (7_000.0, 10_000.0, 1),
            (1_000.0, 2_000.0, 1),
            (1_000.0, 2_001.0, 2),
            (1_000.0, 10_000.0, 4),
            (0.0, 10.0, 0),
            (1e-9, 1e9, 20),
        ] {
            let ceiling = of(cold, settled);
            let minutes = ceiling.settle_minutes;
            assert_eq!((ceiling.cold, ceiling.settled, ceiling.split_rounds), (cold, settled, rounds));
            let rounds = f64::from(rounds);
            assert!((8.0 * rounds..=12.0 * rounds).contains(&minutes), "{minutes} for {rounds}");
        }
        assert_eq!(of(1.0, 9.0).settle_minutes, of(1.0, 9.0).settle_minutes);
        // What is refused for being over the table now is no better later.
        assert_eq!(of(2_000.0, 1_900.0).settled, 2_000.0);
    }

    #[test]
    fn cosmos_does_not_split_for_heat() {
        let ceiling = ceiling(Service::Cosmos, 1_000.0, 8_000.0, Seed(1));
        assert_eq!((ceiling.settled, ceiling.settle_minutes, ceiling.split_rounds), (1_000.0, 0.0, 0));
    }
}
