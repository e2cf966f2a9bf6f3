//! From an expression's text to tokens, and the words about a token that is out of place.
//!
//! One lexer for all kinds of expressions. Names are letters, digits and underscores that begin with a letter (ScyllaDB's
//! tests note that `_abc` is refused at the `_`); `#name` and `:value` may go on with any of them. AND, OR, NOT, BETWEEN,
//! IN, SET, REMOVE, ADD and DELETE are words of the grammar in any case and in any expression (as in DynamoDB Local); other
//! reserved words are names here and refused later.

use super::super::error::{Result, ServiceError};
use super::ExpressionKind;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name.
    Name,
    /// `#name`.
    NamePlaceholder,
    /// `:value`.
    ValuePlaceholder,
    /// Digits.
    Integer,
    And,
    Or,
    Not,
    Between,
    In,
    Set,
    Remove,
    Add,
    Delete,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Comma,
    Dot,
    Plus,
    Minus,
    /// A character that no expression has.
    Bad,
    /// After the last token.
    End,
}

/// A token and where it is in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of a text; the last one is [`Kind::End`].
pub(super) struct Tokens<'t> {
    text: &'t str,
    expression: ExpressionKind,
    tokens: Vec<Token>,
    at: usize,
}

impl<'t> Tokens<'t> {
    /// Cuts up a text. Never fails: bad characters are tokens too, refused when they are met.
    pub(super) fn new(text: &'t str, expression: ExpressionKind) -> Self {
        let mut tokens = Vec::new();
        let mut start = 0;
        while let Some((kind, length)) = next_token(&text[start..]) {
            if let Some(kind) = kind {
                tokens.push(Token { kind, start, end: start + length });
            }
            start += length;
        }
        tokens.push(Token { kind: Kind::End, start: text.len(), end: text.len() });
        Self { text, expression, tokens, at: 0 }
    }

    /// The token that comes next.
    pub(super) fn peek(&self) -> Kind {
        self.tokens[self.at].kind
    }

    /// The token after that.
    pub(super) fn peek_second(&self) -> Kind {
        self.tokens.get(self.at + 1).map_or(Kind::End, |token| token.kind)
    }

    /// The tokens that come next, up to the end.
    pub(super) fn rest(&self) -> impl Iterator<Item = Kind> {
        self.tokens[self.at..].iter().map(|token| token.kind)
    }

    /// The text of the token that comes next.
    pub(super) fn text(&self) -> &'t str {
        let token = self.tokens[self.at];
        &self.text[token.start..token.end]
    }

    /// Goes on; at the end it stays.
    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    /// Goes on if this comes next.
    pub(super) fn take(&mut self, kind: Kind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Goes on past this token.
    ///
    /// # Errors
    /// When another comes next.
    pub(super) fn expect(&mut self, kind: Kind) -> Result<()> {
        if self.take(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The refusal of the token that comes next: the token, and the text from the token before it to the one after it,
    /// as answers quoted in bug reports show (`token: "a", near: ":hashId a"`, `token: "<EOF>", near: "foo"`).
    pub(super) fn unexpected(&self) -> ServiceError {
        let token = self.tokens[self.at];
        let word = if token.kind == Kind::End { "<EOF>" } else { self.text() };
        let from = self.at.checked_sub(1).map_or(token.start, |before| self.tokens[before].start);
        let to = self.tokens.get(self.at + 1).map_or(token.end, |after| after.end);
        self.expression
            .invalid(format_args!("Syntax error; token: \"{word}\", near: \"{}\"", &self.text[from..to]))
    }

    /// The refusal of two pairs of parentheses around the same thing.
    pub(super) fn redundant_parentheses(&self) -> ServiceError {
        self.expression.invalid("The expression has redundant parentheses;")
    }
}

/// The kind of the first token and its length, or only the length of white space.
fn next_token(text: &str) -> Option<(Option<Kind>, usize)> {
    let first = text.chars().next()?;
    let word = |from: usize| {
        from + text[from..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
    };
    let second = text.as_bytes().get(1);
    let (kind, length) = match first {
        ' ' | '\t' | '\r' | '\n' => return Some((None, 1)),
        'a'..='z' | 'A'..='Z' => {
            let length = word(1);
            (keyword(&text[..length]).unwrap_or(Kind::Name), length)
        }
        '#' | ':' => match (word(1), first) {
            (1, _) => (Kind::Bad, 1),
            (length, '#') => (Kind::NamePlaceholder, length),
            (length, _) => (Kind::ValuePlaceholder, length),
        },
        '0' => (Kind::Integer, 1),
        '1'..='9' => (Kind::Integer, text.bytes().take_while(u8::is_ascii_digit).count()),
        '<' if second == Some(&b'>') => (Kind::NotEqual, 2),
        '<' if second == Some(&b'=') => (Kind::AtMost, 2),
        '>' if second == Some(&b'=') => (Kind::AtLeast, 2),
        '=' => (Kind::Equal, 1),
        '<' => (Kind::Less, 1),
        '>' => (Kind::Greater, 1),
        '(' => (Kind::Open, 1),
        ')' => (Kind::Close, 1),
        '[' => (Kind::OpenBracket, 1),
        ']' => (Kind::CloseBracket, 1),
        ',' => (Kind::Comma, 1),
        '.' => (Kind::Dot, 1),
        '+' => (Kind::Plus, 1),
        '-' => (Kind::Minus, 1),
        other => (Kind::Bad, other.len_utf8()),
    };
    Some((Some(kind), length))
}

fn keyword(word: &str) -> Option<Kind> {
    const KEYWORDS: [(&str, Kind); 9] = [
        ("AND", Kind::And),
        ("OR", Kind::Or),
        ("NOT", Kind::Not),
        ("BETWEEN", Kind::Between),
        ("IN", Kind::In),
        ("SET", Kind::Set),
        ("REMOVE", Kind::Remove),
        ("ADD", Kind::Add),
        ("DELETE", Kind::Delete),
    ];
    KEYWORDS.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(word)).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        Tokens::new(text, ExpressionKind::Condition).tokens.iter().map(|token| token.kind).collect()
    }

    #[test]
    fn a_text_is_cut_into_tokens() {
        use Kind::*;
        assert_eq!(
            kinds("#s=:v AND a_1[10].b<>c"),
            [
                NamePlaceholder,
                Equal,
                ValuePlaceholder,
                And,
                Name,
                OpenBracket,
                Integer,
                CloseBracket,
                Dot,
                Name,
                NotEqual,
                Name,
                End
            ]
        );
        assert_eq!(kinds("beTween Inn noT"), [Between, Name, Not, End]);
        assert_eq!(kinds("_a 12b"), [Bad, Name, Integer, Name, End]);
        assert_eq!(kinds("# : ü"), [Bad, Bad, Bad, End]);
        assert_eq!(
            kinds("<= < > >= + - ( ) , 00"),
            [AtMost, Less, Greater, AtLeast, Plus, Minus, Open, Close, Comma, Integer, Integer, End]
        );
        assert_eq!(kinds(""), [End]);
    }
}
