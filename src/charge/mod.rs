//! What an operation costs: from the footprint the store measured to the request charge its service would
//! report.
//!
//! ```text
//! store ─► Footprint (sizes, counts) ─► Tariff ─► RequestCharge (read, write and request units)
//! ```
//!
//! A footprint says what was touched and no more; a [`Tariff`] is one service's price list. Footprints are
//! additive: whatever the service prices item by item is a sum of footprints, which is why some operations
//! have no variant:
//!
//! | operation                        | footprints                                                   |
//! |----------------------------------|--------------------------------------------------------------|
//! | BatchGetItem, BatchWriteItem     | one point read or write per item, each rounded by itself     |
//! | LSI query of unprojected values  | one page of index entries and one point read per base item   |
//! | GSI query or scan                | one page of index entries, eventually consistent             |
//! | Cosmos transactional batch, bulk | one per operation (*assumed*: no surcharge is documented)    |
//!
//! This module does not know budgets, items or partitions, and measures nothing itself. Where it departs from
//! a service, the file of that service says so.

pub mod cosmos;
pub mod dynamodb;
pub mod item_size;

pub use cosmos::{CosmosTariff, Indexing};
pub use dynamodb::{IndexEntry, index_write_units};

use crate::units::{Bytes, ReadUnits, RequestUnits, WriteUnits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// How fresh a read must be, weakest first. The five levels of Cosmos DB; DynamoDB has the first and the last
/// only and treats every level below [`Strong`](Self::Strong) as eventual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consistency {
    /// Any replica will do. DynamoDB's default.
    #[default]
    Eventual,
    /// Writes are seen in order (Cosmos DB).
    ConsistentPrefix,
    /// A client sees its own writes (Cosmos DB, where it is the default).
    Session,
    /// At most so many versions or seconds behind (Cosmos DB).
    BoundedStaleness,
    /// The latest committed write.
    Strong,
}

/// Which operation produced a [`Footprint::Page`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// DynamoDB Query, or a Cosmos SQL query.
    Query,
    /// DynamoDB Scan, or Cosmos read feed and change feed: items in order, without a query engine.
    Scan,
}

/// What an operation did to the data: measured by the store, priced here. Sizes include keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// A read of one item by its full key.
    PointRead {
        /// The item's size; `None` when there is no such item.
        size: Option<Bytes>,
        /// How fresh the read was asked to be.
        consistency: Consistency,
    },
    /// One page of a query or scan.
    Page {
        /// Total size of the items (or index entries) read, before any filter or projection.
        evaluated: Bytes,
        /// How many items those were.
        items: u64,
        /// Physical partitions that this page is the first of its query to search; a continuation within a
        /// partition counts none.
        partitions: u32,
        /// How fresh the read was asked to be.
        consistency: Consistency,
        /// Query or scan.
        kind: PageKind,
    },
    /// A write that was carried out: created when there was nothing before, deleted when there is nothing
    /// after. A transaction's condition check is a write that leaves the item as it was.
    Write {
        /// Size of the item before.
        before: Option<Bytes>,
        /// Size of the item after.
        after: Option<Bytes>,
    },
    /// A write refused by its condition or by the state of the item (412, 409, 404).
    FailedWrite {
        /// Size of the item that is there.
        existing: Option<Bytes>,
        /// Size the item would have got; `None` for a delete.
        attempted: Option<Bytes>,
    },
}

/// The price of one or more operations, in the currencies of both services.
///
/// A vector rather than a choice of currency: a sum is defined for any two charges, zero is one value, and
/// units of different kinds never meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestCharge {
    /// DynamoDB read units.
    pub read: ReadUnits,
    /// DynamoDB write units.
    pub write: WriteUnits,
    /// Cosmos DB request units.
    pub request: RequestUnits,
}

impl RequestCharge {
    /// Nothing to pay.
    pub const ZERO: Self =
        Self { read: ReadUnits::ZERO, write: WriteUnits::ZERO, request: RequestUnits::ZERO };

    /// A charge of read units only.
    pub const fn read(read: ReadUnits) -> Self {
        Self { read, ..Self::ZERO }
    }

    /// A charge of write units only.
    pub const fn write(write: WriteUnits) -> Self {
        Self { write, ..Self::ZERO }
    }

    /// A charge of request units only.
    pub const fn request(request: RequestUnits) -> Self {
        Self { request, ..Self::ZERO }
    }

    /// Whether there is nothing to pay.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// The sum, or `None` on overflow. The `+` operator saturates instead.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            read: self.read.checked_add(other.read)?,
            write: self.write.checked_add(other.write)?,
            request: self.request.checked_add(other.request)?,
        })
    }

    /// `factor` times as much, saturating.
    pub const fn times(self, factor: u64) -> Self {
        Self {
            read: self.read.times(factor),
            write: self.write.times(factor),
            request: self.request.times(factor),
        }
    }
}

impl Add for RequestCharge {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            write: self.write + other.write,
            request: self.request + other.request,
        }
    }
}

impl AddAssign for RequestCharge {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for RequestCharge {
    fn sum<I: Iterator<Item = Self>>(charges: I) -> Self {
        charges.fold(Self::ZERO, Add::add)
    }
}

/// `1 WCU`, `5.5 RU`, or `0.5 RCU + 2 WCU`; a charge of nothing is `0`.
impl fmt::Display for RequestCharge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: [(bool, &dyn fmt::Display); 3] = [
            (self.read > ReadUnits::ZERO, &self.read),
            (self.write > WriteUnits::ZERO, &self.write),
            (self.request > RequestUnits::ZERO, &self.request),
        ];
        let mut separator = "";
        for (_, part) in parts.into_iter().filter(|(charged, _)| *charged) {
            write!(f, "{separator}{part}")?;
            separator = " + ";
        }
        if separator.is_empty() { f.write_str("0") } else { Ok(()) }
    }
}

/// A service's price list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tariff {
    /// Amazon DynamoDB: read and write units, the same in provisioned and on-demand mode.
    DynamoDb,
    /// Azure Cosmos DB: request units, which depend on what the container indexes.
    Cosmos(CosmosTariff),
}

impl Tariff {
    /// What the operation costs. Never zero: both services charge for looking.
    #[inline]
    pub fn charge(&self, footprint: &Footprint) -> RequestCharge {
        match self {
            Self::DynamoDb => dynamodb::charge(footprint),
            Self::Cosmos(tariff) => RequestCharge::request(tariff.charge(footprint)),
        }
    }

    /// What one action of a transaction costs, whether the transaction commits or is cancelled.
    ///
    /// In Cosmos DB a transactional batch costs what its operations cost (*assumed*: the pages that describe
    /// it name no surcharge).
    pub fn transactional(&self, footprint: &Footprint) -> RequestCharge {
        match self {
            Self::DynamoDb => dynamodb::transactional(footprint),
            Self::Cosmos(_) => self.charge(footprint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TARIFFS: [Tariff; 3] = [
        Tariff::DynamoDb,
        Tariff::Cosmos(CosmosTariff { indexing: Indexing::None }),
        Tariff::Cosmos(CosmosTariff { indexing: Indexing::PartitionKeyOnly }),
    ];

    /// Sizes up to and past every item limit, with the ends of the integer range thrown in.
    fn size() -> impl Strategy<Value = Bytes> {
        prop_oneof![8 => 0..3_000_000_u64, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 2)].prop_map(Bytes)
    }

    fn consistency() -> impl Strategy<Value = Consistency> {
        use Consistency::*;
        prop::sample::select(vec![Eventual, ConsistentPrefix, Session, BoundedStaleness, Strong])
    }

    fn footprint() -> impl Strategy<Value = Footprint> {
        let maybe = || prop::option::of(size());
        let kind = prop::sample::select(vec![PageKind::Query, PageKind::Scan]);
        prop_oneof![
            (maybe(), consistency())
                .prop_map(|(size, consistency)| Footprint::PointRead { size, consistency }),
            (size(), any::<u32>(), any::<u32>(), consistency(), kind).prop_map(
                |(evaluated, items, partitions, consistency, kind)| Footprint::Page {
                    evaluated,
                    items: items.into(),
                    partitions,
                    consistency,
                    kind,
                }
            ),
            (maybe(), maybe()).prop_map(|(before, after)| Footprint::Write { before, after }),
            (maybe(), maybe())
                .prop_map(|(existing, attempted)| Footprint::FailedWrite { existing, attempted }),
        ]
    }

    /// The same footprint with every size larger by `more`.
    fn grown(footprint: Footprint, more: Bytes) -> Footprint {
        let grow = |size: Option<Bytes>| size.map(|size| size + more);
        match footprint {
            Footprint::PointRead { size, consistency } => {
                Footprint::PointRead { size: grow(size), consistency }
            }
            Footprint::Page { evaluated, items, partitions, consistency, kind } => {
                Footprint::Page { evaluated: evaluated + more, items, partitions, consistency, kind }
            }
            Footprint::Write { before, after } => {
                Footprint::Write { before: grow(before), after: grow(after) }
            }
            Footprint::FailedWrite { existing, attempted } => {
                Footprint::FailedWrite { existing: grow(existing), attempted: grow(attempted) }
            }
        }
    }

    fn at_most(a: RequestCharge, b: RequestCharge) -> bool {
        a.read <= b.read && a.write <= b.write && a.request <= b.request
    }

    proptest! {
        #[test]
        fn nothing_is_free_and_each_service_charges_in_its_own_units(footprint in footprint()) {
            let dynamodb = Tariff::DynamoDb.charge(&footprint);
            prop_assert!(!dynamodb.is_zero());
            prop_assert_eq!(dynamodb.request, RequestUnits::ZERO);
            for tariff in &TARIFFS[1..] {
                let cosmos = tariff.charge(&footprint);
                prop_assert!(cosmos.request >= RequestUnits::from_units(1), "{cosmos}");
                prop_assert_eq!(cosmos, RequestCharge::request(cosmos.request));
            }
        }

        #[test]
        fn more_bytes_never_cost_less(footprint in footprint(), more in size()) {
            for tariff in TARIFFS {
                let larger = grown(footprint, more);
                prop_assert!(at_most(tariff.charge(&footprint), tariff.charge(&larger)), "{larger:?}");
            }
        }

        #[test]
        fn fresher_reads_never_cost_less(
            size in prop::option::of(size()),
            pair in (consistency(), consistency()),
        ) {
            let (weak, strong) = if pair.0 <= pair.1 { pair } else { (pair.1, pair.0) };
            for tariff in TARIFFS {
                let charge = |consistency| tariff.charge(&Footprint::PointRead { size, consistency });
                prop_assert!(at_most(charge(weak), charge(strong)));
            }
        }

        #[test]
        fn a_transaction_never_costs_less_than_its_actions(footprint in footprint()) {
            for tariff in TARIFFS {
                prop_assert!(at_most(tariff.charge(&footprint), tariff.transactional(&footprint)));
            }
        }

        #[test]
        fn sums_do_not_depend_on_order(footprints in prop::collection::vec(footprint(), 0..8)) {
            let charges = || footprints.iter().flat_map(|f| TARIFFS.map(|tariff| tariff.charge(f)));
            let sum: RequestCharge = charges().sum();
            let mut backwards: Vec<_> = charges().collect();
            backwards.reverse();
            prop_assert_eq!(sum, backwards.into_iter().sum());
        }
    }

    #[test]
    fn charges_print_their_units() {
        assert_eq!(RequestCharge::write(WriteUnits::from_units(1)).to_string(), "1 WCU");
        assert_eq!(RequestCharge::request(RequestUnits::from_milli(5_500)).to_string(), "5.5 RU");
        let both = RequestCharge {
            read: ReadUnits::from_milli(500),
            ..RequestCharge::write(WriteUnits::from_units(2))
        };
        assert_eq!(both.to_string(), "0.5 RCU + 2 WCU");
        assert_eq!(RequestCharge::ZERO.to_string(), "0");
    }

    #[test]
    fn overflow_is_reported_by_checked_sums_and_clamped_by_the_others() {
        let most = RequestCharge::request(RequestUnits::from_milli(u64::MAX));
        let one = RequestCharge::request(RequestUnits::from_units(1));
        assert_eq!(most.checked_add(one), None);
        assert_eq!(most + one, most);
        assert_eq!(one.checked_add(one), Some(one.times(2)));
    }
}
