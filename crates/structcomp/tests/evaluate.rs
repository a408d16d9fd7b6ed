//! Accuracy of the untrained embeddings X and Â²X of the published datasets, by the protocol of the paper.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and prints what it measured

mod published;

use std::path::PathBuf;
use structcomp::data::{Options, open};
use structcomp::evaluate::{Accuracy, Agreement, Comparison, HeldOut, KMeans, LinkScore, classify};
use structcomp::{Features, Labels, Normalization, Propagation, Seed, SplitSet};

/// The features X, Â²X, and the labels.
fn untrained(name: &str) -> Option<(Features, Features, Labels)> {
    let data = open(folder(name)?, &Options::default()).unwrap();
    let x = data.features.unwrap();
    let spread = Propagation::new(&data.graph, Normalization::Symmetric).power(&x, 2).unwrap();
    Some((x, spread, data.labels.unwrap()))
}

fn folder(name: &str) -> Option<PathBuf> {
    Some(published::folder()?.join(name))
}

fn on_fresh_splits(x: &Features, labels: &Labels) -> Accuracy {
    classify(x, labels, &SplitSet::random(labels, 20, 50, Seed(0)), 1.0).unwrap()
}

fn assert_about(what: &str, got: &Accuracy, want: f64, within: f64) {
    eprintln!("{what}: {:.2} ± {:.2} over {} splits", got.mean, got.std, got.runs);
    assert!((got.mean - want).abs() <= within, "{what}: {:.2}, not {want} ± {within}", got.mean);
}

#[test]
fn cora_has_the_accuracy_of_scikit_learn() {
    let Some((x, spread, labels)) = untrained("cora") else { return };
    let path = folder("cora").unwrap().join("cora_split_train_50.txt");
    let authors = SplitSet::from_file(&path, &labels).unwrap();
    assert_eq!(
        (authors.splits.len(), authors.splits[0].train.len(), authors.splits[0].test.len()),
        (50, 140, 2568)
    );
    let spread_authors = classify(&spread, &labels, &authors, 1.0).unwrap();
    assert_about("Cora, Â²X, authors' splits", &spread_authors, 80.5, 0.3);
    assert!(matches!(x, Features::Sparse(_)));
    let raw = on_fresh_splits(&x, &labels);
    assert_about("Cora, X", &raw, 58.2, 1.0);
    // Dense features give the same classifiers.
    assert_eq!(raw, on_fresh_splits(&Features::Dense(x.to_dense()), &labels));
    let raw_authors = classify(&x, &labels, &authors, 1.0).unwrap();
    let comparison = Comparison::paired(&spread_authors.per_split, &raw_authors.per_split).unwrap();
    assert!(comparison.difference > 15.0 && comparison.p_value < 1e-20, "{comparison:?}");
}

#[test]
fn citeseer_has_the_accuracy_of_scikit_learn() {
    let Some((_, spread, labels)) = untrained("citeseer") else { return };
    assert_about("Citeseer, Â²X", &on_fresh_splits(&spread, &labels), 69.2, 1.0);
}

#[test]
fn photo_has_the_accuracy_of_scikit_learn() {
    let Some((_, spread, labels)) = untrained("amazon-photo") else { return };
    assert_about("Photo, Â²X", &on_fresh_splits(&spread, &labels), 90.3, 1.0);
}

#[test]
fn a_large_training_set_is_solved_in_the_primal() {
    let Some((_, spread, labels)) = untrained("cora") else { return };
    // About 2000 training nodes, more than there are features.
    let splits = SplitSet::random(&labels, 350, 2, Seed(0));
    assert!(splits.splits[0].train.len() > spread.cols());
    let accuracy = classify(&spread, &labels, &splits, 1.0).unwrap();
    assert_about("Cora, Â²X, 350 per class", &accuracy, 86.0, 4.0);
}

#[test]
fn clusters_and_links_of_cora_are_far_better_than_chance() {
    let Some((_, spread, labels)) = untrained("cora") else { return };
    let kmeans = KMeans { clusters: labels.classes(), restarts: 3, ..KMeans::default() };
    let found = Agreement::of(&kmeans.cluster(&spread, Seed(0)).unwrap().of, &labels).unwrap();
    eprintln!("Cora, Â²X: {found:?}");
    assert!(found.nmi > 0.2 && found.ari > 0.1, "{found:?}");
    let graph = open(folder("cora").unwrap(), &Options::default()).unwrap().graph;
    let held = HeldOut::draw(&graph, 0.1, Seed(0)).unwrap();
    // Propagation must not use the held-out edges, which would make their ends similar.
    let x = open(folder("cora").unwrap(), &Options::default()).unwrap().features.unwrap();
    let spread = Propagation::new(&held.graph, Normalization::Symmetric).power(&x, 2).unwrap().to_dense();
    let cosine = |&(u, v): &(u32, u32)| {
        let (a, b) = (spread.row(u as usize), spread.row(v as usize));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let score = |pairs: &[(u32, u32)]| pairs.iter().map(cosine).collect::<Vec<_>>();
    let links = LinkScore::of(&score(&held.positive), &score(&held.negative)).unwrap();
    eprintln!("Cora, Â²X: {links:?}");
    assert!(links.auc > 0.85 && links.average_precision > 0.85, "{links:?}");
}
