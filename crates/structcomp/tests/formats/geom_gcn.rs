//! Chameleon, Squirrel and Actor as published.
//!
//! The expected numbers were computed from the same files with Python and NumPy.

use crate::dataset;
use structcomp::graph::Repairs;
use structcomp::{Dataset, Features, data};

fn open(name: &str) -> Option<Dataset> {
    let data = data::open(dataset(name)?, &data::Options::default()).unwrap();
    assert_eq!(data.source.format, "geom-gcn");
    let [set] = &data.splits[..] else { panic!("{} split sets", data.splits.len()) };
    assert_eq!((set.name.as_str(), set.splits.len()), ("geom-gcn", 10));
    assert_eq!(data.graph.components().count(), 1);
    Some(data)
}

/// Columns, non-zeros and rows of zeros.
fn features(data: &Dataset) -> (usize, usize, usize) {
    let features = data.features.as_ref().unwrap();
    assert!(matches!(features, Features::Sparse(_)));
    (features.cols(), features.nonzeros(), features.zero_rows())
}

fn sizes_of_splits(data: &Dataset) -> Vec<[usize; 3]> {
    let splits = &data.splits[0].splits;
    splits.iter().map(|s| [s.train.len(), s.validation.len(), s.test.len()]).collect()
}

fn classes(data: &Dataset) -> Vec<usize> {
    data.labels.as_ref().unwrap().sizes()
}

#[test]
fn chameleon_has_rows_of_zeros_and_ones() {
    let Some(data) = open("chameleon") else { return };
    assert_eq!((data.graph.nodes(), data.graph.edges()), (2277, 31371));
    let repairs = Repairs { listed: 36101, self_loops: 50, directed: 26691, ..Repairs::default() };
    assert_eq!(data.repairs, repairs);
    assert_eq!(features(&data), (2325, 29157, 233));
    assert_eq!(classes(&data), [456, 460, 453, 521, 387]);
    assert_eq!(sizes_of_splits(&data), [[1092, 729, 456]; 10]);
    assert_eq!(format!("{:.2}", data.homophily().unwrap()), "0.23");
}

#[test]
fn squirrel_has_rows_of_zeros_and_ones() {
    let Some(data) = open("squirrel") else { return };
    assert_eq!((data.graph.nodes(), data.graph.edges()), (5201, 198_353));
    let repairs = Repairs { listed: 217_073, self_loops: 140, directed: 179_773, ..Repairs::default() };
    assert_eq!(data.repairs, repairs);
    assert_eq!(features(&data), (2089, 93477, 165));
    assert_eq!(classes(&data), [1042, 1040, 1039, 1040, 1040]);
    assert_eq!(sizes_of_splits(&data), [[2496, 1664, 1041]; 10]);
    assert_eq!(format!("{:.2}", data.homophily().unwrap()), "0.22");
}

#[test]
fn actor_has_column_indices_and_rows_in_any_order() {
    let Some(data) = open("actor") else { return };
    assert_eq!((data.graph.nodes(), data.graph.edges()), (7600, 26659));
    let repairs =
        Repairs { listed: 33391, self_loops: 93, duplicates: 3372, directed: 23392, ..Repairs::default() };
    assert_eq!(data.repairs, repairs);
    assert_eq!(features(&data), (932, 40977, 0));
    assert_eq!(classes(&data), [853, 1337, 1630, 1815, 1965]);
    assert_eq!(sizes_of_splits(&data), [[3648, 2432, 1520]; 10]);
    // The file's first line: 4873 <TAB> 521,92,111,77,770 <TAB> 3
    let Some(Features::Sparse(x)) = &data.features else { unreachable!() };
    assert_eq!(x.row(4873), (&[77, 92, 111, 521, 770][..], &[1.0; 5][..]));
    assert_eq!(data.labels.as_ref().unwrap().of(4873), Some(3));
}
