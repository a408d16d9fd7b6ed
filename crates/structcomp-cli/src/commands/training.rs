//! Flags of `run` and `train`, and the settings that they give.

mod fit;
mod mode;
mod set;

use super::partition::method_or_file;
use crate::args::{ComputeFlags, EveryCommand, Preparing, one_of};
use anyhow::{Result, bail};
use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use mode::ModeFlags;
use serde_json::Value;
use std::path::Path;
use structcomp::{Activation, Dataset, EncoderKind, Mode, Model, Partitioning, Preset, StructComp, Training};

#[derive(Args)]
#[command(next_help_heading = "Training")]
pub(super) struct TrainingFlags {
    /// The model: our recipe, which is solved and not trained, or a contrastive model [default: solved]
    #[arg(long, value_name = "MODEL", ignore_case = true, value_parser = clap::builder::PossibleValuesParser::new(Model::NAMES).map(|name| name.to_lowercase()))]
    model: Option<String>,
    /// Where the settings come from: ours or the paper's for this data and model, or the model's defaults
    #[arg(long, value_name = "PRESET", default_value = "ours")]
    preset: PresetChoice,
    /// Number of clusters [default: the preset's, or a tenth of the nodes]
    #[arg(long, short = 'k', value_name = "K")]
    clusters: Option<usize>,
    /// Partitioning method, or a .part file; 'structcomp partition --help' lists the methods
    #[arg(long, visible_alias = "method", value_name = "METHOD", default_value = "multilevel", value_parser = method_or_file)]
    partitioner: String,
    /// Trained models: number of epochs [default: the preset's, or 50]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Trained models: learning rate [default: the preset's, or 0.001]
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// Trained models: weight decay [default: the preset's, or 0.0005]
    #[arg(long, value_name = "DECAY")]
    weight_decay: Option<f64>,
    /// Trained models: embedding dimension [default: the preset's, or 512]
    #[arg(long, value_name = "N")]
    hidden: Option<usize>,
    /// Trained models: number of encoder layers [default: the preset's, or 1]
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Encoder: message passing in every layer (gcn) or before the first (sgc, ssgc) [default: the model's]
    #[arg(long, value_name = "KIND", value_parser = one_of::<EncoderKind>(&["gcn", "sgc", "ssgc"]))]
    encoder: Option<EncoderKind>,
    /// SGC, SSGC: number of hops [default: 2 for SGC, 16 for SSGC]
    #[arg(long, value_name = "K")]
    hops: Option<usize>,
    /// SSGC: weight of a node's own features [default: 0.05]
    #[arg(long, value_name = "ALPHA")]
    ssgc_alpha: Option<f64>,
    /// Activation after the last layer [default: the model's]
    #[arg(long, value_name = "NAME", value_parser = one_of::<Activation>(&["none", "relu", "elu", "prelu", "prelu-shared"]))]
    activation: Option<Activation>,
    /// SCE: scale of the loss; MVGRL: restart probability of PageRank
    #[arg(long, value_name = "ALPHA")]
    alpha: Option<f64>,
    /// COLES, CCA-SSG, BlockGCL: weight of the second term of the loss
    #[arg(long, value_name = "LAMBDA")]
    lambda: Option<f64>,
    /// SCE, COLES, SP-GCL: number of negative samples per row
    #[arg(long, value_name = "N")]
    negatives: Option<usize>,
    /// GRACE: temperature
    #[arg(long, value_name = "TAU")]
    tau: Option<f64>,
    /// Dropout after each layer
    #[arg(long, value_name = "RATE")]
    dropout: Option<f64>,
    /// Keep the encoder with the lowest loss, and stop after this many epochs without a lower one
    #[arg(long, value_name = "N")]
    patience: Option<usize>,
    /// Any other setting of the model or of training, such as reach=5 or batch-norm=false
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// With message passing: share of edges that each of the two views drops
    #[arg(long, value_name = "A,B", num_args = 1, value_delimiter = ',')]
    drop_edges: Option<Vec<f64>>,
    /// With message passing: share of features that each of the two views masks
    #[arg(long, value_name = "A,B", num_args = 1, value_delimiter = ',')]
    mask_features: Option<Vec<f64>>,
    /// Write a checkpoint every N epochs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_every: Option<u32>,
    /// Resume from the checkpoint
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    mode: ModeFlags,
    #[command(flatten)]
    preparing: Preparing,
    #[command(flatten)]
    compute: ComputeFlags,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum PresetChoice {
    Ours,
    Paper,
    None,
}

impl TrainingFlags {
    /// The settings for a dataset: the preset, and on top of it the flags.
    pub(super) fn model(&self, dataset: &Dataset, common: &EveryCommand) -> Result<StructComp> {
        self.check()?;
        let prepare = self.preparing.settings();
        let compute = self.compute.settings();
        let model = StructComp { prepare, seed: common.seed(), compute, ..StructComp::default() };
        let mut model = self.mode.on_top_of(model);
        let (clusters, training) = self.preset(dataset)?;
        model.training = self.on_top_of(training)?;
        model.partitioning.method = self.partitioner.clone();
        // A preset's number of clusters does not count where a file says what they are.
        let preset = clusters.filter(|_| !model.partitioning.is_file());
        model.partitioning = Partitioning { clusters: self.clusters.or(preset), ..model.partitioning };
        Ok(model)
    }

    /// What is trained on.
    pub(super) fn mode(&self) -> Mode {
        self.mode.mode
    }

    /// Where checkpoints are written, if they are.
    pub(super) fn written<'a>(&self, checkpoint: Option<&'a Path>) -> Option<&'a Path> {
        checkpoint.filter(|_| self.checkpoint_every.is_some())
    }

    /// Whether checkpoints are written or read.
    pub(super) fn uses_checkpoints(&self) -> bool {
        self.resume || self.checkpoint_every.is_some()
    }

    /// Flags that do not go together.
    fn check(&self) -> Result<()> {
        let augments = self.drop_edges.is_some() || self.mask_features.is_some();
        let clusters = self.clusters.is_some() || self.partitioner != Partitioning::default().method;
        match self.mode() {
            Mode::Structcomp if augments => {
                bail!(
                    "--drop-edges and --mask-features need a mode with message passing, such as --mode full"
                )
            }
            mode if clusters && !mode.uses_clusters() => {
                bail!("--mode {} uses no clusters; leave out --clusters and --partitioner", mode.name())
            }
            _ if self.epochs == Some(0) => bail!(
                "--epochs must be at least 1; run compares with the encoder before training anyway, as the control \
                 'encoder'"
            ),
            _ if self.model.is_none() && self.preset != PresetChoice::Ours => {
                bail!("--preset needs a model; choose one with --model")
            }
            _ => Ok(()),
        }
    }

    /// The number of clusters, if the preset has one, and the training settings.
    fn preset(&self, dataset: &Dataset) -> Result<(Option<usize>, Training)> {
        let Some(name) = &self.model else { return Ok((None, Training::default())) };
        let on_clusters = |preset: Preset| (preset.clusters, preset.training);
        let preset = match self.preset {
            PresetChoice::Ours if self.mode() != Mode::Structcomp => {
                Preset::full(name, &dataset.name)?.map(|preset| (None, preset.training))
            }
            PresetChoice::Ours => Preset::ours(name, &dataset.name)?.map(on_clusters),
            PresetChoice::Paper => Preset::paper(name, &dataset.name)?.map(on_clusters),
            PresetChoice::None => None,
        };
        match preset {
            Some(preset) => Ok(preset),
            None => Ok((None, Training { model: Model::named(name)?, ..Training::default() })),
        }
    }

    /// Settings with the flags on top.
    fn on_top_of(&self, mut training: Training) -> Result<Training> {
        if self.encoder.is_some() {
            (training.encoder, training.hops) = (self.encoder, None);
        }
        training.hops = self.hops.or(training.hops);
        training.ssgc_alpha = self.ssgc_alpha.or(training.ssgc_alpha);
        training.activation = self.activation.or(training.activation);
        training.epochs = self.epochs.unwrap_or(training.epochs);
        training.learning_rate = self.lr.unwrap_or(training.learning_rate);
        training.weight_decay = self.weight_decay.unwrap_or(training.weight_decay);
        training.hidden = self.hidden.unwrap_or(training.hidden);
        training.layers = self.layers.unwrap_or(training.layers);
        training.dropout = self.dropout.unwrap_or(training.dropout);
        training.patience = self.patience.or(training.patience);
        for (name, value) in [
            ("alpha", self.alpha.map(Value::from)),
            ("lambda", self.lambda.map(Value::from)),
            ("negatives", self.negatives.map(Value::from)),
            ("tau", self.tau.map(Value::from)),
        ] {
            value.map_or(Ok(()), |value| set::of_model(&mut training.model, name, value))?;
        }
        self.set.iter().try_for_each(|setting| set::by_name(&mut training, setting))?;
        let augment = &mut training.augment;
        two_views("--drop-edges", self.drop_edges.as_deref(), &mut augment.drop_edges)?;
        two_views("--mask-features", self.mask_features.as_deref(), &mut augment.mask_features)?;
        Ok(training)
    }
}

/// A share for both views, or one for each.
fn two_views(flag: &str, typed: Option<&[f64]>, shares: &mut [f64; 2]) -> Result<()> {
    match typed {
        None => {}
        Some(&[both]) => *shares = [both; 2],
        Some(&[first, second]) => *shares = [first, second],
        Some(_) => bail!("{flag} takes one share, or one for each of the two views, such as 0.2,0.4"),
    }
    Ok(())
}
