//! Every reader on files that the original tool wrote.
//!
//! Fixtures are written by `tests/fixtures/make.py` (numpy, scipy, pandas, pyarrow); the
//! published datasets are looked for in `../shared/data`. Where either is absent the tests say
//! that they were skipped, unless `CI` is set: then they fail.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and says what it skipped

#[path = "formats/arrays.rs"]
mod arrays;
#[path = "formats/geom_gcn.rs"]
mod geom_gcn;
#[path = "formats/matrix_market.rs"]
mod matrix_market;
#[path = "formats/metis_graph.rs"]
mod metis_graph;
#[path = "formats/outputs.rs"]
mod outputs;
#[path = "formats/parquet.rs"]
mod parquet;
#[path = "formats/planetoid.rs"]
mod planetoid;
#[path = "formats/tables.rs"]
mod tables;

#[cfg(feature = "parquet")]
#[cfg(feature = "parquet")]
#[cfg(feature = "parquet")]
use std::path::PathBuf;

/// A file made by `tests/fixtures/make.py`, or `None` with a word about it.
#[allow(dead_code)]
fn fixture(name: &str) -> Option<PathBuf> {
    present(root().join("target/fixtures").join(name), "run tests/fixtures/make.py")
}

/// A folder of the published datasets, or `None` with a word about it.
#[allow(dead_code)]
fn published(name: &str) -> Option<PathBuf> {
    present(root().join("../shared/data").join(name), "the published datasets are not here")
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn present(path: PathBuf, why: &str) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: {why}", path.display());
    eprintln!("skipped: {} is missing: {why}", path.display());
    None
}
