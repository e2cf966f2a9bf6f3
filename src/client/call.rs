//! Calls in flight: how many at once, which wait for a retry, and what they cost so far.
//!
//! Every operation has one of these and asks it first. It does not know what a reply means to the operation.

use super::retry::Retrier;
use super::{Bill, Reply, Request, Response, RetryPolicy};
use crate::clock::Instant;
use crate::cluster::Refusal;
use crate::rng::Seed;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The number of a call within its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Calls that an operation may have under way at once, unless it says otherwise.
pub(super) const WIDTH_DEFAULT: usize = 16;

#[derive(Debug)]
struct Call<D> {
    request: Request<D>,
    attempts: u32,
    waited: Duration,
}

/// What the calls want now.
#[expect(clippy::large_enum_variant, reason = "passed on at once, never stored")]
pub(super) enum CallsNext<D> {
    Send(CallId, Request<D>),
    WaitUntil(Instant),
    Pending,
    /// Nothing under way and nothing to send.
    Idle,
}

#[derive(Debug)]
pub(super) struct Calls<D> {
    retrier: Retrier,
    width: usize,
    next_id: u64,
    calls: BTreeMap<CallId, Call<D>>,
    ready: VecDeque<CallId>,
    waiting: BTreeSet<(Instant, CallId)>,
    in_flight: usize,
    began: Option<Instant>,
    bill: Bill,
}

impl<D: Clone> Calls<D> {
    pub(super) fn new(policy: RetryPolicy, seed: Seed, width: usize) -> Self {
        Self {
            retrier: Retrier::new(policy, seed),
            width: width.max(1),
            next_id: 0,
            calls: BTreeMap::new(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            in_flight: 0,
            began: None,
            bill: Bill::default(),
        }
    }

    /// Takes a request on; it is sent when there is room.
    pub(super) fn submit(&mut self, request: Request<D>) -> CallId {
        let id = CallId(self.next_id);
        self.next_id += 1;
        self.calls.insert(id, Call { request, attempts: 0, waited: Duration::ZERO });
        self.ready.push_back(id);
        id
    }

    pub(super) fn next(&mut self, now: Instant) -> CallsNext<D> {
        self.began.get_or_insert(now);
        while let Some(&(at, id)) = self.waiting.first()
            && at <= now
        {
            self.waiting.pop_first();
            self.ready.push_back(id);
        }
        if self.in_flight < self.width
            && let Some(id) = self.ready.pop_front()
            && let Some(call) = self.calls.get_mut(&id)
        {
            call.attempts += 1;
            self.in_flight += 1;
            match call.attempts {
                1 => self.bill.requests += 1,
                _ => self.bill.retries += 1,
            }
            return CallsNext::Send(id, call.request.clone());
        }
        match self.waiting.first() {
            Some(&(at, _)) => CallsNext::WaitUntil(at),
            None if self.calls.is_empty() => CallsNext::Idle,
            None => CallsNext::Pending,
        }
    }

    /// Takes a reply. `None`: the call will be sent again, or is unknown.
    pub(super) fn deliver(&mut self, id: CallId, reply: Reply<D>, now: Instant) -> Option<Reply<D>> {
        let call = self.calls.get_mut(&id)?;
        self.in_flight = self.in_flight.saturating_sub(1);
        self.bill.elapsed = now.since(self.began.unwrap_or(now));
        match &reply {
            Ok(response) => {
                self.bill.charge += response.charge();
                self.bill.partitions.extend(response.partitions());
                if let Response::Batch(results) = response {
                    let throttled = |r: &&Result<_, Refusal>| matches!(r, Err(Refusal::Throttled(_)));
                    self.bill.throttled += results.iter().filter(throttled).count() as u64;
                }
                self.retrier.succeeded(call.attempts);
            }
            Err(Refusal::Throttled(throttled)) => {
                self.bill.throttled += 1;
                if let Some(wait) = self.retrier.wait(call.attempts, call.waited, throttled.retry_after) {
                    call.waited += wait;
                    self.bill.waited += wait;
                    self.waiting.insert((now.after(wait), id));
                    return None;
                }
            }
            Err(other) => self.bill.charge += other.charge(),
        }
        self.calls.remove(&id);
        Some(reply)
    }

    /// How long to wait before sending members of a batch again that were throttled: a batch is answered, not thrown.
    pub(super) fn batch_wait(&mut self, rounds: u32, waited: Duration, told: Duration) -> Option<Duration> {
        let wait = self.retrier.wait(rounds, waited, told)?;
        self.bill.waited += wait;
        Some(wait)
    }

    pub(super) fn count_retries(&mut self, retries: u64) {
        self.bill.retries += retries;
    }

    pub(super) fn bill(&self) -> Bill {
        Bill { quota_left: self.retrier.quota_left(), ..self.bill.clone() }
    }
}
