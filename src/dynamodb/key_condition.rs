//! Which items a query reads: one partition key value, and a range of sort keys.
//!
//! Both interfaces end here, `KeyConditionExpression` by way of an expression and `KeyConditions` directly. What can be
//! said without the table is said first; then [`KeyCondition::on`] asks the key schema of the table or index, and gives the
//! engine's keys. The sort key's condition becomes a range of bytes, so a query reads nothing that it does not answer.

use super::error::{Result, ServiceError};
use super::expression::syntax::Comparator;
use super::expression::{Condition, DocumentPath, ExpressionKind, Operand, Placeholders};
use super::key::{KeyAttribute, KeySchema, emptiness, partition_key, sort_key};
use super::legacy::ComparisonOperator;
use super::value::AttributeValue;
use crate::key::{PartitionKey, SortKey};
use std::ops::Bound;
use std::sync::Arc;

/// Conditions on key attributes, each attribute once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    conditions: Vec<One>,
}

/// A condition on an attribute, with as many values as its operator takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct One {
    pub(super) name: Box<str>,
    pub(super) operator: ComparisonOperator,
    pub(super) values: Vec<Arc<AttributeValue>>,
}

/// What a query reads of a table or index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The logical partition.
    pub partition: PartitionKey,
    /// The first sort key.
    pub from: Bound<SortKey>,
    /// The last sort key.
    pub to: Bound<SortKey>,
}

impl KeyCondition {
    /// Reads a key condition as far as any condition is checked. Ask [`Placeholders::check_used`] and then
    /// [`of`](Self::of) what is special about keys: the service does so in that order.
    ///
    /// # Errors
    /// When the text is no condition, or says what cannot be.
    pub fn parse(text: &str, placeholders: &mut Placeholders) -> Result<Condition> {
        Condition::parse(ExpressionKind::KeyCondition, text, placeholders)
    }

    /// The key condition that a condition is.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(condition: &Condition) -> Result<Self> {
        let mut own = Self { conditions: Vec::new() };
        own.take(condition)?;
        own.check_number()?;
        Ok(own)
    }

    /// The conditions of the legacy interface.
    pub(super) fn from_legacy(conditions: Vec<One>) -> Result<Self> {
        let own = Self { conditions };
        own.check_number()?;
        Ok(own)
    }

    fn check_number(&self) -> Result<()> {
        match self.conditions.len() {
            1 | 2 => Ok(()),
            _ => Err(ServiceError::validation("Conditions can be of length 1 or 2 only")),
        }
    }

    /// Adds what a condition says. The depth of conditions is bounded by the number of operators.
    fn take(&mut self, condition: &Condition) -> Result<()> {
        let (operator, name, operands) = match condition {
            Condition::All(all) => return all.iter().try_for_each(|condition| self.take(condition)),
            Condition::Any(_) => return Err(invalid_operator("OR")),
            Condition::Not(_) => return Err(invalid_operator("NOT")),
            Condition::In(..) => return Err(invalid_operator("IN")),
            Condition::Compare(Comparator::NotEqual, ..) => return Err(invalid_operator("<>")),
            Condition::Exists(_) => return Err(invalid_operator("attribute_exists")),
            Condition::NotExists(_) => return Err(invalid_operator("attribute_not_exists")),
            Condition::TypeIs(..) => return Err(invalid_operator("attribute_type")),
            Condition::Contains(..) => return Err(invalid_operator("contains")),
            Condition::Compare(comparator, left, right) => {
                let operator = match comparator {
                    Comparator::Equal | Comparator::NotEqual => ComparisonOperator::Eq,
                    Comparator::Less => ComparisonOperator::Lt,
                    Comparator::AtMost => ComparisonOperator::Le,
                    Comparator::Greater => ComparisonOperator::Gt,
                    Comparator::AtLeast => ComparisonOperator::Ge,
                };
                (operator, None, vec![left, right])
            }
            Condition::Between(value, low, high) => {
                (ComparisonOperator::Between, Some("BETWEEN"), vec![value, low, high])
            }
            Condition::BeginsWith(value, prefix) => {
                (ComparisonOperator::BeginsWith, Some("begins_with"), vec![value, prefix])
            }
        };
        if let Some(name) = name
            && operands.first().is_none_or(|first| first.path().is_none())
        {
            return Err(ServiceError::validation(format!(
                "Invalid condition in KeyConditionExpression: {name} operator must have the key attribute as its first \
                 operand"
            )));
        }
        let mut key: Option<(usize, &DocumentPath)> = None;
        let mut values = Vec::new();
        for (i, operand) in operands.into_iter().enumerate() {
            match operand {
                Operand::Value(value) => values.push(Arc::clone(value)),
                Operand::Size(_) => {
                    return Err(ServiceError::validation(
                        "KeyConditionExpressions cannot contain nested operations",
                    ));
                }
                Operand::Path(_) if key.is_some() => {
                    return Err(ServiceError::validation(
                        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
                    ));
                }
                Operand::Path(path) if path.is_nested() => {
                    return Err(ServiceError::validation(
                        "KeyConditionExpressions cannot have conditions on nested attributes",
                    ));
                }
                Operand::Path(path) => key = Some((i, path)),
            }
        }
        let Some((at, path)) = key else {
            return Err(ServiceError::validation(
                "Invalid condition in KeyConditionExpression: No key attribute specified",
            ));
        };
        if self.conditions.iter().any(|one| &*one.name == path.head()) {
            return Err(ServiceError::validation(
                "KeyConditionExpressions must only contain one condition per key",
            ));
        }
        let operator = if at == 0 { operator } else { operator.turned() };
        self.conditions.push(One { name: path.head().into(), operator, values });
        Ok(())
    }

    /// What a query with this condition reads of a table or index with this schema.
    ///
    /// # Errors
    /// When it does not name the partition key's one value, or is no range of sort keys.
    pub fn on(&self, schema: &KeySchema) -> Result<KeyRange> {
        let mut range = None;
        for (i, key) in schema.attributes().enumerate() {
            let is_partition = i == 0;
            if is_partition && schema.sort().is_none() && self.conditions.len() > 1 {
                return Err(unsupported());
            }
            let Some(one) = self.conditions.iter().find(|one| &*one.name == key.name()) else {
                if is_partition || self.conditions.len() > 1 {
                    return Err(ServiceError::validation(format!(
                        "Query condition missed key schema element: {}",
                        key.name()
                    )));
                }
                continue;
            };
            check(one, key)?;
            if is_partition {
                if one.operator != ComparisonOperator::Eq {
                    return Err(unsupported());
                }
                let partition =
                    one.values.first().and_then(|value| partition_key(value)).ok_or_else(mistyped)?;
                range = Some(KeyRange { partition, from: Bound::Unbounded, to: Bound::Unbounded });
            } else if let Some(range) = &mut range {
                (range.from, range.to) = bounds(one).ok_or_else(mistyped)?;
            }
        }
        range.ok_or_else(unsupported)
    }
}

fn invalid_operator(operator: &str) -> ServiceError {
    ServiceError::validation(format!("Invalid operator used in KeyConditionExpression: {operator}"))
}

fn unsupported() -> ServiceError {
    ServiceError::validation("Query key condition not supported")
}

fn mistyped() -> ServiceError {
    ServiceError::invalid_parameters("Condition parameter type does not match schema type")
}

fn check(one: &One, key: &KeyAttribute) -> Result<()> {
    use ComparisonOperator as Op;
    if !matches!(one.operator, Op::Eq | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Between | Op::BeginsWith) {
        return Err(ServiceError::validation(
            "Attempted conditional constraint is not an indexable operation",
        ));
    }
    if one.values.iter().any(|value| value.kind() != key.kind().kind()) {
        return Err(mistyped());
    }
    // An empty prefix or bound is refused like any other empty key value. *Assumed* for all but equality.
    match one.values.iter().find_map(|value| emptiness(value)) {
        Some(what) => Err(ServiceError::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
             {what} value. Key: {}",
            key.name()
        ))),
        None => Ok(()),
    }
}

/// The sort keys that fulfil a condition.
fn bounds(one: &One) -> Option<(Bound<SortKey>, Bound<SortKey>)> {
    let value = one.values.first()?;
    let key = sort_key(value)?;
    Some(match one.operator {
        ComparisonOperator::Eq => (Bound::Included(key.clone()), Bound::Included(key)),
        ComparisonOperator::Lt => (Bound::Unbounded, Bound::Excluded(key)),
        ComparisonOperator::Le => (Bound::Unbounded, Bound::Included(key)),
        ComparisonOperator::Gt => (Bound::Excluded(key), Bound::Unbounded),
        ComparisonOperator::Ge => (Bound::Included(key), Bound::Unbounded),
        ComparisonOperator::Between => (Bound::Included(key), Bound::Included(sort_key(one.values.get(1)?)?)),
        ComparisonOperator::BeginsWith => match &**value {
            AttributeValue::S(_) | AttributeValue::B(_) => {
                // The encoding ends with a byte of its own; without it, it begins every key that begins so.
                let (_, prefix) = key.as_bytes().split_last()?;
                let after = successor(prefix);
                let to = after.map_or(Bound::Unbounded, |bytes| Bound::Excluded(SortKey::from_bytes(&bytes)));
                (Bound::Included(key), to)
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// The first bytes after all that begin with these, if there are any.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut bytes = prefix[..=last].to_vec();
    bytes[last] += 1;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_range(value: &AttributeValue, (from, to): &(Bound<SortKey>, Bound<SortKey>)) -> bool {
        use std::ops::RangeBounds;
        (from.as_ref(), to.as_ref()).contains(&sort_key(value).unwrap())
    }

    proptest! {
        #[test]
        fn a_prefix_is_a_range_of_keys(
            bytes in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(0xFE), Just(0xFF)], 0..6),
            prefix in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(0xFE), Just(0xFF)], 1..4),
            text in "[\\x00\\x01a\u{10FFFF}]{0,5}",
            text_prefix in "[\\x00\\x01a\u{10FFFF}]{1,3}",
        ) {
            let range = |value| {
                bounds(&One {
                    name: "k".into(),
                    operator: ComparisonOperator::BeginsWith,
                    values: vec![Arc::new(value)],
                })
                .unwrap()
            };
            let expected = bytes.starts_with(&prefix);
            prop_assert_eq!(in_range(&AttributeValue::B(bytes), &range(AttributeValue::B(prefix))), expected);
            let expected = text.starts_with(&text_prefix);
            prop_assert_eq!(in_range(&AttributeValue::S(text), &range(AttributeValue::S(text_prefix))), expected);
        }
    }
}
