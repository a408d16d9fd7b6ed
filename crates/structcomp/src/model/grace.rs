//! GRACE: two views of a row together, all other rows of both views apart.

mod similarities;

use super::unitary::Unitary;
use super::{Blueprint, Compared, Contrastive, Head, Loss, Objective, Step, Views, positive};
use crate::matrix::dot;
use crate::{Activation, EncoderKind, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// InfoNCE between both views, over rows of a projection head scaled to length one.
///
/// The rows of both views are one set P of 2n rows: with E = exp(PPᵀ/τ), zero on the diagonal, and D its
/// row sums, L is the mean of ln D less the similarity of partners over τ, and its gradient in P is
/// (WP − 2 partners)/2nτ for W = E ∘ (1/Dᵢ + 1/Dⱼ). E is symmetric, so half of it is computed. It is kept
/// where memory allows, and otherwise computed anew by tiles for the gradient.
///
/// # Reference
/// Y. Zhu, Y. Xu, F. Yu, Q. Liu, S. Wu, L. Wang: Deep graph contrastive representation learning. 2020.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Grace {
    /// The temperature τ.
    pub tau: f64,
    /// The width of the projection head; that of the encoder where absent.
    pub projection: Option<usize>,
}

impl Default for Grace {
    fn default() -> Self {
        Self { tau: 0.5, projection: None }
    }
}

impl Contrastive for Grace {
    fn blueprint(&self, hidden: usize) -> Blueprint {
        let width = self.projection.unwrap_or(hidden);
        Blueprint {
            views: Views::Two,
            encoder: EncoderKind::Gcn,
            activation: Activation::Prelu,
            head: Some(Head { width, activation: Activation::Elu, rectified: false }),
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        positive("tau", self.tau)
    }

    fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>> {
        // Relative to those of a plain mean, for both views.
        let relative = |weights: &[f32]| {
            let both = weights.iter().chain(weights);
            both.map(|weight| weight * on.rows as f32).collect::<Vec<f32>>()
        };
        Ok(Box::new(InfoNce { weights: on.weights.map(relative), ..InfoNce::new(self) }))
    }

    fn cost(&self) -> super::LossCost {
        // Half of the symmetric similarities are computed, twice as fast as other products.
        super::LossCost { by_width: 12.0, by_rows: 6.0, all_pairs: true }
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.width, self.tau, of.on.weights)
    }
}

struct InfoNce {
    tau: f64,
    /// What each row counts, on average about 1; all the same if absent.
    weights: Option<Vec<f32>>,
    /// For similarities.
    room: Mutex<Vec<f32>>,
}

impl InfoNce {
    fn new(grace: &Grace) -> Self {
        Self { tau: grace.tau, weights: None, room: Mutex::default() }
    }
}

impl Objective for InfoNce {
    fn loss(&self, z: Vec<f32>, width: usize, _: &Step) -> Result<Loss> {
        let rows = Unitary::new(z, width);
        let p = &rows.values[..];
        // Each row's partner is half way round.
        let half = p.len() / 2;
        let partners = || p[half..].par_chunks(width).chain(p[..half].par_chunks(width));
        let count = half / width;

        // The largest term e^(1/τ) is taken out of all, and put back in the loss.
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let (sums, mut gradient) = similarities::sums_and_gradient(
            p,
            width,
            self.tau as f32,
            KEPT,
            self.weights.as_deref(),
            &mut room,
        );
        let weight = |row: usize| self.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let log = |(row, sum): (usize, &f64)| weight(row) as f64 * (sum.ln() + 1.0 / self.tau);
        let logs = sums.iter().enumerate().map(log).sum::<f64>();
        let alike = p.par_chunks(width).zip(partners()).map(|(a, b)| dot(a, b)).collect::<Vec<_>>();
        let agreement: f64 = alike.iter().enumerate().map(|(row, dot)| weight(row) as f64 * dot).sum();
        let value = (logs - agreement / self.tau) / (2 * count) as f64;

        let scale = (1.0 / ((2 * count) as f64 * self.tau)) as f32;
        gradient.par_chunks_mut(width).zip(partners()).enumerate().for_each(|(at, (row, partner))| {
            let twice = 2.0 * weight(at);
            row.iter_mut().zip(partner).for_each(|(g, partner)| *g = scale * (*g - twice * partner));
        });
        rows.backward(&mut gradient);
        // Rows share a direction from the start, so how alike partners are does not tell how far training has got.
        Ok(Loss { value, gradient, of_own: Vec::new() })
    }
}

/// Bytes of similarities that are kept from the sums for the gradient.
const KEPT: usize = 128 << 20;

#[cfg(test)]
mod tests {
    use super::super::{check_gradient, some_rows};
    use super::*;

    /// The loss as its formula has it.
    pub(super) fn twin(views: &[Vec<f64>], width: usize, tau: f64, weights: Option<&[f32]>) -> f64 {
        let unit = |z: &[f64]| -> Vec<Vec<f64>> {
            z.chunks(width)
                .map(|row| {
                    let length = row.iter().map(|z| z * z).sum::<f64>().sqrt();
                    row.iter().map(|z| z / length).collect()
                })
                .collect()
        };
        let (u, v) = (unit(&views[0]), unit(&views[1]));
        let e = |a: &[f64], b: &[f64]| (a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / tau).exp();
        let weight = |i: usize| weights.map_or(1.0 / u.len() as f64, |weights| weights[i] as f64);
        let side = |own: &[Vec<f64>], other: &[Vec<f64>]| -> f64 {
            (0..own.len())
                .map(|i| {
                    let within: f64 = (0..own.len()).filter(|&j| j != i).map(|j| e(&own[i], &own[j])).sum();
                    let across: f64 = other.iter().map(|other| e(&own[i], other)).sum();
                    -weight(i) * (e(&own[i], &other[i]) / (within + across)).ln()
                })
                .sum()
        };
        (side(&u, &v) + side(&v, &u)) / 2.0
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let objective = InfoNce::new(&Grace { tau: 0.4, projection: None });
        let views = [some_rows(7, 5, 1), some_rows(7, 5, 2)];
        check_gradient(&objective, &views, 5, |views| twin(views, 5, 0.4, None));
        let weights = [0.3, 0.1, 0.0, 0.2, 0.05, 0.4, 0.1];
        let on = Compared { rows: 7, adjacency: None, weights: Some(&weights), seed: crate::Seed(0) };
        let weighted = Grace { tau: 0.4, projection: None }.objective(&on).unwrap();
        check_gradient(&*weighted, &views, 5, |views| twin(views, 5, 0.4, Some(&weights)));
    }

    #[test]
    fn more_rows_than_a_tile_make_no_difference() {
        let rows = 300;
        let views = [some_rows(rows, 6, 3), some_rows(rows, 6, 4)];
        let loss = InfoNce::new(&Grace::default()).loss(views.concat(), 6, &Step::default()).unwrap();
        let exact: Vec<Vec<f64>> =
            views.iter().map(|view| view.iter().map(|&z| z as f64).collect()).collect();
        assert!((loss.value - twin(&exact, 6, 0.5, None)).abs() < 1e-5);
        for at in [0, 6 * 256 - 1, 6 * 256, 6 * rows - 1] {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[0][at] += by;
                twin(&moved, 6, 0.5, None)
            };
            let derivative = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((loss.gradient[at] as f64 - derivative).abs() < 1e-6, "{at}");
        }
    }

    #[test]
    fn a_row_of_zeros_has_no_gradient() {
        let mut views = [some_rows(5, 4, 1), some_rows(5, 4, 2)];
        views[0][..4].fill(0.0);
        let loss = InfoNce::new(&Grace::default()).loss(views.concat(), 4, &Step::default()).unwrap();
        assert!(loss.value.is_finite() && loss.gradient[..4].iter().all(|&g| g == 0.0));
    }
}
