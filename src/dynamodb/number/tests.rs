//! Numbers: what is read, what is refused with which words, and how they are written and ordered.

use super::*;
use crate::charge::item_size;
use proptest::prelude::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(text: &str) -> String {
    Number::parse(text).unwrap_err().message().to_owned()
}

/// Texts from ScyllaDB's `test_number.py`, dynalite and the public conformance suite, and the guide's limits.
#[test]
fn texts_become_their_normal_form() {
    for (text, normal) in [
        ("0", "0"),
        ("-0", "0"),
        ("0e1000", "0"),
        ("0.000", "0"),
        ("+3", "3"),
        ("00042", "42"),
        ("1.0", "1"),
        ("3.140", "3.14"),
        ("1.5E2", "150"),
        (".123", "0.123"),
        ("5.", "5"),
        ("+.5", "0.5"),
        ("0001.23", "1.23"),
        ("1e+5", "100000"),
        ("-17e5", "-1700000"),
        ("-7.1234", "-7.1234"),
        ("1E-38", "0.00000000000000000000000000000000000001"),
        ("3.1415926535897932384626433832795028841", "3.1415926535897932384626433832795028841"),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ("100000000000000000000000000000000000000000000", "100000000000000000000000000000000000000000000"),
        ("1200.5", "1200.5"),
        ("0.0012005", "0.0012005"),
    ] {
        assert_eq!(number(text).to_string(), normal, "{text}");
        assert_eq!(number(normal), number(text));
    }
    for text in ["9.9999999999999999999999999999999999999E+125", "1E-130", "1.2E-130", "-1e125", "-1E-130"] {
        assert_eq!(number(&number(text).to_string()), number(text), "{text}");
    }
    assert_eq!(number("1E125").to_string().len(), 126);
    assert_eq!(number("-1E-130").to_string().len(), 3 + 130);
}

#[test]
fn what_is_no_number_is_refused_with_its_text() {
    for text in [
        "NaN",
        "Infinity",
        "-Infinity",
        "-NaN",
        "dog",
        "-dog",
        " 1",
        "1 ",
        "b",
        "+e2",
        "1+2",
        "1.2.3",
        "++5",
        "1e",
        "1e+",
        ".",
        "-",
        "1_000",
        "0x10",
        "1e2.5",
        "1e99999999999",
        "١",
        "1e2147483648",
        "--1",
        "e5",
        "1E-2147483649",
    ] {
        assert_eq!(refusal(text), format!("The parameter cannot be converted to a numeric value: {text}"));
    }
    assert_eq!(refusal(""), "The parameter cannot be converted to a numeric value");
}

#[test]
fn numbers_out_of_range_are_refused() {
    for text in ["1e126", "-1e126", "11e125", "1.0e100000000", "1e2147483647"] {
        assert_eq!(
            refusal(text),
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
            "{text}"
        );
    }
    for text in ["1e-131", "-1e-131", "0.9e-130", "1e-2147483647"] {
        assert_eq!(
            refusal(text),
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
            "{text}"
        );
    }
    for text in [
        "123456789012345678901234567890123456789",
        "3.14159265358979323846264338327950288419",
        "314159265358979323846264338327950288419e30",
        "1.00000000000000000000000000000000000001",
    ] {
        assert_eq!(
            refusal(text),
            "Attempting to store more than 38 significant digits in a Number",
            "{text}"
        );
    }
}

#[test]
fn sums_are_exact_or_fail() {
    let sum = |a: &str, b: &str| number(a).checked_add(number(b)).map(|sum| sum.to_string());
    assert_eq!(sum("1", "10000000000000000000000").unwrap(), "10000000000000000000001");
    assert_eq!(sum("0.1", "0.2").unwrap(), "0.3");
    assert_eq!(sum("5", "-5").unwrap(), "0");
    assert_eq!(sum("99999999999999999999999999999999999999", "1").unwrap(), format!("1{}", "0".repeat(38)));
    // The coarse coefficient has 39 digits here, the sum has not.
    assert_eq!(
        sum("1.8e38", "-90000000000000000000000000000000000001").unwrap(),
        "89999999999999999999999999999999999999"
    );
    // The service calls a sum of too many digits an overflow (ScyllaDB's `test_number.py`).
    for (a, b) in
        [("9e125", "9e125"), ("1e50", "1"), ("1e125", "1e-130"), ("-9e125", "-9e125"), ("1e38", "0.1")]
    {
        let error = sum(a, b).unwrap_err();
        assert!(error.message().starts_with("Number overflow."), "{a} + {b}: {error}");
    }
    let error = number("1E-130").checked_sub(number("1.1E-130")).unwrap_err();
    assert!(error.message().starts_with("Number underflow."));
    assert_eq!(number("3").checked_sub(number("0")).unwrap(), number("3"));
    assert_eq!(number("0").checked_sub(number("3")).unwrap(), number("-3"));
}

#[test]
fn a_number_is_small() {
    assert_eq!(size_of::<Number>(), 24);
    assert_eq!(NumberBytes::LENGTH_MAX, 22);
    assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
    assert_eq!(Number::from(i64::MIN).to_string(), i64::MIN.to_string());
    assert_eq!("7".parse::<Number>().unwrap(), Number::from(7_u64));
}

#[test]
fn forged_bytes_are_no_number() {
    for bytes in
        [&[][..], &[0x80, 0], &[0x81], &[0x81, 130], &[0x81, 130, 0], &[0x81, 130, 102], &[0x7F, 1, 2]]
    {
        assert_eq!(Number::from_sortable_bytes(bytes), None, "{bytes:?}");
    }
    // 10 written as the pairs 10 and 00.
    assert_eq!(Number::from_sortable_bytes(&[0x81, 131, 11, 1]), None);
    assert_eq!(Number::from_sortable_bytes(&[0x81; 40]), None);
}

/// A plain model: a sign and 300 decimal digits from 10¹²⁶ down, most significant first.
mod model {
    const FIRST: i32 = 127;
    pub(super) const LEN: usize = 300;

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct Big {
        pub(super) negative: bool,
        digits: [u8; LEN],
    }

    impl Big {
        /// From digits and the power of the last of them.
        pub(super) fn new(negative: bool, digits: &[u8], exponent: i32) -> Self {
            let mut out = [0; LEN];
            // Leading zeros may lie beyond the model's first digit.
            for (i, digit) in digits.iter().rev().enumerate().filter(|&(_, &digit)| digit != 0) {
                out[(FIRST - exponent) as usize - i] = *digit;
            }
            Self { negative: negative && digits.iter().any(|&d| d != 0), digits: out }
        }

        fn cmp_magnitude(&self, other: &Self) -> std::cmp::Ordering {
            self.digits.cmp(&other.digits)
        }

        pub(super) fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            match (self.negative, other.negative) {
                (false, true) => std::cmp::Ordering::Greater,
                (true, false) => std::cmp::Ordering::Less,
                (false, false) => self.cmp_magnitude(other),
                (true, true) => other.cmp_magnitude(self),
            }
        }

        pub(super) fn add(&self, other: &Self) -> Self {
            let mut out = [0_i16; LEN];
            let same = self.negative == other.negative;
            let (large, small) =
                if self.cmp_magnitude(other).is_ge() { (self, other) } else { (other, self) };
            let mut carry = 0_i16;
            for i in (0..LEN).rev() {
                let (a, b) = (i16::from(large.digits[i]), i16::from(small.digits[i]));
                let value = if same { a + b } else { a - b } + carry;
                carry = value.div_euclid(10);
                out[i] = value.rem_euclid(10);
            }
            let digits = out.map(|digit| digit as u8);
            Self { negative: large.negative && digits.iter().any(|&d| d != 0), digits }
        }

        /// First and last digit that is not zero, as powers of ten.
        pub(super) fn span(&self) -> Option<(i32, i32)> {
            let first = self.digits.iter().position(|&d| d != 0)?;
            let last = self.digits.iter().rposition(|&d| d != 0)?;
            Some((FIRST - first as i32, FIRST - last as i32))
        }
    }
}

/// Digits and the power of the last one, in range.
fn parts() -> impl Strategy<Value = (bool, Vec<u8>, i32)> {
    let digits = prop_oneof![
        proptest::collection::vec(0_u8..10, 1..=38),
        proptest::collection::vec(prop_oneof![Just(0_u8), Just(9)], 1..=38),
        proptest::collection::vec(0_u8..10, 1..=3),
    ];
    (any::<bool>(), digits, any::<u8>(), any::<bool>()).prop_map(|(negative, digits, power, near)| {
        // Powers of first digits from -130 to 125, often close together.
        let leading = digits.iter().position(|&d| d != 0).unwrap_or(0) as i32;
        let top = if near { i32::from(power % 16) - 8 } else { i32::from(power) - 130 };
        let exponent = top - (digits.len() as i32 - 1 - leading);
        (negative, digits, exponent)
    })
}

fn text_of((negative, digits, exponent): &(bool, Vec<u8>, i32)) -> String {
    let digits: String = digits.iter().map(|d| char::from(b'0' + d)).collect();
    format!("{}{digits}E{exponent}", if *negative { "-" } else { "" })
}

fn big((negative, digits, exponent): &(bool, Vec<u8>, i32)) -> model::Big {
    model::Big::new(*negative, digits, *exponent)
}

proptest! {
    #[test]
    fn sums_and_differences_agree_with_a_big_decimal(a in parts(), b in parts()) {
        let (x, y) = (number(&text_of(&a)), number(&text_of(&b)));
        for (ours, theirs) in [
            (x.checked_add(y), big(&a).add(&big(&b))),
            (x.checked_sub(y), big(&a).add(&big(&(!b.0, b.1.clone(), b.2)))),
        ] {
            match (ours, theirs.span()) {
                (Ok(ours), None) => prop_assert_eq!(ours, Number::ZERO),
                (Ok(ours), Some((first, last))) => {
                    prop_assert!(first - last < 38 && (-130..=125).contains(&first));
                    prop_assert_eq!(ours.is_negative(), theirs.negative);
                    let digits: Vec<u8> =
                        ours.coefficient().to_string().bytes().map(|d| d - b'0').collect();
                    let again = model::Big::new(ours.negative, &digits, i32::from(ours.exponent));
                    prop_assert_eq!(again, theirs);
                }
                (Err(error), span) => {
                    let (first, last) = span.expect("zero is in range");
                    let expected = if first - last >= 38 || first > 125 { "overflow" } else { "underflow" };
                    prop_assert!(error.message().contains(expected), "{} {:?}", error, span);
                    prop_assert!(first - last >= 38 || !(-130..=125).contains(&first));
                }
            }
        }
    }

    #[test]
    fn the_order_of_bytes_is_the_order_of_numbers(a in parts(), b in parts()) {
        let (x, y) = (number(&text_of(&a)), number(&text_of(&b)));
        prop_assert_eq!(x.cmp(&y), big(&a).cmp(&big(&b)));
        prop_assert_eq!(x.sortable_bytes().as_slice().cmp(y.sortable_bytes().as_slice()), x.cmp(&y));
        prop_assert_eq!(x == y, x.cmp(&y).is_eq());
        prop_assert_eq!(Number::from_sortable_bytes(x.sortable_bytes().as_slice()), Some(x));
    }

    #[test]
    fn a_number_is_the_same_after_a_round_trip(a in parts()) {
        let x = number(&text_of(&a));
        let text = x.to_string();
        prop_assert_eq!(number(&text), x);
        prop_assert_eq!(number(&text).to_string(), text.clone());
        prop_assert_eq!(x.size(), item_size::number(&text).0, "{}", text);
        prop_assert_eq!(x.negated().negated(), x);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+.eE0-9]{0,60}|.{0,20}") {
        if let Ok(number) = Number::parse(&text) {
            prop_assert_eq!(Number::parse(&number.to_string()).unwrap(), number);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
        if let Some(number) = Number::from_sortable_bytes(&bytes) {
            let again = number.sortable_bytes();
            prop_assert_eq!(again.as_slice(), &bytes[..]);
        }
    }
}
