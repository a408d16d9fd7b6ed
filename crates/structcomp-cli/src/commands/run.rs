//! `structcomp run`: partition, train, embed and evaluate in one go.

mod origin;
mod page;
mod report;

use super::embed::write_embedding;
use super::judgement::{Judge, Judgement};
use super::splits;
use super::training::TrainingFlags;
use crate::{
    args::{EveryCommand, Input},
    terminal::{self, Interrupted, Lap, grouped, listed},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use page::DrawnMap;
use report::{LinkReport, RunReport, RunSeconds};
use std::path::{Path, PathBuf};
use std::time::Instant;
use structcomp::evaluate::{Diagnostics, HeldOut};
use structcomp::output::{FileSet, write_text};
use structcomp::{Controls, Dataset, Features, Fitted, Mode, SplitSet};
use structcomp_reproduce::PageMap;

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp run
  structcomp run cora --model grace --out cora-grace
  structcomp run cora --model sce --splits authors.txt --json
  structcomp run cora --model sce --links=0.1
  structcomp run --edges edges.csv --features x.npy --clusters 500 --out mine")]
pub(crate) struct Run {
    #[command(flatten)]
    training: TrainingFlags,
    #[command(flatten)]
    judge: Judge,
    /// Splits: random20, those of the dataset by name, or a file of node indices
    #[arg(long, value_name = "SPLITS", default_value = "random20", help_heading = "Evaluation")]
    splits: String,
    /// Number of random splits
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=1000), help_heading = "Evaluation")]
    runs: u32,
    /// Link prediction: hold out a share of the edges before partitioning and training, and tell them from
    /// non-edges by cosine similarity [default share: 0.1]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "0.1", help_heading = "Evaluation")]
    links: Option<f64>,
    /// Print the paper's bounds for this graph and its clusters
    #[arg(long, help_heading = "Evaluation")]
    diagnostics: bool,
    /// Also train on random clusters, as a control
    #[arg(long, help_heading = "Evaluation")]
    random_clusters: bool,
    /// Nodes on the map of the report, drawn at random where there are more; 0 for no map. The time grows with the square
    #[arg(long, value_name = "N", default_value_t = PageMap::MOST, value_parser = nodes_on_the_map, requires = "out", help_heading = "Output")]
    map: usize,
    /// Folder to write to: embedding.npy, weights.safetensors, run.json, report.html
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace files of these names that no earlier run wrote
    #[arg(long, requires = "out", help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    common: EveryCommand,
}

const EMBEDDING: &str = "embedding.npy";
/// The names of its rows, if nodes have any.
const IDS: &str = "ids.txt";
const WEIGHTS: &str = "weights.safetensors";
const PAGE: &str = "report.html";
const REPORT: &str = "run.json";
/// The report has the checksums of the others.
const FILES: [&str; 5] = [EMBEDDING, IDS, WEIGHTS, PAGE, REPORT];

/// What is read before training.
struct RunInput {
    dataset: Dataset,
    held_out: Option<HeldOut>,
    splits: Option<SplitSet>,
}

/// What is found after training.
#[derive(Default)]
struct Findings {
    judgement: Option<Judgement>,
    links: Option<LinkReport>,
    diagnostics: Option<Diagnostics>,
}

impl Run {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start()?;
        self.check()?;
        let out = self.out.as_ref().map(|out| FileSet::create(out, &FILES)).transpose()?;
        let started = Instant::now();
        let mut lap = Lap::default();
        let spinner = terminal::spinner(self.common.quiet, format!("reading {}", self.input.name()));
        let RunInput { mut dataset, held_out, splits } = self.load()?;
        let model = self.training.model(&dataset, &self.common)?;
        dataset.source.notes.extend(model.prepare.note(&dataset));
        let load = lap.time();

        let checkpoint = self.out.as_ref().map(|out| out.join("checkpoint.safetensors"));
        let fitted = self.training.fit(&model, &dataset, checkpoint.as_deref(), &spinner)?;
        lap.time();
        terminal::stage(&spinner, "embedding the graph".to_owned());
        let embedding = fitted.embed(&dataset)?;
        if let Some(out) = &out {
            out.start()?;
            write_embedding(&out.file(EMBEDDING), &embedding, &dataset)?;
            fitted.save(out.file(WEIGHTS))?;
        }
        let embed = lap.time();
        terminal::stage(&spinner, "evaluating the embedding".to_owned());
        let embedding = Features::Dense(embedding);
        let findings = match fitted.interrupted {
            true => Ok(Findings::default()),
            false => self.evaluate(&fitted, &dataset, &embedding, splits.as_ref(), held_out.as_ref()),
        };
        let findings = findings.with_context(|| kept(out.as_ref()))?;
        let evaluate = lap.time();
        let mut map = None;
        if out.is_some() && !fitted.interrupted {
            spinner.set_message("drawing the map".to_owned());
            map = DrawnMap::of(&embedding, self.map, self.common.budget())
                .with_context(|| kept(out.as_ref()))?;
        }
        let drawing = map.as_ref().map(|_| lap.time());

        let total = started.elapsed().as_secs_f64();
        let seconds = RunSeconds { load, stages: fitted.seconds, embed, evaluate, map: drawing, total };
        let mut report = RunReport::new(&fitted, &dataset, findings, seconds)?;
        let checkpoint = self.training.written(checkpoint.as_deref()).map(Path::to_owned);
        let written = out.iter().flat_map(FileSet::written).chain(checkpoint).collect();
        if let Some(out) = out.filter(|_| !fitted.interrupted) {
            page::of(&report, &fitted, &dataset, map.as_ref()).write(out.file(PAGE))?;
            report.files = Some(out.checksums()?);
            write_text(out.file(REPORT), &serde_json::to_string_pretty(&report)?)?;
            report.written = out.commit()?;
        }
        spinner.finish_and_clear();
        self.common.print(&report, || report.text())?;
        Interrupted::check(&fitted, written)
    }

    /// Fails now, and not after minutes of training.
    fn check(&self) -> Result<()> {
        let mode = self.training.mode();
        if !mode.uses_clusters() && (self.diagnostics || self.random_clusters) {
            bail!("--mode {} uses no clusters; leave out --diagnostics and --random-clusters", mode.name());
        }
        if self.diagnostics && mode != Mode::Structcomp {
            bail!("--diagnostics is about training on clusters; leave out --mode");
        }
        if self.out.is_none() && self.training.uses_checkpoints() {
            bail!("checkpoints are written to the folder of --out; add it");
        }
        if let Some(foreign) = self.out.as_deref().filter(|_| !self.force).and_then(foreign) {
            bail!(
                "{} was not written by an earlier run; choose another folder, or add --force to replace it",
                foreign.display()
            );
        }
        Ok(())
    }

    fn load(&self) -> Result<RunInput> {
        let mut dataset = self.input.load(&self.common)?;
        // Computed once, as it reads all files.
        dataset.source.sha256 = Some(dataset.sha256()?);
        let held_out = self.hold_out(&mut dataset)?;
        let splits = match &dataset.labels {
            Some(_) => Some(splits::choose(&dataset, &self.splits, self.runs as usize, self.common.seed())?),
            None => None,
        };
        Ok(RunInput { dataset, held_out, splits })
    }

    /// Takes edges out of the graph before anything else sees them.
    fn hold_out(&self, dataset: &mut Dataset) -> Result<Option<HeldOut>> {
        let Some(share) = self.links else { return Ok(None) };
        let held = HeldOut::draw(&dataset.graph, share, self.common.seed())?;
        dataset.graph = held.graph.clone();
        dataset.source.notes.push(format!("{} edges were held out", grouped(held.positive.len())));
        Ok(Some(held))
    }

    fn evaluate(
        &self,
        fitted: &Fitted,
        dataset: &Dataset,
        embedding: &Features,
        splits: Option<&SplitSet>,
        held_out: Option<&HeldOut>,
    ) -> Result<Findings> {
        let mut findings = Findings::default();
        if let (Some(labels), Some(splits)) = (&dataset.labels, splits) {
            let controls = Controls::of_model(fitted, dataset)?.with_random_clusters(self.random_clusters);
            let controls = self.judge.controls(controls);
            let (probe, on) = (self.judge.probe(dataset)?, (labels, splits));
            findings.judgement =
                Some(Judgement::of(embedding, Some(&controls), &probe, on, self.common.seed())?);
        }
        if let Some(held_out) = held_out {
            findings.links = Some(LinkReport::of(held_out, embedding, &*fitted.features(dataset)?)?);
        }
        if self.diagnostics {
            findings.diagnostics = Some(fitted.diagnostics(dataset)?);
        }
        Ok(findings)
    }
}

fn nodes_on_the_map(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(nodes) if nodes <= PageMap::MOST => Ok(nodes),
        _ => Err(format!("give a number up to {}", PageMap::MOST)),
    }
}

/// A file in the folder that a run would replace, but no run wrote: the report lists those of its run. A run that was
/// killed while its files were moved to the folder has its report where they came from.
fn foreign(out: &Path) -> Option<PathBuf> {
    let report = |folder: PathBuf| {
        let text = std::fs::read(folder.join(REPORT)).ok()?;
        serde_json::from_slice::<serde_json::Value>(&text).ok()
    };
    let reports = [report(out.to_owned()), report(out.join(FileSet::UNFINISHED))];
    let ours = |name: &str| {
        reports.iter().flatten().any(|report| match name {
            REPORT => report.get("version").is_some() && report.get("data").is_some(),
            name => report.get("files").is_some_and(|files| files.get(name).is_some()),
        })
    };
    FILES
        .into_iter()
        .filter(|name| !ours(name))
        .map(|name| out.join(name))
        .find(|file| file.exists() && !file.is_dir())
}

/// What an error after training leaves for the user.
fn kept(out: Option<&FileSet>) -> String {
    match out.map(FileSet::written).as_deref() {
        None | Some([]) => "the embedding cannot be evaluated".into(),
        Some(files) => format!("the embedding cannot be evaluated; wrote {}", listed(files)),
    }
}
