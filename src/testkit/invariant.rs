//! What always holds of a table, ready to be checked after any step of any test.
//!
//! | invariant | check |
//! |---|---|
//! | the partitions' ranges cover the ring, without gap or overlap | [`ranges_cover_the_ring`] |
//! | each item is in the one partition that owns its key, and bytes are counted there | [`items_are_in_place`] |
//! | the table answers every read as the model would | [`table_holds`] |
//! | every unit charged is in the heat of a partition and of a key, once | [`charges_are_conserved`] |
//! | admitted ≤ limit + burst + charges in flight | [`admitted_within_limits`] |
//! | a merged fan-out is what one sorted partition would give | [`fan_out_is_sorted`] |
//! | pages join up, whatever happens between them | [`pages_join_up`] |
//!
//! All of them look at the table from outside, through its report or through reads. None is meant for a table that other
//! threads are using meanwhile.

use super::model::milli;
use super::violation::ensure;
use super::{Ledger, Model, Violation};
use crate::charge::Consistency;
use crate::clock::Instant;
use crate::cluster::{Continuation, Direction, PartitionReport, Refusal, Scan, ScanPart, Table, TableReport};
use crate::document::Document;
use crate::heat::Series;
use crate::key::{ItemKey, PartitionKey};
use crate::profile::{Profile, Sharing};
use crate::ring::{RingPoint, Token};
use crate::units::Bytes;
use std::fmt;

/// Refusals in a row after which a read counts as stuck.
const ATTEMPTS_MAX: usize = 10_000;
/// Pages after which a read counts as endless.
const PAGES_MAX: usize = 1_000_000;

/// The ranges of the partitions begin at the start of the ring, follow each other, and end with it.
///
/// # Errors
/// [`Violation`] naming the partition where they do not.
pub fn ranges_cover_the_ring(report: &TableReport) -> Result<(), Violation> {
    let mut from = Some(RingPoint::START);
    for partition in &report.partitions {
        ensure(from.as_ref() == Some(partition.range.from()), || {
            let before = from.as_ref().map_or_else(|| "the end of the ring".to_owned(), ToString::to_string);
            format!(
                "partition {} begins at {}, and the one before it ends at {before}",
                partition.id,
                partition.range.from()
            )
        })?;
        from = partition.range.to().cloned();
    }
    ensure(from.is_none(), || "the last partition ends before the ring does".into())
}

/// Each item of the model is routed to the partition whose range holds it; bytes and logical partitions are counted
/// right in each.
///
/// # Errors
/// [`Violation`] naming the partition.
pub fn items_are_in_place<D: Document>(table: &Table<D>, model: &Model<D>) -> Result<(), Violation> {
    let report = table.report();
    ranges_cover_the_ring(&report)?;
    let mut places: Vec<(Token, &ItemKey, Bytes)> =
        model.items().map(|(key, item)| (table.token(&key.partition), key, item.size())).collect();
    places.sort_by(|a, b| (&a.0, &a.1.sort).cmp(&(&b.0, &b.1.sort)));
    let mut logical: Vec<(&Token, &PartitionKey)> =
        places.iter().map(|(token, key, _)| (token, &key.partition)).collect();
    logical.sort();
    logical.dedup();
    for partition in &report.partitions {
        let (from, to) = (partition.range.from(), partition.range.to());
        let begin = places.partition_point(|(token, key, _)| from.is_after(token, &key.sort));
        let end = to.map_or(places.len(), |to| {
            places.partition_point(|(token, key, _)| to.is_after(token, &key.sort))
        });
        let mut bytes = 0;
        for (_, key, size) in &places[begin..end] {
            let owner = table.partition_of(key);
            ensure(owner == partition.id, || {
                format!("{key:?} lies in the range of partition {} and is routed to {owner}", partition.id)
            })?;
            bytes += size.0;
        }
        ensure(partition.bytes == Bytes(bytes), || {
            format!("partition {} counts {} bytes and holds {bytes}", partition.id, partition.bytes.0)
        })?;
        // A logical partition that is cut is counted by each partition that holds some of it.
        let begin = logical.partition_point(|(token, _)| **token < from.token);
        let end = to.map_or(logical.len(), |to| {
            logical
                .partition_point(|(token, _)| **token < to.token || **token == to.token && to.sort.is_some())
        });
        ensure(partition.logical_partitions == end - begin, || {
            format!(
                "partition {} counts {} logical partitions and holds {}",
                partition.id,
                partition.logical_partitions,
                end - begin
            )
        })?;
    }
    Ok(())
}

/// Scans of the whole table (in large and in single steps, by segments, by partitions) and reads of every item answer
/// what the model holds, in ring order. Waits when throttled; what the reads cost goes into the model's ledger.
///
/// # Errors
/// [`Violation`] naming the first difference.
pub fn table_holds<D>(table: &Table<D>, model: &mut Model<D>, now: &mut Instant) -> Result<(), Violation>
where
    D: Document + PartialEq + fmt::Debug,
{
    let mut expected: Vec<((Token, ItemKey), D)> =
        model.items().map(|(key, item)| ((table.token(&key.partition), key.clone()), item.clone())).collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    let expected: Vec<(ItemKey, D)> = expected.into_iter().map(|((_, key), item)| (key, item)).collect();

    let ranges = table.report().partitions.into_iter().map(|partition| ScanPart::Range(partition.range));
    let ways: [(&str, Vec<ScanPart>, Option<usize>); 4] = [
        ("a scan", vec![ScanPart::All], None),
        ("a scan item by item", vec![ScanPart::All], Some(1)),
        (
            "a scan in three segments",
            (0..3).map(|index| ScanPart::Segment { index, of: 3 }).collect(),
            Some(2),
        ),
        ("a scan of each partition's range", ranges.collect(), Some(3)),
    ];
    for (way, parts, limit) in ways {
        let mut found = Vec::new();
        for part in parts {
            found.extend(scan_all(table, part, limit, &mut model.ledger, now)?);
        }
        same_items(way, &found, &expected)?;
    }
    for (key, item) in &expected {
        let read = patiently(now, |now| {
            table.get(key, Consistency::Strong, now).inspect_err(|refusal| {
                if refusal.throttled().is_some() {
                    model.ledger.throttle();
                }
            })
        })?;
        model.ledger.charge(read.charge);
        ensure(read.item.as_ref() == Some(item), || {
            format!("a read of {key:?} answers {:?}, and it should be {item:?}", read.item)
        })?;
    }
    Ok(())
}

fn scan_all<D: Document>(
    table: &Table<D>,
    part: ScanPart,
    limit: Option<usize>,
    ledger: &mut Ledger,
    now: &mut Instant,
) -> Result<Vec<(ItemKey, D)>, Violation> {
    let mut scan = Scan::of(part);
    if let Some(limit) = limit {
        scan = scan.limit(limit);
    }
    let mut items = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = patiently(now, |now| table.scan(&scan, now))?;
        ledger.charge_scan(page.charge);
        items.extend(page.items);
        match page.continuation {
            Some(continuation) => scan = scan.after(continuation),
            None => return Ok(items),
        }
    }
    Err(Violation::new(format!("a scan has not ended after {PAGES_MAX} pages")))
}

/// Waits as long as it is told to.
fn patiently<T>(
    now: &mut Instant,
    mut ask: impl FnMut(Instant) -> Result<T, Refusal>,
) -> Result<T, Violation> {
    for _ in 0..ATTEMPTS_MAX {
        match ask(*now) {
            Ok(answer) => return Ok(answer),
            Err(Refusal::Throttled(throttled)) => *now = now.after(throttled.retry_after),
            Err(other) => return Err(Violation::new(format!("a read that is right was refused: {other}"))),
        }
    }
    Err(Violation::new(format!(
        "still throttled after {ATTEMPTS_MAX} attempts, each at the time it was told"
    )))
}

fn same_items<D: PartialEq + fmt::Debug>(
    way: &str,
    found: &[(ItemKey, D)],
    expected: &[(ItemKey, D)],
) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    Err(Violation::new(format!(
        "{way} differs at row {at}: it answers {:?}, and it should be {:?} ({} rows of {})",
        found.get(at),
        expected.get(at),
        found.len(),
        expected.len()
    )))
}

/// What the partitions counted as consumed, those that gave way to others included, is what the answers charged; and so
/// is what the keys counted, scans left out. The same for throttled requests.
///
/// # Errors
/// [`Violation`] with both figures.
pub fn charges_are_conserved<D: Document>(table: &Table<D>, ledger: &Ledger) -> Result<(), Violation> {
    let report = table.report();
    let live =
        report.partitions.iter().map(|p| p.reads.totals().consumed_milli + p.writes.totals().consumed_milli);
    let retired = report.retired.iter().map(|p| p.totals.consumed_milli);
    let same = |what: &str, counted: u64, told: u64| {
        ensure(counted == told, || format!("{what}: {counted} counted, and the answers said {told}"))
    };
    same("milli-units of partitions", live.chain(retired).sum(), milli(ledger.charged()))?;
    let (keys, throttled) = (table.top_keys(usize::MAX), table.top_throttled_keys(usize::MAX));
    if keys.iter().chain(&throttled).all(|key| key.error == 0) {
        same("milli-units of keys", keys.iter().map(|key| key.weight).sum(), ledger.charged_to_keys_milli())?;
        same("throttled requests", throttled.iter().map(|key| key.weight).sum(), ledger.throttled())?;
    }
    Ok(())
}

/// In no stretch of time did a partition serve more than its limit gives in it, what it had saved up before, and the
/// charges in flight; nor did the whole table. `in_flight_milli` is the largest charge times the requests that were under
/// way at once.
///
/// Of what partitions served that are no more, only the sum is known: they are left out, which makes the check weaker and
/// never wrong. It holds for tables whose throughput was never changed.
///
/// # Errors
/// [`Violation`] naming the partition, the stretch and the figures.
pub fn admitted_within_limits<D: Document>(table: &Table<D>, in_flight_milli: u64) -> Result<(), Violation> {
    let report = table.report();
    let profile = table.profile();
    let fewest = fewest_partitions(profile, &report);
    for partition in &report.partitions {
        for (what, series, limit) in limits_of_a_partition(profile, partition, fewest) {
            let name = format!("partition {} ({what})", partition.id);
            within(&name, &series, limit, in_flight_milli)?;
        }
    }
    if profile.sharing() == Sharing::Pooled {
        let throughput = profile.throughput();
        for (what, rate, of) in [
            (
                "reads",
                throughput.read_rate(),
                (|p: &PartitionReport| &p.reads) as fn(&PartitionReport) -> &Series,
            ),
            ("writes", throughput.write_rate(), |p| &p.writes),
        ] {
            let mut sum = Series::default();
            report.partitions.iter().for_each(|p| sum.merge(of(p)));
            within(
                &format!("the table ({what})"),
                &sum,
                Allowed::of(profile.allowance_meter(rate)),
                in_flight_milli,
            )?;
        }
    }
    Ok(())
}

/// What a limit gives: so much each second, and so much at once.
#[derive(Clone, Copy)]
struct Allowed {
    rate_milli: u64,
    /// `None` for a window: nothing is carried from one second into the next, neither savings nor debts.
    saved_milli: Option<u64>,
}

impl Allowed {
    fn of(meter: crate::budget::Meter) -> Self {
        use crate::budget::Meter;
        match meter {
            Meter::Bucket { rate, capacity_milli } => {
                Self { rate_milli: rate.milli(), saved_milli: Some(capacity_milli) }
            }
            Meter::Window { rate } => Self { rate_milli: rate.milli(), saved_milli: None },
        }
    }
}

fn limits_of_a_partition(
    profile: &Profile,
    partition: &PartitionReport,
    fewest: u32,
) -> Vec<(&'static str, Series, Allowed)> {
    use crate::budget::Meter;
    use crate::profile::{Metering, Throughput};
    let mut limits = Vec::new();
    let mut both = partition.reads.clone();
    both.merge(&partition.writes);
    let mut add = |throughput: Throughput, meter: &dyn Fn(crate::budget::Rate) -> Meter| match throughput {
        Throughput::ReadWrite { read, write } => {
            limits.push(("reads", partition.reads.clone(), Allowed::of(meter(read))));
            limits.push(("writes", partition.writes.clone(), Allowed::of(meter(write))));
        }
        Throughput::Request(rate) => {
            limits.push(("requests", both.clone(), Allowed::of(meter(rate))));
        }
    };
    if profile.metering() == Metering::Bucket {
        add(*profile.partition_throughput(), &Meter::ceiling);
    }
    if profile.sharing() == Sharing::Even {
        add(profile.share(fewest), &|rate| profile.allowance_meter(rate));
    }
    limits
}

/// The fewest partitions there may have been: a share of the throughput was never larger than among those. A split takes
/// one partition away and makes two, a merge takes two and makes one; so the numbers tell how many merges there were.
fn fewest_partitions(profile: &Profile, report: &TableReport) -> u32 {
    let (created, live) = (profile.partitions(), report.partitions.len() as u32);
    let merges = (report.retired.len() as u32 + created).saturating_sub(live) / 3;
    created.min(live).saturating_sub(merges).max(1)
}

/// No stretch of bins holds more than the limit gives in it and in advance.
fn within(name: &str, series: &Series, limit: Allowed, in_flight_milli: u64) -> Result<(), Violation> {
    // The stretch that ends here and exceeds its refill by most, as in the maximum sub-array.
    let (mut excess, mut began) = (0_i128, 0);
    for bin in series.bins() {
        if excess <= 0 || limit.saved_milli.is_none() {
            (excess, began) = (0, bin.start_second);
        }
        let width = i128::from(bin.width_seconds);
        excess += i128::from(bin.tally.consumed_milli) - i128::from(limit.rate_milli) * width;
        let most = match limit.saved_milli {
            Some(saved) => i128::from(saved) + i128::from(in_flight_milli),
            None => i128::from(in_flight_milli) * width,
        };
        ensure(excess <= most, || {
            format!(
                "{name} served {:.3} units more from second {began} to {} than its limit of {:.3} units a second \
                 gives; {:.3} saved up and in flight are allowed",
                excess as f64 / 1e3,
                bin.start_second + bin.width_seconds,
                limit.rate_milli as f64 / 1e3,
                most as f64 / 1e3
            )
        })?;
    }
    Ok(())
}

/// `rows` are all items of these logical partitions, in sort order; those with equal sort keys in the order of `keys`.
///
/// # Errors
/// [`Violation`] naming the first difference.
pub fn fan_out_is_sorted<D>(
    rows: &[(ItemKey, D)],
    model: &Model<D>,
    keys: &[PartitionKey],
    direction: Direction,
) -> Result<(), Violation>
where
    D: Document + PartialEq + fmt::Debug,
{
    let mut expected: Vec<(ItemKey, D)> = keys
        .iter()
        .flat_map(|partition| model.of_partition(partition))
        .map(|(key, item)| (key.clone(), item.clone()))
        .collect();
    // Stable: among equals the order of the keys remains, in either direction.
    match direction {
        Direction::Ascending => expected.sort_by(|a, b| a.0.sort.cmp(&b.0.sort)),
        Direction::Descending => expected.sort_by(|a, b| b.0.sort.cmp(&a.0.sort)),
    }
    same_items("a fan-out", rows, &expected)
}

/// Reads page after page and does something between any two of them: the pages together are `expected`. Every
/// continuation goes through text and back, as a client would carry it.
///
/// # Errors
/// [`Violation`] naming the first difference, a refusal, or a continuation that is not understood.
pub fn pages_join_up<D: PartialEq + fmt::Debug>(
    expected: &[(ItemKey, D)],
    mut page: impl FnMut(Option<Continuation>) -> Result<(Vec<(ItemKey, D)>, Option<Continuation>), Refusal>,
    mut between: impl FnMut(),
) -> Result<(), Violation> {
    let mut found = Vec::new();
    let mut continuation = None;
    for _ in 0..PAGES_MAX {
        let (rows, next) = page(continuation).map_err(|refusal| {
            Violation::new(format!("a page after {} rows was refused: {refusal}", found.len()))
        })?;
        found.extend(rows);
        let Some(next) = next else {
            return same_items("reading in pages", &found, expected);
        };
        between();
        let text = next.to_string();
        continuation = Some(text.parse().map_err(|error| {
            Violation::new(format!("the continuation {text:?} is not understood: {error}"))
        })?);
    }
    Err(Violation::new(format!("reading has not ended after {PAGES_MAX} pages")))
}
