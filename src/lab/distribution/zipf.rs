//! Zipf's law with true shares: rank `k` of `n` gets a load proportional to `k` to the power of `-exponent`.
//!
//! Drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", 1996): constants instead of a table, and on average little more than one try a draw. Sums of powers,
//! for the expected shares, are by the Euler–Maclaurin formula.
//!
//! Ranks start at 1 here. Which key has which rank is not known here.

use crate::rng::Rng;

/// Terms that are added one by one before the formula takes over; its error is then below 10⁻¹³ of the sum.
const TERMS_MAX: u64 = 64;

/// A law over ranks `1..=ranks`.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    exponent: f64,
    ranks: u64,
    /// Integral at 1.5, less the weight of rank 1: where the area of rank 1 begins.
    area_first: f64,
    /// Integral at `ranks` + 0.5.
    area_last: f64,
    /// Points at most this far below their rank are taken without another look.
    taken_below: f64,
}

impl Zipf {
    /// A law over at least one rank. The exponent has to be above 0 and not above 10.
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf = Self { exponent, ranks: 0, area_first: 0.0, area_last: 0.0, taken_below: 0.0 };
        zipf.area_first = zipf.integral(1.5) - 1.0;
        zipf.taken_below = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf.set_ranks(ranks);
        zipf
    }

    /// The same law over another number of ranks; at least one.
    #[inline]
    pub(super) fn set_ranks(&mut self, ranks: u64) {
        let ranks = ranks.max(1);
        if ranks != self.ranks {
            self.ranks = ranks;
            self.area_last = self.integral(ranks as f64 + 0.5);
        }
    }

    /// The next rank, `1..=ranks`.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_last + rng.unit() * (self.area_first - self.area_last);
            let point = self.integral_inverse(area);
            // Rounding may lead a little outside.
            let rank = ((point + 0.5) as u64).clamp(1, self.ranks);
            let at = rank as f64;
            if at - point <= self.taken_below || area >= self.integral(at + 0.5) - self.weight(at) {
                return rank;
            }
        }
    }

    fn weight(&self, at: f64) -> f64 {
        power(at, -self.exponent)
    }

    /// The integral of the weight from 1 to `at`.
    fn integral(&self, at: f64) -> f64 {
        integral(at, self.exponent)
    }

    /// Where the integral reaches `area`.
    #[inline]
    fn integral_inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        // `log1p` keeps every digit when the exponent is near 1: no series is needed, only 1 itself is apart.
        if rest == 0.0 { libm::exp(area) } else { libm::exp(libm::log1p((area * rest).max(-1.0)) / rest) }
    }
}

/// `base` to the power of `exponent`, for a base of at least 1.
fn power(base: f64, exponent: f64) -> f64 {
    libm::exp(exponent * libm::log(base))
}

/// The integral of `x` to the power of `-exponent` from 1 to `at`.
#[inline]
fn integral(at: f64, exponent: f64) -> f64 {
    let rest = 1.0 - exponent;
    let log = libm::log(at);
    if rest == 0.0 { log } else { libm::expm1(rest * log) / rest }
}

/// The sum of `k` to the power of `-exponent` over `k` = 1 to `ranks`.
pub(super) fn sum_of_weights(ranks: u64, exponent: f64) -> f64 {
    let listed = ranks.min(TERMS_MAX);
    // From the small terms to the large ones, so that little is rounded off.
    let head: f64 = (1..=listed).rev().map(|k| power(k as f64, -exponent)).sum();
    if listed == ranks {
        return head;
    }
    // The sum from `low` to `high`, of which `low` has been counted.
    let (low, high) = (listed as f64, ranks as f64);
    let (at_low, at_high) = (power(low, -exponent), power(high, -exponent));
    let first = |x: f64, weight: f64| exponent * weight / x;
    let third = |x: f64, weight: f64| (exponent + 1.0) * (exponent + 2.0) * first(x, weight) / (x * x);
    head + (integral(high, exponent) - integral(low, exponent))
        + (at_high - at_low) / 2.0
        + (first(low, at_low) - first(high, at_high)) / 12.0
        - (third(low, at_low) - third(high, at_high)) / 720.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    #[test]
    fn sums_agree_with_adding_up() {
        for exponent in [0.01, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.5, 3.0, 10.0] {
            for ranks in [1_u64, 2, 63, 64, 65, 1_000, 20_000] {
                let added: f64 = (1..=ranks).rev().map(|k| power(k as f64, -exponent)).sum();
                let formula = sum_of_weights(ranks, exponent);
                assert!(
                    (formula / added - 1.0).abs() < 1e-12,
                    "{ranks} at {exponent}: {formula} and {added}"
                );
            }
        }
        // What YCSB has as a constant, added up over 10^10 terms.
        assert!((sum_of_weights(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }

    /// Every rank gets what the law says, by the chi-squared statistic over the first ranks and the rest.
    #[test]
    fn ranks_follow_the_law() {
        const DRAWS: u32 = 200_000;
        for (exponent, ranks) in
            [(0.1, 50_u64), (0.5, 1_000), (0.99, 1_000), (1.0, 1_000), (2.0, 30), (10.0, 5)]
        {
            let zipf = Zipf::new(ranks, exponent);
            let mut rng = Seed(3).rng();
            let mut counts = [0_u32; 21];
            for _ in 0..DRAWS {
                let rank = zipf.draw(&mut rng);
                counts[rank.min(21) as usize - 1] += 1;
            }
            let whole = sum_of_weights(ranks, exponent);
            let mut chi_squared = 0.0;
            for (i, &count) in counts.iter().enumerate() {
                let above = sum_of_weights(ranks.min(i as u64), exponent) * f64::from(u8::from(i > 0));
                let upto = sum_of_weights(if i == 20 { ranks } else { ranks.min(i as u64 + 1) }, exponent);
                let expected = f64::from(DRAWS) * (upto - above) / whole;
                if expected > 5.0 {
                    chi_squared += (f64::from(count) - expected) * (f64::from(count) - expected) / expected;
                }
            }
            // 20 degrees of freedom: 45.3 is exceeded once in a thousand times.
            assert!(chi_squared < 45.3, "{exponent} over {ranks}: {chi_squared} of {counts:?}");
        }
    }

    #[test]
    fn extremes_stay_inside() {
        let mut rng = Seed(9).rng();
        for exponent in [1e-300, 1e-9, 0.99, 1.0, 10.0] {
            for ranks in [1, 2, 1 << 53] {
                let zipf = Zipf::new(ranks, exponent);
                for _ in 0..1_000 {
                    assert!((1..=ranks).contains(&zipf.draw(&mut rng)));
                }
            }
        }
    }
}
