//! Point operations and pages of an in-process table, beside a bare `DashMap` with the same keys and items.
//!
//! The peer keeps nothing but the item: no sort key, no size, no budget, no heat, no order. Both sides are handed
//! prebuilt keys in random order, and both clone the `Arc` they read. Limits are wide enough that nothing is throttled.

mod harness;

use dashmap::DashMap;
use harness::{ROUNDS, Report, STEP, Target, Time, best, median, nanos_each, seconds, shuffle};
use hotplate::cluster::{Direction, ScanPart};
use hotplate::ring::{RingPoint, TokenRange};
use hotplate::{Consistency, Database, Instant, ItemKey, Profile, Query, Scan, SortKey, Table};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

type Item = Arc<[u8]>;
type Bare = DashMap<String, Item>;

const ITEM_BYTES: usize = 200;
const PARTITIONS: u32 = 10;
const SMALL: usize = 10_000;
const LARGE: usize = 1_000_000;

/// Operations of one round: several passes over few keys, or another stretch of many keys in each round.
const OPERATIONS: usize = 20_000;

/// Operations of one round with threads, and rounds: long enough that the threads do run side by side.
const THREADED_OPERATIONS: usize = 200_000;
const THREADED_ROUNDS: usize = 15;

/// Rounds of inserting a million keys, which takes seconds.
const INSERT_ROUNDS: usize = 5;

/// Requests of a thread between two moves of the clock that threads share.
const TICK: u64 = 256;

/// Items of a page.
const PAGE: usize = 100;

fn dynamodb() -> Profile {
    let profile = Profile::dynamodb_provisioned(30_000, 10_000).expect("valid throughput");
    profile.with_partitions(PARTITIONS).expect("valid partitions")
}

fn cosmos() -> Profile {
    let profile = Profile::cosmos_manual(100_000).expect("valid throughput");
    profile.with_partitions(PARTITIONS).expect("valid partitions")
}

/// Keys and items in one random order, as both sides are asked for them.
struct Data {
    keys: Vec<ItemKey>,
    texts: Vec<String>,
    items: Vec<Item>,
}

impl Data {
    fn new(count: usize) -> Self {
        let mut numbers: Vec<usize> = (0..count).collect();
        shuffle(&mut numbers);
        let texts: Vec<String> = numbers.iter().map(|n| format!("customer#{n:08}")).collect();
        Self {
            keys: texts.iter().map(|text| ItemKey::new(text.as_str(), SortKey::none())).collect(),
            texts,
            items: (0..count).map(|n| Item::from(vec![n as u8; ITEM_BYTES])).collect(),
        }
    }

    /// The places of the keys that a round is about.
    fn stretch(&self, round: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.keys.len();
        (round * OPERATIONS..(round + 1) * OPERATIONS).map(move |i| i % count)
    }

    /// A table with all items, put in another order than they are read in.
    fn table(&self, profile: &Profile, time: &Time) -> Table<Item> {
        let table = Table::new("orders", profile.clone(), Instant::START).expect("valid table");
        for n in self.filling_order() {
            let written = table.put(&self.keys[n], Item::from(vec![n as u8; ITEM_BYTES]), time.now());
            written.expect("nothing is throttled");
        }
        table
    }

    fn bare(&self) -> Bare {
        let map = Bare::new();
        for n in self.filling_order() {
            map.insert(self.texts[n].clone(), Item::from(vec![n as u8; ITEM_BYTES]));
        }
        map
    }

    fn filling_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        order.sort_by(|&a, &b| self.texts[a].cmp(&self.texts[b]));
        order
    }
}

/// One set of keys on both sides, under one profile.
struct Sides {
    name: String,
    data: Data,
    time: Time,
    table: Table<Item>,
    bare: Bare,
}

impl Sides {
    fn new(name: &str, profile: &Profile, count: usize) -> Self {
        let (data, time) = (Data::new(count), Time::default());
        let (table, bare) = (data.table(profile, &time), data.bare());
        Self { name: format!("{name}, {count} keys"), data, time, table, bare }
    }

    fn reads(&self, report: &Report) {
        let Self { data, time, table, bare, .. } = self;
        let ours = |round| {
            seconds(|| {
                for i in data.stretch(round) {
                    let read = table.get(&data.keys[i], Consistency::Eventual, time.now());
                    black_box(read.expect("nothing is throttled"));
                }
            })
        };
        let peer = |round| {
            seconds(|| {
                for i in data.stretch(round) {
                    black_box(bare.get(&data.texts[i]).map(|item| Arc::clone(&item)));
                }
            })
        };
        compare(report, &format!("point read, {}", self.name), ROUNDS, OPERATIONS, ours, peer, 0.7);
    }

    fn overwrites(&self, report: &Report) {
        let Self { data, time, table, bare, .. } = self;
        let ours = |round| {
            seconds(|| {
                for i in data.stretch(round) {
                    let written = table.put(&data.keys[i], Arc::clone(&data.items[i]), time.now());
                    black_box(written.expect("nothing is throttled"));
                }
            })
        };
        let peer = |round| {
            seconds(|| {
                for i in data.stretch(round) {
                    black_box(bare.insert(data.texts[i].clone(), Arc::clone(&data.items[i])));
                }
            })
        };
        compare(report, &format!("overwrite, {}", self.name), ROUNDS, OPERATIONS, ours, peer, 0.5);
    }

    fn two_threads(&self, report: &Report, operation: Operation) {
        let Self { data, time, table, bare, .. } = self;
        let count = data.keys.len();
        let clock = AtomicU64::new(time.now().nanos());
        // A thread that loses its core between looking at the clock and asking comes with a time long past.
        let late = AtomicU64::new(0);
        let ours = |threads, round| {
            in_threads(threads, round, |i| {
                if (i as u64).is_multiple_of(TICK) {
                    clock.fetch_add(TICK * STEP.as_nanos() as u64, Ordering::Relaxed);
                }
                let (now, i) = (Instant::from_nanos(clock.load(Ordering::Relaxed)), i % count);
                let refused = match operation {
                    Operation::Read => {
                        black_box(table.get(&data.keys[i], Consistency::Eventual, now)).is_err()
                    }
                    Operation::Overwrite => {
                        black_box(table.put(&data.keys[i], Arc::clone(&data.items[i]), now)).is_err()
                    }
                };
                if refused {
                    late.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let peer = |threads, round| {
            in_threads(threads, round, |i| {
                let i = i % count;
                match operation {
                    Operation::Read => {
                        black_box(bare.get(&data.texts[i]).map(|item| Arc::clone(&item)));
                    }
                    Operation::Overwrite => {
                        black_box(bare.insert(data.texts[i].clone(), Arc::clone(&data.items[i])));
                    }
                }
            })
        };
        let [ours1, ours2, peer1, peer2] = best(
            THREADED_ROUNDS,
            [&mut |r| ours(1, r), &mut |r| ours(2, r), &mut |r| peer(1, r), &mut |r| peer(2, r)],
        );
        // What comes next begins later than any of these.
        time.advance_to(Instant::from_nanos(clock.into_inner()));
        let verb = match operation {
            Operation::Read => "reads",
            Operation::Overwrite => "overwrites",
        };
        report.row(
            &format!("two threads' gain, {verb}, {}", self.name),
            &format!("{:.2} ×", ours1 / ours2),
            &format!("{:.2} ×", peer1 / peer2),
            (ours1 / ours2) / (peer1 / peer2),
            Target::AtLeast(0.9),
        );
        report.row(
            "    side by side, on two threads",
            &nanos_each(ours2, THREADED_OPERATIONS),
            &nanos_each(peer2, THREADED_OPERATIONS),
            peer2 / ours2,
            Target::None,
        );
        let (late, all) = (late.into_inner(), 2 * THREADED_OPERATIONS * THREADED_ROUNDS);
        if late * 1_000 > all as u64 {
            println!(
                "    {late} of {all} requests came late and were throttled: run again on a quiet machine"
            );
        }
    }
}

/// What a thread does in the two-thread rows.
#[derive(Clone, Copy)]
enum Operation {
    Read,
    Overwrite,
}

fn inserts(report: &Report, profile: &Profile, count: usize) {
    let (data, time) = (Data::new(count), Time::default());
    let passes = (OPERATIONS / count).max(1);
    let rounds = if passes > 1 { ROUNDS } else { INSERT_ROUNDS };
    // Maps are made before and dropped after the time is taken.
    let ours = |_| {
        let table = || Table::new("orders", profile.clone(), Instant::START).expect("valid table");
        let tables: Vec<Table<Item>> = (0..passes).map(|_| table()).collect();
        seconds(|| {
            for table in &tables {
                for (key, item) in data.keys.iter().zip(&data.items) {
                    black_box(table.put(key, Arc::clone(item), time.now()).expect("nothing is throttled"));
                }
            }
        })
    };
    let peer = |_| {
        let maps: Vec<Bare> = (0..passes).map(|_| Bare::new()).collect();
        seconds(|| {
            for map in &maps {
                for (text, item) in data.texts.iter().zip(&data.items) {
                    black_box(map.insert(text.clone(), Arc::clone(item)));
                }
            }
        })
    };
    compare(report, &format!("insert, pooled, {count} new keys"), rounds, count * passes, ours, peer, 0.3);
}

fn compare(
    report: &Report,
    what: &str,
    rounds: usize,
    operations: usize,
    mut ours: impl FnMut(usize) -> f64,
    mut peer: impl FnMut(usize) -> f64,
    least: f64,
) {
    let [ours, peer] = best(rounds, [&mut ours, &mut peer]);
    let figures = [ours, peer].map(|seconds| nanos_each(seconds, operations));
    report.row(what, &figures[0], &figures[1], peer / ours, Target::AtLeast(least));
}

/// Seconds that `threads` take to do `work` for every number of a round, each thread its own stretch of them.
fn in_threads(threads: usize, round: usize, work: impl Fn(usize) + Sync) -> f64 {
    let stretch = THREADED_OPERATIONS / threads;
    let began = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..threads)
            .map(|thread| {
                let (work, began) = (&work, &began);
                let from = round * THREADED_OPERATIONS + thread * stretch;
                scope.spawn(move || {
                    began.wait();
                    (from..from + stretch).for_each(work);
                })
            })
            .collect();
        began.wait();
        seconds(|| runs.into_iter().for_each(|run| run.join().expect("no thread panics")))
    })
}

/// A fresh database with one table: what a test suite pays for each test.
fn fresh(report: &Report, name: &str, profile: &Profile) {
    const DATABASES: usize = 2_000;
    let times = (0..DATABASES).map(|_| {
        seconds(|| {
            let database: Database<Item> = Database::new();
            database.create_table("orders", profile.clone(), Instant::START).expect("valid table");
            database
        })
    });
    let micros = median(times.collect()) * 1e6;
    report.row(
        &format!("fresh database, one table, {name}, µs"),
        &format!("{micros:.2} µs"),
        "",
        micros,
        Target::AtMost(20.0),
    );
}

/// A page of a table of `count` logical partitions, and one of a logical partition of `count` items: beginning anywhere.
struct Pages {
    table: Table<Item>,
    time: Time,
    scans: Vec<Scan>,
    queries: Vec<Query>,
}

impl Pages {
    /// Pages of each measurement.
    const COUNT: usize = 500;

    fn new(count: usize) -> Self {
        let (data, time) = (Data::new(count), Time::default());
        let table = data.table(&dynamodb(), &time);
        // Beginnings of pages all over the table, in random order.
        let mut scans: Vec<Scan> = dynamodb()
            .placement()
            .even_bounds(Self::COUNT as u32)
            .into_iter()
            .map(|bound| TokenRange::new(RingPoint::before(bound), None).expect("a range to the ring's end"))
            .map(|range| Scan::of(ScanPart::Range(range)).limit(PAGE))
            .collect();
        shuffle(&mut scans);
        for n in 0..count as u64 {
            let key = ItemKey::new("one for all", SortKey::number(n));
            // One key takes no more than one partition serves: a millisecond or more between writes.
            let now = (0..10).fold(Instant::START, |_, _| time.now());
            table.put(&key, Item::from(vec![n as u8; ITEM_BYTES]), now).expect("nothing is throttled");
        }
        let mut queries: Vec<Query> = (0..Self::COUNT)
            .map(|i| (i * (count - PAGE) / Self::COUNT) as u64)
            .map(|from| {
                Query::of("one for all")
                    .between(std::ops::Bound::Included(SortKey::number(from)), std::ops::Bound::Unbounded)
                    .direction(Direction::Ascending)
                    .limit(PAGE)
            })
            .collect();
        shuffle(&mut queries);
        Self { table, time, scans, queries }
    }

    /// A later time at which the partition has units again for another page.
    fn now(&self) -> Instant {
        (0..100).fold(Instant::START, |_, _| self.time.now())
    }

    fn scan(&self) -> f64 {
        seconds(|| {
            for scan in &self.scans {
                black_box(self.table.scan(scan, self.now()).expect("nothing is throttled"));
            }
        })
    }

    fn query(&self) -> f64 {
        seconds(|| {
            for query in &self.queries {
                black_box(self.table.query(query, self.now()).expect("nothing is throttled"));
            }
        })
    }
}

fn pages(report: &Report) {
    let (small, large) = (Pages::new(SMALL), Pages::new(LARGE));
    type Page = fn(&Pages) -> f64;
    for (what, page) in [("query", Pages::query as Page), ("scan", Pages::scan as Page)] {
        let [of_large, of_small] = best(ROUNDS, [&mut |_| page(&large), &mut |_| page(&small)]);
        let micros = |seconds: f64| format!("{:.1} µs", seconds * 1e6 / Pages::COUNT as f64);
        report.row(
            &format!("page of {PAGE} of a {what}: {LARGE} items ÷ {SMALL}"),
            &micros(of_large),
            &micros(of_small),
            of_large / of_small,
            Target::AtMost(2.0),
        );
    }
}

fn main() {
    let report = Report::begin("table: in-process operations; peer: a bare DashMap<String, Arc<[u8]>>");
    for (name, profile) in [("pooled", dynamodb()), ("even shares", cosmos())] {
        for count in [SMALL, LARGE] {
            let sides = Sides::new(name, &profile, count);
            sides.reads(&report);
            sides.overwrites(&report);
            sides.two_threads(&report, Operation::Read);
            sides.two_threads(&report, Operation::Overwrite);
        }
    }
    for count in [SMALL, LARGE] {
        inserts(&report, &dynamodb(), count);
    }
    fresh(&report, "4 partitions", &Profile::dynamodb_on_demand());
    fresh(&report, "10 partitions", &dynamodb());
    pages(&report);
}
