//! Rows like those of SlimG (arXiv 2210.04081): the structure alone, the features alone, and two averages of the
//! features, side by side and of equal weight.
//!
//! Leading eigenvectors of A, and on their leading principal axes X, (D̃⁻¹(A + I))²X and (D⁻½AD⁻½)²X. This is the part
//! that also serves graphs whose neighbours differ. The selection of columns by labels is left out.

use super::super::axes::{Axes, orthonormal};
use crate::matrix::{column_sums, tall::PAD};
use crate::random::{Rng, normal};
use crate::{Dense, Features, Graph, Normalization, Propagation, Result, Seed};
use rayon::prelude::*;

/// Columns of each part.
const WIDTH: usize = 64;
/// Additional vectors, which make the wanted ones more accurate.
const EXTRA: usize = 16;
/// Products with A.
const ROUNDS: usize = 8;

pub(super) fn rows(graph: &Graph, symmetric: &Propagation, x: &Dense) -> Result<Vec<f32>> {
    let nodes = graph.nodes();
    let degrees: Vec<f32> = (0..nodes as u32)
        .map(|node| match graph.edge_weights(node) {
            Some(weights) => weights.iter().sum(),
            None => graph.degree(node) as f32,
        })
        .collect();
    let structure = leading(symmetric, &degrees)?;
    let inverse: Vec<f32> = degrees.iter().map(|&d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 }).collect();
    let without_loops = |mut x: Vec<f32>| {
        scale(&mut x, &inverse);
        let mut product = adjacency(symmetric, &degrees, x)?;
        scale(&mut product, &inverse);
        Ok::<_, crate::Error>(product)
    };
    let mut by_row = vec![0.0; x.values().len()];
    Propagation::new(graph, Normalization::Row).power_into(x.values(), x.cols(), 2, &mut by_row)?;
    let parts = [
        structure,
        on_axes(x.clone()),
        on_axes(Dense::new(nodes, x.cols(), by_row)?),
        on_axes(Dense::new(nodes, x.cols(), without_loops(without_loops(x.values().to_vec())?)?)?),
    ];
    let widths = parts.each_ref().map(|part| part.len() / nodes.max(1));
    let mut out = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for node in 0..nodes {
        for (part, width) in parts.iter().zip(widths) {
            out.extend_from_slice(&part[node * width..][..width]);
        }
    }
    Ok(out)
}

/// On the leading principal axes, centred, with a mean square length of one.
fn on_axes(x: Dense) -> Vec<f32> {
    let x = Features::Dense(x);
    let projected = Axes::principal(&x, WIDTH).project(&x);
    let (rows, cols) = (projected.rows() as f64, projected.cols());
    let mut values = projected.into_values();
    let means: Vec<f32> = column_sums(&values, cols).iter().map(|sum| (sum / rows) as f32).collect();
    for row in values.chunks_exact_mut(cols.max(1)) {
        row.iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean);
    }
    balanced(values, rows)
}

fn balanced(mut values: Vec<f32>, rows: f64) -> Vec<f32> {
    let square = crate::matrix::sum_of_products(&values, &values);
    if square > 0.0 {
        let scale = (rows / square).sqrt() as f32;
        values.iter_mut().for_each(|value| *value *= scale);
    }
    values
}

/// Leading eigenvectors of A by subspace iteration.
fn leading(symmetric: &Propagation, degrees: &[f32]) -> Result<Vec<f32>> {
    let nodes = degrees.len();
    let width = (WIDTH + EXTRA).min(nodes);
    let stride = width.next_multiple_of(PAD);
    let mut rng: Rng = Seed(0).stream("slimg");
    let mut block = vec![0.0; nodes * stride];
    for row in block.chunks_exact_mut(stride) {
        row[..width].iter_mut().for_each(|value| *value = normal(&mut rng));
    }
    for _ in 0..ROUNDS {
        block = orthonormal(adjacency(symmetric, degrees, block)?, stride, width);
    }
    let kept = WIDTH.min(width);
    let values = block.chunks_exact(stride).flat_map(|row| row[..kept].iter().copied()).collect();
    Ok(balanced(values, nodes as f64))
}

/// AY: Â is D̃⁻½(A + I)D̃⁻½ with D̃ = D + I.
fn adjacency(symmetric: &Propagation, degrees: &[f32], mut y: Vec<f32>) -> Result<Vec<f32>> {
    let width = y.len() / degrees.len().max(1);
    let roots: Vec<f32> = degrees.iter().map(|degree| (1.0 + degree).sqrt()).collect();
    scale(&mut y, &roots);
    let mut out = vec![0.0; y.len()];
    symmetric.hop_into(&y, width, &mut out)?;
    let rows = out.par_chunks_mut(width.max(1)).zip(y.par_chunks(width.max(1))).zip(&roots);
    rows.for_each(|((out, y), root)| {
        out.iter_mut().zip(y).for_each(|(out, y)| *out = *out * root - y / root)
    });
    Ok(out)
}

/// Multiplies every row by its factor.
fn scale(rows: &mut [f32], factors: &[f32]) {
    let width = rows.len() / factors.len().max(1);
    rows.par_chunks_mut(width.max(1)).zip(factors).for_each(|(row, factor)| {
        row.iter_mut().for_each(|value| *value *= factor);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_the_adjacency_matrix_are_sums_over_neighbours() {
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2)]).unwrap();
        let symmetric = Propagation::new(&graph, Normalization::Symmetric);
        let product = adjacency(&symmetric, &[1.0, 2.0, 1.0, 0.0], vec![1.0, 10.0, 100.0, 1000.0]).unwrap();
        for (got, want) in product.iter().zip([10.0, 101.0, 10.0, 0.0]) {
            assert!((got - want).abs() < 1e-3, "{product:?}");
        }
    }

    #[test]
    fn the_leading_vectors_tell_components_apart() {
        // Two complete graphs of six and five nodes: the leading vector of each is constant on it.
        let pairs = |from: u32, to: u32| (from..to).flat_map(move |u| (u + 1..to).map(move |v| (u, v)));
        let edges: Vec<(u32, u32)> = pairs(0, 6).chain(pairs(6, 11)).collect();
        let graph = Graph::from_edges(11, &edges).unwrap();
        let x = Dense::new(11, 1, (0..11).map(|at| at as f32).collect::<Vec<_>>()).unwrap();
        let rows = rows(&graph, &Propagation::new(&graph, Normalization::Symmetric), &x).unwrap();
        let width = rows.len() / 11;
        assert_eq!(width, 11 + 3);
        assert!(rows.iter().all(|value| value.is_finite()));
        // The first column is close to the leading vector, that of the larger one.
        let first: Vec<f32> = rows.iter().step_by(width).map(|v| v.abs()).collect();
        assert!(
            first[0] > 0.2 && first[1..6].iter().all(|v| (v - first[0]).abs() < 0.1 * first[0]),
            "{first:?}"
        );
    }
}
