//! The members of a request's body, taken one by one with the type that each must have.

use super::super::error::ServiceError;
use super::error::ApiError;
use serde_json::{Map, Value};

/// A request's members. What is taken is gone.
#[derive(Clone, Debug, Default)]
pub struct Fields(Map<String, Value>);

/// The service's texts for a member of another type, from captured answers (dynalite's).
fn mistyped(found: &Value, wanted: &str) -> ApiError {
    let kind = match found {
        Value::String(_) => {
            "class com.amazon.coral.value.json.numbers.TruncatingBigNumber can not be converted to an String"
        }
        Value::Bool(true) => "TRUE_VALUE cannot be converted",
        Value::Bool(false) => "FALSE_VALUE cannot be converted",
        Value::Number(_) => "NUMBER_VALUE cannot be converted",
        Value::Array(_) => "Unrecognized collection type class java.util.Collection",
        Value::Object(_) => "Start of structure or map found where not expected",
        Value::Null => "null",
    };
    let message = match (found, wanted) {
        (Value::Object(_), _) => "Start of structure or map found where not expected".to_owned(),
        (Value::Array(_), _) => "Start of list found where not expected".to_owned(),
        (Value::String(_), wanted) => format!("STRING_VALUE cannot be converted to {wanted}"),
        (_, wanted) => format!("{kind} to {wanted}"),
    };
    ServiceError::serialization(message).into()
}

impl Fields {
    /// Reads a body.
    ///
    /// # Errors
    /// `SerializationException` when it is no JSON object. The service sends no message then.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            _ => Err(ServiceError::serialization("").into()),
        }
    }

    /// The members of an object.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(value: Value) -> Result<Self, ApiError> {
        match value {
            Value::Object(members) => Ok(Self(members)),
            Value::Array(_) => {
                Err(ServiceError::serialization("Start of list found where not expected").into())
            }
            _ => Err(ServiceError::serialization("Unexpected value type in payload").into()),
        }
    }

    /// Whether a member is there and not null.
    pub fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// A member as it is; null is absent.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    /// A text.
    ///
    /// # Errors
    /// When it is something else.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(mistyped(&other, "String")),
        }
    }

    /// Yes or no.
    ///
    /// # Errors
    /// When it is something else.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(yes)) => Ok(Some(yes)),
            Some(other) => Err(mistyped(&other, "Boolean")),
        }
    }

    /// A whole number. A fraction is cut off, as the service does.
    ///
    /// # Errors
    /// When it is something else.
    pub fn number(&mut self, name: &str) -> Result<Option<i64>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => {
                Ok(Some(number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64)))
            }
            Some(other) => Err(mistyped(&other, "Long")),
        }
    }

    /// A list.
    ///
    /// # Errors
    /// When it is something else.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(Value::Object(_)) => {
                Err(ServiceError::serialization("Start of structure or map found where not expected").into())
            }
            Some(_) => Err(ServiceError::serialization("Unexpected value type in payload").into()),
        }
    }

    /// An object.
    ///
    /// # Errors
    /// When it is something else.
    pub fn object(&mut self, name: &str) -> Result<Option<Self>, ApiError> {
        self.take(name).map(Self::of).transpose()
    }

    /// All members that are left.
    pub(super) fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The names of all members that are left.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Whether a name has only the characters that table names have, or is an ARN.
pub(super) fn is_table_name(name: &str) -> bool {
    name.starts_with("arn:") || name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

/// Several constraints that a request does not meet: the service counts them in one message.
#[derive(Debug, Default)]
pub(super) struct Constraints(Vec<String>);

impl Constraints {
    /// Notes that a member does not meet a constraint: `Value 'x' at 'tableName' failed to satisfy constraint: …`.
    pub(super) fn fails(&mut self, value: Option<&str>, at: &str, constraint: &str) {
        let value = value.map_or("null".to_owned(), |value| format!("'{value}'"));
        self.0.push(format!("Value {value} at '{at}' failed to satisfy constraint: {constraint}"));
    }

    /// A table's name: 3 to 255 (an ARN: 1,024) of `[a-zA-Z0-9_.-]`. Absent is told as the service does.
    pub(super) fn table_name(&mut self, name: Option<&str>) {
        self.table_name_at(name, "tableName");
    }

    /// The same for a name deeper in a request.
    pub(super) fn table_name_at(&mut self, name: Option<&str>, at: &str) {
        let Some(name) = name else {
            return self.fails(None, at, "Member must not be null");
        };
        if !is_table_name(name) {
            self.fails(Some(name), at, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
        }
        if name.is_empty() {
            self.fails(Some(name), at, "Member must have length greater than or equal to 1");
        } else if name.len() > 1_024 {
            self.fails(Some(name), at, "Member must have length less than or equal to 1024");
        }
    }

    /// That a member is there.
    pub(super) fn present(&mut self, fields: &Fields, name: &str, at: &str) {
        if !fields.has(name) {
            self.fails(None, at, "Member must not be null");
        }
    }

    /// Notes a failure that the service words without the value.
    pub(super) fn fails_untold(&mut self, at: &str, constraint: &str) {
        self.0.push(format!("Value at '{at}' failed to satisfy constraint: {constraint}"));
    }

    /// Notes a constraint in the service's words.
    pub(super) fn told(&mut self, message: impl Into<String>) {
        self.0.push(message.into());
    }

    /// Whether there is nothing to tell so far.
    pub(super) fn is_met(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes what others found, after what is there.
    pub(super) fn append(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// A number in a range.
    pub(super) fn number(&mut self, value: Option<i64>, at: &str, least: i64, most: i64) {
        let Some(value) = value else { return };
        let (bound, which) = match value {
            value if value < least => (least, "greater"),
            value if value > most => (most, "less"),
            _ => return,
        };
        let constraint = format!("Member must have value {which} than or equal to {bound}");
        self.fails(Some(&value.to_string()), at, &constraint);
    }

    /// The name of an index or of a table to be: 3 to 255 of `[a-zA-Z0-9_.-]`.
    pub(super) fn index_name(&mut self, name: Option<&str>, at: &str) {
        let Some(name) = name else { return };
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if !name.chars().all(fits) || name.is_empty() {
            let constraint = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+";
            self.fails(Some(name), at, constraint);
        }
        if name.len() < 3 {
            self.fails(Some(name), at, "Member must have length greater than or equal to 3");
        } else if name.len() > 255 {
            self.fails(Some(name), at, "Member must have length less than or equal to 255");
        }
    }

    /// One of a few words.
    pub(super) fn word(&mut self, value: Option<&str>, at: &str, words: &[&str]) {
        if let Some(value) = value
            && !words.contains(&value)
        {
            let constraint = format!("Member must satisfy enum value set: [{}]", words.join(", "));
            self.fails(Some(value), at, &constraint);
        }
    }

    /// All of them in one exception, at most ten in words.
    pub(super) fn check(self) -> Result<(), ApiError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let n = self.0.len();
        let errors = if n == 1 { "error" } else { "errors" };
        let listed: Vec<String> = self.0.into_iter().take(10).collect();
        Err(ServiceError::validation(format!("{n} validation {errors} detected: {}", listed.join("; ")))
            .into())
    }
}
