//! Where the next page begins: a position on the ring, not in a partition, so it outlives splits and merges.
//!
//! A continuation names the question it belongs to by a fingerprint. One from another query, another table or a
//! careless edit is refused instead of answered wrongly. It is no secret and no signature: whoever forges one reads
//! only what a query would have read.

use crate::error::{Error, ErrorKind, Result};
use crate::key::{KeyBytes, SortKey};
use crate::ring::Token;
use std::fmt;
use std::str::FromStr;

/// An opaque resume point. `Display` and `FromStr` carry it through a client as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Continuation {
    fingerprint: u64,
    cursor: Cursor,
}

/// The place in (token, key, sort key) order from which reading goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cursor {
    pub(crate) token: Token,
    /// The logical partition, or nothing when reading goes on at the beginning of `token`.
    pub(crate) key: Option<KeyBytes>,
    /// The item, or the bound inside the logical partition.
    pub(crate) sort: Option<SortKey>,
}

impl Continuation {
    pub(crate) fn new(fingerprint: u64, cursor: Cursor) -> Self {
        Self { fingerprint, cursor }
    }

    /// The cursor, if it belongs to the question with this fingerprint.
    pub(crate) fn cursor_for(&self, fingerprint: u64) -> Result<&Cursor> {
        if self.fingerprint == fingerprint {
            Ok(&self.cursor)
        } else {
            Err(Error::new(
                ErrorKind::BadContinuation,
                "this continuation belongs to another query or table: start this query without it",
            ))
        }
    }
}

/// The fingerprint of a question: FNV-1a over its parts, each preceded by its length.
pub(crate) fn fingerprint(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for part in parts {
        feed(&(part.len() as u64).to_be_bytes());
        feed(part);
    }
    hash
}

/// The longest text that is read as a continuation: room for the largest keys of both services.
const TEXT_MAX: usize = 64 * 1_024;

impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.fingerprint.to_be_bytes().to_vec();
        let token = self.cursor.token.to_bytes();
        let parts = [
            Some(token.as_slice()),
            self.cursor.key.as_deref(),
            self.cursor.sort.as_ref().map(SortKey::as_bytes),
        ];
        for part in parts {
            match part {
                None => bytes.push(0),
                Some(part) => {
                    bytes.push(1);
                    bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
                    bytes.extend_from_slice(part);
                }
            }
        }
        bytes.extend_from_slice(&fingerprint(&[&bytes]).to_be_bytes());
        bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Continuation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            Error::new(
                ErrorKind::BadContinuation,
                "this is not a continuation, or it was altered: pass back exactly what the last page returned",
            )
        })
    }
}

fn parse(text: &str) -> Option<Continuation> {
    if text.len() > TEXT_MAX || !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let bytes: Vec<u8> = (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok())
        .collect::<Option<_>>()?;
    let (body, checksum) = bytes.split_last_chunk::<8>()?;
    if fingerprint(&[body]) != u64::from_be_bytes(*checksum) {
        return None;
    }
    let (head, mut rest) = body.split_first_chunk::<8>()?;
    let mut part = || -> Option<Option<&[u8]>> {
        let (&tag, tail) = rest.split_first()?;
        if tag == 0 {
            rest = tail;
            return Some(None);
        }
        let (len, tail) = tail.split_first_chunk::<4>()?;
        let (part, tail) = tail.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        rest = tail;
        Some(Some(part))
    };
    let cursor = Cursor {
        token: Token::from_bytes(part()??),
        key: part()?.map(KeyBytes::new),
        sort: part()?.map(SortKey::from_bytes),
    };
    rest.is_empty().then(|| Continuation::new(u64::from_be_bytes(*head), cursor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_carries_it_and_alterations_are_noticed(
            token in any::<u128>(),
            key in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
            sort in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
            at in any::<prop::sample::Index>(),
        ) {
            let cursor = Cursor {
                token: Token::from_u128(token),
                key: key.map(|k| KeyBytes::new(&k)),
                sort: sort.map(|s| SortKey::from_bytes(&s)),
            };
            let continuation = Continuation::new(7, cursor);
            let text = continuation.to_string();
            prop_assert_eq!(&text.parse::<Continuation>().unwrap(), &continuation);
            let mut altered = text.into_bytes();
            let i = at.index(altered.len());
            altered[i] = if altered[i] == b'0' { b'1' } else { b'0' };
            prop_assert!(String::from_utf8(altered).unwrap().parse::<Continuation>().is_err());
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,80}") {
            let _ = text.parse::<Continuation>();
        }
    }
}
