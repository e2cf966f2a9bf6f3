//! DynamoDB numbers: exact decimals of up to 38 significant digits.
//!
//! "Numbers can be positive, negative, or zero. Numbers can have up to 38 digits of precision. … Positive range: 1E-130
//! to 9.9999999999999999999999999999999999999E+125" (developer guide, "Naming rules and data types"). They travel as text,
//! are compared by value and never rounded: arithmetic whose result needs more digits fails.
//!
//! A number is a sign, a coefficient and the power of ten of the coefficient's last digit, which is never zero:
//!
//! ```text
//! -1200.5   =  - 12005 × 10⁻¹          1E+125  =  + 1 × 10¹²⁵          0  =  + 0 × 10⁰
//! ```
//!
//! So equal numbers are equal fields, and hashing and equality are derived. Nothing here is a double, and nothing is on
//! the heap. This file does not know what a number is used for.
//!
//! Departures: the service's parser is Java's, which also reads the digits of other scripts; here only ASCII digits count.

use super::error::{Result, ServiceError};
use std::cmp::Ordering;
use std::fmt;

/// Significant digits at the most (developer guide, "Constraints", "Number").
const DIGITS_MAX: u32 = 38;
/// The largest power of ten of a first digit.
const POWER_MAX: i32 = 125;
/// The smallest power of ten of a first digit of a number that is not zero.
const POWER_MIN: i32 = -130;
/// One more than the largest coefficient.
const COEFFICIENT_END: u128 = 10_u128.pow(DIGITS_MAX);

/// An exact decimal number in the service's range.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    // The halves of the coefficient: a `u128` would align the whole value, and every attribute with it, to 16 bytes.
    high: u64,
    low: u64,
    /// The power of ten of the coefficient's last digit.
    exponent: i16,
    negative: bool,
}

impl Number {
    /// Zero.
    pub const ZERO: Self = Self { high: 0, low: 0, exponent: 0, negative: false };

    /// Reads a number as the service does: a sign, digits with at most one point among or around them, an exponent.
    ///
    /// # Errors
    /// When the text is no number, or one that the service cannot hold.
    pub fn parse(text: &str) -> Result<Self> {
        let Some(raw) = Raw::read(text.as_bytes()) else { return Err(not_a_number(text)) };
        raw.number()
    }

    fn coefficient(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// The number of these parts, whose coefficient may end in zeros.
    fn of(negative: bool, mut coefficient: u128, mut exponent: i32) -> Result<Self> {
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent += 1;
        }
        // The order of these checks is DynamoDB Local's.
        if coefficient >= COEFFICIENT_END {
            return Err(too_precise());
        }
        let power = exponent + coefficient.ilog10() as i32;
        if power > POWER_MAX {
            return Err(overflow());
        }
        if power < POWER_MIN {
            return Err(underflow());
        }
        Ok(Self {
            high: (coefficient >> 64) as u64,
            low: coefficient as u64,
            // Between -130 - 37 and 125 by the checks above.
            exponent: exponent as i16,
            negative,
        })
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// Whether it is below zero.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// The same distance from zero on the other side.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { negative: !self.negative && !self.is_zero(), ..self }
    }

    /// How many significant digits it has; none for zero.
    fn digits(self) -> u32 {
        self.coefficient().checked_ilog10().map_or(0, |power| power + 1)
    }

    /// The power of ten of its first digit.
    fn power(self) -> i32 {
        i32::from(self.exponent) + self.digits() as i32 - 1
    }

    /// The exact sum.
    ///
    /// # Errors
    /// When the sum is out of range, or has more than 38 significant digits. The service calls the latter an overflow
    /// as well (ScyllaDB's `test_number.py` notes it of `1e50 + 1`).
    pub fn checked_add(self, other: Self) -> Result<Self> {
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        let (coarse, fine) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        // The last digit of the sum is that of the finer number unless both end at the same power, so the coarse
        // coefficient must be written out to there. When that takes more than 2 × 10³⁸, no finer number, being below
        // 10³⁸, brings the sum back under 38 digits.
        let shift = (coarse.exponent - fine.exponent) as u32;
        let coarse_coefficient = 10_u128
            .checked_pow(shift)
            .and_then(|scale| coarse.coefficient().checked_mul(scale))
            .filter(|&coefficient| coefficient < 2 * COEFFICIENT_END)
            .ok_or_else(overflow)?;
        let fine_coefficient = fine.coefficient();
        let (negative, coefficient) = if coarse.negative == fine.negative {
            (coarse.negative, coarse_coefficient + fine_coefficient)
        } else if coarse_coefficient >= fine_coefficient {
            (coarse.negative, coarse_coefficient - fine_coefficient)
        } else {
            (fine.negative, fine_coefficient - coarse_coefficient)
        };
        Self::of(negative, coefficient, i32::from(fine.exponent))
            .map_err(|error| if error.message() == TOO_PRECISE { overflow() } else { error })
    }

    /// The exact difference.
    ///
    /// # Errors
    /// As for [`checked_add`](Self::checked_add).
    pub fn checked_sub(self, other: Self) -> Result<Self> {
        self.checked_add(other.negated())
    }

    /// The bytes it takes in an item: a byte, one for every two digits, paired from the decimal point outwards, and one
    /// if it is negative; the rule and its source are those of [`charge::item_size`](crate::charge::item_size).
    pub fn size(self) -> u64 {
        const SIZE_MAX: u64 = 21;
        if self.is_zero() {
            return 1;
        }
        let pairs = self.power().div_euclid(2) - i32::from(self.exponent).div_euclid(2) + 1;
        (1 + pairs as u64 + u64::from(self.negative)).min(SIZE_MAX)
    }

    /// Bytes whose order is the order of the numbers, and which are the same for the same number.
    pub fn sortable_bytes(self) -> NumberBytes {
        let mut out = NumberBytes { length: 1, bytes: [0; NumberBytes::LENGTH_MAX] };
        if self.is_zero() {
            out.bytes[0] = sign::ZERO;
            return out;
        }
        // -130 to 125 is exactly one byte.
        let power = (self.power() - POWER_MIN) as u8;
        let (pairs, count) = self.pairs();
        if self.negative {
            out.bytes[0] = sign::NEGATIVE;
            out.bytes[1] = !power;
            for (to, pair) in out.bytes[2..].iter_mut().zip(&pairs[..count]) {
                *to = 100 - pair;
            }
            // Of two negative numbers that begin alike the longer is smaller: its next pair is below this end.
            out.bytes[2 + count] = 0xFF;
            out.length = (3 + count) as u8;
        } else {
            out.bytes[0] = sign::POSITIVE;
            out.bytes[1] = power;
            out.bytes[2..2 + count].copy_from_slice(&pairs[..count]);
            out.length = (2 + count) as u8;
        }
        out
    }

    /// The number of [`sortable_bytes`](Self::sortable_bytes), or nothing if these are no such bytes.
    pub fn from_sortable_bytes(bytes: &[u8]) -> Option<Self> {
        let (negative, power, pairs) = match bytes {
            [sign::ZERO] => return Some(Self::ZERO),
            [sign::POSITIVE, power, pairs @ ..] => (false, *power, pairs),
            [sign::NEGATIVE, power, pairs @ .., 0xFF] => (true, !*power, pairs),
            _ => return None,
        };
        if pairs.len() > PAIRS_MAX {
            return None;
        }
        let mut coefficient = 0_u128;
        for &pair in pairs {
            let pair = if negative { 100_u8.checked_sub(pair)? } else { pair };
            coefficient = coefficient * 100 + u128::from(pair.checked_sub(1)?);
        }
        let digits = 2 * pairs.len() as i32;
        let number = Self::of(negative, coefficient, i32::from(power) + POWER_MIN - digits + 1).ok()?;
        // Other writings of the same number are refused.
        (number.sortable_bytes().as_slice() == bytes).then_some(number)
    }

    /// The double whose shortest text is this number, if there is one: then the engine shows the key as it was written.
    /// No two numbers have the same.
    pub(crate) fn to_double(self) -> Option<f64> {
        const EXACT: u64 = 1 << 53;
        if self.exponent == 0 && self.high == 0 && self.low <= EXACT {
            let magnitude = self.low as f64;
            return Some(if self.negative { -magnitude } else { magnitude });
        }
        let double: f64 = self.to_string().parse().ok()?;
        (Self::from_double(double) == Some(self)).then_some(double)
    }

    /// The number that a double's shortest text writes.
    pub(crate) fn from_double(double: f64) -> Option<Self> {
        Self::parse(&double.to_string()).ok()
    }

    /// Its digits in pairs from the first one on, each one more than its value so that no byte is zero and an absent
    /// pair is smaller than any; an odd last digit is followed by a zero.
    fn pairs(self) -> ([u8; PAIRS_MAX], usize) {
        let digits = self.digits();
        let count = digits.div_ceil(2) as usize;
        let mut rest = if digits % 2 == 1 { self.coefficient() * 10 } else { self.coefficient() };
        let mut pairs = [0; PAIRS_MAX];
        for pair in pairs[..count].iter_mut().rev() {
            *pair = (rest % 100) as u8 + 1;
            rest /= 100;
        }
        (pairs, count)
    }
}

/// Pairs of digits of a coefficient at the most.
const PAIRS_MAX: usize = DIGITS_MAX.div_ceil(2) as usize;

/// First bytes of the sortable form. They are none of the tags of the engine's other keys.
mod sign {
    pub(super) const NEGATIVE: u8 = 0x7F;
    pub(super) const ZERO: u8 = 0x80;
    pub(super) const POSITIVE: u8 = 0x81;
}

/// The order-preserving bytes of a number: as many as the engine keeps inside a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NumberBytes {
    length: u8,
    bytes: [u8; Self::LENGTH_MAX],
}

impl NumberBytes {
    /// Sign, power, pairs, and the end of a negative number.
    const LENGTH_MAX: usize = PAIRS_MAX + 3;

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// A number as it was written, before it is known to be one the service can hold.
struct Raw {
    negative: bool,
    coefficient: u128,
    exponent: i64,
    too_precise: bool,
}

impl Raw {
    /// Reads all of the text, or answers nothing if it is no number.
    fn read(text: &[u8]) -> Option<Self> {
        let (negative, text) = take_sign(text);
        let (mut coefficient, mut digits, mut too_precise) = (0_u128, 0_u32, false);
        // Zeros that count only if another digit follows.
        let mut zeros = 0_u32;
        let (mut fraction, mut seen_digit, mut seen_point) = (0_i64, false, false);
        let mut rest = text;
        while let [byte, tail @ ..] = rest {
            match byte {
                b'0'..=b'9' => {
                    seen_digit = true;
                    fraction += i64::from(seen_point);
                    let digit = byte - b'0';
                    if digit == 0 {
                        zeros = zeros.saturating_add(u32::from(digits > 0));
                    } else {
                        let more = zeros.saturating_add(1);
                        if digits.saturating_add(more) > DIGITS_MAX {
                            too_precise = true;
                        } else {
                            coefficient = coefficient * 10_u128.pow(more) + u128::from(digit);
                            digits += more;
                            zeros = 0;
                        }
                    }
                }
                b'.' if !seen_point => seen_point = true,
                b'e' | b'E' => break,
                _ => return None,
            }
            rest = tail;
        }
        if !seen_digit {
            return None;
        }
        let written = match rest {
            [] => 0,
            [_, exponent @ ..] => read_exponent(exponent)?,
        };
        // Java keeps this in 32 bits and calls what does not fit no number.
        i32::try_from(fraction - written).ok()?;
        Some(Self { negative, coefficient, exponent: written - fraction + i64::from(zeros), too_precise })
    }

    fn number(self) -> Result<Number> {
        if self.too_precise {
            return Err(too_precise());
        }
        if self.coefficient == 0 {
            return Ok(Number::ZERO);
        }
        match i32::try_from(self.exponent) {
            Ok(exponent) if exponent < i32::MAX / 2 => Number::of(self.negative, self.coefficient, exponent),
            Ok(_) => Err(overflow()),
            Err(_) if self.exponent > 0 => Err(overflow()),
            Err(_) => Err(underflow()),
        }
    }
}

fn take_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn read_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = take_sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().try_fold(0_i64, |value, digit| {
        Some(value * 10 + i64::from(digit - b'0')).filter(|&value| value <= i64::from(i32::MAX))
    })?;
    Some(if negative { -value } else { value })
}

fn not_a_number(text: &str) -> ServiceError {
    if text.is_empty() {
        ServiceError::validation("The parameter cannot be converted to a numeric value")
    } else {
        ServiceError::validation(format!("The parameter cannot be converted to a numeric value: {text}"))
    }
}

const TOO_PRECISE: &str = "Attempting to store more than 38 significant digits in a Number";

fn too_precise() -> ServiceError {
    ServiceError::validation(TOO_PRECISE)
}

fn overflow() -> ServiceError {
    ServiceError::validation(
        "Number overflow. Attempting to store a number with magnitude larger than supported range",
    )
}

fn underflow() -> ServiceError {
    ServiceError::validation(
        "Number underflow. Attempting to store a number with magnitude smaller than supported range",
    )
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let signed = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let (own, others): (i32, i32) = (signed(self), signed(other));
        if own != others || own == 0 {
            return own.cmp(&others);
        }
        // Of the same power; the shorter coefficient is filled up to the length of the longer.
        let filled = |number: &Self, to: u32| number.coefficient() * 10_u128.pow(to - number.digits());
        let magnitude = self.power().cmp(&other.power()).then_with(|| {
            let digits = self.digits().max(other.digits());
            filled(self, digits).cmp(&filled(other, digits))
        });
        if self.negative { magnitude.reverse() } else { magnitude }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The text the service answers: plain digits, no exponent, no needless zeros.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zeros = |f: &mut fmt::Formatter<'_>, count: i32| (0..count).try_for_each(|_| f.write_str("0"));
        if self.negative {
            f.write_str("-")?;
        }
        let exponent = i32::from(self.exponent);
        if exponent >= 0 {
            write!(f, "{}", self.coefficient())?;
            return zeros(f, exponent);
        }
        let power = self.power();
        if power < 0 {
            f.write_str("0.")?;
            zeros(f, -power - 1)?;
            return write!(f, "{}", self.coefficient());
        }
        // The point lies among the digits, so there are at most 37 of them behind it.
        let scale = 10_u128.pow(exponent.unsigned_abs());
        let (whole, fraction) = (self.coefficient() / scale, self.coefficient() % scale);
        write!(f, "{whole}.{fraction:0width$}", width = exponent.unsigned_abs() as usize)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        // At most 20 digits: always in range.
        Self::of(false, u128::from(value), 0).unwrap_or(Self::ZERO)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        let magnitude = Self::from(value.unsigned_abs());
        if value < 0 { magnitude.negated() } else { magnitude }
    }
}

impl std::str::FromStr for Number {
    type Err = ServiceError;
    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests;
