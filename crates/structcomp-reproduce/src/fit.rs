//! The only places that train.

use crate::run::Halt;
use crate::source::Data;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use structcomp::sample::Inputs;
use structcomp::{
    Compressed, Dataset, Fitted, Hooks, Partition, Result, Seed, StructComp, Trainer, Training,
};

/// Trains through the pipeline, unless it is stopped.
pub(crate) fn fit(settings: &StructComp, data: &Dataset, stop: &AtomicBool) -> Result<Fitted, Halt> {
    let goes_on = &mut |_: &_, _: &Trainer<'_>| Ok(!stop.load(Relaxed));
    let fitted = settings.fit_with(data, Hooks { on_epoch: Some(goes_on), ..Hooks::default() })?;
    if stop.load(Relaxed) { Err(Halt::Interrupted) } else { Ok(fitted) }
}

/// Trains epoch by epoch on clusters or, without a partition, on the whole graph.
pub(crate) fn with_trainer<T, E: From<structcomp::Error>>(
    training: &Training,
    data: &Data,
    partition: Option<&Partition>,
    seed: Seed,
    steps: impl FnOnce(&mut Trainer) -> Result<T, E>,
) -> Result<T, E> {
    let compressed = partition.map(|partition| Compressed::new(data.x, partition)).transpose()?;
    let inputs = compressed.as_ref().map_or(Inputs::Nodes(data.x), Inputs::Clusters);
    steps(&mut Trainer::new(training, inputs, data.graph, seed, None)?)
}
