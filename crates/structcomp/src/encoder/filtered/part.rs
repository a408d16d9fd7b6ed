//! A part of a solved encoder: rows from one source, each of length one.

use crate::graph::Hops;
use crate::matrix::zeros;
use crate::prepare::FittedStandIn;
use crate::{Graph, Normalization, Propagation, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Where the rows of a part come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
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

/// Features on their axes.
pub(crate) struct Projected {
    /// One row per node.
    pub(crate) rows: Vec<f32>,
    pub(crate) columns: usize,
    /// The squared lengths that rows had before they were scaled to one.
    pub(crate) squares: Vec<f64>,
}

/// Squared lengths below this share of their mean hardly differ.
const SHORT: f64 = 0.05;

/// Some columns of a source, shifted, scaled, and then with rows of length one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) source: Source,
    pub(crate) columns: Vec<u32>,
    /// What is subtracted from each column, and the factor then.
    pub(crate) shift: Vec<f32>,
    pub(crate) scale: Vec<f32>,
}

impl Source {
    /// Some columns of the source.
    pub(crate) fn rows(&self, graph: &Graph, x: &Projected, columns: &[u32]) -> Result<Vec<f32>> {
        let width = columns.len();
        match self {
            Self::Hops(hops) => {
                let own = picked(&x.rows, x.columns, columns);
                match hops.is_none() {
                    true => Ok(own),
                    false => hops.of_rows(&Propagation::new(graph, Normalization::Symmetric), &own, width),
                }
            }
            Self::Neighbors => neighbors(graph, &picked(&x.rows, x.columns, columns), width),
            Self::Positions(positions) => Ok(picked(&positions.of_known(graph)?, positions.width(), columns)),
            Self::Sizes { mean } => {
                let sizes = |(node, square): (usize, &f64)| {
                    let degree = 1.0 + graph.degree(node as u32) as f64;
                    [degree.ln() as f32, (square / mean + SHORT).ln() as f32]
                };
                let sizes: Vec<f32> = x.squares.par_iter().enumerate().flat_map_iter(sizes).collect();
                Ok(picked(&sizes, 2, columns))
            }
        }
    }
}

impl Part {
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Its rows for every node.
    pub(crate) fn rows(&self, graph: &Graph, x: &Projected) -> Result<Vec<f32>> {
        let mut rows = self.source.rows(graph, x, &self.columns)?;
        self.scale_rows(&mut rows);
        Ok(rows)
    }

    /// Shifts, scales, and makes every row as long as one, unless it tells sizes.
    pub(crate) fn scale_rows(&self, rows: &mut [f32]) {
        let sizes = matches!(self.source, Source::Sizes { .. });
        rows.par_chunks_mut(self.width().max(1)).for_each(|row| {
            for ((value, shift), scale) in row.iter_mut().zip(&self.shift).zip(&self.scale) {
                *value = (*value - shift) * scale;
            }
            if sizes {
                return;
            }
            let inverse = inverse_root(row.iter().map(|&value| value as f64 * value as f64).sum());
            row.iter_mut().for_each(|value| *value *= inverse);
        });
    }
}

/// Some of the columns.
fn picked(rows: &[f32], size: usize, columns: &[u32]) -> Vec<f32> {
    let mut out = zeros(rows.len() / size.max(1) * columns.len());
    if out.is_empty() {
        return out;
    }
    out.par_chunks_mut(columns.len()).zip(rows.par_chunks(size)).for_each(|(out, row)| {
        out.iter_mut().zip(columns).for_each(|(out, &column)| *out = row[column as usize]);
    });
    out
}

/// The mean over neighbours; zero for nodes that have none.
fn neighbors(graph: &Graph, x: &[f32], width: usize) -> Result<Vec<f32>> {
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
    use super::*;

    fn projected(rows: &[f32], columns: usize) -> Projected {
        let squares = (0..rows.len() / columns).map(|row| row as f64).collect();
        Projected { rows: rows.to_vec(), columns, squares }
    }

    #[test]
    fn neighbours_do_not_count_the_node_itself() {
        let graph = Graph::from_edges(4, &[(0, 1), (0, 2)]).unwrap();
        let x = [100.0, 1.0, 2.0, 50.0];
        let mean = Source::Neighbors.rows(&graph, &projected(&x, 1), &[0]).unwrap();
        let wanted = [1.5, 100.0, 100.0, 0.0];
        assert!(mean.iter().zip(wanted).all(|(mean, wanted)| (mean - wanted).abs() < 1e-4), "{mean:?}");
    }

    #[test]
    fn rows_have_length_one_after_shift_and_scale() {
        let part = Part {
            source: Source::Hops(Hops::none()),
            columns: vec![2, 0],
            shift: vec![1.0, 0.0],
            scale: vec![1.0, 2.0],
        };
        let graph = Graph::from_edges(2, &[]).unwrap();
        let rows = part.rows(&graph, &projected(&[2.0, 9.0, 4.0, 0.0, 9.0, 1.0], 3)).unwrap();
        assert_eq!(rows, [0.6, 0.8, 0.0, 0.0]);
    }
    #[test]
    fn sizes_are_told_as_they_are() {
        let graph = Graph::from_edges(3, &[(0, 1), (0, 2)]).unwrap();
        let x = Projected { rows: vec![0.0; 3], columns: 1, squares: vec![2.0, 0.0, 4.0] };
        let part = Part {
            source: Source::Sizes { mean: 2.0 },
            columns: vec![1, 0],
            shift: vec![0.0, 1.0],
            scale: vec![1.0, 2.0],
        };
        let wanted: [f32; 6] = [1.05, 3.0, 0.05, 2.0, 2.05, 2.0].map(f32::ln);
        for (row, wanted) in part.rows(&graph, &x).unwrap().chunks(2).zip(wanted.chunks(2)) {
            assert!(
                (row[0] - wanted[0]).abs() < 1e-6 && (row[1] - 2.0 * (wanted[1] - 1.0)).abs() < 1e-6,
                "{row:?}"
            );
        }
    }
}
