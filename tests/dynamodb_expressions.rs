//! Expressions of DynamoDB: the developer guide's own examples, every refusal in its order, and properties of the parser,
//! of updates and of key conditions.

use hotplate::dynamodb::expression::syntax::{
    self, Call, Comparator, Element, Operand, Path, Section, SetValue,
};
use hotplate::dynamodb::expression::{
    Condition, ExpressionKind, Parameters, Placeholders, Projection, Update, parse_condition,
    parse_projection, parse_update,
};
use hotplate::dynamodb::{
    AttributeValue, Attributes, FilterKind, KeyAttribute, KeyCondition, KeyRange, KeySchema, KeyType, Result,
    ServiceError, sort_key,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::ops::{Bound, RangeBounds};

fn attributes(json: Value) -> Attributes {
    Attributes::from_json(json).unwrap()
}

fn placeholders(names: &Value, values: &Value) -> Placeholders {
    let given = |json: &Value| (!json.is_null()).then(|| json.clone());
    Placeholders::from_json(given(names), given(values)).unwrap()
}

fn condition_with(text: &str, names: &Value, values: &Value) -> Result<Condition> {
    Condition::parse(ExpressionKind::Filter, text, &mut placeholders(names, values))
}

fn holds(text: &str, values: &Value, item: &Attributes) -> bool {
    condition_with(text, &Value::Null, values).unwrap_or_else(|error| panic!("{text}: {error}")).holds(item)
}

fn refused(text: &str, names: &Value, values: &Value) -> String {
    let error = condition_with(text, names, values).expect_err(text);
    error.message().strip_prefix("Invalid FilterExpression: ").expect("the prefix").to_owned()
}

fn update_with(text: &str, names: &Value, values: &Value) -> Result<Update> {
    Update::parse(text, &mut placeholders(names, values))
}

fn update_refused(text: &str, names: &Value, values: &Value) -> String {
    let error = update_with(text, names, values).expect_err(text);
    error.message().strip_prefix("Invalid UpdateExpression: ").expect("the prefix").to_owned()
}

fn updated(text: &str, values: &Value, item: &Attributes) -> Result<Value> {
    Ok(update_with(text, &Value::Null, values)?.apply(Some(item), &Attributes::new())?.to_json())
}

/// The product that the developer guide's chapters on expressions are about.
fn product() -> Attributes {
    attributes(json!({
        "Id": {"N": "123"},
        "Title": {"S": "Bicycle 123"},
        "Description": {"S": "123 description"},
        "BicycleType": {"S": "Hybrid"},
        "Brand": {"S": "Brand-Company C"},
        "Price": {"N": "500"},
        "Color": {"L": [{"S": "Red"}, {"S": "Black"}]},
        "ProductCategory": {"S": "Bicycle"},
        "InStock": {"BOOL": true},
        "QuantityOnHand": {"NULL": true},
        "RelatedItems": {"L": [{"N": "341"}, {"N": "472"}, {"N": "649"}]},
        "Pictures": {"M": {
            "FrontView": {"S": "http://example.com/products/123_front.jpg"},
            "RearView": {"S": "http://example.com/products/123_rear.jpg"}
        }},
        "ProductReviews": {"M": {
            "FiveStar": {"L": [{"S": "Excellent! Can't recommend it highly enough! Buy it!"}, {"S": "Do yourself a favor and buy this."}]},
            "OneStar": {"L": [{"S": "Terrible product! Do not buy this."}]}
        }},
        "Comment": {"S": "This product sells out quickly during the summer"},
        "Safety.Warning": {"S": "Always wear a helmet"}
    }))
}

#[test]
fn the_guides_conditions() {
    let item = product();
    let values = json!({
        ":cat1": {"S": "Sporting Goods"}, ":cat2": {"S": "Bicycle"}, ":lo": {"N": "500"}, ":hi": {"N": "600"},
        ":sub": {"S": "http://"}, ":s": {"S": "S"}, ":l": {"S": "L"}, ":red": {"S": "Red"}, ":n": {"N": "2"},
        ":p": {"N": "500.00"}
    });
    for (text, expected) in [
        ("(ProductCategory IN (:cat1, :cat2)) and (Price between :lo and :hi)", true),
        ("attribute_exists (Pictures.RearView)", true),
        ("attribute_not_exists (ProductReviews.OneStar)", false),
        ("attribute_exists (ProductReviews.TwoStar)", false),
        ("attribute_type (ProductReviews.FiveStar, :l)", true),
        ("attribute_type (Title, :l)", false),
        ("begins_with (Pictures.FrontView, :sub)", true),
        ("contains (Color, :red)", true),
        ("contains (Title, :red)", false),
        ("size (Color) = :n", true),
        ("size(ProductReviews.OneStar) >= :n", false),
        ("Price = :p", true),
        ("NOT Price > :lo OR Price > :hi AND Price < :lo", true),
        ("Price <= :lo", true),
        ("Missing <> :lo", true),
        ("Missing = :lo", false),
        ("NOT Missing < :lo", true),
        ("Missing = Absent", false),
        ("Missing <> Absent", true),
        ("Price > Title", false),
        ("Id < Price", true),
        ("RelatedItems[1] < Price", true),
        ("RelatedItems[9] < Price", false),
        ("(RelatedItems)[1] < Price", true),
        ("not(not(Id<Price))", true),
        ("Price BETWEEN Id AND RelatedItems[2]", true),
        ("Missing IN (:lo, Absent)", false),
        ("size(Price) = :n", false),
        ("attribute_type(:lo, :s)", false),
    ] {
        let names = Value::Null;
        let mut used = placeholders(&names, &values);
        let condition = Condition::parse(ExpressionKind::Condition, text, &mut used).unwrap();
        assert_eq!(condition.holds(&item), expected, "{text}");
    }
    let warning = condition_with(
        "#sw = :w",
        &json!({"#sw": "Safety.Warning"}),
        &json!({":w": {"S": "Always wear a helmet"}}),
    );
    assert!(warning.unwrap().holds(&item));
}

#[test]
fn values_of_all_types_are_compared() {
    let item = attributes(json!({
        "b": {"B": "AAEC"}, "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["AAE=", "/w=="]},
        "l": {"L": [{"N": "1"}, {"SS": ["x"]}, {"L": []}]}, "m": {"M": {"k": {"S": "v"}}}, "s": {"S": "é𝄞"}, "z": {"NULL": true}
    }));
    for (text, value, expected) in [
        ("ss = :v", json!({"SS": ["b", "a"]}), true),
        ("ns = :v", json!({"NS": ["2.0", "1"]}), true),
        ("m = :v", json!({"M": {"k": {"S": "v"}}}), true),
        ("l <> :v", json!({"L": []}), true),
        ("z = :v", json!({"NULL": true}), true),
        ("contains(ss, :v)", json!({"S": "a"}), true),
        ("contains(ns, :v)", json!({"N": "1.0"}), true),
        ("contains(ns, :v)", json!({"S": "1"}), false),
        ("contains(bs, :v)", json!({"B": "/w=="}), true),
        ("contains(l, :v)", json!({"SS": ["x"]}), true),
        ("contains(l, :v)", json!({"L": []}), true),
        ("contains(l, :v)", json!({"N": "2"}), false),
        ("contains(b, :v)", json!({"B": "AQI="}), true),
        ("contains(b, :v)", json!({"B": "AgE="}), false),
        ("begins_with(b, :v)", json!({"B": "AAE="}), true),
        ("begins_with(l, :v)", json!({"S": "1"}), false),
        ("b < :v", json!({"B": "gA=="}), true),
        // UTF-16 code units: one and a surrogate pair.
        ("size(s) = :v", json!({"N": "3"}), true),
        ("size(b) = :v", json!({"N": "3"}), true),
        ("size(m) = :v", json!({"N": "1"}), true),
        ("size(ss) = :v", json!({"N": "2"}), true),
        ("size(z) = :v", json!({"N": "1"}), false),
    ] {
        assert_eq!(holds(text, &json!({":v": value}), &item), expected, "{text}");
    }
}

#[test]
fn text_that_is_no_condition_is_refused_where_it_goes_wrong() {
    for (text, token, near) in [
        // Answers of the service, quoted in bug reports.
        ("foo", "<EOF>", "foo"),
        ("a-b", "-", "a-b"),
        (":hashId a", "a", ":hashId a"),
        ("", "", ""),
        // The same rule on other texts.
        ("a > 4", "4", "> 4"),
        ("s == :v", "=", "== :v"),
        ("a = :v AND", "<EOF>", "AND"),
        ("a = b c", "c", "b c"),
        ("a b = c", "b", "a b ="),
        ("attribute_exists(a..b)", ".", "..b"),
        ("attribute_exists(\"a\")", "\"", "(\"a"),
        ("a[b] = c", "b", "[b]"),
        ("a[:b] = c", ":b", "[:b]"),
        ("a[0x] = c", "x", "0x]"),
        ("a[007] = c", "0", "007"),
        ("a in b, c", "b", "in b,"),
        ("a in ()", ")", "()"),
        ("a in (b,c,)", ")", ",)"),
        ("a between b or c", "or", "b or c"),
        ("a > between", "between", "> between"),
        ("a = b)", ")", "b)"),
        ("(a = b", "<EOF>", "b"),
        ("(a AND b = c)", "AND", "a AND b"),
        ("(a = b AND c)", ")", "c)"),
        ("NOT a", "<EOF>", "a"),
        ("_a = b", "_", "_a"),
        ("ü = a", "ü", "ü ="),
        ("a = _b", "_", "= _b"),
        (":v.a = b", ".", ":v.a"),
        ("size(a).b = c", ".", ").b"),
        ("(size(a)).b = c", ".", ").b"),
        ("a = #", "#", "= #"),
        ("a + b = c", "+", "a + b"),
        ("a = b = c", "=", "b = c"),
        ("(a = b) = c", "=", ") = c"),
        ("f() = a", ")", "f()".split_at(1).1),
        ("a = :v\tAND\n", "<EOF>", "AND\n"),
        ("SET a = b", "SET", "SET a"),
        ("a = add", "add", "= add"),
    ] {
        if text.is_empty() {
            assert_eq!(refused(text, &Value::Null, &Value::Null), "The expression can not be empty;");
            continue;
        }
        assert_eq!(
            refused(text, &Value::Null, &Value::Null),
            format!("Syntax error; token: \"{token}\", near: \"{near}\""),
            "{text}"
        );
    }
}

#[test]
fn parentheses_around_parentheses_are_redundant() {
    for text in [
        "((a = b))",
        "a = ((b))",
        "((a)) = b",
        "f(a, ((b)))",
        "a = b AND ((c = d AND e = f))",
        "NOT ((a = b))",
        "((size(a))) > b",
        "((attribute_exists(a)))",
        "((a)).b = c",
        // Known before what comes later is read.
        "((a = b)) nonsense",
    ] {
        assert_eq!(
            refused(text, &Value::Null, &Value::Null),
            "The expression has redundant parentheses;",
            "{text}"
        );
    }
    for text in
        ["(a = b)", "((a = b) AND (c = d))", "(a) = (b)", "(NOT (a = b))", "((a = b) OR c = d)", "(a).b = c"]
    {
        assert!(parse_condition(text, ExpressionKind::Condition).is_ok(), "{text}");
    }
}

#[test]
fn conditions_that_cannot_be_are_refused() {
    let names = json!({"#a": "a", "#n": "status"});
    let of_type = |operator: &str, kind: &str| {
        format!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
        )
    };
    let misused = |function: &str| {
        format!("The function is not allowed to be used this way in an expression; function: {function}")
    };
    let count = |function: &str, count: usize| {
        format!(
            "Incorrect number of operands for operator or function; operator or function: {function}, number of \
             operands: {count}"
        )
    };
    let distinct = |operator: &str, path: &str| {
        format!(
            "The first operand must be distinct from the remaining operands for this operator or function; operator: \
             {operator}, first operand: {path}"
        )
    };
    let reserved = |word: &str| format!("Attribute name is a reserved keyword; reserved keyword: {word}");
    let name = |name: &str| {
        format!(
            "An expression attribute name used in the document path is not defined; attribute name: {name}"
        )
    };
    let value = |value: &str| {
        format!("An expression attribute value used in expression is not defined; attribute value: {value}")
    };
    let none = json!({"N": "1"});
    for (text, v, message) in [
        // Words of the whole expression come before anything else.
        ("a = :w AND nope(a)", &none, "Invalid function name; function: nope".to_owned()),
        ("Attribute_Exists(a)", &none, "Invalid function name; function: Attribute_Exists".to_owned()),
        ("status = :w AND nope(a)", &none, "Invalid function name; function: nope".to_owned()),
        ("size(a)", &none, misused("size")),
        ("a = contains(b, c)", &none, misused("contains")),
        ("size(contains(a, b)) > c", &none, misused("contains")),
        ("a BETWEEN b AND attribute_exists(status)", &none, misused("attribute_exists")),
        ("a IN (b, begins_with(c, d))", &none, misused("begins_with")),
        (
            "if_not_exists(a, b) = c",
            &none,
            "The function is not allowed in a condition expression; function: if_not_exists".to_owned(),
        ),
        ("#x = :w AND Status = :v", &none, reserved("Status")),
        ("a.b.name = :v", &none, reserved("name")),
        ("attribute_exists(data, #x)", &none, reserved("data")),
        (
            "a[2147483648] = :v",
            &none,
            "List index is not within the allowable range; index: [2147483648]".to_owned(),
        ),
        // Then one comparison or function after the other: placeholders first.
        ("#x = :w", &none, name("#x")),
        (":w = #x", &none, value(":w")),
        ("a = a AND #x = :w", &none, distinct("=", "[a]")),
        ("attribute_exists(a.#x, :w)", &none, name("#x")),
        ("begins_with(:w, #x, #y)", &none, value(":w")),
        // Then how many operands.
        ("attribute_exists(a, a)", &none, count("attribute_exists", 2)),
        ("attribute_type(a)", &none, count("attribute_type", 1)),
        ("begins_with(a, :v, b)", &none, count("begins_with", 3)),
        ("size(a, a) > b", &none, count("size", 2)),
        // Then whether they differ.
        ("a < #a", &none, distinct("<", "[a]")),
        ("contains(b[1].#a, b[1].a)", &none, distinct("contains", "[b, [1], a]")),
        ("begins_with(a, a)", &none, distinct("begins_with", "[a]")),
        ("a BETWEEN b AND a", &none, distinct("BETWEEN", "[a]")),
        ("a IN (b, a)", &none, distinct("IN", "[a]")),
        // Then their types.
        ("begins_with(a, :v)", &none, of_type("begins_with", "N")),
        ("begins_with(:v, a)", &json!({"NULL": true}), of_type("begins_with", "NULL")),
        ("begins_with(a, size(b))", &none, of_type("begins_with", "N")),
        ("size(:v) > a", &json!({"BOOL": true}), of_type("size", "BOOL")),
        ("size(size(a)) > b", &none, of_type("size", "N")),
        ("a < :v", &json!({"L": []}), of_type("<", "L")),
        (":v >= a", &json!({"SS": ["a"]}), of_type(">=", "SS")),
        ("a BETWEEN :v AND b", &json!({"M": {}}), of_type("BETWEEN", "M")),
        ("attribute_type(a, :v)", &none, of_type("attribute_type", "N")),
        ("attribute_type(a, size(b))", &none, of_type("attribute_type", "N")),
        ("attribute_type(a, b)", &none, of_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")),
        (
            "attribute_type(a, :v)",
            &json!({"S": "X"}),
            "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
                .to_owned(),
        ),
        (
            "attribute_exists(:v)",
            &none,
            "Operator or function requires a document path; operator or function: attribute_exists"
                .to_owned(),
        ),
        ("attribute_not_exists(size(:v))", &none, of_type("size", "N")),
        (
            "attribute_not_exists(size(a))",
            &none,
            "Operator or function requires a document path; operator or function: attribute_not_exists"
                .to_owned(),
        ),
    ] {
        assert_eq!(refused(text, &names, &json!({":v": v})), message, "{text}");
    }
}

#[test]
fn bounds_must_be_in_order() {
    let between = |low: Value, high: Value| {
        refused("a BETWEEN :l AND :h", &Value::Null, &json!({":l": low, ":h": high}))
    };
    assert_eq!(
        between(json!({"N": "1"}), json!({"S": "a"})),
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: \
         {N:1}, upper bound operand: AttributeValue: {S:a}"
    );
    assert_eq!(
        between(json!({"S": "b"}), json!({"S": "a"})),
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: \
         AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}"
    );
    assert!(
        between(json!({"B": "gA=="}), json!({"B": "AA=="}))
            .contains("{B:java.nio.HeapByteBuffer[pos=0 lim=1 cap=1]}")
    );
    assert!(condition_with("a BETWEEN :l AND b", &Value::Null, &json!({":l": {"N": "9"}})).is_ok());
}

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
    assert_eq!(
        update_refused(&deep(238), &Value::Null, &values),
        update_refused(&deep(237), &Value::Null, &values)
    );
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

#[test]
fn the_guides_projections() {
    let projected =
        |text: &str| Projection::parse(text, &mut Placeholders::none()).unwrap().apply(&product()).to_json();
    assert_eq!(projected("Description"), json!({"Description": {"S": "123 description"}}));
    assert_eq!(
        projected("Price, Color, Missing"),
        json!({"Price": {"N": "500"}, "Color": {"L": [{"S": "Red"}, {"S": "Black"}]}})
    );
    assert_eq!(
        projected("RelatedItems[0], Pictures.RearView, ProductReviews.FiveStar[0]"),
        json!({
            "RelatedItems": {"L": [{"N": "341"}]},
            "Pictures": {"M": {"RearView": {"S": "http://example.com/products/123_rear.jpg"}}},
            "ProductReviews": {"M": {"FiveStar": {"L": [{"S": "Excellent! Can't recommend it highly enough! Buy it!"}]}}}
        })
    );
    assert_eq!(
        projected("RelatedItems[2], RelatedItems[0], RelatedItems[7]"),
        json!({"RelatedItems": {"L": [{"N": "341"}, {"N": "649"}]}})
    );
    assert_eq!(projected("Pictures.TopView, Title[0], Title.x"), json!({}));
    let mut names = placeholders(&json!({"#pr": "ProductReviews", "#1star": "OneStar"}), &Value::Null);
    let projection = Projection::parse("#pr.#1star", &mut names).unwrap();
    assert_eq!(projection.apply(&product()).len(), 1);
    assert_eq!(projection.paths()[0].to_string(), "[ProductReviews, OneStar]");
}

#[test]
fn projections_that_cannot_be_are_refused() {
    let refused = |text: &str| {
        let error = Projection::parse(text, &mut Placeholders::none()).expect_err(text);
        error.message().strip_prefix("Invalid ProjectionExpression: ").expect("the prefix").to_owned()
    };
    // Captured by the public conformance suite.
    assert_eq!(refused("!!! INVALID !!!"), "Syntax error; token: \"!\", near: \"!!\"");
    assert_eq!(refused(""), "The expression can not be empty;");
    assert_eq!(refused("a b"), "Syntax error; token: \"b\", near: \"a b\"");
    assert_eq!(refused("a,"), "Syntax error; token: \"<EOF>\", near: \",\"");
    assert_eq!(refused("pk, status"), "Attribute name is a reserved keyword; reserved keyword: status");
    assert_eq!(
        refused("#x, a, a"),
        "An expression attribute name used in the document path is not defined; attribute name: #x"
    );
    let two = "must remove or rewrite one of these paths; path one:";
    assert_eq!(
        refused("b, a.b[1], a.b"),
        format!("Two document paths overlap with each other; {two} [a, b, [1]], path two: [a, b]")
    );
    assert_eq!(
        refused("a.b, a[0]"),
        format!("Two document paths conflict with each other; {two} [a, b], path two: [a, [0]]")
    );
    let deep = format!("a{}", ".b".repeat(32));
    assert_eq!(refused(&deep), "The document path has too many nesting levels; nesting levels: 33");
}

/// The developer guide, "Update expressions": item 789, one update after the other.
#[test]
fn the_guides_updates() {
    let mut item = attributes(json!({
        "Id": {"N": "789"}, "ProductCategory": {"S": "Home Improvement"}, "Price": {"N": "52"}, "InStock": {"BOOL": true},
        "Brand": {"S": "Acme"}
    }));
    let mut apply = |text: &str, names: Value, values: Value| {
        let update = update_with(text, &names, &values).unwrap();
        item = update.apply(Some(&item), &Attributes::new()).unwrap();
        item.to_json()
    };
    let none = Value::Null;
    apply(
        "SET RelatedItems = :ri, ProductReviews = :pr",
        none.clone(),
        json!({
            ":ri": {"L": [{"S": "Hammer"}]},
            ":pr": {"M": {"FiveStar": {"L": [{"S": "Best product ever!"}]}}}
        }),
    );
    apply("SET RelatedItems[1] = :ri", none.clone(), json!({":ri": {"S": "Nails"}}));
    apply(
        "SET #pr.#5star[1] = :r5, #pr.#3star = :r3",
        json!({"#pr": "ProductReviews", "#5star": "FiveStar", "#3star": "ThreeStar"}),
        json!({
            ":r5": {"S": "Very happy with my purchase"},
            ":r3": {"L": [{"S": "Just OK - not that great"}]}
        }),
    );
    apply("SET Price = Price - :p", none.clone(), json!({":p": {"N": "15"}}));
    apply(
        "SET #ri = list_append(#ri, :vals)",
        json!({"#ri": "RelatedItems"}),
        json!({":vals": {"L": [{"S": "Screwdriver"}, {"S": "Hacksaw"}]}}),
    );
    apply(
        "SET #ri = list_append(:vals, #ri)",
        json!({"#ri": "RelatedItems"}),
        json!({":vals": {"L": [{"S": "Chisel"}]}}),
    );
    apply("SET Price = if_not_exists(Price, :p)", none.clone(), json!({":p": {"N": "100"}}));
    apply("REMOVE Brand, InStock, QuantityOnHand", none.clone(), none.clone());
    apply("REMOVE RelatedItems[1], RelatedItems[2]", none.clone(), none.clone());
    apply("ADD QuantityOnHand :q", none.clone(), json!({":q": {"N": "5"}}));
    apply("ADD QuantityOnHand :q", none.clone(), json!({":q": {"N": "5"}}));
    apply("ADD Color :c", none.clone(), json!({":c": {"SS": ["Orange", "Purple"]}}));
    apply("ADD Color :c", none.clone(), json!({":c": {"SS": ["Yellow", "Green", "Blue", "Orange"]}}));
    let after = apply("DELETE Color :p", none.clone(), json!({":p": {"SS": ["Yellow", "Purple"]}}));
    assert_eq!(
        after,
        json!({
            "Id": {"N": "789"},
            "ProductCategory": {"S": "Home Improvement"},
            "Price": {"N": "37"},
            "RelatedItems": {"L": [{"S": "Chisel"}, {"S": "Screwdriver"}, {"S": "Hacksaw"}]},
            "ProductReviews": {"M": {
                "FiveStar": {"L": [{"S": "Best product ever!"}, {"S": "Very happy with my purchase"}]},
                "ThreeStar": {"L": [{"S": "Just OK - not that great"}]}
            }},
            "QuantityOnHand": {"N": "10"},
            "Color": {"SS": ["Blue", "Green", "Orange"]}
        })
    );
    let after = apply(
        "DELETE Color :p SET Price = :q",
        none.clone(),
        json!({":p": after["Color"], ":q": {"N": "1"}}),
    );
    assert_eq!(after.get("Color"), None, "a set without members is no attribute");
}

/// Behaviour that ScyllaDB's `test_update_expression.py` found of the service.
#[test]
fn updates_work_on_the_item_as_it_was() {
    let values = json!({":v": {"N": "17"}, ":w": {"N": "18"}, ":x": {"N": "19"}});
    let list = |numbers: &[u64]| json!({"L": numbers.iter().map(|n| json!({"N": n.to_string()})).collect::<Vec<_>>()});
    let item = attributes(json!({"a": list(&[2, 3, 4, 5, 6, 7]), "s": {"S": "x"}}));
    for (text, expected) in [
        ("REMOVE a[1] SET a[3] = :v", &[2, 4, 17, 6, 7][..]),
        ("SET a[3] = :v REMOVE a[1]", &[2, 4, 17, 6, 7]),
        ("SET a[84] = :v, a[37] = :w, a[50] = :x", &[2, 3, 4, 5, 6, 7, 18, 19, 17]),
        ("REMOVE a[17], a[0], a[5]", &[3, 4, 5, 6]),
        ("ADD a[0] :v, a[9] :w", &[19, 3, 4, 5, 6, 7, 18]),
    ] {
        assert_eq!(updated(text, &values, &item).unwrap()["a"], list(expected), "{text}");
    }
    assert_eq!(updated("REMOVE s SET t = s", &Value::Null, &item).unwrap()["t"], json!({"S": "x"}));
    assert_eq!(updated("REMOVE s SET t = s", &Value::Null, &item).unwrap().get("s"), None);
    assert_eq!(updated("SET s = s", &Value::Null, &item).unwrap(), item.to_json());
    assert_eq!(updated("DELETE nothing :t", &json!({":t": {"SS": ["a"]}}), &item).unwrap(), item.to_json());
    let copied = attributes(json!({"m": {"M": {"k": {"L": [{"N": "1"}]}, "l": {"N": "1"}}}}));
    assert_eq!(
        updated("SET m.k[0] = m.l, m.n = m.k REMOVE m.l", &Value::Null, &copied).unwrap(),
        json!({"m": {"M": {"k": {"L": [{"N": "1"}]}, "n": {"L": [{"N": "1"}]}}}})
    );
    let singles = attributes(json!({"m": {"M": {"b": {"N": "1"}}}, "l": {"L": [{"N": "1"}]}}));
    assert_eq!(
        updated("REMOVE m.b, l[0]", &Value::Null, &singles).unwrap(),
        json!({"m": {"M": {}}, "l": {"L": []}})
    );
    // Without an item a path into nothing is no mistake for REMOVE, and its key is what it begins with.
    let update = update_with("REMOVE x.y SET b = pk", &Value::Null, &Value::Null).unwrap();
    let key = attributes(json!({"pk": {"S": "k"}}));
    assert_eq!(update.apply(None, &key).unwrap().to_json(), json!({"pk": {"S": "k"}, "b": {"S": "k"}}));
}

#[test]
fn updates_that_do_not_fit_the_item_are_refused() {
    let item = attributes(json!({
        "s": {"S": "x"}, "n": {"N": "9e125"}, "l": {"L": []}, "m": {"M": {}}, "ss": {"SS": ["a"]}, "tiny": {"N": "1E-130"}
    }));
    let values = json!({
        ":n": {"N": "9e125"}, ":ss": {"SS": ["a"]}, ":ns": {"NS": ["1"]}, ":l": {"L": []}, ":t": {"N": "1.1E-130"},
        ":one": {"N": "1"}
    });
    let path = "The document path provided in the update expression is invalid for update";
    let kind = "An operand in the update expression has an incorrect data type";
    let missing = "The provided expression refers to an attribute that does not exist in the item";
    for (text, message) in [
        ("SET s.a = :n", path),
        ("SET l.a = :n", path),
        ("SET z.a = :n", path),
        ("SET m.a.b = :n", path),
        ("SET s[0] = :n", path),
        ("SET m[0] = :n", path),
        ("REMOVE s.a", path),
        ("REMOVE z.a", path),
        ("REMOVE z[0]", path),
        ("ADD s :n", kind),
        ("ADD ss :ns", kind),
        ("ADD l :ss", kind),
        ("DELETE ss :ns", kind),
        ("DELETE s :ss", kind),
        ("SET a = s + :n", kind),
        ("SET a = :n - s", kind),
        ("SET a = list_append(s, :l)", kind),
        ("SET a = list_append(:l, if_not_exists(s, :l))", kind),
        ("SET a = z", missing),
        ("SET a = z + :n", missing),
        ("SET a = list_append(:l, z)", missing),
        ("SET a = if_not_exists(z, y)", missing),
        ("SET a = :n, b = a", missing),
        // A wrong type wins over what is missing, and that over what a later section cannot reach.
        ("SET a = z, b = s + :n", kind),
        ("SET a = z REMOVE y.x", path),
        ("SET y.x = :n REMOVE q.r", path),
        (
            "ADD n :n",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "SET a = n + :n",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "SET a = n - :one",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "SET a = tiny - :t",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
    ] {
        let error = updated(text, &values, &item).expect_err(text);
        assert_eq!(error, ServiceError::validation(message), "{text}");
    }
    // What an update puts together may be too deep though its parts are not.
    let nested =
        |levels: usize| (0..levels).fold(json!({"S": "leaf"}), |value, _| json!({"M": {"n": value}}));
    let holder = attributes(json!({"a": nested(20)}));
    let deep = |path: &str, levels: usize| {
        updated(&format!("SET {path} = :v"), &json!({":v": nested(levels)}), &holder)
    };
    assert!(deep("a.n.n.n.n.n.n.n.n.n.n", 21).is_ok());
    assert!(deep("a.n.n.n.n.n.n.n.n.n.n", 22).unwrap_err().message().starts_with("Nesting Levels"));
}

#[test]
fn updates_that_cannot_be_are_refused() {
    let names = json!({"#a": "a", "#3": "[3]"});
    let values = json!({":s": {"S": "a"}, ":n": {"N": "1"}, ":l": {"L": []}, ":ss": {"SS": ["a"]}});
    let of_type = |operator: &str, kind: &str| {
        format!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
        )
    };
    let section_type = |operator: &str, kind: &str| {
        format!(
            "Incorrect operand type for operator or function; operator: {operator}, operand type: {kind}, typeSet: \
             ALLOWED_FOR_{operator}_OPERAND"
        )
    };
    let clash = |verb: &str, one: &str, two: &str| {
        format!(
            "Two document paths {verb} with each other; must remove or rewrite one of these paths; path one: {one}, path \
             two: {two}"
        )
    };
    let once =
        |section: &str| format!("The \"{section}\" section can only be used once in an update expression;");
    let syntax = |token: &str, near: &str| format!("Syntax error; token: \"{token}\", near: \"{near}\"");
    let count = |function: &str, count: usize| {
        format!(
            "Incorrect number of operands for operator or function; operator or function: {function}, number of \
             operands: {count}"
        )
    };
    for (text, message) in [
        // Answers of the service, quoted in bug reports and by the public conformance suite.
        ("INVALID SYNTAX HERE", syntax("INVALID", "INVALID SYNTAX")),
        ("ADD hits : incr", syntax(":", "hits : incr")),
        ("SET a = VALUE 1", syntax("1", "VALUE 1")),
        ("SET _123 = :n", syntax("_", "SET _123")),
        ("REMOVE a, #, b", syntax("#", ", #,")),
        ("", "The expression can not be empty;".to_owned()),
        ("SET", syntax("<EOF>", "SET")),
        ("SET a = b +", syntax("<EOF>", "+")),
        ("SET a = :n + :n + :n", syntax("+", ":n + :n")),
        ("SET a = if_not_exists(a, :n + :n)", syntax("+", ":n + :n")),
        ("SET a :n", syntax(":n", "a :n")),
        ("SET :n = a", syntax(":n", "SET :n =")),
        ("SET a = :n, SET b = :n", syntax("SET", ", SET b")),
        ("ADD a b", syntax("b", "a b")),
        ("SET a = ((b))", "The expression has redundant parentheses;".to_owned()),
        // The words of the whole expression.
        (
            "SET #x = :x, status = nope(a)",
            "Attribute name is a reserved keyword; reserved keyword: status".to_owned(),
        ),
        ("SET a = nope(:x) SET b = c", "Invalid function name; function: nope".to_owned()),
        ("SET a = size(b)", "The function is not allowed in an update expression; function: size".to_owned()),
        (
            "SET a = list_append(list_append(:l, :l), :l)",
            "The function is not allowed to be used this way in an expression; function: list_append"
                .to_owned(),
        ),
        (
            "REMOVE a[99999999999]",
            "List index is not within the allowable range; index: [99999999999]".to_owned(),
        ),
        // Sections, then names, then values, then paths, then operands.
        ("SET a = #x SET b = :x", once("SET")),
        ("ADD a :n SET b = :x ADD c :n", once("ADD")),
        ("DELETE a :x REMOVE b DELETE c :n", once("DELETE")),
        (
            "SET a = :x, a = #x",
            "An expression attribute name used in the document path is not defined; attribute name: #x"
                .to_owned(),
        ),
        (
            "SET a = :x, a = b",
            "An expression attribute value used in expression is not defined; attribute value: :x".to_owned(),
        ),
        ("SET a = if_not_exists(b) REMOVE #a", clash("overlap", "[a]", "[a]")),
        ("SET d[1] = b, d.b = c, c[1].a = b, c = if_not_exists(b)", clash("overlap", "[c, [1], a]", "[c]")),
        ("SET a[3].#3 = b, a[3] = c", clash("overlap", "[a, [3], [3]]", "[a, [3]]")),
        ("REMOVE a.b SET a[1] = c", clash("conflict", "[a, b]", "[a, [1]]")),
        ("SET b = list_append(:s, a) ADD a.b :s", section_type("ADD", "STRING")),
        ("ADD a :l", section_type("ADD", "LIST")),
        ("DELETE a :n", section_type("DELETE", "NUMBER")),
        ("SET a = if_not_exists(b)", count("if_not_exists", 1)),
        ("SET a = list_append(b, :l, :l)", count("list_append", 3)),
        ("SET a = list_append(:s, b)", of_type("list_append", "S")),
        ("SET a = b + :s", of_type("+", "S")),
        ("SET a = :ss - b", of_type("-", "SS")),
        (
            "SET a = if_not_exists(:n, b)",
            "Operator or function requires a document path; operator or function: if_not_exists".to_owned(),
        ),
        (
            "SET a = if_not_exists(if_not_exists(a, b), :s) + :s",
            "Operator or function requires a document path; operator or function: if_not_exists".to_owned(),
        ),
    ] {
        assert_eq!(update_refused(text, &names, &values), message, "{text}");
    }
    for text in [
        "  sEt a=:n ",
        "SET a = (b + :n)",
        "SET a = ((b) - (:n))",
        "SET a = (:n)",
        "SET a = if_not_exists(a, :n)+:n",
    ] {
        assert!(update_with(text, &names, &values).is_ok(), "{text}");
    }
}

fn schema(sort: KeyType) -> KeySchema {
    KeySchema::composite(KeyAttribute::new("pk", KeyType::S), KeyAttribute::new("sk", sort))
}

#[test]
fn updates_leave_the_key_alone() {
    let update =
        update_with("SET a = :v REMOVE sk.b ADD pk :v", &Value::Null, &json!({":v": {"N": "1"}})).unwrap();
    assert_eq!(
        schema(KeyType::S).check_updated(update.heads()).unwrap_err().message(),
        "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"
    );
    let nested = |paths: Vec<&hotplate::dynamodb::expression::DocumentPath>| -> Vec<String> {
        paths.into_iter().filter(|path| path.is_nested()).map(|path| path.head().to_owned()).collect()
    };
    let nested = nested(update.paths());
    assert_eq!(
        schema(KeyType::S).check_nested(nested.iter().map(String::as_str), false).unwrap_err().message(),
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: sk"
    );
    assert!(
        schema(KeyType::S)
            .check_nested(nested.iter().map(String::as_str), true)
            .unwrap_err()
            .message()
            .ends_with("IndexKey: sk")
    );
    let filter = condition_with("a = b AND size(sk) > b", &Value::Null, &Value::Null).unwrap();
    let heads = filter.paths().into_iter().map(|path| path.head());
    assert_eq!(
        schema(KeyType::S).check_filtered(heads.clone(), FilterKind::Expression).unwrap_err().message(),
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    );
    assert!(
        schema(KeyType::S)
            .check_filtered(heads, FilterKind::Legacy)
            .unwrap_err()
            .message()
            .starts_with("QueryFilter can")
    );
    assert!(schema(KeyType::S).check_updated(["a", "b"]).is_ok());
}

#[test]
fn an_update_answers_what_it_touched() {
    let item =
        attributes(json!({"a": {"M": {"b": {"N": "1"}, "c": {"N": "2"}}}, "d": {"N": "3"}, "e": {"N": "4"}}));
    let update =
        update_with("SET a.b = :v, f = :v REMOVE d", &Value::Null, &json!({":v": {"N": "9"}})).unwrap();
    let after = update.apply(Some(&item), &Attributes::new()).unwrap();
    assert_eq!(update.updated(&item).to_json(), json!({"a": {"M": {"b": {"N": "1"}}}, "d": {"N": "3"}}));
    assert_eq!(update.updated(&after).to_json(), json!({"a": {"M": {"b": {"N": "9"}}}, "f": {"N": "9"}}));
}

fn key_range(text: &str, values: &Value, schema: &KeySchema) -> Result<KeyRange> {
    let mut placeholders = placeholders(&Value::Null, values);
    let condition = KeyCondition::parse(text, &mut placeholders)?;
    placeholders.check_used()?;
    KeyCondition::of(&condition)?.on(schema)
}

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

fn word() -> impl Strategy<Value = String> {
    // Of these letters no word of the grammar is made.
    "[abcxyz][abcxyz0-9_]{0,3}"
}

fn path() -> impl Strategy<Value = Path> {
    let first = prop_oneof![word().prop_map(Element::Name), "#[a-z0-9_]{1,3}".prop_map(Element::Placeholder)];
    let rest = prop_oneof![
        word().prop_map(Element::Name),
        "#[a-z0-9_]{1,3}".prop_map(Element::Placeholder),
        (0_u32..1_000).prop_map(|index| Element::Index(index.to_string())),
    ];
    (first, proptest::collection::vec(rest, 0..3)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        Path(rest)
    })
}

fn operand() -> impl Strategy<Value = Operand> {
    let leaf = prop_oneof![path().prop_map(Operand::Path), ":[a-z0-9_]{1,3}".prop_map(Operand::Value)];
    leaf.prop_recursive(2, 6, 3, |inner| call(inner).prop_map(Operand::Call))
}

fn call(argument: impl Strategy<Value = Operand>) -> impl Strategy<Value = Call> {
    (word(), proptest::collection::vec(argument, 1..3)).prop_map(|(name, arguments)| Call { name, arguments })
}

fn condition() -> impl Strategy<Value = syntax::Condition> {
    use syntax::Condition;
    let comparator = prop_oneof![
        Just(Comparator::Equal),
        Just(Comparator::NotEqual),
        Just(Comparator::Less),
        Just(Comparator::AtMost),
        Just(Comparator::Greater),
        Just(Comparator::AtLeast),
    ];
    let leaf = prop_oneof![
        (comparator, operand(), operand()).prop_map(|(c, left, right)| Condition::Compare(c, left, right)),
        (operand(), operand(), operand()).prop_map(|(value, low, high)| Condition::Between(value, low, high)),
        (operand(), proptest::collection::vec(operand(), 1..3))
            .prop_map(|(value, list)| Condition::In(value, list)),
        call(operand()).prop_map(Condition::Call),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::Or(Box::new(a), Box::new(b))),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn section() -> impl Strategy<Value = Section> {
    let value = prop_oneof![
        operand().prop_map(SetValue::Operand),
        (operand(), operand()).prop_map(|(a, b)| SetValue::Plus(a, b)),
        (operand(), operand()).prop_map(|(a, b)| SetValue::Minus(a, b)),
    ];
    let with_value = || proptest::collection::vec((path(), ":[a-z0-9]{1,3}"), 1..3);
    prop_oneof![
        proptest::collection::vec((path(), value), 1..3).prop_map(Section::Set),
        proptest::collection::vec(path(), 1..3).prop_map(Section::Remove),
        with_value().prop_map(Section::Add),
        with_value().prop_map(Section::Delete),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_the_same(
        condition in condition(),
        sections in proptest::collection::vec(section(), 1..4),
        paths in proptest::collection::vec(path(), 1..4),
    ) {
        let text = condition.to_string();
        prop_assert_eq!(&parse_condition(&text, ExpressionKind::Condition).unwrap(), &condition, "{}", text);
        let update = syntax::Update(sections);
        prop_assert_eq!(&parse_update(&update.to_string()).unwrap(), &update, "{}", update);
        let projection = syntax::Projection(paths);
        prop_assert_eq!(&parse_projection(&projection.to_string()).unwrap(), &projection, "{}", projection);
    }

    #[test]
    fn no_text_makes_a_parser_panic(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("a"), Just(" "), Just("("), Just(")"), Just("="), Just(":v"), Just("#n"), Just(","), Just("AND "),
                Just(" OR "), Just("NOT "), Just(" BETWEEN "), Just(" IN "), Just("size("), Just("SET "), Just(" REMOVE "),
                Just("ADD "), Just("+"), Just("."), Just("[0]"), Just("[99999999999]"), Just("<>"), Just("é"), Just("_"),
                Just("list_append("), Just("if_not_exists("), Just("contains("),
            ],
            0..24,
        ),
        wild in ".{0,20}",
    ) {
        for text in [pieces.concat(), wild] {
            let names = json!({"#n": "n"});
            let values = json!({":v": {"N": "1"}});
            if let Ok(condition) = condition_with(&text, &names, &values) {
                condition.holds(&product());
                if let Ok(key) = KeyCondition::of(&condition) {
                    let _ = key.on(&schema(KeyType::N));
                }
            }
            if let Ok(update) = update_with(&text, &names, &values) {
                let _ = update.apply(Some(&product()), &Attributes::new());
                let _ = update.apply(None, &Attributes::new());
            }
            let _ = Projection::parse(&text, &mut placeholders(&names, &values));
            if let Ok(condition) = parse_condition(&text, ExpressionKind::Filter) {
                let printed = condition.to_string();
                prop_assert_eq!(parse_condition(&printed, ExpressionKind::Filter).unwrap(), condition, "{}", printed);
            }
            if let Ok(update) = parse_update(&text) {
                prop_assert_eq!(parse_update(&update.to_string()).unwrap(), update);
            }
        }
    }

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
