//! What the tests of expressions share: reading with placeholders, refusals without their prefix, the guide's product.

use hotplate::dynamodb::expression::{Condition, ExpressionKind, Placeholders, Update};
use hotplate::dynamodb::{Attributes, KeyAttribute, KeyCondition, KeyRange, KeySchema, KeyType, Result};
use serde_json::{Value, json};

pub(crate) fn attributes(json: Value) -> Attributes {
    Attributes::from_json(json).unwrap()
}

pub(crate) fn placeholders(names: &Value, values: &Value) -> Placeholders {
    let given = |json: &Value| (!json.is_null()).then(|| json.clone());
    Placeholders::from_json(given(names), given(values)).unwrap()
}

pub(crate) fn condition_with(text: &str, names: &Value, values: &Value) -> Result<Condition> {
    Condition::parse(ExpressionKind::Filter, text, &mut placeholders(names, values))
}

pub(crate) fn holds(text: &str, values: &Value, item: &Attributes) -> bool {
    condition_with(text, &Value::Null, values).unwrap_or_else(|error| panic!("{text}: {error}")).holds(item)
}

pub(crate) fn refused(text: &str, names: &Value, values: &Value) -> String {
    let error = condition_with(text, names, values).expect_err(text);
    error.message().strip_prefix("Invalid FilterExpression: ").expect("the prefix").to_owned()
}

pub(crate) fn update_with(text: &str, names: &Value, values: &Value) -> Result<Update> {
    Update::parse(text, &mut placeholders(names, values))
}

pub(crate) fn update_refused(text: &str, names: &Value, values: &Value) -> String {
    let error = update_with(text, names, values).expect_err(text);
    error.message().strip_prefix("Invalid UpdateExpression: ").expect("the prefix").to_owned()
}

pub(crate) fn updated(text: &str, values: &Value, item: &Attributes) -> Result<Value> {
    Ok(update_with(text, &Value::Null, values)?.apply(Some(item), &Attributes::new())?.to_json())
}

/// The product that the developer guide's chapters on expressions are about.
pub(crate) fn product() -> Attributes {
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

pub(crate) fn schema(sort: KeyType) -> KeySchema {
    KeySchema::composite(KeyAttribute::new("pk", KeyType::S), KeyAttribute::new("sk", sort))
}

pub(crate) fn key_range(text: &str, values: &Value, schema: &KeySchema) -> Result<KeyRange> {
    let mut placeholders = placeholders(&Value::Null, values);
    let condition = KeyCondition::parse(text, &mut placeholders)?;
    placeholders.check_used()?;
    KeyCondition::of(&condition)?.on(schema)
}
