//! Keys: what decides where an item lives.
//!
//! ```text
//!   row ──Template──► KeyValue… ──► PartitionKey ──Placement──► Token        (which slice of the ring)
//!                                   SortKey                                  (where inside the logical partition)
//! ```
//!
//! A [`PartitionKey`] names a logical partition; a [`SortKey`] orders the items inside it. A [`Template`] computes
//! synthetic keys from an item's properties. [`Placement`] hashes a key to its token, exactly as Azure does for
//! Cosmos DB and with a stand-in hash for DynamoDB. This module knows no partitions, budgets or items.

mod bytes;
mod emit;
mod epk;
mod placement;
mod template;
mod value;

pub use bytes::KeyBytes;
pub use emit::{Language, emit};
pub use epk::{EffectivePartitionKey, EpkVersion, even_bounds};
pub use placement::Placement;
pub use template::{
    FieldPath, FieldRef, Part, Properties, Property, Rendered, RowError, SuffixRange, Template,
    TemplateBuilder, TemplateError,
};
pub use value::{ItemKey, KeyValue, PartitionKey, SortKey};
