//! `structcomp embed`: weights on a graph, also on one that was not trained on.

use super::training::Lap;
use crate::{
    args::{Common, Input},
    terminal::{self, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use structcomp::{DataSummary, Dataset, Dense, MatrixLayout, MatrixWriter, Weights, peak_rss_bytes};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp embed cora --weights w.safetensors --out z.npy
  structcomp embed --edges new.csv --features x.npy --weights w.safetensors --out z.parquet")]
pub(crate) struct Embed {
    /// The weights, as 'structcomp train' writes them
    #[arg(long, value_name = "FILE.safetensors")]
    weights: PathBuf,
    /// The embedding to write: .npy, .parquet or .csv
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Report {
    data: DataSummary,
    /// What the weights were trained on, and whether it was this data.
    trained_on: String,
    same_data: bool,
    model: &'static str,
    rows: usize,
    cols: usize,
    out: PathBuf,
    seconds: Seconds,
    peak_rss_bytes: Option<u64>,
    version: &'static str,
}

#[derive(Serialize)]
struct Seconds {
    load: f64,
    embed: f64,
}

impl Embed {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let mut lap = Lap::default();
        let weights = Weights::load(&self.weights)?;
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let dataset = self.input.load(&self.common)?;
        let Some(features) = &dataset.features else {
            bail!("{} has no features to embed; the weights take {}", dataset.name, weights.encoder.inputs())
        };
        let load = lap.time();
        spinner.set_message("embedding the graph".to_owned());
        let (rows, cols) = (dataset.graph.nodes(), weights.encoder.outputs());
        let layout = MatrixLayout { rows, cols, ids: &dataset.ids, labels: None, column: "embedding" };
        let mut writer = MatrixWriter::create(&self.out, layout)?;
        weights.encoder.embed_rows(&dataset.graph, features, |rows| writer.push_rows(rows))?;
        writer.finish()?;
        let embed = lap.time();
        let data = dataset.summary()?.data;
        let report = Report {
            same_data: data.sha256 == weights.origin.sha256,
            data,
            trained_on: weights.origin.data,
            model: weights.origin.training.model.name(),
            rows,
            cols,
            out: self.out.clone(),
            seconds: Seconds { load, embed },
            peak_rss_bytes: peak_rss_bytes(),
            version: env!("CARGO_PKG_VERSION"),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())
    }
}

impl Report {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, &format!("embedding by {}", self.model));
        let origin = match self.same_data {
            true => "the weights were trained on this data".to_owned(),
            false => format!("the weights were trained on other data ({})", self.trained_on),
        };
        lines.row("rows", grouped(self.rows as u64), format!("of {} numbers; {origin}", self.cols));
        let Seconds { load, embed } = &self.seconds;
        lines.row("seconds", format!("{:.3}", load + embed), format!("load {load:.3}, embed {embed:.3}"));
        lines.row("embedding", self.out.display().to_string(), String::new());
        lines.text
    }
}

/// Writes an embedding row by row, with the ids where the format has room for them.
pub(super) fn write_embedding(path: &Path, embedding: &Dense, dataset: &Dataset) -> Result<()> {
    let (rows, cols) = (embedding.rows(), embedding.cols());
    let layout = MatrixLayout { rows, cols, ids: &dataset.ids, labels: None, column: "embedding" };
    let mut writer = MatrixWriter::create(path, layout)?;
    for block in embedding.values().chunks((cols * 1024).max(1)) {
        writer.push_rows(block)?;
    }
    Ok(writer.finish()?)
}
