//! Features that share memory with a numpy array.
//!
//! X is often the largest array in memory, and a copy would double what a call needs.

#![allow(unsafe_code)] // see above, and the reasons below

use crate::errors::wrong;
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;
use structcomp::Dense;
use structcomp::matrix::Buffer;

/// A numpy array that is kept alive, and where its values are.
struct Lent {
    _owner: Py<PyArray2<f32>>,
    start: *const f32,
    count: usize,
}

// SAFETY: the values are only read, and the owner is only dropped, which PyO3 supports on any thread.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[f32]> for Lent {
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `start` and `count` come from a contiguous, aligned slice of the owner, which is alive. Numpy
        // does not move the values of an array that others hold: `resize` fails. Another Python thread may
        // write to the array during a call. Any bits are a valid `f32`, so this changes the result of the call
        // and nothing else; the documentation warns against it.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }
}

/// A matrix that shares memory with the array.
pub(crate) fn dense(
    x: &PyReadonlyArray2<'_, f32>,
) -> PyResult<impl FnOnce() -> structcomp::Result<Dense> + Send> {
    let numbers = x.as_slice().map_err(|_| wrong("X must be C-contiguous"))?;
    let (start, count) = (numbers.as_ptr(), numbers.len());
    let lent = Lent { _owner: (**x).clone().unbind(), start, count };
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    Ok(move || Dense::new(rows, cols, Buffer::lent(Arc::new(lent))))
}
