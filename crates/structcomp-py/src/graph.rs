//! The graph in Python. It is checked when it is made, and cannot change.

use crate::arrays::{Numbers, Reals, Weights, Whole};
use crate::edges::{Listed, check_weights};
use crate::names::{Ids, NamedList};
use crate::{stream::taken, tables, workers::work};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use structcomp::graph::{MAX_NODES, Repairs};
use structcomp::{Error, NodeIds, Result};

/// A checked, undirected graph without self-loops and duplicate edges.
///
/// `structcomp.as_graph` makes one from objects of many kinds. It can be passed wherever a graph is expected.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Graph {
    pub(crate) inner: structcomp::Graph,
    repairs: Repairs,
    ids: NodeIds,
}

impl Graph {
    pub(crate) fn new(graph: structcomp::Graph, repairs: Repairs, ids: NodeIds) -> Self {
        Self { inner: graph, repairs, ids }
    }

    /// A graph whose nodes are numbers.
    fn numbered((graph, repairs): (structcomp::Graph, Repairs)) -> Self {
        Self::new(graph, repairs, NodeIds::Implicit)
    }
}

#[pymethods]
impl Graph {
    /// A graph from the two ends of each edge, in any order and direction. The largest weight of an edge that is
    /// listed twice is kept, unless edges are `added` as the entries of a matrix.
    #[staticmethod]
    #[pyo3(signature = (sources, targets, weights=None, n_nodes=None, *, added=false, n_threads=None))]
    fn from_edges(
        py: Python<'_>,
        sources: Whole<'_>,
        targets: Whole<'_>,
        weights: Option<Weights<'_>>,
        n_nodes: Option<usize>,
        added: bool,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let (sources, targets) = (sources.numbers()?, targets.numbers()?);
        let weights = weights.as_ref().map(Weights::reals).transpose()?;
        let made = work(py, n_threads, || {
            use Numbers::{Narrow, Wide};
            let mut listed = Listed::new(weights.is_some());
            match (sources, targets) {
                (Narrow(sources), Narrow(targets)) => listed.add(sources, targets, weights),
                (Narrow(sources), Wide(targets)) => listed.add(sources, targets, weights),
                (Wide(sources), Narrow(targets)) => listed.add(sources, targets, weights),
                (Wide(sources), Wide(targets)) => listed.add(sources, targets, weights),
            }?;
            listed.build(n_nodes, added)
        })?;
        Ok(Self::numbered(made))
    }

    /// A graph from the names of the two ends of each edge. Its nodes are `ids`, or the names sorted.
    #[staticmethod]
    #[pyo3(signature = (sources, targets, weights=None, ids=None, *, n_threads=None))]
    fn from_names(
        py: Python<'_>,
        sources: Vec<String>,
        targets: Vec<String>,
        weights: Option<Weights<'_>>,
        ids: Option<Ids<'_>>,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let weights = weights.as_ref().map(Weights::reals).transpose()?;
        let ids = ids.as_ref().map(Ids::names).transpose()?;
        let (graph, ids, repairs) = work(py, n_threads, || {
            let mut named = NamedList::default();
            let weights = weights.map(Reals::to_single);
            named.add(
                sources.iter().map(String::as_str),
                targets.iter().map(String::as_str),
                weights.as_deref(),
            )?;
            named.build(ids)
        })?;
        Ok(Self::new(graph, repairs, ids))
    }

    /// A graph from compressed rows, as in scipy.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, weights=None, *, n_threads=None))]
    fn from_csr(
        py: Python<'_>,
        indptr: Whole<'_>,
        indices: Whole<'_>,
        weights: Option<Weights<'_>>,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let (starts, targets) = (indptr.numbers()?, indices.numbers()?);
        let weights = weights.as_ref().map(Weights::reals).transpose()?;
        let made = work(py, n_threads, || {
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
            listed.build(Some(starts.len() - 1), true)
        })?;
        Ok(Self::numbered(made))
    }

    /// A graph from an edge table, as the stream that `__arrow_c_stream__` returns. With text in its first two
    /// columns, the nodes are `ids`, or the names sorted; otherwise `ids` are not used.
    #[staticmethod]
    #[pyo3(signature = (stream, n_nodes=None, ids=None, *, n_columns=None, n_threads=None))]
    fn from_table(
        py: Python<'_>,
        stream: &Bound<'_, PyCapsule>,
        n_nodes: Option<usize>,
        ids: Option<Ids<'_>>,
        n_columns: Option<usize>,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let stream = taken(stream)?;
        let names = ids.as_ref().map(Ids::names).transpose()?;
        let (graph, ids, repairs) = work(py, n_threads, || match tables::edges(stream, n_columns)? {
            tables::TableEdges::Numbers(listed) => {
                let (graph, repairs) = listed.build(n_nodes, false)?;
                Ok((graph, NodeIds::Implicit, repairs))
            }
            tables::TableEdges::Names(named) => named.build(names),
        })?;
        Ok(Self::new(graph, repairs, ids))
    }

    /// The same graph with ids for its nodes.
    #[pyo3(signature = (ids, unknown_ids=0))]
    fn with_ids(&self, ids: Option<Ids<'_>>, unknown_ids: u64) -> PyResult<Self> {
        let ids = ids.as_ref().map(Ids::ids).transpose()?.unwrap_or_default();
        let nodes = self.inner.nodes();
        if let Some(given) = ids.len().filter(|&given| given != nodes) {
            return Err(crate::errors::wrong(format!("there are {given} ids for {nodes} nodes")));
        }
        let mut repairs = self.repairs.clone();
        repairs.unknown_ids += unknown_ids;
        Ok(Self::new(self.inner.clone(), repairs, ids))
    }

    /// The ids of the nodes: text or numbers; `None` if they are 0, 1, 2 and so on.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.ids {
            NodeIds::Implicit => None,
            NodeIds::Numbers(numbers) => Some(PyArray1::from_slice(py, numbers).into_any()),
            NodeIds::Names(names) => Some(PyList::new(py, names.iter().map(|name| &**name))?.into_any()),
        })
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
        let make = py.get_type::<Self>().getattr("_restored")?;
        let arrays = (self.indptr(py), self.indices(py), self.weights(py), self.ids(py)?);
        Ok((make, arrays.into_pyobject(py)?.into_any()))
    }

    /// A graph from what a pickle holds.
    #[staticmethod]
    fn _restored(
        py: Python<'_>,
        indptr: Whole<'_>,
        indices: Whole<'_>,
        weights: Option<Weights<'_>>,
        ids: Option<Ids<'_>>,
    ) -> PyResult<Self> {
        Self::from_csr(py, indptr, indices, weights, None)?.with_ids(ids, 0)
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
