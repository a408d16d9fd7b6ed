//! Softmax regression of many splits side by side: one product with the embedding serves all of them.

use super::super::Nodes;
use super::Softmax;
use super::fit::{BLOCK, Start, beyond_all_numbers, likeliest};
use super::layers::{Layers, add_to_rows};
use crate::matrix::column_sums;
use crate::nn::Adam;
use crate::nn::first_layer;
use crate::{Features, Optimizer, Result, Seed};
use rayon::prelude::*;

/// Columns of a product at most, where that leaves more than one split.
const COLUMNS: usize = 128;

impl Softmax {
    /// The share of test nodes told right in each split, in percent, at its epoch best for the validation nodes.
    pub(super) fn accuracies(
        &self,
        x: &Features,
        classes: usize,
        splits: &[Nodes],
        seeds: &[Seed],
    ) -> Result<Vec<f64>> {
        let together = together(splits, classes);
        let groups = splits.par_chunks(together).zip(seeds.par_chunks(together));
        let groups: Vec<Result<Vec<f64>>> =
            groups.map(|(splits, seeds)| Group::new(x, classes, splits).judged(self, seeds)).collect();
        Ok(groups.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}

/// How many splits learn side by side: the product sees every node that any of them learns from, so that these
/// should be mostly the same.
fn together(splits: &[Nodes], classes: usize) -> usize {
    let most = (COLUMNS / classes.max(1)).clamp(1, splits.len().max(1));
    let group = &splits[..most.min(splits.len())];
    let nodes = union(group.iter().map(|split| &split.train)).len();
    let taught: usize = group.iter().map(|split| split.train.len()).sum();
    if 4 * taught >= group.len() * nodes { most } else { 1 }
}

/// Splits that learn side by side.
struct Group<'a> {
    x: &'a Features,
    classes: usize,
    splits: &'a [Nodes],
    /// Nodes that any split learns from, and their classes.
    taught: Vec<(u32, u32)>,
    /// Of each of these and each split, one over the number of nodes that the split learns from, zero if this is
    /// none of them.
    shares: Vec<f32>,
    /// Nodes that any split asks about.
    asked: Vec<(u32, u32)>,
    /// Of each of these and each split, whether it is to validate, and whether to test.
    purposes: Vec<[bool; 2]>,
}

impl<'a> Group<'a> {
    fn new(x: &'a Features, classes: usize, splits: &'a [Nodes]) -> Self {
        let taught = union(splits.iter().map(|split| &split.train));
        let mut shares = vec![0.0; taught.len() * splits.len()];
        let asked = union(splits.iter().flat_map(|split| [&split.validation, &split.test]));
        let mut purposes = vec![[false; 2]; asked.len() * splits.len()];
        for (at, split) in splits.iter().enumerate() {
            let share = 1.0 / split.train.len() as f32;
            let of = |all: &[(u32, u32)], node: &(u32, u32)| {
                all.binary_search(node).map(|row| row * splits.len() + at).ok()
            };
            split.train.iter().filter_map(|node| of(&taught, node)).for_each(|place| shares[place] += share);
            for (purpose, nodes) in [&split.validation, &split.test].into_iter().enumerate() {
                let places = nodes.iter().filter_map(|node| of(&asked, node));
                places.for_each(|place| purposes[place][purpose] = true);
            }
        }
        Self { x, classes, splits, taught, shares, asked, purposes }
    }

    /// Columns of the product.
    fn width(&self) -> usize {
        self.splits.len() * self.classes
    }

    fn judged(&self, softmax: &Softmax, seeds: &[Seed]) -> Result<Vec<f64>> {
        let rows = rows(self.x, &self.taught);
        let mut parameters = self.initial(seeds);
        let mut gradient = vec![0.0; parameters.len()];
        let (rate, decay) = (softmax.learning_rate as f32, softmax.weight_decay as f32);
        let mut adam = Adam::new(Optimizer::Adam, rate, decay, parameters.len());
        // Right on validation nodes, and the accuracy then.
        let mut best: Vec<Option<(usize, f64)>> = vec![None; self.splits.len()];
        for epoch in 1..=softmax.epochs {
            self.gradient(&rows, &parameters, &mut gradient);
            if !adam.step(&mut parameters, &gradient) {
                return Err(beyond_all_numbers(epoch));
            }
            let last = epoch == softmax.epochs;
            if !(last || epoch % softmax.interval == 0 && self.is_validated()) {
                continue;
            }
            for ((best, split), right) in best.iter_mut().zip(self.splits).zip(self.right(&parameters)) {
                let (validated, tested) = right;
                // Without validation nodes the last epoch counts.
                if best.is_none_or(|(most, _)| split.validation.is_empty() || validated > most) {
                    *best = Some((validated, 100.0 * tested as f64 / split.test.len() as f64));
                }
            }
        }
        Ok(best.into_iter().map(|best| best.map_or(f64::NAN, |(_, accuracy)| accuracy)).collect())
    }

    fn is_validated(&self) -> bool {
        self.splits.iter().any(|split| !split.validation.is_empty())
    }

    /// Weights with a row an input, then the biases; each split has its own columns.
    fn initial(&self, seeds: &[Seed]) -> Vec<f32> {
        let layers = Layers::new(self.x.cols(), &[], self.classes, 0.0);
        let mut parameters = vec![0.0; (self.x.cols() + 1) * self.width()];
        for (at, &seed) in seeds.iter().enumerate() {
            let own = layers.initial(Start::Xavier, seed);
            for (row, own) in parameters.chunks_mut(self.width()).zip(own.chunks(self.classes)) {
                row[at * self.classes..][..self.classes].copy_from_slice(own);
            }
        }
        parameters
    }

    fn logits(&self, x: &Features, parameters: &[f32]) -> Vec<f32> {
        let (weight, bias) = parameters.split_at(parameters.len() - self.width());
        let mut out = vec![0.0; x.rows() * self.width()];
        first_layer::forward(x, weight, self.width(), &mut out);
        add_to_rows(&mut out, bias);
        out
    }

    /// Of the mean cross entropy of each split, in its parameters.
    fn gradient(&self, rows: &Features, parameters: &[f32], gradient: &mut [f32]) {
        let mut of_logits = self.logits(rows, parameters);
        let each = of_logits.par_chunks_mut(self.width()).zip(self.shares.par_chunks(self.splits.len()));
        each.zip(&self.taught).with_min_len(64).for_each(|((row, shares), &(_, class))| {
            for (logits, &share) in row.chunks_mut(self.classes).zip(shares) {
                if share > 0.0 {
                    of_cross_entropy(logits, class as usize, share);
                } else {
                    logits.fill(0.0);
                }
            }
        });
        let (of_weight, of_bias) = gradient.split_at_mut(gradient.len() - self.width());
        let sums = column_sums(&of_logits, self.width());
        of_bias.iter_mut().zip(sums).for_each(|(of, sum)| *of = sum as f32);
        first_layer::backward(rows, &of_logits, self.width(), of_weight);
    }

    /// How many validation and test nodes of each split are told right.
    fn right(&self, parameters: &[f32]) -> Vec<(usize, usize)> {
        let count = self.splits.len();
        let block = |(asked, purposes): (&[(u32, u32)], &[[bool; 2]])| {
            let mut right = vec![(0, 0); count];
            let logits = self.logits(&rows(self.x, asked), parameters);
            let each = logits.chunks(self.width()).zip(purposes.chunks(count)).zip(asked);
            for ((row, purposes), &(_, class)) in each {
                let splits = row.chunks(self.classes).zip(purposes).zip(&mut right);
                for ((logits, &[validates, tests]), right) in splits {
                    if (validates || tests) && likeliest(logits) == class {
                        right.0 += usize::from(validates);
                        right.1 += usize::from(tests);
                    }
                }
            }
            right
        };
        let blocks = self.asked.par_chunks(BLOCK).zip(self.purposes.par_chunks(BLOCK * count));
        let add = |mut all: Vec<(usize, usize)>, some: Vec<(usize, usize)>| {
            all.iter_mut().zip(some).for_each(|(all, some)| *all = (all.0 + some.0, all.1 + some.1));
            all
        };
        blocks.map(block).reduce(|| vec![(0, 0); count], add)
    }
}

/// Turns logits into the gradient of −share · log softmax at a class.
fn of_cross_entropy(logits: &mut [f32], class: usize, share: f32) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    logits.iter_mut().for_each(|value| *value = (*value - largest).exp());
    let scale = share / logits.iter().sum::<f32>();
    logits.iter_mut().for_each(|value| *value *= scale);
    logits[class] -= share;
}

/// All nodes of some lists, each once, in order.
fn union<'a>(lists: impl Iterator<Item = &'a Vec<(u32, u32)>>) -> Vec<(u32, u32)> {
    let mut nodes: Vec<(u32, u32)> = lists.flatten().copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn rows(x: &Features, nodes: &[(u32, u32)]) -> Features {
    x.select(&nodes.iter().map(|&(node, _)| node).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::fit::Fit;
    use super::*;
    use crate::Dense;

    fn nodes(of: &[u32]) -> Vec<(u32, u32)> {
        of.iter().map(|&node| (node, node % 3)).collect()
    }

    /// Rows of three classes that overlap.
    fn overlapping() -> Features {
        let value =
            |at: usize| ((at * 29 + 7) % 31) as f32 / 10.0 + 1.5 * ((at / 5 % 3) == at % 5) as u8 as f32;
        Features::Dense(Dense::new(90, 5, (0..90 * 5).map(value).collect::<Vec<_>>()).unwrap())
    }

    fn split(train: &[u32], validation: &[u32], test: &[u32]) -> Nodes {
        Nodes { train: nodes(train), validation: nodes(validation), test: nodes(test) }
    }

    /// Splits of all kinds, with a seed each.
    fn four() -> ([Nodes; 4], [Seed; 4]) {
        let all: Vec<u32> = (0..90).collect();
        let splits = [
            split(&all[..60], &all[60..75], &all[75..]),
            split(&all[10..70], &all[..10], &all[70..]),
            split(&all[20..80], &all[80..], &all[..20]),
            split(&all[35..], &[], &all[..30]),
        ];
        (splits, [0, 1, 2, 3].map(Seed))
    }

    #[test]
    fn the_gradient_of_each_split_is_its_own() {
        let (x, (splits, seeds)) = (overlapping(), four());
        let group = Group::new(&x, 3, &splits);
        let parameters = group.initial(&seeds);
        let mut gradient = vec![7.0; parameters.len()];
        group.gradient(&rows(&x, &group.taught), &parameters, &mut gradient);
        let layers = Layers::new(5, &[], 3, 0.0);
        for (at, (split, &seed)) in splits.iter().zip(&seeds).enumerate() {
            let classes: Vec<u32> = split.train.iter().map(|node| node.1).collect();
            let own = layers.initial(Start::Xavier, seed);
            let own = layers.gradient(&own, &mut [], &rows(&x, &split.train), &classes, (seed, 0)).1;
            let beside = gradient.chunks(12).flat_map(|row| &row[3 * at..3 * at + 3]);
            assert!(beside.zip(&own).all(|(a, b)| (a - b).abs() < 1e-6), "{at}: {gradient:?} {own:?}");
        }
    }

    #[test]
    fn splits_side_by_side_are_as_each_by_itself() {
        let softmax = Softmax { learning_rate: 0.02, epochs: 60, ..Softmax::default() };
        let (x, (splits, seeds)) = (overlapping(), four());
        assert_eq!(together(&splits, 3), 4);
        let beside = softmax.accuracies(&x, 3, &splits, &seeds).unwrap();
        for ((split, &seed), beside) in splits.iter().zip(&seeds).zip(beside) {
            let fit = Fit {
                hidden: &[],
                start: Start::Xavier,
                dropout: 0.0,
                learning_rate: 0.02,
                weight_decay: softmax.weight_decay as f32,
                epochs: 60,
                interval: softmax.interval,
                batch: usize::MAX,
            };
            assert_eq!(fit.accuracy(&x, 3, split, seed).unwrap(), beside);
            assert!(beside > 34.0, "{beside}");
        }
    }

    #[test]
    fn splits_with_little_in_common_learn_one_by_one() {
        let splits: Vec<Nodes> =
            (0..8).map(|at| split(&[at, at + 10, at + 20], &[], &[at + 30, at + 40])).collect();
        assert_eq!(together(&splits, 3), 1);
        let seeds: Vec<Seed> = (0..8).map(Seed).collect();
        let accuracies = Softmax::default().accuracies(&overlapping(), 3, &splits, &seeds).unwrap();
        assert!(accuracies.len() == 8 && accuracies.iter().all(|&accuracy| accuracy.is_finite()));
    }
}
