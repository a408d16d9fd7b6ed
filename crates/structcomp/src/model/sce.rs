//! SCE: contrastive learning as a sparsest cut, of which training keeps the denominator.

use super::quadratic::{Form, Quadratic, loss_by_rows};
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, positive};
use crate::{Budget, Error, Result, Seed};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// L = α / T, where T = Σ ‖z_r − z_c‖² over random pairs drawn anew each epoch.
///
/// Positive pairs enter only through the compression, whose clusters are neighbours.
///
/// # Reference
/// S. Zhang, Z. Huang, H. Zhou, N. Zhou: SCE: Scalable network embedding from sparsest cut. KDD 2020.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Sce {
    /// The scale of the loss; only weight decay feels it under Adam.
    pub alpha: f64,
    /// Pairs drawn for each row.
    pub negatives: usize,
}

impl Default for Sce {
    fn default() -> Self {
        Self { alpha: 20_000.0, negatives: 5 }
    }
}

impl Contrastive for Sce {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint::default()
    }

    fn check(&self) -> Result<()> {
        positive("alpha", self.alpha)?;
        positive("negatives", self.negatives as f64)
    }

    fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>> {
        // Drawn, then listed from both sides.
        let drawn = (on.rows as u64).saturating_mul(self.negatives as u64);
        Budget::default().check_items("the random pairs of an epoch", drawn, 12)?;
        if drawn > u32::MAX as u64 / 2 {
            return Err(Error::Input(format!(
                "{} negatives for each of {} rows are more than 2^31 pairs",
                self.negatives, on.rows
            )));
        }
        Ok(Box::new(Pairs { config: self.clone(), rows: on.rows, seed: on.seed }))
    }

    fn cost(&self) -> super::LossCost {
        super::LossCost::default()
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.width, &Pairs { config: self.clone(), rows: of.on.rows, seed: of.on.seed })
    }
}

pub(crate) struct Pairs {
    pub(crate) config: Sce,
    pub(crate) rows: usize,
    pub(crate) seed: Seed,
}

impl Pairs {
    /// For each row the others it was drawn with, from either side; a row twice where drawn twice.
    pub(crate) fn draw(&self, epoch: usize) -> (Vec<u32>, Vec<u32>) {
        let drawn: Vec<u32> = (0..self.rows)
            .flat_map(|row| {
                let mut rng = self.seed.stream_at("sce negatives", (epoch as u64) << 32 | row as u64);
                (0..self.config.negatives)
                    .map(move |_| rng.random_range(0..self.rows as u32))
                    .collect::<Vec<_>>()
            })
            .collect();
        let mut starts = vec![0u32; self.rows + 1];
        let pairs = || drawn.iter().enumerate().map(|(at, &c)| ((at / self.config.negatives) as u32, c));
        for (r, c) in pairs() {
            starts[r as usize + 1] += 1;
            starts[c as usize + 1] += 1;
        }
        for row in 0..self.rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut others = vec![0; 2 * drawn.len()];
        for (r, c) in pairs() {
            for (own, other) in [(r, c), (c, r)] {
                others[next[own as usize] as usize] = other;
                next[own as usize] += 1;
            }
        }
        (starts, others)
    }
}

impl Objective for Pairs {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        loss_by_rows(self, &z, width, step.number)
    }

    fn quadratic(&self) -> Option<&dyn Quadratic> {
        Some(self)
    }
}

impl Quadratic for Pairs {
    /// The Laplacian of the pairs, whose rows add up to zero.
    fn form(&self, epoch: usize) -> Cow<'_, Form> {
        let (starts, others) = self.draw(epoch);
        let weights = vec![-1.0; others.len()];
        let starts = starts.into_iter().map(u64::from).collect();
        Cow::Owned(Form { own: vec![0.0; self.rows], starts, others, weights })
    }

    fn is_fixed(&self) -> bool {
        false
    }

    fn outer(&self, total: f64) -> Result<(f64, f64)> {
        if total < 1e-12 {
            return Err(Error::Input("all rows are equal, so there is nothing to push apart".into()));
        }
        let alpha = self.config.alpha;
        Ok((alpha / total, -alpha / (total * total)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_gradient, some_rows};
    use super::*;

    fn pairs(rows: usize) -> Pairs {
        Pairs { config: Sce { alpha: 3.0, negatives: 4 }, rows, seed: Seed(1) }
    }

    #[test]
    fn more_pairs_than_fit_are_refused() {
        let on = Compared { rows: 4, adjacency: None, weights: None, seed: Seed(0) };
        let error =
            |negatives| Sce { negatives, ..Sce::default() }.objective(&on).err().map(|e| e.to_string());
        assert_eq!(error(5), None);
        assert!(error(1 << 40).unwrap().contains("the random pairs of an epoch"), "{:?}", error(1 << 40));
    }

    /// The loss as its formula has it, with the pairs of the first step.
    pub(super) fn twin(views: &[Vec<f64>], width: usize, pairs: &Pairs) -> f64 {
        let (starts, others) = pairs.draw(0);
        let row = |i: usize| &views[0][i * width..][..width];
        let square =
            |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let all: f64 = (0..pairs.rows)
            .flat_map(|i| others[starts[i] as usize..starts[i + 1] as usize].iter().map(move |&j| (i, j)))
            .map(|(i, j)| square(i, j as usize))
            .sum();
        pairs.config.alpha / (all / 2.0)
    }

    #[test]
    fn the_gradient_is_that_of_the_pairs() {
        let objective = pairs(7);
        check_gradient(&objective, &[some_rows(7, 3, 2)], 3, |views| twin(views, 3, &objective));
    }

    #[test]
    fn the_expected_sum_is_twice_the_draws_times_the_spread() {
        let objective = pairs(40);
        let z = some_rows(40, 6, 5);
        let mean = |j: usize| (0..40).map(|i| z[i * 6 + j] as f64).sum::<f64>() / 40.0;
        let spread: f64 = (0..40 * 6).map(|at| (z[at] as f64 - mean(at % 6)).powi(2)).sum();
        let draws = 2000;
        let total: f64 = (0..draws)
            .map(|epoch| {
                3.0 / objective.loss(z.clone(), 6, &Step { number: epoch, ..Step::default() }).unwrap().value
            })
            .sum();
        assert!((total / draws as f64 / (2.0 * 4.0 * spread) - 1.0).abs() < 0.02);
    }

    #[test]
    fn equal_rows_are_refused() {
        assert!(pairs(20).loss(vec![0.5; 80], 4, &Step::default()).is_err());
    }
}
