//! Node features: one row a node, dense or sparse.

pub(crate) mod eigen;
mod products;
mod spectral;
mod stand_in;

pub use stand_in::StandIn;
pub(crate) use stand_in::normal;

use crate::{Buffer, Csr, Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The feature matrix X, one row a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value stored, row by row.
    Dense(Dense),
    /// Only the non-zero values stored.
    Sparse(Csr),
}

/// A row-major matrix of finite `f32`, owned, mapped or lent.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    rows: usize,
    cols: usize,
    values: Buffer<f32>,
}

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

impl Dense {
    /// A matrix from its values, row by row.
    pub fn new(rows: usize, cols: usize, values: impl Into<Buffer<f32>>) -> Result<Self> {
        let values = values.into();
        if rows.checked_mul(cols) != Some(values.len()) {
            return Err(Error::Input(format!("{} values do not fill {rows} x {cols}", values.len())));
        }
        // Whole blocks are checked many values at a time; only a bad one is searched.
        let bad = values.par_chunks(BLOCK).position_first(|block| !all_finite(block));
        if let Some(at) = bad.and_then(|block| {
            let start = block * BLOCK;
            values[start..].iter().position(|value| !value.is_finite()).map(|at| start + at)
        }) {
            let (row, column, value) = (at / cols, at % cols, values[at]);
            return Err(Error::Input(format!("row {row}, column {column} is {value}")));
        }
        Ok(Self { rows, cols, values })
    }

    /// Values that were computed, of which nobody knows whether they are finite.
    pub(crate) fn computed(cols: usize, values: Vec<f32>) -> Self {
        let rows = values.len().checked_div(cols).unwrap_or(0);
        Self { rows, cols, values: values.into() }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether the values lie in a mapped file.
    pub fn is_mapped(&self) -> bool {
        self.values.is_mapped()
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, row by row, copied only where they are not owned.
    pub fn into_values(self) -> Vec<f32> {
        self.values.into_vec()
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }
}

impl Features {
    /// These rows and below them other ones.
    pub(crate) fn above(&self, below: &Self) -> Result<Self> {
        match (self, below) {
            (Self::Sparse(a), Self::Sparse(b)) => Ok(Self::Sparse(a.above(b))),
            (Self::Dense(a), Self::Dense(b)) => {
                let values = [a.values(), b.values()].concat();
                Dense::new(a.rows() + b.rows(), a.cols(), values).map(Self::Dense)
            }
            (a, b) => Self::Dense(a.to_dense()).above(&Self::Dense(b.to_dense())),
        }
    }

    /// At most so many rows, evenly spread.
    pub(crate) fn spread_rows(&self, count: usize) -> Self {
        let rows: Vec<u32> = (0..self.rows() as u32).step_by(self.rows().div_ceil(count).max(1)).collect();
        match self {
            Self::Sparse(x) => Self::Sparse(x.select(&rows)),
            Self::Dense(x) => {
                let values: Vec<f32> = rows.iter().flat_map(|&row| x.row(row as usize)).copied().collect();
                Self::Dense(Dense { rows: rows.len(), cols: x.cols(), values: values.into() })
            }
        }
    }

    /// How many rows, that is nodes, there are.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(x) => x.rows(),
            Self::Sparse(x) => x.rows(),
        }
    }

    /// How many features a node has.
    pub fn cols(&self) -> usize {
        match self {
            Self::Dense(x) => x.cols(),
            Self::Sparse(x) => x.cols(),
        }
    }

    /// How many values are not zero.
    pub fn nonzeros(&self) -> usize {
        match self {
            Self::Dense(x) => x.values().par_iter().filter(|&&value| value != 0.0).count(),
            Self::Sparse(x) => x.parts().2.par_iter().filter(|&&value| value != 0.0).count(),
        }
    }

    /// How many rows have no value other than zero.
    pub fn zero_rows(&self) -> usize {
        let is_zero = |row: usize| match self {
            Self::Dense(x) => x.row(row).iter().all(|&value| value == 0.0),
            Self::Sparse(x) => x.row(row).1.iter().all(|&value| value == 0.0),
        };
        (0..self.rows()).into_par_iter().filter(|&row| is_zero(row)).count()
    }

    /// Writes a row into `out`, zeros included.
    pub fn write_row(&self, row: usize, out: &mut [f32]) {
        match self {
            Self::Dense(x) => out.copy_from_slice(x.row(row)),
            Self::Sparse(x) => x.write_row(row, out),
        }
    }

    /// The given rows, in that order.
    pub fn select(&self, rows: &[u32]) -> Self {
        match self {
            Self::Dense(x) => {
                let values: Vec<f32> = rows.iter().flat_map(|&row| x.row(row as usize)).copied().collect();
                Self::Dense(Dense { rows: rows.len(), cols: x.cols, values: values.into() })
            }
            Self::Sparse(x) => Self::Sparse(x.select(rows)),
        }
    }

    /// The same matrix with every value stored.
    pub fn to_dense(&self) -> Dense {
        match self {
            Self::Dense(x) => x.clone(),
            Self::Sparse(x) => {
                let cols = x.cols();
                let mut values = vec![0.0; x.rows() * cols];
                // A chunk size of zero would panic; without columns there is nothing to write.
                values.par_chunks_mut(cols.max(1)).enumerate().for_each(|(row, out)| x.write_row(row, out));
                Dense { rows: x.rows(), cols, values: values.into() }
            }
        }
    }

    /// The features scaled as asked. Rows and columns of zeros stay zeros.
    pub fn normalized(self, norm: FeatureNorm) -> Self {
        match norm {
            FeatureNorm::None => self,
            FeatureNorm::RowL1 => self.scale_rows(|row| row.iter().map(|x| x.abs() as f64).sum()),
            FeatureNorm::RowL2 => {
                self.scale_rows(|row| row.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt())
            }
            FeatureNorm::Standardize => Self::Dense(standardized(self.to_dense())),
        }
    }

    fn scale_rows(self, length: impl Fn(&[f32]) -> f64 + Sync) -> Self {
        let scale = |row: &mut [f32]| {
            let length = length(row);
            if length > 0.0 {
                row.iter_mut().for_each(|x| *x = (*x as f64 / length) as f32);
            }
        };
        match self {
            Self::Dense(Dense { rows, cols, values }) => {
                let mut values = values.into_vec();
                values.par_chunks_mut(cols.max(1)).for_each(scale);
                Self::Dense(Dense { rows, cols, values: values.into() })
            }
            Self::Sparse(mut x) => {
                (0..x.rows()).for_each(|row| scale(x.row_values_mut(row)));
                Self::Sparse(x)
            }
        }
    }
}

/// Without an early exit, so that the compiler can use vectors.
fn all_finite(values: &[f32]) -> bool {
    values.iter().fold(true, |finite, value| finite & value.is_finite())
}

/// Rows of one partial sum: fixed, so that sums do not depend on the number of threads.
const BLOCK: usize = 4096;

fn standardized(x: Dense) -> Dense {
    let (rows, cols) = (x.rows, x.cols);
    if rows == 0 || cols == 0 {
        return x;
    }
    let sums = |term: &(dyn Fn(usize, f32) -> f64 + Sync)| -> Vec<f64> {
        let partial: Vec<Vec<f64>> = x
            .values
            .par_chunks(BLOCK * cols)
            .map(|block| {
                let mut sums = vec![0.0; cols];
                for row in block.chunks_exact(cols) {
                    row.iter().enumerate().for_each(|(column, &value)| sums[column] += term(column, value));
                }
                sums
            })
            .collect();
        let mut total = vec![0.0; cols];
        partial.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(all, part)| *all += part));
        total
    };
    let mean: Vec<f64> = sums(&|_, value| value as f64).iter().map(|sum| sum / rows as f64).collect();
    let squares = sums(&|column, value| (value as f64 - mean[column]).powi(2));
    let scale: Vec<f64> = squares
        .iter()
        .map(|&square| if square > 0.0 { (rows as f64 / square).sqrt() } else { 0.0 })
        .collect();
    let mut values = x.values.into_vec();
    values.par_chunks_mut(cols).for_each(|row| {
        for (column, value) in row.iter_mut().enumerate() {
            *value = ((*value as f64 - mean[column]) * scale[column]) as f32;
        }
    });
    Dense { rows, cols, values: values.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense() -> Features {
        Features::Dense(Dense::new(3, 2, vec![3.0, -4.0, 0.0, 0.0, 1.0, 0.0]).unwrap())
    }

    fn sparse() -> Features {
        Features::Sparse(Csr::new(2, vec![0, 2, 2, 3], vec![0, 1, 0], vec![3.0, -4.0, 1.0]).unwrap())
    }

    #[test]
    fn dense_and_sparse_agree_in_everything() {
        assert_eq!(sparse().to_dense(), dense().to_dense());
        for norm in [FeatureNorm::None, FeatureNorm::RowL1, FeatureNorm::RowL2, FeatureNorm::Standardize] {
            let (a, b) = (dense().normalized(norm).to_dense(), sparse().normalized(norm).to_dense());
            assert_eq!(a, b, "{norm:?}");
        }
        assert_eq!((dense().nonzeros(), sparse().nonzeros()), (3, 3));
        assert_eq!((dense().zero_rows(), sparse().zero_rows()), (1, 1));
    }

    #[test]
    fn rows_are_selected_in_the_order_asked_for() {
        for x in [dense(), sparse()] {
            assert_eq!(x.select(&[2, 0, 0]).to_dense().values(), [1.0, 0.0, 3.0, -4.0, 3.0, -4.0]);
            assert_eq!((x.select(&[]).rows(), x.select(&[]).cols()), (0, 2));
        }
    }

    #[test]
    fn norms_are_what_they_say() {
        let l2 = dense().normalized(FeatureNorm::RowL2).to_dense();
        assert_eq!(l2.values(), [0.6, -0.8, 0.0, 0.0, 1.0, 0.0]);
        let l1 = dense().normalized(FeatureNorm::RowL1).to_dense();
        assert_eq!(l1.row(0), [3.0 / 7.0, -4.0 / 7.0]);
        let columns = dense().normalized(FeatureNorm::Standardize).to_dense();
        for column in 0..2 {
            let values: Vec<f64> = (0..3).map(|row| columns.row(row)[column] as f64).collect();
            let square: f64 = values.iter().map(|x| x * x).sum();
            assert!(values.iter().sum::<f64>().abs() < 1e-6 && (square - 3.0).abs() < 1e-5);
        }
    }

    #[test]
    fn values_that_are_not_numbers_are_named() {
        let error = Dense::new(2, 2, vec![0.0, 1.0, f32::INFINITY, 2.0]).unwrap_err();
        assert_eq!(error.to_string(), "row 1, column 0 is inf");
        assert!(Dense::new(usize::MAX, 2, vec![0.0]).is_err());
        assert!(Dense::new(2, 2, vec![0.0; 3]).is_err());
    }
}
