//! Promise: `compare --sweep` finds where more suffixes stop paying on real flights, says what they cost to read, and
//! why a bad formula gains little.

#![cfg(feature = "cli")]

mod support;

use serde_json::Value;
use std::fs;
use support::{Folder, printed};

const FLIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/nyc-flights-2013.csv.gz");

const HASH: &str = "{date}.{hash(tailnum, 1..N)}";
const PRODUCT: &str = "{date}.{product(tailnum, 1..N)}";
const VALUES: &str = "N=1,20,200,400";

fn arguments<'a>(designs: &[&'a str], further: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["compare", FLIGHTS, "--partitions", "10", "--window", "date"];
    arguments.extend(designs.iter().flat_map(|design| ["--key", design]));
    arguments.extend(further);
    arguments
}

fn swept(designs: &[&str], further: &[&str]) -> Value {
    let further = [further, &["--json"]].concat();
    serde_json::from_str(&printed(Folder::new().run(&arguments(designs, &further)))).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_knee_is_named_beside_what_it_costs_and_a_bad_formula_beside_why() {
    let report = swept(&[HASH, PRODUCT, "{date}"], &["--sweep", VALUES, "--layouts", "8"]);
    let sweep = &report["sweep"];
    assert_eq!(
        (sweep["name"].as_str(), &sweep["values"]),
        (Some("N"), &serde_json::json!([1, 20, 200, 400]))
    );
    let [hash, product, plain] = [0, 1, 2].map(|design| &sweep["designs"][design]);
    assert_eq!((hash["template"].as_str(), hash["baseline"].as_bool()), (Some(HASH), Some(false)));

    // One key is one partition; from then on capacity grows, and so does what reading the day back costs.
    let points = hash["points"].as_array().unwrap();
    let rates: Vec<f64> = points.iter().map(|point| number(&point["max_rate"]["median"])).collect();
    let requests: Vec<u64> = points.iter().map(|p| p["read_key"]["requests"].as_u64().unwrap()).collect();
    assert!((980.0..=1_010.0).contains(&rates[0]) && rates.is_sorted(), "{rates:?}");
    // 1,014 flights of 1 KB are two pages.
    assert_eq!(requests, [2, 20, 200, 400]);
    assert!(points.iter().all(|point| point["read_key"]["items"] == 1_014));
    assert!(points.iter().skip(1).all(|point| point["read_item"]["requests"] == 1));
    for point in points {
        assert!((number(&point["gain"]) - number(&point["max_rate"]["median"]) / rates[0]).abs() < 1e-9);
        assert!(number(&point["max_rate"]["p5"]) <= number(&point["max_rate"]["median"]));
    }
    // The rule, applied again.
    let best = rates.iter().copied().fold(0.0, f64::max);
    let knee = rates.iter().position(|&rate| rate >= best * 0.9).unwrap();
    let n = &sweep["values"][knee];
    assert_eq!((n, &hash["knee"]["n"]), (&serde_json::json!(200), n));
    assert!(sweep["rule"].as_str().unwrap().contains("smallest N that reaches 90% of the best"));
    let verdict = hash["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("Knee at N = 200: ") && verdict.contains("200 requests to 10 part"),
        "{verdict}"
    );

    // The product of code points: 38.7 % of all flights get suffix 1 of 200.
    let points = product["points"].as_array().unwrap();
    let last = &points[3];
    assert!(number(&last["gain"]) < number(&hash["points"][3]["gain"]) / 2.0, "{last}");
    let at_200 = &points[2]["suffixes"];
    assert_eq!((at_200["top"].as_u64(), at_200["width"].as_u64()), (Some(1), Some(200)));
    assert!((0.38..0.39).contains(&number(&at_200["top_share"])) && at_200["used"].as_u64() < Some(100));
    let verdict = product["verdict"].as_str().unwrap();
    for part in ["get suffix 1", "no row at all", "use hash(tailnum, …) or a prime number", "holds 7,"] {
        assert!(verdict.contains(part), "{part}: {verdict}");
    }
    assert!(!hash["verdict"].as_str().unwrap().contains("heaps up"));

    assert_eq!((plain["baseline"].as_bool(), &plain["points"][0]["n"]), (Some(true), &Value::Null));
    assert_eq!(plain["points"].as_array().unwrap().len(), 1);
    assert_eq!(plain["knee"], Value::Null);
}

/// Two sweeps with nothing to find: one that stops too early, one of a suffix that is always the same.
#[test]
fn without_a_knee_the_verdict_says_which_way() {
    let report = swept(&[HASH, "{date}.{hash(date, 1..N)}"], &["--sweep", "N=32,1,4", "--layouts", "4"]);
    let designs = &report["sweep"]["designs"];
    assert_eq!(report["sweep"]["values"], serde_json::json!([1, 4, 32]), "values ascend");
    for (design, start) in [(0, "No knee yet: from N = 4 to 32 "), (1, "No knee: the suffix does not help.")]
    {
        let verdict = designs[design]["verdict"].as_str().unwrap();
        assert!(verdict.starts_with(start), "{verdict}");
        assert_eq!(designs[design]["knee"], Value::Null);
    }
    let verdict = designs[1]["verdict"].as_str().unwrap();
    assert!(!verdict.contains("heaps up"), "the key is what is hot, not the formula: {verdict}");
    let designs = ["{date}.{hash(tailnum, 1..3)}", "{date}.{random(1..M)}"];
    let alone = swept(&designs, &["--sweep", "M=5", "--layouts", "1"]);
    assert!(alone["sweep"]["designs"][0]["baseline"] == true);
    let random = &alone["sweep"]["designs"][1];
    assert!(random["verdict"].as_str().unwrap().contains("one value has no knee"), "{random}");
    // A random suffix leaves no way but to ask each.
    assert_eq!(random["points"][0]["read_item"]["requests"], 5);
}

#[test]
fn the_read_may_be_named_and_the_profile_be_cosmos() {
    let read = ["--sweep", "N=1,50", "--layouts", "2", "--read", "date=2013-01-01"];
    let report = swept(&[HASH], &read);
    let design = &report["sweep"]["designs"][0];
    assert_eq!(design["logical_key"], "date=2013-01-01");
    assert_eq!(design["points"][1]["read_key"]["items"], 842);
    assert!(design["item"].as_str().unwrap().starts_with("date=2013-01-01,tailnum=N14228"), "{design}");

    let arguments = ["compare", FLIGHTS, "--profile", "cosmos", "--ru", "80000", "--json", "--key", HASH];
    let sweep = ["--sweep", "N=1,4", "--sort", "scheduled"];
    let report: Value =
        serde_json::from_str(&printed(Folder::new().run(&[&arguments[..], &sweep].concat()))).unwrap();
    let point = &report["sweep"]["designs"][0]["points"][1];
    assert_eq!((report["read_unit"].as_str(), report["layouts"].as_u64()), (Some("RU"), Some(1)));
    // With the sort key known, one item is a point read.
    assert_eq!(
        (point["read_item"]["plan"].as_str(), number(&point["read_item"]["units"])),
        (Some("get"), 1.0)
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_page_needs_nothing_else() {
    let folder = Folder::new();
    let further = ["--sweep", "N=1,20,190,200", "--layouts", "3", "--html", "page.html", "--seed", "7"];
    let run = || {
        let text = printed(folder.run(&arguments(&[HASH, PRODUCT, "{origin}"], &further)));
        (text, fs::read_to_string(folder.path().join("page.html")).unwrap())
    };
    let (text, page) = run();
    assert_eq!((text.clone(), page.clone()), run());
    assert!(text.contains("  knee\n") && text.contains("Knee at N = 190"), "{text}");
    assert_eq!(text.matches("the knee is the smallest N").count(), 1);

    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for outside in ["http://", "https://", "src=", "@import", "<link", "<script", "url(", "href="] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<polyline class=\"line\"").count(), 2, "a line for each design");
    assert_eq!(page.matches("<polyline class=\"read\"").count(), 2);
    assert!(page.contains("N = 190</text>") && page.contains("<circle class=\"knee\" cx=\""));
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    assert!(page.contains("{date}.{hash(tailnum, 1..N)}</code>"));
}

#[test]
fn a_sweep_that_cannot_be_is_refused_by_flag_and_value() {
    let many: Vec<String> = (1..=65).map(|n| n.to_string()).collect();
    let many = format!("N={}", many.join(","));
    let wide: Vec<String> = (1..=64).map(|n| n.to_string()).collect();
    let wide = format!("N={}", wide.join(","));
    let cases: &[(&str, &[&str], &str)] = &[
        ("N", &[], "\"N\" has no ="),
        ("", &[], "has no ="),
        ("N=", &[], "N has no values"),
        ("N= ", &[], "N has no values"),
        ("N=1,,2", &[], "N=\"\" is not a whole number"),
        ("N=1,ten", &[], "N=\"ten\" is not a whole number"),
        ("N=+1", &[], "N=\"+1\" is not a whole number"),
        ("N=1.5", &[], "N=\"1.5\" is not a whole number"),
        ("N=0", &[], "N=0: a value is 1 to 1000000"),
        ("N=1000001", &[], "N=1000001: a value is 1 to 1000000"),
        ("N=99999999999999999999999", &[], "a value is 1 to 1000000"),
        ("N=5,1,5", &[], "N=5 is given twice"),
        (&many, &[], "over 64 values"),
        ("1N=2", &[], "\"1N\" is no name"),
        ("=2", &[], "\"\" is no name"),
        ("a b=2", &[], "\"a b\" is no name"),
        ("n=2", &[], "no --key holds n as an end of a suffix range"),
        ("N=2", &["--key", "{date}.{hash(tailnum, 3..N)}"], "--sweep N=2: --key: an empty range 3..2"),
        ("N=2", &["--key", "{date}.{random(0..N)}{"], "--sweep N=2: --key: "),
        ("N=2", &["--key", HASH], "is given twice"),
        ("N=2", &["--workers", "5"], "--workers does not go with --sweep"),
        ("N=2", &["--retries", "5"], "--retries does not go with --sweep"),
        ("N=2", &["--find-max"], "--find-max does not go with --sweep"),
        ("N=2", &["--rate", "5"], "--rate does not go with --sweep"),
        ("N=2", &["--service-time", "7ms"], "--service-time does not go with --sweep"),
        ("N=2", &["--read", "date=1", "--read", "date=2"], "--read does not go with --sweep"),
        ("N=2", &["--read", "date=1", "--mix", "write=1,read=1"], "--mix does not go with --sweep"),
        ("N=2", &["--read", "date=1"], "--read: no row of the file has date=1"),
        ("N=2", &["--read", "nosuch=1"], "--read: "),
        ("N=2", &["--key", "{nosuch}.{random(1..N)}"], "nosuch"),
        ("N=2", &["--layouts", "0"], "layouts: 1 to 1000"),
    ];
    let folder = Folder::new().with("rows.csv", "date,tailnum\n2013-01-01,N1\n2013-01-02,N2\n");
    for (sweep, further, part) in cases {
        let base = ["compare", "rows.csv", "--html", "page.html", "--key", HASH, "--sweep", sweep];
        let output = folder.run(&[&base[..], further].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{sweep} {further:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(part), "{sweep} {further:?}: {stderr}");
        assert!(output.stdout.is_empty() && fs::read_dir(folder.path()).unwrap().count() == 1);
    }
    let nine: Vec<String> =
        (0..9).flat_map(|i| ["--key".to_owned(), format!("{i}{{hash(tailnum, 1..N)}}")]).collect();
    let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
    let output = folder.run(&[&["compare", "rows.csv", "--sweep", &wide][..], &nine].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && stderr.contains("at most 512 designs × values, not 576"),
        "{stderr}"
    );
}

/// Rows without a value, JSON with types, a suffix alone, a file of one row: nothing panics, reads find what is there.
#[test]
fn odd_files_are_swept_too() {
    let rows = "{\"a\":1,\"b\":\"x\"}\n{\"a\":1,\"b\":null}\n{\"a\":\"1\"}\n{\"a\":1,\"b\":\"\"}\n{\"a\":1,\"b\":2.0}\n";
    let folder = Folder::new().with("rows.jsonl", rows);
    let designs = ["--key", "{a}-{hash(b, 1..N)}", "--key", "{product(b, 1..N)}", "--key", "{a}"];
    let base = ["compare", "rows.jsonl", "--json", "--layouts", "2", "--sweep", "N=1,3"];
    let report: Value = serde_json::from_str(&printed(folder.run(&[&base[..], &designs].concat()))).unwrap();
    let [hash, product, plain] = [0, 1, 2].map(|design| &report["sweep"]["designs"][design]);
    assert_eq!(
        (hash["logical_key"].as_str(), hash["points"][0]["read_key"]["items"].as_u64()),
        (Some("a=1"), Some(3))
    );
    assert_eq!(product["logical_key"], "every item");
    assert_eq!(product["points"][1]["read_key"]["items"], 3);
    // The number and the text are two keys where the key is the value alone.
    assert_eq!(plain["points"][0]["read_key"]["items"], 4);
    let rows_skipped = report["warnings"].as_array().unwrap();
    let of_hash = rows_skipped.iter().filter(|w| w.as_str().unwrap().starts_with("{a}-{hash(b")).count();
    assert_eq!(of_hash, 1, "{rows_skipped:?}");
}
