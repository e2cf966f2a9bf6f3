//! The guide's examples, what pages hold and cost, and who throttles.

use crate::support::{Service, all, attributes, keys, table};
use hotplate::dynamodb::api::ApiError;
use hotplate::dynamodb::{Number, partition_key, sort_key};
use hotplate::ring::RingPoint;
use serde_json::{Value, json};

/// The developer guide's table of replies ("Querying tables"; "Key condition expressions for the Query operation").
fn replies(service: &Service) {
    service.ok(
        "CreateTable",
        json!({
            "TableName": "Reply", "ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100},
            "AttributeDefinitions": attributes(&[("Id", "S"), ("ReplyDateTime", "S"), ("PostedBy", "S")]),
            "KeySchema": keys("Id", Some("ReplyDateTime")),
            "LocalSecondaryIndexes": [{
                "IndexName": "PostedBy-Index", "KeySchema": keys("Id", Some("PostedBy")),
                "Projection": {"ProjectionType": "KEYS_ONLY"}
            }],
        }),
    );
    for (thread, at, by) in [
        ("Amazon DynamoDB#DynamoDB Thread 1", "2015-09-15T19:58:22.947Z", "User A"),
        ("Amazon DynamoDB#DynamoDB Thread 1", "2015-09-22T19:58:22.947Z", "User B"),
        ("Amazon DynamoDB#DynamoDB Thread 1", "2015-10-05T19:58:22.947Z", "User A"),
        ("Amazon DynamoDB#DynamoDB Thread 2", "2015-09-29T19:58:22.947Z", "User A"),
    ] {
        let item = json!({
            "Id": {"S": thread}, "ReplyDateTime": {"S": at}, "PostedBy": {"S": by}, "Message": {"S": "text"}
        });
        service.put("Reply", item);
    }
}

#[test]
fn the_guides_examples_of_queries() {
    let service = Service::new();
    replies(&service);
    let thread = json!({"S": "Amazon DynamoDB#DynamoDB Thread 1"});
    let whole = service.ok(
        "Query",
        json!({
            "TableName": "Reply", "KeyConditionExpression": "Id = :id", "ExpressionAttributeValues": {":id": thread}
        }),
    );
    assert_eq!((&whole["Count"], &whole["ScannedCount"]), (&json!(3), &json!(3)));
    assert_eq!(whole.get("LastEvaluatedKey"), None);
    let begins = service.ok(
        "Query",
        json!({
            "TableName": "Reply", "KeyConditionExpression": "Id = :id and begins_with(ReplyDateTime, :dt)",
            "FilterExpression": "PostedBy = :who", "ProjectionExpression": "ReplyDateTime",
            "ScanIndexForward": false, "ReturnConsumedCapacity": "TOTAL",
            "ExpressionAttributeValues": {":id": thread, ":dt": {"S": "2015-09"}, ":who": {"S": "User A"}}
        }),
    );
    assert_eq!(begins["Items"], json!([{"ReplyDateTime": {"S": "2015-09-15T19:58:22.947Z"}}]));
    assert_eq!((&begins["Count"], &begins["ScannedCount"]), (&json!(1), &json!(2)));
    assert_eq!(begins["ConsumedCapacity"], json!({"TableName": "Reply", "CapacityUnits": 0.5}));
    let indexed = service.ok(
        "Query",
        json!({
            "TableName": "Reply", "IndexName": "PostedBy-Index",
            "KeyConditions": {
                "Id": {"ComparisonOperator": "EQ", "AttributeValueList": [thread]},
                "PostedBy": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "User A"}]}
            },
            "ConsistentRead": true, "Select": "COUNT", "ReturnConsumedCapacity": "INDEXES"
        }),
    );
    assert_eq!(
        indexed,
        json!({
            "Count": 2, "ScannedCount": 2,
            "ConsumedCapacity": {
                "TableName": "Reply", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 0.0},
                "LocalSecondaryIndexes": {"PostedBy-Index": {"CapacityUnits": 1.0}}
            }
        })
    );
    let scanned = service.ok(
        "Scan",
        json!({
            "TableName": "Reply", "ScanFilter": {
                "PostedBy": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "User A"}]}
            }, "AttributesToGet": ["Message"]
        }),
    );
    assert_eq!(
        scanned["Items"],
        json!([{"Message": {"S": "text"}}, {"Message": {"S": "text"}}, {"Message": {"S": "text"}}])
    );
}

fn units(answer: &Value) -> f64 {
    answer["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap()
}

#[test]
fn pages_cost_what_the_guide_says() {
    let service = Service::new();
    table(&service, true, all());
    let nothing = json!({
        "TableName": "tab", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "none"}},
        "ReturnConsumedCapacity": "TOTAL"
    });
    assert_eq!(units(&service.ok("Query", nothing)), 0.5);
    let scan = |consistent| {
        service.ok(
            "Scan",
            json!({"TableName": "tab", "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"}),
        )
    };
    // Four partitions searched in vain.
    assert_eq!((units(&scan(false)), units(&scan(true))), (2.0, 4.0));
    // "p" + 2, "s" + 2, "f" + the rest.
    let filler = |bytes: usize| json!({"S": "x".repeat(bytes - 7)});
    for n in 1..=10 {
        service.put("tab", json!({"p": {"S": "10"}, "s": {"N": n.to_string()}, "f": filler(4_178)}));
    }
    let ten = |consistent| {
        service.ok(
            "Query",
            json!({
                "TableName": "tab", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "10"}},
                "ConsistentRead": consistent, "Select": "COUNT", "ReturnConsumedCapacity": "TOTAL"
            }),
        )
    };
    assert_eq!((units(&ten(true)), units(&ten(false))), (11.0, 5.5));
    // 8 entries of 2,000 bytes of a global index: "p" + 2, "s" + 2, "gp" + 1, "gs" + 2, "f" + the rest.
    for n in 1..=8 {
        let filler = json!({"S": "x".repeat(2_000 - 14)});
        let item = json!({
            "p": {"S": "20"}, "s": {"N": n.to_string()}, "gp": {"S": "g"}, "gs": {"N": n.to_string()}, "f": filler
        });
        service.put("tab", item);
    }
    let global = service.ok(
        "Query",
        json!({
            "TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "gp = :p",
            "ExpressionAttributeValues": {":p": {"S": "g"}}, "ReturnConsumedCapacity": "INDEXES"
        }),
    );
    assert_eq!(
        global["ConsumedCapacity"],
        json!({
            "TableName": "tab", "CapacityUnits": 2.0, "Table": {"CapacityUnits": 0.0},
            "GlobalSecondaryIndexes": {"by-g": {"CapacityUnits": 2.0}}
        })
    );
    // 4 items of 300 bytes of which a local index has fewer: one block there, and one for each item at the table.
    for n in 1..=4 {
        let filler = json!({"S": "x".repeat(150)});
        let item = json!({"p": {"S": "30"}, "s": {"N": n.to_string()}, "ls": {"S": "l"}, "f": filler});
        service.put("tab", item);
    }
    let local = |select: &str| {
        service.ok(
            "Query",
            json!({
                "TableName": "tab", "IndexName": "by-l", "KeyConditionExpression": "p = :p", "Select": select,
                "ExpressionAttributeValues": {":p": {"S": "30"}}, "ConsistentRead": true,
                "ReturnConsumedCapacity": "INDEXES"
            }),
        )
    };
    let fetched = local("ALL_ATTRIBUTES");
    assert_eq!(fetched["Items"][0]["f"]["S"].as_str().unwrap().len(), 150);
    assert_eq!(
        fetched["ConsumedCapacity"],
        json!({
            "TableName": "tab", "CapacityUnits": 5.0, "Table": {"CapacityUnits": 4.0},
            "LocalSecondaryIndexes": {"by-l": {"CapacityUnits": 1.0}}
        })
    );
    let projected = local("ALL_PROJECTED_ATTRIBUTES");
    assert_eq!(projected["Items"][0], json!({"p": {"S": "30"}, "s": {"N": "1"}, "ls": {"S": "l"}}));
    assert_eq!(units(&projected), 1.0);
}

#[test]
fn a_page_ends_at_a_megabyte_and_costs_the_same_over_a_cut() {
    let service = Service::new();
    table(&service, false, all());
    for n in 0..40 {
        let item = json!({"p": {"S": "big"}, "s": {"N": n.to_string()}, "f": {"S": "x".repeat(50 * 1024)}});
        service.put("tab", item);
    }
    let query = |consistent| {
        json!({
            "TableName": "tab", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "big"}},
            "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"
        })
    };
    let page = service.ok("Query", query(false));
    assert_eq!(page["Count"], 20);
    assert_eq!(page["LastEvaluatedKey"], json!({"p": {"S": "big"}, "s": {"N": "19"}}));
    let whole = (units(&page), units(&service.ok("Query", query(true))));
    let base = service.database.table("tab").unwrap();
    let key = partition_key(&hotplate::dynamodb::AttributeValue::S("big".into())).unwrap();
    let token = base.base().token(&key);
    let sort = |n: u64| sort_key(&hotplate::dynamodb::AttributeValue::N(Number::from(n))).unwrap();
    for n in [7, 13] {
        let item = hotplate::ItemKey { partition: key.clone(), sort: sort(n) };
        let id = base.base().partition_of(&item);
        base.base().split(id, Some(RingPoint::inside(token.clone(), sort(n))), service.now()).unwrap();
    }
    let page = service.ok("Query", query(false));
    assert_eq!((&page["Count"], units(&page)), (&json!(20), whole.0));
    let page = service.ok("Query", query(true));
    assert_eq!((&page["Count"], units(&page)), (&json!(20), whole.1));
    let consumed: u64 = base.base().report().partitions.iter().map(|p| p.reads.totals().consumed_milli).sum();
    let retired: u64 = base.base().report().retired.iter().map(|p| p.totals.consumed_milli).sum();
    // Two pages before the cuts and two after, all charged to some partition; those that are gone count the writes too.
    let written = 40.0 * 51.0;
    assert_eq!((consumed + retired) as f64 / 1_000.0, written + 2.0 * (whole.0 + whole.1));
    assert_eq!(service.all("Query", query(false), |_| {}).len(), 40);
}

#[test]
fn a_hot_index_throttles_its_readers_and_says_so() {
    let service = Service::new();
    service.ok(
        "CreateTable",
        json!({
            "TableName": "tab", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 100},
            "AttributeDefinitions": attributes(&[("p", "S"), ("s", "S"), ("g", "S")]),
            "KeySchema": keys("p", Some("s")),
            "LocalSecondaryIndexes": [
                {"IndexName": "local", "KeySchema": keys("p", Some("g")), "Projection": {"ProjectionType": "ALL"}}
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "global", "KeySchema": keys("g", None), "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 100}
            }],
        }),
    );
    for n in 0..10 {
        let filler = json!({"S": "x".repeat(10_000)});
        service.put("tab", json!({"p": {"S": "a"}, "s": {"S": n.to_string()}, "g": {"S": "b"}, "f": filler}));
    }
    let throttle = |index: &str, key: &str, value: &str| {
        let body = json!({
            "TableName": "tab", "IndexName": index, "KeyConditionExpression": "#k = :v",
            "ExpressionAttributeNames": {"#k": key}, "ExpressionAttributeValues": {":v": {"S": value}}
        });
        (0..100).find_map(|_| service.ask("Query", &body).err()).unwrap()
    };
    let global = throttle("global", "g", "b");
    assert_eq!(global.kind(), "ProvisionedThroughputExceededException");
    let reason = |error: &ApiError| error.body()["ThrottlingReasons"][0].clone();
    assert_eq!(reason(&global)["reason"], "IndexReadProvisionedThroughputExceeded");
    assert!(reason(&global)["resource"].as_str().unwrap().ends_with("table/tab/index/global"));
    // The table has not been read so far; a local index draws on it.
    let local = throttle("local", "p", "a");
    assert_eq!(reason(&local)["reason"], "TableReadProvisionedThroughputExceeded");
    assert!(reason(&local)["resource"].as_str().unwrap().ends_with("table/tab"));
}
