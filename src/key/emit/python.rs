//! The key function in Python.
//!
//! Numbers may be `int`, `float` or `Decimal`, the last because that is what boto3 returns for a DynamoDB
//! number.

use super::{Part, Template, Uses, assemble, header, lines, names, quoted};

pub(super) fn emit(template: &Template) -> String {
    let uses = Uses::of(template);
    let text = |field: usize| format!("_text(item, {})", names(&template.fields()[field], literal));
    let body = match template.natural() {
        Some(path) => format!("    return _property(item, {})\n", names(path, literal)),
        None => {
            let parts = lines(template, "        ", |part| match part {
                Part::Literal(text) => literal(text),
                Part::Field(field) => text(*field),
                Part::Random(range) => format!("str(random.randint({}, {}))", range.first(), range.last()),
                Part::Hash { field, range } => {
                    format!("str({} + _hash({}) % {})", range.first(), text(*field), range.width())
                }
                Part::Product { field, range } => {
                    format!("str({} + _product({}, {}))", range.first(), text(*field), range.width())
                }
            });
            format!("    return \"\".join([\n{parts},\n    ])\n")
        }
    };
    assemble(&[
        (true, &header("#", template, "Python 3.9 or newer, standard library only.", literal)),
        (uses.hash, "import hashlib\n"),
        (uses.random, "import random\n"),
        (uses.text, "from decimal import Decimal\n"),
        (uses.hash || uses.random || uses.text, "\n\n"),
        (true, "def partition_key(item):\n"),
        (
            true,
            "    \"\"\"The partition key of a dict; ValueError when a property has no usable value.\"\"\"\n",
        ),
        (true, &body),
        (uses.property, PROPERTY),
        (uses.text, TEXT),
        (uses.hash, HASH),
        (uses.product, PRODUCT),
    ])
}

fn literal(text: &str) -> String {
    quoted(text, |c| format!("\\U{:08x}", u32::from(c)))
}

const PROPERTY: &str = r#"

def _property(item, *names):
    value = item
    for name in names:
        if not isinstance(value, dict) or name not in value:
            raise ValueError(f"property {names} is absent")
        value = value[name]
    if isinstance(value, (dict, list)):
        raise ValueError(f"property {names} is not a single value")
    return value
"#;

const TEXT: &str = r#"

def _text(item, *names):
    value = _property(item, *names)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (int, float, Decimal)):
        raise ValueError(f"property {names} has no text: {value!r}")
    # Plain decimal, with neither an exponent nor zeros at the end of a fraction.
    number = Decimal(float.__repr__(value) if isinstance(value, float) else value)
    if number == 0:
        return "0"
    text = ""
    if number.is_finite() and abs(number.adjusted()) < 150:
        text = format(number, "f")
        if "." in text:
            text = text.rstrip("0").rstrip(".")
    if not 0 < sum(c.isdigit() for c in text) <= 150:
        raise ValueError(f"property {names} has more than 150 digits: {value!r}")
    return text
"#;

const HASH: &str = r#"

def _hash(text):
    digest = hashlib.md5(text.encode("utf-8"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big")
"#;

const PRODUCT: &str = r#"

def _product(text, modulus):
    product = 1 if text else 0
    for character in text:
        product = product * ord(character) % modulus
    return product % modulus
"#;
