//! `--csv`: what every partition did in every second, written as the run goes on.
//!
//! Units have up to three decimals: they are counted in thousandths. Seconds in which a partition was asked for nothing have
//! no line. The file appears under its name when the run is over.

use super::output::PendingFile;
use hotplate::error::Result;
use hotplate::heat::Tally;
use hotplate::sim::Second;
use std::fmt::Write as _;

/// The columns.
const HEADER: &str = "second,table,partition,\
                      read_units_asked,read_units_consumed,read_units_throttled,read_requests,read_requests_throttled,\
                      write_units_asked,write_units_consumed,write_units_throttled,write_requests,write_requests_throttled\n";

/// Characters that are gathered before they are written.
const GATHERED: usize = 64 << 10;

/// The file.
#[derive(Debug)]
pub(crate) struct Seconds {
    file: PendingFile,
    lines: String,
}

impl Seconds {
    /// A file with its header.
    pub(crate) fn new(file: PendingFile) -> Result<Self> {
        Ok(Self { file, lines: HEADER.to_owned() })
    }

    /// One line.
    pub(crate) fn write(&mut self, table: &str, second: &Second) -> Result<()> {
        let _ = write!(self.lines, "{},{},{}", second.second, quoted(table), second.partition);
        cells(&mut self.lines, &second.reads);
        cells(&mut self.lines, &second.writes);
        self.lines.push('\n');
        if self.lines.len() >= GATHERED {
            self.file.append(&self.lines)?;
            self.lines.clear();
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish(&self.lines)
    }
}

/// Names have no quotes or line breaks in them, but an index is `table/index`; a comma would end the cell.
fn quoted(name: &str) -> std::borrow::Cow<'_, str> {
    match name.contains([',', '"', '\n']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")).into(),
        false => name.into(),
    }
}

fn cells(line: &mut String, tally: &Tally) {
    let asked = tally.consumed_milli.saturating_add(tally.throttled_milli);
    for milli in [asked, tally.consumed_milli, tally.throttled_milli] {
        line.push(',');
        units(line, milli);
    }
    let _ = write!(line, ",{},{}", tally.served + tally.throttles, tally.throttles);
}

/// Thousandths as units, exactly: `12`, `0.5`.
fn units(line: &mut String, milli: u64) {
    let _ = write!(line, "{}", milli / 1_000);
    if !milli.is_multiple_of(1_000) {
        let fraction = format!("{:03}", milli % 1_000);
        let _ = write!(line, ".{}", fraction.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_a_line_with_exact_units() {
        let path = std::env::temp_dir().join(format!("hotplate-seconds-{}.csv", std::process::id()));
        let mut seconds = Seconds::new(PendingFile::create(&path).unwrap()).unwrap();
        let writes = Tally { consumed_milli: 1_500, throttled_milli: 2_000, served: 3, throttles: 2 };
        let second = Second { second: 7, partition: 2, reads: Tally::default(), writes };
        seconds.write("orders/by-status", &second).unwrap();
        assert!(!path.exists(), "it appears when it is whole");
        seconds.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut lines = text.lines();
        let columns = lines.next().unwrap().split(',').count();
        let line = lines.next().unwrap();
        assert_eq!(line, "7,orders/by-status,2,0,0,0,0,0,3.5,1.5,2,5,2");
        assert_eq!(line.split(',').count(), columns);
    }
}
