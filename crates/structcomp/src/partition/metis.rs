//! METIS 5.2.1, the partitioner of the paper, on graphs that have been checked.

use super::config::{Limits, Method};
use super::{Partition, Partitioner, check_clusters, check_node_weights};
use crate::{Error, Graph, Result, Seed};
use metis::option::UFactor;
use std::sync::Mutex;

pub(super) const METHOD: Method = Method {
    name: "metis",
    about: "METIS 5.2.1 k-way, the paper's choice; may leave clusters empty, which are removed",
    limits: Limits::Aims,
    weighs_nodes: true,
    make: |config| {
        let (imbalance, node_weights) = (config.imbalance, config.node_weights.clone());
        Box::new(Metis { recursive: false, imbalance, node_weights })
    },
};

pub(super) const RECURSIVE: Method = Method {
    name: "metis-recursive",
    about: "METIS 5.2.1 by recursive bisection: several times cheaper, less balanced",
    make: |config| {
        let (imbalance, node_weights) = (config.imbalance, config.node_weights.clone());
        Box::new(Metis { recursive: true, imbalance, node_weights })
    },
    ..METHOD
};

/// METIS, k-way or by recursive bisection, with its own settings.
///
/// METIS trusts its input: given a directed edge, a self loop or an id out of range it corrupts memory.
/// A [`Graph`] has none of these. Where METIS leaves clusters empty they are removed, so there may be
/// fewer than asked for, and clusters may be larger than the balance aimed at.
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
        let targets: Vec<i32> = graph.targets().iter().map(|&node| node as i32).collect();
        let edge_weights = whole_edge_weights(graph);

        let mut problem = metis::Graph::new(1, offset(clusters as u64)?, &offsets, &targets)
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
        Ok(Partition::renumbered(part.into_iter().map(|cluster| cluster as u32).collect()))
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
