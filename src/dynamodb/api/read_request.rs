//! What Query and Scan have in common in a request, read and checked as far as can be without the table.

use super::super::attributes::Attributes;
use super::super::error::ServiceError;
use super::super::expression::{Condition, ExpressionKind, Projection};
use super::super::key::FilterKind;
use super::super::key_condition::KeyCondition;
use super::super::legacy;
use super::capacity::ReturnConsumedCapacity;
use super::error::ApiError;
use super::fields::{Constraints, Fields};
use super::items::{interfaces, placeholders};
use crate::charge::Consistency;
use crate::cluster::ScanPart;
use serde_json::{Map, Value};

/// Which attributes are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Select {
    /// All of the table's items, or what the index has of them.
    Unsaid,
    AllAttributes,
    AllProjected,
    Specific,
    Count,
}

/// The words in the order in which the service lists them.
const SELECT: &[&str] = &["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"];

/// Segments of a scan at the most (API reference, Scan, "TotalSegments").
const SEGMENTS_MAX: i64 = 1_000_000;

/// A request to read many items.
#[derive(Clone, Debug)]
pub(super) struct ReadRequest {
    pub(super) table_name: String,
    pub(super) index_name: Option<String>,
    pub(super) select: Select,
    pub(super) capacity: ReturnConsumedCapacity,
    pub(super) consistency: Consistency,
    pub(super) limit: Option<usize>,
    pub(super) start: Option<Attributes>,
    pub(super) filter: Option<(Condition, FilterKind)>,
    pub(super) projection: Option<Projection>,
    /// Of a query.
    pub(super) keys: Option<KeyCondition>,
    /// Of a scan: its segment and of how many.
    pub(super) segment: Option<(u32, u32)>,
}

/// Which of the two operations is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Query,
    Scan,
}

impl ReadRequest {
    pub(super) fn parse(fields: &mut Fields, operation: Operation) -> Result<Self, ApiError> {
        let query = operation == Operation::Query;
        let mut constraints = Constraints::default();
        let select = fields.text("Select")?;
        constraints.word(select.as_deref(), "select", SELECT);
        let index_name = fields.text("IndexName")?;
        constraints.index_name(index_name.as_deref(), "indexName");
        let (mut total, mut segment) = (None, None);
        if !query {
            total = fields.number("TotalSegments")?;
            constraints.number(total, "totalSegments", 1, SEGMENTS_MAX);
        }
        let capacity = ReturnConsumedCapacity::take(fields, &mut constraints)?;
        let table_name = fields.text("TableName")?;
        constraints.table_name(table_name.as_deref());
        if !query {
            segment = fields.number("Segment")?;
            constraints.number(segment, "segment", 0, SEGMENTS_MAX - 1);
        }
        let limit = fields.number("Limit")?;
        match limit {
            // Query and Scan word it differently (`nubo-db/dynamodb-conformance`).
            Some(..=0) if query => constraints.told(
                "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
            ),
            limit => constraints.number(limit, "limit", 1, i64::MAX),
        }
        let consistent = fields.flag("ConsistentRead")?.unwrap_or(false);
        constraints.check()?;

        let filter_name = if query { "QueryFilter" } else { "ScanFilter" };
        let (expressions, olds): (&[_], &[_]) = match operation {
            Operation::Query => (
                &["ProjectionExpression", "FilterExpression", "KeyConditionExpression"],
                &["AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"],
            ),
            Operation::Scan => (
                &["ProjectionExpression", "FilterExpression"],
                &["AttributesToGet", "ScanFilter", "ConditionalOperator"],
            ),
        };
        interfaces(fields, expressions, olds)?;
        let mut filter = old_filter(fields, filter_name, query)?;
        let mut projection =
            fields.take("AttributesToGet").map(|names| legacy::attributes_to_get(&names)).transpose()?;
        let projected_by = if projection.is_some() { "AttributesToGet" } else { "ProjectionExpression" };
        let start = start_key(fields)?;
        let segment = segments(segment, total)?;
        if query && !fields.has("KeyConditions") && !fields.has("KeyConditionExpression") {
            return Err(ServiceError::validation(
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
            )
            .into());
        }
        let mut placeholders = placeholders(fields)?;
        let mut condition = None;
        if let Some(text) = fields.text("KeyConditionExpression")?.filter(|_| query) {
            condition = Some(KeyCondition::parse(&text, &mut placeholders)?);
        }
        if let Some(text) = fields.text("FilterExpression")? {
            let parsed = Condition::parse(ExpressionKind::Filter, &text, &mut placeholders)?;
            filter = Some((parsed, FilterKind::Expression));
        }
        if let Some(text) = fields.text("ProjectionExpression")? {
            projection = Some(Projection::parse(&text, &mut placeholders)?);
        }
        placeholders.check_used()?;
        let keys = match (condition, fields.take("KeyConditions")) {
            (Some(condition), _) => Some(KeyCondition::of(&condition)?),
            (None, Some(conditions)) if query => Some(legacy::key_conditions(conditions)?),
            (None, _) => None,
        };
        let select =
            selected(select.as_deref(), projection.is_some().then_some(projected_by), index_name.is_some())?;
        Ok(Self {
            table_name: table_name.unwrap_or_default(),
            index_name,
            select,
            capacity,
            consistency: if consistent { Consistency::Strong } else { Consistency::Eventual },
            limit: limit.and_then(|limit| usize::try_from(limit).ok()),
            start,
            filter,
            projection,
            keys,
            segment,
        })
    }

    /// The part of the ring that a scan reads.
    pub(super) fn part(&self) -> ScanPart {
        match self.segment {
            Some((index, of)) => ScanPart::Segment { index, of },
            None => ScanPart::All,
        }
    }
}

fn old_filter(
    fields: &mut Fields,
    name: &str,
    query: bool,
) -> Result<Option<(Condition, FilterKind)>, ApiError> {
    let operator = fields.text("ConditionalOperator")?.map(Value::from);
    let json = fields.take(name);
    let count = json.as_ref().and_then(Value::as_object).map_or(0, Map::len);
    let operator = legacy::ConditionalOperator::from_json(operator.as_ref(), count)?;
    let kind = if query { legacy::Filter::Query } else { legacy::Filter::Scan };
    let Some(json) = json else { return Ok(None) };
    Ok(Some((legacy::filter(kind, json, operator)?, FilterKind::Legacy)))
}

/// The text that comes before what is wrong with a starting key.
const BAD_START: &str = "The provided starting key is invalid";

/// That a starting key is wrong, and how.
pub(super) fn bad_start(why: &str) -> ApiError {
    let message = if why.is_empty() { BAD_START.to_owned() } else { format!("{BAD_START}: {why}") };
    ServiceError::validation(message).into()
}

fn start_key(fields: &mut Fields) -> Result<Option<Attributes>, ApiError> {
    /// The service leaves its prefix away before these (dynalite).
    const ALONE: [&str; 5] =
        ["contains duplicates", "number set", "numeric value", "significant digits", "number with magnitude"];
    let Some(value) = fields.take("ExclusiveStartKey") else { return Ok(None) };
    Attributes::check_shape(&value)?;
    let start = Attributes::from_json(value).map_err(|error| {
        let alone = ALONE.iter().any(|part| error.message().contains(part));
        error.map(|text| if alone { text } else { format!("{BAD_START}: {text}") })
    })?;
    Ok(Some(start))
}

fn segments(segment: Option<i64>, total: Option<i64>) -> Result<Option<(u32, u32)>, ApiError> {
    let message = match (segment, total) {
        (None, None) => return Ok(None),
        (Some(_), None) => {
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"
                .to_owned()
        }
        (None, Some(_)) => "The Segment parameter is required but was not present in the request when parameter \
                            TotalSegments is present"
            .to_owned(),
        (Some(segment), Some(total)) if segment >= total => format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {segment} is not \
             less than TotalSegments: {total}"
        ),
        (Some(segment), Some(total)) => {
            let both = u32::try_from(segment).ok().zip(u32::try_from(total).ok());
            return Ok(both);
        }
    };
    Err(ServiceError::validation(message).into())
}

/// What `Select` and a projection mean together. `projected_by` is the parameter that projects.
fn selected(select: Option<&str>, projected_by: Option<&str>, index: bool) -> Result<Select, ApiError> {
    let cannot = |what: &str| {
        let by = projected_by.unwrap_or_default();
        ApiError::from(ServiceError::validation(format!(
            "Cannot specify the {by} when choosing to get {what}"
        )))
    };
    match (select, projected_by) {
        (None, None) => Ok(Select::Unsaid),
        (None | Some("SPECIFIC_ATTRIBUTES"), Some(_)) => Ok(Select::Specific),
        (Some("SPECIFIC_ATTRIBUTES"), None) => Err(ServiceError::validation(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        )
        .into()),
        (Some("COUNT"), Some(_)) => Err(cannot("only the Count")),
        (Some("COUNT"), None) => Ok(Select::Count),
        (Some("ALL_PROJECTED_ATTRIBUTES"), None) if index => Ok(Select::AllProjected),
        (Some("ALL_PROJECTED_ATTRIBUTES"), _) if !index => Err(ServiceError::validation(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        )
        .into()),
        (Some(all), Some(_)) => Err(cannot(all)),
        (Some(_), None) => Ok(Select::AllAttributes),
    }
}
