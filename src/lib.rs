//! **Put your partition key on the hotplate before production does.**
//!
//! hotplate stands in locally for Amazon DynamoDB and Azure Cosmos DB. Its data really lives in *physical partitions*,
//! each with a throughput budget, so a hot key that passes every other emulator is refused here as it would be in
//! production, and the refusal says which partition, which limit, and when to come back.
//!
//! ```
//! use hotplate::budget::Limit;
//! use hotplate::{Clock, ItemKey, Profile, Refusal, Table};
//! use std::time::Duration;
//!
//! // A DynamoDB table that pays for 10,000 writes a second, over ten physical partitions.
//! let clock = Clock::manual();
//! let profile = Profile::dynamodb_provisioned(10_000, 10_000)?.with_partitions(10)?;
//! let table: Table<serde_json::Value> = Table::new("orders", profile, clock.now())?;
//!
//! // Two seconds of 5,000 writes a second, all with today's date as the partition key.
//! let (mut served, mut refused) = (0, None);
//! for order in 0..10_000_u64 {
//!     let key = ItemKey::new("2018-08-09", order);
//!     match table.put(&key, serde_json::json!({ "order": order }), clock.now()) {
//!         Ok(written) => served += u64::from(written.charge.to_string() == "1 WCU"),
//!         Err(Refusal::Throttled(throttled)) => refused = Some(throttled),
//!         Err(other) => return Err(other.into()),
//!     }
//!     clock.advance(Duration::from_micros(200));
//! }
//!
//! // The table pays for 10,000 a second; one key is one partition, and that serves 1,000.
//! assert!((2_000..=2_510).contains(&served));
//! let throttled = refused.expect("a hot key is refused");
//! assert_eq!(throttled.limit, Limit::KeyRange);
//! assert!(throttled.retry_after <= Duration::from_millis(1));
//! assert_eq!(table.top_throttled_keys(1)[0].key.to_string(), "2018-08-09");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The one picture
//!
//! ```text
//! request ─► key ─► ring ─► partition ─► budget ─► store ─► answer
//!   typed    token  range    owns the    permit    items    items + charge + continuation
//!                            next two    └─ Throttled { partition, limit, retry_after } ─► answer
//! ```
//!
//! Nobody touches an item without a permit of its partition's budget, and a permit is settled with the charge that the
//! operation turned out to cost. Everything is synchronous and is handed `now`: an hour of load runs in seconds, and
//! the same seed gives the same bytes.
//!
//! # Where to begin
//!
//! - [`Table`] is the engine: reads, writes, queries, scans, batches, transactions, splits.
//! - [`Template`] computes synthetic keys: concatenated, with random, calculated or documented suffixes.
//! - [`Profile`] is the physics of a service as data, every limit with its source.
//! - [`client`] writes through such keys and merges what it reads back; [`graph`] is the Cosmos DB graph in process.
//! - [`dynamodb`] is DynamoDB's data model and its expressions, exact, with the service's own refusals.
//! - [`lab`] loads key designs side by side in virtual time; the `hotplate` command is a shell around it.

pub mod budget;
pub mod charge;
pub mod client;
pub mod clock;
pub mod cluster;
pub mod document;
pub mod dynamodb;
pub mod error;
pub mod graph;
pub mod heat;
pub mod key;
pub mod lab;
mod partition;
pub mod physics;
pub mod profile;
pub mod ring;
pub mod rng;
#[cfg(feature = "server")]
pub mod server;
pub mod sim;
mod store;
#[cfg(feature = "testkit")]
pub mod testkit;
pub mod units;

pub use budget::{PartitionId, Throttled};
pub use charge::{Consistency, RequestCharge};
pub use clock::{Clock, Instant};
pub use cluster::{Change, Continuation, Database, Page, Query, Refusal, Scan, Table, Transaction};
pub use document::Document;
pub use error::{Error, ErrorKind, Result};
pub use key::{ItemKey, PartitionKey, SortKey, Template};
pub use profile::Profile;
pub use rng::Seed;
pub use units::{Bytes, ReadUnits, RequestUnits, WriteUnits};
