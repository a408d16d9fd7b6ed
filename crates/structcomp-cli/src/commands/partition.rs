//! `structcomp partition`: the nodes in clusters, and how good the clusters are.

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
    Dataset, Gap, METHODS, Partitioning, Quality, Refine, human_bytes, peak_rss_bytes, read_node_weights,
    write_clusters,
};
use structcomp_reproduce::Picture;

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = after_help())]
#[command(next_help_heading = "Clusters")]
pub(crate) struct Partition {
    /// How many clusters [default: a tenth of the nodes]
    #[arg(long, short = 'k', value_name = "K")]
    clusters: Option<usize>,
    /// A method, listed below, or a .part file of any partitioner
    #[arg(long, visible_alias = "partitioner", value_name = "METHOD", default_value = "multilevel", value_parser = method_or_file)]
    method: String,
    /// How much larger than the average a cluster may be, as a share of it [default: 0.1; METIS's own for metis]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    imbalance: Option<f64>,
    /// The largest size of a cluster, instead of --imbalance
    #[arg(long, value_name = "NODES", conflicts_with = "imbalance")]
    max_size: Option<usize>,
    /// What multilevel refines for: few edges cut, or the paper's objective ‖P'Pᵀ − Â‖
    #[arg(long, value_name = "AIM", default_value = "cut")]
    refine: Aim,
    /// Coarsen every component of more than ten nodes on its own, as the paper did; the number of clusters
    /// then differs from the one asked for
    #[arg(long)]
    per_component: bool,
    /// A file of whole numbers, one a node: what each counts for in the size of its cluster
    #[arg(long, value_name = "FILE")]
    node_weights: Option<PathBuf>,
    /// Also measure ‖P'Pᵀ − Â^K‖: exact for 2 hops, estimated above
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=100))]
    hops: Option<u32>,
    /// Where to write the clusters: one a line (.part), or with ids (.csv, .tsv)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the sizes of the clusters and, up to 1000 of them, the clusters
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, ValueEnum)]
enum Aim {
    Cut,
    Objective,
}

/// A partitioner's name, or a file of clusters.
pub(super) fn method_or_file(name: &str) -> Result<String> {
    if METHODS.iter().all(|method| method.name != name) && !Path::new(name).is_file() {
        let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        bail!("neither a file nor one of {}", names.join(", "));
    }
    Ok(name.to_owned())
}

fn after_help() -> String {
    let mut text = String::from("Methods:\n");
    for method in METHODS {
        text += &format!("  {:<24} {}\n", method.name, method.about);
    }
    text + "\nExamples:
  structcomp partition cora --clusters 300 --out cora.part
  structcomp partition cora --clusters 300 --plot cora.svg
  structcomp partition graph.scg --method label-propagation --out graph.part
  structcomp partition edges.csv --out clusters.csv
  structcomp partition cora --method cora.part --hops 2    how good clusters made elsewhere are"
}

#[derive(Serialize)]
struct Report {
    data: Data,
    partition: Outcome,
    seconds: Seconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct Data {
    name: String,
    synthetic: bool,
    sha256: String,
    nodes: usize,
    edges: usize,
}

#[derive(Serialize)]
struct Outcome {
    method: String,
    /// The number asked for; METIS and files may leave some empty.
    requested: usize,
    #[serde(flatten)]
    quality: Quality,
    #[serde(skip_serializing_if = "Option::is_none")]
    hops: Option<Gap>,
}

#[derive(Serialize)]
struct Seconds {
    load: f64,
    partition: f64,
    quality: f64,
    total: f64,
}

impl Partition {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let started = Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let dataset = self.input.load(&self.common)?;
        let load = started.elapsed().as_secs_f64();

        let config = self.config(&dataset)?;
        spinner.set_message(format!("partitioning by {}", config.method));
        let (partition, requested) = config.split(&dataset.graph, self.common.seed())?;
        let split = started.elapsed().as_secs_f64();
        if let Some(out) = &self.out {
            write_clusters(out, &partition, &dataset.ids)?;
        }

        spinner.set_message("measuring the clusters".to_owned());
        let measured = Instant::now();
        let quality = Quality::of(&dataset.graph, &partition, dataset.labels.as_ref())?;
        let hops =
            self.hops.map(|hops| Gap::of(&dataset.graph, &partition, hops as usize, self.common.seed()));
        let outcome = Outcome { method: config.method, requested, quality, hops: hops.transpose()? };
        let quality = measured.elapsed().as_secs_f64();
        let report = Report {
            data: Data {
                name: dataset.name.clone(),
                synthetic: dataset.source.synthetic,
                sha256: dataset.sha256()?,
                nodes: dataset.graph.nodes(),
                edges: dataset.graph.edges(),
            },
            partition: outcome,
            seconds: Seconds {
                load,
                partition: split - load,
                quality,
                total: started.elapsed().as_secs_f64(),
            },
            peak_rss_bytes: peak_rss_bytes(),
            seed: self.common.seed().0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(plot) = &self.plot {
            spinner.set_message("drawing".to_owned());
            let (graph, labels, quality) =
                (&dataset.graph, dataset.labels.as_ref(), &report.partition.quality);
            Picture { title: &report.title(), graph, partition: &partition, quality, labels }.write(plot)?;
        }
        spinner.finish_and_clear();
        self.common.print(&report, || report.text(self))
    }

    fn config(&self, dataset: &Dataset) -> Result<Partitioning> {
        let weights = self.node_weights.as_ref().map(|file| read_node_weights(file, dataset.graph.nodes()));
        Ok(Partitioning {
            method: self.method.clone(),
            clusters: self.clusters,
            imbalance: self.imbalance,
            max_size: self.max_size,
            refine: match self.refine {
                Aim::Cut => Refine::Cut,
                Aim::Objective => Refine::Objective,
            },
            node_weights: weights.transpose()?,
            per_component: self.per_component,
        })
    }
}

impl Report {
    fn title(&self) -> String {
        let synthetic = if self.data.synthetic { " (synthetic)" } else { "" };
        let clusters = grouped(self.partition.quality.clusters as u64);
        format!("{}{synthetic}: {clusters} clusters by {}", self.data.name, self.partition.method)
    }

    fn text(&self, asked: &Partition) -> String {
        let Outcome { requested, quality, hops, .. } = &self.partition;
        let mut lines = Lines::default();
        let about =
            format!("({} nodes, {} edges)", grouped(self.data.nodes as u64), grouped(self.data.edges as u64));
        lines.title(&self.title(), &about);
        let empty = requested.saturating_sub(quality.clusters);
        let empty = match empty {
            0 => "none empty".to_owned(),
            _ => format!(
                "{} asked for; {} were empty and are gone",
                grouped(*requested as u64),
                grouped(empty as u64)
            ),
        };
        lines.row("clusters", grouped(quality.clusters as u64), empty);
        let cut = if quality.cut.fract() == 0.0 {
            grouped(quality.cut as u64)
        } else {
            format!("{:.3}", quality.cut)
        };
        lines.row("cut", cut, format!("{:.2} % of the edges", 100.0 * quality.cut_share));
        let sizes = format!(
            "the largest, {:.2} times the average; the smallest {}, {} of one node",
            quality.balance,
            grouped(quality.smallest as u64),
            grouped(quality.singletons as u64)
        );
        lines.row("size", grouped(quality.largest as u64), sizes);
        lines.row(
            "in pieces",
            grouped(quality.disconnected as u64),
            "clusters not held together by own edges".into(),
        );
        lines.row("gap", format!("{:.3}", quality.gap), "‖P'Pᵀ − Â‖".into());
        if let Some(Gap { hops, value, standard_error }) = hops {
            let error =
                standard_error.map_or_else(String::new, |error| format!(", standard error {error:.3}"));
            lines.row("", format!("{value:.3}"), format!("‖P'Pᵀ − Â^{hops}‖{error}"));
        }
        if let Some(purity) = quality.purity {
            lines.row(
                "purity",
                format!("{purity:.3}"),
                "of labelled nodes have their cluster's first label".into(),
            );
        }
        let memory = self
            .peak_rss_bytes
            .map_or_else(String::new, |bytes| format!(", {} of memory at most", human_bytes(bytes)));
        lines.row(
            "made",
            String::new(),
            format!(
                "in {:.3} s, after {:.3} s of reading{memory}",
                self.seconds.partition, self.seconds.load
            ),
        );
        for file in [&asked.out, &asked.plot].into_iter().flatten() {
            lines.row("written", String::new(), file.display().to_string());
        }
        lines.text
    }
}
