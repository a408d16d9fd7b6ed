//! Fitting and embedding piece by piece, for graphs that are on other machines (`structcomp.spark`).

use crate::arrays::{Weights, Whole, matrix};
use crate::errors::{raise, wrong};
use crate::features::Features;
use crate::graph::Graph;
use crate::model::Model;
use crate::projection::{Arrays, arrays};
use crate::settings;
use crate::stages::clusters_of;
use crate::workers::work;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;
use structcomp::graph::Repairs;
use structcomp::pipeline::pieces;
use structcomp::{Csr, Dense, NodeIds, Seed};

type RowsAndSquares<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f64>>);

/// Rows of features on the axes of a projection, and the squared length of each.
#[pyfunction]
#[pyo3(signature = (features, shift, factor, basis, mean, *, n_threads=None))]
pub(crate) fn project<'py>(
    py: Python<'py>,
    features: &Features,
    shift: PyReadonlyArray1<'py, f32>,
    factor: PyReadonlyArray1<'py, f32>,
    basis: PyReadonlyArray2<'py, f32>,
    mean: PyReadonlyArray1<'py, f32>,
    n_threads: Option<i64>,
) -> PyResult<RowsAndSquares<'py>> {
    let [shift, factor, mean] = [&shift, &factor, &mean].map(|part| part.to_vec());
    let basis = basis.as_slice()?.to_vec();
    let projection = pieces::Projection::of_arrays(shift?, factor?, basis, mean?).map_err(raise)?;
    let (x, width) = (features.inner.clone(), projection.arrays()[3].len());
    let (rows, squares) = work(py, n_threads, || projection.rows(&x))?;
    Ok((rows_of(py, rows, width)?, PyArray1::from_vec(py, squares)))
}

/// Rows after the hops of a signal, which is JSON as in a model.
#[pyfunction]
#[pyo3(signature = (graph, rows, signal, *, n_threads=None))]
pub(crate) fn signal_rows<'py>(
    py: Python<'py>,
    graph: &Graph,
    rows: PyReadonlyArray2<'py, f32>,
    signal: &str,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (width, values) = (rows.shape()[1], rows.as_slice()?);
    let graph = graph.inner.clone();
    let made = work(py, n_threads, || pieces::signal_rows(signal, &graph, values, width))?;
    rows_of(py, made, width)
}

/// Positions in a graph: what makes them, as JSON, and the rows.
#[pyfunction]
#[pyo3(signature = (graph, width, seed, *, n_threads=None))]
pub(crate) fn positions<'py>(
    py: Python<'py>,
    graph: &Graph,
    width: usize,
    seed: u64,
    n_threads: Option<i64>,
) -> PyResult<(String, Bound<'py, PyArray2<f32>>)> {
    let graph = graph.inner.clone();
    let (note, rows) = work(py, n_threads, || pieces::positions(&graph, width, Seed(seed)))?;
    Ok((note, rows_of(py, rows, width)?))
}

/// The positions that a model knows of the nodes of a graph, given what makes them.
#[pyfunction]
#[pyo3(signature = (graph, note, *, n_threads=None))]
pub(crate) fn known_positions<'py>(
    py: Python<'py>,
    graph: &Graph,
    note: &str,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let graph = graph.inner.clone();
    let rows = work(py, n_threads, || pieces::known_positions(note, &graph))?;
    let width = rows.len() / graph.nodes().max(1);
    rows_of(py, rows, width)
}

/// Sums over halves of some consecutive clusters, for `shares_of_halves`.
#[pyfunction]
#[pyo3(signature = (rows, connected, clusters, first_cluster, draws, seed, *, n_threads=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments
pub(crate) fn sums_of_halves<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, f32>,
    connected: PyReadonlyArray1<'py, bool>,
    clusters: Whole<'py>,
    first_cluster: u32,
    draws: usize,
    seed: u64,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let partition = clusters_of(&clusters)?;
    let (rows, connected) = (rows.as_slice()?, connected.as_slice()?);
    let sums = work(py, n_threads, || {
        pieces::sums_of_halves(rows, connected, &partition, first_cluster, draws, Seed(seed))
    })?;
    Ok(PyArray1::from_vec(py, sums))
}

fn rows_of(py: Python<'_>, rows: Vec<f32>, width: usize) -> PyResult<Bound<'_, PyArray2<f32>>> {
    matrix(py, Dense::new(rows.len() / width.max(1), width, rows).map_err(raise)?)
}

/// The axes of a sample of the nodes, from which the solved model is made.
#[pyclass(module = "structcomp._native")]
pub(crate) struct Sketch {
    inner: Mutex<Option<pieces::Sketch>>,
    settings: structcomp::StructComp,
}

impl Sketch {
    fn read<T>(&self, of: impl FnOnce(&pieces::Sketch) -> T) -> PyResult<T> {
        let inner = self.inner.lock().map_err(|error| wrong(error.to_string()))?;
        inner.as_ref().map(of).ok_or_else(|| wrong("the sketch was solved before"))
    }
}

#[pymethods]
impl Sketch {
    #[new]
    #[pyo3(signature = (sample, n_nodes, settings, *, n_threads=None))]
    fn new(
        py: Python<'_>,
        sample: &Features,
        n_nodes: usize,
        settings: &str,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let settings = settings::read(settings)?;
        let (solved, x) = (settings.solved().map_err(raise)?, sample.inner.clone());
        let sketch = work(py, n_threads, || pieces::Sketch::new(&solved, x, n_nodes, settings.seed))?;
        Ok(Self { inner: Mutex::new(Some(sketch)), settings })
    }

    /// The axes of all features, and then those of some of them, whose neighbourhoods tell about the others.
    fn projections<'py>(&self, py: Python<'py>) -> PyResult<Vec<Arrays<'py>>> {
        self.read(|sketch| sketch.projections().into_iter().map(|of| arrays(py, of)).collect())?
    }

    /// How many of the first axes go far.
    #[getter]
    fn n_far(&self) -> PyResult<usize> {
        self.read(pieces::Sketch::few)
    }

    /// Columns of the positions.
    #[getter]
    fn n_positions(&self) -> PyResult<usize> {
        self.read(pieces::Sketch::positions)
    }

    /// How often clusters are split into halves.
    #[getter]
    fn draws(&self) -> PyResult<usize> {
        self.read(pieces::Sketch::draws)
    }

    /// The signal of the part that goes far, as JSON.
    #[staticmethod]
    fn far() -> String {
        pieces::Sketch::smooth()
    }

    /// The model: from the sums of halves, the degrees of the sampled nodes, and their rows after hops.
    #[pyo3(signature = (sums, degrees, near, two, far, last, halves, positions, *, n_nodes, n_edges, graph, ids, n_clusters, n_threads=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments
    fn solve(
        &self,
        py: Python<'_>,
        sums: Vec<f64>,
        degrees: Vec<usize>,
        near: PyReadonlyArray2<'_, f32>,
        two: PyReadonlyArray2<'_, f32>,
        far: PyReadonlyArray2<'_, f32>,
        last: PyReadonlyArray2<'_, f32>,
        halves: Vec<PyReadonlyArray2<'_, f32>>,
        positions: Option<(String, PyReadonlyArray2<'_, f32>)>,
        n_nodes: usize,
        n_edges: usize,
        graph: String,
        ids: String,
        n_clusters: usize,
        n_threads: Option<i64>,
    ) -> PyResult<(Model, String)> {
        let taken = self.inner.lock().map_err(|error| wrong(error.to_string()))?.take();
        let sketch = taken.ok_or_else(|| wrong("the sketch was solved before"))?;
        let [near, two, smooth, last] = [&near, &two, &far, &last].map(|rows| rows.as_slice());
        let halves: Result<Vec<_>, _> =
            halves.iter().map(|rows| rows.as_slice().map(<[f32]>::to_vec)).collect();
        let positions = match &positions {
            Some((note, rows)) => Some((note.clone(), rows.as_slice()?.to_vec())),
            None => None,
        };
        let gathered = pieces::Gathered {
            reliable: pieces::shares_of(&sums).map_err(raise)?,
            degrees,
            near: near?.to_vec(),
            two: two?.to_vec(),
            smooth: smooth?.to_vec(),
            last: last?.to_vec(),
            halves: halves?,
            positions,
        };
        let on = pieces::Elsewhere { nodes: n_nodes, graph, ids, clusters: n_clusters };
        let fitted = work(py, n_threads, || self.settings.solve_sketch(sketch, gathered, n_edges > 0, &on))?;
        let solution = serde_json::to_string(&fitted.solution).map_err(|error| wrong(error.to_string()))?;
        Ok((fitted.into(), solution))
    }
}

/// Trains a model on rows that were compressed elsewhere.
///
/// `counts` are the rows of the total weights of the edges between clusters, inside clusters twice, compressed as in
/// scipy; `views` has the second view of every epoch. Also tells whether batch norm still needs statistics of all nodes.
#[pyfunction]
#[pyo3(signature = (rows, counts, sizes, views, settings, *, n_nodes, graph, ids, n_threads=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments
pub(crate) fn train_given(
    py: Python<'_>,
    rows: &Features,
    counts: (Whole<'_>, Whole<'_>, PyReadonlyArray1<'_, f32>),
    sizes: Vec<u32>,
    views: Vec<PyReadonlyArray2<'_, f32>>,
    settings: &str,
    n_nodes: usize,
    graph: String,
    ids: String,
    n_threads: Option<i64>,
) -> PyResult<(Model, bool)> {
    let settings = settings::read(settings)?;
    let (starts, columns) = (counts.0.numbers()?, counts.1.numbers()?);
    let invalid = || wrong("the rows of the edges between clusters are negative");
    let (starts, columns) = (starts.widened().ok_or_else(invalid)?, columns.narrowed().ok_or_else(invalid)?);
    let counts = Csr::new(sizes.len(), starts, columns, counts.2.to_vec()?).map_err(raise)?;
    let view = |view: &PyReadonlyArray2<'_, f32>| {
        Dense::new(view.shape()[0], view.shape()[1], view.as_slice()?.to_vec()).map_err(raise)
    };
    let views: PyResult<Vec<Dense>> = views.iter().map(view).collect();
    let on = pieces::Elsewhere { nodes: n_nodes, graph, ids, clusters: sizes.len() };
    let given = pieces::Given::new(views?, counts, sizes).map_err(raise)?;
    let x = rows.inner.clone();
    let (fitted, due) = work(py, n_threads, || settings.train_given(&x, &given, &on, None))?;
    Ok((fitted.into(), due))
}

/// Writes a graph file from directed edges that come sorted, in many arrays.
#[pyclass(module = "structcomp._native")]
pub(crate) struct GraphFile {
    // Python places objects at multiples of 16 bytes, and the writer wants more.
    inner: Mutex<Option<Box<Pushed>>>,
}

const _: () = assert!(align_of::<GraphFile>() <= 16 && align_of::<Sketch>() <= 16);

struct Pushed {
    writer: structcomp::graph::GraphWriter,
    nodes: usize,
    /// The row that is being collected.
    row: usize,
    targets: Vec<u32>,
    weights: Option<Vec<f32>>,
}

#[pymethods]
impl GraphFile {
    #[new]
    fn new(path: PathBuf, n_nodes: usize, weighted: bool) -> PyResult<Self> {
        let writer = structcomp::graph::GraphWriter::create(path, n_nodes, weighted).map_err(raise)?;
        let weights = weighted.then(Vec::new);
        let pushed = Pushed { writer, nodes: n_nodes, row: 0, targets: Vec::new(), weights };
        Ok(Self { inner: Mutex::new(Some(Box::new(pushed))) })
    }

    /// Adds edges, sorted by source and then by target, and after those that were added before.
    #[pyo3(signature = (sources, targets, weights=None))]
    fn push(&self, sources: Whole<'_>, targets: Whole<'_>, weights: Option<Weights<'_>>) -> PyResult<()> {
        let (sources, targets) = (sources.numbers()?, targets.numbers()?);
        let weights = weights.as_ref().map(Weights::reals).transpose()?.map(crate::arrays::Reals::to_single);
        let mut inner = self.inner.lock().map_err(|error| wrong(error.to_string()))?;
        let pushed = inner.as_mut().ok_or_else(|| wrong("the file is finished"))?;
        if sources.len() != targets.len() || weights.as_ref().is_some_and(|w| w.len() != targets.len()) {
            return Err(wrong("sources, targets and weights differ in length"));
        }
        for at in 0..sources.len() {
            let (source, target) = (sources.at(at), targets.at(at));
            if source < pushed.row as i64 || source >= pushed.nodes as i64 || target < 0 {
                return Err(wrong(format!("the edge {source} - {target} is out of order or out of range")));
            }
            pushed.up_to(source as usize)?;
            pushed.targets.push(target as u32);
            if let (Some(all), Some(weights)) = (&mut pushed.weights, &weights) {
                all.push(weights[at]);
            }
        }
        Ok(())
    }

    /// Ends the file and gives it its name.
    fn finish(&self) -> PyResult<()> {
        let taken = self.inner.lock().map_err(|error| wrong(error.to_string()))?.take();
        let mut pushed = taken.ok_or_else(|| wrong("the file is finished"))?;
        pushed.up_to(pushed.nodes)?;
        pushed.writer.finish().map_err(raise)
    }
}

impl Pushed {
    /// Writes all rows before this one.
    fn up_to(&mut self, row: usize) -> PyResult<()> {
        while self.row < row {
            self.writer.push_row(&self.targets, self.weights.as_deref()).map_err(raise)?;
            self.targets.clear();
            self.weights.iter_mut().for_each(Vec::clear);
            self.row += 1;
        }
        Ok(())
    }
}

/// Maps a graph file.
#[pyfunction]
#[pyo3(signature = (path, *, n_threads=None))]
pub(crate) fn open_graph(py: Python<'_>, path: PathBuf, n_threads: Option<i64>) -> PyResult<Graph> {
    let graph = work(py, n_threads, || structcomp::Graph::open(&path))?;
    Ok(Graph::new(graph, Repairs::default(), NodeIds::Implicit))
}
