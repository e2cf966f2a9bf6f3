//! Promise: `--html` writes one page that needs nothing else, says what the terminal says, and that a browser
//! draws.

#![cfg(feature = "cli")]

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Folder, printed};

const FLIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/nyc-flights-2013.csv.gz");

const CHROMIUM: &str = "/usr/bin/chromium";

/// How long a browser may take.
const DEADLINE: Duration = Duration::from_secs(60);

const DESIGNS: [&str; 4] =
    ["{date}", "{origin}", "{origin}.{product(tailnum, 1..200)}", "{date}.{hash(tailnum, 1..200)}"];

/// The report of these further options, and its page.
fn report_and_page(folder: &Folder, file: &str, designs: &[&str], further: &[&str]) -> (Value, String) {
    let mut arguments = vec!["compare", file, "--json", "--html", "page.html"];
    arguments.extend(designs.iter().flat_map(|design| ["--key", design]));
    arguments.extend(further);
    let report = serde_json::from_str(&printed(folder.run(&arguments))).unwrap();
    (report, fs::read_to_string(folder.path().join("page.html")).unwrap())
}

/// A page with its escapes resolved, so that texts can be looked for.
fn unescaped(page: &str) -> String {
    [("&#x27;", "'"), ("&#x2f;", "/"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        .iter()
        .fold(page.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[track_caller]
fn assert_self_contained(page: &str) {
    let lower = page.to_lowercase();
    assert!(lower.starts_with("<!doctype html>") && lower.trim_end().ends_with("</html>"));
    for outside in
        ["http://", "https://", "src=", "srcset=", "@import", "<link", "<script", "<iframe", "javascript:"]
    {
        assert!(!lower.contains(outside), "{outside}");
    }
    // What is referred to stands on the page.
    let targets = lower.split("href=\"").skip(1).chain(lower.split("url(").skip(1));
    for target in targets {
        assert!(target.starts_with('#'), "{}", target.chars().take(60).collect::<String>());
    }
}

#[test]
fn the_page_holds_what_the_report_says_and_nothing_from_elsewhere() {
    let folder = Folder::new();
    for further in [
        &["--rate", "9000", "--layouts", "5"][..],
        &["--rate", "9000", "--layouts", "2", "--window", "date"],
        &["--profile", "cosmos"],
    ] {
        let (report, page) = report_and_page(&folder, FLIGHTS, &DESIGNS, further);
        assert_self_contained(&page);
        let page = unescaped(&page);
        for design in report["designs"].as_array().unwrap() {
            for text in ["key", "verdict"] {
                assert!(page.contains(design[text].as_str().unwrap()), "{}", design[text]);
            }
            for key in design["top_keys"].as_array().unwrap() {
                assert!(page.contains(key["key"].as_str().unwrap()), "{key}");
            }
        }
        for list in ["warnings", "basis"] {
            for line in report[list].as_array().unwrap() {
                assert!(page.contains(line.as_str().unwrap()), "{line}");
            }
        }
        assert!(page.matches("<svg").count() >= DESIGNS.len(), "a heat map per design");
        assert!(page.contains("name=\"viewport\"") && page.contains("prefers-color-scheme: dark"));
    }
}

/// Keys, columns and names come from the data, so from anyone.
#[test]
fn markup_in_the_data_stays_text() {
    let attack = "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x";
    let cell = attack.replace('"', "\"\"");
    let rows = format!("\"{cell}\",b\n\"{cell}\",1\n\"{cell}{cell}\",2\n");
    let folder = Folder::new().with("a<b>&\"'.csv", rows);
    let column = format!("{{\"{}\"}}", attack.replace('"', "\\\""));
    let (_, page) = report_and_page(&folder, "a<b>&\"'.csv", &[&column], &["--window", attack]);
    for tag in ["<script", "<img", "</style></svg>", "\" onload=\"x"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert_eq!(page.matches("</title></head>").count() + page.matches("</style>").count(), 1);
    assert!(unescaped(&page).contains(attack));
}

#[test]
fn a_browser_draws_the_page() {
    if !Path::new(CHROMIUM).exists() {
        println!("skipped: there is no {CHROMIUM}");
        return;
    }
    let folder = Folder::new();
    let further = ["--rate", "9000", "--layouts", "2", "--window", "date", "--find-max"];
    report_and_page(&folder, FLIGHTS, &DESIGNS, &further);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut browser = Command::new(CHROMIUM)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", path("profile")))
        .arg(format!("--screenshot={}", path("page.png")))
        .arg("--window-size=1280,2400")
        .arg(format!("file://{}", path("page.html")))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if begin.elapsed() > DEADLINE {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("no screenshot after {DEADLINE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let picture = fs::read(folder.path().join("page.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"));
    // An empty page of this size compresses to 10 KB.
    assert!(picture.len() > 20_000, "{} bytes", picture.len());
}
