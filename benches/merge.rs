//! A day over two hundred suffixes, read back merged, beside a plain `BTreeMap` that holds the same rows in order.
//!
//! The peer has what no partitioned database has: all rows in one place, sorted. It keeps no budget, no charge, no heat
//! and no continuation. Items are log lines of 200 bytes that know their size, as both sides store them behind an `Arc`.
//! Limits are wide enough that nothing is throttled.

mod harness;

use harness::{Report, Target, best, nanos_each, seconds};
use hotplate::client::{Client, FanOutQuery, KeyDesign, Record};
use hotplate::key::{FieldRef, KeyValue, Properties, Property};
use hotplate::profile::Service;
use hotplate::{Bytes, Clock, Document, Profile, Seed, SortKey, Table, Template};
use serde_json::json;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

const SUFFIXES: usize = 200;
const ROWS_OF_A_SUFFIX: usize = 500;
const ROWS: usize = SUFFIXES * ROWS_OF_A_SUFFIX;
const ROUNDS: usize = 15;
/// Rows of a page.
const PAGE: usize = 50;

const DATE: &str = "2014-07-09";

/// A log line.
#[derive(Clone)]
struct Line {
    at: u64,
    message: Box<[u8]>,
}

impl Document for Line {
    fn size(&self) -> Bytes {
        Bytes(8 + DATE.len() as u64 + self.message.len() as u64)
    }
}

impl Properties for Line {
    fn property<'a>(&'a self, field: FieldRef<'_>) -> Property<'a> {
        match field.path.names() {
            [name] if name == "date" => Property::Text(DATE.into()),
            [name] if name == "at" => Property::Number(self.at.to_string().into()),
            _ => Property::Absent,
        }
    }
}

impl Record for Line {
    fn with_property(self, _: &str, _: &KeyValue) -> Self {
        self
    }
}

/// Reads everything between two sort keys; answers how many rows there were.
fn merged(client: &Client<'_, Table<Arc<Line>>>, clock: &Clock, query: &FanOutQuery) -> usize {
    // Budgets of the last round are refilled.
    clock.advance(Duration::from_secs(600));
    let mut rows = client.read(&json!({ "date": DATE }), query).expect("a valid query");
    let count = rows.by_ref().map(black_box).count();
    assert!(rows.refusal().is_none(), "nothing is throttled");
    count
}

fn main() {
    let clock = Clock::manual();
    let profile = Profile::dynamodb_provisioned(1_000_000, 1_000_000)
        .and_then(|profile| profile.with_partitions(400))
        .expect("valid throughput");
    let table: Table<Arc<Line>> = Table::new("log", profile, clock.now()).expect("a valid table");
    let template = Template::parse("{date}.{random(1..200)}").expect("a valid template");
    let client = Client::new(&table, KeyDesign::new(template, "at", Service::DynamoDb), clock.clone());

    let mut numbers: Vec<usize> = (0..ROWS).collect();
    Seed(7).rng().shuffle(&mut numbers);
    let mut sorted: BTreeMap<SortKey, Arc<Line>> = BTreeMap::new();
    for at in numbers {
        let item = Arc::new(Line { at: at as u64, message: vec![b'm'; 182].into() });
        sorted.insert(SortKey::number(at as u64), Arc::clone(&item));
        client.put(item).expect("nothing is throttled");
        clock.advance(Duration::from_micros(20));
    }

    let report = Report::begin("merge: a day over 200 suffixes; peer: a BTreeMap of the same rows");
    let between = |from: usize, to: usize| FanOutQuery {
        from: Bound::Included(SortKey::number(from as u64)),
        to: Bound::Excluded(SortKey::number(to as u64)),
        ..FanOutQuery::default()
    };
    let plain = |from: usize, to: usize, most: usize| {
        let range = SortKey::number(from as u64)..SortKey::number(to as u64);
        let rows = sorted.range(range).take(most).map(|(key, item)| (key.clone(), Arc::clone(item)));
        rows.fold(0, |count, row| {
            black_box(row);
            count + 1
        })
    };
    for (what, from, to) in [("all of it", 0, ROWS), ("a tenth, by sort key", ROWS / 2, ROWS / 2 + ROWS / 10)]
    {
        let query = between(from, to);
        let [ours, peer] = best(
            ROUNDS,
            [&mut |_| seconds(|| assert_eq!(merged(&client, &clock, &query), to - from)), &mut |_| {
                seconds(|| assert_eq!(plain(from, to, usize::MAX), to - from))
            }],
        );
        let (ours_each, peer_each) = (nanos_each(ours, to - from), nanos_each(peer, to - from));
        report.row(&format!("{what}, a row"), &ours_each, &peer_each, ours / peer, Target::None);
    }
    let page = FanOutQuery { limit: Some(PAGE), ..between(ROWS / 2, ROWS) };
    let [ours, peer] = best(
        ROUNDS,
        [&mut |_| seconds(|| assert_eq!(merged(&client, &clock, &page), PAGE)), &mut |_| {
            seconds(|| assert_eq!(plain(ROWS / 2, ROWS, PAGE), PAGE))
        }],
    );
    let micros = |seconds: f64| format!("{:.1} µs", seconds * 1e6);
    report.row(&format!("a page of {PAGE}"), &micros(ours), &micros(peer), ours / peer, Target::None);
    report.row(
        "  for each of the 200 queries it takes",
        &micros(ours / SUFFIXES as f64),
        "",
        f64::NAN,
        Target::None,
    );
}
