//! The parameters that expressions replaced: `Expected`, `ScanFilter`, `QueryFilter`, `KeyConditions`, `AttributeUpdates`,
//! `AttributesToGet` and `ConditionalOperator`.
//!
//! The service still takes them. Each is read into what the expression in its place would have become, so they are
//! evaluated by the same code; only their refusals are their own. Texts are those dynalite captured unless said otherwise.
//! Constraints that the service counts up for a whole request ("2 validation errors detected: …") are reported alone here.

use super::error::{Result, ServiceError};
use super::expression::syntax::Comparator;
use super::expression::{
    Change, Condition, DocumentPath, Operand, Projection, SetValue, Update, UpdateOperand,
};
use super::key_condition::{KeyCondition, One};
use super::value::{AttributeValue, Type};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How an attribute is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    /// Equals one of several.
    In,
    /// Is not there.
    Null,
    /// Lies between two, or is one of them.
    Between,
    /// Is less.
    Lt,
    /// Does not contain.
    NotContains,
    /// Equals.
    Eq,
    /// Is greater.
    Gt,
    /// Is there.
    NotNull,
    /// Does not equal.
    Ne,
    /// Is less or equal.
    Le,
    /// Begins with.
    BeginsWith,
    /// Is greater or equal.
    Ge,
    /// Contains.
    Contains,
}

impl ComparisonOperator {
    /// All of them, in the order in which the service lists them.
    const ALL: [Self; 13] = [
        Self::In,
        Self::Null,
        Self::Between,
        Self::Lt,
        Self::NotContains,
        Self::Eq,
        Self::Gt,
        Self::NotNull,
        Self::Ne,
        Self::Le,
        Self::BeginsWith,
        Self::Ge,
        Self::Contains,
    ];

    /// Its word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "IN",
            Self::Null => "NULL",
            Self::Between => "BETWEEN",
            Self::Lt => "LT",
            Self::NotContains => "NOT_CONTAINS",
            Self::Eq => "EQ",
            Self::Gt => "GT",
            Self::NotNull => "NOT_NULL",
            Self::Ne => "NE",
            Self::Le => "LE",
            Self::BeginsWith => "BEGINS_WITH",
            Self::Ge => "GE",
            Self::Contains => "CONTAINS",
        }
    }

    /// The operator that says the same with its sides exchanged.
    pub(super) const fn turned(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            other => other,
        }
    }

    /// Whether it takes this many values.
    fn takes(self, values: usize) -> bool {
        match self {
            Self::Null | Self::NotNull => values == 0,
            Self::Between => values == 2,
            Self::In => values >= 1,
            _ => values == 1,
        }
    }

    /// Whether it takes values of this type. The API reference: EQ and NE take all types, the others "String, Number, or
    /// Binary (not a set type)", BEGINS_WITH "String or Binary (not a Number or a set type)".
    fn compares(self, kind: Type) -> bool {
        match self {
            Self::Eq | Self::Ne | Self::Null | Self::NotNull => true,
            Self::BeginsWith => matches!(kind, Type::S | Type::B),
            _ => kind.is_ordered(),
        }
    }
}

/// How several legacy conditions are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConditionalOperator {
    /// All must hold.
    #[default]
    And,
    /// One must hold.
    Or,
}

impl ConditionalOperator {
    /// Reads the parameter, which may be absent. `conditions` is how many conditions it joins.
    ///
    /// # Errors
    /// When it is no operator, or joins fewer than two conditions.
    pub fn from_json(json: Option<&Value>, conditions: usize) -> Result<Option<Self>> {
        let Some(json) = json.filter(|json| !json.is_null()) else { return Ok(None) };
        let operator = match text(json)? {
            "AND" => Self::And,
            "OR" => Self::Or,
            other => {
                return Err(constraint(
                    &format!("'{other}'"),
                    "conditionalOperator",
                    "Member must satisfy enum value set: [OR, AND]",
                ));
            }
        };
        // Both texts are DynamoDB Local's; that the service has the same is assumed.
        match conditions {
            0 => {
                Err(ServiceError::validation("ConditionalOperator cannot be used without Filter or Expected"))
            }
            1 => Err(ServiceError::validation(
                "ConditionalOperator can only be used when Filter or Expected has two or more elements",
            )),
            _ => Ok(Some(operator)),
        }
    }

    fn join(self, mut conditions: Vec<Condition>) -> Condition {
        match (conditions.len(), self) {
            (1, _) => conditions.remove(0),
            (0, _) | (_, Self::And) => Condition::All(conditions),
            (_, Self::Or) => Condition::Any(conditions),
        }
    }
}

/// The parameters that filter what a read answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Of a scan.
    Scan,
    /// Of a query.
    Query,
}

/// Reads `Expected`: what must hold for a write.
///
/// # Errors
/// When it says what cannot be.
pub fn expected(json: Value, operator: Option<ConditionalOperator>) -> Result<Condition> {
    const CLASS: &str = "ExpectedAttributeValue";
    let mut conditions = Vec::new();
    for (name, member) in members(json, CLASS)? {
        let mut member = structure(member, CLASS)?;
        let mut take = |key: &str| member.get_mut(key).map(Value::take).filter(|value| !value.is_null());
        let (value, list, exists) = (take("Value"), take("AttributeValueList"), take("Exists"));
        let comparison = take("ComparisonOperator");
        let comparison =
            comparison.map(|json| comparison_operator(Some(&json), "expected", &name)).transpose()?;
        let exists = exists.as_ref().map(boolean).transpose()?;
        if list.is_some() && value.is_some() {
            return Err(of_attribute("Value and AttributeValueList cannot be used together", &name));
        }
        let path = DocumentPath::attribute(name.as_str());
        let Some(comparison) = comparison else {
            if list.is_some() {
                return Err(of_attribute(
                    "AttributeValueList can only be used with a ComparisonOperator",
                    &name,
                ));
            }
            conditions.push(expected_value(&name, path, exists, value)?);
            continue;
        };
        if exists.is_some() {
            return Err(of_attribute("Exists and ComparisonOperator cannot be used together", &name));
        }
        let optional = matches!(comparison, ComparisonOperator::Null | ComparisonOperator::NotNull);
        if !optional && list.is_none() && value.is_none() {
            return Err(of_attribute(
                &format!(
                    "Value or AttributeValueList must be used with ComparisonOperator: {}",
                    comparison.name()
                ),
                &name,
            ));
        }
        let values = match (list, value) {
            (Some(list), _) => values(list)?,
            (None, Some(value)) => vec![AttributeValue::from_json(value)?],
            (None, None) => Vec::new(),
        };
        conditions.push(condition(path, comparison, check(comparison, values)?));
    }
    Ok(operator.unwrap_or_default().join(conditions))
}

/// An expectation without an operator: a value, or nothing.
fn expected_value(
    name: &str,
    path: DocumentPath,
    exists: Option<bool>,
    value: Option<Value>,
) -> Result<Condition> {
    match (exists, value) {
        (Some(false), None) => Ok(Condition::NotExists(path)),
        (Some(false), Some(_)) => Err(of_attribute("Value cannot be used when Exists is false", name)),
        (exists, None) => Err(of_attribute(
            if exists.is_some() {
                "Value must be provided when Exists is true"
            } else {
                "Value must be provided when Exists is null"
            },
            name,
        )),
        (_, Some(value)) => {
            let value = Operand::Value(Arc::new(AttributeValue::from_json(value)?));
            Ok(Condition::Compare(Comparator::Equal, Operand::Path(path), value))
        }
    }
}

/// Reads `ScanFilter` or `QueryFilter`: which items a read answers.
///
/// # Errors
/// When it says what cannot be.
pub fn filter(filter: Filter, json: Value, operator: Option<ConditionalOperator>) -> Result<Condition> {
    let parameter = match filter {
        Filter::Scan => "scanFilter",
        Filter::Query => "queryFilter",
    };
    let conditions = conditions(json, parameter)?
        .into_iter()
        .map(|one| condition(DocumentPath::attribute(one.name), one.operator, one.values))
        .collect();
    Ok(operator.unwrap_or_default().join(conditions))
}

/// Reads `KeyConditions`: which items a query reads.
///
/// # Errors
/// When it says what cannot be.
pub fn key_conditions(json: Value) -> Result<KeyCondition> {
    KeyCondition::from_legacy(conditions(json, "keyConditions")?)
}

fn conditions(json: Value, parameter: &str) -> Result<Vec<One>> {
    const CLASS: &str = "Condition";
    members(json, CLASS)?
        .into_iter()
        .map(|(name, member)| {
            let mut member = structure(member, CLASS)?;
            let operator = comparison_operator(member.get("ComparisonOperator"), parameter, &name)?;
            let list = member.get_mut("AttributeValueList").map(Value::take).filter(|list| !list.is_null());
            let values = check(operator, list.map(values).transpose()?.unwrap_or_default())?;
            Ok(One { name: name.into(), operator, values })
        })
        .collect()
}

/// That an operator has values that it can use.
fn check(operator: ComparisonOperator, values: Vec<AttributeValue>) -> Result<Vec<Arc<AttributeValue>>> {
    if !operator.takes(values.len()) {
        return Err(ServiceError::invalid_parameters(format!(
            "Invalid number of argument(s) for the {} ComparisonOperator",
            operator.name()
        )));
    }
    if values.windows(2).any(|pair| pair[0].kind() != pair[1].kind()) {
        return Err(ServiceError::invalid_parameters(
            "AttributeValues inside AttributeValueList must be of same type",
        ));
    }
    if let Some(value) = values.iter().find(|value| !operator.compares(value.kind())) {
        return Err(ServiceError::invalid_parameters(format!(
            "ComparisonOperator {} is not valid for {} AttributeValue type",
            operator.name(),
            value.kind()
        )));
    }
    if let (ComparisonOperator::Between, [low, high]) = (operator, values.as_slice())
        && low.compare(high).is_some_and(std::cmp::Ordering::is_gt)
    {
        return Err(ServiceError::validation(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        ));
    }
    Ok(values.into_iter().map(Arc::new).collect())
}

/// The condition that a comparison is. It has as many values as it takes.
fn condition(
    path: DocumentPath,
    operator: ComparisonOperator,
    values: Vec<Arc<AttributeValue>>,
) -> Condition {
    let mut values = values.into_iter().map(Operand::Value);
    // Checked before; a missing value would be null.
    let mut value = || values.next().unwrap_or_else(|| Operand::Value(Arc::new(AttributeValue::Null)));
    let own = Operand::Path(path.clone());
    match operator {
        ComparisonOperator::Null => Condition::NotExists(path),
        ComparisonOperator::NotNull => Condition::Exists(path),
        ComparisonOperator::Eq => Condition::Compare(Comparator::Equal, own, value()),
        ComparisonOperator::Ne => Condition::Compare(Comparator::NotEqual, own, value()),
        ComparisonOperator::Lt => Condition::Compare(Comparator::Less, own, value()),
        ComparisonOperator::Le => Condition::Compare(Comparator::AtMost, own, value()),
        ComparisonOperator::Gt => Condition::Compare(Comparator::Greater, own, value()),
        ComparisonOperator::Ge => Condition::Compare(Comparator::AtLeast, own, value()),
        ComparisonOperator::Between => {
            let low = value();
            Condition::Between(own, low, value())
        }
        ComparisonOperator::BeginsWith => Condition::BeginsWith(own, value()),
        ComparisonOperator::Contains => Condition::Contains(own, value()),
        // What is not there does not fail to contain: ScyllaDB's conditions, written against the service.
        ComparisonOperator::NotContains => Condition::All(vec![
            Condition::Exists(path),
            Condition::Not(Box::new(Condition::Contains(own, value()))),
        ]),
        ComparisonOperator::In => Condition::In(own, values.collect()),
    }
}

/// Reads `AttributeUpdates`: what a write changes.
///
/// # Errors
/// When it says what cannot be.
pub fn attribute_updates(json: Value) -> Result<Update> {
    const CLASS: &str = "AttributeValueUpdate";
    let mut changes = Vec::new();
    for (name, member) in members(json, CLASS)? {
        let mut member = structure(member, CLASS)?;
        let value = member.get_mut("Value").map(Value::take).filter(|value| !value.is_null());
        let value = value.map(AttributeValue::from_json).transpose()?.map(Arc::new);
        let action = match member.get("Action").filter(|action| !action.is_null()) {
            Some(action) => text(action)?,
            None => "PUT",
        };
        let kind = value.as_ref().map(|value| value.kind());
        let change = match (action, value) {
            ("PUT", Some(value)) => Change::Set(SetValue::Operand(UpdateOperand::Value(value))),
            ("DELETE", None) => Change::Remove,
            ("DELETE", Some(value)) if value.kind().is_set() => Change::Delete(value),
            ("ADD", Some(value)) if matches!(value.kind(), Type::N | Type::L) || value.kind().is_set() => {
                Change::Add(value)
            }
            ("PUT" | "ADD", None) => {
                return Err(ServiceError::invalid_parameters(
                    "Only DELETE action is allowed when no attribute value is specified",
                ));
            }
            ("DELETE", _) => {
                return Err(ServiceError::invalid_parameters(format!(
                    "DELETE action with value is not supported for the type {}",
                    kind.unwrap_or(Type::Null)
                )));
            }
            ("ADD", _) => {
                return Err(ServiceError::invalid_parameters(format!(
                    "ADD action is not supported for the type {}",
                    kind.unwrap_or(Type::Null)
                )));
            }
            (other, _) => {
                // The place's name is assumed.
                return Err(constraint(
                    &format!("'{other}'"),
                    &format!("attributeUpdates.{name}.member.action"),
                    "Member must satisfy enum value set: [ADD, DELETE, PUT]",
                ));
            }
        };
        changes.push((name.into(), change));
    }
    Ok(Update::legacy(changes))
}

/// Reads `AttributesToGet`: which attributes an answer holds.
///
/// # Errors
/// When there are none or more than 255, or one is there twice.
pub fn attributes_to_get(json: &Value) -> Result<Projection> {
    /// "Member must have length less than or equal to 255".
    const NAMES_MAX: usize = 255;
    let names = list(json)?.iter().map(text).collect::<Result<Vec<_>>>()?;
    let value = || format!("'[{}]'", names.join(", "));
    if names.is_empty() {
        return Err(constraint(
            &value(),
            "attributesToGet",
            "Member must have length greater than or equal to 1",
        ));
    }
    if names.len() > NAMES_MAX {
        return Err(constraint(
            &value(),
            "attributesToGet",
            "Member must have length less than or equal to 255",
        ));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
        return Err(ServiceError::invalid_parameters(format!("Duplicate value in attribute name: {twice}")));
    }
    Projection::new(names.into_iter().map(DocumentPath::attribute).collect())
        .map_err(ServiceError::validation)
}

fn of_attribute(what: &str, name: &str) -> ServiceError {
    ServiceError::invalid_parameters(format!("{what} for Attribute: {name}"))
}

fn constraint(value: &str, place: &str, must: &str) -> ServiceError {
    ServiceError::validation(format!(
        "1 validation error detected: Value {value} at '{place}' failed to satisfy constraint: {must}"
    ))
}

fn comparison_operator(json: Option<&Value>, parameter: &str, name: &str) -> Result<ComparisonOperator> {
    let place = format!("{parameter}.{name}.member.comparisonOperator");
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return Err(constraint("null", &place, "Member must not be null"));
    };
    let word = text(json)?;
    ComparisonOperator::ALL.into_iter().find(|operator| operator.name() == word).ok_or_else(|| {
        let names = ComparisonOperator::ALL.map(ComparisonOperator::name).join(", ");
        constraint(&format!("'{word}'"), &place, &format!("Member must satisfy enum value set: [{names}]"))
    })
}

/// The members of a map of structures of a class.
fn members(json: Value, class: &str) -> Result<Map<String, Value>> {
    match json {
        Value::Null => Ok(Map::new()),
        Value::Object(members) => Ok(members),
        Value::Array(_) => Err(ServiceError::serialization(format!(
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.{class}>"
        ))),
        _ => Err(ServiceError::serialization("Unexpected field type")),
    }
}

/// The members of a structure of a class.
fn structure(json: Value, class: &str) -> Result<Map<String, Value>> {
    match json {
        Value::Object(members) => Ok(members),
        // As an empty structure. *Assumed.*
        Value::Null => Ok(Map::new()),
        Value::Array(_) => Err(ServiceError::serialization(format!(
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.{class}"
        ))),
        _ => Err(ServiceError::serialization("Unexpected value type in payload")),
    }
}

fn list(json: &Value) -> Result<&[Value]> {
    match json {
        Value::Array(elements) => Ok(elements),
        Value::Object(_) => {
            Err(ServiceError::serialization("Start of structure or map found where not expected"))
        }
        _ => Err(ServiceError::serialization("Unexpected field type")),
    }
}

fn values(json: Value) -> Result<Vec<AttributeValue>> {
    match json {
        Value::Array(elements) => elements.into_iter().map(AttributeValue::from_json).collect(),
        other => list(&other).map(|_| Vec::new()),
    }
}

/// A text, or the refusal of what is none: that of a value's text.
fn text(json: &Value) -> Result<&str> {
    match json {
        Value::String(text) => Ok(text),
        other => {
            AttributeValue::check_shape(&Value::Object(Map::from_iter([("S".to_owned(), other.clone())])))?;
            Ok("")
        }
    }
}

/// A boolean, or the refusal of what is none: that of a value's boolean.
fn boolean(json: &Value) -> Result<bool> {
    let value = Map::from_iter([("BOOL".to_owned(), json.clone())]);
    match AttributeValue::from_json(Value::Object(value))? {
        AttributeValue::Bool(value) => Ok(value),
        _ => Ok(false),
    }
}
