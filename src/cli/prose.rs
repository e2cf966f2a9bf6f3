//! Running text of a report: wrapped lines, counted nouns, times in a cell; and the bar that is shown meanwhile.

use hotplate::lab::whole;
use indicatif::{ProgressBar, ProgressStyle};

/// Columns of running text.
const TEXT_WIDTH: usize = 110;

/// Text in lines, those after the first set in by two.
pub(crate) fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > TEXT_WIDTH {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

/// `1 row`, `2,000 rows`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", whole(n as f64), if n == 1 { "" } else { "s" })
}

/// Milliseconds with as many digits as tell something.
pub(crate) fn millis(ms: f64) -> String {
    if ms >= 100.0 { whole(ms) } else { format!("{:.1}", ms).trim_end_matches(".0").to_owned() }
}

/// A number with as many digits as tell something: `1,250`, `18.2`, `0.998`.
pub(crate) fn figure(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let value = value.abs();
    let digits = match value {
        _ if value >= 100.0 || value == value.trunc() => return format!("{sign}{}", whole(value)),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    format!("{sign}{}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A time of a run: `720 s`, and from an hour on `65,025 s (18h3m45s)`, since nobody divides by 3,600 at a glance.
pub(crate) fn moment(seconds: f64) -> String {
    let told = format!("{} s", figure(seconds));
    if seconds < 3_600.0 {
        return told;
    }
    let span = std::time::Duration::from_secs(seconds.round() as u64);
    format!("{told} ({})", super::quantity::show_span(span))
}

/// Whether a figure is a share, which reads as a percentage: it is named so.
pub(crate) fn is_share(figure: &str) -> bool {
    figure.split(' ').next().is_some_and(|name| name.ends_with("_share"))
}

/// A bar on stderr when that is a terminal, nothing otherwise.
pub(crate) fn progress_bar(template: &str, length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_tell_something() {
        for (value, text) in [
            (0.0, "0"),
            (1_250.4, "1,250"),
            (18.24, "18.2"),
            (4.0, "4"),
            (1.366, "1.37"),
            (0.9984, "0.9984"),
            (0.00001, "0"),
            (-12.5, "-12.5"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn long_times_are_told_as_people_write_them_too() {
        assert_eq!(moment(720.0), "720 s");
        assert_eq!(moment(65_025.2), "65,025 s (18h3m45s)");
        assert!(is_share("throttled_share of writers") && !is_share("seconds"));
    }

    #[test]
    fn long_lines_are_wrapped_at_words() {
        let text = "word ".repeat(40);
        assert!(wrapped(text.trim_end()).lines().all(|line| line.chars().count() <= TEXT_WIDTH));
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(2_000, "row"), "2,000 rows");
    }
}
