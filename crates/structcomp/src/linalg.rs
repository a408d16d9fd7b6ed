//! Products of dense matrices, the one place that knows the library behind them.
//!
//! A result is computed in blocks of rows whose size does not depend on the number of threads, each
//! by one thread, so the same numbers come out whatever that number is.

mod sparse;
mod symmetric;

pub(crate) use sparse::{add_sparse_product, add_sparse_rows, transposed};
pub(crate) use symmetric::{Cholesky, add_gram};

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// A row-major matrix, perhaps to be read as its transpose.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    values: &'a [f32],
    rows: usize,
    cols: usize,
    transposed: bool,
}

impl<'a> View<'a> {
    /// `values` as rows of `cols` numbers.
    pub(crate) fn new(values: &'a [f32], cols: usize) -> Self {
        let rows = values.len().checked_div(cols).unwrap_or(0);
        debug_assert_eq!(rows * cols, values.len());
        Self { values, rows, cols, transposed: false }
    }

    /// The transpose.
    pub(crate) fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    fn mat(self) -> MatRef<'a, f32> {
        let mat = MatRef::from_row_major_slice(self.values, self.rows, self.cols);
        if self.transposed { mat.transpose() } else { mat }
    }
}

/// Rows of a result that one thread computes at once.
pub(crate) const PRODUCT_ROWS: usize = 128;

/// `out = A B`, or `out += scale · A B` with `Sum::Add`.
pub(crate) fn product(out: &mut [f32], a: View, b: View, sum: Sum) {
    let (a, b) = (a.mat(), b.mat());
    debug_assert_eq!(a.ncols(), b.nrows());
    let cols = b.ncols();
    if out.is_empty() {
        return;
    }
    let (accumulate, scale) = match sum {
        Sum::Set => (Accum::Replace, 1.0),
        Sum::Add(scale) => (Accum::Add, scale),
    };
    out.par_chunks_mut(PRODUCT_ROWS * cols).enumerate().for_each(|(block, out)| {
        let rows = out.len() / cols;
        let out = MatMut::from_row_major_slice_mut(out, rows, cols);
        matmul(out, accumulate, a.subrows(block * PRODUCT_ROWS, rows), b, scale, Par::Seq);
    });
}

/// What becomes of the former contents of a result.
#[derive(Clone, Copy)]
pub(crate) enum Sum {
    /// They are replaced.
    Set,
    /// So many times the product is added to them.
    Add(f32),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    fn numbers(count: usize, salt: u64) -> Vec<f32> {
        (0..count as u64).map(|i| (mix(i ^ salt << 32) >> 40) as f32 / (1 << 24) as f32 - 0.5).collect()
    }

    fn naive(a: &[f32], b: &[f32], (n, k, m): (usize, usize, usize)) -> Vec<f64> {
        let cell = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] as f64 * b[l * m + j] as f64).sum();
        (0..n).flat_map(|i| (0..m).map(move |j| (i, j))).map(|(i, j)| cell(i, j)).collect()
    }

    fn transposed(a: &[f32], cols: usize) -> Vec<f32> {
        (0..cols).flat_map(|j| a.iter().skip(j).step_by(cols).copied()).collect()
    }

    #[test]
    fn products_agree_with_a_naive_loop_however_they_are_laid_out() {
        for (n, k, m) in [(1, 1, 1), (3, 5, 2), (300, 17, 40), (129, 64, 130)] {
            let (a, b) = (numbers(n * k, 1), numbers(k * m, 2));
            let exact = naive(&a, &b, (n, k, m));
            let (at, bt) = (transposed(&a, k), transposed(&b, m));
            for (left, right) in [
                (View::new(&a, k), View::new(&b, m)),
                (View::new(&at, n).t(), View::new(&b, m)),
                (View::new(&a, k), View::new(&bt, k).t()),
            ] {
                let mut out = vec![7.0; n * m];
                product(&mut out, left, right, Sum::Set);
                product(&mut out, left, right, Sum::Add(-0.5));
                let close = |(got, want): (&f32, &f64)| (*got as f64 - 0.5 * want).abs() < 1e-5;
                assert!(out.iter().zip(&exact).all(close), "{n} {k} {m}");
            }
        }
    }

    #[test]
    fn threads_change_nothing() {
        let (a, b) = (numbers(700 * 90, 3), numbers(90 * 50, 4));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.0; 700 * 50];
            pool.install(|| product(&mut out, View::new(&a, 90), View::new(&b, 50), Sum::Set));
            out
        };
        let one = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
    }
}
