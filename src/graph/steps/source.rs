//! `V` and `E`: elements that a selection names, read page by page.

use super::map::passes;
use super::{Stage, State, Traverser, Upstream};
use crate::graph::FRONTIER_MAX;
use crate::graph::element::{GraphDocument, Schema, text};
use crate::graph::error::Outcome;
use crate::graph::profile::Operator;
use crate::graph::run::{Cursor, Run};
use crate::graph::select::Selection;
use crate::graph::step::Step;
use crate::graph::value::GraphValue;
use crate::key::ItemKey;

impl<'t> Stage<'t> {
    pub(super) fn source(
        &mut self,
        selection: &Selection,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
        want: usize,
    ) -> Outcome<Option<Vec<Traverser>>> {
        let vertices = matches!(self.step, Step::V(_));
        let schema = &run.graph.schema;
        if matches!(self.state, State::Fresh) {
            let inputs = up.drain(run)?;
            run.enter(self.step, self.at);
            if inputs.is_empty() {
                self.state = State::Done;
                return Ok(None);
            }
            let (scope, ids) = schema.scope(selection, &self.filters, run.read.as_ref())?;
            let operator = if vertices { Operator::GetVertices } else { Operator::GetEdges };
            self.state = State::Source { inputs, cursor: Cursor::new(operator, scope), ids };
        }
        let State::Source { inputs, cursor, ids } = &mut self.state else { return Ok(None) };
        run.enter(self.step, self.at);
        let filters = &self.filters;
        // Each document of a page becomes a traverser for each input.
        let want = want.min(FRONTIER_MAX / inputs.len().max(1));
        let page = run.page(cursor, want, |key, document| {
            ids.as_ref().is_none_or(|ids| ids.contains(text(document, "id")))
                && element(schema, vertices, key, document)
                    .is_some_and(|element| filters.iter().all(|filter| passes(filter, &element)))
        })?;
        let Some(page) = page else {
            self.state = State::Done;
            return Ok(None);
        };
        // A `V()` in mid-traversal begins anew from each traverser that reaches it.
        let mut found = Vec::with_capacity(page.len() * inputs.len());
        for (key, document) in page {
            let Some(element) = element(schema, vertices, &key, &document) else { continue };
            super::bounded(found.len() + inputs.len())?;
            for input in inputs.iter() {
                found.push(input.to(element.clone(), run)?);
            }
        }
        Ok(Some(found))
    }
}

fn element(schema: &Schema, vertices: bool, key: &ItemKey, document: &GraphDocument) -> Option<GraphValue> {
    if vertices {
        schema.vertex(key, document).map(GraphValue::Vertex)
    } else {
        schema.edge(key, document).map(GraphValue::Edge)
    }
}
