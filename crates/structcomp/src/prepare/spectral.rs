//! Leading eigenvectors of Â by Chebyshev-filtered subspace iteration, with blocks in `f32` and small matrices in
//! `f64`.
//!
//! Each round finds the best vectors within a block (Rayleigh-Ritz), then multiplies the block by a Chebyshev
//! polynomial of Â that is small on the unwanted part of the spectrum.

use super::stand_in::random;
use crate::matrix::eigen::eigen_within;
use crate::matrix::tall::{PAD, gram, rotate};
use crate::{Graph, Normalization, Propagation, Result, Seed};
use rayon::prelude::*;

/// Additional vectors, which speed up the convergence of the others; then padded to whole vector registers.
const EXTRA: usize = 8;
const ROUNDS: usize = 40;
/// The iteration stops when ‖Âv - λv‖ is below this for every unit vector v: more makes no difference to training.
const TOLERANCE: f64 = 1e-4;
/// The filter may amplify the first vector by this factor per round; beyond it `f32` loses the others.
const GAIN: f64 = 1e3;
const MAX_DEGREE: usize = 24;

/// Eigenvalues of Â, largest first, and their vectors.
pub(super) struct Spectrum {
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests compare eigenvalues"))]
    pub(super) values: Vec<f64>,
    /// One row per node, one column per vector, each column with mean square one.
    pub(super) vectors: Vec<f32>,
}

/// The `count` leading eigenvectors, as accurate as a fixed number of rounds makes them; columns beyond the number of
/// nodes are zero.
pub(super) fn leading(graph: &Graph, count: usize, seed: Seed) -> Result<Spectrum> {
    let nodes = graph.nodes();
    if nodes == 0 {
        return Ok(Spectrum { values: Vec::new(), vectors: Vec::new() });
    }
    let stride = count.saturating_add(EXTRA).min(nodes).next_multiple_of(PAD);
    let size = stride.min(nodes);
    let all = Propagation::new(graph, Normalization::Symmetric);
    let mut block = Block {
        all: &all,
        size,
        stride,
        y: random(nodes, size, stride, seed.key("spectral"))?,
        ay: vec![0.0; nodes * stride],
    };
    let mut values = vec![0.0; size];
    for round in 1..=ROUNDS {
        let residual;
        (values, residual) = block.best_within(count)?;
        if residual < TOLERANCE || round == ROUNDS {
            break;
        }
        block.filter(values[0], values[size - 1])?;
    }
    values.truncate(count);
    Ok(Spectrum { values, vectors: block.finished(count) })
}

/// Approximate eigenvectors Y and their product ÂY: `stride` values per node, of which `size` are in use.
struct Block<'a> {
    all: &'a Propagation<'a>,
    size: usize,
    stride: usize,
    y: Vec<f32>,
    ay: Vec<f32>,
}

impl Block<'_> {
    /// Replaces Y by the best eigenvectors within its span. Returns their values and the largest residual of the
    /// first `wanted`.
    fn best_within(&mut self, wanted: usize) -> Result<(Vec<f64>, f64)> {
        let (size, stride) = (self.size, self.stride);
        self.all.hop_into(&self.y, stride, &mut self.ay)?;
        let g = gram(&self.y, &self.y, stride, size);
        let h = gram(&self.y, &self.ay, stride, size);
        let (values, turn) = eigen_within(&g, &h, size);
        rotate(&mut self.y, &turn, stride, size);
        rotate(&mut self.ay, &turn, stride, size);
        let residual = self.residual(&values[..wanted.min(size)]);
        Ok((values, residual))
    }

    /// The largest ‖Âv - λv‖.
    fn residual(&self, values: &[f64]) -> f64 {
        let rows = self.y.par_chunks(self.stride * 4096).zip(self.ay.par_chunks(self.stride * 4096));
        let partial: Vec<Vec<f64>> = rows
            .map(|(y, ay)| {
                let mut sums = vec![0.0; values.len()];
                for (y, ay) in y.chunks_exact(self.stride).zip(ay.chunks_exact(self.stride)) {
                    for (c, sum) in sums.iter_mut().enumerate() {
                        *sum += (ay[c] as f64 - values[c] * y[c] as f64).powi(2);
                    }
                }
                sums
            })
            .collect();
        let column = |c: usize| partial.iter().map(|sums| sums[c]).sum::<f64>().sqrt();
        (0..values.len()).map(column).fold(0.0, f64::max)
    }

    /// Replaces Y by T(Â)Y, with the Chebyshev polynomial T that stays within ±1 on [-1, `low`] and grows fastest
    /// above.
    fn filter(&mut self, top: f64, low: f64) -> Result<()> {
        let low = low.clamp(-0.9, 0.999);
        let (center, half) = ((low - 1.0) / 2.0, (low + 1.0) / 2.0);
        let degree = degree((top - center) / half);
        let (shift, first, then) = (center as f32, (1.0 / half) as f32, (2.0 / half) as f32);
        // T_0 = Y, and T_1 from ÂY, which `ay` holds.
        let mut last = std::mem::take(&mut self.y);
        let mut current = std::mem::take(&mut self.ay);
        let step = |out: &mut f32, y: &f32| *out = (*out - shift * y) * first;
        current.par_iter_mut().zip(&last).for_each(|(out, y)| step(out, y));
        let mut product = vec![0.0; current.len()];
        for _ in 1..degree {
            self.all.hop_into(&current, self.stride, &mut product)?;
            last.par_iter_mut().zip(&current).zip(&product).for_each(|((last, current), product)| {
                *last = (product - shift * current) * then - *last;
            });
            std::mem::swap(&mut last, &mut current);
        }
        (self.y, self.ay) = (current, last);
        Ok(())
    }

    /// The first `count` columns, scaled, with the largest entry of each positive.
    fn finished(&self, count: usize) -> Vec<f32> {
        let nodes = self.y.len() / self.stride;
        let size = self.size.min(count);
        let mut extreme = vec![0f32; size];
        for row in self.y.chunks_exact(self.stride) {
            for (most, &value) in extreme.iter_mut().zip(row) {
                *most = if value.abs() > most.abs() { value } else { *most };
            }
        }
        let length = (nodes as f64).sqrt() as f32;
        let mut out = vec![0.0; nodes * count];
        out.par_chunks_mut(count).enumerate().for_each(|(row, out)| {
            let y = &self.y[row * self.stride..][..size];
            for ((out, y), extreme) in out.iter_mut().zip(y).zip(&extreme) {
                *out = y * length.copysign(*extreme);
            }
        });
        out
    }
}

/// The degree at which the polynomial first reaches the gain at `x`.
fn degree(x: f64) -> usize {
    let (mut last, mut current, mut degree) = (1.0, x, 1);
    while degree < MAX_DEGREE && current < GAIN {
        (last, current) = (current, 2.0 * x * current - last);
        degree += 1;
    }
    degree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::eigen::eigen;
    use rand::RngExt;

    /// ‖Âv - λv‖ / ‖v‖ of every column, in f64 and without any of the code above.
    fn residuals(graph: &Graph, spectrum: &Spectrum, count: usize) -> Vec<f64> {
        let nodes = graph.nodes() as u32;
        let degree = |v: u32| graph.degree(v) as f64 + 1.0;
        let of = |v: u32, c: usize| spectrum.vectors[v as usize * count + c] as f64;
        let column = |c: usize| {
            let off = |u: u32| {
                let around = graph.neighbors(u).iter().chain([&u]);
                let sum: f64 = around.map(|&v| of(v, c) / (degree(u) * degree(v)).sqrt()).sum();
                (sum - spectrum.values[c] * of(u, c)).powi(2)
            };
            let length: f64 = (0..nodes).map(|v| of(v, c).powi(2)).sum();
            assert!((length - nodes as f64).abs() < 1e-2 * nodes as f64, "column {c}: {length}");
            ((0..nodes).map(off).sum::<f64>() / length).sqrt()
        };
        (0..count.min(nodes as usize)).map(column).collect()
    }

    fn random_graph(nodes: u32, edges: usize) -> Graph {
        let mut rng = Seed(9).stream("graph");
        let edges: Vec<(u32, u32)> =
            (0..edges).map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes))).collect();
        Graph::from_edges(nodes as usize, &edges).unwrap()
    }

    #[test]
    fn a_ring_has_the_eigenvalues_of_a_ring() {
        let ring: Vec<(u32, u32)> = (0..60).map(|v| (v, (v + 1) % 60)).collect();
        let graph = Graph::from_edges(60, &ring).unwrap();
        let spectrum = leading(&graph, 5, Seed(0)).unwrap();
        // (1 + 2 cos(2 pi k / 60)) / 3, each but the first twice.
        let value = |k: f64| (1.0 + 2.0 * (std::f64::consts::TAU * k / 60.0).cos()) / 3.0;
        for (got, k) in spectrum.values.iter().zip([0.0, 1.0, 1.0, 2.0, 2.0]) {
            assert!((got - value(k)).abs() < 1e-5, "{got} for {}", value(k));
        }
        assert!(residuals(&graph, &spectrum, 5).iter().all(|&off| off < 2.0 * TOLERANCE));
        // The first vector is the constant one, and its sign is fixed.
        assert!((0..60).all(|v| (spectrum.vectors[v * 5] - 1.0).abs() < 1e-3));
    }

    #[test]
    fn vectors_of_random_graphs_are_eigenvectors_and_the_largest() {
        for (nodes, edges, count) in [(12, 20, 12), (300, 1200, 20), (300, 200, 10), (2000, 3000, 30)] {
            let graph = random_graph(nodes, edges);
            let spectrum = leading(&graph, count, Seed(1)).unwrap();
            let worst = residuals(&graph, &spectrum, count).into_iter().fold(0.0, f64::max);
            assert!(worst < 2.0 * TOLERANCE, "{nodes} nodes: {worst}");
            if nodes <= 300 {
                let (full, _) = eigen(&full_matrix(&graph), nodes as usize);
                for (got, want) in spectrum.values.iter().zip(&full) {
                    assert!((got - want).abs() < 1e-5, "{nodes} nodes: {got} for {want}");
                }
            }
        }
    }

    #[test]
    fn vectors_do_not_depend_on_the_number_of_threads() {
        let graph = random_graph(5000, 20_000);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| leading(&graph, 8, Seed(0)).unwrap().vectors)
        };
        assert_eq!(run(1), run(3));
    }

    fn full_matrix(graph: &Graph) -> Vec<f64> {
        let n = graph.nodes();
        let degree = |v: usize| graph.degree(v as u32) as f64 + 1.0;
        let entry = |u: usize, v: usize| match u == v || graph.has_edge(u as u32, v as u32) {
            true => 1.0 / (degree(u) * degree(v)).sqrt(),
            false => 0.0,
        };
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }
}
