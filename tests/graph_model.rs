//! The graph beside a naive one: an adjacency list that knows no partitions. Random graphs, random traversals, and splits
//! of random partitions in between.

use hotplate::graph::{__, By, Graph, GraphDocument, GraphValue, Traversal};
use hotplate::{Instant, Profile, Seed, Table};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

const LABELS: [&str; 2] = ["knows", "likes"];
/// Traversers a case may have: dense graphs have more walks than a test should follow.
const WALKS_MAX: usize = 4_000;

/// Vertices are numbers; each has a partition key of a few.
#[derive(Clone, Debug)]
struct Model {
    partitions: usize,
    vertices: usize,
    /// (source, target, label).
    edges: Vec<(usize, usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Out,
    In,
    Both,
}

#[derive(Clone, Debug)]
enum Op {
    /// `out`, `in`, `both`, by label or not.
    Hop(Way, Option<usize>),
    /// `outE().inV()`, `inE().outV()`, `bothE().otherV()`.
    Edge(Way),
    Dedup,
    /// `repeat(hop).times(n)`, with `emit` or not.
    Times(Way, u32, bool),
    /// `repeat(hop).until(hasId(v)).times(2)`.
    Until(Way, usize),
    /// `where(hop)`.
    Where(Way),
    /// `union(hop, hop)`.
    Union(Way, Way),
}

fn vertex(v: usize) -> String {
    format!("v{v}")
}

fn edge(e: usize) -> String {
    format!("e{e}")
}

/// The ids met, oldest first, and the vertex it is at.
type Walk = (Vec<String>, usize);

impl Model {
    /// Edges at `v`, each with its other end. A loop is met from both of its ends.
    fn around(&self, v: usize, way: Way, label: Option<usize>) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (i, &(source, target, kind)) in self.edges.iter().enumerate() {
            if label.is_some_and(|label| label != kind) {
                continue;
            }
            if source == v && way != Way::In {
                found.push((i, target));
            }
            if target == v && way != Way::Out {
                found.push((i, source));
            }
        }
        found
    }

    fn hop(&self, walks: &[Walk], way: Way, label: Option<usize>, edges: bool) -> Vec<Walk> {
        let mut next = Vec::new();
        for (path, v) in walks {
            for (e, other) in self.around(*v, way, label) {
                let met = if edges { vec![edge(e), vertex(other)] } else { vec![vertex(other)] };
                next.push((path.iter().cloned().chain(met).collect(), other));
            }
        }
        next
    }

    /// `None` when there are too many walks.
    fn run(&self, ops: &[Op]) -> Option<Vec<Walk>> {
        let mut walks: Vec<Walk> = (0..self.vertices).map(|v| (vec![vertex(v)], v)).collect();
        for op in ops {
            walks = match *op {
                Op::Hop(way, label) => self.hop(&walks, way, label, false),
                Op::Edge(way) => self.hop(&walks, way, None, true),
                Op::Dedup => {
                    // Which of several walks stays is the order of the storage: only where it ends counts.
                    let ends: BTreeSet<usize> = walks.iter().map(|(_, v)| *v).collect();
                    ends.into_iter().map(|v| (vec![vertex(v)], v)).collect()
                }
                Op::Times(way, rounds, emit) => {
                    let (mut all, mut frontier) = (Vec::new(), walks);
                    for _ in 0..rounds {
                        frontier = self.hop(&frontier, way, None, false);
                        if emit {
                            all.extend(frontier.iter().cloned());
                        }
                    }
                    if emit { all } else { frontier }
                }
                Op::Until(way, at) => {
                    let first = self.hop(&walks, way, None, false);
                    let (mut left, others): (Vec<_>, Vec<_>) = first.into_iter().partition(|(_, v)| *v == at);
                    left.extend(self.hop(&others, way, None, false));
                    left
                }
                Op::Where(way) => {
                    walks.into_iter().filter(|(_, v)| !self.around(*v, way, None).is_empty()).collect()
                }
                Op::Union(a, b) => {
                    let mut both = self.hop(&walks, a, None, false);
                    both.extend(self.hop(&walks, b, None, false));
                    both
                }
            };
            if walks.len() > WALKS_MAX {
                return None;
            }
        }
        Some(walks)
    }
}

fn along(way: Way, label: Option<usize>) -> Traversal {
    let labels: Vec<String> = label.iter().map(|&label| LABELS[label].to_owned()).collect();
    match way {
        Way::Out => __().out(labels),
        Way::In => __().in_(labels),
        Way::Both => __().both(labels),
    }
}

fn lower<S>(traversal: Traversal<S>, op: &Op) -> Traversal<S> {
    match *op {
        Op::Hop(way, label) => traversal.union([along(way, label)]),
        Op::Edge(Way::Out) => traversal.out_e(()).in_v(),
        Op::Edge(Way::In) => traversal.in_e(()).out_v(),
        Op::Edge(Way::Both) => traversal.both_e(()).other_v(),
        Op::Dedup => traversal.dedup(),
        Op::Times(way, rounds, false) => traversal.repeat(along(way, None)).times(rounds),
        Op::Times(way, rounds, true) => traversal.repeat(along(way, None)).times(rounds).emit(),
        Op::Until(way, v) => {
            traversal.repeat(along(way, None)).until(__().has_id(vertex(v).as_str())).times(2)
        }
        Op::Where(way) => traversal.where_(along(way, None)),
        Op::Union(a, b) => traversal.union([along(a, None), along(b, None)]),
    }
}

/// The graph under test, in a table whose clock moves on with each look, so that nothing is throttled.
struct Subject {
    graph: Graph,
    seconds: Cell<u64>,
}

impl Subject {
    fn new(model: &Model, splits: &[usize]) -> Self {
        let profile = Profile::cosmos_manual(30_000).unwrap();
        let table: Table<GraphDocument> = Table::new("graph", profile, Instant::START).unwrap();
        let graph = Graph::partitioned(Arc::new(table), "/pk", Seed(1)).unwrap();
        let subject = Self { graph, seconds: Cell::new(0) };
        let (before, after) = splits.split_at(splits.len() / 2);
        for v in 0..model.vertices {
            let add = subject.graph.traversal().add_v("person").property("id", vertex(v));
            add.property("pk", Self::pk(model, v)).execute(subject.now()).unwrap();
        }
        subject.split(before);
        for (e, &(source, target, label)) in model.edges.iter().enumerate() {
            let place = |v: usize| (Self::pk(model, v), vertex(v));
            let add = subject.graph.traversal().v(place(source)).add_e(LABELS[label]);
            add.to(__().v(place(target))).property("id", edge(e)).execute(subject.now()).unwrap();
        }
        subject.split(after);
        subject
    }

    fn pk(model: &Model, v: usize) -> String {
        format!("p{}", v % model.partitions)
    }

    fn now(&self) -> Instant {
        self.seconds.set(self.seconds.get() + 1);
        Instant::from_secs(self.seconds.get())
    }

    /// Splits the partitions at these positions, where they have something to split.
    fn split(&self, positions: &[usize]) {
        for position in positions {
            let partitions = self.graph.table().report().partitions;
            let partition = partitions[position % partitions.len()].id;
            let _ = self.graph.table().split(partition, None, self.now());
        }
    }

    fn run(
        &self,
        ops: &[Op],
        end: impl Fn(Traversal<hotplate::graph::Source<'_>>) -> Traversal<hotplate::graph::Source<'_>>,
    ) -> Vec<Value> {
        let traversal = ops.iter().fold(self.graph.traversal().v(()), lower);
        let answer = end(traversal).execute(self.now()).unwrap();
        let paid: u64 = answer.profile.operators().iter().map(|o| o.charge.request.milli()).sum();
        assert_eq!(paid, answer.charge.request.milli());
        answer.results.iter().map(GraphValue::to_json).collect()
    }
}

fn way() -> impl Strategy<Value = Way> {
    prop::sample::select(vec![Way::Out, Way::In, Way::Both])
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (way(), prop::option::of(0..LABELS.len())).prop_map(|(way, label)| Op::Hop(way, label)),
        2 => way().prop_map(Op::Edge),
        1 => Just(Op::Dedup),
        2 => (way(), 1..3_u32, any::<bool>()).prop_map(|(way, rounds, emit)| Op::Times(way, rounds, emit)),
        1 => (way(), 0..6_usize).prop_map(|(way, v)| Op::Until(way, v)),
        1 => way().prop_map(Op::Where),
        1 => (way(), way()).prop_map(|(a, b)| Op::Union(a, b)),
    ]
}

fn model() -> impl Strategy<Value = Model> {
    (1..5_usize, 1..9_usize).prop_flat_map(|(partitions, vertices)| {
        let edge = (0..vertices, 0..vertices, 0..LABELS.len());
        prop::collection::vec(edge, 0..14).prop_map(move |edges| Model { partitions, vertices, edges })
    })
}

fn sorted(values: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.sort_unstable();
    texts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_traversal_finds_what_the_adjacency_list_finds(
        model in model(),
        ops in prop::collection::vec(op(), 1..4),
        splits in prop::collection::vec(0..64_usize, 0..6),
        later in prop::collection::vec(0..64_usize, 0..3),
    ) {
        let walks = model.run(&ops);
        prop_assume!(walks.is_some());
        let walks = walks.unwrap_or_default();
        let subject = Subject::new(&model, &splits);

        let ends = sorted(walks.iter().map(|(_, v)| vertex(*v).into()));
        prop_assert_eq!(sorted(subject.run(&ops, |t| t.id())), ends.clone());
        subject.split(&later);
        prop_assert_eq!(subject.run(&ops, |t| t.count()), vec![json!(walks.len())]);
        let distinct: BTreeSet<String> = ends.into_iter().collect();
        prop_assert_eq!(sorted(subject.run(&ops, |t| t.dedup().id())), Vec::from_iter(distinct));
        if !ops.iter().any(|op| matches!(op, Op::Dedup)) {
            let paths = subject.run(&ops, |t| t.path().by(By::Id));
            let found = sorted(paths.into_iter().map(|path| path["objects"].clone()));
            prop_assert_eq!(found, sorted(walks.iter().map(|(path, _)| json!(path))));
        }
        let least = walks.len().min(3);
        prop_assert_eq!(subject.run(&ops, |t| t.limit(3)).len(), least);
    }

    #[test]
    fn dropping_vertices_drops_their_edges_and_nothing_else(
        model in model(),
        doomed in prop::collection::btree_set(0..8_usize, 0..4),
        splits in prop::collection::vec(0..64_usize, 0..6),
        later in prop::collection::vec(0..64_usize, 0..3),
    ) {
        let subject = Subject::new(&model, &splits);
        let ids: Vec<String> = doomed.iter().map(|&v| vertex(v)).collect();
        let drop = subject.graph.traversal().v(()).has_id(ids).drop();
        drop.execute(subject.now()).unwrap();
        subject.split(&later);

        let vertices = (0..model.vertices).filter(|v| !doomed.contains(v)).map(|v| vertex(v).into());
        prop_assert_eq!(sorted(subject.run(&[], |t| t.id())), sorted(vertices));
        let left = model.edges.iter().enumerate().filter(|(_, (s, t, _))| !doomed.contains(s) && !doomed.contains(t));
        let all = subject.graph.traversal().e(()).execute(subject.now()).unwrap();
        let edges = all.results.iter().map(|edge| {
            let edge = edge.as_edge().expect("E() gives edges");
            json!([edge.id(), edge.source().id, edge.target().id, edge.label()])
        });
        let expected = left.map(|(e, &(s, t, label))| json!([edge(e), vertex(s), vertex(t), LABELS[label]]));
        prop_assert_eq!(sorted(edges), sorted(expected));
    }

    #[test]
    fn out_edges_lie_with_their_source_whatever_splits(
        model in model(),
        splits in prop::collection::vec(0..64_usize, 0..8),
    ) {
        let subject = Subject::new(&model, &splits);
        let strict = subject.graph.traversal().strict_fanout(true);
        let places: Vec<(String, String)> =
            (0..model.vertices).map(|v| (Subject::pk(&model, v), vertex(v))).collect();
        let out = strict.v(places).out_e(()).execute(subject.now()).unwrap();
        prop_assert_eq!(out.results.len(), model.edges.len());
        for result in &out.results {
            let edge = result.as_edge().expect("outE() gives edges");
            prop_assert_eq!(edge.key().partition, edge.source().partition);
        }
        prop_assert!(out.profile.fan_out(hotplate::graph::Operator::GetEdges) <= 1);
    }
}
