//! Expressions of DynamoDB and the parameters they replaced: the developer guide's own examples, every refusal in its
//! order, and properties of the parser, of updates and of key conditions.

mod conditions;
mod keys;
mod legacy;
mod limits;
mod parser;
mod projections;
mod support;
mod updates;
