//! A two-hop `out` of the graph, beside a program that reads the same documents by their keys.
//!
//! The first peer knows all keys beforehand and asks for exactly the vertices that the traversal asks for: no edges, no
//! decoding, no account by operator. The second also asks the table for the edge documents, as the traversal must, and
//! does nothing with them. Limits are wide enough that nothing is throttled.

use hotplate::graph::{__, Graph, GraphDocument};
use hotplate::{Consistency, Instant, ItemKey, Profile, Query, Seed, Table};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const VERTICES: usize = 10_000;
/// Edges of a vertex.
const DEGREE: usize = 8;
/// Vertices of a partition key.
const CLUSTER: usize = 4;
const STARTS: usize = 500;
/// Odd, so that the median is one of them.
const ROUNDS: usize = 5;
/// Virtual time between two traversals: each uses about 100 RU of 90,000 a second.
const STEP: Duration = Duration::from_millis(20);

fn place(v: usize) -> (String, String) {
    (format!("pk{:05}", v / CLUSTER), format!("v{v:06}"))
}

fn targets(v: usize) -> impl Iterator<Item = usize> {
    (0..DEGREE).map(move |i| (v * 7 + i * 1_237 + 1) % VERTICES)
}

fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let began = std::time::Instant::now();
    black_box(work());
    began.elapsed().as_secs_f64()
}

fn main() {
    let mut now = Instant::START;
    let mut tick = || {
        now = now.after(STEP);
        now
    };
    let profile = Profile::cosmos_manual(90_000).expect("valid throughput");
    let table: Table<GraphDocument> = Table::new("bench", profile, Instant::START).expect("valid table");
    let graph = Graph::partitioned(Arc::new(table), "/pk", Seed(1)).expect("valid graph");
    for v in 0..VERTICES {
        let (pk, id) = place(v);
        let add = graph.traversal().add_v("person").property("id", id).property("pk", pk);
        add.property("name", format!("person {v}")).property("age", v % 90).execute(tick()).expect("added");
    }
    for v in 0..VERTICES {
        for target in targets(v) {
            let add = graph.traversal().v(place(v)).add_e("knows").to(__().v(place(target)));
            add.execute(tick()).expect("added");
        }
    }

    let starts: Vec<usize> = (0..STARTS).map(|i| i * 19 % VERTICES).collect();
    // What a traversal reads by key: the start, the neighbours, and their neighbours once each.
    let reads: Vec<Vec<ItemKey>> = starts
        .iter()
        .map(|&start| {
            let mut second: Vec<usize> = targets(start).flat_map(targets).collect();
            second.sort_unstable();
            second.dedup();
            let all = [start].into_iter().chain(targets(start)).chain(second);
            let key = |v| {
                let (pk, id) = place(v);
                ItemKey::new(pk.as_str(), id.as_str())
            };
            all.map(key).collect()
        })
        .collect();
    let point_reads: usize = reads.iter().map(Vec::len).sum();

    let mut rounds = Vec::with_capacity(ROUNDS);
    let mut requests = 0;
    for round in 0..=ROUNDS {
        let ours = seconds(|| {
            requests = 0;
            for &start in &starts {
                let answer = graph.traversal().v(place(start)).out("knows").out("knows").execute(tick());
                let answer = answer.expect("not throttled");
                assert_eq!(answer.results.len(), DEGREE * DEGREE);
                requests += answer.requests;
            }
        });
        let peer = seconds(|| {
            for keys in &reads {
                let now = tick();
                for key in keys {
                    let read = graph.table().get(key, Consistency::Session, now).expect("not throttled");
                    assert!(black_box(read).item.is_some());
                }
            }
        });
        let with_edges = seconds(|| {
            for (&start, keys) in starts.iter().zip(&reads) {
                let now = tick();
                for hop in [vec![start], targets(start).collect()] {
                    read_edges(&graph, &hop, now);
                }
                for key in keys {
                    black_box(graph.table().get(key, Consistency::Session, now).expect("not throttled"));
                }
            }
        });
        if round > 0 {
            rounds.push([ours / peer, ours / with_edges, ours, peer, with_edges]);
        }
    }
    let median = |i: usize| {
        let mut figures: Vec<f64> = rounds.iter().map(|round| round[i]).collect();
        figures.sort_by(f64::total_cmp);
        figures[ROUNDS / 2]
    };
    let micros = |i| median(i) * 1e6 / STARTS as f64;
    println!(
        "two-hop out over {VERTICES} vertices of {DEGREE} edges, {STARTS} starts, median of {ROUNDS} rounds"
    );
    println!("  traversal                {:>8.1} µs each, {requests} requests", micros(2));
    println!(
        "  point reads              {:>8.1} µs each, {point_reads} requests, ratio {:.2}",
        micros(3),
        median(0)
    );
    println!(
        "  edges and point reads    {:>8.1} µs each, {requests} requests, ratio {:.2}",
        micros(4),
        median(1)
    );
}

/// The edge documents of these vertices, by one query for each partition key.
fn read_edges(graph: &Graph, vertices: &[usize], now: Instant) {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (pk, id) in vertices.iter().map(|&v| place(v)) {
        groups.entry(pk).or_default().push(id);
    }
    for (pk, ids) in groups {
        let query = Query::of(pk.as_str()).consistency(Consistency::Session);
        let is_theirs = |document: &GraphDocument| {
            document
                .get("_vertexId")
                .and_then(|id| id.as_str())
                .is_some_and(|id| ids.iter().any(|own| own == id))
        };
        let page = graph.table().query_where(&query, |_, document| is_theirs(document), now);
        assert!(black_box(page).expect("not throttled").items.len() >= DEGREE);
    }
}
