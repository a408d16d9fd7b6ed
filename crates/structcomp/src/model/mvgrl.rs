//! MVGRL: two encoders, one of neighbours and one of a diffusion; the rows of each should fit the mean of the
//! other's.

use super::dgi::{SummaryScore, bilinear};
use super::scores::{add_outer, add_to_rows};
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, Views};
use crate::graph::Hops;
use crate::nn::Beside;
use crate::{Activation, EncoderKind, Error, Result, Seed};
use serde::{Deserialize, Serialize};

/// Rows H₁ are of an encoder that passes messages to neighbours, H₂ of another that passes them by
/// personalised PageRank. With the summaries cᵢ = σ(mean of Hᵢ), scores H₂Mc₁ and H₁Mc₂ should be high, and
/// those of corrupted rows low, by cross entropy. The embedding is H₁ + H₂.
///
/// PageRank is computed by power iterations instead of the dense inverse of the authors' code. In training on
/// clusters no messages are passed, so the encoders differ in their initial weights alone.
///
/// # Reference
/// K. Hassani, A. Khasahmadi: Contrastive multi-view representation learning on graphs. ICML 2020.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Mvgrl {
    /// The probability α to go back to the start of PageRank.
    pub alpha: f64,
    /// Power iterations; each leaves 1 − α of the error before.
    pub iterations: usize,
}

impl Default for Mvgrl {
    fn default() -> Self {
        Self { alpha: 0.2, iterations: 20 }
    }
}

impl Contrastive for Mvgrl {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint {
            views: Views::Corrupted { mask: 0.0 },
            encoder: EncoderKind::Gcn,
            inner: Activation::PreluShared,
            activation: Activation::PreluShared,
            beside: Beside::Second(Hops::page_rank(self.alpha, self.iterations.min(1000))),
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        if !(self.alpha > 0.0 && self.alpha <= 1.0) {
            return Err(Error::Input(format!("alpha must be above 0 and at most 1, not {}", self.alpha)));
        }
        if !(1..=1000).contains(&self.iterations) {
            return Err(Error::Input(format!("iterations must be from 1 to 1000, not {}", self.iterations)));
        }
        Ok(())
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Ok(Box::new(self.clone()))
    }

    fn own(&self, width: usize, seed: Seed) -> Vec<f32> {
        bilinear(width, seed)
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.own, of.width)
    }
}

impl Objective for Mvgrl {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let view = step.rows * width;
        let [first, first_corrupted, second, second_corrupted] =
            [0, 1, 2, 3].map(|at| &z[at * view..][..view]);
        let mut gradient = vec![0f32; z.len()];
        let (of_first, of_second) = gradient.split_at_mut(2 * view);
        let share = 1.0 / (4 * step.rows) as f64;
        let (one, other) =
            (SummaryScore::new(first, step.own, width), SummaryScore::new(second, step.own, width));
        let to_one = one.of((second, second_corrupted), 0.0, share, of_second.split_at_mut(view));
        let to_other = other.of((first, first_corrupted), 0.0, share, of_first.split_at_mut(view));
        add_to_rows(&mut of_first[..view], &to_one.of_summarised);
        add_to_rows(&mut of_second[..view], &to_other.of_summarised);
        let mut of_own = vec![0f32; step.own.len()];
        add_outer(&mut of_own, &to_one.sum, &one.summary);
        add_outer(&mut of_own, &to_other.sum, &other.summary);
        Ok(Loss { value: to_one.value + to_other.value, gradient, of_own })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;

    pub(super) fn twin(views: &[Vec<f64>], own: &[f64], width: usize) -> f64 {
        let rows = views[0].len() / width;
        let summary = |h: &[f64]| -> Vec<f64> {
            let mean = |j: usize| h.iter().skip(j).step_by(width).sum::<f64>() / rows as f64;
            (0..width).map(|j| 1.0 / (1.0 + (-mean(j)).exp())).collect()
        };
        let (one, other) = (summary(&views[0]), summary(&views[2]));
        let side = |view: &[f64], c: &[f64], sign: f64| -> f64 {
            let score = |h: &[f64]| -> f64 {
                (0..width * width).map(|at| h[at / width] * own[at] * c[at % width]).sum()
            };
            view.chunks(width).map(|h| (1.0 + (sign * score(h)).exp()).ln()).sum()
        };
        let high = side(&views[2], &one, -1.0) + side(&views[0], &other, -1.0);
        let low = side(&views[3], &one, 1.0) + side(&views[1], &other, 1.0);
        (high + low) / (4 * rows) as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let own = some_rows(4, 4, 9);
        let views: Vec<Vec<f32>> = (0..4).map(|salt| some_rows(5, 4, salt)).collect();
        let step = Step { own: &own, ..Step::default() };
        check_step(&Mvgrl::default(), &views, 4, &step, |views, own| twin(views, own, 4));
    }
}
