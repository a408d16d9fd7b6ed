//! Graphs and sparse features for other tools: scipy's `.npz`, Matrix Market (`.mtx`) and METIS (`.graph`).

use super::text::{TextFile, push_float};
use super::{Ending, Packing};
use crate::{Csr, Error, Graph, Result, atomic::AtomicFile};
use rayon::prelude::*;
use std::io::Write;
use std::path::Path;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// A matrix in compressed rows.
pub(super) struct MatrixRows<'a> {
    cols: usize,
    offsets: &'a [u64],
    columns: &'a [u32],
    /// `None` if all are one.
    values: Option<&'a [f32]>,
    symmetric: bool,
}

impl<'a> From<&'a Graph> for MatrixRows<'a> {
    fn from(graph: &'a Graph) -> Self {
        let (offsets, columns, values) = (graph.offsets(), graph.targets(), graph.weights());
        Self { cols: graph.nodes(), offsets, columns, values, symmetric: true }
    }
}

impl<'a> From<&'a Csr> for MatrixRows<'a> {
    fn from(matrix: &'a Csr) -> Self {
        let (offsets, columns, values) = matrix.parts();
        Self { cols: matrix.cols(), offsets, columns, values: Some(values), symmetric: false }
    }
}

/// Rows formatted at a time.
const ROWS: usize = 1 << 12;

impl MatrixRows<'_> {
    /// Writes the format of the extension; false if there is none for sparse matrices.
    pub(super) fn write(&self, path: &Path) -> Result<bool> {
        match Ending::of(path) {
            (Ending::Npz, Packing::None) => self.npz(path)?,
            (Ending::Mtx, packing) => self.matrix_market(path, packing)?,
            (Ending::Metis, packing) if self.symmetric => self.metis(path, packing)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The columns and values of a row.
    fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> {
        let entries = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        entries.map(|at| (self.columns[at], self.values.map_or(1.0, |values| values[at])))
    }

    /// As `scipy.sparse.save_npz` writes a CSR matrix.
    fn npz(&self, path: &Path) -> Result<()> {
        let mut zip = ZipWriter::new_stream(AtomicFile::create(path)?);
        let failed =
            |error: zip::result::ZipError| Error::format(path, format!("cannot be written: {error}"));
        let mut member =
            |name: &str, of: &str, shape: &str, size: usize, parts: &mut dyn Iterator<Item = Vec<u8>>| {
                let options = SimpleFileOptions::default();
                let options =
                    options.compression_method(CompressionMethod::Deflated).large_file(size >= 1 << 31);
                zip.start_file(format!("{name}.npy"), options).map_err(failed)?;
                zip.write_all(&array_header(of, shape)).map_err(Error::io(path))?;
                for part in parts {
                    zip.write_all(&part).map_err(Error::io(path))?;
                }
                Ok::<(), Error>(())
            };
        let (rows, entries) = (self.rows(), self.columns.len());
        let bytes =
            |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let shape = [rows as u64, self.cols as u64];
        member("format", "|S3", "()", 3, &mut [b"csr".to_vec()].into_iter())?;
        member("shape", "<i8", "(2,)", 16, &mut [bytes(&shape)].into_iter())?;
        let starts = &mut self.offsets.chunks(ROWS).map(bytes);
        member("indptr", "<i8", &format!("({},)", rows + 1), 8 * (rows + 1), starts)?;
        let columns = &mut self.columns.chunks(ROWS).map(|part| bytemuck::cast_slice(part).to_vec());
        member("indices", "<i4", &format!("({entries},)"), 4 * entries, columns)?;
        let ones = vec![1f32; if self.values.is_none() { ROWS } else { 0 }];
        let value = |start: usize| {
            let end = entries.min(start + ROWS);
            let part = match self.values {
                Some(values) => &values[start..end],
                None => &ones[..end - start],
            };
            bytemuck::cast_slice(part).to_vec()
        };
        let values = &mut (0..entries).step_by(ROWS).map(value);
        member("data", "<f4", &format!("({entries},)"), 4 * entries, values)?;
        zip.finish().map_err(failed)?.into_inner().commit()
    }

    /// Coordinates, of a graph without weights as a pattern. A symmetric matrix is written as its lower triangle.
    fn matrix_market(&self, path: &Path, packing: Packing) -> Result<()> {
        let kind = if self.values.is_some() { "real" } else { "pattern" };
        let symmetry = if self.symmetric { "symmetric" } else { "general" };
        let entries = if self.symmetric { self.columns.len() / 2 } else { self.columns.len() };
        let head = format!(
            "%%MatrixMarket matrix coordinate {kind} {symmetry}\n{} {} {entries}\n",
            self.rows(),
            self.cols
        );
        self.text(path, packing, head, |row, out| {
            for (column, value) in
                self.row(row).filter(|&(column, _)| !self.symmetric || (column as usize) < row)
            {
                out.extend(format!("{} {}", row + 1, column + 1).into_bytes());
                if self.values.is_some() {
                    out.push(b' ');
                    push_float(out, value);
                }
                out.push(b'\n');
            }
        })
    }

    fn metis(&self, path: &Path, packing: Packing) -> Result<()> {
        let whole = |value: &f32| value.fract() == 0.0 && *value < 2f32.powi(31);
        if let Some(value) = self.values.and_then(|values| values.iter().find(|value| !whole(value))) {
            return Err(Error::format(
                path,
                format!("METIS takes integers as edge weights, and one is {value}"),
            ));
        }
        let weighted = if self.values.is_some() { " 001" } else { "" };
        let head = format!("{} {}{weighted}\n", self.rows(), self.columns.len() / 2);
        self.text(path, packing, head, |row, out| {
            for (at, (column, value)) in self.row(row).enumerate() {
                let space = if at > 0 { " " } else { "" };
                let weight = if self.values.is_some() { format!(" {value}") } else { String::new() };
                out.extend(format!("{space}{}{weight}", column + 1).into_bytes());
            }
            out.push(b'\n');
        })
    }

    fn text(
        &self,
        path: &Path,
        packing: Packing,
        head: String,
        line: impl Fn(usize, &mut Vec<u8>) + Sync,
    ) -> Result<()> {
        let mut file = TextFile::create(path, packing)?;
        file.write(head.as_bytes())?;
        let rows: Vec<usize> = (0..self.rows()).collect();
        for blocks in rows.chunks(64 * ROWS) {
            let texts = blocks.par_chunks(ROWS).map(|block| {
                let mut out = Vec::new();
                block.iter().for_each(|&row| line(row, &mut out));
                out
            });
            texts.collect::<Vec<_>>().iter().try_for_each(|text| file.write(text))?;
        }
        file.finish()
    }
}

/// The header of a `.npy` member.
fn array_header(of: &str, shape: &str) -> Vec<u8> {
    let mut about = format!("{{'descr': '{of}', 'fortran_order': False, 'shape': {shape}, }}");
    about += &" ".repeat(63 - (10 + about.len()) % 64);
    about.push('\n');
    let length = (about.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, about.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Options, open, open_table};
    use crate::{EdgeList, Features};

    #[test]
    fn graphs_read_back_equal() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Graph::from_edges(5, &[(0, 1), (1, 2), (0, 3)]).unwrap();
        let edges = vec![(1, 3.0), (1 << 32 | 2, 2.0)];
        let weighted = EdgeList::from_weighted(edges).build(4).unwrap().0;
        for graph in [&plain, &weighted] {
            for name in ["g.npz", "g.mtx", "g.mtx.gz", "g.graph", "g.graph.zst"] {
                let path = folder.path().join(name);
                assert!(MatrixRows::from(graph).write(&path).unwrap());
                assert!(open(&path, &Options::default()).unwrap().graph == *graph, "{name}");
            }
        }
        let half = EdgeList::from_weighted(vec![(1, 0.5)]).build(2).unwrap().0;
        let error = MatrixRows::from(&half).write(&folder.path().join("h.graph")).unwrap_err().to_string();
        assert!(error.ends_with("METIS takes integers as edge weights, and one is 0.5"), "{error}");
    }

    #[test]
    fn sparse_features_read_back_equal() {
        let folder = tempfile::tempdir().unwrap();
        let x = Csr::new(3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![0.5, -1.0, 3.0]).unwrap();
        for name in ["x.npz", "x.mtx"] {
            let path = folder.path().join(name);
            assert!(MatrixRows::from(&x).write(&path).unwrap());
            assert_eq!(
                open_table(&path, &Options::default()).unwrap().features,
                Some(Features::Sparse(x.clone()))
            );
        }
        assert!(!MatrixRows::from(&x).write(&folder.path().join("x.graph")).unwrap());
    }
}
