//! Expressions: conditions, filters, key conditions, projections and updates.
//!
//! ```text
//! text ─ lexer ─► tokens ─ parser ─► syntax ─ placeholders, checks ─► condition, update, … ─► an item
//! ```
//!
//! What arrived ([`syntax`]) and what it means ([`Condition`], [`Projection`], [`Update`]) are different
//! types: the second has its names and values put in and has passed every check that needs no item. Checks are made in
//! the service's order, because a text with two mistakes is answered with one of them.
//!
//! Work is linear in the length of the text and of what it is asked about, and recursion is bounded: parsing uses a stack
//! of its own, and afterwards operators are at most 300 and paths at most 32 deep. Nothing here knows tables or requests.

mod apply;
mod condition;
mod lexer;
mod parser;
mod path;
mod placeholders;
mod projection;
mod reserved;
mod resolve;
pub mod syntax;
mod update;

pub use condition::{Condition, Operand};
pub use parser::{condition as parse_condition, projection as parse_projection, update as parse_update};
pub use path::{DocumentPath, PathElement};
pub use placeholders::{Parameters, Placeholders};
pub use projection::Projection;
pub use update::{Action, Change, SetValue, Update, UpdateOperand};

use super::error::ServiceError;
use std::fmt;

/// Bytes of an expression's text at the most (developer guide, "Constraints", "Expression parameters": 4 KB).
pub const EXPRESSION_BYTES_MAX: usize = 4_096;

/// Operators in an expression at the most (the same section: 300).
pub const OPERATORS_MAX: usize = 300;

/// Operands on the right of IN at the most (the same section: 100).
pub const IN_OPERANDS_MAX: usize = 100;

/// Elements of a document path at the most (ScyllaDB's `test_limits.py`: 32 with the attribute itself, 33 is refused).
pub const PATH_ELEMENTS_MAX: usize = 32;

/// The parameters that hold an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionKind {
    /// What must hold for a write to happen.
    Condition,
    /// Which items an answer holds.
    Filter,
    /// Which items a query reads.
    KeyCondition,
    /// Which attributes an answer holds.
    Projection,
    /// What a write changes.
    Update,
}

impl ExpressionKind {
    /// The parameter's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Condition => "ConditionExpression",
            Self::Filter => "FilterExpression",
            Self::KeyCondition => "KeyConditionExpression",
            Self::Projection => "ProjectionExpression",
            Self::Update => "UpdateExpression",
        }
    }

    /// The refusal of such an expression.
    fn invalid(self, why: impl fmt::Display) -> ServiceError {
        ServiceError::validation(format!("Invalid {}: {why}", self.name()))
    }
}
