//! Batch norm: each column standardised over the rows of a view, then scaled and shifted as learnt.

use crate::matrix::{column_moments, mean_and_variance};
use rayon::prelude::*;

/// Added to variances, so that a constant column is divided by something.
pub(crate) const LEAST_VARIANCE: f64 = 1e-5;
/// The share of the newest view in the running statistics.
const MOMENTUM: f64 = 0.1;

/// Mean and variance of each column over the rows of a view.
#[derive(Clone, Debug)]
pub(super) struct Statistics {
    mean: Vec<f64>,
    variance: Vec<f64>,
    rows: usize,
}

impl Statistics {
    fn of(values: &[f32], width: usize) -> Self {
        let (mean, variance) = mean_and_variance(values, width);
        Self { mean, variance, rows: values.len() / width }
    }

    /// One over the standard deviation.
    fn scale(&self) -> Vec<f32> {
        self.variance.iter().map(|variance| (1.0 / (variance + LEAST_VARIANCE).sqrt()) as f32).collect()
    }

    /// Moves running means and variances, one after the other in `running`, towards these. As in torch the
    /// variance that is remembered is the unbiased one.
    pub(super) fn remember(&self, running: &mut [f32]) {
        let unbiased = self.rows as f64 / (self.rows as f64 - 1.0).max(1.0);
        let newest = self.mean.iter().copied().chain(self.variance.iter().map(|v| v * unbiased));
        for (old, new) in running.iter_mut().zip(newest) {
            *old = ((1.0 - MOMENTUM) * *old as f64 + MOMENTUM * new) as f32;
        }
    }
}

/// Standardises the columns of each of `views` equal shares of the rows.
pub(super) fn standardize(values: &mut [f32], width: usize, views: usize) -> Vec<Statistics> {
    let share = values.len() / views.max(1);
    let of_view = |values: &mut [f32]| {
        let statistics = Statistics::of(values, width);
        let scale = statistics.scale();
        values.par_chunks_mut(width).for_each(|row| {
            for ((x, mean), scale) in row.iter_mut().zip(&statistics.mean).zip(&scale) {
                *x = (*x as f64 - mean) as f32 * scale;
            }
        });
        statistics
    };
    values.chunks_mut(share.max(1)).map(of_view).collect()
}

/// Scales and shifts standardised columns; `learnt` holds the scales, then the shifts.
pub(super) fn rescale(standard: &[f32], learnt: &[f32]) -> Vec<f32> {
    let (scale, shift) = learnt.split_at(learnt.len() / 2);
    let mut out = standard.to_vec();
    out.par_chunks_mut(scale.len()).for_each(|row| {
        for ((x, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
            *x = *x * scale + shift;
        }
    });
    out
}

/// Turns the gradient of what `rescale` gave into that of what `standardize` was given; gives that of what
/// is learnt.
pub(super) fn backward(
    gradient: &mut [f32],
    standard: &[f32],
    statistics: &[Statistics],
    learnt: &[f32],
) -> Vec<f32> {
    let width = learnt.len() / 2;
    let mut of_learnt = vec![0f64; learnt.len()];
    let share = (gradient.len() / statistics.len().max(1)).max(1);
    let views = gradient.chunks_mut(share).zip(standard.chunks(share)).zip(statistics);
    for ((gradient, standard), statistics) in views {
        let (sums, along) = column_moments(gradient, standard, width);
        for (at, of) in along.iter().chain(&sums).enumerate() {
            of_learnt[at] += of;
        }
        // With g = γ ∘ gradient: (g − mean(g) − x̂ mean(g ∘ x̂)) / √(variance + ε).
        let rows = statistics.rows as f64;
        let means: Vec<(f32, f32)> = sums
            .iter()
            .zip(&along)
            .map(|(sum, along)| ((sum / rows) as f32, (along / rows) as f32))
            .collect();
        let scale: Vec<f32> = statistics.scale().iter().zip(learnt).map(|(a, b)| a * b).collect();
        gradient.par_chunks_mut(width).zip(standard.par_chunks(width)).for_each(|(gradient, standard)| {
            let columns = means.iter().zip(&scale);
            for ((g, x), ((mean, along), scale)) in gradient.iter_mut().zip(standard).zip(columns) {
                *g = scale * (*g - mean - x * along);
            }
        });
    }
    of_learnt.iter().map(|&sum| sum as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_each_view_are_standardised_by_themselves() {
        // Two views of three rows; the second column of the second is constant.
        let mut values = vec![1.0, 0.0, 2.0, 3.0, 3.0, 6.0, 10.0, 5.0, 20.0, 5.0, 30.0, 5.0];
        let statistics = standardize(&mut values, 2, 2);
        let root = 1.5f32.sqrt();
        let expected = [-root, -root, 0.0, 0.0, root, root, -root, 0.0, 0.0, 0.0, root, 0.0];
        assert!(values.iter().zip(expected).all(|(got, want)| (got - want).abs() < 1e-4), "{values:?}");
        // A tenth of the newest: mean 20 and unbiased variance 100, mean 5 and none.
        let mut running = vec![0.0, 0.0, 1.0, 1.0];
        statistics[1].remember(&mut running);
        for (got, want) in running.iter().zip([2.0, 0.5, 10.9, 0.9]) {
            assert!((got - want).abs() < 1e-5, "{running:?}");
        }
    }

    #[test]
    fn a_single_row_becomes_the_shift() {
        let mut row = vec![3.0, -4.0];
        let statistics = standardize(&mut row, 2, 1);
        assert_eq!(rescale(&row, &[2.0, 2.0, 0.5, -0.5]), [0.5, -0.5]);
        let mut gradient = vec![1.0, 2.0];
        assert_eq!(backward(&mut gradient, &row, &statistics, &[2.0, 2.0, 0.5, -0.5]), [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(gradient, [0.0, 0.0]);
    }
}
