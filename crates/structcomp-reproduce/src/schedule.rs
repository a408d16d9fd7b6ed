//! Runs jobs in parallel within a memory budget.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Work, and the memory that it takes.
pub(crate) struct Job<T> {
    pub(crate) what: T,
    pub(crate) bytes: u64,
}

struct State<T> {
    /// The last is next.
    left: Vec<Job<T>>,
    in_use: u64,
    running: usize,
}

/// Runs all jobs, in order as far as `budget` allows. A job that exceeds the budget runs alone. None starts after
/// `stop`.
///
/// Workers are threads of their own. The work itself runs on rayon's, which a waiting worker would block.
pub(crate) fn run<T: Send, R: Send>(
    mut jobs: Vec<Job<T>>,
    workers: usize,
    budget: u64,
    stop: &AtomicBool,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    jobs.reverse();
    let state = Mutex::new(State { left: jobs, in_use: 0, running: 0 });
    let freed = Condvar::new();
    let results = Mutex::new(Vec::new());
    let worker = || {
        while let Some(job) = next(&state, &freed, budget, stop) {
            let result = work(job.what);
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.in_use -= job.bytes;
            state.running -= 1;
            freed.notify_all();
        }
    };
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The first job that fits, waiting for others to finish if none does.
fn next<T>(state: &Mutex<State<T>>, freed: &Condvar, budget: u64, stop: &AtomicBool) -> Option<Job<T>> {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if state.left.is_empty() || stop.load(Relaxed) {
            return None;
        }
        let room = budget.saturating_sub(state.in_use);
        let fits = state.left.iter().rposition(|job| job.bytes <= room);
        let place = if state.running == 0 { fits.or(Some(state.left.len() - 1)) } else { fits };
        if let Some(place) = place {
            let job = state.left.remove(place);
            state.in_use += job.bytes;
            state.running += 1;
            return Some(job);
        }
        state = freed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    fn jobs(bytes: &[u64]) -> Vec<Job<u64>> {
        bytes.iter().map(|&bytes| Job { what: bytes, bytes }).collect()
    }

    #[test]
    fn jobs_stay_within_the_budget_and_a_large_one_runs_alone() {
        let (in_use, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = |bytes: u64| {
            let now = in_use.fetch_add(bytes, Relaxed) + bytes;
            most.fetch_max(if bytes > 10 { now - bytes } else { now }, Relaxed);
            thread::sleep(Duration::from_millis(2));
            in_use.fetch_sub(bytes, Relaxed);
            bytes
        };
        let mut done = run(jobs(&[4, 5, 25, 3, 6, 1, 9]), 4, 10, &AtomicBool::new(false), work);
        done.sort_unstable();
        assert_eq!(done, [1, 3, 4, 5, 6, 9, 25]);
        assert!(most.load(Relaxed) <= 10, "{most:?}");
    }

    #[test]
    fn one_worker_keeps_the_order_and_stops_on_request() {
        let stop = AtomicBool::new(false);
        let done = run(jobs(&[3, 1, 2, 9]), 1, 100, &stop, |bytes| {
            stop.store(bytes == 2, Relaxed);
            bytes
        });
        assert_eq!(done, [3, 1, 2]);
    }
}
