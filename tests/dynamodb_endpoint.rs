//! Promise: whoever speaks DynamoDB over HTTP meets real tables: items, indexes, throttles with their reasons, a database of
//! one's own for each access key, and a clear answer to what is not there.
#![cfg(feature = "server")]

use hotplate::rng::Seed;
use hotplate::server::{DynamoDb, Server, ServerOptions};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

struct Client {
    address: String,
    access_key: &'static str,
}

impl Client {
    fn ask(&self, operation: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20261201T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={}/20261201/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.access_key,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn done(&self, operation: &str, body: Value) -> Value {
        let (status, answer) = self.ask(operation, &body);
        assert_eq!(status, 200, "{operation}: {answer}");
        answer
    }
}

fn server() -> Server {
    let api = Arc::new(DynamoDb::new(Seed(1), Duration::from_secs(1_764_547_200)));
    Server::start(ServerOptions::default(), api).unwrap()
}

fn client(server: &Server, access_key: &'static str) -> Client {
    let address = server.endpoint().trim_start_matches("http://").to_owned();
    Client { address, access_key }
}

fn create(name: &str, billing: Value) -> Value {
    let mut table = json!({
        "TableName": name,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    });
    table.as_object_mut().unwrap().extend(billing.as_object().unwrap().clone());
    table
}

#[test]
fn items_go_in_and_come_out_and_each_access_key_has_its_own() {
    let server = server();
    let (one, other) = (client(&server, "one"), client(&server, "other"));
    let on_demand = json!({"BillingMode": "PAY_PER_REQUEST"});
    let created = one.done("CreateTable", create("orders", on_demand.clone()));
    assert_eq!(created["TableDescription"]["TableStatus"], "ACTIVE");
    let date = created["TableDescription"]["CreationDateTime"].as_f64().unwrap();
    assert!((1_764_547_200.0..1_764_547_260.0).contains(&date), "{date}");
    let item = json!({"id": {"S": "a"}, "n": {"N": "38.50"}});
    one.done("PutItem", json!({"TableName": "orders", "Item": item}));
    let read = one.done("GetItem", json!({"TableName": "orders", "Key": {"id": {"S": "a"}}}));
    assert_eq!(read["Item"]["n"], json!({"N": "38.5"}));
    let (status, answer) = other.ask("GetItem", &json!({"TableName": "orders", "Key": {"id": {"S": "a"}}}));
    assert_eq!((status, &answer["message"]), (400, &json!("Requested resource not found")));
    other.done("CreateTable", create("orders", on_demand));
    assert_eq!(other.done("Scan", json!({"TableName": "orders"}))["Count"], 0);
}

/// A table of ten units spends its 300 seconds of burst credit, and then refuses in the service's words.
#[test]
fn a_small_table_throttles_as_in_production() {
    let server = server();
    let client = client(&server, "one");
    let throughput = json!({"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 10}});
    client.done("CreateTable", create("hot", throughput));
    // A megabyte at a time: 100 items of 10 KB are 1,000 units.
    let items: Vec<Value> = (0..25)
        .map(
            |n| json!({"PutRequest": {"Item": {"id": {"S": n.to_string()}, "v": {"S": "x".repeat(10_000)}}}}),
        )
        .collect();
    let batch = json!({"RequestItems": {"hot": items}});
    let mut unprocessed = 0;
    let refused = (0..100).find_map(|_| {
        let (status, answer) = client.ask("BatchWriteItem", &batch);
        unprocessed += answer["UnprocessedItems"]["hot"].as_array().map_or(0, Vec::len);
        (status != 200).then_some(answer)
    });
    let refused = refused.expect("once nothing of a batch passes, it is an exception");
    assert!(unprocessed > 0, "before that, what was refused comes back");
    let kind = refused["__type"].as_str().unwrap();
    assert!(kind.ends_with("#ProvisionedThroughputExceededException"), "{refused}");
}

#[test]
fn what_is_not_there_is_named() {
    let server = server();
    let client = client(&server, "one");
    let (status, answer) = client.ask("DescribeBackup", &json!({}));
    assert_eq!(status, 400);
    assert!(answer["__type"].as_str().unwrap().ends_with("#UnknownOperationException"), "{answer}");
    let stream = json!({
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}
    });
    let (status, answer) = client.ask("CreateTable", &create("streamed", stream));
    assert_eq!(status, 400);
    assert!(
        answer["message"].as_str().unwrap().starts_with("StreamSpecification with StreamEnabled is not"),
        "{answer}"
    );
    let (status, answer) = client.ask("GetItem", &json!([]));
    assert_eq!(status, 400);
    assert!(answer["__type"].as_str().unwrap().ends_with("#SerializationException"), "{answer}");
}
