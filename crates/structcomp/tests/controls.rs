//! What embeddings are compared with.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use structcomp::evaluate::{Accuracy, HeldOut, KMeans};
use structcomp::{
    Controls, Dataset, Dense, Features, Fitted, Graph, Labels, Mode, Normalization, Partitioning, Probe,
    Propagation, Seed, SplitSet, StructComp, Training, data,
};

fn demo() -> Dataset {
    data::Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap()
}

fn fitted(demo: &Dataset, mode: Mode) -> Fitted {
    let model = StructComp {
        mode,
        partitioning: Partitioning { clusters: Some(100), ..Partitioning::default() },
        training: Training { hidden: 8, epochs: 2, ..Training::default() },
        ..StructComp::default()
    };
    model.fit(demo).unwrap()
}

/// Names of controls, and the rows that each was judged by.
fn rows(controls: &Controls) -> Vec<(&'static str, Dense)> {
    let found = controls.each(|x| Ok(x.to_dense())).unwrap();
    found.iter().map(|(control, rows)| (control.name, rows.clone())).collect()
}

#[test]
fn without_a_model_there_are_x_and_two_hops() {
    // Four nodes that are all adjacent, where every entry of Â is a quarter, and one alone.
    let graph = Graph::from_edges(5, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).unwrap();
    let x = Features::Dense(Dense::new(5, 1, vec![1.0, 3.0, 5.0, 7.0, 9.0]).unwrap());
    let found = rows(&Controls::of_features(&graph, &x).with_random_clusters(true));
    assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), ["features", "propagated"]);
    assert_eq!(found[0].1.values(), [1.0, 3.0, 5.0, 7.0, 9.0]);
    assert_eq!(found[1].1.values(), [4.0, 4.0, 4.0, 4.0, 9.0]);
}

#[test]
fn a_model_adds_its_untrained_encoder_and_on_request_random_clusters() {
    let demo = demo();
    let fitted = fitted(&demo, Mode::Structcomp);
    let controls = Controls::of_model(&fitted, &demo).unwrap();
    let found = rows(&controls);
    assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), ["features", "propagated", "encoder"]);
    assert_eq!((found[2].1.rows(), found[2].1.cols()), (demo.graph.nodes(), 8));
    let trained = fitted.embed(&demo).unwrap();
    assert_ne!(found[2].1, trained);

    let more = rows(&controls.with_random_clusters(true));
    assert_eq!(more[..3], found[..]);
    assert_eq!(more[3].0, "random_clusters");
    assert_eq!((more[3].1.rows(), more[3].1.cols()), (demo.graph.nodes(), 8));
    assert!(more[3].1 != trained && more[3].1 != found[2].1);
}

#[test]
fn random_clusters_need_clusters() {
    let demo = demo();
    let fitted = fitted(&demo, Mode::Full);
    let controls = Controls::of_model(&fitted, &demo).unwrap().with_random_clusters(true);
    let error = controls.each(|_| Ok(())).unwrap_err().to_string();
    assert_eq!(error, "the model was not trained on clusters");
}

#[test]
fn every_measure_is_that_of_the_rows_themselves() {
    let mut demo = demo();
    let held = HeldOut::draw(&demo.graph, 0.1, Seed(1)).unwrap();
    demo.graph = held.graph.clone();
    let (x, labels) = (demo.features.as_ref().unwrap(), demo.labels.as_ref().unwrap());
    let twice = Propagation::new(&demo.graph, Normalization::Symmetric).power(x, 2).unwrap();
    let controls = Controls::of_features(&demo.graph, x);

    let (probe, splits) = (Probe::default(), SplitSet::random(labels, 20, 3, Seed(0)));
    let accuracy = controls.classify(&probe, labels, &splits, Seed(0)).unwrap();
    let expected = probe.classify(&twice, labels, &splits, Seed(0)).unwrap();
    assert_eq!(accuracy.get("propagated"), Some(&expected));
    assert_eq!(accuracy.best().unwrap().0.name, "propagated");
    assert_eq!(controls.links(&held).unwrap().get("features"), Some(&held.judge(x).unwrap()));
    let kmeans = KMeans { clusters: labels.classes(), restarts: 1, ..KMeans::default() };
    let found = controls.cluster(&kmeans, labels, Seed(0)).unwrap();
    let of = kmeans.cluster(&twice, Seed(0)).unwrap().of;
    assert_eq!(found.get("propagated"), Some(&structcomp::evaluate::Agreement::of(&of, labels).unwrap()));
    assert_eq!(found.get("encoder"), None);
}

#[test]
fn the_verdict_is_a_paired_test_against_two_hops() {
    let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (3, 4), (4, 5)]).unwrap();
    let x = Features::Dense(Dense::new(6, 1, vec![-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]).unwrap());
    let labels = Labels::new([0, 0, 0, 1, 1, 1].map(Some)).unwrap();
    let splits = SplitSet::random(&labels, 1, 4, Seed(0));
    let controls = Controls::of_features(&graph, &x);
    let found = controls.classify(&Probe::default(), &labels, &splits, Seed(0)).unwrap();
    let rival = found.get("propagated").unwrap();
    let moved = |by: [f64; 4]| {
        let per_split: Vec<f64> =
            rival.per_split.iter().zip(by).map(|(accuracy, by)| accuracy + by).collect();
        let embedding = Accuracy { mean: 0.0, std: 0.0, runs: 4, per_split };
        found.verdict(&embedding).unwrap().unwrap()
    };
    let better = moved([1.0, 2.0, 2.0, 3.0]);
    assert_eq!((better.against.label, better.better()), ("Â²X", Some(true)));
    // t = 2 / (√(2/3) / 2) with three degrees of freedom.
    assert_eq!(better.to_string(), "against Â²X: better (paired t test, p = 0.016)");
    assert_eq!(moved([-1.0, -2.0, -2.0, -3.0]).better(), Some(false));
    let unclear = moved([1.0, -1.0, 2.0, -2.0]);
    assert_eq!(unclear.to_string(), "against Â²X: no clear difference (paired t test, p = 1.000)");
    let json = serde_json::to_value(unclear).unwrap();
    assert_eq!(json["better"], serde_json::Value::Null);
    assert_eq!(json["against"], "propagated");
    let single = Accuracy { mean: 50.0, std: 0.0, runs: 1, per_split: vec![50.0] };
    assert!(found.verdict(&single).unwrap().is_none());
    let map = serde_json::to_value(&found).unwrap();
    assert!(map["features"]["mean"].is_number() && map["propagated"]["mean"].is_number());
}
