//! Parquet tables of edges and of nodes.

#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod delta;
#[cfg(feature = "parquet")]
mod edges;
#[cfg(feature = "parquet")]
mod file;
#[cfg(feature = "parquet")]
mod footer;
#[cfg(feature = "parquet")]
mod nodes;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod thrift;

use super::table::{NodeTable, Purpose};
use super::{Format, Options, Parts, bytes::FileHead};
#[cfg(not(feature = "parquet"))]
use crate::Error;
use crate::Result;
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "parquet",
    about: "Parquet with one edge per row: source and target (or src/dst, from/to, u/v), optional weight",
    recognizes: |head: &FileHead| is_parquet(&head.bytes),
    read,
};

pub(crate) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1")
}

#[cfg(feature = "parquet")]
fn read(path: &Path, options: &Options) -> Result<Parts> {
    let edges =
        file::guarded(path, || edges::read(&file::ParquetFile::open(path, &options.budget)?, options))?;
    let edges = super::EdgeSource::Raw(edges);
    Ok(Parts { edges, files: vec![path.to_owned()], ..Parts::default() })
}

#[cfg(feature = "parquet")]
pub(crate) fn read_nodes(path: &Path, purpose: Purpose, options: &Options) -> Result<NodeTable> {
    file::guarded(path, || nodes::read(&file::ParquetFile::open(path, &options.budget)?, purpose))
}

#[cfg(not(feature = "parquet"))]
fn read(path: &Path, _: &Options) -> Result<Parts> {
    Err(Error::no_parquet(path))
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn read_nodes(path: &Path, _: Purpose, _: &Options) -> Result<NodeTable> {
    Err(Error::no_parquet(path))
}
