//! Flags of every command.

use crate::terminal;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::PathBuf;
use structcomp::{Budget, Seed, data};

#[derive(Args, Clone)]
#[command(next_help_heading = "General")]
pub(crate) struct EveryCommand {
    /// Folder of the named datasets [default: the user's data folder]
    #[arg(long, value_name = "DIR", env = "STRUCTCOMP_DATA", hide_env_values = true, value_parser = any_path())]
    data_dir: Option<PathBuf>,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of threads; results do not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory limit, such as 800M or 6G [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Read flags from a TOML file; flags on the command line take precedence
    #[arg(long, value_name = "FILE.toml")]
    #[allow(dead_code)] // taken out of the arguments before they are parsed; here for --help
    config: Option<PathBuf>,
}

impl EveryCommand {
    /// Starts the threads and limits the memory; to be called once, first.
    pub(crate) fn start(&self) -> Result<()> {
        if let Some(bytes) = self.memory {
            structcomp::memory::limit_process(bytes, terminal::end_without_memory);
        }
        self.start_threads()
    }

    /// Starts the threads, which count the steps of long work.
    pub(crate) fn start_threads(&self) -> Result<()> {
        let count_steps = |_| structcomp::watch(terminal::counted().clone());
        count_steps(0);
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.map_or(0, usize::from))
            .start_handler(count_steps)
            .build_global()
            .context("cannot start the threads")
    }

    /// Prints a result as JSON or as text.
    pub(crate) fn print(&self, report: &impl serde::Serialize, text: impl FnOnce() -> String) -> Result<()> {
        match self.json {
            true => terminal::print_json(report),
            false => terminal::print_report(&text()),
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
        let given = self.data_dir.clone().filter(|folder| !folder.as_os_str().is_empty());
        Ok(given.map_or_else(data::named::default_folder, Ok)?)
    }
}

/// Paths that may be empty, as an environment variable can be.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
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

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("512").unwrap(), 512);
        assert_eq!(parse_size("800M").unwrap(), 800 << 20);
        assert_eq!(parse_size("1.5GiB").unwrap(), 3 << 29);
        assert_eq!(parse_size("6 gb").unwrap(), 6 << 30);
        assert!(parse_size("much").is_err() && parse_size("3X").is_err());
    }
}
