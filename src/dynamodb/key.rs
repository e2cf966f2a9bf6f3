//! Key schemas: which attributes are the key, what a key may be, and the engine's keys made of them.
//!
//! The engine compares and hashes bytes. Here the bytes are chosen so that their order is the service's: "sorted by UTF-8
//! bytes" for strings, unsigned bytes for binaries, value for numbers.
//!
//! | attribute | partition key                                     | sort key                          |
//! |-----------|---------------------------------------------------|-----------------------------------|
//! | `S`       | text                                              | text                              |
//! | `B`       | bytes                                             | bytes                             |
//! | `N`       | the double of the same text, else the text itself | [`Number::sortable_bytes`]        |
//!
//! A partition key has no order to keep, so a number is stored there in the form that reports show best; no two numbers
//! share one. Types cannot be confused, because one schema has one type for each key.
//!
//! The refusals differ by where a key comes from: an item to be put, the `Key` of a request, or an item seen by an index.

use super::attributes::Attributes;
use super::error::{Result, ServiceError};
use super::number::Number;
use super::value::{AttributeValue, Type};
use crate::key::{ItemKey, KeyValue, PartitionKey, SortKey};

/// Bytes of a partition key at the most (developer guide, "Constraints", "Partition key length").
pub const PARTITION_KEY_BYTES_MAX: usize = 2_048;

/// Bytes of a sort key at the most (developer guide, "Constraints", "Sort key length").
pub const SORT_KEY_BYTES_MAX: usize = 1_024;

/// The types a key attribute can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

impl KeyType {
    /// As a type of values.
    pub const fn kind(self) -> Type {
        match self {
            Self::S => Type::S,
            Self::N => Type::N,
            Self::B => Type::B,
        }
    }
}

/// A key attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyAttribute {
    name: Box<str>,
    kind: KeyType,
}

impl KeyAttribute {
    /// A key attribute of this name and type.
    pub fn new(name: impl Into<Box<str>>, kind: KeyType) -> Self {
        Self { name: name.into(), kind }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type.
    pub fn kind(&self) -> KeyType {
        self.kind
    }
}

/// The key attributes of a table or an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeySchema {
    partition: KeyAttribute,
    sort: Option<KeyAttribute>,
}

/// Which part of the key an attribute is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Partition,
    Sort,
}

impl KeySchema {
    /// A schema with a partition key only.
    pub fn simple(partition: KeyAttribute) -> Self {
        Self { partition, sort: None }
    }

    /// A schema with a partition and a sort key.
    pub fn composite(partition: KeyAttribute, sort: KeyAttribute) -> Self {
        Self { partition, sort: Some(sort) }
    }

    /// The partition key.
    pub fn partition(&self) -> &KeyAttribute {
        &self.partition
    }

    /// The sort key.
    pub fn sort(&self) -> Option<&KeyAttribute> {
        self.sort.as_ref()
    }

    /// The key attributes, partition key first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    fn parts(&self) -> impl Iterator<Item = (&KeyAttribute, Part)> {
        std::iter::once((&self.partition, Part::Partition)).chain(self.sort.iter().map(|s| (s, Part::Sort)))
    }

    /// Whether this attribute is part of the key.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|key| &*key.name == name)
    }

    /// The key of an item that a request wants to put.
    ///
    /// # Errors
    /// When a key attribute is missing, of another type, empty or too long.
    pub fn of_item(&self, item: &Attributes) -> Result<ItemKey> {
        for (key, part) in self.parts() {
            let name = &key.name;
            let Some(value) = item.get(name) else {
                return Err(ServiceError::invalid_parameters(format!("Missing the key {name} in the item")));
            };
            if value.kind() != key.kind.kind() {
                return Err(ServiceError::invalid_parameters(format!(
                    "Type mismatch for key {name} expected: {} actual: {}",
                    key.kind.kind(),
                    value.kind()
                )));
            }
            if let Some(what) = emptiness(value) {
                return Err(ServiceError::validation(format!(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
                     contain an empty {what} value. Key: {name}"
                )));
            }
            check_length(value, part)?;
        }
        self.key(item).ok_or_else(mismatch)
    }

    /// The key that a request names: all of the key attributes and nothing else.
    ///
    /// # Errors
    /// When it is not of this schema, or a value is empty or too long.
    pub fn of_request(&self, given: &Attributes) -> Result<ItemKey> {
        if given.len() != self.attributes().count() {
            return Err(mismatch());
        }
        for (key, part) in self.parts() {
            let value = given.get(&key.name).filter(|v| v.kind() == key.kind.kind()).ok_or_else(mismatch)?;
            if let Some(what) = emptiness(value) {
                // Not the words of a put: dynalite captured these for GetItem.
                return Err(ServiceError::invalid_parameters(format!(
                    "The AttributeValue for a key attribute cannot contain an empty {what} value. Key: {}",
                    key.name
                )));
            }
            check_length(value, part)?;
        }
        self.key(given).ok_or_else(mismatch)
    }

    /// The key under which an index of this name and schema holds an item, or nothing if the item lacks a key attribute
    /// and is not in the index.
    ///
    /// # Errors
    /// When a key attribute is of another type, empty or too long.
    pub fn of_indexed(&self, index: &str, item: &Attributes) -> Result<Option<ItemKey>> {
        for (key, part) in self.parts() {
            let name = &key.name;
            let Some(value) = item.get(name) else { continue };
            if value.kind() != key.kind.kind() {
                return Err(ServiceError::invalid_parameters(format!(
                    "Type mismatch for Index Key {name} Expected: {} Actual: {} IndexName: {index}",
                    key.kind.kind(),
                    value.kind()
                )));
            }
            if let Some(what) = emptiness(value) {
                return Err(ServiceError::validation(format!(
                    "One or more parameter values are not valid. A value specified for a secondary index key is not \
                     supported. The AttributeValue for a key attribute cannot contain an empty {what} value. \
                     IndexName: {index}, IndexKey: {name}"
                )));
            }
            check_length(value, part)?;
        }
        Ok(self.key(item))
    }

    /// The key of attributes that hold one.
    fn key(&self, attributes: &Attributes) -> Option<ItemKey> {
        let partition = partition_key(attributes.get(&self.partition.name)?)?;
        let sort = match &self.sort {
            Some(key) => sort_key(attributes.get(&key.name)?)?,
            None => SortKey::none(),
        };
        Some(ItemKey { partition, sort })
    }

    /// The key attributes of an item, as many as it has: what a `LastEvaluatedKey` holds.
    pub fn project(&self, item: &Attributes) -> Attributes {
        self.attributes().filter_map(|key| Some((key.name.clone(), item.get(&key.name)?.clone()))).collect()
    }

    /// The attributes that make this key, or nothing if it is not of this schema.
    pub fn attributes_of(&self, key: &ItemKey) -> Option<Attributes> {
        let partition = match key.partition.values().pop()? {
            KeyValue::Number(double) => AttributeValue::N(Number::from_double(double)?),
            KeyValue::String(text) if self.partition.kind == KeyType::N => {
                AttributeValue::N(Number::parse(&text).ok()?)
            }
            other => scalar(other)?,
        };
        let mut attributes = Attributes::from_iter([(self.partition.name.clone(), partition)]);
        if let Some(sort) = &self.sort {
            let bytes = key.sort.as_bytes();
            let value = match sort.kind {
                KeyType::N => AttributeValue::N(Number::from_sortable_bytes(bytes)?),
                // A sort key of one value is encoded as a partition key is.
                KeyType::S | KeyType::B => scalar(PartitionKey::from_bytes(bytes).ok()?.values().pop()?)?,
            };
            attributes.insert(sort.name.clone(), value);
        }
        let fits =
            |key: &KeyAttribute| attributes.get(&key.name).map(AttributeValue::kind) == Some(key.kind.kind());
        self.attributes().all(fits).then_some(attributes)
    }

    /// That none of these attributes is part of the key: an update may not touch it.
    ///
    /// # Errors
    /// When one is.
    pub fn check_updated<'a>(&self, names: impl IntoIterator<Item = &'a str> + Clone) -> Result<()> {
        for key in self.attributes() {
            if names.clone().into_iter().any(|name| name == &*key.name) {
                return Err(ServiceError::invalid_parameters(format!(
                    "Cannot update attribute {}. This attribute is part of the key",
                    key.name
                )));
            }
        }
        Ok(())
    }

    /// That none of these attributes, whose elements an expression names, is part of the key, which has no elements.
    /// `index` says whether this is the schema of an index.
    ///
    /// # Errors
    /// When one is.
    pub fn check_nested<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str> + Clone,
        index: bool,
    ) -> Result<()> {
        for key in self.attributes() {
            if names.clone().into_iter().any(|name| name == &*key.name) {
                return Err(ServiceError::validation(format!(
                    "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: \
                     {}: {}",
                    if index { "IndexKey" } else { "Key" },
                    key.name
                )));
            }
        }
        Ok(())
    }

    /// That a query's filter names none of the key attributes. `filter` is what the request calls it.
    ///
    /// # Errors
    /// When it does.
    pub fn check_filtered<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str> + Clone,
        filter: FilterKind,
    ) -> Result<()> {
        for key in self.attributes() {
            if names.clone().into_iter().any(|name| name == &*key.name) {
                return Err(ServiceError::validation(format!(
                    "{} can only contain non-primary key attributes: Primary key attribute: {}",
                    match filter {
                        FilterKind::Expression => "Filter Expression",
                        FilterKind::Legacy => "QueryFilter",
                    },
                    key.name
                )));
            }
        }
        Ok(())
    }
}

/// The two ways to filter a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// `FilterExpression`.
    Expression,
    /// `QueryFilter`.
    Legacy,
}

fn mismatch() -> ServiceError {
    ServiceError::validation("The provided key element does not match the schema")
}

/// What the service calls an empty value, if it is one.
pub(crate) fn emptiness(value: &AttributeValue) -> Option<&'static str> {
    match value {
        AttributeValue::S(text) if text.is_empty() => Some("string"),
        AttributeValue::B(bytes) if bytes.is_empty() => Some("binary"),
        _ => None,
    }
}

fn check_length(value: &AttributeValue, part: Part) -> Result<()> {
    let length = match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.len(),
        _ => 0,
    };
    match part {
        Part::Partition if length > PARTITION_KEY_BYTES_MAX => Err(ServiceError::invalid_parameters(
            "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        )),
        Part::Sort if length > SORT_KEY_BYTES_MAX => Err(ServiceError::invalid_parameters(
            "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        )),
        _ => Ok(()),
    }
}

fn scalar(value: KeyValue) -> Option<AttributeValue> {
    match value {
        KeyValue::String(text) => Some(AttributeValue::S(text)),
        KeyValue::Binary(bytes) => Some(AttributeValue::B(bytes)),
        _ => None,
    }
}

/// The engine's partition key of a value, if its type can be one.
pub fn partition_key(value: &AttributeValue) -> Option<PartitionKey> {
    match value {
        AttributeValue::S(text) => Some(PartitionKey::text(text)),
        AttributeValue::B(bytes) => Some(PartitionKey::single(KeyValue::Binary(bytes.clone()))),
        AttributeValue::N(number) => Some(match number.to_double() {
            Some(double) => PartitionKey::single(double),
            None => PartitionKey::single(number.to_string()),
        }),
        _ => None,
    }
}

/// The engine's sort key of a value, if its type can be one.
pub fn sort_key(value: &AttributeValue) -> Option<SortKey> {
    match value {
        AttributeValue::S(text) => Some(SortKey::text(text)),
        AttributeValue::B(bytes) => Some(SortKey::single(KeyValue::Binary(bytes.clone()))),
        AttributeValue::N(number) => Some(SortKey::from_bytes(number.sortable_bytes().as_slice())),
        _ => None,
    }
}
