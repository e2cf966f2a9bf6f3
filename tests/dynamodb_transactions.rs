//! TransactWriteItems and TransactGetItems as a caller sees them; random writes, batches and transactions against a model;
//! and threads that transfer between accounts.

use hotplate::dynamodb::api::{Answer, Call, execute};
use hotplate::dynamodb::service::{
    Billing, Database, GlobalIndex, IndexDefinition, IndexProjection, TableDefinition,
};
use hotplate::dynamodb::{Attributes, Item, KeyAttribute, KeySchema, KeyType};
use hotplate::{Instant, Scan, Seed, Table};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn attribute(name: &str) -> KeyAttribute {
    KeyAttribute::new(name, KeyType::S)
}

fn by_status(name: &str, schema: KeySchema, projection: IndexProjection) -> IndexDefinition {
    IndexDefinition { name: name.into(), schema, projection }
}

/// `orders` has a local and a global index, `accounts` a global one.
fn database(billing: Billing, index: Billing) -> Database {
    let database = Database::new(Seed(1));
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

fn on_demand() -> Database {
    database(Billing::OnDemand, Billing::OnDemand)
}

fn ask_at(database: &Database, now: Instant, operation: &str, body: Value) -> Answer {
    execute(&Call { database, now }, operation, body.to_string().as_bytes())
}

fn ask(database: &Database, operation: &str, body: Value) -> Answer {
    ask_at(database, Instant::START, operation, body)
}

fn account(id: &str) -> Value {
    json!({"id": {"S": id}})
}

fn put(id: &str) -> Value {
    json!({ "Put": { "TableName": "accounts", "Item": account(id) } })
}

fn exists(id: &str) -> Value {
    json!({ "ConditionCheck": {
        "TableName": "accounts", "Key": account(id), "ConditionExpression": "attribute_exists(id)"
    }})
}

fn codes(answer: &Answer) -> Vec<String> {
    let body = answer.as_ref().unwrap_err().body();
    let reasons = body["CancellationReasons"].as_array().cloned().unwrap_or_default();
    reasons.iter().map(|reason| reason["Code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The guide's example: three items of 500 bytes cost 6 units, written or read.
#[test]
fn a_transaction_costs_twice_and_so_does_a_cancelled_one() {
    let database = on_demand();
    let item = |id: &str| json!({"id": {"S": id}, "v": {"S": "x".repeat(490)}});
    let puts = ["a", "b", "c"].map(|id| json!({ "Put": { "TableName": "accounts", "Item": item(id) } }));
    let write = json!({ "TransactItems": puts, "ReturnConsumedCapacity": "TOTAL" });
    assert_eq!(
        ask(&database, "TransactWriteItems", write).unwrap(),
        json!({ "ConsumedCapacity": [{"TableName": "accounts", "CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}] })
    );
    let gets = ["a", "b", "nobody"].map(|id| json!({"Get": {"TableName": "accounts", "Key": account(id)}}));
    let read = json!({ "TransactItems": gets, "ReturnConsumedCapacity": "TOTAL" });
    assert_eq!(
        ask(&database, "TransactGetItems", read).unwrap(),
        json!({
            "Responses": [{"Item": item("a")}, {"Item": item("b")}, {}],
            "ConsumedCapacity": [{"TableName": "accounts", "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0}]
        })
    );
    let before = consumed(database.table("accounts").unwrap().base());
    let cancelled = ask(&database, "TransactWriteItems", json!({ "TransactItems": [put("d"), exists("e")] }));
    assert_eq!(codes(&cancelled), ["None", "ConditionalCheckFailed"]);
    assert_eq!(consumed(database.table("accounts").unwrap().base()) - before, 4_000);
    let get = json!({ "TableName": "accounts", "Key": account("d") });
    assert_eq!(ask(&database, "GetItem", get).unwrap(), json!({}));
}

#[test]
fn actions_of_every_kind_happen_together_over_tables_and_indexes() {
    let database = on_demand();
    let item = json!({"id": {"S": "a"}, "status": {"S": "ann"}, "n": {"N": "1"}});
    ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": item })).unwrap();
    ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": account("gone") })).unwrap();
    let order = json!({"id": {"S": "o"}, "at": {"S": "1"}, "status": {"S": "NEW"}});
    let write = json!({
        "TransactItems": [
            {"Put": {"TableName": "orders", "Item": order, "ConditionExpression": "attribute_not_exists(id)"}},
            {"Update": {
                "TableName": "accounts", "Key": account("a"), "UpdateExpression": "SET n = n - :one, #s = :s",
                "ConditionExpression": "n >= :one", "ExpressionAttributeNames": {"#s": "status"},
                "ExpressionAttributeValues": {":one": {"N": "1"}, ":s": {"S": "bob"}}
            }},
            {"Delete": {"TableName": "accounts", "Key": account("gone")}},
            {"ConditionCheck": {
                "TableName": "accounts", "Key": account("nobody"),
                "ConditionExpression": "attribute_not_exists(id)"
            }}
        ],
        "ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE"
    });
    let two = json!({"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0});
    let four = json!({"CapacityUnits": 4.0, "WriteCapacityUnits": 4.0});
    let six = json!({"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0});
    assert_eq!(
        ask(&database, "TransactWriteItems", write).unwrap(),
        json!({
            "ConsumedCapacity": [
                {
                    "TableName": "orders", "CapacityUnits": 6.0, "WriteCapacityUnits": 6.0, "Table": two,
                    "LocalSecondaryIndexes": {"local": two}, "GlobalSecondaryIndexes": {"by-status": two}
                },
                {
                    "TableName": "accounts", "CapacityUnits": 10.0, "WriteCapacityUnits": 10.0, "Table": six,
                    "GlobalSecondaryIndexes": {"by-owner": four}
                }
            ],
            "ItemCollectionMetrics": {
                "orders": [{"ItemCollectionKey": {"id": {"S": "o"}}, "SizeEstimateRangeGB": [0.0, 1.0]}]
            }
        })
    );
    let accounts = database.table("accounts").unwrap();
    assert_eq!(accounts.global(0).unwrap().items_of(&"bob".into()), 1);
    assert_eq!(accounts.global(0).unwrap().items_of(&"ann".into()), 0);
    assert_eq!(accounts.base().items_of(&"gone".into()), 0);
}

#[test]
fn a_repeated_transaction_is_carried_out_once() {
    let database = on_demand();
    let add = |by: u64| {
        json!({ "Update": {
            "TableName": "accounts", "Key": account("a"), "UpdateExpression": "ADD n :by",
            "ExpressionAttributeValues": {":by": {"N": by.to_string()}}
        }})
    };
    let write = |second: u64, by: u64| {
        let body = json!({
            "TransactItems": [add(by)], "ClientRequestToken": "token", "ReturnConsumedCapacity": "TOTAL"
        });
        ask_at(&database, Instant::from_secs(second), "TransactWriteItems", body)
    };
    let balance = |second: u64| {
        let get = json!({ "TableName": "accounts", "Key": account("a"), "ConsistentRead": true });
        let answer = ask_at(&database, Instant::from_secs(second), "GetItem", get).unwrap();
        answer["Item"]["n"]["N"].as_str().unwrap().to_owned()
    };
    assert_eq!(write(0, 1).unwrap()["ConsumedCapacity"][0]["WriteCapacityUnits"], json!(2.0));
    // A replay reads: 2 read units for an item of up to 4 KB.
    assert_eq!(
        write(599, 1).unwrap(),
        json!({ "ConsumedCapacity": [{"TableName": "accounts", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}] })
    );
    assert_eq!(balance(599), "1");
    assert_eq!(write(599, 2).unwrap_err().kind(), "IdempotentParameterMismatchException");
    write(600, 2).unwrap();
    assert_eq!(balance(600), "3");
    let body = json!({ "TransactItems": [add(1)], "ClientRequestToken": "x".repeat(37) });
    assert!(ask(&database, "TransactWriteItems", body).unwrap_err().message().ends_with(
        "at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36"
    ));
}

#[test]
fn the_reasons_are_in_order_with_text_and_item() {
    let database = on_demand();
    ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": account("a") })).unwrap();
    let not_there = |with: &str| {
        json!({ "Put": {
            "TableName": "accounts", "Item": account("a"), "ConditionExpression": "attribute_not_exists(id)",
            "ReturnValuesOnConditionCheckFailure": with
        }})
    };
    let set = json!({ "Update": {
        "TableName": "accounts", "Key": account("b"), "UpdateExpression": "SET n = m"
    }});
    let cancelled = ask(
        &database,
        "TransactWriteItems",
        json!({ "TransactItems": [put("c"), not_there("ALL_OLD"), set] }),
    );
    assert_eq!(
        cancelled.unwrap_err().body(),
        json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [None, \
                        ConditionalCheckFailed, ValidationError]",
            "CancellationReasons": [
                {"Code": "None"},
                {
                    "Code": "ConditionalCheckFailed", "Item": {"id": {"S": "a"}},
                    "Message": "The conditional request failed"
                },
                {
                    "Code": "ValidationError",
                    "Message": "The provided expression refers to an attribute that does not exist in the item"
                }
            ]
        })
    );
    let silent = ask(&database, "TransactWriteItems", json!({ "TransactItems": [not_there("NONE")] }));
    assert_eq!(silent.unwrap_err().body()["CancellationReasons"][0].get("Item"), None);
}

#[test]
fn an_index_without_room_cancels_all_and_costs_nothing() {
    let roomy = Billing::Provisioned { read: 1_000, write: 1_000 };
    let database = database(roomy, Billing::Provisioned { read: 1, write: 1 });
    let owned = |id: u64| json!({"id": {"S": id.to_string()}, "status": {"S": "ann"}});
    let fill = |id| ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": owned(id) }));
    (0..1_000).find_map(|id| fill(id).err()).expect("an index of one unit is soon out of burst");
    let accounts = database.table("accounts").unwrap();
    let before = consumed(accounts.base());
    let owned = json!({ "Put": { "TableName": "accounts", "Item": owned(9_999) } });
    let cancelled = ask(&database, "TransactWriteItems", json!({ "TransactItems": [put("free"), owned] }));
    assert_eq!(codes(&cancelled), ["None", "ProvisionedThroughputExceeded"]);
    let body = cancelled.unwrap_err().body();
    let text = body["CancellationReasons"][1]["Message"].as_str().unwrap();
    assert!(text.starts_with(
        "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded."
    ));
    assert_eq!((consumed(accounts.base()), accounts.base().items_of(&"free".into())), (before, 0));
}

#[test]
fn a_table_without_room_names_the_action() {
    let database = on_demand();
    let hot = || ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": account("hot") }));
    (0..3_000).find_map(|_| hot().err()).expect("one partition serves 1,000 units");
    let order = json!({"id": {"S": "o"}, "at": {"S": "1"}});
    let order = json!({ "Put": { "TableName": "orders", "Item": order } });
    let cancelled = ask(&database, "TransactWriteItems", json!({ "TransactItems": [order, put("hot")] }));
    assert_eq!(codes(&cancelled), ["None", "ThrottlingError"]);
    let body = cancelled.unwrap_err().body();
    assert!(
        body["CancellationReasons"][1]["Message"]
            .as_str()
            .unwrap()
            .starts_with("Throughput exceeds the current capacity of your table or index.")
    );
    assert_eq!(database.table("orders").unwrap().base().items_of(&"o".into()), 0);
}

#[test]
fn what_is_wrong_is_told_in_the_services_words() {
    let database = on_demand();
    let many = |n: usize| (0..n).map(|n| put(&n.to_string())).collect::<Vec<_>>();
    let bad_name = json!({ "Put": { "TableName": "bad!name", "Item": account("a") } });
    let unused = json!({ "Delete": {
        "TableName": "accounts", "Key": account("a"), "ConditionExpression": "attribute_exists(id)",
        "ExpressionAttributeValues": {":v": {"S": "x"}}
    }});
    let nowhere = json!({ "Delete": { "TableName": "nowhere", "Key": account("a") } });
    let get = |key: Value| json!({ "Get": { "TableName": "accounts", "Key": key } });
    let both = json!({ "Put": { "TableName": "accounts", "Item": account("a") }, "Delete": {
        "TableName": "accounts", "Key": account("a")
    }});
    let large = |n: usize| {
        let item = json!({"id": {"S": n.to_string()}, "v": {"S": "x".repeat(350_000)}});
        json!({ "Put": { "TableName": "accounts", "Item": item } })
    };
    let write = "TransactWriteItems";
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
                 string value. Key: id";
    let twice = "Transaction request cannot include multiple operations on one item";
    let cases = [
        (
            write,
            json!([]),
            "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have \
             length greater than or equal to 1",
        ),
        (
            write,
            json!(many(101)),
            "1 validation error detected: Value '[...]' at 'transactItems' failed to satisfy constraint: Member must have \
             length less than or equal to 100",
        ),
        (write, json!([put("a"), put("a")]), twice),
        (write, json!([nowhere]), "Requested resource not found"),
        (
            write,
            json!([put("b"), bad_name]),
            "1 validation error detected: Value 'bad!name' at 'transactItems.2.member.put.tableName' failed to satisfy \
             constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
        (
            write,
            json!([{}]),
            "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
        ),
        (write, json!([both]), "TransactItems can only contain one of Check, Put, Update or Delete"),
        (
            write,
            json!([unused]),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
        ),
        (write, json!([put("")]), empty),
        (write, json!([{"Delete": {"TableName": "accounts", "Key": account("")}}]), empty),
        (
            write,
            json!((0..12).map(large).collect::<Vec<_>>()),
            "The aggregate size of the items in the transaction cannot exceed 4 MB",
        ),
        ("TransactGetItems", json!([get(account("a")), get(account("a"))]), twice),
        (
            "TransactGetItems",
            json!([{"Get": {"TableName": "accounts", "Key": account("a"), "ProjectionExpression": "!!!"}}]),
            "Invalid ProjectionExpression: Syntax error; token: \"!\", near: \"!!\"",
        ),
    ];
    for (operation, items, message) in cases {
        let error = ask(&database, operation, json!({ "TransactItems": items })).expect_err(message);
        assert_eq!(error.message(), message);
    }
    // What is wrong for a table or an item cancels.
    let mismatch = "The provided key element does not match the schema";
    let typed = "One or more parameter values were invalid: Type mismatch for key id expected: S actual: N";
    let number = json!({"id": {"N": "5"}});
    let update = json!({ "Update": {
        "TableName": "accounts", "Key": account("a"), "UpdateExpression": "SET id = :v",
        "ExpressionAttributeValues": {":v": {"S": "b"}}
    }});
    let cases = [
        (write, json!({ "Put": { "TableName": "accounts", "Item": number } }), typed),
        (write, json!({ "Delete": { "TableName": "accounts", "Key": number } }), mismatch),
        (
            write,
            update,
            "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
        ),
        ("TransactGetItems", get(json!({})), mismatch),
    ];
    for (operation, action, message) in cases {
        let cancelled = ask(&database, operation, json!({ "TransactItems": [action] }));
        assert_eq!(codes(&cancelled), ["ValidationError"]);
        assert_eq!(cancelled.unwrap_err().body()["CancellationReasons"][0]["Message"], message);
    }
    assert!(ask(&database, write, json!({ "TransactItems": many(100) })).is_ok());
}

/// Write units that a table's partitions have paid, in thousandths.
fn consumed(table: &Table<Item>) -> u64 {
    table.report().partitions.iter().map(|partition| partition.writes.totals().consumed_milli).sum()
}

/// All items of a table or index, in an order of their own.
fn contents(table: &Table<Item>, now: Instant) -> Vec<Value> {
    let page = table.scan(&Scan::of(Default::default()), now).unwrap();
    assert!(page.continuation.is_none());
    sorted(page.items.iter().map(|(_, item)| item.attributes().to_json()))
}

fn sorted(items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut items: Vec<Value> = items.collect();
    items.sort_by_key(Value::to_string);
    items
}

/// What the entries of all indexes have to be, given the items.
fn check_indexes(database: &Database, now: Instant) {
    for name in ["orders", "accounts"] {
        let table = database.table(name).unwrap();
        let definition = table.definition();
        let items = contents(table.base(), now);
        let expected = |index: &IndexDefinition| {
            let entry = |item: &Value| {
                let item = Attributes::from_json(item.clone()).unwrap();
                item.contains("status").then(|| index.project(&definition.schema, &item).to_json())
            };
            sorted(items.iter().filter_map(entry))
        };
        for (at, index) in definition.local.iter().enumerate() {
            assert_eq!(contents(table.local(at).unwrap(), now), expected(index), "{name}");
        }
        for (at, global) in definition.global.iter().enumerate() {
            assert_eq!(contents(table.global(at).unwrap(), now), expected(&global.index), "{name}");
        }
    }
}

/// An item of either table: its key is (table, number).
type Key = (bool, u8);

#[derive(Clone, Debug, PartialEq)]
struct Stored {
    status: Option<u8>,
    n: i64,
}

#[derive(Clone, Debug)]
enum Act {
    Put(Stored),
    Set(Stored),
    Add(i64),
    Delete,
}

#[derive(Clone, Debug)]
struct One {
    key: Key,
    act: Act,
    /// Whether the item has to be there; `None`: no matter.
    condition: Option<bool>,
}

#[derive(Clone, Debug)]
enum Step {
    Single(One),
    Batch(Vec<One>),
    Transaction(Vec<One>),
}

fn table_of(key: Key) -> &'static str {
    if key.0 { "orders" } else { "accounts" }
}

fn key_json(key: Key) -> Value {
    match key.0 {
        true => json!({"id": {"S": format!("o{}", key.1 / 2)}, "at": {"S": (key.1 % 2).to_string()}}),
        false => json!({"id": {"S": format!("a{}", key.1)}}),
    }
}

fn item_json(key: Key, item: &Stored) -> Value {
    let mut json = key_json(key);
    json["n"] = json!({"N": item.n.to_string()});
    if let Some(status) = item.status {
        json["status"] = json!({"S": format!("s{status}")});
    }
    json
}

impl One {
    fn after(&self, old: Option<&Stored>) -> Option<Stored> {
        match &self.act {
            Act::Put(item) | Act::Set(item) => Some(item.clone()),
            Act::Add(by) => Some(
                old.map_or(Stored { status: None, n: *by }, |old| Stored { n: old.n + by, ..old.clone() }),
            ),
            Act::Delete => None,
        }
    }

    fn holds(&self, old: Option<&Stored>) -> bool {
        self.condition.is_none_or(|there| there == old.is_some())
    }

    /// The member of a transaction, and what is in it.
    fn action(&self) -> (&'static str, Value) {
        let mut body = json!({ "TableName": table_of(self.key) });
        let member = match &self.act {
            Act::Put(_) => "Put",
            Act::Set(_) | Act::Add(_) => "Update",
            Act::Delete => "Delete",
        };
        match &self.act {
            Act::Put(item) => body["Item"] = item_json(self.key, item),
            _ => body["Key"] = key_json(self.key),
        }
        match &self.act {
            Act::Set(item) => {
                body["ExpressionAttributeNames"] = json!({"#s": "status"});
                body["ExpressionAttributeValues"] = json!({":n": {"N": item.n.to_string()}});
                body["UpdateExpression"] = json!("SET n = :n REMOVE #s");
                if let Some(status) = item.status {
                    body["ExpressionAttributeValues"][":s"] = json!({"S": format!("s{status}")});
                    body["UpdateExpression"] = json!("SET n = :n, #s = :s");
                }
            }
            Act::Add(by) => {
                body["ExpressionAttributeValues"] = json!({":by": {"N": by.to_string()}});
                body["UpdateExpression"] = json!("ADD n :by");
            }
            Act::Put(_) | Act::Delete => {}
        }
        if let Some(there) = self.condition {
            let function = if there { "attribute_exists" } else { "attribute_not_exists" };
            body["ConditionExpression"] = json!(format!("{function}(id)"));
        }
        (member, body)
    }
}

/// Units by (table, whether of the global index).
#[derive(Default)]
struct Model {
    items: BTreeMap<Key, Stored>,
    units: BTreeMap<(bool, bool), u64>,
}

impl Model {
    /// Carries a write out. Everything is smaller than 1 KB: each write of an item or entry is one unit.
    fn write(&mut self, one: &One, rate: u64) -> f64 {
        let old = self.items.get(&one.key).cloned();
        let new = one.after(old.as_ref());
        let status = |item: &Option<Stored>| item.as_ref().and_then(|item| item.status);
        // An entry that shows the whole item changes with it, one of keys only with the status.
        let entry = |shows_n: bool| match (status(&old), status(&new)) {
            (None, None) => 0,
            (Some(a), Some(b)) if a != b => 2,
            (Some(_), Some(_)) => u64::from(shows_n && old != new),
            _ => 1,
        };
        let local = if one.key.0 { entry(true) } else { 0 };
        let global = entry(!one.key.0);
        *self.units.entry((one.key.0, false)).or_default() += (1 + local) * rate;
        *self.units.entry((one.key.0, true)).or_default() += global * rate;
        match new {
            Some(new) => self.items.insert(one.key, new),
            None => self.items.remove(&one.key),
        };
        ((1 + local + global) * rate) as f64
    }

    fn refuse(&mut self, one: &One, rate: u64) {
        *self.units.entry((one.key.0, false)).or_default() += rate;
    }

    fn holds(&self, one: &One) -> bool {
        one.holds(self.items.get(&one.key))
    }
}

/// The sum of what an answer says it cost.
fn told(consumed: &Value) -> f64 {
    match consumed {
        Value::Array(tables) => tables.iter().map(told).sum(),
        table => table["CapacityUnits"].as_f64().unwrap(),
    }
}

fn run(database: &Database, model: &mut Model, step: Step, now: Instant) {
    let how = "INDEXES";
    match step {
        Step::Single(one) => {
            let (member, mut body) = one.action();
            body["ReturnConsumedCapacity"] = json!(how);
            let answer = ask_at(database, now, &format!("{member}Item"), body);
            if model.holds(&one) {
                assert_eq!(told(&answer.unwrap()["ConsumedCapacity"]), model.write(&one, 1));
            } else {
                assert_eq!(answer.unwrap_err().kind(), "ConditionalCheckFailedException");
                model.refuse(&one, 1);
            }
        }
        Step::Batch(ones) => {
            let mut tables = json!({});
            let mut units = 0.0;
            for one in &ones {
                let (write, one) = match &one.act {
                    Act::Put(item) | Act::Set(item) => {
                        let put = json!({ "PutRequest": { "Item": item_json(one.key, item) } });
                        (put, One { act: Act::Put(item.clone()), ..one.clone() })
                    }
                    _ => {
                        let delete = json!({ "DeleteRequest": { "Key": key_json(one.key) } });
                        (delete, One { act: Act::Delete, ..one.clone() })
                    }
                };
                let table = &mut tables[table_of(one.key)];
                match table.as_array_mut() {
                    Some(writes) => writes.push(write),
                    None => *table = json!([write]),
                }
                units += model.write(&one, 1);
            }
            let body = json!({ "RequestItems": tables, "ReturnConsumedCapacity": how });
            let answer = ask_at(database, now, "BatchWriteItem", body).unwrap();
            assert_eq!((&answer["UnprocessedItems"], told(&answer["ConsumedCapacity"])), (&json!({}), units));
        }
        Step::Transaction(ones) => {
            let items: Vec<Value> = ones
                .iter()
                .map(|one| {
                    let (member, body) = one.action();
                    json!({ member: body })
                })
                .collect();
            let body = json!({ "TransactItems": items, "ReturnConsumedCapacity": how });
            let answer = ask_at(database, now, "TransactWriteItems", body);
            if ones.iter().all(|one| model.holds(one)) {
                let units: f64 = ones.iter().map(|one| model.write(one, 2)).sum();
                assert_eq!(told(&answer.unwrap()["ConsumedCapacity"]), units);
            } else {
                let code = |one| if model.holds(one) { "None" } else { "ConditionalCheckFailed" };
                assert_eq!(codes(&answer), ones.iter().map(code).collect::<Vec<_>>());
                ones.iter().for_each(|one| model.refuse(one, 2));
            }
        }
    }
}

fn one() -> impl Strategy<Value = One> {
    let stored = || (prop::option::of(0_u8..3), 0_i64..3).prop_map(|(status, n)| Stored { status, n });
    let act = prop_oneof![
        stored().prop_map(Act::Put),
        stored().prop_map(Act::Set),
        (1_i64..3).prop_map(Act::Add),
        Just(Act::Delete),
    ];
    let condition = prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)];
    ((any::<bool>(), 0_u8..4), act, condition).prop_map(|(key, act, condition)| One { key, act, condition })
}

/// Several writes, none of them of one item.
fn several() -> impl Strategy<Value = Vec<One>> {
    prop::collection::vec(one(), 1..5).prop_map(|ones| {
        let by_key: BTreeMap<Key, One> = ones.into_iter().map(|one| (one.key, one)).collect();
        by_key.into_values().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever is written in whichever way: items are the model's, entries what the items say, and what was paid is the sum.
    #[test]
    fn items_entries_and_charges_agree_with_a_model(
        steps in prop::collection::vec(
            prop_oneof![
                one().prop_map(Step::Single),
                several().prop_map(Step::Batch),
                several().prop_map(Step::Transaction),
            ],
            1..40,
        ),
    ) {
        let database = on_demand();
        let mut model = Model::default();
        for (second, step) in steps.into_iter().enumerate() {
            run(&database, &mut model, step, Instant::from_secs(second as u64));
        }
        let now = Instant::from_secs(100);
        check_indexes(&database, now);
        for orders in [true, false] {
            let table = database.table(table_of((orders, 0))).unwrap();
            let items = model.items.iter().filter(|(key, _)| key.0 == orders);
            let items = sorted(items.map(|(key, item)| item_json(*key, item)));
            let stored: Vec<Attributes> =
                contents(table.base(), now).into_iter().map(|i| Attributes::from_json(i).unwrap()).collect();
            let mut items: Vec<Attributes> =
                items.into_iter().map(|item| Attributes::from_json(item).unwrap()).collect();
            items.sort_by_key(|item| item.to_json().to_string());
            prop_assert_eq!(stored, items);
            let paid = |global| model.units.get(&(orders, global)).copied().unwrap_or_default() * 1_000;
            prop_assert_eq!(consumed(table.base()), paid(false));
            prop_assert_eq!(consumed(table.global(0).unwrap()), paid(true));
        }
    }
}

const ACCOUNTS: u64 = 4;
const BALANCE: i64 = 1_000;

/// Moves money between accounts from several threads: conflicts are answered and tried again, nothing is lost.
#[test]
fn threads_transfer_between_accounts_and_the_sum_stays() {
    let database = on_demand();
    for id in 0..ACCOUNTS {
        let item = json!({"id": {"S": id.to_string()}, "n": {"N": BALANCE.to_string()}});
        ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": item })).unwrap();
    }
    // Time passes with requests, so that hardly any is throttled: only a thread that was stopped for long comes with a time
    // at which the others have used everything up.
    let clock = AtomicU64::new(1);
    let now =
        || Instant::START.after(Duration::from_millis(20) * clock.fetch_add(1, Ordering::Relaxed) as u32);
    let (conflicts, transfers, looks) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let change = |id: u64, by: i64, owner: u64| {
        json!({ "Update": {
            "TableName": "accounts", "Key": account(&id.to_string()),
            "UpdateExpression": "SET n = n + :by, #s = :s", "ConditionExpression": "n >= :least",
            "ExpressionAttributeNames": {"#s": "status"},
            "ExpressionAttributeValues": {
                ":by": {"N": by.to_string()}, ":least": {"N": (-by).to_string()},
                ":s": {"S": format!("s{owner}")}
            }
        }})
    };
    let transfer = |thread: u64| {
        let mut random = Seed(thread).at(0);
        for round in 0..300 {
            random = Seed(random).at(round);
            let (from, to) =
                (random % ACCOUNTS, (random % ACCOUNTS + 1 + random / 7 % (ACCOUNTS - 1)) % ACCOUNTS);
            let by = (random / 100 % 50) as i64;
            let body = json!({ "TransactItems": [change(from, -by, thread), change(to, by, thread)] });
            match ask_at(&database, now(), "TransactWriteItems", body) {
                Ok(_) => transfers.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    assert_eq!(error.kind(), "TransactionCanceledException");
                    let codes = codes(&Err(error));
                    let expected =
                        ["None", "TransactionConflict", "ConditionalCheckFailed", "ThrottlingError"];
                    assert!(codes.iter().all(|code| expected.contains(&code.as_str())), "{codes:?}");
                    conflicts.fetch_add(u64::from(codes.contains(&expected[1].to_owned())), Ordering::Relaxed)
                }
            };
        }
    };
    let look = || {
        let gets: Vec<Value> = (0..ACCOUNTS)
            .map(|id| json!({"Get": {"TableName": "accounts", "Key": account(&id.to_string())}}))
            .collect();
        for _ in 0..100 {
            match ask_at(&database, now(), "TransactGetItems", json!({ "TransactItems": gets })) {
                Ok(answer) => {
                    let balance =
                        |read: &Value| read["Item"]["n"]["N"].as_str().unwrap().parse::<i64>().unwrap();
                    let sum: i64 = answer["Responses"].as_array().unwrap().iter().map(balance).sum();
                    assert_eq!(sum, BALANCE * ACCOUNTS as i64, "all at one moment");
                    looks.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    let codes = codes(&Err(error));
                    let expected = ["None", "TransactionConflict", "ThrottlingError"];
                    assert!(codes.iter().all(|code| expected.contains(&code.as_str())), "{codes:?}");
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..8).for_each(|thread| {
            drop(scope.spawn({
                let transfer = &transfer;
                move || transfer(thread)
            }))
        });
        scope.spawn(look);
    });
    let end = Instant::from_secs(1_000);
    let balances = contents(database.table("accounts").unwrap().base(), end);
    let sum: i64 = balances.iter().map(|item| item["n"]["N"].as_str().unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(sum, BALANCE * ACCOUNTS as i64);
    check_indexes(&database, end);
    let [conflicts, transfers, looks] =
        [conflicts, transfers, looks].map(|count| count.load(Ordering::Relaxed));
    assert!(transfers > 0 && looks > 0, "{transfers} transfers, {looks} looks");
    assert!(conflicts > 0, "transactions that meet are told so");
    println!("{transfers} transfers, {conflicts} conflicts, {looks} looks at all accounts");
}
