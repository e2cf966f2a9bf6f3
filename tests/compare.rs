//! Promise: `compare` finds what is hot in a year of real flights, by figures that add up, and the same ones
//! each time.

#![cfg(feature = "cli")]

mod support;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use support::{Folder, printed};

const FLIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/nyc-flights-2013.csv.gz");

/// Rows of that file.
const ROWS: u64 = 336_776;

/// Rows of the sample that most tests use: four days.
const SAMPLE: usize = 3_500;

const DATE: &str = "{date}";
const ORIGIN: &str = "{origin}";
const RANDOM: &str = "{origin}.{random(1..200)}";
const PRODUCT: &str = "{origin}.{product(tailnum, 1..200)}";
const HASH: &str = "{origin}.{hash(tailnum, 1..200)}";
const DATE_HASH: &str = "{date}.{hash(tailnum, 1..200)}";

/// The head of the file and its first rows, as CSV.
fn sample() -> &'static str {
    static SAMPLE_TEXT: OnceLock<String> = OnceLock::new();
    SAMPLE_TEXT.get_or_init(|| {
        let mut text = String::new();
        MultiGzDecoder::new(File::open(FLIGHTS).unwrap()).read_to_string(&mut text).unwrap();
        text.lines().take(SAMPLE + 1).map(|line| format!("{line}\n")).collect()
    })
}

fn arguments<'a>(file: &'a str, designs: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["compare", file];
    arguments.extend(designs.iter().flat_map(|design| ["--key", design]));
    arguments.extend(options);
    arguments
}

/// The report on the whole file.
fn flights(designs: &[&str], options: &[&str]) -> Value {
    let options = [options, &["--json"]].concat();
    serde_json::from_str(&printed(Folder::new().run(&arguments(FLIGHTS, designs, &options)))).unwrap()
}

/// The report on the sample.
fn sampled(designs: &[&str], options: &[&str]) -> Value {
    let options = [options, &["--json"]].concat();
    let folder = Folder::new().with("flights.csv", sample());
    serde_json::from_str(&printed(folder.run(&arguments("flights.csv", designs, &options)))).unwrap()
}

fn design<'a>(report: &'a Value, key: &str) -> &'a Value {
    report["designs"].as_array().unwrap().iter().find(|design| design["key"] == key).unwrap()
}

#[track_caller]
fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} is no number: {}", value[name]))
}

#[track_caller]
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is no text: {}", value[name]))
}

#[track_caller]
fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is no list: {}", value[name]))
}

#[track_caller]
fn assert_near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= expected * share, "{value} is not within {share} of {expected}");
}

/// 10,000 write units over ten partitions, 1 KB items, 9,000 writes offered each second.
const ACCEPTANCE: [&str; 8] =
    ["--wcu", "10000", "--partitions", "10", "--item-size", "1KB", "--rate", "9000"];

#[test]
fn three_keys_serve_three_partitions_worth_and_a_hash_suffix_cures_them() {
    const LAYOUTS: u64 = 24;
    let layouts = LAYOUTS.to_string();
    let options = [&ACCEPTANCE[..], &["--layouts", &layouts, "--find-max"]].concat();
    let report = flights(&[ORIGIN, RANDOM, PRODUCT, HASH], &options);
    assert_eq!(report["partition_count"], 10);

    let origin = design(&report, ORIGIN);
    let mut counted = 0;
    for spread in list(origin, "spread") {
        let partitions = spread["partitions"].as_u64().unwrap();
        // The three airports at their own ceilings, with half a second's credit each.
        let expected: RangeInclusive<f64> = match partitions {
            3 => 2_950.0..=3_080.0,
            2 => 1_960.0..=2_060.0,
            1 => 980.0..=1_030.0,
            other => panic!("three keys on {other} partitions"),
        };
        for end in ["served_min", "served_max"] {
            assert!(expected.contains(&number(spread, end)), "{spread}");
        }
        let layouts = spread["layouts"].as_u64().unwrap();
        counted += layouts;
        let often = format!(
            "{partitions} partition{} in {layouts} of {LAYOUTS}",
            if partitions == 1 { "" } else { "s" }
        );
        assert!(text(origin, "verdict").contains(&often), "{often:?}: {}", origin["verdict"]);
    }
    assert_eq!(counted, LAYOUTS);
    assert!(list(origin, "spread").len() >= 2, "by luck no keys meet in one of four layouts or so");

    let throttled = number(design(&report, HASH), "throttled_share");
    assert!(throttled < 0.10, "{throttled}");

    for key in [ORIGIN, RANDOM, PRODUCT, HASH] {
        let design = design(&report, key);
        let [low, rate, high] =
            ["max_rate_p5", "max_rate_per_s", "max_rate_p95"].map(|name| number(design, name));
        assert_near(rate, (1_000.0 / number(design, "hottest_partition_share")).min(10_000.0), 0.03);
        assert!(low <= rate && rate <= high, "{key} {low} {rate} {high}");
        assert!(rate <= number(design, "ceiling_per_s") * 1.01, "{key} {rate}");
    }

    let product = design(&report, PRODUCT);
    let ratio = number(product, "max_rate_per_s") / number(design(&report, HASH), "max_rate_per_s");
    assert!(ratio < 0.75, "{ratio}");
    assert_eq!(product["hottest_key"], "EWR.1");
    assert!(text(product, "verdict").contains("EWR.1"), "{}", product["verdict"]);
    // 38 % of real tail numbers.
    assert!(text(product, "verdict").contains("get suffix 1"), "{}", product["verdict"]);

    let pairs = list(&report, "pairs");
    assert_eq!(pairs.len(), 6);
    for pair in pairs {
        let verdict = match (text(pair, "a"), text(pair, "b")) {
            (RANDOM, HASH) => "tie".to_owned(),
            (ORIGIN, better) | (better, PRODUCT) | (PRODUCT, better) => format!("{better} wins"),
            other => panic!("no such pair: {other:?}"),
        };
        assert_eq!(text(pair, "verdict"), verdict, "{pair}");
        let (a, b) = (number(pair, "a_wins_share"), number(pair, "b_wins_share"));
        assert!(a >= 0.0 && b >= 0.0 && a + b <= 1.0, "{pair}");
        assert_eq!(verdict == "tie", a < 0.95 && b < 0.95, "{pair}");
    }
}

#[test]
fn a_date_is_one_hot_key_after_the_other() {
    let options = [&ACCEPTANCE[..], &["--layouts", "20", "--window", "date"]].concat();
    let report = flights(&[DATE, DATE_HASH], &options);
    assert_eq!(report["windowing"]["count"], 365);
    assert_eq!(list(&report, "warnings"), [] as [Value; 0], "windows do not compress time");

    let date = design(&report, DATE);
    assert_near(number(date, "served_per_s"), 1_000.0, 0.02);
    for figure in ["served_p5", "served_p95", "ceiling_per_s"] {
        assert_near(number(date, figure), 1_000.0, 0.02);
    }
    let verdict = text(date, "verdict");
    assert!(verdict.contains("neither") && verdict.contains("split"), "{verdict}");
    assert!(verdict.contains("nor more throughput can help"), "{verdict}");

    let spread = design(&report, DATE_HASH);
    let windows = &spread["windows"];
    assert_eq!(windows["median"], spread["served_per_s"]);
    assert!(number(windows, "worst") < 0.9 * number(windows, "median"), "{windows}");
    // A blizzard: rows of cancelled flights have no tail number, and all get the suffix of nothing.
    let day = text(windows, "worst_name");
    assert!(["2013-02-08", "2013-02-09"].contains(&day), "{windows}");
    assert_eq!(text(windows, "worst_key"), format!("{day}.189"));
    assert!(number(windows, "worst_key_share") > 0.2, "{windows}");
    let verdict = text(spread, "verdict");
    assert!(verdict.contains(day) && verdict.contains(text(windows, "worst_key")), "{verdict}");
}

#[test]
fn compressed_time_is_warned_of() {
    let warned = |key, options: &[&str]| {
        let report = sampled(&[key], &[&["--layouts", "2"], options].concat());
        let warnings = list(&report, "warnings").iter();
        warnings.filter(|line| line.as_str().unwrap().contains("time is compressed")).count()
    };
    assert_eq!(warned(DATE, &[]), 1);
    assert_eq!(warned(DATE_HASH, &[]), 1);
    assert_eq!(warned(DATE, &["--window", "date"]), 0);
    assert_eq!(warned(DATE, &["--time", "scheduled", "--every", "6h"]), 0);
    assert_eq!(warned(DATE, &["--order", "shuffled"]), 0);
    assert_eq!(warned(ORIGIN, &[]), 0);
    let folder = Folder::new().with("flights.csv", sample());
    let printed = printed(folder.run(&arguments("flights.csv", &[DATE], &["--layouts", "2"])));
    assert!(
        printed.contains("warning: time is compressed") && printed.contains("--window date"),
        "{printed}"
    );
}

/// Everything but what names the window column.
fn without_labels(mut report: Value) -> Value {
    report["windowing"]["by"] = Value::Null;
    for design in report["designs"].as_array_mut().unwrap() {
        design["heat"]["unit"] = Value::Null;
        design["verdict"] = Value::Null;
    }
    report
}

#[test]
fn days_of_a_time_are_windows_of_a_date() {
    let options = ["--layouts", "3", "--rate", "9000"];
    let by_date = sampled(&[DATE, HASH], &[&options[..], &["--window", "date"]].concat());
    let by_time = sampled(&[DATE, HASH], &[&options[..], &["--time", "scheduled", "--every", "1d"]].concat());
    assert_eq!(by_date["windowing"]["count"], 4);
    assert_eq!(without_labels(by_date), without_labels(by_time));
    let by_quarter = sampled(&[DATE], &[&options[..], &["--time", "scheduled", "--every", "6h"]].concat());
    let quarters = by_quarter["windowing"]["count"].as_u64().unwrap();
    assert!((12..=16).contains(&quarters), "{quarters}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let folder = Folder::new().with("flights.csv", sample());
    for windowed in [&[][..], &["--window", "date"]] {
        let run = |seed: &str, json: &[&str]| {
            let options = [
                &["--seed", seed, "--layouts", "3", "--rate", "9000", "--html", "page.html"],
                windowed,
                json,
            ]
            .concat();
            let designs = [ORIGIN, RANDOM, HASH];
            let text = printed(folder.run(&arguments("flights.csv", &designs, &options)));
            (text, fs::read(folder.path().join("page.html")).unwrap())
        };
        for json in [&[][..], &["--json"], &["--json", "--find-max"], &["--order", "shuffled"]] {
            let first = run("1", json);
            assert!(first == run("1", json), "{windowed:?} {json:?}");
            let other = run("2", json);
            assert!(first.0 != other.0 && first.1 != other.1, "{windowed:?} {json:?}");
        }
        let designs =
            |seed| serde_json::from_str::<Value>(&run(seed, &["--json"]).0).unwrap()["designs"].clone();
        assert_ne!(designs("1"), designs("2"), "not only the seed's number differs");
    }
}

#[test]
fn json_lines_and_gzip_give_what_csv_gives() {
    // Names without an ending: the content tells the format, and the report names the file.
    let csv = sample().to_owned();
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let object = |line: &str| {
        let cells = head.iter().zip(line.split(','));
        Value::Object(cells.map(|(name, cell)| ((*name).to_owned(), cell.into())).collect::<Map<_, _>>())
    };
    let json: String = lines.map(|line| format!("{}\n", object(line))).collect();
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let designs = [DATE, HASH, "{carrier}{flight}"];
    let results =
        [csv.clone().into_bytes(), json.clone().into_bytes(), gzip(&csv), gzip(&json)].map(|content| {
            let folder = Folder::new().with("flights", content);
            [&["--window", "date"][..], &["--sort", "flight"]].map(|further| {
                let options = [&["--layouts", "3", "--json"], further].concat();
                printed(folder.run(&arguments("flights", &designs, &options)))
            })
        });
    assert!(results.iter().all(|result| *result == results[0]));

    // From a pipe, too.
    let folder = Folder::new();
    let mut command = folder.command(&["compare", "-", "--key", ORIGIN, "--layouts", "3"]);
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(reader).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    drop(command);
    writer.write_all(gzip(&json).as_slice()).unwrap();
    drop(writer);
    assert!(printed(child.wait_with_output().unwrap()).contains("EWR"));
}

/// What every report must hold, whatever was asked for.
#[track_caller]
fn assert_adds_up(report: &Value) {
    for name in ["version", "profile", "file", "throughput", "unit"] {
        assert!(!text(report, name).is_empty());
    }
    for name in ["schema", "seed", "partition_count", "layouts"] {
        assert!(report[name].is_u64(), "{name}");
    }
    let partition_count = report["partition_count"].as_u64().unwrap() as usize;
    let layouts = report["layouts"].as_u64().unwrap();
    let windowed = !report["windowing"].is_null();
    let designs = list(report, "designs");
    assert_eq!(list(report, "pairs").len(), designs.len() * (designs.len() - 1) / 2);
    for design in designs {
        assert!(!text(design, "key").is_empty() && text(design, "verdict").ends_with('.'));
        let share = |name| {
            let share = number(design, name);
            assert!((0.0..=1.0).contains(&share), "{name} is {share}");
            share
        };
        for name in
            ["throttled_share", "gave_up_share", "hottest_key_share", "hottest_unsplittable_share", "gini"]
        {
            share(name);
        }
        for name in
            ["offered_per_s", "served_per_s", "seconds", "p50_ms", "ceiling_per_s", "effective_partitions"]
        {
            assert!(number(design, name) > 0.0, "{name}");
        }
        let writes = design["writes"].as_u64().unwrap();
        assert!(design["skipped_rows"].is_u64());
        assert!(number(design, "served_p5") <= number(design, "served_per_s"));
        assert!(number(design, "served_per_s") <= number(design, "served_p95"));
        assert!(number(design, "p50_ms") <= number(design, "p99_ms"));
        assert!(number(design, "p99_ms") <= number(design, "p999_ms"));

        let partitions = list(design, "partitions");
        assert_eq!(partitions.len(), partition_count);
        assert_eq!(partitions.last().unwrap()["to"], "FF");
        for (i, partition) in partitions.iter().enumerate() {
            assert_eq!(partition["id"], i);
            // `FF` stands for the end of the ring.
            assert!(
                text(partition, "from") < text(partition, "to") || partition["to"] == "FF",
                "{partition}"
            );
            if i > 0 {
                assert_eq!(partition["from"], partitions[i - 1]["to"]);
            }
            let [attempted, served, throttled] =
                ["attempted", "served", "throttled"].map(|name| number(partition, name));
            assert!(served >= 0.0 && throttled >= 0.0 && (attempted - served - throttled).abs() < 1e-6);
        }
        let sum = |name| partitions.iter().map(|partition| number(partition, name)).sum::<f64>();
        let (attempted, throttled) = (sum("attempted"), sum("throttled"));
        assert_near(1.0 + share("throttled_share"), 1.0 + throttled / attempted, 1e-9);
        let hottest = design["hottest_partition"].as_u64().unwrap() as usize;
        assert_near(
            share("hottest_partition_share"),
            number(&partitions[hottest], "attempted") / attempted,
            1e-9,
        );
        assert!(
            partitions.iter().all(|p| number(p, "attempted") <= number(&partitions[hottest], "attempted"))
        );
        let mean_share = 1.0 / partition_count as f64;
        assert_near(number(design, "max_over_mean"), share("hottest_partition_share") / mean_share, 1e-9);
        if !windowed && share("gave_up_share") == share("throttled_share") {
            assert_near(attempted, writes as f64 * number(report, "units_per_write"), 1e-9);
        }

        let keys = list(design, "top_keys");
        assert_eq!(keys[0]["key"], design["hottest_key"]);
        assert_eq!(keys[0]["share"], design["hottest_key_share"]);
        assert!(keys.is_sorted_by(|a, b| number(a, "share") >= number(b, "share")));
        assert!(keys.iter().all(|key| (key["partition"].as_u64().unwrap() as usize) < partition_count));
        let spread: Vec<u64> =
            list(design, "spread").iter().map(|spread| spread["layouts"].as_u64().unwrap()).collect();
        assert!(spread.is_empty() || spread.iter().sum::<u64>() == layouts, "{spread:?}");

        let max = ["max_rate_p5", "max_rate_per_s", "max_rate_p95"].map(|name| design[name].as_f64());
        assert!(
            max.iter().all(Option::is_none) || max.iter().all(Option::is_some) && max.is_sorted(),
            "{max:?}"
        );
        let windows = &design["windows"];
        assert_eq!(windows.is_null(), !windowed);
        if windowed {
            assert!(0.0 < number(windows, "worst") && number(windows, "worst") <= number(windows, "median"));
            assert!(!text(windows, "worst_name").is_empty());
        }

        let heat = &design["heat"];
        let columns = list(heat, "columns");
        assert!(!columns.is_empty());
        for name in ["attempted", "throttled"] {
            let cells = list(heat, name);
            assert_eq!(cells.len(), columns.len());
            assert!(cells.iter().all(|column| column.as_array().unwrap().len() == partition_count));
        }
    }
    assert!(list(report, "basis").len() >= 3);
    // A figure that is no number would be written as null.
    assert_no_null_but(report, &["windowing", "windows", "mix", "max_rate_", "worst_max_rate_per_s"]);
}

#[track_caller]
fn assert_no_null_but(value: &Value, allowed: &[&str]) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                assert!(
                    !field.is_null() || allowed.iter().any(|allowed| name.starts_with(allowed)),
                    "{name}"
                );
                assert_no_null_but(field, allowed);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| {
            assert!(!value.is_null());
            assert_no_null_but(value, allowed);
        }),
        _ => {}
    }
}

#[test]
fn the_figures_of_a_report_add_up() {
    let designs = [DATE, ORIGIN, RANDOM, PRODUCT, HASH, DATE_HASH, "constant"];
    for options in [
        &[][..],
        &["--rate", "9000", "--find-max", "--item-size", "1.5KB"],
        &["--rate", "9000", "--window", "date", "--find-max"],
        &["--rate", "1"],
        &["--rate", "10000000"],
        &["--rate", "20000", "--retries", "3"],
        &["--workers", "200"],
        &["--workers", "1000000", "--retries", "100", "--service-time", "10us"],
        &["--wcu", "1", "--rate", "3", "--item-size", "400KB"],
        &["--partitions", "1000", "--sort", "flight"],
        &["--order", "shuffled", "--seed", "18446744073709551615"],
        &["--profile", "dynamodb-on-demand"],
    ] {
        let report = sampled(&designs, &[&["--layouts", "4"], options].concat());
        assert_adds_up(&report);
        assert_eq!(report["layouts"], 4);
    }
    for options in [
        &[][..],
        &["--ru", "400", "--rate", "500", "--item-size", "2MB"],
        &["--ru", "100000", "--window", "date", "--find-max"],
        &["--partitions", "50", "--workers", "20", "--retries", "1000"],
    ] {
        let report = sampled(&designs, &[&["--profile", "cosmos"], options].concat());
        assert_adds_up(&report);
        assert_eq!(report["layouts"], 1, "its placement is exact");
    }
    let whole = flights(&[HASH], &["--layouts", "1"]);
    assert_adds_up(&whole);
    assert_eq!(whole["designs"][0]["writes"], ROWS);
}

#[test]
fn profiles_begin_as_their_service_does() {
    let on_demand = sampled(&[DATE], &["--profile", "dynamodb-on-demand"]);
    assert_eq!((&on_demand["partition_count"], &on_demand["layouts"]), (&4.into(), &50.into()));
    assert_eq!(number(design(&on_demand, DATE), "offered_per_s"), 4_000.0);
    assert_eq!(number(&on_demand, "partition_limit_per_s"), 1_000.0);
    // Two partitions for 10,000 RU/s, and half of it for each.
    let cosmos = sampled(&[DATE], &["--profile", "cosmos"]);
    assert_eq!((&cosmos["partition_count"], &cosmos["layouts"]), (&2.into(), &1.into()));
    assert_eq!((text(&cosmos, "unit"), number(&cosmos, "partition_limit_per_s")), ("RU", 5_000.0));
    assert!(
        list(&cosmos, "basis").iter().any(|line| line.as_str().unwrap().contains("hash that places keys"))
    );
    let default = sampled(&[DATE], &[]);
    assert_eq!((text(&default, "profile"), &default["partition_count"]), ("dynamodb", &10.into()));
    assert_eq!((&default["layouts"], number(&default, "units_per_write")), (&50.into(), 1.0));
}

#[test]
fn workers_wait_and_an_open_loop_does_not() {
    let options = |further: &[&'static str]| [&["--layouts", "1"][..], further].concat();
    let of =
        |further: &[&'static str]| design(&sampled(&["constant"], &options(further)), "constant").clone();

    // Four workers at 5 ms an answer come to 800 a second, which one partition serves.
    let few = of(&["--workers", "4"]);
    assert_near(number(&few, "served_per_s"), 800.0, 0.01);
    assert_eq!((number(&few, "throttled_share"), number(&few, "gave_up_share")), (0.0, 0.0));
    assert_near(number(&few, "p50_ms"), 5.0, 0.1);
    assert_near(number(&of(&["--workers", "4", "--service-time", "10ms"]), "served_per_s"), 400.0, 0.01);

    // Forty ask for 8,000: what is refused is lost, ...
    let many = of(&["--workers", "40"]);
    assert!(number(&many, "gave_up_share") > 0.5, "{}", many["gave_up_share"]);
    // ... unless it may come back.
    let patient = of(&["--workers", "40", "--retries", "1000000"]);
    assert_eq!(number(&patient, "gave_up_share"), 0.0);
    assert!(number(&patient, "throttled_share") > 0.0);
    assert!(number(&patient, "served_per_s") < 1_200.0, "{}", patient["served_per_s"]);
    // Forty share a partition that serves a thousand a second, and none of them starves.
    assert!(number(&patient, "p50_ms") > 10.0 && number(&patient, "p999_ms") < 1_000.0, "{patient}");

    let once = of(&["--rate", "3000"]);
    assert_eq!(once["gave_up_share"], once["throttled_share"]);
    assert_near(number(&once, "p999_ms"), 5.0, 0.01);
    let again = of(&["--rate", "3000", "--retries", "1000000"]);
    assert_eq!(number(&again, "gave_up_share"), 0.0);
    // 3,500 rows come in 1.2 s and are served in 3 s; the wait counts from when a write was due.
    assert!(number(&again, "p99_ms") > 1_500.0, "{}", again["p99_ms"]);
    let thrice = of(&["--rate", "3000", "--retries", "3"]);
    assert!(number(&thrice, "gave_up_share") < number(&once, "gave_up_share"));
}

#[test]
fn a_shuffled_file_is_no_sequence_of_days() {
    let served = |options: &[&str]| {
        let report = sampled(&[DATE, ORIGIN], &[&["--layouts", "5", "--rate", "9000"], options].concat());
        [DATE, ORIGIN].map(|key| number(design(&report, key), "served_per_s"))
    };
    let (in_order, shuffled) = (served(&[]), served(&["--order", "shuffled"]));
    // Four days at once are served by more partitions than one day after the other; airports alternate anyhow.
    assert!(shuffled[0] > 1.25 * in_order[0], "{in_order:?} {shuffled:?}");
    assert_near(shuffled[1], in_order[1], 0.05);
}

#[test]
fn a_sort_key_that_goes_both_ways_lets_splits_help() {
    let options = ["--rate", "9000", "--layouts", "5"];
    let growing = sampled(&[ORIGIN], &options);
    let sorted = sampled(&[ORIGIN], &[&options[..], &["--sort", "flight"]].concat());
    let (growing, sorted) = (design(&growing, ORIGIN), design(&sorted, ORIGIN));
    assert_near(number(growing, "ceiling_per_s"), 1_000.0 / number(growing, "hottest_key_share"), 1e-6);
    assert_eq!(number(sorted, "ceiling_per_s"), 10_000.0, "then the table is the limit");
    assert_eq!(growing["served_per_s"], sorted["served_per_s"], "now, nothing has split yet");
    // The same flight leaves the same airport day after day.
    let overwrites = |design| text(design, "verdict").contains("rows overwrite an earlier item");
    assert!(!overwrites(growing) && overwrites(sorted), "{}", sorted["verdict"]);
    assert!(text(growing, "verdict").contains("row number"), "{}", growing["verdict"]);
    // One that only moves one way is as bad as the row number; numbers go by value, so 9 comes before 10.
    let rows: String = (1..=20).map(|i| format!("x,{i},{},{}\n", -i, i * 7 % 20)).collect();
    let folder = Folder::new().with("rows.csv", format!("key,up,down,mixed\n{rows}"));
    let ceiling = |sort: &str| {
        let arguments = ["compare", "rows.csv", "--key", "{key}", "--sort", sort, "--json"];
        let report: Value = serde_json::from_str(&printed(folder.run(&arguments))).unwrap();
        number(&report["designs"][0], "ceiling_per_s")
    };
    assert_eq!(["up", "down", "mixed"].map(ceiling), [1_000.0, 1_000.0, 10_000.0]);
}

#[test]
fn the_terminal_shows_a_table_and_a_verdict_for_each_design() {
    let folder = Folder::new().with("flights.csv", sample());
    let designs = [DATE, ORIGIN, HASH];
    for (options, columns) in [
        (&[][..], &["served/s", "throttled", "hot partition", "hot key", "max/mean", "ceiling/s"][..]),
        (&["--find-max"], &["max rate/s"]),
        (&["--window", "date"], &["worst window"]),
    ] {
        let options = [&["--layouts", "4", "--rate", "9000"], options].concat();
        let text = printed(folder.run(&arguments("flights.csv", &designs, &options)));
        let head = text.lines().find(|line| line.starts_with("key design ")).unwrap();
        for column in columns {
            assert_eq!(head.matches(column).count(), 1, "{column}: {text}");
        }
        for design in designs {
            let rows = text.lines().filter(|line| line.split("  ").next() == Some(design)).count();
            let verdicts = text.lines().filter(|line| line.starts_with(&format!("{design}: "))).count();
            assert_eq!((rows, verdicts), (1, 1), "{design}: {text}");
        }
        for basis in ["documented: ", "measured", "assumed: "] {
            assert!(text.lines().any(|line| line.starts_with(basis)), "{basis}: {text}");
        }
        assert!(text.contains("seed 0") && text.contains("4 layouts"), "{text}");
    }
    // One seeded layout is a matter of luck, and is not called exact.
    let one = |options: &[&str]| printed(folder.run(&arguments("flights.csv", &[ORIGIN], options)));
    assert!(!one(&["--layouts", "1"]).contains("exact"));
    assert!(one(&["--profile", "cosmos"]).contains("exact"));
}

/// Every ceiling is there twice: as the table is laid out, and after the splits for heat that can help.
#[test]
fn a_ceiling_is_cold_and_settled() {
    let report =
        sampled(&[DATE, ORIGIN, DATE_HASH], &["--window", "date", "--partitions", "10", "--layouts", "9"]);
    for (design, settled) in [(0, 1_000.0), (2, 10_000.0)] {
        let design = &report["designs"][design];
        let ceiling = &design["ceiling"];
        assert_near(number(ceiling, "settled"), settled, 1e-6);
        assert_eq!(number(ceiling, "settled"), number(design, "ceiling_per_s"));
        let (rounds, minutes) = (number(ceiling, "split_rounds"), number(ceiling, "settle_minutes"));
        assert!((8.0 * rounds..=12.0 * rounds).contains(&minutes), "{ceiling}");
        let cold = 1_000.0 / number(design, "hottest_partition_share");
        assert!((number(ceiling, "cold") / cold - 1.0).abs() < 0.05, "{ceiling} {cold}");
    }
    // A key that only grows is never divided; a hash is parted in one round.
    assert_eq!(number(&report["designs"][0]["ceiling"], "split_rounds"), 0.0);
    assert_eq!(number(&report["designs"][2]["ceiling"], "split_rounds"), 1.0);
    let verdict = report["designs"][2]["verdict"].as_str().unwrap();
    assert!(verdict.contains("10,000/s after every split that can help, about "), "{verdict}");

    let cosmos = sampled(&[ORIGIN], &["--profile", "cosmos", "--ru", "30000"]);
    let ceiling = &cosmos["designs"][0]["ceiling"];
    assert_eq!(
        (number(ceiling, "cold"), number(ceiling, "settle_minutes")),
        (number(ceiling, "settled"), 0.0)
    );
    let verdict = cosmos["designs"][0]["verdict"].as_str().unwrap();
    assert!(verdict.contains("no more by waiting, as Cosmos DB does not split for heat"), "{verdict}");
}

/// Burst credit at the start: 300 s of the table's throughput, which the first writes of a short file spend.
#[test]
fn burst_credit_is_there_where_it_is_asked_for() {
    let file = std::env::temp_dir().join(format!("hotplate-burst-{}.csv", std::process::id()));
    let rows: String = (0..4_000).map(|n| format!("k{n}\n")).collect();
    std::fs::write(&file, format!("id\n{rows}")).unwrap();
    let served = |burst: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_hotplate"))
            .arg("compare")
            .arg(&file)
            .args([
                "--key",
                "{id}",
                "--wcu",
                "100",
                "--partitions",
                "4",
                "--rate",
                "1000",
                "--json",
                "--burst",
                burst,
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["designs"][0]["throttled_share"].as_f64().unwrap()
    };
    assert!(served("empty") > 0.8);
    assert_eq!(served("full"), 0.0);
    std::fs::remove_file(&file).unwrap();
}
