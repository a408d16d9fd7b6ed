//! `structcomp embed`: a saved model on a graph, including graphs it was not trained on.

use crate::{
    args::{Common, Input},
    terminal::{self, Lap, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use structcomp::data::DataSummary;
use structcomp::memory::peak_rss_bytes;
use structcomp::output::{MatrixLayout, MatrixWriter};
use structcomp::{Dataset, Dense, Fitted};

#[derive(Args)]
#[command(args_override_self = true, mut_arg("data", Input::required))]
#[command(after_help = "The model prepares features as it did for training.

Examples:
  structcomp embed cora --weights model.safetensors --out z.npy
  structcomp embed --edges new.csv --features x.npy --weights model.safetensors --out z.parquet")]
pub(crate) struct Embed {
    /// The model file, as 'structcomp train' and 'structcomp run' write it
    #[arg(long, value_name = "FILE.safetensors")]
    weights: PathBuf,
    /// The embedding to write: .npy, .parquet, .csv or .tsv
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct EmbedReport {
    data: DataSummary,
    /// The data that the model was trained on, and whether its graph is this one.
    trained_on: String,
    same_data: bool,
    model: &'static str,
    rows: usize,
    cols: usize,
    out: PathBuf,
    seconds: EmbedSeconds,
    peak_rss_bytes: Option<u64>,
    version: &'static str,
}

#[derive(Serialize)]
struct EmbedSeconds {
    load: f64,
    embed: f64,
}

impl Embed {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let mut lap = Lap::default();
        let fitted = Fitted::load(&self.weights)?;
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        if let (None, Some(takes)) = (&dataset.features, fitted.takes_features()) {
            bail!(
                "{} has no features, but the model takes {takes} per node; --features adds some",
                dataset.name
            );
        }
        dataset.source.notes.extend(fitted.settings.prepare.note(&dataset));
        if !fitted.knows(&dataset.graph) {
            let zero = "this is not the graph that the model was solved on; positions in that graph count as zero here";
            dataset.source.notes.push(zero.into());
        }
        let load = lap.time();
        spinner.set_message("embedding the graph".to_owned());
        let (rows, cols) = (dataset.graph.nodes(), fitted.outputs());
        let layout = MatrixLayout { rows, cols, ids: &dataset.ids, labels: None, column: "embedding" };
        let mut writer = MatrixWriter::create(&self.out, layout)?;
        fitted.embed_rows(&dataset, |rows| writer.push_rows(rows))?;
        writer.finish()?;
        let embed = lap.time();
        let report = EmbedReport {
            data: dataset.summary()?.data,
            same_data: fitted.saw(&dataset),
            model: fitted.settings.training.model.name(),
            trained_on: fitted.trained_on.data,
            rows,
            cols,
            out: self.out.clone(),
            seconds: EmbedSeconds { load, embed },
            peak_rss_bytes: peak_rss_bytes(),
            version: env!("CARGO_PKG_VERSION"),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())
    }
}

impl EmbedReport {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, &format!("embedding by {}", self.model));
        let origin = match self.same_data {
            true => "trained on this graph".to_owned(),
            false => format!("trained on another graph ({})", self.trained_on),
        };
        lines.row("dimension", grouped(self.cols), format!("{} rows; {origin}", grouped(self.rows)));
        let EmbedSeconds { load, embed } = self.seconds;
        lines.seconds(load + embed, &[("load", load), ("embed", embed)]);
        lines.memory(self.peak_rss_bytes);
        lines.row("embedding", String::new(), self.out.display().to_string());
        lines.text
    }
}

/// Writes an embedding with the ids of its rows, if the format has a place for them.
pub(super) fn write_embedding(path: &Path, embedding: &Dense, dataset: &Dataset) -> Result<()> {
    let (rows, cols) = (embedding.rows(), embedding.cols());
    let layout = MatrixLayout { rows, cols, ids: &dataset.ids, labels: None, column: "embedding" };
    let mut writer = MatrixWriter::create(path, layout)?;
    for block in embedding.values().chunks((cols * 1024).max(1)) {
        writer.push_rows(block)?;
    }
    Ok(writer.finish()?)
}
