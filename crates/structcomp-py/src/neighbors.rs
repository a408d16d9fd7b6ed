//! Nearest rows of an embedding.

use crate::arrays::{Whole, matrix};
use crate::errors::wrong;
use crate::features::Features;
use crate::settings::choice;
use crate::workers::work;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use structcomp::neighbors::{Metric, Neighbor, NeighborSearch, Wanted};
use structcomp::{Budget, Dense};

type Array<'py, T> = Bound<'py, PyArray2<T>>;

/// The numbers and scores of the rows most like some of the rows, or like rows from elsewhere; of all rows if neither is
/// given.
#[pyfunction]
#[pyo3(signature = (features, k, *, nodes=None, rows=None, metric=None, n_threads=None))]
pub(crate) fn neighbors<'py>(
    py: Python<'py>,
    features: &Features,
    k: usize,
    nodes: Option<Whole<'py>>,
    rows: Option<&Features>,
    metric: Option<&str>,
    n_threads: Option<i64>,
) -> PyResult<(Array<'py, i64>, Array<'py, f32>)> {
    let metric: Metric = choice("metric", metric)?;
    let x = features.inner.clone();
    let rows = rows.map(|rows| rows.inner.clone());
    let nodes = match &nodes {
        None => None,
        Some(nodes) => {
            let outside = || wrong("nodes must be numbers of rows");
            Some(nodes.numbers()?.narrowed().ok_or_else(outside)?)
        }
    };
    let others = x.rows() - (rows.is_none() && x.rows() > 0) as usize;
    let width = k.min(others);
    let found = work(py, n_threads, || {
        let x = x.to_dense();
        let search = NeighborSearch::new(&x, metric, Budget::default())?;
        let wanted = Wanted { count: k, min_score: None };
        match (nodes, rows) {
            (Some(nodes), _) => search.of_nodes(&nodes, wanted),
            (None, Some(rows)) => search.of_rows(&rows.to_dense(), wanted),
            (None, None) => search.of_nodes(&(0..x.rows() as u32).collect::<Vec<u32>>(), wanted),
        }
    })?;
    let shape = [found.len(), width];
    let all = || found.iter().flatten();
    let numbers = all().map(|&Neighbor { node, .. }| node as i64).collect();
    let scores = all().map(|&Neighbor { score, .. }| score).collect::<Vec<f32>>();
    let scores = Dense::new(found.len(), width, scores).map_err(crate::errors::raise)?;
    Ok((PyArray1::from_vec(py, numbers).reshape(shape)?, matrix(py, scores)?))
}
