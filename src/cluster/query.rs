//! Queries: the items of one logical partition in sort-key order.

use super::continuation::{Cursor, fingerprint};
use super::scan::minus;
use super::table::{holders, route};
use super::{Continuation, Page, Refusal, Table};
use crate::budget::Capacity;
use crate::charge::{Consistency, Footprint, PageKind};
use crate::clock::Instant;
use crate::document::Document;
use crate::key::{ItemKey, PartitionKey, SortKey};
use crate::profile::Service;
use crate::units::Bytes;
use std::ops::Bound;

/// The order of a query's items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest sort key first.
    #[default]
    Ascending,
    /// Largest sort key first.
    Descending,
}

/// A question about one logical partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    partition: PartitionKey,
    from: Bound<SortKey>,
    to: Bound<SortKey>,
    direction: Direction,
    limit: Option<usize>,
    consistency: Consistency,
    continuation: Option<Continuation>,
    /// Bytes that the same request has read elsewhere.
    before: Option<Bytes>,
}

impl Query {
    /// All items of a logical partition, in ascending order.
    pub fn of(partition: impl Into<PartitionKey>) -> Self {
        Self {
            partition: partition.into(),
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: Direction::Ascending,
            limit: None,
            consistency: Consistency::Eventual,
            continuation: None,
            before: None,
        }
    }

    /// Only items whose sort key lies between two bounds. Bounds that are turned around match nothing.
    pub fn between(self, from: Bound<SortKey>, to: Bound<SortKey>) -> Self {
        Self { from, to, ..self }
    }

    /// In this order.
    pub fn direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// At most this many items a page; zero counts as one.
    pub fn limit(self, items: usize) -> Self {
        Self { limit: Some(items.max(1)), ..self }
    }

    /// As fresh as this.
    pub fn consistency(self, consistency: Consistency) -> Self {
        Self { consistency, ..self }
    }

    /// Beginning where another page of the same query ended.
    pub fn after(self, continuation: Continuation) -> Self {
        Self { continuation: Some(continuation), ..self }
    }

    /// As one more part of a request that has read so many bytes in other physical partitions: page size and charge are
    /// those of the whole, and the page costs what it adds. One that has no room for an item is empty and has no
    /// continuation.
    pub fn on_top_of(self, evaluated: Bytes) -> Self {
        Self { before: Some(evaluated), ..self }
    }

    /// The logical partition it asks for. This and what follows is for a backend that sends the query elsewhere.
    pub fn get_partition(&self) -> &PartitionKey {
        &self.partition
    }

    /// The bounds of the sort key.
    pub fn get_bounds(&self) -> (&Bound<SortKey>, &Bound<SortKey>) {
        (&self.from, &self.to)
    }

    /// The order of its items.
    pub fn get_direction(&self) -> Direction {
        self.direction
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

    /// What makes two queries the same question: everything but page size, freshness and where to begin.
    fn fingerprint(&self, table: &str) -> u64 {
        let bound = |bound: &Bound<SortKey>| match bound {
            Bound::Unbounded => vec![0],
            Bound::Included(sort) => [&[1], sort.as_bytes()].concat(),
            Bound::Excluded(sort) => [&[2], sort.as_bytes()].concat(),
        };
        let (from, to) = (bound(&self.from), bound(&self.to));
        let direction = [self.direction as u8];
        fingerprint(&[b"query", table.as_bytes(), self.partition.as_bytes(), &from, &to, &direction])
    }
}

impl<D: Document> Table<D> {
    /// Reads one page of a logical partition.
    ///
    /// A page ends at the query's limit, at the service's page size, and where the logical partition goes on in
    /// another physical partition: so each page draws on the budget of one.
    ///
    /// # Errors
    /// [`Refusal::Throttled`]; [`Refusal::Invalid`] when the continuation belongs to another query.
    pub fn query(&self, query: &Query, now: Instant) -> Result<Page<D>, Refusal> {
        self.query_where(query, |_, _| true, now)
    }

    /// Reads one page of those items of a logical partition that `filter` lets through. What does not pass is charged
    /// and counted as in [`scan_where`](Self::scan_where).
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_where(
        &self,
        query: &Query,
        filter: impl Fn(&ItemKey, &D) -> bool,
        now: Instant,
    ) -> Result<Page<D>, Refusal> {
        self.keep_up(now);
        let fingerprint = query.fingerprint(self.name());
        let (mut from, mut to) = (query.from.clone(), query.to.clone());
        let mut resumed = false;
        if let Some(continuation) = &query.continuation {
            let cursor = continuation.cursor_for(fingerprint)?;
            let after = cursor.sort.clone().map_or(Bound::Unbounded, Bound::Excluded);
            resumed = true;
            match query.direction {
                Direction::Ascending => from = after,
                Direction::Descending => to = after,
            }
        }
        let collection = self.directory.get(&query.partition);
        let map = self.map.load();
        let token = collection.as_ref().map_or_else(|| self.token(&query.partition), |c| c.token().clone());

        // The first item decides which physical partition is asked; without one, the end at which the search begins does.
        let first = collection.as_ref().and_then(|collection| {
            let mut range = collection.range(from.as_ref(), to.as_ref());
            let first = match query.direction {
                Direction::Ascending => range.next(),
                Direction::Descending => range.next_back(),
            };
            first.map(|(sort, _)| sort.clone())
        });
        let partition = match (&collection, &first) {
            (Some(collection), Some(sort)) => route(&map, collection, sort),
            _ => {
                let end = match query.direction {
                    Direction::Ascending => &from,
                    Direction::Descending => &to,
                };
                match (end, holders(&map, &token)) {
                    (Bound::Included(sort) | Bound::Excluded(sort), _) => map.route(&token, sort),
                    (Bound::Unbounded, [.., last]) if query.direction == Direction::Descending => last,
                    (Bound::Unbounded, _) => map.route(&token, &SortKey::none()),
                }
            }
        };

        let page = |evaluated, items, partitions| {
            let consistency = query.consistency;
            self.charge(&Footprint::Page { evaluated, items, partitions, consistency, kind: PageKind::Query })
        };
        let before = query.before.unwrap_or_default();
        let searched = u32::from(!resumed && query.before.is_none());
        let admitted =
            partition.admit(Capacity::Read, now, || page(Bytes::ZERO, 0, 1)).inspect_err(|_| {
                match &collection {
                    Some(collection) => collection.heat.add_throttle(),
                    None => partition.absent().lock().throttles.record(&query.partition, 1),
                }
            })?;

        let indexed = self.rules.service() == Service::Cosmos;
        let mut items: Vec<(ItemKey, D)> = Vec::new();
        let mut read = 0;
        let mut evaluated = Bytes::ZERO;
        let mut last = None;
        let mut more = false;
        if let Some(collection) = &collection {
            let mut range = collection.range(from.as_ref(), to.as_ref());
            let mut next = || match query.direction {
                Direction::Ascending => range.next(),
                Direction::Descending => range.next_back(),
            };
            while let Some((sort, item)) = next() {
                if !partition.range().contains(&token, sort) {
                    more = true;
                    break;
                }
                let key = ItemKey { partition: query.partition.clone(), sort: sort.clone() };
                let passes = filter(&key, item);
                if passes || !indexed {
                    let size = item.size();
                    let full = query.limit.is_some_and(|limit| read >= limit)
                        || ((read > 0 || before > Bytes::ZERO)
                            && before + evaluated + size > self.rules.page_max());
                    if full {
                        more = true;
                        break;
                    }
                    read += 1;
                    evaluated += size;
                }
                last = Some(sort.clone());
                if passes {
                    items.push((key, item.clone()));
                }
            }
        }
        let charge = match query.before {
            None => page(evaluated, read as u64, searched),
            Some(before) => minus(&page(before + evaluated, read as u64, searched), &page(before, 0, 0)),
        };
        let paid = admitted.settle(&charge, now);
        partition.sample(&token, first.as_ref().unwrap_or(&SortKey::none()), now);
        match &collection {
            Some(collection) => collection.heat.add_units(paid),
            None => partition.absent().lock().units.record(&query.partition, paid),
        }
        let continuation = last.filter(|_| more).map(|last| {
            let cursor = Cursor { token, key: Some(query.partition.key_bytes().clone()), sort: Some(last) };
            Continuation::new(fingerprint, cursor)
        });
        Ok(Page { items, continuation, charge, partitions: vec![partition.id()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::ring::RingPoint;
    use std::sync::Arc;

    #[test]
    fn parts_of_one_request_cost_what_it_costs_in_one() {
        let now = Instant::START;
        let table: Table<Arc<[u8]>> = Table::new("t", Profile::dynamodb_on_demand(), now).unwrap();
        let item: Arc<[u8]> = vec![0; 3_000].into();
        (0..4_u64).for_each(|n| drop(table.put(&ItemKey::new("k", n), Arc::clone(&item), now).unwrap()));
        let whole = table.query(&Query::of("k"), now).unwrap();
        let token = table.token(&"k".into());
        let id = table.partition_of(&ItemKey::new("k", 0_u64));
        table.split(id, Some(RingPoint::inside(token, 1_u64.into())), now).unwrap();
        let first = table.query(&Query::of("k"), now).unwrap();
        assert_eq!((first.items.len(), first.continuation.is_some()), (1, true));
        let after = Bound::Excluded(first.items[0].0.sort.clone());
        let rest = Query::of("k").between(after, Bound::Unbounded);
        // Alone each part is rounded up.
        let alone = first.charge + table.query(&rest, now).unwrap().charge;
        assert!(alone.read > whole.charge.read);
        let second = table.query(&rest.clone().on_top_of(Bytes(3_000)), now).unwrap();
        assert_eq!((second.items.len(), first.charge + second.charge), (3, whole.charge));
        let full = table.query(&rest.on_top_of(table.profile().page_max()), now).unwrap();
        assert_eq!((full.items.len(), full.continuation), (0, None));
    }
}
