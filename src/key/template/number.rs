//! The one canonical text of a number.
//!
//! `1`, `1.0` and `1e0` are one number and must make one key, in every language. The canonical text is the
//! plain decimal one: no exponent, no plus, no leading zeros, no zeros at the end of a fraction, and no sign
//! on zero. It is made from the digits of the input, never through a float, so long integers and decimals
//! keep all of theirs.

/// Digits of a plain number at the most. DynamoDB numbers reach 1E+125 with 38 digits and 1E-130 ("Supported
/// data types and naming rules", Number), so every one of them whose digits end within 149 places fits;
/// `1e300` does not.
pub(super) const DIGITS_MAX: usize = 150;

/// Appends the canonical text of `text`; `None`, with `out` untouched, when it is no number or has too many
/// digits.
pub(super) fn push_canonical(text: &str, out: &mut String) -> Option<()> {
    let magnitude = text.strip_prefix('-').unwrap_or(text);
    let is_plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    // Nearly every number in a key is an integer that is already canonical.
    if is_plain(magnitude)
        && magnitude.len() <= DIGITS_MAX
        && !matches!(magnitude.as_bytes(), [] | [b'0', ..])
    {
        out.push_str(text);
        return Some(());
    }
    let unsigned =
        if magnitude.len() == text.len() { text.strip_prefix('+').unwrap_or(text) } else { magnitude };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let is_number = is_plain(whole) && is_plain(fraction) && is_plain(exponent_digits);
    if !is_number || whole.len() + fraction.len() == 0 || exponent_digits.is_empty() {
        return None;
    }

    let all = [whole, fraction].concat();
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        out.push('0');
        return Some(());
    }
    // Where the point stands, counted from the first digit that is not zero.
    let point = exponent.parse::<i64>().ok()?.checked_add(whole.len() as i64)?.checked_sub(leading as i64)?;
    let zeros_before = usize::try_from(point.checked_neg()?.max(0)).ok()?;
    let before_point = usize::try_from(point.max(0)).ok()?;
    let count = if point <= 0 {
        1_usize.checked_add(zeros_before)?.checked_add(digits.len())?
    } else {
        before_point.max(digits.len())
    };
    if count > DIGITS_MAX {
        return None;
    }

    if magnitude.len() < text.len() {
        out.push('-');
    }
    if point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', zeros_before));
        out.push_str(digits);
    } else if let Some((whole, fraction)) =
        digits.split_at_checked(before_point).filter(|(_, f)| !f.is_empty())
    {
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    } else {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', before_point - digits.len()));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical(text: &str) -> Option<String> {
        let mut out = String::new();
        push_canonical(text, &mut out).map(|()| out)
    }

    #[test]
    fn spellings_of_a_number_have_one_text() {
        let cases = [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("0e999999999999", "0"),
            ("007", "7"),
            ("+5", "5"),
            ("-12", "-12"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1.50", "1.5"),
            ("1e-7", "0.0000001"),
            ("-1.25E+2", "-125"),
            ("12.5e-1", "1.25"),
            (".5", "0.5"),
            ("5.", "5"),
            ("100", "100"),
            ("0.00120e2", "0.12"),
            ("1e21", "1000000000000000000000"),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.1"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_or_too_long_is_refused() {
        for text in [
            "", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "--1", "+-1", "1_000", "NaN", "inf", "٣", "1e5.0",
            "0x10",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
        assert_eq!(canonical("1e149").unwrap().len(), DIGITS_MAX);
        assert_eq!(canonical("1e-149").unwrap().len(), DIGITS_MAX + 1, "the digits and the point");
        for text in [
            "1e150",
            "1e-150",
            "1e308",
            "1e99999999999999999999",
            "1e9223372036854775807",
            "1e-9223372036854775808",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
        assert_eq!(canonical(&"9".repeat(150)).unwrap().len(), 150);
        assert_eq!(canonical(&"9".repeat(151)), None);
    }

    proptest! {
        #[test]
        fn canonical_text_is_the_same_number_and_stays(n in -10.0..10.0_f64, exponent in -30_i32..30) {
            let n = n * 10_f64.powi(exponent);
            for text in [format!("{n}"), format!("{n:e}"), serde_json::json!(n).to_string()] {
                let once = canonical(&text).unwrap();
                // The same number, not the same text: of two shortest texts, printers choose either.
                prop_assert_eq!(once.parse::<f64>().unwrap(), n);
                prop_assert!(!once.contains(['e', 'E', '+']));
                prop_assert_eq!(canonical(&once), Some(once));
            }
        }
    }
}
