//! DynamoDB's Query, Scan and operations on tables as a client meets them: JSON in, JSON or an exception out.

use hotplate::dynamodb::api::{ApiError, Call, execute, operations};
use hotplate::dynamodb::service::Database;
use hotplate::dynamodb::{Number, partition_key, sort_key};
use hotplate::ring::RingPoint;
use hotplate::{Instant, Seed};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeSet;

/// A database whose clock moves a second with each request, so that nothing throttles by accident.
struct Service {
    database: Database,
    second: Cell<u64>,
}

impl Service {
    fn new() -> Self {
        Self { database: Database::new(Seed(7)), second: Cell::new(0) }
    }

    fn ask(&self, operation: &str, body: &Value) -> Result<Value, ApiError> {
        self.second.set(self.second.get() + 1);
        let call = Call { database: &self.database, now: self.now() };
        execute(&call, operation, body.to_string().as_bytes())
    }

    fn now(&self) -> Instant {
        Instant::from_secs(self.second.get())
    }

    #[track_caller]
    fn ok(&self, operation: &str, body: Value) -> Value {
        self.ask(operation, &body).unwrap_or_else(|error| panic!("{}: {}", error.kind(), error.message()))
    }

    #[track_caller]
    fn refusal(&self, operation: &str, body: Value) -> String {
        let error = self.ask(operation, &body).unwrap_err();
        assert_eq!(error.kind(), "ValidationException", "{}", error.message());
        error.message().to_owned()
    }

    fn put(&self, table: &str, item: Value) {
        self.ok("PutItem", json!({"TableName": table, "Item": item}));
    }

    /// Every page of a query or scan; between pages `disturb` happens.
    fn all(&self, operation: &str, mut body: Value, mut disturb: impl FnMut(&Self)) -> Vec<Value> {
        let mut items = Vec::new();
        for _ in 0..500 {
            let page = self.ok(operation, body.clone());
            let found = page["Items"].as_array().unwrap();
            assert_eq!(page["Count"], found.len());
            if let Some(limit) = body.get("Limit").and_then(Value::as_u64) {
                assert!(page["ScannedCount"].as_u64().unwrap() <= limit);
            }
            items.extend(found.iter().cloned());
            match page.get("LastEvaluatedKey") {
                Some(last) => body["ExclusiveStartKey"] = last.clone(),
                None => return items,
            }
            disturb(self);
        }
        panic!("pages without an end");
    }
}

fn keys(partition: &str, sort: Option<&str>) -> Value {
    let mut keys = vec![json!({"AttributeName": partition, "KeyType": "HASH"})];
    keys.extend(sort.map(|sort| json!({"AttributeName": sort, "KeyType": "RANGE"})));
    Value::Array(keys)
}

fn attributes(of: &[(&str, &str)]) -> Value {
    of.iter().map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind})).collect()
}

/// A table `t` with string key `p` and numeric sort key `s`, a global index `g` on (`gp`, `gs`), and perhaps a local one.
fn table(service: &Service, local: bool, projection: Value) {
    let mut definitions = vec![("p", "S"), ("s", "N"), ("gp", "S"), ("gs", "N")];
    definitions.extend(local.then_some(("ls", "S")));
    let mut create = json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes(&definitions),
        "KeySchema": keys("p", Some("s")),
        "GlobalSecondaryIndexes": [
            {"IndexName": "by-g", "KeySchema": keys("gp", Some("gs")), "Projection": projection}
        ],
    });
    if local {
        create["LocalSecondaryIndexes"] = json!([
            {"IndexName": "by-l", "KeySchema": keys("p", Some("ls")), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ]);
    }
    service.ok("CreateTable", create);
}

fn all() -> Value {
    json!({"ProjectionType": "ALL"})
}

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

#[test]
fn what_is_wrong_with_a_read_is_told_in_the_services_words() {
    let service = Service::new();
    table(&service, true, json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["inside"]}));
    let query = |more: Value| {
        let mut body = json!({
            "TableName": "tab", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let of_g = |more: Value| {
        let mut body = query(json!({"IndexName": "by-g", "KeyConditionExpression": "gp = :p"}));
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let ranged = |more: Value| {
        let mut body = query(json!({
            "KeyConditionExpression": "p = :p and s > :s",
            "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"N": "5"}}
        }));
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let start = |p: &str, s: &str| json!({"ExclusiveStartKey": {"p": {"S": p}, "s": {"N": s}}});
    let queries = [
        (
            query(json!({"Limit": 0})),
            "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or \
          equal to 1",
        ),
        (
            query(json!({"Select": "SOME"})),
            "1 validation error detected: Value 'SOME' at 'select' failed to satisfy constraint: Member must satisfy enum value \
          set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]",
        ),
        (
            json!({"TableName": "tab"}),
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
        ),
        (query(json!({"KeyConditionExpression": "s = :p"})), "Query condition missed key schema element: p"),
        (query(json!({"IndexName": "none"})), "The table does not have the specified index: none"),
        (
            of_g(json!({"ConsistentRead": true})),
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            of_g(json!({"Select": "ALL_ATTRIBUTES"})),
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index \
          by-g because its projection type is not ALL",
        ),
        (
            of_g(json!({"ProjectionExpression": "inside, outside"})),
            "One or more parameter values were invalid: Global secondary index by-g does not project [outside]",
        ),
        (
            query(json!({"Select": "COUNT", "ProjectionExpression": "a"})),
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            query(json!({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a"})),
            "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            query(json!({"Select": "ALL_PROJECTED_ATTRIBUTES"})),
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            query(json!({"Select": "SPECIFIC_ATTRIBUTES"})),
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            query(json!({"FilterExpression": "s = :p"})),
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: s",
        ),
        (query(json!({"ExclusiveStartKey": {"p": {"S": "a"}}})), "The provided starting key is invalid"),
        (
            query(json!({"ExclusiveStartKey": {"p": {"S": "a"}, "s": {"N": ""}}})),
            "The parameter cannot be converted to a numeric value",
        ),
        (
            query(start("b", "1")),
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (ranged(start("a", "5")), "The provided starting key does not match the range key predicate"),
        (ranged(start("b", "6")), "The query can return at most one row and cannot be restarted"),
    ];
    for (body, message) in queries {
        assert_eq!(service.refusal("Query", body.clone()), message, "{body}");
    }
    let scans = [
        (
            json!({"Limit": 0}),
            "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than \
          or equal to 1",
        ),
        (
            json!({"Segment": 0}),
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is present",
        ),
        (
            json!({"TotalSegments": 4}),
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is present",
        ),
        (
            json!({"TotalSegments": 5, "Segment": 5}),
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than \
          TotalSegments: 5",
        ),
        (
            json!({"ExclusiveStartKey": {"p": {"S": "a"}}}),
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            json!({"IndexName": "by-g", "ExclusiveStartKey": {"p": {"S": "a"}}}),
            "The provided starting key is invalid",
        ),
    ];
    for (mut body, message) in scans {
        body["TableName"] = json!("tab");
        assert_eq!(service.refusal("Scan", body.clone()), message, "{body}");
    }
    let wrong: Vec<String> = (0..2)
        .filter_map(|segment| {
            let mut body = start("a", "1");
            body.as_object_mut().unwrap().extend(
                json!({"TableName": "tab", "TotalSegments": 2, "Segment": segment})
                    .as_object()
                    .unwrap()
                    .clone(),
            );
            service.ask("Scan", &body).err().map(|error| error.message().to_owned())
        })
        .collect();
    assert!(wrong.len() == 1 && wrong[0].starts_with(
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. \
         TotalSegments: 2 Segment: "
    ), "{wrong:?}");
    let missing = service.ask("Scan", &json!({"TableName": "nowhere"})).unwrap_err();
    assert_eq!(
        (missing.kind(), missing.message()),
        ("ResourceNotFoundException", "Requested resource not found")
    );
}

/// Whatever stands where a member is expected, an operation answers or refuses; it does not panic.
#[test]
fn odd_members_are_refused() {
    let service = Service::new();
    table(&service, true, all());
    let names = [
        "TableName",
        "IndexName",
        "Select",
        "Limit",
        "Segment",
        "TotalSegments",
        "ExclusiveStartKey",
        "ConsistentRead",
        "ScanIndexForward",
        "KeyConditionExpression",
        "KeyConditions",
        "QueryFilter",
        "ScanFilter",
        "FilterExpression",
        "ProjectionExpression",
        "AttributesToGet",
        "ConditionalOperator",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnConsumedCapacity",
        "AttributeDefinitions",
        "KeySchema",
        "BillingMode",
        "ProvisionedThroughput",
        "LocalSecondaryIndexes",
        "GlobalSecondaryIndexes",
        "GlobalSecondaryIndexUpdates",
        "DeletionProtectionEnabled",
        "TableClass",
        "Tags",
        "TagKeys",
        "ResourceArn",
        "TimeToLiveSpecification",
        "Key",
        "Item",
    ];
    let odd = [
        json!(""),
        json!("tab"),
        json!("arn:aws:dynamodb:us-east-1:000000000000:table/"),
        json!("#a = :b"),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(2_147_483_648_u64),
        json!(true),
        json!([]),
        json!({}),
        json!([null]),
        json!([[]]),
        json!([{}]),
        json!([""]),
        json!({"": {}}),
        json!({"p": {"S": "a"}}),
        json!({"p": {"S": ""}, "s": {"N": "1"}}),
        json!({"ReadCapacityUnits": u64::MAX, "WriteCapacityUnits": 1e12}),
        json!({"ReadCapacityUnits": 900_000_000_000_u64, "WriteCapacityUnits": 1}),
        json!([{"AttributeName": "p", "AttributeType": "S", "KeyType": "HASH"}]),
    ];
    for operation in operations().filter(|operation| *operation != "DeleteTable") {
        for first in names {
            for value in &odd {
                let mut body = json!({
                    "TableName": "tab", "KeyConditionExpression": "p = :p",
                    "ExpressionAttributeValues": {":p": {"S": "a"}},
                    "AttributeDefinitions": attributes(&[("p", "S")]), "KeySchema": keys("p", None),
                    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                });
                if operation == "Scan" {
                    body = json!({"TableName": "tab", "FilterExpression": "a = :p",
                        "ExpressionAttributeValues": {":p": {"S": "a"}}});
                }
                body[first] = value.clone();
                if let Err(error) = service.ask(operation, &body) {
                    assert_ne!(error.kind(), "InternalServerError", "{operation} {body}");
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Row {
    p: u8,
    s: u8,
    g: Option<(u8, u8)>,
    l: Option<u8>,
}

fn row() -> impl Strategy<Value = Row> {
    let of_g = prop::option::weighted(0.8, (0..2_u8, 0..4_u8));
    (0..3_u8, 0..20_u8, of_g, prop::option::weighted(0.8, 0..4_u8)).prop_map(|(p, s, g, l)| Row {
        p,
        s,
        g,
        l,
    })
}

fn text(n: u8) -> Value {
    json!({"S": n.to_string()})
}

fn number(n: u8) -> Value {
    json!({"N": n.to_string()})
}

impl Row {
    fn item(&self) -> Value {
        let mut item = json!({"p": text(self.p), "s": number(self.s)});
        if let Some((p, s)) = self.g {
            item["gp"] = text(p);
            item["gs"] = number(s);
        }
        if let Some(l) = self.l {
            item["ls"] = text(l);
        }
        item
    }
}

fn sorted(items: &[Value]) -> BTreeSet<String> {
    items
        .iter()
        .map(|item| {
            let sorted: std::collections::BTreeMap<_, _> = item.as_object().unwrap().iter().collect();
            serde_json::to_string(&sorted).unwrap()
        })
        .collect()
}

/// Splits a partition of the table and one of the global index, at a place that the number says.
fn split(service: &Service, at: u8) {
    let table = service.database.table("tab").unwrap();
    for resource in [Some(table.base()), table.global(0)].into_iter().flatten() {
        let partitions = resource.report().partitions;
        if partitions.len() >= 24 {
            continue;
        }
        let partition = &partitions[usize::from(at) % partitions.len()];
        if resource.split(partition.id, None, service.now()).is_err() {
            // Inside a logical partition of the table, where there is one.
            let key = partition_key(&hotplate::dynamodb::AttributeValue::S((at % 3).to_string())).unwrap();
            let sort =
                sort_key(&hotplate::dynamodb::AttributeValue::N(Number::from(u64::from(at % 20)))).unwrap();
            let id = resource.partition_of(&hotplate::ItemKey { partition: key.clone(), sort: sort.clone() });
            let point = RingPoint::inside(resource.token(&key), sort);
            let _ = resource.split(id, Some(point), service.now());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever is asked, pages to the end give each item once, in order, over splits in between.
    #[test]
    fn pages_give_each_item_once(
        rows in prop::collection::vec(row(), 0..60), local: bool, descending: bool, limit in 1..9_u8,
        (p, low, high) in (0..3_u8, 0..20_u8, 0..20_u8), splits in prop::collection::vec(any::<u8>(), 8),
        segments in 1..6_u32,
    ) {
        let service = Service::new();
        table(&service, local, all());
        let mut model = std::collections::BTreeMap::new();
        for row in &rows {
            service.put("tab", row.item());
            model.insert((row.p, row.s), row.clone());
        }
        let next = Cell::new(0);
        let disturb = |service: &Service| {
            split(service, splits[next.get() % splits.len()].wrapping_add(next.get() as u8));
            next.set(next.get() + 1);
        };
        let ordered = |mut expected: Vec<Value>| {
            if descending {
                expected.reverse();
            }
            expected
        };
        let (low, high) = (low.min(high), low.max(high));
        let base = json!({
            "TableName": "tab", "KeyConditionExpression": "p = :p and s between :l and :h", "Limit": limit,
            "ScanIndexForward": !descending, "ConsistentRead": true,
            "ExpressionAttributeValues": {":p": text(p), ":l": number(low), ":h": number(high)}
        });
        let expected = model.range((p, low)..=(p, high)).map(|(_, row)| row.item()).collect();
        let found = service.all("Query", base, disturb);
        prop_assert_eq!(found.len(), sorted(&found).len());
        let keys = |items: &[Value]| items.iter().map(|item| item["s"].clone()).collect::<Vec<_>>();
        prop_assert_eq!(keys(&found), keys(&ordered(expected)));

        let of_g = json!({
            "TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "gp = :p and gs <= :h", "Limit": limit,
            "ScanIndexForward": !descending,
            "ExpressionAttributeValues": {":p": text(p % 2), ":h": number(high % 4)}
        });
        let expected: Vec<Value> = model
            .values()
            .filter(|row| row.g.is_some_and(|(gp, gs)| gp == p % 2 && gs <= high % 4))
            .map(Row::item)
            .collect();
        let found = service.all("Query", of_g, disturb);
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(sorted(&found), sorted(&expected));
        let order: Vec<u8> = found.iter().map(|item| item["gs"]["N"].as_str().unwrap().parse().unwrap()).collect();
        let in_order = order.windows(2).all(|pair| if descending { pair[0] >= pair[1] } else { pair[0] <= pair[1] });
        prop_assert!(in_order, "not in order");

        if local {
            let of_l = json!({
                "TableName": "tab", "IndexName": "by-l", "KeyConditionExpression": "p = :p and ls >= :l",
                "Limit": limit, "ScanIndexForward": !descending, "Select": "ALL_ATTRIBUTES",
                "ExpressionAttributeValues": {":p": text(p), ":l": text(low % 4)}
            });
            let expected: Vec<Value> = model
                .values()
                .filter(|row| row.p == p && row.l.is_some_and(|l| l >= low % 4))
                .map(Row::item)
                .collect();
            let found = service.all("Query", of_l, disturb);
            prop_assert_eq!(found.len(), expected.len());
            prop_assert_eq!(sorted(&found), sorted(&expected));
        }

        for index in [None, Some("by-g"), Some("by-l").filter(|_| local)] {
            let mut found = Vec::new();
            for segment in 0..segments {
                let mut scan = json!({
                    "TableName": "tab", "TotalSegments": segments, "Segment": segment, "Limit": limit
                });
                if let Some(index) = index {
                    scan["IndexName"] = json!(index);
                }
                found.extend(service.all("Scan", scan, disturb));
            }
            let expected: BTreeSet<(String, String)> = model
                .values()
                .filter(|row| match index {
                    None => true,
                    Some("by-g") => row.g.is_some(),
                    Some(_) => row.l.is_some(),
                })
                .map(|row| (text(row.p).to_string(), number(row.s).to_string()))
                .collect();
            let got: Vec<_> =
                found.iter().map(|item| (item["p"].to_string(), item["s"].to_string())).collect();
            prop_assert_eq!(got.len(), expected.len(), "{:?}", index);
            prop_assert_eq!(got.into_iter().collect::<BTreeSet<_>>(), expected);
        }
        let described = service.ok("DescribeTable", json!({"TableName": "tab"}));
        prop_assert_eq!(&described["Table"]["ItemCount"], &json!(model.len()));
    }
}
