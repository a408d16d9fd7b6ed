//! Runs the cells of a plan.

use crate::accuracy::accuracies;
use crate::experiment::{star, theory, trend};
use crate::fit::Halt;
use crate::measure::{Request, cost};
use crate::plan::Planned;
use crate::schedule::{self, Job};
use crate::source::Source;
use crate::store::{SeedFiles, VERSION};
use crate::{Cell, Experiment, Finished, Outcome, Plan, Reproduction, Task};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use structcomp::{Error, Result};

/// What happens while cells run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A cell was started.
    Started(&'a Cell),
    /// A cell was finished and its file written.
    Finished(&'a Finished),
    /// A cell failed; the others continue.
    Failed(&'a Cell, &'a Error),
}

/// What came of a plan.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of finished cells.
    pub finished: usize,
    /// The names of the cells that failed, and why.
    pub failed: Vec<(String, String)>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

impl Plan {
    /// Runs the cells: as many at once as there are threads and memory, those that measure time one by one. Once `stop`
    /// is true, running cells are abandoned.
    ///
    /// When called from a rayon pool, cells divide its number of threads among pools of their own.
    pub fn run(&self, stop: &AtomicBool, on_event: impl Fn(Event) + Sync) -> Tally {
        let (threads, in_pool) = (rayon::current_num_threads(), rayon::current_thread_index().is_some());
        let alone =
            |planned: &&Planned| Experiment::named(&planned.cell.experiment).is_ok_and(|found| found.alone);
        let (alone, together): (Vec<&Planned>, Vec<&Planned>) = self.to_do.iter().partition(alone);
        let mut tally = Tally::default();
        for (planned, workers) in [(together, threads), (alone, 1)] {
            let jobs: Vec<Job<&Planned>> =
                planned.into_iter().map(|planned| Job { what: planned, bytes: planned.need.bytes }).collect();
            let workers = workers.min(jobs.len()).max(1);
            let cores = threads as f64 / workers as f64;
            let own_threads = in_pool.then(|| threads.div_ceil(workers));
            let results = schedule::run(jobs, workers, self.options.budget.bytes, stop, |planned| {
                on_event(Event::Started(&planned.cell));
                let result = with_threads(own_threads, || self.finish(planned, cores, stop));
                match &result {
                    Ok(finished) => on_event(Event::Finished(finished)),
                    Err(Halt::Failed(error)) => on_event(Event::Failed(&planned.cell, error)),
                    Err(Halt::Interrupted) => {}
                }
                result.map(drop).map_err(|halt| (planned.cell.name(), halt))
            });
            for result in results {
                match result {
                    Ok(()) => tally.finished += 1,
                    Err((name, Halt::Failed(error))) => tally.failed.push((name, error.to_string())),
                    Err((_, Halt::Interrupted)) => {}
                }
            }
        }
        tally.interrupted = stop.load(Relaxed);
        tally
    }

    /// Runs a cell and writes its file.
    fn finish(&self, planned: &Planned, cores: f64, stop: &AtomicBool) -> Result<Finished, Halt> {
        let started = Instant::now();
        let cell = &planned.cell;
        let source = self.sources.get(&cell.dataset)?;
        let parts = SeedFiles::of(&self.options.out, &planned.key);
        if self.options.redo {
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
            estimated_seconds: planned.need.core_seconds,
            version: VERSION.to_owned(),
        };
        finished.write(&self.options.out)?;
        parts.clear()?;
        Ok(finished)
    }

    fn outcome(
        &self,
        cell: &Cell,
        source: &Source,
        parts: &SeedFiles,
        stop: &AtomicBool,
    ) -> Result<Outcome, Halt> {
        let repeats = &self.repeats;
        Ok(match &cell.task {
            Task::Accuracy(setup) => {
                Outcome::Accuracy(Box::new(accuracies(cell, setup, source, repeats, parts, stop)?))
            }
            Task::LossTrend(setup) => Outcome::LossTrend(trend(setup, &source.data()?, repeats, stop)?),
            Task::Theory(setup) => Outcome::Theory(Box::new(theory(setup, source, repeats, stop)?)),
            Task::Star => Outcome::Theory(Box::new(star(&source.data()?)?)),
            Task::Cost(setup) => {
                let Reproduction { data_dir, seed, measure_command, .. } = &self.options;
                Outcome::Cost(cost(measure_command, Request::new(cell, setup, data_dir, *seed))?)
            }
        })
    }
}

/// Runs the job with its own threads, or with the common ones.
fn with_threads<T: Send>(
    own: Option<usize>,
    job: impl FnOnce() -> Result<T, Halt> + Send,
) -> Result<T, Halt> {
    let Some(threads) = own else { return job() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::Input(format!("cannot start threads: {error}")))?.install(job)
}
