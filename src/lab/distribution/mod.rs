//! Which key an operation is about: how the load falls on the keys.
//!
//! ```text
//!   Distribution ──sampler(keys, seed)──► Sampler ──next(now, newest)──► key, 0..keys
//!        └────────expected_share(keys, top)──► what the hottest keys should get
//! ```
//!
//! A hot key is what this crate looks for, so shares are those that were asked for: the hottest key of a Zipf law over
//! 1,000 keys gets 12.94 % of the load, whichever key it is. Set-up is the same small work for any number of keys (but
//! for [`Weighted`](Distribution::Weighted)), and the same seed gives the same keys on every machine: powers and
//! logarithms are those of `libm`, never the platform's.
//!
//! Keys are numbers. What is written under a key, when, and which partition has it, is not known here.

mod alias;
mod error;
mod scramble;
mod ycsb;
mod zipf;

use crate::clock::Instant;
use crate::rng::{Rng, Seed};
use alias::Alias;
pub use error::DistributionError;
use scramble::Scramble;
use ycsb::YcsbZipfian;
use zipf::{Zipf, sum_of_weights};

/// Keys at the most: 2⁵³, up to which every whole number is a number of the arithmetic in here.
pub const KEYS_MAX: u64 = 1 << 53;

/// Exponents at the most: at 10, all but a thousandth of the load is on one key.
pub const EXPONENT_MAX: f64 = 10.0;

/// How the load falls on keys `0..keys`.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Every key alike.
    Uniform,
    /// 0, 1, 2 … up to the last key, and again from 0.
    Sequential,
    /// Zipf's law with true shares: the `k`-th hottest key gets a load proportional to `k` to the power of `-exponent`.
    ///
    /// Which key is the hottest follows from the seed; no two ranks share a key.
    Zipf {
        /// Above 0 and up to [`EXPONENT_MAX`]; 0.99 is what most benchmarks take.
        exponent: f64,
    },
    /// What YCSB draws for `requestdistribution=zipfian`, for comparison with other people's runs.
    ///
    /// It hides hot keys: YCSB draws from a fixed 10¹⁰ items and takes a hash modulo the number of keys, so that the
    /// hottest key gets some 3.8 % of the load over any number of keys (drawn five million times: 3.88 % over 1,000,
    /// 3.76 % over 100,000, 3.77 % over a million), where a Zipf law of the same exponent has 12.94 %, 7.83 % and 6.50 %.
    /// On a table of 1,000 tenants a run understates the hottest partition key by 3.3 times. (YCSB issues [1305](https://github.com/brianfrankcooper/YCSB/issues/1305) and
    /// [1495](https://github.com/brianfrankcooper/YCSB/issues/1495).) To find a hot key take [`Zipf`](Self::Zipf).
    YcsbZipfian,
    /// Zipf's law over the distance from the newest key: what was written last is asked for most.
    Latest {
        /// Above 0 and up to [`EXPONENT_MAX`].
        exponent: f64,
    },
    /// Some keys, scattered by the seed, get a share of the load; within them, and within the others, all alike.
    ///
    /// The number of hot keys is rounded to the nearest, and at least one key is hot, and one cold where there are two.
    Hotspot {
        /// Above 0 and up to 1.
        keys_share: f64,
        /// At least `keys_share` and up to 1.
        load_share: f64,
    },
    /// The load falls off exponentially from key 0 on, `share_of_load` of it being on the first `share_of_keys` of the keys.
    ///
    /// The shares are true ones. YCSB, which has the same two figures, draws again what falls beyond the last key, and so
    /// puts more on the first keys than asked: 97.9 % instead of 95 % with its defaults, nothing to speak of when the
    /// first keys are few.
    Exponential {
        /// Above 0 and below 1.
        share_of_keys: f64,
        /// At least `share_of_keys` and below 1.
        share_of_load: f64,
    },
    /// Each key in proportion to its weight in this list, by position. Keys beyond the list get nothing.
    Weighted(Vec<u64>),
    /// A key made from the time: the second of `now`, divided by `seconds`. All load of an hour is on one key.
    ///
    /// After the last key comes key 0 again: with 24 keys of 3,600 seconds, the key is the hour of the day.
    TimeBucket {
        /// Length of a bucket, at least 1.
        seconds: u64,
    },
}

impl Distribution {
    /// Makes a sampler over keys `0..keys`.
    ///
    /// # Errors
    /// When there is no key or more than [`KEYS_MAX`], or a parameter is not as its description says.
    pub fn sampler(&self, keys: u64, seed: Seed) -> Result<Sampler, DistributionError> {
        self.check(keys)?;
        let seed = seed.stream("distribution");
        let scramble = || Scramble::new(keys, seed.stream("scramble"));
        let source = match *self {
            Self::Uniform => Source::Uniform { keys },
            Self::Sequential => Source::Sequential { keys, next: 0 },
            Self::Zipf { exponent } => Source::Zipf { zipf: Zipf::new(keys, exponent), scramble: scramble() },
            Self::YcsbZipfian => Source::Ycsb(YcsbZipfian::new(keys)),
            Self::Latest { exponent } => Source::Latest { zipf: Zipf::new(1, exponent), keys },
            Self::Hotspot { keys_share, load_share } => Source::Hotspot {
                hot: hot_keys(keys, keys_share),
                keys,
                load_share: if keys == 1 { 1.0 } else { load_share },
                scramble: scramble(),
            },
            Self::Exponential { share_of_keys, share_of_load } => {
                Source::Exponential { decay: Decay::new(share_of_keys, share_of_load), keys }
            }
            Self::Weighted(ref weights) => Source::Weighted(Alias::new(weights, sum(weights)?)),
            Self::TimeBucket { seconds } => Source::TimeBucket { seconds, keys },
        };
        Ok(Sampler { rng: seed.stream("draws").rng(), source })
    }

    /// The share of the load, 0..=1, that the `top` most loaded of so many keys should get.
    ///
    /// Exact but for rounding; approximated for [`YcsbZipfian`](Self::YcsbZipfian), whose load on some 65,000 items is
    /// placed and the rest taken as even. [`Latest`](Self::Latest) is told for the moment at which every key has been
    /// written. The work is bounded for any number of keys (linear in a list of weights).
    ///
    /// `None` where the answer depends on when it is asked, or the parameters are not accepted.
    pub fn expected_share(&self, keys: u64, top: u64) -> Option<f64> {
        self.check(keys).ok()?;
        let top = top.min(keys);
        let part = top as f64 / keys as f64;
        match *self {
            Self::Sequential | Self::TimeBucket { .. } => None,
            _ if top == 0 => Some(0.0),
            _ if top == keys => Some(1.0),
            Self::Uniform => Some(part),
            Self::Zipf { exponent } | Self::Latest { exponent } => {
                Some(sum_of_weights(top, exponent) / sum_of_weights(keys, exponent))
            }
            Self::YcsbZipfian => Some(YcsbZipfian::new(keys).share(top)),
            Self::Hotspot { keys_share, load_share } => {
                // There are two keys at least: one key was answered above.
                let hot = hot_keys(keys, keys_share);
                let of_hot = (hot, load_share);
                let of_cold = (keys - hot, 1.0 - load_share);
                // Rounding the number of hot keys may have made them the colder ones.
                let hotter = of_hot.1 * of_cold.0 as f64 >= of_cold.1 * of_hot.0 as f64;
                let (first, second) = if hotter { (of_hot, of_cold) } else { (of_cold, of_hot) };
                let share = |of: (u64, f64), top: u64| {
                    if of.0 == 0 { 0.0 } else { of.1 * top.min(of.0) as f64 / of.0 as f64 }
                };
                Some(share(first, top) + share(second, top.saturating_sub(first.0)))
            }
            Self::Exponential { share_of_keys, share_of_load } => {
                Some(Decay::new(share_of_keys, share_of_load).share(part))
            }
            Self::Weighted(ref weights) => {
                let mut sorted = weights.clone();
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                let top = usize::try_from(top).unwrap_or(usize::MAX);
                // A part of a sum that fits.
                let listed: u64 = sorted.iter().take(top).sum();
                Some(listed as f64 / sum(weights).ok()? as f64)
            }
        }
    }

    /// Whether this can be drawn from.
    fn check(&self, keys: u64) -> Result<(), DistributionError> {
        let share = |name, accepted, given: f64, within: bool| {
            if within { Ok(()) } else { Err(DistributionError::Share { name, accepted, given }) }
        };
        if keys == 0 || keys > KEYS_MAX {
            return Err(DistributionError::Keys(keys));
        }
        match *self {
            Self::Uniform | Self::Sequential | Self::YcsbZipfian => {}
            Self::Zipf { exponent } | Self::Latest { exponent } => {
                // Written so that what is no number is refused.
                if !(exponent > 0.0 && exponent <= EXPONENT_MAX) {
                    return Err(DistributionError::Exponent(exponent));
                }
            }
            Self::Hotspot { keys_share: keys, load_share: load } => {
                share("share of hot keys", "above 0 and up to 1", keys, keys > 0.0 && keys <= 1.0)?;
                share("load on hot keys", "0 to 1", load, (0.0..=1.0).contains(&load))?;
                if load < keys {
                    return Err(DistributionError::Contradiction { keys, load });
                }
            }
            Self::Exponential { share_of_keys: keys, share_of_load: load } => {
                share("share of the first keys", "above 0 and below 1", keys, keys > 0.0 && keys < 1.0)?;
                share("load on the first keys", "above 0 and below 1", load, load > 0.0 && load < 1.0)?;
                if load < keys {
                    return Err(DistributionError::Contradiction { keys, load });
                }
            }
            Self::Weighted(ref weights) => {
                let listed = weights.len() as u64;
                if listed == 0 {
                    return Err(DistributionError::NoWeights);
                }
                if listed > keys {
                    return Err(DistributionError::MoreWeightsThanKeys { weights: listed, keys });
                }
                if sum(weights)? == 0 {
                    return Err(DistributionError::ZeroWeights);
                }
            }
            Self::TimeBucket { seconds } => {
                if seconds == 0 {
                    return Err(DistributionError::ZeroBucket);
                }
            }
        }
        Ok(())
    }
}

/// The sum of a list of weights.
fn sum(weights: &[u64]) -> Result<u64, DistributionError> {
    let sum = weights.iter().try_fold(0_u64, |sum, &weight| sum.checked_add(weight));
    sum.ok_or(DistributionError::WeightsOverflow)
}

/// How many of so many keys are hot: see [`Distribution::Hotspot`].
fn hot_keys(keys: u64, share: f64) -> u64 {
    let nearest = (keys as f64 * share + 0.5) as u64;
    let most = if share < 1.0 { keys.saturating_sub(1) } else { keys };
    nearest.min(most).max(1)
}

/// An exponential decay over 0..1: the density at `x` is proportional to e to the power of `-steepness × x`.
#[derive(Clone, Copy, Debug)]
struct Decay {
    steepness: f64,
    /// 1 less e to the power of `-steepness`: what an endless decay would have in 0..1.
    inside: f64,
}

/// Halvings of the steepness: enough for every bit of it.
const HALVINGS: u32 = 200;

impl Decay {
    /// The decay that has `load` in the first `keys` of 0..1, which is not above `load`.
    fn new(keys: f64, load: f64) -> Self {
        if load <= keys {
            return Self::of(0.0);
        }
        // Without an end it would be this steep; with one, what was beyond comes inside, and less will do.
        let (mut low, mut high) = (0.0, -libm::log1p(-load) / keys);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if Self::of(middle).share(keys) < load {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self::of(high)
    }

    fn of(steepness: f64) -> Self {
        Self { steepness, inside: -libm::expm1(-steepness) }
    }

    /// Share of the load in the first `keys` of 0..1.
    fn share(self, keys: f64) -> f64 {
        if self.steepness > 0.0 { -libm::expm1(-self.steepness * keys) / self.inside } else { keys }
    }

    /// Where the first `load` of the load ends, 0..=1: the inverse of [`share`](Self::share).
    #[inline]
    fn at(self, load: f64) -> f64 {
        if self.steepness > 0.0 { -libm::log1p(-load * self.inside) / self.steepness } else { load }
    }
}

/// Draws keys of a [`Distribution`], one operation after another.
#[derive(Clone, Debug)]
pub struct Sampler {
    rng: Rng,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Uniform { keys: u64 },
    Sequential { keys: u64, next: u64 },
    Zipf { zipf: Zipf, scramble: Scramble },
    Ycsb(YcsbZipfian),
    Latest { zipf: Zipf, keys: u64 },
    Hotspot { hot: u64, keys: u64, load_share: f64, scramble: Scramble },
    Exponential { decay: Decay, keys: u64 },
    Weighted(Alias),
    TimeBucket { seconds: u64, keys: u64 },
}

impl Sampler {
    /// The key of the next operation, below the number of keys.
    ///
    /// `now` matters for [`Distribution::TimeBucket`] alone. `newest` is the highest key written so far and matters for
    /// [`Distribution::Latest`] alone; when nothing has been written, zero.
    #[inline]
    pub fn next(&mut self, now: Instant, newest: u64) -> u64 {
        let rng = &mut self.rng;
        match &mut self.source {
            Source::Uniform { keys } => rng.below(*keys),
            Source::Sequential { keys, next } => {
                let key = *next;
                *next = if key + 1 < *keys { key + 1 } else { 0 };
                key
            }
            Source::Zipf { zipf, scramble } => scramble.key(zipf.draw(rng) - 1),
            Source::Ycsb(ycsb) => ycsb.draw(rng),
            Source::Latest { zipf, keys } => {
                let newest = newest.min(*keys - 1);
                zipf.set_ranks(newest + 1);
                newest + 1 - zipf.draw(rng)
            }
            Source::Hotspot { hot, keys, load_share, scramble } => {
                let rank = if *hot == *keys || rng.unit() < *load_share {
                    rng.below(*hot)
                } else {
                    *hot + rng.below(*keys - *hot)
                };
                scramble.key(rank)
            }
            Source::Exponential { decay, keys } => {
                // Rounding may reach the end itself.
                ((decay.at(rng.unit()) * *keys as f64) as u64).min(*keys - 1)
            }
            Source::Weighted(alias) => alias.draw(rng),
            Source::TimeBucket { seconds, keys } => (now.second() / *seconds) % *keys,
        }
    }
}

#[cfg(test)]
mod tests;
