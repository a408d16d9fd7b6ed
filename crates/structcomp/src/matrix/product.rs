//! Products of dense matrices; the only file that knows the library behind them.
//!
//! Results are computed in blocks of rows, each by one thread. The block size does not depend on the number
//! of threads, so neither do the results.

use super::tiles::{self, Packed};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;

/// A row-major matrix or its transpose.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    values: &'a [f32],
    rows: usize,
    cols: usize,
    /// The distance between the starts of consecutive rows.
    stride: usize,
    transposed: bool,
}

impl<'a> View<'a> {
    /// A view of `values` as rows of `cols` numbers.
    pub(crate) fn new(values: &'a [f32], cols: usize) -> Self {
        let rows = values.len().checked_div(cols).unwrap_or(0);
        debug_assert_eq!(rows * cols, values.len());
        Self { values, rows, cols, stride: cols, transposed: false }
    }

    pub(crate) fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// A submatrix of a view that is not transposed.
    pub(crate) fn part(self, rows: Range<usize>, cols: Range<usize>) -> Self {
        debug_assert!(!self.transposed);
        let values = &self.values[rows.start * self.stride + cols.start..];
        Self { values, rows: rows.len(), cols: cols.len(), ..self }
    }

    /// Some of the rows.
    pub(super) fn rows(self, rows: Range<usize>) -> Self {
        match self.transposed {
            true => self.t().part(0..self.rows, rows).t(),
            false => self.part(rows, 0..self.cols),
        }
    }

    /// Some of the columns.
    pub(super) fn cols(self, cols: Range<usize>) -> Self {
        self.t().rows(cols).t()
    }

    /// Rows and columns as they are read.
    pub(crate) fn shape(self) -> (usize, usize) {
        if self.transposed { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// The numbers as they lie in memory, how far rows are apart there, and whether they are read as columns.
    pub(super) fn layout(self) -> (&'a [f32], usize, bool) {
        (self.values, self.stride, self.transposed)
    }

    fn mat(self) -> MatRef<'a, f32> {
        let mat = MatRef::from_row_major_slice_with_stride(self.values, self.rows, self.cols, self.stride);
        if self.transposed { mat.transpose() } else { mat }
    }
}

/// Rows per task of a large product.
pub(crate) const PRODUCT_ROWS: usize = 256;

/// Terms summed per pass over a product.
const PRODUCT_TERMS: usize = 4096;

/// Rows per task of a product with `rows` rows. Small products have few tasks, since each packs the other
/// factor again.
fn share(rows: usize) -> usize {
    let shares = if rows < 64 { 1 } else { rows.div_ceil(PRODUCT_ROWS).next_multiple_of(4) };
    // A multiple of the kernel's block.
    rows.div_ceil(shares).next_multiple_of(if tiles::available() { tiles::BLOCK } else { 8 })
}

/// The right factor of one or more products, packed once.
pub(crate) struct Right<'a> {
    view: View<'a>,
    packed: Option<Packed>,
}

impl<'a> Right<'a> {
    /// Prepares products with `rows` rows of left factors in total.
    pub(crate) fn new(view: View<'a>, rows: usize) -> Self {
        Self { view, packed: if tiles_pay(view, rows) { Packed::new(view) } else { None } }
    }

    /// Like [`new`](Self::new), but packs on the current thread only.
    pub(crate) fn here(view: View<'a>, rows: usize) -> Self {
        Self { view, packed: if tiles_pay(view, rows) { Packed::here(view) } else { None } }
    }

    /// `out = A B` or `out += scale · A B` on the current thread, with the submatrix of B given by `terms` and
    /// `cols`, which must start at multiples of 32. Writes to the columns of `out` from `first` on.
    pub(crate) fn multiply_part(
        &self,
        left: View,
        (terms, cols): (Range<usize>, Range<usize>),
        out: &mut [f32],
        first: usize,
        sum: Sum,
    ) {
        let rows = left.shape().0;
        if rows == 0 || cols.is_empty() {
            return;
        }
        let stride = out.len() / rows;
        if let Some(packed) = &self.packed {
            packed.multiply(left, (terms, cols), &mut out[first..], stride, sum);
            return;
        }
        let (accumulate, scale) = sum.of_library();
        let right = self.view.mat().subrows(terms.start, terms.len()).subcols(cols.start, cols.len());
        let out = MatMut::from_row_major_slice_mut(out, rows, stride).subcols_mut(first, cols.len());
        matmul(out, accumulate, left.mat(), right, scale, Par::Seq);
    }

    /// Like [`multiply_part`](Self::multiply_part) with all of B.
    pub(crate) fn multiply(&self, left: View, out: &mut [f32], sum: Sum) {
        let (terms, cols) = self.view.shape();
        self.multiply_part(left, (0..terms, 0..cols), out, 0, sum);
    }
}

/// Whether the tile unit is available and the product large enough for it.
fn tiles_pay(right: View, rows: usize) -> bool {
    let (terms, cols) = right.shape();
    let large = rows >= 2 * tiles::BLOCK && terms >= tiles::TERMS && cols >= tiles::BLOCK;
    large && tiles::available()
}

/// `out = A B`, or `out += scale · A B` with `Sum::Add`.
pub(crate) fn product(out: &mut [f32], a: View, b: View, sum: Sum) {
    debug_assert_eq!(a.shape().1, b.shape().0);
    let (rows, cols) = (a.shape().0, b.shape().1);
    if out.is_empty() {
        return;
    }
    let share = share(rows);
    // Long sums are split, so that the packed part of the right factor stays small.
    for start in (0..a.shape().1.max(1)).step_by(PRODUCT_TERMS) {
        let terms = start..(start + PRODUCT_TERMS).min(a.shape().1);
        let (a, b) = (a.cols(terms.clone()), Right::new(b.rows(terms), rows));
        let sum = if start == 0 { sum } else { sum.more() };
        out.par_chunks_mut(share * cols).enumerate().for_each(|(block, out)| {
            let first = block * share;
            b.multiply(a.rows(first..first + out.len() / cols), out, sum);
        });
    }
}

/// `out = A B` for a symmetric product; only half of it is computed.
pub(crate) fn symmetric_product(out: &mut [f32], a: View, b: View) {
    const SHARE: usize = 64;
    let (terms, size) = b.shape();
    let b = Right::new(b, size);
    out.par_chunks_mut(SHARE * size.max(1)).enumerate().for_each(|(block, out)| {
        let (first, rows) = (block * SHARE, out.len() / size);
        let left = a.rows(first..first + rows);
        b.multiply_part(left, (0..terms, first..size), out, first, Sum::Set);
    });
    // Copies the upper half in blocks, for locality.
    for first in (SHARE..size).step_by(SHARE) {
        for start in (0..first).step_by(SHARE) {
            for row in first..(first + SHARE).min(size) {
                for col in start..start + SHARE {
                    out[row * size + col] = out[col * size + row];
                }
            }
        }
    }
}

/// What a product does with the previous contents of its output.
#[derive(Clone, Copy)]
pub(crate) enum Sum {
    /// Replaces them.
    Set,
    /// Adds the product times this factor.
    Add(f32),
}

impl Sum {
    /// The same for further terms of a sum.
    pub(super) fn more(self) -> Self {
        match self {
            Self::Set => Self::Add(1.0),
            Self::Add(scale) => Self::Add(scale),
        }
    }

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

    /// The rounding error of a sum of `terms` products of numbers up to 1/2; the tile unit has a relative
    /// error of 2⁻¹⁷ per product.
    fn rounding(terms: usize) -> f64 {
        1e-6 + terms as f64 * 0.25 / 2f64.powi(16)
    }

    fn transposed(a: &[f32], cols: usize) -> Vec<f32> {
        (0..cols).flat_map(|j| a.iter().skip(j).step_by(cols).copied()).collect()
    }

    #[test]
    fn products_agree_with_a_naive_loop_however_they_are_laid_out() {
        for (n, k, m) in
            [(1, 1, 1), (3, 5, 2), (300, 17, 40), (129, 64, 130), (70, 600, 33), (65, PRODUCT_TERMS + 40, 34)]
        {
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
                let close = |(got, want): (&f32, &f64)| (*got as f64 - 0.5 * want).abs() < rounding(k);
                assert!(out.iter().zip(&exact).all(close), "{n} {k} {m}");
            }
        }
    }

    #[test]
    fn products_of_any_shape_agree_with_a_naive_loop() {
        let size = |at: u64| match mix(at) % 4 {
            0 => [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65][mix(at + 1) as usize % 12],
            _ => mix(at + 1) as usize % 150,
        };
        for shape in 0..80 {
            let [n, k, m] = [0, 1, 2].map(|part| size(1000 * shape + 10 * part));
            let (a, b) = (numbers(n * k, shape), numbers(k * m, shape + 100));
            let mut out = vec![2.0; n * m];
            let view = |values, rows, cols| View { values, rows, cols, stride: cols, transposed: false };
            product(&mut out, view(&a, n, k), view(&b, k, m), Sum::Add(0.5));
            let exact = naive(&a, &b, (n, k, m));
            let close = |(got, want): (&f32, &f64)| (*got as f64 - 2.0 - 0.5 * want).abs() < rounding(k);
            assert!(out.iter().zip(&exact).all(close), "{n} {k} {m}");
        }
    }

    #[test]
    fn symmetric_products_are_whole() {
        for (rows, cols) in [(1, 1), (7, 30), (40, 64), (90, 65), (50, 200)] {
            let a = numbers(rows * cols, 5);
            let mut out = vec![3.0; cols * cols];
            symmetric_product(&mut out, View::new(&a, cols).t(), View::new(&a, cols));
            let exact = naive(&transposed(&a, cols), &a, (cols, rows, cols));
            assert!(out.iter().zip(&exact).all(|(&got, want)| (got as f64 - want).abs() < rounding(rows)));
        }
    }

    #[test]
    fn threads_change_nothing() {
        let (a, b) = (numbers(700 * 600, 3), numbers(600 * 50, 4));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.5; 700 * 50];
            pool.install(|| product(&mut out, View::new(&a, 600), View::new(&b, 50), Sum::Add(1.0)));
            out
        };
        let one = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
    }
}
