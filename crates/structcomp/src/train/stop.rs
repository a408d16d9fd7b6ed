//! When training has got as far as it should, told without labels.

use super::{Trainer, Training};
use crate::Features;
use crate::linalg::{View, sum_of_products, symmetric_product};
use crate::network::{Pass, column_sums};
use serde::{Deserialize, Serialize};

/// Rows whose effective rank is looked at.
pub(super) const SAMPLE: usize = 32;

/// When training stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// After all epochs.
    #[default]
    Epochs,
    /// When it has settled, by a measure that needs no labels: [`Epoch::settled`](super::Epoch::settled).
    Auto,
}

impl Training {
    /// What [`Epoch::settled`] must reach for training to stop by itself.
    fn settles_at(&self) -> f64 {
        if self.plan().agrees { 0.88 } else { 0.5 }
    }
}

impl Trainer<'_> {
    /// Whether all epochs are done, or training has settled and is to stop then.
    pub fn is_done(&self) -> bool {
        self.epochs() >= self.training.epochs
            || (self.training.stop == Stop::Auto && self.has_settled())
            || self.has_lost_patience()
    }

    /// Whether training with patience keeps what gave this loss.
    pub(super) fn is_lowest(&self, loss: f64) -> bool {
        self.training.patience.is_some() && self.losses.iter().all(|&before| loss < before)
    }

    fn has_lost_patience(&self) -> bool {
        let Some(patience) = self.training.patience else { return false };
        let lowest = self.losses.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        lowest.is_some_and(|(at, _)| self.epochs() > at + patience)
    }

    /// Whether training has got as far as it should; of noise it should learn no more.
    fn has_settled(&self) -> bool {
        let last = self.epochs().checked_sub(1);
        self.is_noise() || last.is_some_and(|last| self.settled_at(last) >= self.training.settles_at())
    }

    /// Whether the views of a cluster have hardly come closer after a few epochs: then its members share little
    /// but noise.
    pub(super) fn is_noise(&self) -> bool {
        const FEW: usize = 5;
        const HARDLY: f64 = 0.76;
        self.training.plan().agrees && self.epochs() >= FEW && self.settled_at(FEW - 1) < HARDLY
    }

    pub(super) fn settled_at(&self, epoch: usize) -> f64 {
        match self.training.plan().agrees {
            true => self.settled[epoch],
            // Nothing is known of rows that pass messages.
            false if self.sample.is_none() => 0.0,
            false => (1.0 - self.settled[epoch] / self.settled[0].max(1.0)).max(0.0),
        }
    }

    /// (Σλ)²/Σλ² for the eigenvalues of the covariance of some rows: how many directions they really have.
    pub(super) fn effective_rank(&self, sample: &Features) -> f64 {
        let width = self.network.outputs();
        let pass = Pass { views: 1, ..Pass::default() };
        let (mut z, _) = self.network.forward(&self.parameters, sample, pass);
        let mean: Vec<f64> = column_sums(&z, width).iter().map(|sum| sum / sample.rows() as f64).collect();
        for row in z.chunks_mut(width) {
            row.iter_mut().zip(&mean).for_each(|(z, mean)| *z -= *mean as f32);
        }
        let mut products = vec![0.0; sample.rows() * sample.rows()];
        symmetric_product(&mut products, View::new(&z, width), View::new(&z, width).t());
        let squares = sum_of_products(&products, &products);
        if squares > 0.0 { sum_of_products(&z, &z).powi(2) / squares } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activation, CcaSsg, Compressed, Dense, EncoderKind, Graph, Inputs, Model, Partition, Seed};
    use rand::RngExt;

    /// Ten clusters of six on a ring, whose members share their features but for so much noise.
    fn trained(noise: f32, model: Model) -> (usize, Vec<f64>, Vec<f32>) {
        let graph = Graph::from_edges(60, &(0..60).map(|v| (v, (v + 1) % 60)).collect::<Vec<_>>()).unwrap();
        let partition = Partition::new((0..60).map(|node| node / 6).collect()).unwrap();
        let mut rng = Seed(3).stream("features");
        let shared: Vec<f32> = (0..10 * 8).map(|_| rng.random::<f32>() - 0.5).collect();
        let values: Vec<f32> = (0..60 * 8)
            .map(|at| shared[at / 48 * 8 + at % 8] + noise * (rng.random::<f32>() - 0.5))
            .collect();
        let x = Features::Dense(Dense::new(60, 8, values).unwrap());
        let compressed = Compressed::new(&x, &partition).unwrap();
        let training = Training {
            model,
            hidden: 6,
            epochs: 300,
            learning_rate: 0.02,
            weight_decay: 0.0,
            encoder: Some(EncoderKind::Ssgc),
            hops: Some(1),
            activation: Some(Activation::None),
            stop: Stop::Auto,
            ..Training::default()
        };
        let trained = training.train(Inputs::Clusters(&compressed), &graph, Seed(0), |_| true).unwrap();
        let hops = trained.encoder.layers[0].hops.weights().to_vec();
        (trained.losses.len(), trained.settled, hops)
    }

    #[test]
    fn training_stops_when_views_agree_and_early_when_they_do_not() {
        let cca = || Model::CcaSsg(CcaSsg::default());
        let (epochs, settled, hops) = trained(0.8, cca());
        assert!(epochs > 1 && epochs < 300, "{epochs} {settled:?}");
        assert!(settled[epochs - 1] >= 0.88 && settled[..epochs - 1].iter().all(|&settled| settled < 0.88));
        assert_eq!(hops, [0.05, 0.95]);
        let (epochs, settled, hops) = trained(20.0, cca());
        assert!(epochs == 5 && settled[4] < 0.76, "{settled:?}");
        assert_eq!(hops, [0.5, 0.5], "of noise a node hears itself more");
    }

    #[test]
    fn where_nothing_is_measured_training_does_not_stop_by_itself() {
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        let x = Features::Dense(Dense::new(4, 2, vec![1.0, 2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0]).unwrap());
        let gcn = Training { hidden: 3, encoder: Some(EncoderKind::Gcn), epochs: 4, ..Training::default() };
        let trained = gcn.train(Inputs::Nodes(&x), &graph, Seed(0), |_| true).unwrap();
        assert_eq!(trained.settled, [0.0; 4]);
        let auto = Training { stop: Stop::Auto, ..gcn };
        let error = auto.train(Inputs::Nodes(&x), &graph, Seed(0), |_| true).unwrap_err();
        assert!(error.to_string().contains("no measure to stop by"), "{error}");
    }

    #[test]
    fn training_with_patience_keeps_the_lowest_loss() {
        let graph = Graph::from_edges(12, &(1..12).map(|v| (v / 2, v)).collect::<Vec<_>>()).unwrap();
        let values: Vec<f32> = (0..36).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let x = Features::Dense(Dense::new(12, 3, values).unwrap());
        // DGI's loss goes up and down with the nodes that are permuted.
        let model = Model::Dgi(crate::Dgi::default());
        let training = Training {
            model,
            hidden: 4,
            epochs: 200,
            patience: Some(6),
            weight_decay: 0.0,
            ..Training::default()
        };
        let trained = training.train(Inputs::Nodes(&x), &graph, Seed(1), |_| true).unwrap();
        let losses = &trained.losses;
        let lowest = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
        assert_eq!(losses.len(), lowest + 6 + 1, "{losses:?}");
        // The parameters that gave the lowest loss, those before its step.
        let mut trainer = Trainer::new(&training, Inputs::Nodes(&x), &graph, Seed(1)).unwrap();
        while trainer.epochs() < lowest {
            trainer.step().unwrap();
        }
        assert_eq!(trainer.encoder(), trained.encoder);
    }

    #[test]
    fn the_effective_rank_is_that_of_the_rows() {
        let graph = Graph::from_edges(40, &[(0, 1)]).unwrap();
        let training = Training { hidden: 6, ..Training::default() };
        let rank = |of: &dyn Fn(usize, usize) -> f32| {
            let values: Vec<f32> = (0..40 * 8).map(|at| of(at / 8, at % 8)).collect();
            let x = Features::Dense(Dense::new(40, 8, values).unwrap());
            let trainer = Trainer::new(&training, Inputs::Nodes(&x), &graph, Seed(0)).unwrap();
            trainer.effective_rank(&x)
        };
        // Multiples of one row, then rows in all directions of which the encoder keeps six.
        assert!((rank(&|i, j| i as f32 * (j as f32 - 2.5)) - 1.0).abs() < 1e-3);
        let many = rank(&|i, j| if i % 8 == j { 1.0 } else { 0.0 });
        assert!((3.0..=6.0).contains(&many), "{many}");
        assert_eq!(rank(&|_, _| 0.0), 0.0);
    }

    #[test]
    fn the_share_of_the_rank_that_is_lost_is_never_negative() {
        let (_, settled, _) = trained(0.5, Model::Coles(crate::Coles::default()));
        assert!(settled[0] == 0.0 && settled.iter().all(|settled| (0.0..=1.0).contains(settled)));
    }
}
