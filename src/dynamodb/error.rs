//! What DynamoDB answers instead of doing what it was asked: an exception name and a message.
//!
//! Clients branch on the name and people search the web for the message, so both are data here, kept as the service
//! writes them, misspellings and doubled spaces included. Texts come from four kinds of places: the API reference and
//! developer guide, test suites that were run against the live service (dynalite, ScyllaDB's Alternator tests,
//! `nubo-db/dynamodb-conformance`), bug reports that quote an answer, and DynamoDB Local. Where none was found the
//! comment at the text says *assumed*.
//!
//! Since 2026 the service puts `1 validation error detected: ` before some of these texts; which ones is unsettled, so
//! the prefix is left to whoever writes the response. This file knows no HTTP status.

use std::fmt;

/// Which exception the service throws. The short names; on the wire they carry a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exception {
    /// The request is wrong.
    Validation,
    /// The request's JSON does not have the shape of the operation.
    Serialization,
    /// A condition did not hold.
    ConditionalCheckFailed,
}

impl Exception {
    /// The exception's name in the API reference.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Validation => "ValidationException",
            Self::Serialization => "SerializationException",
            Self::ConditionalCheckFailed => "ConditionalCheckFailedException",
        }
    }

    /// The namespace the service writes before the name in `__type`, from captured answers.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::Validation => "com.amazon.coral.validate",
            Self::Serialization => "com.amazon.coral.service",
            Self::ConditionalCheckFailed => "com.amazonaws.dynamodb.v20120810",
        }
    }
}

/// An answer of the service that is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceError {
    exception: Exception,
    message: String,
}

/// A result with the service's error.
pub type Result<T, E = ServiceError> = std::result::Result<T, E>;

/// The prefix of many texts.
const INVALID_PARAMETERS: &str = "One or more parameter values were invalid: ";

impl ServiceError {
    /// A `ValidationException`.
    pub fn validation(message: impl Into<String>) -> Self {
        Self { exception: Exception::Validation, message: message.into() }
    }

    /// A `ValidationException` whose text begins with "One or more parameter values were invalid: ".
    pub(crate) fn invalid_parameters(what: impl fmt::Display) -> Self {
        Self::validation(format!("{INVALID_PARAMETERS}{what}"))
    }

    /// A `SerializationException`.
    pub fn serialization(message: impl Into<String>) -> Self {
        Self { exception: Exception::Serialization, message: message.into() }
    }

    /// The answer to a write whose condition did not hold.
    pub fn conditional_check_failed() -> Self {
        Self {
            exception: Exception::ConditionalCheckFailed,
            message: "The conditional request failed".to_owned(),
        }
    }

    /// Which exception.
    pub fn exception(&self) -> Exception {
        self.exception
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same exception with its text changed.
    pub(crate) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        Self { message: change(self.message), ..self }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.exception.name(), self.message)
    }
}

impl std::error::Error for ServiceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_exception_and_text() {
        let error = ServiceError::conditional_check_failed();
        assert_eq!(error.to_string(), "ConditionalCheckFailedException: The conditional request failed");
        assert_eq!(error.exception().namespace(), "com.amazonaws.dynamodb.v20120810");
        let error = ServiceError::invalid_parameters("x");
        assert_eq!(error.message(), "One or more parameter values were invalid: x");
        assert_eq!(error.exception().name(), "ValidationException");
    }
}
