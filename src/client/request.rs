//! What an operation may ask of a backend, and what it gets back.
//!
//! These are the calls that both services have. A backend that is an SDK maps each to one call of its own; nothing here
//! refers to this crate's tables.

use super::Filter;
use crate::charge::{Consistency, RequestCharge};
use crate::cluster::{Page, Query, Read, Refusal, Scan, Written};
use crate::key::ItemKey;

/// One request.
#[derive(Clone, Debug)]
pub enum Request<D> {
    /// Read one item.
    Get {
        /// Which.
        key: ItemKey,
        /// How fresh.
        consistency: Consistency,
    },
    /// Store one item.
    Put {
        /// Where.
        key: ItemKey,
        /// What.
        item: D,
    },
    /// Remove one item.
    Delete {
        /// Which.
        key: ItemKey,
    },
    /// Read a page of a logical partition.
    Query(Query, Filter),
    /// Read a page of a part of the table.
    Scan(Scan, Filter),
    /// Store and remove items of one kind each by itself, in one round trip. `None` removes.
    Batch(Vec<(ItemKey, Option<D>)>),
    /// Remove one item and store another, both or neither.
    Move {
        /// The item that goes.
        from: ItemKey,
        /// Where it comes back.
        to: ItemKey,
        /// What it is then.
        item: D,
    },
}

/// What a backend answers.
#[derive(Clone, Debug)]
pub enum Response<D> {
    /// To a get.
    Read(Read<D>),
    /// To a put or delete.
    Written(Written<D>),
    /// To a query or scan.
    Page(Page<D>),
    /// To a batch: one result for each member, in order.
    Batch(Vec<Result<Written<D>, Refusal>>),
    /// To a move.
    Moved(Vec<Written<D>>),
}

/// A response, or why there is none.
pub type Reply<D> = Result<Response<D>, Refusal>;

impl<D> Response<D> {
    /// What the request cost.
    pub fn charge(&self) -> RequestCharge {
        match self {
            Self::Read(read) => read.charge,
            Self::Written(written) => written.charge,
            Self::Page(page) => page.charge,
            Self::Batch(results) => results
                .iter()
                .map(|result| match result {
                    Ok(written) => written.charge,
                    Err(refusal) => refusal.charge(),
                })
                .sum(),
            Self::Moved(written) => written.iter().map(|written| written.charge).sum(),
        }
    }

    /// The physical partitions that served it.
    pub fn partitions(&self) -> Vec<crate::budget::PartitionId> {
        match self {
            Self::Read(read) => vec![read.partition],
            Self::Written(written) => vec![written.partition],
            Self::Page(page) => page.partitions.clone(),
            Self::Batch(results) => results.iter().flatten().map(|written| written.partition).collect(),
            Self::Moved(written) => written.iter().map(|written| written.partition).collect(),
        }
    }
}
