//! The parser: what is printed reads back the same, and no text makes anything panic.

use crate::support::{condition_with, placeholders, product, schema, update_with};
use hotplate::dynamodb::expression::syntax::{
    self, Call, Comparator, Element, Operand, Path, Section, SetValue,
};
use hotplate::dynamodb::expression::{
    ExpressionKind, Projection, parse_condition, parse_projection, parse_update,
};
use hotplate::dynamodb::{Attributes, KeyCondition, KeyType};
use proptest::prelude::*;
use serde_json::json;

fn word() -> impl Strategy<Value = String> {
    // Of these letters no word of the grammar is made.
    "[abcxyz][abcxyz0-9_]{0,3}"
}

fn path() -> impl Strategy<Value = Path> {
    let first = prop_oneof![word().prop_map(Element::Name), "#[a-z0-9_]{1,3}".prop_map(Element::Placeholder)];
    let rest = prop_oneof![
        word().prop_map(Element::Name),
        "#[a-z0-9_]{1,3}".prop_map(Element::Placeholder),
        (0_u32..1_000).prop_map(|index| Element::Index(index.to_string())),
    ];
    (first, proptest::collection::vec(rest, 0..3)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        Path(rest)
    })
}

fn operand() -> impl Strategy<Value = Operand> {
    let leaf = prop_oneof![path().prop_map(Operand::Path), ":[a-z0-9_]{1,3}".prop_map(Operand::Value)];
    leaf.prop_recursive(2, 6, 3, |inner| call(inner).prop_map(Operand::Call))
}

fn call(argument: impl Strategy<Value = Operand>) -> impl Strategy<Value = Call> {
    (word(), proptest::collection::vec(argument, 1..3)).prop_map(|(name, arguments)| Call { name, arguments })
}

fn condition() -> impl Strategy<Value = syntax::Condition> {
    use syntax::Condition;
    let comparator = prop_oneof![
        Just(Comparator::Equal),
        Just(Comparator::NotEqual),
        Just(Comparator::Less),
        Just(Comparator::AtMost),
        Just(Comparator::Greater),
        Just(Comparator::AtLeast),
    ];
    let leaf = prop_oneof![
        (comparator, operand(), operand()).prop_map(|(c, left, right)| Condition::Compare(c, left, right)),
        (operand(), operand(), operand()).prop_map(|(value, low, high)| Condition::Between(value, low, high)),
        (operand(), proptest::collection::vec(operand(), 1..3))
            .prop_map(|(value, list)| Condition::In(value, list)),
        call(operand()).prop_map(Condition::Call),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::Or(Box::new(a), Box::new(b))),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn section() -> impl Strategy<Value = Section> {
    let value = prop_oneof![
        operand().prop_map(SetValue::Operand),
        (operand(), operand()).prop_map(|(a, b)| SetValue::Plus(a, b)),
        (operand(), operand()).prop_map(|(a, b)| SetValue::Minus(a, b)),
    ];
    let with_value = || proptest::collection::vec((path(), ":[a-z0-9]{1,3}"), 1..3);
    prop_oneof![
        proptest::collection::vec((path(), value), 1..3).prop_map(Section::Set),
        proptest::collection::vec(path(), 1..3).prop_map(Section::Remove),
        with_value().prop_map(Section::Add),
        with_value().prop_map(Section::Delete),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_the_same(
        condition in condition(),
        sections in proptest::collection::vec(section(), 1..4),
        paths in proptest::collection::vec(path(), 1..4),
    ) {
        let text = condition.to_string();
        prop_assert_eq!(&parse_condition(&text, ExpressionKind::Condition).unwrap(), &condition, "{}", text);
        let update = syntax::Update(sections);
        prop_assert_eq!(&parse_update(&update.to_string()).unwrap(), &update, "{}", update);
        let projection = syntax::Projection(paths);
        prop_assert_eq!(&parse_projection(&projection.to_string()).unwrap(), &projection, "{}", projection);
    }

    #[test]
    fn no_text_makes_a_parser_panic(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("a"), Just(" "), Just("("), Just(")"), Just("="), Just(":v"), Just("#n"), Just(","), Just("AND "),
                Just(" OR "), Just("NOT "), Just(" BETWEEN "), Just(" IN "), Just("size("), Just("SET "), Just(" REMOVE "),
                Just("ADD "), Just("+"), Just("."), Just("[0]"), Just("[99999999999]"), Just("<>"), Just("é"), Just("_"),
                Just("list_append("), Just("if_not_exists("), Just("contains("),
            ],
            0..24,
        ),
        wild in ".{0,20}",
    ) {
        for text in [pieces.concat(), wild] {
            let names = json!({"#n": "n"});
            let values = json!({":v": {"N": "1"}});
            if let Ok(condition) = condition_with(&text, &names, &values) {
                condition.holds(&product());
                if let Ok(key) = KeyCondition::of(&condition) {
                    let _ = key.on(&schema(KeyType::N));
                }
            }
            if let Ok(update) = update_with(&text, &names, &values) {
                let _ = update.apply(Some(&product()), &Attributes::new());
                let _ = update.apply(None, &Attributes::new());
            }
            let _ = Projection::parse(&text, &mut placeholders(&names, &values));
            if let Ok(condition) = parse_condition(&text, ExpressionKind::Filter) {
                let printed = condition.to_string();
                prop_assert_eq!(parse_condition(&printed, ExpressionKind::Filter).unwrap(), condition, "{}", printed);
            }
            if let Ok(update) = parse_update(&text) {
                prop_assert_eq!(parse_update(&update.to_string()).unwrap(), update);
            }
        }
    }
}
