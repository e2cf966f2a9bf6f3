//! Bars 3 to 6: AWS Database Blog, "Scaling DynamoDB: how partitions, hot keys and split for heat impact performance", part
//! 1: one file of IP ranges loaded into new tables in four ways (L1 to L4). Bar 2: a hot item on a large table.

use super::*;
use hotplate::Profile;
use hotplate::key::Placement;
use hotplate::lab::run::{Items, VerdictName};
use hotplate::physics::Switches;

/// Rows of the file: what 6,000 a second over a minute come to (inferred; the post says "hundreds of thousands").
const ROWS: u64 = 360_000;

/// First octets that occur: "over 200 distinct partition keys".
const OCTETS: u64 = 205;

/// The post's loader is one loop; what it had under way is not said. Two batches at a time, answered after 5 ms, offer 10,000
/// a second, which saturates each of these tables.
fn loader() -> Clients {
    Clients::Loader { loops: 2, batch: 25, items: ROWS }
}

fn octets() -> DrawnKeys {
    uniform("octet", OCTETS).items(Items::Random(ROWS))
}

fn unsplit(profile: Profile) -> TableSpec {
    let table = TableSpec::new("ips", profile);
    TableSpec { switches: Switches { heat_splits: None, ..table.switches }, ..table }
}

/// Provisioned tables begin without burst credit: a new table has had no time to save any (assumed).
fn provisioned() -> Profile {
    use hotplate::budget::Fill;
    Profile::dynamodb_provisioned(1, 10_000).unwrap().with_partitions(10).unwrap().with_fill(Fill::Base)
}

#[test]
fn bar_02_one_hot_item_of_a_large_table_has_1000_writes_a_second() {
    let keys = uniform("item", 1).items(Items::One);
    let load = LoadSpec::new("writers", keys, Clients::constant(5_000, secs(120)));
    let report = ran(&one(TableSpec::new("t", provisioned()), load, 2));
    let load = &report.loads[0];
    near(mean(load, &load.course.served, 10, 120), 1_000.0, 0.01);
    near(mean(load, &load.course.throttled, 10, 120), 4_000.0, 0.01);
    let reasons: Vec<&str> = load.reasons.iter().map(|reason| reason.reason.as_str()).collect();
    assert_eq!(reasons, ["TableWriteKeyRangeThroughputExceeded"]);
    assert_eq!(report.verdicts[0].name, VerdictName::HotKey);
}

/// L1. Switch: splits off. Tolerance 2 %.
#[test]
fn bar_03_a_new_on_demand_table_with_one_key_loads_at_1000_a_second() {
    let keys = uniform("all", 1).items(Items::Random(ROWS));
    let load = LoadSpec::new("loader", keys, loader());
    let report = ran(&one(unsplit(Profile::dynamodb_on_demand()), load, 3));
    near(report.loads[0].served_per_s, 1_000.0, 0.02);
    assert_eq!(report.loads[0].served, ROWS);
}

/// L2. Published: about 1,250 a second. Band 1,000 to 1,500.
#[test]
fn bar_04_a_sorted_file_is_a_rolling_hot_partition() {
    let keys = DrawnKeys {
        run: ROWS.div_ceil(OCTETS),
        ..DrawnKeys::new("octet", OCTETS, Distribution::Sequential).items(Items::Random(ROWS))
    };
    for layout in 0..5 {
        let load = LoadSpec::new("loader", keys.clone(), loader());
        let report = ran(&one(unsplit(Profile::dynamodb_on_demand().with_placement(at(layout))), load, 4));
        let rate = report.loads[0].served_per_s;
        assert!((1_000.0..=1_500.0).contains(&rate), "{rate}");
        assert_eq!(report.verdicts[0].name, VerdictName::MovingHotSpot, "{}", report.verdicts[0].text);
    }
}

/// Another layout: how 205 keys fall on four partitions is luck.
fn at(layout: u32) -> Placement {
    Placement::Seeded { layout }
}

/// L3. Published: under two minutes, 3,600 a second over the one whole minute. Tolerance 10 %, of the median over layouts.
#[test]
fn bar_05_the_same_file_shuffled_uses_all_four_partitions() {
    let mut rates: Vec<f64> = (0..11)
        .map(|layout| {
            let load = LoadSpec::new("loader", octets(), loader());
            let report =
                ran(&one(unsplit(Profile::dynamodb_on_demand().with_placement(at(layout))), load, 5));
            assert!(report.seconds < 120.0, "{}", report.seconds);
            mean(&report.loads[0], &report.loads[0].course.served, 30, 90)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    near(rates[5], 3_600.0, 0.10);
}

/// L4. Published: under a minute, 6,000 a second as the one point of that minute. And the four in order.
#[test]
fn bar_06_ten_partitions_load_it_within_a_minute() {
    let load = LoadSpec::new("loader", octets(), loader());
    let report = ran(&one(unsplit(provisioned()), load, 6));
    assert!(report.seconds < 60.0, "{}", report.seconds);
    let in_the_minute = report.loads[0].served as f64 / 60.0;
    assert!(in_the_minute >= 6_000.0 * 0.95, "{in_the_minute}");
    let rate = report.loads[0].served_per_s;
    assert!(rate > 3_600.0 * 1.5, "{rate}");
}
