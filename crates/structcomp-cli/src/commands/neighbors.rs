//! `structcomp neighbors`: the rows of an embedding that are most like some of them, by name.

use crate::{
    args::{EveryCommand, file_of, one_of},
    terminal::{self, grouped},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use structcomp::NodeIds;
use structcomp::data::Options;
use structcomp::memory::human_bytes;
use structcomp::neighbors::{Metric, NamedRows, Neighbor, NeighborSearch, Wanted, find};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(
    after_help = "Scores: the cosine; the dot product; or minus the distance (euclidean). Larger is more alike for each of them.

Examples:
  structcomp neighbors results ripgrep                   of a folder that 'structcomp run --out results' wrote
  structcomp neighbors z.parquet ripgrep vlc -k 5 --json
  structcomp neighbors x.npz --ids names.txt ripgrep     rows without names, and a file of names
  structcomp neighbors z.parquet --all --out nn.parquet  of every node"
)]
pub(crate) struct Neighbors {
    /// The embedding: .parquet, .csv, .tsv, .npy (with a file ids.txt in the same folder), or the folder of a run
    #[arg(value_name = "EMBEDDING", help_heading = None::<&str>)]
    embedding: PathBuf,
    /// The nodes to search for, by name or number
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all", help_heading = None::<&str>)]
    nodes: Vec<String>,
    /// Number of neighbours of each node
    #[arg(short, long = "count", value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// How alike two rows are
    #[arg(long, value_name = "METRIC", default_value = "cosine", value_parser = one_of::<Metric>(&["cosine", "dot", "euclidean"]))]
    metric: Metric,
    /// Leave out neighbours with lower scores
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = number)]
    min_score: Option<f32>,
    /// File with the name of each row, one per line
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    /// Search for every node
    #[arg(long, requires = "out")]
    all: bool,
    /// The file to write, with --all: .parquet, .csv, .tsv or .npy
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Serialize)]
struct NeighborsReport {
    query: Vec<Query>,
    #[serde(flatten)]
    about: About,
}

/// A node and what is like it.
#[derive(Serialize)]
struct Query {
    id: Id,
    neighbors: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    id: Id,
    score: f32,
}

/// A number where the ids are numbers.
#[derive(Serialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Name(String),
}

#[derive(Serialize)]
struct AllReport {
    out: PathBuf,
    bytes: u64,
    k: u32,
    #[serde(flatten)]
    about: About,
}

#[derive(Serialize)]
struct About {
    metric: Metric,
    nodes: usize,
    dimension: usize,
    seconds: f64,
    version: &'static str,
}

impl Neighbors {
    pub(crate) fn run(&self) -> Result<()> {
        if self.out.is_some() && !self.all {
            bail!(
                "--out is for the neighbours of every node; add --all and leave out the ids, or use --json"
            );
        }
        self.common.start()?;
        let started = Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.embedding.display()));
        let options = Options { budget: self.common.budget(), ..Options::default() };
        let named = NamedRows::open(file_of(&self.embedding)?, self.ids.as_deref(), &options)?;
        let search = NeighborSearch::new(&named.rows, self.metric, self.common.budget())?;
        spinner.finish_and_clear();
        match &self.out {
            Some(out) => self.all(&named, &search, out, started),
            None => self.some(&named, &search, started),
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted { count: self.k as usize, min_score: self.min_score }
    }

    fn some(&self, named: &NamedRows, search: &NeighborSearch, started: Instant) -> Result<()> {
        let nodes = find(&named.ids, named.rows.rows(), self.nodes.iter().map(String::as_str))?;
        let found = search.of_nodes(&nodes, self.wanted())?;
        let id = |node| Id::of(&named.ids, node);
        let neighbor = |found: Neighbor| Found { id: id(found.node), score: found.score };
        let query = nodes.iter().zip(found).map(|(&node, found)| Query {
            id: id(node),
            neighbors: found.into_iter().map(neighbor).collect(),
        });
        let report = NeighborsReport { query: query.collect(), about: self.about(named, started) };
        self.common.print(&report, || report.text())
    }

    fn all(&self, named: &NamedRows, search: &NeighborSearch, out: &Path, started: Instant) -> Result<()> {
        let bar = terminal::progress(self.common.quiet, named.rows.rows() as u64, false);
        bar.set_message("searching");
        search.write_all(out, &named.ids, self.wanted(), |nodes| bar.set_position(nodes as u64))?;
        bar.finish_and_clear();
        let bytes = out.metadata().map_or(0, |about| about.len());
        let report = AllReport { out: out.to_owned(), bytes, k: self.k, about: self.about(named, started) };
        self.common.print(&report, || report.text())
    }

    fn about(&self, named: &NamedRows, started: Instant) -> About {
        About {
            metric: self.metric,
            nodes: named.rows.rows(),
            dimension: named.rows.cols(),
            seconds: started.elapsed().as_secs_f64(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

impl NeighborsReport {
    /// A list per query: names in a column, then scores.
    fn text(&self) -> String {
        let names = self.query.iter().flat_map(|query| &query.neighbors);
        let width = names.map(|found| found.id.text().chars().count()).max().unwrap_or(0);
        let query = |query: &Query| {
            let neighbors = query.neighbors.iter();
            let lines =
                neighbors.map(|Found { id, score }| format!("  {:<width$}  {score:>8.4}\n", id.text()));
            let none = if query.neighbors.is_empty() { "  none\n" } else { "" };
            format!("{}\n{}{none}", query.id.text(), lines.collect::<String>())
        };
        self.query.iter().map(query).collect::<Vec<String>>().join("\n")
    }
}

impl AllReport {
    fn text(&self) -> String {
        let Self { out, bytes, k, about } = self;
        let (bytes, nodes, seconds) = (human_bytes(*bytes), grouped(about.nodes), about.seconds);
        format!("{}: up to {k} neighbours of {nodes} nodes, {bytes} in {seconds:.3} s\n", out.display())
    }
}

fn number(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|number: &f32| !number.is_nan()).ok_or_else(|| "expected a number".into())
}

impl Id {
    fn of(ids: &NodeIds, node: u32) -> Self {
        match ids {
            NodeIds::Implicit => Self::Number(node as u64),
            NodeIds::Numbers(numbers) => Self::Number(numbers[node as usize]),
            NodeIds::Names(names) => Self::Name(names[node as usize].to_string()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}
