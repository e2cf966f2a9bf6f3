//! What a read refuses, and that nothing a request says makes it panic.

use crate::support::{Service, all, attributes, keys, table};
use hotplate::dynamodb::api::operations;
use serde_json::{Value, json};

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
