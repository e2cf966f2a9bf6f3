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
impl Document for serde_json::Value {
    fn size(&self) -> Bytes {
        struct Counter(u64);
        impl std::io::Write for Counter {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 += bytes.len() as u64;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut counter = Counter(0);
        // Neither the counter nor a `Value` (whose keys are strings) can fail to serialise.
        let _ = serde_json::to_writer(&mut counter, self);
        Bytes(counter.0)
    }
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
}
