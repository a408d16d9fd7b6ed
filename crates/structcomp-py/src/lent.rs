//! Numpy's numbers read where they lie.
//!
//! X is often the largest thing in memory. A copy of it would double what a call needs.

#![allow(unsafe_code)] // see above, and the reasons below

use crate::errors::wrong;
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;
use structcomp::{Buffer, Dense};

/// An array of numpy's, kept alive, with where its numbers are.
struct Lent {
    _owner: Py<PyArray2<f32>>,
    start: *const f32,
    count: usize,
}

// SAFETY: the numbers are only read, and the owner is only dropped, which PyO3 does from any thread.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[f32]> for Lent {
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `start` and `count` were those of a contiguous, aligned slice of the owner's, which is
        // alive. Numpy does not move the numbers of an array while others hold it: `resize` refuses. What
        // we cannot prevent is that another thread of Python writes to the array during a call. Any
        // bits are an `f32`, so that changes the result of the call and nothing else; the documentation
        // says not to.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }
}

/// A matrix that shares its numbers with the array.
pub(crate) fn dense(
    x: &PyReadonlyArray2<'_, f32>,
) -> PyResult<impl FnOnce() -> structcomp::Result<Dense> + Send> {
    let numbers = x.as_slice().map_err(|_| wrong("X must be C-contiguous"))?;
    let (start, count) = (numbers.as_ptr(), numbers.len());
    let lent = Lent { _owner: (**x).clone().unbind(), start, count };
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    Ok(move || Dense::new(rows, cols, Buffer::lent(Arc::new(lent))))
}
