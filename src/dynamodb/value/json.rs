//! The wire form of values: `{"S": "text"}`, `{"N": "1.5"}`, `{"L": [{"BOOL": true}]}`.
//!
//! The service reads a request twice, and so does this file. First its JSON must have the operation's shape, or the
//! answer is a `SerializationException`: that is [`AttributeValue::check_shape`]. Then each value must make sense, or it
//! is a `ValidationException`: that is [`AttributeValue::from_json`], which also checks the shape of what it reads.
//!
//! Texts about shape are those dynalite captured from the service. Unknown members are ignored, as there. Recursion ends
//! at the nesting limit whatever the depth of the JSON.

use super::super::attributes::Attributes;
use super::super::error::{Result, ServiceError};
use super::super::number::Number;
use super::super::set::{NoSet, Set};
use super::{AttributeValue, NESTING_MAX, Type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The class the service names where an array stands for a value.
const VALUE_CLASS: &str = "com.amazonaws.dynamodb.v20120810.AttributeValue";

/// Attribute names at the most (DynamoDB Local's text; the guide says 64 KB).
const NAME_BYTES_MAX: usize = 65_535;

impl AttributeValue {
    /// Whether this JSON has the shape of a value.
    ///
    /// # Errors
    /// The service's `SerializationException`.
    pub fn check_shape(json: &Value) -> Result<()> {
        check_value(json, 0)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// When the JSON has not the shape of a value, or the value makes no sense.
    pub fn from_json(json: Value) -> Result<Self> {
        read_value(json, 0)
    }

    /// The wire form.
    pub fn to_json(&self) -> Value {
        let inner = match self {
            Self::S(text) => Value::String(text.clone()),
            Self::N(number) => Value::String(number.to_string()),
            Self::B(bytes) => Value::String(STANDARD.encode(bytes)),
            Self::Bool(value) => Value::Bool(*value),
            Self::Null => Value::Bool(true),
            Self::L(values) => Value::Array(values.iter().map(Self::to_json).collect()),
            Self::M(values) => values.to_json(),
            Self::Ss(set) => Value::Array(set.iter().map(|text| Value::String(text.clone())).collect()),
            Self::Ns(set) => Value::Array(set.iter().map(|n| Value::String(n.to_string())).collect()),
            Self::Bs(set) => Value::Array(set.iter().map(|b| Value::String(STANDARD.encode(b))).collect()),
        };
        Value::Object(Map::from_iter([(self.kind().name().to_owned(), inner)]))
    }
}

impl Attributes {
    /// Whether this JSON has the shape of values by name.
    ///
    /// # Errors
    /// The service's `SerializationException`.
    pub fn check_shape(json: &Value) -> Result<()> {
        check_map(json, 0)
    }

    /// Reads values by name: an item, a key, the values of an expression.
    ///
    /// # Errors
    /// When the JSON has not the shape of such values, or one makes no sense.
    pub fn from_json(json: Value) -> Result<Self> {
        let values = read_map(json, 0)?;
        for (name, _) in values.iter() {
            // Both texts are DynamoDB Local's; that the service has the same is assumed.
            if name.is_empty() {
                return Err(ServiceError::validation("Empty attribute name"));
            }
            if name.len() > NAME_BYTES_MAX {
                return Err(ServiceError::validation(
                    "Attribute name is too large, must be less than 65536 bytes",
                ));
            }
        }
        Ok(values)
    }

    /// The wire form.
    pub fn to_json(&self) -> Value {
        Value::Object(self.iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect())
    }
}

/// Written without building JSON values first: answers are made of this.
impl Serialize for AttributeValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        let name = self.kind().name();
        match self {
            Self::S(text) => map.serialize_entry(name, text)?,
            Self::N(number) => map.serialize_entry(name, &Text(number))?,
            Self::B(bytes) => map.serialize_entry(name, &Base64(bytes))?,
            Self::Bool(value) => map.serialize_entry(name, value)?,
            Self::Null => map.serialize_entry(name, &true)?,
            Self::L(values) => map.serialize_entry(name, values)?,
            Self::M(values) => map.serialize_entry(name, values)?,
            Self::Ss(set) => map.serialize_entry(name, set.as_slice())?,
            Self::Ns(set) => map.serialize_entry(name, &Each(set.as_slice(), Text))?,
            Self::Bs(set) => map.serialize_entry(name, &Each(set.as_slice(), base64_of))?,
        }
        map.end()
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

struct Text<'a>(&'a Number);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(self.0))
    }
}

#[expect(clippy::ptr_arg, reason = "called with the members of a set of vectors")]
fn base64_of(bytes: &Vec<u8>) -> Base64<'_> {
    Base64(bytes)
}

/// Members of a set, each written in another form.
struct Each<'a, T, F>(&'a [T], F);

impl<'a, T, U: Serialize + 'a, F: Fn(&'a T) -> U> Serialize for Each<'a, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

/// What the service calls a JSON scalar where it expected something else.
fn scalar_name(json: &Value) -> &'static str {
    match json {
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        Value::Number(_) => "NUMBER_VALUE",
        _ => "STRING_VALUE",
    }
}

const STRUCTURE: &str = "Start of structure or map found where not expected";
const FIELD: &str = "Unexpected field type";

fn check_value(json: &Value, depth: usize) -> Result<()> {
    let members = match json {
        Value::Null => return Ok(()),
        Value::Object(members) => members,
        Value::Array(_) => {
            return Err(ServiceError::serialization(format!(
                "Unrecognized collection type class {VALUE_CLASS}"
            )));
        }
        _ => return Err(ServiceError::serialization("Unexpected value type in payload")),
    };
    // Deeper values are refused for their depth.
    if depth >= NESTING_MAX {
        return Ok(());
    }
    for kind in Type::ALL {
        let Some(inner) = members.get(kind.name()).filter(|inner| !inner.is_null()) else { continue };
        match kind {
            Type::S | Type::N => check_text(inner)?,
            Type::B => check_blob(inner)?,
            Type::Bool | Type::Null => drop(read_bool(inner)?),
            Type::Ss | Type::Ns => check_list(inner, check_text)?,
            Type::Bs => check_list(inner, check_blob)?,
            Type::L => check_list(inner, |element| check_value(element, depth + 1))?,
            Type::M => check_map(inner, depth + 1)?,
        }
    }
    Ok(())
}

fn check_map(json: &Value, depth: usize) -> Result<()> {
    match json {
        Value::Null => Ok(()),
        Value::Object(members) => members.values().try_for_each(|value| check_value(value, depth)),
        Value::Array(_) => Err(ServiceError::serialization(format!(
            "Unrecognized collection type java.util.Map<java.lang.String, {VALUE_CLASS}>"
        ))),
        _ => Err(ServiceError::serialization(FIELD)),
    }
}

fn check_list(json: &Value, check: impl Fn(&Value) -> Result<()>) -> Result<()> {
    match json {
        Value::Array(elements) => elements.iter().try_for_each(check),
        Value::Object(_) => Err(ServiceError::serialization(STRUCTURE)),
        _ => Err(ServiceError::serialization(FIELD)),
    }
}

fn check_text(json: &Value) -> Result<()> {
    match json {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(_) => {
            Err(ServiceError::serialization("Unrecognized collection type class java.lang.String"))
        }
        Value::Object(_) => Err(ServiceError::serialization(STRUCTURE)),
        Value::Bool(_) | Value::Number(_) => {
            Err(ServiceError::serialization(format!("{} cannot be converted to String", scalar_name(json))))
        }
    }
}

fn check_blob(json: &Value) -> Result<()> {
    match json {
        Value::Null => Ok(()),
        Value::String(text) => decode(text).map(drop),
        Value::Array(_) => {
            Err(ServiceError::serialization("Unrecognized collection type class java.nio.ByteBuffer"))
        }
        Value::Object(_) => Err(ServiceError::serialization(STRUCTURE)),
        Value::Bool(_) | Value::Number(_) => {
            Err(ServiceError::serialization("only base-64-encoded strings are convertible to bytes"))
        }
    }
}

/// A boolean, or one of the words the service also reads as one.
fn read_bool(json: &Value) -> Result<bool> {
    match json {
        Value::Bool(value) => Ok(*value),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Ok(true),
            "false" | "0" | "no" => Ok(false),
            _ => Err(ServiceError::serialization("Unexpected token received from parser")),
        },
        Value::Number(_) => {
            Err(ServiceError::serialization(format!("{} cannot be converted to Boolean", scalar_name(json))))
        }
        Value::Array(_) => {
            Err(ServiceError::serialization("Unrecognized collection type class java.lang.Boolean"))
        }
        Value::Null | Value::Object(_) => Err(ServiceError::serialization(STRUCTURE)),
    }
}

/// Base64 as RFC 4648 has it, padding required.
fn decode(text: &str) -> Result<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return Err(ServiceError::serialization(format!(
            "Base64 encoded length is expected a multiple of 4 bytes but found: {}",
            text.len()
        )));
    }
    // dynalite knows no other text for what is not Base64; the misspelling is the service's. That a character outside
    // of the alphabet gets the same text is assumed.
    STANDARD
        .decode(text)
        .map_err(|_| ServiceError::serialization("Invalid last non-pad Base64 character dectected"))
}

fn too_deep() -> ServiceError {
    ServiceError::validation(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported \
         limit",
    )
}

/// The refusal of a value that an update made too deep, if it is.
pub(crate) fn check_depth(value: &AttributeValue) -> Result<()> {
    if value.is_deeper_than(NESTING_MAX) { Err(too_deep()) } else { Ok(()) }
}

fn empty() -> ServiceError {
    ServiceError::validation(
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
    )
}

fn read_value(json: Value, depth: usize) -> Result<AttributeValue> {
    let mut members = match json {
        Value::Object(members) => members,
        // The service drops null members, which leaves a value without a type.
        Value::Null => return Err(empty()),
        other => return Err(check_value(&other, depth).err().unwrap_or_else(empty)),
    };
    if depth >= NESTING_MAX {
        return Err(too_deep());
    }
    let mut found = None;
    let mut several = false;
    for kind in Type::ALL {
        let Some(inner) = members.get_mut(kind.name()).map(Value::take).filter(|inner| !inner.is_null())
        else {
            continue;
        };
        let value = read_inner(kind, inner, depth)?;
        several |= found.replace(value).is_some();
    }
    if several {
        return Err(ServiceError::validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported \
             datatypes",
        ));
    }
    found.ok_or_else(empty)
}

fn read_inner(kind: Type, json: Value, depth: usize) -> Result<AttributeValue> {
    Ok(match kind {
        Type::S => AttributeValue::S(read_text(json)?),
        Type::N => AttributeValue::N(Number::parse(&read_text(json)?)?),
        Type::B => AttributeValue::B(read_blob(&json)?),
        Type::Bool => AttributeValue::Bool(read_bool(&json)?),
        Type::Null if read_bool(&json)? => AttributeValue::Null,
        Type::Null => {
            return Err(ServiceError::invalid_parameters(
                "Null attribute value types must have the value of true",
            ));
        }
        Type::L => AttributeValue::L(
            elements(json)?
                .into_iter()
                .map(|element| read_value(element, depth + 1))
                .collect::<Result<_>>()?,
        ),
        Type::M => AttributeValue::M(read_map(json, depth + 1)?),
        Type::Ss => {
            let texts = elements(json)?.into_iter().map(read_text).collect::<Result<Vec<_>>>()?;
            // The refusal names the members in the order given, which the set will not know.
            let mut ordered: Vec<&str> = texts.iter().map(String::as_str).collect();
            ordered.sort_unstable();
            if ordered.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(ServiceError::invalid_parameters(format!(
                    "Input collection [{}] contains duplicates.",
                    texts.join(", ")
                )));
            }
            let empty = |_| ServiceError::invalid_parameters("An string set  may not be empty");
            AttributeValue::Ss(Set::new(texts).map_err(empty)?)
        }
        Type::Ns => {
            let numbers = elements(json)?
                .into_iter()
                .map(|element| Number::parse(&read_text(element)?))
                .collect::<Result<Vec<_>>>()?;
            AttributeValue::Ns(Set::new(numbers).map_err(|why| match why {
                NoSet::Empty => ServiceError::invalid_parameters("An number set  may not be empty"),
                NoSet::Duplicates => ServiceError::validation("Input collection contains duplicates"),
            })?)
        }
        Type::Bs => {
            let elements = elements(json)?;
            let binaries = elements.iter().map(read_blob).collect::<Result<Vec<_>>>()?;
            AttributeValue::Bs(Set::new(binaries).map_err(|why| match why {
                NoSet::Empty => ServiceError::invalid_parameters("Binary sets should not be empty"),
                NoSet::Duplicates => {
                    let texts: Vec<_> = elements.iter().filter_map(Value::as_str).collect();
                    ServiceError::invalid_parameters(format!(
                        "Input collection [{}]of type BS contains duplicates.",
                        texts.join(", ")
                    ))
                }
            })?)
        }
    })
}

fn read_map(json: Value, depth: usize) -> Result<Attributes> {
    match json {
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| Ok((name, read_value(value, depth)?))).collect()
        }
        other => Err(check_map(&other, depth).err().unwrap_or_else(empty)),
    }
}

fn elements(json: Value) -> Result<Vec<Value>> {
    match json {
        Value::Array(elements) => Ok(elements),
        other => Err(check_list(&other, |_| Ok(())).err().unwrap_or_else(empty)),
    }
}

fn read_text(json: Value) -> Result<String> {
    match json {
        Value::String(text) => Ok(text),
        // A null among the members of a set. *Assumed.*
        other => Err(check_text(&other).err().unwrap_or_else(empty)),
    }
}

fn read_blob(json: &Value) -> Result<Vec<u8>> {
    match json {
        Value::String(text) => decode(text),
        // As for texts, *assumed*.
        other => Err(check_blob(other).err().unwrap_or_else(empty)),
    }
}
