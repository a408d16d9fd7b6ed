//! The first layer, whose input may be sparse: X W and its gradient Xᵀ G.

use crate::Features;
use crate::matrix::{Sum, View, add_sparse_product, add_sparse_rows, product, transposed};
use std::ops::Range;

/// `out = X W` for a weight with a row of `outputs` numbers for each feature.
pub(crate) fn forward(x: &Features, weight: &[f32], outputs: usize, out: &mut [f32]) {
    match x {
        Features::Dense(x) => {
            product(out, View::new(x.values(), x.cols()), View::new(weight, outputs), Sum::Set);
        }
        Features::Sparse(x) => add_sparse_product(x, weight, outputs, out),
    }
}

/// `forward` for some of the rows.
pub(crate) fn forward_rows(
    x: &Features,
    rows: Range<usize>,
    weight: &[f32],
    outputs: usize,
    out: &mut [f32],
) {
    match x {
        Features::Dense(x) => {
            let x = View::new(&x.values()[rows.start * x.cols()..rows.end * x.cols()], x.cols());
            product(out, x, View::new(weight, outputs), Sum::Set);
        }
        Features::Sparse(x) => {
            out.fill(0.0);
            add_sparse_rows(x, rows.start, weight, outputs, out);
        }
    }
}

/// `of_weight = Xᵀ G`.
pub(crate) fn backward(x: &Features, of_output: &[f32], outputs: usize, of_weight: &mut [f32]) {
    match x {
        Features::Dense(x) => {
            let x = View::new(x.values(), x.cols());
            product(of_weight, x.t(), View::new(of_output, outputs), Sum::Set);
        }
        Features::Sparse(x) => {
            of_weight.fill(0.0);
            add_sparse_product(&transposed(x), of_output, outputs, of_weight);
        }
    }
}
