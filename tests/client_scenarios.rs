//! The vendors' scenarios through the client: what they write, what they read back, and what it costs.

use hotplate::charge::Consistency;
use hotplate::client::{
    Aggregate, Client, Comparison, FanOutQuery, Filter, KeyDesign, Options, Plan, RetryPolicy,
    Value as Aggregated,
};
use hotplate::cluster::Direction;
use hotplate::key::{FieldPath, ItemKey, KeyValue, PartitionKey, SortKey};
use hotplate::profile::Service;
use hotplate::{Clock, Profile, Refusal, Table, Template};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

fn design(template: &str, sort: &str, service: Service) -> KeyDesign {
    KeyDesign::new(Template::parse(template).unwrap(), sort, service)
}

/// A table that never throttles what these tests do.
fn dynamodb(clock: &Clock, partitions: u32) -> Table<Value> {
    let profile = Profile::dynamodb_provisioned(5_000_000, 5_000_000).unwrap();
    Table::new("t", profile.with_partitions(partitions).unwrap(), clock.now()).unwrap()
}

/// Stores an item a millisecond, so that no partition's ceiling is reached.
fn put_all(client: &Client<'_, Table<Value>>, clock: &Clock, items: impl IntoIterator<Item = Value>) {
    for item in items {
        client.put(item).unwrap();
        clock.advance(Duration::from_millis(1));
    }
}

/// DynamoDB "Using write sharding": a date with a random suffix 1..200, read back with a query for each suffix.
/// Cosmos DB "Create a synthetic partition key": the same with 1..400.
#[test]
fn a_date_with_a_random_suffix_reads_back_in_order() {
    for (service, suffixes, template) in [
        (Service::DynamoDb, 200, "{date}.{random(1..200)}"),
        (Service::Cosmos, 400, "{date}.{random(1..400)}"),
    ] {
        let clock = Clock::manual();
        let table = match service {
            Service::DynamoDb => dynamodb(&clock, 10),
            Service::Cosmos => {
                Table::new("t", Profile::cosmos_manual(1_000_000).unwrap(), clock.now()).unwrap()
            }
        };
        let client = Client::new(&table, design(template, "at", service), clock.clone());
        put_all(&client, &clock, (0..1_500).map(|at| json!({"date": "2018-08-09", "at": at, "id": at})));
        for direction in [Direction::Ascending, Direction::Descending] {
            let query = FanOutQuery { direction, ..FanOutQuery::default() };
            let mut rows = client.read(&json!({"date": "2018-08-09"}), &query).unwrap();
            let mut read: Vec<i64> = rows.by_ref().map(|(_, item)| item["at"].as_i64().unwrap()).collect();
            assert_eq!((rows.refusal(), rows.continuation()), (None, None));
            assert_eq!(rows.bill().requests, suffixes);
            if direction == Direction::Descending {
                read.reverse();
            }
            assert_eq!(read, (0..1_500).collect::<Vec<_>>());
        }
        let plan = client.plan(&json!({"date": "2018-08-09"})).unwrap();
        assert!(
            matches!(&plan, Plan::FanOut(keys, why) if keys.len() as u64 == suffixes && why.contains("random"))
        );
    }
}

/// Cosmos DB: "a precalculated suffix" from the vehicle identification number.
#[test]
fn a_date_and_vehicle_reads_one_item_in_one_request() {
    let clock = Clock::manual();
    let table: Table<Value> = Table::new("t", Profile::cosmos_manual(10_000).unwrap(), clock.now()).unwrap();
    let design = design("{date}.{hash(vin, 1..400)}", "id", Service::Cosmos);
    let client = Client::new(&table, design, clock.clone());
    put_all(
        &client,
        &clock,
        (0..50).map(|i| json!({"id": format!("r{i}"), "date": "2018-08-09", "vin": format!("V{i}")})),
    );
    let found = client.get(&json!({"id": "r7", "date": "2018-08-09", "vin": "V7"})).unwrap();
    assert_eq!((found.bill.requests, found.bill.charge.to_string()), (1, "1 RU".into()));
    assert_eq!(found.item.unwrap().1["vin"], "V7");
    assert_eq!(found.plan.name(), "get");
    // Without the vehicle nobody knows the suffix.
    let found = client.get(&json!({"id": "r7", "date": "2018-08-09"})).unwrap();
    assert_eq!((found.bill.requests, found.plan.name()), (400, "fan-out"));
    assert!(found.plan.to_string().contains("vin"), "{}", found.plan);
}

/// Cosmos DB: "concatenate multiple properties of an item": `abc-123-2018`.
#[test]
fn device_and_date_are_one_logical_partition() {
    let clock = Clock::manual();
    let table: Table<Value> = Table::new("t", Profile::cosmos_manual(1_000).unwrap(), clock.now()).unwrap();
    let client = Client::new(&table, design("{deviceId}-{date}", "id", Service::Cosmos), clock.clone());
    put_all(
        &client,
        &clock,
        (0..9).map(|i| json!({"id": format!("{i}"), "deviceId": "abc-123", "date": 2018})),
    );
    let known = json!({"deviceId": "abc-123", "date": 2018});
    assert_eq!(client.plan(&known).unwrap(), Plan::Query(PartitionKey::text("abc-123-2018")));
    let mut rows = client.read(&known, &FanOutQuery::default()).unwrap();
    assert_eq!(rows.by_ref().filter(|(_, item)| item["partitionKey"] == "abc-123-2018").count(), 9);
    assert_eq!(rows.bill().requests, 1);
    let scan = client.plan(&json!({"deviceId": "abc-123"})).unwrap();
    assert!(matches!(&scan, Plan::Scan(why) if why.contains("date")), "{scan}");
    assert!(client.read(&json!({"deviceId": "abc-123"}), &FanOutQuery::default()).is_err());
}

/// A day of 200 suffixes with 1,000 items each.
#[test]
fn the_first_page_of_a_day_reads_under_two_percent_of_it() {
    let clock = Clock::manual();
    let table = dynamodb(&clock, 10);
    let (shards, each) = (200, 1_000);
    for shard in 1..=shards {
        for i in 0..each {
            // Interleaved, so that the merge has to take turns.
            let key = ItemKey::new(
                format!("2014-07-09.{shard}").as_str(),
                SortKey::single(f64::from(i * shards + shard)),
            );
            table.put(&key, json!({"at": i * shards + shard}), clock.now()).unwrap();
            clock.advance(Duration::from_millis(1));
        }
    }
    let client =
        Client::new(&table, design("{date}.{random(1..200)}", "at", Service::DynamoDb), clock.clone());
    let before = items_read(&table);
    let query = FanOutQuery { limit: Some(50), ..FanOutQuery::default() };
    let mut rows = client.read(&json!({"date": "2014-07-09"}), &query).unwrap();
    let page: Vec<i32> = rows.by_ref().map(|(_, item)| item["at"].as_i64().unwrap() as i32).collect();
    assert_eq!(page, (1..=50).collect::<Vec<_>>());
    assert_eq!(rows.bill().requests, 200, "each suffix once");
    // A query of one small item is half a unit, so this is no fewer than the items read.
    let read = items_read(&table) - before;
    assert!(read <= 0.02 * f64::from(shards * each), "{read} items' worth");
    let next = FanOutQuery { continuation: rows.continuation().cloned(), ..query };
    let second: Vec<i32> = client
        .read(&json!({"date": "2014-07-09"}), &next)
        .unwrap()
        .map(|(_, item)| item["at"].as_i64().unwrap() as i32)
        .collect();
    assert_eq!(second, (51..=100).collect::<Vec<_>>());
}

/// Half read units served so far, which is the number of small items read one by one at the most.
fn items_read(table: &Table<Value>) -> f64 {
    table.report().partitions.iter().map(|p| p.reads.totals().consumed_milli as f64 / 500.0).sum()
}

/// Requests under way at once cost the time of one.
#[test]
fn a_fan_out_takes_the_time_of_requests_in_parallel() {
    let elapsed = |width| {
        let clock = Clock::manual();
        let table = dynamodb(&clock, 4);
        let options = Options { width, latency: Duration::from_millis(3), ..Options::default() };
        let design = design("{date}.{random(1..200)}", "at", Service::DynamoDb);
        let client = Client::new(&table, design, clock.clone()).with(options);
        let mut rows = client.read(&json!({"date": "d"}), &FanOutQuery::default()).unwrap();
        assert_eq!(rows.by_ref().count(), 0);
        rows.bill().elapsed
    };
    assert_eq!(elapsed(200), Duration::from_millis(3));
    assert_eq!(elapsed(1), Duration::from_millis(600));
    assert_eq!(elapsed(50), Duration::from_millis(12));
}

#[test]
fn aggregates_are_merged_over_suffixes_and_over_the_table() {
    let clock = Clock::manual();
    let table = dynamodb(&clock, 4);
    let client = Client::new(&table, design("{day}.{hash(n, 1..20)}", "n", Service::DynamoDb), clock.clone());
    put_all(
        &client,
        &clock,
        (0..200).map(|n| json!({"day": if n < 150 { "a" } else { "b" }, "n": n, "kind": n % 3})),
    );
    let path = |name: &str| FieldPath::from(name);
    let day = json!({"day": "a"});
    let over = |aggregate| client.aggregate(&day, aggregate, Filter::all()).unwrap().0;
    assert_eq!(over(Aggregate::Count), Aggregated::Count(150));
    assert_eq!(over(Aggregate::Sum(path("n"))), Aggregated::Number(Some(11_175.0)));
    assert_eq!(over(Aggregate::Average(path("n"))), Aggregated::Number(Some(74.5)));
    assert_eq!(over(Aggregate::Min(path("n"))), Aggregated::Text(Some("0".into())));
    assert_eq!(over(Aggregate::Max(path("n"))), Aggregated::Text(Some("149".into())));
    assert_eq!(
        over(Aggregate::Distinct(path("kind"))),
        Aggregated::Values(vec!["0".into(), "1".into(), "2".into()])
    );
    let few = Filter::all().and("n", Comparison::AtLeast, 100);
    assert_eq!(client.aggregate(&day, Aggregate::Count, few.clone()).unwrap().0, Aggregated::Count(50));
    let (all, bill) = client.aggregate_all(Aggregate::Count, few.clone()).unwrap();
    assert_eq!((all, bill.partitions.len()), (Aggregated::Count(100), 4));
    let mut rows = client.scan(few);
    assert_eq!(rows.by_ref().count(), 100);
    assert_eq!(rows.refusal(), None);
}

#[test]
fn a_changed_source_property_moves_the_item() {
    for (service, profile) in [
        (Service::DynamoDb, Profile::dynamodb_provisioned(1_000, 1_000).unwrap()),
        (Service::Cosmos, Profile::cosmos_manual(10_000).unwrap()),
    ] {
        let clock = Clock::manual();
        let table: Table<Value> = Table::new("t", profile, clock.now()).unwrap();
        let client = Client::new(&table, design("{city}-{id}", "id", service), clock.clone());
        let old = json!({"id": "7", "city": "Oslo", "name": "a"});
        let (old_key, _) = client.put(old.clone()).unwrap();
        // Another property: the item stays.
        let same = json!({"id": "7", "city": "Oslo", "name": "b"});
        let (key, outcome, bill) = client.replace(&old, &old_key, same.clone()).unwrap();
        assert_eq!((&key, outcome.refusal, bill.requests), (&old_key, None, 1));
        // A property of the key: it moves, and the old one is gone.
        let (new_key, outcome, _) =
            client.replace(&same, &key, json!({"id": "7", "city": "Bergen"})).unwrap();
        assert_eq!((outcome.refusal, outcome.left_behind), (None, None));
        assert_eq!(new_key.partition.to_string(), "Bergen-7");
        let get = |key| table.get(key, Consistency::Strong, clock.now()).unwrap().item;
        assert_eq!(
            (get(&old_key), get(&new_key).unwrap()["partitionKey"].as_str()),
            (None, Some("Bergen-7"))
        );
    }
}

#[test]
fn a_random_suffix_stays_while_the_base_key_does() {
    let clock = Clock::manual();
    let table = dynamodb(&clock, 4);
    let client =
        Client::new(&table, design("{date}.{random(1..200)}", "id", Service::DynamoDb), clock.clone());
    let old = json!({"id": "1", "date": "d1", "n": 1});
    let (old_key, _) = client.put(old.clone()).unwrap();
    let (key, _, _) = client.replace(&old, &old_key, json!({"id": "1", "date": "d1", "n": 2})).unwrap();
    assert_eq!(key, old_key);
    assert_eq!(client.aggregate_all(Aggregate::Count, Filter::all()).unwrap().0, Aggregated::Count(1));
}

/// A move over logical partitions of Cosmos DB that is refused half-way says what remains.
#[test]
fn a_move_that_stops_half_way_names_what_is_left_behind() {
    use hotplate::client::{Move, Next, Operation, Reply, Response};
    let (from, to) = (ItemKey::new("a", "1"), ItemKey::new("b", "1"));
    let mut moving =
        Move::new(from.clone(), to, json!({}), Service::Cosmos, RetryPolicy::None, hotplate::Seed(0));
    let now = hotplate::Instant::START;
    let Next::Send(call, _) = moving.next(now) else { panic!("the new item first") };
    let written = hotplate::cluster::Written {
        before: None,
        charge: hotplate::RequestCharge::ZERO,
        partition: hotplate::PartitionId(0),
    };
    moving.deliver(call, Ok(Response::Written(written)), now);
    let Next::Send(call, _) = moving.next(now) else { panic!("then the old one") };
    let reply: Reply<Value> = Err(Refusal::Conflict { charge: hotplate::RequestCharge::ZERO });
    moving.deliver(call, reply, now);
    let Next::Done((outcome, _)) = moving.next(now) else { panic!("that is all") };
    assert_eq!(outcome.left_behind, Some(from));
    assert!(outcome.refusal.is_some());
}

#[test]
fn batches_send_again_what_was_throttled() {
    let clock = Clock::manual();
    // Ten writes a second, and half a second's credit is all there is.
    let profile = Profile::dynamodb_provisioned(10, 10).unwrap().with_fill(hotplate::budget::Fill::Base);
    let table: Table<Value> = Table::new("t", profile, clock.now()).unwrap();
    let items = |n| (0..n).map(|i| json!({"k": i % 7, "id": i})).collect::<Vec<_>>();
    let client = Client::new(&table, design("{k}.x", "id", Service::DynamoDb), clock.clone());
    let (ends, bill) = client.put_all(items(40)).unwrap();
    assert!(ends.iter().filter(|end| end.is_err()).count() > 20 && bill.retries == 0);

    clock.advance(Duration::from_secs(60));
    let options =
        Options { retry: RetryPolicy::AwsLegacy, latency: Duration::from_millis(5), ..Options::default() };
    let client = Client::new(&table, design("{k}.y", "id", Service::DynamoDb), clock.clone()).with(options);
    let (ends, bill) = client.put_all(items(60)).unwrap();
    assert!(ends.iter().all(Result::is_ok), "{bill:?}");
    let twice = client.put_all(vec![json!({"k": 1, "id": 1}), json!({"k": 1, "id": 1})]);
    assert!(matches!(twice, Err(Refusal::Invalid(_))));
}

#[test]
fn retry_policies_ride_out_a_short_throttle_and_show_what_it_took() {
    for (policy, rides) in [
        (RetryPolicy::None, false),
        (RetryPolicy::AwsLegacy, true),
        (RetryPolicy::AwsStandard2026, true),
        (RetryPolicy::Cosmos, true),
    ] {
        let clock = Clock::manual();
        let profile =
            Profile::dynamodb_provisioned(100, 100).unwrap().with_fill(hotplate::budget::Fill::Base);
        let table: Table<Value> = Table::new("t", profile, clock.now()).unwrap();
        for i in 0..50_u64 {
            table.put(&ItemKey::new("k", i), json!({}), clock.now()).unwrap();
        }
        let options = Options { retry: policy, ..Options::default() };
        let client = Client::new(&table, design("{k}", "id", Service::DynamoDb), clock.clone()).with(options);
        match client.put(json!({"k": "k", "id": "x"})) {
            Ok((_, bill)) => {
                assert!(rides && bill.retries >= 1 && bill.waited > Duration::ZERO, "{policy:?} {bill:?}")
            }
            Err(refusal) => assert!(!rides && refusal.throttled().is_some(), "{policy:?}"),
        }
    }
}

#[test]
fn what_cannot_be_answered_is_refused_by_name() {
    let clock = Clock::manual();
    let table = dynamodb(&clock, 2);
    let client =
        Client::new(&table, design("{date}.{hash(n, 1..9)}", "at", Service::DynamoDb), clock.clone());
    put_all(&client, &clock, (0..40).map(|i| json!({"date": "d", "n": i, "at": i})));
    let missing = client.put(json!({"date": "d", "at": 1})).unwrap_err().to_string();
    assert!(missing.contains("property n is absent"), "{missing}");
    let unsorted = client.put(json!({"date": "d", "n": 1})).unwrap_err().to_string();
    assert!(unsorted.contains("sort key at"), "{unsorted}");

    let query = FanOutQuery { limit: Some(5), ..FanOutQuery::default() };
    let mut rows = client.read(&json!({"date": "d"}), &query).unwrap();
    assert_eq!(rows.by_ref().count(), 5);
    let token = rows.continuation().unwrap().clone();
    let other =
        FanOutQuery { continuation: Some(token.clone()), direction: Direction::Descending, ..query.clone() };
    assert!(client.read(&json!({"date": "d"}), &other).err().unwrap().to_string().contains("another query"));
    let elsewhere = FanOutQuery { continuation: Some(token.clone()), ..query.clone() };
    assert!(client.read(&json!({"date": "e"}), &elsewhere).is_err());
    let mut altered = token.to_string();
    altered.replace_range(0..1, if altered.starts_with('0') { "1" } else { "0" });
    assert!(altered.parse::<hotplate::Continuation>().is_err());
    // A range turned around is empty, not an error.
    let from = Bound::Included(SortKey::single(9.0));
    let turned = FanOutQuery { from, to: Bound::Excluded(SortKey::single(3.0)), ..FanOutQuery::default() };
    assert_eq!(client.read(&json!({"date": "d"}), &turned).unwrap().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A full read is the sorted union of the shards, whatever the page size, with splits between pages, some of them
    /// inside a shard.
    #[test]
    fn pages_taken_before_splits_go_on_after_them(
        rows in proptest::collection::vec((0_u8..6, 0_u16..40), 1..120),
        limit in 1_usize..30,
        descending in any::<bool>(),
        splits in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..6),
        range in proptest::option::of((0_u16..40, 0_u16..40)),
    ) {
        let clock = Clock::manual();
        let table = dynamodb(&clock, 3);
        let keys: Vec<PartitionKey> = (1..=6).map(|shard| PartitionKey::text(&format!("d.{shard}"))).collect();
        let mut model = std::collections::BTreeSet::new();
        for &(shard, sort) in &rows {
            let key = ItemKey { partition: keys[usize::from(shard)].clone(), sort: SortKey::single(f64::from(sort)) };
            table.put(&key, json!({"at": sort}), clock.now()).unwrap();
            model.insert((sort, shard));
        }
        let (from, to) = match range {
            None => (Bound::Unbounded, Bound::Unbounded),
            Some((a, b)) => (
                Bound::Included(SortKey::single(f64::from(a))),
                Bound::Excluded(SortKey::single(f64::from(b))),
            ),
        };
        let within = |sort: u16| range.is_none_or(|(a, b)| (a..b).contains(&sort));
        let mut expected: Vec<(u16, u8)> = model.iter().copied().filter(|&(sort, _)| within(sort)).collect();
        let direction = if descending { Direction::Descending } else { Direction::Ascending };
        if descending {
            expected.sort_by_key(|&(sort, shard)| (std::cmp::Reverse(sort), shard));
        }
        let client = Client::new(&table, design("{day}.{random(1..6)}", "at", Service::DynamoDb), clock.clone());
        let mut query = FanOutQuery { from, to, direction, limit: Some(limit), ..FanOutQuery::default() };
        let mut read = Vec::new();
        let mut splits = splits.into_iter();
        loop {
            let mut page = client.read(&json!({"day": "d"}), &query).unwrap();
            for (key, item) in page.by_ref() {
                let shard = keys.iter().position(|k| *k == key.partition).unwrap() as u8;
                read.push((item["at"].as_u64().unwrap() as u16, shard));
            }
            prop_assert_eq!(page.refusal(), None);
            let Some(token) = page.continuation().cloned() else { break };
            query.continuation = Some(token.to_string().parse().unwrap());
            if let Some((which, inside)) = splits.next() {
                let partitions = table.report().partitions;
                let id = partitions[which.index(partitions.len())].id;
                let at = inside.then(|| {
                    let shard = which.index(keys.len());
                    hotplate::ring::RingPoint::inside(table.token(&keys[shard]), SortKey::single(20.0))
                });
                // A point that does not lie in the partition, or an empty partition, is refused: nothing to test then.
                let _ = table.split(id, at, clock.now());
            }
        }
        prop_assert_eq!(read, expected);
    }
}

/// Cosmos DB, "Hierarchical partition keys": a full key is one logical partition; a query by a prefix is routed only to
/// the physical partitions that hold it, and a prefix may outgrow one partition.
#[test]
fn hierarchical_tenant_user_session_is_one_partition_and_its_prefix_only_those_that_hold_it() {
    let clock = Clock::manual();
    let profile = Profile::cosmos_manual(60_000).unwrap();
    let table: Table<Value> = Table::new("sessions", profile, clock.now()).unwrap();
    let level = |text: &str| Template::parse(text).unwrap();
    let levels = vec![level("{TenantId}"), level("{UserId}"), level("{SessionId}.{hash(id, 1..4)}")];
    let design = KeyDesign::hierarchical(levels, "id").unwrap();
    assert_eq!(design.to_string(), "{TenantId}/{UserId}/{SessionId}.{hash(id, 1..4)}");
    let client = Client::new(&table, design, clock.clone());
    let item = |tenant: u64, n: u64| {
        json!({
            "id": format!("i{n:05}"), "TenantId": format!("tenant-{tenant}"), "UserId": n % 10,
            "SessionId": format!("s{}", n % 3)
        })
    };
    for n in 0..1_200 {
        client.put(item(n % 4, n / 4)).unwrap();
        clock.advance(Duration::from_millis(5));
    }

    // A full key: one request to one partition, and the computed level is stored beside the natural ones.
    let full = item(1, 17);
    let found = client.get(&full).unwrap();
    assert_eq!((found.bill.requests, found.bill.partitions.len()), (1, 1));
    let (key, stored) = found.item.unwrap();
    assert_eq!(key.partition.values()[0], "tenant-1".into());
    assert_eq!(KeyValue::from(stored["partitionKey3"].as_str().unwrap()), key.partition.values()[2]);
    assert_eq!(stored.get("partitionKey"), None);

    // A prefix: only the partitions that hold any of it, before and after splits go through it.
    let tenant = json!({"TenantId": "tenant-1"});
    let plan = client.plan(&tenant).unwrap();
    assert_eq!(plan.name(), "prefix");
    assert!(plan.to_string().contains("UserId, which the key is made of, is not fixed"), "{plan}");
    for splits in 0..4 {
        clock.advance(Duration::from_secs(10));
        let holders: BTreeSet<_> = (0..300)
            .map(|n| client.get(&item(1, n)).unwrap().item.unwrap().0)
            .map(|key| table.partition_of(&key))
            .collect();
        assert!(holders.len() > splits.min(1), "splits divide a prefix: {holders:?}");
        clock.advance(Duration::from_secs(10));
        let mut rows = client.read_prefix(&tenant, Filter::all()).unwrap();
        let mut ids: Vec<String> =
            rows.by_ref().map(|(_, item)| item["id"].as_str().unwrap().to_owned()).collect();
        assert!(rows.refusal().is_none());
        assert_eq!(rows.bill().partitions, holders);
        assert!(table.partition_count() > holders.len(), "others were left alone");
        ids.sort();
        assert_eq!(ids, (0..300).map(|n| format!("i{n:05}")).collect::<Vec<_>>());

        // Two levels narrow it further; an aggregate needs no items.
        let user = json!({"TenantId": "tenant-1", "UserId": 7});
        let (count, bill) = client.aggregate_prefix(&user, Aggregate::Count, Filter::all()).unwrap();
        assert_eq!(count, Aggregated::Count(30));
        assert!(bill.partitions.is_subset(&holders));
        let hot = *holders.iter().next().unwrap();
        let middle = table.token(&key.partition);
        let range = table.report().partitions.into_iter().find(|p| p.id == hot).unwrap().range;
        let point = hotplate::ring::RingPoint::before(middle);
        let at = (range.contains(&point.token, &SortKey::none()) && *range.from() != point).then_some(point);
        table.split(hot, at, clock.now()).unwrap();
    }

    // What names no prefix is refused with what it is instead.
    let refused = client.read_prefix(&json!({"UserId": 7}), Filter::all()).err().unwrap().to_string();
    assert!(refused.contains("TenantId, which the key is made of, is not fixed"), "{refused}");
    let refused = client.read(&tenant, &FanOutQuery::default()).err().unwrap().to_string();
    assert!(refused.contains("use read_prefix"), "{refused}");
    assert!(KeyDesign::hierarchical(vec![level("{a}"); 4], "id").unwrap_err().to_string().contains("not 4"));
}
