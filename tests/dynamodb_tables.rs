//! DynamoDB's operations on tables: what they answer, what they refuse and in which words.

use hotplate::dynamodb::api::{ApiError, Call, execute};
use hotplate::dynamodb::service::Database;
use hotplate::profile::Throughput;
use hotplate::{Instant, Seed};
use serde_json::{Map, Value, json};
use std::time::Duration;

fn database() -> Database {
    Database::new(Seed(3)).with_beginning(Duration::from_millis(1_700_000_000_250))
}

fn ask(database: &Database, operation: &str, body: Value) -> Result<Value, ApiError> {
    let call = Call { database, now: Instant::from_secs(10) };
    execute(&call, operation, body.to_string().as_bytes())
}

#[track_caller]
fn ok(database: &Database, operation: &str, body: Value) -> Value {
    ask(database, operation, body).unwrap_or_else(|error| panic!("{}: {}", error.kind(), error.message()))
}

/// The developer guide's table of music, with these members more or in place.
fn music(more: Value) -> Value {
    let mut body = json!({
        "TableName": "Music",
        "AttributeDefinitions": [
            {"AttributeName": "Artist", "AttributeType": "S"}, {"AttributeName": "SongTitle", "AttributeType": "S"}
        ],
        "KeySchema": [
            {"AttributeName": "Artist", "KeyType": "HASH"}, {"AttributeName": "SongTitle", "KeyType": "RANGE"}
        ],
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5},
    });
    let members: Map<String, Value> = more.as_object().unwrap().clone();
    for (name, value) in members {
        match value.is_null() {
            true => drop(body.as_object_mut().unwrap().remove(&name)),
            false => drop(body.as_object_mut().unwrap().insert(name, value)),
        }
    }
    body
}

fn index(name: &str, hash: &str, range: Option<&str>, projection: Value) -> Value {
    let mut keys = vec![json!({"AttributeName": hash, "KeyType": "HASH"})];
    keys.extend(range.map(|range| json!({"AttributeName": range, "KeyType": "RANGE"})));
    json!({"IndexName": name, "KeySchema": keys, "Projection": projection})
}

fn genre() -> Value {
    json!([
        {"AttributeName": "Artist", "AttributeType": "S"}, {"AttributeName": "SongTitle", "AttributeType": "S"},
        {"AttributeName": "Genre", "AttributeType": "N"}
    ])
}

#[test]
fn a_table_is_created_described_listed_and_deleted() {
    let database = database();
    let mut by_genre =
        index("by-genre", "Genre", None, json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Price"]}));
    by_genre["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 4});
    let body = music(json!({
        "AttributeDefinitions": genre(),
        "LocalSecondaryIndexes": [index("local", "Artist", Some("Genre"), json!({"ProjectionType": "KEYS_ONLY"}))],
        "GlobalSecondaryIndexes": [by_genre],
        "DeletionProtectionEnabled": true, "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "Tags": [{"Key": "team", "Value": "blue"}],
    }));
    let created = ok(&database, "CreateTable", body.clone());
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Music";
    let told = &created["TableDescription"];
    let id = told["TableId"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "4"));
    assert_eq!(
        told,
        &json!({
            "AttributeDefinitions": body["AttributeDefinitions"], "TableName": "Music", "KeySchema": body["KeySchema"],
            "TableStatus": "ACTIVE", "CreationDateTime": 1_700_000_010.25,
            "ProvisionedThroughput":
                {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 10, "WriteCapacityUnits": 5},
            "TableSizeBytes": 0, "ItemCount": 0, "TableArn": arn, "TableId": id,
            "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
            "LocalSecondaryIndexes": [{
                "IndexName": "local", "KeySchema": body["LocalSecondaryIndexes"][0]["KeySchema"],
                "Projection": {"ProjectionType": "KEYS_ONLY"}, "IndexSizeBytes": 0, "ItemCount": 0,
                "IndexArn": format!("{arn}/index/local")
            }],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-genre", "KeySchema": body["GlobalSecondaryIndexes"][0]["KeySchema"],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Price"]},
                "IndexSizeBytes": 0, "ItemCount": 0, "IndexArn": format!("{arn}/index/by-genre"),
                "IndexStatus": "ACTIVE", "ProvisionedThroughput":
                    {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
            }],
            "DeletionProtectionEnabled": true
        })
    );
    let again = ask(&database, "CreateTable", body).unwrap_err();
    assert_eq!((again.kind(), again.message()), ("ResourceInUseException", "Table already exists: Music"));
    let item =
        json!({"Artist": {"S": "a"}, "SongTitle": {"S": "b"}, "Genre": {"N": "1"}, "More": {"S": "xyz"}});
    ok(&database, "PutItem", json!({"TableName": "Music", "Item": item}));
    // By name or by ARN.
    for name in ["Music", arn] {
        let described = ok(&database, "DescribeTable", json!({"TableName": name}));
        let table = &described["Table"];
        assert_eq!((&table["ItemCount"], &table["TableSizeBytes"]), (&json!(1), &json!(31)));
        assert_eq!(table["GlobalSecondaryIndexes"][0]["ItemCount"], 1);
        assert_eq!(table["LocalSecondaryIndexes"][0]["IndexSizeBytes"], 24);
    }
    let kept = ask(&database, "DeleteTable", json!({"TableName": "Music"})).unwrap_err();
    assert_eq!(
        kept.message(),
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    );
    ok(&database, "UpdateTable", json!({"TableName": "Music", "DeletionProtectionEnabled": false}));
    let deleted = ok(&database, "DeleteTable", json!({"TableName": "Music"}));
    assert_eq!(deleted["TableDescription"]["TableStatus"], "DELETING");
    for operation in ["DescribeTable", "DeleteTable"] {
        let gone = ask(&database, operation, json!({"TableName": "Music"})).unwrap_err();
        assert_eq!(gone.message(), "Requested resource not found: Table: Music not found");
    }
}

#[test]
fn names_come_in_pages() {
    let database = database();
    for n in 0..5 {
        ok(&database, "CreateTable", music(json!({"TableName": format!("table-{n}")})));
    }
    let first = ok(&database, "ListTables", json!({"Limit": 2}));
    assert_eq!(first, json!({"LastEvaluatedTableName": "table-1", "TableNames": ["table-0", "table-1"]}));
    let rest = ok(&database, "ListTables", json!({"ExclusiveStartTableName": "table-1"}));
    assert_eq!(rest, json!({"TableNames": ["table-2", "table-3", "table-4"]}));
    let refused =
        ask(&database, "ListTables", json!({"Limit": 101, "ExclusiveStartTableName": "a!"})).unwrap_err();
    assert_eq!(
        refused.message(),
        "3 validation errors detected: Value '101' at 'limit' failed to satisfy constraint: Member must have value less than \
         or equal to 100; Value 'a!' at 'exclusiveStartTableName' failed to satisfy constraint: Member must satisfy regular \
         expression pattern: [a-zA-Z0-9_.-]+; Value 'a!' at 'exclusiveStartTableName' failed to satisfy constraint: Member \
         must have length greater than or equal to 3"
    );
    assert_eq!(ok(&database, "DescribeLimits", json!({}))["TableMaxReadCapacityUnits"], 40_000);
    assert_eq!(ok(&database, "DescribeEndpoints", json!({}))["Endpoints"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_with_a_table_is_told_in_the_services_words() {
    let database = database();
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let all = || json!({"ProjectionType": "ALL"});
    let local =
        |index: Value| music(json!({"AttributeDefinitions": genre(), "LocalSecondaryIndexes": [index]}));
    let on_demand = json!({"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": null});
    let global = |indexes: Value| {
        let mut body = music(on_demand.clone());
        body["AttributeDefinitions"] = genre();
        body["GlobalSecondaryIndexes"] = indexes;
        body
    };
    let cases = [
        (
            music(json!({"TableName": null})),
            "The parameter 'TableName' is required but was not present in the request",
        ),
        (
            music(json!({"TableName": "ab"})),
            "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater \
          than or equal to 3",
        ),
        (
            music(json!({"AttributeDefinitions": null, "KeySchema": null})),
            "2 validation errors detected: Value null at 'attributeDefinitions' failed to satisfy constraint: Member must not be \
          null; Value null at 'keySchema' failed to satisfy constraint: Member must not be null",
        ),
        (
            music(json!({"KeySchema": [key("Artist", "INVALID"), key("SongTitle", "RANGE")]})),
            "1 validation error detected: Value 'INVALID' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member \
          must satisfy enum value set: [HASH, RANGE]",
        ),
        (
            music(json!({"AttributeDefinitions": [{"AttributeName": "Artist", "AttributeType": "X"}]})),
            "1 validation error detected: Value 'X' at 'attributeDefinitions.1.member.attributeType' failed to satisfy \
          constraint: Member must satisfy enum value set: [B, N, S]",
        ),
        (
            music(json!({"ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}})),
            "1 validation error detected: Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: \
          Member must have value greater than or equal to 1",
        ),
        (
            music(json!({"ProvisionedThroughput": null})),
            "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when \
          BillingMode is PROVISIONED",
        ),
        (
            music(json!({"BillingMode": "PAY_PER_REQUEST"})),
            "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when \
          BillingMode is PAY_PER_REQUEST",
        ),
        (
            music(
                json!({"ProvisionedThroughput": {"ReadCapacityUnits": 1_000_000_000_001_u64, "WriteCapacityUnits": 1}}),
            ),
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            music(json!({"AttributeDefinitions": [{"AttributeName": "Artist", "AttributeType": "S"}]})),
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            music(json!({"KeySchema": [key("Artist", "HASH"), key("Other", "RANGE")]})),
            "One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: \
          [Artist, Other], AttributeDefinitions: [Artist, SongTitle]",
        ),
        (
            music(json!({"KeySchema": [key("Artist", "HASH"), key("Artist", "RANGE")]})),
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            music(json!({"KeySchema": [key("Artist", "RANGE"), key("SongTitle", "HASH")]})),
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            music(json!({"KeySchema": [key("Artist", "HASH"), key("SongTitle", "HASH")]})),
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            music(json!({"KeySchema": [key("Artist", "HASH")]})),
            "One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of \
          attributes defined in AttributeDefinitions",
        ),
        (
            music(json!({"LocalSecondaryIndexes": []})),
            "One or more parameter values were invalid: List of LocalSecondaryIndexes is empty",
        ),
        (
            local(index("abc", "Artist", None, all())),
            "One or more parameter values were invalid: Index KeySchema does not have a range key for index: abc",
        ),
        (
            local(index("abc", "Genre", Some("Artist"), all())),
            "One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table \
          KeySchema for index: abc. index hash key: Genre, table hash key: Artist",
        ),
        (
            local(index("abc", "Artist", Some("Genre"), json!({}))),
            "One or more parameter values were invalid: Unknown ProjectionType: null",
        ),
        (
            local(index(
                "abc",
                "Artist",
                Some("Genre"),
                json!({"ProjectionType": "ALL", "NonKeyAttributes": ["a"]}),
            )),
            "One or more parameter values were invalid: ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            local(index("a!c", "Artist", Some("Genre"), all())),
            "1 validation error detected: Value 'a!c' at 'localSecondaryIndexes.1.member.indexName' failed to satisfy constraint: \
          Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
        (
            music(json!({"AttributeDefinitions": genre(),
            "GlobalSecondaryIndexes": [index("abc", "Genre", None, all())]})),
            "One or more parameter values were invalid: ProvisionedThroughput must be specified for index: abc",
        ),
        (
            global(json!([])),
            "One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty",
        ),
        (
            global(json!([index("abc", "Genre", None, all()), index("abc", "Genre", None, all())])),
            "One or more parameter values were invalid: Duplicate index name: abc",
        ),
        (
            global((0..21).map(|n| index(&format!("index-{n}"), "Genre", None, all())).collect()),
            "One or more parameter values were invalid: GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
    ];
    for (body, message) in cases {
        let error = ask(&database, "CreateTable", body.clone()).unwrap_err();
        assert_eq!((error.kind(), error.message()), ("ValidationException", message), "{body}");
    }
    assert_eq!(ok(&database, "ListTables", json!({})), json!({"TableNames": []}));
}

#[test]
fn throughput_and_mode_change() {
    let database = database();
    let mut by_genre = index("by-genre", "Genre", None, json!({"ProjectionType": "ALL"}));
    by_genre["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 4});
    ok(
        &database,
        "CreateTable",
        music(json!({"AttributeDefinitions": genre(), "GlobalSecondaryIndexes": [by_genre]})),
    );
    let update = |more: Value| {
        let mut body = json!({"TableName": "Music"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask(&database, "UpdateTable", body)
    };
    let units = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let of_index = |read, write| json!([{"Update": {"IndexName": "by-genre", "ProvisionedThroughput": units(read, write)}}]);
    let told = update(json!({
        "ProvisionedThroughput": units(20, 5_000), "GlobalSecondaryIndexUpdates": of_index(7, 8)
    }))
    .unwrap();
    let told = &told["TableDescription"];
    assert_eq!(told["ProvisionedThroughput"]["WriteCapacityUnits"], 5_000);
    assert_eq!(told["ProvisionedThroughput"]["LastIncreaseDateTime"], 1_700_000_010.25);
    assert_eq!(told["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 7);
    let table = database.table("Music").unwrap();
    assert!(table.base().partition_count() >= 5, "throughput brings partitions");
    let Throughput::ReadWrite { read, .. } = table.global(0).unwrap().throughput() else { unreachable!() };
    assert_eq!(read.units(), 7.0);
    let refused = [
        (
            json!({}),
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or \
          SSESpecification or ReplicaUpdates is required",
        ),
        (
            json!({"BillingMode": "PROVISIONED"}),
            "One or more parameter values were invalid: ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            json!({"ProvisionedThroughput": units(20, 5_000)}),
            "The provisioned throughput for the table will not change. The requested value equals the current value. Current \
          ReadCapacityUnits provisioned for the table: 20. Requested ReadCapacityUnits: 20. Current WriteCapacityUnits \
          provisioned for the table: 5000. Requested WriteCapacityUnits: 5000. Refer to the Amazon DynamoDB Developer Guide \
          for current limits and how to request higher limits.",
        ),
        (
            json!({"GlobalSecondaryIndexUpdates": [{}]}),
            "One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update, \
          GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            json!({"GlobalSecondaryIndexUpdates":
            [{"Delete": {"IndexName": "by-genre"}}, {"Delete": {"IndexName": "by-genre"}}]}),
            "One or more parameter values were invalid: Only one global secondary index update per index is allowed \
          simultaneously. Index: by-genre",
        ),
        (
            json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-genre"}}]}),
            "hotplate cannot yet add or remove a global secondary index of a table that is there: by-genre. Create the table with \
          it.",
        ),
    ];
    for (body, message) in refused {
        assert_eq!(update(body.clone()).unwrap_err().message(), message, "{body}");
    }
    let told = update(json!({"BillingMode": "PAY_PER_REQUEST"})).unwrap();
    let told = &told["TableDescription"];
    assert_eq!(told["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(told["ProvisionedThroughput"]["ReadCapacityUnits"], 0);
    assert_eq!(told["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 0);
    let unpaid =
        update(json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)})).unwrap_err();
    assert_eq!(
        unpaid.message(),
        "One or more parameter values were invalid: ProvisionedThroughput must be specified for index: by-genre"
    );
    let told = update(json!({
        "BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1),
        "GlobalSecondaryIndexUpdates": of_index(1, 1)
    }))
    .unwrap();
    assert_eq!(told["TableDescription"]["BillingModeSummary"]["BillingMode"], "PROVISIONED");
}

#[test]
fn tags_and_time_to_live_are_kept() {
    let database = database();
    let created = ok(&database, "CreateTable", music(json!({"Tags": [{"Key": "a", "Value": "1"}]})));
    let arn = created["TableDescription"]["TableArn"].clone();
    ok(
        &database,
        "TagResource",
        json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]}),
    );
    let list = || ok(&database, "ListTagsOfResource", json!({"ResourceArn": arn}));
    assert_eq!(list(), json!({"Tags": [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]}));
    ok(&database, "UntagResource", json!({"ResourceArn": arn, "TagKeys": ["a", "none"]}));
    assert_eq!(list(), json!({"Tags": [{"Key": "b", "Value": "3"}]}));
    let none = "arn:aws:dynamodb:us-east-1:000000000000:table/none";
    for (operation, body, message) in [
        ("TagResource", json!({}), "Invalid TableArn"),
        (
            "TagResource",
            json!({"ResourceArn": "x", "Tags": []}),
            "Invalid TableArn: Invalid ResourceArn provided as input x",
        ),
        (
            "TagResource",
            json!({"ResourceArn": arn, "Tags": []}),
            "Atleast one Tag needs to be provided as Input.",
        ),
        (
            "UntagResource",
            json!({"ResourceArn": arn, "TagKeys": []}),
            "Atleast one Tag Key needs to be provided as Input.",
        ),
        (
            "UntagResource",
            json!({"ResourceArn": arn}),
            "1 validation error detected: Value null at 'tagKeys' failed to satisfy constraint: Member must not be null",
        ),
        (
            "ListTagsOfResource",
            json!({"ResourceArn": none}),
            "Requested resource not found: ResourcArn: arn:aws:dynamodb:us-east-1:000000000000:table/none not found",
        ),
    ] {
        assert_eq!(ask(&database, operation, body).unwrap_err().message(), message);
    }
    let ttl = |enabled: bool, name: &str| {
        let specification = json!({"Enabled": enabled, "AttributeName": name});
        let body = json!({"TableName": "Music", "TimeToLiveSpecification": specification});
        ask(&database, "UpdateTimeToLive", body)
    };
    let described = || ok(&database, "DescribeTimeToLive", json!({"TableName": "Music"}));
    assert_eq!(described(), json!({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}));
    assert_eq!(ttl(false, "ttl").unwrap_err().message(), "TimeToLive is already disabled");
    assert_eq!(
        ttl(true, "ttl").unwrap(),
        json!({"TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": true}})
    );
    assert_eq!(
        described(),
        json!({"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}})
    );
    assert_eq!(ttl(true, "ttl").unwrap_err().message(), "TimeToLive is already enabled");
    assert_eq!(
        ttl(true, "other").unwrap_err().message(),
        "TimeToLive is active on a different AttributeName: current AttributeName is ttl"
    );
    ttl(false, "ttl").unwrap();
    assert_eq!(described(), json!({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}));
}
