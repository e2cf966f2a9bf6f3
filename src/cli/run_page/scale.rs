//! Scales: where a value or a time lies on an axis, and which round ones are written beside it.

use crate::cli::page::text::{decimal, percent, ratio};
use serde::Serialize;

/// Marks of an axis of values, about so many.
const VALUE_TICKS: f64 = 5.0;
/// Marks of an axis of time at the most: on a phone every other one is left out.
const TIME_TICKS: f64 = 9.0;

/// Steps of time that a reader counts in, in seconds.
const TIME_STEPS: [f64; 22] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1_800.0,
    3_600.0,
    7_200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    432_000.0,
    864_000.0,
    1_728_000.0,
];

/// A place on an axis, in percent, and what is written there.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) text: String,
}

/// An axis from zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    end: f64,
    step: f64,
}

impl Scale {
    /// For values up to `most`, ending at a round one.
    pub(super) fn of_values(most: f64) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        // No logarithm: its last bit is not the same everywhere.
        let (mut rough, mut power) = (most / VALUE_TICKS, 1.0);
        while rough >= 10.0 {
            (rough, power) = (rough / 10.0, power * 10.0);
        }
        while rough < 1.0 {
            (rough, power) = (rough * 10.0, power / 10.0);
        }
        let step = [1.0, 2.0, 2.5, 5.0].into_iter().find(|&step| rough <= step).unwrap_or(10.0) * power;
        Self { end: (most / step).ceil().max(1.0) * step, step }
    }

    /// For `seconds` of time, ending there.
    pub(super) fn of_time(seconds: f64) -> Self {
        let end = if seconds.is_finite() && seconds > 0.0 { seconds } else { 1.0 };
        let fits = |step: &f64| end / step <= TIME_TICKS;
        Self { end, step: TIME_STEPS.into_iter().find(fits).unwrap_or(end / TIME_TICKS) }
    }

    /// Where the axis ends.
    pub(super) fn end(self) -> f64 {
        self.end
    }

    /// How far along a value lies, from 0 to 1.
    pub(super) fn along(self, value: f64) -> f64 {
        ratio(value, self.end).clamp(0.0, 1.0)
    }

    /// The same as a length.
    pub(super) fn percent(self, value: f64) -> String {
        percent(value, self.end)
    }

    /// The same from the other end: for what grows upwards.
    pub(super) fn down(self, value: f64) -> String {
        percent(1.0 - self.along(value), 1.0)
    }

    fn marks(self) -> impl Iterator<Item = f64> {
        // A mark that rounding would push over the end is still one.
        let count = (self.end / self.step * (1.0 + 1e-9)).floor() as u32;
        (0..=count).map(move |i| f64::from(i) * self.step)
    }

    /// Marks of values, measured from the top.
    pub(super) fn value_ticks(self, text: impl Fn(f64) -> String) -> Vec<Tick> {
        self.marks().map(|value| Tick { at: self.down(value), text: text(value) }).collect()
    }

    /// Marks of time.
    pub(super) fn time_ticks(self) -> Vec<Tick> {
        let (unit, name) = self.unit();
        let text = |seconds: f64| match seconds {
            0.0 => "0".to_owned(),
            _ => format!("{}\u{a0}{name}", decimal(seconds / unit, 1)),
        };
        self.marks().map(|at| Tick { at: self.percent(at), text: text(at) }).collect()
    }

    /// The unit in which steps of this length are told.
    fn unit(self) -> (f64, &'static str) {
        match self.step {
            step if step < 60.0 => (1.0, "s"),
            step if step < 3_600.0 => (60.0, "min"),
            step if step < 86_400.0 => (3_600.0, "h"),
            _ => (86_400.0, "d"),
        }
    }
}

/// A value at an axis, short: `1,250`, `0.25`, `120k`, `3.5M`.
pub(super) fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", decimal(value / 1e6, 2)),
        value if value >= 1e5 => format!("{}k", decimal(value / 1e3, 1)),
        value if value >= 10.0 => decimal(value, 1),
        // A step of a small axis.
        value => decimal(value, 4),
    }
}

/// A share at an axis.
pub(super) fn short_share(value: f64) -> String {
    format!("{}%", decimal(value * 100.0, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn values_end_at_a_round_one_above_the_most() {
        for (most, end, marks) in [
            (0.0, 1.0, &["0", "0.2", "0.4", "0.6", "0.8", "1"][..]),
            (1.0, 1.0, &["0", "0.2", "0.4", "0.6", "0.8", "1"]),
            (9_900.0, 10_000.0, &["0", "2,000", "4,000", "6,000", "8,000", "10,000"]),
            (1_286.0, 1_500.0, &["0", "500", "1,000", "1,500"]),
            (17_880.0, 20_000.0, &["0", "5,000", "10,000", "15,000", "20,000"]),
            (f64::NAN, 1.0, &["0", "0.2", "0.4", "0.6", "0.8", "1"]),
            (f64::INFINITY, 1.0, &["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ] {
            let scale = Scale::of_values(most);
            assert_eq!(scale.end(), end, "{most}");
            assert_eq!(texts(&scale.value_ticks(short)), marks, "{most}");
        }
    }

    #[test]
    fn a_scale_holds_what_it_is_for_whatever_its_size() {
        for exponent in -12..=15 {
            for digit in [1.0, 1.01, 2.0, 3.3, 4.99, 9.999] {
                let most = digit * 10f64.powi(exponent);
                let scale = Scale::of_values(most);
                let marks = scale.value_ticks(short).len();
                assert!(scale.end() >= most * (1.0 - 1e-9) && scale.end() <= most * 2.01, "{most}");
                assert!((2..=7).contains(&marks), "{most}: {marks} marks");
            }
        }
    }

    #[test]
    fn time_is_told_in_the_unit_that_fits() {
        for (seconds, marks) in [
            (4.0, &["0", "1 s", "2 s", "3 s", "4 s"][..]),
            (480.0, &["0", "1 min", "2 min", "3 min", "4 min", "5 min", "6 min", "7 min", "8 min"]),
            (960.0, &["0", "2 min", "4 min", "6 min", "8 min", "10 min", "12 min", "14 min", "16 min"]),
            (10_800.0, &["0", "30 min", "60 min", "90 min", "120 min", "150 min", "180 min"]),
            (172_800.0, &["0", "6 h", "12 h", "18 h", "24 h", "30 h", "36 h", "42 h", "48 h"]),
        ] {
            let ticks = Scale::of_time(seconds).time_ticks();
            let told: Vec<String> = ticks.iter().map(|tick| tick.text.replace('\u{a0}', " ")).collect();
            assert_eq!(told, marks, "{seconds}");
        }
        for seconds in [0.0, f64::NAN, 0.001, 31.0 * 86_400.0, 1e12] {
            assert!((1..=10).contains(&Scale::of_time(seconds).time_ticks().len()), "{seconds}");
        }
    }

    #[test]
    fn places_stay_on_the_axis() {
        let scale = Scale::of_time(200.0);
        for (value, at) in
            [(0.0, "0.00"), (50.0, "25.00"), (300.0, "100.00"), (-1.0, "0.00"), (f64::NAN, "0.00")]
        {
            assert_eq!(scale.percent(value), at, "{value}");
        }
        assert_eq!(scale.down(50.0), "75.00");
    }
}
