//! The first layer, whose input may be sparse: X W and its gradient Xᵀ G.

use crate::Features;
use crate::linalg::{Sum, View, add_sparse_product, product, transposed};

/// `out = X W` for a weight with a row of `outputs` numbers for each feature.
pub(crate) fn forward(x: &Features, weight: &[f32], outputs: usize, out: &mut [f32]) {
    match x {
        Features::Dense(x) => {
            product(out, View::new(x.values(), x.cols()), View::new(weight, outputs), Sum::Set);
        }
        Features::Sparse(x) => add_sparse_product(x, weight, outputs, out),
    }
}

/// `of_weight += Xᵀ G`.
pub(crate) fn backward(x: &Features, of_output: &[f32], outputs: usize, of_weight: &mut [f32]) {
    match x {
        Features::Dense(x) => {
            let x = View::new(x.values(), x.cols());
            product(of_weight, x.t(), View::new(of_output, outputs), Sum::Add(1.0));
        }
        Features::Sparse(x) => add_sparse_product(&transposed(x), of_output, outputs, of_weight),
    }
}
