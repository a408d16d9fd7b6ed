//! Two views of a whole graph: edges dropped, features masked.

use crate::graph::normalized_adjacency;
use crate::{Csr, Dense, Error, Features, Graph, Result, Seed};
use rand::{RngExt, seq::SliceRandom};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The shares that each of two views leaves out; by default GRACE's on Cora.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Augment {
    /// Of the edges, each direction on its own.
    pub drop_edges: [f64; 2],
    /// Of the features, the same for all nodes.
    pub mask_features: [f64; 2],
}

impl Default for Augment {
    fn default() -> Self {
        Self { drop_edges: [0.2, 0.4], mask_features: [0.3, 0.4] }
    }
}

impl Augment {
    pub(crate) fn check(&self) -> Result<()> {
        match self.drop_edges.iter().chain(&self.mask_features).find(|share| !(0.0..1.0).contains(*share)) {
            None => Ok(()),
            Some(share) => Err(Error::Input(format!(
                "drop_edges and mask_features must be from 0 to below 1, not {share}"
            ))),
        }
    }

    /// The edges that a view keeps.
    pub(super) fn edges(&self, seed: Seed, step: usize, number: usize) -> KeptEdges {
        KeptEdges::new(self.drop_edges[number], seed, draw_of(step, number))
    }

    /// The features of a view.
    pub(super) fn features(&self, x: &Features, seed: Seed, step: usize, number: usize) -> Result<Features> {
        masked(x, self.mask_features[number], seed, draw_of(step, number))
    }
}

fn draw_of(step: usize, number: usize) -> u64 {
    (step as u64) << 1 | number as u64
}

/// The edges that are left when each direction is dropped with some probability.
pub(super) struct KeptEdges {
    share: f64,
    key: u64,
}

impl KeptEdges {
    fn new(share: f64, seed: Seed, draw: u64) -> Self {
        Self { share, key: seed.key("drop edges") ^ draw }
    }

    /// Whether a node hears its neighbours, asked for each in order.
    pub(super) fn of(&self, node: u32) -> impl FnMut() -> bool + use<> {
        let (share, mut rng) = (self.share, Seed(self.key).stream_at("of a node", node as u64));
        move || rng.random::<f64>() >= share
    }

    /// Â of a graph with these edges.
    pub(super) fn adjacency(&self, graph: &Graph) -> Csr {
        normalized_adjacency(graph, |node| self.of(node))
    }
}

/// Features with some columns zero for all nodes, each with the same probability.
fn masked(x: &Features, share: f64, seed: Seed, draw: u64) -> Result<Features> {
    let mut rng = Seed(seed.key("mask features") ^ draw).stream("columns");
    let kept: Vec<bool> = (0..x.cols()).map(|_| rng.random::<f64>() >= share).collect();
    kept_columns(x, &kept)
}

/// The columns that a step keeps if a share of them, rounded down, is left out.
pub(super) fn all_but(share: f64, cols: usize, seed: Seed, step: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..cols).collect();
    let (left_out, _) = order
        .partial_shuffle(&mut seed.stream_at("mask columns", step as u64), (share * cols as f64) as usize);
    let mut kept = vec![true; cols];
    left_out.iter().for_each(|&column| kept[column] = false);
    kept
}

/// Features with the other columns zero.
pub(super) fn kept_columns(x: &Features, kept: &[bool]) -> Result<Features> {
    match x {
        Features::Dense(dense) => {
            let mut values = dense.values().to_vec();
            values.par_chunks_mut(kept.len().max(1)).for_each(|row| {
                row.iter_mut().zip(kept).for_each(|(value, &kept)| *value = if kept { *value } else { 0.0 });
            });
            Dense::new(dense.rows(), dense.cols(), values).map(Features::Dense)
        }
        Features::Sparse(sparse) => {
            let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
            for row in 0..sparse.rows() {
                let (columns, entries) = sparse.row(row);
                for (&column, &value) in columns.iter().zip(entries).filter(|entry| kept[*entry.0 as usize]) {
                    indices.push(column);
                    values.push(value);
                }
                offsets.push(indices.len() as u64);
            }
            Csr::new(sparse.cols(), offsets, indices, values).map(Features::Sparse)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(graph: &Graph, share: f64, seed: Seed, draw: u64) -> Csr {
        KeptEdges::new(share, seed, draw).adjacency(graph)
    }

    #[test]
    fn a_view_without_dropping_is_the_graph() {
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (0, 2)]).unwrap();
        let matrix = dropped(&graph, 0.0, Seed(0), 0);
        let third = 1.0 / 3.0;
        for row in 0..3 {
            let (indices, values) = matrix.row(row);
            assert_eq!(indices, [0, 1, 2]);
            assert!(values.iter().all(|value| (value - third).abs() < 1e-6));
        }
        assert_eq!(matrix.row(3), (&[3u32][..], &[1.0f32][..]));
    }

    #[test]
    fn directions_are_dropped_by_themselves_and_the_share_is_kept() {
        let edges: Vec<(u32, u32)> = (0..60).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        let graph = Graph::from_edges(60, &edges).unwrap();
        let matrix = dropped(&graph, 0.3, Seed(1), 5);
        let has = |u: usize, v: u32| matrix.row(u).0.contains(&v);
        let kept = edges.iter().map(|&(u, v)| has(u as usize, v) as usize + has(v as usize, u) as usize);
        let share = kept.sum::<usize>() as f64 / (2 * edges.len()) as f64;
        assert!((share - 0.7).abs() < 0.03, "{share}");
        assert!(edges.iter().any(|&(u, v)| has(u as usize, v) != has(v as usize, u)));
        // Rows are scaled by what is heard: d_u^(-1/2) d_v^(-1/2).
        let degree = |u: usize| matrix.row(u).0.len() as f32;
        let (indices, values) = matrix.row(7);
        for (&v, &value) in indices.iter().zip(values) {
            assert!((value - 1.0 / (degree(7) * degree(v as usize)).sqrt()).abs() < 1e-6);
        }
        assert_ne!(matrix, dropped(&graph, 0.3, Seed(1), 6));
    }

    #[test]
    fn masks_are_the_same_for_all_rows_dense_or_sparse() {
        let dense = Dense::new(3, 200, vec![1.0; 600]).unwrap();
        let rows: Vec<Vec<(u32, f32)>> = (0..3).map(|_| (0..200).map(|j| (j, 1.0)).collect()).collect();
        let sparse = Features::Sparse(Csr::from_sorted_rows(200, &rows));
        let one = masked(&Features::Dense(dense), 0.25, Seed(3), 1).unwrap().to_dense();
        let other = masked(&sparse, 0.25, Seed(3), 1).unwrap().to_dense();
        assert_eq!(one, other);
        assert_eq!(one.row(0), one.row(2));
        let kept = one.row(0).iter().filter(|&&value| value == 1.0).count();
        assert!((120..180).contains(&kept), "{kept}");
    }

    #[test]
    fn shares_that_leave_nothing_are_refused() {
        for share in [-0.1, 1.0, f64::NAN] {
            let augment = Augment { drop_edges: [0.0, share], ..Augment::default() };
            assert!(augment.check().unwrap_err().to_string().contains("below 1"));
        }
    }
}
