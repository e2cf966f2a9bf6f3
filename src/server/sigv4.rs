//! AWS Signature Version 4: the canonical form of a request, and what signs it.
//!
//! Pure functions over text, so that AWS's published test vectors can be put to them. They do not know which requests
//! must be signed, when a signature is too old, or what a service answers then: `auth` does.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The only algorithm.
pub const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What ends a credential scope.
pub const TERMINATOR: &str = "aws4_request";

/// Stands in place of a payload's hash where the payload is not signed.
pub const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";

/// The scope of a credential: what a signing key is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope<'a> {
    /// The day, as `20150830`.
    pub date: &'a str,
    /// The region.
    pub region: &'a str,
    /// The service.
    pub service: &'a str,
}

impl std::fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}/{TERMINATOR}", self.date, self.region, self.service)
    }
}

/// The canonical form of a request. `headers` are those that are signed, in the order of `SignedHeaders`, each with all
/// of its values; `payload_hash` is hexadecimal, or [`UNSIGNED_PAYLOAD`].
pub fn canonical_request<'a>(
    method: &str,
    path: &str,
    query: &str,
    headers: impl IntoIterator<Item = (&'a str, Vec<String>)>,
    payload_hash: &str,
) -> String {
    let mut lines = String::new();
    let mut names = String::new();
    for (name, values) in headers {
        let name = name.to_ascii_lowercase();
        let values: Vec<String> =
            values.iter().map(|value| value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")).collect();
        lines.push_str(&name);
        lines.push(':');
        lines.push_str(&values.join(","));
        lines.push('\n');
        if !names.is_empty() {
            names.push(';');
        }
        names.push_str(&name);
    }
    let (path, query) = (canonical_path(path), canonical_query(query));
    format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload_hash}")
}

/// What is signed: `time` as `20150830T123600Z`, and the hash of the canonical request.
pub fn string_to_sign(time: &str, scope: Scope<'_>, canonical_request: &str) -> String {
    format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256(canonical_request.as_bytes()))
}

/// The signature, in hexadecimal.
pub fn signature(secret: &str, scope: Scope<'_>, string_to_sign: &str) -> String {
    let mut key = hmac(format!("AWS4{secret}").as_bytes(), scope.date.as_bytes());
    for part in [scope.region, scope.service, TERMINATOR] {
        key = hmac(&key, part.as_bytes());
    }
    hex(&hmac(&key, string_to_sign.as_bytes()))
}

/// SHA-256, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    // A key of any length is accepted, so there is no error to tell.
    Hmac::<Sha256>::new_from_slice(key)
        .map(|mac| mac.chain_update(message).finalize().into_bytes().to_vec())
        .unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Without `.`, `..` and empty segments, and encoded once more than it came. All services but S3 want it so.
fn canonical_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    let mut out = String::from("/");
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 {
            out.push('/');
        }
        encode(segment.as_bytes(), &mut out);
    }
    if !segments.is_empty() && (path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..")) {
        out.push('/');
    }
    out
}

/// Sorted by name and value, both encoded strictly; without the signature itself.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = query_pairs(query)
        .filter(|(name, _)| name != b"X-Amz-Signature")
        .map(|(name, value)| {
            let (mut encoded_name, mut encoded_value) = (String::new(), String::new());
            encode(&name, &mut encoded_name);
            encode(&value, &mut encoded_value);
            (encoded_name, encoded_value)
        })
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// The pairs of a query, decoded.
pub(super) fn query_pairs(query: &str) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

/// Everything but unreserved characters as `%XY`.
fn encode(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// `%XY` as the byte it is; what is no such escape stays.
fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}
