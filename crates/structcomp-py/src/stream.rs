//! The stream of a table, taken out of its Python capsule.

#![allow(unsafe_code)] // a capsule holds an address; see the reason below

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The stream in the capsule that `__arrow_c_stream__` returns.
pub(crate) fn taken(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let address = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by Arrow's PyCapsule interface, a capsule of this name holds a valid stream that the consumer may move
    // out. An empty stream is left behind, so nothing is released twice.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(address.cast().as_ptr()) })
}
