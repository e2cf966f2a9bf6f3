//! Promise: a table does by itself what the service would do: it splits for heat, says why when it does not, and on demand
//! follows its peak. Items stay where they can be found.

use hotplate::budget::{Fill, Rate};
use hotplate::clock::Instant;
use hotplate::lab::{VerdictName, diagnose};
use hotplate::physics::{Declined, HeatSplit};
use hotplate::profile::Throughput;
use hotplate::{Consistency, ItemKey, Profile, Query, Scan, Seed, Table, Transaction};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// As the default, but within half a minute.
const QUICK: HeatSplit = HeatSplit { hot_percent: 90, seconds_min: 20, seconds_max: 30 };

fn profile() -> Profile {
    Profile::dynamodb_provisioned(20_000, 20_000)
        .unwrap()
        .with_partitions(4)
        .unwrap()
        .with_fill(Fill::Base)
        .with_heat_splits(Some(QUICK))
}

/// Writes `rate` a second for some seconds; answers what was served in each.
fn load(table: &Table<Value>, from: u64, seconds: u64, rate: u64, key: impl Fn(u64) -> ItemKey) -> Vec<u64> {
    (from..from + seconds)
        .map(|second| {
            let begin = Instant::from_secs(second);
            let at = |i: u64| begin.after(Duration::from_nanos(i * 1_000_000_000 / rate));
            let served = |i: &u64| table.put(&key(second * rate + i), json!(i), at(*i)).is_ok();
            (0..rate).filter(served).count() as u64
        })
        .collect()
}

#[test]
fn a_hot_key_with_random_sort_keys_splits_and_recovers() {
    let table: Table<Value> = Table::new("t", profile(), Instant::START).unwrap();
    let key = |i: u64| ItemKey::new("hot", Seed(1).at(i) % 100_000);
    let served = load(&table, 0, 90, 1_700, key);
    assert!(served[2..18].iter().all(|n| (990..=1_010).contains(n)), "{:?}", &served[..20]);
    assert!(served[60..].iter().all(|n| *n >= 1_690), "{:?}", &served[60..]);
    let report = table.report();
    assert_eq!(report.partitions.len(), 5);
    assert!(report.events[0].what.contains("split for heat into"), "{:?}", report.events);
    let verdict = diagnose(&table, Instant::from_secs(90)).unwrap();
    assert_eq!(verdict.name, VerdictName::HotRange, "{}", verdict.text);
    assert!(verdict.text.contains("A split will help: 1 came"), "{}", verdict.text);
    // Whatever was written last under a key is found, on either side of the cut.
    let now = Instant::from_secs(200);
    let kept = (0..90 * 1_700).filter(|&i| served[(i / 1_700) as usize] == 1_700).map(key);
    for key in kept.step_by(997) {
        assert!(table.get(&key, Consistency::Strong, now).unwrap().item.is_some(), "{key:?}");
    }
    // The split stays.
    assert!(load(&table, 300, 10, 1_700, key).iter().all(|n| *n == 1_700));
}

#[test]
fn what_a_split_cannot_help_is_told() {
    type Case = (&'static str, bool, fn(u64) -> ItemKey, Declined);
    let cases: [Case; 3] = [
        ("one item", false, |_| ItemKey::new("hot", 0_u64), Declined::OneItem),
        ("growing", false, |i| ItemKey::new("hot", i), Declined::Monotonic),
        ("local index", true, |i| ItemKey::new("hot", Seed(1).at(i) % 1_000), Declined::OneCollection),
    ];
    for (name, local_index, key, declined) in cases {
        let profile = if local_index { profile().with_local_index() } else { profile() };
        let table: Table<Value> = Table::new(name, profile, Instant::START).unwrap();
        load(&table, 0, 70, 1_500, key);
        let report = table.report();
        assert_eq!(report.partitions.len(), 4, "{name}");
        let hot = table.partition_of(&key(0));
        let partition = report.partitions.iter().find(|partition| partition.id == hot).unwrap();
        assert_eq!(partition.declined, Some(declined), "{name}");
        assert!(report.events[0].what.contains("is hot and does not split"), "{name}");
        let verdict = diagnose(&table, Instant::from_secs(70)).unwrap();
        assert_eq!(verdict.name, VerdictName::HotKey, "{name}: {}", verdict.text);
    }
}

#[test]
fn many_hot_keys_of_one_partition_part() {
    let table: Table<Value> = Table::new("t", profile(), Instant::START).unwrap();
    let on_one = |n: &u64| table.partition_of(&ItemKey::new(format!("k{n}"), 0_u64)).0 == 2;
    let keys: Vec<u64> = (0..).filter(on_one).take(40).collect();
    let key = |i: u64| ItemKey::new(format!("k{}", keys[(Seed(3).at(i) % 40) as usize]), 0_u64);
    let served = load(&table, 0, 90, 1_800, key);
    assert!(served[5] < 1_100 && served[89] >= 1_790, "{served:?}");
}

/// Every table in process can be asked: what is too small, what is uneven, what is well.
#[test]
fn each_table_says_what_is_wrong_with_it() {
    let spread = |i: u64| ItemKey::new(format!("k{i}"), 0_u64);
    let small =
        Profile::dynamodb_provisioned(500, 500).unwrap().with_partitions(4).unwrap().with_fill(Fill::Base);
    let table: Table<Value> = Table::new("small", small, Instant::START).unwrap();
    assert!(diagnose(&table, Instant::START).is_none());
    load(&table, 0, 20, 1_000, spread);
    let verdict = diagnose(&table, Instant::from_secs(20)).unwrap();
    assert_eq!(verdict.name, VerdictName::TableTooSmall, "{}", verdict.text);
    let table: Table<Value> = Table::new("fine", profile(), Instant::START).unwrap();
    load(&table, 0, 20, 1_000, spread);
    let verdict = diagnose(&table, Instant::from_secs(20)).unwrap();
    assert_eq!(verdict.name, VerdictName::Healthy, "{}", verdict.text);

    // Two containers of 7 RU a write: one even and too small, one split unevenly.
    let cosmos = || Profile::cosmos_manual(2_000).unwrap().with_partitions(2).unwrap();
    let table: Table<Value> = Table::new("even", cosmos(), Instant::START).unwrap();
    load(&table, 0, 20, 500, spread);
    assert_eq!(diagnose(&table, Instant::from_secs(20)).unwrap().name, VerdictName::TableTooSmall);
    let table: Table<Value> = Table::new("uneven", cosmos(), Instant::START).unwrap();
    table.split(table.report().partitions[0].id, None, Instant::START).unwrap();
    load(&table, 0, 20, 250, spread);
    let verdict = diagnose(&table, Instant::from_secs(20)).unwrap();
    assert_eq!(verdict.name, VerdictName::UnevenRanges, "{}", verdict.text);
    let table: Table<Value> = Table::new("one key", cosmos(), Instant::START).unwrap();
    load(&table, 0, 20, 250, |i| ItemKey::new("hot", i));
    assert_eq!(diagnose(&table, Instant::from_secs(20)).unwrap().name, VerdictName::HotKey);

    // A key for each second: whatever is hot is somewhere else a moment later.
    let table: Table<Value> = Table::new("log", profile(), Instant::START).unwrap();
    load(&table, 0, 40, 1_800, |i| ItemKey::new(format!("second-{}", i / 1_800), i));
    let verdict = diagnose(&table, Instant::from_secs(40)).unwrap();
    assert_eq!(verdict.name, VerdictName::MovingHotSpot, "{}", verdict.text);
}

#[test]
fn no_split_where_it_is_turned_off_and_none_in_cosmos() {
    let table: Table<Value> = Table::new("t", profile().with_heat_splits(None), Instant::START).unwrap();
    load(&table, 0, 60, 1_500, |i| ItemKey::new("hot", Seed(1).at(i)));
    assert_eq!(table.partition_count(), 4);
    let cosmos = Profile::cosmos_manual(10_000).unwrap().with_heat_splits(Some(QUICK));
    assert_eq!(cosmos.heat_splits(), None);
}

/// "On-demand capacity mode": twice the previous peak, once that is half an hour old.
#[test]
fn an_on_demand_table_follows_its_peak() {
    let units = |units| Rate::per_second(units).unwrap();
    let profile = Profile::dynamodb_on_demand()
        .with_throughput(Throughput::ReadWrite { read: units(100), write: units(100) })
        .unwrap();
    let table: Table<Value> = Table::new("t", profile, Instant::START).unwrap();
    let key = |i: u64| ItemKey::new(format!("k{}", i % 1_000), 0_u64);
    let served = load(&table, 0, 32 * 60, 120, key);
    let rate = |second: u64| served[second as usize..second as usize + 10].iter().sum::<u64>() / 10;
    assert_eq!((rate(60), rate(25 * 60)), (100, 100));
    assert_eq!(rate(31 * 60 + 40), 120);
    assert!(
        table.report().events[0].what.starts_with("on demand, it now serves"),
        "{:?}",
        table.report().events
    );
    assert!(load(&table, 32 * 60, 10, 300, key)[5..].iter().all(|n| (198..=202).contains(n)));
}

/// Clocks that only know half seconds, and requests that are no point reads or writes, split a hot partition like any other.
#[test]
fn whoever_asks_and_with_whatever_clock_the_split_comes() {
    let key = |i: u64| ItemKey::new("hot", Seed(1).at(i) % 100_000);
    type Ask = fn(&Table<Value>, ItemKey, Instant);
    let cases: [(&str, Ask); 3] = [
        ("coarse puts", |table, key, now| {
            let _ = table.put(&key, json!(1), now);
        }),
        ("transactions", |table, key, now| {
            let _ = table.transact(Transaction::new().put(key, json!(1)), now);
        }),
        ("reads of transactions", |table, key, now| {
            let _ = table.read_transaction(&[key], now);
        }),
    ];
    for (name, ask) in cases {
        let table: Table<Value> = Table::new("t", profile(), Instant::START).unwrap();
        for second in 0..60 {
            for i in 0..3_500 {
                // A ceiling holds half a second's worth.
                let now = Instant::from_millis(second * 1_000 + i / 1_750 * 500);
                ask(&table, key(second * 3_500 + i), now);
            }
        }
        let report = table.report();
        assert!(report.partitions.len() >= 5, "{name}: {:?}", report.events);
        assert!(report.events[0].what.contains("split for heat into"), "{name}: {:?}", report.events);
    }
}

/// Many threads write, read, query, scan and transact while hot partitions split under them, and the clock jumps and steps
/// back: every item that was acknowledged is there once, in its own place.
#[test]
fn nothing_is_lost_or_doubled_while_threads_work_over_splits() {
    const RULE: HeatSplit = HeatSplit { hot_percent: 1, seconds_min: 1, seconds_max: 2 };
    for partitions in [1, 1_000] {
        let profile = Profile::dynamodb_provisioned(1_000_000, 1_000_000)
            .unwrap()
            .with_partitions(partitions)
            .unwrap()
            .with_fill(Fill::Full)
            .with_heat_splits(Some(RULE));
        let table: Table<Value> = Table::new("t", profile, Instant::START).unwrap();
        let millis = AtomicU64::new(0);
        let written: Vec<Vec<ItemKey>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8_u64)
                .map(|thread| {
                    let (table, millis) = (&table, &millis);
                    scope.spawn(move || {
                        let mut own = Vec::new();
                        for i in 0..3_000_u64 {
                            // Jumps ahead now and then, and each thread is a little behind.
                            let step = if i % 500 == 0 { 5_000 } else { 2 };
                            let at = millis.fetch_add(step, Ordering::Relaxed);
                            let now = Instant::from_millis(at.saturating_sub(thread * 300));
                            let key = ItemKey::new(format!("k{}", i % 7), thread << 32 | i);
                            match i % 5 {
                                0 => {
                                    let other =
                                        ItemKey::new(format!("k{}", i % 3), thread << 32 | i | 1 << 31);
                                    let both = Transaction::new()
                                        .put(key.clone(), json!(i))
                                        .put(other.clone(), json!(i));
                                    if table.transact(both, now).is_ok() {
                                        own.extend([key, other]);
                                    }
                                }
                                1 => drop(table.query(&Query::of(format!("k{}", i % 7)).limit(20), now)),
                                2 if i % 50 == 2 => drop(table.scan(&Scan::default().limit(50), now)),
                                _ => {
                                    if table.put(&key, json!(i), now).is_ok() {
                                        own.push(key.clone());
                                    }
                                    drop(table.get(&key, Consistency::Strong, now));
                                }
                            }
                        }
                        own
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let report = table.report();
        assert!(report.partitions.len() > partitions as usize, "{partitions}: it has split");
        let mut known: Vec<ItemKey> = written.into_iter().flatten().collect();
        known.sort();
        let (mut found, mut scan) = (Vec::new(), Scan::default());
        let mut second = 100_000;
        loop {
            second += 400;
            let page = table.scan(&scan, Instant::from_secs(second)).unwrap();
            found.extend(page.items.into_iter().map(|(key, _)| key));
            match page.continuation {
                Some(continuation) => scan = Scan::default().after(continuation),
                None => break,
            }
        }
        let all = found.len();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), all, "{partitions}: an item was found twice");
        assert!(found == known, "{partitions}: {} items of {}", found.len(), known.len());
    }
}
