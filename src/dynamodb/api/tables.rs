//! Tables: CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables, and what an account may have.
//!
//! A table is there, changed or gone at once: nobody waits for a status.

use super::super::error::ServiceError;
use super::super::service::{Billing, DynamoTable, TableDefinition};
use super::definition_request::{DefinitionRequest, Units, billing_mode, neither, required_name, unpaid};
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use super::table_description::describe as description;
use super::tags::tags;
use super::{Answer, Call};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Names in one answer of ListTables at the most.
const NAMES_MAX: i64 = 100;

/// The words in the order in which the service lists them (*assumed*).
const CLASSES: &[&str] = &["STANDARD", "STANDARD_INFREQUENT_ACCESS"];

fn answer(call: &Call<'_>, table: &DynamoTable, member: &str, status: &str) -> Answer {
    let mut answer = Map::new();
    answer.insert(member.into(), description(call, table, status));
    Ok(Value::Object(answer))
}

/// The table of this name, or of this ARN.
pub(super) fn named(call: &Call<'_>, name: &str) -> Result<Arc<DynamoTable>, ApiError> {
    let name = name.rsplit_once(":table/").map_or(name, |(_, name)| name);
    call.database.table(name).ok_or_else(|| ApiError::no_such_table(name))
}

/// The table that a request must name, with nothing else wrong.
pub(super) fn required(call: &Call<'_>, fields: &mut Fields) -> Result<Arc<DynamoTable>, ApiError> {
    let name = required_name(fields)?;
    let mut constraints = Constraints::default();
    constraints.table_name(Some(&name));
    constraints.check()?;
    named(call, &name)
}

/// That a request asks for nothing that is not here yet: what would change how a table behaves is refused by its name, not
/// read over. Encryption changes nothing that a client can see.
fn not_yet(fields: &mut Fields) -> Result<(), ApiError> {
    const MEMBERS: [&str; 7] = [
        "OnDemandThroughput",
        "WarmThroughput",
        "ReplicaUpdates",
        "ResourcePolicy",
        "MultiRegionConsistency",
        "GlobalTableWitnessUpdates",
        "GlobalTableSettingsReplicationMode",
    ];
    let refuse = |name: &str| {
        Err(ServiceError::validation(format!("{name} is not supported by hotplate yet: leave it out")).into())
    };
    if let Some(name) = MEMBERS.into_iter().find(|name| fields.has(name)) {
        return refuse(name);
    }
    match fields.object("StreamSpecification")?.map(|mut stream| stream.flag("StreamEnabled")).transpose()? {
        Some(Some(true)) => refuse("StreamSpecification with StreamEnabled"),
        _ => Ok(()),
    }
}

pub(super) fn create(call: &Call<'_>, mut fields: Fields) -> Answer {
    let mut constraints = Constraints::default();
    let request = DefinitionRequest::take(&mut fields, &mut constraints)?;
    let protected = fields.flag("DeletionProtectionEnabled")?.unwrap_or(false);
    let class = fields.text("TableClass")?;
    constraints.word(class.as_deref(), "tableClass", CLASSES);
    constraints.check()?;
    not_yet(&mut fields)?;
    let tags = tags(&mut fields)?.unwrap_or_default();
    let definition = request.definition()?;
    let name = definition.name.clone();
    let in_use = || ApiError::new("ResourceInUseException", format!("Table already exists: {name}"));
    if call.database.table(&name).is_some() {
        return Err(in_use());
    }
    let on_demand = definition.billing == Billing::OnDemand;
    let table =
        call.database.create(definition, call.now).map_err(|error| match call.database.table(&name) {
            Some(_) => in_use(),
            None => ServiceError::validation(error.to_string()).into(),
        })?;
    table.set(|settings| {
        settings.deletion_protection = protected;
        settings.infrequent_access = class.as_deref() == Some("STANDARD_INFREQUENT_ACCESS");
        settings.tags = tags;
        settings.on_demand_since = on_demand.then_some(call.now);
    });
    answer(call, &table, "TableDescription", "ACTIVE")
}

pub(super) fn describe(call: &Call<'_>, mut fields: Fields) -> Answer {
    let table = required(call, &mut fields)?;
    answer(call, &table, "Table", "ACTIVE")
}

pub(super) fn delete(call: &Call<'_>, mut fields: Fields) -> Answer {
    let table = required(call, &mut fields)?;
    if table.settings().deletion_protection {
        return Err(ServiceError::validation(
            "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
        )
        .into());
    }
    let name = table.definition().name.clone();
    match call.database.delete(&name) {
        Some(table) => answer(call, &table, "TableDescription", "DELETING"),
        None => Err(ApiError::no_such_table(&name)),
    }
}

pub(super) fn list(call: &Call<'_>, mut fields: Fields) -> Answer {
    let mut constraints = Constraints::default();
    let limit = fields.number("Limit")?;
    constraints.number(limit, "limit", 1, NAMES_MAX);
    let after = fields.text("ExclusiveStartTableName")?;
    constraints.index_name(after.as_deref(), "exclusiveStartTableName");
    constraints.check()?;
    let limit = usize::try_from(limit.unwrap_or(NAMES_MAX)).unwrap_or_default();
    let mut names = call.database.names(after.as_deref(), limit.saturating_add(1));
    let more = names.len() > limit;
    names.truncate(limit);
    let mut answer = Map::new();
    if let Some(last) = names.last().filter(|_| more) {
        answer.insert("LastEvaluatedTableName".into(), json!(last));
    }
    answer.insert("TableNames".into(), json!(names));
    Ok(Value::Object(answer))
}

/// New throughput of global indexes by name, with the name of the index that is to be created or removed, if any.
type IndexUpdates = (Vec<(String, Units)>, Option<String>);

pub(super) fn update(call: &Call<'_>, mut fields: Fields) -> Answer {
    let name = required_name(&mut fields)?;
    let mut constraints = Constraints::default();
    constraints.table_name(Some(&name));
    let on_demand = billing_mode(&mut fields, &mut constraints)?;
    let units = Units::take(&mut fields, &mut constraints, "")?;
    let updates = fields.list("GlobalSecondaryIndexUpdates")?.unwrap_or_default();
    let some_updates = !updates.is_empty();
    let (updates, unsupported) = index_updates(updates, &mut constraints)?;
    let protection = fields.flag("DeletionProtectionEnabled")?;
    let class = fields.text("TableClass")?;
    constraints.word(class.as_deref(), "tableClass", CLASSES);
    constraints.check()?;
    not_yet(&mut fields)?;
    // A stream that is turned off and encryption change nothing here.
    let others =
        ["StreamSpecification", "SSESpecification", "ReplicaUpdates", "OnDemandThroughput", "WarmThroughput"];
    let anything = on_demand.is_some()
        || units.is_some()
        || some_updates
        || protection.is_some()
        || class.is_some()
        || others.iter().any(|name| fields.has(name));
    if !anything {
        return Err(ServiceError::validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or \
             SSESpecification or ReplicaUpdates is required",
        )
        .into());
    }
    if on_demand == Some(false) && units.is_none() {
        return Err(ServiceError::invalid_parameters(
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        )
        .into());
    }
    units.map_or(Ok(()), Units::check)?;
    let table = named(call, &name)?;
    if let Some(index) = unsupported {
        return Err(ServiceError::validation(format!(
            "hotplate cannot yet add or remove a global secondary index of a table that is there: {index}. Create the table \
             with it."
        ))
        .into());
    }
    let definition = table.definition();
    let (of_table, global) = billings(&definition, on_demand, units, &updates)?;
    table
        .set_billing(of_table, &global, call.now)
        .map_err(|error| ServiceError::validation(error.to_string()))?;
    table.set(|settings| {
        match (definition.billing, of_table) {
            (Billing::Provisioned { .. }, Billing::OnDemand) => settings.on_demand_since = Some(call.now),
            (
                Billing::Provisioned { read, write },
                Billing::Provisioned { read: new_read, write: new_write },
            ) => {
                if new_read > read || new_write > write {
                    settings.raised = Some(call.now);
                }
                if new_read < read || new_write < write {
                    settings.lowered = Some(call.now);
                }
            }
            (Billing::OnDemand, _) => {}
        }
        settings.deletion_protection = protection.unwrap_or(settings.deletion_protection);
        if let Some(class) = &class {
            settings.infrequent_access = class == "STANDARD_INFREQUENT_ACCESS";
        }
    });
    answer(call, &table, "TableDescription", "ACTIVE")
}

fn index_updates(list: Vec<Value>, constraints: &mut Constraints) -> Result<IndexUpdates, ApiError> {
    let mut updates: Vec<(String, Units)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut unsupported = None;
    let mut wrong = None;
    for (i, update) in list.into_iter().enumerate() {
        let mut update = Fields::of(update)?;
        let mut any = false;
        for member in ["Update", "Create", "Delete"] {
            let Some(mut action) = update.object(member)? else { continue };
            any = true;
            let at = format!("globalSecondaryIndexUpdates.{}.member.{}.", i + 1, member.to_lowercase());
            let name = action.text("IndexName")?;
            if name.is_none() {
                constraints.fails(None, &format!("{at}indexName"), "Member must not be null");
            }
            constraints.index_name(name.as_deref(), &format!("{at}indexName"));
            let name = name.unwrap_or_default();
            if names.contains(&name) {
                wrong.get_or_insert(format!(
                    "Only one global secondary index update per index is allowed simultaneously. Index: {name}"
                ));
            }
            names.push(name.clone());
            if member == "Update" {
                match Units::take(&mut action, constraints, &at)? {
                    Some(units) => updates.push((name, units)),
                    None => constraints.fails(
                        None,
                        &format!("{at}provisionedThroughput"),
                        "Member must not be null",
                    ),
                }
            } else {
                unsupported.get_or_insert(name);
            }
        }
        if !any {
            wrong.get_or_insert(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
                 GlobalSecondaryIndexUpdate.Delete must not be null"
                    .to_owned(),
            );
        }
    }
    match wrong {
        // Constraints come first; the caller has them.
        Some(wrong) if constraints.is_met() => Err(ServiceError::invalid_parameters(wrong).into()),
        _ => Ok((updates, unsupported)),
    }
}

/// How a table and its global indexes are paid for once it is updated.
fn billings(
    definition: &TableDefinition,
    on_demand: Option<bool>,
    units: Option<Units>,
    updates: &[(String, Units)],
) -> Result<(Billing, Vec<Billing>), ApiError> {
    let was_on_demand = definition.billing == Billing::OnDemand;
    let is_on_demand = on_demand.unwrap_or(was_on_demand);
    if is_on_demand && (units.is_some() || !updates.is_empty()) {
        return Err(neither().into());
    }
    if let Some((name, _)) =
        updates.iter().find(|(name, _)| definition.global.iter().all(|own| own.index.name != *name))
    {
        // *Assumed* to be the text of a read.
        let message = format!("The table does not have the specified index: {name}");
        return Err(ServiceError::validation(message).into());
    }
    let update = |name: &str| updates.iter().find(|(own, _)| own == name).map(|(_, units)| *units);
    if was_on_demand && !is_on_demand {
        let names = definition.global.iter().map(|own| own.index.name.as_str());
        let unpaid_for: Vec<&str> = names.filter(|name| update(name).is_none()).collect();
        if !unpaid_for.is_empty() {
            return Err(unpaid(&unpaid_for.join(",")).into());
        }
    }
    let table = match (is_on_demand, units) {
        (true, _) => Billing::OnDemand,
        (false, Some(units)) => changed(definition.billing, units)?,
        (false, None) => definition.billing,
    };
    let global = definition.global.iter().map(|own| match (is_on_demand, update(&own.index.name)) {
        (true, _) => Ok(Billing::OnDemand),
        (false, Some(units)) => changed(own.billing, units),
        (false, None) => Ok(own.billing),
    });
    Ok((table, global.collect::<Result<_, ServiceError>>()?))
}

/// That throughput changes.
fn changed(from: Billing, to: Units) -> Result<Billing, ServiceError> {
    to.check()?;
    match from {
        Billing::Provisioned { read, write } if from == to.billing() => {
            Err(ServiceError::validation(format!(
                "The provisioned throughput for the table will not change. The requested value equals the current value. Current \
             ReadCapacityUnits provisioned for the table: {read}. Requested ReadCapacityUnits: {read}. Current \
             WriteCapacityUnits provisioned for the table: {write}. Requested WriteCapacityUnits: {write}. Refer to the \
             Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
            )))
        }
        _ => Ok(to.billing()),
    }
}

/// The quotas of an account that never asked for more ("Service quotas").
pub(super) fn limits(_: &Call<'_>, _: Fields) -> Answer {
    Ok(json!({
        "AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000,
    }))
}

/// Where the service is. Whoever serves this over HTTP knows better and may put its own address there.
pub(super) fn endpoints(_: &Call<'_>, _: Fields) -> Answer {
    Ok(json!({
        "Endpoints": [{ "Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1_440 }]
    }))
}
