//! Single values of a scenario file: numbers, rates, times, sizes, shares and words, each with the error that says how it is
//! written.

use super::faults::{either, suggestion};
use super::node::{Node, Read, Value};
use crate::cli::quantity;
use hotplate::lab::RATE_MAX;
use hotplate::units::Bytes;
use std::time::Duration;

/// Characters of a name at the most: names stand in tables.
const NAME_MAX: usize = 64;

/// A text.
pub(super) fn text(node: &Node) -> Read<String> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        _ => Err(format!("{} is not a text: write it in quotes", node.shown())),
    }
}

/// A name: a word that other places of the file can mean.
pub(super) fn name(node: &Node) -> Read<String> {
    let name = text(node)?;
    let fits = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(fits) {
        return Err(format!(
            "{} is not a name: write 1 to {NAME_MAX} letters, digits, hyphens, underscores and dots",
            node.shown()
        ));
    }
    Ok(name)
}

/// Yes or no.
pub(super) fn yes(node: &Node) -> Read<bool> {
    match &node.value {
        Value::Bool(yes) => Ok(*yes),
        Value::Text(text) if text == "true" || text == "false" => Ok(text == "true"),
        _ => Err(format!("{} is neither true nor false", node.shown())),
    }
}

/// A whole number in a range.
pub(super) fn whole(node: &Node, least: u64, most: u64) -> Read<u64> {
    let value = match &node.value {
        Value::Whole(whole) => u64::try_from(*whole).ok(),
        // A parameter given on the command line may be written as people write numbers.
        Value::Text(text) => text.replace(['_', ','], "").parse().ok(),
        Value::Number(number) if number.fract() == 0.0 && (0.0..=9e15).contains(number) => {
            Some(*number as u64)
        }
        _ => None,
    };
    match value {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(value) => Err(format!("{value} is out of range: give {least} to {most}")),
        None => Err(format!("{} is not a whole number: give {least} to {most}", node.shown())),
    }
}

/// The same for smaller ones.
pub(super) fn whole_u32(node: &Node, least: u32, most: u32) -> Read<u32> {
    whole(node, u64::from(least), u64::from(most)).map(|value| value as u32)
}

/// Units a second: positive and whole.
pub(super) fn units(node: &Node) -> Read<u64> {
    let most = hotplate::budget::Rate::MAX_UNITS_PER_SEC;
    match &node.value {
        Value::Text(_) => {
            let rate = rate(node)?;
            if rate.fract() == 0.0 && rate >= 1.0 && rate <= most as f64 {
                return Ok(rate as u64);
            }
            Err(format!("{} is no whole number of units a second: give 1 to {most}", node.shown()))
        }
        _ => whole(node, 1, most),
    }
}

/// A number.
pub(super) fn number(node: &Node) -> Read<f64> {
    match &node.value {
        Value::Whole(whole) => Ok(*whole as f64),
        Value::Number(number) if number.is_finite() => Ok(*number),
        Value::Text(text) => text
            .trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| format!("{} is not a number", node.shown())),
        _ => Err(format!("{} is not a number", node.shown())),
    }
}

/// So many a second.
pub(super) fn rate(node: &Node) -> Read<f64> {
    match &node.value {
        Value::Whole(whole) if *whole >= 0 => Ok(*whole as f64),
        Value::Number(number) if number.is_finite() && *number >= 0.0 => Ok(*number),
        Value::Text(text) => quantity::rate(text).map_err(|_| {
            format!("{} is not a rate: write it like 5000, \"5000/s\" or \"300/min\"", node.shown())
        }),
        _ => Err(format!("{} is not a rate: write it like 5000, \"5000/s\" or \"300/min\"", node.shown())),
    }
}

/// So many operations a second: schedules count whole ones.
pub(super) fn operations(node: &Node) -> Read<u64> {
    match rate(node)? {
        rate if rate.fract() == 0.0 && rate <= RATE_MAX as f64 => Ok(rate as u64),
        rate if rate > RATE_MAX as f64 => {
            Err(format!("{} is too many: at most {RATE_MAX} a second", node.shown()))
        }
        _ => Err(format!(
            "{} is no whole number of operations a second: for less than one take workers = 1 and think = \"10s\"",
            node.shown()
        )),
    }
}

/// A span of time.
pub(super) fn span(node: &Node) -> Read<Duration> {
    let how = || {
        format!(
            "{} is not a time: write it in quotes with its unit, like \"90s\", \"10m\", \"1h30m\" or \"250ms\"",
            node.shown()
        )
    };
    match &node.value {
        Value::Text(text) => quantity::span(text).map_err(|error| match error.to_string() {
            long if long.contains("too long") => long,
            _ => how(),
        }),
        _ => Err(how()),
    }
}

/// A span of time that is not nothing.
pub(super) fn some_time(node: &Node) -> Read<Duration> {
    match span(node)? {
        Duration::ZERO => Err(format!("{} is no time at all: give more", node.shown())),
        span => Ok(span),
    }
}

/// A service time.
pub(super) fn service_time(node: &Node) -> Read<Duration> {
    let Value::Text(text) = &node.value else {
        return Err(format!(
            "{} is not a time: write it in quotes with its unit, like \"5ms\"",
            node.shown()
        ));
    };
    quantity::service_time(text).map_err(|error| error.to_string())
}

/// The size of an item.
pub(super) fn size(node: &Node) -> Read<Bytes> {
    match &node.value {
        Value::Text(text) => quantity::size(text).map_err(|error| error.to_string()),
        Value::Whole(bytes) => quantity::size(&bytes.to_string()).map_err(|error| error.to_string()),
        _ => Err(format!("{} is not a size: write it like \"400B\", \"1KB\" or \"1.5MB\"", node.shown())),
    }
}

/// Stored data.
pub(super) fn volume(node: &Node) -> Read<Bytes> {
    match &node.value {
        Value::Text(text) => quantity::volume(text).map_err(|error| error.to_string()),
        Value::Whole(bytes) => quantity::volume(&bytes.to_string()).map_err(|error| error.to_string()),
        _ => Err(format!("{} is not a volume: write it like \"400MB\" or \"80GB\"", node.shown())),
    }
}

/// A part of a whole, from nothing to all of it.
pub(super) fn share(node: &Node) -> Read<f64> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Whole(whole) => whole.to_string(),
        Value::Number(number) => number.to_string(),
        _ => return Err(format!("{} is not a share: write it like 0.3 or \"30%\"", node.shown())),
    };
    quantity::share(&text).map_err(|error| error.to_string())
}

/// One of some words.
pub(super) fn word<T: Copy>(node: &Node, words: &[(&'static str, T)]) -> Read<T> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let Value::Text(text) = &node.value else {
        return Err(format!("{} is not one of the words: write {}", node.shown(), either(&names)));
    };
    words.iter().find(|(name, _)| name == text).map(|(_, value)| *value).ok_or_else(|| {
        format!("{} is not known{}: write {}", node.shown(), suggestion(text, &names), either(&names))
    })
}

/// A list, each element read alike.
pub(super) fn list<T>(node: &Node, most: usize, read: impl Fn(&Node) -> Read<T>) -> Read<Vec<T>> {
    match &node.value {
        Value::List(nodes) if nodes.len() > most => {
            Err(format!("{} values are too many: give at most {most}", nodes.len()))
        }
        Value::List(nodes) => nodes.iter().map(read).collect(),
        _ => Err(format!("{} is not a list: write it in brackets", node.shown())),
    }
}

/// A pair in brackets.
pub(super) fn pair<T>(node: &Node, read: impl Fn(&Node) -> Read<T>) -> Read<(T, T)> {
    let mut both = list(node, 2, read)?.into_iter();
    match (both.next(), both.next()) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err("give two values: the least and the most".into()),
    }
}
