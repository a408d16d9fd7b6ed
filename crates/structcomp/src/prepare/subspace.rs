//! Leading eigenvectors of a symmetric matrix by subspace iteration: blocks of vectors in `f32`, small matrices in
//! `f64`.

use crate::matrix::eigen::eigen_within;
use crate::matrix::tall::{PAD, gram, rotate};
use crate::matrix::zeros;
use crate::random::normal;
use crate::{Error, Result, Seed};
use rayon::prelude::*;

/// Additional vectors, which speed up the convergence of the others; then padded to whole vector registers.
const EXTRA: usize = 8;
/// A filter may amplify the first vector by this factor; beyond it `f32` loses the others.
const GAIN: f64 = 1e3;
const MAX_DEGREE: usize = 24;
/// Nodes per random stream.
const BLOCK: usize = 1024;

/// Approximate eigenvectors Y of a matrix A, and AY: `stride` values per node, of which `size` are in use.
pub(super) struct Block {
    pub(super) size: usize,
    pub(super) stride: usize,
    pub(super) y: Vec<f32>,
    pub(super) ay: Vec<f32>,
    spare: Vec<f32>,
}

impl Block {
    /// Random vectors, more than the `count` that are wanted; not more than there are nodes.
    pub(super) fn random(nodes: usize, count: usize, key: u64) -> Result<Self> {
        let stride = count.saturating_add(EXTRA).min(nodes).next_multiple_of(PAD);
        let size = stride.min(nodes);
        let y = random(nodes, size, stride, key)?;
        let (ay, spare) = (zeros(y.len()), zeros(y.len()));
        Ok(Self { size, stride, y, ay, spare })
    }

    /// Replaces Y by the best eigenvectors within its span, of length one, and AY with it (Rayleigh-Ritz). Returns
    /// their eigenvalues, largest first. `times` writes A times its first argument to its second.
    pub(super) fn best_within(
        &mut self,
        times: impl Fn(&[f32], &mut [f32]) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let (size, stride) = (self.size, self.stride);
        times(&self.y, &mut self.ay)?;
        let g = gram(&self.y, &self.y, stride, size);
        let h = gram(&self.y, &self.ay, stride, size);
        let (values, turn) = eigen_within(&g, &h, size);
        rotate(&mut self.y, &turn, stride, size);
        rotate(&mut self.ay, &turn, stride, size);
        Ok(values)
    }

    /// Replaces Y by A²Y, given AY: the power iteration, for eigenvalues of either sign.
    pub(super) fn square(&mut self, times: impl Fn(&[f32], &mut [f32]) -> Result<()>) -> Result<()> {
        times(&self.ay, &mut self.y)
    }

    /// Replaces Y by T(A)Y, given AY, with the Chebyshev polynomial T that stays within ±1 on [-1, `low`] and grows
    /// fastest above, up to the largest eigenvalue `top`.
    pub(super) fn filter(
        &mut self,
        top: f64,
        low: f64,
        times: impl Fn(&[f32], &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let low = low.clamp(-0.9, 0.999);
        let (center, half) = ((low - 1.0) / 2.0, (low + 1.0) / 2.0);
        let degree = degree((top - center) / half);
        let (shift, first, then) = (center as f32, (1.0 / half) as f32, (2.0 / half) as f32);
        // T_0 = Y, and T_1 from AY.
        let Self { y: last, ay: current, spare: product, .. } = self;
        let step = |out: &mut f32, y: &f32| *out = (*out - shift * y) * first;
        current.par_iter_mut().zip(&*last).for_each(|(out, y)| step(out, y));
        for _ in 1..degree {
            times(current, product)?;
            last.par_iter_mut().zip(&*current).zip(&*product).for_each(|((last, current), product)| {
                *last = (product - shift * current) * then - *last;
            });
            std::mem::swap(last, current);
        }
        std::mem::swap(last, current);
        Ok(())
    }

    /// Replaces Y by the mean of Y, AY, A²Y, … up to A to the power of `steps`.
    pub(super) fn spread(
        &mut self,
        steps: usize,
        times: impl Fn(&[f32], &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let Self { y: sum, ay: current, spare: next, .. } = self;
        current.copy_from_slice(sum);
        for _ in 0..steps {
            times(current, next)?;
            sum.par_iter_mut().zip(&*next).for_each(|(sum, next)| *sum += next);
            std::mem::swap(current, next);
        }
        let share = 1.0 / (steps + 1) as f32;
        sum.par_iter_mut().for_each(|sum| *sum *= share);
        Ok(())
    }

    /// Replaces Y by the given columns of it, each times its factor.
    pub(super) fn select(&mut self, columns: &[(usize, f32)]) {
        let stride = self.stride;
        self.y.par_chunks_mut(stride * BLOCK).for_each(|rows| {
            let mut old = vec![0.0; stride];
            for row in rows.chunks_exact_mut(stride) {
                old.copy_from_slice(row);
                row.fill(0.0);
                row.iter_mut().zip(columns).for_each(|(to, &(from, factor))| *to = old[from] * factor);
            }
        });
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

/// A `rows` × `stride` matrix whose first `width` columns are random and the others zero.
pub(super) fn random(rows: usize, width: usize, stride: usize, key: u64) -> Result<Vec<f32>> {
    let size = rows.checked_mul(stride).filter(|&size| size <= isize::MAX as usize / size_of::<f32>());
    let too_large = || Error::Input(format!("{rows} x {width} features are too many"));
    let mut values = zeros(size.ok_or_else(too_large)?);
    values.par_chunks_mut(BLOCK * stride.max(1)).enumerate().for_each(|(block, values)| {
        let mut rng = Seed(key).stream_at("block", block as u64);
        for row in values.chunks_exact_mut(stride) {
            row[..width].iter_mut().for_each(|value| *value = normal(&mut rng));
        }
    });
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::eigen::eigen;
    use crate::{Graph, Normalization, Propagation};

    /// Âv - λv of every column, in f64.
    fn residual(graph: &Graph, block: &Block, values: &[f64], c: usize) -> f64 {
        let degree = |v: u32| graph.degree(v) as f64 + 1.0;
        let of = |v: u32| block.y[v as usize * block.stride + c] as f64;
        let off = |u: u32| {
            let around = graph.neighbors(u).iter().chain([&u]);
            let sum: f64 = around.map(|&v| of(v) / (degree(u) * degree(v)).sqrt()).sum();
            (sum - values[c] * of(u)).powi(2)
        };
        (0..graph.nodes() as u32).map(off).sum::<f64>().sqrt()
    }

    #[test]
    fn a_ring_has_the_eigenvalues_of_a_ring() {
        let ring: Vec<(u32, u32)> = (0..60).map(|v| (v, (v + 1) % 60)).collect();
        let graph = Graph::from_edges(60, &ring).unwrap();
        let all = Propagation::new(&graph, Normalization::Symmetric);
        let mut block = Block::random(60, 5, 1).unwrap();
        let times = |x: &[f32], out: &mut [f32]| all.hop_into(x, 16, out);
        let mut values = block.best_within(times).unwrap();
        for _ in 0..4 {
            block.filter(values[0], values[block.size - 1], times).unwrap();
            values = block.best_within(times).unwrap();
        }
        // (1 + 2 cos(2 pi k / 60)) / 3, each but the first twice.
        let value = |k: f64| (1.0 + 2.0 * (std::f64::consts::TAU * k / 60.0).cos()) / 3.0;
        for (c, k) in [0.0, 1.0, 1.0, 2.0, 2.0].into_iter().enumerate() {
            assert!((values[c] - value(k)).abs() < 1e-5, "{} for {}", values[c], value(k));
            assert!(residual(&graph, &block, &values, c) < 1e-3);
        }
    }

    #[test]
    fn squares_find_eigenvalues_of_either_sign() {
        // Eigenvalues 40, -39, …, down to ±1, along the coordinates.
        let value = |at: usize| if at.is_multiple_of(2) { 40.0 - at as f32 } else { at as f32 - 40.0 };
        let mut block = Block::random(40, 6, 3).unwrap();
        let stride = block.stride;
        let times = |x: &[f32], out: &mut [f32]| {
            out.iter_mut().zip(x).enumerate().for_each(|(at, (out, x))| *out = value(at / stride) * x);
            Ok(())
        };
        let mut values = block.best_within(times).unwrap();
        for _ in 0..12 {
            block.square(times).unwrap();
            values = block.best_within(times).unwrap();
        }
        values.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
        for (got, want) in values.iter().zip([40.0, -39.0, 38.0, -37.0, 36.0, -35.0]) {
            assert!((got - want).abs() < 0.01, "{got} for {want}");
        }
    }

    #[test]
    fn a_block_as_wide_as_the_graph_holds_the_whole_spectrum() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]).unwrap();
        let all = Propagation::new(&graph, Normalization::Symmetric);
        let mut block = Block::random(5, 64, 1).unwrap();
        let values = block.best_within(|x, out| all.hop_into(x, 16, out)).unwrap();
        let degree = |v: usize| graph.degree(v as u32) as f64 + 1.0;
        let entry = |u: usize, v: usize| match u == v || graph.has_edge(u as u32, v as u32) {
            true => 1.0 / (degree(u) * degree(v)).sqrt(),
            false => 0.0,
        };
        let (full, _) = eigen(&(0..25).map(|at| entry(at / 5, at % 5)).collect::<Vec<_>>(), 5);
        assert!(values.iter().zip(&full).all(|(got, want)| (got - want).abs() < 1e-5), "{values:?} {full:?}");
    }

    #[test]
    fn random_numbers_have_mean_zero_and_variance_one() {
        let values = random(1000, 50, 50, 7).unwrap();
        let mean = values.iter().map(|&x| x as f64).sum::<f64>() / 5e4;
        let variance = values.iter().map(|&x| (x as f64).powi(2)).sum::<f64>() / 5e4;
        let fourth = values.iter().map(|&x| (x as f64).powi(4)).sum::<f64>() / 5e4;
        // Three standard errors of each estimate.
        assert!(mean.abs() < 0.014 && (variance - 1.0).abs() < 0.02 && (fourth - 3.0).abs() < 0.15);
    }
}
