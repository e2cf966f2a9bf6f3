//! Document paths: where in an item a value is.

use super::super::attributes::Attributes;
use super::super::value::AttributeValue;
use std::collections::BTreeMap;
use std::fmt;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathElement {
    /// Into an item or a map.
    Name(Box<str>),
    /// Into a list.
    Index(u32),
}

/// A path from an item to a value in it: a name, then names and indexes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentPath {
    head: Box<str>,
    rest: Vec<PathElement>,
}

impl DocumentPath {
    /// The path to an attribute.
    pub fn attribute(name: impl Into<Box<str>>) -> Self {
        Self { head: name.into(), rest: Vec::new() }
    }

    /// A path of an attribute and steps into it.
    pub fn new(head: impl Into<Box<str>>, rest: Vec<PathElement>) -> Self {
        Self { head: head.into(), rest }
    }

    /// The attribute it begins with.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The steps after that.
    pub fn rest(&self) -> &[PathElement] {
        &self.rest
    }

    /// Whether it leads into an attribute.
    pub fn is_nested(&self) -> bool {
        !self.rest.is_empty()
    }

    /// How many elements it has.
    pub fn depth(&self) -> usize {
        1 + self.rest.len()
    }

    /// The value it leads to.
    pub fn find<'a>(&self, item: &'a Attributes) -> Option<&'a AttributeValue> {
        find_in(item.get(&self.head)?, &self.rest)
    }

    /// Whether the value that would hold the path's last element is there and can hold it; whether it is there at all.
    pub(super) fn parent(&self, item: &Attributes) -> Parent {
        let Some((last, before)) = self.rest.split_last() else { return Parent::Fits };
        match (item.get(&self.head).and_then(|value| find_in(value, before)), last) {
            (None, _) => Parent::Missing,
            (Some(AttributeValue::M(_)), PathElement::Name(_))
            | (Some(AttributeValue::L(_)), PathElement::Index(_)) => Parent::Fits,
            _ => Parent::OtherType,
        }
    }
}

/// What is where a path's last element would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// A map for a name, a list for an index, or the item itself.
    Fits,
    /// A value that is neither.
    OtherType,
    /// Nothing.
    Missing,
}

fn find_in<'a>(value: &'a AttributeValue, path: &[PathElement]) -> Option<&'a AttributeValue> {
    path.iter().try_fold(value, |value, element| match (value, element) {
        (AttributeValue::M(values), PathElement::Name(name)) => values.get(name),
        (AttributeValue::L(values), PathElement::Index(index)) => values.get(*index as usize),
        _ => None,
    })
}

/// As the service writes paths in its refusals: `[a, [1], b]`.
impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.head)?;
        for element in &self.rest {
            match element {
                PathElement::Name(name) => write!(f, ", {name}")?,
                PathElement::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}

/// A tree of paths, for operations that must not reach the same place twice.
///
/// Invariant: no leaf lies on the way to another, and below a node are only names or only indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathTree<T>(BTreeMap<Box<str>, Node<T>>);

/// A place in a [`PathTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node<T> {
    /// A path ends here.
    Leaf(T),
    /// Paths go on by name.
    Names(BTreeMap<Box<str>, Node<T>>),
    /// Paths go on by index.
    Indexes(BTreeMap<u32, Node<T>>),
}

/// Why a path cannot be among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// One is the other or leads into it.
    Overlap,
    /// One takes for a list what the other takes for a map.
    Conflict,
}

impl Clash {
    fn verb(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Conflict => "conflict",
        }
    }
}

impl<T> PathTree<T> {
    /// The tree of these paths, with what is to be done there.
    pub(super) fn new(all: impl IntoIterator<Item = (DocumentPath, T)>) -> Option<Self> {
        let mut tree = BTreeMap::new();
        for (path, what) in all {
            insert(&mut tree, path.head, path.rest.into_iter(), what)?;
        }
        Some(Self(tree))
    }

    /// The attributes its paths begin with.
    pub(super) fn heads(&self) -> &BTreeMap<Box<str>, Node<T>> {
        &self.0
    }

    /// The attributes its paths begin with, to be used up.
    pub(super) fn into_heads(self) -> BTreeMap<Box<str>, Node<T>> {
        self.0
    }
}

fn insert<T, K: Ord>(
    nodes: &mut BTreeMap<K, Node<T>>,
    key: K,
    mut rest: std::vec::IntoIter<PathElement>,
    what: T,
) -> Option<()> {
    let next = rest.next();
    let node = match (&next, nodes.contains_key(&key)) {
        (None, true) => return None,
        (None, false) => {
            nodes.insert(key, Node::Leaf(what));
            return Some(());
        }
        (Some(PathElement::Name(_)), false) => nodes.entry(key).or_insert(Node::Names(BTreeMap::new())),
        (Some(PathElement::Index(_)), false) => nodes.entry(key).or_insert(Node::Indexes(BTreeMap::new())),
        (Some(_), true) => nodes.get_mut(&key)?,
    };
    match (node, next?) {
        (Node::Names(below), PathElement::Name(name)) => insert(below, name, rest, what),
        (Node::Indexes(below), PathElement::Index(index)) => insert(below, index, rest, what),
        _ => None,
    }
}

/// The first two paths that cannot be together, the earlier one first, in the service's words. Overlaps are reported
/// before conflicts, wherever they are (dynalite's tests).
pub(super) fn clash(paths: &[&DocumentPath]) -> Option<String> {
    // Most often there is none, and building the tree tells in linear time.
    if PathTree::new(paths.iter().map(|&path| (path.clone(), ()))).is_some() {
        return None;
    }
    let mut conflict = None;
    // Only paths of one attribute can clash.
    let mut before: BTreeMap<&str, Vec<&DocumentPath>> = BTreeMap::new();
    for &second in paths {
        let firsts = before.entry(second.head()).or_default();
        for &first in firsts.iter() {
            match between(first, second) {
                Some(Clash::Overlap) => return Some(words(Clash::Overlap, first, second)),
                // The last found counts, as in dynalite's tests: each later one replaces it.
                Some(Clash::Conflict) => conflict = Some((first, second)),
                None => {}
            }
        }
        firsts.push(second);
    }
    conflict.map(|(first, second)| words(Clash::Conflict, first, second))
}

fn words(clash: Clash, first: &DocumentPath, second: &DocumentPath) -> String {
    format!(
        "Two document paths {} with each other; must remove or rewrite one of these paths; path one: {first}, path \
         two: {second}",
        clash.verb()
    )
}

fn between(first: &DocumentPath, second: &DocumentPath) -> Option<Clash> {
    if first.head != second.head {
        return None;
    }
    for (a, b) in first.rest.iter().zip(&second.rest) {
        match (a, b) {
            (PathElement::Name(_), PathElement::Index(_)) | (PathElement::Index(_), PathElement::Name(_)) => {
                return Some(Clash::Conflict);
            }
            _ if a != b => return None,
            _ => {}
        }
    }
    Some(Clash::Overlap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(head: &str, rest: &[&str]) -> DocumentPath {
        let element = |part: &&str| match part.parse() {
            Ok(index) => PathElement::Index(index),
            Err(_) => PathElement::Name((*part).into()),
        };
        DocumentPath::new(head, rest.iter().map(element).collect())
    }

    #[test]
    fn paths_lead_into_maps_and_lists() {
        let inner = Attributes::from_iter([("b", AttributeValue::L(vec![1_u64.into(), "x".into()]))]);
        let item = Attributes::from_iter([("a", AttributeValue::M(inner)), ("s", "text".into())]);
        assert_eq!(path("a", &["b", "1"]).find(&item), Some(&"x".into()));
        for absent in [path("a", &["b", "2"]), path("a", &["0"]), path("s", &["b"]), path("z", &[])] {
            assert_eq!(absent.find(&item), None, "{absent}");
        }
        assert_eq!(path("a", &["b", "7"]).parent(&item), Parent::Fits);
        assert_eq!(path("a", &["b", "c"]).parent(&item), Parent::OtherType);
        assert_eq!(path("a", &["c", "d"]).parent(&item), Parent::Missing);
        assert_eq!(path("z", &[]).parent(&item), Parent::Fits);
        assert_eq!(path("a", &["b", "1"]).to_string(), "[a, b, [1]]");
    }

    #[test]
    fn clashes_are_found() {
        let report = |paths: &[DocumentPath]| clash(&paths.iter().collect::<Vec<_>>());
        assert_eq!(
            report(&[path("a", &["b"]), path("a", &["c"]), path("b", &["0"]), path("b", &["1"])]),
            None
        );
        assert!(
            report(&[path("a", &[]), path("a", &["b"])])
                .unwrap()
                .ends_with("path one: [a], path two: [a, b]")
        );
        assert!(report(&[path("a", &["b"]), path("a", &["1"])]).unwrap().contains("conflict"));
        let both = [path("a", &["b"]), path("a", &["1"]), path("c", &[]), path("c", &[])];
        assert!(report(&both).unwrap().contains("overlap"));
    }
}
