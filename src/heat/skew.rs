//! Skew: how unevenly a load lies on the partitions (or shards, or keys), in four numbers that answer four questions.
//!
//! | figure | question |
//! |---|---|
//! | max/mean | how much of the table's throughput is usable? total ÷ (max/mean), before the first throttle |
//! | hottest share | how much of the load hangs on one partition? |
//! | effective partitions, 1/Σp² | over how many partitions does the load really spread? |
//! | Gini | how unequal are they in all, from 0 (equal) towards 1 (one has it all)? |
//!
//! Loads should be *attempted* units: consumed units are clipped at the ceiling and look even just when it matters.
//!
//! Without any load there is nothing to divide, and every figure is 0 (with load, max/mean and effective partitions
//! are at least 1, so the two cannot be confused). Sums are taken over the sorted loads, so that the bytes of a figure
//! do not depend on the order of the partitions.

use serde::Serialize;

/// The skew of a list of loads. All figures are finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Skew {
    /// How many loads there were, those of zero included.
    pub partitions: usize,
    /// The largest load over the mean: 1 when even, `partitions` when one has it all.
    pub max_over_mean: f64,
    /// The Gini coefficient: 0 when even, 1 − 1/`partitions` when one has it all.
    pub gini: f64,
    /// One over the sum of the squared shares (the inverse Simpson index).
    pub effective_partitions: f64,
    /// The largest load over the sum.
    pub hottest_share: f64,
    /// Which load is the largest, the first of several; `None` without load.
    pub hottest_index: Option<usize>,
}

impl Skew {
    /// The skew of `loads`, one for each partition, idle ones included.
    pub fn of(loads: &[u64]) -> Self {
        let partitions = loads.len();
        let mut sorted = loads.to_vec();
        sorted.sort_unstable();
        let max = match sorted.last() {
            Some(&max) if max > 0 => max,
            _ => return Self { partitions, ..Self::default() },
        };
        let (n, total) = (partitions as f64, sorted.iter().map(|&x| u128::from(x)).sum::<u128>() as f64);

        // Gini = Σ(2i − n − 1)·xᵢ ÷ (n·Σx) with i from 1 over ascending loads; the sum in integers, hence exact.
        // It stays below n²·2⁶⁴, which fits for up to 2³¹ loads.
        let rank = |i: usize| 2 * i as i128 + 1 - partitions as i128;
        let spread = sorted.iter().enumerate().map(|(i, &x)| rank(i) * i128::from(x)).sum::<i128>();
        let squared_shares = sorted.iter().map(|&x| x as f64 / total).map(|p| p * p).sum::<f64>();
        let hottest_share = max as f64 / total;
        Self {
            partitions,
            max_over_mean: hottest_share * n,
            gini: spread as f64 / (n * total),
            effective_partitions: 1.0 / squared_shares,
            hottest_share,
            hottest_index: loads.iter().position(|&x| x == max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    fn figures(skew: Skew) -> [f64; 4] {
        [skew.max_over_mean, skew.gini, skew.effective_partitions, skew.hottest_share]
    }

    #[test]
    fn known_values() {
        for (loads, expected, hottest) in [
            (&[5, 5, 5, 5][..], [1.0, 0.0, 4.0, 0.25], 0),
            (&[0, 0, 8, 0][..], [4.0, 0.75, 1.0, 1.0], 2),
            (&[1, 2, 3, 4][..], [1.6, 0.25, 10.0 / 3.0, 0.4], 3),
            (&[0, 9, 9][..], [1.5, 1.0 / 3.0, 2.0, 0.5], 1),
            (&[7][..], [1.0, 0.0, 1.0, 1.0], 0),
        ] {
            let skew = Skew::of(loads);
            assert_eq!((skew.partitions, skew.hottest_index), (loads.len(), Some(hottest)));
            let as_expected = figures(skew).iter().zip(expected).all(|(&a, b)| close(a, b));
            assert!(as_expected, "{loads:?}: {skew:?}");
        }
    }

    #[test]
    fn no_load_is_all_zero() {
        assert_eq!(Skew::of(&[]), Skew::default());
        assert_eq!(Skew::of(&[0, 0, 0]), Skew { partitions: 3, ..Skew::default() });
        assert_eq!(
            serde_json::to_string(&Skew::of(&[0])).unwrap(),
            r#"{"partitions":1,"max_over_mean":0.0,"gini":0.0,"effective_partitions":0.0,"#.to_owned()
                + r#""hottest_share":0.0,"hottest_index":null}"#
        );
    }

    #[test]
    fn extremes_stay_finite() {
        assert!(close(Skew::of(&[u64::MAX; 1_000]).effective_partitions, 1_000.0));
        assert!(figures(Skew::of(&[u64::MAX, 1, 0])).iter().all(|figure| figure.is_finite()));
    }

    /// The calculated suffix of the developer guide ("Using write sharding to distribute workloads evenly": the
    /// product of the code points, modulo the number of suffixes) over 200,000 random ids of ten digits: share of
    /// suffix 1 about 0.748 and Gini about 0.97 with 200 suffixes; max/mean at most 1.15 with 199, a prime.
    #[test]
    fn the_documented_suffix_formula_is_skewed_and_a_prime_repairs_it() {
        let suffixes = |modulus: usize| {
            let (mut rng, mut loads) = (Seed(1).rng(), vec![0; modulus]);
            for _ in 0..200_000 {
                let digits = (0..10).map(|_| usize::from(b'0') + rng.below(10) as usize);
                loads[digits.fold(1, |product, code_point| product * code_point % modulus)] += 1;
            }
            Skew::of(&loads)
        };
        let documented = suffixes(200);
        assert_eq!(documented.hottest_index, Some(0));
        assert!((documented.hottest_share - 0.748).abs() < 0.01, "{documented:?}");
        assert!((documented.gini - 0.97).abs() < 0.01, "{documented:?}");
        assert!(suffixes(199).max_over_mean <= 1.15);
    }

    proptest! {
        #[test]
        fn figures_stay_in_their_bounds(loads in vec(any::<u64>(), 1..60)) {
            prop_assume!(loads.iter().any(|&x| x > 0));
            let (skew, n, slack) = (Skew::of(&loads), loads.len() as f64, 1e-9);
            prop_assert!((1.0 - slack..=n + slack).contains(&skew.max_over_mean));
            prop_assert!((-slack..=1.0 - 1.0 / n + slack).contains(&skew.gini));
            prop_assert!((1.0 - slack..=n + slack).contains(&skew.effective_partitions));
            prop_assert!((1.0 / n - slack..=1.0).contains(&skew.hottest_share));
            // The hottest alone bounds the spread: Σp² is between its share squared and its share.
            prop_assert!(skew.effective_partitions * skew.hottest_share >= 1.0 - slack);
            prop_assert_eq!(loads[skew.hottest_index.unwrap()], *loads.iter().max().unwrap());
        }

        #[test]
        fn scale_does_not_matter(loads in vec(0..1_000_000_u64, 0..60), factor in 1..1_000_000_u64) {
            let scaled: Vec<_> = loads.iter().map(|x| x * factor).collect();
            for (a, b) in figures(Skew::of(&loads)).into_iter().zip(figures(Skew::of(&scaled))) {
                prop_assert!(close(a, b));
            }
        }

        #[test]
        fn order_does_not_matter_to_the_last_bit(loads in vec(any::<u64>(), 0..60), seed in any::<u64>()) {
            let mut shuffled = loads.clone();
            Seed(seed).rng().shuffle(&mut shuffled);
            prop_assert_eq!(
                figures(Skew::of(&loads)).map(f64::to_bits), figures(Skew::of(&shuffled)).map(f64::to_bits)
            );
        }

        #[test]
        fn gini_is_the_mean_difference_over_twice_the_mean(loads in vec(0..10_000_u64, 1..30)) {
            let differences: u64 = loads.iter().flat_map(|a| loads.iter().map(|b| a.abs_diff(*b))).sum();
            let total: u64 = loads.iter().sum();
            prop_assume!(total > 0);
            let expected = differences as f64 / (2 * total * loads.len() as u64) as f64;
            prop_assert!(close(Skew::of(&loads).gini, expected));
        }
    }
}
