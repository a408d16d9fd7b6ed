//! Logistic regression, one class against the rest, with the objective of liblinear.
//!
//! For each class, with y = 1 for its nodes and -1 for all others,
//! min ½‖(w, b)‖² + C Σ log(1 + exp(-y (w·x + b))): the intercept b is the weight of a feature that
//! is always 1, and is kept small like the others. The objective is strictly convex, so that any
//! solver finds the same classifier; liblinear stops at a gradient of 1e-4, ours at 1e-8.

mod predict;
mod primal;
mod sample_space;
mod samples;

pub(super) use predict::count_right;

use crate::{Error, Features, Result};
use rayon::prelude::*;
use samples::Samples;

/// The norm of the gradient, beside that at the start, from which on a solution counts as exact.
const TOLERANCE: f64 = 1e-8;
/// Newton's method takes about ten steps.
const MAX_STEPS: usize = 200;
/// The equations of sample space are dense, and cost the cube of the number of training nodes.
const MAX_IN_SAMPLE_SPACE: usize = 2000;

/// A trained classifier.
#[derive(Clone)]
pub(super) struct Classifier {
    /// The classes seen in training.
    classes: Vec<u32>,
    /// Their weights, each with the intercept last.
    weights: Vec<Vec<f64>>,
}

impl Classifier {
    /// Learns to tell the classes of `nodes` apart, given as `(node, class)`.
    pub(super) fn fit(x: &Features, nodes: &[(u32, u32)], c: f64) -> Result<Self> {
        // In both spaces the work that all classes share is done once.
        let samples = Samples::new(x, nodes.iter().map(|&(node, _)| node).collect());
        if samples.len() <= x.cols().min(MAX_IN_SAMPLE_SPACE) {
            let space = sample_space::Space::new(samples.gram(), samples.len(), c);
            Self::fit_each(nodes, |y| Ok(samples.sum(&space.solve(y)?)))
        } else {
            let scale = primal::Scale::new(&samples, c)?;
            Self::fit_each(nodes, |y| primal::solve(&samples, &scale, y, c))
        }
    }

    fn fit_each(nodes: &[(u32, u32)], solve: impl Fn(&[f64]) -> Result<Vec<f64>> + Sync) -> Result<Self> {
        let mut classes: Vec<u32> = nodes.iter().map(|&(_, class)| class).collect();
        classes.sort_unstable();
        classes.dedup();
        let one = |class: u32| {
            let side = |&(_, other): &(u32, u32)| if other == class { 1.0 } else { -1.0 };
            let y: Vec<f64> = nodes.iter().map(side).collect();
            solve(&y)
        };
        let weights = classes.par_iter().map(|&class| one(class)).collect::<Result<_>>()?;
        Ok(Self { classes, weights })
    }
}

/// log(1 + exp(-m)), for margins of any size.
fn loss(m: f64) -> f64 {
    (-m.abs()).exp().ln_1p() + (-m).max(0.0)
}

/// 1 / (1 + exp(m)), the chance that the model gives to the wrong answer.
fn doubt(m: f64) -> f64 {
    1.0 / (1.0 + m.exp())
}

/// The first of 1, ½, ¼, … at which the objective falls by a fair part of what `slope`, its
/// descent at the start, promises.
fn step_length(slope: f64, objective: impl Fn(f64) -> f64) -> Option<f64> {
    let start = objective(0.0);
    // Close to the minimum the fall drowns in rounding, while the step is as good as ever.
    let enough = |&length: &f64| objective(length) <= start - 1e-4 * length * slope + 1e-12 * start;
    std::iter::successors(Some(1.0), |length| Some(length / 2.0)).take(60).find(enough)
}

fn stuck(gradient: f64) -> Error {
    Error::Input(format!(
        "logistic regression came no closer than a relative gradient of {gradient:.1e}; scale the features or lower C"
    ))
}

#[cfg(test)]
mod tests;
