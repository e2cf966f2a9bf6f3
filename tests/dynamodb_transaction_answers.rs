//! TransactWriteItems and TransactGetItems as a caller sees them: texts, reasons, capacity figures and tokens.

mod dynamodb_setup;

use dynamodb_setup::{account, ask, ask_at, codes, consumed, database, on_demand};
use hotplate::Instant;
use hotplate::dynamodb::service::{Billing, Cancelled, Decision, Refused, TransactionWrite, transaction};
use hotplate::dynamodb::{Attributes, Item};
use serde_json::{Value, json};
use std::sync::Arc;

fn put(id: &str) -> Value {
    json!({ "Put": { "TableName": "accounts", "Item": account(id) } })
}

fn exists(id: &str) -> Value {
    json!({ "ConditionCheck": {
        "TableName": "accounts", "Key": account(id), "ConditionExpression": "attribute_exists(id)"
    }})
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

/// Requests that come while a transaction decides: it holds its items then, and no lock.
#[test]
fn an_item_that_a_transaction_holds_is_a_conflict_for_all_others() {
    let database = on_demand();
    let table = database.table("accounts").unwrap();
    let key = |id: &str| {
        table.definition().schema.of_request(&Attributes::from_json(account(id)).unwrap()).unwrap()
    };
    let held = TransactionWrite::new(Arc::clone(&table), key("a"), None, |_| {
        let single = ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": account("a") }));
        let single = single.unwrap_err();
        assert_eq!(
            (single.kind(), single.message()),
            ("TransactionConflictException", "Transaction is ongoing for the item")
        );
        let before = consumed(table.base());
        let other = ask(&database, "TransactWriteItems", json!({ "TransactItems": [put("b"), put("a")] }));
        assert_eq!(codes(&other), ["None", "TransactionConflict"]);
        assert_eq!(consumed(table.base()) - before, 4_000, "a conflict is paid");
        let body = other.unwrap_err().body();
        assert_eq!(body["CancellationReasons"][1]["Message"], "Transaction is ongoing for the item");
        let get = |id: &str| json!({ "Get": { "TableName": "accounts", "Key": account(id) } });
        let read = ask(&database, "TransactGetItems", json!({ "TransactItems": [get("a"), get("b")] }));
        assert_eq!(codes(&read), ["TransactionConflict", "None"]);
        // What does not wait for transactions sees the item as it was, and a batch does the rest.
        let plain = ask(&database, "GetItem", json!({ "TableName": "accounts", "Key": account("a") }));
        assert_eq!(plain.unwrap(), json!({}));
        let requests = ["a", "b"].map(|id| json!({ "PutRequest": { "Item": account(id) } }));
        let batch = ask(&database, "BatchWriteItem", json!({ "RequestItems": { "accounts": requests } }));
        assert_eq!(batch.unwrap()["UnprocessedItems"], json!({ "accounts": [requests[0]] }));
        let item = Attributes::from_json(account("a"))?;
        Ok(Decision::Put(Item::new(item)))
    });
    let written = transaction::write(vec![held], Instant::START).unwrap();
    assert!(written[0].old.is_none() && written[0].new.is_some());
    // Whatever way a transaction ends, it gives its items back.
    let refused = TransactionWrite::new(Arc::clone(&table), key("a"), None, |_| {
        Ok(Decision::Refuse { attempted: None })
    });
    let Err(Cancelled::Because { reasons, charges }) = transaction::write(vec![refused], Instant::START)
    else {
        panic!("it was refused")
    };
    assert!(matches!(&reasons[..], [Some(Refused::ConditionFailed { item: Some(_), .. })]));
    assert_eq!(charges[0].total().write.milli(), 2_000);
    let again = ask(&database, "TransactWriteItems", json!({ "TransactItems": [put("b"), put("a")] }));
    assert_eq!(again.unwrap(), json!({}));
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
