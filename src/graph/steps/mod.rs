//! The steps at work: a pipeline that is pulled from its end.
//!
//! ```text
//!   V ◄── out ◄── has ◄── limit(10) ◄── pull(want)       each arrow: a batch of traversers, a page at the most
//! ```
//!
//! A step pulls batches from the one before until it has something to pass on. So `limit` stops everything upstream as
//! soon as it has enough, and what upstream reads ahead is at most a page. Steps that need all of their input (`order`,
//! `group`, `count`, `fold`, and all that write or have a step inside that does) drain it first. Breadth first: a batch goes through a step as a whole,
//! and what several of its traversers need is read once.
//!
//! - `want` is a hint: a batch may be larger, smaller or empty. `None` means that there is nothing more.
//! - What waits at a step is at most [`FRONTIER_MAX`].

mod edges;
mod map;
mod reduce;
mod repeat;
mod source;
mod write;

use super::error::{Fault, Outcome};
use super::run::{Cursor, Known, Run, too_large};
use super::step::{By, Step};
use super::traversal::Traversal;
use super::value::GraphValue;
use super::{FRONTIER_MAX, PAGE_ITEMS, PATH_MAX};
use crate::key::ItemKey;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// What moves along the steps.
#[derive(Clone, Debug)]
pub(super) struct Traverser {
    pub(super) value: GraphValue,
    /// The objects met, newest first, where a step wants them.
    path: Option<Arc<PathNode>>,
    /// The vertex from which it came to the edge it is at.
    via: Option<ItemKey>,
    /// Which input of the innermost sub-traversal it descends from.
    origin: usize,
}

#[derive(Debug)]
struct PathNode {
    value: GraphValue,
    before: Option<Arc<PathNode>>,
    len: usize,
}

impl Traverser {
    /// The one at the beginning, which is nowhere.
    pub(super) fn start() -> Self {
        Self { value: GraphValue::Scalar(serde_json::Value::Null), path: None, via: None, origin: 0 }
    }

    /// Moves on to `value`.
    fn to(&self, value: GraphValue, run: &Run<'_>) -> Outcome<Self> {
        let path = if run.keeps_paths {
            let len = self.path.as_ref().map_or(1, |path| path.len + 1);
            if len > PATH_MAX {
                return Err(too_large(format!("a path has at most {PATH_MAX} objects here")));
            }
            Some(Arc::new(PathNode { value: value.clone(), before: self.path.clone(), len }))
        } else {
            None
        };
        Ok(Self { value, path, via: None, origin: self.origin })
    }

    /// Stays where it is, and what is there has changed.
    fn amended(&self, value: GraphValue) -> Self {
        let path = self.path.as_ref().map(|node| {
            Arc::new(PathNode { value: value.clone(), before: node.before.clone(), len: node.len })
        });
        Self { value, path, via: self.via.clone(), origin: self.origin }
    }

    /// The objects met, oldest first.
    fn objects(&self) -> Vec<GraphValue> {
        let mut objects: Vec<GraphValue> =
            std::iter::successors(self.path.as_deref(), |node| node.before.as_deref())
                .map(|node| node.value.clone())
                .collect();
        objects.reverse();
        objects
    }
}

/// Steps, and what each of them is in the middle of.
pub(super) struct Pipeline<'t> {
    input: Vec<Traverser>,
    stages: Vec<Stage<'t>>,
}

struct Stage<'t> {
    step: &'t Step,
    /// The step's number in the whole traversal.
    at: usize,
    /// The filters behind a `V()` or `E()` that its index answers.
    filters: Vec<&'t Step>,
    state: State<'t>,
}

enum State<'t> {
    Fresh,
    Done,
    Source {
        inputs: Vec<Traverser>,
        cursor: Cursor,
        ids: Option<BTreeSet<String>>,
    },
    Edges(Box<edges::Edges>),
    Known(Known),
    Seen(HashSet<String>),
    Passed(u64),
    Repeat(Box<repeat::Loop<'t>>),
    /// `at` is the branch being pulled; none before there is input.
    Union {
        inputs: Vec<Traverser>,
        branches: Vec<Pipeline<'t>>,
        at: Option<usize>,
    },
}

/// The steps before one, and what goes into the first.
struct Upstream<'u, 't> {
    stages: &'u mut [Stage<'t>],
    input: &'u mut Vec<Traverser>,
}

impl<'t> Pipeline<'t> {
    /// A pipeline of `steps`, the first of which is number `at` of the whole traversal.
    pub(super) fn new(steps: &'t [Step], mut at: usize) -> Self {
        let mut stages: Vec<Stage<'t>> = Vec::with_capacity(steps.len());
        for step in steps {
            let is_filter = matches!(step, Step::Has(..) | Step::HasLabel(_) | Step::HasId(_));
            match stages.as_mut_slice() {
                // Only the first `V()` uses the index for its filters (Cosmos DB Gremlin, "Support").
                [first] if is_filter && matches!(first.step, Step::V(_) | Step::E(_)) => {
                    first.filters.push(step);
                }
                _ => stages.push(Stage { step, at, filters: Vec::new(), state: State::Fresh }),
            }
            at += 1 + step.children().into_iter().map(Traversal::total).sum::<usize>();
        }
        Self { input: Vec::new(), stages }
    }

    fn of(traversal: &'t Traversal, at: usize) -> Self {
        Self::new(traversal.steps(), at)
    }

    /// Begins anew with other input.
    pub(super) fn restart(&mut self, input: Vec<Traverser>) {
        self.input = input;
        self.stages.iter_mut().for_each(|stage| stage.state = State::Fresh);
    }

    /// Goes on with more input: what `dedup` has seen it remembers, as it does in a loop, also in a branch or a loop inside.
    fn resume(&mut self, input: Vec<Traverser>) {
        self.input = input;
        for stage in &mut self.stages {
            match &mut stage.state {
                State::Seen(_) => {}
                State::Union { at, .. } => *at = None,
                State::Repeat(looping) => looping.stop(),
                state => *state = State::Fresh,
            }
        }
    }

    fn pull(&mut self, run: &mut Run<'_>, want: usize) -> Outcome<Option<Vec<Traverser>>> {
        Upstream { stages: &mut self.stages, input: &mut self.input }.pull(run, want)
    }

    pub(super) fn drain(&mut self, run: &mut Run<'_>) -> Outcome<Vec<Traverser>> {
        Upstream { stages: &mut self.stages, input: &mut self.input }.drain(run)
    }
}

impl<'t> Upstream<'_, 't> {
    fn pull(&mut self, run: &mut Run<'_>, want: usize) -> Outcome<Option<Vec<Traverser>>> {
        let Some((stage, before)) = self.stages.split_last_mut() else {
            return Ok((!self.input.is_empty()).then(|| std::mem::take(self.input)));
        };
        let batch = stage.next(&mut Upstream { stages: before, input: self.input }, run, want)?;
        if let Some(batch) = &batch {
            run.work(batch.len())?;
            bounded(batch.len())?;
        }
        Ok(batch)
    }

    /// What `step` works on next: a batch, or all there is when something inside it writes. Else the traversal would
    /// meet what it has just written as it reads on.
    fn pull_for(&mut self, step: &Step, run: &mut Run<'_>, want: usize) -> Outcome<Option<Vec<Traverser>>> {
        if !step.writes() {
            return self.pull(run, want);
        }
        let all = self.drain(run)?;
        Ok((!all.is_empty()).then_some(all))
    }

    fn drain(&mut self, run: &mut Run<'_>) -> Outcome<Vec<Traverser>> {
        let mut all = Vec::new();
        while let Some(batch) = self.pull(run, PAGE_ITEMS)? {
            all.extend(batch);
            bounded(all.len())?;
        }
        Ok(all)
    }
}

fn bounded(traversers: usize) -> Outcome<()> {
    if traversers > FRONTIER_MAX {
        return Err(too_large(format!(
            "more than {FRONTIER_MAX} traversers wait at this step: narrow the traversal, or take it in parts by range()"
        )));
    }
    Ok(())
}

impl<'t> Stage<'t> {
    fn next(
        &mut self,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
        want: usize,
    ) -> Outcome<Option<Vec<Traverser>>> {
        match self.step {
            Step::V(selection) | Step::E(selection) => self.source(selection, up, run, want),
            Step::Adjacent(direction, labels) => self.edges(*direction, labels, true, up, run, want),
            Step::Incident(direction, labels) => self.edges(*direction, labels, false, up, run, want),
            Step::Range(low, high) => self.range(*low, *high, up, run, want),
            Step::Dedup(by) => self.dedup(by.first(), up, run),
            Step::Repeat(repeat) => self.repeat(repeat, up, run),
            Step::Union(branches) => self.union(branches, up, run, want),
            Step::Order(_) | Step::Count | Step::Fold | Step::Group(_) => {
                self.barrier(up, run, reduce::apply)
            }
            Step::AddV(..) | Step::AddE { .. } | Step::Property(_) | Step::Drop => {
                self.barrier(up, run, write::apply)
            }
            _ => {
                let keeps_all = !matches!(
                    self.step,
                    Step::Has(..) | Step::HasLabel(_) | Step::HasId(_) | Step::Is(_) | Step::Where(_)
                );
                let Some(batch) = up.pull_for(self.step, run, if keeps_all { want } else { PAGE_ITEMS })?
                else {
                    return Ok(None);
                };
                run.enter(self.step, self.at);
                self.map(batch, run).map(Some)
            }
        }
    }

    /// Works on all input at once, and once only.
    fn barrier(
        &mut self,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
        apply: impl FnOnce(&'t Step, usize, Vec<Traverser>, &mut Run<'_>) -> Outcome<Vec<Traverser>>,
    ) -> Outcome<Option<Vec<Traverser>>> {
        if matches!(self.state, State::Done) {
            return Ok(None);
        }
        let input = up.drain(run)?;
        run.enter(self.step, self.at);
        self.state = State::Done;
        apply(self.step, self.at, input, run).map(Some)
    }

    fn range(
        &mut self,
        low: u64,
        high: Option<u64>,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
        want: usize,
    ) -> Outcome<Option<Vec<Traverser>>> {
        let passed = match self.state {
            State::Passed(passed) => passed,
            _ => 0,
        };
        if high.is_some_and(|high| high < low) {
            run.enter(self.step, self.at);
            return Err(Fault::invalid("range(low, high) is turned around: low comes first"));
        }
        let left = high.map_or(u64::MAX, |high| high.saturating_sub(passed));
        if left == 0 || high == Some(low) {
            return Ok(None);
        }
        let skipped = usize::try_from(low.saturating_sub(passed)).unwrap_or(usize::MAX);
        let ask = want.saturating_add(skipped).min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(mut batch) = up.pull(run, ask)? else { return Ok(None) };
        batch.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        self.state = State::Passed(passed.saturating_add(batch.len() as u64));
        batch.drain(..skipped.min(batch.len()));
        Ok(Some(batch))
    }

    fn dedup(
        &mut self,
        by: Option<&'t By>,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
    ) -> Outcome<Option<Vec<Traverser>>> {
        let Some(batch) = up.pull_for(self.step, run, PAGE_ITEMS)? else { return Ok(None) };
        run.enter(self.step, self.at);
        let identities = match by {
            None => batch.iter().map(|traverser| traverser.value.identity()).collect(),
            Some(by) => {
                let taken = map::take(by, self.at + 1, &batch, run)?;
                let missing = "Deduplicate: Next: The provided traversal or property name of Dedup does not map to a value.";
                taken
                    .into_iter()
                    .map(|value| value.map(|value| value.identity()).ok_or_else(|| Fault::invalid(missing)))
                    .collect::<Outcome<Vec<_>>>()?
            }
        };
        if !matches!(self.state, State::Seen(_)) {
            self.state = State::Seen(HashSet::new());
        }
        let State::Seen(seen) = &mut self.state else { return Ok(None) };
        bounded(seen.len())?;
        let fresh = batch
            .into_iter()
            .zip(identities)
            .filter_map(|(traverser, identity)| seen.insert(identity).then_some(traverser));
        Ok(Some(fresh.collect()))
    }

    /// Each branch gets all input, and is pulled only when those before it are dry.
    fn union(
        &mut self,
        branches: &'t [Traversal],
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
        want: usize,
    ) -> Outcome<Option<Vec<Traverser>>> {
        if !matches!(self.state, State::Union { .. }) {
            let mut at = self.at + 1;
            let mut pipelines = Vec::with_capacity(branches.len());
            for branch in branches {
                pipelines.push(Pipeline::of(branch, at));
                at += branch.total();
            }
            self.state = State::Union { inputs: Vec::new(), branches: pipelines, at: None };
        }
        let State::Union { inputs, branches, at } = &mut self.state else { return Ok(None) };
        let mut fresh = at.is_none();
        if fresh {
            *inputs = up.drain(run)?;
        }
        let mut i = at.unwrap_or(0);
        while let Some(branch) = branches.get_mut(i) {
            if fresh {
                branch.resume(inputs.clone());
            }
            *at = Some(i);
            if let Some(batch) = branch.pull(run, want)? {
                return Ok(Some(batch));
            }
            (i, fresh) = (i + 1, true);
        }
        *at = Some(i);
        Ok(None)
    }
}

/// The results of a sub-traversal for each input by itself; with `first`, possibly no more than one of each.
///
/// Where nothing in it looks at more than one traverser, all go through together, each marked with where it came from:
/// so a thousand inputs of `where(out())` do not become a thousand queries.
fn each(
    body: &Traversal,
    at: usize,
    inputs: &[Traverser],
    first: bool,
    run: &mut Run<'_>,
) -> Outcome<Vec<Vec<Traverser>>> {
    let mut results: Vec<Vec<Traverser>> = inputs.iter().map(|_| Vec::new()).collect();
    let mut pipeline = Pipeline::of(body, at);
    let outer = run.working();
    if body.is_global() {
        for (input, results) in inputs.iter().zip(&mut results) {
            pipeline.restart(vec![input.clone()]);
            while (results.is_empty() || !first)
                && let Some(batch) = pipeline.pull(run, if first { 1 } else { PAGE_ITEMS })?
            {
                results.extend(batch);
                bounded(results.len())?;
            }
        }
    } else {
        let marked = inputs.iter().enumerate().map(|(origin, input)| Traverser { origin, ..input.clone() });
        pipeline.restart(marked.collect());
        let (mut missing, mut total) = (inputs.len(), 0);
        let mut want = if first { inputs.len() } else { PAGE_ITEMS };
        while !(first && missing == 0)
            && let Some(batch) = pipeline.pull(run, want)?
        {
            total += batch.len();
            bounded(total)?;
            // One input with many results must not make those behind it wait for many small pages.
            want = want.saturating_mul(2).min(PAGE_ITEMS);
            for traverser in batch {
                if let Some(results) = results.get_mut(traverser.origin) {
                    missing -= usize::from(results.is_empty());
                    results.push(traverser);
                }
            }
        }
    }
    for (input, results) in inputs.iter().zip(&mut results) {
        results.iter_mut().for_each(|traverser| traverser.origin = input.origin);
    }
    run.back_to(outer);
    Ok(results)
}
