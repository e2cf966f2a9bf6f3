//! What can go wrong with a call, sorted by what the caller should do about it.
//!
//! A refusal for lack of throughput is not an error but an outcome, with a partition, a limit and a time to come back:
//! it lives in `budget`. Wire codes and message texts of the services are mapped at the edge, not here.

use std::fmt;

/// A call that could not be carried out. `kind` says what to do, the message says what and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// What the caller should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call is wrong and will stay wrong: correct the input.
    InvalidInput,
    /// The call exceeds a size limit of the service and can never succeed: make it smaller.
    TooLarge,
    /// The continuation does not belong to this query, table or version: start the query again.
    BadContinuation,
    /// Reading or writing outside this process failed: see the message.
    Io,
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a message for a person.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The input is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The same error, told from further out: `context: message`.
    pub fn within(self, context: impl fmt::Display) -> Self {
        Self { kind: self.kind, message: format!("{context}: {}", self.message) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
