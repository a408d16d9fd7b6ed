//! The published datasets, looked for in `../shared/data`. Where they are absent a test says that it was
//! skipped, unless `CI` is set: then it fails.

use std::path::{Path, PathBuf};

/// The folder of all datasets, if it is there.
pub(crate) fn folder() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "the published datasets are missing");
    eprintln!("skipped: the published datasets are missing");
    None
}
