//! Node tables: columns of ids, labels and features, from any kind of file.

pub(crate) mod csv;
pub(crate) mod files;

use crate::{Csr, Dense, Error, Features, Labels, NodeIds, Result};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// A table with one row per node.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NodeTable {
    pub(crate) rows: usize,
    /// Ids of the rows; `None` if rows are identified by position.
    pub(crate) ids: Option<NodeIds>,
    pub(crate) features: Option<Features>,
    pub(crate) labels: Option<Labels>,
    pub(crate) notes: Vec<String>,
    /// Whether the first line of a text was read as a row, for lack of evidence that it is a header.
    pub(crate) headless: bool,
    /// Blank lines at the end of a list, which may be rows without a label.
    pub(crate) spare: usize,
    /// The file that the ids are from, if it is not that of the table.
    pub(crate) named_by: Option<PathBuf>,
}

/// What a table is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// All columns.
    Nodes,
    /// Only ids and labels; a single column besides the ids is the labels, whatever its name.
    Labels,
}

/// Names of id columns; the last two are how pandas writes an index.
const ID: [&str; 7] = ["id", "node_id", "nodeid", "node", "name", "index", "__index_level_0__"];
const LABEL: [&str; 4] = ["label", "labels", "class", "y"];
#[cfg(feature = "parquet")]
const FEATURES: [&str; 7] = ["embedding", "embeddings", "features", "feature", "feat", "x", "attr"];

/// The first column with one of the names, in the order of the names.
fn find(columns: &[String], names: &[&str]) -> Option<usize> {
    let is = |column: &String, name: &str| column.trim().eq_ignore_ascii_case(name);
    names.iter().find_map(|name| columns.iter().position(|column| is(column, name)))
}

pub(crate) fn id_column(columns: &[String]) -> Option<usize> {
    find(columns, &ID)
}

pub(crate) fn label_column(columns: &[String]) -> Option<usize> {
    find(columns, &LABEL)
}

#[cfg(feature = "parquet")]
pub(crate) fn list_column(columns: &[String]) -> Option<usize> {
    find(columns, &FEATURES)
}

/// A column of ids or labels: numbers as long as every field is one, otherwise strings.
#[derive(Debug, PartialEq)]
pub(crate) enum Column<T> {
    Numbers(Vec<T>),
    Texts(Vec<Box<str>>),
}

/// A number that can be written back as the field it was read from.
pub(crate) trait Cell: Copy {
    fn read(field: &str) -> Option<Self>;
    fn text(self) -> Box<str>;
}

/// An id: digits without sign or leading zeros, so that no two strings become the same number.
impl Cell for u64 {
    fn read(field: &str) -> Option<Self> {
        let plain = field == "0" || field.starts_with(|first: char| matches!(first, '1'..='9'));
        field.parse().ok().filter(|_| plain)
    }

    fn text(self) -> Box<str> {
        self.to_string().into()
    }
}

/// A class: any integer, also written as `3.0`; negative numbers become -1, which means unlabelled.
impl Cell for i64 {
    fn read(field: &str) -> Option<Self> {
        if field.is_empty() || field.eq_ignore_ascii_case("nan") {
            return Some(-1);
        }
        let whole =
            |value: f64| (value.fract() == 0.0 && value.abs() < 2f64.powi(53)).then_some(value as i64);
        let class = field.parse().ok().or_else(|| field.parse().ok().and_then(whole))?;
        Some(class.max(-1))
    }

    fn text(self) -> Box<str> {
        if self < 0 { "".into() } else { self.to_string().into() }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

impl<T: Cell> Column<T> {
    pub(crate) fn push(&mut self, field: &str) {
        match (&mut *self, T::read(field)) {
            (Self::Numbers(numbers), Some(number)) => numbers.push(number),
            (Self::Numbers(_), None) => {
                self.make_texts();
                self.push(field);
            }
            (Self::Texts(texts), _) => texts.push(field.into()),
        }
    }

    pub(crate) fn push_number(&mut self, number: T) {
        match self {
            Self::Numbers(numbers) => numbers.push(number),
            Self::Texts(texts) => texts.push(number.text()),
        }
    }

    /// Concatenates the columns of consecutive parts of a table.
    pub(crate) fn concat(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().unwrap_or_default();
        for mut part in parts {
            if matches!(whole, Self::Texts(_)) != matches!(part, Self::Texts(_)) {
                whole.make_texts();
                part.make_texts();
            }
            match (&mut whole, part) {
                (Self::Numbers(all), Self::Numbers(more)) => all.extend(more),
                (Self::Texts(all), Self::Texts(more)) => all.extend(more),
                _ => unreachable!("both are texts"),
            }
        }
        whole
    }

    fn make_texts(&mut self) {
        if let Self::Numbers(numbers) = self {
            *self = Self::Texts(numbers.iter().map(|number| number.text()).collect());
        }
    }
}

impl Column<u64> {
    pub(crate) fn into_ids(self, path: &Path) -> Result<NodeIds> {
        let ids = match self {
            Self::Numbers(numbers) => NodeIds::from_numbers(numbers),
            Self::Texts(names) => NodeIds::from_names(names),
        };
        ids.map_err(|error| Error::format(path, error.to_string()))
    }
}

impl Column<i64> {
    pub(crate) fn into_labels(mut self, path: &Path) -> Result<Labels> {
        if let Self::Numbers(numbers) = &self
            && let Ok(labels) = Labels::from_signed(numbers.iter().copied())
        {
            return Ok(labels);
        }
        // Numbers too large to be class indices are class names, such as years or codes.
        self.make_texts();
        let Self::Texts(names) = self else { unreachable!("made texts above") };
        Labels::from_names(&names).map_err(|error| Error::format(path, error.to_string()))
    }
}

/// Below this width, a sparse matrix is not worth its indices.
const WIDE: usize = 64;

/// A matrix, stored as sparse if that is clearly smaller.
pub(crate) fn settle(path: &Path, rows: usize, cols: usize, values: Vec<f32>) -> Result<Features> {
    let nonzeros = values.par_iter().filter(|&&value| value != 0.0).count();
    let features = if cols < WIDE || nonzeros >= values.len() / 4 {
        Dense::new(rows, cols, values).map(Features::Dense)
    } else {
        sparse(cols, &values).map(Features::Sparse)
    };
    features.map_err(|error| Error::format(path, error.to_string()))
}

fn sparse(cols: usize, values: &[f32]) -> Result<Csr> {
    let (mut offsets, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks_exact(cols) {
        let nonzero = (0..).zip(row).filter(|&(_, &value)| value != 0.0);
        nonzero.for_each(|(column, &value)| {
            indices.push(column);
            kept.push(value);
        });
        offsets.push(kept.len() as u64);
    }
    Csr::new(cols, offsets, indices, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column<T: Cell>(fields: &[&str]) -> Column<T> {
        let mut column = Column::default();
        fields.iter().for_each(|field| column.push(field));
        column
    }

    #[test]
    fn ids_stay_numbers_until_one_is_not() {
        assert_eq!(column::<u64>(&["0", "18446744073709551615"]), Column::Numbers(vec![0, u64::MAX]));
        for other in ["007", "+7", "-7", "7.0", "", "x", "18446744073709551616"] {
            let texts = Column::Texts(vec!["7".into(), other.into(), "8".into()]);
            assert_eq!(column::<u64>(&["7", other, "8"]), texts);
        }
        let joined = Column::concat(vec![column::<u64>(&["1"]), column(&["a"]), column(&["2"])]);
        assert_eq!(joined.into_ids(Path::new("t")).unwrap().name(2), "2");
    }

    #[test]
    fn labels_are_numbers_or_names_and_may_be_missing() {
        let of = |fields: &[&str]| column::<i64>(fields).into_labels(Path::new("t")).unwrap();
        let numbers = of(&["2", "", "0.0", "-1", "nan"]);
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [Some(2), None, Some(0), None, None]);
        let names = of(&["b", "", "3", "b"]);
        assert_eq!(names.iter().collect::<Vec<_>>(), [Some(1), None, Some(0), Some(1)]);
        let codes = of(&["9000000000", "100000000"]);
        assert_eq!((codes.classes(), codes.of(0)), (2, Some(1)));
    }

    #[test]
    fn wide_and_mostly_zero_becomes_sparse() {
        let mut values = vec![0.0; 128];
        (values[3], values[127]) = (1.5, 2.0);
        let features = settle(Path::new("t"), 2, 64, values.clone()).unwrap();
        assert!(matches!(&features, Features::Sparse(x) if x.row(1) == (&[63][..], &[2.0][..])));
        assert_eq!(features.to_dense().values(), values);
        assert!(matches!(settle(Path::new("t"), 4, 32, values.clone()).unwrap(), Features::Dense(_)));
        values.iter_mut().step_by(3).for_each(|value| *value = 1.0);
        assert!(matches!(settle(Path::new("t"), 2, 64, values).unwrap(), Features::Dense(_)));
        assert!(settle(Path::new("t"), 1, 1, vec![f32::NAN]).is_err());
    }
}
