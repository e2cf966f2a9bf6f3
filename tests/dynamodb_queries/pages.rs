//! Pages to the end, over splits, against a model.

use crate::support::{Service, all, table};
use hotplate::dynamodb::{Number, partition_key, sort_key};
use hotplate::ring::RingPoint;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
struct Row {
    p: u8,
    s: u8,
    g: Option<(u8, u8)>,
    l: Option<u8>,
}

fn row() -> impl Strategy<Value = Row> {
    let of_g = prop::option::weighted(0.8, (0..2_u8, 0..4_u8));
    (0..3_u8, 0..20_u8, of_g, prop::option::weighted(0.8, 0..4_u8)).prop_map(|(p, s, g, l)| Row {
        p,
        s,
        g,
        l,
    })
}

fn text(n: u8) -> Value {
    json!({"S": n.to_string()})
}

fn number(n: u8) -> Value {
    json!({"N": n.to_string()})
}

impl Row {
    fn item(&self) -> Value {
        let mut item = json!({"p": text(self.p), "s": number(self.s)});
        if let Some((p, s)) = self.g {
            item["gp"] = text(p);
            item["gs"] = number(s);
        }
        if let Some(l) = self.l {
            item["ls"] = text(l);
        }
        item
    }
}

fn sorted(items: &[Value]) -> BTreeSet<String> {
    items
        .iter()
        .map(|item| {
            let sorted: std::collections::BTreeMap<_, _> = item.as_object().unwrap().iter().collect();
            serde_json::to_string(&sorted).unwrap()
        })
        .collect()
}

/// Splits a partition of the table and one of the global index, at a place that the number says.
fn split(service: &Service, at: u8) {
    let table = service.database.table("tab").unwrap();
    for resource in [Some(table.base()), table.global(0)].into_iter().flatten() {
        let partitions = resource.report().partitions;
        if partitions.len() >= 24 {
            continue;
        }
        let partition = &partitions[usize::from(at) % partitions.len()];
        if resource.split(partition.id, None, service.now()).is_err() {
            // Inside a logical partition of the table, where there is one.
            let key = partition_key(&hotplate::dynamodb::AttributeValue::S((at % 3).to_string())).unwrap();
            let sort =
                sort_key(&hotplate::dynamodb::AttributeValue::N(Number::from(u64::from(at % 20)))).unwrap();
            let id = resource.partition_of(&hotplate::ItemKey { partition: key.clone(), sort: sort.clone() });
            let point = RingPoint::inside(resource.token(&key), sort);
            let _ = resource.split(id, Some(point), service.now());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever is asked, pages to the end give each item once, in order, over splits in between.
    #[test]
    fn pages_give_each_item_once(
        rows in prop::collection::vec(row(), 0..60), local: bool, descending: bool, limit in 1..9_u8,
        (p, low, high) in (0..3_u8, 0..20_u8, 0..20_u8), splits in prop::collection::vec(any::<u8>(), 8),
        segments in 1..6_u32,
    ) {
        let service = Service::new();
        table(&service, local, all());
        let mut model = std::collections::BTreeMap::new();
        for row in &rows {
            service.put("tab", row.item());
            model.insert((row.p, row.s), row.clone());
        }
        let next = Cell::new(0);
        let disturb = |service: &Service| {
            split(service, splits[next.get() % splits.len()].wrapping_add(next.get() as u8));
            next.set(next.get() + 1);
        };
        let ordered = |mut expected: Vec<Value>| {
            if descending {
                expected.reverse();
            }
            expected
        };
        let (low, high) = (low.min(high), low.max(high));
        let base = json!({
            "TableName": "tab", "KeyConditionExpression": "p = :p and s between :l and :h", "Limit": limit,
            "ScanIndexForward": !descending, "ConsistentRead": true,
            "ExpressionAttributeValues": {":p": text(p), ":l": number(low), ":h": number(high)}
        });
        let expected = model.range((p, low)..=(p, high)).map(|(_, row)| row.item()).collect();
        let found = service.all("Query", base, disturb);
        prop_assert_eq!(found.len(), sorted(&found).len());
        let keys = |items: &[Value]| items.iter().map(|item| item["s"].clone()).collect::<Vec<_>>();
        prop_assert_eq!(keys(&found), keys(&ordered(expected)));

        let of_g = json!({
            "TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "gp = :p and gs <= :h", "Limit": limit,
            "ScanIndexForward": !descending,
            "ExpressionAttributeValues": {":p": text(p % 2), ":h": number(high % 4)}
        });
        let expected: Vec<Value> = model
            .values()
            .filter(|row| row.g.is_some_and(|(gp, gs)| gp == p % 2 && gs <= high % 4))
            .map(Row::item)
            .collect();
        let found = service.all("Query", of_g, disturb);
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(sorted(&found), sorted(&expected));
        let order: Vec<u8> = found.iter().map(|item| item["gs"]["N"].as_str().unwrap().parse().unwrap()).collect();
        let in_order = order.windows(2).all(|pair| if descending { pair[0] >= pair[1] } else { pair[0] <= pair[1] });
        prop_assert!(in_order, "not in order");

        if local {
            let of_l = json!({
                "TableName": "tab", "IndexName": "by-l", "KeyConditionExpression": "p = :p and ls >= :l",
                "Limit": limit, "ScanIndexForward": !descending, "Select": "ALL_ATTRIBUTES",
                "ExpressionAttributeValues": {":p": text(p), ":l": text(low % 4)}
            });
            let expected: Vec<Value> = model
                .values()
                .filter(|row| row.p == p && row.l.is_some_and(|l| l >= low % 4))
                .map(Row::item)
                .collect();
            let found = service.all("Query", of_l, disturb);
            prop_assert_eq!(found.len(), expected.len());
            prop_assert_eq!(sorted(&found), sorted(&expected));
        }

        for index in [None, Some("by-g"), Some("by-l").filter(|_| local)] {
            let mut found = Vec::new();
            for segment in 0..segments {
                let mut scan = json!({
                    "TableName": "tab", "TotalSegments": segments, "Segment": segment, "Limit": limit
                });
                if let Some(index) = index {
                    scan["IndexName"] = json!(index);
                }
                found.extend(service.all("Scan", scan, disturb));
            }
            let expected: BTreeSet<(String, String)> = model
                .values()
                .filter(|row| match index {
                    None => true,
                    Some("by-g") => row.g.is_some(),
                    Some(_) => row.l.is_some(),
                })
                .map(|row| (text(row.p).to_string(), number(row.s).to_string()))
                .collect();
            let got: Vec<_> =
                found.iter().map(|item| (item["p"].to_string(), item["s"].to_string())).collect();
            prop_assert_eq!(got.len(), expected.len(), "{:?}", index);
            prop_assert_eq!(got.into_iter().collect::<BTreeSet<_>>(), expected);
        }
        let described = service.ok("DescribeTable", json!({"TableName": "tab"}));
        prop_assert_eq!(&described["Table"]["ItemCount"], &json!(model.len()));
    }
}
