//! How much more often two neighbours meet than chance would have it: a matrix with one number per edge, of which
//! none is stored.

use crate::Graph;
use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 32;
/// Columns summed in registers.
const STRIP: usize = 16;

/// M with `M_uv = max(0, ln(vol · w_uv / (d_u d_v)))` for edges of weight w, degrees d and their sum vol, and zero
/// elsewhere: the positive pointwise mutual information of the two ends of a random edge. This is what node2vec and
/// DeepWalk factorise where they look one step ahead (NetMF, Qiu et al. 2018).
pub(super) struct Association<'g> {
    graph: &'g Graph,
    /// `ln(d_u / √vol)`.
    logs: Vec<f32>,
}

impl<'g> Association<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        let degrees: Vec<f64> =
            (0..graph.nodes() as u32).into_par_iter().map(|node| graph.weighted_degree(node)).collect();
        let half = degrees.iter().sum::<f64>().sqrt();
        // Without neighbours the logarithm is infinite, and never used.
        let logs = degrees.into_par_iter().map(|degree| (degree / half).ln() as f32).collect();
        Self { graph, logs }
    }

    /// Writes MX to `out`; rows have `stride` columns, a multiple of [`PAD`](crate::matrix::tall::PAD).
    pub(super) fn times(&self, x: &[f32], stride: usize, out: &mut [f32]) {
        let unit = Unit::widest();
        out.par_chunks_mut(ROWS * stride).enumerate().for_each(|(task, out)| {
            unit.run(AssociationRows { of: self, first: task * ROWS, x, stride, out });
        });
    }
}

struct AssociationRows<'a> {
    of: &'a Association<'a>,
    first: usize,
    x: &'a [f32],
    stride: usize,
    out: &'a mut [f32],
}

impl Kernel for AssociationRows<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { of, first, x, stride, out } = self;
        let mut values = Vec::new();
        for (row, out) in (first as u32..).zip(out.chunks_exact_mut(stride)) {
            let near = of.graph.neighbors(row);
            let own = of.logs[row as usize];
            values.clear();
            match of.graph.edge_weights(row) {
                Some(weights) => values.extend(
                    near.iter()
                        .zip(weights)
                        .map(|(&v, weight)| (weight.ln() - own - of.logs[v as usize]).max(0.0)),
                ),
                None => values.extend(near.iter().map(|&v| (-own - of.logs[v as usize]).max(0.0))),
            }
            for (strip, out) in out.chunks_exact_mut(STRIP).enumerate() {
                let mut sum = [0f32; STRIP];
                for (&v, &value) in near.iter().zip(&values) {
                    let from = v as usize * stride + strip * STRIP;
                    sum.iter_mut().zip(&x[from..from + STRIP]).for_each(|(sum, &x)| *sum += value * x);
                }
                out.copy_from_slice(&sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_counts_by_how_rare_it_is_between_its_ends() {
        // 0 - 1 of weight 2, 1 - 2 of weight 1, and node 3 alone: degrees 2, 3, 1, 0, and a sum of 6.
        let graph = Graph::from_csr(
            vec![0u64, 1, 3, 4, 4].into(),
            vec![1u32, 0, 2, 1].into(),
            Some(vec![2f32, 2.0, 1.0, 1.0].into()),
        );
        let graph = graph.unwrap();
        let association = Association::new(&graph);
        let mut x = vec![0.0; 4 * 16];
        (0..4).for_each(|node| x[node * 16 + node] = 1.0);
        let mut m = vec![7.0; 4 * 16];
        association.times(&x, 16, &mut m);
        let at = |u: usize, v: usize| m[u * 16 + v];
        // ln(6 · 2 / (2 · 3)) and ln(6 · 1 / (3 · 1)), both ln 2.
        for (u, v) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
            assert!((at(u, v) - std::f32::consts::LN_2).abs() < 1e-6, "{u} {v}: {}", at(u, v));
        }
        assert_eq!([at(0, 0), at(0, 2), at(3, 3), at(1, 1), at(0, 15)], [0.0; 5]);
    }
}
