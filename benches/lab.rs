//! Load in virtual time: requests a second on one core, from the row of a file to the outcome of its write.
//!
//! There is no peer: the targets are rates. Every stage is measured apart, then all of them in one go.

mod harness;

use harness::{Report, Target, best, seconds};
use hotplate::key::{FieldRef, Placement, Properties, Property, Template};
use hotplate::lab::run::{Clients, DrawnKeys, LoadSpec, Operation, Scenario, TableSpec, run};
use hotplate::lab::{
    Attempts, Distribution, KeyedRows, KeyedRowsBuilder, Outcome, SortRule, WriteLimits, max_rate,
    replay_open,
};
use hotplate::profile::Service;
use hotplate::ring::PartitionMap;
use hotplate::rng::Seed;
use hotplate::units::Bytes;
use hotplate::{Consistency, PartitionKey, Profile};
use std::hint::black_box;
use std::time::Duration;

const PARTITIONS: u32 = 10;
const LAYOUT: Placement = Placement::Seeded { layout: 1 };
const SERVICE_TIME: Duration = Duration::from_millis(5);
/// Writes a second in virtual time: more than the table lets through, so that both outcomes occur.
const RATE: u64 = 12_000;
const ROWS: usize = 1_000_000;
const MANY_ROWS: usize = 10 * ROWS;

/// Rounds of a measurement: each takes up to a second.
const ROUNDS: usize = 5;

/// The target at up to 100,000 keys, in requests a second; and at a million.
const FEW_KEYS: (usize, f64) = (100_000, 2e6);
const MANY_KEYS: (usize, f64) = (1_000_000, 1.2e6);

/// A row of a file: two columns of text.
struct Row {
    customer: String,
    date: &'static str,
}

impl Properties for Row {
    fn property<'a>(&'a self, field: FieldRef<'_>) -> Property<'a> {
        Property::Text(if field.index == 0 { self.customer.as_str().into() } else { self.date.into() })
    }
}

/// As many rows, drawing uniformly from so many customers.
fn rows(count: usize, keys: usize) -> Vec<Row> {
    let seed = Seed(11);
    let number = |i| hotplate::rng::below(seed.at(i), keys as u64);
    (0..count as u64)
        .map(|i| Row { customer: format!("customer#{:08}", number(i)), date: "2014-07-09" })
        .collect()
}

fn limits() -> WriteLimits {
    let profile = Profile::dynamodb_provisioned(1, 10_000).expect("valid throughput");
    WriteLimits::new(&profile.with_partitions(PARTITIONS).expect("valid partitions"), Bytes::from_kb(1))
}

/// The partition of each key.
fn place(keys: &[PartitionKey]) -> Vec<u16> {
    let map = PartitionMap::new(LAYOUT.even_bounds(PARTITIONS), |i, _| i as u16).expect("valid bounds");
    keys.iter().map(|key| map.partitions()[map.index_of_token(&LAYOUT.token(key))]).collect()
}

fn render_and_number(template: &Template, rows: &[Row]) -> KeyedRows {
    let mut builder = KeyedRowsBuilder::new(Service::DynamoDb, SortRule::RowNumber);
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        let rendered =
            template.render(row, Seed(1), i as u64, &mut text).expect("every row has both columns");
        builder.push(rendered, &text, None, None, None).expect("few enough rows");
    }
    builder.finish().expect("every row has a key")
}

fn replay(rows: &[u32], partition_of: &[u16]) -> Outcome {
    replay_open(&limits(), Attempts { rows, partition_of }, RATE, SERVICE_TIME, true)
}

fn rate(report: &Report, what: &str, requests: usize, seconds: f64, target: Target) {
    let millions = requests as f64 / seconds / 1e6;
    report.row(what, &format!("{millions:.2} M/s"), "", millions, target);
}

fn main() {
    let report = Report::begin("lab: load in virtual time, one core; in millions of requests a second");
    for (keys, least) in [FEW_KEYS, MANY_KEYS] {
        let template = Template::parse("{customer}").expect("a template");
        let rows = rows(ROWS, keys);
        let mut whole = |_| {
            seconds(|| {
                let keyed = render_and_number(&template, &rows);
                replay(keyed.rows(), &place(keyed.keys()))
            })
        };
        let [taken] = best(ROUNDS, [&mut whole]);
        let what = format!("row to outcome, {{customer}}, {keys} keys");
        rate(&report, &what, ROWS, taken, Target::AtLeast(least / 1e6));

        let keyed = render_and_number(&template, &rows);
        let partition_of = place(keyed.keys());
        let [taken] = best(ROUNDS, [&mut |_| seconds(|| replay(keyed.rows(), &partition_of))]);
        let what = format!("  replay with heat and keys, {keys} keys");
        rate(&report, &what, ROWS, taken, Target::AtLeast(least / 1e6));
        for (text, of) in [
            ("{customer}", "natural key"),
            ("{customer}-{date}", "concatenation"),
            ("{date}.{hash(customer, 1..200)}", "calculated suffix"),
        ] {
            let template = Template::parse(text).expect("a template");
            let [taken] = best(ROUNDS, [&mut |_| seconds(|| render_and_number(&template, &rows))]);
            let what = format!("  render and number, {of}, {keys} keys");
            rate(&report, &what, ROWS, taken, Target::None);
        }
        let [taken] = best(ROUNDS, [&mut |_| seconds(|| place(keyed.keys()))]);
        rate(
            &report,
            &format!("  hash and route, {} keys", keyed.keys().len()),
            keyed.keys().len(),
            taken,
            Target::None,
        );
    }
    linear(&report);
    search(&report);
    scenarios(&report);
}

/// An hour of virtual time at a rate, on ten partitions, by a distribution: through drawing, keying, routing, admission, charge,
/// heat and response times.
fn scenario(rate: u64, lasts: u64, keys: u64, distribution: Distribution, operation: Operation) -> Scenario {
    let profile = Profile::dynamodb_provisioned(10_000, 10_000).expect("valid throughput");
    let profile = profile.with_partitions(PARTITIONS).expect("valid partitions");
    let keys = DrawnKeys::new("customer", keys, distribution);
    let clients = Clients::constant(rate, Duration::from_secs(lasts));
    Scenario::new("bench", Seed(1))
        .table(TableSpec::new("orders", profile))
        .load(LoadSpec::new("load", keys, clients).operation(operation))
}

fn scenarios(report: &Report) {
    let strong = Operation::Get(Consistency::Strong);
    let zipf = Distribution::Zipf { exponent: 0.99 };
    let cases = [
        ("uniform, writes", 100_000, Distribution::Uniform, Operation::Create, Target::AtLeast(2.0)),
        ("uniform, strong reads", 100_000, Distribution::Uniform, strong, Target::AtLeast(2.0)),
        ("zipf 0.99, writes", 100_000, zipf.clone(), Operation::Create, Target::AtLeast(2.0)),
        ("uniform, writes", 1_000_000, Distribution::Uniform, Operation::Create, Target::AtLeast(1.2)),
        ("zipf 0.99, writes", 1_000_000, zipf, Operation::Create, Target::AtLeast(1.2)),
    ];
    for (what, keys, distribution, operation, target) in cases {
        // A hundred seconds at 12,000 a second: more than the table lets through.
        let scenario = scenario(RATE, 100, keys, distribution, operation);
        let mut once = |_| seconds(|| black_box(run(&scenario, &mut ()).expect("it runs")));
        let [taken] = best(ROUNDS, [&mut once]);
        rate(report, &format!("run: {what}, {keys} keys"), 100 * RATE as usize, taken, target);
    }
    let hour = scenario(10_000, 3_600, 100_000, Distribution::Uniform, Operation::Create);
    let minute = scenario(10_000, 360, 100_000, Distribution::Uniform, Operation::Create);
    let mut long = |_| seconds(|| black_box(run(&hour, &mut ()).expect("it runs")));
    let mut short = |_| seconds(|| black_box(run(&minute, &mut ()).expect("it runs")));
    let [long, short] = best(2, [&mut long, &mut short]);
    report.row(
        "run: an hour at 10,000 a second ÷ six minutes",
        &format!("{long:.1} s"),
        &format!("{short:.1} s"),
        long / short,
        Target::AtMost(11.0),
    );
}

/// Ten times as many requests cost ten times as much.
fn linear(report: &Report) {
    let seed = Seed(13);
    let numbers: Vec<u32> =
        (0..MANY_ROWS as u64).map(|i| hotplate::rng::below(seed.at(i), FEW_KEYS.0 as u64) as u32).collect();
    let keys: Vec<PartitionKey> = (0..FEW_KEYS.0).map(|i| PartitionKey::text(&i.to_string())).collect();
    let partition_of = place(&keys);
    let mut ten_times = |_| seconds(|| replay(&numbers, &partition_of));
    let mut once = |_| seconds(|| replay(&numbers[..ROWS], &partition_of));
    let [many, few] = best(ROUNDS, [&mut ten_times, &mut once]);
    report.row(
        "replay: seconds for 10⁷ requests ÷ 10⁶",
        &format!("{:.3} s", many),
        &format!("{:.3} s", few),
        many / few,
        Target::AtMost(11.0),
    );
}

/// The search for the highest rate replays 300 s for each rate it tries: how long one answer takes.
fn search(report: &Report) {
    let seed = Seed(17);
    let numbers: Vec<u32> =
        (0..ROWS as u64).map(|i| hotplate::rng::below(seed.at(i), FEW_KEYS.0 as u64) as u32).collect();
    let keys: Vec<PartitionKey> = (0..FEW_KEYS.0).map(|i| PartitionKey::text(&i.to_string())).collect();
    let partition_of = place(&keys);
    let attempts = Attempts { rows: &numbers, partition_of: &partition_of };
    let limits = limits();
    let [taken] = best(ROUNDS, [&mut |_| seconds(|| black_box(max_rate(&limits, attempts, 9_900.0)))]);
    report.row(
        "search for the highest rate, to 1 %, seconds",
        &format!("{taken:.3} s"),
        "",
        taken,
        Target::None,
    );
}
