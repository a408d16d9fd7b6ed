//! A table's stream, taken out of the capsule in which Python carries it.

#![allow(unsafe_code)] // a capsule holds an address; see the reason below

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// What `__arrow_c_stream__` returned.
pub(crate) fn taken(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let address = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by Arrow's PyCapsule interface a capsule of this name holds a valid stream, which is ours to
    // move out; an empty one is left behind, so that nothing is released twice.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(address.cast().as_ptr()) })
}
