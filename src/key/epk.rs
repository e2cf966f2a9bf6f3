//! Cosmos DB's effective partition key: the bytes that decide which physical partition owns a key.
//!
//! The public SDKs hash keys themselves to route them, so a key should land in the same range as in Azure
//! (taken from the SDKs, not checked against a live account): azure-cosmos for Python `partition_key.py`,
//! `@azure/cosmos` `utils/hashing`, azure-cosmosdb-java `StringPartitionKeyComponent`. The rows on which they
//! agree are in `tests/cosmos_placement.rs`.
//!
//! A value is first written as bytes for the hash, the same in both versions but for the end of a text:
//!
//! | value      | bytes for the hash                  | bytes in a V1 key                                  |
//! |------------|-------------------------------------|----------------------------------------------------|
//! | undefined  | `00`                                | `00`                                               |
//! | null       | `01`                                | `01`                                               |
//! | false/true | `02` / `03`                         | `02` / `03`                                        |
//! | number     | `05`, the double, little-endian     | `05`, the double made to sort, in groups of 7 bits |
//! | string     | `08`, UTF-8, `00` (V1) or `FF` (V2) | `08`, UTF-8 with each byte one up, `00`            |
//!
//! - **V2** is MurmurHash3 x64-128 of these bytes, cut to 126 bits: 16 bytes below `40`.
//! - **Hierarchical** keys are one V2 hash for each level, one after the other.
//! - **V1** is MurmurHash3 x86-32 of these bytes written as a number of the third column, then the value
//!   itself.
//!
//! Where the SDKs differ (V1 only):
//!
//! - Text is cut to 100 UTF-16 units before hashing, as Java does. Python cuts to 100 code points and Rust to
//!   100 bytes; all agree on ASCII. A pair of surrogates that the cut would part is left out whole
//!   (*assumed*).
//! - Python hashes whole numbers modulo 2^32 and leaves out null's marker, JS leaves out the last group of a
//!   number that is all zeros. Here no value is special.
//!
//! This file does not know ranges or who owns them (`ring`), nor the 2 KB limit on a key.

use super::{KeyBytes, KeyValue, PartitionKey};
use crate::error::Result;
use std::fmt;

/// The version in a container's partition key definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EpkVersion {
    /// `version: 1`, and what a definition without a version means. Tells keys apart by about their first 100
    /// bytes only ("Create containers with large partition key").
    V1,
    /// `version: 2`: the whole key counts. Hierarchical keys always use it.
    V2,
}

/// An effective partition key or a bound between two of them, exactly as the service spells it.
///
/// Equality is by spelling. The order of the ring, where trailing zeros do not count, is that of the
/// [`Token`](crate::ring::Token) of the same bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EffectivePartitionKey(KeyBytes);

/// What a value starts with, in the input of the hash and in a V1 key.
mod marker {
    pub(super) const UNDEFINED: u8 = 0x00;
    pub(super) const NULL: u8 = 0x01;
    pub(super) const FALSE: u8 = 0x02;
    pub(super) const TRUE: u8 = 0x03;
    pub(super) const NUMBER: u8 = 0x05;
    pub(super) const STRING: u8 = 0x08;
}

/// What ends a text in the input of the hash, and a short text in a V1 key.
const TEXT_END_V1: u8 = 0x00;
/// What ends a text in the input of the hash.
const TEXT_END_V2: u8 = 0xFF;

/// UTF-16 units of a text that V1 looks at (azure-cosmosdb-java: `MAX_STRING_CHARS`).
const V1_TEXT_UNITS: usize = 100;

/// Bytes of a text that a V1 key spells out with an end mark. A longer text, which has characters beyond
/// ASCII, gives one byte more and no end mark (azure-cosmosdb-java: `MAX_STRING_BYTES_TO_APPEND`).
const V1_TEXT_BYTES: usize = 100;

/// V2 hashes are below this: the service clears the two highest bits so that every key lies below `FF`.
pub(crate) const V2_SPACE: u128 = 1 << 126;

/// V1 hashes are below this.
pub(crate) const V1_SPACE: u64 = 1 << 32;

/// The end of the whole space, and of the completions of a prefix: above all hashes, whose first byte is
/// below `40`.
const SPACE_END: u8 = 0xFF;

impl EffectivePartitionKey {
    /// The effective partition key of `key`.
    ///
    /// - A key of several levels is hierarchical and uses V2, whatever `version` says.
    /// - A binary value, which Cosmos DB does not have, is hashed as if its bytes were text.
    pub fn of(key: &PartitionKey, version: EpkVersion) -> Self {
        if let (EpkVersion::V2, Some(text)) = (version, key.plain_text()) {
            return Self(KeyBytes::new(&text_hash_v2(text)));
        }
        match (key.values().as_slice(), version) {
            ([value], EpkVersion::V1) => Self::v1(value),
            (levels, _) => Self::v2(levels),
        }
    }

    /// All keys that begin with these levels: from the first, included, to the second, excluded.
    ///
    /// # Errors
    /// When the prefix is empty or has more than [`PartitionKey::LEVELS_MAX`] levels.
    pub fn prefix_range(prefix: &[KeyValue]) -> Result<(Self, Self)> {
        let start = Self::of(&PartitionKey::levels(prefix)?, EpkVersion::V2);
        let end = [start.as_bytes(), &[SPACE_END]].concat();
        Ok((start, Self(KeyBytes::new(&end))))
    }

    /// The bytes, as many as the service spells.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    fn v2(levels: &[KeyValue]) -> Self {
        let hashes = levels.iter().map(|value| hash_v2(&hash_input(value, EpkVersion::V2)));
        Self(KeyBytes::new(&hashes.collect::<Vec<_>>().concat()))
    }

    fn v1(value: &KeyValue) -> Self {
        let hash = murmur3_x86_32(&hash_input(value, EpkVersion::V1), 0);
        let mut out = Vec::new();
        push_sortable_number(f64::from(hash), &mut out);
        match (value, text_of(value)) {
            (_, Some(text)) => push_sortable_text(v1_part(text), &mut out),
            (KeyValue::Number(n), _) => push_sortable_number(*n, &mut out),
            _ => out.push(marker_of(value)),
        }
        Self(KeyBytes::new(&out))
    }
}

/// Upper-case hex, the spelling of `minInclusive` and `maxExclusive`.
impl fmt::Display for EffectivePartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

impl fmt::Debug for EffectivePartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EffectivePartitionKey({self})")
    }
}

/// The bounds between `partitions` equal ranges of a new container, ascending; the outer ones, `""` and
/// `"FF"`, are not among them.
///
/// Equal means equal shares of the hash, not of the bytes `00` to `FF`, three quarters of which no key
/// reaches. Steps are rounded down first, then multiplied; bounds of public V1 fixtures (azure-cosmos Python
/// `tests/routing`) come out alike. The last digit of a V2 bound is *assumed*: public samples show more than
/// one rounding.
pub fn even_bounds(partitions: u32, version: EpkVersion) -> Vec<EffectivePartitionKey> {
    let bound = |i: u32| match version {
        EpkVersion::V1 => v1_bound(V1_SPACE / u64::from(partitions) * u64::from(i)),
        EpkVersion::V2 => {
            let hash = V2_SPACE / u128::from(partitions) * u128::from(i);
            EffectivePartitionKey(KeyBytes::new(&hash.to_be_bytes()))
        }
    };
    (1..partitions).map(bound).collect()
}

/// The bound before every V1 key of this 32-bit hash.
pub(crate) fn v1_bound(hash: u64) -> EffectivePartitionKey {
    let mut out = Vec::new();
    // At most 2^32, so the double is exact.
    push_sortable_number(hash as f64, &mut out);
    EffectivePartitionKey(KeyBytes::new(&out))
}

fn marker_of(value: &KeyValue) -> u8 {
    match value {
        KeyValue::Undefined => marker::UNDEFINED,
        KeyValue::Null => marker::NULL,
        KeyValue::Bool(false) => marker::FALSE,
        KeyValue::Bool(true) => marker::TRUE,
        KeyValue::Number(_) => marker::NUMBER,
        KeyValue::String(_) | KeyValue::Binary(_) => marker::STRING,
    }
}

fn text_of(value: &KeyValue) -> Option<&[u8]> {
    match value {
        KeyValue::String(text) => Some(text.as_bytes()),
        KeyValue::Binary(bytes) => Some(bytes),
        _ => None,
    }
}

/// What is hashed for `value`.
fn hash_input(value: &KeyValue, version: EpkVersion) -> Vec<u8> {
    let mut input = vec![marker_of(value)];
    if let KeyValue::Number(n) = value {
        input.extend_from_slice(&n.to_le_bytes());
    }
    if let Some(text) = text_of(value) {
        let (text, end) = match version {
            EpkVersion::V1 => (v1_part(text), TEXT_END_V1),
            EpkVersion::V2 => (text, TEXT_END_V2),
        };
        input.extend_from_slice(text);
        input.push(end);
    }
    input
}

fn hash_v2(input: &[u8]) -> [u8; 16] {
    (murmur3_x64_128(input, 0) % V2_SPACE).to_be_bytes()
}

/// The V2 hash of one text, without a heap block while it is short: the way of nearly all keys.
fn text_hash_v2(text: &[u8]) -> [u8; 16] {
    /// A text of this length, its marker and its end mark fill one cache line: room for a GUID and some more.
    const SHORT: usize = 62;
    let n = text.len();
    if n > SHORT {
        return hash_v2(&[&[marker::STRING], text, &[TEXT_END_V2]].concat());
    }
    let mut input = [0; SHORT + 2];
    input[0] = marker::STRING;
    input[1..=n].copy_from_slice(text);
    input[n + 1] = TEXT_END_V2;
    hash_v2(&input[..n + 2])
}

/// The part of a text that V1 looks at: its first [`V1_TEXT_UNITS`] UTF-16 units, in whole characters.
fn v1_part(text: &[u8]) -> &[u8] {
    let mut units = 0;
    let end = text.iter().position(|&byte| {
        units += match byte {
            0x80..=0xBF => 0,    // goes on with a character
            0xF0..=u8::MAX => 2, // begins one beyond the basic plane
            _ => 1,
        };
        units > V1_TEXT_UNITS
    });
    &text[..end.unwrap_or(text.len())]
}

/// Appends a number so that byte order is numeric order: the double's bits arranged to sort, eight of them in
/// the first byte and seven in each following one, whose lowest bit says whether more follow.
fn push_sortable_number(n: f64, out: &mut Vec<u8>) {
    const SIGN: u64 = 1 << 63;
    let bits = n.to_bits();
    // Negative doubles are negated, not inverted, so both zeros give the same bytes here (not in the hash).
    let sortable = if bits < SIGN { bits | SIGN } else { bits.wrapping_neg() };
    out.push(marker::NUMBER);
    out.push((sortable >> 56) as u8);
    let mut rest = sortable << 8;
    loop {
        let group = (rest >> 56) as u8 & 0xFE;
        rest <<= 7;
        if rest == 0 {
            out.push(group);
            return;
        }
        out.push(group | 1);
    }
}

/// Appends a text so that byte order is text order. One is added to each byte to keep `00` free for the end;
/// `FF`, which only a binary value holds, stays.
fn push_sortable_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(marker::STRING);
    out.extend(text.iter().take(V1_TEXT_BYTES + 1).map(|byte| byte.saturating_add(1)));
    if text.len() <= V1_TEXT_BYTES {
        out.push(TEXT_END_V1);
    }
}

/// MurmurHash3_x64_128 (Austin Appleby, public domain). The canonical 16-byte digest is this number
/// little-endian, so the second half of the hash is the high half here: the order in which Cosmos DB spells
/// it.
pub(crate) fn murmur3_x64_128(bytes: &[u8], seed: u32) -> u128 {
    const C1: u64 = 0x87C3_7B91_1142_53D5;
    const C2: u64 = 0x4CF5_AD43_2745_937F;
    let first = |k: u128| (k as u64).wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |k: u128| ((k >> 64) as u64).wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let finish = |mut h: u64| {
        h = (h ^ h >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        h = (h ^ h >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        h ^ h >> 33
    };

    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let block = u128::from_le_bytes(*block);
        h1 = (h1 ^ first(block)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52DC_E729);
        h2 = (h2 ^ second(block)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }
    // Zero bytes mix to nothing, so a padded tail, even an empty one, needs no case of its own.
    let mut padded = [0; 16];
    padded[..tail.len()].copy_from_slice(tail);
    let last = u128::from_le_bytes(padded);
    h1 ^= first(last) ^ bytes.len() as u64;
    h2 ^= second(last) ^ bytes.len() as u64;

    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish(h1), finish(h2));
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h2) << 64 | u128::from(h1)
}

/// MurmurHash3_x86_32 (Austin Appleby, public domain).
pub(crate) fn murmur3_x86_32(bytes: &[u8], seed: u32) -> u32 {
    let mix = |k: u32| k.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut h = blocks.iter().fold(seed, |h, block| {
        let h = h ^ mix(u32::from_le_bytes(*block));
        h.rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
    });
    let mut padded = [0; 4];
    padded[..tail.len()].copy_from_slice(tail);
    // The algorithm counts bytes modulo 2^32.
    h ^= mix(u32::from_le_bytes(padded)) ^ bytes.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85EB_CA6B);
    h = (h ^ h >> 13).wrapping_mul(0xC2B2_AE35);
    h ^ h >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Token;
    use proptest::prelude::*;

    fn token(key: &EffectivePartitionKey) -> Token {
        Token::from_bytes(key.as_bytes())
    }

    fn value() -> impl Strategy<Value = KeyValue> {
        prop_oneof![
            Just(KeyValue::Undefined),
            Just(KeyValue::Null),
            any::<bool>().prop_map(KeyValue::Bool),
            any::<f64>().prop_map(KeyValue::Number),
            "[\\x00-\\x02a-cé😀]{0,120}".prop_map(KeyValue::String),
            proptest::collection::vec(any::<u8>(), 0..120).prop_map(KeyValue::Binary),
        ]
    }

    /// The self-check of SMHasher, the hash's own test suite (`KeysetTest.cpp`, `VerificationTest`): keys of
    /// 0 to 255 bytes, each with another seed, and the hash of all their digests.
    fn smhasher_verification<const N: usize>(hash: impl Fn(&[u8], u32) -> [u8; N]) -> u32 {
        let key: Vec<u8> = (0..=255).collect();
        let digests: Vec<_> = (0..256).map(|n| hash(&key[..n], 256 - n as u32)).collect();
        u32::from_le_bytes(*hash(&digests.concat(), 0).first_chunk().unwrap())
    }

    #[test]
    fn murmur_passes_the_check_of_its_authors_suite() {
        assert_eq!(
            smhasher_verification(|bytes, seed| murmur3_x86_32(bytes, seed).to_le_bytes()),
            0xB0F5_7EE3
        );
        assert_eq!(
            smhasher_verification(|bytes, seed| murmur3_x64_128(bytes, seed).to_le_bytes()),
            0x6384_BA69
        );
    }

    #[test]
    fn murmur_gives_its_well_known_hashes() {
        const FOX: &[u8] = b"The quick brown fox jumps over the lazy dog";
        const SEED: u32 = 0x9747_B28C;
        for (bytes, seed, hash) in [
            (&b""[..], 0, 0),
            (b"", SEED, 0xEBB6_C228),
            (b"a", SEED, 0x7FA0_9EA6),
            (b"hello", 0, 0x248B_FA47),
            (FOX, 0, 0x2E4F_F723),
            (FOX, SEED, 0x2FA8_26CD),
        ] {
            assert_eq!(murmur3_x86_32(bytes, seed), hash, "{bytes:?} {seed}");
        }
        for (bytes, seed, hash) in [
            (&b""[..], 0, 0),
            (b"hello", 0, 0x5B1E906A48AE1D19_CBD8A7B341BD9B02),
            (b"0123456789abcdef", 0, 0x87C35B5C63A708DA_4BE06D94CF4AD1A7),
            (FOX, 0, 0x7A433CA9C49A9347_E34BBC7BBC071B6C),
            (FOX, SEED, 0xF94573727EC016E5_738A7F3BD2633121),
        ] {
            assert_eq!(murmur3_x64_128(bytes, seed), hash, "{bytes:?} {seed}");
        }
    }

    #[test]
    fn v1_counts_text_in_utf16_units_and_spells_at_most_101_bytes() {
        // 30 characters are 60 units and 120 bytes: hashed whole, spelled in part (azure-cosmos Python gives
        // the same).
        let spelled = format!("05C1D339FDFBD008{}F1", "F1A09981".repeat(25));
        let key = |text: &str| EffectivePartitionKey::of(&text.into(), EpkVersion::V1);
        assert_eq!(key(&"😀".repeat(30)).to_string(), spelled);

        let long = "é".repeat(100);
        assert_eq!(key(&long), key(&format!("{long}x")), "the 101st unit does not count");
        assert_ne!(key(&long), key(&long["é".len()..]), "the 100th does");
        assert_eq!(v1_part("😀".repeat(51).as_bytes()), "😀".repeat(50).as_bytes());
        assert_eq!(v1_part(format!("{}😀", "a".repeat(99)).as_bytes()), "a".repeat(99).as_bytes());
    }

    #[test]
    fn one_partition_has_no_inner_bounds() {
        for version in [EpkVersion::V1, EpkVersion::V2] {
            assert_eq!(even_bounds(0, version), []);
            assert_eq!(even_bounds(1, version), []);
        }
    }

    #[test]
    fn a_prefix_has_one_to_three_levels() {
        assert!(EffectivePartitionKey::prefix_range(&[]).is_err());
        assert!(EffectivePartitionKey::prefix_range(&[const { KeyValue::Null }; 4]).is_err());
    }

    proptest! {
        #[test]
        fn the_short_way_for_text_is_the_long_way(text in "[\\x00a-cé]{0,70}") {
            let value = KeyValue::String(text.clone());
            let short = EffectivePartitionKey::of(&PartitionKey::text(&text), EpkVersion::V2);
            prop_assert_eq!(short, EffectivePartitionKey::v2(&[value]));
        }

        #[test]
        fn a_hierarchical_key_is_its_levels_in_a_row(
            levels in proptest::collection::vec(value(), 1..=3),
            version in prop_oneof![Just(EpkVersion::V1), Just(EpkVersion::V2)],
        ) {
            let version = if levels.len() == 1 { EpkVersion::V2 } else { version };
            let whole = EffectivePartitionKey::of(&PartitionKey::levels(&levels).unwrap(), version);
            prop_assert_eq!(whole.as_bytes().len(), 16 * levels.len());
            for (value, hash) in levels.iter().zip(whole.as_bytes().chunks(16)) {
                let one = EffectivePartitionKey::of(&PartitionKey::single(value.clone()), EpkVersion::V2);
                prop_assert_eq!(one.as_bytes(), hash);
                prop_assert!(hash[0] < 0x40);
            }
        }

        #[test]
        fn a_prefix_holds_its_completions_and_no_other_keys(
            prefix in value(), other in value(), rest in proptest::collection::vec(value(), 0..=2),
        ) {
            let key = |first: &KeyValue| {
                let levels: Vec<_> = std::iter::once(first).chain(&rest).cloned().collect();
                token(&EffectivePartitionKey::of(&PartitionKey::levels(&levels).unwrap(), EpkVersion::V2))
            };
            let (start, end) = EffectivePartitionKey::prefix_range(std::slice::from_ref(&prefix)).unwrap();
            let range = token(&start)..token(&end);
            prop_assert!(range.contains(&key(&prefix)));
            let same = hash_input(&prefix, EpkVersion::V2) == hash_input(&other, EpkVersion::V2);
            prop_assert_eq!(range.contains(&key(&other)), same);
        }

        #[test]
        fn v1_numbers_sort_by_their_bytes(a in any::<f64>(), b in any::<f64>()) {
            let spell = |n| {
                let mut out = Vec::new();
                push_sortable_number(n, &mut out);
                out
            };
            prop_assert_eq!(spell(a).partial_cmp(&spell(b)), a.partial_cmp(&b));
        }

        #[test]
        fn v1_keys_have_a_longest_spelling(value in value()) {
            // What azure-cosmosdb-java reserves for a value (`MaxPartitionKeyBinarySize`): marker, number,
            // marker, text, end.
            let key = EffectivePartitionKey::of(&PartitionKey::single(value), EpkVersion::V1);
            prop_assert!(key.as_bytes().len() <= 1 + 9 + 1 + V1_TEXT_BYTES + 1);
            prop_assert!(token(&key) < Token::from_bytes(&[SPACE_END]));
        }

        #[test]
        fn even_bounds_ascend_inside_the_space(partitions in 2_u32..3_000) {
            for (version, end) in [(EpkVersion::V1, vec![0x05, 0xC1, 0xF0]), (EpkVersion::V2, vec![0x40])] {
                let bounds: Vec<_> = even_bounds(partitions, version).iter().map(token).collect();
                prop_assert_eq!(bounds.len() as u32, partitions - 1);
                prop_assert!(bounds.is_sorted_by(|a, b| a < b));
                prop_assert!(*bounds.first().unwrap() > Token::START);
                prop_assert!(*bounds.last().unwrap() < Token::from_bytes(&end));
            }
        }
    }
}
