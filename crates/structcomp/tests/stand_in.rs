//! Graphs of published datasets with their features taken away.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and prints what it measured

mod published;

use structcomp::data::{Options, open};
use structcomp::evaluate::classify;
use structcomp::{Prepare, Seed, SplitSet};

/// Accuracy of a classifier on the features that the default stand-in makes.
fn accuracy_without_features(name: &str) -> Option<f64> {
    let mut data = open(published::folder()?.join(name), &Options::default()).unwrap();
    data.features = None;
    Prepare::default().dataset(&mut data, Seed(0)).unwrap();
    assert!(data.source.notes.iter().any(|note| note.contains("positions in the graph stand in")));
    let labels = data.labels.unwrap();
    let splits = SplitSet::random(&labels, 20, 20, Seed(0));
    let found = classify(&data.features.unwrap(), &labels, &splits, 1.0).unwrap();
    eprintln!("{name} without features: {:.2} ± {:.2}", found.mean, found.std);
    Some(found.mean)
}

#[test]
fn the_graph_alone_classifies_most_of_cora_and_photo() {
    // node2vec reaches 72 and 85 (benchmarks/stand_in.py).
    let Some(cora) = accuracy_without_features("cora") else { return };
    assert!(cora > 71.0, "{cora}");
    let photo = accuracy_without_features("amazon-photo").unwrap();
    assert!(photo > 83.0, "{photo}");
}
