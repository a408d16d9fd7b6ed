//! How columns of the features are scaled before rows are: rare words count a little more, and units do not decide.

use crate::Features;
use crate::matrix::{column_sums, mean_and_variance};
use crate::nn::first_layer;
use rayon::prelude::*;

/// Columns are divided by their deviation to this power at least: 0 would let frequent words decide, 1 the rarest.
const POWER: f64 = 0.25;
/// Values of columns that differ by this factor may have the same unit.
const ALIKE: f64 = 10.0;
/// Columns with a larger share of entries that are not zero are shifted to mean 0. Sparse ones stay sparse.
const DENSE: f64 = 0.5;

/// What is subtracted from each column, and the factor then.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaling {
    pub(crate) shift: Vec<f32>,
    pub(crate) factor: Vec<f32>,
}

/// What is known of a column.
struct Spread {
    mean: f64,
    variance: f64,
    /// The share of entries that are not zero.
    filled: f64,
}

impl Scaling {
    pub(crate) fn fit(x: &Features) -> Self {
        let columns = moments(x);
        let power = power(&columns);
        let shift = |column: &Spread| if column.filled > DENSE { column.mean as f32 } else { 0.0 };
        let factor = |column: &Spread| match column.varies() {
            true => column.variance.powf(-0.5 * power) as f32,
            false => 0.0,
        };
        Self { shift: columns.iter().map(shift).collect(), factor: columns.iter().map(factor).collect() }
    }

    /// The same for fewer columns: the others become zero.
    pub(crate) fn without(mut self, columns: &[usize]) -> Self {
        columns.iter().for_each(|&column| self.factor[column] = 0.0);
        self
    }

    /// The squared length of each row after scaling.
    pub(crate) fn squares(&self, x: &Features) -> Vec<f64> {
        let square =
            |value: f32, at: usize| ((value - self.shift[at]) as f64 * self.factor[at] as f64).powi(2);
        let zeros: f64 = (0..x.cols()).map(|at| square(0.0, at)).sum();
        let of = |row: usize| match x {
            Features::Dense(x) => x.row(row).iter().enumerate().map(|(at, &value)| square(value, at)).sum(),
            Features::Sparse(x) => {
                let (columns, values) = x.row(row);
                let change =
                    |(&at, &value): (&u32, &f32)| square(value, at as usize) - square(0.0, at as usize);
                (zeros + columns.iter().zip(values).map(change).sum::<f64>()).max(0.0)
            }
        };
        (0..x.rows()).into_par_iter().map(of).collect()
    }

    /// A matrix with one row per column, each times the factor of that column.
    pub(crate) fn scaled(&self, matrix: &[f32], size: usize) -> Vec<f32> {
        let rows = matrix.chunks_exact(size).zip(&self.factor);
        rows.flat_map(|(row, factor)| row.iter().map(move |value| value * factor)).collect()
    }

    /// Writes the transposed scaled features times `rows`, which have `size` columns.
    pub(crate) fn gather(&self, x: &Features, rows: &[f32], size: usize, out: &mut [f32]) {
        first_layer::backward(x, rows, size, out);
        let sums = column_sums(rows, size);
        out.par_chunks_mut(size).zip(&self.shift).zip(&self.factor).for_each(|((row, &shift), factor)| {
            let each = row.iter_mut().zip(&sums);
            each.for_each(|(value, sum)| *value = factor * (*value - (shift as f64 * sum) as f32));
        });
    }
}

impl Spread {
    /// Whether its values differ by more than rounding.
    fn varies(&self) -> bool {
        self.variance > 1e-12 * self.mean * self.mean && self.variance > 1e-60
    }
}

/// The power of the deviations: the more the units of columns differ, the closer to 1, which ignores them.
fn power(columns: &[Spread]) -> f64 {
    // What a value is like where it is not zero: 1 for words that are there or not, however rare they are.
    let units = columns.iter().filter(|c| c.varies()).map(|c| c.variance / c.filled);
    let (least, most) = units.fold((f64::INFINITY, 0.0), |(a, b), unit| (unit.min(a), unit.max(b)));
    let ratio = (most / least).sqrt();
    if ratio > ALIKE { (1.0 - ALIKE.ln() / ratio.ln()).max(POWER) } else { POWER }
}

fn moments(x: &Features) -> Vec<Spread> {
    let rows = x.rows().max(1) as f64;
    let mut filled = vec![0u32; x.cols()];
    let (mean, variance) = match x {
        Features::Dense(x) => {
            for row in x.values().chunks_exact(x.cols().max(1)) {
                filled.iter_mut().zip(row).for_each(|(filled, &value)| *filled += u32::from(value != 0.0));
            }
            mean_and_variance(x.values(), x.cols())
        }
        Features::Sparse(x) => {
            let (mut sums, mut squares) = (vec![0.0; x.cols()], vec![0.0; x.cols()]);
            for row in 0..x.rows() {
                let (columns, values) = x.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    let (at, value) = (column as usize, value as f64);
                    filled[at] += u32::from(value != 0.0);
                    sums[at] += value;
                    squares[at] += value * value;
                }
            }
            let mean: Vec<f64> = sums.iter().map(|sum| sum / rows).collect();
            let variance =
                squares.iter().zip(&mean).map(|(square, mean)| (square / rows - mean * mean).max(0.0));
            let variance = variance.collect();
            (mean, variance)
        }
    };
    let each = mean.into_iter().zip(variance).zip(filled);
    each.map(|((mean, variance), filled)| Spread { mean, variance, filled: filled as f64 / rows }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense};

    fn dense(columns: usize, values: &[f32]) -> Features {
        Features::Dense(Dense::new(values.len() / columns, columns, values.to_vec()).unwrap())
    }

    #[test]
    fn sparse_and_dense_features_are_scaled_alike() {
        // The second column is dense, the third constant, the fourth empty.
        let values = [0., 5., 1., 0., 2., 4., 1., 0., 0., 9., 1., 0., 0., -3., 1., 0.];
        let sparse = Csr::new(
            4,
            vec![0, 2, 5, 7, 9],
            vec![1, 2, 0, 1, 2, 1, 2, 1, 2],
            vec![5., 1., 2., 4., 1., 9., 1., -3., 1.],
        );
        let (x, sparse) = (dense(4, &values), Features::Sparse(sparse.unwrap()));
        let (a, b) = (Scaling::fit(&x), Scaling::fit(&sparse));
        let same = |a: f64, b: f64| (a - b).abs() < 1e-5 * (1.0 + a.abs());
        assert!(a.factor.iter().zip(&b.factor).all(|(&a, &b)| same(a as f64, b as f64)), "{a:?} {b:?}");
        assert_eq!((a.shift[0], a.shift[1], a.factor[2], a.factor[3]), (0.0, 3.75, 0.0, 0.0));
        let squares: Vec<f64> = values
            .chunks(4)
            .map(|row| (0..4).map(|at| ((row[at] - a.shift[at]) * a.factor[at]).powi(2) as f64).sum())
            .collect();
        for found in [a.squares(&x), b.squares(&sparse)] {
            assert!(found.iter().zip(&squares).all(|(&a, &b)| same(a, b)), "{found:?} {squares:?}");
        }
        let rows = [1., -1., 0.5, 2., 3., 0., -2., 1.];
        let wanted: Vec<f32> = (0..4)
            .flat_map(|at| {
                [0, 1].map(|to| {
                    (0..4)
                        .map(|row| a.factor[at] * (values[row * 4 + at] - a.shift[at]) * rows[row * 2 + to])
                        .sum()
                })
            })
            .collect();
        for (columns, x) in [(&a, &x), (&b, &sparse)] {
            let mut out = vec![0.0; 8];
            columns.gather(x, &rows, 2, &mut out);
            assert!(out.iter().zip(&wanted).all(|(&a, &b)| same(a as f64, b as f64)), "{out:?} {wanted:?}");
        }
    }

    #[test]
    fn units_do_not_decide_and_rare_words_do_not_either() {
        // Both columns are measured; the second in units a million times smaller.
        let measured = Scaling::fit(&dense(2, &[1.0, 3e6, 2.0, 1e6, 4.0, 2e6, 8.0, 5e6]));
        let spread = |at: usize, deviation: f32| measured.factor[at] * deviation;
        let ratio = spread(1, 1.479e6) / spread(0, 2.681);
        assert!((1.0..10.5).contains(&ratio), "{ratio}");
        // One word in every second row, the other in one of eight: the fourth root of their deviations.
        let words: Vec<f32> = (0..8).flat_map(|row| [(row % 2) as f32, f32::from(row == 0)]).collect();
        let words = Scaling::fit(&dense(2, &words));
        let wanted = (0.25f32 / (7.0 / 64.0)).powf(0.125);
        assert!((words.factor[1] / words.factor[0] - wanted).abs() < 1e-5, "{words:?}");
    }
}
