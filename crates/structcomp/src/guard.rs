//! Work on data that may be damaged or change, which makes panics errors; and work that is no longer wanted.

use crate::matrix::{Features, MappedFile};
use crate::{Error, Graph, Result};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

thread_local! {
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Makes long evaluations on this thread, one of a pool, end in an error soon after the flag is set.
pub fn heed(stop: Arc<AtomicBool>) {
    STOP.with_borrow_mut(|held| *held = Some(stop));
}

/// Fails if the work on this thread is no longer wanted.
pub(crate) fn still_wanted() -> Result<()> {
    match STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Relaxed))) {
        true => Err(Error::Input("interrupted".into())),
        false => Ok(()),
    }
}

/// How many threads are in [`caught`].
static CAUGHT: AtomicUsize = AtomicUsize::new(0);

#[cfg(any(feature = "parquet", feature = "cuda"))]
/// The result of work whose checks of what it finds are assertions, such as a decoder's of damaged data; none if one of
/// them failed.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    CAUGHT.fetch_add(1, Relaxed);
    let done = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.fetch_sub(1, Relaxed);
    done.ok()
}

/// Prints no message for panics that become errors. The panic hook belongs to the program, so it has to ask for this.
pub fn silence_caught_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        if CAUGHT.load(Relaxed) == 0 {
            before(about);
        }
    }));
}

/// Runs work on a graph and features that may be mapped from files. If one of the files was changed meanwhile, that is
/// the error, whatever came of the work.
pub(crate) fn while_unchanged<T>(
    graph: &Graph,
    features: Option<&Features>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let features = features.into_iter().flat_map(Features::mapped);
    let files: Vec<&MappedFile> = graph.mapped().into_iter().chain(features).collect();
    if files.is_empty() {
        return work();
    }
    let done = catch_unwind(AssertUnwindSafe(work));
    files.iter().try_for_each(|file| file.check_unchanged())?;
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Partitioning, Seed};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// A mapped graph whose file is damaged after it has been opened: a ring of 4,000 nodes, some of whose edges now
    /// lead outside.
    fn damaged() -> (tempfile::TempDir, Graph) {
        let edges: Vec<(u32, u32)> = (0..4000).map(|node| (node, (node + 1) % 4000)).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.scg");
        Graph::from_edges(4000, &edges).unwrap().save(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        // Longer than file systems take two times for the same.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let file = File::options().write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        file.write_all_at(&[0xff; 4096], length - 8192).unwrap();
        (folder, graph)
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_an_error() {
        for method in crate::partition::METHODS {
            let (_folder, graph) = damaged();
            let partitioning = Partitioning { method: method.name.into(), ..Partitioning::default() };
            let error = partitioning.partition(&graph, Seed(0)).unwrap_err().to_string();
            assert!(error.contains("graph.scg: was changed"), "{}: {error}", method.name);
        }
    }

    #[test]
    fn work_ends_once_it_is_not_wanted() {
        let stop = Arc::new(AtomicBool::new(false));
        std::thread::spawn(move || {
            heed(stop.clone());
            assert!(still_wanted().is_ok());
            stop.store(true, Relaxed);
            assert!(still_wanted().is_err());
        })
        .join()
        .unwrap();
        assert!(still_wanted().is_ok(), "other threads go on");
    }

    #[test]
    fn a_replaced_file_has_not_changed() {
        let edges: Vec<(u32, u32)> = (0..40).map(|node| (node, (node + 1) % 40)).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.scg");
        Graph::from_edges(40, &edges).unwrap().save(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        Graph::from_edges(3, &[(0, 1)]).unwrap().save(&path).unwrap();
        assert_eq!(Partitioning::default().partition(&graph, Seed(0)).unwrap().nodes(), 40);
    }
}
