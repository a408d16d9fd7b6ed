//! Message passing between the rows of a layer, for training on a whole graph.

use crate::Csr;
use crate::graph::Hops;
use crate::matrix::{add_sparse_product, transposed, zeros};
use std::convert::Infallible;

/// Who hears whom, and how loudly: a square matrix and its transpose, which differ where edges were
/// dropped in one direction.
#[derive(Clone)]
pub(crate) struct Messages {
    matrix: Csr,
    back: Csr,
}

impl Messages {
    pub(crate) fn new(matrix: Csr) -> Self {
        let back = transposed(&matrix);
        Self { matrix, back }
    }

    #[cfg(test)]
    pub(crate) fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// What each row hears.
    pub(super) fn pass(&self, hops: &Hops, rows: &[f32], width: usize) -> Vec<f32> {
        passed(&self.matrix, hops, rows, width)
    }

    /// The gradient of what was said, from that of what was heard.
    pub(super) fn pass_back(&self, hops: &Hops, rows: &[f32], width: usize) -> Vec<f32> {
        passed(&self.back, hops, rows, width)
    }
}

/// What rows hear after some hops.
pub(crate) fn passed(matrix: &Csr, hops: &Hops, rows: &[f32], width: usize) -> Vec<f32> {
    let hop = |rows: &[f32]| {
        let mut out = zeros(rows.len());
        add_sparse_product(matrix, rows, width, &mut out);
        Ok::<_, Infallible>(out)
    };
    match hops.apply(rows, hop) {
        Ok(out) => out,
        Err(never) => match never {},
    }
}
