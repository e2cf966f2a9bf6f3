//! Scans: everything, or a part of the ring, in token order.

use super::continuation::{Cursor, fingerprint};
use super::{Continuation, Page, Refusal, Table};
use crate::budget::{Capacity, PartitionId};
use crate::charge::{Consistency, Footprint, PageKind, RequestCharge};
use crate::clock::Instant;
use crate::document::Document;
use crate::error::{Error, Result as CrateResult};
use crate::key::{ItemKey, PartitionKey, SortKey};
use crate::partition::PhysicalPartition;
use crate::profile::Service;
use crate::ring::{RingPoint, TokenRange};
use crate::store::{Retired, first_entry};
use crate::units::{Bytes, ReadUnits, RequestUnits, WriteUnits};
use std::ops::Bound;

/// The part of a table that a scan covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScanPart {
    /// All of it.
    #[default]
    All,
    /// One of several equal segments of the ring, for scans in parallel.
    Segment {
        /// Which, from zero.
        index: u32,
        /// Of how many.
        of: u32,
    },
    /// A range of the ring.
    Range(TokenRange),
}

/// A question about a whole table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    part: ScanPart,
    limit: Option<usize>,
    consistency: Consistency,
    continuation: Option<Continuation>,
}

impl Scan {
    /// A scan of this part.
    pub fn of(part: ScanPart) -> Self {
        Self { part, ..Self::default() }
    }

    /// At most this many items a page; zero counts as one.
    pub fn limit(self, items: usize) -> Self {
        Self { limit: Some(items.max(1)), ..self }
    }

    /// As fresh as this.
    pub fn consistency(self, consistency: Consistency) -> Self {
        Self { consistency, ..self }
    }

    /// Beginning where another page of the same scan ended.
    pub fn after(self, continuation: Continuation) -> Self {
        Self { continuation: Some(continuation), ..self }
    }

    /// The part it reads. This and what follows is for a backend that sends the scan elsewhere.
    pub fn get_part(&self) -> &ScanPart {
        &self.part
    }

    /// Items of one page at the most.
    pub fn get_limit(&self) -> Option<usize> {
        self.limit
    }

    /// How fresh it must be.
    pub fn get_consistency(&self) -> Consistency {
        self.consistency
    }

    /// Where it begins.
    pub fn get_continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }
}

/// Segments of a scan at the most (API reference, Scan, "TotalSegments").
const SEGMENTS_MAX: u32 = 1_000_000;

/// Index entries fetched under one lock. A scan holds no lock while it reads items.
const CHUNK: usize = 64;

impl<D: Document> Table<D> {
    /// Reads one page in token order. A page may go on through several physical partitions, and each is charged for
    /// what was read there.
    ///
    /// # Errors
    /// [`Refusal::Throttled`] when the first partition it needs has no read throughput left; when a later one has
    /// none, the page ends there. [`Refusal::Invalid`] for a segment that is not one, or a continuation of another
    /// scan.
    pub fn scan(&self, scan: &Scan, now: Instant) -> Result<Page<D>, Refusal> {
        self.scan_where(scan, PageKind::Scan, |_, _| true, now)
    }

    /// Reads one page of the items that `filter` lets through, in token order.
    ///
    /// DynamoDB filters what it has read: items that do not pass are charged, and count towards the limit ("Filter
    /// expressions for scan": applied "after the scan finishes"). Cosmos DB asks its index: only what passes is read,
    /// charged and counted (*approximated*: as if an index served every filter).
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_where(
        &self,
        scan: &Scan,
        kind: PageKind,
        filter: impl Fn(&ItemKey, &D) -> bool,
        now: Instant,
    ) -> Result<Page<D>, Refusal> {
        self.keep_up(now);
        let part = self.resolve(&scan.part)?;
        let fingerprint = fingerprint(&[b"scan", self.name().as_bytes(), part.to_string().as_bytes()]);
        let mut progress = Progress {
            fingerprint,
            cursor: match &scan.continuation {
                Some(continuation) => continuation.cursor_for(fingerprint)?.clone(),
                None => {
                    Cursor { token: part.from().token.clone(), key: None, sort: part.from().sort.clone() }
                }
            },
            resumed: scan
                .continuation
                .as_ref()
                .is_some_and(|c| c.cursor_for(fingerprint).is_ok_and(|cursor| cursor.key.is_some())),
            items: Vec::new(),
            read: 0,
            evaluated: Bytes::ZERO,
            charge: RequestCharge::ZERO,
            searched: 0,
            partitions: Vec::new(),
        };
        'maps: loop {
            let map = self.map.load_full();
            let rest = TokenRange::new(progress.point(), part.to().cloned());
            let Ok(rest) = rest else { return Ok(progress.finish()) };
            for index in map.overlapping(&rest) {
                let partition = &map.partitions()[index];
                match self.scan_partition(scan, kind, &filter, &part, partition, &mut progress, now)? {
                    Visit::Done => {}
                    Visit::PageFull => return Ok(progress.stop_here()),
                    Visit::Throttled(refusal) if progress.partitions.is_empty() => return Err(refusal),
                    Visit::Throttled(_) => return Ok(progress.stop_here()),
                    Visit::Retired => {
                        std::thread::yield_now();
                        continue 'maps;
                    }
                }
                let Some(end) = partition.range().to() else { return Ok(progress.finish()) };
                progress.cursor = Cursor { token: end.token.clone(), key: None, sort: end.sort.clone() };
                progress.resumed = false;
            }
            return Ok(progress.finish());
        }
    }

    /// Where a scan of this part goes on after an item, whether or not it is still there; `None` when the item lies in
    /// another part.
    ///
    /// # Errors
    /// When the part is none.
    pub fn scan_position(&self, part: &ScanPart, after: &ItemKey) -> CrateResult<Option<Continuation>> {
        let part = self.resolve(part)?;
        let token = self.token(&after.partition);
        if !part.contains(&token, &after.sort) {
            return Ok(None);
        }
        let fingerprint = fingerprint(&[b"scan", self.name().as_bytes(), part.to_string().as_bytes()]);
        let key = Some(after.partition.key_bytes().clone());
        Ok(Some(Continuation::new(fingerprint, Cursor { token, key, sort: Some(after.sort.clone()) })))
    }

    /// Reads on in one partition, from the cursor to the end of its range.
    #[expect(
        clippy::too_many_arguments,
        reason = "one page's question, place and progress; a struct would be read once"
    )]
    fn scan_partition(
        &self,
        scan: &Scan,
        kind: PageKind,
        filter: &impl Fn(&ItemKey, &D) -> bool,
        part: &TokenRange,
        partition: &PhysicalPartition,
        progress: &mut Progress<D>,
        now: Instant,
    ) -> Result<Visit, Refusal> {
        let Some(range) = partition.range().intersection(part) else { return Ok(Visit::Done) };
        let price = |evaluated, items, partitions| {
            let consistency = scan.consistency;
            self.charge(&Footprint::Page { evaluated, items, partitions, consistency, kind })
        };
        let admitted = match partition.admit(Capacity::Read, now, || price(Bytes::ZERO, 0, 1)) {
            Ok(admitted) => admitted,
            Err(throttled) => return Ok(Visit::Throttled(throttled.into())),
        };
        let read_before = progress.read;
        // A page counts where it begins.
        let sort = progress.cursor.sort.clone().unwrap_or_else(SortKey::none);
        partition.sample(&progress.cursor.token, &sort, now);
        let visit = self.read_range(scan, filter, &range, partition, progress);
        let gave_way = matches!(visit, Visit::Retired);
        if gave_way && progress.read == read_before {
            // Nothing was read here, and waiting for the successors costs nothing.
            drop(admitted);
            return Ok(visit);
        }
        // A continuation inside a partition has searched it before; only a new one counts.
        let searched = progress.searched + u32::from(!progress.resumed);
        let total = price(progress.evaluated, progress.read as u64, searched);
        let own = minus(&total, &progress.charge);
        admitted.settle(&own, now);
        progress.searched = searched;
        // The successor holds the rest of what was searched here.
        progress.resumed |= gave_way;
        progress.charge = total;
        if progress.partitions.last() != Some(&partition.id()) {
            progress.partitions.push(partition.id());
        }
        Ok(visit)
    }

    fn read_range(
        &self,
        scan: &Scan,
        filter: &impl Fn(&ItemKey, &D) -> bool,
        range: &TokenRange,
        partition: &PhysicalPartition,
        progress: &mut Progress<D>,
    ) -> Visit {
        let indexed = self.rules.service() == Service::Cosmos;
        let mut from = match &progress.cursor.key {
            Some(key) => Bound::Included((progress.cursor.token.clone(), key.clone())),
            None => Bound::Included(first_entry(progress.cursor.token.clone())),
        };
        loop {
            let Ok(chunk) = partition.index().chunk(from.as_ref(), CHUNK) else {
                let Retired = Retired;
                return Visit::Retired;
            };
            let Some(last) = chunk.last().cloned() else { return Visit::Done };
            let end = chunk.len() < CHUNK;
            for (token, key) in chunk {
                if range.to().is_some_and(|to| to.token < token || (to.token == token && to.sort.is_none())) {
                    return Visit::Done;
                }
                let Some(collection) = self.directory.get_bytes(&key) else { continue };
                let after = match &progress.cursor {
                    Cursor { token: t, key: Some(k), sort: Some(sort) } if *t == token && *k == key => {
                        Bound::Excluded(sort.clone())
                    }
                    Cursor { token: t, key: None, sort: Some(sort) } if *t == token => {
                        Bound::Included(sort.clone())
                    }
                    _ => Bound::Unbounded,
                };
                for (sort, item) in collection.range(after.as_ref(), Bound::Unbounded) {
                    if !range.contains(&token, sort) {
                        // Below the range when a split went through the collection; above it nothing more follows.
                        if range.from().is_after(&token, sort) { continue } else { break }
                    }
                    let item_key =
                        ItemKey { partition: PartitionKey::from_key_bytes(key.clone()), sort: sort.clone() };
                    let passes = filter(&item_key, item);
                    if passes || !indexed {
                        let size = item.size();
                        let full = scan.limit.is_some_and(|limit| progress.read >= limit)
                            || (progress.read > 0 && progress.evaluated + size > self.rules.page_max());
                        if full {
                            return Visit::PageFull;
                        }
                        progress.read += 1;
                        progress.evaluated += size;
                    }
                    progress.cursor =
                        Cursor { token: token.clone(), key: Some(key.clone()), sort: Some(sort.clone()) };
                    if passes {
                        progress.items.push((item_key, item.clone()));
                    }
                }
            }
            if end {
                return Visit::Done;
            }
            from = Bound::Excluded(last);
        }
    }

    /// The range of the ring that a part stands for.
    fn resolve(&self, part: &ScanPart) -> CrateResult<TokenRange> {
        match part {
            ScanPart::All => Ok(TokenRange::ALL),
            ScanPart::Range(range) => Ok(range.clone()),
            ScanPart::Segment { index, of } if *of > 0 && *of <= SEGMENTS_MAX && index < of => {
                let bound = |i: u32| RingPoint::before(self.rules.placement().even_bound(*of, i + 1));
                let from = if *index == 0 { RingPoint::START } else { bound(index - 1) };
                let to = (index + 1 < *of).then(|| bound(*index));
                TokenRange::new(from, to)
            }
            ScanPart::Segment { index, of } => Err(Error::invalid(format!(
                "segment {index} of {of}: there are 1 to {SEGMENTS_MAX} segments, numbered from zero"
            ))),
        }
    }
}

/// How reading in one partition ended.
enum Visit {
    Done,
    PageFull,
    Throttled(Refusal),
    /// The partition gave way to others meanwhile: go on with the next map.
    Retired,
}

/// What a page has so far.
struct Progress<D> {
    fingerprint: u64,
    cursor: Cursor,
    /// Whether the cursor lies inside a partition that an earlier page searched.
    resumed: bool,
    items: Vec<(ItemKey, D)>,
    /// Items read, whether or not they passed the filter.
    read: usize,
    evaluated: Bytes,
    charge: RequestCharge,
    searched: u32,
    partitions: Vec<PartitionId>,
}

impl<D: Document> Progress<D> {
    /// Where on the ring reading goes on.
    fn point(&self) -> RingPoint {
        RingPoint { token: self.cursor.token.clone(), sort: self.cursor.sort.clone() }
    }

    fn stop_here(self) -> Page<D> {
        let continuation = Some(Continuation::new(self.fingerprint, self.cursor));
        Page { items: self.items, continuation, charge: self.charge, partitions: self.partitions }
    }

    fn finish(self) -> Page<D> {
        Page { items: self.items, continuation: None, charge: self.charge, partitions: self.partitions }
    }
}

/// What the last partition adds to the charge of a page: pages are rounded once, partitions pay as the sum grows.
pub(super) fn minus(total: &RequestCharge, before: &RequestCharge) -> RequestCharge {
    RequestCharge {
        read: ReadUnits::from_milli(total.read.milli().saturating_sub(before.read.milli())),
        write: WriteUnits::from_milli(total.write.milli().saturating_sub(before.write.milli())),
        request: RequestUnits::from_milli(total.request.milli().saturating_sub(before.request.milli())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use serde_json::{Value, json};

    #[test]
    fn a_scan_goes_on_after_an_item_that_is_gone_and_only_in_its_segment() {
        let now = Instant::START;
        let table: Table<Value> = Table::new("t", Profile::dynamodb_on_demand(), now).unwrap();
        let key = |n: u64| ItemKey::new(format!("k{n}"), 0_u64);
        (0..20).for_each(|n| drop(table.put(&key(n), json!(n), now).unwrap()));
        let all = table.scan(&Scan::default(), now).unwrap().items;
        let gone = all[7].0.clone();
        table.delete(&gone, now).unwrap();
        let position = table.scan_position(&ScanPart::All, &gone).unwrap().unwrap();
        let rest = table.scan(&Scan::default().after(position), now).unwrap().items;
        assert_eq!(rest, all[8..]);
        let of = SEGMENTS_MAX;
        let within = |index| table.scan_position(&ScanPart::Segment { index, of }, &gone).unwrap().is_some();
        let token = table.token(&gone.partition).leading_u128();
        let own = (token / (u128::MAX / u128::from(of))) as u32;
        assert!(within(own) || within(own.saturating_sub(1)));
        assert!(!within((own + 2) % of));
        assert!(table.scan_position(&ScanPart::Segment { index: 0, of: of + 1 }, &gone).is_err());
    }
}
