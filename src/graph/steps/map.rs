//! Steps that look at one traverser at a time: filters, values, ends of edges, projections, `where`, `coalesce`.

use super::{Stage, State, Traverser, each};
use crate::graph::element::Edge;
use crate::graph::error::{Fault, Outcome};
use crate::graph::run::Run;
use crate::graph::step::{By, EdgeEnd, Step};
use crate::graph::traversal::Traversal;
use crate::graph::value::{GraphValue, Many};
use crate::key::ItemKey;
use serde_json::Value;
use std::collections::BTreeSet;

impl Stage<'_> {
    pub(super) fn map(&mut self, mut batch: Vec<Traverser>, run: &mut Run<'_>) -> Outcome<Vec<Traverser>> {
        match self.step {
            Step::Has(..) | Step::HasLabel(_) | Step::HasId(_) | Step::Is(_) => {
                batch.retain(|traverser| passes(self.step, &traverser.value));
                Ok(batch)
            }
            Step::Where(inner) => holding(inner, self.at + 1, batch, run).map(|(holding, _)| holding),
            Step::Coalesce(branches) => coalesce(branches, self.at + 1, batch, run),
            Step::EdgeVertex(end) => self.edge_vertex(*end, batch, run),
            Step::Path(by) => path(by, self.at + 1, &batch, run),
            Step::Project(names, by) => project(names, by, self.at + 1, &batch, run),
            step => {
                let mut moved = Vec::with_capacity(batch.len());
                for traverser in &batch {
                    for value in values_of(step, &traverser.value)? {
                        moved.push(traverser.to(value, run)?);
                    }
                    super::bounded(moved.len())?;
                }
                Ok(moved)
            }
        }
    }

    fn edge_vertex(
        &mut self,
        end: EdgeEnd,
        batch: Vec<Traverser>,
        run: &mut Run<'_>,
    ) -> Outcome<Vec<Traverser>> {
        if !matches!(self.state, State::Known(_)) {
            self.state = State::Known(Default::default());
        }
        let State::Known(known) = &mut self.state else { return Ok(Vec::new()) };
        let mut ends: Vec<(&Traverser, &ItemKey)> = Vec::with_capacity(batch.len());
        for traverser in &batch {
            let Some(edge) = traverser.value.as_edge() else {
                let kind = traverser.value.kind();
                return Err(Fault::invalid(format!(
                    "only edges have ends, and this is {kind}: use outE() or inE()"
                )));
            };
            let (source, target) = (edge.source_key(), edge.target_key());
            match end {
                EdgeEnd::Out => ends.push((traverser, source)),
                EdgeEnd::In => ends.push((traverser, target)),
                EdgeEnd::Both => ends.extend([(traverser, source), (traverser, target)]),
                EdgeEnd::Other => ends.push((traverser, other_end(edge, traverser.via.as_ref())?)),
            }
        }
        run.neighbours(ends.iter().map(|(_, key)| *key), known)?;
        ends.into_iter()
            .filter_map(|(traverser, key)| Some((traverser, known.get(key)?.clone()?)))
            .map(|(traverser, vertex)| traverser.to(GraphValue::Vertex(vertex), run))
            .collect()
    }
}

fn other_end<'e>(edge: &'e Edge, via: Option<&ItemKey>) -> Outcome<&'e ItemKey> {
    match via {
        Some(via) if via == edge.source_key() => Ok(edge.target_key()),
        Some(_) => Ok(edge.source_key()),
        None => Err(Fault::invalid(
            "otherV() must know where the traverser came from: use it after outE(), inE(), bothE()",
        )),
    }
}

/// Whether an object passes a filter.
pub(super) fn passes(filter: &Step, value: &GraphValue) -> bool {
    match filter {
        Step::Has(key, predicate) => value.property_values(key).iter().any(|value| predicate.test(value)),
        Step::HasLabel(predicate) => value.label().is_some_and(|label| predicate.test(&label.into())),
        Step::HasId(predicate) => value.id().is_some_and(|id| predicate.test(&id.into())),
        Step::Is(predicate) => value.as_scalar().is_some_and(|value| predicate.test(value)),
        _ => true,
    }
}

/// Those for whom `inner` has a result, and those for whom it has none.
pub(super) fn holding(
    inner: &Traversal,
    at: usize,
    batch: Vec<Traverser>,
    run: &mut Run<'_>,
) -> Outcome<(Vec<Traverser>, Vec<Traverser>)> {
    let results = each(inner, at, &batch, true, run)?;
    let (mut holding, mut others) = (Vec::new(), Vec::new());
    for (traverser, results) in batch.into_iter().zip(results) {
        if results.is_empty() { others.push(traverser) } else { holding.push(traverser) }
    }
    Ok((holding, others))
}

fn coalesce(
    branches: &[Traversal],
    mut at: usize,
    batch: Vec<Traverser>,
    run: &mut Run<'_>,
) -> Outcome<Vec<Traverser>> {
    let mut results: Vec<Vec<Traverser>> = batch.iter().map(|_| Vec::new()).collect();
    for branch in branches {
        let empty: Vec<usize> = (0..batch.len()).filter(|&i| results[i].is_empty()).collect();
        if empty.is_empty() {
            break;
        }
        let inputs: Vec<Traverser> = empty.iter().map(|&i| batch[i].clone()).collect();
        for (i, found) in empty.into_iter().zip(each(branch, at, &inputs, false, run)?) {
            results[i] = found;
        }
        at += branch.total();
    }
    Ok(results.into_iter().flatten().collect())
}

/// What a step without questions to the storage makes of an object.
fn values_of(step: &Step, value: &GraphValue) -> Outcome<Vec<GraphValue>> {
    let named = |names: &[String], key: &str| names.is_empty() || names.iter().any(|name| name == key);
    let refused = || {
        Err(Fault::invalid(format!("{} has no properties: {}() wants elements", value.kind(), step.name())))
    };
    Ok(match (step, value) {
        (Step::Values(names), GraphValue::Vertex(vertex)) if !names.0.is_empty() => {
            let values = names.0.iter().flat_map(|name| vertex.values(name));
            values.cloned().map(GraphValue::Scalar).collect()
        }
        (Step::Values(names), GraphValue::Vertex(vertex)) => {
            let properties = vertex.properties().into_iter().filter(|p| named(&names.0, &p.key));
            properties.map(|property| GraphValue::Scalar(property.value)).collect()
        }
        (Step::Values(names), GraphValue::Edge(edge)) => {
            let properties = edge.properties().into_iter().filter(|p| named(&names.0, &p.key));
            properties.map(|property| GraphValue::Scalar(property.value)).collect()
        }
        (Step::Values(names), GraphValue::VertexProperty(property)) => {
            let meta = property.meta.iter().filter(|(key, _)| named(&names.0, key));
            meta.map(|(_, value)| GraphValue::Scalar(value.clone())).collect()
        }
        (Step::Values(_), GraphValue::Property(_)) => {
            // The service's text.
            return Err(Fault::invalid(
                "All Values: Cross Apply: The input of values() cannot be a meta or edge property.",
            ));
        }
        (Step::Properties(names), GraphValue::Vertex(vertex)) => {
            let properties = vertex.properties().into_iter().filter(|p| named(&names.0, &p.key));
            properties.map(|property| GraphValue::VertexProperty(Box::new(property))).collect()
        }
        (Step::Properties(names), GraphValue::Edge(edge)) => {
            let properties = edge.properties().into_iter().filter(|p| named(&names.0, &p.key));
            properties.map(|property| GraphValue::Property(Box::new(property))).collect()
        }
        (Step::Properties(names), GraphValue::VertexProperty(property)) => {
            let properties = property.properties().into_iter().filter(|p| named(&names.0, &p.key));
            properties.map(|property| GraphValue::Property(Box::new(property))).collect()
        }
        (Step::Values(_) | Step::Properties(_), _) => return refused(),
        (Step::Id, value) => scalar(value.id()),
        (Step::Label, value) => scalar(value.label()),
        (Step::Unfold, GraphValue::List(values) | GraphValue::Path(values)) => values.to_vec(),
        // Each entry is a map of its own.
        (Step::Unfold, GraphValue::Map(keys, values)) => {
            let entries = keys.iter().cloned().zip(values.iter().cloned());
            entries.map(|entry| GraphValue::map(vec![entry])).collect::<Outcome<_>>()?
        }
        (Step::Unfold, value) => vec![value.clone()],
        (_, value) => vec![value.clone()],
    })
}

fn scalar(text: Option<&str>) -> Vec<GraphValue> {
    text.map(|text| GraphValue::Scalar(Value::from(text))).into_iter().collect()
}

/// What `by` takes of each object.
pub(super) fn take(
    by: &By,
    at: usize,
    batch: &[Traverser],
    run: &mut Run<'_>,
) -> Outcome<Vec<Option<GraphValue>>> {
    let each_value = |of: &dyn Fn(&GraphValue) -> Option<GraphValue>| {
        Ok(batch.iter().map(|traverser| of(&traverser.value)).collect())
    };
    match by {
        By::Identity => each_value(&|value| Some(value.clone())),
        // No element has a property of these names, and what it is has a token: `by(id)`, `by(label)`.
        By::Key(key) if matches!(key.as_str(), "id" | "label") => each_value(&|_| None),
        By::Key(key) => {
            each_value(&|value| value.property_values(key).into_iter().next().map(GraphValue::Scalar))
        }
        By::Id => each_value(&|value| scalar(value.id()).pop()),
        By::Label => each_value(&|value| scalar(value.label()).pop()),
        By::Traversal(inner) => {
            let results = each(inner, at, batch, true, run)?;
            Ok(results.into_iter().map(|found| found.into_iter().next().map(|t| t.value)).collect())
        }
    }
}

/// The numbers of the sub-traversals of several modulators: each with the number of its first step.
pub(super) fn numbered<'b>(by: impl Iterator<Item = &'b By>, mut at: usize) -> Vec<(&'b By, usize)> {
    by.map(|by| {
        let own = at;
        if let By::Traversal(inner) = by {
            at += inner.total();
        }
        (by, own)
    })
    .collect()
}

/// The service's text for a `by()` that finds nothing (recorded for `project`).
pub(super) fn maps_to_nothing(operator: &str, by: &By) -> Fault {
    let key = match by {
        By::Key(key) => format!("The provided traverser of key \"{key}\""),
        _ => "The provided traverser".to_owned(),
    };
    Fault::invalid(format!("{operator} By: Next: {key} maps to nothing."))
}

fn project(
    names: &[String],
    by: &[By],
    at: usize,
    batch: &[Traverser],
    run: &mut Run<'_>,
) -> Outcome<Vec<Traverser>> {
    if names.is_empty() {
        return Err(Fault::invalid("project() needs at least one name"));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(Fault::invalid(format!(
            "project() makes one entry of each name, and '{twice}' is there twice"
        )));
    }
    let modulators = numbered(by.iter(), at);
    let mut rows: Vec<Vec<(String, GraphValue)>> = batch.iter().map(|_| Vec::new()).collect();
    for (i, name) in names.iter().enumerate() {
        let (by, at) =
            if modulators.is_empty() { (&By::Identity, at) } else { modulators[i % modulators.len()] };
        for (row, value) in rows.iter_mut().zip(take(by, at, batch, run)?) {
            row.push((name.clone(), value.ok_or_else(|| maps_to_nothing("Project", by))?));
        }
        run.work(batch.len())?;
    }
    batch.iter().zip(rows).map(|(traverser, row)| traverser.to(GraphValue::map(row)?, run)).collect()
}

fn path(by: &[By], at: usize, batch: &[Traverser], run: &mut Run<'_>) -> Outcome<Vec<Traverser>> {
    let modulators = numbered(by.iter(), at);
    let mut paths = Vec::with_capacity(batch.len());
    for traverser in batch {
        let mut objects = traverser.objects();
        run.work(objects.len())?;
        if !modulators.is_empty() {
            for (i, object) in objects.iter_mut().enumerate() {
                let (by, at) = modulators[i % modulators.len()];
                let here = Traverser { value: object.clone(), path: None, via: None, origin: 0 };
                let taken = take(by, at, &[here], run)?.pop().flatten();
                *object = taken.ok_or_else(|| maps_to_nothing("Path", by))?;
            }
        }
        paths.push(traverser.to(GraphValue::Path(Many::new(objects)?), run)?);
    }
    Ok(paths)
}
