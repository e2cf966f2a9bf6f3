//! Promise: the synthetic keys of the vendors' own documentation come out as documented, skew included.
//!
//! Examples: Azure Cosmos DB, "Create a synthetic partition key"; DynamoDB developer guide, "Using write
//! sharding to distribute workloads evenly". The shares of suffix 1 were computed independently of this crate
//! before it existed.

use hotplate::key::{KeyValue, Template};
use hotplate::rng::{Rng, Seed};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Random ids per measurement: enough for shares to be steady to a percent.
const IDS: u64 = 200_000;

fn template(text: &str) -> Template {
    Template::parse(text).unwrap()
}

fn text(template: &Template, item: &Value, row: u64) -> String {
    match template.key(item, Seed(1), row).unwrap() {
        KeyValue::String(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// How often each suffix of `{product(id, 1..modulus)}` is given to random ids.
fn product_counts(modulus: u64, mut id: impl FnMut(&mut Rng) -> String) -> Vec<u64> {
    let template = Template::builder().product("id", 1..=modulus).build().unwrap();
    let mut counts = vec![0; modulus as usize];
    let mut rng = Seed(1).rng();
    for row in 0..IDS {
        let suffix: usize = text(&template, &json!({"id": id(&mut rng)}), row).parse().unwrap();
        counts[suffix - 1] += 1;
    }
    counts
}

fn ten_digits(rng: &mut Rng) -> String {
    (0..10).map(|_| char::from(b'0' + rng.below(10) as u8)).collect()
}

/// A random UUID, version 4.
fn uuid(rng: &mut Rng) -> String {
    let (a, b) = (rng.next_u64(), rng.next_u64());
    let variant = 0x8000 | (b >> 48) & 0x3fff;
    format!(
        "{:08x}-{:04x}-4{:03x}-{variant:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b & 0xffff_ffff_ffff
    )
}

#[test]
fn cosmos_concatenates_device_and_date() {
    let template = template("{deviceId}-{date}");
    assert_eq!(text(&template, &json!({"deviceId": "abc-123", "date": 2018}), 0), "abc-123-2018");
    assert_eq!(text(&template, &json!({"deviceId": "abc-123", "date": "2018"}), 0), "abc-123-2018");
}

/// Every suffix from the first to the last is given, nearly equally often, and nothing else.
fn assert_random_suffixes(template: &Template, date: &str, last: usize) {
    let item = json!({ "date": date });
    let mut counts = vec![0_u64; last];
    let rows = 1_000 * last as u64;
    for row in 0..rows {
        let key = text(template, &item, row);
        let suffix: usize =
            key.strip_prefix(date).and_then(|rest| rest.strip_prefix('.')).unwrap().parse().unwrap();
        counts[suffix - 1] += 1;
    }
    // A count has mean 1,000 and standard deviation 32.
    assert!(counts.iter().all(|n| (850..1_150).contains(n)), "{counts:?}");
}

#[test]
fn cosmos_random_suffix_from_1_to_400() {
    assert_random_suffixes(&template("{date}.{random(1..400)}"), "2018-08-09", 400);
}

#[test]
fn dynamodb_random_suffix_from_1_to_200() {
    let built = Template::builder().field("date").text(".").random(1..=200).build().unwrap();
    assert_eq!(built, template("{date}.{random(1..200)}"));
    assert_random_suffixes(&built, "2014-07-09", 200);
    let keys: BTreeSet<String> =
        (0..10_000).map(|row| text(&built, &json!({"date": "2014-07-09"}), row)).collect();
    let expected: BTreeSet<String> = (1..=200).map(|n| format!("2014-07-09.{n}")).collect();
    assert_eq!(keys, expected);
}

#[test]
fn random_suffixes_follow_from_the_seed() {
    let template = template("{date}.{random(1..200)}");
    let item = json!({"date": "2014-07-09"});
    let keys = |seed| {
        (0..1_000).map(|row| template.key(&item, Seed(seed), row).unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(keys(5), keys(5));
    assert_ne!(keys(5), keys(6));
}

#[test]
fn cosmos_precalculated_suffix_of_a_vehicle() {
    let template = template("{date}.{hash(Vehicle-Identification-Number, 1..400)}");
    let item = |vin: &str| json!({"date": "2018-08-09", "Vehicle-Identification-Number": vin});
    // Calculated with Python's hashlib.
    assert_eq!(text(&template, &item("1HGCM82633A004352"), 0), "2018-08-09.292");
    assert_eq!(text(&template, &item("5YJSA1E26HF000337"), 0), "2018-08-09.304");

    let mut suffixes = BTreeSet::new();
    for n in 0..10_000 {
        let item = item(&format!("1HGCM8263{n:08}"));
        let key = template.key(&item, Seed(1), n).unwrap();
        assert_eq!(key, template.key(&item, Seed(2), n + 1).unwrap(), "neither seed nor row matter");
        suffixes.insert(key.to_string().rsplit_once('.').unwrap().1.parse::<u64>().unwrap());
    }
    assert_eq!(suffixes, (1..=400).collect());
}

#[test]
fn dynamodb_product_formula() {
    let template = template("{date}.{product(orderId, 1..200)}");
    let mut rng = Seed(3).rng();
    let ids = ["", "a", "ORD-00012345", "Bestellung-ä€𝄞"].map(str::to_owned).into_iter();
    for id in ids.chain((0..500).map(|_| ten_digits(&mut rng))) {
        // The whole product in base 2³², reduced once at the end.
        let mut product: Vec<u64> = vec![u64::from(!id.is_empty())];
        for c in id.chars() {
            let mut carry = 0;
            for limb in &mut product {
                let word = *limb * u64::from(c) + carry;
                (*limb, carry) = (word & 0xffff_ffff, word >> 32);
            }
            product.push(carry);
        }
        let remainder = product.iter().rev().fold(0, |r, limb| ((r << 32) + limb) % 200);
        let key = text(&template, &json!({"date": "2014-07-09", "orderId": id}), 0);
        assert_eq!(key, format!("2014-07-09.{}", remainder + 1), "{id:?}");
    }
}

#[test]
fn product_formula_sends_three_quarters_of_ten_digit_ids_to_suffix_1() {
    let share = product_counts(200, ten_digits)[0] as f64 / IDS as f64;
    assert!((share - 0.748).abs() <= 0.01, "{share}");
}

#[test]
fn product_formula_sends_every_uuid_to_suffix_1() {
    let mut seen = BTreeSet::new();
    let counts = product_counts(200, |rng| {
        let id = uuid(rng);
        seen.insert(id.clone());
        id
    });
    // Four hyphens (45⁴ holds 5⁴) leave only the factor 2³ to chance, and 32 hex digits nearly always bring
    // it.
    assert!(counts[0] >= IDS - 5, "{:?}", &counts[..10]);
    assert_eq!(seen.len() as u64, IDS, "the ids differ, their suffix does not");
}

#[test]
fn a_prime_modulus_repairs_the_formula() {
    for counts in [product_counts(199, ten_digits), product_counts(199, uuid)] {
        let mean = IDS as f64 / counts.len() as f64;
        let hottest = *counts.iter().max().unwrap() as f64;
        assert!(hottest / mean <= 1.2, "{}", hottest / mean);
        assert_eq!(counts[0], 0, "no code point of these ids is a multiple of 199");
    }
}

#[test]
fn what_a_person_mistypes_is_shown_with_a_caret() {
    let error = Template::parse("{date}.{random(200..1)}").unwrap_err();
    let caret = error.to_string().lines().nth(2).unwrap().find('^').unwrap();
    assert_eq!(caret, 2 + error.position());
    assert_eq!(&"{date}.{random(200..1)}"[error.position()..], "200..1)}");
    for text in
        ["", "{date", "date}", "{}", "{md5(a, 1..2)}", "{random(1..1000001)}", "{hash(1..200)}", "{a{b}}"]
    {
        assert!(Template::parse(text).is_err(), "{text}");
    }
}

/// 38 % of the flights of 2013, by tail number: the finding on real data.
#[cfg(feature = "cli")]
#[test]
fn product_formula_sends_a_third_of_real_flights_to_suffix_1() {
    use hotplate::key::{FieldRef, Properties, Property};
    use std::io::{BufRead as _, BufReader};

    fn tail(row: &str) -> &str {
        row.split(',').nth(4).unwrap()
    }
    struct Tail<'a>(&'a str);
    impl Properties for Tail<'_> {
        fn property<'a>(&'a self, _: FieldRef<'_>) -> Property<'a> {
            Property::Text(self.0.into())
        }
    }
    let file =
        std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/data/nyc-flights-2013.csv.gz")).unwrap();
    let rows = BufReader::new(flate2::read::GzDecoder::new(file)).lines().skip(1).map(Result::unwrap);
    // Flights without a tail number never left.
    let rows = rows.filter(|row| !tail(row).is_empty());
    let template = template("{product(tailnum, 1..200)}");
    let (mut flights, mut first, mut key) = (0_u32, 0_u32, String::new());
    for row in rows {
        template.render(&Tail(tail(&row)), Seed(1), 0, &mut key).unwrap();
        flights += 1;
        first += u32::from(key == "1");
    }
    // Counted with a few lines of Python.
    assert_eq!((flights, first), (334_264, 127_903));
}
