//! Transactions: writes, or reads, of many items of any tables, all together or not at all.
//!
//! ```text
//!   write   admit every item ─► mark every item ─► decide ─► admit every entry of a global index ─► write all ─► unmark
//!   read    admit every item ─► lock every item ─► read all ─► unlock
//! ```
//!
//! - An item that another transaction has marked is a conflict: an answer, not a wait. A single write that meets a mark is
//!   refused too; a single write under way is waited for, which is short and holds nothing else.
//! - Marks are lifted on whatever way out. No two transactions wait for each other: marking waits for at most one item at a
//!   time, and reads lock in one order for all.
//! - Every action in the way is named, at the step that failed first. A cancelled transaction is paid when a condition or a
//!   conflict cancelled it, and free when it was throttled or invalid (*assumed* for conflicts and what is invalid: the guide
//!   speaks of conditions).
//!
//! Queries and plain reads see each item before or after a transaction, as in the service. Which request says what, and how
//! often it may be repeated, is not known here.

use super::super::error::ServiceError;
use super::super::item::Item;
use super::change::{self, Change};
use super::table::{Charges, Decision, DynamoTable, Refused, Written};
use super::write::{Layouts, Plan, Rate};
use crate::budget::Capacity;
use crate::charge::{Consistency, Footprint};
use crate::clock::Instant;
use crate::cluster::Ticket;
use crate::document::Document;
use crate::key::ItemKey;
use crate::units::Bytes;
use parking_lot::MutexGuard;
use std::fmt;
use std::sync::Arc;

/// Bytes of all items together ("The aggregate size of the items in the transaction cannot exceed 4 MB").
const BYTES_MAX: u64 = 4 << 20;

type Decide<'a> = Box<dyn FnOnce(Option<&Item>) -> Result<Decision, ServiceError> + 'a>;

/// One write of a transaction.
pub struct TransactionWrite<'a> {
    table: Arc<DynamoTable>,
    key: ItemKey,
    attempted: Option<Bytes>,
    decide: Decide<'a>,
}

impl<'a> TransactionWrite<'a> {
    /// A write of the item at `key`. `attempted` is the size that a put would store: it is paid for also when cancelled.
    pub fn new(
        table: Arc<DynamoTable>,
        key: ItemKey,
        attempted: Option<Bytes>,
        decide: impl FnOnce(Option<&Item>) -> Result<Decision, ServiceError> + 'a,
    ) -> Self {
        Self { table, key, attempted, decide: Box::new(decide) }
    }
}

impl fmt::Debug for TransactionWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionWrite").field("key", &self.key).finish_non_exhaustive()
    }
}

/// One read of a transaction that was carried out.
#[derive(Debug)]
pub struct TransactionRead {
    /// The item, if there is one.
    pub item: Option<Item>,
    /// What it cost.
    pub charges: Charges,
}

/// Why a transaction was not carried out. Nothing was written.
#[derive(Debug)]
pub enum Cancelled {
    /// Some of its actions were in the way.
    Because {
        /// For each action, in order, why; `None` for one that was not in the way.
        reasons: Vec<Option<Refused>>,
        /// What each action cost all the same.
        charges: Vec<Charges>,
    },
    /// All of it is wrong.
    Invalid(ServiceError),
}

/// The tables of a request, each once, and which of them each action is about.
struct Tables<'t> {
    layouts: Vec<Layouts<'t>>,
    of: Vec<usize>,
}

impl<'t> Tables<'t> {
    fn new(tables: impl Iterator<Item = &'t Arc<DynamoTable>>, now: Instant) -> Self {
        let mut distinct: Vec<&'t Arc<DynamoTable>> = Vec::new();
        let mut layouts = Vec::new();
        let of = tables.map(|table| {
            distinct.iter().position(|own| Arc::ptr_eq(own, table)).unwrap_or_else(|| {
                distinct.push(table);
                layouts.push(Layouts::of(table, now));
                distinct.len() - 1
            })
        });
        let of = of.collect();
        Self { layouts, of }
    }

    fn layouts(&self, action: usize) -> &Layouts<'t> {
        &self.layouts[self.of[action]]
    }
}

/// Reasons of a step, if there are any.
fn any(reasons: Vec<Option<Refused>>) -> Result<(), Vec<Option<Refused>>> {
    if reasons.iter().any(Option::is_some) { Err(reasons) } else { Ok(()) }
}

/// The results of a step, or the reasons why it did not succeed for all.
fn all<T>(results: Vec<Result<T, Refused>>) -> Result<Vec<T>, Vec<Option<Refused>>> {
    if results.iter().all(Result::is_ok) {
        return Ok(results.into_iter().filter_map(Result::ok).collect());
    }
    Err(results.into_iter().map(Result::err).collect())
}

/// Items that a transaction holds.
struct Marks<'t>(Vec<(&'t DynamoTable, &'t ItemKey)>);

impl<'t> Marks<'t> {
    /// Marks all that are free and says which are not.
    fn set(items: impl Iterator<Item = (&'t Arc<DynamoTable>, &'t ItemKey)>) -> (Self, Vec<Option<Refused>>) {
        let mut own = Self(Vec::new());
        let conflicts = items
            .map(|(table, key)| match table.mark(key) {
                true => {
                    own.0.push((table, key));
                    None
                }
                false => Some(Refused::Conflict),
            })
            .collect();
        (own, conflicts)
    }
}

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|(table, key)| table.unmark(key));
    }
}

/// Carries all writes out, or none. Answers in the order of the writes.
///
/// # Errors
/// [`Cancelled`] names every write that was in the way. A write of an item that another write of this transaction is about
/// is a conflict.
pub fn write(writes: Vec<TransactionWrite<'_>>, now: Instant) -> Result<Vec<Written>, Cancelled> {
    let mut items = Vec::with_capacity(writes.len());
    let mut intents = Vec::with_capacity(writes.len());
    for TransactionWrite { table, key, attempted, decide } in writes {
        items.push((table, key));
        intents.push((attempted, decide));
    }
    let tables = Tables::new(items.iter().map(|(table, _)| table), now);
    let admitted = items
        .iter()
        .enumerate()
        .map(|(at, (_, key))| tables.layouts(at).admit(key, Capacity::Write, Rate::Transaction, now));
    let tickets = all(admitted.collect()).map_err(|reasons| free(&items, reasons))?;

    let (marks, conflicts) = Marks::set(items.iter().map(|(table, key)| (table, key)));
    let mut attempted: Vec<Option<Bytes>> = intents.iter().map(|(attempted, _)| *attempted).collect();
    if let Err(reasons) = any(conflicts) {
        return Err(paid(&items, reasons, tickets, &attempted, now));
    }
    let planned = items.iter().zip(&tickets).zip(intents).enumerate().map(
        |(at, (((table, key), ticket), (_, decide)))| {
            let old = ticket.item();
            let decision = decide(old.as_ref())?;
            let size = match &decision {
                Decision::Put(item) => Some(item.size()),
                Decision::Refuse { attempted } => *attempted,
                Decision::Delete | Decision::Keep => None,
            };
            attempted[at] = attempted[at].max(size);
            table.plan(key, old, decision, Rate::Transaction)
        },
    );
    let plans: Vec<Plan> = match all(planned.collect()) {
        Ok(plans) => plans,
        Err(reasons) => {
            let condition =
                |reason: &Option<Refused>| matches!(reason, Some(Refused::ConditionFailed { .. }));
            return Err(match reasons.iter().any(condition) {
                true => paid(&items, reasons, tickets, &attempted, now),
                false => free(&items, reasons),
            });
        }
    };
    check_size(plans.iter().map(|plan| {
        let (old, new) = plan.items();
        new.or(old)
    }))?;
    let room = plans
        .iter()
        .enumerate()
        .map(|(at, plan)| plan.admit(&items[at].0, tables.layouts(at), Rate::Transaction, now).err());
    any(room.collect()).map_err(|reasons| free(&items, reasons))?;

    let written = plans
        .into_iter()
        .zip(tickets)
        .enumerate()
        .map(|(at, (plan, ticket))| plan.carry_out(ticket, tables.layouts(at), now));
    let written = all(written.collect()).map_err(|reasons| free(&items, reasons));
    if let Ok(written) = &written {
        let changes = items.iter().zip(written).map(|((table, key), written)| Change {
            table,
            key,
            old: written.old.as_ref(),
            new: written.new.as_ref(),
        });
        change::tell(&changes.collect::<Vec<_>>(), now);
    }
    drop(marks);
    written
}

/// Reads all items at one moment. Answers in the order of the items.
///
/// # Errors
/// [`Cancelled`] names every item that was in the way: without read units, or held by a transaction that writes.
pub fn read(items: &[(Arc<DynamoTable>, ItemKey)], now: Instant) -> Result<Vec<TransactionRead>, Cancelled> {
    let tables = Tables::new(items.iter().map(|(table, _)| table), now);
    let admitted = items
        .iter()
        .enumerate()
        .map(|(at, (_, key))| tables.layouts(at).admit(key, Capacity::Read, Rate::Transaction, now));
    let tickets = all(admitted.collect()).map_err(|reasons| free(items, reasons))?;
    let turns = lock(items);
    let conflicts = items.iter().map(|(table, key)| table.is_marked(key).then_some(Refused::Conflict));
    let conflicts = any(conflicts.collect());
    let found: Vec<Option<Item>> = tickets.iter().map(Ticket::item).collect();
    drop(turns);
    if conflicts.is_ok() {
        check_size(found.iter().map(Option::as_ref))?;
    }
    let reads = items.iter().zip(tickets).zip(found).map(|(((table, _), ticket), item)| {
        let mut charges = Charges::none(table);
        let size = item.as_ref().map(Document::size);
        let footprint = Footprint::PointRead { size, consistency: Consistency::Strong };
        charges.table = Rate::Transaction.charge(&footprint);
        ticket.leave(charges.table, now);
        TransactionRead { item, charges }
    });
    let reads: Vec<TransactionRead> = reads.collect();
    match conflicts {
        Ok(()) => Ok(reads),
        Err(reasons) => {
            let charges = reads.into_iter().map(|read| read.charges).collect();
            Err(Cancelled::Because { reasons, charges })
        }
    }
}

/// Locks all items against writes, each lock once and in one order for everybody.
fn lock(items: &[(Arc<DynamoTable>, ItemKey)]) -> Vec<MutexGuard<'_, ()>> {
    let mut turns: Vec<_> = items
        .iter()
        .map(|(table, key)| {
            let (stripe, turn) = table.turn(key);
            ((Arc::as_ptr(table) as usize, stripe), turn)
        })
        .collect();
    turns.sort_by_key(|(place, _)| *place);
    turns.dedup_by_key(|(place, _)| *place);
    turns.into_iter().map(|(_, turn)| turn.lock()).collect()
}

fn check_size<'i>(items: impl Iterator<Item = Option<&'i Item>>) -> Result<(), Cancelled> {
    let bytes: Bytes = items.flatten().map(Document::size).sum();
    match bytes.0 > BYTES_MAX {
        // The limit is documented, its refusal *assumed*: the documentation's sentence.
        true => Err(Cancelled::Invalid(ServiceError::validation(
            "The aggregate size of the items in the transaction cannot exceed 4 MB",
        ))),
        false => Ok(()),
    }
}

fn free(items: &[(Arc<DynamoTable>, ItemKey)], reasons: Vec<Option<Refused>>) -> Cancelled {
    let charges = items.iter().map(|(table, _)| Charges::none(table)).collect();
    Cancelled::Because { reasons, charges }
}

/// Every action of a transaction that a condition or conflict cancelled pays for its item ("consumed even when cancelled").
fn paid(
    items: &[(Arc<DynamoTable>, ItemKey)],
    mut reasons: Vec<Option<Refused>>,
    tickets: Vec<Ticket<'_, Item>>,
    attempted: &[Option<Bytes>],
    now: Instant,
) -> Cancelled {
    let charges = items.iter().zip(tickets).zip(attempted).map(|(((table, _), ticket), &attempted)| {
        let mut charges = Charges::none(table);
        let existing = ticket.item().as_ref().map(Document::size);
        charges.table = Rate::Transaction.charge(&Footprint::FailedWrite { existing, attempted });
        ticket.leave(charges.table, now);
        charges
    });
    let paid: Vec<Charges> = charges.collect();
    for (reason, paid) in reasons.iter_mut().zip(&paid) {
        if let Some(Refused::ConditionFailed { charges, .. }) = reason {
            charges.clone_from(paid);
        }
    }
    Cancelled::Because { reasons, charges: paid }
}
