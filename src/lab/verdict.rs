//! What the figures of a design mean, in a plain sentence.
//!
//! The sentence answers the questions people ask, as far as a data file can: which key is hot, which limit bites, will a
//! split or more throughput help, why is there throttling at low utilisation, how many suffixes, and what do reads
//! cost then. It cites its numbers and decides nothing.

use super::index_load::{KEY_RANGE, THROUGHPUT};
use super::report::{Design, IndexFigures};
use super::{KeyedRows, SortRule};
use crate::budget::Rate;
use crate::key::{Part, Template};
use crate::profile::{Profile, Service};
use crate::rng::Seed;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

/// What a verdict may rest on beside the design's figures.
pub(super) struct Facts<'a> {
    pub(super) template: &'a Template,
    pub(super) rows: &'a KeyedRows,
    pub(super) service: Service,
    pub(super) partitions: u32,
    /// Writes a second that a partition serves now, ...
    pub(super) partition_writes: f64,
    /// ... and at the most.
    pub(super) partition_writes_max: f64,
    pub(super) table_writes: f64,
    pub(super) throughput: &'a str,
    pub(super) layouts: u32,
    pub(super) sort: SortRule,
    pub(super) sort_name: &'a str,
    pub(super) window_by: Option<&'a str>,
    /// What an endless repetition of this mix would have refused, where load is offered at a rate.
    pub(super) steady_refused: Option<f64>,
    /// The number of the worst window's hottest key.
    pub(super) worst_key: Option<usize>,
}

/// Throttling under this share of the attempts is none worth speaking of.
const QUIET_SHARE: f64 = 0.001;

/// A table whose use is this near to what it pays for is full, whatever partition refused first.
const FULL_SHARE: f64 = 0.97;

/// And it loses no more than this: beyond, something else than the table is in the way.
const FULL_REFUSED: f64 = 0.05;

/// The order of a file is to blame when it loses this much more than the same writes well mixed.
const ORDER_REFUSED: f64 = 0.1;

/// Workers and retries keep a hot key at its limit and not above: this near counts as reached.
const REACHED_SHARE: f64 = 0.95;

/// A replay this short is carried by saved-up credit, in seconds: ten times what a partition saves.
pub(super) const SHORT_SECONDS: f64 = 5.0;

/// A window is one key when the key takes this share of it.
const ONE_KEY_SHARE: f64 = 0.95;

/// Characters of a key or a window's name in a sentence; a key may have 2,048.
const NAME_CHARS: usize = 96;

/// A calculated suffix is skewed when its hottest value has this many times its even share.
const SKEWED_SUFFIX: f64 = 3.0;

/// The verdict on a design.
pub(super) fn sentence(facts: &Facts<'_>, design: &Design) -> String {
    let mut text = String::new();
    let quiet = design.throttled_share <= QUIET_SHARE;
    let reached = if facts.steady_refused.is_some() { 1.0 } else { REACHED_SHARE };
    let key_demand = design.hottest_unsplittable_share * design.offered_per_s;
    let partition_demand = design.hottest_partition_share * design.offered_per_s;
    let table_short = design.offered_per_s > facts.table_writes * (1.0 + QUIET_SHARE);
    let used = design.served_per_s / facts.table_writes;
    let expected = facts.steady_refused.unwrap_or(design.throttled_share);
    let by_order = design.throttled_share > expected + ORDER_REFUSED;

    let full_index = design
        .indexes
        .iter()
        .find(|index| design.hottest_resource.kind == "index" && index.name == design.hottest_resource.name);
    // A short file may end before anything is refused: a key that is too hot is too hot all the same.
    if let Some(index) = full_index.filter(|_| !quiet) {
        index_clause(&mut text, facts, design, index);
    } else if key_demand > facts.partition_writes_max * reached && !(quiet && facts.steady_refused.is_none())
    {
        hot_key_clause(&mut text, facts, design);
    } else if quiet {
        let _ = write!(
            text,
            "Holds {}/s with {} throttled; its hottest partition ({}) takes {} of the load, {:.2} times its even share",
            whole(design.offered_per_s),
            percent(design.throttled_share),
            design.hottest_partition,
            percent(design.hottest_partition_share),
            design.max_over_mean
        );
    } else if key_demand > facts.partition_writes * reached {
        hot_share_clause(&mut text, facts, design);
    } else if by_order {
        let _ = write!(
            text,
            "Hot moments: the file's order brings the writes of one partition close together, so {}, where the same \
             writes well mixed would lose {}; if they come like this in production, the hot spot moves and no split \
             follows it; if not, shuffle them",
            refused(facts, design),
            percent(expected)
        );
    } else if used >= FULL_SHARE && design.throttled_share <= FULL_REFUSED {
        let _ = write!(
            text,
            "Full: {} of the table's {} is used, and {}; its hottest partition ({}) takes {} of the load, {:.2} times its \
             even share",
            percent(used),
            facts.throughput,
            refused(facts, design),
            design.hottest_partition,
            percent(design.hottest_partition_share),
            design.max_over_mean
        );
    } else if table_short && used >= FULL_SHARE {
        let _ = write!(
            text,
            "Table too small: {}/s are offered and {} pays for {}/s, so {}: more throughput helps",
            whole(design.offered_per_s),
            facts.throughput,
            whole(facts.table_writes),
            refused(facts, design)
        );
    } else if partition_demand > facts.partition_writes * reached {
        hot_range_clause(&mut text, facts, design);
    } else {
        let _ = write!(
            text,
            "Hot moments: no key and no partition is over its limit on average, yet {}, because the file's order brings \
             the writes of one partition close together: mix the order, or let refused writes come back",
            refused(facts, design)
        );
    }
    text.push('.');
    if let Some(index) = full_index.filter(|_| quiet) {
        let _ = write!(
            text,
            " The index {} is full first, at {}/s: key {} has {} of its entries.",
            named(&index.name),
            whole(design.hottest_resource.holds_per_s),
            named(&index.hottest_key),
            percent(index.hottest_key_share)
        );
    }
    luck_clause(&mut text, facts, design);
    window_clause(&mut text, facts, design);
    suffix_clause(&mut text, facts, design);
    rate_clause(&mut text, facts, design);
    read_clause(&mut text, facts, design);
    data_clause(&mut text, facts, design);
    text
}

/// How much is refused: of the load offered at a rate, of the attempts where refused ones come back.
fn refused(facts: &Facts<'_>, design: &Design) -> String {
    match facts.steady_refused {
        None => format!(
            "{} of the attempts are refused and {} of the writes lost",
            percent(design.throttled_share),
            percent(design.gave_up_share)
        ),
        Some(steady)
            if facts.window_by.is_none()
                && design.seconds < SHORT_SECONDS
                && steady > design.throttled_share + ORDER_REFUSED =>
        {
            format!(
                "{} of {}/s is refused before the file is over, after {:.2} s, and {} in the long run",
                percent(design.throttled_share),
                whole(design.offered_per_s),
                design.seconds,
                percent(steady)
            )
        }
        Some(_) => {
            format!("{} of {}/s is refused", percent(design.throttled_share), whole(design.offered_per_s))
        }
    }
}

/// What would spread a hot key.
fn cure(facts: &Facts<'_>, design: &Design) -> String {
    // Workers ask for no more than they are served: what the table pays for is what they could ask.
    let rate = if facts.steady_refused.is_some() { design.offered_per_s } else { facts.table_writes };
    let suffixes = (design.hottest_unsplittable_share * rate / facts.partition_writes_max).ceil().max(2.0);
    let field = |index: usize| &facts.template.fields()[index];
    match facts.template.parts().last() {
        Some(Part::Product { field: index, .. }) => {
            format!("a hash of {} spreads what this formula heaps up", field(*index))
        }
        Some(Part::Hash { field: index, .. }) => format!(
            "take several times {} times as many suffixes, and calculate them from something with more values if one \
             value of {} alone is that hot",
            whole(suffixes),
            field(*index)
        ),
        _ => format!(
            "spread each such key over several times {} suffixes, since they fall on partitions by chance",
            whole(suffixes)
        ),
    }
}

/// An index that is full while the table has room.
fn index_clause(text: &mut String, facts: &Facts<'_>, design: &Design, index: &IndexFigures) {
    let writes = |units: f64| units / index.units_per_entry.max(f64::MIN_POSITIVE);
    let entries = index.entries_share * design.offered_per_s;
    let one = writes(index.partition_limit_per_s);
    let all = writes(index.throughput_per_s);
    let name = named(&index.name);
    // Workers ask for no more than they are served: what is hottest is what is full.
    let reached = if facts.steady_refused.is_some() { 1.0 } else { REACHED_SHARE };
    let by_partition = index.hottest_partition_share * all >= one;
    let (what, reason, cure) = if by_partition
        && (entries * index.hottest_key_share > one * reached
            || index.hottest_key_share >= ONE_KEY_SHARE * index.hottest_partition_share)
    {
        (
            format!(
                "key {} has {} of its entries, and one partition of an index serves {} entries/s at the most",
                named(&index.hottest_key),
                percent(index.hottest_key_share),
                whole(one)
            ),
            KEY_RANGE,
            "spread the index key over suffixes, index fewer rows (a row without the key makes no entry), or do without it",
        )
    } else if by_partition {
        (
            format!(
                "its partition {} has {} of its entries and serves {} entries/s at the most",
                index.hottest_partition,
                percent(index.hottest_partition_share),
                whole(one)
            ),
            KEY_RANGE,
            "no single key of it is too hot, so splits for heat will part them, minutes after the load begins",
        )
    } else {
        (
            format!("it pays for {} entries/s and is asked for {}", whole(all), whole(entries)),
            THROUGHPUT,
            "give it as much throughput as the entries need",
        )
    };
    // A partition's limit is the same in units for a table and its indexes, so this is what a write costs.
    let units_per_write = index.partition_limit_per_s / facts.partition_writes_max;
    let throttled =
        design.partitions.iter().map(|partition| partition.throttled).sum::<f64>() / units_per_write;
    let by_reason: u64 = index.throttles.iter().filter(|t| t.reason == reason).map(|t| t.attempts).sum();
    let mostly = if by_reason as f64 * 2.0 > throttled {
        format!("mostly as {reason}")
    } else {
        "most of it by the table, which is asked first".into()
    };
    // Then either alone would still be full.
    let base = if design.hottest_partition_share * design.offered_per_s > facts.partition_writes {
        "The table's own key is too hot as well, and another alone does not help"
    } else {
        "Another base key does not help"
    };
    let _ = write!(
        text,
        "The index {name} is the bottleneck: {what}; {}, {mostly}, while {} of the table's {} is used. {base}: {cure}",
        refused(facts, design),
        percent((design.served_per_s / facts.table_writes).min(1.0)),
        facts.throughput,
    );
}

/// A key that is over its partition's share of the throughput, and not over what a partition can serve.
fn hot_share_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let _ = write!(
        text,
        "Hot key: {} takes {} of the writes, and its partition's share of the {} is {} writes/s; {}, and no split divides \
         a logical partition. More RU/s on the same {} partitions help up to {} writes/s for each; beyond, {}",
        named(&design.hottest_key),
        percent(design.hottest_key_share),
        facts.throughput,
        whole(facts.partition_writes),
        refused(facts, design),
        facts.partitions,
        whole(facts.partition_writes_max),
        cure(facts, design)
    );
}

fn hot_key_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let why = match (facts.service, facts.sort) {
        (Service::Cosmos, _) => "a logical partition is never divided".to_owned(),
        (Service::DynamoDb, SortRule::RowNumber) => {
            "one key whose sort key, here the row number, only grows is never divided".to_owned()
        }
        (Service::DynamoDb, SortRule::Column) => {
            format!("one item, or a key whose {} only moves one way, is never divided", facts.sort_name)
        }
    };
    let limit = whole(facts.partition_writes_max);
    match facts.window_by {
        Some(by) if design.hottest_key_share >= ONE_KEY_SHARE => {
            let _ = write!(
                text,
                "Moving hot key: all writes of one {by} go to one key, {} for instance, so to one partition, which serves \
                 {limit} writes/s at the most",
                named(&design.hottest_key)
            );
        }
        by => {
            let of = by.map_or_else(|| "of the writes".into(), |by| format!("of the writes of its {by}"));
            let _ = write!(
                text,
                "Hot key: {} takes {} {of}, and one partition serves {limit} writes/s at the most",
                named(&design.hottest_key),
                percent(design.hottest_key_share)
            );
        }
    }
    let _ = write!(
        text,
        "; {} while {} of the table's {} is used, and neither splits ({why}) nor more throughput can help: {}",
        refused(facts, design),
        percent((design.served_per_s / facts.table_writes).min(1.0)),
        facts.throughput,
        cure(facts, design)
    );
}

fn hot_range_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let _ = write!(
        text,
        "Hot range: partition {} takes {} of the load ({:.2} times its even share) and serves {} writes/s, so {} while {} \
         of the table's {} is used; ",
        design.hottest_partition,
        percent(design.hottest_partition_share),
        design.max_over_mean,
        whole(facts.partition_writes),
        refused(facts, design),
        percent(design.served_per_s / facts.table_writes),
        facts.throughput
    );
    text.push_str(match facts.service {
        Service::DynamoDb => {
            "no single key is too hot, so splits for heat will part its keys, minutes after the load begins"
        }
        Service::Cosmos => {
            "no single key is too hot, but Cosmos DB splits for size and for throughput you buy, not for heat: raise the \
             RU/s or redistribute them"
        }
    });
}

/// For few keys: whether they met on one partition is luck.
fn luck_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    if design.spread.is_empty() || design.distinct_keys < 2 {
        return;
    }
    let _ = write!(text, " Its {} keys", design.distinct_keys);
    for (i, spread) in design.spread.iter().enumerate() {
        let joint = match i {
            0 => " fall on",
            _ if i + 1 == design.spread.len() => " and on",
            _ => ", on",
        };
        let partitions = if spread.partitions == 1 { "partition" } else { "partitions" };
        let _ = write!(
            text,
            "{joint} {} {partitions} in {} of {} layouts ({} served/s)",
            spread.partitions,
            spread.layouts,
            facts.layouts,
            span(spread.served_min, spread.served_max)
        );
    }
    text.push('.');
}

fn window_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let Some(windows) = &design.windows else { return };
    let _ = write!(
        text,
        " Worst window: {}, {}/s served, where {} takes {}",
        named(&windows.worst_name),
        whole(windows.worst),
        named(&windows.worst_key),
        percent(windows.worst_key_share)
    );
    if let Some((suffix, field)) = suffix_of_nothing(facts.template)
        && facts.worst_key.is_some_and(|key| facts.rows.mostly_blank(key as u32))
    {
        let _ = write!(text, " (rows without {field} all get suffix {suffix})");
    }
    if let Some(rate) = windows.worst_max_rate_per_s {
        let _ = write!(text, " and {}/s is the most it holds", whole(rate));
    }
    text.push('.');
}

/// The hashed suffix at a template's end that an empty value gets, and the field it is calculated from.
fn suffix_of_nothing(template: &Template) -> Option<(String, String)> {
    let Part::Hash { field, range } = template.parts().last()? else { return None };
    let hashed = Template::builder().hash("nothing", range.first()..=range.last()).build().ok()?;
    let suffix = hashed.key(&serde_json::json!({ "nothing": "" }), Seed(0), 0).ok()?;
    Some((suffix.to_string(), template.fields()[*field].to_string()))
}

/// Whether a key ends with this number, and not merely with its last digits.
fn ends_with_number(key: &str, number: &str) -> bool {
    key.strip_suffix(number).is_some_and(|rest| !rest.ends_with(|c: char| c.is_ascii_digit()))
}

/// A calculated suffix that does not spread.
fn suffix_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let Some(Part::Product { range, .. }) = facts.template.parts().last() else { return };
    let even = 1.0 / range.width() as f64;
    let suffix = range.first().to_string();
    let counts = facts.rows.counts(facts.rows.rows());
    let keys = facts.rows.keys().iter().zip(&counts);
    let on_first: u64 =
        keys.filter(|(key, _)| ends_with_number(&key.to_string(), &suffix)).map(|(_, n)| n).sum();
    let total = facts.rows.rows().len().max(1) as f64;
    let share = on_first as f64 / total;
    if share > SKEWED_SUFFIX * even {
        let _ = write!(
            text,
            " The suffix formula is skewed: {} of the writes get suffix {suffix}, because products of code points are \
             soon divisible by {}; hash(…) or a prime number of suffixes spreads them (hottest key: {}).",
            percent(share),
            range.width(),
            named(&design.hottest_key)
        );
    }
}

fn rate_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    if let Some(rate) = design.max_rate_per_s {
        let _ = write!(text, " Holds at most {}/s now", whole(rate));
        if let (Some(low), Some(high), true) = (design.max_rate_p5, design.max_rate_p95, facts.layouts > 1) {
            let _ = write!(text, " ({} in 5–95% of layouts)", span(low, high));
        }
        text.push_str(", ");
    } else {
        let _ = write!(text, " Can hold {}/s now, ", whole(design.ceiling.cold));
    }
    settled_clause(text, facts, design);
}

/// What waiting brings.
fn settled_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let ceiling = &design.ceiling;
    let _ = match facts.service {
        Service::Cosmos => write!(
            text,
            "and no more by waiting, as Cosmos DB does not split for heat; {}/s with every partition at the most it can \
             serve.",
            whole(design.ceiling_per_s)
        ),
        Service::DynamoDb if ceiling.split_rounds == 0 => {
            write!(text, "{}/s after every split that can help.", whole(ceiling.settled))
        }
        Service::DynamoDb => write!(
            text,
            "{}/s after every split that can help, about {} minutes of steady load later.",
            whole(ceiling.settled),
            whole(ceiling.settle_minutes)
        ),
    };
}

/// What reading back costs.
fn read_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    let mut fan_out = 1_u64;
    let mut random = false;
    for part in facts.template.parts() {
        if let Some(range) = part.range() {
            fan_out = fan_out.saturating_mul(range.width());
            random |= matches!(part, Part::Random(_));
        }
    }
    if fan_out == 1 {
        return;
    }
    let one = if random { format!("{} requests", whole(fan_out as f64)) } else { "one request".into() };
    let _ = write!(
        text,
        " Reading one item back takes {one}, reading all of a base key {} queries over {} partitions.",
        whole(fan_out as f64),
        facts.partitions.min(u32::try_from(fan_out).unwrap_or(u32::MAX)).min(design.partitions.len() as u32)
    );
}

fn data_clause(text: &mut String, facts: &Facts<'_>, design: &Design) {
    if design.skipped_rows > 0 {
        let rows = if design.skipped_rows == 1 { "row was" } else { "rows were" };
        let _ = write!(text, " {} {rows} skipped", whole(design.skipped_rows as f64));
        if let Some(first) = design.skipped_examples.first() {
            let _ = write!(text, " ({first})");
        }
        text.push('.');
    }
    if facts.rows.overwrites() > 0 {
        let _ = write!(
            text,
            " {} rows overwrite an earlier item with the same key and {}.",
            whole(facts.rows.overwrites() as f64),
            facts.sort_name
        );
    }
}

fn answer(service_time: Duration, steady: bool) -> String {
    let ms = service_time.as_secs_f64() * 1e3;
    match steady {
        true => format!("{ms} ms an answer"),
        // See `replay`: workers would fall into step otherwise.
        false => format!("{ms} ms an answer on average, half to one and a half by the seed"),
    }
}

/// Which figures rest on what.
pub(super) fn basis(
    profile: &Profile,
    layouts: u32,
    service_time: Duration,
    steady: bool,
    indexed: bool,
    burst_full: bool,
) -> Vec<String> {
    let credit = if burst_full { "all burst credit saved up at the start" } else { "burst credit spent" };
    let units = |rate: Rate| whole(rate.units());
    let one = profile.partition_throughput();
    let mut lines = match profile.service() {
        Service::DynamoDb => vec![
            format!(
                "documented: {} write and {} read units/s for a partition; charges by 1 KB; all partitions draw on the \
                 table's throughput; no split divides a key whose sort key only grows",
                units(one.write_rate()),
                units(one.read_rate())
            ),
            "measured by others: half a second's credit for a partition, fitted to the 1,250 writes/s that AWS published \
             for a sorted load"
                .into(),
            format!(
                "assumed: the hash (unpublished; {layouts} seeded layouts), no split during the run, {credit}, \
                 {}",
                answer(service_time, steady)
            ),
        ],
        Service::Cosmos => vec![
            format!(
                "documented: {} RU/s for a physical partition, an even share of the RU/s for each, one-second windows, \
                 the hash that places keys",
                units(one.write_rate())
            ),
            "measured by others: the RU of a write (only the partition key indexed) and of a read (as if what it filters by \
             were)"
                .into(),
            format!(
                "assumed: burst capacity off, no split during the run, {}",
                answer(service_time, steady)
            ),
        ],
    };
    if indexed {
        lines.push(
            "documented: a write is refused when an index has no room for its entry, and an index has partitions and \
             throughput of its own; assumed: the table is asked first, then the indexes in order, of each the partition \
             first; a refused write consumes nothing; entries of one key come in the order of the rows, so no split divides \
             them"
                .into(),
        );
    }
    let settled = match profile.service() {
        Service::DynamoDb => {
            "then settled, min(table, partition limit ÷ share of the hottest key that cannot be divided), after as many \
             rounds of splits for heat as halve the one share to the other, a seeded 8 to 12 minutes each (assumed from AWS's charts)"
        }
        Service::Cosmos => "which does not settle to more, as Cosmos DB does not split for heat",
    };
    lines.push(format!(
        "served/s: successes ÷ time from the first start to the last answer; finish: that time, or with windows what all \
         rows need at the rates served; max rate: the highest that throttles at most 0.1% of first attempts over 300 s; \
         ceiling: cold, min(table, partition limit ÷ share of the hottest partition), {settled}"
    ));
    lines
}

/// A number without decimals, in groups of three.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share as a percentage with as many digits as tell something.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 99.95 {
        format!("{percent:.0}%")
    } else if percent < 0.1 {
        "under 0.1%".into()
    } else {
        format!("{percent:.1}%")
    }
}

/// A name as far as a sentence has room for it.
fn named(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}

fn span(low: f64, high: f64) -> String {
    let (low, high) = (whole(low), whole(high));
    if low == high { low } else { format!("{low}–{high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(whole(0.4), "0");
        assert_eq!(whole(1_234_567.0), "1,234,567");
        assert_eq!(percent(0.3588), "35.9%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(0.0004), "under 0.1%");
        assert_eq!(span(2.0, 2.2), "2");
    }
}
