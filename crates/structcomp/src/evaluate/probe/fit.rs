//! A probe that is trained by steps, and the epoch at which it is judged.

use super::super::Nodes;
use super::layers::{Averages, Layers};
use crate::nn::Adam;
use crate::{Error, Features, Optimizer, Result, Seed};
use rand::seq::SliceRandom;
use rayon::prelude::*;

/// What the MLP comes down to; without hidden layers it is softmax regression, one split at a time.
pub(super) struct Fit<'a> {
    pub(super) hidden: &'a [usize],
    pub(super) start: Start,
    pub(super) dropout: f32,
    pub(super) learning_rate: f32,
    pub(super) weight_decay: f32,
    pub(super) epochs: usize,
    pub(super) interval: usize,
    pub(super) batch: usize,
}

/// How weights are drawn: uniformly, up to a bound.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// 1/√inputs, biases too: torch's linear layers.
    Inputs,
    /// √(6 / (inputs + outputs)), biases zero: Xavier.
    Xavier,
}

/// Nodes judged at once: their hidden layers need memory, and there may be millions of nodes.
pub(super) const BLOCK: usize = 4096;

impl Fit<'_> {
    /// The share of test nodes told right, in percent, at the epoch best for the validation nodes.
    pub(super) fn accuracy(&self, x: &Features, classes: usize, nodes: &Nodes, seed: Seed) -> Result<f64> {
        let layers = Layers::new(x.cols(), self.hidden, classes, self.dropout);
        let mut parameters = layers.initial(self.start, seed);
        let mut averages = layers.averages();
        let mut adam = Adam::new(Optimizer::Adam, self.learning_rate, self.weight_decay, parameters.len());
        let mut order = nodes.train.clone();
        let whole = (order.len() <= self.batch).then(|| rows_of(x, &order));
        let mut shuffle = seed.stream("batches");
        let mut best: Option<(usize, f64)> = None;
        let mut step = 0;
        for epoch in 1..=self.epochs {
            if whole.is_none() {
                order.shuffle(&mut shuffle);
            }
            for batch in order.chunks(self.batch) {
                let part = whole.is_none().then(|| rows_of(x, batch));
                let Some((rows, classes)) = whole.as_ref().or(part.as_ref()) else { continue };
                let (loss, gradient) =
                    layers.gradient(&parameters, &mut averages, rows, classes, (seed, step));
                adam.step(&mut parameters, &gradient);
                step += 1;
                if !loss.is_finite() || !parameters.iter().all(|parameter| parameter.is_finite()) {
                    return Err(beyond_all_numbers(epoch));
                }
            }
            let right = |nodes: &[(u32, u32)]| right(&layers, &parameters, &averages, x, nodes);
            let share = || 100.0 * right(&nodes.test) as f64 / nodes.test.len() as f64;
            let last = epoch == self.epochs;
            if nodes.validation.is_empty() {
                if last {
                    return Ok(share());
                }
            } else if last || epoch % self.interval == 0 {
                let validated = right(&nodes.validation);
                if best.is_none_or(|(most, _)| validated > most) {
                    best = Some((validated, share()));
                }
            }
        }
        best.map(|(_, accuracy)| accuracy).ok_or_else(|| Error::Input("no epoch was judged".into()))
    }
}

fn rows_of(x: &Features, nodes: &[(u32, u32)]) -> (Features, Vec<u32>) {
    let (numbers, classes): (Vec<u32>, Vec<u32>) = nodes.iter().copied().unzip();
    (x.select(&numbers), classes)
}

pub(super) fn beyond_all_numbers(epoch: usize) -> Error {
    Error::Input(format!(
        "the probe went beyond all numbers in epoch {epoch}; scale the embedding or lower the learning rate"
    ))
}

/// Of equally likely classes the first.
pub(super) fn likeliest(logits: &[f32]) -> u32 {
    let first = |best: usize, class: usize| if logits[class] > logits[best] { class } else { best };
    (0..logits.len()).fold(0, first) as u32
}

/// How many of the nodes are told right.
fn right(
    layers: &Layers,
    parameters: &[f32],
    averages: &[Averages],
    x: &Features,
    nodes: &[(u32, u32)],
) -> usize {
    let block = |nodes: &[(u32, u32)]| {
        let (rows, classes) = rows_of(x, nodes);
        let logits = layers.predict(parameters, averages, &rows);
        logits
            .chunks_exact(layers.classes())
            .zip(&classes)
            .filter(|(row, class)| likeliest(row) == **class)
            .count()
    };
    nodes.par_chunks(BLOCK).map(block).sum()
}
