//! Coarsening: neighbours that smooth vectors hardly tell apart are merged, again and again.

use super::filter::Filter;
use crate::matrix::dot;
use crate::random::Rng;
use crate::{EdgeList, Graph, Partition, Result, Seed};
use rand::RngExt;

/// Random vectors that are smoothed.
const VECTORS: usize = 7;
/// Neighbours are merged if their rows of the smoothed vectors are at least as alike.
const ALIKE: f64 = 0.3;

/// The coarse node of every node, and the coarse graph: H and HᵀAH, without self-loops.
pub(super) fn coarsened(graph: &Graph, levels: usize, seed: Seed) -> Result<(Partition, Graph)> {
    let mut of: Vec<u32> = (0..graph.nodes() as u32).collect();
    let mut coarse: Option<Graph> = None;
    for level in 0..levels {
        let graph = coarse.as_ref().unwrap_or(graph);
        let merged = merged(graph, &mut seed.stream_at("graphzoom", level as u64))?;
        // Training compares rows, so a single one is of no use.
        if merged.clusters() == graph.nodes() || merged.clusters() < 2 {
            break;
        }
        of.iter_mut().for_each(|of| *of = merged.of(*of));
        coarse = Some(contracted(graph, &merged)?);
    }
    Ok((Partition::new(of)?, coarse.unwrap_or_else(|| graph.clone())))
}

/// One level. Nodes of few neighbours come first; each that is still alone takes in those of its neighbours that are, and
/// are like it.
pub(super) fn merged(graph: &Graph, rng: &mut Rng) -> Result<Partition> {
    let vectors = smooth_vectors(graph, rng);
    let row = |node: u32| &vectors[node as usize * VECTORS..][..VECTORS];
    let square: Vec<f64> = vectors.chunks(VECTORS).map(|row| dot(row, row)).collect();
    let alike = |u: u32, v: u32| {
        let squares = square[u as usize] * square[v as usize];
        squares > 0.0 && dot(row(u), row(v)).powi(2) > ALIKE * squares
    };
    let mut order: Vec<u32> = (0..graph.nodes() as u32).collect();
    order.sort_by_key(|&node| graph.degree(node));
    const ALONE: u32 = u32::MAX;
    let (mut of, mut next) = (vec![ALONE; graph.nodes()], 0);
    for node in order {
        if of[node as usize] != ALONE {
            continue;
        }
        of[node as usize] = next;
        for &other in graph.neighbors(node) {
            if of[other as usize] == ALONE && alike(node, other) {
                of[other as usize] = next;
            }
        }
        next += 1;
    }
    Partition::new(of)
}

/// F²T for random vectors T, orthogonal to the constant one; a row a node.
pub(super) fn smooth_vectors(graph: &Graph, rng: &mut Rng) -> Vec<f32> {
    let nodes = graph.nodes();
    let mut vectors: Vec<f32> = (0..nodes * VECTORS).map(|_| 2.0 * rng.random::<f32>() - 1.0).collect();
    for at in 0..VECTORS {
        let mean = vectors.iter().skip(at).step_by(VECTORS).map(|&x| x as f64).sum::<f64>() / nodes as f64;
        vectors.iter_mut().skip(at).step_by(VECTORS).for_each(|x| *x = (*x as f64 - mean) as f32);
    }
    let filter = Filter::new(graph);
    for _ in 0..2 {
        let mut smoothed = vec![0.0; vectors.len()];
        filter.rows(0, VECTORS, |node| &vectors[node as usize * VECTORS..][..VECTORS], &mut smoothed);
        vectors = smoothed;
    }
    vectors
}

/// The graph between merged nodes. An edge weighs as much as all edges that it stands for.
fn contracted(graph: &Graph, merged: &Partition) -> Result<Graph> {
    let between = |u: u32| {
        let (own, weights) = (merged.of(u), graph.edge_weights(u));
        graph.neighbors(u).iter().enumerate().filter_map(move |(at, &v)| {
            let other = merged.of(v);
            let weight = weights.map_or(1.0, |weights| weights[at]);
            // Each edge once, so that both directions get the same sum.
            (own < other).then_some(((own as u64) << 32 | other as u64, weight))
        })
    };
    let edges = (0..graph.nodes() as u32).flat_map(between).collect();
    Ok(EdgeList::from_weighted(edges).added().build(merged.clusters())?.0)
}
