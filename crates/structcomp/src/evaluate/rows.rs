//! Rows of features, dense or sparse, beside vectors of `f64`.

use crate::Features;

/// Sums of a dense product that run side by side, so that the compiler can use vectors.
const LANES: usize = 8;

/// The product of a row with `w`.
pub(super) fn dot(x: &Features, row: usize, w: &[f64]) -> f64 {
    match x {
        Features::Dense(x) => {
            let ((x, x_rest), (w, w_rest)) = (x.row(row).as_chunks::<LANES>(), w.as_chunks::<LANES>());
            let mut sums = [0.0; LANES];
            for (x, w) in x.iter().zip(w) {
                (0..LANES).for_each(|lane| sums[lane] += x[lane] as f64 * w[lane]);
            }
            let rest: f64 = x_rest.iter().zip(w_rest).map(|(&x, w)| x as f64 * w).sum();
            sums.iter().sum::<f64>() + rest
        }
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

/// The product of two vectors.
pub(super) fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense};

    #[test]
    fn dense_and_sparse_rows_give_the_product_computed_by_hand() {
        // Eleven columns: one full set of lanes and three behind it.
        let mut values = vec![0.0; 22];
        (values[11], values[14], values[20]) = (2.0, -1.0, 3.0);
        let dense = Features::Dense(Dense::new(2, 11, values).unwrap());
        let sparse = Csr::new(11, vec![0, 0, 3], vec![0, 3, 9], vec![2.0, -1.0, 3.0]).unwrap();
        let w: Vec<f64> = (1..=11).map(f64::from).collect();
        for x in [dense, Features::Sparse(sparse)] {
            assert_eq!((dot(&x, 0, &w), dot(&x, 1, &w)), (0.0, 2.0 - 4.0 + 30.0));
            let mut out = vec![1.0; 11];
            add_scaled(&x, 1, 0.5, &mut out);
            assert_eq!(out, [2.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 2.5, 1.0]);
        }
    }
}
