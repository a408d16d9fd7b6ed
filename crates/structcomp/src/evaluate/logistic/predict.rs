//! The classes that classifiers give to nodes: all classifiers at once, so that a row is read once and not
//! once a split.

use super::super::rows;
use super::Classifier;
use crate::{Features, linalg};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one thread looks at together.
const ROWS: usize = 128;
/// Features whose weights are put in place together.
const FEATURES: usize = 8;

/// How many of its nodes, given as `(node, class)`, each classifier gets right.
pub(in crate::evaluate) fn count_right(x: &Features, judged: &[(Classifier, Vec<(u32, u32)>)]) -> Vec<usize> {
    let weights = Weights::of(x, judged.iter().map(|(classifier, _)| classifier));
    let mut tests: Vec<Vec<(u32, u32)>> = judged.iter().map(|(_, test)| test.clone()).collect();
    tests.par_iter_mut().for_each(|test| test.sort_unstable());
    let mut asked = vec![false; x.rows()];
    tests.iter().flatten().for_each(|&(node, _)| asked[node as usize] = true);
    let nodes: Vec<u32> = (0..x.rows() as u32).filter(|&node| asked[node as usize]).collect();
    let mut places = vec![0; x.rows()];
    nodes.iter().enumerate().for_each(|(place, &node)| places[node as usize] = place % ROWS);
    let block = |nodes: &[u32]| -> Vec<usize> {
        let values = weights.decisions(x, nodes);
        let right_of = |split: usize| {
            let (test, classes) = (&tests[split], &judged[split].0.classes);
            let here = test.partition_point(|&(node, _)| node < nodes[0]);
            let here = test[here..].iter().take_while(|&&(node, _)| node <= nodes[nodes.len() - 1]);
            let right = |&&(node, class): &&(u32, u32)| {
                let row = places[node as usize];
                let values = &values[row * weights.count..][weights.columns[split].clone()];
                classes[first_largest(values)] == class
            };
            here.filter(right).count()
        };
        (0..judged.len()).map(right_of).collect()
    };
    let add = |mut a: Vec<usize>, b: Vec<usize>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    nodes.par_chunks(ROWS).map(block).reduce(|| vec![0; judged.len()], add)
}

/// The place of the largest number, the first of several.
fn first_largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

/// The weights of all classes of all classifiers, side by side for each feature, and the intercepts last.
struct Weights {
    values: Vec<f64>,
    count: usize,
    /// Where the classes of each classifier are.
    columns: Vec<Range<usize>>,
}

impl Weights {
    fn of<'a>(x: &Features, classifiers: impl Iterator<Item = &'a Classifier>) -> Self {
        let (mut columns, mut all) = (Vec::new(), Vec::new());
        for classifier in classifiers {
            columns.push(all.len()..all.len() + classifier.weights.len());
            all.extend(&classifier.weights);
        }
        let count = all.len();
        let mut values = vec![0.0; (x.cols() + 1) * count];
        // Some features at a time, since their weights lie side by side.
        values.par_chunks_mut(FEATURES * count).enumerate().for_each(|(block, values)| {
            for (column, weights) in all.iter().enumerate() {
                let to = values.iter_mut().skip(column).step_by(count);
                to.zip(&weights[block * FEATURES..]).for_each(|(to, &weight)| *to = weight);
            }
        });
        Self { values, count, columns }
    }

    /// What every class says to each of the nodes, row by row.
    fn decisions(&self, x: &Features, nodes: &[u32]) -> Vec<f64> {
        let (width, count) = (x.cols() + 1, self.count);
        let (features, intercepts) = self.values.split_at(x.cols() * count);
        if rows::is_dense(x) {
            let mut block = vec![0.0; nodes.len() * width];
            for (row, &node) in block.chunks_exact_mut(width).zip(nodes) {
                rows::each(x, node as usize, |column, value| row[column] = value as f64);
                row[x.cols()] = 1.0;
            }
            return linalg::multiply(&block, &self.values, width);
        }
        let mut values = intercepts.repeat(nodes.len());
        for (values, &node) in values.chunks_exact_mut(count).zip(nodes) {
            rows::each(x, node as usize, |column, value| {
                rows::add_multiple(&features[column * count..][..count], value as f64, values);
            });
        }
        values
    }
}
