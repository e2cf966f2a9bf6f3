//! hotplate: put your partition key on the hotplate before production does.

pub mod budget;
pub mod charge;
pub mod clock;
pub mod cluster;
pub mod document;
pub mod error;
pub mod heat;
pub mod key;
pub mod lab;
mod partition;
pub mod profile;
pub mod ring;
pub mod rng;
mod store;
pub mod units;

pub use budget::Throttled;
pub use charge::{Consistency, RequestCharge};
pub use clock::{Clock, Instant};
pub use cluster::{Change, Database, Query, Refusal, Scan, Table};
pub use document::Document;
pub use error::{Error, Result};
pub use key::{ItemKey, PartitionKey, SortKey, Template};
pub use profile::Profile;
