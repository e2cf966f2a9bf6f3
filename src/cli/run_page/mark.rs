//! What happened to a table, as numbered marks on an axis of time.
//!
//! Events that lie closer than their numbers are wide share a mark.

use super::scale::Scale;
use crate::cli::page::text::shown;
use crate::cli::prose::moment;
use hotplate::lab::run::HistoryReport;
use serde::Serialize;

/// A character of a mark's text, and the gap between two texts, in percent of the width.
const CHAR: f64 = 0.8;
const GAP: f64 = 0.6;
/// Characters of what happened.
const WHAT_CHARS: usize = 160;

/// A mark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Mark {
    pub(super) at: String,
    /// The number of the event in the list of them, or the first and the last.
    pub(super) text: String,
    pub(super) title: String,
}

/// Marks of a history, numbered from one.
pub(super) fn marks(history: &[HistoryReport], time: Scale) -> Vec<Mark> {
    // Two numbers and a dash: as wide as a text of this history becomes.
    let close = GAP + CHAR * (2 * history.len().to_string().len() + 1) as f64;
    let mut marks: Vec<(f64, usize, usize)> = Vec::new();
    for (i, event) in history.iter().enumerate() {
        let at = time.along(event.at_s) * 100.0;
        match marks.last_mut() {
            Some((first, _, last)) if at - *first < close => *last = i,
            _ => marks.push((at, i, i)),
        }
    }
    marks
        .into_iter()
        .map(|(at, first, last)| {
            let event = &history[first];
            let mut title = format!("{}: {}", moment(event.at_s), shown(&event.what, WHAT_CHARS));
            if last > first {
                title.push_str(&format!(" … and {} more", last - first));
            }
            let text =
                if first == last { (first + 1).to_string() } else { format!("{}–{}", first + 1, last + 1) };
            Mark { at: format!("{at:.2}"), text, title }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_close_share_a_mark() {
        let at = |at_s| HistoryReport { at_s, what: "a split".into() };
        let history = [at(0.0), at(1.0), at(50.0), at(99.0), at(100.0)];
        let told = marks(&history, Scale::of_time(100.0));
        let told: Vec<_> = told.iter().map(|mark| (mark.at.as_str(), mark.text.as_str())).collect();
        assert_eq!(told, [("0.00", "1–2"), ("50.00", "3"), ("99.00", "4–5")]);
        assert_eq!(marks(&[], Scale::of_time(100.0)), []);
    }
}
