//! The graph in Python: made once from any arrays, checked, and never changed.

use crate::arrays::{Numbers, Whole};
use crate::workers::work;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use std::sync::Arc;
use structcomp::{Budget, EdgeList, Error, MAX_NODES, Repairs, Result};

/// An undirected graph without self loops and duplicates, checked once.
///
/// Made by `structcomp.as_graph` from whatever holds a graph; wherever an adjacency is asked for, a
/// `Graph` is taken as it is.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Graph {
    pub(crate) inner: Arc<structcomp::Graph>,
    repairs: Repairs,
}

impl Graph {
    pub(crate) fn new(graph: structcomp::Graph, repairs: Repairs) -> Self {
        Self { inner: Arc::new(graph), repairs }
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
        weights: Option<PyReadonlyArray1<'_, f32>>,
        n_nodes: Option<usize>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let (sources, targets) = (sources.numbers()?, targets.numbers()?);
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let (graph, repairs) = work(py, n_threads, || {
            if sources.len() != targets.len() {
                let (a, b) = (sources.len(), targets.len());
                return Err(Error::Input(format!("edges have {a} sources but {b} targets")));
            }
            build(sources.len(), |at| (sources.at(at), targets.at(at)), weights, n_nodes)
        })?;
        Ok(Self::new(graph, repairs))
    }

    /// A graph from compressed rows, as scipy has them.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, weights=None, *, n_threads=None))]
    fn from_csr(
        py: Python<'_>,
        indptr: Whole<'_>,
        indices: Whole<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let (starts, targets) = (indptr.numbers()?, indices.numbers()?);
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let (graph, repairs) = work(py, n_threads, || {
            check_weights(weights, targets.len())?;
            let weights = weights.filter(|weights| !all_one(weights));
            if let Some(done) = finished(starts, targets, weights) {
                return Ok(done);
            }
            let rows = rows(starts, targets.len())?;
            build(targets.len(), |at| (rows[at] as i64, targets.at(at)), weights, Some(starts.len() - 1))
        })?;
        Ok(Self::new(graph, repairs))
    }

    /// How many nodes there are.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.inner.nodes()
    }

    /// How many undirected edges there are.
    #[getter]
    fn n_edges(&self) -> usize {
        self.inner.edges()
    }

    /// Row starts in `indices`, one more than there are nodes.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.offsets().iter().map(|&start| start as i64))
    }

    /// All neighbour lists, one behind the other; each edge is there in both directions.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_iter(py, self.inner.targets().iter().map(|&node| node as i32))
    }

    /// The weights beside `indices`; none where edges have no weights.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        self.inner.weights().map(|weights| PyArray1::from_slice(py, weights))
    }

    /// What was mended when the graph was made, as counts by name.
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

    // Nothing can change it, so a copy of an estimator may share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let make = py.get_type::<Self>().getattr("from_csr")?;
        let arrays = (self.indptr(py), self.indices(py), self.weights(py));
        Ok((make, arrays.into_pyobject(py)?.into_any()))
    }
}

/// Rows that already are as a graph has them, as most matrices of others are: nothing needs to be sorted.
fn finished(
    starts: Numbers<'_>,
    targets: Numbers<'_>,
    weights: Option<&[f32]>,
) -> Option<(structcomp::Graph, Repairs)> {
    // Numbers that do not fit become ones that no graph of as many rows has.
    let start = |at| u64::try_from(starts.at(at)).unwrap_or(u64::MAX);
    let target = |at| u32::try_from(targets.at(at)).unwrap_or(u32::MAX);
    let offsets: Vec<u64> = (0..starts.len()).into_par_iter().map(start).collect();
    let neighbors: Vec<u32> = (0..targets.len()).into_par_iter().map(target).collect();
    let weights = weights.map(|weights| weights.to_vec().into());
    let graph = structcomp::Graph::from_csr(offsets.into(), neighbors.into(), weights).ok()?;
    let (listed, isolated) = (targets.len() as u64, graph.isolated() as u64);
    Some((graph, Repairs { listed, isolated, ..Repairs::default() }))
}

fn check_weights(weights: Option<&[f32]>, edges: usize) -> Result<()> {
    match weights.map(|weights| weights.len()).filter(|&count| count != edges) {
        Some(count) => Err(Error::Input(format!("there are {count} weights for {edges} edges"))),
        None => Ok(()),
    }
}

/// Whether the weights say nothing.
fn all_one(weights: &[f32]) -> bool {
    weights.par_iter().all(|&weight| weight == 1.0)
}

/// The graph of `count` listed edges, and what was mended.
fn build(
    count: usize,
    edge: impl Fn(usize) -> (i64, i64) + Sync,
    weights: Option<&[f32]>,
    nodes: Option<usize>,
) -> Result<(structcomp::Graph, Repairs)> {
    check_weights(weights, count)?;
    let ends = || (0..count).into_par_iter().map(&edge);
    let (least, most) =
        ends().map(|(u, v)| (u.min(v), u.max(v))).reduce(|| (0, -1), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let nodes = nodes.unwrap_or(usize::try_from(most + 1).unwrap_or(0));
    if least < 0 {
        return Err(Error::Input(format!("an edge names node {least}; nodes are numbered from 0")));
    }
    if most >= nodes as i64 {
        return Err(Error::Input(format!("an edge names node {most}, but there are {nodes} nodes")));
    }
    if nodes > MAX_NODES {
        return Err(Error::Input(format!("{nodes} nodes are more than the 2^31 supported")));
    }
    Budget::default().check_items("the graph", nodes as u64 + 1, 8)?;
    let packed = |(u, v): (i64, i64)| (u as u64) << 32 | v as u64;
    let list = match weights {
        None => EdgeList::from_packed(ends().map(packed).collect()),
        Some(weights) => {
            EdgeList::from_weighted(ends().map(packed).zip(weights.par_iter().copied()).collect())
        }
    };
    list.build(nodes)
}

/// The row of every entry of compressed rows.
fn rows(starts: Numbers<'_>, entries: usize) -> Result<Vec<u32>> {
    let wrong = |what: &str| Err(Error::Input(format!("not a valid sparse matrix: {what}")));
    if starts.len() == 0 || starts.at(0) != 0 || starts.at(starts.len() - 1) != entries as i64 {
        return wrong("row starts do not ascend from 0 to the number of entries");
    }
    if starts.len() - 1 > MAX_NODES {
        return Err(Error::Input(format!("{} nodes are more than the 2^31 supported", starts.len() - 1)));
    }
    let mut rows = Vec::with_capacity(entries);
    for row in 0..starts.len() - 1 {
        let (start, end) = (starts.at(row), starts.at(row + 1));
        if end < start || end > entries as i64 {
            return wrong("row starts do not ascend from 0 to the number of entries");
        }
        rows.resize(end as usize, row as u32);
    }
    Ok(rows)
}
