//! Written files, read back by this library and by NumPy, pandas and pyarrow.

use crate::published;
use proptest::prelude::*;
use std::path::Path;
use structcomp::data::{Options, open, open_files};
use structcomp::output::{MatrixLayout, MatrixWriter, write_edges};
use structcomp::{Graph, Labels, NodeIds};

fn write_matrix(path: &Path, layout: MatrixLayout, values: &[f32], rows_at_once: usize) {
    let mut writer = MatrixWriter::create(path, layout).unwrap();
    values.chunks(rows_at_once * layout.cols).for_each(|block| writer.push_rows(block).unwrap());
    writer.finish().unwrap();
}

fn ids() -> impl Strategy<Value = (usize, NodeIds)> {
    let numbers = prop::collection::btree_set(any::<u64>(), 2..40)
        .prop_map(|ids| NodeIds::from_numbers(ids.into_iter().rev().collect()).unwrap());
    // The first letter keeps a name from being read as a number; text tables do not support line breaks.
    let name = "[a-zÆ][a-z ,;\"'#0-9ß]{0,6}[a-z\"]";
    let names = prop::collection::btree_set(name, 2..40)
        .prop_map(|ids| NodeIds::from_names(ids.into_iter().map(Into::into).collect()).unwrap());
    let implicit = (2usize..40).prop_map(|n| (n, NodeIds::Implicit));
    prop_oneof![implicit, prop_oneof![numbers, names].prop_map(|ids| (ids.len().unwrap(), ids))]
}

fn tables() -> impl Strategy<Value = (NodeIds, Labels, usize, Vec<f32>)> {
    (ids(), 1usize..90, any::<bool>()).prop_flat_map(|((rows, ids), cols, named)| {
        let class = prop::option::of(0u32..5);
        let labels = prop::collection::vec(class, rows).prop_map(move |classes| {
            let labels = Labels::new(classes).unwrap();
            let names = ["a", "b, c", "d \"e\"", "f", "g"].map(str::to_owned);
            if named { labels.with_names(names.to_vec()).unwrap() } else { labels }
        });
        let number = prop_oneof![2 => Just(0.0), 1 => prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL];
        let values = prop::collection::vec(number, rows * cols);
        (Just(ids), labels, Just(cols), values)
    })
}

/// The class of each node by name, if classes have names.
fn classes(labels: &Labels) -> Vec<Option<String>> {
    let name = |class: u32| labels.names().map_or(class.to_string(), |names| names[class as usize].clone());
    labels.iter().map(|class| class.map(name)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_table_reads_back_as_it_was_written((ids, labels, cols, values) in tables(), at_once in 1usize..20) {
        let folder = tempfile::tempdir().unwrap();
        let rows = values.len() / cols;
        let edges = folder.path().join("edges.parquet");
        let path: Vec<(u32, u32)> = (1..rows as u32).map(|v| (v - 1, v)).collect();
        write_edges(&edges, &Graph::from_edges(rows, &path).unwrap(), &ids).unwrap();
        let layout = MatrixLayout { rows, cols, ids: &ids, labels: Some(&labels), column: "features" };
        for name in ["x.parquet", "x.csv", "x.tsv.gz", "x.csv.zst"] {
            let file = folder.path().join(name);
            write_matrix(&file, layout, &values, at_once);
            let data = open_files(&edges, Some(&file), None, &Options::default()).unwrap();
            prop_assert_eq!(&data.ids, &ids, "{}", name);
            prop_assert_eq!(data.graph.edges(), rows - 1);
            let features = data.features.unwrap().to_dense();
            prop_assert_eq!(features.values(), &values[..], "{}", name);
            let read = data.labels.map_or_else(|| vec![None; rows], |labels| classes(&labels));
            prop_assert_eq!(read, classes(&labels), "{}", name);
        }
    }

    #[test]
    fn edges_read_back_as_they_were_written(
        (nodes, ids) in ids(),
        ends in prop::collection::vec((0u32..40, 0u32..40, 1u32..9), 1..60),
        weighted: bool,
    ) {
        let mut list = Vec::new();
        for (u, v, weight) in ends {
            let pair = ((u % nodes as u32) as u64) << 32 | (v % nodes as u32) as u64;
            list.push((pair, if weighted { weight as f32 / 8.0 } else { 1.0 }));
        }
        let (graph, _) = structcomp::EdgeList::from_weighted(list).build(nodes).unwrap();
        prop_assume!(graph.edges() > 0);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("edges.parquet");
        write_edges(&file, &graph, &ids).unwrap();
        let data = open(&file, &Options::default()).unwrap();
        let edges = |graph: &Graph, ids: &NodeIds| {
            let mut edges: Vec<_> = Vec::new();
            for u in 0..graph.nodes() as u32 {
                let weights = graph.edge_weights(u);
                for (at, &v) in graph.neighbors(u).iter().enumerate() {
                    let weight = weights.map_or(1.0, |weights| weights[at]);
                    edges.push((ids.name(u).into_owned(), ids.name(v).into_owned(), weight.to_bits()));
                }
            }
            edges.sort();
            edges
        };
        prop_assert_eq!(edges(&data.graph, &data.ids), edges(&graph, &ids));
    }
}

/// The interpreter is given by `STRUCTCOMP_PYTHON`.
#[test]
fn python_reads_what_we_write() {
    let python = std::env::var_os("STRUCTCOMP_PYTHON").unwrap_or_else(|| "$STRUCTCOMP_PYTHON".into());
    let Some(python) = published::present(python.into(), "set it to a Python with pyarrow") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let values: Vec<f32> = (0..3000).map(|i| (i as f32 - 1500.0) / 7.0).collect();
    let names: Vec<Box<str>> = (0..1000).map(|i| format!("n, \"{i}\"").into()).collect();
    let all_ids = [
        ("implicit", NodeIds::Implicit),
        ("numbers", NodeIds::from_numbers((0..1000).map(|i| i * 3 + 7).collect()).unwrap()),
        ("huge", NodeIds::from_numbers((0..1000).map(|i| u64::MAX - i).collect()).unwrap()),
        ("names", NodeIds::from_names(names).unwrap()),
    ];
    let labels = Labels::from_signed((0..1000).map(|i| i % 5 - 1)).unwrap();
    let pairs: Vec<(u32, u32)> = (0..999).map(|u| (u, u + 1)).collect();
    let graph = Graph::from_edges(1000, &pairs).unwrap();
    for (name, ids) in &all_ids {
        for ending in ["npy", "csv", "csv.gz", "tsv", "parquet"] {
            let labels = (*name == "numbers").then_some(&labels);
            let layout = MatrixLayout { rows: 1000, cols: 3, ids, labels, column: "embedding" };
            write_matrix(&at(&format!("{name}.{ending}")), layout, &values, 77);
        }
        for ending in ["csv", "tsv.gz", "parquet"] {
            write_edges(at(&format!("{name}-edges.{ending}")), &graph, ids).unwrap();
        }
    }
    write_edges(at("implicit-edges.txt"), &graph, &NodeIds::Implicit).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/outputs.py");
    let run = std::process::Command::new(python).arg(script).arg(folder.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
