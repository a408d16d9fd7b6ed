//! DGI: rows should fit the mean of all rows, those of permuted nodes should not.

use super::scores::{
    add, add_outer, add_to_rows, dots, judged, logistic, mean, narrow, spread, times, times_transposed,
    weighted_sum,
};
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, Views};
use crate::{Activation, EncoderKind, Result, Seed};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// With the summary c = σ(mean of the rows h), scores s = hᵀMc + b should be high, and those of corrupted
/// rows low: L = (Σ softplus(−s) + Σ softplus(s̃)) / 2n. M and b are learnt.
///
/// It has no settings of its own. Authors train until the loss has had no new minimum for 20 epochs; that
/// is [`Training::patience`](crate::Training::patience).
///
/// # Reference
/// P. Veličković, W. Fedus, W. Hamilton, P. Liò, Y. Bengio, D. Hjelm: Deep graph infomax. ICLR 2019.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Dgi {}

impl Contrastive for Dgi {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint {
            views: Views::Corrupted { mask: 0.0 },
            encoder: EncoderKind::Gcn,
            inner: Activation::PreluShared,
            activation: Activation::PreluShared,
            ..Blueprint::default()
        }
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Ok(Box::new(self.clone()))
    }

    fn own(&self, width: usize, seed: Seed) -> Vec<f32> {
        bilinear(width, seed).into_iter().chain([0.0]).collect()
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.own, of.width)
    }
}

impl Objective for Dgi {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let (h, corrupted) = z.split_at(step.rows * width);
        let (matrix, bias) = step.own.split_at(width * width);
        let share = 1.0 / (2 * step.rows) as f64;
        let mut gradient = vec![0f32; z.len()];
        let (of_h, of_corrupted) = gradient.split_at_mut(h.len());
        let fit = SummaryScore::new(h, matrix, width);
        let fitted = fit.of((h, corrupted), bias[0] as f64, share, (of_h, of_corrupted));
        add_to_rows(of_h, &fitted.of_summarised);
        let mut of_own = vec![0f32; step.own.len()];
        add_outer(&mut of_own[..width * width], &fitted.sum, &fit.summary);
        of_own[width * width] = fitted.of_bias as f32;
        Ok(Loss { value: fitted.value, gradient, of_own })
    }
}

/// How well rows fit the summary c = σ(mean) of some rows, by scores hᵀMc + b.
pub(super) struct SummaryScore<'a> {
    matrix: &'a [f32],
    pub(super) summary: Vec<f64>,
    /// Mc.
    wanted: Vec<f32>,
    rows: usize,
}

/// What rows that should fit and corrupted ones that should not give.
pub(super) struct Scored {
    pub(super) value: f64,
    /// The gradient of every row that was summarised.
    pub(super) of_summarised: Vec<f64>,
    /// Σ p h over all rows, with the derivative p of each score; by c that is the gradient of M.
    pub(super) sum: Vec<f64>,
    pub(super) of_bias: f64,
}

impl<'a> SummaryScore<'a> {
    pub(super) fn new(summarised: &[f32], matrix: &'a [f32], width: usize) -> Self {
        let summary: Vec<f64> = mean(summarised, width).into_iter().map(logistic).collect();
        let wanted = narrow(&times(matrix, &summary));
        Self { matrix, summary, wanted, rows: summarised.len() / width }
    }

    /// The cross entropy of all scores times `share`; the gradients of both kinds of rows are written.
    pub(super) fn of(
        &self,
        (high, low): (&[f32], &[f32]),
        bias: f64,
        share: f64,
        (of_high, of_low): (&mut [f32], &mut [f32]),
    ) -> Scored {
        let scores = |rows: &[f32]| -> Vec<f64> {
            dots(rows, &self.wanted).into_iter().map(|score| score + bias).collect()
        };
        let (good, p) = judged(&scores(high), true, share);
        let (bad, p_low) = judged(&scores(low), false, share);
        spread(of_high, &p, &self.wanted);
        spread(of_low, &p_low, &self.wanted);
        let width = self.wanted.len();
        let mut sum = weighted_sum(high, width, &p);
        add(&mut sum, &weighted_sum(low, width, &p_low));
        // Through the summary: Mᵀ sum ∘ c(1 − c), of which every row has its share.
        let of_summarised = times_transposed(self.matrix, &sum)
            .iter()
            .zip(&self.summary)
            .map(|(of, c)| of * c * (1.0 - c) / self.rows as f64)
            .collect();
        let of_bias = p.iter().chain(&p_low).sum();
        Scored { value: good + bad, of_summarised, sum, of_bias }
    }
}

/// A square matrix as torch's bilinear layer has it with Xavier's bounds, whose fan-in is the square.
pub(super) fn bilinear(width: usize, seed: Seed) -> Vec<f32> {
    let mut rng = seed.stream("bilinear");
    let bound = (6.0 / (width * width + width).max(1) as f64).sqrt() as f32;
    (0..width * width).map(|_| bound * (2.0 * rng.random::<f32>() - 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;

    pub(super) fn twin(views: &[Vec<f64>], own: &[f64], width: usize) -> f64 {
        let rows = views[0].len() / width;
        let c: Vec<f64> = (0..width)
            .map(|j| {
                let mean = views[0].iter().skip(j).step_by(width).sum::<f64>() / rows as f64;
                1.0 / (1.0 + (-mean).exp())
            })
            .collect();
        let score = |h: &[f64]| -> f64 {
            let cell = |i: usize, j: usize| h[i] * own[i * width + j] * c[j];
            own[width * width] + (0..width * width).map(|at| cell(at / width, at % width)).sum::<f64>()
        };
        let side = |view: &[f64], sign: f64| -> f64 {
            view.chunks(width).map(|h| (1.0 + (sign * score(h)).exp()).ln()).sum()
        };
        (side(&views[0], -1.0) + side(&views[1], 1.0)) / (2 * rows) as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let own = some_rows(1, 4 * 4 + 1, 9);
        let views = [some_rows(6, 4, 1), some_rows(6, 4, 2)];
        let step = Step { own: &own, ..Step::default() };
        check_step(&Dgi::default(), &views, 4, &step, |views, own| twin(views, own, 4));
    }
}
