//! The graph: undirected, in compressed sparse row (CSR) form, validated on construction.

mod build;
mod components;
mod edit;
mod file;
mod hops;
mod normalize;
pub(crate) mod propagate;
mod repairs;

pub use build::EdgeList;
pub use components::Components;
pub use file::GraphWriter;
pub(crate) use file::MAGIC;
pub(crate) use hops::Hops;
pub(crate) use normalize::{Among, normalized, normalized_adjacency, normalized_with_self_loops};
pub use propagate::{Normalization, Propagation};
pub use repairs::Repairs;

use crate::matrix::{Buffer, MappedFile};
use crate::{Error, Result, random::mix};
use rayon::prelude::*;

/// Largest supported number of nodes. Node numbers are `u32`; one bit is reserved so that an edge and
/// its direction fit into one 64-bit sort key.
pub const MAX_NODES: usize = 1 << 31;

/// An undirected graph: each edge is stored in both directions, neighbours are sorted, and there are
/// neither duplicates nor self loops.
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
    /// A graph from pairs of nodes in any order; duplicates and self loops are dropped.
    ///
    /// [`EdgeList::build`] does the same and reports what it dropped.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self> {
        let mut list = EdgeList::with_capacity(edges.len());
        edges.iter().for_each(|&(u, v)| list.push(u, v));
        Ok(list.build(nodes)?.0)
    }

    /// A graph from CSR arrays, owned or mapped; fails unless they satisfy every invariant of the type.
    pub fn from_csr(
        offsets: Buffer<u64>,
        targets: Buffer<u32>,
        weights: Option<Buffer<f32>>,
    ) -> Result<Self> {
        let graph = Self { offsets, targets, weights };
        graph.check()?;
        Ok(graph)
    }

    /// The files it is mapped from.
    pub(crate) fn mapped(&self) -> Vec<&MappedFile> {
        let weights = self.weights.as_ref().and_then(Buffer::file);
        self.offsets.file().into_iter().chain(self.targets.file()).chain(weights).collect()
    }

    /// The same graph in memory that nobody else can change, checked again if it had to be copied.
    #[cfg(feature = "metis")]
    pub(crate) fn owned(&self) -> Result<Self> {
        if self.offsets.is_owned() && self.targets.is_owned() {
            return Ok(self.clone());
        }
        let weights = self.weights.as_ref().map(|weights| weights.to_vec().into());
        Self::from_csr(self.offsets.to_vec().into(), self.targets.to_vec().into(), weights)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of undirected edges.
    pub fn edges(&self) -> usize {
        self.targets.len() / 2
    }

    /// Number of neighbours of `node`.
    pub fn degree(&self, node: u32) -> usize {
        self.neighbors(node).len()
    }

    /// The sum of the weights of a node's edges, or their number.
    pub(crate) fn weighted_degree(&self, node: u32) -> f64 {
        match self.edge_weights(node) {
            Some(weights) => weights.iter().map(|&weight| weight as f64).sum(),
            None => self.degree(node) as f64,
        }
    }

    /// The neighbours of `node`, in ascending order.
    pub fn neighbors(&self, node: u32) -> &[u32] {
        &self.targets[self.row(node)]
    }

    /// The weights of the edges to [`neighbors`](Self::neighbors), if the graph is weighted.
    pub fn edge_weights(&self, node: u32) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.row(node)])
    }

    /// Whether the two nodes are adjacent.
    pub fn has_edge(&self, u: u32, v: u32) -> bool {
        self.neighbors(u).binary_search(&v).is_ok()
    }

    /// Row starts in [`targets`](Self::targets), `nodes + 1` of them.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The neighbour lists of all nodes, concatenated.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// One weight per entry of [`targets`](Self::targets), if the graph is weighted.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Each edge once, as `(smaller, larger)` in ascending order.
    pub fn edge_iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.nodes() as u32)
            .flat_map(|u| self.neighbors(u).iter().filter(move |&&v| u < v).map(move |&v| (u, v)))
    }

    /// Number of nodes without edges.
    pub fn isolated(&self) -> usize {
        self.offsets.par_windows(2).filter(|row| row[0] == row[1]).count()
    }

    /// Size of the arrays, in memory or in a mapped file.
    pub fn bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |weights| size_of_val(&weights[..]));
        (size_of_val(&self.offsets[..]) + size_of_val(&self.targets[..]) + weights) as u64
    }

    /// Whether the arrays are memory-mapped.
    pub fn is_mapped(&self) -> bool {
        self.targets.is_mapped()
    }

    /// A number that stands for this graph: its edges and their weights.
    pub(crate) fn fingerprint(&self) -> u128 {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(bytemuck::cast_slice(self.offsets()));
        hash.update(bytemuck::cast_slice(self.targets()));
        hash.update(bytemuck::cast_slice(self.weights().unwrap_or_default()));
        hash.digest128()
    }

    fn row(&self, node: u32) -> std::ops::Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Input(format!("not a valid graph: {what}")));
        let (offsets, targets) = (self.offsets(), self.targets());
        if offsets.is_empty() || offsets.len() - 1 > MAX_NODES {
            return wrong("it needs one more row start than nodes, and at most 2^31 nodes");
        }
        if offsets[0] != 0 || offsets[offsets.len() - 1] != targets.len() as u64 {
            return wrong("row starts do not span the neighbour lists");
        }
        match self.weights() {
            Some(weights) if weights.len() != targets.len() => {
                return wrong("the number of weights differs from the number of edges");
            }
            Some(weights) if !weights.par_chunks(BLOCK).all(all_positive) => {
                return wrong("an edge weight is not a positive number");
            }
            _ => {}
        }
        // In blocks, as a single row is too little work for a thread.
        let nodes = self.nodes();
        let block = |at: usize| {
            let mut rows = at * ROWS..nodes.min((at + 1) * ROWS);
            rows.try_fold(0, |sum: u64, node| Some(sum.wrapping_add(self.symmetry(node)?)))
        };
        let blocks = (0..nodes.div_ceil(ROWS)).into_par_iter().map(block);
        match blocks.try_reduce(|| 0, |a, b| Some(a.wrapping_add(b))) {
            Some(0) => Ok(()),
            Some(_) => wrong("an edge or its weight differs between the two directions"),
            None => wrong(
                "row starts decrease, or a row is unsorted, has duplicates or self loops, or leaves the graph",
            ),
        }
    }

    /// The row's share of a symmetry check. Each edge is hashed by its ends and its weight; edges to larger
    /// nodes are added, edges to smaller ones subtracted. The sum over all rows is 0 for a symmetric graph,
    /// and for any other one with probability of about 2^-64. This takes linear time and no search.
    /// `None` if the row itself is invalid.
    fn symmetry(&self, node: usize) -> Option<u64> {
        let span = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        let row = self.targets.get(span.clone())?;
        match self.weights() {
            None => self.sum_of_row(node as u32, row, |_, edge| edge),
            Some(weights) => {
                let weights = &weights[span];
                self.sum_of_row(node as u32, row, |at, edge| mix(edge ^ weights[at].to_bits() as u64))
            }
        }
    }

    fn sum_of_row(&self, node: u32, row: &[u32], weighed: impl Fn(usize, u64) -> u64) -> Option<u64> {
        let (mut sum, mut last, mut is_right) = (0u64, -1, true);
        for (at, &other) in row.iter().enumerate() {
            // No early exit: rows are short and nearly always valid.
            is_right &= (last < other as i64) & (other != node);
            last = other as i64;
            let edge = weighed(at, drawn(node.min(other), node.max(other)));
            sum = sum.wrapping_add(if node < other { edge } else { edge.wrapping_neg() });
        }
        (is_right && last < self.nodes() as i64).then_some(sum)
    }
}

/// A hash of a pair: both halves of a product.
fn drawn(smaller: u32, larger: u32) -> u64 {
    let product =
        (smaller as u64 ^ 0x9e37_79b9_7f4a_7c15) as u128 * (larger as u64 ^ 0xbf58_476d_1ce4_e5b9) as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Rows, and weights, checked at a time.
const ROWS: usize = 1 << 10;
const BLOCK: usize = 1 << 14;

fn all_positive(weights: &[f32]) -> bool {
    weights.iter().fold(true, |all, &weight| all & (weight.is_finite() & (weight > 0.0)))
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
        for (what, targets) in [("a loop", [1, 1]), ("outside", [1, 7])] {
            let error = csr(&[0, 1, 2], &targets).unwrap_err().to_string();
            assert!(error.contains("self loops, or leaves the graph"), "{what}: {error}");
        }
        assert!(csr(&[0, 2, 1, 2], &[1, 0]).is_err(), "row starts decrease");
        assert!(csr(&[0, 1, 1], &[1]).is_err(), "one direction only");
        assert!(csr(&[0, 2, 3, 4], &[2, 1, 0, 0]).is_err(), "unsorted");
        assert!(csr(&[0, 2, 4], &[1, 1, 0, 0]).is_err(), "repeated");
        assert!(csr(&[0, 1, 2, 3, 4], &[1, 0, 1, 2]).is_err(), "two directions of different edges");
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
