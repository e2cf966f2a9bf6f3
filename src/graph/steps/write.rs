//! Steps that write: `addV`, `addE`, `property`, `drop`. Each document is written by one request, all or nothing; a step
//! that ends half-way says which of its elements remain.
//!
//! All of a step's input is there before it writes, so a traversal never meets what it has just written.
//! Edges are removed before their vertices: whatever comes in between, none is left dangling. (An edge that someone else
//! adds to a vertex while it is being removed may be, as in the service.)

use super::edges::touching;
use super::{Traverser, each};
use crate::cluster::Change;
use crate::graph::element::{Edge, ElementKey, Schema, Vertex, is_reserved};
use crate::graph::error::{Fault, Outcome};
use crate::graph::run::Run;
use crate::graph::step::{Cardinality, NewProperty, Step};
use crate::graph::traversal::Traversal;
use crate::graph::value::GraphValue;
use crate::graph::{ID_BYTES_MAX, PARTITION_KEY_BYTES_MAX};
use crate::key::{ItemKey, SortKey};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn apply(
    step: &Step,
    at: usize,
    input: Vec<Traverser>,
    run: &mut Run<'_>,
) -> Outcome<Vec<Traverser>> {
    let mut output = Vec::with_capacity(input.len());
    let keys =
        |rest: &[Traverser]| rest.iter().filter_map(|traverser| element_key(&traverser.value)).collect();
    let ends = match step {
        Step::Drop => return remove(&input, run).map(|()| output),
        Step::AddE { from, to, .. } => {
            let to_at = at + 1 + from.as_ref().map_or(0, Traversal::total);
            let from_ends = edge_ends(from.as_ref(), at + 1, &input, run);
            let both = from_ends.and_then(|from| Ok((from, edge_ends(to.as_ref(), to_at, &input, run)?)));
            let (from_ends, to_ends) = both.inspect_err(|_| run.remaining = keys(&input))?;
            from_ends.into_iter().zip(to_ends).collect()
        }
        _ => Vec::new(),
    };
    for (i, traverser) in input.iter().enumerate() {
        let added = match step {
            Step::AddV(label, properties) => add_vertex(label, properties, run).map(GraphValue::Vertex),
            Step::AddE { label, properties, .. } => {
                add_edge(label, &ends[i], properties, run).map(GraphValue::Edge)
            }
            Step::Property(property) => set_property(&traverser.value, property, run),
            _ => Ok(traverser.value.clone()),
        };
        let added = added.inspect_err(|_| run.remaining = keys(&input[i..]))?;
        output.push(match step {
            Step::Property(_) => traverser.amended(added),
            // This one is written: only a path can be too long now.
            _ => traverser.to(added, run).inspect_err(|_| run.remaining = keys(&input[i + 1..]))?,
        });
    }
    Ok(output)
}

/// The element that a value is, or belongs to.
fn element_key(value: &GraphValue) -> Option<ElementKey> {
    match value {
        GraphValue::Vertex(vertex) => Some(vertex.key()),
        GraphValue::Edge(edge) => Some(edge.key()),
        property => property_owner(property).map(owner),
    }
}

/// Where the document lies that has this property.
fn property_owner(value: &GraphValue) -> Option<&ItemKey> {
    match value {
        GraphValue::VertexProperty(property) => Some(&property.vertex),
        GraphValue::Property(property) => Some(&property.element),
        _ => None,
    }
}

/// The identity of the document at this key: an id is kept in it as the text of a sort key.
fn owner(key: &ItemKey) -> ElementKey {
    let id = match key.sort.as_bytes() {
        // A NUL in it is kept as two bytes, the second of which is no UTF-8.
        [_, text @ .., _] => String::from_utf8_lossy(text).replace("\0\u{fffd}", "\0"),
        _ => String::new(),
    };
    ElementKey { partition: key.partition.clone(), id }
}

/// A property value must be text, a number or a boolean ("Support": no objects, no null; a list is several values).
fn check_value(name: &str, value: &Value) -> Outcome<()> {
    let wrong = match value {
        Value::Null => "null",
        Value::Array(_) => "an array: add each value by property(list, …)",
        Value::Object(_) => "an object: give each of its members a property of its own",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(()),
    };
    Err(Fault::invalid(format!("property '{name}' must be a string, a number or a boolean, and is {wrong}")))
}

fn check_name(name: &str) -> Outcome<()> {
    if name.is_empty() || is_reserved(name) {
        return Err(Fault::invalid(format!(
            "'{name}' cannot be the name of a property here: choose another"
        )));
    }
    Ok(())
}

/// An id must be usable as one ("Service quotas": 1,023 bytes; the SDKs refuse the four characters).
fn check_id(value: &Value) -> Outcome<String> {
    let Some(id) = value.as_str() else {
        return Err(Fault::invalid(format!(
            "property 'id' must be a string, and is {value}: put it in quotes"
        )));
    };
    if id.is_empty() || id.len() > ID_BYTES_MAX {
        return Err(Fault::invalid(format!(
            "property 'id' has {} bytes: it may have 1 to {ID_BYTES_MAX}",
            id.len()
        )));
    }
    if let Some(bad) = id.chars().find(|c| matches!(c, '/' | '\\' | '?' | '#')) {
        return Err(Fault::invalid(format!("property 'id' may not contain '{bad}': {id:?}")));
    }
    Ok(id.to_owned())
}

/// The value of the partition key among the properties of a new vertex.
fn partition_value(name: &str, properties: &[NewProperty]) -> Outcome<Value> {
    let mut given = properties.iter().filter(|property| property.key == name);
    // The service's text.
    let absent = || {
        Fault::invalid(format!(
            "Cannot add a vertex where the partition key property has value 'null'. Give it by property('{name}', …)"
        ))
    };
    let property = given.next().ok_or_else(absent)?;
    let several =
        given.next().is_some() || property.cardinality == Cardinality::List || !property.meta.is_empty();
    match &property.value {
        Value::Null => Err(absent()),
        value if several || value.is_array() => Err(Fault::invalid(format!(
            "Partition property must be single-valued: give '{name}' once, as a string, a number or a boolean"
        ))),
        value if value.as_str().is_some_and(|text| text.len() > PARTITION_KEY_BYTES_MAX) => {
            Err(Fault::invalid(format!(
                "partition key property '{name}' is over {PARTITION_KEY_BYTES_MAX} bytes: shorten it"
            )))
        }
        value => check_value(name, value).map(|()| value.clone()),
    }
}

/// A new document under a new or a given id, and where it goes.
fn place(
    schema: &Schema,
    partition_value: Option<&Value>,
    fields: &Map<String, Value>,
) -> Outcome<(ItemKey, ElementKey)> {
    let Some(partition) = schema.partition(partition_value) else {
        return Err(Fault::invalid("the partition key must be a string, a number or a boolean"));
    };
    let id = fields.get("id").and_then(Value::as_str).unwrap_or_default();
    let key = ItemKey { partition: partition.clone(), sort: SortKey::text(id) };
    Ok((key, ElementKey { partition, id: id.to_owned() }))
}

/// The id among the properties, or a new one, and the other properties.
fn split_id<'p>(properties: &'p [NewProperty], run: &Run<'_>) -> Outcome<(String, Vec<&'p NewProperty>)> {
    let (ids, others): (Vec<_>, Vec<_>) = properties.iter().partition(|property| property.key == "id");
    let id = match ids.as_slice() {
        [] => run.graph.new_id(),
        [only] => check_id(&only.value)?,
        _ => return Err(Fault::invalid("property 'id' is given twice")),
    };
    Ok((id, others))
}

fn add_vertex(label: &str, properties: &[NewProperty], run: &mut Run<'_>) -> Outcome<Vertex> {
    let graph = run.graph;
    let (id, properties_but_id) = split_id(properties, run)?;
    // `addV()` without a label makes a `vertex`, as in TinkerPop.
    let label = if label.is_empty() { "vertex" } else { label };
    let mut fields = Map::from_iter([("id".into(), id.into()), ("label".into(), label.into())]);
    let name = graph.partition_key();
    let value = name.map(|name| partition_value(name, properties)).transpose()?;
    if let (Some(name), Some(value)) = (name, &value) {
        fields.insert(name.to_owned(), value.clone());
    }
    for property in properties_but_id.into_iter().filter(|property| Some(&*property.key) != name) {
        put_vertex_property(&mut fields, property, graph.new_id())?;
    }
    let (key, element) = place(&graph.schema, value.as_ref(), &fields)?;
    let document = Arc::new(Value::Object(fields));
    let written = graph.table.put_if(&key, Arc::clone(&document), run.now, |old| old.is_none());
    run.write(written, element, Some(&document), Fault::Exists)?;
    graph.schema.vertex(&key, &document).ok_or_else(|| Fault::invalid("this vertex cannot be stored"))
}

/// Enters a property into a vertex document.
fn put_vertex_property(fields: &mut Map<String, Value>, property: &NewProperty, id: String) -> Outcome<()> {
    check_name(&property.key)?;
    check_value(&property.key, &property.value)?;
    let mut entry = json!({ "id": id, "_value": property.value });
    if !property.meta.is_empty() {
        let mut meta = Map::new();
        for (name, value) in &property.meta {
            if name.is_empty() {
                return Err(Fault::invalid(format!(
                    "a meta-property of '{}' has no name: give it one",
                    property.key
                )));
            }
            check_value(&format!("{}.{name}", property.key), value)?;
            meta.insert(name.clone(), value.clone());
        }
        entry["_meta"] = meta.into();
    }
    match fields.get_mut(&property.key).and_then(Value::as_array_mut) {
        Some(values) if property.cardinality == Cardinality::List => values.push(entry),
        _ => {
            fields.insert(property.key.clone(), Value::Array(vec![entry]));
        }
    }
    Ok(())
}

/// Enters a property into an edge document.
fn put_edge_property(fields: &mut Map<String, Value>, property: &NewProperty) -> Outcome<()> {
    check_name(&property.key)?;
    check_value(&property.key, &property.value)?;
    if property.cardinality == Cardinality::List || !property.meta.is_empty() {
        return Err(Fault::invalid(format!(
            "property '{}' of an edge has one value and no meta-properties: only vertices have more",
            property.key
        )));
    }
    fields.insert(property.key.clone(), property.value.clone());
    Ok(())
}

/// One end of the new edge of each traverser: the first vertex that `end` finds, or the traverser's own.
fn edge_ends(
    end: Option<&Traversal>,
    at: usize,
    input: &[Traverser],
    run: &mut Run<'_>,
) -> Outcome<Vec<Option<GraphValue>>> {
    match end {
        None => Ok(input.iter().map(|traverser| Some(traverser.value.clone())).collect()),
        Some(end) => {
            let found = each(end, at, input, true, run)?;
            Ok(found.into_iter().map(|found| found.into_iter().next().map(|t| t.value)).collect())
        }
    }
}

fn add_edge(
    label: &str,
    ends: &(Option<GraphValue>, Option<GraphValue>),
    properties: &[NewProperty],
    run: &mut Run<'_>,
) -> Outcome<Edge> {
    let graph = run.graph;
    if label.is_empty() {
        return Err(Fault::invalid("an edge needs a label: addE('knows')"));
    }
    let vertex = |end: &'_ Option<GraphValue>, name: &str| match end {
        Some(GraphValue::Vertex(vertex)) => Ok(vertex.clone()),
        Some(other) => Err(Fault::invalid(format!(
            "AddE should follow by a Vertex: {name}() of edge '{label}' is {}",
            other.kind()
        ))),
        None => Err(Fault::invalid(format!(
            "edge '{label}' leads nowhere: {name}() finds no vertex. Add the vertex first"
        ))),
    };
    let (source, target) = (vertex(&ends.0, "from")?, vertex(&ends.1, "to")?);
    let (id, properties) = split_id(properties, run)?;
    let mut fields = Map::from_iter([("id".into(), id.into()), ("label".into(), label.into())]);
    let name = graph.partition_key();
    let of = |vertex: &Vertex| name.and_then(|name| vertex.document().get(name)).cloned();
    let (value, sink_value) = (of(&source), of(&target));
    for property in properties {
        if Some(&*property.key) != name {
            put_edge_property(&mut fields, property)?;
        } else if graph.schema.partition(Some(&property.value)) != graph.schema.partition(value.as_ref()) {
            // The service's text.
            return Err(Fault::invalid(
                "The inserted edge has a partition property, but the property value is different from that of the source \
                 vertex.",
            ));
        }
    }
    let mut set = |field: &str, value: Value| fields.insert(field.to_owned(), value);
    set("_isEdge", true.into());
    set("_vertexId", source.id().into());
    set("_vertexLabel", source.label().into());
    set("_sink", target.id().into());
    set("_sinkLabel", target.label().into());
    if let (Some(name), Some(value), Some(sink_value)) = (name, &value, sink_value) {
        set("_sinkPartition", sink_value);
        set(name, value.clone());
    }
    let (key, element) = place(&graph.schema, value.as_ref(), &fields)?;
    let document = Arc::new(Value::Object(fields));
    let written = graph.table.put_if(&key, Arc::clone(&document), run.now, |old| old.is_none());
    run.write(written, element, Some(&document), Fault::Exists)?;
    graph.schema.edge(&key, &document).ok_or_else(|| Fault::invalid("this edge cannot be stored"))
}

/// Reads the document, changes it and replaces it, as the service does, in one step nobody can come between.
fn change(
    key: &ItemKey,
    run: &mut Run<'_>,
    edit: impl FnOnce(&mut Map<String, Value>) -> Outcome<()>,
) -> Outcome<Arc<Value>> {
    let (mut changed, mut fault) = (None, None);
    let written = run.graph.table.update(key, run.now, |old| {
        let Some(mut fields) = old.and_then(|document| document.as_object()).cloned() else {
            return Change::Refuse;
        };
        if let Err(wrong) = edit(&mut fields) {
            fault = Some(wrong);
            return Change::Refuse;
        }
        let document = Arc::new(Value::Object(fields));
        changed = Some(Arc::clone(&document));
        Change::Put(document)
    });
    run.write(written, owner(key), changed.as_ref(), |key| {
        fault.unwrap_or_else(|| Fault::invalid(format!("{key} was removed meanwhile: nothing to change")))
    })?;
    changed.ok_or_else(|| Fault::invalid("nothing was changed"))
}

fn set_property(value: &GraphValue, property: &NewProperty, run: &mut Run<'_>) -> Outcome<GraphValue> {
    let graph = run.graph;
    let fixed = match property.key.as_str() {
        "id" | "label" => Some(format!("'{}' of an element cannot be changed", property.key)),
        name if Some(name) == graph.partition_key() => {
            Some(format!("partition key property '{name}' cannot be changed"))
        }
        _ => None,
    };
    if let Some(fixed) = fixed {
        return Err(Fault::invalid(format!("{fixed}: drop the element and add it anew")));
    }
    let gone = || Fault::invalid("the document is no longer an element of the graph");
    match value {
        GraphValue::Vertex(vertex) => {
            let (key, id) = (vertex.item_key(), graph.new_id());
            let document = change(key, run, |fields| put_vertex_property(fields, property, id))?;
            graph.schema.vertex(key, &document).map(GraphValue::Vertex).ok_or_else(gone)
        }
        GraphValue::Edge(edge) => {
            let key = edge.item_key();
            let document = change(key, run, |fields| put_edge_property(fields, property))?;
            graph.schema.edge(key, &document).map(GraphValue::Edge).ok_or_else(gone)
        }
        other => Err(Fault::invalid(format!(
            "property '{}' wants a vertex or an edge, and this is {}",
            property.key,
            other.kind()
        ))),
    }
}

/// Removes vertices with all their edges, edges, and properties, each once.
fn remove(input: &[Traverser], run: &mut Run<'_>) -> Outcome<()> {
    let mut vertices = BTreeMap::new();
    let mut doomed: BTreeMap<&ItemKey, ElementKey> = BTreeMap::new();
    let (mut properties, mut seen) = (Vec::new(), BTreeSet::new());
    for traverser in input {
        match &traverser.value {
            GraphValue::Vertex(vertex) => {
                vertices.insert(vertex.item_key(), traverser);
            }
            GraphValue::Edge(edge) => {
                doomed.insert(edge.item_key(), edge.key());
            }
            value @ (GraphValue::VertexProperty(_) | GraphValue::Property(_)) => {
                if seen.insert(value.identity()) {
                    properties.push(value);
                }
            }
            other => {
                return Err(Fault::invalid(format!(
                    "drop() removes elements and properties, not {}",
                    other.kind()
                )));
            }
        }
    }
    let touching = if vertices.is_empty() {
        Vec::new()
    } else {
        let found = touching(vertices.values().map(|traverser| (*traverser).clone()).collect(), run);
        found.inspect_err(|_| {
            let all = input.iter().filter_map(|traverser| element_key(&traverser.value));
            run.remaining = all.collect();
        })?
    };
    doomed.extend(touching.iter().map(|edge| (edge.item_key(), edge.key())));
    // What goes takes its properties along.
    properties.retain(|property| {
        let key = property_owner(property);
        key.is_some_and(|key| !doomed.contains_key(key) && !vertices.contains_key(key))
    });
    let owners = |properties: &[&GraphValue]| -> Vec<ElementKey> {
        properties.iter().filter_map(|property| element_key(property)).collect()
    };
    // Edges first, then the vertices they hang on.
    let order = doomed.into_iter().chain(
        vertices.into_iter().filter_map(|(key, traverser)| Some((key, element_key(&traverser.value)?))),
    );
    let order: Vec<(&ItemKey, ElementKey)> = order.collect();
    for (i, (key, element)) in order.iter().enumerate() {
        let written = run.graph.table.delete(key, run.now);
        let written =
            run.write(written, element.clone(), None, |_| Fault::invalid("a removal has no condition"));
        written.inspect_err(|_| {
            run.remaining = order[i..].iter().map(|(_, element)| element.clone()).collect();
            run.remaining.extend(owners(&properties));
        })?;
    }
    for (i, property) in properties.iter().enumerate() {
        remove_property(property, run).inspect_err(|_| run.remaining = owners(&properties[i..]))?;
    }
    Ok(())
}

fn remove_property(value: &GraphValue, run: &mut Run<'_>) -> Outcome<()> {
    let (key, name, id, meta) = match value {
        GraphValue::VertexProperty(property) => (&property.vertex, &property.key, Some(&property.id), None),
        GraphValue::Property(property) => match &property.of {
            Some((name, id)) => (&property.element, name, Some(id), Some(&property.key)),
            None => (&property.element, &property.key, None, None),
        },
        _ => return Ok(()),
    };
    if Some(&**name) == run.graph.partition_key() {
        return Err(Fault::invalid(format!(
            "partition key property '{name}' cannot be removed: drop the element instead"
        )));
    }
    change(key, run, |fields| {
        let (Some(id), Some(values)) = (id, fields.get_mut(name).and_then(Value::as_array_mut)) else {
            fields.shift_remove(name);
            return Ok(());
        };
        let is_it = |entry: &Value| entry.get("id").and_then(Value::as_str) == Some(id);
        match meta {
            None => values.retain(|entry| !is_it(entry)),
            Some(meta) => {
                for entry in values.iter_mut().filter(|entry| is_it(entry)) {
                    if let Some(all) = entry.get_mut("_meta").and_then(Value::as_object_mut) {
                        all.shift_remove(meta);
                        if all.is_empty()
                            && let Some(entry) = entry.as_object_mut()
                        {
                            entry.shift_remove("_meta");
                        }
                    }
                }
            }
        }
        if values.is_empty() {
            fields.shift_remove(name);
        }
        Ok(())
    })
    .map(|_| ())
}
