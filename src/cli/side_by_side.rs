//! Runs side by side: a sweep's, or one beside figures that were kept.
//!
//! Figures are taken from the JSON of a report, because that is what is kept; a run of now is looked at in the same way. What
//! a figure means is `lab::run::report`'s to say.

use super::output::PendingFile;
use super::prose::figure;
use super::run::Told;
use super::table::{Align, Table};
use hotplate::error::{Error, ErrorKind, Result};
use hotplate::lab::percent;
use hotplate::lab::run::SCHEMA;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where named figures are kept.
const FOLDER: &str = "target/hotplate";

/// Bytes of a kept file at the most: a report of hundreds of partitions is far smaller.
const BASELINE_MAX: u64 = 1 << 30;

/// A change that is not shown as one: it is under a thousandth.
const UNCHANGED: f64 = 0.000_5;

/// How a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Number,
    Share,
    Millis,
}

/// Figures of a load: name, path in the report, unit.
const OF_LOAD: [(&str, &str, Unit); 9] = [
    ("offered/s", "offered_per_s", Unit::Number),
    ("served/s", "served_per_s", Unit::Number),
    ("units/s", "units_per_s", Unit::Number),
    ("throttled", "throttled_share", Unit::Share),
    ("gave up", "gave_up_share", Unit::Share),
    ("requests", "attempts", Unit::Number),
    ("p50 ms", "p50_ms", Unit::Millis),
    ("p99 ms", "p99_ms", Unit::Millis),
    ("p99.9 ms", "p999_ms", Unit::Millis),
];

/// The figures of one run in a column.
#[derive(Debug)]
pub(crate) struct Column {
    head: String,
    figures: Vec<(String, f64, Unit)>,
    /// How many thresholds hold, of how many.
    thresholds: (usize, usize),
}

impl Column {
    /// The figures of a run.
    ///
    /// # Errors
    /// None that a report can cause.
    pub(crate) fn new(head: String, told: &Told) -> Result<Self> {
        let value = serde_json::to_value(&told.report)
            .map_err(|error| Error::invalid(format!("the report cannot be written as JSON: {error}")))?;
        Ok(Self::of(head, &value))
    }

    fn of(head: String, report: &Value) -> Self {
        let list = |name: &str| report[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let name_of = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
        let mut figures = Vec::new();
        for load in list("loads") {
            for (name, path, unit) in OF_LOAD {
                if let Some(value) = load[path].as_f64() {
                    figures.push((format!("{}: {name}", name_of(load)), value, unit));
                }
            }
        }
        for table in list("tables") {
            let name = name_of(table);
            let mut push = |what: &str, value: Option<f64>, unit| {
                figures.extend(value.map(|value| (format!("{name}: {what}"), value, unit)));
            };
            push("partitions", table["partitions_at_end"].as_f64(), Unit::Number);
            let partitions = table["partitions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let shares = partitions.iter().filter_map(|partition| partition["share"].as_f64());
            push("hottest partition", shares.reduce(f64::max), Unit::Share);
            push("hottest key", table["top_keys"][0]["share"].as_f64(), Unit::Share);
            push("max/mean", table["max_over_mean"].as_f64(), Unit::Number);
        }
        figures
            .extend(report["seconds"].as_f64().map(|seconds| ("seconds".to_owned(), seconds, Unit::Number)));
        let thresholds = list("thresholds");
        let passed = thresholds.iter().filter(|threshold| threshold["passed"] == true).count();
        Self { head, figures, thresholds: (passed, thresholds.len()) }
    }

    fn find(&self, name: &str) -> Option<(f64, Unit)> {
        self.figures.iter().find(|(known, ..)| known == name).map(|&(_, value, unit)| (value, unit))
    }
}

fn show(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Number => figure(value),
        Unit::Share => percent(value),
        Unit::Millis => super::prose::millis(value),
    }
}

/// All figures that some column has, in the order of the first that has them.
fn names(columns: &[Column]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        for (name, ..) in &column.figures {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Figures beside each other, as texts.
#[derive(Debug)]
pub(crate) struct Beside {
    /// Over the columns; the first is over the names.
    pub(crate) heads: Vec<String>,
    /// A name and a cell for each column.
    pub(crate) rows: Vec<Vec<String>>,
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
}

impl Beside {
    /// Figures as rows, runs as columns.
    pub(crate) fn new(columns: &[Column]) -> Self {
        let heads =
            [String::new()].into_iter().chain(columns.iter().map(|column| column.head.clone())).collect();
        let mut rows = Vec::new();
        for name in names(columns) {
            let cell = |column: &Column| {
                column.find(&name).map_or_else(|| "–".into(), |(value, unit)| show(value, unit))
            };
            rows.push([name.clone()].into_iter().chain(columns.iter().map(cell)).collect());
        }
        if columns.iter().any(|column| column.thresholds.1 > 0) {
            let cell = |column: &Column| match column.thresholds {
                (passed, all) if passed == all => "all hold".to_owned(),
                (passed, all) => format!("{} of {all} fail", all - passed),
            };
            rows.push(["thresholds".to_owned()].into_iter().chain(columns.iter().map(cell)).collect());
        }
        Self { heads, rows, notes: Vec::new() }
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let aligned = |(i, head): (usize, &'_ String)| match i {
            0 => (head.clone(), Align::Left),
            _ => (head.clone(), Align::Right),
        };
        let heads: Vec<(String, Align)> = self.heads.iter().enumerate().map(aligned).collect();
        let heads: Vec<(&str, Align)> = heads.iter().map(|(head, align)| (head.as_str(), *align)).collect();
        let mut table = Table::new(&heads);
        self.rows.iter().for_each(|row| table.row(row.clone()));
        let mut out = table.to_string();
        for note in &self.notes {
            let _ = writeln!(out, "{note}");
        }
        out
    }
}

/// The file of a baseline: a path is taken as it is, a name is below [`FOLDER`].
fn place(base: &str) -> Result<PathBuf> {
    if base.is_empty() {
        return Err(Error::invalid("a baseline needs a name: give one, or a path"));
    }
    if base.contains(['/', '\\']) || base.ends_with(".json") {
        return Ok(PathBuf::from(base));
    }
    Ok(Path::new(FOLDER).join(format!("{base}.json")))
}

/// A file for figures that are to be kept.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn pending(base: &str) -> Result<PendingFile> {
    let path = place(base)?;
    if path.starts_with(FOLDER) {
        let fail = |error| Error::new(ErrorKind::Io, format!("--save: {FOLDER} cannot be made: {error}"));
        std::fs::create_dir_all(FOLDER).map_err(fail)?;
    }
    PendingFile::create(&path).map_err(|error| error.within("--save"))
}

/// Figures that were kept.
#[derive(Debug)]
pub(crate) struct Baseline {
    base: String,
    report: Value,
}

impl Baseline {
    /// Reads them.
    ///
    /// # Errors
    /// When there are none, or the file holds something else.
    pub(crate) fn open(base: &str) -> Result<Self> {
        let path = place(base)?;
        let wrong = |why: String| Error::invalid(format!("--against: {} {why}", path.display()));
        let length = std::fs::metadata(&path).map(|there| there.len());
        let length = length.map_err(|error| {
            wrong(format!("cannot be read: {error}; keep figures there first, with --save {base}"))
        })?;
        if length > BASELINE_MAX {
            return Err(wrong("is too large for a report".into()));
        }
        let text =
            std::fs::read_to_string(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let report: Value =
            serde_json::from_str(&text).map_err(|error| wrong(format!("is no report of a run: {error}")))?;
        match report["schema"].as_u64() {
            Some(schema) if schema == u64::from(SCHEMA) => Ok(Self { base: base.to_owned(), report }),
            Some(schema) => {
                Err(wrong(format!("has the shape {schema}, and this version reads {SCHEMA}: save it again")))
            }
            None => Err(wrong("is no report of a run: save one with --save, or with --json".into())),
        }
    }

    /// Whether they are of this scenario.
    ///
    /// # Errors
    /// When they are of another.
    pub(crate) fn check(&self, scenario: &str) -> Result<()> {
        match self.report["scenario"].as_str() {
            Some(name) if name == scenario => Ok(()),
            name => Err(Error::invalid(format!(
                "--against {}: those are figures of the scenario {}, and this is {scenario}",
                self.base,
                name.unwrap_or("without a name")
            ))),
        }
    }

    /// The kept figures, those of now, and how much they changed.
    ///
    /// # Errors
    /// None that a report can cause.
    pub(crate) fn beside(&self, told: &Told) -> Result<Beside> {
        let columns = [Column::of(self.base.clone(), &self.report), Column::new("now".into(), told)?];
        let heads = [String::new(), self.base.clone(), "now".into(), "change".into()].into();
        let mut rows = Vec::new();
        for name in names(&columns) {
            let (then, now) = (columns[0].find(&name), columns[1].find(&name));
            let cell = |found: Option<(f64, Unit)>| {
                found.map_or_else(|| "–".into(), |(value, unit)| show(value, unit))
            };
            let change = match (then, now) {
                (Some((then, unit)), Some((now, _))) => change(then, now, unit),
                (None, _) => "new".into(),
                (_, None) => "gone".into(),
            };
            rows.push(vec![name.clone(), cell(then), cell(now), change]);
        }
        let mut notes = Vec::new();
        if self.report["digest"].as_str().is_some_and(|digest| digest != told.digest) {
            let base = &self.base;
            notes.push(format!("The scenario or its parameters have changed since \"{base}\" was saved."));
        }
        if self.report["seed"].as_u64().is_some_and(|seed| seed != told.report.seed) {
            notes.push(format!("The seed is another than that of \"{}\".", self.base));
        }
        Ok(Beside { heads, rows, notes })
    }
}

/// The relative change, in percent; of a share the difference in percentage points, since a percentage of one is misread.
fn change(then: f64, now: f64, unit: Unit) -> String {
    if then == now {
        return "=".into();
    }
    if unit == Unit::Share {
        let points = (now - then) * 100.0;
        return if points.abs() < 0.05 { "=".into() } else { format!("{points:+.1} points") };
    }
    if then == 0.0 {
        return "from 0".into();
    }
    let relative = now / then - 1.0;
    if relative.abs() < UNCHANGED { "=".into() } else { format!("{:+.1}%", relative * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(served: f64, partitions: u32) -> Value {
        json!({
            "schema": SCHEMA, "scenario": "s", "seconds": 10.0, "seed": 1,
            "loads": [{"name": "w", "served_per_s": served, "throttled_share": 0.5}],
            "tables": [{"name": "t", "partitions_at_end": partitions, "partitions": [{"share": 0.25}, {"share": 0.75}]}],
            "thresholds": [{"passed": true}, {"passed": false}],
        })
    }

    #[test]
    fn figures_are_rows_and_runs_are_columns() {
        let columns = [
            Column::of("n = 1".into(), &report(1_000.0, 4)),
            Column::of("n = 2".into(), &report(2_500.0, 8)),
        ];
        let expected = "\
                         n = 1      n = 2
w: served/s              1,000      2,500
w: throttled             50.0%      50.0%
t: partitions                4          8
t: hottest partition     75.0%      75.0%
seconds                     10         10
thresholds           1 of 2 fail  1 of 2 fail
";
        let normal = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(normal(&Beside::new(&columns).text()), normal(expected));
    }

    #[test]
    fn changes_are_relative() {
        for (then, now, text) in [
            (100.0, 110.0, "+10.0%"),
            (100.0, 50.0, "-50.0%"),
            (100.0, 100.01, "="),
            (0.0, 0.0, "="),
            (0.0, 1.0, "from 0"),
        ] {
            assert_eq!(change(then, now, Unit::Number), text);
        }
        assert_eq!(change(0.123, 0.05, Unit::Share), "-7.3 points");
        assert_eq!(change(0.1, 0.1001, Unit::Share), "=");
    }

    #[test]
    fn names_are_kept_below_target_and_paths_as_they_are() {
        assert_eq!(place("main").unwrap(), Path::new("target/hotplate/main.json"));
        assert_eq!(place("../main").unwrap(), Path::new("../main"));
        assert_eq!(place("main.json").unwrap(), Path::new("main.json"));
        assert!(place("").is_err());
    }
}
