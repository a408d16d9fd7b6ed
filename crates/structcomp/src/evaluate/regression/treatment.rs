//! What is done to all rows alike before they are judged.

use super::super::axes::Axes;
use crate::matrix::column_sums;
use crate::{Dense, Features};
use rayon::prelude::*;
use std::borrow::Cow;

/// Columns at most.
const WIDTH: usize = 256;
/// The entry for the intercept. It is large compared with rows of length one, so that the penalty on its weight hardly
/// matters.
const INTERCEPT: f32 = 4.0;

/// Rows per task.
const ROWS: usize = 1024;

/// Rows that are centred, of mean square length one, and at most 256 wide. Only rows that are asked for are changed.
pub(super) struct Treated<'a> {
    x: Cow<'a, Dense>,
    means: Vec<f32>,
    scale: f32,
}

impl<'a> Treated<'a> {
    pub(super) fn of(x: &'a Features) -> Self {
        let x = match x {
            _ if x.cols() > WIDTH => Cow::Owned(Axes::principal(x, WIDTH).project(x)),
            Features::Dense(x) => Cow::Borrowed(x),
            Features::Sparse(_) => Cow::Owned(x.to_dense()),
        };
        let (rows, cols) = (x.rows() as f64, x.cols());
        let means: Vec<f32> = column_sums(x.values(), cols).iter().map(|sum| (sum / rows) as f32).collect();
        let square = |row: &[f32]| row.iter().zip(&means).map(|(x, mean)| ((x - mean) as f64).powi(2)).sum::<f64>();
        let squares = x.values().par_chunks(ROWS * cols).map(|rows| rows.chunks_exact(cols).map(square).sum());
        let length = (squares.collect::<Vec<f64>>().iter().sum::<f64>() / rows).sqrt();
        let scale = if length > 0.0 { (1.0 / length) as f32 } else { 1.0 };
        Self { x, means, scale }
    }

    /// The width of the rows that [`rows`](Self::rows) gives.
    pub(super) fn width(&self) -> usize {
        self.x.cols() + 1
    }

    /// The rows of these nodes, each followed by the entry for the intercept.
    pub(super) fn rows(&self, nodes: &[(u32, u32)]) -> Vec<f32> {
        let mut rows = Vec::with_capacity(nodes.len() * self.width());
        for &(node, _) in nodes {
            let row = self.x.row(node as usize).iter().zip(&self.means);
            rows.extend(row.map(|(value, mean)| (value - mean) * self.scale));
            rows.push(INTERCEPT);
        }
        rows
    }
}
