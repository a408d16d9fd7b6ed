//! The threads of a call. The interpreter is released while they work.

use crate::errors::{panicked, raise, wrong};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The threads of one call. They end with it, so a process may fork between calls, and calls from several
/// threads of Python do not wait for each other.
pub(crate) struct Workers(ThreadPool);

impl Workers {
    /// The given number of threads, or one per core.
    pub(crate) fn new(threads: Option<usize>) -> PyResult<Self> {
        if threads.is_some_and(|threads| !(1..=1 << 16).contains(&threads)) {
            return Err(wrong("n_threads must be from 1 to 65536, or None for one per core"));
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
        pool.map(Self).map_err(|error| wrong(format!("cannot start the threads: {error}")))
    }

    /// Runs a job on all threads. The interpreter must be released.
    pub(crate) fn work<T: Send>(&self, job: impl FnOnce() -> structcomp::Result<T> + Send) -> PyResult<T> {
        match catch_unwind(AssertUnwindSafe(|| self.0.install(job))) {
            Ok(done) => done.map_err(raise),
            Err(panic) => Err(panicked(panic)),
        }
    }

    /// Runs a job on all threads, and something else on this one meanwhile. The interpreter must be released.
    pub(crate) fn beside<T: Send>(
        &self,
        job: impl FnOnce() -> T + Send,
        meanwhile: impl FnOnce(),
    ) -> PyResult<T> {
        let mut done = None;
        let both = || {
            self.0.in_place_scope(|scope| {
                scope.spawn(|_| done = Some(job()));
                meanwhile();
            });
        };
        catch_unwind(AssertUnwindSafe(both)).map_err(panicked)?;
        done.ok_or_else(|| panicked(Box::new("a job did not run")))
    }
}

/// Releases the interpreter and runs a job.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    job: impl FnOnce() -> structcomp::Result<T> + Send,
) -> PyResult<T> {
    let workers = Workers::new(threads)?;
    let done = py.detach(|| workers.work(job))?;
    // Ctrl-C during the job.
    py.check_signals()?;
    Ok(done)
}
