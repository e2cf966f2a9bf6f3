//! What the engine must know of an item: its size. Nothing else.
//!
//! Partition physics does not care what an item is. DynamoDB items and Cosmos documents keep their own exact types;
//! the engine is generic over this trait and never looks inside.

use crate::units::Bytes;
use std::sync::Arc;

/// An item that can be stored in a physical partition.
///
/// `Clone` is how a reader gets its copy, so large items are best stored behind an `Arc` (for which this trait is
/// implemented).
pub trait Document: Clone + Send + Sync + 'static {
    /// The size of the item as its service counts it, keys included.
    fn size(&self) -> Bytes;
}

impl<D: Document> Document for Arc<D> {
    fn size(&self) -> Bytes {
        (**self).size()
    }
}

/// Raw bytes weigh what they measure.
impl Document for Arc<[u8]> {
    fn size(&self) -> Bytes {
        Bytes(self.len() as u64)
    }
}

/// A JSON document weighs the bytes of its compact UTF-8 text, as Cosmos DB counts an item.
///
/// Counted without writing the text: every read and write asks for it.
impl Document for serde_json::Value {
    fn size(&self) -> Bytes {
        Bytes(json_bytes(self))
    }
}

fn json_bytes(value: &serde_json::Value) -> u64 {
    use serde_json::Value;
    // Brackets, and a comma between any two members.
    let container = |members: usize| 2 + members.saturating_sub(1) as u64;
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) => decimal_digits(n),
            (None, Some(n)) => 1 + decimal_digits(n.unsigned_abs()),
            // The shortest text that reads back as the same double: nobody but the printer knows its length.
            (None, None) => number.to_string().len() as u64,
        },
        Value::String(text) => string_bytes(text),
        Value::Array(values) => container(values.len()) + values.iter().map(json_bytes).sum::<u64>(),
        Value::Object(map) => {
            let members = map.iter().map(|(name, value)| string_bytes(name) + 1 + json_bytes(value));
            container(map.len()) + members.sum::<u64>()
        }
    }
}

fn decimal_digits(n: u64) -> u64 {
    u64::from(n.checked_ilog10().unwrap_or(0)) + 1
}

/// A text in quotes. RFC 8259 escapes quotation mark, reverse solidus and control characters; five of those have a
/// short form.
fn string_bytes(text: &str) -> u64 {
    let escapes: u64 = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | 0x08 | 0x09 | 0x0A | 0x0C | 0x0D => 1,
            0x00..=0x1F => 5,
            _ => 0,
        })
        .sum();
    text.len() as u64 + 2 + escapes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_weighs_its_compact_text() {
        let value = serde_json::json!({"id": "ä", "n": [1, 2.5]});
        assert_eq!(value.size(), Bytes(value.to_string().len() as u64));
        assert_eq!(Arc::new(value.clone()).size(), value.size());
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_json_its_size_is_that_of_its_text(
            text in proptest::prelude::any::<String>(),
            control in "[\\x00-\\x1f\"\\\\\\x7f]{0,8}",
            number in proptest::num::f64::NORMAL,
            whole: i64,
            large: u64,
        ) {
            let value = serde_json::json!({
                text.clone(): [control, text, number, whole, large, null, true, false, {}, [], {"a": {"b": [1]}}],
                "": -0.0,
            });
            proptest::prop_assert_eq!(value.size(), Bytes(value.to_string().len() as u64), "{}", value);
        }
    }
}
