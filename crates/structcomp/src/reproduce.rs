//! The paper's tables and figures, made anew beside what it prints.
//!
//! An experiment is a list of cells: a dataset, a model, and whether it is trained on clusters or on the whole
//! graph. Each finished cell is a file, so that a run that was stopped goes on where it was. The report is made
//! from these files alone.

mod cell;
mod cells;
mod cost;
mod document;
mod estimate;
mod experiment;
mod figures;
mod judge;
mod outcome;
mod page;
mod paper;
mod schedule;
mod sections;
mod settings;
mod source;
mod store;
mod theory;
mod trend;

pub use cell::{Cell, Mode, Repeats, Setting, Setup, Task};
#[doc(hidden)]
pub use cost::measure;
pub use document::Report;
pub use experiment::Experiment;
pub use outcome::{Cost, Judged, Outcome, Regulariser, Spread, Theory, Trend};
pub use paper::{Published, PublishedCost};
pub use store::Finished;

use crate::data::named;
use crate::{Budget, Error, Result, Seed, human_bytes};
use estimate::Need;
use schedule::Job;
use source::{Source, Sources};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::Parts;

/// What to reproduce, and how.
///
/// ```no_run
/// use std::sync::atomic::AtomicBool;
/// use structcomp::reproduce::{Experiment, Report, Reproduction};
///
/// let reproduction = Reproduction {
///     experiments: Experiment::named("small")?,
///     data_dir: "data".into(),
///     only: Some("cora/sce".into()),
///     ..Reproduction::default()
/// };
/// let plan = reproduction.plan()?;
/// plan.run(&AtomicBool::new(false), |_| {});
/// Report::read(&reproduction.out)?.write(&reproduction.out)?;
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Which experiments.
    pub experiments: Vec<Experiment>,
    /// The folder of the cells and of the report.
    pub out: PathBuf,
    /// The folder of the named datasets.
    pub data_dir: PathBuf,
    /// Training seeds of a cell.
    pub seeds: usize,
    /// Splits of a seed.
    pub runs: usize,
    /// The first training seed.
    pub seed: Seed,
    /// Only cells whose name, such as `cora/grace/structcomp`, holds this.
    pub only: Option<String>,
    /// Only cells that train on this.
    pub mode: Option<Mode>,
    /// Whether finished cells are done again.
    pub anew: bool,
    /// The memory that cells may take together.
    pub budget: Budget,
    /// The command line of this library, which measures training in processes of its own.
    pub program: Option<PathBuf>,
}

impl Default for Reproduction {
    fn default() -> Self {
        Self {
            experiments: vec![Experiment::Small],
            out: "reproduction".into(),
            data_dir: PathBuf::new(),
            seeds: 3,
            runs: 50,
            seed: Seed(0),
            only: None,
            mode: None,
            anew: false,
            budget: Budget::default(),
            program: None,
        }
    }
}

/// Cells that are chosen, and which of them are left to do.
pub struct Plan {
    settings: Reproduction,
    sources: Sources,
    repeats: Repeats,
    to_do: Vec<Planned>,
    /// How many of the cells chosen are finished already.
    pub finished: usize,
    /// What a person should know, such as experiments that are left out.
    pub notes: Vec<String>,
}

/// A cell to do.
struct Planned {
    cell: Cell,
    key: String,
    need: Need,
    /// Seconds of one core that it is expected to take.
    expected: f64,
}

/// What happens while cells are done.
#[derive(Debug)]
pub enum Event<'a> {
    /// A cell was begun.
    Started(&'a Cell),
    /// A cell was finished and its file written.
    Finished(&'a Finished),
    /// A cell failed; the others go on.
    Failed(&'a Cell, &'a Error),
}

/// What came of a plan.
#[derive(Debug, Default)]
pub struct Tally {
    /// Cells finished.
    pub finished: usize,
    /// Names of cells that failed, and why.
    pub failed: Vec<(String, String)>,
    /// Whether it was stopped.
    pub interrupted: bool,
}

impl Reproduction {
    /// Chooses the cells, reads their data and finds out which are done.
    pub fn plan(&self) -> Result<Plan> {
        if self.seeds == 0 || self.runs == 0 {
            return Err(Error::Input("a cell needs at least one seed and one split".into()));
        }
        let mut notes = Vec::new();
        let cells = self.chosen(&mut notes)?;
        if cells.is_empty() {
            return Err(self.nothing_chosen(notes));
        }
        let sources = Sources::new(&self.data_dir, self.budget);
        let repeats = Repeats { seeds: self.seeds, runs: self.runs, seed: self.seed.0 };
        let done = Finished::read_all(&self.out, &mut notes)?;
        let done: Vec<&Finished> = done.iter().collect();
        let (mut to_do, mut finished) = (Vec::new(), 0);
        let mut absent: Vec<String> = Vec::new();
        for cell in cells {
            if let Some(left_out) = self.left_out(&cell) {
                absent.push(left_out);
                continue;
            }
            let source = sources.get(&cell.dataset)?;
            let found = Finished::read(&self.out, &cell).filter(|found| found.is_of(&cell));
            match found {
                Some(found) if !self.anew && found.serves(&cell, &repeats, &source.sha256) => {
                    finished += 1;
                    continue;
                }
                Some(found) if found.has_more_than(&repeats) => notes.push(format!(
                    "{}/{} was done with {} and will be replaced; another folder would keep both",
                    cell.experiment.name(),
                    cell.name(),
                    found.repeats
                )),
                _ => {}
            }
            let key = cell.key(&repeats, &source.sha256)?;
            let need = Need::of(&cell, &source, &repeats)?;
            if need.bytes > self.budget.bytes {
                let [takes, allowed] = [need.bytes, self.budget.bytes].map(human_bytes);
                let name = format!("{}/{}", cell.experiment.name(), cell.name());
                notes.push(format!(
                    "{name} takes about {takes}, more than the {allowed} allowed: it runs alone"
                ));
            }
            let expected = need.core_seconds * estimate::correction(&cell, &done);
            to_do.push(Planned { cell, key, need, expected });
        }
        absent.sort();
        absent.dedup();
        if let (true, 0, Some(why)) = (to_do.is_empty(), finished, absent.first()) {
            return Err(Error::Input(format!("there is nothing to do; {why}")));
        }
        notes.extend(absent);
        Ok(Plan { settings: self.clone(), sources, repeats, to_do, finished, notes })
    }

    /// Why a cell is left out for want of data, where it is.
    fn left_out(&self, cell: &Cell) -> Option<String> {
        let absent = named::find(&cell.dataset)?.locate(&self.data_dir).err()?;
        Some(format!("left out: {absent}"))
    }

    /// The cells of the experiments that the filters let through. Where all experiments are asked for, those
    /// that cannot be done are noted and left out.
    fn chosen(&self, notes: &mut Vec<String>) -> Result<Vec<Cell>> {
        let mut chosen = Vec::new();
        for &experiment in &self.experiments {
            match experiment.cells() {
                Ok(cells) => chosen.extend(cells),
                Err(error) if self.experiments.len() > 1 => notes.push(format!("left out: {error}")),
                Err(error) => return Err(error),
            }
        }
        chosen.retain(|cell| {
            self.only.as_ref().is_none_or(|only| cell.matches(only))
                && self.mode.is_none_or(|mode| cell.mode == mode)
        });
        Ok(chosen)
    }

    fn nothing_chosen(&self, notes: Vec<String>) -> Error {
        let names: Vec<&str> = self.experiments.iter().map(|experiment| experiment.name()).collect();
        let only = self.only.as_ref().map(|only| format!(" with '{only}' in its name")).unwrap_or_default();
        let mode = self.mode.map(|mode| format!(" of mode {}", mode.name())).unwrap_or_default();
        let notes = notes.iter().map(|note| format!("; {note}")).collect::<String>();
        let example = self.experiments.iter().find_map(|experiment| experiment.cells().ok()?.pop());
        let example = example.map(|cell| format!("; names are such as {}", cell.name())).unwrap_or_default();
        let who = if names.len() > 3 { "no experiment".into() } else { names.join(", ") };
        let has = if names.len() > 3 { "has a" } else { "has no" };
        Error::Input(format!("{who} {has} cell{only}{mode}{example}{notes}"))
    }
}

impl Plan {
    /// How many cells are left to do.
    pub fn to_do(&self) -> usize {
        self.to_do.len()
    }

    /// How many seconds that is expected to take.
    pub fn expected_seconds(&self) -> f64 {
        let threads = rayon::current_num_threads() as f64;
        let seconds = |planned: &Planned| planned.expected / threads;
        self.to_do.iter().map(seconds).sum()
    }

    /// The seconds that cells of this name are expected to take, for progress.
    pub fn expected_of(&self, cell: &Cell) -> f64 {
        let planned = self.to_do.iter().find(|planned| planned.cell == *cell);
        planned.map_or(0.0, |planned| planned.expected / rayon::current_num_threads() as f64)
    }

    /// Does the cells: as many at once as there are threads and memory, those that measure time one by one.
    /// Where `stop` becomes true, those under way are given up.
    ///
    /// Called from a pool of rayon's, cells share out its number of threads, each in a pool of its own; the
    /// common one is left alone.
    pub fn run(&self, stop: &AtomicBool, on_event: impl Fn(Event) + Sync) -> Tally {
        let (threads, in_pool) = (rayon::current_num_threads(), rayon::current_thread_index().is_some());
        let (alone, together): (Vec<&Planned>, Vec<&Planned>) =
            self.to_do.iter().partition(|planned| planned.cell.experiment.runs_alone());
        let mut tally = Tally::default();
        for (planned, workers) in [(together, threads), (alone, 1)] {
            let jobs: Vec<Job<&Planned>> =
                planned.into_iter().map(|planned| Job { what: planned, bytes: planned.need.bytes }).collect();
            let workers = workers.min(jobs.len()).max(1);
            let cores = threads as f64 / workers as f64;
            let own = in_pool.then(|| threads.div_ceil(workers));
            let outcomes = schedule::run(jobs, workers, self.settings.budget.bytes, stop, |planned| {
                on_event(Event::Started(&planned.cell));
                let outcome = with_threads(own, || self.finish(planned, cores, stop));
                match &outcome {
                    Ok(finished) => on_event(Event::Finished(finished)),
                    Err(error) if judge::is_interrupted(error) => {}
                    Err(error) => on_event(Event::Failed(&planned.cell, error)),
                }
                outcome.map(|_| ()).map_err(|error| (planned.cell.name(), error))
            });
            for outcome in outcomes {
                match outcome {
                    Ok(()) => tally.finished += 1,
                    Err((_, error)) if judge::is_interrupted(&error) => {}
                    Err((name, error)) => tally.failed.push((name, error.to_string())),
                }
            }
        }
        tally.interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
        tally
    }

    /// Does a cell and writes its file.
    fn finish(&self, planned: &Planned, cores: f64, stop: &AtomicBool) -> Result<Finished> {
        let started = Instant::now();
        let cell = &planned.cell;
        let source: Arc<Source> = self.sources.get(&cell.dataset)?;
        let parts = Parts::of(&self.settings.out, &planned.key);
        if self.settings.anew {
            parts.clear()?;
        }
        let outcome = self.outcome(cell, &source, &parts, stop)?;
        let finished = Finished {
            cell: cell.clone(),
            key: planned.key.clone(),
            data_sha256: source.sha256.clone(),
            repeats: self.repeats,
            outcome,
            core_seconds: started.elapsed().as_secs_f64() * cores,
            counted_seconds: planned.need.core_seconds,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        finished.write(&self.settings.out)?;
        parts.clear()?;
        Ok(finished)
    }

    fn outcome(&self, cell: &Cell, source: &Source, parts: &Parts, stop: &AtomicBool) -> Result<Outcome> {
        let repeats = &self.repeats;
        Ok(match &cell.task {
            Task::Accuracy(setup) => {
                Outcome::Accuracy(Box::new(judge::judge(cell, setup, source, repeats, parts, stop)?))
            }
            Task::LossTrend(setup) => Outcome::LossTrend(trend::trend(setup, source, repeats, stop)?),
            Task::Theory(setup) => Outcome::Theory(Box::new(theory::theory(setup, source, repeats)?)),
            Task::Star => Outcome::Theory(Box::new(theory::star(source)?)),
            Task::Cost(setup) => {
                let Some(program) = &self.settings.program else {
                    return Err(Error::Input(
                        "time and memory are measured in processes of their own, by the command line".into(),
                    ));
                };
                Outcome::Cost(cost::cost(program, cell, setup, &self.settings.data_dir, repeats)?)
            }
        })
    }
}

/// Does the job with so many threads of its own, or with the common ones.
fn with_threads<T: Send>(own: Option<usize>, job: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let Some(threads) = own else { return job() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::Input(format!("cannot start the threads: {error}")))?.install(job)
}

#[cfg(test)]
mod tests;
