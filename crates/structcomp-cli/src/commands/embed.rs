//! `structcomp embed`: a saved model on a graph, including graphs it was not trained on, or rows that need no training.

use super::trained::DeviceReport;
use crate::{
    args::{ComputeFlags, EveryCommand, Input},
    terminal::{self, Lap, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use std::path::{Path, PathBuf};
use structcomp::data::DataSummary;
use structcomp::evaluate::Control;
use structcomp::memory::peak_rss_bytes;
use structcomp::output::{MatrixLayout, MatrixWriter, check_writable};
use structcomp::{Dataset, Dense, Fitted};

#[derive(Args)]
#[command(args_override_self = true, mut_arg("data", Input::required))]
#[command(
    after_help = "The model prepares features as it did for training. Embeddings without training take them as they are.

Examples:
  structcomp embed cora --untrained ssgc16 --out z.npy
  structcomp embed cora --weights model.safetensors --out z.npy
  structcomp embed --edges new.csv --features x.npy --weights model.safetensors --out z.parquet"
)]
pub(crate) struct Embed {
    /// The model file, as 'structcomp train' and 'structcomp run' write it
    #[arg(long, value_name = "FILE.safetensors", required_unless_present = "untrained")]
    weights: Option<PathBuf>,
    /// Instead of a model, an embedding that needs no training: one of those that run and evaluate compare with
    #[arg(long, value_name = "NAME", conflicts_with = "weights", value_parser = PossibleValuesParser::new(Control::untrained()))]
    untrained: Option<String>,
    /// The embedding to write: .npy, .parquet, .csv or .tsv
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    compute: ComputeFlags,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Serialize)]
struct EmbedReport {
    data: DataSummary,
    /// The data that the model was trained on, and whether its graph is this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    trained_on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_data: Option<bool>,
    /// The name of the model, or of the embedding without training.
    model: &'static str,
    rows: usize,
    cols: usize,
    /// Where a model was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceReport>,
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
        check_writable(&self.out)?;
        let report = match (&self.weights, &self.untrained) {
            (Some(weights), _) => self.with_model(weights)?,
            (None, name) => self.without_training(Control::named(name.as_deref().unwrap_or_default())?)?,
        };
        self.common.print(&report, || report.text())
    }

    fn with_model(&self, weights: &Path) -> Result<EmbedReport> {
        let mut lap = Lap::default();
        let mut fitted = Fitted::load(weights)?;
        fitted.settings.compute = self.compute.settings();
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
        terminal::stage(&spinner, "embedding the graph".to_owned());
        let (rows, cols) = (dataset.graph.nodes(), fitted.outputs());
        let layout = MatrixLayout { rows, cols, ids: &dataset.ids, labels: None, column: "embedding" };
        let mut writer = MatrixWriter::create(&self.out, layout)?;
        fitted.embed_rows(&dataset, |rows| writer.push_rows(rows))?;
        writer.finish()?;
        let seconds = EmbedSeconds { load, embed: lap.time() };
        let model = fitted.settings.training.model.name();
        let report = self.report(&dataset, model, cols, seconds)?;
        let same_data = Some(fitted.saw(&dataset));
        let device = Some(DeviceReport::of(&fitted, Some(fitted.embeds_on(&dataset)?)));
        spinner.finish_and_clear();
        Ok(EmbedReport { same_data, device, trained_on: Some(fitted.trained_on.data), ..report })
    }

    fn without_training(&self, control: &'static Control) -> Result<EmbedReport> {
        let mut lap = Lap::default();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let dataset = self.input.load(&self.common)?;
        let Some(x) = &dataset.features else {
            bail!("{} has no features, which this embedding starts from; --features adds some", dataset.name)
        };
        let load = lap.time();
        terminal::stage(&spinner, format!("computing {}", control.label));
        let embedding = control.rows(&dataset.graph, x)?.to_dense();
        write_embedding(&self.out, &embedding, &dataset)?;
        let report =
            self.report(&dataset, control.name, embedding.cols(), EmbedSeconds { load, embed: lap.time() })?;
        spinner.finish_and_clear();
        Ok(report)
    }

    fn report(
        &self,
        dataset: &Dataset,
        model: &'static str,
        cols: usize,
        seconds: EmbedSeconds,
    ) -> Result<EmbedReport> {
        Ok(EmbedReport {
            data: dataset.summary()?.data,
            trained_on: None,
            same_data: None,
            model,
            rows: dataset.graph.nodes(),
            cols,
            device: None,
            out: self.out.clone(),
            seconds,
            peak_rss_bytes: peak_rss_bytes(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}

impl EmbedReport {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, &format!("embedding by {}", self.model));
        lines.remarks(&self.data);
        let origin = match (&self.trained_on, self.same_data) {
            (None, _) => "without training".to_owned(),
            (_, Some(true)) => "trained on this graph".to_owned(),
            (Some(other), _) => format!("trained on another graph ({other})"),
        };
        lines.row("dimension", grouped(self.cols), format!("{} rows; {origin}", grouped(self.rows)));
        self.device.iter().for_each(|device| device.rows(&mut lines));
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
