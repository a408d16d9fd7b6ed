//! `structcomp train`: from data to the weights of an encoder.

use super::training::{Clusters, Epochs, Lap, Settings, checkpoint_beside};
use crate::{
    args::{Common, Input},
    terminal::{self, Lines},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use structcomp::{DataSummary, Training, peak_rss_bytes};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp train cora --model grace --out grace.safetensors
  structcomp train cora --partitioner mine.part --out w.safetensors
  structcomp train reddit --checkpoint-every 10 --out w.safetensors
  structcomp train reddit --checkpoint-every 10 --out w.safetensors --resume")]
pub(crate) struct Train {
    #[command(flatten)]
    settings: Settings,
    /// The file of weights to write; a checkpoint lies beside it
    #[arg(long, short, value_name = "FILE.safetensors")]
    out: PathBuf,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Report {
    data: DataSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<Clusters>,
    model: Training,
    train: Epochs,
    out: PathBuf,
    seconds: Seconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct Seconds {
    load: f64,
    partition: f64,
    compress: f64,
    train: f64,
}

impl Train {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        if self.out.extension().is_none_or(|end| end != "safetensors") {
            bail!("weights are written as .safetensors, so --out cannot be {}", self.out.display());
        }
        let mut lap = Lap::default();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let dataset = self.input.load(&self.common)?;
        let Some(features) = &dataset.features else {
            bail!("{} has no features to train on; --stand-in makes some from the graph", dataset.name)
        };
        let load = lap.time();
        let checkpoint = checkpoint_beside(&self.out);
        let outcome = self.settings.train(&dataset, features, &self.common, Some(&checkpoint), &spinner)?;
        outcome.weights(&dataset, &self.common)?.save(&self.out)?;
        let super::training::Seconds { partition, compress, train } = outcome.seconds;
        let report = Report {
            data: dataset.summary()?.data,
            partition: outcome.quality(&dataset)?,
            train: outcome.epochs(),
            model: outcome.training,
            out: self.out.clone(),
            seconds: Seconds { load, partition, compress, train },
            peak_rss_bytes: peak_rss_bytes(),
            seed: self.common.seed().0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())
    }
}

impl Report {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, self.model.model.name());
        self.train.row(&mut lines, self.partition.as_ref());
        let Seconds { load, partition, compress, train } = &self.seconds;
        let about =
            format!("load {load:.3}, partition {partition:.3}, compress {compress:.3}, train {train:.3}");
        lines.row("seconds", format!("{:.3}", load + partition + compress + train), about);
        lines.row("weights", self.out.display().to_string(), "for 'structcomp embed'".into());
        lines.text
    }
}
