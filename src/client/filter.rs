//! Conditions on an item's properties, as data: they can be sent, compared and fingerprinted.

use crate::key::{FieldPath, FieldRef, Properties, Property};
use std::cmp::Ordering;
use std::fmt;

/// How a property is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Present and not equal.
    NotEqual,
    /// Smaller.
    Less,
    /// Smaller or equal.
    AtMost,
    /// Greater.
    Greater,
    /// Greater or equal.
    AtLeast,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// Conditions that must all hold. The empty filter lets everything through.
///
/// A property is compared as a number when both sides are numbers, as text otherwise; an absent, null or composite
/// property fulfils no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter(Vec<(FieldPath, Comparison, String)>);

impl Filter {
    /// Everything passes.
    pub fn all() -> Self {
        Self::default()
    }

    /// And this property compares so with this value.
    #[must_use]
    pub fn and(
        mut self,
        field: impl Into<FieldPath>,
        comparison: Comparison,
        value: impl fmt::Display,
    ) -> Self {
        self.0.push((field.into(), comparison, value.to_string()));
        self
    }

    /// The conditions, in the order they were added: a backend that is an SDK writes them as an expression of its own.
    pub fn conditions(&self) -> impl ExactSizeIterator<Item = (&FieldPath, Comparison, &str)> {
        self.0.iter().map(|(path, comparison, value)| (path, *comparison, value.as_str()))
    }

    /// Whether everything passes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an item passes.
    pub fn passes(&self, item: &(impl Properties + ?Sized)) -> bool {
        self.0.iter().enumerate().all(|(index, (path, comparison, value))| {
            let property = item.property(FieldRef { index, path });
            compare(&property, value).is_some_and(|order| comparison.holds(order))
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (path, comparison, value)) in self.0.iter().enumerate() {
            let and = if i > 0 { " and " } else { "" };
            write!(f, "{and}{path} {} {value:?}", comparison.symbol())?;
        }
        Ok(())
    }
}

/// How a property stands to a value's text.
fn compare(property: &Property<'_>, value: &str) -> Option<Ordering> {
    match property {
        Property::Text(text) => Some(text.as_ref().cmp(value)),
        Property::Number(text) => match (text.parse::<f64>(), value.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.partial_cmp(&b),
            _ => None,
        },
        Property::Bool(b) => value.parse::<bool>().ok().map(|value| b.cmp(&value)),
        Property::Absent | Property::Null | Property::Composite => None,
    }
}
