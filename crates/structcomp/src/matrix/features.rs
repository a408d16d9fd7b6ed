//! Node features: one row a node, dense or sparse.

use super::{Csr, Dense, MappedFile};
use crate::Result;
use rayon::prelude::*;

/// The feature matrix X, one row a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value stored, row by row.
    Dense(Dense),
    /// Only the non-zero values stored.
    Sparse(Csr),
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

    /// The files they are mapped from.
    pub(crate) fn mapped(&self) -> Vec<&MappedFile> {
        match self {
            Self::Dense(x) => x.file().into_iter().collect(),
            // Only read from files.
            Self::Sparse(_) => Vec::new(),
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

    /// The rows of these numbers, in that order.
    pub(crate) fn select(&self, rows: &[u32]) -> Self {
        match self {
            Self::Dense(x) => {
                let values: Vec<f32> = rows.iter().flat_map(|&row| x.row(row as usize)).copied().collect();
                Self::Dense(Dense::computed(x.cols(), values).with_rows(rows.len()))
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
                Dense::computed(cols, values).with_rows(x.rows())
            }
        }
    }

    /// Each row divided by its length; rows of length zero stay as they are.
    pub(crate) fn scale_rows(self, length: impl Fn(&[f32]) -> f64 + Sync) -> Self {
        let scale = |row: &mut [f32]| {
            let length = length(row);
            if length > 0.0 {
                row.iter_mut().for_each(|x| *x = (*x as f64 / length) as f32);
            }
        };
        match self {
            Self::Dense(x) => {
                let cols = x.cols();
                let mut values = x.into_values();
                values.par_chunks_mut(cols.max(1)).for_each(scale);
                Self::Dense(Dense::computed(cols, values))
            }
            Self::Sparse(mut x) => {
                x.each_row_mut(scale);
                Self::Sparse(x)
            }
        }
    }
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
    fn values_that_are_not_numbers_are_named() {
        let error = Dense::new(2, 2, vec![0.0, 1.0, f32::INFINITY, 2.0]).unwrap_err();
        assert_eq!(error.to_string(), "row 1, column 0 is inf");
        assert!(Dense::new(usize::MAX, 2, vec![0.0]).is_err());
        assert!(Dense::new(2, 2, vec![0.0; 3]).is_err());
    }
}
