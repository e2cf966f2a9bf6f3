//! Throughput budgets: who may pass, who must wait, and for how long.
//!
//! ```text
//!                    ┌── ceiling ──────┐   ┌── allowance ─────────────────────────┐
//!   request ──admit──►  what one range │──►│ the table's pool (DynamoDB), shared,  │──► Permit ──settle(charge)
//!                    │  can ever serve │   │ or this range's even share (Cosmos)   │
//!                    └──────┬──────────┘   └──────┬───────────────────────────────┘
//!                           └── Throttled { partition, limit, capacity, retry_after } ◄──┘
//! ```
//!
//! A request is admitted while the balance is positive and settled with what it turned out to cost, so a balance may
//! fall below zero by the charges in flight; then it must refill before the next request passes. That is how both
//! services behave: the cost of a query is known only when it has run.
//!
//! Budgets know no keys and no items. They are lock-free: one atomic word for each limit.

mod gauge;
mod meter;
mod partition_budget;
mod throttled;

pub use gauge::Gauge;
pub use meter::{Fill, Meter, Rate, Reading};
pub use partition_budget::{Allowance, Budget, PartitionBudget, Permit};
pub use throttled::{Capacity, Limit, PartitionId, Throttled};
