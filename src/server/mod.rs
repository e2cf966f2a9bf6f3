//! HTTP in front of a service: sockets, limits, signatures, databases by credentials, and an admin listener.
//!
//! ```text
//!   socket ─► connection ─► endpoint ───────────────► Api (synchronous)
//!             limits,       target, signature,        the service itself
//!             time-outs     database, CORS, ids
//! ```
//!
//! [`Server::start`] listens and owns its threads; what it answers comes from an [`Api`], which knows nothing of HTTP.
//! This module and the command line are the only ones that name sockets or an async runtime. It does not know what an
//! operation means, what a table is, or how a throttle is told: an [`Api`] does.
//!
//! ```
//! use hotplate::server::{Api, ApiRequest, ApiResponse, Server, ServerOptions};
//! use std::sync::Arc;
//!
//! struct Echo;
//! impl Api for Echo {
//!     fn has_operation(&self, _target_prefix: &str, _operation: &str) -> bool {
//!         true
//!     }
//!     fn answer(&self, request: &ApiRequest<'_>) -> ApiResponse {
//!         ApiResponse::ok(request.body.to_vec())
//!     }
//! }
//!
//! let server = Server::start(ServerOptions::default(), Arc::new(Echo))?;
//! assert!(server.endpoint().starts_with("http://127.0.0.1:"));
//! // Dropped, it stops.
//! # Ok::<(), hotplate::Error>(())
//! ```

mod admin;
mod api;
mod auth;
mod connection;
mod dynamodb;
mod listener;
mod options;
mod request_id;
mod service;
mod signal;
pub mod sigv4;

pub use admin::{AdminRequest, AdminResponse, Routes};
pub use api::{Api, ApiRequest, ApiResponse, Database};
pub use auth::Credentials;
pub use listener::{Server, Stopper};
pub use options::{Limits, ServerOptions};
pub use service::DynamoDb;
pub use signal::Signal;
