//! Who executes a training step, and who embeds. The seams are as coarse as they can be: a batch goes in, the
//! parameters move, the loss comes out; an encoder and a graph go in, the embedding comes out. So another engine is
//! free to run the whole of it as it likes, on another device.
//!
//! Training is an [`Engine`]; [`Encoder::embed_rows`](crate::encoder::Encoder::embed_rows) chooses who embeds.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod embed;

pub(crate) use cpu::Cpu;
pub(crate) use embed::EmbedsOn;

use crate::device::{Compute, Device};
use crate::plan::Plan;
use crate::sample::{Inputs, Sampler};
use crate::{Error, Result, Seed};

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
    /// Forward, loss, gradient and update for the batch of a step, counted over all epochs.
    fn step(&mut self, sampler: &dyn Sampler, step: usize) -> Result<Outcome>;

    /// The loss of that batch with other parameters, without an update.
    fn loss_with(&mut self, parameters: &[f32], sampler: &dyn Sampler, step: usize) -> Result<f64>;

    /// What training has changed so far.
    fn state(&self) -> Result<&State>;

    /// Steps taken, and the optimiser's running mean and mean square of the gradient.
    fn optimizer(&self) -> Result<(i32, &[f32], &[f32])>;

    /// Continues from the state of another engine of the same plan.
    fn restore(&mut self, state: State, steps: i32, mean: Vec<f32>, square: Vec<f32>) -> Result<()>;

    /// The device as reports name it.
    fn device(&self) -> &str;
}

/// What an engine is made for.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only a GPU needs all of it"))]
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) inputs: Inputs<'a>,
    pub(crate) sampler: &'a dyn Sampler,
    pub(crate) seed: Seed,
    /// What training starts from.
    pub(crate) start: &'a State,
    /// Whether the loss is the caller's own.
    pub(crate) has_own_loss: bool,
}

/// The engine on a GPU, if that is asked for, or is there and pays.
#[cfg(feature = "cuda")]
pub(crate) fn on_gpu(compute: Compute, job: &Job) -> Result<Option<Box<dyn Engine>>> {
    compute.check()?;
    let why_not = cuda::refusal(job.plan, job.inputs, job.has_own_loss);
    match (compute.device, why_not) {
        (Device::Cpu, _) | (Device::Auto, Some(_)) => return Ok(None),
        (Device::Auto, None) if !cuda::pays(job.plan, job.inputs) => return Ok(None),
        (Device::Cuda, Some(why)) => return Err(Error::Input(why)),
        (Device::Auto | Device::Cuda, None) => {}
    }
    let Job { plan, inputs, sampler, seed, start, .. } = *job;
    match (compute.device, cuda::Cuda::new(plan, inputs, sampler, seed, compute.precision, start)) {
        (_, Ok(engine)) => Ok(Some(Box::new(engine))),
        (Device::Auto, Err(_)) => Ok(None),
        (_, Err(error)) => Err(error),
    }
}

/// There is none in this build.
#[cfg(not(feature = "cuda"))]
pub(crate) fn on_gpu(compute: Compute, _: &Job) -> Result<Option<Box<dyn Engine>>> {
    compute.check()?;
    match compute.device {
        Device::Cuda => Err(no_gpu()),
        Device::Auto | Device::Cpu => Ok(None),
    }
}

#[cfg(not(feature = "cuda"))]
fn no_gpu() -> Error {
    Error::Input("GPU: this build cannot use one (enable the feature `cuda`)".into())
}
