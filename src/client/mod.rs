//! The client layer: writes through synthetic keys, reads that fan out and merge.
//!
//! ```text
//!                    ┌──────────── Operation: a state machine, no I/O ─────────────┐
//!   caller ──asks──► │ next(now) ─► Send(call, request) | WaitUntil(t) | Row | Done │
//!                    │ deliver(call, reply, now)                                    │
//!                    └───────▲──────────────────────────────────────────┬──────────┘
//!                            └────── driver: in process, in virtual     │
//!                                    time, or around an async SDK ◄─────┘
//! ```
//!
//! An operation never touches a socket, a thread or a clock. It says which request to send and is handed the reply, so
//! the same code runs on the in-process table, in virtual time, and on the official SDKs. It does not know which.
//!
//! - [`KeyDesign`] turns items and what is known of them into keys and [`Plan`]s.
//! - [`FanOut`] reads all suffixes of a logical key, merged in sort order, lazily.
//! - [`Store`] and [`Sweep`] write; [`Fold`] aggregates without collecting.
//! - [`RetryPolicy`] decides when a throttled call is sent again; its cost is in the [`Bill`].
//! - [`Client`] is all of it in blocking form.

mod aggregate;
mod bill;
mod blocking;
mod call;
mod design;
mod driver;
mod fan_out;
mod filter;
mod operation;
mod record;
mod request;
mod retry;
mod scan_rows;
mod write;

pub use aggregate::{Aggregate, Fold, Value};
pub use bill::Bill;
pub use blocking::{Client, Found, Options, Rows};
pub use call::CallId;
pub use design::{KeyDesign, Plan};
pub use driver::{Backend, Ran, Runner, run};
pub use fan_out::{FanOut, FanOutQuery};
pub use filter::{Comparison, Filter};
pub use operation::{Next, Operation};
pub use record::Record;
pub use request::{Reply, Request, Response};
pub(crate) use retry::Retrier;
pub use retry::RetryPolicy;
pub use scan_rows::ScanRows;
pub use write::{Move, MoveOutcome, Store, Sweep};
