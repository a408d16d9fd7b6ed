//! Who executes a training step, and who embeds. The seams are as coarse as they can be: a batch goes in, the
//! parameters move, the loss comes out; an encoder and a graph go in, the embedding comes out. So another engine is
//! free to run the whole of it as it likes, on another device.
//!
//! Training is an [`Engine`]; [`Encoder::embed_rows`](crate::encoder::Encoder::embed_rows) chooses who embeds.

mod cpu;
mod embed;

pub(crate) use cpu::Cpu;

use crate::Result;
use crate::sample::Batch;

/// Everything that training changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The networks' parameters, then the model's own.
    pub(crate) parameters: Vec<f32>,
    /// Running means and variances of batch norm.
    pub(crate) statistics: Vec<f32>,
    /// The encoder's parameters as they are remembered by a model that follows itself; empty for others.
    pub(crate) target: Vec<f32>,
}

/// What is known after a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The loss before the update.
    pub(crate) loss: f64,
    /// Whether all parameters are still finite.
    pub(crate) finite: bool,
}

/// Runs training steps.
pub(crate) trait Engine: Send {
    /// Forward, loss, gradient and update for one batch; `step` counts over all epochs.
    fn step(&mut self, batch: &Batch, step: usize) -> Result<Outcome>;

    /// The loss of a batch with other parameters, without an update.
    fn loss_with(&mut self, parameters: &[f32], batch: &Batch, step: usize) -> Result<f64>;

    /// What training has changed so far.
    fn state(&self) -> &State;

    /// Steps taken, and the optimiser's running mean and mean square of the gradient.
    fn optimizer(&self) -> (i32, &[f32], &[f32]);

    /// Continues from the state of another engine of the same plan.
    fn restore(&mut self, state: State, steps: i32, mean: Vec<f32>, square: Vec<f32>);
}
