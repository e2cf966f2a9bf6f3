//! The builder of traversals. It collects [`Step`]s, checks their number and nesting, and carries nothing out itself.
//!
//! Two kinds share all steps: one that [`Graph::traversal`](super::Graph::traversal) began and that can be executed,
//! and anonymous ones ([`__`]) that stand inside others. Where Gremlin's word is one of Rust's it has an underscore.
//! A step that does not fit is remembered and told by `execute`, so that a chain needs no `?` in its middle.

use super::graph::Graph;
use super::run::{Answer, Run};
use super::step::{By, Cardinality, Direction, EdgeEnd, Names, NewProperty, Repeat, Sort, Step};
use super::{GraphError, NESTING_MAX, P, STEPS_MAX, Selection};
use crate::clock::Instant;
use crate::error::{Error, ErrorKind};
use crate::key::KeyValue;
use serde_json::Value;

/// Steps, one after the other. `S` is where it begins: `()` for anonymous traversals.
///
/// - Sub-traversals nest at most [`NESTING_MAX`] deep, and all together have at most [`STEPS_MAX`] steps: what would be
///   too much is not kept, so a traversal can always be dropped, copied and run within a small stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Traversal<S = ()> {
    source: S,
    steps: Vec<Step>,
    /// Steps, those of sub-traversals included.
    total: usize,
    /// How deep sub-traversals nest.
    depth: usize,
    global: bool,
    writes: bool,
    fault: Option<Error>,
}

/// The beginning of a traversal that can be executed.
#[derive(Clone, Debug)]
pub struct Source<'g> {
    pub(super) graph: &'g Graph,
    pub(super) strict: bool,
    pub(super) read_partitions: Option<Vec<KeyValue>>,
}

/// An anonymous traversal, as in `repeat(__.out())`.
pub fn __() -> Traversal {
    Traversal::anonymous()
}

impl Traversal {
    /// A traversal to stand inside another.
    pub fn anonymous() -> Self {
        Self::from_source(())
    }
}

impl<'g> Traversal<Source<'g>> {
    /// Whether steps that must ask every physical partition are refused instead.
    pub fn strict_fanout(mut self, strict: bool) -> Self {
        self.source.strict = strict;
        self
    }

    /// Confines the whole traversal to these values of the partition key, edges and neighbours included: the
    /// `readPartitions` of a `PartitionStrategy`. No step then fans out.
    pub fn read_partitions(mut self, keys: impl IntoIterator<Item = impl Into<KeyValue>>) -> Self {
        self.source.read_partitions = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Carries the traversal out.
    ///
    /// # Errors
    /// [`GraphError`]; what was written before it stays written, and the error says what.
    pub fn execute(&self, now: Instant) -> Result<Answer, GraphError> {
        Run::new(&self.source, now).execute(&self.steps, self.fault.as_ref())
    }
}

impl<S> Traversal<S> {
    pub(super) fn from_source(source: S) -> Self {
        Self { source, steps: Vec::new(), total: 0, depth: 0, global: false, writes: false, fault: None }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Steps, those of sub-traversals included.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Whether its results depend on all its inputs together, not on each by itself.
    pub(super) fn is_global(&self) -> bool {
        self.global
    }

    /// Whether any of its steps writes.
    pub(super) fn writes(&self) -> bool {
        self.writes
    }

    /// Adds a step: what all methods below do, and what a parser calls.
    pub fn push(mut self, step: Step) -> Self {
        let children = step.children();
        let fits = self.admit(1, &children);
        drop(children);
        if fits {
            self.global |= step.is_global();
            self.writes |= step.writes();
            self.steps.push(step);
        }
        self
    }

    /// Counts `own` more steps and these sub-traversals in; false, with the reason kept, when that is too much.
    fn admit(&mut self, own: usize, children: &[&Traversal]) -> bool {
        let total = self.total + own + children.iter().map(|child| child.total).sum::<usize>();
        let depth = children.iter().map(|child| child.depth + 1).max().unwrap_or(0).max(self.depth);
        let inner = children.iter().find_map(|child| child.fault.clone());
        let over = if total > STEPS_MAX {
            Some(format!(
                "a traversal has at most {STEPS_MAX} steps, the limit of the service: split it in two"
            ))
        } else if depth > NESTING_MAX {
            Some(format!("traversals nest at most {NESTING_MAX} deep: split it in two"))
        } else {
            None
        };
        let over = over.map(|message| Error::new(ErrorKind::TooLarge, message));
        self.fault = self.fault.take().or(inner).or(over);
        if self.fault.is_none() {
            (self.total, self.depth) = (total, depth);
        }
        self.fault.is_none()
    }

    /// Changes the last step by a modulator that was admitted if it `fits`; `edit` says whether the step takes it.
    fn amend(mut self, fits: bool, complaint: &str, edit: impl FnOnce(&mut Step) -> bool) -> Self {
        if fits && !self.steps.last_mut().is_some_and(edit) {
            self.fault = Some(Error::invalid(complaint));
        }
        self.global |= self.steps.last().is_some_and(Step::is_global);
        self.writes |= self.steps.last().is_some_and(Step::writes);
        self
    }

    /// All vertices, those with an id, or those with a (partition key, id): see [`Selection`].
    pub fn v(self, selection: impl Into<Selection>) -> Self {
        self.push(Step::V(selection.into()))
    }

    /// Edges, selected like vertices.
    pub fn e(self, selection: impl Into<Selection>) -> Self {
        self.push(Step::E(selection.into()))
    }

    /// The targets of outgoing edges with one of these labels; `()` for any.
    pub fn out(self, labels: impl Into<Names>) -> Self {
        self.push(Step::Adjacent(Direction::Out, labels.into()))
    }

    /// The sources of incoming edges.
    pub fn in_(self, labels: impl Into<Names>) -> Self {
        self.push(Step::Adjacent(Direction::In, labels.into()))
    }

    /// The other ends of edges either way.
    pub fn both(self, labels: impl Into<Names>) -> Self {
        self.push(Step::Adjacent(Direction::Both, labels.into()))
    }

    /// Outgoing edges.
    pub fn out_e(self, labels: impl Into<Names>) -> Self {
        self.push(Step::Incident(Direction::Out, labels.into()))
    }

    /// Incoming edges.
    pub fn in_e(self, labels: impl Into<Names>) -> Self {
        self.push(Step::Incident(Direction::In, labels.into()))
    }

    /// Edges either way.
    pub fn both_e(self, labels: impl Into<Names>) -> Self {
        self.push(Step::Incident(Direction::Both, labels.into()))
    }

    /// The source of an edge.
    pub fn out_v(self) -> Self {
        self.push(Step::EdgeVertex(EdgeEnd::Out))
    }

    /// The target of an edge.
    pub fn in_v(self) -> Self {
        self.push(Step::EdgeVertex(EdgeEnd::In))
    }

    /// Source and target of an edge.
    pub fn both_v(self) -> Self {
        self.push(Step::EdgeVertex(EdgeEnd::Both))
    }

    /// The end of an edge that the traverser did not come from.
    pub fn other_v(self) -> Self {
        self.push(Step::EdgeVertex(EdgeEnd::Other))
    }

    /// Elements with a property that passes; [`P::Any`] for those that have it at all.
    pub fn has(self, key: impl Into<String>, predicate: impl Into<P>) -> Self {
        self.push(Step::Has(key.into(), predicate.into()))
    }

    /// Elements with one of these labels.
    pub fn has_label(self, labels: impl Into<Names>) -> Self {
        self.push(Step::HasLabel(P::within(labels.into().0)))
    }

    /// Elements with one of these ids.
    pub fn has_id(self, ids: impl Into<Names>) -> Self {
        self.push(Step::HasId(P::within(ids.into().0)))
    }

    /// Values that pass.
    pub fn is(self, predicate: impl Into<P>) -> Self {
        self.push(Step::Is(predicate.into()))
    }

    /// Objects for which `inner` has a result.
    pub fn where_(self, inner: Traversal) -> Self {
        self.push(Step::Where(inner))
    }

    /// The same as [`where_`](Self::where_).
    pub fn filter(self, inner: Traversal) -> Self {
        self.where_(inner)
    }

    /// Values of these properties; `()` for all.
    pub fn values(self, keys: impl Into<Names>) -> Self {
        self.push(Step::Values(keys.into()))
    }

    /// These properties; `()` for all.
    pub fn properties(self, keys: impl Into<Names>) -> Self {
        self.push(Step::Properties(keys.into()))
    }

    /// The id.
    pub fn id(self) -> Self {
        self.push(Step::Id)
    }

    /// The label.
    pub fn label(self) -> Self {
        self.push(Step::Label)
    }

    /// Each object once. Takes [`by`](Self::by).
    pub fn dedup(self) -> Self {
        self.push(Step::Dedup(Vec::new()))
    }

    /// In order. Takes [`by`](Self::by) and [`by_order`](Self::by_order).
    pub fn order(self) -> Self {
        self.push(Step::Order(Vec::new()))
    }

    /// The first `n`.
    pub fn limit(self, n: u64) -> Self {
        self.push(Step::Range(0, Some(n)))
    }

    /// From number `low` (counted from zero) up to, not including, `high`.
    pub fn range(self, low: u64, high: impl Into<Option<u64>>) -> Self {
        self.push(Step::Range(low, high.into()))
    }

    /// How many.
    pub fn count(self) -> Self {
        self.push(Step::Count)
    }

    /// All in one list.
    pub fn fold(self) -> Self {
        self.push(Step::Fold)
    }

    /// The members of a list, or the entries of a map, one by one.
    pub fn unfold(self) -> Self {
        self.push(Step::Unfold)
    }

    /// The objects met on the way. Takes [`by`](Self::by).
    pub fn path(self) -> Self {
        self.push(Step::Path(Vec::new()))
    }

    /// A map with these names, each filled by a [`by`](Self::by) in turn.
    pub fn project(self, names: impl Into<Names>) -> Self {
        self.push(Step::Project(names.into().0, Vec::new()))
    }

    /// A map from keys to groups. Takes up to two [`by`](Self::by): the key, and what to make of each group.
    pub fn group(self) -> Self {
        self.push(Step::Group(Vec::new()))
    }

    /// The results of each branch.
    pub fn union(self, branches: impl IntoIterator<Item = Traversal>) -> Self {
        self.push(Step::Union(branches.into_iter().collect()))
    }

    /// The results of the first branch that has any.
    pub fn coalesce(self, branches: impl IntoIterator<Item = Traversal>) -> Self {
        self.push(Step::Coalesce(branches.into_iter().collect()))
    }

    /// Modulates the step before: what it takes of each object.
    pub fn by(self, by: impl Into<By>) -> Self {
        self.by_order(by, Sort::Ascending)
    }

    /// Modulates `order()`: by what, and in which direction.
    pub fn by_order(mut self, by: impl Into<By>, sort: Sort) -> Self {
        let by = by.into();
        let fits = match &by {
            By::Traversal(inner) => self.admit(0, &[inner]),
            _ => self.fault.is_none(),
        };
        // The service's text for a `by()` after a step that takes none.
        self.amend(fits, "Gremlin op does not support by(traversal)", |step| {
            match step {
                Step::Order(list) => list.push((by, sort)),
                Step::Dedup(list) if list.is_empty() => list.push(by),
                Step::Group(list) if list.len() < 2 => list.push(by),
                Step::Path(list) | Step::Project(_, list) => list.push(by),
                _ => return false,
            }
            true
        })
    }

    /// Goes round and round. Takes [`until`](Self::until), [`times`](Self::times), [`emit`](Self::emit), before or
    /// after; at most 32 times.
    pub fn repeat(self, body: Traversal) -> Self {
        match self.steps.last() {
            Some(Step::Repeat(repeat)) if repeat.body.is_none() => {
                self.modulate(Some(body), |repeat, body, _| repeat.body = body)
            }
            _ => self.push(Step::Repeat(Box::new(Repeat { body: Some(body), ..Repeat::default() }))),
        }
    }

    /// Who leaves the loop: those for whom `inner` has a result.
    pub fn until(self, inner: Traversal) -> Self {
        self.modulate(Some(inner), |repeat, inner, first| {
            (repeat.until, repeat.until_first) = (inner, first);
        })
    }

    /// Everybody leaves after so many rounds.
    pub fn times(self, rounds: u32) -> Self {
        self.modulate(None, |repeat, _, first| (repeat.times, repeat.times_first) = (Some(rounds), first))
    }

    /// Passes everybody on at each round as well.
    pub fn emit(self) -> Self {
        self.modulate(None, |repeat, _, first| (repeat.emit, repeat.emit_first) = (Some(None), first))
    }

    /// Passes those on at each round for whom `inner` has a result.
    pub fn emit_if(self, inner: Traversal) -> Self {
        self.modulate(Some(inner), |repeat, inner, first| {
            (repeat.emit, repeat.emit_first) = (Some(inner), first);
        })
    }

    /// Changes the loop that is the last step, or one that has yet to get its body. `edit` also learns whether it comes
    /// before the body.
    fn modulate(
        mut self,
        inner: Option<Traversal>,
        edit: impl FnOnce(&mut Repeat, Option<Traversal>, bool),
    ) -> Self {
        if !matches!(self.steps.last(), Some(Step::Repeat(_))) {
            self = self.push(Step::Repeat(Box::default()));
        }
        let children: Vec<_> = inner.iter().collect();
        let fits = self.admit(0, &children);
        self.amend(fits, "until(), times() and emit() belong to a repeat()", |step| match step {
            Step::Repeat(repeat) => {
                let first = repeat.body.is_none();
                edit(repeat, inner, first);
                true
            }
            _ => false,
        })
    }

    /// Adds a vertex. The [`property`](Self::property) steps that follow belong to it.
    pub fn add_v(self, label: impl Into<String>) -> Self {
        self.push(Step::AddV(label.into(), Vec::new()))
    }

    /// Adds an edge [`from`](Self::from) the current vertex or another [`to`](Self::to) one.
    pub fn add_e(self, label: impl Into<String>) -> Self {
        self.push(Step::AddE { label: label.into(), from: None, to: None, properties: Vec::new() })
    }

    /// The source of the edge.
    pub fn from(self, vertex: Traversal) -> Self {
        self.edge_end(vertex, |from, _| from)
    }

    /// The target of the edge.
    pub fn to(self, vertex: Traversal) -> Self {
        self.edge_end(vertex, |_, to| to)
    }

    fn edge_end(
        mut self,
        vertex: Traversal,
        end: impl for<'s> FnOnce(
            &'s mut Option<Traversal>,
            &'s mut Option<Traversal>,
        ) -> &'s mut Option<Traversal>,
    ) -> Self {
        let fits = self.admit(0, &[&vertex]);
        self.amend(fits, "from() and to() follow addE(), once each", |step| match step {
            Step::AddE { from, to, .. } => end(from, to).replace(vertex).is_none(),
            _ => false,
        })
    }

    /// Writes a property of a new or an existing element. Another value of it is replaced.
    pub fn property(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.property_with(Cardinality::Single, key, value, [])
    }

    /// Writes a vertex property with this cardinality and these meta-properties.
    pub fn property_with<'m>(
        mut self,
        cardinality: Cardinality,
        key: impl Into<String>,
        value: impl Into<Value>,
        meta: impl IntoIterator<Item = (&'m str, Value)>,
    ) -> Self {
        let meta = meta.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let property = NewProperty { cardinality, key: key.into(), value: value.into(), meta };
        match self.steps.last_mut() {
            Some(Step::AddV(_, properties) | Step::AddE { properties, .. }) if self.fault.is_none() => {
                properties.push(property);
                self
            }
            _ => self.push(Step::Property(property)),
        }
    }

    /// Removes elements, or properties of elements. A vertex goes with its edges, in whatever partition they lie.
    pub fn drop(self) -> Self {
        self.push(Step::Drop)
    }
}
