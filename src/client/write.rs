//! Writes: one item, an item whose key changed, and many items.

use super::call::{Calls, CallsNext};
use super::{Bill, CallId, Next, Operation, Reply, Request, Response, RetryPolicy};
use crate::clock::Instant;
use crate::cluster::{Refusal, Written};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::key::ItemKey;
use crate::profile::Service;
use crate::rng::Seed;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

fn unexpected() -> Refusal {
    Refusal::Invalid(Error::invalid(
        "the backend answered a write with something that answers another request",
    ))
}

/// Stores or removes one item.
#[derive(Debug)]
pub struct Store<D> {
    calls: Calls<D>,
    outcome: Option<Result<Written<D>, Refusal>>,
}

impl<D: Document> Store<D> {
    /// Stores `item` under `key`; `None` removes what is there.
    pub fn new(key: ItemKey, item: Option<D>, retry: RetryPolicy, seed: Seed) -> Self {
        let mut calls = Calls::new(retry, seed, 1);
        calls.submit(match item {
            Some(item) => Request::Put { key, item },
            None => Request::Delete { key },
        });
        Self { calls, outcome: None }
    }
}

impl<D: Document> Operation for Store<D> {
    type Item = D;
    type Row = Infallible;
    type Output = (Result<Written<D>, Refusal>, Bill);

    fn next(&mut self, now: Instant) -> Next<D, Infallible, Self::Output> {
        match self.calls.next(now) {
            CallsNext::Send(call, request) => Next::Send(call, request),
            CallsNext::WaitUntil(at) => Next::WaitUntil(at),
            CallsNext::Pending => Next::Pending,
            CallsNext::Idle => {
                Next::Done((self.outcome.take().unwrap_or_else(|| Err(unexpected())), self.calls.bill()))
            }
        }
    }

    fn deliver(&mut self, call: CallId, reply: Reply<D>, now: Instant) {
        self.outcome = match self.calls.deliver(call, reply, now) {
            None => return,
            Some(Ok(Response::Written(written))) => Some(Ok(written)),
            Some(Ok(_)) => Some(Err(unexpected())),
            Some(Err(refusal)) => Some(Err(refusal)),
        };
    }
}

/// Moves an item to another key.
///
/// Where the service can, both halves happen or none: DynamoDB anywhere, Cosmos DB within one logical partition.
/// Elsewhere the new item is stored first and the old one removed then, so that at no moment there is none. If the
/// client stops in between, or the removal is refused, both are there: [`MoveOutcome::left_behind`] says so, and removing
/// the old key again is safe at any time.
#[derive(Debug)]
pub struct Move<D> {
    calls: Calls<D>,
    from: ItemKey,
    /// What is still to be sent after the first reply.
    then: Option<Request<D>>,
    stored: bool,
    failed: Option<Refusal>,
}

/// How a move ended.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveOutcome {
    /// The old key, if its item is still there beside the new one.
    pub left_behind: Option<ItemKey>,
    /// Why it did not end as it should.
    pub refusal: Option<Refusal>,
}

impl<D: Document> Move<D> {
    /// Moves what is at `from` to `to`, where it is `item`.
    pub fn new(
        from: ItemKey,
        to: ItemKey,
        item: D,
        service: Service,
        retry: RetryPolicy,
        seed: Seed,
    ) -> Self {
        let mut calls = Calls::new(retry, seed, 1);
        let together = service == Service::DynamoDb || from.partition == to.partition;
        let (first, then) = if from == to {
            (Request::Put { key: to, item }, None)
        } else if together {
            (Request::Move { from: from.clone(), to, item }, None)
        } else {
            (Request::Put { key: to, item }, Some(Request::Delete { key: from.clone() }))
        };
        calls.submit(first);
        Self { calls, from, then, stored: false, failed: None }
    }
}

impl<D: Document> Operation for Move<D> {
    type Item = D;
    type Row = Infallible;
    type Output = (MoveOutcome, Bill);

    fn next(&mut self, now: Instant) -> Next<D, Infallible, Self::Output> {
        match self.calls.next(now) {
            CallsNext::Send(call, request) => Next::Send(call, request),
            CallsNext::WaitUntil(at) => Next::WaitUntil(at),
            CallsNext::Pending => Next::Pending,
            CallsNext::Idle => {
                let refusal = self.failed.take();
                let left_behind = (refusal.is_some() && self.stored).then(|| self.from.clone());
                Next::Done((MoveOutcome { left_behind, refusal }, self.calls.bill()))
            }
        }
    }

    fn deliver(&mut self, call: CallId, reply: Reply<D>, now: Instant) {
        match self.calls.deliver(call, reply, now) {
            None => {}
            Some(Ok(Response::Written(_) | Response::Moved(_))) => {
                if let Some(request) = self.then.take() {
                    self.stored = true;
                    self.calls.submit(request);
                }
            }
            Some(Ok(_)) => self.failed = Some(unexpected()),
            Some(Err(refusal)) => self.failed = Some(refusal),
        }
    }
}

/// Members of one batch: DynamoDB's `BatchWriteItem` takes 25, a Cosmos DB batch 100 of one logical partition.
const DYNAMODB_BATCH: usize = 25;
const COSMOS_BATCH: usize = 100;

/// Writes many items: in batches grouped by partition key, several under way at once. Members that are throttled are
/// grouped anew and sent again; each member's end is told by itself.
#[derive(Debug)]
pub struct Sweep<D> {
    calls: Calls<D>,
    service: Service,
    members: Vec<Member<D>>,
    asked: BTreeMap<CallId, Vec<usize>>,
    /// Members to be sent again, by when.
    again: BTreeSet<(Instant, usize)>,
    to_send: VecDeque<usize>,
    ended: VecDeque<(usize, Result<(), Refusal>)>,
}

#[derive(Debug)]
struct Member<D> {
    key: ItemKey,
    item: Option<D>,
    rounds: u32,
    waited: Duration,
}

impl<D: Document> Sweep<D> {
    /// Writes of these items; `None` removes.
    ///
    /// # Errors
    /// When an item is named twice: which write comes last would be chance.
    pub fn new(
        writes: Vec<(ItemKey, Option<D>)>,
        service: Service,
        width: usize,
        retry: RetryPolicy,
        seed: Seed,
    ) -> Result<Self> {
        let mut order: Vec<usize> = (0..writes.len()).collect();
        order.sort_by(|&a, &b| writes[a].0.cmp(&writes[b].0));
        if let Some(pair) = order.windows(2).find(|pair| writes[pair[0]].0 == writes[pair[1]].0) {
            return Err(Error::invalid(format!(
                "writes {} and {} are of the same item {:?}: which comes last would be chance",
                pair[0], pair[1], writes[pair[0]].0
            )));
        }
        let members = writes
            .into_iter()
            .map(|(key, item)| Member { key, item, rounds: 0, waited: Duration::ZERO })
            .collect();
        Ok(Self {
            calls: Calls::new(retry, seed, width),
            service,
            members,
            asked: BTreeMap::new(),
            again: BTreeSet::new(),
            to_send: order.into(),
            ended: VecDeque::new(),
        })
    }

    /// Groups what is to be sent into batches.
    fn submit_batches(&mut self) {
        let most = match self.service {
            Service::DynamoDb => DYNAMODB_BATCH,
            Service::Cosmos => COSMOS_BATCH,
        };
        // Sorted by key, so that members of one partition share a batch again after some were throttled.
        let mut order: Vec<usize> = std::mem::take(&mut self.to_send).into();
        order.sort_by(|&a, &b| self.members[a].key.cmp(&self.members[b].key));
        let mut batch: Vec<usize> = Vec::new();
        let mut batches = Vec::new();
        for member in order {
            let other = batch.last().is_some_and(|&last| {
                self.service == Service::Cosmos
                    && self.members[last].key.partition != self.members[member].key.partition
            });
            if batch.len() == most || other {
                batches.push(std::mem::take(&mut batch));
            }
            batch.push(member);
        }
        batches.extend((!batch.is_empty()).then_some(batch));
        for batch in batches {
            let again = batch.iter().filter(|&&m| self.members[m].rounds > 0).count();
            self.calls.count_retries(again as u64);
            for &member in &batch {
                self.members[member].rounds += 1;
            }
            let writes =
                batch.iter().map(|&m| (self.members[m].key.clone(), self.members[m].item.clone())).collect();
            let call = self.calls.submit(Request::Batch(writes));
            self.asked.insert(call, batch);
        }
    }
}

impl<D: Document> Operation for Sweep<D> {
    type Item = D;
    /// The number of a write and how it ended, in the order in which they end.
    type Row = (usize, Result<(), Refusal>);
    type Output = Bill;

    fn next(&mut self, now: Instant) -> Next<D, Self::Row, Bill> {
        if let Some(row) = self.ended.pop_front() {
            return Next::Row(row);
        }
        while let Some(&(at, member)) = self.again.first()
            && at <= now
        {
            self.again.pop_first();
            self.to_send.push_back(member);
        }
        if !self.to_send.is_empty() {
            self.submit_batches();
        }
        let soonest = self.again.first().map(|&(at, _)| at);
        match (self.calls.next(now), soonest) {
            (CallsNext::Send(call, request), _) => Next::Send(call, request),
            (CallsNext::WaitUntil(at), Some(soonest)) => Next::WaitUntil(at.min(soonest)),
            (CallsNext::WaitUntil(at), None) => Next::WaitUntil(at),
            (CallsNext::Pending | CallsNext::Idle, Some(soonest)) => Next::WaitUntil(soonest),
            (CallsNext::Pending, None) => Next::Pending,
            (CallsNext::Idle, None) => Next::Done(self.calls.bill()),
        }
    }

    fn deliver(&mut self, call: CallId, reply: Reply<D>, now: Instant) {
        let Some(reply) = self.calls.deliver(call, reply, now) else { return };
        let Some(batch) = self.asked.remove(&call) else { return };
        let results = match reply {
            Ok(Response::Batch(results)) if results.len() == batch.len() => results,
            Ok(_) => batch.iter().map(|_| Err(unexpected())).collect(),
            Err(refusal) => batch.iter().map(|_| Err(refusal.clone())).collect(),
        };
        for (member, result) in batch.into_iter().zip(results) {
            let state = &mut self.members[member];
            let wait = match &result {
                Err(Refusal::Throttled(throttled)) => {
                    self.calls.batch_wait(state.rounds, state.waited, throttled.retry_after)
                }
                _ => None,
            };
            match wait {
                Some(wait) => {
                    state.waited += wait;
                    self.again.insert((now.after(wait), member));
                }
                None => self.ended.push_back((member, result.map(|_| ()))),
            }
        }
    }
}
