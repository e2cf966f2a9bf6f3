//! `hotplate run`: arguments, which scenario, runs of it, and what is printed.

use super::output::{self, PendingFile};
use super::prose::{progress_bar, wrapped};
use super::run_csv::Seconds;
use super::scenario::{self, BUILT_IN, Loaded, Text};
use super::side_by_side::{Baseline, Beside, Column};
use super::{run_page, run_text, side_by_side};
use clap::Args;
use hotplate::Instant;
use hotplate::error::{Error, ErrorKind, Result};
use hotplate::lab::run::{Observer, RunReport, Scenario};
use indicatif::ProgressBar;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Values of a sweep at the most.
const SWEEP_MAX: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A scenario file (- for standard input), or the name of a built-in scenario.
    #[arg(value_name = "FILE|NAME", required_unless_present_any = ["list", "show"])]
    scenario: Option<String>,
    /// List the built-in scenarios.
    #[arg(long, conflicts_with_all = ["scenario", "show"])]
    list: bool,
    /// Print the file of a built-in scenario, to copy and change it.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    show: Option<String>,
    /// Another value for a parameter of the scenario; give several.
    #[arg(short = 'p', long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Run it once for each value of a parameter, side by side.
    #[arg(long, value_name = "NAME=V1,V2,…")]
    sweep: Option<String>,
    /// The seed, in place of the scenario's.
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON object (an array with --sweep) instead of text.
    #[arg(long)]
    json: bool,
    /// Also write a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write what every partition did in every second.
    #[arg(long, value_name = "FILE", conflicts_with = "sweep")]
    csv: Option<PathBuf>,
    /// Keep the figures under a name (below target/hotplate) or in a file, for --against.
    #[arg(long, value_name = "BASE", conflicts_with = "sweep")]
    save: Option<String>,
    /// Put the figures beside those that were kept.
    #[arg(long, value_name = "BASE", conflicts_with = "sweep")]
    against: Option<String>,
    /// Run it twice and compare every byte of the report.
    #[arg(long)]
    check_determinism: bool,
}

/// A report, and how to get it again.
#[derive(Debug, Serialize)]
pub(crate) struct Told {
    #[serde(flatten)]
    pub(crate) report: RunReport,
    /// A hash of the scenario's text and parameters.
    pub(crate) digest: String,
    /// The command that gives the same report.
    pub(crate) replay: String,
    /// Parameters and their values.
    pub(crate) parameters: BTreeMap<String, String>,
    /// What is odd about the scenario.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.list {
        return output::print(&list()).map(|()| true);
    }
    if let Some(name) = &arguments.show {
        let found = scenario::built_in(name).ok_or_else(|| unknown(name))?;
        return output::print(found.text).map(|()| true);
    }
    let asked = arguments.scenario.as_deref().unwrap_or_default();
    let source = Source::open(asked)?;
    let parameters = arguments.parameters.iter().map(|text| pair(text, "-p")).collect::<Result<Vec<_>>>()?;
    for (i, (name, _)) in parameters.iter().enumerate() {
        if parameters[..i].iter().any(|(other, _)| other == name) {
            return Err(Error::invalid(format!("-p {name} is given twice: give it once")));
        }
    }
    if let Some(sweep) = &arguments.sweep {
        return sweep_over(arguments, &source, &parameters, sweep);
    }
    let loaded = source.load(&parameters, arguments.seed)?;
    let against = arguments.against.as_deref().map(Baseline::open).transpose()?;
    if let Some(baseline) = &against {
        baseline.check(&loaded.scenario.name)?;
    }
    if arguments.html.is_some() && arguments.html == arguments.csv {
        return Err(Error::invalid("--html and --csv name one file: give each its own"));
    }
    let html = arguments.html.as_deref().map(|path| source.pending(path, "--html")).transpose()?;
    let save = arguments.save.as_deref().map(side_by_side::pending).transpose()?;
    let csv = arguments.csv.as_deref().map(|path| source.pending(path, "--csv")).transpose()?;
    let mut seconds = csv.map(Seconds::new).transpose()?;

    let report = run_once(&loaded.scenario, seconds.as_mut()).map_err(|error| error.within(asked))?;
    if arguments.check_determinism {
        check_again(&loaded.scenario, &report)?;
    }
    let told = Told::new(report, loaded, source.replay(&parameters));
    let json = json(&told)?;
    if let Some(seconds) = seconds {
        seconds.finish()?;
    }
    let beside = against.as_ref().map(|baseline| baseline.beside(&told)).transpose()?;
    if let Some(html) = html {
        html.finish(&run_page::render(std::slice::from_ref(&told), None, beside.as_ref())?)?;
    }
    if let Some(save) = save {
        save.finish(&json)?;
    }
    if arguments.json {
        output::print(&json)?;
    } else {
        let mut text = run_text::text(&told);
        if let Some(beside) = &beside {
            text.push('\n');
            text.push_str(&beside.text());
        }
        if let Some(base) = &arguments.save {
            text.push_str(&format!("\nkept as {base}: --against {base} puts later figures beside these\n"));
        }
        if arguments.check_determinism {
            let line = format!("deterministic: two runs gave the same {} bytes", json.len());
            let _ = writeln!(text, "{}", wrapped(&line));
        }
        output::print(&text)?;
    }
    Ok(told.report.passed())
}

/// One run for each value, side by side.
fn sweep_over(
    arguments: &Arguments,
    source: &Source,
    parameters: &[(String, String)],
    sweep: &str,
) -> Result<bool> {
    let (name, values) = pair(sweep, "--sweep")?;
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    if values.iter().any(|value| value.is_empty()) || values.len() > SWEEP_MAX {
        return Err(Error::invalid(format!(
            "--sweep: {sweep:?} is no sweep: write it like suffixes=1,10,100, with at most {SWEEP_MAX} values"
        )));
    }
    if parameters.iter().any(|(other, _)| *other == name) {
        return Err(Error::invalid(format!("--sweep and -p both give {name}: leave one out")));
    }
    // All are read before the first runs.
    let mut scenarios = Vec::new();
    for value in &values {
        let with: Vec<_> = parameters.iter().cloned().chain([(name.clone(), (*value).to_owned())]).collect();
        let loaded = source.load(&with, arguments.seed).map_err(|error| match values.len() {
            1 => error,
            _ => error.within(format!("with {name} = {value}")),
        })?;
        scenarios.push((loaded, source.replay(&with)));
    }
    let html = arguments.html.as_deref().map(|path| source.pending(path, "--html")).transpose()?;
    let mut told = Vec::new();
    for (loaded, replay) in scenarios {
        let report = run_once(&loaded.scenario, None).map_err(|error| error.within(&source.asked))?;
        if arguments.check_determinism {
            check_again(&loaded.scenario, &report)?;
        }
        told.push(Told::new(report, loaded, replay));
    }
    let columns: Vec<Column> = values
        .iter()
        .zip(&told)
        .map(|(value, told)| Column::new(format!("{name} = {value}"), told))
        .collect::<Result<_>>()?;
    let beside = Beside::new(&columns);
    if let Some(html) = html {
        html.finish(&run_page::render(&told, Some((&name, &values)), Some(&beside))?)?;
    }
    if arguments.json {
        output::print(&json(&told)?)?;
    } else {
        output::print(&run_text::sweep_text(&told, &name, &beside.text()))?;
    }
    Ok(told.iter().all(|told| told.report.passed()))
}

impl Told {
    fn new(report: RunReport, loaded: Loaded, replay: String) -> Self {
        let Loaded { scenario, notes, parameters, digest } = loaded;
        Self {
            report,
            digest,
            replay: format!("{replay} --seed {}", scenario.seed.0),
            parameters: parameters.into_iter().collect(),
            notes,
        }
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|text| format!("{text}\n"))
        .map_err(|error| Error::invalid(format!("the report cannot be written as JSON: {error}")))
}

/// Tells a progress bar and a file what goes on.
struct Watcher<'w> {
    bar: &'w ProgressBar,
    seconds: Option<&'w mut Seconds>,
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, now: Instant) {
        self.bar.set_message(format!("{} s of virtual time", now.second()));
    }

    fn wants_seconds(&self) -> bool {
        self.seconds.is_some()
    }

    fn second(&mut self, table: &str, second: &hotplate::sim::Second) -> Result<()> {
        match &mut self.seconds {
            Some(seconds) => seconds.write(table, second),
            None => Ok(()),
        }
    }
}

fn run_once(scenario: &Scenario, seconds: Option<&mut Seconds>) -> Result<RunReport> {
    let bar = progress_bar("{spinner} {msg} {elapsed}", 0);
    let report = hotplate::lab::run::run(scenario, &mut Watcher { bar: &bar, seconds })?;
    bar.finish_and_clear();
    Ok(report)
}

/// Runs it again and compares.
fn check_again(scenario: &Scenario, first: &RunReport) -> Result<()> {
    let again = run_once(scenario, None)?;
    let (first, again) = (json(first)?, json(&again)?);
    if first == again {
        return Ok(());
    }
    let line = first.lines().zip(again.lines()).position(|(a, b)| a != b).unwrap_or(0);
    let of = |text: &str| text.lines().nth(line).unwrap_or_default().trim().to_owned();
    Err(Error::invalid(format!(
        "two runs differ, which is a fault of hotplate: please report it. The first difference: {} and {}",
        of(&first),
        of(&again)
    )))
}

/// `name=value`.
fn pair(text: &str, flag: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err(Error::invalid(format!("{flag}: {text:?} is not a name and a value: write name=value"))),
    }
}

/// The scenario that was asked for, as text.
struct Source {
    asked: String,
    text: String,
    /// The file, where it is one.
    path: Option<PathBuf>,
    folder: Option<PathBuf>,
}

impl Source {
    fn open(asked: &str) -> Result<Self> {
        if asked == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().take(scenario::TEXT_MAX + 1).read_to_end(&mut bytes);
            read.map_err(|error| Error::new(ErrorKind::Io, format!("stdin cannot be read: {error}")))?;
            return Ok(Self {
                asked: asked.into(),
                text: text_of(asked, bytes)?,
                path: None,
                folder: Some(".".into()),
            });
        }
        let path = Path::new(asked);
        if let Some(built_in) = scenario::built_in(asked).filter(|_| !path.is_file()) {
            return Ok(Self { asked: asked.into(), text: built_in.text.into(), path: None, folder: None });
        }
        let unreadable =
            |why: &dyn std::fmt::Display| Error::new(ErrorKind::Io, format!("{asked} cannot be read: {why}"));
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(_) if !path.exists() && !asked.contains(['/', '\\']) && !asked.ends_with(".toml") => {
                return Err(unknown(asked));
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let mut bytes = Vec::new();
        file.take(scenario::TEXT_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        let text = text_of(asked, bytes)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { asked: asked.into(), text, path: Some(path.to_owned()), folder: Some(folder) })
    }

    fn load(&self, parameters: &[(String, String)], seed: Option<u64>) -> Result<Loaded> {
        let text = Text { name: &self.asked, text: &self.text, folder: self.folder.as_deref() };
        scenario::load(text, parameters, seed)
    }

    /// A file to be, unless it is the scenario itself.
    fn pending(&self, path: &Path, flag: &str) -> Result<PendingFile> {
        if self.path.as_deref().is_some_and(|own| output::is_same_file(own, path)) {
            return Err(Error::invalid(format!("{flag}: this is the scenario file, which would be lost")));
        }
        PendingFile::create(path).map_err(|error| error.within(flag))
    }

    /// The command that runs it, the seed left out.
    fn replay(&self, parameters: &[(String, String)]) -> String {
        let mut line = format!("hotplate run {}", quoted(&self.asked));
        for (name, value) in parameters {
            let _ = write!(line, " -p {}", quoted(&format!("{name}={value}")));
        }
        line
    }
}

/// The text of a scenario that was read.
fn text_of(asked: &str, bytes: Vec<u8>) -> Result<String> {
    if bytes.len() as u64 > scenario::TEXT_MAX {
        return Err(Error::invalid(format!(
            "{asked} is over 4 MB, which no scenario is; a data file belongs in keys = {{ file = … }}"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("{asked} is not UTF-8 text: save it as UTF-8")))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = BUILT_IN.iter().map(|scenario| scenario.name).collect();
    let hint = scenario::suggestion(name, &names);
    Error::invalid(format!(
        "{name} is neither a file nor a built-in scenario{hint}: hotplate run --list tells those there are"
    ))
}

/// The built-in scenarios, each with what it is about in a few words and the names of its parameters.
fn list() -> String {
    let width = BUILT_IN.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for built_in in BUILT_IN {
        let text = Text { name: built_in.name, text: built_in.text, folder: None };
        let (about, parameters) = scenario::outline(text);
        let parameters = match parameters.as_slice() {
            [] => String::new(),
            names => format!(" (-p {})", names.join(", ")),
        };
        let _ = writeln!(out, "{:width$}  {}{parameters}", built_in.name, few_words(&about));
    }
    out
}

/// A text up to the end of its first sentence, or its first colon.
fn few_words(about: &str) -> &str {
    let ends = [". ", ": ", "? "].into_iter().filter_map(|end| about.find(end)).min();
    let few = ends.map_or(about, |at| &about[..=at]);
    few.trim_end_matches(['.', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_line_can_be_pasted() {
        for (word, line) in [
            ("shop.toml", "shop.toml"),
            ("my shop.toml", "'my shop.toml'"),
            ("it's", "'it'\\''s'"),
            ("n=1", "n=1"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), line);
        }
    }

    #[test]
    fn a_list_has_a_few_words_for_each() {
        for (about, few) in [
            ("One key. And more.", "One key"),
            ("One key: it is hot. And more.", "One key"),
            ("How many? One.", "How many?"),
            ("One key.", "One key"),
            ("", ""),
        ] {
            assert_eq!(few_words(about), few);
        }
    }

    #[test]
    fn a_name_and_a_value_are_divided_at_the_first_sign() {
        assert_eq!(pair("a=b=c", "-p").unwrap(), ("a".into(), "b=c".into()));
        for text in ["", "a", "=b"] {
            assert!(pair(text, "-p").unwrap_err().to_string().ends_with("write name=value"), "{text}");
        }
    }
}
