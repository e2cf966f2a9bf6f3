//! Memory of a million items of 200 bytes, by the resident set of a process of its own for each subject.
//!
//! Linux only: the figure comes from `/proc/self/statm`. On other systems the bench says so and measures nothing. A
//! counting allocator would be portable, but needs `unsafe`, and misses what the allocator itself wastes.

mod harness;

use dashmap::DashMap;
use harness::{Report, Target};
use hotplate::{Instant, ItemKey, Profile, SortKey, Table};
use std::env;
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;

const ITEMS: usize = 1_000_000;
const ITEM_BYTES: usize = 200;

/// Items of each logical partition in the second subject.
const ITEMS_PER_KEY: usize = 100;

/// Bytes of a page as `statm` counts them.
const PAGE_BYTES: f64 = 4_096.0;

/// The variable that tells a child process which subject it is.
const SUBJECT: &str = "HOTPLATE_BENCH_MEMORY";

/// Subjects: name, what the report calls it, and the target.
const SUBJECTS: [(&str, &str, Target); 3] = [
    ("single", "one item for each partition key", Target::AtMost(2.5)),
    ("collections", "a hundred items for each partition key", Target::AtMost(2.5)),
    ("bare", "peer: a bare DashMap<String, Arc<[u8]>>", Target::None),
];

fn key(n: usize) -> String {
    format!("customer#{n:08}")
}

fn item(n: usize) -> Arc<[u8]> {
    Arc::from(vec![n as u8; ITEM_BYTES])
}

/// Fills a table with what `place` makes of each number, and answers what it grew by.
fn table(place: impl Fn(usize) -> ItemKey) -> Option<f64> {
    let profile = Profile::dynamodb_provisioned(30_000, 10_000).expect("valid throughput");
    let profile = profile.with_partitions(10).expect("valid partitions");
    let before = resident()?;
    let table = Table::new("orders", profile, Instant::START).expect("valid table");
    for n in 0..ITEMS {
        // Five milliseconds between writes: one key after another stays under the limit of its partition.
        let now = Instant::from_millis(5 * n as u64);
        table.put(&place(n), item(n), now).expect("nothing is throttled");
    }
    let grown = resident()? - before;
    black_box(table);
    Some(grown)
}

fn bare() -> Option<f64> {
    let before = resident()?;
    let map = DashMap::new();
    for n in 0..ITEMS {
        map.insert(key(n), item(n));
    }
    let grown = resident()? - before;
    black_box(map);
    Some(grown)
}

/// Bytes of this process in memory now.
fn resident() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<f64>().ok()? * PAGE_BYTES)
}

/// What a child process measured for `subject`.
fn ask(subject: &str) -> Option<f64> {
    let child = Command::new(env::current_exe().ok()?).env(SUBJECT, subject).output().ok()?;
    String::from_utf8(child.stdout).ok()?.trim().parse().ok()
}

fn main() {
    if let Ok(subject) = env::var(SUBJECT) {
        let grown = match subject.as_str() {
            "single" => table(|n| ItemKey::new(key(n).as_str(), SortKey::none())),
            "collections" => table(|n| {
                ItemKey::new(key(n / ITEMS_PER_KEY).as_str(), SortKey::number((n % ITEMS_PER_KEY) as u64))
            }),
            _ => bare(),
        };
        if let Some(grown) = grown {
            println!("{grown}");
        }
        return;
    }
    let report = Report::begin("memory: a million items of 200 B; ratio to the raw bytes of keys and items");
    let raw = (ITEMS * (key(0).len() + ITEM_BYTES)) as f64;
    let megabytes = |bytes: f64| format!("{:.0} MB", bytes / 1e6);
    for (subject, what, target) in SUBJECTS {
        match ask(subject) {
            Some(grown) => report.row(what, &megabytes(grown), &megabytes(raw), grown / raw, target),
            None => println!("{what}: this system does not tell how much memory a process has"),
        }
    }
}
