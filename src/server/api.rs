//! What stands between the endpoint and the service: one request in, one response out, both without HTTP.
//!
//! The trait is small and synchronous so that a service can be tested, and used in process, without sockets. It does not
//! know connections, signatures or request ids: by the time a request is here it has been admitted.

use crate::clock::Instant;

/// What stands behind an endpoint: a service's API without sockets.
pub trait Api: Send + Sync + 'static {
    /// Whether the service has this operation. The endpoint refuses all others, before it looks at credentials, as
    /// DynamoDB does: [`answer`](Self::answer) never sees them.
    fn has_operation(&self, target_prefix: &str, operation: &str) -> bool;

    /// Answers one request. Called on a server thread; must not block on I/O. A panic is answered as an internal error
    /// and takes nothing else down.
    fn answer(&self, request: &ApiRequest<'_>) -> ApiResponse;
}

/// One request, admitted by the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct ApiRequest<'a> {
    /// What stands before the dot of `X-Amz-Target`: `DynamoDB_20120810` or `DynamoDBStreams_20120810`.
    pub target_prefix: &'a str,
    /// What stands after it: `GetItem`.
    pub operation: &'a str,
    /// The body, never empty. Not yet looked at: it need not be JSON.
    pub body: &'a [u8],
    /// Which database is meant.
    pub database: Database<'a>,
    /// The region of the credentials, also where the database is shared: names of resources hold it.
    pub region: &'a str,
    /// Whether the caller wants answers to explain themselves beyond what the service would say.
    pub hints: bool,
    /// The test that asks, as `x-hotplate-test` names it.
    pub test: Option<&'a str>,
    /// The time of the server's clock when the request was whole.
    pub now: Instant,
}

/// Which database a request means. As in the service, an account and a region make one; here an access key is an
/// account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Database<'a> {
    /// All callers see one database.
    Shared,
    /// Each access key has one in each region.
    Own {
        /// The region of the credential scope.
        region: &'a str,
        /// The access key id.
        access_key: &'a str,
    },
}

/// What a service answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResponse {
    /// The status of HTTP.
    pub status: u16,
    /// The body: JSON.
    pub body: Vec<u8>,
    /// Headers besides those that the endpoint adds; one of the same name replaces the endpoint's. A value that HTTP
    /// cannot carry is left out.
    pub headers: Vec<(&'static str, String)>,
}

impl ApiResponse {
    /// A success with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, body: body.into(), headers: Vec::new() }
    }

    /// An error of the service: the body `{"__type": …, "message": …}` with status 400, or 500 for those that are not
    /// the caller's fault. `kind` is the whole type, such as `com.amazon.coral.service#SerializationException`.
    pub fn error(status: u16, kind: &str, message: Option<&str>) -> Self {
        let mut body = serde_json::Map::new();
        body.insert("__type".to_owned(), kind.into());
        if let Some(message) = message {
            body.insert("message".to_owned(), message.into());
        }
        Self { status, body: serde_json::Value::Object(body).to_string().into_bytes(), headers: Vec::new() }
    }
}
