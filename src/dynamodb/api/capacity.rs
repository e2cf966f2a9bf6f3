//! `ConsumedCapacity`: what an operation cost, in as much detail as was asked for.

use super::super::service::{Charges, DynamoTable};
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use crate::charge::RequestCharge;
use serde_json::{Map, Value, json};
use std::sync::Arc;

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
        self.tell_units(table, charges, units)
    }

    /// The same, with each resource's units told by `units`.
    fn tell_units(
        self,
        table: &DynamoTable,
        charges: &Charges,
        units: impl Fn(RequestCharge) -> Map<String, Value>,
    ) -> Option<Value> {
        if self == Self::None {
            return None;
        }
        let definition = table.definition();
        let mut told = Map::new();
        told.insert("TableName".into(), json!(definition.name));
        told.extend(units(charges.total()));
        if self == Self::Indexes {
            told.insert("Table".into(), Value::Object(units(charges.table)));
            let local = definition.local.iter().map(|index| &index.name).zip(&charges.local);
            let global = definition.global.iter().map(|index| &index.index.name).zip(&charges.global);
            for (name, group) in [
                ("LocalSecondaryIndexes", local.collect::<Vec<_>>()),
                ("GlobalSecondaryIndexes", global.collect()),
            ] {
                let indexes: Map<String, Value> = group
                    .into_iter()
                    .filter(|(_, charge)| !charge.is_zero())
                    .map(|(name, charge)| (name.clone(), Value::Object(units(*charge))))
                    .collect();
                if !indexes.is_empty() {
                    told.insert(name.into(), Value::Object(indexes));
                }
            }
        }
        Some(Value::Object(told))
    }
}

fn sum(charge: RequestCharge) -> f64 {
    charge.read.as_f64() + charge.write.as_f64()
}

fn units(charge: RequestCharge) -> Map<String, Value> {
    Map::from_iter([("CapacityUnits".to_owned(), json!(sum(charge)))])
}

/// Transactions tell read and write units by their own names as well (dynoxide's captures; that the total has them too is
/// *assumed*).
fn transaction_units(charge: RequestCharge) -> Map<String, Value> {
    let mut told = units(charge);
    for (name, units) in
        [("ReadCapacityUnits", charge.read.as_f64()), ("WriteCapacityUnits", charge.write.as_f64())]
    {
        if units > 0.0 {
            told.insert(name.into(), json!(units));
        }
    }
    told
}

/// What a request over several tables cost, table by table in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct PerTable(Vec<(Arc<DynamoTable>, Charges)>);

impl PerTable {
    pub(super) fn add(&mut self, table: &Arc<DynamoTable>, charges: &Charges) {
        match self.0.iter_mut().find(|(own, _)| Arc::ptr_eq(own, table)) {
            Some((_, sum)) => sum.add(charges),
            None => self.0.push((Arc::clone(table), charges.clone())),
        }
    }

    /// The member of a batch's answer.
    pub(super) fn tell(&self, how: ReturnConsumedCapacity) -> Option<Value> {
        self.list(how, units)
    }

    /// The member of a transaction's answer.
    pub(super) fn tell_transaction(&self, how: ReturnConsumedCapacity) -> Option<Value> {
        self.list(how, transaction_units)
    }

    fn list(
        &self,
        how: ReturnConsumedCapacity,
        units: impl Fn(RequestCharge) -> Map<String, Value>,
    ) -> Option<Value> {
        self.0.iter().map(|(table, charges)| how.tell_units(table, charges, &units)).collect()
    }
}
