//! Datasets by name or path, and synthetic ones.

use crate::errors::raise;
use crate::features::Features;
use crate::graph::Graph;
use crate::settings::structured;
use crate::workers::work;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use structcomp::data::{self, EdgeColumns, Options, Synthetic};
use structcomp::{Dataset, Seed};

/// A dataset by name or path, or from files of edges, features and labels, as a dictionary.
///
/// `columns` are those of the ends and the weight of edges.
#[pyfunction]
#[pyo3(signature = (
    name, seed, *, is_file=false, features=None, labels=None, ids=None, header=None, columns=None,
    data_dir=None, format=None, strict=false, weights=true, n_threads=None
))]
#[allow(clippy::too_many_arguments)] // keyword arguments
pub(crate) fn load<'py>(
    py: Python<'py>,
    name: &str,
    seed: u64,
    is_file: bool,
    features: Option<PathBuf>,
    labels: Option<PathBuf>,
    ids: Option<PathBuf>,
    header: Option<bool>,
    columns: Option<(Option<String>, Option<String>, Option<String>)>,
    data_dir: Option<PathBuf>,
    format: Option<String>,
    strict: bool,
    weights: bool,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    let dataset = work(py, n_threads, || {
        let (source, target, weight) = columns.unwrap_or_default();
        let columns = EdgeColumns { source, target, weight };
        let options = Options { format, strict, weights, header, columns, ids, ..Options::default() };
        if is_file || features.is_some() || labels.is_some() {
            return data::open_files(name, features.as_deref(), labels.as_deref(), &options);
        }
        let folder = data_dir.map_or_else(data::named::default_folder, Ok)?;
        data::load(name, &folder, Seed(seed), &options)
    })?;
    described(py, dataset)
}

/// A synthetic dataset from a JSON object of settings, as a dictionary.
#[pyfunction]
#[pyo3(signature = (name, settings, seed, *, n_threads=None))]
pub(crate) fn generate<'py>(
    py: Python<'py>,
    name: &str,
    settings: &str,
    seed: u64,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(model) = Synthetic::named(name) else {
        let known = Synthetic::NAMES.join(", ");
        return Err(crate::errors::wrong(format!(
            "unknown synthetic graph '{name}'; expected one of {known}"
        )));
    };
    let model = with_settings(model, settings)?;
    let dataset = work(py, n_threads, || model.generate(Seed(seed)))?;
    described(py, dataset)
}

/// The generator with some fields from a JSON object.
fn with_settings(model: Synthetic, settings: &str) -> PyResult<Synthetic> {
    let wrong = |error: serde_json::Error| crate::errors::wrong(error.to_string());
    let given: serde_json::Map<String, serde_json::Value> = structured(settings)?;
    let mut fields = serde_json::to_value(model).map_err(wrong)?;
    if let Some(fields) = fields.as_object_mut() {
        fields.extend(given);
    }
    serde_json::from_value(fields).map_err(wrong)
}

fn described(py: Python<'_>, dataset: Dataset) -> PyResult<Bound<'_, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("name", &dataset.name)?;
    parts.set_item("synthetic", dataset.source.synthetic)?;
    parts.set_item("notes", &dataset.source.notes)?;
    parts.set_item("sha256", py.detach(|| dataset.sha256()).map_err(raise)?)?;
    let labels = dataset.labels.as_ref();
    let classes = |class: Option<u32>| class.map_or(-1, i64::from);
    parts.set_item("labels", labels.map(|labels| PyArray1::from_iter(py, labels.iter().map(classes))))?;
    parts.set_item("class_names", labels.and_then(|labels| labels.names()))?;
    let splits = PyDict::new(py);
    for set in &dataset.splits {
        let nodes = |nodes: &[u32]| PyArray1::from_iter(py, nodes.iter().map(|&node| node as i64));
        let split =
            |split: &structcomp::Split| (nodes(&split.train), nodes(&split.validation), nodes(&split.test));
        splits.set_item(&set.name, PyList::new(py, set.splits.iter().map(split))?)?;
    }
    parts.set_item("splits", splits)?;
    parts.set_item("graph", Graph::new(dataset.graph, dataset.repairs, dataset.ids))?;
    parts.set_item("features", dataset.features.map(Features::from).map(|x| Py::new(py, x)).transpose()?)?;
    Ok(parts)
}
