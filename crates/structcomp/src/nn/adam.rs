//! Adam and AdamW, as torch has them.

use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How the weight decay acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// As part of the gradient.
    #[default]
    Adam,
    /// On the parameters themselves, before each step.
    AdamW,
}

/// The state of an optimiser.
#[derive(Clone, Debug)]
pub(crate) struct Adam {
    kind: Optimizer,
    learning_rate: f32,
    weight_decay: f32,
    steps: i32,
    mean: Vec<f32>,
    square: Vec<f32>,
}

const MEAN_DECAY: f64 = 0.9;
const SQUARE_DECAY: f64 = 0.999;
const LEAST: f32 = 1e-8;
/// Parameters that a task updates.
const TASK: usize = 1 << 13;

impl Adam {
    pub(crate) fn new(kind: Optimizer, learning_rate: f32, weight_decay: f32, parameters: usize) -> Self {
        // Zeros that are read before they are written cost an interruption of all threads a page.
        let zeros = || {
            let mut zeros = vec![0.0; parameters];
            zeros.par_chunks_mut(TASK).for_each(|part| std::hint::black_box(part).fill(0.0));
            zeros
        };
        Self { kind, learning_rate, weight_decay, steps: 0, mean: zeros(), square: zeros() }
    }

    /// What it knows: the steps taken, and the running mean and mean square of the gradient.
    pub(crate) fn state(&self) -> (i32, &[f32], &[f32]) {
        (self.steps, &self.mean, &self.square)
    }

    /// Takes up where another left off.
    pub(crate) fn restore(&mut self, steps: i32, mean: Vec<f32>, square: Vec<f32>) {
        (self.steps, self.mean, self.square) = (steps, mean, square);
    }

    /// Moves the parameters against the gradient; whether they still are numbers.
    pub(crate) fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> bool {
        self.steps += 1;
        let decay = self.learning_rate * self.weight_decay;
        let (in_gradient, shrink) = match self.kind {
            Optimizer::Adam => (self.weight_decay, 1.0),
            Optimizer::AdamW => (0.0, 1.0 - decay),
        };
        let corrected = |decay: f64| 1.0 - decay.powi(self.steps);
        let rate = (self.learning_rate as f64 / corrected(MEAN_DECAY)) as f32;
        let root = (1.0 / corrected(SQUARE_DECAY).sqrt()) as f32;
        let unit = Unit::widest();
        parameters
            .par_chunks_mut(TASK)
            .zip(gradient.par_chunks(TASK))
            .zip(self.mean.par_chunks_mut(TASK))
            .zip(self.square.par_chunks_mut(TASK))
            .map(|(((parameters, gradient), mean), square)| {
                let mut lost = 0;
                let state = (mean, square);
                unit.run(Update {
                    parameters,
                    gradient,
                    state,
                    in_gradient,
                    shrink,
                    rate,
                    root,
                    lost: &mut lost,
                });
                lost == 0
            })
            .reduce(|| true, |one, other| one && other)
    }
}

struct Update<'a> {
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    /// The running mean and mean square.
    state: (&'a mut [f32], &'a mut [f32]),
    in_gradient: f32,
    shrink: f32,
    rate: f32,
    root: f32,
    /// How many parameters are no numbers any more.
    lost: &'a mut u32,
}

impl Kernel for Update<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { parameters, gradient, state: (mean, square), in_gradient, shrink, rate, root, lost } =
            self;
        let state = mean.iter_mut().zip(square);
        let mut not_finite = 0;
        for ((parameter, &gradient), (mean, square)) in parameters.iter_mut().zip(gradient).zip(state) {
            let gradient = gradient + in_gradient * *parameter;
            *mean = MEAN_DECAY as f32 * *mean + (1.0 - MEAN_DECAY) as f32 * gradient;
            *square = SQUARE_DECAY as f32 * *square + (1.0 - SQUARE_DECAY) as f32 * (gradient * gradient);
            *parameter = shrink * *parameter - rate * *mean / (square.sqrt() * root + LEAST);
            not_finite += u32::from(!parameter.is_finite());
        }
        *lost = not_finite;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The update in full precision, written as the definition has it.
    fn naive(kind: Optimizer, rate: f64, decay: f64, start: f64, gradients: &[f64]) -> f64 {
        let (mut theta, mut m, mut v) = (start, 0.0, 0.0);
        for (t, g) in (1..).zip(gradients) {
            let mut g = *g;
            match kind {
                Optimizer::Adam => g += decay * theta,
                Optimizer::AdamW => theta *= 1.0 - rate * decay,
            }
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            let (m_hat, v_hat) = (m / (1.0 - 0.9f64.powi(t)), v / (1.0 - 0.999f64.powi(t)));
            theta -= rate * m_hat / (v_hat.sqrt() + 1e-8);
        }
        theta
    }

    #[test]
    fn steps_are_those_of_the_definition() {
        let gradients = [0.3, -1.2, 0.01, 4.0, -0.5];
        for kind in [Optimizer::Adam, Optimizer::AdamW] {
            let mut adam = Adam::new(kind, 0.02, 0.1, 3);
            let mut parameters = vec![0.7f32, -1.5, 0.0];
            for g in gradients {
                adam.step(&mut parameters, &[g as f32, -g as f32, 2.0 * g as f32]);
            }
            for (at, (start, sign)) in [(0.7, 1.0), (-1.5, -1.0), (0.0, 2.0)].into_iter().enumerate() {
                let expected = naive(kind, 0.02, 0.1, start, &gradients.map(|g| sign * g));
                assert!((parameters[at] as f64 - expected).abs() < 1e-6, "{kind:?} {at}");
            }
        }
    }
}
