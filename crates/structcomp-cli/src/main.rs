//! `structcomp`: the command line. Flags and printing are here; the library does the work.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod args;
mod cli;
mod commands;
mod config;
mod hints;
mod signals;
mod suggest;
mod terminal;

use clap::FromArgMatches;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: structcomp::memory::LargePages = structcomp::memory::LargePages;

fn main() -> ExitCode {
    structcomp::silence_caught_panics();
    let args = match config::with_file(config::with_joined(std::env::args_os().collect())) {
        Ok(args) => args,
        Err(error) => return fail(&error, 2),
    };
    let matches =
        cli::command().try_get_matches_from(&args).and_then(|matches| cli::Cli::from_arg_matches(&matches));
    let command = match matches {
        Ok(cli) => cli.command,
        Err(error) => suggest::with_suggestion(error, &args).exit(),
    };
    let done = signals::listen().and_then(|()| command.run());
    // What was read from standard input.
    structcomp::output::discard_unfinished();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has closed it, as `head` does.
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<terminal::Interrupted>() => {
            terminal::tell(&error.to_string());
            ExitCode::from(signals::exit_code())
        }
        Err(error) => fail(&error, 1),
    }
}

fn fail(error: &anyhow::Error, code: u8) -> ExitCode {
    terminal::tell_error(&hints::message(error));
    ExitCode::from(code)
}
