//! DynamoDB's operations: a name and a JSON body in, a JSON body or an exception out.
//!
//! ```text
//!   body ─► fields, checked in the service's order ─► service ─► answer
//! ```
//!
//! Each file is a group of operations. It does not know HTTP, signatures or whose database it is; an operation that is not
//! here answers `UnknownOperationException`, which names it.

mod batch;
mod capacity;
mod definition_request;
mod error;
mod fields;
mod intent;
mod items;
mod metrics;
mod query;
mod read_request;
mod read_target;
mod scan;
mod table_description;
mod tables;
mod tags;
mod transact;

pub use capacity::ReturnConsumedCapacity;
pub use error::ApiError;
pub use fields::Fields;

use super::service::Database;
use crate::clock::Instant;
use serde_json::Value;

/// What an operation answers.
pub type Answer = Result<Value, ApiError>;

/// A request on its way to an operation.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The caller's database.
    pub database: &'a Database,
    /// The time.
    pub now: Instant,
}

type Operation = fn(&Call<'_>, Fields) -> Answer;

/// Every operation that is here, in alphabetical order.
const OPERATIONS: &[(&str, Operation)] = &[
    ("BatchGetItem", batch::get),
    ("BatchWriteItem", batch::write),
    ("CreateTable", tables::create),
    ("DeleteItem", items::delete),
    ("DeleteTable", tables::delete),
    ("DescribeEndpoints", tables::endpoints),
    ("DescribeLimits", tables::limits),
    ("DescribeTable", tables::describe),
    ("DescribeTimeToLive", tags::describe_ttl),
    ("GetItem", items::get),
    ("ListTables", tables::list),
    ("ListTagsOfResource", tags::list),
    ("PutItem", items::put),
    ("Query", query::query),
    ("Scan", scan::scan),
    ("TagResource", tags::tag),
    ("TransactGetItems", transact::get),
    ("TransactWriteItems", transact::write),
    ("UntagResource", tags::untag),
    ("UpdateItem", items::update),
    ("UpdateTable", tables::update),
    ("UpdateTimeToLive", tags::update_ttl),
];

/// Carries an operation out.
///
/// # Errors
/// What the service would answer instead.
pub fn execute(call: &Call<'_>, operation: &str, body: &[u8]) -> Answer {
    let Ok(at) = OPERATIONS.binary_search_by(|(name, _)| (*name).cmp(operation)) else {
        return Err(ApiError::unknown_operation());
    };
    let fields = Fields::parse(body)?;
    (OPERATIONS[at].1)(call, fields)
}

/// The names of the operations that are here.
pub fn operations() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_name() {
        assert!(OPERATIONS.windows(2).all(|pair| pair[0].0 < pair[1].0), "in alphabetical order");
        let database = Database::new(crate::rng::Seed(1));
        let call = Call { database: &database, now: Instant::START };
        assert_eq!(execute(&call, "Frobnicate", b"{}").unwrap_err().kind(), "UnknownOperationException");
        assert_eq!(execute(&call, "GetItem", b"{").unwrap_err().kind(), "SerializationException");
    }
}
