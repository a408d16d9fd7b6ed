//! X as the library has it.

use crate::arrays::{Whole, matrix};
use crate::graph::Graph;
use crate::{lent, settings, workers::work};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;
use structcomp::{Csr, Error, FeatureNorm, Seed, StandIn};

/// Checked features, one row a node, made once and used by every stage.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Features {
    pub(crate) inner: Arc<structcomp::Features>,
}

impl From<structcomp::Features> for Features {
    fn from(features: structcomp::Features) -> Self {
        Self { inner: Arc::new(features) }
    }
}

/// Row starts, columns and values, as scipy has them.
type Compressed<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl Features {
    /// Features that share their numbers with a C-contiguous array.
    #[staticmethod]
    #[pyo3(signature = (x, *, norm=None, n_threads=None))]
    fn dense(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f32>,
        norm: Option<&str>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let dense = lent::dense(&x)?;
        let norm: FeatureNorm = settings::choice("feature_norm", norm)?;
        let features = work(py, n_threads, || Ok(structcomp::Features::Dense(dense()?).normalized(norm)))?;
        Ok(features.into())
    }

    /// Features of which only those that are not zero are stored.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, values, n_cols, *, norm=None, n_threads=None))]
    fn sparse(
        py: Python<'_>,
        indptr: Whole<'_>,
        indices: Whole<'_>,
        values: PyReadonlyArray1<'_, f32>,
        n_cols: usize,
        norm: Option<&str>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let norm: FeatureNorm = settings::choice("feature_norm", norm)?;
        let (starts, columns) = (indptr.numbers()?, indices.numbers()?);
        let values = values.as_slice()?;
        let features = work(py, n_threads, || {
            let whole = |numbers: crate::arrays::Numbers<'_>, place: usize| {
                let number = numbers.at(place);
                u64::try_from(number)
                    .map_err(|_| Error::Input(format!("not a valid sparse matrix: it has {number}")))
            };
            let offsets = (0..starts.len()).map(|at| whole(starts, at)).collect::<Result<Vec<u64>, _>>()?;
            let narrow = |at| {
                let column = whole(columns, at)?;
                u32::try_from(column).map_err(|_| {
                    Error::Input(format!(
                        "not a valid sparse matrix: column {column} in a matrix of {n_cols} columns"
                    ))
                })
            };
            let indices = (0..columns.len()).map(narrow).collect::<Result<Vec<u32>, _>>()?;
            let csr = Csr::new(n_cols, offsets, indices, values.to_vec())?;
            Ok(structcomp::Features::Sparse(csr).normalized(norm))
        })?;
        Ok(features.into())
    }

    /// Features made from the graph alone.
    #[staticmethod]
    #[pyo3(signature = (graph, kind, width, seed, *, n_threads=None))]
    fn stand_in(
        py: Python<'_>,
        graph: &Graph,
        kind: &str,
        width: usize,
        seed: u64,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let kind: StandIn = settings::choice("stand_in", Some(kind))?;
        let graph = graph.inner.clone();
        Ok(work(py, n_threads, || kind.features(&graph, width, Seed(seed)))?.into())
    }

    /// How many rows there are.
    #[getter]
    fn n_rows(&self) -> usize {
        self.inner.rows()
    }

    /// How many columns there are.
    #[getter]
    fn n_cols(&self) -> usize {
        self.inner.cols()
    }

    /// Whether only values that are not zero are stored.
    #[getter]
    fn is_sparse(&self) -> bool {
        matches!(*self.inner, structcomp::Features::Sparse(_))
    }

    /// Every value, as a matrix.
    fn to_dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        matrix(py, self.inner.to_dense())
    }

    /// The stored values by rows.
    fn to_csr<'py>(&self, py: Python<'py>) -> PyResult<Compressed<'py>> {
        let structcomp::Features::Sparse(csr) = &*self.inner else {
            return Err(crate::errors::wrong("the features are dense"));
        };
        let (offsets, indices, values) = csr.parts();
        Ok((
            PyArray1::from_iter(py, offsets.iter().map(|&start| start as i64)),
            PyArray1::from_iter(py, indices.iter().map(|&column| column as i32)),
            PyArray1::from_slice(py, values),
        ))
    }
}
