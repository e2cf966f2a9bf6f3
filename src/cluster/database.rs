//! A set of tables. Each database is its own world: nothing is shared with the next one.

use super::Table;
use crate::clock::Instant;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::profile::Profile;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tables one database may have: DynamoDB's default quota for an account and region.
const TABLES_MAX: usize = 2_500;

/// Named tables, in the order of their names.
#[derive(Debug)]
pub struct Database<D: Document> {
    tables: RwLock<BTreeMap<String, Arc<Table<D>>>>,
}

impl<D: Document> Default for Database<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D: Document> Database<D> {
    /// An empty database.
    pub fn new() -> Self {
        Self { tables: RwLock::new(BTreeMap::new()) }
    }

    /// Creates a table.
    ///
    /// # Errors
    /// When there is one of that name, or the name is empty, or there are too many.
    pub fn create_table(&self, name: &str, profile: Profile, now: Instant) -> Result<Arc<Table<D>>> {
        let table = Arc::new(Table::new(name, profile, now)?);
        let mut tables = self.tables.write();
        if tables.contains_key(name) {
            return Err(Error::invalid(format!("there is a table named {name:?} already")));
        }
        if tables.len() >= TABLES_MAX {
            return Err(Error::invalid(format!("a database holds at most {TABLES_MAX} tables")));
        }
        tables.insert(name.to_owned(), Arc::clone(&table));
        Ok(table)
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<Arc<Table<D>>> {
        self.tables.read().get(name).cloned()
    }

    /// Removes a table; whoever still holds it may go on using it.
    pub fn delete_table(&self, name: &str) -> Option<Arc<Table<D>>> {
        self.tables.write().remove(name)
    }

    /// The names of all tables, in order.
    pub fn table_names(&self) -> Vec<String> {
        self.tables.read().keys().cloned().collect()
    }
}
