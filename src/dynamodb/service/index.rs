//! Where an index holds an entry: under its own partition key, in the order of its own sort key and, among equals, of the
//! table's key. So an entry is found again by both keys, and entries that share an index key are each there once.
//!
//! The sort key of an entry is three byte strings in a row, each ended so that no value is mistaken for the beginning of
//! another: a zero byte inside is written as `00 FF`, and the end as `00 01`. That keeps their order.

use super::super::error::Result;
use super::super::item::Item;
use super::super::key::KeySchema;
use super::super::key_condition::KeyRange;
use super::definition::IndexDefinition;
use crate::key::{ItemKey, SortKey};
use std::ops::Bound;

const ZERO: [u8; 2] = [0x00, 0xff];
const END: [u8; 2] = [0x00, 0x01];
/// Greater than whatever begins with an ended value, smaller than a longer value.
const AFTER_END: [u8; 2] = [0x00, 0x02];

fn escape(bytes: &[u8], end: [u8; 2], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            0 => out.extend(ZERO),
            byte => out.push(byte),
        }
    }
    out.extend(end);
}

impl IndexDefinition {
    /// The key of an item's entry, and the entry; `None` when the item lacks an attribute of the index's key.
    ///
    /// # Errors
    /// When such an attribute is of another type, empty or too long.
    pub fn entry(&self, table: &KeySchema, key: &ItemKey, item: &Item) -> Result<Option<(ItemKey, Item)>> {
        let Some(own) = self.schema.of_indexed(&self.name, item.attributes())? else { return Ok(None) };
        let entry = Item::new(self.project(table, item.attributes()));
        Ok(Some((entry_key(&own, key), entry)))
    }
}

/// Where the entry of the item at `key` is, which has `own` as its key of the index.
pub(in crate::dynamodb) fn entry_key(own: &ItemKey, key: &ItemKey) -> ItemKey {
    let mut sort = Vec::new();
    escape(own.sort.as_bytes(), END, &mut sort);
    escape(key.partition.as_bytes(), END, &mut sort);
    escape(key.sort.as_bytes(), END, &mut sort);
    ItemKey { partition: own.partition.clone(), sort: SortKey::from_bytes(&sort) }
}

/// A range of an index's entries.
pub type IndexBounds = (Bound<SortKey>, Bound<SortKey>);

/// The entries whose index sort key lies in a range.
pub fn entry_bounds(range: &KeyRange) -> IndexBounds {
    let ended = |sort: &SortKey, end| {
        let mut bytes = Vec::new();
        escape(sort.as_bytes(), end, &mut bytes);
        SortKey::from_bytes(&bytes)
    };
    let from = match &range.from {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(sort) => Bound::Included(ended(sort, END)),
        Bound::Excluded(sort) => Bound::Included(ended(sort, AFTER_END)),
    };
    let to = match &range.to {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(sort) => Bound::Excluded(ended(sort, AFTER_END)),
        Bound::Excluded(sort) => Bound::Excluded(ended(sort, END)),
    };
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PartitionKey;
    use proptest::prelude::*;
    use std::ops::RangeBounds;

    fn key(sort: &[u8]) -> ItemKey {
        ItemKey { partition: PartitionKey::text("p"), sort: SortKey::from_bytes(sort) }
    }

    proptest! {
        /// Entries are in the order of (index sort key, table key), whatever bytes these hold; bounds cut between index keys.
        #[test]
        fn entries_keep_their_order(
            a in prop::collection::vec(0_u8..4, 0..5), b in prop::collection::vec(0_u8..4, 0..5),
            c in prop::collection::vec(0_u8..4, 0..5), d in prop::collection::vec(0_u8..4, 0..5),
        ) {
            let left = entry_key(&key(&a), &key(&c));
            let right = entry_key(&key(&b), &key(&d));
            prop_assert_eq!((&a, &c).cmp(&(&b, &d)), left.sort.cmp(&right.sort));
            let partition = PartitionKey::text("p");
            let sort = || SortKey::from_bytes(&b);
            for (from, to) in [
                (Bound::Included(sort()), Bound::Unbounded),
                (Bound::Excluded(sort()), Bound::Unbounded),
                (Bound::Unbounded, Bound::Included(sort())),
                (Bound::Unbounded, Bound::Excluded(sort())),
            ] {
                let inside = (from.as_ref(), to.as_ref()).contains(&&SortKey::from_bytes(&a));
                let range = KeyRange { partition: partition.clone(), from, to };
                let bounds = entry_bounds(&range);
                prop_assert_eq!(bounds.contains(&left.sort), inside);
            }
        }
    }
}
