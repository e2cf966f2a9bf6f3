//! Promise: what cannot be done is refused for the right reason, at the right price, and nothing is changed by it.

use hotplate::cluster::{BatchRead, BatchWrite, Direction, Transaction, TransactionRefusal, Written};
use hotplate::error::ErrorKind;
use hotplate::key::{EpkVersion, Placement};
use hotplate::ring::RingPoint;
use hotplate::units::Bytes;
use hotplate::{
    Change, Consistency, Document, Instant, ItemKey, PartitionKey, Profile, Query, Refusal, RequestCharge,
    SortKey, Table,
};
use std::ops::Bound;
use std::time::Duration;

const NOW: Instant = Instant::START;

#[derive(Clone, Debug, PartialEq)]
struct Sized(u64);

impl Document for Sized {
    fn size(&self) -> Bytes {
        Bytes(self.0)
    }
}

fn table(profile: Profile) -> Table<Sized> {
    Table::new("t", profile, NOW).unwrap()
}

fn dynamodb() -> Table<Sized> {
    table(Profile::dynamodb_provisioned(1_000, 1_000).unwrap())
}

fn cosmos() -> Table<Sized> {
    table(Profile::cosmos_manual(10_000).unwrap())
}

fn key(partition: &str, sort: u64) -> ItemKey {
    ItemKey::new(partition, sort)
}

fn kind(refusal: &Refusal) -> ErrorKind {
    match refusal {
        Refusal::Invalid(error) => error.kind(),
        other => panic!("{other}"),
    }
}

fn cancelled(outcome: Result<Vec<Written<Sized>>, TransactionRefusal>) -> TransactionRefusal {
    outcome.expect_err("it should have been cancelled")
}

fn get(table: &Table<Sized>, key: &ItemKey) -> Option<Sized> {
    table.get(key, Consistency::Strong, NOW).unwrap().item
}

#[test]
fn an_item_over_the_limit_is_never_possible_and_free() {
    // "Quotas": 400 KB and 2 MB.
    for (table, most) in [(dynamodb(), 400 << 10), (cosmos(), 2 << 20)] {
        let (now, later) = (NOW, NOW.after(Duration::from_secs(10)));
        table.put(&key("a", 1), Sized(most), now).unwrap();
        let too_large = || Sized(most + 1);
        let refusals = [
            table.put(&key("a", 1), too_large(), later).unwrap_err(),
            table.update(&key("a", 1), later, |_| Change::Put(too_large())).unwrap_err(),
            table.update(&key("b", 1), later, |_| Change::Put(too_large())).unwrap_err(),
        ];
        for refusal in &refusals {
            assert_eq!(kind(refusal), ErrorKind::TooLarge);
            assert!(refusal.charge().is_zero());
        }
        let transaction = Transaction::new().delete(key("a", 1)).put(key("a", 2), too_large());
        let refused = cancelled(table.transact(transaction, later));
        assert_eq!((refused.action, kind(&refused.refusal)), (Some(1), ErrorKind::TooLarge));
        assert!(refused.charge.is_zero());
        let read = table.get(&key("a", 1), Consistency::Strong, later).unwrap();
        assert_eq!(read.item, Some(Sized(most)));
        assert_eq!(table.report().partitions.iter().map(|p| p.logical_partitions).sum::<usize>(), 1);
    }
}

#[test]
fn batches_are_neither_empty_nor_too_long_nor_twice_about_one_item() {
    for (table, most) in [(dynamodb(), 25), (cosmos(), 100)] {
        let batch = |n: u64| (0..n).map(|i| BatchWrite::Put(key("a", i), Sized(1))).collect::<Vec<_>>();
        assert_eq!(table.write_batch(vec![], NOW).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(table.write_batch(batch(most + 1), NOW).unwrap_err().kind(), ErrorKind::TooLarge);
        let twice = vec![BatchWrite::Put(key("a", 1), Sized(1)), BatchWrite::Delete(key("a", 1))];
        assert_eq!(table.write_batch(twice, NOW).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert!(table.report().partitions.iter().all(|p| p.bytes == Bytes::ZERO));
        assert!(table.write_batch(batch(most), NOW).unwrap().iter().all(Result::is_ok));

        let read = |i| BatchRead { key: key("a", i), consistency: Consistency::Eventual };
        assert!(table.read_batch(&[], NOW).is_err());
        assert!(table.read_batch(&[read(1), read(1)], NOW).is_err());
        assert_eq!(
            table.read_batch(&(0..101).map(read).collect::<Vec<_>>(), NOW).unwrap_err().kind(),
            ErrorKind::TooLarge
        );
        assert_eq!(table.read_batch(&[read(1), read(most)], NOW).unwrap().len(), 2);
    }
}

#[test]
fn transactions_are_neither_empty_nor_too_long_nor_twice_about_one_item() {
    for table in [dynamodb(), cosmos()] {
        let long = |n: u64| (0..n).fold(Transaction::new(), |t, i| t.put(key("a", i), Sized(1)));
        for (transaction, expected) in [
            (Transaction::new(), ErrorKind::InvalidInput),
            (long(101), ErrorKind::TooLarge),
            (Transaction::new().delete(key("a", 1)).put(key("a", 1), Sized(1)), ErrorKind::InvalidInput),
        ] {
            let refused = cancelled(table.transact(transaction, NOW));
            assert_eq!((refused.action, kind(&refused.refusal)), (None, expected));
        }
        assert_eq!(table.transact(long(100), NOW).unwrap().len(), 100);
        let keys: Vec<_> = (0..101).map(|i| key("a", i)).collect();
        assert!(table.read_transaction(&keys, NOW).is_err());
        assert!(table.read_transaction(&[], NOW).is_err());
        assert!(table.read_transaction(&[keys[0].clone(), keys[0].clone()], NOW).is_err());
    }
}

/// "Transactional batch operations": all of them with the same partition key.
#[test]
fn a_cosmos_transaction_stays_within_one_logical_partition() {
    let across = || Transaction::new().put(key("a", 1), Sized(1)).put(key("b", 1), Sized(1));
    let table = cosmos();
    let refused = cancelled(table.transact(across(), NOW));
    assert_eq!((refused.action, kind(&refused.refusal)), (None, ErrorKind::InvalidInput));
    assert!(table.read_transaction(&[key("a", 1), key("b", 1)], NOW).is_err());
    assert_eq!(get(&table, &key("a", 1)), None);
    assert_eq!(dynamodb().transact(across(), NOW).unwrap().len(), 2);
}

#[test]
fn a_cancelled_transaction_is_charged_and_leaves_no_trace() {
    let table = dynamodb();
    table.put(&key("a", 1), Sized(3_000), NOW).unwrap();
    let transaction = Transaction::new()
        .delete(key("a", 1))
        .put(key("new", 1), Sized(1))
        .check(key("absent", 1), |item| item.is_some());
    let refused = cancelled(table.transact(transaction, NOW));
    assert_eq!(refused.action, Some(2));
    // Twice what three failed writes cost: 3 units for the item that is there, one for each that is not.
    assert_eq!(refused.refusal, Refusal::ConditionFailed { charge: refused.charge });
    assert_eq!(refused.charge.to_string(), "10 WCU");
    assert_eq!((get(&table, &key("a", 1)), get(&table, &key("new", 1))), (Some(Sized(3_000)), None));
    assert_eq!(table.report().partitions.iter().map(|p| p.logical_partitions).sum::<usize>(), 1);
    // Nothing is left marked.
    assert!(table.put(&key("new", 1), Sized(1), NOW).is_ok() && table.delete(&key("a", 1), NOW).is_ok());
}

/// The limit holds for what a transaction adds in all, not for each of its items alone.
#[test]
fn a_logical_partition_gets_full() {
    let table = table(Profile::cosmos_manual(10_000).unwrap().with_logical_max(Bytes(1_000)).unwrap());
    table.put(&key("a", 1), Sized(600), NOW).unwrap();
    let refused = table.put(&key("a", 2), Sized(401), NOW).unwrap_err();
    assert!(matches!(refused, Refusal::LogicalPartitionFull { .. }) && !refused.charge().is_zero());
    let refused = cancelled(
        table.transact(Transaction::new().put(key("a", 2), Sized(300)).put(key("a", 3), Sized(101)), NOW),
    );
    assert_eq!(
        (refused.action, refused.refusal),
        (Some(1), Refusal::LogicalPartitionFull { charge: refused.charge })
    );
    assert_eq!(get(&table, &key("a", 2)), None);
    // What makes room first may use it.
    let swap = Transaction::new().delete(key("a", 1)).put(key("a", 2), Sized(1_000));
    assert_eq!(table.transact(swap, NOW).unwrap().len(), 2);
    assert!(table.put(&key("a", 2), Sized(999), NOW).is_ok(), "replacing makes room too");
    assert!(table.put(&key("b", 1), Sized(1_000), NOW).is_ok(), "another key has room of its own");
    assert!(Profile::dynamodb_on_demand().with_logical_max(Bytes::ZERO).is_err());
}

#[test]
fn a_continuation_serves_its_own_question_only() {
    let table = dynamodb();
    for n in 0..9 {
        table.put(&key("a", n), Sized(1), NOW).unwrap();
    }
    let query = Query::of("a").limit(2);
    let continuation = table.query(&query, NOW).unwrap().continuation.unwrap();
    let others = [
        Query::of("b"),
        Query::of("a").direction(Direction::Descending),
        Query::of("a").between(Bound::Included(SortKey::number(0)), Bound::Unbounded),
    ];
    for other in others {
        let refused = table.query(&other.after(continuation.clone()), NOW).unwrap_err();
        assert_eq!(kind(&refused), ErrorKind::BadContinuation);
    }
    let refused = table.scan(&hotplate::Scan::default().after(continuation.clone()), NOW).unwrap_err();
    assert_eq!(kind(&refused), ErrorKind::BadContinuation);
    assert_eq!(table.query(&Query::of("a").limit(7).after(continuation), NOW).unwrap().items.len(), 7);
}

/// A partition with one thing in it cannot be divided by size: neither by hand nor when it outgrows its limit.
#[test]
fn what_cannot_be_divided_stays_whole() {
    let dynamodb = Profile::dynamodb_provisioned(1_000, 1_000).unwrap();
    let cosmos = Profile::cosmos_manual(10_000).unwrap();
    let (one_item, one_key) = (1, 5);
    for (profile, items) in [(dynamodb, one_item), (cosmos, one_key)] {
        let partitions = profile.partitions() as usize;
        let table = table(profile.with_partition_max(Bytes(10)).unwrap());
        for n in 0..items {
            for _ in 0..3 {
                table.put(&key("a", n), Sized(100), NOW).unwrap();
            }
        }
        assert!(table.split(table.partition_of(&key("a", 0)), None, NOW).is_err());
        assert_eq!(table.report().partitions.len(), partitions);
    }
}

/// Version 1 hashes the first hundred characters: keys that differ only later share a token, and no bound parts them.
#[test]
fn keys_that_share_a_token_stay_together() {
    let profile =
        Profile::cosmos_manual(1_000).unwrap().with_placement(Placement::Cosmos { version: EpkVersion::V1 });
    let table = table(profile);
    let long = |n: u64| ItemKey::new(PartitionKey::text(&format!("{}{n}", "x".repeat(110))), 0_u64);
    for n in 0..4 {
        table.put(&long(n), Sized(100), NOW).unwrap();
    }
    assert_eq!(table.token(&long(0).partition), table.token(&long(1).partition));
    assert!(table.split(table.partition_of(&long(0)), None, NOW).is_err());
    assert_eq!(table.scan(&hotplate::Scan::default(), NOW).unwrap().items.len(), 4);
}

/// Ancestors are listed once each, however often the same neighbours part and unite.
#[test]
fn a_family_tree_grows_by_its_members() {
    let table = dynamodb();
    let token = table.token(&"a".into());
    for cycle in 0..40 {
        let id = table.partition_of(&key("a", 0));
        let at = RingPoint::inside(token.clone(), SortKey::number(cycle));
        let (low, _) = table.split(id, Some(at), NOW).unwrap();
        table.merge(low, NOW).unwrap();
        let id = table.partition_of(&key("a", 0));
        let report = table.report();
        let parents = &report.partitions.iter().find(|p| p.id == id).unwrap().parents;
        assert_eq!(parents.len() as u64, 3 * (cycle + 1));
        assert!(parents.windows(2).all(|pair| pair[0] < pair[1]));
    }
    assert_eq!(table.report().retired.len(), 120);
}

/// A merge gives the keys of an exhausted partition no new throughput, for reads nor for writes.
#[test]
fn a_merge_creates_no_throughput() {
    for exhausted in [0, 1] {
        let table = table(Profile::dynamodb_on_demand().with_partitions(2).unwrap());
        let mut keys: Vec<_> = (0..20).map(|n| key(&format!("key-{n}"), 0)).collect();
        keys.sort_by_key(|key| table.partition_of(key));
        let (reader, writer) = match exhausted {
            0 => (keys.first().unwrap(), keys.last().unwrap()),
            _ => (keys.last().unwrap(), keys.first().unwrap()),
        };
        assert_ne!(table.partition_of(reader), table.partition_of(writer));
        while table.get(reader, Consistency::Strong, NOW).is_ok() {}
        while table.put(writer, Sized(1), NOW).is_ok() {}
        table.merge(table.report().partitions[0].id, NOW).unwrap();
        assert!(table.get(reader, Consistency::Strong, NOW).is_err());
        assert!(table.put(writer, Sized(1), NOW).is_err());
    }
}

/// A query that finds nothing is charged where its search began.
#[test]
fn an_empty_query_is_served_by_the_partition_where_it_looked() {
    let table = dynamodb();
    for n in 0..10 {
        table.put(&key("a", n), Sized(1), NOW).unwrap();
    }
    let at = RingPoint::inside(table.token(&"a".into()), SortKey::number(5));
    let (low, high) = table.split(table.partition_of(&key("a", 0)), Some(at), NOW).unwrap();
    let beyond = Bound::Included(SortKey::number(50));
    for (query, partition) in [
        (Query::of("a").between(beyond.clone(), Bound::Unbounded), high),
        (Query::of("a").between(beyond, Bound::Unbounded).direction(Direction::Descending), high),
        (Query::of("a").between(Bound::Unbounded, Bound::Excluded(SortKey::number(0))), low),
        // Turned around.
        (
            Query::of("a").between(Bound::Included(SortKey::number(9)), Bound::Excluded(SortKey::number(2))),
            high,
        ),
    ] {
        let page = table.query(&query, NOW).unwrap();
        assert_eq!((page.items.len(), page.continuation, page.partitions), (0, None, vec![partition]));
        assert_eq!(page.charge, RequestCharge::read(hotplate::units::ReadUnits::from_milli(500)));
    }
}
