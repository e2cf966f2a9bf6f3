//! One execution of a traversal: what it asks the table, and the account it keeps of that.
//!
//! - Every request is counted and charged to one operator of one step, refused ones included.
//! - All reads go through [`Run::page`] and [`Run::neighbours`], all writes through [`Run::write`].

use super::element::{ElementKey, GraphDocument, Vertex};
use super::error::{Done, Fault, Outcome};
use super::graph::Graph;
use super::profile::{ExecutionProfile, Operator};
use super::select::Scope;
use super::step::Step;
use super::steps::{Pipeline, Traverser};
use super::traversal::Source;
use super::value::GraphValue;
use super::{FRONTIER_MAX, GraphError, PAGE_ITEMS, WORK_MAX};
use crate::budget::PartitionId;
use crate::charge::{Consistency, PageKind, RequestCharge};
use crate::clock::Instant;
use crate::cluster::{Continuation, Page, Query, Refusal, Scan, Written};
use crate::document::Document;
use crate::error::{Error, ErrorKind};
use crate::key::{ItemKey, PartitionKey};
use std::collections::{BTreeMap, BTreeSet};

/// Cosmos DB's default for an account ("Consistency levels"); Gremlin requests cannot ask for another.
const CONSISTENCY: Consistency = Consistency::Session;

/// What a traversal answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The results.
    pub results: Vec<GraphValue>,
    /// What all requests cost.
    pub charge: RequestCharge,
    /// Requests: one for each physical partition that a page or a point operation asked.
    pub requests: u64,
    /// The physical partitions asked.
    pub partitions: BTreeSet<PartitionId>,
    /// The same by operator.
    pub profile: ExecutionProfile,
}

impl Answer {
    /// The ids of the results that have one.
    pub fn ids(&self) -> Vec<&str> {
        self.results.iter().filter_map(GraphValue::id).collect()
    }

    /// The results as the service answers them.
    pub fn to_json(&self) -> serde_json::Value {
        self.results.iter().map(GraphValue::to_json).collect::<Vec<_>>().into()
    }
}

/// Vertices read so far by one step, so that none is read twice.
pub(super) type Known = BTreeMap<ItemKey, Option<Vertex>>;

/// A storage operation under way, page by page.
pub(super) struct Cursor {
    operator: Operator,
    scope: Scope,
    continuation: Option<Continuation>,
    asked: BTreeSet<PartitionId>,
    finished: bool,
}

impl Cursor {
    pub(super) fn new(operator: Operator, scope: Scope) -> Self {
        Self { operator, scope, continuation: None, asked: BTreeSet::new(), finished: false }
    }
}

pub(super) struct Run<'g> {
    pub(super) graph: &'g Graph,
    pub(super) now: Instant,
    /// The logical partitions that the traversal is confined to.
    pub(super) read: Option<BTreeSet<PartitionKey>>,
    /// Whether paths are kept.
    pub(super) keeps_paths: bool,
    /// Elements written, in order.
    pub(super) written: Vec<ElementKey>,
    /// Elements that the current step is yet to write.
    pub(super) remaining: Vec<ElementKey>,
    strict: bool,
    work: u64,
    step: &'static str,
    at: usize,
    profile: ExecutionProfile,
}

impl<'g> Run<'g> {
    pub(super) fn new(source: &Source<'g>, now: Instant) -> Self {
        let read = source.read_partitions.as_ref();
        Self {
            graph: source.graph,
            now,
            read: read.map(|keys| keys.iter().cloned().map(PartitionKey::single).collect()),
            keeps_paths: false,
            written: Vec::new(),
            remaining: Vec::new(),
            strict: source.strict,
            work: 0,
            step: "",
            at: 0,
            profile: ExecutionProfile::default(),
        }
    }

    pub(super) fn execute(mut self, steps: &[Step], fault: Option<&Error>) -> Result<Answer, GraphError> {
        self.keeps_paths = has_path(steps);
        let results = match fault {
            Some(error) => Err(Fault::Invalid(error.clone())),
            None => self.results(steps),
        };
        let (mut charge, mut requests, mut partitions) = (RequestCharge::ZERO, 0, BTreeSet::new());
        for operator in self.profile.operators() {
            charge += operator.charge;
            requests += operator.requests;
            partitions.extend(&operator.partitions);
        }
        match results {
            Ok(results) => Ok(Answer { results, charge, requests, partitions, profile: self.profile }),
            Err(fault) => {
                let (written, remaining) = (self.written, self.remaining);
                Err(fault.after(Done { step: self.step, charge, requests, written, remaining }))
            }
        }
    }

    fn results(&mut self, steps: &[Step]) -> Outcome<Vec<GraphValue>> {
        if self.read.is_some() && self.graph.partition_key().is_none() {
            return Err(Fault::invalid(
                "this graph has no partition key: there are no partitions to choose from",
            ));
        }
        let mut pipeline = Pipeline::new(steps, 0);
        pipeline.restart(vec![Traverser::start()]);
        let results = pipeline.drain(self)?;
        Ok(results.into_iter().map(|traverser| traverser.value).collect())
    }

    /// From here on this step works, and pays.
    pub(super) fn enter(&mut self, step: &Step, at: usize) {
        (self.step, self.at) = (step.name(), at);
    }

    /// Which step works now.
    pub(super) fn working(&self) -> (&'static str, usize) {
        (self.step, self.at)
    }

    /// A step inside another is done, and the other one works again.
    pub(super) fn back_to(&mut self, (step, at): (&'static str, usize)) {
        (self.step, self.at) = (step, at);
    }

    /// Counts traversers handled.
    pub(super) fn work(&mut self, traversers: usize) -> Outcome<()> {
        self.work += traversers as u64 + 1;
        if self.work > WORK_MAX {
            return Err(too_large(format!(
                "a traversal handles at most {WORK_MAX} traversers here, where the service gives it 30 seconds: narrow it"
            )));
        }
        Ok(())
    }

    /// Whether the traversal may see this logical partition.
    pub(super) fn sees(&self, partition: &PartitionKey) -> bool {
        self.read.as_ref().is_none_or(|read| read.contains(partition))
    }

    /// Whether the traversal may ask all of this.
    ///
    /// # Errors
    /// `FanOut` when that is every physical partition and fan-outs are refused.
    pub(super) fn allow(&self, scope: &Scope) -> Outcome<()> {
        if self.strict && *scope == Scope::Everything { Err(Fault::FanOut) } else { Ok(()) }
    }

    /// The next page of those documents in scope that `filter` lets through; `None` after the last.
    pub(super) fn page(
        &mut self,
        cursor: &mut Cursor,
        limit: usize,
        filter: impl Fn(&ItemKey, &GraphDocument) -> bool,
    ) -> Outcome<Option<Vec<(ItemKey, GraphDocument)>>> {
        if cursor.finished {
            return Ok(None);
        }
        self.allow(&cursor.scope)?;
        let limit = limit.clamp(1, PAGE_ITEMS);
        match &mut cursor.scope {
            Scope::Points(points) => {
                let mut found = Vec::new();
                while found.len() < limit
                    && let Some(key) = points.pop_front()
                {
                    let document = self.point(cursor.operator, &key, &mut cursor.asked)?;
                    found.extend(
                        document.filter(|document| filter(&key, document)).map(|document| (key, document)),
                    );
                }
                cursor.finished = points.is_empty();
                Ok(Some(found))
            }
            Scope::Partitions(partitions) => {
                let Some(partition) = partitions.front().cloned() else { return Ok(None) };
                let mut query = Query::of(partition).limit(limit).consistency(CONSISTENCY);
                if let Some(continuation) = cursor.continuation.take() {
                    query = query.after(continuation);
                }
                let page = self.graph.table.query_where(&query, filter, self.now);
                let page = self.paid_page(cursor.operator, &mut cursor.asked, page)?;
                cursor.continuation = page.continuation;
                if cursor.continuation.is_none()
                    && let Scope::Partitions(partitions) = &mut cursor.scope
                {
                    partitions.pop_front();
                    cursor.finished = partitions.is_empty();
                }
                Ok(Some(page.items))
            }
            Scope::Everything => {
                let mut scan = Scan::default().limit(limit).consistency(CONSISTENCY);
                if let Some(continuation) = cursor.continuation.take() {
                    scan = scan.after(continuation);
                }
                let page = self.graph.table.scan_where(&scan, PageKind::Query, filter, self.now);
                let page = self.paid_page(cursor.operator, &mut cursor.asked, page)?;
                cursor.continuation = page.continuation;
                cursor.finished = cursor.continuation.is_none();
                Ok(Some(page.items))
            }
        }
    }

    /// Reads those of `keys` that are not known yet, each by a point read.
    pub(super) fn neighbours<'k>(
        &mut self,
        keys: impl IntoIterator<Item = &'k ItemKey>,
        known: &mut Known,
    ) -> Outcome<()> {
        if known.len() > FRONTIER_MAX {
            known.clear();
        }
        for key in keys {
            if !known.contains_key(key) {
                let vertex = if self.sees(&key.partition) {
                    let document = self.point(Operator::GetNeighborVertices, key, &mut BTreeSet::new())?;
                    document.and_then(|document| self.graph.schema.vertex(key, &document))
                } else {
                    None
                };
                known.insert(key.clone(), vertex);
            }
        }
        Ok(())
    }

    fn point(
        &mut self,
        operator: Operator,
        key: &ItemKey,
        asked: &mut BTreeSet<PartitionId>,
    ) -> Outcome<Option<GraphDocument>> {
        let read = self.graph.table.get(key, CONSISTENCY, self.now);
        let read = read.map_err(|refusal| self.refused(operator, refusal))?;
        self.pay(operator, &[read.partition], asked, read.charge, read.item.as_ref());
        Ok(read.item)
    }

    /// Accounts for a write. `fault` says what a condition that failed means.
    pub(super) fn write(
        &mut self,
        written: Result<Written<GraphDocument>, Refusal>,
        key: ElementKey,
        document: Option<&GraphDocument>,
        fault: impl FnOnce(ElementKey) -> Fault,
    ) -> Outcome<()> {
        match written {
            Ok(written) => {
                let document = document.or(written.before.as_ref());
                let (partition, charge) = ([written.partition], written.charge);
                self.pay(Operator::ModifyData, &partition, &mut BTreeSet::new(), charge, document);
                self.written.push(key);
                Ok(())
            }
            Err(refusal @ Refusal::ConditionFailed { .. }) => {
                self.refused(Operator::ModifyData, refusal);
                Err(fault(key))
            }
            Err(refusal) => Err(self.refused(Operator::ModifyData, refusal)),
        }
    }

    fn paid_page(
        &mut self,
        operator: Operator,
        asked: &mut BTreeSet<PartitionId>,
        page: Result<Page<GraphDocument>, Refusal>,
    ) -> Outcome<Page<GraphDocument>> {
        let page = page.map_err(|refusal| self.refused(operator, refusal))?;
        self.pay(
            operator,
            &page.partitions,
            asked,
            page.charge,
            page.items.iter().map(|(_, document)| document),
        );
        Ok(page)
    }

    fn refused(&mut self, operator: Operator, refusal: Refusal) -> Fault {
        let profile = self.profile.entry(operator, self.step, self.at);
        profile.requests += 1;
        profile.charge += refusal.charge();
        if let Refusal::Throttled(throttled) = &refusal {
            profile.partitions.insert(throttled.partition);
        }
        refusal.into()
    }

    fn pay<'d>(
        &mut self,
        operator: Operator,
        partitions: &[PartitionId],
        asked: &mut BTreeSet<PartitionId>,
        charge: RequestCharge,
        documents: impl IntoIterator<Item = &'d GraphDocument>,
    ) {
        asked.extend(partitions);
        let profile = self.profile.entry(operator, self.step, self.at);
        profile.fan_out = profile.fan_out.max(asked.len());
        profile.partitions.extend(partitions);
        profile.requests += partitions.len() as u64;
        profile.charge += charge;
        for document in documents {
            profile.count += 1;
            profile.size += document.size();
        }
    }
}

/// Whether any step, at whatever depth, wants the path.
fn has_path(steps: &[Step]) -> bool {
    let inside = |step: &Step| step.children().into_iter().any(|child| has_path(child.steps()));
    steps.iter().any(|step| matches!(step, Step::Path(_)) || inside(step))
}

/// Over a limit: the traversal can never succeed.
pub(super) fn too_large(message: String) -> Fault {
    Fault::Invalid(Error::new(ErrorKind::TooLarge, message))
}
