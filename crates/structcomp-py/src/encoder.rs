//! Trained weights in Python.

use crate::arrays::matrix;
use crate::errors::raise;
use crate::features::Features;
use crate::graph::Graph;
use crate::settings::parameters;
use crate::workers::work;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;
use structcomp::Weights;

/// A trained encoder: weights that embed any graph with the same features.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Encoder {
    pub(crate) inner: Arc<Weights>,
}

impl From<Weights> for Encoder {
    fn from(weights: Weights) -> Self {
        Self { inner: Arc::new(weights) }
    }
}

#[pymethods]
impl Encoder {
    /// Reads a safetensors file, as `save` and `structcomp train` write it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(work(py, Some(1), || Weights::load(&path))?.into())
    }

    /// From the contents of such a file.
    #[staticmethod]
    fn from_bytes(contents: Vec<u8>) -> PyResult<Self> {
        Ok(Weights::from_bytes(contents).map_err(raise)?.into())
    }

    /// Writes a safetensors file that `structcomp embed` reads.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let weights = self.inner.clone();
        work(py, Some(1), || weights.save(&path))
    }

    /// The contents of such a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.to_bytes().map_err(raise)?))
    }

    /// The embedding of every node.
    #[pyo3(signature = (features, graph, *, n_threads=None))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        features: &Features,
        graph: &Graph,
        n_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (weights, x, graph) = (self.inner.clone(), features.inner.clone(), graph.inner.clone());
        let embedding = work(py, n_threads, || {
            if x.rows() != graph.nodes() {
                let (rows, nodes) = (x.rows(), graph.nodes());
                let said = format!("there are features for {rows} nodes, but the graph has {nodes}");
                return Err(structcomp::Error::Input(said));
            }
            weights.encoder.embed(&graph, &x)
        })?;
        matrix(py, embedding)
    }

    /// How many features a node must have.
    #[getter]
    fn n_features(&self) -> usize {
        self.inner.encoder.inputs()
    }

    /// How many numbers a row of the embedding has.
    #[getter]
    fn n_outputs(&self) -> usize {
        self.inner.encoder.outputs()
    }

    /// How it was made, as JSON.
    #[getter]
    fn origin(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.origin).map_err(|error| crate::errors::wrong(error.to_string()))
    }

    /// The parameters it was trained with that are not their defaults, as JSON.
    #[getter]
    fn parameters(&self) -> PyResult<String> {
        let given = parameters(&self.inner.origin.training).map_err(raise)?;
        Ok(serde_json::Value::Object(given).to_string())
    }

    fn __repr__(&self) -> String {
        let (encoder, name) = (&self.inner.encoder, self.inner.origin.training.model.name());
        format!("Encoder(model='{name}', n_features={}, n_outputs={})", encoder.inputs(), encoder.outputs())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}
