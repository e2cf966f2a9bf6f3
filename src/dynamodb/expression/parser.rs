//! From tokens to the tree of an expression. Nothing here knows what a function does or whether a name is reserved.
//!
//! ```text
//! condition  = condition OR condition | condition AND condition | NOT condition | "(" condition ")"
//!            | operand comparator operand | operand BETWEEN operand AND operand
//!            | operand IN "(" operand {"," operand} ")" | call
//! operand    = path | :value | call | "(" operand ")"
//! call       = name "(" operand {"," operand} ")"
//! path       = (name | #name | "(" path ")") {"." (name | #name) | "[" digits "]"}
//! update     = section {section}
//! section    = SET path "=" set {"," …} | REMOVE path {"," …} | (ADD | DELETE) path :value {"," …}
//! set        = operand ["+" operand | "-" operand] | "(" set ")"
//! ```
//!
//! An opening parenthesis may begin a condition or an operand, which only what follows tells. Both are read by one loop
//! with a stack of its own, so the depth of an expression takes memory, not machine stack: four thousand parentheses are
//! refused like any other mistake. The loop stops at the first token after which no expression can go on.

use super::super::error::Result;
use super::lexer::{Kind, Tokens};
use super::syntax::{
    Call, Comparator, Condition, Element, Operand, Path, Projection, Section, SetValue, Update,
};
use super::{EXPRESSION_BYTES_MAX, ExpressionKind, OPERATORS_MAX};

/// Reads a condition, filter or key condition.
///
/// # Errors
/// When it is empty, too long, has too many operators, or is no condition.
pub fn condition(text: &str, kind: ExpressionKind) -> Result<Condition> {
    parse(text, kind, Parser::condition)
}

/// Reads an update.
///
/// # Errors
/// When it is empty, too long, has too many operators, or is no update.
pub fn update(text: &str) -> Result<Update> {
    parse(text, ExpressionKind::Update, Parser::update)
}

/// Reads a projection.
///
/// # Errors
/// When it is empty, too long, or no projection.
pub fn projection(text: &str) -> Result<Projection> {
    parse(text, ExpressionKind::Projection, Parser::projection)
}

fn parse<'t, T>(
    text: &'t str,
    kind: ExpressionKind,
    read: impl FnOnce(&mut Parser<'t>) -> Result<T>,
) -> Result<T> {
    // White space alone is empty too. *Assumed.*
    if text.trim_ascii().is_empty() {
        return Err(kind.invalid("The expression can not be empty;"));
    }
    // Length wins over anything the text says (ScyllaDB's `test_limits.py`).
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(kind.invalid(format_args!(
            "Expression size has exceeded the maximum allowed size; expression size: {}",
            text.len()
        )));
    }
    let mut parser = Parser { tokens: Tokens::new(text, kind), kind, operators: 0 };
    let parsed = read(&mut parser)?;
    parser.tokens.expect(Kind::End)?;
    // The service stops counting at the first operator too many. That a syntax error wins over this is *assumed*.
    if parser.operators > OPERATORS_MAX {
        return Err(kind.invalid(format_args!(
            "The expression contains too many operators; operator count: {}",
            OPERATORS_MAX + 1
        )));
    }
    Ok(parsed)
}

struct Parser<'t> {
    tokens: Tokens<'t>,
    kind: ExpressionKind,
    operators: usize,
}

/// An operand, and whether parentheses stand directly around it.
struct Read {
    operand: Operand,
    enclosed: bool,
}

/// What an operand is part of while it is read.
enum Around {
    Parentheses,
    Call(Call),
}

/// What a condition is part of while it is read.
enum Outer {
    Parentheses,
    Not,
    And(Condition),
    Or(Condition),
}

/// What has been read where a condition is wanted.
enum Have {
    /// Something that still needs a comparison. A call may also be a condition by itself.
    Operand(Read),
    /// A condition, and whether parentheses stand directly around it.
    Condition(Condition, bool),
}

impl Parser<'_> {
    fn condition(&mut self) -> Result<Condition> {
        let mut outer: Vec<Outer> = Vec::new();
        loop {
            // Where a condition begins.
            match self.tokens.peek() {
                Kind::Not => {
                    self.tokens.advance();
                    self.operators += 1;
                    outer.push(Outer::Not);
                    continue;
                }
                Kind::Open => {
                    self.tokens.advance();
                    outer.push(Outer::Parentheses);
                    continue;
                }
                _ => {}
            }
            let mut have = Have::Operand(self.operand()?);
            // After an operand or a condition, until another condition must begin.
            loop {
                have = match have {
                    Have::Operand(left) => match self.compared(left)? {
                        // A condition ends here, or nothing can follow.
                        Have::Operand(Read { operand: Operand::Call(call), enclosed })
                            if self.tokens.peek() != Kind::Close || !is_parentheses(outer.last()) =>
                        {
                            Have::Condition(Condition::Call(call), enclosed)
                        }
                        Have::Operand(read) => {
                            if !is_parentheses(outer.last()) {
                                return Err(self.tokens.unexpected());
                            }
                            self.tokens.expect(Kind::Close)?;
                            outer.pop();
                            Have::Operand(self.enclose(read)?)
                        }
                        condition => condition,
                    },
                    Have::Condition(condition, enclosed) => match (self.tokens.peek(), outer.pop()) {
                        (_, Some(Outer::Not)) => Have::Condition(Condition::Not(Box::new(condition)), false),
                        (_, Some(Outer::And(left))) => {
                            let both = Condition::And(Box::new(left), Box::new(condition));
                            Have::Condition(both, false)
                        }
                        (Kind::And, rest) => {
                            outer.extend(rest);
                            self.tokens.advance();
                            self.operators += 1;
                            outer.push(Outer::And(condition));
                            break;
                        }
                        (_, Some(Outer::Or(left))) => {
                            let either = Condition::Or(Box::new(left), Box::new(condition));
                            Have::Condition(either, false)
                        }
                        (Kind::Or, rest) => {
                            outer.extend(rest);
                            self.tokens.advance();
                            self.operators += 1;
                            outer.push(Outer::Or(condition));
                            break;
                        }
                        (Kind::Close, Some(Outer::Parentheses)) => {
                            self.tokens.advance();
                            if enclosed {
                                return Err(self.tokens.redundant_parentheses());
                            }
                            Have::Condition(condition, true)
                        }
                        (_, Some(Outer::Parentheses)) => return Err(self.tokens.unexpected()),
                        (_, None) => return Ok(condition),
                    },
                };
            }
        }
    }

    /// Reads the comparison that an operand is the first part of, if one follows.
    fn compared(&mut self, left: Read) -> Result<Have> {
        let comparator = match self.tokens.peek() {
            Kind::Equal => Comparator::Equal,
            Kind::NotEqual => Comparator::NotEqual,
            Kind::Less => Comparator::Less,
            Kind::AtMost => Comparator::AtMost,
            Kind::Greater => Comparator::Greater,
            Kind::AtLeast => Comparator::AtLeast,
            Kind::Between => {
                self.tokens.advance();
                self.operators += 1;
                let low = self.operand()?.operand;
                self.tokens.expect(Kind::And)?;
                let high = self.operand()?.operand;
                return Ok(Have::Condition(Condition::Between(left.operand, low, high), false));
            }
            Kind::In => {
                self.tokens.advance();
                self.operators += 1;
                self.tokens.expect(Kind::Open)?;
                let mut candidates = vec![self.operand()?.operand];
                while self.tokens.take(Kind::Comma) {
                    candidates.push(self.operand()?.operand);
                }
                self.tokens.expect(Kind::Close)?;
                return Ok(Have::Condition(Condition::In(left.operand, candidates), false));
            }
            _ => return Ok(Have::Operand(left)),
        };
        self.tokens.advance();
        self.operators += 1;
        let right = self.operand()?.operand;
        Ok(Have::Condition(Condition::Compare(comparator, left.operand, right), false))
    }

    /// Reads an operand.
    fn operand(&mut self) -> Result<Read> {
        let mut around: Vec<Around> = Vec::new();
        loop {
            let operand = match self.tokens.peek() {
                Kind::Open => {
                    self.tokens.advance();
                    around.push(Around::Parentheses);
                    continue;
                }
                Kind::Name if self.tokens.peek_second() == Kind::Open => {
                    let name = self.tokens.text().to_owned();
                    self.tokens.advance();
                    self.tokens.advance();
                    // Functions count as operators in updates only: the guide says "operators or functions" there, and
                    // ScyllaDB's tests found that conditions do not count them.
                    self.operators += usize::from(self.kind == ExpressionKind::Update);
                    around.push(Around::Call(Call { name, arguments: Vec::new() }));
                    continue;
                }
                Kind::ValuePlaceholder => {
                    let name = self.tokens.text().to_owned();
                    self.tokens.advance();
                    Operand::Value(name)
                }
                _ => Operand::Path(self.path()?),
            };
            let mut read = Read { operand, enclosed: false };
            loop {
                read = match around.pop() {
                    None => return Ok(read),
                    Some(Around::Parentheses) => {
                        self.tokens.expect(Kind::Close)?;
                        self.enclose(read)?
                    }
                    Some(Around::Call(mut call)) => {
                        call.arguments.push(read.operand);
                        if self.tokens.take(Kind::Comma) {
                            around.push(Around::Call(call));
                            break;
                        }
                        self.tokens.expect(Kind::Close)?;
                        Read { operand: Operand::Call(call), enclosed: false }
                    }
                };
            }
        }
    }

    /// An operand around which a pair of parentheses was just closed. A path may go on behind it.
    fn enclose(&mut self, read: Read) -> Result<Read> {
        if read.enclosed {
            return Err(self.tokens.redundant_parentheses());
        }
        match (self.tokens.peek(), read.operand) {
            (Kind::Dot | Kind::OpenBracket, Operand::Path(mut path)) => {
                self.elements(&mut path)?;
                Ok(Read { operand: Operand::Path(path), enclosed: false })
            }
            (_, operand) => Ok(Read { operand, enclosed: true }),
        }
    }

    fn path(&mut self) -> Result<Path> {
        let mut path = Path(vec![self.name()?]);
        self.elements(&mut path)?;
        Ok(path)
    }

    fn name(&mut self) -> Result<Element> {
        let text = self.tokens.text().to_owned();
        let element = match self.tokens.peek() {
            Kind::Name => Element::Name(text),
            Kind::NamePlaceholder => Element::Placeholder(text),
            _ => return Err(self.tokens.unexpected()),
        };
        self.tokens.advance();
        Ok(element)
    }

    /// Reads the elements of a path after the first.
    fn elements(&mut self, path: &mut Path) -> Result<()> {
        loop {
            if self.tokens.take(Kind::Dot) {
                path.0.push(self.name()?);
            } else if self.tokens.take(Kind::OpenBracket) {
                let digits = self.tokens.text().to_owned();
                self.tokens.expect(Kind::Integer)?;
                self.tokens.expect(Kind::CloseBracket)?;
                path.0.push(Element::Index(digits));
            } else {
                return Ok(());
            }
        }
    }

    fn projection(&mut self) -> Result<Projection> {
        Ok(Projection(self.separated(Self::path)?))
    }

    fn separated<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = vec![read(self)?];
        while self.tokens.take(Kind::Comma) {
            all.push(read(self)?);
        }
        Ok(all)
    }

    fn update(&mut self) -> Result<Update> {
        let mut sections = Vec::new();
        loop {
            let kind = self.tokens.peek();
            if kind == Kind::End && !sections.is_empty() {
                return Ok(Update(sections));
            }
            if !matches!(kind, Kind::Set | Kind::Remove | Kind::Add | Kind::Delete) {
                return Err(self.tokens.unexpected());
            }
            self.tokens.advance();
            sections.push(match kind {
                Kind::Set => Section::Set(self.separated(|parser| {
                    let path = parser.path()?;
                    parser.tokens.expect(Kind::Equal)?;
                    Ok((path, parser.set_value()?))
                })?),
                Kind::Remove => Section::Remove(self.separated(Self::path)?),
                Kind::Add => Section::Add(self.separated(Self::path_and_value)?),
                _ => Section::Delete(self.separated(Self::path_and_value)?),
            });
        }
    }

    fn path_and_value(&mut self) -> Result<(Path, String)> {
        let path = self.path()?;
        let value = self.tokens.text().to_owned();
        self.tokens.expect(Kind::ValuePlaceholder)?;
        Ok((path, value))
    }

    /// Reads what SET writes. Parentheses may stand around a whole sum (dynalite's grammar), which only its sign tells.
    fn set_value(&mut self) -> Result<SetValue> {
        let enclosed = self.tokens.peek() == Kind::Open && self.sum_is_enclosed();
        if enclosed {
            self.tokens.advance();
        }
        let left = self.operand()?.operand;
        let sign = self.tokens.peek();
        let value = if matches!(sign, Kind::Plus | Kind::Minus) {
            self.tokens.advance();
            self.operators += 1;
            let right = self.operand()?.operand;
            if sign == Kind::Plus { SetValue::Plus(left, right) } else { SetValue::Minus(left, right) }
        } else {
            SetValue::Operand(left)
        };
        if enclosed {
            self.tokens.expect(Kind::Close)?;
        }
        Ok(value)
    }

    /// Whether the parenthesis that comes next encloses a sign directly.
    fn sum_is_enclosed(&self) -> bool {
        let mut depth = 0_usize;
        for kind in self.tokens.rest() {
            match kind {
                Kind::Open => depth += 1,
                Kind::Close if depth <= 1 => return false,
                Kind::Close => depth -= 1,
                Kind::Plus | Kind::Minus if depth == 1 => return true,
                _ => {}
            }
        }
        false
    }
}

fn is_parentheses(outer: Option<&Outer>) -> bool {
    matches!(outer, Some(Outer::Parentheses))
}
