//! Whole numbers from numpy, and results to numpy.

use crate::errors::wrong;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use structcomp::Dense;

/// An array of whole numbers, of the two widths that scipy and torch use.
#[derive(FromPyObject)]
pub(crate) enum Whole<'py> {
    /// 32 bits.
    Narrow(PyReadonlyArray1<'py, i32>),
    /// 64 bits.
    Wide(PyReadonlyArray1<'py, i64>),
}

/// The same without the interpreter.
#[derive(Clone, Copy)]
pub(crate) enum Numbers<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl Whole<'_> {
    pub(crate) fn numbers(&self) -> PyResult<Numbers<'_>> {
        let scattered = |_| wrong("arrays of whole numbers must be contiguous");
        Ok(match self {
            Self::Narrow(array) => Numbers::Narrow(array.as_slice().map_err(scattered)?),
            Self::Wide(array) => Numbers::Wide(array.as_slice().map_err(scattered)?),
        })
    }
}

impl Numbers<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    pub(crate) fn at(self, place: usize) -> i64 {
        match self {
            Self::Narrow(numbers) => numbers[place] as i64,
            Self::Wide(numbers) => numbers[place],
        }
    }
}

/// A matrix as numpy has it, without a copy where the matrix owns its numbers.
pub(crate) fn matrix(py: Python<'_>, values: Dense) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let shape = [values.rows(), values.cols()];
    PyArray1::from_vec(py, values.into_values()).reshape(shape)
}
