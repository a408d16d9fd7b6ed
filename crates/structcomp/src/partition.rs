//! Partitions of the nodes into clusters, and the methods that compute them.

mod affinity_gs;
mod algebraic_jc;
mod coarsening;
mod config;
mod connections;
mod label_propagation;
mod level;
#[cfg(feature = "metis")]
mod metis;
mod multilevel;
mod part_file;
mod quality;
mod random;
mod sweep;
mod variation_neighborhoods;

pub use affinity_gs::AffinityGs;
pub use algebraic_jc::AlgebraicJc;
pub use coarsening::Reduction;
pub use config::{METHODS, Method, Partitioning, Refine};
pub use label_propagation::LabelPropagation;
#[cfg(feature = "metis")]
pub use metis::Metis;
pub use multilevel::Multilevel;
pub use part_file::read_node_weights;
pub use quality::{Gap, Quality};
pub use random::Random;
pub use variation_neighborhoods::VariationNeighborhoods;

use crate::{Error, Graph, Result, Seed};

/// Splits the nodes of a graph into clusters.
///
/// Every method returns the same partition for the same seed and any number of threads, and none
/// returns an empty cluster. Methods that may return another number of clusters than requested
/// document it.
pub trait Partitioner: Sync {
    /// Splits the nodes of `graph` into `clusters` clusters.
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition>;
}

/// The assignment P' of nodes to clusters: node `v` belongs to cluster `of(v)`.
///
/// Clusters are numbered from 0 without gaps, so none is empty.
///
/// ```
/// use structcomp::Partition;
///
/// let partition = Partition::new(vec![0, 1, 0])?;
/// assert_eq!(partition.members(0), [0, 2]);
/// assert_eq!(partition.sizes().collect::<Vec<_>>(), [2, 1]);
/// assert!(Partition::new(vec![0, 2]).is_err(), "cluster 1 is empty");
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    cluster: Vec<u32>,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Partition {
    /// Creates a partition from the cluster of each node. Returns an error if a cluster is empty.
    pub fn new(cluster: Vec<u32>) -> Result<Self> {
        let clusters = cluster.iter().max().map_or(0, |&last| last as usize + 1);
        let empty = |at: usize| {
            Error::Input(format!("cluster {at} of {clusters} is empty; number clusters from 0 without gaps"))
        };
        let nodes = cluster.len();
        if clusters > nodes {
            let mut used = vec![false; nodes];
            cluster.iter().filter(|&&c| (c as usize) < nodes).for_each(|&c| used[c as usize] = true);
            return Err(empty(used.iter().position(|used| !used).unwrap_or(nodes)));
        }
        let partition = Self::with_members(cluster, clusters);
        let gap = partition.sizes().position(|size| size == 0);
        match gap {
            Some(at) => Err(empty(at)),
            None => Ok(partition),
        }
    }

    /// Creates a partition from arbitrary labels, equal for nodes of the same cluster. Clusters are
    /// renumbered from 0 in ascending order of their labels.
    pub fn renumbered(mut label: Vec<u32>) -> Self {
        let mut names = label.clone();
        names.sort_unstable();
        names.dedup();
        for label in &mut label {
            *label = names.partition_point(|name| name < label) as u32;
        }
        Self::with_members(label, names.len())
    }

    fn with_members(cluster: Vec<u32>, clusters: usize) -> Self {
        let mut starts = vec![0; clusters + 1];
        cluster.iter().for_each(|&c| starts[c as usize + 1] += 1);
        for c in 0..clusters {
            starts[c + 1] += starts[c];
        }
        let mut next = starts.clone();
        let mut members = vec![0; cluster.len()];
        for (node, &c) in (0..).zip(&cluster) {
            members[next[c as usize] as usize] = node;
            next[c as usize] += 1;
        }
        Self { cluster, starts, members }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.cluster.len()
    }

    /// The number of clusters.
    pub fn clusters(&self) -> usize {
        self.starts.len() - 1
    }

    /// The cluster of a node.
    pub fn of(&self, node: u32) -> u32 {
        self.cluster[node as usize]
    }

    /// The cluster of every node.
    pub fn assignment(&self) -> &[u32] {
        &self.cluster
    }

    /// The nodes of a cluster, in ascending order.
    pub fn members(&self, cluster: u32) -> &[u32] {
        &self.members[self.starts[cluster as usize] as usize..self.starts[cluster as usize + 1] as usize]
    }

    /// The number of nodes in each cluster.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.starts.windows(2).map(|range| (range[1] - range[0]) as usize)
    }

    /// All nodes, grouped by cluster.
    pub fn by_cluster(&self) -> &[u32] {
        &self.members
    }
}

/// The default imbalance. In clusters of ten nodes it allows one node more than the average, the
/// least that leaves the partitioner any freedom.
const IMBALANCE: f64 = 0.1;

fn check_clusters(nodes: usize, clusters: usize) -> Result<()> {
    match clusters {
        _ if nodes == 0 => Err(Error::Input("cannot partition a graph that has no nodes".into())),
        0 => Err(Error::Input("the number of clusters must be at least 1, got 0".into())),
        _ if clusters > nodes => Err(Error::Input(format!(
            "cannot split {nodes} nodes into {clusters} non-empty clusters; use at most {nodes}"
        ))),
        _ => Ok(()),
    }
}

fn check_node_weights(weights: &[u32], nodes: usize) -> Result<&[u32]> {
    if weights.len() != nodes {
        return Err(Error::Input(format!("got {} node weights for {nodes} nodes", weights.len())));
    }
    if weights.contains(&0) {
        return Err(Error::Input("node weights must be positive, got 0".into()));
    }
    Ok(weights)
}

/// The maximum cluster size, for nodes of total weight `total` and maximum weight `heaviest`:
/// `max_size` if given, otherwise `(1 + imbalance)` times the average, rounded up.
fn limit_on_size(
    total: u64,
    heaviest: u64,
    clusters: usize,
    imbalance: f64,
    max_size: Option<usize>,
) -> Result<u32> {
    if !(imbalance.is_finite() && imbalance >= 0.0) {
        return Err(Error::Input(format!("imbalance must be at least 0, got {imbalance}")));
    }
    let average = total as f64 / clusters as f64;
    let fair = (average * (1.0 + imbalance)).ceil();
    let limit = match max_size {
        Some(limit) => limit as u64,
        None if heaviest == 1 => fair as u64,
        // Nodes of different weights can always be packed if the heaviest one fits on top of the average.
        None => fair.max(average + heaviest as f64) as u64,
    };
    if limit.saturating_mul(clusters as u64) < total || limit < heaviest {
        let least = total.div_ceil(clusters as u64).max(heaviest);
        return Err(Error::Input(format!(
            "{clusters} clusters of size at most {limit} cannot hold nodes of total size {total}; \
             allow a size of at least {least}"
        )));
    }
    let limit = limit.min(total);
    u32::try_from(limit).map_err(|_| {
        Error::Input(format!(
            "maximum cluster size {limit} exceeds {}; scale the node weights down",
            u32::MAX
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_grouped_by_cluster() {
        let partition = Partition::new(vec![1, 0, 1, 2]).unwrap();
        assert_eq!(partition.clusters(), 3);
        assert_eq!(partition.members(1), [0, 2]);
        assert_eq!(partition.by_cluster(), [1, 0, 2, 3]);
        assert_eq!((partition.of(3), partition.nodes()), (2, 4));
        assert_eq!(Partition::new(vec![]).unwrap().clusters(), 0);
    }

    #[test]
    fn gaps_are_rejected_or_closed() {
        assert!(Partition::new(vec![0, 2]).unwrap_err().to_string().contains("cluster 1 of 3 is empty"));
        assert!(Partition::new(vec![0, u32::MAX]).is_err());
        let closed = Partition::renumbered(vec![7, 2, u32::MAX, 7]);
        assert_eq!(closed.assignment(), [1, 0, 2, 1]);
    }

    #[test]
    fn impossible_numbers_of_clusters_are_rejected() {
        assert!(check_clusters(3, 4).unwrap_err().to_string().contains("at most 3"));
        assert!(check_clusters(3, 0).is_err() && check_clusters(0, 1).is_err());
        assert!(check_clusters(3, 3).is_ok() && check_clusters(3, 1).is_ok());
    }
}
