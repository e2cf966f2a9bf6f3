//! `hotplate compare`: arguments, loading, and what is printed.

mod contents;
mod index;
mod sweep;

use super::input::{Binding, Source};
use super::output::{self, PendingFile};
use super::prose::{counted, millis, progress_bar, wrapped};
use super::table::{Align, Table, clean, cut};
use super::window::{Every, Windows, looks_like_time};
use super::{page, quantity};
use clap::{Args, ValueEnum};
use contents::Contents;
use hotplate::error::{Error, Result};
use hotplate::key::{FieldPath, Part, Template};
use hotplate::lab::report::{Design, Load, Report};
use hotplate::lab::{
    Comparison, Experiment, KeyedRows, KeyedRowsBuilder, LoadShape, Mix, READS_MAX, ReadSpec, Retries,
    SortRule, Windows as WindowSet, percent, whole,
};
use hotplate::profile::{DYNAMODB_PARTITION_WRITE, Profile, Service};
use hotplate::rng::Seed;
use hotplate::units::Bytes;
use index::AskedIndex;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Key designs in one comparison at the most.
const DESIGNS_MAX: usize = 32;

/// Windows at the most: their names are kept.
const WINDOWS_MAX: usize = 1_000_000;

/// What a table pays for when nothing is said: ten DynamoDB partitions' worth, and as many request units.
const DEFAULT_WCU: u64 = 10_000;
const DEFAULT_RU: u64 = 10_000;

/// Layouts of a hash that is not public.
const DEFAULT_LAYOUTS: u32 = 50;

/// How long an answer takes when nothing is said.
const SERVICE_TIME: &str = "5ms";

/// Retries at the most.
const RETRIES_MAX: u32 = 1_000_000;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// CSV or JSON lines, also gzipped; - for standard input.
    file: PathBuf,
    /// A key design; give several. Fields in braces: '{origin}.{hash(tailnum, 1..200)}'.
    #[arg(long = "key", required = true, value_name = "TEMPLATE")]
    keys: Vec<String>,
    /// dynamodb, dynamodb-on-demand or cosmos.
    #[arg(long, default_value = "dynamodb")]
    profile: String,
    /// Write units a second that the DynamoDB table is provisioned with [default: 10000].
    #[arg(long, allow_hyphen_values = true, value_name = "UNITS")]
    wcu: Option<u64>,
    /// Read units a second that the DynamoDB table is provisioned with.
    #[arg(long, allow_hyphen_values = true, value_name = "UNITS")]
    rcu: Option<u64>,
    /// Request units a second of the Cosmos DB container [default: 10000].
    #[arg(long, allow_hyphen_values = true, value_name = "UNITS")]
    ru: Option<u64>,
    /// Physical partitions at the beginning [default: what the service would create].
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    partitions: Option<u32>,
    /// Size of each item, keys included.
    #[arg(long, allow_hyphen_values = true, default_value = "1KB", value_name = "SIZE")]
    item_size: String,
    /// The column that is the sort key (or id) [default: the row number].
    #[arg(long, value_name = "COLUMN")]
    sort: Option<String>,
    /// The order of the writes.
    #[arg(long, value_enum, default_value_t = Order::File)]
    order: Order,
    /// Writes offered each second [default: what the table pays for].
    #[arg(long, allow_hyphen_values = true, value_name = "N", conflicts_with = "workers")]
    rate: Option<u64>,
    /// So many workers, each beginning a write when its last is answered, instead of a rate.
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    workers: Option<u32>,
    /// How often a refused write comes back, each time when the refusal says.
    #[arg(long, allow_hyphen_values = true, default_value_t = 0, value_name = "N")]
    retries: u32,
    /// How long an answer takes; with workers or retries on average, half to one and a half by the seed.
    #[arg(long, allow_hyphen_values = true, default_value = SERVICE_TIME, value_name = "TIME")]
    service_time: String,
    /// Hold the key mix of each value of this column at the rate, instead of replaying the file once.
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["time", "every"])]
    window: Option<String>,
    /// Like --window, for a column of times, divided by --every.
    #[arg(long, value_name = "COLUMN", requires = "every")]
    time: Option<String>,
    /// The length of a window: 1d, 6h, 15m.
    #[arg(long, allow_hyphen_values = true, value_name = "PERIOD", requires = "time")]
    every: Option<String>,
    /// Seeded layouts to measure under [default: 50 for DynamoDB, whose hash is not public, 20 in a sweep; 1 for Cosmos
    /// DB].
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    layouts: Option<u32>,
    /// What a read costs under each design: equal properties, like 'date=2013-01-01,tailnum=N14228'; give several.
    #[arg(long = "read", value_name = "FILTER")]
    reads: Vec<String>,
    /// A secondary index that every write also writes to: 'by-status={status}', with ';size=200B', ';partitions=4' or
    /// ';wcu=2000' where it differs from the table; give several (DynamoDB).
    #[arg(long = "gsi", value_name = "NAME=TEMPLATE")]
    indexes: Vec<String>,
    /// Also run the reads under the load, so many beside so many writes: 'write=80,read=20'. The rate stays the writes'.
    #[arg(long, value_name = "PARTS", requires = "reads")]
    mix: Option<String>,
    /// Burst credit at the start of a replay of the whole file (DynamoDB): a load experiment begins without, a table that was
    /// idle for five minutes has all.
    #[arg(long, value_enum, default_value_t = Burst::Empty)]
    burst: Burst,
    /// Search for the highest rate of each design.
    #[arg(long)]
    find_max: bool,
    /// Replace N in the key designs by each value and find where more suffixes stop paying: 'N=1,2,5,10,20,50,100,200'.
    #[arg(long, value_name = "NAME=VALUES")]
    sweep: Option<String>,
    /// Stop at the first row that has no key, instead of counting and skipping it.
    #[arg(long)]
    strict: bool,
    /// The seed of everything random.
    #[arg(long, allow_hyphen_values = true, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Also write a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// As in the file.
    File,
    /// Shuffled, by the seed.
    Shuffled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Burst {
    /// None.
    Empty,
    /// 300 seconds' worth.
    Full,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(sweep) = &arguments.sweep {
        return sweep::run(arguments, sweep);
    }
    // Everything that can be wrong without reading the file is found first.
    let templates = templates(&arguments.keys)?;
    let item = quantity::size(&arguments.item_size).map_err(|error| error.within("--item-size"))?;
    let service_time =
        quantity::service_time(&arguments.service_time).map_err(|e| e.within("--service-time"))?;
    let (profile, throughput) = profile(arguments)?;
    profile.check_item(item).map_err(|error| error.within("--item-size"))?;
    let windows = windows(arguments)?;
    if arguments.burst == Burst::Full {
        if profile.service() == Service::Cosmos {
            return Err(Error::invalid(
                "--burst: burst credit is of DynamoDB; `run` has Cosmos DB's burst capacity",
            ));
        }
        if arguments.window.is_some() {
            return Err(Error::invalid(
                "--burst: a window is held until it is steady, which no burst credit survives",
            ));
        }
    }
    let load = load(arguments, &profile, item)?;
    let layouts = arguments.layouts.unwrap_or(match profile.service() {
        Service::DynamoDb => DEFAULT_LAYOUTS,
        Service::Cosmos => 1,
    });
    let reads = reads(&arguments.reads)?;
    let indexes = index::indexes(&arguments.indexes, &profile, item)?;
    let mix = arguments.mix.as_deref().map(|text| mix(text, arguments)).transpose()?;
    if arguments.html.as_deref().is_some_and(|html| output::is_same_file(html, &arguments.file)) {
        return Err(Error::invalid("--html: this is the data file, which would be lost"));
    }
    let html = arguments.html.as_deref().map(PendingFile::create).transpose()?;

    let seed = Seed(arguments.seed);
    let loaded = Loader {
        arguments,
        templates: &templates,
        service: profile.service(),
        windows,
        reads,
        indexes: &indexes,
        contents: None,
        seed,
    }
    .load()?;
    let experiment = Experiment {
        file: file_name(arguments),
        profile,
        throughput,
        item,
        load,
        burst_full: arguments.burst == Burst::Full,
        service_time,
        windows: loaded.windows,
        sort: sort_rule(arguments),
        sort_name: arguments.sort.clone().unwrap_or_else(|| "row number".into()),
        layouts,
        indexes: indexes.into_iter().zip(loaded.indexes).map(|(index, keys)| index.with(keys)).collect(),
        reads: loaded.reads,
        mix,
        find_max: arguments.find_max,
        seed,
        warnings: loaded.warnings,
    };
    let comparison = Comparison::new(experiment, templates.into_iter().zip(loaded.designs).collect())?;
    let bar = progress_bar("measuring {bar:40} {pos}/{len} {eta}", 0);
    let report = comparison.run(&|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();

    publish(arguments, html, &report, page::render, text)
}

/// Writes a report where it was asked for: as a page, and as JSON or text.
fn publish<R: serde::Serialize>(
    arguments: &Arguments,
    html: Option<PendingFile>,
    report: &R,
    page: impl FnOnce(&R) -> Result<String>,
    text: impl FnOnce(&R) -> String,
) -> Result<()> {
    if let Some(html) = html {
        html.finish(&page(report)?)?;
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(report)
            .map_err(|error| Error::invalid(format!("the report cannot be written as JSON: {error}")))?;
        output::print(&format!("{text}\n"))
    } else {
        output::print(&text(report))
    }
}

fn templates(texts: &[String]) -> Result<Vec<Template>> {
    if texts.len() > DESIGNS_MAX {
        return Err(Error::invalid(format!("--key: at most {DESIGNS_MAX} designs, not {}", texts.len())));
    }
    let mut templates = Vec::new();
    for text in texts {
        let template = template(text)?;
        if templates.contains(&template) {
            return Err(Error::invalid(format!("--key: {template} is given twice")));
        }
        templates.push(template);
    }
    Ok(templates)
}

fn template(text: &str) -> Result<Template> {
    let template = Template::parse(text).map_err(|error| Error::from(error).within("--key"))?;
    if text.trim_start().starts_with("[\"") {
        return Err(Error::invalid(format!(
            "--key: {text} looks like a hierarchical key, which only `hotplate where` and the library know: a design \
             here is one template, such as '{{a}}-{{b}}'"
        )));
    }
    Ok(template)
}

/// The table, and what it pays for in words.
fn profile(arguments: &Arguments) -> Result<(Profile, String)> {
    let refuse = |flag: &str, value: Option<u64>| match value {
        Some(_) => Err(Error::invalid(format!("{flag} does not go with --profile {}", arguments.profile))),
        None => Ok(()),
    };
    let (profile, throughput) = match arguments.profile.as_str() {
        "dynamodb" => {
            refuse("--ru", arguments.ru)?;
            let wcu = arguments.wcu.unwrap_or(DEFAULT_WCU);
            let profile = Profile::dynamodb_provisioned(arguments.rcu.unwrap_or(1), wcu)
                .map_err(|error| error.within("--wcu, --rcu"))?;
            // Only writes are offered here: unless reads are said to be paid for, they ask for no partition.
            let profile = match arguments.rcu {
                Some(_) => profile,
                None => {
                    let count = u32::try_from(wcu.div_ceil(DYNAMODB_PARTITION_WRITE)).unwrap_or(u32::MAX);
                    profile.with_partitions(count).map_err(|error| error.within("--wcu"))?
                }
            };
            (profile, format!("{} WCU", whole(wcu as f64)))
        }
        "dynamodb-on-demand" => {
            refuse("--ru", arguments.ru)?;
            refuse("--wcu", arguments.wcu)?;
            refuse("--rcu", arguments.rcu)?;
            let profile = Profile::dynamodb_on_demand();
            let writes = profile.throughput().write_rate().units();
            (profile, format!("{} on-demand writes/s", whole(writes)))
        }
        "cosmos" => {
            refuse("--wcu", arguments.wcu)?;
            refuse("--rcu", arguments.rcu)?;
            let ru = arguments.ru.unwrap_or(DEFAULT_RU);
            let profile = Profile::cosmos_manual(ru).map_err(|error| error.within("--ru"))?;
            (profile, format!("{} RU/s", whole(ru as f64)))
        }
        other => {
            return Err(Error::invalid(format!(
                "--profile: unknown profile {other:?}: dynamodb, dynamodb-on-demand or cosmos"
            )));
        }
    };
    let profile = match arguments.partitions {
        Some(count) => profile.with_partitions(count).map_err(|error| error.within("--partitions"))?,
        None => profile,
    };
    Ok((profile, throughput))
}

fn load(arguments: &Arguments, profile: &Profile, item: Bytes) -> Result<LoadShape> {
    if arguments.retries > RETRIES_MAX {
        return Err(Error::invalid(format!("--retries: at most {RETRIES_MAX}, not {}", arguments.retries)));
    }
    let retries = Retries { most: arguments.retries, seed: Seed(arguments.seed) };
    Ok(match arguments.workers {
        Some(workers) => LoadShape::Closed { workers, retries },
        None => {
            let paid_for = hotplate::lab::WriteLimits::new(profile, item).table_writes();
            LoadShape::Open { rate: arguments.rate.unwrap_or((paid_for as u64).max(1)), retries }
        }
    })
}

fn windows(arguments: &Arguments) -> Result<Option<Windows>> {
    let column = |name: &String| FieldPath::from(name.as_str());
    match (&arguments.window, &arguments.time, &arguments.every) {
        (Some(name), ..) => Ok(Some(Windows::by_value(column(name)))),
        (None, Some(name), Some(every)) => {
            let every = Every::parse(every).map_err(|error| error.within("--every"))?;
            Ok(Some(Windows::by_time(column(name), every)))
        }
        _ => Ok(None),
    }
}

fn sort_rule(arguments: &Arguments) -> SortRule {
    if arguments.sort.is_some() { SortRule::Column } else { SortRule::RowNumber }
}

fn file_name(arguments: &Arguments) -> String {
    arguments.file.file_name().map_or_else(|| "-".into(), |name| name.to_string_lossy().into_owned())
}

/// A read as it was asked for: properties and the texts they must equal.
struct AskedRead {
    text: String,
    equal: Vec<(FieldPath, String)>,
}

/// Parses `name=value,name=value`; a name is written as in a template, a value may be quoted.
fn reads(texts: &[String]) -> Result<Vec<AskedRead>> {
    if texts.len() > READS_MAX {
        return Err(Error::invalid(format!("--read: at most {READS_MAX} reads, not {}", texts.len())));
    }
    texts
        .iter()
        .map(|text| {
            let wrong = |why: &str| {
                Error::invalid(format!(
                    "--read: {text:?} {why}: write it like 'date=2013-01-01,tailnum=N14228'"
                ))
            };
            let mut equal = Vec::new();
            for part in split_outside_quotes(text) {
                let (name, value) = part.split_once('=').ok_or_else(|| wrong("has a part without ="))?;
                let field =
                    Template::parse(&format!("{{{}}}", name.trim())).map_err(|_| wrong("has a bad name"))?;
                let path = field.natural().ok_or_else(|| wrong("has a bad name"))?.clone();
                if equal.iter().any(|(known, _)| *known == path) {
                    return Err(wrong("names a property twice"));
                }
                let value = value.trim();
                let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
                equal.push((path, value.to_owned()));
            }
            Ok(AskedRead { text: text.clone(), equal })
        })
        .collect()
}

/// Parses `write=80,read=20`.
fn mix(text: &str, arguments: &Arguments) -> Result<Mix> {
    let wrong = || Error::invalid(format!("--mix: {text:?} is no mix: write it like 'write=80,read=20'"));
    let (mut writes, mut reads) = (None, None);
    for part in text.split(',') {
        let (name, parts) = part.split_once('=').ok_or_else(wrong)?;
        let place = match name.trim() {
            "write" => &mut writes,
            "read" => &mut reads,
            _ => return Err(wrong()),
        };
        if place.replace(parts.trim().parse::<u32>().map_err(|_| wrong())?).is_some() {
            return Err(wrong());
        }
    }
    let (Some(writes), Some(reads)) = (writes, reads) else { return Err(wrong()) };
    if arguments.workers.is_some() || arguments.retries > 0 {
        return Err(Error::invalid(
            "--mix: reads run beside a --rate of writes, not with --workers or --retries",
        ));
    }
    if !arguments.indexes.is_empty() {
        return Err(Error::invalid(
            "--mix does not go with --gsi: reads run beside writes to a table without indexes",
        ));
    }
    if arguments.profile == "dynamodb" && arguments.rcu.is_none() {
        return Err(Error::invalid("--mix: say with --rcu what the table pays for reads"));
    }
    Mix::new(writes, reads).map_err(|error| error.within("--mix"))
}

/// The parts between commas that are not inside double quotes.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut quoted) = (0, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(&text[begin..i]);
                begin = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// What is known, as an item: nested as the paths are. A CSV file knows only text; JSON has types.
fn known(equal: &[(FieldPath, String)], typed: bool) -> serde_json::Value {
    use serde_json::Value;
    let mut item = Value::Object(serde_json::Map::new());
    for (path, text) in equal {
        let value = match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) if typed => value,
            _ => Value::String(text.clone()),
        };
        set(&mut item, path, value);
    }
    item
}

/// Sets what a path leads to.
fn set(item: &mut serde_json::Value, path: &FieldPath, value: serde_json::Value) {
    let mut place = item;
    for name in path.names() {
        if !place.is_object() {
            *place = serde_json::Value::Object(serde_json::Map::new());
        }
        place = &mut place[name.as_str()];
    }
    *place = value;
}

/// Reads the file once, for all designs.
struct Loader<'a> {
    arguments: &'a Arguments,
    templates: &'a [Template],
    service: Service,
    windows: Option<Windows>,
    reads: Vec<AskedRead>,
    indexes: &'a [AskedIndex],
    /// Numbers the rows by what they hold, where reads are chosen after the file is known.
    contents: Option<&'a mut Contents>,
    seed: Seed,
}

struct Loaded {
    designs: Vec<KeyedRows>,
    /// The keys of each index.
    indexes: Vec<KeyedRows>,
    windows: Option<WindowSet>,
    reads: Vec<ReadSpec>,
    warnings: Vec<String>,
}

/// The field of the hash that a template ends with.
fn hashed_at_the_end(template: &Template) -> Option<usize> {
    match template.parts().last()? {
        Part::Hash { field, .. } => Some(*field),
        _ => None,
    }
}

/// Rows between two looks at the progress bar.
const PROGRESS_ROWS: u64 = 4_096;

impl Loader<'_> {
    fn load(mut self) -> Result<Loaded> {
        let mut source = Source::open(&self.arguments.file)?;
        // A design without fields that is called like a property has lost its braces.
        let bare: Vec<(String, Binding)> = self
            .templates
            .iter()
            .filter(|template| template.fields().is_empty())
            .map(ToString::to_string)
            .filter_map(|name| Some((name.clone(), source.bind(&[FieldPath::from(name.as_str())]).ok()?)))
            .collect();
        let bindings = self
            .templates
            .iter()
            .map(|template| source.bind(template.fields()))
            .collect::<Result<Vec<_>>>()?;
        let bind_column = |source: &Source, column: Option<FieldPath>| -> Result<Option<Binding>> {
            column.map(|column| source.bind(&[column])).transpose()
        };
        let window_binding =
            bind_column(&source, self.windows.as_ref().map(|windows| windows.column().clone()))?;
        let sort_binding = bind_column(&source, self.arguments.sort.as_deref().map(FieldPath::from))?;
        let read_bindings = self
            .reads
            .iter()
            .map(|read| source.bind(&read.equal.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>()))
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.within("--read"))?;
        if let Some(contents) = &mut self.contents {
            contents.bind(&source)?;
        }
        let index_bindings = self
            .indexes
            .iter()
            .map(|index| {
                source.bind(index.template.fields()).map_err(|e| e.within(format!("--gsi {}", index.name)))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut index_builders: Vec<_> =
            self.indexes.iter().map(|_| KeyedRowsBuilder::new(self.service, SortRule::RowNumber)).collect();
        let mut entries: Vec<Option<u32>> = Vec::new();
        let mut orders = ColumnOrders::new(&source, self.templates)?;

        let sort_rule = sort_rule(self.arguments);
        let mut builders: Vec<_> =
            self.templates.iter().map(|_| KeyedRowsBuilder::new(self.service, sort_rule)).collect();
        let mut names: Vec<String> = Vec::new();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let bar = progress_bar("reading {bar:40} {percent} %", source.progress().1.unwrap_or(0));
        let hashed: Vec<Option<usize>> = self.templates.iter().map(hashed_at_the_end).collect();
        let mut properties = String::new();
        let mut text = String::new();
        let mut number = 0_u64;
        loop {
            if number.is_multiple_of(PROGRESS_ROWS) {
                bar.set_position(source.progress().0);
            }
            let Some(row) = source.next()? else { break };
            let window = match (&self.windows, &window_binding) {
                (Some(windows), Some(binding)) => {
                    let label =
                        windows.label(row.text(binding, 0)).map_err(|error| error.within(row.place()))?;
                    Some(match numbers.get(label.as_ref()) {
                        Some(&number) => number,
                        None => {
                            let number = names.len() as u32;
                            if names.len() >= WINDOWS_MAX {
                                return Err(Error::invalid(format!(
                                    "{} has over {WINDOWS_MAX} different values: use a coarser window",
                                    windows.column()
                                ))
                                .within(row.place()));
                            }
                            names.push(label.to_string());
                            numbers.insert(label.into_owned(), number);
                            number
                        }
                    })
                }
                _ => None,
            };
            let sort = match &sort_binding {
                Some(binding) => Some(row.text(binding, 0).ok_or_else(|| {
                    let name = self.arguments.sort.as_deref().unwrap_or_default();
                    Error::invalid(format!("the sort key {name} is absent, null or no plain value"))
                        .within(row.place())
                })?),
                None => None,
            };
            let answers = (!self.reads.is_empty()).then(|| {
                let answered = |(read, binding): (&AskedRead, &Binding)| {
                    let mut equal = read.equal.iter().enumerate();
                    equal.all(|(i, (_, value))| {
                        row.text(binding, i).is_some_and(|text| text == value.as_str())
                    })
                };
                let bits = self.reads.iter().zip(&read_bindings).map(answered);
                bits.enumerate().fold(0, |word, (i, answered)| word | u32::from(answered) << i)
            });
            let answers = match &mut self.contents {
                Some(contents) => Some(contents.number(&row, answers.unwrap_or(0))?),
                None => answers,
            };
            if number == 0 {
                properties = row.properties();
                if let Some((name, _)) = bare.iter().find(|(_, binding)| row.text(binding, 0).is_some()) {
                    return Err(Error::invalid(format!(
                        "--key: {name} is the same text for every row; for the property of that name write '{{{name}}}'"
                    )));
                }
            }
            orders.look(&row);
            entries.clear();
            for ((index, binding), builder) in
                self.indexes.iter().zip(&index_bindings).zip(&mut index_builders)
            {
                let refused = match index.template.render(&row.bound(binding), self.seed, number, &mut text) {
                    Ok(rendered) => builder.push(rendered, &text, None, None, None)?,
                    Err(error) => Some(error.to_string()),
                };
                // A row without a key in the index makes no entry there.
                entries.push(if refused.is_none() { builder.last() } else { None });
                if let Some(reason) = refused {
                    builder.skip(|| format!("line {}: {reason}", row.line()));
                }
            }
            let designs = self.templates.iter().zip(&bindings).zip(&hashed).zip(&mut builders);
            for (((template, binding), hashed), builder) in designs {
                let refused = match template.render(&row.bound(binding), self.seed, number, &mut text) {
                    Ok(rendered) => builder.push(rendered, &text, window, sort.as_deref(), answers)?,
                    Err(error) => Some(error.to_string()),
                };
                if let Some(reason) = refused {
                    if self.arguments.strict {
                        return Err(Error::invalid(format!("{template}: {reason}")).within(row.place()));
                    }
                    builder.skip(|| format!("line {}: {reason}", row.line()));
                    continue;
                }
                if !entries.is_empty() {
                    builder.note_entries(&entries);
                }
                if hashed.is_some_and(|field| row.text(binding, field).is_some_and(|text| text.is_empty())) {
                    builder.note_blank();
                }
            }
            number += 1;
        }
        bar.finish_and_clear();
        let mut designs = self
            .templates
            .iter()
            .zip(builders)
            .map(|(template, builder)| {
                builder.finish().map_err(|error| Error::invalid(format!("{template}: {error}{properties}")))
            })
            .collect::<Result<Vec<_>>>()?;
        let indexes = self
            .indexes
            .iter()
            .zip(index_builders)
            .map(|(index, builder)| {
                builder.finish().map_err(|error| error.within(format!("--gsi {}", index.name)))
            })
            .collect::<Result<Vec<_>>>()?;
        if self.arguments.order == Order::Shuffled {
            designs.iter_mut().for_each(|design| design.shuffle(self.seed.stream("order")));
        }
        let warnings = self.warnings(&designs, &orders);
        let windows = self.windows.map(|windows| WindowSet {
            by: match &self.arguments.every {
                Some(every) => format!("{} every {every}", windows.column()),
                None => windows.column().to_string(),
            },
            names,
        });
        let typed = source.is_json();
        let reads = self
            .reads
            .into_iter()
            .map(|read| ReadSpec { known: known(&read.equal, typed), text: read.text })
            .collect();
        Ok(Loaded { designs, indexes, windows, reads, warnings })
    }

    fn warnings(&self, designs: &[KeyedRows], orders: &ColumnOrders) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.windows.is_none() && self.arguments.order == Order::File {
            for name in orders.ordered_times() {
                warnings.push(format!(
                    "time is compressed: the file is ordered by {name}, which a key uses, and its rows are replayed in \
                     seconds, so a key made of it looks cooler than it will be; hold each mix with --window {name} or \
                     --time {name} --every 1d"
                ));
            }
        }
        for (template, design) in self.templates.iter().zip(designs) {
            if design.skipped() > 0 {
                let first = design.skipped_examples().first().map(String::as_str).unwrap_or_default();
                warnings.push(format!(
                    "{template}: {} without a key skipped; the first: {first}",
                    counted(design.skipped(), "row")
                ));
            }
        }
        warnings
    }
}

/// Watches whether the file is ordered by a column of times that some key uses.
struct ColumnOrders {
    columns: Vec<ColumnOrder>,
}

struct ColumnOrder {
    name: String,
    binding: Binding,
    last: String,
    rows: u64,
    steps_back: u64,
    changes: u64,
    times: bool,
}

/// A file is ordered by a column when fewer than one in so many rows step back: months may be out of order.
const STEPS_BACK_MAX: u64 = 100;

impl ColumnOrders {
    fn new(source: &Source, templates: &[Template]) -> Result<Self> {
        let mut columns: Vec<ColumnOrder> = Vec::new();
        for template in templates {
            for part in template.parts() {
                // A hashed time does not move through the keys in order.
                let Part::Field(field) = part else { continue };
                let path = &template.fields()[*field];
                let name = path.to_string();
                if columns.iter().all(|column| column.name != name) {
                    columns.push(ColumnOrder {
                        name,
                        binding: source.bind(std::slice::from_ref(path))?,
                        last: String::new(),
                        rows: 0,
                        steps_back: 0,
                        changes: 0,
                        times: true,
                    });
                }
            }
        }
        Ok(Self { columns })
    }

    fn look(&mut self, row: &super::input::Row<'_>) {
        for column in self.columns.iter_mut().filter(|column| column.times) {
            let Some(value) = row.text(&column.binding, 0) else {
                column.times = false;
                continue;
            };
            if value != column.last.as_str() {
                column.times = looks_like_time(&value);
                column.steps_back += u64::from(column.rows > 0 && *value < *column.last);
                column.changes += u64::from(column.rows > 0);
                value.clone_into_string(&mut column.last);
            }
            column.rows += 1;
        }
    }

    fn ordered_times(&self) -> impl Iterator<Item = &str> {
        let ordered = |column: &&ColumnOrder| {
            column.times && column.changes > 0 && column.steps_back * STEPS_BACK_MAX < column.rows
        };
        self.columns.iter().filter(ordered).map(|column| column.name.as_str())
    }
}

/// `Cow::clone_into` for text, without a new allocation.
trait CloneIntoString {
    fn clone_into_string(&self, target: &mut String);
}

impl CloneIntoString for std::borrow::Cow<'_, str> {
    fn clone_into_string(&self, target: &mut String) {
        target.clear();
        target.push_str(self);
    }
}

/// Longest key shown in a cell.
const KEY_CELL: usize = 16;

/// The report as text: a heading, the table, the verdicts, and what they rest on.
fn text(report: &Report) -> String {
    let mut out = String::new();
    heading(&mut out, report);
    out.push('\n');
    let _ = write!(out, "{}", figures(report));
    out.push('\n');
    for design in &report.designs {
        let _ = writeln!(out, "{}", wrapped(&format!("{}: {}", clean(&design.key), clean(&design.verdict))));
    }
    let indexes = index::lines(report);
    if !indexes.is_empty() {
        out.push('\n');
        for line in indexes {
            let _ = writeln!(out, "{line}");
        }
    }
    let reads = read_lines(report);
    if !reads.is_empty() {
        out.push('\n');
        for line in reads {
            let _ = writeln!(out, "{}", wrapped(&line));
        }
    }
    if report.layouts > 1 && report.designs.len() > 1 {
        out.push('\n');
        for line in pairs(report) {
            let _ = writeln!(out, "{}", wrapped(&line));
        }
    }
    if !report.warnings.is_empty() {
        out.push('\n');
        for warning in &report.warnings {
            let _ = writeln!(out, "{}", wrapped(&format!("warning: {}", clean(warning))));
        }
    }
    out.push('\n');
    for line in &report.basis {
        let _ = writeln!(out, "{}", wrapped(line));
    }
    let _ = writeln!(out, "seed {}: the same seed and options give the same bytes", report.seed);
    out
}

fn heading(out: &mut String, report: &Report) {
    let load = match report.load {
        Load::Open { rate_per_s } => format!("{} writes/s offered", whole(rate_per_s as f64)),
        Load::Closed { workers } => format!("{} workers", whole(f64::from(workers))),
    };
    let table = format!(
        "{}: {} on {}, {} of {} {}/s, items of {}, {load}",
        clean(&report.file),
        report.profile,
        report.throughput,
        counted(u64::from(report.partition_count), "physical partition"),
        whole(report.partition_limit_per_s),
        report.unit,
        Bytes(report.item_bytes),
    );
    let layouts = match report.layouts {
        1 if report.profile == "cosmos" => "one layout, as placement is exact".into(),
        1 => "one seeded layout of many: another may do better or worse".into(),
        n => format!("{n} layouts: figures of the one with the median served/s, 5–95% of them in brackets"),
    };
    let how = match &report.windowing {
        Some(windowing) => format!(
            "{} windows by {}, each mix held at the rate until steady, all ranked by their key shares, the median and \
             the worst replayed; {layouts}",
            whole(windowing.count as f64),
            clean(&windowing.by)
        ),
        None => format!("the file replayed once; {layouts}"),
    };
    let _ = writeln!(out, "{}\n{}", wrapped(&table), wrapped(&how));
}

fn figures(report: &Report) -> Table {
    let windowed = report.windowing.is_some();
    let searched = report.designs.iter().any(|design| design.max_rate_per_s.is_some());
    let mut columns = vec![
        ("key design", Align::Left),
        ("served/s", Align::Right),
        ("throttled", Align::Right),
        ("ms p50/p99/p99.9", Align::Right),
        ("finish", Align::Right),
        ("hot partition", Align::Right),
        ("hot key", Align::Right),
        ("max/mean", Align::Right),
    ];
    if windowed {
        columns.push(("worst window", Align::Right));
    }
    if searched {
        columns.push(("max rate/s", Align::Right));
    }
    columns.push(("ceiling/s cold → settled", Align::Right));
    let indexed = report.designs.iter().any(|design| !design.indexes.is_empty());
    if indexed {
        columns.push(("full first", Align::Left));
    }
    let reads: Vec<String> = report.designs.first().map_or_else(Vec::new, |design| {
        (1..=design.reads.len())
            .map(|i| format!("read {i}: req/{}", if report.unit == "WCU" { "RCU" } else { "RU" }))
            .collect()
    });
    columns.extend(reads.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for design in &report.designs {
        let mut cells = vec![
            design.key.clone(),
            with_range(design.served_per_s, design.served_p5, design.served_p95, report.layouts),
            percent(design.throttled_share),
            format!("{}/{}/{}", millis(design.p50_ms), millis(design.p99_ms), millis(design.p999_ms)),
            format!("{} s", whole(design.seconds.ceil())),
            format!("{} p{}", percent(design.hottest_partition_share), design.hottest_partition),
            format!("{} {}", percent(design.hottest_key_share), cut(&design.hottest_key, KEY_CELL)),
            format!("{:.2}", design.max_over_mean),
        ];
        if windowed {
            cells.push(design.windows.as_ref().map_or_else(String::new, |windows| {
                format!("{} {}", whole(windows.worst), cut(&windows.worst_name, KEY_CELL))
            }));
        }
        if searched {
            cells.push(max_rate(design, report.layouts));
        }
        cells.push(ceiling(design));
        if indexed {
            cells.push(index::hottest(design));
        }
        cells.extend(
            design.reads.iter().map(|read| format!("{}/{}", whole(read.requests as f64), units(read.units))),
        );
        table.row(cells);
    }
    table
}

fn units(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 { whole(value) } else { format!("{value:.1}") }
}

/// What each read is and how each design goes about it.
fn read_lines(report: &Report) -> Vec<String> {
    let Some(first) = report.designs.first() else { return Vec::new() };
    let mut lines = Vec::new();
    for (i, asked) in first.reads.iter().enumerate() {
        lines.push(format!("read {}, {}:", i + 1, clean(&asked.filter)));
        for design in &report.designs {
            let read = &design.reads[i];
            let why =
                if read.why.is_empty() { String::new() } else { format!(", because {}", clean(&read.why)) };
            lines.push(format!(
                "{} {}: {} found, {} to {}, {} {}{why}",
                clean(&design.key),
                read.plan,
                counted(read.items, "item"),
                counted(read.requests, "request"),
                counted(u64::from(read.partitions), "partition"),
                units(read.units),
                if report.unit == "WCU" { "RCU" } else { "RU" },
            ));
        }
    }
    lines.extend(mix_lines(report));
    lines
}

/// What became of the reads under the load.
fn mix_lines(report: &Report) -> Vec<String> {
    let Some(mix) = report.designs.first().and_then(|design| design.mix.as_ref()) else { return Vec::new() };
    let unit = if report.unit == "WCU" { "RCU" } else { "RU" };
    let mut lines = vec![format!(
        "mix, {} writes/s and {} reads/s, the reads in turn, nothing tried again; the table pays for {} {unit}/s:",
        whole(mix.writes_per_s),
        whole(mix.reads_per_s),
        whole(mix.table_units_per_s),
    )];
    for design in &report.designs {
        if let Some(mix) = &design.mix {
            lines.push(format!(
                "{}: {} of the writes and {} of the reads throttled; reads ask for {} {unit}/s, {} of it of partition {}",
                clean(&design.key),
                percent(mix.writes_throttled_share),
                percent(mix.reads_throttled_share),
                whole(mix.read_units_per_s),
                percent(mix.hottest_partition_share),
                mix.hottest_partition
            ));
        }
    }
    lines
}

fn max_rate(design: &Design, layouts: u32) -> String {
    match (design.max_rate_per_s, design.max_rate_p5, design.max_rate_p95) {
        (Some(rate), Some(low), Some(high)) => with_range(rate, low, high, layouts),
        _ => String::new(),
    }
}

fn ceiling(design: &Design) -> String {
    let ceiling = &design.ceiling;
    match ceiling.split_rounds {
        0 => whole(ceiling.cold),
        _ => format!(
            "{} → {} in {} min",
            whole(ceiling.cold),
            whole(ceiling.settled),
            whole(ceiling.settle_minutes)
        ),
    }
}

fn with_range(value: f64, low: f64, high: f64, layouts: u32) -> String {
    if layouts == 1 { whole(value) } else { format!("{} ({}–{})", whole(value), whole(low), whole(high)) }
}

/// Who beats whom, a line for each winner; then the ties.
fn pairs(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for design in &report.designs {
        let beaten: Vec<_> = report
            .pairs
            .iter()
            .filter_map(|pair| match pair {
                _ if pair.verdict == "tie" => None,
                pair if pair.a == design.key && pair.a_wins_share > pair.b_wins_share => Some(clean(&pair.b)),
                pair if pair.b == design.key && pair.b_wins_share > pair.a_wins_share => Some(clean(&pair.a)),
                _ => None,
            })
            .collect();
        if !beaten.is_empty() {
            lines.push(format!("{} beats {}", clean(&design.key), beaten.join(", ")));
        }
    }
    if !lines.is_empty() {
        lines.insert(0, "In at least 95% of the layouts, by more than 1%:".into());
    }
    for pair in report.pairs.iter().filter(|pair| pair.verdict == "tie") {
        lines.push(format!(
            "Tie: {} ahead in {} of layouts, {} in {}",
            clean(&pair.a),
            percent(pair.a_wins_share),
            clean(&pair.b),
            percent(pair.b_wins_share)
        ));
    }
    lines
}
