//! From data to a trained encoder: the flags and the stages that `run` and `train` share.

use super::partition::method_or_file;
use crate::{
    args::Common,
    terminal::{Lines, grouped},
};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use structcomp::{
    Compressed, Dataset, Dense, Diagnostics, Features, Inputs, Model, Origin, Partition, Partitioning,
    Preset, Quality, Seed, Trained, Trainer, Training, Weights,
};

#[derive(Args)]
#[command(next_help_heading = "Training")]
pub(crate) struct Settings {
    /// The contrastive model [default: a recipe that suits most data, by CCA-SSG]
    #[arg(long, value_name = "MODEL", value_parser = clap::builder::PossibleValuesParser::new(Model::NAMES))]
    model: Option<String>,
    /// Settings to start from: ours or the paper's for this data and model, or the model's own
    #[arg(long, value_name = "PRESET", default_value = "ours")]
    preset: Choice,
    /// Train on clusters, or for comparison on the whole graph with messages in every step
    #[arg(long, value_name = "MODE", default_value = "structcomp")]
    mode: Mode,
    /// How many clusters [default: the preset's, or a tenth of the nodes]
    #[arg(long, short = 'k', value_name = "K")]
    clusters: Option<usize>,
    /// How clusters are made, or a .part file; 'structcomp partition --help' lists the methods
    #[arg(long, value_name = "METHOD", default_value = "multilevel", value_parser = method_or_file)]
    partitioner: String,
    /// Steps of the optimiser
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Learning rate
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// Weight decay
    #[arg(long, value_name = "DECAY")]
    weight_decay: Option<f64>,
    /// Numbers a row of the embedding has
    #[arg(long, value_name = "N")]
    hidden: Option<usize>,
    /// Layers of the encoder
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Where the encoder passes messages: in every layer, or before all [default: as the model's authors do]
    #[arg(long, value_name = "KIND", value_parser = ["gcn", "sgc", "ssgc"])]
    encoder: Option<String>,
    /// SGC, SSGC: how many hops [default: 2, 16]
    #[arg(long, value_name = "K")]
    hops: Option<usize>,
    /// SSGC: the share of a node's own features [default: 0.05]
    #[arg(long, value_name = "ALPHA")]
    ssgc_alpha: Option<f64>,
    /// What follows the last layer [default: as the model's authors have it]
    #[arg(long, value_name = "NAME", value_parser = ["none", "relu", "elu", "prelu", "prelu-shared"])]
    activation: Option<String>,
    /// When to stop: after all epochs, or before when training has settled, which needs no labels
    #[arg(long, value_name = "WHEN", value_parser = ["epochs", "auto"])]
    stop: Option<String>,
    /// Shift and scale the embedding to a mean of zero and a length of √(mean degree)
    #[arg(long)]
    standardize: bool,
    /// SCE: the scale of the loss; MVGRL: the probability to go back of its PageRank
    #[arg(long, value_name = "ALPHA")]
    alpha: Option<f64>,
    /// COLES, CCA-SSG, BlockGCL: the weight of what is pushed apart
    #[arg(long, value_name = "LAMBDA")]
    lambda: Option<f64>,
    /// SCE, COLES, SP-GCL: random pairs drawn for each row
    #[arg(long, value_name = "N")]
    negatives: Option<usize>,
    /// GRACE: the temperature
    #[arg(long, value_name = "TAU")]
    tau: Option<f64>,
    /// The share of numbers that training leaves out behind each layer
    #[arg(long, value_name = "SHARE")]
    dropout: Option<f64>,
    /// Keep the encoder of the lowest loss, and stop after so many epochs without a lower one
    #[arg(long, value_name = "N")]
    patience: Option<usize>,
    /// Any other setting of the model or of training by its name, such as reach=5 or batch-norm=false
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Full graph: the share of edges that each of two views drops
    #[arg(long, value_name = "A,B", num_args = 1, value_delimiter = ',')]
    drop_edges: Option<Vec<f64>>,
    /// Full graph: the share of features that each of two views masks
    #[arg(long, value_name = "A,B", num_args = 1, value_delimiter = ',')]
    mask_features: Option<Vec<f64>>,
    /// Write a checkpoint after every so many epochs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) checkpoint_every: Option<u32>,
    /// Go on from the checkpoint
    #[arg(long)]
    pub(super) resume: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Choice {
    Ours,
    Paper,
    None,
}

#[derive(Clone, Copy, PartialEq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Structcomp,
    Full,
}

/// What came of it.
pub(super) struct Outcome {
    pub(super) training: Training,
    pub(super) trained: Trained,
    /// The clusters, how many were asked for, and the method; none in training on the whole graph.
    pub(super) clusters: Option<(Partition, usize, String)>,
    pub(super) seconds: Seconds,
    mode: Mode,
    interrupted: bool,
}

/// How long each stage took.
#[derive(Clone, Copy, Default)]
pub(super) struct Seconds {
    pub(super) partition: f64,
    pub(super) compress: f64,
    pub(super) train: f64,
}

#[derive(Serialize)]
pub(super) struct Clusters {
    pub(super) method: String,
    pub(super) requested: usize,
    #[serde(flatten)]
    pub(super) quality: Quality,
}

#[derive(Serialize)]
pub(super) struct Epochs {
    mode: Mode,
    pub(super) epochs: usize,
    pub(super) loss_first: f64,
    pub(super) loss_last: f64,
    /// How far training had got, by a measure that needs no labels, after each epoch.
    settled: Vec<f64>,
    pub(super) seconds_per_epoch: f64,
    /// Whether it was stopped before all epochs were done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) interrupted: bool,
}

impl Settings {
    /// Partitions, compresses and trains. Ctrl-C ends training after the epoch under way.
    pub(super) fn train(
        &self,
        dataset: &Dataset,
        features: &Features,
        common: &Common,
        checkpoint: Option<&Path>,
        spinner: &ProgressBar,
    ) -> Result<Outcome> {
        let seed = common.seed();
        let (wanted, training) = self.settings(dataset, features, seed)?;
        let mut lap = Lap::default();
        let mut seconds = Seconds::default();
        let mut clusters = None;
        if self.mode == Mode::Structcomp {
            spinner.set_message(format!("partitioning by {}", self.partitioner));
            let mut config = Partitioning { method: self.partitioner.clone(), ..Partitioning::default() };
            // A preset's number is no wish of the user's where a file says what the clusters are.
            config.clusters = if config.is_file() { self.clusters } else { wanted };
            let (partition, requested) = config.split(&dataset.graph, seed)?;
            clusters = Some((partition, requested, config.method));
        }
        seconds.partition = lap.time();
        let compressed = match &clusters {
            Some((partition, ..)) => Some(Compressed::new(features, partition)?),
            None => None,
        };
        seconds.compress = lap.time();
        let inputs = compressed.as_ref().map_or(Inputs::Nodes(features), Inputs::Clusters);
        let mut trainer = Trainer::new(&training, inputs, &dataset.graph, seed)?;
        if let Some(path) = checkpoint.filter(|_| self.resume) {
            trainer.resume(path).context("cannot go on (leave out --resume to start anew)")?;
        }
        let stop = interrupts()?;
        while !trainer.is_done() && !stop.load(Relaxed) {
            let epoch = trainer.step()?;
            spinner.set_message(format!(
                "training {}: epoch {} of {}, loss {:.4}",
                training.model.name(),
                epoch.number,
                training.epochs,
                epoch.loss
            ));
            let due = self.checkpoint_every.is_some_and(|every| epoch.number % every as usize == 0);
            if let Some(path) =
                checkpoint.filter(|_| due || (self.checkpoint_every.is_some() && stop.load(Relaxed)))
            {
                trainer.save(path)?;
            }
        }
        // From here on Ctrl-C ends the program again.
        stop.store(true, Relaxed);
        let interrupted = !trainer.is_done();
        let trained = trainer.finish()?;
        seconds.train = lap.time();
        drop(compressed);
        structcomp::give_back_memory();
        Ok(Outcome { training, trained, clusters, seconds, mode: self.mode, interrupted })
    }

    /// The number of clusters and how to train: the preset, and what was typed on top.
    fn settings(&self, dataset: &Dataset, x: &Features, seed: Seed) -> Result<(Option<usize>, Training)> {
        let of_clusters = |preset: Preset| (preset.clusters, preset.training);
        let (clusters, mut training) = match (self.preset, &self.model) {
            (Choice::Ours, None) => (None, Preset::recipe(&dataset.graph, x, seed)),
            (Choice::Paper | Choice::None, None) => bail!("--preset is about a model; name one with --model"),
            (choice, Some(model)) => {
                let preset = match choice {
                    Choice::Ours if self.is_full() => {
                        Preset::full(model, &dataset.name)?.map(|preset| (None, preset.training))
                    }
                    Choice::Ours => Preset::ours(model, &dataset.name)?.map(of_clusters),
                    Choice::Paper => Preset::paper(model, &dataset.name)?.map(of_clusters),
                    Choice::None => None,
                };
                match preset {
                    Some(preset) => preset,
                    None => (None, Training { model: Model::named(model)?, ..Training::default() }),
                }
            }
        };
        // The names are those of the library, so that a flag and a setting cannot differ.
        fn named<T: DeserializeOwned>(flag: &Option<String>) -> Result<Option<T>> {
            let value = |name: &String| serde_json::from_value(name.as_str().into());
            Ok(flag.as_ref().map(value).transpose()?)
        }
        let encoder = named(&self.encoder)?;
        if encoder.is_some() {
            (training.encoder, training.hops) = (encoder, None);
        }
        training.hops = self.hops.or(training.hops);
        training.ssgc_alpha = self.ssgc_alpha.or(training.ssgc_alpha);
        training.activation = named(&self.activation)?.or(training.activation);
        training.stop = named(&self.stop)?.unwrap_or(training.stop);
        training.standardize |= self.standardize;
        training.epochs = self.epochs.unwrap_or(training.epochs);
        training.learning_rate = self.lr.unwrap_or(training.learning_rate);
        training.weight_decay = self.weight_decay.unwrap_or(training.weight_decay);
        training.hidden = self.hidden.unwrap_or(training.hidden);
        training.layers = self.layers.unwrap_or(training.layers);
        training.dropout = self.dropout.unwrap_or(training.dropout);
        training.patience = self.patience.or(training.patience);
        self.of_the_model(&mut training.model)?;
        for setting in &self.set {
            set(&mut training, setting)?;
        }
        for (typed, shares) in [
            (&self.drop_edges, &mut training.augment.drop_edges),
            (&self.mask_features, &mut training.augment.mask_features),
        ] {
            match typed.as_deref() {
                None => {}
                Some(&[both]) => *shares = [both; 2],
                Some(&[first, second]) => *shares = [first, second],
                Some(_) => bail!("two views take two shares, such as 0.2,0.4"),
            }
        }
        if self.mode == Mode::Structcomp && (self.drop_edges.is_some() || self.mask_features.is_some()) {
            bail!("--drop-edges and --mask-features make views of the whole graph; add --mode full");
        }
        if self.mode == Mode::Full && (self.clusters.is_some() || self.partitioner != "multilevel") {
            bail!("training on the whole graph has no clusters; leave out --clusters and --partitioner");
        }
        Ok((self.clusters.or(clusters), training))
    }

    /// The model's own parameters; one that it does not have is an error.
    fn of_the_model(&self, model: &mut Model) -> Result<()> {
        let typed = [
            ("alpha", self.alpha.map(Value::from)),
            ("lambda", self.lambda.map(Value::from)),
            ("negatives", self.negatives.map(Value::from)),
            ("tau", self.tau.map(Value::from)),
        ];
        for (name, value) in typed {
            if let Some(value) = value
                && !replace(model, name, value)?
            {
                bail!("{} has no --{name}", model.name());
            }
        }
        Ok(())
    }
}

/// Sets what `NAME=VALUE` says, of the model or else of training.
fn set(training: &mut Training, setting: &str) -> Result<()> {
    let Some((name, text)) = setting.split_once('=') else {
        bail!("--set takes NAME=VALUE, such as reach=5, not '{setting}'")
    };
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let known = name != "name" && name != "model";
    if known && (replace(&mut training.model, name, value.clone())? || replace(training, name, value)?) {
        return Ok(());
    }
    let names =
        |of: Value| of.as_object().map(|of| of.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut all = names(serde_json::to_value(&training.model)?);
    all.extend(names(serde_json::to_value(&*training)?));
    all.retain(|name| name != "name" && name != "model");
    bail!("{} has no setting '{name}'; it has {}", training.model.name(), all.join(", "))
}

/// Replaces a field by its name in the library; whether there is one.
fn replace<T: Serialize + DeserializeOwned>(of: &mut T, name: &str, value: Value) -> Result<bool> {
    let mut fields = serde_json::to_value(&*of)?;
    let Some(field) = fields.get_mut(name) else { return Ok(false) };
    *field = value;
    *of = serde_json::from_value(fields).with_context(|| format!("{name} cannot be set so"))?;
    Ok(true)
}

impl Settings {
    /// Whether training is on the whole graph.
    pub(super) fn is_full(&self) -> bool {
        self.mode == Mode::Full
    }
}

impl Outcome {
    /// What the same training gives on as many random clusters.
    pub(super) fn on_random_clusters(&self, dataset: &Dataset, x: &Features, seed: Seed) -> Result<Dense> {
        let clusters = self.clusters.as_ref().map(|(partition, ..)| partition.clusters());
        let config = Partitioning { method: "random".into(), clusters, ..Partitioning::default() };
        let partition = config.partition(&dataset.graph, seed)?;
        let compressed = Compressed::new(x, &partition)?;
        let trained = self.training.train(Inputs::Clusters(&compressed), &dataset.graph, seed, |_| true)?;
        Ok(trained.encoder.embed(&dataset.graph, x)?)
    }

    /// Theory on the clusters and the trained encoder.
    pub(super) fn diagnostics(&self, dataset: &Dataset, x: &Features, seed: Seed) -> Result<Diagnostics> {
        let Some((partition, ..)) = &self.clusters else { bail!("there are no clusters to look at") };
        let compressed = Compressed::new(x, partition)?;
        let how = self.training.drop_member;
        Ok(Diagnostics::of(&dataset.graph, &compressed, &self.trained.encoder, how, seed)?)
    }

    /// The clusters in figures.
    pub(super) fn quality(&self, dataset: &Dataset) -> Result<Option<Clusters>> {
        let Some((partition, requested, method)) = &self.clusters else { return Ok(None) };
        let quality = Quality::of(&dataset.graph, partition, dataset.labels.as_ref())?;
        Ok(Some(Clusters { method: method.clone(), requested: *requested, quality }))
    }

    /// The epochs in figures.
    pub(super) fn epochs(&self) -> Epochs {
        let losses = &self.trained.losses;
        Epochs {
            mode: self.mode,
            epochs: losses.len(),
            loss_first: losses.first().copied().unwrap_or(f64::NAN),
            loss_last: losses.last().copied().unwrap_or(f64::NAN),
            settled: self.trained.settled.clone(),
            seconds_per_epoch: self.seconds.train / losses.len().max(1) as f64,
            interrupted: self.interrupted,
        }
    }

    /// The encoder with where it comes from.
    pub(super) fn weights(&self, dataset: &Dataset, common: &Common) -> Result<Weights> {
        let origin = Origin {
            data: dataset.name.clone(),
            sha256: dataset.sha256()?,
            seed: common.seed().0,
            epochs: self.trained.losses.len(),
            training: self.training.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Ok(Weights { encoder: self.trained.encoder.clone(), origin })
    }
}

impl Epochs {
    /// Lines on the clusters and the epochs.
    pub(super) fn row(&self, lines: &mut Lines, clusters: Option<&Clusters>) {
        match clusters {
            Some(Clusters { method, quality, .. }) => {
                let cut = format!("by {method}, {:.1} % of edges cut", 100.0 * quality.cut_share);
                lines.row("clusters", grouped(quality.clusters as u64), cut);
            }
            None => lines.row("clusters", "none".into(), "trained on the whole graph".into()),
        }
        let Self { loss_first, loss_last, seconds_per_epoch, .. } = self;
        let stopped = if self.interrupted { "; stopped early" } else { "" };
        let each = 1e3 * seconds_per_epoch;
        let losses = format!("loss {loss_first:.4} to {loss_last:.4}, {each:.1} ms each{stopped}");
        lines.row("epochs", grouped(self.epochs as u64), losses);
    }
}

/// Set by Ctrl-C; where it is set already, Ctrl-C ends the program at once.
pub(super) fn interrupts() -> Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Relaxed) {
            process::exit(130);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(&STOP)
}

/// Seconds since it was last asked.
pub(super) struct Lap(Instant);

impl Default for Lap {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Lap {
    pub(super) fn time(&mut self) -> f64 {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.0, now)).as_secs_f64()
    }
}

/// Where the checkpoint of a result at `path` is.
pub(super) fn checkpoint_beside(path: &Path) -> PathBuf {
    path.with_extension("checkpoint.safetensors")
}
