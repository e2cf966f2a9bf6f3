//! Sizes and times as people write them: `1KB`, `400B`, `5ms`.

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

/// A size: digits, perhaps with a fraction, and `B`, `KB` or `MB` (1,024 and 1,024 × 1,024 bytes).
pub(crate) fn size(text: &str) -> Result<Bytes> {
    let wrong = || Error::invalid(format!("{text:?} is not a size: write it like 400B, 1KB or 1.5MB"));
    let trimmed = text.trim();
    let unit_at = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(unit_at);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" | "K" | "KIB" => KB,
        "MB" | "M" | "MIB" => KB * KB,
        _ => return Err(wrong()),
    };
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    let bytes = value * factor as f64;
    if bytes < 1.0 || bytes > SIZE_MAX as f64 {
        return Err(Error::invalid(format!("an item of {text} cannot be: give 1B to {}", Bytes(SIZE_MAX))));
    }
    Ok(Bytes(bytes.round() as u64))
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
        assert_eq!(service_time("5ms").unwrap(), Duration::from_millis(5));
        assert_eq!(service_time("0.5s").unwrap(), Duration::from_millis(500));
        for text in ["", "5", "-5ms", "0ms", "9us", "61s", "1h", "soon"] {
            assert!(service_time(text).is_err(), "{text}");
        }
    }
}
