//! BGRL: each view predicted from the other, with no negatives at all.

use super::unitary::Unitary;
use super::{Blueprint, Compared, Contrastive, Head, Loss, Objective, Step, Views};
use crate::matrix::sum_of_products;
use crate::{Activation, EncoderKind, Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// L = 2 − mean of cos(q(h₁), h̃₂) + cos(q(h₂), h̃₁), for a predictor q behind the encoder and rows h̃ of a
/// target encoder, whose weights follow those of the encoder and are not trained.
///
/// # Reference
/// S. Thakoor, C. Tallec, M. Azar, M. Azabou, E. Dyer, R. Munos, P. Veličković, M. Valko: Large-scale
/// representation learning on graphs via bootstrapping. ICLR 2022.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Bgrl {
    /// How much of the target's weights is kept after the first epoch; it rises to 1 along a cosine.
    pub decay: f64,
    /// The width of the predictor; that of the encoder where absent.
    pub projection: Option<usize>,
}

impl Default for Bgrl {
    fn default() -> Self {
        Self { decay: 0.99, projection: None }
    }
}

impl Contrastive for Bgrl {
    fn blueprint(&self, hidden: usize) -> Blueprint {
        let width = self.projection.unwrap_or(hidden);
        Blueprint {
            views: Views::Two,
            encoder: EncoderKind::Gcn,
            inner: Activation::PreluShared,
            activation: Activation::PreluShared,
            batch_norm: true,
            head: Some(Head { width, activation: Activation::PreluShared, rectified: false }),
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        match (0.0..=1.0).contains(&self.decay) {
            true => Ok(()),
            false => Err(Error::Input(format!("decay must be from 0 to 1, not {}", self.decay))),
        }
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Ok(Box::new(self.clone()))
    }

    fn momentum(&self, step: usize, steps: usize) -> Option<f64> {
        let done = (step as f64 / steps.max(1) as f64).min(1.0);
        Some(1.0 - (1.0 - self.decay) * ((std::f64::consts::PI * done).cos() + 1.0) / 2.0)
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.target, of.width)
    }
}

impl Objective for Bgrl {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let predicted = Unitary::new(z, width);
        let target = Unitary::new(step.target.to_vec(), width);
        // Each row's partner is half way round.
        let view = step.rows * width;
        let (u, t) = (&predicted.values, &target.values);
        let alike = sum_of_products(&u[..view], &t[view..]) + sum_of_products(&u[view..], &t[..view]);
        let share = -1.0 / step.rows as f32;
        let partners = t[view..].par_iter().chain(&t[..view]);
        let mut gradient: Vec<f32> = partners.map(|t| share * t).collect();
        predicted.backward(&mut gradient);
        Ok(Loss { value: 2.0 - alike / step.rows as f64, gradient, ..Loss::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;

    /// The loss as its formula has it.
    pub(super) fn twin(views: &[Vec<f64>], target: &[f64], width: usize) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cos = |a: &[f64], b: &[f64]| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
        let side = |view: &[f64], target: &[f64]| -> f64 {
            view.chunks(width).zip(target.chunks(width)).map(|(a, b)| cos(a, b)).sum()
        };
        let (first, second) = target.split_at(views[0].len());
        2.0 - (side(&views[0], second) + side(&views[1], first)) / (views[0].len() / width) as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let views = [some_rows(6, 4, 1), some_rows(6, 4, 2)];
        let target = some_rows(12, 4, 3);
        let exact: Vec<f64> = target.iter().map(|&t| t as f64).collect();
        let step = Step { target: &target, ..Step::default() };
        check_step(&Bgrl::default(), &views, 4, &step, |views, _| twin(views, &exact, 4));
    }

    #[test]
    fn the_target_is_kept_more_and_more() {
        let kept = |epoch| Bgrl::default().momentum(epoch, 100).unwrap();
        assert!((kept(0) - 0.99).abs() < 1e-12 && (kept(50) - 0.995).abs() < 1e-12);
        assert_eq!((kept(100), kept(1000)), (1.0, 1.0));
    }
}
