//! `structcomp convert`: a dataset in, another format out.

use crate::{
    args::{Common, Reading},
    terminal,
};
use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;
use structcomp::{Export, human_bytes};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp convert edges.csv.gz graph.scg              a graph to be mapped
  structcomp convert cora cora-folder                    graph, features, labels and splits
  structcomp convert z.npy z.parquet                     a matrix for a vector database
  structcomp convert cora features.parquet
  structcomp convert graph.scg edges.csv --part edges")]
pub(crate) struct Convert {
    /// A dataset's name, a file, a folder, or a synthetic size
    #[arg(value_name = "IN")]
    input: String,
    /// What to write: graph.scg, a matrix (.npy, .parquet, .csv, .tsv; .gz and .zst too), or a folder
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Which part to write into a table [default: features where there are some, else edges]
    #[arg(long, value_name = "PART")]
    part: Option<Part>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    Features,
    Edges,
}

#[derive(Serialize)]
struct Report {
    output: PathBuf,
    written: &'static str,
    bytes: u64,
    seconds: f64,
}

impl Convert {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        let started = std::time::Instant::now();
        let spinner = terminal::spinner(self.common.quiet, format!("converting {}", self.input));
        let part = self.part.map(|part| match part {
            Part::Features => Export::Features,
            Part::Edges => Export::Edges,
        });
        let written = match self.reading.table(&self.input, part, &self.common)? {
            Some(table) => table.export(&self.output)?,
            None => self.reading.load(&self.input, &self.common)?.export(&self.output, part)?,
        };
        spinner.finish_and_clear();
        let report = Report {
            output: self.output.clone(),
            written,
            bytes: size_on_disk(&self.output),
            seconds: started.elapsed().as_secs_f64(),
        };
        match self.common.json {
            true => terminal::print_json(&report),
            false => terminal::print(&format!(
                "{}: {written}, {} in {:.3} s\n",
                self.output.display(),
                human_bytes(report.bytes),
                report.seconds
            )),
        }
    }
}

fn size_on_disk(path: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(path).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let files: Vec<PathBuf> = files.unwrap_or_else(|_| vec![path.to_owned()]);
    files.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum()
}
