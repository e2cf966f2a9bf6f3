//! `ItemCollectionMetrics`: how large the item collections are that a write touched, on tables with a local index.

use super::super::service::DynamoTable;
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use crate::key::ItemKey;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes of a gigabyte.
const GB: u64 = 1 << 30;

/// Whether a request asks for the sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReturnItemCollectionMetrics(bool);

impl ReturnItemCollectionMetrics {
    /// Takes the member of a request and notes what is wrong with it.
    pub(super) fn take(fields: &mut Fields, constraints: &mut Constraints) -> Result<Self, ApiError> {
        let word = fields.text("ReturnItemCollectionMetrics")?;
        constraints.word(word.as_deref(), "returnItemCollectionMetrics", &["SIZE", "NONE"]);
        Ok(Self(word.as_deref() == Some("SIZE")))
    }

    /// The collection that holds an item: its key, and its size as a range of one gigabyte.
    pub(super) fn tell(self, table: &DynamoTable, key: &ItemKey) -> Option<Value> {
        let definition = table.definition();
        if !self.0 || definition.local.is_empty() {
            return None;
        }
        let mut attributes = definition.schema.attributes_of(key)?;
        let partition = definition.schema.partition().name();
        attributes.retain(|name| name == partition);
        let least = table.collection_bytes(&key.partition).0 / GB;
        Some(json!({
            "ItemCollectionKey": attributes.to_json(),
            "SizeEstimateRangeGB": [least as f64, (least + 1) as f64],
        }))
    }
}

/// The collections that a request over several tables touched, each once.
#[derive(Debug)]
pub(super) struct Collections {
    asked: ReturnItemCollectionMetrics,
    seen: BTreeSet<(String, ItemKey)>,
    touched: Vec<(Arc<DynamoTable>, ItemKey)>,
}

impl Collections {
    pub(super) fn new(asked: ReturnItemCollectionMetrics) -> Self {
        Self { asked, seen: BTreeSet::new(), touched: Vec::new() }
    }

    /// Notes that an item was written.
    pub(super) fn touch(&mut self, table: &Arc<DynamoTable>, key: &ItemKey) {
        if !self.asked.0 || table.definition().local.is_empty() {
            return;
        }
        let collection = ItemKey { partition: key.partition.clone(), sort: crate::key::SortKey::none() };
        if self.seen.insert((table.definition().name.clone(), collection)) {
            self.touched.push((Arc::clone(table), key.clone()));
        }
    }

    /// The member of the answer: collections by table. `None` when none was touched.
    pub(super) fn tell(self) -> Option<Value> {
        let mut told = Map::new();
        for (table, key) in &self.touched {
            if let Some(metrics) = self.asked.tell(table, key) {
                let list = told.entry(table.definition().name.clone()).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(metrics);
                }
            }
        }
        (!told.is_empty()).then_some(Value::Object(told))
    }
}
