//! What is set on a table and is no part of its shape: protection, tags, time to live, and when things were done.

use crate::clock::Instant;
use std::collections::BTreeMap;

/// The settings of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// When it was created.
    pub created: Instant,
    /// Whether it may not be deleted.
    pub deletion_protection: bool,
    /// Whether it is stored as seldom read: `STANDARD_INFREQUENT_ACCESS`, which changes prices only.
    pub infrequent_access: bool,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// The attribute that tells when an item expires, while time to live is on. Nothing expires here yet.
    pub time_to_live: Option<String>,
    /// When it was last switched to on-demand mode.
    pub on_demand_since: Option<Instant>,
    /// When its provisioned throughput was last raised.
    pub raised: Option<Instant>,
    /// When its provisioned throughput was last lowered.
    pub lowered: Option<Instant>,
}

impl Settings {
    /// Those of a table that is created now.
    pub fn at(now: Instant) -> Self {
        Self {
            created: now,
            deletion_protection: false,
            infrequent_access: false,
            tags: BTreeMap::new(),
            time_to_live: None,
            on_demand_since: None,
            raised: None,
            lowered: None,
        }
    }
}
