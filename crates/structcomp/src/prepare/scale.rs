//! Scaling of features, by rows or by columns.

use crate::matrix::mean_and_variance;
use crate::{Dense, Features};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How features are scaled before anything else sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureNorm {
    /// As they are in the file; what the paper's code does.
    #[default]
    None,
    /// Each row divided by the sum of its absolute values.
    RowL1,
    /// Each row divided by its Euclidean length.
    RowL2,
    /// Each column shifted to mean 0 and scaled to deviation 1; the result is dense.
    Standardize,
}

/// A scaling with the statistics of the features it was fitted on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) norm: FeatureNorm,
    /// Of each column, for `Standardize`.
    pub(super) mean: Vec<f64>,
    /// One over the deviation of each column; 0 for a constant column.
    pub(super) scale: Vec<f64>,
}

impl Scale {
    pub(super) fn fit(norm: FeatureNorm, x: &Features) -> Self {
        let (mean, scale) = match norm {
            FeatureNorm::Standardize => column_scale(&x.to_dense()),
            _ => (Vec::new(), Vec::new()),
        };
        Self { norm, mean, scale }
    }

    /// Rows and columns of zeros stay zeros.
    pub(super) fn apply<'x>(&self, x: Cow<'x, Features>) -> Cow<'x, Features> {
        match self.norm {
            FeatureNorm::None => x,
            FeatureNorm::RowL1 => {
                Cow::Owned(x.into_owned().scale_rows(|row| row.iter().map(|x| x.abs() as f64).sum()))
            }
            FeatureNorm::RowL2 => Cow::Owned(
                x.into_owned().scale_rows(|row| row.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt()),
            ),
            FeatureNorm::Standardize => Cow::Owned(Features::Dense(self.standardized(x.to_dense()))),
        }
    }

    fn standardized(&self, x: Dense) -> Dense {
        let cols = x.cols();
        let mut values = x.into_values();
        values.par_chunks_mut(cols.max(1)).for_each(|row| {
            for ((value, mean), scale) in row.iter_mut().zip(&self.mean).zip(&self.scale) {
                *value = ((*value as f64 - mean) * scale) as f32;
            }
        });
        Dense::computed(cols, values)
    }
}

/// The mean of each column and one over its deviation.
fn column_scale(x: &Dense) -> (Vec<f64>, Vec<f64>) {
    let (mean, variance) = mean_and_variance(x.values(), x.cols());
    let scale = |variance: f64| if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 };
    (mean, variance.into_iter().map(scale).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    fn dense() -> Features {
        Features::Dense(Dense::new(3, 2, vec![3.0, -4.0, 0.0, 0.0, 1.0, 0.0]).unwrap())
    }

    fn sparse() -> Features {
        Features::Sparse(Csr::new(2, vec![0, 2, 2, 3], vec![0, 1, 0], vec![3.0, -4.0, 1.0]).unwrap())
    }

    fn scaled(x: Features, norm: FeatureNorm) -> Dense {
        Scale::fit(norm, &x).apply(Cow::Owned(x)).to_dense()
    }

    #[test]
    fn dense_and_sparse_agree() {
        for norm in [FeatureNorm::None, FeatureNorm::RowL1, FeatureNorm::RowL2, FeatureNorm::Standardize] {
            assert_eq!(scaled(dense(), norm), scaled(sparse(), norm), "{norm:?}");
        }
    }

    #[test]
    fn norms_are_what_they_say() {
        assert_eq!(scaled(dense(), FeatureNorm::RowL2).values(), [0.6, -0.8, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(scaled(dense(), FeatureNorm::RowL1).row(0), [3.0 / 7.0, -4.0 / 7.0]);
        let columns = scaled(dense(), FeatureNorm::Standardize);
        for column in 0..2 {
            let values: Vec<f64> = (0..3).map(|row| columns.row(row)[column] as f64).collect();
            let square: f64 = values.iter().map(|x| x * x).sum();
            assert!(values.iter().sum::<f64>().abs() < 1e-6 && (square - 3.0).abs() < 1e-5);
        }
    }

    #[test]
    fn nothing_is_scaled_to_nothing() {
        let empty = Features::Dense(Dense::new(0, 2, vec![]).unwrap());
        assert_eq!(scaled(empty, FeatureNorm::Standardize).rows(), 0);
    }
}
