//! Where a traversal begins: which logical partitions hold what it asks for.
//!
//! ```text
//!   g.V('thomas')                               every physical partition        Selection::Ids
//!   g.V(['oslo','thomas'], …)                   a point read each               Selection::Keys
//!   g.V('thomas','mary').has('city', within(…)) one query for each key          Selection::Within
//!   g.V().has('city','oslo')                    one query                       Selection::All, then has()
//!   PartitionStrategy, readPartitions('oslo')   as has(), for the whole traversal
//! ```
//!
//! The four ways of "Using a partitioned graph in Azure Cosmos DB". Filters that directly follow the first `V()` are
//! answered by the index ("Support": only the first `V()` uses it); those on the partition key also narrow the scope.

use super::element::Schema;
use super::error::{Fault, Outcome};
use super::predicate::P;
use super::step::Step;
use crate::key::{ItemKey, KeyValue, PartitionKey, SortKey};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};

/// Which elements `V()` or `E()` begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// Those with one of these ids, in whatever partition.
    Ids(Vec<String>),
    /// Those with one of these (partition key, id).
    Keys(Vec<(KeyValue, String)>),
    /// Those with one of these ids under one of these partition keys.
    Within {
        /// Values of the partition key.
        keys: Vec<KeyValue>,
        /// Ids.
        ids: Vec<String>,
    },
}

impl From<()> for Selection {
    fn from((): ()) -> Self {
        Self::All
    }
}

impl From<&str> for Selection {
    fn from(id: &str) -> Self {
        Self::Ids(vec![id.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for Selection {
    fn from(ids: [&str; N]) -> Self {
        Self::Ids(ids.map(str::to_owned).into())
    }
}

impl<K: Into<KeyValue>, I: Into<String>> From<(K, I)> for Selection {
    fn from((key, id): (K, I)) -> Self {
        Self::Keys(vec![(key.into(), id.into())])
    }
}

impl<K: Into<KeyValue>, I: Into<String>> From<Vec<(K, I)>> for Selection {
    fn from(keys: Vec<(K, I)>) -> Self {
        Self::Keys(keys.into_iter().map(|(key, id)| (key.into(), id.into())).collect())
    }
}

impl<K: Into<KeyValue>, I: Into<String>, const N: usize> From<[(K, I); N]> for Selection {
    fn from(keys: [(K, I); N]) -> Self {
        Vec::from(keys).into()
    }
}

/// Which part of the table a storage operation asks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scope {
    /// Documents by their full key.
    Points(VecDeque<ItemKey>),
    /// Logical partitions.
    Partitions(VecDeque<PartitionKey>),
    /// Every physical partition.
    Everything,
}

impl Schema {
    /// Everything that the traversal may see: all of it, or the partitions of its strategy.
    pub(super) fn everything(&self, read: Option<&BTreeSet<PartitionKey>>) -> Scope {
        match read {
            Some(read) => Scope::Partitions(read.iter().cloned().collect()),
            // A container without a partition key is one logical partition.
            None => self.partition_key.as_ref().map_or_else(
                || Scope::Partitions(self.partition(None).into_iter().collect()),
                |_| Scope::Everything,
            ),
        }
    }

    /// The scope of a selection, narrowed by the filters that follow it, and the ids it is confined to.
    pub(super) fn scope(
        &self,
        selection: &Selection,
        filters: &[&Step],
        read: Option<&BTreeSet<PartitionKey>>,
    ) -> Outcome<(Scope, Option<BTreeSet<String>>)> {
        let within = |keys: &[KeyValue]| keys.iter().cloned().map(PartitionKey::single).collect();
        let own: BTreeSet<PartitionKey> = self.partition(None).into_iter().collect();
        let mut keys: Option<BTreeSet<PartitionKey>> = read.cloned();
        let mut narrow = |more: BTreeSet<PartitionKey>| {
            keys = Some(match keys.take() {
                Some(keys) => &keys & &more,
                None => more,
            });
        };
        match &self.partition_key {
            None if matches!(selection, Selection::Keys(_) | Selection::Within { .. }) => {
                return Err(Fault::invalid("this graph has no partition key: select by id alone"));
            }
            None => narrow(own),
            Some(name) => {
                if let Selection::Within { keys, .. } = selection {
                    narrow(within(keys));
                }
                for filter in filters {
                    if let Step::Has(key, predicate) = filter
                        && key == &**name
                    {
                        let values = match predicate {
                            P::Eq(value) => std::slice::from_ref(value),
                            P::Within(values) => values,
                            _ => continue,
                        };
                        narrow(values.iter().filter_map(|value| self.partition(Some(value))).collect());
                    }
                }
            }
        }
        let mut ids = match selection {
            Selection::Ids(ids) | Selection::Within { ids, .. } => Some(ids.iter().cloned().collect()),
            Selection::All | Selection::Keys(_) => None,
        };
        for filter in filters {
            let predicate = match filter {
                Step::HasId(predicate) => predicate,
                Step::Has(key, predicate) if key == "id" => predicate,
                _ => continue,
            };
            let wanted: BTreeSet<String> = match predicate {
                P::Eq(Value::String(id)) => BTreeSet::from([id.clone()]),
                P::Within(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => continue,
            };
            ids = Some(match ids {
                Some(ids) => &ids & &wanted,
                None => wanted,
            });
        }
        let scope = match (selection, keys, &ids) {
            (Selection::Keys(pairs), keys, _) => {
                let points = pairs.iter().map(|(key, id)| ItemKey {
                    partition: PartitionKey::single(key.clone()),
                    sort: SortKey::text(id),
                });
                let points: BTreeSet<ItemKey> = points
                    .filter(|point| keys.as_ref().is_none_or(|keys| keys.contains(&point.partition)))
                    .collect();
                Scope::Points(points.into_iter().collect())
            }
            (_, Some(keys), Some(ids)) if self.partition_key.is_none() => {
                let points = keys.iter().flat_map(|key| {
                    ids.iter().map(|id| ItemKey { partition: key.clone(), sort: SortKey::text(id) })
                });
                Scope::Points(points.collect())
            }
            // No id at all: nobody needs to be asked.
            (_, _, Some(ids)) if ids.is_empty() => Scope::Points(VecDeque::new()),
            (_, Some(keys), _) => Scope::Partitions(keys.into_iter().collect()),
            (_, None, _) => Scope::Everything,
        };
        Ok((scope, ids))
    }
}
