//! `ConsumedCapacity`: what an operation cost, in as much detail as was asked for.

use super::super::service::{Charges, DynamoTable};
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use crate::charge::RequestCharge;
use serde_json::{Map, Value, json};

/// How much is told of what an operation cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnConsumedCapacity {
    /// Nothing.
    #[default]
    None,
    /// The sum.
    Total,
    /// The sum, and each resource apart.
    Indexes,
}

impl ReturnConsumedCapacity {
    /// Takes the member of a request and notes what is wrong with it.
    pub(super) fn take(fields: &mut Fields, constraints: &mut Constraints) -> Result<Self, ApiError> {
        let word = fields.text("ReturnConsumedCapacity")?;
        // The order of the words is the service's.
        constraints.word(word.as_deref(), "returnConsumedCapacity", &["INDEXES", "TOTAL", "NONE"]);
        Ok(match word.as_deref() {
            Some("TOTAL") => Self::Total,
            Some("INDEXES") => Self::Indexes,
            _ => Self::None,
        })
    }

    /// The member of the answer; `None` when nothing is to be told.
    pub(super) fn tell(self, table: &DynamoTable, charges: &Charges) -> Option<Value> {
        if self == Self::None {
            return None;
        }
        let definition = table.definition();
        let units = |charge: RequestCharge| charge.read.as_f64() + charge.write.as_f64();
        let mut told = Map::new();
        told.insert("TableName".into(), json!(definition.name));
        told.insert("CapacityUnits".into(), json!(units(charges.total())));
        if self == Self::Indexes {
            told.insert("Table".into(), json!({ "CapacityUnits": units(charges.table) }));
            let local = definition.local.iter().map(|index| &index.name).zip(&charges.local);
            let global = definition.global.iter().map(|index| &index.index.name).zip(&charges.global);
            for (name, group) in [
                ("LocalSecondaryIndexes", local.collect::<Vec<_>>()),
                ("GlobalSecondaryIndexes", global.collect()),
            ] {
                let indexes: Map<String, Value> = group
                    .into_iter()
                    .filter(|(_, charge)| !charge.is_zero())
                    .map(|(name, charge)| (name.clone(), json!({ "CapacityUnits": units(*charge) })))
                    .collect();
                if !indexes.is_empty() {
                    told.insert(name.into(), Value::Object(indexes));
                }
            }
        }
        Some(Value::Object(told))
    }
}
