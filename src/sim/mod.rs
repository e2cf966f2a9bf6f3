//! Simulated tables: the physical partitions of a table without its items.
//!
//! ```text
//!   Access ──► place ──► partition ──► limits ──► admitted, or a Cause
//!                          ▲             │
//!                          └── splits ◄──┴── heat, peaks, size: once a second, as `physics` decides
//! ```
//!
//! A place is a token and an order within a key. Budgets, splits and reasons are those of the services; what is left out is
//! the store, so that an hour of ten thousand requests a second takes seconds.
//!
//! It knows no clients, no keys by name and no files.

mod access;
mod cosmos;
mod dynamodb;
mod partition;
mod setup;
mod table;

pub use access::{Access, History, Second};
pub use partition::Partition;
pub use setup::{OnDemand, Setup};
pub use table::SimTable;
