//! Which attributes an answer holds.
//!
//! Of a list only the elements asked for are answered, moved together; of a map only the members. What is not there is
//! left out, and so is a map or list of which nothing is there (dynalite's tests).

use super::super::attributes::Attributes;
use super::super::error::Result;
use super::super::value::AttributeValue;
use super::path::{DocumentPath, Node, PathTree, clash};
use super::placeholders::Placeholders;
use super::resolve::{Part, Words, first};
use super::{ExpressionKind, parser};
use std::collections::BTreeMap;

/// Which attributes, and which parts of them, an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<DocumentPath>,
    tree: PathTree<()>,
}

impl Projection {
    /// Reads a projection.
    ///
    /// # Errors
    /// When the text is none, or says what cannot be.
    pub fn parse(text: &str, placeholders: &mut Placeholders) -> Result<Self> {
        let kind = ExpressionKind::Projection;
        let syntax = parser::projection(text)?;
        let mut words = Words::default();
        syntax.0.iter().for_each(|path| words.path(path));
        words.check_update(kind)?;
        let mut part = Part::new(placeholders);
        let paths: Vec<_> = syntax.0.iter().map(|path| part.path(path)).collect();
        first(kind, [part.undefined])?;
        match Self::new(paths) {
            Ok(projection) => Ok(projection),
            Err(why) => Err(kind.invalid(why)),
        }
    }

    /// The projection on these paths.
    ///
    /// # Errors
    /// When two of them cannot be together, in the service's words.
    pub fn new(paths: Vec<DocumentPath>) -> Result<Self, String> {
        match PathTree::new(paths.iter().map(|path| (path.clone(), ()))) {
            Some(tree) => Ok(Self { paths, tree }),
            None => Err(clash(&paths.iter().collect::<Vec<_>>()).unwrap_or_default()),
        }
    }

    /// Its paths, in the order written.
    pub fn paths(&self) -> &[DocumentPath] {
        &self.paths
    }

    /// What it leaves of an item.
    pub fn apply(&self, item: &Attributes) -> Attributes {
        members(item, self.tree.heads())
    }
}

fn members(values: &Attributes, wanted: &BTreeMap<Box<str>, Node<()>>) -> Attributes {
    wanted.iter().filter_map(|(name, node)| Some((name.clone(), part(values.get(name)?, node)?))).collect()
}

fn part(value: &AttributeValue, node: &Node<()>) -> Option<AttributeValue> {
    match (node, value) {
        (Node::Leaf(()), value) => Some(value.clone()),
        (Node::Names(wanted), AttributeValue::M(values)) => {
            let found = members(values, wanted);
            (!found.is_empty()).then_some(AttributeValue::M(found))
        }
        (Node::Indexes(wanted), AttributeValue::L(values)) => {
            let found: Vec<_> =
                wanted.iter().filter_map(|(&index, node)| part(values.get(index as usize)?, node)).collect();
            (!found.is_empty()).then_some(AttributeValue::L(found))
        }
        _ => None,
    }
}
