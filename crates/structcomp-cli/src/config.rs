//! `--config FILE.toml`: flags by name, put before those of the command line. Of several files, later ones win.

use crate::cli::Cli;
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use std::{ffi::OsString, path::Path};
use structcomp::{Budget, data::read_text};

/// The arguments with the flags of the file after the command's name; flags that come later win.
pub(crate) fn with_file(args: Vec<OsString>) -> Result<Vec<OsString>> {
    let files = files_in(&args);
    let Some(at) = command_end(&args).filter(|_| !files.is_empty()) else { return Ok(args) };
    let mut merged = args[..at].to_vec();
    for file in files {
        merged.extend(flags(Path::new(&file), &args[1..at])?);
    }
    merged.extend_from_slice(&args[at..]);
    Ok(merged)
}

fn files_in(args: &[OsString]) -> Vec<OsString> {
    let file = |at: usize| match args[at].to_str()?.strip_prefix("--config")? {
        "" => args.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(OsString::from),
    };
    (0..args.len()).filter_map(file).collect()
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
    let text = read_text(file, &Budget { bytes: 16 << 20 })?;
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
