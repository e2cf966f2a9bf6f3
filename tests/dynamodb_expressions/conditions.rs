//! Conditions and filters: the guide's examples, values of all types, and what is refused.

use crate::support::{attributes, condition_with, holds, placeholders, product, refused};
use hotplate::dynamodb::expression::{Condition, ExpressionKind, parse_condition};
use serde_json::{Value, json};

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
        ("Lacking <> :lo", true),
        ("Lacking = :lo", false),
        ("NOT Lacking < :lo", true),
        ("Lacking = Absent", false),
        ("Lacking <> Absent", true),
        ("Price > Title", false),
        ("Id < Price", true),
        ("RelatedItems[1] < Price", true),
        ("RelatedItems[9] < Price", false),
        ("(RelatedItems)[1] < Price", true),
        ("not(not(Id<Price))", true),
        ("Price BETWEEN Id AND RelatedItems[2]", true),
        ("Lacking IN (:lo, Absent)", false),
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
        ("f() = a", ")", "() ="),
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
