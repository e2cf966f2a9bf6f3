//! Described workloads, run in virtual time.
//!
//! ```text
//!   Scenario ──► keys, plans ──► engine ──► simulated tables
//!                                  │              │
//!                                  └─► recorder ──┴──► outcome ──► diagnosis ──► RunReport
//! ```
//!
//! Open loop, closed loop or the vendor's loader; retry policies as the SDKs have them; events; response times from the
//! intended start. The same scenario and seed give the same bytes.

mod diagnosis;
mod engine;
mod figure;
mod key_stream;
mod outcome;
mod plan;
mod recorder;
mod report;
mod scenario;

pub use engine::Observer;
pub use outcome::run;
pub use report::*;
pub use scenario::*;
