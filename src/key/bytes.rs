//! Bytes of a key, kept inside the value while they are few.
//!
//! A table's directory holds one of these per logical partition. Most keys are short; keeping up to 22 bytes inline
//! saves a heap block and a cache miss for each look-up.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Bytes that fit without a heap block: with tag and length the value is 24 bytes, as large as a `Vec`.
const INLINE: usize = 22;

/// An immutable byte string, ordered and hashed as `[u8]`.
#[derive(Clone)]
pub struct KeyBytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

impl KeyBytes {
    /// A copy of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() <= INLINE {
            let mut inline = [0; INLINE];
            inline[..bytes.len()].copy_from_slice(bytes);
            Self(Repr::Inline { len: bytes.len() as u8, bytes: inline })
        } else {
            Self(Repr::Heap(bytes.into()))
        }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Heap(bytes) => bytes,
        }
    }
}

impl std::ops::Deref for KeyBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Borrow<[u8]> for KeyBytes {
    fn borrow(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for KeyBytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for KeyBytes {}

impl PartialOrd for KeyBytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBytes {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for KeyBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for KeyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.as_slice() {
            write!(f, "{byte:02X}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_and_heap_agree_with_slices() {
        assert_eq!(size_of::<KeyBytes>(), 24);
        for n in [0, 1, INLINE - 1, INLINE, INLINE + 1, 100] {
            let bytes: Vec<u8> = (0..n as u8).collect();
            assert_eq!(KeyBytes::new(&bytes).as_slice(), bytes);
        }
        assert!(KeyBytes::new(b"ab") < KeyBytes::new(b"abc"));
        assert!(KeyBytes::new(&[0; 30]) < KeyBytes::new(b"\x01"));
    }
}
