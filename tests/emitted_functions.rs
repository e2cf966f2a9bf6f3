//! Promise: the functions that `emit` writes compute the same keys as the templates they were written for.
//!
//! Python and JavaScript are run by `python3` and `node`, which must be installed; Rust is compiled by
//! `rustc`, which is there wherever this test is. Java is compiled and run where `javac` is installed. C# is
//! checked by reading alone.

use hotplate::key::{KeyValue, Language, Template, emit};
use hotplate::rng::{Rng, Seed};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NATURAL: &str = "{id}";
const TEMPLATES: [&str; 10] = [
    NATURAL,
    "{address.city}",
    "OPS_LOG",
    "{id}-{date}",
    "{date}.{hash(id, 1..200)}",
    "{date}.{product(id, 1..200)}",
    "{product(address.city, 0..198)}/{hash(address.city, 9007199254640992..9007199254740991)}",
    "{{{\"a \\\"b\\\\.c\"}}}|{hash(\"a \\\"b\\\\.c\", 0..999999)}|{product(\"a \\\"b\\\\.c\", 7..7)}",
    "coding: x\n${id}\\u0022 `\"'{id}é\u{202e}\u{2028}\u{7f}\0 #{{0}} %s */{date}",
    "{Vehicle-Identification-Number}{\"__proto__\"}",
];

fn texts() -> Vec<Value> {
    let texts = [
        "",
        "a",
        "2014-07-09",
        "héllo wörld",
        "日本語",
        "𝄞 clef",
        "e\u{301}",
        "\u{feff}",
        "\u{2028}",
        "\0\u{1}\u{7f}",
        "a\nb\tc",
        "\"q\\",
        "${x}",
        "{a}",
        "1.0",
        "null",
        "\u{10ffff}",
        "ORD-00012345",
    ];
    texts.iter().map(|text| json!(text)).collect()
}

fn numbers() -> Vec<Value> {
    let mut numbers: Vec<Value> = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        100.0,
        0.1,
        1e3,
        1e15,
        1e16,
        1e20,
        1e21,
        1.25e22,
        1e-6,
        1e-7,
        -1.5e-9,
        123_456.789,
        1e149,
        1.5e149,
        1e150,
        1e-149,
        1e-150,
        5e-324,
        f64::MAX,
        f64::EPSILON,
        9_007_199_254_740_993.0,
    ]
    .map(|n: f64| json!(n))
    .to_vec();
    // Integers as JSON integers; above 2⁵³ JavaScript has already rounded them when the function is called.
    numbers.extend([0_i64, -1, 7, 1_000, -1_000_000, (1 << 53) - 1, -(1 << 53) + 1].map(|n| json!(n)));
    let mut rng = Seed(11).rng();
    for _ in 0..150 {
        let float = f64::from_bits(rng.next_u64());
        let scaled = (rng.below(1 << 53) as f64) / 10_f64.powi(rng.below(40) as i32);
        numbers.extend([float, scaled].into_iter().filter(|n| n.is_finite()).map(|n| json!(n)));
    }
    numbers
}

fn random_text(rng: &mut Rng) -> Value {
    let length = rng.below(12);
    let chars = (0..length).map(|_| char::from_u32(rng.below(0x11_0000) as u32).unwrap_or('x'));
    json!(chars.collect::<String>())
}

/// Items of every shape, those without a key among them.
fn items() -> Vec<Value> {
    let mut values: Vec<Value> = texts();
    values.extend(numbers());
    values.extend([json!(true), json!(false), json!(null), json!([1]), json!({"a": 1})]);
    let mut rng = Seed(12).rng();
    values.extend((0..100).map(|_| random_text(&mut rng)));
    let mut items: Vec<Value> = values
        .into_iter()
        .map(|value| {
            let mut item = json!({"id": value, "date": "2018-08-09", "address": {"city": value}});
            item["address.city"] = json!("flat");
            for name in ["a \"b\\.c", "Vehicle-Identification-Number", "__proto__"] {
                item[name] = value.clone();
            }
            item
        })
        .collect();
    items.extend([
        json!({}),
        json!({"id": "x"}),
        json!({"id": 1, "address": "Main Street"}),
        json!({"address": [{"city": 1}]}),
    ]);
    items
}

/// What became of an item, so that a failure can be compared too.
#[derive(Debug, PartialEq)]
enum Outcome {
    Key(KeyValue),
    Refused,
}

fn ours(template: &Template, item: &Value) -> Outcome {
    match template.key(item, Seed(1), 0) {
        // An absent property is an error in every emitted function.
        Ok(KeyValue::Undefined) | Err(_) => Outcome::Refused,
        Ok(key) => Outcome::Key(key),
    }
}

/// A line that a harness printed: the key as JSON, or `refused`.
fn theirs(line: &str) -> Outcome {
    if line == "refused" {
        return Outcome::Refused;
    }
    // Numbers by the standard library, which rounds correctly.
    if let Ok(number) = line.parse::<f64>() {
        return Outcome::Key(KeyValue::Number(number));
    }
    Outcome::Key(match serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")) {
        Value::String(text) => KeyValue::String(text),
        Value::Bool(b) => KeyValue::Bool(b),
        Value::Null => KeyValue::Null,
        other => panic!("{other} is no key"),
    })
}

const PYTHON_HARNESS: &str = r#"
import json, sys
for line in sys.stdin.buffer:
    try:
        print(json.dumps(partition_key(json.loads(line))))
    except ValueError:
        print("refused")
"#;

const NODE_HARNESS: &str = r#"
for (const line of require("node:fs").readFileSync(0, "utf8").split("\n")) {
  if (line === "") continue;
  let key;
  try {
    key = JSON.stringify(partitionKey(JSON.parse(line)));
  } catch (error) {
    if (!error.message.startsWith("property ")) throw error;
    key = "refused";
  }
  console.log(key);
}
"#;

/// A directory for the files of one test.
fn scratch(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&path).unwrap();
    path
}

fn succeed(mut command: Command, what: &str) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("this test needs {what} on the PATH: {e}"));
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Runs the emitted function of `template` on `items` and gives the printed lines.
fn run(language: Language, template: &Template, items: &[Value], test: &str) -> Vec<String> {
    let (interpreter, extension, harness) = match language {
        Language::Python => ("python3", "py", PYTHON_HARNESS),
        Language::JavaScript => ("node", "cjs", NODE_HARNESS),
        other => panic!("{other} is not run here"),
    };
    let directory = scratch(test);
    let (program, input) = (directory.join(format!("key.{extension}")), directory.join("items.jsonl"));
    fs::write(&program, emit(template, language) + harness).unwrap();
    fs::write(&input, items.iter().map(|item| format!("{item}\n")).collect::<String>()).unwrap();
    let mut command = Command::new(interpreter);
    command.arg(&program).stdin(Stdio::from(fs::File::open(&input).unwrap()));
    let output = succeed(command, interpreter);
    let lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), items.len(), "one line per item");
    lines
}

fn assert_same_keys(language: Language, test: &str) {
    let items = items();
    let mut keys = 0;
    for text in TEMPLATES {
        let template = Template::parse(text).unwrap();
        for (item, line) in items.iter().zip(run(language, &template, &items, test)) {
            let expected = ours(&template, item);
            assert_eq!(theirs(&line), expected, "{language}, {text}, {item}");
            keys += usize::from(expected != Outcome::Refused);
        }
    }
    assert!(keys > 3_000, "most items have a key, {keys}");
}

#[test]
fn python_computes_the_same_keys() {
    assert_same_keys(Language::Python, "same-python");
}

#[test]
fn javascript_computes_the_same_keys() {
    assert_same_keys(Language::JavaScript, "same-javascript");
}

#[test]
fn python_keeps_all_digits_of_integers() {
    let template = Template::parse("#{id}").unwrap();
    let items = [json!({"id": u64::MAX}), json!({"id": i64::MIN}), json!({"id": (1_u64 << 53) + 1})];
    for (item, line) in items.iter().zip(run(Language::Python, &template, &items, "digits-python")) {
        assert_eq!(theirs(&line), ours(&template, item));
    }
}

fn assert_random_in_range(language: Language, test: &str) {
    let items: Vec<Value> = (0..2_000).map(|_| json!({"date": "2014-07-09"})).collect();
    let template = Template::parse("{date}.{random(11..20)}-{random(5..5)}").unwrap();
    let mut counts = [0; 10];
    for line in run(language, &template, &items, test) {
        let key: String = serde_json::from_str(&line).unwrap();
        let suffix = key.strip_prefix("2014-07-09.").and_then(|rest| rest.strip_suffix("-5")).unwrap();
        counts[suffix.parse::<usize>().unwrap() - 11] += 1;
    }
    // Mean 200, standard deviation 13: ten of those allow for unseeded luck.
    assert!(counts.iter().all(|n| (70..330).contains(n)), "{counts:?}");
}

#[test]
fn python_random_suffixes_are_in_range() {
    assert_random_in_range(Language::Python, "random-python");
}

#[test]
fn javascript_random_suffixes_are_in_range() {
    assert_random_in_range(Language::JavaScript, "random-javascript");
}

fn rustc(source: &Path, arguments: &[&str]) {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition", "2021", "-D", "warnings"]).args(arguments);
    command.arg(source).arg("--out-dir").arg(source.parent().unwrap());
    succeed(command, "rustc");
}

const MD5_IMPORT: &str = "use md5::{Digest, Md5};";
const MD5_STAND_IN: &str = "pub trait Digest { fn digest(bytes: &[u8]) -> [u8; 16]; }
pub struct Md5;
impl Digest for Md5 { fn digest(bytes: &[u8]) -> [u8; 16] { [bytes.len() as u8; 16] } }";

#[test]
fn rust_functions_compile_without_warnings() {
    let directory = scratch("rust-compiles");
    for (i, text) in TEMPLATES.iter().chain(&["{date}.{random(1..200)}", "{random(5..5)}"]).enumerate() {
        let template = Template::parse(text).unwrap();
        let source = emit(&template, Language::Rust);
        // A lone `rustc` has no crate for MD5, so a stand-in of the same shape is compiled along.
        assert_eq!(source.contains(MD5_IMPORT), text.contains("hash("), "{text}");
        let source = source.replace(MD5_IMPORT, MD5_STAND_IN);
        let file = directory.join(format!("key{i}.rs"));
        fs::write(&file, source).unwrap();
        rustc(&file, &["--crate-type", "lib", "--emit", "metadata"]);
    }
}

const RUST_HARNESS: &str = r#"
fn main() {
    let cases: Vec<(Value<'static>, Option<&str>)> = vec![
CASES    ];
    for (value, expected) in cases {
        let key = partition_key(|names| (names == ["id"]).then(|| value.clone()));
        assert_eq!(key.ok().as_deref(), expected, "{value:?}");
    }
}
"#;

/// A program with the emitted function and our keys in it, which compares them itself.
#[test]
fn rust_computes_the_same_keys() {
    let directory = scratch("rust-same");
    let template = Template::parse("{id}|{product(id, 1..200)}|\\\"é").unwrap();
    let mut cases = String::new();
    for item in items() {
        let value = match &item["id"] {
            Value::String(text) => format!("Value::Text({text:?})"),
            Value::Number(n) => format!("Value::Number({:?})", n.to_string()),
            Value::Bool(b) => format!("Value::Bool({b})"),
            _ => "Value::Null".to_owned(),
        };
        let expected = match ours(&template, &item) {
            Outcome::Key(key) => format!("Some({:?})", key.to_string()),
            Outcome::Refused => "None".to_owned(),
        };
        cases.push_str(&format!("    ({value}, {expected}),\n"));
    }
    let main = RUST_HARNESS.replace("CASES", &cases);
    let file = directory.join("same.rs");
    fs::write(&file, emit(&template, Language::Rust) + &main).unwrap();
    rustc(&file, &["--crate-type", "bin"]);
    succeed(Command::new(directory.join("same")), "the compiled function");
}

/// Reads the lines `kind, value, key` (each text in hexadecimal), and compares.
const JAVA_HARNESS: &str = r#"
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

final class Harness {
    static String text(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Paths.get(arguments[0]))) {
            String[] cells = line.split(",", -1);
            String value = text(cells[1]);
            Map<String, Object> item = new HashMap<>();
            item.put("id", cells[0].equals("text") ? value
                : cells[0].equals("number") ? new BigDecimal(value)
                : cells[0].equals("bool") ? Boolean.valueOf(value) : null);
            item.put("address", Collections.singletonMap("city", item.get("id")));
            String key;
            try {
                key = PartitionKey.partitionKey(item);
            } catch (IllegalArgumentException refused) {
                key = "refused";
            }
            if (!key.equals(text(cells[2]))) throw new AssertionError(line + ": " + key);
        }
    }
}
"#;

#[test]
fn java_computes_the_same_keys() {
    if Command::new("javac").arg("-version").output().is_err() {
        eprintln!("not run: there is no javac on the PATH");
        return;
    }
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for text in [
        "{id}|{product(address.city, 1..200)}|{hash(id, 9007199254640992..9007199254740991)}",
        "{address.city}\\u000a\n\0\u{7f}7\"é𝄞\u{2028}{{}}{hash(address.city, 0..999999)}",
    ] {
        let template = Template::parse(text).unwrap();
        let mut cases = String::new();
        for item in items().iter().filter(|item| item["id"] == item["address"]["city"]) {
            let (kind, value) = match &item["id"] {
                Value::String(text) => ("text", text.clone()),
                Value::Number(n) => ("number", n.to_string()),
                Value::Bool(b) => ("bool", b.to_string()),
                _ => ("null", String::new()),
            };
            let expected = match ours(&template, item) {
                Outcome::Key(key) => key.to_string(),
                Outcome::Refused => "refused".to_owned(),
            };
            cases.push_str(&format!("{kind},{},{}\n", hex(&value), hex(&expected)));
        }
        let directory = scratch("java-same");
        for (name, content) in [
            ("PartitionKey.java", emit(&template, Language::Java)),
            ("Harness.java", JAVA_HARNESS.to_owned()),
            ("cases.csv", cases),
        ] {
            fs::write(directory.join(name), content).unwrap();
        }
        let mut javac = Command::new("javac");
        javac.current_dir(&directory).args(["-Werror", "-Xlint:all", "PartitionKey.java", "Harness.java"]);
        succeed(javac, "javac");
        let mut java = Command::new("java");
        java.current_dir(&directory).args(["-ea", "-cp", ".", "Harness", "cases.csv"]);
        succeed(java, "java");
    }
}

#[test]
fn java_functions_compile_without_warnings() {
    if Command::new("javac").arg("-version").output().is_err() {
        eprintln!("not run: there is no javac on the PATH");
        return;
    }
    for text in ["OPS_LOG", "{id}", "{date}.{random(1..200)}", "{product(id, 1..199)}"] {
        let file = scratch("java-compiles").join("PartitionKey.java");
        fs::write(&file, emit(&Template::parse(text).unwrap(), Language::Java)).unwrap();
        let mut javac = Command::new("javac");
        javac.args(["-Werror", "-Xlint:all"]).arg(&file);
        succeed(javac, "javac");
    }
}
