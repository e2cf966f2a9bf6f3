//! Updates: the guide's examples, what ScyllaDB's tests found of the service, and what is refused.

use crate::support::{attributes, condition_with, schema, update_refused, update_with, updated};
use hotplate::dynamodb::{Attributes, FilterKind, KeyType, ServiceError};
use serde_json::{Value, json};

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
fn updates_keep_the_types_of_index_keys() {
    let item = attributes(json!({"word": {"S": "x"}, "amount": {"N": "1"}}));
    let values = json!({":s": {"S": "a"}, ":n": {"N": "1"}, ":l": {"L": []}});
    let schema = schema(KeyType::N);
    for (text, kind) in [
        ("SET sk = :s", "S"),
        ("SET sk = if_not_exists(a, :s)", "S"),
        ("SET sk = list_append(a, :l)", "L"),
        ("SET pk = a + :n", "N"),
        ("ADD pk :n", "N"),
    ] {
        let update = update_with(text, &Value::Null, &values).unwrap();
        let error = update.check_index_types("by-sk", &schema).expect_err(text);
        assert!(error.message().ends_with(&format!("Actual: {kind} IndexName: by-sk")), "{error}");
        let start = "One or more parameter values were invalid: Type mismatch for Index Key ";
        assert!(error.message().starts_with(start));
    }
    for (text, fits) in
        [("SET sk = amount", true), ("SET sk = word", false), ("SET sk.a = :n", true), ("REMOVE sk", true)]
    {
        let update = update_with(text, &Value::Null, &values).unwrap();
        update.check_index_types("by-sk", &schema).unwrap();
        if let Ok(after) = update.apply(Some(&item), &Attributes::new()) {
            let checked = update.check_index_values(&schema, &after);
            assert_eq!(checked.is_ok(), fits, "{text}");
            assert!(checked.is_ok() || checked.unwrap_err().message().ends_with("to unsupported type"));
        }
    }
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
