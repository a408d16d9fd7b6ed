//! The stages of `fit`, one function each.

use crate::arrays::{Whole, matrix};
use crate::errors::{raise, wrong};
use crate::features::Features;
use crate::graph::Graph;
use crate::settings::{choice, partitioning};
use crate::workers::work;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use structcomp::evaluate::Control;
use structcomp::partition::Gap;
use structcomp::{Compressed, DropMember, Labels, Normalization, Partition, Propagation, Quality, Seed};

/// The cluster of every node.
#[pyfunction]
#[pyo3(signature = (graph, settings, seed, *, node_weights=None, n_threads=None))]
pub(crate) fn partition<'py>(
    py: Python<'py>,
    graph: &Graph,
    settings: &str,
    seed: u64,
    node_weights: Option<Whole<'py>>,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let mut partitioning = partitioning(settings)?;
    partitioning.node_weights =
        node_weights.as_ref().map(|weights| whole("node weights", weights)).transpose()?;
    let graph = graph.inner.clone();
    let partition = work(py, n_threads, || partitioning.partition(&graph, Seed(seed)))?;
    Ok(PyArray1::from_slice(py, partition.assignment()))
}

/// Measures of the quality of clusters, as JSON.
#[pyfunction]
#[pyo3(signature = (graph, clusters, *, labels=None, hops=1, seed=0, n_threads=None))]
pub(crate) fn quality(
    py: Python<'_>,
    graph: &Graph,
    clusters: Whole<'_>,
    labels: Option<Whole<'_>>,
    hops: usize,
    seed: u64,
    n_threads: Option<i64>,
) -> PyResult<String> {
    let partition = clusters_of(&clusters)?;
    let labels = labels.as_ref().map(classes).transpose()?;
    let graph = graph.inner.clone();
    let (quality, gap) = work(py, n_threads, || {
        if let Some(labels) = &labels
            && labels.nodes() != graph.nodes()
        {
            let (rows, nodes) = (labels.nodes(), graph.nodes());
            return Err(structcomp::Error::Input(format!(
                "labels have {rows} rows but the graph has {nodes} nodes"
            )));
        }
        let quality = Quality::of(&graph, &partition, labels.as_ref())?;
        Ok((quality, if hops == 1 { None } else { Some(Gap::of(&graph, &partition, hops, Seed(seed))?) }))
    })?;
    let mut measures = serde_json::to_value(quality).map_err(|error| wrong(error.to_string()))?;
    if let Some(gap) = gap {
        measures["gap"] = gap.value.into();
        measures["gap_standard_error"] = gap.standard_error.into();
    }
    Ok(measures.to_string())
}

/// The mean features of every cluster.
#[pyfunction]
#[pyo3(signature = (features, clusters, *, n_threads=None))]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    features: &Features,
    clusters: Whole<'py>,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (x, partition) = (features.inner.clone(), clusters_of(&clusters)?);
    let means = work(py, n_threads, || Ok(Compressed::new(&x, &partition)?.features().to_dense()))?;
    matrix(py, means)
}

/// The mean features of every cluster over the members that DropMember keeps in an epoch.
#[pyfunction]
#[pyo3(signature = (features, clusters, seed, *, how=None, epoch=0, first_cluster=0, n_threads=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments
pub(crate) fn drop_member<'py>(
    py: Python<'py>,
    features: &Features,
    clusters: Whole<'py>,
    seed: u64,
    how: Option<&str>,
    epoch: u32,
    first_cluster: u32,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let how: DropMember = choice("how", how)?;
    let (x, partition) = (features.inner.clone(), clusters_of(&clusters)?);
    let means = work(py, n_threads, || {
        let compressed = Compressed::new(&x, &partition)?.numbered_from(first_cluster);
        Ok(compressed.drop_member(how, Seed(seed), epoch as usize)?.to_dense())
    })?;
    matrix(py, means)
}

/// Features after some hops of the GCN operator.
#[pyfunction]
#[pyo3(signature = (features, graph, hops, *, n_threads=None))]
pub(crate) fn propagate<'py>(
    py: Python<'py>,
    features: &Features,
    graph: &Graph,
    hops: usize,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (x, graph) = (features.inner.clone(), graph.inner.clone());
    let spread = work(py, n_threads, || {
        Ok(Propagation::new(&graph, Normalization::Symmetric).power(&x, hops)?.to_dense())
    })?;
    matrix(py, spread)
}

/// Rows that need no training, by name.
#[pyfunction]
#[pyo3(signature = (features, graph, name, *, n_threads=None))]
pub(crate) fn untrained_rows<'py>(
    py: Python<'py>,
    features: &Features,
    graph: &Graph,
    name: &str,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (x, graph) = (features.inner.clone(), graph.inner.clone());
    let rows = work(py, n_threads, || Ok(Control::named(name)?.rows(&graph, &x)?.to_dense()))?;
    matrix(py, rows)
}

/// Clusters from an array with the cluster of every node.
pub(crate) fn clusters_of(clusters: &Whole<'_>) -> PyResult<Partition> {
    Partition::new(whole("clusters", clusters)?).map_err(raise)
}

/// Labels from an array of classes; a negative number is a node without a class.
pub(crate) fn classes(labels: &Whole<'_>) -> PyResult<Labels> {
    let numbers = labels.numbers()?;
    Labels::from_signed((0..numbers.len()).map(|at| numbers.at(at))).map_err(raise)
}

fn whole(what: &str, array: &Whole<'_>) -> PyResult<Vec<u32>> {
    let numbers = array.numbers()?;
    let number = |at: usize| {
        u32::try_from(numbers.at(at))
            .map_err(|_| wrong(format!("invalid {what}: {} is out of range", numbers.at(at))))
    };
    (0..numbers.len()).map(number).collect()
}
