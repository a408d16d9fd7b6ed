//! Suggestions for misspelt words, also where two letters changed places.

use crate::{cli, config};
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;

/// The error with the name that was most likely meant.
pub(crate) fn with_suggestion(mut error: Error, args: &[OsString]) -> Error {
    let command = called(args);
    let (typed, suggestion) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        _ => return error,
    };
    let Some(ContextValue::String(typed)) = error.get(typed) else { return error };
    let typed = typed.split('=').next().unwrap_or_default();
    let names: Vec<String> = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(name_of).collect()
        }
        _ => command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect(),
    };
    if let Some(near) = nearest(typed, &names) {
        let near = match error.kind() {
            ErrorKind::InvalidSubcommand => ContextValue::Strings(vec![near.clone()]),
            _ => ContextValue::String(near.clone()),
        };
        error.insert(suggestion, near);
    }
    error
}

/// The command that the first words name.
fn called(args: &[OsString]) -> Command {
    let words = args.get(1..config::command_end(args).unwrap_or(1)).unwrap_or_default();
    let find = |command: Command, word: &OsString| command.find_subcommand(word).cloned().unwrap_or(command);
    words.iter().fold(cli::command(), find)
}

fn name_of(command: &Command) -> String {
    command.get_name().to_owned()
}

/// The nearest of some names, if one is near.
fn nearest<'a>(typed: &str, names: &'a [String]) -> Option<&'a String> {
    let away = |name: &&String| {
        (strsim::damerau_levenshtein(typed, name), name.chars().count().abs_diff(typed.chars().count()))
    };
    let letters = typed.trim_start_matches('-').chars().count();
    names.iter().min_by_key(away).filter(|name| away(name).0 <= (letters / 3).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanged_letters_are_one_mistake() {
        let flags = ["--mode", "--model", "--seed"].map(String::from);
        assert_eq!(nearest("--modle", &flags).unwrap(), "--model");
        assert_eq!(nearest("--sede", &flags).unwrap(), "--seed");
        assert_eq!(nearest("--weights", &flags), None);
        let commands = ["run", "train", "info"].map(String::from);
        assert_eq!(nearest("rnu", &commands).unwrap(), "run");
        assert_eq!(nearest("fly", &commands), None);
    }
}
