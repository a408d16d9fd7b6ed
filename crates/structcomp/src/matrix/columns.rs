//! Sums over the columns of a matrix, always added up in the same order.

use super::simd::{Kernel, Unit};
use rayon::prelude::*;

/// The sum of each column, always added up in the same order.
pub(crate) fn column_sums(values: &[f32], cols: usize) -> Vec<f64> {
    column_moments(values, values, cols).0
}

/// The sum of products of each column of two matrices.
pub(crate) fn column_products(a: &[f32], b: &[f32], cols: usize) -> Vec<f64> {
    column_moments(a, b, cols).1
}

/// The sum of each column of `a`, and of its products with those of `b`.
pub(crate) fn column_moments(a: &[f32], b: &[f32], cols: usize) -> (Vec<f64>, Vec<f64>) {
    const ROWS: usize = 128;
    let (cols, unit) = (cols.max(1), Unit::widest());
    let partial: Vec<Vec<f64>> = a
        .par_chunks(ROWS * cols)
        .zip(b.par_chunks(ROWS * cols))
        .map(|(a, b)| {
            let mut sums = vec![0.0; 2 * cols];
            unit.run(Moments { a, b, sums: &mut sums });
            sums
        })
        .collect();
    let mut total = vec![0.0; 2 * cols];
    partial.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum));
    let products = total.split_off(cols);
    (total, products)
}

struct Moments<'a> {
    a: &'a [f32],
    b: &'a [f32],
    /// Those of the numbers, then those of the products.
    sums: &'a mut [f64],
}

impl Kernel for Moments<'_> {
    #[inline(always)]
    fn run(self) {
        let (sums, products) = self.sums.split_at_mut(self.sums.len() / 2);
        for (a, b) in self.a.chunks_exact(sums.len()).zip(self.b.chunks_exact(sums.len())) {
            let sums = sums.iter_mut().zip(products.iter_mut());
            for ((sum, product), (&a, &b)) in sums.zip(a.iter().zip(b)) {
                *sum += a as f64;
                *product += a as f64 * b as f64;
            }
        }
    }
}
