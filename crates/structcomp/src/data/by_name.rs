//! Edges between names.

use super::edges::{Nodes, RawEdges};
use crate::graph::Repairs;
use crate::{Budget, Graph, NodeIds, Result};
use std::collections::HashMap;

/// A list of edges between names, in any order and direction.
///
/// ```
/// use structcomp::data::EdgesByName;
///
/// let mut edges = EdgesByName::default();
/// edges.push("ann", "bob", 1.0);
/// edges.push("zoe", "ann", 1.0);
/// let (graph, ids, _) = edges.build(None)?;
/// assert_eq!((graph.nodes(), graph.edges()), (3, 2));
/// assert_eq!(ids.name(2), "zoe");
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EdgesByName {
    places: HashMap<Box<str>, u32>,
    /// In order of first occurrence.
    pub(crate) names: Vec<Box<str>>,
    pub(crate) edges: Vec<([u32; 2], f32)>,
    /// Bytes held for the names.
    held: u64,
}

impl EdgesByName {
    /// Adds an edge.
    pub fn push(&mut self, source: &str, target: &str, weight: f32) {
        let ends = [self.place(source), self.place(target)];
        self.edges.push((ends, weight));
    }

    /// The place of a name in the list; a new name is a node without edges so far.
    pub(crate) fn place(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.names.len() as u32;
        self.names.push(name.into());
        self.places.insert(name.into(), place);
        self.held += 2 * name.len() as u64 + 64;
        place
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.held + 12 * self.edges.len() as u64
    }

    /// The graph, the ids of its nodes, and what was repaired.
    ///
    /// The nodes are `ids` in this order; edges with other names are dropped and counted. It is an error if fewer
    /// than half of the names match. Without `ids`, the nodes are those in the edges, sorted by name.
    pub fn build(self, ids: Option<NodeIds>) -> Result<(Graph, NodeIds, Repairs)> {
        let nodes = match ids {
            Some(ids) => Nodes::Table(ids.clone(), ids.len().unwrap_or(0)),
            None => Nodes::FromEdges,
        };
        RawEdges::Names(self.edges, self.names).build(nodes, &Budget::default())
    }
}
