//! Training, with a loss of Python's where one is given.

use crate::arrays::Whole;
use crate::encoder::Encoder;
use crate::errors::wrong;
use crate::features::Features;
use crate::graph::Graph;
use crate::settings::Settings;
use crate::stages::clusters_of;
use crate::workers::Workers;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex};
use structcomp::{
    Compressed, Encoder as Layers, Error, Features as Matrix, Graph as Edges, Inputs, Model, Origin, OwnLoss,
    OwnObjective, Partition, Result, Seed, Trained, Trainer, Training, Weights,
};

/// Trains an encoder; also gives it as it was before training, and the loss of every epoch.
///
/// `on_epoch` hears of each epoch and ends training by `False`. Ctrl-C ends it too, with
/// `KeyboardInterrupt`. `objective` takes the rows of each view and returns the loss and its gradients.
#[pyfunction]
#[pyo3(signature = (features, graph, clusters, settings, seed, *, objective=None, on_epoch=None, data="", n_threads=None))]
#[allow(clippy::too_many_arguments)] // named by Python's callers
pub(crate) fn train(
    py: Python<'_>,
    features: &Features,
    graph: &Graph,
    clusters: Option<Whole<'_>>,
    settings: &str,
    seed: u64,
    objective: Option<Py<PyAny>>,
    on_epoch: Option<Py<PyAny>>,
    data: &str,
    n_threads: Option<usize>,
) -> PyResult<(Encoder, Encoder, Vec<f64>)> {
    let training = Settings::read(settings)?.training;
    let partition = clusters.as_ref().map(clusters_of).transpose()?;
    let run = Run {
        x: features.inner.clone(),
        graph: graph.inner.clone(),
        partition,
        training: training.clone(),
        seed: Seed(seed),
        workers: Workers::new(n_threads)?,
    };
    let trained = py.detach(|| run.train(objective, on_epoch))?;
    let origin = Origin {
        data: data.to_owned(),
        sha256: String::new(),
        seed,
        epochs: trained.losses.len(),
        training,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let weights =
        |encoder: Layers, epochs: usize| Weights { encoder, origin: Origin { epochs, ..origin.clone() } };
    let encoder = weights(trained.encoder, trained.losses.len()).into();
    Ok((encoder, weights(trained.untrained, 0).into(), trained.losses))
}

/// Everything that training needs, away from the interpreter.
struct Run {
    x: Arc<Matrix>,
    graph: Arc<Edges>,
    partition: Option<Partition>,
    training: Training,
    seed: Seed,
    workers: Workers,
}

impl Run {
    fn train(&self, objective: Option<Py<PyAny>>, on_epoch: Option<Py<PyAny>>) -> PyResult<Trained> {
        let Self { x, graph, training, workers, .. } = self;
        let compressed = match &self.partition {
            Some(partition) => Some(workers.work(|| Compressed::new(x, partition))?),
            None => None,
        };
        let inputs = compressed.as_ref().map_or(Inputs::Nodes(x), Inputs::Clusters);
        let raised = Arc::new(Mutex::new(None));
        let mut trainer = match objective {
            Some(function) => {
                if !matches!(training.model, Model::Own(_)) {
                    return Err(wrong(format!("{} has a loss of its own", training.model.name())));
                }
                let own = Box::new(Own { function, raised: raised.clone() });
                workers.work(|| Trainer::with_objective(training, inputs, graph, self.seed, own))?
            }
            None => workers.work(|| Trainer::new(training, inputs, graph, self.seed))?,
        };
        while !trainer.is_done() {
            let epoch = workers.work(|| trainer.step()).map_err(|error| {
                // What Python's loss raised says more than that it raised something.
                raised.lock().ok().and_then(|mut raised| raised.take()).unwrap_or(error)
            })?;
            let goes_on = Python::attach(|py| {
                py.check_signals()?;
                let Some(on_epoch) = &on_epoch else { return Ok(true) };
                let answer = on_epoch.call1(py, (epoch.number, epoch.loss))?;
                PyResult::Ok(!answer.bind(py).is(&*pyo3::types::PyBool::new(py, false)))
            })?;
            if !goes_on {
                break;
            }
        }
        workers.work(|| trainer.finish())
    }
}

/// A loss that Python computes.
struct Own {
    function: Py<PyAny>,
    /// What it raised, to be raised again.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl OwnObjective for Own {
    fn loss(&self, views: &[&[f32]], width: usize, _: usize) -> Result<OwnLoss> {
        Python::attach(|py| self.call(py, views, width)).map_err(|error| {
            let said = error.to_string();
            if let Ok(mut raised) = self.raised.lock() {
                *raised = Some(error);
            }
            Error::Input(said)
        })
    }
}

impl Own {
    fn call(&self, py: Python<'_>, views: &[&[f32]], width: usize) -> PyResult<OwnLoss> {
        let view = |z: &&[f32]| PyArray1::from_slice(py, z).reshape([z.len() / width.max(1), width]);
        let views = views.iter().map(view).collect::<PyResult<Vec<_>>>()?;
        let answer = self.function.bind(py).call1(PyTuple::new(py, views)?)?;
        let (value, gradients): (f64, Vec<PyReadonlyArray2<'_, f32>>) = answer.extract()?;
        let numbers = |gradient: &PyReadonlyArray2<'_, f32>| Ok(gradient.as_slice()?.to_vec());
        Ok(OwnLoss { value, gradients: gradients.iter().map(numbers).collect::<PyResult<_>>()? })
    }
}
