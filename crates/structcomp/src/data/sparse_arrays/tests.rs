//! A small matrix in every layout, valid and inconsistent.

use super::*;
use crate::data::npz::tests::integers;

type Members = Vec<(&'static str, Vec<i64>)>;

const ALL: Budget = Budget { bytes: 1 << 30 };

fn with<T>(members: &Members, layout: Layout, read: impl Fn(&SparseArrays) -> Result<T>) -> Result<T> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let members: Vec<_> = members.iter().map(|(name, items)| (*name, &items[..])).collect();
    std::fs::write(file.path(), integers(&members)).unwrap();
    let archive = Archive::open(file.path(), &ALL)?;
    read(&SparseArrays::new(&archive, "", layout, &ALL)?)
}

// 0 7 0
// 0 0 0
// 9 0 8
fn compressed() -> Members {
    vec![
        ("shape", vec![3, 3]),
        ("indptr", vec![0, 1, 1, 3]),
        ("indices", vec![1, 2, 0]),
        ("data", vec![7, 8, 9]),
    ]
}

fn edges(members: &Members, layout: Layout) -> Vec<(u64, u64, f32)> {
    match with(members, layout, |matrix| matrix.edges(true)).unwrap() {
        RawEdges::SmallWeighted(list) => {
            list.into_iter().map(|(pair, weight)| (pair >> 32, pair & 0xffff_ffff, weight)).collect()
        }
        _ => panic!("these have weights"),
    }
}

#[test]
fn every_layout_gives_the_same_matrix() {
    let by_rows = [(0, 1, 7.0), (2, 2, 8.0), (2, 0, 9.0)];
    assert_eq!(edges(&compressed(), Layout::Csr), by_rows);
    let turned: Vec<_> = by_rows.iter().map(|&(u, v, weight)| (v, u, weight)).collect();
    assert_eq!(edges(&compressed(), Layout::Csc), turned);
    let pairs: Members =
        vec![("shape", vec![3, 3]), ("row", vec![0, 2, 2]), ("col", vec![1, 2, 0]), ("data", vec![7, 8, 9])];
    assert_eq!(edges(&pairs, Layout::Coo), by_rows);
    let matrix = with(&compressed(), Layout::Csr, |matrix| matrix.matrix()).unwrap();
    assert_eq!(matrix, Csr::new(3, vec![0, 1, 1, 3], vec![1, 0, 2], vec![7.0, 9.0, 8.0]).unwrap());
    assert_eq!(with(&pairs, Layout::Coo, |matrix| matrix.matrix()).unwrap(), matrix);
    let turned = with(&compressed(), Layout::Csc, |matrix| matrix.matrix()).unwrap();
    assert_eq!(turned, Csr::new(3, vec![0, 1, 2, 3], vec![2, 0, 2], vec![9.0, 7.0, 8.0]).unwrap());
}

#[test]
fn inconsistent_arrays_are_named() {
    for (name, items, said) in [
        ("shape", vec![3], "is not a valid shape of a matrix"),
        ("shape", vec![-3, 3], "is not a valid shape of a matrix"),
        ("shape", vec![3, 1 << 40], "is not a valid shape of a matrix"),
        ("shape", vec![4, 4], "indptr: has 4 starts for 4 rows"),
        ("shape", vec![2_000_000_000, 2_000_000_000], "a graph needs 14.9 GiB"),
        ("shape", vec![4_000_000_000, 4_000_000_000], "more than the 2^31 nodes"),
        ("shape", vec![3, 4], "a graph needs a square matrix"),
        ("indptr", vec![0, 2, 1, 3], "indptr: does not increase"),
        ("indptr", vec![0, 1, 1, 4], "indptr: does not increase"),
        ("indptr", vec![1, 1, 1, 3], "indptr: does not increase"),
        ("indptr", vec![0, i64::MIN, i64::MAX, 3], "indptr: does not increase"),
        ("indptr", vec![], "indptr: has 0 starts"),
        ("indices", vec![1, -2, 0], "indices: item 1 is -2, outside 0..3"),
        ("indices", vec![1, 2, 3], "indices: item 2 is 3, outside 0..3"),
        ("data", vec![7], "data: has 1 values for 3 entries"),
    ] {
        let mut members = compressed();
        members.iter_mut().filter(|(held, _)| *held == name).for_each(|(_, held)| *held = items.clone());
        let error = with(&members, Layout::Csr, |matrix| matrix.edges(true)).err().unwrap().to_string();
        assert!(error.contains(said), "{name} {items:?}: {error}");
    }
    for missing in 0..4 {
        let mut members = compressed();
        members.remove(missing);
        assert!(with(&members, Layout::Csr, |matrix| matrix.edges(true)).is_err());
    }
    let uneven = vec![("shape", vec![3, 3]), ("row", vec![0, 1]), ("col", vec![1]), ("data", vec![1])];
    assert!(with(&uneven, Layout::Coo, |matrix| matrix.edges(true)).is_err());
    let tall = vec![("shape", vec![4_000_000_000, 1]), ("row", vec![]), ("col", vec![]), ("data", vec![])];
    let result = with(&tall, Layout::Coo, |matrix| matrix.matrix());
    assert!(matches!(result, Err(Error::Memory { .. })));
}

#[test]
fn zero_entries_are_dropped_without_weights_too() {
    let mut members = compressed();
    members[3].1 = vec![7, 0, 9];
    let edges = with(&members, Layout::Csr, |matrix| matrix.edges(false)).unwrap();
    assert!(matches!(edges, RawEdges::Small(pairs) if pairs == [1, 2 << 32]));
}
