//! What writes did to items, told to whoever must know of each of them: what keeps a durable copy, and later streams.
//!
//! It is told after the write and before anyone else can write the same items, so that the changes of one item are told in
//! their order, and those of a transaction together. It does not know what is done with them.

use super::super::item::Item;
use super::table::DynamoTable;
use crate::clock::Instant;
use crate::key::ItemKey;
use std::fmt;

/// What one write did to one item; before and after may be alike.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table of the item.
    pub table: &'a DynamoTable,
    /// Where it is.
    pub key: &'a ItemKey,
    /// The item before.
    pub old: Option<&'a Item>,
    /// The item after.
    pub new: Option<&'a Item>,
}

/// Who must know of every change of a database.
pub trait Witness: fmt::Debug + Send + Sync {
    /// Hears of changes that belong together: one, or those of a transaction. The items are held meanwhile: it must neither
    /// write to the database nor wait for long.
    fn saw(&self, changes: &[Change<'_>], now: Instant);
}

/// Tells the witnesses. The tables of all changes are of one database, so they have one witness.
pub(super) fn tell(changes: &[Change<'_>], now: Instant) {
    if let Some(witness) = changes.first().and_then(|change| change.table.witness()) {
        witness.saw(changes, now);
    }
}
