//! Partitioning by coarsening: groups of nodes are contracted, level by level, until the requested
//! number of nodes is left.
//!
//! Three methods share this driver. They differ in how they choose the groups of a level ([`Rule`]).
//! Each connected component is coarsened separately, so rules only see connected graphs.

pub(super) mod laplacian;
pub(super) mod matching;
mod shares;

use super::level::{Level, group};
use super::{Partition, check_clusters};
use crate::random::mix;
use crate::{Graph, Result, Seed};
use rayon::prelude::*;

/// How a coarsening method treats connected components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Return exactly the requested number of clusters. Components get clusters in proportion to their
    /// nodes. Components too small for a cluster of their own are packed together: from the largest
    /// down, each joins the smallest cluster of such components.
    #[default]
    Exact,
    /// As the paper's authors ran it: coarsen each component of more than ten nodes by the same ratio, in
    /// at most ten levels, stopping at a level that removes two nodes or fewer. Nodes of smaller
    /// components stay singletons. This returns more clusters than requested: about 450 instead of 271
    /// for Cora.
    PerComponent,
}

impl Reduction {
    pub(super) fn of(per_component: bool) -> Self {
        if per_component { Self::PerComponent } else { Self::Exact }
    }
}

/// With [`Reduction::PerComponent`], the largest component that is not coarsened.
const SMALL: u32 = 10;
/// With [`Reduction::PerComponent`], the maximum number of levels.
const LEVELS: usize = 10;
/// With [`Reduction::PerComponent`], a level that removes no more nodes than this is discarded.
const FEW: usize = 2;

/// How a method chooses the groups to contract. Each component has its own instance, which may keep
/// state between levels.
pub(super) trait Rule {
    /// Groups the nodes of `level`, a connected graph.
    fn groups(&mut self, level: &Level, step: LevelLimits) -> Groups;
}

/// The constraints on one level of coarsening.
#[derive(Clone, Copy)]
pub(super) struct LevelLimits {
    /// The maximum number of nodes to remove.
    pub(super) most: usize,
    /// Whether the target must be reached. If so, a level that would remove less than a tenth of the
    /// nodes also forms groups that the original method does not.
    pub(super) insist: bool,
    /// The random seed of this level.
    pub(super) key: u64,
}

impl LevelLimits {
    /// Whether these groups remove too few nodes to reach the target.
    pub(super) fn stalls(&self, nodes: usize, groups: &Groups) -> bool {
        self.insist && groups.removed < self.most && groups.removed * 10 < nodes
    }

    /// A reproducible random tie-breaker, different for each item.
    pub(super) fn chance(&self, item: u64) -> u64 {
        mix(self.key ^ item)
    }
}

/// Disjoint groups of nodes to contract; ungrouped nodes stay as they are.
pub(super) struct Groups {
    /// One member of each node's group, or [`ALONE`].
    leader: Vec<u32>,
    removed: usize,
}

const ALONE: u32 = u32::MAX;

impl Groups {
    pub(super) fn none(nodes: usize) -> Self {
        Self { leader: vec![ALONE; nodes], removed: 0 }
    }

    pub(super) fn is_alone(&self, node: u32) -> bool {
        self.leader[node as usize] == ALONE
    }

    /// The number of nodes that contracting all groups removes.
    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    /// Forms a group of ungrouped nodes.
    pub(super) fn join(&mut self, members: &[u32]) {
        members.iter().for_each(|&node| self.leader[node as usize] = members[0]);
        self.removed += members.len() - 1;
    }

    /// Adds an ungrouped node to the group of another.
    pub(super) fn add(&mut self, node: u32, to: u32) {
        self.leader[node as usize] = self.leader[to as usize];
        self.removed += 1;
    }

    /// The group of each node, numbered by first members, and the number of groups.
    pub(super) fn numbered(&self) -> (Vec<u32>, usize) {
        let mut number = vec![ALONE; self.leader.len()];
        let mut count = 0;
        let mut label = Vec::with_capacity(self.leader.len());
        for (node, &leader) in self.leader.iter().enumerate() {
            let slot = &mut number[if leader == ALONE { node } else { leader as usize }];
            if *slot == ALONE {
                *slot = count;
                count += 1;
            }
            label.push(*slot);
        }
        (label, count as usize)
    }
}

/// Partitions a graph by coarsening its components with `rule`.
pub(super) fn coarsened<R: Rule>(
    graph: &Graph,
    clusters: usize,
    reduction: Reduction,
    seed: Seed,
    rule: impl Fn() -> R + Sync,
) -> Result<Partition> {
    check_clusters(graph.nodes(), clusters)?;
    let components = graph.components();
    let sizes = components.sizes();
    let (starts, members) = group(components.of(), components.count());
    let nodes = |c: usize| &members[starts[c] as usize..starts[c + 1] as usize];
    let mut place = vec![0; graph.nodes()];
    for c in 0..sizes.len() {
        (0..).zip(nodes(c)).for_each(|(at, &node)| place[node as usize] = at);
    }
    let targets = match reduction {
        Reduction::Exact => shares::exact(sizes, clusters),
        Reduction::PerComponent => shares::same_ratio(sizes, clusters, SMALL),
    };
    let labels: Vec<Vec<u32>> = (0..sizes.len())
        .into_par_iter()
        .filter(|&c| (1..sizes[c] as usize).contains(&targets.of[c]))
        .map(|c| {
            let key = mix(seed.key("coarsening") ^ c as u64);
            coarsen(Level::component(graph, nodes(c), &place), targets.of[c], reduction, key, rule())
        })
        .collect();
    let mut labels = labels.into_iter();
    let (mut cluster, mut next) = (vec![0; graph.nodes()], 0);
    for (c, (&size, &target)) in sizes.iter().zip(&targets.of).enumerate() {
        // Components skipped above have no cluster of their own, or one per node.
        let label = match target {
            0 => continue,
            target if target == size as usize => (0..size).collect(),
            _ => labels.next().unwrap_or_default(),
        };
        nodes(c).iter().zip(&label).for_each(|(&node, &label)| cluster[node as usize] = next + label);
        next += label.iter().max().map_or(0, |last| last + 1);
    }
    for (c, bin) in shares::packed(sizes, &targets) {
        nodes(c).iter().for_each(|&node| cluster[node as usize] = next + bin);
    }
    Partition::new(cluster)
}

/// Contracts a connected graph to `target` nodes and returns the final node of each input node.
fn coarsen(level: Level, target: usize, reduction: Reduction, key: u64, mut rule: impl Rule) -> Vec<u32> {
    let exact = reduction == Reduction::Exact;
    let mut part: Vec<u32> = (0..level.nodes() as u32).collect();
    let mut level = level;
    for round in 0.. {
        let nodes = level.nodes();
        if nodes <= target || (!exact && round == LEVELS) {
            break;
        }
        // As in the published code, a level keeps at least one node in a hundred.
        let most = (nodes - target).min(nodes * 99 / 100);
        let step = LevelLimits { most, insist: exact, key: mix(key ^ round as u64) };
        let (label, count) = rule.groups(&level, step).numbered();
        if count == nodes || (!exact && nodes - count <= FEW) {
            break;
        }
        part.iter_mut().for_each(|part| *part = label[*part as usize]);
        level = level.contract(&label, count);
    }
    part
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::EdgeList;
    use rand::RngExt;

    /// A ring with random chords and random weights: connected, with distinct edge weights.
    pub(in crate::partition) fn chords(nodes: u32, chords: usize, seed: u64) -> Graph {
        let mut rng = Seed(seed).stream("chords");
        let mut edge = |u: u32, v: u32| ((u as u64) << 32 | v as u64, rng.random_range(0.5f32..2.0));
        let mut edges: Vec<(u64, f32)> = (0..nodes).map(|u| edge(u, (u + 1) % nodes)).collect();
        let ends = |i: usize| (mix(seed ^ i as u64) as u32 % nodes, mix(!seed ^ i as u64) as u32 % nodes);
        edges.extend((0..chords).map(ends).map(|(u, v)| edge(u, v)));
        EdgeList::from_weighted(edges).build(nodes as usize).unwrap().0
    }

    /// The whole graph as a level, and the level after contracting consecutive pairs of nodes.
    pub(in crate::partition) fn levels(graph: &Graph) -> [Level<'_>; 2] {
        let fine = Level::finest(graph, vec![1; graph.nodes()].into());
        let label: Vec<u32> = (0..graph.nodes() as u32).map(|node| node / 2).collect();
        let coarse = fine.contract(&label, graph.nodes().div_ceil(2));
        [fine, coarse]
    }

    /// The weights W of a level as a dense matrix.
    pub(in crate::partition) fn full(level: &Level) -> Vec<Vec<f64>> {
        let mut w = vec![vec![0.0; level.nodes()]; level.nodes()];
        for (u, row) in (0..).zip(&mut w) {
            level.each_neighbor(u, |v, weight| row[v as usize] = weight as f64);
        }
        w
    }

    /// The Laplacian D - W of weights W.
    pub(in crate::partition) fn laplacian(w: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let entry = |u: usize, v: usize| if u == v { w[u].iter().sum::<f64>() - w[u][u] } else { -w[u][v] };
        (0..w.len()).map(|u| (0..w.len()).map(|v| entry(u, v)).collect()).collect()
    }

    pub(in crate::partition) fn step(most: usize) -> LevelLimits {
        LevelLimits { most, insist: false, key: 5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::config::METHODS;
    use crate::{Partitioner, Partitioning};
    use proptest::prelude::*;

    fn methods(per_component: bool) -> Vec<Box<dyn Partitioner>> {
        let config =
            |method: &str| Partitioning { method: method.into(), per_component, ..Default::default() };
        let coarsening = METHODS.iter().filter(|method| method.per_component);
        coarsening.map(|method| config(method.name).partitioner().unwrap()).collect()
    }

    fn check(graph: &Graph, clusters: usize, seed: Seed) {
        for method in methods(false) {
            let partition = method.partition(graph, clusters, seed).unwrap();
            assert_eq!((partition.nodes(), partition.clusters()), (graph.nodes(), clusters));
        }
    }

    #[test]
    fn every_shape_is_coarsened_to_any_number_of_clusters() {
        assert_eq!(methods(false).len(), 3);
        let nodes = 70u32;
        let star = (1..nodes).map(|leaf| (0, leaf)).collect::<Vec<_>>();
        let path = (1..nodes).map(|node| (node - 1, node)).collect();
        let clique = (0..nodes).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        let stars = (2..nodes).map(|leaf| (leaf % 2, leaf)).collect();
        let pairs = (0..nodes / 2).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        for edges in [star, path, clique, stars, pairs, Vec::new()] {
            let graph = Graph::from_edges(nodes as usize, &edges).unwrap();
            (1..=nodes as usize).step_by(3).for_each(|clusters| check(&graph, clusters, Seed(2)));
        }
        check(&Graph::from_edges(1, &[]).unwrap(), 1, Seed(0));
    }

    #[test]
    fn a_large_star_does_not_need_one_level_per_leaf() {
        let star: Vec<_> = (1..200_000).map(|leaf| (0, leaf)).collect();
        check(&Graph::from_edges(200_000, &star).unwrap(), 20_000, Seed(0));
    }

    #[test]
    fn impossible_numbers_of_clusters_are_rejected() {
        let graph = Graph::from_edges(3, &[(0, 1)]).unwrap();
        for method in methods(false).iter().chain(&methods(true)) {
            assert!(method.partition(&graph, 4, Seed(0)).is_err());
            assert!(method.partition(&graph, 0, Seed(0)).is_err());
        }
    }

    #[test]
    fn per_component_shrinks_by_one_ratio_and_leaves_small_components_alone() {
        // A clique of 40, one of 20, one of 10, and 5 nodes without edges: 15 clusters of 75 nodes.
        let clique =
            |first: u32, size: u32| (first..first + size).flat_map(move |u| (first..u).map(move |v| (u, v)));
        let edges: Vec<_> = clique(0, 40).chain(clique(40, 20)).chain(clique(60, 10)).collect();
        let graph = Graph::from_edges(75, &edges).unwrap();
        for method in methods(true) {
            let partition = method.partition(&graph, 15, Seed(0)).unwrap();
            let within = |first: usize, size: usize| {
                let mut found = partition.assignment()[first..first + size].to_vec();
                found.sort_unstable();
                found.dedup();
                found.len()
            };
            // A last level that removes one or two nodes is discarded, and neighbourhoods of a
            // clique are too large to be contracted at all.
            assert!((8..=10).contains(&within(0, 40)) || within(0, 40) == 40);
            assert!((4..=6).contains(&within(40, 20)) || within(40, 20) == 20);
            assert_eq!((within(60, 10), within(70, 5)), (10, 5));
        }
    }

    #[test]
    fn threads_change_nothing_and_seeds_do() {
        let graph = testing::chords(9000, 20_000, 1);
        let run = |method: &dyn Partitioner, threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| method.partition(&graph, 900, Seed(seed)).unwrap())
        };
        for method in methods(false) {
            let one = run(&*method, 1, 1);
            assert!([2, 3, 8].into_iter().all(|threads| run(&*method, threads, 1) == one));
            assert!(run(&*method, 2, 2) != one);
        }
    }

    /// Contracts a fixed number of pairs per level.
    struct Pairs(u32);

    impl Rule for Pairs {
        fn groups(&mut self, level: &Level, step: LevelLimits) -> Groups {
            let mut groups = Groups::none(level.nodes());
            (0..self.0.min(step.most as u32).min(level.nodes() as u32 / 2))
                .for_each(|pair| groups.join(&[2 * pair, 2 * pair + 1]));
            groups
        }
    }

    #[test]
    fn per_component_stops_after_ten_levels_or_one_that_removes_two_nodes() {
        let graph = testing::chords(100, 50, 0);
        let left = |pairs: u32, reduction: Reduction| {
            let [level, _] = testing::levels(&graph);
            coarsen(level, 10, reduction, 0, Pairs(pairs)).into_iter().max().map(|last| last + 1)
        };
        assert_eq!(left(2, Reduction::PerComponent), Some(100));
        assert_eq!(left(3, Reduction::PerComponent), Some(70));
        // 100, 67, 34, and then 17 pairs.
        assert_eq!(left(33, Reduction::PerComponent), Some(10));
        assert_eq!(left(2, Reduction::Exact), Some(10));
    }

    #[test]
    fn groups_are_numbered_by_their_first_members() {
        let mut groups = Groups::none(6);
        groups.join(&[4, 1]);
        groups.add(5, 1);
        assert_eq!(groups.numbered(), (vec![0, 1, 2, 3, 1, 1], 4));
        assert_eq!(groups.removed(), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_partition_has_the_requested_number_of_clusters(
            nodes in 1usize..150,
            edges in prop::collection::vec((0u64..150, 0u64..150, 1u8..50), 0..300),
            share in 0.0f64..=1.0,
            weighted in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let inside = edges.into_iter().filter(|&(u, v, _)| (u.max(v) as usize) < nodes);
            let weight = |weight: u8| if weighted { weight as f32 / 7.0 } else { 1.0 };
            let list = inside.map(|(u, v, w)| (u << 32 | v, weight(w))).collect();
            let (graph, _) = crate::EdgeList::from_weighted(list).build(nodes).unwrap();
            let clusters = 1 + (share * (nodes - 1) as f64) as usize;
            check(&graph, clusters, Seed(seed));
            for method in methods(true) {
                let partition = method.partition(&graph, clusters, Seed(seed)).unwrap();
                // Each component keeps at least its share, and clusters do not span components.
                prop_assert!(partition.clusters() >= clusters);
                let components = graph.components();
                for cluster in 0..partition.clusters() as u32 {
                    let of = |&node: &u32| components.of()[node as usize];
                    let members = partition.members(cluster);
                    prop_assert!(members.iter().all(|node| of(node) == of(&members[0])));
                }
            }
        }
    }
}
