//! A part of a solved encoder: rows from one signal, each of length one.

use super::projection::{Projected, block, picked};
use crate::graph::Hops;
use crate::matrix::{Sum, View, product, zeros};
use crate::prepare::FittedStandIn;
use crate::{Graph, Normalization, Propagation, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where the rows of a part come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Signal {
    /// Projected features after some hops.
    Hops(Hops),
    /// The mean of the neighbours' projected features, without a node's own.
    Neighbors,
    /// Positions in the graph that the model was solved on.
    Positions(FittedStandIn),
    /// The logarithms of two sizes: how many neighbours a node has, and how much its features say, relative to the
    /// mean of their squared length.
    Sizes { mean: f64 },
}

/// Squared lengths below this share of their mean hardly differ.
const SHORT: f64 = 0.05;

/// Some columns of a signal, shifted, scaled, and then with rows of length one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) signal: Signal,
    pub(crate) columns: Vec<u32>,
    /// What is subtracted from each column, and the factor then.
    pub(crate) shift: Vec<f32>,
    pub(crate) scale: Vec<f32>,
}

impl Signal {
    /// Some columns of the signal.
    pub(crate) fn rows(&self, graph: &Graph, x: &Projected, columns: &[u32]) -> Result<Vec<f32>> {
        let width = columns.len();
        match self {
            Self::Hops(hops) if hops.is_none() => Ok(x.columns(columns)),
            Self::Hops(hops) => {
                hops.of_rows(&Propagation::new(graph, Normalization::Symmetric), &x.columns(columns), width)
            }
            Self::Neighbors => neighbors(graph, &x.columns(columns), width),
            Self::Positions(positions) => Ok(picked(&positions.of_known(graph)?, positions.width(), columns)),
            Self::Sizes { mean } => {
                let sizes =
                    |(node, square): (usize, &f64)| Self::sizes(graph.degree(node as u32), *square, *mean);
                let sizes: Vec<f32> = x.squares.par_iter().enumerate().flat_map_iter(sizes).collect();
                Ok(picked(&sizes, 2, columns))
            }
        }
    }

    /// The sizes of a node with so many neighbours and features of this squared length.
    pub(crate) fn sizes(degree: usize, square: f64, mean: f64) -> [f32; 2] {
        [(1.0 + degree as f64).ln() as f32, (square / mean + SHORT).ln() as f32]
    }

    /// Columns to compute at a time. Those of positions are only there all at once.
    fn block(&self, nodes: usize, width: usize) -> usize {
        match self {
            Self::Hops(_) | Self::Neighbors => block(nodes),
            Self::Positions(_) | Self::Sizes { .. } => width,
        }
    }
}

impl Part {
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Adds its rows times `turn` to `out`, which has one row per node, a few columns of its own at a time.
    pub(super) fn add(&self, graph: &Graph, x: &Projected, turn: &[f32], out: &mut [f32]) -> Result<()> {
        let size = self.signal.block(graph.nodes(), self.width()).min(self.width());
        self.add_in_blocks(size, graph, x, turn, out)
    }

    fn add_in_blocks(
        &self,
        size: usize,
        graph: &Graph,
        x: &Projected,
        turn: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        let outputs = turn.len() / self.width();
        let mut squares = vec![0f64; graph.nodes()];
        let mut sum = zeros(out.len());
        for (at, columns) in self.columns.chunks(size).enumerate() {
            let mut rows = self.signal.rows(graph, x, columns)?;
            let first = at * size;
            self.shift_rows(&mut rows, first..first + columns.len());
            let lengths = rows.par_chunks(columns.len()).zip(&mut squares);
            lengths.for_each(|(row, square)| *square += length(row));
            let turn = &turn[first * outputs..][..columns.len() * outputs];
            product(&mut sum, View::new(&rows, columns.len()), View::new(turn, outputs), Sum::Add(1.0));
        }
        out.par_chunks_mut(outputs).zip(sum.par_chunks(outputs)).zip(&squares).for_each(
            |((out, sum), &square)| {
                let scale = if self.tells_sizes() { 1.0 } else { inverse_root(square) };
                out.iter_mut().zip(sum).for_each(|(out, sum)| *out += scale * sum);
            },
        );
        Ok(())
    }

    /// Shifts, scales, and makes every row as long as one, unless it tells sizes.
    pub(crate) fn scale_rows(&self, rows: &mut [f32]) {
        self.shift_rows(rows, 0..self.width());
        if !self.tells_sizes() {
            rows.par_chunks_mut(self.width().max(1)).for_each(|row| {
                let inverse = inverse_root(length(row));
                row.iter_mut().for_each(|value| *value *= inverse);
            });
        }
    }

    /// Shifts and scales some of its columns.
    fn shift_rows(&self, rows: &mut [f32], columns: Range<usize>) {
        let (shift, scale) = (&self.shift[columns.clone()], &self.scale[columns]);
        rows.par_chunks_mut(shift.len().max(1)).for_each(|row| {
            for ((value, shift), scale) in row.iter_mut().zip(shift).zip(scale) {
                *value = (*value - shift) * scale;
            }
        });
    }

    fn tells_sizes(&self) -> bool {
        matches!(self.signal, Signal::Sizes { .. })
    }
}

/// The squared length of a row.
fn length(row: &[f32]) -> f64 {
    row.iter().map(|&value| value as f64 * value as f64).sum()
}

/// The mean over neighbours; zero for nodes that have none.
pub(crate) fn neighbors(graph: &Graph, x: &[f32], width: usize) -> Result<Vec<f32>> {
    let mut out = zeros(x.len());
    Propagation::new(graph, Normalization::Row).hop_into(x, width, &mut out)?;
    // That mean includes the node itself.
    let rows = out.par_chunks_mut(width.max(1)).zip(x.par_chunks(width.max(1)));
    rows.enumerate().for_each(|(node, (out, x))| {
        let degree = graph.weighted_degree(node as u32);
        let (all, own) = match degree > 0.0 {
            true => (((1.0 + degree) / degree) as f32, (1.0 / degree) as f32),
            false => (0.0, 0.0),
        };
        out.iter_mut().zip(x).for_each(|(out, x)| *out = all * *out - own * x);
    });
    Ok(out)
}

/// One over the root of a number; 0 for what is 0 but for rounding.
pub(crate) fn inverse_root(square: f64) -> f32 {
    if square > 1e-30 && square.is_finite() { (1.0 / square.sqrt()) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::projection::Projection;
    use super::*;
    use crate::data::Synthetic;
    use crate::{Dense, Features};

    /// What is found for rows that are taken as they are.
    fn with<T>(rows: &[f32], columns: usize, squares: &[f64], run: impl Fn(&Projected) -> T) -> T {
        let x = Features::Dense(Dense::new(rows.len() / columns, columns, rows.to_vec()).unwrap());
        let projection = Projection::of_axes(columns);
        run(&Projected::known(&x, &projection, rows.to_vec(), squares.to_vec()))
    }

    #[test]
    fn neighbours_do_not_count_the_node_itself() {
        let graph = Graph::from_edges(4, &[(0, 1), (0, 2)]).unwrap();
        let mean = with(&[100.0, 1.0, 2.0, 50.0], 1, &[1.0; 4], |x| Signal::Neighbors.rows(&graph, x, &[0]));
        let (mean, wanted) = (mean.unwrap(), [1.5, 100.0, 100.0, 0.0]);
        assert!(mean.iter().zip(wanted).all(|(mean, wanted)| (mean - wanted).abs() < 1e-4), "{mean:?}");
    }

    #[test]
    fn rows_have_length_one_after_shift_and_scale() {
        let part = Part {
            signal: Signal::Hops(Hops::none()),
            columns: vec![2, 0],
            shift: vec![1.0, 0.0],
            scale: vec![1.0, 2.0],
        };
        let mut rows = vec![4.0, 2.0, 1.0, 0.0];
        part.scale_rows(&mut rows);
        assert_eq!(rows, [0.6, 0.8, 0.0, 0.0]);
    }

    #[test]
    fn sizes_are_told_as_they_are() {
        let graph = Graph::from_edges(3, &[(0, 1), (0, 2)]).unwrap();
        let signal = Signal::Sizes { mean: 2.0 };
        let part = Part { signal, columns: vec![1, 0], shift: vec![0.0, 1.0], scale: vec![1.0, 2.0] };
        let mut found =
            with(&[0.0; 3], 1, &[2.0, 0.0, 4.0], |x| part.signal.rows(&graph, x, &part.columns)).unwrap();
        part.scale_rows(&mut found);
        let wanted: [f32; 6] = [1.05, 3.0, 0.05, 2.0, 2.05, 2.0].map(f32::ln);
        for (row, wanted) in found.chunks(2).zip(wanted.chunks(2)) {
            let gaps = [row[0] - wanted[0], row[1] - 2.0 * (wanted[1] - 1.0)];
            assert!(gaps.iter().all(|gap| gap.abs() < 1e-6), "{row:?}");
        }
    }

    #[test]
    fn blocks_of_columns_add_up_to_rows_times_turn() {
        let data = Synthetic::named("demo").unwrap().generate(crate::Seed(0)).unwrap();
        let (x, nodes) = (data.features.unwrap(), data.graph.nodes());
        let projection = crate::solve::axes(&x, 12, crate::Seed(0));
        let x = Projected::new(&x, &projection);
        let (shift, scale) = (vec![0.01; 7], vec![1.5; 7]);
        let turn: Vec<f32> = (0..7 * 3).map(|at| (at as f32 * 0.7).sin()).collect();
        for signal in [Signal::Hops(Hops::ssgc(3, 0.1)), Signal::Neighbors] {
            let (shift, scale) = (shift.clone(), scale.clone());
            let part = Part { signal, columns: vec![0, 2, 3, 5, 6, 9, 11], shift, scale };
            let mut rows = part.signal.rows(&data.graph, &x, &part.columns).unwrap();
            part.scale_rows(&mut rows);
            let wanted = |at: usize| {
                let row = &rows[at / 3 * 7..][..7];
                1.0 + row.iter().zip(turn[at % 3..].iter().step_by(3)).map(|(a, b)| a * b).sum::<f32>()
            };
            for size in [1, 3, 7] {
                let mut out = vec![1.0; nodes * 3];
                part.add_in_blocks(size, &data.graph, &x, &turn, &mut out).unwrap();
                assert!(out.iter().enumerate().all(|(at, out)| (out - wanted(at)).abs() < 1e-4), "{size}");
            }
        }
    }
}
