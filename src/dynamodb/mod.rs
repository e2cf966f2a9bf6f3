//! DynamoDB as data: numbers, values, keys and expressions, with the service's own answers to what is wrong.
mod attributes;
mod error;
pub mod expression;
mod item;
mod number;
mod set;
mod value;
pub use attributes::Attributes;
pub use error::{Exception, Result, ServiceError};
pub use item::{ITEM_BYTES_MAX, Item};
pub use number::{Number, NumberBytes};
pub use set::{NoSet, Set};
pub use value::{AttributeValue, NESTING_MAX, Type};
mod key;
pub use key::{
    FilterKind, KeyAttribute, KeySchema, KeyType, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, partition_key,
    sort_key,
};
