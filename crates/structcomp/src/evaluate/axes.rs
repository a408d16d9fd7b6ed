//! The directions in which rows vary most, without labels.

use crate::matrix::eigen::eigen_within;
use crate::matrix::tall::{PAD, gram};
use crate::matrix::{Cholesky, Sum, View, column_sums, product, symmetric_product};
use crate::nn::first_layer;
use crate::random::{Rng, normal};
use crate::{Dense, Features, Seed};

/// Rows that are looked at, at equal distances: a few thousand tell the leading directions well enough.
const ROWS: usize = 8192;
/// Additional directions, which make the wanted ones more accurate.
const EXTRA: usize = 16;
/// Products of a random block with XᵀX before the directions are read off.
const ROUNDS: usize = 3;
/// Up to here XᵀX is formed once; wider rows are multiplied twice instead.
const FORMED: usize = 1024;
/// Added to the diagonal of a Gram matrix, relative to its mean, so that it has a Cholesky factor.
const RIDGE: f64 = 1e-9;

/// Directions of the space of rows.
pub(crate) struct Axes {
    /// One row per column of the rows, one column per axis.
    basis: Vec<f32>,
    count: usize,
}

impl Axes {
    /// The first `count` principal axes of the rows, by subspace iteration.
    pub(crate) fn principal(x: &Features, count: usize) -> Self {
        let (rows, cols) = (x.rows(), x.cols());
        let count = count.min(cols);
        let step = rows.div_ceil(ROWS).max(1);
        let some: Vec<u32> = (0..rows).step_by(step).map(|row| row as u32).collect();
        let scatter = Scatter::of(x.select(&some));
        let width = (count + EXTRA).min(cols);
        let stride = width.next_multiple_of(PAD);
        let mut rng: Rng = Seed(0).stream("axes");
        let mut block = vec![0.0; cols * stride];
        for row in block.chunks_exact_mut(stride) {
            row[..width].iter_mut().for_each(|value| *value = normal(&mut rng));
        }
        for _ in 1..ROUNDS {
            block = orthonormal(scatter.times(&block, stride), stride, width);
        }
        let image = scatter.times(&block, stride);
        let (g, h) = (gram(&block, &block, stride, width), gram(&block, &image, stride, width));
        let (_, turn) = eigen_within(&g, &h, width);
        let mut leading = vec![0f32; stride * count];
        for (to, from) in leading.chunks_exact_mut(count).zip(turn.chunks_exact(width)) {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
        }
        let mut basis = vec![0.0; cols * count];
        product(&mut basis, View::new(&block, stride), View::new(&leading, count), Sum::Set);
        Self { basis, count }
    }

    /// The rows in these directions.
    pub(crate) fn project(&self, x: &Features) -> Dense {
        let mut out = vec![0.0; x.rows() * self.count];
        first_layer::forward(x, &self.basis, self.count, &mut out);
        Dense::computed(self.count, out).with_rows(x.rows())
    }
}

/// (X − mean)ᵀ(X − mean) as a map.
struct Scatter {
    x: Features,
    mean: Vec<f32>,
    formed: Option<Vec<f32>>,
}

impl Scatter {
    fn of(x: Features) -> Self {
        let (rows, cols) = (x.rows(), x.cols());
        let mut mean = vec![0.0; cols];
        first_layer::backward(&x, &vec![1.0 / rows.max(1) as f32; rows], 1, &mut mean);
        if cols > FORMED {
            return Self { x, mean, formed: None };
        }
        let mut dense = x.to_dense().into_values();
        for row in dense.chunks_exact_mut(cols.max(1)) {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
        }
        let mut formed = vec![0.0; cols * cols];
        symmetric_product(&mut formed, View::new(&dense, cols).t(), View::new(&dense, cols));
        Self { x, mean, formed: Some(formed) }
    }

    fn times(&self, block: &[f32], stride: usize) -> Vec<f32> {
        let cols = self.mean.len();
        let mut out = vec![0.0; cols * stride];
        if let Some(formed) = &self.formed {
            product(&mut out, View::new(formed, cols), View::new(block, stride), Sum::Set);
            return out;
        }
        let mut image = vec![0.0; self.x.rows() * stride];
        first_layer::forward(&self.x, block, stride, &mut image);
        let mut offset = vec![0.0; stride];
        product(&mut offset, View::new(&self.mean, cols), View::new(block, stride), Sum::Set);
        for row in image.chunks_exact_mut(stride) {
            row.iter_mut().zip(&offset).for_each(|(value, offset)| *value -= offset);
        }
        first_layer::backward(&self.x, &image, stride, &mut out);
        // The columns of the image sum to zero but for rounding, which a large mean would spread over all axes.
        let sums = column_sums(&image, stride);
        for (row, &mean) in out.chunks_exact_mut(stride).zip(&self.mean) {
            row.iter_mut().zip(&sums).for_each(|(value, sum)| *value -= (mean as f64 * sum) as f32);
        }
        out
    }
}

/// The same span with nearly orthonormal columns. Columns are scaled first, as their lengths differ by orders of
/// magnitude; those that depend on others become small.
pub(super) fn orthonormal(mut block: Vec<f32>, stride: usize, width: usize) -> Vec<f32> {
    let g = gram(&block, &block, stride, width);
    let largest = g.iter().step_by(width + 1).fold(0.0, |a: f64, &b| a.max(b));
    if largest == 0.0 || !largest.is_finite() {
        return block;
    }
    let shrink = (1.0 / largest.sqrt()) as f32;
    block.iter_mut().for_each(|value| *value *= shrink);
    let mut g: Vec<f64> = g.iter().map(|g| g / largest).collect();
    g.iter_mut().step_by(width + 1).for_each(|diagonal| *diagonal += RIDGE);
    let Some(cholesky) = Cholesky::new(g, width) else { return block };
    // Y L^-T, with G = LLᵀ.
    let inverse = cholesky.inverse_of_factor();
    let mut turn = vec![0f32; stride * stride];
    for row in 0..width {
        for col in row..width {
            turn[row * stride + col] = inverse[col * width + row] as f32;
        }
    }
    let mut out = vec![0.0; block.len()];
    product(&mut out, View::new(&block, stride), View::new(&turn, stride), Sum::Set);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    /// Rows whose column `c` has standard deviation 2^-c, turned by nothing.
    fn falling(rows: usize, cols: usize) -> Vec<f32> {
        let mut rng: Rng = Seed(3).stream("falling");
        (0..rows * cols).map(|at| normal(&mut rng) * 0.8f32.powi((at % cols) as i32) + 3.0).collect()
    }

    #[test]
    fn the_axes_of_independent_columns_are_those_columns() {
        for cols in [40, FORMED + 8] {
            let x = Features::Dense(Dense::new(3000, cols, falling(3000, cols)).unwrap());
            let axes = Axes::principal(&x, 6);
            for c in 0..6 {
                // Most of each axis lies in the leading columns, and axes have length one.
                let column: Vec<f32> = axes.basis.iter().skip(c).step_by(6).copied().collect();
                let length: f32 = column.iter().map(|v| v * v).sum();
                let early: f32 = column[..10].iter().map(|v| v * v).sum();
                assert!((length - 1.0).abs() < 1e-3 && early > 0.8, "{cols} {c}: {length} {early}");
            }
        }
    }

    #[test]
    fn sparse_and_dense_rows_have_the_same_axes() {
        let values: Vec<f32> = (0..60).map(|at| 1.0 + (at * 7 % 11) as f32).collect();
        let offsets: Vec<u64> = (0..=60).collect();
        let columns: Vec<u32> = (0..60).map(|at| at * 5 % 13).collect();
        let sparse = Features::Sparse(Csr::new(13, offsets, columns, values).unwrap());
        let dense = Features::Dense(sparse.to_dense());
        let [a, b] = [&sparse, &dense].map(|x| Axes::principal(x, 4).project(x));
        // Axes may point either way, but products of rows do not depend on that.
        let product = |x: &Dense, at: usize| x.row(0).iter().zip(x.row(at)).map(|(a, b)| a * b).sum::<f32>();
        assert!((0..60).all(|at| (product(&a, at) - product(&b, at)).abs() < 0.05));
    }

    #[test]
    fn rows_of_few_directions_leave_the_other_axes_empty() {
        let x: Vec<f32> = (0..200 * 30).map(|at| ((at / 30 % 7) * (1 + at % 30)) as f32).collect();
        let x = Features::Dense(Dense::new(200, 30, x).unwrap());
        let projected = Axes::principal(&x, 5).project(&x);
        let spread = |c: usize| {
            let column: Vec<f32> = projected.values().iter().skip(c).step_by(5).copied().collect();
            let mean = column.iter().sum::<f32>() / 200.0;
            column.iter().map(|v| (v - mean).abs()).fold(0.0, f32::max)
        };
        assert!(
            spread(0) > 100.0 && (1..5).all(|c| spread(c) < 0.5),
            "{:?}",
            (0..5).map(spread).collect::<Vec<_>>()
        );
    }
}
