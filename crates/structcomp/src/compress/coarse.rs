//! The coarse graph A_c, whose nodes are the clusters.

use crate::{Csr, Graph, Partition, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The edge weights of the coarse graph A_c.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoarseWeights {
    /// 1 if any edge connects the clusters, as in the authors' code.
    #[default]
    Binary,
    /// The total weight of the edges between the clusters: P'ᵀAP'.
    Count,
    /// The mean over all pairs of members: PᵀAP, as in the paper.
    Mean,
}

/// How the coarse graph is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Coarsening {
    /// The edge weights.
    pub weights: CoarseWeights,
    /// Whether a cluster with inner edges has a self-loop.
    pub self_loops: bool,
}

impl Default for Coarsening {
    fn default() -> Self {
        Self { weights: CoarseWeights::Binary, self_loops: true }
    }
}

impl Coarsening {
    /// A_c, a symmetric matrix with one row per cluster.
    pub fn adjacency(&self, graph: &Graph, partition: &Partition) -> Result<Csr> {
        let clusters = partition.clusters();
        let row = |sums: &mut Vec<f64>, cluster: usize| {
            let mut met: Vec<u32> = Vec::new();
            for &node in partition.members(cluster as u32) {
                let weights = graph.edge_weights(node);
                for (i, &neighbor) in graph.neighbors(node).iter().enumerate() {
                    let other = partition.of(neighbor);
                    if sums[other as usize] == 0.0 {
                        met.push(other);
                    }
                    sums[other as usize] += weights.map_or(1.0, |weights| weights[i] as f64);
                }
            }
            met.sort_unstable();
            let size = |cluster: u32| partition.members(cluster).len() as f64;
            let entry = |other: u32| {
                let sum = std::mem::take(&mut sums[other as usize]);
                let value = match self.weights {
                    CoarseWeights::Binary => 1.0,
                    CoarseWeights::Count => sum,
                    CoarseWeights::Mean => sum / (size(cluster as u32) * size(other)),
                };
                (other, value as f32)
            };
            let entries: Vec<(u32, f32)> = met.into_iter().map(entry).collect();
            let keeps = |other: u32| self.self_loops || other as usize != cluster;
            entries.into_iter().filter(|&(other, _)| keeps(other)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<(u32, f32)>> =
            (0..clusters).into_par_iter().map_init(|| vec![0.0; clusters], row).collect();
        Ok(Csr::from_sorted_rows(clusters, &rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 - 1 - 2 - 3, and 4 alone; clusters {0, 1}, {2, 3}, {4}.
    fn path() -> (Graph, Partition) {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (0, 2)]).unwrap();
        (graph, Partition::new(vec![0, 0, 1, 1, 2]).unwrap())
    }

    #[test]
    fn entries_are_ones_counts_or_means() {
        let (graph, partition) = path();
        let dense = |weights, self_loops| {
            let coarse = Coarsening { weights, self_loops }.adjacency(&graph, &partition).unwrap();
            crate::Features::Sparse(coarse).to_dense().values().to_vec()
        };
        assert_eq!(dense(CoarseWeights::Binary, true), [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(dense(CoarseWeights::Count, true), [2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(dense(CoarseWeights::Mean, false), [0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_cluster_without_edges_has_a_row_of_zeros_and_no_nan() {
        let (graph, partition) = path();
        let coarse = crate::graph::normalized(&Coarsening::default().adjacency(&graph, &partition).unwrap());
        let dense = crate::Features::Sparse(coarse).to_dense();
        assert_eq!(dense.values(), [0.5, 0.5, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
    }
}
