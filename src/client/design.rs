//! A key design at work: from items to keys, and from what is known to a plan for reading.

use super::Record;
use crate::error::{Error, Result};
use crate::key::{
    FieldPath, FieldRef, ItemKey, KeyValue, Part, PartitionKey, Properties, Property, SortKey, Template,
};
use crate::profile::Service;
use crate::rng::Seed;
use std::fmt;

/// The property that a computed key is stored in, as both vendors' examples name it.
const KEY_PROPERTY: &str = "partitionKey";

/// How items are keyed: a template for the partition key, a property for the sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDesign {
    template: Template,
    key_property: String,
    sort: FieldPath,
    service: Service,
    seed: Seed,
}

/// How something is read, and why so.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// One item by its full key: one request.
    Get(ItemKey),
    /// One logical partition.
    Query(PartitionKey),
    /// One item that may be under any of these keys: a request for each.
    GetEach(Vec<ItemKey>, String),
    /// Several logical partitions, merged.
    FanOut(Vec<PartitionKey>, String),
    /// The whole table.
    Scan(String),
}

impl Plan {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Get(_) => "get",
            Self::Query(_) => "query",
            Self::GetEach(..) | Self::FanOut(..) => "fan-out",
            Self::Scan(_) => "scan",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get(key) => write!(f, "get: one request for {}", key.partition),
            Self::Query(key) => write!(f, "query: the logical partition {key}"),
            Self::GetEach(keys, why) => write!(f, "fan-out: {} gets, because {why}", keys.len()),
            Self::FanOut(keys, why) => write!(f, "fan-out: {} queries, because {why}", keys.len()),
            Self::Scan(why) => write!(f, "scan: the whole table, because {why}"),
        }
    }
}

impl KeyDesign {
    /// Items of a service keyed by `template` and ordered by `sort`.
    pub fn new(template: Template, sort: impl Into<FieldPath>, service: Service) -> Self {
        Self { template, key_property: KEY_PROPERTY.into(), sort: sort.into(), service, seed: Seed(0) }
    }

    /// With the key stored in another property.
    #[must_use]
    pub fn key_property(self, name: &str) -> Self {
        Self { key_property: name.into(), ..self }
    }

    /// With another seed for random suffixes.
    #[must_use]
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// The template.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The property that orders items within a logical partition.
    pub fn sort(&self) -> &FieldPath {
        &self.sort
    }

    /// The service whose rules apply.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The name of the property that the key is stored in.
    pub fn stored_in(&self) -> &str {
        &self.key_property
    }

    /// The key of an item, and the item with its key stored in it. `draw` numbers the item: a random suffix follows
    /// from it and the seed.
    ///
    /// # Errors
    /// When a property is missing that the key or the sort key needs, or the service refuses the key.
    pub fn key<D: Record>(&self, item: D, draw: u64) -> Result<(ItemKey, D)> {
        let value = self.template.key(&item, self.seed, draw)?;
        let partition = self.partition(&value)?;
        let sort = self.sort_of(&item)?;
        // A natural key is a property already; storing it once more would only make the item larger.
        let item = if self.template.natural().is_some() {
            item
        } else {
            item.with_property(&self.key_property, &value)
        };
        Ok((ItemKey { partition, sort }, item))
    }

    /// The key of an item that replaces `old`, which is stored under `old_key`. While no property changed that the key
    /// is made of, the item stays where it is, whatever a random suffix would be drawn now.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    pub fn key_after<D: Record>(
        &self,
        old: &D,
        old_key: &ItemKey,
        new: D,
        draw: u64,
    ) -> Result<(ItemKey, D)> {
        let unchanged = self.template.fields().iter().enumerate().all(|(index, path)| {
            let field = FieldRef { index, path };
            old.property(field) == new.property(field)
        });
        if !unchanged {
            return self.key(new, draw);
        }
        let sort = self.sort_of(&new)?;
        let value = old_key.partition.values().into_iter().next().unwrap_or(KeyValue::Undefined);
        let new = if self.template.natural().is_some() {
            new
        } else {
            new.with_property(&self.key_property, &value)
        };
        Ok((ItemKey { partition: old_key.partition.clone(), sort }, new))
    }

    /// How to read what is known by `known`: the properties that the key is made of, and the sort key for one item.
    ///
    /// # Errors
    /// When a known property cannot be part of a key.
    pub fn plan(&self, known: &(impl Properties + ?Sized)) -> Result<Plan> {
        use crate::key::RowError;
        let keys = match self.template.keys(known) {
            Ok(keys) => keys,
            Err(RowError::Absent { property }) => {
                return Ok(Plan::Scan(format!("{property}, which the key is made of, is not fixed")));
            }
            Err(error @ RowError::TooMany) => return Ok(Plan::Scan(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        let partitions = keys.iter().map(|value| self.partition(value)).collect::<Result<Vec<_>>>()?;
        let sort = self.sort_of(known).ok();
        let why = || self.why_many(known);
        Ok(match (partitions.as_slice(), sort) {
            ([one], Some(sort)) => Plan::Get(ItemKey { partition: one.clone(), sort }),
            ([one], None) => Plan::Query(one.clone()),
            (_, Some(sort)) => Plan::GetEach(
                partitions.into_iter().map(|partition| ItemKey { partition, sort: sort.clone() }).collect(),
                why(),
            ),
            (_, None) => Plan::FanOut(partitions, why()),
        })
    }

    fn why_many(&self, known: &(impl Properties + ?Sized)) -> String {
        let random = self.template.parts().iter().any(|part| matches!(part, Part::Random(_)));
        if random {
            return "a random suffix cannot be computed again".into();
        }
        let unknown: Vec<String> = self
            .template
            .fields()
            .iter()
            .enumerate()
            .filter(|&(index, path)| known.property(FieldRef { index, path }) == Property::Absent)
            .map(|(_, path)| path.to_string())
            .collect();
        format!("the suffix is calculated from {}, which is not fixed", unknown.join(" and "))
    }

    fn partition(&self, value: &KeyValue) -> Result<PartitionKey> {
        let refuse = |why: &str| Err(Error::invalid(format!("the key {} {why}", self.template)));
        match (self.service, value) {
            (Service::DynamoDb, KeyValue::String(text)) if text.is_empty() => {
                refuse("is empty, and DynamoDB refuses empty key values")
            }
            (Service::DynamoDb, KeyValue::Undefined | KeyValue::Null | KeyValue::Bool(_)) => {
                refuse("is absent, null or a boolean, and a DynamoDB key is a string, a number or binary")
            }
            _ => Ok(PartitionKey::single(value.clone())),
        }
    }

    fn sort_of(&self, item: &(impl Properties + ?Sized)) -> Result<SortKey> {
        let field = FieldRef { index: 0, path: &self.sort };
        match item.property(field) {
            Property::Text(text) => Ok(SortKey::text(&text)),
            Property::Number(text) => match text.parse::<f64>() {
                Ok(n) if n.is_finite() => Ok(SortKey::single(n)),
                _ => Err(Error::invalid(format!(
                    "the sort key {} holds {text}, which is no number here",
                    self.sort
                ))),
            },
            _ => Err(Error::invalid(format!(
                "the sort key {} is absent or no plain value: every item needs one",
                self.sort
            ))),
        }
    }
}
