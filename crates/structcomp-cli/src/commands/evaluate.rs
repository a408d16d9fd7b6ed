//! `structcomp evaluate`: what an embedding made anywhere is worth, beside no training at all.

use super::info::choose_splits;
use super::judged::{self, Judged};
use crate::{
    args::{Common, Input},
    terminal::{self, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::{path::PathBuf, time::Instant};
use structcomp::{
    Accuracy, Agreement, Dataset, Features, KMeans, Labels, Normalization, Probe, Propagation, SplitSet,
    human_bytes, peak_rss_bytes,
};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(next_help_heading = "Judging")]
#[command(
    after_help = "Links are judged by 'structcomp run --links': edges must be held out before an embedding is made.

Examples:
  structcomp evaluate cora --embedding cora-sce/embedding.npy
  structcomp evaluate cora --embedding z.npy --splits authors.txt --clustering --json
  structcomp evaluate chameleon --embedding z.npy --probe softmax --splits geom-gcn
  structcomp evaluate --edges edges.csv --labels y.csv --embedding z.parquet"
)]
pub(crate) struct Evaluate {
    /// The embedding, a row a node: .npy, .npz, .mtx, .parquet, .csv or .tsv; rows with ids are joined by id
    #[arg(long, short, value_name = "FILE")]
    embedding: PathBuf,
    /// What learns from the embedding: logistic (the paper's small data), mlp (its large data) or softmax
    /// (its heterophilous data)
    #[arg(long, value_name = "PROBE", default_value = "logistic", value_parser = clap::builder::PossibleValuesParser::new(Probe::NAMES), hide_possible_values = true)]
    probe: String,
    /// Splits to judge by: random20, one that came with the data, or a file of indices
    #[arg(long, value_name = "SPLITS", default_value = "random20")]
    splits: String,
    /// How many random splits to make [default: 50], or how often mlp and softmax learn from a single split
    /// [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Also find as many clusters as there are classes by k-means, and compare them
    #[arg(long)]
    clustering: bool,
    /// Not possible with a finished embedding; says what to do instead
    #[arg(long, hide = true, num_args = 0..=1)]
    links: Option<Option<String>>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Report {
    data: structcomp::DataSummary,
    embedding: Embedding,
    accuracy: Judged,
    #[serde(skip_serializing_if = "Option::is_none")]
    untrained: Option<Untrained>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clustering: Option<Clusters>,
    seconds: Seconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct Embedding {
    file: PathBuf,
    rows: usize,
    cols: usize,
}

/// The same probe on the same splits without training.
#[derive(Serialize)]
struct Untrained {
    features: Accuracy,
    propagated: Accuracy,
}

/// k-means beside the classes.
#[derive(Serialize)]
struct Clusters {
    clusters: usize,
    #[serde(flatten)]
    agreement: Agreement,
    #[serde(skip_serializing_if = "Option::is_none")]
    untrained: Option<UntrainedClusters>,
}

#[derive(Serialize)]
struct UntrainedClusters {
    features: Agreement,
    propagated: Agreement,
}

#[derive(Serialize)]
struct Seconds {
    load: f64,
    evaluate: f64,
    total: f64,
}

impl Evaluate {
    pub(crate) fn run(&self) -> Result<()> {
        if self.links.is_some() {
            bail!(
                "links cannot be judged with a finished embedding, which has seen them; 'structcomp run --links' holds edges out before it partitions and trains"
            );
        }
        self.common.start()?;
        let started = Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let dataset = self.input.load(&self.common)?;
        let Some(labels) = dataset.labels.as_ref().filter(|labels| labels.classes() > 0) else {
            bail!("{} has no labels to judge an embedding by; give some with --labels FILE", dataset.name)
        };
        let embedding = self.input.embedding(&self.embedding, &dataset, &self.common)?;
        let probe = Probe::named(&self.probe, &dataset.name)?;
        let splits = self.splits(&dataset, &probe)?;
        let load = started.elapsed().as_secs_f64();

        spinner.set_message(format!("judging by {probe}"));
        let seed = self.common.seed();
        let judge = |x: &Features| probe.classify(x, labels, &splits, seed);
        let accuracy = judge(&embedding)?;
        let propagated = match &dataset.features {
            Some(x) => Some(Propagation::new(&dataset.graph, Normalization::Symmetric).power(x, 2)?),
            None => None,
        };
        let controls = dataset.features.as_ref().zip(propagated.as_ref());
        let untrained = match controls {
            Some((x, spread)) => Some(Untrained { features: judge(x)?, propagated: judge(spread)? }),
            None => None,
        };
        let clustering = match self.clustering {
            true => {
                spinner.set_message("clustering by k-means".to_owned());
                Some(self.cluster(&embedding, controls, labels)?)
            }
            false => None,
        };
        let total = started.elapsed().as_secs_f64();
        let report = Report {
            data: dataset.summary()?.data,
            embedding: Embedding {
                file: self.embedding.clone(),
                rows: embedding.rows(),
                cols: embedding.cols(),
            },
            accuracy: Judged::new(
                accuracy,
                &splits,
                &probe,
                untrained.as_ref().map(|untrained| (&untrained.features, &untrained.propagated)),
            )?,
            untrained,
            clustering,
            seconds: Seconds { load, evaluate: total - load, total },
            peak_rss_bytes: peak_rss_bytes(),
            seed: seed.0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text(labels))
    }

    /// The splits; a single one many times over where each time is another draw.
    fn splits(&self, dataset: &Dataset, probe: &Probe) -> Result<SplitSet> {
        let runs = |default: usize| self.runs.map_or(default, |runs| runs as usize);
        let mut set = choose_splits(dataset, &self.splits, runs(50), self.common.seed())?;
        if let ([only], true) = (&set.splits[..], probe.draws()) {
            set.splits = vec![only.clone(); runs(10)];
        }
        Ok(set)
    }

    fn cluster(
        &self,
        embedding: &Features,
        controls: Option<(&Features, &Features)>,
        labels: &Labels,
    ) -> Result<Clusters> {
        let kmeans = KMeans { clusters: labels.classes(), ..KMeans::default() };
        let agreement = |x: &Features| Agreement::of(&kmeans.cluster(x, self.common.seed())?.of, labels);
        let untrained = match controls {
            Some((x, spread)) => {
                Some(UntrainedClusters { features: agreement(x)?, propagated: agreement(spread)? })
            }
            None => None,
        };
        Ok(Clusters { clusters: kmeans.clusters, agreement: agreement(embedding)?, untrained })
    }
}

impl Report {
    fn text(&self, labels: &Labels) -> String {
        let mut lines = Lines::default();
        let synthetic = if self.data.synthetic { " (synthetic)" } else { "" };
        let Embedding { file, rows, cols } = &self.embedding;
        lines.title(
            &format!("{}{synthetic}: {}", self.data.name, file.display()),
            &format!("({} nodes, {} numbers each)", grouped(*rows as u64), grouped(*cols as u64)),
        );
        let Judged { accuracy, splits, classifier, against_features, against_propagated, small_classes } =
            &self.accuracy;
        let about = format!("% of test nodes right, {} runs ({splits})", accuracy.runs);
        judged::accuracy_row(&mut lines, "accuracy", accuracy, about);
        match &self.untrained {
            Some(Untrained { features, propagated }) => {
                judged::accuracy_row(&mut lines, "  X", features, "the features alone".into());
                judged::accuracy_row(&mut lines, "  Â²X", propagated, "two hops, no training".into());
            }
            None => lines.row(
                "  X, Â²X",
                "none".into(),
                "there are no features to compare with; --features or --stand-in gives some".into(),
            ),
        }
        for (against, name) in [(against_propagated, "Â²X"), (against_features, "X")] {
            against.as_ref().into_iter().for_each(|comparison| judged::verdict(&mut lines, name, comparison));
        }
        lines.row("by", String::new(), classifier.clone());
        for &(class, nodes) in small_classes {
            let name = labels.names().and_then(|names| names.get(class as usize));
            let name = name.map_or_else(|| class.to_string(), |name| format!("'{name}'"));
            let half = nodes / 2;
            lines.row(
                "note",
                String::new(),
                format!("class {name} has {nodes} nodes only; {half} of them are learnt from"),
            );
        }
        if let Some(Clusters { clusters, agreement, untrained }) = &self.clustering {
            let mut row = |label: &str, Agreement { nmi, ari }: &Agreement, about: String| {
                lines.row(label, format!("{nmi:.3}"), format!("NMI, ARI {ari:.3}{about}"));
            };
            row("clusters", agreement, format!(", {clusters} by k-means beside the classes"));
            if let Some(UntrainedClusters { features, propagated }) = untrained {
                row("  X", features, String::new());
                row("  Â²X", propagated, String::new());
            }
        }
        let Seconds { load, evaluate, total } = &self.seconds;
        lines.row("seconds", format!("{total:.3}"), format!("load {load:.3}, evaluate {evaluate:.3}"));
        if let Some(bytes) = self.peak_rss_bytes {
            lines.row("memory", human_bytes(bytes), "at most".into());
        }
        lines.text
    }
}
