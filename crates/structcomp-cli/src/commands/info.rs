//! `structcomp info`: describe a dataset.

use super::splits;
use crate::{
    args::{EveryCommand, Input, Preparing},
    terminal::{self, Lines, grouped},
};
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use std::time::Instant;
use structcomp::data::Summary;
use structcomp::memory::{human_bytes, peak_rss_bytes};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp info
  structcomp info cora --data-dir data --json
  structcomp info edges.csv.gz --strict
  structcomp info --edges edges.tsv --features x.npy --labels y.npy
  structcomp info cora --splits random20 --runs 50")]
pub(crate) struct Info {
    #[command(flatten)]
    input: Input,
    /// Also describe splits: random20, those of the dataset by name, or a file of node indices
    #[arg(long, value_name = "SPLITS")]
    splits: Option<String>,
    /// Number of random splits
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    #[command(flatten)]
    preparing: Preparing,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Serialize)]
struct InfoReport {
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
        self.preparing.apply(&mut dataset, &self.common)?;
        if let Some(which) = &self.splits {
            dataset.splits = vec![splits::choose(&dataset, which, self.runs as usize, self.common.seed())?];
        }
        let seconds = started.elapsed().as_secs_f64();
        let report = InfoReport {
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

impl InfoReport {
    fn text(&self) -> String {
        let data = &self.summary.data;
        let mut lines = Lines::default();
        let kind = if data.synthetic && data.format != "synthetic" { "synthetic, " } else { "" };
        lines.title(&data.name, &format!("({kind}{})", data.format));
        self.graph(&mut lines);
        self.features(&mut lines);
        self.labels(&mut lines);
        if data.repairs.describe(data.edges as u64).is_none() {
            lines.row("repairs", String::new(), "none".into());
        }
        lines.remarks(data);
        lines.row("sha256", String::new(), data.sha256.clone());
        lines.row("seconds", format!("{:.3}", self.seconds), "to read the data".into());
        lines.row("graph", human_bytes(self.graph_bytes), "in memory or mapped".into());
        lines.memory(self.peak_rss_bytes);
        lines.text
    }

    fn graph(&self, lines: &mut Lines) {
        let Summary { data, components, largest_component, degree, .. } = &self.summary;
        let components = match components {
            1 => "1 component".into(),
            many => format!(
                "{} components, the largest with {} nodes",
                grouped(*many),
                grouped(*largest_component)
            ),
        };
        let about = format!("{} isolated, {components}", grouped(data.repairs.isolated));
        lines.row("nodes", grouped(data.nodes), about);
        let weighted = if data.weighted { "undirected, weighted" } else { "undirected" };
        lines.row("edges", grouped(data.edges), weighted.into());
        let degrees = format!(
            "mean; {} to {}, median {}  {}",
            grouped(degree.min),
            grouped(degree.max),
            degree.median,
            sparkline(&degree.histogram)
        );
        lines.row("degree", format!("{:.2}", degree.mean), degrees);
    }

    fn features(&self, lines: &mut Lines) {
        let data = &self.summary.data;
        let (Some(width), Some(matrix)) = (data.features, &data.feature_matrix) else {
            return lines.row("features", "none".into(), "--stand-in makes some from the graph".into());
        };
        let share = 100.0 * matrix.nonzeros as f64 / (data.nodes * width).max(1) as f64;
        let about = format!(
            "{}{}, {} non-zeros ({share:.1} %), {} all-zero rows",
            matrix.storage,
            if matrix.mapped { ", mapped" } else { "" },
            grouped(matrix.nonzeros),
            grouped(matrix.zero_rows)
        );
        lines.row("features", grouped(width), about);
    }

    fn labels(&self, lines: &mut Lines) {
        let Summary { data, homophily, .. } = &self.summary;
        match (data.classes, data.unlabelled) {
            (Some(classes), Some(unlabelled)) => {
                let homophily = homophily.map_or_else(String::new, |share| format!(", homophily {share:.2}"));
                let about = format!("{} nodes without a label{homophily}", grouped(unlabelled));
                lines.row("classes", grouped(classes), about);
            }
            _ => lines.row("classes", "none".into(), String::new()),
        }
        for set in &data.splits {
            let [train, validation, test] = [set.train, set.validation, set.test].map(grouped);
            let about = format!("{}: {train} train, {validation} validation, {test} test", set.name);
            lines.row("splits", grouped(set.splits), about);
        }
    }
}

/// Counts of degrees 0, 1, 2-3, 4-7, … as bars on a logarithmic scale.
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
