//! A plain text table for a terminal: aligned columns, nothing else.

use std::fmt;

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of text under headings.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

/// Space between columns.
const GAP: &str = "  ";

impl Table {
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            columns: columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells.iter().map(|cell| clean(cell)).collect());
    }
}

/// Text for one line of a terminal: control characters shown as `?`, so that a key cannot move the cursor.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The same for text whose line breaks are meant.
pub(crate) fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text, with an ellipsis when it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: &str| text.chars().count();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, (name, _))| self.rows.iter().map(|row| width(&row[i])).fold(width(name), usize::max))
            .collect();
        let mut line = |cells: &mut dyn Iterator<Item = &str>| -> fmt::Result {
            let mut text = String::new();
            for (i, cell) in cells.enumerate() {
                let pad = " ".repeat(widths[i] - width(cell));
                match self.columns[i].1 {
                    Align::Left => text.push_str(&format!("{cell}{pad}")),
                    Align::Right => text.push_str(&format!("{pad}{cell}")),
                }
                text.push_str(GAP);
            }
            writeln!(f, "{}", text.trim_end())
        };
        line(&mut self.columns.iter().map(|(name, _)| name.as_str()))?;
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str))?;
        }
        Ok(())
    }
}
