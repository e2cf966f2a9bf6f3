//! Reading all suffixes of a logical key as if they were one, merged in sort order, lazily.
//!
//! ```text
//!   shard 1  ●●●●── more          a row leaves when every shard that may have more has one waiting:
//!   shard 2  ●──── more     ──►   the smallest (or largest) of the heads, ties by shard
//!   shard 3  ●●│ done
//! ```
//!
//! The first requests ask each shard for little: two hundred shards and a page of fifty rows need at most a row or two
//! of each. A shard that runs dry is asked again, for twice as much.
//!
//! A page ends with a continuation: the last row's sort key and shard. It names no physical partition and outlives splits
//! and merges.

use super::call::{Calls, CallsNext};
use super::{Bill, CallId, Filter, Next, Operation, Reply, Request, Response, RetryPolicy};
use crate::charge::Consistency;
use crate::clock::Instant;
use crate::cluster::{Continuation, Cursor, Direction, Query, Refusal, fingerprint};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::key::{ItemKey, PartitionKey, SortKey};
use crate::ring::Token;
use crate::rng::Seed;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Bound;

/// Items that a shard is asked for at once at the most.
const CHUNK_MAX: usize = 1_000;

/// Shards of one fan-out at the most: as many as a suffix range may have values.
const SHARDS_MAX: usize = 1_000_000;

/// What to read from every shard.
#[derive(Clone, Debug)]
pub struct FanOutQuery {
    /// Sort keys from here, ...
    pub from: Bound<SortKey>,
    /// ... to here.
    pub to: Bound<SortKey>,
    /// In this order.
    pub direction: Direction,
    /// Only what passes.
    pub filter: Filter,
    /// Rows of one page at the most; `None` reads to the end.
    pub limit: Option<usize>,
    /// As fresh as this.
    pub consistency: Consistency,
    /// Where the last page ended.
    pub continuation: Option<Continuation>,
}

impl Default for FanOutQuery {
    fn default() -> Self {
        Self {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: Direction::Ascending,
            filter: Filter::all(),
            limit: None,
            consistency: Consistency::Eventual,
            continuation: None,
        }
    }
}

/// One logical partition of the fan-out.
#[derive(Debug)]
struct Shard<D> {
    query: Query,
    buffer: VecDeque<(ItemKey, D)>,
    chunk: usize,
    /// More may come.
    open: bool,
}

/// A lazy k-way merge over logical partitions.
///
/// - Rows come in sort order; equal sort keys in the order of the shards.
/// - Each row comes once, over any number of pages.
#[derive(Debug)]
pub struct FanOut<D> {
    calls: Calls<D>,
    shards: Vec<Shard<D>>,
    asked: BTreeMap<CallId, usize>,
    heads: Heads,
    filter: Filter,
    limit: Option<usize>,
    emitted: usize,
    last: Option<(SortKey, usize)>,
    fingerprint: u64,
    failed: Option<Refusal>,
    /// Shards that are open and have nothing waiting: no row may leave while there are any.
    starving: usize,
}

/// The first waiting row of each shard, the next to leave on top.
#[derive(Debug)]
enum Heads {
    Ascending(BinaryHeap<Reverse<(SortKey, usize)>>),
    Descending(BinaryHeap<(SortKey, Reverse<usize>)>),
}

impl Heads {
    fn push(&mut self, sort: SortKey, shard: usize) {
        match self {
            Self::Ascending(heap) => heap.push(Reverse((sort, shard))),
            Self::Descending(heap) => heap.push((sort, Reverse(shard))),
        }
    }

    fn pop(&mut self) -> Option<(SortKey, usize)> {
        match self {
            Self::Ascending(heap) => heap.pop().map(|Reverse(head)| head),
            Self::Descending(heap) => heap.pop().map(|(sort, Reverse(shard))| (sort, shard)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Ascending(heap) => heap.is_empty(),
            Self::Descending(heap) => heap.is_empty(),
        }
    }
}

impl<D: Document> FanOut<D> {
    /// A fan-out over `keys`, in this order among equal sort keys, with `width` requests under way at the most.
    ///
    /// # Errors
    /// When there are no keys or too many, or the continuation belongs to another fan-out.
    pub fn new(
        keys: &[PartitionKey],
        query: &FanOutQuery,
        width: usize,
        retry: RetryPolicy,
        seed: Seed,
    ) -> Result<Self> {
        if keys.is_empty() || keys.len() > SHARDS_MAX {
            return Err(Error::invalid(format!(
                "a fan-out is over 1 to {SHARDS_MAX} keys, not {}",
                keys.len()
            )));
        }
        let fingerprint = question(keys, query);
        let resumed = match &query.continuation {
            None => None,
            Some(continuation) => {
                let cursor = continuation.cursor_for(fingerprint)?;
                let shard = usize::try_from(cursor.token.leading_u128()).unwrap_or(usize::MAX);
                let sort = cursor.sort.clone().filter(|_| shard < keys.len()).ok_or_else(|| {
                    Error::new(
                        ErrorKind::BadContinuation,
                        "this continuation was altered: start the fan-out without it",
                    )
                })?;
                Some((sort, shard))
            }
        };
        let first_chunk = match query.limit {
            // Twice an even share, as rows are rarely spread evenly, and one more, so that a shard that gives a row is
            // not asked again at once for the one after.
            Some(limit) => (limit.max(1).saturating_mul(2).div_ceil(keys.len()) + 1).min(CHUNK_MAX),
            None => CHUNK_MAX,
        };
        let mut fan_out = Self {
            calls: Calls::new(retry, seed, width),
            shards: Vec::with_capacity(keys.len()),
            asked: BTreeMap::new(),
            heads: match query.direction {
                Direction::Ascending => Heads::Ascending(BinaryHeap::new()),
                Direction::Descending => Heads::Descending(BinaryHeap::new()),
            },
            filter: query.filter.clone(),
            limit: query.limit.map(|limit| limit.max(1)),
            emitted: 0,
            last: None,
            fingerprint,
            failed: None,
            starving: keys.len(),
        };
        for (shard, key) in keys.iter().enumerate() {
            let (mut from, mut to) = (query.from.clone(), query.to.clone());
            if let Some((sort, last_shard)) = &resumed {
                // Rows with the last row's sort key have left from the shards up to its own.
                let after = if shard <= *last_shard {
                    Bound::Excluded(sort.clone())
                } else {
                    Bound::Included(sort.clone())
                };
                match query.direction {
                    Direction::Ascending => from = after,
                    Direction::Descending => to = after,
                }
            }
            fan_out.shards.push(Shard {
                query: Query::of(key.clone())
                    .between(from, to)
                    .direction(query.direction)
                    .consistency(query.consistency),
                buffer: VecDeque::new(),
                chunk: first_chunk,
                open: true,
            });
            fan_out.ask(shard);
        }
        Ok(fan_out)
    }

    fn ask(&mut self, shard: usize) {
        let state = &self.shards[shard];
        let request = Request::Query(state.query.clone().limit(state.chunk), self.filter.clone());
        let call = self.calls.submit(request);
        self.asked.insert(call, shard);
    }

    fn take_row(&mut self) -> Option<(ItemKey, D)> {
        let (sort, shard) = self.heads.pop()?;
        let state = &mut self.shards[shard];
        let row = state.buffer.pop_front()?;
        match state.buffer.front() {
            Some((next, _)) => self.heads.push(next.sort.clone(), shard),
            None if state.open => {
                state.chunk = (state.chunk * 2).min(CHUNK_MAX);
                self.starving += 1;
                let wanted = self.limit.is_none_or(|limit| self.emitted + 1 < limit);
                if wanted {
                    self.ask(shard);
                }
            }
            None => {}
        }
        self.last = Some((sort, shard));
        self.emitted += 1;
        Some(row)
    }

    fn end(&mut self) -> (Result<Option<Continuation>, Refusal>, Bill) {
        let bill = self.calls.bill();
        if let Some(refusal) = self.failed.take() {
            return (Err(refusal), bill);
        }
        let more = !self.heads.is_empty() || self.starving > 0;
        let continuation = self.last.take().filter(|_| more).map(|(sort, shard)| {
            let cursor = Cursor { token: Token::from_u128(shard as u128), key: None, sort: Some(sort) };
            Continuation::new(self.fingerprint, cursor)
        });
        (Ok(continuation), bill)
    }
}

impl<D: Document> Operation for FanOut<D> {
    type Item = D;
    type Row = (ItemKey, D);
    /// Where the next page begins, or why reading stopped; and what it cost.
    type Output = (Result<Option<Continuation>, Refusal>, Bill);

    fn next(&mut self, now: Instant) -> Next<D, Self::Row, Self::Output> {
        let full = self.limit.is_some_and(|limit| self.emitted >= limit);
        if full || self.failed.is_some() {
            return Next::Done(self.end());
        }
        if self.starving == 0
            && let Some(row) = self.take_row()
        {
            return Next::Row(row);
        }
        match self.calls.next(now) {
            CallsNext::Send(call, request) => Next::Send(call, request),
            CallsNext::WaitUntil(at) => Next::WaitUntil(at),
            CallsNext::Pending => Next::Pending,
            CallsNext::Idle => Next::Done(self.end()),
        }
    }

    fn deliver(&mut self, call: CallId, reply: Reply<D>, now: Instant) {
        let Some(reply) = self.calls.deliver(call, reply, now) else { return };
        let Some(shard) = self.asked.remove(&call) else { return };
        match reply {
            Ok(Response::Page(page)) => {
                let state = &mut self.shards[shard];
                state.open = page.continuation.is_some();
                if let Some(continuation) = page.continuation {
                    state.query = state.query.clone().after(continuation);
                }
                state.buffer.extend(page.items);
                match state.buffer.front() {
                    Some((head, _)) => {
                        self.heads.push(head.sort.clone(), shard);
                        self.starving -= 1;
                    }
                    // A page may hold nothing that passes the filter and still not be the last.
                    None if state.open => {
                        state.chunk = (state.chunk * 2).min(CHUNK_MAX);
                        self.ask(shard);
                    }
                    None => self.starving -= 1,
                }
            }
            Ok(_) => {
                let error = Error::invalid("the backend answered a query with something else than a page");
                self.failed.get_or_insert(Refusal::Invalid(error));
            }
            Err(refusal) => {
                self.failed.get_or_insert(refusal);
            }
        }
    }
}

/// What makes two fan-outs the same question.
fn question(keys: &[PartitionKey], query: &FanOutQuery) -> u64 {
    let bound = |bound: &Bound<SortKey>| match bound {
        Bound::Unbounded => vec![0],
        Bound::Included(sort) => [&[1], sort.as_bytes()].concat(),
        Bound::Excluded(sort) => [&[2], sort.as_bytes()].concat(),
    };
    let (from, to, filter) = (bound(&query.from), bound(&query.to), query.filter.to_string());
    let direction = [query.direction as u8];
    let mut parts: Vec<&[u8]> = vec![b"fan-out", &from, &to, filter.as_bytes(), &direction];
    parts.extend(keys.iter().map(PartitionKey::as_bytes));
    fingerprint(&parts)
}
