//! Products of feature rows, dense or sparse, with vectors of `f64`.

use crate::Features;
use crate::matrix::{Kernel, Unit};

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
        Features::Dense(x) => add_multiple(x.row(row), scale, out),
        Features::Sparse(x) => {
            let (columns, values) = x.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                out[column as usize] += scale * value as f64;
            }
        }
    }
}

/// Whether so few values are zero that treating all as non-zero is faster.
pub(super) fn is_dense(x: &Features) -> bool {
    match x {
        Features::Dense(_) => true,
        Features::Sparse(x) => x.entries() >= x.rows() * x.cols() / 8,
    }
}

/// Calls `see` with each column and value of a row; zeros of sparse rows are skipped.
#[inline]
pub(super) fn each(x: &Features, row: usize, mut see: impl FnMut(usize, f32)) {
    match x {
        Features::Dense(x) => x.row(row).iter().enumerate().for_each(|(column, &value)| see(column, value)),
        Features::Sparse(x) => {
            let (columns, values) = x.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| see(column as usize, value));
        }
    }
}

/// The product of two vectors, the first in single or double precision.
pub(super) fn inner<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    let mut product = 0.0;
    Unit::widest().run(Inner { a, b, product: &mut product });
    product
}

/// Values in a vector of the widest unit, and independent vectors of sums: enough to keep it busy.
const LANES: usize = 8;
const VECTORS: usize = 4;

struct Inner<'a, T> {
    a: &'a [T],
    b: &'a [f64],
    product: &'a mut f64,
}

impl<T: Copy + Into<f64>> Kernel for Inner<'_, T> {
    #[inline(always)]
    fn run(self) {
        *self.product = sum_of_products(self.a, self.b);
    }
}

#[inline(always)]
fn sum_of_products<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let ((a, a_few), (b, b_few)) = (a.as_chunks::<VECTORS>(), b.as_chunks::<VECTORS>());
    let mut sums = [[0.0; LANES]; VECTORS];
    for (a, b) in a.iter().zip(b) {
        for vector in 0..VECTORS {
            for lane in 0..LANES {
                sums[vector][lane] += a[vector][lane].into() * b[vector][lane];
            }
        }
    }
    // Hidden from the compiler, which would otherwise use narrow vectors in the loop above to suit the sums below.
    let [mut sum, others @ ..] = std::hint::black_box(sums);
    for (a, b) in a_few.iter().zip(b_few) {
        for lane in 0..LANES {
            sum[lane] += a[lane].into() * b[lane];
        }
    }
    for other in others {
        for lane in 0..LANES {
            sum[lane] += other[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(&a, b)| a.into() * b).sum();
    sum.iter().sum::<f64>() + rest
}

/// `out += scale · row`, the row in single or double precision.
pub(super) fn add_multiple<T: Copy + Into<f64>>(row: &[T], scale: f64, out: &mut [f64]) {
    Unit::widest().run(AddMultiple { row, scale, out });
}

struct AddMultiple<'a, T> {
    row: &'a [T],
    scale: f64,
    out: &'a mut [f64],
}

impl<T: Copy + Into<f64>> Kernel for AddMultiple<'_, T> {
    #[inline(always)]
    fn run(self) {
        self.out.iter_mut().zip(self.row).for_each(|(out, &value)| *out += self.scale * value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense};

    #[test]
    fn dense_and_sparse_rows_give_the_product_computed_by_hand() {
        // 43 columns: one full set of lanes, one vector, and three more.
        let mut values = vec![0.0; 86];
        (values[43], values[46], values[76], values[84]) = (2.0, -1.0, 3.0, 5.0);
        let dense = Features::Dense(Dense::new(2, 43, values).unwrap());
        let sparse = Csr::new(43, vec![0, 0, 4], vec![0, 3, 33, 41], vec![2.0, -1.0, 3.0, 5.0]).unwrap();
        let w: Vec<f64> = (1..=43).map(f64::from).collect();
        for x in [dense, Features::Sparse(sparse)] {
            assert_eq!((dot(&x, 0, &w), dot(&x, 1, &w)), (0.0, 2.0 - 4.0 + 102.0 + 210.0));
            let mut out = vec![1.0; 43];
            add_scaled(&x, 1, 0.5, &mut out);
            let mut expected = vec![1.0; 43];
            (expected[0], expected[3], expected[33], expected[41]) = (2.0, 0.5, 2.5, 3.5);
            assert_eq!(out, expected);
        }
    }
}
