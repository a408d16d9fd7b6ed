//! Dense matrices.

use super::{Buffer, MappedFile};
use crate::{Error, Result};
use rayon::prelude::*;

/// A row-major matrix of finite `f32`, owned, mapped or lent.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    rows: usize,
    cols: usize,
    values: Buffer<f32>,
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

    /// The number of rows where it cannot be told from the values, since there are no columns.
    pub(crate) fn with_rows(self, rows: usize) -> Self {
        debug_assert_eq!(rows * self.cols, self.values.len());
        Self { rows, ..self }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The mapped file that the values lie in, if they do.
    pub(crate) fn file(&self) -> Option<&MappedFile> {
        self.values.file()
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

/// Without an early exit, so that the compiler can use vectors.
fn all_finite(values: &[f32]) -> bool {
    values.iter().fold(true, |finite, value| finite & value.is_finite())
}

/// Values that are checked at once.
const BLOCK: usize = 4096;
