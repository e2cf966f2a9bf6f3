//! The test kit: what this crate's own tests are made of, for tests of tables, clients and key designs.
//!
//! Needs the feature `testkit`, and is meant for `[dev-dependencies]`.
//!
//! ```text
//!  strategies ──► Case { operations, faults } ──► Suite ──► your Repository ──► Faulty table
//!  keys, items,                                     │                              │
//!  designs, profiles                                └──► model ◄── compare ────────┘
//!                                                          │
//!  Table ◄── invariants, assertions                        └─► smallest failing case + replay line
//! ```
//!
//! - [`Suite`] runs random histories on a [`Repository`] of yours and on a model, under [`Fault`]s, and shrinks what
//!   fails.
//! - [`invariant`] holds what is always true of a table; [`Model`] is what to compare it with.
//! - [`strategy`] makes keys, designs and profiles for property tests of your own.
//! - [`assert_no_hot_partition`], [`assert_no_throttle_below`] and [`assert_max_fanout`] are for any test.
//!
//! ```
//! use hotplate::testkit::{assert_max_fanout, assert_no_hot_partition, assert_no_throttle_below};
//! use hotplate::{Clock, ItemKey, Profile, Table};
//! use std::time::Duration;
//!
//! let clock = Clock::manual();
//! let profile = Profile::dynamodb_provisioned(10_000, 10_000)?.with_partitions(10)?;
//! let table: Table<serde_json::Value> = Table::new("orders", profile, clock.now())?;
//! for order in 0..2_000_u64 {
//!     table.put(&ItemKey::new(format!("2018-08-09.{}", order % 200), order), order.into(), clock.now())?;
//!     clock.advance(Duration::from_micros(500));
//! }
//! assert_no_hot_partition(&table, 0.25);
//! assert_no_throttle_below(&table, 2_000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It does not know the wire protocols: a suite tests code against tables in this process.

mod assertion;
mod fault;
mod faulty;
mod history;
pub mod invariant;
mod model;
mod operation;
mod repository;
mod schema;
pub mod strategy;
mod suite;
mod violation;

pub use assertion::{FannedOut, assert_max_fanout, assert_no_hot_partition, assert_no_throttle_below};
pub use fault::{Effect, Fault, RequestKind};
pub use faulty::Faulty;
pub use model::{Ledger, Model};
pub use operation::{Case, Operation};
pub use repository::{KeyedRepository, Outcome, Repository};
pub use schema::Schema;
pub use suite::{Failure, REPLAY, Suite};
pub use violation::Violation;
