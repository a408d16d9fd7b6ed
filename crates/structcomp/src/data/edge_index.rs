//! Edges as a numpy array of whole numbers: `edge_index` as PyTorch users have it, 2 x m, or m x 2.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::{Bytes, Head},
    edges::RawEdges,
    npy::{Array, Kind},
};
use crate::{Error, Result};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "edge-index",
    about: "a numpy array of whole numbers, 2 x m or m x 2: the two ends of each edge",
    recognizes: |head: &Head| head.bytes.starts_with(b"\x93NUMPY"),
    read,
};

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let bytes = Bytes::open(path, &options.budget)?;
    let array = Array::parse(&bytes[..], path)?;
    let edges = EdgeSource::Raw(edges(&array, path, options)?);
    Ok(Parts { edges, files: vec![path.to_owned()], ..Parts::default() })
}

fn edges(array: &Array<'_>, path: &Path, options: &Options) -> Result<RawEdges> {
    if !matches!(array.dtype.kind, Kind::Signed | Kind::Unsigned) {
        let what = "holds no whole numbers: to read it as features, give the edges with --edges and this with --features";
        return Err(Error::format(path, what));
    }
    // Two edges and 2 x 2 is read as 2 x m, which is how most arrays of edges are laid.
    let (source, target): (fn(usize, usize) -> usize, fn(usize, usize) -> usize) = match array.shape[..] {
        [2, _] => (|edge, _| edge, |edge, edges| edges + edge),
        [_, 2] => (|edge, _| 2 * edge, |edge, _| 2 * edge + 1),
        _ => {
            let what = format!("has shape {:?} where 2 x m or m x 2 is expected for edges", array.shape);
            return Err(Error::format(path, what));
        }
    };
    let numbers = array.to_i64(&options.budget)?;
    let count = numbers.len() / 2;
    if let Some(id) = numbers.iter().find(|&&id| id < 0) {
        return Err(Error::format(path, format!("node ids cannot be negative, found {id}")));
    }
    let end = |at: usize| numbers[at] as u64;
    let small = numbers.iter().all(|&id| id <= u32::MAX as i64);
    options.budget.check_items("the edge list", count as u64, if small { 8 } else { 24 })?;
    let ends = (0..count).map(|edge| [end(source(edge, count)), end(target(edge, count))]);
    Ok(match small {
        true => RawEdges::Small(ends.map(|[u, v]| u << 32 | v).collect()),
        false => RawEdges::Large(ends.map(|ends| (ends, 1.0)).collect()),
    })
}
