//! A Cosmos DB partition's budget: one-second windows, and what burst capacity has banked.
//!
//! ```text
//!   used in this second ▲
//!     3,000 RU ─────────┼─ ─ ─ ─ ─ ─ ─  no burst goes beyond
//!                       │   ▒▒▒▒        paid from the bank, until it is empty
//!        share ─────────┼───████────
//!                       │ ░░████        unused: banked, at most 300 seconds' worth
//! ```
//!
//! "Burst capacity": a partition with less than 3,000 RU/s banks idle capacity for up to five minutes and spends it at up
//! to 3,000 RU/s. A request is admitted while there is anything left, and may overdraw: its charge is known afterwards.

use crate::clock::Instant;
use crate::units::MILLI;

/// Burst capacity as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CosmosBurst {
    /// Seconds of unused share that are kept.
    pub seconds: u64,
    /// Request units a second that a burst never exceeds, and at which a partition has none.
    pub ceiling: u64,
}

impl Default for CosmosBurst {
    /// "Burst capacity": five minutes, 3,000 RU/s.
    fn default() -> Self {
        Self { seconds: 300, ceiling: 3_000 }
    }
}

/// One-second windows with a bank.
///
/// - The bank never holds more than its seconds' worth and never pays beyond the ceiling.
#[derive(Clone, Debug)]
pub struct BankedWindow {
    rate_milli: u64,
    leak_per_mille: u64,
    burst: Option<CosmosBurst>,
    second: u64,
    used_milli: u64,
    bank_milli: u64,
}

impl BankedWindow {
    /// A budget of `rate_milli` a second that begins at `now` with an empty bank.
    pub fn new(rate_milli: u64, burst: Option<CosmosBurst>, leak_per_mille: u64, now: Instant) -> Self {
        Self { rate_milli, leak_per_mille, burst, second: now.second(), used_milli: 0, bank_milli: 0 }
    }

    /// Request units a second, in thousandths.
    pub fn rate_milli(&self) -> u64 {
        self.rate_milli
    }

    /// Another rate from `now` on. What is banked stays, as far as the new rate can bank it.
    pub fn set_rate(&mut self, now: Instant, rate_milli: u64) {
        self.roll(now);
        self.rate_milli = rate_milli;
        let most = self.active_burst().map_or(0, |burst| rate_milli.saturating_mul(burst.seconds));
        self.bank_milli = self.bank_milli.min(most);
    }

    /// The burst that this rate has: none from its ceiling on.
    fn active_burst(&self) -> Option<CosmosBurst> {
        self.burst.filter(|burst| self.rate_milli < burst.ceiling * MILLI)
    }

    /// What was used in the second of `now`, in thousandths.
    pub fn used_milli(&mut self, now: Instant) -> u64 {
        self.roll(now);
        self.used_milli
    }

    /// What is banked, in thousandths of a unit.
    pub fn bank_milli(&self) -> u64 {
        self.bank_milli
    }

    /// Goes on to the second of `now`: what was not used is banked. A clock that steps back changes nothing.
    fn roll(&mut self, now: Instant) {
        let second = now.second();
        if second <= self.second {
            return;
        }
        if let Some(burst) = self.active_burst() {
            let idle = (second - self.second - 1).saturating_mul(self.rate_milli);
            let unused = self.rate_milli.saturating_sub(self.used_milli).saturating_add(idle);
            let most = self.rate_milli.saturating_mul(burst.seconds);
            self.bank_milli = self.bank_milli.saturating_add(unused).min(most);
        }
        (self.second, self.used_milli) = (second, 0);
    }

    /// Whether a request may pass at `now`.
    pub fn admits(&mut self, now: Instant) -> bool {
        self.roll(now);
        let share = self.rate_milli + self.rate_milli * self.leak_per_mille / 1_000;
        self.used_milli < share
            || self
                .active_burst()
                .is_some_and(|burst| self.bank_milli > 0 && self.used_milli < burst.ceiling * MILLI)
    }

    /// Pays for a request that was admitted.
    pub fn settle(&mut self, now: Instant, charge_milli: u64) {
        self.roll(now);
        let over_before = self.used_milli.saturating_sub(self.rate_milli);
        self.used_milli = self.used_milli.saturating_add(charge_milli);
        let over = self.used_milli.saturating_sub(self.rate_milli) - over_before;
        self.bank_milli = self.bank_milli.saturating_sub(over);
    }

    /// When a request would be admitted again.
    pub fn admits_at(&mut self, now: Instant) -> Instant {
        if self.admits(now) { now } else { Instant::from_secs(self.second.max(now.second()) + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Served in each second when as much is asked for as passes, a unit at a time.
    fn saturate(window: &mut BankedWindow, from: u64, seconds: u64) -> Vec<u64> {
        (from..from + seconds)
            .map(|second| {
                let now = Instant::from_secs(second);
                let mut served = 0;
                while window.admits(now) {
                    window.settle(now, MILLI);
                    served += 1;
                }
                served
            })
            .collect()
    }

    /// "Burst capacity": 100 RU/s idle for five minutes bank 30,000 RU, which is 3,000 RU/s for ten seconds.
    #[test]
    fn five_idle_minutes_of_100_give_3000_for_ten_seconds() {
        let mut window = BankedWindow::new(100 * MILLI, Some(CosmosBurst::default()), 0, Instant::START);
        let served = saturate(&mut window, 301, 12);
        assert_eq!(&served[..10], [3_000; 10]);
        assert_eq!(served[11], 100);
        assert!((100..=1_100).contains(&served[10]), "{served:?}");
    }

    #[test]
    fn at_3000_there_is_no_burst_and_without_it_nothing_is_banked() {
        for (rate, burst) in [(3_000, Some(CosmosBurst::default())), (100, None)] {
            let mut window = BankedWindow::new(rate * MILLI, burst, 0, Instant::START);
            assert_eq!(saturate(&mut window, 301, 3), [rate; 3]);
        }
    }

    #[test]
    fn the_last_request_overdraws_and_the_next_second_forgets_it() {
        let mut window = BankedWindow::new(100 * MILLI, None, 0, Instant::START);
        window.settle(Instant::START, 99 * MILLI);
        assert!(window.admits(Instant::START));
        window.settle(Instant::START, 50 * MILLI);
        assert!(!window.admits(Instant::from_millis(999)));
        assert_eq!(window.admits_at(Instant::from_millis(999)), Instant::from_secs(1));
        assert_eq!(saturate(&mut window, 1, 1), [100]);
    }

    #[test]
    fn a_leak_serves_so_much_more() {
        let mut window = BankedWindow::new(7_000 * MILLI, None, 140, Instant::START);
        assert_eq!(saturate(&mut window, 1, 2), [7_980, 7_980]);
    }
}
