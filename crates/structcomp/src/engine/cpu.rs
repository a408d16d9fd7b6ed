//! The CPU: every part of a step on all threads, the same bytes for any number of them.

use super::{Engine, Outcome, State};
use crate::model::{Caller, Compared, Gram, Loss, Objective, OwnObjective, Step};
use crate::nn::{Adam, Pass};
use crate::plan::Plan;
use crate::sample::{Batch, Recurring, Sampler};
use crate::{Error, Features, Result, Seed};
use rayon::prelude::*;

pub(crate) struct Cpu<'a> {
    plan: Plan,
    seed: Seed,
    state: State,
    gradient: Vec<f32>,
    adam: Adam,
    /// A loss of the caller's own, instead of the model's.
    custom: Option<Box<dyn OwnObjective + 'a>>,
    /// The loss, kept while batches have the same rows.
    objective: Option<Box<dyn Objective + Send>>,
    /// The loss by a Gram matrix, where that is possible and cheaper; decided at the first step.
    gram: Option<Option<Gram>>,
    /// Steps in all, for models that follow their own weights.
    steps: usize,
}

impl<'a> Cpu<'a> {
    pub(crate) fn new(
        plan: &Plan,
        seed: Seed,
        steps: usize,
        custom: Option<Box<dyn OwnObjective + 'a>>,
    ) -> Self {
        let mut parameters = plan.network.initial(seed);
        let target = plan.model.momentum(0, steps).map(|_| parameters.clone()).unwrap_or_default();
        parameters.extend(plan.model.own(plan.network.outputs(), seed));
        let (rate, decay) = (plan.learning_rate as f32, plan.weight_decay as f32);
        Self {
            adam: Adam::new(plan.optimizer, rate, decay, parameters.len()),
            gradient: vec![0.0; parameters.len()],
            state: State { parameters, statistics: plan.network.initial_statistics(), target },
            plan: plan.clone(),
            seed,
            custom,
            objective: None,
            gram: None,
            steps,
        }
    }

    /// The loss of a batch; the gradient is written, and the statistics of batch norm are returned.
    fn loss(&mut self, batch: &Batch, step: usize, gradient: &mut [f32]) -> Result<(Loss, Vec<f32>)> {
        self.prepare(batch)?;
        let objective: &dyn Objective = match (&self.objective, &self.custom) {
            (Some(objective), _) => &**objective,
            (None, Some(custom)) => {
                &Caller { objective: &**custom, views: batch.views, nodes: batch.nodes.as_deref() }
            }
            (None, None) => return Err(Error::Input("there is no loss to train with".into())),
        };
        let Self { plan, state, .. } = &*self;
        let (parameters, own) = state.parameters.split_at(plan.network.len());
        let width = plan.network.outputs();
        if let (Some(Some(gram)), Some(quadratic), Features::Dense(x)) =
            (&self.gram, objective.quadratic(), &*batch.x)
        {
            let parameters = parameters.split_at(parameters.len() - width);
            let gradient = gradient.split_at_mut(parameters.0.len());
            let value = gram.loss(quadratic, x, parameters, step, gradient)?;
            return Ok((Loss { value, ..Loss::default() }, state.statistics.clone()));
        }
        let messages = batch.messages.as_deref();
        let pass = Pass { messages, views: batch.views, noise: Some(self.noise(step)) };
        let (z, trace) = plan.network.forward(parameters, &batch.x, pass);
        let target = match state.target.is_empty() {
            true => Vec::new(),
            false => plan.encoder.forward(&state.target, &batch.x, pass).0,
        };
        let shown = Shown { rows: batch.rows(), width, compared: batch.compared.as_deref() };
        let at = Step { number: step, rows: shown.count(), own, target: &target };
        let mut loss = shown.loss(objective, z, &at)?;
        let statistics = plan.network.remembered(&trace, &state.statistics);
        let (of_network, of_own) = gradient.split_at_mut(parameters.len());
        of_own.copy_from_slice(&loss.of_own);
        let of_rows = std::mem::take(&mut loss.gradient);
        plan.network.backward(parameters, &batch.x, pass, trace, of_rows, of_network);
        Ok((loss, statistics))
    }

    /// What dropout draws from in a step.
    pub(crate) fn noise(&self, step: usize) -> Seed {
        Seed(Seed(self.seed.key("noise")).key(&step.to_string()))
    }

    /// Makes the loss for the rows of a batch, unless it is there already.
    fn prepare(&mut self, batch: &Batch) -> Result<()> {
        if self.custom.is_none() && (self.objective.is_none() || batch.recurring == Recurring::Nothing) {
            let rows = batch.compared.as_ref().map_or(batch.rows(), Vec::len);
            let on = Compared {
                rows,
                adjacency: batch.adjacency.as_deref(),
                weights: batch.weights.as_deref(),
                seed: self.seed,
            };
            self.objective = Some(self.plan.model.objective(&on)?);
        }
        if self.gram.is_none() {
            let fixed = batch.recurring == Recurring::Features && batch.messages.is_none();
            let objective = self.objective.as_deref().filter(|_| fixed && self.plan.is_linear());
            self.gram = Some(objective.and_then(|it| Gram::if_cheaper(it, &batch.x, self.plan.hidden)));
        }
        Ok(())
    }

    /// Moves the target weights towards the present ones.
    fn follow(&mut self, step: usize) {
        let Some(kept) = self.plan.model.momentum(step, self.steps) else { return };
        let (kept, State { parameters, target, .. }) = (kept as f32, &mut self.state);
        target.par_iter_mut().with_min_len(1 << 12).zip(&*parameters).for_each(|(target, own)| {
            *target = kept * *target + (1.0 - kept) * own;
        });
    }

    /// The parameters, each moved a little so that none is zero, for tests.
    #[cfg(test)]
    pub(crate) fn parameters_moved(&mut self, by: f32) -> Vec<f32> {
        let moved = (0..).map(|at| by * ((at * 7 % 5) as f32 - 1.5));
        self.state.parameters.iter_mut().zip(moved).for_each(|(parameter, by)| *parameter += by);
        let encoder = self.state.target.len().min(self.state.parameters.len());
        self.state.target.copy_from_slice(&self.state.parameters[..encoder]);
        self.state.parameters.clone()
    }

    /// The gradient of a batch, for tests.
    #[cfg(test)]
    pub(crate) fn gradient(&mut self, batch: &Batch, step: usize) -> Result<(f64, Vec<f32>)> {
        let mut gradient = vec![0.0; self.gradient.len()];
        let (loss, _) = self.loss(batch, step, &mut gradient)?;
        Ok((loss.value, gradient))
    }
}

impl Cpu<'_> {
    /// Forward, loss, gradient and update for one batch.
    pub(crate) fn step_on(&mut self, batch: &Batch, step: usize) -> Result<Outcome> {
        // From inside the pool, so that none of the many loops below has to wake it up.
        rayon::scope(|_| {
            let mut gradient = std::mem::take(&mut self.gradient);
            let result = self.loss(batch, step, &mut gradient);
            self.gradient = gradient;
            let (loss, statistics) = result?;
            let finite = self.adam.step(&mut self.state.parameters, &self.gradient);
            self.state.statistics = statistics;
            self.follow(step);
            Ok(Outcome { loss: loss.value, finite })
        })
    }
}

impl Engine for Cpu<'_> {
    fn step(&mut self, sampler: &dyn Sampler, step: usize) -> Result<Outcome> {
        self.step_on(&sampler.batch(step)?, step)
    }

    fn loss_with(&mut self, parameters: &[f32], sampler: &dyn Sampler, step: usize) -> Result<f64> {
        let batch = sampler.batch(step)?;
        let own = std::mem::replace(&mut self.state.parameters, parameters.to_vec());
        let result = self.loss(&batch, step, &mut vec![0.0; parameters.len()]);
        self.state.parameters = own;
        Ok(result?.0.value)
    }

    fn state(&self) -> Result<&State> {
        Ok(&self.state)
    }

    fn optimizer(&self) -> Result<(i32, &[f32], &[f32])> {
        Ok(self.adam.state())
    }

    fn restore(&mut self, state: State, steps: i32, mean: Vec<f32>, square: Vec<f32>) -> Result<()> {
        self.state = state;
        self.adam.restore(steps, mean, square);
        Ok(())
    }

    fn device(&self) -> &str {
        crate::device::CPU
    }
}

/// Which rows of the networks' results a loss is shown.
struct Shown<'a> {
    rows: usize,
    width: usize,
    compared: Option<&'a [u32]>,
}

impl Shown<'_> {
    fn count(&self) -> usize {
        self.compared.map_or(self.rows, <[u32]>::len)
    }

    /// The loss of the rows that are shown, with the gradient in all rows.
    fn loss(&self, objective: &dyn Objective, z: Vec<f32>, at: &Step) -> Result<Loss> {
        let Some(compared) = self.compared else { return objective.loss(z, self.width, at) };
        let (width, view) = (self.width, self.rows * self.width);
        let chosen = |view: &[f32]| -> Vec<f32> {
            compared.iter().flat_map(|&row| &view[row as usize * width..][..width]).copied().collect()
        };
        let shown = z.chunks(view.max(1)).flat_map(chosen).collect();
        let mut loss = objective.loss(shown, width, at)?;
        let mut gradient = z;
        gradient.fill(0.0);
        let shown = loss.gradient.chunks((compared.len() * width).max(1));
        for (all, shown) in gradient.chunks_mut(view.max(1)).zip(shown) {
            // A row may be shown more than once.
            for (&row, of) in compared.iter().zip(shown.chunks(width)) {
                let own = &mut all[row as usize * width..][..width];
                own.iter_mut().zip(of).for_each(|(own, of)| *own += of);
            }
        }
        loss.gradient = gradient;
        Ok(loss)
    }
}
