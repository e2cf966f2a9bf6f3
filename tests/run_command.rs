//! Promise: `hotplate run` runs what a file describes, tells the same bytes each time, and says by its exit code whether what
//! had to hold did.

#![cfg(feature = "cli")]

mod support;

use serde_json::Value;
use std::fs;
use std::process::Output;
use support::{Folder, printed};

/// A hot key under a parameter, in a few thousand requests.
const SHOP: &str = r#"
name = "shop"
about = "One day's key."
seed = 7
[parameters]
suffixes = 1
[[table]]
name = "orders"
profile = "dynamodb"
wcu = 10000
[[load]]
name = "writers"
operation = "create"
keys = { name = "day", count = 1, items = "increasing", suffix = { rule = "hash", count = "$suffixes" } }
rate = 5000
lasts = "10s"
arrivals = "poisson"
"#;

fn shop() -> Folder {
    Folder::new().with("shop.toml", SHOP)
}

fn shop_with(more: &str) -> Folder {
    Folder::new().with("shop.toml", format!("{SHOP}{more}"))
}

fn json(output: Output) -> Value {
    serde_json::from_str(&printed(output)).unwrap()
}

/// Exit code, stdout and stderr.
fn told(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_file_is_run_and_its_hot_key_is_told() {
    let text = printed(shop().run(&["run", "shop.toml"]));
    assert!(text.starts_with("shop: One day's key.\nseed 7, "), "{text}");
    for part in [
        "suffixes = 1",
        "TableWriteKeyRangeThroughputExceeded of orders",
        "100% day.1",
        "hotplate run shop.toml --seed 7\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_scenario_may_come_by_standard_input() {
    use std::io::Write as _;
    use std::process::Stdio;
    let folder = Folder::new();
    let mut command = folder.command(&["run", "-", "--json"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SHOP.as_bytes()).unwrap();
    let mut by_input = json(child.wait_with_output().unwrap());
    let of_file = json(shop().run(&["run", "shop.toml", "--json"]));
    assert_eq!(by_input["replay"], "hotplate run - --seed 7");
    by_input["replay"] = of_file["replay"].clone();
    assert_eq!(by_input, of_file);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let folder = shop();
    for options in [&["run", "shop.toml"][..], &["run", "shop.toml", "--json"]] {
        let once = printed(folder.run(options));
        assert_eq!(printed(folder.run(options)), once);
        assert_ne!(printed(folder.run(&[options, &["--seed", "8"]].concat())), once);
    }
    let text = printed(folder.run(&["run", "shop.toml", "--check-determinism"]));
    assert!(text.contains("\ndeterministic: two runs gave the same "), "{text}");
}

#[test]
fn json_says_how_to_get_it_again() {
    let folder = shop();
    let report = json(folder.run(&["run", "shop.toml", "-p", "suffixes=8", "--seed", "3", "--json"]));
    assert_eq!(report["schema"], 1);
    assert_eq!((&report["scenario"], &report["seed"]), (&"shop".into(), &3.into()));
    assert_eq!(report["parameters"]["suffixes"], "8");
    assert_eq!(report["digest"].as_str().unwrap().len(), 32);
    let replay = report["replay"].as_str().unwrap();
    assert_eq!(replay, "hotplate run shop.toml -p suffixes=8 --seed 3");
    let words: Vec<&str> = replay.split(' ').skip(1).chain(["--json"]).collect();
    assert_eq!(json(folder.run(&words)), report);
    // More suffixes, more served.
    let one = json(folder.run(&["run", "shop.toml", "--json"]));
    let served = |report: &Value| number(&report["loads"][0]["served_per_s"]);
    assert!(
        served(&one) < 1_300.0 && served(&report) > 2.0 * served(&one),
        "{} {}",
        served(&one),
        served(&report)
    );
    assert_ne!(one["digest"], report["digest"]);
}

#[test]
fn a_sweep_sets_runs_side_by_side() {
    let folder = shop();
    let text = printed(folder.run(&["run", "shop.toml", "--sweep", "suffixes=1, 4,16"]));
    let head = text.lines().find(|line| line.contains("suffixes = 1 ")).unwrap();
    assert!(head.contains("suffixes = 4") && head.contains("suffixes = 16"), "{text}");
    let row = text.lines().find(|line| line.starts_with("writers: served/s")).unwrap();
    assert_eq!(row.split_whitespace().count(), 5, "{row}");
    assert!(text.contains("hotplate run shop.toml -p suffixes=16 --seed 7\n"), "{text}");
    let reports = json(folder.run(&["run", "shop.toml", "--sweep", "suffixes=1,4", "--json"]));
    let served: Vec<f64> = reports
        .as_array()
        .unwrap()
        .iter()
        .map(|report| number(&report["loads"][0]["served_per_s"]))
        .collect();
    assert!(served.len() == 2 && served[0] < served[1], "{served:?}");
    let (code, _, wrong) = told(folder.run(&["run", "shop.toml", "--sweep", "suffixes=1,many"]));
    assert_eq!(code, 2);
    assert!(wrong.contains("with suffixes = many: shop.toml:14:"), "{wrong}");
    for (sweep, expected) in [
        ("suffixes", "--sweep: \"suffixes\" is not a name and a value"),
        ("suffixes=1,,2", "--sweep: \"suffixes=1,,2\" is no sweep"),
        ("shards=1", "-p shards: no such parameter"),
    ] {
        let (code, _, wrong) = told(folder.run(&["run", "shop.toml", "--sweep", sweep]));
        assert!(code == 2 && wrong.contains(expected), "{wrong}");
    }
}

#[test]
fn a_threshold_that_does_not_hold_is_exit_1() {
    let threshold =
        |bound: &str| format!("[[threshold]]\ncheck = \"throttled_share of writers <= {bound}\"\n");
    let text = printed(shop_with(&threshold("90%")).run(&["run", "shop.toml"]));
    assert!(text.contains("\nholds  throttled_share of writers <= 0.9 (it is 0."), "{text}");
    let folder = shop_with(&threshold("1%"));
    for options in [&["run", "shop.toml"][..], &["run", "shop.toml", "--sweep", "suffixes=1,200"]] {
        let (code, text, complaint) = told(folder.run(options));
        assert_eq!((code, complaint.as_str()), (1, ""));
        assert!(text.contains("FAILED") && text.contains("throttled_share of writers <= 0.01"), "{text}");
    }
    let (code, report, _) = told(folder.run(&["run", "shop.toml", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((code, &report["thresholds"][0]["passed"]), (1, &Value::Bool(false)));
}

#[test]
fn a_wrong_file_is_exit_2_with_its_line() {
    let folder = shop()
        .with("bad.toml", SHOP.replace("wcu", "wuc").replace("\"10s\"", "10"))
        .with("latin.toml", [0xe9]);
    let (code, text, wrong) = told(folder.run(&["run", "bad.toml"]));
    assert_eq!((code, text.as_str()), (2, ""));
    let lines: Vec<&str> = wrong.lines().collect();
    assert!(
        lines[0].starts_with("error: bad.toml:10:1: a table has no key \"wuc\" (did you mean \"wcu\"?)"),
        "{wrong}"
    );
    assert!(lines[1].starts_with("bad.toml:16:9: lasts: 10 is not a time"), "{wrong}");
    for (arguments, expected) in [
        (&["run", "nowhere.toml"][..], "nowhere.toml cannot be read: "),
        (
            &["run", "l1-one-kee"],
            "l1-one-kee is neither a file nor a built-in scenario (did you mean \"l1-one-key\"?)",
        ),
        (&["run", "--show", "nothing"], "nothing is neither a file nor a built-in scenario"),
        (&["run", "."], ". cannot be read: "),
        (
            &["run", "shop.toml", "-p", "suffixes"],
            "-p: \"suffixes\" is not a name and a value: write name=value",
        ),
        (&["run", "shop.toml", "-p", "suffixes=1", "-p", "suffixes=2"], "-p suffixes is given twice"),
        (&["run", "shop.toml", "--against", "none"], "--against: target/hotplate/none.json cannot be read: "),
        (
            &["run", "shop.toml", "--html", "shop.toml"],
            "--html: this is the scenario file, which would be lost",
        ),
        (&["run", "shop.toml", "--csv", "no/where.csv"], "--csv: no/where.csv cannot be written: "),
        (&["run", "shop.toml", "--csv", "x", "--html", "x"], "--html and --csv name one file"),
        (&["run", "latin.toml"], "latin.toml is not UTF-8 text"),
    ] {
        let (code, text, wrong) = told(folder.run(arguments));
        assert_eq!((code, text.as_str()), (2, ""), "{arguments:?}");
        assert!(wrong.starts_with(&format!("error: {expected}")), "{arguments:?}: {wrong}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("shop.toml")).unwrap(), SHOP);
}

#[test]
fn seconds_are_written_as_csv_and_add_up() {
    let folder = shop();
    let report = json(folder.run(&["run", "shop.toml", "--csv", "seconds.csv", "--json"]));
    let mut reader = csv::Reader::from_path(folder.path().join("seconds.csv")).unwrap();
    let column =
        |name: &str, reader: &csv::StringRecord| reader.iter().position(|head| head == name).unwrap();
    let heads = reader.headers().unwrap().clone();
    let [requests, throttled, consumed] =
        ["write_requests", "write_requests_throttled", "write_units_consumed"]
            .map(|name| column(name, &heads));
    let (mut all, mut refused, mut units, mut last) = (0, 0, 0.0, 0);
    for row in reader.records() {
        let row = row.unwrap();
        let second: u64 = row[0].parse().unwrap();
        assert!(second >= last && &row[1] == "orders");
        last = second;
        all += row[requests].parse::<u64>().unwrap();
        refused += row[throttled].parse::<u64>().unwrap();
        units += row[consumed].parse::<f64>().unwrap();
    }
    let load = &report["loads"][0];
    assert_eq!((all, refused), (load["attempts"].as_u64().unwrap(), load["throttled"].as_u64().unwrap()));
    assert_eq!(units, number(&load["served"]));
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing half-written is left: {names:?}");
}

#[test]
fn figures_are_kept_and_set_beside_later_ones() {
    let folder = shop();
    let text = printed(folder.run(&["run", "shop.toml", "--save", "before"]));
    assert!(text.contains("kept as before: --against before"), "{text}");
    assert!(folder.path().join("target/hotplate/before.json").exists());
    let text = printed(folder.run(&["run", "shop.toml", "--against", "before"]));
    let table = text.split("before").nth(1).unwrap();
    assert!(table.lines().skip(1).all(|line| line.ends_with('=')), "nothing changed: {text}");
    let text = printed(folder.run(&["run", "shop.toml", "--against", "before", "-p", "suffixes=16"]));
    let row = text.lines().find(|line| line.starts_with("writers: served/s")).unwrap();
    assert!(row.contains('+') && row.ends_with('%'), "{row}");
    assert!(
        text.contains("The scenario or its parameters have changed since \"before\" was saved."),
        "{text}"
    );
    let other = folder.with("other.toml", SHOP.replace("name = \"shop\"", "name = \"other\""));
    let (code, _, wrong) = told(other.run(&["run", "other.toml", "--against", "before"]));
    assert_eq!(code, 2);
    assert!(wrong.contains("those are figures of the scenario shop, and this is other"), "{wrong}");
    let broken = other.with("broken.json", "{}");
    let (code, _, wrong) = told(broken.run(&["run", "shop.toml", "--against", "broken.json"]));
    assert!(code == 2 && wrong.contains("is no report of a run"), "{wrong}");
}

#[test]
fn a_page_is_written() {
    let folder = shop();
    printed(folder.run(&["run", "shop.toml", "--html", "page.html"]));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("shop") && page.contains("orders"),
        "{page}"
    );
}

#[test]
fn rows_of_a_file_are_found_beside_the_scenario() {
    let scenario = r#"
[[table]]
name = "orders"
profile = "dynamodb"
wcu = 1000
[[load]]
name = "rows"
operation = "create"
keys = { file = "orders.csv", template = "{day}.{hash(id, 1..4)}" }
rate = 100
lasts = "10s"
"#;
    let rows: String = (0..50)
        .map(|i| format!("{},2018-08-09\n", if i == 3 { String::new() } else { i.to_string() }))
        .collect();
    let folder = Folder::new();
    fs::create_dir(folder.path().join("in")).unwrap();
    let folder = folder.with("in/shop.toml", scenario).with("in/orders.csv", format!("id,day\n{rows}"));
    let report = json(folder.run(&["run", "in/shop.toml", "--json"]));
    assert_eq!((&report["scenario"], &report["loads"][0]["served"]), (&"shop".into(), &1_000.into()));
    assert!(
        report["tables"][0]["top_keys"][0]["key"].as_str().unwrap().starts_with("2018-08-09."),
        "{report}"
    );
    assert!(report["loads"][0]["skew"].is_null());
    let folder = folder.with("in/shop.toml", scenario.replace("{day}", "{dya}"));
    let (code, _, wrong) = told(folder.run(&["run", "in/shop.toml"]));
    assert!(code == 2 && wrong.contains("in/shop.toml:9:17: file: ") && wrong.contains("dya"), "{wrong}");
}

#[test]
fn built_in_scenarios_are_listed_and_shown() {
    let folder = Folder::new();
    let list = printed(folder.run(&["run", "--list"]));
    let names: Vec<&str> = list.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(names.len() > 25 && names.contains(&"more-ru-less-throughput"), "{list}");
    assert!(list.lines().all(|line| line.split_whitespace().count() > 5), "{list}");
    let shown = printed(folder.run(&["run", "--show", "l1-one-key"]));
    // What is shown is a file that runs to the same figures.
    let folder = folder.with("copy.toml", &shown);
    let mut of_name = json(folder.run(&["run", "l1-one-key", "--json"]));
    let of_file = json(folder.run(&["run", "copy.toml", "--json"]));
    assert_eq!(of_name["replay"], "hotplate run l1-one-key --seed 1");
    of_name["replay"] = of_file["replay"].clone();
    assert_eq!(of_name, of_file);
}

/// Bars 3 to 9 and 19 of `docs/fidelity.md`, as a user meets them.
#[test]
fn published_figures_are_reproduced() {
    let folder = Folder::new();
    for name in [
        "l1-one-key",
        "l2-sorted-load",
        "l3-shuffled-load",
        "l4-provisioned-load",
        "q1-one-partition-reads",
        "a2-split-under-reads",
        "a3-split-persists",
        "more-ru-less-throughput",
    ] {
        let report = json(folder.run(&["run", name, "--json"]));
        let published = report["published"].as_array().unwrap();
        assert!(!published.is_empty(), "{name}");
        for figure in published {
            assert_eq!(figure["reproduced"], true, "{name}: {figure}");
        }
    }
}
