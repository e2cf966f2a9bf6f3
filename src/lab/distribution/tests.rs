//! Shares as drawn against shares as told, refusals, and bytes that must not change.

use super::*;
use proptest::prelude::*;

const DRAWS: u64 = 300_000;

/// Loads of the keys after so many draws, the highest first.
fn loads(distribution: &Distribution, keys: u64, seed: u64) -> Vec<u64> {
    let mut sampler = distribution.sampler(keys, Seed(seed)).unwrap();
    let mut loads = vec![0; keys as usize];
    for _ in 0..DRAWS {
        loads[sampler.next(Instant::START, keys - 1) as usize] += 1;
    }
    loads.sort_unstable_by(|a, b| b.cmp(a));
    loads
}

fn share(loads: &[u64], top: u64) -> f64 {
    loads[..top as usize].iter().sum::<u64>() as f64 / DRAWS as f64
}

/// The shares that the documentation states.
#[test]
fn the_hottest_key_gets_what_theory_says() {
    let zipf = Distribution::Zipf { exponent: 0.99 };
    for (distribution, keys, percent) in [
        (&zipf, 1_000, 12.94),
        (&zipf, 100_000, 7.83),
        (&zipf, 1_000_000, 6.50),
        // Five million draws of YCSB's own came to 3.88, 3.76 and 3.77.
        (&Distribution::YcsbZipfian, 1_000, 3.886),
        (&Distribution::YcsbZipfian, 100_000, 3.78),
        (&Distribution::YcsbZipfian, 1_000_000, 3.78),
    ] {
        let expected = 100.0 * distribution.expected_share(keys, 1).unwrap();
        assert!((expected - percent).abs() < 0.007, "{distribution:?} over {keys}: {expected}");
        // Four standard deviations of a share of 13 % are 0.25 points, of 4 % 0.14.
        let drawn = 100.0 * share(&loads(distribution, keys, 1), 1);
        assert!((drawn - percent).abs() < 0.25, "{distribution:?} over {keys}: {drawn}");
    }
}

#[test]
fn drawn_shares_are_the_expected_ones() {
    let weights: Vec<u64> = (0..100).map(|i| i % 7 * i).collect();
    for distribution in [
        Distribution::Uniform,
        Distribution::Zipf { exponent: 0.5 },
        Distribution::Zipf { exponent: 1.0 },
        Distribution::Zipf { exponent: 2.5 },
        Distribution::YcsbZipfian,
        Distribution::Latest { exponent: 0.99 },
        Distribution::Hotspot { keys_share: 0.2, load_share: 0.8 },
        Distribution::Hotspot { keys_share: 0.2, load_share: 1.0 },
        Distribution::Hotspot { keys_share: 1.0, load_share: 1.0 },
        Distribution::Exponential { share_of_keys: 0.1, share_of_load: 0.95 },
        Distribution::Exponential { share_of_keys: 6.0 / 7.0, share_of_load: 0.95 },
        Distribution::Exponential { share_of_keys: 0.5, share_of_load: 0.5 },
        Distribution::Weighted(weights),
    ] {
        let loads = loads(&distribution, 100, 7);
        for top in [1, 2, 10, 20, 50, 99, 100] {
            let (drawn, expected) = (share(&loads, top), distribution.expected_share(100, top).unwrap());
            // The highest of equal keys are the lucky ones, by some deviations of a single key's count.
            assert!((drawn - expected).abs() < 0.01, "{distribution:?}, {top}: {drawn}, not {expected}");
        }
    }
}

/// By key number, where the key is known beforehand: no luck, so a tight tolerance.
#[test]
fn known_keys_get_their_share() {
    let of_first = |distribution: Distribution, keys: u64, first: u64| {
        let mut sampler = distribution.sampler(keys, Seed(11)).unwrap();
        let hits = (0..DRAWS).filter(|_| sampler.next(Instant::START, keys - 1) < first).count();
        hits as f64 / DRAWS as f64
    };
    let exponential = |a, b| Distribution::Exponential { share_of_keys: a, share_of_load: b };
    assert!((of_first(exponential(0.1, 0.95), 1_000, 100) - 0.95).abs() < 0.0016);
    assert!((of_first(exponential(0.8, 0.95), 1_000, 800) - 0.95).abs() < 0.0016);
    assert!((of_first(Distribution::Weighted(vec![1, 2, 3, 4]), 4, 2) - 0.3).abs() < 0.0034);
    assert!((of_first(Distribution::Uniform, 1_000, 250) - 0.25).abs() < 0.0032);
}

#[test]
fn hot_keys_are_scattered_and_hot() {
    let distribution = Distribution::Hotspot { keys_share: 0.01, load_share: 0.5 };
    let mut sampler = distribution.sampler(10_000, Seed(3)).unwrap();
    let mut loads = vec![0_u64; 10_000];
    for _ in 0..DRAWS {
        loads[sampler.next(Instant::START, 0) as usize] += 1;
    }
    // 1,500 draws on each hot key, 15 on each cold one.
    let hot: Vec<usize> = (0..10_000).filter(|&key| loads[key] > 500).collect();
    assert_eq!(hot.len(), 100);
    let in_first_half = hot.iter().filter(|&&key| key < 5_000).count();
    assert!((30..70).contains(&in_first_half), "{in_first_half}");
    assert_eq!(distribution.expected_share(10_000, 100), Some(0.5));
    // Fewer keys than shares of keys.
    for keys in [1, 2, 3] {
        let sampler = Distribution::Hotspot { keys_share: 0.01, load_share: 0.6 }.sampler(keys, Seed(1));
        assert!((0..100).all({
            let mut sampler = sampler.unwrap();
            move |_| sampler.next(Instant::START, 0) < keys
        }));
    }
}

#[test]
fn latest_follows_the_newest_key() {
    let mut sampler = Distribution::Latest { exponent: 0.99 }.sampler(1_000_000, Seed(5)).unwrap();
    assert_eq!(sampler.next(Instant::START, 0), 0);
    for newest in [999, 1_999, 2_999] {
        let mut newest_hits = 0;
        for _ in 0..DRAWS {
            let key = sampler.next(Instant::START, newest);
            assert!(key <= newest);
            newest_hits += u64::from(key == newest);
        }
        let expected = 1.0 / sum_of_weights(newest + 1, 0.99);
        assert!((newest_hits as f64 / DRAWS as f64 - expected).abs() < 0.0025, "{newest}: {newest_hits}");
    }
    // A key that is not one of them counts as the last one.
    assert!(sampler.next(Instant::START, u64::MAX) < 1_000_000);
}

#[test]
fn sequential_and_time_keys() {
    let mut sampler = Distribution::Sequential.sampler(3, Seed(0)).unwrap();
    let keys: Vec<u64> = (0..7).map(|_| sampler.next(Instant::START, 0)).collect();
    assert_eq!(keys, [0, 1, 2, 0, 1, 2, 0]);
    let mut sampler = Distribution::TimeBucket { seconds: 3_600 }.sampler(24, Seed(0)).unwrap();
    let mut at = |seconds| sampler.next(Instant::from_secs(seconds), 0);
    assert_eq!([at(0), at(3_599), at(3_600), at(86_399), at(86_400)], [0, 0, 1, 23, 0]);
    assert_eq!(Distribution::Sequential.expected_share(10, 1), None);
    assert_eq!(Distribution::TimeBucket { seconds: 60 }.expected_share(10, 1), None);
}

#[test]
fn shares_are_bounded_work_and_monotone() {
    for distribution in [
        Distribution::Uniform,
        Distribution::Zipf { exponent: 0.01 },
        Distribution::Zipf { exponent: 1.0 },
        Distribution::Latest { exponent: 10.0 },
        Distribution::YcsbZipfian,
        Distribution::Hotspot { keys_share: 1e-9, load_share: 0.3 },
        Distribution::Exponential { share_of_keys: 0.01, share_of_load: 0.99 },
    ] {
        let mut before = 0.0;
        for top in [0, 1, 2, 65, 1_000, 10_000_000, KEYS_MAX - 1, KEYS_MAX, u64::MAX] {
            let share = distribution.expected_share(KEYS_MAX, top).unwrap();
            assert!((before..=1.0).contains(&share), "{distribution:?}, {top}: {share} after {before}");
            before = share;
        }
        assert_eq!(before, 1.0);
    }
}

#[test]
fn refusals_say_what_is_accepted() {
    let hotspot = |keys_share, load_share| Distribution::Hotspot { keys_share, load_share };
    let exponential =
        |share_of_keys, share_of_load| Distribution::Exponential { share_of_keys, share_of_load };
    let zipf = |exponent| Distribution::Zipf { exponent };
    for (distribution, keys, message) in [
        (Distribution::Uniform, 0, "keys: 1 to 9007199254740992, not 0"),
        (Distribution::Uniform, KEYS_MAX + 1, "keys: 1 to 9007199254740992, not 9007199254740993"),
        (zipf(0.0), 9, "exponent: above 0 and up to 10, not 0"),
        (zipf(10.1), 9, "exponent: above 0 and up to 10, not 10.1"),
        (zipf(f64::NAN), 9, "exponent: above 0 and up to 10, not NaN"),
        (hotspot(0.0, 0.5), 9, "share of hot keys: above 0 and up to 1, not 0"),
        (hotspot(0.5, 1.5), 9, "load on hot keys: 0 to 1, not 1.5"),
        (
            hotspot(0.5, 0.2),
            9,
            "0.2 of the load on 0.5 of the keys: the share of the load has to be at least the share of the keys, and 1 \
             when that is 1",
        ),
        (exponential(1.0, 0.5), 9, "share of the first keys: above 0 and below 1, not 1"),
        (exponential(0.5, f64::INFINITY), 9, "load on the first keys: above 0 and below 1, not inf"),
        (Distribution::Weighted(vec![]), 9, "weights: at least one, not an empty list"),
        (Distribution::Weighted(vec![0, 0]), 9, "weights: at least one above zero, not zeros alone"),
        (Distribution::Weighted(vec![1; 10]), 9, "weights: up to one a key, which is 9, not 10"),
        (Distribution::Weighted(vec![u64::MAX, 1]), 9, "weights: a sum up to 18446744073709551615, not more"),
        (Distribution::TimeBucket { seconds: 0 }, 9, "seconds of a time bucket: at least 1, not 0"),
    ] {
        let error = distribution.sampler(keys, Seed(0)).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(distribution.expected_share(keys, 1), None);
    }
}

/// Pinned: a change here changes every run with a seed.
#[test]
fn bytes_are_stable() {
    for (distribution, keys) in [
        (Distribution::Uniform, [263_649, 947_357, 568_621, 254_853, 729_402]),
        (Distribution::Zipf { exponent: 0.99 }, [717_245, 927_198, 59_969, 375_426, 15_398]),
        (Distribution::Zipf { exponent: 1.0 }, [211_983, 927_198, 622_235, 785_906, 271_772]),
        (Distribution::YcsbZipfian, [299_956, 832_212, 720_103, 403_056, 456_982]),
        (Distribution::Latest { exponent: 0.99 }, [972_744, 999_999, 999_643, 969_198, 999_966]),
        (
            Distribution::Hotspot { keys_share: 0.1, load_share: 0.9 },
            [233_076, 827_518, 943_303, 508_129, 170_016],
        ),
        (
            Distribution::Exponential { share_of_keys: 0.1, share_of_load: 0.9 },
            [13_291, 127_866, 36_514, 12_775, 56_767],
        ),
        (Distribution::Weighted(vec![5, 0, 1, 9]), [3, 2, 2, 3, 2]),
    ] {
        let draw = || -> [u64; 5] {
            let mut sampler = distribution.sampler(1_000_000, Seed(42)).unwrap();
            std::array::from_fn(|_| sampler.next(Instant::START, 999_999))
        };
        assert_eq!(draw(), keys, "{distribution:?}");
        assert_eq!(draw(), keys, "{distribution:?} again");
    }
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    let exponent = || prop_oneof![1e-6..10.0_f64, Just(1.0), Just(10.0)];
    let shares =
        || (1e-6..0.999_f64, 0.0..1.0_f64).prop_map(|(keys, more)| (keys, keys + (0.9999 - keys) * more));
    prop_oneof![
        Just(Distribution::Uniform),
        Just(Distribution::Sequential),
        Just(Distribution::YcsbZipfian),
        exponent().prop_map(|exponent| Distribution::Zipf { exponent }),
        exponent().prop_map(|exponent| Distribution::Latest { exponent }),
        shares().prop_map(|(keys_share, load_share)| Distribution::Hotspot { keys_share, load_share }),
        shares().prop_map(|(share_of_keys, share_of_load)| Distribution::Exponential {
            share_of_keys,
            share_of_load
        }),
        proptest::collection::vec(0..u64::MAX / 64, 1..20).prop_map(Distribution::Weighted),
        (1..u64::MAX).prop_map(|seconds| Distribution::TimeBucket { seconds }),
    ]
}

proptest! {
    #[test]
    fn every_key_is_one_of_the_keys(
        distribution in any_distribution(),
        keys in prop_oneof![1..100_u64, 1..KEYS_MAX, Just(KEYS_MAX)],
        seed: u64,
        now: u64,
        newest: u64,
    ) {
        // Refused: more weights than keys, or zeros alone.
        if let Ok(mut sampler) = distribution.sampler(keys, Seed(seed)) {
            for _ in 0..50 {
                let key = sampler.next(Instant::from_nanos(now), newest);
                prop_assert!(key < keys);
            }
        }
        if let Some(share) = distribution.expected_share(keys, newest % keys) {
            prop_assert!((0.0..=1.0).contains(&share), "{}", share);
        }
    }
}
