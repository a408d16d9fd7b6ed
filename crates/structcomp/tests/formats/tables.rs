//! Edges, nodes and labels in separate files written by pandas and NumPy.

use crate::fixture;
use structcomp::NodeIds;
use structcomp::data::{Options, open, open_files};

#[test]
fn a_folder_of_tables_is_joined_by_name() {
    let Some(folder) = fixture("tables-people") else { return };
    let data = open(folder, &Options::default()).unwrap();
    let names = ["lee, ann", "bob \"b\" ray", "cy", "dee"].map(Into::into).to_vec();
    assert_eq!(data.ids, NodeIds::from_names(names).unwrap());
    assert_eq!(data.features.unwrap().to_dense().values(), [0.5, 1.0, 1e-9, 2.0, 3e20, 3.0, -4.0, 4.0]);
    assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 2), (1, 2)]);
    assert_eq!(data.graph.edge_weights(2), Some(&[2.0, 3.0][..]));
    assert_eq!((data.repairs.isolated, data.source.format), (1, "tables"));
    let labels = data.labels.unwrap();
    assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(1), None, Some(0), None]);
    assert_eq!(labels.names().unwrap(), ["x", "y"]);
    assert_eq!(data.source.notes, ["1 label has the id of an unknown node"]);
}

#[test]
fn rows_without_ids_are_joined_by_position() {
    let Some(folder) = fixture("tables-arrays") else { return };
    let options = Options::default();
    let whole = open(&folder, &options).unwrap();
    assert_eq!(whole.features.unwrap().to_dense().values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    for labels in ["labels.npy", "labels-float.npy", "labels-text.npy"] {
        let labels = folder.join(labels);
        let data = open_files(folder.join("edges.parquet"), None, Some(&labels), &options).unwrap();
        let classes: Vec<_> = data.labels.unwrap().iter().collect();
        assert_eq!(classes, [Some(1), None, Some(0), Some(1)], "{}", labels.display());
    }
    let of = |features: &str| {
        let features = folder.join(features);
        let data = open_files(folder.join("edges.parquet"), Some(&features), None, &options).unwrap();
        data.features.unwrap().to_dense().values().to_vec()
    };
    for same in ["other.mtx", "other.npz", "other-sparse.npz"] {
        assert_eq!(of(same), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "{same}");
    }
    assert_eq!(of("other.csv.zst"), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(of("other.txt"), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]);
    let two = open_files(folder.join("edges.parquet"), Some(&folder.join("other-two.npz")), None, &options);
    assert!(two.unwrap_err().to_string().ends_with("contains 2 arrays; expected one"));
}
