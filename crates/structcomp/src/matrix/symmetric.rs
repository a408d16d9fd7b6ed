//! Matrices in `f64`: products, Gram matrices and linear equations.
//!
//! As for other products, results do not depend on the number of threads.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{cholesky::llt, matmul::matmul, triangular_inverse};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows of a result per task.
const ROWS: usize = 64;

/// `out += RᵀR`, for R with rows of `cols` values and a symmetric `out`.
pub(crate) fn add_gram(out: &mut [f64], r: &[f64], cols: usize) {
    let r = MatRef::from_row_major_slice(r, r.len() / cols, cols);
    out.par_chunks_mut(ROWS * cols).enumerate().for_each(|(block, out)| {
        let (rows, first) = (out.len() / cols, block * ROWS);
        let right = MatMut::from_row_major_slice_mut(out, rows, cols).subcols_mut(first, cols - first);
        let r = r.subcols(first, cols - first);
        matmul(right, Accum::Add, r.transpose().subrows(0, rows), r, 1.0, Par::Seq);
    });
    // The part left of the blocks is the transpose of the part right of them.
    for row in 0..cols {
        for col in 0..row / ROWS * ROWS {
            out[row * cols + col] = out[col * cols + row];
        }
    }
}

/// The product AB of row-major matrices, on one thread; A has `inner` columns, B as many rows.
pub(crate) fn multiply(a: &[f64], b: &[f64], inner: usize) -> Vec<f64> {
    let (rows, cols) = (a.len() / inner, b.len() / inner);
    let mut out = vec![0.0; rows * cols];
    let (a, b) = (MatRef::from_row_major_slice(a, rows, inner), MatRef::from_row_major_slice(b, inner, cols));
    let to = MatMut::from_row_major_slice_mut(&mut out, rows, cols);
    matmul(to, Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// The Cholesky factor of a positive definite matrix.
pub(crate) struct Cholesky {
    factor: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// Factors a symmetric matrix; none if it is not positive definite. Only the diagonal and the values right of it
    /// are read.
    pub(crate) fn new(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        let a = MatMut::from_column_major_slice_mut(&mut matrix, size, size);
        let need = llt::factor::cholesky_in_place_scratch::<f64>(size, Par::Seq, Default::default());
        let mut room = MemBuffer::new(need);
        let stack = MemStack::new(&mut room);
        llt::factor::cholesky_in_place(a, Default::default(), Par::Seq, stack, Default::default()).ok()?;
        Some(Self { factor: matrix, size })
    }

    /// The inverse of the matrix.
    pub(crate) fn inverse(&self) -> Vec<f64> {
        let size = self.size;
        let mut out = vec![0.0; size * size];
        let factor = MatRef::from_column_major_slice(&self.factor, size, size);
        let to = MatMut::from_column_major_slice_mut(&mut out, size, size);
        let need = llt::inverse::inverse_scratch::<f64>(size, Par::Seq);
        llt::inverse::inverse(to, factor, Par::Seq, MemStack::new(&mut MemBuffer::new(need)));
        // Only the lower half is written.
        for row in 0..size {
            for col in 0..row {
                out[row * size + col] = out[col * size + row];
            }
        }
        out
    }

    /// The factor L of the matrix LLᵀ, row by row.
    pub(crate) fn factor(&self) -> Vec<f64> {
        let size = self.size;
        let cell =
            |at: usize| if at % size <= at / size { self.factor[at % size * size + at / size] } else { 0.0 };
        (0..size * size).map(cell).collect()
    }

    /// The inverse of the factor, row by row.
    pub(crate) fn inverse_of_factor(&self) -> Vec<f64> {
        let size = self.size;
        let mut out = vec![0.0; size * size];
        let factor = MatRef::from_column_major_slice(&self.factor, size, size);
        let to = MatMut::from_row_major_slice_mut(&mut out, size, size);
        triangular_inverse::invert_lower_triangular(to, factor, Par::Seq);
        out
    }

    /// Replaces the right-hand side by the solution.
    pub(crate) fn solve(&self, side: &mut [f64]) {
        let factor = MatRef::from_column_major_slice(&self.factor, self.size, self.size);
        let side = MatMut::from_column_major_slice_mut(side, self.size, 1);
        let need = llt::solve::solve_in_place_scratch::<f64>(self.size, 1, Par::Seq);
        llt::solve::solve_in_place(factor, side, Par::Seq, MemStack::new(&mut MemBuffer::new(need)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved() {
        // 4x + 2y = 2 and 2x + 10y = -8: x = 1, y = -1.
        let cholesky = Cholesky::new(vec![4.0, 2.0, f64::NAN, 10.0], 2).unwrap();
        let mut side = [2.0, -8.0];
        cholesky.solve(&mut side);
        assert!((side[0] - 1.0).abs() < 1e-15 && (side[1] + 1.0).abs() < 1e-15);
        // The factor is [2 0; 1 3].
        assert_eq!(cholesky.factor(), [2.0, 0.0, 1.0, 3.0]);
        for (got, want) in cholesky.inverse_of_factor().iter().zip([0.5, 0.0, -1.0 / 6.0, 1.0 / 3.0]) {
            assert!((got - want).abs() < 1e-15);
        }
        for (got, want) in cholesky.inverse().iter().zip([10.0, -2.0, -2.0, 4.0]) {
            assert!((got - want / 36.0).abs() < 1e-15);
        }
        assert!(Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none(), "eigenvalues 3 and -1");
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
    }

    #[test]
    fn gram_matrices_agree_with_a_naive_loop() {
        let (rows, cols) = (70, 150);
        let r: Vec<f64> = (0..rows * cols).map(|at| (at * 31 % 97) as f64 - 48.0).collect();
        let mut out = vec![2.0; cols * cols];
        add_gram(&mut out, &r, cols);
        for (i, j) in [(0, 0), (3, 149), (140, 7), (149, 149)] {
            let sum: f64 = (0..rows).map(|row| r[row * cols + i] * r[row * cols + j]).sum();
            assert_eq!(out[i * cols + j], 2.0 + sum);
        }
    }
}
