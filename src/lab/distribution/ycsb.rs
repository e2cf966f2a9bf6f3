//! What YCSB draws for `requestdistribution=zipfian`: its scrambled generator, for comparison with other people's runs.
//!
//! A rank is drawn from a fixed 10¹⁰ items at exponent 0.99 by the closed form of Gray et al. ("Quickly generating
//! billion-record synthetic databases", 1994), hashed by FNV-1a, and taken modulo the number of keys. Sources:
//! `ScrambledZipfianGenerator`, `ZipfianGenerator` and `Utils.fnvhash64` of
//! <https://github.com/brianfrankcooper/YCSB>. The shares are YCSB's; its sequence is not, as it draws from Java's
//! generator.

use crate::rng::Rng;

/// `ScrambledZipfianGenerator.ITEM_COUNT`, and one more: YCSB's range includes its upper end.
const ITEMS: f64 = 10_000_000_001.0;

/// `ScrambledZipfianGenerator.USED_ZIPFIAN_CONSTANT`.
const EXPONENT: f64 = 0.99;

/// `ScrambledZipfianGenerator.ZETAN`: the sum of `k` to the power of -0.99 over 10¹⁰ terms.
const SUM_OF_WEIGHTS: f64 = 26.469_028_201_783_02;

/// Ranks that are placed one by one for the expected shares; the load of the others is taken as even.
const PLACED_RANKS: u64 = 1 << 16;

/// YCSB's scrambled zipfian over so many keys.
#[derive(Clone, Debug)]
pub(super) struct YcsbZipfian {
    keys: u64,
    /// Share of the load up to the second rank.
    two: f64,
    eta: f64,
    alpha: f64,
}

impl YcsbZipfian {
    /// Over at least one key.
    pub(super) fn new(keys: u64) -> Self {
        let two = (1.0 + libm::pow(0.5, EXPONENT)) / SUM_OF_WEIGHTS;
        Self {
            keys: keys.max(1),
            two,
            eta: (1.0 - libm::pow(2.0 / ITEMS, 1.0 - EXPONENT)) / (1.0 - two),
            alpha: 1.0 / (1.0 - EXPONENT),
        }
    }

    /// The next key.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        fnv(self.item(rng.unit())) % self.keys
    }

    /// The item at `share` of the load, 0..1; the first item is 0.
    #[inline]
    fn item(&self, share: f64) -> u64 {
        if share * SUM_OF_WEIGHTS < 1.0 {
            0
        } else if share < self.two {
            1
        } else {
            // The power of YCSB, in two steps that cost half as much.
            (ITEMS * libm::exp(self.alpha * libm::log1p(self.eta * (share - 1.0)))) as u64
        }
    }

    /// Share of the load of the items below `item`: the inverse of [`item`](Self::item).
    fn share_below(&self, item: u64) -> f64 {
        match item {
            0 => 0.0,
            1 => 1.0 / SUM_OF_WEIGHTS,
            2 => self.two,
            _ => 1.0 - (1.0 - libm::pow(item as f64 / ITEMS, 1.0 - EXPONENT)) / self.eta,
        }
    }

    /// Share of the load of the `top` most loaded keys.
    ///
    /// The first 65,536 items are placed as the generator places them; the others, which are 10¹⁰ small ones, are taken
    /// as spread evenly. Below some thousand keys that is exact to 10⁻⁴; for the cold half of a million keys it is a guess.
    pub(super) fn share(&self, top: u64) -> f64 {
        let mut placed: Vec<(u64, f64)> = (0..PLACED_RANKS)
            .map(|item| (fnv(item) % self.keys, self.share_below(item + 1) - self.share_below(item)))
            .collect();
        placed.sort_by_key(|&(key, _)| key);
        placed.dedup_by(|item, key| {
            let same = item.0 == key.0;
            if same {
                key.1 += item.1;
            }
            same
        });
        placed.sort_by(|a, b| b.1.total_cmp(&a.1));
        let even = (1.0 - self.share_below(PLACED_RANKS)) / self.keys as f64;
        let top = top.min(self.keys);
        let listed: f64 =
            placed.iter().take(usize::try_from(top).unwrap_or(usize::MAX)).map(|key| key.1).sum();
        (listed + even * top as f64).min(1.0)
    }
}

/// `Utils.fnvhash64`: FNV-1a over eight bytes, the lowest first, without its sign.
///
/// Java's `Math.abs` leaves the one smallest value negative; here it is positive.
fn fnv(value: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in value.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YCSB numbers its records by the same hash: `user6284781860667377211` is the well-known first one.
    #[test]
    fn hashes_are_those_of_ycsb() {
        assert_eq!(fnv(0), 6_284_781_860_667_377_211);
        assert_eq!(fnv(1), 8_517_097_267_634_966_620);
    }

    #[test]
    fn shares_and_items_are_inverse() {
        let ycsb = YcsbZipfian::new(1_000);
        for item in [0, 1, 2, 3, 10, 1_000, 1_000_000] {
            let (low, high) = (ycsb.share_below(item), ycsb.share_below(item + 1));
            assert_eq!(ycsb.item((low + high) / 2.0), item, "{low} to {high}");
        }
        assert!((ycsb.share_below(10_000_000_001) - 1.0).abs() < 1e-12);
    }
}
