//! A key design at work: from items to keys, and from what is known to a plan for reading.

use super::Record;
use crate::error::{Error, Result};
use crate::key::{
    FieldPath, FieldRef, ItemKey, KeyValue, Part, PartitionKey, Properties, Property, RowError, SortKey,
    SuffixRange, Template,
};
use crate::profile::Service;
use crate::rng::Seed;
use std::fmt;

/// The property that a computed key is stored in, as both vendors' examples name it.
const KEY_PROPERTY: &str = "partitionKey";

/// Combinations of levels and suffixes at the most, as many as a suffix range may have values.
const KEYS_MAX: u64 = SuffixRange::WIDTH_MAX;

/// How items are keyed: a template for each level of the partition key, a property for the sort key.
///
/// - There are one to three levels; more than one only on Cosmos DB.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDesign {
    levels: Vec<Template>,
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
    /// All logical partitions whose hierarchical keys begin with any of these: only the physical partitions that hold
    /// them are asked.
    Prefix(Vec<PartitionKey>, String),
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
            Self::Prefix(..) => "prefix",
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
            Self::Prefix(keys, why) => match keys.as_slice() {
                [key] => write!(f, "prefix: the physical partitions that hold {key}, because {why}"),
                keys => write!(f, "prefix: {} ranges, because {why}", keys.len()),
            },
            Self::Scan(why) => write!(f, "scan: the whole table, because {why}"),
        }
    }
}

impl KeyDesign {
    /// Items of a service keyed by `template` and ordered by `sort`.
    pub fn new(template: Template, sort: impl Into<FieldPath>, service: Service) -> Self {
        Self {
            levels: vec![template],
            key_property: KEY_PROPERTY.into(),
            sort: sort.into(),
            service,
            seed: Seed(0),
        }
    }

    /// Items of a Cosmos DB container with a hierarchical partition key, outermost level first ("Hierarchical partition
    /// keys": up to three levels). A level that is not a plain property is stored in the item as the key property, with
    /// the level's number after it from the second on.
    ///
    /// # Errors
    /// When there are no levels or more than three.
    pub fn hierarchical(levels: Vec<Template>, sort: impl Into<FieldPath>) -> Result<Self> {
        if levels.is_empty() || levels.len() > PartitionKey::LEVELS_MAX {
            return Err(Error::invalid(format!(
                "a hierarchical key has one to {} levels, not {}",
                PartitionKey::LEVELS_MAX,
                levels.len()
            )));
        }
        Ok(Self {
            levels,
            key_property: KEY_PROPERTY.into(),
            sort: sort.into(),
            service: Service::Cosmos,
            seed: Seed(0),
        })
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

    /// The templates, one for each level of the key, outermost first.
    pub fn levels(&self) -> &[Template] {
        &self.levels
    }

    /// Every property that the key is made of, each once.
    pub fn fields(&self) -> Vec<&FieldPath> {
        let mut fields: Vec<&FieldPath> = Vec::new();
        for field in self.levels.iter().flat_map(Template::fields) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }

    /// Whether two items have the same key, up to what is drawn at random.
    pub fn same_key(&self, a: &(impl Properties + ?Sized), b: &(impl Properties + ?Sized)) -> bool {
        self.levels.iter().flat_map(|level| level.fields().iter().enumerate()).all(|(index, path)| {
            let field = FieldRef { index, path };
            a.property(field) == b.property(field)
        })
    }

    /// The property that orders items within a logical partition.
    pub fn sort(&self) -> &FieldPath {
        &self.sort
    }

    /// The service whose rules apply.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The name of the property that the outermost level is stored in.
    pub fn stored_in(&self) -> &str {
        &self.key_property
    }

    /// The key of an item, and the item with its key stored in it. `draw` numbers the item: a random suffix follows
    /// from it and the seed.
    ///
    /// # Errors
    /// When a property is missing that the key or the sort key needs, or the service refuses the key.
    pub fn key<D: Record>(&self, item: D, draw: u64) -> Result<(ItemKey, D)> {
        let mut values = Vec::with_capacity(self.levels.len());
        for (depth, level) in self.levels.iter().enumerate() {
            // Each level draws its own suffixes; a key of one level draws what it always drew.
            let seed = if depth == 0 { self.seed } else { self.seed.child(depth as u64) };
            values.push(level.key(&item, seed, draw)?);
        }
        let sort = self.sort_of(&item)?;
        Ok((ItemKey { partition: self.partition(&values)?, sort }, self.with_key(item, &values)))
    }

    /// The item with the computed levels of its key stored in it.
    fn with_key<D: Record>(&self, mut item: D, values: &[KeyValue]) -> D {
        for (depth, (level, value)) in self.levels.iter().zip(values).enumerate() {
            // A natural key is a property already; storing it once more would only make the item larger.
            if level.natural().is_none() {
                let name = match depth {
                    0 => self.key_property.clone(),
                    _ => format!("{}{}", self.key_property, depth + 1),
                };
                item = item.with_property(&name, value);
            }
        }
        item
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
        if !self.same_key(old, &new) {
            return self.key(new, draw);
        }
        let sort = self.sort_of(&new)?;
        let new = self.with_key(new, &old_key.partition.values());
        Ok((ItemKey { partition: old_key.partition.clone(), sort }, new))
    }

    /// How to read what is known by `known`: the properties that the key is made of, and the sort key for one item.
    ///
    /// # Errors
    /// When a known property cannot be part of a key.
    pub fn plan(&self, known: &(impl Properties + ?Sized)) -> Result<Plan> {
        let mut prefixes: Vec<Vec<KeyValue>> = vec![Vec::new()];
        for (depth, level) in self.levels.iter().enumerate() {
            let values = match level.keys(known) {
                Ok(values) => values,
                Err(RowError::Absent { property }) => {
                    let why = format!("{property}, which the key is made of, is not fixed");
                    if depth == 0 {
                        return Ok(Plan::Scan(why));
                    }
                    let keys = prefixes.iter().map(|values| self.partition(values)).collect::<Result<_>>()?;
                    return Ok(Plan::Prefix(keys, why));
                }
                Err(error @ RowError::TooMany) => return Ok(Plan::Scan(error.to_string())),
                Err(error) => return Err(error.into()),
            };
            if (prefixes.len() as u64).saturating_mul(values.len() as u64) > KEYS_MAX {
                return Ok(Plan::Scan(RowError::TooMany.to_string()));
            }
            prefixes = prefixes
                .iter()
                .flat_map(|prefix| {
                    values.iter().map(|value| [prefix.as_slice(), std::slice::from_ref(value)].concat())
                })
                .collect();
        }
        let partitions = prefixes.iter().map(|values| self.partition(values)).collect::<Result<Vec<_>>>()?;
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
        let mut parts = self.levels.iter().flat_map(|level| level.parts());
        if parts.any(|part| matches!(part, Part::Random(_))) {
            return "a random suffix cannot be computed again".into();
        }
        let absent = |path: &&FieldPath| known.property(FieldRef { index: 0, path }) == Property::Absent;
        let unknown: Vec<String> =
            self.fields().into_iter().filter(absent).map(ToString::to_string).collect();
        format!("the suffix is calculated from {}, which is not fixed", unknown.join(" and "))
    }

    fn partition(&self, values: &[KeyValue]) -> Result<PartitionKey> {
        for (level, value) in self.levels.iter().zip(values) {
            let refuse = |why: &str| Err(Error::invalid(format!("the key {level} {why}")));
            match (self.service, value) {
                (Service::DynamoDb, KeyValue::String(text)) if text.is_empty() => {
                    return refuse("is empty, and DynamoDB refuses empty key values");
                }
                (Service::DynamoDb, KeyValue::Undefined | KeyValue::Null | KeyValue::Bool(_)) => {
                    return refuse(
                        "is absent, null or a boolean, and a DynamoDB key is a string, a number or binary",
                    );
                }
                _ => {}
            }
        }
        PartitionKey::levels(values)
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

/// The levels as a template each, joined by slashes as keys print.
impl fmt::Display for KeyDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, level) in self.levels.iter().enumerate() {
            if depth > 0 {
                f.write_str("/")?;
            }
            write!(f, "{level}")?;
        }
        Ok(())
    }
}
