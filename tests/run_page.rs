//! Promise: the page of `hotplate run --html` needs nothing else, tells what happened, what was published and what each
//! partition did, and is the same bytes for the same run.

#![cfg(feature = "cli")]

mod support;

use serde_json::Value;
use std::fs;
use support::{Folder, printed};

/// A page may be mailed.
const BYTES_MAX: usize = 5_000_000;

/// What these arguments print as JSON, and the page.
fn told_and_page(folder: &Folder, arguments: &[&str]) -> (Value, String) {
    let arguments = [&["run"], arguments, &["--json", "--html", "page.html"]].concat();
    let told = serde_json::from_str(&printed(folder.run(&arguments))).unwrap();
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    assert_well_formed(&page);
    (told, page)
}

/// A page with its escapes resolved, so that texts can be looked for.
fn unescaped(page: &str) -> String {
    [("&#x27;", "'"), ("&#x2f;", "/"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        .iter()
        .fold(page.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

/// Every tag is closed by its own, attributes are quoted, and nothing is loaded or run.
#[track_caller]
fn assert_well_formed(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    let mut open: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let tag = &rest[at + 1..];
        let end = tag.find('>').expect("a tag ends");
        rest = &tag[end + 1..];
        let tag = &tag[..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(!["script", "link", "iframe", "img", "object", "base", "form"].contains(&name), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        // Parts outside of quotes hold names of attributes alone.
        for (i, part) in tag.split('"').enumerate() {
            let value = i % 2 == 1;
            assert!(!value || !part.contains("javascript:"), "{tag}");
            assert!(value || !part.contains([' ', '"']) || !part.contains(" on"), "{tag}");
            assert!(value || !part.contains("NaN") && !part.contains("src="), "{tag}");
        }
        assert!(!tag.contains("NaN") && !tag.contains("inf%") && !tag.contains("\"-"), "{tag}");
        ids.extend(tag.split(" id=\"").nth(1).and_then(|id| id.split('"').next()));
        if !tag.ends_with('/') && !["meta", "!doctype html"].contains(&name) && !tag.starts_with('!') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for target in page.split("href=\"").skip(1).chain(page.split("url(").skip(1)) {
        let target = target.split(['"', ')']).next().unwrap();
        let id = target.strip_prefix('#').unwrap_or_else(|| panic!("{target} is elsewhere"));
        assert_eq!(ids.iter().filter(|known| **known == id).count(), 1, "{id}");
    }
}

/// What a reader needs of a run.
#[track_caller]
fn assert_tells(page: &str, report: &Value) {
    let page = unescaped(page);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for verdict in report["verdicts"].as_array().unwrap() {
        assert!(page.contains(&text(&verdict["text"])), "{verdict}");
    }
    for line in report["basis"].as_array().unwrap() {
        assert!(page.contains(&text(line)), "{line}");
    }
    for published in report["published"].as_array().unwrap() {
        for part in ["figure", "source"] {
            assert!(page.contains(&text(&published[part])), "{published}");
        }
    }
    for load in report["loads"].as_array().unwrap() {
        assert!(page.contains(&format!("Load {}", text(&load["name"]))), "{load}");
        for reason in load["reasons"].as_array().unwrap() {
            assert!(page.contains(&text(&reason["reason"])) && page.contains(&text(&reason["limit"])));
        }
    }
    for table in report["tables"].as_array().unwrap() {
        let name = text(&table["name"]);
        let begin = page.find(&format!("Partitions of {name}<")).unwrap();
        let rows = &page[begin..begin + page[begin..].find("</table>").unwrap()];
        for partition in table["partitions"].as_array().unwrap() {
            let id = partition["id"].as_u64().unwrap();
            assert!(rows.contains(&format!("<td class=\"num\">{id}</td>")), "partition {id} of {name}");
        }
        for key in table["top_keys"].as_array().unwrap() {
            assert!(page.contains(&text(&key["key"])), "{key}");
        }
        for event in table["history"].as_array().unwrap() {
            assert!(page.contains(&text(&event["what"])), "{event}");
        }
    }
    assert!(page.contains(&text(&report["replay"])));
}

#[test]
fn published_figures_stand_beside_ours_and_in_the_charts() {
    let folder = Folder::new();
    for (scenario, published, accepted) in [
        ("l2-sorted-load", &["1,250"][..], "1,000–1,500"),
        ("more-ru-less-throughput", &["17,854", "16,928", "5.3%"], "17,675–18,033"),
        ("a2-split-under-reads", &["6,000", "9,900"], "5,880–6,120"),
    ] {
        let (report, page) = told_and_page(&folder, &[scenario]);
        assert_tells(&page, &report);
        for figure in published {
            assert!(page.contains(&format!("<td class=\"num\">{figure}</td>")), "{scenario}: {figure}");
        }
        assert!(page.contains(accepted), "{scenario}");
        let ours = report["published"].as_array().unwrap();
        assert!(ours.iter().all(|of| of["reproduced"] == true), "{ours:?}");
        assert_eq!(page.matches("✓ reproduced").count(), ours.len(), "{scenario}");
        // Rates are drawn where they belong; a share has no place on that axis.
        let rates = published.iter().filter(|figure| !figure.ends_with('%'));
        for figure in rates {
            assert!(page.contains(&format!("published<b>{figure}</b>")), "{scenario}: {figure}");
        }
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    }
}

#[test]
fn a_split_divides_a_row_at_its_time() {
    let (report, page) = told_and_page(&Folder::new(), &["more-ru-less-throughput"]);
    let partitions = report["tables"][0]["partitions"].as_array().unwrap();
    let parent = partitions.iter().find(|of| !of["until_s"].is_null()).unwrap();
    let at = parent["until_s"].as_f64().unwrap();
    let percent = format!("{:.2}%", at / report["seconds"].as_f64().unwrap() * 100.0);
    let cells =
        |x: &str| page.lines().filter(|line| line.starts_with("<rect class=\"c") && line.contains(x)).count();
    assert!(cells(&format!("x=\"{percent}\"")) >= 2, "both halves begin at {percent}");
    assert!(page.contains(&format!("<line class=\"event\" x1=\"{percent}\"")), "the split is marked");
    // What was refused is hatched.
    assert!(page.contains("fill=\"url(#hatch)\" clip-path=\"url(#h1-1)\""));
}

#[test]
fn a_sweep_is_one_page_with_a_chart_over_its_values() {
    let folder = Folder::new();
    let (reports, page) = told_and_page(&folder, &["shard-sweep", "--sweep", "suffixes=1,5,20"]);
    for (report, value) in reports.as_array().unwrap().iter().zip(["1", "5", "20"]) {
        assert_tells(&page, report);
        assert!(page.contains(&format!(">suffixes = {value}</th>")), "{value}");
    }
    assert_eq!(page.matches("<details ").count(), 3);
    for title in ["Served a second", "Throttled share of attempts"] {
        let begin = page.find(title).unwrap();
        let chart = &page[begin..begin + page[begin..].find("</figure>").unwrap()];
        // Two loads at three values.
        assert_eq!(chart.matches("<circle").count(), 6, "{title}");
    }
}

#[test]
fn kept_figures_stand_beside_those_of_now() {
    let folder = Folder::new();
    printed(folder.run(&["run", "limiter-key", "--save", "./before.json"]));
    let (_, page) = told_and_page(&folder, &["limiter-key", "--against", "./before.json"]);
    assert!(page.contains("Beside figures that were kept") && page.contains(">change</th>"));
}

#[test]
fn the_same_run_gives_the_same_page() {
    let folder = Folder::new();
    for arguments in [&["gsi-topic-hot"][..], &["shard-sweep", "--sweep", "suffixes=1,10"]] {
        let (_, once) = told_and_page(&folder, arguments);
        assert_eq!(told_and_page(&folder, arguments).1, once);
    }
}

/// Texts come from files, so from anyone. Names of scenarios, tables and loads are words; keys, sources, values of parameters
/// and what a scenario is about are not.
#[test]
fn markup_in_texts_stays_text() {
    let attack = "</title></style></svg><script>alert(1)</script>\\\" onload=\\\"x&amp;\\u0007\\u202e";
    let scenario = format!(
        "name = \"a.b\"\nabout = \"{attack}\"\n[parameters]\np = \"1s\"\n\
         [[table]]\nname = \"t\"\nprofile = \"dynamodb\"\nwcu = 1000\n\
         [[load]]\nname = \"w\"\noperation = \"create\"\nrate = 3000\nlasts = \"$p\"\n\
         keys = {{ names = [\"{attack}\"], weights = [1] }}\n\
         [[published]]\nfigure = \"served_per_s\"\nvalue = 1000\naccepted = [1, 2]\nsource = \"{attack}\"\n\
         [[threshold]]\ncheck = \"throttled_share >= 0\"\n"
    );
    let folder = Folder::new().with("a<b>&'.toml", scenario);
    for further in [&[][..], &["--sweep", "p=1s,2s"]] {
        let (_, page) = told_and_page(&folder, &[&["a<b>&'.toml"], further].concat());
        assert!(!page.contains('\u{7}') && !page.contains('\u{202e}'));
        assert_eq!(page.matches("</style>").count() + page.matches("</title></head>").count(), 1);
        let page = unescaped(&page);
        assert!(
            page.contains("</title></style></svg><script>alert(1)</script>\" onload=\"x&"),
            "{further:?}"
        );
        assert!(page.contains("✗ NOT reproduced") && page.contains("✓ holds"));
    }
}
