//! A property graph over a Cosmos DB container, in process: what the API for Gremlin does, without its wire.
//!
//! ```text
//!   partition a                     partition b                     partition c
//!   ┌───────────────────────────┐   ┌───────────────────────────┐   ┌─────────────────────┐
//!   │ (thomas)                  │   │ (mary)                    │   │ (robin)             │
//!   │ thomas ─knows─► mary@b ───┼──►│ mary ─knows─► robin@c ────┼──►│                     │
//!   └───────────────────────────┘   └───────────────────────────┘   └─────────────────────┘
//!      out: the edge lies with its source and names the key of its target: scoped
//!      in:  nothing at the target tells who points to it: every partition is asked
//! ```
//!
//! Vertices and edges are documents of the container, in the form the service stores ([`Vertex`], [`Edge`]): they can
//! be read as documents, and documents written in that form are part of the graph. A traversal lowers to the three
//! storage operators of the service's `executionProfile()` (`GetVertices`, `GetEdges`, `GetNeighborVertices`), and
//! each [`Answer`] says which of them ran, over how many physical partitions, and for how many request units.
//!
//! - [`Graph`] is the graph; [`Graph::traversal`] begins a [`Traversal`].
//! - [`Selection`] says where a traversal begins, and so whether it fans out.
//! - [`Step`] is a traversal's step as data: a parser of Gremlin text pushes steps, and nothing else.
//!
//! This module does not know Gremlin text, GraphSON or sockets, and never waits: a throttle ends the traversal with
//! [`GraphError::Throttled`]. What it leaves out and where it departs from the service is in `docs/graph.md`.
//!
//! ```
//! use hotplate::graph::{Graph, Operator, Traversal, __};
//! use hotplate::{Clock, Profile, Seed, Table};
//! use std::sync::Arc;
//!
//! let clock = Clock::manual();
//! let profile = Profile::cosmos_manual(30_000)?; // five physical partitions
//! let table = Arc::new(Table::new("people", profile, clock.now())?);
//! let graph = Graph::partitioned(table, "/city", Seed(7))?;
//!
//! for (id, city) in [("thomas", "oslo"), ("mary", "bergen")] {
//!     let add = graph.traversal().add_v("person").property("id", id).property("city", city);
//!     add.execute(clock.now())?;
//! }
//! let knows = graph.traversal().v(("oslo", "thomas")).add_e("knows").to(__().v(("bergen", "mary")));
//! knows.execute(clock.now())?;
//!
//! // Whom does Thomas know? One point read, his own partition, one point read.
//! let out = graph.traversal().v(("oslo", "thomas")).out("knows").execute(clock.now())?;
//! assert_eq!(out.ids(), ["mary"]);
//! assert_eq!((out.requests, out.profile.fan_out(Operator::GetEdges)), (3, 1));
//!
//! // Who knows Mary? All five partitions must be asked.
//! let known = graph.traversal().v(("bergen", "mary")).in_("knows").execute(clock.now())?;
//! assert_eq!(known.ids(), ["thomas"]);
//! assert_eq!((known.requests, known.profile.fan_out(Operator::GetEdges)), (7, 5));
//! assert!(known.charge.request > out.charge.request);
//! # let _: Traversal = __();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod element;
mod error;
#[expect(clippy::module_inception, reason = "the noun of the module")]
mod graph;
mod predicate;
mod profile;
mod run;
mod select;
mod step;
mod steps;
mod traversal;
mod value;

pub use element::{Edge, ElementKey, GraphDocument, Property, Vertex, VertexProperty};
pub use error::{Done, GraphError};
pub use graph::Graph;
pub use predicate::P;
pub use profile::{ExecutionProfile, Operator, OperatorProfile};
pub use run::Answer;
pub use select::Selection;
pub use step::{By, Cardinality, Direction, EdgeEnd, Names, NewProperty, Repeat, Sort, Step};
pub use traversal::{__, Source, Traversal};
pub use value::{GraphValue, Many};

/// Steps of one traversal, those of its sub-traversals included
/// (Cosmos DB Gremlin, "Limits": "operator depth: 400 unique steps").
pub const STEPS_MAX: usize = 400;
/// Sub-traversals inside sub-traversals: a bound of ours, so that none of them exhausts the stack.
pub const NESTING_MAX: usize = 32;
/// Times a `repeat` may go round (Cosmos DB Gremlin, "Limits": "repeat: 32 iterations").
pub const REPEAT_MAX: u32 = 32;
/// Traversers that may wait at one step, results included: stands for the service's 2 GB of memory for a traversal.
pub const FRONTIER_MAX: usize = 100_000;
/// Traversers that all steps together may handle: stands for the service's 30 seconds for a traversal.
pub const WORK_MAX: u64 = 10_000_000;
/// Objects on one path: a bound of ours.
pub const PATH_MAX: usize = 1_024;
/// Lists inside lists inside lists …: a bound of ours.
pub const VALUE_DEPTH_MAX: usize = 32;
/// Bytes of an id ("Service quotas": 1,023 bytes).
pub const ID_BYTES_MAX: usize = 1_023;
/// Bytes of a partition key ("Service quotas": 2,048 bytes).
pub const PARTITION_KEY_BYTES_MAX: usize = 2_048;
/// Documents of one storage page, and vertices whose edges are asked for at once
/// (a `range(0, 10)` was seen to read 1,000 vertices: azure-cosmos-dotnet-v2, issue 636).
pub const PAGE_ITEMS: usize = 1_000;
