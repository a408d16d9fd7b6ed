//! A GPU of NVIDIA's: parameters, the optimiser's state and the rows of a step live there, and a step is one graph of
//! kernels and products that is recorded once. Nothing but the loss comes back before somebody asks for the weights.
//!
//! `kernels.cu` is compiled beforehand, by `scripts/kernels.py`; products are cuBLAS's. All sums are made in a fixed
//! order, so that the same GPU gives the same bytes again.

mod contrast;
mod correlation;
mod embed;
mod gpu;
mod layers;
mod operand;
mod pairs;
mod reach;
#[cfg(test)]
#[allow(clippy::print_stdout)] // says what was measured
mod tests;
mod views;

use super::{Engine, Outcome, State};
use crate::model::{Compared, Model};
use crate::plan::Plan;
use crate::sample::{Inputs, Sampler, Views};
use crate::{Error, Optimizer, Result, Seed};
use contrast::PanelContrast;
use correlation::Correlation;
pub(crate) use embed::GraphEngine;
use gpu::{Gpu, Recorded};
use layers::GpuLayers;
use operand::{GpuArray, args};
use pairs::PairLoss;
pub(super) use reach::{embedding_pays, embedding_refusal, pays, refusal};
use std::sync::OnceLock;
use views::ClusterViews;

/// All kernels by name.
const NAMES: [&str; 38] = [
    "activate",
    "activate_back",
    "adam",
    "add_exp_sums",
    "close_step",
    "cluster_means",
    "combine",
    "contrast_rows",
    "differences",
    "dots",
    "draw_pairs",
    "exp_sums_half",
    "exp_sums_single",
    "finish_columns",
    "finish_moments",
    "hop_half",
    "hop_half_wide",
    "hop_single",
    "hop_single_wide",
    "inverses",
    "keep_members",
    "list_pairs",
    "moments",
    "narrowed",
    "off_identity",
    "open_step",
    "outer",
    "pair_starts",
    "scale_all",
    "sort_pairs",
    "sparse_cluster_means",
    "standardize",
    "sum_doubles",
    "sum_floats",
    "unit_rows",
    "unstandardize",
    "weights_half",
    "weights_single",
];

/// Those for compute capability 9.0; the first needs no shared memory.
const HOPPER_NAMES: [&str; 3] = ["add_pair_sums", "pair_sums", "pair_weights"];

/// Training on clusters on a GPU.
pub(super) struct Cuda {
    gpu: Gpu,
    device: String,
    plan: Plan,
    views: ClusterViews,
    layers: GpuLayers,
    loss: GpuLoss,
    parameters: GpuArray<f32>,
    gradient: GpuArray<f32>,
    mean: GpuArray<f32>,
    square: GpuArray<f32>,
    step: StepState,
    /// A whole step; recorded after the first, in which cuBLAS gets ready.
    recorded: Option<Recorded>,
    is_warm: bool,
    /// Batch norm's statistics and target weights, of which there are none.
    rest: State,
    state: OnceLock<State>,
    optimizer: OnceLock<(Vec<f32>, Vec<f32>)>,
}

/// What changes from step to step, on the GPU and here.
struct StepState {
    /// The step, and the updates before it.
    clock: GpuArray<u64>,
    /// Corrections of Adam, and what a gradient is scaled by.
    scalars: GpuArray<f32>,
    /// Parameters that are no numbers any more.
    lost: GpuArray<u32>,
    /// The loss, tr(ZᵀMZ), and how many parameters were lost.
    outcome: GpuArray<f64>,
    number: u64,
    updates: u64,
}

enum GpuLoss {
    Contrast(Box<PanelContrast>),
    Correlation(Correlation),
    Pairs(PairLoss),
}

impl GpuLoss {
    fn new(gpu: &Gpu, plan: &Plan, sampler: &dyn Sampler, rows: usize, seed: Seed) -> Result<Self> {
        let width = plan.network.outputs();
        Ok(match &plan.model {
            Model::Grace(grace) => Self::Contrast(Box::new(PanelContrast::new(gpu, grace.tau, rows, width)?)),
            Model::CcaSsg(_) if rows < 4 => {
                return Err(Error::Input("columns of a single row cannot be standardised".into()));
            }
            Model::CcaSsg(cca) => Self::Correlation(Correlation::new(gpu, cca.lambda, rows / 2, width)?),
            Model::Sce(sce) => Self::Pairs(PairLoss::sce(gpu, sce, seed, rows, width)?),
            model => {
                let batch = sampler.batch(0)?;
                let on = Compared { rows, adjacency: batch.adjacency.as_deref(), weights: None, seed };
                Self::Pairs(PairLoss::coles(gpu, model, &on, width)?)
            }
        })
    }
}

impl Cuda {
    /// Ready for the first step with these parameters. The plan and the inputs must be ones that
    /// [`refusal`] has nothing against.
    pub(super) fn new(
        plan: &Plan,
        inputs: Inputs,
        sampler: &dyn Sampler,
        seed: Seed,
        precision: crate::device::Precision,
        start: &State,
    ) -> Result<Self> {
        let (Inputs::Clusters(compressed), Some(network)) = (inputs, plan.network.single()) else {
            return Err(Error::Input("only training on clusters runs on the GPU".into()));
        };
        let gpu = Gpu::open(precision)?;
        gpu.check_memory("training", reach::bytes(plan, compressed, precision))?;
        let two = (plan.sampling.views == Views::Two).then_some(plan.sampling.drop_member);
        let views = ClusterViews::new(&gpu, compressed, two, seed)?;
        let layers = GpuLayers::new(&gpu, network, views.rows)?;
        let loss = GpuLoss::new(&gpu, plan, sampler, views.rows, seed)?;
        let count = start.parameters.len();
        let step = StepState {
            clock: gpu.zeros(2)?,
            scalars: gpu.zeros(3)?,
            lost: gpu.zeros(1)?,
            outcome: gpu.zeros(3)?,
            number: 0,
            updates: 0,
        };
        Ok(Self {
            device: format!("{} ({})", gpu.name(), reach::name(precision)),
            parameters: gpu.upload(&start.parameters)?,
            gradient: gpu.zeros(count)?,
            mean: gpu.zeros(count)?,
            square: gpu.zeros(count)?,
            rest: State { parameters: Vec::new(), ..start.clone() },
            plan: plan.clone(),
            views,
            layers,
            loss,
            step,
            recorded: None,
            is_warm: false,
            state: OnceLock::new(),
            optimizer: OnceLock::new(),
            gpu,
        })
    }

    /// Makes the clock show a step.
    fn set_clock(&mut self, step: usize) -> Result<()> {
        if self.step.number != step as u64 {
            self.step.number = step as u64;
            self.gpu.write(&mut self.step.clock, &[self.step.number, self.step.updates])?;
        }
        Ok(())
    }

    /// The rows, what the layers make of them, the loss and its gradient in the result.
    fn forward(&mut self) -> Result<()> {
        let Self { gpu, views, layers, loss, parameters, step, .. } = self;
        views.draw(gpu, &step.clock)?;
        layers.forward(gpu, parameters, &views.x)?;
        let (z, gradient) = layers.result_and_gradient()?;
        match loss {
            GpuLoss::Contrast(loss) => loss.loss(gpu, z, gradient, &step.outcome),
            GpuLoss::Correlation(loss) => loss.loss(gpu, z, gradient, &step.outcome),
            GpuLoss::Pairs(loss) => loss.loss(gpu, &step.clock, z, gradient, (&step.outcome, &step.scalars)),
        }
    }

    /// A whole step.
    fn whole(&mut self) -> Result<()> {
        let rate = self.plan.learning_rate as f32;
        let StepState { clock, scalars, lost, .. } = &self.step;
        self.gpu.launch("open_step", (1, 1), (1, 1), args![clock, rate as f64, scalars, lost])?;
        self.forward()?;
        let Self { gpu, views, layers, parameters, gradient, mean, square, step, .. } = self;
        layers.backward(gpu, parameters, &views.x, gradient)?;
        let decay = self.plan.weight_decay as f32;
        let (in_gradient, shrink) = match self.plan.optimizer {
            Optimizer::Adam => (decay, 1.0),
            Optimizer::AdamW => (0.0, 1.0 - rate * decay),
        };
        let count = parameters.len();
        let (scalars, lost) = (&step.scalars, &step.lost);
        let args = args![
            &*parameters,
            &*gradient,
            &*mean,
            &*square,
            count as u32,
            scalars,
            in_gradient,
            shrink,
            lost
        ];
        gpu.launch("adam", (count.div_ceil(256), 1), (256, 1), args)?;
        gpu.launch("close_step", (1, 1), (1, 1), args![&step.clock, lost, &step.outcome])
    }

    /// Starts a step, by what was recorded of the second.
    fn start(&mut self) -> Result<()> {
        if !self.is_warm {
            self.is_warm = true;
            return self.whole();
        }
        if self.recorded.is_none() {
            self.gpu.begin_recording()?;
            let done = self.whole();
            let recorded = self.gpu.end_recording();
            done?;
            self.recorded = recorded?;
        }
        match &mut self.recorded {
            Some(recorded) => recorded.start(),
            None => self.whole(),
        }
    }

    fn outcome(&self) -> Result<[f64; 3]> {
        let mut outcome = [0.0; 3];
        self.gpu.read(&self.step.outcome, &mut outcome)?;
        match &self.loss {
            GpuLoss::Pairs(loss) if loss.divides() && outcome[1] < 1e-12 => {
                Err(Error::Input("all rows are equal, so there is nothing to push apart".into()))
            }
            _ => Ok(outcome),
        }
    }

    /// The gradient of the last step, for tests.
    #[cfg(test)]
    fn last_gradient(&self) -> Result<Vec<f32>> {
        self.gpu.download(&self.gradient)
    }
}

impl Engine for Cuda {
    fn step(&mut self, _: &dyn Sampler, step: usize) -> Result<Outcome> {
        self.set_clock(step)?;
        self.state.take();
        self.optimizer.take();
        self.start()?;
        self.step.number += 1;
        self.step.updates += 1;
        let [loss, _, lost] = self.outcome()?;
        Ok(Outcome { loss, finite: lost == 0.0 })
    }

    fn loss_with(&mut self, parameters: &[f32], _: &dyn Sampler, step: usize) -> Result<f64> {
        self.set_clock(step)?;
        let own = std::mem::replace(&mut self.parameters, self.gpu.upload(parameters)?);
        let done = self.forward();
        // The others must not be given back while they are in use.
        let outcome = self.outcome();
        self.parameters = own;
        done?;
        Ok(outcome?[0])
    }

    fn state(&self) -> Result<&State> {
        if let Some(state) = self.state.get() {
            return Ok(state);
        }
        let state = State { parameters: self.gpu.download(&self.parameters)?, ..self.rest.clone() };
        Ok(self.state.get_or_init(|| state))
    }

    fn optimizer(&self) -> Result<(i32, &[f32], &[f32])> {
        if self.optimizer.get().is_none() {
            let both = (self.gpu.download(&self.mean)?, self.gpu.download(&self.square)?);
            self.optimizer.get_or_init(|| both);
        }
        let (mean, square) = self.optimizer.get().map_or((&[][..], &[][..]), |(mean, square)| (mean, square));
        Ok((self.step.updates as i32, mean, square))
    }

    fn restore(&mut self, state: State, steps: i32, mean: Vec<f32>, square: Vec<f32>) -> Result<()> {
        self.gpu.write(&mut self.parameters, &state.parameters)?;
        self.gpu.write(&mut self.mean, &mean)?;
        self.gpu.write(&mut self.square, &square)?;
        self.step.updates = steps as u64;
        self.gpu.write(&mut self.step.clock, &[self.step.number, self.step.updates])?;
        self.gpu.wait()?;
        self.state.take();
        self.optimizer.take();
        Ok(())
    }

    fn device(&self) -> &str {
        &self.device
    }
}

#[cfg(test)]
mod shipped {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_kernels_that_are_shipped_are_those_of_the_source() {
        let hex =
            |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (plain, hopper) = (include_bytes!("cuda/kernels.cu"), include_bytes!("cuda/hopper.cu"));
        let files = [
            (&plain[..], "kernels.cu"),
            (gpu::KERNELS, "kernels.fatbin"),
            (hopper, "hopper.cu"),
            (gpu::HOPPER, "hopper.fatbin"),
        ];
        let found: String = files.iter().map(|(bytes, name)| format!("{}  {name}\n", hex(bytes))).collect();
        let noted = include_str!("cuda/kernels.sha256");
        assert_eq!(found, noted, "compile them again with scripts/kernels.py");
    }

    #[test]
    fn every_kernel_of_the_source_is_known_by_name() {
        let kernels = |source: &'static str| {
            let declared =
                source.split("extern \"C\" __global__ void ").skip(1).chain(source.split("\nHOP(").skip(1));
            let declared = declared.filter_map(|rest| {
                rest.trim_start_matches("__launch_bounds__(THREADS, 1)").trim().split(['(', ',']).next()
            });
            let mut kernels: Vec<&str> = declared.filter(|name| *name != "NAME").collect();
            kernels.sort_unstable();
            kernels
        };
        assert_eq!(kernels(include_str!("cuda/kernels.cu")), NAMES);
        assert_eq!(kernels(include_str!("cuda/hopper.cu")), HOPPER_NAMES);
    }
}
