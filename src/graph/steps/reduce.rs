//! Steps that need all of their input: `order`, `group`, `count`, `fold`.

use super::map::{maps_to_nothing, numbered, take};
use super::{Pipeline, Traverser};
use crate::graph::error::Outcome;
use crate::graph::run::Run;
use crate::graph::step::{By, Sort, Step};
use crate::graph::value::{GraphValue, Many};
use std::cmp::Ordering;
use std::collections::BTreeMap;

pub(super) fn apply(
    step: &Step,
    at: usize,
    input: Vec<Traverser>,
    run: &mut Run<'_>,
) -> Outcome<Vec<Traverser>> {
    let value = match step {
        Step::Order(by) => return order(by, at + 1, input, run),
        Step::Count => GraphValue::Scalar((input.len() as u64).into()),
        Step::Group(by) => group(by, at + 1, &input, run)?,
        _ => GraphValue::List(Many::new(input.iter().map(|traverser| traverser.value.clone()).collect())?),
    };
    // What many made together has a path of its own.
    let origin = input.first().map_or(0, |traverser| traverser.origin);
    Ok(vec![Traverser { origin, ..Traverser::start() }.to(value, run)?])
}

fn order(by: &[(By, Sort)], at: usize, input: Vec<Traverser>, run: &mut Run<'_>) -> Outcome<Vec<Traverser>> {
    let natural = [(By::Identity, Sort::Ascending)];
    let by = if by.is_empty() { &natural } else { by };
    let mut keys: Vec<Vec<GraphValue>> = input.iter().map(|_| Vec::with_capacity(by.len())).collect();
    for (by, at) in numbered(by.iter().map(|(by, _)| by), at) {
        for (key, value) in keys.iter_mut().zip(take(by, at, &input, run)?) {
            key.push(value.ok_or_else(|| maps_to_nothing("Order", by))?);
        }
    }
    let mut rows: Vec<_> = keys.into_iter().zip(input).collect();
    rows.sort_by(|(a, _), (b, _)| {
        let compared = a.iter().zip(b).zip(by).map(|((a, b), (_, sort))| match sort {
            Sort::Ascending => a.total_cmp(b),
            Sort::Descending => b.total_cmp(a),
        });
        compared.fold(Ordering::Equal, Ordering::then)
    });
    Ok(rows.into_iter().map(|(_, traverser)| traverser).collect())
}

/// A map from the text of each key to its group, in the order of the keys (*assumed*: the service names none).
fn group(by: &[By], at: usize, input: &[Traverser], run: &mut Run<'_>) -> Outcome<GraphValue> {
    let modulators = numbered(by.iter(), at);
    let (key_by, key_at) = modulators.first().copied().unwrap_or((&By::Identity, at));
    let (value_by, value_at) = modulators.get(1).copied().unwrap_or((&By::Identity, at));
    let mut groups: BTreeMap<String, Vec<Traverser>> = BTreeMap::new();
    for (traverser, key) in input.iter().zip(take(key_by, key_at, input, run)?) {
        let key = key.ok_or_else(|| maps_to_nothing("Group", key_by))?;
        groups.entry(key.group_key()).or_default().push(traverser.clone());
    }
    let mut entries = Vec::with_capacity(groups.len());
    for (key, members) in groups {
        let value = match value_by {
            // The traversal sees the group as a whole: `count()` counts it; of many results the last stays (recorded).
            By::Traversal(inner) => {
                let mut pipeline = Pipeline::of(inner, value_at);
                pipeline.restart(members);
                match pipeline.drain(run)?.pop() {
                    Some(last) => last.value,
                    None => continue,
                }
            }
            by => {
                let taken = take(by, value_at, &members, run)?;
                GraphValue::List(Many::new(taken.into_iter().flatten().collect())?)
            }
        };
        entries.push((key, value));
    }
    GraphValue::map(entries)
}
