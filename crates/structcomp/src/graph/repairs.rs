//! The account of what a list of edges contained that a simple undirected graph does not.

use serde::Serialize;

/// Counts of what was repaired to get a simple undirected graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repairs {
    /// Listed edges, before any repair.
    pub listed: u64,
    /// Distinct nodes with a self loop; dropped.
    pub self_loops: u64,
    /// Listed edges that repeat an earlier one in the same direction; dropped. The largest weight is
    /// kept.
    pub duplicates: u64,
    /// Edges listed in one direction only; the other direction was added.
    pub directed: u64,
    /// Edges of weight zero; dropped.
    pub zero_weights: u64,
    /// Edges with a node that is not in the node table; dropped.
    pub unknown_ids: u64,
    /// Nodes without edges; kept.
    pub isolated: u64,
}

impl Repairs {
    /// The repairs in words, or `None` if there were none.
    ///
    /// Isolated nodes are not a repair. Neither are edges listed in one direction, as in most files, unless
    /// the file lists at least half of the edges in both.
    pub fn describe(&self, edges: u64) -> Option<String> {
        let mut said = Vec::new();
        let mut say = |count: u64, one: &str, many: &str, done: &str| match count {
            0 => {}
            1 => said.push(format!("1 {one} {done}")),
            _ => said.push(format!("{count} {many} {done}")),
        };
        say(self.self_loops, "self loop", "self loops", "dropped");
        say(self.duplicates, "duplicate", "duplicates", "dropped");
        let one_way = if 2 * self.directed > edges { 0 } else { self.directed };
        say(one_way, "one-way edge", "one-way edges", "made two-way");
        say(self.zero_weights, "edge of weight zero", "edges of weight zero", "dropped");
        say(self.unknown_ids, "edge with an unknown node id", "edges with unknown node ids", "dropped");
        if said.is_empty() { None } else { Some(said.join(", ")) }
    }
}
