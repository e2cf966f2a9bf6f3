//! Random writes, batches and transactions against a model, and threads that transfer between accounts.

mod dynamodb_setup;

use dynamodb_setup::{account, ask, ask_at, codes, consumed, filled, on_demand};
use hotplate::dynamodb::service::{Billing, Change, Database, IndexDefinition, Witness};
use hotplate::dynamodb::{Attributes, Item};
use hotplate::{Instant, Scan, Seed, Table};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// All items of a table or index, in an order of their own.
fn contents(table: &Table<Item>, now: Instant) -> Vec<Value> {
    let page = table.scan(&Scan::of(Default::default()), now).unwrap();
    assert!(page.continuation.is_none());
    sorted(page.items.iter().map(|(_, item)| item.attributes().to_json()))
}

fn sorted(items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut items: Vec<Value> = items.collect();
    items.sort_by_key(Value::to_string);
    items
}

/// What the entries of all indexes have to be, given the items.
fn check_indexes(database: &Database, now: Instant) {
    for name in ["orders", "accounts"] {
        let table = database.table(name).unwrap();
        let definition = table.definition();
        let items = contents(table.base(), now);
        let expected = |index: &IndexDefinition| {
            let entry = |item: &Value| {
                let item = Attributes::from_json(item.clone()).unwrap();
                item.contains("status").then(|| index.project(&definition.schema, &item).to_json())
            };
            sorted(items.iter().filter_map(entry))
        };
        for (at, index) in definition.local.iter().enumerate() {
            assert_eq!(contents(table.local(at).unwrap(), now), expected(index), "{name}");
        }
        for (at, global) in definition.global.iter().enumerate() {
            assert_eq!(contents(table.global(at).unwrap(), now), expected(&global.index), "{name}");
        }
    }
}

/// An item of either table: its key is (table, number).
type Key = (bool, u8);

#[derive(Clone, Debug, PartialEq)]
struct Stored {
    status: Option<u8>,
    n: i64,
}

#[derive(Clone, Debug)]
enum Act {
    Put(Stored),
    Set(Stored),
    Add(i64),
    Delete,
}

#[derive(Clone, Debug)]
struct One {
    key: Key,
    act: Act,
    /// Whether the item has to be there; `None`: no matter.
    condition: Option<bool>,
}

#[derive(Clone, Debug)]
enum Step {
    Single(One),
    Batch(Vec<One>),
    Transaction(Vec<One>),
}

fn table_of(key: Key) -> &'static str {
    if key.0 { "orders" } else { "accounts" }
}

fn key_json(key: Key) -> Value {
    match key.0 {
        true => json!({"id": {"S": format!("o{}", key.1 / 2)}, "at": {"S": (key.1 % 2).to_string()}}),
        false => json!({"id": {"S": format!("a{}", key.1)}}),
    }
}

fn item_json(key: Key, item: &Stored) -> Value {
    let mut json = key_json(key);
    json["n"] = json!({"N": item.n.to_string()});
    if let Some(status) = item.status {
        json["status"] = json!({"S": format!("s{status}")});
    }
    json
}

impl One {
    fn after(&self, old: Option<&Stored>) -> Option<Stored> {
        match &self.act {
            Act::Put(item) | Act::Set(item) => Some(item.clone()),
            Act::Add(by) => Some(
                old.map_or(Stored { status: None, n: *by }, |old| Stored { n: old.n + by, ..old.clone() }),
            ),
            Act::Delete => None,
        }
    }

    fn holds(&self, old: Option<&Stored>) -> bool {
        self.condition.is_none_or(|there| there == old.is_some())
    }

    /// The member of a transaction, and what is in it.
    fn action(&self) -> (&'static str, Value) {
        let mut body = json!({ "TableName": table_of(self.key) });
        let member = match &self.act {
            Act::Put(_) => "Put",
            Act::Set(_) | Act::Add(_) => "Update",
            Act::Delete => "Delete",
        };
        match &self.act {
            Act::Put(item) => body["Item"] = item_json(self.key, item),
            _ => body["Key"] = key_json(self.key),
        }
        match &self.act {
            Act::Set(item) => {
                body["ExpressionAttributeNames"] = json!({"#s": "status"});
                body["ExpressionAttributeValues"] = json!({":n": {"N": item.n.to_string()}});
                body["UpdateExpression"] = json!("SET n = :n REMOVE #s");
                if let Some(status) = item.status {
                    body["ExpressionAttributeValues"][":s"] = json!({"S": format!("s{status}")});
                    body["UpdateExpression"] = json!("SET n = :n, #s = :s");
                }
            }
            Act::Add(by) => {
                body["ExpressionAttributeValues"] = json!({":by": {"N": by.to_string()}});
                body["UpdateExpression"] = json!("ADD n :by");
            }
            Act::Put(_) | Act::Delete => {}
        }
        if let Some(there) = self.condition {
            let function = if there { "attribute_exists" } else { "attribute_not_exists" };
            body["ConditionExpression"] = json!(format!("{function}(id)"));
        }
        (member, body)
    }
}

/// Units by (table, whether of the global index).
#[derive(Default)]
struct Model {
    items: BTreeMap<Key, Stored>,
    units: BTreeMap<(bool, bool), u64>,
}

impl Model {
    /// Carries a write out. Everything is smaller than 1 KB: each write of an item or entry is one unit.
    fn write(&mut self, one: &One, rate: u64) -> f64 {
        let old = self.items.get(&one.key).cloned();
        let new = one.after(old.as_ref());
        let status = |item: &Option<Stored>| item.as_ref().and_then(|item| item.status);
        // An entry that shows the whole item changes with it, one of keys only with the status.
        let entry = |shows_n: bool| match (status(&old), status(&new)) {
            (None, None) => 0,
            (Some(a), Some(b)) if a != b => 2,
            (Some(_), Some(_)) => u64::from(shows_n && old != new),
            _ => 1,
        };
        let local = if one.key.0 { entry(true) } else { 0 };
        let global = entry(!one.key.0);
        *self.units.entry((one.key.0, false)).or_default() += (1 + local) * rate;
        *self.units.entry((one.key.0, true)).or_default() += global * rate;
        match new {
            Some(new) => self.items.insert(one.key, new),
            None => self.items.remove(&one.key),
        };
        ((1 + local + global) * rate) as f64
    }

    fn refuse(&mut self, one: &One, rate: u64) {
        *self.units.entry((one.key.0, false)).or_default() += rate;
    }

    fn holds(&self, one: &One) -> bool {
        one.holds(self.items.get(&one.key))
    }
}

/// The sum of what an answer says it cost.
fn told(consumed: &Value) -> f64 {
    match consumed {
        Value::Array(tables) => tables.iter().map(told).sum(),
        table => table["CapacityUnits"].as_f64().unwrap(),
    }
}

fn run(database: &Database, model: &mut Model, step: Step, now: Instant) {
    let how = "INDEXES";
    match step {
        Step::Single(one) => {
            let (member, mut body) = one.action();
            body["ReturnConsumedCapacity"] = json!(how);
            let answer = ask_at(database, now, &format!("{member}Item"), body);
            if model.holds(&one) {
                assert_eq!(told(&answer.unwrap()["ConsumedCapacity"]), model.write(&one, 1));
            } else {
                assert_eq!(answer.unwrap_err().kind(), "ConditionalCheckFailedException");
                model.refuse(&one, 1);
            }
        }
        Step::Batch(ones) => {
            let mut tables = json!({});
            let mut units = 0.0;
            for one in &ones {
                let (write, one) = match &one.act {
                    Act::Put(item) | Act::Set(item) => {
                        let put = json!({ "PutRequest": { "Item": item_json(one.key, item) } });
                        (put, One { act: Act::Put(item.clone()), ..one.clone() })
                    }
                    _ => {
                        let delete = json!({ "DeleteRequest": { "Key": key_json(one.key) } });
                        (delete, One { act: Act::Delete, ..one.clone() })
                    }
                };
                let table = &mut tables[table_of(one.key)];
                match table.as_array_mut() {
                    Some(writes) => writes.push(write),
                    None => *table = json!([write]),
                }
                units += model.write(&one, 1);
            }
            let body = json!({ "RequestItems": tables, "ReturnConsumedCapacity": how });
            let answer = ask_at(database, now, "BatchWriteItem", body).unwrap();
            assert_eq!((&answer["UnprocessedItems"], told(&answer["ConsumedCapacity"])), (&json!({}), units));
        }
        Step::Transaction(ones) => {
            let items: Vec<Value> = ones
                .iter()
                .map(|one| {
                    let (member, body) = one.action();
                    json!({ member: body })
                })
                .collect();
            let body = json!({ "TransactItems": items, "ReturnConsumedCapacity": how });
            let answer = ask_at(database, now, "TransactWriteItems", body);
            if ones.iter().all(|one| model.holds(one)) {
                let units: f64 = ones.iter().map(|one| model.write(one, 2)).sum();
                assert_eq!(told(&answer.unwrap()["ConsumedCapacity"]), units);
            } else {
                let code = |one| if model.holds(one) { "None" } else { "ConditionalCheckFailed" };
                assert_eq!(codes(&answer), ones.iter().map(code).collect::<Vec<_>>());
                ones.iter().for_each(|one| model.refuse(one, 2));
            }
        }
    }
}

fn one() -> impl Strategy<Value = One> {
    let stored = || (prop::option::of(0_u8..3), 0_i64..3).prop_map(|(status, n)| Stored { status, n });
    let act = prop_oneof![
        stored().prop_map(Act::Put),
        stored().prop_map(Act::Set),
        (1_i64..3).prop_map(Act::Add),
        Just(Act::Delete),
    ];
    let condition = prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)];
    ((any::<bool>(), 0_u8..4), act, condition).prop_map(|(key, act, condition)| One { key, act, condition })
}

/// Several writes, none of them of one item.
fn several() -> impl Strategy<Value = Vec<One>> {
    prop::collection::vec(one(), 1..5).prop_map(|ones| {
        let by_key: BTreeMap<Key, One> = ones.into_iter().map(|one| (one.key, one)).collect();
        by_key.into_values().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written in whichever way: items are the model's, entries what the items say, and what was paid is the sum.
    #[test]
    fn items_entries_and_charges_agree_with_a_model(
        steps in prop::collection::vec(
            prop_oneof![
                one().prop_map(Step::Single),
                several().prop_map(Step::Batch),
                several().prop_map(Step::Transaction),
            ],
            1..40,
        ),
    ) {
        let database = on_demand();
        let mut model = Model::default();
        for (second, step) in steps.into_iter().enumerate() {
            run(&database, &mut model, step, Instant::from_secs(second as u64));
        }
        let now = Instant::from_secs(100);
        check_indexes(&database, now);
        for orders in [true, false] {
            let table = database.table(table_of((orders, 0))).unwrap();
            let items = model.items.iter().filter(|(key, _)| key.0 == orders);
            let items = sorted(items.map(|(key, item)| item_json(*key, item)));
            let stored: Vec<Attributes> =
                contents(table.base(), now).into_iter().map(|i| Attributes::from_json(i).unwrap()).collect();
            let mut items: Vec<Attributes> =
                items.into_iter().map(|item| Attributes::from_json(item).unwrap()).collect();
            items.sort_by_key(|item| item.to_json().to_string());
            prop_assert_eq!(stored, items);
            let paid = |global| model.units.get(&(orders, global)).copied().unwrap_or_default() * 1_000;
            prop_assert_eq!(consumed(table.base()), paid(false));
            prop_assert_eq!(consumed(table.global(0).unwrap()), paid(true));
        }
    }
}

const ACCOUNTS: u64 = 6;
const BALANCE: i64 = 1_000;

/// A copy of a database that is kept by its changes alone.
#[derive(Debug, Default)]
struct Copy(Mutex<BTreeMap<String, Value>>);

impl Witness for Copy {
    fn saw(&self, changes: &[Change<'_>], _: Instant) {
        let mut copy = self.0.lock().unwrap();
        let n = |item: &Value| item["n"]["N"].as_str().unwrap().parse::<i64>().unwrap();
        let mut gained = 0;
        for change in changes {
            let key = format!("{:?}", change.key);
            let [old, new] =
                [change.old, change.new].map(|item| item.map(|item| item.attributes().to_json()));
            assert_eq!(copy.get(&key), old.as_ref(), "it begins where the last one ended");
            gained += new.as_ref().map_or(0, n) - old.as_ref().map_or(0, n);
            match new {
                Some(new) => drop(copy.insert(key, new)),
                None => drop(copy.remove(&key)),
            }
        }
        assert!(changes.len() == 1 || gained == 0, "all of a transaction, together");
    }
}

/// Moves money between accounts from several threads: conflicts are answered and tried again, nothing is lost.
#[test]
fn threads_transfer_between_accounts_and_the_sum_stays() {
    let copy = Arc::new(Copy::default());
    let database = Database::new(Seed(1)).with_witness(Arc::clone(&copy) as Arc<dyn Witness>);
    let database = filled(database, Billing::OnDemand, Billing::OnDemand);
    for id in 0..ACCOUNTS {
        let item = json!({"id": {"S": id.to_string()}, "n": {"N": BALANCE.to_string()}});
        ask(&database, "PutItem", json!({ "TableName": "accounts", "Item": item })).unwrap();
    }
    // Time passes with requests, so that hardly any is throttled: only a thread that was stopped for long comes with a time
    // at which the others have used everything up.
    let clock = AtomicU64::new(1);
    let now =
        || Instant::START.after(Duration::from_millis(20) * clock.fetch_add(1, Ordering::Relaxed) as u32);
    let (conflicts, transfers, looks) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let change = |id: u64, by: i64, owner: u64| {
        json!({ "Update": {
            "TableName": "accounts", "Key": account(&id.to_string()),
            "UpdateExpression": "SET n = n + :by, #s = :s", "ConditionExpression": "n >= :least",
            "ExpressionAttributeNames": {"#s": "status"},
            "ExpressionAttributeValues": {
                ":by": {"N": by.to_string()}, ":least": {"N": (-by).to_string()},
                ":s": {"S": format!("s{owner}")}
            }
        }})
    };
    let running = AtomicU64::new(8);
    let transfer = |thread: u64| {
        let mut random = Seed(thread).at(0);
        for round in 0..300 {
            random = Seed(random).at(round);
            let (from, to) =
                (random % ACCOUNTS, (random % ACCOUNTS + 1 + random / 7 % (ACCOUNTS - 1)) % ACCOUNTS);
            let by = (random / 100 % 50) as i64;
            let body = json!({ "TransactItems": [change(from, -by, thread), change(to, by, thread)] });
            match ask_at(&database, now(), "TransactWriteItems", body) {
                Ok(_) => transfers.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    assert_eq!(error.kind(), "TransactionCanceledException");
                    let codes = codes(&Err(error));
                    let expected =
                        ["None", "TransactionConflict", "ConditionalCheckFailed", "ThrottlingError"];
                    assert!(codes.iter().all(|code| expected.contains(&code.as_str())), "{codes:?}");
                    conflicts.fetch_add(u64::from(codes.contains(&expected[1].to_owned())), Ordering::Relaxed)
                }
            };
        }
        running.fetch_sub(1, Ordering::Release);
    };
    let look = || {
        let gets: Vec<Value> = (0..ACCOUNTS)
            .map(|id| json!({"Get": {"TableName": "accounts", "Key": account(&id.to_string())}}))
            .collect();
        // Bounded, so that a thread that fails is not waited for without end.
        for _ in 0..20_000 {
            let last = running.load(Ordering::Acquire) == 0;
            match ask_at(&database, now(), "TransactGetItems", json!({ "TransactItems": gets })) {
                Ok(answer) => {
                    let balance =
                        |read: &Value| read["Item"]["n"]["N"].as_str().unwrap().parse::<i64>().unwrap();
                    let sum: i64 = answer["Responses"].as_array().unwrap().iter().map(balance).sum();
                    assert_eq!(sum, BALANCE * ACCOUNTS as i64, "all at one moment");
                    looks.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    let codes = codes(&Err(error));
                    let expected = ["None", "TransactionConflict", "ThrottlingError"];
                    assert!(codes.iter().all(|code| expected.contains(&code.as_str())), "{codes:?}");
                }
            }
            if last {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        (0..8).for_each(|thread| {
            drop(scope.spawn({
                let transfer = &transfer;
                move || transfer(thread)
            }))
        });
        // While eight threads write, most looks meet a transaction; the last come when all is done.
        (0..2).for_each(|_| drop(scope.spawn(look)));
    });
    let end = Instant::from_secs(1_000);
    let balances = contents(database.table("accounts").unwrap().base(), end);
    let sum: i64 = balances.iter().map(|item| item["n"]["N"].as_str().unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(sum, BALANCE * ACCOUNTS as i64);
    check_indexes(&database, end);
    assert_eq!(sorted(copy.0.lock().unwrap().values().cloned()), balances);
    let [conflicts, transfers, looks] =
        [conflicts, transfers, looks].map(|count| count.load(Ordering::Relaxed));
    assert!(transfers > 0 && looks > 0, "{transfers} transfers, {looks} looks");
    assert!(conflicts > 0, "transactions that meet are told so");
    println!("{transfers} transfers, {conflicts} conflicts, {looks} looks at all accounts");
}
