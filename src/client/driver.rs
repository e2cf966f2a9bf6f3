//! Drivers: what turns operations into calls. Thin on purpose.
//!
//! [`Runner`] runs an operation on any [`Backend`] that answers at once, such as an in-process table, and plays the time
//! that answers take on a clock: with a virtual clock and a latency, requests in parallel cost what they would cost in
//! parallel. An asynchronous SDK needs a loop of the same shape: ask `next`, spawn what it says, `deliver` what comes.

use super::{CallId, Filter, Next, Operation, Record, Reply, Request, Response};
use crate::charge::PageKind;
use crate::clock::{Clock, Instant};
use crate::cluster::{BatchWrite, Refusal, Table, Transaction};
use crate::error::Error;
use crate::profile::Service;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// Something that answers requests.
pub trait Backend {
    /// What it stores.
    type Item;

    /// Answers a request that arrives at `now`.
    fn execute(&self, request: &Request<Self::Item>, now: Instant) -> Reply<Self::Item>;

    /// Whose rules it follows.
    fn service(&self) -> Service;

    /// Parts of the table that are worth scanning side by side.
    fn parts(&self) -> u32;

    /// What the answer to `request` takes beyond the usual latency; asked once, right after the request was executed.
    fn delay(&self, request: &Request<Self::Item>, now: Instant) -> Duration {
        let _ = (request, now);
        Duration::ZERO
    }
}

impl<D: Record> Backend for Table<D> {
    type Item = D;

    fn execute(&self, request: &Request<D>, now: Instant) -> Reply<D> {
        let pass = |filter: &Filter| {
            let filter = filter.clone();
            move |_: &crate::key::ItemKey, item: &D| filter.passes(item)
        };
        Ok(match request {
            Request::Get { key, consistency } => Response::Read(self.get(key, *consistency, now)?),
            Request::Put { key, item } => Response::Written(self.put(key, item.clone(), now)?),
            Request::Delete { key } => Response::Written(self.delete(key, now)?),
            Request::Query(query, filter) => Response::Page(self.query_where(query, pass(filter), now)?),
            Request::Scan(scan, filter) => {
                // A Cosmos DB query with a filter is not a feed: it is priced as a query.
                let kind = if filter.is_empty() { PageKind::Scan } else { PageKind::Query };
                Response::Page(self.scan_where(scan, kind, pass(filter), now)?)
            }
            Request::Batch(writes) => {
                let writes = writes
                    .iter()
                    .map(|(key, item)| match item {
                        Some(item) => BatchWrite::Put(key.clone(), item.clone()),
                        None => BatchWrite::Delete(key.clone()),
                    })
                    .collect();
                Response::Batch(self.write_batch(writes, now)?)
            }
            Request::Move { from, to, item } => {
                let both = Transaction::new().delete(from.clone()).put(to.clone(), item.clone());
                Response::Moved(self.transact(both, now).map_err(|cancelled| cancelled.refusal)?)
            }
        })
    }

    fn service(&self) -> Service {
        self.profile().service()
    }

    fn parts(&self) -> u32 {
        self.partition_count() as u32
    }
}

/// What a step of a runner came to.
#[derive(Clone, Debug)]
pub enum Ran<R, T> {
    /// A row.
    Row(R),
    /// The end.
    Done(T),
}

/// An operation on its way.
#[derive(Debug)]
pub struct Runner<'b, O: Operation, B> {
    operation: O,
    backend: &'b B,
    clock: Clock,
    latency: Duration,
    replies: BTreeMap<CallId, Reply<O::Item>>,
    due: BinaryHeap<Reverse<(Instant, CallId)>>,
}

impl<'b, O: Operation, B: Backend<Item = O::Item>> Runner<'b, O, B> {
    /// Runs `operation` on `backend`; each answer takes `latency` on `clock`.
    pub fn new(operation: O, backend: &'b B, clock: Clock, latency: Duration) -> Self {
        Self { operation, backend, clock, latency, replies: BTreeMap::new(), due: BinaryHeap::new() }
    }

    /// Goes on until there is a row or the end.
    pub fn step(&mut self) -> Ran<O::Row, O::Output> {
        loop {
            let now = self.clock.now();
            while let Some(&Reverse((at, call))) = self.due.peek()
                && at <= now
            {
                self.due.pop();
                if let Some(reply) = self.replies.remove(&call) {
                    self.operation.deliver(call, reply, now);
                }
            }
            let next_reply = self.due.peek().map(|&Reverse((at, _))| at);
            match self.operation.next(now) {
                Next::Row(row) => return Ran::Row(row),
                Next::Done(output) => return Ran::Done(output),
                Next::Send(call, request) => {
                    self.replies.insert(call, self.backend.execute(&request, now));
                    let arrives = now.after(self.latency + self.backend.delay(&request, now));
                    self.due.push(Reverse((arrives, call)));
                }
                Next::WaitUntil(at) => self.wait_until(next_reply.map_or(at, |reply| reply.min(at))),
                Next::Pending => match next_reply {
                    Some(at) => self.wait_until(at),
                    None => unreachable!("an operation waits for a reply only while a request is under way"),
                },
            }
        }
    }

    fn wait_until(&self, at: Instant) {
        let wait = at.since(self.clock.now());
        if wait.is_zero() {
            return;
        }
        if self.clock.is_virtual() {
            self.clock.advance(wait);
        } else {
            std::thread::sleep(wait);
        }
    }
}

/// Runs an operation to its end; rows go to `on_row`.
pub fn run<O: Operation, B: Backend<Item = O::Item>>(
    operation: O,
    backend: &B,
    clock: &Clock,
    latency: Duration,
    mut on_row: impl FnMut(O::Row),
) -> O::Output {
    let mut runner = Runner::new(operation, backend, clock.clone(), latency);
    loop {
        match runner.step() {
            Ran::Row(row) => on_row(row),
            Ran::Done(output) => return output,
        }
    }
}

impl From<crate::key::RowError> for Refusal {
    fn from(error: crate::key::RowError) -> Self {
        Self::Invalid(Error::from(error))
    }
}
