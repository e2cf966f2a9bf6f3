//! From a partition key to its token: exact for Cosmos DB, a stand-in for DynamoDB.
//!
//! DynamoDB does not publish its hash. Any uniform hash gives the same statistics, so a layout is drawn with a seed
//! and a verdict about a DynamoDB design should rest on many layouts. Cosmos DB's hash is in its public SDKs: a key
//! lands in the same range here as in Azure.

use super::PartitionKey;
use super::epk::{EffectivePartitionKey, EpkVersion, V1_SPACE, V2_SPACE, murmur3_x64_128, v1_bound};
use crate::ring::Token;

/// How keys are hashed onto the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// DynamoDB's stand-in: MurmurHash3 x64-128 over the key's typed bytes, seeded with the layout (*assumed*: the
    /// service's hash is unpublished).
    Seeded {
        /// Another seed is another layout of the same keys.
        layout: u32,
    },
    /// Cosmos DB's effective partition key.
    Cosmos {
        /// The container's hash version.
        version: EpkVersion,
    },
}

impl Placement {
    /// The token of `key`.
    pub fn token(self, key: &PartitionKey) -> Token {
        match self {
            Self::Seeded { layout } => Token::from_u128(murmur3_x64_128(key.as_bytes(), layout)),
            Self::Cosmos { version } => Token::from_bytes(EffectivePartitionKey::of(key, version).as_bytes()),
        }
    }

    /// The inner bounds of `partitions` even slices of the space this placement fills: one bound fewer than slices.
    ///
    /// Cosmos DB's own rule for a new container; for DynamoDB an even division of the 128-bit space (*assumed*).
    pub fn even_bounds(self, partitions: u32) -> Vec<Token> {
        match self {
            Self::Seeded { .. } => (1..partitions).map(|i| self.even_bound(partitions, i)).collect(),
            Self::Cosmos { version } => super::epk::even_bounds(partitions, version)
                .iter()
                .map(|bound| Token::from_bytes(bound.as_bytes()))
                .collect(),
        }
    }

    /// Where slice `i` of so many even slices begins, counted from zero; the start of the ring for the first one.
    pub fn even_bound(self, partitions: u32, i: u32) -> Token {
        match self {
            Self::Seeded { .. } => {
                // ⌊2¹²⁸ ÷ n⌋, which for a power of two is one more than ⌊(2¹²⁸ − 1) ÷ n⌋.
                let step = (u128::MAX / u128::from(partitions.max(1)))
                    .wrapping_add(u128::from(partitions.is_power_of_two()));
                Token::from_u128(step.wrapping_mul(u128::from(i)))
            }
            Self::Cosmos { .. } => {
                let bounds = self.even_bounds(partitions);
                let at = i.checked_sub(1).and_then(|i| bounds.get(i as usize));
                at.cloned().unwrap_or(Token::START)
            }
        }
    }

    /// The token that halves the slice from `from` to `to` (`None`: the end of the ring), or nothing when the slice
    /// is too thin. Half means half of the hashes, as both services divide a range that says nothing of its keys.
    pub fn middle(self, from: &Token, to: Option<&Token>) -> Option<Token> {
        let middle = match self {
            Self::Cosmos { version: EpkVersion::V1 } => {
                // The spelling of a V1 hash is not linear in the hash: look the hashes up by bisection.
                let hash_at = |token: &Token| {
                    let (mut low, mut high) = (0, V1_SPACE);
                    while low < high {
                        let middle = low.midpoint(high);
                        match Token::from_bytes(v1_bound(middle).as_bytes()) < *token {
                            true => low = middle + 1,
                            false => high = middle,
                        }
                    }
                    low
                };
                let (low, high) = (hash_at(from), to.map_or(V1_SPACE, hash_at));
                Token::from_bytes(v1_bound(low.midpoint(high)).as_bytes())
            }
            Self::Seeded { .. } | Self::Cosmos { version: EpkVersion::V2 } => {
                let end = match self {
                    Self::Seeded { .. } => u128::MAX,
                    Self::Cosmos { .. } => V2_SPACE,
                };
                Token::from_u128(from.leading_u128().midpoint(to.map_or(end, Token::leading_u128)))
            }
        };
        (middle > *from && to.is_none_or(|to| middle < *to)).then_some(middle)
    }

    /// The share of all hashes that lies from `from` to `to`, for ranking and drawing.
    pub fn width(self, from: &Token, to: Option<&Token>) -> f64 {
        let end = match self {
            Self::Seeded { .. } => u128::MAX,
            Self::Cosmos { version: EpkVersion::V2 } => V2_SPACE,
            Self::Cosmos { version: EpkVersion::V1 } => {
                Token::from_bytes(v1_bound(V1_SPACE).as_bytes()).leading_u128()
            }
        };
        let to = to.map_or(end, |to| to.leading_u128().min(end));
        to.saturating_sub(from.leading_u128()) as f64 / end as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_bounds_divide_the_space_evenly() {
        let placement = Placement::Seeded { layout: 0 };
        assert!(placement.even_bounds(1).is_empty());
        assert_eq!(placement.even_bounds(2), [Token::from_u128(1 << 127)]);
        assert_eq!(placement.even_bounds(10).len(), 9);
        let cosmos = Placement::Cosmos { version: EpkVersion::V2 };
        assert_eq!(cosmos.even_bounds(2)[0].to_string(), "20000000000000000000000000000000");
        for (placement, n) in [(placement, 7), (placement, 8), (cosmos, 5)] {
            let one_by_one: Vec<Token> = (1..n).map(|i| placement.even_bound(n, i)).collect();
            assert_eq!(one_by_one, placement.even_bounds(n));
        }
    }

    #[test]
    fn the_middle_halves_the_hashes_of_every_placement() {
        for version in [EpkVersion::V1, EpkVersion::V2] {
            let placement = Placement::Cosmos { version };
            let quarters = placement.even_bounds(4);
            assert_eq!(placement.middle(&Token::START, None), Some(quarters[1].clone()));
            assert_eq!(placement.middle(&quarters[1], None), Some(quarters[2].clone()));
            assert_eq!(placement.middle(&Token::START, Some(&quarters[1])), Some(quarters[0].clone()));
        }
        let placement = Placement::Seeded { layout: 0 };
        let thin = (Token::from_u128(5), Token::from_u128(6));
        assert_eq!(placement.middle(&thin.0, Some(&thin.1)), None);
    }

    #[test]
    fn another_layout_is_another_placement() {
        let key = PartitionKey::text("tenant-1");
        let [a, b] = [1, 2].map(|layout| Placement::Seeded { layout }.token(&key));
        assert_ne!(a, b);
    }
}
