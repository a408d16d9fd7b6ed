//! Numbers at the edge of what f32 holds: every model gives a finite embedding or an error, the same on one thread and
//! on three.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use structcomp::{
    Dataset, Dense, EdgeList, Features, Graph, Labels, Mode, Model, Partitioning, Probe, Seed, SplitSet,
    StructComp, Training,
};

const NODES: usize = 48;

/// A ring with chords, weighted by `weight` of the edge's number.
fn graph(weight: Option<fn(usize) -> f32>) -> Graph {
    let pair = |from: usize, to: usize| (from as u64) << 32 | (to % NODES) as u64;
    let ends = (0..NODES).flat_map(|node| [pair(node, node + 1), pair(node, node * 7 + 3)]);
    let pairs: Vec<u64> = ends.collect();
    let edges = match weight {
        None => EdgeList::from_packed(pairs),
        Some(weight) => EdgeList::from_weighted(
            pairs.into_iter().enumerate().map(|(at, pair)| (pair, weight(at))).collect(),
        ),
    };
    edges.build(NODES).unwrap().0
}

fn data(graph: Graph, cols: usize, value: fn(usize, usize) -> f32) -> Dataset {
    let values: Vec<f32> = (0..NODES * cols).map(|at| value(at / cols, at % cols)).collect();
    Dataset::in_memory("edge", graph, Some(Features::Dense(Dense::new(NODES, cols, values).unwrap())))
}

fn plain(row: usize, col: usize) -> f32 {
    ((row * 31 + col * 17 + row * row * col) % 23) as f32 / 23.0
}

/// Sets of data by what is unusual in them.
fn unusual() -> Vec<(&'static str, Dataset)> {
    vec![
        ("tiny weights", data(graph(Some(|at| 1e-30 * (1 + at % 3) as f32)), 6, plain)),
        ("large weights", data(graph(Some(|at| 1e30 / (1 + at % 3) as f32)), 6, plain)),
        ("weights of all sizes", data(graph(Some(|at| 10f32.powi(at as i32 % 61 - 30))), 6, plain)),
        ("denormal features", data(graph(None), 6, |row, col| 1e-40 * plain(row, col))),
        ("tiny features", data(graph(None), 6, |row, col| 1e-30 * plain(row, col))),
        ("large features", data(graph(None), 6, |row, col| 3e37 * plain(row, col))),
        ("largest features", data(graph(None), 6, |row, _| if row % 2 == 0 { f32::MAX } else { f32::MIN })),
        (
            "columns of all sizes",
            data(graph(None), 6, |row, col| plain(row, col) * 10f32.powi(12 * col as i32 - 36)),
        ),
        ("a constant column", data(graph(None), 6, |row, col| if col == 2 { 7.0 } else { plain(row, col) })),
        ("constant columns", data(graph(None), 6, |_, col| col as f32)),
        ("equal columns", data(graph(None), 6, |row, _| plain(row, 1))),
        ("zeros", data(graph(None), 6, |_, _| 0.0)),
        ("one column", data(graph(None), 1, plain)),
        ("no edges", data(Graph::from_edges(NODES, &[]).unwrap(), 6, plain)),
    ]
}

/// The bits of the embedding, or the error.
fn outcome(on: &StructComp, data: &Dataset, threads: usize) -> Result<Vec<u32>, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let embedding = pool.install(|| on.fit(data).and_then(|fitted| fitted.embed(data)));
    let bits = |z: Dense| z.values().iter().map(|value| value.to_bits()).collect();
    embedding.map(bits).map_err(|error| error.to_string())
}

fn settings(name: &str, mode: Mode, clusters: usize, hidden: usize) -> StructComp {
    let model = Model::named(name).unwrap();
    StructComp {
        mode,
        partitioning: Partitioning { clusters: Some(clusters), ..Partitioning::default() },
        training: Training { model, hidden, epochs: 2, ..Training::default() },
        seed: Seed(1),
        ..StructComp::default()
    }
}

/// Whether there is an embedding; what there is must be sound.
fn is_sound(what: &str, on: &StructComp, data: &Dataset) -> bool {
    let found = outcome(on, data, 1);
    assert_eq!(found, outcome(on, data, 3), "{what}: depends on the number of threads");
    match found {
        Ok(bits) => {
            assert!(bits.iter().all(|&bits| f32::from_bits(bits).is_finite()), "{what}: is not finite");
            assert!(!bits.is_empty(), "{what}: is empty");
            true
        }
        Err(error) => {
            assert!(error.len() > 10 && !error.contains("panic"), "{what}: {error}");
            false
        }
    }
}

#[test]
fn unusual_numbers_give_a_finite_embedding_or_an_error() {
    let sets = unusual();
    let (mut tried, mut embedded) = (0, 0);
    for name in Model::NAMES {
        for mode in [Mode::Structcomp, Mode::Full] {
            if *name == "solved" && mode == Mode::Full {
                continue;
            }
            for (what, data) in &sets {
                tried += 1;
                embedded += is_sound(&format!("{name}, {mode:?}, {what}"), &settings(name, mode, 9, 4), data)
                    as usize;
            }
        }
    }
    assert!(3 * embedded > 2 * tried, "{embedded} of {tried}");
}

#[test]
fn any_number_of_clusters_and_a_single_hidden_unit_give_a_finite_embedding_or_an_error() {
    let data = data(graph(None), 6, plain);
    for name in Model::NAMES {
        for clusters in [1, 2, 3, NODES - 1, NODES] {
            is_sound(
                &format!("{name}, {clusters} clusters"),
                &settings(name, Mode::Structcomp, clusters, 4),
                &data,
            );
        }
        is_sound(&format!("{name}, one unit"), &settings(name, Mode::Structcomp, 9, 1), &data);
    }
}

#[test]
fn a_single_class_is_judged_or_refused() {
    let data = data(graph(None), 6, plain);
    let x = data.features.as_ref().unwrap();
    for classes in [1, 2] {
        let labels = Labels::new((0..NODES as u32).map(|node| Some(node % classes))).unwrap();
        let splits = SplitSet::random(&labels, 5, 3, Seed(0));
        for probe in ["logistic-cv", "logistic", "mlp", "softmax"] {
            let probe = Probe::named(probe, "edge").unwrap();
            match probe.classify(x, &labels, &splits, Seed(0)) {
                Ok(accuracy) => assert!((0.0..=100.0).contains(&accuracy.mean), "{accuracy:?}"),
                Err(error) => assert!(error.to_string().len() > 10, "{error}"),
            }
        }
    }
}
