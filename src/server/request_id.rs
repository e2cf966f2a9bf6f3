//! Request ids as DynamoDB writes them: 52 characters of A–Z and 0–9, from a seed, so that a run can be repeated.
//!
//! An id names a request in logs and nothing else; it does not know what it names.

use crate::rng::Seed;
use std::sync::atomic::{AtomicU64, Ordering};

/// Characters of an id.
const LENGTH: usize = 52;

/// Characters taken of one random word: 36¹² < 2⁶⁴.
const CHARACTERS_PER_WORD: usize = 12;

const ALPHABET: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// A source of ids, shared by all connections.
#[derive(Debug)]
pub(super) struct RequestIds {
    seed: Seed,
    next: AtomicU64,
}

impl RequestIds {
    pub(super) fn new(seed: Seed) -> Self {
        Self { seed: seed.stream("request-id"), next: AtomicU64::new(0) }
    }

    /// The next id.
    pub(super) fn next(&self) -> String {
        let words = LENGTH.div_ceil(CHARACTERS_PER_WORD) as u64;
        let first = self.next.fetch_add(1, Ordering::Relaxed).wrapping_mul(words);
        let mut id = String::with_capacity(LENGTH);
        for word in 0..words {
            let mut random = self.seed.at(first.wrapping_add(word));
            for _ in 0..CHARACTERS_PER_WORD.min(LENGTH - id.len()) {
                id.push(char::from(ALPHABET[(random % 36) as usize]));
                random /= 36;
            }
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_the_services_form_and_follow_from_the_seed() {
        let (one, same, other) =
            (RequestIds::new(Seed(1)), RequestIds::new(Seed(1)), RequestIds::new(Seed(2)));
        let ids: Vec<String> = (0..100).map(|_| one.next()).collect();
        assert!(ids.iter().all(|id| id.len() == 52));
        assert!(ids.iter().all(|id| id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())));
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 100);
        assert_eq!(ids[0], same.next());
        assert_ne!(ids[0], other.next());
    }
}
