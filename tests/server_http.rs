//! Promise: whatever comes over a socket, the endpoint answers it in the service's form or closes that connection, and
//! serves everybody else meanwhile.

#![cfg(feature = "server")]

mod wire;

use hotplate::server::{
    AdminResponse, Api, ApiRequest, ApiResponse, Database, Limits, Routes, Server, ServerOptions,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{Answer, Client, head, post};

/// Answers with what it was asked; `Sleep` takes its time, `Panic` fails.
struct Echo;

impl Api for Echo {
    fn has_operation(&self, target_prefix: &str, operation: &str) -> bool {
        target_prefix == "DynamoDB_20120810"
            && ["Echo", "ListTables", "Size", "Sleep", "Panic"].contains(&operation)
    }

    fn answer(&self, request: &ApiRequest<'_>) -> ApiResponse {
        match request.operation {
            "Sleep" => std::thread::sleep(Duration::from_secs(1)),
            "Panic" => panic!("on purpose"),
            "Size" => return ApiResponse::ok(request.body.len().to_string()),
            "ListTables" => return ApiResponse::ok(request.body),
            _ => {}
        }
        let database = match request.database {
            Database::Shared => json!("shared"),
            Database::Own { region, access_key } => json!([region, access_key]),
        };
        let body = json!({
            "database": database,
            "region": request.region,
            "hints": request.hints,
            "test": request.test,
            "now": request.now.nanos(),
        });
        let mut response = ApiResponse::ok(body.to_string());
        response.headers.push(("x-hotplate-partition", "3".to_owned()));
        response.headers.push(("x-hotplate-limit", "no\nheader".to_owned()));
        response
    }
}

fn start(options: ServerOptions) -> Server {
    Server::start(options, Arc::new(Echo)).unwrap()
}

fn server() -> Server {
    start(ServerOptions::default())
}

fn with_limits(change: impl FnOnce(&mut Limits)) -> Server {
    let mut options = ServerOptions::default();
    change(&mut options.limits);
    start(options)
}

/// The answer to one request on a connection of its own.
fn once(server: &Server, request: impl AsRef<[u8]>) -> Answer {
    let mut client = Client::connect(server.address());
    client.send(request);
    client.answer()
}

#[track_caller]
fn assert_serves(server: &Server) {
    assert_eq!(once(server, post("ListTables", "{}")).status, 200);
}

#[test]
fn a_request_is_answered_with_all_that_the_service_adds() {
    let server = server();
    let answer = once(&server, post("ListTables", "{}"));
    assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
    assert_eq!(answer.header("content-type"), Some("application/x-amz-json-1.0"));
    assert_eq!(answer.header("server"), Some("hotplate"));
    assert_eq!(answer.header("x-amz-crc32"), Some("2745614147"));
    let id = answer.header("x-amzn-requestid").unwrap();
    assert_eq!(id.len(), 52);
    assert!(id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()));
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let other = once(&server, post("ListTables", "{}"));
    assert_ne!(other.header("x-amzn-requestid"), Some(id));
    // The same seed gives the same ids.
    let same = once(&self::server(), post("ListTables", "{}"));
    assert_eq!(same.header("x-amzn-requestid"), Some(id));
}

#[test]
fn an_api_is_told_who_asks_and_its_headers_are_passed_on() {
    let clock = hotplate::Clock::manual();
    clock.advance(Duration::from_nanos(17));
    let server = start(ServerOptions { clock, ..ServerOptions::default() });
    let request =
        post("Echo", "{}").replace("\r\n\r\n", "\r\nx-hotplate-test: mine\r\nx-hotplate-hints: on\r\n\r\n");
    let answer = once(&server, request);
    let expected = json!({
        "database": ["eu-west-1", "key"], "region": "eu-west-1", "hints": true, "test": "mine", "now": 17
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("x-hotplate-partition"), Some("3"));
    assert_eq!(answer.header("x-hotplate-limit"), None);
    let shared = start(ServerOptions { shared: true, hints: true, ..ServerOptions::default() });
    let answer = once(&shared, post("Echo", "{}")).json();
    assert_eq!((&answer["database"], &answer["region"]), (&json!("shared"), &json!("eu-west-1")));
    assert_eq!((&answer["hints"], &answer["test"]), (&json!(true), &Value::Null));
}

/// Requests that are wrong in one way, with the checksums that dynalite's tests recorded of the service.
#[test]
fn wrong_requests_are_refused_with_the_services_bytes() {
    let server = server();
    let unknown = ("UnknownOperationException", "1368724161");
    let serialization = ("SerializationException", "3948637019");
    let missing = ("MissingAuthenticationTokenException", "2088342776");
    let target = "x-amz-target: DynamoDB_20120810.ListTables\r\n";
    let json = "content-type: application/json\r\n";
    for (more, query, body, (name, checksum)) in [
        ("", "", "", unknown),
        (json, "", "{}", unknown),
        ("content-type: application/json;charset=odd\r\n", "", "{}", unknown),
        ("x-amz-target: whatever\r\n", "", "", unknown),
        ("x-amz-target: DynamoDB_20120810.ListTable\r\n", "", "", unknown),
        ("x-amz-target: DynamoDB_20120810\r\n", "", "", unknown),
        ("x-amz-target: .ListTables\r\n", "", "", unknown),
        (json, "", "hi", serialization),
        ("content-type:   application/json  ;   odd\r\n", "", "hi", serialization),
        (target, "", "", missing),
        (&format!("{target}authorization: AWS4\r\n"), "", "", missing),
        (&format!("{target}authorization: X\r\n"), "?X-Amz-Algorith", "", missing),
        (target, "?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d", "", missing),
        (
            &format!("{target}authorization: X\r\n"),
            "?X-Amz-Algorithm",
            "",
            ("InvalidSignatureException", "2139606068"),
        ),
        (
            &format!("{target}authorization: AWS4-\r\n"),
            "",
            "",
            ("IncompleteSignatureException", "1828866742"),
        ),
        (
            &format!("{target}date: a\r\nauthorization: AWS4- Signature=b Credential=a\r\n"),
            "",
            "",
            ("IncompleteSignatureException", "15336762"),
        ),
        (
            &format!("{target}date: a\r\nauthorization: AWS4- Signature=b,Credential=a\r\n"),
            "",
            "",
            ("IncompleteSignatureException", "1159703774"),
        ),
        (target, "?X-Amz-Algorithm", "", ("IncompleteSignatureException", "2900502663")),
        (
            target,
            "?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d",
            "",
            ("IncompleteSignatureException", "3712057481"),
        ),
    ] {
        let request = format!(
            "{}{more}content-length: {}\r\n\r\n{body}",
            head("POST", &format!("/{query}")),
            body.len()
        );
        let answer = once(&server, &request);
        let told = answer.text();
        assert_eq!(answer.status, 400, "{request}\n{told}");
        assert!(told.contains(&format!("com.amazon.coral.service#{name}\"")), "{request}\n{told}");
        assert_eq!(answer.header("x-amz-crc32"), Some(checksum), "{request}\n{told}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{request}");
    }
    // No body where one is needed, and then the content type that was asked in.
    let answer = once(&server, post("ListTables", ""));
    assert_eq!((answer.status, answer.header("x-amz-crc32")), (400, Some("3948637019")));
    assert_eq!(answer.header("content-type"), Some("application/x-amz-json-1.0"));
    let answer = once(&server, post("ListTables", "{}").replace("json-1.0", "json-1.1"));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-amz-json-1.1")));
}

#[test]
fn what_is_not_the_protocol_is_not_found_and_health_is_told() {
    let server = server();
    for request in [
        format!("{}\r\n", head("PUT", "/")),
        format!("{}\r\n", head("DELETE", "/")),
        format!("{}\r\n", head("OPTIONS", "/")),
        format!("{}\r\n", head("GET", "/shell")),
        format!("{}content-length: 2\r\n\r\nhi", head("POST", "/")),
        format!("{}content-type: whatever\r\ncontent-length: 2\r\n\r\nhi", head("POST", "/")),
        format!("{}content-type: application/jsonasdf\r\ncontent-length: 2\r\n\r\nhi", head("POST", "/")),
    ] {
        let answer = once(&server, &request);
        assert_eq!((answer.status, answer.header("x-amz-crc32")), (404, Some("3552371480")), "{request}");
        assert_eq!(answer.text(), "<UnknownOperationException/>\n");
    }
    for path in ["/", "/healthz", "/healthz/ready"] {
        let answer = once(&server, format!("{}\r\n", head("GET", path)));
        assert_eq!((answer.status, answer.header("x-amz-crc32")), (200, Some("3128867991")));
        assert_eq!(answer.text(), "healthy: dynamodb.us-east-1.amazonaws.com ");
    }
}

#[test]
fn pages_in_browsers_may_ask() {
    let server = server();
    let preflight = format!(
        "{}origin: http://localhost:3000\r\naccess-control-request-headers: a, b, c\r\n\
         access-control-request-method: POST\r\n\r\n",
        head("OPTIONS", "/")
    );
    let answer = once(&server, preflight);
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-headers", "a, b, c"),
        ("access-control-allow-methods", "POST"),
        ("access-control-max-age", "172800"),
        ("content-length", "0"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    let answer = once(&server, post("Echo", "{}").replace("\r\n\r\n", "\r\norigin: x\r\n\r\n"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("x-amzn-RequestId"));
}

#[test]
fn only_good_signatures_are_let_in_where_they_are_verified() {
    let auth = Some("key:secret".parse().unwrap());
    let server = start(ServerOptions { auth, ..ServerOptions::default() });
    let answer = once(&server, post("Echo", "{}"));
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("#InvalidSignatureException"), "{}", answer.text());
    let answer = once(&server, wire::signed("Echo", "{}", "key", "secret"));
    assert_eq!((answer.status, &answer.json()["region"]), (200, &json!("eu-west-1")));
    let answer = once(&server, wire::signed("Echo", "{}", "key", "other"));
    assert!(answer.text().contains("The request signature we calculated does not match"));
    let answer = once(&server, wire::signed("Echo", "{}", "other", "secret"));
    assert!(answer.text().contains("#UnrecognizedClientException"));
}

#[test]
fn a_connection_is_kept_and_may_be_pipelined() {
    let server = server();
    let mut client = Client::connect(server.address());
    for _ in 0..3 {
        client.send(post("ListTables", r#"{"a":1}"#));
        assert_eq!(client.answer().text(), r#"{"a":1}"#);
    }
    let many: String = (0..50).map(|n| post("ListTables", &format!("[{n}]"))).collect();
    client.send(many);
    for n in 0..50 {
        assert_eq!(client.answer().text(), format!("[{n}]"));
    }
    // An answer does not wait for the request behind it to be whole.
    client.send(post("ListTables", "[1]") + "POST / HTTP");
    assert_eq!(client.answer().text(), "[1]");
}

#[test]
fn a_request_may_come_in_pieces() {
    let server = server();
    let mut client = Client::connect(server.address());
    for byte in post("ListTables", "{\"piece\": \"é\"}").bytes() {
        client.send([byte]);
        std::thread::sleep(Duration::from_micros(200));
    }
    assert_eq!(client.answer().text(), "{\"piece\": \"é\"}");
    // And in chunks of its own making.
    let chunked = post("ListTables", "").replace("content-length: 0", "transfer-encoding: chunked");
    client.send(format!("{chunked}3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n"));
    assert_eq!(client.answer().text(), "[1,2]");
}

#[test]
fn a_body_may_be_as_large_as_the_service_takes_and_no_larger() {
    let server = server();
    let limit = 16 * 1024 * 1024;
    assert_eq!(once(&server, post("Size", &"a".repeat(limit))).text(), limit.to_string());
    let mut client = Client::connect(server.address());
    client.send(post("Size", &"a".repeat(limit + 1)));
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    assert!(answer.text().contains("RequestEntityTooLargeException"));
    assert!(answer.header("x-amzn-requestid").is_some());
    // Whoever asks first is spared sending it.
    let mut client = Client::connect(server.address());
    let request =
        post("Size", "").replace("content-length: 0", "expect: 100-continue\r\ncontent-length: 99999999");
    client.send(request);
    assert_eq!(client.answer().status, 413);
    assert_serves(&server);
}

#[test]
fn a_head_may_be_64_kb() {
    let server = server();
    let with_header = |bytes: usize| {
        post("ListTables", "{}").replace("\r\n\r\n", &format!("\r\nx-long: {}\r\n\r\n", "a".repeat(bytes)))
    };
    assert_eq!(once(&server, with_header(60_000)).status, 200);
    assert_eq!(once(&server, with_header(70_000)).status, 431);
    // One that never ends is not waited for.
    let mut client = Client::connect(server.address());
    client.try_send(&[b'a'; 200_000]);
    assert!(client.is_closed_within(Duration::from_secs(5)));
    assert_serves(&server);
}

#[test]
fn nothing_that_comes_over_a_socket_ends_the_server() {
    let server = server();
    for garbage in [
        &b"\r\n\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"POST http://[::1 HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nx-amz-target: \xff\xfe\r\nauthorization: \xff\r\n\r\n",
        b"POST /?X-Amz-Algorithm=%ff%&%=%zz&&== HTTP/1.1\r\nx-amz-target: DynamoDB_20120810.Echo\r\n\r\n",
    ] {
        let mut client = Client::connect(server.address());
        client.try_send(garbage);
        client.half_close();
        client.read_all();
        // And one that goes away in the middle.
        Client::connect(server.address()).try_send(garbage);
    }
    let cut = post("ListTables", "{\"a\": 1}");
    for end in (0..cut.len()).step_by(7) {
        Client::connect(server.address()).try_send(&cut.as_bytes()[..end]);
    }
    let answer = once(&server, post("Panic", "{}"));
    assert_eq!(answer.status, 500);
    assert!(answer.text().contains("#InternalServerError"));
    assert_serves(&server);
}

#[test]
fn who_dawdles_is_cut_off_and_who_idles_is_not() {
    let server = with_limits(|limits| limits.read_time = Duration::from_millis(200));
    let address = server.address();
    let mut idle = Client::connect(address);
    idle.send(post("ListTables", "{}"));
    assert_eq!(idle.answer().status, 200);
    let mut in_head = Client::connect(address);
    in_head.send("POST / HTTP/1.1\r\n");
    let mut in_body = Client::connect(address);
    in_body.send(post("ListTables", "").replace("content-length: 0", "content-length: 9"));
    assert!(in_head.is_closed_within(Duration::from_secs(5)));
    assert!(in_body.is_closed_within(Duration::from_secs(5)));
    std::thread::sleep(Duration::from_millis(500));
    idle.send(post("ListTables", "{}"));
    assert_eq!(idle.answer().status, 200);

    let server = with_limits(|limits| limits.idle_time = Duration::from_millis(100));
    let mut idle = Client::connect(server.address());
    idle.send(post("ListTables", "{}"));
    assert_eq!(idle.answer().status, 200);
    assert!(idle.is_closed_within(Duration::from_secs(5)));
}

#[test]
fn two_hundred_connections_are_served_at_once_and_more_than_allowed_are_told() {
    let server = server();
    let mut clients: Vec<Client> = (0..200).map(|_| Client::connect(server.address())).collect();
    for round in 0..5 {
        for (n, client) in clients.iter_mut().enumerate() {
            client.send(post("ListTables", &format!("[{round},{n}]")));
        }
        for (n, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.answer().text(), format!("[{round},{n}]"));
        }
    }
    let server = with_limits(|limits| limits.connections = 2);
    let mut kept: Vec<Client> = (0..2).map(|_| Client::connect(server.address())).collect();
    for client in &mut kept {
        client.send(post("ListTables", "{}"));
        assert_eq!(client.answer().status, 200);
    }
    let mut third = Client::connect(server.address());
    assert_eq!(third.answer().status, 503);
    drop(kept);
    // The server notices in its own time.
    let began = Instant::now();
    while once(&server, post("ListTables", "{}")).status != 200 {
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn stopping_finishes_what_is_in_flight_and_takes_no_more() {
    let server = start(ServerOptions { admin_port: Some(0), ..ServerOptions::default() });
    let address = server.address();
    let mut idle = Client::connect(address);
    idle.send(post("ListTables", "{}"));
    idle.answer();
    let mut busy = Client::connect(address);
    busy.send(post("Sleep", "{}"));
    std::thread::sleep(Duration::from_millis(100));
    let admin = server.admin_url().unwrap();
    let mut admin = Client::connect(admin.strip_prefix("http://").unwrap().parse().unwrap());
    let stopper = server.stopper();
    stopper.stop();
    stopper.stop();
    std::thread::sleep(Duration::from_millis(50));
    assert!(std::net::TcpStream::connect(address).is_err());
    admin.send(format!("{}\r\n", head("GET", "/_/health/ready")));
    let ready = admin.answer();
    assert_eq!((ready.status, ready.json()), (503, json!({ "ready": false })));
    assert!(server.wait(), "everything finished");
    assert_eq!(busy.answer().status, 200);
    assert!(idle.is_closed_within(Duration::from_secs(1)));

    // Who does not finish is not waited for longer than allowed.
    let server = with_limits(|limits| limits.stop_time = Duration::from_millis(200));
    let mut half = Client::connect(server.address());
    half.send("POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\nhi");
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    assert!(!server.stop());
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_server_starts_quickly_and_works_inside_async_code() {
    let quickest = (0..5).map(|_| {
        let began = Instant::now();
        let server = server();
        assert_serves(&server);
        began.elapsed()
    });
    assert!(quickest.min().unwrap() < Duration::from_millis(50));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        assert_serves(&server());
    });
}

#[test]
fn the_admin_listener_tells_health_and_what_others_register() {
    let routes = Routes::default()
        .with("POST", "/_/echo", |request| {
            AdminResponse::ok(json!({ "query": request.query, "bytes": request.body.len() }))
        })
        .with("GET", "/_/panic", |_| panic!("on purpose"));
    let server = start(ServerOptions { admin_port: Some(0), routes, ..ServerOptions::default() });
    let url = server.admin_url().unwrap();
    let mut client = Client::connect(url.strip_prefix("http://").unwrap().parse().unwrap());
    let mut ask = |method: &str, path: &str| {
        client.send(format!("{}content-length: 2\r\n\r\nhi", head(method, path)));
        let answer = client.answer();
        assert_eq!(answer.header("content-type"), Some("application/json"));
        (answer.status, answer.json())
    };
    assert_eq!(ask("GET", "/_/health/live"), (200, json!({ "live": true })));
    assert_eq!(ask("GET", "/_/health/ready"), (200, json!({ "ready": true })));
    assert_eq!(ask("POST", "/_/echo?a=b"), (200, json!({ "query": "a=b", "bytes": 2 })));
    assert_eq!(ask("GET", "/_/echo").0, 405);
    assert_eq!(ask("GET", "/_/panic").0, 500);
    let (status, body) = ask("GET", "/nowhere");
    assert_eq!(status, 404);
    assert_eq!(body["error"], "there is nothing at /nowhere");
    let routes = json!(["GET /_/health/live", "GET /_/health/ready", "POST /_/echo", "GET /_/panic"]);
    assert_eq!(body["routes"], routes);
}

#[test]
fn a_port_that_is_taken_is_said() {
    let server = server();
    let port = server.address().port();
    let error =
        Server::start(ServerOptions { port, ..ServerOptions::default() }, Arc::new(Echo)).unwrap_err();
    assert!(error.to_string().contains(&format!("cannot listen on 127.0.0.1:{port}: ")), "{error}");
    assert_eq!(server.endpoint(), format!("http://127.0.0.1:{port}"));
}
