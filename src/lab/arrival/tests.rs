//! Counts and starts that are exact, spacing at random that is random enough, refusals, and bytes that must not change.

use super::*;
use crate::lab::replay::Pace;
use proptest::prelude::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn phase(shape: RateShape, lasts: Duration, spacing: Spacing) -> Phase {
    Phase { shape, lasts, spacing }
}

/// Starts in nanoseconds of one phase, evenly spaced. That they are as many as was told, in order and inside is checked.
fn even(shape: RateShape, lasts: Duration) -> Vec<u64> {
    starts(&[phase(shape, lasts, Spacing::Even)], 0)
}

fn starts(phases: &[Phase], seed: u64) -> Vec<u64> {
    let schedule = Schedule::new(phases, Seed(seed)).unwrap();
    let (total, end) = (schedule.total(), schedule.end());
    let starts: Vec<u64> = schedule.map(Instant::nanos).collect();
    assert!(starts.is_sorted());
    assert!(starts.last().is_none_or(|&last| last < end.nanos()));
    if phases.iter().all(|phase| phase.spacing == Spacing::Even) {
        assert_eq!(starts.len() as u64, total, "{phases:?}");
    }
    starts
}

fn within(starts: &[u64], from: Duration, to: Duration) -> usize {
    starts.iter().filter(|&&at| (from.as_nanos()..to.as_nanos()).contains(&u128::from(at))).count()
}

#[test]
fn a_constant_rate_is_the_pace_of_a_replay() {
    for rate in [1, 3, 7, 9_000, 999_999] {
        let mut pace = Pace::new(rate);
        let starts = even(RateShape::Constant(rate), secs(2));
        assert_eq!(starts.len() as u64, 2 * rate);
        for (i, &start) in starts.iter().enumerate() {
            assert_eq!(start, pace.next_start().nanos(), "{i} at {rate}");
            assert_eq!(start, i as u64 * NANOS_PER_SEC / rate, "{i} at {rate}");
        }
    }
    // The second of three a second begins at a third: inside by a nanosecond's part, or not.
    assert_eq!(even(RateShape::Constant(3), Duration::from_nanos(333_333_333)), [0]);
    assert_eq!(even(RateShape::Constant(3), Duration::from_nanos(333_333_334)), [0, 333_333_333]);
}

#[test]
fn a_ramp_has_its_quarter_in_the_first_half() {
    let up = even(RateShape::Ramp { from: 0, to: 1_000 }, secs(10));
    assert_eq!(up.len(), 5_000);
    assert_eq!(within(&up, secs(0), secs(5)), 1_250);
    // The integral is 50 t²: 50 operations have begun after a second, and the 200th begins after two.
    assert_eq!((within(&up, secs(0), secs(1)), up[200]), (50, 2 * NANOS_PER_SEC));
    let down = even(RateShape::Ramp { from: 1_000, to: 0 }, secs(10));
    assert_eq!((down.len(), within(&down, secs(0), secs(5))), (5_000, 3_750));
    assert_eq!(
        even(RateShape::Ramp { from: 100, to: 100 }, secs(3)),
        even(RateShape::Constant(100), secs(3))
    );
    // An hour's, whose last operations are half a minute apart.
    assert_eq!(even(RateShape::Ramp { from: 3, to: 0 }, secs(3_600)).len(), 5_400);
}

#[test]
fn steps_and_spikes_carry_what_is_left_over() {
    let half = Duration::from_millis(500);
    let steps = RateShape::Step { rates: vec![(secs(1), 3), (secs(1) + half, 0), (secs(2), 10)] };
    // One and a half, nothing, and ten more: 11.5, of which the twelfth has begun.
    let starts = even(steps, secs(3));
    assert_eq!(starts.len(), 12);
    assert_eq!(starts[..3], [1_000_000_000, 1_333_333_333, 2_050_000_000]);
    let spike = RateShape::Spike { base: 10, peak: 500, at: secs(4), lasts: secs(2) };
    let starts = even(spike, secs(10));
    assert_eq!(starts.len(), 1_080);
    assert_eq!(within(&starts, secs(0), secs(4)), 40);
    assert_eq!(within(&starts, secs(4), secs(6)), 1_000);
    // Up to the very end, and the whole phase.
    let whole = RateShape::Spike { base: 10, peak: 500, at: secs(0), lasts: secs(10) };
    assert_eq!(even(whole, secs(10)), even(RateShape::Constant(500), secs(10)));
}

#[test]
fn a_wave_has_its_mean_and_its_crest() {
    let day = RateShape::Diurnal { low: 1, high: 9, period: secs(86_400) };
    let starts = even(day, secs(86_400));
    assert_eq!(starts.len(), 5 * 86_400);
    // From 6 to 18 o'clock: the mean, and twice the amplitude over pi.
    let crest = 43_200.0 * (5.0 + 4.0 * 2.0 / std::f64::consts::PI);
    assert!((within(&starts, secs(21_600), secs(64_800)) as f64 - crest).abs() < 2.0);
    // The last hour is the first one backwards; at its end none begins, at the begin one does.
    let (first, last) = (within(&starts, secs(0), secs(3_600)), within(&starts, secs(82_800), secs(86_400)));
    assert!(first.abs_diff(last) <= 1, "{first} and {last}");
    // Short waves, over and over, and cut.
    let short = RateShape::Diurnal { low: 0, high: 1_000, period: secs(10) };
    assert_eq!(even(short.clone(), secs(100)).len(), 50_000);
    assert_eq!(even(short, secs(5)).len(), 2_500);
}

#[test]
fn phases_begin_where_the_lengths_before_them_end() {
    let odd = Duration::from_nanos(1_234_567_891);
    let constant = |rate, spacing| phase(RateShape::Constant(rate), odd, spacing);
    let phases = [
        constant(7, Spacing::Even),
        constant(0, Spacing::Even),
        constant(11, Spacing::Poisson),
        constant(13, Spacing::Even),
    ];
    let starts = starts(&phases, 1);
    assert_eq!(within(&starts, odd, 2 * odd), 0, "a pause");
    assert_eq!(within(&starts, 3 * odd, 4 * odd), 17, "13 a second, and the first at once");
    assert!(starts.contains(&(3 * 1_234_567_891)));
    // Ten thousand phases do not drift.
    let many = vec![constant(7, Spacing::Even); 10_000];
    let schedule = Schedule::new(&many, Seed(0)).unwrap();
    assert_eq!(schedule.total(), 90_000);
    assert!(schedule.map(Instant::nanos).step_by(9).eq((0..10_000).map(|i| i * 1_234_567_891)));
}

/// Counts of each second have the rate for their mean and for their variance.
#[test]
fn poisson_counts_have_mean_and_variance_alike() {
    let constant = phase(RateShape::Constant(100), secs(2_000), Spacing::Poisson);
    let schedule = Schedule::new(&[constant], Seed(1)).unwrap();
    assert_eq!(schedule.total(), 200_000);
    let mut counts = vec![0_u32; 2_000];
    for start in schedule {
        counts[start.second() as usize] += 1;
    }
    let mean = counts.iter().map(|&n| f64::from(n)).sum::<f64>() / 2_000.0;
    let variance =
        counts.iter().map(|&n| (f64::from(n) - mean) * (f64::from(n) - mean)).sum::<f64>() / 1_999.0;
    // Four standard deviations: of the mean 0.9, of the variance 12.7.
    assert!((mean - 100.0).abs() < 0.9, "{mean}");
    assert!((variance - 100.0).abs() < 12.7, "{variance}");
}

#[test]
fn poisson_follows_the_shape() {
    let ramp = RateShape::Ramp { from: 0, to: 1_000 };
    let ramp = starts(&[phase(ramp, secs(200), Spacing::Poisson)], 4);
    // 100,000 ± 1,265 and 25,000 ± 632: four standard deviations.
    assert!((98_735..=101_265).contains(&ramp.len()), "{}", ramp.len());
    let first_half = within(&ramp, secs(0), secs(100));
    assert!((24_368..=25_632).contains(&first_half), "{first_half}");
    // A phase is the same whatever came before it.
    let seconds = |first| {
        let phases = [first, phase(RateShape::Constant(50), secs(10), Spacing::Poisson)];
        let mut starts = starts(&phases, 9);
        starts.retain(|&at| at >= 10 * NANOS_PER_SEC);
        starts
    };
    let after = seconds(phase(RateShape::Constant(80), secs(10), Spacing::Poisson));
    assert_eq!(after, seconds(phase(RateShape::Constant(1), secs(10), Spacing::Even)));
}

#[test]
fn refusals_name_the_phase_and_say_what_is_accepted() {
    let good = phase(RateShape::Constant(1), secs(10), Spacing::Even);
    let day = secs(86_400);
    let spike = |at, lasts| RateShape::Spike { base: 1, peak: 2, at, lasts };
    let steps = |rates: &[(u64, u64)]| RateShape::Step {
        rates: rates.iter().map(|&(at, rate)| (secs(at), rate)).collect(),
    };
    let wave = |period| RateShape::Diurnal { low: 0, high: 1, period };
    for (shape, lasts, message) in [
        (RateShape::Constant(1), secs(0), "phase 2: a length of at least 1 ns, not 0"),
        (RateShape::Constant(1), 366 * day, "phase 2: up to 366 days with the phases before it, not more"),
        (
            RateShape::Constant(1),
            Duration::MAX,
            "phase 2: up to 366 days with the phases before it, not more",
        ),
        (
            RateShape::Constant(RATE_MAX + 1),
            secs(10),
            "phase 2: 0 to 10000000000 operations a second, not 10000000001",
        ),
        (
            RateShape::Constant(1_000_000_000),
            secs(10),
            "phase 2: up to 10000000000 operations with the phases before it, not more",
        ),
        (
            RateShape::Diurnal { low: RATE_MAX, high: RATE_MAX, period: 364 * day },
            365 * day,
            "phase 2: up to 10000000000 operations with the phases before it, not more",
        ),
        (steps(&[]), secs(10), "phase 2: at least 1 step, not 0"),
        (
            steps(&[(1, 1), (1, 2)]),
            secs(10),
            "phase 2: each step later than the one before it and before the end at 10s; step 2 is at 1s",
        ),
        (
            steps(&[(1, 1), (10, 2)]),
            secs(10),
            "phase 2: each step later than the one before it and before the end at 10s; step 2 is at 10s",
        ),
        (
            spike(secs(5), secs(6)),
            secs(10),
            "phase 2: a spike of at least 1 ns that ends with the phase, at 10s, or before",
        ),
        (
            spike(Duration::MAX, secs(6)),
            secs(10),
            "phase 2: a spike of at least 1 ns that ends with the phase, at 10s, or before",
        ),
        (
            wave(secs(0)),
            secs(10),
            "phase 2: a period of 1ms to 366 days, that fits the phase up to 10000 times",
        ),
        (wave(secs(8)), day, "phase 2: a period of 1ms to 366 days, that fits the phase up to 10000 times"),
    ] {
        let error =
            Schedule::new(&[good.clone(), phase(shape, lasts, Spacing::Poisson)], Seed(0)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let pause = phase(RateShape::Constant(0), secs(10), Spacing::Even);
    let refused = |phases: &[Phase]| Schedule::new(phases, Seed(0)).unwrap_err().to_string();
    assert_eq!(refused(&[]), "phases: at least 1, not 0");
    assert_eq!(
        refused(std::slice::from_ref(&pause)),
        "phase 1: a rate above 0 at some time, as there is no other phase"
    );
    assert_eq!(refused(&[pause.clone(), pause]), "phases 1 to 2: a rate above 0 at some time in one of them");
}

/// Pinned: a change here changes every run with a seed.
#[test]
fn bytes_are_stable() {
    let nth = |shape, spacing| {
        let mut schedule = Schedule::new(&[phase(shape, secs(100), spacing)], Seed(42)).unwrap();
        [schedule.next(), schedule.nth(10), schedule.nth(1_000)].map(|start| start.unwrap().nanos())
    };
    let ramp = RateShape::Ramp { from: 10, to: 100 };
    let wave = RateShape::Diurnal { low: 10, high: 100, period: secs(100) };
    assert_eq!(nth(ramp.clone(), Spacing::Even), [0, 1_050_354_037, 37_595_620_241]);
    assert_eq!(nth(ramp, Spacing::Poisson), [69_317_705, 967_877_320, 36_742_769_175]);
    assert_eq!(nth(wave.clone(), Spacing::Even), [0, 1_095_838_262, 30_618_203_296]);
    assert_eq!(nth(wave, Spacing::Poisson), [69_525_266, 1_006_770_657, 30_087_661_686]);
}

fn any_phase() -> impl Strategy<Value = Phase> {
    let lasts = || (1..5_000_000_000_u64).prop_map(Duration::from_nanos);
    let rate = || prop_oneof![Just(0_u64), 1..2_000_u64];
    let constant = rate().prop_map(RateShape::Constant);
    let ramp = (rate(), rate()).prop_map(|(from, to)| RateShape::Ramp { from, to });
    let wave = (rate(), rate(), 1_000_000..10_000_000_000_u64).prop_map(|(low, high, period)| {
        RateShape::Diurnal { low, high, period: Duration::from_nanos(period) }
    });
    let steps = proptest::collection::btree_map(0..5_000_000_000_u64, rate(), 1..6).prop_map(|rates| {
        RateShape::Step {
            rates: rates.into_iter().map(|(at, rate)| (Duration::from_nanos(at), rate)).collect(),
        }
    });
    let spike = (rate(), rate(), lasts(), lasts()).prop_map(|(base, peak, at, lasts)| RateShape::Spike {
        base,
        peak,
        at,
        lasts,
    });
    let spacing = prop_oneof![3 => Just(Spacing::Even), 1 => Just(Spacing::Poisson)];
    (prop_oneof![constant, ramp, wave, steps, spike], lasts(), spacing)
        .prop_map(|(shape, lasts, spacing)| Phase { shape, lasts, spacing })
}

proptest! {
    /// Order, ends and counts are checked where starts are collected; each start lies in a phase of its own.
    #[test]
    fn any_schedule_keeps_its_promises(phases in proptest::collection::vec(any_phase(), 1..4), seed: u64) {
        if Schedule::new(&phases, Seed(seed)).is_ok() {
            prop_assert_eq!(starts(&phases, seed), starts(&phases, seed));
        }
    }
}
