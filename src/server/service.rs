//! DynamoDB behind the endpoint: which database a request means, and its operations.
//!
//! Databases come into being with their first request. Their number is bounded: whoever makes up a new access key for each
//! request must not fill the memory. It does not know what an operation does.

use super::api::{Api, ApiRequest, ApiResponse, Database as Wanted};
use crate::dynamodb::api::{ApiError, Call, execute, operations};
use crate::dynamodb::service::Database;
use crate::rng::Seed;
use dashmap::DashMap;
use std::sync::Arc;
use std::time::Duration;

/// The target of DynamoDB's own operations; those of streams have another.
const PREFIX: &str = "DynamoDB_20120810";

/// Databases at the most.
const DATABASES_MAX: usize = 10_000;

/// The databases of all callers.
#[derive(Debug)]
pub struct DynamoDb {
    seed: Seed,
    beginning: Duration,
    shared: Arc<Database>,
    own: DashMap<(Box<str>, Box<str>), Arc<Database>>,
}

impl DynamoDb {
    /// No tables yet. Where keys lie follows from the seed; every database has the same layout for tables of one name, so that
    /// tests which run side by side meet the same partitions.
    ///
    /// `beginning` is when the server's clock began, since 1970: dates in answers are counted from there.
    pub fn new(seed: Seed, beginning: Duration) -> Self {
        let shared = Arc::new(Database::new(seed).with_beginning(beginning));
        Self { seed, beginning, shared, own: DashMap::new() }
    }

    fn database(&self, wanted: Wanted<'_>) -> Option<Arc<Database>> {
        let Wanted::Own { region, access_key } = wanted else { return Some(Arc::clone(&self.shared)) };
        let key = (Box::from(region), Box::from(access_key));
        if let Some(known) = self.own.get(&key) {
            return Some(Arc::clone(&known));
        }
        if self.own.len() >= DATABASES_MAX {
            return None;
        }
        Some(Arc::clone(
            &self
                .own
                .entry(key)
                .or_insert_with(|| Arc::new(Database::new(self.seed).with_beginning(self.beginning))),
        ))
    }
}

impl Api for DynamoDb {
    fn has_operation(&self, target_prefix: &str, operation: &str) -> bool {
        target_prefix == PREFIX && operations().any(|name| name == operation)
    }

    fn answer(&self, request: &ApiRequest<'_>) -> ApiResponse {
        let Some(database) = self.database(request.database) else {
            let message = format!(
                "hotplate keeps {DATABASES_MAX} databases at the most, one for each access key and region"
            );
            return response(&ApiError::new("LimitExceededException", message));
        };
        let call = Call { database: &database, now: request.now };
        match execute(&call, request.operation, request.body) {
            Ok(answer) => ApiResponse::ok(answer.to_string()),
            Err(error) => response(&error),
        }
    }
}

fn response(error: &ApiError) -> ApiResponse {
    ApiResponse { status: error.status(), body: error.body().to_string().into_bytes(), headers: Vec::new() }
}
