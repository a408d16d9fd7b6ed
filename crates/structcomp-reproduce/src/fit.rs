//! The only places that train.

use crate::run::Halt;
use crate::source::Data;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use structcomp::{Compressed, Inputs, Partition, Result, Seed, Trained, Trainer, Training};

/// Trains on clusters or, without a partition, on the whole graph.
pub(crate) fn fit(
    training: &Training,
    data: &Data,
    partition: Option<&Partition>,
    seed: Seed,
    stop: &AtomicBool,
) -> Result<Trained, Halt> {
    let compressed = partition.map(|partition| Compressed::new(data.x, partition)).transpose()?;
    let inputs = compressed.as_ref().map_or(Inputs::Nodes(data.x), Inputs::Clusters);
    let trained = training.train(inputs, data.graph, seed, |_| !stop.load(Relaxed))?;
    if stop.load(Relaxed) { Err(Halt::Interrupted) } else { Ok(trained) }
}

/// The same epoch by epoch.
pub(crate) fn with_trainer<T, E: From<structcomp::Error>>(
    training: &Training,
    data: &Data,
    partition: Option<&Partition>,
    seed: Seed,
    steps: impl FnOnce(&mut Trainer) -> Result<T, E>,
) -> Result<T, E> {
    let compressed = partition.map(|partition| Compressed::new(data.x, partition)).transpose()?;
    let inputs = compressed.as_ref().map_or(Inputs::Nodes(data.x), Inputs::Clusters);
    steps(&mut Trainer::new(training, inputs, data.graph, seed)?)
}
