//! Matrix Market files: a square matrix as adjacency, or any matrix as features.
//!
//! `coordinate` files list the entries, with indices from 1; `array` files list every value in column
//! order. A `symmetric` file lists only one triangle.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::Bytes,
    edges::{Nodes, RawEdges},
    text::{Text, decimal, shown, whole, words},
};
use crate::{Budget, Csr, Dense, Error, Features, Result, graph::MAX_NODES};
use rayon::prelude::*;
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "matrix-market",
    about: "square Matrix Market file (.mtx); entries are edges",
    recognizes: |head| starts_with_banner(&head.bytes),
    read,
};

const BANNER: &[u8] = b"%%MatrixMarket";

fn starts_with_banner(bytes: &[u8]) -> bool {
    bytes.get(..BANNER.len()).is_some_and(|start| start.eq_ignore_ascii_case(BANNER))
}

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let bytes = Bytes::open(path, &options.budget)?;
    let matrix = Matrix::of(Text { path, bytes: &bytes })?;
    let (rows, cols) = (matrix.rows, matrix.cols);
    if rows != cols {
        let what = format!("is a {rows} x {cols} matrix; a graph needs a square matrix");
        return Err(Error::format(path, what));
    }
    if rows > MAX_NODES {
        return Err(Error::format(path, format!("has {rows} nodes, more than the 2^31 supported")));
    }
    options.budget.check_nodes(rows)?;
    let edges = match (matrix.layout, matrix.has_values && options.weights) {
        (MarketLayout::Coordinate { .. }, false) => RawEdges::Small(matrix.entries(|pair, _| pair)?),
        (MarketLayout::Coordinate { .. }, true) => {
            RawEdges::SmallWeighted(matrix.entries(|pair, value| (pair, value))?)
        }
        (MarketLayout::Array, weighted) => {
            let values = matrix.values()?;
            let listed = matrix.places().zip(values).filter(|(_, value)| *value != 0.0);
            match weighted {
                true => RawEdges::SmallWeighted(listed.collect()),
                false => RawEdges::Small(listed.map(|(pair, _)| pair).collect()),
            }
        }
    };
    let files = vec![path.to_owned()];
    let edges = if matrix.has_values && options.weights { edges.added() } else { edges };
    Ok(Parts { nodes: Nodes::Count(rows), edges: EdgeSource::Raw(edges), files, ..Parts::default() })
}

/// Reads a matrix as features: sparse from `coordinate`, dense from `array`.
pub(crate) fn open_matrix(path: &Path, budget: &Budget) -> Result<Features> {
    let bytes = Bytes::open(path, budget)?;
    let matrix = Matrix::of(Text { path, bytes: &bytes })?;
    let features = match matrix.layout {
        MarketLayout::Coordinate { .. } => matrix.to_sparse(budget).map(Features::Sparse),
        MarketLayout::Array => matrix.to_dense(budget).map(Features::Dense),
    };
    features.map_err(|error| match error {
        Error::Input(what) => Error::format(path, what),
        other => other,
    })
}

#[derive(Clone, Copy)]
enum MarketLayout {
    Coordinate { entries: u64 },
    Array,
}

struct Matrix<'a> {
    text: Text<'a>,
    layout: MarketLayout,
    has_values: bool,
    symmetric: bool,
    rows: usize,
    cols: usize,
    /// The line with the sizes, for messages.
    size_line: &'a [u8],
    /// Start of the line after it.
    body: usize,
}

impl<'a> Matrix<'a> {
    fn of(text: Text<'a>) -> Result<Self> {
        let (banner, mut body) = text
            .line_at(0)
            .filter(|(line, _)| starts_with_banner(line))
            .ok_or_else(|| Error::format(text.path, "does not start with %%MatrixMarket"))?;
        let (coordinate, has_values, symmetric) = kind(banner).map_err(|what| text.fault(banner, what))?;
        let size_line = loop {
            let (line, next) = text.line_at(body).ok_or_else(|| {
                Error::format(text.path, "ends before the line with the size of the matrix")
            })?;
            body = next;
            if !line.starts_with(b"%") && !line.trim_ascii().is_empty() {
                break line;
            }
        };
        // Row and column are packed into 32 bits each.
        let size = |word| whole(word).filter(|&size| size <= u32::MAX as u64);
        let sizes: Option<Vec<u64>> = words(size_line).map(size).collect();
        let (rows, cols, layout) = match (coordinate, sizes.as_deref()) {
            (true, Some(&[rows, cols, entries])) => (rows, cols, MarketLayout::Coordinate { entries }),
            (false, Some(&[rows, cols])) => (rows, cols, MarketLayout::Array),
            _ => {
                let expected = if coordinate { "rows, columns and entries" } else { "rows and columns" };
                return Err(text.fault(size_line, format!("expected {expected}, found {}", shown(size_line))));
            }
        };
        if symmetric && rows != cols {
            return Err(text.fault(size_line, format!("a {rows} x {cols} matrix cannot be symmetric")));
        }
        let (rows, cols) = (rows as usize, cols as usize);
        Ok(Self { text, layout, has_values, symmetric, rows, cols, size_line, body })
    }

    /// The entries of a coordinate file, made from `row << 32 | column` and the value.
    fn entries<T: Clone + Send>(&self, make: impl Fn(u64, f32) -> T + Sync) -> Result<Vec<T>> {
        let entry = |entries: &mut Vec<T>, line: &[u8]| {
            let mut words = words(line);
            let Some(first) = words.next() else { return Ok(()) };
            let row = place(Some(first), self.rows, "row")?;
            let column = place(words.next(), self.cols, "column")?;
            let value = match self.has_values {
                true => number(words.next().unwrap_or_default())?,
                false => 1.0,
            };
            if words.next().is_some() {
                return Err(format!("expected one entry per line, found {}", shown(line)));
            }
            entries.push(make(row << 32 | column, value));
            Ok(())
        };
        let entries = self.text.parse(self.body, |_| Vec::new(), entry)?.concat();
        if let MarketLayout::Coordinate { entries: announced } = self.layout {
            self.expect_entries(announced, entries.len())?;
        }
        Ok(entries)
    }

    /// The values of an array file, in the order of [`places`](Self::places).
    fn values(&self) -> Result<Vec<f32>> {
        let value = |values: &mut Vec<f32>, line: &[u8]| {
            words(line).try_for_each(|word| {
                values.push(number(word)?);
                Ok(())
            })
        };
        let values = self.text.parse(self.body, |_| Vec::new(), value)?.concat();
        let (rows, cols) = (self.rows as u64, self.cols as u64);
        let announced = if self.symmetric { rows * (rows + 1) / 2 } else { rows * cols };
        self.expect_entries(announced, values.len())?;
        Ok(values)
    }

    fn expect_entries(&self, announced: u64, found: usize) -> Result<()> {
        match announced == found as u64 {
            true => Ok(()),
            false => {
                let what = format!("declares {announced} entries, but {found} follow");
                Err(self.text.fault(self.size_line, what))
            }
        }
    }

    /// `row << 32 | column` of the values in an array file.
    fn places(&self) -> impl Iterator<Item = u64> + use<> {
        let (rows, symmetric) = (self.rows as u64, self.symmetric);
        (0..self.cols as u64).flat_map(move |column| {
            let first = if symmetric { column } else { 0 };
            (first..rows).map(move |row| row << 32 | column)
        })
    }

    fn to_sparse(&self, budget: &Budget) -> Result<Csr> {
        budget.check_items(&format!("a matrix of {} rows", self.rows), self.rows as u64 + 1, 8)?;
        let mut entries = self.entries(|pair, value| (pair, value))?;
        if self.symmetric {
            let mirrored = |&(pair, value): &(u64, f32)| (pair.rotate_left(32), value);
            let other: Vec<_> =
                entries.iter().filter(|(pair, _)| pair >> 32 != pair & 0xffff_ffff).map(mirrored).collect();
            entries.extend(other);
        }
        entries.par_sort_by_key(|&(pair, _)| pair);
        let mut offsets = vec![0; self.rows + 1];
        entries.iter().for_each(|(pair, _)| offsets[(pair >> 32) as usize + 1] += 1);
        (0..self.rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let (indices, values): (Vec<u32>, Vec<f32>) =
            entries.into_iter().map(|(pair, value)| (pair as u32, value)).unzip();
        Csr::new(self.cols, offsets, indices, values)
    }

    fn to_dense(&self, budget: &Budget) -> Result<Dense> {
        let listed = self.values()?;
        let size = (self.rows as u64).saturating_mul(self.cols as u64);
        budget.check_items(&format!("a matrix of {} x {}", self.rows, self.cols), size, 4)?;
        let mut values = vec![0.0; size as usize];
        for (pair, value) in self.places().zip(listed) {
            let (row, column) = ((pair >> 32) as usize, (pair & 0xffff_ffff) as usize);
            values[row * self.cols + column] = value;
            if self.symmetric {
                values[column * self.cols + row] = value;
            }
        }
        Dense::new(self.rows, self.cols, values)
    }
}

/// Parses the first line: whether the layout is `coordinate`, whether entries have values, and
/// whether the matrix is symmetric.
fn kind(banner: &[u8]) -> Result<(bool, bool, bool), String> {
    let lower = banner.to_ascii_lowercase();
    let said: Vec<&[u8]> = words(&lower).skip(1).collect();
    let &[object, layout, field, symmetry] = &said[..] else {
        return Err("expected '%%MatrixMarket matrix', a layout, a field and a symmetry".into());
    };
    let unknown = |what: &str, word: &[u8]| Err(format!("unsupported {what} {}", shown(word)));
    if object != b"matrix" {
        return unknown("object", object);
    }
    let coordinate = match layout {
        b"coordinate" => true,
        b"array" => false,
        _ => return unknown("layout", layout),
    };
    let has_values = match field {
        b"real" | b"double" | b"integer" => true,
        b"pattern" if coordinate => false,
        _ => return unknown("field", field),
    };
    let symmetric = match symmetry {
        b"general" => false,
        b"symmetric" => true,
        _ => return unknown("symmetry", symmetry),
    };
    Ok((coordinate, has_values, symmetric))
}

/// A row or column index; the file counts from 1.
fn place(word: Option<&[u8]>, size: usize, what: &str) -> Result<u64, String> {
    let word = word.unwrap_or_default();
    let place = whole(word).filter(|place| (1..=size as u64).contains(place));
    place.map(|place| place - 1).ok_or_else(|| format!("{} is not a {what} from 1 to {size}", shown(word)))
}

fn number(word: &[u8]) -> Result<f32, String> {
    decimal(word).ok_or_else(|| format!("{} is not a number", shown(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, data};

    fn with_file<T>(text: &[u8], open: impl Fn(&Path) -> T) -> T {
        let file = tempfile::Builder::new().suffix(".mtx").tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        open(file.path())
    }

    fn graph(kind: &str, body: &str) -> Result<Dataset> {
        let text = format!("%%MatrixMarket matrix {kind}\n% a comment\n{body}");
        with_file(text.as_bytes(), |path| data::open(path, &Options::default()))
    }

    fn features(kind: &str, body: &str) -> Result<Features> {
        let text = format!("%%MatrixMarket matrix {kind}\n{body}");
        with_file(text.as_bytes(), |path| open_matrix(path, &Budget::default()))
    }

    #[test]
    fn entries_are_edges_between_nodes_counted_from_one() {
        let data = graph("coordinate real general", "3 3 4\n1 2 0.5\n2 1 2\n3 3 1\n\n1 3 0\n").unwrap();
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!(data.graph.edge_weights(0), Some(&[2.0][..]));
        assert_eq!((data.repairs.self_loops, data.repairs.zero_weights, data.repairs.isolated), (1, 1, 1));
        let data = graph("Coordinate Pattern Symmetric", "3 3 2\n2 1\n3 2").unwrap();
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        // Column by column: 0 - 1 in one direction, 1 - 2 in the other.
        let data = graph("array integer general", "3 3\n0\n7\n0\n0\n0\n0\n0\n5\n0\n").unwrap();
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(data.graph.weights(), Some(&[7.0, 7.0, 5.0, 5.0][..]));
        assert_eq!(graph("coordinate pattern general", "0 0 0\n").unwrap().graph.nodes(), 0);
    }

    #[test]
    fn features_are_sparse_or_dense_as_the_file_is() {
        let x = features("coordinate real general", "2 3 4\n2 3 -1.5\n1 1 4\n2 1 1\n2 1 2\n").unwrap();
        let expected = Csr::new(3, vec![0, 1, 3], vec![0, 0, 2], vec![4.0, 3.0, -1.5]).unwrap();
        assert_eq!(x, Features::Sparse(expected));
        let x = features("coordinate integer symmetric", "2 2 2\n1 1 4\n2 1 3\n").unwrap();
        assert_eq!(x.to_dense().values(), [4.0, 3.0, 3.0, 0.0]);
        let x = features("array real general", "2 3\n1\n2\n3\n4\n5\n6e0\n").unwrap();
        assert_eq!(x, Features::Dense(Dense::new(2, 3, vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]).unwrap()));
        let x = features("array real symmetric", "2 2\n1\n2\n3\n").unwrap();
        assert_eq!(x.to_dense().values(), [1.0, 2.0, 2.0, 3.0]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("coordinate real general", "2 2 2\n1 2 1\n", ":3: declares 2 entries, but 1 follow"),
            ("coordinate real general", "2 2 1\n0 2 1\n", ":4: '0' is not a row from 1 to 2"),
            ("coordinate real general", "2 2 1\n1 3 1\n", ":4: '3' is not a column from 1 to 2"),
            ("coordinate real general", "2 2 1\n1 -1 1\n", ":4: '-1' is not a column from 1 to 2"),
            ("coordinate real general", "2 2 1\n1 2\n", ":4: '' is not a number"),
            (
                "coordinate pattern general",
                "2 2 1\n1 2 1\n",
                ":4: expected one entry per line, found '1 2 1'",
            ),
            ("coordinate real general", "2 2\n", ":3: expected rows, columns and entries, found '2 2'"),
            ("array real general", "2 2 1\n", ":3: expected rows and columns, found '2 2 1'"),
            ("array real general", "2 2\n1\n2\n", ":3: declares 4 entries, but 2 follow"),
            ("array real general", "60000 60000\n1\n", ":3: declares 3600000000 entries, but 1 follow"),
            ("coordinate real symmetric", "2 3 0\n", ":3: a 2 x 3 matrix cannot be symmetric"),
            ("array pattern general", "1 1\n", ":1: unsupported field 'pattern'"),
            ("coordinate real hermitian", "1 1 0\n", ":1: unsupported symmetry 'hermitian'"),
            (
                "coordinate",
                "1 1 0\n",
                ":1: expected '%%MatrixMarket matrix', a layout, a field and a symmetry",
            ),
            ("coordinate real general", "", ": ends before the line with the size of the matrix"),
            ("coordinate real general", "5000000000 5000000000 0\n", ":3: expected rows"),
            ("coordinate real general", "3000000000 3000000000 0\n", "more than the 2^31 supported"),
        ];
        for (kind, body, message) in cases {
            let error = graph(kind, body).unwrap_err().to_string();
            assert!(error.contains(message), "{kind}, {body:?}: {error}");
        }
        let text = b"%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 0\n";
        let options = Options { budget: Budget { bytes: 1 << 30 }, ..Options::default() };
        assert!(matches!(with_file(text, |path| read(path, &options).map(drop)), Err(Error::Memory { .. })));
        let refused = with_file(text, |path| open_matrix(path, &options.budget));
        assert!(matches!(refused, Err(Error::Memory { .. })));
        assert!(
            features("coordinate real general", "1 1 1\n1 1 nan\n").unwrap_err().to_string().contains("NaN")
        );
    }

    #[test]
    fn every_truncation_is_an_error_and_none_panics() {
        for text in [
            &b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n2 3 7\n"[..],
            b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
        ] {
            for length in 0..text.len() {
                let graph = with_file(&text[..length], |path| read(path, &Options::default()).map(drop));
                let matrix = with_file(&text[..length], |path| open_matrix(path, &Budget::default()));
                // The last line may lack its line feed.
                assert_eq!(
                    (graph.is_err(), matrix.is_err()),
                    [(true, true), (false, false)][(length + 1 == text.len()) as usize]
                );
            }
        }
        assert!(read(&std::env::temp_dir(), &Options::default()).is_err(), "a folder");
    }
}
