//! DynamoDB as data: numbers, values, keys, items and expressions, with the service's own answers to what is wrong.
//!
//! ```
//! use hotplate::dynamodb::expression::{Condition, ExpressionKind, Placeholders, Update};
//! use hotplate::dynamodb::{Attributes, Item};
//! use serde_json::json;
//!
//! let item = Attributes::from_json(json!({"Id": {"N": "789"}, "Price": {"N": "52"}}))?;
//! let mut placeholders = Placeholders::from_json(None, Some(json!({":p": {"N": "15"}})))?;
//! let update = Update::parse("SET Price = Price - :p", &mut placeholders)?;
//! let condition = Condition::parse(ExpressionKind::Condition, "Price > :p", &mut placeholders)?;
//! placeholders.check_used()?;
//!
//! assert!(condition.holds(&item));
//! let after = Item::to_update(update.apply(Some(&item), &Attributes::new())?)?;
//! assert_eq!(after.attributes().to_json(), json!({"Id": {"N": "789"}, "Price": {"N": "37"}}));
//!
//! let error = Update::parse("SET Price = Price +", &mut Placeholders::none()).unwrap_err();
//! assert_eq!(error.message(), "Invalid UpdateExpression: Syntax error; token: \"<EOF>\", near: \"+\"");
//! # Ok::<(), hotplate::dynamodb::ServiceError>(())
//! ```
//!
//! This is a library without input or output: it turns what a request says into what the engine can do, or into the
//! refusal that the service would answer. It does not know HTTP, tables, throughput, or when a condition is asked.
//!
//! - [`Number`], [`AttributeValue`] and [`Attributes`] are the data model, exact; [`Item`] is what a table stores.
//! - [`KeySchema`] makes the engine's keys of key attributes.
//! - [`expression`] reads conditions, filters, projections and updates; [`KeyCondition`] becomes a range of keys.
//! - [`legacy`] reads the parameters that expressions replaced into the same.

pub mod api;
mod attributes;
mod error;
pub mod expression;
mod item;
mod key;
mod key_condition;
pub mod legacy;
mod number;
pub mod service;
mod set;
mod value;

pub use attributes::Attributes;
pub use error::{Exception, Result, ServiceError};
pub use item::{ITEM_BYTES_MAX, Item};
pub use key::{
    FilterKind, KeyAttribute, KeySchema, KeyType, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, partition_key,
    sort_key,
};
pub use key_condition::{KeyCondition, KeyRange};
pub use number::{Number, NumberBytes};
pub use set::{NoSet, Set};
pub use value::{AttributeValue, NESTING_MAX, Type};
