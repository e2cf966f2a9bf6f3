//! The steps of a traversal, as data.
//!
//! Whoever makes steps (the builder in `traversal`, or a parser) needs nothing else of the engine: a step says what is
//! asked and never how. Properties that follow `addV` or `addE` belong to it, since the service writes them in one go.

use super::predicate::P;
use super::select::Selection;
use super::traversal::Traversal;
use serde_json::Value;

/// Along which edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From source to target: scoped to the source's partition.
    Out,
    /// From target to source: asks every partition.
    In,
    /// Either way: asks every partition.
    Both,
}

/// Which end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeEnd {
    /// The source (`outV`).
    Out,
    /// The target (`inV`).
    In,
    /// Source, then target (`bothV`).
    Both,
    /// The one the traverser did not come from (`otherV`).
    Other,
}

/// How a vertex property takes another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cardinality {
    /// It replaces the others. What `property(key, value)` means (*assumed*, as client libraries do).
    #[default]
    Single,
    /// It joins them.
    List,
}

/// A property to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewProperty {
    /// Whether it replaces or joins.
    pub cardinality: Cardinality,
    /// Its name.
    pub key: String,
    /// Its value: text, a number or a boolean.
    pub value: Value,
    /// Meta-properties, of vertex properties only.
    pub meta: Vec<(String, Value)>,
}

/// What `by()` takes of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum By {
    /// The object itself.
    #[default]
    Identity,
    /// A property. (`id` and `label` are none: the service's `by('id')` finds nothing where `by(id)` does.)
    Key(String),
    /// Its id.
    Id,
    /// Its label.
    Label,
    /// The first result of a traversal.
    Traversal(Traversal),
}

impl From<&str> for By {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<Traversal> for By {
    fn from(traversal: Traversal) -> Self {
        Self::Traversal(traversal)
    }
}

/// The order of `order().by()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Smallest first (`incr`).
    #[default]
    Ascending,
    /// Largest first (`decr`).
    Descending,
}

/// Labels, keys or names: `()` for none, one text, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl From<()> for Names {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<&str> for Names {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for Names {
    fn from(names: [&str; N]) -> Self {
        Self(names.map(str::to_owned).into())
    }
}

impl From<Vec<String>> for Names {
    fn from(names: Vec<String>) -> Self {
        Self(names)
    }
}

/// A loop. Its modulators may stand before `repeat()` (checked before each round) or after it (checked after).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repeat {
    /// What is repeated. `until()`, `times()` and `emit()` may come first; without a body the traversal is refused.
    pub body: Option<Traversal>,
    /// Who leaves the loop.
    pub until: Option<Traversal>,
    /// Whether `until` is checked before a round.
    pub until_first: bool,
    /// After so many rounds everybody leaves.
    pub times: Option<u32>,
    /// Whether `times` is checked before a round.
    pub times_first: bool,
    /// Whether traversers are also passed on as they go round; with a traversal, only those it holds for.
    pub emit: Option<Option<Traversal>>,
    /// Whether `emit` is checked before a round.
    pub emit_first: bool,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Vertices.
    V(Selection),
    /// Edges.
    E(Selection),
    /// Vertices next to vertices: `out`, `in`, `both`, along edges with one of these labels or any.
    Adjacent(Direction, Names),
    /// Edges at vertices: `outE`, `inE`, `bothE`.
    Incident(Direction, Names),
    /// Vertices at edges.
    EdgeVertex(EdgeEnd),
    /// Elements with a property that passes.
    Has(String, P),
    /// Elements whose label passes.
    HasLabel(P),
    /// Elements whose id passes.
    HasId(P),
    /// Values that pass.
    Is(P),
    /// Objects for which a traversal has a result. Also `filter`, which the service does not have: clients write `where`.
    Where(Traversal),
    /// Values of properties; of all where none is named.
    Values(Names),
    /// Properties; all where none is named.
    Properties(Names),
    /// The id.
    Id,
    /// The label.
    Label,
    /// Each object once, by what the modulator takes of it.
    Dedup(Vec<By>),
    /// In order.
    Order(Vec<(By, Sort)>),
    /// From the first number (counted from zero) up to, not including, the second: `range`, `limit`.
    Range(u64, Option<u64>),
    /// How many.
    Count,
    /// All in one list.
    Fold,
    /// The members of lists, one by one.
    Unfold,
    /// A loop.
    Repeat(Box<Repeat>),
    /// The objects met on the way. Several modulators take turns.
    Path(Vec<By>),
    /// A map with these names. Several modulators take turns.
    Project(Vec<String>, Vec<By>),
    /// A map from keys to lists, or to what the second modulator makes of each group.
    Group(Vec<By>),
    /// The results of each traversal.
    Union(Vec<Traversal>),
    /// The results of the first traversal that has any.
    Coalesce(Vec<Traversal>),
    /// Adds a vertex.
    AddV(String, Vec<NewProperty>),
    /// Adds an edge.
    AddE {
        /// Its label.
        label: String,
        /// Its source; the current vertex where absent.
        from: Option<Traversal>,
        /// Its target; the current vertex where absent.
        to: Option<Traversal>,
        /// Its properties.
        properties: Vec<NewProperty>,
    },
    /// Writes a property of an element.
    Property(NewProperty),
    /// Removes an element, or a property of one.
    Drop,
}

impl Step {
    /// As Gremlin spells it.
    pub fn name(&self) -> &'static str {
        use {Direction::*, EdgeEnd as End};
        match self {
            Self::V(_) => "V",
            Self::E(_) => "E",
            Self::Adjacent(Out, _) => "out",
            Self::Adjacent(In, _) => "in",
            Self::Adjacent(Both, _) => "both",
            Self::Incident(Out, _) => "outE",
            Self::Incident(In, _) => "inE",
            Self::Incident(Both, _) => "bothE",
            Self::EdgeVertex(End::Out) => "outV",
            Self::EdgeVertex(End::In) => "inV",
            Self::EdgeVertex(End::Both) => "bothV",
            Self::EdgeVertex(End::Other) => "otherV",
            Self::Has(..) => "has",
            Self::HasLabel(_) => "hasLabel",
            Self::HasId(_) => "hasId",
            Self::Is(_) => "is",
            Self::Where(_) => "where",
            Self::Values(_) => "values",
            Self::Properties(_) => "properties",
            Self::Id => "id",
            Self::Label => "label",
            Self::Dedup(_) => "dedup",
            Self::Order(_) => "order",
            Self::Range(0, Some(_)) => "limit",
            Self::Range(..) => "range",
            Self::Count => "count",
            Self::Fold => "fold",
            Self::Unfold => "unfold",
            Self::Repeat(_) => "repeat",
            Self::Path(_) => "path",
            Self::Project(..) => "project",
            Self::Group(_) => "group",
            Self::Union(_) => "union",
            Self::Coalesce(_) => "coalesce",
            Self::AddV(..) => "addV",
            Self::AddE { .. } => "addE",
            Self::Property(_) => "property",
            Self::Drop => "drop",
        }
    }

    /// Its sub-traversals, in a fixed order.
    pub(super) fn children(&self) -> Vec<&Traversal> {
        fn bys<'b>(bys: impl Iterator<Item = &'b By>) -> Vec<&'b Traversal> {
            bys.filter_map(|by| match by {
                By::Traversal(traversal) => Some(traversal),
                _ => None,
            })
            .collect()
        }
        match self {
            Self::Where(inner) => vec![inner],
            Self::Union(branches) | Self::Coalesce(branches) => branches.iter().collect(),
            Self::Repeat(repeat) => {
                let emit = repeat.emit.as_ref().and_then(Option::as_ref);
                repeat.body.iter().chain(&repeat.until).chain(emit).collect()
            }
            Self::AddE { from, to, .. } => from.iter().chain(to).collect(),
            Self::Dedup(by) | Self::Path(by) | Self::Project(_, by) | Self::Group(by) => bys(by.iter()),
            Self::Order(by) => bys(by.iter().map(|(by, _)| by)),
            _ => Vec::new(),
        }
    }

    /// Whether it writes, or something inside it does.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::AddV(..) | Self::AddE { .. } | Self::Property(_) | Self::Drop)
            || self.children().into_iter().any(Traversal::writes)
    }

    /// Whether its result depends on all traversers that reach it, not on each by itself.
    pub(super) fn is_global(&self) -> bool {
        match self {
            Self::Dedup(_) | Self::Order(_) | Self::Range(..) | Self::Count | Self::Fold | Self::Group(_) => {
                true
            }
            Self::Union(branches) => branches.iter().any(Traversal::is_global),
            Self::Repeat(repeat) => repeat.body.as_ref().is_some_and(Traversal::is_global),
            _ => false,
        }
    }
}
