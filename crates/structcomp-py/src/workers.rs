//! Rust's part of a call: without the interpreter, on threads of its own.

use crate::errors::{panicked, raise, wrong};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The threads of one call. They end with it, so a process may fork between calls, and calls from several
/// threads of Python do not wait for each other.
pub(crate) struct Workers(ThreadPool);

impl Workers {
    /// So many threads, or one a core.
    pub(crate) fn new(threads: Option<usize>) -> PyResult<Self> {
        if threads.is_some_and(|threads| !(1..=1 << 16).contains(&threads)) {
            return Err(wrong("n_threads must be from 1 to 65536, or None for one a core"));
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
        pool.map(Self).map_err(|error| wrong(format!("cannot start the threads: {error}")))
    }

    /// Does the work with all threads. The interpreter must be released.
    pub(crate) fn work<T: Send>(&self, job: impl FnOnce() -> structcomp::Result<T> + Send) -> PyResult<T> {
        match catch_unwind(AssertUnwindSafe(|| self.0.install(job))) {
            Ok(done) => done.map_err(raise),
            Err(panic) => Err(panicked(panic)),
        }
    }
}

/// Releases the interpreter and does one piece of work.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    job: impl FnOnce() -> structcomp::Result<T> + Send,
) -> PyResult<T> {
    let workers = Workers::new(threads)?;
    let done = py.detach(|| workers.work(job))?;
    // Ctrl-C during the work is heard now.
    py.check_signals()?;
    Ok(done)
}
