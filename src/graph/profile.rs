//! The execution profile: which storage operators ran, over how many partitions, for how much.
//!
//! The names are those of the service's `executionProfile()` ("Execution profile reference"), where one Gremlin step
//! lowers to one or more operators. Times are left out: nothing here takes time. Operators that ask the storage nothing
//! (`ProjectOperator` and the like) are not listed.

use crate::budget::PartitionId;
use crate::charge::RequestCharge;
use crate::units::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// An operator that asks the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// Reads vertices that a selection names.
    GetVertices,
    /// Reads edges: of a selection, or those that touch some vertices.
    GetEdges,
    /// Reads the vertices at the other end of edges.
    GetNeighborVertices,
    /// Writes or removes documents (the name is *assumed*, from the error text "Add Vertex: Modify Data: …").
    ModifyData,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What one operator of one step did.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorProfile {
    /// Which operator.
    pub operator: Operator,
    /// The step that needed it, as Gremlin spells it.
    pub step: &'static str,
    /// The step's number in the traversal, sub-traversals counted in place.
    pub at: usize,
    /// Physical partitions that a single storage operation asked, at the most: its pages together.
    pub fan_out: usize,
    /// All physical partitions asked.
    pub partitions: BTreeSet<PartitionId>,
    /// Requests: one for each physical partition that a page or a point operation asked.
    pub requests: u64,
    /// Documents read or written.
    pub count: u64,
    /// Their bytes.
    pub size: Bytes,
    /// What it cost.
    pub charge: RequestCharge,
}

/// All operators of a traversal, in the order they first ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionProfile {
    operators: Vec<OperatorProfile>,
}

impl ExecutionProfile {
    /// The operators in the order they first ran.
    pub fn operators(&self) -> &[OperatorProfile] {
        &self.operators
    }

    /// The largest fan-out factor of an operator: 1 where it stayed within a partition, 0 where it did not run.
    pub fn fan_out(&self, operator: Operator) -> usize {
        self.of(operator).map(|profile| profile.fan_out).max().unwrap_or(0)
    }

    /// What an operator cost.
    pub fn charge(&self, operator: Operator) -> RequestCharge {
        self.of(operator).map(|profile| profile.charge).sum()
    }

    /// Requests an operator sent.
    pub fn requests(&self, operator: Operator) -> u64 {
        self.of(operator).map(|profile| profile.requests).sum()
    }

    fn of(&self, operator: Operator) -> impl Iterator<Item = &OperatorProfile> {
        self.operators.iter().filter(move |profile| profile.operator == operator)
    }

    /// The entry of an operator of a step.
    pub(super) fn entry(
        &mut self,
        operator: Operator,
        step: &'static str,
        at: usize,
    ) -> &mut OperatorProfile {
        let is_it = |profile: &OperatorProfile| profile.at == at && profile.operator == operator;
        let found = self.operators.iter().rposition(is_it);
        let index = found.unwrap_or_else(|| {
            self.operators.push(OperatorProfile {
                operator,
                step,
                at,
                fan_out: 0,
                partitions: BTreeSet::new(),
                requests: 0,
                count: 0,
                size: Bytes::ZERO,
                charge: RequestCharge::ZERO,
            });
            self.operators.len() - 1
        });
        &mut self.operators[index]
    }

    /// The `metrics` of the service's answer, without times.
    pub fn to_json(&self) -> Value {
        let operators = self.operators.iter().map(|profile| {
            json!({
                "name": profile.operator.to_string(),
                "counts": { "resultCount": profile.count },
                "storeOps": [{
                    "fanoutFactor": profile.fan_out,
                    "count": profile.count,
                    "size": profile.size.0,
                }],
            })
        });
        operators.collect::<Vec<_>>().into()
    }
}
