//! The default method: parallel multilevel partitioning with an exact number of clusters and a hard
//! limit on their size.
//!
//! 1. **Coarsen** ([`cluster`], [`super::level`]): size-constrained label propagation groups nodes, and
//!    each group is contracted. This repeats with larger limits until about as many groups are left as
//!    clusters are requested.
//! 2. **Reduce** ([`reduce`]): surplus groups are dissolved, so that exactly `clusters` remain.
//! 3. **Refine** ([`refine`]): on each level of uncoarsening, nodes move to better clusters, swap, or
//!    push another node onward.
//! 4. **V-cycles**: small groups inside the clusters are contracted and moved as one, then single nodes
//!    are refined again.
//!
//! The result does not depend on the number of threads ([`super::sweep`]).

mod cluster;
mod reduce;
mod refine;

use super::config::{Limits, Method};
use super::level::Level;
use super::sweep::in_pool;
use super::{IMBALANCE, Partition, Partitioner, Refine, check_clusters, check_node_weights, limit_on_size};
use crate::random::mix;
use crate::{Error, Graph, Result, Seed};
use cluster::cluster;
use reduce::reduce;
use refine::{Cut, Distance, Sizes, Worth, refine};
use std::borrow::Cow;

pub(super) const METHOD: Method = Method {
    name: "multilevel",
    about: "native multilevel method: fast, with exact cluster count and size limit",
    limits: Limits::Keeps,
    weighs_nodes: true,
    per_component: false,
    make: |config| {
        Box::new(Multilevel {
            imbalance: config.imbalance.unwrap_or(IMBALANCE),
            max_size: config.max_size,
            refine: config.refine,
            node_weights: config.node_weights.clone(),
            ..Multilevel::default()
        })
    },
};

/// Multilevel partitioning for clusters of a few nodes to a few thousand.
///
/// No cluster is empty and none exceeds the size limit. Isolated nodes are spread over the smallest
/// clusters.
///
/// ```text
///  0 - 1     4 - 5           a a     b b
///  | X | --- | X |    =>     a a --- b b
///  2 - 3     6 - 7           a a     b b
/// ```
///
/// ```
/// use structcomp::partition::Multilevel;
/// use structcomp::{Graph, Partitioner, Seed};
///
/// let squares = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 5), (4, 6), (4, 7), (5, 6), (5, 7), (6, 7)];
/// let graph = Graph::from_edges(8, &[&squares[..], &[(1, 4), (3, 6)]].concat())?;
/// let partition = Multilevel::default().partition(&graph, 2, Seed(0))?;
/// assert!((0..4).all(|node| partition.of(node) == partition.of(0)));
/// assert!((4..8).all(|node| partition.of(node) != partition.of(0)));
/// # Ok::<(), structcomp::Error>(())
/// ```
///
/// # Reference
/// Multilevel partitioning by size-constrained label propagation (Meyerhenke, Sanders, Schulz, SEA
/// 2014), with ejection chains of length two in the refinement.
#[derive(Clone, Debug, PartialEq)]
pub struct Multilevel {
    /// How far a cluster may exceed the average size, as a fraction of it; the limit is rounded up.
    pub imbalance: f64,
    /// The maximum cluster size; overrides `imbalance`.
    pub max_size: Option<usize>,
    /// What refinement minimises.
    pub refine: Refine,
    /// How much each node adds to the size of its cluster; 1 by default.
    pub node_weights: Option<Vec<u32>>,
    /// The number of V-cycles. By default two for sparse graphs, where single moves get stuck early, and
    /// none otherwise.
    pub cycles: Option<usize>,
}

impl Default for Multilevel {
    fn default() -> Self {
        Self { imbalance: IMBALANCE, max_size: None, refine: Refine::Cut, node_weights: None, cycles: None }
    }
}

impl Partitioner for Multilevel {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        check_clusters(graph.nodes(), clusters)?;
        let weights = self.weights(graph)?;
        let sizes = self.sizes(&weights, clusters)?;
        if clusters == 1 {
            return Partition::new(vec![0; graph.nodes()]);
        }
        if clusters == graph.nodes() {
            return Partition::new((0..clusters as u32).collect());
        }
        let seed = seed.key("multilevel partition");
        let part = in_pool(|| match self.refine {
            Refine::Cut => self.split::<Cut>(&Level::finest(graph, weights), sizes, seed),
            Refine::Objective => self.split::<Distance>(&Level::normalized(graph, weights), sizes, seed),
        });
        let part = part.ok_or_else(|| {
            Error::Input(format!(
                "the nodes are too heavy for {clusters} clusters of size at most {}; allow larger clusters",
                sizes.cap
            ))
        })?;
        Partition::new(part)
    }
}

impl Multilevel {
    fn weights<'a>(&'a self, graph: &Graph) -> Result<Cow<'a, [u32]>> {
        let Some(weights) = &self.node_weights else { return Ok(vec![1; graph.nodes()].into()) };
        Ok(check_node_weights(weights, graph.nodes())?.into())
    }

    fn sizes(&self, weights: &[u32], clusters: usize) -> Result<Sizes> {
        let total: u64 = weights.iter().map(|&weight| weight as u64).sum();
        let heaviest = weights.iter().copied().max().unwrap_or(1) as u64;
        let cap = limit_on_size(total, heaviest, clusters, self.imbalance, self.max_size)?;
        let average = total as f64 / clusters as f64;
        Ok(Sizes { clusters, cap, floor: ((average / 4.0) as u32).max(1) })
    }

    /// The cluster of each node; `None` if the nodes cannot be packed within the size limit.
    fn split<W: Worth>(&self, finest: &Level, sizes: Sizes, seed: u64) -> Option<Vec<u32>> {
        let (levels, part, count) = coarsen(finest, sizes, seed);
        let mut part = uncoarsen::<W>(finest, &levels, (part, count), sizes, seed)?;
        drop(levels);
        let sparse = finest.entries() < SPARSE * finest.nodes();
        let cycles = self.cycles.unwrap_or(if sparse { 2 } else { 0 });
        for cycle in 0..cycles as u64 {
            improve::<W>(finest, &mut part, sizes, mix(seed ^ (cycle + 1)));
        }
        Some(part)
    }
}

/// The average degree below which V-cycles run by default. At higher degrees single moves get stuck
/// late, and V-cycles gain little.
const SPARSE: usize = 8;

/// A coarse graph, and the coarse node `of` each node of the finer graph.
struct Coarser {
    of: Vec<u32>,
    level: Level<'static>,
}

/// Growth of the group size limit between levels, and before the clusters themselves.
const GROWTH: f64 = 10.0;
const LAST: f64 = 2.8;
/// The smallest group size limit of the first level. Contracting smaller groups removes too few edges
/// to be worth a level.
const FIRST: f64 = 10.0;

/// The coarse levels, and the clusters of the coarsest one with their number.
fn coarsen(finest: &Level, sizes: Sizes, seed: u64) -> (Vec<Coarser>, Vec<u32>, usize) {
    let mut levels: Vec<Coarser> = Vec::new();
    let mut step = 0;
    let mut group = |level: &Level, limit: u32| {
        step += 1;
        cluster(level, limit, sizes.clusters, None, mix(seed ^ (step - 1)))
    };
    for limit in limits(sizes.cap) {
        let level = levels.last().map_or(finest, |coarser| &coarser.level);
        let (of, count) = group(level, limit);
        if count < level.nodes() {
            let level = level.contract(&of, count);
            levels.push(Coarser { of, level });
        }
    }
    // Clustering twice lets clusters that stayed too small in the first step merge in the second. The
    // graph in between is not kept as a level.
    let level = levels.last().map_or(finest, |coarser| &coarser.level);
    let (first, count) = group(level, sizes.cap);
    let (second, count) = group(&level.contract(&first, count), sizes.cap);
    (levels, first.iter().map(|&group| second[group as usize]).collect(), count)
}

/// The group size limit of each level.
fn limits(cap: u32) -> Vec<u32> {
    let mut limits = vec![(cap as f64 / LAST).ceil() as u32];
    let mut limit = cap as f64 / LAST / GROWTH;
    while limit >= FIRST {
        limits.push(limit.ceil() as u32);
        limit /= GROWTH;
    }
    limits.reverse();
    limits
}

/// Projects clusters from the coarsest level to the finest and refines them on each level; `None` if
/// the nodes cannot be packed.
fn uncoarsen<W: Worth>(
    finest: &Level,
    levels: &[Coarser],
    (mut part, count): (Vec<u32>, usize),
    sizes: Sizes,
    seed: u64,
) -> Option<Vec<u32>> {
    let mut reduced = false;
    for depth in (0..=levels.len()).rev() {
        let level = if depth == 0 { finest } else { &levels[depth - 1].level };
        if depth < levels.len() {
            part = levels[depth].of.iter().map(|&c| part[c as usize]).collect();
        }
        // Nodes that do not fit on this level may fit on a finer one.
        if !reduced {
            reduced = reduce(level, &mut part, count, sizes);
        }
        if reduced {
            refine::<W>(level, &mut part, sizes, mix(seed ^ 0x5ca1e ^ depth as u64));
        }
    }
    reduced.then_some(part)
}

/// One V-cycle: refines groups of nodes inside the clusters, then single nodes.
fn improve<W: Worth>(finest: &Level, part: &mut Vec<u32>, sizes: Sizes, seed: u64) {
    let limit = (sizes.cap as f64 * 0.3).ceil().max(2.0) as u32;
    let (of, count) = cluster(finest, limit, 1, Some(part), seed);
    let level = finest.contract(&of, count);
    let mut coarse = vec![0; count];
    of.iter().zip(&*part).for_each(|(&group, &cluster)| coarse[group as usize] = cluster);
    refine::<W>(&level, &mut coarse, sizes, seed);
    drop(level);
    *part = of.iter().map(|&group| coarse[group as usize]).collect();
    refine::<W>(finest, part, sizes, mix(seed));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(graph: &Graph, partition: &Partition) -> usize {
        graph.edge_iter().filter(|&(u, v)| partition.of(u) != partition.of(v)).count()
    }

    fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
    }

    /// Cliques in a ring, each connected to the next by one edge.
    fn ring_of_cliques(cliques: u32, size: u32) -> Graph {
        let mut edges = Vec::new();
        for first in (0..cliques * size).step_by(size as usize) {
            edges.extend((0..size).flat_map(|i| (0..i).map(move |j| (first + i, first + j))));
            edges.push((first, (first + size) % (cliques * size)));
        }
        Graph::from_edges((cliques * size) as usize, &edges).unwrap()
    }

    #[test]
    fn cliques_are_found_and_only_the_ring_is_cut() {
        let graph = ring_of_cliques(40, 9);
        for refine in [Refine::Cut, Refine::Objective] {
            let partition =
                Multilevel { refine, ..Multilevel::default() }.partition(&graph, 40, Seed(0)).unwrap();
            assert_eq!(cut(&graph, &partition), 40, "{refine:?}");
        }
    }

    #[test]
    fn small_components_stay_whole_and_isolated_nodes_are_spread() {
        // A clique of 30, ten triangles, and 40 nodes without edges, into 10 clusters of 10.
        let mut edges: Vec<(u32, u32)> = (0..30).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        edges
            .extend((0..10).flat_map(|t| {
                [(30 + 3 * t, 31 + 3 * t), (31 + 3 * t, 32 + 3 * t), (30 + 3 * t, 32 + 3 * t)]
            }));
        let graph = Graph::from_edges(100, &edges).unwrap();
        let partition =
            Multilevel { imbalance: 0.0, ..Multilevel::default() }.partition(&graph, 10, Seed(0)).unwrap();
        assert!(partition.sizes().all(|size| size == 10));
        let whole = |t: u32| (1..3).all(|i| partition.of(30 + 3 * t) == partition.of(30 + 3 * t + i));
        assert!((0..10).all(whole));
    }

    #[test]
    fn node_weights_count_in_the_size_of_clusters() {
        let graph = ring_of_cliques(10, 6);
        let weights: Vec<u32> = (0..60).map(|node| 1 + (node % 5)).collect();
        let method =
            Multilevel { node_weights: Some(weights.clone()), max_size: Some(24), ..Multilevel::default() };
        let partition = method.partition(&graph, 10, Seed(3)).unwrap();
        let weight = |c: u32| partition.members(c).iter().map(|&v| weights[v as usize]).sum::<u32>();
        assert!((0..10).all(|c| weight(c) <= 24));
    }

    #[test]
    fn edge_weights_decide_what_is_cut() {
        // A path of four nodes whose middle edge is heavy.
        let pairs = [(0u64, 1, 1.0), (1, 2, 9.0), (2, 3, 1.0)];
        let list = pairs.iter().map(|&(u, v, weight): &(u64, u64, f32)| (u << 32 | v, weight)).collect();
        let (graph, _) = crate::EdgeList::from_weighted(list).build(4).unwrap();
        let partition =
            Multilevel { max_size: Some(3), ..Multilevel::default() }.partition(&graph, 2, Seed(0)).unwrap();
        assert_eq!(partition.of(1), partition.of(2));
    }

    #[test]
    fn impossible_settings_are_rejected() {
        let graph = ring_of_cliques(2, 3);
        let error = |method: Multilevel| method.partition(&graph, 2, Seed(0)).unwrap_err().to_string();
        let plain = Multilevel::default;
        assert!(error(Multilevel { max_size: Some(2), ..plain() }).contains("allow a size of at least 3"));
        assert!(error(Multilevel { imbalance: -1.0, ..plain() }).contains("at least 0"));
        assert!(
            error(Multilevel { node_weights: Some(vec![1]), ..plain() })
                .contains("got 1 node weights for 6 nodes")
        );
        assert!(error(Multilevel { node_weights: Some(vec![0; 6]), ..plain() }).contains("positive"));
        assert!(error(Multilevel { node_weights: Some(vec![u32::MAX; 6]), ..plain() }).contains("scale"));
        // Three nodes of weight two cannot be packed into two clusters of three.
        let heavy = Multilevel { node_weights: Some(vec![2, 2, 2]), max_size: Some(3), ..plain() };
        let path = Graph::from_edges(3, &[(0, 1), (1, 2)]).unwrap();
        assert!(heavy.partition(&path, 2, Seed(0)).unwrap_err().to_string().contains("too heavy"));
    }

    proptest! {
        #[test]
        fn every_partition_has_the_requested_clusters_and_respects_the_limit(
            nodes in 1usize..120,
            edges in prop::collection::vec((0u32..120, 0u32..120), 0..400),
            share in 0.0f64..1.0,
            imbalance in prop::sample::select(vec![0.0, 0.1, 0.5]),
            objective in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|&(u, v)| (u.max(v) as usize) < nodes).collect();
            let graph = Graph::from_edges(nodes, &edges).unwrap();
            let clusters = 1 + (share * (nodes - 1) as f64) as usize;
            let refine = if objective { Refine::Objective } else { Refine::Cut };
            let method = Multilevel { imbalance, refine, ..Multilevel::default() };
            let partition = method.partition(&graph, clusters, Seed(seed)).unwrap();
            let limit = (nodes as f64 / clusters as f64 * (1.0 + imbalance)).ceil() as usize;
            prop_assert_eq!((partition.nodes(), partition.clusters()), (nodes, clusters));
            prop_assert!(partition.sizes().all(|size| (1..=limit).contains(&size)));
        }
    }

    #[test]
    fn threads_change_nothing_and_seeds_do() {
        // Large enough that batches are shared among threads.
        let nodes = 20_000u32;
        let edges: Vec<_> = (0..nodes)
            .flat_map(|u| (1..9).map(move |i| (u, mix((u / 7 + i) as u64) as u32 % nodes)))
            .collect();
        let graph = Graph::from_edges(nodes as usize, &edges).unwrap();
        for refine in [Refine::Cut, Refine::Objective] {
            let method = Multilevel { refine, ..Multilevel::default() };
            let one = with_threads(1, || method.partition(&graph, 2000, Seed(1)).unwrap());
            for threads in [2, 3, 8] {
                assert!(with_threads(threads, || method.partition(&graph, 2000, Seed(1)).unwrap()) == one);
            }
            assert!(method.partition(&graph, 2000, Seed(2)).unwrap() != one);
        }
    }
}
