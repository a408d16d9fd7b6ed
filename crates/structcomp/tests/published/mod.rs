//! Files that are not part of the repository, such as the published datasets in `../shared/data`.
//!
//! Without them a test prints that it was skipped. If `STRUCTCOMP_REQUIRE_DATA` is set, it fails.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

/// The folder of all datasets, if it exists.
pub(crate) fn folder() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    present(path, "the published datasets are not here")
}

/// The path, if it exists. Otherwise prints why the test is skipped, or panics if it must not be.
pub(crate) fn present(path: PathBuf, why: &str) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    let message = format!("{} is missing: {why}", path.display());
    assert!(std::env::var_os("STRUCTCOMP_REQUIRE_DATA").is_none(), "{message}");
    // Written directly, as the test harness hides what the macros print in a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {message}");
    None
}
