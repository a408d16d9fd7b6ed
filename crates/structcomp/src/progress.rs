//! How far long work has got, for whoever shows it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    static WATCHED: RefCell<Option<Arc<Steps>>> = const { RefCell::new(None) };
}

/// Lets long work on this thread, one of a pool or the one that calls, count its steps.
pub fn watch(progress: Arc<Steps>) {
    WATCHED.with_borrow_mut(|watched| *watched = Some(progress));
}

/// Steps done, of how many; and parts of the work that have such steps each.
#[derive(Debug, Default)]
pub struct Steps {
    done: AtomicU64,
    steps: AtomicU64,
    parts_done: AtomicU64,
    parts: AtomicU64,
}

impl Steps {
    /// Nothing is known about the work that follows.
    pub fn reset(&self) {
        for count in [&self.done, &self.steps, &self.parts_done, &self.parts] {
            count.store(0, Relaxed);
        }
    }

    /// So many steps are done.
    pub fn set(&self, done: u64, steps: u64) {
        self.done.store(done, Relaxed);
        self.steps.store(steps, Relaxed);
    }

    /// The share of the work that is done, if that is known.
    pub fn share(&self) -> Option<f64> {
        let [done, steps, parts_done, parts] =
            [&self.done, &self.steps, &self.parts_done, &self.parts].map(|count| count.load(Relaxed) as f64);
        let part = if steps > 0.0 { (done / steps).min(1.0) } else { 0.0 };
        match parts > 0.0 {
            true => Some(((parts_done + part) / parts).min(1.0)),
            false => (steps > 0.0).then_some(part),
        }
    }
}

fn watched(tell: impl FnOnce(&Steps)) {
    WATCHED.with_borrow(|watched| watched.as_deref().map(tell));
}

/// The work has so many parts.
pub(crate) fn parts(parts: usize) {
    watched(|progress| {
        progress.reset();
        progress.parts.store(parts as u64, Relaxed);
    });
}

/// One of the parts is done.
pub(crate) fn part_done() {
    watched(|progress| {
        progress.set(0, 0);
        progress.parts_done.fetch_add(1, Relaxed);
    });
}

/// The work has so many steps, unless it belongs to a part of other work.
pub(crate) fn steps(steps: usize) {
    watched(|progress| {
        if progress.parts.load(Relaxed) == 0 {
            progress.set(0, steps as u64);
        }
    });
}

/// The part of the work that begins has so many steps, or else the work itself.
pub(crate) fn steps_of_part(steps: usize) {
    watched(|progress| progress.set(0, steps as u64));
}

/// One of the steps is done.
pub(crate) fn step() {
    steps_done(1);
}

/// So many more steps are done.
pub(crate) fn steps_done(steps: usize) {
    watched(|progress| {
        progress.done.fetch_add(steps as u64, Relaxed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_steps() {
        let progress = Arc::new(Steps::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                watch(progress.clone());
                assert_eq!(progress.share(), None);
                steps(4);
                step();
                assert_eq!(progress.share(), Some(0.25));
                parts(2);
                assert_eq!(progress.share(), Some(0.0));
                part_done();
                steps(7);
                assert_eq!(progress.share(), Some(0.5), "not the steps of this part");
                steps_of_part(2);
                step();
                assert_eq!(progress.share(), Some(0.75));
                progress.reset();
                assert_eq!(progress.share(), None);
            });
        });
        step();
        assert_eq!(progress.share(), None, "other threads are not watched");
    }
}
