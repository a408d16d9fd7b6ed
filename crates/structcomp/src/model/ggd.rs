//! GGD: rows told from those of permuted nodes by nothing but a sum of their projected numbers.

use super::scores::{add, dots, judged, narrow, spread, times, times_transposed, weighted_sum};
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, Views, share_below_one};
use crate::graph::Hops;
use crate::{Activation, EncoderKind, Error, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The score of a row h is the sum of the numbers of its projection, Wh + b; it should be high, and that of
/// corrupted rows low, by cross entropy. Both miss the same random features. The embedding is H + ÂʳH.
///
/// # Reference
/// Y. Zheng, S. Pan, V. Lee, Y. Zheng, P. Yu: Rethinking and scaling up graph contrastive learning: an
/// extremely efficient approach with group discrimination. NeurIPS 2022.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Ggd {
    /// The share of features that an epoch leaves out.
    pub mask: f64,
    /// Linear layers of the projection.
    pub projections: usize,
    /// The hops r of the embedding; 0 leaves it as the encoder gives it.
    pub reach: usize,
}

impl Default for Ggd {
    fn default() -> Self {
        Self { mask: 0.2, projections: 1, reach: 5 }
    }
}

impl Contrastive for Ggd {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint {
            views: Views::Corrupted { mask: self.mask },
            encoder: EncoderKind::Gcn,
            inner: Activation::PreluShared,
            activation: Activation::PreluShared,
            readout: Hops::own_and_far(self.reach),
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        share_below_one("mask", self.mask)?;
        if !(1..=16).contains(&self.projections) {
            return Err(Error::Input(format!("projections must be from 1 to 16, not {}", self.projections)));
        }
        if self.reach > 1000 {
            return Err(Error::Input(format!("a reach of {} hops is too far; 1000 at most", self.reach)));
        }
        Ok(())
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Ok(Box::new(self.clone()))
    }

    fn own(&self, width: usize, seed: Seed) -> Vec<f32> {
        let bound = 1.0 / (width.max(1) as f32).sqrt();
        let mut rng = seed.stream("projections");
        let count = self.projections * width * (width + 1);
        (0..count).map(|_| bound * (2.0 * rng.random::<f32>() - 1.0)).collect()
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.own, of.width)
    }
}

impl Objective for Ggd {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let (h, corrupted) = z.split_at(step.rows * width);
        // Each layer's weight, with a row an output, and bias.
        let layers: Vec<(&[f32], &[f32])> =
            step.own.chunks(width * (width + 1)).map(|layer| layer.split_at(width * width)).collect();
        // A chain of linear maps and a sum is one product: w₀ = W₁ᵀ … W_qᵀ1, and a constant.
        let mut seen = vec![vec![1f64; width]];
        for (weight, _) in layers.iter().rev() {
            seen.push(times_transposed(weight, &seen[seen.len() - 1]));
        }
        seen.reverse();
        let constant: f64 = layers
            .iter()
            .zip(&seen[1..])
            .flat_map(|((_, bias), seen)| bias.iter().zip(seen).map(|(b, w)| *b as f64 * w))
            .sum();
        let u = narrow(&seen[0]);
        let scores =
            |rows: &[f32]| -> Vec<f64> { dots(rows, &u).into_iter().map(|score| score + constant).collect() };
        let share = 1.0 / (2 * step.rows) as f64;
        let (high, p) = judged(&scores(h), true, share);
        let (low, p_corrupted) = judged(&scores(corrupted), false, share);

        let mut gradient = vec![0f32; z.len()];
        let (of_h, of_corrupted) = gradient.split_at_mut(h.len());
        spread(of_h, &p, &u);
        spread(of_corrupted, &p_corrupted, &u);
        // What each layer makes of Σ p h, by which the gradient of its weight is a product of two vectors.
        let mut sum = weighted_sum(h, width, &p);
        add(&mut sum, &weighted_sum(corrupted, width, &p_corrupted));
        let all: f64 = p.iter().chain(&p_corrupted).sum();
        let mut of_own = vec![0f32; step.own.len()];
        for ((of_layer, (weight, bias)), w) in
            of_own.chunks_mut(width * (width + 1)).zip(&layers).zip(&seen[1..])
        {
            let (of_weight, of_bias) = of_layer.split_at_mut(width * width);
            of_weight.par_chunks_mut(width).zip(w).for_each(|(row, w)| {
                row.iter_mut().zip(&sum).for_each(|(out, sum)| *out = (w * sum) as f32);
            });
            of_bias.iter_mut().zip(w).for_each(|(out, w)| *out = (all * w) as f32);
            sum = times(weight, &sum);
            sum.iter_mut().zip(*bias).for_each(|(sum, bias)| *sum += all * *bias as f64);
        }
        Ok(Loss { value: high + low, gradient, of_own })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;

    pub(super) fn twin(views: &[Vec<f64>], own: &[f64], width: usize) -> f64 {
        let score = |h: &[f64]| -> f64 {
            let mut h = h.to_vec();
            for layer in own.chunks(width * (width + 1)) {
                let unit = |i: usize| {
                    layer[width * width + i] + (0..width).map(|j| layer[i * width + j] * h[j]).sum::<f64>()
                };
                h = (0..width).map(unit).collect();
            }
            h.iter().sum()
        };
        let side = |view: &[f64], sign: f64| -> f64 {
            view.chunks(width).map(|h| (1.0 + (sign * score(h)).exp()).ln()).sum()
        };
        (side(&views[0], -1.0) + side(&views[1], 1.0)) / (views[0].len() / width * 2) as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let views = [some_rows(6, 4, 1), some_rows(6, 4, 2)];
        for projections in [1, 3] {
            let own = some_rows(1, projections * 20, 5);
            let step = Step { own: &own, ..Step::default() };
            let objective = Ggd { projections, ..Ggd::default() };
            assert_eq!(objective.own(4, Seed(0)).len(), own.len());
            check_step(&objective, &views, 4, &step, |views, own| twin(views, own, 4));
        }
    }
}
