//! `structcomp generate`: synthetic graphs, written as they are generated.

use crate::{
    args::EveryCommand,
    terminal::{self, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use structcomp::data::{FeatureKind, Synthetic};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp generate demo --out demo
  structcomp generate synthetic-arxiv --out arxiv --seed 1
  structcomp generate demo --nodes 100000 --edges 800000 --homophily 0.6 --out mine")]
pub(crate) struct Generate {
    /// Which graph: demo, synthetic-arxiv, synthetic-products or synthetic-papers100m
    #[arg(value_name = "NAME", default_value = "demo")]
    name: String,
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of nodes
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// Number of undirected edges, to within 1 %
    #[arg(long, value_name = "N")]
    edges: Option<usize>,
    /// Number of classes
    #[arg(long, value_name = "N")]
    classes: Option<usize>,
    /// Share of edges between nodes of the same class
    #[arg(long, value_name = "SHARE")]
    homophily: Option<f64>,
    /// Share of the features that is noise, independent of the class
    #[arg(long, value_name = "SHARE")]
    feature_noise: Option<f64>,
    /// Number of isolated nodes
    #[arg(long, value_name = "N")]
    isolated: Option<usize>,
    /// Exponent of the power law of degrees, above 2; smaller values have heavier tails
    #[arg(long, value_name = "X")]
    degree_exponent: Option<f64>,
    /// Largest degree
    #[arg(long, value_name = "N")]
    max_degree: Option<usize>,
    /// Average size of a community
    #[arg(long, value_name = "N")]
    community: Option<usize>,
    /// Share of nodes without a label
    #[arg(long, value_name = "SHARE")]
    unlabelled: Option<f64>,
    /// Sparse features: bags of words from a vocabulary of this size
    #[arg(long, value_name = "N", conflicts_with = "gaussian")]
    words: Option<usize>,
    /// Dense features: this many Gaussian values per node
    #[arg(long, value_name = "N")]
    gaussian: Option<usize>,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Serialize)]
struct GenerateReport {
    name: String,
    synthetic: bool,
    out: PathBuf,
    nodes: usize,
    edges: u64,
    seed: u64,
    seconds: f64,
    peak_rss_bytes: Option<u64>,
}

impl Generate {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let started = std::time::Instant::now();
        let model = self.model()?;
        let bar = terminal::progress(self.common.quiet, 0, false);
        let edges = model.write(self.common.seed(), &self.out, |done, total| {
            bar.set_length(total);
            bar.set_message("generating");
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        let report = GenerateReport {
            name: model.name,
            synthetic: true,
            out: self.out.clone(),
            nodes: model.nodes,
            edges,
            seed: self.common.seed().0,
            seconds: started.elapsed().as_secs_f64(),
            peak_rss_bytes: structcomp::memory::peak_rss_bytes(),
        };
        self.common.print(&report, || {
            let (nodes, edges, seconds) = (grouped(report.nodes), grouped(report.edges), report.seconds);
            format!("{}: synthetic, {nodes} nodes, {edges} edges in {seconds:.2} s\n", report.out.display())
        })
    }

    fn model(&self) -> Result<Synthetic> {
        let Some(mut model) = Synthetic::named(&self.name) else {
            bail!("unknown synthetic graph '{}'; use one of {}", self.name, Synthetic::NAMES.join(", "));
        };
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut model.nodes, self.nodes);
        set(&mut model.edges, self.edges);
        set(&mut model.classes, self.classes);
        set(&mut model.homophily, self.homophily);
        set(&mut model.feature_noise, self.feature_noise);
        set(&mut model.isolated, self.isolated);
        set(&mut model.degree_exponent, self.degree_exponent);
        set(&mut model.max_degree, self.max_degree);
        set(&mut model.community, self.community);
        set(&mut model.unlabelled, self.unlabelled);
        set(
            &mut model.features,
            self.words.map(|vocabulary| FeatureKind::Words { vocabulary, per_node: 18.0 }),
        );
        set(&mut model.features, self.gaussian.map(|width| FeatureKind::Gaussian { width }));
        Ok(model)
    }
}
