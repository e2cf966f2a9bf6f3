//! What rows hold, as far as a sweep's reads care: which logical key has most rows, and which rows are like one row.
//!
//! The reads of a sweep are of the most frequent logical key, which is known only when the file has been read, and
//! standard input is read once. So each row is numbered by the values of all fields that any template or read uses, and
//! the number takes the place of the row's read bits until the reads are chosen.
//!
//! Rows with the same 64-bit hash of their values count as alike: among ten million different rows that happens once in
//! three hundred thousand files.
//!
//! This file does not know what a sweep is, nor what a read costs.

use super::super::input::{Binding, Row, Source};
use super::set;
use hotplate::error::{Error, ErrorKind, Result};
use hotplate::key::{FieldPath, FieldRef, Part, Properties as _, Property, Rendered, Template};
use hotplate::rng::Seed;
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

/// Values of one row: `None` where it has none that a key can hold.
type Values = Box<[Option<Value>]>;

/// The logical keys of one design: rows that agree in the fields that stand in its key as they are.
struct LogicalKeys {
    /// Those fields' places among all fields.
    fields: Vec<usize>,
    numbers: HashMap<u64, u32>,
    /// By number, in the order of the first row.
    keys: Vec<LogicalKey>,
    /// The logical key of each content, if it has one.
    of_content: Vec<Option<u32>>,
}

struct LogicalKey {
    rows: u64,
    /// The content that stands for its items, and whether a value of it is empty: then a later one is better.
    item: u32,
    blank: bool,
    values: Values,
}

/// The values of a field that suffixes are calculated from, each with its rows.
struct FieldValues {
    path: FieldPath,
    /// Makes the text that suffixes are calculated from, after a leading `=`.
    template: Template,
    binding: Option<Binding>,
    rows_of: HashMap<String, u64>,
}

/// Numbers rows by what they hold.
pub(super) struct Contents {
    fields: Vec<FieldPath>,
    binding: Option<Binding>,
    numbers: HashMap<u64, u32>,
    /// The read bits of each content, where reads were asked for.
    asked: Vec<u32>,
    /// The content that stands for the items of the first read that was asked for.
    first_asked: Option<(u32, bool, Values)>,
    designs: Vec<LogicalKeys>,
    hashed: Vec<FieldValues>,
    buffer: Vec<u8>,
    text: String,
}

/// A logical key and one item of it.
pub(super) struct Chosen {
    /// Which contents belong to the key, by number.
    pub(super) in_key: Vec<bool>,
    /// The content that is the item.
    pub(super) item: u32,
    /// The fields that make the logical key, with their values; empty where it was asked for.
    pub(super) key: Vec<(FieldPath, Value)>,
    /// All fields of the item that have a value.
    pub(super) all: Vec<(FieldPath, Value)>,
}

impl Contents {
    /// For these designs; `further` are fields that tell items apart beside those of the designs.
    pub(super) fn new(designs: &[&Template], further: impl IntoIterator<Item = FieldPath>) -> Result<Self> {
        let mut fields: Vec<FieldPath> = Vec::new();
        let all = designs.iter().flat_map(|design| design.fields().iter().cloned()).chain(further);
        all.for_each(|path| {
            if !fields.contains(&path) {
                fields.push(path);
            }
        });
        let place = |path: &FieldPath| fields.iter().position(|known| known == path);
        let logical = |design: &&Template| {
            let natural = design.parts().iter().filter_map(|part| match part {
                Part::Field(field) => place(design.fields().get(*field)?),
                _ => None,
            });
            LogicalKeys {
                fields: natural.collect(),
                numbers: HashMap::new(),
                keys: Vec::new(),
                of_content: Vec::new(),
            }
        };
        let logical = designs.iter().map(logical).collect();
        let mut hashed: Vec<FieldValues> = Vec::new();
        for design in designs {
            for part in design.parts() {
                let (Part::Hash { field, .. } | Part::Product { field, .. }) = part else { continue };
                let path = &design.fields()[*field];
                if hashed.iter().all(|known| known.path != *path) {
                    hashed.push(FieldValues {
                        path: path.clone(),
                        template: Template::parse(&format!("={{{path}}}"))?,
                        binding: None,
                        rows_of: HashMap::new(),
                    });
                }
            }
        }
        Ok(Self {
            fields,
            binding: None,
            numbers: HashMap::new(),
            asked: Vec::new(),
            first_asked: None,
            designs: logical,
            hashed,
            buffer: Vec::new(),
            text: String::new(),
        })
    }

    /// Finds the fields in a file.
    pub(super) fn bind(&mut self, source: &Source) -> Result<()> {
        self.binding = Some(source.bind(&self.fields)?);
        for field in &mut self.hashed {
            field.binding = Some(source.bind(std::slice::from_ref(&field.path))?);
        }
        Ok(())
    }

    /// The number of what a row holds; `asked` are the bits of the reads that it answers.
    pub(super) fn number(&mut self, row: &Row<'_>, asked: u32) -> Result<u32> {
        let Some(binding) = &self.binding else { return Ok(0) };
        for field in &mut self.hashed {
            let Some(binding) = &field.binding else { continue };
            if let Ok(Rendered::Text) = field.template.render(&row.bound(binding), Seed(0), 0, &mut self.text)
            {
                let value = &self.text[1..];
                match field.rows_of.get_mut(value) {
                    Some(rows) => *rows += 1,
                    None => {
                        field.rows_of.insert(value.to_owned(), 1);
                    }
                }
            }
        }
        let bound = row.bound(binding);
        let mut hash_of = |indexes: &mut dyn Iterator<Item = usize>| {
            self.buffer.clear();
            for index in indexes {
                push(&mut self.buffer, &bound.property(FieldRef { index, path: &self.fields[index] }));
            }
            let mut hasher = DefaultHasher::new();
            hasher.write(&self.buffer);
            hasher.finish()
        };
        let hash = hash_of(&mut (0..self.fields.len()));
        let number = match self.numbers.get(&hash) {
            Some(&number) => {
                let number_at = number as usize;
                for design in &mut self.designs {
                    if let Some(key) = design.of_content[number_at] {
                        design.keys[key as usize].rows += 1;
                    }
                }
                return Ok(number);
            }
            None => u32::try_from(self.numbers.len())
                .map_err(|_| Error::new(ErrorKind::TooLarge, "a sweep takes at most 2^32 different rows"))?,
        };
        self.numbers.insert(hash, number);
        self.asked.push(asked);
        let values = || -> Values {
            let fields = self.fields.iter().enumerate();
            fields.map(|(index, path)| value(&bound.property(FieldRef { index, path }))).collect()
        };
        let blank = |values: &Values| values.iter().flatten().any(|value| value.as_str() == Some(""));
        if asked & 1 == 1 && self.first_asked.as_ref().is_none_or(|(_, blank, _)| *blank) {
            let values = values();
            let blank = blank(&values);
            if self.first_asked.is_none() || !blank {
                self.first_asked = Some((number, blank, values));
            }
        }
        for design in &mut self.designs {
            let whole = design.fields.iter().all(|&index| {
                value(&bound.property(FieldRef { index, path: &self.fields[index] })).is_some()
            });
            if !whole {
                design.of_content.push(None);
                continue;
            }
            let hash = hash_of(&mut design.fields.iter().copied());
            let key = match design.numbers.get(&hash) {
                Some(&key) => {
                    let known = &mut design.keys[key as usize];
                    known.rows += 1;
                    if known.blank {
                        let values = values();
                        if !blank(&values) {
                            (known.item, known.blank, known.values) = (number, false, values);
                        }
                    }
                    key
                }
                None => {
                    // There are no more logical keys than contents.
                    let key = design.keys.len() as u32;
                    let values = values();
                    design.keys.push(LogicalKey { rows: 1, item: number, blank: blank(&values), values });
                    design.numbers.insert(hash, key);
                    key
                }
            };
            design.of_content.push(Some(key));
        }
        Ok(number)
    }

    /// The values of a field that suffixes are calculated from, each with its rows, in no order.
    pub(super) fn values_of(&self, path: &FieldPath) -> impl Iterator<Item = (&str, u64)> {
        let found = self.hashed.iter().find(|field| field.path == *path);
        found.into_iter().flat_map(|field| field.rows_of.iter().map(|(value, &rows)| (value.as_str(), rows)))
    }

    /// The logical key of a design with most rows, the first of equals, and one item of it. `None` when no row has one.
    pub(super) fn most_frequent(&self, design: usize) -> Option<Chosen> {
        let logical = self.designs.get(design)?;
        let order = |&(i, key): &(usize, &LogicalKey)| (key.rows, std::cmp::Reverse(i));
        let (number, key) = logical.keys.iter().enumerate().max_by_key(order)?;
        let named = |index: usize| Some((self.fields[index].clone(), key.values[index].clone()?));
        Some(Chosen {
            in_key: logical.of_content.iter().map(|of| *of == Some(number as u32)).collect(),
            item: key.item,
            key: logical.fields.iter().filter_map(|&index| named(index)).collect(),
            all: (0..self.fields.len()).filter_map(named).collect(),
        })
    }

    /// What answers the first read that was asked for, and one item of it. `None` when no row does.
    pub(super) fn asked_for(&self) -> Option<Chosen> {
        let (item, _, values) = self.first_asked.as_ref()?;
        Some(Chosen {
            in_key: self.asked.iter().map(|bits| bits & 1 == 1).collect(),
            item: *item,
            key: Vec::new(),
            all: self.fields.iter().zip(values).filter_map(|(f, v)| Some((f.clone(), v.clone()?))).collect(),
        })
    }
}

/// Appends a value so that different ones differ.
fn push(buffer: &mut Vec<u8>, property: &Property<'_>) {
    let (kind, text): (u8, &str) = match property {
        Property::Absent => (0, ""),
        Property::Null => (1, ""),
        Property::Bool(false) => (2, ""),
        Property::Bool(true) => (3, ""),
        Property::Number(text) => (4, text),
        Property::Text(text) => (5, text),
        Property::Composite => (6, ""),
    };
    buffer.push(kind);
    buffer.extend_from_slice(&(text.len() as u64).to_le_bytes());
    buffer.extend_from_slice(text.as_bytes());
}

/// A value that a key can hold.
fn value(property: &Property<'_>) -> Option<Value> {
    match property {
        Property::Absent | Property::Null | Property::Composite => None,
        Property::Bool(bool) => Some(Value::Bool(*bool)),
        Property::Number(text) => serde_json::from_str(text).ok(),
        Property::Text(text) => Some(Value::String(text.as_ref().to_owned())),
    }
}

/// What is known, as an item, and as a filter is written.
pub(super) fn filter(known: &[(FieldPath, Value)]) -> (Value, String) {
    let mut item = Value::Object(serde_json::Map::new());
    let mut texts = Vec::new();
    for (path, value) in known {
        set(&mut item, path, value.clone());
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        texts.push(format!("{path}={text}"));
    }
    (item, texts.join(","))
}
