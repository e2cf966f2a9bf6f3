//! TransactWriteItems and TransactGetItems.
//!
//! What is wrong with a request as such is an exception of its own; what is wrong with one action for its table or item
//! cancels the transaction, and `CancellationReasons` says which. The split follows the answers that
//! nubo-db/dynamodb-conformance captured.

use super::super::error::ServiceError;
use super::super::expression::{Condition, ExpressionKind, Placeholders, Update};
use super::super::item::Item;
use super::super::service::{
    Cancelled, Claim, DynamoTable, Fingerprint, Refused, TransactionRead, TransactionWrite, transaction,
};
use super::batch::of_empty_key;
use super::capacity::{PerTable, ReturnConsumedCapacity};
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use super::intent::{Change, Intent};
use super::items::{attributes, interfaces, placeholders, projected, projection, refusal, table};
use super::metrics::{Collections, ReturnItemCollectionMetrics};
use super::{Answer, Call};
use crate::key::ItemKey;
use md5::{Digest, Md5};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Actions in a transaction ("up to 100").
const ACTIONS_MAX: usize = 100;

/// Characters of a client's token.
const TOKEN_CHARACTERS_MAX: usize = 36;

/// What an action does: its member in the request, and its name in paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ConditionCheck,
    Put,
    Delete,
    Update,
}

impl Kind {
    /// In the order in which the API reference lists them.
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::ConditionCheck, "ConditionCheck", "conditionCheck"),
        (Self::Put, "Put", "put"),
        (Self::Delete, "Delete", "delete"),
        (Self::Update, "Update", "update"),
    ];
}

/// An action as it was read.
struct Action {
    kind: Kind,
    table_name: String,
    with_item: bool,
    body: Fields,
}

/// The list of actions.
fn actions(fields: &mut Fields, constraints: &mut Constraints) -> Result<Vec<Value>, ApiError> {
    let at = "transactItems";
    let list = fields.list("TransactItems")?;
    match list.as_ref().map(Vec::len) {
        None => constraints.fails(None, at, "Member must not be null"),
        Some(0) => constraints.fails(Some("[]"), at, "Member must have length greater than or equal to 1"),
        // The service prints the whole list as Java does; here it is cut short.
        Some(n) if n > ACTIONS_MAX => {
            constraints.fails(Some("[...]"), at, "Member must have length less than or equal to 100");
        }
        Some(_) => {}
    }
    Ok(list.unwrap_or_default())
}

fn read_action(
    action: Value,
    at: usize,
    constraints: &mut Constraints,
) -> Result<Result<Action, ServiceError>, ApiError> {
    let mut action = Fields::of(action)?;
    let mut found = Vec::new();
    for (kind, member, name) in Kind::ALL {
        let Some(mut body) = action.object(member)? else { continue };
        let path = |member: &str| format!("transactItems.{at}.member.{name}.{member}");
        let table_name = body.text("TableName")?;
        constraints.table_name_at(table_name.as_deref(), &path("tableName"));
        match kind {
            Kind::Put => constraints.present(&body, "Item", &path("item")),
            _ => constraints.present(&body, "Key", &path("key")),
        }
        if kind == Kind::Update {
            constraints.present(&body, "UpdateExpression", &path("updateExpression"));
        }
        if kind == Kind::ConditionCheck {
            constraints.present(&body, "ConditionExpression", &path("conditionExpression"));
        }
        let on_failure = body.text("ReturnValuesOnConditionCheckFailure")?;
        let place = path("returnValuesOnConditionCheckFailure");
        constraints.word(on_failure.as_deref(), &place, &["ALL_OLD", "NONE"]);
        let with_item = on_failure.as_deref() == Some("ALL_OLD");
        found.push(Action { kind, table_name: table_name.unwrap_or_default(), with_item, body });
    }
    // Both texts captured from the service (moto, nubo-db/dynamodb-conformance).
    let refuse = |text: &str| Ok(Err(ServiceError::validation(text)));
    match (found.pop(), found.is_empty()) {
        (Some(action), true) => Ok(Ok(action)),
        (Some(_), false) => refuse("TransactItems can only contain one of Check, Put, Update or Delete"),
        (None, _) => {
            refuse("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
        }
    }
}

/// An action that makes sense by itself.
struct Parsed {
    intent: Intent,
    /// The attributes that name the item; `None`: those of the item to be put.
    key: Option<super::super::attributes::Attributes>,
    table_name: String,
    with_item: bool,
}

fn condition(fields: &mut Fields, placeholders: &mut Placeholders) -> Result<Option<Condition>, ApiError> {
    let text = fields.text("ConditionExpression")?;
    Ok(text.map(|text| Condition::parse(ExpressionKind::Condition, &text, placeholders)).transpose()?)
}

fn parse(action: Action) -> Result<Parsed, ApiError> {
    let Action { kind, table_name, with_item, mut body } = action;
    let expressions: &[&str] = match kind {
        Kind::Update => &["UpdateExpression", "ConditionExpression"],
        _ => &["ConditionExpression"],
    };
    interfaces(&body, expressions, &[])?;
    let item = attributes(&mut body, "Item")?;
    let key = attributes(&mut body, "Key")?;
    let mut placeholders = placeholders(&mut body)?;
    let update = match (kind, body.text("UpdateExpression")?) {
        (Kind::Update, Some(text)) => Some(Arc::new(Update::parse(&text, &mut placeholders)?)),
        _ => None,
    };
    let condition = condition(&mut body, &mut placeholders)?;
    placeholders.check_used()?;
    let named = key.clone().unwrap_or_default();
    let change = match kind {
        Kind::Put => Change::Put(Item::to_put(item.unwrap_or_default())?),
        Kind::Delete => Change::Delete,
        Kind::Update => Change::Update { update, named },
        Kind::ConditionCheck => Change::Keep,
    };
    let key = (kind != Kind::Put).then_some(key.unwrap_or_default());
    Ok(Parsed { intent: Intent { condition, change }, key, table_name, with_item })
}

/// The key of an action's item, and that the action fits the table.
fn key_of(table: &DynamoTable, parsed: &Parsed) -> Result<ItemKey, ServiceError> {
    let schema = &table.definition().schema;
    let key = match (&parsed.intent.change, &parsed.key) {
        (_, Some(key)) => schema.of_request(key)?,
        (Change::Put(item), None) => {
            let key = schema.of_item(item.attributes())?;
            table.check_indexed(item.attributes())?;
            key
        }
        (_, None) => schema.of_request(&Default::default())?,
    };
    if let Change::Update { update: Some(update), .. } = &parsed.intent.change {
        schema.check_updated(update.heads())?;
    }
    Ok(key)
}

/// An empty key is an error of the whole request; whatever else is wrong for a table cancels.
fn hoisted(error: ServiceError) -> Result<ServiceError, ApiError> {
    let error = of_empty_key(error);
    match error.message().contains("The AttributeValue for a key attribute cannot contain an empty") {
        true => Err(error.into()),
        false => Ok(error),
    }
}

fn twice() -> ApiError {
    ServiceError::validation("Transaction request cannot include multiple operations on one item").into()
}

/// Keys by table; an error when one comes twice, and the reasons when some are none.
fn distinct(
    found: Vec<(Arc<DynamoTable>, Result<ItemKey, ServiceError>)>,
) -> Result<Vec<(Arc<DynamoTable>, ItemKey)>, ApiError> {
    let mut seen = BTreeSet::new();
    let (mut keys, mut reasons) = (Vec::new(), Vec::new());
    for (table, key) in found {
        match key {
            Ok(key) => {
                if !seen.insert((Arc::as_ptr(&table) as usize, key.clone())) {
                    return Err(twice());
                }
                keys.push((table, key));
                reasons.push(None);
            }
            Err(error) => reasons.push(Some(ApiError::from(hoisted(error)?))),
        }
    }
    match reasons.iter().any(Option::is_some) {
        true => Err(cancelled(reasons.into_iter().map(|reason| (reason, None)))),
        false => Ok(keys),
    }
}

pub(super) fn write(call: &Call<'_>, mut fields: Fields) -> Answer {
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::take(&mut fields, &mut constraints)?;
    let metrics = ReturnItemCollectionMetrics::take(&mut fields, &mut constraints)?;
    let token = fields.text("ClientRequestToken")?;
    if let Some(token) = &token {
        let characters = token.chars().count();
        let at = "clientRequestToken";
        if characters == 0 {
            constraints.fails(Some(token), at, "Member must have length greater than or equal to 1");
        } else if characters > TOKEN_CHARACTERS_MAX {
            constraints.fails(Some(token), at, "Member must have length less than or equal to 36");
        }
    }
    let fingerprint = token.as_ref().map(|_| fingerprint(&fields));
    let list = actions(&mut fields, &mut constraints)?;
    let mut read = Vec::with_capacity(list.len());
    for (at, action) in list.into_iter().enumerate() {
        read.push(read_action(action, at + 1, &mut constraints)?);
    }
    constraints.check()?;
    let read = read.into_iter().collect::<Result<Vec<_>, _>>()?;
    let parsed = read.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::with_capacity(parsed.len());
    for parsed in &parsed {
        let table = table(call, &parsed.table_name)?;
        let key = key_of(&table, parsed);
        found.push((table, key));
    }
    let items = distinct(found)?;
    let claimed = match token.zip(fingerprint) {
        None => None,
        Some((token, fingerprint)) => match call.database.tokens().claim(&token, fingerprint, call.now) {
            Claim::New(claimed) => Some(claimed),
            Claim::Again => return replay(call, capacity, &items),
            // A user's report quotes the service (aws-sdk-java-v2#2518).
            Claim::InProgress => {
                return Err(ApiError::new(
                    "TransactionInProgressException",
                    "Transaction from previous request is still in progress",
                ));
            }
            // *Assumed*: the description of the exception in the API reference.
            Claim::Mismatch => {
                return Err(ApiError::new(
                    "IdempotentParameterMismatchException",
                    "DynamoDB rejected the request because you retried a request with a different payload but with an \
                     idempotent token that was already used.",
                ));
            }
        },
    };
    let checks: Vec<bool> = parsed.iter().map(|p| matches!(p.intent.change, Change::Keep)).collect();
    let with_item: Vec<bool> = parsed.iter().map(|parsed| parsed.with_item).collect();
    let writes = items.iter().zip(parsed).map(|((table, key), Parsed { intent, .. })| {
        let attempted = intent.attempted();
        TransactionWrite::new(Arc::clone(table), key.clone(), attempted, |old| intent.decide(old))
    });
    let written =
        transaction::write(writes.collect(), call.now).map_err(|why| refused(&items, why, &with_item))?;
    if let Some(claimed) = claimed {
        claimed.done(call.now);
    }
    let (mut paid, mut collections) = (PerTable::default(), Collections::new(metrics));
    for (((table, key), written), only_checked) in items.iter().zip(&written).zip(checks) {
        paid.add(table, &written.charges);
        if !only_checked {
            collections.touch(table, key);
        }
    }
    let mut answer = Map::new();
    if let Some(consumed) = paid.tell_transaction(capacity) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    if let Some(metrics) = collections.tell() {
        answer.insert("ItemCollectionMetrics".into(), metrics);
    }
    Ok(Value::Object(answer))
}

/// A repeated request: nothing is written again, and its items are read for the read units that the answer tells.
fn replay(
    call: &Call<'_>,
    capacity: ReturnConsumedCapacity,
    items: &[(Arc<DynamoTable>, ItemKey)],
) -> Answer {
    let read = transaction::read(items, call.now).map_err(|why| refused(items, why, &[]))?;
    let mut answer = Map::new();
    if let Some(consumed) = paid_reads(items, &read).tell_transaction(capacity) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    Ok(Value::Object(answer))
}

fn paid_reads(items: &[(Arc<DynamoTable>, ItemKey)], read: &[TransactionRead]) -> PerTable {
    let mut paid = PerTable::default();
    items.iter().zip(read).for_each(|((table, _), read)| paid.add(table, &read.charges));
    paid
}

pub(super) fn get(call: &Call<'_>, mut fields: Fields) -> Answer {
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::take(&mut fields, &mut constraints)?;
    let list = actions(&mut fields, &mut constraints)?;
    let mut read = Vec::with_capacity(list.len());
    for (at, action) in list.into_iter().enumerate() {
        let path = format!("transactItems.{}.member.get", at + 1);
        let Some(mut body) = Fields::of(action)?.object("Get")? else {
            constraints.fails(None, &path, "Member must not be null");
            continue;
        };
        let table_name = body.text("TableName")?;
        constraints.table_name_at(table_name.as_deref(), &format!("{path}.tableName"));
        constraints.present(&body, "Key", &format!("{path}.key"));
        read.push((table_name.unwrap_or_default(), body));
    }
    constraints.check()?;
    let mut parsed = Vec::with_capacity(read.len());
    for (table_name, mut body) in read {
        interfaces(&body, &["ProjectionExpression"], &[])?;
        let key = attributes(&mut body, "Key")?.unwrap_or_default();
        parsed.push((table_name, key, projection(&mut body)?));
    }
    let (mut found, mut projections) = (Vec::new(), Vec::new());
    for (table_name, key, projection) in parsed {
        let table = table(call, &table_name)?;
        let key = table.definition().schema.of_request(&key);
        found.push((table, key));
        projections.push(projection);
    }
    let items = distinct(found)?;
    let read = transaction::read(&items, call.now).map_err(|why| refused(&items, why, &[]))?;
    let responses = read.iter().zip(&projections).map(|(read, projection)| {
        let item = read.item.as_ref().map(|item| projected(projection.as_ref(), item));
        item.map_or_else(|| json!({}), |item| json!({ "Item": item }))
    });
    let mut answer = Map::from_iter([("Responses".to_owned(), responses.collect())]);
    if let Some(consumed) = paid_reads(&items, &read).tell_transaction(capacity) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    Ok(Value::Object(answer))
}

/// What a cancelled transaction is on the wire. `with_item` says of which actions a failed condition shows the item.
fn refused(items: &[(Arc<DynamoTable>, ItemKey)], why: Cancelled, with_item: &[bool]) -> ApiError {
    let reasons = match why {
        Cancelled::Invalid(error) => return error.into(),
        Cancelled::Because { reasons, .. } => reasons,
    };
    cancelled(items.iter().zip(reasons).enumerate().map(|(at, ((table, _), reason))| {
        let shown = with_item.get(at).copied().unwrap_or_default();
        let item = match &reason {
            Some(Refused::ConditionFailed { item: Some(item), .. }) if shown => {
                Some(item.attributes().to_json())
            }
            _ => None,
        };
        (reason.map(|reason| refusal(table, reason, false)), item)
    }))
}

/// The exception with a reason for each action, in order. Code and text of each are from the API reference,
/// `TransactionCanceledException`; that an action without one has a code only, from captured answers.
fn cancelled(reasons: impl Iterator<Item = (Option<ApiError>, Option<Value>)>) -> ApiError {
    let (mut codes, mut told) = (Vec::new(), Vec::new());
    for (reason, item) in reasons {
        let code = reason.as_ref().map_or("None", |reason| code(reason.kind()));
        codes.push(code);
        let mut one = Map::from_iter([("Code".to_owned(), json!(code))]);
        if let Some(item) = item {
            one.insert("Item".into(), item);
        }
        if let Some(reason) = reason {
            one.insert("Message".into(), json!(reason.message()));
        }
        told.push(Value::Object(one));
    }
    let codes = codes.join(", ");
    let message =
        format!("Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]");
    ApiError::new("TransactionCanceledException", message).with("CancellationReasons", Value::Array(told))
}

/// A reason's code: what it would be as an exception of its own, in other words.
fn code(kind: &'static str) -> &'static str {
    match kind {
        "ConditionalCheckFailedException" => "ConditionalCheckFailed",
        "ItemCollectionSizeLimitExceededException" => "ItemCollectionSizeLimitExceeded",
        "TransactionConflictException" => "TransactionConflict",
        "ProvisionedThroughputExceededException" => "ProvisionedThroughputExceeded",
        "ThrottlingException" | "RequestLimitExceeded" => "ThrottlingError",
        _ => "ValidationError",
    }
}

/// What makes two requests with one token the same: their actions, whatever the order of members. That how an answer is
/// told does not count is *assumed*, from the guide's "the responses to the calls might not be the same".
fn fingerprint(fields: &Fields) -> Fingerprint {
    let mut digest = Md5::new();
    if let Some(actions) = fields.members().get("TransactItems") {
        feed(actions, &mut digest);
    }
    digest.finalize().into()
}

/// As deep as JSON is read, which is bounded.
fn feed(value: &Value, digest: &mut Md5) {
    match value {
        Value::Object(members) => {
            digest.update("{");
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            for (name, value) in members {
                feed(&json!(name), digest);
                feed(value, digest);
            }
            digest.update("}");
        }
        Value::Array(values) => {
            digest.update("[");
            values.iter().for_each(|value| feed(value, digest));
            digest.update("]");
        }
        // Texts are quoted, so no two values read alike.
        scalar => {
            digest.update(scalar.to_string());
            digest.update(",");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_of_the_actions_whatever_the_order_of_members() {
        let of = |body: &str| fingerprint(&Fields::parse(body.as_bytes()).unwrap());
        let own = of(r#"{"TransactItems": [{"a": 1, "b": ["x", "y"]}], "ReturnConsumedCapacity": "TOTAL"}"#);
        assert_eq!(own, of(r#"{"TransactItems": [{"b": ["x", "y"], "a": 1}]}"#));
        for other in [
            r#"{"TransactItems": [{"a": "1", "b": ["x", "y"]}]}"#,
            r#"{"TransactItems": [{"a": 1, "b": ["xy"]}]}"#,
            r#"{"TransactItems": [{"a": 1, "b": ["y", "x"]}]}"#,
            r#"{"TransactItems": [{"a": 1}, {"b": ["x", "y"]}]}"#,
            r#"{"TransactItems": [{"a": 1, "b": ["x"], "y": null}]}"#,
            r#"{}"#,
        ] {
            assert_ne!(own, of(other), "{other}");
        }
    }

    #[test]
    fn reasons_are_told_as_the_service_does() {
        let conflict = ApiError::new("TransactionConflictException", "Transaction is ongoing for the item");
        let full = ApiError::new("ItemCollectionSizeLimitExceededException", "Collection size exceeded.");
        let error = cancelled([(None, None), (Some(conflict), None), (Some(full), None)].into_iter());
        assert_eq!(
            error.body()["Message"],
            "Transaction cancelled, please refer cancellation reasons for specific reasons [None, TransactionConflict, \
             ItemCollectionSizeLimitExceeded]"
        );
        assert_eq!(
            error.body()["CancellationReasons"][2],
            json!({"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."})
        );
    }
}
