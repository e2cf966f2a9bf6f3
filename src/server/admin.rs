//! The admin listener: whether the server lives and is ready, and whatever routes others register.
//!
//! A route is a method, a path and a function. There are no patterns: what a route is about comes in its query. It does
//! not know what the routes of others do.

use super::connection::{Body, Endpoint, Received, Stage, json};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// What a route of the admin listener is asked.
#[derive(Clone, Copy, Debug)]
pub struct AdminRequest<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// The path, as it was matched.
    pub path: &'a str,
    /// What stands after `?`, as it came; empty where nothing does.
    pub query: &'a str,
    /// The body; empty where there is none.
    pub body: &'a [u8],
}

/// What a route answers: JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct AdminResponse {
    /// The status of HTTP.
    pub status: u16,
    /// The body.
    pub body: serde_json::Value,
}

impl AdminResponse {
    /// A success with this body.
    pub fn ok(body: serde_json::Value) -> Self {
        Self { status: 200, body }
    }

    /// An error that says what is wrong: `{"error": …}`.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self { status, body: serde_json::json!({ "error": message.into() }) }
    }
}

/// What answers a route.
type Handler = Arc<dyn Fn(&AdminRequest<'_>) -> AdminResponse + Send + Sync>;

/// Routes of the admin listener besides its own.
#[derive(Clone, Default)]
pub struct Routes(Vec<(String, String, Handler)>);

impl Routes {
    /// These routes and one more; the first of two that are alike answers. The function is called on a server thread
    /// and must not block.
    #[must_use]
    pub fn with(
        mut self,
        method: impl Into<String>,
        path: impl Into<String>,
        answer: impl Fn(&AdminRequest<'_>) -> AdminResponse + Send + Sync + 'static,
    ) -> Self {
        self.0.push((method.into(), path.into(), Arc::new(answer)));
        self
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(method, path, _)| format!("{method} {path}"))
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The endpoint behind the admin listener.
pub(super) struct Admin {
    routes: Routes,
}

impl Admin {
    /// The server's own routes, then those of others.
    pub(super) fn new(others: Routes, stage: watch::Receiver<Stage>) -> Self {
        let own = Routes::default()
            .with("GET", "/_/health/live", |_| AdminResponse::ok(serde_json::json!({ "live": true })))
            .with("GET", "/_/health/ready", move |_| {
                let ready = *stage.borrow() == Stage::Serving;
                AdminResponse {
                    status: if ready { 200 } else { 503 },
                    body: serde_json::json!({ "ready": ready }),
                }
            });
        Self { routes: Routes(own.0.into_iter().chain(others.0).collect()) }
    }

    fn answer(&self, received: &Received) -> AdminResponse {
        let (method, path) = (received.head.method.as_str(), received.head.uri.path());
        let body = match &received.body {
            Body::Whole(body) => body,
            Body::TooLarge => return AdminResponse::error(413, "the body is too large"),
        };
        let mut at_path = self.routes.0.iter().filter(|(_, at, _)| at == path).peekable();
        if at_path.peek().is_none() {
            let routes: Vec<String> = self.routes.names().collect();
            let body =
                serde_json::json!({ "error": format!("there is nothing at {path}"), "routes": routes });
            return AdminResponse { status: 404, body };
        }
        let methods: Vec<&str> = at_path.clone().map(|(method, ..)| method.as_str()).collect();
        match at_path.find(|(wanted, ..)| wanted == method || wanted == "GET" && method == "HEAD") {
            Some((_, _, answer)) => {
                answer(&AdminRequest { method, path, query: received.head.uri.query().unwrap_or(""), body })
            }
            None => {
                AdminResponse::error(405, format!("{path} takes {}, not {method}", methods.join(" and ")))
            }
        }
    }
}

impl Endpoint for Admin {
    fn respond(&self, received: &Received) -> Response<Full<Bytes>> {
        let answer = self.answer(received);
        json(answer.status, "application/json", answer.body.to_string().into_bytes())
    }

    fn fault(&self) -> Response<Full<Bytes>> {
        json(500, "application/json", br#"{"error":"this route failed: see the server's log"}"#.to_vec())
    }
}
