//! The highest rate that a design holds: the answer to "what can I run at?".

use super::gate::Gate;
use super::replay::Pace;
use super::{Attempts, WriteLimits};

/// A rate counts as held when it was held for this long.
pub const MAX_RATE_HOLD_SECONDS: u64 = 300;

/// And when at most this many in a thousand first attempts were throttled.
pub const MAX_RATE_THROTTLED_PER_MILLE: u64 = 1;

/// The search ends when lower and upper bound are within this fraction of each other: one in a hundred.
const RESOLUTION: u64 = 100;

/// The highest rate that is tried, in writes a second.
const RATE_MAX: u64 = 10_000_000;

/// The highest constant rate at which at most 0.1 % of first attempts are throttled, to 1 %. The rows are repeated
/// as often as 300 seconds need.
///
/// `guess` is where to look first; a good one saves time and changes nothing else. Zero when not even one write a
/// second passes.
pub fn max_rate(limits: &WriteLimits, attempts: Attempts<'_>, guess: f64) -> u64 {
    let mut gate = Gate::new(limits, &attempts, false);
    let mut holds = |rate| holds(&mut gate, rate);
    let guess = (guess as u64).clamp(1, RATE_MAX);
    // Bracket: `low` holds (or is zero), `high` does not (or is beyond what is tried).
    let (mut low, mut high);
    let mut step = (guess / (2 * RESOLUTION)).max(1);
    if holds(guess.saturating_sub(step).max(1)) {
        low = guess.saturating_sub(step).max(1);
        high = guess + step;
        while high <= RATE_MAX && holds(high) {
            low = high;
            step *= 2;
            high = low + step;
        }
    } else {
        high = guess.saturating_sub(step).max(1);
        low = high.saturating_sub(step);
        while low > 0 && !holds(low) {
            high = low;
            step *= 2;
            low = high.saturating_sub(step);
        }
    }
    while high - low > (low / RESOLUTION).max(1) {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// Whether `rate` is held.
fn holds(gate: &mut Gate, rate: u64) -> bool {
    let offered = rate * MAX_RATE_HOLD_SECONDS;
    let mut spare = offered * MAX_RATE_THROTTLED_PER_MILLE / 1_000;
    gate.reset();
    let mut pace = Pace::new(rate);
    for write in (0..gate.writes()).cycle().take(offered as usize) {
        if gate.offer(write, pace.next_start()).is_some() {
            if spare == 0 {
                return false;
            }
            spare -= 1;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::units::Bytes;

    #[test]
    fn the_hottest_partition_decides() {
        let profile = Profile::dynamodb_provisioned(1, 10_000).unwrap();
        let limits = WriteLimits::new(&profile, Bytes::from_kb(1));
        // Key 0 has half of the writes, the others share the rest.
        let rows: Vec<u32> = (0..1_000).map(|i| if i % 2 == 0 { 0 } else { 1 + i % 9 }).collect();
        let partition_of: Vec<u16> = (0..10).collect();
        let attempts = Attempts { rows: &rows, partition_of: &partition_of, indexes: &[] };
        for guess in [1.0, 500.0, 2_000.0, 9_000.0, 1e9] {
            let found = max_rate(&limits, attempts, guess);
            assert!((1_980..=2_020).contains(&found), "{guess} {found}");
        }
        // Evenly spread, the table is the limit.
        let rows: Vec<u32> = (0..1_000).map(|i| i % 10).collect();
        let attempts = Attempts { rows: &rows, partition_of: &partition_of, indexes: &[] };
        let found = max_rate(&limits, attempts, 3_000.0);
        assert!((9_900..=10_100).contains(&found), "{found}");
    }
}
