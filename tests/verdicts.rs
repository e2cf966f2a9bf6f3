//! Promise: the verdict of a run names what is wrong, tells look-alikes apart, and cites its numbers.

use hotplate::budget::Fill;
use hotplate::client::RetryPolicy;
use hotplate::lab::run::{
    Change, Clients, DrawnKeys, IndexSpec, Items, KeySpec, LoadSpec, OnDemand, Operation, RunReport,
    Scenario, TableSpec, VerdictName, run,
};
use hotplate::lab::{Distribution, Phase, RateShape, Spacing};
use hotplate::physics::Switches;
use hotplate::profile::Throughput;
use hotplate::units::Bytes;
use hotplate::{Consistency, Profile, Seed};
use std::time::Duration;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn dynamodb(write: u64, partitions: u32) -> Profile {
    Profile::dynamodb_provisioned(write, write)
        .unwrap()
        .with_partitions(partitions)
        .unwrap()
        .with_fill(Fill::Base)
}

fn even(name: &str) -> DrawnKeys {
    DrawnKeys::new(name, 1_000_000, Distribution::Uniform)
}

fn writes(keys: DrawnKeys, rate: u64, lasts: u64) -> LoadSpec {
    LoadSpec::new("writers", keys, Clients::constant(rate, secs(lasts)))
}

/// 30 % of the load on one key, the rest spread.
fn one_key_with_30_percent(items: Items, lasts: u64) -> Scenario {
    let hot = writes(DrawnKeys::new("hot", 1, Distribution::Uniform).items(items), 1_500, lasts);
    let rest = LoadSpec { name: "rest".into(), ..writes(even("rest"), 3_500, lasts) };
    Scenario::new("hot", Seed(1)).table(TableSpec::new("orders", dynamodb(20_000, 20))).load(hot).load(rest)
}

fn only(scenario: &Scenario) -> (VerdictName, String) {
    let report = ran(scenario);
    assert_eq!(report.verdicts.len(), 1, "{:?}", report.verdicts);
    (report.verdicts[0].name, report.verdicts[0].text.clone())
}

fn ran(scenario: &Scenario) -> RunReport {
    run(scenario, &mut ()).unwrap()
}

/// Look-alikes: each has one place with 30 % of the load.
#[test]
fn what_a_split_cannot_help_is_told_from_what_it_can() {
    let (name, text) = only(&one_key_with_30_percent(Items::One, 60));
    assert_eq!(name, VerdictName::HotKey);
    assert!(
        text.contains("30.0%") && text.contains("a split will not help, because it is one item"),
        "{text}"
    );

    let (name, text) = only(&one_key_with_30_percent(Items::Increasing, 60));
    assert_eq!(name, VerdictName::HotKey);
    assert!(text.contains("a split will not help, because its sort key only grows"), "{text}");

    let mut scenario = one_key_with_30_percent(Items::Random(1_000_000), 60);
    scenario.tables[0].switches.local_index = true;
    let (name, text) = only(&scenario);
    assert_eq!(name, VerdictName::HotKey);
    assert!(text.contains("a local index keeps the items of a key on one partition"), "{text}");

    // One key whose items can be divided, before and after.
    let (name, text) = only(&one_key_with_30_percent(Items::Random(1_000_000), 60));
    assert_eq!(name, VerdictName::HotRange);
    assert!(text.contains("A split will help: it comes after 8 to 12 minutes"), "{text}");
    let report = ran(&one_key_with_30_percent(Items::Random(1_000_000), 1_800));
    let verdict = &report.verdicts[0];
    assert_eq!(verdict.name, VerdictName::HotRange);
    assert!(verdict.text.contains("throttled before, 0% afterwards"), "{}", verdict.text);
    assert!(report.tables[0].history.iter().any(|entry| entry.what.contains("split for heat")));
    let last = report.loads[0].course.throttled.last().unwrap();
    assert_eq!(*last, 0.0, "recovered");

    // Many keys of one partition.
    let keys: Vec<String> = {
        let table =
            hotplate::Table::<serde_json::Value>::new("t", dynamodb(20_000, 20), hotplate::Instant::START)
                .unwrap();
        let of = |name: &String| table.partition_of(&hotplate::ItemKey::new(name.as_str(), 0_u64)).0 == 7;
        (0..).map(|n| format!("near-{n}")).filter(of).take(50).collect()
    };
    let near =
        DrawnKeys { names: keys, ..DrawnKeys::new("near", 50, Distribution::Uniform).items(Items::One) };
    let range = |lasts| {
        let rest = LoadSpec { name: "rest".into(), ..writes(even("rest"), 3_500, lasts) };
        Scenario::new("range", Seed(1))
            .table(TableSpec::new("orders", dynamodb(20_000, 20)))
            .load(writes(near.clone(), 1_500, lasts))
            .load(rest)
    };
    let (name, text) = only(&range(60));
    assert_eq!(name, VerdictName::HotRange);
    assert!(text.contains("A split will help"), "{text}");
    let report = ran(&range(1_800));
    assert_eq!(report.verdicts[0].name, VerdictName::HotRange);
    assert!(report.verdicts[0].text.contains("afterwards"), "{}", report.verdicts[0].text);
    assert_eq!(*report.loads[0].course.throttled.last().unwrap(), 0.0);
}

fn on_demand(write_peak: u64) -> TableSpec {
    TableSpec {
        on_demand: Some(OnDemand { previous_peak: [0, write_peak], ..OnDemand::default() }),
        ..TableSpec::new("t", Profile::dynamodb_on_demand())
    }
}

fn ru(units: u64) -> Throughput {
    Throughput::Request(hotplate::budget::Rate::per_second(units).unwrap())
}

#[test]
fn each_trouble_has_its_name() {
    let spread = |rate, lasts| writes(even("k"), rate, lasts);
    let index = IndexSpec {
        name: "by-status".into(),
        profile: dynamodb(10_000, 10),
        on_demand: None,
        keys: KeySpec::Drawn(
            DrawnKeys {
                names: vec!["ACTIVE".into(), "DONE".into()],
                ..DrawnKeys::new("status", 2, Distribution::Weighted(vec![80, 20]))
            }
            .items(Items::Increasing),
        ),
        entry: Bytes(100),
    };
    let gb = |n: u64| Bytes(n << 30);
    let uneven = TableSpec {
        widths: vec![0.5, 0.25, 0.25],
        ..TableSpec::new("c", Profile::cosmos_manual(24_000).unwrap().with_partitions(3).unwrap())
    };
    let hours =
        DrawnKeys::new("hour", 1_000_000, Distribution::TimeBucket { seconds: 60 }).items(Items::Increasing);
    let capped = TableSpec {
        on_demand: Some(OnDemand { max: [None, Some(500)], ..OnDemand::default() }),
        ..TableSpec::new("t", Profile::dynamodb_on_demand())
    };
    let reads = |rate| spread(rate, 60).operation(Operation::Get(Consistency::Eventual));
    let cosmos_key = DrawnKeys::new("hot", 1, Distribution::Uniform);
    let cases: Vec<(VerdictName, &str, Scenario)> = vec![
        (
            VerdictName::TableTooSmall,
            "about 3,000 WCU were asked for",
            Scenario::new("small", Seed(1))
                .table(TableSpec::new("t", dynamodb(1_000, 4)))
                .load(spread(3_000, 60)),
        ),
        (
            VerdictName::TableTooSmall,
            "the table is too small",
            Scenario::new("small", Seed(1))
                .table(TableSpec::new(
                    "c",
                    Profile::cosmos_manual(6_000).unwrap().with_partitions(2).unwrap(),
                ))
                .load(reads(9_000)),
        ),
        (
            VerdictName::MovingHotSpot,
            "a moving hot spot",
            Scenario::new("hours", Seed(1))
                .table(TableSpec::new("log", dynamodb(20_000, 20)))
                .load(writes(hours, 2_000, 1_200)),
        ),
        (
            VerdictName::RampTooSteep,
            "twice its previous peak",
            Scenario::new("ramp", Seed(1)).table(on_demand(8_000)).load(spread(30_000, 20)),
        ),
        (
            VerdictName::IndexBackPressure,
            "Key ACTIVE of the index has 80.0% of its entries",
            Scenario::new("gsi", Seed(1))
                .table(TableSpec { indexes: vec![index], ..TableSpec::new("orders", dynamodb(10_000, 10)) })
                .load(spread(3_000, 60)),
        ),
        (
            VerdictName::UnevenRanges,
            "Ranges are uneven",
            Scenario::new("uneven", Seed(1)).table(uneven).load(reads(20_000)),
        ),
        (
            VerdictName::HotKey,
            "a logical partition stays on one physical partition",
            Scenario::new("key", Seed(1))
                .table(TableSpec::new("c", Profile::cosmos_manual(30_000).unwrap()))
                .load(
                    LoadSpec::new("r", cosmos_key, Clients::constant(9_000, secs(60)))
                        .operation(Operation::Get(Consistency::Eventual)),
                ),
        ),
        (
            VerdictName::CapReached,
            "the maximum on-demand throughput",
            Scenario::new("cap", Seed(1)).table(capped).load(spread(2_000, 400)),
        ),
        (
            VerdictName::Healthy,
            "0% of 60,000 requests throttled",
            Scenario::new("fine", Seed(1))
                .table(TableSpec::new("t", dynamodb(5_000, 10)))
                .load(spread(1_000, 60)),
        ),
        (
            // Full partitions split as they grow: nothing is wrong.
            VerdictName::Healthy,
            "of 16 partitions",
            Scenario::new("full", Seed(1))
                .table(TableSpec { stored: gb(81), ..TableSpec::new("t", dynamodb(8_000, 8)) })
                .load(spread(1_000, 60)),
        ),
    ];
    for (name, cited, scenario) in &cases {
        let report = ran(scenario);
        let verdict = &report.verdicts[0];
        assert_eq!(verdict.name, *name, "{}: {}", scenario.name, verdict.text);
        assert!(
            verdict.text.to_lowercase().contains(&cited.to_lowercase()),
            "{}: {}",
            scenario.name,
            verdict.text
        );
        assert!(verdict.text.chars().any(|c| c.is_ascii_digit()), "no numbers: {}", verdict.text);
    }
}

/// The same offered load with each retry policy: what is served, how much is sent, what is given up and how long it takes.
#[test]
fn a_retry_storm_is_told_with_what_each_policy_makes_of_it() {
    let with = |retry| {
        let load =
            writes(DrawnKeys::new("hot", 1, Distribution::Uniform).items(Items::One), 3_000, 60).retry(retry);
        ran(&Scenario::new("storm", Seed(1)).table(TableSpec::new("t", dynamodb(10_000, 10))).load(load))
    };
    let none = with(RetryPolicy::None);
    assert!(none.verdicts.iter().all(|verdict| verdict.name != VerdictName::RetryStorm));
    let mut amplified = Vec::new();
    for policy in
        [RetryPolicy::AwsLegacy, RetryPolicy::AwsStandard, RetryPolicy::AwsStandard2026, RetryPolicy::Cosmos]
    {
        let report = with(policy);
        let load = &report.loads[0];
        let by = load.attempts as f64 / load.operations as f64;
        amplified.push(by);
        // A hot item serves 1,000 a second, whatever the client does.
        assert!(load.served_per_s < 1_100.0, "{policy:?}: {}", load.served_per_s);
        assert!(load.p99_ms >= none.loads[0].p99_ms, "{policy:?}");
        let storm = report.verdicts.iter().find(|verdict| verdict.name == VerdictName::RetryStorm);
        // Only where retries are most of what is refused: not where a quota is empty and first attempts are.
        assert_eq!(storm.is_some(), by > 2.0, "{policy:?}: {by} {:?}", report.verdicts);
        if let Some(storm) = storm {
            assert!(storm.text.contains("requests for each operation"), "{}", storm.text);
        }
    }
    // Ten attempts feed the storm, a quota of tokens ends it.
    assert!(amplified[0] > 4.0 && amplified[2] < 1.5, "{amplified:?}");
}

/// What the service refuses is told in the table's history, and the run goes on.
#[test]
fn a_refused_change_is_told_and_changes_nothing() {
    let reads = writes(even("k"), 100, 60).operation(Operation::Get(Consistency::Eventual));
    let scenario = Scenario::new("modes", Seed(1))
        .table(TableSpec::new("c", Profile::cosmos_manual(1_000).unwrap()))
        .load(reads)
        .event(secs(1), 0, Change::OnDemand)
        .event(secs(2), 0, Change::Throughput(ru(399)));
    let report = ran(&scenario);
    let told: Vec<&str> = report.tables[0].history.iter().map(|entry| entry.what.as_str()).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("refused: ") && told[0].contains("no on-demand mode"), "{told:?}");
    assert!(told[1].contains("400 RU/s"), "{told:?}");
    assert_eq!(report.tables[0].throughput, "1000 RU/s");

    // "Considerations when switching capacity modes": four times in a day.
    let mut scenario = Scenario::new("modes", Seed(1)).table(on_demand(0)).load(writes(even("k"), 1, 3_600));
    let provisioned = Throughput::ReadWrite {
        read: hotplate::budget::Rate::per_second(10).unwrap(),
        write: hotplate::budget::Rate::per_second(10).unwrap(),
    };
    for i in 0..5 {
        let change = if i % 2 == 0 { Change::Provisioned(provisioned) } else { Change::OnDemand };
        scenario = scenario.event(secs(60 * (i + 1)), 0, change);
    }
    let report = ran(&scenario);
    let refused =
        report.tables[0].history.iter().filter(|entry| entry.what.contains("4 times within 24 hours"));
    assert_eq!(refused.count(), 1);
}

/// "Quotas": 40,000 units for a table, 80,000 for the provisioned tables of an account.
#[test]
fn an_account_has_quotas() {
    let units = |units| Throughput::ReadWrite {
        read: hotplate::budget::Rate::per_second(10).unwrap(),
        write: hotplate::budget::Rate::per_second(units).unwrap(),
    };
    let scenario = ["a", "b", "c"]
        .into_iter()
        .fold(Scenario::new("quotas", Seed(1)).load(writes(even("k"), 1, 60)), |scenario, name| {
            scenario.table(TableSpec::new(name, dynamodb(30_000, 30)))
        });
    let told = |scenario: Scenario| {
        let report = ran(&scenario);
        (report.tables[0].throughput.clone(), report.tables[0].history[0].what.clone())
    };
    // 90,000 are there already, which somebody has asked for; more needs a quota.
    let (throughput, what) = told(scenario.clone().event(secs(5), 0, Change::Throughput(units(41_000))));
    assert!(throughput.ends_with("30000 WCU") && what.contains("the quotas of 40000 and 80000"), "{what}");
    let (throughput, _) = told(scenario.clone().event(secs(5), 0, Change::Throughput(units(35_000))));
    assert!(throughput.ends_with("30000 WCU"), "{throughput}");
    let (throughput, _) = told(scenario.event(secs(5), 0, Change::Throughput(units(20_000))));
    assert!(throughput.ends_with("20000 WCU"), "{throughput}");
}

/// "Considerations when switching capacity modes": a table that once had 10,000 units, now 10, serves 10,000 on demand.
#[test]
fn on_demand_remembers_the_highest_that_was_provisioned() {
    let units = |units| Throughput::ReadWrite {
        read: hotplate::budget::Rate::per_second(units).unwrap(),
        write: hotplate::budget::Rate::per_second(units).unwrap(),
    };
    let scenario = Scenario::new("modes", Seed(1))
        .table(TableSpec::new("t", dynamodb(10_000, 16)))
        .load(writes(even("k"), 1, 60))
        .event(secs(5), 0, Change::Throughput(units(10)))
        .event(secs(10), 0, Change::OnDemand);
    assert_eq!(ran(&scenario).tables[0].throughput, "12000 RCU, 10000 WCU at once");
}

/// USENIX ATC 2022, "Amazon DynamoDB": 3,200 and 3,600 on four partitions; 6,000 makes eight; 5,000 keeps them.
#[test]
fn raising_throughput_doubles_partitions_and_lowering_keeps_them() {
    let units = |units| Throughput::ReadWrite {
        read: hotplate::budget::Rate::per_second(1).unwrap(),
        write: hotplate::budget::Rate::per_second(units).unwrap(),
    };
    let profile = Profile::dynamodb_provisioned(1, 3_200).unwrap().with_partitions(4).unwrap();
    let mut scenario =
        Scenario::new("grow", Seed(1)).table(TableSpec::new("t", profile)).load(writes(even("k"), 1, 60));
    let mut counts = Vec::new();
    for (at, write) in [(5, 3_600), (10, 6_000), (15, 5_000)] {
        scenario = scenario.event(secs(at), 0, Change::Throughput(units(write)));
        counts.push(ran(&scenario).tables[0].partitions_at_end);
    }
    assert_eq!(counts, [4, 8, 8]);
}

/// The dilution of old: scaled up for a spike, then down; without adaptive capacity a hot key has less than before.
#[test]
fn throughput_is_diluted_without_adaptive_capacity() {
    use hotplate::physics::Adaptive;
    let units = |units| Throughput::ReadWrite {
        read: hotplate::budget::Rate::per_second(1).unwrap(),
        write: hotplate::budget::Rate::per_second(units).unwrap(),
    };
    let served = |adaptive, spike: bool| {
        let spec = TableSpec::new("t", dynamodb(800, 1));
        let spec = TableSpec { switches: Switches { adaptive, heat_splits: None, ..spec.switches }, ..spec };
        let key = DrawnKeys::new("hot", 1, Distribution::Uniform).items(Items::One);
        let phase = Phase { shape: RateShape::Constant(700), lasts: secs(600), spacing: Spacing::Even };
        let load = LoadSpec::new("w", key, Clients::Open(vec![phase])).begins(secs(100));
        let mut scenario = Scenario::new("dilution", Seed(1)).table(spec).load(load);
        if spike {
            scenario = scenario.event(secs(10), 0, Change::Throughput(units(8_000))).event(
                secs(20),
                0,
                Change::Throughput(units(800)),
            );
        }
        {
            let served = &ran(&scenario).loads[0].course.served;
            // The last bin is cut short.
            served[served.len() - 3]
        }
    };
    let close = |value: f64, expected: f64| assert!((value - expected).abs() < expected * 0.02, "{value}");
    close(served(Adaptive::None, false), 700.0);
    // 8,000 writes and a read need nine partitions, doubling makes sixteen: 50 each.
    close(served(Adaptive::None, true), 50.0);
    close(served(Adaptive::Instant, true), 700.0);
}
