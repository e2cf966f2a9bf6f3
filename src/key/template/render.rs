//! Computes the key of a row.
//!
//! Loading a file computes a key per row and design, so the text is written into the caller's buffer and
//! property values are borrowed. A key depends on the row's properties, the seed and the row number, on
//! nothing else: no state, no order.

use super::number::{self, push_canonical};
use super::{FieldPath, Part, SuffixRange, Template};
use crate::key::KeyValue;
use crate::rng::{Seed, below};
use md5::{Digest as _, Md5};
use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Something that has properties: an item, a document, a row of a file.
pub trait Properties {
    /// The value that `field` leads to.
    fn property<'a>(&'a self, field: FieldRef<'_>) -> Property<'a>;
}

/// One field of a template, as its source is asked for it: a reader that resolved [`Template::fields`] to
/// columns once goes by the index, one that walks a document by the path.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef<'t> {
    /// The place in [`Template::fields`].
    pub index: usize,
    /// The names that lead to it.
    pub path: &'t FieldPath,
}

/// The value of a property, as far as keys care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property<'a> {
    /// There is no such property.
    Absent,
    /// JSON null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, by its decimal text.
    Number(Cow<'a, str>),
    /// Text.
    Text(Cow<'a, str>),
    /// An array or an object.
    Composite,
}

impl Properties for serde_json::Value {
    fn property<'a>(&'a self, field: FieldRef<'_>) -> Property<'a> {
        let found = field.path.names().iter().try_fold(self, |value, name| value.as_object()?.get(name));
        match found {
            None => Property::Absent,
            Some(Self::Null) => Property::Null,
            Some(Self::Bool(b)) => Property::Bool(*b),
            Some(Self::Number(n)) => Property::Number(n.to_string().into()),
            Some(Self::String(s)) => Property::Text(s.as_str().into()),
            Some(Self::Array(_) | Self::Object(_)) => Property::Composite,
        }
    }
}

/// What [`Template::render`] made.
#[derive(Clone, Debug, PartialEq)]
pub enum Rendered {
    /// The key is the text in the buffer.
    Text,
    /// The key is this value, which is no text; the buffer is empty.
    Value(KeyValue),
}

/// A row that has no key, and why. The property is named as a template writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowError {
    /// The property is not there.
    Absent {
        /// The property's path.
        property: String,
    },
    /// The property is null.
    Null {
        /// The property's path.
        property: String,
    },
    /// The property is an array or an object.
    Composite {
        /// The property's path.
        property: String,
    },
    /// Several suffixes multiply to more keys than can be asked for.
    TooMany,
    /// The number has no plain form that fits a key.
    Number {
        /// The property's path.
        property: String,
        /// The number as it was found.
        text: String,
    },
}

impl RowError {
    /// The property that is at fault; empty where it is none.
    pub fn property(&self) -> &str {
        match self {
            Self::TooMany => "",
            Self::Absent { property } | Self::Null { property } => property,
            Self::Composite { property } | Self::Number { property, .. } => property,
        }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHOOSE: &str = "fill it in, or make the key from a property that every row has";
        match self {
            Self::Absent { property } => write!(f, "property {property} is absent: {CHOOSE}"),
            Self::Null { property } => write!(f, "property {property} is null: {CHOOSE}"),
            Self::TooMany => write!(
                f,
                "its suffixes multiply to more than {} keys: give the properties that they are calculated from",
                SuffixRange::WIDTH_MAX
            ),
            Self::Composite { property } => {
                write!(
                    f,
                    "property {property} is an array or object: name one value in it, as in {property}.name"
                )
            }
            Self::Number { property, text } => write!(
                f,
                "property {property} holds {text}, which is no number of at most {} digits: \
                 store it as text",
                number::DIGITS_MAX
            ),
        }
    }
}

impl std::error::Error for RowError {}

impl From<RowError> for crate::error::Error {
    fn from(error: RowError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl Template {
    /// The key of a row. `row` is its number: it decides the random suffixes, together with the seed.
    ///
    /// A [natural](Self::natural) key keeps the type of its value, and an absent property is
    /// [`KeyValue::Undefined`]; every other template makes text.
    ///
    /// # Errors
    /// When a property has no value that can be part of a key.
    pub fn key(
        &self,
        properties: &(impl Properties + ?Sized),
        seed: Seed,
        row: u64,
    ) -> Result<KeyValue, RowError> {
        let mut text = String::new();
        Ok(match self.render(properties, seed, row, &mut text)? {
            Rendered::Text => KeyValue::String(text),
            Rendered::Value(value) => value,
        })
    }

    /// [`key`](Self::key) for many rows: text goes into `out`, which is emptied first and keeps its memory.
    ///
    /// # Errors
    /// When a property has no value that can be part of a key.
    pub fn render(
        &self,
        properties: &(impl Properties + ?Sized),
        seed: Seed,
        row: u64,
        out: &mut String,
    ) -> Result<Rendered, RowError> {
        out.clear();
        if let [Part::Field(field)] = self.parts[..] {
            return self.natural_value(properties, field, out);
        }
        let mut random_fields = 0;
        for part in &self.parts {
            match *part {
                Part::Literal(ref text) => out.push_str(text),
                Part::Field(field) => self.push_text(properties, field, out)?,
                Part::Random(range) => {
                    let word = seed.stream("random-suffix").child(random_fields).at(row);
                    random_fields += 1;
                    push_suffix(range, below(word, range.width()), out);
                }
                Part::Hash { field, range } => {
                    let start = out.len();
                    self.push_text(properties, field, out)?;
                    let word = hash_word(&out[start..]);
                    out.truncate(start);
                    push_suffix(range, word % range.width(), out);
                }
                Part::Product { field, range } => {
                    let start = out.len();
                    self.push_text(properties, field, out)?;
                    let product = product_mod(&out[start..], range.width());
                    out.truncate(start);
                    push_suffix(range, product, out);
                }
            }
        }
        Ok(Rendered::Text)
    }

    /// Every key that a row with these properties may have: the fan-out of reading them back.
    ///
    /// A random suffix may be any of its range; so may a calculated one whose property is not among `known`. The keys
    /// come in the order of the suffixes, the last part counting fastest.
    ///
    /// # Errors
    /// [`RowError::Absent`] when a property that stands in the key as it is is not known: then any key is possible.
    /// [`RowError::TooMany`] when the suffixes of several parts multiply beyond [`SuffixRange::WIDTH_MAX`].
    pub fn keys(&self, known: &(impl Properties + ?Sized)) -> Result<Vec<KeyValue>, RowError> {
        if let [Part::Field(field)] = self.parts[..] {
            let mut text = String::new();
            return Ok(vec![match self.natural_value(known, field, &mut text)? {
                Rendered::Value(KeyValue::Undefined) => {
                    return Err(RowError::Absent { property: self.fields[field].to_string() });
                }
                Rendered::Value(value) => value,
                Rendered::Text => KeyValue::String(text),
            }]);
        }
        let mut keys = vec![String::new()];
        let mut text = String::new();
        for part in &self.parts {
            text.clear();
            let suffixes = match *part {
                Part::Literal(ref literal) => {
                    text.push_str(literal);
                    None
                }
                Part::Field(field) => {
                    self.push_text(known, field, &mut text)?;
                    None
                }
                Part::Random(range) => Some(range),
                Part::Hash { field, range } | Part::Product { field, range } => {
                    match self.push_text(known, field, &mut text) {
                        Err(RowError::Absent { .. }) => Some(range),
                        Err(other) => return Err(other),
                        Ok(()) => {
                            let offset = match part {
                                Part::Hash { .. } => hash_word(&text) % range.width(),
                                _ => product_mod(&text, range.width()),
                            };
                            text.clear();
                            push_suffix(range, offset, &mut text);
                            None
                        }
                    }
                }
            };
            match suffixes {
                None => keys.iter_mut().for_each(|key| key.push_str(&text)),
                Some(range) => {
                    if (keys.len() as u64).saturating_mul(range.width()) > SuffixRange::WIDTH_MAX {
                        return Err(RowError::TooMany);
                    }
                    keys = keys
                        .iter()
                        .flat_map(|key| range.values().map(move |suffix| format!("{key}{suffix}")))
                        .collect();
                }
            }
        }
        Ok(keys.into_iter().map(KeyValue::String).collect())
    }

    fn property<'p>(&self, properties: &'p (impl Properties + ?Sized), index: usize) -> Property<'p> {
        properties.property(FieldRef { index, path: &self.fields[index] })
    }

    fn natural_value(
        &self,
        properties: &(impl Properties + ?Sized),
        field: usize,
        out: &mut String,
    ) -> Result<Rendered, RowError> {
        Ok(Rendered::Value(match self.property(properties, field) {
            Property::Text(text) => {
                out.push_str(&text);
                return Ok(Rendered::Text);
            }
            Property::Absent => KeyValue::Undefined,
            Property::Null => KeyValue::Null,
            Property::Bool(b) => KeyValue::Bool(b),
            Property::Number(text) => match text.parse::<f64>() {
                Ok(n) if n.is_finite() => KeyValue::Number(n),
                _ => return Err(self.bad_number(field, text)),
            },
            Property::Composite => {
                return Err(RowError::Composite { property: self.fields[field].to_string() });
            }
        }))
    }

    /// Appends the text of a property's value.
    fn push_text(
        &self,
        properties: &(impl Properties + ?Sized),
        field: usize,
        out: &mut String,
    ) -> Result<(), RowError> {
        let property = || self.fields[field].to_string();
        match self.property(properties, field) {
            Property::Text(text) => out.push_str(&text),
            Property::Number(text) => {
                return push_canonical(&text, out).ok_or_else(|| self.bad_number(field, text));
            }
            Property::Bool(b) => out.push_str(if b { "true" } else { "false" }),
            Property::Absent => return Err(RowError::Absent { property: property() }),
            Property::Null => return Err(RowError::Null { property: property() }),
            Property::Composite => return Err(RowError::Composite { property: property() }),
        }
        Ok(())
    }

    fn bad_number(&self, field: usize, text: Cow<'_, str>) -> RowError {
        RowError::Number { property: self.fields[field].to_string(), text: text.into_owned() }
    }
}

/// Appends the suffix that lies `offset` above the first one.
fn push_suffix(range: SuffixRange, offset: u64, out: &mut String) {
    // Writing to a `String` cannot fail.
    let _ = write!(out, "{}", range.first() + offset);
}

/// The first 8 bytes of the MD5 of `text`, big-endian.
fn hash_word(text: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..]: [u8; 16] = Md5::digest(text.as_bytes()).into();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The product of the code points of `text`, modulo `modulus`; of no code points it is zero
/// (*assumed*: the developer guide does not say, and a product of nothing would be one).
fn product_mod(text: &str, modulus: u64) -> u64 {
    // Reduced at each step: a code point has 21 bits and a modulus 20, so no step overflows.
    let mut product = if text.is_empty() { 0 } else { 1 % modulus };
    for c in text.chars() {
        if product == 0 {
            break;
        }
        product = product * u64::from(c) % modulus;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn key(template: &str, item: &Value) -> Result<KeyValue, RowError> {
        Template::parse(template).unwrap().key(item, Seed(1), 0)
    }

    fn text(template: &str, item: &Value) -> String {
        match key(template, item) {
            Ok(KeyValue::String(text)) => text,
            other => panic!("{template}: {other:?}"),
        }
    }

    #[test]
    fn a_natural_key_keeps_its_type() {
        let item = json!({"s": "x", "n": 1.5, "b": true, "z": null, "a": [1], "o": {"p": 2}});
        assert_eq!(key("{s}", &item), Ok("x".into()));
        assert_eq!(key("{n}", &item), Ok(KeyValue::Number(1.5)));
        assert_eq!(key("{b}", &item), Ok(KeyValue::Bool(true)));
        assert_eq!(key("{z}", &item), Ok(KeyValue::Null));
        assert_eq!(key("{missing}", &item), Ok(KeyValue::Undefined));
        assert_eq!(key("{o.p}", &item), Ok(KeyValue::Number(2.0)));
        assert_eq!(key("{o.p.q}", &item), Ok(KeyValue::Undefined));
        assert_eq!(key("{a}", &item), Err(RowError::Composite { property: "a".into() }));
    }

    #[test]
    fn other_templates_make_text_or_name_the_property() {
        let item = json!({"n": 1.50, "b": false, "z": null, "o": {"p": "q"}, "o.p": "dotted", "big": -1e200});
        assert_eq!(text("{n}|{b}|{o.p}|{\"o.p\"}|{{}}", &item), "1.5|false|q|dotted|{}");
        assert_eq!(text("OPS_LOG", &item), "OPS_LOG");
        for (template, error) in [
            ("{n}{o.x}", RowError::Absent { property: "o.x".into() }),
            ("{n}{\"a b\"}", RowError::Absent { property: "\"a b\"".into() }),
            ("{hash(z, 1..2)}", RowError::Null { property: "z".into() }),
            ("{product(o, 1..2)}", RowError::Composite { property: "o".into() }),
            ("-{big}", RowError::Number { property: "big".into(), text: item["big"].to_string() }),
        ] {
            assert_eq!(key(template, &item), Err(error.clone()), "{template}");
            assert!(
                error.to_string().contains(error.property()) && error.to_string().contains(": "),
                "{error}"
            );
        }
    }

    /// MD5 test vectors of RFC 1321, appendix A.5.
    #[test]
    fn hash_is_the_head_of_md5() {
        assert_eq!(hash_word(""), 0xd41d_8cd9_8f00_b204);
        assert_eq!(hash_word("message digest"), 0xf96b_697d_7cb7_938d);
        let expected = 1 + 0x9001_5098_3cd2_4fb0_u64 % 200;
        assert_eq!(text("{hash(s, 1..200)}", &json!({"s": "abc"})), expected.to_string());
        assert_eq!(text("{hash(n, 0..9)}", &json!({"n": 1.0})), text("{hash(n, 0..9)}", &json!({"n": "1"})));
    }

    #[test]
    fn product_is_of_code_points_and_zero_of_nothing() {
        assert_eq!(product_mod("", 200), 0);
        assert_eq!(product_mod("a", 1), 0);
        assert_eq!(product_mod("ab", 200), 97 * 98 % 200);
        assert_eq!(product_mod("𝄞", 1_000_000), 0x1_D11E);
        assert_eq!(text("{product(s, 5..204)}", &json!({"s": ""})), "5");
    }

    #[test]
    fn random_depends_on_seed_row_and_field_alone() {
        let template = Template::parse("{random(1..1000000)} {random(1..1000000)}").unwrap();
        let draw = |seed, row| template.key(&json!({}), Seed(seed), row).unwrap().to_string();
        assert_eq!(draw(1, 7), draw(1, 7));
        assert_ne!(draw(1, 7), draw(1, 8));
        assert_ne!(draw(1, 7), draw(2, 7));
        let (a, b) = draw(1, 7).split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_ne!(a, b, "each random field has its own stream");
    }

    #[test]
    fn a_reader_may_go_by_index() {
        struct Row([&'static str; 2]);
        impl Properties for Row {
            fn property<'a>(&'a self, field: FieldRef<'_>) -> Property<'a> {
                self.0.get(field.index).map_or(Property::Absent, |cell| Property::Text((*cell).into()))
            }
        }
        let template = Template::parse("{b}-{a}-{b}").unwrap();
        let mut out = "left over".to_owned();
        assert_eq!(template.render(&Row(["1.0", "2"]), Seed(0), 0, &mut out), Ok(Rendered::Text));
        assert_eq!(out, "1.0-2-1.0", "text stays as it is");
    }
}
