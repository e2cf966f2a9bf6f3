//! Promise: `compare --gsi` shows the index that refuses a table's writes, by its own limits, and which key is to blame.

#![cfg(feature = "cli")]

mod support;

use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use support::{Folder, printed};

const ROWS: u64 = 30_000;

/// Orders of which four in five are ACTIVE and the others are spread over 40 states; one in ten has a note.
fn orders() -> Folder {
    let mut rows = String::from("id,status,note,day\n");
    for i in 0..ROWS {
        let status = if i % 5 > 0 { "ACTIVE".to_owned() } else { format!("S{}", i / 5 % 40) };
        let note = if i % 10 == 0 { format!("n{i}") } else { String::new() };
        let _ = writeln!(rows, "o{i},{status},{note},d{}", i % 3);
    }
    Folder::new().with("orders.csv", rows)
}

const BASE: [&str; 8] = ["compare", "orders.csv", "--key", "{id}", "--partitions", "10", "--layouts", "5"];

fn report(further: &[&str]) -> Value {
    let arguments = [&BASE[..], &["--json"], further].concat();
    serde_json::from_str(&printed(orders().run(&arguments))).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn throttles(index: &Value) -> [u64; 2] {
    [0, 1].map(|reason| index["throttles"][reason]["attempts"].as_u64().unwrap())
}

/// 3,000 writes/s, spread in the table; 2,400 of them ask one partition of the index, which serves 1,000.
#[test]
fn a_hot_index_key_refuses_what_the_table_would_take() {
    let rate = ["--rate", "3000", "--find-max"];
    let alone = report(&rate);
    let design = &alone["designs"][0];
    assert_eq!(
        (number(&design["throttled_share"]), design["indexes"].as_array().map(Vec::len)),
        (0.0, Some(0))
    );
    assert_eq!(design["hottest_resource"]["kind"], "table");

    let report_with = report(&[&rate[..], &["--gsi", "by-status={status}"]].concat());
    let design = &report_with["designs"][0];
    let index = &design["indexes"][0];
    assert_eq!((index["hottest_key"].as_str(), number(&index["hottest_key_share"])), (Some("ACTIVE"), 0.8));
    assert_eq!((number(&index["entries_share"]), index["distinct_keys"].as_u64()), (1.0, Some(41)));
    // 1,000 of ACTIVE and the 600 others, less those that share its partition; half a second's credit at the start.
    let served = number(&design["served_per_s"]);
    assert!((1_500.0..=1_700.0).contains(&served), "{served}");
    let [key_range, throughput] = throttles(index);
    assert!(key_range > ROWS / 3 && throughput == 0, "{index}");
    assert_eq!(index["throttles"][0]["reason"], "IndexWriteKeyRangeThroughputExceeded");
    let refused = number(&design["throttled_share"]) * ROWS as f64;
    assert!((refused - key_range as f64).abs() < 1.0, "the table refused nothing itself");
    // What it holds: the mix kept, 1,000 ÷ 0.8.
    assert!((1_150.0..=1_260.0).contains(&number(&design["max_rate_per_s"])));
    assert_eq!(number(&design["ceiling_per_s"]), 1_250.0);
    assert_eq!(
        (&design["hottest_resource"]["kind"], &design["hottest_resource"]["name"]),
        (&"index".into(), &"by-status".into())
    );
    let verdict = design["verdict"].as_str().unwrap();
    for part in [
        "The index by-status is the bottleneck: key ACTIVE has 80.0%",
        "Another base key does not help",
        "KeyRange",
    ] {
        assert!(verdict.contains(part), "{part}: {verdict}");
    }

    // Workers wait for their answers, so the mix is kept.
    let closed = report(&["--workers", "50", "--retries", "1000", "--gsi", "by-status={status}"]);
    let served = number(&closed["designs"][0]["served_per_s"]);
    assert!((1_180.0..=1_280.0).contains(&served), "{served}");
    assert_eq!(closed["designs"][0]["gave_up_share"], 0.0);

    let windows = report(&["--rate", "3000", "--window", "day", "--gsi", "by-status={status}"]);
    let design = &windows["designs"][0];
    assert!((1_500.0..=1_620.0).contains(&number(&design["served_per_s"])), "{}", design["served_per_s"]);
    assert!(number(&design["windows"]["worst"]) < 1_620.0);
}

#[test]
fn an_index_has_throughput_partitions_and_entries_of_its_own() {
    // Notes are rare and all different: three hundred entries/s pass 100 WCU by nothing but the throughput.
    let small = report(&["--rate", "3000", "--gsi", "notes={note};wcu=100;size=200B;partitions=2"]);
    let design = &small["designs"][0];
    let index = &design["indexes"][0];
    assert_eq!((number(&index["entries_share"]), index["partition_count"].as_u64()), (0.1, Some(2)));
    let [key_range, throughput] = throttles(index);
    assert!(key_range == 0 && (1_800..=2_100).contains(&throughput), "{index}");
    // Writes without an entry pass.
    assert!((0.06..0.07).contains(&number(&design["throttled_share"])));
    let verdict = design["verdict"].as_str().unwrap();
    assert!(verdict.contains("pays for 100 entries/s and is asked for 300"), "{verdict}");
    assert!(verdict.contains("IndexWriteProvisionedThroughputExceeded"), "{verdict}");

    // A large entry costs as many units as it has KB.
    let large = report(&["--rate", "3000", "--gsi", "notes={note};size=5KB;wcu=1000"]);
    assert_eq!(number(&large["designs"][0]["indexes"][0]["units_per_entry"]), 5.0);
    assert!(throttles(&large["designs"][0]["indexes"][0])[1] > 500);

    // Room everywhere: nothing is refused, and nothing of the table changes.
    let roomy = report(&["--rate", "3000", "--gsi", "by-id={id}", "--gsi", "notes={note}"]);
    let alone = report(&["--rate", "3000"]);
    let figure = |report: &Value, name: &str| report["designs"][0][name].clone();
    for name in ["served_per_s", "throttled_share", "partitions", "top_keys", "ceiling_per_s"] {
        assert_eq!(figure(&roomy, name), figure(&alone, name), "{name}");
    }
    assert_eq!(figure(&roomy, "indexes").as_array().unwrap().len(), 2);
}

#[test]
fn the_table_names_what_is_full_first_and_the_same_seed_gives_the_same_bytes() {
    let folder = orders();
    let further =
        ["--rate", "3000", "--gsi", "by-status={status}", "--html", "page.html", "--order", "shuffled"];
    let arguments = [&BASE[..], &further].concat();
    let run =
        || (printed(folder.run(&arguments)), fs::read_to_string(folder.path().join("page.html")).unwrap());
    let (text, page) = run();
    assert_eq!((text.clone(), page.clone()), run());
    assert!(text.contains("full first") && text.contains("by-status: 80.0% ACTIVE"), "{text}");
    assert!(text.contains("index by-status {status}: 10 partitions of 1,000 WCU/s"), "{text}");
    assert!(page.contains("Index by-status"));
}

#[test]
fn an_index_that_cannot_be_is_refused_by_flag_and_name() {
    let many: Vec<String> = (0..21).flat_map(|i| ["--gsi".to_owned(), format!("i{i}={{status}}")]).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases: &[(&[&str], &str)] = &[
        (&["--gsi", "by-status"], "has no ="),
        (&["--gsi", "={status}"], "has a bad name"),
        (&["--gsi", "a b={status}"], "has a bad name"),
        (&["--gsi", "x={status"], "--gsi x: "),
        (&["--gsi", "x="], "--gsi x: nothing"),
        (&["--gsi", "x=status"], "has a key without a property"),
        (&["--gsi", "x={nosuch}"], "--gsi x: "),
        (&["--gsi", "x={status};fast"], "has an option without ="),
        (&["--gsi", "x={status};fast=1"], "unknown option \"fast\"; there are size, partitions and wcu"),
        (&["--gsi", "x={status};wcu=many"], "has wcu=\"many\", which is no whole number"),
        (&["--gsi", "x={status};wcu=0"], "--gsi x: wcu: "),
        (&["--gsi", "x={status};partitions=0"], "--gsi x: partitions: "),
        (&["--gsi", "x={status};partitions=9999999"], "--gsi x: partitions: "),
        (&["--gsi", "x={status};wcu=5;wcu=6"], "has wcu twice"),
        (&["--gsi", "x={status};size=big"], "--gsi x: \"big\" is not a size"),
        (&["--gsi", "x={status};size=500KB"], "--gsi x: "),
        (&["--gsi", "x={status}", "--gsi", "x={id}"], "--gsi: x is given twice"),
        (&["--gsi", "x={status};wcu=5", "--profile", "dynamodb-on-demand"], "on-demand"),
        (&["--gsi", "x={status}", "--profile", "cosmos"], "--gsi does not go with --profile cosmos"),
        (
            &["--gsi", "x={status}", "--rcu", "5", "--read", "id=o1", "--mix", "write=1,read=1"],
            "--mix does not go",
        ),
        (&["--gsi", "x={status}", "--sweep", "N=1"], "--gsi does not go with --sweep"),
        (&["--gsi", "x={empty}"], "--gsi x: not one of 2 rows has a key"),
        (&many, "--gsi: at most 20 indexes, not 21"),
    ];
    let folder = Folder::new().with("orders.csv", "id,status,empty\no1,A,\no2,B,\n");
    for (further, part) in cases {
        let base = ["compare", "orders.csv", "--key", "{id}", "--html", "page.html"];
        let output = folder.run(&[&base[..], further].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{further:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(part), "{further:?}: {stderr}");
        assert!(output.stdout.is_empty() && fs::read_dir(folder.path()).unwrap().count() == 1);
    }
}
