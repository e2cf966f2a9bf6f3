//! Expressions as they were written: what arrived, before names and values are put in and anything is checked.
//!
//! Parentheses are not kept, only what they group; an expression is printed with the parentheses it needs, and what is
//! printed reads back as the same tree. Depth is bounded where trees are built: operators by their number, calls by the
//! length of an expression.

use std::fmt;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A name written out.
    Name(String),
    /// A name's placeholder, with its `#`.
    Placeholder(String),
    /// The digits of an index into a list.
    Index(String),
}

/// A document path; the first element is no index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<Element>);

/// What operators and functions work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A document path.
    Path(Path),
    /// A value's placeholder, with its `:`.
    Value(String),
    /// What a function answers.
    Call(Call),
}

/// A function and what it is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub name: String,
    /// At least one.
    pub arguments: Vec<Operand>,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparator {
    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    /// The comparator that says the same with its operands exchanged.
    pub const fn turned(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
        }
    }
}

/// A condition, a filter or a key condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Either holds.
    Or(Box<Condition>, Box<Condition>),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// Two operands compare so.
    Compare(Comparator, Operand, Operand),
    /// The first lies between the others, or is one of them.
    Between(Operand, Operand, Operand),
    /// The first equals one of the list, which is not empty.
    In(Operand, Vec<Operand>),
    /// A function says so.
    Call(Call),
}

/// What SET writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// An operand as it is.
    Operand(Operand),
    /// The sum of two.
    Plus(Operand, Operand),
    /// The difference of two.
    Minus(Operand, Operand),
}

/// A section of an update, at least one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// `SET path = value, …`
    Set(Vec<(Path, SetValue)>),
    /// `REMOVE path, …`
    Remove(Vec<Path>),
    /// `ADD path :value, …`
    Add(Vec<(Path, String)>),
    /// `DELETE path :value, …`
    Delete(Vec<(Path, String)>),
}

impl Section {
    /// The word it begins with.
    pub const fn keyword(&self) -> &'static str {
        match self {
            Self::Set(_) => "SET",
            Self::Remove(_) => "REMOVE",
            Self::Add(_) => "ADD",
            Self::Delete(_) => "DELETE",
        }
    }
}

/// An update, at least one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update(pub Vec<Section>);

/// A projection, at least one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection(pub Vec<Path>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, element) in self.0.iter().enumerate() {
            match element {
                Element::Index(digits) => write!(f, "[{digits}]")?,
                Element::Name(name) | Element::Placeholder(name) => {
                    write!(f, "{}{name}", if i > 0 { "." } else { "" })?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::Value(name) => f.write_str(name),
            Self::Call(call) => call.fmt(f),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        list(f, &self.arguments)?;
        f.write_str(")")
    }
}

fn list(f: &mut fmt::Formatter<'_>, parts: &[impl fmt::Display]) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if i > 0 { ", " } else { "" })?;
    }
    Ok(())
}

impl Condition {
    /// How tightly it holds together, from OR to what needs no parentheses.
    fn strength(&self) -> u8 {
        match self {
            Self::Or(..) => 0,
            Self::And(..) => 1,
            Self::Not(_) => 2,
            _ => 3,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |f: &mut fmt::Formatter<'_>, part: &Self, strength: u8| {
            if part.strength() < strength { write!(f, "({part})") } else { write!(f, "{part}") }
        };
        match self {
            Self::Or(left, right) => {
                part(f, left, 0)?;
                f.write_str(" OR ")?;
                part(f, right, 1)
            }
            Self::And(left, right) => {
                part(f, left, 1)?;
                f.write_str(" AND ")?;
                part(f, right, 2)
            }
            Self::Not(inner) => {
                f.write_str("NOT ")?;
                part(f, inner, 2)
            }
            Self::Compare(comparator, left, right) => write!(f, "{left} {} {right}", comparator.symbol()),
            Self::Between(value, low, high) => write!(f, "{value} BETWEEN {low} AND {high}"),
            Self::In(value, candidates) => {
                write!(f, "{value} IN (")?;
                list(f, candidates)?;
                f.write_str(")")
            }
            Self::Call(call) => call.fmt(f),
        }
    }
}

impl fmt::Display for SetValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operand(operand) => operand.fmt(f),
            Self::Plus(left, right) => write!(f, "{left} + {right}"),
            Self::Minus(left, right) => write!(f, "{left} - {right}"),
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.keyword())?;
        let comma = |i: usize| if i > 0 { ", " } else { "" };
        match self {
            Self::Set(actions) => actions
                .iter()
                .enumerate()
                .try_for_each(|(i, (path, value))| write!(f, "{}{path} = {value}", comma(i))),
            Self::Remove(paths) => list(f, paths),
            Self::Add(actions) | Self::Delete(actions) => actions
                .iter()
                .enumerate()
                .try_for_each(|(i, (path, value))| write!(f, "{}{path} {value}", comma(i))),
        }
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .enumerate()
            .try_for_each(|(i, section)| write!(f, "{}{section}", if i > 0 { " " } else { "" }))
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, &self.0)
    }
}
