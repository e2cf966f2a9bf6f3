//! What the vendor's pages say about graphs, by name: how vertices are selected, why `out` is cheap and `in` is dear, what
//! is stored and what is refused.

use hotplate::charge::PageKind;
use hotplate::graph::{
    __, By, Cardinality, FRONTIER_MAX, Graph, GraphDocument, GraphError, Operator, P, Repeat, STEPS_MAX,
    Selection, Sort, Step,
};
use hotplate::key::KeyValue;
use hotplate::{Clock, Instant, ItemKey, Profile, Scan, Seed, Table};
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: Instant = Instant::START;

/// A table over five physical partitions (30,000 RU/s).
fn table() -> Arc<Table<GraphDocument>> {
    Arc::new(Table::new("people", Profile::cosmos_manual(30_000).unwrap(), NOW).unwrap())
}

fn empty() -> Graph {
    Graph::partitioned(table(), "/city", Seed(7)).unwrap()
}

fn add(graph: &Graph, city: &str, id: &str) {
    graph.traversal().add_v("person").property("id", id).property("city", city).execute(NOW).unwrap();
}

fn know(graph: &Graph, from: (&str, &str), to: (&str, &str)) {
    graph.traversal().v(from).add_e("knows").to(__().v(to)).execute(NOW).unwrap();
}

/// thomas ─► mary ─► robin, thomas ─► ben, ben ─► robin; each in a city of their own but ben, who lives with thomas.
fn people() -> Graph {
    let graph = empty();
    for (city, id) in [("oslo", "thomas"), ("bergen", "mary"), ("paris", "robin"), ("oslo", "ben")] {
        add(&graph, city, id);
    }
    know(&graph, ("oslo", "thomas"), ("bergen", "mary"));
    know(&graph, ("oslo", "thomas"), ("oslo", "ben"));
    know(&graph, ("bergen", "mary"), ("paris", "robin"));
    know(&graph, ("oslo", "ben"), ("paris", "robin"));
    graph
}

fn sorted(mut ids: Vec<&str>) -> Vec<&str> {
    ids.sort_unstable();
    ids
}

/// Every document of the graph's table.
fn documents(graph: &Graph) -> Vec<Value> {
    let page = graph.table().scan_where(&Scan::default(), PageKind::Scan, |_, _| true, NOW).unwrap();
    assert!(page.continuation.is_none());
    page.items.into_iter().map(|(_, document)| (*document).clone()).collect()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, GraphError>) -> String {
    result.unwrap_err().to_string()
}

// "Using a partitioned graph": the four ways of selecting vertices.
#[test]
fn four_selections_cost_what_they_reach() {
    let graph = people();

    let by_id = graph.traversal().v("mary").execute(NOW).unwrap();
    assert_eq!(by_id.ids(), ["mary"]);
    assert_eq!((by_id.requests, by_id.profile.fan_out(Operator::GetVertices)), (5, 5));
    // 5 × 2.5 for looking, 0.98 − 0.72 for the document found, and its few bytes.
    assert!((12_760..12_800).contains(&by_id.charge.request.milli()), "{}", by_id.charge);

    let by_tuple = graph.traversal().v(("bergen", "mary")).execute(NOW).unwrap();
    assert_eq!(by_tuple.ids(), ["mary"]);
    assert_eq!((by_tuple.requests, by_tuple.charge.to_string()), (1, "1 RU".to_owned()));
    assert_eq!(by_tuple.partitions.len(), 1);

    let tuples = graph.traversal().v([("bergen", "mary"), ("oslo", "ben"), ("oslo", "mary")]);
    let tuples = tuples.execute(NOW).unwrap();
    assert_eq!((sorted(tuples.ids()), tuples.requests), (vec!["ben", "mary"], 3));
    assert_eq!(tuples.charge.to_string(), "3 RU", "a miss is a read too");

    let within = graph.traversal().v(["mary", "thomas", "robin"]).has("city", P::within(["bergen", "oslo"]));
    let within = within.execute(NOW).unwrap();
    assert_eq!((sorted(within.ids()), within.requests), (vec!["mary", "thomas"], 2));
    let selection = Selection::Within {
        keys: vec!["bergen".into(), "oslo".into()],
        ids: ["mary", "thomas", "robin"].map(String::from).into(),
    };
    let typed = graph.traversal().v(selection).execute(NOW).unwrap();
    assert_eq!((typed.results, typed.charge), (within.results, within.charge));

    let strategy = graph.traversal().read_partitions(["oslo"]).v(()).out("knows").execute(NOW).unwrap();
    assert_eq!(strategy.ids(), ["ben"], "mary and robin lie in other partitions");
    assert_eq!(strategy.requests, 3, "vertices, edges, ben");
    let into =
        graph.traversal().read_partitions(["oslo"]).strict_fanout(true).v(("oslo", "ben")).in_("knows");
    assert_eq!(into.execute(NOW).unwrap().ids(), ["thomas"], "confined, so it does not fan out");
}

// "Using a partitioned graph": "out() direction queries" are scoped, in() asks everybody.
#[test]
fn out_is_scoped_and_in_fans_out() {
    let graph = people();
    let out = graph.traversal().v(("oslo", "thomas")).out("knows").execute(NOW).unwrap();
    let into = graph.traversal().v(("paris", "robin")).in_("knows").execute(NOW).unwrap();
    assert_eq!(sorted(out.ids()), ["ben", "mary"]);
    assert_eq!(sorted(into.ids()), ["ben", "mary"]);
    assert_eq!((out.profile.fan_out(Operator::GetEdges), into.profile.fan_out(Operator::GetEdges)), (1, 5));
    // The vertex, its edges, two neighbours.
    assert_eq!(out.requests, 1 + 1 + 2);
    assert_eq!(into.requests, 1 + 5 + 2);
    // Both read two edges and three vertices; what differs is looking in four more partitions, of which one more pays
    // the first item's 0.72 itself.
    let edges =
        |answer: &hotplate::graph::Answer| answer.profile.charge(Operator::GetEdges).request.milli() as i64;
    let difference = edges(&into) - edges(&out);
    assert!((4 * 2_500 - 720 - 20..=4 * 2_500 - 720 + 20).contains(&difference), "{difference}");
    assert_eq!(out.profile.charge(Operator::GetNeighborVertices).to_string(), "2 RU");
    let sum: u64 = into.profile.operators().iter().map(|operator| operator.charge.request.milli()).sum();
    assert_eq!(sum, into.charge.request.milli());
    assert_eq!(into.profile.to_json()[1]["storeOps"][0]["fanoutFactor"], 5);

    for (answer, fan_out) in [
        (graph.traversal().v(("oslo", "thomas")).out_e("knows").in_v().execute(NOW).unwrap(), 1),
        (graph.traversal().v(("oslo", "thomas")).both(()).execute(NOW).unwrap(), 5),
        (graph.traversal().v(("paris", "robin")).in_e(()).other_v().execute(NOW).unwrap(), 5),
    ] {
        assert_eq!(sorted(answer.ids()), ["ben", "mary"]);
        assert_eq!(answer.profile.fan_out(Operator::GetEdges), fan_out);
    }
}

#[test]
fn strict_mode_refuses_fan_outs_and_names_the_step() {
    let graph = people().strict_fanout(true);
    let two_hops = graph.traversal().v(("oslo", "thomas")).out(()).out(()).dedup().execute(NOW).unwrap();
    assert_eq!(two_hops.ids(), ["robin"]);
    for (answer, step) in [
        (graph.traversal().v("thomas").execute(NOW), "V"),
        (graph.traversal().e(()).execute(NOW), "E"),
        (graph.traversal().v(("oslo", "ben")).in_(()).execute(NOW), "in"),
        (graph.traversal().v(("oslo", "ben")).where_(__().both_e(())).execute(NOW), "bothE"),
        (graph.traversal().v(("oslo", "ben")).drop().execute(NOW), "drop"),
    ] {
        let error = answer.unwrap_err();
        assert!(matches!(&error, GraphError::FanOut(done) if done.step == step), "{error}");
        assert!(error.to_string().contains("partition key"), "{error}");
    }
    assert_eq!(documents(&graph).len(), 8, "nothing was dropped");
    assert!(graph.traversal().strict_fanout(false).v("ben").execute(NOW).is_ok());
}

#[test]
fn the_stored_form_reads_as_documents_and_documents_read_as_graph() {
    let graph = people();
    let thomas = graph.traversal().v(("oslo", "thomas"));
    let meta = [("de", json!("Deutschland"))];
    let changed = thomas.property("age", 44).property_with(Cardinality::Single, "name", "GER", meta);
    changed.execute(NOW).unwrap();
    graph.traversal().v(("oslo", "thomas")).out_e("knows").property("since", 2017).execute(NOW).unwrap();

    let key = ItemKey::new("oslo", "thomas");
    let read = graph.table().get(&key, hotplate::Consistency::Session, NOW).unwrap().item.unwrap();
    let fields: Vec<&String> = read.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "label", "city", "age", "name"]);
    assert_eq!(
        (&read["label"], &read["city"], &read["age"][0]["_value"]),
        (&json!("person"), &json!("oslo"), &json!(44))
    );
    assert_eq!(read["name"][0]["_meta"], json!({ "de": "Deutschland" }));
    assert_eq!(read["age"][0]["id"].as_str().unwrap().len(), 36);

    let edges: Vec<Value> = documents(&graph).into_iter().filter(|d| d["_sink"] == "mary").collect();
    let [edge] = edges.as_slice() else { panic!("{edges:?}") };
    let mut edge = edge.clone();
    assert_eq!(edge["id"].as_str().unwrap().len(), 36);
    edge["id"] = "…".into();
    let expected = json!({
        "id": "…", "label": "knows", "since": 2017, "city": "oslo", "_isEdge": true,
        "_vertexId": "thomas", "_vertexLabel": "person",
        "_sink": "mary", "_sinkLabel": "person", "_sinkPartition": "bergen",
    });
    assert_eq!(edge, expected);

    // And the other way round: documents written in that form, among others that are none of the graph's business.
    let put = |document: Value| {
        let key = ItemKey::new(document["city"].as_str().unwrap(), document["id"].as_str().unwrap());
        graph.table().put(&key, Arc::new(document), NOW).unwrap();
    };
    put(
        json!({ "id": "anna", "label": "person", "city": "rome", "age": [{ "id": "1", "_value": 30 }], "note": "flat" }),
    );
    put(json!({
        "id": "e1", "label": "likes", "city": "rome", "weight": 0.5, "_isEdge": true, "_vertexId": "anna",
        "_vertexLabel": "person", "_sink": "thomas", "_sinkLabel": "person", "_sinkPartition": "oslo",
    }));
    put(json!({ "id": "order-1", "city": "rome", "total": 12 }));
    put(json!({ "id": "odd", "city": "rome", "label": "person", "_isEdge": false }));
    put(json!({ "id": "half", "city": "rome", "label": "knows", "_isEdge": true, "_vertexId": "anna" }));
    let misplaced = json!({ "id": "lost", "label": "person", "city": "nowhere" });
    graph.table().put(&ItemKey::new("rome", "lost"), Arc::new(misplaced), NOW).unwrap();

    let rome = graph.traversal().v(()).has("city", "rome").execute(NOW).unwrap();
    assert_eq!(rome.ids(), ["anna"]);
    assert_eq!(
        rome.to_json(),
        json!([{ "id": "anna", "label": "person", "type": "vertex", "properties": {
            "city": [{ "id": "anna|city", "value": "rome" }],
            "age": [{ "id": "1", "value": 30 }],
        }}])
    );
    let likes = graph.traversal().v(("rome", "anna")).out_e("likes").execute(NOW).unwrap();
    assert_eq!(
        likes.to_json(),
        json!([{ "id": "e1", "label": "likes", "type": "edge", "inVLabel": "person", "outVLabel": "person",
                 "inV": "thomas", "outV": "anna", "properties": { "weight": 0.5 } }])
    );
    assert_eq!(graph.traversal().v(("rome", "anna")).out("likes").execute(NOW).unwrap().ids(), ["thomas"]);
    assert_eq!(graph.traversal().v(("oslo", "thomas")).in_("likes").execute(NOW).unwrap().ids(), ["anna"]);
    // A write keeps what the graph does not see.
    graph.traversal().v(("rome", "anna")).property("age", 31).execute(NOW).unwrap();
    let anna = documents(&graph).into_iter().find(|d| d["id"] == "anna").unwrap();
    assert_eq!((&anna["note"], &anna["age"][0]["_value"]), (&json!("flat"), &json!(31)));
}

#[test]
fn properties_have_cardinality_and_meta_properties() {
    let graph = people();
    let mary = || graph.traversal().v(("bergen", "mary"));
    let tags = mary().property_with(Cardinality::List, "tag", "a", []).property_with(
        Cardinality::List,
        "tag",
        "b",
        [("by", json!("ben")), ("at", json!(3))],
    );
    tags.execute(NOW).unwrap();
    let values = |t: hotplate::graph::Traversal<_>| t.execute(NOW).unwrap().to_json();
    assert_eq!(values(mary().values("tag")), json!(["a", "b"]));
    assert_eq!(values(mary().properties("tag").values("by")), json!(["ben"]), "a meta-property");
    assert_eq!(values(mary().properties("tag").has("at", P::gt(2)).label()), json!(["tag"]));
    assert_eq!(
        values(mary().properties("tag").properties(())),
        json!([{ "key": "by", "value": "ben" }, { "key": "at", "value": 3 }])
    );
    assert!(
        refusal(mary().properties("tag").properties(()).values(()).execute(NOW))
            .contains("The input of values() cannot be a meta or edge property.")
    );
    mary().properties("tag").properties("at").drop().execute(NOW).unwrap();
    assert_eq!(values(mary().properties("tag").properties(()).label()), json!(["by"]));
    mary().properties("tag").has("by", P::Any).drop().execute(NOW).unwrap();
    assert_eq!(values(mary().values("tag")), json!(["a"]));
    mary().property("tag", 7).execute(NOW).unwrap();
    assert_eq!(values(mary().values("tag")), json!([7]), "single replaces");
    mary().properties("tag").drop().execute(NOW).unwrap();
    assert_eq!(values(mary().values(())), json!(["bergen"]), "only the partition key is left");
    assert!(refusal(mary().properties("city").drop().execute(NOW)).contains("'city' cannot be removed"));

    let edge = || graph.traversal().v(("oslo", "ben")).out_e(());
    edge().property("since", 2020).execute(NOW).unwrap();
    assert_eq!(values(edge().values(())), json!([2020]), "the partition key is not the edge's own");
    edge().properties("since").drop().execute(NOW).unwrap();
    assert_eq!(values(edge().values(())), json!([]));
}

#[test]
fn drop_leaves_no_dangling_edge() {
    let graph = people();
    let dropped = graph.traversal().v(("paris", "robin")).drop().execute(NOW).unwrap();
    assert!(dropped.results.is_empty());
    assert_eq!(dropped.profile.fan_out(Operator::GetEdges), 5, "who points to it may lie anywhere");
    assert_eq!(dropped.profile.requests(Operator::ModifyData), 3, "two edges and the vertex");
    assert_eq!(documents(&graph).len(), 5);
    assert!(documents(&graph).iter().all(|document| document["_sink"] != "robin"));
    graph.traversal().v(("oslo", "thomas")).drop().execute(NOW).unwrap();
    assert_eq!(graph.traversal().e(()).count().execute(NOW).unwrap().to_json(), json!([0]));
    graph.traversal().v(()).drop().execute(NOW).unwrap();
    assert!(documents(&graph).is_empty());
}

#[test]
fn keys_that_are_refused() {
    let message = |path| Graph::partitioned(table(), path, Seed(1)).unwrap_err().to_string();
    for path in ["/id", "/label", "/a/b"] {
        let text = message(path);
        let service = "is invalid for Gremlin API. The path cannot be '/id', '/label' or a nested path such as '/key/path'";
        assert!(text.starts_with(&format!("Partition key path {path} {service}")), "{text}");
    }
    for path in ["", "/", "city", "/_isEdge", "/_ts"] {
        assert!(message(path).contains("names no property of your own"), "{path}");
    }
    let dynamodb = Table::new("t", Profile::dynamodb_on_demand(), NOW).unwrap();
    let error = Graph::partitioned(Arc::new(dynamodb), "/city", Seed(1)).unwrap_err();
    assert!(error.to_string().contains("create it with a Cosmos profile"));

    let graph = empty();
    let vertex = |city: Value| {
        graph.traversal().add_v("person").property("id", "x").property("city", city).execute(NOW)
    };
    let null = "Cannot add a vertex where the partition key property has value 'null'.";
    assert!(refusal(graph.traversal().add_v("person").execute(NOW)).contains(null));
    assert!(refusal(vertex(Value::Null)).contains(null));
    assert!(refusal(vertex(json!(["a"]))).contains("Partition property must be single-valued"));
    assert!(refusal(vertex(json!({}))).contains("'city'"));
    assert!(refusal(vertex(json!("x".repeat(2_049)))).contains("over 2048 bytes"));
    let twice = graph.traversal().add_v("person").property("city", "a").property("city", "b");
    assert!(refusal(twice.execute(NOW)).contains("Partition property must be single-valued"));
    vertex(json!(true)).unwrap();
    let by_flag = graph.traversal().v((KeyValue::Bool(true), "x")).property("city", "oslo");
    assert!(refusal(by_flag.execute(NOW)).contains("partition key property 'city' cannot be changed"));
    assert_eq!(documents(&graph).len(), 1);
}

#[test]
fn inputs_that_are_refused_name_the_property_and_say_what_to_do() {
    let graph = people();
    let vertex = |key: &str, value: Value| {
        graph.traversal().add_v("person").property("city", "oslo").property(key, value).execute(NOW)
    };
    for (key, value, text) in [
        ("id", json!(5), "put it in quotes"),
        ("id", json!(""), "1 to 1023"),
        ("id", json!("x".repeat(1_024)), "1 to 1023"),
        ("id", json!("a/b"), "may not contain '/'"),
        ("id", json!("a#b"), "may not contain '#'"),
        ("age", json!(null), "'age' must be a string, a number or a boolean"),
        ("age", json!([1, 2]), "property(list, …)"),
        ("age", json!({ "years": 1 }), "'age' must be"),
        ("_sink", json!("x"), "'_sink' cannot be the name"),
        ("label", json!("x"), "'label' cannot be the name"),
        ("", json!("x"), "cannot be the name"),
    ] {
        let error = refusal(vertex(key, value));
        assert!(error.starts_with("addV(): ") && error.contains(text), "{error}");
    }
    let exists = vertex("id", json!("ben")).unwrap_err();
    assert!(matches!(&exists, GraphError::Exists(key, done) if key.id == "ben" && !done.charge.is_zero()));

    let edge = || graph.traversal().v(("oslo", "ben")).add_e("knows");
    assert!(
        refusal(edge().to(__().v(("oslo", "nobody"))).execute(NOW))
            .contains("leads nowhere: to() finds no vertex")
    );
    assert!(
        refusal(edge().to(__().v(("oslo", "ben")).out_e(())).execute(NOW))
            .contains("AddE should follow by a Vertex")
    );
    assert!(
        refusal(graph.traversal().add_e("knows").execute(NOW)).contains("AddE should follow by a Vertex")
    );
    assert!(refusal(graph.traversal().v(("oslo", "ben")).add_e("").execute(NOW)).contains("needs a label"));
    let elsewhere = edge().to(__().v(("paris", "robin"))).property("city", "paris").execute(NOW);
    assert!(refusal(elsewhere).contains(
        "The inserted edge has a partition property, but the property value is different from that of the source vertex."
    ));
    let list = edge().to(__().v(("paris", "robin"))).property_with(Cardinality::List, "tag", 1, []);
    assert!(refusal(list.execute(NOW)).contains("'tag' of an edge has one value"));
    edge().to(__().v(("paris", "robin"))).property("city", "oslo").execute(NOW).unwrap();

    let endless = graph.traversal().v(("oslo", "ben")).repeat(__().both(()).limit(1)).emit().limit(1_000);
    assert!(refusal(endless.execute(NOW)).contains("at most 32 times, the limit of the service"));
    let body = graph.traversal().v(()).until(__().out(()));
    assert!(refusal(body.execute(NOW)).contains("belong to a repeat()"));
    let bare = Step::Repeat(Box::<Repeat>::default());
    assert!(refusal(graph.traversal().v(()).push(bare).execute(NOW)).contains("belong to a repeat()"));

    assert!(refusal(graph.traversal().out(()).execute(NOW)).contains("select vertices first"));
    assert!(refusal(graph.traversal().v(()).out_v().execute(NOW)).contains("only edges have ends"));
    assert!(
        refusal(graph.traversal().v(()).values("city").values(()).execute(NOW)).contains("wants elements")
    );
    assert!(
        refusal(graph.traversal().e(()).other_v().execute(NOW)).contains("where the traverser came from")
    );
    assert!(refusal(graph.traversal().v(()).range(3, 2).execute(NOW)).contains("turned around"));
    assert!(
        refusal(graph.traversal().v(()).count().by("x").execute(NOW))
            .contains("does not support by(traversal)")
    );
    assert!(refusal(graph.traversal().v(()).to(__()).execute(NOW)).contains("follow addE()"));
    let nothing = graph.traversal().v(()).project("age").by("age").execute(NOW);
    assert!(
        refusal(nothing).contains("Project By: Next: The provided traverser of key \"age\" maps to nothing.")
    );
    assert!(refusal(graph.traversal().v(()).dedup().by("age").execute(NOW)).contains("Deduplicate: Next:"));
    assert_eq!(documents(&graph).len(), 9, "one edge was added");
}

#[test]
fn everything_has_a_bound() {
    let graph = people();
    let deep = (0..100_000).fold(__(), |inner, _| __().where_(inner));
    assert!(refusal(graph.traversal().v(()).where_(deep).execute(NOW)).contains("nest at most 32 deep"));
    let long = (0..STEPS_MAX).fold(graph.traversal().v(()), |traversal, _| traversal.has("city", "oslo"));
    assert!(refusal(long.execute(NOW)).contains("at most 400 steps"));
    let longest = (0..STEPS_MAX - 2).fold(graph.traversal().v(()).dedup(), |traversal, _| traversal.out(()));
    assert!(longest.execute(NOW).unwrap().results.is_empty(), "400 steps fit on the stack");
    let wide = (0..6).fold(graph.traversal().v(()), |t, _| t.union((0..10).map(|_| __().fold().unfold())));
    let wide = wide.execute(NOW);
    assert!(refusal(wide).contains(&format!("more than {FRONTIER_MAX} traversers wait")));
    let heavy = graph.traversal().v(()).repeat(__().project(["a", "b"])).times(30).execute(NOW);
    assert!(refusal(heavy).contains("holds at most 100000 others"));
    let nested =
        graph.traversal().v(()).repeat(__().fold()).times(32).repeat(__().fold()).times(2).execute(NOW);
    assert!(refusal(nested).contains("32 deep"));
    let rounds = |inner: hotplate::graph::Traversal| __().repeat(inner).times(32);
    let forever = rounds(rounds(rounds(rounds(rounds(__().unfold())))));
    assert!(
        refusal(graph.traversal().v(()).union([forever]).execute(NOW)).contains("handles at most 10000000")
    );
}

#[test]
fn a_throttle_says_what_was_done_and_what_remains() {
    let profile = Profile::cosmos_manual(400).unwrap();
    let graph =
        Graph::partitioned(Arc::new(Table::new("small", profile, NOW).unwrap()), "/city", Seed(7)).unwrap();
    let clock = Clock::manual();
    let tick = || clock.advance(std::time::Duration::from_secs(2));
    for i in 0..100 {
        add_at(&graph, &format!("v{i:02}"), tick());
    }
    let now = tick();
    let write = graph.traversal().v(()).property("seen", true).execute(now).unwrap_err();
    let GraphError::Throttled(throttled, done) = &write else { panic!("{write}") };
    assert_eq!(done.step, "property");
    assert!(!done.written.is_empty() && done.written.len() + done.remaining.len() == 100);
    assert!(done.charge.request.milli() >= 400_000, "it spent its second: {}", done.charge);
    let again = graph.traversal().v(()).has("seen", true).execute(now.after(throttled.retry_after)).unwrap();
    let mut written: Vec<&str> = done.written.iter().map(|key| key.id.as_str()).collect();
    written.sort_unstable();
    assert_eq!(sorted(again.ids()), written, "what it says was written is written, and nothing else");

    // Dropping a hub under load: edges go first, so at no time does one dangle, and the rest is named.
    for i in 1..100 {
        let to = format!("v{i:02}");
        graph.traversal().v(("oslo", "v00")).add_e("knows").to(__().v(("oslo", to))).execute(tick()).unwrap();
    }
    let error = graph.traversal().v(("oslo", "v00")).drop().execute(tick()).unwrap_err();
    let done = error.done();
    assert!(!done.written.is_empty() && done.written.len() + done.remaining.len() == 100, "{error}");
    assert_eq!(done.remaining.last().unwrap().to_string(), "['oslo', 'v00']");
    let left = graph.traversal().e(()).count().execute(tick()).unwrap();
    assert_eq!(left.to_json(), json!([done.remaining.len() - 1]));
    while graph.traversal().v(("oslo", "v00")).drop().execute(tick()).is_err() {}
    let left = graph.traversal().union([__().e(()).count(), __().v(()).count()]).execute(tick()).unwrap();
    assert_eq!(left.to_json(), json!([0, 99]));
}

fn add_at(graph: &Graph, id: &str, now: Instant) {
    graph.traversal().add_v("person").property("id", id).property("city", "oslo").execute(now).unwrap();
}

#[test]
fn limit_stops_reading_early() {
    let graph = empty();
    let (mut now, second) = (NOW, std::time::Duration::from_secs(1));
    for i in 0..300 {
        now = now.after(second);
        add_at(&graph, &format!("v{i:03}"), now);
    }
    let read = |answer: &hotplate::graph::Answer| -> u64 {
        answer.profile.operators().iter().map(|o| o.count).sum()
    };
    let first = graph.traversal().v(()).limit(5).execute(now.after(second)).unwrap();
    assert_eq!((first.results.len(), read(&first)), (5, 5));
    let page =
        graph.traversal().v(()).where_(__().has("city", "oslo")).limit(5).execute(now.after(second)).unwrap();
    assert_eq!((page.results.len(), read(&page)), (5, 300), "a filter at run time reads a page ahead");
    let union = __().v(()).limit(2);
    let union = graph.traversal().union([union.clone(), union, __().v("v007")]).dedup().limit(2);
    assert_eq!(read(&union.execute(now.after(second)).unwrap()), 2, "the branches behind are not asked");
}

#[test]
fn steps_compose() {
    let graph = people();
    let json = |t: hotplate::graph::Traversal<_>| t.execute(NOW).unwrap().to_json();
    let g = || graph.traversal();
    g().v(("oslo", "thomas")).property("age", 44).execute(NOW).unwrap();
    g().v(("bergen", "mary")).property("age", 39).execute(NOW).unwrap();
    let old = g().v(()).has("age", P::gte(40)).id();
    assert_eq!(json(old), json!(["thomas"]));
    assert_eq!(
        json(g().v(()).has_label("person").order().by(By::Id).range(1, 3).id()),
        json!(["mary", "robin"])
    );
    assert_eq!(json(g().v(()).order().by_order(By::Id, Sort::Descending).limit(1).id()), json!(["thomas"]));
    assert_eq!(
        json(g().v(()).group().by("city").by(__().count())),
        json!([{ "bergen": 1, "oslo": 2, "paris": 1 }])
    );
    assert_eq!(
        json(g().v(()).where_(__().out(()).has_id("robin")).order().by(By::Id).id()),
        json!(["ben", "mary"])
    );
    let project = g().v(("oslo", "thomas")).project(["who", "knows"]).by(By::Id).by(__().out(()).count());
    assert_eq!(json(project), json!([{ "who": "thomas", "knows": 2 }]));
    let paths = g().v(("oslo", "thomas")).repeat(__().out(())).times(2).path().by(By::Id).order();
    let ids = |path: [&str; 3]| json!({ "labels": [[], [], []], "objects": path });
    let expected = json!([ids(["thomas", "ben", "robin"]), ids(["thomas", "mary", "robin"])]);
    assert_eq!(json(paths), expected);
    let until = g().v(("oslo", "thomas")).repeat(__().out(())).until(__().has_id("robin")).dedup().id();
    assert_eq!(json(until), json!(["robin"]));
    let emit = g().v(("oslo", "thomas")).emit().repeat(__().out(())).times(2).dedup().id().order();
    assert_eq!(json(emit), json!(["ben", "mary", "robin", "thomas"]));
    let upsert = |id: &str| {
        let add = __().add_v("person").property("id", id).property("city", "rome");
        json(g().v(("rome", id)).fold().coalesce([__().unfold(), add]).id())
    };
    assert_eq!((upsert("anna"), upsert("anna")), (json!(["anna"]), json!(["anna"])));
    assert_eq!(json(g().v(()).count()), json!([5]));
    assert_eq!(json(g().v(()).union([__().count(), __().values("age").is(P::lt(40))])), json!([5, 39]));
}

#[test]
fn a_graph_without_a_partition_key_never_fans_out() {
    let graph = Graph::unpartitioned(table(), Seed(3)).unwrap().strict_fanout(true);
    for id in ["a", "b"] {
        graph.traversal().add_v("").property("id", id).property("n", 1).execute(NOW).unwrap();
    }
    graph.traversal().v("a").add_e("to").to(__().v("b")).execute(NOW).unwrap();
    let back = graph.traversal().v("b").in_(()).execute(NOW).unwrap();
    assert_eq!((back.ids(), back.requests), (vec!["a"], 3));
    assert!(refusal(graph.traversal().v(("x", "a")).execute(NOW)).contains("has no partition key"));
    assert!(
        refusal(graph.traversal().read_partitions(["x"]).v(()).execute(NOW)).contains("has no partition key")
    );
    graph.traversal().v("b").drop().execute(NOW).unwrap();
    assert_eq!(documents(&graph), [json!({ "id": "a", "label": "vertex", "n": documents(&graph)[0]["n"] })]);
}

#[test]
fn same_seed_same_bytes() {
    let run = || {
        let graph = people();
        graph.traversal().v(()).property("age", 1).execute(NOW).unwrap();
        (documents(&graph), graph.traversal().v(()).both(()).path().execute(NOW).unwrap())
    };
    assert_eq!(run(), run());
}
