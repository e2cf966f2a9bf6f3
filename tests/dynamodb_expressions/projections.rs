//! Projections: the guide's examples, and what is refused.

use crate::support::{placeholders, product};
use hotplate::dynamodb::expression::{Placeholders, Projection};
use serde_json::{Value, json};

#[test]
fn the_guides_projections() {
    let projected =
        |text: &str| Projection::parse(text, &mut Placeholders::none()).unwrap().apply(&product()).to_json();
    assert_eq!(projected("Description"), json!({"Description": {"S": "123 description"}}));
    assert_eq!(
        projected("Price, Color, Lacking"),
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
    assert_eq!(projected("Pictures.TopView, Title[0], Description.x"), json!({}));
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
