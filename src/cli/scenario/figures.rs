//! Figures in words: `[[threshold]]` and `[[published]]`.
//!
//! ```text
//!   throttled_share of writers during 5m..10m <= 1%
//!   figure          └load┘        └from..to┘    bound
//! ```

use super::Context;
use super::faults::suggestion;
use super::node::{Fields, Node, Read};
use super::read;
use crate::cli::quantity;
use hotplate::lab::run::{Comparison, Figure, FigureName, Published, Threshold};
use std::time::Duration;

/// Comparisons by sign, longer ones first.
const SIGNS: [(&str, Comparison); 4] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

/// The form of a threshold, for errors.
const CHECK_FORM: &str =
    "write it like \"throttled_share of writers during 5m..10m <= 0.01\", with <, <=, >= or >";

/// Reads a threshold; `loads` are the names that a figure may be of.
pub(super) fn threshold(node: &Node, loads: &[&str], context: &Context<'_>) -> Option<Threshold> {
    let fields = Fields::open(node, "a threshold", &["check"], context.faults)?;
    fields.need("check", |node| {
        let text = read::text(node)?;
        let signs =
            SIGNS.into_iter().filter_map(|(sign, comparison)| Some((text.find(sign)?, sign, comparison)));
        let (at, sign, comparison) = signs
            .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
            .ok_or_else(|| format!("{text:?} compares nothing: {CHECK_FORM}"))?;
        let figure = figure(&text[..at], loads)?;
        let bound = text[at + sign.len()..].trim();
        let bound = bound_of(bound).ok_or_else(|| format!("{bound:?} is no number: {CHECK_FORM}"))?;
        Ok(Threshold { figure, comparison, bound })
    })
}

/// A number, or a percentage of one.
fn bound_of(text: &str) -> Option<f64> {
    let (digits, whole) = match text.strip_suffix('%') {
        Some(digits) => (digits.trim(), 100.0),
        None => (text, 1.0),
    };
    let digits = digits.replace(['_', ','], "");
    let value: f64 = digits.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(value / whole)
}

/// Reads a published figure.
pub(super) fn published(node: &Node, loads: &[&str], context: &Context<'_>) -> Option<Published> {
    let names = &["figure", "value", "accepted", "source"];
    let fields = Fields::open(node, "a published figure", names, context.faults)?;
    let figure = fields.need("figure", |node| figure(&read::text(node)?, loads));
    let value = fields.need("value", read::number);
    let accepted = fields.need("accepted", |node| {
        let (least, most) = read::pair(node, read::number)?;
        if least > most {
            Err("the first is the least and the second the most".into())
        } else {
            Ok((least, most))
        }
    });
    let source = fields.need("source", read::text);
    Some(Published { figure: figure?, value: value?, accepted: accepted?, source: source? })
}

/// `served_per_s of writers during 1m..2m`.
fn figure(text: &str, loads: &[&str]) -> Read<Figure> {
    let mut words = text.split_whitespace();
    let known = FigureName::ALL.map(FigureName::as_str);
    let first =
        words.next().ok_or_else(|| format!("a figure is missing: give one of {}", known.join(", ")))?;
    let name = FigureName::ALL.into_iter().find(|name| name.as_str() == first).ok_or_else(|| {
        format!("{first:?} is no figure{}: there are {}", suggestion(first, &known), known.join(", "))
    })?;
    let (mut load, mut during) = (None, None);
    while let Some(word) = words.next() {
        match (word, words.next()) {
            ("of", Some(of)) if load.is_none() => {
                if !of_a_load(name) {
                    return Err(format!("{first} is a figure of tables: leave \"of {of}\" out"));
                }
                if !loads.contains(&of) {
                    let hint = suggestion(of, loads);
                    return Err(format!("{of:?} is no load{hint}: there are {}", loads.join(", ")));
                }
                load = Some(of.to_owned());
            }
            ("during", Some(span)) if during.is_none() => {
                if !in_time(name) {
                    return Err(format!("{first} is a figure of the whole run: leave \"during {span}\" out"));
                }
                during = Some(span_of(span)?);
            }
            _ => {
                return Err(format!(
                    "{word:?} is not understood: after {first} comes nothing, \"of LOAD\" or \"during 5m..10m\""
                ));
            }
        }
    }
    Ok(Figure { name, load, during })
}

fn span_of(text: &str) -> Read<(Duration, Duration)> {
    let wrong = || format!("{text:?} is no part of the run: write it like 5m..10m");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let (from, to) = (quantity::span(from).map_err(|_| wrong())?, quantity::span(to).map_err(|_| wrong())?);
    if from >= to {
        return Err(format!("{text:?} ends before it begins: write it like 5m..10m"));
    }
    if from.subsec_nanos() + to.subsec_nanos() > 0 {
        return Err(format!("{text:?} is not in whole seconds, and figures are counted by the second"));
    }
    Ok((from, to))
}

/// Whether a figure can be of one load.
fn of_a_load(name: FigureName) -> bool {
    use FigureName as F;
    !matches!(name, F::HottestPartitionShare | F::Partitions | F::Splits)
}

/// Whether a figure can be of a part of the run.
fn in_time(name: FigureName) -> bool {
    use FigureName as F;
    matches!(
        name,
        F::ServedPerS | F::UnitsPerS | F::ThrottledShare | F::GaveUpShare | F::AttemptsPerOperation
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_with_load_and_time_in_either_order() {
        let second = Duration::from_secs;
        for (text, load, during) in [
            ("served_per_s", None, None),
            ("served_per_s of writers", Some("writers"), None),
            ("served_per_s  of writers during 1m..2m", Some("writers"), Some((second(60), second(120)))),
            ("served_per_s during 0s..2m of writers", Some("writers"), Some((second(0), second(120)))),
        ] {
            let read = figure(text, &["writers"]).unwrap();
            assert_eq!(
                read,
                Figure { name: FigureName::ServedPerS, load: load.map(Into::into), during },
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_figure_is_told() {
        for (text, expected) in [
            ("", "a figure is missing: give one of served_per_s, "),
            (
                "served_per_sec",
                "\"served_per_sec\" is no figure (did you mean \"served_per_s\"?): there are ",
            ),
            ("p99_ms of writer", "\"writer\" is no load (did you mean \"writers\"?): there are writers"),
            ("p99_ms during 1m..2m", "p99_ms is a figure of the whole run: leave \"during 1m..2m\" out"),
            ("splits of writers", "splits is a figure of tables: leave \"of writers\" out"),
            ("seconds for writers", "\"for\" is not understood: after seconds comes nothing"),
            ("served_per_s during 2m..1m", "\"2m..1m\" ends before it begins"),
            ("served_per_s during 2m", "\"2m\" is no part of the run"),
            ("served_per_s during 0ms..1500ms", "\"0ms..1500ms\" is not in whole seconds"),
        ] {
            let told = figure(text, &["writers"]).unwrap_err();
            assert!(told.starts_with(expected), "{text}: {told}");
        }
    }

    #[test]
    fn bounds_are_numbers_or_percentages() {
        for (text, value) in
            [("0.01", 0.01), ("1%", 0.01), ("1_000", 1_000.0), ("1,000", 1_000.0), ("-1", -1.0)]
        {
            assert_eq!(bound_of(text), Some(value), "{text}");
        }
        for text in ["", "%", "fast", "NaN", "inf"] {
            assert_eq!(bound_of(text), None, "{text}");
        }
    }
}
