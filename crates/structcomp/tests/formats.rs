//! Every reader on files written by the original tool.
//!
//! Fixtures are written by `tests/fixtures/make.py` (NumPy, scipy, pandas, pyarrow); the published
//! datasets are expected in `../shared/data`. Without them the tests are skipped, see `published/mod.rs`.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "formats/arrays.rs"]
mod arrays;
#[path = "formats/geom_gcn.rs"]
mod geom_gcn;
#[path = "formats/matrix_market.rs"]
mod matrix_market;
#[path = "formats/metis_graph.rs"]
mod metis_graph;
#[cfg(feature = "parquet")]
#[path = "formats/outputs.rs"]
mod outputs;
#[cfg(feature = "parquet")]
#[path = "formats/parquet.rs"]
mod parquet;
#[path = "formats/planetoid.rs"]
mod planetoid;
mod published;
#[cfg(feature = "parquet")]
#[path = "formats/tables.rs"]
mod tables;

use std::path::{Path, PathBuf};

/// A file made by `tests/fixtures/make.py`.
fn fixture(name: &str) -> Option<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixtures");
    published::present(fixtures.join(name), "run tests/fixtures/make.py")
}

/// The folder of a published dataset.
fn dataset(name: &str) -> Option<PathBuf> {
    published::present(published::folder()?.join(name), "download the dataset")
}
