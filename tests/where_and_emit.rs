//! Promise: `where` places a key as Azure does, and `emit` prints a function that computes a template's keys.

#![cfg(feature = "cli")]

mod support;

use hotplate::key::{KeyValue, Language, Template};
use hotplate::rng::Seed;
use serde_json::{Value, json};
use std::process::Command;
use support::{Folder, printed};

fn vectors() -> Value {
    serde_json::from_str(include_str!("data/cosmos-epk.json")).unwrap()
}

/// What the SDKs agree on for this version of the hash: the key as `where` takes it, and the token.
fn agreed(vectors: &Value, version: u64) -> Vec<(String, &str)> {
    let rows = vectors["vectors"].as_array().unwrap().iter();
    rows.filter(|row| row["trust"] == "all-agree" && row["version"] == version)
        .map(|row| {
            let values = row["values"].as_array().unwrap().iter().map(|value| match value {
                Value::Object(o) if o.contains_key("$undefined") => json!({}),
                Value::Object(o) => json!(o["$number"].as_str().unwrap().parse::<f64>().unwrap()),
                plain => plain.clone(),
            });
            (Value::Array(values.collect()).to_string(), row["epk"].as_str().unwrap())
        })
        .collect()
}

fn places(arguments: &[&str]) -> Vec<Value> {
    let text = printed(Folder::new().run(&[&["where", "--json"], arguments].concat()));
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn refused(arguments: &[&str], expected: &str) {
    let output = Folder::new().run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{arguments:?}");
    assert!(message.starts_with("error: ") && message.contains(expected), "{arguments:?}: {message}");
}

#[test]
fn tokens_are_those_of_the_azure_sdks() {
    let vectors = vectors();
    let mut total = 0;
    for version in [1, 2] {
        let keys = agreed(&vectors, version);
        total += keys.len();
        let version = version.to_string();
        let mut arguments = vec!["--hash", &version, "--"];
        arguments.extend(keys.iter().map(|(key, _)| key.as_str()));
        for ((key, token), place) in keys.iter().zip(places(&arguments)) {
            assert_eq!(place["key"], **key);
            assert_eq!(place["token"], **token, "{key}");
        }
    }
    assert_eq!(total, 177);
}

#[test]
fn ranges_and_partitions_are_those_of_a_new_container() {
    let vectors = vectors();
    for layout in vectors["layouts"].as_array().unwrap() {
        let count = layout["n"].to_string();
        for (version, name) in [(1, "v1"), (2, "v2")] {
            let keys = agreed(&vectors, version);
            let version = version.to_string();
            let mut arguments = vec!["--partitions", &count, "--hash", &version, "--"];
            arguments.extend(keys.iter().map(|(key, _)| key.as_str()));
            let bounds: Vec<&str> =
                layout[name].as_array().unwrap().iter().map(|bound| bound.as_str().unwrap()).collect();
            for ((_, token), place) in keys.iter().zip(places(&arguments)) {
                let at = bounds.partition_point(|bound| bound <= token) - 1;
                let found = (&place["partition"], &place["from"], &place["to"]);
                assert_eq!(found, (&json!(at), &json!(bounds[at]), &json!(bounds[at + 1])), "{place}");
            }
        }
    }
}

#[test]
fn text_and_its_one_level_array_are_one_key_and_lookalikes_are_others() {
    let token = |key: &str| places(&["--", key])[0]["token"].as_str().unwrap().to_owned();
    assert_eq!(token("tenant-1"), token("[\"tenant-1\"]"));
    assert_eq!(token(""), token("[\"\"]"));
    assert_eq!(token("-5"), token("[\"-5\"]"));
    let lookalikes = ["", "[null]", "[{}]", "1", "[1]", "true", "[true]", "null", "[-0.0]", "[0]"].map(token);
    for (i, a) in lookalikes.iter().enumerate() {
        assert!(!lookalikes[i + 1..].contains(a), "{i}");
    }
}

#[test]
fn a_table_shows_a_key_a_line() {
    let keys = ["tenant1", "[\"tenant1\",\"user1\"]", "\u{1b}[31m"];
    let text = printed(Folder::new().run(&[&["where", "--partitions", "2"][..], &keys].concat()));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(
        lines[0].split("  ").map(str::trim).filter(|head| !head.is_empty()).collect::<Vec<_>>(),
        ["key", "token", "partition", "range, end exclusive"]
    );
    let token = "0DAE0B8467B011E957BC0B8B0DEB5ACA236A5BE3329A7AD57D4B998E8602BD7B";
    let cells: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(cells, [keys[1], token, "0", "\"\"..20000000000000000000000000000000"]);
    assert!(lines[3].starts_with("?[31m "), "{text}");
}

#[test]
fn dynamodb_places_by_a_seeded_stand_in() {
    let place = |further: &[&str]| {
        let arguments = [&["--profile", "dynamodb", "--partitions", "10", "tenant-1"], further].concat();
        places(&arguments).remove(0)
    };
    let first = place(&[]);
    assert_eq!(first, place(&["--seed", "0"]));
    assert_ne!(first["token"], place(&["--seed", "1"])["token"]);
    let [token, from, to] = ["token", "from", "to"].map(|name| first[name].as_str().unwrap());
    assert!(token.len() == 32 && from <= token && token < to, "{first}");
    // The keys of a table are spread over all of it.
    let keys: Vec<String> = (0..200).map(|i| format!("tenant-{i}")).collect();
    let mut arguments = vec!["--profile", "dynamodb-on-demand", "--partitions", "4"];
    arguments.extend(keys.iter().map(String::as_str));
    let mut keys_of = [0; 4];
    for place in places(&arguments) {
        keys_of[place["partition"].as_u64().unwrap() as usize] += 1;
    }
    assert!(keys_of.iter().all(|&keys| keys > 20), "{keys_of:?}");
}

#[test]
fn what_cannot_be_placed_is_refused() {
    for (arguments, expected) in [
        (&["where"][..], "<KEY>"),
        (&["where", "x", "--profile", "nosuch"], "dynamodb, dynamodb-on-demand or cosmos"),
        (&["where", "x", "--partitions", "0"], "--partitions: 1 to 10000, not 0"),
        (&["where", "x", "--partitions", "10001"], "--partitions: 1 to 10000"),
        (&["where", "x", "--partitions", "-1"], "--partitions"),
        (&["where", "x", "--partitions", "1000000000000000"], "--partitions"),
        (&["where", "x", "--hash", "3"], "--hash is 1 or 2, not 3"),
        (&["where", "x", "--hash", "2", "--profile", "dynamodb"], "--hash goes with --profile cosmos only"),
        (&["where", "x", "--seed", "1"], "--seed does not go with --profile cosmos"),
        (&["where", "[1"], "JSON array"),
        (&["where", "[\u{1b}]"], "JSON array"),
        (&["where", "[]"], "one to three levels"),
        (&["where", "[1,2,3,4]"], "one to three levels"),
        (&["where", "[[1]]"], "a level is a string, number, boolean, null"),
        (&["where", "[{\"a\":1}]"], "a level is a string"),
        (&["where", "[1e999]"], "out of range"),
        (&["where", "[NaN]"], "JSON array"),
        (&["where", "[\"a\",\"b\"]", "--hash", "1"], "version 2 only"),
        (&["where", "[\"a\",\"b\"]", "--profile", "dynamodb"], "no hierarchical keys"),
        (&["where", "[null]", "--profile", "dynamodb"], "a string, a number or binary"),
        (&["where", "", "--profile", "dynamodb"], "refuses empty key values"),
        // One bad key among good ones: nothing is printed.
        (&["where", "x", "[]", "y"], "key \"[]\""),
    ] {
        refused(arguments, expected);
    }
}

const TEMPLATE: &str = "{date}.{hash(tailnum, 1..200)}-{product(tailnum, 1..199)}";

#[test]
fn every_language_gets_a_function_under_a_header() {
    for language in Language::ALL {
        let text = printed(Folder::new().run(&["emit", "--key", TEMPLATE, "--lang", &language.to_string()]));
        let header: Vec<&str> = text.lines().take(4).collect();
        assert!(header[0].contains("hotplate emit"), "{text}");
        assert!(header[3].ends_with(TEMPLATE), "{text}");
        assert!(["partition_key", "partitionKey", "PartitionKey"].iter().any(|name| text.contains(name)));
        assert!(text.ends_with('\n') && text.is_ascii(), "{text}");
    }
}

/// A template is no way to smuggle code past its reader.
#[test]
fn a_template_cannot_leave_its_comment() {
    let template = "x\nimport os\r*/\u{2028}\u{202e}'\"\"\"{a}";
    for language in Language::ALL {
        let text = printed(Folder::new().run(&["emit", "--key", template, "--lang", &language.to_string()]));
        assert!(text.is_ascii() && !text.contains("\nimport os"), "{text}");
    }
}

#[test]
fn the_python_function_computes_the_key() {
    let folder = Folder::new();
    let source = printed(folder.run(&["emit", "--key", TEMPLATE, "--lang", "python"]));
    let folder = folder.with("design.py", source);
    let output = Command::new("python3")
        .current_dir(folder.path())
        .args([
            "-B",
            "-c",
            "import design; print(design.partition_key({'date': '2013-11-27', 'tailnum': 'N14228'}))",
        ])
        .output()
        .expect("python3 must be installed");
    let flight = json!({"date": "2013-11-27", "tailnum": "N14228"});
    let KeyValue::String(key) = Template::parse(TEMPLATE).unwrap().key(&flight, Seed(0), 0).unwrap() else {
        panic!("a template of several parts makes text");
    };
    assert_eq!(printed(output).trim_end(), key);
}

#[test]
fn what_cannot_be_emitted_is_refused() {
    let languages = "python, javascript, java, csharp, rust";
    for (arguments, expected) in [
        (&["emit", "--key", "{a}", "--lang", "cobol"][..], languages),
        (&["emit", "--key", "{a}", "--lang", ""], languages),
        (&["emit", "--key", "{a}", "--lang", "Python"], languages),
        (&["emit", "--key", "{a", "--lang", "python"], "  {a\n  ^\n"),
        (&["emit", "--key", "{a}.{random(9..1)}", "--lang", "rust"], "an empty range 9..1"),
        (&["emit", "--key", "{a}"], "--lang"),
        (&["emit", "--lang", "python"], "--key"),
    ] {
        refused(arguments, expected);
    }
}
