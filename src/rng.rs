//! The one seeded source of randomness, with named child streams.
//!
//! Same seed, same bytes: on every machine, in every version of this crate. So the algorithms are named and fixed,
//! and ranges are drawn by our own sampling (libraries change theirs between releases).
//!
//! - [`Seed::at`] is a pure function of (seed, stream, index): the SplitMix64 finaliser of Steele, Lea and Flood
//!   ("Fast splittable pseudorandom number generators", 2014). The random suffix of row 17 does not depend on
//!   whether row 16 was drawn, so a replay and a shard of a run agree.
//! - [`Rng`] is a sequence: PCG-MCG 128/64 (O'Neill 2014), as implemented by `rand_pcg`.

use rand_pcg::Mcg128Xsl64;
use rand_pcg::rand_core::Rng as _;
use std::fmt;

/// A seed, from which every random choice of a run follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of a named child: independent of its siblings and of how often any of them was used.
    pub fn stream(self, name: &str) -> Self {
        // FNV-1a over the name, then mixed with the parent.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self(mix(self.0 ^ mix(hash)))
    }

    /// The seed of a numbered child.
    pub fn child(self, index: u64) -> Self {
        Self(self.at(index))
    }

    /// The random word at `index`: a pure function, no state.
    pub fn at(self, index: u64) -> u64 {
        mix(self.0.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
    }

    /// A generator that starts here.
    pub fn rng(self) -> Rng {
        let high = u128::from(self.at(0)) << 64;
        Rng(Mcg128Xsl64::new(high | u128::from(self.at(1))))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// 2⁶⁴ ÷ the golden ratio, the increment of SplitMix64.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The SplitMix64 finaliser.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps a random word onto `0..bound` by its high bits (Lemire's multiplication, without the rejection step: the bias
/// is below 2⁻⁴⁰ for every bound this crate uses). A `bound` of zero gives zero.
pub fn below(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Mcg128Xsl64);

impl Rng {
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        below(self.next_u64(), bound)
    }

    /// A number from 0 up to, not including, 1: a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Puts `items` into a random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pinned: a change here changes every report ever printed with a seed.
    #[test]
    fn bytes_are_stable() {
        assert_eq!(Seed(0).at(0), 0xe220_a839_7b1d_cdaf, "SplitMix64's first output for seed 0");
        let words: Vec<u64> = (0..3).map(|i| Seed(42).stream("rows").at(i)).collect();
        let again: Vec<u64> = (0..3).map(|i| Seed(42).stream("rows").at(i)).collect();
        assert_eq!(words, again);
        assert_ne!(Seed(42).stream("rows"), Seed(42).stream("keys"));
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut counts = [0_u32; 10];
        let mut rng = Seed(7).rng();
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_600..10_400).contains(&n)), "{counts:?}");
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..1_000).collect();
        Seed(1).rng().shuffle(&mut items);
        assert!(items.windows(2).any(|w| w[0] > w[1]));
        items.sort_unstable();
        assert_eq!(items, (0..1_000).collect::<Vec<_>>());
    }
}
