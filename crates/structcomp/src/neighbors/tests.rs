//! The search compared with a naive one.

use super::*;
use crate::random::mix;

const METRICS: [Metric; 3] = [Metric::Cosine, Metric::Dot, Metric::Euclidean];

/// Rows of small whole numbers: many are equal, collinear or zero, and products are exact.
fn ties(rows: usize, cols: usize, salt: u64) -> Dense {
    let number = |i: u64| (mix(i ^ salt << 32) % 5) as f32 - 2.0;
    Dense::new(rows, cols, (0..(rows * cols) as u64).map(number).collect::<Vec<f32>>()).unwrap()
}

fn random(rows: usize, cols: usize, salt: u64) -> Dense {
    let number = |i: u64| (mix(i ^ salt << 32) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    Dense::new(rows, cols, (0..(rows * cols) as u64).map(number).collect::<Vec<f32>>()).unwrap()
}

fn search(rows: &Dense, metric: Metric) -> NeighborSearch<'_> {
    NeighborSearch::new(rows, metric, Budget::default()).unwrap()
}

fn wanted(count: usize) -> Wanted {
    Wanted { count, min_score: None }
}

/// The score by its definition.
fn naive_score(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (a as f64, b as f64));
    let dot: f64 = pairs().map(|(a, b)| a * b).sum();
    let lengths =
        (pairs().map(|(a, _)| a * a).sum::<f64>() * pairs().map(|(_, b)| b * b).sum::<f64>()).sqrt();
    let score = match metric {
        Metric::Cosine if lengths == 0.0 => 0.0,
        Metric::Cosine => dot / lengths,
        Metric::Dot => dot,
        Metric::Euclidean => -pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
    };
    score as f32 + 0.0
}

/// All rows but the query's own, sorted.
fn naive(rows: &Dense, metric: Metric, query: &[f32], own: Option<u32>, count: usize) -> Vec<Neighbor> {
    let others = (0..rows.rows() as u32).filter(|&node| Some(node) != own);
    let score = |node: u32| naive_score(metric, query, rows.row(node as usize));
    let mut all: Vec<Neighbor> = others.map(|node| Neighbor { node, score: score(node) }).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all.truncate(count);
    all
}

#[test]
fn neighbors_are_those_of_a_full_sort() {
    for (rows, cols) in [(0, 3), (1, 1), (2, 1), (7, 3), (64, 5), (511, 2), (513, 17), (1030, 8)] {
        for (rows, metric) in [ties(rows, cols, 1), random(rows, cols, 2)]
            .iter()
            .flat_map(|rows| METRICS.map(|metric| (rows, metric)))
        {
            let nodes: Vec<u32> = (0..rows.rows() as u32).collect();
            for count in [1, 3, 10, rows.rows() + 5] {
                let found = search(rows, metric).of_nodes(&nodes, wanted(count)).unwrap();
                for (&node, found) in nodes.iter().zip(&found).step_by(17) {
                    let expected = naive(rows, metric, rows.row(node as usize), Some(node), count);
                    assert_eq!(found, &expected, "{} x {cols}, {metric:?}, {count} of {node}", rows.rows());
                }
            }
        }
    }
}

#[test]
fn queries_may_be_rows_from_elsewhere() {
    for metric in METRICS {
        let (rows, queries) = (ties(700, 6, 3), ties(9, 6, 4));
        let found = search(&rows, metric).of_rows(&queries, wanted(20)).unwrap();
        for (at, found) in found.iter().enumerate() {
            assert_eq!(found, &naive(&rows, metric, queries.row(at), None, 20), "{metric:?}");
        }
        assert!(search(&rows, metric).of_rows(&ties(0, 6, 4), wanted(3)).unwrap().is_empty());
    }
}

#[test]
fn many_rows_are_searched_in_parts() {
    for (metric, cols) in METRICS.into_iter().zip([3, 4, 7]) {
        let rows = ties(3 * PART + 77, cols, 5);
        let found = search(&rows, metric).of_nodes(&[0, 40_000, 3 * PART as u32], wanted(10)).unwrap();
        for (node, found) in [0, 40_000, 3 * PART as u32].into_iter().zip(&found) {
            assert_eq!(
                found,
                &naive(&rows, metric, rows.row(node as usize), Some(node), 10),
                "{metric:?} {node}"
            );
        }
    }
}

#[test]
fn threads_and_the_limit_on_memory_change_nothing() {
    let rows = random(2000, 24, 6);
    let nodes: Vec<u32> = (0..2000).collect();
    let run = |threads, bytes| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let search = NeighborSearch::new(&rows, Metric::Cosine, Budget { bytes }).unwrap();
        pool.install(|| search.of_nodes(&nodes, wanted(5))).unwrap()
    };
    let one = run(1, 1 << 30);
    for (threads, bytes) in [(2, 1 << 30), (3, 1 << 30), (1, 1 << 19), (3, 1 << 19)] {
        assert_eq!(run(threads, bytes), one);
    }
    let none = NeighborSearch::new(&rows, Metric::Cosine, Budget { bytes: 1000 }).unwrap();
    assert!(matches!(none.of_nodes(&nodes, wanted(5)), Err(Error::Memory { .. })));
    assert!(matches!(none.of_nodes(&[0], wanted(5)), Err(Error::Memory { .. })));
}

#[test]
fn low_scores_are_left_out() {
    let rows = Dense::new(4, 1, vec![1.0, 2.0, -1.0, 0.0]).unwrap();
    let least = |min_score, metric| {
        let found = search(&rows, metric).of_nodes(&[0], Wanted { count: 9, min_score: Some(min_score) });
        found.unwrap()[0].iter().map(|neighbor| neighbor.node).collect::<Vec<u32>>()
    };
    assert_eq!(least(0.0, Metric::Cosine), [1, 3]);
    assert_eq!(least(1.0, Metric::Dot), [1]);
    assert_eq!(least(-1.5, Metric::Euclidean), [1, 3]);
    assert_eq!(least(2.0, Metric::Cosine), [0u32; 0]);
}

#[test]
fn tiny_rows_have_directions_too() {
    let rows = Dense::new(3, 2, vec![1e-30, 0.0, 1e-30, 1e-30, 1e15, 0.0]).unwrap();
    let best = |metric| search(&rows, metric).of_nodes(&[0], wanted(2)).unwrap()[0].clone();
    assert_eq!(best(Metric::Cosine)[0], Neighbor { node: 2, score: 1.0 });
    assert_eq!(best(Metric::Dot)[0].node, 2);
    assert_eq!(best(Metric::Euclidean)[0].node, 1);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let said = |rows: &Dense| {
        NeighborSearch::new(rows, Metric::Cosine, Budget::default()).err().unwrap().to_string()
    };
    for bad in [f32::NAN, f32::INFINITY, 1e30] {
        let message = said(&Dense::computed(1, vec![1.0, bad]));
        assert!(message.starts_with("row 1 has length "), "{message}");
    }
    assert!(said(&Dense::new(3, 0, vec![]).unwrap()).contains("no columns"));
    let rows = random(3, 2, 7);
    let search = search(&rows, Metric::Dot);
    assert!(search.of_nodes(&[3], wanted(1)).unwrap_err().to_string().contains("no node 3"));
    assert!(search.of_rows(&random(1, 5, 7), wanted(1)).unwrap_err().to_string().contains("5 columns"));
    assert!(search.of_rows(&Dense::computed(2, vec![f32::NAN, 1.0]), wanted(1)).is_err());
}

#[test]
fn a_file_of_all_is_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let rows = ties(1000, 3, 8);
    let write = |name: &str, threads, bytes| {
        let path = folder.path().join(name);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let search = NeighborSearch::new(&rows, Metric::Cosine, Budget { bytes }).unwrap();
        let mut done = Vec::new();
        let ids = crate::NodeIds::Implicit;
        pool.install(|| search.write_all(&path, &ids, wanted(4), |nodes| done.push(nodes))).unwrap();
        assert_eq!(done.last(), Some(&1000), "{done:?}");
        std::fs::read(path).unwrap()
    };
    for name in ["nn.csv", "nn.npy", "nn.parquet"] {
        if name.ends_with("parquet") && cfg!(not(feature = "parquet")) {
            continue;
        }
        let one = write(name, 1, 1 << 30);
        assert!(write(name, 2, 1 << 30) == one && write(name, 3, 1 << 30) == one, "{name}");
    }
    assert_eq!(write("nn.csv", 2, 1 << 19), write("nn.csv", 2, 1 << 30), "many blocks");
    let csv = String::from_utf8(write("nn.csv", 2, 1 << 30)).unwrap();
    let first = naive(&rows, Metric::Cosine, rows.row(0), Some(0), 4)[0];
    assert_eq!(csv.lines().count(), 4001);
    assert_eq!(csv.lines().nth(1).unwrap(), format!("0,{},{}", first.node, first.score));
}
