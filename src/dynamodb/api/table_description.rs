//! `TableDescription`: what the service tells of a table.

use super::super::key::{KeySchema, KeyType};
use super::super::service::{Billing, DynamoTable, IndexDefinition, IndexProjection};
use super::Call;
use super::items::arn;
use crate::clock::Instant;
use crate::cluster::Table;
use serde_json::{Map, Value, json};

/// A moment as the service writes it: seconds since 1970, with milliseconds.
pub(super) fn moment(call: &Call<'_>, at: Instant) -> Value {
    let millis = call.database.beginning().as_millis() + u128::from(at.nanos() / 1_000_000);
    json!(millis as f64 / 1_000.0)
}

/// Describes a table that has this status. Items and bytes are those of this moment; the service counts every six hours.
pub(super) fn describe(call: &Call<'_>, table: &DynamoTable, status: &str) -> Value {
    let definition = table.definition();
    let settings = table.settings();
    let attributes = definition.attributes.iter().map(|(name, kind)| {
        let kind = match kind {
            KeyType::S => "S",
            KeyType::N => "N",
            KeyType::B => "B",
        };
        json!({ "AttributeName": name, "AttributeType": kind })
    });
    let (items, bytes) = table.base().contents();
    let arn = arn(table);
    let mut told = Map::new();
    let mut tell = |name: &str, value: Value| drop(told.insert(name.to_owned(), value));
    tell("AttributeDefinitions", attributes.collect());
    tell("TableName", json!(definition.name));
    tell("KeySchema", keys(&definition.schema));
    tell("TableStatus", json!(status));
    tell("CreationDateTime", moment(call, settings.created));
    let mut throughput = throughput(definition.billing);
    for (name, at) in [("LastIncreaseDateTime", settings.raised), ("LastDecreaseDateTime", settings.lowered)]
    {
        if let Some(at) = at {
            throughput.insert(name.into(), moment(call, at));
        }
    }
    tell("ProvisionedThroughput", Value::Object(throughput));
    tell("TableSizeBytes", json!(bytes.0));
    tell("ItemCount", json!(items));
    tell("TableArn", json!(arn));
    tell("TableId", json!(table.id()));
    let since = settings.on_demand_since.map(|since| moment(call, since));
    match (definition.billing, since) {
        (Billing::OnDemand, since) => {
            let since = since.unwrap_or_else(|| moment(call, settings.created));
            let mode =
                json!({ "BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": since });
            tell("BillingModeSummary", mode);
        }
        (Billing::Provisioned { .. }, Some(since)) => {
            let mode = json!({ "BillingMode": "PROVISIONED", "LastUpdateToPayPerRequestDateTime": since });
            tell("BillingModeSummary", mode);
        }
        // The service says nothing of the mode of a table that never had another one.
        (Billing::Provisioned { .. }, None) => {}
    }
    if settings.infrequent_access {
        tell("TableClassSummary", json!({ "TableClass": "STANDARD_INFREQUENT_ACCESS" }));
    }
    let local = definition.local.iter().enumerate();
    let local: Vec<Value> = local.map(|(i, own)| Value::Object(index(own, &arn, table.local(i)))).collect();
    if !local.is_empty() {
        tell("LocalSecondaryIndexes", Value::Array(local));
    }
    let global = definition.global.iter().enumerate();
    let global: Vec<Value> = global
        .map(|(i, own)| {
            let mut told = index(&own.index, &arn, table.global(i));
            told.insert("IndexStatus".into(), json!("ACTIVE"));
            told.insert("ProvisionedThroughput".into(), Value::Object(self::throughput(own.billing)));
            Value::Object(told)
        })
        .collect();
    if !global.is_empty() {
        tell("GlobalSecondaryIndexes", Value::Array(global));
    }
    tell("DeletionProtectionEnabled", json!(settings.deletion_protection));
    Value::Object(told)
}

fn keys(schema: &KeySchema) -> Value {
    let kinds = ["HASH", "RANGE"];
    schema
        .attributes()
        .zip(kinds)
        .map(|(key, kind)| json!({ "AttributeName": key.name(), "KeyType": kind }))
        .collect()
}

fn throughput(billing: Billing) -> Map<String, Value> {
    let (read, write) = match billing {
        Billing::Provisioned { read, write } => (read, write),
        Billing::OnDemand => (0, 0),
    };
    let mut told = Map::new();
    // Decreases are not rationed here.
    told.insert("NumberOfDecreasesToday".into(), json!(0));
    told.insert("ReadCapacityUnits".into(), json!(read));
    told.insert("WriteCapacityUnits".into(), json!(write));
    told
}

fn index(
    own: &IndexDefinition,
    arn: &str,
    entries: Option<&Table<super::super::item::Item>>,
) -> Map<String, Value> {
    let (items, bytes) = entries.map(Table::contents).unwrap_or_default();
    let projection = match &own.projection {
        IndexProjection::All => json!({ "ProjectionType": "ALL" }),
        IndexProjection::KeysOnly => json!({ "ProjectionType": "KEYS_ONLY" }),
        IndexProjection::Include(names) => json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names }),
    };
    let mut told = Map::new();
    told.insert("IndexName".into(), json!(own.name));
    told.insert("KeySchema".into(), keys(&own.schema));
    told.insert("Projection".into(), projection);
    told.insert("IndexSizeBytes".into(), json!(bytes.0));
    told.insert("ItemCount".into(), json!(items));
    told.insert("IndexArn".into(), json!(format!("{arn}/index/{}", own.name)));
    told
}
