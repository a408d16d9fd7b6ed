//! Fusion: nodes of a region whose features are alike are connected too.

use crate::matrix::{View, symmetric_product};
use crate::{EdgeList, Features, Graph, Partition, Result};
use rayon::prelude::*;

/// Nodes that are compared with each other at most; larger regions are cut up.
const COMPARED: usize = 1 << 10;

/// The graph with edges from every node to its nearest ones in feature space, among those of its region. Such an edge
/// weighs the absolute cosine; the weights of edges in the same place are added.
pub(super) fn fused(graph: &Graph, x: &Features, regions: &Partition, count: usize) -> Result<Graph> {
    let groups: Vec<&[u32]> =
        (0..regions.clusters() as u32).flat_map(|region| regions.members(region).chunks(COMPARED)).collect();
    let near: Vec<Vec<(u64, f32)>> = groups.into_par_iter().map(|group| nearest(x, group, count)).collect();
    let own = (0..graph.nodes() as u32).flat_map(|u| {
        let weights = graph.edge_weights(u);
        graph.neighbors(u).iter().enumerate().filter_map(move |(at, &v)| {
            (u < v).then_some((pack(u, v), weights.map_or(1.0, |weights| weights[at])))
        })
    });
    let edges = own.chain(near.into_iter().flatten()).collect();
    Ok(EdgeList::from_weighted(edges).added().build(graph.nodes())?.0)
}

fn pack(u: u32, v: u32) -> u64 {
    (u.min(v) as u64) << 32 | u.max(v) as u64
}

/// The edges from each node of a group to its nearest `count`, each once.
fn nearest(x: &Features, group: &[u32], count: usize) -> Vec<(u64, f32)> {
    let (size, width) = (group.len(), x.cols());
    let mut rows = vec![0.0; size * width];
    rows.chunks_mut(width.max(1)).zip(group).for_each(|(row, &node)| x.write_row(node as usize, row));
    let mut products = vec![0.0; size * size];
    let view = View::new(&rows, width);
    symmetric_product(&mut products, view, view.t());
    let product = |i: usize, j: usize| products[i * size + j] as f64;
    let distance = |i: usize, j: usize| product(i, i) + product(j, j) - 2.0 * product(i, j);
    let mut edges = Vec::new();
    for i in 0..size {
        let mut others: Vec<(f64, usize)> =
            (0..size).filter(|&j| j != i).map(|j| (distance(i, j), j)).collect();
        let by_distance = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if others.len() > count {
            others.select_nth_unstable_by(count, by_distance);
            others.truncate(count);
        }
        edges.extend(others.iter().map(|&(_, j)| (pack(group[i], group[j]), cosine(product, i, j))));
    }
    edges.sort_unstable_by_key(|edge| edge.0);
    edges.dedup_by_key(|edge| edge.0);
    edges.retain(|edge| edge.1 > 0.0);
    edges
}

/// |cos| of two rows; 1 if both are zero, 0 if one is.
fn cosine(product: impl Fn(usize, usize) -> f64, i: usize, j: usize) -> f32 {
    match (product(i, i) > 0.0, product(j, j) > 0.0) {
        (true, true) => (product(i, j).abs() / (product(i, i) * product(j, j)).sqrt()) as f32,
        (false, false) => 1.0,
        _ => 0.0,
    }
}
