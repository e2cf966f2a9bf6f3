//! The tables of one account in one region.

use super::change::Witness;
use super::definition::TableDefinition;
use super::table::DynamoTable;
use super::token::Tokens;
use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::rng::Seed;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A database: tables by name.
#[derive(Debug)]
pub struct Database {
    seed: Seed,
    /// When its clock began, since 1970.
    beginning: Duration,
    tables: RwLock<BTreeMap<String, Arc<DynamoTable>>>,
    tokens: Tokens,
    witness: Option<Arc<dyn Witness>>,
}

impl Database {
    /// An empty database. Where keys lie follows from the seed.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            beginning: Duration::ZERO,
            tables: RwLock::default(),
            tokens: Tokens::default(),
            witness: None,
        }
    }

    /// With a clock that began so long after the beginning of 1970: dates in answers are counted from there.
    pub fn with_beginning(self, beginning: Duration) -> Self {
        Self { beginning, ..self }
    }

    /// With somebody who is told of every change of an item.
    pub fn with_witness(self, witness: Arc<dyn Witness>) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// How long after the beginning of 1970 its clock began.
    pub fn beginning(&self) -> Duration {
        self.beginning
    }

    /// Creates a table.
    ///
    /// # Errors
    /// When there is one of that name, or its throughput is absurd.
    pub fn create(&self, definition: TableDefinition, now: Instant) -> Result<Arc<DynamoTable>> {
        let mut tables = self.tables.write();
        if tables.contains_key(&definition.name) {
            return Err(Error::invalid(format!("Table already exists: {}", definition.name)));
        }
        let layout = self.seed.stream("layout").stream(&definition.name).at(0) as u32;
        let name = definition.name.clone();
        let table = Arc::new(DynamoTable::new(definition, layout, now)?);
        table.set_witness(self.witness.clone());
        tables.insert(name, Arc::clone(&table));
        Ok(table)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<Arc<DynamoTable>> {
        self.tables.read().get(name).cloned()
    }

    /// The tokens of transactions.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Removes a table, and answers it.
    pub fn delete(&self, name: &str) -> Option<Arc<DynamoTable>> {
        self.tables.write().remove(name)
    }

    /// The names of all tables after `after`, in order, at most so many.
    pub fn names(&self, after: Option<&str>, limit: usize) -> Vec<String> {
        let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.tables
            .read()
            .range::<str, _>((from, std::ops::Bound::Unbounded))
            .map(|(name, _)| name.clone())
            .take(limit)
            .collect()
    }
}
