//! NumPy's `.npy` arrays, read in place and converted to the types used here.

mod header;

pub(crate) use header::{DType, Kind, data_start};

use super::bytes::Bytes;
use crate::matrix::Buffer;
use crate::{Budget, Dense, Error, Result};
use header::Header;
use rayon::prelude::*;
use std::{
    borrow::Cow,
    ops::Range,
    path::{Path, PathBuf},
};

/// An array as stored in a file.
pub(crate) struct Array<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    /// Whether it is stored in Fortran order (first index fastest).
    pub(crate) fortran: bool,
    data: Cow<'a, [u8]>,
    data_at: usize,
    path: PathBuf,
}

/// A number, widened without loss.
enum Scalar {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// Items converted per task: fixed, and large compared to the overhead of a task.
const CHUNK: usize = 1 << 16;

impl<'a> Array<'a> {
    /// Parses a `.npy` file, which must contain all items and nothing else.
    pub(crate) fn parse(bytes: impl Into<Cow<'a, [u8]>>, path: &Path) -> Result<Self> {
        let data = bytes.into();
        let header = Header::parse(&data).map_err(|what| Error::format(path, what))?;
        let need = header.data_size();
        let Header { dtype, fortran, shape, data_at } = header;
        let present = (data.len() - data_at) as u64;
        if need != Some(present) {
            let items = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
            let what = format!("needs {items} items of {} bytes, but contains {present} bytes", dtype.size);
            return Err(Error::format(path, what));
        }
        Ok(Self { dtype, shape, fortran, data, data_at, path: path.to_owned() })
    }

    /// The type of the items, if the bytes start with a valid header.
    pub(crate) fn dtype_of(header: &[u8]) -> Option<DType> {
        Header::parse(header).ok().map(|header| header.dtype)
    }

    /// Size of a file according to its header.
    pub(crate) fn size_of_file(header: &[u8], path: &Path) -> Result<u64> {
        let header = Header::parse(header).map_err(|what| Error::format(path, what))?;
        let size = header.data_size().and_then(|size| size.checked_add(header.data_at as u64));
        size.ok_or_else(|| Error::format(path, "has a shape too large for any file"))
    }

    pub(crate) fn len(&self) -> usize {
        // The product fits, as `parse` found as many bytes, unless items are empty strings.
        self.shape.iter().fold(1u64, |product, &extent| product.saturating_mul(extent)) as usize
    }

    /// Rows and columns; a vector is a single column.
    pub(crate) fn rows_cols(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [rows] => Ok((rows as usize, 1)),
            [rows, cols] => Ok((rows as usize, cols as usize)),
            _ => Err(self.wrong(format!("has {} dimensions; expected a matrix", self.shape.len()))),
        }
    }

    /// All items in row order. Integers that `f32` cannot represent are rounded.
    pub(crate) fn to_f32(&self, budget: &Budget) -> Result<Vec<f32>> {
        self.convert(0..self.len(), budget, "is too large for a 32-bit float", |scalar| match scalar {
            Scalar::Signed(x) => Some(x as f32),
            Scalar::Unsigned(x) => Some(x as f32),
            Scalar::Float(x) => Some(x as f32).filter(|y| y.is_finite() || !x.is_finite()),
        })
    }

    /// All items in row order; fails unless all are integers.
    pub(crate) fn to_i64(&self, budget: &Budget) -> Result<Vec<i64>> {
        self.i64_range(0..self.len(), budget)
    }

    /// A range of the items in the order of [`to_i64`](Self::to_i64).
    pub(crate) fn i64_range(&self, range: Range<usize>, budget: &Budget) -> Result<Vec<i64>> {
        self.convert(range, budget, "is not a 64-bit integer", |scalar| match scalar {
            Scalar::Signed(x) => Some(x),
            Scalar::Unsigned(x) => x.try_into().ok(),
            // -2^63 is the smallest integer and representable; 2^63 is representable but too large.
            Scalar::Float(x) => {
                (x.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&x)).then_some(x as i64)
            }
        })
    }

    /// All items in row order; fails unless all are 0 or 1.
    pub(crate) fn to_bool(&self, budget: &Budget) -> Result<Vec<bool>> {
        self.convert(0..self.len(), budget, "is neither 0 nor 1", |scalar| match scalar {
            Scalar::Signed(0) | Scalar::Unsigned(0) => Some(false),
            Scalar::Signed(1) | Scalar::Unsigned(1) => Some(true),
            Scalar::Float(x) => (x == 0.0 || x == 1.0).then_some(x == 1.0),
            _ => None,
        })
    }

    /// The items of a string array, without padding.
    pub(crate) fn to_strings(&self, budget: &Budget) -> Result<Vec<String>> {
        if !matches!(self.dtype.kind, Kind::Bytes | Kind::Text) || self.dtype.size == 0 {
            return Err(self.wrong("is not a string array".into()));
        }
        budget.check_items("text", self.len() as u64, (size_of::<String>() + self.dtype.size) as u64)?;
        let items = self.bytes().chunks_exact(self.dtype.size);
        items.map(|item| self.text(item).ok_or_else(|| self.wrong("contains invalid text".into()))).collect()
    }

    fn text(&self, item: &[u8]) -> Option<String> {
        let text: String = match self.dtype.kind {
            Kind::Text => {
                let code = |four: &[u8]| -> Option<u32> {
                    let four: [u8; 4] = four.try_into().ok()?;
                    let big = self.dtype.big_endian;
                    Some(if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
                };
                item.chunks_exact(4).map(|four| char::from_u32(code(four)?)).collect::<Option<_>>()?
            }
            _ => std::str::from_utf8(item).ok()?.to_owned(),
        };
        Some(text.trim_end_matches('\0').to_owned())
    }

    fn bytes(&self) -> &[u8] {
        &self.data[self.data_at..]
    }

    fn wrong(&self, what: String) -> Error {
        Error::format(&self.path, what)
    }

    /// Converts a range of the items in C order; the error names the first invalid one.
    fn convert<T: Copy + Default + Send>(
        &self,
        range: Range<usize>,
        budget: &Budget,
        fault: &str,
        of: impl Fn(Scalar) -> Option<T> + Sync,
    ) -> Result<Vec<T>> {
        use Scalar::{Float, Signed, Unsigned};
        if matches!(self.dtype.kind, Kind::Bytes | Kind::Text) {
            return Err(self.wrong("is a string array; expected numbers".into()));
        }
        budget.check_items("an array", range.len() as u64, size_of::<T>() as u64)?;
        let mut out = vec![T::default(); range.len()];
        let first_fault = match (self.dtype.kind, self.dtype.size) {
            (Kind::Float, 2) => {
                self.fill(range, &mut out, |b| of(Float(half::f16::from_le_bytes(b).to_f64())))
            }
            (Kind::Float, 4) => self.fill(range, &mut out, |b| of(Float(f32::from_le_bytes(b) as f64))),
            (Kind::Float, _) => self.fill(range, &mut out, |b| of(Float(f64::from_le_bytes(b)))),
            (Kind::Signed, 1) => self.fill(range, &mut out, |b| of(Signed(i8::from_le_bytes(b) as i64))),
            (Kind::Signed, 2) => self.fill(range, &mut out, |b| of(Signed(i16::from_le_bytes(b) as i64))),
            (Kind::Signed, 4) => self.fill(range, &mut out, |b| of(Signed(i32::from_le_bytes(b) as i64))),
            (Kind::Signed, _) => self.fill(range, &mut out, |b| of(Signed(i64::from_le_bytes(b)))),
            (_, 1) => self.fill(range, &mut out, |b| of(Unsigned(u8::from_le_bytes(b) as u64))),
            (_, 2) => self.fill(range, &mut out, |b| of(Unsigned(u16::from_le_bytes(b) as u64))),
            (_, 4) => self.fill(range, &mut out, |b| of(Unsigned(u32::from_le_bytes(b) as u64))),
            _ => self.fill(range, &mut out, |b| of(Unsigned(u64::from_le_bytes(b)))),
        };
        match first_fault {
            Some(at) => Err(self.wrong(format!("item {at} {fault}"))),
            None => Ok(out),
        }
    }

    /// Fills `out` with the items of `range`; returns the first that `of` rejects.
    fn fill<const SIZE: usize, T: Send>(
        &self,
        range: Range<usize>,
        out: &mut [T],
        of: impl Fn([u8; SIZE]) -> Option<T> + Sync,
    ) -> Option<usize> {
        let bytes = self.bytes();
        let item = |at: usize| -> Option<T> {
            let mut item: [u8; SIZE] = bytes.get(at * SIZE..(at + 1) * SIZE)?.try_into().ok()?;
            if self.dtype.big_endian {
                item.reverse();
            }
            of(item)
        };
        let in_order = !self.fortran || self.shape.len() < 2;
        let chunks = out.par_chunks_mut(CHUNK).enumerate();
        let faults = chunks.map(|(chunk, out)| {
            let start = range.start + chunk * CHUNK;
            (start..).zip(out).find_map(|(at, out)| {
                match item(if in_order { at } else { self.stored_at(at) }) {
                    Some(value) => {
                        *out = value;
                        None
                    }
                    None => Some(at),
                }
            })
        });
        faults.find_map_first(|fault| fault)
    }

    /// Translates an index in C order to one in Fortran order.
    fn stored_at(&self, at: usize) -> usize {
        let (mut rest, mut place) = (at as u64, 0);
        for (axis, &extent) in self.shape.iter().enumerate().rev() {
            let stride: u64 = self.shape[..axis].iter().product();
            place += rest % extent * stride;
            rest /= extent;
        }
        place as usize
    }
}

/// Opens a `.npy` matrix: mapped if stored as `f32` in C order, otherwise converted.
pub(crate) fn open_matrix(path: &Path, budget: &Budget) -> Result<Dense> {
    let bytes = Bytes::open(path, budget)?;
    let array = Array::parse(&bytes[..], path)?;
    let (rows, cols) = array.rows_cols()?;
    let native = array.dtype == DType { kind: Kind::Float, size: 4, big_endian: false };
    let in_order = !array.fortran || rows <= 1 || cols <= 1;
    let mapped = match &bytes {
        Bytes::Mapped(file) if native && in_order => {
            Buffer::mapped(file, array.data_at as u64, array.len() as u64).ok()
        }
        _ => None,
    };
    let values = match mapped {
        Some(values) => values,
        None => array.to_f32(budget)?.into(),
    };
    Dense::new(rows, cols, values).map_err(|error| Error::format(path, error.to_string()))
}

#[cfg(test)]
pub(crate) mod tests;
