//! Rows of a data file, one at a time: CSV, TSV and JSON lines, plain or gzip, from a file or standard input.
//!
//! `compare` runs over files that may be larger than memory, so nothing is kept but the current row. A file
//! that is wrong stops the run at the first bad line, named by its number: skipping rows would change the
//! shares of the keys, and those shares are the answer.
//!
//! Names are resolved once, by [`Source::bind`]; after that a CSV cell is one array access. A CSV cell is
//! text, and an empty cell is empty text: the file does not say more. A JSON number is an exact integer
//! within 64 bits and otherwise the nearest double, as Cosmos DB stores it; DynamoDB would keep 38 digits
//! ("Supported data types and naming rules", Number), so longer numbers that are names of something belong in
//! strings.
//!
//! This file does not know what a key or a window is.

use csv::StringRecord;
use flate2::bufread::MultiGzDecoder;
use hotplate::error::{Error, ErrorKind, Result};
use hotplate::key::{FieldPath, FieldRef, Properties, Property};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a row at the most, and so the memory it can take. *Assumed*: the largest item of either service
/// is far smaller (2 MB in Cosmos DB, 400 KB in DynamoDB), so a longer line is no row.
const ROW_MAX: usize = 16 << 20;

/// Bytes read from the file, or decompressed, in one go.
const BUFFER: usize = 64 << 10;

/// Bytes of the first line that are looked at to guess a format.
const SNIFF_MAX: usize = 4 << 10;

/// Column names listed in an error at the most.
const LISTED_MAX: usize = 40;

/// The first bytes of a gzip member (RFC 1952, section 2.3.1: ID1 and ID2).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The byte order mark in UTF-8, which spreadsheets put in front.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A data file that is being read.
pub(crate) struct Source {
    name: String,
    gzip: bool,
    rows: Rows,
    any: bool,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

enum Rows {
    Cells { reader: Box<csv::Reader<Lines>>, delimiter: u8, header: Vec<String>, record: StringRecord },
    Json { lines: Lines, text: Vec<u8>, object: Value },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Cells between these delimiters, under a header line.
    Cells(u8),
    /// One JSON object a line.
    Json,
}

/// The place of each field in the rows of one [`Source`].
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    fields: Vec<FieldPath>,
    /// Beside `fields`; empty for JSON, where every object is searched by name.
    columns: Vec<usize>,
}

/// The current row of a [`Source`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    place: Place<'a>,
    content: Content<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Content<'a> {
    Cells(&'a StringRecord),
    Json(&'a Value),
}

/// A line of a file, as errors name it: `flights.csv, line 17`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    name: &'a str,
    line: u64,
}

impl Source {
    /// Opens a file, or standard input when `path` is `-`. Gzip is recognised by its first bytes. The format
    /// follows the name; a name that says nothing is settled by the first line: JSON when it starts with a
    /// brace or bracket, tabs when it holds some and no comma, else CSV.
    ///
    /// # Errors
    /// When the file cannot be read, or is CSV with no usable header line.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let unopened = |e| Error::new(ErrorKind::Io, format!("{name} cannot be opened: {e}"));
        let (raw, total): (Box<dyn Read + Send>, _) = if stdin {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).map_err(unopened)?;
            let metadata = file.metadata().map_err(unopened)?;
            (Box::new(file), metadata.is_file().then_some(metadata.len()))
        };
        Self::read(raw, name, format_of(path), total)
    }

    fn read(
        raw: Box<dyn Read + Send>,
        name: String,
        format: Option<Format>,
        total: Option<u64>,
    ) -> Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let mut raw = BufReader::with_capacity(BUFFER, Counted { inner: raw, read: Arc::clone(&read) });
        let mut gzip = false;
        let start = || -> io::Result<(Box<dyn BufRead + Send>, Format)> {
            let head = peek(&mut raw, GZIP_MAGIC.len(), |_| false)?;
            gzip = head == GZIP_MAGIC;
            let raw = Cursor::new(head).chain(raw);
            let mut text: Box<dyn BufRead + Send> = if gzip {
                Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)))
            } else {
                Box::new(raw)
            };
            let mut head = peek(&mut text, BOM.len(), |head| !BOM.starts_with(head))?;
            if head == BOM {
                head.clear();
            }
            let format = match format {
                Some(format) => format,
                None => {
                    head.extend(peek(&mut text, SNIFF_MAX, |line| line.ends_with(b"\n") && !is_blank(line))?);
                    sniff(&head)
                }
            };
            Ok((Box::new(Cursor::new(head).chain(text)), format))
        };
        let started = start();
        let (text, format) = started.map_err(|e| read_error(Place { name: &name, line: 1 }, gzip, &e))?;
        let lines = Lines { inner: text, complete: 0, start: 1, taken: 0, last: b'\n', ended: false };
        let rows = match format {
            Format::Json => Rows::Json { lines, text: Vec::new(), object: Value::Null },
            Format::Cells(delimiter) => Rows::Cells {
                // Column counts are compared here, for an error that says what to do.
                reader: Box::new(
                    csv::ReaderBuilder::new()
                        .has_headers(false)
                        .flexible(true)
                        .delimiter(delimiter)
                        .buffer_capacity(BUFFER)
                        .from_reader(lines),
                ),
                delimiter,
                header: Vec::new(),
                record: StringRecord::new(),
            },
        };
        let mut source = Self { name, gzip, rows, any: false, read, total };
        source.read_header()?;
        Ok(source)
    }

    /// Finds each field: for CSV the column headed by its dotted name, for JSON lines the path itself.
    ///
    /// # Errors
    /// When a column is missing.
    pub(crate) fn bind(&self, fields: &[FieldPath]) -> Result<Binding> {
        let columns = match &self.rows {
            Rows::Json { .. } => Vec::new(),
            Rows::Cells { header, .. } => {
                let column = |field: &FieldPath| {
                    let name = field.dotted();
                    let found = header.iter().position(|known| *known == name);
                    found.ok_or_else(|| missing_column(&self.name, &name, header))
                };
                fields.iter().map(column).collect::<Result<_>>()?
            }
        };
        Ok(Binding { fields: fields.to_vec(), columns })
    }

    /// The next row; `None` after the last one. Blank lines are passed over.
    ///
    /// # Errors
    /// When the file cannot be read on, the next row is damaged, or there is no row at all.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        let Some(line) = self.advance()? else {
            return if self.any { Ok(None) } else { Err(self.no_rows()) };
        };
        self.any = true;
        let content = match &self.rows {
            Rows::Cells { record, .. } => Content::Cells(record),
            Rows::Json { object, .. } => Content::Json(object),
        };
        Ok(Some(Row { place: Place { name: &self.name, line }, content }))
    }

    /// Bytes read from the file so far, and its size when it has one. Both count compressed bytes.
    /// Whether rows are JSON, whose values have types.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.rows, Rows::Json { .. })
    }

    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        (self.read.load(Ordering::Relaxed), self.total)
    }

    fn read_header(&mut self) -> Result<()> {
        if matches!(self.rows, Rows::Json { .. }) {
            return Ok(());
        }
        let line = self.advance()?.ok_or_else(|| self.no_rows())?;
        let Rows::Cells { header, record, .. } = &mut self.rows else { return Ok(()) };
        *header = record.iter().map(str::to_owned).collect();
        let mut seen = HashSet::new();
        // Spreadsheets leave columns without a name; no template can mean one, so they may repeat.
        match header.iter().find(|name| !name.is_empty() && !seen.insert(name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let place = Place { name: &self.name, line };
                Err(Error::invalid(format!("{place}: two columns are named {name:?}: rename one of them")))
            }
        }
    }

    /// Reads one row and gives the number of its first line. As long as there is no header, it reads that.
    fn advance(&mut self) -> Result<Option<u64>> {
        let name = self.name.as_str();
        let fault = |line, what: String| Error::invalid(format!("{}: {what}", Place { name, line }));
        match &mut self.rows {
            Rows::Cells { reader, delimiter, header, record } => loop {
                reader.get_mut().taken = 0;
                let read = reader.read_record(record);
                let lines = reader.get_ref();
                let line = lines.start;
                match read.map_err(csv::Error::into_kind) {
                    Ok(false) => return Ok(None),
                    Ok(true) => {}
                    Err(csv::ErrorKind::Io(e)) => {
                        return Err(read_error(Place { name, line: lines.fault() }, self.gzip, &e));
                    }
                    Err(csv::ErrorKind::Utf8 { err, .. }) => {
                        let unnamed = if header.is_empty() { "the header" } else { "a cell" };
                        let column = header.get(err.field()).map_or(unnamed, String::as_str);
                        return Err(fault(
                            line,
                            format!("{column} is not UTF-8 text: save the file as UTF-8"),
                        ));
                    }
                    Err(other) => return Err(fault(line, format!("is no row: {other:?}"))),
                }
                if lines.ends_in_quotes(record) {
                    return Err(fault(line, "a quote is opened and never closed: close or remove it".into()));
                }
                let columns = record.len();
                if columns == header.len() || header.is_empty() {
                    return Ok(Some(line));
                }
                if columns > 1 || !is_blank(record.as_slice().as_bytes()) {
                    let (have, want) = (plural(columns, "column"), header.len());
                    let comma = if *delimiter == b'\t' { "tab" } else { "comma" };
                    return Err(fault(
                        line,
                        format!("{have}, but the header has {want}: quote a cell that holds a {comma}"),
                    ));
                }
            },
            Rows::Json { lines, text, object } => {
                loop {
                    match lines.next_line(text) {
                        Ok(false) => return Ok(None),
                        Ok(true) if is_blank(text) => {}
                        Ok(true) => break,
                        Err(e) => {
                            return Err(read_error(Place { name, line: lines.fault() }, self.gzip, &e));
                        }
                    }
                }
                let line = lines.start;
                let text = std::str::from_utf8(text.trim_ascii_end())
                    .map_err(|_| fault(line, "is not UTF-8 text: save the file as UTF-8".into()))?;
                *object = serde_json::from_str(text).map_err(|e| fault(line, json_fault(&e)))?;
                if !object.is_object() {
                    let array = "is JSON but no object: every line must be one object, as jq -c '.[]' writes \
                                 the elements of an array";
                    return Err(fault(line, array.into()));
                }
                Ok(Some(line))
            }
        }
    }

    fn no_rows(&self) -> Error {
        let header = match &self.rows {
            Rows::Cells { header, .. } if !header.is_empty() => " below its header",
            _ => "",
        };
        Error::invalid(format!("{} has no rows{header}: give a file with data", self.name))
    }
}

impl<'a> Row<'a> {
    /// The number of the row's first line in the file, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.place.line
    }

    /// Where the row stands, for errors about it.
    pub(crate) fn place(&self) -> Place<'a> {
        self.place
    }

    /// The names of a JSON row's properties, for an error about a missing one; empty for cells, whose header is
    /// checked by [`Source::bind`].
    pub(crate) fn properties(&self) -> String {
        match self.content {
            Content::Json(Value::Object(object)) => {
                let names: Vec<_> = object.keys().take(LISTED_MAX).map(String::as_str).collect();
                format!("; {} has {}", self.place, names.join(", "))
            }
            _ => String::new(),
        }
    }

    /// The row as a template reads it, when `binding` was made from the template's fields.
    pub(crate) fn bound<'b>(&'b self, binding: &'b Binding) -> impl Properties + 'b {
        Bound { row: self, binding }
    }

    /// The text of the binding's field at `index`, to group or sort by: strings bare, numbers by their text.
    /// `None` when it is absent, null, an array or an object.
    pub(crate) fn text(&self, binding: &Binding, index: usize) -> Option<Cow<'a, str>> {
        let path = binding.fields.get(index)?;
        match self.property(binding, FieldRef { index, path }) {
            Property::Text(text) | Property::Number(text) => Some(text),
            Property::Bool(b) => Some(if b { "true" } else { "false" }.into()),
            Property::Absent | Property::Null | Property::Composite => None,
        }
    }

    fn property(&self, binding: &Binding, field: FieldRef<'_>) -> Property<'a> {
        match self.content {
            Content::Json(object) => object.property(field),
            Content::Cells(record) => {
                let cell = binding.columns.get(field.index).and_then(|column| record.get(*column));
                cell.map_or(Property::Absent, |cell| Property::Text(cell.into()))
            }
        }
    }
}

struct Bound<'b, 'a> {
    row: &'b Row<'a>,
    binding: &'b Binding,
}

impl Properties for Bound<'_, '_> {
    fn property<'p>(&'p self, field: FieldRef<'_>) -> Property<'p> {
        self.row.property(self.binding, field)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.name, self.line)
    }
}

/// Counts what is read, for a progress bar.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(out)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Text that is handed out one line at a time at the most.
///
/// The CSV reader numbers a record by where it stood before it, which is off after blank lines and CRLF. It
/// never gets more than a line from here, so the first line it asks for is the one its record starts on; and
/// a record that asks for too much is stopped before it fills the memory.
struct Lines {
    inner: Box<dyn BufRead + Send>,
    /// Lines handed out to their end.
    complete: u64,
    /// The first line of the current row.
    start: u64,
    /// Bytes of the current row so far; the row starts at its first line that is not empty.
    taken: usize,
    last: u8,
    ended: bool,
}

impl Lines {
    /// Reads the next line into `text`; false at the end.
    fn next_line(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        text.clear();
        self.taken = 0;
        self.start = self.complete + 1;
        let n = (&mut self.inner).take(ROW_MAX as u64 + 1).read_until(b'\n', text)?;
        self.take(n)?;
        self.complete += u64::from(n > 0);
        Ok(n > 0)
    }

    fn take(&mut self, n: usize) -> io::Result<()> {
        self.taken += n;
        if self.taken > ROW_MAX { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    }

    /// The line to name when reading failed: the row that grew too long, else where the data broke off.
    fn fault(&self) -> u64 {
        if self.taken > ROW_MAX { self.start } else { self.complete + 1 }
    }

    /// Whether `record` ran into the end of the file inside quotes: it holds a line break, which only quotes
    /// keep, and the file does not end with the closing one.
    fn ends_in_quotes(&self, record: &StringRecord) -> bool {
        self.ended && self.last != b'"' && record.iter().next_back().is_some_and(|cell| cell.contains('\n'))
    }
}

impl Read for Lines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.inner.fill_buf()?;
        let ready = &ready[..ready.len().min(out.len())];
        let n = ready.iter().position(|byte| *byte == b'\n').map_or(ready.len(), |end| end + 1);
        let line = &ready[..n];
        let Some(&last) = line.last() else {
            self.ended = true;
            return Ok(0);
        };
        out[..n].copy_from_slice(line);
        let empty = self.taken == 0 && line.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        self.inner.consume(n);
        self.last = last;
        if !empty {
            if self.taken == 0 {
                self.start = self.complete + 1;
            }
            self.take(n)?;
        }
        self.complete += u64::from(last == b'\n');
        Ok(n)
    }
}

/// The format that a file's name tells.
fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    match name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?.1 {
        "csv" => Some(Format::Cells(b',')),
        "tsv" => Some(Format::Cells(b'\t')),
        "jsonl" | "ndjson" | "json" => Some(Format::Json),
        _ => None,
    }
}

/// The format that the start of the text tells.
fn sniff(head: &[u8]) -> Format {
    match head.trim_ascii_start().first() {
        // An array is no JSON line, but the JSON reader says what to do with one.
        Some(b'{' | b'[') => Format::Json,
        _ if head.contains(&b'\t') && !head.contains(&b',') => Format::Cells(b'\t'),
        _ => Format::Cells(b','),
    }
}

fn is_blank(text: &[u8]) -> bool {
    text.trim_ascii().is_empty()
}

/// Takes bytes off the front until there are `most` or `enough`; fewer only at the end. A pipe may deliver
/// one at a time, so a single read would not do.
fn peek(reader: &mut impl Read, most: usize, enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while head.len() < most && (head.is_empty() || !enough(&head)) {
        if reader.take(1).read_to_end(&mut head)? == 0 {
            break;
        }
    }
    Ok(head)
}

fn read_error(place: Place<'_>, gzip: bool, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::FileTooLarge => Error::invalid(format!(
            "{place}: the row is longer than {} MB: look for an unclosed quote or a missing line break",
            ROW_MAX >> 20
        )),
        io::ErrorKind::UnexpectedEof if gzip => Error::invalid(format!(
            "{place}: the gzip data ends too early: the file is incomplete, copy or download it again"
        )),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => Error::invalid(format!(
            "{place}: the gzip data is damaged ({error}): copy or download the file again"
        )),
        _ => Error::new(ErrorKind::Io, format!("{place} cannot be read: {error}")),
    }
}

fn json_fault(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    format!(
        "column {} is no JSON ({what}): every line must be one whole object, as jq -c . writes it (jq -c '.[]' for an array)",
        error.column()
    )
}

fn missing_column(file: &str, name: &str, header: &[String]) -> Error {
    let close = header
        .iter()
        .filter_map(|known| Some((edit_distance(name, known)?, known)))
        .min_by_key(|(distance, _)| *distance)
        .map_or(String::new(), |(_, known)| format!(" (did you mean {known:?}?)"));
    let mut list = header.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if header.len() > LISTED_MAX {
        list += &format!(" and {} more", header.len() - LISTED_MAX);
    }
    let hint = match header.len() {
        1 => "; cells are separated by commas, in .tsv files by tabs",
        _ => "",
    };
    Error::invalid(format!("{file} has no column {name:?}{close}: it has {list}{hint}"))
}

/// Letters to insert, remove or replace to make `a` of `b`, upper and lower case alike (Levenshtein); `None`
/// when that is more than a third of them and so no slip of the finger.
fn edit_distance(a: &str, b: &str) -> Option<usize> {
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let most = a.len().max(b.len()).div_ceil(3);
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use hotplate::key::Template;
    use hotplate::rng::Seed;
    use proptest::prelude::*;
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicUsize;

    /// A directory of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("hotplate-input-{}-{count}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn file(&self, name: &str, content: &[u8]) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, content).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    type Read = Vec<(u64, Vec<Option<String>>)>;

    /// Line and cells of every row, by the paths in `fields` as a template writes them.
    fn rows_of(source: &mut Source, fields: &[&str]) -> Result<Read> {
        let fields: Vec<FieldPath> = fields.iter().map(|name| path(name)).collect();
        let binding = source.bind(&fields)?;
        let mut rows = Vec::new();
        while let Some(row) = source.next()? {
            let cells = (0..fields.len()).map(|i| row.text(&binding, i).map(Cow::into_owned)).collect();
            rows.push((row.line(), cells));
        }
        Ok(rows)
    }

    fn path(field: &str) -> FieldPath {
        Template::parse(&format!("{{{field}}}")).unwrap().fields()[0].clone()
    }

    fn load(name: &str, content: &[u8], fields: &[&str]) -> Result<Read> {
        let folder = Folder::new();
        rows_of(&mut Source::open(&folder.file(name, content))?, fields)
    }

    /// The error without the folder in front.
    fn error(name: &str, content: &[u8], fields: &[&str]) -> String {
        let error = load(name, content, fields).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let folder = format!("{}/", std::env::temp_dir().display());
        let text = error.to_string();
        let inside = text.strip_prefix(&folder).unwrap_or_else(|| panic!("{text} does not name the file"));
        inside.split_once('/').unwrap().1.to_owned()
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<Option<String>>) {
        (line, cells.iter().map(|cell| Some((*cell).to_owned())).collect())
    }

    #[test]
    fn every_format_by_name_or_by_content() {
        let expected = vec![row(2, &["1", "x"]), row(3, &["2", "y"])];
        let (comma, tab) = (&b"a,b\n1,x\n2,y\n"[..], &b"a\tb\n1\tx\n2\ty"[..]);
        for (name, content) in [
            ("f.csv", comma),
            ("f.CSV", comma),
            ("f.csv.gz", &gzip(comma)),
            ("f.csv.gz", comma),
            ("f.csv", &gzip(comma)),
            ("f.csv", &[gzip(&comma[..5]), gzip(&comma[5..])].concat()),
            ("f.csv", &[&BOM, comma].concat()),
            ("f.csv", &gzip(&[&BOM, comma].concat())),
            ("f.csv", b"a,b\r\n1,x\r\n2,y\r\n"),
            ("f.tsv", tab),
            ("f.tsv.gz", &gzip(tab)),
            ("f.txt", comma),
            ("f", tab),
            ("f.dat.gz", &gzip(tab)),
        ] {
            assert_eq!(load(name, content, &["a", "b"]).unwrap(), expected, "{name} {content:?}");
        }
        let expected = vec![row(1, &["1", "x"]), row(2, &["2", "y"])];
        let json = &b"{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"a\":2}\n"[..];
        for (name, content) in [
            ("f.jsonl", json),
            ("f.ndjson", &json[..json.len() - 1]),
            ("f.json.gz", &gzip(json)),
            ("f.jsonl", &[&BOM, json].concat()),
            ("f.log", json),
            ("f", &gzip(&[&BOM, json].concat())),
        ] {
            assert_eq!(load(name, content, &["a", "b"]).unwrap(), expected, "{name}");
        }
        assert_eq!(load("f", b" \n\r\n {\"a\": true}", &["a"]).unwrap(), [row(3, &["true"])]);
    }

    #[test]
    fn a_slow_pipe_is_read_like_a_file() {
        /// Delivers a byte at a time.
        struct Drip(Cursor<Vec<u8>>);
        impl io::Read for Drip {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let n = out.len().min(1);
                self.0.read(&mut out[..n])
            }
        }
        let comma = b"a,b\r\n\r\n1,\"x\ny\"\r\n2,z".to_vec();
        for content in [comma, gzip(b"a\tb\n\n1\t\"x\ny\"\n2\tz\n")] {
            let size = content.len() as u64;
            let drip = Box::new(Drip(Cursor::new(content)));
            let mut source = Source::read(drip, "standard input".into(), None, None).unwrap();
            let rows = rows_of(&mut source, &["b", "a"]).unwrap();
            assert_eq!(rows, [row(3, &["x\ny", "1"]), row(5, &["z", "2"])]);
            assert_eq!(source.progress(), (size, None));
        }
    }

    #[test]
    fn line_numbers_count_quoted_breaks_and_blank_lines() {
        for eol in ["\n", "\r\n"] {
            let lines = ["", "a,b", "", "1,\"x", "", "y\"", "", "", "\"\"\"q\"\"\",", "  ", "3,z"];
            let quoted = ["x", "", "y"].join(eol);
            let expected = [row(4, &["1", &quoted]), row(9, &["\"q\"", ""]), row(11, &["3", "z"])];
            for end in ["", eol] {
                let text = lines.join(eol) + end;
                assert_eq!(load("f.csv", text.as_bytes(), &["a", "b"]).unwrap(), expected, "{text:?}");
            }
        }
        let single = b"a\n\"\"\n\n\"x\ny\"";
        assert_eq!(load("f.csv", single, &["a"]).unwrap(), [row(2, &[""]), row(4, &["x\ny"])]);
    }

    #[test]
    fn json_values_have_text_when_they_are_plain() {
        let text =
            br#"{"s":"x","n":1.50,"i":18446744073709551615,"t":false,"z":null,"l":[1],"o":{"p":{"q":7}}}"#;
        let rows = load("f.jsonl", text, &["s", "n", "i", "t", "z", "l", "o", "o.p.q", "gone"]).unwrap();
        let cells: Vec<_> = rows[0].1.iter().map(Option::as_deref).collect();
        assert_eq!(cells[..4], [Some("x"), Some("1.5"), Some("18446744073709551615"), Some("false")]);
        assert_eq!(cells[4..], [None, None, None, Some("7"), None]);
    }

    #[test]
    fn templates_read_bound_rows() {
        let folder = Folder::new();
        let template = Template::parse("{city.name}/{n}/{city.name}").unwrap();
        let csv = folder.file("f.csv", b"x,n,city.name\n0,1.0,Oslo\n0,,\n");
        let json = folder.file("f.jsonl", br#"{"n": 1.0, "city": {"name": "Oslo"}}"#);
        for (path, expected) in [(&csv, &["Oslo/1.0/Oslo", "//"][..]), (&json, &["Oslo/1/Oslo"])] {
            let mut source = Source::open(path).unwrap();
            let binding = source.bind(template.fields()).unwrap();
            let mut keys = Vec::new();
            while let Some(row) = source.next().unwrap() {
                keys.push(template.key(&row.bound(&binding), Seed(1), 0).unwrap());
            }
            assert_eq!(keys, expected.iter().map(|key| (*key).into()).collect::<Vec<_>>());
        }
        let mut source = Source::open(&csv).unwrap();
        let field = path("n");
        let binding = source.bind(std::slice::from_ref(&field)).unwrap();
        let row = source.next().unwrap().unwrap();
        let bound = row.bound(&binding);
        let cell = bound.property(FieldRef { index: 0, path: &field });
        assert!(matches!(cell, Property::Text(Cow::Borrowed("1.0"))));
        assert_eq!(bound.property(FieldRef { index: 1, path: &field }), Property::Absent);
        assert_eq!(row.text(&binding, 1), None);
        assert!(row.place().to_string().ends_with("f.csv, line 2"));
    }

    #[test]
    fn errors_name_the_line_and_what_to_do() {
        let csv = |content: &[u8]| error("f.csv", content, &["a"]);
        let json = |content: &[u8]| error("f.jsonl", content, &["a"]);
        let comma = "1 column, but the header has 2: quote a cell that holds a comma";
        assert_eq!(csv(b"a,b\n1,2\n3\n"), format!("f.csv, line 3: {comma}"));
        let tab = "3 columns, but the header has 2: quote a cell that holds a tab";
        assert_eq!(error("f.tsv", b"a\tb\n\n1\t2\t3", &["a"]), format!("f.tsv, line 3: {tab}"));
        let twice = "f.csv, line 1: two columns are named \"a\": rename one of them";
        assert_eq!(csv(b"a,b,a\n1,2,3\n"), twice);
        let utf8 = "is not UTF-8 text: save the file as UTF-8";
        assert_eq!(csv(b"a,b\n1,2\n\xff,2"), format!("f.csv, line 3: a {utf8}"));
        assert_eq!(csv(b"a,b\n1,2,\xff"), format!("f.csv, line 2: a cell {utf8}"));
        assert_eq!(csv(b"\xff\xfea,b\n"), format!("f.csv, line 1: the header {utf8}"));
        assert_eq!(
            csv(b"a,b\n\xc3,\xa9\n"),
            format!("f.csv, line 2: a {utf8}"),
            "each cell is text by itself"
        );
        for unclosed in
            [&b"a,b\n1,2\n1,\"x\n3,4\n5,6\n"[..], b"a,b\n1,2\n1,\"x\n5,6", b"a,b\n1,2\n\"x,3\n5,6"]
        {
            let closing = "a quote is opened and never closed: close or remove it";
            assert_eq!(csv(unclosed), format!("f.csv, line 3: {closing}"));
        }

        let whole = "every line must be one whole object, as jq -c . writes it (jq -c '.[]' for an array)";
        let open = "column 5 is no JSON (EOF while parsing a value)";
        assert_eq!(json(b"{\"a\": 1}\n\n{\"a\":\n\"b\"}"), format!("f.jsonl, line 3: {open}: {whole}"));
        let trailing = json(b"{\"a\": 1} {}");
        assert_eq!(trailing, format!("f.jsonl, line 1: column 10 is no JSON (trailing characters): {whole}"));
        assert_eq!(json(b"{\"a\": 1}\n{\"a\": \"\xff\"}"), format!("f.jsonl, line 2: {utf8}"));
        let array = b"[{\"a\": 1}]";
        assert!(json(array).starts_with("f.jsonl, line 1: is JSON but no object: every line must be"));
        assert!(error("f", array, &["a"]).starts_with("f, line 1: is JSON but no object"));
    }

    #[test]
    fn a_file_without_rows_is_refused() {
        for empty in [&b""[..], &BOM, b"\n \n\r\n"] {
            assert_eq!(error("f.jsonl", empty, &[]), "f.jsonl has no rows: give a file with data");
        }
        for empty in [&b""[..], &BOM, b"\n\r\n", &gzip(b"")] {
            assert_eq!(error("f.csv", empty, &[]), "f.csv has no rows: give a file with data");
            assert_eq!(error("f.gz", empty, &[]), "f.gz has no rows: give a file with data");
        }
        for header in [&b"a,b"[..], b"a,b\r\n", b"\na,b\n\n \n"] {
            let below = "f.csv has no rows below its header: give a file with data";
            assert_eq!(error("f.csv", header, &["a"]), below);
        }
    }

    #[test]
    fn a_missing_column_is_named_with_what_there_is() {
        let missing = |name: &str| error("f.csv", b"date,tailnum,Dep Delay,,\n1,2,3,,\n", &[name]);
        let list = "it has date, tailnum, Dep Delay, , ";
        let close = "f.csv has no column \"tailnm\" (did you mean \"tailnum\"?)";
        assert_eq!(missing("tailnm"), format!("{close}: {list}"));
        assert!(missing("\"dep delay\"").contains("(did you mean \"Dep Delay\"?)"));
        assert_eq!(missing("carrier"), format!("f.csv has no column \"carrier\": {list}"));
        assert_eq!(missing("date.day"), format!("f.csv has no column \"date.day\": {list}"));
        let one = error("f.csv", b"date;tailnum\n1;2\n", &["date"]);
        assert!(one.ends_with("it has date;tailnum; cells are separated by commas, in .tsv files by tabs"));
        let wide: Vec<String> = (0..50).map(|i| format!("c{i}")).collect();
        let wide = error("f.csv", wide.join(",").as_bytes(), &["x"]);
        assert!(wide.ends_with("c38, c39 and 10 more"), "{wide}");
    }

    #[test]
    fn edit_distance_is_levenshtein_up_to_a_third() {
        assert_eq!(edit_distance("kitten", "sitten"), Some(1));
        assert_eq!(edit_distance("kitten", "sitting"), Some(3));
        assert_eq!(edit_distance("tail", "TAIL"), Some(0));
        assert_eq!(edit_distance("", ""), Some(0));
        assert_eq!(edit_distance("abc", "xyz"), None);
        assert_eq!(edit_distance("a", "abcdef"), None);
    }

    #[test]
    fn damaged_gzip_is_an_error_at_its_line() {
        const ROWS: u64 = 20_000;
        let mut text = b"a,b\n".to_vec();
        for i in 0..ROWS {
            writeln!(text, "{i},{}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
        }
        let whole = gzip(&text);
        assert_eq!(load("f.csv", &whole, &["a"]).unwrap().len() as u64, ROWS);
        for name in ["f.csv.gz", "f.jsonl"] {
            let early = error(name, &whole[..5], &[]);
            assert!(early.starts_with(&format!("{name}, line 1: the gzip data ends too early")), "{early}");
        }
        let half = error("f.csv.gz", &whole[..whole.len() / 2], &["a"]);
        let (line, what) = half.strip_prefix("f.csv.gz, line ").unwrap().split_once(": ").unwrap();
        assert!((ROWS / 3..ROWS * 2 / 3).contains(&line.parse().unwrap()), "{half}");
        assert_eq!(what, "the gzip data ends too early: the file is incomplete, copy or download it again");
        let end = ROWS + 2;
        let tail = error("f.csv.gz", &whole[..whole.len() - 4], &["a"]);
        assert!(tail.starts_with(&format!("f.csv.gz, line {end}: the gzip data ends too early")), "{tail}");
        let mut checksum = whole.clone();
        let at = checksum.len() - 6;
        checksum[at] ^= 1;
        for damaged in [checksum, [&whole[..], b"trailing bytes"].concat()] {
            let damaged = error("f.csv.gz", &damaged, &["a"]);
            let expected = format!("f.csv.gz, line {end}: the gzip data is damaged (");
            assert!(damaged.starts_with(&expected), "{damaged}");
        }
    }

    #[test]
    fn a_row_without_end_is_refused_before_it_fills_the_memory() {
        let long = vec![b'x'; ROW_MAX + 1];
        let advice = "the row is longer than 16 MB: look for an unclosed quote or a missing line break";
        let csv = [b"a\n\n1\n\n", &long[..]].concat();
        assert_eq!(error("f.csv", &gzip(&csv), &["a"]), format!("f.csv, line 5: {advice}"));
        let quoted = [b"a\r\n\r\n1\r\n\"\r\n", &b"2\n".repeat(ROW_MAX / 2 + 1)[..]].concat();
        assert_eq!(error("f.csv", &gzip(&quoted), &["a"]), format!("f.csv, line 4: {advice}"));
        let json = [b"{}\n", &long[..]].concat();
        assert_eq!(error("f.jsonl", &gzip(&json), &["a"]), format!("f.jsonl, line 2: {advice}"));
        let fits = [b"a\n", &long[..ROW_MAX - 1], b"\n1\n"].concat();
        assert_eq!(load("f.csv", &gzip(&fits), &["a"]).unwrap().len(), 2);
    }

    #[test]
    fn what_cannot_be_opened_is_an_io_error() {
        let folder = Folder::new();
        for path in [folder.0.join("none.csv"), folder.0.clone()] {
            let error = Source::open(&path).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
    }

    /// The flights that left New York in 2013 (R package nycflights13, table `flights`: 336,776 rows).
    #[test]
    fn the_flights_of_2013() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/nyc-flights-2013.csv.gz");
        let mut source = Source::open(&file).unwrap();
        let binding = source.bind(&["tailnum", "date", "scheduled", "dep_delay_min"].map(path)).unwrap();
        let first = source.next().unwrap().unwrap();
        assert_eq!(first.line(), 2);
        let cells: Vec<_> = (0..4).map(|i| first.text(&binding, i).unwrap().into_owned()).collect();
        assert_eq!(cells, ["N14228", "2013-01-01", "2013-01-01T05:15", "2"]);
        let (read, total) = source.progress();
        assert_eq!(total, Some(std::fs::metadata(&file).unwrap().len()));
        assert!(read > 0 && Some(read) < total);
        let (mut rows, mut last) = (1, 2);
        while let Some(row) = source.next().unwrap() {
            rows += 1;
            last = row.line();
        }
        assert_eq!((rows, last), (336_776, 336_777));
        assert_eq!(source.progress().0, total.unwrap());
        assert!(source.next().unwrap().is_none(), "the end stays the end");
    }

    proptest! {
        #[test]
        fn what_a_csv_writer_writes_is_read_back(
            cells in proptest::collection::vec(["[a,\"\n\r €\t]{0,6}", "[a,\"\n\r €\t]{0,6}"], 1..12),
            delimiter in prop_oneof![Just(b','), Just(b'\t')],
        ) {
            let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
            writer.write_record(["a", "b"]).unwrap();
            let (mut expected, mut line) = (Vec::new(), 2);
            for [a, b] in &cells {
                writer.write_record([a, b]).unwrap();
                expected.push(row(line, &[a, b]));
                line += 1 + (a.matches('\n').count() + b.matches('\n').count()) as u64;
            }
            let text = Box::new(Cursor::new(writer.into_inner().unwrap()));
            let mut source = Source::read(text, "f".into(), Some(Format::Cells(delimiter)), None).unwrap();
            prop_assert_eq!(rows_of(&mut source, &["a", "b"]).unwrap(), expected);
        }

        #[test]
        fn any_bytes_are_rows_or_an_error(
            content in proptest::collection::vec(prop_oneof![
                proptest::sample::select(b"\",\n\r{}".to_vec()),
                any::<u8>(),
            ], 0..64),
            format in proptest::sample::select(vec![None, Some(Format::Json), Some(Format::Cells(b','))]),
        ) {
            let breaks = content.iter().filter(|byte| **byte == b'\n').count() as u64;
            let read = Source::read(Box::new(Cursor::new(content)), "f".into(), format, None);
            match read.and_then(|mut source| rows_of(&mut source, &[])) {
                Ok(rows) => prop_assert!(!rows.is_empty() && rows.iter().all(|row| row.0 <= breaks + 1)),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::InvalidInput),
            }
        }
    }
}
