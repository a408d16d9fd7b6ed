//! A Parquet file, checked before the decoder sees it and read by row groups in parallel.

use super::{delta, footer, pages};
use crate::{Budget, Error, MappedFile, Result};
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
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An open file whose sizes have been compared with the bytes that are there.
pub(super) struct Table {
    pub(super) path: PathBuf,
    pub(super) budget: Budget,
    /// Rows of each row group.
    pub(super) groups: Vec<usize>,
    metadata: ArrowReaderMetadata,
    bytes: MappedFile,
    texts: AtomicU64,
}

/// Calls the decoder such that a panic in it becomes an error: its own checks of sizes and of
/// nested levels are partly assertions, which a damaged file can trip. What the program does at a
/// panic, usually to print it, is the program's and is left alone: it is one for all threads.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::format(path, "is damaged: the Parquet decoder gave up")))
}

impl Table {
    /// Reads the footer. What the decoder would allocate or recurse for on the footer's word alone
    /// is checked first; what pages claim is checked before they are read.
    pub(super) fn open(path: &Path, budget: &Budget) -> Result<Self> {
        let bytes = MappedFile::open(path)?;
        footer::check(&bytes).map_err(|what| Error::format(path, what))?;
        let file = File::open(path).map_err(Error::io(path))?;
        // Without the Arrow schema that some writers add there are fewer types to know: dictionaries
        // arrive as plain text and lists of a fixed size as lists.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&file, options).map_err(|error| wrong(path, error))?;
        let groups = row_counts(metadata.metadata(), bytes.len() as u64, budget).map_err(|what| {
            what.unwrap_or_else(|| Error::format(path, "has a footer with impossible sizes"))
        })?;
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

    /// Accounts for texts about to be kept: a few bytes of a file can stand for very long ones.
    pub(super) fn keep(&self, texts: usize, bytes: usize) -> Result<()> {
        let more = texts as u64 * 32 + bytes as u64;
        self.budget.check("the text of a Parquet file", self.texts.fetch_add(more, Relaxed) + more)
    }

    /// Reads the row groups in parallel, each with one of the `places` to write to. The first
    /// error in the order of the file is the one returned.
    pub(super) fn read<P: Send, T: Send>(
        &self,
        places: Vec<P>,
        read: impl Fn(usize, P) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let done: Vec<Result<T>> = (0..self.groups.len())
            .into_par_iter()
            .zip(places)
            .map(|(group, place)| read(group, place))
            .collect();
        done.into_iter().collect()
    }

    /// Some columns of a row group, `at_once` rows at a time.
    pub(super) fn group(&self, group: usize, columns: &[usize], at_once: usize) -> Result<Batches<'_>> {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns.dedup();
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let at_once = at_once.min(self.check_pages(group, &mask)?);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file()?, self.metadata.clone())
            .with_row_groups(vec![group])
            .with_projection(mask)
            .with_batch_size(at_once)
            .build()
            .map_err(|error| wrong(&self.path, error))?;
        let first = self.groups[..group].iter().sum();
        Ok(Batches { table: self, reader, columns, first, seen: 0, rows: self.groups[group] })
    }

    /// A handle of its own: clones of one would share, and move, its position.
    fn file(&self) -> Result<File> {
        File::open(&self.path).map_err(Error::io(&self.path))
    }

    /// Checks what the pages of some columns claim, and tells how many rows fit the budget at once
    /// even if each has the longest text.
    fn check_pages(&self, group: usize, mask: &ProjectionMask) -> Result<usize> {
        let chunks = self.metadata.metadata().row_group(group).columns().iter().enumerate();
        let mut longest = 1;
        for (_, chunk) in chunks.filter(|&(leaf, _)| mask.leaf_included(leaf)) {
            self.check_values(chunk, self.groups[group])?;
            let found = pages::check(&self.bytes, chunk, &self.budget, |what| self.wrong(what))?;
            if found.counted {
                let rows = self.groups[group];
                delta::check(self.file()?, chunk, rows, &self.budget, |what| self.wrong(what))?;
            }
            longest = longest.max(found.repeated_text);
        }
        // The decoder counts the bytes of texts in 32 bits with a sign.
        let bytes = usize::try_from(self.budget.bytes).unwrap_or(usize::MAX).min(i32::MAX as usize);
        Ok((bytes / longest).max(1))
    }

    /// A value in each row, or lists that fit the budget even if all values are in one row.
    fn check_values(&self, chunk: &ColumnChunkMetaData, rows: usize) -> Result<()> {
        let (name, values) = (chunk.column_path().string(), chunk.num_values() as u64);
        if chunk.column_descr().max_rep_level() > 0 {
            let size = pages::bytes_of_a_value(chunk) as u64;
            return self.budget.check_items("a list column of a Parquet file", values, size);
        }
        let said = || self.wrong(format!("column '{name}' claims {values} values in {rows} rows"));
        if values == rows as u64 { Ok(()) } else { Err(said()) }
    }
}

/// Consecutive rows of a row group.
pub(super) struct Batches<'a> {
    table: &'a Table,
    reader: ParquetRecordBatchReader,
    columns: Vec<usize>,
    first: usize,
    seen: usize,
    rows: usize,
}

/// Rows of some columns.
pub(super) struct Batch<'a> {
    pub(super) table: &'a Table,
    columns: &'a [usize],
    batch: RecordBatch,
    /// The number of the first row in its row group.
    pub(super) at: usize,
    /// The number of the first row in the file.
    pub(super) first: usize,
}

impl Batches<'_> {
    /// The next rows; an error where the row group holds other than it declares.
    pub(super) fn next(&mut self) -> Result<Option<Batch<'_>>> {
        let Some(batch) = self.reader.next() else {
            let what = format!("has {} rows where it declares {}", self.seen, self.rows);
            return if self.seen == self.rows { Ok(None) } else { Err(self.table.wrong(what)) };
        };
        let batch = batch.map_err(|error| wrong(&self.table.path, error.into()))?;
        let at = self.seen;
        self.seen += batch.num_rows();
        if self.seen > self.rows || batch.num_columns() != self.columns.len() {
            return Err(self.table.wrong("has more rows or fewer columns than it declares"));
        }
        Ok(Some(Batch { table: self.table, columns: &self.columns, batch, at, first: self.first + at }))
    }
}

impl Batch<'_> {
    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column by its number in the file.
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

/// The rows of each row group, once every size in the footer is found possible; the error is
/// `None` where one is not.
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
