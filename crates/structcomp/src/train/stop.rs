//! When training has got as far as it should, measured without labels.

use super::Trainer;
use crate::Stop;
use crate::matrix::{View, column_sums, sum_of_products, symmetric_product};

/// Rows whose effective rank is measured.
pub(super) const SAMPLE: usize = 32;

impl Trainer<'_> {
    /// Whether all epochs are done, training has settled and is to stop then, or it has run out of patience.
    pub fn is_done(&self) -> bool {
        self.epochs() >= self.plan.epochs
            || (self.plan.stop == Stop::Auto && self.has_settled())
            || self.plan.patience.is_some_and(|patience| is_out_of(patience, &self.losses))
    }

    /// Whether training has got as far as it should; from noise it should learn no more.
    fn has_settled(&self) -> bool {
        let enough = if self.plan.agrees { 0.88 } else { 0.5 };
        let last = self.epochs().checked_sub(1);
        self.is_noise() || last.is_some_and(|last| self.settled_at(last) >= enough)
    }

    /// Whether the views of a cluster have hardly come closer after a few epochs: then its members share little but
    /// noise.
    pub(super) fn is_noise(&self) -> bool {
        const FEW: usize = 5;
        const HARDLY: f64 = 0.76;
        self.plan.agrees && self.epochs() >= FEW && self.settled_at(FEW - 1) < HARDLY
    }

    pub(super) fn settled_at(&self, epoch: usize) -> f64 {
        match self.measured[epoch] {
            agreement if self.plan.agrees => agreement,
            // Not measured, as rows pass messages.
            _ if self.measured[0] == 0.0 => 0.0,
            rank => (1.0 - rank / self.measured[0].max(1.0)).max(0.0),
        }
    }
}

/// Whether a loss is lower than all before.
pub(super) fn is_lowest(before: &[f64], loss: f64) -> bool {
    before.iter().all(|&before| loss < before)
}

fn is_out_of(patience: usize, losses: &[f64]) -> bool {
    let lowest = losses.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    lowest.is_some_and(|(at, _)| losses.len() > at + patience)
}

/// (Σλ)²/Σλ² for the eigenvalues of the covariance of some rows: how many directions they really have.
pub(super) fn effective_rank(mut z: Vec<f32>, width: usize) -> f64 {
    let rows = z.len() / width.max(1);
    let mean: Vec<f64> = column_sums(&z, width).iter().map(|sum| sum / rows as f64).collect();
    for row in z.chunks_mut(width) {
        row.iter_mut().zip(&mean).for_each(|(z, mean)| *z -= *mean as f32);
    }
    let mut products = vec![0.0; rows * rows];
    symmetric_product(&mut products, View::new(&z, width), View::new(&z, width).t());
    let squares = sum_of_products(&products, &products);
    if squares > 0.0 { sum_of_products(&z, &z).powi(2) / squares } else { 0.0 }
}
