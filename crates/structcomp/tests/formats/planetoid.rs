//! Cora, Citeseer and Pubmed as published.
//!
//! The expected numbers were computed from the same files with Python's pickle, NumPy and scipy.

use crate::dataset;
use structcomp::graph::Repairs;
use structcomp::{Dataset, Features, data};

fn open(name: &str) -> Option<Dataset> {
    let data = data::open(dataset(name)?, &data::Options::default()).unwrap();
    assert_eq!((data.source.format, data.name.as_str()), ("planetoid", name));
    assert!(matches!(data.features, Some(Features::Sparse(_))));
    Some(data)
}

/// Rows, columns and non-zeros.
fn features(data: &Dataset) -> (usize, usize, usize) {
    let features = data.features.as_ref().unwrap();
    (features.rows(), features.cols(), features.nonzeros())
}

/// Names, and the sizes of each split.
fn splits(data: &Dataset) -> Vec<(&str, Vec<[usize; 3]>)> {
    data.splits
        .iter()
        .map(|set| {
            let sizes = set.splits.iter().map(|s| [s.train.len(), s.validation.len(), s.test.len()]);
            (set.name.as_str(), sizes.collect())
        })
        .collect()
}

#[test]
fn cora_has_the_published_sizes() {
    let Some(data) = open("cora") else { return };
    assert_eq!((data.graph.nodes(), data.graph.edges()), (2708, 5278));
    assert_eq!(data.repairs, Repairs { listed: 10858, duplicates: 302, ..Repairs::default() });
    assert_eq!(data.graph.components().count(), 78);
    assert_eq!(features(&data), (2708, 1433, 49_216));
    let labels = data.labels.as_ref().unwrap();
    assert_eq!(labels.sizes(), [351, 217, 418, 818, 426, 298, 180]);
    let expected = vec![
        ("public", vec![[140, 500, 1000]]),
        ("geom-gcn", vec![[1192, 796, 497]; 10]),
        ("authors", vec![[140, 0, 2568]; 50]),
    ];
    assert_eq!(splits(&data), expected);
    let public = &data.splits[0].splits[0];
    assert!(public.train.iter().copied().eq(0..140) && public.validation.iter().copied().eq(140..640));
    // The first lines of ind.cora.test.index; numpy on split 0.
    assert_eq!(public.test[..3], [2692, 2532, 2050]);
    assert_eq!(data.splits[1].splits[0].test[..3], [4, 15, 25]);
    assert_eq!(data.source.notes, [""; 0]);
}

#[test]
fn citeseer_has_fifteen_nodes_without_features_and_labels() {
    let Some(data) = open("citeseer") else { return };
    assert_eq!((data.graph.nodes(), data.graph.edges()), (3327, 4552));
    let repairs =
        Repairs { listed: 9464, self_loops: 124, duplicates: 236, isolated: 48, ..Repairs::default() };
    assert_eq!(data.repairs, repairs);
    assert_eq!(data.graph.components().count(), 438);
    assert_eq!(features(&data), (3327, 3703, 105_165));
    assert_eq!(data.features.as_ref().unwrap().zero_rows(), 15);
    let labels = data.labels.as_ref().unwrap();
    assert_eq!((labels.sizes(), labels.unlabelled()), (vec![249, 590, 668, 701, 596, 508], 15));
    let mut geom_gcn = vec![[1596, 1065, 666]; 10];
    geom_gcn[4..6].fill([1017, 679, 424]);
    assert_eq!(splits(&data), [("public", vec![[120, 500, 1000]]), ("geom-gcn", geom_gcn)]);
    assert!(data.source.notes[0].starts_with("15 nodes are neither in allx nor in tx"));
}

#[test]
fn pubmed_keeps_its_feature_weights() {
    let Some(data) = open("pubmed") else { return };
    assert_eq!((data.graph.nodes(), data.graph.edges()), (19717, 44324));
    let repairs = Repairs { listed: 88676, self_loops: 3, duplicates: 25, ..Repairs::default() };
    assert_eq!(data.repairs, repairs);
    assert_eq!(data.graph.components().count(), 1);
    assert_eq!(features(&data), (19717, 500, 988_031));
    assert_eq!(data.labels.as_ref().unwrap().sizes(), [4103, 7739, 7875]);
    let expected = vec![("public", vec![[60, 500, 1000]]), ("geom-gcn", vec![[9463, 6310, 3944]; 10])];
    assert_eq!(splits(&data), expected);
    let Some(Features::Sparse(x)) = &data.features else { unreachable!() };
    let sum: f64 = x.parts().2.iter().map(|&value| value as f64).sum();
    assert!((sum - 38716.295094509376).abs() < 1e-6, "{sum}");
}
