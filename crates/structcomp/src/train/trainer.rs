//! The training loop, as in the paper: batch, forward, loss, gradient, update; then the weights as an encoder.

use super::Epoch;
use crate::encoder::Encoder;
use crate::engine::{Cpu, Engine, Job, Outcome, State, on_gpu};
use crate::model::OwnObjective;
use crate::plan::Plan;
use crate::sample::{Inputs, Sampler, sampler};
use crate::{Compute, Error, Graph, Result, Seed, Training};

/// Training under way, epoch by epoch. [`StructComp::fit`](crate::StructComp::fit) is the usual way to train.
pub struct Trainer<'a> {
    pub(super) plan: Plan,
    pub(super) settings: Training,
    pub(super) seed: Seed,
    pub(super) graph: &'a Graph,
    inputs: Inputs<'a>,
    has_own_loss: bool,
    pub(super) sampler: Box<dyn Sampler + 'a>,
    pub(super) engine: Box<dyn Engine + 'a>,
    pub(super) losses: Vec<f64>,
    /// Parameters and batch norm statistics of the lowest loss so far, if training has patience.
    pub(super) lowest: Option<(Vec<f32>, Vec<f32>)>,
}

impl<'a> Trainer<'a> {
    /// Ready for the first epoch. `loss` takes the place of the model's, for [`Model::Own`](crate::Model::Own).
    pub fn new(
        training: &Training,
        inputs: Inputs<'a>,
        graph: &'a Graph,
        seed: Seed,
        loss: Option<Box<dyn OwnObjective + 'a>>,
    ) -> Result<Self> {
        let width = inputs.check(graph)?.cols();
        let plan = Plan::new(training, inputs.passes_messages(), width)?;
        let sampler = sampler(&plan.sampling, inputs, graph, seed)?;
        let has_own_loss = loss.is_some();
        let engine = Cpu::new(&plan, seed, plan.epochs * sampler.steps(), loss);
        Ok(Self {
            inputs,
            has_own_loss,
            settings: training.clone(),
            seed,
            graph,
            sampler,
            engine: Box::new(engine),
            losses: Vec::new(),
            lowest: None,
            plan,
        })
    }

    /// The same on the device that is asked for; to be called before the first epoch. Without this it is the CPU.
    pub fn on(mut self, compute: Compute) -> Result<Self> {
        let Self { plan, inputs, seed, has_own_loss, .. } = &self;
        let (sampler, start) = (&*self.sampler, self.engine.state()?);
        let (inputs, seed, has_own_loss) = (*inputs, *seed, *has_own_loss);
        let engine = on_gpu(compute, &Job { plan, inputs, sampler, seed, start, has_own_loss })?;
        if let Some(engine) = engine {
            self.engine = engine;
        }
        Ok(self)
    }

    /// The device that trains, as reports name it.
    pub fn device(&self) -> &str {
        self.engine.device()
    }

    /// One epoch: a step for every batch.
    pub fn step(&mut self) -> Result<Epoch> {
        let (epoch, steps) = (self.losses.len(), self.sampler.steps());
        let parameters = || self.engine.state().map(|state| state.parameters.clone());
        let before = self.plan.patience.map(|_| parameters()).transpose()?;
        let mut loss = 0.0;
        for step in epoch * steps..(epoch + 1) * steps {
            let outcome = self.engine.step(&*self.sampler, step)?;
            self.check(&outcome, epoch)?;
            loss += outcome.loss / steps as f64;
        }
        if let Some(parameters) = before.filter(|_| self.losses.iter().all(|&before| loss < before)) {
            self.lowest = Some((parameters, self.engine.state()?.statistics.clone()));
        }
        self.losses.push(loss);
        Ok(Epoch { number: epoch + 1, loss })
    }

    fn check(&self, outcome: &Outcome, epoch: usize) -> Result<()> {
        match outcome.loss.is_finite() && outcome.finite {
            true => Ok(()),
            false => Err(Error::Input(format!(
                "training {} diverged in epoch {} (non-finite loss); lower the learning rate",
                self.plan.model.title(),
                epoch + 1
            ))),
        }
    }

    /// The loss of every epoch so far.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// How many epochs are done.
    pub fn epochs(&self) -> usize {
        self.losses.len()
    }

    /// Whether all epochs are done, or the loss has not fallen for as long as patience lasts.
    pub fn is_done(&self) -> bool {
        let lowest = self.losses.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        let impatient = |patience| lowest.is_some_and(|(at, _)| self.epochs() > at + patience);
        self.epochs() >= self.plan.epochs || self.plan.patience.is_some_and(impatient)
    }

    /// The parameters as they are now.
    pub fn parameters(&self) -> Result<&[f32]> {
        Ok(&self.engine.state()?.parameters)
    }

    /// What the loss of the next step would be with other parameters of the same network.
    pub fn loss_with(&mut self, parameters: &[f32]) -> Result<f64> {
        let step = self.losses.len() * self.sampler.steps();
        self.engine.loss_with(parameters, &*self.sampler, step)
    }

    /// The encoder as it is now, before it is finished.
    pub fn encoder(&self) -> Result<Encoder> {
        let State { parameters, statistics, .. } = self.engine.state()?;
        Ok(self.encoder_of(parameters, statistics))
    }

    /// The encoder that training gave.
    pub fn finish(&self) -> Result<Encoder> {
        self.plan.finish(self.unfinished()?.0, self.graph, self.inputs.source())
    }

    /// The same without the statistics of all nodes for batch norm, and whether it should have them.
    pub(crate) fn unfinished(&self) -> Result<(Encoder, bool)> {
        let State { parameters, statistics, .. } = self.engine.state()?;
        let (parameters, statistics) =
            self.lowest.as_ref().map_or((parameters, statistics), |lowest| (&lowest.0, &lowest.1));
        Ok((self.encoder_of(parameters, statistics), self.plan.renormalize))
    }

    fn encoder_of(&self, parameters: &[f32], statistics: &[f32]) -> Encoder {
        let Plan { encoder, readout, .. } = &self.plan;
        Encoder::new(encoder.clone(), parameters, statistics, readout.clone())
    }
}
