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
        let mut equations = Equations { s: vec![(0.25 * c).sqrt(); self.size], own: None };
        for step in 0..MAX_STEPS {
            let p: Vec<f64> = y.iter().zip(&f).map(|(y, f)| doubt(y * f)).collect();
            let r: Vec<f64> = (0..y.len()).map(|i| a[i] - c * y[i] * p[i]).collect();
            let g_r = multiply(&self.gram, &r);
            // The length of a sum of rows; rounding can leave a negative square where it is nothing.
            let gradient = inner(&r, &g_r).max(0.0).sqrt();
            let start = *first.get_or_insert(gradient);
            if gradient <= TOLERANCE * start {
                return Ok(a);
            }
            let before = std::mem::replace(&mut relative, gradient / start);
            if step > 0 && (relative > CLOSE || relative > STALE * before) {
                let Some(anew) = equations.anew(&self.gram, &p, c) else { break };
                equations = anew;
            }
            let Some(step) = equations.step(self, &r, &g_r) else { break };
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
}

/// From here on, by the relative gradient, the equations hardly change any more. Solving with those of an
/// earlier step costs a fraction of factoring new ones, while each step leaves `STALE` of the gradient at most.
const CLOSE: f64 = 1e-2;
const STALE: f64 = 0.1;

/// The equations of a step, I + S G S with S² = C diag(p (1 - p)), a matrix that is symmetric and positive
/// definite.
struct Equations {
    s: Vec<f64>,
    /// Absent in the first step, whose equations all classes share.
    own: Option<Cholesky>,
}

impl Equations {
    /// Those of new doubts, in the memory of the old.
    fn anew(self, gram: &[f64], p: &[f64], c: f64) -> Option<Self> {
        let s: Vec<f64> = p.iter().map(|p| (c * p * (1.0 - p)).sqrt()).collect();
        let memory = self.own.map(Cholesky::into_memory).unwrap_or_default();
        let own = factored(gram, &s, memory)?;
        Some(Self { s, own: Some(own) })
    }

    /// (I + S² G)⁻¹ r as r - S (I + S G S)⁻¹ S G r.
    fn step(&self, space: &Space, r: &[f64], g_r: &[f64]) -> Option<Vec<f64>> {
        let s = &self.s;
        let mut inside: Vec<f64> = s.iter().zip(g_r).map(|(s, g_r)| s * g_r).collect();
        self.own.as_ref().or(space.first.as_ref())?.solve(&mut inside);
        Some((0..s.len()).map(|i| r[i] - s[i] * inside[i]).collect())
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
