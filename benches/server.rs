//! The HTTP shell without a service behind it: how soon it answers, what it holds in memory, and how many requests a
//! second pass through it.
//!
//! There is no peer: the figures say what of a request's time is not the engine's. Memory is of a process of its own, as
//! in `memory.rs`, and on Linux only.

mod harness;

use hotplate::server::{Api, ApiRequest, ApiResponse, Server, ServerOptions};
use std::env;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Connections that ask at once.
const CONNECTIONS: usize = 8;

/// Requests of each connection in a round.
const REQUESTS: usize = 10_000;

/// Rounds, of which the best counts.
const ROUNDS: usize = 7;

/// Idle connections whose memory is told.
const IDLE: usize = 1_000;

/// Bytes of a page as `statm` counts them.
const PAGE_BYTES: f64 = 4_096.0;

/// The variable that tells a child process to measure memory.
const SUBJECT: &str = "HOTPLATE_BENCH_SERVER";

/// Counts what it answers, so that a figure is of requests that were served.
#[derive(Default)]
struct Echo(AtomicUsize);

impl Api for Echo {
    fn has_operation(&self, _: &str, _: &str) -> bool {
        true
    }

    fn answer(&self, request: &ApiRequest<'_>) -> ApiResponse {
        self.0.fetch_add(1, Ordering::Relaxed);
        ApiResponse::ok(request.body)
    }
}

fn start() -> (Server, Arc<Echo>) {
    let options = ServerOptions { admin_port: Some(0), ..ServerOptions::default() };
    let api = Arc::new(Echo::default());
    (Server::start(options, Arc::<Echo>::clone(&api)).expect("free ports"), api)
}

/// A request as an SDK sends it, with 200 bytes of body.
fn request() -> Vec<u8> {
    let body = format!(r#"{{"TableName":"orders","Key":{{"id":{{"S":"{}"}}}}}}"#, "x".repeat(160));
    format!(
        "POST / HTTP/1.1\r\nhost: 127.0.0.1:8000\r\ncontent-type: application/x-amz-json-1.0\r\n\
         x-amz-target: DynamoDB_20120810.GetItem\r\nx-amz-date: 20261201T000000Z\r\n\
         user-agent: aws-sdk-rust/1.3 os/linux lang/rust/1.95\r\namz-sdk-request: attempt=1; max=3\r\n\
         authorization: AWS4-HMAC-SHA256 Credential=key/20261201/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={}\r\ncontent-length: {}\r\n\r\n{body}",
        "0".repeat(64),
        body.len()
    )
    .into_bytes()
}

/// Asks so many times, one request after another, and reads each answer whole.
fn ask(stream: &mut TcpStream, request: &[u8], times: usize) {
    let mut buffer = [0; 4_096];
    let mut length = None;
    for _ in 0..times {
        stream.write_all(request).expect("the server reads");
        let mut read = 0;
        // All answers are of one length, which the first tells.
        while read < length.unwrap_or(usize::MAX) {
            let more = stream.read(&mut buffer[read..]).expect("the server answers");
            assert!(more > 0, "the server keeps the connection");
            read += more;
            if length.is_none() && buffer[..read].ends_with(b"}}}") {
                length = Some(read);
            }
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200 ") && buffer[..read].ends_with(b"}}}"));
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket has options");
    stream
}

/// Seconds from nothing to a first answer.
fn first_answer() -> f64 {
    let request = request();
    harness::seconds(|| {
        let (server, _) = start();
        ask(&mut connect(server.address()), &request, 1);
        // Stopping is not measured.
        std::mem::forget(server);
    })
}

/// Requests a second over all connections.
fn rate(address: SocketAddr, connections: usize) -> f64 {
    let request = request();
    let mut streams: Vec<TcpStream> = (0..connections).map(|_| connect(address)).collect();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for stream in &mut streams {
            scope.spawn(|| ask(stream, &request, REQUESTS));
        }
    });
    (connections * REQUESTS) as f64 / began.elapsed().as_secs_f64()
}

/// Bytes of this process in memory now.
fn resident() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<f64>().ok()? * PAGE_BYTES)
}

/// Prints what this process holds: bare, with a server that has answered, and with idle connections.
fn memory() {
    let Some(bare) = resident() else { return };
    let (server, _) = start();
    ask(&mut connect(server.address()), &request(), 1);
    let serving = resident().unwrap_or(0.0);
    let mut streams: Vec<TcpStream> = (0..IDLE).map(|_| connect(server.address())).collect();
    for stream in &mut streams {
        ask(stream, &request(), 1);
    }
    println!("{bare} {serving} {}", resident().unwrap_or(0.0));
}

fn main() {
    if env::var_os(SUBJECT).is_some() {
        return memory();
    }
    println!("\nthe HTTP shell in front of an API that echoes");
    let starts = (0..ROUNDS).map(|_| first_answer()).collect();
    println!("{:<58} {:>9.2} ms", "start to first answer, median", harness::median(starts) * 1e3);
    let child = env::current_exe().and_then(|this| Command::new(this).env(SUBJECT, "1").output());
    let printed = child.map(|child| String::from_utf8_lossy(&child.stdout).into_owned()).unwrap_or_default();
    let figures: Vec<f64> = printed.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
    if let [bare, serving, idle] = figures[..] {
        println!("{:<58} {:>9.2} MB", "resident, process without a server", bare / 1e6);
        println!("{:<58} {:>9.2} MB", "resident, server that has answered once", serving / 1e6);
        let each = (idle - serving) / IDLE as f64 / 1e3;
        println!("{:<58} {each:>9.2} KB", "resident, for each idle connection (both ends)");
    } else {
        println!("this system does not tell how much memory a process has");
    }
    let (server, api) = start();
    for connections in [1, CONNECTIONS] {
        let best = (0..ROUNDS).map(|_| rate(server.address(), connections)).fold(0.0, f64::max);
        let what = format!("requests/s over {connections} keep-alive connections, best of {ROUNDS}");
        println!("{what:<58} {best:>9.0} (client on the same cores)");
    }
    assert_eq!(api.0.load(Ordering::Relaxed), (1 + CONNECTIONS) * REQUESTS * ROUNDS);
}
