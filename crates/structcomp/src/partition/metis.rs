//! METIS 5.2.1, the partitioner of the paper, on graphs that have been checked.

mod strict;

use super::config::{Limits, Method, Partitioning};
use super::{Partition, Partitioner, check_clusters, check_node_weights};
use crate::{Error, Graph, Result, Seed};
use metis::option::UFactor;
use std::sync::Mutex;

pub(super) const KWAY: Method = Method {
    name: "metis",
    about: "METIS 5.2.1 k-way, the paper's choice; clusters it leaves empty are removed",
    limits: Limits::Aims,
    weighs_nodes: true,
    per_component: false,
    make: |config| Box::new(Metis::of(config)),
};

pub(super) const RECURSIVE: Method = Method {
    name: "metis-recursive",
    about: "METIS 5.2.1 by recursive bisection: several times cheaper, less even",
    make: |config| Box::new(Metis { recursive: true, ..Metis::of(config) }),
    ..KWAY
};

pub(super) const STRICT: Method = Method {
    name: "metis-strict",
    about: "metis, then evened out whatever it cuts, as METIS 5.1 did in the paper",
    make: |config| Box::new(Metis { strict: true, ..Metis::of(config) }),
    ..KWAY
};

/// METIS, k-way or by recursive bisection, with its own settings.
///
/// METIS trusts its input: given a directed edge, a self loop or an id out of range it corrupts memory.
/// A [`Graph`] has none of these. Where METIS leaves clusters empty they are removed, so there may be
/// fewer than asked for, and clusters may be larger than the balance aimed at.
///
/// What the paper ran was METIS 5.1, whose clusters of ten nodes are far worse: its last step insists on
/// a balance of 3 %, which whole nodes cannot meet, and keeps moving nodes whatever that cuts. `strict`
/// adds such a step to METIS 5.2.1, so that its effect can be studied; it is not METIS 5.1 itself.
///
/// K-way METIS takes nothing from the seed where clusters have fewer than 30 nodes: it then leaves the
/// work to its recursive bisection with a seed of its own.
///
/// METIS counts weights in whole numbers. Other edge weights are scaled until the largest is 1000.
///
/// # Reference
/// G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs.
/// SIAM J. Sci. Comput. 20(1), 1998.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metis {
    /// Recursive bisection instead of k-way partitioning.
    pub recursive: bool,
    /// Even the clusters out afterwards, whatever it cuts.
    pub strict: bool,
    /// The balance aimed at, as a share of the average size; METIS's own where absent, that is 0.03
    /// for k-way partitioning and 0.001 for each bisection.
    pub imbalance: Option<f64>,
    /// What each node counts for in the size of its cluster; one where absent.
    pub node_weights: Option<Vec<u32>>,
}

/// METIS draws from one random generator for the whole process, so two calls at once would disturb
/// each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Partitioner for Metis {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        check_clusters(graph.nodes(), clusters)?;
        if self.strict && self.node_weights.is_some() {
            return Err(Error::Input(
                "clusters are evened out by their number of nodes, not by weights".into(),
            ));
        }
        let nodes = graph.nodes();
        let weights = self.node_weights.as_deref().map(|weights| check_node_weights(weights, nodes));
        let weights = weights.transpose()?.map(whole_node_weights).transpose()?;
        if clusters == 1 {
            return Partition::new(vec![0; nodes]);
        }
        // Nothing to decide, and METIS stumbles over clusters of one node.
        if clusters == nodes {
            return Partition::new((0..nodes as u32).collect());
        }
        let too_large = || {
            Error::Input(format!(
                "METIS numbers nodes and edges with 32 bits, too few for {nodes} nodes and {} edges; use the \
                 method multilevel or label-propagation",
                graph.edges()
            ))
        };
        let offset = |at: u64| i32::try_from(at).map_err(|_| too_large());
        let offsets = graph.offsets().iter().map(|&at| offset(at)).collect::<Result<Vec<i32>>>()?;
        offset(nodes as u64)?;
        let targets: &[i32] = bytemuck::cast_slice(graph.targets());
        let edge_weights = whole_edge_weights(graph);

        let mut problem = metis::Graph::new(1, offset(clusters as u64)?, &offsets, targets)
            .map_err(|error| Error::Input(format!("METIS refuses the graph: {error}")))?
            .set_option(metis::option::Seed((seed.key("metis") >> 33) as i32));
        if let Some(weights) = &weights {
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
        done.map_err(|error| Error::Input(format!("METIS gave up: {error}")))?;
        let mut part: Vec<u32> = part.into_iter().map(|cluster| cluster as u32).collect();
        if self.strict {
            strict::even_out(graph, &mut part, clusters, self.imbalance.unwrap_or(0.03), seed);
        }
        Ok(Partition::renumbered(part))
    }
}

impl Metis {
    fn of(config: &Partitioning) -> Self {
        let (imbalance, node_weights) = (config.imbalance, config.node_weights.clone());
        Self { imbalance, node_weights, ..Self::default() }
    }
}

fn whole_node_weights(weights: &[u32]) -> Result<Vec<i32>> {
    let total: u64 = weights.iter().map(|&weight| weight as u64).sum();
    if total > i32::MAX as u64 {
        return Err(Error::Input(format!(
            "METIS counts node weights with 32 bits, too few for {total} in all; scale them down"
        )));
    }
    Ok(weights.iter().map(|&weight| weight as i32).collect())
}

/// The edge weights in whole numbers: as they are where they are whole and few, else scaled.
fn whole_edge_weights(graph: &Graph) -> Option<Vec<i32>> {
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
    fn both_ways_find_the_cliques() {
        let graph = ring(20, 8);
        for recursive in [false, true] {
            let metis = Metis { recursive, ..Metis::default() };
            let partition = metis.partition(&graph, 20, Seed(0)).unwrap();
            assert_eq!((partition.clusters(), cut(&graph, &partition)), (20, 20.0));
        }
    }

    #[test]
    fn what_crashes_or_confuses_metis_does_not_reach_it() {
        let metis = Metis::default();
        // Directed input, self loops and duplicates: the graph is checked and mended first.
        let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (1, 2), (3, 3), (4, 3), (5, 4), (0, 2)]).unwrap();
        assert_eq!(metis.partition(&graph, 2, Seed(0)).unwrap().clusters(), 2);
        // An id out of range is refused before there is a graph.
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
    fn threads_that_share_metis_do_not_disturb_each_other() {
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
    fn weights_are_passed_on() {
        // A path of four whose middle edge is heavy, in whole numbers and in fractions.
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
        assert!(heavy.partition(&graph, 2, Seed(0)).unwrap_err().to_string().contains("32 bits"));
    }

    #[test]
    fn evening_out_gives_equal_sizes_for_more_cut() {
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
