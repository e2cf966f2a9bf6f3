//! What must hold of an item: conditions of writes and filters of reads.
//!
//! A comparison with something that is not there is false, and so is an ordering of values of different types; `<>` is
//! the exception, true of whatever `=` is not ("z <> :v" holds without a z: ScyllaDB's tests of the service). Literals of a
//! type that an operator cannot use are refused when the condition is read, attributes of such a type only fail it.

use super::super::attributes::Attributes;
use super::super::error::Result;
use super::super::number::Number;
use super::super::value::{AttributeValue, Type};
use super::path::DocumentPath;
use super::placeholders::Placeholders;
use super::resolve::{Part, Words, first};
use super::syntax::{self, Comparator};
use super::{ExpressionKind, IN_OPERANDS_MAX, parser};
use std::borrow::Cow;
use std::sync::Arc;

/// What a condition looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value at a path, if there is one.
    Path(DocumentPath),
    /// This value.
    Value(Arc<AttributeValue>),
    /// How large the value is that another operand gives.
    Size(Box<Operand>),
}

/// What must hold of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All hold.
    All(Vec<Condition>),
    /// One of them holds.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// Two operands compare so.
    Compare(Comparator, Operand, Operand),
    /// The first is not below the second nor above the third.
    Between(Operand, Operand, Operand),
    /// The first equals one of these.
    In(Operand, Vec<Operand>),
    /// Something is there.
    Exists(DocumentPath),
    /// Nothing is there.
    NotExists(DocumentPath),
    /// The value is of this type.
    TypeIs(Operand, Type),
    /// The first begins with the second.
    BeginsWith(Operand, Operand),
    /// The second is in the first.
    Contains(Operand, Operand),
}

impl Operand {
    /// The path, if it is one.
    pub fn path(&self) -> Option<&DocumentPath> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The type it has whatever the item, if that is known.
    fn kind(&self) -> Option<Type> {
        match self {
            Self::Path(_) => None,
            Self::Value(value) => Some(value.kind()),
            Self::Size(_) => Some(Type::N),
        }
    }

    /// Its value for an item.
    fn of<'a>(&'a self, item: &'a Attributes) -> Option<Cow<'a, AttributeValue>> {
        match self {
            Self::Path(path) => path.find(item).map(Cow::Borrowed),
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Size(inner) => {
                let size = size(&*inner.of(item)?)?;
                Some(Cow::Owned(AttributeValue::N(Number::from(size as u64))))
            }
        }
    }

    fn each_path<'a>(&'a self, visit: &mut impl FnMut(&'a DocumentPath)) {
        match self {
            Self::Path(path) => visit(path),
            Self::Value(_) => {}
            Self::Size(inner) => inner.each_path(visit),
        }
    }
}

/// What `size` answers: of text the UTF-16 code units (found of the service by ExtendDB's issue 60), of binaries the bytes,
/// of sets, lists and maps the elements; nothing of other types.
fn size(value: &AttributeValue) -> Option<usize> {
    match value {
        AttributeValue::S(text) => Some(text.encode_utf16().count()),
        AttributeValue::B(bytes) => Some(bytes.len()),
        AttributeValue::Ss(set) => Some(set.len()),
        AttributeValue::Ns(set) => Some(set.len()),
        AttributeValue::Bs(set) => Some(set.len()),
        AttributeValue::L(values) => Some(values.len()),
        AttributeValue::M(values) => Some(values.len()),
        AttributeValue::N(_) | AttributeValue::Bool(_) | AttributeValue::Null => None,
    }
}

impl Condition {
    /// Reads a condition or a filter.
    ///
    /// # Errors
    /// When the text is none, or says what cannot be.
    pub fn parse(kind: ExpressionKind, text: &str, placeholders: &mut Placeholders) -> Result<Self> {
        let syntax = parser::condition(text, kind)?;
        let mut words = Words::default();
        words.condition(&syntax);
        words.check_condition(kind)?;
        resolve(kind, &syntax, placeholders)
    }

    /// Whether it holds of an item. An item that is not there has no attributes.
    pub fn holds(&self, item: &Attributes) -> bool {
        match self {
            Self::All(all) => all.iter().all(|condition| condition.holds(item)),
            Self::Any(any) => any.iter().any(|condition| condition.holds(item)),
            Self::Not(inner) => !inner.holds(item),
            Self::Compare(comparator, left, right) => {
                compare(*comparator, left.of(item).as_deref(), right.of(item).as_deref())
            }
            Self::Between(value, low, high) => {
                let value = value.of(item);
                compare(Comparator::AtLeast, value.as_deref(), low.of(item).as_deref())
                    && compare(Comparator::AtMost, value.as_deref(), high.of(item).as_deref())
            }
            Self::In(value, candidates) => {
                let value = value.of(item);
                value.is_some() && candidates.iter().any(|candidate| candidate.of(item) == value)
            }
            Self::Exists(path) => path.find(item).is_some(),
            Self::NotExists(path) => path.find(item).is_none(),
            Self::TypeIs(operand, kind) => operand.of(item).is_some_and(|value| value.kind() == *kind),
            Self::BeginsWith(value, prefix) => {
                match (value.of(item).as_deref(), prefix.of(item).as_deref()) {
                    (Some(AttributeValue::S(text)), Some(AttributeValue::S(prefix))) => {
                        text.starts_with(&**prefix)
                    }
                    (Some(AttributeValue::B(bytes)), Some(AttributeValue::B(prefix))) => {
                        bytes.starts_with(prefix)
                    }
                    _ => false,
                }
            }
            Self::Contains(value, part) => match (value.of(item), part.of(item)) {
                (Some(value), Some(part)) => contains(&value, &part),
                _ => false,
            },
        }
    }

    /// Every path it looks at, in the order written.
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        self.each_path(&mut |path| paths.push(path));
        paths
    }

    fn each_path<'a>(&'a self, visit: &mut impl FnMut(&'a DocumentPath)) {
        match self {
            Self::All(inner) | Self::Any(inner) => {
                inner.iter().for_each(|condition| condition.each_path(visit))
            }
            Self::Not(inner) => inner.each_path(visit),
            Self::Exists(path) | Self::NotExists(path) => visit(path),
            Self::TypeIs(operand, _) => operand.each_path(visit),
            Self::Compare(_, left, right) | Self::BeginsWith(left, right) | Self::Contains(left, right) => {
                left.each_path(visit);
                right.each_path(visit);
            }
            Self::Between(value, low, high) => {
                [value, low, high].into_iter().for_each(|operand| operand.each_path(visit));
            }
            Self::In(value, candidates) => {
                value.each_path(visit);
                candidates.iter().for_each(|operand| operand.each_path(visit));
            }
        }
    }
}

fn compare(comparator: Comparator, left: Option<&AttributeValue>, right: Option<&AttributeValue>) -> bool {
    let equal = || matches!((left, right), (Some(left), Some(right)) if left == right);
    let order = || left?.compare(right?);
    match comparator {
        Comparator::Equal => equal(),
        Comparator::NotEqual => !equal(),
        Comparator::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Comparator::AtMost => order().is_some_and(std::cmp::Ordering::is_le),
        Comparator::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Comparator::AtLeast => order().is_some_and(std::cmp::Ordering::is_ge),
    }
}

/// Whether a text or binary has another in it, a set has a member, or a list an element of any type.
pub(crate) fn contains(value: &AttributeValue, part: &AttributeValue) -> bool {
    match (value, part) {
        (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(&**part),
        (AttributeValue::B(bytes), AttributeValue::B(part)) => contains_bytes(bytes, part),
        (AttributeValue::Ss(set), AttributeValue::S(member)) => set.contains(member),
        (AttributeValue::Ns(set), AttributeValue::N(member)) => set.contains(member),
        (AttributeValue::Bs(set), AttributeValue::B(member)) => set.contains(member),
        (AttributeValue::L(values), element) => values.contains(element),
        _ => false,
    }
}

/// Knuth, Morris and Pratt: linear, where looking at every window is not.
fn contains_bytes(bytes: &[u8], part: &[u8]) -> bool {
    if part.len() > bytes.len() {
        return false;
    }
    // How much of the part also ends at each of its places.
    let mut borders = vec![0; part.len()];
    let extend = |borders: &[usize], mut length: usize, byte: u8| {
        while length > 0 && (length == part.len() || part[length] != byte) {
            length = borders[length - 1];
        }
        if part.get(length) == Some(&byte) { length + 1 } else { length }
    };
    for at in 1..part.len() {
        borders[at] = extend(&borders, borders[at - 1], part[at]);
    }
    let mut length = 0;
    part.is_empty()
        || bytes.iter().any(|&byte| {
            length = extend(&borders, length, byte);
            length == part.len()
        })
}

/// Puts placeholders into a condition and checks its comparisons and functions one after the other.
pub(super) fn resolve(
    kind: ExpressionKind,
    condition: &syntax::Condition,
    placeholders: &mut Placeholders,
) -> Result<Condition> {
    use syntax::Condition as Written;
    match condition {
        Written::And(left, right) => {
            let (left, right) = (resolve(kind, left, placeholders)?, resolve(kind, right, placeholders)?);
            Ok(match left {
                Condition::All(mut all) => {
                    all.push(right);
                    Condition::All(all)
                }
                left => Condition::All(vec![left, right]),
            })
        }
        Written::Or(left, right) => {
            let (left, right) = (resolve(kind, left, placeholders)?, resolve(kind, right, placeholders)?);
            Ok(match left {
                Condition::Any(mut any) => {
                    any.push(right);
                    Condition::Any(any)
                }
                left => Condition::Any(vec![left, right]),
            })
        }
        Written::Not(inner) => Ok(Condition::Not(Box::new(resolve(kind, inner, placeholders)?))),
        _ => {
            let mut part = Part::new(placeholders);
            let condition = part.simple(condition);
            let Part { undefined, operand_count, not_distinct, operand_type, .. } = part;
            first(kind, [undefined, operand_count, not_distinct, operand_type])?;
            // Without a mistake there is a condition.
            condition.ok_or_else(|| kind.invalid("The expression can not be empty;"))
        }
    }
}

/// The types in the order of DynamoDB's set of them, which is as good as any: the service's order differs by call.
const TYPE_NAMES: &str = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}";

impl Part<'_> {
    /// A comparison or a function.
    fn simple(&mut self, condition: &syntax::Condition) -> Option<Condition> {
        use syntax::Condition as Written;
        Some(match condition {
            Written::Compare(comparator, left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                let symbol = comparator.symbol();
                self.distinct(symbol, left.path(), [right.path()]);
                if !matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
                    self.typed(symbol, left.kind(), Type::is_ordered);
                    self.typed(symbol, right.kind(), Type::is_ordered);
                }
                Condition::Compare(*comparator, left, right)
            }
            Written::Between(value, low, high) => {
                let [value, low, high] = [value, low, high].map(|operand| self.operand(operand));
                self.distinct("BETWEEN", value.path(), [low.path(), high.path()]);
                for operand in [&value, &low, &high] {
                    self.typed("BETWEEN", operand.kind(), Type::is_ordered);
                }
                self.bounds(&low, &high);
                Condition::Between(value, low, high)
            }
            Written::In(value, candidates) => {
                let value = self.operand(value);
                let candidates: Vec<_> = candidates.iter().map(|operand| self.operand(operand)).collect();
                let given = candidates.len();
                if given > IN_OPERANDS_MAX {
                    self.operand_count.get_or_insert_with(|| {
                        format!(
                            "The IN operator is provided with too many operands; number of operands: {given}"
                        )
                    });
                }
                self.distinct("IN", value.path(), candidates.iter().map(Operand::path));
                Condition::In(value, candidates)
            }
            Written::Call(call) => return self.function(call),
            // The caller takes these apart.
            Written::And(..) | Written::Or(..) | Written::Not(_) => return None,
        })
    }

    fn operand(&mut self, operand: &syntax::Operand) -> Operand {
        match operand {
            syntax::Operand::Path(path) => Operand::Path(self.path(path)),
            syntax::Operand::Value(placeholder) => Operand::Value(self.value(placeholder)),
            syntax::Operand::Call(call) => {
                // No other function is an operand.
                let mut arguments: Vec<_> =
                    call.arguments.iter().map(|argument| self.operand(argument)).collect();
                let given = self.count(call, 1);
                let argument = arguments.pop().unwrap_or(Operand::Value(Arc::new(AttributeValue::Null)));
                if given {
                    self.typed("size", argument.kind(), |kind| {
                        !matches!(kind, Type::N | Type::Bool | Type::Null)
                    });
                }
                Operand::Size(Box::new(argument))
            }
        }
    }

    fn function(&mut self, call: &syntax::Call) -> Option<Condition> {
        let name = call.name.as_str();
        let arguments: Vec<_> = call.arguments.iter().map(|argument| self.operand(argument)).collect();
        let expected = if matches!(name, "attribute_exists" | "attribute_not_exists") { 1 } else { 2 };
        if !self.count(call, expected) {
            return None;
        }
        let mut arguments = arguments.into_iter();
        let first = arguments.next()?;
        let Some(second) = arguments.next() else {
            let Operand::Path(path) = first else {
                self.needs_path(name);
                return None;
            };
            return Some(if name == "attribute_exists" {
                Condition::Exists(path)
            } else {
                Condition::NotExists(path)
            });
        };
        self.distinct(name, first.path(), [second.path()]);
        match name {
            "begins_with" => {
                let allowed = |kind| matches!(kind, Type::S | Type::B);
                self.typed(name, first.kind(), allowed);
                self.typed(name, second.kind(), allowed);
                Some(Condition::BeginsWith(first, second))
            }
            "contains" => Some(Condition::Contains(first, second)),
            _ => {
                let kind = self.type_name(&second)?;
                Some(Condition::TypeIs(first, kind))
            }
        }
    }

    /// The type that the second argument of `attribute_type` names.
    fn type_name(&mut self, operand: &Operand) -> Option<Type> {
        let name = match operand {
            Operand::Value(value) => match &**value {
                AttributeValue::S(name) => name,
                other => {
                    self.wrong_type("attribute_type", other.kind().name());
                    return None;
                }
            },
            Operand::Size(_) => {
                self.wrong_type("attribute_type", "N");
                return None;
            }
            Operand::Path(_) => {
                self.wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}");
                return None;
            }
        };
        let kind = Type::named(name);
        if kind.is_none() {
            self.operand_type.get_or_insert_with(|| {
                format!("Invalid attribute type name found; type: {name}, valid types: {TYPE_NAMES}")
            });
        }
        kind
    }

    /// That bounds that are both literals are of one type and in order.
    fn bounds(&mut self, low: &Operand, high: &Operand) {
        let (Operand::Value(low), Operand::Value(high)) = (low, high) else { return };
        let requires = if low.kind() != high.kind() {
            "same data type for lower and upper bounds"
        } else if low.compare(high).is_some_and(std::cmp::Ordering::is_gt) {
            "upper bound to be greater than or equal to lower bound"
        } else {
            return;
        };
        self.operand_type.get_or_insert_with(|| {
            format!(
                "The BETWEEN operator requires {requires}; lower bound operand: AttributeValue: {}, upper bound \
                 operand: AttributeValue: {}",
                describe(low),
                describe(high)
            )
        });
    }
}

/// A literal as the service prints it: a Java object's text. Only scalars get here.
fn describe(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("{{S:{text}}}"),
        AttributeValue::N(number) => format!("{{N:{number}}}"),
        AttributeValue::B(bytes) => {
            let length = bytes.len();
            format!("{{B:java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]}}")
        }
        other => format!("{{{}:{}}}", other.kind(), other.to_json()[other.kind().name()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_are_found_where_they_are(
            bytes in proptest::collection::vec(0_u8..3, 0..30),
            part in proptest::collection::vec(0_u8..3, 0..5),
        ) {
            let expected = part.is_empty() || bytes.windows(part.len().max(1)).any(|window| window == part);
            prop_assert_eq!(contains_bytes(&bytes, &part), expected);
        }
    }
}
