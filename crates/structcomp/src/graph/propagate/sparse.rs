//! Â X for a sparse X while the result stays sparse.

use super::Propagation;
use super::dense::split;
use crate::{Csr, Result};
use rayon::prelude::*;

/// The fraction of non-zeros from which the result is dense: an entry then takes half the memory and needs
/// no search.
const DENSE_FROM: f64 = 0.25;

impl Propagation<'_> {
    /// Â X, or `None` if too many entries are non-zero.
    ///
    /// Entries are counted before they are stored, so nothing larger than the result is allocated.
    pub(super) fn sparse_hop(&self, x: &Csr) -> Result<Option<Csr>> {
        let tasks = self.tasks(0..x.rows());
        let mut offsets = vec![0u64; x.rows() + 1];
        split(&mut offsets[1..], &tasks, |rows| rows.len()).into_par_iter().for_each_init(
            || Sums::new(x.cols()),
            |sums, (rows, counts)| {
                for (row, count) in rows.zip(counts) {
                    self.each_term(x, row, |column, _| sums.mark(row, column));
                    *count = sums.columns.len() as u64;
                    sums.columns.clear();
                }
            },
        );
        for row in 0..x.rows() {
            offsets[row + 1] += offsets[row];
        }
        let entries = offsets[x.rows()] as usize;
        if entries as f64 >= DENSE_FROM * x.rows() as f64 * x.cols() as f64 {
            return Ok(None);
        }
        let (mut indices, mut values) = (vec![0; entries], vec![0.0; entries]);
        let length = |rows: &std::ops::Range<usize>| (offsets[rows.end] - offsets[rows.start]) as usize;
        let parts = split(&mut indices, &tasks, length).into_par_iter();
        parts.zip(split(&mut values, &tasks, length)).for_each_init(
            || Sums::new(x.cols()),
            |sums, ((rows, mut indices), (_, mut values))| {
                for row in rows {
                    self.each_term(x, row, |column, term| sums.add(row, column, term));
                    let count = sums.columns.len();
                    let (row_indices, row_values);
                    (row_indices, indices) = indices.split_at_mut(count);
                    (row_values, values) = values.split_at_mut(count);
                    sums.take(self.outer_scale(row), row_indices, row_values);
                }
            },
        );
        Csr::new(x.cols(), offsets, indices, values).map(Some)
    }

    /// Visits the terms of a row of Â X, without the outer scale, in the order in which the dense path adds
    /// them.
    fn each_term(&self, x: &Csr, row: usize, mut visit: impl FnMut(u32, f32)) {
        let mut terms = |node: usize, weight: f32| {
            let scale = self.inner_scale(node);
            let (columns, values) = x.row(node);
            columns.iter().zip(values).for_each(|(&column, &value)| visit(column, value * scale * weight));
        };
        terms(row, 1.0);
        let weights = self.graph.edge_weights(row as u32);
        for (at, &node) in self.graph.neighbors(row as u32).iter().enumerate() {
            terms(node as usize, weights.map_or(1.0, |weights| weights[at]));
        }
    }
}

/// The sums of one row by column.
struct Sums {
    values: Vec<f32>,
    /// The last row that used each column, plus one.
    row: Vec<u32>,
    /// The columns used by the current row.
    columns: Vec<u32>,
}

impl Sums {
    fn new(columns: usize) -> Self {
        Self { values: vec![0.0; columns], row: vec![0; columns], columns: Vec::new() }
    }

    fn mark(&mut self, row: usize, column: u32) {
        let last = &mut self.row[column as usize];
        if *last != row as u32 + 1 {
            *last = row as u32 + 1;
            self.columns.push(column);
            self.values[column as usize] = 0.0;
        }
    }

    fn add(&mut self, row: usize, column: u32, term: f32) {
        self.mark(row, column);
        self.values[column as usize] += term;
    }

    /// Writes the row in column order and clears it.
    fn take(&mut self, scale: f32, indices: &mut [u32], values: &mut [f32]) {
        self.columns.sort_unstable();
        indices.copy_from_slice(&self.columns);
        for (value, column) in values.iter_mut().zip(self.columns.drain(..)) {
            *value = self.values[column as usize] * scale;
        }
    }
}
