//! What a table is: its key, its indexes and how it is paid for. Checked before it gets here.

use super::super::attributes::Attributes;
use super::super::key::{KeySchema, KeyType};
use crate::budget::Fill;
use crate::error::Result;
use crate::key::Placement;
use crate::profile::Profile;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDefinition {
    /// Its name.
    pub name: String,
    /// Every attribute that a key names, with its type, in the order of the request.
    pub attributes: Vec<(Box<str>, KeyType)>,
    /// The key.
    pub schema: KeySchema,
    /// How it is paid for.
    pub billing: Billing,
    /// Local secondary indexes: the same partition key, another sort key.
    pub local: Vec<IndexDefinition>,
    /// Global secondary indexes.
    pub global: Vec<GlobalIndex>,
}

/// How a table or a global index is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// So many read and write units a second.
    Provisioned {
        /// Read units a second.
        read: u64,
        /// Write units a second.
        write: u64,
    },
    /// By the request.
    OnDemand,
}

impl Billing {
    /// The physics of a table that is paid for in this way, with keys laid out by `layout`. Burst credit is full at creation.
    ///
    /// # Errors
    /// When the throughput is zero or absurd.
    pub fn profile(self, layout: u32) -> Result<Profile> {
        let profile = match self {
            Self::Provisioned { read, write } => Profile::dynamodb_provisioned(read, write)?,
            Self::OnDemand => Profile::dynamodb_on_demand(),
        };
        Ok(profile.with_placement(Placement::Seeded { layout }).with_fill(Fill::Full))
    }
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name.
    pub name: String,
    /// Its key.
    pub schema: KeySchema,
    /// Which attributes its entries have.
    pub projection: IndexProjection,
}

/// A global secondary index: partitions and throughput of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalIndex {
    /// What it is.
    pub index: IndexDefinition,
    /// How it is paid for.
    pub billing: Billing,
}

/// Which attributes an index entry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexProjection {
    /// Those of the index's key and of the table's.
    KeysOnly,
    /// Those, and these.
    Include(Vec<Box<str>>),
    /// All.
    All,
}

impl IndexDefinition {
    /// What an entry holds of an item of a table with this key.
    pub fn project(&self, table: &KeySchema, item: &Attributes) -> Attributes {
        let included: &[Box<str>] = match &self.projection {
            IndexProjection::All => return item.clone(),
            IndexProjection::KeysOnly => &[],
            IndexProjection::Include(names) => names,
        };
        let wanted = |name: &str| {
            table.contains(name) || self.schema.contains(name) || included.iter().any(|own| &**own == name)
        };
        item.iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, value)| (Box::from(name), value.clone()))
            .collect()
    }
}
