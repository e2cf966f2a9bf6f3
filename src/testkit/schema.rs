//! What test items look like: an identity, and properties with a few values each.
//!
//! Few values are the point: histories of random operations find faults where operations meet, and they meet only if
//! the same items and the same logical keys come up again and again.

use super::violation::ensure;
use super::{Operation, Violation};
use crate::client::KeyDesign;
use crate::key::{FieldPath, Part, Template};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

/// Different items of a schema, unless it says otherwise.
const ITEMS: usize = 5;
/// Different values of a property that a key is made of.
const VALUES: usize = 3;

/// The properties of test items.
///
/// - The identity names an item for life; the other properties may change.
/// - Every property has at least one value.
#[derive(Clone, Debug)]
pub struct Schema {
    identity: FieldPath,
    identities: Vec<Value>,
    properties: Vec<(FieldPath, Vec<Value>)>,
    /// What stands in the key as it is.
    logical: Vec<FieldPath>,
    /// All that the key is made of.
    keyed: Vec<FieldPath>,
}

impl Schema {
    /// The items that a key design needs: its sort property is the identity, and each property that the partition key is
    /// made of has three values. One more, `note`, belongs to no key.
    pub fn of(design: &KeyDesign) -> Self {
        let identity = design.sort().clone();
        let keyed: Vec<FieldPath> = design.fields().into_iter().cloned().collect();
        let plain = |level: &Template| -> Vec<FieldPath> {
            let fields = level.parts().iter().filter_map(|part| match part {
                Part::Field(field) => Some(level.fields()[*field].clone()),
                _ => None,
            });
            fields.collect()
        };
        let logical = design.levels().iter().flat_map(plain).collect();
        let texts = |name: &str, count: usize| -> Vec<Value> {
            (0..count).map(|i| Value::from(format!("{name}-{i}"))).collect()
        };
        let mut properties: Vec<(FieldPath, Vec<Value>)> = keyed
            .iter()
            .filter(|path| **path != identity)
            .map(|path| (path.clone(), texts(path.names().last().map_or("", String::as_str), VALUES)))
            .collect();
        properties.push(("note".into(), (0..VALUES).map(Value::from).collect()));
        Self { identities: texts("item", ITEMS), identity, properties, logical, keyed }
    }

    /// With these values of a property. A property that the schema has not gets added.
    ///
    /// # Panics
    /// When there are no values.
    #[must_use]
    pub fn with(mut self, property: impl Into<FieldPath>, values: Vec<Value>) -> Self {
        let path = property.into();
        assert!(!values.is_empty(), "property {path} needs at least one value");
        if path == self.identity {
            self.identities = values;
            return self;
        }
        match self.properties.iter_mut().find(|(name, _)| *name == path) {
            Some((_, old)) => *old = values,
            None => self.properties.push((path, values)),
        }
        self
    }

    /// The property that names an item.
    pub fn identity(&self) -> &FieldPath {
        &self.identity
    }

    /// Items of this schema; they shrink towards the first value of each property.
    pub fn items(&self) -> impl Strategy<Value = Value> + Clone + use<> {
        let schema = self.clone();
        let counts: Vec<_> = self.properties.iter().map(|(_, values)| 0..values.len()).collect();
        (0..self.identities.len(), counts).prop_map(move |(identity, choices)| {
            let mut item = Map::new();
            set(&mut item, &schema.identity, schema.identities[identity].clone());
            for ((path, values), choice) in schema.properties.iter().zip(choices) {
                set(&mut item, path, values[choice].clone());
            }
            Value::Object(item)
        })
    }

    /// Identities of items.
    pub fn identities(&self) -> impl Strategy<Value = Value> + Clone + use<> {
        select(self.identities.clone())
    }

    /// A property and a value for it.
    pub fn changes(&self) -> impl Strategy<Value = (String, Value)> + Clone + use<> {
        let all: Vec<(String, Value)> = self
            .properties
            .iter()
            .flat_map(|(path, values)| values.iter().map(move |value| (path.dotted(), value.clone())))
            .collect();
        select(all)
    }

    /// Whether the schema has all that an operation names: what it has not would be let pass in silence.
    pub(super) fn check(&self, operation: &Operation) -> Result<(), Violation> {
        let all = || {
            let paths = std::iter::once(&self.identity).chain(self.properties.iter().map(|(path, _)| path));
            paths.map(FieldPath::dotted).collect::<Vec<_>>().join(", ")
        };
        match operation {
            Operation::Put(item) => {
                ensure(self.identity_of(item).is_some(), || {
                    format!("the item has no {}, which names it for life", self.identity)
                })?;
                ensure(self.plain(item) == *item, || {
                    format!("the item has properties that the schema has not; it has {}", all())
                })
            }
            Operation::Change { property, .. } => {
                ensure(*property != self.identity.dotted(), || {
                    format!("{property} names an item for life and does not change")
                })?;
                ensure(self.properties.iter().any(|(path, _)| path.dotted() == *property), || {
                    format!("the schema has no property {property}; it has {}", all())
                })
            }
            _ => Ok(()),
        }
    }

    /// The identity of an item.
    pub(super) fn identity_of(&self, item: &Value) -> Option<Value> {
        get(item, &self.identity).cloned()
    }

    /// The item with another value of a property, named as [`changes`](Self::changes) names it.
    pub(super) fn changed(&self, item: &Value, property: &str, to: &Value) -> Value {
        let mut item = item.clone();
        let path = self.properties.iter().map(|(path, _)| path).find(|path| path.dotted() == property);
        if let (Some(path), Value::Object(map)) = (path, &mut item) {
            set(map, path, to.clone());
        }
        item
    }

    /// The item without what the code under test stored beside the schema's properties.
    pub(super) fn plain(&self, item: &Value) -> Value {
        let paths = std::iter::once(&self.identity).chain(self.properties.iter().map(|(path, _)| path));
        select_paths(item, paths)
    }

    /// What names one item: its identity and all that its key is made of.
    pub(super) fn known(&self, item: &Value) -> Value {
        select_paths(item, std::iter::once(&self.identity).chain(&self.keyed))
    }

    /// What names a logical key: the properties that stand in it as they are.
    pub(super) fn logical(&self, item: &Value) -> Value {
        select_paths(item, &self.logical)
    }
}

fn select_paths<'p>(item: &Value, paths: impl IntoIterator<Item = &'p FieldPath>) -> Value {
    let mut out = Map::new();
    for path in paths {
        if let Some(value) = get(item, path) {
            set(&mut out, path, value.clone());
        }
    }
    Value::Object(out)
}

fn get<'v>(item: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.names().iter().try_fold(item, |value, name| value.get(name))
}

fn set(map: &mut Map<String, Value>, path: &FieldPath, value: Value) {
    let Some((last, outer)) = path.names().split_last() else { return };
    let mut map = map;
    for name in outer {
        let inner = map.entry(name).or_insert_with(|| Value::Object(Map::new()));
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        match inner {
            Value::Object(inner) => map = inner,
            _ => return,
        }
    }
    map.insert(last.clone(), value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Service;
    use serde_json::json;

    #[test]
    fn a_design_says_what_its_items_need() {
        let template = Template::parse("{address.city}.{hash(vin, 1..9)}").unwrap();
        let schema = Schema::of(&KeyDesign::new(template, "id", Service::Cosmos));
        let item =
            json!({"id": "item-0", "address": {"city": "Oslo"}, "vin": "W1", "note": 2, "partitionKey": "x"});
        assert_eq!(schema.identity_of(&item), Some(json!("item-0")));
        assert_eq!(schema.logical(&item), json!({"address": {"city": "Oslo"}}));
        assert_eq!(schema.known(&item), json!({"id": "item-0", "address": {"city": "Oslo"}, "vin": "W1"}));
        assert_eq!(schema.plain(&item)["partitionKey"], Value::Null);
        assert_eq!(schema.changed(&item, "address.city", &json!("Rome"))["address"]["city"], "Rome");
    }
}
