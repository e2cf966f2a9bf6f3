//! GetItem, PutItem, UpdateItem and DeleteItem.

use super::super::attributes::Attributes;
use super::super::error::ServiceError;
use super::super::expression::{Condition, ExpressionKind, Parameters, Placeholders, Projection, Update};
use super::super::item::Item;
use super::super::legacy;
use super::super::service::{Billing, DynamoTable, Refused, Written};
use super::capacity::ReturnConsumedCapacity;
use super::error::{ApiError, of_refused};
use super::fields::{Constraints, Fields};
use super::intent::{Change, Intent};
use super::metrics::ReturnItemCollectionMetrics;
use super::{Answer, Call};
use crate::charge::{Consistency, RequestCharge};
use crate::cluster::Refusal;
use crate::key::ItemKey;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Where this database says that it is. Regions and accounts select databases above this layer.
pub(super) fn arn(table: &DynamoTable) -> String {
    format!("arn:aws:dynamodb:us-east-1:000000000000:table/{}", table.definition().name)
}

/// The table that a request names, an ARN included.
pub(super) fn table(call: &Call<'_>, name: &str) -> Result<Arc<DynamoTable>, ApiError> {
    let name = name.rsplit_once(":table/").map_or(name, |(_, name)| name);
    call.database.table(name).ok_or_else(ApiError::no_such_resource)
}

/// Which versions of an item a write answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReturnValues {
    #[default]
    None,
    AllOld,
    UpdatedOld,
    AllNew,
    UpdatedNew,
}

/// What every operation on one item has.
struct Common {
    table_name: String,
    capacity: ReturnConsumedCapacity,
    metrics: ReturnItemCollectionMetrics,
    return_values: ReturnValues,
    return_on_failure: bool,
}

/// The words in the order in which the service lists them.
const RETURN_VALUES: &[&str] = &["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"];

fn common(fields: &mut Fields, writes: bool) -> Result<(Common, Constraints), ApiError> {
    let mut constraints = Constraints::default();
    let capacity_first = ReturnConsumedCapacity::take(fields, &mut constraints)?;
    let name = fields.text("TableName")?;
    constraints.table_name(name.as_deref());
    let mut common = Common {
        table_name: name.unwrap_or_default(),
        capacity: capacity_first,
        metrics: ReturnItemCollectionMetrics::default(),
        return_values: ReturnValues::None,
        return_on_failure: false,
    };
    if writes {
        common.metrics = ReturnItemCollectionMetrics::take(fields, &mut constraints)?;
        let values = fields.text("ReturnValues")?;
        constraints.word(values.as_deref(), "returnValues", RETURN_VALUES);
        common.return_values = match values.as_deref() {
            Some("ALL_OLD") => ReturnValues::AllOld,
            Some("UPDATED_OLD") => ReturnValues::UpdatedOld,
            Some("ALL_NEW") => ReturnValues::AllNew,
            Some("UPDATED_NEW") => ReturnValues::UpdatedNew,
            _ => ReturnValues::None,
        };
        let on_failure = fields.text("ReturnValuesOnConditionCheckFailure")?;
        constraints.word(on_failure.as_deref(), "returnValuesOnConditionCheckFailure", &["ALL_OLD", "NONE"]);
        common.return_on_failure = on_failure.as_deref() == Some("ALL_OLD");
    }
    Ok((common, constraints))
}

/// A condition, in either interface.
fn condition(fields: &mut Fields, placeholders: &mut Placeholders) -> Result<Option<Condition>, ApiError> {
    let operator = fields.text("ConditionalOperator")?.map(Value::from);
    let expected = fields.take("Expected");
    let count = expected.as_ref().and_then(Value::as_object).map_or(0, Map::len);
    let operator = legacy::ConditionalOperator::from_json(operator.as_ref(), count)?;
    if let Some(expected) = expected {
        return Ok(Some(legacy::expected(expected, operator)?));
    }
    let text = fields.text("ConditionExpression")?;
    Ok(text.map(|text| Condition::parse(ExpressionKind::Condition, &text, placeholders)).transpose()?)
}

fn given(fields: &Fields, names: &[&'static str]) -> Vec<(&'static str, bool)> {
    names.iter().map(|name| (*name, fields.has(name))).collect()
}

pub(super) fn interfaces(
    fields: &Fields,
    expressions: &[&'static str],
    legacy: &[&'static str],
) -> Result<(), ApiError> {
    Parameters {
        expressions: &given(fields, expressions),
        legacy: &given(fields, legacy),
        names: fields.has("ExpressionAttributeNames"),
        values: fields.has("ExpressionAttributeValues"),
    }
    .check()?;
    Ok(())
}

pub(super) fn placeholders(fields: &mut Fields) -> Result<Placeholders, ApiError> {
    let names = fields.take("ExpressionAttributeNames");
    let values = fields.take("ExpressionAttributeValues");
    Ok(Placeholders::from_json(names, values)?)
}

pub(super) fn attributes(fields: &mut Fields, name: &str) -> Result<Option<Attributes>, ApiError> {
    let Some(value) = fields.take(name) else { return Ok(None) };
    Attributes::check_shape(&value)?;
    Ok(Some(Attributes::from_json(value)?))
}

pub(super) fn put(call: &Call<'_>, mut fields: Fields) -> Answer {
    let (common, mut constraints) = common(&mut fields, true)?;
    if !fields.has("Item") {
        constraints.fails(None, "item", "Member must not be null");
    }
    constraints.check()?;
    if !matches!(common.return_values, ReturnValues::None | ReturnValues::AllOld) {
        return Err(ServiceError::validation("ReturnValues can only be ALL_OLD or NONE").into());
    }
    interfaces(&fields, &["ConditionExpression"], &["Expected", "ConditionalOperator"])?;
    let item = attributes(&mut fields, "Item")?.unwrap_or_default();
    let mut placeholders = placeholders(&mut fields)?;
    let condition = condition(&mut fields, &mut placeholders)?;
    placeholders.check_used()?;
    let item = Item::to_put(item)?;
    let table = table(call, &common.table_name)?;
    let key = table.definition().schema.of_item(item.attributes())?;
    let intent = Intent { condition, change: Change::Put(item) };
    written(call, &table, &common, None, &key, intent)
}

pub(super) fn delete(call: &Call<'_>, mut fields: Fields) -> Answer {
    let (common, mut constraints) = common(&mut fields, true)?;
    if !fields.has("Key") {
        constraints.fails(None, "key", "Member must not be null");
    }
    constraints.check()?;
    if !matches!(common.return_values, ReturnValues::None | ReturnValues::AllOld) {
        return Err(ServiceError::validation("ReturnValues can only be ALL_OLD or NONE").into());
    }
    interfaces(&fields, &["ConditionExpression"], &["Expected", "ConditionalOperator"])?;
    let key = attributes(&mut fields, "Key")?.unwrap_or_default();
    let mut placeholders = placeholders(&mut fields)?;
    let condition = condition(&mut fields, &mut placeholders)?;
    placeholders.check_used()?;
    let table = table(call, &common.table_name)?;
    let key = table.definition().schema.of_request(&key)?;
    written(call, &table, &common, None, &key, Intent { condition, change: Change::Delete })
}

pub(super) fn update(call: &Call<'_>, mut fields: Fields) -> Answer {
    let (common, mut constraints) = common(&mut fields, true)?;
    if !fields.has("Key") {
        constraints.fails(None, "key", "Member must not be null");
    }
    constraints.check()?;
    interfaces(
        &fields,
        &["UpdateExpression", "ConditionExpression"],
        &["AttributeUpdates", "Expected", "ConditionalOperator"],
    )?;
    let named = attributes(&mut fields, "Key")?.unwrap_or_default();
    let mut placeholders = placeholders(&mut fields)?;
    let update = match (fields.take("AttributeUpdates"), fields.text("UpdateExpression")?) {
        (Some(updates), _) => Some(legacy::attribute_updates(updates)?),
        (None, Some(text)) => Some(Update::parse(&text, &mut placeholders)?),
        (None, None) => None,
    };
    let condition = condition(&mut fields, &mut placeholders)?;
    placeholders.check_used()?;
    let table = table(call, &common.table_name)?;
    let definition = table.definition();
    let schema = &definition.schema;
    let key = schema.of_request(&named)?;
    if let Some(update) = &update {
        schema.check_updated(update.heads())?;
    }
    let update = update.map(Arc::new);
    let intent = Intent { condition, change: Change::Update { update: update.clone(), named } };
    written(call, &table, &common, update.as_deref(), &key, intent)
}

/// Carries a write out and answers it.
fn written(
    call: &Call<'_>,
    table: &DynamoTable,
    common: &Common,
    update: Option<&Update>,
    key: &ItemKey,
    intent: Intent,
) -> Answer {
    let Written { old, new, charges } = match table.write(key, |old| intent.decide(old), call.now) {
        Ok(written) => written,
        Err(refused) => return Err(refusal(table, refused, common.return_on_failure)),
    };
    let mut answer = Map::new();
    let all = |item: Option<Item>| item.map(|item| item.attributes().to_json());
    let updated = |item: &Option<Item>| {
        let part = update.zip(item.as_ref()).map(|(update, item)| update.updated(item.attributes()));
        part.filter(|part| !part.is_empty()).map(|part| part.to_json())
    };
    let values = match common.return_values {
        ReturnValues::None => None,
        ReturnValues::AllOld => all(old),
        ReturnValues::AllNew => all(new),
        ReturnValues::UpdatedOld => updated(&old),
        ReturnValues::UpdatedNew => updated(&new),
    };
    if let Some(values) = values {
        answer.insert("Attributes".into(), values);
    }
    if let Some(consumed) = common.capacity.tell(table, &charges) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    if let Some(metrics) = common.metrics.tell(table, key) {
        answer.insert("ItemCollectionMetrics".into(), metrics);
    }
    Ok(Value::Object(answer))
}

/// What a refused write is on the wire.
pub(super) fn refusal(table: &DynamoTable, refused: Refused, with_item: bool) -> ApiError {
    let item = match &refused {
        Refused::ConditionFailed { item: Some(item), .. } if with_item => Some(item.attributes().to_json()),
        _ => None,
    };
    let definition = table.definition();
    let on_demand = definition.billing == Billing::OnDemand;
    let of_index = |name: &str| {
        let index = definition.global.iter().find(|global| global.index.name == name);
        index.is_some_and(|global| global.billing == Billing::OnDemand)
    };
    let error = of_refused(refused, on_demand, of_index, &arn(table));
    match item {
        Some(item) => error.with("Item", item),
        None => error,
    }
}

/// Which attributes a read answers, in either interface.
pub(super) fn projection(fields: &mut Fields) -> Result<Option<Projection>, ApiError> {
    let mut placeholders = placeholders(fields)?;
    let projection = match (fields.take("AttributesToGet"), fields.text("ProjectionExpression")?) {
        (Some(names), _) => Some(legacy::attributes_to_get(&names)?),
        (None, Some(text)) => Some(Projection::parse(&text, &mut placeholders)?),
        (None, None) => None,
    };
    placeholders.check_used()?;
    Ok(projection)
}

pub(super) fn consistency(fields: &mut Fields) -> Result<Consistency, ApiError> {
    Ok(match fields.flag("ConsistentRead")? {
        Some(true) => Consistency::Strong,
        _ => Consistency::Eventual,
    })
}

/// What a projection leaves of an item, as it is answered.
pub(super) fn projected(projection: Option<&Projection>, item: &Item) -> Value {
    match projection {
        Some(projection) => projection.apply(item.attributes()).to_json(),
        None => item.attributes().to_json(),
    }
}

pub(super) fn get(call: &Call<'_>, mut fields: Fields) -> Answer {
    let (common, mut constraints) = common(&mut fields, false)?;
    if !fields.has("Key") {
        constraints.fails(None, "key", "Member must not be null");
    }
    constraints.check()?;
    interfaces(&fields, &["ProjectionExpression"], &["AttributesToGet"])?;
    let key = attributes(&mut fields, "Key")?.unwrap_or_default();
    let projection = projection(&mut fields)?;
    let consistency = consistency(&mut fields)?;
    let table = table(call, &common.table_name)?;
    let key = table.definition().schema.of_request(&key)?;
    let read = table.base().get(&key, consistency, call.now).map_err(|refusal| unread(&table, refusal))?;
    let mut answer = Map::new();
    if let Some(item) = read.item {
        let attributes = projected(projection.as_ref(), &item);
        answer.insert("Item".into(), attributes);
    }
    if let Some(consumed) = common.capacity.tell(&table, &charges_of_read(&table, read.charge)) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    Ok(Value::Object(answer))
}

/// A read of the table itself.
pub(super) fn charges_of_read(table: &DynamoTable, charge: RequestCharge) -> super::super::service::Charges {
    let mut charges = super::super::service::Charges::none(table);
    charges.table = charge;
    charges
}

/// What a refused read is on the wire.
pub(super) fn unread(table: &DynamoTable, refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::Throttled(throttled) => {
            let on_demand = table.definition().billing == Billing::OnDemand;
            ApiError::throttled(&throttled, on_demand, &arn(table), false)
        }
        other => ServiceError::validation(other.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::key::{KeyAttribute, KeySchema, KeyType};
    use super::super::super::service::{
        Database, GlobalIndex, IndexDefinition, IndexProjection, TableDefinition,
    };
    use super::super::execute;
    use super::*;
    use crate::clock::Instant;
    use crate::rng::Seed;
    use serde_json::json;

    fn attribute(name: &str) -> KeyAttribute {
        KeyAttribute::new(name, KeyType::S)
    }

    fn orders(billing: Billing) -> Database {
        let database = Database::new(Seed(1));
        let definition = TableDefinition {
            name: "orders".into(),
            attributes: ["id", "at", "status"].map(|name| (name.into(), KeyType::S)).to_vec(),
            schema: KeySchema::composite(attribute("id"), attribute("at")),
            billing,
            local: vec![IndexDefinition {
                name: "by-status-of-id".into(),
                schema: KeySchema::composite(attribute("id"), attribute("status")),
                projection: IndexProjection::All,
            }],
            global: vec![GlobalIndex {
                index: IndexDefinition {
                    name: "by-status".into(),
                    schema: KeySchema::simple(attribute("status")),
                    projection: IndexProjection::KeysOnly,
                },
                billing,
            }],
        };
        database.create(definition, Instant::START).unwrap();
        database
    }

    fn ask(database: &Database, operation: &str, body: Value) -> Answer {
        execute(&Call { database, now: Instant::START }, operation, body.to_string().as_bytes())
    }

    #[test]
    fn an_item_is_put_read_updated_and_deleted() {
        let database = orders(Billing::OnDemand);
        let item = json!({"id": {"S": "a"}, "at": {"S": "1"}, "status": {"S": "NEW"}, "n": {"N": "1"}});
        let put = json!({"TableName": "orders", "Item": item, "ReturnConsumedCapacity": "INDEXES"});
        let answer = ask(&database, "PutItem", put).unwrap();
        assert_eq!(
            answer["ConsumedCapacity"],
            json!({
                "TableName": "orders", "CapacityUnits": 3.0, "Table": {"CapacityUnits": 1.0},
                "LocalSecondaryIndexes": {"by-status-of-id": {"CapacityUnits": 1.0}},
                "GlobalSecondaryIndexes": {"by-status": {"CapacityUnits": 1.0}}
            })
        );
        let key = json!({"id": {"S": "a"}, "at": {"S": "1"}});
        let get = json!({"TableName": "orders", "Key": key, "ConsistentRead": true, "ReturnConsumedCapacity": "TOTAL"});
        let answer = ask(&database, "GetItem", get.clone()).unwrap();
        assert_eq!((&answer["Item"], &answer["ConsumedCapacity"]["CapacityUnits"]), (&item, &json!(1.0)));
        let update = json!({
            "TableName": "orders", "Key": key, "UpdateExpression": "SET #s = :paid, n = n + :one",
            "ConditionExpression": "#s = :new", "ReturnValues": "UPDATED_NEW", "ReturnConsumedCapacity": "INDEXES",
            "ExpressionAttributeNames": {"#s": "status"},
            "ExpressionAttributeValues": {":paid": {"S": "PAID"}, ":one": {"N": "1"}, ":new": {"S": "NEW"}}
        });
        let answer = ask(&database, "UpdateItem", update.clone()).unwrap();
        assert_eq!(answer["Attributes"], json!({"n": {"N": "2"}, "status": {"S": "PAID"}}));
        // A changed index key is a delete and a put.
        assert_eq!(
            answer["ConsumedCapacity"]["GlobalSecondaryIndexes"]["by-status"]["CapacityUnits"],
            json!(2.0)
        );
        let failed = ask(&database, "UpdateItem", update).unwrap_err();
        assert_eq!(
            (failed.kind(), failed.message()),
            ("ConditionalCheckFailedException", "The conditional request failed")
        );
        let table = database.table("orders").unwrap();
        assert_eq!(table.global(0).unwrap().items_of(&"PAID".into()), 1);
        assert_eq!(table.global(0).unwrap().items_of(&"NEW".into()), 0);
        let delete = json!({"TableName": "orders", "Key": key, "ReturnValues": "ALL_OLD"});
        assert_eq!(ask(&database, "DeleteItem", delete).unwrap()["Attributes"]["n"], json!({"N": "2"}));
        assert_eq!(ask(&database, "GetItem", get).unwrap().get("Item"), None);
        assert_eq!(table.local(0).unwrap().items_of(&"a".into()), 0);
    }

    #[test]
    fn a_hot_key_is_refused_in_the_services_words() {
        let database = orders(Billing::Provisioned { read: 10_000, write: 10_000 });
        let put = |n: u64| {
            let item = json!({"id": {"S": "hot"}, "at": {"S": n.to_string()}});
            ask(&database, "PutItem", json!({"TableName": "orders", "Item": item}))
        };
        let refused = (0..2_000).find_map(|n| put(n).err()).unwrap();
        assert_eq!(refused.kind(), "ProvisionedThroughputExceededException");
        assert_eq!(
            refused.body()["ThrottlingReasons"],
            json!([{
                "reason": "TableWriteKeyRangeThroughputExceeded",
                "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
            }])
        );
    }

    #[test]
    fn an_index_without_room_pushes_back_and_costs_nothing() {
        let database = orders(Billing::Provisioned { read: 10_000, write: 10_000 });
        let put = |n: u64, status: &str| {
            let item = json!({"id": {"S": n.to_string()}, "at": {"S": "1"}, "status": {"S": status}});
            ask(&database, "PutItem", json!({"TableName": "orders", "Item": item}))
        };
        let refused = (0..2_000).find_map(|n| put(n, "ACTIVE").err()).unwrap();
        assert_eq!(refused.body()["ThrottlingReasons"][0]["reason"], "IndexWriteKeyRangeThroughputExceeded");
        assert!(
            refused.body()["ThrottlingReasons"][0]["resource"]
                .as_str()
                .unwrap()
                .ends_with("/index/by-status")
        );
        assert!(put(9_999, "NEW").is_ok());
    }

    #[test]
    fn what_is_wrong_is_told_in_the_services_order() {
        let database = orders(Billing::OnDemand);
        let cases = [
            (
                "GetItem",
                json!({}),
                "2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: \
              Member must not be null; Value null at 'key' failed to satisfy constraint: Member must not be null",
            ),
            (
                "GetItem",
                json!({"TableName": "orders", "Key": {"id": {"S": "a"}}}),
                "The provided key element does not match the schema",
            ),
            (
                "PutItem",
                json!({"TableName": "orders", "Item": {"id": {"S": "a"}}}),
                "One or more parameter values were invalid: Missing the key at in the item",
            ),
            (
                "PutItem",
                json!({"TableName": "nowhere", "Item": {"id": {"S": "a"}}}),
                "Requested resource not found",
            ),
        ];
        for (operation, body, message) in cases {
            assert_eq!(ask(&database, operation, body).unwrap_err().message(), message);
        }
    }
}
