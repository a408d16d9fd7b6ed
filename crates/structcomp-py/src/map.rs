//! Maps of embeddings.

use crate::arrays::matrix;
use crate::features::Features;
use crate::workers::work;
use numpy::PyArray2;
use pyo3::prelude::*;
use structcomp::Budget;
use structcomp::map::Map;

/// A place in the plane for every row.
#[pyfunction]
#[pyo3(signature = (features, *, n_threads=None))]
pub(crate) fn map_2d<'py>(
    py: Python<'py>,
    features: &Features,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let x = features.inner.clone();
    let map = work(py, n_threads, || Map::of(&x.to_dense(), Budget::default()))?;
    matrix(py, map.places)
}
