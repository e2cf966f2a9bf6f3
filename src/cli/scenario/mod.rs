//! Scenario files: TOML text in, a checked [`Scenario`] out, or every fault with its file, line and column.
//!
//! ```text
//!   text ──parse──► nodes ──substitute──► nodes ──tables, loads, events, figures──► Scenario
//!                   (with places)    ▲                                        └───► faults
//!                                    └ [parameters], -p name=value
//! ```
//!
//! The keys and their defaults are told in `docs/scenarios.md`. What a run makes of them is not known here.

mod builtin;
mod events;
mod faults;
mod figures;
mod keys;
mod loads;
mod node;
mod read;
mod tables;

#[cfg(test)]
mod tests;

pub(crate) use builtin::{BUILT_IN, built_in};
pub(crate) use faults::suggestion;

use faults::Faults;
use hotplate::error::{Error, Result};
use hotplate::lab::KeyedRows;
use hotplate::lab::run::Scenario;
use hotplate::rng::Seed;
use md5::{Digest, Md5};
use node::{Fields, Node, Parameters, Value, parse_value, show};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tables::Table;

/// Days that a run takes at the most.
const RUN_DAYS: u64 = 31;
/// The same as a span.
const RUN_MAX: Duration = Duration::from_secs(RUN_DAYS * 86_400);

/// Requests of a run at the most: hours of a machine's time.
const REQUESTS_MAX: u128 = 10_000_000_000;

/// Tables, loads, events and thresholds at the most. *Assumed*: nobody reads a report of more.
const TABLES_MAX: usize = 100;
const LOADS_MAX: usize = 100;
const EVENTS_MAX: usize = 10_000;

/// Bytes of a file at the most: a data file given by mistake is larger.
pub(crate) const TEXT_MAX: u64 = 4 << 20;

/// The keys of a file.
const KEYS: &[&str] =
    &["name", "about", "seed", "ends", "parameters", "table", "load", "event", "threshold", "published"];

/// A scenario, and what a report says about where it came from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) scenario: Scenario,
    /// What is allowed and yet worth a remark.
    pub(crate) notes: Vec<String>,
    /// Parameters as TOML writes their values, in the order of their names.
    pub(crate) parameters: Vec<(String, String)>,
    /// A hash of the text and the parameters: the same digest and seed give the same figures.
    pub(crate) digest: String,
}

/// A scenario as text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// What errors call it: its path, or the name of a built-in one.
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    /// Where data files are looked for; `None`: there are none.
    pub(crate) folder: Option<&'a Path>,
}

/// What readers of the file share.
struct Context<'a> {
    faults: &'a Faults<'a>,
    folder: Option<&'a Path>,
    seed: Seed,
    /// Data files that have been read, by file and key design.
    rows: RefCell<HashMap<String, Arc<KeyedRows>>>,
    notes: RefCell<Vec<String>>,
}

impl<'a> Context<'a> {
    /// For readers that need the faults only.
    fn of(faults: &'a Faults<'a>) -> Self {
        Self { faults, folder: None, seed: Seed(0), rows: RefCell::default(), notes: RefCell::default() }
    }

    fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// What a text says it shows, and the names of its parameters; nothing where it does not say.
pub(crate) fn outline(text: Text<'_>) -> (String, Vec<String>) {
    let faults = Faults::new(text.name, text.text);
    let root = node::parse(text.text, &faults);
    let parameters = root.as_ref().and_then(|root| parameters_of(root, &faults)).unwrap_or_default();
    let about = match root.map(|root| root.value) {
        Some(Value::Table(entries)) => entries.into_iter().find(|entry| entry.name == "about"),
        _ => None,
    };
    let about = match about.map(|entry| entry.node.value) {
        Some(Value::Text(about)) => about.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    (about, parameters.into_keys().collect())
}

/// Reads a scenario; `overrides` are parameters and their values as text, `seed` stands for the file's.
///
/// # Errors
/// Everything that is wrong with it, one fault a line, each with file, line and column.
pub(crate) fn load(text: Text<'_>, overrides: &[(String, String)], seed: Option<u64>) -> Result<Loaded> {
    let faults = Faults::new(text.name, text.text);
    let Some(mut root) = node::parse(text.text, &faults) else {
        faults.finish()?;
        return Err(Error::invalid(format!("{}: this is not TOML", text.name)));
    };
    let parameters =
        parameters_of(&root, &faults).map(|parameters| with(parameters, overrides)).transpose()?;
    let Some(parameters) = parameters else {
        faults.finish()?;
        return Err(Error::invalid(format!("{}: its parameters cannot be read", text.name)));
    };
    if let Value::Table(entries) = &mut root.value {
        let others = entries.iter_mut().filter(|entry| entry.name != "parameters");
        others.for_each(|entry| entry.node.substitute(&parameters, &faults));
    }
    let context = Context { folder: text.folder, ..Context::of(&faults) };
    let scenario = scenario(&root, seed, text.name, context);
    faults.finish()?;
    let Some((scenario, notes)) = scenario else {
        return Err(Error::invalid(format!("{}: this is no scenario", text.name)));
    };
    let parameters = shown(&parameters);
    Ok(Loaded { scenario, notes, digest: digest(text.text, &parameters), parameters })
}

fn parameters_of(root: &Node, faults: &Faults<'_>) -> Option<Parameters> {
    let Value::Table(entries) = &root.value else { return Some(Parameters::new()) };
    let Some(entry) = entries.iter().find(|entry| entry.name == "parameters") else {
        return Some(Parameters::new());
    };
    let Value::Table(entries) = &entry.node.value else {
        faults.add(
            &entry.node.at,
            "parameters: this is no table: write [parameters] and below it name = value",
        );
        return None;
    };
    let nested = |value: &Value| matches!(value, Value::Table(_) | Value::Time(_));
    for entry in entries.iter().filter(|entry| nested(&entry.node.value)) {
        faults.add(
            &entry.node.at,
            format!("parameter {}: give a number, a text, true, false or a list", entry.name),
        );
    }
    Some(entries.iter().map(|entry| (entry.name.clone(), entry.node.value.clone())).collect())
}

/// The parameters with those of the command line in place of the file's.
fn with(mut parameters: Parameters, overrides: &[(String, String)]) -> Result<Parameters> {
    for (name, text) in overrides {
        if !parameters.contains_key(name) {
            let known: Vec<&str> = parameters.keys().map(String::as_str).collect();
            let there_are = match known.as_slice() {
                [] => "the scenario has none".to_owned(),
                known => format!("there are {}", known.join(", ")),
            };
            let hint = suggestion(name, &known);
            return Err(Error::invalid(format!("-p {name}: no such parameter{hint}: {there_are}")));
        }
        parameters.insert(name.clone(), parse_value(text));
    }
    Ok(parameters)
}

fn shown(parameters: &Parameters) -> Vec<(String, String)> {
    let toml = |value: &Value| match value {
        Value::List(nodes) => {
            format!("[{}]", nodes.iter().map(|node| show(&node.value)).collect::<Vec<_>>().join(", "))
        }
        value => show(value),
    };
    parameters.iter().map(|(name, value)| (name.clone(), toml(value))).collect()
}

fn digest(text: &str, parameters: &[(String, String)]) -> String {
    let mut hash = Md5::new();
    hash.update(text.as_bytes());
    for (name, value) in parameters {
        hash.update(format!("\n{name} = {value}").as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The elements of a list, or the one that stands for a list of one: `[table]` for `[[table]]`.
fn tables_of(node: &Node) -> Vec<&Node> {
    match &node.value {
        Value::List(nodes) => nodes.iter().collect(),
        _ => vec![node],
    }
}

/// The table that a load or an event names; the only one when it names none.
fn table_named(fields: &Fields<'_>, tables: &[Table]) -> Option<usize> {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let Some(name) = fields.maybe("table", read::text)? else {
        if tables.len() == 1 {
            return Some(0);
        }
        fields.fault_here(format!("table is missing: there are {}", names.join(", ")));
        return None;
    };
    let found = names.iter().position(|known| *known == name);
    if found.is_none() {
        let hint = suggestion(&name, &names);
        fields.fault("table", format!("{name:?} is no table{hint}: there are {}", names.join(", ")));
    }
    found
}

fn scenario(
    root: &Node,
    seed: Option<u64>,
    file: &str,
    mut context: Context<'_>,
) -> Option<(Scenario, Vec<String>)> {
    let fields = Fields::open(root, "a scenario", KEYS, context.faults)?;
    let stem = Path::new(file)
        .file_stem()
        .map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let name = fields.or("name", stem, read::name);
    let about = fields.or("about", String::new(), read::text);
    let of_file = fields.or("seed", 0, |node| read::whole(node, 0, i64::MAX as u64))?;
    context.seed = Seed(seed.unwrap_or(of_file));
    let ends = fields.maybe("ends", |node| match read::some_time(node)? {
        ends if ends > RUN_MAX => {
            Err(format!("{} is too long to simulate: at most {RUN_DAYS} days", node.shown()))
        }
        ends => Ok(ends),
    });

    let tables = section(&fields, "table", TABLES_MAX, "[[table]]", |node| tables::table(node, &context));
    let table_names = names_of(&fields, "table");
    distinct(&fields, "table", &table_names);
    let loads = match &tables {
        Some(tables) => {
            section(&fields, "load", LOADS_MAX, "[[load]]", |node| loads::load(node, tables, &context))
        }
        None => None,
    };
    let load_names = names_of(&fields, "load");
    distinct(&fields, "load", &load_names);
    let nodes = |key: &str| fields.get(key).map_or_else(Vec::new, tables_of);
    let thresholds: Vec<_> =
        nodes("threshold").into_iter().map(|node| figures::threshold(node, &load_names, &context)).collect();
    let published: Vec<_> =
        nodes("published").into_iter().map(|node| figures::published(node, &load_names, &context)).collect();
    let (tables, ends) = (tables?, ends?);
    let end = loads.as_ref().map_or(ends, |loads| extent(&fields, loads, ends));
    let event_nodes = nodes("event");
    if event_nodes.len() > EVENTS_MAX {
        fields.fault("event", format!("{} events are too many: at most {EVENTS_MAX}", event_nodes.len()));
        return None;
    }
    let events = events::events(&event_nodes, &tables, end, &context);
    let scenario = Scenario {
        name: name?,
        about: about?.trim().to_owned(),
        published: published.into_iter().collect::<Option<_>>()?,
        seed: context.seed,
        tables: tables.into_iter().map(|table| table.spec).collect::<Option<_>>()?,
        loads: loads?.into_iter().map(|load| load.spec).collect(),
        events: events?,
        thresholds: thresholds.into_iter().collect::<Option<_>>()?,
        ends,
    };
    Some((scenario, context.notes.take()))
}

/// The elements of a section that must have one; all are read, so that all faults are found.
fn section<T>(
    fields: &Fields<'_>,
    key: &str,
    most: usize,
    form: &str,
    read: impl FnMut(&Node) -> Option<T>,
) -> Option<Vec<T>> {
    let nodes = fields.get(key).map_or_else(Vec::new, tables_of);
    if nodes.is_empty() {
        fields.fault_here(format!("there is no {key}: add {form}"));
        return None;
    }
    if nodes.len() > most {
        fields.fault(key, format!("{} are too many: at most {most}", nodes.len()));
        return None;
    }
    let read: Vec<Option<T>> = nodes.into_iter().map(read).collect();
    read.into_iter().collect()
}

/// The names in a section, one for each element, so far as they are texts.
fn names_of<'n>(fields: &Fields<'n>, key: &str) -> Vec<&'n str> {
    let name = |node: &'n Node| match &node.value {
        Value::Table(entries) => entries.iter().find_map(|entry| match (&*entry.name, &entry.node.value) {
            ("name", Value::Text(name)) => Some(name.as_str()),
            _ => None,
        }),
        _ => None,
    };
    fields.get(key).map_or_else(Vec::new, tables_of).into_iter().filter_map(name).collect()
}

fn distinct(fields: &Fields<'_>, key: &str, names: &[&str]) {
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            fields.fault(key, format!("two are named {name:?}: give each a name of its own"));
        }
    }
}

/// What all loads together come to: when the run ends, where that is known.
fn extent(fields: &Fields<'_>, loads: &[loads::Load], ends: Option<Duration>) -> Option<Duration> {
    let requests = loads.iter().fold(0_u128, |sum, load| sum.saturating_add(load.requests));
    if requests > REQUESTS_MAX {
        let why =
            format!("about {requests} requests together are too many to simulate: at most {REQUESTS_MAX}");
        fields.fault("load", why);
    }
    let latest = loads.iter().map(|load| load.spec.begins).max();
    if ends.is_some_and(|ends| latest.is_some_and(|begins| begins >= ends)) {
        fields.fault("ends", "a load would begin then or later: end later, or begin it earlier");
    }
    let last =
        loads.iter().map(|load| load.ends).try_fold(Duration::ZERO, |last, ends| Some(last.max(ends?)));
    match (ends, last) {
        (Some(ends), Some(last)) => Some(ends.min(last)),
        (ends, last) => ends.or(last),
    }
}
