//! DynamoDB's Query and Scan as a client meets them: JSON in, JSON or an exception out.

mod costs;
mod pages;
mod refusals;
mod support;
