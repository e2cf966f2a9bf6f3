//! Promise: a simulated table keeps the published rules where they are easily missed: shares after splits, limits that reads
//! and writes have in common, what a mode remembers, who gives when throughput is redistributed, what may merge.

use hotplate::budget::Fill;
use hotplate::clock::Instant;
use hotplate::physics::{Adaptive, AutoScaling, Cause, HeatSplit, Place, Switches};
use hotplate::profile::Throughput;
use hotplate::sim::{Access, OnDemand, Setup, SimTable};
use hotplate::units::{Bytes, MILLI};
use hotplate::{Profile, Seed};
use std::time::Duration;

const QUICK: HeatSplit = HeatSplit { hot_percent: 90, seconds_min: 5, seconds_max: 5 };
const GB: u64 = 1 << 30;

fn both(read: u64, write: u64) -> Throughput {
    let rate = |units| hotplate::budget::Rate::per_second(units).unwrap();
    Throughput::ReadWrite { read: rate(read), write: rate(write) }
}

fn request(units: u64) -> Throughput {
    Throughput::Request(hotplate::budget::Rate::per_second(units).unwrap())
}

fn ask(table: &mut SimTable, access: Access, now: Instant) -> Result<(), Cause> {
    table.advance(now);
    let partition = table.route(access.place);
    match table.refuses(partition, &access, now) {
        None => {
            table.settle(partition, &access, now);
            Ok(())
        }
        Some(cause) => {
            table.refused(partition, &access, cause);
            Err(cause)
        }
    }
}

/// Asks `rate` times a second, evenly; answers what was served in each second.
fn offer(
    table: &mut SimTable,
    from: u64,
    seconds: u64,
    rate: u64,
    access: impl Fn(u64) -> Access,
) -> Vec<u64> {
    (from..from + seconds)
        .map(|second| {
            let at =
                |i: u64| Instant::from_secs(second).after(Duration::from_nanos(i * 1_000_000_000 / rate));
            (0..rate).filter(|i| ask(table, access(second * rate + i), at(*i)).is_ok()).count() as u64
        })
        .collect()
}

fn anywhere(i: u64) -> Place {
    Place { token: u128::from(Seed(9).at(i)) << 64, sort: 0 }
}

/// "A split halves the hot half's share" (Elhemali and others): it does not make throughput.
#[test]
fn a_split_for_heat_divides_even_shares() {
    let profile =
        Profile::dynamodb_provisioned(100, 2_000).unwrap().with_partitions(2).unwrap().with_fill(Fill::Base);
    let switches = Switches { adaptive: Adaptive::None, heat_splits: Some(QUICK), ..Switches::default() };
    let setup = Setup { switches, ..Setup::new("t", profile, Seed(1)) };
    let mut table = SimTable::new(setup, Instant::START).unwrap();
    let served = offer(&mut table, 0, 60, 4_000, |i| Access::write(anywhere(i), MILLI));
    assert!(table.splits() > 0);
    assert!(served[20..].iter().all(|n| *n <= 2_010), "{served:?}");
}

/// AWS re:Post's "linear combination": half of the reads and half of the writes fill a partition, which then is hot.
#[test]
fn a_partition_that_is_full_of_both_is_hot() {
    let profile = Profile::dynamodb_provisioned(9_000, 9_000)
        .unwrap()
        .with_partitions(1)
        .unwrap()
        .with_fill(Fill::Full);
    let switches = Switches { combined_limit: true, heat_splits: Some(QUICK), ..Switches::default() };
    let setup = Setup { switches, ..Setup::new("t", profile, Seed(1)) };
    let mut table = SimTable::new(setup, Instant::START).unwrap();
    offer(&mut table, 0, 10, 2_000, |i| match i % 4 {
        0 => Access::write(anywhere(i), MILLI),
        _ => Access::read(anywhere(i), MILLI, false),
    });
    assert_eq!(table.splits(), 1);
}

#[test]
fn a_full_partition_that_cannot_split_is_in_nobodys_way() {
    let profile = Profile::dynamodb_provisioned(10, 10).unwrap().with_partitions(2).unwrap();
    let setup = Setup {
        switches: Switches { local_index: true, ..Switches::default() },
        ..Setup::new("t", profile, Seed(1))
    };
    let mut table = SimTable::new(setup, Instant::START).unwrap();
    // Until the lowest partition holds one hash only.
    while table.partitions()[0].to.is_some_and(|to| to.token > 1) {
        let low = Access::write(Place::default(), MILLI);
        (0..100_000).for_each(|_| table.offer(table.route(low.place), &low));
        table.refused(0, &low, Cause::KeyRange);
        table.split_hottest(Instant::START).unwrap();
    }
    let before = table.splits();
    let last = table.partitions().len() - 1;
    table.store(0, 11 * GB);
    table.store(last, 11 * GB);
    table.advance(Instant::from_secs(1));
    assert_eq!(table.splits(), before + 1);
}

/// "Considerations when switching capacity modes": at least the highest ever provisioned, however it came to be.
#[test]
fn on_demand_mode_remembers_the_highest_throughput() {
    let at = |hour: u64| Instant::from_secs(hour * 3_600);
    let setup = Setup {
        on_demand: Some(OnDemand { quota: [90_000, 90_000], ..OnDemand::default() }),
        ..Setup::new("t", Profile::dynamodb_on_demand(), Seed(1))
    };
    let mut table = SimTable::new(setup, at(0)).unwrap();
    table.switch_mode(Some(both(5_000, 20_000)), at(1)).unwrap();
    table.set_throughput(both(100, 100), at(2)).unwrap();
    table.switch_mode(None, at(3)).unwrap();
    assert_eq!(table.table_limit(), [12_000.0, 20_000.0]);
    // What it has served, or was warmed for, counts as well, and its quota is its own.
    table.warm([12_000, 60_000], at(3)).unwrap();
    table.switch_mode(Some(both(100, 100)), at(4)).unwrap();
    table.switch_mode(None, at(5)).unwrap();
    assert_eq!(table.table_limit(), [12_000.0, 60_000.0]);
    let served = offer(&mut table, 5 * 3_600, 3, 50_000, |i| Access::write(anywhere(i), MILLI));
    assert!(served[2] > 49_000, "{served:?}");
}

#[test]
fn auto_scaling_has_the_partitions_for_both_capacities_and_is_remembered() {
    let profile = Profile::dynamodb_provisioned(1_500, 500).unwrap();
    let settings = AutoScaling { target_percent: 50, min: 1, max: 40_000 };
    let setup = Setup { auto_scaling: Some(settings), ..Setup::new("t", profile, Seed(1)) };
    let mut table = SimTable::new(setup, Instant::START).unwrap();
    assert_eq!(table.partitions().len(), 1);
    offer(&mut table, 0, 600, 1_000, |i| match i % 2 {
        0 => Access::write(anywhere(i), MILLI),
        _ => Access::read(anywhere(i), 5 * MILLI, false),
    });
    // 500 writes and 2,500 reads at 50 % are 1,000 and at least 3,000: two partitions.
    let [read, write] = table.table_limit();
    assert!(read >= 2_900.0 && write >= 900.0, "{read} {write}");
    assert!(table.partitions().len() >= 2, "{:?}", table.history());
    table.switch_mode(None, Instant::from_secs(600)).unwrap();
    let limit = table.table_limit();
    assert!(limit[0] >= 12_000.0 && limit[1] >= 4_000.0);
    table.switch_mode(Some(both(100, 100)), Instant::from_secs(600)).unwrap();
    offer(&mut table, 600, 600, 100, |i| Access::write(anywhere(i), MILLI));
    assert!(table.table_limit()[1] > 100.0, "auto scaling goes on");
}

fn cosmos(units: u64, partitions: u32) -> Setup {
    Setup::new("c", Profile::cosmos_manual(units).unwrap().with_partitions(partitions).unwrap(), Seed(1))
}

#[test]
fn what_high_priority_asked_for_an_hour_ago_is_not_kept() {
    let mut table = SimTable::new(cosmos(400, 1), Instant::START).unwrap();
    let place = Place::default();
    let high = Access::write(place, 10 * MILLI);
    let low = Access { low_priority: true, ..high };
    for _ in 0..60 {
        let _ = ask(&mut table, high, Instant::START);
    }
    assert_eq!(ask(&mut table, low, Instant::from_secs(1)), Err(Cause::LowPriority));
    assert_eq!(ask(&mut table, low, Instant::from_secs(3_600)), Ok(()));
    // Without anybody of high priority it is the share that is too small.
    let later = Instant::from_secs(7_200);
    while ask(&mut table, low, later).is_ok() {}
    assert_eq!(ask(&mut table, low, later), Err(Cause::PartitionShare));
}

/// "Redistribute throughput": 6,000 over three, one is set to 4,000: 1,000 each for the others. Of 10,000 over two, 20,000
/// for one make 25,000.
#[test]
fn redistribution_gives_what_the_guide_says() {
    let rates = |table: &SimTable| -> Vec<f64> {
        (0..table.partitions().len()).map(|i| table.partition_limit(i)[0]).collect()
    };
    let mut table = SimTable::new(cosmos(6_000, 3), Instant::START).unwrap();
    table.redistribute(4_000, Instant::START).unwrap();
    assert_eq!((rates(&table), table.table_limit()[0]), (vec![4_000.0, 1_000.0, 1_000.0], 6_000.0));
    let mut table = SimTable::new(cosmos(10_000, 2), Instant::START).unwrap();
    table.redistribute(20_000, Instant::START).unwrap();
    assert_eq!((rates(&table), table.table_limit()[0]), (vec![10_000.0, 10_000.0, 5_000.0], 25_000.0));
    let mut table = SimTable::new(cosmos(1_000, 3), Instant::START).unwrap();
    table.redistribute(900, Instant::START).unwrap();
    assert_eq!(table.table_limit()[0], 1_100.0, "{:?}", rates(&table));
}

/// "Merge partitions": less than 3,000 RU/s and less than 20 GB each.
#[test]
fn partitions_below_20_gb_merge() {
    for (gb, partitions) in [(18 * 2, 1), (22 * 2, 2)] {
        let setup = Setup { stored: Bytes(gb * GB), ..cosmos(4_000, 2) };
        let mut table = SimTable::new(setup, Instant::START).unwrap();
        table.merge(Instant::START).unwrap();
        assert_eq!(table.partitions().len(), partitions, "{gb} GB");
    }
    let mut table = SimTable::new(cosmos(4_000, 2), Instant::START).unwrap();
    table.set_throughput(request(6_000), Instant::START).unwrap();
    table.merge(Instant::START).unwrap();
    assert_eq!(table.partitions().len(), 2);
}
