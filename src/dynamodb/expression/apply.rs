//! What an update does to an item.
//!
//! Every value is worked out from the item as it was, so `REMOVE a SET b = a` moves, and the order of sections does not
//! matter. Indexes too mean the list as it was: `REMOVE a[1] SET a[3] = :v` replaces what was the fourth element. Elements
//! set beyond the end are appended in the order of their indexes ("SET will append the new element at the end of the list",
//! developer guide).
//!
//! Mistakes that only the item shows are reported in the order that DynamoDB Local has: a place that is no list or map, a
//! wrong type, then by section from the last a place that is missing and a value that is missing, then numbers out of
//! range. A path into nothing is ignored by REMOVE when there is no item at all (ScyllaDB's tests of the service).

use super::super::attributes::Attributes;
use super::super::error::{Result, ServiceError};
use super::super::number::Number;
use super::super::value::{AttributeValue, check_depth};
use super::path::{Node, Parent, PathTree};
use super::update::{Action, Change, Dialect, SetValue, Update, UpdateOperand};
use std::collections::BTreeMap;

/// What is done at a place.
enum Write {
    Put(AttributeValue),
    Remove,
}

/// What came of working out a change.
enum Outcome {
    Write(Write),
    Nothing,
    /// It refers to what is not there.
    Missing,
    OutOfRange(ServiceError),
}

impl Update {
    /// The attributes of the item after this update. `old` is the item before, if there is one, and `key` the key of the
    /// request, which is what a new item begins with.
    ///
    /// # Errors
    /// When the item does not have what the update needs, or would get what no item may have. Size is not looked at.
    pub fn apply(&self, old: Option<&Attributes>, key: &Attributes) -> Result<Attributes> {
        let before = old.unwrap_or(key);
        let ignored = |action: &&Action| {
            old.is_none() && action.path.is_nested() && matches!(action.change, Change::Remove)
        };
        let actions: Vec<_> = self.actions.iter().filter(|action| !ignored(action)).collect();
        let parents: Vec<_> = actions.iter().map(|action| action.path.parent(before)).collect();
        if parents.contains(&Parent::OtherType) {
            return Err(invalid_path());
        }
        let mut outcomes =
            actions.iter().map(|action| self.outcome(action, before)).collect::<Result<Vec<_>>>()?;
        let sections = actions.iter().map(|action| action.section).max().map_or(0, |last| last + 1);
        for section in (0..sections).rev() {
            let own = || (0..actions.len()).filter(|&i| actions[i].section == section);
            if own().any(|i| parents[i] == Parent::Missing) {
                return Err(invalid_path());
            }
            if own().any(|i| matches!(outcomes[i], Outcome::Missing)) {
                return Err(ServiceError::validation(
                    "The provided expression refers to an attribute that does not exist in the item",
                ));
            }
        }
        if let Some(at) = outcomes.iter().position(|outcome| matches!(outcome, Outcome::OutOfRange(_)))
            && let Outcome::OutOfRange(error) = outcomes.swap_remove(at)
        {
            return Err(error);
        }
        let writes = actions.iter().zip(outcomes).filter_map(|(action, outcome)| match outcome {
            Outcome::Write(write) => Some((action.path.clone(), write)),
            _ => None,
        });
        // Paths that touch were refused, and fewer paths touch no more.
        let tree = PathTree::new(writes).ok_or_else(invalid_path)?;
        let heads: Vec<Box<str>> = tree.heads().keys().cloned().collect();
        let mut after = before.clone();
        write_members(&mut after, tree.into_heads());
        heads.iter().filter_map(|name| after.get(name)).try_for_each(check_depth)?;
        Ok(after)
    }

    fn wrong_type(&self) -> ServiceError {
        ServiceError::validation(match self.dialect {
            Dialect::Expression => "An operand in the update expression has an incorrect data type",
            Dialect::Legacy => "Type mismatch for attribute to update",
        })
    }

    fn outcome(&self, action: &Action, before: &Attributes) -> Result<Outcome> {
        let current = || action.path.find(before);
        let put = |value| Outcome::Write(Write::Put(value));
        Ok(match &action.change {
            Change::Remove => Outcome::Write(Write::Remove),
            Change::Set(SetValue::Operand(operand)) => {
                self.value(operand, before)?.map_or(Outcome::Missing, put)
            }
            Change::Set(SetValue::Plus(left, right)) => {
                self.sum(Number::checked_add, self.value(left, before)?, self.value(right, before)?)?
            }
            Change::Set(SetValue::Minus(left, right)) => {
                self.sum(Number::checked_sub, self.value(left, before)?, self.value(right, before)?)?
            }
            Change::Add(value) => match (current(), &**value) {
                (None, value) => put(value.clone()),
                (Some(AttributeValue::N(own)), AttributeValue::N(more)) => {
                    put(AttributeValue::N(own.checked_add(*more)?))
                }
                (Some(AttributeValue::Ss(own)), AttributeValue::Ss(more)) => {
                    put(AttributeValue::Ss(own.clone().union(more.clone())))
                }
                (Some(AttributeValue::Ns(own)), AttributeValue::Ns(more)) => {
                    put(AttributeValue::Ns(own.clone().union(more.clone())))
                }
                (Some(AttributeValue::Bs(own)), AttributeValue::Bs(more)) => {
                    put(AttributeValue::Bs(own.clone().union(more.clone())))
                }
                (Some(AttributeValue::L(own)), AttributeValue::L(more))
                    if self.dialect == Dialect::Legacy =>
                {
                    put(AttributeValue::L([own.as_slice(), more].concat()))
                }
                _ => return Err(self.wrong_type()),
            },
            Change::Delete(value) => {
                let left = match (current(), &**value) {
                    (None, _) => return Ok(Outcome::Nothing),
                    (Some(AttributeValue::Ss(own)), AttributeValue::Ss(less)) => {
                        own.clone().difference(less).map(AttributeValue::Ss)
                    }
                    (Some(AttributeValue::Ns(own)), AttributeValue::Ns(less)) => {
                        own.clone().difference(less).map(AttributeValue::Ns)
                    }
                    (Some(AttributeValue::Bs(own)), AttributeValue::Bs(less)) => {
                        own.clone().difference(less).map(AttributeValue::Bs)
                    }
                    _ => return Err(self.wrong_type()),
                };
                Outcome::Write(left.map_or(Write::Remove, Write::Put))
            }
        })
    }

    fn sum(
        &self,
        operation: fn(Number, Number) -> Result<Number>,
        left: Option<AttributeValue>,
        right: Option<AttributeValue>,
    ) -> Result<Outcome> {
        let number = |value: Option<AttributeValue>| match value {
            Some(AttributeValue::N(number)) => Ok(Some(number)),
            Some(_) => Err(self.wrong_type()),
            None => Ok(None),
        };
        Ok(match (number(left)?, number(right)?) {
            (Some(left), Some(right)) => match operation(left, right) {
                Ok(sum) => Outcome::Write(Write::Put(AttributeValue::N(sum))),
                Err(error) => Outcome::OutOfRange(error),
            },
            _ => Outcome::Missing,
        })
    }

    /// What an operand gives, or nothing if it refers to what is not there. The depth of calls is bounded by the number
    /// of operators.
    fn value(&self, operand: &UpdateOperand, before: &Attributes) -> Result<Option<AttributeValue>> {
        let list = |operand: &UpdateOperand| match self.value(operand, before)? {
            Some(AttributeValue::L(values)) => Ok(Some(values)),
            Some(_) => Err(self.wrong_type()),
            None => Ok(None),
        };
        match operand {
            UpdateOperand::Path(path) => Ok(path.find(before).cloned()),
            UpdateOperand::Value(value) => Ok(Some(AttributeValue::clone(value))),
            UpdateOperand::IfNotExists(path, other) => match path.find(before) {
                Some(value) => Ok(Some(value.clone())),
                None => self.value(other, before),
            },
            UpdateOperand::ListAppend(first, second) => Ok(match (list(first)?, list(second)?) {
                (Some(mut values), Some(more)) => {
                    values.extend(more);
                    Some(AttributeValue::L(values))
                }
                _ => None,
            }),
        }
    }
}

fn invalid_path() -> ServiceError {
    ServiceError::validation("The document path provided in the update expression is invalid for update")
}

/// Writes into an item or a map. New members are put in together, so that many cost no more than one pass.
fn write_members(values: &mut Attributes, nodes: BTreeMap<Box<str>, Node<Write>>) {
    let mut put = Vec::new();
    let mut removed = Vec::new();
    for (name, node) in nodes {
        match node {
            Node::Leaf(Write::Put(value)) => put.push((name, value)),
            Node::Leaf(Write::Remove) => removed.push(name),
            deeper => {
                if let Some(value) = values.get_mut(&name) {
                    write_into(value, deeper);
                }
            }
        }
    }
    if !removed.is_empty() {
        // Names come in order.
        values.retain(|name| removed.binary_search_by(|removed| (**removed).cmp(name)).is_err());
    }
    values.extend(put);
}

fn write_into(value: &mut AttributeValue, node: Node<Write>) {
    match (value, node) {
        (AttributeValue::M(values), Node::Names(nodes)) => write_members(values, nodes),
        (AttributeValue::L(values), Node::Indexes(nodes)) => write_elements(values, nodes),
        // Places of another type were refused.
        _ => {}
    }
}

fn write_elements(values: &mut Vec<AttributeValue>, nodes: BTreeMap<u32, Node<Write>>) {
    let mut removed = Vec::new();
    let mut appended = Vec::new();
    for (index, node) in nodes {
        match (values.get_mut(index as usize), node) {
            (Some(value), Node::Leaf(Write::Put(new))) => *value = new,
            (Some(_), Node::Leaf(Write::Remove)) => removed.push(index as usize),
            (Some(value), deeper) => write_into(value, deeper),
            (None, Node::Leaf(Write::Put(new))) => appended.push(new),
            (None, _) => {}
        }
    }
    if !removed.is_empty() {
        let mut at = 0;
        values.retain(|_| {
            at += 1;
            removed.binary_search(&(at - 1)).is_err()
        });
    }
    values.append(&mut appended);
}
