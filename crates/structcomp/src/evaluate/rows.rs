//! Rows of features, dense or sparse, beside vectors of `f64`.

use crate::Features;
use crate::vectors::{Kernel, Unit};

/// The product of a row with `w`.
pub(super) fn dot(x: &Features, row: usize, w: &[f64]) -> f64 {
    match x {
        Features::Dense(x) => inner(x.row(row), w),
        Features::Sparse(x) => {
            let (columns, values) = x.row(row);
            columns.iter().zip(values).map(|(&column, &value)| value as f64 * w[column as usize]).sum()
        }
    }
}

/// `out += scale · row`.
pub(super) fn add_scaled(x: &Features, row: usize, scale: f64, out: &mut [f64]) {
    match x {
        Features::Dense(x) => {
            x.row(row).iter().zip(out).for_each(|(&value, out)| *out += scale * value as f64);
        }
        Features::Sparse(x) => {
            let (columns, values) = x.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                out[column as usize] += scale * value as f64;
            }
        }
    }
}

/// The product of two vectors, the first in single or double precision.
pub(super) fn inner<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    Unit::widest().run(Inner { a, b, sum: &mut sum });
    sum
}

/// Sums that run side by side: enough to keep the widest vector unit busy.
const LANES: usize = 32;

struct Inner<'a, T> {
    a: &'a [T],
    b: &'a [f64],
    sum: &'a mut f64,
}

impl<T: Copy + Into<f64>> Kernel for Inner<'_, T> {
    #[inline(always)]
    fn run(self) {
        let ((a, a_rest), (b, b_rest)) = (self.a.as_chunks::<LANES>(), self.b.as_chunks::<LANES>());
        let mut sums = [0.0; LANES];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                sums[lane] += a[lane].into() * b[lane];
            }
        }
        let mut rest = 0.0;
        for (&a, b) in a_rest.iter().zip(b_rest) {
            rest += a.into() * b;
        }
        for sum in sums {
            rest += sum;
        }
        *self.sum = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense};

    #[test]
    fn dense_and_sparse_rows_give_the_product_computed_by_hand() {
        // Thirty-five columns: one full set of lanes and three behind it.
        let mut values = vec![0.0; 70];
        (values[35], values[38], values[68]) = (2.0, -1.0, 3.0);
        let dense = Features::Dense(Dense::new(2, 35, values).unwrap());
        let sparse = Csr::new(35, vec![0, 0, 3], vec![0, 3, 33], vec![2.0, -1.0, 3.0]).unwrap();
        let w: Vec<f64> = (1..=35).map(f64::from).collect();
        for x in [dense, Features::Sparse(sparse)] {
            assert_eq!((dot(&x, 0, &w), dot(&x, 1, &w)), (0.0, 2.0 - 4.0 + 102.0));
            let mut out = vec![1.0; 35];
            add_scaled(&x, 1, 0.5, &mut out);
            let mut expected = vec![1.0; 35];
            (expected[0], expected[3], expected[33]) = (2.0, 0.5, 2.5);
            assert_eq!(out, expected);
        }
    }
}
