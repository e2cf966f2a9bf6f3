//! Tests of the heat map: rows as high as ranges are wide, cells while a partition lives, bounds.

use super::*;
use hotplate::lab::run::ServesReport;

/// A partition that was asked for `asked` in each of ten bins of which it served a hundred.
fn partition(
    id: u32,
    from: &str,
    to: &str,
    width: f64,
    lives: (f64, Option<f64>),
    asked: f64,
) -> PartitionReport {
    let bins = |value: f64| -> Vec<f64> {
        let alive = |bin: usize| bin as f64 >= lives.0 && lives.1.is_none_or(|until| (bin as f64) < until);
        (0..10).map(|bin| if alive(bin) { value } else { 0.0 }).collect()
    };
    PartitionReport {
        id,
        from: from.into(),
        to: to.into(),
        width,
        from_s: lives.0,
        until_s: lives.1,
        offered_units: asked,
        consumed_units: asked.min(100.0),
        throttles: u64::from(asked > 100.0),
        share: 0.5,
        serves: vec![ServesReport { from_s: 0.0, units_per_s: 100.0 }],
        declined: String::new(),
        attempted: bins(asked),
        throttled: bins((asked - 100.0).max(0.0)),
    }
}

fn table(partitions: Vec<PartitionReport>) -> TableReport {
    TableReport {
        name: "t".into(),
        is_index: false,
        profile: "p".into(),
        throughput: "many".into(),
        partitions_at_start: 1,
        partitions_at_end: 1,
        partitions,
        top_keys: Vec::new(),
        distinct_keys: None,
        max_over_mean: 1.0,
        history: Vec::new(),
        billed: Vec::new(),
        bin_seconds: 1,
    }
}

#[test]
fn a_split_is_a_row_that_divides_at_its_time() {
    let table = table(vec![
        partition(0, "00", "80", 0.5, (0.0, Some(4.0)), 250.0),
        partition(2, "00", "40", 0.25, (4.0, None), 60.0),
        partition(3, "40", "80", 0.25, (4.0, None), 10.0),
        partition(1, "80", "", 0.5, (0.0, None), 20.0),
    ]);
    let map = HeatMap::of(&table, 10.0, &[], 4_000).unwrap();
    let cells: Vec<_> = map
        .cells
        .iter()
        .map(|cell| (cell.x.as_str(), cell.width.as_str(), cell.y, cell.height, cell.step))
        .collect();
    // Three ranges: a quarter, a quarter and a half of 78 pixels.
    assert_eq!(
        cells,
        [
            ("0.00", "40.00", 0, 40, 6),
            ("40.00", "60.00", 0, 20, 3),
            ("40.00", "60.00", 20, 20, 0),
            ("0.00", "100.00", 40, 39, 1),
        ]
    );
    assert_eq!(map.height, 79);
    assert!(
        map.cells[0].title.contains("250 units/s asked for, 150 of it refused"),
        "{}",
        map.cells[0].title
    );
    assert!(!map.throttled.is_empty() && map.throttled.matches('M').count() == 1);
    let names = |labels: &[Label]| labels.iter().map(|label| label.text.clone()).collect::<Vec<_>>();
    assert_eq!(names(&map.left), ["0", "1"]);
    assert_eq!(names(&map.right), ["2 · 50.0%", "3 · 50.0%", "1 · 50.0%"]);
}

#[test]
fn part_of_a_key_has_no_width_and_is_seen() {
    let table = table(vec![
        partition(0, "00", "80+08", 0.5, (0.0, None), 50.0),
        partition(1, "80+08", "80+0c", 0.0, (0.0, None), 500.0),
        partition(2, "80+0c", "", 0.5, (0.0, None), 50.0),
    ]);
    let map = HeatMap::of(&table, 10.0, &[], 4_000).unwrap();
    assert!(map.cells.iter().all(|cell| cell.height >= ROW_PX_MIN[0]));
    assert!(map.caption.contains("at least 14"), "{}", map.caption);
    assert_eq!(map.cells[1].step, 7);
}

#[test]
fn thousands_of_partitions_share_rows_and_the_caption_says_so() {
    let n = 2_000;
    let bound = |i: u32| format!("{:04x}", i * 32);
    let partitions = (0..n)
        .map(|i| {
            let to = if i + 1 == n { String::new() } else { bound(i + 1) };
            let asked = if i == 777 { 999.0 } else { f64::from(i % 90) };
            partition(i, &bound(i), &to, 1.0 / f64::from(n), (0.0, None), asked)
        })
        .collect();
    let map = HeatMap::of(&table(partitions), 10.0, &[], 1_000).unwrap();
    assert!(map.cells.len() <= ROWS_MAX * 10 && map.height <= MAP_PX.end as u32 + 64, "{}", map.height);
    assert!(map.caption.contains("2000 ranges are too many"), "{}", map.caption);
    assert!(map.label.contains("partition 777"), "{}", map.label);
    assert_eq!(map.cells.iter().filter(|cell| cell.step > 5).count(), 1);
}

#[test]
fn a_limit_that_changes_is_the_measure_of_its_time() {
    let mut table = table(vec![partition(0, "00", "", 1.0, (0.0, None), 50.0)]);
    table.partitions[0].serves = vec![
        ServesReport { from_s: 0.0, units_per_s: 1_000.0 },
        ServesReport { from_s: 5.0, units_per_s: 100.0 },
    ];
    let map = HeatMap::of(&table, 10.0, &[], 4_000).unwrap();
    let cells: Vec<_> = map.cells.iter().map(|cell| (cell.x.as_str(), cell.step)).collect();
    assert_eq!(cells, [("0.00", 0), ("50.00", 2)]);
}

#[test]
fn odd_figures_are_drawn_as_nothing() {
    let mut odd = table(vec![partition(0, "no", "hex", f64::NAN, (0.0, Some(0.0)), f64::NAN)]);
    assert!(HeatMap::of(&odd, 10.0, &[], 100).is_none());
    odd.partitions[0].attempted = vec![f64::INFINITY, 1.0];
    odd.partitions[0].serves = Vec::new();
    for seconds in [0.0, f64::NAN, 10.0] {
        HeatMap::of(&odd, seconds, &[], 0);
    }
    odd.bin_seconds = 0;
    HeatMap::of(&odd, 10.0, &[], 0);
    assert!(HeatMap::of(&table(Vec::new()), 10.0, &[], 100).is_none());
}
