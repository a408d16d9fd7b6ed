//! A loss that Python computes.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Mutex;
use structcomp::model::{OwnLoss, OwnObjective, OwnRows};
use structcomp::{Error, Result};

/// A function from the rows of each view to the loss and its gradients.
pub(crate) struct Loss<'a> {
    pub(crate) function: Py<PyAny>,
    /// What it raised, to be raised again: the library's error would only repeat the text.
    pub(crate) raised: &'a Mutex<Option<PyErr>>,
}

impl OwnObjective for Loss<'_> {
    fn loss(&self, views: &[&[f32]], width: usize, _: &OwnRows) -> Result<OwnLoss> {
        Python::attach(|py| self.call(py, views, width)).map_err(|error| {
            let text = error.to_string();
            if let Ok(mut raised) = self.raised.lock() {
                *raised = Some(error);
            }
            Error::Input(text)
        })
    }
}

impl Loss<'_> {
    fn call(&self, py: Python<'_>, views: &[&[f32]], width: usize) -> PyResult<OwnLoss> {
        let view = |z: &&[f32]| PyArray1::from_slice(py, z).reshape([z.len() / width.max(1), width]);
        let views = views.iter().map(view).collect::<PyResult<Vec<_>>>()?;
        let answer = self.function.bind(py).call1(PyTuple::new(py, views)?)?;
        let (value, gradients): (f64, Vec<PyReadonlyArray2<'_, f32>>) = answer.extract()?;
        let values = |gradient: &PyReadonlyArray2<'_, f32>| Ok(gradient.as_slice()?.to_vec());
        Ok(OwnLoss { value, gradients: gradients.iter().map(values).collect::<PyResult<_>>()? })
    }
}
