//! The ring: which physical partition holds which slice of the keys.
//!
//! ```text
//!   START ├────── p0 ──────┼── p1 ──┼──── p4 ────┼─────── p5 ───────┤ end
//!                          │        │            └ (token, sort key): a bound inside one logical partition
//!                          └ (token): a bound between logical partitions
//! ```
//!
//! Bounds are pairs of token and sort key, not tokens alone, because both services split inside what shares a hash:
//! DynamoDB inside an item collection, Cosmos DB inside a prefix of a hierarchical key.
//!
//! A [`PartitionMap`] is an immutable snapshot with an epoch. A split or merge makes the next one; nobody waits.
//! The ring knows nothing of what is stored, nor how much throughput a partition has.

mod map;
mod range;
mod token;

pub use map::{Owner, PartitionMap};
pub use range::{RingPoint, TokenRange};
pub use token::Token;
