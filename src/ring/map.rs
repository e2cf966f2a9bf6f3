//! An immutable snapshot of who holds which range.

use super::{RingPoint, Token, TokenRange};
use crate::error::{Error, Result};
use crate::key::SortKey;

/// Who holds a logical partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One partition holds all of it: its index in the map.
    Whole(usize),
    /// A split inside the logical partition spread it; ask with the sort key.
    Cut,
}

/// An ordered map of ranges onto partitions `P`.
///
/// - The ranges cover the ring: the first begins at its start, each begins where the one before ends, the last is open.
/// - Bounds are strictly increasing, so no range is empty.
/// - A change makes a new map with the next epoch; this one stays as it is.
#[derive(Clone, Debug)]
pub struct PartitionMap<P> {
    epoch: u64,
    /// `starts[i]` is where `partitions[i]` begins; `starts[0]` is the start of the ring.
    starts: Vec<RingPoint>,
    partitions: Vec<P>,
}

impl<P> PartitionMap<P> {
    /// A map with a partition for each slice between `bounds`: one more than there are bounds.
    ///
    /// # Errors
    /// When the bounds do not increase, or touch the start of the ring.
    pub fn new(bounds: Vec<Token>, mut partition: impl FnMut(usize, &TokenRange) -> P) -> Result<Self> {
        let mut starts = Vec::with_capacity(bounds.len() + 1);
        starts.push(RingPoint::START);
        starts.extend(bounds.into_iter().map(RingPoint::before));
        if let Some(pair) = starts.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::invalid(format!(
                "partition bounds must increase: {} then {}",
                pair[0], pair[1]
            )));
        }
        let partitions = (0..starts.len()).map(|i| partition(i, &range_at(&starts, i))).collect();
        Ok(Self { epoch: 0, starts, partitions })
    }

    /// Counts the changes since the map was first made.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many partitions there are; at least one.
    #[expect(clippy::len_without_is_empty, reason = "a map is never empty")]
    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    /// The partitions in ring order.
    pub fn partitions(&self) -> &[P] {
        &self.partitions
    }

    /// The range of the partition at `index`.
    pub fn range(&self, index: usize) -> TokenRange {
        range_at(&self.starts, index)
    }

    /// The index of the partition that holds the item (`token`, `sort`).
    pub fn index_of(&self, token: &Token, sort: &SortKey) -> usize {
        // The first start is never after anything, so the partition point is at least one.
        self.starts.partition_point(|start| !start.is_after(token, sort)) - 1
    }

    /// The partition that holds the item (`token`, `sort`).
    pub fn route(&self, token: &Token, sort: &SortKey) -> &P {
        &self.partitions[self.index_of(token, sort)]
    }

    /// The index of the partition in which the first item at `token` lies. For rings whose bounds all lie between
    /// tokens this is the owner of the token.
    pub fn index_of_token(&self, token: &Token) -> usize {
        self.starts
            .partition_point(|start| start.token < *token || (start.token == *token && start.sort.is_none()))
            - 1
    }

    /// Who holds the logical partition at `token`.
    pub fn owner(&self, token: &Token) -> Owner {
        let index = self.index_of_token(token);
        match self.starts.get(index + 1) {
            Some(next) if next.token == *token => Owner::Cut,
            _ => Owner::Whole(index),
        }
    }

    /// The indices of the partitions that hold any of `range`.
    pub fn overlapping(&self, range: &TokenRange) -> std::ops::Range<usize> {
        let first = self.starts.partition_point(|start| start <= range.from()) - 1;
        let end = match range.to() {
            Some(to) => self.starts.partition_point(|start| start < to),
            None => self.len(),
        };
        first..end
    }

    /// The map in which the partition at `index` has given way to two, divided at `at`.
    ///
    /// # Errors
    /// When `at` does not lie strictly inside the partition's range, so that one half would be empty.
    pub fn split(&self, index: usize, at: RingPoint, low: P, high: P) -> Result<Self>
    where
        P: Clone,
    {
        let range = self.checked_range(index)?;
        if at <= *range.from() || range.to().is_some_and(|to| at >= *to) {
            return Err(Error::invalid(format!(
                "{at} does not divide the range {range}: one half would be empty"
            )));
        }
        let mut next = self.clone();
        next.epoch += 1;
        next.starts.insert(index + 1, at);
        next.partitions[index] = low;
        next.partitions.insert(index + 1, high);
        Ok(next)
    }

    /// The map in which the partitions at `index` and `index + 1` have given way to one.
    ///
    /// # Errors
    /// When there is no such pair of neighbours.
    pub fn merge(&self, index: usize, merged: P) -> Result<Self>
    where
        P: Clone,
    {
        self.checked_range(index)?;
        if index + 1 >= self.len() {
            return Err(Error::invalid("the last range has no neighbour after it to merge with"));
        }
        let mut next = self.clone();
        next.epoch += 1;
        next.starts.remove(index + 1);
        next.partitions.remove(index + 1);
        next.partitions[index] = merged;
        Ok(next)
    }

    /// The map with the same ranges and other partitions, as when throughput changes.
    pub fn replaced<Q>(&self, mut partition: impl FnMut(usize, &P) -> Q) -> PartitionMap<Q> {
        PartitionMap {
            epoch: self.epoch + 1,
            starts: self.starts.clone(),
            partitions: self.partitions.iter().enumerate().map(|(i, p)| partition(i, p)).collect(),
        }
    }

    fn checked_range(&self, index: usize) -> Result<TokenRange> {
        if index >= self.len() {
            return Err(Error::invalid(format!(
                "there is no partition at index {index}, only {}",
                self.len()
            )));
        }
        Ok(self.range(index))
    }
}

fn range_at(starts: &[RingPoint], index: usize) -> TokenRange {
    match TokenRange::new(starts[index].clone(), starts.get(index + 1).cloned()) {
        Ok(range) => range,
        Err(_) => unreachable!("bounds of a partition map strictly increase"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(n: u128) -> Token {
        Token::from_u128(n)
    }

    #[derive(Clone, Debug)]
    enum Change {
        Split { token: u8, sort: Option<u8> },
        Merge(u8),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            3 => (any::<u8>(), proptest::option::of(any::<u8>()))
                .prop_map(|(token, sort)| Change::Split { token: token % 8, sort }),
            1 => any::<u8>().prop_map(Change::Merge),
        ]
    }

    proptest! {
        /// Whatever is split and merged: every item has exactly one owner, and routing finds it.
        #[test]
        fn ranges_always_cover_the_ring(changes in proptest::collection::vec(change(), 0..40)) {
            let mut map = PartitionMap::new(vec![], |_, _| 0_u32).unwrap();
            let mut next_id = 1;
            for change in changes {
                let changed = match change {
                    Change::Split { token: t, sort } => {
                        let at = RingPoint {
                            token: token(u128::from(t)),
                            sort: sort.map(|s| SortKey::number(u64::from(s))),
                        };
                        let index = map.starts.partition_point(|start| *start <= at).saturating_sub(1);
                        map.split(index, at, next_id, next_id + 1)
                    }
                    Change::Merge(i) => map.merge(usize::from(i) % map.len(), next_id),
                };
                next_id += 2;
                if let Ok(changed) = changed {
                    prop_assert_eq!(changed.epoch(), map.epoch() + 1);
                    map = changed;
                }
                for t in 0..8 {
                    let mut owners = std::collections::BTreeSet::new();
                    for s in 0..=255 {
                        let (t, s) = (token(t), SortKey::number(s));
                        let holders: Vec<_> = (0..map.len()).filter(|&i| map.range(i).contains(&t, &s)).collect();
                        prop_assert_eq!(&holders, &vec![map.index_of(&t, &s)]);
                        owners.insert(holders[0]);
                    }
                    match map.owner(&token(t)) {
                        Owner::Whole(i) => prop_assert_eq!(owners.into_iter().collect::<Vec<_>>(), vec![i]),
                        Owner::Cut => {}
                    }
                }
                for i in 0..map.len() {
                    prop_assert_eq!(map.overlapping(&map.range(i)), i..i + 1);
                }
            }
        }
    }

    #[test]
    fn a_split_at_the_edge_is_refused() {
        let map = PartitionMap::new(vec![token(10)], |i, _| i).unwrap();
        assert!(map.split(0, RingPoint::START, 8, 9).is_err());
        assert!(map.split(0, RingPoint::before(token(10)), 8, 9).is_err());
        assert!(map.split(7, RingPoint::before(token(10)), 8, 9).is_err());
        assert!(map.merge(1, 9).is_err());
        assert!(PartitionMap::new(vec![token(3), token(3)], |_, _| ()).is_err());
        assert!(PartitionMap::new(vec![Token::START], |_, _| ()).is_err());
    }
}
