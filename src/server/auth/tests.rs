//! The signature's parts against AWS's published vectors, and the service's texts for what does not hold.

use super::*;
use hyper::Request;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

#[test]
fn days_and_times_go_both_ways() {
    for (text, expected) in [
        ("19700101T000000Z", 0),
        ("20000229T235959Z", 951_868_799),
        ("20150830T123600Z", 1_440_938_160),
        ("21000301T000000Z", 4_107_542_400),
    ] {
        assert_eq!(seconds(text), Some(expected), "{text}");
        assert_eq!(basic(expected), text);
    }
    for wrong in ["", "2015-08-30T12:36:00Z", "20151330T123600Z", "20150830T12360 Z", "20150830T123600é", "a"]
    {
        assert_eq!(seconds(wrong), None, "{wrong}");
    }
}

/// Requests of the Signature Version 4 test suite that AWS published, and their signatures: all by AKIDEXAMPLE, for
/// `us-east-1/service` at 20150830T123600Z. Method, path, query, headers besides host and time, body, signature.
type Vector = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static [&'static str])],
    &'static str,
    &'static str,
);

const VECTORS: &[Vector] = &[
    ("GET", "/", "", &[], "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("POST", "/", "", &[], "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ("GET", "//./a/../", "", &[], "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("GET", "/ሴ", "", &[], "", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    (
        "GET",
        "/",
        "Param2=value2&Param1=value1",
        &[],
        "",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    ("GET", "/", "ሴ=bar", &[], "", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
    (
        "GET",
        "/",
        "%E1%88%B4=bar",
        &[],
        "",
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    ),
    (
        "GET",
        "/",
        "",
        &[("My-Header1", &["value2", "value2", "value1"])],
        "",
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    (
        "GET",
        "/",
        "",
        &[("My-Header1", &[" value1"]), ("My-Header2", &[" \"a   b   c\""])],
        "",
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    (
        "POST",
        "/",
        "",
        &[("Content-Type", &["application/x-www-form-urlencoded"])],
        "Param1=value1",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
];

#[test]
fn published_vectors_come_out_as_published() {
    for (method, path, query, more, body, expected) in VECTORS {
        let mut headers: Vec<(&str, Vec<String>)> = vec![
            ("host", vec!["example.amazonaws.com".to_owned()]),
            ("x-amz-date", vec!["20150830T123600Z".to_owned()]),
        ];
        headers
            .extend(more.iter().map(|(name, values)| (*name, values.iter().map(|v| (*v).into()).collect())));
        headers.sort_by_key(|(name, _)| name.to_ascii_lowercase());
        let hash = sigv4::sha256(body.as_bytes());
        let canonical = sigv4::canonical_request(method, path, query, headers, &hash);
        let scope = Scope { date: "20150830", region: "us-east-1", service: "service" };
        let to_sign = sigv4::string_to_sign("20150830T123600Z", scope, &canonical);
        assert_eq!(sigv4::signature(SECRET, scope, &to_sign), *expected, "{canonical}");
    }
}

const TIME: &str = "20150830T123600Z";
const NOW: u64 = 1_440_938_160;
const BODY: &[u8] = b"{}";

fn known() -> Credentials {
    format!("AKIDEXAMPLE:{SECRET}").parse().unwrap()
}

/// A signed request to DynamoDB, its canonical form written out by hand.
fn signed(hash: &str, headers: &[(&str, &str)]) -> Parts {
    let names = "content-type;host;x-amz-date;x-amz-target";
    let canonical = format!(
        "POST\n/\n\ncontent-type:application/x-amz-json-1.0\nhost:localhost:8000\nx-amz-date:{TIME}\n\
         x-amz-target:DynamoDB_20120810.ListTables\n\n{names}\n{hash}"
    );
    let scope = Scope { date: "20150830", region: "eu-west-1", service: "dynamodb" };
    let signature = sigv4::signature(SECRET, scope, &sigv4::string_to_sign(TIME, scope, &canonical));
    let mut request = Request::post("/")
        .header("host", "localhost:8000")
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-date", TIME)
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .header(
            AUTHORIZATION,
            format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={names}, Signature={signature}"
            ),
        )
        .body(())
        .unwrap();
    for (name, value) in headers {
        let name = hyper::header::HeaderName::try_from(*name).unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request.into_parts().0
}

fn verified(head: &Parts, body: &[u8], now: u64) -> Result<(), Refusal> {
    read(head)?.verify(&known(), head, body, now)
}

#[track_caller]
fn assert_refused(result: Result<(), Refusal>, name: &str, text: &str) {
    let (refused, message) = result.unwrap_err();
    assert_eq!(refused, name, "{message}");
    assert!(message.contains(text), "{message}");
}

#[test]
fn a_good_signature_is_let_in_and_names_its_caller() {
    let head = signed(&sigv4::sha256(BODY), &[("x-amz-security-token", "ignored")]);
    assert_eq!(verified(&head, BODY, NOW), Ok(()));
    assert_eq!(verified(&head, BODY, NOW + 900), Ok(()));
    assert_eq!(verified(&head, BODY, NOW - 900), Ok(()));
    let read = read(&head).unwrap();
    let caller = read.caller().unwrap();
    assert_eq!((caller.access_key, caller.region), ("AKIDEXAMPLE", "eu-west-1"));
    let unsigned = signed(sigv4::UNSIGNED_PAYLOAD, &[("x-amz-content-sha256", sigv4::UNSIGNED_PAYLOAD)]);
    assert_eq!(verified(&unsigned, BODY, NOW), Ok(()));
}

#[test]
fn what_was_changed_after_signing_is_refused() {
    let does_not_match = "The request signature we calculated does not match the signature you provided.";
    let hash = sigv4::sha256(BODY);
    assert_refused(verified(&signed(&hash, &[]), b"{ }", NOW), INVALID, does_not_match);
    let target = [("x-amz-target", "DynamoDB_20120810.DeleteTable")];
    assert_refused(verified(&signed(&hash, &target), BODY, NOW), INVALID, does_not_match);
    // A stated hash is not believed: the body's own counts.
    let stated = [("x-amz-content-sha256", hash.as_str())];
    assert_refused(verified(&signed(&hash, &stated), b"{ }", NOW), INVALID, does_not_match);
    let other: Credentials = "AKIDEXAMPLE:other".parse().unwrap();
    let head = signed(&hash, &[]);
    assert_refused(read(&head).unwrap().verify(&other, &head, BODY, NOW), INVALID, does_not_match);
    let nobody: Credentials = "somebody:else".parse().unwrap();
    assert_refused(
        read(&head).unwrap().verify(&nobody, &head, BODY, NOW),
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    );
}

#[test]
fn what_is_too_old_or_not_yet_is_refused() {
    let head = signed(&sigv4::sha256(BODY), &[]);
    assert_refused(
        verified(&head, BODY, NOW + 901),
        INVALID,
        "Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z (20150830T125101Z - 15 min.)",
    );
    assert_refused(verified(&head, BODY, NOW - 901), INVALID, "Signature not yet current: ");
    let odd = signed(&sigv4::sha256(BODY), &[("x-amz-date", "201")]);
    assert_refused(
        verified(&odd, BODY, NOW),
        INCOMPLETE,
        "Date must be in ISO-8601 'basic format'. Got '201'.",
    );
}

/// Changes what stands in `Authorization`.
fn altered(from: &str, to: &str) -> Result<(), Refusal> {
    let mut head = signed(&sigv4::sha256(BODY), &[]);
    let text = head.headers[AUTHORIZATION].to_str().unwrap().replace(from, to);
    head.headers.insert(AUTHORIZATION, text.parse().unwrap());
    verified(&head, BODY, NOW)
}

#[test]
fn odd_scopes_are_refused_as_the_service_does() {
    assert_refused(
        altered("host;", ""),
        INVALID,
        "'Host' must be a 'SignedHeader' in the AWS Authorization.",
    );
    assert_refused(altered("SHA256", "SHA25"), INCOMPLETE, "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25'");
    assert_refused(
        altered("/aws4_request", ""),
        INCOMPLETE,
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got \
         'AKIDEXAMPLE/20150830/eu-west-1/dynamodb'",
    );
    assert_refused(altered("/dynamodb/", "/s3/"), INVALID, "scoped to correct service: 'dynamodb'. ");
    assert_refused(altered("aws4_request", "e"), INVALID, "valid terminator: 'aws4_request', not 'e'. ");
    assert_refused(
        altered("eu-west-1", "C"),
        INVALID,
        "Credential should be scoped to a valid region, not 'C'. ",
    );
    assert_refused(
        altered("/20150830/", "/b/"),
        INVALID,
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: 'b' != \
         '20150830', from '20150830T123600Z'.",
    );
}

/// A signature may come in the query instead.
#[test]
fn a_signature_in_the_query_is_verified_for_as_long_as_it_lasts() {
    let query = format!(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Feu-west-1%2Fdynamodb%2F\
         aws4_request&X-Amz-Date={TIME}&X-Amz-Expires=3600&X-Amz-SignedHeaders=host"
    );
    let canonical = format!("POST\n/\n{query}\nhost:localhost:8000\n\nhost\n{}", sigv4::sha256(BODY));
    let scope = Scope { date: "20150830", region: "eu-west-1", service: "dynamodb" };
    let signature = sigv4::signature(SECRET, scope, &sigv4::string_to_sign(TIME, scope, &canonical));
    let head = Request::post(format!("/?{query}&X-Amz-Signature={signature}"))
        .header("host", "localhost:8000")
        .body(())
        .unwrap()
        .into_parts()
        .0;
    assert_eq!(verified(&head, BODY, NOW + 3_600), Ok(()));
    assert_refused(verified(&head, BODY, NOW + 3_601), INVALID, "- 60 min.)");
    assert_eq!(read(&head).unwrap().caller().unwrap().region, "eu-west-1");
}

#[test]
fn credentials_are_read_and_never_printed_whole() {
    assert!(!format!("{:?}", known()).contains(SECRET));
    for wrong in ["", "key", "key:", ":secret", "a/b:secret"] {
        assert!(wrong.parse::<Credentials>().is_err(), "{wrong}");
    }
}
