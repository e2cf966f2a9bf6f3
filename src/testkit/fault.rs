//! Faults as data: what goes wrong, for which requests, when and how often. A fault that is not needed to show a bug
//! shrinks away like any other input.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// The request is throttled and told to come back.
    Throttle {
        /// After this long.
        retry_after_ms: u32,
    },
    /// The answer takes longer.
    Latency {
        /// By this much.
        ms: u32,
    },
    /// The physical partition that the request goes to splits just before it arrives.
    Split,
    /// A transaction is said to hold the item: writes are refused as a conflict.
    Conflict,
    /// A read that is not strongly consistent sees items as they were before their last write.
    StaleRead,
    /// A page ends after one item, with a continuation where there is more.
    ShortPage,
}

impl Effect {
    /// The kinds of requests that it can do anything to.
    pub(super) fn strikes(self) -> &'static [RequestKind] {
        use RequestKind::{Batch, Delete, Get, Move, Put, Query, Scan};
        match self {
            Self::Throttle { .. } | Self::Latency { .. } | Self::Split => {
                &[Put, Delete, Move, Get, Query, Batch, Scan]
            }
            Self::Conflict => &[Put, Delete, Move, Batch],
            Self::StaleRead => &[Get, Query, Scan],
            Self::ShortPage => &[Query, Scan],
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throttle { retry_after_ms } => write!(f, "throttle (retry after {retry_after_ms} ms)"),
            Self::Latency { ms } => write!(f, "{ms} ms of latency"),
            Self::Split => f.write_str("split"),
            Self::Conflict => f.write_str("transaction conflict"),
            Self::StaleRead => f.write_str("stale read"),
            Self::ShortPage => f.write_str("short page"),
        }
    }
}

/// The kinds of requests a fault may be limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// Reads of one item.
    Get,
    /// Writes of one item.
    Put,
    /// Removals of one item.
    Delete,
    /// Pages of a logical partition.
    Query,
    /// Pages of the table.
    Scan,
    /// Members of batches.
    Batch,
    /// Moves: an item removed and another stored in one transaction.
    Move,
}

/// One fault. Where it names no time, partition, key or kind of request, any will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What goes wrong.
    pub effect: Effect,
    /// Requests that match and are let through first.
    #[serde(default)]
    pub skip: u32,
    /// Requests that are struck after those.
    pub times: u32,
    /// Only requests of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestKind>,
    /// Only requests to this physical partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// Only requests for this partition key, as it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Only from this moment of the clock, in milliseconds, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<u64>,
    /// ... and before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
}

impl Fault {
    /// A fault that strikes the first request it meets.
    pub fn new(effect: Effect) -> Self {
        Self {
            effect,
            skip: 0,
            times: 1,
            request: None,
            partition: None,
            key: None,
            from_ms: None,
            until_ms: None,
        }
    }

    /// Faults that strike a few requests early in a history.
    pub fn any() -> impl Strategy<Value = Self> + Clone {
        let effect = prop_oneof![
            4 => (1..2_000_u32).prop_map(|retry_after_ms| Effect::Throttle { retry_after_ms }),
            2 => Just(Effect::Conflict),
            2 => Just(Effect::Split),
            2 => Just(Effect::StaleRead),
            2 => Just(Effect::ShortPage),
            1 => (1..2_000_u32).prop_map(|ms| Effect::Latency { ms }),
        ];
        let request = proptest::option::of(any::<proptest::sample::Index>());
        (effect, 0..12_u32, 1..5_u32, request).prop_map(|(effect, skip, times, request)| Self {
            skip,
            // What refuses nothing may last: it takes several to meet the one item whose last write matters.
            times: match effect {
                Effect::StaleRead | Effect::ShortPage => times * 8,
                _ => times,
            },
            request: request.map(|index| *index.get(effect.strikes())),
            ..Self::new(effect)
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} times", self.effect, self.times)?;
        if self.skip > 0 {
            write!(f, ", after {} that are let through", self.skip)?;
        }
        if let Some(request) = self.request {
            write!(f, ", {request:?} only")?;
        }
        if let Some(partition) = self.partition {
            write!(f, ", partition {partition} only")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", key {key} only")?;
        }
        if let Some(from) = self.from_ms {
            write!(f, ", from {from} ms")?;
        }
        if let Some(until) = self.until_ms {
            write!(f, ", until {until} ms")?;
        }
        Ok(())
    }
}
