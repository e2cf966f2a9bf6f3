//! What the client must do with an item beyond storing it: read its properties and add its key.

use crate::document::Document;
use crate::key::{KeyValue, Properties};
use std::sync::Arc;

/// An item whose properties can be read, and whose computed key can be stored in it.
pub trait Record: Document + Properties {
    /// The item with a property set at its top level. Absent stays absent.
    #[must_use]
    fn with_property(self, name: &str, value: &KeyValue) -> Self;
}

impl Record for serde_json::Value {
    /// Anything but an object has no properties and stays as it is.
    fn with_property(mut self, name: &str, value: &KeyValue) -> Self {
        if let (Self::Object(map), Some(value)) = (&mut self, to_json(value)) {
            map.insert(name.to_owned(), value);
        }
        self
    }
}

impl<R: Record + Properties> Properties for Arc<R> {
    fn property<'a>(&'a self, field: crate::key::FieldRef<'_>) -> crate::key::Property<'a> {
        (**self).property(field)
    }
}

impl<R: Record> Record for Arc<R> {
    fn with_property(self, name: &str, value: &KeyValue) -> Self {
        Arc::new(Arc::unwrap_or_clone(self).with_property(name, value))
    }
}

fn to_json(value: &KeyValue) -> Option<serde_json::Value> {
    Some(match value {
        KeyValue::Undefined => return None,
        KeyValue::Null => serde_json::Value::Null,
        KeyValue::Bool(b) => (*b).into(),
        KeyValue::Number(n) => serde_json::Number::from_f64(*n)?.into(),
        KeyValue::String(s) => s.as_str().into(),
        // JSON has no bytes: lower-case hex, as `KeyValue` prints them.
        KeyValue::Binary(_) => value.to_string().into(),
    })
}
