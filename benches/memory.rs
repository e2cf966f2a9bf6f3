//! Memory of a million items beside the raw bytes of their keys and values, by the resident set of this process.

mod harness;

use harness::{Report, Target};
use hotplate::{Instant, ItemKey, Profile, SortKey, Table};
use std::sync::Arc;

const ITEMS: usize = 1_000_000;
const ITEM_BYTES: usize = 200;

/// Resident bytes of this process, as Linux tells; `None` elsewhere.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes * 1_024.0)
}

fn main() {
    let report = Report::begin("Memory");
    let profile = Profile::dynamodb_provisioned(1_000_000, 1_000_000).expect("valid throughput");
    let profile = profile.with_partitions(10).expect("valid partitions");
    let table: Table<Arc<[u8]>> = Table::new("items", profile, Instant::START).expect("a name");
    let Some(before) = resident() else {
        println!("the resident set is read from /proc, which is not there");
        return;
    };
    let mut raw = 0;
    for i in 0..ITEMS {
        let text = format!("customer#{i:08}");
        raw += text.len() + ITEM_BYTES;
        let key = ItemKey::new(text.as_str(), SortKey::none());
        let now = Instant::from_millis(i as u64);
        table.put(&key, vec![i as u8; ITEM_BYTES].into(), now).expect("nothing is throttled");
    }
    let held = resident().expect("read before") - before;
    report.row(
        "memory of 10⁶ items of 200 B",
        &format!("{:.0} MB", held / 1e6),
        &format!("{:.0} MB raw", raw as f64 / 1e6),
        held / raw as f64,
        Target::AtMost(2.5),
    );
}
