//! What an operation cost its caller: charge, requests, waiting.

use crate::budget::PartitionId;
use crate::charge::RequestCharge;
use std::collections::BTreeSet;
use std::time::Duration;

/// The sum over an operation's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// What the service charged, refusals included.
    pub charge: RequestCharge,
    /// Requests sent for the first time.
    pub requests: u64,
    /// Requests sent again.
    pub retries: u64,
    /// Replies that were throttles.
    pub throttled: u64,
    /// Waiting before retries, summed over requests: in a fan-out several wait at once.
    pub waited: Duration,
    /// What is left of the retry quota, for policies that have one.
    pub quota_left: Option<u32>,
    /// Physical partitions that served any of it.
    pub partitions: BTreeSet<PartitionId>,
    /// From the first request to the end, as requests in parallel take it.
    pub elapsed: Duration,
}

impl Bill {
    /// Adds another bill, as of an operation that came after.
    pub fn add(&mut self, other: &Self) {
        self.charge += other.charge;
        self.requests += other.requests;
        self.retries += other.retries;
        self.throttled += other.throttled;
        self.waited += other.waited;
        self.quota_left = other.quota_left.or(self.quota_left);
        self.partitions.extend(&other.partitions);
        self.elapsed += other.elapsed;
    }
}
