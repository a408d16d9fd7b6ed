//! Small OGB folders, intact and damaged. `tests/formats` reads files written by pandas and NumPy.

use super::*;
use crate::data::{
    self,
    npy::tests::file as npy_file,
    npz::tests::{archive, integers},
};
use std::io::Write;

fn write(path: &Path, text: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    std::fs::write(path, encoder.finish().unwrap()).unwrap();
}

/// 0 - 1 - 2; node 2 is unlabelled.
fn text_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("raw/edge.csv.gz", "0,1\n1,2\n"),
        ("raw/node-feat.csv.gz", "0.5,1\n-2e-1,0\n3,4\n"),
        ("raw/node-label.csv.gz", "1\n0.0\nnan\n"),
        ("raw/num-node-list.csv.gz", "3\n"),
        ("raw/num-edge-list.csv.gz", "2\n"),
        ("split/time/train.csv.gz", "0\n"),
        ("split/time/valid.csv.gz", ""),
        ("split/time/test.csv.gz", "1\n"),
    ] {
        write(&folder.path().join(name), text.as_bytes());
    }
    folder
}

fn open(folder: &Path) -> Result<data::Dataset> {
    data::open(folder, &Options::default())
}

#[test]
fn text_tables_become_a_dataset() {
    let folder = text_folder();
    let data = open(folder.path()).unwrap();
    assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(data.features.unwrap().to_dense().values(), [0.5, 1.0, -0.2, 0.0, 3.0, 4.0]);
    let labels = data.labels.unwrap();
    assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(1), Some(0), None]);
    assert_eq!(data.splits[0].splits[0], Split { train: vec![0], validation: vec![], test: vec![1] });
}

#[test]
fn errors_in_tables_name_the_line() {
    let folder = text_folder();
    for (name, text, said) in [
        ("raw/edge.csv.gz", "0,1\n1,3\n", "edge.csv.gz:2: expected two node numbers below 3, found '1,3'"),
        ("raw/edge.csv.gz", "0,1\n1,-2\n", "edge.csv.gz:2: expected two node numbers"),
        ("raw/edge.csv.gz", "0,1\n1\n", "edge.csv.gz:2: expected two node numbers"),
        ("raw/edge.csv.gz", "0,1\n1,99999999999999999999\n", "edge.csv.gz:2: expected two node numbers"),
        ("raw/edge.csv.gz", "0,1\n", "edge.csv.gz: has 1 edges, expected 2"),
        ("raw/node-feat.csv.gz", "1,1\n1,nan\n1,1\n", "node-feat.csv.gz: row 1, column 1 is NaN"),
        ("raw/node-feat.csv.gz", "1,1\n1,1e39\n1,1\n", "node-feat.csv.gz: row 1, column 1 is inf"),
        ("raw/node-feat.csv.gz", "1,1\n1\n1,1\n", "node-feat.csv.gz:2: expected 2 numbers"),
        ("raw/node-feat.csv.gz", "1,1\n1,1,1\n1,1\n", "node-feat.csv.gz:2: expected 2 numbers"),
        ("raw/node-feat.csv.gz", "1,1\n1,x\n1,1\n", "node-feat.csv.gz:2: expected a number, found 'x'"),
        ("raw/node-feat.csv.gz", "1,1\n1,1\n", "node-feat.csv.gz: has 2 rows, expected 3"),
        ("raw/node-label.csv.gz", "0\n0.5\n1\n", "node-label.csv.gz: label 1 is 0.5, not a class number"),
        ("raw/node-label.csv.gz", "0\n1\n", "node-label.csv.gz: has 2 labels, expected 3"),
        ("raw/node-label.csv.gz", "0,1\n1,0\n1,0\n", "multi-label data is not supported"),
        ("raw/num-node-list.csv.gz", "3\n3\n", "lists 2 graphs; expected one"),
        ("raw/num-node-list.csv.gz", "99999999999999\n", "more than the 2^31 supported"),
        ("split/time/train.csv.gz", "3\n", "train.csv.gz:1: expected a node number below 3, found '3'"),
        ("split/time/train.csv.gz", "1\n", "node 1 appears twice in a split"),
        ("raw/triplet-type-list.csv.gz", "a,b,c\n", "several node types"),
    ] {
        let path = folder.path().join(name);
        let sound = std::fs::read(&path);
        write(&path, text.as_bytes());
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        match sound {
            Ok(sound) => std::fs::write(&path, sound).unwrap(),
            Err(_) => std::fs::remove_file(&path).unwrap(),
        }
    }
}

#[test]
fn every_truncation_of_a_table_is_an_error() {
    let folder = text_folder();
    for name in
        ["raw/edge.csv.gz", "raw/node-label.csv.gz", "raw/num-node-list.csv.gz", "split/time/test.csv.gz"]
    {
        let path = folder.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        // An empty file is an empty table, and a split may have no test nodes.
        for length in (name.starts_with("split") as usize)..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(open(folder.path()).is_err(), "{name} cut to {length}");
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert!(open(folder.path()).is_ok());
}

#[test]
fn binary_parts_must_fit_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("raw/data.npz");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let ends: Vec<u8> = [0i64, 1, 1, -2].iter().flat_map(|end| end.to_le_bytes()).collect();
    let one = npy_file("<i8", "False", "(1,)", &3i64.to_le_bytes());
    let outside = archive(
        zip::CompressionMethod::Stored,
        &[
            ("num_nodes_list.npy", &one),
            ("num_edges_list.npy", &one),
            ("edge_index.npy", &npy_file("<i8", "False", "(2, 2)", &ends)),
        ],
    );
    // `integers` makes vectors; a one-dimensional edge_index is invalid.
    let flat = integers(&[("num_nodes_list", &[3]), ("num_edges_list", &[1]), ("edge_index", &[0, 1])]);
    for (bytes, said) in [
        (outside, "edge_index: edge 1 connects 1 and -2, but there are 3 nodes"),
        (flat, "edge_index: has shape [2]; expected 2 x edges"),
        (
            integers(&[("num_nodes_list", &[3, 3]), ("num_edges_list", &[1])]),
            "expected the size of one graph",
        ),
        (integers(&[("num_nodes_list", &[-3]), ("num_edges_list", &[1])]), "num_nodes_list: is [-3]"),
        (integers(&[("num_nodes_list", &[1 << 40]), ("num_edges_list", &[1])]), "more than the 2^31"),
        (integers(&[("num_nodes_list", &[3])]), "has no array 'num_edges_list'"),
        (b"PK\x03\x04".to_vec(), "is not a valid zip archive"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
