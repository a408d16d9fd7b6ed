//! The whole of StructComp: prepare, partition, compress, train; then embed any graph with the same weights.

mod file;
mod fitted;
mod new_nodes;
#[cfg(test)]
mod tests;

pub use crate::solve::Solution;
pub use fitted::{Fitted, Seconds, TrainedOn};
pub use new_nodes::NewNodes;

use crate::encoder::FittedEncoder;
use crate::guard::while_unchanged;
use crate::memory::give_back_memory;
use crate::model::{OwnObjective, Solved};
use crate::sample::Inputs;
use crate::solve::solve;
use crate::{
    Compressed, Dataset, Epoch, Error, Features, Model, Partition, Partitioning, Prepare, Result, Seed,
    Trainer, Training,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

/// What is trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Clusters, without messages.
    #[default]
    Structcomp,
    /// The whole graph, with messages in every step: what StructComp is compared with.
    Full,
}

impl Mode {
    /// What is trained on, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Structcomp => "clusters",
            Self::Full => "the whole graph",
        }
    }

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structcomp => "structcomp",
            Self::Full => "full",
        }
    }
}

/// Settings for everything between a dataset and an embedding.
///
/// ```
/// use structcomp::{Partitioning, Seed, StructComp, data};
///
/// let demo = data::Synthetic::named("demo").unwrap().generate(Seed(0))?;
/// let model = StructComp {
///     partitioning: Partitioning { clusters: Some(200), ..Partitioning::default() },
///     ..StructComp::default()
/// };
/// let fitted = model.fit(&demo)?;
/// let embedding = fitted.embed(&demo)?;
/// assert_eq!((embedding.rows(), embedding.cols()), (demo.graph.nodes(), 256));
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct StructComp {
    /// What is trained on.
    pub mode: Mode,
    /// What is done to the features first.
    pub prepare: Prepare,
    /// How the graph is split into clusters.
    pub partitioning: Partitioning,
    /// How the encoder is trained.
    pub training: Training,
    /// The seed of every random choice.
    pub seed: Seed,
}

/// A stage of [`StructComp::fit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Features are prepared.
    Prepare,
    /// The graph is split into clusters.
    Partition,
    /// The features of each cluster are averaged.
    Compress,
    /// The encoder is trained.
    Train,
}

/// What a caller adds to a fit: progress, cancellation, checkpoints, clusters or a loss of its own.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Called when a stage starts.
    pub on_stage: Option<&'a mut dyn FnMut(Stage)>,
    /// Called after every epoch; `false` ends training, and the encoder is as it is then. The trainer can
    /// [save](Trainer::save) a checkpoint.
    pub on_epoch: Option<EpochHook<'a>>,
    /// A checkpoint to continue from.
    pub resume: Option<PathBuf>,
    /// Clusters to use instead of making some.
    pub partition: Option<Partition>,
    /// The loss of [`Model::Own`].
    pub loss: Option<Box<dyn OwnObjective + 'a>>,
}

/// See [`Hooks::on_epoch`].
pub type EpochHook<'a> = &'a mut dyn FnMut(&Epoch, &Trainer<'_>) -> Result<bool>;

impl StructComp {
    /// Trains on a dataset.
    pub fn fit(&self, data: &Dataset) -> Result<Fitted> {
        self.fit_with(data, Hooks::default())
    }

    /// Trains on a dataset, with callbacks.
    pub fn fit_with(&self, data: &Dataset, hooks: Hooks<'_>) -> Result<Fitted> {
        while_unchanged(&data.graph, data.features.as_ref(), || self.stages(data, hooks))
    }

    fn stages(&self, data: &Dataset, mut hooks: Hooks<'_>) -> Result<Fitted> {
        let mut seconds = Seconds::default();
        let mut stage = |stage| hooks.on_stage.iter_mut().for_each(|on_stage| on_stage(stage));

        stage(Stage::Prepare);
        let started = Instant::now();
        let (prepared, x) = self.prepare.fit(&data.graph, data.features.as_ref(), self.seed)?;
        seconds.prepare = started.elapsed().as_secs_f64();

        let clusters = match self.mode {
            Mode::Structcomp => {
                stage(Stage::Partition);
                let started = Instant::now();
                let clusters = self.partition(data, hooks.partition.take())?;
                seconds.partition = started.elapsed().as_secs_f64();
                stage(Stage::Compress);
                Some(clusters)
            }
            Mode::Full => None,
        };
        let started = Instant::now();
        let compressed = match &clusters {
            Some((partition, _)) => Some(Compressed::new(&x, partition)?),
            None => None,
        };
        seconds.compress = started.elapsed().as_secs_f64();

        stage(Stage::Train);
        let started = Instant::now();
        let result = match (&self.training.model, &compressed) {
            (Model::Solved(settings), Some(compressed)) => self.solve(settings, data, compressed)?,
            (Model::Solved(_), None) => {
                return Err(Error::Input("the solved model needs clusters; use the mode structcomp".into()));
            }
            _ => {
                let inputs = compressed.as_ref().map_or(Inputs::Nodes(&x), Inputs::Clusters);
                self.train(data, inputs, hooks.loss.take(), hooks.resume, hooks.on_epoch)?
            }
        };
        drop(compressed);
        give_back_memory();
        seconds.train = started.elapsed().as_secs_f64();

        let Learnt { encoder, losses, interrupted, solution } = result;
        Ok(Fitted {
            settings: self.clone(),
            prepared,
            encoder,
            trained_on: TrainedOn::of(data),
            clusters_requested: clusters.as_ref().map(|clusters| clusters.1),
            partition: clusters.map(|clusters| clusters.0),
            epochs: losses.len(),
            losses,
            solution,
            interrupted,
            seconds,
        })
    }

    fn solve(&self, settings: &Solved, data: &Dataset, compressed: &Compressed) -> Result<Learnt> {
        self.training.check_solved()?;
        let (filtered, solution) = solve(settings, &data.graph, compressed, self.seed)?;
        let encoder = FittedEncoder::Filters(filtered);
        let solution = Some(solution);
        Ok(Learnt { encoder, losses: Vec::new(), interrupted: false, solution })
    }

    fn train<'a>(
        &self,
        data: &'a Dataset,
        inputs: Inputs<'a>,
        loss: Option<Box<dyn OwnObjective + 'a>>,
        resume: Option<PathBuf>,
        on_epoch: Option<EpochHook<'_>>,
    ) -> Result<Learnt> {
        let mut trainer = Trainer::new(&self.training, inputs, &data.graph, self.seed, loss)?;
        if let Some(checkpoint) = &resume {
            trainer.resume(checkpoint)?;
        }
        let interrupted = !run(&mut trainer, on_epoch)?;
        let encoder = FittedEncoder::Layers(trainer.finish()?);
        let losses = trainer.losses().to_vec();
        Ok(Learnt { encoder, losses, interrupted, solution: None })
    }

    /// The clusters, and how many were asked for.
    fn partition(&self, data: &Dataset, given: Option<Partition>) -> Result<(Partition, usize)> {
        let Some(partition) = given else { return self.partitioning.split(&data.graph, self.seed) };
        if partition.nodes() != data.graph.nodes() {
            return Err(Error::Input(format!(
                "the clusters are of {} nodes, but the graph has {}",
                partition.nodes(),
                data.graph.nodes()
            )));
        }
        let clusters = partition.clusters();
        Ok((partition, clusters))
    }

    /// The features of a dataset as the first layer would see them.
    pub fn prepared_features<'x>(&self, data: &'x Dataset) -> Result<Cow<'x, Features>> {
        let (_, x) = self.prepare.fit(&data.graph, data.features.as_ref(), self.seed)?;
        Ok(x)
    }
}

/// What training or solving gives.
struct Learnt {
    encoder: FittedEncoder,
    losses: Vec<f64>,
    interrupted: bool,
    solution: Option<Solution>,
}

/// Trains until it is done; whether it was not ended before.
fn run(trainer: &mut Trainer<'_>, mut on_epoch: Option<EpochHook<'_>>) -> Result<bool> {
    while !trainer.is_done() {
        let epoch = trainer.step()?;
        if let Some(on_epoch) = &mut on_epoch
            && !on_epoch(&epoch, trainer)?
        {
            return Ok(trainer.is_done());
        }
    }
    Ok(true)
}
