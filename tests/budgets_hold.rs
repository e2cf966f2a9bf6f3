//! Promise: no partition and no table ever serves more than its limit, its saved-up burst and the charges in flight, and
//! what the vendors publish about their limits comes out of ours.

use hotplate::budget::{Capacity, Fill, Limit, PartitionId, Throttled};
use hotplate::cluster::Transaction;
use hotplate::key::Placement;
use hotplate::units::{Bytes, KB, MILLI};
use hotplate::{
    Consistency, Document, Instant, ItemKey, PartitionKey, Profile, Refusal, RequestCharge, SortKey, Table,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
struct Sized(u64);

impl Document for Sized {
    fn size(&self) -> Bytes {
        Bytes(self.0)
    }
}

fn table(profile: Profile) -> Table<Sized> {
    Table::new("t", profile, Instant::START).unwrap()
}

fn key(partition: &str) -> ItemKey {
    ItemKey { partition: PartitionKey::text(partition), sort: SortKey::none() }
}

/// The evenly spaced instants of `per_second` requests a second.
fn arrivals(from: Instant, per_second: u64, seconds: u64) -> impl Iterator<Item = Instant> {
    let gap =
        move |i: u64| Duration::from_nanos((u128::from(i) * 1_000_000_000 / u128::from(per_second)) as u64);
    (0..per_second * seconds).map(move |i| from.after(gap(i)))
}

fn throttled<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> Throttled {
    *outcome.unwrap_err().throttled().expect("only a throttle can be in the way")
}

fn assert_within(actual: u64, expected: u64, per_mille: u64) {
    assert!(actual.abs_diff(expected) * 1_000 <= expected * per_mille, "{actual}, expected {expected}");
}

// ---------------------------------------------------------------------------------------------------------------------
// The invariant

#[derive(Clone, Debug)]
struct Request {
    key: u8,
    /// Of the item that is written; nothing for a read.
    write: Option<u64>,
    gap_micros: u64,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let gap = prop_oneof![6 => Just(0), 6 => 0..20_000_u64, 2 => 0..1_000_000_u64, 1 => 0..20_000_000_u64];
    let size = prop_oneof![6 => 1..4 * KB, 1 => 1..300 * KB];
    let request = (0..6_u8, proptest::option::weighted(0.7, size), gap)
        .prop_map(|(key, write, gap_micros)| Request { key, write, gap_micros });
    proptest::collection::vec(request, 1..400)
}

/// What was admitted: when, where, for how much.
type Ledger = Vec<Admitted>;

#[derive(Clone, Copy, Debug)]
struct Admitted {
    partition: PartitionId,
    capacity: Capacity,
    now: Instant,
    milli: u64,
}

/// Sends every request and lets a throttled one come back once, exactly when it was told to.
fn send(table: &Table<Sized>, limits: &[Limit], requests: &[Request]) -> Ledger {
    let mut ledger = Ledger::new();
    let mut now = Instant::START;
    for request in requests {
        now = now.after(Duration::from_micros(request.gap_micros));
        let key = key(&format!("key-{}", request.key));
        let attempt = |now| match request.write {
            Some(size) => table.put(&key, Sized(size), now).map(|written| written.charge),
            None => table.get(&key, Consistency::Strong, now).map(|read| read.charge),
        };
        let capacity = if request.write.is_some() { Capacity::Write } else { Capacity::Read };
        let charge = attempt(now).or_else(|refusal| {
            let throttled = *refusal.throttled().unwrap();
            assert_eq!(throttled.partition, table.partition_of(&key));
            assert_eq!(throttled.capacity, capacity);
            assert!(limits.contains(&throttled.limit), "{throttled}");
            assert!(throttled.retry_after > Duration::ZERO);
            let back = now.after(throttled.retry_after);
            assert!(
                attempt(Instant::from_nanos(back.nanos() - 1)).is_err(),
                "{throttled}, but it passes before"
            );
            now = back;
            attempt(now)
        });
        let charge = charge.expect("alone, it is admitted when it was told to come back");
        ledger.push(Admitted { partition: table.partition_of(&key), capacity, now, milli: milli(charge) });
    }
    ledger
}

fn milli(charge: RequestCharge) -> u64 {
    charge.read.milli() + charge.write.milli() + charge.request.milli()
}

/// In no stretch of time was more admitted than `rate` gives in it, what was saved up before, and one charge in flight.
fn assert_bucket<'a>(admitted: impl Iterator<Item = &'a Admitted>, rate: u64, saved: u64) {
    let admitted: Vec<_> = admitted.collect();
    let in_flight = admitted.iter().map(|a| a.milli).max().unwrap_or(0);
    for (i, first) in admitted.iter().enumerate() {
        let mut sum = 0;
        for last in &admitted[i..] {
            sum += last.milli;
            let refill = last.now.since(first.now).as_nanos() * u128::from(rate * MILLI) / 1_000_000_000 + 1;
            assert!(
                u128::from(sum) <= refill + u128::from(saved * MILLI + in_flight),
                "{sum}: {first:?} to {last:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dynamodb_admits_no_more_than_limit_and_burst_and_flight(requests in requests()) {
        const TABLE: (u64, u64) = (40, 100);
        let profile = Profile::dynamodb_provisioned(TABLE.0, TABLE.1).unwrap().with_partitions(3).unwrap();
        let ledger = send(&table(profile), &[Limit::KeyRange, Limit::Table], &requests);
        let of = |capacity| ledger.iter().filter(move |a| a.capacity == capacity);
        for partition in (0..3).map(PartitionId) {
            assert_bucket(of(Capacity::Read).filter(|a| a.partition == partition), 3_000, 1_500);
            assert_bucket(of(Capacity::Write).filter(|a| a.partition == partition), 1_000, 500);
        }
        assert_bucket(of(Capacity::Read), TABLE.0, 300 * TABLE.0);
        assert_bucket(of(Capacity::Write), TABLE.1, 300 * TABLE.1);
    }

    /// Without saved-up burst the table's own limit is what is felt.
    #[test]
    fn dynamodb_without_burst(requests in requests()) {
        let profile = Profile::dynamodb_provisioned(10, 20).unwrap().with_partitions(3).unwrap();
        let ledger = send(&table(profile.with_fill(Fill::Base)), &[Limit::KeyRange, Limit::Table], &requests);
        for (capacity, rate) in [(Capacity::Read, 10), (Capacity::Write, 20)] {
            let admitted = || ledger.iter().filter(|a| a.capacity == capacity);
            let in_flight = admitted().map(|a| a.milli).max().unwrap_or(0);
            let mut sum = 0;
            for Admitted { now, milli, .. } in admitted() {
                sum += milli;
                let refill = now.nanos() / 1_000_000 * rate + rate;
                assert!(sum <= refill + rate * MILLI / 2 + in_flight, "{sum} until {now:?}");
            }
        }
    }

    #[test]
    fn cosmos_admits_no_more_than_its_share_each_second(requests in requests()) {
        const SHARE: u64 = 200;
        let profile = Profile::cosmos_manual(3 * SHARE).unwrap().with_partitions(3).unwrap();
        let ledger = send(&table(profile), &[Limit::PartitionShare], &requests);
        let mut seconds: BTreeMap<(PartitionId, u64), (u64, u64)> = BTreeMap::new();
        for Admitted { partition, now, milli, .. } in ledger {
            let (sum, largest) = seconds.entry((partition, now.second())).or_default();
            *sum += milli;
            *largest = (*largest).max(milli);
        }
        for (second, (sum, largest)) in seconds {
            assert!(sum <= SHARE * MILLI + largest, "{sum} in {second:?}");
        }
    }
}

#[test]
fn many_threads_overdraw_by_what_they_have_in_flight() {
    const THREADS: u64 = 4;
    let table = table(Profile::dynamodb_on_demand());
    let admitted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let table = &table;
                let put =
                    move |n| table.put(&key(&format!("key-{}", (t + n) % 3)), Sized(KB), Instant::START);
                scope.spawn(move || (0..2_000).filter(|&n| put(n).is_ok()).count() as u64)
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let partitions: BTreeSet<_> = (0..3).map(|n| table.partition_of(&key(&format!("key-{n}")))).collect();
    let credit = 500 * partitions.len() as u64;
    assert!(
        (credit..=credit + THREADS * partitions.len() as u64).contains(&admitted),
        "{admitted} of {credit}"
    );
}

/// When two limits are exhausted, the time to come back is that of the later one.
#[test]
fn one_wait_is_enough_for_both_limits() {
    let table = table(Profile::dynamodb_provisioned(100, 100).unwrap().with_fill(Fill::Base));
    let transaction = (0..100_u64)
        .fold(Transaction::new(), |transaction, n| transaction.put(ItemKey::new("key", n), Sized(10 * KB)));
    table.transact(transaction, Instant::START).unwrap();
    // 2,000 units were spent: the partition is back after 1.5 s, the table after 19.5 s.
    let refused = throttled(table.put(&key("key"), Sized(1), Instant::START));
    assert_eq!(refused.limit, Limit::KeyRange, "more throughput for the table would not help");
    assert!(table.put(&key("key"), Sized(1), Instant::START.after(refused.retry_after)).is_ok(), "{refused}");
}

#[test]
fn what_is_throttled_changes_nothing_and_costs_nothing() {
    let table = table(Profile::dynamodb_provisioned(10, 10).unwrap().with_fill(Fill::Base));
    table.put(&key("a"), Sized(300 * KB), Instant::START).unwrap();
    let before = table.report().partitions[0].writes.totals();
    for _ in 0..3 {
        throttled(table.put(&key("a"), Sized(1), Instant::START));
        throttled(table.delete(&key("a"), Instant::START));
        throttled(table.put_if(&key("b"), Sized(1), Instant::START, |_| panic!("never asked")));
    }
    let after = table.report().partitions[0].writes.totals();
    assert_eq!((after.consumed_milli, after.throttles), (before.consumed_milli, 9));
    assert_eq!(
        table.get(&key("a"), Consistency::Strong, Instant::START).unwrap().item,
        Some(Sized(300 * KB))
    );
}

// ---------------------------------------------------------------------------------------------------------------------
// Published figures

/// Seconds of saturating load: enough for the half second of credit at the beginning to be under a percent.
const SATURATED_SECS: u64 = 60;

/// "Designing partition keys": a partition serves "up to 3000 RCU and 1000 WCU", whatever the table may do.
#[test]
fn one_key_of_a_new_on_demand_table_writes_1000_a_second_and_reads_3000() {
    let profile = Profile::dynamodb_on_demand();
    let (writes, reads) = (table(profile.clone()), table(profile));
    let hot = key("2018-08-09");

    let mut served = 0;
    for now in arrivals(Instant::START, 2_500, SATURATED_SECS) {
        match writes.put(&hot, Sized(KB), now) {
            Ok(_) => served += 1,
            refused => assert_eq!(throttled(refused).limit, Limit::KeyRange),
        }
    }
    assert_within(served, 1_000 * SATURATED_SECS, 20);

    reads.put(&hot, Sized(KB), Instant::START).unwrap();
    let mut served = 0;
    for now in arrivals(Instant::START, 5_000, SATURATED_SECS) {
        match reads.get(&hot, Consistency::Strong, now) {
            Ok(_) => served += 1,
            refused => assert_eq!(throttled(refused).limit, Limit::KeyRange),
        }
    }
    assert_within(served, 3_000 * SATURATED_SECS, 20);
}

#[test]
fn a_provisioned_table_serves_what_it_pays_for() {
    let table = table(Profile::dynamodb_provisioned(100, 100).unwrap().with_fill(Fill::Base));
    let mut served = 0;
    for (now, n) in arrivals(Instant::START, 500, SATURATED_SECS).zip(0_u64..) {
        match table.put(&key(&format!("key-{}", n % 50)), Sized(KB), now) {
            Ok(_) => served += 1,
            refused => assert_eq!(throttled(refused).limit, Limit::Table),
        }
    }
    assert_within(served, 100 * SATURATED_SECS, 20);
}

/// AWS re:Post, "Why is my DynamoDB table being throttled": 150 RCU unused for five minutes are 45,000 saved units, and a
/// load of 200 takes 50 a second of them: 900 s.
#[test]
fn saved_burst_carries_200_reads_a_second_for_900_seconds_on_150() {
    let idle = Instant::from_secs(300);
    for (fill, from) in [(Fill::Base, idle), (Fill::Full, Instant::START)] {
        let table = table(Profile::dynamodb_provisioned(150, 1).unwrap().with_fill(fill));
        let refused = arrivals(from, 200, 1_000).find_map(|now| {
            let read = table.get(&key("absent"), Consistency::Strong, now);
            read.err().map(|refusal| (now, refusal.throttled().unwrap().limit))
        });
        let (now, limit) = refused.expect("1,000 seconds are too long");
        let lasted = now.since(from).as_secs();
        assert!((899..=901).contains(&lasted), "{lasted} s");
        assert_eq!(limit, Limit::Table);
    }
}

/// "Partitioning and horizontal scaling": 18,000 RU/s over three physical partitions are 6,000 each, and "reset every
/// second".
#[test]
fn cosmos_gives_each_of_three_partitions_6000_of_18000() {
    let table = table(Profile::cosmos_manual(18_000).unwrap());
    let mut hot = BTreeMap::new();
    for n in 0..50 {
        let key = key(&format!("key-{n}"));
        hot.entry(table.partition_of(&key)).or_insert(key);
    }
    assert_eq!(hot.len(), 3);
    for second in 0..3 {
        for (partition, key) in &hot {
            let (mut consumed, mut largest) = (0, 0);
            for now in arrivals(Instant::from_secs(second), 7_000, 1) {
                match table.get(key, Consistency::Eventual, now) {
                    Ok(read) => {
                        consumed += milli(read.charge);
                        largest = milli(read.charge);
                    }
                    refused => {
                        let throttled = throttled(refused);
                        assert_eq!(
                            (throttled.partition, throttled.limit),
                            (*partition, Limit::PartitionShare)
                        );
                        assert_eq!(now.after(throttled.retry_after), Instant::from_secs(second + 1));
                    }
                }
            }
            assert!(
                (6_000 * MILLI..6_000 * MILLI + largest).contains(&consumed),
                "{consumed} in second {second}"
            );
        }
    }
}

/// 200 suffixes do not make ten partitions equal: 200 balls in ten bins. The fullest bin holds 1.36 times the mean
/// (computed by simulation outside this crate).
#[test]
fn two_hundred_suffixes_over_ten_partitions_are_uneven_by_a_third() {
    let placement = Placement::Seeded { layout: 7 };
    let bounds = placement.even_bounds(10);
    let (bases, suffixes) = (200, 200);
    let mut sum = 0.0;
    for base in 0..bases {
        let mut counts = [0_u32; 10];
        for suffix in 1..=suffixes {
            let token = placement.token(&PartitionKey::text(&format!("2014-07-{base}.{suffix}")));
            counts[bounds.partition_point(|bound| *bound <= token)] += 1;
        }
        let mean = f64::from(suffixes) / counts.len() as f64;
        sum += f64::from(*counts.iter().max().unwrap()) / mean;
    }
    let average = sum / f64::from(bases);
    assert!((average - 1.36).abs() <= 0.03, "{average}");
}
