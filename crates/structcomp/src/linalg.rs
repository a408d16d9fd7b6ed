//! Products of dense matrices, the one place that knows the library behind them.
//!
//! A result is computed in blocks of rows whose size does not depend on the number of threads, each
//! by one thread, so the same numbers come out whatever that number is.

mod elementwise;
mod sparse;
mod symmetric;

pub(crate) use elementwise::{dot, exp, sum_of_products};
pub(crate) use sparse::{add_sparse_product, add_sparse_rows, transposed};
pub(crate) use symmetric::{Cholesky, add_gram};

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;

/// A row-major matrix, perhaps to be read as its transpose.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    values: &'a [f32],
    rows: usize,
    cols: usize,
    /// From a row's start to the next.
    stride: usize,
    transposed: bool,
}

impl<'a> View<'a> {
    /// `values` as rows of `cols` numbers.
    pub(crate) fn new(values: &'a [f32], cols: usize) -> Self {
        let rows = values.len().checked_div(cols).unwrap_or(0);
        debug_assert_eq!(rows * cols, values.len());
        Self { values, rows, cols, stride: cols, transposed: false }
    }

    /// The transpose.
    pub(crate) fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Some rows and columns of a matrix that is not read as its transpose.
    pub(crate) fn part(self, rows: Range<usize>, cols: Range<usize>) -> Self {
        debug_assert!(!self.transposed);
        let values = &self.values[rows.start * self.stride + cols.start..];
        Self { values, rows: rows.len(), cols: cols.len(), ..self }
    }

    fn mat(self) -> MatRef<'a, f32> {
        let mat = MatRef::from_row_major_slice_with_stride(self.values, self.rows, self.cols, self.stride);
        if self.transposed { mat.transpose() } else { mat }
    }
}

/// Rows of a large result that one thread computes at once.
pub(crate) const PRODUCT_ROWS: usize = 256;

/// Rows of a result that one thread computes at once: a few shares of a small one, since the other
/// factor is packed anew for each.
fn share(rows: usize) -> usize {
    let shares = if rows < 64 { 1 } else { rows.div_ceil(PRODUCT_ROWS).next_multiple_of(4) };
    rows.div_ceil(shares).next_multiple_of(8)
}

/// `out = A B`, or `out += scale · A B` with `Sum::Add`.
pub(crate) fn product(out: &mut [f32], a: View, b: View, sum: Sum) {
    let (a, b) = (a.mat(), b.mat());
    debug_assert_eq!(a.ncols(), b.nrows());
    let cols = b.ncols();
    if out.is_empty() {
        return;
    }
    let (accumulate, scale) = sum.of_library();
    let share = share(a.nrows());
    out.par_chunks_mut(share * cols).enumerate().for_each(|(block, out)| {
        let rows = out.len() / cols;
        let out = MatMut::from_row_major_slice_mut(out, rows, cols);
        matmul(out, accumulate, a.subrows(block * share, rows), b, scale, Par::Seq);
    });
}

/// `product` on this thread alone, for one of many.
pub(crate) fn product_here(out: &mut [f32], a: View, b: View, sum: Sum) {
    let (accumulate, scale) = sum.of_library();
    let (a, b) = (a.mat(), b.mat());
    let out = MatMut::from_row_major_slice_mut(out, a.nrows(), b.ncols());
    matmul(out, accumulate, a, b, scale, Par::Seq);
}

/// `product_here` into the columns of `out` from `first` on, whose rows are `stride` long.
pub(crate) fn product_beside(out: &mut [f32], stride: usize, first: usize, a: View, b: View) {
    let (a, b) = (a.mat(), b.mat());
    let out = MatMut::from_row_major_slice_mut(out, a.nrows(), stride).subcols_mut(first, b.ncols());
    matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
}

/// `out = A B` for a product that is symmetric: half of it is computed.
pub(crate) fn symmetric_product(out: &mut [f32], a: View, b: View) {
    const SHARE: usize = 64;
    let (a, b) = (a.mat(), b.mat());
    let size = b.ncols();
    out.par_chunks_mut(SHARE * size.max(1)).enumerate().for_each(|(block, out)| {
        let (first, rows) = (block * SHARE, out.len() / size);
        let out = MatMut::from_row_major_slice_mut(out, rows, size).subcols_mut(first, size - first);
        let (a, b) = (a.subrows(first, rows), b.subcols(first, size - first));
        matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
    });
    for row in 1..size {
        for col in 0..row / SHARE * SHARE {
            out[row * size + col] = out[col * size + row];
        }
    }
}

/// What becomes of the former contents of a result.
#[derive(Clone, Copy)]
pub(crate) enum Sum {
    /// They are replaced.
    Set,
    /// So many times the product is added to them.
    Add(f32),
}

impl Sum {
    fn of_library(self) -> (Accum, f32) {
        match self {
            Self::Set => (Accum::Replace, 1.0),
            Self::Add(scale) => (Accum::Add, scale),
        }
    }
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
    fn symmetric_products_are_whole() {
        for (rows, cols) in [(1, 1), (7, 30), (40, 64), (90, 65), (50, 200)] {
            let a = numbers(rows * cols, 5);
            let mut out = vec![3.0; cols * cols];
            symmetric_product(&mut out, View::new(&a, cols).t(), View::new(&a, cols));
            let exact = naive(&transposed(&a, cols), &a, (cols, rows, cols));
            assert!(out.iter().zip(&exact).all(|(&got, want)| (got as f64 - want).abs() < 1e-5));
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
