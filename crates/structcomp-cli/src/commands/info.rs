//! `structcomp info`: what a dataset is, before anything is done with it.

use crate::{
    args::{Common, Input},
    terminal::{self, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::{path::Path, time::Instant};
use structcomp::{Dataset, PAPER_TRAIN_PER_CLASS, Seed, SplitSet, Summary, human_bytes, peak_rss_bytes};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(
    after_help = "Examples:\n  structcomp info\n  structcomp info cora --data-dir data --json\n  structcomp info edges.csv.gz --strict\n  structcomp info --edges edges.tsv --features x.npy --labels y.npy\n  structcomp info cora --splits random20 --runs 50"
)]
pub(crate) struct Info {
    #[command(flatten)]
    input: Input,
    /// Also make or read these splits: random20, one that came with the data, or a file of indices
    #[arg(long, value_name = "SPLITS")]
    splits: Option<String>,
    /// How many random splits to make
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: Summary,
    graph_bytes: u64,
    seconds: f64,
    peak_rss_bytes: Option<u64>,
    version: &'static str,
}

impl Info {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let started = Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        if let Some(which) = &self.splits {
            dataset.splits = vec![choose_splits(&dataset, which, self.runs as usize, self.common.seed())?];
        }
        let seconds = started.elapsed().as_secs_f64();
        let report = Report {
            summary: dataset.summary()?,
            graph_bytes: dataset.graph.bytes(),
            seconds,
            peak_rss_bytes: peak_rss_bytes(),
            version: env!("CARGO_PKG_VERSION"),
        };
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())
    }
}

/// The splits that `--splits` names.
pub(crate) fn choose_splits(dataset: &Dataset, which: &str, runs: usize, seed: Seed) -> Result<SplitSet> {
    let Some(labels) = &dataset.labels else { bail!("splits need labels, and {} has none", dataset.name) };
    if let Some(set) = dataset.splits.iter().find(|set| set.name == which) {
        return Ok(set.clone());
    }
    if which == "random20" {
        return Ok(SplitSet::random(labels, PAPER_TRAIN_PER_CLASS, runs, seed));
    }
    if !Path::new(which).exists() {
        let held: Vec<&str> = dataset.splits.iter().map(|set| set.name.as_str()).collect();
        bail!(
            "no splits '{which}': use random20, a file of indices, or one of the data's own ({})",
            held.join(", ")
        );
    }
    Ok(SplitSet::from_file(Path::new(which), labels)?)
}

impl Report {
    fn text(&self) -> String {
        let Summary { data, components, largest_component, homophily, degree } = &self.summary;
        let mut lines = Lines::default();
        let kind = if data.synthetic && data.format != "synthetic" { "synthetic, " } else { "" };
        lines.title(&data.name, &format!("({kind}{})", data.format));
        let components = match components {
            1 => "1 component".into(),
            many => format!(
                "{} components, the largest of {}",
                grouped(*many as u64),
                grouped(*largest_component as u64)
            ),
        };
        lines.row(
            "nodes",
            grouped(data.nodes as u64),
            format!("{} isolated, {components}", grouped(data.repairs.isolated)),
        );
        let weighted = if data.weighted { "undirected, weighted" } else { "undirected" };
        lines.row("edges", grouped(data.edges as u64), weighted.into());
        lines.row(
            "degree",
            format!("{:.2}", degree.mean),
            format!(
                "mean; {} to {}, median {}  {}",
                grouped(degree.min as u64),
                grouped(degree.max as u64),
                degree.median,
                sparkline(&degree.histogram)
            ),
        );
        match (&data.features, &data.feature_matrix) {
            (Some(width), Some(matrix)) => {
                let cells = (data.nodes * width).max(1) as f64;
                let share = 100.0 * matrix.nonzeros as f64 / cells;
                let place = if matrix.mapped { ", mapped" } else { "" };
                lines.row(
                    "features",
                    grouped(*width as u64),
                    format!(
                        "{}{place}, {} non-zeros ({share:.1} %), {} all-zero rows",
                        matrix.storage,
                        grouped(matrix.nonzeros as u64),
                        grouped(matrix.zero_rows as u64)
                    ),
                );
            }
            _ => lines.row("features", "none".into(), "--stand-in makes some from the graph".into()),
        }
        match (data.classes, data.unlabelled) {
            (Some(classes), Some(unlabelled)) => {
                let homophily = homophily.map_or_else(String::new, |share| format!(", homophily {share:.2}"));
                lines.row(
                    "classes",
                    grouped(classes as u64),
                    format!("{} nodes unlabelled{homophily}", grouped(unlabelled as u64)),
                );
            }
            _ => lines.row("classes", "none".into(), String::new()),
        }
        for set in &data.splits {
            lines.row(
                "splits",
                grouped(set.splits as u64),
                format!(
                    "{}: {} train, {} validation, {} test",
                    set.name,
                    grouped(set.train as u64),
                    grouped(set.validation as u64),
                    grouped(set.test as u64)
                ),
            );
        }
        let repairs = data.repairs.describe(data.edges as u64).unwrap_or_else(|| "none needed".into());
        lines.row("repairs", String::new(), repairs);
        data.notes.iter().for_each(|note| lines.row("note", String::new(), note.clone()));
        lines.row("sha256", String::new(), data.sha256.clone());
        let memory = self
            .peak_rss_bytes
            .map_or_else(String::new, |bytes| format!(", {} of memory at most", human_bytes(bytes)));
        lines.row(
            "read",
            String::new(),
            format!("in {:.3} s, graph of {}{memory}", self.seconds, human_bytes(self.graph_bytes)),
        );
        lines.text
    }
}

/// Degrees 0, 1, 2-3, 4-7, … as bars of the logarithm of their counts.
fn sparkline(histogram: &[usize]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let tallest = histogram.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bar = |&count: &usize| match count {
        0 => ' ',
        _ => BARS[((count as f64 + 1.0).ln() / (tallest + 1.0).ln() * 7.0).round() as usize],
    };
    histogram.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_is_tallest_where_most_nodes_are() {
        assert_eq!(sparkline(&[0, 1000, 1, 30]), " █▂▄");
        assert_eq!(sparkline(&[]), "");
    }
}
