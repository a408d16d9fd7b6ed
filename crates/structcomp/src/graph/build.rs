//! Builds a [`Graph`] from any list of edges and counts the repairs.
//!
//! Every listed edge becomes one 64-bit key: the smaller end, the larger end, and a bit for the
//! direction. The keys are sorted in place ([`sort`]), so duplicates become adjacent and no second list
//! is needed. Then the rows are filled ([`rows`]). Peak memory is at most twice the finished graph,
//! whether the list contains each edge once or in both directions.

mod rows;
mod sort;

use super::{Graph, MAX_NODES, Repairs};
use crate::{Error, Result};
use rayon::prelude::*;

/// Edges as listed in a file: in any order and direction, with duplicates and self loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeList {
    /// `source << 32 | target`.
    pub(crate) plain: Vec<u64>,
    /// Used instead of `plain` if the edges have weights.
    pub(crate) weighted: Vec<(u64, f32)>,
}

impl EdgeList {
    /// An empty list with capacity for `edges` edges.
    pub fn with_capacity(edges: usize) -> Self {
        Self { plain: Vec::with_capacity(edges), weighted: Vec::new() }
    }

    /// Edges from `source << 32 | target` numbers.
    pub fn from_packed(pairs: Vec<u64>) -> Self {
        Self { plain: pairs, weighted: Vec::new() }
    }

    /// Edges from `source << 32 | target` numbers with their weights.
    pub fn from_weighted(pairs: Vec<(u64, f32)>) -> Self {
        Self { plain: Vec::new(), weighted: pairs }
    }

    /// Adds an edge.
    pub fn push(&mut self, source: u32, target: u32) {
        let pair = pack(source, target);
        if self.weighted.is_empty() { self.plain.push(pair) } else { self.weighted.push((pair, 1.0)) }
    }

    /// The entries of a matrix: the weights of those in the same place are added, as scipy and PyTorch do.
    pub fn added(mut self) -> Self {
        if self.plain.par_windows(2).any(|pair| pair[0] >= pair[1]) {
            let mut sorted = self.plain.clone();
            sorted.par_sort_unstable();
            if sorted.par_windows(2).any(|pair| pair[0] == pair[1]) {
                let weighted = std::mem::take(&mut self.plain).into_iter().map(|pair| (pair, 1.0));
                self.weighted = weighted.collect();
            }
        }
        if self.weighted.par_windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            // Keeps the order of the file, on which the last digits of a sum depend.
            self.weighted.par_sort_by_key(|&(pair, _)| pair);
            self.weighted.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
        }
        self
    }

    /// Number of listed edges.
    pub fn len(&self) -> usize {
        self.plain.len() + self.weighted.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Builds the graph with `nodes` nodes and counts the repairs.
    pub fn build(self, nodes: usize) -> Result<(Graph, Repairs)> {
        if nodes > MAX_NODES {
            return Err(Error::Input(format!("{nodes} nodes are more than the 2^31 supported")));
        }
        let Self { plain, weighted } = self;
        if weighted.iter().any(|&(_, weight)| weight != 1.0) {
            return build(nodes, weighted);
        }
        // Weights that are all 1 carry no information.
        let plain =
            if weighted.is_empty() { plain } else { weighted.into_iter().map(|(pair, _)| pair).collect() };
        build(nodes, plain)
    }
}

/// Packs a listed edge into one number.
pub(crate) fn pack(source: u32, target: u32) -> u64 {
    (source as u64) << 32 | target as u64
}

/// A listed edge, with or without a weight.
trait Listed: Copy + Send + Sync {
    const WEIGHTED: bool;
    fn key(&self) -> u64;
    fn set_key(&mut self, key: u64);
    fn weight(&self) -> f32;
}

impl Listed for u64 {
    const WEIGHTED: bool = false;
    #[inline]
    fn key(&self) -> u64 {
        *self
    }
    #[inline]
    fn set_key(&mut self, key: u64) {
        *self = key;
    }
    #[inline]
    fn weight(&self) -> f32 {
        1.0
    }
}

impl Listed for (u64, f32) {
    const WEIGHTED: bool = true;
    #[inline]
    fn key(&self) -> u64 {
        self.0
    }
    #[inline]
    fn set_key(&mut self, key: u64) {
        self.0 = key;
    }
    #[inline]
    fn weight(&self) -> f32 {
        self.1
    }
}

/// The number of edges between a load and its prefetch.
const AHEAD: usize = 32;

fn build<T: Listed>(nodes: usize, mut listed: Vec<T>) -> Result<(Graph, Repairs)> {
    check(nodes, &listed)?;
    let mut repairs = sort::sort_and_drop_repeats(nodes, &mut listed);
    listed.shrink_to_fit();
    let offsets = rows::row_starts(nodes, &listed);
    let (targets, weights) = rows::fill_rows(&offsets, &listed);
    drop(listed);
    let weights = T::WEIGHTED.then(|| weights.into());
    let graph = Graph { offsets: offsets.into(), targets: targets.into(), weights };
    repairs.isolated = graph.isolated() as u64;
    Ok((graph, repairs))
}

/// Fails for ends outside the graph and for invalid weights.
fn check<T: Listed>(nodes: usize, listed: &[T]) -> Result<()> {
    let largest = |edge: &T| ((edge.key() >> 32) as u32).max(edge.key() as u32);
    let is_bad =
        |edge: &&T| largest(edge) as usize >= nodes || !(edge.weight().is_finite() && edge.weight() >= 0.0);
    // In chunks, as rayon's search would check a shared flag before every edge.
    let found = listed.par_chunks(1 << 14).find_map_first(|chunk| chunk.iter().find(is_bad));
    let Some(edge) = found else { return Ok(()) };
    let (u, v, weight) = (edge.key() >> 32, edge.key() as u32, edge.weight());
    Err(Error::Input(match largest(edge) {
        node if node as usize >= nodes => {
            format!("an edge contains node {node}, but there are only {nodes} nodes")
        }
        _ => format!("the edge {u} - {v} has weight {weight}; weights must be finite and non-negative"),
    }))
}

/// The smaller and the larger end of a canonical key: `smaller, larger, direction`.
#[inline]
fn ends(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, (key as u32) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(pairs: &[(u32, u32)]) -> EdgeList {
        EdgeList::from_packed(pairs.iter().map(|&(u, v)| pack(u, v)).collect())
    }

    #[test]
    fn every_repair_is_counted_once() {
        // 0-1 in both directions and a duplicate, 1-2 in one, 2-2 twice; node 3 is isolated.
        let edges = [(0, 1), (1, 0), (0, 1), (2, 1), (2, 2), (2, 2)];
        let (graph, repairs) = list(&edges).build(4).unwrap();
        assert_eq!(graph.targets(), [1, 0, 2, 1]);
        let expected = Repairs {
            listed: 6,
            self_loops: 1,
            duplicates: 2,
            directed: 1,
            isolated: 1,
            ..Repairs::default()
        };
        assert_eq!(repairs, expected);
        let said = "1 self loop dropped, 2 duplicates dropped, 1 one-way edge made two-way";
        assert_eq!(repairs.describe(2).as_deref(), Some(said));
    }

    #[test]
    fn entries_of_a_matrix_are_added() {
        let entries = vec![(pack(1, 0), 2.0), (pack(0, 1), 1.0), (pack(1, 0), 3.0)];
        assert_eq!(EdgeList::from_weighted(entries).added().weighted, [(pack(0, 1), 1.0), (pack(1, 0), 5.0)]);
        let ones = EdgeList::from_packed(vec![pack(1, 0), pack(0, 2), pack(1, 0)]).added();
        assert_eq!((ones.plain.len(), &ones.weighted[..]), (0, &[(pack(0, 2), 1.0), (pack(1, 0), 2.0)][..]));
        let plain = vec![pack(1, 0), pack(0, 2)];
        assert_eq!(EdgeList::from_packed(plain.clone()).added().plain, plain);
    }

    #[test]
    fn the_largest_weight_wins_and_zero_weights_are_dropped() {
        let weighted = [(pack(0, 1), 2.0), (pack(1, 0), 5.0), (pack(0, 1), 3.0), (pack(1, 2), 0.0)];
        let (graph, repairs) = EdgeList::from_weighted(weighted.to_vec()).build(3).unwrap();
        assert_eq!(graph.edge_weights(0), Some(&[5.0][..]));
        assert_eq!(graph.edge_weights(1), Some(&[5.0][..]));
        assert_eq!((repairs.duplicates, repairs.zero_weights, repairs.isolated), (1, 1, 1));
        Graph::from_csr(graph.offsets.clone(), graph.targets.clone(), graph.weights.clone()).unwrap();
    }

    #[test]
    fn weights_of_one_are_not_kept() {
        let (graph, _) = EdgeList::from_weighted(vec![(pack(0, 1), 1.0)]).build(2).unwrap();
        assert!(graph.weights().is_none());
    }

    #[test]
    fn bad_ends_and_weights_are_errors() {
        assert!(list(&[(0, 3)]).build(3).is_err());
        for weight in [-1.0, f32::NAN, f32::INFINITY] {
            assert!(EdgeList::from_weighted(vec![(pack(0, 1), weight)]).build(2).is_err());
        }
        assert!(EdgeList::default().build(MAX_NODES + 1).is_err());
        assert_eq!(EdgeList::default().build(0).unwrap().0.nodes(), 0);
    }

    #[test]
    fn large_lists_give_the_same_graph_as_a_simple_implementation() {
        for nodes in [3u64, 700, 70_000] {
            let mixed = (0..400_000u64).map(crate::random::mix);
            let pairs: Vec<u64> =
                mixed.map(|r| pack((r % nodes) as u32, (r >> 32) as u32 % nodes as u32)).collect();
            let (graph, repairs) = EdgeList::from_packed(pairs.clone()).build(nodes as usize).unwrap();
            let mut ordered = std::collections::BTreeSet::new();
            let mut rows = vec![std::collections::BTreeSet::new(); nodes as usize];
            for pair in pairs {
                let (u, v) = ((pair >> 32) as usize, pair as u32);
                ordered.insert(pair);
                if u != v as usize {
                    rows[u].insert(v);
                    rows[v as usize].insert(u as u32);
                }
            }
            let targets: Vec<u32> = rows.iter().flatten().copied().collect();
            assert!(graph.targets() == targets, "{nodes}");
            assert_eq!(repairs.duplicates, 400_000 - ordered.len() as u64);
            assert!(graph.check().is_ok());
        }
    }

    proptest! {
        #[test]
        fn order_direction_and_repeats_do_not_change_a_byte(
            edges in prop::collection::vec((0u32..40, 0u32..40, any::<bool>(), 1usize..3), 0..200),
            threads in 1usize..9,
            shuffle in any::<u64>(),
        ) {
            let clean: Vec<_> = edges.iter().map(|&(u, v, ..)| (u, v)).collect();
            let (expected, _) = list(&clean).build(40).unwrap();
            let mut messy: Vec<_> = edges
                .iter()
                .flat_map(|&(u, v, flip, times)| vec![if flip { (v, u) } else { (u, v) }; times])
                .collect();
            messy.sort_by_key(|&(u, v)| crate::random::mix(shuffle ^ pack(u, v)));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (graph, _) = pool.install(|| list(&messy).build(40)).unwrap();
            prop_assert_eq!(&graph, &expected);
            let checked = Graph::from_csr(graph.offsets.clone(), graph.targets.clone(), None);
            prop_assert_eq!(checked.unwrap(), expected);
        }

        #[test]
        fn weighted_graphs_are_symmetric_and_independent_of_order(
            edges in prop::collection::vec((0u32..20, 0u32..20, 0u8..4), 0..100),
        ) {
            let entries: Vec<_> = edges.iter().map(|&(u, v, w)| (pack(u, v), w as f32)).collect();
            let backwards: Vec<_> = edges.iter().rev().map(|&(u, v, w)| (pack(v, u), w as f32)).collect();
            let (graph, _) = EdgeList::from_weighted(entries).build(20).unwrap();
            let (other, _) = EdgeList::from_weighted(backwards).build(20).unwrap();
            prop_assert_eq!(&graph, &other);
            prop_assert!(graph.check().is_ok());
        }
    }
}
