//! Training: batches in, the weights of an encoder out.

mod checkpoint;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod goldens;
mod stop;
#[cfg(test)]
mod tests;
mod trainer;

pub use trainer::{Epoch, Trainer};

#[cfg(test)]
use crate::Training;

/// Training that ran to its end.
#[cfg(test)]
pub(crate) fn trained_by<'a>(
    training: &Training,
    inputs: crate::Inputs<'a>,
    graph: &'a crate::Graph,
    seed: crate::Seed,
) -> crate::Result<Trainer<'a>> {
    let mut trainer = Trainer::new(training, inputs, graph, seed, None)?;
    while !trainer.is_done() {
        trainer.step()?;
    }
    Ok(trainer)
}
