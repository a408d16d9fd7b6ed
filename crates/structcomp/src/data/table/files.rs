//! Feature and label files of every kind, detected by content.

use super::{Cell, Column, NodeTable, Purpose, csv};
use crate::data::bytes::{Bytes, FileHead};
use crate::data::id_file::{IdFile, shown};
use crate::data::npy::{self, Array, Kind};
use crate::data::npz::Archive;
use crate::data::{Options, matrix_market, parquet, scipy_npz};
use crate::{Dense, Error, Features, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a node table: npy, npz (a single array, or a sparse matrix of scipy), Matrix Market, Parquet,
/// CSV or TSV.
pub(crate) fn open_features(path: &Path, options: &Options) -> Result<NodeTable> {
    let matrix = |features: Features| NodeTable {
        rows: features.rows(),
        features: Some(features),
        ..NodeTable::default()
    };
    let table = match Contents::of(path)? {
        Contents::Npy => matrix(Features::Dense(npy::open_matrix(path, &options.budget)?)),
        Contents::Zip => matrix(npz_features(path, options)?),
        Contents::MatrixMarket => matrix(matrix_market::open_matrix(path, &options.budget)?),
        Contents::Parquet => parquet::read_nodes(path, Purpose::Nodes, options)?,
        Contents::Text | Contents::Json => csv::read(path, Purpose::Nodes, options)?,
    };
    with_ids(table, path, options)
}

/// A table with the ids of a separate file, if it has none of its own.
fn with_ids(mut table: NodeTable, path: &Path, options: &Options) -> Result<NodeTable> {
    if table.ids.is_some() {
        return Ok(table);
    }
    if let Some(found) = IdFile::of_rows(path, table.rows, options)? {
        if options.ids.is_none() {
            table.notes.push(found.note(&format!("rows of {}", shown(path))));
        }
        (table.ids, table.named_by) = (Some(found.ids), Some(found.path));
    }
    Ok(table)
}

/// Reads labels: npy, text with one label per line, a text or Parquet table, or a JSON object from id
/// to class.
pub(crate) fn open_labels(path: &Path, options: &Options) -> Result<NodeTable> {
    let table = match Contents::of(path)? {
        Contents::Npy => npy_labels(path, options),
        Contents::Parquet => parquet::read_nodes(path, Purpose::Labels, options),
        Contents::Json => json_labels(path, options),
        Contents::Text => csv::read(path, Purpose::Labels, options),
        Contents::Zip | Contents::MatrixMarket => {
            Err(Error::format(path, "is a matrix; labels must be npy, text, Parquet or JSON"))
        }
    };
    with_ids(table?, path, options)
}

enum Contents {
    Npy,
    Zip,
    MatrixMarket,
    Parquet,
    Json,
    Text,
}

impl Contents {
    fn of(path: &Path) -> Result<Self> {
        let head = FileHead::of(path)?;
        match &head.bytes[..] {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Ok(Self::Npy),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Ok(Self::Zip),
            bytes if bytes.starts_with(b"%%MatrixMarket") => Ok(Self::MatrixMarket),
            bytes if parquet::is_parquet(bytes) => Ok(Self::Parquet),
            bytes if bytes.trim_ascii_start().starts_with(b"{") => Ok(Self::Json),
            _ if head.is_text() => Ok(Self::Text),
            [] => Err(Error::format(path, "is empty or a folder; expected a table")),
            _ => Err(Error::format(
                path,
                "is not a supported table; expected npy, npz, Matrix Market, Parquet, CSV or TSV",
            )),
        }
    }
}

fn npz_features(path: &Path, options: &Options) -> Result<Features> {
    let archive = Archive::open(path, &options.budget)?;
    if archive.has("format") && archive.has("shape") {
        return scipy_npz::open_matrix(path, &options.budget).map(Features::Sparse);
    }
    let [only] = archive.names() else {
        let what = format!("contains {} arrays; expected one", archive.names().len());
        return Err(Error::format(path, what));
    };
    let array = archive.array(only)?;
    let (rows, cols) = array.rows_cols()?;
    let matrix = Dense::new(rows, cols, array.to_f32(&options.budget)?);
    matrix.map(Features::Dense).map_err(|error| Error::format(path, error.to_string()))
}

fn npy_labels(path: &Path, options: &Options) -> Result<NodeTable> {
    let bytes = Bytes::open(path, &options.budget)?;
    let array = Array::parse(&bytes[..], path)?;
    let (rows, cols) = array.rows_cols()?;
    if cols != 1 {
        return Err(Error::format(path, format!("has {cols} columns; expected one label per row")));
    }
    let mut column = Column::default();
    match array.dtype.kind {
        Kind::Bytes | Kind::Text => {
            array.to_strings(&options.budget)?.iter().for_each(|label| column.push(label));
        }
        // Partial labels are often stored as floats, with NaN for unlabelled nodes.
        Kind::Float => {
            for (row, class) in array.to_f32(&options.budget)?.into_iter().enumerate() {
                let wrong = || Error::format(path, format!("row {row}: {class} is not a class"));
                column.push_number(i64::read(&class.to_string()).ok_or_else(wrong)?);
            }
        }
        _ => column = Column::Numbers(array.to_i64(&options.budget)?),
    }
    let labels = Some(column.into_labels(path)?);
    Ok(NodeTable { rows, labels, ..NodeTable::default() })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ClassCell {
    Number(f64),
    Name(String),
    /// A one-hot vector, as GraphSAINT writes.
    OneHot(Vec<f64>),
    None(()),
}

fn json_labels(path: &Path, options: &Options) -> Result<NodeTable> {
    let bytes = Bytes::open(path, &options.budget)?;
    let wrong = |what: String| Error::format(path, what);
    // An entry takes at least four bytes of text, and about a hundred in memory.
    options.budget.check_items("the labels", bytes.len() as u64 / 4, 100)?;
    let classes: BTreeMap<String, ClassCell> = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("is not a JSON object from id to class: {error}")))?;
    let mut rows: Vec<(String, ClassCell)> = classes.into_iter().collect();
    if rows.iter().all(|(id, _)| u64::read(id).is_some()) {
        rows.sort_by_cached_key(|(id, _)| u64::read(id));
    }
    let (mut ids, mut labels) = (Column::default(), Column::default());
    for (id, class) in &rows {
        ids.push(id);
        let number = match class {
            ClassCell::Name(name) => {
                labels.push(name);
                continue;
            }
            ClassCell::Number(number) => i64::read(&number.to_string()),
            ClassCell::OneHot(hot) => one_hot(hot),
            ClassCell::None(()) => Some(-1),
        };
        let several = || wrong(format!("node '{id}' has several classes, or a class that is not an integer"));
        labels.push_number(number.ok_or_else(several)?);
    }
    let (ids, labels) = (Some(ids.into_ids(path)?), Some(labels.into_labels(path)?));
    Ok(NodeTable { rows: rows.len(), ids, labels, ..NodeTable::default() })
}

/// The position of the only 1; -1 for zeros only.
fn one_hot(hot: &[f64]) -> Option<i64> {
    let mut ones = hot.iter().enumerate().filter(|&(_, &value)| value != 0.0);
    match (ones.next(), ones.next()) {
        (None, _) => Some(-1),
        (Some((class, _)), None) => Some(class as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeIds;

    fn with(
        name: &str,
        bytes: &[u8],
        open: impl Fn(&Path, &Options) -> Result<NodeTable>,
    ) -> Result<NodeTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        open(&path, &Options::default())
    }

    #[test]
    fn json_objects_name_the_class_of_each_id() {
        let table =
            with("c.json", br#" {"10": 1, "9": [0, 0, 1], "2": null, "7": [0, 0]}"#, open_labels).unwrap();
        assert_eq!(table.ids, Some(NodeIds::Numbers(vec![2, 7, 9, 10])));
        assert_eq!(table.labels.unwrap().iter().collect::<Vec<_>>(), [None, None, Some(2), Some(1)]);
        let named = with("c.json", br#"{"ann": "b", "bob": "a"}"#, open_labels).unwrap();
        assert_eq!(named.labels.unwrap().iter().collect::<Vec<_>>(), [Some(1), Some(0)]);
        for bad in [&br#"{"1": [1, 1]}"#[..], br#"{"1": 0.5}"#, br#"{"1": {}}"#, br#"{"1": 1"#] {
            assert!(with("c.json", bad, open_labels).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn unsupported_files_are_errors() {
        let error_of = |bytes: &[u8]| with("x", bytes, open_features).unwrap_err().to_string();
        assert!(error_of(b"").contains("is empty"));
        assert!(error_of(b"\0\x01\x02").contains("is not a supported table"));
        assert!(error_of(b"PAR1").contains("truncated") || cfg!(not(feature = "parquet")));
        assert!(error_of(b"\x93NUMPY").contains("truncated"));
    }
}
