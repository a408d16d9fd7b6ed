//! Eigenvalues and eigenvectors of small symmetric matrices in `f64`.

use super::multiply;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par};

/// The eigenvalues of a symmetric matrix, largest first, and its eigenvectors as columns.
///
/// One thread computes them, so the same matrix always gives the same bytes on the same processor. All are NaN
/// where the matrix holds a value that is not finite.
pub(crate) fn eigen(a: &[f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut values, mut vectors) = (vec![0.0; size], vec![0.0; size * size]);
    if size == 0 {
        return (values, vectors);
    }
    let need = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let found = self_adjoint_evd(
        MatRef::from_row_major_slice(a, size, size),
        DiagMut::from_slice_mut(&mut values),
        Some(MatMut::from_column_major_slice_mut(&mut vectors, size, size)),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(need)),
        Default::default(),
    );
    if found.is_err() {
        return (vec![f64::NAN; size], vec![f64::NAN; size * size]);
    }
    values.reverse();
    (values, (0..size * size).map(|at| vectors[(size - 1 - at % size) * size + at / size]).collect())
}

/// The best eigenvectors YC of A within the span of a block Y (Rayleigh-Ritz), from G = YᵀY and H = YᵀAY: their
/// values, largest first, and C.
pub(crate) fn eigen_within(g: &[f64], h: &[f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let t = orthonormalizing(g, size);
    let back: Vec<f64> = (0..size * size).map(|at| t[at % size * size + at / size]).collect();
    let (values, vectors) = eigen(&multiply(&multiply(&back, h, size), &t, size), size);
    (values, multiply(&t, &vectors, size))
}

/// A direction in which the columns of a block differ by less than this is left out.
const DEPENDENT: f64 = 1e-12;

/// T for which YT has orthonormal columns, given G = YᵀY. Where columns of Y depend on each other, some columns of
/// T are zero.
pub(crate) fn orthonormalizing(g: &[f64], size: usize) -> Vec<f64> {
    // Columns of Y may differ in length by orders of magnitude, so they are scaled to length one first.
    let inverse = |length: f64| if length > 0.0 { 1.0 / length.sqrt() } else { 0.0 };
    let scale: Vec<f64> = g.iter().step_by(size + 1).map(|&square| inverse(square)).collect();
    let scaled: Vec<f64> =
        g.iter().enumerate().map(|(at, g)| g * scale[at / size] * scale[at % size]).collect();
    let (values, mut t) = eigen(&scaled, size);
    for (row, scale) in t.chunks_exact_mut(size).zip(&scale) {
        for (x, &value) in row.iter_mut().zip(&values) {
            *x *= if value > DEPENDENT { scale / value.sqrt() } else { 0.0 };
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_laplacian_of_a_path_has_its_known_eigenvectors() {
        // Eigenvalues 3, 1, 0.
        let a = [1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0];
        let (values, v) = eigen(&a, 3);
        for (got, want) in values.iter().zip([3.0, 1.0, 0.0]) {
            assert!((got - want).abs() < 1e-12);
        }
        for c in 0..3 {
            for r in 0..3 {
                let product: f64 = (0..3).map(|k| a[r * 3 + k] * v[k * 3 + c]).sum();
                assert!((product - values[c] * v[r * 3 + c]).abs() < 1e-12);
            }
        }
        assert_eq!(eigen(&[], 0), (vec![], vec![]));
        assert!(eigen(&[1.0, f64::NAN, f64::NAN, 1.0], 2).0.iter().all(|value| !value.is_finite()));
    }

    #[test]
    fn the_same_matrix_gives_the_same_bytes_wherever_it_lies_in_memory() {
        let size = 150;
        let a: Vec<f64> =
            (0..size * size).map(|at| ((at / size * 7) ^ (at % size * 7)) as f64 % 31.0).collect();
        let first = eigen(&a, size);
        for shift in 1..4 {
            let shifted = [&vec![0.0; shift][..], &a].concat();
            assert_eq!(eigen(&shifted[shift..], size), first);
        }
    }

    #[test]
    fn a_block_is_made_orthonormal_whatever_its_lengths() {
        // Columns (1, 0, 0), (1e-5, 1e-5, 0) and (2, 0, 0), which depends on the first.
        let y = [[1.0, 1e-5, 2.0], [0.0, 1e-5, 0.0], [0.0, 0.0, 0.0]];
        let g: Vec<f64> = (0..9).map(|at| y.iter().map(|row| row[at / 3] * row[at % 3]).sum()).collect();
        let t = orthonormalizing(&g, 3);
        let product = multiply(&multiply(&transposed(&t), &g, 3), &t, 3);
        for (at, got) in product.iter().enumerate() {
            let want = if at % 4 == 0 && at < 8 { 1.0 } else { 0.0 };
            assert!((got - want).abs() < 1e-9, "{product:?}");
        }
    }

    fn transposed(t: &[f64]) -> Vec<f64> {
        (0..9).map(|at| t[at % 3 * 3 + at / 3]).collect()
    }

    #[test]
    fn the_best_vectors_of_a_whole_space_are_the_eigenvectors() {
        // Y = [2 0; 1 3] spans the plane, so the eigenvalues 3 and 1 of A = [2 1; 1 2] are found.
        let y = [2.0, 0.0, 1.0, 3.0];
        let yt = [2.0, 1.0, 0.0, 3.0];
        let h = multiply(&multiply(&yt, &[2.0, 1.0, 1.0, 2.0], 2), &y, 2);
        let (values, c) = eigen_within(&multiply(&yt, &y, 2), &h, 2);
        assert!((values[0] - 3.0).abs() < 1e-12 && (values[1] - 1.0).abs() < 1e-12);
        let v = multiply(&y, &c, 2);
        assert!((v[0] - v[2]).abs() < 1e-12 && (v[1] + v[3]).abs() < 1e-12, "{v:?}");
    }
}
