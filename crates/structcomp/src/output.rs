//! Writes results as files for other tools: matrices block by block, and edge tables.
//!
//! The file extension selects the format. Writes are atomic.

mod clusters;
mod edges;
mod export;
mod ids;
mod neighbors;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod sparse;
mod text;

pub use crate::atomic::{FileSet, FolderLock, ScratchFolder, check_writable, discard_unfinished, write_text};
pub use clusters::write_clusters;
pub use edges::write_edges;
pub use export::Export;
pub use neighbors::NeighborWriter;

use crate::{Error, Labels, NodeIds, Result, atomic::AtomicFile};
use std::path::{Path, PathBuf};

/// The shape of a matrix to be written, and the names of its rows and its column.
#[derive(Clone, Copy, Debug)]
pub struct MatrixLayout<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Ids of the rows, written as the column `id`; for `.npy`, as lines of `ids.txt` beside it.
    pub ids: &'a NodeIds,
    /// Written as the column `label`. Not stored in `.npy`.
    pub labels: Option<&'a Labels>,
    /// Name of the list column in `.parquet`, such as `embedding` or `features`.
    pub column: &'a str,
}

/// Writes a matrix of any size to `.npy`, `.parquet`, `.csv` or `.tsv` (also `.csv.gz`, `.csv.zst`),
/// holding only one block of it in memory.
///
/// ```
/// use structcomp::output::{MatrixLayout, MatrixWriter};
/// use structcomp::NodeIds;
///
/// let folder = tempfile::tempdir()?;
/// let ids = NodeIds::from_names(vec!["ann".into(), "bob".into()])?;
/// let layout = MatrixLayout { rows: 2, cols: 2, ids: &ids, labels: None, column: "embedding" };
/// let mut writer = MatrixWriter::create(folder.path().join("z.csv"), layout)?;
/// writer.push_rows(&[0.5, 1.0])?;
/// writer.push_rows(&[-2.0, 0.25])?;
/// writer.finish()?;
/// assert_eq!(std::fs::read_to_string(folder.path().join("z.csv"))?, "id,0,1\nann,0.5,1\nbob,-2,0.25\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixWriter<'a> {
    sink: Sink<'a>,
    layout: MatrixLayout<'a>,
    path: PathBuf,
    written: usize,
}

enum Sink<'a> {
    Npy(AtomicFile),
    Text(Box<text::MatrixText<'a>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::MatrixParquet<'a>>),
}

impl<'a> MatrixWriter<'a> {
    /// Starts writing `path`.
    pub fn create(path: impl AsRef<Path>, layout: MatrixLayout<'a>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        check_rows("ids", layout.ids.len(), layout.rows)?;
        check_rows("labels", layout.labels.map(Labels::nodes), layout.rows)?;
        let sink = match Ending::of(&path) {
            (Ending::Npy, Packing::None) => Sink::Npy(npy::start(&path, layout.rows, layout.cols)?),
            (ending @ (Ending::Csv | Ending::Tsv), packing) => {
                let delimiter = if ending == Ending::Tsv { b'\t' } else { b',' };
                Sink::Text(Box::new(text::MatrixText::start(&path, delimiter, packing, layout)?))
            }
            #[cfg(feature = "parquet")]
            (Ending::Parquet, Packing::None) => {
                Sink::Parquet(Box::new(parquet::MatrixParquet::start(&path, layout)?))
            }
            #[cfg(not(feature = "parquet"))]
            (Ending::Parquet, Packing::None) => return Err(Error::no_parquet(&path)),
            _ => {
                let what = "has no supported extension for a matrix; use .npy, .parquet, .csv or .tsv";
                return Err(Error::format(path, what));
            }
        };
        Ok(Self { sink, layout, path, written: 0 })
    }

    /// Appends any number of complete rows.
    pub fn push_rows(&mut self, values: &[f32]) -> Result<()> {
        let MatrixLayout { rows, cols, .. } = self.layout;
        if !values.len().is_multiple_of(cols.max(1)) {
            let given = values.len();
            return Err(self.wrong(format!("{given} values are not a multiple of {cols} columns")));
        }
        let new = values.len() / cols.max(1);
        if new > rows - self.written {
            return Err(self.wrong(format!("more rows than the {rows} declared")));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column, value) = (self.written + at / cols, at % cols, values[at]);
            return Err(self.wrong(format!("row {row}, column {column} is {value}, not a finite number")));
        }
        match &mut self.sink {
            Sink::Npy(file) => file.write(bytemuck::cast_slice(values))?,
            Sink::Text(text) => text.push_rows(self.written, values)?,
            #[cfg(feature = "parquet")]
            Sink::Parquet(table) => table.push_rows(self.written, values)?,
        }
        self.written += new;
        Ok(())
    }

    /// Completes the file, once every row has been pushed.
    pub fn finish(self) -> Result<()> {
        let rows = if self.layout.cols == 0 { 0 } else { self.layout.rows };
        if self.written != rows {
            return Err(self.wrong(format!("only {} of {rows} rows were written", self.written)));
        }
        match self.sink {
            Sink::Npy(file) => {
                file.commit()?;
                ids::write_beside(&self.path, self.layout.ids, self.layout.rows)
            }
            Sink::Text(text) => text.finish(),
            #[cfg(feature = "parquet")]
            Sink::Parquet(table) => table.finish(),
        }
    }

    fn wrong(&self, what: String) -> Error {
        Error::Input(format!("cannot write {}: {what}", self.path.display()))
    }
}

fn check_rows(what: &str, given: Option<usize>, rows: usize) -> Result<()> {
    match given {
        Some(given) if given != rows => Err(Error::Input(format!("{given} {what} for {rows} rows"))),
        _ => Ok(()),
    }
}

/// The format selected by a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Npy,
    Csv,
    Tsv,
    Txt,
    Parquet,
    Npz,
    Mtx,
    Metis,
    Other,
}

/// The compression selected by a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Ending {
    fn of(path: &Path) -> (Self, Packing) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let (stem, packing) = match name.rsplit_once('.') {
            Some((stem, "gz")) => (stem, Packing::Gzip),
            Some((stem, "zst")) => (stem, Packing::Zstd),
            _ => (&name[..], Packing::None),
        };
        let ending = match stem.rsplit_once('.').map(|(_, ending)| ending) {
            Some("npy") => Self::Npy,
            Some("csv") => Self::Csv,
            Some("tsv" | "tab") => Self::Tsv,
            Some("txt" | "edges") => Self::Txt,
            Some("parquet" | "pq") => Self::Parquet,
            Some("npz") => Self::Npz,
            Some("mtx") => Self::Mtx,
            Some("graph" | "metis") => Self::Metis,
            _ => Self::Other,
        };
        (ending, packing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(rows: usize, cols: usize) -> MatrixLayout<'static> {
        MatrixLayout { rows, cols, ids: &NodeIds::Implicit, labels: None, column: "embedding" }
    }

    #[test]
    fn names_choose_the_format() {
        assert_eq!(Ending::of(Path::new("a/Z.NPY")), (Ending::Npy, Packing::None));
        assert_eq!(Ending::of(Path::new("z.csv.gz")), (Ending::Csv, Packing::Gzip));
        assert_eq!(Ending::of(Path::new("z.parquet")), (Ending::Parquet, Packing::None));
        assert_eq!(Ending::of(Path::new("edges.txt.zst")), (Ending::Txt, Packing::Zstd));
        assert_eq!(Ending::of(Path::new("z")), (Ending::Other, Packing::None));
    }

    #[test]
    fn a_wrong_number_of_rows_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["z.npy", "z.csv", "z.csv.gz", "z.tsv.zst"] {
            let path = folder.path().join(name);
            let mut writer = MatrixWriter::create(&path, layout(2, 3)).unwrap();
            assert!(writer.push_rows(&[1.0; 4]).is_err(), "not a complete row");
            assert!(writer.push_rows(&[1.0; 9]).is_err(), "one row too many");
            assert!(writer.push_rows(&[f32::NAN; 3]).is_err(), "not a number");
            writer.push_rows(&[1.0; 3]).unwrap();
            assert!(writer.finish().unwrap_err().to_string().contains("only 1 of 2 rows"), "{name}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn unsupported_formats_and_shapes_are_rejected_before_writing() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["z", "z.xlsx", "z.npy.gz", "z.txt"] {
            assert!(MatrixWriter::create(folder.path().join(name), layout(2, 3)).is_err(), "{name}");
        }
        let ids = NodeIds::from_numbers(vec![4, 5]).unwrap();
        let three = MatrixLayout { ids: &ids, ..layout(3, 1) };
        let error = MatrixWriter::create(folder.path().join("z.csv"), three).err().unwrap();
        assert_eq!(error.to_string(), "2 ids for 3 rows");
    }
}
