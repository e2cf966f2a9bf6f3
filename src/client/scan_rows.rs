//! Reading everything that passes a filter: parts of the table side by side, rows in the order of the parts.
//!
//! Each part has at most one page under way or waiting, so that memory is bounded by width and page size.

use super::call::{Calls, CallsNext};
use super::{Bill, CallId, Filter, Next, Operation, Reply, Request, Response, RetryPolicy};
use crate::clock::Instant;
use crate::cluster::{Refusal, Scan};
use crate::document::Document;
use crate::error::Error;
use crate::key::ItemKey;
use crate::rng::Seed;
use std::collections::{BTreeMap, VecDeque};

/// A filtered scan over several parts of a table.
#[derive(Debug)]
pub struct ScanRows<D> {
    calls: Calls<D>,
    asked: BTreeMap<CallId, usize>,
    parts: Vec<Part<D>>,
    /// The first part that still has rows to give.
    current: usize,
    /// The first part that was never asked.
    fresh: usize,
    width: usize,
    filter: Filter,
    failed: Option<Refusal>,
}

#[derive(Debug)]
struct Part<D> {
    scan: Scan,
    buffer: VecDeque<(ItemKey, D)>,
    asked: bool,
    open: bool,
}

impl<D: Document> ScanRows<D> {
    /// A scan over these parts, `width` of them at once.
    pub fn new(parts: Vec<Scan>, filter: Filter, width: usize, retry: RetryPolicy, seed: Seed) -> Self {
        let parts = parts
            .into_iter()
            .map(|scan| Part { scan, buffer: VecDeque::new(), asked: false, open: true })
            .collect();
        let width = width.max(1);
        Self {
            calls: Calls::new(retry, seed, width),
            asked: BTreeMap::new(),
            parts,
            current: 0,
            fresh: 0,
            width,
            filter,
            failed: None,
        }
    }

    fn ask(&mut self, part: usize) {
        let state = &mut self.parts[part];
        if state.open && !state.asked && state.buffer.is_empty() {
            state.asked = true;
            let call = self.calls.submit(Request::Scan(state.scan.clone(), self.filter.clone()));
            self.asked.insert(call, part);
        }
    }
}

impl<D: Document> Operation for ScanRows<D> {
    type Item = D;
    type Row = (ItemKey, D);
    type Output = (Result<(), Refusal>, Bill);

    fn next(&mut self, now: Instant) -> Next<D, Self::Row, Self::Output> {
        if let Some(refusal) = self.failed.take() {
            return Next::Done((Err(refusal), self.calls.bill()));
        }
        while let Some(part) = self.parts.get_mut(self.current) {
            if let Some(row) = part.buffer.pop_front() {
                return Next::Row(row);
            }
            if part.open {
                break;
            }
            self.current += 1;
        }
        if self.current < self.parts.len() {
            self.ask(self.current);
        }
        while self.fresh < self.parts.len() && self.fresh < self.current + self.width {
            self.ask(self.fresh);
            self.fresh += 1;
        }
        match self.calls.next(now) {
            CallsNext::Send(call, request) => Next::Send(call, request),
            CallsNext::WaitUntil(at) => Next::WaitUntil(at),
            CallsNext::Pending => Next::Pending,
            CallsNext::Idle => Next::Done((Ok(()), self.calls.bill())),
        }
    }

    fn deliver(&mut self, call: CallId, reply: Reply<D>, now: Instant) {
        let Some(reply) = self.calls.deliver(call, reply, now) else { return };
        let Some(part) = self.asked.remove(&call) else { return };
        let state = &mut self.parts[part];
        state.asked = false;
        match reply {
            Ok(Response::Page(page)) => {
                state.buffer.extend(page.items);
                state.open = page.continuation.is_some();
                if let Some(continuation) = page.continuation {
                    state.scan = state.scan.clone().after(continuation);
                }
            }
            Ok(_) => {
                let error = Error::invalid("the backend answered a scan with something else than a page");
                self.failed.get_or_insert(Refusal::Invalid(error));
            }
            Err(refusal) => {
                self.failed.get_or_insert(refusal);
            }
        }
    }
}
