//! `[[load]]`: one stream of operations on a table: what, on which keys, sent by whom and when.
//!
//! Clients are of one kind: operations begin at their times (`rate` or `phases`), or each of some workers begins one when
//! its last is over (`workers`), or a bulk loader sends batches (`loader`).

use super::Context;
use super::keys;
use super::node::{Fields, Node, Read, Value, told};
use super::read;
use super::tables::Table;
use super::{REQUESTS_MAX, RUN_MAX};
use hotplate::charge::Consistency;
use hotplate::client::RetryPolicy;
use hotplate::lab::run::{Clients, Items, KeySpec, LoadSpec, Operation, SuffixRule};
use hotplate::lab::{Phase, RateShape, Schedule, Spacing};
use hotplate::profile::{DYNAMODB_PAGE_MAX, Service};
use hotplate::rng::Seed;
use hotplate::units::{Bytes, KB};
use std::time::Duration;

/// The keys of a load.
pub(super) const KEYS: &[&str] = &[
    "name",
    "table",
    "operation",
    "mix",
    "consistency",
    "page",
    "batch",
    "keys",
    "item",
    "rate",
    "lasts",
    "phases",
    "arrivals",
    "workers",
    "operations",
    "think",
    "loader",
    "retry",
    "service_time",
    "priority",
    "bucket",
    "begins",
];

/// The size of an item where nothing is said, as of `compare`.
const ITEM: Bytes = Bytes(KB);

/// How long a read and a write take the service (design, section 4b; *assumed*).
const SERVICE_TIME: [Duration; 2] = [Duration::from_millis(3), Duration::from_millis(5)];

/// Items on a page where nothing is said: the page that Cosmos DB answers with when it is not asked for another.
const PAGE: u32 = 100;
/// Items on a page at the most.
const PAGE_MAX: u32 = 100_000;

/// Workers at the most: each is kept.
const WORKERS_MAX: u32 = 100_000;
/// Loops of a loader at the most.
const LOOPS_MAX: u32 = 10_000;
/// Loops of a loader where nothing is said.
const LOOPS: u32 = 8;

/// BatchWriteItem: "up to 25 item put or delete operations".
const BATCH_WRITE_MAX: u32 = 25;
/// BatchGetItem: "up to 100 items".
const BATCH_GET_MAX: u32 = 100;
/// TransactWriteItems and TransactGetItems: "up to 100 actions".
const TRANSACTION_MAX: u32 = 100;

/// Weights of a mix at the most.
const WEIGHT_MAX: u32 = 1_000_000;

/// Operations by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Create,
    Update,
    Delete,
    Get,
    Query,
    ReadAll,
    BatchWrite,
    BatchGet,
    TransactWrite,
    TransactGet,
}

impl Verb {
    const WORDS: [(&'static str, Self); 10] = [
        ("create", Self::Create),
        ("update", Self::Update),
        ("delete", Self::Delete),
        ("get", Self::Get),
        ("query", Self::Query),
        ("read-all", Self::ReadAll),
        ("batch-write", Self::BatchWrite),
        ("batch-get", Self::BatchGet),
        ("transact-write", Self::TransactWrite),
        ("transact-get", Self::TransactGet),
    ];

    fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, verb)| *verb == self).map_or("", |(name, _)| name)
    }

    /// Items or actions in one request at the most; `None` where a request is about one.
    fn batch_max(self) -> Option<u32> {
        match self {
            Self::BatchWrite => Some(BATCH_WRITE_MAX),
            Self::BatchGet => Some(BATCH_GET_MAX),
            Self::TransactWrite | Self::TransactGet => Some(TRANSACTION_MAX),
            _ => None,
        }
    }

    fn has_page(self) -> bool {
        matches!(self, Self::Query | Self::ReadAll)
    }

    /// Whether it may be fresh or not.
    fn has_consistency(self) -> bool {
        matches!(self, Self::Get | Self::Query | Self::ReadAll | Self::BatchGet)
    }
}

/// The names of a mix's parts.
pub(super) const VERBS: &[&str] = &[
    "create",
    "update",
    "delete",
    "get",
    "query",
    "read-all",
    "batch-write",
    "batch-get",
    "transact-write",
    "transact-get",
];

/// A load, and when its last operation begins, where that is known beforehand.
pub(super) struct Load {
    pub(super) spec: LoadSpec,
    pub(super) ends: Option<Duration>,
    /// Requests that it will send at the most, retries left out.
    pub(super) requests: u128,
}

/// Reads a load on one of `tables`.
pub(super) fn load(node: &Node, tables: &[Table], context: &Context<'_>) -> Option<Load> {
    let fields = Fields::open(node, "a load", KEYS, context.faults)?;
    let name = fields.need("name", read::name);
    let table = super::table_named(&fields, tables)?;
    let on = &tables[table];
    let service = on.kind.service();
    let is_loader = fields.get("loader").is_some();
    let mix = mix(&fields, service, is_loader);
    let keys = match fields.get("keys") {
        Some(node) => keys::keys(node, service, context),
        None => {
            fields.fault_here("keys is missing: say whose items these are, like keys = { count = 1000 }");
            None
        }
    };
    let item = fields.or("item", ITEM, read::size);
    let begins = fields.or("begins", Duration::ZERO, read::span);
    let service_time = fields.or("service_time", SERVICE_TIME, |node| service_time(node, context));
    let clients = clients(&fields, service, context);
    let retry = retry(&fields, service, context);
    let low_priority = low_priority(&fields, service);
    let bucket_percent = bucket(&fields, service);

    let (mix, keys, item, begins) = (mix?, keys?, item?, begins?);
    let (clients, service_time) = (clients?, service_time?);
    if let Err(error) = on.profile.check_item(item) {
        fields.fault("item", error);
        return None;
    }
    check_pages(&fields, &mix, item, service)?;
    check_rows(&fields, &mix, &keys)?;
    let (operations, lasts) = extent(&clients, service_time);
    let ends = lasts.map(|lasts| begins.saturating_add(lasts));
    if begins > RUN_MAX || ends.is_some_and(|ends| ends > RUN_MAX) {
        fields.fault_here(format!(
            "it ends after more than {} days, which is too long to simulate",
            super::RUN_DAYS
        ));
        return None;
    }
    let requests = operations.saturating_mul(u128::from(widest(&mix, &keys)));
    if requests > REQUESTS_MAX {
        fields.fault_here(format!(
            "about {requests} requests are too many to simulate: lower the rate or the time until there are at most \
             {REQUESTS_MAX}"
        ));
        return None;
    }
    let spec = LoadSpec {
        name: name?,
        table,
        mix,
        keys,
        item,
        clients,
        retry: retry?,
        begins,
        service_time,
        low_priority: low_priority?,
        bucket_percent: bucket_percent?,
    };
    Some(Load { spec, ends, requests })
}

/// What it does, each with its weight.
fn mix(fields: &Fields<'_>, service: Service, is_loader: bool) -> Option<Vec<(u32, Operation)>> {
    let verbs = match (fields.get("operation"), fields.get("mix")) {
        (Some(_), Some(_)) => {
            fields.fault("mix", "operation and mix contradict each other: give one of them");
            return None;
        }
        (Some(_), None) => vec![(1, fields.need("operation", |node| read::word(node, &Verb::WORDS))?)],
        (None, Some(node)) => weights(fields, node)?,
        // A loader does nothing else.
        (None, None) if is_loader => vec![(1, Verb::Create)],
        (None, None) => {
            fields.fault_here(format!(
                "operation is missing: give one of {}, or a mix of them",
                VERBS.join(", ")
            ));
            return None;
        }
    };
    if is_loader && verbs.iter().any(|(_, verb)| *verb != Verb::Create) {
        fields.fault("loader", "a loader only creates: leave operation and mix out");
        return None;
    }
    let key = if fields.get("mix").is_some() { "mix" } else { "operation" };
    if service == Service::Cosmos
        && let Some((_, verb)) = verbs.iter().find(|(_, verb)| verb.batch_max().is_some())
    {
        fields.fault(key, format!("{:?} is DynamoDB's, and the table is a Cosmos DB container", verb.name()));
        return None;
    }
    let batch = batch(fields, &verbs);
    let page = fields.or("page", PAGE, |node| read::whole_u32(node, 1, PAGE_MAX));
    if !verbs.iter().any(|(_, verb)| verb.has_page()) {
        fields.refuse(&["page"], "only query and read-all have pages");
    }
    let consistency = consistency(fields, service, &verbs);
    let (batch, items, consistency) = (batch?, page?, consistency?);
    let of = |verb: Verb| match verb {
        Verb::Create => Operation::Create,
        Verb::Update => Operation::Update,
        Verb::Delete => Operation::Delete,
        Verb::Get => Operation::Get(consistency),
        Verb::Query => Operation::Query { items, consistency },
        Verb::ReadAll => Operation::ReadAll { items, consistency },
        Verb::BatchWrite => Operation::BatchWrite(batch.unwrap_or(BATCH_WRITE_MAX)),
        Verb::BatchGet => Operation::BatchGet(batch.unwrap_or(BATCH_GET_MAX), consistency),
        Verb::TransactWrite => Operation::TransactWrite(batch.unwrap_or(TRANSACTION_MAX)),
        Verb::TransactGet => Operation::TransactGet(batch.unwrap_or(TRANSACTION_MAX)),
    };
    Some(verbs.into_iter().map(|(weight, verb)| (weight, of(verb))).collect())
}

fn weights(fields: &Fields<'_>, node: &Node) -> Option<Vec<(u32, Verb)>> {
    let inner = Fields::open(node, "a mix", VERBS, fields.faults)?;
    let mut verbs = Vec::new();
    for (name, verb) in Verb::WORDS {
        let weight = inner.maybe(name, |node| read::whole_u32(node, 0, WEIGHT_MAX))?;
        verbs.extend(weight.filter(|weight| *weight > 0).map(|weight| (weight, verb)));
    }
    if verbs.is_empty() {
        fields.fault("mix", "nothing has a weight above 0: write it like { create = 80, get = 20 }");
        return None;
    }
    Some(verbs)
}

/// Members of a batch: what the request with the lowest limit takes.
fn batch(fields: &Fields<'_>, verbs: &[(u32, Verb)]) -> Option<Option<u32>> {
    let limits = verbs.iter().filter_map(|(_, verb)| Some((verb.batch_max()?, *verb)));
    let Some((most, verb)) = limits.min_by_key(|(most, _)| *most) else {
        fields
            .refuse(&["batch"], "only batch-write, batch-get, transact-write and transact-get have batches");
        return Some(None);
    };
    fields.maybe("batch", |node| match read::whole_u32(node, 1, u32::MAX)? {
        members if members <= most => Ok(members),
        members => {
            Err(format!("{members} are over the service's limit: {:?} takes at most {most}", verb.name()))
        }
    })
}

fn consistency(fields: &Fields<'_>, service: Service, verbs: &[(u32, Verb)]) -> Option<Consistency> {
    const DYNAMODB: [(&str, Consistency); 2] =
        [("eventual", Consistency::Eventual), ("strong", Consistency::Strong)];
    const COSMOS: [(&str, Consistency); 5] = [
        ("eventual", Consistency::Eventual),
        ("consistent-prefix", Consistency::ConsistentPrefix),
        ("session", Consistency::Session),
        ("bounded-staleness", Consistency::BoundedStaleness),
        ("strong", Consistency::Strong),
    ];
    if !verbs.iter().any(|(_, verb)| verb.has_consistency()) {
        let why = "only get, query, read-all and batch-get have one; transact-get is always serialised";
        fields.refuse(&["consistency"], why);
    }
    match service {
        Service::DynamoDb => {
            fields.or("consistency", Consistency::Eventual, |node| read::word(node, &DYNAMODB))
        }
        Service::Cosmos => fields.or("consistency", Consistency::Session, |node| read::word(node, &COSMOS)),
    }
}

fn service_time(node: &Node, context: &Context<'_>) -> Read<[Duration; 2]> {
    let wrong = told;
    if !matches!(node.value, Value::Table(_)) {
        return read::service_time(node).map(|both| [both; 2]);
    }
    let fields = Fields::open(node, "service times", &["read", "write"], context.faults).ok_or_else(wrong)?;
    let read = fields.or("read", SERVICE_TIME[0], read::service_time);
    let write = fields.or("write", SERVICE_TIME[1], read::service_time);
    Ok([read.ok_or_else(wrong)?, write.ok_or_else(wrong)?])
}

fn retry(fields: &Fields<'_>, service: Service, context: &Context<'_>) -> Option<RetryPolicy> {
    const WORDS: [(&str, RetryPolicy); 5] = [
        ("none", RetryPolicy::None),
        ("aws-legacy", RetryPolicy::AwsLegacy),
        ("aws-standard", RetryPolicy::AwsStandard),
        ("aws-standard-2026", RetryPolicy::AwsStandard2026),
        ("cosmos", RetryPolicy::Cosmos),
    ];
    let policy = fields.or("retry", RetryPolicy::None, |node| read::word(node, &WORDS))?;
    let at = fields.get("retry").map_or(fields.at, |node| &node.at).start;
    match (policy, service) {
        (RetryPolicy::Cosmos, Service::DynamoDb) => context.note(format!(
            "{}: retry \"cosmos\" waits as long as the reply says, and DynamoDB's says nothing: it waits 5 s each time",
            context.faults.place(at)
        )),
        (RetryPolicy::AwsLegacy | RetryPolicy::AwsStandard | RetryPolicy::AwsStandard2026, Service::Cosmos) => {
            context.note(format!(
                "{}: an AWS retry policy does not look at the time that a Cosmos DB reply gives: retry \"cosmos\" does",
                context.faults.place(at)
            ));
        }
        _ => {}
    }
    Some(policy)
}

fn low_priority(fields: &Fields<'_>, service: Service) -> Option<bool> {
    if service == Service::DynamoDb {
        fields.refuse(&["priority"], "only Cosmos DB has priorities: leave it out");
    }
    fields.or("priority", false, |node| read::word(node, &[("high", false), ("low", true)]))
}

fn bucket(fields: &Fields<'_>, service: Service) -> Option<Option<u32>> {
    if service == Service::DynamoDb {
        fields.refuse(&["bucket"], "only Cosmos DB has throughput buckets: leave it out");
    }
    fields.maybe("bucket", |node| match (read::share(node)? * 100.0).round() as u32 {
        0 => Err(format!("{} is nothing: give 1% to 100%", node.shown())),
        percent => Ok(percent),
    })
}

/// The keys by which each kind of client is recognised.
const KINDS: [&str; 4] = ["rate", "phases", "workers", "loader"];

fn clients(fields: &Fields<'_>, service: Service, context: &Context<'_>) -> Option<Clients> {
    match fields.present(&KINDS).as_slice() {
        [] => {
            fields.fault_here(
                "who sends it is missing: give rate with lasts, or phases, or workers with operations or lasts, or loader",
            );
            None
        }
        ["rate" | "phases"] => {
            fields.refuse(&["operations", "think"], "only workers have it");
            open(fields, context)
        }
        ["workers"] => {
            fields.refuse(&["arrivals"], "only a rate or phases have arrivals: workers wait for each other");
            closed(fields)
        }
        ["loader"] => {
            fields.refuse(
                &["arrivals", "operations", "think", "lasts"],
                "a loader has loops, batch and items only",
            );
            loader(fields, service, context)
        }
        several => {
            let (first, second) = (several[0], several[1]);
            let why = match (first, second) {
                ("rate", "phases") => "rate is short for one phase",
                _ => "operations either begin at their times, or when earlier ones are over",
            };
            fields.fault(
                second,
                format!("{first} and {second} contradict each other: {why}; give one of them"),
            );
            None
        }
    }
}

fn open(fields: &Fields<'_>, context: &Context<'_>) -> Option<Clients> {
    const WORDS: [(&str, Spacing); 2] = [("even", Spacing::Even), ("poisson", Spacing::Poisson)];
    let spacing = fields.or("arrivals", Spacing::Even, |node| read::word(node, &WORDS));
    let phases = match fields.get("phases") {
        None => {
            let rate = fields.need("rate", read::operations);
            let lasts = fields.need("lasts", read::some_time);
            vec![(RateShape::Constant(rate?), lasts?)]
        }
        Some(node) => {
            fields.refuse(&["lasts"], "each phase has its own");
            let nodes = super::tables_of(node);
            if nodes.is_empty() || !matches!(node.value, Value::List(_)) {
                fields.fault(
                    "phases",
                    "there is no phase: write a list like [{ rate = 1000, lasts = \"5m\" }]",
                );
                return None;
            }
            let phases: Vec<_> = nodes.iter().map(|node| phase(node, context)).collect();
            phases.into_iter().collect::<Option<Vec<_>>>()?
        }
    };
    let spacing = spacing?;
    let phases: Vec<Phase> =
        phases.into_iter().map(|(shape, lasts)| Phase { shape, lasts, spacing }).collect();
    // What is wrong with the rates, the schedule says.
    if let Err(error) = Schedule::new(&phases, Seed(0)) {
        let key = if fields.get("phases").is_some() { "phases" } else { "rate" };
        let why = error.to_string();
        // Who wrote a rate wrote no phases.
        fields.fault(key, if key == "rate" { why.replace("phase 1: ", "") } else { why });
        return None;
    }
    Some(Clients::Open(phases))
}

/// The keys of a phase.
pub(super) const PHASE_KEYS: &[&str] =
    &["lasts", "rate", "from", "to", "steps", "base", "peak", "at", "spike_lasts", "low", "high", "period"];

/// The shapes of a phase: the keys of each, the first being the one that names it.
const SHAPES: [&[&str]; 5] = [
    &["rate"],
    &["from", "to"],
    &["steps"],
    &["base", "peak", "at", "spike_lasts"],
    &["low", "high", "period"],
];

fn phase(node: &Node, context: &Context<'_>) -> Option<(RateShape, Duration)> {
    let fields = Fields::open(node, "a phase", PHASE_KEYS, context.faults)?;
    let lasts = fields.need("lasts", read::some_time);
    let used: Vec<&[&str]> = SHAPES.into_iter().filter(|keys| !fields.present(keys).is_empty()).collect();
    let keys = match used.as_slice() {
        [keys] => *keys,
        [] => {
            fields.fault_here(
                "it has no rate: give rate, or from and to, or steps, or base, peak, at and spike_lasts, or low, high and \
                 period",
            );
            return None;
        }
        [first, second, ..] => {
            let (first, second) = (fields.present(first)[0], fields.present(second)[0]);
            fields
                .fault(second, format!("{first} and {second} are of different shapes: give the keys of one"));
            return None;
        }
    };
    let missing: Vec<&str> = keys.iter().copied().filter(|key| fields.get(key).is_none()).collect();
    if !missing.is_empty() {
        fields.fault_here(format!("{} is missing: {} go together", missing.join(", "), and(keys)));
        return None;
    }
    let rate = |key: &str| fields.need(key, read::operations);
    let shape = match keys[0] {
        "rate" => RateShape::Constant(rate("rate")?),
        "from" => {
            let (from, to) = (rate("from"), rate("to"));
            RateShape::Ramp { from: from?, to: to? }
        }
        "steps" => RateShape::Step { rates: fields.need("steps", |node| read::list(node, 100_000, step))? },
        "base" => {
            let (base, peak) = (rate("base"), rate("peak"));
            let (at, lasts) = (fields.need("at", read::span), fields.need("spike_lasts", read::some_time));
            RateShape::Spike { base: base?, peak: peak?, at: at?, lasts: lasts? }
        }
        _ => {
            let (low, high, period) = (rate("low"), rate("high"), fields.need("period", read::some_time));
            let (low, high) = (low?, high?);
            if low > high {
                fields.fault("low", format!("low is {low} and high is {high}: give a high of at least low"));
                return None;
            }
            RateShape::Diurnal { low, high, period: period? }
        }
    };
    Some((shape, lasts?))
}

/// `a, b and c`.
fn and(names: &[&str]) -> String {
    super::faults::either(names).replace(" or ", " and ")
}

/// `["5m", 1000]`: from then on so many a second.
fn step(node: &Node) -> Read<(Duration, u64)> {
    match &node.value {
        Value::List(pair) if pair.len() == 2 => Ok((read::span(&pair[0])?, read::operations(&pair[1])?)),
        _ => Err(format!("{} is no step: write steps like [[\"0s\", 1000], [\"5m\", 2000]]", node.shown())),
    }
}

fn closed(fields: &Fields<'_>) -> Option<Clients> {
    let workers = fields.need("workers", |node| read::whole_u32(node, 1, WORKERS_MAX));
    let operations = fields.maybe("operations", |node| read::whole(node, 1, REQUESTS_MAX as u64));
    let lasts = fields.maybe("lasts", read::some_time);
    let think = fields.or("think", Duration::ZERO, read::span);
    let (operations, lasts) = (operations?, lasts?);
    if operations.is_none() && lasts.is_none() {
        fields.fault("workers", "when do they stop? Give operations, lasts or both");
        return None;
    }
    Some(Clients::Closed { workers: workers?, operations, lasts, think: think? })
}

fn loader(fields: &Fields<'_>, service: Service, context: &Context<'_>) -> Option<Clients> {
    if service == Service::Cosmos {
        fields.fault(
            "loader",
            "it sends DynamoDB's BatchWriteItem, and the table is a Cosmos DB container: take workers",
        );
        return None;
    }
    let node = fields.get("loader")?;
    let inner = Fields::open(node, "a loader", &["loops", "batch", "items"], context.faults)?;
    let loops = inner.or("loops", LOOPS, |node| read::whole_u32(node, 1, LOOPS_MAX));
    let batch = inner.or("batch", BATCH_WRITE_MAX, |node| match read::whole_u32(node, 1, u32::MAX)? {
        members if members <= BATCH_WRITE_MAX => Ok(members),
        members => Err(format!(
            "{members} are over the service's limit: BatchWriteItem takes at most {BATCH_WRITE_MAX}"
        )),
    });
    let items = inner.need("items", |node| read::whole(node, 1, REQUESTS_MAX as u64));
    Some(Clients::Loader { loops: loops?, batch: batch?, items: items? })
}

/// A page must fit the service's.
fn check_pages(fields: &Fields<'_>, mix: &[(u32, Operation)], item: Bytes, service: Service) -> Option<()> {
    let most = match service {
        Service::DynamoDb => DYNAMODB_PAGE_MAX,
        Service::Cosmos => hotplate::profile::COSMOS_PAGE_MAX,
    };
    for (_, operation) in mix {
        if let Operation::Query { items, .. } | Operation::ReadAll { items, .. } = operation
            && u64::from(*items) * item.0 > most.0
        {
            let fit = (most.0 / item.0).max(1);
            fields.fault(
                "page",
                format!("{items} items of {item} are over the {most} of a page: give at most {fit}"),
            );
            return None;
        }
    }
    Some(())
}

/// Rows of a file are what they are: they have no suffix to ask for.
fn check_rows(fields: &Fields<'_>, mix: &[(u32, Operation)], keys: &KeySpec) -> Option<()> {
    let suffixed = matches!(keys, KeySpec::Drawn(keys) if keys.suffix.is_some());
    let reads_all = mix.iter().any(|(_, operation)| matches!(operation, Operation::ReadAll { .. }));
    if reads_all && !suffixed {
        let key = if fields.get("mix").is_some() { "mix" } else { "operation" };
        fields.fault(
            key,
            "read-all asks for every suffix of a key, and these keys have none: take query, or add a suffix",
        );
        return None;
    }
    if let KeySpec::Drawn(drawn) = keys
        && drawn.items == Items::One
        && mix.iter().any(|(_, o)| matches!(o, Operation::Query { .. } | Operation::ReadAll { .. }))
        && fields.get("page").is_some_and(|node| node.value != Value::Whole(1))
        && suffixed_by(keys).is_none()
    {
        fields.fault(
            "page",
            "each key is one item, so no page has more: set items to \"increasing\" or a number",
        );
        return None;
    }
    Some(())
}

fn suffixed_by(keys: &KeySpec) -> Option<(SuffixRule, u32)> {
    match keys {
        KeySpec::Drawn(keys) => keys.suffix.map(|suffix| (suffix.rule, suffix.count)),
        KeySpec::Rows(_) => None,
    }
}

/// Requests of the widest operation.
fn widest(mix: &[(u32, Operation)], keys: &KeySpec) -> u64 {
    let suffix = suffixed_by(keys);
    let wide = |operation: &Operation| match (operation, suffix) {
        (Operation::ReadAll { .. }, Some((_, count)))
        | (Operation::Get(_), Some((SuffixRule::Random, count))) => count,
        (
            Operation::BatchWrite(n)
            | Operation::BatchGet(n, _)
            | Operation::TransactWrite(n)
            | Operation::TransactGet(n),
            _,
        ) => *n,
        _ => 1,
    };
    mix.iter().map(|(_, operation)| u64::from(wide(operation))).max().unwrap_or(1)
}

/// How many operations at the most, and over which time where that is known.
fn extent(clients: &Clients, service_time: [Duration; 2]) -> (u128, Option<Duration>) {
    match clients {
        Clients::Open(phases) => {
            let total = Schedule::new(phases, Seed(0)).map_or(0, |schedule| schedule.total());
            (u128::from(total), Some(phases.iter().map(|phase| phase.lasts).sum()))
        }
        Clients::Closed { workers, operations, lasts, think } => {
            let each = service_time[0].min(service_time[1]).saturating_add(*think).as_nanos().max(1);
            let in_time = lasts.map(|lasts| lasts.as_nanos() / each * u128::from(*workers));
            let operations = operations.map(u128::from);
            // The one that ends it first.
            (operations.into_iter().chain(in_time).min().unwrap_or(0), *lasts)
        }
        Clients::Loader { items, .. } => (u128::from(*items), None),
    }
}
