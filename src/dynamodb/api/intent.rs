//! What one write wants of its item, read from the request and not yet asked of any item.

use super::super::attributes::Attributes;
use super::super::error::ServiceError;
use super::super::expression::{Condition, Update};
use super::super::item::Item;
use super::super::service::Decision;
use crate::document::Document;
use crate::units::Bytes;
use std::sync::Arc;

/// What is to become of the item.
#[derive(Debug)]
pub(super) enum Change {
    /// It is replaced by this one.
    Put(Item),
    /// It is removed.
    Delete,
    /// It is changed, or made of the key that the request names.
    Update {
        /// How; `None`: it is only there afterwards.
        update: Option<Arc<Update>>,
        /// The key's attributes.
        named: Attributes,
    },
    /// Nothing.
    Keep,
}

/// A change, and on what condition.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) condition: Option<Condition>,
    pub(super) change: Change,
}

impl Intent {
    /// The size of what is to be stored, where that is known beforehand.
    pub(super) fn attempted(&self) -> Option<Bytes> {
        match &self.change {
            Change::Put(item) => Some(item.size()),
            Change::Delete | Change::Update { .. } | Change::Keep => None,
        }
    }

    /// What becomes of the item as it is.
    pub(super) fn decide(self, old: Option<&Item>) -> Result<Decision, ServiceError> {
        let nothing = Attributes::new();
        let attributes = old.map(Item::attributes);
        let holds = |condition: &Condition| condition.holds(attributes.unwrap_or(&nothing));
        if !self.condition.as_ref().is_none_or(holds) {
            let attempted = match &self.change {
                // What an update would have made of it is not worked out.
                Change::Update { .. } => old.map(Document::size),
                _ => self.attempted(),
            };
            return Ok(Decision::Refuse { attempted });
        }
        Ok(match self.change {
            Change::Put(item) => Decision::Put(item),
            Change::Delete => Decision::Delete,
            Change::Keep => Decision::Keep,
            Change::Update { update, named } => {
                let after = match update {
                    Some(update) => update.apply(attributes, &named)?,
                    None => attributes.cloned().unwrap_or(named),
                };
                Decision::Put(Item::to_update(after)?)
            }
        })
    }
}
