//! BlockGCL: an encoder whose layers are trained one by one, none of them by the loss of a later one.

use super::cca_ssg::decorrelated;
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, Views, positive};
use crate::matrix::sum_of_products;
use crate::nn::Beside;
use crate::{Activation, EncoderKind, Result};
use serde::{Deserialize, Serialize};

/// For the rows H₁, H₂ of two views after each layer, L = −tr(H₁ᵀH₂)/n + λ(‖I − H₁ᵀH₁/n‖² + ‖I − H₂ᵀH₂/n‖²);
/// no gradient passes from a layer to the one before. That is the loss of CCA-SSG, with batch norm in the
/// layers instead of columns that are standardised.
///
/// # Reference
/// J. Li, W. Sun, R. Wu, Y. Zhu, L. Chen, Z. Zheng: Scaling up, scaling deep: blockwise graph contrastive
/// learning. 2023.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct BlockGcl {
    /// The weight λ of decorrelation.
    pub lambda: f64,
}

impl Default for BlockGcl {
    fn default() -> Self {
        Self { lambda: 1e-2 }
    }
}

impl Contrastive for BlockGcl {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint {
            views: Views::Two,
            encoder: EncoderKind::Gcn,
            inner: Activation::PreluShared,
            activation: Activation::PreluShared,
            batch_norm: true,
            beside: Beside::Detached,
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        positive("lambda", self.lambda)
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Ok(Box::new(self.clone()))
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.width, self.lambda)
    }
}

impl Objective for BlockGcl {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let view = step.rows * width;
        let mut gradient = vec![0f32; z.len()];
        let mut value = 0.0;
        for (z, gradient) in z.chunks(2 * view).zip(gradient.chunks_mut(2 * view)) {
            let ((first, second), (of_first, of_second)) = (z.split_at(view), gradient.split_at_mut(view));
            value -= sum_of_products(first, second) / step.rows as f64;
            value += decorrelated(first, second, width, self.lambda, of_first);
            value += decorrelated(second, first, width, self.lambda, of_second);
        }
        Ok(Loss { value, gradient, ..Loss::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;

    pub(super) fn twin(views: &[Vec<f64>], width: usize, lambda: f64) -> f64 {
        let rows = (views[0].len() / width) as f64;
        let cell = |a: &[f64], b: &[f64], i: usize, j: usize| -> f64 {
            a.chunks(width).zip(b.chunks(width)).map(|(a, b)| a[i] * b[j]).sum::<f64>() / rows
        };
        let apart = |h: &[f64]| -> f64 {
            let square = |at: usize| {
                let (i, j) = (at / width, at % width);
                (f64::from(u8::from(i == j)) - cell(h, h, i, j)).powi(2)
            };
            (0..width * width).map(square).sum()
        };
        let block = |views: &[Vec<f64>]| {
            let together: f64 = (0..width).map(|i| cell(&views[0], &views[1], i, i)).sum();
            lambda * (apart(&views[0]) + apart(&views[1])) - together
        };
        views.chunks(2).map(block).sum()
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        // Two blocks; more rows than columns and fewer.
        for rows in [7, 3] {
            let views: Vec<Vec<f32>> = (0..4).map(|salt| some_rows(rows, 5, salt)).collect();
            let objective = BlockGcl { lambda: 0.3 };
            let step = Step::default();
            check_step(&objective, &views, 5, &step, |views, _| twin(views, 5, 0.3));
        }
    }
}
