//! What a history is made of: operations on items as an application sees them, and on the table under it.

use super::{Fault, Schema, fault};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// One step of a history. Reads as JSON, so that a history can be written into a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    /// Stores this item: a new one, or in place of the one with the same identity.
    Put(Value),
    /// Gives one property of an item another value. Nothing happens if there is no such item.
    Change {
        /// The item's identity.
        item: Value,
        /// The property, names of nested ones joined by dots.
        property: String,
        /// The new value.
        to: Value,
    },
    /// Removes an item. Nothing happens if there is no such item.
    Remove(Value),
    /// Reads an item, or makes sure that it is gone.
    Get(Value),
    /// Reads all items of the logical key that this item has or had.
    List(Value),
    /// Divides a physical partition in the middle of what it stores: the one at this place, counted round.
    Split(u32),
    /// Unites a physical partition with the next one.
    Merge(u32),
    /// Lets time pass.
    WaitMillis(u32),
}

impl Operation {
    /// Operations on items of a schema.
    pub fn any(schema: &Schema) -> impl Strategy<Value = Self> + Clone + use<> {
        let change = (schema.identities(), schema.changes())
            .prop_map(|(item, (property, to))| Self::Change { item, property, to });
        prop_oneof![
            6 => schema.items().prop_map(Self::Put),
            4 => change,
            2 => schema.identities().prop_map(Self::Remove),
            1 => schema.identities().prop_map(Self::Get),
            2 => schema.identities().prop_map(Self::List),
            2 => (0..8_u32).prop_map(Self::Split),
            1 => (0..8_u32).prop_map(Self::Merge),
            1 => (1..2_000_u32).prop_map(Self::WaitMillis),
        ]
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(item) => write!(f, "put {item}"),
            Self::Change { item, property, to } => write!(f, "change {property} of {item} to {to}"),
            Self::Remove(item) => write!(f, "remove {item}"),
            Self::Get(item) => write!(f, "get {item}"),
            Self::List(item) => write!(f, "list the logical key of {item}"),
            Self::Split(at) => write!(f, "split partition at place {at}"),
            Self::Merge(at) => write!(f, "merge partition at place {at} with the next"),
            Self::WaitMillis(millis) => write!(f, "wait {millis} ms"),
        }
    }
}

/// One history: what is done, and what goes wrong meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The steps, in order.
    pub operations: Vec<Operation>,
    /// The faults, all armed from the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Case {
    /// Histories of up to `operations` steps over a schema, with up to `faults` faults.
    pub fn any(
        schema: &Schema,
        operations: usize,
        faults: usize,
    ) -> impl Strategy<Value = Self> + Clone + use<> {
        let operations = proptest::collection::vec(Operation::any(schema), 1..=operations.max(1));
        let faults = proptest::collection::vec(fault::Fault::any(), 0..=faults);
        (operations, faults).prop_map(|(operations, faults)| Self { operations, faults })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, operation) in self.operations.iter().enumerate() {
            writeln!(f, "  {:>3}  {operation}", i + 1)?;
        }
        for fault in &self.faults {
            writeln!(f, "  fault: {fault}")?;
        }
        Ok(())
    }
}
