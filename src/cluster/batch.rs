//! Batches: many single operations in one call, each admitted, charged and refused by itself.
//!
//! A batch is no transaction. Both services answer it as a whole and list what was not done (DynamoDB's
//! `UnprocessedItems`, Cosmos DB's multi-status); here each member has its own result, in the order given.

use super::{Read, Refusal, Table, Written};
use crate::charge::Consistency;
use crate::clock::Instant;
use crate::document::Document;
use crate::error::{Error, ErrorKind};
use crate::key::ItemKey;
use crate::profile::Service;
use std::collections::BTreeSet;

/// DynamoDB: `BatchWriteItem` takes 25 ("Quotas"); Cosmos DB: a batch takes 100 ("Service quotas").
const DYNAMODB_WRITES_MAX: usize = 25;
/// DynamoDB: `BatchGetItem` takes 100 items.
const READS_MAX: usize = 100;
/// Cosmos DB: operations in a batch.
const COSMOS_WRITES_MAX: usize = 100;

/// One write of a batch.
#[derive(Clone, Debug)]
pub enum BatchWrite<D> {
    /// Store an item.
    Put(ItemKey, D),
    /// Remove an item.
    Delete(ItemKey),
}

impl<D> BatchWrite<D> {
    fn key(&self) -> &ItemKey {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key,
        }
    }
}

/// One read of a batch.
#[derive(Clone, Debug)]
pub struct BatchRead {
    /// The item.
    pub key: ItemKey,
    /// How fresh.
    pub consistency: Consistency,
}

impl<D: Document> Table<D> {
    /// Carries out each write by itself.
    ///
    /// # Errors
    /// When the batch is empty, too long, or names an item twice. What happens to a member is in its own result.
    pub fn write_batch(
        &self,
        writes: Vec<BatchWrite<D>>,
        now: Instant,
    ) -> Result<Vec<Result<Written<D>, Refusal>>, Error> {
        let most = match self.rules.service() {
            Service::DynamoDb => DYNAMODB_WRITES_MAX,
            Service::Cosmos => COSMOS_WRITES_MAX,
        };
        check_batch(writes.iter().map(BatchWrite::key), writes.len(), most)?;
        Ok(writes
            .into_iter()
            .map(|write| match write {
                BatchWrite::Put(key, item) => self.put(&key, item, now),
                BatchWrite::Delete(key) => self.delete(&key, now),
            })
            .collect())
    }

    /// Carries out each read by itself.
    ///
    /// # Errors
    /// When the batch is empty, too long, or names an item twice.
    pub fn read_batch(
        &self,
        reads: &[BatchRead],
        now: Instant,
    ) -> Result<Vec<Result<Read<D>, Refusal>>, Error> {
        check_batch(reads.iter().map(|read| &read.key), reads.len(), READS_MAX)?;
        Ok(reads.iter().map(|read| self.get(&read.key, read.consistency, now)).collect())
    }
}

fn check_batch<'a>(keys: impl Iterator<Item = &'a ItemKey>, len: usize, most: usize) -> Result<(), Error> {
    if len == 0 {
        return Err(Error::invalid("a batch needs at least one operation"));
    }
    if len > most {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!("a batch takes at most {most} operations here, and this has {len}: send it in parts"),
        ));
    }
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(Error::invalid(format!(
                "a batch may name an item once only, and this names {key:?} twice"
            )));
        }
    }
    Ok(())
}
