//! Where items are: collections by logical key, and the order in which a scan meets them.
//!
//! ```text
//!   Directory (one per table)                    RangeIndex (one per physical partition)
//!   logical key ──hash──► Collection             (token, key) (token, key) (token, key) … in ring order
//!                         ├ token, route
//!                         ├ heat of the key      serves scans and splits; touched only when a collection
//!                         └ items by sort key    comes or goes
//! ```
//!
//! A point operation looks its key up in the directory and locks one shard of it. A split moves no item: it cuts the
//! index in two. The store does not know how full a budget is, but it demands the [`Permit`] that says somebody asked.
//!
//! [`Permit`]: crate::budget::Permit

mod collection;
mod directory;
mod index;

pub use collection::Change;
pub(crate) use collection::{Collection, KeyHeat};
pub(crate) use directory::{Directory, Occupied};
pub(crate) use index::{IndexEntry, RangeIndex, Retired, cut, first_entry};
