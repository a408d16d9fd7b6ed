//! `structcomp convert`: a dataset in another format.

use crate::{
    args::{EveryCommand, Preparing, Reading, STANDARD, one_of, to_standard_output},
    terminal,
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use structcomp::memory::human_bytes;
use structcomp::output::Export;
use structcomp::{Dataset, Normalization, Propagation};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp convert edges.csv.gz graph.scg              a graph that is mapped, not parsed
  structcomp convert cora cora-folder                    graph, features, labels and splits
  structcomp convert z.npy z.parquet                     a matrix for a vector database
  structcomp convert cora features.parquet
  structcomp convert cora smooth.npy --hops 2            the features after two hops
  structcomp convert cora noisy --random-edges 527       the graph with 527 more edges
  structcomp convert graph.scg edges.csv --part edges")]
pub(crate) struct Convert {
    /// Name of a dataset, file, folder, name of a synthetic graph, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// File or folder to write: a graph (.scg), a table (.npy, .parquet, .csv, .tsv; also .gz, .zst), a sparse matrix (.npz, .mtx, METIS's .graph), a folder, or - for CSV on standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Which part a table holds [default: the features, or the edges if there are none]
    #[arg(long, value_name = "PART")]
    part: Option<Part>,
    /// Replace the features X by Â^K X: propagate them over K hops
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    hops: u32,
    /// Normalisation for --hops: D^-1/2 (A+I) D^-1/2 (symmetric) or D^-1 (A+I) (row)
    #[arg(long, value_name = "KIND", default_value = "symmetric", value_parser = one_of::<Normalization>(&["symmetric", "row"]))]
    normalization: Normalization,
    /// Number of random edges to add between nodes that are not adjacent
    #[arg(long, value_name = "N", default_value_t = 0)]
    random_edges: usize,
    /// Replace the file that is read
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    preparing: Preparing,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    Features,
    Edges,
}

#[derive(Serialize)]
struct ConvertReport {
    output: PathBuf,
    written: &'static str,
    /// What was repaired and assumed while the input was read.
    notes: Vec<String>,
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
        let mut notes = Vec::new();
        self.check()?;
        let mut write = |output: &Path| self.write(part, output, &mut notes);
        let to_stdout = self.output == Path::new(STANDARD);
        if to_stdout {
            to_standard_output("csv", |file| write(file).map(|_| ()))?;
            spinner.finish_and_clear();
            return Ok(());
        }
        let written = write(&self.output)?;
        spinner.finish_and_clear();
        let report = ConvertReport {
            output: self.output.clone(),
            written,
            notes,
            bytes: size_on_disk(&self.output),
            seconds: started.elapsed().as_secs_f64(),
        };
        self.common.print(&report, || {
            let (bytes, seconds) = (human_bytes(report.bytes), report.seconds);
            let notes: String = report.notes.iter().map(|note| format!("  note: {note}\n")).collect();
            format!("{}: {written}, {bytes} in {seconds:.3} s\n{notes}", self.output.display())
        })
    }

    /// What cannot be meant.
    fn check(&self) -> Result<()> {
        if self.output == Path::new(STANDARD) && self.common.json {
            bail!("standard output cannot hold both the data and --json; leave out --json");
        }
        let place = |path: &Path| path.canonicalize().ok();
        let same = place(Path::new(&self.input)).is_some_and(|input| place(&self.output) == Some(input));
        if same && !self.force {
            bail!(
                "{} would be replaced by its own conversion; choose another name, or add --force",
                self.input
            );
        }
        Ok(())
    }

    /// Writes the output, and says what that is.
    fn write(&self, part: Option<Export>, output: &Path, notes: &mut Vec<String>) -> Result<&'static str> {
        Ok(match self.reading.table(&self.input, part, &self.common)? {
            Some(_) if self.hops > 0 || self.random_edges > 0 => {
                bail!("{} is a table without a graph; leave out --hops and --random-edges", self.input)
            }
            Some(mut table) => {
                self.preparing.apply_to_table(&mut table, &self.common)?;
                table.export(output)?
            }
            None => {
                let mut dataset = self.reading.load(&self.input, &self.common)?;
                self.preparing.apply(&mut dataset, &self.common)?;
                let dataset = self.changed(dataset)?;
                notes.extend(dataset.repairs.describe(dataset.graph.edges() as u64));
                notes.extend(dataset.source.notes.clone());
                dataset.export(output, part)?
            }
        })
    }

    fn changed(&self, mut dataset: Dataset) -> Result<Dataset> {
        if self.random_edges > 0 {
            dataset.graph = dataset.graph.with_random_edges(self.random_edges, self.common.seed())?;
            dataset.source.notes.push(format!("{} random edges were added", self.random_edges));
        }
        if self.hops > 0 {
            let Some(features) = &dataset.features else {
                bail!("{} has no features to propagate; --stand-in makes some from the graph", dataset.name)
            };
            let propagation = Propagation::new(&dataset.graph, self.normalization);
            dataset.features = Some(propagation.power(features, self.hops as usize)?);
            dataset.source.notes.push(format!("the features were propagated over {} hops", self.hops));
        }
        Ok(dataset)
    }
}

fn size_on_disk(path: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(path).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let files: Vec<PathBuf> = files.unwrap_or_else(|_| vec![path.to_owned()]);
    files.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum()
}
