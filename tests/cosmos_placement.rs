//! A key lands in the partition key range to which the Cosmos DB SDKs route it.
//!
//! `data/cosmos-epk.json` was made by running azure-cosmos 4.17.1 (PyPI), @azure/cosmos 4.9.3 (npm) and a
//! third implementation on the mmh3 package. Rows marked `all-agree` are what all three compute, and are
//! asserted. Rows marked `sdks-differ` are V1 keys that the SDKs themselves route to different places: they
//! are only counted. Layout bounds follow the file's `rules`.

use hotplate::key::{EffectivePartitionKey, EpkVersion, KeyValue, PartitionKey, even_bounds};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("data/cosmos-epk.json")).expect("the vectors are JSON")
}

/// The rows of `vectors` with this mark.
fn rows<'a>(vectors: &'a Value, trust: &str) -> Vec<&'a Value> {
    vectors["vectors"].as_array().unwrap().iter().filter(|row| row["trust"] == trust).collect()
}

fn key_value(json: &Value) -> KeyValue {
    match json {
        Value::Null => KeyValue::Null,
        Value::Bool(b) => KeyValue::Bool(*b),
        Value::Number(n) => KeyValue::Number(n.as_f64().unwrap()),
        Value::String(s) => s.as_str().into(),
        Value::Object(o) if o.contains_key("$undefined") => KeyValue::Undefined,
        Value::Object(o) => KeyValue::Number(o["$number"].as_str().unwrap().parse().unwrap()),
        Value::Array(_) => panic!("no key value: {json}"),
    }
}

fn key_values(row: &Value) -> Vec<KeyValue> {
    row["values"].as_array().unwrap().iter().map(key_value).collect()
}

fn version(row: &Value) -> EpkVersion {
    match row["version"].as_u64() {
        Some(1) => EpkVersion::V1,
        Some(2) => EpkVersion::V2,
        other => panic!("no version: {other:?}"),
    }
}

#[test]
fn keys_hash_as_in_the_sdks() {
    let vectors = vectors();
    let rows = rows(&vectors, "all-agree");
    assert_eq!(rows.len(), 177);
    for row in rows {
        let key = PartitionKey::levels(&key_values(row)).unwrap();
        assert_eq!(EffectivePartitionKey::of(&key, version(row)).to_string(), row["epk"], "{row}");
    }
}

#[test]
fn prefixes_of_hierarchical_keys_are_the_ranges_of_the_sdks() {
    let vectors = vectors();
    let mut rows = rows(&vectors, "all-agree");
    rows.retain(|row| row["prefix"] == true);
    assert_eq!(rows.len(), 15);
    for row in rows {
        let (start, end) = EffectivePartitionKey::prefix_range(&key_values(row)).unwrap();
        assert_eq!(
            [start.to_string(), end.to_string()].as_slice(),
            row["range"].as_array().unwrap(),
            "{row}"
        );
    }
}

#[test]
fn every_row_is_asserted_or_known_to_be_in_dispute() {
    let vectors = vectors();
    let disputed = rows(&vectors, "sdks-differ");
    assert_eq!(disputed.len(), 11);
    assert_eq!(vectors["vectors"].as_array().unwrap().len(), 177 + disputed.len());
    assert!(disputed.iter().all(|row| version(row) == EpkVersion::V1), "nobody disputes V2");
}

#[test]
fn new_containers_are_laid_out_evenly() {
    let vectors = vectors();
    let layouts = vectors["layouts"].as_array().unwrap();
    assert_eq!(layouts.len(), 11);
    for layout in layouts {
        let partitions = layout["n"].as_u64().unwrap() as u32;
        for (name, version) in [("v1", EpkVersion::V1), ("v2", EpkVersion::V2)] {
            let inner = even_bounds(partitions, version).into_iter().map(|bound| bound.to_string());
            let bounds: Vec<_> =
                std::iter::once(String::new()).chain(inner).chain(std::iter::once("FF".to_owned())).collect();
            assert_eq!(bounds.as_slice(), layout[name].as_array().unwrap(), "{name} of {partitions}");
        }
    }
}

#[test]
fn many_keys_fill_an_even_layout_evenly() {
    const PARTITIONS: u32 = 10;
    const KEYS: usize = 10_000;
    for version in [EpkVersion::V1, EpkVersion::V2] {
        let bounds = even_bounds(PARTITIONS, version);
        let mut keys_of = [0_usize; PARTITIONS as usize];
        for i in 0..KEYS {
            let key = EffectivePartitionKey::of(&format!("customer-{i}").as_str().into(), version);
            keys_of[bounds.partition_point(|bound| bound.as_bytes() <= key.as_bytes())] += 1;
        }
        // 1,000 each with a standard deviation of 30.
        assert!(keys_of.iter().all(|keys| keys.abs_diff(KEYS / 10) < 150), "{version:?}: {keys_of:?}");
    }
}
