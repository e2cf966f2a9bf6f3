//! Names and values that expressions leave open: `ExpressionAttributeNames` and `ExpressionAttributeValues`.
//!
//! One request has one set of them for all of its expressions, and each must be used by one. So they are made first, lent
//! to every expression as it is read, and asked at the end what nobody used.

use super::super::attributes::Attributes;
use super::super::error::{Exception, Result, ServiceError};
use super::super::value::AttributeValue;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a placeholder at the most, sign included (developer guide, "Constraints", "Expression parameters": 255).
const PLACEHOLDER_BYTES_MAX: usize = 255;

/// Bytes of all substitutions at the most ("the maximum length of all substitution variables in an expression is 2 MB").
const SUBSTITUTIONS_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// What stands for a placeholder, and whether an expression has used it.
struct Entry<T> {
    meaning: T,
    used: bool,
}

/// The names and values of a request.
#[derive(Default)]
pub struct Placeholders {
    names: BTreeMap<Box<str>, Entry<Box<str>>>,
    values: BTreeMap<Box<str>, Entry<Arc<AttributeValue>>>,
}

impl Placeholders {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the two parameters, either of which may be absent.
    ///
    /// # Errors
    /// When one is there but empty, is too large, has a malformed placeholder, or a value that makes no sense.
    pub fn from_json(names: Option<Value>, values: Option<Value>) -> Result<Self> {
        let mut own = Self::none();
        let values = values.filter(|values| !values.is_null());
        // The shape of the whole request comes before what it says.
        let names = names.map(read_names).transpose()?.flatten();
        if let Some(values) = &values {
            Attributes::check_shape(values)?;
        }
        if let Some(names) = names {
            own.set_names(names)?;
        }
        if let Some(Value::Object(values)) = values {
            own.set_values(values)?;
        }
        let (names, values) = (own.names_size(), own.values_size());
        // All three texts are DynamoDB Local's; that the service has the same is assumed.
        let excess = if names > SUBSTITUTIONS_BYTES_MAX {
            "ExpressionAttributeNames exceeds max size"
        } else if values > SUBSTITUTIONS_BYTES_MAX {
            "ExpressionAttributeValues exceeds max size"
        } else if names + values > SUBSTITUTIONS_BYTES_MAX {
            "Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max size"
        } else {
            return Ok(own);
        };
        Err(ServiceError::validation(excess))
    }

    fn set_names(&mut self, names: Vec<(String, String)>) -> Result<()> {
        if names.is_empty() {
            return Err(ServiceError::validation("ExpressionAttributeNames must not be empty"));
        }
        for (placeholder, name) in names {
            check_placeholder(&placeholder, '#', "ExpressionAttributeNames")?;
            if name.is_empty() {
                // DynamoDB Local's text; that the service has the same is assumed.
                return Err(ServiceError::validation(format!(
                    "ExpressionAttributeNames contains invalid value: Empty attribute name for key {placeholder}"
                )));
            }
            self.names.insert(placeholder.into(), Entry { meaning: name.into(), used: false });
        }
        Ok(())
    }

    fn set_values(&mut self, values: serde_json::Map<String, Value>) -> Result<()> {
        if values.is_empty() {
            return Err(ServiceError::validation("ExpressionAttributeValues must not be empty"));
        }
        for placeholder in values.keys() {
            check_placeholder(placeholder, ':', "ExpressionAttributeValues")?;
        }
        for (placeholder, json) in values {
            let value = AttributeValue::from_json(json).map_err(|error| {
                // The refusal of depth stands alone (found by dynoxide against the service).
                if error.exception() == Exception::Serialization
                    || error.message().starts_with("Nesting Levels")
                {
                    return error;
                }
                error.map(|why| {
                    format!("ExpressionAttributeValues contains invalid value: {why} for key {placeholder}")
                })
            })?;
            self.values.insert(placeholder.into(), Entry { meaning: Arc::new(value), used: false });
        }
        Ok(())
    }

    fn names_size(&self) -> u64 {
        self.names.iter().map(|(placeholder, entry)| (placeholder.len() + entry.meaning.len()) as u64).sum()
    }

    fn values_size(&self) -> u64 {
        self.values.iter().map(|(placeholder, entry)| placeholder.len() as u64 + entry.meaning.size()).sum()
    }

    /// The name of a placeholder, in which case it is used.
    pub(super) fn name(&mut self, placeholder: &str) -> Option<Box<str>> {
        self.names.get_mut(placeholder).map(|entry| {
            entry.used = true;
            entry.meaning.clone()
        })
    }

    /// The value of a placeholder, in which case it is used.
    pub(super) fn value(&mut self, placeholder: &str) -> Option<Arc<AttributeValue>> {
        self.values.get_mut(placeholder).map(|entry| {
            entry.used = true;
            Arc::clone(&entry.meaning)
        })
    }

    /// That every name and value was used by an expression.
    ///
    /// The service lists those that were not in the order of a Java hash set; here they are sorted.
    ///
    /// # Errors
    /// When some were not.
    pub fn check_used(&self) -> Result<()> {
        check_used(&self.names, "ExpressionAttributeNames")?;
        check_used(&self.values, "ExpressionAttributeValues")
    }
}

fn check_used<T>(entries: &BTreeMap<Box<str>, Entry<T>>, parameter: &str) -> Result<()> {
    let unused: Vec<&str> = entries.iter().filter(|(_, entry)| !entry.used).map(|(key, _)| &**key).collect();
    if unused.is_empty() {
        return Ok(());
    }
    Err(ServiceError::validation(format!(
        "Value provided in {parameter} unused in expressions: keys: {{{}}}",
        unused.join(", ")
    )))
}

fn check_placeholder(placeholder: &str, sign: char, parameter: &str) -> Result<()> {
    if placeholder.len() > PLACEHOLDER_BYTES_MAX {
        // The size is said of names only, as DynamoDB Local does; that the service does the same is assumed.
        let size = if sign == '#' { format!(" size of key: {}", placeholder.len()) } else { String::new() };
        return Err(ServiceError::validation(format!(
            "{parameter} contains invalid key: The expression attribute map contains a key that is too long;{size}"
        )));
    }
    let word = placeholder.strip_prefix(sign).unwrap_or_default();
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(ServiceError::validation(format!(
            "{parameter} contains invalid key: Syntax error; key: \"{placeholder}\""
        )));
    }
    Ok(())
}

/// Reads a map of texts; an absent one is absent.
fn read_names(json: Value) -> Result<Option<Vec<(String, String)>>> {
    let members = match json {
        Value::Null => return Ok(None),
        Value::Object(members) => members,
        Value::Array(_) => {
            return Err(ServiceError::serialization(
                "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
            ));
        }
        _ => return Err(ServiceError::serialization("Unexpected field type")),
    };
    let mut names = Vec::with_capacity(members.len());
    for (placeholder, name) in members {
        match name {
            Value::String(name) => names.push((placeholder, name)),
            Value::Null => names.push((placeholder, String::new())),
            other => {
                // The refusal of a text that is none.
                AttributeValue::check_shape(&serde_json::json!({ "S": other }))?;
            }
        }
    }
    Ok(Some(names))
}

/// Which parameters a request has: expressions and what came before them do not mix.
///
/// Lists are in the order in which the service names them, which differs by operation and is the caller's to know.
#[derive(Clone, Debug, Default)]
pub struct Parameters<'a> {
    /// Parameters that are expressions, and whether they are given.
    pub expressions: &'a [(&'a str, bool)],
    /// Parameters of the legacy interface, and whether they are given.
    pub legacy: &'a [(&'a str, bool)],
    /// Whether `ExpressionAttributeNames` is given.
    pub names: bool,
    /// Whether `ExpressionAttributeValues` is given.
    pub values: bool,
}

impl Parameters<'_> {
    /// That the request keeps to one of the two interfaces, and has placeholders only for expressions.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self) -> Result<()> {
        let given = |parameters: &[(&str, bool)]| -> Vec<String> {
            parameters.iter().filter(|(_, given)| *given).map(|(name, _)| (*name).to_owned()).collect()
        };
        let expressions = given(self.expressions);
        if !expressions.is_empty() {
            let mut legacy = given(self.legacy);
            // A query's key may still be given the old way beside a filter or a projection.
            if !expressions.iter().any(|name| name == "KeyConditionExpression") {
                legacy.retain(|name| name != "KeyConditions");
            }
            if !legacy.is_empty() {
                return Err(ServiceError::validation(format!(
                    "Can not use both expression and non-expression parameters in the same request: Non-expression \
                     parameters: {{{}}} Expression parameters: {{{}}}",
                    legacy.join(", "),
                    expressions.join(", ")
                )));
            }
        } else if self.names {
            return Err(ServiceError::validation(
                "ExpressionAttributeNames can only be specified when using expressions",
            ));
        }
        let with_values: Vec<&str> = self
            .expressions
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| *name != "ProjectionExpression")
            .collect();
        let any_given = expressions.iter().any(|name| name != "ProjectionExpression");
        if self.values && !with_values.is_empty() && !any_given {
            return Err(ServiceError::validation(format!(
                "ExpressionAttributeValues can only be specified when using expressions: {} {} null",
                with_values.join(" and "),
                if with_values.len() > 1 { "are" } else { "is" }
            )));
        }
        Ok(())
    }
}
