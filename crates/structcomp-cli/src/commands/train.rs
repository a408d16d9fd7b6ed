//! `structcomp train`: train a model and save it.

use super::trained::{ClusterReport, DeviceReport, EpochReport};
use super::training::TrainingFlags;
use crate::{
    args::{EveryCommand, Input},
    terminal::{self, Interrupted, Lap, Lines},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use structcomp::Training;
use structcomp::data::DataSummary;
use structcomp::memory::peak_rss_bytes;
use structcomp::output::check_writable;

#[derive(Args)]
#[command(args_override_self = true, mut_arg("data", Input::required))]
#[command(after_help = "Examples:
  structcomp train cora --model grace --out grace.safetensors
  structcomp train cora --partitioner mine.part --out model.safetensors
  structcomp train reddit --checkpoint-every 10 --out model.safetensors
  structcomp train reddit --checkpoint-every 10 --out model.safetensors --resume")]
pub(crate) struct Train {
    #[command(flatten)]
    training: TrainingFlags,
    /// The model file to write; checkpoints are written next to it
    #[arg(long, short, value_name = "FILE.safetensors", help_heading = "Output")]
    out: PathBuf,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Serialize)]
struct TrainReport {
    data: DataSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<ClusterReport>,
    model: Training,
    train: EpochReport,
    device: DeviceReport,
    out: PathBuf,
    seconds: TrainSeconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct TrainSeconds {
    load: f64,
    #[serde(flatten)]
    stages: structcomp::pipeline::Seconds,
}

impl Train {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        self.check_out()?;
        let mut lap = Lap::default();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        dataset.source.sha256 = Some(dataset.sha256()?);
        let model = self.training.model(&dataset, &self.common)?;
        dataset.source.notes.extend(model.prepare.note(&dataset));
        let load = lap.time();
        let checkpoint = self.out.with_extension("checkpoint.safetensors");
        let fitted = self.training.fit(&model, &dataset, Some(&checkpoint), &spinner)?;
        // What is not finished replaces nothing.
        let out = match fitted.interrupted {
            true => self.out.with_extension("unfinished.safetensors"),
            false => self.out.clone(),
        };
        fitted.save(&out)?;
        let report = TrainReport {
            data: dataset.summary()?.data,
            partition: ClusterReport::of(&fitted, &dataset)?,
            train: EpochReport::of(&fitted),
            device: DeviceReport::of(&fitted, None),
            out,
            seconds: TrainSeconds { load, stages: fitted.seconds },
            peak_rss_bytes: peak_rss_bytes(),
            seed: self.common.seed().0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
            model: fitted.settings.training.clone(),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())?;
        let checkpoint = self.training.written(Some(&checkpoint)).map(Path::to_owned);
        Interrupted::check(&fitted, [report.out].into_iter().chain(checkpoint).collect())
    }

    /// Fails now, and not after training, if the file cannot be written.
    fn check_out(&self) -> Result<()> {
        if self.out.extension().is_none_or(|end| end != "safetensors") {
            bail!("--out {}: expected a name that ends in .safetensors", self.out.display());
        }
        Ok(check_writable(&self.out)?)
    }
}

impl TrainReport {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, self.model.model.name());
        lines.remarks(&self.data);
        self.train.rows(&mut lines, self.partition.as_ref());
        self.device.rows(&mut lines);
        let structcomp::pipeline::Seconds { prepare, partition, compress, train } = self.seconds.stages;
        let load = self.seconds.load;
        let stages = [
            ("load", load),
            ("prepare", prepare),
            ("partition", partition),
            ("compress", compress),
            ("train", train),
        ];
        lines.seconds(stages.iter().map(|stage| stage.1).sum(), &stages);
        lines.memory(self.peak_rss_bytes);
        lines.row("model", String::new(), format!("{}, for 'structcomp embed'", self.out.display()));
        lines.text
    }
}
