//! Files written by NumPy and scipy, compared with the contents that NumPy and scipy report.

use crate::{dataset, fixture};
use serde_json::Value;
use std::path::Path;
use structcomp::{Dataset, Features, Result, data};

fn open(path: &Path) -> Result<Dataset> {
    data::open(path, &data::Options::default())
}

fn message(path: &Path) -> String {
    open(path).err().map_or_else(String::new, |error| error.to_string())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn numbers(list: &Value) -> Vec<Option<f64>> {
    list.as_array().unwrap().iter().map(Value::as_f64).collect()
}

/// Compares a dataset with the description written by `expect` of the fixtures.
fn check(data: &Dataset, expected: &Path) {
    let expected = json(expected);
    assert_eq!(data.graph.nodes() as u64, expected["nodes"], "nodes");
    let pairs = expected["edges"].as_array().unwrap().iter();
    let pairs: Vec<(u32, u32)> =
        pairs.map(|pair| (pair[0].as_u64().unwrap() as u32, pair[1].as_u64().unwrap() as u32)).collect();
    assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), pairs);
    match &expected["features"] {
        Value::Null => assert!(data.features.is_none()),
        rows => {
            let dense = data.features.as_ref().unwrap().to_dense();
            let expected: Vec<f32> =
                rows.as_array().unwrap().iter().flat_map(numbers).map(|x| x.unwrap() as f32).collect();
            assert_eq!(dense.values(), expected);
        }
    }
    match &expected["labels"] {
        Value::Null => assert!(data.labels.is_none()),
        labels => {
            let read = data.labels.as_ref().unwrap().iter().map(|class| class.map(f64::from));
            assert_eq!(read.collect::<Vec<_>>(), numbers(labels));
        }
    }
}

#[test]
fn every_type_order_and_version_that_numpy_writes_is_read() {
    let Some(folder) = fixture("arrays") else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let data = open(&path).unwrap_or_else(|error| panic!("{error}"));
        check(&data, &path.join("expected.json"));
        seen += 1;
    }
    assert_eq!(seen, 21 * 2 + 4);
}

#[test]
fn gnn_benchmark_archives_are_read_stored_and_deflated() {
    let Some(folder) = fixture("gnn-benchmark") else { return };
    for name in ["stored", "deflated", "pickled", "dense", "bare"] {
        let file = open(&folder.join(name).join("graph.npz")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.source.format, "gnn-benchmark");
        check(&file, &folder.join(name).join("expected.json"));
        let of_folder = open(&folder.join(name)).unwrap();
        assert_eq!((of_folder.graph, of_folder.labels), (file.graph, file.labels), "{name}");
    }
    let named = open(&folder.join("deflated")).unwrap().labels.unwrap();
    assert_eq!(named.names().unwrap(), ["a", "bb", "ccc", "dddd"]);
    let pickled = open(&folder.join("pickled")).unwrap();
    assert_eq!(pickled.labels.unwrap().names(), None);
    assert!(pickled.source.notes[0].contains("class names were ignored"), "{:?}", pickled.source.notes);
}

#[test]
fn weights_other_than_one_are_kept_unless_turned_off() {
    let Some(path) = fixture("gnn-benchmark/weighted.npz") else { return };
    let data = open(&path).unwrap();
    assert!(data.graph.weights().unwrap().iter().all(|&weight| weight == 2.5));
    let unweighted = data::open(&path, &data::Options { weights: false, ..Default::default() }).unwrap();
    assert_eq!(unweighted.graph.weights(), None);
    assert_eq!(unweighted.graph.targets(), data.graph.targets());
}

#[test]
fn the_amazon_graphs_have_the_published_sizes() {
    for (name, file, nodes, edges, features, classes, nonzeros, isolated) in [
        ("amazon-photo", "amazon_electronics_photo", 7650, 119_081, 745, 8, 1_979_909, 115),
        ("amazon-computers", "amazon_electronics_computers", 13752, 245_861, 767, 10, 3_675_081, 281),
    ] {
        let Some(folder) = dataset(name) else { return };
        for path in [folder.clone(), folder.join(file).with_extension("npz")] {
            let data = open(&path).unwrap();
            assert_eq!((data.graph.nodes(), data.graph.edges()), (nodes, edges), "{name}");
            assert_eq!(data.graph.isolated(), isolated);
            assert_eq!(data.graph.weights(), None);
            let x = data.features.unwrap();
            assert_eq!((x.rows(), x.cols(), x.nonzeros()), (nodes, features, nonzeros));
            assert!(matches!(x, Features::Sparse(x) if x.parts().2.iter().all(|&value| value == 1.0)));
            let labels = data.labels.unwrap();
            assert_eq!(
                (labels.classes(), labels.unlabelled(), labels.names().unwrap().len()),
                (classes, 0, classes)
            );
        }
    }
}

#[test]
fn scipy_matrices_are_read_in_every_layout() {
    let Some(folder) = fixture("scipy-npz") else { return };
    for name in ["csr", "csc", "coo", "csr-array", "csc-array", "coo-array", "int64-text", "coords"] {
        let data = open(&folder.join(name).with_extension("npz")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(data.source.format, "scipy-npz");
        check(&data, &folder.join("expected.json"));
    }
    let csr = open(&folder.join("csr.npz")).unwrap().repairs;
    assert_eq!(open(&folder.join("csc.npz")).unwrap().repairs, csr, "direction is kept");
    let spare = open(&folder.join("spare.npz")).unwrap();
    let edges: Vec<_> = spare.graph.edge_iter().collect();
    assert_eq!(
        (edges, spare.graph.edge_weights(0)),
        (vec![(0, 1), (0, 2)], Some(&[2.0, 1.0][..])),
        "entries are added"
    );
    assert!(message(&folder.join("oblong.npz")).contains("is 30 x 20; a graph needs a square matrix"));
    assert!(message(&folder.join("dia.npz")).contains("is 'dia'; only csr, csc and coo are supported"));
}

#[test]
fn a_graphsaint_folder_is_read_with_its_roles() {
    let Some(folder) = fixture("graphsaint") else { return };
    let path = folder.join("flickr-like");
    let data = open(&path).unwrap();
    assert_eq!(data.source.format, "graphsaint");
    check(&data, &path.join("expected.json"));
    let roles = json(&path.join("role.json"));
    let ids = |name: &str| numbers(&roles[name]).into_iter().map(|id| id.unwrap() as u32).collect::<Vec<_>>();
    assert_eq!(data.splits[0].name, "roles");
    let split = &data.splits[0].splits[0];
    assert_eq!((&split.train, &split.validation, &split.test), (&ids("tr"), &ids("va"), &ids("te")));
    assert!(data.source.notes[0].starts_with("adj_train.npz ("), "{:?}", data.source.notes);
    let error = message(&folder.join("several-labels"));
    assert!(error.contains("class_map.json: nodes have lists of labels"), "{error}");
}

#[test]
fn ogb_folders_are_read_as_text_and_binary() {
    let Some(folder) = fixture("ogb") else { return };
    let text = open(&folder.join("arxiv-like")).unwrap();
    check(&text, &folder.join("arxiv-like/expected.json"));
    let binary = open(&folder.join("papers-like")).unwrap();
    check(&binary, &folder.join("papers-like/expected.json"));
    assert_eq!((text.source.format, binary.source.format), ("ogb", "ogb"));
    assert_eq!((&text.repairs, &text.splits), (&binary.repairs, &binary.splits));
    let split = &text.splits[0].splits[0];
    assert_eq!(text.splits[0].name, "ogb");
    assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (30, 15, 15));
    assert_eq!(text.labels.unwrap().unlabelled(), 2);
    let notes = text.source.notes.join("; ");
    assert!(notes.contains("'time'") && notes.contains("nodeidx2paperid"), "{notes}");
    assert!(message(&folder.join("proteins-like")).contains("multi-label data is not supported"));
}
