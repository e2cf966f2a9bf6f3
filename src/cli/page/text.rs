//! Figures and names as a page shows them: short, without surprises, the same on every machine.

/// In place of a figure that does not exist.
pub(in crate::cli) const NONE: &str = "–";

/// `text` for the eye: no invisible characters, no changes of direction, and not longer than `max`.
pub(in crate::cli) fn shown(text: &str, max: usize) -> String {
    if text.is_empty() {
        return "(empty)".into();
    }
    let mut out = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == max {
            out.push('…');
            break;
        }
        match c {
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                out.extend(c.escape_unicode());
            }
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// `part / whole`, and 0 where that is no number.
pub(in crate::cli) fn ratio(part: f64, whole: f64) -> f64 {
    let ratio = part / whole;
    if ratio.is_finite() { ratio } else { 0.0 }
}

/// A length for CSS and SVG: a number of percent from 0 to 100.
pub(in crate::cli) fn percent(part: f64, whole: f64) -> String {
    format!("{:.2}", (ratio(part, whole) * 100.0).clamp(0.0, 100.0))
}

pub(in crate::cli) fn count(n: impl Into<u64>) -> String {
    thousands(&n.into().to_string())
}

/// Digits with a comma before each three of the integer part.
pub(in crate::cli) fn thousands(digits: &str) -> String {
    let (integer, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::new();
    for (index, c) in integer.chars().enumerate() {
        if index > 0 && (integer.len() - index) % 3 == 0 && !out.ends_with('-') {
            out.push(',');
        }
        out.push(c);
    }
    out + fraction
}

pub(in crate::cli) fn decimal(x: f64, places: usize) -> String {
    if !x.is_finite() {
        return NONE.into();
    }
    let digits = format!("{x:.places$}");
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    thousands(if digits == "-0" { "0" } else { digits })
}

/// A rate or an amount: whole from a hundred on, below with one decimal.
pub(in crate::cli) fn rate(x: f64) -> String {
    decimal(x, if x.abs() < 100.0 { 1 } else { 0 })
}

/// `low–high`, or nothing when both read alike.
pub(in crate::cli) fn range(low: f64, high: f64) -> String {
    let (low, high) = (rate(low), rate(high));
    if low == high { String::new() } else { format!("{low}–{high}") }
}

/// A share in percent; what is not nothing does not read as nothing.
pub(in crate::cli) fn share(x: f64) -> String {
    const LEAST: f64 = 0.0005;
    if x > 0.0 && x < LEAST {
        return "< 0.1%".into();
    }
    if x.is_finite() { format!("{}%", decimal(x * 100.0, 1)) } else { NONE.into() }
}

pub(in crate::cli) fn times(x: f64) -> String {
    if x.is_finite() { format!("{}×", decimal(x, if x < 10.0 { 2 } else { 1 })) } else { NONE.into() }
}

pub(in crate::cli) fn milliseconds(x: f64) -> String {
    if x.is_finite() { format!("{}\u{a0}ms", rate(x)) } else { NONE.into() }
}
