//! The key function in C#. An item is a `JsonElement`, which keeps a number's own text; any object becomes
//! one through `JsonSerializer.SerializeToElement`.

use super::{Part, Template, Uses, assemble, header, lines, names, quoted, utf16_escape};

pub(super) fn emit(template: &Template) -> String {
    let uses = Uses::of(template);
    let text = |field: usize| format!("Text(item, {})", names(&template.fields()[field], literal));
    let (result, body) = match template.natural() {
        Some(path) => ("JsonElement", format!("        return Property(item, {});\n", names(path, literal))),
        None => {
            let parts = lines(template, "            ", |part| match part {
                Part::Literal(text) => literal(text),
                Part::Field(field) => text(*field),
                Part::Random(range) => {
                    format!("({}L + Random.Shared.NextInt64({}L)).ToString()", range.first(), range.width())
                }
                Part::Hash { field, range } => {
                    format!("({}UL + Hash({}) % {}UL).ToString()", range.first(), text(*field), range.width())
                }
                Part::Product { field, range } => {
                    format!("({}L + Product({}, {}L)).ToString()", range.first(), text(*field), range.width())
                }
            });
            (
                "string",
                format!("        return string.Concat(new string[]\n        {{\n{parts},\n        }});\n"),
            )
        }
    };
    assemble(&[
        (true, &header("//", template, ".NET 6 or newer, standard library only.", literal)),
        (true, "using System;\n"),
        (uses.hash, "using System.Buffers.Binary;\nusing System.Security.Cryptography;\n"),
        (uses.hash || uses.product, "using System.Text;\n"),
        (true, "using System.Text.Json;\n"),
        (uses.text, "using System.Text.RegularExpressions;\n"),
        (true, "\npublic static class SyntheticKey\n{\n"),
        (
            true,
            "    /// <summary>The partition key; ArgumentException when a property is unusable.</summary>\n",
        ),
        (true, &format!("    public static {result} PartitionKey(JsonElement item)\n    {{\n")),
        (true, &body),
        (true, "    }\n"),
        (uses.property, PROPERTY),
        (uses.text, TEXT),
        (uses.hash, HASH),
        (uses.product, PRODUCT),
        (true, "}\n"),
    ])
}

fn literal(text: &str) -> String {
    quoted(text, utf16_escape)
}

const PROPERTY: &str = r#"
    private static JsonElement Property(JsonElement item, params string[] names)
    {
        JsonElement value = item;
        foreach (string name in names)
        {
            if (value.ValueKind != JsonValueKind.Object || !value.TryGetProperty(name, out JsonElement found))
                throw new ArgumentException($"property {string.Join(".", names)} is absent");
            value = found;
        }
        if (value.ValueKind == JsonValueKind.Object || value.ValueKind == JsonValueKind.Array)
            throw new ArgumentException($"property {string.Join(".", names)} is not a single value");
        return value;
    }
"#;

const TEXT: &str = r#"
    private static string Text(JsonElement item, params string[] names)
    {
        JsonElement value = Property(item, names);
        switch (value.ValueKind)
        {
            case JsonValueKind.String: return value.GetString()!;
            case JsonValueKind.True: return "true";
            case JsonValueKind.False: return "false";
            case JsonValueKind.Number: return Number(value.GetRawText());
            default: throw new ArgumentException($"property {string.Join(".", names)} is null");
        }
    }

    // Plain decimal, with neither an exponent nor zeros at the end of a fraction.
    private static string Number(string raw)
    {
        Match match = Regex.Match(raw, @"^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$");
        string all = match.Groups[2].Value + match.Groups[3].Value;
        string digits = all.TrimStart('0');
        int leading = all.Length - digits.Length;
        digits = digits.TrimEnd('0');
        if (digits == "") return "0";
        int exponent = 0;
        bool fits = !match.Groups[4].Success || int.TryParse(match.Groups[4].Value, out exponent);
        long point = (long)match.Groups[2].Length - leading + exponent;
        long count = point <= 0 ? 1 - point + digits.Length : Math.Max(point, digits.Length);
        if (!fits || count > 150) throw new ArgumentException($"a number with more than 150 digits: {raw}");
        string plain = point <= 0 ? "0." + new string('0', (int)-point) + digits
            : point >= digits.Length ? digits.PadRight((int)point, '0')
            : digits.Insert((int)point, ".");
        return match.Groups[1].Value + plain;
    }
"#;

const HASH: &str = r#"
    private static ulong Hash(string text)
    {
        return BinaryPrimitives.ReadUInt64BigEndian(MD5.HashData(Encoding.UTF8.GetBytes(text)));
    }
"#;

const PRODUCT: &str = r#"
    private static long Product(string text, long modulus)
    {
        long product = text == "" ? 0 : 1;
        foreach (Rune rune in text.EnumerateRunes()) product = product * rune.Value % modulus;
        return product % modulus;
    }
"#;
