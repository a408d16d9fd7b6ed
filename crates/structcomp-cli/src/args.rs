//! The flags, as typed. Those that mean the same for every command are written once.

use crate::commands::{
    convert::Convert,
    datasets::Datasets,
    embed::Embed,
    evaluate::Evaluate,
    generate::Generate,
    info::Info,
    partition::Partition,
    reproduce::{MeasureTraining, Reproduce},
    run::Run,
    train::Train,
};
use crate::terminal;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use structcomp::{Budget, Dataset, Export, FeatureNorm, Features, Seed, StandIn, data};

/// Node embeddings by graph contrastive learning, without message passing in training.
///
/// An independent implementation of StructComp (ICLR 2024).
#[derive(Parser)]
#[command(name = "structcomp", version, propagate_version = true, args_override_self = true)]
#[command(
    after_help = "Example:\n  structcomp info              describe the built-in demo graph\n  structcomp info edges.csv    describe your own"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Counts, repairs, degrees, components and homophily of a dataset
    Info(Info),
    /// The datasets known by name: list, fetch, verify
    Datasets(Datasets),
    /// Make a synthetic graph with features and labels
    Generate(Generate),
    /// Rewrite a dataset, its features or its edges in another format
    Convert(Convert),
    /// Split the nodes into clusters that cut few edges
    Partition(Partition),
    /// Train an encoder and write its weights
    Train(Train),
    /// Run weights on a graph, also on one that was not trained on
    Embed(Embed),
    /// What an embedding made anywhere is worth
    Evaluate(Evaluate),
    /// Everything from data to a judged embedding
    Run(Run),
    /// Rerun a table or figure of the paper next to the published numbers
    Reproduce(Reproduce),
    #[command(hide = true)]
    MeasureTraining(MeasureTraining),
}

/// Flags of every command.
#[derive(Args, Clone)]
#[command(next_help_heading = "General")]
pub(crate) struct Common {
    /// Where the named datasets are kept [default: the user's data folder]
    #[arg(long, value_name = "DIR", env = "STRUCTCOMP_DATA")]
    data_dir: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Threads to use; results do not depend on it [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// The most memory a file may make us use at once, such as 800M or 6G [default: 3/4 of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Read flags from a TOML file; flags on the command line win
    #[arg(long, value_name = "FILE.toml")]
    #[allow(dead_code)] // taken out of the arguments before they are parsed; here for --help
    config: Option<PathBuf>,
}

impl Common {
    /// Sets the number of threads; to be called once, first.
    pub(crate) fn start(&self) -> Result<()> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads as usize)
                .build_global()
                .context("cannot start the threads")?;
        }
        Ok(())
    }

    /// Prints a result as asked for: one JSON object, or the text.
    pub(crate) fn print(&self, report: &impl serde::Serialize, text: impl FnOnce() -> String) -> Result<()> {
        match self.json {
            true => terminal::print_json(report),
            false => terminal::print(&text()),
        }
    }

    pub(crate) fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    pub(crate) fn budget(&self) -> Budget {
        self.memory.map_or_else(Budget::default, |bytes| Budget { bytes })
    }

    /// The folder of the named datasets.
    pub(crate) fn data_dir(&self) -> Result<PathBuf> {
        Ok(self.data_dir.clone().map_or_else(data::named::default_folder, Ok)?)
    }
}

/// Which data.
#[derive(Args, Clone)]
pub(crate) struct Input {
    /// A dataset's name, a file, a folder, or a synthetic size
    #[arg(value_name = "DATA", default_value = "demo", conflicts_with = "edges")]
    data: String,
    /// A file of edges, instead of DATA
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    edges: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// How to read it.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct Reading {
    /// A file of node features, to go with a file of edges
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// A file of class labels, to go with a file of edges
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The format, where content does not tell it; docs/formats.md describes them
    #[arg(long, value_name = "NAME", value_parser = format_names(), hide_possible_values = true)]
    format: Option<String>,
    /// Fail where data would otherwise be repaired
    #[arg(long)]
    strict: bool,
    /// Ignore edge weights
    #[arg(long)]
    no_weights: bool,
    /// Scaling of the features
    #[arg(long, value_name = "NORM", default_value = "none")]
    feature_norm: Norm,
    /// What to use where there are no features
    #[arg(long, value_name = "KIND")]
    stand_in: Option<StandInKind>,
    /// How many features a stand-in has
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65536))]
    stand_in_width: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Norm {
    None,
    RowL1,
    RowL2,
    Standardize,
}

#[derive(Clone, Copy, ValueEnum)]
enum StandInKind {
    Degree,
    RandomProjection,
    Spectral,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    let names =
        data::FORMATS.iter().map(|format| clap::builder::PossibleValue::new(format.name).help(format.about));
    names.collect::<Vec<_>>().into()
}

impl Input {
    /// Loads the data as the flags say.
    pub(crate) fn load(&self, common: &Common) -> Result<Dataset> {
        match &self.edges {
            Some(edges) => self.reading.load_files(edges, common),
            None => self.reading.load(&self.data, common),
        }
    }

    /// Reads an embedding of the data's nodes, which is never scaled.
    pub(crate) fn embedding(&self, file: &Path, dataset: &Dataset, common: &Common) -> Result<Features> {
        let options = data::Options { feature_norm: FeatureNorm::None, ..self.reading.options(common) };
        Ok(data::open_embedding(file, dataset, &options)?)
    }

    /// What the user asked for, for messages.
    pub(crate) fn name(&self) -> String {
        self.edges.as_ref().map_or_else(|| self.data.clone(), |edges| edges.display().to_string())
    }
}

impl Reading {
    /// Loads a dataset by name or path.
    pub(crate) fn load(&self, data: &str, common: &Common) -> Result<Dataset> {
        if self.features.is_some() || self.labels.is_some() {
            return self.load_files(Path::new(data), common);
        }
        let dataset = data::load(data, &common.data_dir()?, common.seed(), &self.options(common))?;
        self.complete(dataset, common)
    }

    fn load_files(&self, edges: &Path, common: &Common) -> Result<Dataset> {
        let (features, labels) = (self.features.as_deref(), self.labels.as_deref());
        self.complete(data::open_files(edges, features, labels, &self.options(common))?, common)
    }

    /// The rows of a file that is no graph: a matrix, or any table if its features are asked for.
    pub(crate) fn table(
        &self,
        data: &str,
        part: Option<Export>,
        common: &Common,
    ) -> Result<Option<data::Table>> {
        let is_file = Path::new(data).is_file() && self.features.is_none() && part != Some(Export::Edges);
        let is_table = is_file && (data::is_matrix(data)? || part == Some(Export::Features));
        is_table.then(|| data::open_table(data, &self.options(common)).map_err(Into::into)).transpose()
    }

    fn complete(&self, mut dataset: Dataset, common: &Common) -> Result<Dataset> {
        if let Some(kind) = self.stand_in {
            dataset.add_stand_in(kind.into(), self.stand_in_width as usize, common.seed())?;
        }
        Ok(dataset)
    }

    fn options(&self, common: &Common) -> data::Options {
        data::Options {
            format: self.format.clone(),
            strict: self.strict,
            weights: !self.no_weights,
            budget: common.budget(),
            feature_norm: self.feature_norm.into(),
        }
    }
}

impl From<Norm> for FeatureNorm {
    fn from(norm: Norm) -> Self {
        match norm {
            Norm::None => Self::None,
            Norm::RowL1 => Self::RowL1,
            Norm::RowL2 => Self::RowL2,
            Norm::Standardize => Self::Standardize,
        }
    }
}

impl From<StandInKind> for StandIn {
    fn from(kind: StandInKind) -> Self {
        match kind {
            StandInKind::Degree => Self::Degree,
            StandInKind::RandomProjection => Self::RandomProjection,
            StandInKind::Spectral => Self::Spectral,
        }
    }
}

/// `800M`, `6G`, `1.5GiB` or plain bytes; units are powers of 1024.
fn parse_size(text: &str) -> Result<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 =
        text[..digits].parse().map_err(|_| anyhow!("'{text}' is not a size such as 800M or 6G"))?;
    let unit = text[digits..].trim().to_ascii_lowercase();
    let power = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => bail!("'{text}' is not a size such as 800M or 6G"),
    };
    Ok((number * 1024f64.powi(power)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("512").unwrap(), 512);
        assert_eq!(parse_size("800M").unwrap(), 800 << 20);
        assert_eq!(parse_size("1.5GiB").unwrap(), 3 << 29);
        assert_eq!(parse_size("6 gb").unwrap(), 6 << 30);
        assert!(parse_size("much").is_err() && parse_size("3X").is_err());
    }
}
