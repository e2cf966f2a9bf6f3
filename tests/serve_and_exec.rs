//! Promise: `hotplate serve` says in its first line where it serves, and stops when asked; `hotplate exec` gives a
//! command an endpoint, hides real accounts from it, and ends as the command does.
//!
//! This program has no test harness because it plays the binary, too: started with `HOTPLATE_TEST_COMMAND` it runs that
//! command in front of an API that answers with its request. On systems without signals it tests what needs none.

#[path = "../src/cli/exec.rs"]
#[allow(dead_code, reason = "the binary uses the rest")]
mod exec;
#[path = "../src/cli/output.rs"]
#[allow(dead_code, reason = "the binary uses the rest")]
mod output;
#[path = "../src/cli/serve.rs"]
#[allow(dead_code, reason = "the binary uses the rest")]
mod serve;

use clap::Parser;
use hotplate::server::{Api, ApiRequest, ApiResponse, Routes};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const COMMAND: &str = "HOTPLATE_TEST_COMMAND";

struct Echo;

impl Api for Echo {
    fn has_operation(&self, _: &str, operation: &str) -> bool {
        operation == "Echo"
    }

    fn answer(&self, request: &ApiRequest<'_>) -> ApiResponse {
        ApiResponse::ok(request.body)
    }
}

#[derive(Parser)]
struct Serve {
    #[command(flatten)]
    arguments: serve::Arguments,
}

#[derive(Parser)]
struct Exec {
    #[command(flatten)]
    arguments: exec::Arguments,
}

/// Ends as `hotplate` would.
fn play(command: &str) -> ExitCode {
    let code = match command {
        "serve" => serve::run(&Serve::parse().arguments, Arc::new(Echo), Routes::default()).map(|_| 0),
        _ => exec::run(&Exec::parse().arguments, Arc::new(Echo), Routes::default()),
    };
    code.map_or_else(
        |error| {
            eprintln!("error: {error}");
            ExitCode::from(2)
        },
        ExitCode::from,
    )
}

fn hotplate(command: &str, arguments: &[&str]) -> Command {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.env(COMMAND, command).args(arguments).stdin(Stdio::null());
    this
}

/// What comes back for a plain request.
fn get(url: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[cfg(unix)]
fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

fn serve_says_where_it_serves_in_its_first_line_and_stops_at_a_signal() {
    let mut server = hotplate("serve", &["--dynamodb-port", "0", "--admin-port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["ready"], true);
    assert_eq!(ready["pid"], server.id());
    assert_eq!(ready["version"], env!("CARGO_PKG_VERSION"));
    let (dynamodb, admin) = (ready["dynamodb"].as_str().unwrap(), ready["admin"].as_str().unwrap());
    assert!(get(dynamodb, "/").contains("healthy: dynamodb"));
    assert!(get(admin, "/_/health/ready").ends_with(r#"{"ready":true}"#));

    // A port that is taken is said, with exit code 2.
    let port = dynamodb.rsplit(':').next().unwrap();
    let second = hotplate("serve", &["--dynamodb-port", port, "--admin-port", "0"]).output().unwrap();
    let complaint = String::from_utf8(second.stderr).unwrap();
    assert_eq!((second.status.code(), second.stdout.as_slice()), (Some(2), b"".as_slice()));
    assert!(complaint.contains("cannot listen on 127.0.0.1:"), "{complaint}");

    #[cfg(unix)]
    {
        signal(server.id(), "TERM");
        let began = Instant::now();
        assert_eq!(server.wait().unwrap().code(), Some(0));
        assert!(began.elapsed() < Duration::from_secs(3));
        let (mut rest, mut complaint) = (String::new(), String::new());
        stdout.read_to_string(&mut rest).unwrap();
        server.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!((rest.as_str(), complaint.as_str()), ("", ""));
    }
    #[cfg(not(unix))]
    server.kill().unwrap();
}

fn exec_gives_an_endpoint_and_hides_real_accounts() {
    let output = hotplate("exec", &["--region", "eu-west-1", "--", "env"])
        .env("AWS_PROFILE", "production")
        .env("AWS_SESSION_TOKEN", "real")
        .env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
        .env("NO_PROXY", "example.org")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    for hidden in ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] {
        assert_eq!(value(hidden), None, "{hidden}");
    }
    for (name, expected) in [
        ("AWS_REGION", "eu-west-1"),
        ("AWS_DEFAULT_REGION", "eu-west-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_CONFIG_FILE", "/dev/null"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
        ("NO_PROXY", "example.org,127.0.0.1,localhost"),
    ] {
        assert_eq!(value(name), Some(expected));
    }
    for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "HOTPLATE_ADMIN_URL"] {
        assert!(value(name).unwrap().starts_with("http://127.0.0.1:"), "{name}");
    }
    assert!(value("AWS_ACCESS_KEY_ID").is_some() && value("AWS_SECRET_ACCESS_KEY").is_some());
}

fn exec_ends_as_the_command_does() {
    let code = |arguments: &[&str]| hotplate("exec", arguments).output().unwrap().status.code();
    assert_eq!(code(&["--", "true"]), Some(0));
    assert_eq!(code(&["sh", "-c", "exit 42"]), Some(42));
    assert_eq!(code(&["--", "sh", "-c", "kill -KILL $$"]), Some(128 + 9));
    assert_eq!(code(&["--", "/no/such/command"]), Some(127));
    assert_eq!(code(&["--", "/"]), Some(126));
    assert_eq!(code(&[]), Some(2));
}

/// The endpoint is up before the command begins, and while it runs.
fn exec_serves_before_the_command_begins() {
    let script = "exec 3<>/dev/tcp/127.0.0.1/${AWS_ENDPOINT_URL_DYNAMODB##*:}; \
                  printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    let output = hotplate("exec", &["--", "bash", "-c", script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("healthy: dynamodb.us-east-1.amazonaws.com "), "{text}");
}

#[cfg(unix)]
fn exec_passes_signals_on() {
    for (name, expected) in [("TERM", 7), ("HUP", 8), ("INT", 9), ("USR1", 10)] {
        let script = "trap 'exit 7' TERM; trap 'exit 8' HUP; trap 'exit 9' INT; trap 'exit 10' USR1; \
                      echo up; while :; do sleep 0.05; done";
        let mut child = hotplate("exec", &["--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        signal(child.id(), name);
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{name}");
    }
}

fn main() -> ExitCode {
    if let Ok(command) = std::env::var(COMMAND) {
        // The played command's own children are no players.
        return play(&command);
    }
    let tests: &[(&str, fn())] = &[
        ("serve_says_where_it_serves", serve_says_where_it_serves_in_its_first_line_and_stops_at_a_signal),
        #[cfg(unix)]
        ("exec_gives_an_endpoint", exec_gives_an_endpoint_and_hides_real_accounts),
        #[cfg(unix)]
        ("exec_ends_as_the_command_does", exec_ends_as_the_command_does),
        #[cfg(unix)]
        ("exec_serves_before_the_command_begins", exec_serves_before_the_command_begins),
        #[cfg(unix)]
        ("exec_passes_signals_on", exec_passes_signals_on),
    ];
    let filter = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).unwrap_or_default();
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in tests.iter().filter(|(name, _)| name.contains(&filter)) {
        let ok = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        if ok {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    println!("\n{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
