//! `fit`: the library's pipeline, with Python's callback, loss and Ctrl-C.

use crate::arrays::Whole;
use crate::errors::wrong;
use crate::features::Features;
use crate::graph::Graph;
use crate::loss::Loss;
use crate::model::{Model, dataset};
use crate::stages::clusters_of;
use crate::workers::Workers;
use crate::{errors::raise, settings};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use structcomp::model::OwnObjective;
use structcomp::pipeline::EpochHook;
use structcomp::{Epoch, Error, Fitted, Hooks, Model as Choice, Partitioning, Trainer};

/// Trains a model on a graph.
///
/// `settings` is a JSON object of parameters under the names of Python. `clusters` are used instead of making
/// some. `loss` takes the rows of each view and returns the loss and its gradients. `on_epoch` is called with
/// the number and the loss of every epoch and may return `False` to end training. Ctrl-C raises
/// `KeyboardInterrupt` after the current epoch.
#[pyfunction]
#[pyo3(signature = (features, graph, settings, *, clusters=None, loss=None, on_epoch=None, data="", n_threads=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments
pub(crate) fn fit(
    py: Python<'_>,
    features: Option<&Features>,
    graph: &Graph,
    settings: &str,
    clusters: Option<Whole<'_>>,
    loss: Option<Py<PyAny>>,
    on_epoch: Option<Py<PyAny>>,
    data: &str,
    n_threads: Option<i64>,
) -> PyResult<Model> {
    let settings = settings::read(settings)?;
    let (model, partitioning) = (&settings.training.model, &settings.partitioning);
    if loss.is_some() && !matches!(model, Choice::Own(_)) {
        return Err(wrong(format!("{} has a loss of its own", model.name())));
    }
    if clusters.is_some() && *partitioning != Partitioning::default() {
        return Err(wrong("clusters are given; leave out n_clusters, partitioner and its parameters"));
    }
    let partition = clusters.as_ref().map(clusters_of).transpose()?;
    let data = dataset(data, features, graph);
    let workers = Workers::new(n_threads)?;
    let fitted = py.detach(|| {
        let raised = Mutex::new(None);
        let loss = loss.map(|function| Loss { function, raised: &raised });
        let fit = |on_epoch: EpochHook<'_>| {
            let loss = loss.map(|loss| Box::new(loss) as Box<dyn OwnObjective>);
            settings.fit_with(&data, Hooks { on_epoch: Some(on_epoch), partition, loss, ..Hooks::default() })
        };
        let fitted = watched(&workers, fit, on_epoch)?;
        fitted.map_err(|error| raised.into_inner().ok().flatten().unwrap_or_else(|| raise(error)))
    })?;
    // Ctrl-C after the last epoch.
    py.check_signals()?;
    Ok(fitted.into())
}

/// Fits on the threads of the call, while this thread speaks to Python after every epoch: Python receives Ctrl-C on
/// its main thread only, and callbacks may be bound to their thread.
fn watched(
    workers: &Workers,
    fit: impl FnOnce(EpochHook<'_>) -> structcomp::Result<Fitted> + Send,
    on_epoch: Option<Py<PyAny>>,
) -> PyResult<structcomp::Result<Fitted>> {
    let (tell, told) = channel::<Epoch>();
    let (answer, answers) = channel::<Option<bool>>();
    let mut heard = Ok(());
    let training = move || {
        fit(&mut |epoch: &Epoch, _: &Trainer<'_>| {
            let answer = tell.send(*epoch).ok().and_then(|()| answers.recv().ok()).flatten();
            answer.ok_or_else(|| Error::Input("training was interrupted".into()))
        })
    };
    let fitted = workers.beside(training, || {
        for epoch in told {
            let goes_on = Python::attach(|py| continues(py, on_epoch.as_ref(), epoch));
            // Sending fails only if training panicked, and that is reported below.
            let _ = answer.send(goes_on.as_ref().ok().copied());
            heard = goes_on.map(|_| ());
        }
    })?;
    heard.map(|()| fitted)
}

/// Whether training goes on after an epoch.
fn continues(py: Python<'_>, on_epoch: Option<&Py<PyAny>>, epoch: Epoch) -> PyResult<bool> {
    py.check_signals()?;
    let Some(on_epoch) = on_epoch else { return Ok(true) };
    let answer = on_epoch.call1(py, (epoch.number, epoch.loss))?;
    Ok(!answer.bind(py).is(&*PyBool::new(py, false)))
}
