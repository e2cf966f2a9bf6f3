//! What a traverser carries, and what an answer consists of.
//!
//! Lists, maps and paths are shared, so a traverser is cheap to copy however much it has collected. Their depth and
//! weight are bounded when they are made, so that printing and comparing them exhausts neither the stack nor patience:
//! a map of two maps of two maps … is small in memory and large in every other way.

use super::element::{Edge, Property, Vertex, VertexProperty, text};
use super::error::Outcome;
use super::run::too_large;
use super::{FRONTIER_MAX, VALUE_DEPTH_MAX, predicate};
use crate::key::ItemKey;
use serde_json::{Map, Value, json};
use std::cmp::Ordering;
use std::sync::Arc;

/// An object of the graph, or a value computed from some.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GraphValue {
    /// A vertex.
    Vertex(Vertex),
    /// An edge.
    Edge(Edge),
    /// One value of a vertex property, with its id and meta-properties.
    VertexProperty(Box<VertexProperty>),
    /// A property of an edge or of a vertex property.
    Property(Box<Property>),
    /// A scalar.
    Scalar(Value),
    /// What `fold` and `group` collect.
    List(Many),
    /// What `project` and `group` make: each key with its value.
    Map(Arc<Vec<String>>, Many),
    /// What `path` makes: the objects in the order they were met.
    Path(Many),
}

/// Several values, shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Many(Arc<Weighed>);

#[derive(Debug, PartialEq)]
struct Weighed {
    values: Vec<GraphValue>,
    /// Lists inside lists.
    depth: usize,
    /// Values in all, written out.
    weight: usize,
}

impl std::ops::Deref for Many {
    type Target = [GraphValue];
    fn deref(&self) -> &[GraphValue] {
        &self.0.values
    }
}

impl Many {
    pub(super) fn new(values: Vec<GraphValue>) -> Outcome<Self> {
        let inner = || values.iter().filter_map(GraphValue::many);
        let depth = 1 + inner().map(|many| many.0.depth).max().unwrap_or(0);
        let weight = values.len() + inner().map(|many| many.0.weight).sum::<usize>();
        if depth > VALUE_DEPTH_MAX || weight > FRONTIER_MAX {
            return Err(too_large(format!(
                "a value holds at most {FRONTIER_MAX} others, at most {VALUE_DEPTH_MAX} deep: collect less"
            )));
        }
        Ok(Self(Arc::new(Weighed { values, depth, weight })))
    }
}

impl GraphValue {
    fn many(&self) -> Option<&Many> {
        match self {
            Self::List(many) | Self::Map(_, many) | Self::Path(many) => Some(many),
            _ => None,
        }
    }

    pub(super) fn map(entries: Vec<(String, Self)>) -> Outcome<Self> {
        let (keys, values) = entries.into_iter().unzip();
        Ok(Self::Map(Arc::new(keys), Many::new(values)?))
    }

    /// What it is, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Vertex(_) => "a vertex",
            Self::Edge(_) => "an edge",
            Self::VertexProperty(_) => "a vertex property",
            Self::Property(_) => "a meta or edge property",
            Self::Scalar(_) => "a value",
            Self::List(_) => "a list",
            Self::Map(..) => "a map",
            Self::Path(_) => "a path",
        }
    }

    /// The vertex, if it is one.
    pub fn as_vertex(&self) -> Option<&Vertex> {
        match self {
            Self::Vertex(vertex) => Some(vertex),
            _ => None,
        }
    }

    /// The edge, if it is one.
    pub fn as_edge(&self) -> Option<&Edge> {
        match self {
            Self::Edge(edge) => Some(edge),
            _ => None,
        }
    }

    /// The scalar: of a property, its value.
    pub fn as_scalar(&self) -> Option<&Value> {
        match self {
            Self::Scalar(value) => Some(value),
            Self::VertexProperty(property) => Some(&property.value),
            Self::Property(property) => Some(&property.value),
            _ => None,
        }
    }

    /// Its id, if it has one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Vertex(vertex) => Some(vertex.id()),
            Self::Edge(edge) => Some(edge.id()),
            Self::VertexProperty(property) => Some(&property.id),
            _ => None,
        }
    }

    /// Its label: of a property, its name.
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::Vertex(vertex) => Some(vertex.label()),
            Self::Edge(edge) => Some(edge.label()),
            Self::VertexProperty(property) => Some(&property.key),
            Self::Property(property) => Some(&property.key),
            _ => None,
        }
    }

    /// The values of one of its properties; `id` and `label` count as properties, as in `has('id', …)`.
    pub(super) fn property_values(&self, name: &str) -> Vec<Value> {
        match (name, self) {
            ("id", _) => self.id().map(Value::from).into_iter().collect(),
            ("label", _) => self.label().map(Value::from).into_iter().collect(),
            (_, Self::Vertex(vertex)) => vertex.values(name).cloned().collect(),
            (_, Self::Edge(edge)) => edge.value(name).cloned().into_iter().collect(),
            (_, Self::VertexProperty(property)) => property.meta.get(name).cloned().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Bytes that are equal for what `dedup` calls equal: elements by identity, the rest by value.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::Vertex(vertex) => format!("v{}", place(vertex.item_key())),
            Self::Edge(edge) => format!("e{}", place(edge.item_key())),
            Self::VertexProperty(property) => {
                format!("p{}{:?}", place(&property.vertex), (&property.key, &property.id))
            }
            Self::Property(property) => {
                let name = (&property.of, &property.key);
                format!("q{}{name:?}{}", place(&property.element), property.value)
            }
            // 1.0 is 1; a float that is no whole number is like itself only.
            Self::Scalar(Value::Number(number)) => match predicate::whole(number) {
                Some(whole) => format!("s{whole}"),
                None => format!("s{number}"),
            },
            Self::Scalar(value) => format!("s{value}"),
            Self::List(values) => Self::identities('l', values.iter()),
            Self::Path(values) => Self::identities('w', values.iter()),
            Self::Map(keys, values) => format!("m{keys:?}{}", Self::identities('l', values.iter())),
        }
    }

    fn identities<'v>(tag: char, values: impl Iterator<Item = &'v Self>) -> String {
        format!("{tag}{:?}", values.map(Self::identity).collect::<Vec<_>>())
    }

    /// A total order: scalars of one kind by value, everything else by what it is and then by identity.
    pub(super) fn total_cmp(&self, other: &Self) -> Ordering {
        let scalars = self.as_scalar().zip(other.as_scalar()).and_then(|(a, b)| predicate::compare(a, b));
        scalars.unwrap_or_else(|| {
            let rank = |value: &Self| match value.as_scalar() {
                Some(Value::Null) => 0,
                Some(Value::Bool(_)) => 1,
                Some(Value::Number(_)) => 2,
                Some(Value::String(_)) => 3,
                Some(_) => 4,
                None => 5,
            };
            rank(self).cmp(&rank(other)).then_with(|| self.identity().cmp(&other.identity()))
        })
    }

    /// As the key of a group: text as it is, elements by id.
    pub(super) fn group_key(&self) -> String {
        match self.as_scalar() {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => self.id().map_or_else(|| self.to_json().to_string(), str::to_owned),
        }
    }

    /// The object as the service answers it (shapes recorded from its emulator by ExRam.Gremlinq).
    pub fn to_json(&self) -> Value {
        let list = |values: &[Self]| values.iter().map(Self::to_json).collect::<Vec<_>>();
        match self {
            Self::Vertex(vertex) => {
                let mut properties: Map<String, Value> = Map::new();
                for property in vertex.properties() {
                    let mut entry = json!({ "id": property.id, "value": property.value });
                    if !property.meta.is_empty() {
                        entry["properties"] = property.meta.into();
                    }
                    if let Some(values) =
                        properties.entry(property.key).or_insert_with(|| json!([])).as_array_mut()
                    {
                        values.push(entry);
                    }
                }
                with_properties(
                    json!({ "id": vertex.id(), "label": vertex.label(), "type": "vertex" }),
                    properties,
                )
            }
            Self::Edge(edge) => with_properties(
                json!({
                    "id": edge.id(),
                    "label": edge.label(),
                    "type": "edge",
                    "inVLabel": text(edge.document(), "_sinkLabel"),
                    "outVLabel": text(edge.document(), "_vertexLabel"),
                    "inV": text(edge.document(), "_sink"),
                    "outV": text(edge.document(), "_vertexId"),
                }),
                edge.properties().into_iter().map(|property| (property.key, property.value)).collect(),
            ),
            Self::VertexProperty(property) => with_properties(
                json!({ "id": property.id, "value": property.value, "label": property.key }),
                property.meta.clone(),
            ),
            Self::Property(property) => json!({ "key": property.key, "value": property.value }),
            Self::Scalar(value) => value.clone(),
            Self::List(values) => list(values).into(),
            Self::Map(keys, values) => {
                let entries = keys.iter().cloned().zip(values.iter().map(Self::to_json));
                entries.collect::<Map<_, _>>().into()
            }
            Self::Path(objects) => {
                json!({ "labels": vec![json!([]); objects.len()], "objects": list(objects) })
            }
        }
    }
}

/// Text that no other element's place has: `1` and `"1"` are two partition keys, and read alike when they are printed.
fn place(key: &ItemKey) -> String {
    format!("{:?}{:?}", key.partition.values(), String::from_utf8_lossy(key.sort.as_bytes()))
}

/// There is no `properties` member where there are no properties.
fn with_properties(mut object: Value, properties: Map<String, Value>) -> Value {
    if !properties.is_empty() {
        object["properties"] = properties.into();
    }
    object
}
