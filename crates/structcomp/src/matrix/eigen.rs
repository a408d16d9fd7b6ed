//! Small dense symmetric `f64` matrices: Jacobi eigendecomposition and Cholesky factorisation.

use rayon::prelude::*;

/// The eigenvalues of a symmetric matrix, largest first, and its eigenvectors as columns.
///
/// Jacobi rotations only use basic arithmetic and square roots, which are correctly rounded and so give the
/// same bits on every machine.
pub(crate) fn eigen(mut a: Vec<f64>, size: usize) -> (Vec<f64>, Vec<f64>) {
    // The vectors are rows of `v` until the end, so that a rotation updates two contiguous rows.
    let mut v: Vec<f64> = (0..size * size).map(|at| (at / size == at % size) as u8 as f64).collect();
    let total: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..64 {
        let off: f64 = (0..size * size).filter(|at| at / size != at % size).map(|at| a[at] * a[at]).sum();
        if off <= 1e-26 * total {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                if let Some((cos, sin)) = rotation(a[p * size + p], a[q * size + q], a[p * size + q]) {
                    turn_rows(&mut a, size, p, q, cos, sin);
                    turn_columns(&mut a, size, p, q, cos, sin);
                    turn_rows(&mut v, size, p, q, cos, sin);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&p, &q| a[q * size + q].total_cmp(&a[p * size + p]));
    let values = order.iter().map(|&p| a[p * size + p]).collect();
    (values, (0..size * size).map(|at| v[order[at % size] * size + at / size]).collect())
}

/// Cosine and sine of the rotation that eliminates `pq`; `None` if it is negligible.
fn rotation(pp: f64, qq: f64, pq: f64) -> Option<(f64, f64)> {
    if pq == 0.0 || pq.abs() < 1e-18 * (pp.abs() + qq.abs()) {
        return None;
    }
    let theta = (qq - pp) / (2.0 * pq);
    let tangent = 1f64.copysign(theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cos = 1.0 / (tangent * tangent + 1.0).sqrt();
    Some((cos, tangent * cos))
}

fn turn_rows(a: &mut [f64], size: usize, p: usize, q: usize, cos: f64, sin: f64) {
    let (above, below) = a.split_at_mut(q * size);
    for (x, y) in above[p * size..(p + 1) * size].iter_mut().zip(&mut below[..size]) {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    }
}

fn turn_columns(a: &mut [f64], size: usize, p: usize, q: usize, cos: f64, sin: f64) {
    for row in a.chunks_exact_mut(size) {
        (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
    }
}

/// Rayleigh-Ritz: the approximate eigenvectors YC of A in the span of Y, from G = YᵀY and H = YᵀAY. Returns
/// their eigenvalues, largest first, and C.
pub(crate) fn eigen_within(g: &[f64], h: &[f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    // The generalised problem Hc = λGc, reduced to an ordinary one by G = LLᵀ.
    let inverse = cholesky_inverse(g, size);
    let back = transposed(&inverse, size);
    let (values, vectors) = eigen(multiply(&multiply(&inverse, h, size), &back, size), size);
    (values, multiply(&back, &vectors, size))
}

/// The inverse of L in G = LLᵀ. Directions in which G is singular are dropped: their rows are zero.
fn cholesky_inverse(g: &[f64], size: usize) -> Vec<f64> {
    let mut l = vec![0.0; size * size];
    let mut inverse = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..i {
            let dot: f64 = (0..j).map(|k| l[i * size + k] * l[j * size + k]).sum();
            let pivot = l[j * size + j];
            l[i * size + j] = if pivot > 0.0 { (g[i * size + j] - dot) / pivot } else { 0.0 };
        }
        let length = g[i * size + i];
        let left = length - (0..i).map(|k| l[i * size + k] * l[i * size + k]).sum::<f64>();
        if left <= 1e-13 * length {
            continue;
        }
        let pivot = left.sqrt();
        l[i * size + i] = pivot;
        inverse[i * size + i] = 1.0 / pivot;
        for j in 0..i {
            let dot: f64 = (j..i).map(|k| l[i * size + k] * inverse[k * size + j]).sum();
            inverse[i * size + j] = -dot / pivot;
        }
    }
    inverse
}

fn multiply(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    out.par_chunks_mut(size).zip(a.par_chunks(size)).for_each(|(out, a)| {
        for (&a, b) in a.iter().zip(b.chunks_exact(size)) {
            out.iter_mut().zip(b).for_each(|(out, b)| *out += a * b);
        }
    });
    out
}

fn transposed(a: &[f64], size: usize) -> Vec<f64> {
    (0..size * size).map(|at| a[at % size * size + at / size]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_three_is_taken_apart() {
        // The Laplacian of a path: eigenvalues 3, 1, 0.
        let a = vec![1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0];
        let (values, v) = eigen(a.clone(), 3);
        for (got, want) in values.iter().zip([3.0, 1.0, 0.0]) {
            assert!((got - want).abs() < 1e-12);
        }
        for c in 0..3 {
            for r in 0..3 {
                let product: f64 = (0..3).map(|k| a[r * 3 + k] * v[k * 3 + c]).sum();
                assert!((product - values[c] * v[r * 3 + c]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_inverse_factor_undoes_the_matrix() {
        // L = [2 0; 1 3]
        let inverse = cholesky_inverse(&[4.0, 2.0, 2.0, 10.0], 2);
        for (got, want) in inverse.iter().zip([0.5, 0.0, -1.0 / 6.0, 1.0 / 3.0]) {
            assert!((got - want).abs() < 1e-15);
        }
        assert_eq!(cholesky_inverse(&[1.0, 1.0, 1.0, 1.0], 2), [1.0, 0.0, 0.0, 0.0]);
    }
}
