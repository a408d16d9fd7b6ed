//! The commands.

use crate::commands::reproduce::{MeasureTraining, Reproduce};
use crate::commands::shell::{Completions, Man};
use crate::commands::{
    convert::Convert, datasets::Datasets, embed::Embed, evaluate::Evaluate, generate::Generate, info::Info,
    neighbors::Neighbors, partition::Partition, run::Run, train::Train,
};
use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

/// Node embeddings by graph contrastive learning, without message passing in training.
///
/// An independent implementation of StructComp (ICLR 2024).
#[derive(Parser)]
#[command(name = "structcomp", version, propagate_version = true, args_override_self = true)]
#[command(after_help = "Examples:
  structcomp run                                   embed and evaluate the built-in demo graph
  structcomp info edges.csv                        describe your own graph
  structcomp run --edges edges.csv --features x.npy --out results")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Partition, train, embed and evaluate in one go
    Run(Run),
    /// Describe a dataset: counts, repairs, degrees, components, homophily
    Info(Info),
    /// List, download and verify the datasets known by name
    Datasets(Datasets),
    /// Generate a synthetic graph with features and labels
    Generate(Generate),
    /// Convert a dataset, its features or its edges to another format
    Convert(Convert),
    /// Split the nodes into clusters and measure their quality
    Partition(Partition),
    /// Train a model and save it
    Train(Train),
    /// Embed a graph with a saved model, including graphs it was not trained on
    Embed(Embed),
    /// Evaluate an existing embedding
    Evaluate(Evaluate),
    /// Find the nodes most like some nodes, by their rows of an embedding
    Neighbors(Neighbors),
    /// Rerun a table or figure of the paper next to the published numbers
    Reproduce(Reproduce),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
    #[command(hide = true)]
    MeasureTraining(MeasureTraining),
}

impl Command {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::Run(run) => run.run(),
            Self::Info(info) => info.run(),
            Self::Datasets(datasets) => datasets.run(),
            Self::Generate(generate) => generate.run(),
            Self::Convert(convert) => convert.run(),
            Self::Partition(partition) => partition.run(),
            Self::Train(train) => train.run(),
            Self::Embed(embed) => embed.run(),
            Self::Evaluate(evaluate) => evaluate.run(),
            Self::Neighbors(neighbors) => neighbors.run(),
            Self::Reproduce(reproduce) => reproduce.run(),
            Self::Completions(completions) => completions.run(&command()),
            Self::Man(man) => man.run(command()),
            Self::MeasureTraining(measure) => measure.run(),
        }
    }
}

/// Of the flags that many commands share, those that `-h` lists; `--help` lists all.
const COMMON: [&str; 17] = [
    "model",
    "clusters",
    "partitioner",
    "epochs",
    "lr",
    "hidden",
    "edges",
    "features",
    "labels",
    "ids",
    "splits",
    "runs",
    "data-dir",
    "seed",
    "json",
    "quiet",
    "config",
];

/// The headings of these flags.
const SHARED: [&str; 5] = ["Training", "Modes", "Data", "Evaluation", "General"];

/// The command line.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommands(with_short_help)
}

fn with_short_help(command: clap::Command) -> clap::Command {
    command.mut_subcommands(with_short_help).mut_args(|arg| {
        let shared = arg.get_help_heading().is_some_and(|heading| SHARED.contains(&heading));
        let rare = shared && arg.get_long().is_some_and(|long| !COMMON.contains(&long));
        if rare { arg.hide_short_help(true) } else { arg }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        command().debug_assert();
    }
}
