//! `hotplate compare --sweep`: the placeholder, the points, and the table that is printed.
//!
//! The placeholder is a name in place of a number at either end of a suffix range: `{hash(tailnum, 1..N)}`. It is
//! replaced in the text and each result is parsed as a template of its own, so that a template has no state in which it
//! is not whole. Everything else that a template may hold (a property that is called N, a literal N) stays as it is.

use super::super::output::{self, PendingFile};
use super::super::table::{Align, Table, clean};
use super::super::{quantity, sweep_page};
use super::contents::{Chosen, Contents, filter};
use super::{
    Arguments, Burst, DESIGNS_MAX, Loader, SERVICE_TIME, file_name, load, profile, progress_bar, publish,
    reads, sort_rule, template, units, windows, with_range, wrapped,
};
use hotplate::error::{Error, Result};
use hotplate::key::{FieldPath, Part, Template};
use hotplate::lab::sweep_report::{PointFigures, SweepReport, SweptFigures};
use hotplate::lab::{
    Experiment, KeyedRows, ReadSpec, SWEEP_POINTS_MAX, SuffixUse, Sweep, SweptDesign, SweptPoint, percent,
    whole,
};
use hotplate::profile::Service;
use hotplate::rng::Seed;
use hotplate::units::Bytes;
use std::fmt::Write as _;
use std::ops::Range;

/// Values at the most.
const VALUES_MAX: usize = 64;

/// The largest value: a range has at most so many suffixes.
const VALUE_MAX: u64 = hotplate::key::SuffixRange::WIDTH_MAX;

/// Characters of a placeholder's name at the most.
const NAME_MAX: usize = 32;

/// Seeded layouts of a sweep: its searches are as many as designs × values × layouts.
const DEFAULT_LAYOUTS: u32 = 20;

/// What to write, for errors.
const LIKE: &str = "write it like 'N=1,2,5,10,20,50,100,200,400'";

/// `NAME=VALUES` as it was meant: the values ascend.
struct Asked {
    name: String,
    values: Vec<u64>,
}

impl Asked {
    fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| Error::invalid(format!("--sweep: {why}: {LIKE}"));
        let (name, list) = text.split_once('=').ok_or_else(|| wrong(format!("{text:?} has no =")))?;
        let name = name.trim();
        let mut letters = name.chars();
        let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !first || name.len() > NAME_MAX || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong(format!(
                "{name:?} is no name of a placeholder: a letter or _, then letters, digits or _, at most {NAME_MAX}"
            )));
        }
        if list.trim().is_empty() {
            return Err(wrong(format!("{name} has no values")));
        }
        let mut values = Vec::new();
        for part in list.split(',') {
            let part = part.trim();
            // A sign would be read as part of a number, and is no value.
            let number = part.parse::<u64>().ok().filter(|_| part.chars().all(|c| c.is_ascii_digit()));
            let value = match number {
                Some(value) if (1..=VALUE_MAX).contains(&value) => value,
                Some(value) => {
                    return Err(wrong(format!("{name}={value}: a value is 1 to {VALUE_MAX}")));
                }
                None if !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()) => {
                    return Err(wrong(format!("{name}={part}: a value is 1 to {VALUE_MAX}")));
                }
                None => return Err(wrong(format!("{name}={part:?} is not a whole number"))),
            };
            if values.contains(&value) {
                return Err(wrong(format!("{name}={value} is given twice")));
            }
            if values.len() >= VALUES_MAX {
                return Err(wrong(format!("{name} has over {VALUES_MAX} values")));
            }
            values.push(value);
        }
        values.sort_unstable();
        Ok(Self { name: name.to_owned(), values })
    }
}

/// Where a name stands as an end of a suffix range in a template's text, in order.
///
/// Templates that are no templates are found out later, when each result is parsed.
fn places(text: &str, name: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut in_braces, mut in_call, mut quoted) = (false, false, false);
    // Where the argument at hand began.
    let mut argument = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    // Everything that is looked for is ASCII, and no byte of another character is.
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' if in_braces => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'}' if !in_braces && bytes.get(at + 1) == Some(&byte) => at += 1,
            b'{' => (in_braces, in_call) = (true, false),
            b'}' => (in_braces, in_call) = (false, false),
            b'(' if in_braces => (in_call, argument) = (true, at + 1),
            b',' if in_call => argument = at + 1,
            b')' if in_call => {
                if let Some((first, last)) = text[argument..at].split_once("..") {
                    for (end, from) in [(first, argument), (last, argument + first.len() + 2)] {
                        if end.trim() == name {
                            let from = from + end.len() - end.trim_start().len();
                            found.push(from..from + name.len());
                        }
                    }
                }
                in_call = false;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The text with the value at these places.
fn filled(text: &str, places: &[Range<usize>], value: u64) -> String {
    let mut out = String::new();
    let mut rest = 0;
    for place in places {
        let _ = write!(out, "{}{value}", &text[rest..place.start]);
        rest = place.end;
    }
    out.push_str(&text[rest..]);
    out
}

/// A design with its templates, one for each value.
struct Line {
    text: String,
    templates: Vec<(Option<u64>, Template)>,
    /// The place of the last swept suffix among the parts.
    swept: Option<usize>,
}

fn lines(arguments: &Arguments, asked: &Asked) -> Result<Vec<Line>> {
    let keys = &arguments.keys;
    if keys.len() > DESIGNS_MAX {
        return Err(Error::invalid(format!("--key: at most {DESIGNS_MAX} designs, not {}", keys.len())));
    }
    // A template with another placeholder is no template: say first what is missing.
    if keys.iter().all(|text| places(text, &asked.name).is_empty()) {
        return Err(Error::invalid(format!(
            "--sweep: no --key holds {0} as an end of a suffix range, as in '{{hash(orderId, 1..{0})}}'",
            asked.name
        )));
    }
    let mut lines: Vec<Line> = Vec::new();
    for text in keys {
        let places = places(text, &asked.name);
        let mut templates = Vec::new();
        for &value in &asked.values {
            if places.is_empty() {
                break;
            }
            let filled = template(&filled(text, &places, value));
            templates.push((
                Some(value),
                filled.map_err(|error| error.within(format!("--sweep {}={value}", asked.name)))?,
            ));
        }
        if templates.is_empty() {
            templates.push((None, template(text)?));
        }
        // The part that changes with the value: with a single value, the last suffix.
        let parts = |i: usize| templates.get(i).map_or(&[][..], |(_, template)| template.parts());
        let changes = (0..parts(0).len()).rev().find(|&part| match templates.len() {
            1 => parts(0)[part].range().is_some(),
            _ => parts(0).get(part) != parts(1).get(part),
        });
        let text = match places.is_empty() {
            true => templates[0].1.to_string(),
            false => text.trim().to_owned(),
        };
        if lines.iter().any(|line| line.text == text) {
            return Err(Error::invalid(format!("--key: {text} is given twice")));
        }
        let swept = changes.filter(|_| !places.is_empty());
        lines.push(Line { text, templates, swept });
    }
    let points: usize = lines.iter().map(|line| line.templates.len()).sum();
    if points > SWEEP_POINTS_MAX {
        return Err(Error::invalid(format!(
            "--sweep: at most {SWEEP_POINTS_MAX} designs × values, not {points}: give fewer values or fewer --key"
        )));
    }
    Ok(lines)
}

/// Flags that a sweep has no use for.
fn refuse_others(arguments: &Arguments) -> Result<()> {
    let windowed = arguments.window.is_some() || arguments.time.is_some();
    let refused = [
        (arguments.workers.is_some(), "--workers", "a sweep searches for the highest rate"),
        (arguments.retries > 0, "--retries", "a sweep searches for the highest rate without retries"),
        (arguments.mix.is_some(), "--mix", "a sweep counts what reads cost, it does not run them"),
        (!arguments.indexes.is_empty(), "--gsi", "compare a few values with --gsi instead"),
        (
            arguments.burst == Burst::Full,
            "--burst",
            "a sweep looks at the steady state, which has no burst credit",
        ),
        (arguments.find_max, "--find-max", "a sweep always searches for the highest rate"),
        (
            arguments.service_time != SERVICE_TIME,
            "--service-time",
            "how long an answer takes does not change the highest rate",
        ),
        (
            arguments.rate.is_some() && !windowed,
            "--rate",
            "a sweep searches for the highest rate; a rate only ranks windows, and there are none",
        ),
        (
            arguments.reads.len() > 1,
            "--read",
            "a sweep reads one logical key, so give one --read at the most",
        ),
    ];
    match refused.iter().find(|(given, ..)| *given) {
        Some((_, flag, why)) => Err(Error::invalid(format!("{flag} does not go with --sweep: {why}"))),
        None => Ok(()),
    }
}

pub(super) fn run(arguments: &Arguments, text: &str) -> Result<()> {
    // Everything that can be wrong without reading the file is found first.
    let asked = Asked::parse(text)?;
    refuse_others(arguments)?;
    let lines = lines(arguments, &asked)?;
    let item = quantity::size(&arguments.item_size).map_err(|error| error.within("--item-size"))?;
    let service_time = quantity::service_time(&arguments.service_time)?;
    let (profile, throughput) = profile(arguments)?;
    profile.check_item(item).map_err(|error| error.within("--item-size"))?;
    let windows = windows(arguments)?;
    let load = load(arguments, &profile, item)?;
    let service = profile.service();
    let layouts = arguments.layouts.unwrap_or(match service {
        Service::DynamoDb => DEFAULT_LAYOUTS,
        Service::Cosmos => 1,
    });
    let reads = reads(&arguments.reads)?;
    if arguments.html.as_deref().is_some_and(|html| output::is_same_file(html, &arguments.file)) {
        return Err(Error::invalid("--html: this is the data file, which would be lost"));
    }
    let html = arguments.html.as_deref().map(PendingFile::create).transpose()?;

    let seed = Seed(arguments.seed);
    let firsts: Vec<&Template> = lines.iter().map(|line| &line.templates[0].1).collect();
    let read_fields = reads.iter().flat_map(|read| read.equal.iter().map(|(path, _)| path.clone()));
    let sort_field = arguments.sort.as_deref().map(FieldPath::from);
    let mut contents = Contents::new(&firsts, read_fields.chain(sort_field))?;
    let templates: Vec<Template> =
        lines.iter().flat_map(|line| line.templates.iter().map(|(_, template)| template.clone())).collect();
    let mut loaded = Loader {
        arguments,
        templates: &templates,
        service,
        windows,
        reads,
        indexes: &[],
        contents: Some(&mut contents),
        seed,
    }
    .load()?;
    loaded.warnings.retain(|warning| !repeats(warning, &lines));

    let mut all_rows = std::mem::take(&mut loaded.designs).into_iter();
    let asked_read = loaded.reads.pop();
    let designs = lines
        .into_iter()
        .enumerate()
        .map(|(i, line)| {
            let rows: Vec<KeyedRows> = all_rows.by_ref().take(line.templates.len()).collect();
            let chosen = match &asked_read {
                Some(read) => contents
                    .asked_for()
                    .ok_or_else(|| Error::invalid(format!("--read: no row of the file has {}", read.text)))?,
                None => contents.most_frequent(i).ok_or_else(|| {
                    Error::invalid(format!("{}: no row has a value for each field", line.text))
                })?,
            };
            Ok(design(line, rows, &chosen, asked_read.as_ref(), &contents))
        })
        .collect::<Result<Vec<_>>>()?;
    let experiment = Experiment {
        file: file_name(arguments),
        profile,
        throughput,
        item,
        load,
        burst_full: false,
        service_time,
        windows: loaded.windows,
        sort: sort_rule(arguments),
        sort_name: arguments.sort.clone().unwrap_or_else(|| "row number".into()),
        layouts,
        indexes: Vec::new(),
        reads: Vec::new(),
        mix: None,
        find_max: true,
        seed,
        warnings: loaded.warnings,
    };
    let sweep = Sweep::new(asked.name, asked.values, experiment, designs)?;
    let bar = progress_bar("sweeping {bar:40} {pos}/{len} {eta}", 0);
    let report = sweep.run(&|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();

    publish(arguments, html, &report, sweep_page::render, printed)
}

/// Whether a warning says of a later value what another says of the first.
fn repeats(warning: &str, lines: &[Line]) -> bool {
    let later = lines.iter().flat_map(|line| line.templates.iter().skip(1));
    later.map(|(_, template)| format!("{template}: ")).any(|start| warning.starts_with(&start))
}

/// A design with its rows, whose contents' numbers become read bits.
fn design(
    line: Line,
    mut rows: Vec<KeyedRows>,
    chosen: &Chosen,
    asked: Option<&ReadSpec>,
    contents: &Contents,
) -> SweptDesign {
    let bits: Vec<u32> = chosen
        .in_key
        .iter()
        .enumerate()
        .map(|(content, in_key)| u32::from(*in_key) | u32::from(content == chosen.item as usize) << 1)
        .collect();
    let bits = |content: u32| bits.get(content as usize).copied().unwrap_or(0);
    rows.iter_mut().for_each(|rows| rows.map_answers(bits));
    let read_key = asked.cloned().unwrap_or_else(|| {
        let (known, text) = filter(&chosen.key);
        ReadSpec { text: if text.is_empty() { "every item".into() } else { text }, known }
    });
    let (known, text) = filter(&chosen.all);
    let read_item = ReadSpec { text, known };
    let points = line.templates.into_iter().zip(rows).map(|((n, template), rows)| {
        let suffixes = n.and(line.swept).and_then(|part| {
            let part = template.parts().get(part)?;
            let (Part::Hash { field, .. } | Part::Product { field, .. }) = part else { return None };
            SuffixUse::of(&template, part, contents.values_of(template.fields().get(*field)?))
        });
        SweptPoint { n, template, rows, suffixes }
    });
    SweptDesign { text: line.text, points: points.collect(), read_key, read_item }
}

/// The report as text: a heading, the table, the verdicts, and what they rest on.
fn printed(report: &SweepReport) -> String {
    let mut out = String::new();
    let windows = match &report.windowing {
        Some(windowing) => format!(
            "{} windows by {}, capacity is that of the median one",
            whole(windowing.count as f64),
            clean(&windowing.by)
        ),
        None => "the file repeated in its order".into(),
    };
    let layouts = match report.layouts {
        1 if report.profile == "cosmos" => "one layout, as placement is exact".to_owned(),
        1 => "one seeded layout of many: another may do better or worse".into(),
        n => format!("{n} layouts: the median, 5–95% of them in brackets"),
    };
    let heading = format!(
        "{}: {} on {}, {} physical partitions of {} {}/s, items of {}; {windows}; {layouts}",
        clean(&report.file),
        report.profile,
        report.throughput,
        whole(f64::from(report.partition_count)),
        whole(report.partition_limit_per_s),
        report.unit,
        Bytes(report.item_bytes),
    );
    let _ = writeln!(out, "{}\n", wrapped(&heading));
    let _ = write!(out, "{}", figures(report));
    out.push('\n');
    for design in &report.sweep.designs {
        let text = format!("{}: {}", clean(&design.template), clean(&design.verdict));
        let _ = writeln!(out, "{}", wrapped(&text));
    }
    out.push('\n');
    for line in read_back(report) {
        let _ = writeln!(out, "{}", wrapped(&line));
    }
    let _ = writeln!(out, "{}", wrapped(&report.sweep.rule));
    if !report.warnings.is_empty() {
        out.push('\n');
        for warning in &report.warnings {
            let _ = writeln!(out, "{}", wrapped(&format!("warning: {}", clean(warning))));
        }
    }
    out.push('\n');
    for line in &report.basis {
        let _ = writeln!(out, "{}", wrapped(line));
    }
    let _ = writeln!(out, "seed {}: the same seed and options give the same bytes", report.seed);
    out
}

/// What was read back, once where it was the same for all designs.
fn read_back(report: &SweepReport) -> Vec<String> {
    let line = |design: &SweptFigures| {
        format!("read back: key {}; item {}", clean(&design.logical_key), clean(&design.item))
    };
    let all: Vec<String> = report.sweep.designs.iter().map(line).collect();
    match all.first() {
        Some(first) if all.iter().all(|other| other == first) => vec![first.clone()],
        _ => {
            let named = report.sweep.designs.iter().zip(all);
            named.map(|(design, line)| format!("{}: {line}", clean(&design.template))).collect()
        }
    }
}

fn figures(report: &SweepReport) -> Table {
    let read_unit = &report.read_unit;
    let key = format!("read a key: req/part/{read_unit}");
    let item = format!("an item: req/{read_unit}");
    let mut table = Table::new(&[
        ("key design", Align::Left),
        (&report.sweep.name, Align::Right),
        ("max rate/s", Align::Right),
        ("gain", Align::Right),
        (&key, Align::Right),
        (&item, Align::Right),
        ("top suffix", Align::Right),
        ("used", Align::Right),
        ("", Align::Left),
    ]);
    for design in &report.sweep.designs {
        for (i, point) in design.points.iter().enumerate() {
            let name = if i == 0 { design.template.clone() } else { String::new() };
            table.row(row(report, design, point, name));
        }
    }
    table
}

fn row(report: &SweepReport, design: &SweptFigures, point: &PointFigures, name: String) -> Vec<String> {
    let (key, item) = (&point.read_key, &point.read_item);
    let rate = point.max_rate;
    let knee = design.knee.as_ref().is_some_and(|knee| Some(knee.n) == point.n);
    let suffixes = point.suffixes.as_ref();
    vec![
        name,
        point.n.map_or_else(|| "–".into(), |n| n.to_string()),
        with_range(rate.median, rate.p5, rate.p95, report.layouts),
        if design.baseline { "–".into() } else { format!("{:.2}", point.gain) },
        format!("{}/{}/{}", whole(key.requests as f64), key.partitions, units(key.units)),
        format!("{}/{}", whole(item.requests as f64), units(item.units)),
        suffixes.map_or_else(String::new, |s| format!("{} {}", percent(s.top_share), s.top)),
        suffixes.map_or_else(String::new, |s| format!("{}/{}", s.used, s.width)),
        if knee { "knee".into() } else { String::new() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> String {
        filled(text, &places(text, "N"), 7)
    }

    #[test]
    fn only_an_end_of_a_range_is_a_placeholder() {
        for (text, expected) in [
            ("{a}.{hash(b, 1..N)}", "{a}.{hash(b, 1..7)}"),
            ("{random( N .. 9 )}", "{random( 7 .. 9 )}"),
            ("N{N}{hash(N, 1..N)}N", "N{N}{hash(N, 1..7)}N"),
            ("{hash(N.N, 1..N)}{product(b,1..N)}", "{hash(N.N, 1..7)}{product(b,1..7)}"),
            (r#"{hash("(a,1..N)\"", 1..N)}"#, r#"{hash("(a,1..N)\"", 1..7)}"#),
            ("{{hash(b, 1..N)}}{a}", "{{hash(b, 1..N)}}{a}"),
            ("é{hash(é, 1..N)}", "é{hash(é, 1..7)}"),
            ("{hash(b, 1..NN)}", "{hash(b, 1..NN)}"),
            ("{hash(b, 1..N", "{hash(b, 1..N"),
            ("{\"", "{\""),
            ("{\"\\", "{\"\\"),
        ] {
            assert_eq!(with(text), expected);
        }
    }

    #[test]
    fn values_ascend() {
        let asked = Asked::parse(" N = 20, 1 ,5").unwrap();
        assert_eq!((asked.name.as_str(), asked.values), ("N", vec![1, 5, 20]));
    }
}
