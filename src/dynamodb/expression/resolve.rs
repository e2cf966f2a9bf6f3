//! From what was written to what is meant: names and values are put in, and what needs no item is checked.
//!
//! The service checks an expression in passes, and a text with several mistakes is answered with the first mistake of the
//! first pass that finds one. The passes here and their order are those that dynalite's tests found of the service: words
//! of the whole expression first ([`Words`]), then placeholders, operands and types of each comparison or function in
//! turn ([`Part`]).

use super::super::error::Result;
use super::super::value::{AttributeValue, Type};
use super::path::{DocumentPath, PathElement};
use super::placeholders::Placeholders;
use super::reserved::is_reserved;
use super::syntax::{self, Element};
use super::{ExpressionKind, PATH_ELEMENTS_MAX};
use std::sync::Arc;

/// Functions that are conditions.
const CONDITIONS: [&str; 5] =
    ["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"];
/// Functions that are operands of conditions.
const OPERANDS: [&str; 1] = ["size"];
/// Functions of updates.
const UPDATES: [&str; 2] = ["if_not_exists", "list_append"];

/// The first mistake of each kind among the words of an expression.
#[derive(Default)]
pub(super) struct Words {
    unknown_function: Option<String>,
    misused_function: Option<String>,
    reserved: Option<String>,
}

impl Words {
    /// Looks at a path.
    pub(super) fn path(&mut self, path: &syntax::Path) {
        for element in &path.0 {
            match element {
                Element::Name(name) if is_reserved(name) => {
                    self.reserved.get_or_insert_with(|| {
                        format!("Attribute name is a reserved keyword; reserved keyword: {name}")
                    });
                }
                Element::Index(digits) if index(digits).is_none() => {
                    self.reserved.get_or_insert_with(|| {
                        format!("List index is not within the allowable range; index: [{digits}]")
                    });
                }
                _ => {}
            }
        }
    }

    /// Looks at an operand of a condition.
    pub(super) fn operand(&mut self, operand: &syntax::Operand) {
        match operand {
            syntax::Operand::Path(path) => self.path(path),
            syntax::Operand::Value(_) => {}
            syntax::Operand::Call(call) => {
                self.call(call, &OPERANDS);
                call.arguments.iter().for_each(|argument| self.operand(argument));
            }
        }
    }

    /// Looks at a condition. Its depth is bounded by the number of operators.
    pub(super) fn condition(&mut self, condition: &syntax::Condition) {
        use syntax::Condition;
        match condition {
            Condition::Or(left, right) | Condition::And(left, right) => {
                self.condition(left);
                self.condition(right);
            }
            Condition::Not(inner) => self.condition(inner),
            Condition::Compare(_, left, right) => {
                self.operand(left);
                self.operand(right);
            }
            Condition::Between(value, low, high) => {
                [value, low, high].into_iter().for_each(|operand| self.operand(operand));
            }
            Condition::In(value, candidates) => {
                self.operand(value);
                candidates.iter().for_each(|operand| self.operand(operand));
            }
            Condition::Call(call) => {
                self.call(call, &CONDITIONS);
                call.arguments.iter().for_each(|argument| self.operand(argument));
            }
        }
    }

    /// Looks at the name of a function where only these are allowed.
    fn call(&mut self, call: &syntax::Call, allowed: &[&str]) {
        let name = call.name.as_str();
        let known = |names: &[&str]| names.contains(&name);
        if !known(&CONDITIONS) && !known(&OPERANDS) && !known(&UPDATES) {
            self.unknown_function.get_or_insert_with(|| format!("Invalid function name; function: {name}"));
        } else if known(&UPDATES) {
            self.misused_function.get_or_insert_with(|| {
                format!("The function is not allowed in a condition expression; function: {name}")
            });
        } else if !known(allowed) {
            self.misused_function.get_or_insert_with(|| misused(name));
        }
    }

    /// Looks at what an update writes. `nested` says whether it is an argument of a function.
    pub(super) fn update_operand(&mut self, operand: &syntax::Operand, nested: bool) {
        match operand {
            syntax::Operand::Path(path) => self.path(path),
            syntax::Operand::Value(_) => {}
            syntax::Operand::Call(call) => {
                let name = call.name.as_str();
                if CONDITIONS.contains(&name) || OPERANDS.contains(&name) {
                    self.misused_function.get_or_insert_with(|| {
                        format!("The function is not allowed in an update expression; function: {name}")
                    });
                } else if !UPDATES.contains(&name) {
                    self.unknown_function
                        .get_or_insert_with(|| format!("Invalid function name; function: {name}"));
                } else if nested && name == "list_append" {
                    // ScyllaDB's tests found that the service takes no list_append inside a function.
                    self.misused_function.get_or_insert_with(|| misused(name));
                }
                call.arguments.iter().for_each(|argument| self.update_operand(argument, true));
            }
        }
    }

    /// The refusal of a condition.
    pub(super) fn check_condition(self, kind: ExpressionKind) -> Result<()> {
        first(kind, [self.unknown_function, self.misused_function, self.reserved])
    }

    /// The refusal of an update or a projection.
    pub(super) fn check_update(self, kind: ExpressionKind) -> Result<()> {
        first(kind, [self.reserved, self.unknown_function, self.misused_function])
    }
}

fn misused(name: &str) -> String {
    format!("The function is not allowed to be used this way in an expression; function: {name}")
}

/// The first mistake that was made.
pub(super) fn first<const N: usize>(kind: ExpressionKind, mistakes: [Option<String>; N]) -> Result<()> {
    match mistakes.into_iter().flatten().next() {
        Some(mistake) => Err(kind.invalid(mistake)),
        None => Ok(()),
    }
}

/// Notes a mistake where none is noted yet.
fn note(slots: [&mut Option<String>; 2], message: String) {
    for slot in slots {
        slot.get_or_insert_with(|| message.clone());
    }
}

/// An index that the service can hold: a Java `int`.
fn index(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|&index: &u32| i32::try_from(index).is_ok())
}

/// Puts placeholders in, and notes the first mistake of each kind. Conditions use one for each comparison or function,
/// updates one for all.
pub(super) struct Part<'p> {
    placeholders: &'p mut Placeholders,
    /// The first of the next two.
    pub(super) undefined: Option<String>,
    pub(super) undefined_name: Option<String>,
    pub(super) undefined_value: Option<String>,
    pub(super) operand_count: Option<String>,
    pub(super) not_distinct: Option<String>,
    pub(super) operand_type: Option<String>,
}

impl<'p> Part<'p> {
    pub(super) fn new(placeholders: &'p mut Placeholders) -> Self {
        Self {
            placeholders,
            undefined: None,
            undefined_name: None,
            undefined_value: None,
            operand_count: None,
            not_distinct: None,
            operand_type: None,
        }
    }

    /// A path with its names put in.
    pub(super) fn path(&mut self, path: &syntax::Path) -> DocumentPath {
        if path.0.len() > PATH_ELEMENTS_MAX {
            let depth = path.0.len();
            note(
                [&mut self.undefined, &mut self.undefined_name],
                format!("The document path has too many nesting levels; nesting levels: {depth}"),
            );
        }
        let mut elements = path.0.iter().map(|element| match element {
            Element::Name(name) => PathElement::Name(name.as_str().into()),
            // Out of range was refused before.
            Element::Index(digits) => PathElement::Index(index(digits).unwrap_or(u32::MAX)),
            Element::Placeholder(placeholder) => match self.placeholders.name(placeholder) {
                Some(name) => PathElement::Name(name),
                None => {
                    note(
                        [&mut self.undefined, &mut self.undefined_name],
                        format!(
                            "An expression attribute name used in the document path is not defined; attribute name: \
                             {placeholder}"
                        ),
                    );
                    PathElement::Name(placeholder.as_str().into())
                }
            },
        });
        // The parser lets no path begin with an index.
        let head = match elements.next() {
            Some(PathElement::Name(name)) => name,
            _ => "".into(),
        };
        let rest = elements.collect();
        DocumentPath::new(head, rest)
    }

    /// The value of a placeholder. One that is not defined is null, and a mistake.
    pub(super) fn value(&mut self, placeholder: &str) -> Arc<AttributeValue> {
        self.placeholders.value(placeholder).unwrap_or_else(|| {
            note(
                [&mut self.undefined, &mut self.undefined_value],
                format!(
                    "An expression attribute value used in expression is not defined; attribute value: {placeholder}"
                ),
            );
            Arc::new(AttributeValue::Null)
        })
    }

    /// That a function has this many arguments.
    pub(super) fn count(&mut self, call: &syntax::Call, expected: usize) -> bool {
        let given = call.arguments.len();
        if given != expected {
            self.operand_count.get_or_insert_with(|| {
                format!(
                    "Incorrect number of operands for operator or function; operator or function: {}, number of \
                     operands: {given}",
                    call.name
                )
            });
        }
        given == expected
    }

    /// That no other operand is the same path as the first.
    pub(super) fn distinct<'a>(
        &mut self,
        operator: &str,
        first: Option<&DocumentPath>,
        others: impl IntoIterator<Item = Option<&'a DocumentPath>>,
    ) {
        let Some(first) = first else { return };
        if others.into_iter().any(|other| other == Some(first)) {
            self.not_distinct.get_or_insert_with(|| {
                format!(
                    "The first operand must be distinct from the remaining operands for this operator or function; \
                     operator: {operator}, first operand: {first}"
                )
            });
        }
    }

    /// That an operand's type, where it is known, is one of these.
    pub(super) fn typed(&mut self, operator: &str, kind: Option<Type>, allowed: impl Fn(Type) -> bool) {
        if let Some(kind) = kind.filter(|&kind| !allowed(kind)) {
            self.wrong_type(operator, kind.name());
        }
    }

    /// That an operand has a wrong type.
    pub(super) fn wrong_type(&mut self, operator: &str, kind: &str) {
        self.operand_type.get_or_insert_with(|| {
            format!(
                "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
            )
        });
    }

    /// That a function was not given a path.
    pub(super) fn needs_path(&mut self, function: &str) {
        self.operand_type.get_or_insert_with(|| {
            format!("Operator or function requires a document path; operator or function: {function}")
        });
    }
}
