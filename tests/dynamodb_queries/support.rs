//! A database, a clock that moves, and tables to read.

use hotplate::dynamodb::api::{ApiError, Call, execute};
use hotplate::dynamodb::service::Database;
use hotplate::{Instant, Seed};
use serde_json::{Value, json};
use std::cell::Cell;

/// A database whose clock moves a second with each request, so that nothing throttles by accident.
pub(crate) struct Service {
    pub(crate) database: Database,
    second: Cell<u64>,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self { database: Database::new(Seed(7)), second: Cell::new(0) }
    }

    pub(crate) fn ask(&self, operation: &str, body: &Value) -> Result<Value, ApiError> {
        self.second.set(self.second.get() + 1);
        let call = Call { database: &self.database, now: self.now() };
        execute(&call, operation, body.to_string().as_bytes())
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_secs(self.second.get())
    }

    #[track_caller]
    pub(crate) fn ok(&self, operation: &str, body: Value) -> Value {
        self.ask(operation, &body).unwrap_or_else(|error| panic!("{}: {}", error.kind(), error.message()))
    }

    #[track_caller]
    pub(crate) fn refusal(&self, operation: &str, body: Value) -> String {
        let error = self.ask(operation, &body).unwrap_err();
        assert_eq!(error.kind(), "ValidationException", "{}", error.message());
        error.message().to_owned()
    }

    pub(crate) fn put(&self, table: &str, item: Value) {
        self.ok("PutItem", json!({"TableName": table, "Item": item}));
    }

    /// Every page of a query or scan; between pages `disturb` happens.
    pub(crate) fn all(&self, operation: &str, mut body: Value, mut disturb: impl FnMut(&Self)) -> Vec<Value> {
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

pub(crate) fn keys(partition: &str, sort: Option<&str>) -> Value {
    let mut keys = vec![json!({"AttributeName": partition, "KeyType": "HASH"})];
    keys.extend(sort.map(|sort| json!({"AttributeName": sort, "KeyType": "RANGE"})));
    Value::Array(keys)
}

pub(crate) fn attributes(of: &[(&str, &str)]) -> Value {
    of.iter().map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind})).collect()
}

/// A table `t` with string key `p` and numeric sort key `s`, a global index `g` on (`gp`, `gs`), and perhaps a local one.
pub(crate) fn table(service: &Service, local: bool, projection: Value) {
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

pub(crate) fn all() -> Value {
    json!({"ProjectionType": "ALL"})
}
