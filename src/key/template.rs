//! Synthetic keys: a partition key computed from the properties of an item.
//!
//! A service spreads data by partition key, so a key with few or uneven values makes one partition hot. The
//! cure that both vendors describe is a key made by rule, and a template is that rule as text:
//!
//! | strategy               | template                             | key                          |
//! |------------------------|--------------------------------------|------------------------------|
//! | natural key            | `{date}`                             | the value, type and all      |
//! | concatenation          | `{deviceId}-{date}`                  | `abc-123-2018`               |
//! | random suffix          | `{date}.{random(1..200)}`            | `2014-07-09.137`             |
//! | calculated suffix      | `{date}.{hash(tailnum, 1..200)}`     | same suffix for the same tail number |
//! | the documented formula | `{date}.{product(orderId, 1..200)}`  | product of code points mod 200, plus 1 |
//!
//! Sources: DynamoDB developer guide, "Using write sharding to distribute workloads evenly" (random and
//! calculated suffixes, the product formula); Azure Cosmos DB, "Create a synthetic partition key"
//! (concatenation, random suffix, "precalculated suffixes"). Neither names a hash; ours is MD5, because every
//! language has it.
//!
//! Grammar: literal text and `{…}` fields; `{{` and `}}` are braces. A field is a path of property names
//! joined by dots, or `random(a..b)`, `hash(path, a..b)` or `product(path, a..b)` with both ends included. A
//! name that holds spaces, dots or punctuation is quoted, `"a b"`, with `\"` and `\\` inside.
//!
//! `parse` reads templates, `render` computes keys, `number` writes numbers in their one canonical form. This
//! file does not know where rows come from, nor which keys a service refuses.

mod number;
mod parse;
mod render;

pub use parse::TemplateError;
pub use render::{FieldRef, Properties, Property, Rendered, RowError};

use std::fmt::{self, Write as _};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// How a partition key is made from the properties of an item.
///
/// - There is at least one part; no two literals are neighbours and none is empty.
/// - Each field is listed once, in the order of first use; parts refer to it by index.
/// - `Display` prints the canonical text, which parses back to an equal template.
///
/// ```
/// # use hotplate::{key::Template, rng::Seed};
/// let template = Template::parse("{deviceId}-{date}")?;
/// assert_eq!(template, Template::builder().field("deviceId").text("-").field("date").build()?);
/// let item = serde_json::json!({"deviceId": "abc-123", "date": 2018});
/// assert_eq!(template.key(&item, Seed(1), 0)?, "abc-123-2018".into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Template {
    parts: Vec<Part>,
    fields: Vec<FieldPath>,
}

/// One part of a template. A `field` is an index into [`Template::fields`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Text that every key holds at this place.
    Literal(String),
    /// The value of a property.
    Field(usize),
    /// A random suffix, drawn from the seed and the row.
    Random(SuffixRange),
    /// A suffix calculated by MD5 of the value's text.
    Hash {
        /// The property that decides.
        field: usize,
        /// The suffixes.
        range: SuffixRange,
    },
    /// A suffix calculated by the product of the code points of the value's text.
    Product {
        /// The property that decides.
        field: usize,
        /// The suffixes.
        range: SuffixRange,
    },
}

impl Part {
    /// The suffixes this part can produce, when it is one of the three suffix functions.
    pub fn range(&self) -> Option<SuffixRange> {
        match *self {
            Self::Literal(_) | Self::Field(_) => None,
            Self::Random(range) | Self::Hash { range, .. } | Self::Product { range, .. } => Some(range),
        }
    }
}

impl Template {
    /// Bytes of a template's text at the most. A DynamoDB partition key value has at most 2,048 bytes
    /// ("Quotas in Amazon DynamoDB": "The maximum length is 2048 bytes"), a Cosmos DB one 2 KB, so a longer
    /// template is a mistake.
    pub const LENGTH_MAX: usize = 2_048;

    /// Reads a template.
    ///
    /// # Errors
    /// When the text is no template; the error shows the place.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        parse::parse(text)
    }

    /// Starts a template that is put together in code.
    pub fn builder() -> TemplateBuilder {
        TemplateBuilder { text: String::new() }
    }

    /// The parts in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The distinct fields in the order of their first use.
    pub fn fields(&self) -> &[FieldPath] {
        &self.fields
    }

    /// The field of a natural key: a template of one plain field, whose value is the key with its type kept.
    pub fn natural(&self) -> Option<&FieldPath> {
        match self.parts[..] {
            [Part::Field(field)] => self.fields.get(field),
            _ => None,
        }
    }

    fn push_literal(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Literal(last)) => last.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    /// The index of `path` among the fields, added when it is new.
    fn field_index(&mut self, path: FieldPath) -> usize {
        self.fields.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.fields.push(path);
            self.fields.len() - 1
        })
    }
}

impl FromStr for Template {
    type Err = TemplateError;
    fn from_str(text: &str) -> Result<Self, TemplateError> {
        Self::parse(text)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(text) => write_literal(f, text)?,
                Part::Field(field) => write!(f, "{{{}}}", self.fields[*field])?,
                Part::Random(range) => write!(f, "{{random({range})}}")?,
                Part::Hash { field, range } => write!(f, "{{hash({}, {range})}}", self.fields[*field])?,
                Part::Product { field, range } => write!(f, "{{product({}, {range})}}", self.fields[*field])?,
            }
        }
        Ok(())
    }
}

fn write_literal(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    text.chars().try_for_each(|c| match c {
        '{' | '}' => write!(out, "{c}{c}"),
        c => out.write_char(c),
    })
}

/// The suffixes `first..last` of a suffix function, both ends included, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SuffixRange {
    first: u64,
    last: u64,
}

impl SuffixRange {
    /// Suffixes in a range at the most. *Assumed*: reading a whole day back takes one request per suffix, so
    /// more than a million is a typing error.
    pub const WIDTH_MAX: u64 = 1_000_000;

    /// The largest suffix: 2⁵³ − 1, the last integer up to which a JavaScript number is exact, so that
    /// functions written by [`emit`](super::emit) agree in every language.
    pub const LAST_MAX: u64 = (1 << 53) - 1;

    /// The smallest suffix.
    pub fn first(self) -> u64 {
        self.first
    }

    /// The largest suffix.
    pub fn last(self) -> u64 {
        self.last
    }

    /// How many suffixes there are, at least one.
    pub fn width(self) -> u64 {
        self.last - self.first + 1
    }

    /// Every suffix, as a fan-out over all of them needs it.
    pub fn values(self) -> RangeInclusive<u64> {
        self.first..=self.last
    }
}

impl fmt::Display for SuffixRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

/// Where a property is found: its name, or the names that lead to it through nested objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// The names from the outside in.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The names joined by dots, as a flat file heads its column.
    pub fn dotted(&self) -> String {
        self.0.join(".")
    }
}

/// One property by its literal name, dots and all.
impl From<&str> for FieldPath {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

/// A path through nested objects, from the outside in.
impl<const N: usize> From<[&str; N]> for FieldPath {
    fn from(names: [&str; N]) -> Self {
        Self(names.map(str::to_owned).to_vec())
    }
}

/// As a template writes it: names that need it are quoted.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_char('.')?;
            }
            if !name.is_empty() && name.chars().all(parse::is_bare) {
                f.write_str(name)?;
                continue;
            }
            f.write_char('"')?;
            for c in name.chars() {
                if matches!(c, '"' | '\\') {
                    f.write_char('\\')?;
                }
                f.write_char(c)?;
            }
            f.write_char('"')?;
        }
        Ok(())
    }
}

/// Puts a template together in code. Nothing passed in is read as template text, so braces and dots need no
/// care.
///
/// It writes the canonical text and [`build`](Self::build) parses that, so both ways obey the same rules and
/// report faults in the same manner.
#[derive(Clone, Debug)]
pub struct TemplateBuilder {
    text: String,
}

impl TemplateBuilder {
    /// Appends literal text.
    pub fn text(mut self, text: &str) -> Self {
        // Writing to a `String` cannot fail.
        let _ = write_literal(&mut self.text, text);
        self
    }

    /// Appends the value of the property `name`.
    pub fn field(self, name: &str) -> Self {
        self.append(format_args!("{{{}}}", FieldPath::from(name)))
    }

    /// Appends the value of a property of a nested object.
    pub fn path<const N: usize>(self, names: [&str; N]) -> Self {
        self.append(format_args!("{{{}}}", FieldPath::from(names)))
    }

    /// Appends a random suffix.
    pub fn random(self, range: RangeInclusive<u64>) -> Self {
        self.append(format_args!("{{random({}..{})}}", range.start(), range.end()))
    }

    /// Appends a suffix calculated from `field` by hash.
    pub fn hash(self, field: impl Into<FieldPath>, range: RangeInclusive<u64>) -> Self {
        self.append(format_args!("{{hash({}, {}..{})}}", field.into(), range.start(), range.end()))
    }

    /// Appends a suffix calculated from `field` by the product of its code points.
    pub fn product(self, field: impl Into<FieldPath>, range: RangeInclusive<u64>) -> Self {
        self.append(format_args!("{{product({}, {}..{})}}", field.into(), range.start(), range.end()))
    }

    /// The finished template.
    ///
    /// # Errors
    /// When nothing was appended, a name is empty, a range is empty or too wide, or the whole is too long.
    pub fn build(self) -> Result<Template, TemplateError> {
        Template::parse(&self.text)
    }

    fn append(mut self, part: fmt::Arguments<'_>) -> Self {
        let _ = self.text.write_fmt(part);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Step = fn(TemplateBuilder, &str, u64, u64) -> TemplateBuilder;

    const STEPS: [Step; 7] = [
        |b, s, _, _| b.text(s),
        |b, s, _, _| b.field(s),
        |b, s, _, _| b.path([s, "x y", s]),
        |b, _, first, width| b.random(first..=first + width),
        |b, s, first, width| b.hash(s, first..=first + width),
        |b, s, first, width| b.hash([s, "city"], first..=first + width),
        |b, s, first, width| b.product(s, first..=first + width),
    ];

    proptest! {
        #[test]
        fn canonical_text_parses_back(
            steps in proptest::collection::vec(
                (0..STEPS.len(), "[a-c{}\"\\\\(),. \n€𝄞]{1,6}|\\PC{1,8}", 0_u64..1 << 40, 0_u64..1_000_000),
                1..8,
            ),
        ) {
            let empty = Template::builder();
            let built = steps.iter().fold(empty, |b, (i, s, first, width)| STEPS[*i](b, s, *first, *width));
            let template = built.build().unwrap();
            prop_assert_eq!(&Template::parse(&template.to_string()).unwrap(), &template);
            prop_assert!(!template.parts().is_empty());
        }

        #[test]
        fn any_text_is_a_template_or_a_clear_error(
            text in "([a-c{}\"\\\\(),. 0-2é]|hash\\(|random\\(1\\.\\.){0,24}",
        ) {
            match Template::parse(&text) {
                Ok(template) => prop_assert_eq!(Template::parse(&template.to_string()).unwrap(), template),
                Err(error) => {
                    prop_assert!(error.position() <= text.chars().count());
                    prop_assert!(error.to_string().lines().any(|line| line.trim() == "^"), "{error}");
                }
            }
        }
    }

    #[test]
    fn builder_and_text_agree() {
        let built = Template::builder()
            .field("date")
            .text(".")
            .hash("tail number", 1..=200)
            .text("{")
            .path(["address", "city"])
            .field("a.b")
            .random(0..=9)
            .build()
            .unwrap();
        let text = r#"{date}.{hash("tail number", 1..200)}{{{address.city}{"a.b"}{random(0..9)}"#;
        assert_eq!(built.to_string(), text);
        assert_eq!(Template::parse(text).unwrap(), built);
        let spaced = text.replace("1..200", " 1 .. 200 ").replace("{address.city}", "{ address . city }");
        assert_eq!(Template::parse(&spaced).unwrap(), built);
        assert_eq!(built.fields().len(), 4, "`date` is listed once");
    }

    #[test]
    fn only_one_plain_field_is_a_natural_key() {
        let natural = |text: &str| Template::parse(text).unwrap().natural().map(FieldPath::dotted);
        assert_eq!(natural("{address.city}").as_deref(), Some("address.city"));
        assert_eq!(natural("{a}{b}"), None);
        assert_eq!(natural("{a}."), None);
        assert_eq!(natural("OPS_LOG"), None);
    }
}
