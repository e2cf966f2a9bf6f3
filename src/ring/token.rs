//! Positions on the ring and half-open ranges between them.
//!
//! A [`Token`] is a byte string, compared byte by byte as if padded with zeros without end. That is the order in
//! which Cosmos DB compares effective partition keys of different lengths (a 16-byte bound equals the same bound padded
//! to 32 or 48 bytes). DynamoDB's stand-in and Cosmos DB's V2 hash need 16 bytes, a hierarchical key up to 48, a V1 key as
//! many as its text.
//!
//! This file does not know which hash made a token, and not what is stored there.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A position on the ring.
///
/// - A token of up to 16 bytes is held in two words; the rare longer one on the heap.
/// - Trailing zero bytes do not count: tokens that compare equal are equal and print alike.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// The first 16 bytes, big-endian, as two words (a `u128` would pad every entry to 32 bytes).
    Short([u64; 2]),
    /// More than 16 bytes, the last of them not zero.
    Long(Arc<[u8]>),
}

impl Token {
    /// The beginning of the ring.
    pub const START: Self = Self(Repr::Short([0, 0]));

    /// The token whose first 16 bytes are these, big-endian.
    pub const fn from_u128(hash: u128) -> Self {
        Self(Repr::Short([(hash >> 64) as u64, hash as u64]))
    }

    /// The token of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let significant = bytes.len() - bytes.iter().rev().take_while(|&&b| b == 0).count();
        if significant <= 16 {
            let mut padded = [0; 16];
            padded[..significant].copy_from_slice(&bytes[..significant]);
            Self::from_u128(u128::from_be_bytes(padded))
        } else {
            Self(Repr::Long(bytes[..significant].into()))
        }
    }

    /// The first 16 bytes, big-endian; later bytes are cut off. Enough for drawing, not for routing.
    #[inline]
    pub fn leading_u128(&self) -> u128 {
        match &self.0 {
            Repr::Short([high, low]) => u128::from(*high) << 64 | u128::from(*low),
            Repr::Long(bytes) => {
                let mut padded = [0; 16];
                padded.copy_from_slice(&bytes[..16]);
                u128::from_be_bytes(padded)
            }
        }
    }

    /// The bytes: 16 of them, or more for a longer token.
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            Repr::Short(_) => self.leading_u128().to_be_bytes().to_vec(),
            Repr::Long(bytes) => bytes.to_vec(),
        }
    }
}

impl Ord for Token {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Short(_), Repr::Short(_)) => self.leading_u128().cmp(&other.leading_u128()),
            // A long token has a non-zero byte past the sixteenth, so it lies after its own first sixteen bytes.
            (Repr::Short(_), Repr::Long(_)) => {
                self.leading_u128().cmp(&other.leading_u128()).then(Ordering::Less)
            }
            (Repr::Long(_), Repr::Short(_)) => {
                self.leading_u128().cmp(&other.leading_u128()).then(Ordering::Greater)
            }
            // Neither ends in zero, so the plain order of slices is the padded order.
            (Repr::Long(a), Repr::Long(b)) => a.cmp(b),
        }
    }
}

impl PartialOrd for Token {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Upper-case hex of the token's bytes.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn padded_cmp(a: &[u8], b: &[u8]) -> Ordering {
        let n = a.len().max(b.len());
        let pad = |s: &[u8]| s.iter().copied().chain(std::iter::repeat(0)).take(n).collect::<Vec<_>>();
        pad(a).cmp(&pad(b))
    }

    proptest! {
        #[test]
        fn order_is_that_of_bytes_padded_with_zeros(
            a in proptest::collection::vec(0_u8..3, 0..24),
            b in proptest::collection::vec(0_u8..3, 0..24),
        ) {
            let (x, y) = (Token::from_bytes(&a), Token::from_bytes(&b));
            prop_assert_eq!(x.cmp(&y), padded_cmp(&a, &b));
            prop_assert_eq!(x == y, padded_cmp(&a, &b) == Ordering::Equal);
            prop_assert_eq!(Token::from_bytes(&x.to_bytes()), x);
        }
    }

    #[test]
    fn stays_small() {
        assert_eq!(size_of::<Token>(), 24);
    }
}
