//! What embeddings are compared with.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use structcomp::evaluate::{Accuracy, Control, HeldOut, KMeans};
use structcomp::{
    Controls, Dataset, Dense, Features, Fitted, Graph, Labels, Mode, Model, Normalization, Partitioning,
    Probe, Propagation, Seed, SplitSet, StructComp, Training, data,
};

fn demo() -> Dataset {
    data::Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap()
}

fn fitted(demo: &Dataset, mode: Mode) -> Fitted {
    let model = StructComp {
        mode,
        partitioning: Partitioning { clusters: Some(100), ..Partitioning::default() },
        training: Training {
            model: Model::named("sce").unwrap(),
            hidden: 8,
            epochs: 2,
            ..Training::default()
        },
        ..StructComp::default()
    };
    model.fit(demo).unwrap()
}

/// Names of controls, and the rows that each was judged by.
fn rows(controls: &Controls) -> Vec<(&'static str, Dense)> {
    let found = controls.each(|x| Ok(x.to_dense())).unwrap();
    found.iter().map(|(control, rows)| (control.name, rows.clone())).collect()
}

const WITHOUT_A_MODEL: [&str; 9] =
    ["features", "hop1", "propagated", "hops_mean", "ssgc4", "ssgc16", "hops_concat", "ggcm", "slimg"];

#[test]
fn without_a_model_there_are_x_and_what_hops_make_of_it() {
    // Four nodes that are all adjacent, where every entry of Â is a quarter, and one alone.
    let graph = Graph::from_edges(5, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).unwrap();
    let x = Features::Dense(Dense::new(5, 1, vec![1.0, 3.0, 5.0, 7.0, 9.0]).unwrap());
    let found = rows(&Controls::of_features(&graph, &x).with_random_clusters(true));
    assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), WITHOUT_A_MODEL);
    // After one hop every node of the four has their mean, and further hops change nothing.
    let share = |own: f32| {
        [1.0, 3.0, 5.0, 7.0, 9.0].map(|x: f32| if x < 9.0 { own * x + (1.0 - own) * 4.0 } else { x })
    };
    for (at, own) in [(0, 1.0), (1, 0.0), (2, 0.0), (3, 1.0 / 3.0), (4, 0.05), (5, 0.05)] {
        let want = share(own);
        let close = found[at].1.values().iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-5);
        assert!(close, "{}: {:?}, not {want:?}", found[at].0, found[at].1);
    }
    assert_eq!(found[6].1.row(1), [3.0, 4.0, 4.0]);
    assert_eq!((found[7].1.cols(), found[8].1.rows()), (1, 5));
    for (name, all) in &found {
        let alone = Control::named(name).unwrap().rows(&graph, &x).unwrap();
        assert_eq!(alone.to_dense(), *all, "{name} alone");
    }
    assert!(Control::named("encoder").unwrap().rows(&graph, &x).is_err());
    assert!(Control::named("nothing").unwrap_err().to_string().contains("ssgc16"));
}

#[test]
fn the_sharpening_half_of_ggcm_moves_rows_away_from_random_ones() {
    // Without edges the smooth half is X. Each random part is (2X − Σ of eight rows)/10, whose mean over nodes is
    // 0.2 − 0.8 of the mean, weighted 1, ½, …
    let graph = Graph::from_edges(400, &[]).unwrap();
    let x: Vec<f32> = (0..400).map(|node| 10.0 + (node % 7) as f32).collect();
    let mean = |x: &[f32]| x.iter().sum::<f32>() / 400.0;
    let own = mean(&x);
    let rows = Control::named("ggcm").unwrap();
    let found = rows.rows(&graph, &Features::Dense(Dense::new(400, 1, x).unwrap())).unwrap().to_dense();
    let strengths: f32 = (0..7).map(|t| 0.5f32.powi(t)).sum();
    let sharp = (16.0 - strengths - 0.6 * strengths) / 16.0;
    let want = own * (0.15 + 0.85 * (1.0 + sharp) / 2.0);
    assert!((mean(found.values()) / want - 1.0).abs() < 1e-4, "{} {want}", mean(found.values()));
}

#[test]
fn a_model_adds_its_untrained_encoder_and_on_request_random_clusters() {
    let demo = demo();
    let fitted = fitted(&demo, Mode::Structcomp);
    let controls = Controls::of_model(&fitted, &demo).unwrap();
    let found = rows(&controls.clone().few());
    assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), ["features", "propagated", "encoder"]);
    assert_eq!((found[2].1.rows(), found[2].1.cols()), (demo.graph.nodes(), 8));
    let trained = fitted.embed(&demo).unwrap();
    assert_ne!(found[2].1, trained);

    let more = rows(&controls.with_random_clusters(true).few());
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
    let controls = Controls::of_features(&demo.graph, x).few();

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
fn the_verdict_is_against_every_control() {
    let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (3, 4), (4, 5)]).unwrap();
    let x = Features::Dense(Dense::new(6, 1, vec![-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]).unwrap());
    let labels = Labels::new([0, 0, 0, 1, 1, 1].map(Some)).unwrap();
    let splits = SplitSet::random(&labels, 1, 4, Seed(0));
    let controls = Controls::of_features(&graph, &x).few();
    let found = controls.classify(&Probe::default(), &labels, &splits, Seed(0)).unwrap();
    let (best, rival) = found.best().unwrap();
    let other = found.iter().find(|(control, _)| control.name != best.name).unwrap().1;
    let moved = |from: &Accuracy, by: [f64; 4]| {
        let per_split: Vec<f64> = from.per_split.iter().zip(by).map(|(accuracy, by)| accuracy + by).collect();
        let mean = per_split.iter().sum::<f64>() / 4.0;
        found.verdict(&Accuracy { mean, std: 0.0, runs: 4, per_split }).unwrap().unwrap()
    };
    let p = |a: &[f64], b: &[f64]| structcomp::evaluate::Comparison::paired(a, b).unwrap();

    // Far better than both: p is that of the closer comparison, one-sided.
    let by = [101.0, 102.0, 102.0, 103.0];
    let better = moved(rival, by);
    let own: Vec<f64> = rival.per_split.iter().zip(by).map(|(accuracy, by)| accuracy + by).collect();
    let larger = p(&own, &rival.per_split).p_greater().max(p(&own, &other.per_split).p_greater());
    assert_eq!((better.against.name, better.better, better.p), (best.name, Some(true), larger));
    assert!((better.difference - 102.0).abs() < 1e-9);
    let text = better.to_string();
    assert!(text.starts_with("better than the best of 2 embeddings without training: "), "{text}");
    assert!(text.contains(&format!(" for {}, +102.0 points (p = ", best.label)), "{text}");

    // Worse than one of two: its p-value counts twice.
    let worse = moved(rival, [-101.0, -102.0, -102.0, -103.0]);
    assert_eq!(worse.better, Some(false));
    let down: Vec<f64> = rival.per_split.iter().zip(by).map(|(accuracy, by)| accuracy - by).collect();
    let smaller = p(&down, &rival.per_split).p_less().min(p(&down, &other.per_split).p_less());
    assert!((worse.p - 2.0 * smaller).abs() < 1e-12);

    let unclear = moved(rival, [1.0, -1.0, 2.0, -2.0]);
    assert_eq!(unclear.better, None);
    assert!(unclear.to_string().starts_with("no clear difference from the best of 2"), "{unclear}");
    let json = serde_json::to_value(unclear).unwrap();
    assert_eq!((&json["better"], json["against"].as_str()), (&serde_json::Value::Null, Some(best.name)));
    let single = Accuracy { mean: 50.0, std: 0.0, runs: 1, per_split: vec![50.0] };
    assert!(found.verdict(&single).unwrap().is_none());
    let map = serde_json::to_value(&found).unwrap();
    assert!(map["features"]["mean"].is_number() && map["propagated"]["mean"].is_number());
}
