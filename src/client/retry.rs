//! When a throttled call is sent again.
//!
//! | policy | attempts | wait before retry *i* (from 0) | source |
//! |---|---|---|---|
//! | none | 1 | | |
//! | AWS legacy | 10 | 50 ms × 2^i | botocore `_retry.json`, DynamoDB: base 0.05, growth 2, 10 attempts |
//! | AWS standard | 3 | U(0,1) × min(20 s, 2^i s) | AWS SDKs reference, "Retry behavior", before 2026; *recalled* |
//! | AWS standard 2026 | 4 | U(0,1) × min(20 s, 1 s × 2^i) | the same page; DynamoDB has four attempts |
//! | Cosmos | 10 | what the reply says, 30 s in all | `ThrottlingRetryOptions` of the Java SDK: 9 retries, 30 s |
//!
//! The AWS standard policies spend from a quota of 500, five for each retry of a throttle; a success gives back what its
//! retries took, or one. An empty quota ends retries at once, which is what keeps a storm from feeding itself.

use crate::rng::{Rng, Seed};
use std::time::Duration;

/// A client's way with throttles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RetryPolicy {
    /// A throttle is final.
    #[default]
    None,
    /// botocore's legacy mode for DynamoDB.
    AwsLegacy,
    /// Standard mode before the change of 2026.
    AwsStandard,
    /// Standard mode since the change of 2026.
    AwsStandard2026,
    /// The Cosmos DB SDKs: as long as the reply says.
    Cosmos,
}

/// Tokens in a standard policy's quota ("Retry behavior": 500).
const QUOTA: u32 = 500;
/// Tokens that a retry of a throttle takes (the same page: 5).
const QUOTA_RETRY: u32 = 5;
/// The longest wait of a standard policy (the same page: 20 s).
const STANDARD_WAIT_MAX: Duration = Duration::from_secs(20);
/// The base of a standard policy's waits after throttles since 2026: 1,000 ms. Before, one second as well, with base
/// 2^i seconds (*recalled*).
const STANDARD_BASE: Duration = Duration::from_secs(1);
/// botocore's base for DynamoDB: 0.05 s.
const LEGACY_BASE: Duration = Duration::from_millis(50);
/// Cosmos SDKs stop after waiting this long for one request (`ThrottlingRetryOptions`: 30 s).
const COSMOS_WAIT_MAX: Duration = Duration::from_secs(30);
/// A Cosmos reply without a time to wait counts as this (`ResourceThrottleRetryPolicy`: 5 s).
const COSMOS_WAIT_DEFAULT: Duration = Duration::from_secs(5);

impl RetryPolicy {
    /// Attempts at the most, the first included.
    pub fn attempts(self) -> u32 {
        match self {
            Self::None => 1,
            Self::AwsLegacy | Self::Cosmos => 10,
            Self::AwsStandard => 3,
            Self::AwsStandard2026 => 4,
        }
    }

    fn has_quota(self) -> bool {
        matches!(self, Self::AwsStandard | Self::AwsStandard2026)
    }
}

/// A policy at work: its random source and its quota, shared by all calls of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Retrier {
    policy: RetryPolicy,
    rng: Rng,
    quota: u32,
}

impl Retrier {
    pub(crate) fn new(policy: RetryPolicy, seed: Seed) -> Self {
        Self { policy, rng: seed.stream("retry").rng(), quota: QUOTA }
    }

    /// How long to wait before sending a call again that has been tried `attempts` times and has waited `waited`;
    /// `None` when it is not to be sent again.
    pub(crate) fn wait(&mut self, attempts: u32, waited: Duration, told: Duration) -> Option<Duration> {
        if attempts >= self.policy.attempts() {
            return None;
        }
        let retry = attempts.saturating_sub(1);
        let doubled = |base: Duration| base.saturating_mul(1_u32.checked_shl(retry).unwrap_or(u32::MAX));
        match self.policy {
            RetryPolicy::None => None,
            RetryPolicy::AwsLegacy => Some(doubled(LEGACY_BASE)),
            RetryPolicy::AwsStandard | RetryPolicy::AwsStandard2026 => {
                self.quota = self.quota.checked_sub(QUOTA_RETRY)?;
                let most = doubled(STANDARD_BASE).min(STANDARD_WAIT_MAX);
                Some(Duration::from_nanos(self.rng.below(most.as_nanos() as u64 + 1)))
            }
            RetryPolicy::Cosmos => {
                let wait = if told.is_zero() { COSMOS_WAIT_DEFAULT } else { told };
                (waited + wait <= COSMOS_WAIT_MAX).then_some(wait)
            }
        }
    }

    /// A call succeeded after this many attempts.
    pub(crate) fn succeeded(&mut self, attempts: u32) {
        if self.policy.has_quota() {
            let back = if attempts > 1 { (attempts - 1) * QUOTA_RETRY } else { 1 };
            self.quota = self.quota.saturating_add(back).min(QUOTA);
        }
    }

    pub(super) fn quota_left(&self) -> Option<u32> {
        self.policy.has_quota().then_some(self.quota)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(policy: RetryPolicy) -> Vec<Duration> {
        let mut retrier = Retrier::new(policy, Seed(7));
        (1..).map_while(|attempts| retrier.wait(attempts, Duration::ZERO, Duration::from_millis(9))).collect()
    }

    #[test]
    fn each_policy_waits_as_its_source_says() {
        assert!(waits(RetryPolicy::None).is_empty());
        let legacy = waits(RetryPolicy::AwsLegacy);
        assert_eq!((legacy.len(), legacy[0], legacy[3]), (9, LEGACY_BASE, Duration::from_millis(400)));
        assert_eq!(waits(RetryPolicy::AwsStandard).len(), 2);
        let standard = waits(RetryPolicy::AwsStandard2026);
        assert_eq!(standard.len(), 3);
        assert!(standard.iter().zip(0..).all(|(wait, i)| *wait <= Duration::from_secs(1 << i)));
        assert_eq!(waits(RetryPolicy::Cosmos), vec![Duration::from_millis(9); 9]);
    }

    /// "Retry behavior": 500 tokens and every call throttled allow 100 retries, then fail fast.
    #[test]
    fn the_quota_ends_a_storm() {
        let mut retrier = Retrier::new(RetryPolicy::AwsStandard2026, Seed(0));
        let retries =
            (0..1_000).filter(|_| retrier.wait(1, Duration::ZERO, Duration::ZERO).is_some()).count();
        assert_eq!((retries, retrier.quota_left()), (100, Some(0)));
        retrier.succeeded(1);
        assert_eq!(retrier.quota_left(), Some(1));
    }

    #[test]
    fn cosmos_gives_up_after_thirty_seconds() {
        let mut retrier = Retrier::new(RetryPolicy::Cosmos, Seed(0));
        let (waited, told) = (Duration::from_secs(29), Duration::from_secs(2));
        assert_eq!(retrier.wait(2, waited, told), None);
        assert_eq!(retrier.wait(2, Duration::ZERO, Duration::ZERO), Some(COSMOS_WAIT_DEFAULT));
    }
}
