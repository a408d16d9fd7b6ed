//! `structcomp evaluate`: the accuracy of an existing embedding, next to controls without training.

use super::judgement::{Judge, Judgement};
use super::splits;
use crate::{
    args::{EveryCommand, Input, Preparing},
    terminal::{self, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::{path::PathBuf, time::Instant};
use structcomp::evaluate::{Agreement, ByControl, KMeans};
use structcomp::memory::peak_rss_bytes;
use structcomp::{Controls, Dataset, Features, Labels, Probe, SplitSet};

#[derive(Args)]
#[command(args_override_self = true, mut_arg("data", Input::required))]
#[command(next_help_heading = "Evaluation")]
#[command(
    after_help = "For link prediction, use 'structcomp run --links': edges must be held out before training.

Examples:
  structcomp evaluate cora --embedding results/embedding.npy
  structcomp evaluate cora --embedding z.npy --splits authors.txt --clustering --json
  structcomp evaluate chameleon --embedding z.npy --probe softmax --splits geom-gcn
  structcomp evaluate --edges edges.csv --labels y.csv --embedding z.parquet"
)]
pub(crate) struct Evaluate {
    /// The embedding, one row per node: .npy, .npz, .mtx, .parquet, .csv or .tsv; rows with ids are joined by id
    #[arg(long, short, value_name = "FILE")]
    embedding: PathBuf,
    #[command(flatten)]
    judge: Judge,
    /// Splits: random20, those of the dataset by name, or a file of node indices
    #[arg(long, value_name = "SPLITS", default_value = "random20")]
    splits: String,
    /// Number of random splits [default: 50], or of runs of mlp and softmax on a single split [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// Also compare k-means clusters with the classes
    #[arg(long)]
    clustering: bool,
    /// Not possible with an existing embedding; the error says what to do instead
    #[arg(long, hide = true, num_args = 0..=1)]
    links: Option<Option<String>>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    preparing: Preparing,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Serialize)]
struct EvaluateReport {
    data: structcomp::data::DataSummary,
    embedding: EmbeddingFile,
    #[serde(flatten)]
    judgement: Judgement,
    #[serde(skip_serializing_if = "Option::is_none")]
    clustering: Option<ClusteringReport>,
    seconds: EvaluateSeconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct EmbeddingFile {
    file: PathBuf,
    rows: usize,
    cols: usize,
}

/// How well k-means finds the classes.
#[derive(Serialize)]
struct ClusteringReport {
    clusters: usize,
    #[serde(flatten)]
    agreement: Agreement,
    #[serde(skip_serializing_if = "Option::is_none")]
    untrained: Option<ByControl<Agreement>>,
}

#[derive(Serialize)]
struct EvaluateSeconds {
    load: f64,
    evaluate: f64,
    total: f64,
}

impl Evaluate {
    pub(crate) fn run(&self) -> Result<()> {
        if self.links.is_some() {
            bail!(
                "an existing embedding has seen all edges; 'structcomp run --links' holds some out before training"
            );
        }
        self.common.start()?;
        let started = Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        self.preparing.apply(&mut dataset, &self.common)?;
        let Some(labels) = dataset.labels.as_ref().filter(|labels| labels.classes() > 0) else {
            bail!("{} has no labels to evaluate by; --labels adds some", dataset.name)
        };
        let embedding = self.input.embedding(&self.embedding, &dataset, &self.common)?;
        let probe = self.judge.probe(&dataset)?;
        let splits = self.splits(&dataset, &probe)?;
        let load = started.elapsed().as_secs_f64();

        terminal::stage(&spinner, format!("evaluating with {probe}"));
        let controls =
            dataset.features.as_ref().map(|x| self.judge.controls(Controls::of_features(&dataset.graph, x)));
        let on = (labels, &splits);
        let judgement = Judgement::of(&embedding, controls.as_ref(), &probe, on, self.common.seed())?;
        let clustering = match self.clustering {
            true => {
                terminal::stage(&spinner, "clustering with k-means".to_owned());
                Some(self.cluster(&embedding, controls.as_ref(), labels)?)
            }
            false => None,
        };
        let total = started.elapsed().as_secs_f64();
        let (rows, cols) = (embedding.rows(), embedding.cols());
        let report = EvaluateReport {
            data: dataset.summary()?.data,
            embedding: EmbeddingFile { file: self.embedding.clone(), rows, cols },
            judgement,
            clustering,
            seconds: EvaluateSeconds { load, evaluate: total - load, total },
            peak_rss_bytes: peak_rss_bytes(),
            seed: self.common.seed().0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text(labels))
    }

    /// The splits; a single one is repeated for probes that depend on the seed.
    fn splits(&self, dataset: &Dataset, probe: &Probe) -> Result<SplitSet> {
        let runs = |default: usize| self.runs.map_or(default, |runs| runs as usize);
        let mut set = splits::choose(dataset, &self.splits, runs(50), self.common.seed())?;
        if let ([only], true) = (&set.splits[..], probe.draws()) {
            set.splits = vec![only.clone(); runs(10)];
        }
        Ok(set)
    }

    fn cluster(
        &self,
        embedding: &Features,
        controls: Option<&Controls>,
        labels: &Labels,
    ) -> Result<ClusteringReport> {
        let (clusters, seed) = (labels.classes(), self.common.seed());
        let kmeans = KMeans { clusters, ..KMeans::default() };
        let agreement = Agreement::of(&kmeans.cluster(embedding, seed)?.of, labels)?;
        let untrained = controls.map(|controls| controls.cluster(&kmeans, labels, seed)).transpose()?;
        Ok(ClusteringReport { clusters, agreement, untrained })
    }
}

impl EvaluateReport {
    fn text(&self, labels: &Labels) -> String {
        let mut lines = Lines::default();
        let synthetic = if self.data.synthetic { " (synthetic)" } else { "" };
        let EmbeddingFile { file, rows, cols } = &self.embedding;
        lines.title(
            &format!("{}{synthetic}: {}", self.data.name, file.display()),
            &format!("({} nodes, dimension {})", grouped(*rows), grouped(*cols)),
        );
        lines.remarks(&self.data);
        self.judgement.rows(&mut lines);
        if self.judgement.untrained.is_none() {
            let about = "there are no features; --features or --stand-in adds some";
            lines.row("controls", "none".into(), about.into());
        }
        self.judgement.notes(&mut lines, labels);
        if let Some(ClusteringReport { clusters, agreement, untrained }) = &self.clustering {
            let mut row = |label: &str, Agreement { nmi, ari }: &Agreement, about: &str| {
                lines.row(label, format!("{nmi:.3}"), format!("NMI, ARI {ari:.3}{about}"));
            };
            row("clustering", agreement, &format!(", {clusters} clusters by k-means"));
            for (control, agreement) in untrained.iter().flat_map(ByControl::iter) {
                row(&format!("  {}", control.label), agreement, "");
            }
        }
        let EvaluateSeconds { load, evaluate, total } = self.seconds;
        lines.seconds(total, &[("load", load), ("evaluate", evaluate)]);
        lines.memory(self.peak_rss_bytes);
        lines.text
    }
}
