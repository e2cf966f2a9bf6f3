//! The key function in Java. An item is a `Map` of strings, booleans, numbers and maps, as JSON libraries
//! make them.

use super::{Part, Template, Uses, assemble, header, lines, names, quoted, utf16_escape};

pub(super) fn emit(template: &Template) -> String {
    let uses = Uses::of(template);
    let text = |field: usize| format!("text(item, {})", names(&template.fields()[field], literal));
    let (result, body) = match template.natural() {
        Some(path) => ("Object", format!("        return property(item, {});\n", names(path, literal))),
        None => {
            let parts = lines(template, "            ", |part| match part {
                Part::Literal(text) => literal(text),
                Part::Field(field) => text(*field),
                Part::Random(range) => format!(
                    "String.valueOf({}L + ThreadLocalRandom.current().nextLong({}L))",
                    range.first(),
                    range.width()
                ),
                Part::Hash { field, range } => format!(
                    "String.valueOf({}L + Long.remainderUnsigned(hash({}), {}L))",
                    range.first(),
                    text(*field),
                    range.width()
                ),
                Part::Product { field, range } => {
                    format!(
                        "String.valueOf({}L + product({}, {}L))",
                        range.first(),
                        text(*field),
                        range.width()
                    )
                }
            });
            ("String", format!("        return String.join(\"\",\n{parts});\n"))
        }
    };
    assemble(&[
        (
            true,
            &header(
                "//",
                template,
                "Java 8 or newer (19 where a double is part of the key), standard library only.",
                literal,
            ),
        ),
        (uses.text, "import java.math.BigDecimal;\n"),
        (uses.hash, "import java.nio.ByteBuffer;\nimport java.nio.charset.StandardCharsets;\n"),
        (uses.hash, "import java.security.MessageDigest;\nimport java.security.NoSuchAlgorithmException;\n"),
        (true, "import java.util.Map;\n"),
        (uses.random, "import java.util.concurrent.ThreadLocalRandom;\n"),
        (true, "\npublic final class PartitionKey {\n    private PartitionKey() {}\n\n"),
        (true, "    /** The partition key; IllegalArgumentException when a property is unusable. */\n"),
        (true, &format!("    public static {result} partitionKey(Map<String, ?> item) {{\n")),
        (true, &body),
        (true, "    }\n"),
        (uses.property, PROPERTY),
        (uses.text, TEXT),
        (uses.hash, HASH),
        (uses.product, PRODUCT),
        (true, "}\n"),
    ])
}

/// Java reads `\u000a` as a line break before it looks for strings, so control characters are written in
/// octal.
fn literal(text: &str) -> String {
    quoted(text, |c| if c.is_ascii() { format!("\\{:03o}", u32::from(c)) } else { utf16_escape(c) })
}

const PROPERTY: &str = r#"
    private static Object property(Map<String, ?> item, String... names) {
        Object value = item;
        for (String name : names) {
            if (!(value instanceof Map) || !((Map<?, ?>) value).containsKey(name)) {
                throw new IllegalArgumentException("property " + String.join(".", names) + " is absent");
            }
            value = ((Map<?, ?>) value).get(name);
        }
        if (value instanceof Map || value instanceof Iterable || value instanceof Object[]) {
            throw new IllegalArgumentException("property " + String.join(".", names) + " is no single value");
        }
        return value;
    }
"#;

const TEXT: &str = r#"
    private static String text(Map<String, ?> item, String... names) {
        Object value = property(item, names);
        if (value instanceof String || value instanceof Boolean) {
            return value.toString();
        }
        if (!(value instanceof Number)) {
            throw new IllegalArgumentException("property " + String.join(".", names) + " has no text");
        }
        // Plain decimal, with neither an exponent nor zeros at the end of a fraction.
        BigDecimal number = new BigDecimal(value.toString()).stripTrailingZeros();
        long scale = number.scale();
        if (Math.max(number.precision() - scale, 1) + Math.max(scale, 0) > 150) {
            throw new IllegalArgumentException("property " + String.join(".", names) + " exceeds 150 digits");
        }
        return number.toPlainString();
    }
"#;

const HASH: &str = r#"
    private static long hash(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("MD5").digest(text.getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.wrap(digest).getLong();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
"#;

const PRODUCT: &str = r#"
    private static long product(String text, long modulus) {
        long product = text.isEmpty() ? 0 : 1;
        for (int codePoint : text.codePoints().toArray()) {
            product = product * codePoint % modulus;
        }
        return product % modulus;
    }
"#;
