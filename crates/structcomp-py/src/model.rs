//! A fitted model in Python.

use crate::arrays::{Whole, matrix};
use crate::errors::{raise, wrong};
use crate::features::Features;
use crate::graph::Graph;
use crate::projection::arrays;
use crate::settings::parameters;
use crate::stages::clusters_of;
use crate::workers::work;
use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;
use structcomp::{Dataset, Dense, Fitted, NewNodes};

/// A fitted model: how features are prepared, the trained weights, and the settings.
///
/// It embeds any graph whose nodes have the same features.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Model {
    inner: Arc<Fitted>,
}

impl From<Fitted> for Model {
    fn from(fitted: Fitted) -> Self {
        Self { inner: Arc::new(fitted) }
    }
}

/// A graph and its features as the library takes them. Nothing is copied.
pub(crate) fn dataset(name: &str, features: Option<&Features>, graph: &Graph) -> Dataset {
    Dataset::in_memory(name, graph.inner.clone(), features.map(|x| x.inner.clone()))
}

fn dense(rows: Vec<f32>, width: usize) -> structcomp::Result<Dense> {
    Dense::new(rows.len() / width.max(1), width, rows)
}

#[pymethods]
impl Model {
    /// Reads a file that `save` or `structcomp train` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(work(py, Some(1), || Fitted::load(&path))?.into())
    }

    /// A model from the contents of such a file. The file has no losses and no clusters; they can be added.
    #[staticmethod]
    #[pyo3(signature = (contents, losses=None, clusters=None))]
    fn from_bytes(
        contents: Vec<u8>,
        losses: Option<Vec<f64>>,
        clusters: Option<Whole<'_>>,
    ) -> PyResult<Self> {
        let mut fitted = Fitted::from_bytes(contents).map_err(raise)?;
        fitted.losses = losses.unwrap_or_default();
        fitted.partition = clusters.as_ref().map(clusters_of).transpose()?;
        Ok(fitted.into())
    }

    /// Writes the model as a safetensors file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        // A typing error must not make folders.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            return Err(PyFileNotFoundError::new_err((2, "No such folder", parent.to_owned())));
        }
        work(py, Some(1), || self.inner.save(&path))
    }

    /// The contents of such a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.to_bytes().map_err(raise)?))
    }

    /// The embedding of every node of a graph.
    #[pyo3(signature = (features, graph, *, n_threads=None))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        features: Option<&Features>,
        graph: &Graph,
        n_threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let data = dataset("", features, graph);
        matrix(py, work(py, n_threads, || self.inner.embed(&data))?)
    }

    /// The embedding of new nodes. `edges` is a graph of the known nodes followed by the new ones, with the new
    /// edges alone.
    #[pyo3(signature = (features, graph, new_features, edges, *, n_threads=None))]
    fn embed_new<'py>(
        &self,
        py: Python<'py>,
        features: Option<&Features>,
        graph: &Graph,
        new_features: &Features,
        edges: &Graph,
        n_threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let data = dataset("", features, graph);
        let (features, edges) = (new_features.inner.clone(), &edges.inner);
        let rows = work(py, n_threads, || {
            self.inner.embed_new(&data, &NewNodes { features, edges: edges.edge_iter().collect() })
        })?;
        matrix(py, rows)
    }

    /// The same model with its initial weights: a control.
    #[pyo3(signature = (features, graph, *, n_threads=None))]
    fn untrained(
        &self,
        py: Python<'_>,
        features: Option<&Features>,
        graph: &Graph,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let data = dataset("", features, graph);
        let encoder = work(py, n_threads, || self.inner.untrained(&data))?;
        let mut untrained = (*self.inner).clone();
        let Some(encoder) = encoder else {
            return Err(wrong("the solved model has no initial weights".to_owned()));
        };
        (untrained.encoder, untrained.epochs) = (encoder, 0);
        untrained.losses = Vec::new();
        Ok(untrained.into())
    }

    /// The paper's bounds for a graph, its clusters and the trained weights, as JSON. By default the clusters are
    /// those of training.
    #[pyo3(signature = (features, graph, *, clusters=None, n_threads=None))]
    fn diagnostics(
        &self,
        py: Python<'_>,
        features: Option<&Features>,
        graph: &Graph,
        clusters: Option<Whole<'_>>,
        n_threads: Option<i64>,
    ) -> PyResult<String> {
        let data = dataset("", features, graph);
        let mut fitted = self.inner.clone();
        if let Some(clusters) = &clusters {
            Arc::make_mut(&mut fitted).partition = Some(clusters_of(clusters)?);
        }
        let found = work(py, n_threads, || fitted.diagnostics(&data))?;
        serde_json::to_string(&found).map_err(|error| wrong(error.to_string()))
    }

    /// The axes of a solved model: shift, factor, basis, mean.
    fn projection<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(arrays(py, self.inner.projection().map_err(raise)?)?.into_pyobject(py)?.into_any())
    }

    /// The parts of a solved model: their signals and columns, as JSON.
    fn parts(&self) -> PyResult<String> {
        self.inner.parts().map_err(raise)
    }

    /// The embedding of some nodes from the rows of each part.
    #[pyo3(signature = (rows, *, n_threads=None))]
    fn of_parts<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<PyReadonlyArray2<'py, f32>>,
        n_threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows: Result<Vec<_>, _> = rows.iter().map(|rows| rows.as_slice().map(<[f32]>::to_vec)).collect();
        let (rows, width) = (rows?, self.inner.outputs());
        matrix(py, work(py, n_threads, || self.inner.of_parts(rows).and_then(|rows| dense(rows, width)))?)
    }

    /// The layers of a trained model, as JSON.
    fn layers(&self) -> PyResult<String> {
        self.inner.layers().map_err(raise)
    }

    /// The linear map of a layer.
    #[pyo3(signature = (layer, features, *, n_threads=None))]
    fn linear<'py>(
        &self,
        py: Python<'py>,
        layer: usize,
        features: &Features,
        n_threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let x = features.inner.clone();
        let made = work(py, n_threads, || {
            let rows = self.inner.linear(layer, &x)?;
            let width = rows.len() / x.rows().max(1);
            dense(rows, width)
        })?;
        matrix(py, made)
    }

    /// What follows the linear map and the hops of a layer.
    #[pyo3(signature = (layer, rows, *, n_threads=None))]
    fn finish_layer<'py>(
        &self,
        py: Python<'py>,
        layer: usize,
        rows: PyReadonlyArray2<'py, f32>,
        n_threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (mut rows, width) = (rows.as_slice()?.to_vec(), rows.shape()[1]);
        let made = work(py, n_threads, || {
            self.inner.finish_layer(layer, &mut rows)?;
            dense(rows, width)
        })?;
        matrix(py, made)
    }

    /// The same model whose batch norm in a layer has the means and variances of all nodes, without the bias.
    fn with_statistics(&self, layer: usize, mean: Vec<f32>, variance: Vec<f32>) -> PyResult<Self> {
        let fitted = (*self.inner).clone();
        Ok(fitted.with_statistics(layer, &mean, &variance).map_err(raise)?.into())
    }

    /// How many features a node must have; `None` if they are made from the graph.
    #[getter]
    fn n_features(&self) -> Option<usize> {
        self.inner.takes_features()
    }

    /// The dimension of the embedding.
    #[getter]
    fn n_outputs(&self) -> usize {
        self.inner.outputs()
    }

    /// What the model was trained on: `cpu`, or the name of a GPU; `None` after reading a file.
    #[getter]
    fn device(&self) -> Option<&str> {
        self.inner.device.as_deref()
    }

    /// The loss of every epoch; empty after reading a file.
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.losses)
    }

    /// The cluster of every node of training; `None` after training on the whole graph or reading a file.
    #[getter]
    fn partition<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u32>>> {
        self.inner.partition.as_ref().map(|partition| PyArray1::from_slice(py, partition.assignment()))
    }

    /// All settings, as JSON.
    #[getter]
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.settings).map_err(|error| wrong(error.to_string()))
    }

    /// What the model was trained on, as JSON.
    #[getter]
    fn trained_on(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.trained_on).map_err(|error| wrong(error.to_string()))
    }

    /// The parameters that are not their defaults, under the names of Python, as JSON; without the seed.
    #[getter]
    fn parameters(&self) -> PyResult<String> {
        Ok(serde_json::Value::Object(parameters(&self.inner.settings).map_err(raise)?).to_string())
    }

    /// The seed of training.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.settings.seed.0
    }

    fn __repr__(&self) -> String {
        let features = self.n_features().map_or("None".to_owned(), |count| count.to_string());
        let (name, epochs) = (self.inner.settings.training.model.name(), self.inner.epochs);
        format!("Model('{name}', n_features={features}, n_outputs={}, epochs={epochs})", self.n_outputs())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    // Nothing can change it, so copies share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let clusters = self.inner.partition.as_ref();
        let clusters = clusters
            .map(|partition| PyArray1::from_iter(py, partition.assignment().iter().map(|&c| i64::from(c))));
        let state = (self.to_bytes(py)?, self.inner.losses.clone(), clusters);
        Ok((py.get_type::<Self>().getattr("from_bytes")?, state.into_pyobject(py)?.into_any()))
    }
}
