//! The axes of features as arrays.

use crate::arrays::matrix;
use crate::errors::raise;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use structcomp::Dense;
use structcomp::pipeline::pieces::Projection;

/// A projection as arrays: shift, factor, basis with a row per feature, mean.
pub(crate) type Arrays<'py> = (
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f32>>,
);

pub(crate) fn arrays<'py>(py: Python<'py>, of: &Projection) -> PyResult<Arrays<'py>> {
    let [shift, factor, basis, mean] = of.arrays();
    let basis = Dense::new(shift.len(), mean.len(), basis.to_vec()).map_err(raise)?;
    let one = |values| PyArray1::from_slice(py, values);
    Ok((one(shift), one(factor), matrix(py, basis)?, one(mean)))
}
