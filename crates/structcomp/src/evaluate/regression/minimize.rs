//! L-BFGS with the inverse of a Gram matrix as its first guess of the inverse Hessian.
//!
//! At zero weights the Hessian of softmax regression is XᵀX/K + λI for each of K classes, so the first step is that of
//! Newton's method; the pairs of later steps correct it where probabilities have moved.

use super::softmax::{Point, times};
use crate::matrix::{View, dot};
use std::collections::VecDeque;

/// Pairs of steps and changes of the gradient that are kept.
const PAIRS: usize = 10;
/// A step is shortened at most this often.
const HALVINGS: usize = 12;

/// When to stop.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// The decrease of F that the next step promises.
    pub(super) decrease: f64,
    pub(super) steps: usize,
}

/// Where the minimization ended.
pub(super) struct Minimum {
    pub(super) weights: Vec<f32>,
    pub(super) point: Point,
}

/// A step, the change of the gradient, the first guess of H⁻¹ times that, one over the product of step and change, and
/// how much longer the step should have been.
struct Pair {
    step: Vec<f32>,
    change: Vec<f32>,
    guess: Vec<f32>,
    inverse: f64,
    scale: f64,
}

/// Follows `at` downhill from `weights`; `inverse` is a symmetric matrix of `width` by `width`.
pub(super) fn minimize(
    at: impl Fn(&[f32]) -> Point,
    inverse: &[f32],
    width: usize,
    weights: Vec<f32>,
    effort: Effort,
) -> Minimum {
    let mut now = Minimum { point: at(&weights), weights };
    let mut guess = of_metric(inverse, width, &now.point.gradient);
    let mut pairs = VecDeque::new();
    for _ in 0..effort.steps {
        let direction = direction(&now.point.gradient, &guess, &pairs);
        let slope = dot(&now.point.gradient, &direction);
        // Not a number where the rows are not: every comparison is false, and the loop ends.
        let goes_on = slope > 2.0 * effort.decrease;
        if !goes_on {
            break;
        }
        let Some(next) = along(&at, &now, &direction, slope) else { break };
        let difference = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f32>>();
        let step = difference(&next.weights, &now.weights);
        let change = difference(&next.point.gradient, &now.point.gradient);
        let product = dot(&step, &change);
        let before = std::mem::replace(&mut guess, of_metric(inverse, width, &next.point.gradient));
        if product > 0.0 {
            if pairs.len() == PAIRS {
                pairs.pop_front();
            }
            let before = difference(&guess, &before);
            let scale = product / dot(&change, &before);
            pairs.push_back(Pair { step, change, guess: before, inverse: 1.0 / product, scale });
        }
        now = next;
    }
    now
}

/// An approximation of H⁻¹g by the recursion of two loops, from the first guess of it.
fn direction(gradient: &[f32], guess: &[f32], pairs: &VecDeque<Pair>) -> Vec<f32> {
    let (mut q, mut out) = (gradient.to_vec(), guess.to_vec());
    let mut factors = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let factor = pair.inverse * dot(&pair.step, &q);
        add(&mut q, -factor, &pair.change);
        add(&mut out, -factor, &pair.guess);
        factors.push(factor);
    }
    if let Some(scale) = pairs.back().map(|last| last.scale).filter(|scale| scale.is_finite()) {
        out.iter_mut().for_each(|value| *value *= scale as f32);
    }
    for (pair, factor) in pairs.iter().zip(factors.into_iter().rev()) {
        let correction = factor - pair.inverse * dot(&pair.change, &out);
        add(&mut out, correction, &pair.step);
    }
    out
}

/// The first guess of H⁻¹q.
fn of_metric(inverse: &[f32], width: usize, q: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; q.len()];
    times(&mut out, View::new(inverse, width), View::new(q, q.len() / width));
    out
}

fn add(to: &mut [f32], scale: f64, values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += scale as f32 * value);
}

/// The first of ever shorter steps that decreases F enough; none if none does.
fn along(at: impl Fn(&[f32]) -> Point, from: &Minimum, direction: &[f32], slope: f64) -> Option<Minimum> {
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let mut weights = from.weights.clone();
        add(&mut weights, -length, direction);
        let point = at(&weights);
        let decrease = from.point.value - point.value;
        if decrease >= 1e-4 * length * slope {
            return Some(Minimum { weights, point });
        }
        // The minimum of the parabola through what is known.
        let best = length * slope / (2.0 * (slope - decrease / length));
        length = if best.is_finite() { best.clamp(0.1 * length, 0.5 * length) } else { 0.1 * length };
    }
    None
}
