//! Products with the normalised adjacency matrix Â.

mod dense;
mod gather;
mod pages;
mod sparse;

use crate::{Dense, Error, Features, Graph, Result};
use dense::Operand;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, ops::Range};

/// How the adjacency matrix with self-loops, A + I, is normalised. D̃ is the diagonal matrix of its row sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// Â = D̃^-1/2 (A + I) D̃^-1/2, as in GCN.
    #[default]
    Symmetric,
    /// Â = D̃^-1 (A + I): each row is the mean over a node and its neighbours.
    Row,
}

/// The matrix Â of a graph. Edges without weights have weight 1. Every node has a self-loop of weight 1, so
/// isolated nodes keep their row. One number is stored per node and none per edge.
///
/// Results are bit-identical on every processor and for any number of threads.
///
/// ```
/// use structcomp::{Dense, Features, Graph, Normalization, Propagation};
///
/// // 0 - 1   2
/// let graph = Graph::from_edges(3, &[(0, 1)])?;
/// let x = Features::Dense(Dense::new(3, 1, vec![2.0, 4.0, 5.0])?);
/// let mean = Propagation::new(&graph, Normalization::Row).hop(&x)?;
/// assert_eq!(mean.to_dense().values(), [3.0, 3.0, 5.0]);
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Propagation<'g> {
    graph: &'g Graph,
    normalization: Normalization,
    /// D̃^-1/2 or D̃^-1.
    scale: Vec<f32>,
}

impl<'g> Propagation<'g> {
    /// The matrix Â of `graph`.
    pub fn new(graph: &'g Graph, normalization: Normalization) -> Self {
        let scale = |node: u32| {
            let sum = match graph.edge_weights(node) {
                Some(weights) => weights.iter().map(|&weight| weight as f64).sum(),
                None => graph.degree(node) as f64,
            };
            match normalization {
                Normalization::Symmetric => (1.0 / (1.0 + sum).sqrt()) as f32,
                Normalization::Row => (1.0 / (1.0 + sum)) as f32,
            }
        };
        let scale = (0..graph.nodes() as u32).into_par_iter().map(scale).collect();
        Self { graph, normalization, scale }
    }

    /// The factor of each node: D̃^-1/2 or D̃^-1.
    #[cfg(feature = "cuda")]
    pub(crate) fn scale(&self) -> &[f32] {
        &self.scale
    }

    /// Â X.
    pub fn hop(&self, x: &Features) -> Result<Features> {
        self.power(x, 1)
    }

    /// Â^k X for k = `hops`.
    ///
    /// Sparse features stay sparse until a quarter of the result is non-zero. Returns an error if X does not
    /// have one row per node, or if values overflow `f32`.
    pub fn power(&self, x: &Features, hops: usize) -> Result<Features> {
        self.check_rows("features", x.rows())?;
        let mut x = Cow::Borrowed(x);
        let mut left = hops;
        while left > 0
            && let Features::Sparse(sparse) = &*x
            && let Some(product) = self.sparse_hop(sparse)?
        {
            x = Cow::Owned(Features::Sparse(product));
            left -= 1;
        }
        if left == 0 {
            return Ok(x.into_owned());
        }
        let mut out = vec![0.0; size(x.rows(), x.cols())?];
        self.dense_power(Operand::Features(&x), left, &mut out)?;
        Dense::new(x.rows(), x.cols(), out).map(Features::Dense)
    }

    /// Writes Â X to `out`; both are row-major with `width` features per node.
    pub fn hop_into(&self, x: &[f32], width: usize, out: &mut [f32]) -> Result<()> {
        self.power_into(x, width, 1, out)
    }

    /// Writes Â^k X to `out`; both are row-major with `width` features per node.
    ///
    /// Needs temporary memory for at most 96 columns, for any number of hops.
    pub fn power_into(&self, x: &[f32], width: usize, hops: usize, out: &mut [f32]) -> Result<()> {
        self.check_values("features", x.len(), self.graph.nodes(), width)?;
        self.check_values("the result", out.len(), self.graph.nodes(), width)?;
        if hops == 0 {
            out.copy_from_slice(x);
            return Ok(());
        }
        self.dense_power(Operand::Values { values: x, width }, hops, out)
    }

    /// Writes the rows `rows` of Â X to `out`, equal to those of [`hop_into`](Self::hop_into), for
    /// results that do not fit in memory.
    pub fn hop_rows(&self, rows: Range<usize>, x: &[f32], width: usize, out: &mut [f32]) -> Result<()> {
        if rows.start > rows.end || rows.end > self.graph.nodes() {
            let nodes = self.graph.nodes();
            return Err(Error::Input(format!("rows {rows:?} were asked for, but there are {nodes} nodes")));
        }
        self.check_values("features", x.len(), self.graph.nodes(), width)?;
        self.check_values("the result", out.len(), rows.len(), width)?;
        self.direct(rows, x, width, out);
        Ok(())
    }

    /// The factor of each row before the sum over neighbours.
    #[inline(always)]
    fn inner_scale(&self, row: usize) -> f32 {
        match self.normalization {
            Normalization::Symmetric => self.scale[row],
            Normalization::Row => 1.0,
        }
    }

    /// The factor of the sum.
    #[inline(always)]
    fn outer_scale(&self, row: usize) -> f32 {
        self.scale[row]
    }

    fn check_rows(&self, what: &str, rows: usize) -> Result<()> {
        let nodes = self.graph.nodes();
        if rows == nodes {
            return Ok(());
        }
        Err(Error::Input(format!("{what} have {rows} rows but the graph has {nodes} nodes")))
    }

    fn check_values(&self, what: &str, values: usize, rows: usize, width: usize) -> Result<()> {
        if rows.checked_mul(width) == Some(values) {
            return Ok(());
        }
        Err(Error::Input(format!("{what}: {values} values do not fill {rows} x {width}")))
    }
}

/// `rows * cols`, or an error if that exceeds the address space.
fn size(rows: usize, cols: usize) -> Result<usize> {
    let size = rows.checked_mul(cols).filter(|&size| size <= isize::MAX as usize / size_of::<f32>());
    size.ok_or_else(|| Error::Input(format!("a dense matrix of {rows} x {cols} is too large")))
}

#[cfg(test)]
mod tests;
