//! A DynamoDB database in process: tables with indexes over physical partitions, without sockets.
//!
//! ```text
//!   Database ─► DynamoTable ─► base table ─► tickets ─► items
//!     │              └─► indexes, local and global ─┘   all admitted before any is written
//!     └────► transactions over items of any tables
//! ```
//!
//! What a request says in JSON is read above this layer; what a write must do to a table and its indexes, and what that
//! costs, is here. It does not know HTTP, signatures, or which database a caller means.

mod change;
mod database;
mod definition;
mod index;
mod settings;
mod table;
mod token;
pub mod transaction;
mod write;

pub use change::{Change, Witness};
pub use database::Database;
pub use definition::{Billing, GlobalIndex, IndexDefinition, IndexProjection, TableDefinition};
pub(in crate::dynamodb) use index::entry_key;
pub use index::{IndexBounds, entry_bounds};
pub use settings::Settings;
pub use table::{Charges, Decision, DynamoTable, Refused, Written};
pub use token::{Claim, Claimed, Fingerprint, Tokens};
pub use transaction::{Cancelled, TransactionRead, TransactionWrite};
