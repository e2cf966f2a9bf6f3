//! Bars 7 to 9 and 13: one partition and its splits for heat.
//!
//! Sources: AWS Database Blog, "Scaling DynamoDB", part 2 (Q1); andrestone/dynamodb-load-test, 2020 (A2, A3); DynamoDB
//! developer guide, "Burst and adaptive capacity" (monotonic sort keys).

use super::*;
use hotplate::lab::run::{Change, Items, OnDemand, Operation, VerdictName};
use hotplate::physics::{EventualReads, Switches};
use hotplate::{Consistency, Profile};

fn one_key(items: Items) -> DrawnKeys {
    uniform("all", 1).items(items)
}

fn readers(rate: u64, consistency: Consistency, lasts: Duration) -> LoadSpec {
    LoadSpec::new("readers", one_key(Items::Random(1_000_000)), Clients::constant(rate, lasts))
        .operation(Operation::Get(consistency))
}

/// Q1. Switch: three replicas; the first ten minutes, before a split. Tolerance 2 %.
#[test]
fn bar_07_one_partition_serves_9000_eventual_reads_a_second() {
    for (consistency, units, reads) in
        [(Consistency::Eventual, 4_500.0, 9_000.0), (Consistency::Strong, 3_000.0, 3_000.0)]
    {
        let table = TableSpec::new("ips", Profile::dynamodb_on_demand());
        let table = TableSpec {
            switches: Switches {
                eventual_reads: EventualReads::ThreeReplicas,
                heat_splits: None,
                ..table.switches
            },
            ..table
        };
        let report = ran(&one(table, readers(12_000, consistency, secs(120)), 7));
        let load = &report.loads[0];
        near(mean(load, &load.course.served, 10, 120), reads, 0.02);
        near(mean(load, &load.course.units, 10, 120), units, 0.02);
    }
}

/// A2: preloaded, so the key lies on two partitions; 9,900 read units a second. Published: a plateau at 6,000 and a step past
/// 9,000 after about eight minutes, then no throttles. Band: 5 to 12 minutes. A3: no throttle at the former peak.
#[test]
fn bars_08_and_09_a_split_comes_after_minutes_and_persists() {
    for seed in 0..4 {
        let table = TableSpec::new("t", Profile::dynamodb_on_demand());
        let first = readers(9_900, Consistency::Strong, secs(960));
        let again = LoadSpec { name: "again".into(), ..readers(9_900, Consistency::Strong, secs(600)) };
        let scenario = one(table, first, seed).load(again.begins(secs(1_800))).event(
            Duration::ZERO,
            0,
            Change::SplitKey("all".into()),
        );
        let report = ran(&scenario);
        let load = &report.loads[0];
        near(mean(load, &load.course.served, 60, 300), 6_000.0, 0.02);
        let bin = load.course.bin_seconds;
        let step =
            (0..).zip(&load.course.served).find(|(_, served)| **served >= 9_000.0).map(|(i, _)| i * bin);
        let step = step.expect("a step to 9,000");
        assert!((300..=750).contains(&step), "{step} s");
        assert!(mean(load, &load.course.throttled, 800, 960) <= 9_900.0 * 0.005);
        assert!(report.loads[1].throttled_share <= 0.005, "{}", report.loads[1].throttled_share);
        assert_eq!(report.verdicts[0].name, VerdictName::HotRange, "{}", report.verdicts[0].text);
        assert!(report.verdicts[0].text.contains("A split will help: "), "{}", report.verdicts[0].text);
    }
}

/// One key, 2,000 writes a second for an hour: with a growing sort key it stays at 1,000, with a random one it passes 1,900
/// after splits. Tolerance 5 %.
#[test]
fn bar_13_a_monotonic_sort_key_is_not_split() {
    let ran_with = |items| {
        let table = TableSpec::new("log", Profile::dynamodb_on_demand());
        ran(&one(table, LoadSpec::new("writers", one_key(items), Clients::constant(2_000, minutes(60))), 13))
    };
    let monotonic = ran_with(Items::Increasing);
    let load = &monotonic.loads[0];
    near(mean(load, &load.course.served, 60, 3_600), 1_000.0, 0.05);
    assert_eq!(monotonic.tables[0].partitions_at_end, 4);
    assert_eq!(monotonic.verdicts[0].name, VerdictName::HotKey);
    assert!(monotonic.verdicts[0].text.contains("a split will not help"), "{}", monotonic.verdicts[0].text);
    let random = ran_with(Items::Random(10_000_000));
    let load = &random.loads[0];
    assert!(mean(load, &load.course.served, 2_400, 3_600) > 1_900.0);
    assert_eq!(random.verdicts[0].name, VerdictName::HotRange, "{}", random.verdicts[0].text);
}

/// On demand with a warm table, the same hot key: more throughput of the table does not lift one partition.
#[test]
fn warm_throughput_does_not_lift_a_hot_partition() {
    let table = TableSpec::new("t", Profile::dynamodb_on_demand());
    let on_demand = OnDemand { warm: [30_000, 10_000], ..OnDemand::default() };
    let table = TableSpec {
        on_demand: Some(on_demand),
        switches: Switches { heat_splits: None, ..table.switches },
        ..table
    };
    let load = LoadSpec::new("writers", one_key(Items::One), Clients::constant(5_000, secs(60)));
    let report = ran(&one(table, load, 1));
    let load = &report.loads[0];
    near(mean(load, &load.course.served, 10, 60), 1_000.0, 0.01);
    assert!(report.tables[0].partitions_at_start >= 10);
}
