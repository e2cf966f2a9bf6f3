//! Tokens that clients give their transactions, so that a repeated one is carried out once.
//!
//! "A client request token is valid for 10 minutes after the first request that uses it completes." A token whose request
//! was cancelled is forgotten (*assumed*: the documentation speaks of requests that had an effect).

use crate::clock::Instant;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long a token is kept.
const VALID_FOR: Duration = Duration::from_secs(10 * 60);

/// What identifies a request's parameters.
pub type Fingerprint = [u8; 16];

/// Tokens in use.
#[derive(Debug, Default)]
pub struct Tokens(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    tokens: BTreeMap<String, Token>,
    /// Tokens in the order in which they become invalid.
    ends: VecDeque<(Instant, String)>,
}

#[derive(Debug)]
struct Token {
    fingerprint: Fingerprint,
    /// Whether its request is done.
    done: bool,
}

/// What there is to do for a request with a token.
#[derive(Debug)]
pub enum Claim<'t> {
    /// Nobody has used the token: carry the request out.
    New(Claimed<'t>),
    /// It was carried out before.
    Again,
    /// Another request with this token is under way.
    InProgress,
    /// Another request with other parameters has used it.
    Mismatch,
}

/// A token whose request is under way. Dropped, it is forgotten.
#[derive(Debug)]
pub struct Claimed<'t> {
    tokens: &'t Tokens,
    token: Option<String>,
}

impl Tokens {
    /// Claims a token for a request.
    pub fn claim(&self, token: &str, fingerprint: Fingerprint, now: Instant) -> Claim<'_> {
        let mut kept = self.0.lock();
        while kept.ends.front().is_some_and(|(end, _)| *end <= now) {
            if let Some((_, token)) = kept.ends.pop_front() {
                kept.tokens.remove(&token);
            }
        }
        match kept.tokens.get(token) {
            Some(own) if own.fingerprint != fingerprint => Claim::Mismatch,
            Some(own) if own.done => Claim::Again,
            Some(_) => Claim::InProgress,
            None => {
                kept.tokens.insert(token.to_owned(), Token { fingerprint, done: false });
                Claim::New(Claimed { tokens: self, token: Some(token.to_owned()) })
            }
        }
    }
}

impl Claimed<'_> {
    /// The request had its effect: the token stays.
    pub fn done(mut self, now: Instant) {
        let Some(token) = self.token.take() else { return };
        let mut kept = self.tokens.0.lock();
        if let Some(own) = kept.tokens.get_mut(&token) {
            own.done = true;
            kept.ends.push_back((now.after(VALID_FOR), token));
        }
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            self.tokens.0.lock().tokens.remove(&token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_for_ten_minutes_after_it_had_an_effect() {
        let tokens = Tokens::default();
        let at = |seconds| Instant::START.after(Duration::from_secs(seconds));
        let claim = tokens.claim("t", [1; 16], at(0));
        assert!(matches!(tokens.claim("t", [1; 16], at(0)), Claim::InProgress));
        drop(claim);
        let Claim::New(claimed) = tokens.claim("t", [2; 16], at(0)) else { panic!("it was forgotten") };
        claimed.done(at(0));
        assert!(matches!(tokens.claim("t", [2; 16], at(599)), Claim::Again));
        assert!(matches!(tokens.claim("t", [1; 16], at(599)), Claim::Mismatch));
        assert!(matches!(tokens.claim("t", [1; 16], at(600)), Claim::New(_)));
    }
}
