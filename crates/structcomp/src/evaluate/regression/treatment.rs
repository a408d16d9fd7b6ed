//! What is done to all rows alike before they are judged.

use super::super::axes::Axes;
use crate::Features;
use crate::matrix::column_sums;
use rayon::prelude::*;

/// Columns at most.
const WIDTH: usize = 256;
/// The entry for the intercept. It is large compared with rows of length one, so that the penalty on its weight hardly
/// matters.
const INTERCEPT: f32 = 4.0;

/// Rows that are centred, of mean square length one, and at most 256 wide.
pub(super) struct Treated {
    values: Vec<f32>,
    cols: usize,
}

impl Treated {
    pub(super) fn of(x: &Features) -> Self {
        let narrow = if x.cols() > WIDTH { Axes::principal(x, WIDTH).project(x) } else { x.to_dense() };
        let (rows, cols) = (narrow.rows(), narrow.cols());
        let mut values = narrow.into_values();
        let means: Vec<f32> =
            column_sums(&values, cols).iter().map(|sum| (sum / rows as f64) as f32).collect();
        let centre = |row: &mut [f32]| {
            row.iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean);
            row.iter().map(|&value| value as f64 * value as f64).sum()
        };
        let squares: Vec<f64> = values.par_chunks_mut(cols).map(centre).collect();
        let length = (squares.iter().sum::<f64>() / rows as f64).sqrt();
        if length > 0.0 {
            let scale = (1.0 / length) as f32;
            values.par_iter_mut().for_each(|value| *value *= scale);
        }
        Self { values, cols }
    }

    /// The width of the rows that [`rows`](Self::rows) gives.
    pub(super) fn width(&self) -> usize {
        self.cols + 1
    }

    /// The rows of these nodes, each followed by the entry for the intercept.
    pub(super) fn rows(&self, nodes: &[(u32, u32)]) -> Vec<f32> {
        let mut rows = Vec::with_capacity(nodes.len() * self.width());
        for &(node, _) in nodes {
            rows.extend_from_slice(&self.values[node as usize * self.cols..][..self.cols]);
            rows.push(INTERCEPT);
        }
        rows
    }
}
