//! How many operations a second, over the time of a phase: as a shape, and as the straight pieces it is made of.

use super::piece::Piece;
use super::{ArrivalError, LENGTH_MAX, OPERATIONS_MAX, RATE_MAX, work_of_operation};
use crate::clock::NANOS_PER_SEC;
use std::time::Duration;

/// Operations a second, over the time of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateShape {
    /// Always the same. Zero is a pause.
    Constant(u64),
    /// In a straight line from one rate at the begin of the phase to the other at its end.
    Ramp {
        /// Operations a second at the begin.
        from: u64,
        /// Operations a second at the end.
        to: u64,
    },
    /// From each point of time on, another rate; before the first, none.
    Step {
        /// Time after the begin of the phase, ascending and below its length, and operations a second from then on.
        rates: Vec<(Duration, u64)>,
    },
    /// One rate, and for a while another.
    Spike {
        /// Operations a second before and after.
        base: u64,
        /// Operations a second during the spike.
        peak: u64,
        /// Begin of the spike after the begin of the phase.
        at: Duration,
        /// Length of the spike, which has to end with the phase or before.
        lasts: Duration,
    },
    /// A wave as of day and night, beginning in the night: `low + (high - low) × (1 - cos(2π t ÷ period)) ÷ 2`.
    ///
    /// Followed in straight lines of a second, or of a 256th of the period where that is shorter, or of an 86,400th where
    /// the period is longer than a day; to a thousandth of an operation a second at their ends.
    Diurnal {
        /// Operations a second at the begin of each period.
        low: u64,
        /// Operations a second in its middle.
        high: u64,
        /// Length of a wave: a millisecond to [`LENGTH_MAX`], and at least a 10,000th of the phase.
        period: Duration,
    },
}

/// Straight pieces of a wave, at the least and at the most.
const WAVE_PIECES: std::ops::RangeInclusive<u64> = 256..=86_400;

/// Parts of an operation a second that the rates of a wave are told in.
const WAVE_PARTS: u64 = 1_000;

/// A wave lasts this long at the least, ...
pub(super) const PERIOD_MIN: Duration = Duration::from_millis(1);

/// ... and begins so often in a phase at the most, so that a phase with few operations has no end of pieces.
pub(super) const WAVES_MAX: u32 = 10_000;

/// Nanoseconds of what has been found to be short enough.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl RateShape {
    /// Parts of an operation a second that the rates of its pieces are told in.
    pub(super) fn parts(&self) -> u64 {
        if matches!(self, Self::Diurnal { .. }) { WAVE_PARTS } else { 1 }
    }

    /// Whether this fits a phase (counted from 1) of this length.
    pub(super) fn check(&self, phase: usize, length: Duration) -> Result<(), ArrivalError> {
        let rate =
            |given: u64| if given > RATE_MAX { Err(ArrivalError::Rate { phase, given }) } else { Ok(()) };
        match self {
            Self::Constant(only) => rate(*only),
            Self::Ramp { from, to } => rate(*from).and(rate(*to)),
            Self::Step { rates } => {
                if rates.is_empty() {
                    return Err(ArrivalError::NoSteps { phase });
                }
                for (i, &(at, of_step)) in rates.iter().enumerate() {
                    if at >= length || i > 0 && at <= rates[i - 1].0 {
                        return Err(ArrivalError::Step { phase, step: i + 1, at, lasts: length });
                    }
                    rate(of_step)?;
                }
                Ok(())
            }
            Self::Spike { base, peak, at, lasts } => {
                let within = at.checked_add(*lasts).is_some_and(|end| end <= length);
                if lasts.is_zero() || !within {
                    return Err(ArrivalError::Spike { phase, lasts: length });
                }
                rate(*base).and(rate(*peak))
            }
            Self::Diurnal { low, high, period } => {
                if *period < PERIOD_MIN || *period > LENGTH_MAX || length > *period * WAVES_MAX {
                    return Err(ArrivalError::Period { phase });
                }
                rate(*low).and(rate(*high))
            }
        }
    }

    /// The `index`-th piece of a phase of `length` nanoseconds; `None` after the last. Pieces follow each other without a
    /// gap, and only the last may be cut. With the piece comes the index to ask for next: a step or a spike at the begin
    /// leaves a piece without length, which is passed over.
    pub(super) fn piece(&self, length: u64, index: u64) -> Option<(Piece, u64)> {
        let next = index + 1;
        match self {
            Self::Constant(rate) => (index == 0).then_some((Piece::level(0, length, *rate), next)),
            Self::Ramp { from, to } => {
                (index == 0).then_some((Piece { begin: 0, length, used: length, from: *from, to: *to }, next))
            }
            // The rest before the first step is the piece of index 0.
            Self::Step { rates } => levels(length, index, rates.len() as u64 + 1, |i| match i {
                0 => (0, 0),
                _ => (nanos(rates[i as usize - 1].0), rates[i as usize - 1].1),
            }),
            Self::Spike { base, peak, at, lasts } => levels(length, index, 3, |i| match i {
                0 => (0, *base),
                1 => (nanos(*at), *peak),
                _ => (nanos(*at + *lasts), *base),
            }),
            Self::Diurnal { low, high, period } => {
                let (period, pieces) = (nanos(*period), wave_pieces(nanos(*period)));
                let (wave, within) = (index / pieces, index % pieces);
                // 366 days of nanoseconds times 86,400 pieces fit 128 bits.
                let at = |piece: u64| (u128::from(period) * u128::from(piece) / u128::from(pieces)) as u64;
                let (begin, end) = (at(within), at(within + 1));
                let begin_in_phase = wave * period + begin;
                if begin_in_phase >= length {
                    return None;
                }
                let piece = Piece {
                    begin: begin_in_phase,
                    length: end - begin,
                    used: (end - begin).min(length - begin_in_phase),
                    from: wave_rate(*low, *high, within, pieces),
                    to: wave_rate(*low, *high, within + 1, pieces),
                };
                Some((piece, next))
            }
        }
    }

    /// Work of a phase of `length` nanoseconds, as a fraction: what it is of, and what by.
    ///
    /// Whole waves are counted, not walked through, so that the number of pieces looked at does not grow with the phase.
    /// What is more than any schedule may have is told as twice that: then no product overflows.
    pub(super) fn work(&self, length: u64) -> (u128, u128) {
        let (mut work, mut rest) = (0_u128, length);
        if let Self::Diurnal { period, .. } = self {
            let period = nanos(*period);
            let waves = length / period;
            rest = length % period;
            if waves > 0 {
                let (of_one, by) = self.work_of_pieces(period);
                work = (u128::from(waves) * (of_one / by)).min(self.work_max());
            }
        }
        let (of_rest, by) = self.work_of_pieces(rest);
        (work * by + of_rest, by)
    }

    fn work_of_pieces(&self, length: u64) -> (u128, u128) {
        let (mut work, mut index) = (0_u128, 0);
        while let Some((piece, next)) = self.piece(length, index) {
            if piece.used < piece.length {
                let by = u128::from(piece.length);
                return (work * by + piece.used_work_times_length().unsigned_abs(), by);
            }
            work = (work + piece.work()).min(self.work_max());
            index = next;
        }
        (work, 1)
    }

    fn work_max(&self) -> u128 {
        2 * u128::from(OPERATIONS_MAX) * work_of_operation(self.parts())
    }
}

/// Pieces of a wave: of a second each, within what is accepted.
fn wave_pieces(period: u64) -> u64 {
    period.div_ceil(NANOS_PER_SEC).clamp(*WAVE_PIECES.start(), *WAVE_PIECES.end())
}

/// The rate at the begin of a piece of a wave, in parts.
fn wave_rate(low: u64, high: u64, piece: u64, pieces: u64) -> u64 {
    let turn = 2.0 * std::f64::consts::PI * (piece as f64 / pieces as f64);
    let (low, high) = ((low * WAVE_PARTS) as f64, (high * WAVE_PARTS) as f64);
    (low + (high - low) * (1.0 - libm::cos(turn)) / 2.0 + 0.5) as u64
}

/// The first piece with a length from `index` on, of `count` pieces at constant rates that begin in order.
fn levels(
    length: u64,
    index: u64,
    count: u64,
    begin_and_rate: impl Fn(u64) -> (u64, u64),
) -> Option<(Piece, u64)> {
    (index..count).find_map(|i| {
        let (begin, rate) = begin_and_rate(i);
        let end = if i + 1 < count { begin_and_rate(i + 1).0 } else { length };
        (begin < end).then(|| (Piece::level(begin, end - begin, rate), i + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_and_add_up() {
        let ms = Duration::from_millis;
        for shape in [
            RateShape::Constant(3),
            RateShape::Ramp { from: 0, to: 9 },
            RateShape::Step { rates: vec![(ms(0), 5), (ms(10), 0), (ms(11), 9)] },
            RateShape::Step { rates: vec![(ms(1), 5)] },
            RateShape::Spike { base: 1, peak: 9, at: ms(0), lasts: ms(500) },
            RateShape::Spike { base: 1, peak: 9, at: ms(100), lasts: ms(900) },
            RateShape::Diurnal { low: 0, high: 7, period: ms(300) },
            RateShape::Diurnal { low: 0, high: 7, period: Duration::from_nanos(1_234_567) },
            RateShape::Diurnal { low: 9, high: 7, period: ms(100_000) },
        ] {
            for length in [nanos(ms(1_000)), 1_000_000_007, 1_500_000_001] {
                let (mut end, mut index, mut pieces) = (0, 0, 0);
                while let Some((piece, next)) = shape.piece(length, index).filter(|_| pieces < 1_000) {
                    assert_eq!(piece.begin, end, "{shape:?}");
                    assert!(piece.used > 0 && piece.used <= piece.length, "{shape:?}: {piece:?}");
                    end += piece.used;
                    (index, pieces) = (next, pieces + 1);
                }
                assert!(end == length || pieces == 1_000, "{shape:?}: {end} of {length}");
            }
        }
    }

    /// Whole waves that are counted are as good as waves walked through.
    #[test]
    fn the_work_of_waves_is_that_of_their_pieces() {
        let shape = RateShape::Diurnal { low: 3, high: 100, period: Duration::from_secs(10) };
        for length in [1, 999_999_999, 10_000_000_000, 25_123_456_789] {
            let ((work, by), (walked, walked_by)) = (shape.work(length), shape.work_of_pieces(length));
            assert_eq!(work * walked_by, walked * by);
        }
        // A wave has its mean exactly.
        assert_eq!(shape.work(10_000_000_000), (2 * 515 * NANOS_PER_SEC as u128 * WAVE_PARTS as u128, 1));
    }
}
