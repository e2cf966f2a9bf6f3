//! How DynamoDB weighs an item: attribute names plus values, in bytes.
//!
//! Rules are from the developer guide, "DynamoDB item sizes and formats". These sizes meter throughput; the
//! 100 bytes per item that storage billing adds are not part of them.
//!
//! Departures: the guide gives a number's size only approximately, "1 byte per two significant digits + 1
//! byte". The exact rule here is one that third parties found by comparing with the live service (Zac
//! Charles, "Calculating a DynamoDB Item's Size and Consumed Capacity"): digits pair up from the decimal
//! point outwards, so `1200000` has the pairs 1 and 20, and a negative number takes one byte more. That a set
//! weighs what its members weigh, with no overhead of its own, is *assumed*.

use crate::units::Bytes;
use serde_json::{Map, Value};

/// "The size of a null attribute or a Boolean attribute is … (1 byte)."
pub const BOOLEAN: Bytes = Bytes(1);

/// The same for null.
pub const NULL: Bytes = Bytes(1);

/// "An attribute of type List or Map requires 3 bytes of overhead, regardless of its contents."
const CONTAINER_OVERHEAD: Bytes = Bytes(3);

/// "Each List or Map element also requires 1 byte of overhead."
const ELEMENT_OVERHEAD: Bytes = Bytes(1);

/// Every number takes a byte besides its digits (sign and exponent).
const NUMBER_OVERHEAD: u64 = 1;

/// A negative number takes one more (third-party finding, not in the guide).
const NEGATIVE_OVERHEAD: u64 = 1;

/// No number takes more: 38 significant digits are at most 20 pairs (third-party finding, not in the guide).
const NUMBER_MAX: u64 = 21;

/// A top-level attribute: its name and its value.
pub fn attribute(name: &str, value: Bytes) -> Bytes {
    string(name) + value
}

/// Text: its UTF-8 bytes.
pub const fn string(text: &str) -> Bytes {
    Bytes(text.len() as u64)
}

/// Binary: the raw bytes, not their Base64 text.
pub const fn binary(bytes: &[u8]) -> Bytes {
    Bytes(bytes.len() as u64)
}

/// A set: its members, each sized as a value of its own type.
pub fn set(members: impl IntoIterator<Item = Bytes>) -> Bytes {
    members.into_iter().sum()
}

/// A list of values of these sizes.
pub fn list(elements: impl IntoIterator<Item = Bytes>) -> Bytes {
    elements.into_iter().fold(CONTAINER_OVERHEAD, |size, element| size + element + ELEMENT_OVERHEAD)
}

/// A map of these names and value sizes.
pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Bytes)>) -> Bytes {
    list(entries.into_iter().map(|(name, value)| attribute(name, value)))
}

/// A number given as decimal text, with or without fraction and exponent: `-0.5`, `1200`, `1.2e3`.
///
/// Only digits, the first `.`, a leading `-` and an exponent are looked at; text that is no number has no
/// meaningful size, but gets one.
pub fn number(text: &str) -> Bytes {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    // An exponent too large to parse moves all digits alike, which does not change how many pairs there are,
    // except for their alignment.
    let exponent: i64 = exponent.parse::<i32>().map_or(0, i64::from);
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // Every digit has a power of ten; two neighbouring powers 2k and 2k + 1 share a pair.
    let digits = || integer.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit);
    let first_power = integer.bytes().filter(u8::is_ascii_digit).count() as i64 - 1 + exponent;
    let pair_of = |index: usize| (first_power - index as i64).div_euclid(2);
    let is_significant = |digit: u8| digit != b'0';

    let Some(first) = digits().position(is_significant) else {
        return Bytes(NUMBER_OVERHEAD); // zero has no significant digits
    };
    let last =
        digits().enumerate().filter(|&(_, d)| is_significant(d)).map(|(i, _)| i).last().unwrap_or(first);
    let pairs = (pair_of(first) - pair_of(last)).unsigned_abs() + 1;
    let negative = if mantissa.starts_with('-') { NEGATIVE_OVERHEAD } else { 0 };
    Bytes((NUMBER_OVERHEAD + pairs + negative).min(NUMBER_MAX))
}

/// A plain JSON object stored as an item: names and values of its properties, arrays as lists, objects as
/// maps.
pub fn json_item_size(item: &Map<String, Value>) -> Bytes {
    item.iter().map(|(name, value)| attribute(name, json_value_size(value))).sum()
}

fn json_value_size(value: &Value) -> Bytes {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(n) => number(&n.to_string()),
        Value::String(text) => string(text),
        Value::Array(elements) => list(elements.iter().map(json_value_size)),
        Value::Object(entries) => {
            map(entries.iter().map(|(name, value)| (name.as_str(), json_value_size(value))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn item_size(value: Value) -> u64 {
        let Value::Object(item) = value else { panic!("an item is an object") };
        json_item_size(&item).0
    }

    // physics.md 1.3: strings are UTF-8 bytes, names included.
    #[test]
    fn names_and_strings_weigh_their_utf8() {
        assert_eq!(item_size(json!({"name": "Zoë"})), 4 + 4);
        assert_eq!(attribute("né", string("ü")), Bytes(3 + 2));
        assert_eq!(binary(&[0, 1, 2]), Bytes(3));
        assert_eq!(item_size(json!({})), 0);
    }

    // physics.md 1.3: one byte each.
    #[test]
    fn null_and_booleans_weigh_one_byte() {
        assert_eq!(item_size(json!({"a": null, "b": true, "c": false})), 3 * (1 + 1));
    }

    // physics.md 1.3: list/map 3 B + contents + 1 B per element.
    #[test]
    fn containers_weigh_three_bytes_and_one_per_element() {
        assert_eq!(item_size(json!({"l": [], "m": {}})), 2 * (1 + 3));
        assert_eq!(item_size(json!({"l": ["ab", true]})), 1 + 3 + (2 + 1) + (1 + 1));
        assert_eq!(item_size(json!({"m": {"key": "ab"}})), 1 + 3 + (3 + 2 + 1));
        assert_eq!(item_size(json!({"l": [[null]]})), 1 + 3 + 1 + (3 + 1 + 1));
    }

    // physics.md 1.3 [M]: 1 + ceil(integer digits/2) + ceil(fraction digits/2) + 1 if negative, zeros
    // trimmed.
    #[test]
    fn numbers_follow_the_captured_rule() {
        for (text, size) in [
            ("0", 1),
            ("-0.000", 1),
            ("1", 2),
            ("27", 2),
            ("123", 3),
            ("-123", 4),
            ("3.14", 3),
            ("123.456", 5),
            ("100.5", 4),
            ("000123.4500", 4),
            ("0.001", 2),
            ("1000", 2),
            ("1200000", 3),
            ("99999999999999999999999999999999999999", 20),
        ] {
            assert_eq!(number(text), Bytes(size), "{text}");
        }
    }

    // physics.md 1.3 [D]: about one byte per two significant digits, plus one.
    #[test]
    fn numbers_agree_with_the_documented_approximation() {
        for (text, digits) in [("7", 1), ("42", 2), ("1234", 4), ("1234.5678", 8), ("1234567890123456", 16)] {
            let documented = 1 + u64::div_ceil(digits, 2);
            assert_eq!(number(text), Bytes(documented), "{text}");
        }
    }

    #[test]
    fn no_text_is_too_strange_to_weigh() {
        for text in
            ["", "-", ".", "e", "1e99999999999999999999", "1e2147483647", "1e-2147483648", "1.2.3", "é9"]
        {
            assert!((1..=NUMBER_MAX).contains(&number(text).0), "{text}");
        }
        assert_eq!(number(&"9".repeat(1_000)), Bytes(NUMBER_MAX));
    }

    proptest! {
        #[test]
        fn the_same_number_weighs_the_same_however_it_is_written(n in 1..u64::MAX, zeros in 0..4_usize) {
            let size = number(&n.to_string());
            prop_assert_eq!(number(&format!("{}{n}", "0".repeat(zeros))), size);
            prop_assert_eq!(number(&format!("{n}.{}", "0".repeat(zeros))), size);
            prop_assert_eq!(number(&format!("{n}e0")), size);
            prop_assert_eq!(number(&format!("{n}00e-2")), size);
            prop_assert_eq!(number(&format!("-{n}")).0, size.0 + 1);
            // Moving the point by a whole pair moves no digit to another pair's place.
            prop_assert_eq!(number(&format!("{n}e-40")), size);
        }

        #[test]
        fn a_list_weighs_its_elements_and_a_set_its_members(
            sizes in prop::collection::vec(0..1_000_u64, 0..20),
        ) {
            let sizes: Vec<_> = sizes.into_iter().map(Bytes).collect();
            let sum = set(sizes.clone()).0;
            prop_assert_eq!(sum, sizes.iter().map(|size| size.0).sum::<u64>());
            prop_assert_eq!(list(sizes.clone()).0, 3 + sum + sizes.len() as u64);
        }
    }
}
