//! Promise: the same operations give the same answers, down to the last byte, whatever a hash map or an address says.

use hotplate::cluster::{BatchWrite, ScanPart, Transaction};
use hotplate::ring::RingPoint;
use hotplate::rng::Seed;
use hotplate::{Change, Consistency, Instant, ItemKey, PartitionKey, Profile, Query, Scan, SortKey, Table};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Operations of one run: enough for throttles, splits by hand and by size, and keys that come and go.
const STEPS: u64 = 3_000;

/// What a run of `seed` answers, as text.
fn run(profile: Profile, seed: u64) -> String {
    let table: Table<Value> = Table::new("t", profile, Instant::START).unwrap();
    let (mut rng, mut now, mut log) = (Seed(seed).rng(), Instant::START, String::new());
    for step in 0..STEPS {
        now = now.after(Duration::from_micros(rng.below(20_000)));
        let n = rng.below(40);
        let key = ItemKey::new(PartitionKey::text(&format!("key-{n}")), SortKey::number(rng.below(20)));
        let item = json!({"step": step, "text": "x".repeat(rng.below(2_000) as usize)});
        match rng.below(12) {
            0..4 => writeln!(log, "{:?}", table.put(&key, item, now)),
            4 => writeln!(log, "{:?}", table.delete(&key, now)),
            5 => writeln!(
                log,
                "{:?}",
                table.update(&key, now, |old| old.map_or(Change::Refuse, |_| Change::Put(item)))
            ),
            6 => {
                let other = ItemKey::new(key.partition.clone(), 99_u64);
                let transaction = Transaction::new().put(key, item).delete(other);
                writeln!(log, "{:?}", table.transact(transaction, now))
            }
            7 => {
                let other = ItemKey::new(key.partition.clone(), 98_u64);
                writeln!(
                    log,
                    "{:?}",
                    table.write_batch(vec![BatchWrite::Delete(key), BatchWrite::Put(other, item)], now)
                )
            }
            8 => writeln!(log, "{:?}", table.query(&Query::of(key.partition).limit(5), now)),
            9 => writeln!(log, "{:?}", table.scan(&Scan::of(ScanPart::All).limit(20), now)),
            10 => writeln!(log, "{:?}", table.get(&key, Consistency::Strong, now)),
            _ if step % 5 == 0 => {
                let id = table.partition_of(&key);
                let at = (step % 2 == 0).then(|| RingPoint::before(table.token(&key.partition)));
                writeln!(log, "{:?}", table.split(id, at, now))
            }
            _ if step % 5 == 1 => writeln!(log, "{:?}", table.merge(table.partition_of(&key), now)),
            _ => writeln!(log, "{:?}", table.top_keys(5)),
        }
        .unwrap();
    }
    writeln!(log, "{:?}", table.report()).unwrap();
    writeln!(log, "{:?} {:?}", table.top_keys(usize::MAX), table.top_throttled_keys(usize::MAX)).unwrap();
    log
}

#[test]
fn the_same_run_answers_the_same() {
    let profiles = [
        Profile::dynamodb_provisioned(100, 60).unwrap().with_partitions(3).unwrap(),
        Profile::dynamodb_on_demand().with_partition_max(hotplate::units::Bytes(40_000)).unwrap(),
        Profile::cosmos_manual(2_000).unwrap().with_partitions(3).unwrap(),
    ];
    for profile in profiles {
        let first = run(profile.clone(), 1);
        assert!(first == run(profile.clone(), 1), "{}: two runs of one seed differ", profile.name());
        assert!(first != run(profile.clone(), 2), "{}: two seeds give one run", profile.name());
        for part in ["Ok(", "ConditionFailed", "Some(Continuation"] {
            assert!(first.contains(part), "{}: a run without {part:?} proves little", profile.name());
        }
    }
}

/// Keys without items are counted by a sketch once there are many: it must not depend on chance either.
#[test]
fn a_sketch_of_many_keys_is_the_same_twice() {
    let run = || {
        let table: Table<Value> = Table::new("t", Profile::dynamodb_on_demand(), Instant::START).unwrap();
        let mut rng = Seed(3).rng();
        for n in 0..60_000_u64 {
            let key = format!("absent-{}", if n % 4 == 0 { rng.below(20) } else { rng.below(1 << 40) });
            let now = Instant::from_millis(n);
            let _ = table.get(&ItemKey::new(key.as_str(), 0_u64), Consistency::Eventual, now);
        }
        let keys = table.top_keys(50);
        assert!(keys.iter().any(|key| key.error > 0), "the sketch has not taken over");
        format!("{keys:?}")
    };
    assert!(run() == run());
}
