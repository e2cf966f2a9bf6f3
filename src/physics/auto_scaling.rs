//! DynamoDB auto scaling: provisioned throughput that follows the load, late.
//!
//! "Managing throughput capacity automatically with DynamoDB auto scaling": it raises throughput after consumption was above
//! the target for two consecutive minutes and lowers it after fifteen consecutive minutes below; the console's target is
//! 70 %. The number of decreases is limited ("Quotas": four at the start of a day, one more each hour up to four).
//!
//! *Assumed*: the alarm and the change of the table take two more minutes together; it goes up to consumption ÷ target, and
//! down likewise when that is at least a tenth lower.

use crate::clock::Instant;
use crate::units::MILLI;

/// Settings of one capacity, in units a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoScaling {
    /// The share of provisioned throughput to be consumed, in hundredths ("20 to 90"; the console's default is 70).
    pub target_percent: u64,
    /// Never less.
    pub min: u64,
    /// Never more.
    pub max: u64,
}

/// Consecutive minutes above the target before throughput goes up.
const MINUTES_UP: u32 = 2;
/// Consecutive minutes below it before throughput goes down.
const MINUTES_DOWN: u32 = 15;
/// From the alarm to the changed table, in minutes (*assumed*).
const MINUTES_DELAY: u64 = 2;
/// Decreases that a day begins with, and the most that can be saved up ("Quotas").
const DECREASES_MAX: u64 = 4;
/// A decrease must save this much, in hundredths (*assumed*).
const DECREASE_PERCENT: u64 = 10;
const SECONDS_PER_MINUTE: u64 = 60;
const SECONDS_PER_HOUR: u64 = 3_600;

/// How often throughput may still be lowered.
#[derive(Clone, Copy, Debug)]
pub struct DecreaseQuota {
    left: u64,
    hour: u64,
}

impl DecreaseQuota {
    /// A table's at `now`: four.
    pub fn new(now: Instant) -> Self {
        Self { left: DECREASES_MAX, hour: now.second() / SECONDS_PER_HOUR }
    }

    /// Takes one, if there is any: one more comes back each hour.
    pub fn take(&mut self, now: Instant) -> bool {
        let hour = now.second() / SECONDS_PER_HOUR;
        self.left = (self.left + hour.saturating_sub(self.hour)).min(DECREASES_MAX);
        self.hour = self.hour.max(hour);
        let any = self.left > 0;
        self.left -= u64::from(any);
        any
    }
}

/// Follows the consumption of one capacity.
#[derive(Clone, Debug)]
pub struct AutoScaler {
    settings: AutoScaling,
    minute: u64,
    consumed_milli: u64,
    above: u32,
    below: u32,
    /// What was decided, and in which minute it takes effect.
    pending: Option<(u64, u64)>,
    decreases: DecreaseQuota,
}

impl AutoScaler {
    /// A scaler that begins at `now`.
    pub fn new(settings: AutoScaling, now: Instant) -> Self {
        Self {
            settings,
            minute: now.second() / SECONDS_PER_MINUTE,
            consumed_milli: 0,
            above: 0,
            below: 0,
            pending: None,
            decreases: DecreaseQuota::new(now),
        }
    }

    /// Counts what was consumed.
    pub fn consume(&mut self, milli: u64) {
        self.consumed_milli = self.consumed_milli.saturating_add(milli);
    }

    /// Ends the minutes before that of `now`, in which `provisioned` units a second were there. The throughput that the
    /// table has from now on, where it changes.
    pub fn advance(&mut self, now: Instant, provisioned: u64) -> Option<u64> {
        let minute = now.second() / SECONDS_PER_MINUTE;
        // What was decided takes effect in its minute, and later minutes are judged by it.
        let mut has = provisioned;
        while self.minute < minute {
            let average_milli = self.consumed_milli / SECONDS_PER_MINUTE;
            self.close(average_milli, has);
            self.minute += 1;
            self.consumed_milli = 0;
            if let Some((units, _)) = self.pending.take_if(|(_, at)| *at <= self.minute) {
                (has, self.above, self.below) = (units, 0, 0);
            }
            // Idle minutes all say the same; a long idle time needs no more of them than it takes to act.
            let idle = minute.saturating_sub(self.minute);
            if self.pending.is_none() && idle > u64::from(MINUTES_DOWN) + MINUTES_DELAY {
                self.minute = minute - u64::from(MINUTES_DOWN) - MINUTES_DELAY;
            }
        }
        (has != provisioned).then_some(has)
    }

    fn close(&mut self, average_milli: u64, provisioned: u64) {
        let target_milli =
            provisioned.saturating_mul(MILLI).saturating_mul(self.settings.target_percent) / 100;
        (self.above, self.below) = match average_milli > target_milli {
            true => (self.above + 1, 0),
            false => (0, self.below + 1),
        };
        if self.pending.is_some() {
            return;
        }
        let wanted = (average_milli * 100)
            .div_ceil(self.settings.target_percent.max(1) * MILLI)
            .min(self.settings.max)
            .max(self.settings.min.max(1));
        let up = self.above >= MINUTES_UP && wanted > provisioned;
        let down =
            self.below >= MINUTES_DOWN && wanted * 100 <= provisioned * (100 - DECREASE_PERCENT) && !up;
        let now = Instant::from_secs(self.minute * SECONDS_PER_MINUTE);
        if up || down && self.decreases.take(now) {
            self.pending = Some((wanted, self.minute + 1 + MINUTES_DELAY));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: AutoScaling = AutoScaling { target_percent: 70, min: 5, max: 40_000 };

    /// Consumes so many units a second for some minutes; answers changes as (minute, throughput).
    fn run(
        scaler: &mut AutoScaler,
        provisioned: &mut u64,
        minutes: std::ops::Range<u64>,
        units: u64,
    ) -> Vec<(u64, u64)> {
        let mut changes = Vec::new();
        for minute in minutes {
            let now = Instant::from_secs(minute * 60);
            if let Some(next) = scaler.advance(now, *provisioned) {
                *provisioned = next;
                changes.push((minute, next));
            }
            scaler.consume(units.min(*provisioned) * MILLI * 60);
        }
        changes
    }

    #[test]
    fn it_goes_up_after_two_minutes_and_the_change_itself() {
        let (mut scaler, mut provisioned) = (AutoScaler::new(SETTINGS, Instant::START), 100);
        assert_eq!(run(&mut scaler, &mut provisioned, 0..10, 50), []);
        // What is throttled is not consumed: it undershoots, step by step.
        let up = run(&mut scaler, &mut provisioned, 10..30, 400);
        assert_eq!(up[0], (14, 143));
        assert!(up.windows(2).all(|pair| pair[0].1 < pair[1].1 && pair[1].0 - pair[0].0 >= 4), "{up:?}");
    }

    #[test]
    fn it_goes_down_after_fifteen_and_only_so_often() {
        let (mut scaler, mut provisioned) = (AutoScaler::new(SETTINGS, Instant::START), 40_000);
        let down = run(&mut scaler, &mut provisioned, 0..30, 7_000);
        assert_eq!(down, [(17, 10_000)]);
        let mut falling = Vec::new();
        for (step, load) in (0..).zip([3_500, 1_750, 800, 400, 200, 100, 50]) {
            falling.extend(run(&mut scaler, &mut provisioned, 30 + step * 18..48 + step * 18, load));
        }
        // Four to begin with, and one more for each of two hours.
        assert!((4..=6).contains(&falling.len()), "{falling:?}");
    }

    #[test]
    fn what_was_raised_before_an_idle_hour_is_low_after_it() {
        let (mut scaler, mut provisioned) = (AutoScaler::new(SETTINGS, Instant::START), 100);
        // Two minutes above the target: the raise is decided and not yet there when the load ends.
        assert_eq!(run(&mut scaler, &mut provisioned, 0..2, 100), []);
        assert_eq!(scaler.advance(Instant::from_secs(3 * 60), provisioned), None);
        assert_eq!(scaler.advance(Instant::from_secs(3_600), provisioned), Some(5));
        // A minimum above the maximum is kept and breaks nothing.
        let odd = AutoScaling { min: 50, max: 10, ..SETTINGS };
        assert_eq!(AutoScaler::new(odd, Instant::START).advance(Instant::from_secs(86_400), 100), Some(50));
    }

    #[test]
    fn an_idle_year_ends_at_the_least() {
        let (mut scaler, provisioned) = (AutoScaler::new(SETTINGS, Instant::START), 10_000);
        scaler.consume(1);
        assert_eq!(scaler.advance(Instant::from_secs(365 * 86_400), provisioned), Some(5));
    }
}
