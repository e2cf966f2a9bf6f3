//! Time as a value. An [`Instant`] is nanoseconds since its clock began; the engine is handed `now` and never asks.
//!
//! ```text
//!   Clock::system()   real time, monotonic               server, wall-clock drivers
//!   Clock::manual()   stands still until advanced        tests, the lab
//!   Clock::stepping() moves by a fixed step at each look  property tests that want time to pass by itself
//! ```
//!
//! This is the only file of the core that may name a system clock. It does not know calendars or time zones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point in time: nanoseconds since the beginning of its clock. Lasts 584 years; arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The beginning of the clock.
    pub const START: Self = Self(0);

    /// `nanos` after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `millis` after the beginning.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// `secs` after the beginning.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// Nanoseconds since the beginning.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Whole seconds since the beginning: the second this instant lies in.
    pub const fn second(self) -> u64 {
        self.0 / NANOS_PER_SEC
    }

    /// This instant and `duration` more.
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Time from `earlier` to this instant; zero when `earlier` is not earlier (clocks may step back).
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Where `now` comes from. Cheap to clone; clones share the time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System { began: std::time::Instant },
    Virtual { nanos: Arc<AtomicU64>, step: u64 },
}

impl Clock {
    /// The machine's monotonic clock, from zero at this call.
    pub fn system() -> Self {
        Self(Source::System { began: std::time::Instant::now() })
    }

    /// A clock that stands at zero until [`advance`](Self::advance) moves it.
    pub fn manual() -> Self {
        Self(Source::Virtual { nanos: Arc::default(), step: 0 })
    }

    /// A clock that moves by `step` every time it is read, and otherwise like [`manual`](Self::manual).
    pub fn stepping(step: Duration) -> Self {
        let step = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        Self(Source::Virtual { nanos: Arc::default(), step })
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        match &self.0 {
            Source::System { began } => Instant::START.after(began.elapsed()),
            Source::Virtual { nanos, step: 0 } => Instant(nanos.load(Ordering::Acquire)),
            Source::Virtual { nanos, step } => {
                let before = nanos
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| Some(n.saturating_add(*step)));
                // The closure never returns `None`, so both arms carry the previous value.
                Instant(before.unwrap_or_else(|n| n))
            }
        }
    }

    /// Moves a virtual clock forward and returns the new time; a system clock moves by itself and ignores this.
    pub fn advance(&self, by: Duration) -> Instant {
        if let Source::Virtual { nanos, .. } = &self.0 {
            let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
            let _ = nanos.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| Some(n.saturating_add(by)));
        }
        self.now()
    }

    /// Whether time moves only when told to.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0, Source::Virtual { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_clock_moves_only_when_told_and_clones_share_it() {
        let clock = Clock::manual();
        let other = clock.clone();
        assert_eq!(clock.now(), Instant::START);
        other.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now(), Instant::from_millis(1_500));
        assert_eq!(clock.now().second(), 1);
    }

    #[test]
    fn stepping_clock_moves_at_each_look() {
        let clock = Clock::stepping(Duration::from_nanos(5));
        assert_eq!(clock.now().nanos(), 0);
        assert_eq!(clock.now().nanos(), 5);
    }

    #[test]
    fn since_never_runs_backwards() {
        assert_eq!(Instant::from_secs(1).since(Instant::from_secs(2)), Duration::ZERO);
    }
}
