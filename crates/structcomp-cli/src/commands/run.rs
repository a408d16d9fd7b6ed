//! `structcomp run`: from data to an embedding and a number, with the untrained rows beside it.

use super::partition::method_or_file;
use crate::{
    args::{Common, Input},
    terminal::{self, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use structcomp::{
    Accuracy, Comparison, Compressed, Dataset, Features, HeldOut, Inputs, LinkScore, MatrixLayout,
    MatrixWriter, Model, Normalization, Partition, Partitioning, Preset, Propagation, Quality, ReportPage,
    Training, classify, peak_rss_bytes, write_text,
};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(next_help_heading = "Training")]
#[command(after_help = "Examples:
  structcomp run
  structcomp run cora --model grace --out cora-grace
  structcomp run cora --model sce --splits authors.txt --json
  structcomp run cora --model sce --links=0.1
  structcomp run --edges edges.csv --features x.npy --clusters 500 --out mine")]
pub(crate) struct Run {
    /// The contrastive model
    #[arg(long, value_name = "MODEL", default_value = "sce", value_parser = clap::builder::PossibleValuesParser::new(Model::NAMES))]
    model: String,
    /// Settings to start from: the paper's for this data and model, or the model's own
    #[arg(long, value_name = "PRESET", default_value = "paper")]
    preset: Choice,
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
    /// Splits to judge by: random20, one that came with the data, or a file of indices
    #[arg(long, value_name = "SPLITS", default_value = "random20")]
    splits: String,
    /// How many random splits to make
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    runs: u32,
    /// Hold a share of the edges out before partitioning and training, and tell them from non-edges by the
    /// cosine of embeddings [share, if none is given: 0.1]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    links: Option<f64>,
    /// A folder for the embedding, run.json and report.html
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Choice {
    Paper,
    None,
}

#[derive(Serialize)]
struct Report {
    data: structcomp::DataSummary,
    partition: Clusters,
    model: Training,
    train: Trained,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<Judged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    untrained: Option<Untrained>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Links>,
    seconds: Seconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct Clusters {
    method: String,
    requested: usize,
    #[serde(flatten)]
    quality: Quality,
}

#[derive(Serialize)]
struct Trained {
    epochs: usize,
    loss_first: f64,
    loss_last: f64,
    seconds_per_epoch: f64,
}

#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    accuracy: Accuracy,
    splits: String,
    classifier: &'static str,
    /// Against two hops of the features without any training, by a paired test.
    against_propagated: Comparison,
}

/// The same classifier on the same splits without training.
#[derive(Serialize)]
struct Untrained {
    features: Accuracy,
    propagated: Accuracy,
    encoder: Accuracy,
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
        let mut seconds = Seconds::default();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        let held = self.hold_out(&mut dataset)?;
        let Some(features) = &dataset.features else {
            bail!("{} has no features to train on; --stand-in makes some from the graph", dataset.name)
        };
        let splits = match &dataset.labels {
            Some(_) => Some(super::info::choose_splits(
                &dataset,
                &self.splits,
                self.runs as usize,
                self.common.seed(),
            )?),
            None => None,
        };
        let (clusters, training) = self.settings(&dataset)?;
        let seed = self.common.seed();
        let mut lap = Lap::new(started);
        seconds.load = lap.time();

        spinner.set_message(format!("partitioning by {}", self.partitioner));
        let mut config = Partitioning { method: self.partitioner.clone(), ..Partitioning::default() };
        // A preset's number is no wish of the user's where a file says what the clusters are.
        config.clusters = if config.is_file() { self.clusters } else { clusters };
        let (partition, requested) = config.split(&dataset.graph, seed)?;
        seconds.partition = lap.time();

        let compressed = Compressed::new(features, &partition)?;
        seconds.compress = lap.time();

        spinner.set_message(format!("training {}", training.model.name()));
        let trained = training.train(Inputs::Clusters(&compressed), &dataset.graph, seed, |epoch| {
            spinner.set_message(format!(
                "training {}: epoch {} of {}, loss {:.4}",
                training.model.name(),
                epoch.number,
                training.epochs,
                epoch.loss
            ));
            true
        })?;
        seconds.train = lap.time();

        spinner.set_message("embedding the graph".to_owned());
        let embedding = trained.encoder.embed(&dataset.graph, features)?;
        if let Some(out) = &self.out {
            write_embedding(&out.join("embedding.npy"), &embedding, &dataset)?;
        }
        seconds.embed = lap.time();

        spinner.set_message("judging the embedding".to_owned());
        let embedding = Features::Dense(embedding);
        let mut judged = None;
        if let (Some(labels), Some(splits)) = (&dataset.labels, &splits) {
            let judge = |x: &Features| classify(x, labels, splits, 1.0);
            let accuracy = judge(&embedding)?;
            let propagated =
                judge(&Propagation::new(&dataset.graph, Normalization::Symmetric).power(features, 2)?)?;
            let untrained = Features::Dense(trained.untrained.embed(&dataset.graph, features)?);
            let against_propagated = Comparison::paired(&accuracy.per_split, &propagated.per_split)?;
            let untrained = Untrained { features: judge(features)?, propagated, encoder: judge(&untrained)? };
            let (splits, classifier) =
                (splits.name.clone(), "logistic regression (liblinear's objective, C = 1)");
            judged = Some((Judged { accuracy, splits, classifier, against_propagated }, untrained));
        }
        let links = match &held {
            Some(held) => Some(Links::judge(held, &embedding, features)?),
            None => None,
        };
        seconds.evaluate = lap.time();

        let quality = Quality::of(&dataset.graph, &partition, dataset.labels.as_ref())?;
        let epochs = trained.losses.len();
        let (accuracy, untrained) =
            judged.map_or((None, None), |(accuracy, untrained)| (Some(accuracy), Some(untrained)));
        seconds.total = started.elapsed().as_secs_f64();
        let report = Report {
            data: dataset.summary()?.data,
            partition: Clusters { method: config.method, requested, quality },
            model: training,
            train: Trained {
                epochs,
                loss_first: trained.losses.first().copied().unwrap_or(f64::NAN),
                loss_last: trained.losses.last().copied().unwrap_or(f64::NAN),
                seconds_per_epoch: seconds.train / epochs.max(1) as f64,
            },
            accuracy,
            untrained,
            links,
            seconds,
            peak_rss_bytes: peak_rss_bytes(),
            seed: seed.0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(out) = &self.out {
            write_text(out.join("run.json"), &serde_json::to_string_pretty(&report)?)?;
            report.page(&dataset, &trained.losses, &partition, &embedding).write(out.join("report.html"))?;
        }
        spinner.finish_and_clear();
        match self.common.json {
            true => terminal::print_json(&report),
            false => terminal::print(&report.text()),
        }
    }

    /// Takes edges out of the data before anything is made of them.
    fn hold_out(&self, dataset: &mut Dataset) -> Result<Option<HeldOut>> {
        let Some(share) = self.links else { return Ok(None) };
        let held = HeldOut::draw(&dataset.graph, share, self.common.seed())?;
        dataset.graph = held.graph.clone();
        dataset.source.notes.push(format!("{} edges were held out", grouped(held.positive.len() as u64)));
        Ok(Some(held))
    }

    /// The number of clusters and how to train: the preset, and what was typed on top.
    fn settings(&self, dataset: &Dataset) -> Result<(Option<usize>, Training)> {
        let preset = match self.preset {
            Choice::Paper => Preset::paper(&self.model, &dataset.name)?,
            Choice::None => None,
        };
        let default = || {
            Ok::<_, structcomp::Error>(Training { model: Model::named(&self.model)?, ..Training::default() })
        };
        let (clusters, mut training) = match preset {
            Some(preset) => (Some(preset.clusters), preset.training),
            None => (None, default()?),
        };
        training.epochs = self.epochs.unwrap_or(training.epochs);
        training.learning_rate = self.lr.unwrap_or(training.learning_rate);
        training.weight_decay = self.weight_decay.unwrap_or(training.weight_decay);
        training.hidden = self.hidden.unwrap_or(training.hidden);
        training.layers = self.layers.unwrap_or(training.layers);
        Ok((self.clusters.or(clusters), training))
    }
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

/// Seconds since it was last asked.
struct Lap(Instant);

impl Lap {
    fn new(start: Instant) -> Self {
        Self(start)
    }

    fn time(&mut self) -> f64 {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.0, now)).as_secs_f64()
    }
}

fn write_embedding(path: &Path, embedding: &structcomp::Dense, dataset: &Dataset) -> Result<()> {
    let (rows, cols) = (embedding.rows(), embedding.cols());
    let layout = MatrixLayout { rows, cols, ids: &dataset.ids, labels: None, column: "embedding" };
    let mut writer = MatrixWriter::create(path, layout)?;
    for block in embedding.values().chunks((cols * 1024).max(1)) {
        writer.push_rows(block)?;
    }
    Ok(writer.finish()?)
}

impl Report {
    /// The same to look at.
    fn page<'a>(
        &'a self,
        dataset: &'a Dataset,
        losses: &'a [f64],
        partition: &'a Partition,
        embedding: &'a Features,
    ) -> ReportPage<'a> {
        let Self { data, model, train, seconds, partition: clusters, .. } = self;
        let synthetic = if data.synthetic { " (synthetic)" } else { "" };
        let quality = &clusters.quality;
        let mut facts = vec![
            ("data", format!("{}{synthetic}", data.name)),
            ("nodes", grouped(data.nodes as u64)),
            ("edges", grouped(data.edges as u64)),
            ("features", data.features.map_or_else(|| "none".into(), |width| grouped(width as u64))),
            ("classes", data.classes.map_or_else(|| "none".into(), |classes| grouped(classes as u64))),
            ("clusters", format!("{} by {}", grouped(quality.clusters as u64), clusters.method)),
            ("edges cut", format!("{:.1} %", 100.0 * quality.cut_share)),
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
        facts.extend(data.notes.iter().map(|note| ("note", note.clone())));
        let mut page = ReportPage {
            about: "An embedding by training on clusters, beside the same without training.",
            facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            losses,
            partition: Some(partition),
            embedding: match embedding {
                Features::Dense(embedding) => Some(embedding),
                Features::Sparse(_) => None,
            },
            labels: dataset.labels.as_ref(),
            seconds: seconds.stages(),
            peak_rss_bytes: self.peak_rss_bytes,
            title: format!("{}{synthetic}: {}", data.name, model.model.name()),
            ..ReportPage::default()
        };
        if let (Some(judged), Some(untrained)) = (&self.accuracy, &self.untrained) {
            page.accuracy = vec![
                ("embedding".into(), &judged.accuracy),
                ("X, the features alone".into(), &untrained.features),
                ("Â²X, two hops, no training".into(), &untrained.propagated),
                ("the encoder, not trained".into(), &untrained.encoder),
            ];
            let runs = judged.accuracy.runs;
            page.protocol =
                format!("Mean ± deviation over {runs} splits ({}), {}.", judged.splits, judged.classifier);
            page.comparisons = vec![("Â²X".into(), judged.against_propagated)];
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
        let synthetic = if self.data.synthetic { " (synthetic)" } else { "" };
        let about =
            format!("({} nodes, {} edges)", grouped(self.data.nodes as u64), grouped(self.data.edges as u64));
        lines.title(&format!("{}{synthetic}: {}", self.data.name, self.model.model.name()), &about);
        let Clusters { method, quality, .. } = &self.partition;
        let cut = format!("by {method}, {:.1} % of edges cut", 100.0 * quality.cut_share);
        lines.row("clusters", grouped(quality.clusters as u64), cut);
        let Trained { epochs, loss_first, loss_last, seconds_per_epoch } = &self.train;
        let losses =
            format!("loss {loss_first:.4} to {loss_last:.4}, {:.1} ms each", 1e3 * seconds_per_epoch);
        lines.row("epochs", grouped(*epochs as u64), losses);
        if let (Some(judged), Some(untrained)) = (&self.accuracy, &self.untrained) {
            let mut row = |label: &str, accuracy: &Accuracy, about: String| {
                lines.row(label, format!("{:.2} ± {:.2}", accuracy.mean, accuracy.std), about);
            };
            let about = format!("% of test nodes right, {} splits ({})", judged.accuracy.runs, judged.splits);
            row("accuracy", &judged.accuracy, about);
            row("  X", &untrained.features, "the features alone".into());
            row("  Â²X", &untrained.propagated, "two hops, no training".into());
            row("  encoder", &untrained.encoder, "the same encoder, not trained".into());
            let Comparison { difference, p_value, .. } = judged.against_propagated;
            let verdict = if p_value >= 0.05 {
                "no clear difference"
            } else if difference > 0.0 {
                "better"
            } else {
                "worse"
            };
            lines.row(
                "verdict",
                format!("{difference:+.2}"),
                format!("against Â²X: {verdict} (paired test, p = {p_value:.1e})"),
            );
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
