//! Key values and their order-preserving bytes.
//!
//! A key is one value (DynamoDB, Cosmos DB) or up to three (Cosmos DB hierarchical keys). Keys are compared, hashed
//! and stored as bytes whose order is the order of the values:
//!
//! | value      | bytes                                                       |
//! |------------|-------------------------------------------------------------|
//! | undefined  | `05`                                                        |
//! | null       | `10`                                                        |
//! | false/true | `20` / `21`                                                 |
//! | number     | `30` and the 8 bytes of the double, flipped to sort         |
//! | string     | `40`, UTF-8 with `00` written as `00 FF`, then `00`         |
//! | binary     | `50`, the bytes with `00` written as `00 FF`, then `00`     |
//!
//! Identity is by these bytes and nothing else, so `""`, null and an absent property are three keys, and `1` and `"1"`
//! are two. Negative zero keeps its sign, because every Cosmos SDK hashes it apart from zero.
//!
//! This file does not know hashes (`epk`, `placement`) nor where a key's parts came from (`template`).

use super::KeyBytes;
use crate::error::{Error, Result};
use std::fmt;

/// One component of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    /// The property is absent (Cosmos DB only).
    Undefined,
    /// JSON null (Cosmos DB only).
    Null,
    /// A boolean (Cosmos DB only).
    Bool(bool),
    /// A number as Cosmos DB holds it: a double.
    Number(f64),
    /// Text.
    String(String),
    /// Bytes (DynamoDB only).
    Binary(Vec<u8>),
}

mod tag {
    pub(super) const UNDEFINED: u8 = 0x05;
    pub(super) const NULL: u8 = 0x10;
    pub(super) const FALSE: u8 = 0x20;
    pub(super) const TRUE: u8 = 0x21;
    pub(super) const NUMBER: u8 = 0x30;
    pub(super) const STRING: u8 = 0x40;
    pub(super) const BINARY: u8 = 0x50;
}

impl KeyValue {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Undefined => out.push(tag::UNDEFINED),
            Self::Null => out.push(tag::NULL),
            Self::Bool(false) => out.push(tag::FALSE),
            Self::Bool(true) => out.push(tag::TRUE),
            Self::Number(n) => {
                out.push(tag::NUMBER);
                out.extend_from_slice(&sortable_double(*n).to_be_bytes());
            }
            Self::String(s) => encode_bytes(tag::STRING, s.as_bytes(), out),
            Self::Binary(b) => encode_bytes(tag::BINARY, b, out),
        }
    }

    /// The value written for a person: strings bare, others as JSON.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined => f.write_str("(absent)"),
            Self::Null => f.write_str("null"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Number(n) => write!(f, "{n}"),
            Self::String(s) if s.is_empty() => f.write_str("\"\""),
            Self::String(s) => f.write_str(s),
            Self::Binary(b) => b.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)
    }
}

impl From<&str> for KeyValue {
    fn from(s: &str) -> Self {
        Self::String(s.to_owned())
    }
}

impl From<String> for KeyValue {
    fn from(s: String) -> Self {
        Self::String(s)
    }
}

impl From<f64> for KeyValue {
    fn from(n: f64) -> Self {
        Self::Number(n)
    }
}

/// The bits of a double, arranged so that unsigned order is numeric order (negative numbers inverted, positive ones
/// above them).
fn sortable_double(n: f64) -> u64 {
    let bits = n.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_sortable_double(sortable: u64) -> f64 {
    f64::from_bits(if sortable >> 63 == 1 { sortable & !(1 << 63) } else { !sortable })
}

fn encode_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    out.push(tag);
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xFF);
        }
    }
    out.push(0);
}

/// Takes one value off the front of `bytes`; `None` when they were not written by [`KeyValue::encode`].
fn decode_one<'a>(bytes: &'a [u8]) -> Option<(KeyValue, &'a [u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let unescape = |rest: &'a [u8]| -> Option<(Vec<u8>, &'a [u8])> {
        let mut value = Vec::with_capacity(rest.len());
        let mut i = 0;
        loop {
            match (rest.get(i)?, rest.get(i + 1)) {
                (0, Some(0xFF)) => {
                    value.push(0);
                    i += 2;
                }
                (0, _) => return Some((value, &rest[i + 1..])),
                (&byte, _) => {
                    value.push(byte);
                    i += 1;
                }
            }
        }
    };
    Some(match tag {
        tag::UNDEFINED => (KeyValue::Undefined, rest),
        tag::NULL => (KeyValue::Null, rest),
        tag::FALSE => (KeyValue::Bool(false), rest),
        tag::TRUE => (KeyValue::Bool(true), rest),
        tag::NUMBER => {
            let (bits, rest) = rest.split_first_chunk::<8>()?;
            (KeyValue::Number(from_sortable_double(u64::from_be_bytes(*bits))), rest)
        }
        tag::STRING => {
            let (text, rest) = unescape(rest)?;
            (KeyValue::String(String::from_utf8(text).ok()?), rest)
        }
        tag::BINARY => {
            let (value, rest) = unescape(rest)?;
            (KeyValue::Binary(value), rest)
        }
        _ => return None,
    })
}

/// The key that decides placement: all items with one partition key form a logical partition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKey(KeyBytes);

impl PartitionKey {
    /// Components of a hierarchical key at the most
    /// (Cosmos DB, "Hierarchical partition keys": "up to three levels").
    pub const LEVELS_MAX: usize = 3;

    /// A key of one value.
    pub fn single(value: impl Into<KeyValue>) -> Self {
        let mut bytes = Vec::new();
        value.into().encode(&mut bytes);
        Self(KeyBytes::new(&bytes))
    }

    /// A key of text, without building a [`KeyValue`] first.
    pub fn text(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        encode_bytes(tag::STRING, text.as_bytes(), &mut bytes);
        Self(KeyBytes::new(&bytes))
    }

    /// Writes the bytes of a key of text into `out`, which is emptied first.
    pub(crate) fn encode_text(text: &str, out: &mut Vec<u8>) {
        out.clear();
        encode_bytes(tag::STRING, text.as_bytes(), out);
    }

    /// A hierarchical key, outermost level first.
    ///
    /// # Errors
    /// When there are no levels or more than three.
    pub fn levels(values: &[KeyValue]) -> Result<Self> {
        if values.is_empty() || values.len() > Self::LEVELS_MAX {
            return Err(Error::invalid(format!(
                "a partition key has one to three levels, this one has {}",
                values.len()
            )));
        }
        let mut bytes = Vec::new();
        values.iter().for_each(|value| value.encode(&mut bytes));
        Ok(Self(KeyBytes::new(&bytes)))
    }

    /// The components, outermost first.
    pub fn values(&self) -> Vec<KeyValue> {
        let mut values = Vec::with_capacity(1);
        let mut rest = self.0.as_slice();
        // A key is only ever built by `encode`, so decoding reaches the end.
        while let Some((value, tail)) = decode_one(rest) {
            values.push(value);
            rest = tail;
        }
        values
    }

    /// The order-preserving bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// The key whose [`as_bytes`](Self::as_bytes) these are.
    ///
    /// # Errors
    /// When the bytes are no encoded key, for instance in a forged continuation.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = bytes;
        let mut levels = 0;
        while !rest.is_empty() {
            let Some((_, tail)) = decode_one(rest) else {
                return Err(Error::invalid("these bytes are not an encoded partition key"));
            };
            rest = tail;
            levels += 1;
        }
        if levels == 0 || levels > Self::LEVELS_MAX {
            return Err(Error::invalid("these bytes are not an encoded partition key"));
        }
        Ok(Self(KeyBytes::new(bytes)))
    }

    /// Whether the key is one empty string or empty binary, which DynamoDB refuses.
    pub fn is_empty_value(&self) -> bool {
        matches!(self.0.as_slice(), [tag::STRING | tag::BINARY, 0])
    }

    /// The text when the key is one string without NUL, which is then encoded as itself: no need to decode.
    pub(crate) fn plain_text(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [tag::STRING, text @ .., 0] if !text.contains(&0) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn key_bytes(&self) -> &KeyBytes {
        &self.0
    }

    pub(crate) fn from_key_bytes(bytes: KeyBytes) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, value) in self.values().iter().enumerate() {
            if i > 0 {
                f.write_str("/")?;
            }
            value.describe(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionKey({self})")
    }
}

impl From<&str> for PartitionKey {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for PartitionKey {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

/// The key inside a logical partition: DynamoDB's sort key, Cosmos DB's `id`. Ordered by bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey(KeyBytes);

impl SortKey {
    /// The sort key of a table that has none: one item per logical partition.
    pub fn none() -> Self {
        Self(KeyBytes::new(&[]))
    }

    /// A sort key of one value, ordered as the values are.
    pub fn single(value: impl Into<KeyValue>) -> Self {
        let mut bytes = Vec::new();
        value.into().encode(&mut bytes);
        Self(KeyBytes::new(&bytes))
    }

    /// A sort key of text.
    pub fn text(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        encode_bytes(tag::STRING, text.as_bytes(), &mut bytes);
        Self(KeyBytes::new(&bytes))
    }

    /// A sort key of a whole number, for instance a row number: the same as [`single`](Self::single) of that number.
    /// Beyond 2⁵³, where doubles have gaps, it stays exact and in order, but equals no double.
    pub fn number(n: u64) -> Self {
        let mut bytes = [0; 11];
        bytes[0] = tag::NUMBER;
        // The largest double that is not above n, and how far n is above it: at most 2¹¹.
        let rounded = n as f64;
        let floor = if rounded as u128 > u128::from(n) { rounded.next_down() } else { rounded };
        bytes[1..9].copy_from_slice(&sortable_double(floor).to_be_bytes());
        let above = (u128::from(n) - floor as u128) as u16;
        bytes[9..].copy_from_slice(&above.to_be_bytes());
        Self(KeyBytes::new(if above == 0 { &bytes[..9] } else { &bytes }))
    }

    /// The bytes that order it.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// A sort key from raw bytes that already sort as wanted.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(KeyBytes::new(bytes))
    }
}

impl fmt::Debug for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match decode_one(self.0.as_slice()) {
            Some((value, [])) => write!(f, "SortKey({value})"),
            _ => write!(f, "SortKey({:?})", self.0),
        }
    }
}

impl From<&str> for SortKey {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for SortKey {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

impl From<u64> for SortKey {
    fn from(n: u64) -> Self {
        Self::number(n)
    }
}

/// The full identity of an item: never joined into one string, so no two items can collide by their text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// Which logical partition.
    pub partition: PartitionKey,
    /// Which item of it.
    pub sort: SortKey,
}

impl ItemKey {
    /// The item `sort` of the logical partition `partition`.
    pub fn new(partition: impl Into<PartitionKey>, sort: impl Into<SortKey>) -> Self {
        Self { partition: partition.into(), sort: sort.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = KeyValue> {
        prop_oneof![
            Just(KeyValue::Undefined),
            Just(KeyValue::Null),
            any::<bool>().prop_map(KeyValue::Bool),
            any::<f64>().prop_filter("NaN is no key", |n| !n.is_nan()).prop_map(KeyValue::Number),
            "[\\x00-\\x02a-cé]{0,12}".prop_map(KeyValue::String),
            proptest::collection::vec(0_u8..4, 0..12).prop_map(KeyValue::Binary),
        ]
    }

    proptest! {
        #[test]
        fn keys_decode_to_what_they_were_made_of(values in proptest::collection::vec(value(), 1..=3)) {
            let key = PartitionKey::levels(&values).unwrap();
            prop_assert_eq!(key.values(), values);
            prop_assert_eq!(PartitionKey::from_bytes(key.as_bytes()).unwrap(), key);
        }

        #[test]
        fn byte_order_is_value_order(a in value(), b in value()) {
            let bytes = PartitionKey::single(a.clone()).cmp(&PartitionKey::single(b.clone()));
            match (&a, &b) {
                (KeyValue::Number(x), KeyValue::Number(y)) => prop_assert_eq!(bytes, x.total_cmp(y)),
                (KeyValue::String(x), KeyValue::String(y)) => prop_assert_eq!(bytes, x.cmp(y)),
                (KeyValue::Binary(x), KeyValue::Binary(y)) => prop_assert_eq!(bytes, x.cmp(y)),
                _ => {}
            }
        }
    }

    #[test]
    fn empty_null_absent_and_lookalikes_are_different_keys() {
        let keys = [
            PartitionKey::text(""),
            PartitionKey::single(KeyValue::Null),
            PartitionKey::single(KeyValue::Undefined),
            PartitionKey::single(1.0),
            PartitionKey::text("1"),
            PartitionKey::levels(&["a".into(), "b".into()]).unwrap(),
            PartitionKey::text("ab"),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert_ne!(a, b);
            }
        }
        assert!(keys[0].is_empty_value() && !keys[1].is_empty_value());
    }

    #[test]
    fn forged_bytes_are_refused() {
        for bytes in [&[][..], &[0x40, 0x61], &[0x30, 1, 2], &[0x99], &[0x10, 0x10, 0x10, 0x10]] {
            assert!(PartitionKey::from_bytes(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_whole_number_is_one_sort_key_however_it_is_made() {
        for n in [0_u64, 1, 17, 1_000_000, (1 << 53) - 1, 1 << 53, 1 << 60] {
            assert_eq!(SortKey::number(n), SortKey::single(n as f64), "{n}");
        }
        let many = [
            0,
            1,
            255,
            256,
            1 << 32,
            (1 << 53) - 1,
            1 << 53,
            (1 << 53) + 1,
            (1 << 53) + 2,
            (1 << 63) - 1,
            1 << 63,
            (1 << 63) + 1,
            u64::MAX - 1_025,
            u64::MAX - 1,
            u64::MAX,
        ];
        for pair in many.windows(2) {
            assert!(SortKey::number(pair[0]) < SortKey::number(pair[1]), "{pair:?}");
        }
    }
}
