//! Who asks: the credentials of a request, and whether its signature holds.
//!
//! The order of checks and the texts of refusals are the service's, as far as they are public: dynalite's tests were
//! run against it, and its source notes the rest. It does not know what a caller may do; there are no permissions here.

use super::sigv4::{self, Scope};
use crate::error::{Error, Result as HotplateResult};
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds that a request's time may differ from the server's.
const SKEW_SECS: u64 = 15 * 60;

/// An access key id and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    access_key: String,
    secret: String,
}

impl FromStr for Credentials {
    type Err = Error;

    /// Reads `KEY:SECRET`.
    fn from_str(text: &str) -> HotplateResult<Self> {
        match text.split_once(':') {
            Some((key, secret)) if !key.is_empty() && !secret.is_empty() && !key.contains('/') => {
                Ok(Self { access_key: key.to_owned(), secret: secret.to_owned() })
            }
            _ => Err(Error::invalid("credentials are written KEY:SECRET, and the key holds no /")),
        }
    }
}

impl fmt::Debug for Credentials {
    /// Without the secret, which must not come into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

/// Why a request is refused: the error's name and text.
pub(super) type Refusal = (&'static str, String);

const INCOMPLETE: &str = "IncompleteSignatureException";
const INVALID: &str = "InvalidSignatureException";

/// What a request says of its sender, and how it proves it.
#[derive(Debug)]
pub(super) struct Signed<'a> {
    algorithm: Cow<'a, str>,
    credential: Cow<'a, str>,
    signed_headers: Cow<'a, str>,
    signature: Cow<'a, str>,
    /// The time of signing, as it came.
    time: Cow<'a, str>,
    /// Seconds that a signature in the query is good for.
    expires: Option<u64>,
}

/// Reads what a request says of its sender, from `Authorization` or the query.
pub(super) fn read(head: &Parts) -> Result<Signed<'_>, Refusal> {
    let query = head.uri.query().unwrap_or("");
    let in_query = sigv4::query_pairs(query).any(|(name, _)| name == b"X-Amz-Algorithm");
    let authorization =
        head.headers.get(AUTHORIZATION).map(|value| String::from_utf8_lossy(value.as_bytes()));
    match authorization {
        Some(_) if in_query => Err((
            INVALID,
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
                .to_owned(),
        )),
        Some(text) if text.trim_start().starts_with("AWS4-") => from_header(head, &text),
        None if in_query => from_query(query),
        _ => {
            Err(("MissingAuthenticationTokenException", "Request is missing Authentication Token".to_owned()))
        }
    }
}

fn from_header<'a>(head: &'a Parts, text: &str) -> Result<Signed<'a>, Refusal> {
    let mut words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let algorithm = words.next().unwrap_or("");
    let (mut credential, mut signature, mut signed_headers) = (None, None, None);
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            let why = format!(
                "'{word}' not a valid key=value pair (missing equal-sign) in Authorization header: '{text}'."
            );
            return Err((INCOMPLETE, why));
        };
        match name {
            "Credential" => credential = Some(value),
            "Signature" => signature = Some(value),
            "SignedHeaders" => signed_headers = Some(value),
            _ => {}
        }
    }
    let time = header(head, "x-amz-date").or_else(|| header(head, "date"));
    let mut missing = String::new();
    for (name, value) in
        [("Credential", credential), ("Signature", signature), ("SignedHeaders", signed_headers)]
    {
        if value.is_none_or(str::is_empty) {
            missing.push_str(&format!("Authorization header requires '{name}' parameter. "));
        }
    }
    if time.is_none() {
        missing.push_str(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ",
        );
    }
    if !missing.is_empty() {
        return Err((INCOMPLETE, format!("{missing}Authorization={text}")));
    }
    let owned = |value: Option<&str>| Cow::Owned(value.unwrap_or("").to_owned());
    Ok(Signed {
        algorithm: Cow::Owned(algorithm.to_owned()),
        credential: owned(credential),
        signed_headers: owned(signed_headers),
        signature: owned(signature),
        time: time.unwrap_or_default(),
        expires: None,
    })
}

fn from_query(query: &str) -> Result<Signed<'static>, Refusal> {
    let find = |wanted: &str| {
        sigv4::query_pairs(query)
            .find(|(name, value)| name == wanted.as_bytes() && !value.is_empty())
            .map(|(_, value)| String::from_utf8_lossy(&value).into_owned())
    };
    let names =
        ["X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date"];
    let values = names.map(find);
    let mut missing = String::new();
    for (name, _) in names.iter().zip(&values).filter(|(_, value)| value.is_none()) {
        missing.push_str(&format!("AWS query-string parameters must include '{name}'. "));
    }
    if !missing.is_empty() {
        return Err((INCOMPLETE, format!("{missing}Re-examine the query-string parameters.")));
    }
    let [algorithm, credential, signature, signed_headers, time] =
        values.map(|value| Cow::Owned(value.unwrap_or_default()));
    let expires = find("X-Amz-Expires").and_then(|text| text.parse().ok());
    Ok(Signed { algorithm, credential, signed_headers, signature, time, expires })
}

/// A header's value, the first of several.
fn header<'a>(head: &'a Parts, name: &str) -> Option<Cow<'a, str>> {
    head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
}

/// The parts of a credential.
pub(super) struct Caller<'a> {
    pub(super) access_key: &'a str,
    pub(super) region: &'a str,
    date: &'a str,
    service: &'a str,
    terminator: &'a str,
}

impl Signed<'_> {
    /// The parts of the credential.
    pub(super) fn caller(&self) -> Result<Caller<'_>, Refusal> {
        let parts: Vec<&str> = self.credential.trim_end_matches('/').split('/').collect();
        match parts[..] {
            [access_key, date, region, service, terminator] if !access_key.is_empty() => {
                Ok(Caller { access_key, region, date, service, terminator })
            }
            _ => Err((
                INCOMPLETE,
                format!(
                    "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, \
                     got '{}'",
                    self.credential
                ),
            )),
        }
    }

    /// Whether the signature is one of `known`, made for this request, at about `now` (seconds since 1970).
    pub(super) fn verify(
        &self,
        known: &Credentials,
        head: &Parts,
        body: &[u8],
        now: u64,
    ) -> Result<(), Refusal> {
        let Some(time) = seconds(&self.time) else {
            let why = format!(
                "Date must be in ISO-8601 'basic format'. Got '{}'. See http://en.wikipedia.org/wiki/ISO_8601",
                self.time
            );
            return Err((INCOMPLETE, why));
        };
        let lasts = self.expires.unwrap_or(SKEW_SECS).min(7 * 86_400);
        let (earliest, latest) = (now.saturating_sub(lasts), now.saturating_add(SKEW_SECS));
        if time < earliest {
            let why = format!(
                "Signature expired: {} is now earlier than {} ({} - {} min.)",
                self.time,
                basic(earliest),
                basic(now),
                lasts / 60
            );
            return Err((INVALID, why));
        }
        if time > latest {
            let why = format!(
                "Signature not yet current: {} is still later than {} ({} + 15 min.)",
                self.time,
                basic(latest),
                basic(now)
            );
            return Err((INVALID, why));
        }
        let names: Vec<&str> = self.signed_headers.split(';').collect();
        if !names.iter().any(|name| name.eq_ignore_ascii_case("host")) {
            return Err((INVALID, "'Host' must be a 'SignedHeader' in the AWS Authorization.".to_owned()));
        }
        if self.algorithm != sigv4::ALGORITHM {
            let why = format!(
                "Unsupported AWS 'algorithm': '{}' (only {} for now). ",
                self.algorithm,
                sigv4::ALGORITHM
            );
            return Err((INCOMPLETE, why));
        }
        let caller = self.caller()?;
        self.scope_fits(&caller)?;
        if caller.access_key != known.access_key {
            return Err((
                "UnrecognizedClientException",
                "The security token included in the request is invalid.".to_owned(),
            ));
        }
        let hash = match header(head, "x-amz-content-sha256") {
            Some(stated) if stated == sigv4::UNSIGNED_PAYLOAD => stated.into_owned(),
            _ => sigv4::sha256(body),
        };
        let headers = names.iter().map(|name| {
            let values = head.headers.get_all(*name).iter();
            (*name, values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect())
        });
        let canonical = sigv4::canonical_request(
            head.method.as_str(),
            head.uri.path(),
            head.uri.query().unwrap_or(""),
            headers,
            &hash,
        );
        let scope = Scope { date: caller.date, region: caller.region, service: caller.service };
        let to_sign = sigv4::string_to_sign(&self.time, scope, &canonical);
        if is_same(&sigv4::signature(&known.secret, scope, &to_sign), &self.signature) {
            return Ok(());
        }
        Err((
            INVALID,
            format!(
                "The request signature we calculated does not match the signature you provided. Check your AWS Secret \
                 Access Key and signing method. Consult the service documentation for details.\n\nThe Canonical String \
                 for this request should have been\n'{canonical}'\n\nThe String-to-Sign should have been\n'{to_sign}'\n"
            ),
        ))
    }

    /// Whether the credential is for this service, on the day of the signature.
    fn scope_fits(&self, caller: &Caller<'_>) -> Result<(), Refusal> {
        let mut wrong = String::new();
        let is_region = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        if !is_region(caller.region) {
            wrong.push_str(&format!(
                "Credential should be scoped to a valid region, not '{}'. ",
                caller.region
            ));
        }
        if caller.service != "dynamodb" {
            wrong.push_str("Credential should be scoped to correct service: 'dynamodb'. ");
        }
        if caller.terminator != sigv4::TERMINATOR {
            wrong.push_str(&format!(
                "Credential should be scoped with a valid terminator: '{}', not '{}'. ",
                sigv4::TERMINATOR,
                caller.terminator
            ));
        }
        let day = self.time.get(..8).unwrap_or("");
        if caller.date != day {
            wrong.push_str(&format!(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != \
                 '{day}', from '{}'.",
                caller.date, self.time
            ));
        }
        if wrong.is_empty() { Ok(()) } else { Err((INVALID, wrong)) }
    }
}

/// Whether two signatures are the same, in a time that does not tell where they differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

/// The machine's time in seconds since 1970: what signatures are dated by, whatever the service's clock says.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Seconds since 1970 of a time like `20150830T123600Z`.
fn seconds(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if bytes.len() != 16 || bytes[8] != b'T' || bytes[15] != b'Z' {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(9, 11)?, number(11, 13)?, number(13, 15)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, counted in years that begin in March so that a leap day is
/// the last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// Seconds since 1970 as `20150830T123600Z`.
fn basic(seconds: u64) -> String {
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    // The inverse of `days`: eras of 400 years, years within, months within.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    let month = (of_year * 5 + 2) / 153;
    let day = of_year - (month * 153 + 2) / 5 + 1;
    let year = era * 400 + year_of_era + u64::from(month >= 10);
    let month = if month < 10 { month + 3 } else { month - 9 };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests;
