//! Exports a dataset, or part of it, in the format selected by the output's extension.

use super::ids::write_beside;
use super::sparse::MatrixRows;
use super::{Ending, MatrixLayout, MatrixWriter, write_edges};
use crate::{Dataset, Error, Features, Labels, NodeIds, Result, data::Table};
use std::path::Path;

/// The part of a dataset to write to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// The features, with ids and labels if the format stores them.
    Features,
    /// Each edge once, with its weight if the graph is weighted.
    Edges,
}

impl Dataset {
    /// Writes `graph.scg`, a table (`.npy`, `.parquet`, `.csv`, `.tsv`, `.txt`), a sparse matrix (`.npz`, `.mtx`,
    /// METIS's `.graph`) or, for a name without extension, a folder with everything. Returns a description of what was written.
    ///
    /// A table contains the features if there are any, otherwise the edges, unless `part` selects one.
    pub fn export(&self, path: impl AsRef<Path>, part: Option<Export>) -> Result<&'static str> {
        let path = path.as_ref();
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match (ending.as_deref(), part.or_else(|| self.features.as_ref().map(|_| Export::Features))) {
            (None, None | Some(Export::Features)) => self.save(path).map(|()| "a dataset folder"),
            (Some("scg"), _) => {
                self.graph.save(path)?;
                write_beside(path, &self.ids, self.graph.nodes()).map(|()| "a binary graph")
            }
            (_, None | Some(Export::Edges)) if MatrixRows::from(&self.graph).write(path)? => {
                write_beside(path, &self.ids, self.graph.nodes()).map(|()| "a sparse matrix of edges")
            }
            (_, None | Some(Export::Edges)) => {
                write_edges(path, &self.graph, &self.ids).map(|()| "a table of edges")
            }
            (_, Some(Export::Features)) => {
                let none = || Error::Input(format!("{} has no features to write", self.name));
                let features = self.features.as_ref().ok_or_else(none)?;
                write_features(path, features, &self.ids, self.labels.as_ref())
            }
        }
    }
}

impl Table {
    /// Writes the table in the format selected by the extension. Returns a description of it.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<&'static str> {
        let none = || Error::Input("the table has no numeric columns".into());
        let features = self.features.as_ref().ok_or_else(none)?;
        write_features(path.as_ref(), features, &self.ids, self.labels.as_ref())
    }
}

/// Values written at a time.
const BLOCK: usize = 1 << 20;

fn write_features(
    path: &Path,
    features: &Features,
    ids: &NodeIds,
    labels: Option<&Labels>,
) -> Result<&'static str> {
    let (rows, cols) = (features.rows(), features.cols());
    if let Features::Sparse(matrix) = features
        && MatrixRows::from(matrix).write(path)?
    {
        return write_beside(path, ids, rows).map(|()| "a sparse matrix of features");
    }
    // `.npy` has no place for labels.
    let labels = labels.filter(|_| Ending::of(path).0 != Ending::Npy);
    let layout = MatrixLayout { rows, cols, ids, labels, column: "features" };
    let mut writer = MatrixWriter::create(path, layout)?;
    let height = (BLOCK / cols.max(1)).clamp(1, rows.max(1));
    let mut block = vec![0.0; height * cols];
    for start in (0..rows).step_by(height) {
        let end = rows.min(start + height);
        let block = &mut block[..(end - start) * cols];
        for (row, out) in (start..end).zip(block.chunks_mut(cols.max(1))) {
            features.write_row(row, out);
        }
        writer.push_rows(block)?;
    }
    writer.finish().map(|()| "a matrix of features")
}
