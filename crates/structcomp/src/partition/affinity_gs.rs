//! Coarsening by affinity, computed by Gauss-Seidel relaxation.

use super::coarsening::laplacian::{Laplacian, VECTORS, axpy, random};
use super::coarsening::matching::matching;
use super::coarsening::{Groups, LevelLimits, Reduction, Rule, coarsened};
use super::config::{Limits, Method};
use super::level::Level;
use super::{Partition, Partitioner};
use crate::{Graph, Result, Seed};
use rayon::prelude::*;

pub(super) const METHOD: Method = Method {
    name: "affinity-gs",
    about: "coarsening: matches nodes of high affinity",
    limits: Limits::No,
    weighs_nodes: false,
    per_component: true,
    make: |config| Box::new(AffinityGs { reduction: Reduction::of(config.per_component) }),
};

/// Matches the ends of edges greedily by affinity, level by level.
///
/// Ten random vectors are smoothed by one Gauss-Seidel sweep for Lx = 0 in node order. The affinity of two
/// neighbours is the squared cosine of their rows, c_ij = (x_i·x_j)² / ((x_i·x_i)(x_j·x_j)). The strength
/// of an edge is its affinity relative to the best of both ends, c_ij / (max_k c_ik max_k c_jk). Cluster
/// sizes are not limited.
///
/// # Differences from published code
/// Published code squares x_i·x_i and x_j·x_j, so nodes with small values get the highest affinity and the
/// scale of the vectors matters. We follow the paper, whose affinity lies between 0 and 1. Published code
/// also fills a dense n × n matrix; we compute the affinity of edges only.
///
/// # Reference
/// Livne, Brandt, "Lean algebraic multigrid (LAMG)", SIAM J. Sci. Comput. 2012; for graph coarsening in
/// Loukas, "Graph reduction with spectral and cut guarantees", JMLR 2019.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AffinityGs {
    /// How connected components are treated.
    pub reduction: Reduction,
}

impl Partitioner for AffinityGs {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        coarsened(graph, clusters, self.reduction, seed, || Strongest)
    }
}

struct Strongest;

impl Rule for Strongest {
    fn groups(&mut self, level: &Level, step: LevelLimits) -> Groups {
        let x = swept(level, random(level.nodes(), step.key));
        let best = best(level, &x);
        matching(level, step, |u, v| strength(&x, &best, u, v))
    }
}

type AffinityRow = [f64; VECTORS];

/// x ← −(D + L_low)⁻¹ L_up x: each node in turn takes the mean of its neighbours' current values.
fn swept(level: &Level, mut x: Vec<AffinityRow>) -> Vec<AffinityRow> {
    for (node, degree) in Laplacian::of(level).degree.into_iter().enumerate() {
        let mut mean = [0.0; VECTORS];
        level.each_neighbor(node as u32, |to, weight| axpy(&mut mean, weight as f64, &x[to as usize]));
        x[node] = mean.map(|sum| sum / degree);
    }
    x
}

fn affinity(x: &AffinityRow, y: &AffinityRow) -> f64 {
    let dot = |x: &AffinityRow, y: &AffinityRow| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (both, lengths) = (dot(x, y), dot(x, x) * dot(y, y));
    // The values of a node's neighbours may cancel out.
    if lengths > 0.0 { both * both / lengths } else { 0.0 }
}

/// The highest affinity of each node to any neighbour.
fn best(level: &Level, x: &[AffinityRow]) -> Vec<f64> {
    let of = |u: u32| {
        let around = level.neighbors(u).iter();
        around.map(|&v| affinity(&x[u as usize], &x[v as usize])).fold(0.0, f64::max)
    };
    (0..level.nodes() as u32).into_par_iter().map(of).collect()
}

fn strength(x: &[AffinityRow], best: &[f64], u: u32, v: u32) -> f64 {
    let (u, v) = (u as usize, v as usize);
    let most = best[u] * best[v];
    if most > 0.0 { affinity(&x[u], &x[v]) / most } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::coarsening::testing::{chords, full, laplacian, levels};

    #[test]
    fn the_sweep_solves_the_lower_triangle() {
        let graph = chords(40, 70, 1);
        for level in levels(&graph) {
            let l = laplacian(&full(&level));
            let start: Vec<AffinityRow> = random(level.nodes(), 3);
            let got = swept(&level, start.clone());
            for i in 0..l.len() {
                for k in 0..VECTORS {
                    // (D + L_low) x' = -L_up x
                    let left: f64 = (0..=i).map(|j| l[i][j] * got[j][k]).sum();
                    let right: f64 = (i + 1..l.len()).map(|j| -l[i][j] * start[j][k]).sum();
                    assert!((left - right).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn strength_matches_the_definition() {
        let graph = chords(40, 70, 2);
        for level in levels(&graph) {
            let w = full(&level);
            let x: Vec<AffinityRow> = random(level.nodes(), 3);
            let dot = |i: usize, j: usize| x[i].iter().zip(&x[j]).map(|(a, b)| a * b).sum::<f64>();
            let c = |i: usize, j: usize| match w[i][j] > 0.0 {
                true => dot(i, j).powi(2) / (dot(i, i) * dot(j, j)),
                false => 0.0,
            };
            let most = |i: usize| (0..w.len()).map(|k| c(i, k)).fold(0.0, f64::max);
            let best = best(&level, &x);
            for u in 0..w.len() as u32 {
                for &v in level.neighbors(u) {
                    let (i, j) = (u as usize, v as usize);
                    let want = c(i, j) / (most(i) * most(j));
                    assert!((strength(&x, &best, u, v) - want).abs() < 1e-9 * want);
                }
            }
        }
        assert_eq!(affinity(&[0.0; VECTORS], &x_axis()), 0.0);
        assert_eq!(affinity(&x_axis(), &x_axis()), 1.0);
    }

    fn x_axis() -> AffinityRow {
        std::array::from_fn(|k| if k == 0 { 3.0 } else { 0.0 })
    }
}
