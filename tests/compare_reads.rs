//! `compare --read` on real flights: what one flight and one day cost to read under each design.
#![cfg(feature = "cli")]

use serde_json::Value;
use std::process::Command;

const FLIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/nyc-flights-2013.csv.gz");

fn compare(extra: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_hotplate"))
        .args(["compare", FLIGHTS, "--json", "--layouts", "2", "--partitions", "10", "--rate", "9000"])
        .args(extra)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read(report: &Value, design: usize, number: usize) -> &Value {
    &report["designs"][design]["reads"][number]
}

/// A hash and a random suffix differ in what one flight costs, and nowhere else.
#[test]
fn one_flight_is_one_request_with_a_hash_and_two_hundred_with_a_random_suffix() {
    let report = compare(&[
        "--key",
        "{date}.{hash(tailnum, 1..200)}",
        "--key",
        "{date}.{random(1..200)}",
        "--key",
        "{date}",
        "--key",
        "{origin}",
        "--read",
        "date=2013-01-01",
        "--read",
        "date=2013-01-01,tailnum=N14228",
    ]);
    let [hash, random, natural, other] = [0, 1, 2, 3];
    for design in [hash, random] {
        let day = read(&report, design, 0);
        assert_eq!((day["plan"].as_str(), day["requests"].as_u64()), (Some("fan-out"), Some(200)));
        assert_eq!((day["items"].as_u64(), day["partitions"].as_u64()), (Some(842), Some(10)));
    }
    let one = read(&report, hash, 1);
    assert_eq!((one["plan"].as_str(), one["requests"].as_u64()), (Some("query"), Some(1)));
    assert_eq!((one["items"].as_u64(), one["partitions"].as_u64()), (Some(1), Some(1)));
    let one = read(&report, random, 1);
    assert_eq!(
        (one["plan"].as_str(), one["requests"].as_u64(), one["items"].as_u64()),
        (Some("fan-out"), Some(200), Some(1))
    );
    // 842 items of 1 KB are one page of 1 MB: ⌈842 KB ÷ 4 KB⌉ ÷ 2.
    let day = read(&report, natural, 0);
    assert_eq!(
        (day["plan"].as_str(), day["requests"].as_u64(), day["units"].as_f64()),
        (Some("query"), Some(1), Some(105.5))
    );
    // The whole table, 336,776 KB, by 4 KB, halved; a little more for pages that end early.
    let scan = read(&report, other, 0);
    let units = scan["units"].as_f64().unwrap();
    assert_eq!((scan["plan"].as_str(), scan["items"].as_u64()), (Some("scan"), Some(842)));
    assert!((42_097.0..42_400.0).contains(&units), "{units}");
}

#[test]
fn with_the_sort_key_one_item_is_a_get() {
    let report = compare(&[
        "--key",
        "{origin}.{hash(tailnum, 1..200)}",
        "--sort",
        "scheduled",
        "--read",
        "origin=EWR,tailnum=N14228,scheduled=2013-01-01T05:15",
    ]);
    let get = read(&report, 0, 0);
    assert_eq!(
        (get["plan"].as_str(), get["requests"].as_u64(), get["units"].as_f64()),
        (Some("get"), Some(1), Some(0.5))
    );
    assert_eq!(get["items"], 1);
}

#[test]
fn a_read_that_cannot_be_is_refused_by_name() {
    for (read, part) in
        [("date", "without ="), ("=x", "bad name"), ("date=1,date=2", "twice"), ("nowhere=1", "nowhere")]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_hotplate"))
            .args(["compare", FLIGHTS, "--key", "{date}", "--read", read])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("error: --read") && stderr.contains(part), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

/// `--mix` runs the reads beside the writes: on DynamoDB they have units of their own, on Cosmos DB they take the writes'.
#[test]
fn reads_under_the_load_are_throttled_where_they_are_hot() {
    let designs = ["--key", "{date}.{hash(tailnum, 1..200)}", "--key", "{date}.{random(1..200)}"];
    let read = ["--read", "date=2013-01-01,tailnum=N14228"];
    let mix = |extra: &[&str]| {
        let report = compare(&[&designs[..], &read[..], extra].concat());
        [0, 1].map(|design| report["designs"][design]["mix"].clone())
    };
    let share = |mix: &Value, name: &str| mix[name].as_f64().unwrap();
    let dynamodb = ["--wcu", "10000", "--rcu", "12000", "--mix", "write=80,read=20"];
    let [hash, random] = mix(&dynamodb);
    assert_eq!((share(&hash, "writes_per_s"), share(&hash, "reads_per_s")), (9_000.0, 2_250.0));
    // One flight is one unit of one partition under the hash (the others of its suffix are read with it): 2,250 a second
    // of its 3,000.
    assert_eq!(share(&hash, "read_units_per_s"), 2_250.0);
    assert_eq!((share(&hash, "hottest_partition_share"), share(&hash, "reads_throttled_share")), (1.0, 0.0));
    // Under the random suffix each read is two hundred queries: far beyond what the table pays for.
    assert!(share(&random, "read_units_per_s") >= 225_000.0, "{random}");
    assert!(share(&random, "reads_throttled_share") > 0.9, "{random}");
    // Reads never take write units there.
    let [alone, _] = mix(&["--wcu", "10000", "--rcu", "12000", "--mix", "write=1000000,read=1"]);
    assert_eq!(share(&alone, "writes_throttled_share"), share(&hash, "writes_throttled_share"));

    let cosmos = |mix_of: &str| {
        let base = ["--profile", "cosmos", "--ru", "80000", "--layouts", "1", "--mix", mix_of];
        let output = Command::new(env!("CARGO_BIN_EXE_hotplate"))
            .args(["compare", FLIGHTS, "--json", "--rate", "9000"])
            .args(designs)
            .args(read)
            .args(base)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        report["designs"][0]["mix"].clone()
    };
    let (few, many) = (cosmos("write=1000,read=1"), cosmos("write=1,read=1"));
    assert!(
        share(&many, "writes_throttled_share") > share(&few, "writes_throttled_share") + 0.02,
        "reads take what writes have: {few} {many}"
    );
}
