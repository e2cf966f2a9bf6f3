//! `keys = …`: which keys operations are about, and which entry a write makes in an index.
//!
//! | written | means |
//! |---|---|
//! | `1000` | a thousand keys, all alike |
//! | `{ count, distribution, … }` | so many keys by a distribution |
//! | `{ names, weights }` | keys with names of their own |
//! | `{ distribution = "time-bucket", every }` | the key is the time |
//! | `{ file, template }` | the rows of a file under a key design |

use super::Context;
use super::faults::either;
use super::node::{Fields, Node, Read, Value, told};
use super::read;
use crate::cli::input::Source;
use hotplate::error::{Error, Result};
use hotplate::key::{FieldPath, Template};
use hotplate::lab::run::{DrawnKeys, Items, KeySpec, Suffix, SuffixRule};
use hotplate::lab::{Distribution, KEYS_MAX, KeyedRows, KeyedRowsBuilder, SortRule};
use hotplate::profile::Service;
use hotplate::rng::Seed;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The keys of `keys`.
pub(super) const KEYS: &[&str] = &[
    "name",
    "count",
    "names",
    "distribution",
    "weights",
    "exponent",
    "keys_share",
    "load_share",
    "every",
    "items",
    "run",
    "suffix",
    "file",
    "template",
    "sort",
];

/// Keys that only drawn keys have: those before `file`. What comes after it, only the rows of a file have.
const DRAWN: &[&str] = KEYS.split_at(KEYS.len() - 3).0;

/// Keys that only the rows of a file have.
const ROWS: &[&str] = KEYS.split_at(KEYS.len() - 2).1;

/// Names and weights in a file at the most: more are a data file.
const LISTED_MAX: usize = 10_000;

/// Suffixes at the most: a read of all asks for each.
const SUFFIXES_MAX: u32 = 10_000;

/// Operations in a row about one key at the most.
const RUN_MAX: u64 = 1_000_000_000;

/// Items of a key where nothing is said, as of the typed [`DrawnKeys::new`].
const ITEMS: Items = Items::Random(1_000_000);

/// What keys are called when nothing is said.
const NAME: &str = "key";

/// The distributions by name, with the keys that each needs.
const DISTRIBUTIONS: [(&str, &[&str]); 9] = [
    ("uniform", &[]),
    ("sequential", &[]),
    ("zipf", &["exponent"]),
    ("ycsb-zipfian", &[]),
    ("latest", &["exponent"]),
    ("hotspot", &["keys_share", "load_share"]),
    ("exponential", &["keys_share", "load_share"]),
    ("weighted", &["weights"]),
    ("time-bucket", &["every"]),
];

/// All keys that some distribution needs.
const SHAPE_KEYS: &[&str] = &["weights", "exponent", "keys_share", "load_share", "every"];

/// Reads the keys of a load or an index of a table of `service`.
pub(super) fn keys(node: &Node, service: Service, context: &Context<'_>) -> Option<KeySpec> {
    if !matches!(node.value, Value::Table(_)) {
        let count = read::whole(node, 1, KEYS_MAX);
        return match count {
            Ok(count) => Some(KeySpec::Drawn(DrawnKeys {
                name: NAME.into(),
                count,
                distribution: Distribution::Uniform,
                names: Vec::new(),
                items: ITEMS,
                run: 1,
                suffix: None,
            })),
            Err(_) => {
                context.faults.add(
                    &node.at,
                    format!(
                        "keys: {} is neither a number of keys nor a table: write 1000, {{ count = 1000, distribution = \
                         \"zipf\", exponent = 0.99 }} or {{ file = \"orders.csv\", template = \"{{customer}}\" }}",
                        node.shown()
                    ),
                );
                None
            }
        };
    }
    let fields = Fields::open(node, "keys", KEYS, context.faults)?;
    if fields.get("file").is_some() {
        fields.refuse(DRAWN, "the keys are those of the file: leave this out, or leave file out");
        return rows(&fields, service, context);
    }
    fields.refuse(ROWS, "there is no file that it is about: add file = \"…\"");
    drawn(&fields).map(KeySpec::Drawn)
}

fn drawn(fields: &Fields<'_>) -> Option<DrawnKeys> {
    let name = fields.or("name", NAME.to_owned(), read::name);
    let names = fields.or("names", Vec::new(), |node| read::list(node, LISTED_MAX, key_name));
    let shape = shape(fields);
    let count = fields.maybe("count", |node| read::whole(node, 1, KEYS_MAX));
    let items = fields.or("items", ITEMS, items);
    let run = fields.or("run", 1, |node| read::whole(node, 1, RUN_MAX));
    let suffix = fields.maybe("suffix", |node| suffix(node, fields));
    let (names, distribution) = (names?, shape?);
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        fields.fault("names", format!("{twice:?} is there twice"));
        return None;
    }
    let listed = match &distribution {
        Distribution::Weighted(weights) => {
            if names.len() > weights.len() {
                let (weights, names) = (weights.len(), names.len());
                fields.fault("weights", format!("{weights} weights for {names} names: give one for each"));
                return None;
            }
            Some(weights.len() as u64)
        }
        _ => (!names.is_empty()).then_some(names.len() as u64),
    };
    let count = match (count?, listed, &distribution) {
        (Some(count), Some(listed), _) if count < listed => {
            fields.fault(
                "count",
                format!("{count} keys, and {listed} are listed: leave count out, or give more"),
            );
            return None;
        }
        (Some(count), ..) => count,
        (None, Some(listed), _) => listed,
        // As many periods as the longest run has.
        (None, None, Distribution::TimeBucket { seconds }) => super::RUN_MAX.as_secs().div_ceil(*seconds),
        (None, None, _) => {
            fields.fault_here("count is missing: how many keys are there?");
            return None;
        }
    };
    if let Err(error) = distribution.sampler(count, Seed(0)) {
        let key = fields.present(&["distribution", "weights", "every"]).first().copied().unwrap_or("count");
        let why = error.to_string();
        fields.fault(key, why.strip_prefix(&format!("{key}: ")).unwrap_or(&why));
        return None;
    }
    let (items, suffix) = (items?, suffix?);
    if let Some(Suffix { rule: SuffixRule::Hash | SuffixRule::Product, .. }) = suffix
        && items == Items::One
    {
        fields.fault(
            "suffix",
            "a suffix calculated from the item divides nothing where each key is one item: leave items out, or take rule = \"random\"",
        );
        return None;
    }
    if count.saturating_mul(suffix.map_or(1, |suffix| u64::from(suffix.count))) > KEYS_MAX {
        fields.fault(
            "suffix",
            format!("{count} keys times so many suffixes are over {KEYS_MAX} keys: give fewer"),
        );
        return None;
    }
    Some(DrawnKeys { name: name?, count, distribution, names, items, run: run?, suffix })
}

/// A key of its own name: any text that both services take.
fn key_name(node: &Node) -> Read<String> {
    match read::text(node)? {
        text if text.is_empty() => Err("a key is empty, and DynamoDB refuses empty key values".into()),
        // DynamoDB: "Quotas", partition key of at most 2,048 bytes; Cosmos DB the same.
        text if text.len() > 2_048 => {
            Err(format!("a key has {} bytes, and at most 2048 are allowed", text.len()))
        }
        text => Ok(text),
    }
}

fn shape(fields: &Fields<'_>) -> Option<Distribution> {
    let names = DISTRIBUTIONS.map(|(name, _)| (name, name));
    // What is written down says which it is.
    let implied = match fields.present(&["weights", "every"]).first() {
        Some(&"weights") => "weighted",
        Some(_) => "time-bucket",
        None => "uniform",
    };
    let name = fields.or("distribution", implied, |node| read::word(node, &names))?;
    let needs =
        DISTRIBUTIONS.iter().find(|(known, _)| *known == name).map_or(&[] as &[&str], |(_, needs)| needs);
    let mut sound = true;
    for key in fields.present(SHAPE_KEYS) {
        if !needs.contains(&key) {
            let users: Vec<&str> = DISTRIBUTIONS
                .iter()
                .filter(|(_, needs)| needs.contains(&key))
                .map(|(name, _)| *name)
                .collect();
            fields
                .fault(key, format!("means nothing for distribution {name:?}: it is for {}", either(&users)));
            sound = false;
        }
    }
    for key in needs.iter().filter(|key| fields.get(key).is_none()) {
        let example = match *key {
            "exponent" => "exponent = 0.99",
            "keys_share" => "keys_share = \"10%\"",
            "load_share" => "load_share = \"90%\"",
            "weights" => "weights = [80, 20]",
            _ => "every = \"1h\"",
        };
        fields.fault("distribution", format!("{name:?} needs {key}: add {example}"));
        sound = false;
    }
    if !sound {
        return None;
    }
    let shares = || Some((fields.need("keys_share", read::share)?, fields.need("load_share", read::share)?));
    Some(match name {
        "sequential" => Distribution::Sequential,
        "zipf" => Distribution::Zipf { exponent: fields.need("exponent", read::number)? },
        "ycsb-zipfian" => Distribution::YcsbZipfian,
        "latest" => Distribution::Latest { exponent: fields.need("exponent", read::number)? },
        "hotspot" => {
            let (keys_share, load_share) = shares()?;
            Distribution::Hotspot { keys_share, load_share }
        }
        "exponential" => {
            let (share_of_keys, share_of_load) = shares()?;
            Distribution::Exponential { share_of_keys, share_of_load }
        }
        "weighted" => {
            let weight = |node: &Node| read::whole(node, 0, u64::from(u32::MAX));
            Distribution::Weighted(fields.need("weights", |node| read::list(node, LISTED_MAX, weight))?)
        }
        "time-bucket" => {
            let every = fields.need("every", |node| match read::some_time(node)? {
                every if every.subsec_nanos() == 0 => Ok(every),
                _ => Err(format!("{} is no whole number of seconds", node.shown())),
            })?;
            Distribution::TimeBucket { seconds: Duration::as_secs(&every) }
        }
        _ => Distribution::Uniform,
    })
}

fn items(node: &Node) -> Read<Items> {
    const WORDS: [(&str, Items); 2] = [("one", Items::One), ("increasing", Items::Increasing)];
    match &node.value {
        Value::Text(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            read::word(node, &WORDS).map_err(|why| format!("{why}, or a number of items"))
        }
        _ => read::whole(node, 1, KEYS_MAX).map(Items::Random),
    }
}

fn suffix(node: &Node, fields: &Fields<'_>) -> Read<Suffix> {
    const WORDS: [(&str, SuffixRule); 3] =
        [("random", SuffixRule::Random), ("hash", SuffixRule::Hash), ("product", SuffixRule::Product)];
    let wrong = told;
    if !matches!(node.value, Value::Table(_)) {
        return Err(format!(
            "{} is no suffix: write it like {{ rule = \"random\", count = 200 }}, the rule being random, hash or product",
            node.shown()
        ));
    }
    let inner = Fields::open(node, "a suffix", &["rule", "count"], fields.faults).ok_or_else(wrong)?;
    let rule = inner.need("rule", |node| read::word(node, &WORDS));
    let count = inner.need("count", |node| read::whole_u32(node, 1, SUFFIXES_MAX));
    Ok(Suffix { rule: rule.ok_or_else(wrong)?, count: count.ok_or_else(wrong)? })
}

fn rows(fields: &Fields<'_>, service: Service, context: &Context<'_>) -> Option<KeySpec> {
    let file = fields.need("file", read::text);
    let template = fields.need("template", |node| {
        Template::parse(&read::text(node)?).map_err(|error| Error::from(error).to_string())
    });
    let sort = fields.maybe("sort", read::text);
    let (file, template, sort) = (file?, template?, sort?);
    let Some(folder) = context.folder else {
        fields.fault("file", "a built-in scenario reads no files");
        return None;
    };
    let id = format!("{file}\n{template}\n{sort:?}\n{service}");
    if let Some(known) = context.rows.borrow().get(&id) {
        return Some(KeySpec::Rows(Arc::clone(known)));
    }
    match load(&folder.join(&file), &template, sort.as_deref(), service, context.seed) {
        Ok((rows, note)) => {
            if let Some(note) = note {
                context.note(note);
            }
            let rows = Arc::new(rows);
            context.rows.borrow_mut().insert(id, Arc::clone(&rows));
            Some(KeySpec::Rows(rows))
        }
        Err(error) => {
            fields.fault("file", error);
            None
        }
    }
}

/// The keys of a file's rows, and what is to be said about those that have none.
fn load(
    path: &Path,
    template: &Template,
    sort: Option<&str>,
    service: Service,
    seed: Seed,
) -> Result<(KeyedRows, Option<String>)> {
    let mut source = Source::open(path)?;
    let binding = source.bind(template.fields())?;
    let sort_binding = sort.map(|name| source.bind(&[FieldPath::from(name)])).transpose()?;
    let rule = if sort.is_some() { SortRule::Column } else { SortRule::RowNumber };
    let mut builder = KeyedRowsBuilder::new(service, rule);
    let (mut number, mut text) = (0_u64, String::new());
    while let Some(row) = source.next()? {
        let sort = match (&sort_binding, sort) {
            (Some(binding), Some(name)) => Some(row.text(binding, 0).ok_or_else(|| {
                let what = format!("the sort key {name} is absent, null or no plain value");
                Error::invalid(what).within(row.place())
            })?),
            _ => None,
        };
        let rendered = template.render(&row.bound(&binding), seed, number, &mut text);
        let refused = match rendered {
            Ok(rendered) => builder.push(rendered, &text, None, sort.as_deref(), None)?,
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = refused {
            let line = row.line();
            builder.skip(|| format!("line {line}: {reason}"));
        }
        number += 1;
    }
    let rows = builder.finish()?;
    let note = (rows.skipped() > 0).then(|| {
        let first = rows.skipped_examples().first().map(String::as_str).unwrap_or_default();
        format!("{template}: {} rows without a key were left out; the first: {first}", rows.skipped())
    });
    Ok((rows, note))
}
