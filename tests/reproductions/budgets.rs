//! Bars 10, 11, 12, 14 and 15: table budgets, burst, peaks, indexes and how throttles are counted.
//!
//! Sources: DynamoDB developer guide, "Burst and adaptive capacity", "On-demand capacity mode", "gsi-throttling",
//! "Troubleshooting throttling: CloudWatch"; AWS re:Post, "Why is my DynamoDB table throttled in short spikes".

use super::*;
use hotplate::budget::Fill;
use hotplate::lab::run::{IndexSpec, Items, KeySpec, OnDemand, Operation, VerdictName};
use hotplate::physics::{Adaptive, Switches};
use hotplate::units::Bytes;
use hotplate::{Consistency, Profile};

/// "Burst and adaptive capacity": 400 WCU over four partitions, loads of 50, 50, 50 and 150: no throttle with adaptive
/// capacity; without, the hot one is refused 50 a second once its burst is spent. Tolerance 1 %.
#[test]
fn bar_10_adaptive_capacity_lifts_one_partition_of_four() {
    let profile =
        Profile::dynamodb_provisioned(400, 400).unwrap().with_partitions(4).unwrap().with_fill(Fill::Base);
    // Four keys on four partitions, found by asking where they lie.
    let table =
        hotplate::Table::<serde_json::Value>::new("t", profile.clone(), hotplate::Instant::START).unwrap();
    let mut names: Vec<Option<String>> = vec![None; 4];
    for n in 0.. {
        let name = format!("k{n}");
        let partition = table.partition_of(&hotplate::ItemKey::new(name.as_str(), 0_u64)).0 as usize;
        names[partition].get_or_insert(name);
        if names.iter().all(Option::is_some) {
            break;
        }
    }
    let throttled = |adaptive| {
        let spec = TableSpec::new("t", profile.clone());
        let spec = TableSpec { switches: Switches { adaptive, ..spec.switches }, ..spec };
        let mut scenario = Scenario::new("adaptive", Seed(10)).table(spec);
        for (name, rate) in names.iter().flatten().zip([50, 50, 50, 150]) {
            scenario = scenario.load(LoadSpec::new(
                name.as_str(),
                uniform(name, 1),
                Clients::constant(rate, secs(1_200)),
            ));
        }
        ran(&scenario)
            .loads
            .iter()
            .map(|load| mean(load, &load.course.throttled, 600, 1_200))
            .collect::<Vec<_>>()
    };
    assert_eq!(throttled(Adaptive::Instant), [0.0; 4]);
    let without = throttled(Adaptive::None);
    assert_eq!(without[..3], [0.0; 3]);
    near(without[3], 50.0, 0.01);
    // Late: as without for the first minutes, then as with.
    assert_eq!(throttled(Adaptive::Delayed)[..3], [0.0; 3]);
}

/// AWS re:Post: 150 RCU idle for five minutes, then 200 a second: 900 s without a throttle. Tolerance 1 s.
#[test]
fn bar_11_burst_carries_200_reads_on_150_for_900_seconds() {
    let profile =
        Profile::dynamodb_provisioned(150, 1).unwrap().with_partitions(1).unwrap().with_fill(Fill::Base);
    let load = LoadSpec::new("readers", uniform("k", 100), Clients::constant(200, secs(1_000)))
        .operation(Operation::Get(Consistency::Strong))
        .begins(secs(300));
    let report = ran(&one(TableSpec::new("t", profile), load, 11));
    let load = &report.loads[0];
    let bin = load.course.bin_seconds;
    let first = (0..)
        .zip(&load.course.throttled)
        .find(|(_, throttled)| **throttled > 0.0)
        .map(|(i, _)| i * bin)
        .unwrap();
    // The course is in bins: the throttle is within one of the second it should be in.
    assert!((1_199 - bin..=1_201).contains(&first), "{first}");
    near(mean(load, &load.course.throttled, 1_220, 1_300), 50.0, 0.01);
    // To the second, by what was served before the first refusal.
    assert!((200 * 899..=200 * 901 + 150 * 100 + 150).contains(&load.served), "{}", load.served);
}

/// "On-demand capacity mode": a previous peak of 50,000 serves 100,000 at once, and 200,000 once 100,000 is an old peak.
#[test]
fn bar_12_on_demand_doubles_its_previous_peak() {
    let table = TableSpec {
        on_demand: Some(OnDemand {
            previous_peak: [50_000, 0],
            quota: [1_000_000, 1_000_000],
            ..OnDemand::default()
        }),
        ..TableSpec::new("t", Profile::dynamodb_on_demand())
    };
    let phase = |rate, lasts| Phase { shape: RateShape::Constant(rate), lasts, spacing: Spacing::Even };
    let reads = |phases: Vec<Phase>| {
        LoadSpec::new("readers", uniform("k", 1_000_000), Clients::Open(phases))
            .operation(Operation::Get(Consistency::Strong))
    };
    // (a) well before half an hour: "5 minutes later" in the list, one minute here, which is a whole one all the same.
    let early = ran(&one(table, reads(vec![phase(100_000, secs(70)), phase(150_000, secs(20))]), 12));
    let load = &early.loads[0];
    assert_eq!(mean(load, &load.course.throttled, 0, 70), 0.0);
    near(mean(load, &load.course.throttled, 72, 90), 50_000.0, 0.02);
    assert_eq!(early.verdicts[0].name, VerdictName::RampTooSteep, "{}", early.verdicts[0].text);
}

/// The other half of bar 12, in writes of a tenth of the size, so that half an hour of it stays small.
#[test]
fn bar_12_after_half_an_hour_the_new_peak_counts() {
    let spec = TableSpec {
        on_demand: Some(OnDemand {
            previous_peak: [0, 5_000],
            warm: [0, 0],
            quota: [1_000_000, 1_000_000],
            ..OnDemand::default()
        }),
        ..TableSpec::new("t", Profile::dynamodb_on_demand())
    };
    let phase = |rate, lasts| Phase { shape: RateShape::Constant(rate), lasts, spacing: Spacing::Even };
    let phases = vec![phase(10_000, minutes(31)), phase(15_000, secs(120))];
    let report =
        ran(&one(spec, LoadSpec::new("writers", uniform("k", 1_000_000), Clients::Open(phases)), 12));
    assert_eq!(report.loads[0].throttled, 0, "{:?}", report.loads[0].reasons);
}

fn status_index(profile: Profile) -> IndexSpec {
    let keys = DrawnKeys {
        names: ["ACTIVE", "NEW", "PAID", "SENT", "DONE"].map(String::from).to_vec(),
        ..DrawnKeys::new("status", 5, Distribution::Weighted(vec![80, 5, 5, 5, 5]))
    };
    // Orders come in the order of their time.
    let keys = KeySpec::Drawn(keys.items(Items::Increasing));
    IndexSpec { name: "by-status".into(), profile, on_demand: None, keys, entry: Bytes(200) }
}

/// "gsi-throttling": an index by status of which 80 % are ACTIVE; 3,000 base writes a second, the index has 10,000 WCU.
/// Open loop: ACTIVE writes 1,000 and the other 600 unhurt, 1,600 in all. A closed loop keeps its mix: 1,250. Tolerance 5 %.
#[test]
fn bar_14_an_index_pushes_back_on_its_table() {
    let profile =
        Profile::dynamodb_provisioned(1, 10_000).unwrap().with_partitions(10).unwrap().with_fill(Fill::Base);
    let table =
        TableSpec { indexes: vec![status_index(profile.clone())], ..TableSpec::new("orders", profile) };
    let load = LoadSpec::new("writers", uniform("order", 1_000_000), Clients::constant(3_000, secs(240)));
    let report = ran(&one(table.clone(), load, 14));
    let load = &report.loads[0];
    near(mean(load, &load.course.served, 10, 240), 1_600.0, 0.05);
    let reason = &load.reasons[0];
    assert_eq!(reason.reason, "IndexWriteKeyRangeThroughputExceeded");
    assert_eq!(reason.resource, "orders/by-status");
    assert_eq!(report.verdicts[0].name, VerdictName::IndexBackPressure);
    assert!(report.verdicts[0].text.contains("ACTIVE"), "{}", report.verdicts[0].text);

    // Batches whose unprocessed items go in with the next one.
    let clients = Clients::Loader { loops: 2, batch: 25, items: 300_000 };
    let load = LoadSpec::new("writers", uniform("order", 1_000_000), clients);
    let report = ran(&one(table, load, 14));
    let load = &report.loads[0];
    near(mean(load, &load.course.served, 30, 240), 1_250.0, 0.05);
}

/// "Troubleshooting throttling: CloudWatch": a batch of ten of which three are throttled: three events, no throttled request,
/// and the three come back unprocessed.
#[test]
fn bar_15_a_batch_counts_each_of_its_parts() {
    // A bucket of half a second at 14 WCU holds seven.
    let profile =
        Profile::dynamodb_provisioned(1, 14).unwrap().with_partitions(1).unwrap().with_fill(Fill::Base);
    let profile = profile
        .with_partition_throughput(hotplate::profile::Throughput::ReadWrite {
            read: hotplate::budget::Rate::per_second(14).unwrap(),
            write: hotplate::budget::Rate::per_second(14).unwrap(),
        })
        .unwrap();
    let load = LoadSpec::new("batches", uniform("k", 10), Clients::constant(1, secs(1)))
        .operation(Operation::BatchWrite(10));
    let report = ran(&one(TableSpec::new("t", profile), load, 15));
    let load = &report.loads[0];
    assert_eq!((load.operations, load.attempts, load.throttled), (1, 10, 3));
    assert_eq!((load.write_throttle_events, load.read_throttle_events, load.throttled_requests), (3, 0, 0));
}

/// Switch: one limit for reads and writes (AWS re:Post: "or a linear combination of both"): 500 writes leave 1,500 reads.
#[test]
fn reads_and_writes_share_one_limit_where_it_is_switched_so() {
    let served = |combined_limit| {
        let profile = Profile::dynamodb_provisioned(10_000, 10_000).unwrap().with_partitions(10).unwrap();
        let spec = TableSpec::new("t", profile);
        let spec = TableSpec { switches: Switches { combined_limit, ..spec.switches }, ..spec };
        let item = || uniform("hot", 1).items(Items::One);
        // At random: evenly spaced, writes would always come just after a read.
        let at_random = |rate| {
            let shape = RateShape::Constant(rate);
            Clients::Open(vec![Phase { shape, lasts: secs(60), spacing: Spacing::Poisson }])
        };
        let writers = LoadSpec::new("writers", item(), at_random(500));
        let readers =
            LoadSpec::new("readers", item(), at_random(5_000)).operation(Operation::Get(Consistency::Strong));
        let report = ran(&one(spec, writers, 1).load(readers));
        let load = &report.loads[1];
        (report.loads[0].throttled_share, mean(load, &load.course.served, 10, 60))
    };
    let (throttled, reads) = served(false);
    assert_eq!(throttled, 0.0);
    near(reads, 3_000.0, 0.01);
    let (_, reads) = served(true);
    // First come, first served: an eleventh of what passes are writes, each as heavy as three reads.
    near(reads, 3_000.0 * 10.0 / 13.0, 0.03);
}
