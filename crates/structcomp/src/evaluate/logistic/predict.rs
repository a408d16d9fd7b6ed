//! Predicted classes: of all classifiers at once in single precision, and again in double precision where that is too
//! close to call.

use super::super::rows;
use super::Classifier;
use super::samples::decision;
use crate::Features;
use crate::nn::first_layer;
use rayon::prelude::*;

/// Rows per product.
const ROWS: usize = 2048;
/// Features whose weights one task transposes.
const FEATURES: usize = 8;

/// The classes of the nodes of each classifier, given as `(node, class)`, and those predicted for them, by node.
pub(in crate::evaluate) fn predictions(
    x: &Features,
    judged: &[(Classifier, Vec<(u32, u32)>)],
) -> Vec<Vec<(u32, u32)>> {
    let weights = Weights::of(x, judged.iter().map(|(classifier, _)| classifier));
    let mut tests: Vec<Vec<(u32, u32)>> = judged.iter().map(|(_, test)| test.clone()).collect();
    tests.par_iter_mut().for_each(|test| test.sort_unstable());
    let mut predicted = vec![Vec::new(); judged.len()];
    let mut values = Vec::new();
    for first in (0..x.rows()).step_by(ROWS) {
        let last = (first + ROWS).min(x.rows());
        let here = |test: &[(u32, u32)]| {
            let place = |row: usize| test.partition_point(|&(node, _)| (node as usize) < row);
            place(first)..place(last)
        };
        if tests.iter().all(|test| here(test).is_empty()) {
            continue;
        }
        values.resize((last - first) * weights.count, 0.0);
        first_layer::forward_rows(x, first..last, &weights.values, weights.count, &mut values);
        let lengths: Vec<f64> = (first..last).into_par_iter().map(|row| length(x, row)).collect();
        predicted.par_iter_mut().enumerate().for_each(|(split, predicted)| {
            let (test, classifier) = (&tests[split], &judged[split].0);
            let own = weights.starts[split]..weights.starts[split + 1];
            let predict = |&(node, class): &(u32, u32)| {
                let row = node as usize - first;
                let values = &values[row * weights.count..][own.clone()];
                let error = weights.error(split, lengths[row]);
                let best = clearly_largest(values, classifier, error).unwrap_or_else(|| {
                    let exact: Vec<f64> = classifier.weights.iter().map(|w| decision(x, node, w)).collect();
                    first_largest(&exact)
                });
                (class, classifier.classes[best])
            };
            predicted.extend(test[here(test)].iter().map(predict));
        });
    }
    predicted
}

/// The length of a row.
fn length(x: &Features, row: usize) -> f64 {
    let mut square = 0.0;
    rows::each(x, row, |_, value| square += value as f64 * value as f64);
    square.sqrt()
}

/// The index of the largest decision value, unless another is within the error of it.
fn clearly_largest(values: &[f32], classifier: &Classifier, error: f64) -> Option<usize> {
    let (mut best, mut largest, mut second) = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (at, (&value, weights)) in values.iter().zip(&classifier.weights).enumerate() {
        let value = value as f64 + weights[weights.len() - 1];
        if !value.is_finite() {
            return None;
        }
        if value > largest {
            (best, second, largest) = (at, largest, value);
        } else {
            second = second.max(value);
        }
    }
    (largest - second > 2.0 * error).then_some(best)
}

/// The index of the largest value, the first of equal ones.
fn first_largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

/// The weights of all classes of all classifiers without the intercepts: one row per feature.
struct Weights {
    values: Vec<f32>,
    count: usize,
    /// Where the columns of each classifier start, and where the last ends.
    starts: Vec<usize>,
    /// The length of each classifier's longest weight vector.
    lengths: Vec<f64>,
    /// The number of terms of a decision value.
    terms: f64,
}

impl Weights {
    fn of<'a>(x: &Features, classifiers: impl Iterator<Item = &'a Classifier>) -> Self {
        let (mut starts, mut lengths, mut all) = (vec![0], Vec::new(), Vec::new());
        for classifier in classifiers {
            all.extend(&classifier.weights);
            starts.push(all.len());
            let squares = classifier.weights.iter().map(|weights| rows::inner(weights, weights));
            lengths.push(squares.fold(0.0, f64::max).sqrt());
        }
        let count = all.len();
        let mut values = vec![0.0; x.cols() * count];
        // A few features at a time, so that whole cache lines are written.
        values.par_chunks_mut(FEATURES * count).enumerate().for_each(|(block, values)| {
            for (column, weights) in all.iter().enumerate() {
                let to = values.iter_mut().skip(column).step_by(count);
                to.zip(&weights[block * FEATURES..]).for_each(|(to, &weight)| *to = weight as f32);
            }
        });
        Self { values, count, starts, lengths, terms: x.cols() as f64 }
    }

    /// A bound on the error of a decision value for a row of this length: 2⁻¹⁶ of each product, the rounding of each
    /// addition, and underflow.
    fn error(&self, split: usize, length: f64) -> f64 {
        let of_size = (2f64.powi(-15) + self.terms * 2f64.powi(-23)) * length * self.lengths[split];
        of_size + self.terms * f32::MIN_POSITIVE as f64 * (1.0 + length + self.lengths[split])
    }
}
