//! Sets: what DynamoDB's `SS`, `NS` and `BS` hold.
//!
//! "All the elements within a set must be of the same type. … Each value within a set must be unique. The order of the
//! values within a set is not preserved." (developer guide, "Data types"). Members are kept sorted: then equality is
//! that of the vectors, membership is a binary search, and answers are the same on every run. That they are *answered*
//! sorted is this crate's choice; the service promises no order.
//!
//! Invariants:
//!
//! - a set is never empty;
//! - its members ascend and no two are equal.

/// A set of at least one member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Set<T>(Vec<T>);

/// Why these members are no set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSet {
    /// There are none.
    Empty,
    /// Two of them are equal.
    Duplicates,
}

impl<T: Ord> Set<T> {
    /// The set of these members.
    ///
    /// # Errors
    /// When there are none, or two are equal.
    pub fn new(mut members: Vec<T>) -> Result<Self, NoSet> {
        if members.is_empty() {
            return Err(NoSet::Empty);
        }
        members.sort_unstable();
        if members.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(NoSet::Duplicates);
        }
        Ok(Self(members))
    }

    /// Whether it has this member.
    pub fn contains<Q>(&self, member: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.0.binary_search_by(|own| own.borrow().cmp(member)).is_ok()
    }

    /// The members of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let mut members = self.0;
        members.extend(other.0);
        // Stable and adaptive: two ascending runs are merged.
        members.sort();
        members.dedup();
        Self(members)
    }

    /// The members that the other does not have, if any.
    pub fn difference(self, other: &Self) -> Option<Self> {
        let mut members = self.0;
        members.retain(|member| !other.contains(member));
        (!members.is_empty()).then_some(Self(members))
    }
}

impl<T> Set<T> {
    /// The members, ascending.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// How many members it has; at least one.
    #[expect(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The members, ascending.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a Set<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_no_order_and_no_duplicates() {
        let set = |members: &[u32]| Set::new(members.to_vec());
        assert_eq!(set(&[3, 1, 2]), set(&[1, 2, 3]));
        assert_eq!(set(&[]), Err(NoSet::Empty));
        assert_eq!(set(&[1, 2, 1]), Err(NoSet::Duplicates));
        let both = set(&[1, 5]).unwrap().union(set(&[5, 3]).unwrap());
        assert_eq!(both.as_slice(), [1, 3, 5]);
        assert!(both.contains(&3) && !both.contains(&4));
        assert_eq!(both.clone().difference(&set(&[3, 9]).unwrap()), Some(set(&[1, 5]).unwrap()));
        assert_eq!(both.clone().difference(&both), None);
    }
}
