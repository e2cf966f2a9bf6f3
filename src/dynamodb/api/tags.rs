//! What is written on a table: tags, and the attribute that tells when an item expires.
//!
//! Time to live is stored and told; that items expire is not there yet.

use super::super::error::ServiceError;
use super::super::service::DynamoTable;
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use super::items::arn;
use super::tables::required;
use super::{Answer, Call};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tags that a request has.
pub(super) fn tags(fields: &mut Fields) -> Result<Option<BTreeMap<String, String>>, ApiError> {
    let Some(list) = fields.list("Tags")? else { return Ok(None) };
    let mut constraints = Constraints::default();
    let mut tags = BTreeMap::new();
    for (i, tag) in list.into_iter().enumerate() {
        let mut tag = Fields::of(tag)?;
        let (key, value) = (tag.text("Key")?, tag.text("Value")?);
        for (name, member) in [("key", &key), ("value", &value)] {
            if member.is_none() {
                constraints.fails(None, &format!("tags.{}.member.{name}", i + 1), "Member must not be null");
            }
        }
        tags.insert(key.unwrap_or_default(), value.unwrap_or_default());
    }
    constraints.check()?;
    Ok(Some(tags))
}

/// The table whose ARN a request has. `wanted` is the member that must be there besides.
fn tagged(
    call: &Call<'_>,
    fields: &mut Fields,
    wanted: Option<(&str, &str)>,
) -> Result<Arc<DynamoTable>, ApiError> {
    let Some(own) = fields.text("ResourceArn")? else {
        return Err(ServiceError::validation("Invalid TableArn").into());
    };
    if let Some((_, at)) = wanted.filter(|(member, _)| !fields.has(member)) {
        let mut constraints = Constraints::default();
        constraints.fails(None, at, "Member must not be null");
        constraints.check()?;
    }
    let name = own.strip_prefix("arn:").and_then(|rest| rest.rsplit_once(":table/")).map(|(_, name)| name);
    let Some(name) = name.filter(|name| name.len() >= 3 && !name.contains('/')) else {
        let message = format!("Invalid TableArn: Invalid ResourceArn provided as input {own}");
        return Err(ServiceError::validation(message).into());
    };
    let table = call.database.table(name).filter(|table| arn(table) == own);
    table.ok_or_else(|| {
        let message = format!("Requested resource not found: ResourcArn: {own} not found");
        ApiError::new("ResourceNotFoundException", message)
    })
}

fn nothing() -> Answer {
    Ok(Value::Object(Map::new()))
}

pub(super) fn tag(call: &Call<'_>, mut fields: Fields) -> Answer {
    let table = tagged(call, &mut fields, Some(("Tags", "tags")))?;
    let tags = tags(&mut fields)?.unwrap_or_default();
    if tags.is_empty() {
        return Err(ServiceError::validation("Atleast one Tag needs to be provided as Input.").into());
    }
    table.set(|settings| settings.tags.extend(tags));
    nothing()
}

pub(super) fn untag(call: &Call<'_>, mut fields: Fields) -> Answer {
    let table = tagged(call, &mut fields, Some(("TagKeys", "tagKeys")))?;
    let keys = fields.list("TagKeys")?.unwrap_or_default();
    if keys.is_empty() {
        return Err(ServiceError::validation("Atleast one Tag Key needs to be provided as Input.").into());
    }
    table.set(|settings| {
        settings.tags.retain(|key, _| !keys.iter().any(|gone| gone.as_str() == Some(key)));
    });
    nothing()
}

pub(super) fn list(call: &Call<'_>, mut fields: Fields) -> Answer {
    let table = tagged(call, &mut fields, None)?;
    let tags = table.settings().tags;
    let tags: Vec<Value> = tags.iter().map(|(key, value)| json!({ "Key": key, "Value": value })).collect();
    Ok(json!({ "Tags": tags }))
}

pub(super) fn update_ttl(call: &Call<'_>, mut fields: Fields) -> Answer {
    let specification = fields.object("TimeToLiveSpecification")?;
    let mut constraints = Constraints::default();
    let Some(mut specification) = specification else {
        constraints.fails(None, "timeToLiveSpecification", "Member must not be null");
        return constraints.check().and_then(|()| nothing());
    };
    let enabled = specification.flag("Enabled")?;
    let name = specification.text("AttributeName")?;
    if enabled.is_none() {
        constraints.fails(None, "timeToLiveSpecification.enabled", "Member must not be null");
    }
    let at = "timeToLiveSpecification.attributeName";
    match name.as_deref() {
        None => constraints.fails(None, at, "Member must not be null"),
        Some("") => constraints.fails(Some(""), at, "Member must have length greater than or equal to 1"),
        Some(name) if name.len() > 255 => {
            constraints.fails(Some(name), at, "Member must have length less than or equal to 255");
        }
        Some(_) => {}
    }
    constraints.check()?;
    let table = required(call, &mut fields)?;
    let (enabled, name) = (enabled.unwrap_or_default(), name.unwrap_or_default());
    table.set(|settings| match (&settings.time_to_live, enabled) {
        (Some(own), true) if *own == name => Err(ServiceError::validation("TimeToLive is already enabled")),
        (Some(own), _) if *own != name => Err(ServiceError::validation(format!(
            "TimeToLive is active on a different AttributeName: current AttributeName is {own}"
        ))),
        (None, false) => Err(ServiceError::validation("TimeToLive is already disabled")),
        (_, enabled) => {
            settings.time_to_live = enabled.then(|| name.clone());
            Ok(())
        }
    })?;
    Ok(json!({ "TimeToLiveSpecification": { "AttributeName": name, "Enabled": enabled } }))
}

pub(super) fn describe_ttl(call: &Call<'_>, mut fields: Fields) -> Answer {
    let table = required(call, &mut fields)?;
    Ok(match table.settings().time_to_live {
        Some(name) => {
            json!({ "TimeToLiveDescription": { "TimeToLiveStatus": "ENABLED", "AttributeName": name } })
        }
        None => json!({ "TimeToLiveDescription": { "TimeToLiveStatus": "DISABLED" } }),
    })
}
