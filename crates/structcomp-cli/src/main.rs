//! `structcomp`: the command line. Flags and printing live here; all the work is the library's.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod args;
mod commands;
mod config;
mod terminal;

use clap::Parser;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: structcomp::LargePages = structcomp::LargePages;

fn main() -> ExitCode {
    let args = match config::with_file(std::env::args_os().collect()) {
        Ok(args) => args,
        Err(error) => return fail(&error, 2),
    };
    let cli = args::Cli::parse_from(args);
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(&error, 1),
    }
}

fn run(cli: args::Cli) -> anyhow::Result<()> {
    match cli.command {
        args::Command::Info(info) => info.run(),
        args::Command::Datasets(datasets) => datasets.run(),
        args::Command::Generate(generate) => generate.run(),
        args::Command::Convert(convert) => convert.run(),
        args::Command::Partition(partition) => partition.run(),
        args::Command::Evaluate(evaluate) => evaluate.run(),
        args::Command::Train(train) => train.run(),
        args::Command::Embed(embed) => embed.run(),
        args::Command::Run(run) => run.run(),
        args::Command::Reproduce(reproduce) => reproduce.run(),
        args::Command::MeasureTraining(measure) => measure.run(),
    }
}

fn fail(error: &anyhow::Error, code: u8) -> ExitCode {
    terminal::tell(&format!("error: {error:#}"));
    ExitCode::from(code)
}
