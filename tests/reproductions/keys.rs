//! Bars 16 and 17: suffixes. Computed by us and held to our own figures: 16 over ten-digit random order numbers as in the
//! developer guide's example, 17 as balls into bins.

use super::*;
use hotplate::budget::Fill;
use hotplate::lab::run::{Items, SuffixRule, VerdictName};
use hotplate::physics::Switches;
use hotplate::{Profile, Template};
use std::collections::BTreeMap;

/// Shares of the suffixes of 200,000 ten-digit ids, largest first.
fn shares(template: &str) -> Vec<f64> {
    let template = Template::parse(template).unwrap();
    const IDS: u64 = 200_000;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for row in 0..IDS {
        let id = hotplate::Seed(1).at(row) % 10_000_000_000;
        let item = serde_json::json!({"date": "2014-07-09", "orderId": format!("{id:010}")});
        *counts.entry(template.key(&item, Seed(1), row).unwrap().to_string()).or_default() += 1;
    }
    let mut shares: Vec<f64> = counts.values().map(|count| *count as f64 / IDS as f64).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    shares
}

/// "Using write sharding": product of the code points modulo 200, plus 1. Published by us: suffix 1 has 0.748 of the load,
/// Gini 0.97; modulo 199 the largest is 1.15 times the mean at the most. Tolerance 0.01.
#[test]
fn bar_16_the_documented_formula_sends_three_quarters_to_one_suffix() {
    let documented = shares("{date}.{product(orderId, 1..200)}");
    assert!((documented[0] - 0.748).abs() <= 0.01, "{}", documented[0]);
    let n = 200.0;
    let mut ascending = vec![0.0; 200 - documented.len()];
    ascending.extend(documented.iter().rev());
    let gini =
        (1..).zip(&ascending).map(|(i, share)| (2.0 * f64::from(i) - n - 1.0) * share).sum::<f64>() / n;
    assert!((gini - 0.97).abs() <= 0.01, "{gini}");
    let prime = shares("{date}.{product(orderId, 1..199)}");
    assert!(prime[0] * prime.len() as f64 <= 1.15, "{}", prime[0] * prime.len() as f64);
}

/// 200 random suffixes over ten partitions of 1,000: mean max/mean 1.36 over layouts, and the first throttle comes at
/// 10,000 ÷ (max/mean) of the layout at hand. Switch: splits off. Tolerance 2 %.
#[test]
fn bar_17_two_hundred_suffixes_do_not_balance_ten_partitions() {
    let keys = || uniform("2014-07-09", 1).items(Items::Random(1_000_000)).suffix(SuffixRule::Random, 200);
    let mut skews = Vec::new();
    for layout in 0..200 {
        let placement = hotplate::key::Placement::Seeded { layout };
        let profile = Profile::dynamodb_provisioned(1, 10_000)
            .unwrap()
            .with_partitions(10)
            .unwrap()
            .with_placement(placement)
            .with_fill(Fill::Base);
        let table = hotplate::Table::<serde_json::Value>::new("t", profile.clone(), hotplate::Instant::START)
            .unwrap();
        let mut held = [0; 10];
        for suffix in 1..=200 {
            let key = hotplate::ItemKey::new(format!("2014-07-09.{suffix}"), 0_u64);
            held[table.partition_of(&key).0 as usize] += 1;
        }
        let skew = f64::from(*held.iter().max().unwrap()) / 20.0;
        skews.push(skew);
        if layout < 3 {
            let spec = TableSpec::new("t", profile);
            let spec = TableSpec { switches: Switches { heat_splits: None, ..spec.switches }, ..spec };
            let first = 10_000.0 / skew;
            let throttled = |rate: f64| {
                let load = LoadSpec::new("writers", keys(), Clients::constant(rate as u64, secs(300)));
                ran(&one(spec.clone(), load, 17)).loads[0].throttled_share
            };
            assert!(throttled(first * 0.98) < 0.001, "layout {layout}");
            assert!(throttled(first * 1.02) > 0.001, "layout {layout}");
        }
    }
    let mean = skews.iter().sum::<f64>() / skews.len() as f64;
    near(mean, 1.36, 0.02);
}

/// The documented formula as a load: the suffix that swallows the ids is a hot key.
#[test]
fn the_documented_formula_makes_the_hot_partition_it_is_meant_to_cure() {
    let ran_with = |rule, count| {
        let profile = Profile::dynamodb_provisioned(1, 10_000)
            .unwrap()
            .with_partitions(10)
            .unwrap()
            .with_fill(Fill::Base);
        let keys = uniform("2014-07-09", 1).items(Items::Increasing).suffix(rule, count);
        let load = LoadSpec::new("writers", keys, Clients::constant(5_000, secs(60)));
        ran(&one(TableSpec::new("orders", profile), load, 16))
    };
    let product = ran_with(SuffixRule::Product, 200);
    assert_eq!(product.tables[0].top_keys[0].key, "2014-07-09.1");
    assert!((product.tables[0].top_keys[0].share - 0.748).abs() < 0.01);
    assert_eq!(product.verdicts[0].name, VerdictName::HotKey);
    let hash = ran_with(SuffixRule::Hash, 200);
    assert_eq!(hash.loads[0].throttled, 0, "{:?}", hash.verdicts);
}
