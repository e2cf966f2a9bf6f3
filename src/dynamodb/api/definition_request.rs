//! What CreateTable and UpdateTable say of keys, indexes and throughput, checked in the service's order.
//!
//! Texts and order are those that dynalite and `nubo-db/dynamodb-conformance` captured, unless a comment says *assumed*. Keys of
//! several attributes each, which global indexes may have since 2025, are not there.

use super::super::error::ServiceError;
use super::super::key::{KeyAttribute, KeySchema, KeyType};
use super::super::service::{Billing, GlobalIndex, IndexDefinition, IndexProjection, TableDefinition};
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use std::collections::BTreeSet;

/// Local indexes of a table at the most (developer guide, "Constraints", "Secondary indexes").
const LOCAL_MAX: usize = 5;
/// Global indexes of a table at the most (the same section).
const GLOBAL_MAX: usize = 20;
/// The highest throughput that the service reads at all (dynalite).
const UNITS_MAX: i64 = 1_000_000_000_000;

/// A part of a key, as the request says it.
#[derive(Clone, Debug)]
struct KeyElement {
    name: String,
    kind: String,
}

/// Read and write units a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    pub(super) read: i64,
    pub(super) write: i64,
}

impl Units {
    /// Takes the member of this name. `at` is where the service says that it is.
    pub(super) fn take(
        fields: &mut Fields,
        constraints: &mut Constraints,
        at: &str,
    ) -> Result<Option<Self>, ApiError> {
        let Some(mut own) = fields.object("ProvisionedThroughput")? else { return Ok(None) };
        let mut units = |name: &str, key: &str| -> Result<i64, ApiError> {
            let value = own.number(name)?;
            let at = format!("{at}provisionedThroughput.{key}");
            if value.is_none() {
                constraints.fails(None, &at, "Member must not be null");
            }
            constraints.number(value, &at, 1, i64::MAX);
            Ok(value.unwrap_or_default())
        };
        let write = units("WriteCapacityUnits", "writeCapacityUnits")?;
        let read = units("ReadCapacityUnits", "readCapacityUnits")?;
        Ok(Some(Self { read, write }))
    }

    pub(super) fn check(self) -> Result<(), ServiceError> {
        for (name, value) in [("ReadCapacityUnits", self.read), ("WriteCapacityUnits", self.write)] {
            if value > UNITS_MAX {
                return Err(ServiceError::validation(format!(
                    "Given value {value} for {name} is out of bounds"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn billing(self) -> Billing {
        let units = |value: i64| u64::try_from(value).unwrap_or_default();
        Billing::Provisioned { read: units(self.read), write: units(self.write) }
    }
}

/// An index, as the request says it.
#[derive(Clone, Debug)]
struct IndexRequest {
    name: String,
    keys: Vec<KeyElement>,
    projection: Option<String>,
    included: Option<Vec<String>>,
    units: Option<Units>,
}

/// A table, as the request says it.
#[derive(Clone, Debug)]
pub(super) struct DefinitionRequest {
    name: String,
    attributes: Vec<(String, String)>,
    keys: Vec<KeyElement>,
    on_demand: bool,
    units: Option<Units>,
    local: Option<Vec<IndexRequest>>,
    global: Option<Vec<IndexRequest>>,
}

/// The name of the table that an operation on tables must have.
pub(super) fn required_name(fields: &mut Fields) -> Result<String, ApiError> {
    fields.text("TableName")?.ok_or_else(|| {
        ServiceError::validation("The parameter 'TableName' is required but was not present in the request")
            .into()
    })
}

/// The mode that a request names: whether it is on demand.
pub(super) fn billing_mode(
    fields: &mut Fields,
    constraints: &mut Constraints,
) -> Result<Option<bool>, ApiError> {
    let mode = fields.text("BillingMode")?;
    constraints.word(mode.as_deref(), "billingMode", &["PROVISIONED", "PAY_PER_REQUEST"]);
    Ok(mode.map(|mode| mode == "PAY_PER_REQUEST"))
}

fn text(
    fields: &mut Fields,
    name: &str,
    constraints: &mut Constraints,
    at: &str,
) -> Result<String, ApiError> {
    let value = fields.text(name)?;
    if value.is_none() {
        constraints.fails(None, at, "Member must not be null");
    }
    Ok(value.unwrap_or_default())
}

fn key_schema(
    fields: &mut Fields,
    constraints: &mut Constraints,
    at: &str,
    words: bool,
) -> Result<Vec<KeyElement>, ApiError> {
    let at = format!("{at}keySchema");
    let Some(list) = fields.list("KeySchema")? else {
        constraints.fails(None, &at, "Member must not be null");
        return Ok(Vec::new());
    };
    let mut keys = Vec::new();
    let mut inner = Constraints::default();
    for (i, element) in list.into_iter().enumerate() {
        let mut element = Fields::of(element)?;
        let at = format!("{at}.{}.member", i + 1);
        let name = text(&mut element, "AttributeName", &mut inner, &format!("{at}.attributeName"))?;
        let kind = text(&mut element, "KeyType", &mut inner, &format!("{at}.keyType"))?;
        if words && !kind.is_empty() {
            inner.word(Some(&kind), &format!("{at}.keyType"), &["HASH", "RANGE"]);
        }
        keys.push(KeyElement { name, kind });
    }
    let shown = || {
        let shown = keys
            .iter()
            .map(|key| format!("KeySchemaElement(attributeName={}, keyType={})", key.name, key.kind));
        format!("[{}]", shown.collect::<Vec<_>>().join(", "))
    };
    match keys.len() {
        0 => constraints.fails(Some("[]"), &at, "Member must have length greater than or equal to 1"),
        1 | 2 => {}
        _ => constraints.fails(Some(&shown()), &at, "Member must have length less than or equal to 2"),
    }
    constraints.append(inner);
    Ok(keys)
}

fn indexes(
    fields: &mut Fields,
    constraints: &mut Constraints,
    member: &str,
    at: &str,
) -> Result<Option<Vec<IndexRequest>>, ApiError> {
    let Some(list) = fields.list(member)? else { return Ok(None) };
    let mut indexes = Vec::new();
    for (i, index) in list.into_iter().enumerate() {
        let mut index = Fields::of(index)?;
        let at = format!("{at}.{}.member.", i + 1);
        let name = text(&mut index, "IndexName", constraints, &format!("{at}indexName"))?;
        if !name.is_empty() {
            constraints.index_name(Some(&name), &format!("{at}indexName"));
        }
        let keys = key_schema(&mut index, constraints, &at, false)?;
        let (mut projection, mut included) = (None, None);
        match index.object("Projection")? {
            None => constraints.fails(None, &format!("{at}projection"), "Member must not be null"),
            Some(mut own) => {
                projection = own.text("ProjectionType")?;
                let words = &["ALL", "INCLUDE", "KEYS_ONLY"];
                constraints.word(projection.as_deref(), &format!("{at}projection.projectionType"), words);
                if let Some(names) = own.list("NonKeyAttributes")? {
                    if names.is_empty() {
                        let at = format!("{at}projection.nonKeyAttributes");
                        constraints.fails(
                            Some("[]"),
                            &at,
                            "Member must have length greater than or equal to 1",
                        );
                    }
                    let names = names.into_iter().map(|name| match name {
                        serde_json::Value::String(name) => Ok(name),
                        _ => Err(ServiceError::serialization("Unexpected field type")),
                    });
                    included = Some(names.collect::<Result<_, _>>()?);
                }
            }
        }
        let units = Units::take(&mut index, constraints, &at)?;
        indexes.push(IndexRequest { name, keys, projection, included, units });
    }
    Ok(Some(indexes))
}

impl DefinitionRequest {
    /// Takes what a CreateTable says, as far as each member is looked at by itself.
    pub(super) fn take(fields: &mut Fields, constraints: &mut Constraints) -> Result<Self, ApiError> {
        let name = required_name(fields)?;
        let mut attributes = Vec::new();
        match fields.list("AttributeDefinitions")? {
            None => constraints.fails(None, "attributeDefinitions", "Member must not be null"),
            Some(list) => {
                for (i, attribute) in list.into_iter().enumerate() {
                    let mut attribute = Fields::of(attribute)?;
                    let at = format!("attributeDefinitions.{}.member", i + 1);
                    let name =
                        text(&mut attribute, "AttributeName", constraints, &format!("{at}.attributeName"))?;
                    let at = format!("{at}.attributeType");
                    let kind = text(&mut attribute, "AttributeType", constraints, &at)?;
                    if !kind.is_empty() {
                        constraints.word(Some(&kind), &at, &["B", "N", "S"]);
                    }
                    attributes.push((name, kind));
                }
            }
        }
        constraints.index_name(Some(&name), "tableName");
        let on_demand = billing_mode(fields, constraints)?.unwrap_or(false);
        let units = Units::take(fields, constraints, "")?;
        let keys = key_schema(fields, constraints, "", true)?;
        let local = indexes(fields, constraints, "LocalSecondaryIndexes", "localSecondaryIndexes")?;
        let global = indexes(fields, constraints, "GlobalSecondaryIndexes", "globalSecondaryIndexes")?;
        Ok(Self { name, attributes, keys, on_demand, units, local, global })
    }

    /// The table that it is, once its members fit each other.
    pub(super) fn definition(self) -> Result<TableDefinition, ServiceError> {
        let billing = match (self.on_demand, self.units) {
            (true, Some(_)) => return Err(neither()),
            (true, None) => Billing::OnDemand,
            (false, None) => {
                return Err(ServiceError::invalid_parameters(
                    "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
                ));
            }
            (false, Some(units)) => {
                units.check()?;
                units.billing()
            }
        };
        if self.keys.len() > self.attributes.len() {
            return Err(ServiceError::validation(
                "Invalid KeySchema: Some index key attribute have no definition",
            ));
        }
        let schema = self.schema(&self.keys)?;
        if self.local.is_none() && self.global.is_none() && self.keys.len() != self.attributes.len() {
            return Err(ServiceError::invalid_parameters(
                "Number of attributes in KeySchema does not exactly match number of attributes defined in \
                 AttributeDefinitions",
            ));
        }
        let mut names = BTreeSet::new();
        let mut used: Vec<&str> = self.keys.iter().map(|key| key.name.as_str()).collect();
        let mut local = Vec::new();
        if let Some(indexes) = &self.local {
            if indexes.is_empty() {
                return Err(ServiceError::invalid_parameters("List of LocalSecondaryIndexes is empty"));
            }
            if schema.sort().is_none() {
                return Err(ServiceError::invalid_parameters(
                    "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
                ));
            }
            for index in indexes {
                let own = self.schema(&index.keys)?;
                if own.sort().is_none() {
                    return Err(ServiceError::invalid_parameters(format!(
                        "Index KeySchema does not have a range key for index: {}",
                        index.name
                    )));
                }
                let (leading, of_table) = (own.partition().name(), schema.partition().name());
                if leading != of_table {
                    return Err(ServiceError::invalid_parameters(format!(
                        "Index KeySchema does not have the same leading hash key as table KeySchema for index: {}. index hash \
                         key: {leading}, table hash key: {of_table}",
                        index.name
                    )));
                }
                local.push(index.definition(own, &mut names)?);
                used.extend(index.keys.iter().map(|key| key.name.as_str()));
            }
            if indexes.len() > LOCAL_MAX {
                return Err(ServiceError::invalid_parameters(format!(
                    "Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_MAX}"
                )));
            }
        }
        let mut global = Vec::new();
        if let Some(indexes) = &self.global {
            if indexes.is_empty() {
                return Err(ServiceError::invalid_parameters("List of GlobalSecondaryIndexes is empty"));
            }
            for index in indexes {
                let own = self.schema(&index.keys)?;
                index.check_projection()?;
                let billing = match (self.on_demand, index.units) {
                    (true, Some(_)) => {
                        return Err(ServiceError::invalid_parameters(format!(
                            "ProvisionedThroughput should not be specified for index: {} when BillingMode is \
                             PAY_PER_REQUEST",
                            index.name
                        )));
                    }
                    (true, None) => Billing::OnDemand,
                    // *Assumed* at creation: the text is that of a change of mode.
                    (false, None) => return Err(unpaid(&index.name)),
                    (false, Some(units)) => {
                        units.check()?;
                        units.billing()
                    }
                };
                global.push(GlobalIndex { index: index.definition(own, &mut names)?, billing });
                used.extend(index.keys.iter().map(|key| key.name.as_str()));
            }
            if indexes.len() > GLOBAL_MAX {
                return Err(ServiceError::invalid_parameters(format!(
                    "GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_MAX}"
                )));
            }
        }
        // *Assumed* in the order of the names: moto's text.
        if self.attributes.iter().any(|(name, _)| !used.contains(&name.as_str())) {
            used.sort_unstable();
            used.dedup();
            return Err(ServiceError::invalid_parameters(format!(
                "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
                self.defined(),
                used.join(", ")
            )));
        }
        let attributes = self.attributes.iter().map(|(name, kind)| (name.as_str().into(), key_type(kind)));
        let attributes = attributes.collect();
        Ok(TableDefinition { name: self.name, attributes, schema, billing, local, global })
    }

    fn defined(&self) -> String {
        self.attributes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The schema that key elements are.
    fn schema(&self, keys: &[KeyElement]) -> Result<KeySchema, ServiceError> {
        let attribute = |key: &KeyElement| {
            let defined = self.attributes.iter().find(|(name, _)| *name == key.name);
            defined.map(|(name, kind)| KeyAttribute::new(name.as_str(), key_type(kind)))
        };
        let found: Option<Vec<KeyAttribute>> = keys.iter().map(attribute).collect();
        let Some(found) = found else {
            let names = keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ServiceError::invalid_parameters(format!(
                "Some index key attributes are not defined in AttributeDefinitions. Keys: [{names}], AttributeDefinitions: \
                 [{}]",
                self.defined()
            )));
        };
        if let [first, second] = keys
            && first.name == second.name
        {
            return Err(ServiceError::validation(
                "Both the Hash Key and the Range Key element in the KeySchema have the same name",
            ));
        }
        if keys.first().is_none_or(|key| key.kind != "HASH") {
            return Err(ServiceError::validation(
                "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
            ));
        }
        if keys.get(1).is_some_and(|key| key.kind != "RANGE") {
            return Err(ServiceError::validation(
                "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
            ));
        }
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(partition), None) => Ok(KeySchema::simple(partition)),
            (Some(partition), Some(sort)) => Ok(KeySchema::composite(partition, sort)),
            // The constraints have refused an empty one.
            (None, _) => Err(ServiceError::validation(
                "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
            )),
        }
    }
}

impl IndexRequest {
    fn check_projection(&self) -> Result<(), ServiceError> {
        match (self.projection.as_deref(), &self.included) {
            (None, _) => Err(ServiceError::invalid_parameters("Unknown ProjectionType: null")),
            (Some("INCLUDE"), None) => Err(ServiceError::invalid_parameters(
                "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
            )),
            (Some("INCLUDE"), _) | (Some(_), None) => Ok(()),
            (Some(other), Some(_)) => Err(ServiceError::invalid_parameters(format!(
                "ProjectionType is {other}, but NonKeyAttributes is specified"
            ))),
        }
    }

    fn definition(
        &self,
        schema: KeySchema,
        names: &mut BTreeSet<String>,
    ) -> Result<IndexDefinition, ServiceError> {
        self.check_projection()?;
        if !names.insert(self.name.clone()) {
            return Err(ServiceError::invalid_parameters(format!("Duplicate index name: {}", self.name)));
        }
        let projection = match self.projection.as_deref() {
            Some("ALL") => IndexProjection::All,
            Some("INCLUDE") => {
                let names = self.included.iter().flatten().map(|name| name.as_str().into());
                IndexProjection::Include(names.collect())
            }
            _ => IndexProjection::KeysOnly,
        };
        Ok(IndexDefinition { name: self.name.clone(), schema, projection })
    }
}

fn key_type(kind: &str) -> KeyType {
    match kind {
        "N" => KeyType::N,
        "B" => KeyType::B,
        _ => KeyType::S,
    }
}

/// Throughput is given where none may be.
pub(super) fn neither() -> ServiceError {
    ServiceError::invalid_parameters(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    )
}

/// Indexes have no throughput where they must have some.
pub(super) fn unpaid(names: &str) -> ServiceError {
    ServiceError::invalid_parameters(format!("ProvisionedThroughput must be specified for index: {names}"))
}
