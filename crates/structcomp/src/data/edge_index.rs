//! Edges as a NumPy array of integers: 2 x m, as PyTorch Geometric's `edge_index`, or m x 2.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::{Bytes, FileHead},
    edges::RawEdges,
    npy::{Array, Kind},
};
use crate::{Error, Result};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "edge-index",
    about: "NumPy array of integers, 2 x m or m x 2: the two ends of each edge",
    recognizes: |head: &FileHead| head.bytes.starts_with(b"\x93NUMPY"),
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
        let what = "contains no integers, so it is not a list of edges; features need a file of edges";
        return Err(Error::format(path, what));
    }
    // Two edges make 2 x 2, which is read as 2 x m, the more common layout.
    let across = match array.shape[..] {
        [2, _] => true,
        [_, 2] => false,
        _ => {
            let what = format!("has shape {:?}; expected 2 x m or m x 2 for edges", array.shape);
            return Err(Error::format(path, what));
        }
    };
    let numbers = array.to_i64(&options.budget)?;
    let count = numbers.len() / 2;
    if let Some(id) = numbers.iter().find(|&&id| id < 0) {
        return Err(Error::format(path, format!("expected non-negative node ids, found {id}")));
    }
    let small = numbers.iter().all(|&id| id <= u32::MAX as i64);
    options.budget.check_items("the edge list", count as u64, if small { 8 } else { 24 })?;
    let places = |edge: usize| if across { [edge, count + edge] } else { [2 * edge, 2 * edge + 1] };
    let ends = (0..count).map(|edge| places(edge).map(|at| numbers[at] as u64));
    Ok(match small {
        true => RawEdges::Small(ends.map(|[u, v]| u << 32 | v).collect()),
        false => RawEdges::Large(ends.map(|ends| (ends, 1.0)).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::open;

    /// A version 1.0 file of little-endian i64.
    fn npy(shape: &str, numbers: &[i64]) -> Vec<u8> {
        let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.bytes());
        numbers.iter().for_each(|number| file.extend(number.to_le_bytes()));
        file
    }

    fn edges_of(file: Vec<u8>) -> Result<Vec<(u32, u32)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.npy");
        std::fs::write(&path, file).unwrap();
        Ok(open(&path, &Options::default())?.graph.edge_iter().collect())
    }

    #[test]
    fn both_layouts_give_the_same_edges() {
        let expected = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(edges_of(npy("(2, 3)", &[0, 1, 2, 1, 2, 3])).unwrap(), expected);
        assert_eq!(edges_of(npy("(3, 2)", &[0, 1, 1, 2, 3, 2])).unwrap(), expected);
        assert_eq!(edges_of(npy("(1, 2)", &[1 << 40, 7])).unwrap(), [(0, 1)]);
    }

    #[test]
    fn other_shapes_and_negative_ids_are_errors() {
        assert!(edges_of(npy("(4,)", &[0, 1, 2, 3])).is_err());
        let error = edges_of(npy("(2, 1)", &[0, -1])).unwrap_err().to_string();
        assert!(error.ends_with("edges.npy: expected non-negative node ids, found -1"), "{error}");
    }
}
