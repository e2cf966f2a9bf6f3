//! Vertices and edges as the service stores them, and as a traversal sees them.
//!
//! ```text
//!   vertex  {"id":"thomas","label":"person","city":"oslo",
//!            "age":[{"id":"<guid>","_value":44}],
//!            "name":[{"id":"<guid>","_value":"GER","_meta":{"de":"Deutschland"}}]}
//!   edge    {"id":"<guid>","label":"knows","since":2017,"city":"oslo","_isEdge":true,
//!            "_vertexId":"thomas","_vertexLabel":"person",
//!            "_sink":"mary","_sinkLabel":"person","_sinkPartition":"bergen"}
//! ```
//!
//! Sources: graph backend JSON of the cosmosdb-graph-working-guides, `GremlinScenarioTests.cs` of azure-cosmos-dotnet-v3,
//! the bulk executor's reserved names. `_isEdge` tells the two apart. A document that is neither is not part of the
//! graph; of a vertex, properties that are not in the stored form are kept and not seen (*assumed*).
//!
//! - An element's document lies where its id and partition key say.
//! - An element is a view of its document: it copies nothing until asked.

use crate::key::{ItemKey, KeyValue, PartitionKey, SortKey};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// A document of a container that holds a graph: shared, so that a page of neighbours copies pointers.
pub type GraphDocument = Arc<Value>;

/// Names an edge document uses itself (the bulk executor refuses them as property names).
const EDGE_FIELDS: [&str; 6] =
    ["_vertexId", "_vertexLabel", "_sink", "_sinkLabel", "_sinkPartition", "_isEdge"];
/// Names the service adds to every document.
const SYSTEM_FIELDS: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// Whether a property may not have this name.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(name, "id" | "label") || EDGE_FIELDS.contains(&name) || SYSTEM_FIELDS.contains(&name)
}

/// Which property decides placement, if any: what one must know to find elements in documents.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    pub(super) partition_key: Option<Arc<str>>,
}

impl Schema {
    /// The partition key with this value. A container without a partition key keeps everything under the undefined one.
    pub(super) fn partition(&self, value: Option<&Value>) -> Option<PartitionKey> {
        let Some(_) = &self.partition_key else { return Some(PartitionKey::single(KeyValue::Undefined)) };
        match value? {
            Value::String(text) => Some(PartitionKey::text(text)),
            Value::Number(number) => number.as_f64().map(PartitionKey::single),
            Value::Bool(flag) => Some(PartitionKey::single(KeyValue::Bool(*flag))),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Whether the document lies where it says.
    fn is_in_place(&self, key: &ItemKey, document: &Map<String, Value>) -> bool {
        let value = self.partition_key.as_ref().and_then(|name| document.get(&**name));
        let placed = match (value, key.partition.plain_text()) {
            (Some(Value::String(text)), Some(plain)) => text.as_bytes() == plain,
            _ => self.partition(value).as_ref() == Some(&key.partition),
        };
        placed && document.get("id").and_then(Value::as_str).is_some_and(|id| SortKey::text(id) == key.sort)
    }

    /// The vertex that this document stores, if it does.
    pub(super) fn vertex(&self, key: &ItemKey, document: &GraphDocument) -> Option<Vertex> {
        let fields = document.as_object()?;
        let is_vertex = !fields.contains_key("_isEdge")
            && fields.get("label").is_some_and(Value::is_string)
            && self.is_in_place(key, fields);
        is_vertex.then(|| Vertex {
            key: key.clone(),
            document: Arc::clone(document),
            partition_key: self.partition_key.clone(),
        })
    }

    /// The edge that this document stores, if it does.
    pub(super) fn edge(&self, key: &ItemKey, document: &GraphDocument) -> Option<Edge> {
        let fields = document.as_object()?;
        let text = |name| fields.get(name).is_some_and(Value::is_string);
        if fields.get("_isEdge") != Some(&Value::Bool(true))
            || !["label", "_vertexId", "_sink"].into_iter().all(text)
            || !self.is_in_place(key, fields)
        {
            return None;
        }
        let target = ItemKey {
            partition: self.partition(fields.get("_sinkPartition"))?,
            sort: SortKey::text(fields.get("_sink")?.as_str()?),
        };
        let source = ItemKey {
            partition: key.partition.clone(),
            sort: SortKey::text(fields.get("_vertexId")?.as_str()?),
        };
        Some(Edge {
            key: key.clone(),
            document: Arc::clone(document),
            partition_key: self.partition_key.clone(),
            ends: Arc::new((source, target)),
        })
    }
}

/// The identity of an element: what `g.V(['oslo', 'thomas'])` names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ElementKey {
    /// Its logical partition.
    pub partition: PartitionKey,
    /// Its id there.
    pub id: String,
}

impl fmt::Display for ElementKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "['{}', '{}']", self.partition, self.id)
    }
}

/// The text of a field; empty where there is none.
pub(super) fn text<'d>(document: &'d Value, field: &str) -> &'d str {
    document.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// What vertices and edges have in common.
macro_rules! element {
    ($type:ident) => {
        impl $type {
            /// Its id, unique in its logical partition.
            pub fn id(&self) -> &str {
                text(&self.document, "id")
            }

            /// Its label.
            pub fn label(&self) -> &str {
                text(&self.document, "label")
            }

            /// Its identity.
            pub fn key(&self) -> ElementKey {
                ElementKey { partition: self.key.partition.clone(), id: self.id().to_owned() }
            }

            /// The document that stores it.
            pub fn document(&self) -> &GraphDocument {
                &self.document
            }

            pub(super) fn item_key(&self) -> &ItemKey {
                &self.key
            }
        }
    };
}

/// A vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Vertex {
    key: ItemKey,
    document: GraphDocument,
    partition_key: Option<Arc<str>>,
}

element!(Vertex);

impl Vertex {
    /// The values of a property, in the order they were added.
    pub fn values<'v>(&'v self, name: &str) -> impl Iterator<Item = &'v Value> {
        let field = self.document.get(name).filter(|_| !is_reserved(name));
        let flat = field.filter(|_| self.partition_key.as_deref() == Some(name));
        let stored = field.filter(|_| flat.is_none()).and_then(Value::as_array).into_iter().flatten();
        flat.into_iter().chain(stored.filter_map(|entry| stored_value(entry).map(|(_, value)| value)))
    }

    /// All properties: the partition key first, which has the id `vertexId|name`.
    pub fn properties(&self) -> Vec<VertexProperty> {
        let property = |name: &str, id: String, value: &Value, meta| VertexProperty {
            vertex: self.key.clone(),
            key: name.to_owned(),
            id,
            value: value.clone(),
            meta,
        };
        let mut properties = Vec::new();
        if let Some(name) = &self.partition_key
            && let Some(value) = self.document.get(&**name)
        {
            properties.push(property(name, format!("{}|{name}", self.id()), value, Map::new()));
        }
        for (name, field) in self.document.as_object().into_iter().flatten() {
            if is_reserved(name) || self.partition_key.as_deref() == Some(name) {
                continue;
            }
            for entry in field.as_array().into_iter().flatten() {
                if let Some((id, value)) = stored_value(entry) {
                    let meta = entry.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
                    properties.push(property(name, id.to_owned(), value, meta));
                }
            }
        }
        properties
    }
}

/// Id and value of an entry of a vertex property, if it is in the stored form.
fn stored_value(entry: &Value) -> Option<(&str, &Value)> {
    Some((entry.get("id")?.as_str()?, entry.get("_value")?))
}

/// An edge. It lies in the logical partition of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    key: ItemKey,
    document: GraphDocument,
    partition_key: Option<Arc<str>>,
    ends: Arc<(ItemKey, ItemKey)>,
}

element!(Edge);

impl Edge {
    /// The vertex it comes from.
    pub fn source(&self) -> ElementKey {
        let id = text(&self.document, "_vertexId").to_owned();
        ElementKey { partition: self.ends.0.partition.clone(), id }
    }

    /// The vertex it points to.
    pub fn target(&self) -> ElementKey {
        let id = text(&self.document, "_sink").to_owned();
        ElementKey { partition: self.ends.1.partition.clone(), id }
    }

    pub(super) fn source_key(&self) -> &ItemKey {
        &self.ends.0
    }

    pub(super) fn target_key(&self) -> &ItemKey {
        &self.ends.1
    }

    /// The value of a property.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.document.get(name).filter(|value| !is_reserved(name) && !value.is_array() && !value.is_object())
    }

    /// All properties but the partition key, which is its source's and not its own (answers do not show it).
    pub fn properties(&self) -> Vec<Property> {
        let fields = self.document.as_object().into_iter().flatten();
        fields
            .filter(|(name, _)| self.partition_key.as_deref() != Some(name))
            .filter_map(|(name, _)| self.value(name).map(|value| (name, value)))
            .map(|(name, value)| Property {
                element: self.key.clone(),
                of: None,
                key: name.clone(),
                value: value.clone(),
            })
            .collect()
    }
}

/// One value of a vertex property.
#[derive(Clone, Debug, PartialEq)]
pub struct VertexProperty {
    pub(super) vertex: ItemKey,
    /// The property's name.
    pub key: String,
    /// The id of this value.
    pub id: String,
    /// The value.
    pub value: Value,
    /// Its meta-properties.
    pub meta: Map<String, Value>,
}

impl VertexProperty {
    /// Its meta-properties, each by itself.
    pub fn properties(&self) -> Vec<Property> {
        let of = || Some((self.key.clone(), self.id.clone()));
        let element = || self.vertex.clone();
        self.meta
            .iter()
            .map(|(key, value)| Property {
                element: element(),
                of: of(),
                key: key.clone(),
                value: value.clone(),
            })
            .collect()
    }
}

/// A property of an edge, or a meta-property of a vertex property.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    pub(super) element: ItemKey,
    /// The vertex property (name, id) that it describes; `None` when it is an edge's own.
    pub(super) of: Option<(String, String)>,
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: Value,
}
