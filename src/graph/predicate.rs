//! Predicates on property values: what `has()` and `is()` test.
//!
//! Numbers compare with numbers, text with text, booleans with booleans. Values of different kinds are never equal and
//! in no order, so every comparison but `neq` and `without` is false. It knows scalars only, and no elements.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// A test of one value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum P {
    /// Anything.
    Any,
    /// Equal.
    Eq(Value),
    /// Not equal.
    Neq(Value),
    /// Less.
    Lt(Value),
    /// Less or equal.
    Lte(Value),
    /// Greater.
    Gt(Value),
    /// Greater or equal.
    Gte(Value),
    /// From the first, up to but not including the second.
    Between(Value, Value),
    /// One of these.
    Within(Vec<Value>),
    /// None of these.
    Without(Vec<Value>),
    /// Text that begins so, or (when `false`) does not.
    StartingWith(String, bool),
    /// Text that ends so, or (when `false`) does not.
    EndingWith(String, bool),
    /// Text that contains this, or (when `false`) does not.
    Containing(String, bool),
}

/// Constructors named as Gremlin names them.
macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident => $variant:ident),* $(,)?) => {
        $($(#[$doc])* pub fn $name(value: impl Into<Value>) -> Self { Self::$variant(value.into()) })*
    };
}

impl P {
    comparisons! {
        /// Equal to `value`.
        eq => Eq,
        /// Not equal to `value`.
        neq => Neq,
        /// Less than `value`.
        lt => Lt,
        /// Less than or equal to `value`.
        lte => Lte,
        /// Greater than `value`.
        gt => Gt,
        /// Greater than or equal to `value`.
        gte => Gte,
    }

    /// From `low`, up to but not including `high`.
    pub fn between(low: impl Into<Value>, high: impl Into<Value>) -> Self {
        Self::Between(low.into(), high.into())
    }

    /// One of these.
    pub fn within(values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        Self::Within(values.into_iter().map(Into::into).collect())
    }

    /// None of these.
    pub fn without(values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        Self::Without(values.into_iter().map(Into::into).collect())
    }

    /// Text that begins with `text`.
    pub fn starting_with(text: impl Into<String>) -> Self {
        Self::StartingWith(text.into(), true)
    }

    /// Text that ends with `text`.
    pub fn ending_with(text: impl Into<String>) -> Self {
        Self::EndingWith(text.into(), true)
    }

    /// Text that contains `text`.
    pub fn containing(text: impl Into<String>) -> Self {
        Self::Containing(text.into(), true)
    }

    /// Whether `value` passes.
    pub fn test(&self, value: &Value) -> bool {
        let ordered = |other| compare(value, other);
        let text = |wanted: bool, holds: &dyn Fn(&str) -> bool| {
            value.as_str().is_some_and(|text| holds(text) == wanted)
        };
        match self {
            Self::Any => true,
            Self::Eq(other) => ordered(other) == Some(Ordering::Equal),
            Self::Neq(other) => ordered(other) != Some(Ordering::Equal),
            Self::Lt(other) => ordered(other).is_some_and(Ordering::is_lt),
            Self::Lte(other) => ordered(other).is_some_and(Ordering::is_le),
            Self::Gt(other) => ordered(other).is_some_and(Ordering::is_gt),
            Self::Gte(other) => ordered(other).is_some_and(Ordering::is_ge),
            Self::Between(low, high) => {
                ordered(low).is_some_and(Ordering::is_ge) && ordered(high).is_some_and(Ordering::is_lt)
            }
            Self::Within(others) => others.iter().any(|other| ordered(other) == Some(Ordering::Equal)),
            Self::Without(others) => others.iter().all(|other| ordered(other) != Some(Ordering::Equal)),
            Self::StartingWith(part, wanted) => text(*wanted, &|text| text.starts_with(part)),
            Self::EndingWith(part, wanted) => text(*wanted, &|text| text.ends_with(part)),
            Self::Containing(part, wanted) => text(*wanted, &|text| text.contains(part)),
        }
    }
}

impl<V: Into<Value>> From<V> for P {
    fn from(value: V) -> Self {
        Self::Eq(value.into())
    }
}

/// The order of two scalars of one kind.
pub(super) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (whole(a), whole(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            // Rounding one of them cannot carry it past the other, which has a fraction or is far away.
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        _ => None,
    }
}

/// A whole number exactly, also where it is written as a float. (Were those beyond 2^53 rounded to floats when one stands
/// next to them, two that differ could both equal a third: no order, and sorting is entitled to panic.)
pub(super) fn whole(number: &Number) -> Option<i128> {
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 2.0_f64.powi(126));
    number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)).or_else(|| float().map(|f| f as i128))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_do_not_mix() {
        assert!(P::eq(1).test(&json!(1.0)));
        assert!(!P::eq(1).test(&json!("1")) && P::neq(1).test(&json!("1")));
        assert!(!P::lt(5).test(&json!("4")) && !P::gte("a").test(&json!(true)));
        assert!(P::within(["a", "b"]).test(&json!("b")) && P::without(["a"]).test(&json!(7)));
    }

    #[test]
    fn between_excludes_its_end_and_text_predicates_want_text() {
        let between = P::between(1, 3);
        assert_eq!([1, 2, 3].map(|n| between.test(&json!(n))), [true, true, false]);
        assert!(P::starting_with("ab").test(&json!("abc")) && P::ending_with("bc").test(&json!("abc")));
        assert!(!P::Containing("x".into(), false).test(&json!(1)), "not even the negation");
        assert!(
            P::Containing("x".into(), false).test(&json!("abc")) && !P::containing("x").test(&json!("abc"))
        );
    }
}
