//! The graph: a container, the property that is its partition key, and a source of ids.

use super::element::{GraphDocument, Schema, is_reserved};
use super::traversal::{Source, Traversal};
use crate::cluster::Table;
use crate::error::{Error, Result};
use crate::profile::Service;
use crate::rng::Seed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A property graph stored in a container.
#[derive(Debug)]
pub struct Graph {
    pub(super) table: Arc<Table<GraphDocument>>,
    pub(super) schema: Schema,
    strict: bool,
    seed: Seed,
    ids: AtomicU64,
}

impl Graph {
    /// A graph whose vertices are placed by a property, named by its path: `/city`.
    ///
    /// Ids that are not given are drawn from `seed`. Two graphs over one table need two seeds.
    ///
    /// # Errors
    /// When the table is no Cosmos DB container, or the path cannot be one of a graph.
    pub fn partitioned(table: Arc<Table<GraphDocument>>, partition_key: &str, seed: Seed) -> Result<Self> {
        let name = partition_key.strip_prefix('/').unwrap_or_default();
        if matches!(name, "id" | "label") || name.contains('/') {
            // The service's words at creation; also "Using a partitioned graph": both "are not supported".
            return Err(Error::invalid(format!(
                "Partition key path {partition_key} is invalid for Gremlin API. The path cannot be '/id', '/label' or a \
                 nested path such as '/key/path'. Use a property of your own, such as '/city'"
            )));
        }
        if name.is_empty() || is_reserved(name) {
            return Err(Error::invalid(format!(
                "the partition key path {partition_key:?} names no property of your own: write a slash and its name, such \
                 as '/city'"
            )));
        }
        Self::over(table, Some(name.into()), seed)
    }

    /// A graph in a container without a partition key (of the time of version 2 drivers): all of it is one logical
    /// partition, and nothing fans out.
    ///
    /// # Errors
    /// When the table is no Cosmos DB container.
    pub fn unpartitioned(table: Arc<Table<GraphDocument>>, seed: Seed) -> Result<Self> {
        Self::over(table, None, seed)
    }

    fn over(table: Arc<Table<GraphDocument>>, partition_key: Option<Arc<str>>, seed: Seed) -> Result<Self> {
        if table.profile().service() != Service::Cosmos {
            return Err(Error::invalid(format!(
                "a graph is stored in a Cosmos DB container, and {:?} is a {} table: create it with a Cosmos profile",
                table.name(),
                table.profile().service()
            )));
        }
        let (schema, seed) = (Schema { partition_key }, seed.stream("graph ids"));
        Ok(Self { table, schema, strict: false, seed, ids: AtomicU64::new(0) })
    }

    /// The same graph, whose traversals refuse steps that must ask every physical partition. Removing a vertex is one:
    /// its incoming edges may lie anywhere.
    pub fn strict_fanout(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// The property that is the partition key.
    pub fn partition_key(&self) -> Option<&str> {
        self.schema.partition_key.as_deref()
    }

    /// The container.
    pub fn table(&self) -> &Arc<Table<GraphDocument>> {
        &self.table
    }

    /// Begins a traversal: Gremlin's `g`.
    pub fn traversal(&self) -> Traversal<Source<'_>> {
        Traversal::from_source(Source { graph: self, strict: self.strict, read_partitions: None })
    }

    /// The next id: in the form of a random UUID (RFC 9562, version 4), drawn from the seed.
    pub(super) fn new_id(&self) -> String {
        let n = self.ids.fetch_add(1, Ordering::Relaxed).wrapping_mul(2);
        let (high, low) = (self.seed.at(n), self.seed.at(n.wrapping_add(1)));
        let versioned = high & !0xf000 | 0x4000;
        let variant = low & !(0b11 << 62) | 0b10 << 62;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            versioned >> 32,
            versioned >> 16 & 0xffff,
            versioned & 0xffff,
            variant >> 48,
            variant & 0xffff_ffff_ffff
        )
    }
}
