//! BatchGetItem and BatchWriteItem as a caller sees them: texts, capacity figures, and what is left unprocessed.

use hotplate::dynamodb::api::{Answer, Call, execute};
use hotplate::dynamodb::service::{
    Billing, Database, GlobalIndex, IndexDefinition, IndexProjection, TableDefinition,
};
use hotplate::dynamodb::{KeyAttribute, KeySchema, KeyType};
use hotplate::{Instant, ItemKey, PartitionKey, Seed, SortKey};
use serde_json::{Value, json};

const PROVISIONED: Billing = Billing::Provisioned { read: 30_000, write: 10_000 };

fn attribute(name: &str) -> KeyAttribute {
    KeyAttribute::new(name, KeyType::S)
}

/// `orders` has both kinds of indexes, `things` none.
fn database(billing: Billing) -> Database {
    let database = Database::new(Seed(1));
    let orders = TableDefinition {
        name: "orders".into(),
        attributes: ["id", "at", "status"].map(|name| (name.into(), KeyType::S)).to_vec(),
        schema: KeySchema::composite(attribute("id"), attribute("at")),
        billing,
        local: vec![IndexDefinition {
            name: "local".into(),
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
    let things = TableDefinition {
        name: "things".into(),
        attributes: vec![("id".into(), KeyType::S)],
        schema: KeySchema::simple(attribute("id")),
        billing,
        local: Vec::new(),
        global: Vec::new(),
    };
    database.create(orders, Instant::START).unwrap();
    database.create(things, Instant::START).unwrap();
    database
}

fn ask(database: &Database, operation: &str, body: Value) -> Answer {
    execute(&Call { database, now: Instant::START }, operation, body.to_string().as_bytes())
}

fn put(item: Value) -> Value {
    json!({ "PutRequest": { "Item": item } })
}

fn thing(id: &str, bytes: usize) -> Value {
    // "id", its value and "v" are counted too.
    json!({ "id": {"S": id}, "v": {"S": "x".repeat(bytes - 3 - id.len())} })
}

#[test]
fn writes_and_reads_are_rounded_one_by_one() {
    let database = database(Billing::OnDemand);
    // physics.md 1.1: 500 B and 3.5 KB are 1 + 4 units.
    let batch = json!({
        "RequestItems": { "things": [put(thing("a", 500)), put(thing("b", 3_584))] },
        "ReturnConsumedCapacity": "TOTAL", "ReturnItemCollectionMetrics": "SIZE"
    });
    let answer = ask(&database, "BatchWriteItem", batch).unwrap();
    assert_eq!(
        answer,
        json!({ "UnprocessedItems": {}, "ConsumedCapacity": [{"TableName": "things", "CapacityUnits": 5.0}] })
    );
    // 1.5 KB and 6.5 KB read as 4 + 8 KB; a missing item costs the minimum.
    let items = [put(thing("c", 1_536)), put(thing("d", 6_656))];
    ask(&database, "BatchWriteItem", json!({ "RequestItems": { "things": items } })).unwrap();
    for (consistent, units) in [(true, 4.0), (false, 2.0)] {
        let keys = ["c", "d", "missing"].map(|id| json!({"id": {"S": id}}));
        let batch = json!({
            "RequestItems": { "things": { "Keys": keys, "ConsistentRead": consistent } },
            "ReturnConsumedCapacity": "INDEXES"
        });
        let answer = ask(&database, "BatchGetItem", batch).unwrap();
        assert_eq!(answer["Responses"]["things"].as_array().unwrap().len(), 2);
        assert_eq!(answer["UnprocessedKeys"], json!({}));
        assert_eq!(
            answer["ConsumedCapacity"],
            json!([{ "TableName": "things", "CapacityUnits": units, "Table": {"CapacityUnits": units} }])
        );
    }
}

#[test]
fn tables_are_told_apart_with_their_indexes_and_collections() {
    let database = database(Billing::OnDemand);
    let order =
        |at: &str| put(json!({"id": {"S": "a"}, "at": {"S": at}, "status": {"S": "NEW"}, "n": {"N": "1"}}));
    let batch = json!({
        "RequestItems": {
            "orders": [order("1"), order("2")],
            "things": [put(thing("a", 10)), {"DeleteRequest": {"Key": {"id": {"S": "missing"}}}}]
        },
        "ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE"
    });
    let answer = ask(&database, "BatchWriteItem", batch).unwrap();
    assert_eq!(
        answer["ConsumedCapacity"],
        json!([
            {
                "TableName": "orders", "CapacityUnits": 6.0, "Table": {"CapacityUnits": 2.0},
                "LocalSecondaryIndexes": {"local": {"CapacityUnits": 2.0}},
                "GlobalSecondaryIndexes": {"by-status": {"CapacityUnits": 2.0}}
            },
            {"TableName": "things", "CapacityUnits": 2.0, "Table": {"CapacityUnits": 2.0}}
        ])
    );
    assert_eq!(
        answer["ItemCollectionMetrics"],
        json!({ "orders": [{"ItemCollectionKey": {"id": {"S": "a"}}, "SizeEstimateRangeGB": [0.0, 1.0]}] })
    );
    let key = |at: &str| json!({"id": {"S": "a"}, "at": {"S": at}});
    let batch = json!({ "RequestItems": {
        "orders": { "Keys": [key("1"), key("2")], "ProjectionExpression": "#n",
                    "ExpressionAttributeNames": {"#n": "n"} },
        "things": { "Keys": [{"id": {"S": "a"}}], "AttributesToGet": ["id"] }
    }});
    assert_eq!(
        ask(&database, "BatchGetItem", batch).unwrap()["Responses"],
        json!({ "orders": [{"n": {"N": "1"}}, {"n": {"N": "1"}}], "things": [{"id": {"S": "a"}}] })
    );
    // The single writes tell the collection as well.
    let put = json!({
        "TableName": "orders", "Item": {"id": {"S": "b"}, "at": {"S": "1"}}, "ReturnItemCollectionMetrics": "SIZE"
    });
    let answer = ask(&database, "PutItem", put).unwrap();
    assert_eq!(answer["ItemCollectionMetrics"]["ItemCollectionKey"], json!({"id": {"S": "b"}}));
    let delete = json!({
        "TableName": "things", "Key": {"id": {"S": "a"}}, "ReturnItemCollectionMetrics": "SIZE"
    });
    assert_eq!(ask(&database, "DeleteItem", delete).unwrap(), json!({}));
}

#[test]
fn an_answer_holds_sixteen_megabytes() {
    let database = database(Billing::OnDemand);
    for id in 0..50 {
        let item = thing(&format!("{id:02}"), 400 * 1_024);
        ask_later(&database, id, "PutItem", json!({ "TableName": "things", "Item": item })).unwrap();
    }
    let keys: Vec<Value> = (0..50).map(|id| json!({"id": {"S": format!("{id:02}")}})).collect();
    let request = json!({ "Keys": keys, "AttributesToGet": ["id"], "ConsistentRead": true });
    let batch = json!({ "RequestItems": { "things": request }, "ReturnConsumedCapacity": "TOTAL" });
    let answer = ask_later(&database, 60, "BatchGetItem", batch).unwrap();
    // 16 MB hold 40 items of 400 KB, projected or not; what is not read is not paid.
    assert_eq!(answer["Responses"]["things"].as_array().unwrap().len(), 40);
    assert_eq!(answer["ConsumedCapacity"][0]["CapacityUnits"], json!(4_000.0));
    let left = &answer["UnprocessedKeys"]["things"];
    assert_eq!(left["Keys"].as_array().unwrap().len(), 10);
    assert_eq!((&left["ConsistentRead"], &left["AttributesToGet"]), (&json!(true), &json!(["id"])));
    let rest = json!({ "RequestItems": answer["UnprocessedKeys"] });
    let answer = ask_later(&database, 120, "BatchGetItem", rest).unwrap();
    assert_eq!(answer["Responses"]["things"].as_array().unwrap().len(), 10);
}

fn ask_later(database: &Database, second: u64, operation: &str, body: Value) -> Answer {
    let now = Instant::from_secs(second);
    execute(&Call { database, now }, operation, body.to_string().as_bytes())
}

/// Seven ids that are not in the partition of "hot".
fn elsewhere(database: &Database) -> Vec<String> {
    let table = database.table("things").unwrap();
    let partition = |id: &str| {
        table.base().partition_of(&ItemKey { partition: PartitionKey::text(id), sort: SortKey::none() })
    };
    let ids = (0..).map(|n| format!("id{n}")).filter(|id| partition(id) != partition("hot"));
    ids.take(7).collect()
}

/// physics.md, bar 15: three of ten are throttled: three unprocessed, three throttle events, no exception.
#[test]
fn what_is_throttled_is_left_unprocessed() {
    let database = database(PROVISIONED);
    let refusals = || -> u64 {
        let report = database.table("things").unwrap().base().report();
        report.partitions.iter().flat_map(|partition| partition.refusals).sum()
    };
    let item = |id: &str| json!({"id": {"S": id}});
    let hot = || ask(&database, "PutItem", json!({ "TableName": "things", "Item": item("hot") }));
    let others = elsewhere(&database);
    (0..3_000).find_map(|_| hot().err()).expect("one partition serves 1,000 units");
    let before = refusals();
    // Three other ids of the hot partition.
    let table = database.table("things").unwrap();
    let partition = |id: &str| {
        table.base().partition_of(&ItemKey { partition: PartitionKey::text(id), sort: SortKey::none() })
    };
    let neighbours: Vec<String> =
        (0..).map(|n| format!("n{n}")).filter(|id| partition(id) == partition("hot")).take(3).collect();
    let writes: Vec<Value> = others.iter().chain(&neighbours).map(|id| put(item(id))).collect();
    let batch = json!({ "RequestItems": { "things": writes }, "ReturnConsumedCapacity": "TOTAL" });
    let answer = ask(&database, "BatchWriteItem", batch).unwrap();
    let expected: Vec<Value> = neighbours.iter().map(|id| put(item(id))).collect();
    assert_eq!(answer["UnprocessedItems"], json!({ "things": expected }));
    assert_eq!(answer["ConsumedCapacity"], json!([{"TableName": "things", "CapacityUnits": 7.0}]));
    assert_eq!(refusals(), before + 3);

    let batch = json!({ "RequestItems": { "things": expected } });
    let refused = ask(&database, "BatchWriteItem", batch).unwrap_err();
    assert_eq!(refused.kind(), "ProvisionedThroughputExceededException");
    assert_eq!(refused.body()["ThrottlingReasons"][0]["reason"], "TableWriteKeyRangeThroughputExceeded");

    // The same for reads, which have units of their own.
    let get = json!({ "TableName": "things", "Key": item("hot"), "ConsistentRead": true });
    (0..9_000).find_map(|_| ask(&database, "GetItem", get.clone()).err()).expect("and 3,000 of reads");
    let keys: Vec<Value> = others.iter().chain(&neighbours).map(|id| item(id)).collect();
    let batch = json!({ "RequestItems": { "things": { "Keys": keys } } });
    let answer = ask(&database, "BatchGetItem", batch).unwrap();
    assert_eq!(answer["Responses"]["things"].as_array().unwrap().len(), 7);
    assert_eq!(answer["UnprocessedKeys"]["things"]["Keys"].as_array().unwrap().len(), 3);
    let refused = ask(&database, "BatchGetItem", json!({ "RequestItems": answer["UnprocessedKeys"] }));
    assert_eq!(
        refused.unwrap_err().body()["ThrottlingReasons"][0]["reason"],
        "TableReadKeyRangeThroughputExceeded"
    );
}

#[test]
fn what_is_wrong_is_told_in_the_services_words() {
    let database = database(Billing::OnDemand);
    let id = |id: &str| json!({"id": {"S": id}});
    let many = |n: usize| (0..n).map(|n| id(&n.to_string())).collect::<Vec<_>>();
    let puts = |n: usize| (0..n).map(|n| put(id(&n.to_string()))).collect::<Vec<_>>();
    let mismatch = "The provided key element does not match the schema";
    let duplicates = "Provided list of item keys contains duplicates";
    let order = |status: Value| json!({"id": {"S": "a"}, "at": {"S": "1"}, "status": status});
    let cases = [
        (
            "BatchGetItem",
            json!({"ReturnConsumedCapacity": "hi"}),
            "2 validation errors detected: Value 'hi' at 'returnConsumedCapacity' failed to satisfy constraint: Member must \
             satisfy enum value set: [INDEXES, TOTAL, NONE]; Value null at 'requestItems' failed to satisfy constraint: \
             Member must not be null",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {}}),
            "The requestItems parameter is required for BatchGetItem",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {}}),
            "The requestItems parameter is required for BatchWriteItem",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"things": {"Keys": many(101)}}}),
            "1 validation error detected: Value at 'RequestItems.things.member.Keys' failed to satisfy constraint: Member \
             must have length less than or equal to 100",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"things": {}}}),
            "1 validation error detected: Value null at 'requestItems.things.member.keys' failed to satisfy constraint: \
             Member must not be null",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"things": {"Keys": many(60)}, "orders": {"Keys": many(60)}}}),
            "Too many items requested for the BatchGetItem call",
        ),
        ("BatchGetItem", json!({"RequestItems": {"things": {"Keys": [id("a"), id("a")]}}}), duplicates),
        ("BatchGetItem", json!({"RequestItems": {"orders": {"Keys": [id("a")]}}}), mismatch),
        (
            "BatchGetItem",
            json!({"RequestItems": {"nowhere": {"Keys": [id("a")]}}}),
            "Requested resource not found",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"things": puts(26)}}),
            "1 validation error detected: Value '{things=[...]}' at 'requestItems' failed to satisfy constraint: Map value \
             must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater \
             than or equal to 1]",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"aa;": [{"PutRequest": {}, "DeleteRequest": {}}]}}),
            "3 validation errors detected: Value '{aa;=[...]}' at 'requestItems' failed to satisfy constraint: Map keys must \
             satisfy constraint: [Member must have length less than or equal to 255, Member must have length greater than or \
             equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]; Value null at \
             'requestItems.aa;.member.1.member.deleteRequest.key' failed to satisfy constraint: Member must not be null; \
             Value null at 'requestItems.aa;.member.1.member.putRequest.item' failed to satisfy constraint: Member must not \
             be null",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"things": [{}]}}),
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"things": [put(id("a")), {"DeleteRequest": {"Key": id("a")}}]}}),
            duplicates,
        ),
        ("BatchWriteItem", json!({"RequestItems": {"things": [put(json!({"id": {"N": "5"}}))]}}), mismatch),
        ("BatchWriteItem", json!({"RequestItems": {"things": [put(json!({"n": {"N": "5"}}))]}}), mismatch),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"things": [{"DeleteRequest": {"Key": id("")}}]}}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
             string value. Key: id",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"orders": [put(order(json!({"N": "5"})))]}}),
            "One or more parameter values were invalid: Type mismatch for Index Key status Expected: S Actual: N IndexName: \
             local",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"nowhere": [put(id("a"))]}}),
            "Requested resource not found",
        ),
    ];
    for (operation, body, message) in cases {
        let error = ask(&database, operation, body.clone()).expect_err(&body.to_string());
        assert_eq!(error.message(), message, "{operation} {body}");
    }
    assert_eq!(
        ask(&database, "BatchWriteItem", json!({"RequestItems": {"things": puts(25)}})).unwrap(),
        json!({"UnprocessedItems": {}})
    );
}
