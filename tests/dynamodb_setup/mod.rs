//! Two tables with indexes, and requests to them: what the tests of batches and transactions have in common.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

use hotplate::dynamodb::api::{Answer, Call, execute};
use hotplate::dynamodb::service::{
    Billing, Database, GlobalIndex, IndexDefinition, IndexProjection, TableDefinition,
};
use hotplate::dynamodb::{Item, KeyAttribute, KeySchema, KeyType};
use hotplate::{Instant, Seed, Table};
use serde_json::{Value, json};

pub(crate) fn attribute(name: &str) -> KeyAttribute {
    KeyAttribute::new(name, KeyType::S)
}

pub(crate) fn by_status(name: &str, schema: KeySchema, projection: IndexProjection) -> IndexDefinition {
    IndexDefinition { name: name.into(), schema, projection }
}

/// `orders` has a local and a global index, `accounts` a global one.
pub(crate) fn database(billing: Billing, index: Billing) -> Database {
    filled(Database::new(Seed(1)), billing, index)
}

/// `database` with the two tables.
pub(crate) fn filled(database: Database, billing: Billing, index: Billing) -> Database {
    let simple = KeySchema::simple(attribute("status"));
    let names = |names: &[&str]| names.iter().map(|name| (Box::from(*name), KeyType::S)).collect::<Vec<_>>();
    let orders = TableDefinition {
        name: "orders".into(),
        attributes: names(&["id", "at", "status"]),
        schema: KeySchema::composite(attribute("id"), attribute("at")),
        billing,
        local: vec![by_status(
            "local",
            KeySchema::composite(attribute("id"), attribute("status")),
            IndexProjection::All,
        )],
        global: vec![GlobalIndex {
            index: by_status("by-status", simple.clone(), IndexProjection::KeysOnly),
            billing: index,
        }],
    };
    let accounts = TableDefinition {
        name: "accounts".into(),
        attributes: names(&["id", "status"]),
        schema: KeySchema::simple(attribute("id")),
        billing,
        local: Vec::new(),
        global: vec![GlobalIndex {
            index: by_status("by-owner", simple, IndexProjection::Include(vec!["n".into()])),
            billing: index,
        }],
    };
    database.create(orders, Instant::START).unwrap();
    database.create(accounts, Instant::START).unwrap();
    database
}

pub(crate) fn on_demand() -> Database {
    database(Billing::OnDemand, Billing::OnDemand)
}

pub(crate) fn ask_at(database: &Database, now: Instant, operation: &str, body: Value) -> Answer {
    execute(&Call { database, now }, operation, body.to_string().as_bytes())
}

pub(crate) fn ask(database: &Database, operation: &str, body: Value) -> Answer {
    ask_at(database, Instant::START, operation, body)
}

pub(crate) fn account(id: &str) -> Value {
    json!({"id": {"S": id}})
}

pub(crate) fn codes(answer: &Answer) -> Vec<String> {
    let body = answer.as_ref().unwrap_err().body();
    let reasons = body["CancellationReasons"].as_array().cloned().unwrap_or_default();
    reasons.iter().map(|reason| reason["Code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Write units that a table's partitions have paid, in thousandths.
pub(crate) fn consumed(table: &Table<Item>) -> u64 {
    table.report().partitions.iter().map(|partition| partition.writes.totals().consumed_milli).sum()
}
