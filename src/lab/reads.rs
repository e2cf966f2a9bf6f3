//! What reads cost under a key design, on the loaded data.
//!
//! The rows are put into a real table, as items of the right size that carry nothing but which reads they answer, and
//! each read is carried out by the client: so requests, pages and charges are counted, not computed.

use super::mixed::ReadRequest;
use super::report::ReadCost;
use crate::budget::Rate;
use crate::charge::Consistency;
use crate::client::{
    Backend, Client, Comparison, FanOutQuery, Filter, KeyDesign, Options, Plan, Record, Reply, Request,
};
use crate::clock::{Clock, Instant};
use crate::cluster::Table;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::key::{FieldRef, ItemKey, KeyValue, PartitionKey, Properties, Property, SortKey};
use crate::profile::{Profile, Service, Throughput};
use crate::units::{Bytes, MILLI};
use parking_lot::Mutex;
use std::time::Duration;

/// Reads in one experiment at the most: an item carries a bit for each.
pub const READS_MAX: usize = 32;

/// One read: what must be equal.
#[derive(Clone, Debug)]
pub struct ReadSpec {
    /// As it was asked for.
    pub text: String,
    /// The properties that are known.
    pub known: serde_json::Value,
}

/// An item without content: its size, and which reads it answers.
#[derive(Clone, Copy, Debug)]
struct Ghost {
    bytes: u32,
    answers: u32,
}

impl Document for Ghost {
    fn size(&self) -> Bytes {
        Bytes(u64::from(self.bytes))
    }
}

impl Properties for Ghost {
    /// A ghost's properties are the numbers of the reads that it answers.
    fn property<'a>(&'a self, field: FieldRef<'_>) -> Property<'a> {
        let read = field.path.names().first().and_then(|name| name.parse::<u32>().ok());
        match read {
            Some(read) if read < u32::BITS => Property::Bool(self.answers >> read & 1 == 1),
            _ => Property::Absent,
        }
    }
}

impl Record for Ghost {
    fn with_property(self, _: &str, _: &KeyValue) -> Self {
        self
    }
}

/// A design's rows in a table.
pub(super) struct LoadedTable {
    table: Recorder,
    clock: Clock,
}

/// A table that writes down what each request asked of which partition.
struct Recorder {
    table: Table<Ghost>,
    requests: Mutex<Vec<ReadRequest>>,
}

impl Backend for Recorder {
    type Item = Ghost;

    fn execute(&self, request: &Request<Ghost>, now: Instant) -> Reply<Ghost> {
        let reply = self.table.execute(request, now);
        if let Ok(response) = &reply {
            let charge = response.charge();
            let milli = charge.read.milli() + charge.request.milli();
            let partitions = response.partitions();
            // A page may go on through several partitions; which of them took what is not told: equal parts.
            let parts = partitions.len().max(1) as u64;
            let mut requests = self.requests.lock();
            requests.extend(
                partitions.iter().map(|p| ReadRequest { partition: p.0, milli: milli.div_ceil(parts) }),
            );
        }
        reply
    }

    fn service(&self) -> Service {
        self.table.service()
    }

    fn parts(&self) -> u32 {
        self.table.parts()
    }
}

impl LoadedTable {
    /// Stores one item for each write. `sorts` holds the sort keys where they are a column, `answers` a bit for each
    /// read that a row answers.
    pub(super) fn load(
        profile: &Profile,
        item: Bytes,
        keys: &[PartitionKey],
        rows: &[u32],
        sorts: Option<&[String]>,
        answers: &[u32],
    ) -> Result<Self> {
        let clock = Clock::manual();
        // Costs do not depend on limits: nothing is to be throttled here.
        let boundless = Rate::per_second(Rate::MAX_UNITS_PER_SEC)?;
        let throughput = match profile.throughput() {
            Throughput::ReadWrite { .. } => Throughput::ReadWrite { read: boundless, write: boundless },
            Throughput::Request(_) => Throughput::Request(boundless),
        };
        let profile = profile.clone().with_partition_throughput(throughput)?.with_throughput(throughput)?;
        let table = Table::new("reads", profile, clock.now())?;
        let bytes = u32::try_from(item.0).map_err(|_| Error::invalid("item size: too large"))?;
        for (row, &key) in rows.iter().enumerate() {
            let sort = match sorts {
                Some(sorts) => SortKey::text(&sorts[row]),
                None => SortKey::number(row as u64),
            };
            let ghost = Ghost { bytes, answers: answers.get(row).copied().unwrap_or(0) };
            let key = ItemKey { partition: keys[key as usize].clone(), sort };
            table
                .put(&key, ghost, Instant::from_millis(row as u64))
                .map_err(|refusal| Error::invalid(format!("loading for reads: {refusal}")))?;
        }
        clock.advance(Duration::from_millis(rows.len() as u64 + 1_000));
        Ok(Self { table: Recorder { table, requests: Mutex::default() }, clock })
    }

    /// Carries out read number `number`: what it costs, and what it asked of each partition.
    pub(super) fn read(
        &self,
        design: &KeyDesign,
        number: usize,
        spec: &ReadSpec,
    ) -> Result<(ReadCost, Vec<ReadRequest>)> {
        self.table.requests.lock().clear();
        let options = Options { consistency: Consistency::Eventual, ..Options::default() };
        let client = Client::new(&self.table, design.clone(), self.clock.clone()).with(options);
        let refused = |refusal: crate::cluster::Refusal| Error::invalid(format!("{}: {refusal}", spec.text));
        let filter = Filter::all().and(number.to_string().as_str(), Comparison::Equal, true);
        let plan = client.plan(&spec.known).map_err(refused)?;
        let (items, bill) = match &plan {
            Plan::Get(_) | Plan::GetEach(..) => {
                let found = client.get(&spec.known).map_err(refused)?;
                (u64::from(found.item.is_some()), found.bill)
            }
            Plan::Query(_) | Plan::FanOut(..) => {
                let query = FanOutQuery { filter, ..FanOutQuery::default() };
                let mut rows = client.read(&spec.known, &query).map_err(refused)?;
                let items = rows.by_ref().count() as u64;
                // A read that stopped early would look cheap.
                rows.refusal().map_or(Ok(()), |refusal| Err(refused(refusal.clone())))?;
                (items, rows.bill())
            }
            // Designs of the lab have one level, so that there is no prefix.
            Plan::Prefix(..) | Plan::Scan(_) => {
                let mut rows = client.scan(filter);
                let items = rows.by_ref().count() as u64;
                rows.refusal().map_or(Ok(()), |refusal| Err(refused(refusal.clone())))?;
                (items, rows.bill())
            }
        };
        let cost = ReadCost {
            filter: spec.text.clone(),
            plan: plan.name().into(),
            why: match &plan {
                Plan::Get(_) | Plan::Query(_) => String::new(),
                Plan::GetEach(_, why) | Plan::FanOut(_, why) | Plan::Prefix(_, why) | Plan::Scan(why) => {
                    why.clone()
                }
            },
            requests: bill.requests,
            partitions: bill.partitions.len() as u32,
            units: (bill.charge.read.milli() + bill.charge.request.milli()) as f64 / MILLI as f64,
            items,
        };
        Ok((cost, std::mem::take(&mut *self.table.requests.lock())))
    }
}
