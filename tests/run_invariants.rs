//! Promise: whatever the profile, the load and the events, a simulated table admits no more than its limits, counts every
//! request once, and its partitions always cover the ring.

use hotplate::budget::{Capacity, Fill};
use hotplate::clock::Instant;
use hotplate::lab::run::{
    Change, Clients, DrawnKeys, Items, LoadSpec, OnDemand, Operation, Scenario, SuffixRule, TableSpec, run,
};
use hotplate::lab::{Distribution, Phase, RateShape, Spacing};
use hotplate::physics::{Adaptive, CosmosBurst, EventualReads, HeatSplit, Place, Switches};
use hotplate::profile::{Service, Throughput};
use hotplate::sim::{Access, Setup, SimTable};
use hotplate::units::{Bytes, MILLI};
use hotplate::{Consistency, Profile, Seed};
use proptest::prelude::*;
use std::time::Duration;

fn rate(units: u64) -> hotplate::budget::Rate {
    hotplate::budget::Rate::per_second(units).unwrap()
}

/// Quick splits, so that short runs meet them.
fn quick() -> HeatSplit {
    HeatSplit { hot_percent: 50, seconds_min: 2, seconds_max: 5 }
}

fn any_switches() -> impl Strategy<Value = Switches> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..3_usize, 0..200_u64).prop_map(
        |(splits, replicas, local_index, burst, adaptive, leak_per_mille)| Switches {
            adaptive: [Adaptive::Instant, Adaptive::Delayed, Adaptive::None][adaptive],
            eventual_reads: if replicas { EventualReads::ThreeReplicas } else { EventualReads::Documented },
            heat_splits: splits.then(quick),
            local_index,
            whole_autoscale: burst,
            combined_limit: burst && splits,
            size_split_divides_share: replicas,
            burst: burst.then(CosmosBurst::default),
            leak_per_mille,
        },
    )
}

fn any_profile() -> impl Strategy<Value = (Profile, bool)> {
    prop_oneof![
        (1..5_000_u64, 1..5_000_u64, 1..20_u32, any::<bool>()).prop_map(|(read, write, n, full)| {
            let profile = Profile::dynamodb_provisioned(read, write).unwrap().with_partitions(n).unwrap();
            (profile.with_fill(if full { Fill::Full } else { Fill::Base }), false)
        }),
        Just((Profile::dynamodb_on_demand(), true)),
        (400..40_000_u64).prop_map(|units| (Profile::cosmos_manual(units).unwrap(), false)),
        (1_000..40_000_u64).prop_map(|units| (Profile::cosmos_autoscale(units).unwrap(), false)),
        (1..12_u32).prop_map(|n| (Profile::cosmos_serverless().with_partitions(n).unwrap(), false)),
    ]
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (1..50_000_u64).prop_map(|units| Change::Throughput(Throughput::Request(rate(units)))),
        (1..9_000_u64, 1..9_000_u64).prop_map(|(read, write)| {
            Change::Throughput(Throughput::ReadWrite { read: rate(read), write: rate(write) })
        }),
        Just(Change::OnDemand),
        (1..9_000_u64).prop_map(|units| {
            Change::Provisioned(Throughput::ReadWrite { read: rate(units), write: rate(units) })
        }),
        (1..50_000_u64, 1..20_000_u64).prop_map(|(read, write)| Change::Warm([read, write])),
        Just(Change::SplitHottest),
        Just(Change::SplitAll),
        Just(Change::SplitKey("k-1".into())),
        Just(Change::Merge),
        (0..25_000_u64).prop_map(Change::Redistribute),
    ]
}

/// Ranges follow each other from the start of the ring to its end.
fn check_cover(table: &SimTable) {
    let partitions = table.partitions();
    assert_eq!(partitions[0].from, Place::default());
    assert!(
        partitions.windows(2).all(|pair| pair[0].to == Some(pair[1].from) && pair[0].from < pair[1].from)
    );
    assert_eq!(partitions.last().unwrap().to, None);
    let mut ids: Vec<u32> = partitions.iter().chain(table.retired()).map(|partition| partition.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "a number was used again");
}

fn change(table: &mut SimTable, change: &Change, now: Instant) {
    // What the service refuses changes nothing; the invariants must hold either way.
    let _ = match change {
        Change::Throughput(throughput) => table.set_throughput(*throughput, now),
        Change::OnDemand => table.switch_mode(None, now),
        Change::Provisioned(throughput) => table.switch_mode(Some(*throughput), now),
        Change::Warm(units) => table.warm(*units, now),
        Change::SplitHottest => table.split_hottest(now),
        Change::SplitAll if table.partitions().len() < 200 => table.split_every(now),
        Change::SplitAll | Change::SplitKey(_) => table.split_key(1 << 100, now),
        Change::Merge => table.merge(now),
        Change::Redistribute(units) => table.redistribute(*units, now),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// By hand, request for request: what is admitted in a second by a partition is at most its ceiling, what its bucket
    /// held, and one request in flight; and everything adds up.
    #[test]
    fn a_simulated_table_keeps_its_limits(
        (profile, on_demand) in any_profile(),
        switches in any_switches(),
        seed in any::<u64>(),
        steps in prop::collection::vec((0..400_u64, 0..6_u64, 1..20_000_u64, 0..4_u8), 1..1_500),
        changes in prop::collection::vec((0..1_500_usize, any_change()), 0..6),
    ) {
        let service = profile.service();
        let setup = Setup {
            switches,
            on_demand: on_demand.then(OnDemand::default),
            split_takes: (Duration::from_secs(1), Duration::from_secs(20)),
            ..Setup::new("t", profile, Seed(seed))
        };
        let mut table = SimTable::new(setup, Instant::START).unwrap();
        table.keep_seconds();
        let mut now = Instant::START;
        let (mut admitted, mut refused, mut largest) = ([0_u64; 2], [0_u64; 2], 0);
        let mut seconds = Vec::new();
        for (i, (gap_ms, key, milli, kind)) in steps.iter().enumerate() {
            for (_, wanted) in changes.iter().filter(|(at, _)| *at == i) {
                change(&mut table, wanted, now);
                check_cover(&table);
            }
            now = now.after(Duration::from_millis(*gap_ms / 4));
            table.advance(now);
            check_cover(&table);
            let place = Place { token: Seed(*key).at(0).into(), sort: Seed(seed).at(i as u64) };
            let place = Place { token: place.token << 62, ..place };
            let access = match kind {
                0 => Access::read(place, *milli, false),
                1 => Access::read(place, *milli, true),
                2 => Access { low_priority: true, ..Access::write(place, *milli) },
                _ => Access::write(place, *milli),
            };
            let capacity = usize::from(access.capacity == Capacity::Write);
            let partition = table.route(place);
            let held = &table.partitions()[partition];
            prop_assert!(held.from <= place && held.to.is_none_or(|to| place < to));
            let before = table.partitions()[partition].tally(access.capacity);
            match table.refuses(partition, &access, now) {
                None => {
                    table.settle(partition, &access, now);
                    admitted[capacity] += milli;
                    largest = largest.max(*milli);
                }
                Some(cause) => {
                    table.refused(partition, &access, cause);
                    refused[capacity] += milli;
                    prop_assert!(!cause.reason(false, access.capacity).is_empty());
                }
            }
            let after = table.partitions()[partition].tally(access.capacity);
            prop_assert_eq!(before.attempts() + 1, after.attempts());
            seconds.extend(table.take_seconds());
        }
        table.advance(Instant::from_secs(now.second() + 1));
        seconds.extend(table.take_seconds());
        // Conserved: partitions, those that are no more and the seconds tell the same.
        for (i, capacity) in [(0, Capacity::Read), (1, Capacity::Write)] {
            let tallies = table.partitions().iter().chain(table.retired()).map(|partition| partition.tally(capacity));
            let (consumed, throttled) = tallies.fold((0, 0), |(consumed, throttled), tally| {
                (consumed + tally.consumed_milli, throttled + tally.throttled_milli)
            });
            prop_assert_eq!((consumed, throttled), (admitted[i], refused[i]));
        }
        // Within the limit: in each second of each partition.
        for second in &seconds {
            let most = match service {
                // Half a second's worth in the bucket, a second's worth that comes back, and one in flight. Replicas: thrice.
                Service::DynamoDb => [
                    second.reads.consumed_milli <= 4_500 * MILLI + 3 * 1_500 * MILLI + 3 * largest,
                    second.writes.consumed_milli <= 1_500 * MILLI + largest,
                ],
                Service::Cosmos => {
                    let both = second.reads.consumed_milli + second.writes.consumed_milli;
                    [both <= 10_000 * MILLI * 1_200 / 1_000 + largest, true]
                }
            };
            prop_assert_eq!(most, [true, true], "{:?}", second);
        }
    }

    /// The buckets above and below the ceilings, where nobody changes them: a table's bucket, and a Cosmos DB partition's window
    /// and bank. In every second, and over every stretch from the start: what was held, what came back, and what was in flight.
    #[test]
    fn every_bucket_keeps_its_limit(
        (profile, on_demand) in any_profile(),
        switches in any_switches(),
        steps in prop::collection::vec((0..40_u64, 0..4_u64, 1..40_000_u64, any::<bool>()), 1..2_500),
    ) {
        let (service, fill) = (profile.service(), profile.fill());
        let units = profile.throughput().units();
        // Splits would divide shares anew; they are looked at above.
        let switches = Switches { heat_splits: None, adaptive: Adaptive::Instant, ..switches };
        let setup = Setup {
            switches,
            on_demand: on_demand.then(OnDemand::default),
            ..Setup::new("t", profile, Seed(1))
        };
        let mut table = SimTable::new(setup, Instant::START).unwrap();
        let n = table.partitions().len();
        let limits: Vec<[f64; 2]> = (0..n).map(|i| table.partition_limit(i)).collect();
        // Milli-units: in this second of each partition, and from the start of each partition and of the table.
        let mut second = 0;
        let (mut now_of, mut all_of, mut all) = (vec![0_u64; n], vec![0_u64; n], [0_u64; 2]);
        let mut now = Instant::START;
        let largest = steps.iter().map(|(_, _, milli, _)| *milli).max().unwrap();
        for (i, (gap_ms, key, milli, write)) in steps.iter().enumerate() {
            now = now.after(Duration::from_millis(*gap_ms));
            table.advance(now);
            if now.second() > second {
                second = now.second();
                now_of.fill(0);
            }
            let place = Place { token: u128::from(Seed(*key).at(0)) << 62, sort: i as u64 };
            let access = if *write { Access::write(place, *milli) } else { Access::read(place, *milli, false) };
            let at = table.route(place);
            if table.refuses(at, &access, now).is_some() {
                continue;
            }
            table.settle(at, &access, now);
            now_of[at] += milli;
            all_of[at] += milli;
            let capacity = usize::from(*write);
            all[capacity] += milli;
            let seconds = now.nanos() as f64 / 1e9;
            match service {
                Service::DynamoDb => {
                    // On demand, half a second's worth is held; provisioned, 300 s when full, half a second otherwise.
                    let saved = if !on_demand && fill == Fill::Full { 300.0 } else { 0.5 };
                    // What is not used meanwhile is saved too, up to 300 s.
                    let bound = units[capacity] as f64 * (saved + seconds) * 1e3 + largest as f64 + 1.0;
                    prop_assert!(all[capacity] as f64 <= bound, "{} > {bound} at {now:?}", all[capacity]);
                }
                Service::Cosmos => {
                    let share = limits[at][1] * 1e3;
                    let leaked = share * (1_000 + switches.leak_per_mille) as f64 / 1e3;
                    let burst = switches.burst.filter(|burst| limits[at][1] < burst.ceiling as f64);
                    let top = burst.map_or(leaked, |burst| leaked.max(burst.ceiling as f64 * 1e3));
                    let bound = top + largest as f64;
                    prop_assert!(now_of[at] as f64 <= bound, "{} > {bound} in second {second}", now_of[at]);
                    // Each second may overdraw by one request, which the next forgets; the bank holds 300 s at the most.
                    let seconds = (second + 1) as f64;
                    let banked = if burst.is_some() { 300.0 * share } else { 0.0 };
                    let bound = leaked * seconds + banked + largest as f64 * seconds;
                    prop_assert!(all_of[at] as f64 <= bound, "{} > {bound} from the start", all_of[at]);
                }
            }
        }
    }

    /// Through the engine: operations are served, given up or still under way, attempts passed or throttled, units the same in
    /// loads and in partitions; and the same seed gives the same bytes.
    #[test]
    fn a_run_adds_up(
        (profile, on_demand) in any_profile(),
        switches in any_switches(),
        seed in any::<u64>(),
        operation in prop::sample::select(vec![
            Operation::Create, Operation::Update, Operation::Delete, Operation::Get(Consistency::Eventual),
            Operation::Query { items: 10, consistency: Consistency::Strong },
            Operation::ReadAll { items: 3, consistency: Consistency::Eventual },
            Operation::BatchWrite(25), Operation::BatchGet(10, Consistency::Strong),
            Operation::TransactWrite(3), Operation::TransactGet(2),
        ]),
        retry in prop::sample::select(vec![
            hotplate::client::RetryPolicy::None, hotplate::client::RetryPolicy::AwsLegacy,
            hotplate::client::RetryPolicy::AwsStandard2026, hotplate::client::RetryPolicy::Cosmos,
        ]),
        suffix in prop::option::of((prop::sample::select(vec![
            SuffixRule::Random, SuffixRule::Hash, SuffixRule::Product]), 1..30_u32)),
        items in prop::sample::select(vec![Items::One, Items::Increasing, Items::Random(1_000)]),
        clients in 0..3_u8,
        changes in prop::collection::vec((0..30_u64, any_change()), 0..4),
    ) {
        let mut keys = DrawnKeys::new("k", 50, Distribution::Zipf { exponent: 1.1 }).items(items);
        if let Some((rule, count)) = suffix {
            keys = keys.suffix(rule, count);
        }
        let clients = match clients {
            0 => Clients::Open(vec![Phase {
                shape: RateShape::Ramp { from: 10, to: 400 },
                lasts: Duration::from_secs(20),
                spacing: Spacing::Poisson,
            }]),
            1 => Clients::Closed {
                workers: 7, operations: Some(2_000), lasts: Some(Duration::from_secs(20)), think: Duration::ZERO,
            },
            _ => Clients::Loader { loops: 3, batch: 25, items: 2_000 },
        };
        let loader = matches!(clients, Clients::Loader { .. });
        let load = LoadSpec::new("load", keys, clients).operation(operation).retry(retry);
        let load = LoadSpec { item: Bytes(700), ..load };
        let table = TableSpec {
            switches,
            on_demand: on_demand.then(OnDemand::default),
            split_takes: (Duration::from_secs(1), Duration::from_secs(20)),
            ..TableSpec::new("t", profile)
        };
        let mut scenario = Scenario::new("any", Seed(seed)).table(table).load(load).ends(Duration::from_secs(60));
        for (at, change) in changes {
            if change != Change::SplitAll {
                scenario = scenario.event(Duration::from_secs(at), 0, change);
            }
        }
        let report = run(&scenario, &mut ()).unwrap();
        let load = &report.loads[0];
        prop_assert!(load.served + load.gave_up <= load.operations);
        if loader {
            prop_assert!(load.operations <= 2_000);
        }
        let reasons: u64 = load.reasons.iter().map(|reason| reason.count).sum();
        prop_assert_eq!(reasons, load.throttled);
        prop_assert!(load.throttled <= load.attempts);
        let throttles: u64 = report.tables[0].partitions.iter().map(|partition| partition.throttles).sum();
        prop_assert_eq!(throttles, load.throttled);
        let consumed: f64 = report.tables[0].partitions.iter().map(|partition| partition.consumed_units).sum();
        let course: f64 = load.course.units.iter().sum::<f64>() * load.course.bin_seconds as f64;
        prop_assert!((consumed - course).abs() <= 1e-6 * consumed.max(1.0), "{} and {}", consumed, course);
        prop_assert!(!report.verdicts.is_empty() || load.attempts == 0);
        let widths: f64 = report.tables[0].partitions.iter().filter(|p| p.until_s.is_none()).map(|p| p.width).sum();
        prop_assert!((widths - 1.0).abs() < 1e-6, "{}", widths);
        let again = run(&scenario, &mut ()).unwrap();
        prop_assert_eq!(serde_json::to_string(&report).unwrap(), serde_json::to_string(&again).unwrap());
    }
}
