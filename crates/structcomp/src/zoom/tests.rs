//! The levels against dense matrices.

use super::coarsen::{merged, smooth_vectors};
use super::*;
use crate::Dense;
use crate::random::normal;
use rand::RngExt;

const NODES: usize = 40;
const SIGMA: f64 = 0.1;

fn small() -> (Graph, Features) {
    let mut rng = Seed(1).stream("zoom");
    let edges: Vec<(u32, u32)> =
        (0..70).map(|_| (rng.random_range(0..39), rng.random_range(0..39))).collect();
    // The last two rows are zero.
    let values: Vec<f32> =
        (0..NODES * 5).map(|at| if at < 38 * 5 { normal(&mut rng) } else { 0.0 }).collect();
    let x = Features::Dense(Dense::new(NODES, 5, values).unwrap());
    (Graph::from_edges(NODES, &edges).unwrap(), x)
}

/// The weights of a graph's edges as a square matrix.
fn dense(graph: &Graph) -> Vec<Vec<f64>> {
    let row = |u: usize| {
        let mut row = vec![0.0; graph.nodes()];
        let weights = graph.edge_weights(u as u32);
        for (at, &v) in graph.neighbors(u as u32).iter().enumerate() {
            row[v as usize] = weights.map_or(1.0, |weights| weights[at] as f64);
        }
        row
    };
    (0..graph.nodes()).map(row).collect()
}

fn filter(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let root: Vec<f64> = a.iter().map(|row| 1.0 / (row.iter().sum::<f64>() + SIGMA).sqrt()).collect();
    let entry = |u: usize, v: usize| root[u] * (a[u][v] + if u == v { SIGMA } else { 0.0 }) * root[v];
    (0..a.len()).map(|u| (0..a.len()).map(|v| entry(u, v)).collect()).collect()
}

fn times(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cell = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(a, b)| a * b[j]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|j| cell(row, j)).collect()).collect()
}

fn transposed(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

fn rows(values: &[f32], width: usize) -> Vec<Vec<f64>> {
    values.chunks(width).map(|row| row.iter().map(|&x| x as f64).collect()).collect()
}

fn close(a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
    a.len() == b.len() && a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-4)
}

/// H: a row a node with a 1 for its coarse node.
fn mapping(partition: &Partition) -> Vec<Vec<f64>> {
    let one = |node: u32, c: usize| f64::from(u8::from(partition.of(node) as usize == c));
    let row = |node: u32| (0..partition.clusters()).map(|c| one(node, c)).collect();
    (0..partition.nodes() as u32).map(row).collect()
}

#[test]
fn features_are_fused_by_distance_within_regions() {
    let (graph, x) = small();
    let regions = Partition::new((0..NODES as u32).map(|node| node / 20).collect()).unwrap();
    let got = dense(&fusion::fused(&graph, &x, &regions, 3).unwrap());
    let (mut want, x) = (dense(&graph), x.to_dense());
    let wide = |node: usize| x.row(node).iter().map(|&x| x as f64).collect::<Vec<f64>>();
    let distance =
        |u: usize, v: usize| wide(u).iter().zip(wide(v)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let dot = |u: usize, v: usize| wide(u).iter().zip(wide(v)).map(|(a, b)| a * b).sum::<f64>();
    let mut added = vec![vec![0.0f64; NODES]; NODES];
    let nearest = |u: usize| {
        let mut others: Vec<usize> = (0..NODES).filter(|&v| v != u && v / 20 == u / 20).collect();
        others.sort_by(|&a, &b| distance(u, a).total_cmp(&distance(u, b)));
        others.into_iter().take(3)
    };
    for (u, v) in (0..NODES).flat_map(|u| nearest(u).map(move |v| (u, v))) {
        let norms = (dot(u, u) * dot(v, v)).sqrt();
        let zeros = (dot(u, u) == 0.0) == (dot(v, v) == 0.0);
        let cosine = if norms > 0.0 { dot(u, v).abs() / norms } else { f64::from(u8::from(zeros)) };
        (added[u][v], added[v][u]) = (added[u][v].max(cosine), added[v][u].max(cosine));
    }
    want.iter_mut().flatten().zip(added.iter().flatten()).for_each(|(want, add)| *want += add);
    assert!(close(&got, &want));
    assert!(want[38][39] == 1.0 && added[0][38] == 0.0, "rows of zeros are like each other only");
}

/// A level is the mapping that the affinities of smoothed vectors give, and HᵀAH without its diagonal.
#[test]
fn a_level_is_what_dense_matrices_say() {
    // A weighted one.
    let (graph, x) = small();
    let graph = fusion::fused(&graph, &x, &Partition::new(vec![0; NODES]).unwrap(), 1).unwrap();
    let stream = || Seed(4).stream_at("graphzoom", 0);
    let a = dense(&graph);
    let f = filter(&a);
    let mut rng = stream();
    let mut t: Vec<Vec<f64>> =
        (0..NODES).map(|_| (0..7).map(|_| 2.0 * rng.random::<f32>() as f64 - 1.0).collect()).collect();
    for k in 0..7 {
        let mean = t.iter().map(|row| row[k]).sum::<f64>() / NODES as f64;
        t.iter_mut().for_each(|row| row[k] -= mean);
    }
    let t = times(&f, &times(&f, &t));
    assert!(close(&rows(&smooth_vectors(&graph, &mut stream()), 7), &t));
    let dot = |u: usize, v: usize| t[u].iter().zip(&t[v]).map(|(a, b)| a * b).sum::<f64>();
    let mut order: Vec<usize> = (0..NODES).collect();
    order.sort_by_key(|&node| a[node].iter().filter(|&&weight| weight > 0.0).count());
    let (mut of, mut next) = (vec![None; NODES], 0);
    for u in order {
        if of[u].is_some() {
            continue;
        }
        of[u] = Some(next);
        for v in 0..NODES {
            if a[u][v] > 0.0 && of[v].is_none() && dot(u, v).powi(2) / (dot(u, u) * dot(v, v)) > 0.3 {
                of[v] = Some(next);
            }
        }
        next += 1;
    }
    let got = merged(&graph, &mut stream()).unwrap();
    assert_eq!(got.assignment(), of.into_iter().flatten().collect::<Vec<u32>>());
    assert!(got.clusters() < NODES * 3 / 4, "{} nodes are left", got.clusters());

    let (partition, coarse) = coarsened(&graph, 1, Seed(4)).unwrap();
    assert_eq!(partition, got);
    let h = mapping(&partition);
    let mut want = times(&transposed(&h), &times(&a, &h));
    (0..want.len()).for_each(|c| want[c][c] = 0.0);
    assert!(close(&dense(&coarse), &want));
}

/// Two levels are one after the other; features are means; refining is F²H.
#[test]
fn rows_are_coarsened_and_refined_as_dense_matrices_say() {
    let (graph, x) = small();
    let zoom = Zoom { levels: 2, fusion_neighbors: 2 };
    let coarse = zoom.coarsen(&graph, &x, Seed(4)).unwrap();
    let (one, between) = coarsened(&coarse.fused, 1, Seed(4)).unwrap();
    let second = merged(&between, &mut Seed(4).stream_at("graphzoom", 1)).unwrap();
    let both: Vec<u32> = (0..NODES as u32).map(|node| second.of(one.of(node))).collect();
    assert_eq!(coarse.partition.assignment(), both);
    let h = mapping(&coarse.partition);
    let sums = times(&transposed(&h), &rows(x.to_dense().values(), 5));
    let sizes: Vec<f64> = coarse.partition.sizes().map(|size| size as f64).collect();
    let means: Vec<Vec<f64>> =
        sums.iter().zip(&sizes).map(|(row, size)| row.iter().map(|x| x / size).collect()).collect();
    assert!(close(&rows(coarse.features.to_dense().values(), 5), &means));
    let e: Vec<f32> = (0..coarse.partition.clusters() * 3).map(|at| (at * 7 % 11) as f32 - 5.0).collect();
    let mut got = Vec::new();
    coarse
        .refine(&e, 3, |rows| {
            got.extend_from_slice(rows);
            Ok(())
        })
        .unwrap();
    let f = filter(&dense(&coarse.fused));
    assert!(close(&rows(&got, 3), &times(&f, &times(&f, &times(&h, &rows(&e, 3))))));
}

#[test]
fn coarsening_ends_before_a_single_node_is_left() {
    let path = Graph::from_edges(9, &(1..9).map(|v| (v - 1, v)).collect::<Vec<_>>()).unwrap();
    let (partition, coarse) = coarsened(&path, 30, Seed(0)).unwrap();
    assert!(coarse.nodes() >= 2 && coarse.nodes() == partition.clusters());
    let alone = Graph::from_edges(3, &[]).unwrap();
    assert_eq!(coarsened(&alone, 3, Seed(0)).unwrap().0.clusters(), 3);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let (graph, x) = small();
    for (zoom, said) in [
        (Zoom { levels: 0, ..Zoom::default() }, "levels must be from 1 to 30"),
        (Zoom { levels: 31, ..Zoom::default() }, "levels must be from 1 to 30"),
        (Zoom { fusion_neighbors: 1_001, ..Zoom::default() }, "fusion_neighbors must be at most 1000"),
    ] {
        assert_eq!(zoom.coarsen(&graph, &x, Seed(0)).err().unwrap().to_string(), said);
    }
}
