//! `--config FILE.toml`: flags and data by name, put before those of the command line. Of several files, later ones win.

use crate::cli;
use anyhow::{Context, Result, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command};
use std::{ffi::OsString, path::Path};
use structcomp::{Budget, data::read_text};
use toml::Value;

/// The arguments with the flags of the files after the command's name; flags that come later win. Data of the files
/// count only if the command line has none.
pub(crate) fn with_file(args: Vec<OsString>) -> Result<Vec<OsString>> {
    let files = files_in(&args);
    let Some(at) = command_end(&args).filter(|_| !files.is_empty()) else { return Ok(args) };
    let find = |command: Command, word: &OsString| command.find_subcommand(word).cloned().unwrap_or(command);
    let command = args[1..at].iter().fold(cli::command(), find);
    let typed = typed_data(&args);
    let (mut merged, mut data) = (args[..at].to_vec(), Vec::new());
    for file in files {
        for (arg, words) in entries(Path::new(&file), &command)? {
            match arg.get_long() {
                Some("edges") if typed => {}
                Some(_) => merged.extend(words),
                None if typed => {}
                None => data.push((arg.get_index(), words)),
            }
        }
    }
    merged.extend_from_slice(&args[at..]);
    data.sort_by_key(|(index, _)| *index);
    if !data.is_empty() {
        merged.push("--".into());
        merged.extend(data.into_iter().flat_map(|(_, words)| words));
    }
    Ok(merged)
}

/// `--links 0.1` as `--links=0.1`: what follows would otherwise be DATA.
pub(crate) fn with_joined(args: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for arg in args {
        let is_number = arg.to_str().is_some_and(|text| text.parse::<f64>().is_ok());
        match joined.last_mut().filter(|last| is_number && *last == "--links") {
            Some(last) => {
                last.push("=");
                last.push(arg);
            }
            None => joined.push(arg),
        }
    }
    joined
}

fn files_in(args: &[OsString]) -> Vec<OsString> {
    let file = |at: usize| match args[at].to_str()?.strip_prefix("--config")? {
        "" => args.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(OsString::from),
    };
    (0..args.len()).filter_map(file).collect()
}

/// Where the words of the command, such as `datasets fetch`, end.
pub(crate) fn command_end(args: &[OsString]) -> Option<usize> {
    let mut command = cli::command();
    let mut end = 1;
    while let Some(next) = args.get(end).and_then(|arg| command.find_subcommand(arg)).cloned() {
        command = next;
        end += 1;
    }
    (end > 1).then_some(end)
}

/// Whether the command line says itself which data to read.
fn typed_data(args: &[OsString]) -> bool {
    let mut command = cli::command();
    let Ok(matches) = cli::command().ignore_errors(true).try_get_matches_from(args) else { return false };
    let mut matches = &matches;
    while let Some((name, below)) = matches.subcommand() {
        command = command.find_subcommand(name).cloned().unwrap_or(command);
        matches = below;
    }
    let is_data = |arg: &&Arg| arg.is_positional() || arg.get_long() == Some("edges");
    let typed = |arg: &Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    command.get_arguments().filter(is_data).any(typed)
}

/// The arguments that a file gives, each with its words for the command line.
fn entries(file: &Path, command: &Command) -> Result<Vec<(Arg, Vec<OsString>)>> {
    let text = read_text(file, &Budget { bytes: 16 << 20 })?;
    let table: toml::Table = text.parse().with_context(|| file.display().to_string())?;
    let mut entries = Vec::new();
    for (key, value) in table {
        let name = key.replace('_', "-");
        let Some(arg) = command.get_arguments().find(|arg| is_called(arg, &name) && name != "config") else {
            bail!("{}: '{key}' is not a flag of 'structcomp {}'", file.display(), command.get_name());
        };
        let Some(words) = words(arg, &value) else {
            bail!("{}: '{key}' must be a string, a number, true or false", file.display())
        };
        entries.push((arg.clone(), words));
    }
    Ok(entries)
}

/// Whether this is the name of a flag, or of data: `data`, `in`, `embedding`, …
fn is_called(arg: &Arg, name: &str) -> bool {
    let value_name = arg.get_value_names().and_then(<[_]>::first);
    match arg.get_long() {
        Some(long) => long == name || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name)),
        None => arg.is_positional() && value_name.is_some_and(|value| value.to_lowercase() == name),
    }
}

/// The words that give an argument this value.
fn words(arg: &Arg, value: &Value) -> Option<Vec<OsString>> {
    let word = |text: &str| match arg.get_long() {
        Some(long) => format!("--{long}={text}").into(),
        None => text.into(),
    };
    let texts = match (value, arg.get_long()) {
        (Value::Boolean(true), Some(long)) => return Some(vec![format!("--{long}").into()]),
        (Value::Boolean(false), Some(_)) => return Some(Vec::new()),
        (Value::Array(values), long) if long.is_none() || matches!(arg.get_action(), ArgAction::Append) => {
            let texts = values.iter().map(text).collect::<Option<Vec<String>>>()?;
            if arg.get_value_delimiter().is_some() { vec![texts.join(",")] } else { texts }
        }
        _ => vec![text(value)?],
    };
    Some(texts.iter().map(|text| word(text)).collect())
}

/// A string or a number as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(toml: &str, typed: &[&str]) -> Result<Vec<String>> {
        let args = with_toml(toml, typed)?;
        Ok(args.into_iter().filter(|arg| arg != "--config" && !arg.ends_with("c.toml")).collect())
    }

    fn with_toml(toml: &str, typed: &[&str]) -> Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("c.toml");
        std::fs::write(&file, toml)?;
        let mut args: Vec<OsString> = typed.iter().map(OsString::from).collect();
        args.extend(["--config".into(), file.into_os_string()]);
        let merged = with_file(args)?;
        Ok(merged.iter().map(|arg| arg.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn the_file_comes_first_so_typed_flags_win() {
        let args =
            merged("seed = 3\nstrict = true\njson = false\n", &["structcomp", "info", "cora", "--seed=4"]);
        assert_eq!(args.unwrap(), ["structcomp", "info", "--seed=3", "--strict", "cora", "--seed=4"]);
    }

    #[test]
    fn a_file_can_hold_the_data_and_lists() {
        let toml =
            "data = 'cora'\nset = ['reach=5', 'mask=0.1']\ndrop-edges = [0.2, 0.4]\nmethod = 'random'\n";
        let flags = ["--drop-edges=0.2,0.4", "--partitioner=random", "--set=mask=0.1", "--set=reach=5"];
        let sorted = |mut words: Vec<String>| {
            words.sort();
            words
        };
        let args = with_toml(toml, &["structcomp", "run"]).unwrap();
        assert_eq!(args[args.len() - 2..], ["--", "cora"]);
        assert_eq!(sorted(args[2..6].to_vec()), flags);
        // Typed data are used instead.
        for typed in ["pubmed", "--edges=e.csv"] {
            let args = with_toml(toml, &["structcomp", "run", typed]).unwrap();
            assert!(!args.contains(&"cora".to_owned()), "{args:?}");
        }
        let args = with_toml("edges = 'e.csv'\nlabels = 'y.csv'\n", &["structcomp", "run", "cora"]).unwrap();
        assert!(!args.contains(&"--edges=e.csv".to_owned()) && args.contains(&"--labels=y.csv".to_owned()));
        let args = with_toml("embedding = 'z.csv'\nid = ['a', 7]\n", &["structcomp", "neighbors"]).unwrap();
        assert_eq!(args[args.len() - 4..], ["--", "z.csv", "a", "7"]);
    }

    #[test]
    fn a_share_of_links_may_follow_a_blank() {
        let joined = |words: &[&str]| with_joined(words.iter().map(OsString::from).collect());
        assert_eq!(joined(&["run", "--links", "0.2", "cora"]), ["run", "--links=0.2", "cora"]);
        assert_eq!(joined(&["run", "--links", "cora"]), ["run", "--links", "cora"]);
    }

    #[test]
    fn later_files_win() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string()
        };
        let mut second = OsString::from("--config=");
        second.push(file("b", "seed = 4\n"));
        let words = ["structcomp", "info", "--config"].map(OsString::from).into_iter();
        let args = words.chain([file("a", "seed = 3\nstrict = true\n"), second]).collect();
        let merged = with_file(args).unwrap();
        assert_eq!(merged[2..5], ["--seed=3", "--strict", "--seed=4"].map(OsString::from));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_no_file_of_flags() {
        let args = ["structcomp", "info", "--config", "/dev/zero"].map(OsString::from).to_vec();
        assert!(with_file(args).unwrap_err().to_string().contains("pipe or a device"));
    }

    #[test]
    fn unknown_names_and_odd_values_are_errors() {
        for (toml, said) in [
            ("sead = 3", "'sead' is not a flag of 'structcomp info'"),
            ("seed = [1]", "'seed' must be a string"),
            ("seed = ", "c.toml"),
        ] {
            let error = merged(toml, &["structcomp", "info"]).unwrap_err();
            assert!(format!("{error:#}").contains(said), "{error:#}");
        }
    }
}
