//! Key conditions: the ranges they become, and what is refused.

use crate::support::{attributes, holds, key_range, schema};
use hotplate::dynamodb::{AttributeValue, KeyAttribute, KeyRange, KeySchema, KeyType, sort_key};
use proptest::prelude::*;
use serde_json::json;
use std::ops::{Bound, RangeBounds};

#[test]
fn key_conditions_become_ranges() {
    let values = json!({":p": {"S": "p"}, ":a": {"N": "5"}, ":b": {"N": "10"}});
    let only = json!({":p": {"S": "p"}, ":a": {"N": "5"}});
    let key = |text: &str| sort_key(&AttributeValue::N(text.parse().unwrap())).unwrap();
    let schema = schema(KeyType::N);
    for (text, values, from, to) in [
        ("pk = :p", json!({":p": {"S": "p"}}), Bound::Unbounded, Bound::Unbounded),
        ("pk = :p AND sk = :a", only.clone(), Bound::Included(key("5")), Bound::Included(key("5"))),
        ("sk < :a and :p = pk", only.clone(), Bound::Unbounded, Bound::Excluded(key("5"))),
        ("pk = :p AND :a < sk", only.clone(), Bound::Excluded(key("5")), Bound::Unbounded),
        ("(pk = :p) AND (sk <= :a)", only.clone(), Bound::Unbounded, Bound::Included(key("5"))),
        ("pk = :p AND :a <= sk", only.clone(), Bound::Included(key("5")), Bound::Unbounded),
        (
            "pk = :p AND sk BETWEEN :a AND :b",
            values.clone(),
            Bound::Included(key("5")),
            Bound::Included(key("10")),
        ),
    ] {
        let range = key_range(text, &values, &schema).unwrap();
        assert_eq!(range, KeyRange { partition: "p".into(), from, to }, "{text}");
    }
}

#[test]
fn key_conditions_that_cannot_be_are_refused() {
    let values = json!({":v": {"S": "a"}, ":w": {"S": "b"}});
    let operator = |name: &str| format!("Invalid operator used in KeyConditionExpression: {name}");
    let condition = |what: &str| format!("Invalid condition in KeyConditionExpression: {what}");
    let first =
        |name: &str| condition(&format!("{name} operator must have the key attribute as its first operand"));
    let nested = "KeyConditionExpressions cannot contain nested operations".to_owned();
    let attributes = "KeyConditionExpressions cannot have conditions on nested attributes".to_owned();
    let missed = |name: &str| format!("Query condition missed key schema element: {name}");
    let several = condition("Multiple attribute names used in one condition");
    for (text, message) in [
        ("pk = :v OR sk = :w", operator("OR")),
        ("NOT pk = :v AND sk = :w", operator("NOT")),
        ("pk IN (:v, :w)", operator("IN")),
        ("pk <> :v AND sk = :w", operator("<>")),
        ("attribute_exists(pk) AND :v = :w", operator("attribute_exists")),
        ("attribute_not_exists(pk) AND :v = :w", operator("attribute_not_exists")),
        ("contains(pk, :v) AND sk = :w", operator("contains")),
        (":v BETWEEN pk AND :w", first("BETWEEN")),
        ("begins_with(:v, pk) AND sk = :w", first("begins_with")),
        ("size(pk) > :v AND sk = :w", nested.clone()),
        ("pk = :v AND sk > size(b.c) AND a = :w", nested),
        ("pk.a = :v AND sk = :w", attributes.clone()),
        ("pk[0] = :v AND sk = :w", attributes),
        ("pk = sk AND :v = :w", several.clone()),
        ("pk BETWEEN sk AND size(a) AND :v = :w", several),
        (":v < :w", condition("No key attribute specified")),
        (
            "pk = :v AND sk > :v AND sk < :w",
            "KeyConditionExpressions must only contain one condition per key".to_owned(),
        ),
        ("pk = :v AND sk = :v AND a = :w", "Conditions can be of length 1 or 2 only".to_owned()),
        ("sk = :v AND a = :w", missed("pk")),
        ("pk = :v AND a = :w", missed("sk")),
        ("pk > :v AND sk = :w", "Query key condition not supported".to_owned()),
        (
            "pk = :v AND sk BETWEEN :w AND :v",
            "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to \
             lower bound; lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}"
                .to_owned(),
        ),
        (
            "pk = :v",
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}".to_owned(),
        ),
    ] {
        assert_eq!(key_range(text, &values, &schema(KeyType::S)).unwrap_err().message(), message, "{text}");
    }
    let simple = KeySchema::simple(KeyAttribute::new("pk", KeyType::S));
    assert_eq!(
        key_range("pk = :v AND sk = :w", &values, &simple).unwrap_err().message(),
        "Query key condition not supported"
    );
    assert_eq!(
        key_range("pk = :v AND sk = :w", &values, &schema(KeyType::N)).unwrap_err().message(),
        "One or more parameter values were invalid: Condition parameter type does not match schema type"
    );
    assert_eq!(
        key_range("pk = :v", &json!({":v": {"S": ""}}), &simple).unwrap_err().message(),
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string \
         value. Key: pk"
    );
}

proptest! {
    #[test]
    fn a_range_holds_what_fulfils_the_condition(
        text in "[ab\\x00\u{10FFFF}]{1,3}",
        low in "[ab\\x00\u{10FFFF}]{1,3}",
        high in "[ab\\x00\u{10FFFF}]{1,3}",
        number in -20_i64..20,
        pivot in -20_i64..20,
    ) {
        let (low, high) = if low <= high { (low, high) } else { (high, low) };
        for (kind, item, low, high) in [
            (KeyType::S, json!({"S": text}), json!({"S": low}), json!({"S": high})),
            (KeyType::N, json!({"N": number.to_string()}), json!({"N": pivot.to_string()}), json!({"N": "20"})),
        ] {
            let item = attributes(json!({"pk": {"S": "p"}, "sk": item}));
            let key = sort_key(item.get("sk").unwrap()).unwrap();
            for condition in [
                "sk = :l", "sk < :l", "sk <= :l", "sk > :l", "sk >= :l", ":l > sk", "sk BETWEEN :l AND :h", "begins_with(sk, :l)",
            ] {
                if kind == KeyType::N && condition.starts_with("begins") {
                    continue;
                }
                let mut values = json!({":p": {"S": "p"}, ":l": low});
                if condition.contains(":h") {
                    values[":h"] = high.clone();
                }
                let text = format!("pk = :p AND {condition}");
                let range = key_range(&text, &values, &schema(kind)).unwrap();
                let inside = (range.from.as_ref(), range.to.as_ref()).contains(&key);
                prop_assert_eq!(inside, holds(&text, &values, &item), "{} {:?}", text, values);
            }
        }
    }
}
