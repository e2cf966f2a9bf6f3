//! The key function in Rust, for programs that do not want this crate. The standard library has no JSON and
//! no MD5, so the caller passes a closure that reads a property, and a hash needs the `md-5` crate.

use super::{Part, Template, Uses, assemble, header, lines, names, quoted};

pub(super) fn emit(template: &Template) -> String {
    let uses = Uses::of(template);
    let text = |field: usize| format!("text(&property, &[{}])?", names(&template.fields()[field], literal));
    let (result, body) = match template.natural() {
        Some(path) => ("Value<'a>", format!("    value(&property, &[{}])\n", names(path, literal))),
        None => {
            let parts = lines(template, "        ", |part| match part {
                Part::Literal(text) => format!("{}.to_string()", literal(text)),
                Part::Field(field) => text(*field),
                Part::Random(range) => {
                    format!("({} + random() % {}).to_string()", range.first(), range.width())
                }
                Part::Hash { field, range } => {
                    format!("({} + hash(&{}) % {}).to_string()", range.first(), text(*field), range.width())
                }
                Part::Product { field, range } => {
                    format!("({} + product(&{}, {})).to_string()", range.first(), text(*field), range.width())
                }
            });
            ("String", format!("    Ok([\n{parts},\n    ]\n    .concat())\n"))
        }
    };
    let needs = if uses.hash {
        "The standard library and, for MD5, the crate `md-5` (cargo add md-5)."
    } else {
        "Standard library only."
    };
    let parameter = if uses.property { "property" } else { "_property" };
    assemble(&[
        (true, &header("//", template, needs, literal)),
        (uses.hash, "use md5::{Digest, Md5};\n\n"),
        (true, VALUE),
        (
            true,
            &format!("pub fn partition_key<'a>(\n    {parameter}: impl Fn(&[&str]) -> Option<Value<'a>>,\n"),
        ),
        (true, &format!(") -> Result<{result}, String> {{\n")),
        (true, &body),
        (true, "}\n"),
        (uses.property, PROPERTY),
        (uses.text, TEXT),
        (uses.hash, HASH),
        (uses.product, PRODUCT),
        (uses.random, RANDOM),
    ])
}

fn literal(text: &str) -> String {
    quoted(text, |c| format!("\\u{{{:x}}}", u32::from(c)))
}

const VALUE: &str = r#"/// The value of a property; a number is its decimal text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(&'a str),
}

/// The partition key of an item. `property` finds the value that a path of names leads to.
"#;

const PROPERTY: &str = r#"
fn value<'a>(property: impl Fn(&[&str]) -> Option<Value<'a>>, names: &[&str]) -> Result<Value<'a>, String> {
    property(names).ok_or_else(|| format!("property {} is absent", names.join(".")))
}
"#;

const TEXT: &str = r#"
fn text<'a>(property: impl Fn(&[&str]) -> Option<Value<'a>>, names: &[&str]) -> Result<String, String> {
    match value(property, names)? {
        Value::Text(text) => Ok(text.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(text) => plain(text)
            .ok_or_else(|| format!("property {} is not a number within 150 digits: {text}", names.join("."))),
        Value::Null => Err(format!("property {} is null", names.join("."))),
    }
}

/// Plain decimal, with neither an exponent nor zeros at the end of a fraction.
fn plain(number: &str) -> Option<String> {
    let (sign, number) = if let Some(rest) = number.strip_prefix('-') { ("-", rest) } else { ("", number) };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".to_string());
    }
    let point = i64::from(exponent.parse::<i32>().ok()?) + whole.len() as i64 - leading as i64;
    let (before, zeros) = (point.max(0) as usize, point.min(0).unsigned_abs() as usize);
    let count = if point <= 0 { 1 + zeros + digits.len() } else { before.max(digits.len()) };
    let text = if count > 150 {
        return None;
    } else if point <= 0 {
        format!("0.{}{digits}", "0".repeat(zeros))
    } else if before >= digits.len() {
        format!("{digits}{}", "0".repeat(before - digits.len()))
    } else {
        format!("{}.{}", &digits[..before], &digits[before..])
    };
    Some([sign, &text].concat())
}
"#;

const HASH: &str = r#"
fn hash(text: &str) -> u64 {
    let digest: [u8; 16] = Md5::digest(text.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
"#;

const PRODUCT: &str = r#"
fn product(text: &str, modulus: u64) -> u64 {
    text.chars().map(u64::from).reduce(|a, b| a % modulus * b % modulus).unwrap_or(0) % modulus
}
"#;

const RANDOM: &str = r#"
/// A random word: the standard library seeds each hasher from the operating system.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
"#;
