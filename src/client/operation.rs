//! The shape of every client operation: a state machine that says what to do next.

use super::{CallId, Reply, Request};
use crate::clock::Instant;

/// What an operation wants now.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "acted upon at once, never stored")]
pub enum Next<D, R, T> {
    /// Send this request and hand its reply back under this number. Requests may be under way at once.
    Send(CallId, Request<D>),
    /// Nothing to do before this moment, unless a reply comes first.
    WaitUntil(Instant),
    /// Nothing to do before a reply comes.
    Pending,
    /// A row of the result.
    Row(R),
    /// The end.
    Done(T),
}

/// A state machine without I/O.
///
/// A driver calls [`next`](Self::next) until it is done, sends what it says, and delivers replies as they come, in any
/// order. After `Done` there is nothing more to ask.
pub trait Operation {
    /// The items that are sent and received.
    type Item;
    /// What comes before the end, one at a time.
    type Row;
    /// What comes at the end.
    type Output;

    /// What to do now.
    fn next(&mut self, now: Instant) -> Next<Self::Item, Self::Row, Self::Output>;

    /// Takes the reply to a request.
    fn deliver(&mut self, call: CallId, reply: Reply<Self::Item>, now: Instant);
}
