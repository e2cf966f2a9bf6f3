//! Runs one history on a repository and on the model, and compares after every step.
//!
//! The model is a map from identity to item: it knows no keys. After each operation the item is read back, under what
//! names it now and, if its key changed, under what named it before. At the end the faults are healed, every item and
//! every logical key is read, and the table itself is searched for what nobody reads any more.

use super::violation::ensure;
use super::{Case, Faulty, Operation, Outcome, Repository, Schema, Violation, invariant};
use crate::clock::Clock;
use crate::cluster::{Refusal, Scan};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A write that was left half-way must be finished after so many repetitions.
const REPETITIONS_MAX: usize = 20;
/// Splits by a history stop here, so that it stays quick.
const PARTITIONS_MAX: usize = 24;
/// Time between two operations: budgets recover, so that throttles come from faults unless a profile is tight.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two repetitions at the end at the most: a bucket is full again after so long.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// One run.
pub(super) struct History<'h> {
    schema: &'h Schema,
    table: &'h Faulty<Value>,
    clock: &'h Clock,
    repository: Box<dyn Repository + 'h>,
    /// Whether the repository may store more than the items.
    may_store_more: bool,
    /// Items by the text of their identity.
    model: BTreeMap<String, Value>,
    /// The last version of items that were removed, so that their absence can be checked.
    gone: BTreeMap<String, Value>,
    /// The last write, if it was refused for the time being: which item, as what (`None` removes), and why.
    refused: Option<(String, Option<Value>, Refusal)>,
    /// Whether all faults are healed: from then on only the table itself may refuse.
    healed: bool,
}

impl<'h> History<'h> {
    pub(super) fn new(
        schema: &'h Schema,
        table: &'h Faulty<Value>,
        clock: &'h Clock,
        repository: Box<dyn Repository + 'h>,
        may_store_more: bool,
    ) -> Self {
        Self {
            schema,
            table,
            clock,
            repository,
            may_store_more,
            model: BTreeMap::new(),
            gone: BTreeMap::new(),
            refused: None,
            healed: false,
        }
    }

    pub(super) fn run(&mut self, case: &Case) -> Result<(), Violation> {
        let count = case.operations.len();
        for (i, operation) in case.operations.iter().enumerate() {
            self.schema.check(operation).map_err(|violation| {
                Violation::new(format!(
                    "operation {} of {count} ({operation}) is no test: {violation}",
                    i + 1
                ))
            })?;
        }
        for (i, operation) in case.operations.iter().enumerate() {
            self.apply(operation).map_err(|violation| {
                Violation::new(format!("after operation {} of {count} ({operation}): {violation}", i + 1))
            })?;
            self.clock.advance(PAUSE);
        }
        self.table.heal();
        self.healed = true;
        self.check_everything()
            .and_then(|()| self.check_last_refusal())
            .map_err(|violation| Violation::new(format!("at the end, all faults healed: {violation}")))
    }

    fn apply(&mut self, operation: &Operation) -> Result<(), Violation> {
        match operation {
            Operation::Put(item) => match self.schema.identity_of(item) {
                Some(id) => self.put(&id.to_string(), item),
                None => Ok(()),
            },
            Operation::Change { item, property, to } => match self.model.get(&item.to_string()) {
                Some(old) => self.put(&item.to_string(), &self.schema.changed(old, property, to)),
                None => Ok(()),
            },
            Operation::Remove(item) => self.remove(&item.to_string()),
            Operation::Get(item) => self.check_item(&item.to_string()),
            Operation::List(item) => match self.version(&item.to_string()).cloned() {
                Some(item) => self.check_list(&self.schema.logical(&item)),
                None => Ok(()),
            },
            Operation::Split(at) => {
                self.with_partition(*at, |table, partition, now| {
                    if table.partition_count() < PARTITIONS_MAX {
                        // A partition that cannot be divided stays whole.
                        let _ = table.split(partition, None, now);
                    }
                });
                Ok(())
            }
            Operation::Merge(at) => {
                self.with_partition(*at, |table, partition, now| {
                    // The last partition has no neighbour.
                    let _ = table.merge(partition, now);
                });
                Ok(())
            }
            Operation::WaitMillis(millis) => {
                self.clock.advance(Duration::from_millis(u64::from(*millis)));
                Ok(())
            }
        }
    }

    fn with_partition(
        &self,
        at: u32,
        act: impl FnOnce(&crate::cluster::Table<Value>, crate::budget::PartitionId, crate::clock::Instant),
    ) {
        let table = self.table.table();
        let partitions = table.report().partitions;
        let partition = partitions[at as usize % partitions.len()].id;
        act(table, partition, self.clock.now());
    }

    /// What is there, or was last.
    fn version(&self, id: &str) -> Option<&Value> {
        self.model.get(id).or_else(|| self.gone.get(id))
    }

    fn put(&mut self, id: &str, item: &Value) -> Result<(), Violation> {
        let old = self.model.get(id).cloned();
        let write = |repository: &mut dyn Repository| match &old {
            Some(old) => repository.replace(old, item),
            None => repository.insert(item),
        };
        let done = self.write(id, old.as_ref(), Some(item), write)?;
        if done {
            self.model.insert(id.to_owned(), item.clone());
            self.gone.remove(id);
            self.check_item(id)?;
            if let Some(old) = old.filter(|old| self.schema.known(old) != self.schema.known(item)) {
                return self.check_left_nothing(id, &old);
            }
            return Ok(());
        }
        self.check_item(id)
    }

    fn remove(&mut self, id: &str) -> Result<(), Violation> {
        let Some(old) = self.model.get(id).cloned() else { return Ok(()) };
        if self.write(id, Some(&old), None, |repository| repository.remove(&old))? {
            self.model.remove(id);
            self.gone.insert(id.to_owned(), old);
        }
        self.check_item(id)
    }

    /// Makes a write and repeats it while it is left half-way. Whether it was made.
    fn write(
        &mut self,
        id: &str,
        old: Option<&Value>,
        new: Option<&Value>,
        write: impl Fn(&mut dyn Repository) -> Outcome,
    ) -> Result<bool, Violation> {
        let (mut begun, mut throttles) = (false, 0);
        self.refused = None;
        for repetition in 0..=REPETITIONS_MAX {
            if repetition == REPETITIONS_MAX {
                self.table.heal();
                throttles = self.throttles();
            }
            match write(&mut *self.repository) {
                Outcome::Done => return Ok(true),
                Outcome::Refused(Refusal::Invalid(error)) => {
                    return Err(Violation::new(format!("a write of {id} is refused as wrong: {error}")));
                }
                Outcome::Refused(refusal) if !begun => {
                    if matches!(refusal, Refusal::Throttled(_) | Refusal::Conflict { .. }) {
                        self.refused = Some((id.to_owned(), new.cloned(), refusal));
                    }
                    return Ok(false);
                }
                Outcome::Refused(_) => {}
                Outcome::Unfinished(refusal) => {
                    begun = true;
                    self.check_half_way(id, old, new, &refusal)?;
                }
            }
            self.clock.advance(PAUSE);
        }
        let why = match self.throttles() > throttles {
            true => {
                ": the table itself throttles it, so the profile is too small for a layer that does not retry"
            }
            false => "",
        };
        Err(Violation::new(format!(
            "a write of {id} was left half-way and is not finished after {REPETITIONS_MAX} repetitions and without \
             faults{why}"
        )))
    }

    /// Half-way through a write, an item that was there must be found as it was or as it will be.
    fn check_half_way(
        &mut self,
        id: &str,
        old: Option<&Value>,
        new: Option<&Value>,
        refusal: &Refusal,
    ) -> Result<(), Violation> {
        let (Some(old), Some(new)) = (old, new) else { return Ok(()) };
        let stale = self.table.may_be_stale();
        let versions = [self.schema.plain(old), self.schema.plain(new)];
        for version in [old, new] {
            match self.read(version)? {
                // Who cannot look, cannot say that it is lost.
                None => return Ok(()),
                Some(Some(found)) if versions.contains(&found) => return Ok(()),
                Some(_) => {}
            }
        }
        let [before, after] = versions;
        ensure(stale, || {
            let found = match before == after {
                true => format!("it is not found as {before}"),
                false => format!("it is found neither as {before} nor as {after}"),
            };
            format!("{id} is lost half-way through a write ({refusal}): {found}")
        })
    }

    /// Reads an item by what names it; `None` when the read was refused, which proves nothing.
    fn read(&mut self, item: &Value) -> Result<Option<Option<Value>>, Violation> {
        let known = self.schema.known(item);
        let found = self.ask(&format!("get {known}"), |repository| repository.get(&known))?;
        Ok(found.map(|found| found.map(|found| self.schema.plain(&found))))
    }

    /// Makes a read; `None` when it was refused, which proves nothing. Once the faults are healed it is made again until
    /// it is answered, unless the table itself has no throughput for it.
    fn ask<T>(
        &mut self,
        what: &str,
        read: impl Fn(&mut dyn Repository) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Violation> {
        let mut wait = PAUSE;
        for _ in 0..REPETITIONS_MAX {
            match read(&mut *self.repository) {
                Ok(answer) => return Ok(Some(answer)),
                Err(Refusal::Invalid(error)) => {
                    return Err(Violation::new(format!("{what} is refused as wrong: {error}")));
                }
                Err(_) if !self.healed => return Ok(None),
                Err(_) => self.wait(&mut wait),
            }
        }
        let throttles = self.throttles();
        match read(&mut *self.repository) {
            Ok(answer) => Ok(Some(answer)),
            Err(_) if self.throttles() > throttles => Ok(None),
            Err(refusal) => Err(still_refused(what, &refusal)),
        }
    }

    /// Waits twice as long each time.
    fn wait(&self, wait: &mut Duration) {
        self.clock.advance(*wait);
        *wait = (*wait * 2).min(WAIT_MAX);
    }

    /// Requests that the table itself has throttled.
    fn throttles(&self) -> u64 {
        let report = self.table.table().report();
        let live = report.partitions.iter().map(|p| p.reads.totals().throttles + p.writes.totals().throttles);
        live.chain(report.retired.iter().map(|p| p.totals.throttles)).sum()
    }

    /// The last write of the history, if it was refused, is made again: nothing but the table stands in its way now.
    fn check_last_refusal(&mut self) -> Result<(), Violation> {
        let mut wait = PAUSE;
        for repetition in 1..=REPETITIONS_MAX {
            let Some((id, item, _)) = self.refused.take() else { break };
            self.wait(&mut wait);
            let throttles = self.throttles();
            match &item {
                Some(item) => self.put(&id, item)?,
                None => self.remove(&id)?,
            }
            if let Some((id, _, refusal)) = &self.refused
                && repetition == REPETITIONS_MAX
                && self.throttles() == throttles
            {
                return Err(still_refused(&format!("a write of {id}"), refusal));
            }
        }
        Ok(())
    }

    fn check_item(&mut self, id: &str) -> Result<(), Violation> {
        if let Some(item) = self.gone.get(id).cloned() {
            return self.check_removed(id, &item);
        }
        let Some(item) = self.model.get(id).cloned() else { return Ok(()) };
        let stale = self.table.may_be_stale();
        let Some(found) = self.read(&item)? else { return Ok(()) };
        let (known, expected) = (self.schema.known(&item), self.schema.plain(&item));
        match found {
            Some(found) if found == expected || stale => Ok(()),
            Some(found) => Err(Violation::new(format!(
                "{id} is wrong: get {known} finds {found}, and it should be {expected}"
            ))),
            None if stale => Ok(()),
            None => Err(Violation::new(format!(
                "{id} is lost: get {known} finds nothing, and it should be {expected}"
            ))),
        }
    }

    /// Under what named it before its key changed, the old version is no more. The new one may be found there: two
    /// values can have the same calculated suffix.
    fn check_left_nothing(&mut self, id: &str, old: &Value) -> Result<(), Violation> {
        let stale = self.table.may_be_stale();
        match self.read(old)? {
            Some(Some(found)) if !stale && found == self.schema.plain(old) => Err(Violation::new(format!(
                "{id} is still there as it was before: get {} finds {found}",
                self.schema.known(old)
            ))),
            _ => Ok(()),
        }
    }

    fn check_removed(&mut self, id: &str, item: &Value) -> Result<(), Violation> {
        let stale = self.table.may_be_stale();
        match self.read(item)? {
            Some(Some(found)) if !stale => {
                let known = self.schema.known(item);
                Err(Violation::new(format!("{id} was removed and is still found: get {known} finds {found}")))
            }
            _ => Ok(()),
        }
    }

    fn check_list(&mut self, logical: &Value) -> Result<(), Violation> {
        let stale = self.table.may_be_stale();
        let what = format!("list {logical}");
        let Some(found) = self.ask(&what, |repository| repository.list(logical))? else { return Ok(()) };
        if stale {
            return Ok(());
        }
        let items = self.model.values().filter(|item| self.schema.logical(item) == *logical);
        let expected = items.map(|item| self.schema.plain(item));
        let found = found.iter().map(|item| self.schema.plain(item));
        compare(&what, found, expected)
    }

    fn check_everything(&mut self) -> Result<(), Violation> {
        let ids: Vec<String> = self.model.keys().chain(self.gone.keys()).cloned().collect();
        for id in &ids {
            self.clock.advance(PAUSE);
            self.check_item(id)?;
        }
        let mut keys: Vec<Value> =
            ids.iter().filter_map(|id| self.version(id)).map(|item| self.schema.logical(item)).collect();
        keys.sort_by_key(Value::to_string);
        keys.dedup();
        for key in &keys {
            self.clock.advance(PAUSE);
            self.check_list(key)?;
        }
        invariant::ranges_cover_the_ring(&self.table.table().report())?;
        if self.may_store_more {
            return Ok(());
        }
        let stored = self.everything_stored()?;
        let stored = stored.iter().map(|item| self.schema.plain(item));
        compare("the table", stored, self.model.values().map(|item| self.schema.plain(item)))
    }

    /// What the table holds, whoever reads it.
    fn everything_stored(&self) -> Result<Vec<Value>, Violation> {
        let mut scan = Scan::default();
        let mut items = Vec::new();
        loop {
            match self.table.table().scan(&scan, self.clock.now()) {
                Ok(page) => {
                    items.extend(page.items.into_iter().map(|(_, item)| item));
                    match page.continuation {
                        Some(continuation) => scan = scan.after(continuation),
                        None => return Ok(items),
                    }
                }
                Err(Refusal::Throttled(throttled)) => {
                    self.clock.advance(throttled.retry_after.max(Duration::from_nanos(1)));
                }
                Err(other) => return Err(Violation::new(format!("the table cannot be scanned: {other}"))),
            }
        }
    }
}

fn still_refused(what: &str, refusal: &Refusal) -> Violation {
    Violation::new(format!(
        "{what} is refused still, {REPETITIONS_MAX} repetitions later: not by the table, which has throughput for it \
         ({refusal})"
    ))
}

/// Compares two collections without regard to order, and names what is missing and what is too much.
fn compare(
    what: &str,
    found: impl Iterator<Item = Value>,
    expected: impl Iterator<Item = Value>,
) -> Result<(), Violation> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for item in found {
        *counts.entry(item.to_string()).or_default() += 1;
    }
    for item in expected {
        *counts.entry(item.to_string()).or_default() -= 1;
    }
    let list = |sign: i64| -> Vec<&str> {
        counts.iter().filter(|(_, count)| *count * sign > 0).map(|(item, _)| item.as_str()).collect()
    };
    let (too_much, missing) = (list(1), list(-1));
    ensure(too_much.is_empty() && missing.is_empty(), || {
        let mut message = what.to_owned();
        if !missing.is_empty() {
            message += &format!(" lacks {}", missing.join(" and "));
        }
        if !too_much.is_empty() {
            let and = if missing.is_empty() { "" } else { ", and" };
            message += &format!("{and} holds {}, which should not be there", too_much.join(" and "));
        }
        message
    })
}
