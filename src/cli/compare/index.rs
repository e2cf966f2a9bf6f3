//! `--gsi`: what a secondary index is written as, and what is printed of it.
//!
//! `NAME=TEMPLATE`, then any of `;size=400B`, `;partitions=4`, `;wcu=2000`. A `;` inside braces belongs to the template.

use super::super::quantity;
use super::super::table::{clean, cut};
use super::{KEY_CELL, counted, wrapped};
use hotplate::error::{Error, Result};
use hotplate::key::Template;
use hotplate::lab::report::{Design, IndexFigures, Report};
use hotplate::lab::{INDEXES_MAX, Index, KeyedRows, percent, whole};
use hotplate::profile::{Profile, Service, Throughput};
use hotplate::units::Bytes;

/// Characters of an index's name at the most ("Quotas in Amazon DynamoDB", "Secondary index names": 3 to 255).
const NAME_MAX: usize = 255;

/// An index as it was asked for.
#[derive(Debug)]
pub(super) struct AskedIndex {
    pub(super) name: String,
    pub(super) template: Template,
    profile: Profile,
    entry: Bytes,
}

impl AskedIndex {
    /// With its keys, which are known when the file has been read.
    pub(super) fn with(self, keys: KeyedRows) -> Index {
        Index { name: self.name, template: self.template, profile: self.profile, entry: self.entry, keys }
    }
}

/// The indexes of a table with this profile and items of this size.
pub(super) fn indexes(texts: &[String], profile: &Profile, item: Bytes) -> Result<Vec<AskedIndex>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    if profile.service() != Service::DynamoDb {
        return Err(Error::invalid(
            "--gsi does not go with --profile cosmos: Cosmos DB indexes an item in its own partition, as part of the write's \
             charge; a second key there is a second container",
        ));
    }
    if texts.len() > INDEXES_MAX {
        return Err(Error::invalid(format!("--gsi: at most {INDEXES_MAX} indexes, not {}", texts.len())));
    }
    let mut indexes: Vec<AskedIndex> = Vec::new();
    for text in texts {
        let index = index(text, profile, item)?;
        if indexes.iter().any(|known| known.name == index.name) {
            return Err(Error::invalid(format!("--gsi: {} is given twice", index.name)));
        }
        indexes.push(index);
    }
    Ok(indexes)
}

fn index(text: &str, profile: &Profile, item: Bytes) -> Result<AskedIndex> {
    let wrong = |why: &str| {
        Error::invalid(format!(
            "--gsi: {text:?} {why}: write it like 'by-status={{status}}' or 'by-status={{status}};size=200B;partitions=4;\
             wcu=2000'"
        ))
    };
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("has no ="))?;
    let name = name.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
        return Err(wrong("has a bad name (letters, digits, - _ and ., at most 255)"));
    }
    let mut pieces = pieces(rest).into_iter();
    let template = pieces.next().unwrap_or_default();
    let within = |error: Error| error.within(format!("--gsi {name}"));
    let template = Template::parse(template).map_err(|error| within(error.into()))?;
    if template.fields().is_empty() {
        return Err(wrong("has a key without a property"));
    }
    let mut entry = item;
    let (mut partitions, mut wcu, mut size) = (None, None, None);
    for piece in pieces {
        let (option, value) = piece.split_once('=').ok_or_else(|| wrong("has an option without ="))?;
        let (option, value) = (option.trim(), value.trim());
        let place = match option {
            "partitions" => &mut partitions,
            "wcu" => &mut wcu,
            "size" => {
                if size.replace(value).is_some() {
                    return Err(wrong("has size twice"));
                }
                entry = quantity::size(value).map_err(within)?;
                profile.check_item(entry).map_err(within)?;
                continue;
            }
            _ => {
                return Err(wrong(&format!(
                    "has an unknown option {option:?}; there are size, partitions and wcu"
                )));
            }
        };
        let number = value.parse::<u64>().ok().filter(|_| value.chars().all(|c| c.is_ascii_digit()));
        let number =
            number.ok_or_else(|| wrong(&format!("has {option}={value:?}, which is no whole number")))?;
        if place.replace(number).is_some() {
            return Err(wrong(&format!("has {option} twice")));
        }
    }
    let mut own = profile.clone();
    if let Some(wcu) = wcu {
        if profile.name() != "dynamodb" {
            return Err(wrong("has wcu, which an index of an on-demand table does not pay for by itself"));
        }
        // The bounds of a provisioned table's throughput are an index's too.
        let paid = Profile::dynamodb_provisioned(1, wcu).map_err(|error| within(error.within("wcu")))?;
        let (Throughput::ReadWrite { read, .. }, Throughput::ReadWrite { write, .. }) =
            (profile.throughput(), paid.throughput())
        else {
            return Err(wrong("has wcu, and the table has no write units"));
        };
        own = own.with_throughput(Throughput::ReadWrite { read: *read, write: *write }).map_err(within)?;
    }
    if let Some(partitions) = partitions {
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        own = own.with_partitions(partitions).map_err(|error| within(error.within("partitions")))?;
    }
    Ok(AskedIndex { name: name.to_owned(), template, profile: own, entry })
}

/// The pieces between semicolons that are not inside braces.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut begin, mut depth, mut quoted) = (0, 0_u32, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' if depth > 0 => quoted = !quoted,
            _ if quoted => {}
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => {
                pieces.push(&text[begin..i]);
                begin = i + 1;
            }
            _ => {}
        }
    }
    pieces.push(&text[begin..]);
    pieces
}

/// The hottest resource of a design, for a cell of the table.
pub(super) fn hottest(design: &Design) -> String {
    let index = design.indexes.iter().find(|index| index.name == design.hottest_resource.name);
    match index.filter(|_| design.hottest_resource.kind == "index") {
        Some(index) => {
            let key = cut(&index.hottest_key, KEY_CELL);
            format!("{}: {} {key}", index.name, percent(index.hottest_key_share))
        }
        None => "table".into(),
    }
}

/// A line for each index: where it stands, and under each design what it refused.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(first) = report.designs.first() else { return lines };
    for (i, index) in first.indexes.iter().enumerate() {
        lines.push(wrapped(&format!(
            "index {} {}: {} of {} {}/s, {} {}/s in all, an entry of {} is {} {}",
            clean(&index.name),
            clean(&index.key),
            match index.partition_count {
                1 => "1 partition".into(),
                n => format!("{} partitions", whole(f64::from(n))),
            },
            whole(index.partition_limit_per_s),
            report.unit,
            whole(index.throughput_per_s),
            report.unit,
            Bytes(index.entry_bytes),
            whole(index.units_per_entry),
            report.unit
        )));
        for design in &report.designs {
            let Some(index) = design.indexes.get(i) else { continue };
            lines.push(wrapped(&format!("{}: {}", clean(&design.key), clean(&under(index)))));
        }
    }
    lines
}

fn under(index: &IndexFigures) -> String {
    let refused: Vec<String> = index
        .throttles
        .iter()
        .filter(|throttles| throttles.attempts > 0)
        .map(|throttles| format!("{} {}", whole(throttles.attempts as f64), throttles.reason))
        .collect();
    let rate =
        |rate: Option<f64>| rate.map_or_else(|| "any rate".into(), |rate| format!("{}/s", whole(rate)));
    format!(
        "{} of the writes have an entry, {}, partition {} has {} of them, key {} has {}; refused: {}; holds {} now, {} \
         after every split that can help",
        percent(index.entries_share),
        counted(index.distinct_keys, "key"),
        index.hottest_partition,
        percent(index.hottest_partition_share),
        cut(&index.hottest_key, KEY_CELL),
        percent(index.hottest_key_share),
        if refused.is_empty() { "none".into() } else { refused.join(", ") },
        rate(index.holds_per_s),
        rate(index.ceiling_per_s)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_in_braces_belongs_to_the_template() {
        assert_eq!(pieces("{a}.{\"b;}c\"};size=1KB"), ["{a}.{\"b;}c\"}", "size=1KB"]);
        assert_eq!(pieces(""), [""]);
        let profile = Profile::dynamodb_provisioned(5, 3_000).unwrap().with_partitions(3).unwrap();
        let read = |text: &str| index(text, &profile, Bytes(1_024));
        let index = read("by-status = {status};size=200B; partitions=4 ;wcu=20").unwrap();
        assert_eq!(
            (index.entry, index.profile.partitions(), index.name.as_str()),
            (Bytes(200), 4, "by-status")
        );
        assert_eq!(index.profile.throughput().write_rate().units(), 20.0);
        let same = read("x={a}").unwrap();
        assert_eq!((same.entry, &same.profile), (Bytes(1_024), &profile));
    }
}
