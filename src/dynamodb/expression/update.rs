//! What a write changes: SET, REMOVE, ADD and DELETE, read and checked. What they do to an item is in `apply`.

use super::super::attributes::Attributes;
use super::super::error::{Result, ServiceError};
use super::super::key::KeySchema;
use super::super::value::{AttributeValue, Type};
use super::path::{DocumentPath, clash};
use super::placeholders::Placeholders;
use super::projection::Projection;
use super::resolve::{Part, Words, first};
use super::syntax::{self, Section};
use super::{ExpressionKind, parser};
use std::sync::Arc;

/// What SET writes, or an argument of its functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateOperand {
    /// The value at a path before the update.
    Path(DocumentPath),
    /// This value.
    Value(Arc<AttributeValue>),
    /// The value at a path if there is one, else another.
    IfNotExists(DocumentPath, Box<UpdateOperand>),
    /// The elements of two lists.
    ListAppend(Box<UpdateOperand>, Box<UpdateOperand>),
}

/// The value that SET writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// An operand as it is.
    Operand(UpdateOperand),
    /// The sum of two numbers.
    Plus(UpdateOperand, UpdateOperand),
    /// The difference of two numbers.
    Minus(UpdateOperand, UpdateOperand),
}

/// What is done at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A value is written.
    Set(SetValue),
    /// What is there is taken away.
    Remove,
    /// A number is added to a number, or a set joined to a set; if nothing is there, it is written.
    Add(Arc<AttributeValue>),
    /// A set's members are taken out of a set; of a set of no members nothing is left.
    Delete(Arc<AttributeValue>),
}

/// One change of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Where.
    pub path: DocumentPath,
    /// What.
    pub change: Change,
    /// Which section of the expression it is in; mistakes that need the item are reported by section.
    pub(super) section: usize,
}

/// Which interface an update came by: the two differ in some texts, and in what ADD does with lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `UpdateExpression`.
    Expression,
    /// `AttributeUpdates`.
    Legacy,
}

/// All that a write changes in an item. No two of its paths touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub(super) actions: Vec<Action>,
    pub(super) dialect: Dialect,
}

impl Update {
    /// Reads an update.
    ///
    /// # Errors
    /// When the text is none, or says what cannot be.
    pub fn parse(text: &str, placeholders: &mut Placeholders) -> Result<Self> {
        let kind = ExpressionKind::Update;
        let syntax = parser::update(text)?;
        let mut words = Words::default();
        syntax.0.iter().for_each(|section| look(&mut words, section));
        words.check_update(kind)?;
        check_sections(&syntax)?;

        let mut part = Part::new(placeholders);
        let mut wrong_operand = None;
        let mut actions = Vec::new();
        for (section, written) in syntax.0.iter().enumerate() {
            let mut act = |path, change| actions.push(Action { path, change, section });
            match written {
                Section::Set(sets) => {
                    for (path, value) in sets {
                        let path = part.path(path);
                        act(path, Change::Set(part.set_value(value)));
                    }
                }
                Section::Remove(paths) => paths.iter().for_each(|path| act(part.path(path), Change::Remove)),
                Section::Add(changes) => {
                    for (path, value) in changes {
                        let (path, value) = (part.path(path), part.value(value));
                        check_operand(&mut wrong_operand, "ADD", value.kind(), |k| {
                            k == Type::N || k.is_set()
                        });
                        act(path, Change::Add(value));
                    }
                }
                Section::Delete(changes) => {
                    for (path, value) in changes {
                        let (path, value) = (part.path(path), part.value(value));
                        check_operand(&mut wrong_operand, "DELETE", value.kind(), Type::is_set);
                        act(path, Change::Delete(value));
                    }
                }
            }
        }
        let Part { undefined_name, undefined_value, operand_type, .. } = part;
        first(kind, [undefined_name, undefined_value])?;
        let paths: Vec<_> = actions.iter().map(|action| &action.path).collect();
        first(kind, [clash(&paths), wrong_operand, operand_type])?;
        Ok(Self { actions, dialect: Dialect::Expression })
    }

    /// An update of whole attributes, each once, as the legacy interface knows it.
    pub(in crate::dynamodb) fn legacy(changes: impl IntoIterator<Item = (Box<str>, Change)>) -> Self {
        let action = |(name, change): (Box<str>, _)| Action {
            path: DocumentPath::attribute(name),
            change,
            section: 0,
        };
        Self { actions: changes.into_iter().map(action).collect(), dialect: Dialect::Legacy }
    }

    /// Its changes, in the order written.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The attributes it changes or changes parts of.
    pub fn heads(&self) -> impl Iterator<Item = &str> + Clone {
        self.actions.iter().map(|action| action.path.head())
    }

    /// What an item has where this update writes: the answer to `UPDATED_OLD` of the item before, and to `UPDATED_NEW`
    /// of the item after.
    pub fn updated(&self, item: &Attributes) -> Attributes {
        let paths = self.actions.iter().map(|action| action.path.clone()).collect();
        // Paths that touch were refused.
        Projection::new(paths).map(|projection| projection.apply(item)).unwrap_or_default()
    }

    /// That no attribute that an index has for a key is given a value of another type, as far as the update alone tells.
    ///
    /// # Errors
    /// When one is.
    pub fn check_index_types(&self, index: &str, schema: &KeySchema) -> Result<()> {
        for key in schema.attributes() {
            let expected = key.kind().kind();
            let known = self.at(key.name()).and_then(Change::kind);
            if let Some(kind) = known.filter(|&kind| kind != expected) {
                return Err(ServiceError::invalid_parameters(format!(
                    "Type mismatch for Index Key {} Expected: {expected} Actual: {kind} IndexName: {index}",
                    key.name()
                )));
            }
        }
        Ok(())
    }

    /// That no attribute that an index has for a key got a value of another type, which only the item tells.
    ///
    /// # Errors
    /// When one did.
    pub fn check_index_values(&self, schema: &KeySchema, after: &Attributes) -> Result<()> {
        for key in schema.attributes() {
            let value = after.get(key.name()).map(AttributeValue::kind);
            if matches!(self.at(key.name()), Some(Change::Set(_)))
                && value.is_some_and(|kind| kind != key.kind().kind())
            {
                return Err(ServiceError::validation(
                    "The update expression attempted to update the secondary index key to unsupported type",
                ));
            }
        }
        Ok(())
    }

    /// The change of a whole attribute.
    fn at(&self, name: &str) -> Option<&Change> {
        let at = |action: &&Action| !action.path.is_nested() && action.path.head() == name;
        self.actions.iter().find(at).map(|action| &action.change)
    }

    /// Every path it reads or writes, in the order written.
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        for action in &self.actions {
            paths.push(&action.path);
            match &action.change {
                Change::Set(SetValue::Operand(operand)) => operand.each_path(&mut paths),
                Change::Set(SetValue::Plus(left, right) | SetValue::Minus(left, right)) => {
                    left.each_path(&mut paths);
                    right.each_path(&mut paths);
                }
                Change::Remove | Change::Add(_) | Change::Delete(_) => {}
            }
        }
        paths
    }
}

impl Change {
    /// The type of what it writes, where that is known without the item.
    fn kind(&self) -> Option<Type> {
        match self {
            Self::Set(SetValue::Operand(operand)) => operand.kind(),
            Self::Set(SetValue::Plus(..) | SetValue::Minus(..)) => Some(Type::N),
            Self::Add(value) | Self::Delete(value) => Some(value.kind()),
            Self::Remove => None,
        }
    }
}

impl UpdateOperand {
    fn kind(&self) -> Option<Type> {
        match self {
            Self::Path(_) => None,
            Self::Value(value) => Some(value.kind()),
            Self::IfNotExists(_, other) => other.kind(),
            Self::ListAppend(..) => Some(Type::L),
        }
    }

    fn each_path<'a>(&'a self, paths: &mut Vec<&'a DocumentPath>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, other) => {
                paths.push(path);
                other.each_path(paths);
            }
            Self::ListAppend(first, second) => {
                first.each_path(paths);
                second.each_path(paths);
            }
        }
    }
}

fn look(words: &mut Words, section: &Section) {
    match section {
        Section::Set(sets) => {
            for (path, value) in sets {
                words.path(path);
                match value {
                    syntax::SetValue::Operand(operand) => words.update_operand(operand, false),
                    syntax::SetValue::Plus(left, right) | syntax::SetValue::Minus(left, right) => {
                        words.update_operand(left, false);
                        words.update_operand(right, false);
                    }
                }
            }
        }
        Section::Remove(paths) => paths.iter().for_each(|path| words.path(path)),
        Section::Add(changes) | Section::Delete(changes) => {
            changes.iter().for_each(|(path, _)| words.path(path));
        }
    }
}

/// That each section is there once.
fn check_sections(update: &syntax::Update) -> Result<()> {
    for (i, section) in update.0.iter().enumerate() {
        if update.0[..i].iter().any(|before| before.keyword() == section.keyword()) {
            return Err(ExpressionKind::Update.invalid(format_args!(
                "The \"{}\" section can only be used once in an update expression;",
                section.keyword()
            )));
        }
        // More than four sections repeat one, so this loop is short.
    }
    Ok(())
}

fn check_operand(slot: &mut Option<String>, operator: &str, kind: Type, allowed: impl Fn(Type) -> bool) {
    if !allowed(kind) {
        slot.get_or_insert_with(|| {
            format!(
                "Incorrect operand type for operator or function; operator: {operator}, operand type: {}, typeSet: \
                 ALLOWED_FOR_{operator}_OPERAND",
                kind.word()
            )
        });
    }
}

impl Part<'_> {
    fn set_value(&mut self, value: &syntax::SetValue) -> SetValue {
        match value {
            syntax::SetValue::Operand(operand) => SetValue::Operand(self.update_operand(operand)),
            syntax::SetValue::Plus(left, right) => {
                let (left, right) = self.numbers("+", left, right);
                SetValue::Plus(left, right)
            }
            syntax::SetValue::Minus(left, right) => {
                let (left, right) = self.numbers("-", left, right);
                SetValue::Minus(left, right)
            }
        }
    }

    fn numbers(
        &mut self,
        operator: &str,
        left: &syntax::Operand,
        right: &syntax::Operand,
    ) -> (UpdateOperand, UpdateOperand) {
        let operands = (self.update_operand(left), self.update_operand(right));
        for operand in [&operands.0, &operands.1] {
            self.typed(operator, literal(operand), |kind| kind == Type::N);
        }
        operands
    }

    fn update_operand(&mut self, operand: &syntax::Operand) -> UpdateOperand {
        let call = match operand {
            syntax::Operand::Path(path) => return UpdateOperand::Path(self.path(path)),
            syntax::Operand::Value(placeholder) => return UpdateOperand::Value(self.value(placeholder)),
            syntax::Operand::Call(call) => call,
        };
        let arguments: Vec<_> = call.arguments.iter().map(|argument| self.update_operand(argument)).collect();
        // A wrong number and a wrong type of operands are one kind of mistake here.
        let counted = self.count(call, 2);
        let wrong_count = self.operand_count.take();
        self.operand_type = self.operand_type.take().or(wrong_count);
        let nothing = || UpdateOperand::Value(Arc::new(AttributeValue::Null));
        let mut arguments = arguments.into_iter();
        let (left, right) = match (arguments.next(), arguments.next()) {
            (Some(left), Some(right)) if counted => (left, right),
            _ => return nothing(),
        };
        if call.name == "list_append" {
            for operand in [&left, &right] {
                self.typed("list_append", literal(operand), |kind| kind == Type::L);
            }
            return UpdateOperand::ListAppend(Box::new(left), Box::new(right));
        }
        let UpdateOperand::Path(path) = left else {
            self.needs_path("if_not_exists");
            return nothing();
        };
        UpdateOperand::IfNotExists(path, Box::new(right))
    }
}

/// The type of a literal.
fn literal(operand: &UpdateOperand) -> Option<Type> {
    match operand {
        UpdateOperand::Value(value) => Some(value.kind()),
        _ => None,
    }
}
