//! Scenario files, read: what each key means, and the exact words for what is wrong.

use super::*;
use hotplate::charge::Consistency;
use hotplate::client::RetryPolicy;
use hotplate::lab::run::{Change, Clients, Items, KeySpec, Operation, SuffixRule};
use hotplate::lab::{Distribution, RateShape, Spacing};
use hotplate::physics::{Adaptive, EventualReads};
use hotplate::profile::{Service, Throughput};
use hotplate::units::Bytes;

/// A file that is right.
const GOOD: &str = r#"
name = "good"
[[table]]
name = "orders"
profile = "dynamodb"
wcu = 1000
[[load]]
name = "writers"
operation = "create"
keys = 1000
rate = 100
lasts = "10s"
"#;

/// A file with every kind of thing in it.
const ALL: &str = r#"
name = "all"
about = "Everything at once."
seed = 7
ends = "3h"
[parameters]
suffixes = 10
heat = true
[[table]]
name = "orders"
profile = "dynamodb-on-demand"
previous_peak = { write = 10000 }
warm = { read = 15000 }
max = { write = 30000 }
quota = { read = 100000, write = 100000 }
heat_splits = { hot_percent = 80, after = ["5m", "6m"] }
eventual_reads = "three-replicas"
local_index = true
burst = "full"
stored = "80GB"
[[table.index]]
name = "by-status"
entry = "200B"
keys = { names = ["ACTIVE", "DONE"], weights = [80, 20] }
[[table]]
name = "old"
profile = "dynamodb"
wcu = 5000
rcu = 3000
adaptive = "none"
heat_splits = "$heat"
auto_scaling = { min = 5, max = 40000 }
[[table]]
name = "container"
profile = "cosmos"
ru = 18000
widths = [0.5, 0.25, 0.25]
leak = "14%"
burst = true
split_takes = ["4h", "5h"]
[[load]]
name = "spread"
table = "orders"
mix = { create = 80, get = 15, read-all = 5 }
consistency = "strong"
page = 50
keys = { name = "tenant", count = 1000, distribution = "zipf", exponent = 0.99, items = "increasing", suffix = { rule = "random", count = "$suffixes" } }
phases = [
  { rate = 100, lasts = "5m" },
  { from = 100, to = 500, lasts = "10m" },
  { steps = [["0s", 10], ["1m", 20]], lasts = "2m" },
  { base = 10, peak = 50, at = "10s", spike_lasts = "5s", lasts = "1m" },
  { low = 10, high = 50, period = "1h", lasts = "1h" },
]
arrivals = "poisson"
retry = "aws-standard-2026"
service_time = { read = "2ms" }
begins = "1m"
[[load]]
name = "workers"
table = "container"
operation = "update"
keys = { distribution = "time-bucket", every = "1h" }
workers = 16
operations = 1000
think = "5ms"
retry = "cosmos"
priority = "low"
bucket = "20%"
[[load]]
name = "loader"
table = "old"
keys = { count = 5, distribution = "hotspot", keys_share = "20%", load_share = 0.8, items = 100 }
loader = { items = 1000 }
[[event]]
at = "20m"
table = "old"
throughput = { wcu = 8000 }
[[event]]
at = "30m"
table = "old"
on_demand = true
[[event]]
at = "10m"
table = "container"
redistribute = 9000
[[threshold]]
check = "throttled_share of workers during 1m..2m <= 1%"
[[published]]
figure = "served_per_s of spread"
value = 100
accepted = [90, 110]
source = "somebody"
"#;

fn read(text: &str) -> Result<Loaded> {
    read_with(text, &[])
}

fn read_with(text: &str, overrides: &[(&str, &str)]) -> Result<Loaded> {
    let overrides: Vec<_> =
        overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(Text { name: "f.toml", text, folder: None }, &overrides, None)
}

#[track_caller]
fn scenario_of(text: &str) -> Scenario {
    read(text).unwrap_or_else(|error| panic!("{error}")).scenario
}

#[track_caller]
fn told(text: &str) -> String {
    read(text).expect_err("the file is wrong").to_string()
}

/// `GOOD` with a line changed.
#[track_caller]
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replace(from, to)
}

#[test]
fn a_small_file_gets_the_defaults() {
    let scenario = scenario_of(GOOD);
    let (table, load) = (&scenario.tables[0], &scenario.loads[0]);
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.ends), ("good", Seed(0), None));
    assert_eq!((table.profile.name(), table.profile.partitions()), ("dynamodb", 1));
    assert!(table.switches.heat_splits.is_some() && table.on_demand.is_none() && table.indexes.is_empty());
    assert_eq!(table.switches.adaptive, Adaptive::Instant);
    assert_eq!(load.mix, [(1, Operation::Create)]);
    assert_eq!((load.item, load.retry, load.begins), (Bytes(1_024), RetryPolicy::None, Duration::ZERO));
    assert_eq!(load.service_time, [Duration::from_millis(3), Duration::from_millis(5)]);
    let KeySpec::Drawn(keys) = &load.keys else { panic!() };
    assert_eq!(
        (keys.count, &keys.distribution, keys.items),
        (1_000, &Distribution::Uniform, Items::Random(1_000_000))
    );
    let Clients::Open(phases) = &load.clients else { panic!() };
    assert_eq!(
        (&phases[0].shape, phases[0].lasts, phases[0].spacing),
        (&RateShape::Constant(100), Duration::from_secs(10), Spacing::Even)
    );
}

#[test]
fn a_name_that_is_left_out_is_the_file_s() {
    assert_eq!(scenario_of(&changed("name = \"good\"\n", "")).name, "f");
}

#[test]
fn everything_can_be_written() {
    let text = ALL;
    let scenario = scenario_of(text);
    let [orders, old, container] = scenario.tables.as_slice() else { panic!() };
    let on_demand = orders.on_demand.unwrap();
    assert_eq!((on_demand.previous_peak, on_demand.warm), ([0, 10_000], [15_000, 4_000]));
    assert_eq!((on_demand.max, on_demand.quota), ([None, Some(30_000)], [100_000; 2]));
    // Twice the peak of writes.
    assert_eq!(orders.profile.partitions(), 20);
    let split = orders.switches.heat_splits.unwrap();
    assert_eq!((split.hot_percent, split.seconds_min, split.seconds_max), (80, 300, 360));
    assert_eq!(
        (orders.switches.eventual_reads, orders.switches.local_index),
        (EventualReads::ThreeReplicas, true)
    );
    assert_eq!((orders.indexes[0].name.as_str(), orders.indexes[0].entry), ("by-status", Bytes(200)));
    assert_eq!(orders.stored, Bytes(80 << 30));
    assert_eq!((old.profile.partitions(), old.switches.adaptive), (6, Adaptive::None));
    assert_eq!(old.auto_scaling.map(|s| (s.target_percent, s.min, s.max)), Some((70, 5, 40_000)));
    assert_eq!(
        (container.profile.service(), container.widths.as_slice()),
        (Service::Cosmos, &[0.5, 0.25, 0.25][..])
    );
    assert_eq!((container.switches.leak_per_mille, container.switches.burst.is_some()), (140, true));
    assert!(container.switches.heat_splits.is_none());
    let [spread, workers, loader] = scenario.loads.as_slice() else { panic!() };
    let strong = Consistency::Strong;
    assert_eq!(
        spread.mix,
        [
            (80, Operation::Create),
            (15, Operation::Get(strong)),
            (5, Operation::ReadAll { items: 50, consistency: strong })
        ]
    );
    let KeySpec::Drawn(keys) = &spread.keys else { panic!() };
    assert_eq!(keys.suffix.map(|suffix| (suffix.rule, suffix.count)), Some((SuffixRule::Random, 10)));
    assert_eq!(spread.service_time, [Duration::from_millis(2), Duration::from_millis(5)]);
    let Clients::Open(phases) = &spread.clients else { panic!() };
    assert_eq!((phases.len(), phases[4].spacing), (5, Spacing::Poisson));
    assert_eq!((workers.low_priority, workers.bucket_percent, workers.table), (true, Some(20), 2));
    let KeySpec::Drawn(keys) = &workers.keys else { panic!() };
    assert_eq!((keys.count, &keys.distribution), (744, &Distribution::TimeBucket { seconds: 3_600 }));
    assert_eq!(loader.clients, Clients::Loader { loops: 8, batch: 25, items: 1_000 });
    assert_eq!(loader.mix, [(1, Operation::Create)]);
    // In the order of their times; what an event leaves out stays.
    let [redistribute, raise, on_demand] = scenario.events.as_slice() else { panic!() };
    assert_eq!((&redistribute.change, redistribute.table), (&Change::Redistribute(9_000), 2));
    let Change::Throughput(Throughput::ReadWrite { read, write }) = &raise.change else { panic!() };
    assert_eq!((read.units(), write.units()), (3_000.0, 8_000.0));
    assert_eq!(on_demand.change, Change::OnDemand);
    assert_eq!((scenario.thresholds.len(), scenario.published[0].accepted), (1, (90.0, 110.0)));
    assert_eq!(scenario.ends, Some(Duration::from_secs(3 * 3_600)));
}

#[test]
fn parameters_come_from_the_file_or_the_command_line() {
    let text = changed("[[table]]", "[parameters]\nn = 5\nhow = \"zipf\"\n[[table]]")
        .replace("keys = 1000", "keys = { count = \"$n\", distribution = \"$how\", exponent = 1.0 }");
    let count = |loaded: &Loaded| match &loaded.scenario.loads[0].keys {
        KeySpec::Drawn(keys) => keys.count,
        KeySpec::Rows(_) => 0,
    };
    let of_file = read(&text).unwrap();
    let given = read_with(&text, &[("n", "9")]).unwrap();
    assert_eq!((count(&of_file), count(&given)), (5, 9));
    assert_eq!(given.parameters, [("how".into(), "\"zipf\"".into()), ("n".into(), "9".into())]);
    assert_ne!(of_file.digest, given.digest);
    assert_eq!(of_file.digest, read_with(&text, &[("n", "5")]).unwrap().digest);
    assert_eq!(
        read_with(&text, &[("m", "9")]).unwrap_err().to_string(),
        "-p m: no such parameter (did you mean \"n\"?): there are how, n"
    );
    assert_eq!(
        read_with(&text, &[("n", "many")]).unwrap_err().to_string(),
        "f.toml:13:18: count: \"many\" (parameter n) is not a whole number: give 1 to 9007199254740992"
    );
    assert_eq!(
        read_with(GOOD, &[("n", "9")]).unwrap_err().to_string(),
        "-p n: no such parameter: the scenario has none"
    );
}

#[test]
fn the_seed_of_the_command_line_wins() {
    let text = format!("seed = 7\n{GOOD}");
    let load = |seed| load(Text { name: "f", text: &text, folder: None }, &[], seed).unwrap().scenario.seed;
    assert_eq!((load(None), load(Some(9))), (Seed(7), Seed(9)));
}

#[test]
fn what_is_allowed_and_odd_is_noted() {
    let notes = read(&format!("{GOOD}retry = \"cosmos\"\n")).unwrap().notes;
    assert_eq!(
        notes,
        [
            "f.toml:13:9: retry \"cosmos\" waits as long as the reply says, and DynamoDB's says nothing: it waits 5 s each time"
        ]
    );
}

#[test]
fn all_faults_of_a_file_are_told_at_once() {
    let text = GOOD
        .replace("wcu = 1000", "wuc = 1000")
        .replace("lasts = \"10s\"", "lasts = 10")
        .replace("\"create\"", "\"creat\"");
    assert_eq!(
        told(&text).lines().map(|line| line.split(": ").next().unwrap()).collect::<Vec<_>>(),
        ["f.toml:6:1", "f.toml:9:13", "f.toml:12:9"]
    );
}

/// The cases of `tests/faults.txt`: what is changed in which file (`GOOD`, or the same on Cosmos DB), and what is told.
///
/// ```text
/// --- dynamodb | cosmos
/// the line that is replaced; nothing: the lines below are added
/// => its replacement
/// the fault, without the name of the file
/// ```
#[test]
fn each_fault_is_told_in_these_words() {
    let cosmos = GOOD.replace("\"dynamodb\"\nwcu = 1000", "\"cosmos\"\nru = 1000");
    let cases = include_str!("tests/faults.txt");
    let mut written = String::new();
    for case in cases.split("--- ").skip(1) {
        let (base, rest) = case.split_once('\n').unwrap();
        let (from, rest) = rest.split_once("=> ").unwrap();
        let (to, _) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let base_text = if base == "cosmos" { cosmos.as_str() } else { GOOD };
        let text = match from.trim_end() {
            "" => format!("{base_text}{to}\n"),
            from => {
                assert!(base_text.contains(from), "{from}");
                base_text.replace(from, to)
            }
        };
        let told = told(&text);
        written.push_str(&format!("--- {base}\n{from}=> {to}\n\n{}\n\n", told.replace("f.toml:", "")));
    }
    if std::env::var_os("HOTPLATE_BLESS").is_some() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/scenario/tests/faults.txt");
        std::fs::write(place, &written).unwrap();
    }
    assert_eq!(written, cases, "run with HOTPLATE_BLESS=1 and read the difference");
}

#[test]
fn built_in_scenarios_are_read() {
    for scenario in BUILT_IN {
        let text = Text { name: scenario.name, text: scenario.text, folder: None };
        let loaded = load(text, &[], None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.scenario.name, scenario.name);
        assert!(!loaded.scenario.about.is_empty(), "{}: about", scenario.name);
        assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    }
}

/// The document tells every key, and every scenario that comes with the binary.
#[test]
fn every_key_is_documented() {
    let document = include_str!("../../../docs/scenarios.md");
    let keys = [
        KEYS,
        tables::TABLE_KEYS,
        tables::INDEX_KEYS,
        loads::KEYS,
        loads::PHASE_KEYS,
        loads::VERBS,
        keys::KEYS,
        events::KEYS,
    ];
    for key in keys.iter().flat_map(|keys| keys.iter()) {
        let forms = [
            format!("`{key}`"),
            format!("`{key} ="),
            format!("`[[{key}]]`"),
            format!("`[[table.{key}]]`"),
            format!("`[{key}]`"),
            format!(" {key} = "),
        ];
        assert!(forms.iter().any(|form| document.contains(form)), "{key} is not in docs/scenarios.md");
    }
    for figure in hotplate::lab::run::FigureName::ALL {
        assert!(document.contains(&format!("`{}`", figure.as_str())), "{}", figure.as_str());
    }
    for scenario in BUILT_IN {
        let text = Text { name: scenario.name, text: scenario.text, folder: None };
        let (about, _) = outline(text);
        let first = about.split_once(". ").map_or(about.as_str(), |(first, _)| first);
        let row = format!("| `{}` | {} |", scenario.name, first.trim_end_matches('.'));
        assert!(document.contains(&row), "{row}");
    }
}

/// The file in the document is one.
#[test]
fn the_document_s_example_is_read() {
    let document = include_str!("../../../docs/scenarios.md");
    let example = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(scenario_of(example).name, "status-index");
}

#[test]
fn no_text_makes_it_panic() {
    // Every value of a full file, replaced by something of another kind.
    let odd = [
        "-1",
        "0",
        "\"\"",
        "[]",
        "{}",
        "1e300",
        "nan",
        "\"$\"",
        "99999999999999999999",
        "2013-01-01",
        "true",
        "[[]]",
        "\"31d\"",
        "\"1us\"",
        "\"100%\"",
        "9007199254740992",
        "[1, 2]",
        "[\"1s\", \"2s\"]",
        "\"cosmos\"",
        "\"dynamodb\"",
    ];
    for text in [GOOD, ALL] {
        for (at, sign) in text.match_indices(" = ") {
            let (before, after) = text.split_at(at + sign.len());
            let end = after.find([',', '}', '\n']).unwrap_or(after.len());
            for value in odd {
                let _ = read(&format!("{before}{value}{}", &after[end..]));
            }
        }
        for (line, _) in text.match_indices('\n') {
            let _ = read(&text[..line]);
            let _ = read(&text[line..]);
        }
    }
    for cut in 0..GOOD.len() {
        let _ = read(&GOOD[..cut]);
    }
}
