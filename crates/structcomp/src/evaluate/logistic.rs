//! Logistic regression, one class against the rest, with liblinear's objective.
//!
//! For each class, with y = 1 for its nodes and -1 for all others,
//! min ½‖(w, b)‖² + C Σ log(1 + exp(-y (w·x + b))): the intercept b is the weight of a constant feature 1 and is
//! regularized like the others. The objective is strictly convex, so any solver finds the same classifier; liblinear
//! stops at a gradient of 1e-4, this one at 1e-8.

mod loss;
mod predict;
mod primal;
mod sample_space;
mod samples;

pub(super) use predict::predictions;

use crate::{Error, Features, Result};
use loss::losses_and_doubts;
use rayon::prelude::*;
use samples::Samples;

/// The norm of the gradient, relative to the initial one, at which Newton's method stops.
const TOLERANCE: f64 = 1e-8;
/// Newton's method usually takes about ten steps.
const MAX_STEPS: usize = 200;
/// Steps are halved until the objective decreases; below this length they never will.
const SHORTEST: f64 = 1e-18;
/// The equations of sample space are dense and cost the cube of the number of training nodes.
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
    /// Fits the classes of `nodes`, given as `(node, class)`.
    pub(super) fn fit(x: &Features, nodes: &[(u32, u32)], c: f64) -> Result<Self> {
        // In both spaces, work that all classes share is done once.
        let samples = Samples::new(x, nodes.iter().map(|&(node, _)| node).collect());
        let mut classes: Vec<u32> = nodes.iter().map(|&(_, class)| class).collect();
        classes.sort_unstable();
        classes.dedup();
        let weights = if samples.len() <= x.cols().min(MAX_IN_SAMPLE_SPACE) {
            let space = sample_space::Space::new(samples.gram(), samples.len(), c);
            let groups: Vec<&[u32]> = classes.chunks(sample_space::LANES).collect();
            let solve = |group: &&[u32]| {
                // Unused lanes repeat the last class.
                let class = |lane: usize| group[lane.min(group.len() - 1)];
                let signs = |node| std::array::from_fn(|lane| sign(node, class(lane)));
                let factors = space.solve(&nodes.iter().map(signs).collect::<Vec<_>>(), group.len())?;
                let of = |lane| factors.iter().map(|factors| factors[lane]).collect::<Vec<f64>>();
                Ok((0..group.len()).map(|lane| samples.sum(&of(lane))).collect())
            };
            groups.par_iter().map(solve).collect::<Result<Vec<Vec<_>>>>()?.concat()
        } else {
            let scale = primal::Preconditioner::new(&samples, c)?;
            let solve = |&class: &u32| {
                let y: Vec<f64> = nodes.iter().map(|node| sign(node, class)).collect();
                primal::solve(&samples, &scale, &y, c)
            };
            classes.par_iter().map(solve).collect::<Result<_>>()?
        };
        Ok(Self { classes, weights })
    }
}

/// 1 for a node of the class, -1 for all others.
fn sign(&(_, other): &(u32, u32), class: u32) -> f64 {
    if other == class { 1.0 } else { -1.0 }
}

/// Whether a step of this length decreases the objective enough, given its initial descent `slope` (the Armijo
/// condition).
fn falls(start: f64, end: f64, length: f64, slope: f64) -> bool {
    // Close to the minimum the decrease is lost in rounding, though the step is still good.
    end <= start - 1e-4 * length * slope + 1e-12 * start
}

fn stuck(gradient: f64) -> Error {
    Error::Input(format!(
        "logistic regression did not converge (relative gradient {gradient:.1e}); scale the features or lower C"
    ))
}

#[cfg(test)]
mod tests;
