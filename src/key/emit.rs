//! Writes a small function, in another language, that computes the same key as a template.
//!
//! A key design is only worth something once the application itself writes it. Whatever its language, this is
//! the code to paste: one function and the few helpers it needs, from the standard library alone, with
//! nothing of this crate in it.
//!
//! The functions agree with [`Template::key`] with these exceptions:
//! - an absent property is an error everywhere (a natural key of ours can be undefined, as Cosmos DB's can);
//! - random suffixes come from the language's own generator, so they agree in range only;
//! - a number is what the language holds: JavaScript rounds integers above 2⁵³ before the function sees them.
//!
//! This file knows the languages' names and what their emitters share; each has a file of its own.

mod csharp;
mod java;
mod javascript;
mod python;
mod rust;

use super::template::{FieldPath, Part, Template};
use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// A language that key functions are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Python 3.9 or newer.
    Python,
    /// JavaScript on Node 16.9 or newer.
    JavaScript,
    /// Java 8 or newer.
    Java,
    /// C# on .NET 6 or newer.
    CSharp,
    /// Rust 1.77 or newer.
    Rust,
}

impl Language {
    /// Every language, in the order in which help texts list them.
    pub const ALL: [Self; 5] = [Self::Python, Self::JavaScript, Self::Java, Self::CSharp, Self::Rust];
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Java => "java",
            Self::CSharp => "csharp",
            Self::Rust => "rust",
        })
    }
}

impl FromStr for Language {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|language| language.to_string() == name).ok_or_else(|| {
            let names = Self::ALL.map(|language| language.to_string()).join(", ");
            Error::invalid(format!("no key functions are written in {name:?}: the languages are {names}"))
        })
    }
}

/// The source text of a function that computes the keys of `template`.
pub fn emit(template: &Template, language: Language) -> String {
    match language {
        Language::Python => python::emit(template),
        Language::JavaScript => javascript::emit(template),
        Language::Java => java::emit(template),
        Language::CSharp => csharp::emit(template),
        Language::Rust => rust::emit(template),
    }
}

/// Which helpers the function of a template needs.
struct Uses {
    /// The value of a property, read from the item.
    property: bool,
    /// The text of such a value.
    text: bool,
    hash: bool,
    product: bool,
    random: bool,
}

impl Uses {
    fn of(template: &Template) -> Self {
        let any = |is: fn(&Part) -> bool| template.parts().iter().any(is);
        Self {
            property: !template.fields().is_empty(),
            text: !template.fields().is_empty() && template.natural().is_none(),
            hash: any(|part| matches!(part, Part::Hash { .. })),
            product: any(|part| matches!(part, Part::Product { .. })),
            random: any(|part| matches!(part, Part::Random(_))),
        }
    }
}

/// Joins the pieces of a source that are wanted.
fn assemble(pieces: &[(bool, &str)]) -> String {
    pieces.iter().filter(|(wanted, _)| *wanted).map(|(_, text)| *text).collect()
}

/// The comment at the top. The template never stands on the first two lines, where Python looks for an
/// encoding.
fn header(mark: &str, template: &Template, needs: &str, literal: fn(&str) -> String) -> String {
    let text = template.to_string();
    // A line break would end the comment, and Java reads `\u` even there.
    let is_plain = text.chars().all(|c| matches!(c, ' '..='~') && c != '\\');
    let shown = if is_plain { text } else { literal(&text) };
    format!(
        "{mark} The partition key of a hotplate key template, as `hotplate emit` writes it.\n{mark} {needs}\n\
         {mark}\n{mark}     {shown}\n\n"
    )
}

/// A string literal in double quotes and pure ASCII, so that neither a file's encoding nor an invisible
/// character changes it. `escape` writes a character that is not printable ASCII.
fn quoted(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            c => out.push_str(&escape(c)),
        }
    }
    out.push('"');
    out
}

/// `c` as UTF-16 escapes, which Java and C# share.
fn utf16_escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// The names of a path as a list of literals.
fn names(path: &FieldPath, literal: fn(&str) -> String) -> String {
    path.names().iter().map(|name| literal(name)).collect::<Vec<_>>().join(", ")
}

/// One expression per part, each on a line of its own.
fn lines(template: &Template, indent: &str, expression: impl Fn(&Part) -> String) -> String {
    let parts: Vec<String> =
        template.parts().iter().map(|part| format!("{indent}{}", expression(part))).collect();
    parts.join(",\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_named() {
        for language in Language::ALL {
            assert_eq!(language.to_string().parse::<Language>().unwrap(), language);
        }
        let error = "go".parse::<Language>().unwrap_err().to_string();
        assert_eq!(
            error,
            "no key functions are written in \"go\": the languages are python, javascript, java, csharp, rust"
        );
    }

    #[test]
    fn sources_are_ascii_whatever_the_template_holds() {
        let template = Template::parse("é\n\u{202e}\\u0022\"{\"${x}𝄞\"}{hash(a, 1..9)}*/").unwrap();
        for language in Language::ALL {
            let source = emit(&template, language);
            assert!(source.chars().all(|c| matches!(c, ' '..='~' | '\n')), "{source}");
        }
    }

    #[test]
    fn only_what_is_needed_is_written() {
        let constant = Template::parse("OPS_LOG").unwrap();
        for language in Language::ALL {
            let source = emit(&constant, language);
            assert!(source.contains("\"OPS_LOG\"") && !source.to_lowercase().contains("md5"), "{source}");
        }
    }

    /// One source in full, for the eye.
    #[test]
    fn the_python_function_of_a_calculated_suffix() {
        let template = Template::parse("{date}.{hash(tailnum, 1..200)}").unwrap();
        let source = emit(&template, Language::Python);
        let expected = r#"# The partition key of a hotplate key template, as `hotplate emit` writes it.
# Python 3.9 or newer, standard library only.
#
#     {date}.{hash(tailnum, 1..200)}

import hashlib
from decimal import Decimal


def partition_key(item):
    """The partition key of a dict; ValueError when a property has no usable value."""
    return "".join([
        _text(item, "date"),
        ".",
        str(1 + _hash(_text(item, "tailnum")) % 200),
    ])
"#;
        assert!(source.starts_with(expected), "{source}");
    }
}
