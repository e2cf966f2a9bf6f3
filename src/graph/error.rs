//! Why a traversal ended early, and what it had done by then.
//!
//! A traversal is no transaction (Cosmos DB Gremlin, "Support": transactions are not supported). So every error says
//! what was spent, which elements were written, and which of the failing step's remain to be written. Status codes and
//! the service's message frame belong to the wire.

use super::element::ElementKey;
use crate::budget::Throttled;
use crate::charge::RequestCharge;
use crate::cluster::Refusal;
use crate::error::Error;
use std::fmt;

/// What a traversal had done when it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// The step that could not go on, as Gremlin spells it; empty when nothing had begun.
    pub step: &'static str,
    /// What was spent.
    pub charge: RequestCharge,
    /// Requests sent to physical partitions, the failing one included.
    pub requests: u64,
    /// Elements written or removed, in order. They stay so.
    pub written: Vec<ElementKey>,
    /// Elements that the failing step has not written or removed yet. For `addE`, the sources without their edge, also when
    /// it was a step inside that could not find the ends; of a property, the element that has it.
    pub remaining: Vec<ElementKey>,
}

/// A traversal that was not carried out to its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GraphError {
    /// No throughput now: come back when it says.
    Throttled(Throttled, Box<Done>),
    /// Fan-outs are refused here, and this step needs one: give the partition key, or store an edge in each direction.
    FanOut(Box<Done>),
    /// There is a document with this id in this logical partition: choose another id, or change that one.
    Exists(ElementKey, Box<Done>),
    /// The table refused for another reason: a transaction is in the way, or the logical partition is full.
    Refused(Refusal, Box<Done>),
    /// The traversal is wrong, or over a limit: correct it.
    Invalid(Error, Box<Done>),
}

impl GraphError {
    /// What the traversal had done by then.
    pub fn done(&self) -> &Done {
        match self {
            Self::Throttled(_, done)
            | Self::FanOut(done)
            | Self::Exists(_, done)
            | Self::Refused(_, done)
            | Self::Invalid(_, done) => done,
        }
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.done();
        if !done.step.is_empty() {
            write!(f, "{}(): ", done.step)?;
        }
        match self {
            Self::Throttled(throttled, _) => throttled.fmt(f)?,
            Self::FanOut(_) => f.write_str(
                "this step asks every physical partition, and fan-outs are refused: give the partition key, or store \
                 an edge in each direction",
            )?,
            // The service's text for 409.
            Self::Exists(key, _) => {
                write!(f, "Resource with specified id or name already exists: {key}")?;
            }
            Self::Refused(refusal, _) => refusal.fmt(f)?,
            Self::Invalid(error, _) => error.fmt(f)?,
        }
        if !done.charge.is_zero() {
            write!(f, " (after {} in {} requests)", done.charge, done.requests)?;
        }
        if !done.written.is_empty() || !done.remaining.is_empty() {
            write!(f, "; {} elements were written", done.written.len())?;
            write!(f, ", {} remain", done.remaining.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for GraphError {}

/// Why a step could not go on, before it is known what had been done.
#[derive(Debug)]
pub(super) enum Fault {
    Throttled(Throttled),
    FanOut,
    Exists(ElementKey),
    Refused(Refusal),
    Invalid(Error),
}

/// A step's result.
pub(super) type Outcome<T> = Result<T, Fault>;

impl Fault {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(Error::invalid(message))
    }

    pub(super) fn after(self, done: Done) -> GraphError {
        let done = Box::new(done);
        match self {
            Self::Throttled(throttled) => GraphError::Throttled(throttled, done),
            Self::FanOut => GraphError::FanOut(done),
            Self::Exists(key) => GraphError::Exists(key, done),
            Self::Refused(refusal) => GraphError::Refused(refusal, done),
            Self::Invalid(error) => GraphError::Invalid(error, done),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Throttled(throttled) => Self::Throttled(throttled),
            Refusal::Invalid(error) => Self::Invalid(error),
            other => Self::Refused(other),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}
