//! Reruns the paper's tables and figures.

use crate::errors::{panicked, raise, wrong};
use crate::workers::{PATIENCE, Workers};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use structcomp::output::FolderLock;
use structcomp::{Budget, Seed, data};
use structcomp_reproduce::{Event, Experiment, Mode, Plan, Report, Reproduction, Tally};

/// Runs the remaining cells of some experiments, writes the report and returns the results as JSON.
///
/// `on_event` is called for each cell that is started or finished, with the number of finished cells and of all, and stops
/// the run by returning `False`; so does Ctrl-C, with `KeyboardInterrupt`. Finished cells are kept.
#[pyfunction]
#[pyo3(signature = (
    experiments, out, seed, *, data_dir=None, seeds=3, runs=50, only=None, mode="both", redo=false, markdown=None,
    memory=None, measure_command=None, on_event=None, n_threads=None
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
    redo: bool,
    markdown: Option<PathBuf>,
    memory: Option<u64>,
    measure_command: Option<Vec<OsString>>,
    on_event: Option<Py<PyAny>>,
    n_threads: Option<i64>,
) -> PyResult<String> {
    let reproduction = Reproduction {
        experiments: Experiment::select(&experiments).map_err(raise)?,
        out,
        data_dir: data_dir.map_or_else(data::named::default_folder, Ok).map_err(raise)?,
        seeds,
        runs,
        seed: Seed(seed),
        only,
        mode: mode_of(mode)?,
        redo,
        budget: memory.map_or_else(Budget::default, |bytes| Budget { bytes }),
        measure_command: measure_command.unwrap_or_default(),
    };
    let workers = Workers::new(n_threads)?;
    py.detach(|| {
        let plan = workers.work(|| reproduction.plan())?;
        let _lock = FolderLock::of(&reproduction.out).map_err(raise)?;
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

fn mode_of(mode: &str) -> PyResult<Option<Mode>> {
    match mode {
        "both" => Ok(None),
        "structcomp" => Ok(Some(Mode::Structcomp)),
        "full" => Ok(Some(Mode::Full)),
        other => Err(wrong(format!("mode must be 'both', 'structcomp' or 'full', not '{other}'"))),
    }
}

/// Measures one training in this process and returns its cost as JSON.
#[pyfunction]
pub(crate) fn measure(py: Python<'_>, request: &str) -> PyResult<String> {
    py.detach(|| structcomp_reproduce::measure(request)).map_err(raise)
}

/// Runs the cells on other threads, because only this one can call Python and see Ctrl-C. The second value is what
/// `on_event` raised, or Ctrl-C.
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
