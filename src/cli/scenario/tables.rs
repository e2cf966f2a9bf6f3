//! `[[table]]` and `[[table.index]]`: a table as it stands when the run begins.
//!
//! | profile | throughput | begins with |
//! |---|---|---|
//! | `dynamodb` | `wcu`, `rcu` | ⌈rcu ÷ 3,000 + wcu ÷ 1,000⌉ partitions, of what is written down |
//! | `dynamodb-on-demand` | `warm`, twice `previous_peak` | as many partitions as that needs, four for a new table |
//! | `cosmos` | `ru` | ⌈ru ÷ 6,000⌉ partitions |
//! | `cosmos-autoscale` | `max_ru` | ⌈max_ru ÷ 10,000⌉ partitions |
//! | `cosmos-serverless` | | one partition |
//!
//! It does not know loads.

use super::Context;
use super::keys;
use super::node::{Fields, Node, Read, Value, told};
use super::read;
use hotplate::budget::Fill;
use hotplate::charge::Indexing;
use hotplate::key::Placement;
use hotplate::lab::run::{IndexSpec, OnDemand, TableSpec};
use hotplate::physics::{Adaptive, AutoScaling, CosmosBurst, EventualReads, HeatSplit, Switches};
use hotplate::profile::{
    DYNAMODB_ON_DEMAND_PARTITIONS, DYNAMODB_PARTITION_READ, DYNAMODB_PARTITION_WRITE, PARTITIONS_MAX,
    Profile, Service,
};
use hotplate::sim::Setup;
use hotplate::units::{Bytes, KB};
use std::time::Duration;

/// The keys of a table.
pub(super) const TABLE_KEYS: &[&str] = &[
    "name",
    "profile",
    "wcu",
    "rcu",
    "ru",
    "max_ru",
    "partitions",
    "layout",
    "stored",
    "index",
    "burst",
    "heat_splits",
    "adaptive",
    "eventual_reads",
    "local_index",
    "limits",
    "previous_peak",
    "warm",
    "max",
    "quota",
    "auto_scaling",
    "autoscale",
    "widths",
    "index_terms",
    "leak",
    "size_split",
    "split_takes",
];

/// The keys of an index.
pub(super) const INDEX_KEYS: &[&str] =
    &["name", "wcu", "rcu", "partitions", "previous_peak", "warm", "max", "quota", "burst", "entry", "keys"];

/// Indexes of a table ("Quotas": 20 global secondary indexes).
const INDEXES_MAX: usize = 20;

/// The console's target ("Managing throughput capacity automatically with DynamoDB auto scaling": 70 %), ...
const TARGET_PERCENT: u64 = 70;
/// ... and what may be set ("between 20 and 90 percent").
const TARGET_PERCENTS: [u64; 2] = [20, 90];

/// What an entry of an index is taken to be: as large as an item when nothing is said.
const ENTRY: Bytes = Bytes(KB);

/// The profiles by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Provisioned,
    OnDemand,
    Cosmos,
    Autoscale,
    Serverless,
}

impl Kind {
    const WORDS: [(&'static str, Self); 5] = [
        ("dynamodb", Self::Provisioned),
        ("dynamodb-on-demand", Self::OnDemand),
        ("cosmos", Self::Cosmos),
        ("cosmos-autoscale", Self::Autoscale),
        ("cosmos-serverless", Self::Serverless),
    ];

    pub(super) fn service(self) -> Service {
        match self {
            Self::Provisioned | Self::OnDemand => Service::DynamoDb,
            _ => Service::Cosmos,
        }
    }

    /// As files write it.
    pub(super) fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Whether a key means something for a table of this kind.
    fn has(self, key: &str) -> bool {
        let kinds: &[Self] = match key {
            "wcu" | "rcu" | "auto_scaling" => &[Self::Provisioned],
            "previous_peak" | "warm" | "max" | "quota" => &[Self::OnDemand],
            "layout" | "index" | "heat_splits" | "adaptive" | "eventual_reads" | "local_index" | "limits" => {
                &[Self::Provisioned, Self::OnDemand]
            }
            "ru" => &[Self::Cosmos],
            "max_ru" | "autoscale" => &[Self::Autoscale],
            "split_takes" => &[Self::Cosmos, Self::Autoscale],
            "widths" | "index_terms" | "leak" | "size_split" => {
                &[Self::Cosmos, Self::Autoscale, Self::Serverless]
            }
            _ => return true,
        };
        kinds.contains(&self)
    }

    /// What to do instead of using such a key.
    fn instead(self, key: &str) -> &'static str {
        match (self, key) {
            (_, "layout") => "keys lie where Azure puts them",
            (_, "index") => "Cosmos DB indexes inside the container and charges the write for it",
            (Self::OnDemand, "wcu" | "rcu") => "set warm or previous_peak, or take profile = \"dynamodb\"",
            (Self::Provisioned, "warm" | "max" | "previous_peak" | "quota") => {
                "set wcu and rcu, or take profile = \"dynamodb-on-demand\""
            }
            (Self::Provisioned | Self::OnDemand, "ru" | "max_ru") => "DynamoDB has wcu and rcu",
            (Self::Autoscale, "ru") => "set max_ru",
            (Self::Cosmos, "max_ru") => "set ru, or take profile = \"cosmos-autoscale\"",
            (Self::Serverless, "ru" | "max_ru") => "its throughput follows from its partitions",
            (Self::Autoscale | Self::Serverless | Self::Cosmos, "wcu" | "rcu") => {
                "Cosmos DB has request units"
            }
            _ => "leave it out",
        }
    }
}

/// A table as it was read: of which kind it is, and the whole of it where nothing was wrong.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) profile: Profile,
    pub(super) warm: [u64; 2],
    pub(super) spec: Option<TableSpec>,
}

/// Reads a table.
pub(super) fn table(node: &Node, context: &Context<'_>) -> Option<Table> {
    let fields = Fields::open(node, "a table", TABLE_KEYS, context.faults)?;
    let name = fields.need("name", read::name);
    let kind = fields.need("profile", |node| read::word(node, &Kind::WORDS))?;
    for key in fields.present(TABLE_KEYS).into_iter().filter(|key| !kind.has(key)) {
        fields.fault(key, format!("not for profile {:?}: {}", kind.name(), kind.instead(key)));
    }
    let on_demand = match kind {
        Kind::OnDemand => on_demand(&fields).map(Some),
        _ => Some(None),
    };
    let profile = profile(&fields, kind, on_demand.flatten().as_ref());
    let switches = switches(&fields, kind);
    let auto_scaling = fields.maybe("auto_scaling", |node| auto_scaling(node, context));
    let widths = widths(&fields, profile.as_ref());
    let split_takes = fields.or("split_takes", Setup::SPLIT_TAKES, |node| {
        let (least, most) = read::pair(node, read::span)?;
        if least > most {
            Err("the first is the least and the second the most".into())
        } else {
            Ok((least, most))
        }
    });
    let stored = fields.or("stored", Bytes::ZERO, read::volume);
    let indexes = indexes(&fields, kind, context);
    let spec = || {
        Some(TableSpec {
            name: name.clone()?,
            profile: profile.clone()?,
            switches: switches?,
            on_demand: on_demand?,
            auto_scaling: auto_scaling?,
            widths: widths?,
            split_takes: split_takes?,
            indexes: indexes?,
            stored: stored?,
        })
    };
    let spec = spec();
    // A table with a fault is good enough to go on and look for faults of its loads.
    let stand_in = || match kind.service() {
        Service::DynamoDb => Profile::dynamodb_on_demand(),
        Service::Cosmos => Profile::cosmos_serverless(),
    };
    Some(Table {
        name: name.unwrap_or_default(),
        profile: profile.unwrap_or_else(stand_in),
        warm: on_demand.flatten().map_or([0; 2], |on_demand| on_demand.warm),
        kind,
        spec,
    })
}

/// Service, throughput, partitions at the start and burst credit.
fn profile(fields: &Fields<'_>, kind: Kind, on_demand: Option<&OnDemand>) -> Option<Profile> {
    let partitions = fields.maybe("partitions", |node| read::whole_u32(node, 1, PARTITIONS_MAX));
    let wide = match fields.get("widths").map(|node| &node.value) {
        Some(Value::List(widths)) => u32::try_from(widths.len()).ok().filter(|count| *count > 0),
        _ => None,
    };
    let made = match kind {
        Kind::Provisioned => provisioned(fields),
        Kind::OnDemand => {
            let needed = on_demand.map_or(DYNAMODB_ON_DEMAND_PARTITIONS, on_demand_partitions);
            // A warm throughput beyond what partitions can be is refused where they are counted.
            with_partitions(fields, "warm", Profile::dynamodb_on_demand(), needed)
        }
        Kind::Cosmos => {
            let ru = fields.need("ru", read::units)?;
            made(fields, "ru", Profile::cosmos_manual(ru))
        }
        Kind::Autoscale => {
            let max_ru = fields.need("max_ru", read::units)?;
            made(fields, "max_ru", Profile::cosmos_autoscale(max_ru))
        }
        Kind::Serverless => Some(Profile::cosmos_serverless()),
    };
    let profile = match (partitions?, wide) {
        (Some(count), _) => with_partitions(fields, "partitions", made?, count)?,
        (None, Some(count)) => with_partitions(fields, "widths", made?, count)?,
        (None, None) => made?,
    };
    // The hash is not public, so that its layout is one of many; Cosmos DB's is.
    let layout = fields.maybe("layout", |node| read::whole_u32(node, 0, u32::MAX))?;
    let profile = match layout {
        Some(layout) => profile.with_placement(Placement::Seeded { layout }),
        None => profile,
    };
    match kind.service() {
        // Burst credit starts empty in load experiments (design): what is published was measured in a steady state.
        Service::DynamoDb => {
            const WORDS: [(&str, Fill); 2] = [("empty", Fill::Base), ("full", Fill::Full)];
            let fill = fields.or("burst", Fill::Base, |node| read::word(node, &WORDS))?;
            Some(profile.with_fill(fill))
        }
        Service::Cosmos => {
            let terms = fields.maybe("index_terms", index_terms)?;
            Some(match terms {
                Some((of_item, changed)) => profile.with_indexing(Indexing::Terms { of_item, changed }),
                None => profile,
            })
        }
    }
}

/// Index terms of an item, and those of them that a replace changes: one number, or both.
fn index_terms(node: &Node) -> Read<(u16, u16)> {
    let terms = |node: &Node| read::whole_u32(node, 0, u32::from(u16::MAX)).map(|count| count as u16);
    match &node.value {
        Value::List(_) => {
            let (of_item, changed) = read::pair(node, terms)?;
            match changed <= of_item {
                true => Ok((of_item, changed)),
                false => {
                    Err("the first are the terms of an item, the second those of them that a replace changes"
                        .into())
                }
            }
        }
        _ => Ok((terms(node)?, 0)),
    }
}

/// Provisioned throughput. What is not written down asks for no partition and is one unit.
fn provisioned(fields: &Fields<'_>) -> Option<Profile> {
    let wcu = fields.maybe("wcu", read::units);
    let rcu = fields.maybe("rcu", read::units);
    let (wcu, rcu) = (wcu?, rcu?);
    if wcu.is_none() && rcu.is_none() {
        if !fields.meant("wcu") && !fields.meant("rcu") {
            fields.fault_here("wcu and rcu are missing: give the one that the loads need, or both");
        }
        return None;
    }
    let profile = made(fields, "wcu", Profile::dynamodb_provisioned(rcu.unwrap_or(1), wcu.unwrap_or(1)))?;
    let count = match (rcu, wcu) {
        (Some(rcu), None) => rcu.div_ceil(DYNAMODB_PARTITION_READ),
        (None, Some(wcu)) => wcu.div_ceil(DYNAMODB_PARTITION_WRITE),
        _ => return Some(profile),
    };
    let key = if wcu.is_some() { "wcu" } else { "rcu" };
    with_partitions(fields, key, profile, u32::try_from(count).unwrap_or(u32::MAX))
}

fn made(fields: &Fields<'_>, key: &str, profile: hotplate::Result<Profile>) -> Option<Profile> {
    profile.map_err(|error| fields.fault(key, error)).ok()
}

fn with_partitions(fields: &Fields<'_>, key: &str, profile: Profile, count: u32) -> Option<Profile> {
    made(fields, key, profile.with_partitions(count))
}

/// What an on-demand table's past leaves it with: room for twice its peak and for its warm throughput, within the quota.
fn on_demand_partitions(on_demand: &OnDemand) -> u32 {
    let needed = |i: usize, one: u64| {
        let served =
            on_demand.previous_peak[i].saturating_mul(2).min(on_demand.quota[i]).max(on_demand.warm[i]);
        u32::try_from(served.div_ceil(one)).unwrap_or(u32::MAX)
    };
    needed(0, DYNAMODB_PARTITION_READ)
        .max(needed(1, DYNAMODB_PARTITION_WRITE))
        .max(DYNAMODB_ON_DEMAND_PARTITIONS)
}

/// Reads and writes of a capacity, the one left out being `default`.
fn read_write<T: Copy>(
    node: &Node,
    context: &Context<'_>,
    default: [T; 2],
    unit: impl Fn(&Node) -> Read<T> + Copy,
) -> Read<[T; 2]> {
    let wrong = told;
    let Value::Table(_) = &node.value else {
        return Err(format!(
            "{} is not reads and writes: write it like {{ read = 12000, write = 4000 }}",
            node.shown()
        ));
    };
    let fields =
        Fields::open(node, "reads and writes", &["read", "write"], context.faults).ok_or_else(wrong)?;
    let read = fields.or("read", default[0], unit);
    let write = fields.or("write", default[1], unit);
    match (read, write) {
        (Some(read), Some(write)) => Ok([read, write]),
        _ => Err(wrong()),
    }
}

fn on_demand(fields: &Fields<'_>) -> Option<OnDemand> {
    let context = Context::of(fields.faults);
    let most = hotplate::budget::Rate::MAX_UNITS_PER_SEC;
    let from = |least: u64| move |node: &Node| read::whole(node, least, most);
    let new = OnDemand::default();
    let previous_peak = fields.or("previous_peak", new.previous_peak, |node| {
        read_write(node, &context, new.previous_peak, from(0))
    });
    let warm = fields.or("warm", new.warm, |node| read_write(node, &context, new.warm, from(1)));
    let max = fields.or("max", [None, None], |node| {
        read_write(node, &context, [None, None], |node| from(1)(node).map(Some))
    });
    let quota = fields.or("quota", new.quota, |node| read_write(node, &context, new.quota, from(1)));
    Some(OnDemand { previous_peak: previous_peak?, warm: warm?, max: max?, quota: quota? })
}

/// Warm throughput of an event: what is left out stays.
pub(super) fn warm(node: &Node, context: &Context<'_>, now: [u64; 2]) -> Read<[u64; 2]> {
    let most = hotplate::budget::Rate::MAX_UNITS_PER_SEC;
    read_write(node, context, now, |node| read::whole(node, 1, most))
}

fn switches(fields: &Fields<'_>, kind: Kind) -> Option<Switches> {
    const ADAPTIVE: [(&str, Adaptive); 3] =
        [("instant", Adaptive::Instant), ("delayed", Adaptive::Delayed), ("none", Adaptive::None)];
    const LIMITS: [(&str, bool); 2] = [("independent", false), ("combined", true)];
    const SIZE_SPLIT: [(&str, bool); 2] = [("even", false), ("halves", true)];
    const AUTOSCALE: [(&str, bool); 2] = [("by-partition", false), ("whole", true)];
    const READS: [(&str, EventualReads); 2] =
        [("documented", EventualReads::Documented), ("three-replicas", EventualReads::ThreeReplicas)];
    let cosmos = kind.service() == Service::Cosmos;
    let adaptive = fields.or("adaptive", Adaptive::default(), |node| read::word(node, &ADAPTIVE));
    let eventual_reads =
        fields.or("eventual_reads", EventualReads::default(), |node| read::word(node, &READS));
    let by_service = (!cosmos).then(HeatSplit::default);
    let heat_splits = fields.or("heat_splits", by_service, |node| heat_splits(node, fields));
    let local_index = fields.or("local_index", false, read::yes);
    let combined_limit = fields.or("limits", false, |node| read::word(node, &LIMITS));
    let size_split_divides_share = fields.or("size_split", false, |node| read::word(node, &SIZE_SPLIT));
    let burst = match cosmos {
        true => fields.or("burst", false, read::yes),
        false => Some(false),
    };
    let whole_autoscale = fields.or("autoscale", false, |node| read::word(node, &AUTOSCALE));
    let leak = fields.or("leak", 0.0, read::share);
    Some(Switches {
        adaptive: adaptive?,
        eventual_reads: eventual_reads?,
        heat_splits: heat_splits?,
        local_index: local_index?,
        combined_limit: combined_limit?,
        size_split_divides_share: size_split_divides_share?,
        whole_autoscale: whole_autoscale?,
        burst: burst?.then(CosmosBurst::default),
        leak_per_mille: (leak? * 1_000.0).round() as u64,
    })
}

fn heat_splits(node: &Node, fields: &Fields<'_>) -> Read<Option<HeatSplit>> {
    if let Value::Table(_) = &node.value {
        let wrong = told;
        let names = &["hot_percent", "after"];
        let inner = Fields::open(node, "splits for heat", names, fields.faults).ok_or_else(wrong)?;
        let default = HeatSplit::default();
        let hot_percent = inner.or("hot_percent", default.hot_percent, |node| read::whole(node, 1, 100));
        let between = (Duration::from_secs(default.seconds_min), Duration::from_secs(default.seconds_max));
        let after = inner.or("after", between, |node| {
            let (least, most) = read::pair(node, read::some_time)?;
            if least > most {
                Err("the first is the least and the second the most".into())
            } else {
                Ok((least, most))
            }
        });
        let (hot_percent, (least, most)) = (hot_percent.ok_or_else(wrong)?, after.ok_or_else(wrong)?);
        // Heat is looked at second by second.
        let seconds = |span: Duration| span.as_secs().max(1);
        return Ok(Some(HeatSplit { hot_percent, seconds_min: seconds(least), seconds_max: seconds(most) }));
    }
    let wrong = |_| {
        format!(
            "{} is neither true, false nor a rule: write it like {{ hot_percent = 90, after = [\"8m\", \"12m\"] }}",
            node.shown()
        )
    };
    read::yes(node).map_err(wrong).map(|yes| yes.then(HeatSplit::default))
}

fn auto_scaling(node: &Node, context: &Context<'_>) -> Read<AutoScaling> {
    let wrong = told;
    let fields =
        Fields::open(node, "auto scaling", &["target", "min", "max"], context.faults).ok_or_else(wrong)?;
    let target = fields.or("target", TARGET_PERCENT, |node| {
        let percent = (read::share(node)? * 100.0).round() as u64;
        match (TARGET_PERCENTS[0]..=TARGET_PERCENTS[1]).contains(&percent) {
            true => Ok(percent),
            false => Err(format!("{} is out of range: give 20% to 90%", node.shown())),
        }
    });
    let min = fields.or("min", 1, read::units);
    let max = fields.need("max", read::units);
    let (target_percent, min, max) =
        (target.ok_or_else(wrong)?, min.ok_or_else(wrong)?, max.ok_or_else(wrong)?);
    if min > max {
        return Err(format!("min is {min} and max is {max}: give a max of at least min"));
    }
    Ok(AutoScaling { target_percent, min, max })
}

fn widths(fields: &Fields<'_>, profile: Option<&Profile>) -> Option<Vec<f64>> {
    let positive = |node: &Node| match read::number(node)? {
        width if width > 0.0 => Ok(width),
        _ => Err(format!("{} is no width: give parts above 0, such as [0.5, 0.25, 0.25]", node.shown())),
    };
    let widths =
        fields.or("widths", Vec::new(), |node| read::list(node, PARTITIONS_MAX as usize, positive))?;
    if let (false, Some(profile)) = (widths.is_empty(), profile)
        && widths.len() != profile.partitions() as usize
    {
        let (widths, partitions) = (widths.len(), profile.partitions());
        fields.fault(
            "widths",
            format!(
                "{widths} widths for {partitions} partitions: give one for each, or leave partitions out"
            ),
        );
        return None;
    }
    Some(widths)
}

fn indexes(fields: &Fields<'_>, kind: Kind, context: &Context<'_>) -> Option<Vec<IndexSpec>> {
    // A Cosmos container's has been refused already.
    let Some(node) = fields.get("index").filter(|_| kind.service() == Service::DynamoDb) else {
        return Some(Vec::new());
    };
    let nodes = super::tables_of(node);
    if nodes.len() > INDEXES_MAX {
        fields.fault("index", format!("{} indexes: a table has at most {INDEXES_MAX}", nodes.len()));
        return None;
    }
    let read: Vec<_> = nodes.iter().map(|node| index(node, kind, context)).collect();
    let indexes: Vec<IndexSpec> = read.into_iter().collect::<Option<_>>()?;
    for (i, node) in nodes.iter().enumerate() {
        if indexes[..i].iter().any(|other| other.name == indexes[i].name) {
            context.faults.add(&node.at, format!("an index: the name {:?} is taken", indexes[i].name));
        }
    }
    Some(indexes)
}

fn index(node: &Node, kind: Kind, context: &Context<'_>) -> Option<IndexSpec> {
    let fields = Fields::open(node, "an index", INDEX_KEYS, context.faults)?;
    let name = fields.need("name", read::name);
    for key in fields.present(INDEX_KEYS).into_iter().filter(|key| !kind.has(key)) {
        fields.fault(
            key,
            format!("not for an index of a table with profile {:?}: {}", kind.name(), kind.instead(key)),
        );
    }
    let on_demand = match kind {
        Kind::OnDemand => Some(on_demand(&fields)?),
        _ => None,
    };
    let profile = index_profile(&fields, kind, on_demand.as_ref());
    let entry = fields.or("entry", ENTRY, read::size);
    let keys = match fields.get("keys") {
        Some(node) => keys::keys(node, Service::DynamoDb, context),
        None => {
            fields.fault_here("keys is missing: say which entry a write makes, like keys = { count = 1000 }");
            None
        }
    };
    let (profile, entry) = (profile?, entry?);
    if let Err(error) = profile.check_item(entry) {
        fields.fault("entry", error);
        return None;
    }
    Some(IndexSpec { name: name?, profile, on_demand, keys: keys?, entry })
}

fn index_profile(fields: &Fields<'_>, kind: Kind, on_demand: Option<&OnDemand>) -> Option<Profile> {
    let partitions = fields.maybe("partitions", |node| read::whole_u32(node, 1, PARTITIONS_MAX));
    let made = match kind {
        Kind::OnDemand => {
            let needed = on_demand.map_or(DYNAMODB_ON_DEMAND_PARTITIONS, on_demand_partitions);
            with_partitions(fields, "warm", Profile::dynamodb_on_demand(), needed)
        }
        _ => provisioned(fields),
    };
    const WORDS: [(&str, Fill); 2] = [("empty", Fill::Base), ("full", Fill::Full)];
    let fill = fields.or("burst", Fill::Base, |node| read::word(node, &WORDS));
    let profile = match partitions? {
        Some(count) => with_partitions(fields, "partitions", made?, count)?,
        None => made?,
    };
    Some(profile.with_fill(fill?))
}
