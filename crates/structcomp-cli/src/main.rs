//! `structcomp`: the command line. Flags and printing are here; the library does the work.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod args;
mod cli;
mod commands;
mod config;
mod hints;
mod signals;
mod terminal;

use clap::Parser;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: structcomp::memory::LargePages = structcomp::memory::LargePages;

fn main() -> ExitCode {
    structcomp::silence_caught_panics();
    let args = match config::with_file(std::env::args_os().collect()) {
        Ok(args) => args,
        Err(error) => return fail(&error, 2),
    };
    let command = cli::Cli::parse_from(args).command;
    match signals::listen().and_then(|()| command.run()) {
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
    terminal::tell(&format!("error: {}", hints::message(error)));
    ExitCode::from(code)
}
