//! Scan: all entries of a table or an index, or those of one segment, in the order of the ring.

use super::super::item::Item;
use super::fields::Fields;
use super::read_request::{Operation, ReadRequest, bad_start};
use super::read_target::{Entries, Resource, Target};
use super::{Answer, Call};
use crate::budget::Capacity;
use crate::charge::{Footprint, PageKind, RequestCharge, dynamodb};
use crate::clock::Instant;
use crate::cluster::{Continuation, Refusal, Scan};
use crate::document::Document;
use crate::key::{ItemKey, SortKey};
use crate::units::{Bytes, ReadUnits};

pub(super) fn scan(call: &Call<'_>, mut fields: Fields) -> Answer {
    let request = ReadRequest::parse(&mut fields, Operation::Scan)?;
    let target = Target::find(call, &request)?;
    let mut from = None;
    if let Some(start) = &request.start {
        target.check_start(start, true)?;
    }
    target.check_paths(&request, false)?;
    if let Some(start) = &request.start {
        let start = target.start(start)?;
        let position = target.entries().scan_position(&request.part(), &start);
        from = position.map_err(|error| target.refused(error.into()))?;
        if let (None, Some((segment, total))) = (&from, request.segment) {
            return Err(bad_start(&format!(
                "Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: {total} \
                 Segment: {segment}"
            )));
        }
    }
    let read = entries(&target, &request, from, call.now);
    let mut read = read.map_err(|refusal| target.refused(refusal))?;
    if matches!(target.resource, Resource::Local(_)) {
        draw(&target, &request, &mut read, call.now).map_err(|refusal| target.refused(refusal))?;
    }
    target.answer(&request, read, call.now)
}

/// A page of entries. One that was throttled before anything was found tells no position to go on from, so the request is
/// throttled then; what it has searched is paid for.
fn entries(
    target: &Target,
    request: &ReadRequest,
    mut from: Option<Continuation>,
    now: Instant,
) -> Result<Entries, Refusal> {
    let mut charge = RequestCharge::ZERO;
    loop {
        let mut scan = Scan::of(request.part()).consistency(request.consistency);
        if let Some(limit) = request.limit {
            scan = scan.limit(limit);
        }
        if let Some(from) = from {
            scan = scan.after(from);
        }
        let page = target.entries().scan(&scan, now)?;
        charge += page.charge;
        match page.continuation {
            Some(next) if page.items.is_empty() => from = Some(next),
            next => return Ok(Entries { entries: page.items, charge, more: next.is_some() }),
        }
    }
}

/// Charges what was read of a local index to the partitions of its table that have the keys, in turn: pages are rounded
/// once, partitions pay as the sum grows. Where one has no room the page ends. A page without entries is told its price,
/// which nothing is there to pay.
fn draw(target: &Target, request: &ReadRequest, read: &mut Entries, now: Instant) -> Result<(), Refusal> {
    let price = |evaluated: Bytes| {
        let (items, partitions, kind) = (0, 1, PageKind::Scan);
        let consistency = request.consistency;
        dynamodb::charge(&Footprint::Page { evaluated, items, partitions, consistency, kind })
    };
    let layout = target.table.base().layout(now);
    let base_key =
        |entry: &(ItemKey, Item)| ItemKey { partition: entry.0.partition.clone(), sort: SortKey::none() };
    let (mut evaluated, mut paid) = (Bytes::ZERO, RequestCharge::ZERO);
    let mut at = 0;
    while let Some(first) = read.entries.get(at) {
        let partition = target.table.base().partition_of(&base_key(first));
        let run = read.entries[at..]
            .iter()
            .take_while(|entry| target.table.base().partition_of(&base_key(entry)) == partition);
        let (mut n, mut bytes) = (0, Bytes::ZERO);
        for (_, entry) in run {
            n += 1;
            bytes += entry.size();
        }
        let ticket = match layout.admit(base_key(first), Capacity::Read, price(Bytes::ZERO), now) {
            Ok(ticket) => ticket,
            Err(throttled) if at == 0 => return Err(throttled.into()),
            Err(_) => {
                read.entries.truncate(at);
                read.more = true;
                break;
            }
        };
        evaluated += bytes;
        let total = price(evaluated);
        let own = total.read.milli().saturating_sub(paid.read.milli());
        ticket.leave(RequestCharge::read(ReadUnits::from_milli(own)), now);
        paid = total;
        // Splits between the two looks leave at least the first entry in its run.
        at += n.max(1);
    }
    if !read.entries.is_empty() {
        read.charge = paid;
    }
    Ok(())
}
