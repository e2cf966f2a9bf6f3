//! The legacy parameters: they mean what the expression in their place means, and have refusals of their own.

use crate::support::{attributes, schema};
use hotplate::SortKey;
use hotplate::dynamodb::expression::{Condition, Update};
use hotplate::dynamodb::legacy::{
    ConditionalOperator, Filter, attribute_updates, attributes_to_get, expected, filter, key_conditions,
};
use hotplate::dynamodb::{Attributes, Exception, KeyAttribute, KeySchema, KeyType, Result};
use serde_json::{Value, json};
use std::ops::Bound;

fn item() -> Attributes {
    attributes(json!({
        "s": {"S": "hello"}, "n": {"N": "5"}, "ss": {"SS": ["a", "b"]}, "l": {"L": [{"N": "1"}]}, "z": {"NULL": true}
    }))
}

fn scan(json: Value) -> Result<Condition> {
    filter(Filter::Scan, json, None)
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().message().to_owned()
}

#[test]
fn comparisons_mean_what_they_say() {
    for (attribute, operator, values, expected) in [
        ("n", "EQ", json!([{"N": "5.0"}]), true),
        ("n", "NE", json!([{"N": "5"}]), false),
        ("x", "NE", json!([{"N": "5"}]), true),
        ("n", "LT", json!([{"N": "10"}]), true),
        ("n", "LE", json!([{"N": "5"}]), true),
        ("n", "GT", json!([{"N": "5"}]), false),
        ("n", "GE", json!([{"S": "5"}]), false),
        ("n", "BETWEEN", json!([{"N": "5"}, {"N": "6"}]), true),
        ("n", "IN", json!([{"N": "4"}, {"N": "5"}]), true),
        ("x", "IN", json!([{"N": "4"}]), false),
        ("s", "BEGINS_WITH", json!([{"S": "hell"}]), true),
        ("s", "CONTAINS", json!([{"S": "ell"}]), true),
        ("ss", "CONTAINS", json!([{"S": "a"}]), true),
        ("l", "CONTAINS", json!([{"N": "1"}]), true),
        ("s", "NOT_CONTAINS", json!([{"S": "xyz"}]), true),
        ("s", "NOT_CONTAINS", json!([{"S": "ell"}]), false),
        ("x", "NOT_CONTAINS", json!([{"S": "ell"}]), false),
        ("x", "NULL", json!(null), true),
        ("z", "NULL", json!([]), false),
        ("z", "NOT_NULL", json!([]), true),
        ("l", "EQ", json!([{"L": [{"N": "1"}]}]), true),
        ("ss", "EQ", json!([{"SS": ["b", "a"]}]), true),
    ] {
        let filters = json!({attribute: {"ComparisonOperator": operator, "AttributeValueList": values}});
        assert_eq!(scan(filters.clone()).unwrap().holds(&item()), expected, "{filters}");
        if values != json!(null) {
            assert_eq!(self::expected(filters.clone(), None).unwrap().holds(&item()), expected, "{filters}");
        }
    }
    assert!(scan(json!({})).unwrap().holds(&item()));
}

#[test]
fn conditions_are_joined() {
    let two = json!({
        "n": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "5"}]},
        "s": {"ComparisonOperator": "NULL"}
    });
    let operator = |word: &str, conditions| ConditionalOperator::from_json(Some(&json!(word)), conditions);
    let joined = |operator| filter(Filter::Query, two.clone(), operator).unwrap().holds(&item());
    assert!(!joined(None));
    assert!(!joined(operator("AND", 2).unwrap()));
    assert!(joined(operator("OR", 2).unwrap()));
    assert_eq!(ConditionalOperator::from_json(None, 0).unwrap(), None);
    assert_eq!(
        message(operator("AN", 2)),
        "1 validation error detected: Value 'AN' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy \
         enum value set: [OR, AND]"
    );
    assert_eq!(message(operator("OR", 0)), "ConditionalOperator cannot be used without Filter or Expected");
    assert_eq!(
        message(operator("OR", 1)),
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    );
}

#[test]
fn an_expectation_is_a_value_or_its_absence() {
    let holds = |json: Value| expected(json, None).unwrap().holds(&item());
    assert!(holds(json!({"n": {"Value": {"N": "5"}}})));
    assert!(holds(json!({"n": {"Value": {"N": "5"}, "Exists": true}})));
    assert!(!holds(json!({"n": {"Value": {"N": "6"}, "Exists": true}})));
    assert!(holds(json!({"x": {"Exists": false}})));
    assert!(!holds(json!({"n": {"Exists": "false"}})));
    assert!(holds(json!({"n": {"Value": {"N": "6"}, "ComparisonOperator": "LT"}})));
    assert!(holds(json!({"n": {"Value": {"N": "5"}}, "x": {"Exists": false}})));
    let invalid = |what: &str| format!("One or more parameter values were invalid: {what}");
    for (member, text) in [
        (
            json!({"Value": {"S": "a"}, "AttributeValueList": [{"S": "a"}]}),
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            json!({"Exists": true, "ComparisonOperator": "EQ", "Value": {"S": "a"}}),
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            json!({"ComparisonOperator": "LT"}),
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            json!({"AttributeValueList": [{"S": "a"}]}),
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (json!({}), "Value must be provided when Exists is null for Attribute: a"),
        (json!({"Exists": true}), "Value must be provided when Exists is true for Attribute: a"),
        (
            json!({"Exists": false, "Value": {"S": "a"}}),
            "Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            json!({"ComparisonOperator": "NULL", "Value": {"S": "a"}}),
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            json!({"ComparisonOperator": "IN", "AttributeValueList": []}),
            "Invalid number of argument(s) for the IN ComparisonOperator",
        ),
    ] {
        assert_eq!(message(expected(json!({"a": member}), None)), invalid(text), "{member}");
    }
}

#[test]
fn filters_that_cannot_be_are_refused() {
    let refused = |operator: &str, values: Value| {
        message(scan(json!({"a": {"ComparisonOperator": operator, "AttributeValueList": values}})))
    };
    let invalid = |what: &str| format!("One or more parameter values were invalid: {what}");
    for operator in
        ["EQ", "NE", "LT", "LE", "GT", "GE", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "BETWEEN", "IN"]
    {
        assert_eq!(
            refused(operator, json!([])),
            invalid(&format!("Invalid number of argument(s) for the {operator} ComparisonOperator"))
        );
    }
    assert_eq!(
        refused("IN", json!([{"S": "a"}, {"N": "1"}])),
        invalid("AttributeValues inside AttributeValueList must be of same type")
    );
    for (operator, value, kind) in [
        ("LT", json!({"BOOL": true}), "BOOL"),
        ("GE", json!({"NULL": true}), "NULL"),
        ("IN", json!({"SS": ["a"]}), "SS"),
        ("CONTAINS", json!({"L": []}), "L"),
        ("BEGINS_WITH", json!({"N": "1"}), "N"),
    ] {
        assert_eq!(
            refused(operator, json!([value])),
            invalid(&format!("ComparisonOperator {operator} is not valid for {kind} AttributeValue type"))
        );
    }
    assert_eq!(
        refused("BETWEEN", json!([{"N": "10"}, {"N": "9"}])),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    );
    assert_eq!(
        message(scan(json!({"a": {}}))),
        "1 validation error detected: Value null at 'scanFilter.a.member.comparisonOperator' failed to satisfy constraint: \
         Member must not be null"
    );
    assert_eq!(
        message(filter(Filter::Query, json!({"a": {"ComparisonOperator": "LIKE"}}), None)),
        "1 validation error detected: Value 'LIKE' at 'queryFilter.a.member.comparisonOperator' failed to satisfy \
         constraint: Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, \
         BEGINS_WITH, GE, CONTAINS]"
    );
    for (json, text) in [
        (
            json!([]),
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.Condition>",
        ),
        (json!("a"), "Unexpected field type"),
        (json!({"a": []}), "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.Condition"),
        (json!({"a": 1}), "Unexpected value type in payload"),
        (json!({"a": {"ComparisonOperator": 1}}), "NUMBER_VALUE cannot be converted to String"),
        (
            json!({"a": {"ComparisonOperator": "EQ", "AttributeValueList": {}}}),
            "Start of structure or map found where not expected",
        ),
        (
            json!({"a": {"ComparisonOperator": "EQ", "AttributeValueList": [1]}}),
            "Unexpected value type in payload",
        ),
    ] {
        let error = scan(json).unwrap_err();
        assert_eq!((error.exception(), error.message()), (Exception::Serialization, text));
    }
}

#[test]
fn key_conditions_become_ranges() {
    let condition =
        |operator: &str, value: Value| json!({"ComparisonOperator": operator, "AttributeValueList": [value]});
    let pk = condition("EQ", json!({"S": "p"}));
    let range = key_conditions(json!({"pk": pk, "sk": condition("GT", json!({"S": "a"}))})).unwrap();
    let range = range.on(&schema(KeyType::S)).unwrap();
    assert_eq!(
        (range.partition, range.from, range.to),
        ("p".into(), Bound::Excluded(SortKey::text("a")), Bound::Unbounded)
    );
    let on = |json: Value, schema: &KeySchema| {
        message(key_conditions(json).and_then(|condition| condition.on(schema)))
    };
    let schema = schema(KeyType::S);
    assert_eq!(on(json!({}), &schema), "Conditions can be of length 1 or 2 only");
    assert_eq!(on(json!({"sk": pk}), &schema), "Query condition missed key schema element: pk");
    assert_eq!(on(json!({"pk": pk, "x": pk}), &schema), "Query condition missed key schema element: sk");
    for operator in ["NE", "CONTAINS", "NOT_CONTAINS", "IN"] {
        assert_eq!(
            on(json!({"pk": pk, "sk": condition(operator, json!({"S": "a"}))}), &schema),
            "Attempted conditional constraint is not an indexable operation"
        );
    }
    assert_eq!(
        on(json!({"pk": condition("GE", json!({"S": "a"}))}), &schema),
        "Query key condition not supported"
    );
    assert_eq!(
        on(json!({"pk": condition("EQ", json!({"N": "1"}))}), &schema),
        "One or more parameter values were invalid: Condition parameter type does not match schema type"
    );
    let simple = KeySchema::simple(KeyAttribute::new("pk", KeyType::S));
    assert_eq!(on(json!({"pk": pk, "sk": pk}), &simple), "Query key condition not supported");
}

fn apply(updates: Value) -> Result<Value> {
    attribute_updates(updates)?.apply(Some(&item()), &Attributes::new()).map(|after| after.to_json())
}

#[test]
fn updates_put_add_and_delete() {
    let after = apply(json!({
        "s": {"Value": {"S": "new"}},
        "n": {"Action": "ADD", "Value": {"N": "1.5"}},
        "ss": {"Action": "DELETE", "Value": {"SS": ["a", "x"]}},
        "l": {"Action": "ADD", "Value": {"L": [{"N": "2"}]}},
        "z": {"Action": "DELETE"},
        "new": {"Action": "ADD", "Value": {"NS": ["1"]}},
        "gone": {"Action": "DELETE", "Value": {"SS": ["a"]}},
        "put": {"Action": "PUT", "Value": {"BOOL": true}}
    }));
    assert_eq!(
        after.unwrap(),
        json!({
            "s": {"S": "new"}, "n": {"N": "6.5"}, "ss": {"SS": ["b"]}, "l": {"L": [{"N": "1"}, {"N": "2"}]},
            "new": {"NS": ["1"]}, "put": {"BOOL": true}
        })
    );
    // No updates at all make an item of its key.
    let update: Update = attribute_updates(json!({})).unwrap();
    let key = attributes(json!({"pk": {"S": "a"}}));
    assert_eq!(update.apply(None, &key).unwrap(), key);
}

#[test]
fn updates_that_cannot_be_are_refused() {
    let invalid = |what: &str| format!("One or more parameter values were invalid: {what}");
    for (member, text) in [
        (json!({"Action": "PUT"}), invalid("Only DELETE action is allowed when no attribute value is specified")),
        (json!({}), invalid("Only DELETE action is allowed when no attribute value is specified")),
        (
            json!({"Action": "DELETE", "Value": {"N": "1"}}),
            invalid("DELETE action with value is not supported for the type N"),
        ),
        (json!({"Action": "ADD", "Value": {"B": "YQ=="}}), invalid("ADD action is not supported for the type B")),
        (json!({"Action": "ADD", "Value": {"N": "x"}}), "The parameter cannot be converted to a numeric value: x".to_owned()),
        (
            json!({"Action": "SET", "Value": {"N": "1"}}),
            "1 validation error detected: Value 'SET' at 'attributeUpdates.a.member.action' failed to satisfy constraint: \
             Member must satisfy enum value set: [ADD, DELETE, PUT]"
                .to_owned(),
        ),
    ] {
        assert_eq!(message(attribute_updates(json!({"a": member}))), text, "{member}");
    }
    for (updates, text) in [
        (json!({"s": {"Action": "ADD", "Value": {"N": "1"}}}), "Type mismatch for attribute to update"),
        (
            json!({"ss": {"Action": "DELETE", "Value": {"NS": ["1"]}}}),
            "Type mismatch for attribute to update",
        ),
    ] {
        assert_eq!(message(apply(updates)), text);
    }
}

#[test]
fn attributes_to_get_are_names() {
    let projected =
        |json: Value| attributes_to_get(&json).map(|projection| projection.apply(&item()).to_json());
    assert_eq!(projected(json!(["n", "x", "s"])).unwrap(), json!({"n": {"N": "5"}, "s": {"S": "hello"}}));
    // A name with a dot is a name.
    assert_eq!(projected(json!(["l[0]"])).unwrap(), json!({}));
    assert_eq!(
        message(projected(json!(["a", "b", "a"]))),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"
    );
    assert_eq!(
        message(projected(json!([]))),
        "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length \
         greater than or equal to 1"
    );
    let many: Vec<String> = (0..256).map(|i| i.to_string()).collect();
    assert!(message(projected(json!(many))).ends_with("Member must have length less than or equal to 255"));
    assert_eq!(message(projected(json!("a"))), "Unexpected field type");
}
