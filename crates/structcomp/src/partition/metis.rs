//! METIS 5.2.1, the partitioner used in the paper.

mod strict;

use super::config::{Limits, Method, Partitioning};
use super::{Partition, Partitioner, check_clusters, check_node_weights};
use crate::{Error, Graph, Result, Seed};
use metis::option::UFactor;
use std::sync::Mutex;

pub(super) const KWAY: Method = Method {
    name: "metis",
    about: "METIS 5.2.1 k-way, as in the paper; empty clusters are removed",
    limits: Limits::Aims,
    weighs_nodes: true,
    per_component: false,
    make: |config| Box::new(Metis::of(config)),
};

pub(super) const RECURSIVE: Method = Method {
    name: "metis-recursive",
    about: "METIS 5.2.1 recursive bisection: several times faster, less balanced",
    make: |config| Box::new(Metis { recursive: true, ..Metis::of(config) }),
    ..KWAY
};

pub(super) const STRICT: Method = Method {
    name: "metis-strict",
    about: "metis with the strict balancing of METIS 5.1, which the paper used; cuts more edges",
    weighs_nodes: false,
    make: |config| Box::new(Metis { strict: true, ..Metis::of(config) }),
    ..KWAY
};

/// METIS k-way partitioning or recursive bisection.
///
/// METIS does not check its input: a directed edge, a self-loop or an id out of range corrupts memory. A
/// [`Graph`] has none of these, and one that others could change is copied first. Clusters that METIS leaves empty are removed, so there may be fewer than
/// requested, and clusters may exceed the target balance.
///
/// The paper used METIS 5.1, which gives much worse clusters of about ten nodes: its last step enforces
/// an imbalance of 3 %, which is impossible with so few nodes, and keeps moving nodes whatever the cut.
/// `strict` adds such a step to METIS 5.2.1 so that its effect can be studied. It is not METIS 5.1 itself.
///
/// With fewer than 30 nodes per cluster, k-way METIS ignores the seed: it uses its recursive bisection
/// with a fixed seed.
///
/// METIS uses integer weights. Fractional edge weights are scaled so that the largest is 1000.
///
/// # Reference
/// G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs.
/// SIAM J. Sci. Comput. 20(1), 1998.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metis {
    /// Use recursive bisection instead of k-way partitioning.
    pub recursive: bool,
    /// Balance cluster sizes afterwards at the expense of the cut.
    pub strict: bool,
    /// The target imbalance, as a fraction of the average size; METIS's default is 0.03 for k-way
    /// partitioning and 0.001 for each bisection.
    pub imbalance: Option<f64>,
    /// How much each node adds to the size of its cluster; 1 by default.
    pub node_weights: Option<Vec<u32>>,
}

/// METIS has one random generator per process, so concurrent calls would change each other's results.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Partitioner for Metis {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        let nodes = graph.nodes();
        check_clusters(nodes, clusters)?;
        if self.strict && self.node_weights.is_some() {
            return Err(Error::Input("strict balancing does not support node weights".into()));
        }
        let weights = self.node_weights.as_deref().map(|weights| check_node_weights(weights, nodes));
        let weights = weights.transpose()?.map(integer_node_weights).transpose()?;
        if clusters == 1 {
            return Partition::new(vec![0; nodes]);
        }
        // METIS mishandles clusters of one node.
        if clusters == nodes {
            return Partition::new((0..nodes as u32).collect());
        }
        let graph = &graph.owned()?;
        let mut part = self.run(graph, clusters, weights.as_deref(), seed)?;
        if self.strict {
            strict::even_out(graph, &mut part, clusters, self.imbalance.unwrap_or(0.03), seed);
        }
        Ok(Partition::renumbered(part))
    }
}

impl Metis {
    fn run(&self, graph: &Graph, clusters: usize, weights: Option<&[i32]>, seed: Seed) -> Result<Vec<u32>> {
        let nodes = graph.nodes();
        let too_large = || {
            Error::Input(format!(
                "METIS is limited to 32-bit indices, too few for {nodes} nodes and {} edges; use the method \
                 multilevel or label-propagation",
                graph.edges()
            ))
        };
        let index = |at: u64| i32::try_from(at).map_err(|_| too_large());
        let offsets = graph.offsets().iter().map(|&at| index(at)).collect::<Result<Vec<i32>>>()?;
        index(nodes as u64)?;
        let targets: &[i32] = bytemuck::cast_slice(graph.targets());
        let edge_weights = integer_edge_weights(graph);

        let mut problem = metis::Graph::new(1, index(clusters as u64)?, &offsets, targets)
            .map_err(|error| Error::Input(format!("METIS rejected the graph: {error}")))?
            .set_option(metis::option::Seed((seed.key("metis") >> 33) as i32));
        if let Some(weights) = weights {
            problem = problem.set_vwgt(weights);
        }
        if let Some(weights) = &edge_weights {
            problem = problem.set_adjwgt(weights);
        }
        if let Some(imbalance) = self.imbalance {
            problem = problem.set_option(UFactor((imbalance * 1000.0).round().clamp(1.0, 1e6) as i32));
        }
        let mut part = vec![0; nodes];
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let done =
            if self.recursive { problem.part_recursive(&mut part) } else { problem.part_kway(&mut part) };
        drop(guard);
        done.map_err(|error| Error::Input(format!("METIS failed: {error}")))?;
        Ok(part.into_iter().map(|cluster| cluster as u32).collect())
    }

    fn of(config: &Partitioning) -> Self {
        let (imbalance, node_weights) = (config.imbalance, config.node_weights.clone());
        Self { imbalance, node_weights, ..Self::default() }
    }
}

fn integer_node_weights(weights: &[u32]) -> Result<Vec<i32>> {
    let total: u64 = weights.iter().map(|&weight| weight as u64).sum();
    if total > i32::MAX as u64 {
        return Err(Error::Input(format!(
            "node weights sum to {total}, beyond the 32-bit limit of METIS; scale them down"
        )));
    }
    Ok(weights.iter().map(|&weight| weight as i32).collect())
}

/// Integer edge weights: unchanged if they are integers with a small sum, scaled otherwise.
fn integer_edge_weights(graph: &Graph) -> Option<Vec<i32>> {
    let weights = graph.weights()?;
    let total: f64 = weights.iter().map(|&weight| weight as f64).sum();
    let most = weights.iter().copied().fold(0.0f32, f32::max) as f64;
    let whole = weights.iter().all(|weight| weight.fract() == 0.0 && *weight >= 1.0);
    let room = i32::MAX as f64 / 2.0;
    let scale = if whole && total <= room { 1.0 } else { (1000.0 / most).min(room / total) };
    Some(weights.iter().map(|&weight| ((weight as f64 * scale).round() as i32).max(1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeList;

    /// A ring of `cliques` cliques of `size` nodes.
    fn ring(cliques: u32, size: u32) -> Graph {
        let within = |c: u32| (0..size).flat_map(move |i| (0..i).map(move |j| (c * size + i, c * size + j)));
        let edges: Vec<_> =
            (0..cliques).flat_map(|c| within(c).chain([(c * size, (c + 1) % cliques * size + 1)])).collect();
        Graph::from_edges((cliques * size) as usize, &edges).unwrap()
    }

    fn cut(graph: &Graph, partition: &Partition) -> f64 {
        super::super::Quality::of(graph, partition, None).unwrap().cut
    }

    #[test]
    fn both_algorithms_find_the_cliques() {
        let graph = ring(20, 8);
        for recursive in [false, true] {
            let metis = Metis { recursive, ..Metis::default() };
            let partition = metis.partition(&graph, 20, Seed(0)).unwrap();
            assert_eq!((partition.clusters(), cut(&graph, &partition)), (20, 20.0));
        }
    }

    #[test]
    fn inputs_that_crash_metis_never_reach_it() {
        let metis = Metis::default();
        // Directed edges, self-loops and duplicates are repaired when the graph is built.
        let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (1, 2), (3, 3), (4, 3), (5, 4), (0, 2)]).unwrap();
        assert_eq!(metis.partition(&graph, 2, Seed(0)).unwrap().clusters(), 2);
        // An id out of range is rejected when the graph is built.
        assert!(Graph::from_edges(3, &[(0, 3)]).is_err());
        assert!(metis.partition(&graph, 7, Seed(0)).unwrap_err().to_string().contains("at most 6"));
        assert!(metis.partition(&graph, 0, Seed(0)).is_err());
        for recursive in [false, true] {
            let metis = Metis { recursive, ..Metis::default() };
            assert_eq!(metis.partition(&graph, 1, Seed(0)).unwrap().clusters(), 1);
            assert_eq!(metis.partition(&graph, 6, Seed(0)).unwrap().clusters(), 6);
            let empty = Graph::from_edges(0, &[]).unwrap();
            assert!(metis.partition(&empty, 1, Seed(0)).unwrap_err().to_string().contains("no nodes"));
            let isolated = Graph::from_edges(50, &[]).unwrap();
            let partition = metis.partition(&isolated, 7, Seed(0)).unwrap();
            assert!((1..=7).contains(&partition.clusters()) && partition.nodes() == 50);
        }
    }

    #[test]
    fn concurrent_calls_do_not_change_each_others_results() {
        let graph = ring(30, 5);
        let make = |seed| Metis::default().partition(&graph, 12, Seed(seed)).unwrap();
        let alone: Vec<_> = (0..8).map(make).collect();
        let together: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || make(seed))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together);
    }

    #[test]
    fn node_and_edge_weights_reach_metis() {
        // A path of four nodes whose middle edge is heavy, with integer and fractional weights.
        for scale in [1.0, 1e-3] {
            let pairs = [(0u64, 1, 1.0), (1, 2, 900.0), (2, 3, 1.0)];
            let list = pairs.iter().map(|&(u, v, w): &(u64, u64, f32)| (u << 32 | v, w * scale)).collect();
            let (graph, _) = EdgeList::from_weighted(list).build(4).unwrap();
            let metis = Metis { imbalance: Some(0.6), ..Metis::default() };
            let partition = metis.partition(&graph, 2, Seed(0)).unwrap();
            assert_eq!(partition.of(1), partition.of(2));
        }
        let graph = ring(4, 4);
        let weights = Some((0..16).map(|node| if node < 4 { 3 } else { 1 }).collect());
        let weighted = Metis { node_weights: weights, recursive: true, ..Metis::default() };
        let partition = weighted.partition(&graph, 2, Seed(0)).unwrap();
        assert_eq!(partition.sizes().min(), Some(4), "one heavy clique is as large as three light ones");
        let short = Metis { node_weights: Some(vec![1; 3]), ..Metis::default() };
        assert!(short.partition(&graph, 2, Seed(0)).is_err());
        let heavy = Metis { node_weights: Some(vec![u32::MAX; 16]), ..Metis::default() };
        assert!(heavy.partition(&graph, 2, Seed(0)).unwrap_err().to_string().contains("32-bit limit"));
    }

    #[test]
    fn strict_balancing_gives_equal_sizes_at_the_expense_of_the_cut() {
        let graph = ring(20, 9);
        let loose =
            Metis { imbalance: Some(0.3), ..Metis::default() }.partition(&graph, 22, Seed(0)).unwrap();
        let strict = Metis { strict: true, ..Metis::default() }.partition(&graph, 22, Seed(0)).unwrap();
        let spread =
            |partition: &Partition| partition.sizes().max().unwrap() - partition.sizes().min().unwrap();
        assert!(spread(&strict) <= spread(&loose) && spread(&strict) <= 2);
        assert!(cut(&graph, &strict) > cut(&graph, &loose));
    }
}
