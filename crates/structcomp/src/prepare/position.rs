//! Where a node is in a graph, as features: which nodes are near, and in which part of the graph it lies.
//!
//! Three quarters of the columns are *near*: the eigenvectors of the [association](super::association) between
//! neighbours, each times the root of its eigenvalue, and then averaged over a few hops. This is the factorisation
//! behind node2vec, one step ahead, smoothed along the graph as in ProNE (Zhang et al. 2019) and LightNE (Qiu et al.
//! 2021), without their sampled walks. The other quarter is *far*: the leading eigenvectors of Â, which node2vec sees
//! through its long walks. Each part of each row has length one.
//!
//! The eigenvalue 1 has an eigenvector per component, which would use up the columns in a graph of many components.
//! Those are taken out, and every component has a small random vector in their place, which only counts where
//! there is nothing else to tell.

use super::association::Association;
use super::subspace::{Block, random};
use crate::graph::Components;
use crate::matrix::tall::PAD;
use crate::matrix::zeros;
use crate::{Budget, Graph, Normalization, Propagation, Result, Seed};
use rayon::prelude::*;

/// One column of this many is far.
const FAR: usize = 4;
/// Rounds of the near vectors, of two products each, and of the far ones, of up to 24.
const NEAR_ROUNDS: usize = 3;
const FAR_ROUNDS: usize = 4;
/// Hops over which near columns are averaged.
const HOPS: usize = 8;
/// Far columns are multiplied by their eigenvalue, as a share of the largest, to this power: a walk of as many steps.
const STEPS: i32 = 16;
/// The length of a component's random vector relative to its eigenvector.
const COMPONENT: f32 = 0.01;
/// Rows this much shorter than the others are noise, and stay short.
const SHORT: f64 = 1e-5;
/// Rows per task.
const ROWS: usize = 1024;

/// `width` features for each node; columns beyond the number of nodes are zero.
pub(super) fn positions(graph: &Graph, width: usize, seed: Seed) -> Result<Vec<f32>> {
    let nodes = graph.nodes();
    // The result, and three blocks for the larger part.
    let need = (nodes as u64).saturating_mul((width as u64).saturating_mul(4).saturating_add(3 * PAD as u64));
    Budget::default().check_items("features made from the graph", need, 4)?;
    let mut out = zeros(nodes * width);
    if nodes == 0 {
        return Ok(out);
    }
    let far_width = width.div_ceil(FAR);
    let near_width = width - far_width;
    let all = Propagation::new(graph, Normalization::Symmetric);
    if near_width > 0 {
        let block = near(graph, &all, near_width, seed)?;
        write_rows(&block, 0..near_width, width, &mut out);
    }
    let block = far(graph, &all, far_width, seed)?;
    write_rows(&block, near_width..width, width, &mut out);
    Ok(out)
}

/// Eigenvectors of the association, by the size of their eigenvalues, averaged over hops.
fn near(graph: &Graph, all: &Propagation, count: usize, seed: Seed) -> Result<Block> {
    let association = Association::new(graph);
    let mut block = Block::random(graph.nodes(), count, seed.key("near"))?;
    let stride = block.stride;
    let times = |x: &[f32], out: &mut [f32]| {
        association.times(x, stride, out);
        Ok(())
    };
    let mut values = block.best_within(times)?;
    for _ in 0..NEAR_ROUNDS {
        block.square(times)?;
        values = block.best_within(times)?;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
    let columns: Vec<(usize, f32)> =
        order.into_iter().take(count).map(|c| (c, values[c].abs().sqrt() as f32)).collect();
    block.select(&columns);
    block.spread(HOPS, |x, out| all.hop_into(x, stride, out))?;
    Ok(block)
}

/// The leading eigenvectors of Â within components, weighted, and a random vector per component.
fn far(graph: &Graph, all: &Propagation, count: usize, seed: Seed) -> Result<Block> {
    let mut block = Block::random(graph.nodes(), count, seed.key("far"))?;
    let stride = block.stride;
    let times = |x: &[f32], out: &mut [f32]| all.hop_into(x, stride, out);
    let trivial = Trivial::new(graph);
    trivial.remove(&mut block.y, stride);
    let mut values = block.best_within(times)?;
    for _ in 0..FAR_ROUNDS {
        block.filter(values[0], values[block.size - 1], times)?;
        // Once a round: rounding brings back little of them.
        trivial.remove(&mut block.y, stride);
        values = block.best_within(times)?;
    }
    let top = values[0].max(f64::MIN_POSITIVE);
    let weight = |value: f64| (value / top).clamp(0.0, 1.0).powi(STEPS) as f32;
    let columns: Vec<(usize, f32)> =
        values.iter().take(count).enumerate().map(|(c, &value)| (c, weight(value))).collect();
    block.select(&columns);
    trivial.add_random(&mut block.y, stride, columns.len(), seed.key("component"))?;
    Ok(block)
}

/// The eigenvectors of Â with eigenvalue 1: one per component, each entry the root of its node's share of the
/// component's weight.
struct Trivial {
    components: Components,
    /// The entry of each node.
    entries: Vec<f32>,
}

impl Trivial {
    fn new(graph: &Graph) -> Self {
        let components = graph.components();
        let weight = |node: u32| 1.0 + graph.weighted_degree(node);
        let mut total = vec![0.0; components.count()];
        for (node, &c) in components.of().iter().enumerate() {
            total[c as usize] += weight(node as u32);
        }
        let entry = |(node, &c): (usize, &u32)| (weight(node as u32) / total[c as usize]).sqrt() as f32;
        let entries = components.of().par_iter().enumerate().map(entry).collect();
        Self { components, entries }
    }

    /// Makes the columns of Y orthogonal to these eigenvectors.
    fn remove(&self, y: &mut [f32], stride: usize) {
        let of = self.components.of();
        // Few columns at a time, each summed by one thread in the order of the nodes.
        let strip = |at: usize| {
            let mut sums = vec![[0f64; PAD]; self.components.count()];
            for ((row, &c), &entry) in y.chunks_exact(stride).zip(of).zip(&self.entries) {
                let sums = &mut sums[c as usize];
                let row = &row[at * PAD..][..PAD];
                sums.iter_mut().zip(row).for_each(|(sum, &y)| *sum += entry as f64 * y as f64);
            }
            sums
        };
        let sums: Vec<Vec<[f64; PAD]>> = (0..stride / PAD).into_par_iter().map(strip).collect();
        y.par_chunks_mut(stride * ROWS).enumerate().for_each(|(task, rows)| {
            for (node, row) in (task * ROWS..).zip(rows.chunks_exact_mut(stride)) {
                for (row, sums) in row.chunks_exact_mut(PAD).zip(&sums) {
                    let sums = &sums[of[node] as usize];
                    row.iter_mut().zip(sums).for_each(|(y, sum)| *y -= self.entries[node] * *sum as f32);
                }
            }
        });
    }

    /// Adds the eigenvector of each component times a short random vector to the first `count` columns.
    fn add_random(&self, y: &mut [f32], stride: usize, count: usize, key: u64) -> Result<()> {
        let directions = random(self.components.count(), count, count, key)?;
        let scale = COMPONENT / (count as f32).sqrt();
        y.par_chunks_mut(stride * ROWS).enumerate().for_each(|(task, rows)| {
            for (node, row) in (task * ROWS..).zip(rows.chunks_exact_mut(stride)) {
                let direction = &directions[self.components.of()[node] as usize * count..][..count];
                let entry = scale * self.entries[node];
                row.iter_mut().zip(direction).for_each(|(y, direction)| *y += entry * direction);
            }
        });
        Ok(())
    }
}

/// Writes the rows of Y, scaled to length one, to the given columns of `out`.
fn write_rows(block: &Block, columns: std::ops::Range<usize>, width: usize, out: &mut [f32]) {
    let stride = block.stride;
    let used = columns.len().min(block.size);
    let square = |row: &[f32]| row[..used].iter().map(|&y| (y as f64).powi(2)).sum::<f64>();
    let partial = block.y.par_chunks(stride * ROWS).map(|rows| rows.chunks_exact(stride).map(square).sum());
    let partial: Vec<f64> = partial.collect();
    let shortest = SHORT * (partial.iter().sum::<f64>() / (block.y.len() / stride) as f64).sqrt();
    out.par_chunks_mut(width).zip(block.y.par_chunks(stride)).for_each(|(out, row)| {
        let length = square(row).sqrt().max(shortest);
        let scale = if length > 0.0 { (1.0 / length) as f32 } else { 0.0 };
        out[columns.clone()].iter_mut().zip(&row[..used]).for_each(|(out, y)| *out = y * scale);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::eigen::eigen;
    use rand::RngExt;

    fn random_graph(nodes: u32, edges: usize) -> Graph {
        let mut rng = Seed(9).stream("graph");
        let edges: Vec<(u32, u32)> =
            (0..edges).map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes))).collect();
        Graph::from_edges(nodes as usize, &edges).unwrap()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        product(a, b) / (product(a, a) * product(b, b)).sqrt()
    }

    /// Σ f(λ) v vᵀ over the eigenvectors v of a symmetric matrix.
    fn function(matrix: &[f64], size: usize, f: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let (values, v) = eigen(matrix, size);
        let entry = |at: usize| {
            let (row, col) = (at / size * size, at % size * size);
            (0..size).map(|c| f(c, values[c]) * v[row + c] * v[col + c]).sum()
        };
        (0..size * size).map(entry).collect()
    }

    fn times(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
        let entry = |at: usize| (0..size).map(|k| a[at / size * size + k] * b[k * size + at % size]).sum();
        (0..size * size).map(entry).collect()
    }

    #[test]
    fn angles_between_rows_are_those_of_the_formula_on_dense_matrices() {
        let size = 30;
        let graph = random_graph(size as u32, 80);
        assert_eq!(graph.components().count(), 1);
        let degree = |v: usize| graph.degree(v as u32) as f64;
        let edge = |at: usize| graph.has_edge((at / size) as u32, (at % size) as u32);
        let all: Vec<f64> = (0..size * size)
            .map(|at| {
                let on = edge(at) || at / size == at % size;
                f64::from(on) / ((degree(at / size) + 1.0) * (degree(at % size) + 1.0)).sqrt()
            })
            .collect();
        let volume = 2.0 * graph.edges() as f64;
        let information = |at: usize| match edge(at) {
            true => (volume / degree(at / size) / degree(at % size)).ln().max(0.0),
            false => 0.0,
        };
        let association: Vec<f64> = (0..size * size).map(information).collect();
        // Inner products of near rows, S |M| S with S the mean of Â^0 to Â^8; and of far rows, Â^32 without its
        // first vector.
        let size_of = function(&association, size, |_, value| value.abs());
        let mean = function(&all, size, |_, value| (0..=8).map(|k| value.powi(k)).sum::<f64>() / 9.0);
        let near = times(&times(&mean, &size_of, size), &mean, size);
        let far = function(&all, size, |c, value| if c == 0 { 0.0 } else { value.max(0.0).powi(32) });

        let (width, split) = (160, 120);
        let x = positions(&graph, width, Seed(1)).unwrap();
        let row = |v: usize| &x[v * width..][..width];
        for u in 0..size {
            for v in 0..size {
                let want = |g: &[f64]| (g[u * size + v] / (g[u * size + u] * g[v * size + v]).sqrt()) as f32;
                let got = cosine(&row(u)[..split], &row(v)[..split]);
                assert!((got - want(&near)).abs() < 1e-3, "near {u} {v}: {got} for {}", want(&near));
                let got = cosine(&row(u)[split..], &row(v)[split..]);
                // The random vector of the component is in them too.
                assert!((got - want(&far)).abs() < 0.08, "far {u} {v}: {got} for {}", want(&far));
            }
        }
    }

    #[test]
    fn nodes_of_a_clique_are_alike_and_strangers_are_not() {
        // Two cliques of twelve with an edge between them, two pairs, and an isolated node.
        let clique = |first: u32| (first..first + 12).flat_map(move |u| (first..u).map(move |v| (u, v)));
        let rest = [(0, 12), (24, 25), (26, 27)];
        let edges: Vec<(u32, u32)> = clique(0).chain(clique(12)).chain(rest).collect();
        let graph = Graph::from_edges(29, &edges).unwrap();
        let x = positions(&graph, 64, Seed(2)).unwrap();
        let row = |v: usize| &x[v * 64..][..64];
        for (u, v) in [(3, 4), (15, 22), (24, 25), (26, 27)] {
            assert!(cosine(row(u), row(v)) > 0.95, "{u} {v}: {}", cosine(row(u), row(v)));
        }
        for (u, v) in [(3, 15), (3, 24), (24, 26), (15, 27), (28, 3), (28, 24)] {
            assert!(cosine(row(u), row(v)) < 0.6, "{u} {v}: {}", cosine(row(u), row(v)));
        }
        // Both parts have length one; an isolated node is only in a component.
        let length = |part: &[f32]| part.iter().map(|x| x * x).sum::<f32>();
        assert!((length(&row(3)[..48]) - 1.0).abs() < 1e-5 && (length(&row(3)[48..]) - 1.0).abs() < 1e-5);
        assert!(length(&row(28)[..48]) == 0.0 && (length(&row(28)[48..]) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn many_small_components_leave_the_columns_to_the_large_one() {
        // A ring of 300 and 300 pairs. The first far columns tell where on the ring a node is.
        let ring = (0..300).map(|v| (v, (v + 1) % 300));
        let pairs = (0..300).map(|p| (300 + 2 * p, 301 + 2 * p));
        let graph = Graph::from_edges(900, &ring.chain(pairs).collect::<Vec<_>>()).unwrap();
        let x = positions(&graph, 32, Seed(0)).unwrap();
        let far = |v: usize| &x[v * 32 + 24..][..8];
        for v in 0..300 {
            assert!(cosine(far(v), far((v + 1) % 300)) > 0.98, "{v}");
            assert!(cosine(far(v), far((v + 150) % 300)) < 0.5, "{v}");
        }
    }

    #[test]
    fn they_do_not_depend_on_the_number_of_threads_but_on_the_seed() {
        let graph = random_graph(5000, 12_000);
        let run = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| positions(&graph, 20, Seed(seed)).unwrap())
        };
        let first = run(1, 0);
        assert!(first == run(3, 0) && first != run(1, 1));
    }

    #[test]
    fn a_width_beyond_memory_is_refused() {
        let error = positions(&random_graph(5000, 9000), usize::MAX >> 20, Seed(0)).unwrap_err();
        assert!(error.to_string().contains("features made from the graph"), "{error}");
    }
}
