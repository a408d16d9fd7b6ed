//! Evaluation of embeddings.

use crate::arrays::Whole;
use crate::errors::wrong;
use crate::features::Features;
use crate::stages::classes;
use crate::workers::work;
use pyo3::prelude::*;
use structcomp::data::PAPER_TRAIN_PER_CLASS;
use structcomp::evaluate::{Agreement, KMeans};
use structcomp::{Probe, Seed, Split, SplitSet};

/// The accuracy of a classifier over splits, as JSON: given ones, those of a file, or random ones.
#[pyfunction]
#[pyo3(signature = (features, labels, seed, *, splits=None, file=None, runs=50, probe="logistic-cv", n_threads=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments
pub(crate) fn classify(
    py: Python<'_>,
    features: &Features,
    labels: Whole<'_>,
    seed: u64,
    splits: Option<Vec<[Vec<u32>; 3]>>,
    file: Option<std::path::PathBuf>,
    runs: usize,
    probe: &str,
    n_threads: Option<i64>,
) -> PyResult<String> {
    let x = features.inner.clone();
    let labels = classes(&labels)?;
    let accuracy = work(py, n_threads, || {
        let splits = match (splits, file) {
            (Some(splits), _) => {
                let split = |[train, validation, test]: [Vec<u32>; 3]| {
                    Split::new(labels.nodes(), train, validation, test)
                };
                SplitSet::named("given", splits.into_iter().map(split).collect::<structcomp::Result<_>>()?)
            }
            (None, Some(file)) => SplitSet::from_file(&file, &labels)?,
            (None, None) => SplitSet::random(&labels, PAPER_TRAIN_PER_CLASS, runs, Seed(seed)),
        };
        Probe::named(probe, "")?.classify(&x, &labels, &splits, Seed(seed))
    })?;
    serde_json::to_string(&accuracy).map_err(|error| wrong(error.to_string()))
}

/// How well k-means clusters agree with the classes, as JSON.
#[pyfunction]
#[pyo3(signature = (features, labels, seed, *, n_threads=None))]
pub(crate) fn cluster(
    py: Python<'_>,
    features: &Features,
    labels: Whole<'_>,
    seed: u64,
    n_threads: Option<i64>,
) -> PyResult<String> {
    let x = features.inner.clone();
    let labels = classes(&labels)?;
    let agreement = work(py, n_threads, || {
        let kmeans = KMeans { clusters: labels.classes(), ..KMeans::default() };
        Agreement::of(&kmeans.cluster(&x, Seed(seed))?.of, &labels)
    })?;
    serde_json::to_string(&agreement).map_err(|error| wrong(error.to_string()))
}
