//! For many training nodes: Newton's method in the weights, with equations solved by conjugate gradients.
//!
//! The Hessian I + C Xᵀ diag(p (1 - p)) X is never formed. The preconditioner is its upper bound I + ¼ C XᵀX, which
//! is the same for all classes and removes the effect of correlated features.

use super::super::rows::inner;
use super::samples::Samples;
use super::{MAX_STEPS, SHORTEST, TOLERANCE, falls, losses_and_doubts, stuck};
use crate::{Error, Result, matrix::Cholesky};

/// Products with the Hessian per step of Newton's method; usually far fewer than fifty.
const MAX_PRODUCTS: usize = 1000;

/// The preconditioner I + ¼ C XᵀX, factored.
pub(super) struct Preconditioner(Cholesky);

impl Preconditioner {
    pub(super) fn new(samples: &Samples, c: f64) -> Result<Self> {
        let width = samples.width();
        let mut matrix = samples.column_products();
        matrix.iter_mut().for_each(|product| *product *= 0.25 * c);
        matrix.iter_mut().step_by(width + 1).for_each(|diagonal| *diagonal += 1.0);
        let what = "the features are too large for logistic regression; scale them";
        Cholesky::new(matrix, width).map(Self).ok_or_else(|| Error::Input(what.into()))
    }
}

/// The weights, intercept last, for the signs `y`.
pub(super) fn solve(samples: &Samples, scale: &Preconditioner, y: &[f64], c: f64) -> Result<Vec<f64>> {
    let mut w = vec![0.0; samples.width()];
    let (mut first, mut relative) = (None, 1.0);
    for _ in 0..MAX_STEPS {
        let f = samples.decisions(&w);
        let p: Vec<f64> = y.iter().zip(&f).map(|(y, f)| losses_and_doubts([y * f]).1[0]).collect();
        let pull: Vec<f64> = y.iter().zip(&p).map(|(y, p)| -c * y * p).collect();
        let gradient = plus(&w, &samples.sum(&pull));
        let norm = inner(&gradient, &gradient).sqrt();
        let first = *first.get_or_insert(norm);
        if norm <= TOLERANCE * first {
            return Ok(w);
        }
        relative = norm / first;
        let curvature: Vec<f64> = p.iter().map(|p| c * p * (1.0 - p)).collect();
        // Early steps need not be exact; this accuracy keeps the convergence quadratic.
        let step = newton_step(samples, scale, &curvature, &gradient, relative.min(0.1));
        let f_step = samples.decisions(&step);
        let (square, cross, step_square) = (inner(&w, &w), inner(&w, &step), inner(&step, &step));
        let objective = |t: f64| {
            let losses: f64 =
                (0..y.len()).map(|i| losses_and_doubts([y[i] * (f[i] - t * f_step[i])]).0[0]).sum();
            0.5 * (square - 2.0 * t * cross + t * t * step_square) + c * losses
        };
        let (start, slope) = (objective(0.0), inner(&gradient, &step));
        let mut length = 1.0;
        while length >= SHORTEST && !falls(start, objective(length), length, slope) {
            length /= 2.0;
        }
        if length < SHORTEST {
            break;
        }
        w.iter_mut().zip(&step).for_each(|(w, step)| *w -= length * step);
    }
    Err(stuck(relative))
}

/// H⁻¹ times the gradient, with a relative residual of `accuracy`.
fn newton_step(
    samples: &Samples,
    scale: &Preconditioner,
    curvature: &[f64],
    gradient: &[f64],
    accuracy: f64,
) -> Vec<f64> {
    let enough = accuracy * inner(gradient, gradient).sqrt();
    let mut step = vec![0.0; gradient.len()];
    let mut left = gradient.to_vec();
    let mut scaled = left.clone();
    scale.0.solve(&mut scaled);
    let mut direction = scaled.clone();
    let mut size = inner(&left, &scaled);
    for _ in 0..MAX_PRODUCTS {
        let seen = samples.decisions(&direction);
        let seen: Vec<f64> = seen.iter().zip(curvature).map(|(seen, curvature)| seen * curvature).collect();
        let product = plus(&direction, &samples.sum(&seen));
        let length = size / inner(&direction, &product);
        step.iter_mut().zip(&direction).for_each(|(step, direction)| *step += length * direction);
        left.iter_mut().zip(&product).for_each(|(left, product)| *left -= length * product);
        if inner(&left, &left).sqrt() <= enough {
            break;
        }
        scaled.copy_from_slice(&left);
        scale.0.solve(&mut scaled);
        let next = inner(&left, &scaled);
        direction.iter_mut().zip(&scaled).for_each(|(d, scaled)| *d = scaled + next / size * *d);
        size = next;
    }
    step
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}
