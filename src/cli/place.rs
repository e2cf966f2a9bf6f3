//! `hotplate where`: token, range and partition of a key.

use super::output;
use super::table::{Align, Table};
use clap::Args;
use hotplate::error::{Error, Result};
use hotplate::key::{EffectivePartitionKey, EpkVersion, KeyValue, PartitionKey, Placement, even_bounds};
use hotplate::ring::{PartitionMap, Token};
use hotplate::rng::Seed;
use serde::Serialize;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Keys. Text is taken as it stands; a JSON array is a hierarchical key or a typed one: '["tenant", "user"]',
    /// '[42]', '[null]', and '[{}]' for an absent property.
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
    /// dynamodb or cosmos. DynamoDB's hash is not public: its placement is a seeded stand-in.
    #[arg(long, default_value = "cosmos")]
    profile: String,
    /// Physical partitions, evenly divided.
    #[arg(long, allow_hyphen_values = true, default_value_t = 1, value_name = "N")]
    partitions: u32,
    /// Cosmos DB hash version: 2 (large partition keys; new containers) or 1 [default: 2].
    #[arg(long, allow_hyphen_values = true, value_name = "VERSION")]
    hash: Option<u32>,
    /// The seed of a DynamoDB layout [default: 0].
    #[arg(long, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Place {
    key: String,
    token: String,
    partition: usize,
    from: String,
    to: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let placement = match (arguments.profile.as_str(), arguments.hash, arguments.seed) {
        ("cosmos", _, Some(_)) => {
            return Err(Error::invalid("--seed does not go with --profile cosmos, whose placement is exact"));
        }
        ("cosmos", Some(1), None) => Placement::Cosmos { version: EpkVersion::V1 },
        ("cosmos", Some(2) | None, None) => Placement::Cosmos { version: EpkVersion::V2 },
        ("cosmos", Some(other), None) => {
            return Err(Error::invalid(format!("--hash is 1 or 2, not {other}")));
        }
        ("dynamodb" | "dynamodb-on-demand", Some(_), _) => {
            return Err(Error::invalid(
                "--hash goes with --profile cosmos only: DynamoDB's hash is not public",
            ));
        }
        ("dynamodb" | "dynamodb-on-demand", None, seed) => {
            Placement::Seeded { layout: Seed(seed.unwrap_or(0)).stream("layout").at(0) as u32 }
        }
        (other, ..) => {
            return Err(Error::invalid(format!(
                "unknown profile {other:?}: dynamodb, dynamodb-on-demand or cosmos"
            )));
        }
    };
    if arguments.partitions == 0 || arguments.partitions > hotplate::profile::PARTITIONS_MAX {
        return Err(Error::invalid(format!(
            "--partitions: 1 to {}, not {}",
            hotplate::profile::PARTITIONS_MAX,
            arguments.partitions
        )));
    }
    let map = PartitionMap::new(placement.even_bounds(arguments.partitions), |i, _| i)?;
    // Bounds as Cosmos DB writes them: the start of the ring is empty, V1 has no trailing zeros.
    let bounds: Vec<String> = match placement {
        Placement::Cosmos { version } => {
            even_bounds(arguments.partitions, version).iter().map(ToString::to_string).collect()
        }
        Placement::Seeded { .. } => {
            placement.even_bounds(arguments.partitions).iter().map(ToString::to_string).collect()
        }
    };
    let places = arguments
        .keys
        .iter()
        .map(|text| {
            let key = parse_key(text)
                .and_then(|key| accepted(key, placement))
                .map_err(|error| error.within(format!("key {text:?}")))?;
            // Cosmos DB spells a key's hash in its own way, V1 with trailing zeros; print it as the service does.
            let (token, spelled) = match placement {
                Placement::Cosmos { version } => {
                    let epk = EffectivePartitionKey::of(&key, version);
                    (Token::from_bytes(epk.as_bytes()), epk.to_string())
                }
                Placement::Seeded { .. } => {
                    let token = placement.token(&key);
                    let spelled = token.to_string();
                    (token, spelled)
                }
            };
            let partition = map.index_of_token(&token);
            Ok(Place {
                key: text.clone(),
                token: spelled,
                partition,
                from: partition.checked_sub(1).map(|below| bounds[below].clone()).unwrap_or_default(),
                to: bounds.get(partition).cloned().unwrap_or_else(|| "FF".into()),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&places)
            .map_err(|error| Error::invalid(format!("this cannot be written as JSON: {error}")))?;
        return output::print(&format!("{text}\n"));
    }
    let mut table = Table::new(&[
        ("key", Align::Left),
        ("token", Align::Left),
        ("partition", Align::Right),
        ("range, end exclusive", Align::Left),
    ]);
    for place in places {
        table.row(vec![
            place.key,
            place.token,
            place.partition.to_string(),
            format!("{}..{}", if place.from.is_empty() { "\"\"" } else { &place.from }, place.to),
        ]);
    }
    output::print(&table.to_string())
}

/// The key, unless its service has no such keys.
fn accepted(key: PartitionKey, placement: Placement) -> Result<PartitionKey> {
    let refusal = match (placement, key.values().as_slice()) {
        (Placement::Cosmos { version: EpkVersion::V1 }, [_, _, ..]) => {
            "hierarchical keys are hashed by version 2 only"
        }
        (Placement::Cosmos { .. }, _) => return Ok(key),
        (Placement::Seeded { .. }, [_, _, ..]) => "DynamoDB has no hierarchical keys",
        (Placement::Seeded { .. }, [KeyValue::Undefined | KeyValue::Null | KeyValue::Bool(_)]) => {
            "a DynamoDB key is a string, a number or binary"
        }
        (Placement::Seeded { .. }, _) if key.is_empty_value() => "DynamoDB refuses empty key values",
        (Placement::Seeded { .. }, _) => return Ok(key),
    };
    Err(Error::invalid(refusal))
}

fn parse_key(text: &str) -> Result<PartitionKey> {
    if !text.trim_start().starts_with('[') {
        return Ok(PartitionKey::text(text));
    }
    let values: Vec<serde_json::Value> = serde_json::from_str(text).map_err(|error| {
        Error::invalid(format!(
            "a key that begins with [ is a JSON array of its levels, and this is not one: {error}"
        ))
    })?;
    let values = values
        .into_iter()
        .map(|value| match value {
            serde_json::Value::Null => Ok(KeyValue::Null),
            serde_json::Value::Bool(b) => Ok(KeyValue::Bool(b)),
            serde_json::Value::String(s) => Ok(KeyValue::String(s)),
            serde_json::Value::Number(n) => n.as_f64().map(KeyValue::Number).ok_or_else(|| {
                Error::invalid(format!("{n} does not fit a double, which Cosmos DB's numbers are"))
            }),
            serde_json::Value::Object(o) if o.is_empty() => Ok(KeyValue::Undefined),
            other => Err(Error::invalid(format!(
                "a level is a string, number, boolean, null or {{}} for absent, not {other}"
            ))),
        })
        .collect::<Result<Vec<_>>>()?;
    PartitionKey::levels(&values)
}
