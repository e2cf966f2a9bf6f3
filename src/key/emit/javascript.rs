//! The key function in JavaScript, as a CommonJS module, which Node runs without a package file.

use super::{Part, Template, Uses, assemble, header, lines, names, quoted};

pub(super) fn emit(template: &Template) -> String {
    let uses = Uses::of(template);
    let text = |field: usize| format!("text(item, {})", names(&template.fields()[field], literal));
    let body = match template.natural() {
        Some(path) => format!("  return property(item, {});\n", names(path, literal)),
        None => {
            let parts = lines(template, "    ", |part| match part {
                Part::Literal(text) => literal(text),
                Part::Field(field) => text(*field),
                Part::Random(range) => format!("{} + randomInt({})", range.first(), range.width()),
                // A 64-bit word is no exact number, hence BigInt.
                Part::Hash { field, range } => {
                    format!("{}n + hash({}) % {}n", range.first(), text(*field), range.width())
                }
                Part::Product { field, range } => {
                    format!("{} + product({}, {})", range.first(), text(*field), range.width())
                }
            });
            format!("  return [\n{parts},\n  ].join(\"\");\n")
        }
    };
    let imports = match (uses.hash, uses.random) {
        (true, true) => "const { createHash, randomInt } = require(\"node:crypto\");\n\n",
        (true, false) => "const { createHash } = require(\"node:crypto\");\n\n",
        (false, _) => "const { randomInt } = require(\"node:crypto\");\n\n",
    };
    assemble(&[
        (
            true,
            &header(
                "//",
                template,
                "Node 16.9 or newer, CommonJS (in an ES module: import and export).",
                literal,
            ),
        ),
        (uses.hash || uses.random, imports),
        (true, "/** The partition key of an object; throws when a property has no usable value. */\n"),
        (true, "function partitionKey(item) {\n"),
        (true, &body),
        (true, "}\n"),
        (uses.property, PROPERTY),
        (uses.text, TEXT),
        (uses.hash, HASH),
        (uses.product, PRODUCT),
        (true, "\nmodule.exports = { partitionKey };\n"),
    ])
}

fn literal(text: &str) -> String {
    quoted(text, |c| format!("\\u{{{:x}}}", u32::from(c)))
}

const PROPERTY: &str = r#"
function property(item, ...names) {
  let value = item;
  for (const name of names) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    value = isObject && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (value === undefined) throw new Error(`property ${JSON.stringify(names)} is absent`);
  if (typeof value === "object" && value !== null) {
    throw new Error(`property ${JSON.stringify(names)} is not a single value`);
  }
  return value;
}
"#;

const TEXT: &str = r#"
function text(item, ...names) {
  const value = property(item, ...names);
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "number" || typeof value === "bigint") {
    const plain = withoutExponent(String(value));
    if (plain.replace(/\D/g, "").length <= 150 && !/NaN|Infinity/.test(plain)) return plain;
  }
  throw new Error(`property ${JSON.stringify(names)} has no text of at most 150 digits: ${value}`);
}

// JavaScript writes 1e+21 and 1e-7 where a key has 1000000000000000000000 and 0.0000001.
function withoutExponent(number) {
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(number);
  if (!match) return number;
  const [, sign, whole, fraction = "", exponent] = match;
  const digits = whole + fraction;
  // Such a number is below 1e-6 or at least 1e21, so its 17 digits never reach the point.
  const zeros = Number(exponent) - fraction.length;
  return sign + (exponent < 0 ? "0." + "0".repeat(-exponent - 1) + digits : digits + "0".repeat(zeros));
}
"#;

const HASH: &str = r#"
function hash(text) {
  return createHash("md5").update(text, "utf8").digest().readBigUInt64BE(0);
}
"#;

const PRODUCT: &str = r#"
function product(text, modulus) {
  let product = text === "" ? 0 : 1;
  for (const character of text) product = (product * character.codePointAt(0)) % modulus;
  return product % modulus;
}
"#;
