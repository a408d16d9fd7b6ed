//! scipy's sparse matrices as arrays in an archive, as several formats store them.

use super::{edges::RawEdges, npz::Archive};
use crate::graph::MAX_NODES;
use crate::{Budget, Csr, Error, Result};
use rayon::prelude::*;
use std::path::PathBuf;

/// Storage layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// By rows.
    Csr,
    /// By columns.
    Csc,
    /// Row and column of each entry, in any order.
    Coo,
}

/// A sparse matrix in an archive; its entries are read later.
pub(crate) struct SparseArrays<'a> {
    archive: &'a Archive,
    /// Common prefix of the names of its arrays.
    prefix: &'a str,
    layout: Layout,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    budget: &'a Budget,
}

/// Row and column of every entry.
enum EntryPlaces {
    /// Start of each row (or column), and the other index of each entry.
    Compressed(Vec<u64>, Vec<u32>),
    Pairs(Vec<u32>, Vec<u32>),
}

/// Entries per task.
const CHUNK: usize = 1 << 16;

impl<'a> SparseArrays<'a> {
    /// The matrix with the arrays `{prefix}data`, `{prefix}indices` and so on.
    pub(crate) fn new(
        archive: &'a Archive,
        prefix: &'a str,
        layout: Layout,
        budget: &'a Budget,
    ) -> Result<Self> {
        let name = format!("{prefix}shape");
        let shape = archive.array(&name)?.to_i64(budget)?;
        let extent = |extent: i64| u32::try_from(extent).ok().map(|extent| extent as usize);
        let (rows, cols) = match shape[..] {
            [rows, cols] => extent(rows).zip(extent(cols)),
            _ => None,
        }
        .ok_or_else(|| {
            Error::format(archive.path_of(&name), format!("{shape:?} is not a valid shape of a matrix"))
        })?;
        Ok(Self { archive, prefix, layout, rows, cols, budget })
    }

    /// The entries as edges from row to column; weights that are all 1 are dropped.
    pub(crate) fn edges(&self, weights: bool) -> Result<RawEdges> {
        let (rows, cols) = (self.rows, self.cols);
        if rows != cols {
            return Err(self.wrong("shape", format!("is {rows} x {cols}; a graph needs a square matrix")));
        }
        if rows > MAX_NODES {
            return Err(self.wrong("shape", format!("has {rows} rows, more than the 2^31 nodes supported")));
        }
        self.budget.check_items("a graph", rows as u64 + 1, 8)?;
        let places = self.places()?;
        let values = self.values(places.len())?;
        let item = if weights { size_of::<(u64, f32)>() } else { size_of::<u64>() };
        self.budget.check_items("a list of edges", places.len() as u64, item as u64)?;
        let mut pairs = self.pairs(&places);
        drop(places);
        if values.par_iter().all(|&value| value == 1.0) {
            return Ok(RawEdges::Small(pairs));
        }
        if weights {
            return Ok(RawEdges::SmallWeighted(pairs.into_par_iter().zip(values).collect()));
        }
        let mut values = values.into_iter();
        pairs.retain(|_| values.next() != Some(0.0));
        Ok(RawEdges::Small(pairs))
    }

    pub(crate) fn entries(&self) -> Result<usize> {
        Ok(self.archive.array(&self.name("data"))?.len())
    }

    /// The matrix in CSR form.
    pub(crate) fn matrix(&self) -> Result<Csr> {
        let places = self.places()?;
        let values = self.values(places.len())?;
        let (offsets, columns, values) = match (self.layout, places) {
            (Layout::Csr, EntryPlaces::Compressed(offsets, columns)) => (offsets, columns, values),
            (_, places) => {
                let pairs = self.pairs(&places);
                drop(places);
                self.budget.check_items("row starts", self.rows as u64 + 1, 8)?;
                by_rows(self.rows, &pairs, &values)
            }
        };
        Csr::new(self.cols, offsets, columns, values).map_err(|error| self.wrong("data", error.to_string()))
    }

    fn places(&self) -> Result<EntryPlaces> {
        match self.layout {
            Layout::Csr => self.compressed(self.rows, self.cols),
            Layout::Csc => self.compressed(self.cols, self.rows),
            Layout::Coo if self.archive.has(&self.name("coords")) => self.coordinates(),
            Layout::Coo => {
                let (rows, columns) = (self.indices("row", self.rows)?, self.indices("col", self.cols)?);
                if rows.len() != columns.len() {
                    let what = format!("has {} items, but row has {}", columns.len(), rows.len());
                    return Err(self.wrong("col", what));
                }
                Ok(EntryPlaces::Pairs(rows, columns))
            }
        }
    }

    fn compressed(&self, rows: usize, cols: usize) -> Result<EntryPlaces> {
        let starts = self.archive.array(&self.name("indptr"))?.to_i64(self.budget)?;
        let mut indices = self.indices("indices", cols)?;
        if starts.len() != rows + 1 {
            return Err(self.wrong("indptr", format!("has {} starts for {rows} rows", starts.len())));
        }
        let end = starts[rows];
        if starts[0] != 0 || end > indices.len() as i64 || starts.par_windows(2).any(|row| row[0] > row[1]) {
            let what = format!("does not increase from 0 to at most {} entries", indices.len());
            return Err(self.wrong("indptr", what));
        }
        // scipy allows unused space after the last row.
        indices.truncate(end as usize);
        Ok(EntryPlaces::Compressed(starts.into_iter().map(|start| start as u64).collect(), indices))
    }

    fn coordinates(&self) -> Result<EntryPlaces> {
        let name = self.name("coords");
        let array = self.archive.array(&name)?;
        let [2, entries] = array.shape[..] else {
            return Err(self.wrong("coords", format!("has shape {:?}; expected 2 x entries", array.shape)));
        };
        let entries = entries as usize;
        let narrow = |from: usize, below: usize| -> Result<Vec<u32>> {
            self.narrow("coords", array.i64_range(from..from + entries, self.budget)?, below)
        };
        Ok(EntryPlaces::Pairs(narrow(0, self.rows)?, narrow(entries, self.cols)?))
    }

    fn indices(&self, name: &str, below: usize) -> Result<Vec<u32>> {
        self.narrow(name, self.archive.array(&self.name(name))?.to_i64(self.budget)?, below)
    }

    fn narrow(&self, name: &str, indices: Vec<i64>, below: usize) -> Result<Vec<u32>> {
        let outside = |index: &i64| !(0..below as i64).contains(index);
        match indices.par_iter().position_first(outside) {
            Some(at) => Err(self.wrong(name, format!("item {at} is {}, outside 0..{below}", indices[at]))),
            None => Ok(indices.into_par_iter().map(|index| index as u32).collect()),
        }
    }

    fn values(&self, entries: usize) -> Result<Vec<f32>> {
        let mut values = self.archive.array(&self.name("data"))?.to_f32(self.budget)?;
        if values.len() < entries || (self.layout == Layout::Coo && values.len() > entries) {
            return Err(self.wrong("data", format!("has {} values for {entries} entries", values.len())));
        }
        values.truncate(entries);
        Ok(values)
    }

    /// Row and column of each entry packed into one number, in file order.
    fn pairs(&self, places: &EntryPlaces) -> Vec<u64> {
        let pack = |row: u32, column: u32| (row as u64) << 32 | column as u64;
        match places {
            EntryPlaces::Pairs(rows, columns) => {
                rows.par_iter().zip(columns).map(|(&row, &column)| pack(row, column)).collect()
            }
            EntryPlaces::Compressed(starts, indices) => {
                let mut pairs = vec![0; indices.len()];
                pairs.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
                    let first = chunk * CHUNK;
                    let mut row = starts.partition_point(|&start| start <= first as u64) - 1;
                    for (at, out) in (first..).zip(out) {
                        while starts[row + 1] <= at as u64 {
                            row += 1;
                        }
                        let (row, other) = (row as u32, indices[at]);
                        *out = if self.layout == Layout::Csc { pack(other, row) } else { pack(row, other) };
                    }
                });
                pairs
            }
        }
    }

    fn name(&self, part: &str) -> String {
        format!("{}{part}", self.prefix)
    }

    fn wrong(&self, part: &str, what: String) -> Error {
        let path: PathBuf = self.archive.path_of(&self.name(part));
        Error::format(path, what)
    }
}

impl EntryPlaces {
    fn len(&self) -> usize {
        match self {
            Self::Compressed(_, indices) => indices.len(),
            Self::Pairs(rows, _) => rows.len(),
        }
    }
}

/// Sorts entries by row, keeping their order within a row.
fn by_rows(rows: usize, pairs: &[u64], values: &[f32]) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
    let mut offsets = vec![0u64; rows + 1];
    pairs.iter().for_each(|pair| offsets[(pair >> 32) as usize + 1] += 1);
    (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
    let mut next = offsets.clone();
    let (mut columns, mut placed) = (vec![0; pairs.len()], vec![0.0; pairs.len()]);
    for (pair, &value) in pairs.iter().zip(values) {
        let at = &mut next[(pair >> 32) as usize];
        columns[*at as usize] = *pair as u32;
        placed[*at as usize] = value;
        *at += 1;
    }
    (offsets, columns, placed)
}

#[cfg(test)]
mod tests;
