//! DynamoDB's values on the wire: what comes back, what is refused with which words, how large it is, and its order as a key.

use hotplate::dynamodb::{
    AttributeValue, Attributes, Exception, ITEM_BYTES_MAX, Item, KeyAttribute, KeySchema, KeyType, Number,
    Set, partition_key, sort_key,
};
use hotplate::{Document, ItemKey, SortKey};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(json: Value) -> AttributeValue {
    AttributeValue::from_json(json).unwrap()
}

/// The refusal, and whether it is one of shape.
fn refusal(json: Value) -> (Exception, String) {
    let shape = AttributeValue::check_shape(&json);
    let error = AttributeValue::from_json(json.clone()).expect_err(&json.to_string());
    assert_eq!(shape.is_err(), error.exception() == Exception::Serialization, "{json}");
    (error.exception(), error.message().to_owned())
}

fn number() -> impl Strategy<Value = Number> {
    ("[1-9][0-9]{0,20}", -40_i32..40, any::<bool>()).prop_map(|(digits, exponent, negative)| {
        format!("{}{digits}E{exponent}", if negative { "-" } else { "" }).parse().unwrap()
    })
}

fn value() -> impl Strategy<Value = AttributeValue> {
    let set = |size| proptest::collection::btree_set(".{0,4}", size);
    let leaf = prop_oneof![
        ".{0,8}".prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        proptest::collection::vec(any::<u8>(), 0..8).prop_map(AttributeValue::B),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null),
        set(1..4).prop_map(|set| AttributeValue::Ss(Set::new(set.into_iter().rev().collect()).unwrap())),
        proptest::collection::btree_set(number(), 1..4)
            .prop_map(|set| AttributeValue::Ns(Set::new(set.into_iter().collect()).unwrap())),
        proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..3), 1..4)
            .prop_map(|set| AttributeValue::Bs(Set::new(set.into_iter().collect()).unwrap())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            proptest::collection::vec((".{1,4}", inner), 0..4)
                .prop_map(|members| AttributeValue::M(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_is_the_same_after_the_wire(value in value()) {
        let json = value.to_json();
        prop_assert_eq!(serde_json::to_value(&value).unwrap(), json.clone());
        prop_assert!(AttributeValue::check_shape(&json).is_ok());
        prop_assert_eq!(AttributeValue::from_json(json).unwrap(), value);
    }

    #[test]
    fn a_size_is_that_of_its_parts(value in value()) {
        let expected = match &value {
            AttributeValue::S(text) => text.len() as u64,
            AttributeValue::B(bytes) => bytes.len() as u64,
            AttributeValue::N(number) => hotplate::charge::item_size::number(&number.to_string()).0,
            AttributeValue::Bool(_) | AttributeValue::Null => 1,
            AttributeValue::L(values) => 3 + values.iter().map(|value| value.size() + 1).sum::<u64>(),
            AttributeValue::M(values) => {
                3 + values.iter().map(|(name, value)| name.len() as u64 + value.size() + 1).sum::<u64>()
            }
            AttributeValue::Ss(set) => set.iter().map(|text| text.len() as u64).sum(),
            AttributeValue::Ns(set) => set.iter().map(|number| number.size()).sum(),
            AttributeValue::Bs(set) => set.iter().map(|bytes| bytes.len() as u64).sum(),
        };
        prop_assert_eq!(value.size(), expected);
    }

    #[test]
    fn no_json_makes_it_panic(text in "[\\[\\]{}\":,SNBLMOUa0-9 truefalsn=]{0,40}") {
        if let Ok(json) = serde_json::from_str::<Value>(&text) {
            let _ = AttributeValue::check_shape(&json);
            let _ = AttributeValue::from_json(json.clone());
            let _ = Attributes::from_json(json);
        }
    }

    #[test]
    fn sort_keys_are_ordered_as_their_values(a in value(), b in value()) {
        match (sort_key(&a), sort_key(&b)) {
            (Some(x), Some(y)) if a.kind() == b.kind() => prop_assert_eq!(Some(x.cmp(&y)), a.compare(&b)),
            (x, _) => prop_assert_eq!(x.is_some(), a.kind().is_ordered()),
        }
    }

    #[test]
    fn keys_are_the_same_after_the_engine(partition in value(), sort in value()) {
        let kind = |value: &AttributeValue| match value {
            AttributeValue::S(_) => Some(KeyType::S),
            AttributeValue::N(_) => Some(KeyType::N),
            AttributeValue::B(_) => Some(KeyType::B),
            _ => None,
        };
        let (Some(first), Some(second)) = (kind(&partition), kind(&sort)) else { return Ok(()) };
        let schema = KeySchema::composite(KeyAttribute::new("p", first), KeyAttribute::new("s", second));
        let attributes = Attributes::from_iter([("p", partition.clone()), ("s", sort.clone())]);
        if let Ok(key) = schema.of_item(&attributes) {
            prop_assert_eq!(schema.of_request(&attributes).unwrap(), key.clone());
            prop_assert_eq!(schema.attributes_of(&key), Some(attributes));
        }
    }

    #[test]
    fn different_numbers_are_different_partitions(a in number(), b in number()) {
        let key = |number| partition_key(&AttributeValue::N(number)).unwrap();
        prop_assert_eq!(key(a) == key(b), a == b);
    }
}

/// The data types of the developer guide, with its own examples.
#[test]
fn the_guides_values_come_back() {
    for json in [
        json!({"S": "Hello"}),
        json!({"N": "123.45"}),
        json!({"B": "dGhpcyB0ZXh0IGlzIGJhc2U2NC1lbmNvZGVk"}),
        json!({"SS": ["Giraffe", "Hippo", "Zebra"]}),
        json!({"NS": ["-19", "3.14", "7.5", "42.2"]}),
        json!({"BS": ["UmFpbnk=", "U25vd3k=", "U3Vubnk="]}),
        json!({"M": {"Age": {"N": "35"}, "Name": {"S": "Joe"}}}),
        json!({"L": [{"S": "Cookies"}, {"S": "Coffee"}, {"N": "3.14159"}]}),
        json!({"NULL": true}),
        json!({"BOOL": false}),
        json!({"S": ""}),
        json!({"B": ""}),
        json!({"L": []}),
        json!({"M": {}}),
    ] {
        assert_eq!(read(json.clone()).to_json(), json);
    }
}

#[test]
fn values_that_say_the_same_are_equal() {
    let same = |a, b| assert_eq!(read(a), read(b));
    same(json!({"N": "1.0"}), json!({"N": "1"}));
    same(json!({"N": "1e2"}), json!({"N": "100"}));
    same(json!({"SS": ["b", "a"]}), json!({"SS": ["a", "b"]}));
    same(json!({"NS": ["1", "2.0"]}), json!({"NS": ["2", "1"]}));
    same(json!({"BOOL": "Yes"}), json!({"BOOL": true}));
    same(json!({"BOOL": "0"}), json!({"BOOL": false}));
    same(json!({"S": "a", "N": null, "Unknown": [1]}), json!({"S": "a"}));
    assert_ne!(read(json!({"N": "1"})), read(json!({"S": "1"})));
    assert_ne!(read(json!({"L": [{"N": "1"}, {"N": "2"}]})), read(json!({"L": [{"N": "2"}, {"N": "1"}]})));
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let empty = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    let invalid = |what: &str| format!("One or more parameter values were invalid: {what}");
    for (json, message) in [
        (json!({}), empty.to_owned()),
        (json!({"X": "a"}), empty.to_owned()),
        (json!({"S": null}), empty.to_owned()),
        (json!({"L": [null]}), empty.to_owned()),
        (json!({"M": {"a": {}}}), empty.to_owned()),
        (
            json!({"S": "a", "N": "1"}),
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
                .to_owned(),
        ),
        (json!({"S": "a", "N": ""}), "The parameter cannot be converted to a numeric value".to_owned()),
        (json!({"N": "b"}), "The parameter cannot be converted to a numeric value: b".to_owned()),
        (json!({"NS": ["1", "b"]}), "The parameter cannot be converted to a numeric value: b".to_owned()),
        (
            json!({"L": [{"N": "1e126"}]}),
            "Number overflow. Attempting to store a number with magnitude larger than supported range".to_owned(),
        ),
        (json!({"NULL": false}), invalid("Null attribute value types must have the value of true")),
        (json!({"NULL": "no"}), invalid("Null attribute value types must have the value of true")),
        (json!({"SS": []}), invalid("An string set  may not be empty")),
        (json!({"NS": []}), invalid("An number set  may not be empty")),
        (json!({"BS": []}), invalid("Binary sets should not be empty")),
        (json!({"M": {"a": {"L": [{"SS": []}]}}}), invalid("An string set  may not be empty")),
        (json!({"SS": ["b", "a", "b"]}), invalid("Input collection [b, a, b] contains duplicates.")),
        (json!({"NS": ["1", "1.0"]}), "Input collection contains duplicates".to_owned()),
        (
            json!({"BS": ["Yg==", "YQ==", "Yg=="]}),
            invalid("Input collection [Yg==, YQ==, Yg==]of type BS contains duplicates."),
        ),
    ] {
        assert_eq!(refusal(json.clone()), (Exception::Validation, message), "{json}");
    }
}

#[test]
fn json_of_another_shape_is_refused() {
    let class = "com.amazonaws.dynamodb.v20120810.AttributeValue";
    let structure = "Start of structure or map found where not expected";
    for (json, message) in [
        (json!({"S": 1}), "NUMBER_VALUE cannot be converted to String".to_owned()),
        (json!({"N": 1.5}), "DECIMAL_VALUE cannot be converted to String".to_owned()),
        (json!({"S": true}), "TRUE_VALUE cannot be converted to String".to_owned()),
        (json!({"S": []}), "Unrecognized collection type class java.lang.String".to_owned()),
        (json!({"S": {}}), structure.to_owned()),
        (json!({"B": 1}), "only base-64-encoded strings are convertible to bytes".to_owned()),
        (json!({"B": []}), "Unrecognized collection type class java.nio.ByteBuffer".to_owned()),
        (json!({"B": {}}), structure.to_owned()),
        (
            json!({"B": "YQ"}),
            "Base64 encoded length is expected a multiple of 4 bytes but found: 2".to_owned(),
        ),
        (json!({"B": "YR=="}), "Invalid last non-pad Base64 character dectected".to_owned()),
        (json!({"BS": ["YQ==", "Y%=="]}), "Invalid last non-pad Base64 character dectected".to_owned()),
        (json!({"BOOL": 1}), "NUMBER_VALUE cannot be converted to Boolean".to_owned()),
        (json!({"BOOL": "maybe"}), "Unexpected token received from parser".to_owned()),
        (json!({"BOOL": []}), "Unrecognized collection type class java.lang.Boolean".to_owned()),
        (json!({"NULL": {}}), structure.to_owned()),
        (json!({"L": "a"}), "Unexpected field type".to_owned()),
        (json!({"L": {}}), structure.to_owned()),
        (json!({"SS": ["a", 1]}), "NUMBER_VALUE cannot be converted to String".to_owned()),
        (json!({"L": ["a"]}), "Unexpected value type in payload".to_owned()),
        (json!({"L": [[]]}), format!("Unrecognized collection type class {class}")),
        (json!({"M": 1}), "Unexpected field type".to_owned()),
        (json!({"M": []}), format!("Unrecognized collection type java.util.Map<java.lang.String, {class}>")),
        (json!({"M": {"a": "b"}}), "Unexpected value type in payload".to_owned()),
        (json!("a"), "Unexpected value type in payload".to_owned()),
        (json!([]), format!("Unrecognized collection type class {class}")),
    ] {
        assert_eq!(refusal(json.clone()), (Exception::Serialization, message), "{json}");
    }
    let error = Attributes::from_json(json!([])).unwrap_err();
    assert_eq!(error.exception(), Exception::Serialization);
}

/// 31 levels around a value are held, 32 are not; far more are refused as well.
#[test]
fn nesting_ends_at_32_levels() {
    let nested =
        |levels: usize, around: fn(Value) -> Value| (0..levels).fold(json!({"S": "leaf"}), |v, _| around(v));
    for around in [|v| json!({"M": {"n": v}}), |v| json!({"L": [v]})] as [fn(Value) -> Value; 2] {
        assert!(AttributeValue::from_json(nested(31, around)).is_ok());
        for levels in [32, 33, 60, 1_000] {
            assert_eq!(
                refusal(nested(levels, around)),
                (
                    Exception::Validation,
                    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond \
                     supported limit"
                        .to_owned()
                )
            );
        }
    }
}

#[test]
fn names_have_limits() {
    let named = |name: String| {
        Attributes::from_json(Value::Object([(name, json!({"BOOL": true}))].into_iter().collect()))
    };
    assert_eq!(named(String::new()).unwrap_err().message(), "Empty attribute name");
    assert!(named("n".repeat(65_535)).is_ok());
    assert_eq!(
        named("n".repeat(65_536)).unwrap_err().message(),
        "Attribute name is too large, must be less than 65536 bytes"
    );
}

#[test]
fn an_item_may_have_400_kilobytes() {
    let sized = |bytes: u64| Attributes::from_iter([("pk", "x".repeat(bytes as usize - 2).into())]);
    let item = Item::to_put(sized(ITEM_BYTES_MAX)).unwrap();
    assert_eq!(item.size().0, 409_600);
    assert_eq!(serde_json::to_value(&item).unwrap(), item.attributes().to_json());
    assert_eq!(
        Item::to_put(sized(ITEM_BYTES_MAX + 1)).unwrap_err().message(),
        "Item size has exceeded the maximum allowed size"
    );
    assert_eq!(
        Item::to_update(sized(ITEM_BYTES_MAX + 1)).unwrap_err().message(),
        "Item size to update has exceeded the maximum allowed size"
    );
    assert_eq!(Item::new(sized(500_000)).into_attributes().len(), 1);
}

/// Names, values, a map and a list, counted by hand with the guide's rules.
#[test]
fn a_size_is_exact_to_the_byte() {
    let item = Attributes::from_json(json!({
        "id": {"N": "-12.5"},                                   // 2 + 1 + 2 + 1
        "name": {"S": "Zoë"},                                   // 4 + 4
        "tags": {"SS": ["a", "bc"]},                            // 4 + 3
        "m": {"M": {"k": {"BOOL": true}, "l": {"L": [{"NULL": true}]}}}, // 1 + 3 + (1+1+1) + (1 + 3+1+1 + 1)
        "b": {"B": "AAEC"},                                     // 1 + 3
    }))
    .unwrap();
    assert_eq!(item.size(), 6 + 8 + 7 + 14 + 4);
    assert_eq!(Item::new(item).size().0, 39);
}

fn schema() -> KeySchema {
    KeySchema::composite(KeyAttribute::new("a", KeyType::S), KeyAttribute::new("b", KeyType::B))
}

fn attributes(json: Value) -> Attributes {
    Attributes::from_json(json).unwrap()
}

#[test]
fn an_item_needs_its_key() {
    let long = |bytes: usize| "x".repeat(bytes);
    let binary = |bytes: usize| AttributeValue::B(vec![1; bytes]).to_json();
    for (item, message) in [
        (json!({}), "One or more parameter values were invalid: Missing the key a in the item"),
        (
            json!({"a": {"S": "a"}}),
            "One or more parameter values were invalid: Missing the key b in the item",
        ),
        (
            json!({"a": {"N": "1"}}),
            "One or more parameter values were invalid: Type mismatch for key a expected: S actual: N",
        ),
        (
            json!({"a": {"S": "a"}, "b": {"BS": ["YQ=="]}}),
            "One or more parameter values were invalid: Type mismatch for key b expected: B actual: BS",
        ),
        (
            json!({"a": {"S": ""}, "b": {"B": "YQ=="}}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
             string value. Key: a",
        ),
        (
            json!({"a": {"S": "a"}, "b": {"B": ""}}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
             binary value. Key: b",
        ),
        (
            json!({"a": {"S": long(2_049)}, "b": {"B": "YQ=="}}),
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            json!({"a": {"S": "a"}, "b": binary(1_025)}),
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of \
             1024 bytes",
        ),
    ] {
        assert_eq!(schema().of_item(&attributes(item.clone())).unwrap_err().message(), message, "{item}");
    }
    let item = attributes(json!({"a": {"S": long(2_048)}, "b": binary(1_024), "c": {"N": "1"}}));
    assert!(schema().of_item(&item).is_ok());
    assert_eq!(schema().project(&item).len(), 2);
}

#[test]
fn a_request_names_the_key_and_nothing_else() {
    let mismatch = "The provided key element does not match the schema";
    for (key, message) in [
        (json!({}), mismatch),
        (json!({"a": {"S": "a"}}), mismatch),
        (json!({"a": {"S": "a"}, "c": {"B": "YQ=="}}), mismatch),
        (json!({"a": {"S": "a"}, "b": {"S": "a"}}), mismatch),
        (json!({"a": {"S": "a"}, "b": {"B": "YQ=="}, "c": {"N": "1"}}), mismatch),
        (
            json!({"a": {"S": ""}, "b": {"B": "YQ=="}}),
            "One or more parameter values were invalid: The AttributeValue for a key attribute cannot contain an empty \
             string value. Key: a",
        ),
    ] {
        assert_eq!(schema().of_request(&attributes(key.clone())).unwrap_err().message(), message, "{key}");
    }
}

#[test]
fn an_index_holds_items_that_have_its_key() {
    let indexed = |item| schema().of_indexed("by-a", &attributes(item));
    assert_eq!(indexed(json!({"a": {"S": "a"}})).unwrap(), None);
    assert!(indexed(json!({"a": {"S": "a"}, "b": {"B": "YQ=="}})).unwrap().is_some());
    assert_eq!(
        indexed(json!({"a": {"N": "1"}})).unwrap_err().message(),
        "One or more parameter values were invalid: Type mismatch for Index Key a Expected: S Actual: N IndexName: by-a"
    );
    assert_eq!(
        indexed(json!({"a": {"S": ""}})).unwrap_err().message(),
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The \
         AttributeValue for a key attribute cannot contain an empty string value. IndexName: by-a, IndexKey: a"
    );
}

#[test]
fn keys_show_as_they_were_written() {
    let shown = |text: &str| partition_key(&AttributeValue::N(text.parse().unwrap())).unwrap().to_string();
    for text in ["0", "1", "-7", "0.1", "20130109", "12345678901234567890123456789012345678", "-0.05"] {
        assert_eq!(shown(text), text);
    }
    let schema = KeySchema::simple(KeyAttribute::new("n", KeyType::N));
    let item = attributes(json!({"n": {"N": "0.1"}}));
    let key = schema.of_item(&item).unwrap();
    assert_eq!(key.sort, SortKey::none());
    assert_eq!(schema.attributes_of(&key), Some(item));
    // A key of another schema is none of this one.
    assert_eq!(schema.attributes_of(&ItemKey::new("text", "x")), None);
    assert_eq!(schema.attributes_of(&ItemKey { partition: "1".into(), sort: SortKey::none() }), {
        // Text that is a number is how a number without a double is stored.
        Some(attributes(json!({"n": {"N": "1"}})))
    });
}

/// The engine, given keys made here: what a key condition asks for is what a query reads, in the order of the values.
#[test]
fn a_key_condition_reads_its_range_from_a_table() {
    use hotplate::dynamodb::KeyCondition;
    use hotplate::dynamodb::expression::Placeholders;
    use hotplate::{Clock, Profile, Query, Table};
    use std::sync::Arc;

    let clock = Clock::manual();
    let profile = Profile::dynamodb_provisioned(1_000, 1_000).unwrap();
    let table: Table<Arc<Item>> = Table::new("scores", profile, clock.now()).unwrap();
    let schema =
        KeySchema::composite(KeyAttribute::new("game", KeyType::S), KeyAttribute::new("score", KeyType::N));
    for score in ["100", "-3", "0.5", "12345678901234567890123456789012345678", "7", "-0.25", "1e-100"] {
        let item = attributes(json!({"game": {"S": "chess"}, "score": {"N": score}}));
        let key = schema.of_item(&item).unwrap();
        table.put(&key, Arc::new(Item::to_put(item).unwrap()), clock.now()).unwrap();
    }
    let asked = |condition: &str, values: Value| {
        let mut placeholders = Placeholders::from_json(None, Some(values)).unwrap();
        let condition = KeyCondition::parse(condition, &mut placeholders).unwrap();
        placeholders.check_used().unwrap();
        let range = KeyCondition::of(&condition).unwrap().on(&schema).unwrap();
        let page =
            table.query(&Query::of(range.partition).between(range.from, range.to), clock.now()).unwrap();
        let score = |item: &Arc<Item>| {
            item.attributes().get("score").unwrap().to_json()["N"].as_str().unwrap().to_owned()
        };
        page.items.iter().map(|(_, item)| score(item)).collect::<Vec<_>>()
    };
    let small = format!("0.{}1", "0".repeat(99));
    let small = small.as_str();
    assert_eq!(
        asked("game = :g", json!({":g": {"S": "chess"}})),
        ["-3", "-0.25", small, "0.5", "7", "100", "12345678901234567890123456789012345678"]
    );
    assert_eq!(
        asked(
            "game = :g AND score BETWEEN :l AND :h",
            json!({":g": {"S": "chess"}, ":l": {"N": "-1"}, ":h": {"N": "7.0"}})
        ),
        ["-0.25", small, "0.5", "7"]
    );
    assert!(asked("game = :g", json!({":g": {"S": "go"}})).is_empty());
}
