//! Reads template text, and says where and why it cannot.
//!
//! A hand-written cursor: the language is too small for a grammar, and each refusal should tell what to write
//! instead.

use super::{FieldPath, Part, SuffixRange, Template};
use std::fmt;

/// Text that is no template: what is wrong, where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    template: String,
    position: usize,
    message: String,
    help: String,
}

impl TemplateError {
    /// What is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where: the number of characters before the fault.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What to do about it.
    pub fn help(&self) -> &str {
        &self.help
    }
}

/// Characters shown on either side of the fault, so that the caret stays on the line of a terminal.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 30;

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.position.saturating_sub(SHOWN_BEFORE);
        let end = self.position + SHOWN_AFTER;
        // A line break or a tab in the template would part the caret from its place.
        let mut shown: String = self
            .template
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .skip(start)
            .take(end - start)
            .collect();
        let mut column = self.position - start;
        if start > 0 {
            shown.insert(0, '…');
            column += 1;
        }
        if self.template.chars().nth(end).is_some() {
            shown.push('…');
        }
        writeln!(f, "{} in the key template", self.message)?;
        writeln!(f, "  {shown}")?;
        writeln!(f, "  {:column$}^", "")?;
        write!(f, "  {}", self.help)
    }
}

impl std::error::Error for TemplateError {}

impl From<TemplateError> for crate::error::Error {
    fn from(error: TemplateError) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Whether a property name may hold `c` without being quoted.
pub(super) fn is_bare(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '{' | '}' | '(' | ')' | '"' | '\\' | ',' | '.')
}

const FIELD_HELP: &str = "write {property}, {object.property}, or in quotes {\"a property\"}";
const BRACE_HELP: &str = "a brace in the key itself is written twice: {{ or }}";

/// The suffix functions.
#[derive(Clone, Copy)]
enum Function {
    Random,
    Hash,
    Product,
}

impl Function {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "random" => Self::Random,
            "hash" => Self::Hash,
            "product" => Self::Product,
            _ => return None,
        })
    }

    fn help(self) -> &'static str {
        match self {
            Self::Random => "write {random(first..last)}, for instance {random(1..200)}",
            Self::Hash => "write {hash(property, first..last)}, for instance {hash(orderId, 1..200)}",
            Self::Product => {
                "write {product(property, first..last)}, for instance {product(orderId, 1..199)}"
            }
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Template, TemplateError> {
    let mut cursor = Cursor { text, at: 0, opened: 0 };
    if text.is_empty() {
        return Err(cursor.fault(0, "nothing", "write a property in braces, for instance {customerId}"));
    }
    // Checked on the canonical text too, so that what is printed can be read again.
    let too_long = |cursor: &Cursor<'_>| {
        let at = (0..=Template::LENGTH_MAX.min(text.len()))
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(0);
        cursor.fault(
            at,
            format!("more than {} bytes", Template::LENGTH_MAX),
            "no key of either service is that long: shorten it",
        )
    };
    if text.len() > Template::LENGTH_MAX {
        return Err(too_long(&cursor));
    }

    let mut template = Template::default();
    loop {
        let rest = cursor.rest();
        let end = rest.find(['{', '}']).unwrap_or(rest.len());
        template.push_literal(&rest[..end]);
        cursor.at += end;
        let rest = &rest[end..];
        if rest.is_empty() {
            break;
        } else if rest.starts_with("{{") || rest.starts_with("}}") {
            template.push_literal(&rest[..1]);
            cursor.at += 2;
        } else if rest.starts_with('}') {
            return Err(cursor.fault(cursor.at, "a `}` that closes nothing", BRACE_HELP));
        } else {
            let part = cursor.field(&mut template)?;
            template.parts.push(part);
        }
    }
    if template.to_string().len() > Template::LENGTH_MAX {
        return Err(too_long(&cursor));
    }
    Ok(template)
}

struct Cursor<'t> {
    text: &'t str,
    /// Bytes read.
    at: usize,
    /// Where the field that is being read was opened.
    opened: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !accept(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn fault(&self, at: usize, message: impl Into<String>, help: &str) -> TemplateError {
        TemplateError {
            template: self.text.to_owned(),
            position: self.text[..at].chars().count(),
            message: message.into(),
            help: help.to_owned(),
        }
    }

    /// The fault at the cursor, where something else than `expected` stands.
    fn unexpected(&self, expected: &str, help: &str) -> TemplateError {
        match self.peek() {
            None => self.fault(self.opened, "a `{` that is never closed", BRACE_HELP),
            Some('{') => self.fault(self.at, "a field inside a field", BRACE_HELP),
            Some(c) => self.fault(self.at, format!("`{}` instead of {expected}", c.escape_debug()), help),
        }
    }

    fn expect(&mut self, token: &str, help: &str) -> Result<(), TemplateError> {
        self.skip_spaces();
        if !self.rest().starts_with(token) {
            return Err(self.unexpected(&format!("`{token}`"), help));
        }
        self.at += token.len();
        Ok(())
    }

    /// Reads a field from its `{` to its `}`.
    fn field(&mut self, template: &mut Template) -> Result<Part, TemplateError> {
        self.opened = self.at;
        self.at += 1;
        self.skip_spaces();
        let start = self.at;
        if self.peek() == Some('}') {
            return Err(self.fault(start, "an empty field", FIELD_HELP));
        }
        let word = self.take_while(is_bare);
        self.skip_spaces();
        let part = if self.peek() == Some('(') && !word.is_empty() {
            let Some(function) = Function::named(word) else {
                let help = "the functions are random(first..last), hash(property, first..last) and \
                            product(property, first..last)";
                return Err(self.fault(start, format!("an unknown function `{word}`"), help));
            };
            self.at += 1;
            let part = self.arguments(function, template)?;
            self.expect(")", function.help())?;
            self.expect("}", "a function stands alone in its braces: {a}{random(1..9)}")?;
            part
        } else {
            self.at = start;
            let part = Part::Field(template.field_index(self.path(FIELD_HELP)?));
            self.expect("}", "a property name with spaces or punctuation goes in quotes: {\"a b\"}")?;
            part
        };
        Ok(part)
    }

    fn arguments(&mut self, function: Function, template: &mut Template) -> Result<Part, TemplateError> {
        let help = function.help();
        if let Function::Random = function {
            return Ok(Part::Random(self.range(help)?));
        }
        self.skip_spaces();
        if self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with("..") {
            return Err(self.fault(self.at, "a range where a property belongs", help));
        }
        let path = self.path(help)?;
        self.expect(",", help)?;
        let range = self.range(help)?;
        let field = template.field_index(path);
        Ok(match function {
            Function::Product => Part::Product { field, range },
            Function::Hash | Function::Random => Part::Hash { field, range },
        })
    }

    /// Reads names joined by dots.
    fn path(&mut self, help: &str) -> Result<FieldPath, TemplateError> {
        let mut names = Vec::new();
        loop {
            self.skip_spaces();
            names.push(if self.peek() == Some('"') {
                self.quoted()?
            } else {
                self.take_while(is_bare).to_owned()
            });
            if names.last().is_some_and(String::is_empty) {
                return Err(self.unexpected("a property name", help));
            }
            self.skip_spaces();
            if self.peek() != Some('.') {
                return Ok(FieldPath(names));
            }
            self.at += 1;
        }
    }

    fn quoted(&mut self) -> Result<String, TemplateError> {
        let start = self.at;
        let mut name = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '"' if name.is_empty() => {
                    return Err(self.fault(start, "an empty property name", FIELD_HELP));
                }
                '"' => {
                    self.at = start + i + 1;
                    return Ok(name);
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => name.push(escaped),
                    _ => {
                        return Err(self.fault(
                            start + i,
                            "an unknown escape",
                            "in quotes write \\\" for a quote and \\\\ for a backslash",
                        ));
                    }
                },
                c => name.push(c),
            }
        }
        Err(self.fault(start, "a quoted name that is never closed", "close it with a second \""))
    }

    /// Reads `first..last`.
    fn range(&mut self, help: &str) -> Result<SuffixRange, TemplateError> {
        self.skip_spaces();
        let start = self.at;
        let first = self.whole_number(help)?;
        self.expect("..", help)?;
        let last = self.whole_number(help)?;
        if last < first {
            return Err(self.fault(
                start,
                format!("an empty range {first}..{last}"),
                &format!("write the smaller number first: {last}..{first}"),
            ));
        }
        let range = SuffixRange { first, last };
        if range.width() > SuffixRange::WIDTH_MAX {
            let message = format!("a range of {} suffixes", range.width());
            let help = format!(
                "a range has at most {} suffixes, as a fan-out reads each of them",
                SuffixRange::WIDTH_MAX
            );
            return Err(self.fault(start, message, &help));
        }
        Ok(range)
    }

    fn whole_number(&mut self, help: &str) -> Result<u64, TemplateError> {
        self.skip_spaces();
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.unexpected("a whole number", help));
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(self.fault(
                start,
                format!("a leading zero in {digits}"),
                "suffixes are plain numbers and are not padded with zeros",
            ));
        }
        digits.parse().ok().filter(|&n| n <= SuffixRange::LAST_MAX).ok_or_else(|| {
            self.fault(
                start,
                format!("a number that is too large, {digits}"),
                &format!("the largest suffix is {}", SuffixRange::LAST_MAX),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Template::parse(text).unwrap_err().to_string()
    }

    /// Each case is the template, the caret line and the message.
    #[test]
    fn the_caret_stands_under_the_fault() {
        let cases = [
            ("", "^", "nothing"),
            ("{a}-{date", "    ^", "a `{` that is never closed"),
            ("{a}-{", "    ^", "a `{` that is never closed"),
            ("{hash(a, 1..2)", "^", "a `{` that is never closed"),
            ("a}b", " ^", "a `}` that closes nothing"),
            ("é𝄞漢}", "   ^", "a `}` that closes nothing"),
            ("x{}", "  ^", "an empty field"),
            ("x{ }", "   ^", "an empty field"),
            ("{\"\"}", " ^", "an empty property name"),
            ("{a.}", "   ^", "`}` instead of a property name"),
            ("{.a}", " ^", "`.` instead of a property name"),
            ("{a b}", "   ^", "`b` instead of `}`"),
            ("{a{b}}", "  ^", "a field inside a field"),
            ("{hash({b}, 1..2)}", "      ^", "a field inside a field"),
            ("{md5(a, 1..2)}", " ^", "an unknown function `md5`"),
            ("{(1..2)}", " ^", "`(` instead of a property name"),
            ("{hash(1..200)}", "      ^", "a range where a property belongs"),
            ("{hash(a)}", "       ^", "`)` instead of `,`"),
            ("{hash()}", "      ^", "`)` instead of a property name"),
            ("{random(a)}", "        ^", "`a` instead of a whole number"),
            ("{random(-1..2)}", "        ^", "`-` instead of a whole number"),
            ("{random(1..=2)}", "           ^", "`=` instead of a whole number"),
            ("{random(1-2)}", "         ^", "`-` instead of `..`"),
            ("{random(1..2, 3)}", "            ^", "`,` instead of `)`"),
            ("{random(1..2) x}", "              ^", "`x` instead of `}`"),
            ("{random(200..1)}", "        ^", "an empty range 200..1"),
            ("{random(1..1000001)}", "        ^", "a range of 1000001 suffixes"),
            ("{random(01..31)}", "        ^", "a leading zero in 01"),
            (
                "{random(1..99999999999999999999)}",
                "           ^",
                "a number that is too large, 99999999999999999999",
            ),
            ("{random(1..9007199254740992)}", "           ^", "a number that is too large, 9007199254740992"),
            ("{\"a", " ^", "a quoted name that is never closed"),
            ("{\"a\\n\"}", "   ^", "an unknown escape"),
        ];
        for (text, caret, message) in cases {
            let error = Template::parse(text).unwrap_err();
            assert_eq!(error.message(), message, "{text}");
            let expected = format!("{message} in the key template\n  {text}\n  {caret}\n  {}", error.help());
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_in_full() {
        let expected = "an empty range 200..1 in the key template
  {date}.{random(200..1)}
                 ^
  write the smaller number first: 1..200";
        assert_eq!(refusal("{date}.{random(200..1)}"), expected);
        let expected = "a `{` that is never closed in the key template
  a\u{fffd}b{date
     ^
  a brace in the key itself is written twice: {{ or }}";
        assert_eq!(refusal("a\nb{date"), expected, "a line break stays on the line");
    }

    #[test]
    fn a_long_template_is_refused_and_shown_in_part() {
        let error = refusal(&"é".repeat(1_025));
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[0], "more than 2048 bytes in the key template");
        assert_eq!(lines[1].chars().count(), 2 + 1 + SHOWN_BEFORE + 1);
        assert_eq!(lines[2].chars().count(), 2 + 1 + SHOWN_BEFORE + 1);
        assert!(Template::parse(&"é".repeat(1_024)).is_ok());
        // Within the limit as written, over it in canonical text.
        assert!(refusal(&"{hash(a,1..2)}".repeat(146)).starts_with("more than 2048 bytes"));
    }

    #[test]
    fn the_edges_of_a_range_are_accepted() {
        for text in ["{random(1..1000000)}", "{random(0..0)}", "{random(9007199254740991..9007199254740991)}"]
        {
            assert_eq!(Template::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_of_functions_are_names_too() {
        let template =
            Template::parse("{hash}{random}{Vehicle-Identification-Number}{$type}{a/b:c}").unwrap();
        let names: Vec<String> = template.fields().iter().map(FieldPath::dotted).collect();
        assert_eq!(names, ["hash", "random", "Vehicle-Identification-Number", "$type", "a/b:c"]);
    }
}
