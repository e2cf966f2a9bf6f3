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
