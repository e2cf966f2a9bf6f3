//! Promise: threads that write, read, split and merge one table at once see every transaction whole, lose no update, and
//! find by scan exactly what they find by key.
//!
//! Each test runs for a bounded time, in which a map that changes all the while must never let a wrong answer out. What
//! a thread may get is a conflict: that is an answer, and it tries again.

use hotplate::cluster::{ScanPart, Transaction};
use hotplate::ring::RingPoint;
use hotplate::rng::{Rng, Seed};
use hotplate::units::Bytes;
use hotplate::{
    Change, Consistency, Document, Instant, ItemKey, PartitionKey, Profile, Query, Refusal, Scan, SortKey,
    Table,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How long each test lets its threads meet.
const MEETING: Duration = Duration::from_millis(1_200);

/// Partitions beyond which the splitter only merges.
const PARTITIONS_MAX: usize = 12;

/// Bytes of every item.
const SIZE: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Amount(i64);

impl Document for Amount {
    fn size(&self) -> Bytes {
        Bytes(SIZE)
    }
}

/// A table and a clock that is a second later at each look. A thread that slept while others looked has an old time and
/// may be throttled for it: it looks again.
struct Meeting {
    table: Table<Amount>,
    seconds: AtomicU64,
    over: AtomicBool,
}

impl Meeting {
    fn new() -> Self {
        let profile =
            Profile::dynamodb_provisioned(3_000_000, 1_000_000).unwrap().with_partitions(3).unwrap();
        Self {
            table: Table::new("t", profile, Instant::START).unwrap(),
            seconds: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn now(&self) -> Instant {
        Instant::from_secs(self.seconds.fetch_add(1, Relaxed))
    }

    /// Carries `call` out at a time at which it is not throttled.
    fn unthrottled<T>(
        &self,
        mut call: impl FnMut(&Table<Amount>, Instant) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        loop {
            match call(&self.table, self.now()) {
                Err(Refusal::Throttled(_)) => {}
                outcome => return outcome,
            }
        }
    }

    fn put(&self, key: &ItemKey, amount: i64) -> Option<Amount> {
        self.unthrottled(|table, now| table.put(key, Amount(amount), now)).unwrap().before
    }

    fn delete(&self, key: &ItemKey) -> Option<Amount> {
        self.unthrottled(|table, now| table.delete(key, now)).unwrap().before
    }

    /// Carries a transaction out, or says that it met another one.
    fn transact<'a>(&self, transaction: impl Fn() -> Transaction<'a, Amount>) -> bool {
        let call = |table: &Table<Amount>, now| {
            table.transact(transaction(), now).map_err(|refused| refused.refusal)
        };
        is_done(self.unthrottled(call))
    }

    fn read_together(&self, keys: &[ItemKey]) -> Option<Vec<Option<i64>>> {
        let call =
            |table: &Table<Amount>, now| table.read_transaction(keys, now).map_err(|refused| refused.refusal);
        match self.unthrottled(call) {
            Ok(reads) => Some(reads.into_iter().map(|read| read.item.map(|amount| amount.0)).collect()),
            refused => {
                is_done(refused);
                None
            }
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Runs `threads` beside one that splits and merges wherever `keys` are, until the time is up.
    fn run<'a>(&'a self, keys: &'a [ItemKey], threads: Vec<Box<dyn FnOnce() + Send + 'a>>) {
        std::thread::scope(|scope| {
            let splitter = scope.spawn(|| self.split_and_merge(keys));
            let threads: Vec<_> = threads.into_iter().map(|thread| scope.spawn(thread)).collect();
            std::thread::sleep(MEETING);
            self.over.store(true, Relaxed);
            for thread in threads {
                thread.join().unwrap();
            }
            let changes = splitter.join().unwrap();
            assert!(changes > 50, "the map changed only {changes} times");
        });
    }

    fn split_and_merge(&self, keys: &[ItemKey]) -> u64 {
        let mut rng = Seed(1).rng();
        let mut changes = 0;
        while !self.is_over() {
            let partitions = self.table.report().partitions;
            let partition = &partitions[rng.below(partitions.len() as u64) as usize];
            let changed = if partitions.len() < PARTITIONS_MAX && rng.below(2) == 0 {
                let key = &keys[rng.below(keys.len() as u64) as usize];
                let token = self.table.token(&key.partition);
                match rng.below(3) {
                    0 => self.table.split(partition.id, None, self.now()).is_ok(),
                    inside => {
                        let partition = self.table.partition_of(key);
                        let at = match inside {
                            1 => RingPoint::before(token),
                            _ => RingPoint::inside(token, key.sort.clone()),
                        };
                        self.table.split(partition, Some(at), self.now()).is_ok()
                    }
                }
            } else {
                self.table.merge(partition.id, self.now()).is_ok()
            };
            changes += u64::from(changed);
        }
        changes
    }

    /// Every item by a scan of pages that hold so many.
    fn scan(&self, limit: usize) -> Vec<ItemKey> {
        let mut scan = Scan::of(ScanPart::All).limit(limit);
        let mut keys = Vec::new();
        loop {
            let page = self.unthrottled(|table, now| table.scan(&scan, now)).unwrap();
            // Half a unit for each 4 KB, and at least for each partition that was searched.
            let blocks = (SIZE * page.items.len() as u64).div_ceil(4_096);
            assert!(
                page.charge.read.milli() <= 500 * blocks.max(page.partitions.len() as u64),
                "{}",
                page.charge
            );
            keys.extend(page.items.into_iter().map(|(key, _)| key));
            match page.continuation {
                Some(continuation) => scan = scan.after(continuation),
                None => return keys,
            }
        }
    }

    /// Every item of a logical partition by a query.
    fn query(&self, partition: &PartitionKey) -> Vec<(ItemKey, Amount)> {
        let mut query = Query::of(partition.clone());
        let mut items = Vec::new();
        loop {
            let page = self.unthrottled(|table, now| table.query(&query, now)).unwrap();
            items.extend(page.items);
            // A page ends where another physical partition begins.
            match page.continuation {
                Some(continuation) => query = query.after(continuation),
                None => return items,
            }
        }
    }

    fn get(&self, key: &ItemKey) -> Option<i64> {
        let read = self.unthrottled(|table, now| table.get(key, Consistency::Strong, now)).unwrap();
        read.item.map(|amount| amount.0)
    }

    /// What a scan finds is what the keys find, in one place each, and the index knows no more.
    fn check_index(&self, keys: &[ItemKey]) {
        let by_key: BTreeSet<_> = keys.iter().filter(|key| self.get(key).is_some()).cloned().collect();
        let scanned = self.scan(7);
        let by_scan: BTreeSet<_> = scanned.iter().cloned().collect();
        assert_eq!(by_scan.len(), scanned.len(), "each item once");
        assert_eq!(by_scan, by_key);
        // One partition again: its index must list the logical partitions that hold something, and its recount agree. (The
        // running count of bytes may be off by what threads wrote during a split.)
        let (id, token) = (self.table.partition_of(&keys[0]), self.table.token(&keys[0].partition));
        let _ = self.table.split(id, Some(RingPoint::before(token)), self.now());
        loop {
            let first = self.table.report().partitions.remove(0);
            if self.table.merge(first.id, self.now()).is_err() {
                assert_eq!(
                    first.logical_partitions,
                    by_key.iter().map(|k| &k.partition).collect::<BTreeSet<_>>().len()
                );
                assert_eq!(first.bytes, Bytes(SIZE * by_key.len() as u64));
                return;
            }
        }
    }
}

/// Some keys: several logical partitions of several items each.
fn grid(partitions: u64, items: u64) -> Vec<ItemKey> {
    (0..partitions)
        .flat_map(|p| {
            (0..items).map(move |i| ItemKey::new(PartitionKey::text(&format!("p{p}")), SortKey::number(i)))
        })
        .collect()
}

fn two(keys: &[ItemKey], rng: &mut Rng) -> (ItemKey, ItemKey) {
    let a = rng.below(keys.len() as u64) as usize;
    let b = (a + 1 + rng.below(keys.len() as u64 - 1) as usize) % keys.len();
    (keys[a].clone(), keys[b].clone())
}

/// Whether it was carried out. The one thing that may be in the way is a conflict.
fn is_done<T>(outcome: Result<T, Refusal>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(Refusal::Conflict { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

fn add(by: i64) -> impl FnOnce(Option<&Amount>) -> Change<Amount> {
    move |old| Change::Put(Amount(old.map_or(0, |amount| amount.0) + by))
}

#[test]
fn transfers_never_show_a_wrong_sum() {
    const OPENING: i64 = 1_000;
    let meeting = Meeting::new();
    let accounts = grid(4, 3);
    for key in &accounts {
        meeting.put(key, OPENING);
    }
    let expected = OPENING * accounts.len() as i64;
    let (transfers, conflicts, sums) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let transfer = |seed: u64| {
        let mut rng = Seed(seed).rng();
        while !meeting.is_over() {
            let (from, to) = two(&accounts, &mut rng);
            let amount = rng.below(50) as i64;
            let move_it =
                || Transaction::new().update(from.clone(), add(-amount)).update(to.clone(), add(amount));
            if meeting.transact(move_it) { &transfers } else { &conflicts }.fetch_add(1, Relaxed);
        }
    };
    let audit = || {
        let mut rng = Seed(9).rng();
        while !meeting.is_over() {
            let mut keys = accounts.clone();
            rng.shuffle(&mut keys);
            if let Some(amounts) = meeting.read_together(&keys) {
                assert_eq!(amounts.into_iter().flatten().sum::<i64>(), expected);
                sums.fetch_add(1, Relaxed);
            }
        }
    };
    meeting.run(&accounts, vec![Box::new(|| transfer(2)), Box::new(|| transfer(3)), Box::new(audit)]);
    assert!(transfers.load(Relaxed) > 100 && sums.load(Relaxed) > 10, "{transfers:?} {sums:?} {conflicts:?}");
    assert_eq!(accounts.iter().filter_map(|key| meeting.get(key)).sum::<i64>(), expected);
    meeting.check_index(&accounts);
}

/// One thing that is always in exactly one of several places, each of them an otherwise empty logical partition: who
/// finds none or two has seen half a transaction.
#[test]
fn a_thing_that_moves_is_always_in_one_place() {
    let meeting = Meeting::new();
    let places = grid(3, 1);
    meeting.put(&places[0], 1);
    let seen = AtomicU64::new(0);
    let carry = || {
        let (mut at, mut rng) = (0, Seed(4).rng());
        while !meeting.is_over() {
            let next = (at + 1 + rng.below(places.len() as u64 - 1) as usize) % places.len();
            let move_it =
                || Transaction::new().delete(places[at].clone()).put(places[next].clone(), Amount(1));
            if meeting.transact(move_it) {
                at = next;
            }
        }
    };
    let look = || {
        while !meeting.is_over() {
            if let Some(found) = meeting.read_together(&places) {
                assert_eq!(found.iter().flatten().count(), 1, "{found:?}");
                seen.fetch_add(1, Relaxed);
            }
        }
    };
    meeting.run(&places, vec![Box::new(carry), Box::new(look), Box::new(look)]);
    assert!(seen.load(Relaxed) > 10);
    meeting.check_index(&places);
}

#[test]
fn no_update_is_lost() {
    let meeting = Meeting::new();
    let counters = grid(3, 3);
    let total = AtomicU64::new(0);
    let count = |seed: u64| {
        let mut rng = Seed(seed).rng();
        while !meeting.is_over() {
            let (a, b) = two(&counters, &mut rng);
            // Some alone, some in pairs: either kind must see the other's.
            let done = match rng.below(4) {
                0 => {
                    let both = || Transaction::new().update(a.clone(), add(1)).update(b.clone(), add(1));
                    2 * u64::from(meeting.transact(both))
                }
                _ => u64::from(is_done(meeting.unthrottled(|table, now| table.update(&a, now, add(1))))),
            };
            total.fetch_add(done, Relaxed);
        }
    };
    meeting.run(&counters, vec![Box::new(|| count(2)), Box::new(|| count(3)), Box::new(|| count(4))]);
    let sum: i64 = counters.iter().filter_map(|key| meeting.get(key)).sum();
    assert_eq!(sum as u64, total.load(Relaxed));
    assert!(sum > 1_000, "{sum}");
    meeting.check_index(&counters);
}

/// Collections come and go while the splitter cuts through them. What a thread has just written it finds, by key, query
/// and scan; what it has deleted it finds no more.
#[test]
fn what_comes_and_goes_is_found_while_it_is_there() {
    let meeting = Meeting::new();
    let keys = grid(4, 2);
    let live = |own: &ItemKey| {
        let mut rounds = 0;
        while !meeting.is_over() {
            rounds += 1;
            assert_eq!(meeting.put(own, rounds), None);
            assert_eq!(meeting.get(own), Some(rounds));
            assert!(
                meeting.query(&own.partition).contains(&(own.clone(), Amount(rounds))),
                "{own:?} in a query"
            );
            assert_eq!(meeting.scan(1).iter().filter(|key| *key == own).count(), 1, "{own:?} in a scan");
            assert_eq!(meeting.delete(own), Some(Amount(rounds)));
            assert_eq!(meeting.get(own), None);
            assert!(!meeting.scan(7).contains(own));
        }
        assert!(rounds > 10, "{rounds}");
    };
    // Two threads share a logical partition, one is alone on another: some deletions leave one empty, some do not.
    let threads: Vec<Box<dyn FnOnce() + Send>> =
        vec![Box::new(|| live(&keys[0])), Box::new(|| live(&keys[1])), Box::new(|| live(&keys[2]))];
    meeting.run(&keys[..4], threads);
    meeting.check_index(&keys);
}

/// As above without looking: the faster the changes, the likelier they meet a split. Ballast makes splits slow.
#[test]
fn the_index_keeps_up_with_creation_and_deletion() {
    let meeting = Meeting::new();
    let keys = grid(502, 2);
    let (lively, ballast) = keys.split_at(4);
    for key in ballast {
        meeting.put(key, 1);
    }
    let churn = |seed: u64| {
        let mut rng = Seed(seed).rng();
        while !meeting.is_over() {
            let (a, b) = two(lively, &mut rng);
            match rng.below(8) {
                0 => {
                    let _ =
                        meeting.transact(|| Transaction::new().put(a.clone(), Amount(1)).delete(b.clone()));
                }
                1..4 => drop(meeting.unthrottled(|table, now| table.put(&a, Amount(1), now))),
                _ => drop(meeting.unthrottled(|table, now| table.delete(&a, now))),
            }
        }
    };
    meeting.run(lively, vec![Box::new(|| churn(5)), Box::new(|| churn(6)), Box::new(|| churn(7))]);
    meeting.check_index(&keys);
}

/// A scan that meets a partition just giving way waits for its successors, and does not pay for waiting (see
/// [`Meeting::scan`]).
#[test]
fn scans_are_whole_whatever_splits() {
    let meeting = Meeting::new();
    let keys = grid(1_000, 2);
    for key in &keys {
        meeting.put(key, 1);
    }
    let scan = |limit: usize| {
        while !meeting.is_over() {
            let scanned = meeting.scan(limit);
            let distinct: BTreeSet<_> = scanned.iter().collect();
            assert_eq!((distinct.len(), scanned.len()), (keys.len(), keys.len()));
        }
    };
    meeting.run(&keys, vec![Box::new(|| scan(usize::MAX)), Box::new(|| scan(100))]);
    meeting.check_index(&keys);
}
