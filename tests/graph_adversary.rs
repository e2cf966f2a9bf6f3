//! What a second reader tried to break: loops, nested traversals, identities, stale objects, writes that stop half-way,
//! documents that nearly are elements. Where the service is not known to differ, TinkerPop says what is right.

use hotplate::graph::{
    __, Answer, By, Cardinality, Graph, GraphDocument, GraphError, Operator, P, Repeat, Selection, Sort,
    Source, Step, Traversal,
};
use hotplate::key::KeyValue;
use hotplate::{Instant, ItemKey, Profile, Scan, Seed, Table};
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: Instant = Instant::START;

fn graph_of(request_units: u64) -> Graph {
    let table = Table::new("people", Profile::cosmos_manual(request_units).unwrap(), NOW).unwrap();
    Graph::partitioned(Arc::new(table), "/city", Seed(7)).unwrap()
}

/// Five physical partitions.
fn empty() -> Graph {
    graph_of(30_000)
}

fn later(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

fn add(graph: &Graph, city: impl Into<Value>, id: &str) {
    graph.traversal().add_v("person").property("id", id).property("city", city).execute(NOW).unwrap();
}

fn link(graph: &Graph, from: (&str, &str), to: (&str, &str), id: &str) {
    graph.traversal().v(from).add_e("to").to(__().v(to)).property("id", id).execute(NOW).unwrap();
}

/// a ─► b ─► c ─► d, each in a city of its own.
fn chain() -> Graph {
    let graph = empty();
    for id in ["a", "b", "c", "d"] {
        add(&graph, id, id);
    }
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "d")] {
        link(&graph, (from, from), (to, to), &format!("{from}{to}"));
    }
    graph
}

fn run(traversal: Traversal<Source<'_>>) -> Answer {
    traversal.execute(NOW).unwrap()
}

fn json(traversal: Traversal<Source<'_>>) -> Value {
    run(traversal).to_json()
}

/// The results' texts, sorted: for results without an order.
fn set(traversal: Traversal<Source<'_>>) -> Vec<String> {
    let mut texts: Vec<String> = run(traversal).to_json().as_array().unwrap().iter().map(text).collect();
    texts.sort_unstable();
    texts
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn refusal(traversal: Traversal<Source<'_>>) -> String {
    traversal.execute(NOW).unwrap_err().to_string()
}

fn put(graph: &Graph, document: Value) {
    let key = ItemKey::new(document["city"].as_str().unwrap(), document["id"].as_str().unwrap());
    graph.table().put(&key, Arc::new(document), NOW).unwrap();
}

fn documents(graph: &Graph) -> Vec<GraphDocument> {
    let page = graph.table().scan(&Scan::default(), NOW).unwrap();
    page.items.into_iter().map(|(_, document)| document).collect()
}

// --- repeat -----------------------------------------------------------------------------------------------------------

/// TinkerPop, "Repeat step": a modulator before `repeat()` is checked before the body, one behind it afterwards.
#[test]
fn until_and_emit_are_checked_where_they_stand() {
    let graph = chain();
    let a = || graph.traversal().v(("a", "a"));
    let at = |id: &str| __().has_id(id);
    let cases = [
        // while-do: who is there already does not go round; do-while: everybody goes round once.
        (a().until(at("a")).repeat(__().out(())), vec!["a"]),
        (a().repeat(__().out(())).until(at("a")), vec![]),
        (a().until(at("c")).repeat(__().out(())), vec!["c"]),
        (a().repeat(__().out(())).until(at("c")), vec!["c"]),
        (a().times(0).repeat(__().out(())), vec!["a"]),
        (a().repeat(__().out(())).times(0), vec!["b"]),
        (a().times(2).repeat(__().out(())), vec!["c"]),
        (a().repeat(__().out(())).times(2), vec!["c"]),
        // Emitted behind the body, and not again by those who leave.
        (a().repeat(__().out(())).times(2).emit(), vec!["b", "c"]),
        (a().repeat(__().out(())).emit().times(2), vec!["b", "c"]),
        (a().emit().repeat(__().out(())).times(2), vec!["a", "b", "c"]),
        (a().emit_if(at("a")).repeat(__().out(())).times(2), vec!["a", "c"]),
        (a().emit().repeat(__().out(())), vec!["a", "b", "c", "d"]),
        (a().repeat(__().out(())).emit(), vec!["b", "c", "d"]),
        (a().repeat(__().out(())).emit_if(at("c")), vec!["c"]),
        // Before a round `until` comes first: whoever leaves there was emitted behind the round before, and leaves.
        (a().until(at("c")).emit().repeat(__().out(())), vec!["a", "b", "c"]),
        (a().until(at("c")).repeat(__().out(())).emit(), vec!["b", "c", "c"]),
    ];
    for (n, (traversal, expected)) in cases.into_iter().enumerate() {
        assert_eq!(set(traversal.id()), expected, "case {n}");
    }
}

/// Each modulator keeps its own place: `times()` behind the body does not drag an `until()` before it along.
#[test]
fn until_before_and_times_behind_keep_their_places() {
    let graph = chain();
    let a = || graph.traversal().v(("a", "a"));
    let body = || __().out(());
    assert_eq!(set(a().until(__().has_id("a")).repeat(body()).times(2).id()), ["a"]);
    assert_eq!(set(a().times(0).repeat(body()).until(__().has_id("d")).id()), ["a"]);
    assert_eq!(set(a().times(2).repeat(body()).until(__().has_id("a")).id()), ["c"]);
}

#[test]
fn a_path_holds_every_round_and_only_objects_met() {
    let graph = chain();
    let a = || graph.traversal().v(("a", "a"));
    let ids = |traversal: Traversal<Source<'_>>| -> Vec<Value> {
        run(traversal.path().by(By::Id))
            .to_json()
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["objects"].clone())
            .collect()
    };
    assert_eq!(
        ids(a().emit().repeat(__().out_e(()).in_v()).times(2)),
        [json!(["a"]), json!(["a", "ab", "b"]), json!(["a", "ab", "b", "bc", "c"])]
    );
    // Filters, order, dedup, and what where() and by() look at are not on the path.
    let looked = a().out(()).where_(__().out(())).order().by(__().in_(()).id()).dedup().range(0, None);
    assert_eq!(ids(looked), [json!(["a", "b"])]);
    assert_eq!(
        ids(a().union([__().out(()), __().coalesce([__().out("none"), __().out("to").out(())])])),
        [json!(["a", "b"]), json!(["a", "b", "c"])]
    );
    let folded = run(a().out(()).values("city").fold().unfold().path()).to_json();
    assert_eq!(folded[0]["objects"], json!([["b"], "b"]), "what is folded begins a path of its own");
    let inside = run(a().out(()).project("way").by(__().out(()).path().by(By::Id))).to_json();
    assert_eq!(inside[0]["way"]["objects"], json!(["a", "b", "c"]));
}

#[test]
fn dedup_in_a_loop_remembers_all_rounds_however_deep_it_stands() {
    let graph = chain();
    link(&graph, ("d", "d"), ("a", "a"), "da");
    let a = || graph.traversal().v(("a", "a"));
    // Round the circle until nobody is new: it ends, without a bound.
    assert_eq!(set(a().repeat(__().out(()).dedup()).emit().id()), ["a", "b", "c", "d"]);
    let branch = a().repeat(__().union([__().out(()).dedup()])).emit().id();
    assert_eq!(set(branch), ["a", "b", "c", "d"]);
    let nested = a().repeat(__().repeat(__().out(()).dedup()).times(1)).emit().id();
    assert_eq!(set(nested), ["a", "b", "c", "d"]);
    // A traversal that looks at each object by itself begins anew for each.
    let all = graph.traversal().v(()).where_(__().repeat(__().out(()).dedup()).emit().has_id("c")).id();
    assert_eq!(set(all), ["a", "b", "c", "d"]);
}

#[test]
fn loops_are_bounded_and_a_bound_of_32_is_enough() {
    let graph = empty();
    add(&graph, "x", "x");
    link(&graph, ("x", "x"), ("x", "x"), "loop");
    let x = || graph.traversal().v(("x", "x"));
    assert_eq!(json(x().repeat(__().out(())).times(32).id()), json!(["x"]));
    for endless in [
        x().repeat(__().out(())).times(33),
        x().repeat(__().out(())).until(__().has_id("y")),
        x().emit().repeat(__().out(())),
    ] {
        assert!(refusal(endless).contains("at most 32 times"));
    }
    assert_eq!(json(x().emit().repeat(__().out(())).limit(3).id()), json!(["x", "x", "x"]), "lazy");
    let bare = x().push(Step::Repeat(Box::new(Repeat { times: Some(2), ..Repeat::default() })));
    assert!(refusal(bare).contains("belong to a repeat()"));
}

/// In each round anew, for all who go round together (TinkerPop 3.8; earlier releases counted once for all rounds).
#[test]
fn limit_in_a_loop_counts_each_round() {
    let graph = chain();
    link(&graph, ("a", "a"), ("c", "c"), "ac");
    let walked =
        graph.traversal().v(("a", "a")).repeat(__().out(()).order().by(By::Id).limit(1)).times(3).id();
    assert_eq!(json(walked), json!(["d"]));
}

// --- loops and parallels ----------------------------------------------------------------------------------------------

#[test]
fn self_loops_and_parallel_edges_are_met_as_often_as_they_touch() {
    let graph = chain();
    link(&graph, ("a", "a"), ("a", "a"), "aa");
    link(&graph, ("a", "a"), ("b", "b"), "ab2");
    let a = || graph.traversal().v(("a", "a"));
    assert_eq!(set(a().both(()).id()), ["a", "a", "b", "b"]);
    assert_eq!(set(a().both_e(()).id()), ["aa", "aa", "ab", "ab2"]);
    assert_eq!(set(a().both_e(()).other_v().id()), ["a", "a", "b", "b"]);
    assert_eq!(set(a().out(()).id()), ["a", "b", "b"]);
    assert_eq!(set(a().in_(()).id()), ["a"]);
    assert_eq!(set(a().both_e(()).dedup().both_v().id()), ["a", "a", "a", "a", "b", "b"]);
    assert_eq!(set(graph.traversal().v(("b", "b")).both_e(()).other_v().id()), ["a", "a", "c"]);
    // `otherV` still knows where it came from behind filters, order and a write.
    let behind =
        graph.traversal().v(("b", "b")).both_e(()).has_label("to").order().by(By::Id).property("n", 1);
    assert_eq!(set(behind.where_(__().other_v()).union([__().other_v()]).id()), ["a", "a", "c"]);
    run(a().drop());
    assert_eq!(set(graph.traversal().e(()).id()), ["bc", "cd"]);
}

#[test]
fn vertices_of_one_id_in_two_partitions_stay_apart() {
    let graph = empty();
    for city in ["oslo", "rome"] {
        add(&graph, city, "x");
        add(&graph, city, "y");
        link(&graph, (city, "x"), (city, "y"), &format!("e-{city}"));
    }
    assert_eq!(set(graph.traversal().v(("oslo", "x")).both_e(()).id()), ["e-oslo"]);
    assert_eq!(set(graph.traversal().v(("rome", "y")).in_(()).values("city")), ["rome"]);
    assert_eq!(set(graph.traversal().v("x").dedup().values("city")), ["oslo", "rome"]);
    run(graph.traversal().v(("oslo", "y")).drop());
    assert_eq!(set(graph.traversal().e(()).id()), ["e-rome"]);
}

/// `1` and `"1"`, `true` and `"true"` are two partition keys each: so their vertices are two.
#[test]
fn keys_that_read_alike_stay_apart() {
    let graph = empty();
    for city in [json!(1), json!("1"), json!(true), json!("true")] {
        add(&graph, city, "x");
    }
    assert_eq!(json(graph.traversal().v(()).dedup().count()), json!([4]));
    assert_eq!(json(graph.traversal().v(()).properties("city").dedup().count()), json!([4]));
    assert_eq!(json(graph.traversal().v(()).has("city", 1).values("city")), json!([1]));
    assert_eq!(json(graph.traversal().v(()).has("city", "1").values("city")), json!(["1"]));
    assert_eq!(json(graph.traversal().v((KeyValue::Number(1.0), "x")).values("city")), json!([1]));
    let link = graph.traversal().v((1.0, "x")).add_e("to").to(__().v((KeyValue::Bool(true), "x")));
    run(link);
    assert_eq!(json(graph.traversal().v((KeyValue::Bool(true), "x")).in_(()).values("city")), json!([1]));
    assert_eq!(json(graph.traversal().v(("true", "x")).in_(()).count()), json!([0]));
}

// --- nested traversals ------------------------------------------------------------------------------------------------

/// x ─► y0 … y2, p ─► q0.
fn fans() -> Graph {
    let graph = empty();
    for id in ["x", "y0", "y1", "y2", "p", "q0"] {
        add(&graph, "oslo", id);
    }
    for (from, to) in [("x", "y0"), ("x", "y1"), ("x", "y2"), ("p", "q0")] {
        link(&graph, ("oslo", from), ("oslo", to), &format!("{from}{to}"));
    }
    graph
}

#[test]
fn nested_traversals_look_at_each_object_by_itself_and_union_at_all() {
    let graph = fans();
    let two = || graph.traversal().v([("oslo", "p"), ("oslo", "x")]);
    let last = || __().out(()).order().by_order(By::Id, Sort::Descending).limit(1).id();
    assert_eq!(json(two().project("last").by(last())), json!([{ "last": "q0" }, { "last": "y2" }]));
    assert_eq!(json(two().coalesce([last()])), json!(["q0", "y2"]));
    assert_eq!(json(two().coalesce([__().out(()).range(1, 2).id(), __().id()])), json!(["p", "y1"]));
    assert_eq!(json(two().coalesce([__().out(()).count()])), json!([1, 3]));
    assert_eq!(json(two().where_(__().out(()).count().is(P::gt(1))).id()), json!(["x"]));
    assert_eq!(json(two().where_(__().out(()).range(2, 3)).id()), json!(["x"]));
    assert_eq!(
        json(two().where_(__().where_(__().out(()).limit(1)).out(()).range(2, None)).id()),
        json!(["x"])
    );
    assert_eq!(json(two().order().by_order(__().out(()).count(), Sort::Descending).id()), json!(["x", "p"]));
    assert_eq!(json(two().dedup().by(__().out(()).limit(0).count()).id()), json!(["p"]));
    // A union is a branch: what stands in it sees all that comes to it.
    assert_eq!(json(two().union([__().out(()).count()])), json!([4]));
    assert_eq!(json(two().union([__().out(()).limit(1).count(), __().count()])), json!([1, 2]));
    // … unless it stands in something that looks at each by itself.
    assert_eq!(json(two().coalesce([__().union([__().out(()).count(), __().count()])])), json!([1, 1, 3, 1]));
    assert_eq!(
        json(two().project("n").by(__().repeat(__().out(())).times(1).count())),
        json!([
            { "n": 1 }, { "n": 3 }
        ])
    );
    assert_eq!(
        set(two().coalesce([__().repeat(__().out(()).order().by(By::Id).limit(1)).times(1).id()])),
        ["q0", "y0"]
    );
}

#[test]
fn collectors_of_nothing_have_an_answer() {
    let graph = empty();
    let none = || graph.traversal().v(("oslo", "nobody"));
    assert_eq!(json(none().count()), json!([0]));
    assert_eq!(json(none().fold()), json!([[]]));
    assert_eq!(json(none().group()), json!([{}]));
    assert_eq!(json(none().group().by("x").by(__().count())), json!([{}]));
    for nothing in [
        none().order().by("x"),
        none().dedup().by("x"),
        none().project("x").by("x"),
        none().path().by("x"),
        none().fold().unfold(),
        none().limit(0),
        none().union([]),
        none().coalesce([]),
        none().add_v("person"),
        none().add_e("to"),
        none().property("age", 1),
        none().drop(),
        none().in_(()),
        none().union([__().v(())]),
    ] {
        assert_eq!(run(nothing).results, []);
    }
    assert_eq!(json(none().union([__().count(), __().fold()])), json!([0, []]));
    assert_eq!(json(none().fold().coalesce([__().unfold().id(), __().count()])), json!([1]));
}

#[test]
fn groups_unfold_into_their_entries() {
    let graph = fans();
    let groups = graph.traversal().e(()).group().by(__().out_v().id()).by(__().count());
    assert_eq!(json(groups.clone()), json!([{ "p": 1, "x": 3 }]));
    assert_eq!(json(groups.unfold()), json!([{ "p": 1 }, { "x": 3 }]));
    let projected = graph.traversal().v(("oslo", "x")).project(["a", "b"]).by(By::Id).by("city").unfold();
    assert_eq!(json(projected), json!([{ "a": "x" }, { "b": "oslo" }]));
}

#[test]
fn a_map_has_each_name_once() {
    let graph = chain();
    assert!(refusal(graph.traversal().v(()).project(["a", "a"]).by(By::Id)).contains("'a'"));
}

#[test]
fn by_a_name_takes_a_property_and_by_a_token_what_the_element_is() {
    let graph = chain();
    let a = || graph.traversal().v(("a", "a"));
    assert_eq!(json(a().project(["i", "l"]).by(By::Id).by(By::Label)), json!([{ "i": "a", "l": "person" }]));
    // by('id') is a property of that name, which no element can have; has('id', …) is the id.
    assert!(refusal(a().project("i").by("id")).contains("maps to nothing"));
    assert!(refusal(a().order().by("label")).contains("maps to nothing"));
    assert_eq!(json(a().has("id", "a").has("label", "person").id()), json!(["a"]));
}

#[test]
fn an_error_names_the_step_that_could_not_go_on() {
    let graph = chain();
    let step = |t: Traversal<Source<'_>>| t.execute(NOW).unwrap_err().done().step;
    let v = || graph.traversal().v(());
    assert_eq!(step(v().project("x").by(__().out("none").id())), "project");
    assert_eq!(step(v().order().by(__().out("none").id())), "order");
    assert_eq!(step(v().dedup().by(__().out("none").id())), "dedup");
    assert_eq!(step(v().path().by(__().out("none").id())), "path");
    assert_eq!(step(v().group().by(__().out("none").id())), "group");
    assert_eq!(step(v().add_e("to").to(__().out("none"))), "addE");
    assert_eq!(step(v().union([__().out(()).other_v()])), "otherV");
}

// --- order and identity of values -------------------------------------------------------------------------------------

/// Whole numbers beyond 2^53 next to floats: an order that rounds one of them is none, and sorting may notice.
#[test]
fn large_numbers_have_an_order() {
    let graph = empty();
    add(&graph, "oslo", "n");
    let big = 1_i64 << 53;
    let mut wanted: Vec<Value> = Vec::new();
    for i in 0..40 {
        wanted.push(json!(big + i));
        wanted.push(json!((big + i) as f64));
    }
    wanted.extend([
        json!(u64::MAX),
        json!(u64::MAX - 1),
        json!(i64::MAX),
        json!(i64::MAX as f64),
        json!(1e300),
    ]);
    let n = || graph.traversal().v(("oslo", "n"));
    let mut state = 1_u64;
    let mut shuffled = wanted.clone();
    for i in (1..shuffled.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        shuffled.swap(i, (state >> 33) as usize % (i + 1));
    }
    let write = shuffled.into_iter().fold(n(), |t, value| t.property_with(Cardinality::List, "n", value, []));
    run(write);
    let sorted = run(n().values("n").order()).to_json();
    let exact = |value: &Value| -> i128 {
        value
            .as_i64()
            .map(i128::from)
            .or(value.as_u64().map(i128::from))
            .unwrap_or_else(|| value.as_f64().unwrap().min(1e30) as i128)
    };
    let numbers: Vec<i128> = sorted.as_array().unwrap().iter().map(exact).collect();
    assert!(numbers.is_sorted(), "{sorted}");
    let mut distinct = numbers.clone();
    distinct.dedup();
    assert_eq!(
        json(n().values("n").dedup().count()),
        json!([distinct.len()]),
        "equal is what compares equal"
    );
    assert_eq!(json(n().values("n").is(big + 1).count()), json!([1]), "2^53 + 1 is no float");
}

#[test]
fn values_of_mixed_kinds_sort_and_numbers_equal_their_floats() {
    let graph = empty();
    add(&graph, "oslo", "n");
    let n = || graph.traversal().v(("oslo", "n"));
    for value in [json!("1"), json!(1), json!(1.0), json!(true), json!(-0.0), json!(0), json!("")] {
        run(n().property_with(Cardinality::List, "n", value, []));
    }
    assert_eq!(json(n().values("n").order()), json!([true, -0.0, 0, 1, 1.0, "", "1"]));
    assert_eq!(json(n().values("n").dedup()), json!(["1", 1, true, -0.0, ""]));
}

// --- properties -------------------------------------------------------------------------------------------------------

#[test]
fn what_a_write_changed_is_seen_behind_it_also_on_the_path() {
    let graph = chain();
    let written =
        run(graph.traversal().v(("a", "a")).out_e(()).property("w", 7).in_v().property("age", 5).path());
    let objects = &written.to_json()[0]["objects"];
    assert_eq!(objects[1]["properties"]["w"], json!(7), "{objects}");
    assert_eq!(objects[2]["properties"]["age"][0]["value"], json!(5), "{objects}");
    assert_eq!(objects.as_array().unwrap().len(), 3);
}

#[test]
fn an_element_may_be_dropped_together_with_its_properties() {
    let graph = chain();
    for id in ["a", "b"] {
        run(graph.traversal().v((id, id)).property("age", 1).out_e(()).property("w", 1));
    }
    let both = __().union([__().properties(()).has_label("age"), __().has_label("person")]);
    run(graph.traversal().v(("a", "a")).union([both]).drop());
    assert_eq!(set(graph.traversal().v(()).id()), ["b", "c", "d"]);
    // The edge goes with the vertex, and its property with the edge.
    let edge =
        graph.traversal().v(("b", "b")).union([__().out_e(()).properties(()), __().has_label("person")]);
    run(edge.drop());
    assert_eq!(set(graph.traversal().v(()).id()), ["c", "d"]);
    // Twice the same is once.
    run(graph.traversal().v(("c", "c")).property("age", 1));
    let twice =
        run(graph.traversal().v(("c", "c")).union([__().properties("age"), __().properties("age")]).drop());
    assert_eq!(twice.profile.requests(Operator::ModifyData), 1);
    assert_eq!(json(graph.traversal().v(("c", "c")).values("age")), json!([]));
}

#[test]
fn single_replaces_list_appends_and_a_dropped_value_leaves_the_others() {
    let graph = chain();
    let a = || graph.traversal().v(("a", "a"));
    run(a().property_with(Cardinality::List, "n", 1, []).property_with(Cardinality::List, "n", 1, []));
    run(a().property_with(Cardinality::List, "n", 2, [("m", json!(1))]));
    assert_eq!(json(a().values("n")), json!([1, 1, 2]));
    assert_eq!(json(a().properties("n").dedup().count()), json!([3]), "three values, each with an id");
    run(a().properties("n").has("m", 1).properties(()).drop());
    let stored = documents(&graph).into_iter().find(|d| d["id"] == "a").unwrap();
    assert_eq!(
        stored["n"][2].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["id", "_value"],
        "as if never there"
    );
    run(a().properties("n").limit(1).drop());
    assert_eq!(json(a().values("n")), json!([1, 2]));
    run(a().property("n", 9));
    assert_eq!(json(a().values("n")), json!([9]));
    let new = graph.traversal().add_v("p").property("city", "z").property("id", "z");
    run(new.property("n", 1).property("n", 2).property_with(Cardinality::List, "n", 3, []));
    assert_eq!(json(graph.traversal().v(("z", "z")).values("n")), json!([2, 3]));
}

#[test]
fn names_that_the_storage_uses_are_refused_everywhere() {
    let graph = chain();
    let a = || graph.traversal().v(("a", "a"));
    let reserved =
        ["_isEdge", "_vertexId", "_vertexLabel", "_sink", "_sinkLabel", "_sinkPartition", "_rid", "_self"];
    for name in reserved.into_iter().chain(["_etag", "_ts", "_attachments", "label", ""]) {
        for (traversal, step) in [
            (graph.traversal().add_v("p").property("city", "a").property(name, 1), "addV"),
            (a().property(name, 1), "property"),
            (a().out_e(()).property(name, 1), "property"),
            (a().add_e("to").to(__().v(("b", "b"))).property(name, 1), "addE"),
        ] {
            let error = traversal.execute(NOW).unwrap_err();
            assert!(matches!(&error, GraphError::Invalid(_, done) if done.step == step), "{name}: {error}");
            assert!(error.to_string().contains(&format!("'{name}'")), "{error}");
        }
        assert_eq!(json(a().values(name)), json!([]), "{name}");
    }
    assert!(refusal(a().property("id", "b")).contains("'id' of an element cannot be changed"));
    assert!(refusal(a().property_with(Cardinality::Single, "n", 1, [("", json!(1))])).contains("'n'"));
    assert!(refusal(a().property_with(Cardinality::Single, "n", 1, [("m", json!([1]))])).contains("'n.m'"));
    assert_eq!(documents(&graph).len(), 7);
}

/// Of a vertex, what is not in the stored form is kept and not seen, by whichever step.
#[test]
fn documents_that_nearly_are_elements() {
    let graph = empty();
    put(
        &graph,
        json!({
            "id": "v", "label": "p", "city": "oslo", "flat": "x", "none": [], "odd": ["x", 1, null, { "_value": 3 }],
            "same": [{ "id": "1", "_value": "a" }], "other": [{ "id": "1", "_value": "a" }],
            "deep": [{ "id": "2", "_value": { "a": 1 } }], "nil": [{ "id": "3", "_value": null }],
        }),
    );
    for (n, document) in [json!(null), json!(3), json!("text"), json!([1]), json!({}), json!({ "id": 5 })]
        .into_iter()
        .enumerate()
    {
        graph.table().put(&ItemKey::new("oslo", &*format!("d{n}")), Arc::new(document), NOW).unwrap();
    }
    put(
        &graph,
        json!({ "id": "e1", "label": "to", "city": "oslo", "_isEdge": true, "_vertexId": "v", "_sink": "v" }),
    );
    put(
        &graph,
        json!({ "id": "e2", "label": "to", "city": "oslo", "_isEdge": true, "_vertexId": "v", "_sink": 5, "_sinkPartition": "oslo" }),
    );
    put(
        &graph,
        json!({ "id": "e3", "label": "to", "city": "oslo", "_isEdge": true, "_vertexId": "v", "_sink": "v", "_sinkPartition": ["oslo"] }),
    );
    put(
        &graph,
        json!({ "id": "e4", "label": "to", "city": "oslo", "_isEdge": true, "_vertexId": "gone", "_sink": "lost", "_sinkPartition": "rome" }),
    );
    let v = || graph.traversal().v(("oslo", "v"));
    assert_eq!(json(graph.traversal().v(()).id()), json!(["v"]));
    assert_eq!(json(graph.traversal().e(()).id()), json!(["e4"]));
    assert_eq!(json(graph.traversal().e(()).both_v().id()), json!([]), "an edge between nowhere and nowhere");
    for name in ["flat", "none", "odd"] {
        assert_eq!(json(v().values(name)), json!([]), "{name}");
        assert_eq!(json(v().has(name, P::Any).count()), json!([0]), "{name}");
    }
    assert_eq!(json(v().values(()).count()), json(v().properties(()).count()));
    assert_eq!(json(v().properties(["same", "other"]).dedup().count()), json!([2]), "one id under two names");
    run(v().properties("same").drop());
    assert_eq!(json(v().values(["same", "other"])), json!(["a"]));
    run(graph.traversal().v(()).drop());
    assert_eq!(documents(&graph).len(), 10, "only what is an element goes, and e4 touches nobody");
}

#[test]
fn edges_to_the_removed_lead_nowhere_and_harm_nobody() {
    let graph = chain();
    // Someone removes the document and knows nothing of edges.
    graph.table().delete(&ItemKey::new("b", "b"), NOW).unwrap();
    let a = || graph.traversal().v(("a", "a"));
    assert_eq!(json(a().out(()).id()), json!([]));
    assert_eq!(json(a().out_e(()).id()), json!(["ab"]));
    assert_eq!(json(a().out_e(()).in_v().path()), json!([]));
    assert_eq!(json(graph.traversal().v(("c", "c")).in_(()).count()), json!([0]));
    assert_eq!(json(a().where_(__().out(())).count()), json!([0]));
    assert_eq!(json(a().repeat(__().out(())).emit().count()), json!([0]));
    assert_eq!(json(a().out(()).limit(1).count()), json!([0]));
    run(graph.traversal().v(("c", "c")).drop());
    assert_eq!(set(graph.traversal().e(()).id()), ["ab"], "the edge from nowhere to c went with c");
}

// --- writes -----------------------------------------------------------------------------------------------------------

/// A step that writes somewhere inside has all of its input before it begins, however small the pages that it could
/// have begun with: otherwise the ones just written are input again, and again.
#[test]
fn a_traversal_never_meets_what_it_has_just_written() {
    for city in 0..8 {
        let graph = chain();
        let copy = __().add_v("copy").property("city", format!("city {city}")).has_label("none");
        // Nothing comes of it, so limit() asks on and on.
        assert_eq!(json(graph.traversal().v(()).coalesce([copy]).limit(1)), json!([]));
        assert_eq!(documents(&graph).len(), 7 + 4, "city {city}");
    }
}

/// Which sources have no edge yet is told whatever the step was at: also when it was still looking for the targets.
#[test]
fn add_e_that_is_throttled_while_it_looks_for_targets_says_what_remains() {
    let graph = graph_of(400);
    for i in 0..20_u64 {
        let add = graph.traversal().add_v("p").property("id", format!("v{i:02}")).property("city", "oslo");
        add.execute(later(2 * i)).unwrap();
    }
    let now = later(100);
    for _ in 0..399 {
        graph.traversal().v(("oslo", "nobody")).execute(now).unwrap();
    }
    let error = graph.traversal().v(()).add_e("to").to(__().out(())).execute(now).unwrap_err();
    assert!(matches!(error, GraphError::Throttled(..)) && error.done().step == "out", "{error}");
    assert_eq!((error.done().written.len(), error.done().remaining.len()), (0, 20), "{error}");
}

#[test]
fn a_write_that_stops_half_way_names_exactly_what_remains() {
    let graph = chain();
    // The third source has no target: two edges stand, two remain.
    let some = graph.traversal().v([("a", "a"), ("b", "b"), ("c", "c"), ("d", "d")]);
    let error = some.add_e("twice").to(__().out(())).execute(NOW).unwrap_err();
    let ids = |keys: &[hotplate::graph::ElementKey]| keys.iter().map(|k| k.id.clone()).collect::<Vec<_>>();
    assert_eq!(
        (error.done().written.len(), ids(&error.done().remaining)),
        (3, vec!["d".to_owned()]),
        "{error}"
    );
    assert_eq!(json(graph.traversal().e(()).has_label("twice").count()), json!([3]));
    // An id that is taken.
    let error = graph
        .traversal()
        .v(())
        .add_v("p")
        .property("city", "z")
        .property("id", "z")
        .execute(NOW)
        .unwrap_err();
    assert!(
        matches!(&error, GraphError::Exists(key, done) if key.id == "z" && done.written.len() == 1),
        "{error}"
    );
    // An id is told as it was given, whatever is in it.
    add(&graph, "z", "nul\0nul");
    let twice = graph.traversal().v(("z", "nul\0nul")).property("age", 1).add_e("to").to(__().out(()));
    let error = twice.execute(NOW).unwrap_err();
    assert_eq!(
        (ids(&error.done().written), ids(&error.done().remaining)),
        (vec!["nul\0nul".to_owned()], vec!["nul\0nul".to_owned()])
    );
    // A chain of writes: what the steps before wrote is told as well.
    let more = graph.traversal().add_v("p").property("city", "y").property("id", "y").property("age", 1);
    let error = more.add_e("to").to(__().v(("y", "nobody"))).execute(NOW).unwrap_err();
    assert_eq!(
        (ids(&error.done().written), ids(&error.done().remaining)),
        (vec!["y".to_owned()], vec!["y".to_owned()])
    );
}

#[test]
fn properties_that_remain_are_told_when_a_drop_of_both_kinds_is_throttled() {
    let graph = graph_of(400);
    for i in 0..100_u64 {
        let add = graph.traversal().add_v("p").property("id", format!("v{i:02}")).property("city", "oslo");
        add.property("age", 1).execute(later(2 * i)).unwrap();
    }
    let all = graph.traversal().v(()).has("city", "oslo");
    let mixed =
        all.union([__().has("id", P::lt("v50")), __().has("id", P::gte("v50")).properties("age")]).drop();
    let error = mixed.execute(later(1_000)).unwrap_err();
    let done = error.done();
    assert_eq!(done.written.len() + done.remaining.len(), 100, "{error}");
}

#[test]
fn drop_takes_what_it_meets_once() {
    let graph = chain();
    let everything =
        graph.traversal().v(()).union([__().both(()), __().both_e(()), __().has_label("person")]);
    let dropped = run(everything.drop());
    assert_eq!(dropped.profile.requests(Operator::ModifyData), 7);
    assert!(documents(&graph).is_empty());
    let graph = chain();
    assert_eq!(json(graph.traversal().v(("a", "a")).repeat(__().out(()).drop()).emit().count()), json!([0]));
    assert_eq!(set(graph.traversal().v(()).id()), ["a", "c", "d"]);
    // In one branch it goes, and the other still stands where it was.
    let other = graph.traversal().v(("c", "c")).union([__().drop(), __().out(()), __().id()]);
    assert_eq!(json(other), json!(["c"]));
    let again = graph.traversal().v(("d", "d")).union([__().drop(), __().property("age", 1)]);
    assert!(refusal(again).contains("was removed meanwhile"));
}

/// Cosmos DB goes breadth first: both look before either writes (*assumed*; TinkerPop's second would find the first's).
#[test]
fn coalesce_looks_for_all_before_it_writes_for_any() {
    let graph = chain();
    let upsert = __()
        .coalesce([__().v(("rome", "new")), __().add_v("p").property("city", "rome").property("id", "new")]);
    let two = graph.traversal().v([("a", "a"), ("b", "b")]).union([upsert]);
    assert!(matches!(two.execute(NOW), Err(GraphError::Exists(..))));
    assert_eq!(json(graph.traversal().v(("rome", "new")).count()), json!([1]));
}

// --- fan-out, requests, charges ---------------------------------------------------------------------------------------

#[test]
fn strict_mode_lets_through_what_a_key_confines_and_nothing_else() {
    let graph = chain().strict_fanout(true);
    let g = || graph.traversal();
    let scoped = [
        g().v(()).has("city", "a"),
        g().v(()).has_label("person").has("city", P::within(["a", "b"])),
        g().v("a").has("city", "a").out(()).out(()),
        g().v(()).has("city", P::within(Vec::<String>::new())).in_(()),
        g().e(()).has("city", "a").in_v(),
        g().v(Selection::Within { keys: vec!["a".into()], ids: vec!["a".into()] }).out_e(()).has("city", "a"),
        g().v(("x", "nobody")).in_(()).both(()).drop(),
        g().read_partitions(["a"]).v(()).both(()),
        g().v(Selection::Keys(vec![])),
        g().v(Selection::Ids(vec![])),
        g().v(()).has_id(()),
    ];
    for (n, scoped) in scoped.into_iter().enumerate() {
        assert!(scoped.execute(NOW).is_ok(), "scoped {n}");
    }
    let wide = [
        g().v(()).has("city", P::neq("a")),
        g().v(()).where_(__().has("city", "a")).has("city", "a"),
        g().v(()).limit(1).has("city", "a"),
        g().v(("a", "a")).v(()),
        g().v(("a", "a")).in_(()).has("city", "a"),
        g().v(("a", "a")).union([__().id(), __().both_e(()).id()]),
        g().v(("a", "a")).project("x").by(__().in_(()).count()),
    ];
    for (n, wide) in wide.into_iter().enumerate() {
        assert!(matches!(wide.execute(NOW), Err(GraphError::FanOut(_))), "wide {n}");
    }
    assert!(g().v(("a", "a")).union([__().id(), __().both_e(()).id()]).limit(1).execute(NOW).is_ok(), "lazy");
}

#[test]
fn nothing_to_look_for_asks_nobody() {
    let graph = chain();
    let g = || graph.traversal();
    let nothing = [
        g().v(Selection::Ids(vec![])),
        g().v(Selection::Keys(vec![])),
        g().v("a").has_id("b"),
        g().v(()).has_id(()),
        g().v(()).has("id", P::within(Vec::<String>::new())),
        g().v(("a", "a")).has("city", "b"),
        g().v(()).has("city", "a").has("city", "b"),
        g().v(()).limit(0),
        g().v(()).range(3, 3),
        g().read_partitions(["a"]).v(("b", "b")),
        g().read_partitions(Vec::<String>::new()).v(()),
    ];
    for (n, nothing) in nothing.into_iter().enumerate() {
        let answer = run(nothing);
        assert_eq!((answer.results.len(), answer.requests), (0, 0), "case {n}");
    }
}

#[test]
fn the_profile_adds_up_and_splits_widen_what_fans_out() {
    let graph = chain();
    let partitions = |answer: &Answer, operator| answer.profile.fan_out(operator);
    let count = graph.table().partition_count();
    let ask = || {
        let both =
            graph.traversal().v(("b", "b")).union([__().out(()), __().in_(()), __().both_e(()).other_v()]);
        run(both.where_(__().in_(()).count().is(P::gte(0))).dedup())
    };
    let before = ask();
    assert_eq!(partitions(&before, Operator::GetEdges), count);
    let partitions_now = graph.table().report().partitions;
    let split = partitions_now.iter().find(|partition| graph.table().split(partition.id, None, NOW).is_ok());
    assert!(split.is_some());
    let after = ask();
    assert_eq!(partitions(&after, Operator::GetEdges), count + 1);
    assert_eq!(before.ids(), after.ids());
    for answer in [&before, &after] {
        let operators = answer.profile.operators();
        assert_eq!(operators.iter().map(|o| o.requests).sum::<u64>(), answer.requests);
        assert_eq!(
            operators.iter().map(|o| o.charge.request.milli()).sum::<u64>(),
            answer.charge.request.milli()
        );
        assert!(
            operators
                .iter()
                .all(|o| o.fan_out <= o.partitions.len() && o.partitions.is_subset(&answer.partitions))
        );
        assert!(operators.iter().all(|o| o.requests >= o.fan_out as u64 && o.fan_out > 0));
    }
    let out = run(graph.traversal().v(("a", "a")).out(()).out(()).out(()));
    assert_eq!(partitions(&out, Operator::GetEdges), 1);
    assert_eq!(out.requests, 1 + 3 * 2, "a vertex, then edges and a neighbour three times");
}

/// One vertex with many edges beside one with a single edge behind them: looking for both reads pages, not pairs.
#[test]
fn where_reads_pages() {
    let graph = empty();
    for id in ["hub", "leaf", "x"] {
        add(&graph, "oslo", id);
    }
    for i in 0..500_u64 {
        let edge = graph.traversal().v(("oslo", "hub")).add_e("to").to(__().v(("oslo", "x")));
        edge.property("id", format!("e{i:03}")).execute(later(i)).unwrap();
    }
    let last =
        graph.traversal().v(("oslo", "leaf")).add_e("to").to(__().v(("oslo", "x"))).property("id", "z");
    last.execute(later(501)).unwrap();
    let both = graph.traversal().v([("oslo", "hub"), ("oslo", "leaf")]).where_(__().out_e(())).id();
    let answer = both.execute(later(600)).unwrap();
    assert_eq!(answer.to_json(), json!(["hub", "leaf"]));
    assert!(answer.requests < 20, "{} requests", answer.requests);
    let one = graph.traversal().v(("oslo", "hub")).where_(__().out_e(())).execute(later(700)).unwrap();
    let read: u64 = one.profile.operators().iter().map(|o| o.count).sum();
    assert_eq!(read, 2, "the vertex and one of its edges");
}

/// Each of many sources finds many targets and takes the first: no crowd of pairs waits anywhere.
#[test]
fn the_first_of_many_for_each_of_many_is_no_crowd() {
    let graph = empty();
    for i in 0..400 {
        put(&graph, json!({ "id": format!("s{i:03}"), "label": "source", "city": format!("c{}", i % 7) }));
        put(&graph, json!({ "id": format!("t{i:03}"), "label": "target", "city": "oslo" }));
    }
    let g = || graph.traversal().v(()).has_label("source");
    let targets = || __().v(()).has("city", "oslo").has_label("target");
    let edges = g().add_e("to").to(targets()).execute(later(10)).unwrap();
    assert_eq!(edges.results.len(), 400);
    assert_eq!(g().where_(targets()).count().execute(later(20)).unwrap().to_json(), json!([400]));
    let pairs = g().v(()).has_label("target").limit(3).id().execute(later(30)).unwrap();
    assert_eq!(pairs.results.len(), 3);
    // All pairs are too many to wait anywhere, and that is told.
    let all = g().union([targets()]).execute(later(40)).unwrap_err();
    assert!(all.to_string().contains("more than 100000 traversers wait"), "{all}");
}

/// Several add, link, drop, walk and split at once: nothing panics, and all vertices can be dropped in the end.
#[test]
fn many_at_once_leave_a_graph() {
    let graph = empty();
    let clock = std::sync::atomic::AtomicU64::new(1);
    let tick = || later(clock.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    std::thread::scope(|scope| {
        for worker in 0..4_u64 {
            let (graph, tick) = (&graph, &tick);
            scope.spawn(move || {
                let mut state = worker + 1;
                for _ in 0..300 {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let (a, b) = ((state >> 33) % 9, (state >> 40) % 9);
                    let place = |n: u64| (format!("c{}", n % 3), format!("v{n}"));
                    let outcome = match (state >> 50) % 6 {
                        0 => {
                            let add = graph.traversal().add_v("p").property("id", place(a).1);
                            add.property("city", place(a).0).execute(tick())
                        }
                        1 | 2 => {
                            graph.traversal().v(place(a)).add_e("to").to(__().v(place(b))).execute(tick())
                        }
                        3 => graph.traversal().v(place(a)).drop().execute(tick()),
                        4 => {
                            graph.traversal().v(place(a)).repeat(__().both(()).dedup()).emit().execute(tick())
                        }
                        _ => graph.traversal().v(place(a)).property("n", b).execute(tick()),
                    };
                    if let Err(error) = outcome {
                        // The clocks of several are never quite in step, so some come too early.
                        let expected = matches!(
                            error,
                            GraphError::Exists(..) | GraphError::Invalid(..) | GraphError::Throttled(..)
                        );
                        assert!(expected, "{error}");
                    }
                }
            });
        }
        scope.spawn(|| {
            for i in 0..40 {
                let partitions = graph.table().report().partitions;
                let _ = graph.table().split(partitions[i * 7 % partitions.len()].id, None, tick());
            }
        });
    });
    let all = graph.traversal().v(()).drop().execute(later(1_000_000)).unwrap();
    assert_eq!(all.results, []);
    // What is left are edges that were added to a vertex while it was being removed.
    let left = graph.table().scan(&Scan::default(), later(2_000_000)).unwrap().items;
    assert!(left.iter().all(|(_, document)| document["_isEdge"] == json!(true)));
}

#[test]
fn a_throttled_read_costs_what_it_read() {
    let graph = empty();
    for i in 0..200_u64 {
        let add =
            graph.traversal().add_v("p").property("id", format!("v{i}")).property("city", format!("c{i}"));
        add.property("text", "x".repeat(20_000)).execute(later(i)).unwrap();
    }
    let (mut spent, now) = (0, later(1_000));
    let error = loop {
        match graph.traversal().v(()).execute(now) {
            Ok(answer) => spent += answer.charge.request.milli(),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&error, GraphError::Throttled(_, done) if done.requests > 0 && done.step == "V"),
        "{error}"
    );
    assert!(spent + error.done().charge.request.milli() >= 6_000_000, "a partition's second was used up");
    assert!(error.done().written.is_empty() && error.done().remaining.is_empty());
}

#[test]
fn a_partition_strategy_confines_reads_and_no_removal() {
    let graph = chain();
    let g = || graph.traversal().read_partitions(["a", "b"]);
    assert_eq!(set(g().v(()).id()), ["a", "b"]);
    assert_eq!(set(g().e(()).id()), ["ab", "bc"]);
    assert_eq!(set(g().v(("b", "b")).both(()).id()), ["a"]);
    assert_eq!(set(g().v(()).has("city", P::within(["b", "c"])).id()), ["b"]);
    assert_eq!(json(g().v(("c", "c")).id()), json!([]));
    assert_eq!(set(g().v(("b", "b")).out_e(()).both_v().id()), ["b"]);
    run(graph.traversal().read_partitions(["c"]).v(("c", "c")).drop());
    assert_eq!(
        set(graph.traversal().e(()).id()),
        ["ab"],
        "b's edge to c went too, though b is not to be seen"
    );
}

// --- a graph without a partition key ----------------------------------------------------------------------------------

#[test]
fn a_graph_without_a_partition_key_reads_points_and_one_partition() {
    let table = Arc::new(Table::new("flat", Profile::cosmos_manual(30_000).unwrap(), NOW).unwrap());
    let graph = Graph::unpartitioned(table, Seed(1)).unwrap().strict_fanout(true);
    for id in ["a", "b"] {
        run(graph.traversal().add_v("p").property("id", id).property("city", "any"));
    }
    run(graph.traversal().v("a").add_e("to").to(__().v("b")).property("id", "ab").property("city", "x"));
    assert_eq!(json(graph.traversal().v("ab").id()), json!([]), "an edge is no vertex");
    assert_eq!(json(graph.traversal().e("ab").values("city")), json!(["x"]), "a property like others");
    assert_eq!(json(graph.traversal().v("b").in_e(()).other_v().values("city")), json!(["any"]));
    assert_eq!(json(graph.traversal().v(["a", "b", "c"]).has("city", "any").id()), json!(["a", "b"]));
    assert_eq!(run(graph.traversal().v(["a", "b", "c"])).requests, 3);
    run(graph.traversal().v("a").property("city", "new").drop());
    assert_eq!(documents(&graph).len(), 1);
}
