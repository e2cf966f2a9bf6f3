//! What review forgets: every file says what it is, modules import only from those above them, and the core names no
//! clock, thread or socket.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of the library from top to bottom: each may import from those before it, and from itself.
///
/// `key` and `ring` know of each other by design: a placement makes tokens, a bound inside a logical partition is a sort
/// key. They stand on one line.
const LAYERS: &[&[&str]] = &[
    &["units", "clock", "rng", "error"],
    &["document"],
    &["key", "ring"],
    &["budget", "charge", "heat"],
    &["physics"],
    &["profile"],
    &["store"],
    &["partition"],
    &["cluster"],
    &["client"],
    &["sim"],
    &["dynamodb", "graph", "lab", "testkit"],
    &["server"],
];

/// Lines of one file at the most: one noun a file.
const LINES_MAX: usize = 1_200;

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                out.push((path, text));
            }
        }
    }
    let mut out = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut out);
    assert!(out.len() > 50, "the sources were found");
    out
}

/// The first name of the path below `src`: the module a file belongs to.
fn module(path: &Path) -> String {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let first = below.iter().next().unwrap().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// A file's lines before its tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
}

#[test]
fn every_file_opens_with_what_it_is_and_stays_readable() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{} does not open with //!", path.display());
        assert!(text.lines().count() <= LINES_MAX, "{} is over {LINES_MAX} lines", path.display());
    }
}

#[test]
fn modules_import_only_from_those_above() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    for (path, text) in sources() {
        let own = module(&path);
        let Some(own_layer) = layer(&own) else {
            assert!(["lib", "main", "cli"].contains(&own.as_str()), "{own} has no place among the layers");
            continue;
        };
        for (number, line) in code(&text) {
            let line = line.trim_start();
            if line.starts_with("//") {
                continue;
            }
            for (at, _) in line.match_indices("crate::") {
                let name: String =
                    line[at + 7..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                let other = layer(&name).unwrap_or_else(|| {
                    panic!("{}:{}: crate::{name} has no layer", path.display(), number + 1)
                });
                let allowed =
                    name == own || other < own_layer || (own == "key" || own == "ring") && other == own_layer;
                assert!(allowed, "{}:{}: {own} must not import {name}", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn only_the_shell_names_clocks_and_threads() {
    // The wall-clock driver waits, the lab uses all cores, a creator lets a split finish: each by name and for that.
    let allowed = |own: &str, path: &Path, what: &str| {
        let file = path.file_name().unwrap().to_string_lossy();
        match what {
            "std::time::Instant" => own == "clock",
            // Signatures are dated by the calendar, whatever the service's clock says.
            "SystemTime" => own == "clock" || own == "server" && file == "auth.rs",
            "thread::sleep" => own == "client" && file == "driver.rs",
            "std::net" | "tokio" => own == "server" && file != "api.rs",
            // An API answers between the socket and the engine: it must be free of both.
            "hyper" => own == "server" && file != "api.rs",
            "thread::scope" | "available_parallelism" => own == "lab" && file == "compare.rs",
            // A replay line comes by the environment.
            "std::env" => own == "testkit" && file == "suite.rs",
            "std::fs" | "println!" => false,
            _ => unreachable!(),
        }
    };
    let named = [
        "std::time::Instant",
        "SystemTime",
        "thread::sleep",
        "std::net",
        "tokio",
        "hyper",
        "thread::scope",
        "available_parallelism",
        "std::fs",
        "std::env",
        "println!",
    ];
    for (path, text) in sources() {
        let own = module(&path);
        if ["main", "cli"].contains(&own.as_str()) {
            continue;
        }
        for (number, line) in code(&text).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for what in named.iter().filter(|what| line.contains(**what)) {
                assert!(allowed(&own, &path, what), "{}:{}: {what}", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn nothing_is_left_to_do() {
    for (path, text) in sources() {
        for word in ["todo!(", "unimplemented!(", "dbg!(", "TODO", "FIXME", "XXX"] {
            assert!(!text.contains(word), "{} holds {word}", path.display());
        }
    }
}

/// Links between documents lead somewhere.
#[test]
fn documents_link_to_files_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    for folder in ["docs", "docs/decisions"] {
        documents.extend(fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    for document in documents.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(document).unwrap();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = document.parent().unwrap().join(target);
            assert!(path.exists(), "{} links to {target}, which is not there", document.display());
        }
    }
}
