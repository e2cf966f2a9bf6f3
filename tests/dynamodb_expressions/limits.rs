//! Limits of expressions, placeholders, and which parameters go together.

use crate::support::{
    attributes, condition_with, placeholders, refused, update_refused, update_with, updated,
};
use hotplate::dynamodb::Attributes;
use hotplate::dynamodb::expression::{
    Condition, ExpressionKind, Parameters, Placeholders, Projection, Update,
};
use serde_json::{Value, json};

#[test]
fn expressions_have_limits() {
    let refused = |text: &str| refused(text, &Value::Null, &Value::Null);
    let sized = |length: usize| format!("{}a = b", " ".repeat(length - 5));
    assert!(condition_with(&sized(4_096), &Value::Null, &Value::Null).is_ok());
    assert_eq!(
        refused(&sized(4_097)),
        "Expression size has exceeded the maximum allowed size; expression size: 4097"
    );
    assert_eq!(
        refused(&"(".repeat(15_000)),
        "Expression size has exceeded the maximum allowed size; expression size: 15000"
    );
    // 299 operators, nested 149 deep, are fine; parentheses do not count.
    let nested = |depth: usize| format!("a<b {}{}", "or (a<b ".repeat(depth), ")".repeat(depth));
    assert!(
        condition_with(&nested(149), &Value::Null, &Value::Null)
            .unwrap()
            .holds(&attributes(json!({"a": {"N": "1"}, "b": {"N": "2"}})))
    );
    let too_many = "The expression contains too many operators; operator count: 301";
    assert_eq!(refused(&nested(150)), too_many);
    assert_eq!(refused(&nested(450)), too_many);
    assert_eq!(refused(&format!("{}a<b", "not ".repeat(1_000))), too_many);
    let not = |count: usize| format!("{}a<b", "NOT ".repeat(count));
    assert!(condition_with(&not(299), &Value::Null, &Value::Null).is_ok());
    assert_eq!(refused(&not(300)), too_many);
    // As deep as a text can be.
    assert!(refused(&"(".repeat(4_096)).starts_with("Syntax error; token: \"<EOF>\""));
    assert_eq!(
        refused(&format!("{}a<b{}", "(".repeat(2_046), ")".repeat(2_046))),
        "The expression has redundant parentheses;"
    );
    assert_eq!(
        refused(&format!("a < {}b{}", "f(".repeat(1_360), ")".repeat(1_360))),
        "Invalid function name; function: f"
    );
    assert!(refused(&format!("a < {}b{}", "size(".repeat(680), ")".repeat(680))).contains("operand type: N"));
    // Operands of IN.
    let list = |count: usize| format!("a IN ({})", vec!["b"; count].join(","));
    assert!(condition_with(&list(100), &Value::Null, &Value::Null).is_ok());
    assert_eq!(
        refused(&list(101)),
        "The IN operator is provided with too many operands; number of operands: 101"
    );
    // Elements of a path.
    let path = |elements: usize| format!("a{} = c", ".b".repeat(elements - 1));
    assert!(condition_with(&path(32), &Value::Null, &Value::Null).is_ok());
    assert_eq!(refused(&path(33)), "The document path has too many nesting levels; nesting levels: 33");
    // Functions count in updates.
    let deep = |calls: usize| format!("SET a = {}:v{}", "if_not_exists(b,".repeat(calls), ")".repeat(calls));
    let values = json!({":v": {"N": "1"}});
    assert_eq!(updated(&deep(200), &values, &Attributes::new()).unwrap(), json!({"a": {"N": "1"}}));
    let sums = |count: usize| {
        format!("SET {}", (0..count).map(|i| format!("x{i}=b+:v")).collect::<Vec<_>>().join(","))
    };
    assert!(update_with(&sums(300), &Value::Null, &values).is_ok());
    assert_eq!(update_refused(&sums(301), &Value::Null, &values), too_many);
}

#[test]
fn placeholders_are_checked_and_used() {
    let refused = |names: Value, values: Value| {
        let given = |json: Value| (!json.is_null()).then_some(json);
        Placeholders::from_json(given(names), given(values)).err().unwrap().message().to_owned()
    };
    let none = Value::Null;
    assert_eq!(refused(json!({}), none.clone()), "ExpressionAttributeNames must not be empty");
    assert_eq!(refused(none.clone(), json!({})), "ExpressionAttributeValues must not be empty");
    assert_eq!(
        refused(json!({"a": "a"}), json!({})),
        "ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\""
    );
    for key in ["#", "#a-b", "", "#ü"] {
        assert_eq!(
            refused(json!({key: "a"}), none.clone()),
            format!("ExpressionAttributeNames contains invalid key: Syntax error; key: \"{key}\"")
        );
    }
    assert_eq!(
        refused(none.clone(), json!({":ok": {"N": "b"}, "b": {"S": ""}})),
        "ExpressionAttributeValues contains invalid key: Syntax error; key: \"b\""
    );
    assert_eq!(
        refused(none.clone(), json!({":b": {}})),
        "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly one of \
         the supported datatypes for key :b"
    );
    assert_eq!(
        refused(none.clone(), json!({":b": {"SS": []}})),
        "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: An string set  may \
         not be empty for key :b"
    );
    assert_eq!(
        refused(json!({"#a": ""}), none.clone()),
        "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"
    );
    assert_eq!(refused(json!({"#a": 1}), none.clone()), "NUMBER_VALUE cannot be converted to String");
    assert_eq!(refused(json!("#a"), none.clone()), "Unexpected field type");
    assert_eq!(
        refused(json!(["#a"]), none.clone()),
        "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"
    );
    assert_eq!(refused(json!({}), json!({":a": 1})), "Unexpected value type in payload");
    let key = |sign: char, bytes: usize| format!("{sign}{}", "k".repeat(bytes - 1));
    assert!(
        Placeholders::from_json(Some(json!({key('#', 255): "a"})), Some(json!({key(':', 255): {"S": ""}})))
            .is_ok()
    );
    assert_eq!(
        refused(json!({key('#', 256): "a"}), none.clone()),
        "ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; size \
         of key: 256"
    );
    assert_eq!(
        refused(none.clone(), json!({key(':', 256): {"S": "a"}})),
        "ExpressionAttributeValues contains invalid key: The expression attribute map contains a key that is too long;"
    );
    let large = "x".repeat(2 * 1024 * 1024);
    assert_eq!(refused(json!({"#a": large}), none.clone()), "ExpressionAttributeNames exceeds max size");
    assert_eq!(
        refused(none.clone(), json!({":a": {"S": large}})),
        "ExpressionAttributeValues exceeds max size"
    );
    assert_eq!(
        refused(json!({"#a": "x".repeat(1 << 20)}), json!({":a": {"S": "x".repeat(1 << 20)}})),
        "Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max size"
    );
    let deep = (0..40).fold(json!({"S": "leaf"}), |value, _| json!({"L": [value]}));
    assert!(refused(none.clone(), json!({":a": deep})).starts_with("Nesting Levels have exceeded"));

    let mut unused =
        placeholders(&json!({"#b": "b", "#a": "a", "#c": "c"}), &json!({":b": {"N": "1"}, ":a": {"N": "1"}}));
    Condition::parse(ExpressionKind::Condition, "#c = :a OR d = :a", &mut unused).unwrap();
    assert_eq!(
        unused.check_used().unwrap_err().message(),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}"
    );
    Projection::parse("#a, #b", &mut unused).unwrap();
    assert_eq!(
        unused.check_used().unwrap_err().message(),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"
    );
    Update::parse("SET e = :b", &mut unused).unwrap();
    assert!(unused.check_used().is_ok());
    assert!(Placeholders::none().check_used().is_ok());
}

#[test]
fn the_two_interfaces_do_not_mix() {
    let check = |expressions: &[(&str, bool)], legacy: &[(&str, bool)], names, values| {
        Parameters { expressions, legacy, names, values }.check().map_err(|error| error.message().to_owned())
    };
    let update = [("UpdateExpression", true), ("ConditionExpression", true)];
    let no_update = [("UpdateExpression", false), ("ConditionExpression", false)];
    assert_eq!(
        check(&update, &[("AttributeUpdates", true), ("Expected", true)], false, false).unwrap_err(),
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: \
         {AttributeUpdates, Expected} Expression parameters: {UpdateExpression, ConditionExpression}"
    );
    assert_eq!(
        check(&no_update, &[], true, true).unwrap_err(),
        "ExpressionAttributeNames can only be specified when using expressions"
    );
    assert_eq!(
        check(&no_update, &[("Expected", true)], false, true).unwrap_err(),
        "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression \
         are null"
    );
    assert_eq!(
        check(&[("ProjectionExpression", true), ("FilterExpression", false)], &[], true, true).unwrap_err(),
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"
    );
    let query =
        [("ProjectionExpression", true), ("FilterExpression", true), ("KeyConditionExpression", false)];
    assert!(check(&query, &[("AttributesToGet", false), ("KeyConditions", true)], true, true).is_ok());
    let query =
        [("ProjectionExpression", false), ("FilterExpression", false), ("KeyConditionExpression", true)];
    assert!(check(&query, &[("KeyConditions", true)], false, false).is_err());
    assert!(check(&[("ProjectionExpression", true)], &[], true, false).is_ok());
    assert!(check(&no_update, &[("AttributeUpdates", true)], false, false).is_ok());
}
