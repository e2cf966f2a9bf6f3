//! Bounds on the ring and the half-open ranges between them.

use super::Token;
use crate::error::{Error, Result};
use crate::key::SortKey;
use std::fmt;

/// A bound: before every item of `token`, or inside the logical partition before the item `sort`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RingPoint {
    /// The position on the ring.
    pub token: Token,
    /// `None` sorts before every sort key.
    pub sort: Option<SortKey>,
}

impl RingPoint {
    /// The beginning of the ring.
    pub const START: Self = Self { token: Token::START, sort: None };

    /// The bound before everything at `token`.
    pub fn before(token: Token) -> Self {
        Self { token, sort: None }
    }

    /// The bound inside a logical partition, before the item `sort`.
    pub fn inside(token: Token, sort: SortKey) -> Self {
        Self { token, sort: Some(sort) }
    }

    /// Whether the item (`token`, `sort`) lies before this bound.
    pub fn is_after(&self, token: &Token, sort: &SortKey) -> bool {
        token.cmp(&self.token).then_with(|| match &self.sort {
            None => std::cmp::Ordering::Greater,
            Some(bound) => sort.cmp(bound),
        }) == std::cmp::Ordering::Less
    }
}

/// Prints the token as hex, and `+` with the sort key where the bound lies inside a logical partition.
impl fmt::Display for RingPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.token)?;
        match &self.sort {
            Some(sort) => write!(f, "+{sort:?}"),
            None => Ok(()),
        }
    }
}

/// A half-open slice of the ring; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRange {
    from: RingPoint,
    to: Option<RingPoint>,
}

impl TokenRange {
    /// The whole ring.
    pub const ALL: Self = Self { from: RingPoint::START, to: None };

    /// From `from` up to, not including, `to`; `None` is the end of the ring.
    ///
    /// # Errors
    /// When the range would be empty or turned around.
    pub fn new(from: RingPoint, to: Option<RingPoint>) -> Result<Self> {
        match &to {
            Some(to) if *to <= from => {
                Err(Error::invalid(format!("the range from {from} to {to} is empty or turned around")))
            }
            _ => Ok(Self { from, to }),
        }
    }

    /// The first bound, inclusive.
    pub fn from(&self) -> &RingPoint {
        &self.from
    }

    /// The last bound, exclusive; `None` is the end of the ring.
    pub fn to(&self) -> Option<&RingPoint> {
        self.to.as_ref()
    }

    /// Whether the item (`token`, `sort`) lies in the range.
    pub fn contains(&self, token: &Token, sort: &SortKey) -> bool {
        !self.from.is_after(token, sort) && self.to.as_ref().is_none_or(|to| to.is_after(token, sort))
    }

    /// The part that both ranges share, if any.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let from = (&self.from).max(&other.from).clone();
        let to = match (&self.to, &other.to) {
            (Some(a), Some(b)) => Some(a.min(b).clone()),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        Self::new(from, to).ok()
    }
}

/// Prints as `from..to`, where the end of the ring is `FF`, as Cosmos DB writes it.
impl fmt::Display for TokenRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.to {
            Some(to) => write!(f, "{}..{to}", self.from),
            None => write!(f, "{}..FF", self.from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(token: u128) -> RingPoint {
        RingPoint::before(Token::from_u128(token))
    }

    #[test]
    fn empty_and_reversed_ranges_are_refused() {
        assert!(TokenRange::new(point(1), Some(point(1))).is_err());
        assert!(TokenRange::new(point(2), Some(point(1))).is_err());
        let inside = RingPoint::inside(Token::from_u128(1), SortKey::number(4));
        assert!(TokenRange::new(point(1), Some(inside)).is_ok());
    }

    #[test]
    fn a_bound_inside_a_logical_partition_cuts_it() {
        let token = Token::from_u128(7);
        let cut = RingPoint::inside(token.clone(), SortKey::number(4));
        let low = TokenRange::new(RingPoint::START, Some(cut.clone())).unwrap();
        let high = TokenRange::new(cut, None).unwrap();
        for n in 0..8 {
            let sort = SortKey::number(n);
            assert_eq!(low.contains(&token, &sort), n < 4);
            assert_eq!(high.contains(&token, &sort), n >= 4);
        }
        assert_eq!(low.intersection(&high), None);
        assert_eq!(low.intersection(&TokenRange::ALL), Some(low));
    }
}
