//! Training: batches in, the weights of an encoder out.

mod checkpoint;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod goldens;
#[cfg(test)]
mod tests;
mod trainer;

pub use trainer::Trainer;

use serde::Serialize;

/// An epoch as it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Epoch {
    /// Counted from 1.
    pub number: usize,
    /// The loss before the update, averaged over the steps of the epoch.
    pub loss: f64,
}

#[cfg(test)]
use crate::Training;

/// Training that ran to its end.
#[cfg(test)]
pub(crate) fn trained_by<'a>(
    training: &Training,
    inputs: crate::sample::Inputs<'a>,
    graph: &'a crate::Graph,
    seed: crate::Seed,
) -> crate::Result<Trainer<'a>> {
    let mut trainer = Trainer::new(training, inputs, graph, seed, None)?;
    while !trainer.is_done() {
        trainer.step()?;
    }
    Ok(trainer)
}
