//! Message passing between the rows of a layer, for training on a whole graph.

use crate::Csr;
use crate::linalg::{add_sparse_product, transposed};

/// Who hears whom, and how loudly: a square matrix and its transpose, which differ where edges were
/// dropped in one direction.
pub(crate) struct Messages {
    matrix: Csr,
    back: Csr,
}

impl Messages {
    pub(crate) fn new(matrix: Csr) -> Self {
        let back = transposed(&matrix);
        Self { matrix, back }
    }

    /// What each row hears.
    pub(super) fn pass(&self, rows: &[f32], width: usize) -> Vec<f32> {
        let mut out = vec![0.0; rows.len()];
        add_sparse_product(&self.matrix, rows, width, &mut out);
        out
    }

    /// The gradient of what was said, from that of what was heard.
    pub(super) fn pass_back(&self, rows: &[f32], width: usize) -> Vec<f32> {
        let mut out = vec![0.0; rows.len()];
        add_sparse_product(&self.back, rows, width, &mut out);
        out
    }
}
