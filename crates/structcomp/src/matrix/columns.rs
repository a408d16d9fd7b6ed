//! Column statistics: sums, products, means and variances, each added up in a fixed order.

use super::simd::{Kernel, Unit};
use rayon::prelude::*;

/// Rows of a partial sum; fixed, so that sums do not depend on the number of threads.
const ROWS: usize = 128;

/// The sum of each column.
pub(crate) fn column_sums(values: &[f32], cols: usize) -> Vec<f64> {
    column_moments(values, values, cols).0
}

/// The sum of each column of `a`, and of its products with those of `b`.
pub(crate) fn column_moments(a: &[f32], b: &[f32], cols: usize) -> (Vec<f64>, Vec<f64>) {
    let unit = Unit::widest();
    let mut sums = in_blocks(a, b, cols, 2 * cols, |a, b, sums| unit.run(ColumnMoments { a, b, sums }));
    let products = sums.split_off(cols);
    (sums, products)
}

/// The mean and the variance of each column, the latter over the number of rows.
pub(crate) fn mean_and_variance(values: &[f32], cols: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = (values.len() / cols.max(1)).max(1) as f64;
    let over_rows = |mut sums: Vec<f64>| {
        sums.iter_mut().for_each(|sum| *sum /= rows);
        sums
    };
    let mean = over_rows(column_sums(values, cols));
    // The mean is subtracted first: a difference of squares would lose the digits of small variances.
    let unit = Unit::widest();
    let squares = in_blocks(values, values, cols, cols, |values, _, sums| {
        unit.run(Squares { values, mean: &mean, sums })
    });
    (mean, over_rows(squares))
}

/// Adds up what `add` finds in each block of rows of two matrices: `count` sums.
fn in_blocks(
    a: &[f32],
    b: &[f32],
    cols: usize,
    count: usize,
    add: impl Fn(&[f32], &[f32], &mut [f64]) + Sync,
) -> Vec<f64> {
    let mut total = vec![0.0; count];
    if cols == 0 {
        return total;
    }
    let partial: Vec<Vec<f64>> = a
        .par_chunks(ROWS * cols)
        .zip(b.par_chunks(ROWS * cols))
        .map(|(a, b)| {
            let mut sums = vec![0.0; count];
            add(a, b, &mut sums);
            sums
        })
        .collect();
    partial.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum));
    total
}

struct ColumnMoments<'a> {
    a: &'a [f32],
    b: &'a [f32],
    /// Sums of values, then sums of products.
    sums: &'a mut [f64],
}

impl Kernel for ColumnMoments<'_> {
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

struct Squares<'a> {
    values: &'a [f32],
    mean: &'a [f64],
    /// Sums of squared differences from the mean.
    sums: &'a mut [f64],
}

impl Kernel for Squares<'_> {
    #[inline(always)]
    fn run(self) {
        for row in self.values.chunks_exact(self.sums.len()) {
            for ((sum, &value), mean) in self.sums.iter_mut().zip(row).zip(self.mean) {
                let difference = value as f64 - mean;
                *sum += difference * difference;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_computed_by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0, -4.0], [5.0, 0.0, 1.0, 2.0]);
        assert_eq!(column_moments(&a, &b, 2), (vec![4.0, -2.0], vec![8.0, -8.0]));
        assert_eq!(mean_and_variance(&a, 2), (vec![2.0, -1.0], vec![1.0, 9.0]));
        assert_eq!(mean_and_variance(&[], 2), (vec![0.0; 2], vec![0.0; 2]));
        assert_eq!(mean_and_variance(&[], 0), (vec![], vec![]));
    }

    #[test]
    fn small_variances_keep_their_digits_far_from_zero() {
        // 100_000 ± 0.5, over several blocks of rows.
        let values: Vec<f32> = (0..1000).map(|row| 100_000.0 + (row % 2) as f32 - 0.5).collect();
        assert_eq!(mean_and_variance(&values, 1), (vec![100_000.0], vec![0.25]));
    }
}
