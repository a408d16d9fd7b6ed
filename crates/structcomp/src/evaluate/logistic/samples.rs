//! The training rows of a classifier, each followed by the constant 1 of the intercept.

use super::super::rows;
use crate::{Features, matrix};
use rayon::prelude::*;

/// Rows per partial sum; fixed, so that sums do not depend on the number of threads.
const BLOCK: usize = 1024;

pub(super) struct Samples<'a> {
    x: &'a Features,
    nodes: Vec<u32>,
}

/// w·x + b, for weights with the intercept last.
pub(super) fn decision(x: &Features, node: u32, weights: &[f64]) -> f64 {
    let cols = x.cols();
    rows::dot(x, node as usize, &weights[..cols]) + weights[cols]
}

impl<'a> Samples<'a> {
    pub(super) fn new(x: &'a Features, nodes: Vec<u32>) -> Self {
        Self { x, nodes }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of weights, including the intercept.
    pub(super) fn width(&self) -> usize {
        self.x.cols() + 1
    }

    /// The decision value of each row.
    pub(super) fn decisions(&self, weights: &[f64]) -> Vec<f64> {
        self.nodes.par_iter().with_min_len(64).map(|&node| decision(self.x, node, weights)).collect()
    }

    /// The sum of the rows, each multiplied by its entry of `scale`.
    pub(super) fn sum(&self, scale: &[f64]) -> Vec<f64> {
        let partial: Vec<Vec<f64>> = self
            .nodes
            .par_chunks(BLOCK)
            .zip(scale.par_chunks(BLOCK))
            .map(|(nodes, scale)| {
                let mut sum = vec![0.0; self.width()];
                nodes.iter().zip(scale).for_each(|(&node, &scale)| self.add_scaled(node, scale, &mut sum));
                sum
            })
            .collect();
        let mut total = vec![0.0; self.width()];
        partial.iter().for_each(|part| total.iter_mut().zip(part).for_each(|(total, part)| *total += part));
        total
    }

    /// The products of all pairs of rows.
    pub(super) fn gram(&self) -> Vec<f64> {
        let size = self.len();
        let mut gram = vec![0.0; size * size];
        if rows::is_dense(self.x) {
            let mut columns = vec![0.0; self.width() * size];
            for (at, &node) in self.nodes.iter().enumerate() {
                rows::each(self.x, node as usize, |column, value| columns[column * size + at] = value as f64);
            }
            columns[self.x.cols() * size..].fill(1.0);
            matrix::add_gram(&mut gram, &columns, size);
            return gram;
        }
        // One row at a time is made dense, so that sparse rows are never all dense at once.
        gram.par_chunks_mut(size.max(1)).enumerate().for_each(|(at, products)| {
            let mut row = vec![0.0; self.width()];
            self.add_scaled(self.nodes[at], 1.0, &mut row);
            let each = products[at..].iter_mut().zip(&self.nodes[at..]);
            each.for_each(|(product, &other)| *product = decision(self.x, other, &row));
        });
        for row in 0..size {
            for col in 0..row {
                gram[row * size + col] = gram[col * size + row];
            }
        }
        gram
    }

    /// The products of all pairs of columns.
    pub(super) fn column_products(&self) -> Vec<f64> {
        let width = self.width();
        let mut products = vec![0.0; width * width];
        for nodes in self.nodes.chunks(BLOCK) {
            let mut block = vec![0.0; nodes.len() * width];
            let rows = block.par_chunks_mut(width).zip(nodes);
            rows.for_each(|(row, &node)| self.add_scaled(node, 1.0, row));
            matrix::add_gram(&mut products, &block, width);
        }
        products
    }

    fn add_scaled(&self, node: u32, scale: f64, out: &mut [f64]) {
        rows::add_scaled(self.x, node as usize, scale, out);
        out[self.x.cols()] += scale;
    }
}
