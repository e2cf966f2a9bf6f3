//! `hotplate where`: token, range and partition of a key.

use super::output;
use super::table::{Align, Table};
use clap::Args;
use hotplate::error::{Error, Result};
use hotplate::key::{EffectivePartitionKey, EpkVersion, KeyValue, PartitionKey, Placement};
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
    #[arg(long, default_value_t = 1, value_name = "N")]
    partitions: u32,
    /// Cosmos DB hash version: 2 (large partition keys; new containers) or 1.
    #[arg(long, default_value_t = 2, value_name = "VERSION")]
    hash: u32,
    /// The seed of a DynamoDB layout.
    #[arg(long, default_value_t = 0)]
    seed: u64,
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
    let placement = match (arguments.profile.as_str(), arguments.hash) {
        ("cosmos", 1) => Placement::Cosmos { version: EpkVersion::V1 },
        ("cosmos", 2) => Placement::Cosmos { version: EpkVersion::V2 },
        ("cosmos", other) => return Err(Error::invalid(format!("--hash is 1 or 2, not {other}"))),
        ("dynamodb" | "dynamodb-on-demand", _) => {
            Placement::Seeded { layout: Seed(arguments.seed).stream("layout").at(0) as u32 }
        }
        (other, _) => {
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
    let places = arguments
        .keys
        .iter()
        .map(|text| {
            let key = parse_key(text).map_err(|error| error.within(format!("key {text:?}")))?;
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
            let range = map.range(partition);
            Ok(Place {
                key: text.clone(),
                token: spelled,
                partition,
                from: bound(&range.from().token),
                to: range.to().map_or_else(|| "FF".into(), |to| bound(&to.token)),
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
            format!("{}..{}", place.from, place.to),
        ]);
    }
    output::print(&table.to_string())
}

/// A bound as Cosmos DB writes it: the start of the ring is empty.
fn bound(token: &Token) -> String {
    if *token == Token::START { "\"\"".into() } else { token.to_string() }
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
