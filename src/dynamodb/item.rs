//! Items: attributes with their size, as the engine stores them.
//!
//! An item is not changed in place: an update makes another. So its size is counted once, though every read and write
//! asks for it. This file does not know which attributes are keys.

use super::attributes::Attributes;
use super::error::{Result, ServiceError};
use crate::document::Document;
use crate::units::Bytes;
use serde::{Serialize, Serializer};

/// Bytes of an item at the most, names included (developer guide, "Constraints", "Item size": 400 KB).
pub const ITEM_BYTES_MAX: u64 = 400 * 1024;

/// An item of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    attributes: Attributes,
    size: u64,
}

impl Item {
    /// An item of any size.
    pub fn new(attributes: Attributes) -> Self {
        Self { size: attributes.size(), attributes }
    }

    /// The item that a PutItem writes.
    ///
    /// # Errors
    /// When it is over 400 KB.
    pub fn to_put(attributes: Attributes) -> Result<Self> {
        Self::within(attributes, "Item size has exceeded the maximum allowed size")
    }

    /// The item that an UpdateItem leaves behind.
    ///
    /// # Errors
    /// When it is over 400 KB.
    pub fn to_update(attributes: Attributes) -> Result<Self> {
        Self::within(attributes, "Item size to update has exceeded the maximum allowed size")
    }

    fn within(attributes: Attributes, refusal: &str) -> Result<Self> {
        let item = Self::new(attributes);
        if item.size > ITEM_BYTES_MAX { Err(ServiceError::validation(refusal)) } else { Ok(item) }
    }

    /// Its attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Its attributes, the item given up.
    pub fn into_attributes(self) -> Attributes {
        self.attributes
    }
}

impl Document for Item {
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.attributes.serialize(serializer)
    }
}
