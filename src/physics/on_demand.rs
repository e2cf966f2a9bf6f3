//! What an on-demand DynamoDB table serves at once: twice its previous peak.
//!
//! "On-demand capacity mode": a table "instantly accommodates up to double the previous peak traffic"; beyond it within 30
//! minutes throttling can occur. So a peak counts as previous when it is half an hour old: 4,000 becomes 8,000 after
//! half an hour at 4,000, and 40,000 takes four steps.
//!
//! That a peak is the average of a minute is *assumed* (CloudWatch counts in minutes).

use crate::clock::Instant;
use crate::units::MILLI;
use std::collections::VecDeque;

/// A peak this old is a previous peak ("On-demand capacity mode": 30 minutes).
pub const ON_DEMAND_PEAK_MINUTES: u64 = 30;

const SECONDS_PER_MINUTE: u64 = 60;

/// Follows the consumption of one capacity, reads or writes.
///
/// - What is served at once never falls.
#[derive(Clone, Debug)]
pub struct OnDemandPeak {
    /// Units a second that the table can always serve: what it was created or warmed for.
    floor_milli: u64,
    established_milli: u64,
    /// Averages of the minutes that are not old enough, oldest first: at most as many as it takes.
    recent: VecDeque<(u64, u64)>,
    minute: u64,
    consumed_milli: u64,
}

impl OnDemandPeak {
    /// A table that serves `floor` units a second at once and had its highest traffic, `previous` units a second, some
    /// time ago.
    pub fn new(floor: u64, previous: u64, now: Instant) -> Self {
        Self {
            floor_milli: floor * MILLI,
            established_milli: previous * MILLI,
            recent: VecDeque::new(),
            minute: now.second() / SECONDS_PER_MINUTE,
            consumed_milli: 0,
        }
    }

    /// Raises what is served at once, as warm throughput does; it is never lowered.
    pub fn warm(&mut self, floor: u64) {
        self.floor_milli = self.floor_milli.max(floor * MILLI);
    }

    /// Counts what was consumed.
    pub fn consume(&mut self, now: Instant, milli: u64) {
        self.roll(now);
        self.consumed_milli += milli;
    }

    /// Units a second served at once, in thousandths.
    pub fn rate_milli(&mut self, now: Instant) -> u64 {
        self.roll(now);
        self.floor_milli.max(2 * self.established_milli)
    }

    fn roll(&mut self, now: Instant) {
        let minute = now.second() / SECONDS_PER_MINUTE;
        if minute <= self.minute {
            return;
        }
        let average = self.consumed_milli / SECONDS_PER_MINUTE;
        self.recent.push_back((self.minute, average));
        (self.minute, self.consumed_milli) = (minute, 0);
        while let Some(&(closed, average)) = self.recent.front()
            && minute > closed + ON_DEMAND_PEAK_MINUTES
        {
            self.established_milli = self.established_milli.max(average);
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u64) -> Instant {
        Instant::from_secs(minute * 60)
    }

    /// Serves `units` a second for some minutes.
    fn run(peak: &mut OnDemandPeak, from: u64, minutes: u64, units: u64) {
        for minute in from..from + minutes {
            peak.consume(at(minute), units * MILLI * 60);
        }
    }

    /// "On-demand capacity mode": 50,000 at its peak, so 100,000 at once, and then 200,000.
    #[test]
    fn a_peak_of_50000_serves_100000_at_once_and_200000_half_an_hour_later() {
        let mut peak = OnDemandPeak::new(12_000, 50_000, Instant::START);
        assert_eq!(peak.rate_milli(at(0)), 100_000 * MILLI);
        run(&mut peak, 0, 31, 100_000);
        assert_eq!(peak.rate_milli(at(5)), 100_000 * MILLI, "a clock that steps back changes nothing");
        assert_eq!(peak.rate_milli(at(31)), 200_000 * MILLI);
        let mut peak = OnDemandPeak::new(12_000, 50_000, Instant::START);
        run(&mut peak, 0, 5, 100_000);
        assert_eq!(peak.rate_milli(at(5)), 100_000 * MILLI);
    }

    /// From 4,000 to 40,000 writes a second: 4, 8, 16, 32 and 64 thousand, two hours.
    #[test]
    fn ten_times_as_much_takes_four_steps() {
        let mut peak = OnDemandPeak::new(4_000, 2_000, Instant::START);
        let mut minutes = 0;
        while peak.rate_milli(at(minutes)) < 40_000 * MILLI {
            let all = peak.rate_milli(at(minutes)) / MILLI;
            run(&mut peak, minutes, 1, all);
            minutes += 1;
        }
        assert!((4 * 30..=4 * 32).contains(&minutes), "{minutes}");
    }

    #[test]
    fn warmth_lasts_and_a_quiet_night_forgets_nothing() {
        let mut peak = OnDemandPeak::new(4_000, 2_000, Instant::START);
        peak.warm(10_000);
        peak.warm(5_000);
        assert_eq!(peak.rate_milli(at(0)), 10_000 * MILLI);
        run(&mut peak, 0, 1, 9_000);
        assert_eq!(peak.rate_milli(at(600)), 18_000 * MILLI);
        assert_eq!(peak.rate_milli(at(6_000)), 18_000 * MILLI);
    }
}
