//! Â^k X compared with a dense product in double precision.

use super::*;
use crate::{Csr, EdgeList, Seed};
use Normalization::{Row, Symmetric};
use gather::{LINE, PAIR};
use proptest::prelude::*;
use rand::RngExt;

/// A random graph; small ones have isolated nodes.
pub(super) fn random_graph(nodes: u32, edges: usize, weighted: bool, seed: u64) -> Graph {
    let mut rng = Seed(seed).stream("graph");
    let mut edge = || {
        let (u, v) = (rng.random_range(0..nodes) as u64, rng.random_range(0..nodes) as u64);
        (u << 32 | v, if weighted { rng.random_range(1..8) as f32 / 2.0 } else { 1.0 })
    };
    EdgeList::from_weighted((0..edges).map(|_| edge()).collect()).build(nodes as usize).unwrap().0
}

/// Values of which about `fill` percent are non-zero.
fn random_values(count: usize, fill: u32, seed: u64) -> Vec<f32> {
    let mut rng = Seed(seed).stream("values");
    let mut value = || match rng.random_range(0..100) < fill {
        true => rng.random_range(-1000..1000) as f32 / 250.0,
        false => 0.0,
    };
    (0..count).map(|_| value()).collect()
}

fn sparse(rows: usize, cols: usize, values: &[f32]) -> Features {
    let full: Vec<u32> = (0..rows).flat_map(|_| 0..cols as u32).collect();
    let offsets: Vec<u64> = (0..=rows).map(|row| (row * cols) as u64).collect();
    let x = Csr::new(cols, offsets, full, values.to_vec()).unwrap();
    // Stores no explicit zeros.
    let (mut offsets, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        let (columns, values) = x.row(row);
        for (&column, &value) in columns.iter().zip(values).filter(|(_, value)| **value != 0.0) {
            indices.push(column);
            kept.push(value);
        }
        offsets.push(kept.len() as u64);
    }
    Features::Sparse(Csr::new(cols, offsets, indices, kept).unwrap())
}

/// Â as a dense matrix in `f64`.
fn full_matrix(graph: &Graph, normalization: Normalization) -> Vec<Vec<f64>> {
    let n = graph.nodes();
    let mut a = vec![vec![0.0; n]; n];
    for (u, row) in a.iter_mut().enumerate() {
        row[u] = 1.0;
        for (at, &v) in graph.neighbors(u as u32).iter().enumerate() {
            row[v as usize] = graph.edge_weights(u as u32).map_or(1.0, |w| w[at] as f64);
        }
    }
    let degree: Vec<f64> = a.iter().map(|row| row.iter().sum()).collect();
    for (u, row) in a.iter_mut().enumerate() {
        for (v, value) in row.iter_mut().enumerate() {
            *value /= match normalization {
                Symmetric => (degree[u] * degree[v]).sqrt(),
                Row => degree[u],
            };
        }
    }
    a
}

fn twin(graph: &Graph, normalization: Normalization, x: &[f32], width: usize, hops: usize) -> Vec<f64> {
    let a = full_matrix(graph, normalization);
    let mut x: Vec<f64> = x.iter().map(|&value| value as f64).collect();
    for _ in 0..hops {
        let entry = |u: usize, c: usize| (0..a.len()).map(|v| a[u][v] * x[v * width + c]).sum();
        x = (0..a.len()).flat_map(|u| (0..width).map(move |c| (u, c))).map(|(u, c)| entry(u, c)).collect();
    }
    x
}

#[test]
fn a_path_and_a_lone_node_give_the_numbers_computed_by_hand() {
    // 0 - 1 - 2   3, degrees with self-loops 2, 3, 2, 1
    let graph = Graph::from_edges(4, &[(0, 1), (1, 2)]).unwrap();
    let x = Features::Dense(Dense::new(4, 1, vec![2.0, 0.0, 0.0, 7.0]).unwrap());
    let hop = Propagation::new(&graph, Symmetric).hop(&x).unwrap().to_dense();
    let expected = [1.0, 2.0 / 6f32.sqrt(), 0.0, 7.0];
    for (got, want) in hop.values().iter().zip(expected) {
        assert!((got - want).abs() < 1e-6, "{got} for {want}");
    }
    let mean = Propagation::new(&graph, Row).power(&x, 2).unwrap().to_dense();
    // After one hop 1, 2/3, 0; after two (1 + 2/3) / 2, (1 + 2/3) / 3, (2/3) / 2.
    for (got, want) in mean.values().iter().zip([5.0 / 6.0, 5.0 / 9.0, 1.0 / 3.0, 7.0]) {
        assert!((got - want).abs() < 1e-6, "{got} for {want}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let graph = Graph::from_edges(3, &[(0, 1)]).unwrap();
    let all = Propagation::new(&graph, Symmetric);
    let x = Features::Dense(Dense::new(2, 1, vec![0.0; 2]).unwrap());
    assert_eq!(all.hop(&x).unwrap_err().to_string(), "features have 2 rows but the graph has 3 nodes");
    assert!(all.hop_into(&[0.0; 5], 2, &mut [0.0; 6]).is_err());
    assert!(all.hop_into(&[0.0; 6], 2, &mut [0.0; 4]).is_err());
    assert!(all.hop_rows(2..4, &[0.0; 3], 1, &mut [0.0; 2]).is_err());
    assert!(all.hop_rows(1..2, &[0.0; 3], 1, &mut [0.0; 2]).is_err());
    // The centre of a star whose values are the largest numbers: the sum overflows.
    let star: Vec<(u32, u32)> = (1..100).map(|leaf| (0, leaf)).collect();
    let star = Graph::from_edges(100, &star).unwrap();
    let x = Features::Dense(Dense::new(100, 1, vec![f32::MAX; 100]).unwrap());
    assert!(Propagation::new(&star, Symmetric).hop(&x).is_err());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    // More entries than fit in one task.
    let graph = random_graph(20_000, 100_000, true, 5);
    let x = random_values(20_000 * 20, 50, 5);
    let all = Propagation::new(&graph, Symmetric);
    let few = sparse(20_000, 40, &random_values(20_000 * 40, 1, 6));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut out = vec![0.0; x.len()];
            all.power_into(&x, 20, 2, &mut out).unwrap();
            (out, all.hop(&few).unwrap())
        })
    };
    assert!(all.tasks(0..20_000).len() > 3);
    assert!(matches!(run(1).1, Features::Sparse(_)));
    assert_eq!(run(1), run(3));
}

#[test]
fn sparse_features_stay_sparse_until_they_fill_up() {
    // A ring of 40 nodes: each hop reaches two more nodes.
    let ring: Vec<(u32, u32)> = (0..40).map(|v| (v, (v + 1) % 40)).collect();
    let graph = Graph::from_edges(40, &ring).unwrap();
    let identity: Vec<f32> = (0..1600).map(|i| (i % 41 == 0) as u8 as f32).collect();
    let x = sparse(40, 40, &identity);
    let all = Propagation::new(&graph, Row);
    let kind = |hops: usize| match all.power(&x, hops).unwrap() {
        Features::Sparse(x) => Some(x.entries()),
        Features::Dense(_) => None,
    };
    assert_eq!([0, 1, 4, 5].map(kind), [Some(40), Some(120), Some(360), None]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_path_agrees_with_the_twin(
        nodes in 1u32..40,
        edges in 0usize..120,
        weighted in any::<bool>(),
        row in any::<bool>(),
        width in prop::sample::select(vec![0, 1, 3, 17, 64, 128, 130]),
        fill in prop::sample::select(vec![1, 10, 100]),
        hops in 0usize..4,
        seed in any::<u64>(),
    ) {
        let graph = random_graph(nodes, edges, weighted, seed);
        let normalization = if row { Row } else { Symmetric };
        let all = Propagation::new(&graph, normalization);
        let rows = nodes as usize;
        let x = random_values(rows * width, fill, seed);
        let mut power = vec![f32::NAN; x.len()];
        all.power_into(&x, width, hops, &mut power).unwrap();
        for (&got, want) in power.iter().zip(twin(&graph, normalization, &x, width, hops)) {
            prop_assert!((got as f64 - want).abs() < 1e-5, "{} for {}", got, want);
        }
        let dense = Features::Dense(Dense::new(rows, width, x.clone()).unwrap());
        let by_dense = all.power(&dense, hops).unwrap().to_dense();
        prop_assert_eq!(by_dense.values(), &power[..]);
        let sparse = sparse(rows, width, &x);
        let by_sparse = all.power(&sparse, hops).unwrap().to_dense();
        prop_assert_eq!(by_sparse.values(), &power[..]);

        let mut by_hops = x.clone();
        for _ in 0..hops {
            let half = rows / 2;
            let mut next = vec![f32::NAN; x.len()];
            let (upper, lower) = next.split_at_mut(half * width);
            all.hop_rows(0..half, &by_hops, width, upper).unwrap();
            all.hop_rows(half..rows, &by_hops, width, lower).unwrap();
            by_hops = next;
        }
        prop_assert_eq!(&by_hops, &power);
        if hops > 0 && width > 0 {
            let source = Operand::Values { values: &x, width };
            let (mut narrow, mut wide) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            all.tiled::<LINE>(source, hops, &mut narrow).unwrap();
            all.tiled::<PAIR>(source, hops, &mut wide).unwrap();
            prop_assert_eq!(&narrow, &power);
            prop_assert_eq!(&wide, &power);
        }
    }

    #[test]
    fn row_normalised_rows_sum_to_one(nodes in 1u32..60, edges in 0usize..300, seed in any::<u64>()) {
        let graph = random_graph(nodes, edges, true, seed);
        let mut out = vec![0.0; nodes as usize];
        Propagation::new(&graph, Row).power_into(&vec![1.0; out.len()], 1, 3, &mut out).unwrap();
        prop_assert!(out.iter().all(|sum| (sum - 1.0).abs() < 1e-6));
    }
}
