//! Which data to read, how to read it, and how to prepare its features.

use super::{EveryCommand, STANDARD, file_of, one_of};
use anyhow::{Result, bail};
use clap::{Arg, Args, ValueEnum};
use std::path::{Path, PathBuf};
use structcomp::data::EdgeColumns;
use structcomp::output::Export;
use structcomp::{Dataset, FeatureNorm, Features, Graph, Prepare, StandIn, data};

/// Which data.
#[derive(Args, Clone)]
pub(crate) struct Input {
    /// Name of a dataset, file, folder, name of a synthetic graph, or - for standard input
    #[arg(value_name = "DATA", default_value = "demo", conflicts_with = "edges", help_heading = None::<&str>)]
    data: Option<String>,
    /// File of edges, instead of DATA
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    edges: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// How to read it.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct Reading {
    /// File of node features, for a file of edges
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// File of class labels, for a file of edges
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// File with one node id per line: the rows of features, labels or an embedding that have no ids of their own
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    /// Whether the first line of a text table is a header
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    header: Header,
    /// Column of one end of each edge, by name or number from 1
    #[arg(long, value_name = "COLUMN")]
    source: Option<String>,
    /// Column of the other end
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Column of the edge weights
    #[arg(long, value_name = "COLUMN", conflicts_with = "no_weights")]
    weight: Option<String>,
    /// File format, if it is not recognised by content; one of the names below
    #[arg(long, value_name = "NAME", value_parser = format_names())]
    format: Option<String>,
    /// Fail instead of repairing the data
    #[arg(long)]
    strict: bool,
    /// Ignore edge weights
    #[arg(long)]
    no_weights: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Header {
    Auto,
    Yes,
    No,
}

/// What is done to the features.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct Preparing {
    /// How to scale the features
    #[arg(long, value_name = "NORM", default_value = "none", value_parser = one_of::<FeatureNorm>(&["none", "row-l1", "row-l2", "standardize"]))]
    feature_norm: FeatureNorm,
    /// What to use as features if there are none; run and train use position
    #[arg(long, value_name = "KIND", value_parser = one_of::<StandIn>(&["position", "degree"]))]
    stand_in: Option<StandIn>,
    /// Number of features of a stand-in
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=65536))]
    stand_in_width: u32,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    let names =
        data::FORMATS.iter().map(|format| clap::builder::PossibleValue::new(format.name).help(format.about));
    names.collect::<Vec<_>>().into()
}

impl Input {
    /// Loads the data.
    pub(crate) fn load(&self, common: &EveryCommand) -> Result<Dataset> {
        match &self.edges {
            Some(edges) => self.reading.load_files(edges, common),
            None => self.reading.load(&self.name(), common),
        }
    }

    /// Reads an embedding of the data's nodes.
    pub(crate) fn embedding(
        &self,
        file: &Path,
        dataset: &Dataset,
        common: &EveryCommand,
    ) -> Result<Features> {
        Ok(data::open_embedding(file, dataset, &self.reading.options(common))?)
    }

    /// What the user asked for, for messages.
    pub(crate) fn name(&self) -> String {
        let edges = self.edges.as_ref().map(|edges| edges.display().to_string());
        edges.or_else(|| self.data.clone()).unwrap_or_default()
    }

    /// DATA without a default, for commands whose results are about data that the user has.
    pub(crate) fn required(data: Arg) -> Arg {
        data.default_value(None::<&str>).required_unless_present("edges")
    }
}

impl Reading {
    /// Loads a dataset by name or path.
    pub(crate) fn load(&self, data: &str, common: &EveryCommand) -> Result<Dataset> {
        if self.features.is_some() || self.labels.is_some() {
            let is_named = data::Synthetic::named(data).is_some() || data::named::find(data).is_some();
            if is_named {
                bail!(
                    "{data} has features and labels of its own; leave out --features and --labels, or give a \
                     file of edges with --edges"
                );
            }
            return self.load_files(Path::new(data), common);
        }
        if data == STANDARD {
            return Ok(data::open(file_of(Path::new(data))?, &self.options(common))?);
        }
        // Only named datasets need the folder, which is not known everywhere.
        let folder = data::named::find(data).map_or(Ok(PathBuf::new()), |_| common.data_dir())?;
        Ok(data::load(data, &folder, common.seed(), &self.options(common))?)
    }

    fn load_files(&self, edges: &Path, common: &EveryCommand) -> Result<Dataset> {
        let (features, labels) = (self.features.as_deref(), self.labels.as_deref());
        Ok(data::open_files(file_of(edges)?, features, labels, &self.options(common))?)
    }

    /// The rows of a file that is no graph: a matrix, or any table if its features are asked for.
    pub(crate) fn table(
        &self,
        data: &str,
        part: Option<Export>,
        common: &EveryCommand,
    ) -> Result<Option<data::Table>> {
        let data = &file_of(Path::new(data))?;
        let is_file = data.is_file() && self.features.is_none() && part != Some(Export::Edges);
        let is_table = is_file && (data::is_matrix(data)? || part == Some(Export::Features));
        is_table.then(|| data::open_table(data, &self.options(common)).map_err(Into::into)).transpose()
    }

    fn options(&self, common: &EveryCommand) -> data::Options {
        data::Options {
            format: self.format.clone(),
            strict: self.strict,
            weights: !self.no_weights,
            header: match self.header {
                Header::Auto => None,
                Header::Yes => Some(true),
                Header::No => Some(false),
            },
            columns: EdgeColumns {
                source: self.source.clone(),
                target: self.target.clone(),
                weight: self.weight.clone(),
            },
            ids: self.ids.clone(),
            budget: common.budget(),
        }
    }
}

impl Preparing {
    pub(crate) fn settings(&self) -> Prepare {
        Prepare {
            feature_norm: self.feature_norm,
            stand_in: self.stand_in.unwrap_or_default(),
            stand_in_width: self.stand_in_width as usize,
        }
    }

    /// Prepares the features of a dataset in place, for commands without a model. They do without features unless
    /// asked for some.
    pub(crate) fn apply(&self, dataset: &mut Dataset, common: &EveryCommand) -> Result<()> {
        if dataset.features.is_none() && self.stand_in.is_none() {
            return Ok(());
        }
        Ok(self.settings().dataset(dataset, common.seed())?)
    }

    /// The same for a table without a graph.
    pub(crate) fn apply_to_table(&self, table: &mut data::Table, common: &EveryCommand) -> Result<()> {
        if let Some(features) = table.features.take() {
            let graph = Graph::from_edges(features.rows(), &[])?;
            let mut dataset = Dataset::in_memory("table", graph, Some(features));
            self.apply(&mut dataset, common)?;
            table.features = dataset.features;
        }
        Ok(())
    }
}
