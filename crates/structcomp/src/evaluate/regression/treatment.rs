//! What is done to all rows alike before they are judged.

use super::super::{SplitNodes, axes::Axes};
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

/// Of more rows, only those that are judged count.
const ALL: usize = 100_000;

/// Rows that are centred, of mean square length one, and at most 256 wide. Only rows that are asked for are changed.
pub(super) struct Treated<'a> {
    x: Cow<'a, Dense>,
    /// The nodes of the rows, in order, where these are not all.
    nodes: Option<Vec<u32>>,
    means: Vec<f32>,
    scale: f32,
}

impl<'a> Treated<'a> {
    pub(super) fn of(x: &'a Features, splits: &[SplitNodes]) -> Self {
        if x.rows() <= ALL {
            return Self::new(Cow::Borrowed(x), None);
        }
        let mut judged = vec![false; x.rows()];
        let pairs = splits.iter().flat_map(|split| split.train.iter().chain(&split.test));
        pairs.for_each(|&(node, _)| judged[node as usize] = true);
        let nodes: Vec<u32> = (0..x.rows() as u32).filter(|&node| judged[node as usize]).collect();
        Self::new(Cow::Owned(x.select(&nodes)), Some(nodes))
    }

    fn new(x: Cow<'a, Features>, nodes: Option<Vec<u32>>) -> Self {
        let x = match x {
            x if x.cols() > WIDTH => Cow::Owned(Axes::principal(&x, WIDTH).project(&x)),
            Cow::Borrowed(Features::Dense(x)) => Cow::Borrowed(x),
            Cow::Owned(Features::Dense(x)) => Cow::Owned(x),
            x => Cow::Owned(x.to_dense()),
        };
        let (rows, cols) = (x.rows() as f64, x.cols());
        let means: Vec<f32> = column_sums(x.values(), cols).iter().map(|sum| (sum / rows) as f32).collect();
        let square =
            |row: &[f32]| row.iter().zip(&means).map(|(x, mean)| ((x - mean) as f64).powi(2)).sum::<f64>();
        let squares =
            x.values().par_chunks(ROWS * cols).map(|rows| rows.chunks_exact(cols).map(square).sum());
        let length = (squares.collect::<Vec<f64>>().iter().sum::<f64>() / rows).sqrt();
        let scale = if length > 0.0 { (1.0 / length) as f32 } else { 1.0 };
        Self { x, nodes, means, scale }
    }

    /// The width of the rows that [`rows`](Self::rows) gives.
    pub(super) fn width(&self) -> usize {
        self.x.cols() + 1
    }

    /// The rows of these nodes, each followed by the entry for the intercept.
    pub(super) fn rows(&self, nodes: &[(u32, u32)]) -> Vec<f32> {
        let mut rows = Vec::with_capacity(nodes.len() * self.width());
        for &(node, _) in nodes {
            let place = match &self.nodes {
                Some(nodes) => nodes.partition_point(|&other| other < node),
                None => node as usize,
            };
            let row = self.x.row(place).iter().zip(&self.means);
            rows.extend(row.map(|(value, mean)| (value - mean) * self.scale));
            rows.push(INTERCEPT);
        }
        rows
    }
}
