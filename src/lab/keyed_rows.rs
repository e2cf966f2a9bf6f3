//! The rows of a file as one key design sees them: a number for each distinct key, and the order of the writes.
//!
//! Items are not kept. A file of ten million rows under one design is forty megabytes here and its distinct keys.

use super::gate::NO_ENTRY;
use crate::error::{Error, ErrorKind, Result};
use crate::key::{KeyBytes, KeyValue, PartitionKey, Rendered};
use crate::profile::Service;
use crate::rng::Seed;
use ahash::AHasher;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault};

/// Rows a design may have: a bound of ours, so that numbers of rows and keys fit 32 bits.
const ROWS_MAX: usize = 1 << 31;

/// Reasons for skipped rows that are kept word for word.
const EXAMPLES_MAX: usize = 5;

/// The longest partition key value: 2,048 bytes in both services ("Quotas"; "Service quotas").
const KEY_BYTES_MAX: usize = 2_048;

type FastHash = BuildHasherDefault<AHasher>;

/// What orders the items of a logical partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortRule {
    /// The row number: no row overwrites another, and the sort key only ever grows.
    RowNumber,
    /// A column of the file.
    Column,
}

/// The rows of a file under one key design.
#[derive(Clone, Debug)]
pub struct KeyedRows {
    /// Distinct keys, numbered in the order of their first row.
    keys: Vec<PartitionKey>,
    /// The key of each write, in order.
    rows: Vec<u32>,
    /// The window of each write, where there are windows.
    windows: Vec<u32>,
    /// The sort key of each write, where it is a column and reads are to be carried out.
    sorts: Vec<String>,
    /// By index, the number of each write's key there.
    entries: Vec<Vec<u32>>,
    /// A bit for each read that a row answers, where there are reads.
    answers: Vec<u32>,
    skipped: u64,
    examples: Vec<String>,
    /// For each key whether a split cannot divide it.
    unsplittable: Vec<bool>,
    /// Writes of the item that was written most.
    hottest_item: u64,
    /// Rows that overwrite the item of an earlier one.
    overwrites: u64,
    /// Rows of a key whose calculated suffix is that of an empty value.
    blanks: HashMap<u32, u64, FastHash>,
}

impl KeyedRows {
    /// Distinct keys, numbered by their place here.
    pub fn keys(&self) -> &[PartitionKey] {
        &self.keys
    }

    /// The key number of each write.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The sort key of each write, where it is a column and there are reads.
    pub fn sorts(&self) -> Option<&[String]> {
        (!self.sorts.is_empty()).then_some(&self.sorts)
    }

    /// A bit for each read that a row answers; empty when there are no reads.
    pub fn answers(&self) -> &[u32] {
        &self.answers
    }

    /// Gives each row other read bits, by those it has.
    ///
    /// A loader that does not know yet which reads there will be numbers the rows' contents here first.
    pub fn map_answers(&mut self, bits: impl Fn(u32) -> u32) {
        self.answers.iter_mut().for_each(|answers| *answers = bits(*answers));
    }

    /// Rows that have no key under this design.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Why, for the first few of them.
    pub fn skipped_examples(&self) -> &[String] {
        &self.examples
    }

    /// Rows that overwrite the item of an earlier row.
    pub fn overwrites(&self) -> u64 {
        self.overwrites
    }

    /// Whether more than half of a key's rows got its calculated suffix from an empty value.
    pub fn mostly_blank(&self, key: u32) -> bool {
        let Some(&blanks) = self.blanks.get(&key) else { return false };
        let rows = self.rows.iter().filter(|&&row| row == key).count() as u64;
        blanks * 2 > rows
    }

    /// Writes of the item that was written most.
    pub fn hottest_item(&self) -> u64 {
        self.hottest_item
    }

    /// Whether no split can divide the load of this key.
    pub fn is_unsplittable(&self, key: u32) -> bool {
        self.unsplittable[key as usize]
    }

    /// Writes to each key among `rows`.
    pub fn counts(&self, rows: &[u32]) -> Vec<u64> {
        let mut counts = vec![0; self.keys.len()];
        for &key in rows {
            counts[key as usize] += 1;
        }
        counts
    }

    /// Writes in another order, the same for every design that kept the same rows.
    pub fn shuffle(&mut self, seed: Seed) {
        // The same seed draws the same permutation for windows and rows.
        seed.rng().shuffle(&mut self.rows);
        if !self.windows.is_empty() {
            seed.rng().shuffle(&mut self.windows);
        }
        seed.rng().shuffle(&mut self.sorts);
        seed.rng().shuffle(&mut self.answers);
        self.entries.iter_mut().for_each(|entries| seed.rng().shuffle(entries));
    }

    /// For each write the number of its key in an index, or [`NO_ENTRY`].
    pub(super) fn entries(&self, index: usize) -> &[u32] {
        self.entries.get(index).map_or(&[], Vec::as_slice)
    }

    /// The same by window.
    pub(super) fn entries_by_window(&self, index: usize, windows: usize) -> Vec<Vec<u32>> {
        let mut groups = vec![Vec::new(); windows];
        for (&entry, &window) in self.entries(index).iter().zip(&self.windows) {
            groups[window as usize].push(entry);
        }
        groups
    }

    /// The writes of each window in order: `by_window()[w]` for window number `w`.
    pub fn by_window(&self, windows: usize) -> Vec<Vec<u32>> {
        let mut groups = vec![Vec::new(); windows];
        for (&key, &window) in self.rows.iter().zip(&self.windows) {
            groups[window as usize].push(key);
        }
        groups
    }
}

/// Takes rows one by one.
#[derive(Debug)]
pub struct KeyedRowsBuilder {
    service: Service,
    sort: SortRule,
    numbers: HashMap<KeyBytes, u32, FastHash>,
    /// The bytes of the key at hand, so that a known key is looked up without a heap block.
    bytes: Vec<u8>,
    rows: KeyedRows,
    orders: Vec<SortOrder>,
    items: HashMap<(u32, u64), u32, FastHash>,
}

/// In which direction the sort keys of one logical partition have moved so far.
#[derive(Clone, Debug)]
struct SortOrder {
    last: String,
    rising: bool,
    falling: bool,
}

impl KeyedRowsBuilder {
    /// No rows yet.
    pub fn new(service: Service, sort: SortRule) -> Self {
        Self {
            service,
            sort,
            numbers: HashMap::default(),
            bytes: Vec::new(),
            rows: KeyedRows {
                keys: Vec::new(),
                rows: Vec::new(),
                windows: Vec::new(),
                sorts: Vec::new(),
                entries: Vec::new(),
                answers: Vec::new(),
                skipped: 0,
                examples: Vec::new(),
                unsplittable: Vec::new(),
                hottest_item: 0,
                overwrites: 0,
                blanks: HashMap::default(),
            },
            orders: Vec::new(),
            items: HashMap::default(),
        }
    }

    /// Takes a row whose key was rendered: `text` holds it when the rendering says so. `sort` is the value of the sort
    /// column; `answers` has a bit for each read that the row answers. Says why the row has to be skipped, if it must;
    /// the caller then tells [`skip`](Self::skip) or gives up.
    ///
    /// # Errors
    /// When there are more rows than can be held.
    pub fn push(
        &mut self,
        rendered: Rendered,
        text: &str,
        window: Option<u32>,
        sort: Option<&str>,
        answers: Option<u32>,
    ) -> Result<Option<String>> {
        if self.rows.rows.len() >= ROWS_MAX {
            return Err(Error::new(ErrorKind::TooLarge, format!("a file may have at most {ROWS_MAX} rows")));
        }
        match rendered {
            Rendered::Text => match self.refuse_text(text) {
                Some(reason) => return Ok(Some(reason)),
                None => PartitionKey::encode_text(text, &mut self.bytes),
            },
            Rendered::Value(value) => match self.refuse_value(&value) {
                Some(reason) => return Ok(Some(reason)),
                None => {
                    self.bytes.clear();
                    self.bytes.extend_from_slice(PartitionKey::single(value).as_bytes());
                }
            },
        }
        let number = match self.numbers.get(self.bytes.as_slice()) {
            Some(&number) => number,
            None => {
                let number = self.rows.keys.len() as u32;
                let key = KeyBytes::new(&self.bytes);
                self.rows.keys.push(PartitionKey::from_key_bytes(key.clone()));
                self.numbers.insert(key, number);
                number
            }
        };
        self.rows.rows.push(number);
        self.rows.windows.extend(window);
        if let Some(answers) = answers {
            self.rows.answers.push(answers);
            self.rows.sorts.extend(sort.map(str::to_owned));
        }
        if self.sort == SortRule::Column {
            self.count_item(number, sort.unwrap_or_default());
        }
        Ok(None)
    }

    /// Notes the last row's key in each index, by the numbers of their own builders; `None` where it has no entry.
    /// Told for every row or for none.
    pub fn note_entries(&mut self, entries: &[Option<u32>]) {
        self.rows.entries.resize(entries.len(), Vec::new());
        for (rows, entry) in self.rows.entries.iter_mut().zip(entries) {
            rows.push(entry.unwrap_or(NO_ENTRY));
        }
    }

    /// The number of the last row's key.
    pub fn last(&self) -> Option<u32> {
        self.rows.rows.last().copied()
    }

    /// Notes that the last row's calculated suffix is that of an empty value.
    pub fn note_blank(&mut self) {
        if let Some(&key) = self.rows.rows.last() {
            *self.rows.blanks.entry(key).or_default() += 1;
        }
    }

    /// Counts a row that has no key.
    pub fn skip(&mut self, reason: impl FnOnce() -> String) {
        self.rows.skipped += 1;
        if self.rows.examples.len() < EXAMPLES_MAX {
            self.rows.examples.push(reason());
        }
    }

    fn refuse_text(&self, text: &str) -> Option<String> {
        if text.is_empty() && self.service == Service::DynamoDb {
            return Some("its key is empty, and DynamoDB refuses empty key values".into());
        }
        (text.len() > KEY_BYTES_MAX).then(|| {
            format!("its key has {} bytes, and a partition key has at most {KEY_BYTES_MAX}", text.len())
        })
    }

    fn refuse_value(&self, value: &KeyValue) -> Option<String> {
        match (self.service, value) {
            (_, KeyValue::String(text)) => self.refuse_text(text),
            (Service::DynamoDb, KeyValue::Undefined) => Some("its key property is absent".into()),
            (Service::DynamoDb, KeyValue::Null | KeyValue::Bool(_)) => {
                Some(format!("its key is {value}, and a DynamoDB key is a string, a number or binary"))
            }
            _ => None,
        }
    }

    fn count_item(&mut self, number: u32, sort: &str) {
        match self.orders.get_mut(number as usize) {
            None => self.orders.push(SortOrder { last: sort.to_owned(), rising: true, falling: true }),
            Some(order) => {
                let step = compare_values(&order.last, sort);
                order.rising &= step.is_le();
                order.falling &= step.is_ge();
                sort.clone_into(&mut order.last);
            }
        }
        let hash = FastHash::default().hash_one(sort);
        let times = self.items.entry((number, hash)).or_default();
        *times += 1;
        self.rows.overwrites += u64::from(*times > 1);
        self.rows.hottest_item = self.rows.hottest_item.max(u64::from(*times));
    }

    /// The rows.
    ///
    /// # Errors
    /// When no row had a key.
    pub fn finish(mut self) -> Result<KeyedRows> {
        if self.rows.rows.is_empty() {
            let why =
                self.rows.examples.first().map_or_else(String::new, |first| format!("; the first: {first}"));
            return Err(Error::invalid(format!(
                "not one of {} rows has a key under this design{why}",
                self.rows.skipped
            )));
        }
        // Cosmos DB takes items without the key property, but a file of nothing else is a slip in the template.
        if self.rows.keys == [PartitionKey::single(KeyValue::Undefined)] {
            return Err(Error::invalid(format!(
                "not one of {} rows has a key under this design; the first: its key property is absent",
                self.rows.rows.len()
            )));
        }
        self.rows.unsplittable = match (self.service, self.sort) {
            // "Partitioning": a logical partition is never divided.
            (Service::Cosmos, _) => vec![true; self.rows.keys.len()],
            // "Burst and adaptive capacity": no split where "traffic tracks monotonic increases or decreases".
            (Service::DynamoDb, SortRule::RowNumber) => vec![true; self.rows.keys.len()],
            (Service::DynamoDb, SortRule::Column) => {
                self.orders.iter().map(|order| order.rising || order.falling).collect()
            }
        };
        if self.sort == SortRule::RowNumber {
            self.rows.hottest_item = 1;
        }
        Ok(self.rows)
    }
}

/// Numbers by value, everything else by bytes.
fn compare_values(a: &str, b: &str) -> std::cmp::Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y),
        _ => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(builder: &mut KeyedRowsBuilder, text: &str, sort: &str) -> Option<String> {
        builder.push(Rendered::Text, text, None, Some(sort), None).unwrap()
    }

    #[test]
    fn a_sort_column_that_goes_up_and_down_lets_a_key_be_divided() {
        let mut builder = KeyedRowsBuilder::new(Service::DynamoDb, SortRule::Column);
        for (key, sort) in
            [("a", "9"), ("a", "10"), ("b", "3"), ("b", "1"), ("c", "1"), ("c", "5"), ("c", "2")]
        {
            assert_eq!(push(&mut builder, key, sort), None);
        }
        assert_eq!(push(&mut builder, "c", "5"), None);
        let rows = builder.finish().unwrap();
        assert_eq!([0, 1, 2].map(|key| rows.is_unsplittable(key)), [true, true, false]);
        assert_eq!((rows.hottest_item(), rows.overwrites()), (2, 1));
    }

    #[test]
    fn dynamodb_refuses_what_cosmos_keeps_apart() {
        let values = [KeyValue::from(""), KeyValue::Null, KeyValue::Undefined];
        for (service, refused) in [(Service::DynamoDb, true), (Service::Cosmos, false)] {
            let mut builder = KeyedRowsBuilder::new(service, SortRule::RowNumber);
            for value in values.clone() {
                let reason = builder.push(Rendered::Value(value), "", None, None, None).unwrap();
                assert_eq!(reason.is_some(), refused, "{service} {reason:?}");
            }
            assert_eq!(builder.finish().map(|rows| rows.keys().len()).ok(), (!refused).then_some(3));
        }
    }
}
