//! Clusters of nodes: what a partition is, and the methods that make one.

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
/// Every method gives the same bytes for the same seed, whatever the number of threads, and no
/// method returns an empty cluster. Those that cannot promise the number of clusters asked for
/// say so in their own documentation.
pub trait Partitioner: Sync {
    /// The clusters of `graph`, `clusters` of them.
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition>;
}

/// The assignment P' of nodes to clusters: node `v` lies in cluster `of(v)`.
///
/// Clusters are numbered from 0 and none is empty.
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
    /// A partition from the cluster of each node; an error where a cluster is empty.
    pub fn new(cluster: Vec<u32>) -> Result<Self> {
        let clusters = cluster.iter().max().map_or(0, |&last| last as usize + 1);
        let empty = |at: usize| {
            Error::Input(format!("cluster {at} of {clusters} is empty; number the clusters without gaps"))
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

    /// A partition from any numbers, equal for nodes of the same cluster. Clusters are renumbered
    /// from 0 in the order of these numbers, so gaps close.
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

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.cluster.len()
    }

    /// How many clusters there are; none of them is empty.
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

    /// How many nodes each cluster has.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.starts.windows(2).map(|range| (range[1] - range[0]) as usize)
    }

    /// The nodes in the order of their clusters.
    pub fn by_cluster(&self) -> &[u32] {
        &self.members
    }
}

/// How much larger than the average a cluster may be, unless said otherwise: a tenth is one node in
/// clusters of ten, the least that leaves a choice.
const IMBALANCE: f64 = 0.1;

/// Refuses a number of clusters that no partition of `nodes` nodes can have.
fn check_clusters(nodes: usize, clusters: usize) -> Result<()> {
    match clusters {
        _ if nodes == 0 => Err(Error::Input("the graph has no nodes to put into clusters".into())),
        0 => Err(Error::Input("the number of clusters must be at least 1".into())),
        _ if clusters > nodes => Err(Error::Input(format!(
            "{clusters} clusters cannot be made of {nodes} nodes without empty ones; ask for at most {nodes}"
        ))),
        _ => Ok(()),
    }
}

/// Refuses node weights that do not fit the graph.
fn check_node_weights(weights: &[u32], nodes: usize) -> Result<&[u32]> {
    if weights.len() != nodes {
        return Err(Error::Input(format!("there are {} node weights for {nodes} nodes", weights.len())));
    }
    if weights.contains(&0) {
        return Err(Error::Input("a node weight is 0; weights must be positive".into()));
    }
    Ok(weights)
}

/// The largest size that a cluster may have, where all nodes together have size `total` and the
/// heaviest `heaviest`: `max_size`, or the average and a share of it more, rounded up.
fn limit_on_size(
    total: u64,
    heaviest: u64,
    clusters: usize,
    imbalance: f64,
    max_size: Option<usize>,
) -> Result<u32> {
    if !(imbalance.is_finite() && imbalance >= 0.0) {
        return Err(Error::Input(format!("the imbalance must be 0 or more, not {imbalance}")));
    }
    let average = total as f64 / clusters as f64;
    let fair = (average * (1.0 + imbalance)).ceil();
    let limit = match max_size {
        Some(limit) => limit as u64,
        None if heaviest == 1 => fair as u64,
        // Nodes of different weight can always be packed if the heaviest fits on top.
        None => fair.max(average + heaviest as f64) as u64,
    };
    if limit.saturating_mul(clusters as u64) < total || limit < heaviest {
        let least = total.div_ceil(clusters as u64).max(heaviest);
        return Err(Error::Input(format!(
            "{clusters} clusters of at most {limit} cannot hold a graph of size {total}; allow at least {least}"
        )));
    }
    let limit = limit.min(total);
    u32::try_from(limit).map_err(|_| {
        Error::Input(format!("a cluster of size {limit} is too large; scale the node weights down"))
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
    fn gaps_are_refused_or_closed() {
        assert!(Partition::new(vec![0, 2]).unwrap_err().to_string().contains("cluster 1 of 3 is empty"));
        assert!(Partition::new(vec![0, u32::MAX]).is_err());
        let closed = Partition::renumbered(vec![7, 2, u32::MAX, 7]);
        assert_eq!(closed.assignment(), [1, 0, 2, 1]);
    }

    #[test]
    fn impossible_numbers_of_clusters_are_refused() {
        assert!(check_clusters(3, 4).unwrap_err().to_string().contains("at most 3"));
        assert!(check_clusters(3, 0).is_err() && check_clusters(0, 1).is_err());
        assert!(check_clusters(3, 3).is_ok() && check_clusters(3, 1).is_ok());
    }
}
