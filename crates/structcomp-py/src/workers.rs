//! The threads of a call. The interpreter is released while they work.

use crate::errors::{panicked, raise, wrong};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::available_parallelism;
use std::time::Duration;

/// How often signals are checked.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// More would take longer to start than to work.
const MOST_THREADS: usize = 1024;

/// The threads of one call. They end with it, so a process may fork between calls, and calls from several
/// threads of Python do not wait for each other.
pub(crate) struct Workers {
    pool: ThreadPool,
    stop: Arc<AtomicBool>,
}

impl Workers {
    /// The given number of threads, or one per core. Negative numbers leave cores free: -1 none, -2 one, and so on.
    pub(crate) fn new(threads: Option<i64>) -> PyResult<Self> {
        let threads = match threads {
            None => 0,
            Some(below @ ..0) => {
                let cores = available_parallelism().map_or(1, |cores| cores.get() as i64);
                cores.saturating_add(1).saturating_add(below).max(1) as usize
            }
            Some(threads) => match usize::try_from(threads) {
                Ok(threads @ 1..=MOST_THREADS) => threads,
                _ => {
                    return Err(wrong(format!(
                        "n_threads must be from 1 to {MOST_THREADS}, or None or -1 for one per core, not {threads}"
                    )));
                }
            },
        };
        let stop = Arc::new(AtomicBool::new(false));
        let heeded = stop.clone();
        let start = move |_| structcomp::heed(heeded.clone());
        let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(start).build();
        let pool = pool.map_err(|error| wrong(format!("cannot start the threads: {error}")))?;
        Ok(Self { pool, stop })
    }

    /// Runs a job on all threads. The interpreter must be released.
    pub(crate) fn work<T: Send>(&self, job: impl FnOnce() -> structcomp::Result<T> + Send) -> PyResult<T> {
        match catch_unwind(AssertUnwindSafe(|| self.pool.install(job))) {
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
            self.pool.in_place_scope(|scope| {
                scope.spawn(|_| done = Some(job()));
                meanwhile();
            });
        };
        catch_unwind(AssertUnwindSafe(both)).map_err(panicked)?;
        done.ok_or_else(|| panicked(Box::new("a job did not run")))
    }
}

/// Releases the interpreter and runs a job, which Ctrl-C ends if it heeds that.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    threads: Option<i64>,
    job: impl FnOnce() -> structcomp::Result<T> + Send,
) -> PyResult<T> {
    let workers = Workers::new(threads)?;
    let (done, heard) = py.detach(|| {
        let (working, done) = channel::<()>();
        let mut heard = Ok(());
        let job = move || {
            let _working = working;
            job()
        };
        let done = workers.beside(job, || {
            while done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                if heard.is_ok() {
                    heard = Python::attach(|py| py.check_signals());
                    workers.stop.store(heard.is_err(), Relaxed);
                }
            }
        });
        (done, heard)
    });
    heard?;
    // Ctrl-C at the end of the job.
    py.check_signals()?;
    done?.map_err(raise)
}
