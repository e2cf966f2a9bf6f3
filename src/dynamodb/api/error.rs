//! An exception on the wire: type, status, message, and what some carry besides.

use super::super::error::ServiceError;
use super::super::service::Refused;
use crate::budget::{Capacity, Limit, Throttled};
use serde_json::{Map, Value, json};

/// What an operation answers instead of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    namespace: &'static str,
    kind: &'static str,
    message: String,
    more: Box<Map<String, Value>>,
}

const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810";
const CORAL: &str = "com.amazon.coral.service";

impl ApiError {
    /// An exception of DynamoDB itself.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { namespace: DYNAMODB, kind, message: message.into(), more: Box::default() }
    }

    /// The operation is not there. The service sends no message.
    pub fn unknown_operation() -> Self {
        Self {
            namespace: CORAL,
            kind: "UnknownOperationException",
            message: String::new(),
            more: Box::default(),
        }
    }

    /// The table is not there, for operations on items.
    pub fn no_such_resource() -> Self {
        Self::new("ResourceNotFoundException", "Requested resource not found")
    }

    /// The table of this name is not there, for operations on tables.
    pub fn no_such_table(name: &str) -> Self {
        let message = format!("Requested resource not found: Table: {name} not found");
        Self::new("ResourceNotFoundException", message)
    }

    /// With one more member beside type and message.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.into(), value);
        self
    }

    /// A throttle at a table or index: the exception by mode and the reason with its resource.
    pub fn throttled(throttled: &Throttled, on_demand: bool, arn: &str, of_index: bool) -> Self {
        use crate::physics::Cause;
        let cause = match throttled.limit {
            Limit::KeyRange => Cause::KeyRange,
            Limit::Table if on_demand => Cause::OnDemandPeak,
            Limit::Table => Cause::Provisioned,
            Limit::PartitionShare => Cause::EvenShare,
        };
        let kind = cause.exception(on_demand).unwrap_or("ThrottlingException");
        // Texts observed by others (praetorian-inc/chariot-ui#684 and more).
        let message = match (on_demand, of_index) {
            (true, false) => {
                "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table \
                 or index so please try again shortly. If exceptions persist, check if you have a hot key: \
                 https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
            }
            (true, true) => {
                "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is automatically \
                 scaling your index so please try again shortly."
            }
            (false, false) => {
                "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
                 provisioning level with the UpdateTable API."
            }
            (false, true) => {
                "The level of configured provisioned throughput for one or more global secondary indexes of the table was \
                 exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes \
                 with the UpdateTable API"
            }
        };
        let reason = cause.reason(of_index, throttled.capacity);
        Self::new(kind, message).with("ThrottlingReasons", json!([{ "reason": reason, "resource": arn }]))
    }

    /// The exception's name.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Its text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The HTTP status: 400 for all that the caller can do something about.
    pub fn status(&self) -> u16 {
        match self.kind {
            "InternalServerError" => 500,
            _ => 400,
        }
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("__type".into(), json!(format!("{}#{}", self.namespace, self.kind)));
        if !self.message.is_empty() {
            // The service writes the key in lower case for its own exceptions and in upper case for coral's and for cancelled transactions.
            let key = match self.kind {
                "SerializationException" | "TransactionCanceledException" => "Message",
                _ => "message",
            };
            body.insert(key.into(), json!(self.message));
        }
        body.extend(self.more.iter().map(|(name, value)| (name.clone(), value.clone())));
        Value::Object(body)
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        Self {
            namespace: error.exception().namespace(),
            kind: error.exception().name(),
            message: error.message().into(),
            more: Box::default(),
        }
    }
}

/// What a refused write is on the wire. `arn` is the table's.
pub(super) fn of_refused(
    refused: Refused,
    on_demand: bool,
    index_on_demand: impl Fn(&str) -> bool,
    arn: &str,
) -> ApiError {
    match refused {
        Refused::Service(error) => error.into(),
        Refused::ConditionFailed { .. } => ServiceError::conditional_check_failed().into(),
        Refused::Throttled { index: None, throttled } => {
            ApiError::throttled(&throttled, on_demand, arn, false)
        }
        Refused::Throttled { index: Some(index), throttled } => {
            debug_assert_eq!(throttled.capacity, Capacity::Write, "only writes are pushed back");
            let of = format!("{arn}/index/{index}");
            ApiError::throttled(&throttled, index_on_demand(&index), &of, true)
        }
        Refused::Conflict => {
            ApiError::new("TransactionConflictException", "Transaction is ongoing for the item")
        }
        Refused::CollectionFull => {
            ApiError::new("ItemCollectionSizeLimitExceededException", "Collection size exceeded.")
        }
    }
}
