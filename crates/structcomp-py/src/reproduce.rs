//! The paper's tables and figures, made anew.

use crate::errors::{panicked, raise, wrong};
use crate::workers::Workers;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::{thread, time::Duration};
use structcomp::reproduce::{Event, Experiment, Mode, Plan, Report, Reproduction, Tally};
use structcomp::{Budget, Seed, data};

/// How long Ctrl-C may go unheard.
const PATIENCE: Duration = Duration::from_millis(100);

/// Does what is left to do of some experiments, writes the report and returns what came of it as JSON.
///
/// `on_event` hears of each cell that is begun or done, with how many are done of how many, and ends the work by
/// `False`; so does Ctrl-C, with `KeyboardInterrupt`. What is finished by then is kept.
#[pyfunction]
#[pyo3(signature = (
    experiments, out, seed, *, data_dir=None, seeds=3, runs=50, only=None, mode="both", anew=false, markdown=None,
    memory=None, program=None, on_event=None, n_threads=None
))]
#[allow(clippy::too_many_arguments)] // named by Python's callers
pub(crate) fn reproduce(
    py: Python<'_>,
    experiments: Vec<String>,
    out: PathBuf,
    seed: u64,
    data_dir: Option<PathBuf>,
    seeds: usize,
    runs: usize,
    only: Option<String>,
    mode: &str,
    anew: bool,
    markdown: Option<PathBuf>,
    memory: Option<u64>,
    program: Option<PathBuf>,
    on_event: Option<Py<PyAny>>,
    n_threads: Option<usize>,
) -> PyResult<String> {
    let named: structcomp::Result<Vec<_>> = experiments.iter().map(|name| Experiment::named(name)).collect();
    let mut experiments = named.map_err(raise)?.concat();
    experiments.sort();
    experiments.dedup();
    let reproduction = Reproduction {
        experiments,
        out,
        data_dir: data_dir.map_or_else(data::named::default_folder, Ok).map_err(raise)?,
        seeds,
        runs,
        seed: Seed(seed),
        only,
        mode: match mode {
            "both" => None,
            "structcomp" => Some(Mode::Structcomp),
            "full" => Some(Mode::Full),
            other => {
                return Err(wrong(format!("mode must be 'both', 'structcomp' or 'full', not '{other}'")));
            }
        },
        anew,
        budget: memory.map_or_else(Budget::default, |bytes| Budget { bytes }),
        program,
    };
    let workers = Workers::new(n_threads)?;
    py.detach(|| {
        let plan = workers.work(|| reproduction.plan())?;
        let (tally, heard) = run(&plan, &workers, on_event)?;
        let cells = workers.work(|| {
            let report = Report::read(&reproduction.out)?;
            report.write(&reproduction.out)?;
            if let Some(path) = &markdown {
                report.write_markdown(path)?;
            }
            report.json()
        })?;
        heard?;
        let cells: serde_json::Value =
            serde_json::from_str(&cells).map_err(|error| wrong(error.to_string()))?;
        let failed: serde_json::Map<_, _> =
            tally.failed.into_iter().map(|(cell, why)| (cell, why.into())).collect();
        Ok(json!({
            "finished": tally.finished,
            "finished_before": plan.finished,
            "failed": failed,
            "stopped": tally.interrupted,
            "notes": plan.notes,
            "cells": cells,
        })
        .to_string())
    })
}

/// Does the cells on other threads, so that this one can speak to Python: only here does it hear Ctrl-C. Second
/// is what `on_event` raised, or Ctrl-C.
fn run(plan: &Plan, workers: &Workers, on_event: Option<Py<PyAny>>) -> PyResult<(Tally, PyResult<()>)> {
    let (stop, (tell, told)) = (&AtomicBool::new(false), channel());
    thread::scope(|scope| {
        let work = scope.spawn(move || {
            let tell = |event: Event<'_>| {
                // Nobody is there to be told only after a panic.
                let _ = tell.send(match event {
                    Event::Started(cell) => (cell.name(), false),
                    Event::Finished(finished) => (finished.cell.name(), true),
                    Event::Failed(cell, _) => (cell.name(), true),
                });
            };
            workers.work(|| Ok(plan.run(stop, tell)))
        });
        let (mut done, mut heard) = (0, Ok(()));
        loop {
            let event = told.recv_timeout(PATIENCE);
            if event == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            done += usize::from(event.as_ref().is_ok_and(|(_, is_done)| *is_done));
            if stop.load(Relaxed) {
                continue;
            }
            let goes_on = Python::attach(|py| {
                py.check_signals()?;
                let (Ok((cell, is_done)), Some(on_event)) = (event, &on_event) else { return Ok(true) };
                let answer = on_event.call1(py, (cell, is_done, done, plan.to_do()))?;
                Ok(!answer.bind(py).is(&*PyBool::new(py, false)))
            });
            stop.store(!matches!(goes_on, Ok(true)), Relaxed);
            heard = goes_on.map(|_| ());
        }
        Ok((work.join().map_err(panicked)??, heard))
    })
}
