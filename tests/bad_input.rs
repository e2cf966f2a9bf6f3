//! Promise: wrong input ends in exit code 2 and a clear message on stderr, with nothing on stdout, no file
//! touched, and never in a panic.

#![cfg(feature = "cli")]

mod support;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Output, Stdio};
use support::{Folder, printed};

/// Columns `a` and `b`, and a row without a value in `a`.
const ROWS: &str = "a,b\nx,1\ny,2\n,3\n";

fn rows() -> Folder {
    Folder::new().with("rows.csv", ROWS)
}

/// Everything in a folder, hidden files too.
fn content(folder: &Folder) -> BTreeMap<String, Option<Vec<u8>>> {
    let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    entries.map(|e| (e.file_name().to_string_lossy().into_owned(), fs::read(e.path()).ok())).collect()
}

#[track_caller]
fn assert_refused(output: &Output, expected: &[&str], what: &str) {
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{what}: {message}");
    assert!(output.stdout.is_empty(), "{what}: {}", String::from_utf8_lossy(&output.stdout));
    assert!(message.starts_with("error: ") && message.ends_with('\n'), "{what}: {message}");
    assert!(!message.contains("panicked"), "{what}: {message}");
    assert!(message.chars().all(|c| c == '\n' || !c.is_control()), "{what}: {message:?}");
    for part in expected {
        assert!(message.contains(part), "{what}: {part:?} is not in: {message}");
    }
}

/// The arguments are refused with a message that holds all of `expected`, and the folder stays as it is.
#[track_caller]
fn refused(folder: &Folder, arguments: &[&str], expected: &[&str]) {
    let before = content(folder);
    assert_refused(&folder.run(arguments), expected, &arguments.join(" "));
    assert_eq!(content(folder), before, "{arguments:?}");
}

/// `compare rows.csv --key {b}` with these further arguments is refused, with a page asked for too.
#[track_caller]
fn refused_with(further: &[&str], expected: &[&str]) {
    let arguments = [&["compare", "rows.csv", "--key", "{b}", "--html", "page.html"], further].concat();
    refused(&rows(), &arguments, expected);
}

/// A file of this content is refused.
#[track_caller]
fn refused_file(name: &str, content: impl AsRef<[u8]>, expected: &[&str]) {
    let folder = Folder::new().with(name, content);
    refused(&folder, &["compare", name, "--key", "{a}", "--html", "page.html"], expected);
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_missing_file_is_named() {
    refused(
        &rows(),
        &["compare", "nosuch.csv", "--key", "{a}"],
        &["nosuch.csv cannot be opened", "No such file"],
    );
    refused(&rows(), &["compare", "nosuch/rows.csv", "--key", "{a}"], &["nosuch/rows.csv"]);
    refused(&rows(), &["compare", "", "--key", "{a}"], &["error"]);
}

#[test]
fn a_directory_is_no_file() {
    refused(&rows(), &["compare", ".", "--key", "{a}"], &["Is a directory"]);
}

#[test]
fn a_missing_column_is_named_beside_those_there_are() {
    let there = "rows.csv has no column \"nosuch\": it has a, b";
    refused(&rows(), &["compare", "rows.csv", "--key", "{nosuch}"], &[there]);
    refused(&rows(), &["compare", "rows.csv", "--key", "{a}", "--key", "{a}.{hash(nosuch, 1..9)}"], &[there]);
    refused(&rows(), &["compare", "rows.csv", "--key", "{A}"], &["no column \"A\" (did you mean \"a\"?)"]);
    for option in [&["--window", "nosuch"][..], &["--sort", "nosuch"], &["--time", "nosuch", "--every", "1d"]]
    {
        refused_with(option, &[there]);
    }
}

#[test]
fn a_property_that_no_line_has_is_named_beside_those_there_are() {
    let folder = Folder::new().with("rows.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 2}\n");
    for profile in ["dynamodb", "cosmos"] {
        let arguments = ["compare", "rows.jsonl", "--profile", profile, "--key", "{nosuch}"];
        refused(&folder, &arguments, &["{nosuch}", "2 rows", "absent", "line 1 has a, b"]);
    }
    for option in ["--window", "--sort"] {
        let arguments = ["compare", "rows.jsonl", "--key", "{a}", option, "b"];
        refused(&folder, &arguments, &["rows.jsonl, line 2", "b"]);
    }
}

#[test]
fn an_unparsable_row_is_named_by_its_line() {
    for (name, content, expected) in [
        ("short.csv", "a,b\n1,2\n3\n", "short.csv, line 3: 1 column, but the header has 2"),
        ("long.csv", "a,b\n1,2,3\n", "long.csv, line 2: 3 columns"),
        ("blank.csv", "a,b\r\n\r\n\r\n1,2\r\n3\r\n", "blank.csv, line 5: 1 column"),
        ("quote.csv", "a,b\n1,2\n\"3,4\n5,6\n", "quote.csv, line 3: a quote is opened and never closed"),
        ("short.tsv", "a\tb\n1\t2\n3,4\n", "short.tsv, line 3"),
        ("cut.jsonl", "{\"a\": 1}\n{\"a\":\n", "cut.jsonl, line 2: column 5 is no JSON"),
        ("array.jsonl", "\n[1]\n", "array.jsonl, line 2: is JSON but no object"),
        ("two.jsonl", "{\"a\": 1}\n{\"a\": 1} {\"a\": 2}\n", "two.jsonl, line 2: column 10 is no JSON"),
        ("nan.jsonl", "{\"a\": NaN}\n", "nan.jsonl, line 1: column 7 is no JSON"),
        ("far.jsonl", "{\"a\": 1e999}\n", "far.jsonl, line 1"),
    ] {
        refused_file(name, content, &[expected]);
    }
    refused_file("deep.jsonl", "[".repeat(100_000), &["deep.jsonl, line 1", "recursion limit"]);
    refused_file("deep.jsonl", "{\"a\":".repeat(100_000), &["deep.jsonl, line 1", "recursion limit"]);
}

#[test]
fn columns_of_one_name_are_refused_and_the_last_of_two_properties_counts() {
    refused_file("twice.csv", "a,b,a\n1,2,3\n", &["twice.csv, line 1: two columns are named \"a\""]);
    // As JSON readers do, those of both services among them.
    let folder = Folder::new().with("twice.jsonl", "{\"a\": \"first\", \"a\": \"last\"}\n");
    let text = printed(folder.run(&["compare", "twice.jsonl", "--key", "{a}"]));
    assert!(text.contains("100% last") && !text.contains("100% first"), "{text}");
}

#[test]
fn a_file_without_rows_is_refused() {
    refused_file("none.csv", "", &["none.csv has no rows"]);
    refused_file("head.csv", "a,b\n", &["head.csv has no rows below its header"]);
    refused_file("blank.csv", "a,b\n\n\r\n\n", &["blank.csv has no rows below its header"]);
    refused_file("none.jsonl", "\n \n", &["none.jsonl has no rows"]);
    refused_file("none.csv.gz", gzip(b""), &["none.csv.gz has no rows"]);
    refused_file("bom.csv", "\u{feff}", &["bom.csv has no rows"]);
}

#[test]
fn what_is_no_text_is_refused() {
    // Every byte, in an order without regularity.
    let garbage: Vec<u8> =
        (0..5_000_u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    for name in ["garbage", "garbage.csv", "garbage.jsonl", "garbage.gz"] {
        refused_file(name, &garbage, &[name, "line 1", "not UTF-8"]);
    }
    refused_file("latin.csv", b"a,b\n1,2\n3,\xe9\n", &["latin.csv, line 3: b is not UTF-8 text"]);
    refused_file("latin.csv", b"a,\xe9\n1,2\n", &["latin.csv, line 1: the header is not UTF-8 text"]);
    refused_file("latin.jsonl", b"{\"a\": \"\xe9\"}\n", &["latin.jsonl, line 1: is not UTF-8 text"]);
    refused_file("wide.csv", b"\xff\xfea\0,\0b\0\n\0", &["wide.csv, line 1", "not UTF-8"]);
}

#[test]
fn damaged_gzip_data_is_refused() {
    let long: String = (0..20_000).map(|i| format!("{i},{}\n", i * i)).collect();
    let whole = gzip(format!("a,b\n{long}").as_bytes());
    for name in ["rows.csv.gz", "rows.bin"] {
        refused_file(name, &whole[..whole.len() / 2], &[name, "line ", "the gzip data ends too early"]);
        refused_file(name, &whole[..whole.len() - 3], &[name, "the gzip data ends too early"]);
        let mut damaged = whole.clone();
        let end = damaged.len();
        damaged[end - 6] ^= 0xff;
        refused_file(name, damaged, &[name, "the gzip data is damaged"]);
    }
    refused_file("head.csv.gz", [0x1f, 0x8b], &["head.csv.gz", "gzip"]);
    refused_file("head.csv.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], &["head.csv.gz", "gzip"]);
}

#[test]
fn a_row_without_an_end_is_not_read_into_memory() {
    let huge = "x".repeat(17 << 20);
    refused_file("huge.csv", format!("a,b\n{huge},1\n"), &["huge.csv, line 2: the row is longer than 16 MB"]);
    refused_file("huge.jsonl", format!("{{\"a\": \"{huge}\"}}\n"), &["huge.jsonl, line 1", "16 MB"]);
    // Compressed, it is tiny.
    refused_file(
        "huge.csv.gz",
        gzip(format!("a,b\n1,\"{huge}").as_bytes()),
        &["huge.csv.gz, line 2", "16 MB"],
    );
    #[cfg(target_os = "linux")]
    refused(&rows(), &["compare", "/dev/zero", "--key", "{a}"], &["/dev/zero, line 1", "16 MB"]);
}

/// The caret stands under the fault: as many characters into its line as the fault is into the template.
#[test]
fn a_bad_template_is_shown_with_a_caret_under_the_fault() {
    for (template, fault, expected) in [
        ("{a}-{b", 4, "a `{` that is never closed"),
        ("a}b", 1, "a `}` that closes nothing"),
        ("{é}𝄞漢}", 5, "a `}` that closes nothing"),
        ("x{}", 2, "an empty field"),
        ("{a b}", 3, "instead of"),
        ("{md5(a, 1..9)}", 1, "an unknown function `md5`"),
        ("{hash(a)}", 7, "`)` instead of `,`"),
        ("{random(NaN)}", 8, "`N` instead of a whole number"),
        ("{random(-1..2)}", 8, "`-` instead of a whole number"),
        ("{random(01..2)}", 8, "a leading zero"),
        // Ranges that are empty, over a million, or beyond any number.
        ("{a}.{random(200..1)}", 12, "an empty range 200..1"),
        ("{a}.{hash(b, 2..1)}", 13, "an empty range 2..1"),
        ("{a}.{product(b, 1..1000001)}", 16, "a range of 1000001 suffixes"),
        ("{a}.{hash(b, 0..1000000000000000)}", 13, "at most 1000000 suffixes"),
        ("{random(1..99999999999999999999999)}", 11, "a number that is too large"),
        ("", 0, "nothing in the key template"),
    ] {
        for command in [&["compare", "rows.csv"][..], &["emit", "--lang", "python"]] {
            let folder = rows();
            let arguments = [command, &["--key", template]].concat();
            refused(&folder, &arguments, &[expected]);
            let message = String::from_utf8(folder.run(&arguments).stderr).unwrap();
            let lines: Vec<&str> = message.lines().collect();
            assert_eq!(lines[1..3], [format!("  {template}"), format!("  {:fault$}^", "")], "{message}");
        }
    }
    refused(&rows(), &["compare", "rows.csv", "--key", "{a\u{1b}[31m}"], &["{a\u{fffd}[31m}\n    ^"]);
    refused(&rows(), &["compare", "rows.csv", "--key", &"x".repeat(5_000)], &["more than 2048 bytes"]);
    // A million suffixes are allowed.
    printed(rows().run(&["compare", "rows.csv", "--key", "{b}.{random(1..1000000)}"]));
}

#[test]
fn a_design_is_given_once_and_not_too_many_are() {
    refused_with(&["--key", "{ b }"], &["--key: {b} is given twice"]);
    let many: Vec<String> = (0..40).map(|i| format!("{{a}}{i}")).collect();
    let further: Vec<&str> = many.iter().flat_map(|key| ["--key", key]).collect();
    refused_with(&further, &["--key: at most 32 designs"]);
    refused(&rows(), &["compare", "rows.csv"], &["--key"]);
    refused(&rows(), &["compare", "--key", "{a}"], &["<FILE>"]);
}

#[test]
fn an_unknown_profile_is_refused_with_the_known_ones() {
    for profile in ["nosuch", "", "DynamoDB", "\u{1b}[31m"] {
        refused_with(&["--profile", profile], &["unknown profile", "dynamodb, dynamodb-on-demand or cosmos"]);
    }
}

#[test]
fn zero_and_absurd_numbers_are_refused() {
    // Ten to the fifteenth, and more than any integer holds.
    const FAR: &str = "1000000000000000";
    const BEYOND: &str = "99999999999999999999999";
    for option in ["--wcu", "--rcu", "--rate", "--workers", "--partitions", "--layouts", "--item-size"] {
        for value in ["0", FAR, BEYOND, "-1", "-9223372036854775808", "NaN", "inf", "1e3", "٣", "", " "] {
            let name = option.trim_start_matches('-');
            let name = if name == "item-size" && !value.trim().is_empty() { "item" } else { name };
            refused_with(&[option, value], &[name]);
        }
    }
    for value in ["0", "399", FAR, BEYOND, "-1", "NaN"] {
        refused_with(&["--profile", "cosmos", "--ru", value], &["--ru"]);
    }
    for value in
        ["0ms", "0s", "1ns", "9us", "61s", "1h", FAR, "1000000000000000s", "-5ms", "NaN", "5", "soon"]
    {
        refused_with(&["--service-time", value], &["service"]);
    }
    for value in [FAR, "-1", "NaN"] {
        refused_with(&["--retries", value], &["--retries"]);
    }
    for value in ["-1", BEYOND, "NaN"] {
        refused_with(&["--seed", value], &["--seed"]);
    }
    for value in ["0d", "-1d", "1000000000000000d", "NaN", "1 fortnight"] {
        refused_with(&["--time", "b", "--every", value], &["--every", "no span of time"]);
    }
    // More partitions than the table may have, by throughput alone.
    refused_with(&["--wcu", "10000000"], &["10000 physical partitions"]);
    // Fewer than the throughput needs.
    refused_with(
        &["--profile", "cosmos", "--ru", "50000", "--partitions", "4"],
        &["--partitions", "at least 5"],
    );
}

#[test]
fn an_item_over_the_size_limit_of_the_service_is_refused() {
    refused_with(
        &["--item-size", "401KB"],
        &["--item-size", "401 KB is over the 400 KB that DynamoDB allows"],
    );
    refused_with(&["--item-size", "409601B", "--profile", "dynamodb-on-demand"], &["that DynamoDB allows"]);
    refused_with(
        &["--item-size", "3MB", "--profile", "cosmos"],
        &["3 MB is over the 2 MB that Cosmos DB allows"],
    );
    printed(rows().run(&["compare", "rows.csv", "--key", "{b}", "--item-size", "400KB"]));
    let cosmos = ["compare", "rows.csv", "--key", "{b}", "--item-size", "2MB", "--profile", "cosmos"];
    printed(rows().run(&cosmos));
}

#[test]
fn an_empty_key_is_skipped_and_named_or_refused_when_strict() {
    let report = |further: &[&str]| {
        let arguments = [&["compare", "rows.csv", "--key", "{a}", "--json"], further].concat();
        let text = printed(rows().run(&arguments));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    for profile in ["dynamodb", "dynamodb-on-demand"] {
        let design = &report(&["--profile", profile])["designs"][0];
        assert_eq!((&design["writes"], &design["skipped_rows"]), (&2.into(), &1.into()));
        let example = design["skipped_examples"][0].as_str().unwrap();
        assert!(example.starts_with("line 4: ") && example.contains("empty"), "{example}");
    }
    let text = printed(rows().run(&["compare", "rows.csv", "--key", "{a}"]));
    assert!(
        text.contains("1 row without a key") && text.contains("skipped") && text.contains("line 4: "),
        "{text}"
    );
    let strict = ["compare", "rows.csv", "--key", "{a}", "--strict", "--html", "page.html"];
    refused(&rows(), &strict, &["rows.csv, line 4: {a}: its key is empty"]);
    // Cosmos DB has such keys, strict or not.
    let design = &report(&["--profile", "cosmos", "--strict"])["designs"][0];
    assert_eq!((&design["writes"], &design["skipped_rows"]), (&3.into(), &0.into()));
    refused_file(
        "empty.csv",
        "a,b\n,1\n,2\n",
        &["{a}: not one of 2 rows has a key", "line 2: its key is empty"],
    );
    refused_file("long.csv", format!("a\n{}\n", "x".repeat(2_049)), &["2049 bytes", "at most 2048"]);
}

#[test]
fn cosmos_keeps_empty_null_and_absent_apart() {
    let folder =
        Folder::new().with("rows.jsonl", "{\"a\": \"\"}\n{\"a\": null}\n{\"b\": 1}\n{\"a\": \"\"}\n");
    let cosmos = ["compare", "rows.jsonl", "--key", "{a}", "--profile", "cosmos", "--strict", "--json"];
    let report: serde_json::Value = serde_json::from_str(&printed(folder.run(&cosmos))).unwrap();
    let design = &report["designs"][0];
    assert_eq!((&design["writes"], &design["skipped_rows"]), (&4.into(), &0.into()));
    let keys = design["top_keys"].as_array().unwrap();
    let keys: Vec<_> =
        keys.iter().map(|key| (key["key"].as_str().unwrap(), key["share"].as_f64().unwrap())).collect();
    assert_eq!(keys.len(), 3);
    for expected in [("\"\"", 0.5), ("null", 0.25), ("(absent)", 0.25)] {
        assert!(keys.contains(&expected), "{keys:?}");
    }
    // DynamoDB has none of the three.
    refused(&folder, &["compare", "rows.jsonl", "--key", "{a}"], &["not one of 4 rows has a key"]);
    let strict = ["compare", "rows.jsonl", "--key", "{a}", "--strict"];
    refused(&folder, &strict, &["rows.jsonl, line 1: {a}: its key is empty"]);
    let concatenated = ["compare", "rows.jsonl", "--key", "{a}-", "--strict"];
    refused(&folder, &concatenated, &["rows.jsonl, line 2: {a}-: property a is null"]);
}

#[test]
fn a_window_column_holds_what_a_window_can_be() {
    let time = ["compare", "rows.csv", "--key", "{b}", "--time", "a", "--every", "1d"];
    refused(&rows(), &time, &["rows.csv, line 2: a: \"x\" is no time", "2013-01-31"]);
}

#[test]
fn a_read_names_properties_and_their_values() {
    for (read, expected) in [
        ("b", "has a part without ="),
        ("", "has a part without ="),
        ("=1", "has a bad name"),
        ("{b}=1", "has a bad name"),
        ("b=1,", "has a part without ="),
        ("b=1,b=2", "names a property twice"),
        ("nosuch=1", "no column \"nosuch\": it has a, b"),
    ] {
        refused_with(&["--read", read], &["--read", expected]);
    }
    let many: Vec<String> = (0..100).map(|i| format!("b={i}")).collect();
    let further: Vec<&str> = many.iter().flat_map(|read| ["--read", read]).collect();
    refused_with(&further, &["--read: at most"]);
    for (mix, expected) in [
        ("write=80", "is no mix"),
        ("write=80,read=", "is no mix"),
        ("write=80,read=-1", "is no mix"),
        ("write=80,write=20", "is no mix"),
        ("80,20", "is no mix"),
        ("write=0,read=20", "write: 1 to"),
        ("write=1,read=99999999", "read: 1 to"),
    ] {
        refused_with(&["--read", "b=1", "--rcu", "5", "--mix", mix], &["--mix", expected]);
    }
    let read = ["--read", "b=1", "--mix", "write=80,read=20"];
    refused_with(&read, &["--mix: say with --rcu"]);
    refused_with(
        &[&read[..], &["--rcu", "5", "--workers", "5"]].concat(),
        &["--mix: reads run beside a --rate"],
    );
    refused_with(&["--mix", "write=80,read=20"], &["--read"]);
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    for (flags, expected) in [
        (&["--rate", "5", "--workers", "5"][..], "--workers"),
        (&["--window", "b", "--time", "b", "--every", "1d"], "--time"),
        (&["--time", "b"], "--every"),
        (&["--every", "1d"], "--time"),
        (&["--window", "b", "--every", "1d"], "--every"),
        (&["--window", "b", "--workers", "5"], "window"),
        (&["--window", "b", "--retries", "5"], "window"),
        (&["--ru", "5000"], "--ru does not go with --profile dynamodb"),
        (&["--profile", "cosmos", "--wcu", "5"], "--wcu does not go with --profile cosmos"),
        (&["--profile", "cosmos", "--rcu", "5"], "--rcu does not go with --profile cosmos"),
        (&["--profile", "dynamodb-on-demand", "--wcu", "5"], "--wcu does not go with"),
        (&["--profile", "cosmos", "--layouts", "2"], "layouts"),
        (&["--order", "backwards"], "--order"),
        (&["--nosuch"], "--nosuch"),
        (&["--rate", "5", "--rate", "6"], "--rate"),
        (&["second.csv"], "second.csv"),
    ] {
        refused_with(flags, &[expected]);
    }
    refused(&rows(), &["nosuch"], &["nosuch"]);
}

#[test]
fn an_unwritable_page_is_refused_before_the_work() {
    let folder = rows();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (page, expected) in [
        ("nosuch/page.html", "nosuch/page.html cannot be written: No such file"),
        ("folder", "folder cannot be written: it is a directory"),
        ("folder/", "it is a directory"),
        ("..", "it is a directory"),
        // No directory that root could write to all the same.
        ("rows.csv/page.html", "rows.csv/page.html cannot be written: Not a directory"),
        ("", "--html"),
        ("page.html/", "page.html/ cannot be written"),
    ] {
        refused(&folder, &["compare", "rows.csv", "--key", "{b}", "--html", page], &[expected]);
    }
    // A long name leaves no room for the one beside it.
    let long = "x".repeat(300);
    refused(&folder, &["compare", "rows.csv", "--key", "{b}", "--html", &long], &["cannot be written"]);
}

#[test]
fn a_page_replaces_neither_the_data_nor_a_device() {
    let folder = rows();
    let link = folder.path().join("link.html");
    let absolute = folder.path().join("rows.csv").display().to_string();
    for page in ["rows.csv", "./rows.csv", &absolute] {
        let arguments = ["compare", "rows.csv", "--key", "{b}", "--html", page];
        refused(&folder, &arguments, &["--html"]);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("rows.csv", &link).unwrap();
        refused(&folder, &["compare", "rows.csv", "--key", "{b}", "--html", "link.html"], &["--html"]);
        fs::remove_file(&link).unwrap();
        // A pipe stands for a device: as root, /dev/null itself would be lost if this failed.
        let made = std::process::Command::new("mkfifo").arg(&link).status().unwrap();
        assert!(made.success());
        let output = folder.run(&["compare", "rows.csv", "--key", "{b}", "--html", "link.html"]);
        assert_refused(&output, &["link.html cannot be written: it is not a regular file"], "a pipe");
    }
}

#[test]
fn a_refused_run_leaves_an_older_page_alone() {
    let folder = rows().with("page.html", "older");
    let strict = ["compare", "rows.csv", "--key", "{a}", "--strict", "--html", "page.html"];
    refused(&folder, &strict, &["line 4"]);
    printed(folder.run(&["compare", "rows.csv", "--key", "{b}", "--html", "page.html"]));
    assert_eq!(content(&folder).into_keys().collect::<Vec<_>>(), ["page.html", "rows.csv"]);
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in [
        &["compare", "rows.csv", "--key", "{b}"][..],
        &["compare", "rows.csv", "--key", "{b}", "--json"],
        &["where", "x"],
        &["emit", "--key", "{b}", "--lang", "python"],
    ] {
        let folder = rows();
        let mut child =
            folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_even_when_it_cannot_be_told() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let output = rows().command(&["where", "x"]).stdout(full()).output().unwrap();
    assert_refused(&output, &["stdout cannot be written"], "stdout");
    let output = rows().command(&["compare", "nosuch.csv", "--key", "{a}"]).stderr(full()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
}

/// Data may hold terminal escapes; no message and no report passes them on.
#[test]
fn control_characters_of_the_data_never_reach_the_terminal() {
    let esc = "\u{1b}[31m";
    let folder = Folder::new()
        .with("head.csv", format!("a{esc},b\n1,2\n"))
        .with("cell.csv", format!("a,b\n{esc}\u{7}\t\u{9b},2\n"))
        .with("rows.jsonl", "{\"a\": \"\\u001b[31m\\u0000\", \"b\\u001b\": 1}\n")
        .with(&format!("{esc}.csv"), "a,b\nx,1\n");
    refused(&folder, &["compare", "head.csv", "--key", "{a}"], &["it has a?[31m, b"]);
    refused(&folder, &["compare", "cell.csv", "--key", "{b}", "--time", "a", "--every", "1d"], &["no time"]);
    refused(&folder, &["compare", "rows.jsonl", "--key", "{b}"], &["line 1 has a, b?"]);
    refused(&folder, &["compare", &format!("{esc}.csv"), "--key", "{c}"], &["?[31m.csv"]);
    refused(&folder, &["compare", &format!("nosuch{esc}"), "--key", "{c}"], &["nosuch?[31m"]);
    for arguments in [
        ["compare", "cell.csv", "--key", "{a}"],
        ["compare", "rows.jsonl", "--key", "{a}"],
        ["compare", &format!("{esc}.csv"), "--key", "{a}"],
    ] {
        let text = printed(folder.run(&arguments));
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}

#[test]
fn a_very_long_key_does_not_flood_the_report() {
    let key = "k".repeat(2_048);
    let window = "w".repeat(100_000);
    let folder = Folder::new().with("rows.csv", format!("a,b\n{key},{window}\n"));
    let text =
        printed(folder.run(&["compare", "rows.csv", "--key", "{a}", "--window", "b", "--rate", "9000"]));
    assert!(text.contains("kkkk") && text.contains("wwww") && text.len() < 5_000, "{} bytes", text.len());
}

/// A byte order mark is no part of the first column's name.
#[test]
fn files_from_a_spreadsheet_are_read() {
    let folder = Folder::new()
        .with("bom.csv", "\u{feff}a,b\r\nx,1\r\n")
        .with("quoted.csv", "\u{feff}\"a\",\"größe, 漢\"\r\n\"x\r\ny\",1\r\n");
    printed(folder.run(&["compare", "bom.csv", "--key", "{a}"]));
    printed(folder.run(&["compare", "quoted.csv", "--key", "{a}.{\"größe, 漢\"}"]));
}
