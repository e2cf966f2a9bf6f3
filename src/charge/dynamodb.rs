//! DynamoDB's price list: read and write units of every operation, and of the index writes that a base write
//! causes.
//!
//! Rules are from the developer guide, pages "DynamoDB read and write operations" and "Provisioned capacity
//! mode" unless another is named; sizes follow "DynamoDB item sizes and formats" (see
//! [`item_size`](super::item_size)).
//!
//! Departures: a query that found something on some of the partitions it searched pays the larger of its size
//! and the minimum for those partitions (*assumed*: only the query that finds nothing is documented). A
//! replayed transaction is priced as a transactional read (*assumed*: the guide says "the number of read
//! capacity units consumed in reading the item" and not at which rate).

use super::{Consistency, Footprint, RequestCharge};
use crate::units::{Bytes, KB, MILLI, ReadUnits, WriteUnits};

/// One read unit reads up to this much, strongly consistent.
pub const READ_BLOCK: u64 = 4 * KB;

/// One write unit writes up to this much.
pub const WRITE_BLOCK: u64 = KB;

/// Milli-units per [`READ_BLOCK`] of a strongly consistent read.
const STRONG_MILLI: u64 = MILLI;

/// Milli-units per [`READ_BLOCK`] of an eventually consistent read: "half" of a strongly consistent one.
const EVENTUAL_MILLI: u64 = MILLI / 2;

/// A transaction does the work twice, "one to prepare the transaction and one to commit the transaction"
/// ("Amazon DynamoDB Transactions: How it works").
const TRANSACTION_FACTOR: u64 = 2;

const fn milli_per_block(consistency: Consistency) -> u64 {
    match consistency {
        Consistency::Strong => STRONG_MILLI,
        _ => EVENTUAL_MILLI,
    }
}

/// Read units for `size` bytes read together: rounded up to 4 KB once, at least one block even if nothing was
/// there.
#[inline]
pub const fn read_units(size: Bytes, consistency: Consistency) -> ReadUnits {
    ReadUnits::from_milli(size.blocks(READ_BLOCK).saturating_mul(milli_per_block(consistency)))
}

/// Write units for an item of `size` bytes: rounded up to 1 KB, at least one block.
#[inline]
pub const fn write_units(size: Bytes) -> WriteUnits {
    WriteUnits::from_units(size.blocks(WRITE_BLOCK))
}

/// The larger of two sizes, an absent item counting nothing.
fn larger(a: Option<Bytes>, b: Option<Bytes>) -> Bytes {
    a.max(b).unwrap_or(Bytes::ZERO)
}

/// Read units for a page: sizes are summed before any filter and rounded once; each partition searched costs
/// at least the minimum (the guide: a query or scan that returns nothing is still charged, by its consistency
/// and the number of partitions searched).
const fn page_units(evaluated: Bytes, partitions: u32, consistency: Consistency) -> ReadUnits {
    let blocks = evaluated.blocks(READ_BLOCK);
    let least = partitions as u64;
    let blocks = if blocks < least { least } else { blocks };
    ReadUnits::from_milli(blocks.saturating_mul(milli_per_block(consistency)))
}

/// What the operation costs outside a transaction.
#[inline]
pub fn charge(footprint: &Footprint) -> RequestCharge {
    match *footprint {
        Footprint::PointRead { size, consistency } => {
            RequestCharge::read(read_units(size.unwrap_or(Bytes::ZERO), consistency))
        }
        Footprint::Page { evaluated, partitions, consistency, .. } => {
            RequestCharge::read(page_units(evaluated, partitions, consistency))
        }
        // A put, update or delete pays for the whole item, by the larger of its sizes before and after. A
        // condition that fails saves nothing: the guide's example charges 310 units for a 300 KB item and a
        // 310 KB attempt.
        Footprint::Write { before: a, after: b } | Footprint::FailedWrite { existing: a, attempted: b } => {
            RequestCharge::write(write_units(larger(a, b)))
        }
    }
}

/// What the operation costs as an action of a transaction, committed or cancelled. Transactional reads are
/// strongly consistent whatever was asked for.
pub fn transactional(footprint: &Footprint) -> RequestCharge {
    let strong = match *footprint {
        Footprint::PointRead { size, .. } => Footprint::PointRead { size, consistency: Consistency::Strong },
        Footprint::Page { evaluated, items, partitions, kind, .. } => {
            Footprint::Page { evaluated, items, partitions, consistency: Consistency::Strong, kind }
        }
        write => write,
    };
    charge(&strong).times(TRANSACTION_FACTOR)
}

/// What one item of a repeated TransactWriteItems with the same client token costs: nothing is written again,
/// the item is read.
pub fn transaction_replay(size: Option<Bytes>) -> RequestCharge {
    transactional(&Footprint::PointRead { size, consistency: Consistency::Strong })
}

/// An item's entry in a secondary index, as far as its price goes. `K` and `P` identify the index key and the
/// projected non-key attributes: the bytes themselves or a digest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<K, P> {
    /// The index key, with the base table's key.
    pub key: K,
    /// The projected attributes that are part of neither key.
    pub projected: P,
    /// Size of the entry: keys and projected attributes.
    pub size: Bytes,
}

/// Write units for bringing a secondary index up to date after a base write. They are charged to a GSI
/// itself, and for an LSI to its table ("Global secondary indexes" and "Local secondary indexes", "Write
/// capacity").
pub fn index_write_units<K: PartialEq, P: PartialEq>(
    before: Option<&IndexEntry<K, P>>,
    after: Option<&IndexEntry<K, P>>,
) -> WriteUnits {
    match (before, after) {
        (None, None) => WriteUnits::ZERO,
        (Some(entry), None) | (None, Some(entry)) => write_units(entry.size),
        // "one to delete the previous item from the index and another write to put the new item"
        (Some(old), Some(new)) if old.key != new.key => write_units(old.size) + write_units(new.size),
        (Some(old), Some(new)) if old.projected != new.projected => write_units(old.size.max(new.size)),
        // Nothing that the index holds has changed, so there is nothing to write.
        (Some(_), Some(_)) => WriteUnits::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::PageKind;
    use Consistency::{Eventual, Strong};
    use proptest::prelude::*;

    fn rcu(milli: u64) -> RequestCharge {
        RequestCharge::read(ReadUnits::from_milli(milli))
    }

    fn wcu(units: u64) -> RequestCharge {
        RequestCharge::write(WriteUnits::from_units(units))
    }

    fn get(size: u64, consistency: Consistency) -> Footprint {
        Footprint::PointRead { size: Some(Bytes(size)), consistency }
    }

    fn page(evaluated: u64, items: u64, partitions: u32, consistency: Consistency) -> Footprint {
        Footprint::Page { evaluated: Bytes(evaluated), items, partitions, consistency, kind: PageKind::Query }
    }

    fn write(before: Option<u64>, after: Option<u64>) -> Footprint {
        Footprint::Write { before: before.map(Bytes), after: after.map(Bytes) }
    }

    fn sum(footprints: &[Footprint]) -> RequestCharge {
        footprints.iter().map(charge).sum()
    }

    // physics.md 1.1: GetItem.
    #[test]
    fn get_item_rounds_up_to_4_kb_and_halves_when_eventual() {
        assert_eq!(charge(&get(4 * KB, Strong)), rcu(1_000));
        assert_eq!(charge(&get(4 * KB + 1, Strong)), rcu(2_000));
        assert_eq!(charge(&get(8 * KB, Strong)), rcu(2_000));
        assert_eq!(charge(&get(4 * KB, Eventual)), rcu(500));
        assert_eq!(charge(&get(8 * KB + 1, Eventual)), rcu(1_500));
        // physics.md 2.1: a 20 KB item costs 5 units.
        assert_eq!(charge(&get(20 * KB, Strong)), rcu(5_000));
    }

    // The other three levels do not exist in DynamoDB.
    #[test]
    fn every_level_below_strong_is_eventual() {
        for level in [Consistency::ConsistentPrefix, Consistency::Session, Consistency::BoundedStaleness] {
            assert_eq!(charge(&get(9 * KB, level)), charge(&get(9 * KB, Eventual)));
        }
    }

    // physics.md 1.1: "Missing item".
    #[test]
    fn a_missing_item_costs_the_minimum() {
        let missing = |consistency| Footprint::PointRead { size: None, consistency };
        assert_eq!(charge(&missing(Strong)), rcu(1_000));
        assert_eq!(charge(&missing(Eventual)), rcu(500));
    }

    // physics.md 1.1: transactional read, twice the strong one.
    #[test]
    fn a_transactional_read_costs_twice_the_strong_one() {
        for asked in [Eventual, Strong] {
            assert_eq!(transactional(&get(4 * KB, asked)), rcu(2_000));
            assert_eq!(transactional(&get(5 * KB, asked)), rcu(4_000));
        }
    }

    // physics.md 1.1: BatchGetItem of 1.5 KB and 6.5 KB reads 4 + 8 = 12 KB.
    #[test]
    fn batch_get_rounds_each_item() {
        let (small, large) = (3 * KB / 2, 13 * KB / 2);
        assert_eq!(sum(&[get(small, Strong), get(large, Strong)]), rcu(3_000));
        assert_eq!(charge(&page(small + large, 2, 1, Strong)), rcu(2_000), "a query would round once");
    }

    // physics.md 1.1: 10 items of 40.8 KB together are 44 KB; 1,500 items of 64 B are 96 KB.
    #[test]
    fn query_rounds_the_sum_once() {
        assert_eq!(charge(&page(408 * KB / 10, 10, 1, Strong)), rcu(11_000));
        assert_eq!(charge(&page(408 * KB / 10, 10, 1, Eventual)), rcu(5_500));
        assert_eq!(charge(&page(1_500 * 64, 1_500, 1, Strong)), rcu(24_000));
        assert_eq!(charge(&page(1_500 * 64, 1_500, 1, Eventual)), rcu(12_000));
    }

    // physics.md 1.1: "Query/Scan finding nothing"; corollary: an eventual scan of four empty partitions
    // costs 2.0.
    #[test]
    fn finding_nothing_costs_the_minimum_per_partition_searched() {
        assert_eq!(charge(&page(0, 0, 1, Eventual)), rcu(500));
        assert_eq!(charge(&page(0, 0, 1, Strong)), rcu(1_000));
        assert_eq!(charge(&page(0, 0, 4, Eventual)), rcu(2_000));
        assert_eq!(charge(&page(0, 0, 0, Strong)), rcu(1_000), "an empty continuation page is a request too");
    }

    // physics.md 1.1: GSI query, 8 entries of 2,000 B are 2 units.
    #[test]
    fn a_gsi_query_pays_for_index_entries() {
        assert_eq!(charge(&page(8 * 2_000, 8, 1, Eventual)), rcu(2_000));
    }

    // physics.md 1.1: LSI query of unprojected attributes, 4 items of 300 B of which 200 B are projected:
    // 4 KB + 16 KB = 20 KB.
    #[test]
    fn an_lsi_query_fetches_and_rounds_each_base_item() {
        let mut footprints = vec![page(4 * 200, 4, 1, Strong)];
        footprints.extend([get(300, Strong); 4]);
        assert_eq!(sum(&footprints), rcu(5_000));
    }

    // physics.md 1.1: PutItem and UpdateItem pay for the larger of the two sizes, whole item.
    #[test]
    fn a_write_pays_for_the_larger_of_old_and_new() {
        assert_eq!(charge(&write(None, Some(KB))), wcu(1));
        assert_eq!(charge(&write(None, Some(KB + 1))), wcu(2));
        assert_eq!(charge(&write(Some(3 * KB), Some(KB))), wcu(3));
        assert_eq!(charge(&write(Some(KB), Some(3 * KB))), wcu(3));
    }

    // physics.md 1.1: DeleteItem, by the deleted size, at least 1.
    #[test]
    fn a_delete_pays_for_what_it_deletes() {
        assert_eq!(charge(&write(Some(2_500), None)), wcu(3));
        assert_eq!(charge(&write(None, None)), wcu(1));
    }

    // physics.md 1.1: BatchWriteItem of 500 B and 3.5 KB costs 1 + 4 = 5.
    #[test]
    fn batch_write_rounds_each_item() {
        assert_eq!(sum(&[write(None, Some(500)), write(None, Some(7 * KB / 2))]), wcu(5));
    }

    // physics.md 1.1: conditional write that fails, 300 KB there and 310 KB attempted.
    #[test]
    fn a_failed_condition_pays_for_the_larger_item() {
        let failed = |existing: Option<u64>, attempted: Option<u64>| Footprint::FailedWrite {
            existing: existing.map(Bytes),
            attempted: attempted.map(Bytes),
        };
        assert_eq!(charge(&failed(Some(300 * KB), Some(310 * KB))), wcu(310));
        assert_eq!(charge(&failed(Some(310 * KB), Some(300 * KB))), wcu(310));
        assert_eq!(charge(&failed(None, None)), wcu(1));
    }

    // physics.md 1.1: TransactWriteItems is twice, even when cancelled; the replay of a token reads.
    #[test]
    fn a_transactional_write_costs_twice_and_its_replay_reads() {
        assert_eq!(transactional(&write(None, Some(500))), wcu(2));
        assert_eq!(transactional(&write(Some(2 * KB), Some(3 * KB))), wcu(6));
        let cancelled = Footprint::FailedWrite { existing: Some(Bytes(500)), attempted: Some(Bytes(3 * KB)) };
        assert_eq!(transactional(&cancelled), wcu(6));
        assert_eq!(transaction_replay(Some(Bytes(500))), rcu(2_000));
        assert_eq!(transaction_replay(Some(Bytes(5 * KB))), rcu(4_000));
    }

    fn entry(
        key: &'static str,
        projected: &'static str,
        size: u64,
    ) -> IndexEntry<&'static str, &'static str> {
        IndexEntry { key, projected, size: Bytes(size) }
    }

    // physics.md 1.2, row by row, for entries of up to 1 KB.
    #[test]
    fn index_writes_follow_the_table() {
        let units = |before: Option<&_>, after: Option<&_>| index_write_units(before, after).milli() / MILLI;
        let a = entry("A", "x", 100);
        assert_eq!(units(None, Some(&a)), 1, "attribute newly defined");
        assert_eq!(units(Some(&a), Some(&entry("B", "x", 100))), 2, "key changed: delete and put");
        assert_eq!(units(Some(&a), None), 1, "attribute removed or item deleted");
        assert_eq!(units(None, None), 0, "not in the index before or after");
        assert_eq!(units(Some(&a), Some(&entry("A", "y", 100))), 1, "only projected attributes changed");
        assert_eq!(units(Some(&a), Some(&a)), 0, "nothing projected changed");
    }

    // physics.md 1.2: "each is multiplied by ceil(index entry size/1 KB)".
    #[test]
    fn index_writes_grow_with_the_entry() {
        let (small, large) = (entry("A", "x", 100), entry("B", "x", 2_500));
        assert_eq!(index_write_units(None, Some(&large)), WriteUnits::from_units(3));
        assert_eq!(index_write_units(Some(&small), Some(&large)), WriteUnits::from_units(1 + 3));
        let grown = entry("A", "y", 2_500);
        assert_eq!(index_write_units(Some(&small), Some(&grown)), WriteUnits::from_units(3));
        assert_eq!(index_write_units(Some(&grown), Some(&small)), WriteUnits::from_units(3));
    }

    proptest! {
        #[test]
        fn rounding_once_never_costs_more_than_rounding_each(
            sizes in prop::collection::vec(0..500_000_u64, 1..20),
        ) {
            let once = charge(&page(sizes.iter().sum(), sizes.len() as u64, 1, Eventual));
            let each: RequestCharge = sizes.iter().map(|&size| charge(&get(size, Eventual))).sum();
            prop_assert!(once.read <= each.read);
        }

        #[test]
        fn an_index_write_reversed_costs_the_same(
            keys in (0..2_u8, 0..2_u8),
            projected in (0..2_u8, 0..2_u8),
            sizes in (0..9_999_u64, 0..9_999_u64),
        ) {
            let a = IndexEntry { key: keys.0, projected: projected.0, size: Bytes(sizes.0) };
            let b = IndexEntry { key: keys.1, projected: projected.1, size: Bytes(sizes.1) };
            prop_assert_eq!(index_write_units(Some(&a), Some(&b)), index_write_units(Some(&b), Some(&a)));
        }
    }
}
