//! Writes NumPy arrays in pieces; their length is known only at the end.

use crate::{Error, Result, atomic::AtomicFile};
use bytemuck::Pod;
use std::path::Path;

/// A `.npy` file being written.
pub(crate) struct ArrayWriter {
    file: AtomicFile,
    descr: &'static str,
    item: u64,
    bytes: u64,
}

/// Space for the header, which is written last; enough for any shape of two numbers.
const HEADER: usize = 128;

impl ArrayWriter {
    /// Starts an array of items of the NumPy type `descr`, such as `<f4`.
    pub(crate) fn create<T: Pod>(path: impl AsRef<Path>, descr: &'static str) -> Result<Self> {
        let mut file = AtomicFile::create(path)?;
        file.write(&[0; HEADER])?;
        Ok(Self { file, descr, item: size_of::<T>() as u64, bytes: 0 })
    }

    pub(crate) fn push<T: Pod>(&mut self, items: &[T]) -> Result<()> {
        let bytes = bytemuck::cast_slice(items);
        self.bytes += bytes.len() as u64;
        self.file.write(bytes)
    }

    /// Writes the header and renames the file to its final path.
    pub(crate) fn finish(mut self, shape: &[u64]) -> Result<()> {
        let items = shape.iter().try_fold(self.item, |product, &extent| product.checked_mul(extent));
        if items != Some(self.bytes) {
            let what = format!("{} bytes were written for shape {shape:?}", self.bytes);
            return Err(Error::format(self.file.path(), what));
        }
        self.file.write_at(0, &header(self.descr, shape))?;
        self.file.commit()
    }
}

fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let fields = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((HEADER as u16 - 10).to_le_bytes());
    header.extend(format!("{fields:<width$}\n", width = HEADER - 11).into_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, data::npy::Array};

    #[test]
    fn an_array_written_in_pieces_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let mut writer = ArrayWriter::create::<i32>(&path, "<i4").unwrap();
        writer.push(&[1i32, -2, 3]).unwrap();
        writer.push(&[4i32, 5, 6]).unwrap();
        writer.finish(&[3, 2]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let array = Array::parse(bytes, &path).unwrap();
        assert_eq!(array.rows_cols().unwrap(), (3, 2));
        assert_eq!(array.to_i64(&Budget::default()).unwrap(), [1, -2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_header_is_as_long_as_it_says_for_any_shape() {
        for shape in [&[][..], &[7], &[u64::MAX, u64::MAX]] {
            let header = header("<f4", shape);
            assert_eq!((header.len(), header[8] as usize, header[HEADER - 1]), (HEADER, HEADER - 10, b'\n'));
        }
        assert!(header("<i8", &[5]).windows(16).any(|part| part == b"'shape': (5, ), "));
    }

    #[test]
    fn a_shape_that_does_not_fit_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArrayWriter::create::<f32>(folder.path().join("x.npy"), "<f4").unwrap();
        writer.push(&[1.0f32; 5]).unwrap();
        assert!(writer.finish(&[2, 3]).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
