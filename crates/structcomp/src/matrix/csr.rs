//! Sparse matrices in compressed sparse row (CSR) format.

use super::Buffer;
use crate::{Error, Result};
use rayon::prelude::*;

/// A sparse `f32` matrix. Columns are sorted and unique within a row; values are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    cols: usize,
    offsets: Buffer<u64>,
    indices: Buffer<u32>,
    values: Buffer<f32>,
}

impl Csr {
    /// A matrix from compressed rows in any order within a row; repeated entries are added up,
    /// as scipy does.
    pub fn new(
        cols: usize,
        offsets: impl Into<Buffer<u64>>,
        indices: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<f32>>,
    ) -> Result<Self> {
        let (offsets, indices, values) = (offsets.into(), indices.into(), values.into());
        let wrong = |what: String| Err(Error::Input(format!("not a valid sparse matrix: {what}")));
        if cols as u64 > 1 << 32 {
            return wrong(format!("{cols} columns are more than the 2^32 supported"));
        }
        if indices.len() != values.len() {
            return wrong(format!("{} column numbers for {} values", indices.len(), values.len()));
        }
        let spans = offsets.first() == Some(&0) && offsets.last() == Some(&(indices.len() as u64));
        if !spans || !offsets.windows(2).all(|row| row[0] <= row[1]) {
            return wrong("row starts do not ascend from 0 to the number of entries".into());
        }
        if let Some(&column) = indices.par_iter().find_any(|&&column| column as usize >= cols) {
            return wrong(format!("column {column} in a matrix of {cols} columns"));
        }
        if let Some(at) = values.par_iter().position_first(|value| !value.is_finite()) {
            let row = offsets.partition_point(|&start| start <= at as u64) - 1;
            return wrong(format!("row {row}, column {} is {}", indices[at], values[at]));
        }
        let matrix = Self { cols, offsets, indices, values };
        Ok(if matrix.is_sorted() { matrix } else { matrix.sorted() })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The number of stored entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// The columns and values of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let span = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.indices[span.clone()], &self.values[span])
    }

    /// The CSR arrays: row offsets, columns and values.
    pub fn parts(&self) -> (&[u64], &[u32], &[f32]) {
        (&self.offsets, &self.indices, &self.values)
    }

    /// Changes the values of each row in place. They must stay finite.
    pub(crate) fn each_row_mut(&mut self, change: impl Fn(&mut [f32])) {
        let values = self.values.to_mut();
        for row in self.offsets.windows(2) {
            change(&mut values[row[0] as usize..row[1] as usize]);
        }
    }

    /// Stacks this matrix on top of `below`, which must have the same number of columns.
    pub(crate) fn above(&self, below: &Self) -> Self {
        let start = self.values.len() as u64;
        let offsets = self.offsets.iter().copied().chain(below.offsets[1..].iter().map(|at| at + start));
        Self {
            cols: self.cols,
            offsets: offsets.collect::<Vec<_>>().into(),
            indices: [&self.indices[..], &below.indices].concat().into(),
            values: [&self.values[..], &below.values].concat().into(),
        }
    }

    /// The block diagonal matrix of this one and `other`.
    pub(crate) fn beside(&self, other: &Self) -> Self {
        let mut both = self.above(other);
        both.cols += other.cols;
        let shift = self.cols as u32;
        both.indices.to_mut()[self.values.len()..].iter_mut().for_each(|column| *column += shift);
        both
    }

    /// The given rows, in that order.
    pub(crate) fn select(&self, rows: &[u32]) -> Self {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for &row in rows {
            let (columns, of_row) = self.row(row as usize);
            indices.extend_from_slice(columns);
            values.extend_from_slice(of_row);
            offsets.push(indices.len() as u64);
        }
        Self { cols: self.cols, offsets: offsets.into(), indices: indices.into(), values: values.into() }
    }

    /// Writes a row to `out`, including zeros.
    pub fn write_row(&self, row: usize, out: &mut [f32]) {
        out.fill(0.0);
        let (columns, values) = self.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            out[column as usize] = value;
        }
    }

    fn is_sorted(&self) -> bool {
        (0..self.rows()).into_par_iter().all(|row| self.row(row).0.windows(2).all(|pair| pair[0] < pair[1]))
    }

    fn sorted(mut self) -> Self {
        let mut rest = (self.indices.to_mut(), self.values.to_mut());
        let rows: Vec<(&mut [u32], &mut [f32])> = self
            .offsets
            .windows(2)
            .map(|row| {
                let (columns, columns_left) =
                    std::mem::take(&mut rest.0).split_at_mut((row[1] - row[0]) as usize);
                let (values, values_left) = std::mem::take(&mut rest.1).split_at_mut(columns.len());
                rest = (columns_left, values_left);
                (columns, values)
            })
            .collect();
        rows.into_par_iter().for_each_init(Vec::new, |entries: &mut Vec<(u32, f32)>, (columns, values)| {
            entries.clear();
            entries.extend(columns.iter().copied().zip(values.iter().copied()));
            entries.sort_by_key(|&(column, _)| column);
            for ((column, value), entry) in columns.iter_mut().zip(values).zip(&*entries) {
                (*column, *value) = *entry;
            }
        });
        if self.is_sorted() { self } else { self.without_repeats() }
    }

    /// Sums duplicates, which must be adjacent.
    fn without_repeats(&self) -> Self {
        let rows: Vec<Vec<(u32, f32)>> = (0..self.rows())
            .map(|row| {
                let (columns, values) = self.row(row);
                let mut entries: Vec<_> = columns.iter().copied().zip(values.iter().copied()).collect();
                entries.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                    }
                    same
                });
                entries
            })
            .collect();
        Self::from_sorted_rows(self.cols, &rows)
    }

    /// Creates a matrix from rows that already satisfy the invariants.
    pub(crate) fn from_sorted_rows(cols: usize, rows: &[Vec<(u32, f32)>]) -> Self {
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        offsets.extend(rows.iter().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        }));
        let (indices, values): (Vec<u32>, Vec<f32>) = rows.iter().flatten().copied().unzip();
        Self { cols, offsets: offsets.into(), indices: indices.into(), values: values.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsorted_and_repeated_entries_become_a_matrix() {
        let matrix = Csr::new(3, vec![0, 3, 3], vec![2, 0, 2], vec![1.0, 2.0, 4.0]).unwrap();
        assert_eq!(matrix.row(0), (&[0, 2][..], &[2.0, 5.0][..]));
        assert_eq!(matrix.row(1), (&[][..], &[][..]));
        let mut row = [9.0; 3];
        matrix.write_row(0, &mut row);
        assert_eq!(row, [2.0, 0.0, 5.0]);
    }

    #[test]
    fn broken_parts_are_refused() {
        assert!(Csr::new(2, vec![0, 1], vec![2], vec![1.0]).is_err(), "column outside");
        assert!(Csr::new(2, vec![0, 2], vec![0], vec![1.0]).is_err(), "row start past the end");
        assert!(Csr::new(2, vec![0, 1, 0, 1], vec![0], vec![1.0]).is_err(), "row starts descend");
        assert!(Csr::new(2, Vec::new(), Vec::new(), Vec::new()).is_err(), "no row start");
        assert!(Csr::new(2, vec![0, 1], vec![0], vec![]).is_err(), "a value is missing");
        let error = Csr::new(2, vec![0, 0, 1], vec![1], vec![f32::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "not a valid sparse matrix: row 1, column 1 is NaN");
    }
}
