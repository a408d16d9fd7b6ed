//! `structcomp partition`: split the nodes into clusters, and measure their quality.

use crate::{
    args::{EveryCommand, Input, Preparing, one_of},
    terminal::{self, Lines, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use structcomp::memory::peak_rss_bytes;
use structcomp::output::{check_writable, write_clusters};
use structcomp::partition::{Gap, METHODS, Refine, read_node_weights};
use structcomp::{Dataset, Partitioning, Quality};
use structcomp_reproduce::Picture;

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = after_help())]
#[command(next_help_heading = "Clusters")]
pub(crate) struct Partition {
    /// Number of clusters [default: a tenth of the nodes]
    #[arg(long, short = 'k', value_name = "K")]
    clusters: Option<usize>,
    /// One of the methods below, or a .part file of any partitioner
    #[arg(long, visible_alias = "partitioner", value_name = "METHOD", default_value = "multilevel", value_parser = method_or_file)]
    method: String,
    /// Allowed imbalance: the largest cluster may exceed the average size by this share [default: 0.1;
    /// METIS's own for metis]
    #[arg(long, hide_short_help = true, value_name = "SHARE", allow_negative_numbers = true)]
    imbalance: Option<f64>,
    /// Size of the largest cluster, instead of --imbalance
    #[arg(long, hide_short_help = true, value_name = "NODES", conflicts_with = "imbalance")]
    max_size: Option<usize>,
    /// What multilevel minimises: the edge cut, or the paper's objective ‖P'Pᵀ − Â‖
    #[arg(long, hide_short_help = true, value_name = "AIM", default_value = "cut", value_parser = one_of::<Refine>(&["cut", "objective"]))]
    refine: Refine,
    /// Coarsening methods: coarsen every component of more than ten nodes separately, as the paper does; the
    /// number of clusters then differs from --clusters
    #[arg(long, hide_short_help = true)]
    per_component: bool,
    /// File of node weights for the size of clusters: one integer per line, one per node
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    node_weights: Option<PathBuf>,
    /// Also measure ‖P'Pᵀ − Â^K‖: exact up to 2 hops, estimated beyond
    #[arg(long, hide_short_help = true, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=100))]
    hops: Option<u32>,
    /// File to write: one cluster per line (.part), or with node ids (.csv, .tsv)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Plot the cluster sizes and, for up to 1000 clusters, the clusters themselves
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    preparing: Preparing,
    #[command(flatten)]
    common: EveryCommand,
}

/// The name of a method, or a file of clusters.
pub(super) fn method_or_file(name: &str) -> Result<String> {
    if METHODS.iter().all(|method| method.name != name) && !Path::new(name).is_file() {
        let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        bail!("expected a file or one of {}", names.join(", "));
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
  structcomp partition cora --method cora.part --hops 2    measure clusters made elsewhere"
}

#[derive(Serialize)]
struct PartitionReport {
    data: PartitionedData,
    partition: PartitionSummary,
    seconds: PartitionSeconds,
    peak_rss_bytes: Option<u64>,
    seed: u64,
    threads: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct PartitionedData {
    name: String,
    synthetic: bool,
    sha256: String,
    nodes: usize,
    edges: usize,
}

#[derive(Serialize)]
struct PartitionSummary {
    method: String,
    /// How many were asked for; METIS and files may leave some empty.
    requested: usize,
    #[serde(flatten)]
    quality: Quality,
    #[serde(skip_serializing_if = "Option::is_none")]
    hops: Option<Gap>,
}

#[derive(Serialize)]
struct PartitionSeconds {
    load: f64,
    partition: f64,
    quality: f64,
    total: f64,
}

impl Partition {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        self.check_outputs()?;
        let started = Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let mut dataset = self.input.load(&self.common)?;
        self.preparing.apply(&mut dataset, &self.common)?;
        let load = started.elapsed().as_secs_f64();

        let config = self.config(&dataset)?;
        terminal::stage(&spinner, format!("partitioning with {}", config.method));
        let (partition, requested) = config.split(&dataset.graph, self.common.seed())?;
        let split = started.elapsed().as_secs_f64();
        if let Some(out) = &self.out {
            write_clusters(out, &partition, &dataset.ids)?;
        }

        terminal::stage(&spinner, "measuring the clusters".to_owned());
        let measured = Instant::now();
        let quality = Quality::of(&dataset.graph, &partition, dataset.labels.as_ref())?;
        let hops =
            self.hops.map(|hops| Gap::of(&dataset.graph, &partition, hops as usize, self.common.seed()));
        let outcome = PartitionSummary { method: config.method, requested, quality, hops: hops.transpose()? };
        let quality = measured.elapsed().as_secs_f64();
        let report = PartitionReport {
            data: PartitionedData {
                name: dataset.name.clone(),
                synthetic: dataset.source.synthetic,
                sha256: dataset.sha256()?,
                nodes: dataset.graph.nodes(),
                edges: dataset.graph.edges(),
            },
            partition: outcome,
            seconds: PartitionSeconds {
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
            terminal::stage(&spinner, "drawing".to_owned());
            let (graph, labels, quality) =
                (&dataset.graph, dataset.labels.as_ref(), &report.partition.quality);
            Picture { title: &report.title(), graph, partition: &partition, quality, labels }.write(plot)?;
        }
        spinner.finish_and_clear();
        self.common.print(&report, || report.text(self))
    }

    /// Fails now, and not after partitioning.
    fn check_outputs(&self) -> Result<()> {
        for (flag, file, ends) in
            [("--out", &self.out, &[".part", ".csv", ".tsv"][..]), ("--plot", &self.plot, &[".svg"])]
        {
            let Some(file) = file else { continue };
            let name = file.to_string_lossy().to_lowercase();
            if !ends.iter().any(|end| name.ends_with(end)) {
                bail!("{flag} {}: expected a name that ends in {}", file.display(), ends.join(" or "));
            }
            check_writable(file)?;
        }
        Ok(())
    }

    fn config(&self, dataset: &Dataset) -> Result<Partitioning> {
        let weights = self.node_weights.as_ref().map(|file| read_node_weights(file, dataset.graph.nodes()));
        Ok(Partitioning {
            method: self.method.clone(),
            clusters: self.clusters,
            imbalance: self.imbalance,
            max_size: self.max_size,
            refine: self.refine,
            node_weights: weights.transpose()?,
            per_component: self.per_component,
        })
    }
}

impl PartitionReport {
    fn title(&self) -> String {
        let synthetic = if self.data.synthetic { " (synthetic)" } else { "" };
        let clusters = grouped(self.partition.quality.clusters);
        format!("{}{synthetic}: {clusters} clusters by {}", self.data.name, self.partition.method)
    }

    fn text(&self, asked: &Partition) -> String {
        let PartitionSummary { requested, quality, hops, .. } = &self.partition;
        let mut lines = Lines::default();
        let about = format!("({} nodes, {} edges)", grouped(self.data.nodes), grouped(self.data.edges));
        lines.title(&self.title(), &about);
        let empty = match requested.saturating_sub(quality.clusters) {
            0 => "none empty".to_owned(),
            empty => format!("{} requested, {} of them empty", grouped(*requested), grouped(empty)),
        };
        lines.row("clusters", grouped(quality.clusters), empty);
        let cut = match quality.cut.fract() == 0.0 {
            true => grouped(quality.cut as u64),
            false => format!("{:.3}", quality.cut),
        };
        lines.row("cut", cut, format!("{:.2} % of edges", 100.0 * quality.cut_share));
        let balance = format!("nodes, {:.2} times the average", quality.balance);
        lines.row("largest", grouped(quality.largest), balance);
        let singletons = format!("nodes; clusters of a single node: {}", grouped(quality.singletons));
        lines.row("smallest", grouped(quality.smallest), singletons);
        lines.row("disconnected", grouped(quality.disconnected), "clusters".into());
        lines.row("gap", format!("{:.3}", quality.gap), "‖P'Pᵀ − Â‖".into());
        if let Some(Gap { hops, value, standard_error }) = hops {
            let error =
                standard_error.map_or_else(String::new, |error| format!(", standard error {error:.3}"));
            lines.row("", format!("{value:.3}"), format!("‖P'Pᵀ − Â^{hops}‖{error}"));
        }
        if let Some(purity) = quality.purity {
            let about = "of labelled nodes are of their cluster's most frequent class";
            lines.row("purity", format!("{purity:.3}"), about.into());
        }
        let PartitionSeconds { load, partition, quality, total } = self.seconds;
        lines.seconds(total, &[("load", load), ("partition", partition), ("quality", quality)]);
        lines.memory(self.peak_rss_bytes);
        for file in [&asked.out, &asked.plot].into_iter().flatten() {
            lines.row("written", String::new(), file.display().to_string());
        }
        lines.text
    }
}
