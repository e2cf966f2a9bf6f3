//! From vertices along their edges: `out`, `in`, `both`, `outE`, `inE`, `bothE`.
//!
//! ```text
//!   out   one query in the logical partition of each source         GetEdges scoped
//!   in    one query over everything, `_sink` = any of the vertices  GetEdges fans out
//!   then  a point read of each vertex at the other end, once        GetNeighborVertices
//! ```

use super::{Stage, State, Traverser, Upstream};
use crate::graph::PAGE_ITEMS;
use crate::graph::element::{Edge, GraphDocument, Schema, text};
use crate::graph::error::{Fault, Outcome};
use crate::graph::profile::Operator;
use crate::graph::run::{Cursor, Known, Run};
use crate::graph::select::Scope;
use crate::graph::step::{Direction, Names};
use crate::graph::value::GraphValue;
use crate::key::{ItemKey, PartitionKey};
use std::collections::{BTreeMap, VecDeque};

/// Questions yet to be asked, and the one that is being answered.
#[derive(Default)]
pub(super) struct Edges {
    waiting: VecDeque<Question>,
    asking: Option<(Question, Cursor)>,
    known: Known,
}

/// Vertices whose edges are asked for together.
struct Question {
    scope: Scope,
    inputs: Vec<Traverser>,
    /// Positions in `inputs` by the vertex's id.
    by_id: BTreeMap<String, Vec<usize>>,
}

impl Question {
    fn new(scope: Scope, inputs: Vec<Traverser>) -> Self {
        let mut by_id: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (i, input) in inputs.iter().enumerate() {
            by_id.entry(input.value.id().unwrap_or_default().to_owned()).or_default().push(i);
        }
        Self { scope, inputs, by_id }
    }

    /// The inputs that are at this vertex.
    fn at<'q, 'e>(&'q self, id: &str, key: &'e ItemKey) -> impl Iterator<Item = &'q Traverser> + use<'q, 'e> {
        let candidates = self.by_id.get(id).into_iter().flatten().map(|&i| &self.inputs[i]);
        candidates.filter(move |input| input.value.as_vertex().is_some_and(|vertex| vertex.item_key() == key))
    }

    /// The edge that this document stores, if it has one of the labels and touches one of the vertices.
    fn edge(
        &self,
        schema: &Schema,
        (direction, labels): (Direction, &Names),
        key: &ItemKey,
        document: &GraphDocument,
    ) -> Option<Edge> {
        // Cheap looks first: most documents of a partition are of other vertices.
        let (source, sink) = (text(document, "_vertexId"), text(document, "_sink"));
        let near = match direction {
            Direction::Out => self.by_id.contains_key(source),
            Direction::In => self.by_id.contains_key(sink),
            Direction::Both => self.by_id.contains_key(source) || self.by_id.contains_key(sink),
        };
        let labelled =
            || labels.0.is_empty() || labels.0.iter().any(|label| label == text(document, "label"));
        let edge = if near && labelled() { schema.edge(key, document)? } else { return None };
        let touches = self.ends(&edge, direction).next().is_some();
        touches.then_some(edge)
    }

    /// The inputs that this edge touches, each with whether it is the edge's source.
    fn ends<'q, 'e>(
        &'q self,
        edge: &'e Edge,
        direction: Direction,
    ) -> impl Iterator<Item = (&'q Traverser, bool)> + use<'q, 'e> {
        let document = edge.document();
        let out = (direction != Direction::In)
            .then(|| self.at(text(document, "_vertexId"), edge.source_key()).map(|input| (input, true)));
        let into = (direction != Direction::Out)
            .then(|| self.at(text(document, "_sink"), edge.target_key()).map(|input| (input, false)));
        out.into_iter().flatten().chain(into.into_iter().flatten())
    }
}

impl<'t> Stage<'t> {
    /// One batch of edges, or with `adjacent` of the vertices at their other ends.
    pub(super) fn edges(
        &mut self,
        direction: Direction,
        labels: &Names,
        adjacent: bool,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
        want: usize,
    ) -> Outcome<Option<Vec<Traverser>>> {
        if !matches!(self.state, State::Edges(_)) {
            self.state = State::Edges(Box::default());
        }
        let State::Edges(edges) = &mut self.state else { return Ok(None) };
        loop {
            if let Some((question, cursor)) = &mut edges.asking {
                run.enter(self.step, self.at);
                let schema = &run.graph.schema;
                let what = (direction, labels);
                let page =
                    run.page(cursor, want, |key, doc| question.edge(schema, what, key, doc).is_some())?;
                let Some(page) = page else {
                    edges.asking = None;
                    continue;
                };
                let mut met = Vec::with_capacity(page.len());
                for (key, document) in page {
                    let Some(edge) = schema.edge(&key, &document) else { continue };
                    for (input, is_source) in question.ends(&edge, direction) {
                        let other = if is_source { edge.target_key() } else { edge.source_key() };
                        met.push((input, other.clone(), edge.clone()));
                        super::bounded(met.len())?;
                    }
                }
                let next = if adjacent {
                    run.neighbours(met.iter().map(|(_, other, _)| other), &mut edges.known)?;
                    met.into_iter()
                        .filter_map(|(input, other, _)| Some((input, edges.known.get(&other)?.clone()?)))
                        .map(|(input, vertex)| input.to(GraphValue::Vertex(vertex), run))
                        .collect::<Outcome<Vec<_>>>()?
                } else {
                    met.into_iter()
                        .map(|(input, _, edge)| {
                            let via = input.value.as_vertex().map(|vertex| vertex.item_key().clone());
                            Ok(Traverser { via, ..input.to(GraphValue::Edge(edge), run)? })
                        })
                        .collect::<Outcome<Vec<_>>>()?
                };
                return Ok(Some(next));
            } else if let Some(question) = edges.waiting.pop_front() {
                let cursor = Cursor::new(Operator::GetEdges, question.scope.clone());
                edges.asking = Some((question, cursor));
            } else {
                let Some(batch) = up.pull(run, PAGE_ITEMS)? else { return Ok(None) };
                run.enter(self.step, self.at);
                edges.waiting = questions(direction, batch, run)?;
            }
        }
    }
}

/// What must be asked to find the edges of these vertices.
fn questions(direction: Direction, batch: Vec<Traverser>, run: &Run<'_>) -> Outcome<VecDeque<Question>> {
    let mut places: BTreeMap<PartitionKey, usize> = BTreeMap::new();
    let mut groups: Vec<(PartitionKey, Vec<Traverser>)> = Vec::new();
    for traverser in &batch {
        let Some(vertex) = traverser.value.as_vertex() else {
            return Err(Fault::invalid(format!(
                "edges belong to vertices, and this is {}: select vertices first",
                traverser.value.kind()
            )));
        };
        if direction == Direction::Out {
            let partition = &vertex.item_key().partition;
            let place = *places.entry(partition.clone()).or_insert(groups.len());
            if place == groups.len() {
                groups.push((partition.clone(), Vec::new()));
            }
            groups[place].1.push(traverser.clone());
        }
    }
    Ok(match direction {
        Direction::Out => groups
            .into_iter()
            .map(|(partition, inputs)| Question::new(Scope::Partitions([partition].into()), inputs))
            .collect(),
        Direction::In | Direction::Both if batch.is_empty() => VecDeque::new(),
        Direction::In | Direction::Both => {
            [Question::new(run.graph.schema.everything(run.read.as_ref()), batch)].into()
        }
    })
}

/// All edges that touch these vertices, each once. One question finds both those that go out and those that come in.
pub(super) fn touching(vertices: Vec<Traverser>, run: &mut Run<'_>) -> Outcome<Vec<Edge>> {
    let mut found = BTreeMap::new();
    let any = Names::default();
    for batch in vertices.chunks(PAGE_ITEMS) {
        // A strategy does not confine what must go: no edge may be left dangling.
        let scope = run.graph.schema.everything(None);
        let question = Question::new(scope.clone(), batch.to_vec());
        let mut cursor = Cursor::new(Operator::GetEdges, scope);
        let schema = &run.graph.schema;
        let both = (Direction::Both, &any);
        while let Some(page) =
            run.page(&mut cursor, PAGE_ITEMS, |key, doc| question.edge(schema, both, key, doc).is_some())?
        {
            found.extend(
                page.into_iter().filter_map(|(key, doc)| Some((key.clone(), schema.edge(&key, &doc)?))),
            );
            super::bounded(found.len())?;
        }
    }
    Ok(found.into_values().collect())
}
