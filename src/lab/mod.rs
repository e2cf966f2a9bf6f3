//! The lab: load experiments in virtual time.
//!
//! ```text
//!   rows ──Template──► KeyedRows ──layout──► partition of each key ──replay──► Outcome ──┐
//!                      (keys only)           (ring)                  (budgets)           ├─► Report
//!                                                     └─search──► max rate ──────────────┘
//! ```
//!
//! A load that is not read from rows is described: a [`Distribution`] says which key an operation is about, a [`Schedule`]
//! when operations begin.
//!
//! Budgets, ring and charges are those of the engine; only the store is left out, because no item is read back. Nothing
//! sleeps and nothing looks at a clock: an hour of load takes seconds, and the same seed gives the same bytes.
//!
//! The lab does not read files and does not print (`cli`).

mod arrival;
mod compare;
mod distribution;
mod keyed_rows;
mod limits;
mod mixed;
mod reads;
mod replay;
pub mod report;
pub mod run;
mod search;
mod verdict;

pub use arrival::{ArrivalError, LENGTH_MAX, OPERATIONS_MAX, Phase, RATE_MAX, RateShape, Schedule, Spacing};
pub use compare::{Comparison, Experiment, LoadShape, Progress, Windows};
pub use distribution::{Distribution, DistributionError, EXPONENT_MAX, KEYS_MAX, Sampler};
pub use keyed_rows::{KeyedRows, KeyedRowsBuilder, SortRule};
pub use limits::WriteLimits;
pub use mixed::{MIX_PARTS_MAX, Mix};
pub use reads::{READS_MAX, ReadSpec};
pub use replay::{Attempts, Outcome, Retries, hold, replay_closed, replay_open, replay_retrying};
pub use search::{MAX_RATE_HOLD_SECONDS, MAX_RATE_THROTTLED_PER_MILLE, max_rate};
pub use verdict::{percent, whole};
