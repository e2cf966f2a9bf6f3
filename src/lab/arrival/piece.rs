//! A stretch of time in which the rate goes in a straight line, and the exact arithmetic of it.
//!
//! Every shape of a rate is made of these. Rates are whole numbers and time is whole nanoseconds, so that the integral at
//! the end of a piece is whole, and the nanosecond in which it reaches a value is found without rounding. Floating-point
//! numbers only say where to look first.
//!
//! - A *rate* is in the unit of the phase: operations a second, or thousandths of them.
//! - *Work* is twice the integral of the rate, in rate × nanoseconds: twice, because the mean of two rates may be a half.
//!
//! Sizes: a phase has at most 10¹⁰ operations and 3.2 × 10¹⁶ ns, so twice its work times its length stays below 10³⁷. A
//! piece of a wave may be steeper than its phase allows where it is cut; it has at most 4 × 10¹¹ ns and a rate of 10¹³
//! parts, and stays below that as well. Both fit the 127 bits that are used.

/// A piece: from rate `from` to rate `to` over `length` nanoseconds, of which the last may be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Nanoseconds after the begin of the phase.
    pub(super) begin: u64,
    /// Nanoseconds from the one rate to the other; not zero.
    pub(super) length: u64,
    /// Nanoseconds of it that lie in the phase; not more than `length`.
    pub(super) used: u64,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Piece {
    /// A piece that lies in its phase and keeps its rate.
    pub(super) fn level(begin: u64, length: u64, rate: u64) -> Self {
        Self { begin, length, used: length, from: rate, to: rate }
    }

    /// Work of the whole length.
    pub(super) fn work(&self) -> u128 {
        (u128::from(self.from) + u128::from(self.to)) * u128::from(self.length)
    }

    /// Work of what lies in the phase, times `length`, so that it is whole.
    pub(super) fn used_work_times_length(&self) -> i128 {
        self.work_times_length(self.used)
    }

    /// Work of the first `nanos`, times `length`. Never falls with `nanos` up to `length`, as no rate is below zero.
    #[inline]
    fn work_times_length(&self, nanos: u64) -> i128 {
        let (nanos, length) = (i128::from(nanos), i128::from(self.length));
        let (from, to) = (i128::from(self.from), i128::from(self.to));
        2 * from * length * nanos + (to - from) * nanos * nanos
    }

    /// The last nanosecond at which no more than `work` has been done; `work` has to be less than that of the whole.
    pub(super) fn nanos_at(&self, work: u128) -> u64 {
        debug_assert!(work < self.work());
        if self.from == self.to {
            return level_nanos_at(work, self.from);
        }
        let goal = work as i128 * i128::from(self.length);
        let before = |nanos: u64| self.work_times_length(nanos) <= goal;
        // The solution is between `low`, which is before, and `high`, which is not: near the guess if it is good.
        let guess = self.guess(work).min(self.length - 1);
        let (mut low, mut high) = if before(guess) { (guess, self.length) } else { (0, guess) };
        let mut reach = 1;
        if low == guess {
            while low + reach < high && before(low + reach) {
                low += reach;
                reach *= 2;
            }
            high = high.min(low + reach);
        } else {
            while reach < high && !before(high - reach) {
                high -= reach;
                reach *= 2;
            }
            low = high.saturating_sub(reach);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if before(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// About the nanosecond at which `work` is done: the root of the quadratic, in the form that does not cancel.
    fn guess(&self, work: u128) -> u64 {
        let (from, work) = (self.from as f64, work as f64);
        let slope = (self.to as f64 - from) / self.length as f64;
        let root = (from * from + slope * work).max(0.0).sqrt();
        // Nothing over nothing is no number, which this conversion makes zero: as it should be.
        (work / (from + root)) as u64
    }
}

/// The same at a constant rate. Nearly all work fits 64 bits, in which division is several times as fast.
#[inline]
fn level_nanos_at(work: u128, rate: u64) -> u64 {
    let divisor = 2 * u128::from(rate.max(1));
    match (u64::try_from(work), u64::try_from(divisor)) {
        (Ok(work), Ok(divisor)) => work / divisor,
        _ => (work / divisor) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nanosecond that is found is the last one before: checked by its definition.
    #[test]
    fn the_nanosecond_is_exact() {
        let hour = 3_600_000_000_000;
        for (from, to, length) in [
            (0, 1, 10),
            (1, 0, 10),
            (0, 7, 1),
            (5, 5, 1_000),
            (0, 1_000, hour),
            (1_000, 0, hour),
            (999, 1_000, hour),
            (1_000_000, 3, hour / 7 + 1),
            // The largest there may be.
            (632, 0, 366 * 24 * hour),
            (0, 632, 366 * 24 * hour),
            (0, 10_000_000_000, 2_000_000_000),
            (10_000_000_000_000, 0, 366_000_000_000),
        ] {
            let piece = Piece { begin: 0, length, used: length, from, to };
            let whole = piece.work();
            let mut before = 0;
            for part in 0..=1_000_u128 {
                let work = (whole - 1) * part / 1_000;
                let nanos = piece.nanos_at(work);
                assert!(nanos < length && nanos >= before, "{piece:?} at {work}: {nanos}");
                let goal = work as i128 * i128::from(length);
                assert!(piece.work_times_length(nanos) <= goal, "{piece:?} at {work}: {nanos}");
                assert!(piece.work_times_length(nanos + 1) > goal, "{piece:?} at {work}: {nanos}");
                before = nanos;
            }
            assert_eq!(piece.used_work_times_length(), whole as i128 * i128::from(length));
        }
    }
}
