//! BatchGetItem and BatchWriteItem: many operations on single items in one request, each admitted, charged and refused by
//! itself. What was throttled is answered as unprocessed; only when nothing at all was done is it an exception.
//!
//! A batch of writes is never over its 16 MB here: 25 items of 400 KB are 10. Longer bodies are refused where bodies are
//! read, which is not here.

use super::super::attributes::Attributes;
use super::super::error::ServiceError;
use super::super::expression::Projection;
use super::super::item::Item;
use super::super::service::{Decision, DynamoTable, Refused};
use super::capacity::{PerTable, ReturnConsumedCapacity};
use super::error::ApiError;
use super::fields::{Constraints, Fields, is_table_name};
use super::items::{
    attributes, charges_of_read, consistency, interfaces, projected, projection, refusal, table, unread,
};
use super::metrics::{Collections, ReturnItemCollectionMetrics};
use super::{Answer, Call};
use crate::budget::{Capacity, Throttled};
use crate::charge::{Consistency, Footprint, dynamodb};
use crate::cluster::Refusal;
use crate::document::Document;
use crate::key::ItemKey;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keys in a BatchGetItem ("BatchGetItem": up to 100).
const KEYS_MAX: usize = 100;

/// Writes in a BatchWriteItem ("BatchWriteItem": up to 25).
const WRITES_MAX: usize = 25;

/// Bytes that a BatchGetItem answers ("up to 16 MB of data").
const ANSWER_BYTES_MAX: u64 = 16 << 20;

const NAME_CONSTRAINT: &str = "Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member \
                               must have length greater than or equal to 3, Member must satisfy regular expression pattern: \
                               [a-zA-Z0-9_.-]+]";

const WRITES_CONSTRAINT: &str = "Map value must satisfy constraint: [Member must have length less than or equal to 25, \
                                 Member must have length greater than or equal to 1]";

/// The tables of a request by name. The service prints what it was given as Java does; here it is cut short.
fn requests(fields: &mut Fields, operation: &str, constraints: &mut Constraints) -> Result<Fields, ApiError> {
    let Some(requests) = fields.object("RequestItems")? else {
        constraints.fails(None, "requestItems", "Member must not be null");
        return Ok(Fields::default());
    };
    if requests.names().next().is_none() {
        // Captured by nubo-db/dynamodb-conformance in 2026, without a count in front.
        let message = format!("The requestItems parameter is required for {operation}");
        return Err(ServiceError::validation(message).into());
    }
    let fits = |name: &str| {
        is_table_name(name) && name.len() >= 3 && (name.len() <= 255 || name.starts_with("arn:"))
    };
    if let Some(name) = requests.names().find(|name| !fits(name)) {
        constraints.fails(Some(&format!("{{{name}=[...]}}")), "requestItems", NAME_CONSTRAINT);
    }
    Ok(requests)
}

fn names(requests: &Fields) -> Vec<String> {
    requests.names().map(str::to_owned).collect()
}

fn duplicates() -> ApiError {
    ServiceError::validation("Provided list of item keys contains duplicates").into()
}

fn too_many(operation: &str) -> ApiError {
    ServiceError::validation(format!("Too many items requested for the {operation} call")).into()
}

/// Keys that a request has named.
#[derive(Default)]
struct Seen(BTreeSet<(usize, ItemKey)>);

impl Seen {
    /// Notes a key; an error when it was named before.
    fn note(&mut self, table: &Arc<DynamoTable>, key: &ItemKey) -> Result<(), ApiError> {
        match self.0.insert((Arc::as_ptr(table) as usize, key.clone())) {
            true => Ok(()),
            false => Err(duplicates()),
        }
    }
}

/// The reads of one table.
struct Gets {
    name: String,
    table: Arc<DynamoTable>,
    keys: Vec<(ItemKey, Attributes)>,
    projection: Option<Projection>,
    consistency: Consistency,
    /// The members beside the keys, to be sent again with what was not processed.
    others: Map<String, Value>,
}

pub(super) fn get(call: &Call<'_>, mut fields: Fields) -> Answer {
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::take(&mut fields, &mut constraints)?;
    let mut requests = requests(&mut fields, "BatchGetItem", &mut constraints)?;
    let mut read = Vec::new();
    for name in names(&requests) {
        let mut one = requests.object(&name)?.unwrap_or_default();
        let keys = one.list("Keys")?;
        let at = format!("requestItems.{name}.member.keys");
        match keys.as_ref().map(Vec::len) {
            None => constraints.fails(None, &at, "Member must not be null"),
            Some(0) => {
                constraints.fails(Some("[]"), &at, "Member must have length greater than or equal to 1");
            }
            // Captured by nubo-db/dynamodb-conformance.
            Some(n) if n > KEYS_MAX => constraints.fails_untold(
                &format!("RequestItems.{name}.member.Keys"),
                "Member must have length less than or equal to 100",
            ),
            Some(_) => {}
        }
        read.push((name, one, keys.unwrap_or_default()));
    }
    constraints.check()?;
    let count: usize = read.iter().map(|(_, _, keys)| keys.len()).sum();
    let mut parsed = Vec::new();
    for (name, mut one, keys) in read {
        interfaces(&one, &["ProjectionExpression"], &["AttributesToGet"])?;
        let others = one.members().clone();
        let projection = projection(&mut one)?;
        let consistency = consistency(&mut one)?;
        let keys = keys.into_iter().map(key_attributes).collect::<Result<Vec<_>, ApiError>>()?;
        parsed.push((name, keys, projection, consistency, others));
    }
    if count > KEYS_MAX {
        return Err(too_many("BatchGetItem"));
    }
    let mut seen = Seen::default();
    let mut tables = Vec::new();
    for (name, keys, projection, consistency, others) in parsed {
        let table = table(call, &name)?;
        let mut named = Vec::with_capacity(keys.len());
        for attributes in keys {
            let key = table.definition().schema.of_request(&attributes)?;
            seen.note(&table, &key)?;
            named.push((key, attributes));
        }
        tables.push(Gets { name, table, keys: named, projection, consistency, others });
    }
    answer_gets(call, capacity, tables)
}

fn key_attributes(key: Value) -> Result<Attributes, ApiError> {
    Attributes::check_shape(&key)?;
    Ok(Attributes::from_json(key)?)
}

fn answer_gets(call: &Call<'_>, capacity: ReturnConsumedCapacity, tables: Vec<Gets>) -> Answer {
    let (mut responses, mut unprocessed) = (Map::new(), Map::new());
    let mut paid = PerTable::default();
    let (mut bytes, mut full, mut done) = (0, false, false);
    let mut throttle: Option<(Arc<DynamoTable>, Throttled)> = None;
    for Gets { name, table, keys, projection, consistency, mut others } in tables {
        let layout = table.base().layout(call.now);
        let least = dynamodb::charge(&Footprint::PointRead { size: None, consistency });
        let (mut items, mut left) = (Vec::new(), Vec::new());
        for (key, attributes) in keys {
            if full {
                left.push(attributes.to_json());
                continue;
            }
            let ticket = match layout.admit(key, Capacity::Read, least, call.now) {
                Ok(ticket) => ticket,
                Err(throttled) => {
                    throttle.get_or_insert_with(|| (Arc::clone(&table), throttled));
                    left.push(attributes.to_json());
                    continue;
                }
            };
            let item: Option<Item> = ticket.item();
            let size = item.as_ref().map(Document::size);
            let more = size.unwrap_or_default().0;
            if bytes + more > ANSWER_BYTES_MAX {
                // The ticket is dropped: what is not answered is not paid.
                full = true;
                left.push(attributes.to_json());
                continue;
            }
            bytes += more;
            done = true;
            let charge = dynamodb::charge(&Footprint::PointRead { size, consistency });
            ticket.leave(charge, call.now);
            paid.add(&table, &charges_of_read(&table, charge));
            items.extend(item.map(|item| projected(projection.as_ref(), &item)));
        }
        responses.insert(name.clone(), Value::Array(items));
        if !left.is_empty() {
            others.insert("Keys".into(), Value::Array(left));
            unprocessed.insert(name, Value::Object(others));
        }
    }
    if let Some((table, throttled)) = throttle.filter(|_| !done) {
        return Err(unread(&table, Refusal::Throttled(throttled)));
    }
    let mut answer = Map::from_iter([
        ("Responses".to_owned(), Value::Object(responses)),
        ("UnprocessedKeys".to_owned(), Value::Object(unprocessed)),
    ]);
    if let Some(consumed) = paid.tell(capacity) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    Ok(Value::Object(answer))
}

/// One write of a batch.
enum Write {
    Put(Item),
    Delete(Attributes),
}

impl Write {
    fn to_json(&self) -> Value {
        match self {
            Self::Put(item) => json!({ "PutRequest": { "Item": item.attributes().to_json() } }),
            Self::Delete(key) => json!({ "DeleteRequest": { "Key": key.to_json() } }),
        }
    }

    fn key(&self, table: &DynamoTable) -> Result<ItemKey, ServiceError> {
        let schema = &table.definition().schema;
        let key = match self {
            Self::Put(item) => schema.of_item(item.attributes()),
            Self::Delete(key) => schema.of_request(key),
        };
        // The words for both kinds, captured by nubo-db/dynamodb-conformance (and by dynalite).
        key.map_err(|error| {
            let wrong = ["Missing the key", "Type mismatch for key"];
            match wrong.iter().any(|text| error.message().contains(text)) {
                true => ServiceError::validation("The provided key element does not match the schema"),
                false => of_empty_key(error),
            }
        })
    }
}

/// The words that batches and transactions have for an empty key, whichever kind of request it comes from.
pub(super) fn of_empty_key(error: ServiceError) -> ServiceError {
    let short = "One or more parameter values were invalid: The AttributeValue for a key attribute";
    match error.message().strip_prefix(short) {
        Some(rest) => ServiceError::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute{rest}"
        )),
        None => error,
    }
}

/// The writes of one table as they were read: each a put, a delete, or both or neither.
type Requests = Vec<(Option<Fields>, Option<Fields>)>;

fn read_writes(
    name: &str,
    requests: &mut Fields,
    constraints: &mut Constraints,
) -> Result<Requests, ApiError> {
    let list = requests.list(name)?.unwrap_or_default();
    if list.is_empty() || list.len() > WRITES_MAX {
        constraints.fails(Some(&format!("{{{name}=[...]}}")), "requestItems", WRITES_CONSTRAINT);
    }
    let mut own = Vec::with_capacity(list.len());
    for (at, request) in list.into_iter().enumerate() {
        let mut request = Fields::of(request)?;
        let delete = request.object("DeleteRequest")?;
        let put = request.object("PutRequest")?;
        let path = format!("requestItems.{name}.member.{}.member", at + 1);
        if let Some(delete) = &delete {
            constraints.present(delete, "Key", &format!("{path}.deleteRequest.key"));
        }
        if let Some(put) = &put {
            constraints.present(put, "Item", &format!("{path}.putRequest.item"));
        }
        own.push((put, delete));
    }
    Ok(own)
}

pub(super) fn write(call: &Call<'_>, mut fields: Fields) -> Answer {
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::take(&mut fields, &mut constraints)?;
    let metrics = ReturnItemCollectionMetrics::take(&mut fields, &mut constraints)?;
    let mut requests = requests(&mut fields, "BatchWriteItem", &mut constraints)?;
    let mut read = Vec::new();
    for name in names(&requests) {
        let writes = read_writes(&name, &mut requests, &mut constraints)?;
        read.push((name, writes));
    }
    constraints.check()?;
    let count: usize = read.iter().map(|(_, writes)| writes.len()).sum();
    if count > WRITES_MAX {
        return Err(too_many("BatchWriteItem"));
    }
    let mut parsed = Vec::new();
    for (name, requests) in read {
        let mut writes = Vec::with_capacity(requests.len());
        for request in requests {
            writes.push(match request {
                (Some(mut put), None) => {
                    Write::Put(Item::to_put(attributes(&mut put, "Item")?.unwrap_or_default())?)
                }
                (None, Some(mut delete)) => {
                    Write::Delete(attributes(&mut delete, "Key")?.unwrap_or_default())
                }
                // Captured by dynalite for neither; *assumed* for both.
                _ => {
                    return Err(ServiceError::validation(
                        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the \
                         supported datatypes",
                    )
                    .into());
                }
            });
        }
        parsed.push((name, writes));
    }
    let mut seen = Seen::default();
    let mut tables = Vec::new();
    for (name, writes) in parsed {
        let table = table(call, &name)?;
        let mut keyed = Vec::with_capacity(writes.len());
        for write in writes {
            let key = write.key(&table)?;
            if let Write::Put(item) = &write {
                // Before anything is written: nothing of a batch that is wrong is carried out.
                table.check_indexed(item.attributes())?;
            }
            seen.note(&table, &key)?;
            keyed.push((key, write));
        }
        tables.push((name, table, keyed));
    }
    let mut batch = Writes { paid: PerTable::default(), collections: Collections::new(metrics), done: false };
    let unprocessed = batch.carry_out(call, tables)?;
    let mut answer = Map::from_iter([("UnprocessedItems".to_owned(), Value::Object(unprocessed))]);
    if let Some(consumed) = batch.paid.tell(capacity) {
        answer.insert("ConsumedCapacity".into(), consumed);
    }
    if let Some(metrics) = batch.collections.tell() {
        answer.insert("ItemCollectionMetrics".into(), metrics);
    }
    Ok(Value::Object(answer))
}

/// What the writes of a batch came to.
struct Writes {
    paid: PerTable,
    collections: Collections,
    done: bool,
}

/// The writes of a table, under the name that the request has for it.
type TableWrites = (String, Arc<DynamoTable>, Vec<(ItemKey, Write)>);

impl Writes {
    /// Answers what could not be done now.
    fn carry_out(
        &mut self,
        call: &Call<'_>,
        tables: Vec<TableWrites>,
    ) -> Result<Map<String, Value>, ApiError> {
        let mut unprocessed = Map::new();
        let mut throttle: Option<ApiError> = None;
        for (name, table, writes) in tables {
            let mut left = Vec::new();
            for (key, write) in writes {
                let decide = |_: Option<&Item>| {
                    Ok(match &write {
                        Write::Put(item) => Decision::Put(item.clone()),
                        Write::Delete(_) => Decision::Delete,
                    })
                };
                match table.write(&key, decide, call.now) {
                    Ok(written) => {
                        self.done = true;
                        self.paid.add(&table, &written.charges);
                        self.collections.touch(&table, &key);
                    }
                    Err(refused @ Refused::Throttled { .. }) => {
                        left.push(write.to_json());
                        throttle.get_or_insert_with(|| refusal(&table, refused, false));
                    }
                    // *Assumed*: an item that a transaction holds is left for the caller to send again.
                    Err(Refused::Conflict) => left.push(write.to_json()),
                    Err(refused) => return Err(refusal(&table, refused, false)),
                }
            }
            if !left.is_empty() {
                unprocessed.insert(name, Value::Array(left));
            }
        }
        match throttle {
            Some(throttle) if !self.done => Err(throttle),
            _ => Ok(unprocessed),
        }
    }
}
