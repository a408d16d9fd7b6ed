//! `--config FILE.toml`: flags by name, put before those of the command line.

use crate::cli::Cli;
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use std::{ffi::OsString, path::Path};

/// The arguments with the flags of the file after the command's name; flags that come later win.
pub(crate) fn with_file(args: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(file) = file_in(&args) else { return Ok(args) };
    let Some(at) = command_end(&args) else { return Ok(args) };
    let flags = flags(Path::new(&file), &args[1..at])?;
    let mut merged = args[..at].to_vec();
    merged.extend(flags);
    merged.extend_from_slice(&args[at..]);
    Ok(merged)
}

fn file_in(args: &[OsString]) -> Option<OsString> {
    let at = args.iter().position(|arg| arg == "--config");
    let next = at.and_then(|at| args.get(at + 1)).cloned();
    next.or_else(|| args.iter().find_map(|arg| arg.to_str()?.strip_prefix("--config=").map(OsString::from)))
}

/// Where the words of the command, such as `datasets fetch`, end.
fn command_end(args: &[OsString]) -> Option<usize> {
    let mut command = Cli::command();
    let mut end = 1;
    while let Some(next) = args.get(end).and_then(|arg| command.find_subcommand(arg)).cloned() {
        command = next;
        end += 1;
    }
    (end > 1).then_some(end)
}

fn flags(file: &Path, command_words: &[OsString]) -> Result<Vec<OsString>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let table: toml::Table = text.parse().with_context(|| file.display().to_string())?;
    let mut command = Cli::command();
    for word in command_words {
        command = command.find_subcommand(word).cloned().unwrap_or(command);
    }
    let mut flags = Vec::new();
    for (key, value) in table {
        let name = key.replace('_', "-");
        let known = command.get_arguments().any(|arg| arg.get_long() == Some(&name));
        if !known || name == "config" {
            bail!("{}: '{key}' is not a flag of 'structcomp {}'", file.display(), command.get_name());
        }
        match value {
            toml::Value::Boolean(true) => flags.push(format!("--{name}").into()),
            toml::Value::Boolean(false) => {}
            toml::Value::String(text) => flags.push(format!("--{name}={text}").into()),
            toml::Value::Integer(number) => flags.push(format!("--{name}={number}").into()),
            toml::Value::Float(number) => flags.push(format!("--{name}={number}").into()),
            _ => bail!("{}: '{key}' must be a string, a number, true or false", file.display()),
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(toml: &str, typed: &[&str]) -> Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("c.toml");
        std::fs::write(&file, toml)?;
        let mut args: Vec<OsString> = typed.iter().map(OsString::from).collect();
        args.extend(["--config".into(), file.into_os_string()]);
        let merged = with_file(args)?;
        Ok(merged[..merged.len() - 2].iter().map(|arg| arg.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn the_file_comes_first_so_typed_flags_win() {
        let args =
            merged("seed = 3\nstrict = true\njson = false\n", &["structcomp", "info", "cora", "--seed=4"]);
        assert_eq!(args.unwrap(), ["structcomp", "info", "--seed=3", "--strict", "cora", "--seed=4"]);
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
