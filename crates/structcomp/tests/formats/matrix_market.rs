//! Matrix Market files written by scipy.

use crate::fixture;
use std::collections::BTreeMap;
use structcomp::{Dataset, Result, data};

fn open(name: &str) -> Option<Result<Dataset>> {
    fixture(&format!("matrix_market/{name}")).map(|path| data::open(path, &data::Options::default()))
}

/// Size and non-zero values of the matrix according to NumPy.
fn expected(name: &str) -> (usize, BTreeMap<(u32, u32), f32>) {
    let text = std::fs::read_to_string(fixture(&format!("matrix_market/{name}.txt")).unwrap()).unwrap();
    let words: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let entry = |row: &Vec<&str>| {
        ((row[0].parse().unwrap(), row[1].parse().unwrap()), row[2].parse::<f64>().unwrap() as f32)
    };
    (words[0][0].parse().unwrap(), words[1..].iter().map(entry).collect())
}

fn assert_same_graph(data: &Dataset, name: &str, weighted: bool) {
    let (nodes, entries) = expected(name);
    assert_eq!((data.source.format, data.graph.nodes()), ("matrix-market", nodes), "{name}");
    let mut edges: BTreeMap<(u32, u32), f32> = BTreeMap::new();
    for (&(u, v), &weight) in entries.iter().filter(|((u, v), _)| u != v) {
        let kept = edges.entry((u.min(v), u.max(v))).or_insert(weight);
        *kept = kept.max(weight);
    }
    let found: BTreeMap<(u32, u32), f32> = (0..nodes as u32)
        .flat_map(|u| (0..data.graph.degree(u)).map(move |at| (u, at)))
        .map(|(u, at)| {
            let weight = data.graph.edge_weights(u).map_or(1.0, |weights| weights[at]);
            ((u, data.graph.neighbors(u)[at]), weight)
        })
        .filter(|((u, v), _)| u < v)
        .collect();
    assert!(found.keys().eq(edges.keys()), "{name}");
    assert_eq!(data.graph.weights().is_some(), weighted, "{name}");
    let loops = entries.keys().filter(|(u, v)| u == v).count() as u64;
    assert_eq!((data.repairs.self_loops, data.repairs.duplicates), (loops, 0), "{name}");
    if weighted {
        assert_eq!(found, edges, "{name}");
    }
}

#[test]
fn square_matrices_are_read_as_the_graph_that_scipy_wrote() {
    let cases = [
        ("real", true),
        ("symmetric", true),
        ("integer", true),
        ("pattern", false),
        ("pattern_symmetric", false),
        ("array_symmetric", true),
    ];
    for (name, weighted) in cases {
        let Some(data) = open(&format!("{name}.mtx")) else { return };
        assert_same_graph(&data.unwrap(), name, weighted);
    }
}

#[test]
fn compressed_files_are_read_and_weights_can_be_turned_off() {
    let Some(data) = open("real.mtx.gz") else { return };
    assert_same_graph(&data.unwrap(), "real", true);
    let options = data::Options { weights: false, ..data::Options::default() };
    let data = data::open(fixture("matrix_market/real.mtx").unwrap(), &options).unwrap();
    assert_same_graph(&data, "real", false);
}

#[test]
fn matrices_that_are_not_graphs_are_refused() {
    let cases = [
        ("complex", "complex.mtx:1: unsupported field 'complex'"),
        ("skew", "skew.mtx:1: unsupported symmetry 'skew-symmetric'"),
        ("wide", "wide.mtx: is a 40 x 9 matrix; a graph needs a square matrix"),
    ];
    for (name, message) in cases {
        let Some(data) = open(&format!("{name}.mtx")) else { return };
        let error = data.unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
}
