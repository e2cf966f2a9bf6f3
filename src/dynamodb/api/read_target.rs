//! What a Query or Scan reads: a table, a local or a global index of it; and what becomes of the entries read.
//!
//! ```text
//!   entries of the target ─► fetched from the table, if a local index lacks something ─► filter ─► projection ─► answer
//! ```
//!
//! A local index is paid for by its table: whoever reads it is admitted by the partition of the table that has the key.

use super::super::attributes::Attributes;
use super::super::error::ServiceError;
use super::super::item::Item;
use super::super::key::KeySchema;
use super::super::service::{
    Billing, Charges, DynamoTable, IndexDefinition, IndexProjection, TableDefinition, entry_key,
};
use super::error::ApiError;
use super::items::{arn, table, unread};
use super::read_request::{ReadRequest, Select, bad_start};
use super::{Answer, Call};
use crate::budget::Capacity;
use crate::charge::{Consistency, Footprint, RequestCharge, dynamodb};
use crate::clock::Instant;
use crate::cluster::{Refusal, Table};
use crate::document::Document;
use crate::key::ItemKey;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Which resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Table,
    /// By its place in the definition.
    Local(usize),
    /// By its place in the definition.
    Global(usize),
}

/// What is read.
pub(super) struct Target {
    pub(super) table: Arc<DynamoTable>,
    pub(super) definition: Arc<TableDefinition>,
    pub(super) resource: Resource,
}

/// The entries that a request has read.
pub(super) struct Entries {
    pub(super) entries: Vec<(ItemKey, Item)>,
    /// What reading them cost at the resource.
    pub(super) charge: RequestCharge,
    /// Whether there are more, as far as is known.
    pub(super) more: bool,
}

impl Target {
    pub(super) fn find(call: &Call<'_>, request: &ReadRequest) -> Result<Self, ApiError> {
        let table = table(call, &request.table_name)?;
        let definition = table.definition();
        let Some(name) = request.index_name.as_deref() else {
            return Ok(Self { table, definition, resource: Resource::Table });
        };
        let local = definition.local.iter().position(|index| index.name == name).map(Resource::Local);
        let global = || definition.global.iter().position(|global| global.index.name == name);
        let Some(resource) = local.or_else(|| global().map(Resource::Global)) else {
            return Err(ServiceError::validation(format!(
                "The table does not have the specified index: {name}"
            ))
            .into());
        };
        if matches!(resource, Resource::Global(_)) && request.consistency == Consistency::Strong {
            return Err(ServiceError::validation(
                "Consistent reads are not supported on global secondary indexes",
            )
            .into());
        }
        Ok(Self { table, definition, resource })
    }

    /// The index, if it is one.
    pub(super) fn index(&self) -> Option<&IndexDefinition> {
        match self.resource {
            Resource::Table => None,
            Resource::Local(i) => self.definition.local.get(i),
            Resource::Global(i) => self.definition.global.get(i).map(|global| &global.index),
        }
    }

    /// The key by which it is ordered.
    pub(super) fn schema(&self) -> &KeySchema {
        self.index().map_or(&self.definition.schema, |index| &index.schema)
    }

    /// Its entries.
    pub(super) fn entries(&self) -> &Table<Item> {
        let index = match self.resource {
            Resource::Table => None,
            Resource::Local(i) => self.table.local(i),
            Resource::Global(i) => self.table.global(i),
        };
        index.unwrap_or_else(|| self.table.base())
    }

    /// The attributes of a starting key that are the key of the table, and of the index.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.definition.schema.attributes().map(|key| key.name()).collect();
        for key in self.schema().attributes() {
            if !names.contains(&key.name()) {
                names.push(key.name());
            }
        }
        names
    }

    /// That a starting key has the attributes of this target.
    pub(super) fn check_start(&self, start: &Attributes, scan: bool) -> Result<(), ApiError> {
        const MISMATCH: &str = "The provided key element does not match the schema";
        if start.len() != self.names().len() {
            // Only the scan of a table says how.
            let why = if scan && self.resource == Resource::Table { MISMATCH } else { "" };
            return Err(bad_start(why));
        }
        for key in self.schema().attributes() {
            match start.get(key.name()) {
                None if self.resource == Resource::Table && scan => return Err(bad_start(MISMATCH)),
                None => return Err(bad_start("")),
                Some(value) if value.kind() != key.kind().kind() => {
                    return Err(match self.resource {
                        Resource::Table if scan => bad_start(MISMATCH),
                        _ => ServiceError::validation(MISMATCH).into(),
                    });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The position that a starting key stands for.
    pub(super) fn start(&self, start: &Attributes) -> Result<ItemKey, ApiError> {
        let part = |schema: &KeySchema| {
            schema.of_request(&schema.project(start)).map_err(|error| bad_start(error.message()))
        };
        let key = part(&self.definition.schema)?;
        match self.index() {
            None => Ok(key),
            Some(index) => Ok(entry_key(&part(&index.schema)?, &key)),
        }
    }

    /// The starting key that goes on after an entry.
    fn position(&self, entry: &Item) -> Attributes {
        let names = self.names();
        let own = entry.attributes().iter().filter(|(name, _)| names.contains(name));
        own.map(|(name, value)| (Box::from(name), value.clone())).collect()
    }

    /// Whether the target's entries have this attribute.
    fn has(&self, name: &str) -> bool {
        let Some(index) = self.index() else { return true };
        let included = match &index.projection {
            IndexProjection::All => return true,
            IndexProjection::KeysOnly => false,
            IndexProjection::Include(names) => names.iter().any(|own| &**own == name),
        };
        included || self.definition.schema.contains(name) || index.schema.contains(name)
    }

    /// That a projection and a filter ask for what is there.
    pub(super) fn check_paths(&self, request: &ReadRequest, query: bool) -> Result<(), ApiError> {
        let projected: Vec<_> = request.projection.iter().flat_map(|projection| projection.paths()).collect();
        let filtered: Vec<_> = request.filter.iter().flat_map(|(filter, _)| filter.paths()).collect();
        let schemas = || [(&self.definition.schema, false), (self.schema(), true)].into_iter();
        let nested = |paths: &[&super::super::expression::DocumentPath]| -> Vec<String> {
            paths.iter().filter(|path| path.is_nested()).map(|path| path.head().to_owned()).collect()
        };
        let check_nested = |heads: &[String]| {
            schemas().try_for_each(|(schema, index)| {
                schema.check_nested(heads.iter().map(String::as_str), index && self.index().is_some())
            })
        };
        check_nested(&nested(&projected))?;
        if let Some((_, kind)) = request.filter.as_ref().filter(|_| query) {
            self.schema().check_filtered(filtered.iter().map(|path| path.head()), *kind)?;
        }
        if let (Resource::Global(_), Some(index)) = (self.resource, self.index()) {
            if request.select == Select::AllAttributes && index.projection != IndexProjection::All {
                return Err(ServiceError::invalid_parameters(format!(
                    "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection type \
                     is not ALL",
                    index.name
                ))
                .into());
            }
            self.check_projected("Global", index, projected.iter().map(|path| path.head()))?;
        }
        if let Some(index) = self.index() {
            // *Assumed* texts: that such filters are refused is known (ScyllaDB's `test_lsi.py`), not in which words.
            let kind = if matches!(self.resource, Resource::Global(_)) { "Global" } else { "Local" };
            self.check_projected(kind, index, filtered.iter().map(|path| path.head()))?;
        }
        check_nested(&nested(&filtered))?;
        Ok(())
    }

    fn check_projected<'a>(
        &self,
        kind: &str,
        index: &IndexDefinition,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<(), ServiceError> {
        let missing: Vec<&str> = names.filter(|name| !self.has(name)).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(ServiceError::invalid_parameters(format!(
                "{kind} secondary index {} does not project [{}]",
                index.name,
                missing.join(", ")
            ))),
        }
    }

    /// What a refused read is on the wire.
    pub(super) fn refused(&self, refusal: Refusal) -> ApiError {
        match (self.resource, self.index(), &refusal) {
            (Resource::Global(i), Some(index), Refusal::Throttled(throttled)) => {
                let billing = self.definition.global.get(i).map(|global| global.billing);
                let arn = format!("{}/index/{}", arn(&self.table), index.name);
                ApiError::throttled(throttled, billing == Some(Billing::OnDemand), &arn, true)
            }
            _ => unread(&self.table, refusal),
        }
    }

    /// Whether items must be fetched from the table, because a local index lacks what was asked for.
    fn fetches(&self, request: &ReadRequest) -> bool {
        let Some(index) = self.index() else { return false };
        match request.select {
            Select::AllAttributes => index.projection != IndexProjection::All,
            Select::Specific => {
                let mut paths = request.projection.iter().flat_map(|projection| projection.paths());
                paths.any(|path| !self.has(path.head()))
            }
            Select::Unsaid | Select::AllProjected | Select::Count => false,
        }
    }

    /// Fetches the items of entries from the table, and answers what that cost: each is a read of its own ("Local secondary
    /// indexes", "Fetches"). The partition that admitted the read of the index admits these too.
    fn fetch(
        &self,
        entries: &mut [(ItemKey, Item)],
        consistency: Consistency,
        now: Instant,
    ) -> RequestCharge {
        let layout = self.table.base().layout(now);
        let mut sum = RequestCharge::ZERO;
        for (_, entry) in entries {
            let Ok(key) = self.definition.schema.of_item(entry.attributes()) else { continue };
            let ticket = layout.readmit(key, Capacity::Read);
            let item = ticket.item();
            let size = item.as_ref().map(Document::size);
            let charge = dynamodb::charge(&Footprint::PointRead { size, consistency });
            ticket.leave(charge, now);
            sum += charge;
            if let Some(item) = item {
                *entry = item;
            }
        }
        sum
    }

    /// The answer to a request that has read these entries.
    pub(super) fn answer(&self, request: &ReadRequest, mut read: Entries, now: Instant) -> Answer {
        // The service says so even when nothing follows: it has not looked further than the limit.
        let limited = request.limit.is_some_and(|limit| read.entries.len() >= limit);
        let last = read.entries.last().filter(|_| read.more || limited).map(|(_, last)| self.position(last));
        let scanned = read.entries.len();
        let mut charges = Charges::none(&self.table);
        let own = match self.resource {
            Resource::Table => None,
            Resource::Local(i) => charges.local.get_mut(i),
            Resource::Global(i) => charges.global.get_mut(i),
        };
        match own {
            Some(own) => *own = read.charge,
            None => charges.table = read.charge,
        }
        // A filter sees the entry: what it names is there, or the request was refused.
        if self.fetches(request) {
            charges.table += self.fetch(&mut read.entries, request.consistency, now);
        }
        let filter = request.filter.as_ref().map(|(filter, _)| filter);
        let passing = read
            .entries
            .iter()
            .map(|(_, entry)| entry.attributes())
            .filter(|entry| filter.is_none_or(|filter| filter.holds(entry)));
        let mut answer = Map::new();
        let count = if request.select == Select::Count {
            passing.count()
        } else {
            let items: Vec<Value> = passing
                .map(|entry| match &request.projection {
                    Some(projection) => projection.apply(entry).to_json(),
                    None => entry.to_json(),
                })
                .collect();
            let count = items.len();
            answer.insert("Items".into(), Value::Array(items));
            count
        };
        answer.insert("Count".into(), json!(count));
        answer.insert("ScannedCount".into(), json!(scanned));
        if let Some(last) = last {
            answer.insert("LastEvaluatedKey".into(), last.to_json());
        }
        if let Some(consumed) = request.capacity.tell(&self.table, &charges) {
            answer.insert("ConsumedCapacity".into(), consumed);
        }
        Ok(Value::Object(answer))
    }
}
