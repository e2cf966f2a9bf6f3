//! HTTP by hand, for tests of the endpoint: raw sockets, and requests as text.

use hotplate::server::sigv4::{self, Scope};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Credentials that are complete and prove nothing.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=key/20261201/eu-west-1/dynamodb/aws4_request, \
                                        SignedHeaders=host;x-amz-date, Signature=00";

/// The first lines of a request.
pub(crate) fn head(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n")
}

/// A request for an operation.
pub(crate) fn post(operation: &str, body: &str) -> String {
    format!(
        "{}content-type: application/x-amz-json-1.0\r\nx-amz-target: DynamoDB_20120810.{operation}\r\n\
         x-amz-date: 20261201T000000Z\r\nauthorization: {AUTHORIZATION}\r\ncontent-length: {}\r\n\r\n{body}",
        head("POST", "/"),
        body.len()
    )
}

/// A request for an operation, signed now. The canonical form is written out here, and not by the code under test.
pub(crate) fn signed(operation: &str, body: &str, access_key: &str, secret: &str) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    // Only the day needs a calendar; count it from a known one.
    let (mut day, mut year) = (seconds / 86_400 - 20_454, 2026);
    // Before 2100, when every fourth year is one.
    let is_leap = u64::is_multiple_of;
    while day >= 365 + u64::from(is_leap(year, 4)) {
        day -= 365 + u64::from(is_leap(year, 4));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year, 4)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let date = format!("{year}{month:02}{:02}", day + 1);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let time = format!("{date}T{hour:02}{minute:02}{second:02}Z");
    let names = "host;x-amz-date;x-amz-target";
    let hash = sigv4::sha256(body.as_bytes());
    let canonical = format!(
        "POST\n/\n\nhost:localhost\nx-amz-date:{time}\nx-amz-target:DynamoDB_20120810.{operation}\n\n{names}\n{hash}"
    );
    let scope = Scope { date: &date, region: "eu-west-1", service: "dynamodb" };
    let signature = sigv4::signature(secret, scope, &sigv4::string_to_sign(&time, scope, &canonical));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    post(operation, body).replace("20261201T000000Z", &time).replace(AUTHORIZATION, &authorization)
}

/// A connection.
pub(crate) struct Client(BufReader<TcpStream>);

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends what the server may refuse to read.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        let _ = self.0.get_mut().write_all(bytes);
    }

    pub(crate) fn half_close(&mut self) {
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
    }

    /// Reads until the server closes.
    pub(crate) fn read_all(&mut self) {
        let _ = self.0.read_to_end(&mut Vec::new());
    }

    /// Whether the server closes the connection in time, whatever it says before.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        let began = Instant::now();
        self.0.get_mut().set_read_timeout(Some(time)).unwrap();
        self.read_all();
        began.elapsed() < time
    }

    /// The next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        let mut line = || {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let status = line();
        let status =
            status.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {status:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body.resize(length, 0);
        self.0.read_exact(&mut answer.body).unwrap();
        answer
    }
}
