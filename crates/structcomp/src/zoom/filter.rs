//! The low-pass filter F = D^-1/2 (A + σI) D^-1/2, where D holds the row sums of A + σI.

use crate::Graph;
use rayon::prelude::*;

/// The weight σ of a self-loop.
pub(super) const SIGMA: f32 = 0.1;

pub(super) struct Filter<'a> {
    graph: &'a Graph,
    /// D^-1/2.
    root: Vec<f32>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let root = |node: u32| (1.0 / (graph.weighted_degree(node) + SIGMA as f64).sqrt()) as f32;
        Self { graph, root: (0..graph.nodes() as u32).into_par_iter().map(root).collect() }
    }

    /// Writes the rows of FX from `first` on, as many as there is room for. `x` gives a row of X.
    pub(super) fn rows<'x>(
        &self,
        first: usize,
        width: usize,
        x: impl Fn(u32) -> &'x [f32] + Sync,
        out: &mut [f32],
    ) {
        out.par_chunks_mut(width.max(1)).with_min_len(64).enumerate().for_each(|(row, out)| {
            let node = (first + row) as u32;
            let (own, weights) = (self.root[node as usize], self.graph.edge_weights(node));
            out.iter_mut().zip(x(node)).for_each(|(out, x)| *out = SIGMA * own * x);
            for (at, &other) in self.graph.neighbors(node).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[at]) * self.root[other as usize];
                out.iter_mut().zip(x(other)).for_each(|(out, x)| *out += weight * x);
            }
            out.iter_mut().for_each(|out| *out *= own);
        });
    }
}
