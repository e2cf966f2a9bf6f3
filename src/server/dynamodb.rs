//! DynamoDB's protocol around the operations: targets, content types, credentials, CORS, health, request ids, checksums.
//!
//! The order of checks and the answers are the service's, as dynalite's tests recorded them; the checksums in our tests
//! are theirs. It does not know any operation: an [`Api`] does.

use super::api::{Api, ApiRequest, ApiResponse, Database};
use super::auth::{self, Credentials, Refusal};
use super::connection::{Body, Endpoint, Received, json};
use super::options::ServerOptions;
use super::request_id::RequestIds;
use crate::clock::Clock;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use serde::de::IgnoredAny;
use std::sync::Arc;

const JSON_1_0: &str = "application/x-amz-json-1.0";
const JSON_1_1: &str = "application/x-amz-json-1.1";
const JSON: &str = "application/json";

/// What the service says to a request that is none of its protocol's.
const NOT_FOUND: &[u8] = b"<UnknownOperationException/>\n";

/// What it says to a load balancer.
const HEALTHY: &[u8] = b"healthy: dynamodb.us-east-1.amazonaws.com ";

/// Headers that a script in a browser may read. It need not ask, so all that we ever send are named.
const EXPOSED: &str = "x-amzn-RequestId, x-amzn-ErrorType, x-amz-request-id, x-amz-id-2, x-amz-crc32, Date, \
                       x-hotplate-partition, x-hotplate-limit, x-hotplate-retry-after, x-hotplate-hint";

/// The endpoint of DynamoDB and its streams.
pub(super) struct DynamoDb {
    api: Arc<dyn Api>,
    clock: Clock,
    shared: bool,
    hints: bool,
    auth: Option<Credentials>,
    ids: RequestIds,
}

impl DynamoDb {
    pub(super) fn new(options: &ServerOptions, api: Arc<dyn Api>) -> Self {
        Self {
            api,
            clock: options.clock.clone(),
            shared: options.shared,
            hints: options.hints,
            auth: options.auth.clone(),
            ids: RequestIds::new(options.seed),
        }
    }

    fn answer(&self, received: &Received) -> (ApiResponse, &'static str) {
        let head = &received.head;
        let content_type = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).and_then(known_type);
        // The service answers a request without a body in plain JSON.
        let answered = content_type.unwrap_or(JSON);
        let Body::Whole(body) = &received.body else {
            return (coral(413, "RequestEntityTooLargeException", None), answered);
        };
        if head.method == Method::OPTIONS && head.headers.contains_key(ORIGIN) {
            return (ApiResponse::ok(""), answered);
        }
        if head.method == Method::GET && is_health(head.uri.path()) {
            return (ApiResponse::ok(HEALTHY), "text/plain");
        }
        if head.method != Method::POST || content_type.is_none() && !body.is_empty() {
            return (ApiResponse { status: 404, body: NOT_FOUND.to_vec(), headers: Vec::new() }, "text/xml");
        }
        (self.operation(head, body).unwrap_or_else(|refused| refuse(refused, body)), answered)
    }

    /// The operation's answer, or why it is not asked.
    fn operation(&self, head: &Parts, body: &Bytes) -> Result<ApiResponse, Refusal> {
        let (target_prefix, operation) = text(&head.headers, "x-amz-target")
            .and_then(|target| target.split_once('.'))
            .filter(|(prefix, operation)| self.api.has_operation(prefix, operation))
            .ok_or_else(|| ("UnknownOperationException", String::new()))?;
        let signed = auth::read(head)?;
        if let Some(known) = &self.auth {
            signed.verify(known, head, body, auth::now())?;
        }
        let caller = signed.caller()?;
        if body.is_empty() {
            return Err(("SerializationException", String::new()));
        }
        let database = if self.shared {
            Database::Shared
        } else {
            Database::Own { region: caller.region, access_key: caller.access_key }
        };
        let hints = match text(&head.headers, "x-hotplate-hints") {
            Some("on") => true,
            Some("off") => false,
            _ => self.hints,
        };
        Ok(self.api.answer(&ApiRequest {
            target_prefix,
            operation,
            body,
            database,
            region: caller.region,
            hints,
            test: text(&head.headers, "x-hotplate-test"),
            now: self.clock.now(),
        }))
    }

    /// An answer with everything that each of them carries.
    fn complete(
        &self,
        head: Option<&Parts>,
        answer: ApiResponse,
        content_type: &'static str,
    ) -> Response<Full<Bytes>> {
        let checksum = crc32fast::hash(&answer.body);
        let mut response = json(answer.status, content_type, answer.body);
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::try_from(self.ids.next()) {
            headers.insert(HeaderName::from_static("x-amzn-requestid"), id);
        }
        headers.insert(HeaderName::from_static("x-amz-crc32"), checksum.into());
        if let Some(head) = head.filter(|head| head.headers.contains_key(ORIGIN)) {
            cross_origin(head, headers);
        }
        for (name, value) in answer.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        response
    }
}

impl Endpoint for DynamoDb {
    fn respond(&self, received: &Received) -> Response<Full<Bytes>> {
        let (answer, content_type) = self.answer(received);
        self.complete(Some(&received.head), answer, content_type)
    }

    fn fault(&self) -> Response<Full<Bytes>> {
        let message = "hotplate failed to answer this: please report what its log says";
        let fault =
            ApiResponse::error(500, "com.amazonaws.dynamodb.v20120810#InternalServerError", Some(message));
        self.complete(None, fault, JSON_1_0)
    }
}

/// A refusal as the service tells it. It reads JSON before it looks at anything else, which matters only here.
fn refuse((name, message): Refusal, body: &Bytes) -> ApiResponse {
    if !body.is_empty() && serde_json::from_slice::<IgnoredAny>(body).is_err() {
        return coral(400, "SerializationException", None);
    }
    coral(400, name, Some(message.as_str()).filter(|message| !message.is_empty()))
}

/// An error of the framework that DynamoDB stands on.
fn coral(status: u16, name: &str, message: Option<&str>) -> ApiResponse {
    ApiResponse::error(status, &format!("com.amazon.coral.service#{name}"), message)
}

/// Which of the protocol's content types this is, whatever parameters follow.
fn known_type(value: &[u8]) -> Option<&'static str> {
    let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
    let name = value[..end].trim_ascii();
    [JSON_1_0, JSON_1_1, JSON].into_iter().find(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

fn is_health(path: &str) -> bool {
    path == "/" || path == "/ping" || path.starts_with("/healthz")
}

/// A header's value, if it is text.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Lets pages of any origin ask, as the service does: what is asked for is allowed.
fn cross_origin(head: &Parts, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    if head.method != Method::OPTIONS {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        return;
    }
    for (asked, allowed) in [
        (ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_ALLOW_HEADERS),
        (ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_ALLOW_METHODS),
    ] {
        if let Some(value) = head.headers.get(asked) {
            headers.insert(allowed, value.clone());
        }
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("172800"));
}
