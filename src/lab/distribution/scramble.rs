//! A seeded bijection of `0..keys`: scatters ranks over the keys, so that the hottest keys are no neighbours.
//!
//! A hash modulo `keys`, as YCSB does it, lets two hot ranks fall onto one key and leaves other keys without any load.
//! Here every key has exactly one rank. It is a Feistel network over the least number of bits that holds `keys`, walked
//! again while the result is outside of `0..keys` (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002): on
//! average less than twice, and no table is built.
//!
//! It is no cipher: four rounds of one multiplication each scatter well, they hide nothing.

use crate::rng::Seed;

/// Rounds of the network. An even number, so that both halves are mixed alike.
const ROUNDS: usize = 4;

/// An odd multiplier without pattern: the second constant of the SplitMix64 finaliser.
const MULTIPLIER: u64 = 0x94d0_49bb_1331_11eb;

/// A permutation of `0..keys`.
#[derive(Clone, Debug)]
pub(super) struct Scramble {
    keys: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    round_keys: [u64; ROUNDS],
}

impl Scramble {
    /// The permutation of `0..keys` that belongs to `seed`. `keys` of zero is taken as one.
    pub(super) fn new(keys: u64, seed: Seed) -> Self {
        let keys = keys.max(1);
        let bits = u64::BITS - (keys - 1).leading_zeros();
        let low_bits = bits / 2;
        Self {
            keys,
            low_bits,
            low_mask: mask(low_bits),
            high_mask: mask(bits - low_bits),
            round_keys: std::array::from_fn(|round| seed.at(round as u64)),
        }
    }

    /// The key of `rank`, which has to be below `keys`.
    ///
    /// The walk ends: a permutation that starts inside comes back inside.
    #[inline]
    pub(super) fn key(&self, rank: u64) -> u64 {
        debug_assert!(rank < self.keys);
        let mut key = rank;
        loop {
            key = self.network(key);
            if key < self.keys {
                return key;
            }
        }
    }

    /// One pass: each round changes one half by what the other holds, which the same round would undo.
    #[inline]
    fn network(&self, value: u64) -> u64 {
        let mut low = value & self.low_mask;
        let mut high = value >> self.low_bits;
        for [of_low, of_high] in self.round_keys.as_chunks::<2>().0 {
            high ^= round(low, *of_low) & self.high_mask;
            low ^= round(high, *of_high) & self.low_mask;
        }
        (high << self.low_bits) | low
    }
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Both halves of a 128-bit product folded: every bit of the input reaches the low bits.
#[inline]
fn round(half: u64, key: u64) -> u64 {
    let product = u128::from(half ^ key) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_exactly_one_rank() {
        for keys in (1..200).chain([255, 256, 257, 1_000, 4_096, 65_537, 100_000]) {
            for seed in 0..3 {
                let scramble = Scramble::new(keys, Seed(seed));
                let mut met = vec![false; keys as usize];
                for rank in 0..keys {
                    let key = scramble.key(rank) as usize;
                    assert!(!met[key], "two ranks of {keys} are key {key}");
                    met[key] = true;
                }
            }
        }
    }

    #[test]
    fn large_ranges_stay_inside_and_apart() {
        for keys in [(1 << 53) - 1, 1 << 53, (1 << 52) + 1] {
            let scramble = Scramble::new(keys, Seed(1));
            let mut met: Vec<u64> = (0..1_000).map(|rank| scramble.key(rank)).collect();
            assert!(met.iter().all(|&key| key < keys));
            met.sort_unstable();
            met.dedup();
            assert_eq!(met.len(), 1_000);
        }
    }

    /// The first ranks of many seeds fall everywhere alike, and so do the first thousand of one seed.
    #[test]
    fn hot_ranks_are_scattered() {
        let mut by_seed = [0_u32; 10];
        let mut of_one = [0_u32; 10];
        for i in 0..10_000 {
            by_seed[(Scramble::new(1_000, Seed(i)).key(0) / 100) as usize] += 1;
            of_one[(Scramble::new(1_000_000, Seed(5)).key(i) / 100_000) as usize] += 1;
        }
        for counts in [by_seed, of_one] {
            assert!(counts.iter().all(|&n| (880..1_120).contains(&n)), "{counts:?}");
        }
    }

    /// Pinned: a change here moves the hot keys of every run.
    #[test]
    fn bytes_are_stable() {
        let scramble = Scramble::new(1_000, Seed(42));
        let keys: Vec<u64> = (0..5).map(|rank| scramble.key(rank)).collect();
        assert_eq!(keys, [162, 606, 503, 141, 479]);
    }
}
