//! Sizes, times, rates and shares as people write them: `1KB`, `400B`, `5ms`, `1h30m`, `5000/s`, `30%`.

use hotplate::error::{Error, Result};
use hotplate::units::{Bytes, KB};
use jiff::SignedDuration;
use std::time::Duration;

/// The largest size that is read at all: far above what either service stores in an item.
const SIZE_MAX: u64 = KB * KB * KB;

/// The shortest service time. *Assumed*: no network is faster, and without any, workers would write everything at once.
const SERVICE_TIME_MIN: Duration = Duration::from_micros(10);

/// The longest service time: a minute.
const SERVICE_TIME_MAX: Duration = Duration::from_secs(60);

/// Bytes in `B`, `KB` (1,024 of them) and so on up to the `units`-th unit; `None`: it is not written so.
fn bytes(text: &str, units: usize) -> Option<f64> {
    let trimmed = text.trim();
    let unit_at = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(unit_at);
    const UNITS: [[&str; 3]; 5] =
        [["", "B", "B"], ["KB", "K", "KIB"], ["MB", "M", "MIB"], ["GB", "G", "GIB"], ["TB", "T", "TIB"]];
    let unit = unit.trim().to_ascii_uppercase();
    let power = UNITS.iter().take(units).position(|spellings| spellings.contains(&unit.as_str()))?;
    let factor = KB.pow(power as u32) as f64;
    digits.parse().ok().map(|value: f64| value * factor)
}

/// A size: digits, perhaps with a fraction, and `B`, `KB` or `MB` (1,024 and 1,024 × 1,024 bytes).
pub(crate) fn size(text: &str) -> Result<Bytes> {
    let bytes = bytes(text, 3)
        .ok_or_else(|| Error::invalid(format!("{text:?} is not a size: write it like 400B, 1KB or 1.5MB")))?;
    if bytes < 1.0 || bytes > SIZE_MAX as f64 {
        return Err(Error::invalid(format!("an item of {text} cannot be: give 1B to {}", Bytes(SIZE_MAX))));
    }
    Ok(Bytes(bytes.round() as u64))
}

/// The largest volume that is read at all: a million GB, which is more than the partitions of a table hold here.
const VOLUME_MAX: f64 = 1e6 * (KB * KB * KB) as f64;

/// Stored data: like a size, and also in `GB` and `TB`; nothing is a volume too.
pub(crate) fn volume(text: &str) -> Result<Bytes> {
    let bytes = bytes(text, 5).ok_or_else(|| {
        Error::invalid(format!("{text:?} is not a volume: write it like 400MB, 80GB or 1.5TB"))
    })?;
    if bytes > VOLUME_MAX {
        return Err(Error::invalid(format!("{text} is too much: at most 1000000GB can be stored here")));
    }
    Ok(Bytes(bytes.round() as u64))
}

/// Units of a span of time and their nanoseconds, the longest names first so that `ms` is not taken for `m`.
const SPAN_UNITS: [(&str, u128); 7] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// The longest span that is read at all: ten years, longer than anything that is simulated.
const SPAN_MAX: Duration = Duration::from_secs(3_650 * 86_400);

/// A span of time from none to ten years: `90s`, `10m`, `1h30m`, `1.5h`, `250ms`, `2d`.
pub(crate) fn span(text: &str) -> Result<Duration> {
    let wrong = || {
        Error::invalid(format!(
            "{text:?} is not a time: write it like \"90s\", \"10m\", \"1h30m\" or \"250ms\""
        ))
    };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut nanos = 0_u128;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (digits, after) = rest.split_at(unit_at);
        let after = after.trim_start();
        let (unit, factor) =
            SPAN_UNITS.into_iter().find(|(unit, _)| after.starts_with(unit)).ok_or_else(wrong)?;
        nanos += decimal(digits, factor).ok_or_else(wrong)?;
        if nanos > SPAN_MAX.as_nanos() {
            return Err(Error::invalid(format!("{text} is too long: give at most ten years")));
        }
        rest = after[unit.len()..].trim_start();
    }
    let nanos = u64::try_from(nanos).map_err(|_| wrong())?;
    Ok(Duration::from_nanos(nanos))
}

/// `digits`, perhaps with a fraction, times `factor`, rounded down; `None` when they are no number. Whole arithmetic, so
/// that 0.1s is exactly 100ms.
fn decimal(digits: &str, factor: u128) -> Option<u128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') || fraction.len() > 18 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction: u64 = fraction.parse().ok()?;
    Some(u128::from(whole) * factor + u128::from(fraction) * factor / scale)
}

/// A span as it is read: in the units that give the shortest text.
pub(crate) fn show_span(span: Duration) -> String {
    let mut rest = span.as_nanos();
    if rest == 0 {
        return "0s".into();
    }
    let mut out = String::new();
    for (unit, factor) in [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ] {
        if rest >= factor {
            out.push_str(&format!("{}{unit}", rest / factor));
            rest %= factor;
        }
    }
    out
}

/// A rate in so many a second: `5000`, `5000/s`, `300/min`, `10/h`.
pub(crate) fn rate(text: &str) -> Result<f64> {
    let wrong =
        || Error::invalid(format!("{text:?} is not a rate: write it like 5000, \"5000/s\" or \"300/min\""));
    let (digits, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit.trim() {
        "s" | "sec" | "second" => 1.0,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3_600.0,
        _ => return Err(wrong()),
    };
    let digits = digits.trim().replace(['_', ','], "");
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    if value.is_finite() { Ok(value / seconds) } else { Err(wrong()) }
}

/// A part of a whole: `30%` or `0.3`, nothing and the whole included.
pub(crate) fn share(text: &str) -> Result<f64> {
    let wrong = || Error::invalid(format!("{text:?} is not a share: write it like 0.3 or \"30%\""));
    let (digits, whole) = match text.trim().strip_suffix('%') {
        Some(digits) => (digits.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let value = digits.parse::<f64>().map_err(|_| wrong())? / whole;
    match value {
        0.0..=1.0 => Ok(value),
        _ => Err(Error::invalid(format!("{text} is not a share: give 0 to 1, or 0% to 100%"))),
    }
}

/// A short time: `5ms`, `0.5s`, `250us`.
pub(crate) fn service_time(text: &str) -> Result<Duration> {
    let wrong = || Error::invalid(format!("{text:?} is not a time: write it like 5ms, 250us or 0.5s"));
    let duration: SignedDuration = text.parse().map_err(|_| wrong())?;
    let duration = Duration::try_from(duration).map_err(|_| wrong())?;
    if !(SERVICE_TIME_MIN..=SERVICE_TIME_MAX).contains(&duration) {
        return Err(Error::invalid(format!("a service time of {text} cannot be: give 10us to 60s")));
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_as_people_write_them() {
        for (text, bytes) in
            [("400", 400), ("400B", 400), ("1KB", 1_024), ("1.5 kb", 1_536), ("2MB", 2 << 20)]
        {
            assert_eq!(size(text).unwrap(), Bytes(bytes), "{text}");
        }
        for text in ["", "KB", "-1KB", "1TB", "0", "1.2.3", "99999999999MB", "NaN"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(volume("80GB").unwrap(), Bytes(80 << 30));
        assert_eq!(volume("0").unwrap(), Bytes(0));
        for text in ["", "GB", "-1GB", "1PB", "2000000GB", "1.2.3"] {
            assert!(volume(text).is_err(), "{text}");
        }
        assert_eq!(service_time("5ms").unwrap(), Duration::from_millis(5));
        assert_eq!(service_time("0.5s").unwrap(), Duration::from_millis(500));
        for text in ["", "5", "-5ms", "0ms", "9us", "61s", "1h", "soon"] {
            assert!(service_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_exact_and_come_back_as_they_were_written() {
        for (text, nanos) in [
            ("0s", 0),
            ("90s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("250ms", 250_000_000),
            ("0.1s", 100_000_000),
            ("2d", 172_800_000_000_000),
            (" 1m 30s ", 90_000_000_000),
            ("90 s", 90_000_000_000),
            ("1 h 30 m", 5_400_000_000_000),
            ("7us", 7_000),
        ] {
            let span = span(text).unwrap();
            assert_eq!(span.as_nanos(), nanos, "{text}");
            assert_eq!(super::span(&show_span(span)).unwrap(), span, "{text}");
        }
        assert_eq!(show_span(Duration::from_millis(5_400_250)), "1h30m250ms");
        for text in
            ["", "5", "s", "1.s", ".5s", "1..5s", "-5s", "5 parsecs", "11y", "4000d", "99999999999999999999s"]
        {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_by_the_second_and_shares_of_one() {
        for (text, value) in
            [("5000", 5_000.0), ("5000/s", 5_000.0), ("5_000 / s", 5_000.0), ("300/min", 5.0), ("1.5/s", 1.5)]
        {
            assert_eq!(rate(text).unwrap(), value, "{text}");
        }
        for text in ["", "/s", "-5/s", "5/day", "inf", "NaN", "1e999"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for (text, value) in [("0.3", 0.3), ("30%", 0.3), ("100 %", 1.0), ("0", 0.0)] {
            assert_eq!(share(text).unwrap(), value, "{text}");
        }
        for text in ["", "%", "-1%", "101%", "1.1", "NaN", "inf"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
