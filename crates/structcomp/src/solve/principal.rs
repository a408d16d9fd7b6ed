//! The principal axes of features whose rows are scaled to length one, from a few passes over the data.
//!
//! Narrow features: the eigenvectors of their covariance. Wide ones: randomised subspace iteration, which reads the
//! features twice per round.

use crate::encoder::{Projection, Scaling, column_products, inverse_root};
use crate::matrix::eigen::{eigen, orthonormalizing};
use crate::matrix::tall::gram;
use crate::matrix::{Right, Sum, View, column_sums, product};
use crate::nn::first_layer;
use crate::random::normal;
use crate::{Features, Seed};
use rayon::prelude::*;

/// Further directions that speed up convergence.
pub(super) const EXTRA: usize = 16;
/// Rounds of subspace iteration: enough for axes that only serve as coordinates.
const ROUNDS: usize = 2;
/// Directions with a smaller share of the largest variance are rounding errors.
const LEAST: f64 = 1e-7;

/// The first `count` principal axes at most, but at least one.
pub(crate) fn axes(x: &Features, count: usize, seed: Seed) -> Projection {
    axes_of(x, Scaling::fit(x), count, seed)
}

/// The same for columns that are scaled in a given way.
pub(super) fn axes_of(x: &Features, scaling: Scaling, count: usize, seed: Seed) -> Projection {
    let scaled = Scaled::new(x, &scaling);
    let (nodes, width) = (x.rows(), x.cols());
    let size = (count + EXTRA).min(width).min(nodes.max(1));
    let mut span = if size == width { identity(width) } else { random(width, size, seed) };
    if size < width {
        for _ in 0..ROUNDS {
            let rows = scaled.project(&span, size);
            span = scaled.gather(&rows, size);
            orthonormalize(&mut span, size);
        }
    }
    let (_, covariance) = covariance(&scaled.project(&span, size), size);
    let (variances, axes) = eigen(&covariance, size);
    let largest = variances.first().copied().unwrap_or(0.0);
    let kept = variances.iter().take(count).filter(|&&value| value > LEAST * largest).count().max(1);
    let axes: Vec<f32> = axes.chunks_exact(size).flat_map(|row| &row[..kept]).map(|&v| v as f32).collect();
    let mut basis = vec![0.0; span.len() / size * kept];
    product(&mut basis, View::new(&span, size), View::new(&axes, kept), Sum::Set);
    let mean = column_products(&scaled.mean, &basis, kept);
    let basis = scaling.scaled(&basis, kept);
    Projection { scaling, basis, mean }
}

/// Features with scaled columns and then rows of length one, centred, without being stored.
struct Scaled<'a> {
    x: &'a Features,
    columns: &'a Scaling,
    /// One over the length of each row.
    scale: Vec<f32>,
    mean: Vec<f32>,
}

impl<'a> Scaled<'a> {
    fn new(x: &'a Features, columns: &'a Scaling) -> Self {
        let scale: Vec<f32> = columns.squares(x).into_iter().map(inverse_root).collect();
        let mut mean = vec![0.0; x.cols()];
        columns.gather(x, &scale, 1, &mut mean);
        mean.iter_mut().for_each(|mean| *mean /= x.rows().max(1) as f32);
        Self { x, columns, scale, mean }
    }

    /// The rows times a matrix with `size` columns.
    fn project(&self, matrix: &[f32], size: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.x.rows() * size];
        let scaled = self.columns.scaled(matrix, size);
        first_layer::forward(self.x, &scaled, size, &mut out);
        let shift = column_products(&self.columns.shift, &scaled, size);
        let mean = column_products(&self.mean, matrix, size);
        out.par_chunks_mut(size).zip(&self.scale).for_each(|(row, scale)| {
            let each = row.iter_mut().zip(&shift).zip(&mean);
            each.for_each(|((value, shift), mean)| *value = (*value - shift) * scale - mean);
        });
        out
    }

    /// The transposed rows times `rows`.
    fn gather(&self, rows: &[f32], size: usize) -> Vec<f32> {
        let sums = column_sums(rows, size);
        let mut weighted = rows.to_vec();
        weighted.par_chunks_mut(size).zip(&self.scale).for_each(|(row, scale)| {
            row.iter_mut().for_each(|value| *value *= scale);
        });
        let mut out = vec![0.0; self.x.cols() * size];
        self.columns.gather(self.x, &weighted, size, &mut out);
        out.par_chunks_mut(size).zip(&self.mean).for_each(|(row, mean)| {
            row.iter_mut().zip(&sums).for_each(|(value, sum)| *value -= (*mean as f64 * sum) as f32);
        });
        out
    }
}

/// The mean of each column, and the covariance of the columns.
pub(crate) fn covariance(rows: &[f32], size: usize) -> (Vec<f64>, Vec<f64>) {
    /// Rows of a partial sum at least; partial sums are added in f64.
    const ROWS: usize = 2048;
    const PARTS: usize = 64;
    let nodes = rows.len() / size.max(1);
    let count = nodes.max(1) as f64;
    let mean: Vec<f64> = column_sums(rows, size).iter().map(|sum| sum / count).collect();
    let shift: Vec<f32> = mean.iter().map(|&mean| mean as f32).collect();
    let block = nodes.div_ceil(PARTS).max(ROWS) * size;
    let partial = |rows: &[f32]| {
        let centred: Vec<f32> = rows
            .chunks_exact(size)
            .flat_map(|row| row.iter().zip(&shift).map(|(value, mean)| value - mean))
            .collect();
        let (view, mut out) = (View::new(&centred, size), vec![0.0; size * size]);
        Right::here(view, size).multiply(view.t(), &mut out, Sum::Set);
        out
    };
    let parts: Vec<Vec<f32>> = rows.par_chunks(block.max(1)).map(partial).collect();
    let mut total = vec![0.0; size * size];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part as f64 / count);
    }
    (mean, total)
}

fn orthonormalize(columns: &mut Vec<f32>, size: usize) {
    let turn: Vec<f32> =
        orthonormalizing(&gram_of(columns, size), size).iter().map(|&value| value as f32).collect();
    let mut out = vec![0.0; columns.len()];
    product(&mut out, View::new(columns, size), View::new(&turn, size), Sum::Set);
    *columns = out;
}

/// The products of all pairs of columns.
fn gram_of(columns: &[f32], size: usize) -> Vec<f64> {
    use crate::matrix::tall::PAD;
    let stride = size.next_multiple_of(PAD);
    let pad =
        |row: &[f32]| row.iter().copied().chain(std::iter::repeat_n(0.0, stride - size)).collect::<Vec<_>>();
    let padded: Vec<f32> = columns.chunks_exact(size).flat_map(pad).collect();
    gram(&padded, &padded, stride, size)
}

fn identity(size: usize) -> Vec<f32> {
    (0..size * size).map(|at| (at % (size + 1) == 0) as u8 as f32).collect()
}

fn random(rows: usize, size: usize, seed: Seed) -> Vec<f32> {
    let mut rng = seed.stream("principal axes");
    (0..rows * size).map(|_| normal(&mut rng)).collect()
}
