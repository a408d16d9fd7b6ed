//! Arrays from numpy, and results to numpy.

use crate::errors::wrong;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use rayon::prelude::*;
use structcomp::Dense;

/// An array of integers, of the two widths that scipy and torch use.
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
        let scattered = |_| wrong("integer arrays must be contiguous");
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

    /// As `u32`, if all fit.
    pub(crate) fn narrowed(self) -> Option<Vec<u32>> {
        match self {
            Self::Narrow(numbers) => converted(numbers, |number| number as u32, |number| number < 0),
            Self::Wide(numbers) => converted(numbers, |number| number as u32, |number| number >> 32 != 0),
        }
    }

    /// As `u64`, if none is negative.
    pub(crate) fn widened(self) -> Option<Vec<u64>> {
        match self {
            Self::Narrow(numbers) => converted(numbers, |number| number as u64, |number| number < 0),
            Self::Wide(numbers) => converted(numbers, |number| number as u64, |number| number < 0),
        }
    }

    pub(crate) fn at(self, place: usize) -> i64 {
        match self {
            Self::Narrow(numbers) => numbers[place] as i64,
            Self::Wide(numbers) => numbers[place],
        }
    }
}

/// Numbers per task.
const BLOCK: usize = 1 << 14;

/// Numbers of another type, if none is refused.
fn converted<T: Copy + Sync, N: Copy + Default + Send + Sync>(
    numbers: &[T],
    of: impl Fn(T) -> N + Sync,
    refused: impl Fn(T) -> bool + Sync,
) -> Option<Vec<N>> {
    let mut all = vec![N::default(); numbers.len()];
    let blocks = all.par_chunks_mut(BLOCK).zip(numbers.par_chunks(BLOCK));
    let fits = |(all, numbers): (&mut [N], &[T])| {
        all.iter_mut().zip(numbers).fold(true, |fits, (place, &number)| {
            *place = of(number);
            fits & !refused(number)
        })
    };
    blocks.all(fits).then_some(all)
}

/// An array of weights, of the two widths that scipy and torch use.
#[derive(FromPyObject)]
pub(crate) enum Weights<'py> {
    /// 32 bits.
    Single(PyReadonlyArray1<'py, f32>),
    /// 64 bits.
    Double(PyReadonlyArray1<'py, f64>),
}

/// The same without the interpreter.
#[derive(Clone, Copy)]
pub(crate) enum Reals<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

impl Weights<'_> {
    pub(crate) fn reals(&self) -> PyResult<Reals<'_>> {
        let scattered = |_| wrong("weights must be contiguous");
        Ok(match self {
            Self::Single(array) => Reals::Single(array.as_slice().map_err(scattered)?),
            Self::Double(array) => Reals::Double(array.as_slice().map_err(scattered)?),
        })
    }
}

impl Reals<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Single(numbers) => numbers.len(),
            Self::Double(numbers) => numbers.len(),
        }
    }

    /// Whether all are one.
    pub(crate) fn all_one(self) -> bool {
        match self {
            Self::Single(numbers) => all(numbers, |number| number == 1.0),
            Self::Double(numbers) => all(numbers, |number| number as f32 == 1.0),
        }
    }

    /// As `f32`. A number that is too large becomes infinite, which is an error later.
    pub(crate) fn to_single(self) -> Vec<f32> {
        match self {
            Self::Single(numbers) => numbers.par_iter().copied().collect(),
            Self::Double(numbers) => numbers.par_iter().map(|&number| number as f32).collect(),
        }
    }
}

/// Compares whole blocks without an early exit, so that the loop is vectorised.
fn all<T: Copy + Sync>(numbers: &[T], holds: impl Fn(T) -> bool + Sync) -> bool {
    let block = |block: &[T]| block.iter().fold(true, |all, &number| all & holds(number));
    numbers.par_chunks(BLOCK).all(block)
}

/// A matrix as a numpy array, without a copy if the matrix owns its values.
pub(crate) fn matrix(py: Python<'_>, values: Dense) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let shape = [values.rows(), values.cols()];
    PyArray1::from_vec(py, values.into_values()).reshape(shape)
}
