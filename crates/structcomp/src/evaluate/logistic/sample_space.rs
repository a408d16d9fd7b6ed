//! Few training nodes: the weights are a sum of training rows, w = Σ aᵢ xᵢ, with one unknown a node.
//!
//! With the Gram matrix G of the rows, the decision values are f = Ga and the gradient is Σ rᵢ xᵢ,
//! where r = a - C y ∘ p and p is the doubt in each node. A step of Newton's method in the weights
//! becomes a ← a - (I + C diag(p (1 - p)) G)⁻¹ r.

use super::super::rows::{inner, multiply};
use super::{MAX_STEPS, TOLERANCE, doubt, loss, step_length, stuck};
use crate::{Result, linalg::Cholesky};

/// What all classes share: the Gram matrix, and the equations of their first step, where every node is
/// doubted alike.
pub(super) struct Space {
    gram: Vec<f64>,
    first: Option<Cholesky>,
    size: usize,
    c: f64,
}

impl Space {
    pub(super) fn new(gram: Vec<f64>, size: usize, c: f64) -> Self {
        let first = factored(&gram, &vec![(0.25 * c).sqrt(); size], Vec::new());
        Self { gram, first, size, c }
    }

    /// The factors a of the training rows for the signs `y`.
    pub(super) fn solve(&self, y: &[f64]) -> Result<Vec<f64>> {
        let c = self.c;
        let (mut a, mut f) = (vec![0.0; self.size], vec![0.0; self.size]);
        let (mut first, mut relative) = (None, 1.0);
        let mut memory = Vec::new();
        for _ in 0..MAX_STEPS {
            let p: Vec<f64> = y.iter().zip(&f).map(|(y, f)| doubt(y * f)).collect();
            let r: Vec<f64> = (0..y.len()).map(|i| a[i] - c * y[i] * p[i]).collect();
            let g_r = multiply(&self.gram, &r);
            // The length of a sum of rows; rounding can leave a negative square where it is nothing.
            let gradient = inner(&r, &g_r).max(0.0).sqrt();
            let start = *first.get_or_insert(gradient);
            if gradient <= TOLERANCE * start {
                return Ok(a);
            }
            relative = gradient / start;
            let Some(step) = self.newton_step(&p, &r, &g_r, &mut memory) else { break };
            let g_step = multiply(&self.gram, &step);
            let (square, cross, step_square) = (inner(&a, &f), inner(&a, &g_step), inner(&step, &g_step));
            let objective = |t: f64| {
                let losses: f64 = (0..y.len()).map(|i| loss(y[i] * (f[i] - t * g_step[i]))).sum();
                0.5 * (square - 2.0 * t * cross + t * t * step_square) + c * losses
            };
            let Some(length) = step_length(inner(&r, &g_step), objective) else { break };
            a.iter_mut().zip(&step).for_each(|(a, step)| *a -= length * step);
            f.iter_mut().zip(&g_step).for_each(|(f, step)| *f -= length * step);
        }
        Err(stuck(relative))
    }

    /// (I + S² G)⁻¹ r for S² = C diag(p (1 - p)), as r - S (I + S G S)⁻¹ S G r: that matrix is
    /// symmetric and positive definite.
    fn newton_step(&self, p: &[f64], r: &[f64], g_r: &[f64], memory: &mut Vec<f64>) -> Option<Vec<f64>> {
        let s: Vec<f64> = p.iter().map(|p| (self.c * p * (1.0 - p)).sqrt()).collect();
        let mut inside: Vec<f64> = s.iter().zip(g_r).map(|(s, g_r)| s * g_r).collect();
        if p.iter().all(|&p| p == 0.5) {
            self.first.as_ref()?.solve(&mut inside);
        } else {
            let equations = factored(&self.gram, &s, std::mem::take(memory))?;
            equations.solve(&mut inside);
            *memory = equations.into_memory();
        }
        Some((0..self.size).map(|i| r[i] - s[i] * inside[i]).collect())
    }
}

/// I + S G S, factored, in memory that is no longer needed.
fn factored(gram: &[f64], s: &[f64], mut memory: Vec<f64>) -> Option<Cholesky> {
    let size = s.len();
    memory.resize(size * size, 0.0);
    for (i, (to, row)) in memory.chunks_exact_mut(size).zip(gram.chunks_exact(size)).enumerate() {
        let upper = to[i..].iter_mut().zip(row[i..].iter().zip(&s[i..]));
        upper.for_each(|(to, (g, s_other))| *to = s[i] * g * s_other);
        to[i] += 1.0;
    }
    Cholesky::new(memory, size)
}
