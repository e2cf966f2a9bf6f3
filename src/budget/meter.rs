//! The arithmetic of one limit, without any state: a token bucket or a one-second window.
//!
//! A meter's state is a single word that the caller keeps (in an atomic for the engine, in a plain array for the
//! lab). Both kinds are exact: no float, no drift, no lost remainder.
//!
//! **Bucket.** Let `A(t)` be the units that have accrued since the clock began, `⌊t × rate⌋`, computed from the
//! absolute time, so that rounding never adds up. The word is what has been *spent* on that scale:
//!
//! ```text
//!   balance(t) = capacity + A(t) − spent          spent is never below A(t): a full bucket overflows
//!
//!   units ▲            ╱ capacity + A(t)
//!         │        ╱  ┃ balance
//!         │    ╱  ━━━━┛ spent
//!         │╱  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━► t
//! ```
//!
//! **Window.** Cosmos DB resets what is available each second ("Diagnose and troubleshoot request rate too large":
//! the RU/s are "reset every second"). The word holds the second in its upper half and what was used in it in the lower.
//!
//! - A clock that steps back refills nothing: the word stays, and requests wait until the clock has caught up.

use crate::clock::{Instant, NANOS_PER_SEC};
use crate::error::{Error, Result};
use crate::units::MILLI;

/// A rate of refill, in units per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    milli_per_sec: u64,
}

impl Rate {
    /// The highest rate a meter accepts, in units per second. Ten thousand DynamoDB partitions at full write rate;
    /// with it the accrual scale lasts 58 years of clock time.
    pub const MAX_UNITS_PER_SEC: u64 = 10_000_000;

    /// `units` each second.
    ///
    /// # Errors
    /// When the rate is zero or above [`MAX_UNITS_PER_SEC`](Self::MAX_UNITS_PER_SEC).
    pub fn per_second(units: u64) -> Result<Self> {
        Self::milli_per_second(units.saturating_mul(MILLI))
    }

    /// `milli` thousandths of a unit each second.
    ///
    /// # Errors
    /// When the rate is zero or above [`MAX_UNITS_PER_SEC`](Self::MAX_UNITS_PER_SEC).
    pub fn milli_per_second(milli: u64) -> Result<Self> {
        if milli == 0 {
            return Err(Error::invalid(
                "a throughput of zero admits nothing: give at least one unit a second",
            ));
        }
        if milli > Self::MAX_UNITS_PER_SEC * MILLI {
            return Err(Error::invalid(format!(
                "a throughput of {} units a second is beyond the highest that can be metered, {}",
                milli / MILLI,
                Self::MAX_UNITS_PER_SEC
            )));
        }
        Ok(Self { milli_per_sec: milli })
    }

    /// Thousandths of a unit each second.
    pub const fn milli(self) -> u64 {
        self.milli_per_sec
    }

    /// Units each second, for display.
    pub fn units(self) -> f64 {
        self.milli_per_sec as f64 / MILLI as f64
    }

    /// An equal share of the rate for each of `parts`, rounded down, at least a thousandth.
    pub fn share(self, parts: u32) -> Self {
        Self { milli_per_sec: (self.milli_per_sec / u64::from(parts.max(1))).max(1) }
    }

    /// The smaller of two rates.
    pub fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }

    /// Milli-units that accrue from the beginning of the clock until `now`.
    fn accrued(self, now: Instant) -> u64 {
        let seconds = now.nanos() / NANOS_PER_SEC;
        let nanos = now.nanos() % NANOS_PER_SEC;
        // Neither product overflows below MAX: nanos < 10⁹ and the rate ≤ 10¹⁰ milli-units.
        seconds.saturating_mul(self.milli_per_sec).saturating_add(nanos * self.milli_per_sec / NANOS_PER_SEC)
    }

    /// The first instant at which `milli` have accrued.
    fn accrued_at(self, milli: u64) -> Instant {
        let nanos = (u128::from(milli) * u128::from(NANOS_PER_SEC)).div_ceil(u128::from(self.milli_per_sec));
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// How full a meter is when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing: whatever is offered meets the steady state at once.
    Empty,
    /// Half a second's worth: what a ceiling holds when full, and no burst credit. Load experiments begin so.
    Base,
    /// All it can hold, burst credit included.
    Full,
}

/// One limit: how units come back and how many can be saved up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// A token bucket that refills evenly.
    Bucket {
        /// Refill.
        rate: Rate,
        /// The most it holds, in milli-units.
        capacity_milli: u64,
    },
    /// A fixed allowance for each whole second of the clock; nothing is carried over.
    Window {
        /// The allowance of each second.
        rate: Rate,
    },
}

/// A ceiling holds half a second's worth. Fitted: it reproduces the 1,250 writes a second that AWS published for a
/// sorted load onto a new on-demand table, where a whole second's worth would give 1,670.
const CEILING_MILLIS: u64 = 500;

/// Bits of a window's word that hold what was used; the bits above hold the second.
const WINDOW_USED_BITS: u32 = 32;
const WINDOW_USED_MASK: u64 = (1 << WINDOW_USED_BITS) - 1;

impl Meter {
    /// The ceiling of a partition: half a second's worth, refilled evenly.
    pub fn ceiling(rate: Rate) -> Self {
        Self::Bucket { rate, capacity_milli: (rate.milli() * CEILING_MILLIS / 1_000).max(1) }
    }

    /// An allowance whose unused units are kept for up to `burst_seconds`
    /// (DynamoDB developer guide, "Burst and adaptive capacity": "up to five minutes (300 seconds)").
    pub fn allowance(rate: Rate, burst_seconds: u32) -> Self {
        let base = rate.milli() * CEILING_MILLIS / 1_000;
        let burst = rate.milli().saturating_mul(u64::from(burst_seconds));
        Self::Bucket { rate, capacity_milli: base.max(burst).max(1) }
    }

    /// A fixed one-second window. Rates above 2³² milli-units a second, 430 times what a Cosmos DB partition serves,
    /// count as that much.
    pub fn window(rate: Rate) -> Self {
        let rate = rate.min(Rate { milli_per_sec: WINDOW_USED_MASK });
        Self::Window { rate }
    }

    /// What comes back each second.
    pub fn rate(&self) -> Rate {
        match *self {
            Self::Bucket { rate, .. } | Self::Window { rate } => rate,
        }
    }

    /// What the meter says at `now`, for any number of states: the lab reads it once for all partitions.
    #[inline]
    pub fn at(&self, now: Instant) -> Reading {
        match *self {
            Self::Bucket { rate, capacity_milli } => {
                let floor = rate.accrued(now);
                Reading { floor, limit: floor.saturating_add(capacity_milli), most: u64::MAX }
            }
            Self::Window { rate } => {
                let floor = now.second().min(WINDOW_USED_MASK) << WINDOW_USED_BITS;
                Reading { floor, limit: floor + rate.milli(), most: floor | WINDOW_USED_MASK }
            }
        }
    }

    /// The state of a meter that begins at `now`.
    pub fn begin(&self, now: Instant, fill: Fill) -> u64 {
        let reading = self.at(now);
        match (*self, fill) {
            (Self::Window { .. }, _) => reading.floor,
            (Self::Bucket { .. }, Fill::Full) => reading.floor,
            (Self::Bucket { .. }, Fill::Empty) => reading.limit,
            (Self::Bucket { rate, capacity_milli }, Fill::Base) => {
                reading.limit - (rate.milli() * CEILING_MILLIS / 1_000).clamp(1, capacity_milli)
            }
        }
    }

    /// Units on hand at `now`, in milli-units: negative while charges of admitted requests are being paid back.
    pub fn balance_milli(&self, state: u64, now: Instant) -> i64 {
        self.at(now).balance_milli(state)
    }

    /// Whether a request may pass at `now`.
    #[inline]
    pub fn admits(&self, state: u64, now: Instant) -> bool {
        self.at(now).admits(state)
    }

    /// The state after `charge_milli` were spent at `now`.
    #[inline]
    pub fn settle(&self, state: u64, now: Instant, charge_milli: u64) -> u64 {
        self.at(now).settle(state, charge_milli)
    }

    /// The first instant, `now` or later, at which a request would be admitted if nobody else came.
    pub fn admits_at(&self, state: u64, now: Instant) -> Instant {
        if self.admits(state, now) {
            return now;
        }
        match *self {
            Self::Bucket { rate, capacity_milli } => {
                rate.accrued_at(state.saturating_sub(capacity_milli).saturating_add(1)).max(now)
            }
            Self::Window { .. } => Instant::from_secs((state >> WINDOW_USED_BITS).max(now.second()) + 1),
        }
    }

    /// The state under `next` that holds the same balance as `state` holds under this meter, as far as `next` can
    /// hold it. For a change of throughput, a split or a merge.
    pub fn carry_over(&self, state: u64, next: &Self, now: Instant) -> u64 {
        let balance = self.balance_milli(state, now);
        let reading = next.at(now);
        let spent = if balance >= 0 {
            reading.limit.saturating_sub(balance.unsigned_abs())
        } else {
            reading.limit.saturating_add(balance.unsigned_abs())
        };
        spent.clamp(reading.floor, reading.most)
    }
}

/// A meter at one instant. Both kinds of meter read alike: a state below `floor` has been refilled since, one at
/// `limit` or above has nothing left.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    floor: u64,
    limit: u64,
    /// The highest state: a window must not spill into the next second.
    most: u64,
}

impl Reading {
    /// Whether a request may pass.
    #[inline]
    pub fn admits(&self, state: u64) -> bool {
        state.max(self.floor) < self.limit
    }

    /// The state after `charge_milli` were spent.
    #[inline]
    pub fn settle(&self, state: u64, charge_milli: u64) -> u64 {
        // A state beyond `most` belongs to a later second, from before the clock stepped back: it stays.
        state.max(self.floor).saturating_add(charge_milli).min(self.most.max(state))
    }

    /// Units on hand, in milli-units.
    pub fn balance_milli(&self, state: u64) -> i64 {
        let spent = state.max(self.floor);
        // Balances stay far below `i64::MAX`; beyond it only their sign matters.
        let clamp = |milli: u64| i64::try_from(milli).unwrap_or(i64::MAX);
        if spent <= self.limit { clamp(self.limit - spent) } else { -clamp(spent - self.limit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn rate(units: u64) -> Rate {
        Rate::per_second(units).unwrap()
    }

    /// Offers `per_second` unit requests, evenly spaced, for `seconds`; returns those admitted in each second.
    fn offer(meter: &Meter, fill: Fill, per_second: u64, seconds: u64) -> Vec<u64> {
        let mut state = meter.begin(Instant::START, fill);
        let mut served = vec![0; seconds as usize];
        for i in 0..per_second * seconds {
            let now = Instant::from_nanos((u128::from(i) * 1_000_000_000 / u128::from(per_second)) as u64);
            if meter.admits(state, now) {
                state = meter.settle(state, now, MILLI);
                served[now.second() as usize] += 1;
            }
        }
        served
    }

    #[test]
    fn a_ceiling_serves_its_rate_after_half_a_second_of_credit() {
        let served = offer(&Meter::ceiling(rate(1_000)), Fill::Full, 3_000, 4);
        assert!((1_499..=1_501).contains(&served[0]), "{served:?}");
        assert!(served[1..].iter().all(|n| (999..=1_001).contains(n)), "{served:?}");
    }

    /// AWS re:Post, "short spikes": 150 RCU idle for five minutes bank 45,000 units; a spike to 200 lasts 900 s.
    #[test]
    fn burst_of_150_rcu_carries_200_for_900_seconds() {
        let meter = Meter::allowance(rate(150), 300);
        let served = offer(&meter, Fill::Full, 200, 1_000);
        let first_throttle = served.iter().position(|&n| n < 200).unwrap();
        assert!((899..=901).contains(&first_throttle), "{first_throttle}");
        assert!(served[first_throttle + 1..].iter().all(|n| (149..=151).contains(n)));
    }

    #[test]
    fn a_window_resets_each_second_and_carries_no_debt() {
        let meter = Meter::window(rate(400));
        let at = Instant::from_millis;
        let mut state = meter.begin(at(0), Fill::Full);
        state = meter.settle(state, at(900), 1_000 * MILLI);
        assert_eq!(meter.balance_milli(state, at(999)), -600_000);
        assert_eq!(meter.admits_at(state, at(950)), at(1_000));
        assert_eq!(meter.balance_milli(state, at(1_000)), 400_000);
    }

    #[test]
    fn a_clock_that_steps_back_refills_nothing() {
        for meter in [Meter::ceiling(rate(10)), Meter::window(rate(10))] {
            let mut state = meter.begin(Instant::from_secs(100), Fill::Base);
            state = meter.settle(state, Instant::from_secs(100), 10 * MILLI);
            let before = meter.balance_milli(state, Instant::from_secs(100));
            assert!(meter.balance_milli(state, Instant::from_secs(1)) <= before);
            assert!(!meter.admits(state, Instant::from_secs(1)));
            state = meter.settle(state, Instant::from_secs(1), MILLI);
            assert!(meter.balance_milli(state, Instant::from_secs(100)) <= before);
        }
    }

    #[test]
    fn zero_and_absurd_rates_are_refused() {
        assert!(Rate::per_second(0).is_err());
        assert!(Rate::per_second(Rate::MAX_UNITS_PER_SEC + 1).is_err());
        assert!(Rate::per_second(u64::MAX).is_err());
    }

    fn any_meter() -> impl Strategy<Value = Meter> {
        (1..5_000_000_u64, 0..400_u32, 0..3).prop_map(|(milli, burst, kind)| {
            let rate = Rate::milli_per_second(milli).unwrap();
            match kind {
                0 => Meter::ceiling(rate),
                1 => Meter::allowance(rate, burst),
                _ => Meter::window(rate),
            }
        })
    }

    proptest! {
        /// What is admitted over any stretch is at most what was held, what came back, and one charge in flight.
        #[test]
        fn admitted_is_bounded(
            meter in any_meter(),
            steps in proptest::collection::vec((0..3_000_000_000_u64, 1..20_000_u64), 1..200),
        ) {
            let begin = Instant::from_secs(5);
            let mut state = meter.begin(begin, Fill::Full);
            let (mut now, mut admitted, mut largest) = (begin, 0_u64, 0);
            for (gap, charge) in steps {
                now = now.after(Duration::from_nanos(gap));
                if meter.admits(state, now) {
                    state = meter.settle(state, now, charge);
                    admitted += charge;
                    largest = largest.max(charge);
                }
                let elapsed = u128::from(now.since(begin).as_nanos() as u64);
                let bound = match meter {
                    Meter::Bucket { rate, capacity_milli } => {
                        u128::from(capacity_milli) + elapsed * u128::from(rate.milli()) / 1_000_000_000 + 1
                    }
                    // One allowance a window, and each window may be overdrawn by one charge.
                    Meter::Window { rate } => {
                        u128::from(rate.milli() + largest) * (u128::from(now.second() - begin.second()) + 1)
                    }
                };
                prop_assert!(u128::from(admitted) <= bound + u128::from(largest), "{admitted} > {bound}");
            }
        }

        #[test]
        fn admits_at_is_the_first_moment(meter in any_meter(), charge in 1..50_000_000_u64, at in 0..10_000_000_000_u64) {
            let now = Instant::from_nanos(at);
            let state = meter.settle(meter.begin(now, Fill::Base), now, charge);
            let when = meter.admits_at(state, now);
            prop_assert!(meter.admits(state, when));
            if when > now {
                prop_assert!(!meter.admits(state, Instant::from_nanos(when.nanos() - 1)));
            }
        }

        #[test]
        fn carrying_over_never_creates_units(a in any_meter(), b in any_meter(), charge in 0..10_000_000_u64) {
            let now = Instant::from_millis(12_345);
            let state = a.settle(a.begin(now, Fill::Full), now, charge);
            let carried = a.carry_over(state, &b, now);
            prop_assert!(b.balance_milli(carried, now) <= a.balance_milli(state, now));
        }
    }
}
