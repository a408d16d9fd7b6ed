//! Features in Python.

use crate::arrays::{Whole, matrix};
use crate::{lent, workers::work};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;
use structcomp::{Budget, Csr, Error};

/// Checked features, one row per node.
#[pyclass(frozen, module = "structcomp._native")]
pub(crate) struct Features {
    pub(crate) inner: structcomp::Features,
}

impl From<structcomp::Features> for Features {
    fn from(features: structcomp::Features) -> Self {
        Self { inner: features }
    }
}

/// `indptr`, `indices` and `data`, as in scipy.
type Compressed<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl Features {
    /// Dense features that share memory with a C-contiguous array.
    #[staticmethod]
    #[pyo3(signature = (x, *, n_threads=None))]
    fn dense(py: Python<'_>, x: PyReadonlyArray2<'_, f32>, n_threads: Option<i64>) -> PyResult<Self> {
        let dense = lent::dense(&x)?;
        let features = work(py, n_threads, || Ok(structcomp::Features::Dense(dense()?)))?;
        Ok(features.into())
    }

    /// Sparse features from compressed rows.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, values, n_cols, *, n_threads=None))]
    fn sparse(
        py: Python<'_>,
        indptr: Whole<'_>,
        indices: Whole<'_>,
        values: PyReadonlyArray1<'_, f32>,
        n_cols: usize,
        n_threads: Option<i64>,
    ) -> PyResult<Self> {
        let (starts, columns) = (indptr.numbers()?, indices.numbers()?);
        let values = values.as_slice()?;
        let features = work(py, n_threads, || {
            Budget::default().check_columns(n_cols)?;
            let whole = |numbers: crate::arrays::Numbers<'_>, place: usize| {
                let number = numbers.at(place);
                u64::try_from(number)
                    .map_err(|_| Error::Input(format!("invalid sparse matrix: negative index {number}")))
            };
            let offsets = (0..starts.len()).map(|at| whole(starts, at)).collect::<Result<Vec<u64>, _>>()?;
            let narrow = |at| {
                let column = whole(columns, at)?;
                u32::try_from(column).map_err(|_| {
                    Error::Input(format!(
                        "invalid sparse matrix: column {column}, but there are {n_cols} columns"
                    ))
                })
            };
            let indices = (0..columns.len()).map(narrow).collect::<Result<Vec<u32>, _>>()?;
            Ok(structcomp::Features::Sparse(Csr::new(n_cols, offsets, indices, values.to_vec())?))
        })?;
        Ok(features.into())
    }

    /// The number of rows.
    #[getter]
    fn n_rows(&self) -> usize {
        self.inner.rows()
    }

    /// The number of columns.
    #[getter]
    fn n_cols(&self) -> usize {
        self.inner.cols()
    }

    /// Whether they are stored as a sparse matrix.
    #[getter]
    fn is_sparse(&self) -> bool {
        matches!(self.inner, structcomp::Features::Sparse(_))
    }

    /// A number that tells whether two matrices have the same values, dense or sparse.
    #[pyo3(signature = (*, n_threads=None))]
    fn digest(&self, py: Python<'_>, n_threads: Option<i64>) -> PyResult<u64> {
        work(py, n_threads, || Ok(digest(&self.inner)))
    }

    /// The features as a dense matrix.
    fn to_dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        matrix(py, self.inner.to_dense())
    }

    /// Compressed rows of sparse features.
    fn to_csr<'py>(&self, py: Python<'py>) -> PyResult<Compressed<'py>> {
        let structcomp::Features::Sparse(csr) = &self.inner else {
            return Err(crate::errors::wrong("the features are dense"));
        };
        let (offsets, indices, values) = csr.parts();
        Ok((
            PyArray1::from_iter(py, offsets.iter().map(|&start| start as i64)),
            PyArray1::from_iter(py, indices.iter().map(|&column| column as i32)),
            PyArray1::from_slice(py, values),
        ))
    }
}

/// The sum of a hash of every value that is not zero with its place, so that the layout does not count.
fn digest(features: &structcomp::Features) -> u64 {
    let entry = |row: usize, column: usize, value: f32| match value == 0.0 {
        true => 0,
        false => mixed(mixed((row as u64) << 32 | column as u64) ^ u64::from(value.to_bits())),
    };
    let (rows, columns) = (features.rows(), features.cols());
    let sum = match features {
        structcomp::Features::Dense(dense) => {
            let rows = dense.values().par_chunks(columns.max(1)).enumerate();
            rows.map(|(row, values)| {
                let values = values.iter().enumerate();
                values.fold(0u64, |sum, (column, &value)| sum.wrapping_add(entry(row, column, value)))
            })
            .reduce(|| 0, u64::wrapping_add)
        }
        structcomp::Features::Sparse(csr) => {
            let (offsets, indices, values) = csr.parts();
            let row = |row: usize| {
                let entries = offsets[row] as usize..offsets[row + 1] as usize;
                entries.fold(0u64, |sum, at| sum.wrapping_add(entry(row, indices[at] as usize, values[at])))
            };
            (0..rows).into_par_iter().map(row).reduce(|| 0, u64::wrapping_add)
        }
    };
    mixed(sum ^ mixed((rows as u64) << 32 ^ columns as u64))
}

/// A well-mixed number: the finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
