//! `structcomp run`: from data to an embedding and a number, with the untrained rows beside it.

use super::embed::write_embedding;
use super::judged::{Judged, accuracy_row, verdict};
use super::training::{Clusters, Epochs, Lap, Settings};
use crate::{
    args::{Common, Input},
    terminal::{self, Lines, grouped},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use structcomp::{
    Accuracy, Dataset, Diagnostics, Features, HeldOut, LinkScore, Normalization, Partition, Probe,
    Propagation, Training, peak_rss_bytes, write_text,
};
use structcomp_reproduce::RunPage;

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp run
  structcomp run cora --model grace --out cora-grace
  structcomp run cora --model sce --splits authors.txt --json
  structcomp run cora --model sce --links=0.1
  structcomp run --edges edges.csv --features x.npy --clusters 500 --out mine")]
pub(crate) struct Run {
    #[command(flatten)]
    settings: Settings,
    /// Splits to judge by: random20, one that came with the data, or a file of indices
    #[arg(long, value_name = "SPLITS", default_value = "random20", help_heading = "Judging")]
    splits: String,
    /// How many random splits to make
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "Judging")]
    runs: u32,
    /// Hold a share of the edges out before partitioning and training, and tell them from non-edges by the
    /// cosine of embeddings [share, if none is given: 0.1]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "0.1", help_heading = "Judging")]
    links: Option<f64>,
    /// Theory in numbers: how far clusters are from the graph, and what that can cost
    #[arg(long, help_heading = "Judging")]
    diagnostics: bool,
    /// Train on random clusters as well, as a control
    #[arg(long, help_heading = "Judging")]
    random_clusters: bool,
    /// A folder for the embedding, the weights, run.json and report.html, and for checkpoints
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Report {
    data: structcomp::DataSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<Clusters>,
    model: Training,
    train: Epochs,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<Judged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    untrained: Option<Untrained>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Links>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Diagnostics>,
    seconds: Seconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

/// The same classifier on the same splits without training.
#[derive(Serialize)]
struct Untrained {
    features: Accuracy,
    propagated: Accuracy,
    encoder: Accuracy,
    /// The same training on random clusters, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    random_clusters: Option<Accuracy>,
}

/// Edges that nothing was told about, told from as many non-edges.
#[derive(Serialize)]
struct Links {
    held_out: usize,
    #[serde(flatten)]
    score: LinkScore,
    untrained: UntrainedLinks,
}

#[derive(Serialize)]
struct UntrainedLinks {
    features: LinkScore,
    propagated: LinkScore,
}

#[derive(Default, Serialize)]
struct Seconds {
    load: f64,
    partition: f64,
    compress: f64,
    train: f64,
    embed: f64,
    evaluate: f64,
    total: f64,
}

impl Run {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let started = Instant::now();
        let mut lap = Lap::default();
        let mut seconds = Seconds::default();
        let checkpoint = self.out.as_ref().map(|out| out.join("checkpoint.safetensors"));
        if self.settings.is_full() && (self.diagnostics || self.random_clusters) {
            bail!(
                "training on the whole graph has no clusters; leave out --diagnostics and --random-clusters"
            );
        }
        if checkpoint.is_none() && (self.settings.resume || self.settings.checkpoint_every.is_some()) {
            bail!("checkpoints are kept in the folder of --out; name one");
        }
        if let Some(out) = &self.out {
            can_write(out)?;
        }
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        // Asked for more than once, and files are read for it.
        dataset.source.sha256 = Some(dataset.sha256()?);
        let held = self.hold_out(&mut dataset)?;
        let Some(features) = &dataset.features else {
            bail!("{} has no features to train on; --stand-in makes some from the graph", dataset.name)
        };
        let seed = self.common.seed();
        let splits = match &dataset.labels {
            Some(_) => Some(super::info::choose_splits(&dataset, &self.splits, self.runs as usize, seed)?),
            None => None,
        };
        seconds.load = lap.time();

        let outcome =
            self.settings.train(&dataset, features, &self.common, checkpoint.as_deref(), &spinner)?;
        let super::training::Seconds { partition, compress, train } = outcome.seconds;
        seconds = Seconds { partition, compress, train, ..seconds };
        lap.time();

        spinner.set_message("embedding the graph".to_owned());
        let embedding = outcome.trained.encoder.embed(&dataset.graph, features)?;
        if let Some(out) = &self.out {
            write_embedding(&out.join("embedding.npy"), &embedding, &dataset)?;
            outcome.weights(&dataset, &self.common)?.save(out.join("weights.safetensors"))?;
        }
        seconds.embed = lap.time();

        spinner.set_message("judging the embedding".to_owned());
        let embedding = Features::Dense(embedding);
        let (mut accuracy, mut untrained) = (None, None);
        if let (Some(labels), Some(splits)) = (&dataset.labels, &splits) {
            let probe = Probe::default();
            let judge = |x: &Features| probe.classify(x, labels, splits, seed);
            let trained = judge(&embedding)?;
            let spread = Propagation::new(&dataset.graph, Normalization::Symmetric).power(features, 2)?;
            let (x, propagated) = (judge(features)?, judge(&spread)?);
            let encoder =
                judge(&Features::Dense(outcome.trained.untrained.embed(&dataset.graph, features)?))?;
            let random_clusters = match self.random_clusters {
                true => Some(judge(&Features::Dense(outcome.on_random_clusters(&dataset, features, seed)?))?),
                false => None,
            };
            accuracy = Some(Judged::new(trained, splits, &probe, Some((&x, &propagated)))?);
            untrained = Some(Untrained { features: x, propagated, encoder, random_clusters });
        }
        let diagnostics = match self.diagnostics {
            true => Some(outcome.diagnostics(&dataset, features, seed)?),
            false => None,
        };
        let links = match &held {
            Some(held) => Some(Links::judge(held, &embedding, features)?),
            None => None,
        };
        seconds.evaluate = lap.time();

        let quality = outcome.quality(&dataset)?;
        seconds.total = started.elapsed().as_secs_f64();
        let report = Report {
            data: dataset.summary()?.data,
            partition: quality,
            train: outcome.epochs(),
            model: outcome.training,
            accuracy,
            untrained,
            links,
            diagnostics,
            seconds,
            peak_rss_bytes: peak_rss_bytes(),
            seed: seed.0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(out) = &self.out {
            write_text(out.join("run.json"), &serde_json::to_string_pretty(&report)?)?;
            let partition = outcome.clusters.as_ref().map(|(partition, ..)| partition);
            let losses = &outcome.trained.losses;
            report.page(&dataset, losses, partition, &embedding).write(out.join("report.html"))?;
        }
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())
    }

    /// Takes edges out of the data before anything is made of them.
    fn hold_out(&self, dataset: &mut Dataset) -> Result<Option<HeldOut>> {
        let Some(share) = self.links else { return Ok(None) };
        let held = HeldOut::draw(&dataset.graph, share, self.common.seed())?;
        dataset.graph = held.graph.clone();
        dataset.source.notes.push(format!("{} edges were held out", grouped(held.positive.len() as u64)));
        Ok(Some(held))
    }
}

/// Fails now, and not after minutes of training, where a folder cannot be written to.
pub(super) fn can_write(folder: &Path) -> Result<()> {
    let probe = folder.join(format!(".structcomp-{}", std::process::id()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::File::create_new(&probe))
        .and_then(|_| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write to {}", folder.display()))
}

impl Links {
    fn judge(held: &HeldOut, embedding: &Features, features: &Features) -> Result<Self> {
        let spread = Propagation::new(&held.graph, Normalization::Symmetric).power(features, 2)?;
        Ok(Self {
            held_out: held.positive.len(),
            score: held.judge(embedding)?,
            untrained: UntrainedLinks { features: held.judge(features)?, propagated: held.judge(&spread)? },
        })
    }
}

impl Seconds {
    fn stages(&self) -> Vec<(String, f64)> {
        let Self { load, partition, compress, train, embed, evaluate, total } = self;
        let stages = [
            ("load", load),
            ("partition", partition),
            ("compress", compress),
            ("train", train),
            ("embed", embed),
            ("evaluate", evaluate),
            ("all", total),
        ];
        stages.map(|(name, seconds)| (name.to_owned(), *seconds)).to_vec()
    }
}

impl Report {
    /// The same to look at.
    fn page<'a>(
        &'a self,
        dataset: &'a Dataset,
        losses: &'a [f64],
        partition: Option<&'a Partition>,
        embedding: &'a Features,
    ) -> RunPage<'a> {
        let Self { data, model, train, seconds, partition: clusters, .. } = self;
        let synthetic = if data.synthetic { " (synthetic)" } else { "" };
        let mut facts = vec![
            ("data", format!("{}{synthetic}", data.name)),
            ("nodes", grouped(data.nodes as u64)),
            ("edges", grouped(data.edges as u64)),
            ("features", data.features.map_or_else(|| "none".into(), |width| grouped(width as u64))),
            ("classes", data.classes.map_or_else(|| "none".into(), |classes| grouped(classes as u64))),
            ("model", model.model.name().to_owned()),
            (
                "epochs",
                format!("{}, {:.1} ms each", grouped(train.epochs as u64), 1e3 * train.seconds_per_epoch),
            ),
            ("embedding", format!("{} numbers a node", grouped(embedding.cols() as u64))),
            ("layers", model.layers.to_string()),
            ("learning rate", model.learning_rate.to_string()),
            ("weight decay", model.weight_decay.to_string()),
            ("seed", self.seed.to_string()),
            ("threads", self.threads.to_string()),
            ("version", self.version.to_owned()),
            ("sha256 of the data", data.sha256.clone()),
        ];
        if let Some(Clusters { method, quality, .. }) = clusters {
            facts.push(("clusters", format!("{} by {method}", grouped(quality.clusters as u64))));
            facts.push(("edges cut", format!("{:.1} %", 100.0 * quality.cut_share)));
        }
        let theory = self.diagnostics.iter().flat_map(Diagnostics::rows);
        let theory: Vec<_> = theory.map(|(_, value, about)| (about, value)).collect();
        facts.extend(data.notes.iter().map(|note| ("note", note.clone())));
        let mut page = RunPage {
            about: match clusters {
                Some(_) => "An embedding trained on clusters, compared with embeddings without training.",
                None => "An embedding trained on the whole graph, compared with embeddings without training.",
            },
            facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(theory).collect(),
            losses,
            partition,
            embedding: match embedding {
                Features::Dense(embedding) => Some(embedding),
                Features::Sparse(_) => None,
            },
            labels: dataset.labels.as_ref(),
            seconds: seconds.stages(),
            peak_rss_bytes: self.peak_rss_bytes,
            title: format!("{}{synthetic}: {}", data.name, model.model.name()),
            ..RunPage::default()
        };
        if let (Some(judged), Some(untrained)) = (&self.accuracy, &self.untrained) {
            page.accuracy = vec![
                ("embedding".into(), &judged.accuracy),
                ("X, the features alone".into(), &untrained.features),
                ("Â²X, two hops, no training".into(), &untrained.propagated),
                ("the encoder, not trained".into(), &untrained.encoder),
            ];
            page.accuracy.extend(
                untrained.random_clusters.iter().map(|random| ("trained on random clusters".into(), random)),
            );
            let runs = judged.accuracy.runs;
            page.protocol =
                format!("Mean ± deviation over {runs} splits ({}), {}.", judged.splits, judged.classifier);
            page.comparisons =
                judged.against_propagated.map(|against| ("Â²X".into(), against)).into_iter().collect();
        }
        if let Some(Links { held_out, score, untrained }) = &self.links {
            let said = |LinkScore { auc, average_precision }: &LinkScore| {
                format!("AUC {auc:.4}, average precision {average_precision:.4}")
            };
            let rows = [
                ("links", score),
                ("links by X", &untrained.features),
                ("links by Â²X", &untrained.propagated),
            ];
            page.facts.extend(rows.map(|(name, score)| (name.to_owned(), said(score))));
            page.facts.push(("edges held out".into(), grouped(*held_out as u64)));
        }
        page
    }

    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, self.model.model.name());
        self.train.row(&mut lines, self.partition.as_ref());
        if let (Some(judged), Some(untrained)) = (&self.accuracy, &self.untrained) {
            let about = format!("% of test nodes right, {} splits ({})", judged.accuracy.runs, judged.splits);
            accuracy_row(&mut lines, "accuracy", &judged.accuracy, about);
            accuracy_row(&mut lines, "  X", &untrained.features, "the features alone".into());
            accuracy_row(&mut lines, "  Â²X", &untrained.propagated, "two hops, no training".into());
            accuracy_row(&mut lines, "  encoder", &untrained.encoder, "the same encoder, not trained".into());
            if let Some(random) = &untrained.random_clusters {
                accuracy_row(&mut lines, "  random", random, "the same training on random clusters".into());
            }
            if let Some(against) = &judged.against_propagated {
                verdict(&mut lines, "Â²X", against);
            }
        }
        if let Some(Links { held_out, score, untrained }) = &self.links {
            let mut row = |label: &str, LinkScore { auc, average_precision }: &LinkScore, about: String| {
                lines.row(
                    label,
                    format!("{auc:.4}"),
                    format!("AUC, average precision {average_precision:.4}{about}"),
                );
            };
            row("links", score, format!("; {} edges held out", grouped(*held_out as u64)));
            row("  X", &untrained.features, String::new());
            row("  Â²X", &untrained.propagated, String::new());
        }
        for (name, value, about) in self.diagnostics.iter().flat_map(Diagnostics::rows) {
            lines.row(name, value, about);
        }
        let Seconds { load, partition, compress, train, embed, evaluate, total } = &self.seconds;
        lines.row(
            "seconds",
            format!("{total:.3}"),
            format!("load {load:.3}, partition {partition:.3}, compress {compress:.3}, train {train:.3}, embed {embed:.3}, evaluate {evaluate:.3}"),
        );
        if let Some(bytes) = self.peak_rss_bytes {
            lines.row("memory", structcomp::human_bytes(bytes), "at most".into());
        }
        lines.text
    }
}
