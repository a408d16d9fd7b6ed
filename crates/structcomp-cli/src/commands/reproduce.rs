//! `structcomp reproduce`: reruns a table or figure of the paper.

use crate::{
    args::EveryCommand,
    signals,
    terminal::{self, Interrupted, grouped},
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;
use structcomp::output::{FolderLock, check_writable};
use structcomp_reproduce::{Event, Experiment, Mode, Plan, Report, Reproduction, Tally, measure};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(
    after_help = "Experiments: small, time-memory, noise, deep, partitioners, recent, heterophilous, compression,
loss-trend, inductive, theory, recipe, and all.

Every finished cell is a file below DIR/cells, so that interrupted runs resume.
Cells run in parallel as far as --memory allows; one that needs more runs alone.

Examples:
  structcomp reproduce small --mode structcomp
  structcomp reproduce small --only cora/grace
  structcomp reproduce all --seeds 1 --out quick"
)]
pub(crate) struct Reproduce {
    /// The experiment
    #[arg(value_parser = known)]
    experiment: String,
    /// Training seeds per cell
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Splits per seed
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Only cells whose name contains this, such as cora, grace or cora/grace
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only training on clusters, or only on the whole graph
    #[arg(long, value_name = "MODE", default_value = "both")]
    mode: Choice,
    /// Run finished cells again
    #[arg(long)]
    redo: bool,
    /// Folder for the cells, index.html, results.md, results.json and the figures
    #[arg(long, short, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Also write the Markdown here, with figures in a folder next to it; sections of other experiments are kept
    #[arg(long, value_name = "FILE.md")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Clone, Copy, ValueEnum)]
enum Choice {
    Both,
    Structcomp,
    Full,
}

/// Measures one training in this process; `reproduce time-memory` runs it.
#[derive(Args)]
pub(crate) struct MeasureTraining {
    request: String,
    #[command(flatten)]
    common: EveryCommand,
}

impl MeasureTraining {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start_threads()?;
        terminal::print(&measure(&self.request)?)
    }
}

/// The result as JSON; the numbers are in `results.json`.
#[derive(Serialize)]
struct Summary {
    finished: usize,
    finished_before: usize,
    failed: Vec<(String, String)>,
    stopped: bool,
    out: PathBuf,
}

impl Reproduce {
    pub(crate) fn run(&self) -> Result<()> {
        self.common.start_threads()?;
        let experiments = Experiment::select(&[&self.experiment])?;
        let plan = Reproduction {
            experiments: experiments.clone(),
            out: self.out.clone(),
            data_dir: self.common.data_dir()?,
            seeds: self.seeds as usize,
            runs: self.runs as usize,
            seed: self.common.seed(),
            only: self.only.clone(),
            mode: match self.mode {
                Choice::Both => None,
                Choice::Structcomp => Some(Mode::Structcomp),
                Choice::Full => Some(Mode::Full),
            },
            redo: self.redo,
            budget: self.common.budget(),
            measure_command: vec![std::env::current_exe()?.into(), "measure-training".into()],
        }
        .plan()?;
        let _lock = FolderLock::of(&self.out)?;
        check_writable(self.out.join("results.json"))?;
        self.markdown.as_ref().map_or(Ok(()), check_writable)?;
        self.say(&plan);
        let tally = self.work(&plan)?;
        let report = Report::read(&self.out)?;
        report.write(&self.out)?;
        if let Some(path) = &self.markdown {
            report.write_markdown(path)?;
        }
        let summary = Summary {
            finished: tally.finished,
            finished_before: plan.finished,
            failed: tally.failed,
            stopped: tally.interrupted,
            out: self.out.clone(),
        };
        let page = self.out.join("index.html");
        self.common
            .print(&summary, || report.text(&experiments) + &format!("Full report: {}\n", page.display()))?;
        match (tally.interrupted, &summary.failed[..]) {
            (true, _) if self.redo => Err(Interrupted("finished cells are kept".into()).into()),
            (true, _) => Err(Interrupted("run the same command to resume".into()).into()),
            (false, []) => Ok(()),
            (false, [(cell, error)]) => bail!("{cell} failed: {error}"),
            (false, [(cell, error), ..]) => {
                bail!("{} cells failed; the first is {cell}: {error}", summary.failed.len())
            }
        }
    }

    /// Says how much there is to run.
    fn say(&self, plan: &Plan) {
        if self.common.quiet {
            return;
        }
        plan.notes.iter().for_each(|note| terminal::tell(note));
        let (to_do, done) = (plan.to_do(), plan.finished);
        let left = match to_do {
            0 => String::new(),
            _ => format!("; expected time: {}", about(plan.expected_seconds())),
        };
        let cells = if to_do == 1 { "cell" } else { "cells" };
        let [to_do, done] = [to_do, done].map(|count| grouped(count as u64));
        terminal::tell(&format!("{to_do} {cells} to run, {done} finished before{left}"));
    }

    fn work(&self, plan: &Plan) -> Result<Tally> {
        let stop = signals::asked_to_stop();
        let bar = terminal::progress(self.common.quiet, (1e3 * plan.expected_seconds()) as u64, false);
        let tally = plan.run(stop, |event| match event {
            Event::Started(cell) => bar.set_message(cell.name()),
            Event::Finished(finished) => bar.inc((1e3 * plan.expected_of(&finished.cell)) as u64),
            Event::Failed(cell, error) => bar.println(format!("{}: {error}", cell.name())),
        });
        bar.finish_and_clear();
        Ok(tally)
    }
}

/// Accepts the names of experiments.
fn known(name: &str) -> structcomp::Result<String> {
    Experiment::select(&[name]).map(|_| name.to_owned())
}

/// A rough duration.
fn about(seconds: f64) -> String {
    match seconds {
        s if s <= 1.0 => "1 second".into(),
        s if s < 90.0 => format!("{:.0} seconds", s.ceil()),
        s if s < 5400.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}
