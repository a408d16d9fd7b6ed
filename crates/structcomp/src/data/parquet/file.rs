//! A Parquet file, validated before decoding and read by row groups in parallel.

use super::{delta, footer, pages};
use crate::guard::caught;
use crate::matrix::MappedFile;
use crate::{Budget, Error, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use rayon::prelude::*;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An open file whose declared sizes have been validated.
pub(super) struct ParquetFile {
    pub(super) path: PathBuf,
    pub(super) budget: Budget,
    /// Number of rows in each row group.
    pub(super) groups: Vec<usize>,
    metadata: ArrowReaderMetadata,
    bytes: MappedFile,
    texts: AtomicU64,
}

/// A row group whose pages have been checked.
pub(super) struct CheckedGroup {
    pub(super) group: usize,
    /// How many rows fit the memory limit at once, even if each contains the longest string.
    most_rows: usize,
    /// About what decoding takes.
    bytes: u64,
}

fn in_order(columns: &[usize]) -> Vec<usize> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Turns a panic of the decoder into an error: some of its checks of sizes and nesting are assertions,
/// which a damaged file can trigger.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(read).unwrap_or_else(|| Err(Error::format(path, "is damaged (the Parquet decoder failed)")))
}

impl ParquetFile {
    /// Reads the footer. Sizes that the decoder would allocate or recurse for are checked first; those in
    /// pages are checked before the pages are read.
    pub(super) fn open(path: &Path, budget: &Budget) -> Result<Self> {
        let bytes = MappedFile::open(path)?;
        footer::check(&bytes).map_err(|what| Error::format(path, what))?;
        let file = File::open(path).map_err(Error::io(path))?;
        // Without the Arrow schema that some writers add, there are fewer types to handle: dictionaries are
        // read as plain strings and fixed-size lists as lists.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&file, options).map_err(|error| wrong(path, error))?;
        let groups = row_counts(metadata.metadata(), bytes.len() as u64, budget)
            .map_err(|what| what.unwrap_or_else(|| Error::format(path, "has invalid sizes in its footer")))?;
        Ok(Self { path: path.to_owned(), budget: *budget, groups, metadata, bytes, texts: AtomicU64::new(0) })
    }

    pub(super) fn rows(&self) -> usize {
        self.groups.iter().sum()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.metadata.schema().field(column).name()
    }

    pub(super) fn kind(&self, column: usize) -> &DataType {
        self.metadata.schema().field(column).data_type()
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::format(&self.path, what)
    }

    /// Accounts for strings before they are stored: a few bytes of a file can stand for very long ones.
    pub(super) fn keep(&self, texts: usize, bytes: usize) -> Result<()> {
        let more = texts as u64 * 32 + bytes as u64;
        self.budget.check("the strings of a Parquet file", self.texts.fetch_add(more, Relaxed) + more)
    }

    /// Reads the row groups, each with one of the `places` to write to: in parallel, as many at once as fit the memory
    /// limit. Returns the first error in file order.
    pub(super) fn read<P: Send, T: Send>(
        &self,
        columns: &[usize],
        places: Vec<P>,
        read: impl Fn(CheckedGroup, P) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let checked: Vec<Result<CheckedGroup>> =
            (0..self.groups.len()).into_par_iter().map(|group| self.check(group, columns)).collect();
        let checked: Result<Vec<CheckedGroup>> = checked.into_iter().collect();
        let mut waiting: Vec<(CheckedGroup, P)> = checked?.into_iter().zip(places).collect();
        let mut done = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let mut needed = 0u64;
            let fit = waiting.iter().take_while(|(group, _)| {
                needed = needed.saturating_add(group.bytes);
                needed <= self.budget.bytes
            });
            let rest = waiting.split_off(fit.count().max(1));
            let together = std::mem::replace(&mut waiting, rest);
            let read: Vec<Result<T>> =
                together.into_par_iter().map(|(group, place)| read(group, place)).collect();
            done.extend(read.into_iter().collect::<Result<Vec<T>>>()?);
        }
        Ok(done)
    }

    /// Columns of a row group, `at_once` rows at a time.
    pub(super) fn group(
        &self,
        group: CheckedGroup,
        columns: &[usize],
        at_once: usize,
    ) -> Result<Batches<'_>> {
        let columns = in_order(columns);
        let CheckedGroup { group, most_rows, .. } = group;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file()?, self.metadata.clone())
            .with_row_groups(vec![group])
            .with_projection(self.mask(&columns))
            .with_batch_size(at_once.min(most_rows))
            .build()
            .map_err(|error| wrong(&self.path, error))?;
        let first = self.groups[..group].iter().sum();
        Ok(Batches { table: self, reader, columns, first, seen: 0, rows: self.groups[group] })
    }

    fn mask(&self, columns: &[usize]) -> ProjectionMask {
        ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied())
    }

    /// A separate handle: clones of a handle share its position.
    fn file(&self) -> Result<File> {
        File::open(&self.path).map_err(Error::io(&self.path))
    }

    /// Checks the pages of some columns of a row group, which together must fit the memory limit.
    pub(super) fn check(&self, group: usize, columns: &[usize]) -> Result<CheckedGroup> {
        let mask = self.mask(&in_order(columns));
        let chunks = self.metadata.metadata().row_group(group).columns().iter().enumerate();
        let (mut unpacked, mut longest) = (0u64, 0u64);
        for (_, chunk) in chunks.filter(|&(leaf, _)| mask.leaf_included(leaf)) {
            self.check_values(chunk, self.groups[group])?;
            let found = pages::check(&self.bytes, chunk, &self.budget, |what| self.wrong(what))?;
            if found.counted {
                let rows = self.groups[group];
                delta::check(self.file()?, chunk, rows, &self.budget, |what| self.wrong(what))?;
            }
            unpacked += found.unpacked;
            longest += found.repeated_text as u64;
        }
        // A row with the longest strings is copied from the pages, into an array that grows by doubling.
        self.budget.check("a row group of a Parquet file", unpacked.saturating_add(2 * longest))?;
        // The decoder uses 32-bit signed offsets into strings.
        let free = ((self.budget.bytes - unpacked) / 2).min(i32::MAX as u64);
        let most_rows = (free / 4 / longest.max(1)).max(1);
        let bytes = unpacked + 2 * longest.saturating_mul(most_rows.min(self.groups[group] as u64));
        Ok(CheckedGroup { group, most_rows: usize::try_from(most_rows).unwrap_or(usize::MAX), bytes })
    }

    /// Checks for one value per row, or for lists that fit the memory limit even if all are in one row.
    fn check_values(&self, chunk: &ColumnChunkMetaData, rows: usize) -> Result<()> {
        let (name, values) = (chunk.column_path().string(), chunk.num_values() as u64);
        if chunk.column_descr().max_rep_level() > 0 {
            let size = pages::bytes_of_a_value(chunk) as u64;
            return self.budget.check_items("a list column of a Parquet file", values, size);
        }
        let said = || self.wrong(format!("column '{name}' declares {values} values in {rows} rows"));
        if values == rows as u64 { Ok(()) } else { Err(said()) }
    }
}

/// Iterates over consecutive rows of a row group.
pub(super) struct Batches<'a> {
    table: &'a ParquetFile,
    reader: ParquetRecordBatchReader,
    columns: Vec<usize>,
    first: usize,
    seen: usize,
    rows: usize,
}

/// Consecutive rows of some columns.
pub(super) struct RowGroup<'a> {
    pub(super) table: &'a ParquetFile,
    columns: &'a [usize],
    batch: RecordBatch,
    /// Index of the first row in its row group.
    pub(super) at: usize,
    /// Index of the first row in the file.
    pub(super) first: usize,
}

impl Batches<'_> {
    /// The next rows; fails if the row group differs from its declaration.
    pub(super) fn next(&mut self) -> Result<Option<RowGroup<'_>>> {
        let Some(batch) = self.reader.next() else {
            let what = format!("has {} rows, but declares {}", self.seen, self.rows);
            return if self.seen == self.rows { Ok(None) } else { Err(self.table.wrong(what)) };
        };
        let batch = batch.map_err(|error| wrong(&self.table.path, error.into()))?;
        let at = self.seen;
        self.seen += batch.num_rows();
        if self.seen > self.rows || batch.num_columns() != self.columns.len() {
            return Err(self.table.wrong("has more rows or fewer columns than it declares"));
        }
        Ok(Some(RowGroup { table: self.table, columns: &self.columns, batch, at, first: self.first + at }))
    }
}

impl RowGroup<'_> {
    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column by its index in the file.
    pub(super) fn column(&self, column: usize) -> Result<&ArrayRef> {
        let place = self.columns.binary_search(&column).ok();
        place.map(|place| self.batch.column(place)).ok_or_else(|| self.table.wrong("lacks a column"))
    }

    /// An error about a row of this batch.
    pub(super) fn wrong(&self, column: usize, row: usize, what: &str) -> Error {
        let name = self.table.name(column);
        self.table.wrong(format!("column '{name}', row {}: {what}", self.first + row))
    }
}

fn wrong(path: &Path, error: ParquetError) -> Error {
    Error::format(path, format!("cannot be read: {error}"))
}

/// The number of rows of each row group, after checking every size in the footer. The error is `None`
/// if one is impossible.
fn row_counts(about: &ParquetMetaData, length: u64, budget: &Budget) -> Result<Vec<usize>, Option<Error>> {
    let mut rows = Vec::with_capacity(about.num_row_groups());
    for group in about.row_groups() {
        for chunk in group.columns() {
            if !lies_inside(chunk, length) {
                return Err(None);
            }
            let unpacked = u64::try_from(chunk.uncompressed_size()).map_err(|_| None)?;
            budget.check("a column of a Parquet file", unpacked)?;
        }
        rows.push(usize::try_from(group.num_rows()).map_err(|_| None)?);
    }
    let total = rows.iter().try_fold(0usize, |sum, &rows| sum.checked_add(rows));
    let declared = usize::try_from(about.file_metadata().num_rows()).ok();
    if total.is_none() || total != declared { Err(None) } else { Ok(rows) }
}

fn lies_inside(chunk: &ColumnChunkMetaData, length: u64) -> bool {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let (start, size) = (u64::try_from(start), u64::try_from(chunk.compressed_size()));
    let end = start.ok().zip(size.ok()).and_then(|(start, size)| start.checked_add(size));
    end.is_some_and(|end| end <= length) && chunk.data_page_offset() >= 0 && chunk.num_values() >= 0
}
