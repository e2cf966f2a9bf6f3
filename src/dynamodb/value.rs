//! Attribute values: the ten types of DynamoDB, exactly.
//!
//! Numbers are decimals, sets have no order, binary is not text: nothing is squeezed through JSON's types or a value
//! shared with another service. Equality is the service's: by type, then numbers by value, sets without order, lists in
//! order, maps by name. Only strings, numbers and binaries have an order, each among themselves; strings by their UTF-8
//! bytes ("DynamoDB collates and compares strings using the bytes of the underlying UTF-8 string encoding"), binaries by
//! unsigned bytes.
//!
//! The wire form is in [`json`]. This file does not know items, keys or expressions.

mod json;

pub(super) use json::check_depth;

use super::attributes::Attributes;
use super::number::Number;
use super::set::Set;
use crate::charge::item_size;
use crate::units::Bytes;
use std::cmp::Ordering;
use std::fmt;

/// Levels of lists and maps in each other at the most (developer guide, "Constraints", "Nested attribute depth": 32),
/// counting the value at the bottom: 31 maps around a string are held, 32 are not (the public conformance suite's observation).
pub const NESTING_MAX: usize = 32;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// List.
    L,
    /// Map.
    M,
    /// String set.
    Ss,
    /// Number set.
    Ns,
    /// Binary set.
    Bs,
}

impl Type {
    /// All of them, in the order in which the service reads a value that has several.
    pub const ALL: [Self; 10] =
        [Self::S, Self::B, Self::N, Self::Bool, Self::Null, Self::Bs, Self::Ns, Self::Ss, Self::L, Self::M];

    /// The data type descriptor of the wire form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::L => "L",
            Self::M => "M",
            Self::Ss => "SS",
            Self::Ns => "NS",
            Self::Bs => "BS",
        }
    }

    /// The word that texts about ADD and DELETE use.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::S => "STRING",
            Self::N => "NUMBER",
            Self::B => "BINARY",
            Self::Bool => "BOOLEAN",
            Self::Null => "NULL",
            Self::L => "LIST",
            Self::M => "MAP",
            Self::Ss => "STRING_SET",
            Self::Ns => "NUMBER_SET",
            Self::Bs => "BINARY_SET",
        }
    }

    /// The type of this descriptor.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Whether values of this type have an order, and may be keys.
    pub const fn is_ordered(self) -> bool {
        matches!(self, Self::S | Self::N | Self::B)
    }

    /// Whether it is one of the three set types.
    pub const fn is_set(self) -> bool {
        matches!(self, Self::Ss | Self::Ns | Self::Bs)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttributeValue {
    /// Text; it may be empty where it is no key.
    S(String),
    /// A number.
    N(Number),
    /// Bytes; there may be none where they are no key.
    B(Vec<u8>),
    /// True or false.
    Bool(bool),
    /// Null.
    Null,
    /// Values of any types, in order.
    L(Vec<AttributeValue>),
    /// Values of any types, by name.
    M(Attributes),
    /// A set of texts.
    Ss(Set<String>),
    /// A set of numbers.
    Ns(Set<Number>),
    /// A set of bytes.
    Bs(Set<Vec<u8>>),
}

impl AttributeValue {
    /// Its type.
    pub fn kind(&self) -> Type {
        match self {
            Self::S(_) => Type::S,
            Self::N(_) => Type::N,
            Self::B(_) => Type::B,
            Self::Bool(_) => Type::Bool,
            Self::Null => Type::Null,
            Self::L(_) => Type::L,
            Self::M(_) => Type::M,
            Self::Ss(_) => Type::Ss,
            Self::Ns(_) => Type::Ns,
            Self::Bs(_) => Type::Bs,
        }
    }

    /// How it stands to another value, if both are of one type that has an order.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::S(a), Self::S(b)) => Some(a.cmp(b)),
            (Self::N(a), Self::N(b)) => Some(a.cmp(b)),
            (Self::B(a), Self::B(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// The bytes it takes in an item, by the rules of [`item_size`].
    pub fn size(&self) -> u64 {
        let bytes = match self {
            Self::S(text) => item_size::string(text),
            Self::N(number) => Bytes(number.size()),
            Self::B(bytes) => item_size::binary(bytes),
            Self::Bool(_) => item_size::BOOLEAN,
            Self::Null => item_size::NULL,
            Self::L(values) => item_size::list(values.iter().map(|value| Bytes(value.size()))),
            Self::M(values) => item_size::map(values.iter().map(|(name, value)| (name, Bytes(value.size())))),
            Self::Ss(set) => item_size::set(set.iter().map(|text| item_size::string(text))),
            Self::Ns(set) => item_size::set(set.iter().map(|number| Bytes(number.size()))),
            Self::Bs(set) => item_size::set(set.iter().map(|bytes| item_size::binary(bytes))),
        };
        bytes.0
    }

    /// Whether it has more than `levels` levels of values in each other. Looks no deeper than that.
    pub(crate) fn is_deeper_than(&self, levels: usize) -> bool {
        let Some(below) = levels.checked_sub(1) else { return true };
        match self {
            Self::L(values) => values.iter().any(|value| value.is_deeper_than(below)),
            Self::M(values) => values.iter().any(|(_, value)| value.is_deeper_than(below)),
            _ => false,
        }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::S(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::S(text)
    }
}

impl From<Number> for AttributeValue {
    fn from(number: Number) -> Self {
        Self::N(number)
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::N(number.into())
    }
}

impl From<bool> for AttributeValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_small() {
        assert!(size_of::<AttributeValue>() <= 32);
    }

    #[test]
    fn types_have_names() {
        for kind in Type::ALL {
            assert_eq!(Type::named(kind.name()), Some(kind));
        }
        assert_eq!(Type::named("X"), None);
        assert_eq!(Type::Ss.to_string(), "SS");
    }

    #[test]
    fn only_scalars_of_one_type_have_an_order() {
        let n = |text: &str| AttributeValue::N(text.parse().unwrap());
        assert_eq!(n("10").compare(&n("9.5")), Some(Ordering::Greater));
        assert_eq!(AttributeValue::from("10").compare(&"9".into()), Some(Ordering::Less));
        assert_eq!(AttributeValue::from("Z").compare(&"a".into()), Some(Ordering::Less));
        // U+FF5E sorts after U+1F600 in UTF-16 but before it in UTF-8.
        assert_eq!(AttributeValue::from("\u{FF5E}").compare(&"\u{1F600}".into()), Some(Ordering::Less));
        assert_eq!(
            AttributeValue::B(vec![0x7F]).compare(&AttributeValue::B(vec![0x80])),
            Some(Ordering::Less)
        );
        assert_eq!(n("1").compare(&"1".into()), None);
        assert_eq!(AttributeValue::Bool(true).compare(&AttributeValue::Bool(true)), None);
    }

    #[test]
    fn depth_counts_the_value_at_the_bottom() {
        let mut value = AttributeValue::from("leaf");
        assert!(value.is_deeper_than(0) && !value.is_deeper_than(1));
        for levels in 2..40 {
            value = AttributeValue::L(vec![value]);
            assert!(value.is_deeper_than(levels - 1) && !value.is_deeper_than(levels), "{levels}");
        }
    }
}
