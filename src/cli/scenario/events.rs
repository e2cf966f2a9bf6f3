//! `[[event]]`: something that happens to a table at a time.
//!
//! Events are read in the order of their times, because what is possible depends on what was before: a table in on-demand
//! mode has no throughput to change, and units that an event leaves out stay as they are.

use super::Context;
use super::node::{Fields, Node, Read, Value, told};
use super::read;
use super::tables::{self, Kind, Table};
use hotplate::budget::Rate;
use hotplate::lab::run::{Change, Event};
use hotplate::profile::{Profile, Service, Throughput};
use std::time::Duration;

/// The keys of an event.
pub(super) const KEYS: &[&str] = &[
    "at",
    "table",
    "throughput",
    "on_demand",
    "provisioned",
    "warm",
    "split",
    "split_key",
    "merge",
    "redistribute",
];

/// Those of which each event has one.
const CHANGES: [&str; 8] =
    ["throughput", "on_demand", "provisioned", "warm", "split", "split_key", "merge", "redistribute"];

/// "Redistribute throughput": the least that a partition keeps and the most that one is given.
const REDISTRIBUTED: [u64; 2] = [100, 20_000];

/// What a table has come to by the events so far.
struct State {
    kind: Kind,
    throughput: Throughput,
    warm: [u64; 2],
}

/// Reads all events of `tables`. `ends` is when the last load begins its last operation, where that is known.
pub(super) fn events(
    nodes: &[&Node],
    tables: &[Table],
    ends: Option<Duration>,
    context: &Context<'_>,
) -> Option<Vec<Event>> {
    let mut placed = Vec::new();
    let mut sound = true;
    for (i, node) in nodes.iter().enumerate() {
        let place = Fields::open(node, "an event", KEYS, context.faults).and_then(|fields| {
            let at = fields.need("at", read::span);
            let table = super::table_named(&fields, tables);
            Some((at?, i, table?, fields))
        });
        match place {
            Some(place) => placed.push(place),
            None => sound = false,
        }
    }
    placed.sort_by_key(|(at, i, ..)| (*at, *i));
    let mut states: Vec<State> = tables.iter().map(State::new).collect();
    let mut events = Vec::new();
    for (at, _, table, fields) in placed {
        if let Some(ends) = ends.filter(|ends| at > *ends) {
            let (at, ends) = (crate::cli::quantity::show_span(at), crate::cli::quantity::show_span(ends));
            fields.fault("at", format!("{at} is after the end: the run is over at {ends}"));
            sound = false;
            continue;
        }
        match change(&fields, &mut states[table], context) {
            Some(change) => events.push(Event { at, table, change }),
            None => sound = false,
        }
    }
    sound.then_some(events)
}

impl State {
    fn new(table: &Table) -> Self {
        Self { kind: table.kind, throughput: *table.profile.throughput(), warm: table.warm }
    }
}

fn change(fields: &Fields<'_>, state: &mut State, context: &Context<'_>) -> Option<Change> {
    let present = fields.present(&CHANGES);
    let key = match present.as_slice() {
        [key] => *key,
        [] => {
            fields.fault_here(format!("what happens is missing: give one of {}", CHANGES.join(", ")));
            return None;
        }
        [first, second, ..] => {
            fields.fault(second, format!("an event is one change, and {first} is another: write two events"));
            return None;
        }
    };
    if let Err(why) = possible(key, state.kind) {
        fields.fault(key, why);
        return None;
    }
    match key {
        "throughput" | "provisioned" => {
            let throughput = fields.need(key, |node| throughput(node, key, state, context))?;
            state.throughput = throughput;
            if key == "throughput" {
                return Some(Change::Throughput(throughput));
            }
            state.kind = Kind::Provisioned;
            Some(Change::Provisioned(throughput))
        }
        "on_demand" => {
            only_true(fields, key)?;
            state.kind = Kind::OnDemand;
            Some(Change::OnDemand)
        }
        "warm" => {
            let before = state.warm;
            let warm = fields.need(key, |node| tables::warm(node, context, before))?;
            // "Warm throughput": it can be raised, never lowered.
            if warm[0] < before[0] || warm[1] < before[1] {
                fields.fault(
                    key,
                    format!("warm throughput is never lowered, and it was {} and {}", before[0], before[1]),
                );
                return None;
            }
            state.warm = warm;
            Some(Change::Warm(warm))
        }
        "split" => {
            let words = [("hottest", Change::SplitHottest), ("all", Change::SplitAll)];
            let index = fields.need(key, |node| read::word(node, &[("hottest", 0), ("all", 1)]))?;
            words.into_iter().nth(index).map(|(_, change)| change)
        }
        "split_key" => fields.need(key, read::text).map(Change::SplitKey),
        "merge" => only_true(fields, key).map(|()| Change::Merge),
        _ => {
            let [least, most] = REDISTRIBUTED;
            fields.need(key, |node| read::whole(node, least, most)).map(Change::Redistribute)
        }
    }
}

/// Whether a change makes sense for a table that is of this kind by then.
fn possible(key: &str, kind: Kind) -> Read<()> {
    let service = kind.service();
    match (key, kind) {
        ("throughput", Kind::OnDemand) => {
            Err("the table is in on-demand mode by then: take provisioned".into())
        }
        ("throughput", Kind::Serverless) => Err("a serverless container has no throughput to change".into()),
        ("on_demand", Kind::OnDemand) => Err("the table is in on-demand mode already".into()),
        ("provisioned", Kind::Provisioned) => {
            Err("the table is in provisioned mode already: take throughput".into())
        }
        ("warm", Kind::Provisioned) => Err("warm throughput is known here for on-demand tables only".into()),
        ("on_demand" | "provisioned" | "warm", _) if service == Service::Cosmos => {
            Err("only DynamoDB has it, and the table is a Cosmos DB container".into())
        }
        ("split_key", _) if service == Service::Cosmos => {
            Err("Cosmos DB never divides a key, and the table is a Cosmos DB container: take split".into())
        }
        ("merge" | "redistribute", _) if service == Service::DynamoDb => {
            Err("only Cosmos DB has it, and the table is DynamoDB's, whose partitions never merge".into())
        }
        ("redistribute", Kind::Serverless) => {
            Err("a serverless container has no throughput to redistribute".into())
        }
        _ => Ok(()),
    }
}

fn only_true(fields: &Fields<'_>, key: &str) -> Option<()> {
    if fields.need(key, read::yes)? {
        return Some(());
    }
    fields.fault(key, "write true, or leave the event out");
    None
}

/// `{ wcu, rcu }`, `{ ru }` or `{ max_ru }`; units that are left out stay.
fn throughput(node: &Node, key: &str, state: &State, context: &Context<'_>) -> Read<Throughput> {
    let wrong = told;
    let rate = |units: u64| Rate::per_second(units).map_err(|error| error.to_string());
    let (names, example): (&'static [&'static str], _) = match state.kind {
        Kind::Provisioned | Kind::OnDemand => (&["wcu", "rcu"], "{ wcu = 1000, rcu = 1000 }"),
        Kind::Autoscale => (&["max_ru"], "{ max_ru = 20000 }"),
        _ => (&["ru"], "{ ru = 20000 }"),
    };
    if !matches!(node.value, Value::Table(_)) {
        return Err(format!("{} is no throughput: write it like {example}", node.shown()));
    }
    let fields = Fields::open(node, "throughput", names, context.faults).ok_or_else(wrong)?;
    match state.throughput {
        Throughput::ReadWrite { read, write } => {
            let present = fields.present(names);
            if present.is_empty() || key == "provisioned" && present.len() < 2 {
                return Err(format!("give wcu and rcu, like {example}"));
            }
            let wcu = fields.maybe("wcu", read::units).ok_or_else(wrong)?;
            let rcu = fields.maybe("rcu", read::units).ok_or_else(wrong)?;
            Ok(Throughput::ReadWrite {
                read: rcu.map_or(Ok(read), rate)?,
                write: wcu.map_or(Ok(write), rate)?,
            })
        }
        Throughput::Request(_) => {
            let units = fields.need(names[0], read::units).ok_or_else(wrong)?;
            // The service's least throughput is the profile's to know.
            match state.kind {
                Kind::Autoscale => Profile::cosmos_autoscale(units),
                _ => Profile::cosmos_manual(units),
            }
            .map_err(|error| error.to_string())?;
            rate(units).map(Throughput::Request)
        }
    }
}
