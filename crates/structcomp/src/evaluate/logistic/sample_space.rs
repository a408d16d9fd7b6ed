//! Few training nodes: the weights are a sum of training rows, w = Σ aᵢ xᵢ, with one unknown a node.
//!
//! With the Gram matrix G of the rows, the decision values are f = Ga and the gradient is Σ rᵢ xᵢ,
//! where r = a - C y ∘ p and p is the doubt in each node. A step of Newton's method in the weights
//! becomes a ← a - (I + C diag(p (1 - p)) G)⁻¹ r.

use super::super::rows::inner;
use super::{MAX_STEPS, TOLERANCE, doubt, loss, step_length, stuck};
use crate::{Result, linalg::Cholesky};

/// The factors a of the training rows for the signs `y`.
pub(super) fn solve(gram: &[f64], y: &[f64], c: f64) -> Result<Vec<f64>> {
    let mut a = vec![0.0; y.len()];
    let (mut first, mut relative) = (None, 1.0);
    for _ in 0..MAX_STEPS {
        let f = multiply(gram, &a);
        let p: Vec<f64> = y.iter().zip(&f).map(|(y, f)| doubt(y * f)).collect();
        let r: Vec<f64> = (0..y.len()).map(|i| a[i] - c * y[i] * p[i]).collect();
        let g_r = multiply(gram, &r);
        // The length of a sum of rows; rounding can leave a negative square where it is nothing.
        let gradient = inner(&r, &g_r).max(0.0).sqrt();
        let first = *first.get_or_insert(gradient);
        if gradient <= TOLERANCE * first {
            return Ok(a);
        }
        relative = gradient / first;
        let Some(step) = newton_step(gram, &p, &r, &g_r, c) else { break };
        let g_step = multiply(gram, &step);
        let (square, cross, step_square) = (inner(&a, &f), inner(&a, &g_step), inner(&step, &g_step));
        let objective = |t: f64| {
            let losses: f64 = (0..y.len()).map(|i| loss(y[i] * (f[i] - t * g_step[i]))).sum();
            0.5 * (square - 2.0 * t * cross + t * t * step_square) + c * losses
        };
        let Some(length) = step_length(inner(&r, &g_step), objective) else { break };
        a.iter_mut().zip(&step).for_each(|(a, step)| *a -= length * step);
    }
    Err(stuck(relative))
}

/// (I + S² G)⁻¹ r for S² = C diag(p (1 - p)), as r - S (I + S G S)⁻¹ S G r: that matrix is
/// symmetric and positive definite.
fn newton_step(gram: &[f64], p: &[f64], r: &[f64], g_r: &[f64], c: f64) -> Option<Vec<f64>> {
    let size = p.len();
    let s: Vec<f64> = p.iter().map(|p| (c * p * (1.0 - p)).sqrt()).collect();
    let mut matrix: Vec<f64> = Vec::with_capacity(size * size);
    for (row, s_row) in gram.chunks_exact(size).zip(&s) {
        matrix.extend(row.iter().zip(&s).map(|(g, s)| s_row * g * s));
    }
    matrix.iter_mut().step_by(size + 1).for_each(|diagonal| *diagonal += 1.0);
    let mut inside: Vec<f64> = s.iter().zip(g_r).map(|(s, g_r)| s * g_r).collect();
    Cholesky::new(matrix, size)?.solve(&mut inside);
    Some((0..size).map(|i| r[i] - s[i] * inside[i]).collect())
}

fn multiply(gram: &[f64], a: &[f64]) -> Vec<f64> {
    gram.chunks_exact(a.len()).map(|row| inner(row, a)).collect()
}
