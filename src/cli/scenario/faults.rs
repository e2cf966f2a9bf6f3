//! What is wrong with a scenario file, each with its line and column.
//!
//! All faults of a file are collected, so that a person corrects it once. This file does not know what a fault is about.

use hotplate::error::{Error, Result};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::Range;

/// Faults that are listed at the most: who made more has misunderstood something, and the first ones say what.
const LISTED_MAX: usize = 20;

/// The faults of one text.
#[derive(Debug)]
pub(crate) struct Faults<'a> {
    name: &'a str,
    text: &'a str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'a> Faults<'a> {
    /// None yet, of a file called `name`.
    pub(crate) fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text, found: RefCell::default() }
    }

    /// There is a fault at these bytes of the text.
    pub(crate) fn add(&self, at: &Range<usize>, what: impl Into<String>) {
        let fault = (at.start, what.into());
        let mut found = self.found.borrow_mut();
        // A value that is looked at twice, such as a key list under two names, is wrong once.
        if !found.contains(&fault) {
            found.push(fault);
        }
    }

    /// Whether there is one.
    pub(crate) fn any(&self) -> bool {
        !self.found.borrow().is_empty()
    }

    /// Where these bytes are: `shop.toml:12:7`, line and column counted from 1, columns in characters.
    pub(crate) fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.name)
    }

    /// Nothing when there are no faults.
    ///
    /// # Errors
    /// All faults, in the order of the file, one a line.
    pub(crate) fn finish(self) -> Result<()> {
        let mut found = self.found.take();
        if found.is_empty() {
            return Ok(());
        }
        found.sort();
        let mut text = String::new();
        for (i, (at, what)) in found.iter().take(LISTED_MAX).enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            let _ = write!(text, "{gap}{}: {what}", self.place(*at));
        }
        if found.len() > LISTED_MAX {
            let _ = write!(text, "\nand {} more", found.len() - LISTED_MAX);
        }
        Err(Error::invalid(text))
    }
}

/// The name of `names` that `wrong` was most likely meant to be: at most a third of its letters differ, or one begins with
/// the other.
pub(crate) fn nearest<'n>(wrong: &str, names: &[&'n str]) -> Option<&'n str> {
    let same = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let wrong = same(wrong);
    let most = (wrong.chars().count() / 3).max(1);
    let distances = names.iter().map(|name| (distance(&wrong, &same(name)), *name));
    let near = distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance);
    let begins = |name: &&&str| {
        let name = same(name);
        wrong.len().min(name.len()) >= BEGINNING_MIN && (name.starts_with(&wrong) || wrong.starts_with(&name))
    };
    near.map(|(_, name)| name).or_else(|| names.iter().find(begins).copied())
}

/// Letters that two names must have in common at their beginning.
const BEGINNING_MIN: usize = 3;

/// Insertions, deletions, changes and swaps of neighbours that make `b` of `a` (Damerau, 1964; restricted).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// ` (did you mean "x"?)`, or nothing.
pub(crate) fn suggestion(wrong: &str, names: &[&str]) -> String {
    nearest(wrong, names).map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

/// `a, b or c`.
pub(crate) fn either(names: &[&str]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_come_in_the_order_of_the_file_with_line_and_column() {
        let text = "a = 1\nü = 2 x\n";
        let faults = Faults::new("f.toml", text);
        assert!(!faults.any());
        faults.add(&(13..14), "second");
        faults.add(&(0..1), "first");
        faults.add(&(0..1), "first");
        assert!(faults.any());
        assert_eq!(faults.finish().unwrap_err().to_string(), "f.toml:1:1: first\nf.toml:2:7: second");
        assert!(Faults::new("f.toml", text).finish().is_ok());
    }

    #[test]
    fn a_long_list_is_cut() {
        let faults = Faults::new("f", "");
        (0..25).for_each(|i| faults.add(&(0..0), format!("{i:02}")));
        assert!(faults.finish().unwrap_err().to_string().ends_with("f:1:1: 19\nand 5 more"));
    }

    #[test]
    fn slips_are_recognised() {
        let names = ["wcu", "rcu", "partitions", "heat_splits", "aws-standard-2026"];
        for (wrong, meant) in [
            ("wuc", Some("wcu")),
            ("partition", Some("partitions")),
            ("heat-splits", Some("heat_splits")),
            ("AWS standard 2026", Some("aws-standard-2026")),
            ("part", Some("partitions")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, &names), meant, "{wrong}");
        }
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }
}
