//! Tables: the engine as a caller meets it.
//!
//! ```text
//!   request ─► key ─► ring ─► partition ─► budget ─► store ─► answer
//!     typed     token  Owner    owns the    Admitted  Change    items + charge + continuation
//!                               next two    └─ Throttled { partition, limit, retry_after } ─► answer
//! ```
//!
//! Every operation is synchronous and is handed `now`. A table never sleeps, never reads a clock and never retries:
//! those are the client's business. It does not know what an item is beyond its size, nor any wire protocol.
//!
//! Closures that a caller passes in run while a lock of the table is held: they must be quick and must not call the
//! table again.

mod batch;
mod continuation;
mod database;
mod outcome;
mod query;
mod report;
mod scan;
mod table;
mod ticket;
mod topology;
mod transaction;
mod upkeep;

pub use crate::partition::RetiredPartition;
pub use crate::store::Change;
pub use batch::{BatchRead, BatchWrite};
pub use continuation::Continuation;
pub(crate) use continuation::{Cursor, fingerprint};
pub use database::Database;
pub use outcome::{Page, Read, Refusal, Written};
pub use query::{Direction, Query};
pub use report::{KeyReport, PartitionReport, TableReport};
pub use scan::{Scan, ScanPart};
pub use table::Table;
pub use ticket::{Layout, Ticket};
pub use transaction::{Transaction, TransactionRefusal};
pub use upkeep::TableEvent;
