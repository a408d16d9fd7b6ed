//! The whole of StructComp: prepare, partition, compress, train; then embed any graph with the same weights.

mod file;
mod fitted;
mod mode;
mod new_nodes;
pub mod pieces;
#[cfg(test)]
mod tests;

pub use crate::solve::Solution;
pub use fitted::{Fitted, Seconds, TrainedOn};
pub use mode::Mode;
pub use new_nodes::NewNodes;

use crate::device;
use crate::encoder::{Encoder, FittedEncoder, Zoomed};
use crate::guard::while_unchanged;
use crate::memory::give_back_memory;
use crate::model::{OwnObjective, Solved};
use crate::sample::Inputs;
use crate::solve::solve;
use crate::{
    Compressed, Compute, Dataset, Device, Epoch, Error, Features, Graph, Model, Partition, Partitioning,
    Prepare, Result, Saint, Seed, Trainer, Training, Zoom,
};
use mode::Ground;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

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
    /// How the graph is split into clusters, in modes that use any.
    pub partitioning: Partitioning,
    /// Cluster-GCN: how many clusters are in a batch; 20 by default, or all if there are fewer.
    pub batch_clusters: Option<usize>,
    /// GraphSAINT: how batches are sampled.
    pub saint: Saint,
    /// GraphZoom: how the graph is coarsened.
    pub zoom: Zoom,
    /// How the encoder is trained.
    pub training: Training,
    /// The seed of every random choice.
    pub seed: Seed,
    /// Where and how precisely it is computed; not in a saved model.
    #[serde(skip_serializing_if = "Compute::is_default")]
    pub compute: Compute,
}

/// A stage of [`StructComp::fit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Features are prepared.
    Prepare,
    /// The graph is split into clusters, or coarsened.
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
        self.check_mode()?;
        let mut seconds = Seconds::default();
        let mut stage = |stage| hooks.on_stage.iter_mut().for_each(|on_stage| on_stage(stage));

        stage(Stage::Prepare);
        let started = Instant::now();
        let (prepared, x) = self.prepare.fit(&data.graph, data.features.as_ref(), self.seed)?;
        seconds.prepare = started.elapsed().as_secs_f64();

        if self.mode.is_staged() {
            stage(Stage::Partition);
        }
        let started = Instant::now();
        let ground = self.ground(data, &x, hooks.partition.take())?;
        seconds.partition = started.elapsed().as_secs_f64();

        if self.mode == Mode::Structcomp {
            stage(Stage::Compress);
        }
        let started = Instant::now();
        let compressed = match (&ground, self.mode) {
            (Ground::Clusters(partition, _), Mode::Structcomp) => Some(Compressed::new(&x, partition)?),
            _ => None,
        };
        seconds.compress = started.elapsed().as_secs_f64();

        stage(Stage::Train);
        let started = Instant::now();
        let result = match (&self.training.model, &compressed) {
            (Model::Solved(settings), Some(compressed)) => self.solve(settings, data, compressed)?,
            _ => {
                let (graph, inputs) = self.inputs(data, &x, &ground, compressed.as_ref());
                self.train(graph, inputs, hooks.loss.take(), hooks.resume, hooks.on_epoch)?
            }
        };
        drop(compressed);
        let (partition, clusters_requested) = ground.clusters();
        give_back_memory();
        seconds.train = started.elapsed().as_secs_f64();

        let Learnt { encoder, losses, interrupted, solution, device } = result;
        Ok(Fitted {
            settings: self.clone(),
            prepared,
            encoder,
            trained_on: TrainedOn::of(data),
            clusters_requested,
            partition,
            epochs: losses.len(),
            losses,
            solution,
            interrupted,
            device: Some(device),
            seconds,
        })
    }

    fn solve(&self, settings: &Solved, data: &Dataset, compressed: &Compressed) -> Result<Learnt> {
        self.training.check_solved()?;
        self.compute.check()?;
        if self.compute.device == Device::Cuda {
            let what = "the solved recipe is not computed on the GPU; leave out the device, or choose a model that is trained";
            return Err(Error::Input(what.into()));
        }
        let (filtered, solution) = solve(settings, &data.graph, compressed, self.seed)?;
        let encoder = FittedEncoder::Filters(filtered);
        let solution = Some(solution);
        let device = device::CPU.to_owned();
        Ok(Learnt { encoder, losses: Vec::new(), interrupted: false, solution, device })
    }

    /// What training is built on: clusters, a coarse graph, or nothing but the graph.
    fn ground<'a>(&self, data: &'a Dataset, x: &Features, given: Option<Partition>) -> Result<Ground<'a>> {
        match self.mode {
            mode if given.is_some() && !mode.uses_clusters() => {
                Err(Error::Input(format!("clusters are given, but the mode {} uses none", mode.name())))
            }
            Mode::Structcomp | Mode::ClusterGcn => self
                .partition(data, given)
                .map(|(partition, requested)| Ground::Clusters(partition, requested)),
            Mode::Graphzoom => {
                self.zoom.coarsen(&data.graph, x, self.seed).map(|coarse| Ground::Coarse(Box::new(coarse)))
            }
            Mode::Full | Mode::Graphsaint => Ok(Ground::Graph),
        }
    }

    /// The graph that is trained on, and what training sees of it.
    fn inputs<'a>(
        &self,
        data: &'a Dataset,
        x: &'a Features,
        ground: &'a Ground<'_>,
        compressed: Option<&'a Compressed<'a>>,
    ) -> (&'a Graph, Inputs<'a>) {
        let inputs = match (ground, compressed) {
            (_, Some(compressed)) => Inputs::Clusters(compressed),
            (Ground::Clusters(partition, _), None) => {
                Inputs::ClusterGcn { features: x, partition, batch_clusters: self.batch_clusters }
            }
            (Ground::Coarse(coarse), None) => return (&coarse.graph, Inputs::Nodes(&coarse.features)),
            (Ground::Graph, None) if self.mode == Mode::Graphsaint => {
                Inputs::Saint { features: x, saint: self.saint }
            }
            (Ground::Graph, None) => Inputs::Nodes(x),
        };
        (&data.graph, inputs)
    }

    fn train<'a>(
        &self,
        graph: &'a Graph,
        inputs: Inputs<'a>,
        loss: Option<Box<dyn OwnObjective + 'a>>,
        resume: Option<PathBuf>,
        on_epoch: Option<EpochHook<'_>>,
    ) -> Result<Learnt> {
        let trainer = Trainer::new(&self.training, inputs, graph, self.seed, loss)?;
        let mut trainer = trainer.on(self.compute)?;
        if let Some(checkpoint) = &resume {
            trainer.resume(checkpoint)?;
        }
        let interrupted = !run(&mut trainer, on_epoch)?;
        let encoder = self.embedding_with(trainer.finish()?);
        let losses = trainer.losses().to_vec();
        let device = trainer.device().to_owned();
        Ok(Learnt { encoder, losses, interrupted, solution: None, device })
    }

    /// What embeds with trained layers.
    fn embedding_with(&self, encoder: Encoder) -> FittedEncoder {
        match self.mode {
            Mode::Graphzoom => FittedEncoder::Zoomed(Zoomed::new(encoder, self.zoom, self.seed)),
            _ => FittedEncoder::Layers(encoder),
        }
    }

    /// The clusters, and how many were asked for.
    fn partition(&self, data: &Dataset, given: Option<Partition>) -> Result<(Partition, usize)> {
        let Some(partition) = given else {
            let clusters = self.partitioning.clusters.or(self.mode.clusters(data.graph.nodes()));
            let asked = Partitioning { clusters, ..self.partitioning.clone() };
            let partitioning = if asked.is_file() { &self.partitioning } else { &asked };
            return partitioning.split(&data.graph, self.seed);
        };
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
    /// What it was trained on, as reports name it.
    device: String,
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
