//! Promise: a table does by itself what the service would do: it splits for heat, says why when it does not, and on demand
//! follows its peak. Items stay where they can be found.

use hotplate::budget::{Fill, Rate};
use hotplate::clock::Instant;
use hotplate::physics::{Declined, HeatSplit};
use hotplate::profile::Throughput;
use hotplate::{Consistency, ItemKey, Profile, Seed, Table};
use serde_json::{Value, json};
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
    let cases: [(&str, bool, fn(u64) -> ItemKey, Declined); 3] = [
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
