//! `structcomp convert`: a dataset in, another format out.

use crate::{
    args::{Common, Reading},
    terminal,
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;
use structcomp::{Dataset, Export, Normalization, Propagation, human_bytes};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp convert edges.csv.gz graph.scg              a graph to be mapped
  structcomp convert cora cora-folder                    graph, features, labels and splits
  structcomp convert z.npy z.parquet                     a matrix for a vector database
  structcomp convert cora features.parquet
  structcomp convert cora smooth.npy --hops 2            the features after two hops, untrained
  structcomp convert cora noisy --random-edges 527       the graph with a tenth more edges
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
    /// Replace the features X by Â^K X, that is spread them over K hops
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    hops: u32,
    /// How --hops weighs neighbours: D^-1/2 (A+I) D^-1/2, or D^-1 (A+I)
    #[arg(long, value_name = "KIND", default_value = "symmetric")]
    normalization: Weighing,
    /// Add this many random edges between nodes that were not adjacent
    #[arg(long, value_name = "N", default_value_t = 0)]
    random_edges: usize,
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

#[derive(Clone, Copy, ValueEnum)]
enum Weighing {
    Symmetric,
    Row,
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
            Some(_) if self.hops > 0 || self.random_edges > 0 => {
                bail!("{} is a matrix without a graph, so it has neither edges nor hops", self.input)
            }
            Some(table) => table.export(&self.output)?,
            None => {
                self.changed(self.reading.load(&self.input, &self.common)?)?.export(&self.output, part)?
            }
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

impl Convert {
    fn changed(&self, mut dataset: Dataset) -> Result<Dataset> {
        if self.random_edges > 0 {
            dataset.graph = dataset.graph.with_random_edges(self.random_edges, self.common.seed())?;
            dataset.source.notes.push(format!("{} random edges were added", self.random_edges));
        }
        if self.hops > 0 {
            let Some(features) = &dataset.features else {
                bail!("{} has no features to spread; --stand-in makes some", dataset.name)
            };
            let normalization = match self.normalization {
                Weighing::Symmetric => Normalization::Symmetric,
                Weighing::Row => Normalization::Row,
            };
            let spread =
                Propagation::new(&dataset.graph, normalization).power(features, self.hops as usize)?;
            dataset.features = Some(spread);
            dataset.source.notes.push(format!("the features were spread over {} hops", self.hops));
        }
        Ok(dataset)
    }
}

fn size_on_disk(path: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(path).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let files: Vec<PathBuf> = files.unwrap_or_else(|_| vec![path.to_owned()]);
    files.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum()
}
