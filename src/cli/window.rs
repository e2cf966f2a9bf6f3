//! Windows: groups of rows that are loaded together.
//!
//! A key such as the date is spread well over a year and is one single key on any day. Replaying a year of
//! rows in seconds hides that, so `compare` can look at each window by itself: the rows with one value of a
//! column (`--window COLUMN`), or the rows of one span of time (`--time COLUMN --every 1d`).
//!
//! Spans are counted from 1970-01-01T00:00 UTC, whole weeks from a Monday. A datetime with an offset is
//! converted to UTC; one without is taken as it stands. Leap seconds count as the second before. This file
//! does not know files and rows.

use hotplate::error::{Error, Result};
use hotplate::key::FieldPath;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use std::borrow::Cow;
use std::fmt;

/// Seconds in a minute.
const MINUTE: u32 = 60;
/// Seconds in an hour.
const HOUR: u32 = 60 * MINUTE;
/// Seconds in a day.
const DAY: u32 = 24 * HOUR;
/// Seconds in a week.
const WEEK: u32 = 7 * DAY;

/// The units of a span, the largest first.
const UNITS: [(&str, u32); 5] = [("w", WEEK), ("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", 1)];

/// The longest span, ten years of 365 days. *Assumed*: nobody has data to compare windows longer than that.
const EVERY_MAX: u32 = 3_650 * DAY;

/// The first Monday after the epoch, in seconds: 1970-01-01 was a Thursday.
const MONDAY: i64 = 4 * DAY as i64;

/// A number is a time from here on; with [`EPOCH_MILLIS`] it means 1973-03-03 to 5138-11-16 in either unit.
/// Smaller numbers are rather a year, an hour or a count.
const EPOCH_SECONDS: u64 = 100_000_000;
/// A number is in milliseconds from here on.
const EPOCH_MILLIS: u64 = EPOCH_SECONDS * 1_000;
/// From here on a number is no time.
const EPOCH_END: u64 = EPOCH_MILLIS * 1_000;

/// Seconds from which a number has ten digits: 2001-09-09.
const PLAUSIBLE_FIRST: u64 = 1_000_000_000;
/// Seconds at 2100-01-01. *Assumed*: ten digits beyond that are rather a name, such as a phone number.
const PLAUSIBLE_END: u64 = 4_102_444_800;

/// What puts a row into a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    column: FieldPath,
    every: Option<Every>,
}

impl Windows {
    /// A window for each value of `column`.
    pub(crate) fn by_value(column: FieldPath) -> Self {
        Self { column, every: None }
    }

    /// A window for each span of time, told by `column`.
    pub(crate) fn by_time(column: FieldPath, every: Every) -> Self {
        Self { column, every: Some(every) }
    }

    /// The column that decides.
    pub(crate) fn column(&self) -> &FieldPath {
        &self.column
    }

    /// The label of the window of a row whose column holds `text`.
    ///
    /// # Errors
    /// When there is no text, or it is no time and should be one.
    pub(crate) fn label<'a>(&self, text: Option<Cow<'a, str>>) -> Result<Cow<'a, str>> {
        let column = &self.column;
        let text = text.ok_or_else(|| {
            Error::invalid(format!("{column} has no plain value: fill it in, or choose another column"))
        })?;
        match self.every {
            None => Ok(text),
            Some(every) => every.bucket(&text).map(Cow::Owned).map_err(|e| e.within(column)),
        }
    }
}

/// A span of time that buckets have: seconds, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Every(u32);

impl Every {
    /// Reads a count and a unit, as in `30s`, `15m`, `6h`, `1d` or `1w`.
    ///
    /// # Errors
    /// When the text is nothing like that, zero, or longer than ten years.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let read = || {
            let text = text.trim();
            let (suffix, unit) = UNITS.into_iter().find(|(suffix, _)| text.ends_with(suffix))?;
            let count = text.strip_suffix(suffix).filter(|count| is_digits(count))?;
            count.parse::<u32>().ok()?.checked_mul(unit).filter(|n| (1..=EVERY_MAX).contains(n)).map(Self)
        };
        read().ok_or_else(|| {
            Error::invalid(format!(
                "{text:?} is no span of time: write a count from 1 and a unit, as in 30s, 15m, 6h, 1d or 1w, \
                 {} days at the most",
                EVERY_MAX / DAY
            ))
        })
    }

    /// The label of the bucket that the time `text` falls into: its start, as a date when the span is a whole
    /// number of days, else as a datetime to the minute or second.
    ///
    /// Times are ISO 8601 dates and datetimes, or a number of seconds or, from 10¹¹ on, milliseconds since
    /// 1970. Eight digits that are a date, as in `20130131`, are that date.
    ///
    /// # Errors
    /// When the text is none of these.
    pub(crate) fn bucket(self, text: &str) -> Result<String> {
        let start = seconds_of(text).and_then(|seconds| {
            let origin = if self.0.is_multiple_of(WEEK) { MONDAY } else { 0 };
            let start = seconds - (seconds - origin).rem_euclid(i64::from(self.0));
            Some(Offset::UTC.to_datetime(Timestamp::from_second(start).ok()?))
        });
        let Some(start) = start else {
            return Err(Error::invalid(format!(
                "{text:?} is no time that is understood: write a date (2013-01-31), a datetime \
                 (2013-01-31T05:15, 2013-01-31 05:15:30.5, 2013-01-31T05:15:30Z, 2013-01-31T05:15:30+01:00), \
                 or seconds or milliseconds since 1970 (1359609300, 1359609300000)"
            )));
        };
        let (date, hour, minute, second) = (start.date(), start.hour(), start.minute(), start.second());
        Ok(match self.0 {
            n if n.is_multiple_of(DAY) => date.to_string(),
            n if n.is_multiple_of(MINUTE) => format!("{date}T{hour:02}:{minute:02}"),
            _ => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
        })
    }
}

/// As [`Every::parse`] reads it, in the largest unit that fits.
impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(suffix, unit)| self.0.is_multiple_of(unit).then(|| (self.0 / unit, suffix));
        UNITS.into_iter().find_map(fits).map_or(Ok(()), |(count, suffix)| write!(f, "{count}{suffix}"))
    }
}

/// Whether `text` is most likely a time: an ISO date or datetime with hyphens, or a number of 10 or 13 digits
/// that means a second or millisecond from 2001 to 2099.
///
/// Rows in the order of such a column, loaded in a few seconds, pass its values far faster than life did.
pub(crate) fn looks_like_time(text: &str) -> bool {
    let text = text.trim();
    match (epoch_number(text), text.len()) {
        (Some(n), 10) => (PLAUSIBLE_FIRST..PLAUSIBLE_END).contains(&n),
        (Some(n), 13) => (PLAUSIBLE_FIRST..PLAUSIBLE_END).contains(&(n / 1_000)),
        (Some(_), _) => false,
        (None, _) => text.contains('-') && iso_seconds(text).is_some(),
    }
}

/// Seconds since 1970, rounded down.
fn seconds_of(text: &str) -> Option<i64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let seconds = match epoch_number(whole).filter(|_| is_digits(fraction)) {
        Some(n @ EPOCH_SECONDS..EPOCH_MILLIS) => n,
        Some(n @ EPOCH_MILLIS..EPOCH_END) => n / 1_000,
        _ => return iso_seconds(text),
    };
    i64::try_from(seconds).ok()
}

fn iso_seconds(text: &str) -> Option<i64> {
    // BigQuery writes its timestamps so.
    let plain = text.strip_suffix(" UTC").unwrap_or(text);
    let pieces = Pieces::parse(plain).ok()?;
    let offset = pieces.to_numeric_offset();
    // A zone by name alone cannot be resolved: there is no zone database on board.
    if offset.is_none() && pieces.time_zone_annotation().is_some() {
        return None;
    }
    let (date, time): (Date, Time) = (pieces.date(), pieces.time().unwrap_or(Time::midnight()));
    let whole = date.at(time.hour(), time.minute(), time.second(), 0);
    Some(offset.unwrap_or(Offset::UTC).to_timestamp(whole).ok()?.as_second())
}

fn epoch_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| is_digits(text))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_are_a_count_and_a_unit() {
        for (text, seconds) in [("30s", 30), ("15m", 900), ("6h", 21_600), (" 1d ", 86_400), ("1w", 604_800)]
        {
            let every = Every::parse(text).unwrap();
            assert_eq!(every, Every(seconds));
            assert_eq!(every.to_string(), text.trim());
        }
        for (text, shown) in [("7d", "1w"), ("36h", "36h"), ("120s", "2m"), ("3650d", "3650d")] {
            assert_eq!(Every::parse(text).unwrap().to_string(), shown);
        }
        for text in [
            "",
            "d",
            "1",
            "0d",
            "00s",
            "-1d",
            "+1d",
            "1.5d",
            "1 d",
            "1x",
            "1day",
            "1D",
            "5ms",
            "٣d",
            "3651d",
            "4294967295w",
            "99999999999s",
        ] {
            let error = Every::parse(text).unwrap_err().to_string();
            let expected =
                "is no span of time: write a count from 1 and a unit, as in 30s, 15m, 6h, 1d or 1w";
            assert!(error.starts_with(&format!("{text:?} {expected}")), "{error}");
        }
    }

    #[test]
    fn times_fall_into_buckets() {
        for (every, text, label) in [
            ("1d", "2013-01-01", "2013-01-01"),
            ("1d", "2013-01-01T05:15", "2013-01-01"),
            ("1d", " 2013-01-01 23:59:59.999999999 ", "2013-01-01"),
            ("1d", "20130131", "2013-01-31"),
            ("6h", "2013-01-01T05:59:59", "2013-01-01T00:00"),
            ("6h", "2013-01-01t06:00", "2013-01-01T06:00"),
            ("15m", "2013-01-01 05:29", "2013-01-01T05:15"),
            ("30s", "2013-01-01T05:15:59.5", "2013-01-01T05:15:30"),
            ("1s", "2013-01-01T05:15", "2013-01-01T05:15:00"),
            ("1m", "2013-06-30T23:59:60Z", "2013-06-30T23:59"),
            // Offsets lead to UTC.
            ("1h", "2013-01-01T05:15:00Z", "2013-01-01T05:00"),
            ("1h", "2013-01-01 05:15:00 UTC", "2013-01-01T05:00"),
            ("1h", "2013-01-01T00:15:00+05:30", "2012-12-31T18:00"),
            ("1h", "2013-01-01 00:15:00-05", "2013-01-01T05:00"),
            ("1h", "2013-01-01T00:15:00-0500", "2013-01-01T05:00"),
            ("1h", "2013-01-01T00:15:00-05:00[America/New_York]", "2013-01-01T05:00"),
            ("1d", "2012-02-28T23:30-01:00", "2012-02-29"),
            // Weeks start on Mondays; 2013-01-01 was a Tuesday.
            ("1w", "2013-01-01", "2012-12-31"),
            ("7d", "2012-12-31", "2012-12-31"),
            ("1w", "2012-12-30T23:59", "2012-12-24"),
            ("1w", "1970-01-01", "1969-12-29"),
            // Before the epoch, too, time is rounded down.
            ("1d", "1969-12-31T23:59:59.9", "1969-12-31"),
            ("6h", "1969-12-31T23:59:59", "1969-12-31T18:00"),
            // Seconds and milliseconds.
            ("1h", "1357016400", "2013-01-01T05:00"),
            ("1h", "1357016400.0", "2013-01-01T05:00"),
            ("1s", "1357016400999", "2013-01-01T05:00:00"),
            ("1d", "100000000", "1973-03-03"),
            ("1d", "99999999999", "5138-11-16"),
            ("1d", "100000000000", "1973-03-03"),
            ("1d", "99999999999999", "5138-11-16"),
        ] {
            let made = Every::parse(every).unwrap().bucket(text);
            assert_eq!(made.as_deref(), Ok(label), "{text} every {every}");
        }
    }

    #[test]
    fn what_is_no_time_is_named_with_the_accepted_forms() {
        for text in [
            "",
            "2013",
            "2013-01",
            "2013-02-30",
            "2013-13-01",
            "1/2/2013",
            "05:15",
            "99999999",
            "-1357016400",
            "100000000000000",
            "1357016400.",
            "1.357e9",
            "2013-01-01T25:00",
            "2013-01-01T05:15[Europe/Oslo]",
            "yesterday",
            "99999999999999999999999",
        ] {
            let error = Every(WEEK).bucket(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("{text:?} is no time")), "{error}");
            assert!(error.contains("(2013-01-31T05:15, 2013-01-31 05:15:30.5,"), "{error}");
        }
        assert!(Every(EVERY_MAX).bucket("-009999-01-03").is_err(), "the bucket would start before all years");
    }

    #[test]
    fn windows_are_values_or_buckets() {
        let (carrier, scheduled) = (FieldPath::from("carrier"), FieldPath::from("scheduled"));
        let values = Windows::by_value(carrier.clone());
        assert_eq!(values.column(), &carrier);
        assert!(matches!(values.label(Some(" UA".into())), Ok(Cow::Borrowed(" UA"))));
        assert_eq!(values.label(Some("".into())).unwrap(), "");
        let error = values.label(None).unwrap_err().to_string();
        assert_eq!(error, "carrier has no plain value: fill it in, or choose another column");
        let days = Windows::by_time(scheduled.clone(), Every::parse("1d").unwrap());
        assert_eq!(days.column(), &scheduled);
        assert_eq!(days.label(Some("2013-01-01T05:15".into())).unwrap(), "2013-01-01");
        let error = days.label(Some("".into())).unwrap_err().to_string();
        assert!(error.starts_with("scheduled: \"\" is no time"), "{error}");
    }

    #[test]
    fn times_are_told_from_names() {
        for time in
            ["2013-01-01", " 2013-01-01T05:15 ", "2013-01-01 05:15:00Z", "1357016400", "1357016400123"]
        {
            assert!(looks_like_time(time), "{time}");
        }
        for name in [
            "",
            "UA",
            "1545",
            "N14228",
            "20130101",
            "9175551234",
            "0000000001",
            "135701640",
            "9175551234000",
            "1-2",
            "10:30",
            "123e4567-e89b-12d3-a456-426614174000",
            "2013-02-30",
        ] {
            assert!(!looks_like_time(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_time_and_is_its_own(
            every in prop_oneof![Just(1), Just(MINUTE), Just(DAY), Just(WEEK), 1..=EVERY_MAX],
            seconds in -60_000_000_000_i64..240_000_000_000,
        ) {
            let every = Every(every);
            let text = Timestamp::from_second(seconds).unwrap().to_string();
            let label = every.bucket(&text).unwrap();
            let start = seconds_of(&label).unwrap();
            prop_assert!(start <= seconds && seconds < start + i64::from(every.0), "{} in {}", text, label);
            prop_assert_eq!(every.bucket(&label).unwrap(), label);
            prop_assert_eq!(Every::parse(&every.to_string()).unwrap(), every);
        }

        #[test]
        fn any_text_is_a_time_or_an_error(text in "[0-9TZ:+. -]{0,30}|\\PC{0,12}") {
            let _ = looks_like_time(&text);
            if let Ok(label) = Every(MINUTE).bucket(&text) {
                prop_assert_eq!(Every(MINUTE).bucket(&label).unwrap(), label);
            }
        }
    }
}
