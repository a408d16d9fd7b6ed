//! Trains a probe with Adam, and tests it at the epoch that was best on the validation nodes.
//!
//! Without hidden layers, splits are learnt side by side, each in its own columns of one linear layer: one product
//! with the embedding serves all of them.

use super::super::{SplitNodes, confusion::right};
use super::cross_entropy;
use super::group::{LabelledRows, Pool, together};
use crate::graph::Hops;
use crate::guard::still_wanted;
use crate::nn::{Activation, Adam, Initial, Layer, Network, Pass};
use crate::progress;
use crate::random::mix;
use crate::{Error, Features, Optimizer, Result, Seed};
use rand::seq::SliceRandom;
use rayon::prelude::*;

/// The class of each node of a split, and the one predicted for it.
type Predicted = Vec<(u32, u32)>;

/// How a probe is built and trained.
pub(super) struct ProbeTraining {
    /// Widths of the hidden layers, each followed by batch norm, ReLU and dropout.
    pub(super) hidden: Vec<usize>,
    pub(super) initial: Initial,
    pub(super) dropout: f64,
    pub(super) learning_rate: f64,
    pub(super) weight_decay: f64,
    pub(super) epochs: usize,
    /// Epochs from one look at the validation nodes to the next.
    pub(super) interval: usize,
    /// Training nodes per step.
    pub(super) batch: usize,
}

impl ProbeTraining {
    /// The classes of the test nodes of each split and those predicted for them, at its own best epoch on its
    /// validation nodes; without such nodes at the last epoch.
    pub(super) fn predictions(
        &self,
        x: &Features,
        classes: usize,
        splits: &[SplitNodes],
        seeds: &[Seed],
    ) -> Result<Vec<Predicted>> {
        let together = if self.hidden.is_empty() { together(splits, classes) } else { 1 };
        progress::steps_of_part(splits.len().div_ceil(together) * self.epochs);
        let groups = splits.par_chunks(together).zip(seeds.par_chunks(together));
        let groups: Vec<Result<Vec<_>>> =
            groups.map(|(splits, seeds)| self.side_by_side(x, classes, splits, seeds)).collect();
        Ok(groups.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    fn side_by_side(
        &self,
        x: &Features,
        classes: usize,
        splits: &[SplitNodes],
        seeds: &[Seed],
    ) -> Result<Vec<Predicted>> {
        let pool = |of: fn(&SplitNodes) -> &[(u32, u32)]| Pool::new(splits.iter().map(of).collect());
        let [train, validation, test] =
            [pool(|split| &split.train), pool(|split| &split.validation), pool(|split| &split.test)];
        let mut learner = Learner::new(self, x.cols(), classes, seeds);
        let mut order: Vec<usize> = (0..train.len()).collect();
        let whole = (order.len() <= self.batch).then(|| train.batch(x, &order));
        let mut shuffle = seeds[0].stream("batches");
        // The number of validation nodes predicted right, and what was predicted for the test nodes then.
        let mut best: Vec<Option<(usize, Predicted)>> = vec![None; splits.len()];
        for epoch in 1..=self.epochs {
            still_wanted()?;
            progress::step();
            let finite = match &whole {
                Some(all) => learner.step(all),
                None => {
                    order.shuffle(&mut shuffle);
                    order.chunks(self.batch).all(|places| learner.step(&train.batch(x, places)))
                }
            };
            if !finite {
                return Err(diverged(epoch));
            }
            let last = epoch == self.epochs;
            if !last && (epoch % self.interval != 0 || validation.len() == 0) {
                continue;
            }
            let told = learner.predictions(x, &validation);
            let validated: Vec<usize> = told.iter().map(|told| right(told)).collect();
            let better = |split: usize| match (validation.sizes[split], &best[split]) {
                (0, _) => last,
                (_, None) => true,
                (_, Some((most, _))) => validated[split] > *most,
            };
            let better: Vec<usize> = (0..splits.len()).filter(|&split| better(split)).collect();
            if better.is_empty() {
                continue;
            }
            let mut tested = learner.predictions(x, &test);
            for split in better {
                best[split] = Some((validated[split], std::mem::take(&mut tested[split])));
            }
        }
        Ok(best.into_iter().map(|best| best.map(|(_, tested)| tested).unwrap_or_default()).collect())
    }

    fn network(&self, inputs: usize, outputs: usize) -> Network {
        let widths = [&[inputs], &self.hidden[..], &[outputs]].concat();
        let layer = |(at, pair): (usize, &[usize])| {
            let plain = Layer::plain(pair[0], pair[1], Activation::None, Hops::none());
            match at < self.hidden.len() {
                true => Layer {
                    activation: Activation::Relu,
                    norm: true,
                    dropout: self.dropout,
                    initial: self.initial,
                    ..plain
                },
                false => Layer { initial: self.initial, ..plain },
            }
        };
        Network::new(widths.windows(2).enumerate().map(layer).collect())
    }
}

fn diverged(epoch: usize) -> Error {
    Error::Input(format!(
        "the probe diverged in epoch {epoch} (non-finite weights); scale the embedding or lower the learning rate"
    ))
}

/// A network in training.
struct Learner {
    network: Network,
    classes: usize,
    parameters: Vec<f32>,
    /// Running statistics of batch norm.
    running: Vec<f32>,
    gradient: Vec<f32>,
    adam: Adam,
    /// What dropout draws from.
    noise: u64,
    steps: u64,
}

impl Learner {
    /// With initial weights for each split from its own seed.
    fn new(fit: &ProbeTraining, inputs: usize, classes: usize, seeds: &[Seed]) -> Self {
        let network = fit.network(inputs, seeds.len() * classes);
        let own = fit.network(inputs, classes);
        let own: Vec<Vec<f32>> = seeds.iter().map(|&seed| own.initial(seed)).collect();
        // Several splits share a linear layer: their weights and biases alternate, in rows of `classes`.
        let row = if seeds.len() == 1 { network.len() } else { classes };
        let rows = network.len() / (row * seeds.len());
        let parameters: Vec<f32> = (0..rows)
            .flat_map(|at| own.iter().flat_map(move |own| &own[at * row..(at + 1) * row]))
            .copied()
            .collect();
        let (rate, decay) = (fit.learning_rate as f32, fit.weight_decay as f32);
        Self {
            classes,
            running: network.initial_statistics(),
            gradient: vec![0.0; parameters.len()],
            adam: Adam::new(Optimizer::Adam, rate, decay, parameters.len()),
            noise: seeds[0].key("noise"),
            steps: 0,
            parameters,
            network,
        }
    }

    /// Takes a step of Adam; whether the weights are still finite.
    fn step(&mut self, batch: &LabelledRows) -> bool {
        self.differentiate(batch);
        self.steps += 1;
        self.adam.step(&mut self.parameters, &self.gradient)
    }

    /// Sets the gradient to that of each split's mean cross entropy, and updates the statistics of batch norm.
    fn differentiate(&mut self, batch: &LabelledRows) {
        let pass = self.pass();
        let (mut z, trace) = self.network.forward(&self.parameters, &batch.rows, pass);
        self.network.remember(&trace, &mut self.running);
        cross_entropy::backward(&mut z, self.classes, &batch.labels, &batch.weights);
        self.network.backward(&self.parameters, &batch.rows, pass, trace, z, &mut self.gradient);
    }

    fn pass(&self) -> Pass<'static> {
        Pass { messages: None, views: 1, noise: Some(Seed(mix(self.noise ^ mix(self.steps)))) }
    }

    /// The classes of the nodes of each split and those predicted for them.
    fn predictions(&self, x: &Features, nodes: &Pool) -> Vec<Predicted> {
        nodes.predictions(x, self.classes, |rows| self.predict(rows))
    }

    fn predict(&self, rows: &Features) -> Vec<f32> {
        self.network.predict(&self.parameters, &self.running, rows, 0..rows.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;
    use crate::evaluate::Predictions;
    use crate::nn::naive;

    fn linear() -> ProbeTraining {
        ProbeTraining {
            hidden: vec![],
            initial: Initial::Glorot,
            dropout: 0.0,
            learning_rate: 0.02,
            weight_decay: 1e-5,
            epochs: 60,
            interval: 10,
            batch: usize::MAX,
        }
    }

    fn deep(hidden: &[usize], dropout: f64) -> ProbeTraining {
        ProbeTraining { hidden: hidden.to_vec(), initial: Initial::Linear, dropout, ..linear() }
    }

    /// 90 rows of three classes that overlap.
    fn overlapping() -> Features {
        let value =
            |at: usize| ((at * 29 + 7) % 31) as f32 / 10.0 + 1.5 * ((at / 5 % 3) == at % 5) as u8 as f32;
        Features::Dense(Dense::new(90, 5, (0..90 * 5).map(value).collect::<Vec<_>>()).unwrap())
    }

    fn nodes(of: &[u32]) -> Vec<(u32, u32)> {
        of.iter().map(|&node| (node, node % 3)).collect()
    }

    fn split(train: &[u32], validation: &[u32], test: &[u32]) -> SplitNodes {
        SplitNodes { train: nodes(train), validation: nodes(validation), test: nodes(test) }
    }

    /// Splits of all kinds, with a seed each.
    fn four() -> ([SplitNodes; 4], [Seed; 4]) {
        let all: Vec<u32> = (0..90).collect();
        let splits = [
            split(&all[..60], &all[60..75], &all[75..]),
            split(&all[10..70], &all[..10], &all[70..]),
            split(&all[20..80], &all[80..], &all[..20]),
            split(&all[35..], &[], &all[..30]),
        ];
        (splits, [0, 1, 2, 3].map(Seed))
    }

    fn batch(x: &Features, splits: &[SplitNodes]) -> LabelledRows {
        let train = Pool::new(splits.iter().map(|split| &split.train[..]).collect());
        train.batch(x, &(0..train.len()).collect::<Vec<_>>())
    }

    #[test]
    fn gradients_agree_with_finite_differences_in_full_precision() {
        let (x, all) = (overlapping(), (0..12).collect::<Vec<u32>>());
        let batch = batch(&x, &[split(&all, &[], &[])]);
        for fit in [linear(), deep(&[5, 4], 0.0), deep(&[6, 5], 0.5)] {
            let mut learner = Learner::new(&fit, 5, 3, &[Seed(1)]);
            let exact: Vec<f64> = learner.parameters.iter().map(|&parameter| parameter as f64).collect();
            learner.differentiate(&batch);
            let dense = batch.rows.to_dense();
            let rows: Vec<Vec<f64>> =
                (0..12).map(|row| dense.row(row).iter().map(|&value| value as f64).collect()).collect();
            let loss = |parameters: &[f64]| {
                let z = naive(&learner.network, parameters, rows.clone(), learner.pass());
                cross_entropy::naive(&z, 3, &batch.labels, &batch.weights)
            };
            for (at, &got) in learner.gradient.iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = exact.clone();
                    moved[at] += by;
                    loss(&moved)
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((got as f64 - expected).abs() < 5e-6, "{:?} {at}: {got} {expected}", fit.hidden);
            }
        }
    }

    #[test]
    fn the_gradient_of_each_split_is_its_own() {
        let (x, (splits, seeds)) = (overlapping(), four());
        let mut beside = Learner::new(&linear(), 5, 3, &seeds);
        beside.differentiate(&batch(&x, &splits));
        for (at, &seed) in seeds.iter().enumerate() {
            let mut alone = Learner::new(&linear(), 5, 3, &[seed]);
            alone.differentiate(&batch(&x, &splits[at..=at]));
            let own = beside.gradient.chunks(12).flat_map(|row| &row[3 * at..3 * at + 3]);
            assert!(own.zip(&alone.gradient).all(|(a, b)| (a - b).abs() < 1e-6), "{at}");
        }
    }

    #[test]
    fn splits_side_by_side_are_as_each_by_itself() {
        let (x, (splits, seeds)) = (overlapping(), four());
        assert_eq!(together(&splits, 3), 4);
        let shares = |splits: &[SplitNodes], seeds: &[Seed]| {
            let splits = linear().predictions(&x, 3, splits, seeds).unwrap();
            Predictions { splits }.accuracy().per_split
        };
        let beside = shares(&splits, &seeds);
        for (at, &accuracy) in beside.iter().enumerate() {
            let alone = shares(&splits[at..=at], &seeds[at..=at]);
            assert_eq!(alone, [accuracy]);
            assert!(accuracy > 34.0, "{accuracy}");
        }
    }

    #[test]
    fn splits_with_little_in_common_learn_one_by_one() {
        let splits: Vec<SplitNodes> =
            (0..8).map(|at| split(&[at, at + 10, at + 20], &[], &[at + 30, at + 40])).collect();
        assert_eq!(together(&splits, 3), 1);
        let seeds: Vec<Seed> = (0..8).map(Seed).collect();
        let told = linear().predictions(&overlapping(), 3, &splits, &seeds).unwrap();
        assert!(told.len() == 8 && told.iter().all(|told| told.len() == 2));
    }

    #[test]
    fn a_batch_seen_often_is_predicted_as_in_training() {
        let x = overlapping();
        let batch = batch(&x, &[split(&(0..90).collect::<Vec<_>>(), &[], &[])]);
        let mut learner = Learner::new(&deep(&[5], 0.0), 5, 3, &[Seed(2)]);
        (0..200).for_each(|_| learner.differentiate(&batch));
        let trained = learner.network.forward(&learner.parameters, &batch.rows, learner.pass()).0;
        // The running variance is the unbiased one: 90 / 89 of that in training.
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 0.02;
        assert!(trained.iter().zip(&learner.predict(&batch.rows)).all(close));
    }
}
