//! Query: the entries of one partition key, in the order of the sort key.
//!
//! The engine answers a page for each physical partition. Where a split went through the entries of the key, the request
//! goes on in the next partition, and each partition is charged for what it adds: the sum is that of one page, rounded once.

use super::super::error::ServiceError;
use super::super::item::Item;
use super::super::key_condition::KeyRange;
use super::super::service::entry_bounds;
use super::error::ApiError;
use super::fields::Fields;
use super::read_request::{Operation, ReadRequest};
use super::read_target::{Entries, Resource, Target};
use super::{Answer, Call};
use crate::budget::Capacity;
use crate::charge::{Footprint, PageKind, RequestCharge, dynamodb};
use crate::clock::Instant;
use crate::cluster::{Direction, Query, Refusal};
use crate::document::Document;
use crate::key::{ItemKey, SortKey};
use crate::units::Bytes;
use std::ops::{Bound, RangeBounds};

pub(super) fn query(call: &Call<'_>, mut fields: Fields) -> Answer {
    let direction = match fields.flag("ScanIndexForward")? {
        Some(false) => Direction::Descending,
        _ => Direction::Ascending,
    };
    let request = ReadRequest::parse(&mut fields, Operation::Query)?;
    let target = Target::find(call, &request)?;
    if let Some(start) = &request.start {
        target.check_start(start, false)?;
    }
    let Some(keys) = &request.keys else {
        return Err(ServiceError::validation("Query key condition not supported").into());
    };
    let range = keys.on(target.schema())?;
    let mut bounds = match target.index() {
        None => (range.from.clone(), range.to.clone()),
        Some(_) => entry_bounds(&range),
    };
    if let Some(start) = &request.start {
        let start = target.start(start)?;
        check_inside(&range, &bounds, &start)?;
        match direction {
            Direction::Ascending => bounds.0 = Bound::Excluded(start.sort),
            Direction::Descending => bounds.1 = Bound::Excluded(start.sort),
        }
    }
    target.check_paths(&request, true)?;
    let read = match target.resource {
        Resource::Local(_) => local(&target, &request, &range, bounds, direction, call.now),
        Resource::Table | Resource::Global(_) => {
            pages(&target, &request, &range, bounds, direction, call.now)
        }
    };
    let read = read.map_err(|refusal| target.refused(refusal))?;
    target.answer(&request, read, call.now)
}

/// That a query may begin after `start`.
fn check_inside(
    range: &KeyRange,
    bounds: &(Bound<SortKey>, Bound<SortKey>),
    start: &ItemKey,
) -> Result<(), ApiError> {
    let same = start.partition == range.partition;
    let whole = matches!((&range.from, &range.to), (Bound::Unbounded, Bound::Unbounded));
    let message = match (whole, same) {
        (true, true) => return Ok(()),
        (true, false) => "The provided starting key is outside query boundaries based on provided conditions",
        (false, _) if !(bounds.0.as_ref(), bounds.1.as_ref()).contains(&&start.sort) => {
            "The provided starting key does not match the range key predicate"
        }
        (false, true) => return Ok(()),
        (false, false) => "The query can return at most one row and cannot be restarted",
    };
    Err(ServiceError::validation(message).into())
}

/// Reads on through the physical partitions that have entries of the key, until a page is full.
fn pages(
    target: &Target,
    request: &ReadRequest,
    range: &KeyRange,
    mut bounds: (Bound<SortKey>, Bound<SortKey>),
    direction: Direction,
    now: Instant,
) -> Result<Entries, Refusal> {
    let mut entries: Vec<(ItemKey, Item)> = Vec::new();
    let mut charge = RequestCharge::ZERO;
    loop {
        let mut query = Query::of(range.partition.clone())
            .between(bounds.0.clone(), bounds.1.clone())
            .direction(direction)
            .consistency(request.consistency);
        if let Some(limit) = request.limit {
            query = query.limit(limit.saturating_sub(entries.len()));
        }
        if !entries.is_empty() {
            query = query.on_top_of(size_of(&entries));
        }
        let page = match target.entries().query(&query, now) {
            Ok(page) => page,
            // What was read so far is a page; the next request meets the throttle.
            Err(Refusal::Throttled(_)) if !entries.is_empty() => {
                return Ok(Entries { entries, charge, more: true });
            }
            Err(refusal) => return Err(refusal),
        };
        charge += page.charge;
        let nothing = page.items.is_empty();
        // The page before had more, so an empty one has no room for it.
        let more = page.continuation.is_some() || nothing && !entries.is_empty();
        entries.extend(page.items);
        let full = request.limit.is_some_and(|limit| entries.len() >= limit);
        let last = entries.last().map(|(key, _)| key.sort.clone());
        let (Some(last), false) = (last, !more || nothing || full) else {
            return Ok(Entries { entries, charge, more });
        };
        match direction {
            Direction::Ascending => bounds.0 = Bound::Excluded(last),
            Direction::Descending => bounds.1 = Bound::Excluded(last),
        }
    }
}

/// Reads a local index. Its table keeps all of a key on one partition, which admits and is charged.
fn local(
    target: &Target,
    request: &ReadRequest,
    range: &KeyRange,
    bounds: (Bound<SortKey>, Bound<SortKey>),
    direction: Direction,
    now: Instant,
) -> Result<Entries, Refusal> {
    let least = dynamodb::charge(&Footprint::Page {
        evaluated: Bytes::ZERO,
        items: 0,
        partitions: 1,
        consistency: request.consistency,
        kind: PageKind::Query,
    });
    let layout = target.table.base().layout(now);
    let key = ItemKey { partition: range.partition.clone(), sort: SortKey::none() };
    let ticket = layout.admit(key, Capacity::Read, least, now)?;
    let read = pages(target, request, range, bounds, direction, now)?;
    ticket.leave(read.charge, now);
    Ok(read)
}

fn size_of(entries: &[(ItemKey, Item)]) -> Bytes {
    entries.iter().fold(Bytes::ZERO, |sum, (_, entry)| sum + entry.size())
}
