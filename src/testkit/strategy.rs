//! Strategies for what tests of tables are made of: keys, key designs, profiles.
//!
//! All shrink towards the plainest value: the first key, the natural design, one partition.

use crate::budget::{Fill, Rate};
use crate::client::KeyDesign;
use crate::key::{EpkVersion, ItemKey, KeyValue, PartitionKey, Placement, SortKey, Template};
use crate::profile::{Profile, Service, Sharing, Throughput};
use crate::rng::Seed;
use crate::units::Bytes;
use proptest::prelude::*;
use proptest::sample::select;

/// Any value that a partition key may hold: plain ones first, then what breaks encoders.
pub fn key_values() -> impl Strategy<Value = KeyValue> + Clone {
    prop_oneof![
        4 => "[a-z]{1,8}".prop_map(KeyValue::String),
        2 => any::<i32>().prop_map(|n| KeyValue::Number(f64::from(n))),
        1 => any::<bool>().prop_map(KeyValue::Bool),
        1 => Just(KeyValue::Null),
        1 => Just(KeyValue::Undefined),
        2 => proptest::num::f64::NORMAL.prop_map(KeyValue::Number),
        2 => any::<String>().prop_map(KeyValue::String),
        // Version 1 of Cosmos DB's hash reads a text only so far.
        1 => "x{100,110}[a-c]".prop_map(KeyValue::String),
    ]
}

/// Partition keys of a small set, so that they come up again: texts, and numbers among them.
pub fn partition_keys(distinct: u32) -> impl Strategy<Value = PartitionKey> + Clone {
    (0..distinct.max(1)).prop_map(|n| match n % 4 {
        3 => PartitionKey::single(KeyValue::Number(f64::from(n))),
        _ => PartitionKey::text(&format!("key-{n}")),
    })
}

/// Sort keys of a small set; none at all among them.
pub fn sort_keys(distinct: u32) -> impl Strategy<Value = SortKey> + Clone {
    (0..distinct.max(1)).prop_map(|n| match n {
        0 => SortKey::none(),
        n => SortKey::number(u64::from(n)),
    })
}

/// Item keys over so many partition keys and sort keys.
pub fn item_keys(partitions: u32, sorts: u32) -> impl Strategy<Value = ItemKey> + Clone {
    (partition_keys(partitions), sort_keys(sorts)).prop_map(|(partition, sort)| ItemKey { partition, sort })
}

/// Templates of every kind the vendors describe, over the properties `date`, `device` and `vin`, with few suffixes so that
/// fan-outs stay small.
pub fn templates() -> impl Strategy<Value = Template> + Clone {
    let suffixes = 1..12_u64;
    prop_oneof![
        Just("{date}".to_owned()),
        Just("{device}-{date}".to_owned()),
        suffixes.clone().prop_map(|n| format!("{{date}}.{{hash(vin, 1..{n})}}")),
        suffixes.clone().prop_map(|n| format!("{{date}}.{{product(vin, 1..{n})}}")),
        suffixes.prop_map(|n| format!("{{date}}.{{random(1..{n})}}")),
    ]
    .prop_filter_map("a template", |text| Template::parse(&text).ok())
}

/// Key designs over [`templates`], with `id` as the sort property.
pub fn designs(service: Service) -> impl Strategy<Value = KeyDesign> + Clone {
    (templates(), any::<u64>())
        .prop_map(move |(template, seed)| KeyDesign::new(template, "id", service).seed(Seed(seed)))
}

/// Profiles of a service that are small enough to split and to throttle within a short test: few partitions, which may
/// be as small as a kilobyte, and throughput from a few units a second up.
pub fn profiles(service: Service) -> BoxedStrategy<Profile> {
    let partition_bytes = proptest::option::of(1_024..65_536_u64);
    let sized = |profile: Profile, bytes: Option<u64>| match bytes {
        Some(bytes) => profile.with_partition_max(Bytes(bytes)).ok(),
        None => Some(profile),
    };
    match service {
        Service::DynamoDb => {
            let fill = select(vec![Fill::Full, Fill::Base, Fill::Empty]);
            let sharing = select(vec![Sharing::Pooled, Sharing::Even]);
            (1..6_u32, 5..4_000_u64, 5..4_000_u64, fill, sharing, partition_bytes)
                .prop_filter_map("a profile", move |(partitions, read, write, fill, sharing, bytes)| {
                    let profile = Profile::dynamodb_provisioned(read, write).ok()?;
                    let profile = profile.with_partitions(partitions).ok()?;
                    sized(profile.with_fill(fill).with_sharing(sharing), bytes)
                })
                .boxed()
        }
        Service::Cosmos => {
            let version = select(vec![EpkVersion::V2, EpkVersion::V1]);
            (1..6_u32, 4..100_u64, version, partition_bytes)
                .prop_filter_map("a profile", move |(partitions, hundreds, version, bytes)| {
                    let made = Profile::cosmos_manual(hundreds * 100).ok()?;
                    let needed = partitions.max(made.partitions());
                    let profile = made.with_partitions(needed).ok()?;
                    sized(profile.with_placement(Placement::Cosmos { version }), bytes)
                })
                .boxed()
        }
    }
}

/// Throughput that a table of a service may be given, small and large.
pub fn throughputs(service: Service) -> BoxedStrategy<Throughput> {
    let rate = |units: u64| Rate::per_second(units).ok();
    match service {
        Service::DynamoDb => (1..20_000_u64, 1..20_000_u64)
            .prop_filter_map("a throughput", move |(read, write)| {
                Some(Throughput::ReadWrite { read: rate(read)?, write: rate(write)? })
            })
            .boxed(),
        Service::Cosmos => (400..80_000_u64)
            .prop_filter_map("a throughput", move |units| Some(Throughput::Request(rate(units)?)))
            .boxed(),
    }
}
