//! Tests of the page: what it shows, escapes and leaves out, on reports made up for the purpose.

use super::*;
use hotplate::lab::report::{Ceiling, HeatMap, HottestResource, MixFigures, SCHEMA, Windowing, Windows};
use hotplate::rng::Seed;
use proptest::prelude::*;

const LIMIT: f64 = 1_000.0;
const OFFERED: f64 = 5_000.0;

/// A design whose load in a column and on a partition is `load`; what is over the limit is throttled.
fn design(key: &str, columns: usize, partitions: usize, load: impl Fn(usize, usize) -> f64) -> Design {
    let table = |f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
        (0..columns).map(|c| (0..partitions).map(|p| f(load(c, p))).collect()).collect()
    };
    let (attempted, throttled) = (table(&|x| x), table(&|x| (x - LIMIT).max(0.0)));
    let of = |table: &[Vec<f64>], p: usize| table.iter().map(|column| column[p]).sum::<f64>();
    let bound = |p: usize| format!("{:032X}", u128::MAX / partitions as u128 * p as u128);
    let loads: Vec<_> = (0..partitions)
        .map(|p| PartitionLoad {
            id: p as u32,
            from: bound(p),
            to: if p + 1 == partitions { "FF".into() } else { bound(p + 1) },
            attempted: of(&attempted, p),
            served: of(&attempted, p) - of(&throttled, p),
            throttled: of(&throttled, p),
        })
        .collect();
    let total = loads.iter().map(|p| p.attempted).sum::<f64>();
    let refused = loads.iter().map(|p| p.throttled).sum::<f64>();
    let hottest = loads.iter().max_by(|a, b| a.attempted.total_cmp(&b.attempted)).unwrap();
    let served = ratio(total - refused, columns as f64);
    let shares = loads.iter().map(|p| ratio(p.attempted, total));
    Design {
        reads: vec![ReadCost {
            filter: "date=2013-11-27".into(),
            plan: "fan-out".into(),
            why: "the suffix is random".into(),
            requests: 200,
            partitions: 10,
            units: 164.5,
            items: 1_014,
        }],
        indexes: Vec::new(),
        hottest_resource: HottestResource { kind: "table".into(), name: String::new(), holds_per_s: served },
        mix: Some(MixFigures {
            writes_per_s: OFFERED,
            reads_per_s: OFFERED / 4.0,
            writes_throttled_share: 0.03,
            reads_throttled_share: 0.123,
            requests_throttled_share: 0.04,
            read_units_per_s: 4_321.0,
            table_units_per_s: 12_000.0,
            hottest_partition: 4,
            hottest_partition_share: 0.2,
        }),
        key: key.into(),
        offered_per_s: OFFERED,
        writes: if total > 0.0 { 336_776 } else { 0 },
        distinct_keys: 4_044,
        served_per_s: served,
        served_p5: served * 0.93,
        served_p95: (served * 1.04).min(OFFERED),
        throttled_share: ratio(refused, total),
        gave_up_share: ratio(refused, total),
        seconds: columns as f64,
        p50_ms: 5.0,
        p99_ms: 5.2,
        p999_ms: 1_234.5,
        hottest_partition: hottest.id,
        hottest_partition_share: ratio(hottest.attempted, total),
        hottest_key: "N725MQ".into(),
        hottest_key_share: 0.0017,
        hottest_unsplittable_share: 0.0017,
        max_over_mean: ratio(hottest.attempted, total) * partitions as f64,
        gini: 0.2345,
        effective_partitions: ratio(1.0, shares.map(|x| x * x).sum()),
        partitions: loads,
        top_keys: (0_u32..8)
            .map(|i| KeyLoad {
                key: format!("2013-11-2{i}.{}", i * 7),
                share: 0.38 / f64::from(i + 1),
                partition: i % partitions as u32,
                throttled: u64::from(9_000 / (i + 1)),
            })
            .collect(),
        spread: Vec::new(),
        windows: None,
        max_rate_per_s: Some(served * 1.2),
        max_rate_p5: Some(served),
        max_rate_p95: Some(served * 1.4),
        ceiling_per_s: 10_000.0,
        ceiling: Ceiling { cold: served, settled: 10_000.0, settle_minutes: 9.5, split_rounds: 1 },
        skipped_rows: 0,
        skipped_examples: Vec::new(),
        heat: HeatMap {
            unit: "1 s".into(),
            columns: (0..columns).map(|c| format!("{c} s")).collect(),
            attempted,
            throttled,
        },
        verdict: format!("{key} serves {served:.0} of {OFFERED} writes a second."),
    }
}

fn report(designs: Vec<Design>) -> Report {
    let pair = |a: &Design, b: &Design| Pair {
        a: a.key.clone(),
        b: b.key.clone(),
        a_wins_share: 0.02,
        b_wins_share: 0.97,
        verdict: "the second".into(),
    };
    Report {
        schema: SCHEMA,
        version: "0.1.0".into(),
        seed: 42,
        file: "nyc-flights-2013.csv.gz".into(),
        profile: "dynamodb".into(),
        throughput: "10,000 WCU".into(),
        unit: "WCU".into(),
        partition_count: designs.first().map_or(1, |d| d.partitions.len() as u32),
        partition_limit_per_s: LIMIT,
        units_per_write: 1.0,
        item_bytes: 1_024,
        load: Load::Open { rate_per_s: OFFERED as u64 },
        layouts: 100,
        windowing: None,
        pairs: designs.windows(2).map(|two| pair(&two[0], &two[1])).collect(),
        designs,
        warnings: vec!["DynamoDB's hash is not public: a design with few keys depends on luck.".into()],
        basis: vec!["1,000 WCU per partition: documented.".into()],
    }
}

/// A year of flights over ten partitions, each day a window.
fn flights() -> Report {
    let random = |a: usize, b: usize| Seed(7).child(a as u64).at(b as u64) as f64 / u64::MAX as f64;
    let places = |day: usize, keys: usize, p: usize| {
        let at = |key: usize| (random(day, key) * 10.0) as usize;
        (0..keys).filter(|&key| at(key) == p).count() as f64 * OFFERED / keys as f64
    };
    let carriers =
        [0.17, 0.16, 0.14, 0.10, 0.10, 0.08, 0.06, 0.055, 0.036, 0.03, 0.015, 0.01, 0.01, 0.002, 0.001];
    let carrier = |day: usize, p: usize| {
        let on = |i: &usize| (random(1_000, *i) * 10.0) as usize == p;
        let share = (0..carriers.len()).filter(on).map(|i| carriers[i]).sum::<f64>();
        share * OFFERED * (0.9 + 0.2 * random(day, 99))
    };
    let mut report = report(vec![
        design("{date}", 365, 10, |day, p| places(day, 1, p)),
        design("{carrier}", 365, 10, carrier),
        design("{date}.{hash(tailnum, 1..10)}", 365, 10, |day, p| places(day, 10, p)),
        design("{date}.{product(tailnum, 1..200)}", 365, 10, |day, p| {
            0.38 * places(day, 1, p) + 0.62 * places(day, 120, p)
        }),
        design("{tailnum}", 365, 10, |day, p| 500.0 * (0.85 + 0.3 * random(day, p))),
        design("{date}.{random(1..200)}", 365, 10, |day, p| places(day, 200, p)),
    ]);
    report.windowing = Some(Windowing { by: "date".into(), count: 365, replayed: 365 });
    for design in &mut report.designs {
        design.heat.unit = "date".into();
        design.heat.columns = (0..365).map(|d| format!("2013-{:02}-{:02}", d / 31 + 1, d % 31 + 1)).collect();
        design.windows = Some(Windows {
            median_name: String::new(),
            median: design.served_per_s * 0.95,
            worst: design.served_per_s * 0.6,
            worst_name: "2013-11-27".into(),
            worst_key: "2013-11-27.1".into(),
            worst_key_share: 0.402,
            worst_max_rate_per_s: Some(design.served_per_s * 0.5),
        });
    }
    report.designs[4].skipped_rows = 2_512;
    report.designs[4].skipped_examples = vec!["line 839: tailnum is empty".into()];
    report.designs[1].spread = vec![
        Spread { partitions: 7, layouts: 12, served_min: 2_100.0, served_max: 3_300.0 },
        Spread { partitions: 8, layouts: 88, served_min: 2_400.0, served_max: 4_100.0 },
    ];
    report
}

fn page(report: &Report) -> String {
    let html = render(report).unwrap();
    for word in ["NaN", "inf%", "inf<", "undefined", "-0%"] {
        assert!(!html.contains(word), "{word}");
    }
    html
}

#[test]
fn says_all_of_it_and_the_same_each_time() {
    let report = flights();
    let html = page(&report);
    assert_eq!(html, page(&report));
    for design in &report.designs {
        // At a glance, in the verdicts, in the pairs and over the card.
        assert!(html.matches(&format!("<code>{}</code>", design.key)).count() >= 4);
        assert!(html.contains(&design.verdict));
    }
    assert_eq!(html.matches("<article").count(), report.designs.len());
    assert_eq!(html.matches("class=\"wins\"").count(), report.pairs.len());
    for text in [
        "nyc-flights-2013.csv.gz",
        "10,000 WCU",
        "5,000 writes&#x2f;s",
        "by date, all replayed",
        "Worst window",
        "Max rate",
        "2013-11-27.1",
        "limit 1,000",
        "2,512 rows had no key",
        "line 839: tailnum is empty",
        "<td class=\"num\">88 of 100</td><td class=\"num\">2,400–4,100</td>",
        "1 warning<",
        "1,000 WCU per partition",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn columns_that_no_design_fills_are_left_out() {
    let mut report = report(vec![design("{a}", 4, 2, |_, _| 10.0)]);
    report.designs[0].max_rate_per_s = None;
    let html = page(&report);
    assert!(!html.contains("Max rate") && !html.contains("Worst window") && !html.contains("peak column"));
    let heads = html.matches("<th scope=\"col\" title=").count();
    assert_eq!(html.matches("<td><span class=\"value\">").count(), heads);
}

#[test]
fn every_text_is_escaped() {
    const EVIL: &str = "\"'><script>alert(1)</script><img src=https://evil/x onerror=y>{{ 7 * 7 }}\u{202e}\0";
    let mut report = flights();
    let evil = || EVIL.to_owned();
    report.file = evil();
    report.profile = evil();
    report.throughput = evil();
    report.version = evil();
    report.warnings = vec![evil()];
    report.basis = vec![evil()];
    report.windowing = Some(Windowing { by: evil(), count: 1, replayed: 1 });
    for pair in &mut report.pairs {
        (pair.a, pair.b, pair.verdict) = (evil(), evil(), evil());
    }
    for design in &mut report.designs {
        (design.key, design.hottest_key, design.verdict) = (evil(), evil(), evil());
        (design.skipped_rows, design.skipped_examples) = (1, vec![evil()]);
        (design.heat.unit, design.heat.columns) = (evil(), vec![evil(); design.heat.columns.len()]);
        design.top_keys.iter_mut().for_each(|key| key.key = evil());
        design.partitions.iter_mut().for_each(|p| (p.from, p.to) = (evil(), evil()));
        let windows = design.windows.as_mut().unwrap();
        (windows.worst_name, windows.worst_key) = (evil(), evil());
    }
    let html = page(&report);
    assert!(html.contains("&lt;script&gt;") && html.contains("{{ 7 * 7 }}") && html.contains("\\u{202e}"));
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("://"));
    // Inside a tag, a quote of the data would end the attribute.
    assert!(!html.contains("\"'>") && !html.contains("'>"));
}

#[test]
fn the_page_loads_nothing() {
    let html = page(&flights());
    for word in
        ["http:", "https:", "//", " src=", "srcset", "@import", "<link", "<script", "<iframe", "javascript:"]
    {
        assert!(!html.contains(word), "{word}");
    }
    for reference in [" href=\"", "url("] {
        assert!(html.split(reference).skip(1).all(|rest| rest.starts_with('#')), "{reference}");
    }
}

/// Columns of the first heat map, and how many cells of each colour it has.
fn map(html: &str) -> (usize, Vec<usize>) {
    let map = html.split("viewBox=\"0 0 ").nth(1).unwrap();
    let cells = map.split("</svg>").next().unwrap();
    let colours = (0..=STEPS.len()).map(|step| cells.matches(&format!("class=\"c{step}\"")).count());
    (map.split(' ').next().unwrap().parse().unwrap(), colours.collect())
}

#[test]
fn one_hot_window_survives_the_merging_of_columns() {
    let load = |c, p| if (c, p) == (200, 3) { 7_000.0 } else { 100.0 };
    let html = page(&report(vec![design("{a}", 365, 10, load)]));
    assert_eq!(map(&html), (COLUMNS_MAX, vec![1_199, 0, 0, 0, 0, 0, 0, 0, 1]));
    assert!(html.contains("<title>200 s, partition 3: 7,000 units&#x2f;s offered, 6,000 throttled</title>"));
    assert!(html.contains("column: 1 s, the hottest of up to 4</figcaption>"));
    assert!(html.contains("Hottest cell: 700% of the limit at 200 s, partition 3."));
}

#[test]
fn one_hot_partition_of_many_survives_the_merging_of_rows() {
    let html = page(&report(vec![design("{a}", 500, 200, |_, p| if p == 77 { 2_000.0 } else { 600.0 })]));
    let (columns, colours) = map(&html);
    assert_eq!((columns, colours[3], colours[6]), (81, 81 * 49, 81));
    assert!(colours.iter().sum::<usize>() <= CELLS_MAX);
    assert!(html.contains("row: the hottest of up to 4 partitions"));
    assert!(html.contains(">72–75</span>") && html.contains("493 s, partition 77: 2,000 units"));
}

#[test]
fn a_load_is_stacked_up_to_its_limit() {
    // One partition of three at twice its limit: the scale ends at its load, the limit is in the middle.
    let html = page(&report(vec![design("{a}", 10, 3, |_, p| if p == 1 { 2_000.0 } else { 500.0 })]));
    assert!(html.contains("<line class=\"limit-line\" x1=\"50.00%\" x2=\"50.00%\""));
    assert!(html.contains("<rect class=\"refused\" x=\"50.00%\" y=\"26\" width=\"50.00%\" height=\"26\"/>"));
    assert!(html.contains("<rect class=\"served\" y=\"0\" width=\"25.00%\" height=\"26\"/>"));
    // The mark in the heat map covers the lower half of the cell.
    assert!(html.contains("<path d=\"M0.0000 0.6667h0.1000v-0.1667h-0.1000z"));
}

#[test]
fn nothing_and_nonsense_are_drawn_as_nothing() {
    let one = page(&report(vec![design("{one}", 5, 1, |_, _| 800.0)]));
    assert_eq!(map(&one), (5, vec![0, 0, 0, 0, 5, 0, 0, 0, 0]));
    let idle = page(&report(vec![design("{none}", 0, 10, |_, _| 0.0), design("{idle}", 3, 10, |_, _| 0.0)]));
    assert!(idle.contains("No load was offered.") && idle.contains("nothing written"));
    assert_eq!(map(&idle), (3, vec![0; 9]));
    assert!(!page(&report(Vec::new())).contains("<article"));

    let mut odd = report(vec![design("{odd}", 4, 3, |_, _| f64::NAN)]);
    (odd.partition_limit_per_s, odd.units_per_write) = (f64::NAN, f64::INFINITY);
    let d = &mut odd.designs[0];
    for figure in [&mut d.offered_per_s, &mut d.served_p5, &mut d.seconds, &mut d.p50_ms, &mut d.gini] {
        *figure = f64::NAN;
    }
    (d.throttled_share, d.ceiling.settled, d.max_over_mean) = (f64::NAN, f64::INFINITY, f64::NAN);
    d.heat.attempted.truncate(2);
    d.heat.throttled[0].clear();
    d.partitions.clear();
    page(&odd);
}

#[test]
fn rows_are_as_high_as_their_ranges_are_wide() {
    let heights = |bounds: &[&str]| {
        let mut partitions = design("{a}", 0, bounds.len(), |_, _| 0.0).partitions;
        partitions.iter_mut().zip(bounds).for_each(|(p, from)| p.from = (*from).into());
        bands(&partitions).iter().map(|band| band.height).collect::<Vec<_>>()
    };
    assert_eq!(heights(&["00", "80", "C0"]), [39, 20, 20]);
    assert_eq!(
        heights(&["", "10000000000000000000000000000000", "20", "30"]),
        [26; 4],
        "a V2 ring ends at 40"
    );
    assert_eq!(heights(&["00", "80", "80+\"b\""]), [39, ROW_PX_MIN, 39], "split inside a logical partition");
    assert_eq!(heights(&["00", "05C1D9", "05C1DA"]), [26; 3], "true to scale the second would vanish");
    assert_eq!(heights(&["00", "?", "80"]), [26; 3]);
    assert_eq!(heights(&["80", "40", "C0"]), [26; 3]);
}

#[test]
fn figures_read_well() {
    assert_eq!(
        [0.0, 7.25, 99.96, 1_234_567.8, -1_234.0, f64::NAN].map(rate),
        ["0", "7.2", "100", "1,234,568", "-1,234", NONE]
    );
    assert_eq!(
        [0.0, 0.0001, 0.0005, 0.1234, 1.0, f64::INFINITY].map(share),
        ["0%", "< 0.1%", "0.1%", "12.3%", "100%", NONE]
    );
    assert_eq!([1.0, 3.456, 16.72].map(times), ["1×", "3.46×", "16.7×"]);
    assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    assert_eq!([range(1.0, 1.01), range(930.0, 1_040.0)], ["", "930–1,040"]);
    assert_eq!(
        [shown("", 3), shown("abc", 3), shown("abcd", 3), shown("a\nb", 9)],
        ["(empty)", "abc", "abc…", "a\\nb"]
    );
    assert_eq!([0.1, 0.1001, 1.0, 1.0 + 1e-9, 1.1, 5.0, 9.0].map(step), [0, 1, 4, 4, 5, 7, 8]);
}

proptest! {
    #[test]
    fn rows_follow_each_other_and_hold_each_partition_once(count in 1_usize..700) {
        let bands = bands(&design("{a}", 0, count, |_, _| 0.0).partitions);
        let (mut y, mut member) = (0, 0);
        for band in &bands {
            prop_assert_eq!((band.y, band.members.start), (y, member));
            prop_assert!(band.height >= ROW_PX_MIN);
            (y, member) = (y + band.height, band.members.end);
        }
        prop_assert_eq!(member, count);
        prop_assert!(bands.len() <= ROWS_MAX);
    }

    #[test]
    fn a_length_is_a_number_of_percent(part in any::<f64>(), whole in any::<f64>()) {
        let length = percent(part, whole).parse::<f64>().unwrap();
        prop_assert!((0.0..=100.0).contains(&length));
    }
}
