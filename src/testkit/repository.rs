//! What a suite tests: something that stores items by identity, as an application's data layer does.

use crate::charge::Consistency;
use crate::client::{Backend, Client, FanOutQuery, KeyDesign, Options, RetryPolicy};
use crate::clock::Clock;
use crate::cluster::Refusal;
use crate::key::ItemKey;
use serde_json::Value;

/// How a write ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// As it should.
    Done,
    /// Not at all: nothing was changed.
    Refused(Refusal),
    /// Half-way: what was there before can still be read, or what should be there already, or both. The same call again
    /// finishes it.
    Unfinished(Refusal),
}

/// A data layer under test.
///
/// A suite calls it as an application would and compares every answer with a model. Reads that are refused because of
/// a throttle or a conflict are let pass; a refusal that says the call is wrong is a finding.
pub trait Repository {
    /// Stores an item that is not there yet.
    fn insert(&mut self, item: &Value) -> Outcome;

    /// Stores `new` in place of `old`, which has the same identity. A property may have changed that the key is made
    /// of.
    fn replace(&mut self, old: &Value, new: &Value) -> Outcome;

    /// Removes an item.
    fn remove(&mut self, item: &Value) -> Outcome;

    /// The item that `known` names: its identity and the properties that its key is made of.
    ///
    /// # Errors
    /// When the read is refused.
    fn get(&mut self, known: &Value) -> Result<Option<Value>, Refusal>;

    /// All items of the logical key that `known` names, in any order.
    ///
    /// # Errors
    /// When the read is refused.
    fn list(&mut self, known: &Value) -> Result<Vec<Value>, Refusal>;
}

/// The data layer that [`Client`] makes simple: reads are strong, a changed key moves the item, and a call that was
/// left half-way finishes when it is made again, random suffixes included.
#[derive(Debug)]
pub struct KeyedRepository<'b, B> {
    client: Client<'b, B>,
}

impl<'b, B: Backend<Item = Value>> KeyedRepository<'b, B> {
    /// Items of `design` on `backend`, never retried.
    pub fn new(backend: &'b B, design: KeyDesign, clock: Clock) -> Self {
        let options =
            Options { consistency: Consistency::Strong, retry: RetryPolicy::None, ..Options::default() };
        Self::over(Client::new(backend, design, clock).with(options))
    }

    /// Items behind a client, which decides on retries. Its reads should be strong.
    pub fn over(client: Client<'b, B>) -> Self {
        Self { client }
    }

    /// Where an item is, and as what.
    fn locate(&self, known: &Value) -> Result<Option<(ItemKey, Value)>, Refusal> {
        Ok(self.client.get(known)?.item)
    }

    fn replace_all(&self, old: &Value, new: &Value) -> Result<Outcome, Refusal> {
        let before = self.locate(old)?;
        // A call that was left half-way has stored the new item already. With a random suffix its key would be drawn
        // anew, and the item would be there twice.
        let there = match self.client.design().same_key(old, new) {
            true => None,
            // Two values can have the same calculated suffix: then there is only one place.
            false => self.locate(new)?.filter(|(key, _)| before.as_ref().is_none_or(|(old, _)| old != key)),
        };
        Ok(match (before, there) {
            (Some((old_key, old)), None) => {
                let (_, moved, _) = self.client.replace(&old, &old_key, new.clone())?;
                match (moved.refusal, moved.left_behind) {
                    (None, _) => Outcome::Done,
                    (Some(refusal), Some(_)) => Outcome::Unfinished(refusal),
                    (Some(refusal), None) => Outcome::Refused(refusal),
                }
            }
            (before, Some((key, stored))) => {
                let (_, moved, _) = self.client.replace(&stored, &key, new.clone())?;
                match (moved.refusal, before) {
                    (Some(refusal), _) => Outcome::Unfinished(refusal),
                    (None, Some((old_key, _))) => match self.client.remove(&old_key) {
                        Ok(_) => Outcome::Done,
                        Err(refusal) => Outcome::Unfinished(refusal),
                    },
                    (None, None) => Outcome::Done,
                }
            }
            (None, None) => {
                self.client.put(new.clone())?;
                Outcome::Done
            }
        })
    }
}

impl<B: Backend<Item = Value>> Repository for KeyedRepository<'_, B> {
    fn insert(&mut self, item: &Value) -> Outcome {
        match self.client.put(item.clone()) {
            Ok(_) => Outcome::Done,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    fn replace(&mut self, old: &Value, new: &Value) -> Outcome {
        self.replace_all(old, new).unwrap_or_else(Outcome::Refused)
    }

    fn remove(&mut self, item: &Value) -> Outcome {
        let removed = self.locate(item).and_then(|found| match found {
            Some((key, _)) => self.client.remove(&key).map(|_| ()),
            None => Ok(()),
        });
        match removed {
            Ok(()) => Outcome::Done,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    fn get(&mut self, known: &Value) -> Result<Option<Value>, Refusal> {
        Ok(self.locate(known)?.map(|(_, item)| item))
    }

    fn list(&mut self, known: &Value) -> Result<Vec<Value>, Refusal> {
        let mut rows = self.client.read(known, &FanOutQuery::default())?;
        let items = rows.by_ref().map(|(_, item)| item).collect();
        match rows.refusal() {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(items),
        }
    }
}
