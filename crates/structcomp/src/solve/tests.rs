//! Tests of the solved model: the axes against exact ones, reliability against its definition, positions on other
//! graphs, and graphs at the edge of what makes sense.

use super::*;
use crate::data::Synthetic;
use crate::encoder::Scaling;
use crate::random::normal;
use crate::{Csr, Dataset, Dense, Model, Partition, Partitioning, StructComp, Training};
use rand::seq::SliceRandom;

fn random(rows: usize, cols: usize, seed: u64) -> Vec<f32> {
    let mut rng = Seed(seed).stream("numbers");
    (0..rows * cols).map(|_| normal(&mut rng)).collect()
}

/// Variances along the principal axes of rows scaled to length one, after their columns, computed in a plain way.
fn exact_variances(x: &[f32], cols: usize) -> Vec<f64> {
    let Scaling { shift, factor } =
        Scaling::fit(&Features::Dense(Dense::new(x.len() / cols, cols, x.to_vec()).unwrap()));
    let rows: Vec<Vec<f64>> = x
        .chunks(cols)
        .map(|row| {
            let row: Vec<f32> = (0..cols).map(|at| (row[at] - shift[at]) * factor[at]).collect();
            let length = row.iter().map(|&v| (v as f64).powi(2)).sum::<f64>().sqrt();
            row.iter().map(|&v| v as f64 / length.max(1e-15)).collect()
        })
        .collect();
    let count = rows.len() as f64;
    let mean: Vec<f64> = (0..cols).map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / count).collect();
    let mut matrix = vec![0.0; cols * cols];
    for row in &rows {
        for i in 0..cols {
            for j in 0..cols {
                matrix[i * cols + j] += (row[i] - mean[i]) * (row[j] - mean[j]) / count;
            }
        }
    }
    eigen(&matrix, cols).0
}

#[test]
fn principal_axes_are_the_exact_ones_for_narrow_and_wide_features() {
    // Ten strong directions among 60 columns: 12 of them need the randomised iteration.
    let (nodes, cols) = (300, 60);
    let (left, right) = (random(nodes, 10, 1), random(10, cols, 2));
    let mut x: Vec<f32> = random(nodes, cols, 3).iter().map(|v| 0.05 * v).collect();
    for (row, left) in x.chunks_mut(cols).zip(left.chunks(10)) {
        for (k, right) in right.chunks(cols).enumerate() {
            row.iter_mut().zip(right).for_each(|(v, r)| *v += left[k] * r / (1.0 + k as f32));
        }
    }
    let exact = exact_variances(&x, cols);
    for kept in [10, 60] {
        let features = Features::Dense(Dense::new(nodes, cols, x.clone()).unwrap());
        let projection = axes(&features, kept, Seed(0));
        let found = Projected::new(&features, &projection);
        let size = found.width();
        let (mean, covariance) = covariance(&found.columns(&(0..size as u32).collect::<Vec<_>>()), size);
        for axis in 0..10 {
            let variance = covariance[axis * size + axis];
            assert!(
                (variance - exact[axis]).abs() < 1e-3 * exact[0],
                "{kept}: {variance} and {}",
                exact[axis]
            );
            assert!(mean[axis].abs() < 1e-5);
        }
    }
}

#[test]
fn sparse_and_dense_features_have_the_same_axes() {
    let mut x = random(80, 30, 4);
    x.iter_mut().for_each(|v| *v = if *v > 0.8 { *v } else { 0.0 });
    let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in x.chunks(30) {
        for (at, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(at as u32);
            values.push(v);
        }
        offsets.push(indices.len() as u64);
    }
    let sparse = Features::Sparse(Csr::new(30, offsets, indices, values).unwrap());
    let dense = Features::Dense(Dense::new(80, 30, x).unwrap());
    let [a, b] =
        [sparse, dense].map(|x| Projected::new(&x, &axes(&x, 8, Seed(0))).columns(&[0, 1, 2, 3, 4, 5, 6, 7]));
    let difference = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(difference < 1e-4, "{difference}");
}

#[test]
fn reliability_is_the_share_of_a_cluster_mean_that_is_signal() {
    // Column 0 is the same for all members of a cluster, column 1 is noise, column 2 is both.
    let (clusters, members) = (4000, 8);
    let nodes = clusters * members;
    let (signal, noise) = (random(clusters, 1, 5), random(nodes, 2, 6));
    let rows: Vec<f32> = (0..nodes)
        .flat_map(|v| [signal[v / members], noise[2 * v], 0.5 * signal[v / members] + noise[2 * v + 1]])
        .collect();
    let partition =
        Partition::new((0..nodes as u32).map(|v| v / members as u32).collect::<Vec<_>>()).unwrap();
    // Every node but the first has a neighbour; what nodes without any say does not count.
    let path: Vec<(u32, u32)> = (2..nodes as u32).map(|v| (v - 1, v)).collect();
    let graph = Graph::from_edges(nodes, &path).unwrap();
    let mut rows = rows;
    rows[..3].fill(1e6);
    let found = reliability(&rows, 3, &graph, &partition, 4, Seed(0));
    // The variance of half a cluster's mean: 1/4 of signal and 1/4 of noise.
    for (found, expected) in found.iter().zip([1.0, 0.0, 0.5]) {
        assert!((found - expected).abs() < 0.04, "{found} and {expected}");
    }
}

fn solved() -> StructComp {
    StructComp {
        training: Training { model: Model::named("solved").unwrap(), ..Training::default() },
        ..StructComp::default()
    }
}

fn demo() -> Dataset {
    Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap()
}

#[test]
fn threads_change_nothing() {
    let data = demo();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solved().fit(&data).unwrap().embed(&data).unwrap())
    };
    let alone = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == alone));
}

#[test]
fn rows_are_centred_and_the_shorter_the_more_dimensions_they_have() {
    let data = demo();
    let fitted = solved().fit(&data).unwrap();
    let z = fitted.embed(&data).unwrap();
    assert_eq!(z.cols(), 256);
    let (mean, covariance) = covariance(z.values(), z.cols());
    let square: f64 = covariance.iter().step_by(z.cols() + 1).sum();
    let dimensions = square * square / covariance.iter().map(|value| value * value).sum::<f64>();
    let length = 60.0 / dimensions;
    assert!(
        (1.0..8.0).contains(&length) && (square.sqrt() / length - 1.0).abs() < 1e-2,
        "{square} and {length}"
    );
    assert!(mean.iter().all(|mean| mean.abs() < 1e-4));
    let weights: f64 = fitted.solution.unwrap().weights.iter().map(|(_, weight)| weight).sum();
    assert!((weights - 1.0).abs() < 1e-9);
}

#[test]
fn edges_that_have_nothing_to_do_with_the_features_leave_these() {
    let mut data = demo();
    let solution = |data: &Dataset| solved().fit(data).unwrap().solution.unwrap();
    let meant = solution(&data);
    // The same edges between other nodes.
    let mut nodes: Vec<u32> = (0..data.graph.nodes() as u32).collect();
    nodes.shuffle(&mut Seed(3).stream("nodes"));
    let moved: Vec<(u32, u32)> =
        data.graph.edge_iter().map(|(u, v)| (nodes[u as usize], nodes[v as usize])).collect();
    data.graph = Graph::from_edges(nodes.len(), &moved).unwrap();
    let random = solution(&data);
    assert!((meant.told_by_features - random.told_by_features).abs() < 1e-2);
    assert!(meant.told_by_neighbors > 0.01 && random.told_by_neighbors < 0.003);
    assert!(meant.weights[0].1 < 0.1 && meant.weights[3].1 > 0.7, "{meant:?}");
    assert!(random.weights[0].1 > 0.5 && random.weights[3].1 < 0.2, "{random:?}");
}

#[test]
fn random_edges_are_found_out_also_where_features_are_noisy() {
    let weights = |homophily: f64| {
        let settings = Synthetic {
            nodes: 3000,
            edges: 9000,
            classes: 6,
            homophily,
            feature_noise: 0.7,
            ..Synthetic::named("demo").unwrap()
        };
        solved().fit(&settings.generate(Seed(0)).unwrap()).unwrap().solution.unwrap().weights
    };
    let (random, meant) = (weights(0.22), weights(0.5));
    assert!(random[0].1 > 0.5 && random[3].1 < 0.1, "{random:?}");
    assert!(meant[0].1 < 0.1 && meant[3].1 > 0.7, "{meant:?}");
}

#[test]
fn positions_carry_over_to_new_nodes_and_not_to_other_graphs() {
    let data = demo();
    let model = Solved { weights: Some([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]), ..Solved::default() };
    let training = Training { model: Model::Solved(model), ..Training::default() };
    let fitted = StructComp { training, ..StructComp::default() }.fit(&data).unwrap();
    let (z, nodes) = (fitted.embed(&data).unwrap(), data.graph.nodes() as u32);
    assert!(fitted.knows(&data.graph));
    // A new node next to one other is where that one is.
    let x = data.features.as_ref().unwrap();
    let new = crate::NewNodes { features: x.select(&[7]), edges: vec![(nodes, 7)] };
    let added = fitted.embed_new(&data, &new).unwrap();
    let gap = added.row(0).iter().zip(z.row(7)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(gap < 1e-3, "{gap}");
    // In another graph all nodes are nowhere: they have the same row.
    let edges: Vec<(u32, u32)> = data.graph.edge_iter().skip(1).collect();
    let other = Graph::from_edges(nodes as usize, &edges).unwrap();
    assert!(!fitted.knows(&other));
    let rows = fitted.embed(&Dataset::in_memory("other", other, Some(x.clone()))).unwrap();
    assert!(rows.values().chunks(rows.cols()).all(|row| row == rows.row(0)));
}

#[test]
fn odd_graphs_are_embedded_with_finite_numbers_or_refused() {
    let zeros = Features::Dense(Dense::new(4, 3, vec![0.0; 12]).unwrap());
    let same = Features::Dense(Dense::new(4, 3, vec![2.0; 12]).unwrap());
    let other = Features::Dense(Dense::new(4, 1, vec![1.0, -1.0, 3.0, 0.0]).unwrap());
    for (x, varies) in [(zeros, false), (same, false), (other, true)] {
        for edges in [&[][..], &[(0, 1)], &[(0, 1), (1, 2), (2, 3)]] {
            let graph = Graph::from_edges(4, edges).unwrap();
            let mut data = demo();
            (data.graph, data.features, data.labels) = (graph, Some(x.clone()), None);
            for clusters in [2, 4] {
                let partitioning = Partitioning { clusters: Some(clusters), ..Partitioning::default() };
                let fitted = StructComp { partitioning, ..solved() }.fit(&data);
                if !varies {
                    assert!(fitted.unwrap_err().to_string().contains("the same features"));
                    continue;
                }
                let fitted = fitted.unwrap();
                let z = fitted.embed(&data).unwrap();
                assert!(z.rows() == 4 && z.cols() >= 1 && z.values().iter().all(|v| v.is_finite()));
            }
        }
    }
}

#[test]
fn parts_without_anything_to_say_are_refused() {
    let mut data = demo();
    let x = Dense::new(4, 1, vec![1.0, -1.0, 1.0, -1.0]).unwrap();
    data.graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap();
    (data.features, data.labels) = (Some(Features::Dense(x)), None);
    let model = Solved { weights: Some([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), ..Solved::default() };
    let training = Training { model: Model::Solved(model), ..Training::default() };
    let partitioning = Partitioning { clusters: Some(2), ..Partitioning::default() };
    let refused = StructComp { training, partitioning, ..StructComp::default() }.fit(&data).unwrap_err();
    assert!(refused.to_string().contains("the same for all nodes"), "{refused}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let data = demo();
    let error = |model: Solved, training: Training, mode| {
        let training = Training { model: Model::Solved(model), ..training };
        StructComp { training, mode, ..StructComp::default() }.fit(&data).unwrap_err().to_string()
    };
    let usual = || (Solved::default(), Training::default(), crate::Mode::Structcomp);
    let (model, training, mode) = usual();
    assert!(
        error(model, Training { epochs: 7, ..training }, mode).contains("so epochs would have no effect")
    );
    let one = Partitioning { clusters: Some(1), ..Partitioning::default() };
    let refused = StructComp { partitioning: one, ..solved() }.fit(&data).unwrap_err().to_string();
    assert!(refused.contains("at least 2 clusters"));
    let (model, training, _) = usual();
    assert!(error(model, training, crate::Mode::Full).contains("needs clusters"));
    for model in [
        Solved { width: 0, ..Solved::default() },
        Solved { directions: 5000, ..Solved::default() },
        Solved { draws: 0, ..Solved::default() },
        Solved { weights: Some([0.0; 6]), ..Solved::default() },
        Solved { weights: Some([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), ..Solved::default() },
    ] {
        let (_, training, mode) = usual();
        assert!(error(model, training, mode).contains("must be"), "{model:?}");
    }
}
