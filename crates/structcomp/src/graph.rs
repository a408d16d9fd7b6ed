//! The graph: undirected, in compressed sparse rows, checked once when it is made.

mod build;
mod components;
mod edit;
mod file;

pub use build::{EdgeList, Repairs};
pub use components::Components;
pub use file::GraphWriter;
pub(crate) use file::MAGIC;

use crate::{Buffer, Error, Result, random::mix};
use rayon::prelude::*;

/// The most nodes a graph may have. Node numbers are `u32`; one bit is kept free so that an edge
/// and its direction fit into one 64-bit sorting key.
pub const MAX_NODES: usize = 1 << 31;

/// An undirected graph: each edge is stored in both directions, the neighbours of a node are
/// sorted, and there are neither duplicates nor self loops.
///
/// ```
/// use structcomp::Graph;
///
/// //  0 - 1
/// //  |  /
/// //  2     3
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 0)])?;
/// assert_eq!(graph.edges(), 3);
/// assert_eq!(graph.neighbors(2), [0, 1]);
/// assert_eq!(graph.degree(3), 0);
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    offsets: Buffer<u64>,
    targets: Buffer<u32>,
    weights: Option<Buffer<f32>>,
}

impl Graph {
    /// A graph from unordered pairs; duplicates and self loops are dropped.
    ///
    /// [`EdgeList::build`] does the same and tells what it dropped.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self> {
        let mut list = EdgeList::with_capacity(edges.len());
        edges.iter().for_each(|&(u, v)| list.push(u, v));
        Ok(list.build(nodes)?.0)
    }

    /// A graph from finished arrays, owned or mapped, after checking every promise of the type.
    pub fn from_csr(
        offsets: Buffer<u64>,
        targets: Buffer<u32>,
        weights: Option<Buffer<f32>>,
    ) -> Result<Self> {
        let graph = Self { offsets, targets, weights };
        graph.check()?;
        Ok(graph)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many undirected edges there are.
    pub fn edges(&self) -> usize {
        self.targets.len() / 2
    }

    /// How many edges meet at `node`.
    pub fn degree(&self, node: u32) -> usize {
        self.neighbors(node).len()
    }

    /// The nodes that share an edge with `node`, in ascending order.
    pub fn neighbors(&self, node: u32) -> &[u32] {
        &self.targets[self.row(node)]
    }

    /// The weights of the edges to [`neighbors`](Self::neighbors), if edges have weights.
    pub fn edge_weights(&self, node: u32) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.row(node)])
    }

    /// Whether an edge joins the two nodes.
    pub fn has_edge(&self, u: u32, v: u32) -> bool {
        self.neighbors(u).binary_search(&v).is_ok()
    }

    /// Row starts in [`targets`](Self::targets): one more than there are nodes.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// All neighbour lists, one behind the other.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The weights beside [`targets`](Self::targets), if edges have weights.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Each edge once, as `(smaller, larger)` in ascending order.
    pub fn edge_iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.nodes() as u32)
            .flat_map(|u| self.neighbors(u).iter().filter(move |&&v| u < v).map(move |&v| (u, v)))
    }

    /// How many nodes have no edge.
    pub fn isolated(&self) -> usize {
        self.offsets.par_windows(2).filter(|row| row[0] == row[1]).count()
    }

    /// The bytes of the arrays, whether in memory or in a mapped file.
    pub fn bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |weights| size_of_val(&weights[..]));
        (size_of_val(&self.offsets[..]) + size_of_val(&self.targets[..]) + weights) as u64
    }

    /// Whether the arrays lie in a mapped file.
    pub fn is_mapped(&self) -> bool {
        self.targets.is_mapped()
    }

    fn row(&self, node: u32) -> std::ops::Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Input(format!("not a valid graph: {what}")));
        let (offsets, targets) = (self.offsets(), self.targets());
        if offsets.is_empty() || offsets.len() - 1 > MAX_NODES {
            return wrong("it needs one row start more than nodes, and at most 2^31 nodes");
        }
        if offsets[0] != 0 || offsets[offsets.len() - 1] != targets.len() as u64 {
            return wrong("row starts do not span the neighbour lists");
        }
        if !offsets.par_windows(2).all(|row| row[0] <= row[1]) {
            return wrong("row starts decrease");
        }
        let nodes = self.nodes() as u32;
        let sorted = |u: u32| {
            let row = self.neighbors(u);
            row.iter().all(|&v| v < nodes && v != u) && row.windows(2).all(|pair| pair[0] < pair[1])
        };
        if !(0..nodes).into_par_iter().all(sorted) {
            return wrong("a neighbour list is unsorted, repeats, loops or leaves the graph");
        }
        if !self.is_symmetric() {
            return wrong("an edge or its weight is missing in one direction");
        }
        match self.weights() {
            Some(weights) if weights.len() != targets.len() => wrong("edges and weights differ in number"),
            Some(weights) if !weights.par_iter().all(|&w| w.is_finite() && w > 0.0) => {
                wrong("an edge weight is not a positive number")
            }
            _ => Ok(()),
        }
    }

    /// Compares order-free fingerprints of the two triangles: linear time, no search, and a
    /// graph that is not symmetric passes with a chance of 2^-64.
    fn is_symmetric(&self) -> bool {
        let weights = self.weights().filter(|weights| weights.len() == self.targets.len());
        let fingerprint = |u: u32| {
            self.row(u).fold(0u64, |sum, at| {
                let v = self.targets[at];
                let weight = weights.map_or(0, |weights| weights[at].to_bits());
                let edge = mix(mix((u.min(v) as u64) << 32 | u.max(v) as u64) ^ weight as u64);
                if u < v { sum.wrapping_add(edge) } else { sum.wrapping_sub(edge) }
            })
        };
        (0..self.nodes() as u32).into_par_iter().map(fingerprint).reduce(|| 0, u64::wrapping_add) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csr(offsets: &[u64], targets: &[u32]) -> Result<Graph> {
        Graph::from_csr(offsets.to_vec().into(), targets.to_vec().into(), None)
    }

    #[test]
    fn a_path_has_the_neighbours_drawn() {
        // 0 - 1 - 2
        let graph = Graph::from_edges(3, &[(0, 1), (2, 1)]).unwrap();
        assert_eq!(graph.offsets(), [0, 1, 3, 4]);
        assert_eq!(graph.targets(), [1, 0, 2, 1]);
        assert!(graph.has_edge(1, 2) && !graph.has_edge(0, 2));
        assert_eq!(graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(graph.bytes(), 4 * 8 + 4 * 4);
    }

    #[test]
    fn arrays_that_break_a_promise_are_refused() {
        assert!(csr(&[0, 1, 2], &[1, 0]).is_ok());
        assert!(csr(&[], &[]).is_err(), "no row start");
        assert!(csr(&[0, 1], &[0]).is_err(), "self loop");
        assert!(csr(&[0, 1, 2], &[1, 7]).is_err(), "outside");
        assert!(csr(&[0, 2, 1, 2], &[1, 0]).is_err(), "row starts decrease");
        assert!(csr(&[0, 1, 1], &[1]).is_err(), "one direction only");
        assert!(csr(&[0, 2, 3, 4], &[2, 1, 0, 0]).is_err(), "unsorted");
        assert!(csr(&[0, 1, 3], &[1, 0]).is_err(), "span");
    }

    #[test]
    fn weights_must_be_positive_finite_and_equal_in_both_directions() {
        let weighted = |weights: &[f32]| {
            Graph::from_csr(vec![0, 1, 2].into(), vec![1, 0].into(), Some(weights.to_vec().into()))
        };
        assert!(weighted(&[2.5, 2.5]).is_ok());
        for bad in [&[1.0, 2.0][..], &[0.0, 0.0], &[-1.0, -1.0], &[f32::NAN, f32::NAN], &[1.0]] {
            assert!(weighted(bad).is_err(), "{bad:?}");
        }
    }
}
