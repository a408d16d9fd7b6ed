//! The graph in Python. It is checked when it is made, and cannot change.

use crate::arrays::{Numbers, Reals, Weights, Whole};
use crate::edges::{Listed, check_weights};
use crate::{stream::taken, tables, workers::work};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use structcomp::graph::{MAX_NODES, Repairs};
use structcomp::{Error, Result};

/// A checked, undirected graph without self-loops and duplicate edges.
///
/// `structcomp.as_graph` makes one from objects of many kinds. It can be passed wherever a graph is expected.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Graph {
    pub(crate) inner: structcomp::Graph,
    repairs: Repairs,
}

impl Graph {
    pub(crate) fn new(graph: structcomp::Graph, repairs: Repairs) -> Self {
        Self { inner: graph, repairs }
    }
}

#[pymethods]
impl Graph {
    /// A graph from the two ends of each edge, in any order and direction.
    #[staticmethod]
    #[pyo3(signature = (sources, targets, weights=None, n_nodes=None, *, n_threads=None))]
    fn from_edges(
        py: Python<'_>,
        sources: Whole<'_>,
        targets: Whole<'_>,
        weights: Option<Weights<'_>>,
        n_nodes: Option<usize>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let (sources, targets) = (sources.numbers()?, targets.numbers()?);
        let weights = weights.as_ref().map(Weights::reals).transpose()?;
        let (graph, repairs) = work(py, n_threads, || {
            use Numbers::{Narrow, Wide};
            let mut listed = Listed::new(weights.is_some());
            match (sources, targets) {
                (Narrow(sources), Narrow(targets)) => listed.add(sources, targets, weights),
                (Narrow(sources), Wide(targets)) => listed.add(sources, targets, weights),
                (Wide(sources), Narrow(targets)) => listed.add(sources, targets, weights),
                (Wide(sources), Wide(targets)) => listed.add(sources, targets, weights),
            }?;
            listed.build(n_nodes)
        })?;
        Ok(Self::new(graph, repairs))
    }

    /// A graph from compressed rows, as in scipy.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, weights=None, *, n_threads=None))]
    fn from_csr(
        py: Python<'_>,
        indptr: Whole<'_>,
        indices: Whole<'_>,
        weights: Option<Weights<'_>>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let (starts, targets) = (indptr.numbers()?, indices.numbers()?);
        let weights = weights.as_ref().map(Weights::reals).transpose()?;
        let (graph, repairs) = work(py, n_threads, || {
            check_weights(weights, targets.len())?;
            let weights = weights.filter(|weights| !weights.all_one());
            if let Some(done) = finished(starts, targets, weights) {
                return Ok(done);
            }
            let rows = rows(starts, targets.len())?;
            let mut listed = Listed::new(weights.is_some());
            match targets {
                Numbers::Narrow(targets) => listed.add(&rows, targets, weights),
                Numbers::Wide(targets) => listed.add(&rows, targets, weights),
            }?;
            listed.build(Some(starts.len() - 1))
        })?;
        Ok(Self::new(graph, repairs))
    }

    /// A graph from an edge table, as the stream that `__arrow_c_stream__` returns.
    #[staticmethod]
    #[pyo3(signature = (stream, n_nodes=None, *, n_columns=None, n_threads=None))]
    fn from_table(
        py: Python<'_>,
        stream: &Bound<'_, PyCapsule>,
        n_nodes: Option<usize>,
        n_columns: Option<usize>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let stream = taken(stream)?;
        let (graph, repairs) = work(py, n_threads, || tables::edges(stream, n_columns)?.build(n_nodes))?;
        Ok(Self::new(graph, repairs))
    }

    /// The number of nodes.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.inner.nodes()
    }

    /// The number of undirected edges.
    #[getter]
    fn n_edges(&self) -> usize {
        self.inner.edges()
    }

    /// The start of each node's neighbours in `indices`, and the end of the last.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.offsets().iter().map(|&start| start as i64))
    }

    /// The neighbours of all nodes, one node after the other. Each edge is listed in both directions.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_iter(py, self.inner.targets().iter().map(|&node| node as i32))
    }

    /// The edge weights, in the order of `indices`; `None` if edges have no weights.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        self.inner.weights().map(|weights| PyArray1::from_slice(py, weights))
    }

    /// What was repaired when the graph was made: counts by name.
    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        let Repairs { listed, self_loops, duplicates, directed, zero_weights, unknown_ids, isolated } =
            self.repairs;
        for (name, count) in [
            ("listed", listed),
            ("self_loops", self_loops),
            ("duplicates", duplicates),
            ("directed", directed),
            ("zero_weights", zero_weights),
            ("unknown_ids", unknown_ids),
            ("isolated", isolated),
        ] {
            counts.set_item(name, count)?;
        }
        Ok(counts)
    }

    fn __repr__(&self) -> String {
        format!("Graph(n_nodes={}, n_edges={})", self.inner.nodes(), self.inner.edges())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    // Nothing can change it, so copies share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let make = py.get_type::<Self>().getattr("from_csr")?;
        let arrays = (self.indptr(py), self.indices(py), self.weights(py));
        Ok((make, arrays.into_pyobject(py)?.into_any()))
    }
}

/// A graph from rows that are sorted and symmetric already, as most are.
fn finished(
    starts: Numbers<'_>,
    targets: Numbers<'_>,
    weights: Option<Reals<'_>>,
) -> Option<(structcomp::Graph, Repairs)> {
    let (offsets, neighbors) = (starts.widened()?, targets.narrowed()?);
    let weights = weights.map(|weights| weights.to_single().into());
    let graph = structcomp::Graph::from_csr(offsets.into(), neighbors.into(), weights).ok()?;
    let (listed, isolated) = (targets.len() as u64, graph.isolated() as u64);
    Some((graph, Repairs { listed, isolated, ..Repairs::default() }))
}

/// The row of every entry.
fn rows(starts: Numbers<'_>, entries: usize) -> Result<Vec<u32>> {
    let wrong = |what: &str| Err(Error::Input(format!("invalid sparse matrix: {what}")));
    if starts.len() == 0 || starts.at(0) != 0 || starts.at(starts.len() - 1) != entries as i64 {
        return wrong("indptr must ascend from 0 to the number of entries");
    }
    if starts.len() - 1 > MAX_NODES {
        return Err(Error::Input(format!("{} nodes are more than the supported 2^31", starts.len() - 1)));
    }
    let mut rows = Vec::with_capacity(entries);
    for row in 0..starts.len() - 1 {
        let (start, end) = (starts.at(row), starts.at(row + 1));
        if end < start || end > entries as i64 {
            return wrong("indptr must ascend from 0 to the number of entries");
        }
        rows.resize(end as usize, row as u32);
    }
    Ok(rows)
}
