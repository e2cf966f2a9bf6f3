//! Promise: a run counts what happened to whom, refuses what would not fit into memory with the reason, and its advice does
//! not send anybody the wrong way.

use hotplate::budget::Fill;
use hotplate::client::RetryPolicy;
use hotplate::lab::Distribution;
use hotplate::lab::run::{
    Clients, DrawnKeys, IndexSpec, Items, KeySpec, LoadSpec, OnDemand, Operation, RunReport, Scenario,
    TableSpec, VerdictName, run,
};
use hotplate::units::Bytes;
use hotplate::{Consistency, Profile, Seed};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn dynamodb(read: u64, write: u64, partitions: u32) -> Profile {
    let profile = Profile::dynamodb_provisioned(read, write).unwrap();
    profile.with_partitions(partitions).unwrap().with_fill(Fill::Base)
}

fn one_item(name: &str) -> DrawnKeys {
    DrawnKeys::new(name, 1, Distribution::Uniform).items(Items::One)
}

fn even(name: &str) -> DrawnKeys {
    DrawnKeys::new(name, 1_000_000, Distribution::Uniform)
}

fn load(name: &str, keys: DrawnKeys, rate: u64) -> LoadSpec {
    LoadSpec::new(name, keys, Clients::constant(rate, MINUTE))
}

fn scenario(profile: Profile) -> Scenario {
    Scenario::new("s", Seed(1)).table(TableSpec::new("t", profile))
}

fn ran(scenario: &Scenario) -> RunReport {
    run(scenario, &mut ()).unwrap()
}

fn only(scenario: &Scenario) -> (VerdictName, String) {
    let report = ran(scenario);
    assert_eq!(report.verdicts.len(), 1, "{:?}", report.verdicts);
    (report.verdicts[0].name, report.verdicts[0].text.clone())
}

/// In a transaction all members fail with the one that lacked room, and that one is why.
#[test]
fn a_refused_transaction_is_counted_whole_and_blamed_on_its_culprit() {
    let batch = load("both", even("k"), 1_000).operation(Operation::TransactWrite(4));
    let scenario = scenario(dynamodb(1, 1_000, 1)).load(batch);
    let report = ran(&scenario);
    let load = &report.loads[0];
    // 1,000 units serve 125 transactions of four at two units each: an eighth.
    assert!((0.86..0.89).contains(&load.throttled_share), "{}", load.throttled_share);
    assert_eq!(load.attempts, 4 * load.operations);
    assert_eq!(load.throttled, load.reasons.iter().map(|reason| reason.count).sum::<u64>());
    // A hot key refuses transactions whose first members lie elsewhere.
    let hot = load_of_hot_key();
    let report = ran(&hot);
    let key = report.tables[0].top_keys.iter().max_by_key(|key| key.throttles).unwrap();
    assert_eq!(key.key, "hot", "{:?}", report.tables[0].top_keys);
}

fn load_of_hot_key() -> Scenario {
    let mut names = vec!["hot".to_owned()];
    names.extend((0..50).map(|i| format!("cold-{i}")));
    let mut weights = vec![50];
    weights.extend([1; 50]);
    let keys = DrawnKeys { names, ..DrawnKeys::new("k", 51, Distribution::Weighted(weights)) };
    scenario(dynamodb(1, 20_000, 20)).load(load("l", keys, 400).operation(Operation::TransactWrite(4)))
}

#[test]
fn what_does_not_fit_into_memory_is_refused_with_the_reason() {
    // Keys beyond the room are counted by the heaviest.
    let many = (0..40).fold(scenario(dynamodb(1, 1_000, 1)), |scenario, i| {
        let keys = DrawnKeys::new(format!("k{i}"), 4_000_000, Distribution::Uniform);
        scenario.load(load(&format!("l{i}"), keys, 1))
    });
    assert_eq!(ran(&many).loads.len(), 40);
    let tables = (0..30).fold(Scenario::new("s", Seed(1)), |scenario, i| {
        scenario.table(TableSpec::new(format!("t{i}"), dynamodb(1, 1_000, 1_000)))
    });
    let error = run(&tables.load(load("l", even("k"), 1)), &mut ()).unwrap_err();
    assert!(error.to_string().contains("t20 there are 21000 partitions"), "{error}");
    let flood = load("flood", one_item("k"), 40_000)
        .operation(Operation::BatchWrite(25))
        .retry(RetryPolicy::AwsLegacy);
    let error = run(&scenario(dynamodb(1, 10, 1)).load(flood), &mut ()).unwrap_err();
    assert!(error.to_string().contains("wait to be sent again"), "{error}");
}

/// A quota that is empty ends retries: what is refused then are first attempts.
#[test]
fn a_load_that_hardly_retries_is_no_storm() {
    let with = |retry| {
        let scenario = scenario(dynamodb(1, 500, 1)).load(load("l", even("k"), 5_000).retry(retry));
        ran(&scenario).verdicts.iter().any(|verdict| verdict.name == VerdictName::RetryStorm)
    };
    assert!(!with(RetryPolicy::AwsStandard2026));
    assert!(with(RetryPolicy::AwsLegacy));
}

/// Reads and writes have limits of their own: evidence is about those that were refused.
#[test]
fn a_hot_key_is_told_in_the_units_of_its_limit() {
    let reads = Operation::Get(Consistency::Strong);
    let mixed =
        LoadSpec { mix: vec![(90, reads), (10, Operation::Update)], ..load("l", one_item("k"), 5_000) };
    let (name, text) = only(&scenario(dynamodb(9_000, 9_000, 9)).load(mixed));
    assert_eq!(name, VerdictName::HotKey, "{text}");
    assert!(text.contains("RCU where a partition serves 3,000"), "{text}");
    let rate = text.split(" of the requests, ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(rate.starts_with("4,5") || rate.starts_with("4,4"), "4,500 reads a second: {text}");
    // A reader on cool keys beside it takes nothing away from a hot writer.
    let hot = load("w", one_item("k"), 1_500).operation(Operation::Update);
    let cool = load("r", even("r"), 8_000).operation(reads);
    let (name, text) = only(&scenario(dynamodb(20_000, 10_000, 10)).load(hot).load(cool));
    assert_eq!(name, VerdictName::HotKey, "{text}");
    assert!(text.contains("Key k has 100%") && text.contains("1,500 WCU"), "{text}");
}

#[test]
fn whether_a_key_can_be_divided_is_asked_of_the_load_that_made_it_hot() {
    let hot = load("hot", DrawnKeys::new("hot", 1, Distribution::Uniform), 1_800);
    let cool = load("cool", DrawnKeys::new("c", 1_000, Distribution::Uniform).items(Items::One), 100);
    for (first, second) in [(hot.clone(), cool.clone()), (cool, hot)] {
        let (name, text) = only(&scenario(dynamodb(1, 10_000, 10)).load(first).load(second));
        assert_eq!(name, VerdictName::HotRange, "{text}");
        assert!(text.contains("A split will help"), "{text}");
    }
}

#[test]
fn a_small_table_with_a_hot_item_is_told_both() {
    let (name, text) = only(&scenario(dynamodb(1, 700, 1)).load(load("l", one_item("k"), 2_500)));
    assert_eq!(name, VerdictName::TableTooSmall);
    assert!(text.contains("key k alone is asked for 2,500 WCU where a partition serves 1,000"), "{text}");
    let (_, text) = only(&scenario(dynamodb(1, 700, 1)).load(load("l", even("k"), 2_500)));
    assert!(text.contains("better keys would change little"), "{text}");
}

#[test]
fn one_hot_item_on_one_on_demand_partition_is_no_ramp() {
    let profile = Profile::dynamodb_on_demand().with_partitions(1).unwrap();
    let table = TableSpec {
        on_demand: Some(OnDemand { warm: [3_000, 1_000], ..OnDemand::default() }),
        ..TableSpec::new("t", profile)
    };
    let scenario = Scenario::new("s", Seed(1)).table(table).load(load("l", one_item("k"), 2_000));
    let (name, text) = only(&scenario);
    assert_eq!(name, VerdictName::HotKey, "{text}");
}

#[test]
fn an_index_without_throughput_is_given_more_and_not_other_keys() {
    let index = |write, keys: DrawnKeys| {
        let index = IndexSpec {
            name: "i".into(),
            profile: dynamodb(1, write, 10),
            on_demand: None,
            keys: KeySpec::Drawn(keys),
            entry: Bytes::from_kb(1),
        };
        let table = TableSpec { indexes: vec![index], ..TableSpec::new("t", dynamodb(1, 10_000, 10)) };
        let scenario = Scenario::new("s", Seed(1)).table(table).load(load("l", even("k"), 3_000));
        let (name, text) = only(&scenario);
        assert_eq!(name, VerdictName::IndexBackPressure, "{text}");
        text
    };
    let text = index(500, even("e"));
    assert!(text.contains("500 WCU of the index: give the index more") && !text.contains("Key "), "{text}");
    let text = index(10_000, one_item("ACTIVE"));
    assert!(
        text.contains("Key ACTIVE of the index") && text.contains("Divide it into 3 parts at the least"),
        "{text}"
    );
}

/// A logical partition may have as much as a physical one, 10,000 RU/s: below that the key need not change.
#[test]
fn a_cosmos_key_that_one_partition_could_serve_is_told_so() {
    let hot = |rate| {
        let load = load("l", DrawnKeys::new("k", 1, Distribution::Uniform), rate);
        only(&scenario(Profile::cosmos_manual(12_000).unwrap().with_partitions(2).unwrap()).load(load))
    };
    let (name, text) = hot(1_200);
    assert_eq!(name, VerdictName::HotKey, "{text}");
    assert!(text.contains("redistribute throughput to it"), "{text}");
    let (_, text) = hot(3_000);
    assert!(!text.contains("redistribute"), "{text}");
}

/// Uneven ranges waste a part of what there is; where even all of it is too little, they are not what is wrong.
#[test]
fn uneven_ranges_of_a_container_that_is_far_too_small_are_not_blamed() {
    let with = |units| {
        let table = TableSpec {
            widths: vec![0.5, 0.25, 0.25],
            ..TableSpec::new("c", Profile::cosmos_manual(units).unwrap().with_partitions(3).unwrap())
        };
        only(&Scenario::new("s", Seed(1)).table(table).load(load("l", even("k"), 1_000))).0
    };
    assert_eq!(with(8_000), VerdictName::UnevenRanges);
    assert_eq!(with(1_200), VerdictName::TableTooSmall);
}

#[test]
fn low_priority_that_goes_without_is_no_cap() {
    let high = load("high", even("k"), 500);
    let low = LoadSpec { low_priority: true, ..load("low", even("k"), 500) };
    let (name, text) = only(&scenario(Profile::cosmos_manual(4_000).unwrap()).load(high).load(low));
    assert_eq!(name, VerdictName::TableTooSmall, "{text}");
}
